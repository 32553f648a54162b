"""The regimes of wide linear networks and their closed systems, against integrated gradient flow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import derivations.wide_linear as wide
from derivations.wide_linear.regimes import delayed_rich
from derivations.wide_linear.solution import aligned_task


def gradient_flow(A, W, X, Y, times, rates=(1.0, 1.0), rtol=1e-10):
    """Weights at the given times, of gradient flow on |XWᵀA - Y|²/2."""
    (h, c), d = A.shape, W.shape[1]

    def velocity(_, state):
        a, w = state[: h * c].reshape(h, c), state[h * c :].reshape(h, d)
        G = X.T @ (X @ (w.T @ a) - Y)
        return np.concatenate([(-rates[0] * w @ G).ravel(), (-rates[1] * a @ G.T).ravel()])

    start = np.concatenate([A.ravel(), W.ravel()])
    found = solve_ivp(velocity, (0, times[-1]), start, "LSODA", times, rtol=rtol, atol=1e-12)
    return [(y[: h * c].reshape(h, c), y[h * c :].reshape(h, d)) for y in found.y.T]


def kernel_distance(X, first, second):
    one, other = (wide.tangent_kernel(A=A, W=W, X=X) for A, W in (first, second))
    return 0.5 * np.linalg.norm(one / np.linalg.norm(one) - other / np.linalg.norm(other)) ** 2


def of_balance(a, w, delta):
    """Neurons with the functions a_k w_kᵀ/(‖a_k‖‖w_k‖) and the balance δ each."""
    kappa = np.hypot(delta, 2)
    unit = [m / np.linalg.norm(m, axis=1, keepdims=True) for m in (a, w)]
    return np.sqrt((kappa + delta) / 2) * unit[0], np.sqrt((kappa - delta) / 2) * unit[1]


def largest_distance(a, w, X, Y, delta, until):
    start = of_balance(a, w, delta)
    path = gradient_flow(*start, X, Y, np.linspace(0, until, 41))
    last = path[-1][1].T @ path[-1][0]
    assert np.sum((X @ last - Y) ** 2) < 1e-6, "not trained to the end"
    return max(kernel_distance(X, start, later) for later in path)


def order(a, w, X, Y, sign, until):
    """The exponent of |δ| in the kernel distance, and its value at the larger |δ|."""
    distances = [largest_distance(a, w, X, Y, sign * size, until(size)) for size in (100.0, 1000.0)]
    return np.log10(distances[1] / distances[0]), distances[1]


A0, W0 = np.array([[1.0, 0.3], [-0.4, 0.8]]), np.array([[0.9, 0.2, -0.4], [-0.3, 1.1, 0.5]])
DATA = np.random.default_rng(5).normal(size=(5, 3))
TASK = np.array([[0.8, -0.4], [-0.2, 0.9], [0.5, 0.6]])


def test_narrowing_networks_are_lazy_upstream_with_an_error_of_fourth_order():
    exponent, _ = order(A0, W0, DATA, DATA @ TASK, 1, lambda size: 2000 / size)
    assert exponent == pytest.approx(-4, abs=0.1)


def test_downstream_they_are_lazy_where_the_inputs_of_the_neurons_span_the_solution():
    solvable = W0.T @ np.array([[1.0, -0.5], [0.3, 0.8]])
    exponent, _ = order(A0, W0, DATA, DATA @ solvable, -1, lambda size: 20 * size)
    assert exponent == pytest.approx(-4, abs=0.1)


def test_downstream_they_are_delayed_rich_where_they_do_not_with_a_delay_proportional_to_the_balance():
    target, curves = DATA @ TASK, []
    for size in (100.0, 1000.0):
        start = of_balance(A0, W0, -size)
        path = gradient_flow(*start, DATA, target, size * np.array([0.0, 1e-3, 1.0, 3.0, 10.0, 300.0]))
        curves.append(np.array([kernel_distance(DATA, start, later) for later in path]))
    assert curves[1][1] < 1e-4 * curves[1][-1], "the kernel moves at once"
    assert curves[1][-1] > 0.02
    np.testing.assert_allclose(curves[0][2:], curves[1][2:], rtol=0.02)


def test_dependent_neurons_fit_what_is_outside_their_span_without_turning_the_kernel():
    parallel, task = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.4], [-0.3, 1.2]])
    exponent, _ = order(parallel, A0, np.eye(2), task, 1, lambda size: 60.0)
    assert exponent == pytest.approx(-2, abs=0.1)


def test_neurons_without_balance_are_rich_or_lazy_as_the_overall_scale_is_small_or_large():
    """Columns of a Hadamard matrix: δ_k = 0 for every neuron and β = 0, and the kernel turns as T = 8α² says."""
    from derivations.wide_linear.regimes.overall_scale import turn
    from derivations.wide_linear.symbols import eta_a, eta_w, sigma, total

    pair = np.array([[1.0, 1.0], [1.0, -1.0]])
    columns, sines = np.kron(pair, pair), []
    for alpha in (0.03, 0.5, 3.0):
        A, W = alpha * columns[:, :2], alpha * columns[:, 2:]
        assert np.all(np.sum(A**2, axis=1) == np.sum(W**2, axis=1))
        u, v = np.array([0.6, 0.8]), np.array([1.0, 0.0])
        end = gradient_flow(A, W, np.eye(2), np.outer(u, v), [0.0, 4 / alpha**2])[-1]
        np.testing.assert_allclose(end[1].T @ end[0], np.outer(u, v), atol=1e-7)
        S = kernel_distance(np.eye(2), (A, W), end)
        sines.append(S * (2 - S))
        predicted = turn.subs({total: 8 * alpha**2, sigma: 1, eta_a: 1, eta_w: 1})
        assert sines[-1] == pytest.approx(float(predicted), rel=1e-5)
    assert sines[0] > 0.32 > 1e-3 > sines[-1]


def test_a_pair_of_directions_that_no_neuron_sees_is_never_learned_and_the_kernel_stays():
    """h = 2 independent rows that do not solve the task, and a start from which the flow ends at a saddle."""
    X, target = np.eye(2), np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.5]])
    rows, inputs = np.array([[1.0, 0.0, 0.0], [0.3, 1.0, 0.0]]), np.array([[1.0, 0.0], [-0.7, 0.0]])
    distances = []
    for push in (0.0, 0.3):
        start = 10 * rows, (inputs + push * np.array([[0.0, 1.0], [0.0, 0.0]])) / 10
        end = gradient_flow(*start, X, target, [0.0, 3000.0])[-1]
        left = np.linalg.norm(end[1].T @ end[0] - target)
        assert left == pytest.approx(0.0 if push else 1.5, abs=1e-6)
        distances.append(kernel_distance(X, start, end))
    assert distances[0] < 1e-6 < 0.3 < distances[1]


def test_signed_norms_and_cosines_are_a_closed_system():
    rng = np.random.default_rng(6)
    a, W, target = rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=2)
    rates, s = (0.7, 1.6), np.linalg.norm(target)
    n = np.linalg.norm(W, axis=1)
    Delta = rates[1] * np.outer(a, a) - rates[0] * W @ W.T
    constants = {"Delta": Delta, "s": s, "eta_a": rates[0], "eta_w": rates[1]}

    def velocity(_, state):
        mu, phi = state[:3], state[3:]
        known = {"mu": mu, "phi": phi, **constants}
        return np.concatenate([wide.signed_norm_dynamics(**known), wide.cosine_dynamics(**known)])

    start = np.concatenate([a * n, W @ target / (n * s)])
    found = solve_ivp(velocity, (0, 1.5), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    later, W = gradient_flow(a[:, None], W, np.eye(2), target[:, None], [0.0, 1.5], rates)[-1]
    n = np.linalg.norm(W, axis=1)
    np.testing.assert_allclose(found, [*(later[:, 0] * n), *(W @ target / (n * s))], rtol=1e-7)


def test_a_wide_gaussian_network_has_the_balance_of_twice_its_width():
    """The kernel at the start is that of an isotropic network with |δ| = 2σ²h, not σ²h, up to O(1/√h)."""
    deviations = []
    for h in (400, 40_000):
        rng = np.random.default_rng(3)
        A, W = rng.normal(size=(h, 2)) / np.sqrt(h), rng.normal(size=(h, 3)) / np.sqrt(h)
        kernel = wide.tangent_kernel(A=A, W=W, X=np.eye(3))
        deviations.append(np.linalg.norm(kernel - 2 * np.eye(6), 2))
    assert deviations[0] < 0.5
    assert deviations[1] < deviations[0] / 4


def test_the_closed_form_of_the_riccati_equation_needs_no_shared_eigenvectors():
    """ν = (u̇ u⁻¹ - δ/2)/η_a, and C from v and Z, at a start where ν does not commute with S."""
    from scipy.linalg import expm, sqrtm

    delta, t, rate_a, rate_w = -0.8, 0.9, 0.6, 1.3
    S, nu0 = np.array([[1.4, 0.3], [0.3, 0.5]]), np.array([[0.4, -0.7], [0.2, 0.9]])
    C0 = np.array([[1.1, 0.2], [0.2, 0.7]])
    one = np.eye(2)
    R = np.real(sqrtm(delta**2 / 4 * one + rate_a * rate_w * S))
    N0 = rate_a * nu0 + delta / 2 * one

    def parts(s):
        K, up = (expm(R * s) + expm(-R * s)) / 2, (expm(R * s) - expm(-R * s)) / 2
        H = np.linalg.solve(R, up)
        return K, H, K + H @ N0, R @ up + K @ N0, K + N0 @ H

    _, _, u, u_dot, v = parts(t)
    nu = (u_dot @ np.linalg.inv(u) - delta / 2 * one) / rate_a
    nodes, weights = np.polynomial.legendre.leggauss(20)
    grid = (nodes + 1) * t / 2
    total = sum(
        q * t / 2 * np.exp(delta * s) * parts(s)[4] @ parts(s)[4].T
        for q, s in zip(weights, grid, strict=True)
    )
    C = np.exp(delta * t) * v.T @ np.linalg.inv(np.linalg.inv(C0) + 2 * rate_w * total) @ v

    def velocity(_, state):
        known = {"nu": state[:4].reshape(2, 2), "eta_a": rate_a, "eta_w": rate_w, "delta": delta}
        ratio = wide.ratio_dynamics(S=S, **known)
        return np.concatenate([ratio.ravel(), wide.gram_dynamics(C=state[4:].reshape(2, 2), **known).ravel()])

    start = np.concatenate([nu0.ravel(), C0.ravel()])
    found = solve_ivp(velocity, (0, t), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(np.concatenate([nu.ravel(), C.ravel()]), found, rtol=1e-9)


def test_an_identity_matrix_cannot_stand_among_vectors():
    """The bracket of φ̇ adds to vectors what multiplies I_h as printed; it must be the vector of ones."""
    from derivations.wide_linear.solution.single_output import ones
    from derivations.wide_linear.symbols import h, phi
    from symdyn.calculus.matrix import eye

    assert (ones + phi).shape == (h, 1)
    with pytest.raises(ValueError, match="cannot add"):
        eye(h) + phi


def neurons(parts, balances):
    """Weights of neurons with the given functions w_k a_kᵀ and balances, at unit rates."""
    a, w = (np.array([part[i] for part in parts], float) for i in (1, 0))
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(w, axis=1)
    large = np.sqrt((np.hypot(balances, 2 * sizes) + np.abs(balances)) / 2)
    up = np.array(balances) > 0
    of_a, of_w = np.where(up, large, sizes / large), np.where(up, sizes / large, large)
    return tuple(m * (n / np.linalg.norm(m, axis=1))[:, None] for m, n in ((a, of_a), (w, of_w)))


def final_distance(start, X, beta_star, until):
    last = gradient_flow(*start, X, X @ beta_star, [0.0, until])[-1]
    assert np.sum((X @ (last[1].T @ last[0] - beta_star)) ** 2) < 1e-12, "not trained to the end"
    return kernel_distance(X, start, last)


def test_a_kernel_turns_late_only_if_its_neurons_have_balances_of_one_order():
    parts, task = [([1, 0, 0], [0.3]), ([0, 1, 0], [0.5])], np.array([[1.0], [0.5], [1.0]])

    def distance(D, other):
        return final_distance(neurons(parts, [-D, -other]), np.eye(3), task, 60 * D)

    assert (
        distance(100.0, 100.0)
        == pytest.approx(distance(30.0, 30.0), rel=0.01)
        == pytest.approx(2 / 9, rel=0.01)
    )
    assert distance(100.0, 100.0**2) < distance(30.0, 30.0**2) / 9 < 1e-4


def test_a_kernel_does_not_turn_late_if_what_the_data_show_of_independent_neurons_is_dependent():
    X, task = np.eye(3)[:2], np.array([[0.5], [1.0], [0.0]])
    parts = [([1, 0, 0], [0.3]), ([1, 0, 1], [0.2])]
    distances = [final_distance(neurons(parts, [-D, -D]), X, task, 40.0) for D in (100.0, 1000.0)]
    assert distances[1] < distances[0] / 50 < 1e-4
    assert final_distance(neurons(parts[:1], [-100.0]), X, task, 6000.0) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("delta, learned", [(1.0, 0.0), (-1.0, 0.7)])
def test_an_aligned_start_of_low_rank_learns_what_its_layers_see(delta, learned):
    large = np.sqrt((1 + np.hypot(1, 0.4)) / 2)
    p, q = (large, 0.2 / large)[:: int(delta)]
    A, W = np.zeros((2, 3)), np.zeros((2, 2))
    A[0, 0], W[0, 0] = p, q
    (A if delta > 0 else W)[1, 1] = 1
    assert np.allclose(A @ A.T - W @ W.T, delta * np.eye(2))
    assert np.allclose(W.T @ A, [[0.2, 0, 0], [0, 0, 0]])
    last = gradient_flow(A, W, np.eye(2), np.array([[1, 0, 0], [0, 0, 0.7]]), [0.0, 100.0])[-1]
    assert last[1].T @ last[0] == pytest.approx(np.array([[1, 0, 0], [0, 0, learned]]), abs=1e-6)


def test_the_hypotheses_say_what_these_networks_need():
    assert "rank min(d, c)" in aligned_task.printed_aligned_learning.hypothesis
    for late in (delayed_rich.printed_delayed_rich_regime, delayed_rich.printed_delayed_rich_opposite):
        assert "Xw_k(0)" in late.hypothesis
        assert "δ_k of one order" in late.hypothesis
