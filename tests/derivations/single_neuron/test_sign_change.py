"""Lemma 4 on data that are not whitened: a vanishes at most once, while the product a wᵀβ_* may vanish twice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

GRAM, TARGET = np.diag([1.0, 4.0]), np.array([1.0, 1.0])
LEAST_SQUARES = np.linalg.solve(GRAM, TARGET)


def flow(gram, target, start, times):
    def velocity(_, state):
        a, w = state[0], state[1:]
        gradient = gram @ (a * w) - target
        return [-w @ gradient, *(-a * gradient)]

    found = solve_ivp(velocity, (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-12, method="LSODA")
    return found.y[0], found.y[1:].T


@pytest.mark.parametrize(("w0", "direction"), [((-1, 1), TARGET), ((-1, 4), LEAST_SQUARES)])
def test_the_product_vanishes_twice_on_anisotropic_data(w0, direction):
    times = np.concatenate(([0.0], np.geomspace(1e-3, 300, 400)))
    a, w = flow(GRAM, TARGET, [1.0, *w0], times)
    product = a * (w @ direction)
    assert abs(product[0]) < 1e-12 and (a > 0).all()
    later = np.sign(product[1:])
    assert later[0] == -1 and later[-1] == 1
    assert np.count_nonzero(np.diff(later)) == 1
    assert a[-1] * w[-1] == pytest.approx(LEAST_SQUARES, abs=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_the_readout_changes_its_sign_at_most_once_on_any_data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, 3)) * np.exp(rng.normal(0, 1, 3))
    y, w0 = rng.normal(size=3), 3 * rng.normal(size=3)
    w0 *= -np.sign(w0 @ X.T @ y)
    a, _ = flow(X.T @ X, X.T @ y, [0.05, *w0], np.concatenate(([0.0], np.geomspace(1e-4, 100, 300))))
    assert np.count_nonzero(np.diff(np.sign(a))) == 1
