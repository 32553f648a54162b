"""A result checks itself when it is made and when it is first evaluated."""

from __future__ import annotations

import pickle

import pytest
import sympy as sp

from symdyn.catalogue.registry import PRINTED, REGISTERED, load, printed_forms, results
from symdyn.catalogue.result import PrintedForm, Result, printed, result
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Definition, Existence, Identity, Inequality
from symdyn.statements.notation import Glossary

x = sp.Symbol("x", real=True)
EVERY = results()
ids = [r.key for r in EVERY]


def make(function, **options):
    return Result(function, topic="nowhere", **options)


def square():
    """A square."""
    return Identity((x + 1) ** 2, x**2 + 2 * x + 1)


@pytest.mark.parametrize("result", EVERY, ids=ids)
def test_every_result_evaluates_prints_and_cites(result):
    assert result.statement is result.statement
    assert result.title
    assert result.latex().count("{") == result.latex().count("}")
    assert result.steps
    assert result._repr_latex_().startswith("$") and result._repr_latex_().endswith("$")
    if result.ledger:
        assert result.papers[0].key in result.bibtex()


@pytest.mark.parametrize("result", EVERY, ids=ids)
def test_every_result_holds_and_refutes_its_mutants(result, verdicts):
    verdict = verdicts[result.key]
    assert verdict.stands, verdict
    assert verdict.holds is (None if verdict.outcome == "ARGUED" else True)
    assert verdict.survivors == ()
    if verdict.grade != "definition" and not result.few_mutants:
        assert len(verdict.mutants) >= 3


@pytest.mark.parametrize("form", printed_forms(), ids=[f.key for f in printed_forms()])
def test_every_printed_form_has_the_status_its_declaration_expects(form, verdicts):
    found = verdicts[form.key]
    expected = "conditional" if form.hypothesis else "erratum" if form.severity else "holds"
    assert found.status == expected, found
    if expected != "holds":
        assert found.witness is not None


def test_a_result_survives_pickling_as_itself():
    potential = load("single_neuron.potential")
    assert pickle.loads(pickle.dumps(potential)) is potential


def test_a_result_without_a_function_says_so():
    def positive():
        """A sign."""
        return Existence("x² + 1 is positive", (Inequality(x**2 + 1, ">"),))

    with pytest.raises(TypeError, match="states no function"):
        make(positive).numpy  # noqa: B018


def test_unknown_ledger_ids_are_refused_at_once():
    with pytest.raises(KeyError, match="did you mean"):
        make(square, ledger=("kunin2024.single-conserved-detla",))


def test_a_result_needs_words():
    def wordless():
        return square()

    with pytest.raises(ValueError, match="docstring"):
        make(wordless)


def test_a_derivation_returns_a_statement():
    def formula():
        """A bare formula."""
        return x**2

    with pytest.raises(TypeError, match="returns the statement"):
        make(formula).statement  # noqa: B018


def test_words_outside_the_glossary_and_floats_are_refused(monkeypatch):
    import symdyn.catalogue.result as module

    glossary = Glossary("nowhere")
    monkeypatch.setitem(module.GLOSSARIES, "nowhere", glossary)
    with pytest.raises(ValueError, match="not in the glossary"):
        make(square).statement  # noqa: B018
    glossary.scalar("x", "x", "a number")
    assert make(square).statement

    def rounded():
        """A rounded number."""
        return Definition(x, sp.Float("0.1") * x)

    with pytest.raises(ValueError, match="floating-point"):
        make(rounded).statement  # noqa: B018


def test_a_glossary_has_one_meaning_for_a_name():
    glossary = Glossary("nowhere")
    glossary.scalar("x", "x", "a number")
    with pytest.raises(ValueError, match="already means"):
        glossary.vector("x", "x", "a vector")


def test_a_printed_form_must_quote_the_ledger():
    with pytest.raises(ValueError, match="not part of the ledger"):
        printed("kunin2024.single-conserved-delta", quote=r"\delta=\eta_wa^2+\eta_a\|w\|^2")
    with pytest.raises(ValueError, match="severity"):
        printed("kunin2024.single-conserved-delta", quote=r"\dot\delta", severity="grave")
    with pytest.raises(ValueError, match="go together"):
        printed("kunin2024.single-conserved-delta", quote=r"\dot\delta", hypothesis="always")


@pytest.mark.parametrize(
    ("known", "register"),
    [
        (REGISTERED, result(topic="nowhere")),
        (PRINTED, printed("kunin2024.single-conserved-delta", quote="")),
    ],
)
def test_nothing_takes_the_key_of_what_another_module_defines(known, register):
    def cube(module):
        def cube():
            """A cube."""

        cube.__module__ = module
        return cube

    key = register(cube("first.nowhere.one")).key
    assert register(cube("first.nowhere.one")) is known[key]
    with pytest.raises(ValueError, match=r"in first\.nowhere\.one and in second\.nowhere\.two"):
        register(cube("second.nowhere.two"))
    del known[key]


def test_a_printed_form_is_conditional_exactly_when_its_hypothesis_repairs_it():
    positive = Domain((x,), conditions=(x > 0,), words="x > 0")
    claim = Identity(sp.Abs(x), x)
    line = Domain((x,))
    cured = PrintedForm(lambda: claim, "kunin2024.single-model", "", line, "x > 0", positive)
    assert cured.verify().stated.holds is False
    hopeless = PrintedForm(
        lambda: Identity(sp.Abs(x), -2 * x), "kunin2024.single-model", "", line, "x > 0", positive
    )
    assert hopeless.verify().status == "open"
    wrong = PrintedForm(lambda: claim, "kunin2024.single-model", "", line, severity="scope")
    assert wrong.verify().status == "erratum"
