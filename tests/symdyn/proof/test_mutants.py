"""Claims of one term have mutants enough: of their exponents, and of what they are multiplied with."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.matrix import matrix
from symdyn.proof.check import FEWEST_MUTANTS, verify
from symdyn.proof.mutants import mutations
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity

a, b, c = sp.symbols("a b c", real=True)
n = sp.Symbol("n", integer=True, positive=True)
A = matrix("A", n, n)
positive = Domain((a, b, c), cells=(Cell("positive", {a: 1, b: 1, c: 1}),))
ONE_TERM = [
    a,
    a * b,
    a**2,
    1 / a,
    a * b * c,
    sp.sqrt(a),
    a**2 / b,
    2 * a,
    sp.exp(a),
    sp.tanh(a),
    3 * a * b**2,
    -a,
]


@pytest.mark.parametrize("term", ONE_TERM, ids=str)
def test_one_term_has_mutants_enough_and_all_are_refuted(term):
    assert len(mutations(term)) >= FEWEST_MUTANTS
    verdict = verify(Identity(term + b - b, term), positive)
    assert verdict.holds is True, verdict
    assert len(verdict.mutants) >= FEWEST_MUTANTS


@pytest.mark.parametrize("word", [A, A @ A, A.T, A.T @ A], ids=str)
def test_so_has_one_word(word):
    changed = mutations(word)
    assert len(changed) >= FEWEST_MUTANTS
    assert all(other != word for _, other in changed)


def test_too_few_are_said_to_need_a_reason():
    survivors = verify(Identity(sp.sqrt(a**2) - a, sp.S.Zero), positive).survivors
    assert "few_mutants" in survivors[-1]
