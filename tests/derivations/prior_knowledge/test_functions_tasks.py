"""Forgetting, reversal and the shallow network: against data, integration of the weights, and many digits."""

import mpmath as mp
import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from derivations.prior_knowledge import forgetting, reversal, shallow

# How far derivatives of `stepped` may be off.
STEPPED = {"atol": 1e-7, "rtol": 1e-7}


def whitened_data(rng, inputs, outputs, count):
    """Inputs with X X^T / P = 1 and targets that no linear map explains."""
    X = np.linalg.qr(rng.normal(size=(count, inputs)))[0].T * np.sqrt(count)
    return X, rng.normal(size=(outputs, count))


def balanced(rng, hidden, inputs, outputs, offset):
    """Random weights with W2^T W2 - W1 W1^T = offset, and where possible of full rank."""
    turn = np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    squares = rng.uniform(0.2, 2, hidden) * (np.arange(hidden) < min(inputs, outputs))
    first, second = np.sqrt(squares + max(-offset, 0)), np.sqrt(squares + max(offset, 0))
    frames = [np.eye(hidden, n) @ np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (inputs, outputs)]
    return turn @ (first[:, None] * frames[0]), (turn @ (second[:, None] * frames[1])).T


def integrated(times, W1, W2, sigma):
    """QQ^T of the integrated weights."""
    shape = (len(W1), W1.shape[1] + len(W2))

    def velocity(_, state):
        Z = state.reshape(shape)
        now, then = Z[:, : W1.shape[1]], Z[:, W1.shape[1] :].T
        error = sigma - then @ now
        return np.hstack([then.T @ error, now @ error.T]).ravel()

    start = np.hstack([W1, W2.T]).ravel()
    Z = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=1e-13, atol=1e-14).y.T
    Z = Z.reshape(-1, *shape)
    return Z.swapaxes(1, 2) @ Z


def stepped(t, W1, W2, sigma, steps=200):
    """QQ^T of the weights after steps of fourth order, for torch to differentiate."""

    def velocity(W1, W2):
        error = sigma - W2 @ W1
        return W2.T @ error, error @ W1.T

    h = t / steps
    for _ in range(steps):
        slopes = [velocity(W1, W2)]
        for share in (0.5, 0.5, 1.0):
            slopes.append(velocity(W1 + share * h * slopes[-1][0], W2 + share * h * slopes[-1][1]))
        W1, W2 = (
            W + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            for W, k1, k2, k3, k4 in zip((W1, W2), *slopes, strict=True)
        )
    Z = torch.cat((W1, W2.T), 1)
    return Z.T @ Z


def turned(squares, offset, *skews):
    """W1, W2 with W2^T W2 - W1 W1^T = offset, from turns of hidden, input and output space."""
    hidden, first, second = (torch.matrix_exp(x - x.T) for x in skews)
    count = len(hidden)
    low = torch.diag(torch.sqrt(squares)) @ torch.eye(count, len(first), dtype=squares.dtype)
    high = torch.diag(torch.sqrt(squares + offset)) @ torch.eye(count, len(second), dtype=squares.dtype)
    return hidden @ low @ first, (hidden @ high @ second).T


def slopes(x, given):
    """The derivatives of a symmetric matrix, as a function of what is given, along a fixed direction in one row."""
    weight = torch.tensor(np.random.default_rng(0).normal(size=x.shape))
    found = torch.autograd.grad((x * (weight + weight.T)).sum(), given, retain_graph=True)
    return torch.cat([slope.flatten() for slope in found])


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 4), (3, 3, 3)])
def test_derivatives_of_a_reversal_are_those_of_the_weights_also_where_the_balance_is_zero(shape):
    rng = np.random.default_rng(2)
    given = [rng.uniform(0.5, 2, shape[0]), 0.0, *(rng.normal(size=(n, n)) for n in shape)]
    given = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in given]
    for t in (0.3, 1.0):
        W1, W2 = turned(*given)
        found, expected = reversal(t, W1, W2), stepped(t, W1, W2, -W2 @ W1)
        np.testing.assert_allclose(slopes(found, given), slopes(expected, given), **STEPPED)


def test_derivatives_of_forgetting_are_exact_where_a_linear_map_explains_everything():
    sigmas = torch.tensor(np.random.default_rng(0).normal(size=(6, 3, 3)), requires_grad=True)
    moments = (sigmas.detach() ** 2).sum((-2, -1))
    moments = (moments * (1 + 2.3e-16 * torch.arange(-3.0, 3.0, dtype=torch.float64))).requires_grad_()
    forgetting(sigmas, moments).sum().backward()
    np.testing.assert_array_equal(moments.grad, np.full(6, 3.0))


def test_forgetting_is_the_loss_on_the_data_of_the_other_task():
    rng = np.random.default_rng(0)
    tasks = [whitened_data(rng, 3, 2, 7) for _ in range(4)]
    sigmas = np.array([Y @ X.T / 7 for X, Y in tasks])
    moments = np.array([Y @ Y.T / 7 for _, Y in tasks])
    expected = [[((sigma @ X - Y) ** 2).sum() / 14 for sigma in sigmas] for X, Y in tasks]
    np.testing.assert_allclose(forgetting(sigmas, moments), expected, rtol=1e-13)
    np.testing.assert_allclose(forgetting(sigmas, moments.trace(axis1=1, axis2=2)), expected, rtol=1e-13)
    batch = forgetting(np.stack([sigmas, 0.5 * sigmas]), moments)
    assert batch.shape == (2, 4, 4)
    np.testing.assert_allclose(batch[0], expected, rtol=1e-13)


@pytest.mark.parametrize("offset", [0.0, 0.3, -0.2, 1e-3])
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 3, 3), (2, 2, 4)])
def test_reversal_is_the_flow_of_the_weights(shape, offset):
    rng = np.random.default_rng(sum(shape))
    W1, W2 = balanced(rng, *shape, offset)
    times = np.array([0.0, 0.1, 0.7, 2.0])
    np.testing.assert_allclose(
        reversal(2 * times, W1, W2, tau=2), integrated(times, W1, W2, -W2 @ W1), atol=1e-11
    )


def test_a_zero_balanced_network_forgets_and_learns_nothing():
    rng = np.random.default_rng(1)
    W1, W2 = balanced(rng, 5, 3, 4, 0.0)
    Q = np.vstack([W1.T, W2])
    left, s, _ = np.linalg.svd(Q, full_matrices=False)
    t = 0.8
    expected = (left * s**2 / (2 * np.exp(t * s**2) - 1)) @ left.T
    np.testing.assert_allclose(reversal(t, W1, W2), expected, atol=1e-14)
    assert np.abs(reversal([50.0, 1e4, 1e6], W1, W2)).max(axis=(1, 2)).tolist() == pytest.approx(
        [0, 0, 0], abs=1e-6
    )


@pytest.mark.parametrize("offset", [1.0, 1e-5, 1e-12])
def test_any_other_balance_learns_the_reversed_task_in_the_time_that_many_digits_say(offset):
    y = 1.0
    x = np.sqrt(y * y + offset)
    times = np.array([0.0, 1.0, 5.0, 14.0, 30.0, 1e4])
    found = reversal(times, [[y]], [[x]])[:, 1, 0]
    with mp.workdps(60):
        a, w = mp.mpf(float(x)), mp.mpf(y)
        R, s, lam = (a * a + w * w) / 2, a * w, a * a - w * w
        plus, minus = lam / mp.sqrt(2 * R), 2 * s / mp.sqrt(2 * R)
        cos, sin = a / mp.sqrt(2 * R), w / mp.sqrt(2 * R)
        expected = []
        for t in map(mp.mpf, times):
            norm = 1 + plus**2 * mp.expm1(2 * R * t) / (2 * R) - minus**2 * mp.expm1(-2 * R * t) / (2 * R)
            up, down = plus * mp.exp(R * t), minus * mp.exp(-R * t)
            expected.append(float((up * cos + down * sin) * (-up * sin + down * cos) / norm))
    sensitivity = 4e-16 / offset
    np.testing.assert_allclose(found, expected, atol=1e-14 + sensitivity)
    assert found[-1] == pytest.approx(-x * y, rel=1e-14)


def test_the_shallow_network_solves_its_linear_equation_also_for_singular_inputs():
    rng = np.random.default_rng(2)
    W0, sigma, factor = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=(3, 2))
    xx = factor @ factor.T
    for t in (0.0, 0.4, 3.0):
        generator = np.block([[-xx, np.zeros((3, 2))], [sigma, np.zeros((2, 2))]])
        grown = expm(t * generator)
        expected = W0 @ expm(-t * xx) + grown[3:, :3]
        np.testing.assert_allclose(shallow(3 * t, W0, sigma, xx, tau=3), expected, atol=1e-13)


def test_the_shallow_network_reverses_without_delay():
    rng = np.random.default_rng(3)
    sigma, times = rng.normal(size=(5, 2, 4)), np.linspace(0, 3, 4)
    found = shallow(times, sigma, -sigma)
    assert found.shape == (5, 4, 2, 4)
    np.testing.assert_allclose(found, sigma[:, None] * (2 * np.exp(-times) - 1)[:, None, None], atol=1e-14)


def test_tensors_agree_with_arrays_and_are_differentiable():
    rng = np.random.default_rng(4)
    W1, W2 = balanced(rng, 2, 3, 2, 0.4)
    t = torch.tensor([0.2, 1.0], dtype=torch.float64)
    first, second = torch.tensor(W1, requires_grad=True), torch.tensor(W2, requires_grad=True)
    found = reversal(t, first, second)
    np.testing.assert_allclose(found.detach(), reversal([0.2, 1.0], W1, W2), atol=1e-14)
    found.sum().backward()
    assert first.grad.isfinite().all()
    task = torch.tensor(W2 @ W1, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: shallow(t, W2 @ W1, x), (task,))
    assert torch.autograd.gradcheck(lambda x: forgetting(torch.stack([x, 2 * x]), [40.0, 160.0]), (task,))
    assert forgetting(torch.zeros(2, 1, 1), [1.0, 2.0]).dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: forgetting([[[1.0]], [[3.0]]], [2.0, 2.0]),
            "second_moments must be .* it is not at index 1",
        ),
        (lambda: forgetting([[1.0]], [2.0]), "sigmas must be matrices"),
        (lambda: forgetting([[[1.0]]], [2.0, 2.0]), "second_moments must have one entry a task"),
        (
            lambda: reversal(1.0, [[1.0, 0.0], [0.0, 2.0]], np.eye(2)),
            r"W2\^T W2 - W1 W1\^T.*the imbalance is 1.5",
        ),
        (lambda: reversal(1.0, np.ones((3, 2)), np.ones((2, 2))), "must chain; W1 has 3 rows, W2 2 columns"),
        (lambda: reversal([1.0, -1.0], [[1.0]], [[1.0]]), "t must be .* it is not at index 1"),
        (lambda: shallow(1.0, [[1.0]], [[1.0]], [[-1.0]]), "sigma_xx must be positive semi-definite"),
        (lambda: shallow(1.0, [[1.0]], [[1.0, 2.0]]), "sigma_yx must be"),
        (lambda: shallow(1.0, [[1.0]], [[np.nan]]), "sigma_yx must be finite"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
