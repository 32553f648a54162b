"""What the results on the implicit bias say, held against integrated flows on data that are not whitened."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from derivations.single_neuron import (
    final_readout_square,
    implicit_bias,
    learned_interpolator,
    position_on_the_line,
    time_warp,
)
from derivations.single_neuron.interpolators.endpoints import endpoints
from derivations.single_neuron.symbols import a0, beta_end, eta_a, eta_w, n0, w0

RATES = (2.0, 0.7)
TIGHT = {"rtol": 1e-11, "atol": 1e-13, "method": "DOP853"}


def problem(seed, n=2, d=4, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng.normal(size=n), rng.normal(), scale * rng.normal(size=d)


def flow(X, y, a_start, w_start, rates, time=4000.0):
    def velocity(_, state):
        a, w = state[0], state[1:]
        gradient = X.T @ (a * X @ w - y)
        return np.concatenate(([-rates[0] * w @ gradient], -rates[1] * a * gradient))

    def readout(_, state):
        return state[0]

    found = solve_ivp(velocity, (0, time), [a_start, *w_start], events=readout, **TIGHT)
    return found.y[0, -1], found.y[1:, -1], len(found.t_events[0])


def objective(beta, X, y, beta_start, balance, product):
    """Ψ_δ(β) - ψ_δ β̂_0ᵀβ, written out."""
    kappa, kappa_start = (np.sqrt(balance**2 + 4 * product * b @ b) for b in (beta, beta_start))
    psi = np.sqrt(product * (kappa_start - balance))
    return (kappa - 2 * balance) * np.sqrt(kappa + balance) / 3, psi * beta_start @ beta / np.linalg.norm(
        beta_start
    )


@pytest.mark.parametrize("seed", [0, 1, 5, 6])
def test_flows_end_at_the_closed_form_and_minimise_the_objective(seed):
    X, y, a_start, w_start = problem(seed, scale=(0.3, 1.5)[seed % 2])
    a, w, crossings = flow(X, y, a_start, w_start, RATES)
    beta, beta_start = a * w, a_start * w_start
    null = w_start - np.linalg.pinv(X) @ X @ w_start
    least_norm = np.linalg.pinv(X) @ y
    balance = RATES[1] * a_start**2 - RATES[0] * w_start @ w_start
    seen = balance + RATES[0] * null @ null
    assert final_readout_square(least_norm, seen, *RATES) == pytest.approx(a**2, rel=1e-8)
    closed = learned_interpolator(least_norm, np.sign(a) * null, seen, *RATES)
    np.testing.assert_allclose(beta, closed, rtol=1e-7, atol=1e-9)

    flat = np.linalg.svd(X)[2][len(y) :].T
    sign = np.sign(a * a_start)
    assert sign == (-1 if seed > 1 else 1) == (-1 if crossings else 1)

    def along(c):
        radial, linear = objective(least_norm + flat @ c, X, y, beta_start, balance, RATES[0] * RATES[1])
        return radial - sign * linear

    best = minimize(
        along, np.zeros(flat.shape[1]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    np.testing.assert_allclose(flat.T @ beta, best.x, atol=1e-5)


def test_some_of_these_flows_cross_zero_and_none_does_so_twice():
    counts = [flow(*problem(seed, n=3, d=3), RATES, time=60.0)[2] for seed in range(12)]
    assert set(counts) == {0, 1}


@pytest.mark.parametrize(("sign0", "sign_end"), [(1, 1), (-1, -1), (1, -1), (-1, 1)])
def test_the_exact_endpoints_are_those_of_trajectories(sign0, sign_end):
    domain = endpoints(sign0, sign_end)
    for point in list(domain.points(domain.cells[0]))[::4]:
        null = np.array(point[n0], float)
        X = np.linalg.svd(null[None])[2][1:]
        y = X @ np.array(point[beta_end], float)
        start = float(point[a0]), np.array(point[w0], float)
        found = implicit_bias(X, y, *start, float(point[eta_a]), float(point[eta_w]))
        np.testing.assert_allclose(found, np.array(point[beta_end], float), rtol=1e-9)


def test_the_position_on_the_line_is_that_of_the_least_objective():
    for k, balance, length in ((0.7, 1.3, 0.4), (-1.1, -2.0, 0.9), (0.2, 0.0, 2.0)):
        alpha = position_on_the_line(k, balance, length)

        def slope(a, balance=balance, length=length):
            size = np.hypot(length, a)
            return np.sqrt(np.hypot(size, balance / 2) - balance / 2) * a / size

        assert slope(alpha) == pytest.approx(k, rel=1e-12)


def test_the_multiplier_is_minus_the_integral_of_the_warped_residual():
    """∇Φ(β_∞) - ∇Φ(β_0) = -Xᵀ∫gρ for η_a = η_w = 1: the sign that the paper leaves out."""
    X, y, a_start, w_start = problem(5, n=1, d=3)
    balance = a_start**2 - w_start @ w_start

    def velocity(_, state):
        a, w = state[0], state[1:4]
        residual = a * X @ w - y
        warp = time_warp(a * w, balance)
        return np.concatenate(([-w @ X.T @ residual], -a * X.T @ residual, warp * residual))

    end = solve_ivp(velocity, (0, 400), [a_start, *w_start, 0.0], **TIGHT).y[:, -1]
    dual = [np.sqrt(2) * np.sign(a) * w for a, w in ((a_start, w_start), (end[0], end[1:4]))]
    assert np.sign(end[0]) == np.sign(a_start)
    np.testing.assert_allclose(dual[1] - dual[0], -X.T @ end[4:], rtol=1e-8)
