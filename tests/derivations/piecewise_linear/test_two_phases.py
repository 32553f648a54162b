"""Small balanced networks fit the data after they have aligned, but for ReLU networks that have died by then."""

from __future__ import annotations

import numpy as np
import pytest

from derivations.piecewise_linear.regimes import two_phases
from symdyn.catalogue.auditing import audit

X, Y = np.array([[1.0, 0.0]]), np.array([1.0])
"""One datum."""


def trained_loss(a, W, gamma, time=40.0, step=0.02):
    """The loss at the end of the flow, by Euler's method."""
    a, W = a.copy(), W.copy()
    for _ in range(int(time / step)):
        z = X @ W.T
        slopes = np.where(z > 0, 1.0, gamma)
        residual = (slopes * z) @ a - Y
        drive = (slopes * residual[:, None]).T @ X
        a, W = a - step * (W * drive).sum(1), W - step * a[:, None] * drive
    z = X @ W.T
    return float(((np.maximum(z, gamma * z) @ a - Y) ** 2).sum() / 2)


def small(readout, size=1e-2):
    """One balanced neuron that is active on the datum, not along it."""
    return size * np.array([float(readout)]), size * np.array([[0.6, 0.8]])


def test_a_neuron_with_the_sign_of_the_label_fits():
    assert trained_loss(*small(1), gamma=0.0) < 1e-10


@pytest.mark.parametrize("size", [1e-1, 1e-2, 1e-3])
def test_a_relu_neuron_with_the_other_sign_dies_before_it_grows(size):
    assert trained_loss(*small(-1, size), gamma=0.0) == 0.5


def test_a_leaky_neuron_turns_round_and_fits():
    assert trained_loss(*small(-1, 1e-1), gamma=0.5, time=80.0) < 1e-6


def test_a_kernel_that_is_positive_at_all_times_is_not_enough():
    # Against the datum the flow keeps a = -w, and leaves this line at rounding only.
    a, gamma, step = 0.1, 0.5, 0.02
    for _ in range(2000):
        a += step * gamma * a * (-gamma * a**2 - 1)
    assert 0 < 2 * gamma**2 * a**2 < 1e-9
    assert (gamma * a**2 + 1) ** 2 / 2 == pytest.approx(0.5)
    assert "smallest eigenvalue" in two_phases.printed_data_fitting.hypothesis


def test_the_second_phase_is_conditional():
    (found,) = (e for e in audit("kunin2024", "piecewise_linear") if e.id == "kunin2024.pw-balanced-phase1")
    assert found.status == "conditional"
    assert "gamma = 0" in found.counterexample
