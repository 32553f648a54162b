"""Trained two-layer networks follow the spherical dynamics of their neurons at first order in the step, and nothing
else.

The equations for μ_k and β̂_k are closed once δ_k is known, so they are integrated on their own, with no weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from derivations.piecewise_linear import coordinates_rhs, ntk
from numerics.lab.order import fit_order, has_order
from numerics.training.ensembles import networks, train
from numerics.training.observers import Networks

COUNTS, RECORDS, HORIZON = (1000, 2000, 4000, 8000), 25, 2.0
QUANTITIES = ("mu", "direction", "kernel")


@dataclass(frozen=True)
class Setting:
    a: np.ndarray
    W: np.ndarray
    X: np.ndarray
    y: np.ndarray
    gamma: float
    eta_a: float
    eta_w: float


def setting(seed, *, inputs=5, gamma=0.0, eta_a=1.0, eta_w=1.0, size_a=1.0, size_w=1.0) -> Setting:
    """Four neurons in the plane, a of both signs, and random data."""
    generator = np.random.default_rng(seed)
    a = size_a * generator.uniform(0.3, 1.0, 4) * np.array([1, -1, 1, -1])
    W = size_w * generator.standard_normal((4, 2))
    X, y = generator.standard_normal((inputs, 2)), generator.standard_normal(inputs)
    return Setting(a, W, X, y, gamma, eta_a, eta_w)


# Neurons turn by up to 44 degrees and a changes its sign in some of them, but none reaches a line on which an input
# changes its activation: the kernel jumps there, and a jump that comes a little late is a deviation of order 0.
SETTINGS = {
    "ReLU": setting(22),
    "ReLU, upstream, unequal rates": setting(16, eta_a=0.5, eta_w=1.5, size_a=1.5, size_w=0.4),
    "leaky ReLU, downstream": setting(13, gamma=0.2, size_a=0.2, size_w=1.2),
    "leaky ReLU, unequal rates": setting(13, gamma=0.5, eta_a=2.0, eta_w=0.3),
}
CHANGING = setting(5, inputs=7)


def weights(mu, direction, delta, eta_a, eta_w):
    """a_k and w_k of neurons whose μ_k is not zero, from μ_k = a_k‖w_k‖, β̂_k and δ_k alone."""
    kappa = np.sqrt(delta**2 + 4 * eta_a * eta_w * mu**2)
    a = np.sign(mu) * np.sqrt((kappa + delta) / (2 * eta_w))
    return a, (mu / a)[..., None] * direction


def predicted(s: Setting, rhs=coordinates_rhs, kernel=ntk):
    """μ (T, h), β̂ (T, h, d) and the kernel (T, n, n), from the equations in these coordinates."""
    length = np.linalg.norm(s.W, axis=-1)
    delta = s.eta_w * s.a**2 - s.eta_a * length**2
    h, d = s.W.shape

    def split(state):
        return state[:h], state[h:].reshape(h, d)

    def velocity(_, state):
        a, W = weights(*split(state), delta, s.eta_a, s.eta_w)
        mu_dot, turning = rhs(W, a, s.X, s.y, s.gamma, s.eta_a, s.eta_w, check=False)
        return np.concatenate([mu_dot, turning.ravel()])

    start = np.concatenate([s.a * length, (s.W / length[:, None]).ravel()])
    times = np.linspace(0, HORIZON, RECORDS + 1)
    flow = solve_ivp(velocity, (0, HORIZON), start, t_eval=times, method="DOP853", rtol=1e-9, atol=1e-11)
    mu, direction = zip(*map(split, flow.y.T), strict=True)
    kernels = [
        kernel(W, a, s.X, s.gamma, s.eta_a, s.eta_w, check=False)
        for a, W in (weights(m, b, delta, s.eta_a, s.eta_w) for m, b in zip(mu, direction, strict=True))
    ]
    return {"mu": np.array(mu), "direction": np.array(direction), "kernel": np.array(kernels)}


def trained(s: Setting, count):
    """The same quantities of a network in training, observed at the same times."""
    found = train(
        networks(s.a[None], s.W[None], eta_a=s.eta_a, eta_w=s.eta_w, gamma=s.gamma),
        s.X,
        s.y,
        step=HORIZON / count,
        checkpoints=range(0, count + 1, count // RECORDS),
        observers={"a": lambda start, now: now.a, "W": lambda start, now: now.W},
        threads=1,
    )
    a, W = found.measured["a"][0].T, np.moveaxis(found.measured["W"][0], -1, 0)
    length = np.linalg.norm(W, axis=-1)
    kernels = [observed(s, *pair) for pair in zip(a, W, strict=True)]
    return {"mu": a * length, "direction": W / length[..., None], "kernel": np.array(kernels)}


def observed(s, a, W):
    """The kernel as Gram matrix of the Jacobian, written out for one network."""
    z = s.X @ W.T
    slope = np.where(z >= 0, 1.0, s.gamma)
    by_a = np.sqrt(s.eta_a) * slope * z
    by_W = np.sqrt(s.eta_w) * (slope * a)[..., None] * s.X[:, None, :]
    jacobian = np.concatenate([by_a, by_W.reshape(len(z), -1)], 1)
    return jacobian @ jacobian.T


def orders(runs, theory):
    steps = [HORIZON / count for count in COUNTS]
    return {
        name: fit_order(steps, [np.abs(run[name] - theory[name]).max() for run in runs])
        for name in QUANTITIES
    }


@pytest.fixture(scope="module", params=SETTINGS)
def runs(request):
    s = SETTINGS[request.param]
    return s, [trained(s, count) for count in COUNTS]


def test_networks_follow_the_spherical_dynamics_at_first_order(runs):
    s, found = runs
    assert {name: fit for name, fit in orders(found, predicted(s)).items() if not has_order(*fit)} == {}


def test_slopes_are_still_met_at_first_order_where_activations_change():
    theory = predicted(CHANGING)
    active = np.einsum("thd,nd->thn", theory["direction"], CHANGING.X) > 0
    assert (active[1:] != active[:-1]).sum() >= 5
    fits = orders([trained(CHANGING, count) for count in COUNTS], theory)
    assert has_order(*fits["mu"]), fits["mu"]


def faster_turning(W, a, X, y, gamma, eta_a, eta_w, check):
    mu_dot, turning = coordinates_rhs(W, a, X, y, gamma, eta_a, eta_w, check=check)
    return mu_dot, 1.05 * turning


def slower_growth(W, a, X, y, gamma, eta_a, eta_w, check):
    mu_dot, turning = coordinates_rhs(W, a, X, y, gamma, eta_a, eta_w, check=check)
    return 0.95 * mu_dot, turning


def other_slope(W, a, X, y, gamma, eta_a, eta_w, check):
    return coordinates_rhs(W, a, X, y, gamma + 0.05, eta_a, eta_w, check=check)


def rates_off(W, a, X, y, gamma, eta_a, eta_w, check):
    return coordinates_rhs(W, a, X, y, gamma, 1.1 * eta_a, eta_w, check=check)


@pytest.mark.parametrize("perturbed", [faster_turning, slower_growth, other_slope, rates_off])
def test_dynamics_a_few_percent_off_leave_a_deviation_that_does_not_shrink(runs, perturbed):
    s, found = runs
    fits = orders(found, predicted(s, rhs=perturbed))
    assert all(abs(fit[0]) < 0.5 for fit in fits.values()), fits
    assert not any(has_order(*fit) for fit in fits.values())


def larger_readout(W, a, X, gamma, eta_a, eta_w, check):
    return ntk(W, 1.02 * a, X, gamma, eta_a, eta_w, check=check)


def test_a_kernel_of_other_weights_is_told_apart(runs):
    s, found = runs
    fits = orders(found, predicted(s, kernel=larger_readout))
    assert has_order(*fits["mu"]) and abs(fits["kernel"][0]) < 0.1


def test_scaled_starts_agree_with_the_theory():
    """The start of the studies is the one that the theory gives, to the digits of float32."""
    from derivations.piecewise_linear import scale_init
    from numerics.tasks.teacher_student import draw_task, students

    task = draw_task(1, d=4, h=6, k=2, n=5)
    tau, delta = np.array([0.1, 0.5, 2.0]), np.array([-1.0, 0.3, 1.0])
    W, a = scale_init(task.W.numpy(), task.a.numpy(), tau, delta, check=False)
    found_a, found_W = students(task, tau, delta)
    np.testing.assert_allclose(found_a, a, rtol=3e-7)
    np.testing.assert_allclose(found_W, W, rtol=3e-7)


def test_the_closed_kernel_is_that_of_the_theory():
    from numerics.measures.kernels import two_layer_ntk

    for s in SETTINGS.values():
        ours = two_layer_ntk(s.a, s.W, s.X, s.gamma, s.eta_a, s.eta_w)
        np.testing.assert_allclose(
            ours, ntk(s.W, s.a, s.X, s.gamma, s.eta_a, s.eta_w), rtol=1e-12, atol=1e-13
        )


def test_observers_see_the_balance_that_the_coordinates_need():
    import torch

    s = SETTINGS["ReLU, upstream, unequal rates"]
    tensors = [torch.as_tensor(value)[None] for value in (s.a, s.W)]
    rates = [torch.tensor([rate], dtype=torch.float64) for rate in (s.eta_a, s.eta_w)]
    delta = Networks(*tensors, *rates).delta()[0].numpy()
    a, W = weights(
        s.a * np.linalg.norm(s.W, axis=-1),
        s.W / np.linalg.norm(s.W, axis=-1)[:, None],
        delta,
        s.eta_a,
        s.eta_w,
    )
    np.testing.assert_allclose(a, s.a, rtol=1e-12)
    np.testing.assert_allclose(W, s.W, rtol=1e-12)
