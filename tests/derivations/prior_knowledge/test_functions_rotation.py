"""The weights with their rotation: against integration, and the properties of the flow."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from derivations.prior_knowledge import learnable, qqt, reversal, weights
from tests.derivations.prior_knowledge.test_functions_flow import CASES, start
from tests.derivations.prior_knowledge.test_functions_tasks import balanced


def integrated_weights(times, W1, W2, sigma):
    hidden, inputs = W1.shape

    def velocity(_, state):
        now, then = state[: W1.size].reshape(W1.shape), state[W1.size :].reshape(W2.shape)
        error = sigma - then @ now
        return np.concatenate([(then.T @ error).ravel(), (error @ now.T).ravel()])

    whole = np.concatenate([W1.ravel(), W2.ravel()])
    y = solve_ivp(velocity, (0, times[-1]), whole, "DOP853", times, rtol=1e-13, atol=1e-14).y.T
    return y[:, : W1.size].reshape(-1, hidden, inputs), y[:, W1.size :].reshape(-1, *W2.shape)


@pytest.mark.parametrize("case", CASES)
def test_the_weights_are_those_of_the_integrated_flow(case):
    times = np.array([0.0, 0.1, 0.6, 2.0, 5.0])
    W1, W2, sigma = start(sum(case[:3]), *case)
    found, expected = weights(3 * times, W1, W2, sigma, tau=3), integrated_weights(times, W1, W2, sigma)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=3e-11)


def test_the_weights_are_not_the_nearest_to_the_start_with_the_same_state():
    W1, W2, sigma = start(9, 3, 3, 3, 0.0)
    first, second = weights(3.0, W1, W2, sigma)
    Z, Z0 = np.hstack([first, second.T]), np.hstack([W1, W2.T])
    left, _, right = np.linalg.svd(Z0 @ Z.T)
    nearest = left @ right @ Z
    assert np.linalg.norm(nearest - Z0) < np.linalg.norm(Z - Z0) - 1e-4
    np.testing.assert_allclose(nearest.T @ nearest, qqt(3.0, W1, W2, sigma), atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_balance_and_state_are_exact_at_late_times(case):
    W1, W2, sigma = start(3 + sum(case[:3]), *case)
    times = np.array([0.0, 30.0, 1e3, 1e5])
    first, second = weights(times, W1, W2, sigma)
    Q = np.concatenate((first.swapaxes(1, 2), second), 1)
    np.testing.assert_allclose(Q @ Q.swapaxes(1, 2), qqt(times, W1, W2, sigma), atol=1e-11)
    gap = second.swapaxes(1, 2) @ second - first @ first.swapaxes(1, 2)
    np.testing.assert_allclose(gap, np.stack([W2.T @ W2 - W1 @ W1.T] * 4), atol=1e-10)
    np.testing.assert_allclose(first[0], W1, atol=1e-14)


def test_a_turn_of_the_hidden_neurons_goes_along():
    W1, W2, sigma = start(4, 4, 3, 4, 0.0)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    first, second = weights(1.5, W1, W2, sigma)
    turned, other = weights(1.5, turn @ W1, W2 @ turn.T, sigma)
    np.testing.assert_allclose(turned, turn @ first, atol=1e-12)
    np.testing.assert_allclose(other, second @ turn.T, atol=1e-12)


def test_it_is_a_semigroup_and_knows_no_order_of_times_and_members():
    W1, W2, sigma = (np.stack(x) for x in zip(start(1, 2, 3, 2, 0.3), start(2, 2, 3, 2, 0.0), strict=True))
    first, second = weights([2.0, 0.7], W1, W2, sigma)
    again, other = weights(1.3, first[:, 1], second[:, 1], sigma)
    np.testing.assert_allclose(again, first[:, 0], atol=1e-12)
    np.testing.assert_allclose(other, second[:, 0], atol=1e-12)
    alone = weights(0.7, W1[1], W2[1], sigma[1])[0]
    np.testing.assert_allclose(first[1, 1], alone, atol=1e-12)
    tensor = weights(torch.tensor([2.0, 0.7], dtype=torch.float64), *map(torch.tensor, (W1, W2, sigma)))
    np.testing.assert_allclose(tensor[0], first, atol=1e-12)


def test_reversal_does_not_rotate_the_hidden_neurons():
    rng = np.random.default_rng(5)
    W1, W2 = balanced(rng, 3, 3, 4, 0.0)
    with pytest.raises(ValueError, match="off the separatrix"):
        weights(1.0, W1, W2, -W2 @ W1)
    first, second = weights([1.0, 300.0], W1, W2, -W2 @ W1, on_separatrix=True)
    values, axes = np.linalg.eigh(W1 @ W1.T)
    shrunk = (axes / np.sqrt(2 * np.exp(2 * values) - 1)) @ axes.T
    np.testing.assert_allclose(first[0], shrunk @ W1, atol=1e-12)
    np.testing.assert_allclose(second[0], W2 @ shrunk, atol=1e-12)
    state = reversal([1.0, 300.0], W1, W2)[:, 3:, :3]
    np.testing.assert_allclose(second @ first, state, atol=1e-13)


@pytest.mark.parametrize("function", [lambda *x: learnable(*x).rank, lambda *x: weights(1.0, *x)[0]])
def test_inside_a_transform_the_functions_that_branch_on_values_say_so(function):
    one = torch.eye(2, dtype=torch.float64)
    with pytest.raises(TypeError, match=r"outside torch\.func transforms"):
        torch.func.vmap(lambda sigma: function(one, one, sigma))(one[None])


@pytest.mark.parametrize("function", [learnable, lambda *x: weights(1.0, *x)])
def test_a_gradient_is_refused_rather_than_lost(function):
    one = torch.eye(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match="has no gradient; detach its arguments"):
        function(one, one, one)
    with torch.no_grad():
        function(one, one, one)
