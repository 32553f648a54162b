"""Hypotheses say where they come from, nothing restricts a result silently, what is added makes it conditional."""

from __future__ import annotations

import html
import json
import random
import sys
from collections import Counter

import pytest
import sympy as sp

from symdyn.calculus.gram import Vector, inner, norm2
from symdyn.calculus.matrix import Declaration, Rules, matrix, positive, rule
from symdyn.catalogue import auditing
from symdyn.catalogue.auditing import NO_COUNTEREXAMPLE, AuditEntry
from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import index, load, load_printed, printed_forms, results
from symdyn.catalogue.restrictions import (
    SilentRestriction,
    added_to,
    declared,
    of_domain,
    refuse_added,
    refuse_silent,
    restrictions,
    silent,
)
from symdyn.catalogue.result import PrintedForm, Result
from symdyn.cli.commands import _remarks, main
from symdyn.proof.verdict import Verdict
from symdyn.render import book_html, book_latex, chapters, prose
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import Hypothesis, added, meaning, standing, stated
from symdyn.statements.kinds import Conjunction, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity

ENTRY = "kunin2024.single-conserved-delta"
x, y, z, q = sp.symbols("x y z q", real=True)
v, w = Vector("v"), Vector("w")
n = sp.Symbol("n", integer=True, positive=True)


def claim():
    """A square is not negative."""
    return Inequality(x**2 + y**2, ">=")


def result_of(function=claim, **options) -> Result:
    return Result(function, topic="nowhere", ledger=(ENTRY,), **options)


def on(*cells: Cell, **options) -> Domain:
    return Domain((x, y), cells=cells or (Cell(),), **options)


def predicate(point) -> bool:
    return point[x] > 0


def drawn(rng: random.Random, d: int) -> dict:
    return {x: sp.Integer(1)}


# --- how a hypothesis is made


@pytest.mark.parametrize(
    ("made", "source"),
    [
        (stated("§2.1, below eq. (3)", "δ > 0", x), "stated, §2.1, below eq. (3)"),
        (standing("App. B", "η > 0", x > 0), "standing, App. B"),
        (added("β_* ≠ 0", x), "added"),
        (meaning("t is a time", x > 0), "meaning"),
    ],
)
def test_a_hypothesis_says_where_it_comes_from(made, source):
    assert made.source == source
    assert made.as_json() == {"origin": made.origin, "place": made.place, "words": made.words}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: stated("", "δ > 0"), "place in the paper first"),
        (lambda: stated("  ", "δ > 0"), "place in the paper first"),
        (lambda: standing("", "δ > 0"), "place in the paper first"),
        (lambda: stated(None, "δ > 0"), "place in the paper first"),
        (lambda: stated(x > 0, "δ > 0"), "place in the paper first"),
        (lambda: stated("Sec. 2", ""), "say in words"),
        (lambda: standing("App. B", " "), "say in words"),
        (lambda: stated("Sec. 2", x > 0), "say in words"),
        (lambda: added(""), "say in words"),
        (lambda: added(x > 0), "say in words"),
        (lambda: meaning(""), "say in words"),
        (lambda: Hypothesis("δ > 0", "invented", "Sec. 2"), "origin of a hypothesis is one of"),
        (lambda: Hypothesis("δ > 0", "added", "Sec. 2"), "no place in a paper"),
        (lambda: Hypothesis("δ > 0", "meaning", "Sec. 2"), "no place in a paper"),
        (lambda: Hypothesis("δ > 0", "stated"), "place in the paper first"),
        (lambda: added("δ > 0", counterexample=Identity(x, y)), "a function that returns a statement"),
        (lambda: Hypothesis("δ", "stated", "Sec. 2", (), claim), "what is added has a counterexample"),
    ],
)
def test_a_hypothesis_without_words_origin_or_place_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize("given", [stated("Sec. 2", "δ > 0"), ("δ > 0",), (x > 0,), [None]])
def test_hypotheses_are_a_tuple_of_them(given):
    with pytest.raises(TypeError, match="hypothes"):
        result_of(hypotheses=given)


# --- what restricts


half = (Cell("x > 0", {x: 1}), Cell("x < 0", {x: -1}))
whole = (*half, Cell("x = 0", where={x: sp.S.Zero}))
RESTRICTING = {
    "a sign": on(Cell("x > 0", {x: 1})),
    "one of two signs missing": on(*half),
    "a value": on(Cell("x = 0", where={x: sp.S.Zero})),
    "a value that is not zero": on(Cell("x = 2", where={x: sp.Integer(2)})),
    "an equation": on(Cell("x = y", where={x: y})),
    "an equation that gives a reason": on(Cell("x = y²", where={x: y**2}, reason="loses nothing")),
    "a coordinate": on(Cell("x = q", {q: 1}, {x: q}, "x by q > 0")),
    "not both at zero": on(
        *half, Cell("x = 0, y > 0", {y: 1}, {x: sp.S.Zero}), Cell("x = 0, y < 0", {y: -1}, {x: sp.S.Zero})
    ),
    "signs that go together": on(
        Cell("both > 0", {x: 1, y: 1}),
        Cell("both < 0", {x: -1, y: -1}),
        Cell("both 0", where={x: sp.S.Zero, y: sp.S.Zero}),
    ),
    "an inequality": on(conditions=(x > 1,)),
    "a non-equality": on(conditions=(sp.Ne(x, y),)),
    "an alternative": on(conditions=(sp.Or(x > 0, y > 0),)),
    "a predicate": on(conditions=(predicate,)),
    "dimensions": Domain((x, y), (v,), dimensions=(2, 3)),
    "dimensions in words": Domain((x, y), (v,), words="d ≥ 2"),
    "a sampler": on(sampler=drawn),
    "a vector that is not zero": Domain((x, y), (v,), (Cell("v ≠ 0", {norm2(v): 1}),)),
    "orthogonal vectors": Domain((x, y), (v, w), (Cell("v ⟂ w", where={inner(v, w): sp.S.Zero}),)),
    "a unit vector": Domain((x, y), (v,), (Cell("unit", where={norm2(v): sp.S.One}),)),
    "a square by let": Domain((y, q), let={x: q**2}),
    "a curve by let": Domain((y,), let={x: y**2}),
    "words": on(words="x is a probability"),
}
FREE = {
    "nothing": on(),
    "all signs": on(*whole),
    "all signs of two": on(
        *half, *(Cell(f"x = 0, {s}", {y: s}, {x: sp.S.Zero}) for s in (1, -1)),
        Cell("origin", where={x: sp.S.Zero, y: sp.S.Zero}),
    ),
    "one cell for all of them": on(Cell("x > 0", {x: 1}), Cell("any")),
    "dimensions from one on": Domain((x, y), (v,), dimensions=(1, 2, 3)),
    "both cases of a vector": Domain(
        (x, y), (v,), (Cell("v ≠ 0", {norm2(v): 1}), Cell("v = 0", where={norm2(v): sp.S.Zero}))
    ),
    "a definition of what is not named": Domain((x, y), let={z: x + y}),
}  # fmt: skip


@pytest.mark.parametrize("name", RESTRICTING)
def test_a_domain_that_restricts_does_not_do_so_silently(name):
    bad = result_of(domain=RESTRICTING[name])
    assert silent(bad), name
    with pytest.raises(
        SilentRestriction, match=r"nowhere\.claim restricts without saying why: .*stated\(place"
    ):
        bad.verify_alone()


@pytest.mark.parametrize("name", FREE)
def test_a_domain_that_leaves_out_nothing_needs_no_hypothesis(name):
    assert silent(result_of(domain=FREE[name])) == ()


@pytest.mark.parametrize("name", RESTRICTING)
def test_a_result_of_our_own_may_restrict_as_it_likes(name):
    assert silent(Result(claim, topic="nowhere", domain=RESTRICTING[name])) == ()


@pytest.mark.parametrize("where", ["requires", "a fact", "a declaration", "a declared sign"])
def test_what_is_required_and_what_facts_restrict_is_seen_too(where):
    A = matrix("A", n, n)
    rules = Rules(Declaration("A squares to A", (rule(A @ A, A),), (A.letter,), lambda *_: {}))
    statements = {
        "requires": claim(),
        "a fact": Conjunction(Inequality(x**2, ">"), Inequality(x**2, ">", on=on(Cell("x > 0", {x: 1})))),
        "a declaration": MatrixIdentity(A @ A, A, ({n: 2},), rules),
        "a declared sign": MatrixIdentity(A, A, ({n: 2},), Rules(positive(x))),
    }
    requires = (("positive", x > 0, "x"),) if where == "requires" else ()

    def made():
        """A claim."""
        return statements[where]

    assert silent(result_of(made, requires=requires)), where


@pytest.mark.parametrize(
    ("about", "covered"),
    [
        ((x,), True),
        ((x > 0,), True),
        ((sp.Lt(0, x),), True),
        ((y,), False),
        ((x < 0,), False),
        ((x >= 0,), False),
        ((x > 1,), False),
        ((sp.Ne(x, 0),), False),
        (("x",), False),
        (("x > 0",), True),
        ((), False),
    ],
)
def test_a_hypothesis_is_about_the_relation_or_the_quantity(about, covered):
    told = result_of(domain=on(Cell("x > 0", {x: 1})), hypotheses=(stated("Sec. 2", "x > 0", *about),))
    assert (silent(told) == ()) is covered
    carried = result_of(domain=on(Cell("x > 0", {x: 1})).supposing(stated("Sec. 2", "x > 0", *about)))
    assert (silent(carried) == ()) is covered


def test_one_hypothesis_does_not_hide_another_restriction():
    both = on(Cell("x, y > 0", {x: 1, y: 1})).supposing(standing("Sec. 2", "x > 0", x > 0))
    assert silent(result_of(domain=both)) == ("y > 0",)


def test_hypotheses_of_a_domain_stay_and_grow_with_it():
    first, second = stated("Sec. 2", "x > 0", x > 0), added("x > 1", x > 1)
    domain = on(Cell("x > 0", {x: 1}), hypotheses=(first,)).restrict(
        x > 1, words="x > 1", hypotheses=(second,)
    )
    assert domain.hypotheses == (first, second)
    assert domain.with_cells(Cell()).hypotheses == (first, second)
    told = result_of(domain=domain)
    assert declared(told) == (first, second)
    assert added_to(told) == (second,)
    assert {r.text for r in of_domain(domain)} == {"x > 0", "x > 1"}


def test_an_added_hypothesis_is_not_hidden_in_a_fact():
    narrow = on(Cell("x > 0", {x: 1})).supposing(added("x > 0", x > 0))

    def made():
        """A claim."""
        return Conjunction(Inequality(x**2 + 1, ">"), Inequality(x, ">", on=narrow))

    with pytest.raises(SilentRestriction, match="adds a hypothesis in a fact"):
        result_of(made).verify_alone()
    assert silent(result_of(made, hypotheses=(added("x > 0", x > 0),))) == ()


def test_a_printed_form_is_claimed_as_the_paper_claims_it():
    def form(**options) -> PrintedForm:
        return PrintedForm(claim, ENTRY, "", **options)

    restricted = on(Cell("x > 0", {x: 1}))
    with pytest.raises(SilentRestriction, match="restricts without saying why"):
        form(domain=restricted).verify()
    with pytest.raises(SilentRestriction, match="what is added goes into hypothesis"):
        form(domain=restricted.supposing(added("x > 0", x > 0))).verify()
    assert form(domain=restricted, hypotheses=(stated("Sec. 2", "x > 0", x > 0),)).verify().status == "holds"


# --- what the audit makes of it


def audited(result: Result, monkeypatch, outcome="PROVED") -> AuditEntry:
    monkeypatch.setattr(auditing, "load", lambda key: result)
    job = auditing.IndexEntry("nowhere.claim", "nowhere", (ENTRY,), "A claim", "nowhere", "result")
    return auditing._audit_entry(ledger()[ENTRY], [job], {job.key: Verdict(outcome, "proved", "evidence")})


def false_without():
    return Identity(x**2, x, on=on(Cell("x = 2", where={x: sp.Integer(2)})))


def true_without():
    return Identity(x**2, x, on=on(Cell("x = 1", where={x: sp.S.One})))


def test_an_entry_that_needs_what_is_added_does_not_hold(monkeypatch):
    told = (stated("Sec. 2", "x > 0", x > 0), standing("App. B", "y"), meaning("t is a time"))
    assert audited(result_of(hypotheses=told), monkeypatch).status == "holds"
    found = audited(result_of(hypotheses=(*told, added("x ≠ 2", x))), monkeypatch)
    assert (found.status, found.hypothesis) == ("conditional", "x ≠ 2")
    assert found.counterexample == NO_COUNTEREXAMPLE
    assert NO_COUNTEREXAMPLE in _remarks(found)
    carried = audited(result_of(domain=on().supposing(added("x ≠ 2", x))), monkeypatch)
    assert carried.status == "conditional"
    undecided = audited(result_of(hypotheses=(added("x ≠ 2", x),)), monkeypatch, "UNKNOWN")
    assert undecided.status == "open"


def test_a_counterexample_is_refuted_by_the_engine(monkeypatch):
    shown = audited(result_of(hypotheses=(added("x ≠ 2", x, counterexample=false_without),)), monkeypatch)
    assert shown.status == "conditional"
    assert "x = 2" in shown.counterexample
    assert _remarks(shown) == ""
    wrong = audited(result_of(hypotheses=(added("x ≠ 1", x, counterexample=true_without),)), monkeypatch)
    assert wrong.status == "open"
    assert "the counterexample without 'x ≠ 1' is PROVED" in wrong.failures[0]


def test_a_silent_result_has_a_row_that_names_it_and_the_others_go_on(monkeypatch):
    bad, good = result_of(domain=RESTRICTING["a sign"]), result_of()
    monkeypatch.setattr(auditing, "load", lambda key: {"a.bad": bad, "a.good": good}[key])
    assert auditing._attempt("result", "a.good")[1] == ""
    answer, obstacle = auditing._attempt("result", "a.bad")
    assert answer is None
    assert "SilentRestriction: nowhere.claim restricts without saying why: x > 0" in obstacle


# --- the registry


CLAIMED = {e.key: e for kind in ("result", "printed") for e in index(kind) if e.ledger}


def claimed(key: str) -> Result | PrintedForm:
    e = CLAIMED[key]
    return load_printed(e) if e.kind == "printed" else load(key)


@pytest.mark.parametrize("key", CLAIMED)
def test_no_result_and_no_printed_form_restricts_silently(key):
    found = claimed(key)
    assert silent(found) == ()
    refuse_silent(found)
    if isinstance(found, PrintedForm):
        refuse_added(found)


def test_every_hypothesis_of_the_registry_has_its_origin():
    everything = [claimed(key) for key in CLAIMED]
    count = Counter(h.origin for r in everything for h in declared(r))
    print(
        f"{len(everything)} results and printed forms, {sum(map(len, map(restrictions, everything)))} restrictions:",
        count,
    )
    assert set(count) == {"stated", "standing", "added", "meaning"}
    assert all(h.place for r in everything for h in declared(r) if h.origin in ("stated", "standing"))


def test_what_is_added_is_told_by_a_printed_form_or_has_no_counterexample():
    told = {form.ledger_id for form in printed_forms() if form.hypothesis}
    bare = {
        e
        for r in results()
        for h in added_to(r)
        for e in r.ledger
        if e not in told and h.counterexample is None
    }
    errata = {form.ledger_id for form in printed_forms() if form.severity}
    assert bare - errata == set()


# --- what is shown


@pytest.fixture
def shown(capsys, monkeypatch):
    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["symdyn", "show", *arguments])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    return run


def test_show_prints_every_hypothesis_with_origin_and_place(shown):
    for key in (
        "single_neuron.azulay_theorem",
        "single_neuron.gradients_on_the_line",
        "wide_linear.lazy_regime",
    ):
        text = " ".join(shown(key).split())
        supposed = load(key).supposes
        assert supposed
        for hypothesis in supposed:
            assert f"{hypothesis.source}: {hypothesis.words}" in text
        assert json.loads(shown(key, "--json"))["hypotheses"] == [h.as_json() for h in supposed]


def test_show_prints_the_product_of_the_rates_that_theorem_5_stands_on(shown):
    text = shown("kunin2024.thm5-azulay")
    assert "standing, App. A.3, before A.3.1: η_a η_w = 1" in text


def test_both_books_print_every_hypothesis_in_a_line():
    supposed = tuple({h.words: h for r in results() for h in declared(r)}.values())
    section = chapters.Derived("nowhere.claim", "A claim", chapters.Formula("", "x"), (), supposed)
    tex, page = book_latex._derived(section), book_html._derived(section)
    assert tex.isascii()
    for hypothesis in supposed:
        assert rf"\emph{{{prose.latex(hypothesis.source)}:}} {prose.latex(hypothesis.words)}" in tex
        assert (
            f"<p><em>{html.escape(hypothesis.source)}:</em> {prose.html_text(hypothesis.words)}</p>" in page
        )
    [told] = [r for r in results() if r.key == "single_neuron.azulay_theorem"]
    assert chapters.derived(told).hypotheses == told.supposes
