"""The statements about time scales, held against exact trajectories."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from derivations.single_neuron import mu_phi, trajectory

STAR = np.array([0.0, 2.0])
LENGTH = 2.0


def start(delta, beta0):
    """Weights of unit rates with the balance delta and the function beta0, a > 0."""
    kappa = np.hypot(delta, 2 * np.linalg.norm(beta0))
    larger = (kappa + abs(delta)) / 2
    a0 = np.sqrt(larger if delta >= 0 else beta0 @ beta0 / larger)
    return a0, beta0 / a0


def time_until(cosine, a0, w0, latest):
    return brentq(lambda t: float(mu_phi(t, a0, w0, STAR)[1]) - cosine, 0.0, latest)


def distance(one, other):
    return 1 - np.sum(one * other) / (np.linalg.norm(one) * np.linalg.norm(other))


def kernel(a, w):
    return a**2 * np.eye(len(w)) + np.outer(w, w)


def test_far_upstream_a_fixed_start_turns_no_faster_than_it_shrinks():
    delta = 1e6
    mu, phi = mu_phi(np.log(2) / delta, *start(delta, np.array([LENGTH, 0.0])), STAR)
    assert mu / LENGTH == pytest.approx(np.sqrt(0.5), rel=1e-5)
    assert phi == pytest.approx(np.sqrt(0.5), rel=1e-5)


def test_far_upstream_a_small_start_turns_first():
    delta = 1e6
    mu, phi = mu_phi(1e-2 / delta, *start(delta, np.array([1e-5, 0.0])), STAR)
    assert phi > 0.9999
    assert mu < 0.011 * LENGTH


def test_far_upstream_the_kernel_distance_falls_with_the_fourth_power_of_the_balance():
    moved = []
    for delta in (50.0, 100.0):
        a0, w0 = start(delta, np.array([0.3, 0.4]))
        a, w = trajectory(1.0, a0, w0, STAR)
        moved.append(distance(kernel(a0, w0), kernel(a, w)))
    assert np.log2(moved[0] / moved[1]) == pytest.approx(4, abs=0.01)


@pytest.mark.parametrize("phi0", [0.6, -0.6])
def test_downstream_the_alignment_takes_a_time_proportional_to_the_balance(phi0):
    beta0 = 0.7 * np.array([0.8, phi0])
    end = 0.99 * np.sign(phi0)
    times = [time_until(end, *start(delta, beta0), latest=20 * -delta) for delta in (-2e3, -4e3)]
    bernoulli = 4e3 / LENGTH**2 * np.log(0.99 / np.sqrt(1 - 0.99**2) * 0.8 / 0.6)
    assert times[1] / times[0] == pytest.approx(2, rel=1e-5)
    assert times[1] == pytest.approx(bernoulli, rel=1e-5)


def test_a_small_balanced_start_changes_its_kernel_while_aligning_and_not_while_fitting():
    phi0, size = 0.6, 1e-15
    a0, w0 = start(0.0, size * np.array([0.8, phi0]))
    first, last = (trajectory(t, a0, w0, STAR) for t in (7.0, 30.0))
    assert first[0] * np.linalg.norm(first[1]) < 0.02 * LENGTH < last[0] * np.linalg.norm(last[1]) / 49
    assert distance(kernel(a0, w0), kernel(*first)) == pytest.approx((1 - phi0**2) / 5, rel=1e-5)
    assert distance(kernel(*first), kernel(*last)) < 1e-6
