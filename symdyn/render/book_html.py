"""The book as one HTML page that needs no network: formulas are MathML, and each keeps its LaTeX to copy."""

from __future__ import annotations

import html

from symdyn.render import prose
from symdyn.render.chapters import BADGES, Chapter, Derived, Formula, Section

STYLE = """
:root { --ink: #222; --faint: #667; --line: #dde; }
body { margin: 0 auto; max-width: 58rem; padding: 2rem 1.5rem 6rem; color: var(--ink);
  font: 1.05rem/1.55 Charter, "Bitstream Charter", "Source Serif 4", Georgia, serif; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 4rem; border-bottom: 2px solid var(--line); }
section, article { border-top: 1px solid var(--line); margin-top: 1.6rem; }
section h3, article h3 { margin-bottom: .2rem; }
code { font-size: .85em; color: var(--faint); overflow-wrap: anywhere; }
.formula { overflow: auto hidden; padding: .3rem 0; }
.formula math { font-size: 1.12em; }
.where { color: var(--faint); font-size: .9em; }
.badge { float: right; border-radius: 1em; color: #fff; padding: .35em .8em;
  font: 600 .8rem/1 system-ui, sans-serif; margin-top: .8rem; }
.holds { background: #1b7837; } .conditional { background: #b35806; } .erratum { background: #b2182b; }
.extraction { background: #6a51a3; } .open { background: #636363; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--faint); }
nav ul { columns: 2; font-size: .92em; padding-left: 1.2rem; } a { color: #24548f; }
@media (max-width: 40rem) { nav ul { columns: 1; } }
"""


def html_book(chapters: tuple[Chapter, ...]) -> str:
    """The whole page."""
    contents = "\n".join(_contents(chapter) for chapter in chapters)
    body = "\n".join(_chapter(chapter) for chapter in chapters)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>symdyn: the book of results</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        "<h1>symdyn</h1>\n<p>The theory of learning dynamics, derived and verified.</p>\n"
        f"<nav>\n{contents}\n</nav>\n{body}\n</body>\n</html>\n"
    )


def _contents(chapter: Chapter) -> str:
    links = (
        f'<li><a href="#{html.escape(s.entry.id)}">{prose.html_text(s.title)}</a></li>'
        for s in chapter.sections
    )
    return f"<h3>{html.escape(chapter.title)}</h3>\n<ul>\n" + "\n".join(links) + "\n</ul>"


def _chapter(chapter: Chapter) -> str:
    counted = ", ".join(f"{n} {BADGES[status]}" for status, n in chapter.count.items())
    sources = "; ".join(f"<em>{html.escape(paper.title)}</em> ({paper.year})" for paper in chapter.papers)
    noun = "Source" if len(chapter.papers) == 1 else "Sources"
    parts = [
        f'<h2 id="{html.escape(chapter.topic)}">{html.escape(chapter.title)}</h2>',
        f"<p>{len(chapter.sections)} entries of the ledger: {counted}. {noun}: {sources}.</p>",
        *(_section(section) for section in chapter.sections),
        f'<h2 id="{html.escape(chapter.topic)}-derivations">{html.escape(chapter.title)}: derivations</h2>',
        *(_derived(derived) for derived in chapter.derived),
    ]
    return "\n".join(parts)


def _section(section: Section) -> str:
    e, audited = section.entry, section.audit
    words = ", ".join(word for word in (BADGES[audited.status], audited.severity, audited.grade) if word)
    parts = [
        f'<section id="{html.escape(e.id)}">',
        f'<span class="badge {html.escape(audited.status)}">{html.escape(words)}</span>',
        f"<h3>{prose.html_text(section.title)}</h3>",
        f'<div class="where"><code>{html.escape(e.id)}</code> · {prose.html_text(e.where)}</div>',
        f"<p>{prose.html_text(e.statement)}</p>",
    ]
    if section.assumptions:
        parts.append(f"<p><em>Assumes:</em> {'; '.join(map(prose.html_text, section.assumptions))}.</p>")
    if audited.hypothesis:
        parts.append(f"<p><em>Hypothesis:</em> {prose.html_text(audited.hypothesis)}</p>")
    if audited.status in ("erratum", "conditional"):
        for quote, form in section.printed:
            parts.append(f"<div><em>As printed:</em> {prose.html_text(quote)}</div>")
            parts.append(f"<div><em>Tested as:</em> {_formula(form)}</div>")
    if section.counterexample:
        parts.append(f"<p><em>Counterexample:</em> {prose.html_text(section.counterexample)}</p>")
    label = "Corrected" if audited.status == "erratum" else "Shown"
    for key, form in section.results:
        name = html.escape(key)
        parts.append(
            f'<div><em>{label} by</em> <a href="#{name}"><code>{name}</code></a>: {_formula(form)}</div>'
        )
    return "\n".join([*parts, "</section>"])


def _derived(derived: Derived) -> str:
    rows = "\n".join(
        f"<p>{prose.html_text(step.reason)}:</p>\n{_display(step.latex)}" for step in derived.steps
    )
    count = f"{len(derived.steps)} step" + "s" * (len(derived.steps) > 1)
    steps = f"<details><summary>{count}</summary>\n{rows}\n</details>\n" if derived.steps else ""
    name = html.escape(derived.key)
    supposed = "".join(
        f"<p><em>{html.escape(h.source)}:</em> {prose.html_text(h.words)}</p>\n" for h in derived.hypotheses
    )
    return (
        f'<article id="{name}">\n<h3>{prose.html_text(derived.title)}</h3>\n'
        f'<div class="where"><code>{name}</code></div>\n{_formula(derived.formula)}\n{supposed}{steps}</article>'
    )


def _formula(form: Formula) -> str:
    words = f"<p>{prose.html_text(form.words)}</p>" if form.words else ""
    return words + (_display(form.latex) if form.latex else "")


def _display(tex: str) -> str:
    return f'<div class="formula">{prose.mathml(tex, block=True)}</div>'
