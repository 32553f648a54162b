"""Means of jets: Stein's and Price's rules, and refutation by polynomials that does not use them."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.means import form, jet, mean, normals
from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity
from symdyn.statements.probability import InProbability, MeanOfSquare

q, c, n = sp.symbols("q c n", real=True)
x = sp.Symbol("x", real=True)
z1, z2 = normals(2)
u = form("u", {z1: sp.sqrt(q)})
v = form("v", {z1: sp.sqrt(q) * c, z2: sp.sqrt(q) * sp.sqrt(1 - c**2)})
w = form("w", {z2: sp.sqrt(q)})
INSIDE = Domain((q, c), (), (Cell("inside", {q: 1}),), conditions=(c < 1, c > -1))

TRUE = {
    "stein": (jet(u) * z1, sp.sqrt(q) * jet(u, 1)),
    "stein twice": (jet(u) * z1**2, jet(u) + q * jet(u, 2)),
    "fourth moment": (z1**4, mean(3)),
    "independent": (z1 * z2 * jet(u), mean(0)),
    "exchange of forms": (jet(u) * jet(v, 1), jet(u, 1) * jet(v)),
    "the same law": (jet(u) ** 2, jet(w) ** 2),
    "price": ((jet(u) * jet(v)).derivative(c), q * jet(u, 1) * jet(v, 1)),
    "length": ((jet(u) ** 2).derivative(q), jet(u, 1) ** 2 + jet(u) * jet(u, 2)),
}
FALSE = {
    "stein without the root": (jet(u) * z1, jet(u, 1)),
    "not independent": (jet(u) * jet(v), jet(u) * jet(w)),
    "a slope instead of two": ((jet(u) * jet(v)).derivative(c), q * jet(u) * jet(v, 1)),
    "half of the length's slope": ((jet(u) ** 2).derivative(q), jet(u, 1) ** 2),
    "sixth moment": (z1**6, mean(14)),
}


@pytest.mark.parametrize("name", TRUE)
def test_true_identities_are_proved(name):
    verdict = verify(Identity(*TRUE[name]), INSIDE, few_mutants="a number")
    assert verdict.outcome == "PROVED"
    assert not verdict.survivors


@pytest.mark.parametrize("name", FALSE)
def test_false_identities_are_refuted_by_polynomials(name):
    verdict = decide(Identity(*FALSE[name]), INSIDE)
    assert verdict.outcome == "REFUTED"
    assert verdict.witness is not None


def test_the_mean_for_one_polynomial_is_exact():
    assert sp.expand((jet(u) * jet(v)).of(x**2, x) - q**2 * (1 + 2 * c**2)) == 0
    with pytest.raises(ValueError, match="no polynomial"):
        jet(u).of(sp.sin(x), x)


def test_what_is_no_form_or_jet_is_refused():
    with pytest.raises(TypeError, match="no standard normal variable"):
        form("f", {jet(u): 1})
    with pytest.raises(ValueError, match="order"):
        jet(u, -1)


def test_a_mean_of_a_square_gives_an_inequality():
    rule = MeanOfSquare(jet(u, 1) * jet(v, 1), jet(u, 1) ** 2, jet(u, 1) - jet(v, 1), factor=2)
    assert verify(rule, INSIDE).outcome == "PROVED"
    assert r"\le" in rule.conclusion
    wrong = MeanOfSquare(jet(u, 1) ** 2, jet(u, 1) * jet(v, 1), jet(u, 1) - jet(v, 1), factor=2)
    assert decide(wrong, INSIDE).outcome == "REFUTED"
    negative = MeanOfSquare(jet(u, 1) ** 2, jet(u, 1) * jet(v, 1), jet(u, 1) - jet(v, 1), factor=-2)
    assert decide(negative, INSIDE).outcome == "UNKNOWN"


def test_convergence_in_probability_needs_a_variance_that_vanishes():
    wide = Domain((n,), (), (Cell("n > 0", {n: 1}),))
    assert verify(InProbability("X", 1 + 1 / n, 2 / n, n, sp.S.One), wide).outcome == "PROVED"
    assert decide(InProbability("X", 1 + 1 / n, 2 + 1 / n, n, sp.S.One), wide).outcome == "REFUTED"
    assert decide(InProbability("X", 2 + 1 / n, 2 / n, n, sp.S.One), wide).outcome == "REFUTED"
    assert decide(InProbability("X", n, 1 / n, n, n), wide).outcome == "UNKNOWN"
