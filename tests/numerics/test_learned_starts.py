"""Networks that know a task, and the side of the separatrix that a start is on."""

from __future__ import annotations

import numpy as np
import pytest

from derivations.prior_knowledge import learnable, separatrix_distance
from numerics.starts.learned_starts import (
    crossing,
    finite_or_none,
    learned_weights,
    on_wrong_side,
    to_learnable_side,
)
from numerics.training.linear_descent import zero_balanced_start


@pytest.fixture
def generator():
    return np.random.default_rng(11)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_learned_weights_compute_the_task_and_are_balanced(shape, generator):
    sigma = generator.standard_normal(shape)
    W1, W2 = learned_weights(sigma, 5, generator)
    np.testing.assert_allclose(W2 @ W1, sigma, atol=1e-14)
    np.testing.assert_allclose(W1 @ W1.T, W2.T @ W2, atol=1e-14)


def test_learned_weights_use_the_hidden_neurons_at_random(generator):
    sigma = generator.standard_normal((3, 3))
    first, second = (learned_weights(sigma, 5, generator)[0] for _ in range(2))
    assert np.abs(first - second).max() > 0.1


def test_the_sign_of_the_determinants_tells_who_is_on_the_separatrix(generator):
    sigma = generator.standard_normal((3, 3))
    wrong = 0
    for _ in range(12):
        start = zero_balanced_start(5, 3, 3, [1.0, 0.6, 0.3], generator)
        stuck = not learnable(*start, sigma).learnable
        assert bool(on_wrong_side(*start, sigma)) == stuck
        wrong += stuck
    assert 0 < wrong < 12


def test_the_other_side_is_learnable_from_equally_large_and_balanced_weights(generator):
    sigma = generator.standard_normal((4, 3, 3))
    starts = [zero_balanced_start(5, 3, 3, [1.0, 0.6, 0.3], generator) for _ in range(4)]
    W1, W2 = (np.stack(part) for part in zip(*starts, strict=True))
    first, second = to_learnable_side(W1, W2, sigma)
    assert learnable(first, second, sigma).learnable.all()
    assert (separatrix_distance(first, second, sigma) > 1e-6).all()
    np.testing.assert_allclose(np.linalg.svd(second @ first)[1], np.linalg.svd(W2 @ W1)[1], rtol=1e-12)
    kept = ~on_wrong_side(W1, W2, sigma)
    np.testing.assert_array_equal(second[kept], W2[kept])


def test_a_crossing_lies_between_two_times():
    times = np.array([0.0, 1.0, 3.0])
    rising = [[-1.0, 1.0, 2.0], [-3.0, -1.0, 1.0], [-3.0, -2.0, -1.0], [0.5, -1.0, 1.0]]
    np.testing.assert_allclose(crossing(times, rising), [0.5, 2.0, np.inf, 0.0])
    np.testing.assert_allclose(crossing(times, np.array(rising) + 7, 7.0), [0.5, 2.0, np.inf, 0.0])


def test_what_never_happens_is_stored_as_none():
    assert finite_or_none(np.inf) is None
    assert finite_or_none(np.float64(2.5)) == 2.5


def test_too_few_hidden_neurons_are_named(generator):
    with pytest.raises(ValueError, match="3 modes needs as many hidden neurons"):
        learned_weights(np.eye(3), 2, generator)
