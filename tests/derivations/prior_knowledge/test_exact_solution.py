"""Theorem 3.1 and eq. 5 in floating point, against the integrated weights and against the digits they lose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm


def basis(rng, rows, cols):
    return np.linalg.qr(rng.normal(size=(rows, cols)))[0]


def theorem(t, start, task):
    """QQᵀ(t) by eqs. 11 and 12, from the compact decompositions (U, s, V) of start and task, both of the same rank."""
    (U, s, V), (Ut, st, Vt) = start, task
    B, C = U.T @ Ut + V.T @ Vt, U.T @ Ut - V.T @ Vt
    E, one, Bi = np.diag(np.exp(-st * t)), np.eye(len(s)), np.linalg.inv(B)
    Vp, Up = np.eye(len(V)) - Vt @ Vt.T, np.eye(len(U)) - Ut @ Ut.T
    turned = E @ C.T @ Bi.T @ E
    Z = np.vstack([Vt @ (one - turned) + 2 * Vp @ V @ Bi.T @ E, Ut @ (one + turned) + 2 * Up @ U @ Bi.T @ E])
    inverse = np.diag(1 / st)
    K = 4 * E @ Bi @ np.diag(1 / s) @ Bi.T @ E + (one - E @ E) @ inverse
    K = K - E @ Bi @ C @ (E @ E - one) @ inverse @ C.T @ Bi.T @ E
    K = K + 4 * t * E @ Bi @ (V.T @ Vp @ V + U.T @ Up @ U) @ Bi.T @ E
    return Z @ np.linalg.inv(K) @ Z.T


def stacked(U, s, V):
    Q = np.vstack([V, U]) * np.sqrt(s)
    return Q @ Q.T


def integrated(t, start, task, hidden, rng):
    """QQᵀ(t) from the flow of the weights, with zero-balanced weights over the given number of hidden neurons."""
    (U, s, V), (Ut, st, Vt) = start, task
    R = basis(rng, hidden, len(s))
    W1, W2, sigma = R * np.sqrt(s) @ V.T, U * np.sqrt(s) @ R.T, Ut * st @ Vt.T
    split = W1.size

    def flow(_, w):
        A, B = w[:split].reshape(W1.shape), w[split:].reshape(W2.shape)
        error = sigma - B @ A
        return np.concatenate([(B.T @ error).ravel(), (error @ A.T).ravel()])

    end = solve_ivp(flow, (0, t), np.concatenate([W1.ravel(), W2.ravel()]), rtol=1e-11, atol=1e-13).y[:, -1]
    Q = np.vstack([end[:split].reshape(W1.shape).T, end[split:].reshape(W2.shape)])
    return Q @ Q.T


@pytest.mark.parametrize(
    ("inputs", "hidden", "outputs"), [(3, 3, 3), (2, 4, 2), (4, 3, 2), (2, 2, 5), (3, 5, 4)]
)
def test_theorem_is_the_flow_of_the_weights(inputs, hidden, outputs):
    rng = np.random.default_rng(inputs + 10 * hidden)
    rank = min(inputs, outputs)

    def decomposition():
        values = np.sort(rng.uniform(0.3, 2, rank))[::-1]
        return basis(rng, outputs, rank), values, basis(rng, inputs, rank)

    start, task = decomposition(), decomposition()
    overlap = start[0].T @ task[0] + start[2].T @ task[2]
    if np.linalg.cond(overlap) > 1e8:  # the other sign of the determinant
        task = (task[0] * np.array([-1.0] + [1.0] * (rank - 1)), *task[1:])
    for t in (0.0, 0.4, 3.0):
        np.testing.assert_allclose(
            theorem(t, start, task),
            integrated(t, start, task, hidden, rng) if t else stacked(*start),
            atol=2e-9,
        )


def test_half_of_all_square_starts_have_a_singular_overlap():
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 4):
        for _ in range(10):
            start, task = rng.normal(size=(2, size, size))
            (U, _, Vh), (Ut, _, Vth) = np.linalg.svd(start), np.linalg.svd(task)
            smallest = np.linalg.svd(U.T @ Ut + Vh @ Vth.T, compute_uv=False)[-1]
            same_sign = np.linalg.det(start) * np.linalg.det(task) > 0
            assert (smallest > 1e-12) == same_sign


def test_fukumizus_form_loses_its_digits_where_the_theorem_keeps_them():
    rng = np.random.default_rng(2)
    U, V = basis(rng, 2, 2), basis(rng, 2, 2)
    task = (U, np.array([3.0, 1.0]), V)
    A = np.array([[0.4, 0.3], [0.1, 0.5]])
    product = U @ A.T @ A @ V.T
    left, values, right = np.linalg.svd(product)
    sigma, t = U * task[1] @ V.T, 12.0
    F, Q0 = np.block([[np.zeros((2, 2)), sigma.T], [sigma, np.zeros((2, 2))]]), np.vstack([V @ A.T, U @ A.T])
    grow, back = expm(F * t), np.linalg.inv(F)
    M = np.eye(2) + Q0.T @ (grow @ back @ grow - back) @ Q0 / 2
    eq5 = grow @ Q0 @ np.linalg.inv(M) @ Q0.T @ grow
    end = stacked(*task)
    assert np.abs(theorem(t, (left, values, right.T), task) - end).max() < 1e-9
    assert not np.abs(eq5 - end).max() < 1e-3


def test_theorem_loses_its_digits_where_the_overlap_is_almost_singular():
    rng = np.random.default_rng(3)
    turn = 2 * np.arctan(1e6)
    plane = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    U, V, mix = basis(rng, 3, 3), basis(rng, 3, 3), basis(rng, 3, 3)
    values = np.array([1.5, 1.0, 0.7])
    start = (U, values, V @ mix @ plane @ mix.T)
    errors = np.abs(theorem(0.0, start, (U, values, V)) - stacked(*start)).max()
    assert errors > 1e-8


def test_theorem_loses_its_digits_early_where_the_strengths_of_the_start_are_far_apart():
    """κ(B) is below 2, and κ(S) = 10¹⁴ takes the digits at t = 0, not later, and not as a strength of the task."""
    rng = np.random.default_rng(4)
    U, V, mix = basis(rng, 3, 3), basis(rng, 3, 3), basis(rng, 3, 3)
    plane = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])
    even, uneven, V_start = np.array([3.0, 2.0, 1.0]), np.array([1e7, 1.0, 1e-7]), V @ mix @ plane @ mix.T
    assert np.linalg.cond(np.eye(3) + V_start.T @ V) < 2

    def error(strengths, task):
        exact = stacked(U, strengths, V_start)
        return np.abs(theorem(0.0, (U, strengths, V_start), (U, task, V)) - exact).max() / np.abs(exact).max()

    assert error(even, even) < 1e-14
    assert error(even, uneven) < 1e-14
    assert error(uneven, even) > 1e-8
    end = theorem(30.0, (U, uneven, V_start), (U, even, V))
    np.testing.assert_allclose(end, stacked(U, even, V), atol=1e-10)


@pytest.mark.parametrize("size", [10.0, 1e6])
def test_a_start_turned_away_from_the_task_learns_late_however_large_it_is(size):
    """W₂W₁(0) = ε R(θ) and Σ = 1.3 I: the loss is above s² until (1/2s) ln tan(θ/2), half is learned at twice this."""
    identity, s, wait = np.eye(2), 1.3, 2.5
    angle = 2 * np.arctan(np.exp(2 * s * wait))
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    start, task = (R, np.full(2, size), identity), (identity, np.full(2, s), identity)

    def function(t):
        return theorem(t, start, task)[2:, :2]

    for early in (0.5, 1.0, 1.5, 2.0, 2.49):
        assert np.sum((function(early) - s * identity) ** 2) / 2 > s**2
    assert function(wait)[0, 0] == pytest.approx(0, abs=1e-8)
    assert s / 2 - s / size < function(2 * wait)[0, 0] < s / 2 + 1e-8
    half = np.tan(np.arctan2(function(1.0)[1, 0], function(1.0)[0, 0]) / 2)
    assert half == pytest.approx(np.exp(-2 * s) * np.tan(angle / 2), rel=1e-6)
