"""Declared rules: what they prove, their confluence, and their samplers."""

from __future__ import annotations

import pytest
import sympy

from symdyn.calculus.matrix import (
    Declaration,
    Index,
    Rules,
    balanced,
    derivative,
    entry,
    evaluate,
    eye,
    inverse_of,
    kron,
    matrix,
    orthogonal,
    projector,
    psd_root,
    rule,
    sum_over,
    trace,
    unit,
    vec,
    vector,
    whitened,
)
from symdyn.calculus.matrix.expression import from_word

n, m, c, h, d = sympy.symbols("n m c h d", integer=True, positive=True)
a = sympy.Symbol("a", real=True)
SIZES = ({n: 3, m: 2, c: 2, h: 3, d: 4}, {n: 2, m: 1, c: 3, h: 2, d: 1}, {n: 4, m: 4, c: 1, h: 1, d: 3})
U, Q, X = matrix("U", n, n), matrix("Q", n, m), matrix("X", n, d)
P, Y = matrix("P", n, n, symmetric=True), matrix("Y", n, n, symmetric=True)
A, K = matrix("A", n, n), matrix("K", n, n, symmetric=True)
W1, W2 = matrix("W1", h, d, "W_1"), matrix("W2", c, h, "W_2")
u = vector("u", n)
ROOT, IS_ROOT = psd_root("X_Y", Y)
RESOLVENT, IS_RESOLVENT = inverse_of("G", a * K + eye(n))
DECLARATIONS = {
    "orthogonal": orthogonal(U),
    "orthonormal columns": orthogonal(Q),
    "projector": projector(P),
    "root": IS_ROOT,
    "balanced": balanced(W1, W2),
    "unit": unit(u),
    "resolvent": IS_RESOLVENT,
}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", DECLARATIONS)
def test_samples_satisfy_their_rules_exactly(name, sizes):
    declaration = DECLARATIONS[name]
    rules = Rules(declaration)
    for seed in (0, 1):
        for r in rules.rules:
            difference = from_word(r.left) - r.right
            values = rules.sample(difference, sizes, seed)
            assert evaluate(difference, values, sizes).is_zero_matrix
            assert all(
                entry.is_Rational for value in values.values() if hasattr(value, "shape") for entry in value
            )


@pytest.mark.parametrize("name", DECLARATIONS)
def test_declared_rules_are_confluent(name):
    assert Rules(DECLARATIONS[name]).unresolved() == []


def test_samples_are_not_trivial():
    values = Rules(orthogonal(U), IS_ROOT).sample(U @ Y, SIZES[0])
    orthogonal_matrix, root = values[U.letter], values[ROOT.letter]
    assert not orthogonal_matrix.is_diagonal() and not root.is_diagonal()
    assert all(minor >= 0 for minor in (root[:size, :size].det() for size in (1, 2, 3)))
    determinants = {Rules(orthogonal(U)).sample(U, SIZES[0], seed)[U.letter].det() for seed in range(6)}
    assert determinants == {-1, 1}


def test_orthogonality():
    square, tall = Rules(orthogonal(U)), Rules(orthogonal(Q))
    assert square.proves_zero(U @ A @ U.T @ U @ A @ U.T - U @ A @ A @ U.T)
    assert square.proves_zero(U.inverse() - U.T) and square.proves_zero(trace(U @ A @ U.T) - trace(A))
    assert square.proves_zero((u.T @ U.T @ U @ u).scalar() - (u.T @ u).scalar())
    assert square.proves_zero(kron(U, U).T @ kron(U, U) - eye(n * n))
    assert tall.proves_zero(Q @ Q.T @ Q - Q) and not tall.proves_zero(Q @ Q.T - eye(n))
    assert tall.witness(Q @ Q.T - eye(n), SIZES[0]) is not None
    with pytest.raises(ValueError, match="orthonormal columns"):
        tall.sample(Q, {n: 1, m: 2})


def test_whitened_data():
    data = whitened(X)
    assert data.name == "X is whitened"
    assert Rules(data).proves_zero(X.T @ X @ X.T @ X - eye(d))


def test_balanced_layers_stay_balanced():
    """W₂W₁W₁ᵀW₂ᵀ = (W₂W₂ᵀ)² on balanced layers, and the balance is conserved for every gradient G."""
    G, eta = matrix("G", c, d), sympy.Symbol("eta", real=True)
    rules = Rules(balanced(W1, W2))
    assert rules.proves_zero(W2 @ W1 @ W1.T @ W2.T - (W2 @ W2.T) ** 2)
    product = W2 @ W1
    assert rules.proves_zero((product @ product.T) - (W2 @ W2.T) ** 2)
    assert rules.witness(W2 @ W1 @ W1.T @ W2.T - W2 @ W2.T, SIZES[0]) is not None
    flow = {W1: -eta * W2.T @ G, W2: -eta * G @ W1.T}
    assert derivative(W2.T @ W2 - W1 @ W1.T, flow).is_zero
    assert not derivative(W2.T @ W2 + W1 @ W1.T, flow).is_zero


def test_psd_root():
    rules = Rules(IS_ROOT)
    assert rules.proves_zero(ROOT @ ROOT - Y) and rules.proves_zero(ROOT @ Y - Y @ ROOT)
    assert not rules.proves_zero(ROOT - Y) and rules.witness(ROOT - Y, SIZES[0]) is not None
    assert ROOT.latex() == "Y^{1/2}" and ROOT.T == ROOT
    with pytest.raises(ValueError, match="symmetric"):
        psd_root("Z", A)


def test_inverse_of_a_sum():
    rules = Rules(IS_RESOLVENT)
    assert rules.proves_zero(RESOLVENT @ (a * K + eye(n)) - eye(n))
    assert rules.proves_zero(K @ RESOLVENT - RESOLVENT @ K)
    assert rules.witness(RESOLVENT - K, SIZES[0]) is not None
    general, is_inverse = inverse_of("H", A @ A - 2 * A.T + eye(n))
    assert Rules(is_inverse).proves_zero((A @ A - 2 * A.T + eye(n)) @ general - eye(n))


def test_rules_act_inside_kronecker_products_vec_traces_and_sums():
    rules = Rules(projector(P))
    k = Index("k", n)
    assert rules.proves_zero(kron(P @ P, A) - kron(P, A))
    assert rules.proves_zero(vec(P @ P @ A @ A) - vec(P @ A @ A))
    assert rules.proves_zero(trace(P @ A @ P) - trace(P @ A))
    assert rules.proves_zero(sum_over(k, entry(P @ P, k, k) ** 2) - sum_over(k, entry(P, k, k) ** 2))
    assert not rules.proves_zero(P @ A @ P - P @ A)
    assert rules.witness(P @ A @ P - P @ A, SIZES[0]) is not None


def test_unit_vector():
    rules = Rules(unit(u))
    assert rules.proves_zero((u @ u.T) @ (u @ u.T) - u @ u.T)
    assert rules.normal_form(3 * (u.T @ u).scalar() ** 2) == 3


def test_completion_adds_the_consequences():
    """From B A = I and A C = I alone follows B = C, which no single rule sees."""
    B, C = matrix("B", n, n), matrix("C", n, n)
    declared = Declaration(
        "one-sided inverses", (rule(B @ A, eye(n)), rule(A @ C, eye(n))), (), lambda g, s: {}
    )
    rules = Rules(declared)
    assert rules.unresolved() != [] and not rules.proves_zero(B - C)
    completed = rules.completed()
    assert completed.unresolved() == [] and completed.proves_zero(B - C)


def test_rules_are_checked():
    with pytest.raises(ValueError, match="differ in shape"):
        rule(Q.T @ Q, eye(n))
    with pytest.raises(ValueError, match="not a single product"):
        rule(A + U, eye(n))
    with pytest.raises(ValueError, match="single product of letters"):
        rule(eye(n), A)
    with pytest.raises(ValueError, match="drawn twice"):
        Rules(projector(P), projector(P)).sample(P, SIZES[0])
    with pytest.raises(ValueError, match="symmetric"):
        projector(A)
    with pytest.raises(ValueError, match="not consecutive"):
        balanced(W2, W1)
    endless = Declaration("grows", (rule(A, A @ A),), (), lambda g, s: {})
    with pytest.raises(ValueError, match="does not come to an end"):
        Rules(endless).normal_form(A)
