"""Trained two-layer linear networks converge to the exact solution of their dynamics at first order in the step.

Fifty networks of random sizes, starts and data: more hidden neurons than needed, as many, or a bottleneck; balances
λ of either sign or none; small starts and large ones. All of them train as one stack. The prediction knows the start,
the task and the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from derivations.prior_knowledge import network_function, ntk, qqt, weights
from derivations.wide_linear import isotropic_init
from numerics.lab.order import fit_order, has_order
from numerics.networks.linear import WideLinear
from numerics.training.flows import gradient_descent
from numerics.training.linear_descent import (
    descend,
    orthonormal,
    whitened_inputs,
    whitened_loss,
    zero_balanced_start,
)
from numerics.training.linear_ensembles import observed, padded, tangent_kernel, unexplained

COUNTS, RECORDS, HORIZON = (1000, 2000, 4000, 8000), 20, 3.0
STEPS = [HORIZON / count for count in COUNTS]
TIMES = np.linspace(0, HORIZON, RECORDS + 1)
NETWORKS = 50
KINDS = ("wide", "square", "bottleneck", "upstream", "downstream")


@dataclass(frozen=True)
class Network:
    """A start W1 (N_h, N_i), W2 (N_o, N_h) of a kind and a size, and its data X (N_i, P), Y (N_o, P)."""

    kind: str
    W1: np.ndarray
    W2: np.ndarray
    X: np.ndarray
    Y: np.ndarray

    @property
    def task(self) -> np.ndarray:
        return self.Y @ self.X.T / self.X.shape[1]

    @property
    def balance(self) -> float:
        """λ = tr(W2ᵀW2 − W1W1ᵀ) / N_h."""
        return float(((self.W2**2).sum() - (self.W1**2).sum()) / len(self.W1))


def drawn(number: int) -> Network:
    """A network of the kind that its number says, small where the number of its round is even."""
    kind, generator = KINDS[number % len(KINDS)], np.random.default_rng(number)
    scale = generator.uniform(0.02, 0.1) if number // len(KINDS) % 2 else generator.uniform(0.5, 1.5)
    N_i, N_o = (int(size) for size in generator.integers(2, 6, 2))
    N_o = N_i if kind == "square" else N_o
    rank = min(N_i, N_o)
    P = int(generator.integers(N_i, 2 * N_i + 1))
    X, s = whitened_inputs(N_i, P, generator), generator.uniform(0.5, 2.0, rank)
    task = (orthonormal(N_o, rank, generator) * s) @ orthonormal(N_i, rank, generator).T
    noise = 0.3 * generator.standard_normal((N_o, P))
    Y = task @ X + noise - noise @ X.T @ X / P
    if kind in ("upstream", "downstream"):
        delta = generator.uniform(0.6, 1.5) * (1 if kind == "upstream" else -1)
        N_h = int(generator.integers(1, (N_o if delta > 0 else N_i) + 1))
        A, W = isotropic_init(N_h, N_i, N_o, delta, generator, scale=scale)
        return Network(kind, W, A.T, X, Y)
    low, high = {"wide": (rank + 1, 8), "square": (rank, 8), "bottleneck": (1, max(rank - 1, 1))}[kind]
    N_h = int(generator.integers(low, high + 1))
    values = scale**2 * generator.uniform(0.5, 1.5, min(N_h, rank))
    W1, W2 = zero_balanced_start(N_h, N_i, N_o, values, generator)
    if N_i == N_o <= N_h and np.linalg.det(W2 @ W1) * np.linalg.det(task) < 0:
        Y[0] *= -1
    return Network(kind, W1, W2, X, Y)


@pytest.fixture(scope="module")
def networks() -> list[Network]:
    return [drawn(number) for number in range(NETWORKS)]


@pytest.fixture(scope="module")
def trained(networks) -> list[list[dict[str, np.ndarray]]]:
    """What is observed of every network at every number of steps, trained as one stack."""
    W1, W2, task = (padded([getattr(net, name) for net in networks]) for name in ("W1", "W2", "task"))
    found = []
    for count, step in zip(COUNTS, STEPS, strict=True):
        record = range(0, count + 1, count // RECORDS)
        first, second = descend(W1, W2, task, rate=step, steps=count, record=record)
        found.append(
            [
                seen(net, first[k][:, : len(net.W1), : len(net.X)], second[k][:, : len(net.Y), : len(net.W1)])
                for k, net in enumerate(networks)
            ]
        )
    return found


def seen(net: Network, W1, W2):
    return {**observed(W1, W2, net.X, net.Y), "W1": W1, "W2": W2}


def from_state(net: Network, state, *, task=1.0, kernel=None):
    """The quantities that QQᵀ knows, with the loss on the task times a factor."""
    N_i = len(net.X)
    inputs, function, readouts = state[:, :N_i, :N_i], state[:, N_i:, :N_i], state[:, N_i:, N_i:]
    return {
        "loss": whitened_loss(function, task * net.task, unexplained(net.X, net.Y)),
        "function": function @ net.X,
        "inputs": inputs,
        "readouts": readouts,
        "ntk": tangent_kernel(inputs, readouts, net.X) if kernel is None else kernel,
    }


def exact(net: Network, *, task=1.0, tau=1.0):
    """The exact solution, for the task and the time constant times a factor."""
    start = (net.W1, net.W2, task * net.task)
    W1, W2 = weights(TIMES, *start, tau)
    found = from_state(net, qqt(TIMES, *start, tau), task=task, kernel=ntk(TIMES, *start, net.X, tau))
    function = network_function(TIMES, *start, tau) @ net.X
    return {**found, "function": function, "W1": W1, "W2": W2}


def riccati(net: Network, balance: float):
    """QQᵀ = e^{tF} Q₀ (1 + Q₀ᵀ ∫₀ᵗ e^{2sF} ds Q₀)⁻¹ Q₀ᵀ e^{tF}, with any λ in F = [[−λ/2, Σᵀ], [Σ, λ/2]]."""
    Q = np.vstack([net.W1.T, net.W2])
    N_o, N_i = net.task.shape
    F = np.block([[-balance / 2 * np.eye(N_i), net.task.T], [net.task, balance / 2 * np.eye(N_o)]])
    d, P = np.linalg.eigh(F)
    found = []
    for t in TIMES:
        integral = np.where(abs(d) < 1e-9, t, np.expm1(2 * d * t) / np.where(abs(d) < 1e-9, 1, 2 * d))
        inner = np.eye(Q.shape[1]) + Q.T @ (P * integral) @ P.T @ Q
        moved = (P * np.exp(d * t)) @ P.T @ Q
        found.append(moved @ np.linalg.solve(inner, moved.T))
    return np.array(found)


def deviations(networks, trained, theory, only=lambda net: True):
    """The largest deviation at every step, by the number of the network, its kind and the quantity."""
    return {
        (k, net.kind, name): [abs(run[k][name] - values).max() for run in trained]
        for k, net in enumerate(networks)
        if only(net)
        for name, values in theory(net).items()
    }


def shrinking(errors):
    """What still falls between the two smallest steps by more than half an order."""
    return {place: found for place, found in errors.items() if found[-2] >= np.sqrt(2) * found[-1]}


def test_the_networks_are_of_every_kind(networks):
    shapes = {(net.kind, np.sign(len(net.X) - len(net.Y))) for net in networks}
    assert {kind for kind, _ in shapes} == set(KINDS)
    assert {sign for kind, sign in shapes if kind == "wide"} >= {-1, 1}
    balances = [net.balance for net in networks]
    assert min(balances) < -0.2 < 0.2 < max(balances)
    assert any(len(net.W1) < min(len(net.X), len(net.Y)) and abs(net.balance) < 1e-12 for net in networks)
    sizes = [np.linalg.norm(net.W2 @ net.W1) for net in networks]
    assert min(sizes) < 0.02 < 1 < max(sizes)


def test_networks_follow_the_exact_solution_at_first_order(networks, trained):
    fits = {place: fit_order(STEPS, found) for place, found in deviations(networks, trained, exact).items()}
    assert len(fits) == NETWORKS * 7
    assert {place: fit for place, fit in fits.items() if not has_order(*fit)} == {}


@pytest.mark.parametrize("off", [{"task": 1.04}, {"tau": 1.05}], ids=str)
def test_another_task_or_time_constant_leaves_a_deviation_in_everything(networks, trained, off):
    errors = deviations(networks, trained, lambda net: exact(net, **off))
    assert shrinking(errors) == {}


def test_the_formula_with_the_balance_of_the_start_is_the_solution(networks):
    for net in networks:
        state = qqt(TIMES, net.W1, net.W2, net.task)
        np.testing.assert_allclose(riccati(net, net.balance), state, atol=1e-9 * abs(state).max())


def test_the_formula_without_the_balance_leaves_a_deviation(networks, trained):
    """The printed solution is for λ = 0."""
    errors = deviations(
        networks,
        trained,
        lambda net: from_state(net, riccati(net, 0.0)),
        only=lambda net: net.kind in ("upstream", "downstream"),
    )
    assert len(errors) == NETWORKS * 2
    assert shrinking(errors) == {}


def exchanged(net: Network):
    """The diagonal blocks of QQᵀ in each other's place, and the function transposed."""
    state = qqt(TIMES, net.W1, net.W2, net.task)
    N = len(net.X)
    order = np.r_[N : 2 * N, 0:N]
    return from_state(net, state[:, order][:, :, order])


def data_for_outputs(net: Network):
    """The kernel with its rows by datum and, within it, output."""
    kernel = ntk(TIMES, net.W1, net.W2, net.task, net.X)
    outputs, count = len(net.Y), net.X.shape[1]
    order = np.arange(outputs * count).reshape(outputs, count).T.ravel()
    return {"ntk": kernel[:, order][:, :, order]}


@pytest.mark.parametrize("wrong", [exchanged, data_for_outputs])
def test_blocks_in_the_wrong_place_leave_a_deviation(networks, trained, wrong):
    errors = deviations(networks, trained, wrong, only=lambda net: net.kind == "square")
    assert shrinking(errors) == {}


def test_a_network_trained_on_the_data_by_autograd_makes_the_same_steps(networks):
    """f(x) = W2 W1 x with the average of the loss over the data, which gradient_descent sums."""
    for net in networks[: 2 * len(KINDS)]:
        share = np.sqrt(net.X.shape[1])
        options = {"steps": 100, "record": range(0, 101, 20)}
        found = gradient_descent(
            WideLinear(net.W2.T, net.W1),
            net.X.T / share,
            net.Y.T / share,
            rates={"A": 1.0, "W": 1.0},
            step=0.02,
            observe=lambda network: {"A": network.A, "W": network.W},
            **options,
        )
        W1, W2 = descend(net.W1, net.W2, net.task, rate=0.02, **options)
        np.testing.assert_allclose(found["W"], W1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found["A"].swapaxes(1, 2), W2, rtol=0, atol=1e-12)
