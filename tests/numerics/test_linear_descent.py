"""Two-layer linear networks on whitened inputs: their starts, their training, and the trees they learn."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.tasks.semantic import contrasts, hierarchy
from numerics.training.linear_descent import (
    descend,
    orthonormal,
    random_start,
    whitened_inputs,
    whitened_loss,
    zero_balanced_start,
)


@pytest.fixture
def generator():
    return np.random.default_rng(5)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_orthonormal_matrices_are_orthonormal(shape, generator):
    Q = orthonormal(*shape, generator)
    small = Q.T @ Q if shape[0] >= shape[1] else Q @ Q.T
    np.testing.assert_allclose(small, np.eye(min(shape)), atol=1e-14)


@pytest.mark.parametrize("sizes", [(4, 3, 2), (2, 3, 5), (6, 3, 3)])
def test_zero_balanced_starts_are_balanced_and_have_the_wanted_singular_values(sizes, generator):
    wanted = np.sort(generator.uniform(0.1, 2.0, min(sizes)))[::-1]
    W1, W2 = zero_balanced_start(*sizes, wanted, generator)
    np.testing.assert_allclose(W1 @ W1.T, W2.T @ W2, atol=1e-14)
    np.testing.assert_allclose(np.linalg.svd(W2 @ W1, compute_uv=False)[: min(sizes)], wanted, rtol=1e-12)


def test_a_random_start_is_not_balanced(generator):
    W1, W2 = random_start(4, 3, 2, 1.0, generator)
    assert np.abs(W1 @ W1.T - W2.T @ W2).max() > 0.1


def test_a_step_is_that_of_the_gradient_of_the_loss_over_the_data(generator):
    X = whitened_inputs(3, 7, generator)
    Y = generator.standard_normal((2, 7))
    W1, W2 = random_start(4, 3, 2, 1.0, generator)
    np.testing.assert_allclose(X @ X.T / 7, np.eye(3), atol=1e-14)

    def loss(first, second):
        return 0.5 * ((second @ first @ X - Y) ** 2).sum() / 7

    h = 1e-6
    slope = np.zeros_like(W1)
    for place in np.ndindex(*W1.shape):
        move = np.zeros_like(W1)
        move[place] = h
        slope[place] = (loss(W1 + move, W2) - loss(W1 - move, W2)) / (2 * h)
    first, second = descend(W1, W2, Y @ X.T / 7, rate=0.1, steps=1, record=[0, 1])
    np.testing.assert_allclose(first[1] - first[0], -0.1 * slope, atol=1e-9)
    rest = (Y**2).sum() / 7 - ((Y @ X.T / 7) ** 2).sum()
    assert whitened_loss(W2 @ W1, Y @ X.T / 7, rest) == pytest.approx(loss(W1, W2), rel=1e-12)
    assert loss(first[1], second[1]) < loss(W1, W2)


def test_a_stack_trains_each_network_alone(generator):
    starts = [random_start(4, 3, 2, 1.0, generator) for _ in range(3)]
    tasks = generator.standard_normal((3, 2, 3))
    rates = np.array([0.01, 0.02, 0.03])
    W1, W2 = (np.stack(part) for part in zip(*starts, strict=True))
    together = descend(W1, W2, tasks, rate=rates, steps=9, record=[3, 9])
    for place in range(3):
        alone = descend(*starts[place], tasks[place], rate=rates[place], steps=9, record=[3, 9])
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_allclose(many[place], one, rtol=1e-13)


def test_a_tree_has_orthonormal_contrasts_and_its_strengths_are_singular_values():
    C = contrasts([3, 1, 0, 2, 7, 5, 6, 4])
    np.testing.assert_allclose(C @ C.T, np.eye(8), atol=1e-15)
    found = np.linalg.svd(hierarchy(strengths=(5, 3, 2, 1)), compute_uv=False)
    np.testing.assert_allclose(found, [5, 3, 2, 2, 1, 1, 1, 1], rtol=1e-13)


def test_things_are_more_similar_the_later_they_part():
    task = hierarchy()
    similarity = task.T @ task
    assert similarity[0, 0] > similarity[0, 1] > similarity[0, 2] > similarity[0, 4]
    np.testing.assert_allclose(similarity[0, 2:4], similarity[0, 2], rtol=1e-12)
    np.testing.assert_allclose(similarity[0, 4:], similarity[0, 4], rtol=1e-12)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda g: zero_balanced_start(3, 3, 3, [1.0, 2.0], g), "3 of them"),
        (lambda g: zero_balanced_start(3, 3, 3, -1.0, g), "none negative"),
        (lambda g: whitened_inputs(4, 3, g), "cannot be whitened"),
        (lambda g: descend(np.eye(2), np.eye(2), np.eye(2), rate=0.1, steps=3, record=[0, 5]), "record"),
        (lambda g: descend(np.eye(2), np.eye(2), np.eye(2), rate=0.1, steps=3, record=[2, 1]), "record"),
        (lambda g: contrasts([0, 0, 1, 2, 3, 4, 5, 6]), "permutation"),
        (lambda g: hierarchy(strengths=(1.0, 2.0)), "four numbers"),
        (lambda g: hierarchy(features=np.ones((8, 8))), "orthonormal"),
    ],
)
def test_what_does_not_fit_is_named(action, message, generator):
    with pytest.raises(ValueError, match=message):
        action(generator)
