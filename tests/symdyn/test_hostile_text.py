r"""Text of anybody's package in the outputs is text: no command of TeX that runs, loads or defines anything and no
markup reaches the book, a notebook or the terminal, and a formula is what KaTeX's strict mode sets.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import product
from xml.etree import ElementTree

import pytest
import sympy as sp

from symdyn.catalogue.auditing import AuditEntry
from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import REGISTERED
from symdyn.catalogue.result import result
from symdyn.cli import console
from symdyn.render import mathematics, prose
from symdyn.render.book_html import html_book
from symdyn.render.book_latex import latex_book
from symdyn.render.chapters import Chapter, Derived, Formula, Section
from symdyn.render.latex import cleaned, set_formula, statement_latex
from symdyn.render.mathematics import ENVIRONMENTS, IN_WORDS, ONE, SIZED, SYMBOLS, TWO, WORDS, is_formula
from symdyn.render.notebook import result_html
from symdyn.render.steps import Step
from symdyn.statements.kinds import Chain, Experiment, Identity

COMMANDS = [
    r"\input{/etc/passwd}",
    r"\input /etc/passwd ",
    r"\include{x}",
    r"\write18{rm -rf /}",
    r"\immediate\write18{id}",
    r"\openout1=x",
    r"\openin1=/etc/passwd \read1 to \x",
    r"\def\alpha{\beta}",
    r"\gdef\x{y}",
    r"\let\alpha\beta",
    r"\newcommand{\x}{y}",
    r"\renewcommand{\alpha}{y}",
    r"\csname input\endcsname{x}",
    r"\expandafter\input x",
    r"\catcode`\%=12",
    r"\catcode37=12 ",
    r"\char92 input",
    r"^^5cinput{x}",
    r"^^5c^^69nput{x}",
    r"^^^^005cinput{x}",
    r"x^^y",
    r"\usepackage{shellesc}",
    r"\documentclass{x}",
    r"\begin{document}",
    r"\end{document}",
    r"\begin{filecontents}{x}y\end{filecontents}",
    r"\begin{verbatim}x\end{verbatim}",
    r"\includegraphics{/etc/passwd}",
    r"\includegraphics[width=1em]{http://x.y/z.png}",
    r"\href{javascript:alert(1)}{x}",
    r"\href{https://x.y}{x}",
    r"\url{javascript:alert(1)}",
    r"\htmlClass{x}{y}",
    r"\htmlId{x}{y}",
    r"\htmlStyle{color: red}{y}",
    r"\htmlData{x=y}{z}",
    r"\cssId{x}{y}",
    r"\class{x}{y}",
    r"\style{color:red}{x}",
    r"\require{html}",
    r"\special{ps: x}",
    r"\pdfliteral{x}",
    r"\directlua{os.execute('id')}",
    r"\ShellEscape{id}",
    r"\verb|x|",
    r"\textcolor{red}{x}",
    r"\color{red} x",
    r"\rule{9999em}{9999em}",
    r"\hspace{99999em}",
    r"\kern99999em",
    r"\loop\iftrue\repeat",
    r"\halt",
    r"\stop",
    r"\errmessage{x}",
    r"\tag{1}",
    r"\label{x}",
    r"\ref{x}",
    r"\par",
    r"\section{x}",
    r"\item x",
    r"\footnote{x}",
    r"\hbox{\input{x}}",
    r"\mbox{$\input{x}$}",
    r"\text{\input{x}}",
    r"\text{$\input{x}$}",
    r"\mathrm{\input{x}}",
    r"\operatorname{\input{x}}",
    r"\sqrt[\input{x}]{y}",
    r"\frac{\input{x}}{y}",
    r"\left(\input{x}\right)",
    r"\begin{aligned}\input{x}\end{aligned}",
    r"x_{\input{x}}",
    r"\alpha\inputx",
    r"\@input{x}",
    r"\lowercase{\INPUT}",
    r"\uppercase{x}",
    r"\mathchoice{a}{b}{c}{d}",
    r"\aftergroup\input",
    r"\everymath{\input x}",
    r"\output={}",
    r"\jobname",
    r"\string\input",
    r"\meaning\input",
    r"\scantokens{\input x}",
    r"\tokens",
    r"\unicode{x3c}",
    r"\mathtip{x}{y}",
    r"\bbox[red]{x}",
    r"\enclose{circle}{x}",
]  # fmt: skip
BROKEN = [
    "{", "}", "{}}", "{{}", "}{", r"\{", r"\left(", r"\right)", r"\left( x", r"\left\input )", r"\left(x\right",
    r"\frac", r"\frac1", r"\frac{1}", r"\sqrt", r"\sqrt[3", r"\sqrt[3]", "x^", "x_", "x^^", "x^a^b", "x_a_b", "x^a'",
    "^", "_", r"\hat", r"\begin{aligned}", r"\end{aligned}", r"\begin{aligned} x \end{gathered}", r"\begin{x}\end{x}",
    "a & b",
    r"a \\ b", r"\begin{matrix} a \\[9999em] b \end{matrix}", r"\begin{matrix}a\\*b\end{matrix}", r"\begin{", r"\begin",
    "%", "a % b", "#", "#1", "##", "x\\", "\\", "~", r"\text", r"\text{", r"\text{a_b}", r"\text{a^b}", r"\text{%}",
    r"\text{#}", r"\text{&}", r"\text{a}}", r"\operatorname", r"\big", r"\big x", r"\not", r"\not\not", r"\mathbb",
    "x\x00y", "x\x1b[2Jy", "\ud800", "\u202e", "\ufeff", "\ue0000\ue000", r"\textbf{words0}", r"\text{words0}", "日本",
    "😀", "é", "{" * 3000, "{" * 60 + "}" * 60, r"\sqrt{" * 60 + "x" + "}" * 60, "x" * 3000, "\n\n", "a\n\nb", '"', "`",
]  # fmt: skip
MARKUP = [
    "<script>alert(1)</script>", "</title><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<b>x</b>",
    "&lt;b&gt;",
    "&#60;script&#62;", "&amp;", "-->", "<!--", "]]>", "<![CDATA[x]]>", '" onclick="alert(1)', "' onclick='alert(1)",
    "<svg onload=alert(1)>", "<a href='javascript:alert(1)'>x</a>", "</math><script>x</script>", "</mtext><script>",
    "<style>*{display:none}</style>", "<iframe src=//x.y>", "<\x00script>", "javascript:alert(1)", "$$", "$x$ $ y",
]  # fmt: skip
WRAPPED = [
    *(f"${tex}$" for tex in COMMANDS + BROKEN + MARKUP if "$" not in tex),
    *(rf"$\text{{{tex}}}$" for tex in MARKUP + COMMANDS if "$" not in tex),
    *(rf"$\mathrm{{{tex}}}$" for tex in MARKUP if "$" not in tex),
    *(f"The square {tex} of x" for tex in COMMANDS + BROKEN + MARKUP),
    *COMMANDS,
    *BROKEN,
    *MARKUP,
]
KNOWN = (
    SYMBOLS
    | ONE
    | TWO
    | WORDS
    | SIZED
    | IN_WORDS
    | {r"\left", r"\right", r"\sqrt", r"\not", r"\begin", r"\end"}
)
OF_THE_BOOK = mathematics.words_of(
    r"""\chapter \section \subsection \emph \small \badge \code \formula \label \hyperref \pageref \allowbreak \hfill
    \tableofcontents \maketitle \ensuremath \cdot \ll \gg \ss \ae \AE \o \O \oe \OE \l \L \S \u \r \H \v \c"""
)
CONTROL = re.compile(r"\\[A-Za-z]+|\\[^A-Za-z]", re.DOTALL)


def wrongs_of_latex(tex, more=frozenset()):
    """What TeX would take for more than text or mathematics; read without the grammar that admits formulas."""
    bare = CONTROL.sub("", tex)
    found = [name for name in CONTROL.findall(tex) if name[1].isalpha() and name not in KNOWN | more]
    found += [
        name for name in CONTROL.findall(tex) if not name[1].isalpha() and name not in KNOWN | {r"\\"} | more
    ]
    found += [
        f"environment {name}" for name in re.findall(r"\\begin\{([^}]*)\}", tex) if name not in ENVIRONMENTS
    ]
    found += [mark for mark in ("^^", "%", "#", "\x00", "\x1b") if mark in bare]
    depth = 0
    for mark in re.findall(r"[{}]", bare):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            found.append("}")
            break
    found += ["{"] if depth > 0 else []
    found += ["$"] if bare.count("$") % 2 else []
    return found + (["a paragraph"] if re.search(r"\n\s*\n", tex) else [])


class Page(HTMLParser):
    """Notes what a browser would do beside showing text and formulas."""

    allowed = (
        prose._ELEMENTS
        | {
            "p",
            "b",
            "i",
            "em",
            "code",
            "div",
            "small",
            "span",
            "section",
            "article",
            "details",
            "summary",
            "nav",
            "ul",
        }
        | {"html", "head", "meta", "title", "body", "h1", "h2", "h3", "li", "a", "style"}
    )

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.wrong, self.seen = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in self.allowed:
            self.wrong.append(tag)
        self.seen.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.wrong.append(f"{tag} {name}")
            if name == "href" and not value.startswith("#"):
                self.wrong.append(f"{tag} {name}")

    handle_startendtag = handle_starttag

    def handle_comment(self, data):
        self.wrong.append("comment")

    def unknown_decl(self, data):
        self.wrong.append("declaration")


def told(counts, kind):
    print(
        f"\n{kind}: " + ", ".join(f"{name} {counts[name]}" for name in ("tried", "right", "refused", "wrong"))
    )
    assert counts["tried"] >= 20 and counts["wrong"] == 0


@pytest.mark.parametrize("way", ["latex", "html", "katex"])
def test_text_of_anybody_is_text_in_every_output(way, complaints):
    counts, shown = Counter(), {}
    for text in WRAPPED:
        counts["tried"] += 1
        found = {"latex": prose.latex, "html": prose.html_text, "katex": prose.katex}[way](text)
        wrong = Page(found).wrong if way == "html" else wrongs_of_latex(found)
        shown[found] = text
        if wrong:
            print(repr(text)[:200], repr(found)[:200], wrong)
        escaped = "textbackslash" in found or r"\text{" in found or "mtext" in found
        counts["wrong" if wrong else "refused" if escaped else "right"] += 1
    if way == "katex":
        refused = {tex: said for tex, said in complaints(shown).items() if "Unrecognized Unicode" not in said}
        for tex, said in refused.items():
            print(repr(shown[tex])[:200], repr(tex)[:200], said)
        counts["wrong"] += len(refused)
    told(counts, f"texts in {way}")


def test_formulas_of_anybody_are_formulas_or_words(complaints):
    counts, shown = Counter(), {}
    for tex in [*COMMANDS, *BROKEN, *MARKUP]:
        for made in (cleaned(tex), set_formula(tex), cleaned(f"x = {tex}"), cleaned(rf"\frac{{{tex}}}{{2}}")):
            counts["tried"] += 1
            shown[made] = tex
            page = Page(prose.mathml(made, block=True))
            wrong = [*wrongs_of_latex(made), *page.wrong]
            if wrong:
                print(repr(tex)[:200], repr(made)[:200], wrong)
            counts["wrong" if wrong else "refused" if r"\text{" in made else "right"] += 1
    refused = {tex: said for tex, said in complaints(shown).items() if "Unrecognized Unicode" not in said}
    for tex, said in refused.items():
        print(repr(shown[tex])[:200], repr(tex)[:200], said)
    counts["wrong"] += len(refused)
    told(counts, "formulas")


@pytest.mark.parametrize("tex", COMMANDS)
def test_no_command_that_runs_loads_or_defines_is_a_formula(tex):
    for around in (
        "{}",
        "x + {}",
        r"\frac{{{}}}{{2}}",
        r"\text{{{}}}",
        r"\mathrm{{{}}}",
        r"\begin{{aligned}}{}\end{{aligned}}",
    ):
        assert not is_formula(around.format(tex))
    assert mathematics.admitted(tex) == rf"\text{{{mathematics.typed(tex)}}}"
    assert mathematics.read_back(mathematics.typed(tex)) == " ".join(tex.split())


def test_every_command_that_is_admitted_is_set_by_katex(complaints):
    used = [
        *SYMBOLS,
        *(rf"{name}{{x}}" for name in ONE),
        *(rf"{name}{{x}}{{y}}" for name in TWO),
        *(rf"{name}{{x}}" for name in WORDS),
        *(rf"{name}(" for name in SIZED),
        *(rf"\left{opens} x \right{opens}" for opens in mathematics.FENCES),
        *(rf"\begin{{{name}}} x & y \\ z & w \end{{{name}}}" for name in ENVIRONMENTS - {"gathered"}),
        *(rf"\text{{{name}{{}} x}}" for name in IN_WORDS),
        *(rf"\text{{{escaped}}}" for escaped in mathematics.ESCAPES.values()),
        r"\begin{gathered} x \\ y \end{gathered}",
        r"\sqrt[3]{x} \not= y \operatorname*{argmax}_x x' + x'^2",
    ]
    assert all(map(is_formula, used)), [tex for tex in used if not is_formula(tex)]
    assert complaints(used) == {}
    print(f"\ncommands: tried {len(used)}, right {len(used)}, refused 0, wrong 0")


def test_whatever_is_admitted_is_set_by_katex_and_is_mathml(complaints):
    """Formulas put together at random from what formulas, and attacks, are made of."""
    draw, counts = random.Random(7), Counter()
    pool = [
        *"abxy0129+-=<>()[]|,.;:!?/*@'", "{", "}", "{", "}", "^", "_", "^", "_", " ", "&", r"\\", "~", "%", "#", "$",
        "^^",
        *("{x}", "{x+y}", "_i", "^2", "'", r"\frac", r"\sqrt", r"\hat", r"\mathbf", r"\operatorname", r"\text{ab}"),
        *(r"\left(", r"\right)", r"\left.", r"\right|", r"\big(", r"\alpha", r"\sum", r"\to", r"\not", r"\text{"),
        *(r"\begin{aligned}", r"\end{aligned}", r"\begin{cases}", r"\end{cases}", r"\begin{pmatrix}", r"\end{pmatrix}"),
        *(r"\input", r"\def", r"\href", r"\displaystyle", r"\quad", r"\,", r"\{", r"\}", r"\langle", r"\limits"),
        *(r"\middle|", r"\binom"),
    ]  # fmt: skip
    formulas = []
    for _ in range(20_000):
        tex = "".join(draw.choice(pool) for _ in range(draw.randint(1, 7)))
        counts["tried"] += 1
        if is_formula(tex):
            formulas.append(tex)
            assert not wrongs_of_latex(tex), tex
        else:
            counts["refused"] += 1
    said = complaints(formulas)
    for tex, words in said.items():
        print(repr(tex), words)
    counts["wrong"], counts["right"] = len(said), len(formulas) - len(said)
    for tex in formulas[:1500]:
        assert not Page(prose.mathml(tex)).wrong
    assert counts["right"] > 1000
    told(counts, "formulas at random")


@pytest.fixture
def hostile():
    """A result whose title, conclusion, formula and symbols are what a test says."""

    def make(text):
        x = sp.Symbol("x", real=True)
        fact = Identity((x + 1) ** 2, x**2 + 2 * x + 1)

        def square():
            return Chain(text, [fact], formula=text)

        square.__doc__ = text
        square.__module__ = "user.argument"
        return result(topic="user")(square)

    yield make
    REGISTERED.pop("user.square", None)


def test_a_notebook_shows_text_as_text(hostile, monkeypatch):
    counts = Counter()
    for text in [*COMMANDS[::3], *BROKEN[::4], *MARKUP, *WRAPPED[::25]]:
        if not text.strip() or "\ud800" in text:  # no docstring, or none that a file can hold
            continue
        counts["tried"] += 1
        REGISTERED.pop("user.square", None)
        made = hostile(text)
        page, tex = Page(result_html(made)), made._repr_latex_()
        wrong = [
            *page.wrong,
            *wrongs_of_latex(tex),
            *(w for s in made.steps for w in wrongs_of_latex(s.latex)),
        ]
        if wrong:
            print(repr(text)[:200], wrong, tex)
        counts["wrong" if wrong else "refused"] += 1
    told(counts, "results in a notebook")


def test_names_of_symbols_are_no_commands():
    counts = Counter()
    for name in [*COMMANDS, *BROKEN, *MARKUP]:
        if not name or "\ud800" in name:
            continue
        x = sp.Symbol(name, real=True)
        counts["tried"] += 1
        tex = statement_latex(Identity((x + 1) ** 2, x**2 + 2 * x + 1))
        wrong = [*wrongs_of_latex(tex), *Page(prose.mathml(tex)).wrong]
        if wrong:
            print(repr(name), tex, wrong)
        counts["wrong" if wrong else "refused" if r"\text{" in tex else "right"] += 1
    told(counts, "names of symbols")


def book(text):
    """A book in which every text of a package is the same."""
    e = next(iter(ledger().values()))
    form = Formula(text, cleaned(text))
    audited = AuditEntry(
        e.id, e.topic, "erratum", "proved", (text,), 0.0, counterexample=text, hypothesis=text, severity=text
    )
    section = Section(e, text, (text,), audited, text, ((text, form),), ((text, form),))
    return (Chapter(text, (), (section,), (Derived(text, text, form, (Step(text, text),)),)),)


def test_a_book_of_hostile_texts_is_a_book(complaints):
    counts = Counter()
    plain = Page(html_book(book("x"))).seen
    for text in [*COMMANDS[::2], *BROKEN[::3], *MARKUP]:
        counts["tried"] += 1
        page = Page(html_book(book(text)))
        body = latex_book(book(text)).split(r"\begin{document}")[1].rpartition(r"\end{document}")[0]
        wrong = [*page.wrong, *wrongs_of_latex(body.replace("\n\n", "\n"), OF_THE_BOOK)]
        if not body.isascii():
            wrong.append("a character without a glyph")
        if Counter(page.seen)["script"] != plain.count("script"):
            wrong.append("script")
        if wrong:
            print(repr(text)[:200], wrong)
        counts["wrong" if wrong else "refused"] += 1
    told(counts, "texts in a book")


def test_mathml_is_well_formed_whatever_is_asked_for():
    counts = Counter()
    for tex in [*COMMANDS, *BROKEN, *MARKUP, r"\text{a\_b \{\} \textbackslash{}x}", r"\text{}", ""]:
        counts["tried"] += 1
        made = prose.mathml(tex)
        page = Page(made)
        ElementTree.fromstring(made)
        counts["wrong" if page.wrong else "right"] += 1
    told(counts, "MathML")
    assert "<mtext>a_b&#x000A0;{}&#x000A0;\\x</mtext>" in prose.mathml(r"\text{a\_b \{\} \textbackslash{}x}")


def test_the_terminal_is_told_nothing_but_text(capsys):
    steering = [
        "\x1b[2J",
        "\x1b]0;x\x07",
        "\x9b2J",
        "\r",
        "\x08",
        "\x7f",
        "\u202e",
        "\u2066",
        "\ud800",
        "\x00",
        "\x0c",
        "\u200f",
    ]
    texts = [f"a{mark}b" for mark in steering] + [f"[bold]{mark}[/x]" for mark in steering]
    counts = Counter()
    for text, way in product(texts, ("plain", "say", "failed", "table", "json")):
        counts["tried"] += 1
        if way == "table":
            console.table(text, (text,), [(text,)])
        elif way == "json":
            console.print_json({"x": text})
        else:
            getattr(console, way)(text)
        out, err = capsys.readouterr()
        wrong = [mark for mark in steering if mark in out + err]
        counts["wrong" if wrong else "refused"] += 1
        if wrong:
            print(way, repr(text), repr(out + err))
    told(counts, "texts on a terminal")


def test_claims_in_words_are_text():
    for text in [*COMMANDS, *MARKUP]:
        tex = statement_latex(Experiment(text, "toy.squares"))
        assert not wrongs_of_latex(tex), (text, tex)
