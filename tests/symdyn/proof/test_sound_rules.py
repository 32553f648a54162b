"""Rules hold for the matrices of their own samplers, and letters that are declared symmetric stay symmetric."""

from __future__ import annotations

import random

import pytest
import sympy as sp

from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    commuting,
    eye,
    matrix,
    orthogonal,
    projector,
    random_matrix,
    rule,
    zero,
)
from symdyn.proof.check import decide
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity

n, m = sp.symbols("n m", integer=True, positive=True)
p = sp.Symbol("p", real=True)
A, B, C = (matrix(name, n, n) for name in "ABC")
S, T, R = (matrix(name, n, n, symmetric=True) for name in "STR")
X = matrix("X", n, m)
ONE, TWO, BOTH = ({n: 1, m: 1},), ({n: 2, m: 3},), ({n: 2, m: 1}, {n: 3, m: 2})


def declared(*rules, letters=(A, B), draw=None):
    def sampler(generator: random.Random, sizes):
        if draw is not None:
            return draw(generator, sizes)
        return {x.letter: random_matrix(generator, x.letter, sizes) for x in letters}

    return Rules(Declaration("claimed", rules, tuple(x.letter for x in letters), sampler))


def diagonal(generator, sizes):
    return {x.letter: sp.diag(*random_matrix(generator, X.letter, {n: sizes[n], m: 1})) for x in (A, B)}


FALSE_RULES = [
    (A @ B, B @ A, declared(rule(A @ B, B @ A)), BOTH),
    (A @ B, B @ A, declared(rule(A @ B, B @ A)), ONE),
    (A @ B @ A, B @ A @ A, declared(rule(A @ B, B @ A)), TWO),
    (A @ A, A, declared(rule(A @ A, A)), BOTH),
    (A @ A.T, eye(n), declared(rule(A @ A.T, eye(n))), BOTH),
    (A @ B, eye(n), declared(rule(A @ B, eye(n))), BOTH),
    (A @ B, zero(n, n), declared(rule(A @ B, zero(n, n))), BOTH),
    (A.T @ B, B.T @ A, declared(rule(A.T @ B, B.T @ A)), ONE),
    (S @ T, T @ S, declared(rule(S @ T, T @ S), letters=(S, T)), BOTH),
    (S @ T, T @ S, declared(rule(S @ T, T @ S), letters=(S, T)), ONE),
    (S @ S, S, declared(rule(S @ S, S), letters=(S,)), BOTH),
    (A @ A, eye(n), declared(rule(A @ A, eye(n)), draw=diagonal), BOTH),
    (A @ B @ A, B, declared(rule(A @ B @ A, B), draw=diagonal), BOTH),
    (A @ B, 2 * B @ A, declared(rule(A @ B, 2 * B @ A), draw=diagonal), BOTH),
    (X.T @ X, eye(m), declared(rule(X.T @ X, eye(m)), letters=(X,)), BOTH),
    (X @ X.T, eye(n), declared(rule(X @ X.T, eye(n)), letters=(X,)), BOTH),
    (A @ X, X, declared(rule(A @ X, X), letters=(A, X)), BOTH),
    (S @ X, p * X, declared(rule(S @ X, p * X), letters=(S, X)), BOTH),
]
AGAINST_EACH_OTHER = [
    Rules(orthogonal(A), Declaration("kernel", (rule(A @ X, zero(n, m)),), (), lambda g, s: {})),
    Rules(commuting(S, T), Declaration("S is a square root", (rule(S @ S, T),), (), lambda g, s: {})),
    Rules(projector(S), Declaration("S is regular", (rule(S @ T, eye(n)),), (), lambda g, s: {})),
]
MOVES = [A @ S, S @ A, A, A @ A, A @ S @ S, S @ T, T @ S, S @ S @ T, A - A.T, T @ A + A @ T]
STAYS = [S, S @ S, A @ A.T, A + A.T, S @ T + T @ S, A @ S @ A.T, S @ T @ S, T]


@pytest.mark.parametrize(("left", "right", "rules", "sizes"), FALSE_RULES, ids=lambda x: str(x)[:40])
def test_a_rule_that_its_sampler_breaks_proves_nothing(left, right, rules, sizes):
    verdict = decide(MatrixIdentity(left, right, sizes, rules))
    assert verdict.holds is not True, verdict


@pytest.mark.parametrize("rules", AGAINST_EACH_OTHER, ids=["kernel", "root", "inverse"])
def test_rules_are_held_against_each_other(rules):
    assert decide(MatrixIdentity(S @ T @ S, S @ T @ S, BOTH, rules)).outcome != "PROVED"


@pytest.mark.parametrize("velocity", MOVES, ids=str)
def test_a_symmetric_letter_does_not_move_by_what_is_not_symmetric(velocity):
    for claim in (
        MatrixDynamics(S, velocity, {S: velocity}, BOTH),
        MatrixDynamics(S - S.T, zero(n, n), {S: velocity}, BOTH),
        MatrixDynamics(S @ A, velocity @ A, {S: velocity}, BOTH),
        MatrixConservation(S - S.T, {S: velocity}, BOTH),
    ):
        assert decide(claim).holds is not True


@pytest.mark.parametrize("velocity", STAYS, ids=str)
def test_it_moves_by_what_is_symmetric(velocity):
    assert decide(MatrixDynamics(S, velocity, {S: velocity}, BOTH)).outcome == "PROVED"


def test_commuting_letters_keep_each_other_symmetric():
    claim = MatrixDynamics(S @ S, S @ T @ S + S @ S @ T, {S: S @ T}, BOTH, Rules(commuting(S, T)))
    assert decide(claim).outcome == "PROVED"
    with pytest.raises(ValueError, match="symmetric"):
        commuting(S, A)
