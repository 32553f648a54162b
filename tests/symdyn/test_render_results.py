"""Every result can be set: by KaTeX in strict mode, in LaTeX, in a notebook, in the book."""

from __future__ import annotations

import collections
import functools
import re
import shutil
from pathlib import Path

import pytest
import sympy

import symdyn
from derivations.prior_knowledge.riccati import stacked_layers as flow_of_q
from derivations.wide_linear.starts import gaussian_layers
from symdyn.calculus.gram import GramOperator, evaluate
from symdyn.calculus.vectors import Linear, Vector
from symdyn.catalogue.auditing import AuditEntry
from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import index, printed_forms
from symdyn.compile.named import unfold
from symdyn.proof.check import decide
from symdyn.proof.verdict import Witness
from symdyn.render import book, chapters, prose
from symdyn.render.book_html import html_book
from symdyn.render.book_latex import latex_book
from symdyn.render.chapters import headline
from symdyn.render.latex import fold, short_formulas, statement_latex
from symdyn.render.layout import formulas_of_rows
from symdyn.render.points import occurring
from symdyn.render.spelling import quantities, spelled_apart
from symdyn.render.steps import Step, coefficients, gap, steps
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Chain, Definition, Identity, typeset
from symdyn.statements.notation import GLOSSARIES, vocabulary

KEYS = [e.key for e in index()]
WORDS = re.compile(
    r"\\(?:text|operatorname|mathrm|begin|end)\{(?:[^{}\\]|\\.)*\}|\\[A-Za-z]+|\\.|[_^][A-Za-z]"
)


def bare_words(tex: str) -> set[str]:
    """Runs of three letters or more that are neither a command nor text: names that were not typeset. Three
    capitals are a product of matrices; one letter after _ or ^ is an index.
    """
    return {word for word in re.findall(r"[A-Za-z]{3,}", WORDS.sub(" ", tex)) if not word.isupper()}


@functools.cache
def steps_of(key: str) -> tuple[Step, ...]:
    return symdyn.load(key).steps


def formulas_of(key: str) -> list[str]:
    return [symdyn.load(key).latex(), *(step.latex for step in steps_of(key))]


def test_katex_sets_every_formula_of_every_result(complaints) -> None:
    formulas = [tex for key in KEYS for tex in formulas_of(key)]
    formulas += [statement_latex(form.statement, form.key.split(".")[0]) for form in printed_forms()]
    assert complaints(formulas) == {}


@pytest.mark.parametrize("key", KEYS)
def test_no_name_is_left_bare(key: str) -> None:
    assert {tex: words for tex in formulas_of(key) if (words := bare_words(tex))} == {}


def test_bare_words_are_noticed() -> None:
    assert bare_words(r"SBK + \beta_{star} + \operatorname{atanh}{\left(x \right)} \text{with words}") == {
        "star"
    }


@pytest.mark.parametrize("key", KEYS)
def test_every_result_has_steps_with_reasons(key: str) -> None:
    steps = steps_of(key)
    assert steps
    assert all(step.reason and step.latex for step in steps)


def definitions(key: str) -> list[list[str]]:
    """Symbol and meaning of each line that says what a symbol stands for, or how it moves, and for which facts."""
    given = ("With", "Where", "Abbreviation", "Definition", "Along the flow")
    return [
        [*re.split(" :?= ", row, maxsplit=1), step.reason.partition(",")[2]]
        for step in steps_of(key)
        if step.reason.startswith(given)
        for row in formulas_of_rows(step.latex)
    ]


def test_no_derivation_defines_one_symbol_twice() -> None:
    twice = {}
    for key in KEYS:
        meanings = collections.defaultdict(set)
        for symbol, meaning, facts in definitions(key):
            meanings[symbol, facts].add(meaning)
        twice.update({(key, s): several for s, several in meanings.items() if len(several) > 1})
    assert twice == {}


def test_definitions_are_found_in_the_derivations() -> None:
    assert sum(bool(definitions(key)) for key in KEYS) > 50
    assert ["\\kappa_0", r"\sqrt{4 \eta_a \eta_w \|\beta_0\|^2 + \delta^{2}}", ""] in definitions(
        "single_neuron.bias_through_a_crossing"
    )


def test_different_quantities_of_a_result_print_differently() -> None:
    for key in KEYS:
        found = quantities(spelled_apart(symdyn.load(key).statement))
        assert len(set(map(typeset, found))) == len(found), key


def test_no_derivation_writes_one_formula_twice() -> None:
    repeated = {}
    for key in KEYS:
        rows = collections.Counter(row for step in steps_of(key) for row in formulas_of_rows(step.latex))
        repeated.update({(key, row): count for row, count in rows.items() if count > 1})
    assert repeated == {}


def test_no_fact_says_that_something_equals_itself() -> None:
    rows = [(key, row) for key in KEYS for step in steps_of(key) for row in formulas_of_rows(step.latex)]
    assert [(key, row) for key, row in rows if len(set(row.split(" = "))) < len(row.split(" = "))] == []


def test_the_book_does_not_repeat_the_statement_below_it() -> None:
    for key in ("single_neuron.bias_through_a_crossing", "single_neuron.preconditioner"):
        result = symdyn.load(key)
        shown = chapters.derived(result)
        assert result.latex() in [step.latex for step in result.steps]
        assert result.latex() not in [step.latex for step in shown.steps]
        assert shown.formula.latex not in [step.latex for step in shown.steps]


def vector_identities() -> list[tuple[str, Identity, Domain]]:
    """The identities between vectors or operators, with the domains they are claimed on."""
    found = []
    for key in KEYS:
        result = symdyn.load(key)
        for fact in (result.statement, *result.statement.facts()):
            domain = fact.domain or result.statement.domain or result.domain
            if isinstance(fact, Identity) and isinstance(fact.lhs, Linear | GramOperator) and domain:
                found.append((key, fact, domain))
    return found


def test_the_coefficients_that_a_derivation_says_to_vanish_do() -> None:
    """Comparing coefficients of β and of w separately would be wrong where β = a w."""
    defined = 0
    for key, fact, domain in vector_identities():
        defined += any(isinstance(v, Vector) for v in domain.let)
        points = list(domain.points(domain.cells[0], per_dimension=2))
        for of, coefficient in coefficients(gap(fact, domain)):
            values = [sympy.N(evaluate(unfold(coefficient), point), 40) for point in points]
            finite = [value for value in values if value is not sympy.nan]
            assert finite, (key, of)
            assert all(abs(value) < 1e-30 for value in finite), (key, of)
    assert defined >= 5


def test_what_the_domain_defines_is_given() -> None:
    where = next(step for step in steps_of("single_neuron.preconditioner") if step.reason == "Where")
    assert formulas_of_rows(where.latex) == [
        r"\delta = \eta_w a^{2} - \eta_a \|w\|^2",
        r"\beta = a w",
    ]


def test_facts_that_read_alike_are_told_together() -> None:
    x = sympy.Symbol("x", real=True)
    facts = [
        Identity(x + 1, 1 + x, on=Domain((x,), words="x > 0")),
        Identity(x + 1, 1 + x, on=Domain((x,), words="x < 0")),
        Identity(sympy.sin(x) ** 2, 1 - sympy.cos(x) ** 2),
    ]
    told = [(step.reason, step.latex) for step in steps(Chain("an example", tuple(facts)))]
    assert told[0] == ("Facts 1 and 2 (x > 0; x < 0), both sides of which are", "x + 1")
    assert [reason for reason, _ in told[1:]] == ["Fact 3", "Fact 3, left minus right side", "Therefore"]


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("deep_linear", r"\left(\|a\|^2\right)^{2} = 1"),
        ("prior_knowledge", "a_2^{2} = 1"),
        ("", "a_{2}^{2} = 1"),
    ],
)
def test_a_name_prints_as_the_glossary_of_its_topic_has_it(topic: str, expected: str) -> None:
    a2 = sympy.Symbol("a2", real=True)
    assert statement_latex(Identity(a2**2, sympy.S.One), topic) == expected
    (step,) = steps(Definition("N", a2**2), topic=topic)
    assert step.latex == "N := " + expected.removesuffix(" = 1")


def test_every_scalar_of_every_glossary_prints_as_it_says() -> None:
    differing = 0
    for topic, glossary in GLOSSARIES.items():
        for term in glossary:
            if isinstance(term.symbol, sympy.Symbol):
                with vocabulary(topic):
                    assert typeset(term.symbol) == term.latex
                differing += typeset(term.symbol) != term.latex
    assert differing > 50


def test_a_vocabulary_ends_where_it_was_begun() -> None:
    a2 = sympy.Symbol("a2", real=True)
    with vocabulary("deep_linear"):
        with pytest.raises(RuntimeError), vocabulary("prior_knowledge"):
            raise RuntimeError
        assert typeset(a2) == r"\|a\|^2"
    assert typeset(a2) == "a_{2}"


def test_every_reason_and_title_is_ascii_in_latex() -> None:
    texts = [text for key in KEYS for text in (symdyn.load(key).title, *(s.reason for s in steps_of(key)))]
    assert all(prose.latex(text).isascii() for text in texts)


def test_the_steps_of_a_conservation_law_show_flow_chain_rule_and_conclusion() -> None:
    steps = symdyn.load("single_neuron.conserved_delta").steps
    assert [step.reason for step in steps] == [
        "The quantity",
        "Along the flow",
        "By the chain rule",
        "Hence nothing changes along the flow",
    ]
    assert r"\dot{a} &=" in steps[1].latex
    assert r"\dot{w} &=" in steps[1].latex
    assert steps[-1].latex.endswith("= 0")


def test_the_steps_of_a_matrix_law_show_flow_and_rules() -> None:
    steps = symdyn.load("wide_linear.conserved_balance").steps
    assert [step.reason for step in steps] == ["Along the flow", "Hence, by the product rule"]
    assert r"\dot{A} &=" in steps[0].latex
    given = symdyn.load("wide_linear.completed_square").steps[0]
    assert given.reason == "Given"
    assert given.latex.startswith(r"W W^\top =")


@pytest.mark.parametrize("key", KEYS)
def test_no_symbol_is_said_to_be_two_things(key: str) -> None:
    given = [tex for s in steps_of(key) if s.reason in ("Where", "With") for tex in formulas_of_rows(s.latex)]
    symbols = [tex.split("=")[0].strip() for tex in given]
    assert [x for x, times in collections.Counter(symbols).items() if times > 1] == []


def test_a_crossing_tells_the_kappas_at_its_ends_and_of_any_argument_apart() -> None:
    (given,) = (s.latex for s in steps_of("single_neuron.bias_through_a_crossing") if s.reason == "With")
    assert [tex.split("=")[0].strip() for tex in formulas_of_rows(given)] == [
        r"\kappa_\infty",
        r"\kappa_0",
        r"\kappa\left(x\right)",
    ]


def test_a_notebook_shows_formula_source_and_verdict() -> None:
    result = symdyn.load("single_neuron.conserved_delta")
    shown = result._repr_html_()
    assert "kunin2024.single-conserved-delta" in shown
    assert "PROVED" in shown
    assert "$$" in shown
    assert result._repr_latex_() == f"$\\displaystyle {result.latex()}$"


@pytest.mark.parametrize("changed", ["velocity", "riccati", "with_balance"])
def test_a_law_of_q_that_is_changed_is_printed_so_and_refuted(monkeypatch, changed) -> None:
    law = getattr(flow_of_q, changed)
    wrong = {
        "velocity": lambda Q, F: law(Q, F) + Q,
        "riccati": lambda square, F: law(square, F) + square,
        "with_balance": lambda F: 2 * law(F) - F,
    }
    monkeypatch.setattr(flow_of_q, changed, wrong[changed])
    made = flow_of_q.weight_riccati.function()
    assert made.latex() != flow_of_q.weight_riccati.statement.latex()
    assert decide(made).holds is False


@pytest.mark.parametrize(("changed", "value"), [("spread", 2), ("square_spread", 2), ("mean", 3)])
def test_a_balance_of_gaussian_weights_that_is_changed_is_printed_so_and_refuted(
    monkeypatch, changed, value
) -> None:
    monkeypatch.setattr(gaussian_layers, changed, value * getattr(gaussian_layers, changed))
    made = gaussian_layers.gaussian_balance.function()
    assert made.latex() != gaussian_layers.gaussian_balance.statement.latex()
    assert decide(made, gaussian_layers.square).holds is False


def test_a_notebook_sets_the_formulas_of_the_title() -> None:
    titles = {key: symdyn.load(key).title for key in KEYS}
    key = next(key for key, title in titles.items() if "a_∞" in title)
    shown = symdyn.load(key)._repr_html_().split("</b>")[0]
    assert "<math" in shown
    assert "∞" not in re.sub(r"<math.*?</math>", "", shown)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("balanced mu bernoulli", r"Balanced $\mu$ Bernoulli"),
        ("thm1 implicit bias", "Theorem 1 implicit bias"),
        ("fig234 low rank", "Figures 2, 3, 4 low rank"),
        ("ntk definition", "NTK definition"),
        ("lemma10 alignment", "Lemma 10 alignment"),
        ("theorem 3 1 function", "theorem 3.1 function".capitalize()),
        ("qqt blocks", r"$QQ^\top$ blocks"),
        ("upstream a bernoulli", "Upstream $a$ Bernoulli"),
        ("ch nu riccati", r"$c=h$ $\nu$ Riccati"),
        ("q two layer", "$q$ two layer"),
        ("c delta", r"$c_\delta$"),
        ("M low rank", "$M$ low rank"),
        ("mu phi ode", r"$\mu$ and $\phi$ equation"),
        ("fig 6e h", "Figure 6e–h"),
        ("prop17 2 colorable", "Proposition 17 2 colorable"),
    ],
)
def test_headlines(words: str, expected: str) -> None:
    assert headline(words) == expected


def test_letters_of_headlines_are_capitals_where_the_statement_has_capitals() -> None:
    assert headline("b c definition", r"B=U^T\tilde U, C=U^T\tilde V") == "$B$ and $C$ definition"
    assert (
        headline("f h definitions", r"$f_\delta(x)$ and $h_\delta(x)$ with $F$") == "$f$ and $h$ definitions"
    )


def test_no_headline_has_a_letter_outside_formulas() -> None:
    found = [headline(e.title, e.statement) for e in ledger().values()]
    plain = [re.sub(r"\$[^$]*\$", "", words) for words in found]
    assert [words for words in plain if re.search(r"(?<![\w–])[A-Za-z](?!\w)", words)] == []


def test_what_is_given_for_some_facts_alone_says_for_which() -> None:
    given = {s.reason: formulas_of_rows(s.latex) for s in steps_of("deep_linear.isotropic_dynamics")}
    one_layer = r"W_{1} W_{1}^\top = a a^\top - \delta I"
    two_layers = r"W_{2} W_{2}^\top = a a^\top - \delta I"
    assert given["Given, for facts 1 and 2"] == [one_layer]
    assert two_layers in given["Given, for facts 3 and 4"]
    assert "Given" not in given


def test_points_are_shown_in_the_symbols_of_the_topic() -> None:
    symdyn.load("single_neuron.potential")  # whose topic has the glossary
    point = "a0 = -1/2, dual0 = (9), g = Lambda((_z0, _z1), 3*_z0**2/2 + (_z0 + _z1)**3), t = 1: gap = 2"
    assert chapters.in_symbols(point, "single_neuron") == (
        r"$a_0$ = -1/2, $\nabla\Phi(\beta_0)$ = (9), "
        r"$g(z_{0}, z_{1}) = \frac{3 z_{0}^{2}}{2} + \left(z_{0} + z_{1}\right)^{3}$, $t$ = 1: gap = 2"
    )


def test_every_symbol_of_every_glossary_can_stand_in_a_counterexample(complaints) -> None:
    symdyn.catalogue.registry.results()
    shown = [
        prose.from_ascii(chapters.in_symbols(f"{term.name} = 2, delta = 1: left - right = 3e-4", topic))
        for topic, words in GLOSSARIES.items()
        for term in words
    ]
    assert len(shown) > 100
    parts = [re.split(r"\$([^$]*)\$", point) for point in shown]
    assert all(point.count("$") % 2 == 0 for point in shown)
    for words in parts:
        assert not re.search(r"[\\{}]", re.sub(r"10\^\{-4\}", "", "".join(words[::2]))), words
    assert complaints([tex for words in parts for tex in words[1::2]]) == {}
    assert complaints([prose.katex(point) for point in shown]) == {}


def test_a_counterexample_gives_what_the_refuted_formula_depends_on() -> None:
    (form,) = [f for f in printed_forms() if f.ledger_id == "kunin2024.upstream-nu-solution"]
    point = {"w0": "(1)", "beta_star": "(2)", "t": "1", "delta": "3", "s": "2", "nu0": "-1", "omega0": "2"}
    kept = occurring(form.statement, Witness(point, "residual = 1"))
    assert list(kept.point) == ["t", "delta", "s", "nu0"]
    matrices = next(f for f in printed_forms() if f.ledger_id == "kunin2024.sherman-morrison")
    whole = Witness({"A": "[[2]]", "u": "[[1]]", "v": "[[1]]"}, "residual = 1")
    assert occurring(matrices.statement, whole) == whole


def test_a_wide_name_carries_no_dot() -> None:
    (moves, *_) = [
        s for s in steps_of("prior_knowledge.singular_basis_of_flow") if s.reason == "Along the flow"
    ]
    assert r"\frac{d}{dt} e^{-\tilde St/\tau}" in moves.latex.replace("&", "")


DEFECTS = {
    "kunin2024.single-conserved-delta": ("holds", {}),
    "kunin2024.phi-delta-potential": (
        "erratum",
        {
            "printed": "p",
            "counterexample": "δ = 1/2, a = 3: -7/2",
            "corrected": "c",
            "severity": "substantive",
        },
    ),
    "kunin2024.gM-inverse": ("conditional", {"hypothesis": "δ < 0 & more", "counterexample": "δ = 1"}),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, book.Written]:
    """A book on a machine without pdflatex, whose audit found one entry of each kind."""

    def audit(topic: str, progress: object) -> list[AuditEntry]:
        found = []
        for e in ledger().values():
            if e.topic == topic:
                status, extra = DEFECTS.get(e.id, ("open", {}))
                keys = tuple(i.key for i in index() if e.id in i.ledger)
                found.append(AuditEntry(e.id, e.topic, status, "proved", keys, 0.0, **extra))
        return found

    folder = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chapters, "audit", audit)
        patch.setattr(shutil, "which", lambda _: None)
        done = book.write_book(folder)
    return (folder / "symdyn.tex").read_text("utf-8"), (folder / "index.html").read_text("utf-8"), done


def test_both_books_hold_every_entry_and_every_result(written) -> None:
    tex, page, _ = written
    topics = {e.topic for e in index()}
    for e in ledger().values():
        if e.topic in topics:
            assert f'<section id="{e.id}">' in page
            assert prose.escape(e.id).replace(".", r".\allowbreak{}").replace("-", r"-\allowbreak{}") in tex
    for key in KEYS:
        assert f'<article id="{key}">' in page
        assert rf"\label{{{key}}}" in tex


def test_a_chapter_names_all_its_papers() -> None:
    kunin, braun = (next(iter(ledger(name).values())).paper for name in ("kunin2024", "braun2022"))
    for book_of in (latex_book, html_book):
        both = book_of((chapters.Chapter("a_topic", (kunin, braun), (), ()),))
        one = book_of((chapters.Chapter("a_topic", (kunin,), (), ()),))
        assert "Sources: " in both
        assert "Source: " in one
        assert both.index(f"({kunin.year})") < both.index(f"({braun.year})")


def test_both_books_show_errata_with_counterexample_and_hypotheses(written) -> None:
    tex, page, _ = written
    assert r"\badge{erratum}{erratum, substantive, proved}" in tex
    assert r"\emph{Hypothesis:} $\delta < 0$ \& more" in tex
    assert "-7/\\allowbreak{}2" in tex
    assert '<span class="badge erratum">erratum, substantive, proved</span>' in page
    assert 'alttext="\\delta &lt; 0"' in page
    assert " &amp; more" in page
    assert "<em>Corrected by</em>" in page


def test_the_latex_book_is_ascii_and_the_page_needs_no_network(written) -> None:
    tex, page, _ = written
    assert tex.isascii()
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert "<script" not in page


def test_without_pdflatex_the_book_says_so(written) -> None:
    _, _, done = written
    assert [path.name for path in done.files] == ["symdyn.tex", "index.html"]
    assert "pdflatex was not found" in done.pdf_notice
    assert not done.pdf_failed


def test_a_formula_that_pdflatex_refuses_fails_the_book_and_shows_the_line(
    tmp_path: Path, monkeypatch
) -> None:
    compiler = tmp_path / "pdflatex"
    compiler.write_text("#!/bin/sh\necho './symdyn.tex:7: Undefined control sequence.'\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(compiler))
    monkeypatch.setattr(book, "chapters", lambda _: ())
    done = book.write_book(tmp_path)
    assert done.pdf_failed
    assert "symdyn.tex:7: Undefined control sequence" in done.pdf_notice
    assert not (tmp_path / "symdyn.pdf").exists()


def wide_identity() -> Identity:
    x, y = sympy.symbols("x y", real=True)
    inner = sympy.sqrt(1 + x**2 + sympy.cosh(y) ** 3 + x * y)
    wide = sum(inner**k * sympy.exp(k * x) / (k + inner) for k in range(1, 9))
    return Identity(wide, sympy.together(wide))


def test_a_formula_too_wide_to_read_names_what_repeats_in_it(complaints) -> None:
    first, *definitions = short_formulas(wide_identity())
    assert definitions
    assert all(re.match(r"z_\{\d\} = ", tex) for tex in definitions)
    assert "z_{1}" in first
    assert complaints([statement_latex(wide_identity())]) == {}


def test_putting_the_named_parts_back_gives_the_formula() -> None:
    folded, definitions = fold(wide_identity())
    for symbol, value in reversed(definitions):
        folded = Identity(folded.lhs.xreplace({symbol: value}), folded.rhs.xreplace({symbol: value}))
    assert folded == wide_identity()


def test_a_formula_that_can_be_read_stays_as_it_is() -> None:
    assert short_formulas(Identity(sympy.Symbol("x"), sympy.Integer(1))) == ["x = 1"]
