"""Nonlinear and linear two-layer networks that learn one task after another."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.training.continual import (
    ACTIVATIONS,
    SETTING,
    correlation,
    drawn_sequences,
    foretold_and_measured,
    imbalance,
    losses,
    neuron_imbalance,
    random_sequence,
    random_task,
    second_moment,
    train,
    train_sequence,
)
from numerics.training.linear_descent import descend, random_start

FUNCTIONS = {"linear": lambda z: z, "tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)}


@pytest.fixture
def generator():
    return np.random.default_rng(11)


def sequence(seed=3, noise=1.0, start=0.3, count=2):
    return random_sequence(
        (6, 4, 2), count, P=7, strengths=(0.5, 2.0), noise=noise, start=start, seed=[seed, 9]
    )


def test_a_task_is_whitened_and_its_best_linear_map_leaves_the_noise(generator):
    X, Y = random_task(4, 2, 9, (0.5, 2.0), 0.7, generator)
    np.testing.assert_allclose(X @ X.T / 9, np.eye(4), atol=1e-14)
    S = correlation(X, Y)
    singular = np.linalg.svd(S, compute_uv=False)
    assert 0.5 <= singular.min() < singular.max() <= 2.0
    assert second_moment(Y) - (S**2).sum() == pytest.approx(0.49, rel=1e-12)
    assert second_moment(Y - S @ X) == pytest.approx(0.49, rel=1e-12)


def test_a_task_without_noise_is_linear(generator):
    X, Y = random_task(4, 2, 4, (0.5, 2.0), 0.0, generator)
    np.testing.assert_allclose(correlation(X, Y) @ X, Y, atol=1e-13)


def test_noise_changes_neither_start_nor_correlations():
    quiet, loud = sequence(noise=0.0), sequence(noise=2.0)
    np.testing.assert_allclose(correlation(*quiet[:2]), correlation(*loud[:2]), atol=1e-13)
    for place in (0, 2, 3):
        np.testing.assert_array_equal(quiet[place], loud[place])


def test_every_cell_has_tasks_and_start_of_its_own_seed():
    cells = [{"seed": 4}, {"seed": 2}]
    together = drawn_sequences(cells, SETTING, 3, 9)
    for place, cell in enumerate(cells):
        options = {name: SETTING[name] for name in ("P", "strengths", "noise", "start")}
        alone = random_sequence((10, 5, 3), 3, **options, seed=[cell["seed"], 9])
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(many[place], one)


def test_losses_of_linear_networks_are_foretold_in_the_order_of_their_tasks():
    cells = [{"seed": seed, "activation": "linear"} for seed in (1, 2)]
    foretold, measured = foretold_and_measured(cells, {**SETTING, "rate": 0.02, "steps": 3000}, 3, 9)
    np.testing.assert_allclose(measured[..., 1:], foretold, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(foretold, axis1=1, axis2=2), 0.5, atol=1e-12)
    assert (measured[..., 0] > measured[..., 1:].min(-1) + 0.1).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_step_is_that_of_the_gradient_of_the_loss(activation, generator):
    X, Y, *_ = sequence(count=1)
    W1, W2 = random_start(6, 4, 2, 1.5, generator)

    def loss(first, second):
        return 0.5 * ((second @ FUNCTIONS[activation](first @ X[0]) - Y[0]) ** 2).sum() / X.shape[-1]

    moved = train(W1, W2, X[0], Y[0], activation=activation, rate=0.1, steps=1, record=[0, 1])
    h = 1e-6
    for part, start in enumerate((W1, W2)):
        slope = np.zeros_like(start)
        for place in np.ndindex(*start.shape):
            ends = []
            for sign in (1, -1):
                near = [W1.copy(), W2.copy()]
                near[part][place] += sign * h
                ends.append(loss(*near))
            slope[place] = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(moved[part][1] - moved[part][0], -0.1 * slope, atol=1e-8)
    found = losses(W1[None], W2[None], X, Y, activation)
    assert found.shape == (1, 1) and found[0, 0] == pytest.approx(loss(W1, W2), rel=1e-12)


def test_linear_networks_learn_as_whitened_ones_do(generator):
    X, Y, W1, W2 = sequence()
    trained = train(W1, W2, X[0], Y[0], activation="linear", rate=0.05, steps=40, record=[10, 40])
    exact = descend(W1, W2, correlation(X[0], Y[0]), rate=0.05, steps=40, record=[10, 40])
    for one, other in zip(trained, exact, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_stack_learns_as_each_network_alone(activation):
    both = [np.stack(part) for part in zip(sequence(1), sequence(2), strict=True)]
    settings = {"activation": activation, "rate": 0.05, "steps": 20}
    together = train_sequence(both[2], both[3], both[0], both[1], **settings)
    L = losses(*together, *both[:2], activation)
    assert L.shape == (2, 2, 3)
    for place, seed in enumerate((1, 2)):
        X, Y, W1, W2 = sequence(seed)
        alone = train_sequence(W1, W2, X, Y, **settings)
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_allclose(many[place], one, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(L[place], losses(*alone, X, Y, activation), rtol=1e-10)
        assert L[place, 0, 1] < L[place, 0, 0] and L[place, 1, 2] < L[place, 1, 1]


def test_a_sequence_begins_each_task_where_the_last_one_ended():
    X, Y, W1, W2 = sequence(count=3)
    ends = train_sequence(W1, W2, X, Y, activation="tanh", rate=0.05, steps=30)
    np.testing.assert_array_equal(ends[0][0], W1)
    again = train(ends[0][1], ends[1][1], X[1], Y[1], activation="tanh", rate=0.05, steps=30, record=[30])
    for one, other in zip(again, ends, strict=True):
        np.testing.assert_allclose(one[0], other[2], rtol=1e-12)


def test_imbalance_is_zero_in_balance_and_one_where_a_layer_is_missing(generator):
    *_, W1, W2 = sequence()
    assert imbalance(W1, W2) < 1e-15 and neuron_imbalance(W1, W2) < 1e-15
    assert imbalance(W1, 0 * W2) == pytest.approx(1.0)
    first = np.array([[1.0, 0.0], [0.0, 2.0]])
    turned = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert imbalance(first, first @ turned) == pytest.approx(3 * np.sqrt(2) / (2 * np.sqrt(17)))
    mixing = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    even = np.sqrt(2.5) * np.eye(2)
    plain = np.diag([1.0, 2.0]) @ mixing
    assert 0.1 < neuron_imbalance(plain, even) == pytest.approx(imbalance(plain, even))
    skew = mixing @ np.diag([1.0, 2.0])
    assert neuron_imbalance(skew, even) < 1e-15 < 0.1 < imbalance(skew, even)


def test_neurons_of_a_relu_network_keep_their_balance_and_pairs_do_not():
    X, Y, W1, W2 = sequence()
    drifts = []
    for steps in (500, 1000):
        ends = train_sequence(W1, W2, X, Y, activation="relu", rate=5.0 / steps, steps=steps)
        assert imbalance(*ends)[-1] > 0.05
        drifts.append(neuron_imbalance(*ends)[-1])
    assert drifts[1] < 0.65 * drifts[0] < 0.01


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda g: random_task(4, 2, 4, (0.5, 2.0), 0.1, g), "no room for noise"),
        (lambda g: train_sequence(*sequence()[2:], *sequence()[:2], activation="sine", rate=0.1, steps=1), "one of"),
        (
            lambda g: train(
                *sequence()[2:], *(x[0] for x in sequence()[:2]),
                activation="relu", rate=0.1, steps=3, record=[2, 1],
            ),
            "record must increase",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(action, message, generator):
    with pytest.raises(ValueError, match=message):
        action(generator)
