"""Trained wide and deep linear networks converge to the theory of their predictors at first order in the step.

The predictions know no weights beyond the start: the exact solution for isotropic balance, the closed system of the
neurons' contributions β_k for any balance, and the closed flow of β for isotropic deep networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import derivations.deep_linear as deep
import derivations.wide_linear as wide
from numerics.lab.order import fit_order, has_order
from numerics.networks.linear import DeepLinear, WideLinear
from numerics.training.flows import gradient_descent

COUNTS, RECORDS, HORIZON = (500, 1000, 2000, 4000), 20, 3.0
TIMES = np.linspace(0, HORIZON, RECORDS + 1)


@dataclass(frozen=True)
class Setting:
    A: np.ndarray
    W: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    eta_a: float
    eta_w: float
    delta: float | None


def inputs(generator, d, whitened):
    X = generator.standard_normal((7, d))
    return np.linalg.qr(X)[0] if whitened else X / np.sqrt(7)


def isotropic(h, d, c, delta, eta_a=1.0, eta_w=1.0) -> Setting:
    """Whitened inputs, labels with noise that no network fits, a start with Δ = δI."""
    generator = np.random.default_rng(h + 10 * d + 100 * c)
    A, W = wide.isotropic_init(h, d, c, delta, generator, scale=0.6, eta_a=eta_a, eta_w=eta_w)
    X = inputs(generator, d, whitened=True)
    Y = X @ generator.standard_normal((d, c)) + 0.3 * generator.standard_normal((7, c))
    return Setting(A, W, X, Y, eta_a, eta_w, delta)


def general(h, d, c, eta_a, eta_w, size_a, size_w) -> Setting:
    """Any inputs, any start."""
    generator = np.random.default_rng(h + 10 * d + 100 * c)
    A, W = size_a * generator.standard_normal((h, c)), size_w * generator.standard_normal((h, d))
    return Setting(A, W, inputs(generator, d, False), generator.standard_normal((7, c)), eta_a, eta_w, None)


ISOTROPIC = {
    "as many neurons as outputs, upstream": isotropic(2, 4, 2, 1.0),
    "as many neurons as inputs, downstream, unequal rates": isotropic(3, 3, 4, -0.7, 0.5, 1.5),
    "balanced, wide": isotropic(5, 3, 2, 0.0),
    "one output, unequal rates": isotropic(1, 3, 1, 0.8, 2.0, 0.4),
}
GENERAL = {
    "wide": general(5, 3, 2, 1.0, 1.0, 0.5, 0.5),
    "upstream, unequal rates": general(3, 4, 2, 0.6, 1.4, 1.2, 0.2),
    "downstream, one output": general(2, 3, 1, 1.0, 0.5, 0.2, 1.0),
}


def kernel(M, X, c):
    """K = (I ⊗ X) M (I ⊗ Xᵀ), outputs stacked."""
    lift = np.kron(np.eye(c), X)
    return lift @ M @ lift.T


def trained(s: Setting, count):
    """β, M, K and singular values of a network in training, M written out by Kronecker products."""
    found = gradient_descent(
        WideLinear(s.A, s.W),
        s.X,
        s.Y,
        rates={"A": s.eta_a, "W": s.eta_w},
        step=HORIZON / count,
        steps=count,
        record=range(0, count + 1, count // RECORDS),
        observe=lambda network: {"A": network.A, "W": network.W},
    )
    d, c = s.W.shape[1], s.A.shape[1]
    beta = found["W"].swapaxes(1, 2) @ found["A"]
    M = np.array(
        [
            np.kron(s.eta_w * A.T @ A, np.eye(d)) + np.kron(np.eye(c), s.eta_a * W.T @ W)
            for A, W in zip(found["A"], found["W"], strict=True)
        ]
    )
    return quantities(s, beta, M)


def quantities(s, beta, M):
    return {
        "beta": beta,
        "M": M,
        "kernel": np.array([kernel(entry, s.X, s.A.shape[1]) for entry in M]),
        "singular values": np.linalg.svd(beta, compute_uv=False),
    }


def orders(runs, theory):
    steps = [HORIZON / count for count in COUNTS]
    return {
        name: fit_order(steps, [np.abs(run[name] - theory[name]).max() for run in runs]) for name in theory
    }


def exact(s: Setting, *, off_delta=0.0, off_target=0.0, off_rate=1.0):
    """From the start alone: the exact β, and M as a function of β and δ."""
    target = (1 + off_target) * s.X.T @ s.Y
    rates = {"eta_a": s.eta_a, "eta_w": off_rate * s.eta_w}
    beta = wide.isotropic_flow(TIMES, s.A, s.W, target, **rates, check=False).beta
    M = wide.isotropic_preconditioner(beta=beta, delta=s.delta + off_delta, **rates)
    return quantities(s, beta, M)


@pytest.fixture(scope="module", params=ISOTROPIC)
def isotropic_runs(request):
    s = ISOTROPIC[request.param]
    return s, [trained(s, count) for count in COUNTS]


def test_isotropic_networks_follow_the_exact_solution_at_first_order(isotropic_runs):
    s, runs = isotropic_runs
    assert {name: fit for name, fit in orders(runs, exact(s)).items() if not has_order(*fit)} == {}


@pytest.mark.parametrize("off", [{"off_target": 0.03}, {"off_rate": 1.1}])
def test_another_target_or_rate_leaves_a_deviation_in_everything(isotropic_runs, off):
    s, runs = isotropic_runs
    fits = orders(runs, exact(s, **off))
    assert all(abs(fit[0]) < 0.5 for fit in fits.values()), fits


def test_another_balance_leaves_a_deviation_in_the_preconditioner(isotropic_runs):
    s, runs = isotropic_runs
    fits = orders(runs, exact(s, off_delta=0.05 * (1 if s.delta >= 0 else -1) + 0.1 * (s.delta == 0)))
    assert has_order(*fits["beta"])
    assert all(abs(fits[name][0]) < 0.5 for name in ("M", "kernel")), fits


def neurons(betas, deltas, eta_a, eta_w):
    """Unchecked: an integrator leaves the rank-one matrices by its tolerance."""
    return wide.neuron_preconditioners(betas, deltas, eta_a, eta_w, check=False)


def by_neurons(s: Setting, parts=neurons):
    """The closed system vec(β̇_k) = −M_k vec(XᵀXβ − XᵀY), with M_k from β_k and δ_k alone."""
    (h, c), d = s.A.shape, s.W.shape[1]
    deltas = s.eta_w * (s.A**2).sum(1) - s.eta_a * (s.W**2).sum(1)
    start = s.W[:, :, None] * s.A[:, None, :]

    def velocity(_, state):
        betas = state.reshape(h, d, c)
        gradient = s.X.T @ (s.X @ betas.sum(0) - s.Y)
        M = parts(betas, deltas, s.eta_a, s.eta_w)
        return -wide.unvec(M @ wide.vec(gradient), d).ravel()

    flow = solve_ivp(velocity, (0, HORIZON), start.ravel(), "DOP853", TIMES, rtol=1e-9, atol=1e-11)
    betas = flow.y.T.reshape(-1, h, d, c)
    M = np.array([parts(entry, deltas, s.eta_a, s.eta_w).sum(0) for entry in betas])
    return quantities(s, betas.sum(1), M)


@pytest.fixture(scope="module", params=GENERAL)
def general_runs(request):
    s = GENERAL[request.param]
    return s, [trained(s, count) for count in COUNTS]


def test_networks_follow_the_sum_over_neurons_at_first_order(general_runs):
    s, runs = general_runs
    assert {name: fit for name, fit in orders(runs, by_neurons(s)).items() if not has_order(*fit)} == {}


def balances_reversed(betas, deltas, eta_a, eta_w):
    return neurons(betas, -deltas, eta_a, eta_w)


def rates_multiplied(betas, deltas, eta_a, eta_w):
    return neurons(betas, deltas, 1.2 * eta_a, eta_w)


def rows_for_columns(betas, deltas, eta_a, eta_w):
    """β_k as if vec stacked the rows: the parts of the two layers change places."""
    kappa = np.sqrt(deltas**2 + 4 * eta_a * eta_w * (betas**2).sum((1, 2)))
    d, c = betas.shape[1:]
    unit = betas / np.linalg.norm(betas, axis=(1, 2))[:, None, None]
    return np.array(
        [
            np.kron(np.eye(d), (k + delta) / 2 * u.T @ u) + np.kron((k - delta) / 2 * u @ u.T, np.eye(c))
            for k, delta, u in zip(kappa, deltas, unit, strict=True)
        ]
    )


@pytest.mark.parametrize("parts", [balances_reversed, rates_multiplied])
def test_other_parts_of_the_preconditioner_leave_a_deviation_in_everything(general_runs, parts):
    s, runs = general_runs
    fits = orders(runs, by_neurons(s, parts))
    assert all(abs(fit[0]) < 0.5 for fit in fits.values()), fits


def test_the_order_of_vec_matters():
    s = GENERAL["wide"]
    runs = [trained(s, count) for count in COUNTS]
    fits = orders(runs, by_neurons(s, rows_for_columns))
    assert all(abs(fit[0]) < 0.5 for fit in fits.values()), fits


@pytest.fixture(scope="module", params=[(2, -0.8), (3, -0.4), (3, 0.0)], ids=str)
def deep_runs(request):
    """A square isotropic network: depth, δ, data, start, and β in training at each number of steps."""
    depth, delta = request.param
    generator = np.random.default_rng(depth)
    a, layers = deep.isotropic_init(3, depth, delta, 4, readout=0.9)
    X, y = inputs(generator, 3, False), generator.standard_normal(7)
    runs = []
    for count in COUNTS:
        found = gradient_descent(
            DeepLinear(a, layers),
            X,
            y,
            rates=dict.fromkeys(["a", *(f"Ws.{place}" for place in range(len(layers)))], 1.0),
            step=HORIZON / count,
            steps=count,
            record=range(0, count + 1, count // RECORDS),
            observe=lambda network: {"beta": network.beta},
        )
        runs.append(found)
    return depth, delta, X, y, runs


def deep_theory(X, y, start, delta, depth):
    def velocity(_, beta):
        M = deep.isotropic_preconditioner(beta, delta, depth)
        return -M @ (X.T @ (X @ beta - y))

    flow = solve_ivp(velocity, (0, HORIZON), start, "DOP853", TIMES, rtol=1e-10, atol=1e-12)
    return {"beta": flow.y.T}


def test_deep_isotropic_networks_follow_their_preconditioned_flow_at_first_order(deep_runs):
    depth, delta, X, y, runs = deep_runs
    theory = deep_theory(X, y, runs[0]["beta"][0], delta, depth)
    assert has_order(*orders(runs, theory)["beta"])


@pytest.mark.parametrize("off", [{"delta": -0.1}, {"depth": 1}])
def test_another_balance_or_depth_leaves_a_deviation(deep_runs, off):
    depth, delta, X, y, runs = deep_runs
    wrong = deep_theory(X, y, runs[0]["beta"][0], delta + off.get("delta", 0.0), depth + off.get("depth", 0))
    assert abs(orders(runs, wrong)["beta"][0]) < 0.5
