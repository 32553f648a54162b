"""Trees that follow a learned one, the time they take, and the plane in which their things are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from derivations.prior_knowledge import learnable
from numerics.starts.learned_starts import learned_weights, on_wrong_side
from numerics.tasks.semantic import hierarchy
from numerics.training.linear_descent import descend, zero_balanced_start
from numerics.training.relearning import (
    classical_scaling,
    colour_hierarchy,
    learned_next_to,
    learning_time,
    losses,
    train,
)


@pytest.fixture
def generator():
    return np.random.default_rng(3)


def test_a_colour_hierarchy_is_a_tree_that_the_weights_can_learn(generator):
    known = learned_weights(hierarchy(), 10, generator)
    trees = [colour_hierarchy(generator, *known) for _ in range(16)]
    assert 0 < sum(reflected for _, reflected in trees) < 16
    for tree, _ in trees:
        np.testing.assert_allclose(np.linalg.svd(tree)[1], [4, 3, 2, 2, 1, 1, 1, 1], rtol=1e-12)
        assert not on_wrong_side(*known, tree)
        assert learnable(*known, tree).learnable


def test_training_keeps_the_weights_at_the_stated_times(generator):
    sigma = generator.standard_normal((2, 3, 3))
    start = zero_balanced_start(4, 3, 3, 0.5, generator)
    times, W1, W2 = train(*start, sigma, rate=0.1, horizon=1.0, every=5)
    np.testing.assert_allclose(times, [0, 0.5, 1.0])
    first, second = descend(*start, sigma, rate=0.1, steps=10, record=[0, 5, 10])
    np.testing.assert_array_equal(W1, first)
    np.testing.assert_array_equal(W2, second)
    gap = second[1, 2] @ first[1, 2] - sigma[1]
    assert losses(W2 @ W1, sigma)[1, 2] == pytest.approx(0.5 * (gap**2).sum())


def test_the_learning_time_of_an_exponential_loss_is_exact():
    sigma, times = np.diag([3.0, 4.0]), np.linspace(0, 10, 7)
    loss = 12.5 * np.exp(-1.3 * times)
    assert learning_time(times, loss, sigma) == pytest.approx(np.log(100) / 1.3, rel=1e-12)
    assert learning_time(times, 12.5 * np.ones(7), sigma) == np.inf


@pytest.mark.parametrize("sizes", [(6, 4, 4), (5, 3, 4)])
def test_the_learned_weights_next_to_learned_ones_are_the_same(sizes, generator):
    hidden, inputs, outputs = sizes
    sigma = generator.standard_normal((outputs, inputs))
    known = learned_weights(sigma, hidden, generator)
    for one, other in zip(learned_next_to(*known, sigma), known, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)


def test_the_learned_weights_next_to_noisy_ones_are_balanced_compute_the_task_and_are_near(generator):
    sigma = generator.standard_normal((4, 4))
    noisy = [W + 1e-3 * generator.standard_normal(W.shape) for W in learned_weights(sigma, 6, generator)]
    W1, W2 = learned_next_to(*noisy, sigma)
    np.testing.assert_allclose(W2 @ W1, sigma, atol=1e-13)
    np.testing.assert_allclose(W1 @ W1.T, W2.T @ W2, atol=1e-13)
    assert np.abs(W1 - noisy[0]).max() < 0.01


def test_scaling_restores_the_distances_of_points_in_the_plane(generator):
    plane = generator.standard_normal((9, 2)) * [3.0, 1.0] + 5.0
    points = plane @ np.linalg.qr(generator.standard_normal((6, 6)))[0][:2]
    found = classical_scaling(points)
    apart = [np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (found, points)]
    np.testing.assert_allclose(*apart, atol=1e-12)
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-12)
    assert found[:, 0].var() > found[:, 1].var()
    np.testing.assert_allclose(classical_scaling(points + 2.0), found, atol=1e-12)
