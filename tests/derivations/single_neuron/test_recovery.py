"""The closed system of (μ, φ) and the way back to the weights, held against the integrated weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from derivations.single_neuron import (
    neuron_kernel,
    polar_coordinates,
    polar_dynamics,
    weights_from_mu,
)

RATES = {"eta_a": 2.0, "eta_w": 0.3}
STAR = np.array([1.0, -2.0, 0.5])


def velocity(_t, theta):
    a, w = theta[0], theta[1:]
    rest = a * w - STAR
    return np.concatenate([[-RATES["eta_a"] * w @ rest], -RATES["eta_w"] * a * rest])


def integrate(f, y0, end):
    return solve_ivp(f, (0, end), y0, rtol=1e-11, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("a0", [1.2, -0.4])
@pytest.mark.parametrize("scale", [0.2, 1.5])
def test_mu_and_phi_move_by_themselves_and_give_the_weights_back(a0, scale):
    w0 = scale * np.array([0.9, 0.3, -1.1])
    delta = RATES["eta_w"] * a0**2 - RATES["eta_a"] * w0 @ w0
    s = np.linalg.norm(STAR)

    def polar(_t, y):
        return np.array(polar_dynamics(mu=y[0], phi=y[1], s=s, delta=delta, **RATES))

    mu, phi = integrate(polar, np.array(polar_coordinates(a=a0, w=w0, beta_star=STAR)), 0.7)
    a, norm_w = weights_from_mu(mu=mu, delta=delta, **RATES)
    along = STAR / s
    side = w0 - (w0 @ along) * along
    w = norm_w * (phi * along + np.sqrt(1 - phi**2) * side / np.linalg.norm(side))
    assert np.concatenate([[a], w]) == pytest.approx(integrate(velocity, np.array([a0, *w0]), 0.7), abs=1e-8)


def test_the_output_moves_with_the_kernel():
    a, w, x = 0.7, np.array([0.2, -0.5, 1.0]), np.array([1.0, 0.4, -0.3])
    data, labels = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0]]), np.array([0.3, -2.0])
    r = data.T @ (a * data @ w - labels)
    a_dot, w_dot = -RATES["eta_a"] * w @ r, -RATES["eta_w"] * a * r
    step = 1e-6
    moved = (
        ((a + step * a_dot) * (w + step * w_dot) - (a - step * a_dot) * (w - step * w_dot)) @ x / (2 * step)
    )
    row = neuron_kernel(point=x, point1=data, a=a, w=w, **RATES)
    assert row @ (labels - a * data @ w) == pytest.approx(moved, rel=1e-8)
