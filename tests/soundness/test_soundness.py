"""No false claim holds, whatever its grade; nine tenths of the true ones are decided; the collection does not lie."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import sympy as sp

from symdyn.statements.kinds import Dynamics, Identity, Limit, Solution
from symdyn.statements.matrix import MatrixIdentity
from tests.soundness.claims import TINY, oo
from tests.soundness.drawn import SORTS, draw
from tests.soundness.engine import KINDS, ask, counts, kind, wrong
from tests.soundness.truth import fails, stands, tried

CLAIMS = {
    truth: {name: kind(name).TRUE if truth else kind(name).FALSE for name in KINDS} for truth in (True, False)
}
DECIDED = 0.9
"""The share of true claims that must be decided."""
DRAWN = 40
"""How many claims of each sort are drawn at random."""


def test_there_are_enough_claims_of_each_kind_and_none_comes_twice():
    assert sum(map(len, CLAIMS[False].values())) >= 250
    assert sum(map(len, CLAIMS[True].values())) >= 250
    for claims in CLAIMS.values():
        for name, listed in claims.items():
            names = [claim.name for claim in listed]
            assert len(set(names)) == len(names), name


@pytest.mark.parametrize("name", KINDS)
def test_each_false_claim_fails_at_its_witness(name):
    assert [claim.name for claim in CLAIMS[False][name] if not fails(claim)] == []


@pytest.mark.parametrize("name", KINDS)
def test_each_true_claim_stands_on_a_grid(name):
    for claim in CLAIMS[True][name]:
        assert stands(claim) == [], claim.name
        assert claim.check is not None or tried(claim), claim.name


def off_by_little(statement):
    """The statement with 10⁻¹² added on one side, or None where there is no such side."""
    if isinstance(statement, (Identity, MatrixIdentity)) and isinstance(statement.rhs, sp.Expr):
        return replace(statement, rhs=statement.rhs + TINY)
    if isinstance(statement, Limit) and statement.limit not in (oo, -oo):
        return replace(statement, limit=statement.limit + TINY)
    if isinstance(statement, Dynamics) and isinstance(statement.velocity, sp.Expr):
        return replace(statement, velocity=statement.velocity + TINY)
    if isinstance(statement, Solution):
        return replace(statement, initial={u: start + TINY for u, start in statement.initial.items()})
    return None


@pytest.mark.parametrize("name", ["identities", "limits", "flows", "solutions", "vectors", "matrices"])
def test_the_grid_notices_what_is_off_by_one_part_in_10_to_the_12(name):
    changed = [(claim, off_by_little(claim.says())) for claim in CLAIMS[True][name]]
    false = [replace(claim, says=partial(lambda x: x, off)) for claim, off in changed if off is not None]
    assert len(false) >= 10
    assert [claim.name for claim in false if not stands(claim)] == []


@pytest.mark.parametrize("name", KINDS)
def test_no_false_claim_holds(name, capsys):
    answers = [ask(claim) for claim in CLAIMS[False][name]]
    with capsys.disabled():
        print(f"\n{name}, false: {counts(answers)}")
    assert [str(answer) for answer in answers if wrong(answer, truth=False)] == []


@pytest.fixture(scope="module")
def answers_to_true_claims():
    return {name: [ask(claim) for claim in claims] for name, claims in CLAIMS[True].items()}


def test_no_true_claim_is_refuted(answers_to_true_claims):
    faults = {
        name: [str(a) for a in found if wrong(a, truth=True)]
        for name, found in answers_to_true_claims.items()
    }
    assert {name: found for name, found in faults.items() if found} == {}


def test_nine_tenths_of_the_true_claims_are_decided(answers_to_true_claims, capsys):
    with capsys.disabled():
        for name, answers in answers_to_true_claims.items():
            print(f"\n{name}, true: {counts(answers)}", end="")
    answers = [answer for found in answers_to_true_claims.values() for answer in found]
    undecided = [str(answer) for answer in answers if answer.outcome != "HOLDS"]
    assert len(undecided) <= (1 - DECIDED) * len(answers), undecided


@pytest.mark.parametrize("name", ["x² - x + 1", "√(x² + 1) above x", "a modulus", "tanh below x"])
def test_plain_signs_are_decided(name):
    (claim,) = (claim for claim in CLAIMS[True]["inequalities"] if claim.name == name)
    assert ask(claim).outcome == "HOLDS"


@pytest.mark.parametrize("sort", SORTS)
def test_what_holds_of_claims_drawn_at_random_stands_on_a_grid(sort, capsys):
    answers = [ask(claim) for claim in draw(sort, DRAWN)]
    with capsys.disabled():
        print(f"\n{sort} at random: {counts(answers)}")
    assert [str(answer) for answer in answers if answer.outcome == "CRASHED"] == []
    failing = {str(a): stands(a.claim) for a in answers if a.outcome == "HOLDS"}
    assert {said: points[0] for said, points in failing.items() if points} == {}
