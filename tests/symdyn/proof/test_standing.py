"""A verdict is worth no more than what it stands on, and a conclusion in words is argued."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.proof.check import decide, verify
from symdyn.proof.standing import standing
from symdyn.proof.verdict import GRADES, Verdict
from symdyn.statements.kinds import Conjunction, Existence, Identity, Minimiser

a, b = sp.symbols("a b", real=True)
TRUE, FALSE = Identity((a + b) ** 2, a**2 + 2 * a * b + b**2), Identity(a + b, a - b)

PROVED = Verdict("PROVED", "proved", "")
TESTED = Verdict("AGREES", "tested", "")
ARGUED = Verdict("ARGUED", "argued", "", parts=(PROVED,))
REFUTED = Verdict("REFUTED", "proved", "")
SURVIVED = Verdict("PROVED", "proved", "", survivors=("sign of term 1",))


def stood(verdicts, uses, key="c"):
    return standing(key, verdicts.__getitem__, lambda one: uses.get(one, ()))


@pytest.mark.parametrize(
    "words",
    [
        "every network learns the task from every start",
        "every trajectory of gradient flow tends to $a=b=0$",
        "$(a+b)^2 = a^2 + 2ab + b^2$",
        "",
    ],
)
@pytest.mark.parametrize("kind", [Existence, Minimiser])
def test_a_conclusion_in_words_never_holds_by_itself(kind, words):
    for check in (decide, verify):
        verdict = check(kind(words, (TRUE,)))
        assert (verdict.outcome, verdict.grade, verdict.holds) == ("ARGUED", "argued", None)
        assert verdict.facts == "proved"


def test_its_facts_still_decide_against_it():
    assert decide(Existence("so it is", (TRUE, FALSE))).holds is False
    assert decide(Existence("so it is", ())).outcome == "UNKNOWN"


def test_facts_without_words_are_decided():
    verdict = verify(Conjunction(TRUE, Identity(a * b, b * a)))
    assert (verdict.outcome, verdict.holds, verdict.facts) == ("PROVED", True, "")
    assert decide(Conjunction(TRUE, FALSE)).holds is False
    assert decide(Conjunction(TRUE, Existence("in words", (TRUE,)))).outcome == "ARGUED"


def test_facts_without_words_print_themselves():
    assert Conjunction(TRUE, Identity(a, a, name="a")).latex().count(r",\qquad ") == 1


def test_argued_is_below_every_grade_that_a_machine_has_checked():
    checked = ("proved", "proved at d", "certified", "tested", "simulated", "monte carlo")
    assert all(GRADES.index(grade) < GRADES.index("argued") for grade in checked)


def test_what_is_argued_survives_being_written_down():
    verdict = decide(Existence("in words", (TRUE,)))
    again = Verdict.from_json(verdict.as_json())
    assert again == verdict and verdict.as_json()["facts"] == "proved" and verdict.as_json()["holds"] is None


@pytest.mark.parametrize("broken", [REFUTED, SURVIVED, Verdict("UNKNOWN", "tested", "")])
@pytest.mark.parametrize(
    "uses", [{"c": ("b",)}, {"c": ("a",), "a": ("b",)}, {"c": ("x", "a"), "a": ("x", "b")}]
)
def test_what_stands_on_something_broken_is_unknown_however_far_below(uses, broken):
    verdict = stood({"a": PROVED, "b": broken, "x": PROVED, "c": PROVED}, uses)
    assert verdict.outcome == "UNKNOWN" and verdict.holds is None and "stands on b" in verdict.evidence


@pytest.mark.parametrize(
    "uses", [{"c": ("c",)}, {"c": ("a",), "a": ("c",)}, {"c": ("a",), "a": ("b",), "b": ("a",)}]
)
def test_what_stands_on_itself_is_unknown(uses):
    verdict = stood({key: PROVED for key in "abc"}, uses)
    assert verdict.outcome == "UNKNOWN" and "stands on itself" in verdict.evidence


def test_two_paths_to_one_base_are_no_circle():
    assert stood({key: PROVED for key in "abcx"}, {"c": ("a", "b"), "a": ("x",), "b": ("x",)}) == PROVED


def test_the_weakest_grade_below_counts_however_far():
    uses = {"c": ("a",), "a": ("b",)}
    assert stood({"a": PROVED, "b": TESTED, "c": PROVED}, uses).grade == "tested"
    argued = stood({"a": PROVED, "b": ARGUED, "c": PROVED}, uses)
    assert (argued.outcome, argued.grade, argued.holds) == ("ARGUED", "argued", None)


def test_what_does_not_hold_itself_says_so():
    assert stood({"a": ARGUED, "c": REFUTED}, {"c": ("a",)}).outcome == "REFUTED"
