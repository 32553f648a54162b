"""ReLU networks of growing width: their starts, the flow, and the plane of their scales."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numerics.lab.claims import Measurement
from numerics.measures.conserved import neuron_deltas
from numerics.studies.piecewise_linear.phase_plane import SIDES, by_point, exponents, on_side, side
from numerics.training.wide_relu import (
    BINS,
    balanced_start,
    circle_task,
    descend,
    directions,
    gaussian_start,
    measures,
)

FLOW = {"fitted": 0.01, "most_steps": 20_000}


def test_data_lie_one_in_each_part_of_the_circle_with_labels_of_mean_square_one():
    X, y = circle_task(3, 5)
    angle = np.arctan2(X[:, 1], X[:, 0]) % (2 * np.pi)
    np.testing.assert_array_equal(np.floor(angle / (2 * np.pi / 5)), np.arange(5))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-14)
    assert y @ y == pytest.approx(5)


def test_gaussian_weights_have_the_overall_and_the_relative_scale_of_their_point():
    a, W = gaussian_start(1, 40_000, 1.25, -0.5)
    assert a.std() * W.std() == pytest.approx(40_000**-1.25, rel=0.02)
    assert a.std() / W.std() == pytest.approx(40_000**0.5, rel=0.02)


@pytest.mark.parametrize("delta", [-1.0, 0.0, 0.5])
def test_balanced_neurons_have_their_scale_and_balance_and_compute_nothing(delta):
    a, W = balanced_start(2, 8, 0.3, delta)
    np.testing.assert_allclose(neuron_deltas(a, W), delta, atol=1e-12)
    np.testing.assert_allclose(np.abs(a) * np.linalg.norm(W, axis=1), 0.3**2, rtol=1e-12)
    np.testing.assert_allclose(np.maximum(circle_task(0, 5)[0] @ W.T, 0) @ a, 0.0, atol=1e-15)


def test_the_flow_ends_where_the_data_are_fitted_and_shorter_steps_end_in_the_same_place():
    X, y = circle_task(0, 5)
    start = gaussian_start(0, 64, 0.5, 0.0)
    ends = [descend(*start, X, y, step=step, **FLOW) for step in (0.2, 0.1, 0.01)]
    for a, W, movement, _, loss in ends:
        residual = np.maximum(X @ W.T, 0) @ a - y
        assert residual @ residual / (y @ y) == pytest.approx(loss) and loss <= 0.01
        assert movement >= np.linalg.norm(W - start[1]) / np.linalg.norm(start[1]) * (1 - 1e-12)
    moved = np.abs(ends[2][1] - start[1]).max()
    assert all(np.abs(ends[2][1] - W).max() < 1e-3 * moved for _, W, *_ in ends[:2])


def test_descent_takes_the_direction_of_the_gradient():
    X, y = circle_task(0, 5)
    a, W = gaussian_start(0, 16, 0.5, 0.0)
    moved = descend(a, W, X, y, fitted=0.0, step=1e-6, most_steps=1)
    residual = np.maximum(X @ W.T, 0) @ a - y
    slope_a = np.maximum(X @ W.T, 0).T @ residual
    slope_W = a[:, None] * ((X @ W.T > 0) * residual[:, None]).T @ X
    rate = (moved[0] - a) @ -slope_a / (slope_a @ slope_a)
    assert rate > 0
    np.testing.assert_allclose(moved[0] - a, -rate * slope_a, atol=1e-4 * rate * np.abs(slope_a).max())
    np.testing.assert_allclose(moved[1] - W, -rate * slope_W, atol=1e-4 * rate * np.abs(slope_W).max())


def test_neurons_of_one_direction_count_once_and_of_all_directions_once_a_bin():
    around = (np.arange(BINS) + 0.5) * 2 * np.pi / BINS
    W = np.stack([np.cos(around), np.sin(around)], -1)
    assert directions(np.ones(BINS), W) == pytest.approx(BINS)
    assert directions(np.ones(4), np.array([[1.0, 0.1]] * 4) * [[1], [2], [3], [4]]) == pytest.approx(1.0)
    assert directions(np.array([1.0, -1.0]), np.array([[1.0, 0.1], [-1.0, 0.1]])) == pytest.approx(2.0)


def test_measures_compare_the_end_with_the_start():
    X, y = circle_task(0, 5)
    start = gaussian_start(0, 64, 0.5, 0.0)
    found = measures(*start, X, y, step=0.2, **FLOW)
    assert found["relative_loss"] <= 0.01 and found["delta_drift"] < 0.01
    assert 0 < found["kernel_distance_halfway"] < found["kernel_distance"] < 1
    assert found["delta_mean"] == pytest.approx(neuron_deltas(*start).mean(), rel=1e-4)


@pytest.mark.parametrize(
    ("point", "where"),
    [
        ((0.5, -1.0), "large"),
        ((0.99, -1.0), "large"),
        ((1.0, 0.5), "downstream"),
        ((1.5, 0.6), "downstream"),
        ((1.0, 0.0), "boundary"),
        ((1.0, -1.0), "boundary"),
        ((1.5, 0.5), "boundary"),
        ((1.5, 0.4), "rich"),
    ],
)
def test_the_boundary_divides_the_plane(point, where):
    assert side(point) == where and where in SIDES
    assert on_side({point: 1}, where) == {point: 1}
    assert all(on_side({point: 1}, other) == {} for other in SIDES if other != where)


def test_exponents_are_those_of_the_power_of_the_width_seed_by_seed():
    rows = [
        Measurement(
            {"gamma": gamma, "gamma_prime": 0.0, "seed": seed, "h": h},
            {"movement": 3.0 * h ** (-gamma - seed)},
        )
        for gamma in (0.5, 1.5)
        for seed in (0, 1)
        for h in (64, 256, 1024)
    ]
    found = exponents(rows, "movement")
    assert list(found) == [(0.5, 0.0), (1.5, 0.0)]
    assert found[0.5, 0.0] == pytest.approx([-0.5, -1.5]) and found[1.5, 0.0] == pytest.approx([-1.5, -2.5])
    assert math.prod(by_point(rows[:2], "movement")[0.5, 0.0]) == pytest.approx(9.0 / 64**0.5 / 256**0.5)
