"""Basins, the distance to the separatrix, and the time at which a changes sign."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from derivations.single_neuron import basin, crossing_time, separatrix_distance, trajectory


def integrated(a0, w0, beta_star, eta_a, eta_w, until=60.0):
    """The states of an independent integration of gradient flow at many times."""

    def velocity(_, state):
        a, w = state[0], state[1:]
        return np.concatenate([[eta_a * (w @ beta_star - a * (w @ w))], eta_w * (a * beta_star - a**2 * w)])

    times = np.linspace(0.0, until, 6001)
    run = solve_ivp(velocity, (0, until), [a0, *w0], t_eval=times, method="DOP853", rtol=1e-11, atol=1e-13)
    return times, run.y


def test_basin_and_crossing_time_are_those_of_the_integrated_flow():
    rng = np.random.default_rng(3)
    crossings = 0
    for _ in range(24):
        w0, beta_star = rng.normal(size=(2, 2))
        a0 = -np.sign(w0 @ beta_star) * 10 ** rng.uniform(-2, 0.5)
        eta_a, eta_w = 10 ** rng.uniform(-0.3, 0.3, size=2)
        times, states = integrated(a0, w0, beta_star, eta_a, eta_w)
        assert basin(a0, w0, beta_star, eta_a, eta_w) == np.sign(states[0, -1])
        changes = np.flatnonzero(np.diff(np.sign(states[0])))
        when = crossing_time(a0, w0, beta_star, eta_a, eta_w)
        assert len(changes) == np.isfinite(when)
        if len(changes):
            crossings += 1
            assert times[changes[0]] <= when <= times[changes[0] + 1]
    assert crossings >= 5


def test_a_vanishes_at_the_crossing_time():
    rng = np.random.default_rng(4)
    w0, beta_star = rng.normal(size=(2, 200, 3))
    a0 = rng.normal(size=200) / 3
    when = crossing_time(a0, w0, beta_star)
    crosses = np.isfinite(when)
    assert 10 < crosses.sum() < 190
    for start, time in zip(
        zip(a0[crosses], w0[crosses], beta_star[crosses], strict=True), when[crosses], strict=True
    ):
        a, _ = trajectory([0.0, time, 2 * time], *start)
        assert abs(a[1]) < 1e-15 and a[0] * a[2] < 0
    np.testing.assert_array_equal(crosses, basin(a0, w0, beta_star) != np.sign(a0))


def test_crossing_time_where_nothing_crosses_and_where_it_is_now():
    starts = {
        "keeps": (1.0, [1.0, 0.0]),
        "saddle": (0.0, [0.0, 1.0]),
        "now": (0.0, [-1.0, 1.0]),
        "up": (2.0, [-1.0, 0.0]),
    }
    when = {name: crossing_time(a0, w0, [1.0, 0.0]) for name, (a0, w0) in starts.items()}
    assert when == {"keeps": np.inf, "saddle": np.inf, "now": 0.0, "up": np.inf}
    assert not np.signbit([crossing_time(0.0, [side, 1.0], [1.0, 0.0]) for side in (-1.0, 1.0)]).any()


@pytest.mark.parametrize(
    "a0, w0, beta_star",
    [
        (0.0, [0.0, 3.0], [2.0, 0.0]),
        (1.0, [-1.0, 0.0], [2.0, 0.0]),
        (0.1, [-0.1], [1.7]),
        (5.0, [-3.0, -4.0], [6.0, 8.0]),
        (0.0, [0.0, 0.0], [1.0, 1.0]),
    ],
)
def test_starts_on_the_saddle_manifold_have_basin_zero(a0, w0, beta_star):
    assert basin(a0, w0, beta_star) == 0
    assert separatrix_distance(a0, w0, beta_star) == 0
    a, w = trajectory(1e3, a0, w0, beta_star)
    assert abs(a) < 1e-12 and abs(np.dot(w, beta_star)) < 1e-12


def test_for_positive_delta_the_basin_is_the_sign_of_a0():
    rng = np.random.default_rng(5)
    w0, beta_star = rng.normal(size=(2, 500, 2))
    a0 = rng.choice([-1, 1], size=500) * np.linalg.norm(w0, axis=-1) * (1 + 1e-9)
    np.testing.assert_array_equal(basin(a0, w0, beta_star), np.sign(a0))
    assert np.isinf(crossing_time(a0, w0, beta_star)).all()


def functional(a, w, beta_star, eta_a, eta_w):
    """lambda+ a + eta_a w.beta*, written apart from the library."""
    delta = eta_w * a**2 - eta_a * (w @ w)
    root = torch.sqrt(delta**2 + 4 * eta_a * eta_w * (beta_star @ beta_star))
    return (delta + root) / 2 * a + eta_a * (w @ beta_star)


@pytest.mark.parametrize("w0", [[-1.0, 0.4], [0.8, 1.5], [0.0, 2.0]])
def test_next_to_the_separatrix_the_distance_is_euclidean(w0):
    beta_star, eta_a, eta_w = torch.tensor([1.0, 0.3], dtype=torch.float64), 0.5, 1.5
    w = torch.tensor(w0, dtype=torch.float64)
    below, above = torch.tensor(-50.0, dtype=torch.float64), torch.tensor(50.0, dtype=torch.float64)
    for _ in range(80):
        middle = (below + above) / 2
        below, above = (
            (middle, above) if functional(middle, w, beta_star, eta_a, eta_w) < 0 else (below, middle)
        )
    slope_a, slope_w = torch.func.grad(functional, (0, 1))(above, w, beta_star, eta_a, eta_w)
    length = torch.sqrt(slope_a**2 + slope_w @ slope_w)
    for step in (1e-3, -1e-3, 1e-5):
        start = above + step * slope_a / length, w + step * slope_w / length
        distance = separatrix_distance(*start, beta_star, eta_a, eta_w)
        assert abs(distance / step - 1) < 5 * abs(step)
        assert basin(*start, beta_star, eta_a, eta_w) == np.sign(step)
