"""Claims of one term have mutants enough: of their exponents, and of what they are multiplied with."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.matrix import Rules, matrix
from symdyn.calculus.matrix.declarations import orthogonal
from symdyn.proof.check import FEWEST_MUTANTS, verify
from symdyn.proof.claim import Zero
from symdyn.proof.mutants import mutations
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Identity

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


def test_of_a_mutant_only_what_differs_from_the_claim_is_tried_anew(monkeypatch):
    tried = []
    refute = Zero._refute_at

    def counted(self, points, cell):
        tried.append(self.x)
        return refute(self, points, cell)

    monkeypatch.setattr(Zero, "_refute_at", counted)
    same = Identity((a + b) ** 2 - a**2 - 2 * a * b, b**2)
    verdict = verify(Conjunction(same, Identity(sp.sqrt(a**2), a)), positive, few_mutants="of one symbol")
    assert verdict.holds is True and len(verdict.mutants) > 3
    assert tried.count(same.lhs - same.rhs) <= 1, tried


def test_samples_of_letters_are_drawn_once_and_not_changed_by_who_takes_them():
    declared = Rules(orthogonal(A))
    first = declared.sample(A @ A, {n: 2}, 0)
    first.clear()
    again = declared.sample(A @ A.T, {n: 2}, 0)
    assert again.keys() == {A.letter}
    assert again[A.letter] is declared.sample(A, {n: 2}, 0)[A.letter]
    assert again[A.letter] != declared.sample(A, {n: 2}, 1)[A.letter]
    assert again[A.letter].shape != declared.sample(A, {n: 3}, 0)[A.letter].shape
