"""The exact flow from every lambda-balanced start: against integration, many digits, and its own properties."""

import mpmath as mp
import numpy as np
import pytest
import torch

from derivations.prior_knowledge import (
    learnable,
    network_function,
    ntk,
    qqt,
    rsm_input,
    rsm_output,
    separatrix_distance,
)
from tests.derivations.prior_knowledge.test_functions_tasks import (
    STEPPED,
    balanced,
    integrated,
    slopes,
    stepped,
    turned,
    whitened_data,
)


def start(seed, hidden, inputs, outputs, offset, rank=None):
    """A start off the separatrix, and a task."""
    rng = np.random.default_rng(seed)
    W1, W2 = balanced(rng, hidden, inputs, outputs, offset)
    rank = min(inputs, outputs) if rank is None else rank
    sigma = rng.normal(size=(outputs, rank)) @ rng.normal(size=(rank, inputs))
    if separatrix_distance(W1, W2, sigma) < 1e-10:
        sigma = sigma * np.where(np.arange(outputs) == 0, -1, 1)[:, None]
    return W1, W2, sigma


def exact(t, W1, W2, sigma, digits, offset=None):
    """e^(tF) Q0 (1 + Q0^T int_0^t e^(2sF) ds Q0)^-1 Q0^T e^(tF) at many digits, as it stands."""
    with mp.workdps(digits):
        hidden, inputs, outputs = len(W1), W1.shape[1], len(W2)
        Z = mp.matrix(np.hstack([W1, W2.T]).tolist())
        gap = mp.matrix(W2.T.tolist()) * mp.matrix(W2.tolist()) - mp.matrix(W1.tolist()) * mp.matrix(
            W1.T.tolist()
        )
        offset = sum(gap[i, i] for i in range(hidden)) / hidden if offset is None else mp.mpf(offset)
        F = mp.zeros(inputs + outputs)
        for i in range(outputs):
            F[inputs + i, inputs + i] = offset / 2
            for j in range(inputs):
                F[inputs + i, j] = F[j, inputs + i] = mp.mpf(float(sigma[i, j]))
        for j in range(inputs):
            F[j, j] = -offset / 2
        rates, axes = mp.eigsy(F)
        t = mp.mpf(float(t))
        grown = mp.diag([mp.expm1(2 * r * t) / (2 * r) if abs(r) > 1e-20 else t for r in rates])
        P = Z * axes
        middle = (mp.eye(hidden) + P * grown * P.T) ** -1
        right = P * mp.diag([mp.exp(r * t) for r in rates]) * axes.T
        return np.array((right.T * middle * right).tolist(), dtype=float)


CASES = [
    (1, 1, 1, 0.0),
    (3, 3, 3, 0.0),
    (3, 3, 3, 0.4),
    (3, 3, 3, -1e-3),
    (2, 4, 3, 0.0),
    (2, 3, 4, 0.5),
    (2, 4, 3, -0.5),
    (6, 3, 4, 0.0),
    (4, 5, 4, 2.0),
]


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_flow_of_the_weights_also_in_bottlenecks_and_for_rank_deficient_tasks(case):
    times = np.array([0.0, 0.1, 0.6, 2.0, 5.0])
    for rank in {1, min(case[1:3])}:
        weights = start(sum(case[:3]), *case, rank=rank)
        np.testing.assert_allclose(qqt(3 * times, *weights, tau=3), integrated(times, *weights), atol=3e-11)


@pytest.mark.parametrize("case", CASES)
def test_it_is_exact_to_rounding_from_the_start_to_late_times(case):
    W1, W2, sigma = start(1 + sum(case[:3]), *case)
    sigma = sigma / np.linalg.norm(sigma, 2)
    size = np.sqrt((W1**2).sum() + (W2**2).sum())
    condition = size / float(separatrix_distance(W1, W2, sigma))
    for t, digits in ((0.0, 40), (0.3, 40), (20.0, 80), (200.0, 400)):
        expected = exact(t, W1, W2, sigma, digits)
        np.testing.assert_allclose(qqt(t, W1, W2, sigma), expected, atol=1e-14 * condition * size**2)


@pytest.mark.parametrize("nearness", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("case", [(2, 2, 2, 0.0), (2, 2, 4, 0.0), (2, 4, 3, 0.0), (2, 3, 3, 1e-9)])
def test_near_a_separatrix_no_more_digits_are_lost_than_the_distance_says(case, nearness):
    rng = np.random.default_rng(sum(case[:3]))
    inputs = case[1]
    W1, W2 = balanced(rng, *case)
    u, _, v = np.linalg.svd(-W2 @ W1, full_matrices=False)
    twist = np.linalg.qr(np.eye(inputs) + nearness * rng.normal(size=(inputs, inputs)))[0]
    sigma = (u * np.linspace(1, 0.6, u.shape[1])) @ v @ (twist * np.sign(np.diag(twist)))
    size = np.sqrt((W1**2).sum() + (W2**2).sum())
    loss = size / float(separatrix_distance(W1, W2, sigma))
    assert loss > 0.05 / nearness
    for t in (0.5, 5.0, 20.0, 40.0, 80.0):
        found, expected = qqt(t, W1, W2, sigma), exact(t, W1, W2, sigma, 120)
        np.testing.assert_allclose(found, expected, atol=3e-15 * loss * size**2)


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e2])
def test_small_and_large_starts_of_uneven_strength_keep_their_digits(scale):
    rng = np.random.default_rng(6)
    strengths = scale * np.array([1.0, 1e-3, 1e-5])
    turn, first, second = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (3, 4, 5))
    W1, W2 = turn @ (strengths[:, None] * first[:3]), (turn @ (strengths[:, None] * second[:3])).T
    u, _, v = np.linalg.svd(rng.normal(size=(5, 4)), full_matrices=False)
    sigma = (u * [1.0, 0.9, 0.5, 0.0]) @ v
    loss = np.linalg.norm(strengths) / float(separatrix_distance(W1, W2, sigma))
    for t in (0.0, 1.0, 10.0, 25.0, 60.0):
        found, expected = qqt(t, W1, W2, sigma), exact(t, W1, W2, sigma, 120)
        np.testing.assert_allclose(found, expected, atol=1e-15 * loss * np.abs(expected).max())


def test_a_batch_may_hold_starts_of_every_kind():
    eye, uneven = np.eye(2), np.diag([1.0, 1e-5])
    W, sigma = np.stack([eye, eye, uneven]), np.stack([eye, np.diag([2.0, -1.0]), np.diag([1.0, 2.0])])
    times = np.array([0.0, 2.0, 300.0])
    whole = qqt(times, W, W, sigma, on_separatrix=True)
    for k in range(3):
        np.testing.assert_allclose(whole[k], qqt(times, W[k], W[k], sigma[k], on_separatrix=True), atol=1e-15)
    np.testing.assert_allclose(whole[1, -1, 2:, :2], np.diag([2.0, 0.0]), atol=1e-15)
    np.testing.assert_allclose(whole[2, -1, 2:, :2], np.diag([1.0, 2.0]), atol=1e-14)
    tensor = qqt(torch.tensor(times), *map(torch.tensor, (W, W, sigma)), on_separatrix=True)
    np.testing.assert_allclose(tensor, whole, atol=1e-14)


def test_the_last_state_is_that_of_the_limit_for_times_of_any_length():
    for case in CASES:
        W1, W2, sigma = start(2 + sum(case[:3]), *case)
        found = learnable(W1, W2, sigma)
        assert found.learnable
        u, s, v = np.linalg.svd(sigma)
        rank = min(case[0], len(s))
        np.testing.assert_allclose(found.limit, (u[:, :rank] * s[:rank]) @ v[:rank], atol=1e-13)
        late = network_function([1e5 / s[rank - 1], 1e9], W1, W2, sigma)
        np.testing.assert_allclose(late, np.stack([found.limit] * 2), atol=1e-12 * s[0])


@pytest.mark.parametrize("case", CASES)
def test_many_times_at_once_are_those_of_single_calls_also_where_nothing_moves_any_more(case):
    W1, W2, sigma = start(2 + sum(case[:3]), *case)
    times = np.concatenate([[1e5], np.geomspace(0.1, 1e4, 60), [0.0]])
    single = np.stack([qqt(t, W1, W2, sigma) for t in times])
    np.testing.assert_allclose(qqt(times, W1, W2, sigma), single, atol=1e-14 * np.abs(single).max())
    tensor = qqt(torch.tensor(times), *map(torch.tensor, (W1, W2, sigma)))
    np.testing.assert_allclose(tensor, single, atol=1e-13 * np.abs(single).max())
    assert qqt([], W1, W2, sigma).shape == (0, case[1] + case[2], case[1] + case[2])


def test_it_starts_where_it_starts_and_is_a_semigroup():
    W1, W2, sigma = start(5, 2, 4, 3, 0.3)
    Q = np.vstack([W1.T, W2])
    np.testing.assert_allclose(qqt(0.0, W1, W2, sigma), Q @ Q.T, atol=1e-14)
    first = qqt(0.7, W1, W2, sigma)
    values, axes = np.linalg.eigh(first)
    middle = np.sqrt(values[-2:])[:, None] * axes[:, -2:].T
    later = qqt(1.1, middle[:, :4], middle[:, 4:].T, sigma)
    np.testing.assert_allclose(later, qqt(1.8, W1, W2, sigma), atol=1e-13)


def test_batches_of_starts_tasks_and_times_are_those_of_single_calls():
    weights = [start(seed, 2, 3, 2, 0.2 * seed) for seed in range(3)]
    W1, W2, sigma = (np.stack(x) for x in zip(*weights, strict=True))
    times = np.linspace(0, 3, 5)
    whole = qqt(times, W1, W2, sigma)
    assert whole.shape == (3, 5, 5, 5)
    for k, single in enumerate(weights):
        np.testing.assert_allclose(whole[k], qqt(times, *single), atol=1e-14)
        np.testing.assert_allclose(whole[k, 2], qqt(times[2], *single), atol=1e-14)
    np.testing.assert_allclose(network_function(times, W1, W2, sigma), whole[:, :, 3:, :3], atol=0)


def test_kernel_and_similarities_are_those_of_the_network():
    rng = np.random.default_rng(7)
    W1, W2, sigma = start(7, 2, 3, 4, 0.5)
    X, Y = whitened_data(rng, 3, 4, 5)
    np.testing.assert_allclose(rsm_input(0.0, W1, W2, sigma, X), (W1 @ X).T @ W1 @ X, atol=1e-13)
    code = np.linalg.pinv(W2) @ Y
    np.testing.assert_allclose(rsm_output(0.0, W1, W2, sigma, Y), code.T @ code, atol=1e-13)
    outputs = torch.func.jacrev(lambda a, b: (b @ a @ torch.tensor(X)).reshape(-1), argnums=(0, 1))
    J = np.hstack([x.reshape(20, -1).numpy() for x in outputs(torch.tensor(W1), torch.tensor(W2))])
    np.testing.assert_allclose(ntk(0.0, W1, W2, sigma, X), J @ J.T, atol=1e-13)
    times = np.array([0.0, 1.0])
    state, K = qqt(times, W1, W2, sigma), ntk(times, W1, W2, sigma, X)
    assert K.shape == (2, 20, 20)
    expected = np.kron(np.eye(4), X.T @ state[1, :3, :3] @ X) + np.kron(state[1, 3:, 3:], X.T @ X)
    np.testing.assert_allclose(K[1], expected, atol=1e-12)
    np.testing.assert_allclose(rsm_input(times, W1, W2, sigma, X)[1], X.T @ state[1, :3, :3] @ X, atol=1e-12)


def test_after_learning_the_output_similarity_is_that_of_what_is_learned():
    W1, W2, sigma = start(8, 5, 3, 3, 0.0)
    u, s, _ = np.linalg.svd(sigma)
    Y = sigma @ whitened_data(np.random.default_rng(0), 3, 3, 6)[0]
    expected = Y.T @ (u / s) @ u.T @ Y
    np.testing.assert_allclose(rsm_output(1e4, W1, W2, sigma, Y), expected, atol=1e-12)


def test_tensors_agree_with_arrays_in_both_precisions_and_are_differentiable():
    W1, W2, sigma = start(9, 2, 3, 3, 0.4)
    given = [torch.tensor(x, requires_grad=True) for x in (W1, W2, sigma)]
    t = torch.tensor([0.2, 3.0], dtype=torch.float64)
    found = qqt(t, *given)
    np.testing.assert_allclose(found.detach(), qqt(t.numpy(), W1, W2, sigma), atol=1e-13)
    step = 1e-6 * np.random.default_rng(0).normal(size=sigma.shape)
    found[..., 3:, :3].sum().backward()
    low, high = (qqt(t.numpy(), W1, W2, sigma + sign * step)[..., 3:, :3].sum() for sign in (-1, 1))
    assert (given[2].grad.numpy() * step).sum() == pytest.approx((high - low) / 2, rel=1e-6)
    single = qqt(torch.tensor([0.2, 3.0]), *(torch.tensor(x, dtype=torch.float32) for x in (W1, W2, sigma)))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single, found.detach(), atol=2e-5)
    mapped = torch.func.vmap(lambda w: network_function(1.0, W1, W2, w))(torch.tensor(sigma)[None])
    np.testing.assert_allclose(mapped[0], network_function(1.0, W1, W2, sigma), atol=1e-13)


ONE = [[1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: qqt(1.0, np.diag([1.0, 2.0]), np.eye(2), np.eye(2)), r"W2\^T W2 - W1 W1\^T = lambda I"),
        (lambda: qqt(1.0, np.diag([1.0, 2.0]), np.eye(2), np.eye(2)), r"the imbalance is 1.5"),
        (lambda: qqt(-1.0, ONE, ONE, ONE), "t must be finite and non-negative"),
        (lambda: qqt(1.0, ONE, ONE, ONE, tau=-1), "tau must be positive"),
        (lambda: qqt(1.0, ONE, ONE, [[1.0, 2.0]]), r"sigma_yx must be \(1, 1\), outputs by inputs"),
        (lambda: qqt(1.0, ONE, ONE, [[np.inf]]), "sigma_yx must be finite"),
        (lambda: qqt(1.0, ONE, [ONE, [[-1.0]]], ONE), "off the separatrix .* it is not at index 1"),
        (lambda: ntk(1.0, ONE, ONE, ONE, X=[[2.0, 1.0]]), "X must be whitened"),
        (lambda: rsm_input(1.0, ONE, ONE, ONE, X=np.eye(2)), "X must have 1 rows"),
        (lambda: rsm_output(1.0, ONE, ONE, ONE, Y=np.eye(2)), "Y must have 1 rows"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_two_threads_in_any_order_of_times_fill_the_same_array(order, monkeypatch):
    members = [start(seed, 6, 7, 6, 0.0) for seed in range(40)]
    W1, W2, sigma = (np.stack(x) for x in zip(*members, strict=True))
    times = np.geomspace(0.01, 20, 700)[order]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    expected = qqt(times, W1, W2, sigma)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    np.testing.assert_array_equal(qqt(times, W1, W2, sigma), expected)
    np.testing.assert_allclose(expected, expected.swapaxes(-1, -2), atol=1e-14)


def test_parts_of_the_state_are_those_of_the_whole_for_every_kind_of_start():
    starts = [start(3, 3, 3, 4, 0.0), start(4, 3, 3, 4, 0.0)]
    W1, W2, sigma = (np.stack(x) for x in zip(*starts, strict=True))
    W1, W2, sigma = (np.concatenate((x, y[:1])) for x, y in ((W1, W1), (W2, W2), (sigma, -W2 @ W1)))
    times = [0.3, 2.0, 500.0]
    whole = qqt(times, W1, W2, sigma, on_separatrix=True)
    part = network_function(times, W1, W2, sigma, on_separatrix=True)
    np.testing.assert_allclose(part, whole[..., 3:, :3], atol=1e-14)
    X = np.sqrt(3) * np.eye(3)
    similar = rsm_input(times, W1, W2, sigma, X, on_separatrix=True)
    np.testing.assert_allclose(similar, 3 * whole[..., :3, :3], atol=1e-13)


def extreme(seed, shape, offset, scale, values):
    """A start with weights of that scale, and a task with these singular values."""
    rng = np.random.default_rng(seed)
    hidden, inputs, outputs = shape
    turn, first, second = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in shape)
    squares = scale**2 * rng.uniform(0.5, 2, hidden) * (np.arange(hidden) < min(inputs, outputs))
    low, high = np.sqrt(squares + max(-offset, 0)), np.sqrt(squares + max(offset, 0))
    W1 = turn @ (low[:, None] * np.eye(hidden, inputs) @ first)
    W2 = (turn @ (high[:, None] * np.eye(hidden, outputs) @ second)).T
    u, _, v = np.linalg.svd(rng.normal(size=(outputs, inputs)), full_matrices=False)
    sigma = (u * values) @ v
    if separatrix_distance(W1, W2, sigma) < 1e-10 * scale:
        sigma = sigma * np.where(np.arange(outputs) == 0, -1, 1)[:, None]
    return W1, W2, sigma


EXTREMES = [
    ((1, 1, 1), 0.0, 1e-8, [1.0]),
    ((1, 3, 2), 0.0, 1e-8, [1.0, 0.5]),
    ((2, 2, 2), 0.0, 1e4, [1.0, 0.3]),
    ((2, 3, 2), 0.0, 1.0, [1.0, 1 - 1e-9]),
    ((1, 3, 3), 0.0, 1.0, [1.0, 1.0, 0.0]),
    ((2, 2, 3), 1e6, 1.0, [1.0, 0.5]),
    ((2, 3, 2), -1e6, 1e2, [3.0, 0.5]),
    ((3, 2, 2), 0.0, 1e-4, [1e3, 1.0]),
    ((2, 2, 2), 0.0, 1.0, [0.0, 0.0]),
]


@pytest.mark.parametrize("case", EXTREMES)
def test_extreme_weights_balances_and_tasks_at_times_of_any_length(case):
    shape, offset, scale, values = case
    W1, W2, sigma = extreme(sum(shape), shape, offset, scale, values)
    size, strength = np.sqrt((W1**2).sum() + (W2**2).sum()), values[0] or 1.0
    rates = np.hypot(strength, offset / 2)
    loss = max(1.0, size / float(separatrix_distance(W1, W2, sigma)))
    whole = qqt(np.array([0.0, 0.3, 5.0, 100.0, 1e4]) / rates, W1, W2, sigma)
    for t, found in zip(np.array([0.0, 0.3, 5.0, 100.0, 1e4]) / rates, whole, strict=True):
        expected = exact(t, W1, W2, sigma, int(80 + 0.9 * t * rates), offset)
        # Weights that are balanced to rounding leave |Z|^2 roundings of the balance, which time multiplies.
        tolerance = 1e-14 * loss * (1 + 0.1 * size**2 * t + 1e-2 * t * rates)
        assert np.abs(found - expected).max() <= min(tolerance, 1e-6) * np.abs(expected).max()
        single = qqt(t, W1, W2, sigma)
        np.testing.assert_allclose(single, found, rtol=0, atol=2 * tolerance * np.abs(expected).max())
        tensor = qqt(*(torch.tensor(x) for x in (t, W1, W2, sigma))).numpy()
        np.testing.assert_allclose(tensor, found, rtol=0, atol=2 * tolerance * np.abs(expected).max())


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e2])
def test_relative_error_1e_12_far_from_a_separatrix_until_ten_thousand_time_constants(scale):
    for seed, shape in ((0, (2, 2, 2)), (5, (3, 4, 3)), (2, (2, 4, 3)), (3, (4, 3, 3))):
        W1, W2, sigma = extreme(seed, shape, 0.0, scale, np.linspace(1, 0.5, min(shape[1:])))
        size = np.sqrt((W1**2).sum() + (W2**2).sum())
        assert separatrix_distance(W1, W2, sigma) > 0.05 * size
        for t in (0.7, 30.0, 1e4):
            expected = exact(t, W1, W2, sigma, int(80 + 0.9 * t), 0.0)
            error = np.abs(qqt(t, W1, W2, sigma) - expected).max()
            assert error <= 1e-12 * max(1.0, 1e-2 * size**2) * np.abs(expected).max()


@pytest.mark.parametrize("nearness", [1e-10, 1e-12, 1e-13])
def test_floats_close_to_a_separatrix_lose_what_the_distance_says_and_no_more(nearness):
    seen = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        W1, W2 = balanced(rng, 2, 2, 2, 0.0)
        u, _, v = np.linalg.svd(-W2 @ W1)
        sigma = (u * [1.0, 0.6]) @ v @ (np.eye(2) + nearness * np.array([[0.0, 1.0], [-1.0, 0.0]]))
        size = np.sqrt((W1**2).sum() + (W2**2).sum())
        distance = float(separatrix_distance(W1, W2, sigma)) / size
        for t in (5.0, 20.0, 35.0, 50.0, 200.0):
            try:
                found = qqt(t, W1, W2, sigma)
            except ValueError as error:
                assert "off the separatrix" in str(error) and distance < 2e-14
                continue
            seen += 1
            expected = exact(t, W1, W2, sigma, 250)
            assert np.abs(found - expected).max() <= 4e-16 / distance * np.abs(expected).max()
    assert seen >= 15


@pytest.mark.parametrize("case", [(2, 2, 2, 0.0), (1, 2, 3, 0.0), (2, 2, 3, 0.5), (2, 3, 2, -0.5)])
def test_gradients_along_balanced_starts_are_those_of_differences_also_late_and_in_bottlenecks(case):
    hidden, inputs, outputs, offset = case
    rng = np.random.default_rng(sum(case[:3]))
    sizes = (hidden, inputs, outputs)

    def state(t, squares, sigma, *skews):
        turn, first, second = (torch.matrix_exp(x - x.T) for x in skews)
        low = torch.sqrt(squares + max(-offset, 0)) * torch.eye(inputs, hidden)
        high = torch.sqrt(squares + max(offset, 0)) * torch.eye(outputs, hidden)
        return qqt(t, turn @ low.T @ first, second @ high @ turn.T, sigma)

    given = [rng.uniform(0.5, 2, hidden), rng.normal(size=(outputs, inputs))]
    given += [rng.normal(size=(n, n)) for n in sizes]
    # Skew matrices give turns of determinant 1, so this keeps off the separatrix of square zero-balanced starts.
    if inputs == outputs:
        given[1][0] *= np.sign(np.linalg.det(given[1]))
    given = [torch.tensor(x, requires_grad=True) for x in given]
    for t in (0.4, 3.0, 30.0):
        moment = torch.tensor(t, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(state, (moment, *given), atol=1e-6, rtol=1e-5)


def parameters(rng, shape, *others):
    """What `turned` and then the task take, as tensors that ask for a gradient."""
    given = [
        rng.uniform(0.5, 2, shape[0]),
        *others[:1],
        *(rng.normal(size=(n, n)) for n in shape),
        *others[1:],
    ]
    return [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in given]


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 3, 3), (2, 3, 4), (1, 3, 2)])
def test_derivatives_are_those_of_the_weights_also_across_zero_balance(shape):
    rng = np.random.default_rng(1)
    sigma = rng.normal(size=(shape[2], shape[1]))
    if shape[1] == shape[2]:
        sigma[0] *= np.sign(np.linalg.det(sigma))
    given = parameters(rng, shape, 0.0, sigma)
    for t in (0.3, 1.0):
        W1, W2 = turned(*given[:-1])
        found, expected = (flow(t, W1, W2, given[-1]) for flow in (qqt, stepped))
        np.testing.assert_allclose(slopes(found, given), slopes(expected, given), **STEPPED)


@pytest.mark.parametrize("offset", [0.75, 0.0])
@pytest.mark.parametrize("values", [[1.3, 0.5, 0.0], [1.3, 0.0, 0.0], [0.0, 0.0, 0.0]])
def test_derivatives_in_the_start_are_those_of_the_weights_for_tasks_that_lose_rank(values, offset):
    given = parameters(np.random.default_rng(4), (3, 3, 3), offset)
    W1, W2 = turned(*given)
    task = torch.diag(torch.tensor(values, dtype=torch.float64))
    found, expected = (flow(0.6, W1, W2, task) for flow in (qqt, stepped))
    np.testing.assert_allclose(slopes(found, given), slopes(expected, given), **STEPPED)


@pytest.mark.parametrize("offset", [0.75, -0.4])
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 3, 3), (1, 2, 2)])
def test_derivatives_in_a_square_task_are_those_of_the_weights_where_it_loses_one_rank(shape, offset):
    rng = np.random.default_rng(5)
    sigma = rng.normal(size=(shape[2], shape[1] - 1)) @ rng.normal(size=(shape[1] - 1, shape[1]))
    given = parameters(rng, shape, offset, sigma)
    W1, W2 = turned(*given[:-1])
    found, expected = (flow(0.6, W1, W2, given[-1]) for flow in (qqt, stepped))
    np.testing.assert_allclose(slopes(found, given), slopes(expected, given), **STEPPED)


@pytest.mark.parametrize("missed", [1, 2])
def test_derivatives_on_a_separatrix_are_those_of_the_weights_along_it(missed):
    rng = np.random.default_rng(6)
    given = parameters(rng, (2, 2, 3))
    hidden, first, second = (torch.matrix_exp(x - x.T) for x in given[1:])
    root = torch.diag(torch.sqrt(given[0]))
    W1, W2 = hidden @ root @ first, second[:, :2] @ root @ hidden.T
    signs = torch.tensor([-1.0 if i < missed else 1.0 for i in range(2)], dtype=torch.float64)
    sigma = second[:, :2] @ torch.diag(signs * torch.tensor([0.6, 1.1])) @ first
    for t in (0.3, 1.0):
        found = qqt(t, W1, W2, sigma, on_separatrix=True)
        expected = stepped(t, W1, W2, sigma)
        np.testing.assert_allclose(slopes(found, given), slopes(expected, given), **STEPPED)
