r"""The book in LaTeX, for pdflatex with nothing beyond the recommended packages."""

from __future__ import annotations

import re
import unicodedata

from symdyn.render import prose
from symdyn.render.chapters import BADGES, Chapter, Derived, Formula, Section
from symdyn.render.mathematics import admitted

PREAMBLE = r"""\documentclass[10pt,a4paper,openany]{book}
\usepackage[margin=25mm]{geometry}
\usepackage{amsmath,amssymb}
\usepackage{graphicx,xcolor}
\usepackage{fancyhdr}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt plus 1pt}
\setlength{\emergencystretch}{5em}
\setcounter{tocdepth}{1}
\allowdisplaybreaks
\pagestyle{fancy}
\fancyhf{}
\fancyhead[L]{\small\nouppercase{\leftmark}}
\fancyhead[R]{\small\thepage}
\definecolor{holds}{HTML}{1B7837}
\definecolor{conditional}{HTML}{B35806}
\definecolor{erratum}{HTML}{B2182B}
\definecolor{extraction}{HTML}{6A51A3}
\definecolor{open}{HTML}{636363}
\newcommand{\badge}[2]{{\small\bfseries\textcolor{#1}{#2}}}
\newcommand{\code}[1]{{\small\ttfamily #1}}
% A formula in display size, scaled down only where it is wider than the text.
\newsavebox{\formulabox}
\newcommand{\formula}[1]{\savebox{\formulabox}{$\displaystyle #1$}%
  \ifdim\wd\formulabox>\linewidth\[\resizebox{\linewidth}{!}{\usebox{\formulabox}}\]%
  \else\[\usebox{\formulabox}\]\fi}
"""

FRONT = r"""\title{symdyn\\[1ex]\large The theory of learning dynamics, derived and verified}
\author{}
\date{}
"""


def latex_book(chapters: tuple[Chapter, ...]) -> str:
    """The whole document."""
    body = "\n".join(_chapter(chapter) for chapter in chapters)
    body = _FOREIGN.sub(lambda found: _known(found.group()), body)
    return (
        f"{PREAMBLE}{FRONT}\\begin{{document}}\n\\maketitle\n\\tableofcontents\n{body}\n\\end{{document}}\n"
    )


_FOREIGN = re.compile(r"[^\n\x20-\x7e]")
_ACCENTS = {
    "\u0300": r"\`",
    "\u0301": r"\'",
    "\u0302": r"\^",
    "\u0303": r"\~",
    "\u0304": r"\=",
    "\u0306": r"\u",
    "\u0307": r"\.",
    "\u0308": r"\"",
    "\u030a": r"\r",
    "\u030b": r"\H",
    "\u030c": r"\v",
    "\u0327": r"\c",
}
_LETTERS = {
    "ß": r"{\ss}",
    "æ": r"{\ae}",
    "Æ": r"{\AE}",
    "Ø": r"{\O}",
    "ø": r"{\o}",
    "œ": r"{\oe}",
    "Œ": r"{\OE}",
    "ł": r"{\l}",
    "Ł": r"{\L}",
    "·": r"\ensuremath{\cdot}",
    "§": r"{\S}",
    "«": r"\ensuremath{\ll}",
    "»": r"\ensuremath{\gg}",
}


def _known(character: str) -> str:
    """The command for a character that pdflatex has a glyph for; the code point of another, at which it would stop."""
    parts = unicodedata.normalize("NFD", character)
    if character in _LETTERS:
        return _LETTERS[character]
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"{{{_ACCENTS[parts[1]]}{{{parts[0]}}}}}"
    return f"[U+{ord(character):04X}]"


def _chapter(chapter: Chapter) -> str:
    counted = ", ".join(f"{n} {BADGES[status]}" for status, n in chapter.count.items())
    sources = "; ".join(rf"\emph{{{prose.escape(paper.title)}}} ({paper.year})" for paper in chapter.papers)
    noun = "Source" if len(chapter.papers) == 1 else "Sources"
    parts = [
        rf"\chapter{{{prose.escape(chapter.title)}}}",
        f"{len(chapter.sections)} entries of the ledger: {counted}. {noun}: {sources}.",
        *(_section(section) for section in chapter.sections),
        r"\section{Derivations}",
        *(_derived(derived) for derived in chapter.derived),
    ]
    return "\n\n".join(parts)


def _section(section: Section) -> str:
    e, audited = section.entry, section.audit
    parts = [
        rf"\section{{{prose.latex(section.title)}}}",
        _breakable(e.id) + r"\hfill " + rf"\badge{{{audited.status}}}{{{_badge(section)}}}\\"
        rf"{{\small {prose.latex(e.where)}}}",
        prose.latex(e.statement),
    ]
    if section.assumptions:
        parts.append(r"\emph{Assumes:} " + "; ".join(map(prose.latex, section.assumptions)) + ".")
    if audited.hypothesis:
        parts.append(r"\emph{Hypothesis:} " + prose.latex(audited.hypothesis))
    if audited.status in ("erratum", "conditional"):
        for quote, form in section.printed:
            parts.append(r"\emph{As printed:} " + prose.latex(quote))
            parts.append(r"\emph{Tested as:} " + _formula(form))
    if section.counterexample:
        parts.append(r"\emph{Counterexample:} " + _plain(section.counterexample))
    label = "Corrected" if audited.status == "erratum" else "Shown"
    for key, form in section.results:
        parts.append(rf"\emph{{{label}}} by {_reference(key)}: {_formula(form)}")
    return "\n\n".join(parts)


def _badge(section: Section) -> str:
    audited = section.audit
    words = [BADGES[audited.status], audited.severity, audited.grade]
    return prose.escape(", ".join(word for word in words if word))


def _derived(derived: Derived) -> str:
    parts = [
        rf"\subsection*{{{prose.latex(derived.title)}}}\label{{{_label(derived.key)}}}",
        _breakable(derived.key),
        _formula(derived.formula),
    ]
    parts += [rf"\emph{{{prose.latex(h.source)}:}} {prose.latex(h.words)}" for h in derived.hypotheses]
    parts += [f"{prose.latex(step.reason)}:\n\\formula{{{admitted(step.latex)}}}" for step in derived.steps]
    return "\n\n".join(parts)


def _reference(key: str) -> str:
    return rf"\hyperref[{_label(key)}]{{{_breakable(key)}}} (p.~\pageref{{{_label(key)}}})"


def _label(key: str) -> str:
    """A key as TeX's name of a place: anything but letters, digits and their marks is spelled by its code."""
    return re.sub(r"[^A-Za-z0-9._-]", lambda found: f"-{ord(found.group()):x}-", key)


def _formula(form: Formula) -> str:
    tex = f"\\formula{{{admitted(form.latex)}}}" if form.latex else ""
    return f"{prose.latex(form.words)} {tex}".strip()


def _breakable(name: str) -> str:
    r"""A key or id, which may be broken after its dots, hyphens and underscores."""
    marked = prose.escape(name)
    for mark in (".", "-", r"\_"):
        marked = marked.replace(mark, mark + r"\allowbreak{}")
    return rf"\code{{{marked}}}"


def _plain(text: str) -> str:
    return prose.latex(text).replace(",", r",\allowbreak{}").replace("/", r"/\allowbreak{}")
