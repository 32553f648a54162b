"""Statements about matrices of symbolic shape: proved for all shapes, refuted by rational matrices."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.matrix import Index, Rules, basis, matrix, positive, sum_over, whitened
from symdyn.proof.check import verify
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity

h, d, c, n = sp.symbols("h d c n", integer=True, positive=True)
p, q = sp.symbols("p q", real=True)
A, W, G = matrix("A", h, c), matrix("W", h, d), matrix("G", d, c)
velocities = {A: -p * W @ G, W: -q * A @ G.T}
SIZES = ({h: 2, d: 3, c: 1, n: 4}, {h: 3, d: 2, c: 2, n: 5})


def test_the_balance_of_two_layers_is_conserved_for_all_shapes():
    verdict = verify(MatrixConservation(q * A @ A.T - p * W @ W.T, velocities, SIZES))
    assert (verdict.outcome, verdict.holds) == ("PROVED", True)
    assert len(verdict.mutants) >= 3


def test_the_dynamics_of_the_product_are_proved():
    velocity = -q * G @ A.T @ A - p * W.T @ W @ G
    verdict = verify(MatrixDynamics(W.T @ A, velocity, velocities, SIZES))
    assert (verdict.outcome, verdict.holds) == ("PROVED", True)


def test_rules_enter_the_proof_and_the_samples():
    X = matrix("X", n, d)
    identity = MatrixIdentity(X.T @ X @ G, G, SIZES, Rules(whitened(X)))
    assert verify(identity, few_mutants="one word").holds is True
    assert verify(MatrixIdentity(X.T @ X @ G, G, SIZES)).holds is False


@pytest.mark.parametrize(
    "wrong",
    [
        MatrixConservation(p * A @ A.T - q * W @ W.T, velocities, SIZES),
        MatrixDynamics(W.T @ A, -q * G @ A.T @ A + p * W.T @ W @ G, velocities, SIZES),
    ],
    ids=["rates exchanged", "sign"],
)
def test_false_statements_are_refuted_by_rational_matrices(wrong):
    verdict = verify(wrong)
    assert verdict.holds is False
    assert {"G", "W"} & set(verdict.witness.point)


def test_roots_of_squares_are_drawn_with_declared_signs():
    k = Index("k", h)
    out, into = (A.T @ basis(k), W.T @ basis(k))
    a2, w2 = (out.T @ out).scalar(), (into.T @ into).scalar()
    kappa = sp.sqrt((p * a2 - q * w2) ** 2 + 4 * p * q * a2 * w2)
    share = (kappa + p * a2 - q * w2) / (2 * a2)
    claim = MatrixIdentity(sum_over(k, share * out @ out.T), p * A.T @ A, SIZES, Rules(positive(p, q, a2)))
    assert verify(claim).outcome == "PROVED"
    assert (
        verify(MatrixIdentity(claim.lhs, claim.rhs, SIZES, Rules(positive(p, q)))).holds is False
    )  # a_k = 0
    assert verify(MatrixIdentity(claim.lhs, claim.rhs, SIZES)).holds is False
