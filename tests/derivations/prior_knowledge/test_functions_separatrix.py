"""Starts that never learn their task: how they are found, where the flow ends, and when noise leads away."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from derivations.prior_knowledge import (
    learnable,
    network_function,
    qqt,
    reversal,
    separatrix_distance,
)
from tests.derivations.prior_knowledge.test_functions_flow import start
from tests.derivations.prior_knowledge.test_functions_tasks import balanced


@pytest.mark.parametrize("offset", [0.0, 0.3, -0.3])
@pytest.mark.parametrize("shape", [(3, 3, 3), (2, 4, 3), (2, 2, 4)])
def test_the_distance_is_the_smallest_change_after_which_the_overlaps_are_dependent(shape, offset):
    W1, W2, sigma = start(11, *shape, offset)
    distance = float(separatrix_distance(W1, W2, sigma))
    F = np.block([[-offset / 2 * np.eye(shape[1]), sigma.T], [sigma, offset / 2 * np.eye(shape[2])]])
    rates, axes = np.linalg.eigh(F)
    modes = min(shape)
    growing = axes[:, np.argsort(-rates)[:modes]]
    values = np.linalg.svd(np.hstack([W1, W2.T]) @ growing)[1]
    assert distance == pytest.approx(values[modes - 1], rel=1e-12)


@pytest.mark.parametrize("offset", [0.0, 0.5, -0.5])
@pytest.mark.parametrize("shape", [(2, 4, 3), (2, 3, 4), (1, 2, 2), (3, 3, 3), (2, 3, 2)])
def test_derivatives_of_the_distance_are_exact_also_at_zero_balance(shape, offset):
    W1, W2, sigma = (torch.tensor(x, requires_grad=True) for x in start(5, *shape, offset))

    def distance(*given):
        return separatrix_distance(*given, check=False)

    assert distance(W1, W2, sigma) > 1e-3
    assert torch.autograd.gradcheck(distance, (W1, W2, sigma))


@pytest.mark.parametrize("values", [[1.3, 0.5, 0.0], [1.3, 0.0, 0.0]])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_derivatives_of_the_distance_in_the_start_are_exact_for_tasks_that_lose_rank(values, offset):
    W1, W2 = (torch.tensor(x, requires_grad=True) for x in start(5, 3, 3, 3, offset)[:2])
    sigma = np.diag(values)
    assert separatrix_distance(W1, W2, sigma) > 1e-3
    assert torch.autograd.gradcheck(lambda *x: separatrix_distance(*x, sigma, check=False), (W1, W2))


def test_square_zero_balanced_starts_never_learn_a_task_of_the_other_sign_of_the_determinant():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W1, W2 = balanced(rng, 3 + seed % 2, 3, 3, 0.0)
        sigma = rng.normal(size=(3, 3))
        opposite = np.linalg.det(W2 @ W1 @ sigma) < 0
        assert (separatrix_distance(W1, W2, sigma) < 1e-14) == opposite
        assert bool(learnable(W1, W2, sigma).learnable) != opposite


def test_with_as_many_neurons_as_outputs_a_positive_balance_is_never_on_the_separatrix():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W1, W2 = balanced(rng, 3, 4, 3, 0.05)
        assert separatrix_distance(W1, W2, -W2 @ W1 + 0.1 * rng.normal(size=(3, 4))) > 1e-3


def test_reversal_is_the_case_in_which_all_overlaps_vanish():
    rng = np.random.default_rng(3)
    W1, W2 = balanced(rng, 4, 3, 5, 0.0)
    sigma, times = -W2 @ W1, np.array([0.0, 0.3, 2.0, 100.0, 1e6])
    assert separatrix_distance(W1, W2, sigma) < 1e-14
    with pytest.raises(ValueError, match="off the separatrix"):
        qqt(times, W1, W2, sigma)
    np.testing.assert_allclose(
        qqt(times, W1, W2, sigma, on_separatrix=True), reversal(times, W1, W2), atol=2e-14
    )
    found = learnable(W1, W2, sigma)
    assert not found.learnable and found.rank == 0
    assert found.excess_loss == pytest.approx((sigma**2).sum() / 2, rel=1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_on_a_separatrix_rounding_errors_never_grow(seed):
    rng = np.random.default_rng(seed)
    W1, W2 = balanced(rng, 3, 3, 3, 0.0)
    sigma = rng.normal(size=(3, 3))
    sigma[0] *= -np.sign(np.linalg.det(W2 @ W1 @ sigma))
    s = np.linalg.svd(sigma)[1]
    found = learnable(W1, W2, sigma)
    assert not found.learnable and found.rank == 2
    late = network_function([1e3 / s[2], 1e8], W1, W2, sigma, on_separatrix=True)
    np.testing.assert_allclose(late, np.stack([found.limit] * 2), atol=1e-11)


@pytest.mark.parametrize("missed", [0, 1, 2])
def test_one_reversed_mode_is_the_one_that_is_missed(missed):
    rng = np.random.default_rng(4)
    W1, W2 = balanced(rng, 3, 3, 4, 0.0)
    u, _, v = np.linalg.svd(W2 @ W1, full_matrices=False)
    signs, strong = np.where(np.arange(3) == missed, -1, 1), np.array([3.0, 2.0, 0.5])
    sigma, kept = (u * signs * strong) @ v, (u * (signs > 0) * strong) @ v
    found = learnable(W1, W2, sigma)
    assert not found.learnable and found.rank == 2
    np.testing.assert_allclose(found.limit, kept, atol=1e-14)
    assert found.excess_loss == pytest.approx(strong[missed] ** 2 / 2, rel=1e-13)
    late = network_function([200.0, 1e5], W1, W2, sigma, on_separatrix=True)
    np.testing.assert_allclose(late, np.stack([kept] * 2), atol=1e-13)


def test_a_bottleneck_that_holds_the_weaker_mode_keeps_it():
    W1, W2, sigma = np.array([[0.0, 1.0]]), np.array([[0.0], [1.0]]), np.diag([2.0, 1.0])
    found = learnable(W1, W2, sigma)
    assert not found.learnable and found.rank == 1
    np.testing.assert_allclose(found.limit, np.diag([0.0, 1.0]), atol=1e-15)
    assert found.excess_loss == 1.5
    assert found.escape_time == pytest.approx(np.log(2 / (np.sqrt(2) * 2.0**-52)), rel=1e-12)
    better = learnable(np.array([[1e-9, 1.0]]), np.array([[1e-9], [1.0]]), sigma)
    np.testing.assert_allclose(better.limit, np.diag([2.0, 0.0]), atol=1e-15)


def test_equal_singular_values_share_the_hidden_neurons_that_there_are():
    W = np.array([[0.6, 0.8]])
    found = learnable(W, W.T, np.eye(2))
    assert found.learnable and found.rank == 1 and found.escape_time == 0
    np.testing.assert_allclose(found.limit, W.T @ W, atol=1e-15)
    np.testing.assert_allclose(network_function(1e3, W, W.T, np.eye(2)), W.T @ W, atol=1e-14)


@pytest.mark.parametrize("noise", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("strong", [(1.0, 0.7), (3.0, 0.3)])
def test_the_escape_time_is_when_a_perturbed_start_has_lost_half_of_the_excess(noise, strong):
    sigma = -np.diag(strong)
    W1 = np.diag([1.1, 0.8])
    found = learnable(W1, W1, sigma, noise=noise)
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]]) @ np.linalg.inv(W1)
    turn *= noise * np.sqrt(2) * np.sqrt(2 * (W1**2).sum()) / np.linalg.norm(turn[:, 0])
    first, second = W1 + turn / 2, W1 - turn.T / 2
    gap = second.T @ second - first @ first.T
    assert np.abs(gap).max() < 1e-15
    times = np.linspace(0, 2 * float(found.escape_time), 4001)
    late = network_function(times, first, second, sigma, check=False)
    lost = ((late - sigma) ** 2).sum((-2, -1)) / 2
    gone = times[np.argmax(lost < found.excess_loss - strong[0] ** 2 / 4)]
    assert abs(gone - float(found.escape_time)) * strong[0] < 0.5


@pytest.mark.parametrize("other", [1.0, 100.0])
@pytest.mark.parametrize("size", [1.0, 0.01])
def test_noise_is_the_overlap_of_the_missed_mode_as_far_as_it_outlives_the_decay_of_the_weights(size, other):
    overlap, W1, s = 1e-9, size * np.diag([1.1, 0.8, 0.9]), np.array([3.0, 1.0, 0.9])
    skew = np.zeros((3, 3))
    skew[1, 0] = overlap * np.sqrt(2) * W1[0, 0]
    skew[2, 1] = other * skew[1, 0]
    turn = (skew - skew.T) @ np.linalg.inv(W1)
    first, second = W1 + turn / 2, W1 - turn.T / 2
    assert np.linalg.norm(first[:, 0] - second[0]) / np.sqrt(2) == pytest.approx(overlap, rel=1e-6)
    outlives = overlap / np.sqrt(1 + W1[1, 1] ** 2 / s[1])
    assert size == 1 or outlives == pytest.approx(overlap, rel=1e-3)
    found = learnable(W1, W1, -np.diag(s), noise=outlives / np.sqrt(2 * (W1**2).sum()))
    late = network_function(float(found.escape_time), first, second, -np.diag(s), check=False)
    assert late[0, 0] == pytest.approx(-s[0] / 2, rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gradient_descent_in_float64_leaves_the_saddle_of_a_reversal_at_the_escape_time(seed):
    rate = 0.02
    first, second = balanced(np.random.default_rng(seed), 3, 3, 3, 0.0)
    sigma = -second @ first
    found = learnable(first, second, sigma, tau=1 / rate)
    level = float(found.excess_loss) - np.linalg.norm(sigma, 2) ** 2 / 4
    steps, loss = 0, np.inf
    while loss > level and steps < 10_000:
        error = sigma - second @ first
        first, second = first + rate * second.T @ error, second + rate * error @ first.T
        steps, loss = steps + 1, (error**2).sum() / 2
    # Rounding is known up to a factor, to which the time adds a multiple of its logarithm.
    assert steps == pytest.approx(float(found.escape_time), rel=0.15)


@pytest.mark.parametrize("weakest", [1.0, 1e-3, 1e-6, 1e-8])
def test_a_weak_mode_hides_the_separatrix_only_as_far_as_its_gap_says_and_every_start_on_it_is_found(weakest):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W1, W2 = balanced(rng, 3, 3, 3, 0.0)
        u, _, v = np.linalg.svd(rng.normal(size=(3, 3)))
        sigma = (u * np.geomspace(1, weakest, 3)) @ v
        sigma[0] *= -np.sign(np.linalg.det(W2 @ W1 @ sigma))
        found = learnable(W1, W2, sigma)
        assert not found.learnable and found.rank == 2
        with pytest.raises(ValueError, match="off the separatrix"):
            qqt(1.0, W1, W2, sigma)
        late = network_function([1e3 / weakest, 1e12], W1, W2, sigma, on_separatrix=True)
        np.testing.assert_allclose(late, np.stack([found.limit] * 2), atol=1e-11)
        sigma[0] *= -1
        assert learnable(W1, W2, sigma).learnable
        assert qqt(1.0, W1, W2, sigma).shape == (6, 6)


@pytest.mark.parametrize("gap", [1e-6, 1e-9])
def test_two_nearly_equal_modes_and_one_neuron_are_told_apart_as_far_as_their_gap_allows(gap):
    sigma = np.diag([1.0, 1.0 - gap])
    for overlap, known in ((1e-1, True), (3e-15 / gap * 10, True), (1e-16 / gap, False), (0.0, False)):
        W1 = np.array([[overlap, 1.0]])
        assert bool(learnable(W1, W1.T, sigma).learnable) == known
        if not known:
            with pytest.raises(ValueError, match="off the separatrix"):
                qqt(1.0, W1, W1.T, sigma)


@pytest.mark.parametrize("imbalance", [1e-12, 1e-14])
def test_weights_that_are_balanced_to_fewer_digits_are_trusted_to_fewer_digits(imbalance):
    rng = np.random.default_rng(1)
    W1, W2 = balanced(rng, 2, 2, 4, 0.0)
    rough = W1 + imbalance * rng.normal(size=W1.shape)
    tilt = np.linalg.qr(np.eye(2) + 1e-12 * np.array([[0.0, 1.0], [-1.0, 0.0]]))[0]
    sigma = -W2 @ W1 @ (tilt * np.sign(np.diag(tilt)))
    assert bool(learnable(W1, W2, sigma).learnable) and separatrix_distance(W1, W2, sigma) < 5e-12
    assert bool(learnable(rough, W2, sigma).learnable) == (imbalance < 1e-13)


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_weights_whose_squares_underflow_are_judged_as_larger_ones_are(make):
    short = 2.0**-664
    for seed in range(6):
        rng = np.random.default_rng(seed)
        W1, W2 = balanced(rng, 3, 3, 4, 0.0)
        for sigma in (-W2 @ W1, rng.normal(size=(4, 3))):
            known = learnable(W1, W2, sigma)
            found = learnable(make(short * W1), make(short * W2), make(sigma))
            assert bool(found.learnable) == bool(known.learnable) and int(found.rank) == int(known.rank)
            np.testing.assert_allclose(found.limit, known.limit, atol=1e-14)
            distance = separatrix_distance(make(short * W1), make(short * W2), make(sigma)) / short
            np.testing.assert_allclose(distance, separatrix_distance(W1, W2, sigma), atol=1e-14)
        with pytest.raises(ValueError, match="must be lambda-balanced"):
            learnable(make(short * W1), make(short * W2 * 1.001), make(sigma))


def test_weights_of_zero_stay_there():
    zero, sigma = np.zeros((2, 2)), np.diag([2.0, 1.0])
    found = learnable(zero, zero, sigma)
    assert not found.learnable and found.escape_time == np.inf and found.rank == 0
    assert separatrix_distance(zero, zero, sigma) == 0
    assert np.abs(qqt(1e3, zero, zero, sigma, on_separatrix=True)).max() == 0
    assert separatrix_distance(np.eye(2), np.eye(2), zero) == np.inf


def test_batches_and_tensors_give_the_same_answers():
    weights = [start(seed, 3, 3, 3, 0.0) for seed in range(2)]
    W1, W2, sigma = (np.stack(x) for x in zip(*weights, strict=True))
    sigma[1, 0] *= -1
    found = learnable(torch.tensor(W1), torch.tensor(W2), torch.tensor(sigma), tau=2)
    assert found.learnable.tolist() == [True, False] and found.rank.tolist() == [3, 2]
    alone = learnable(W1[1], W2[1], sigma[1])
    assert float(found.escape_time[1]) == pytest.approx(2 * float(alone.escape_time), rel=0.01)
    np.testing.assert_allclose(found.limit[1], alone.limit, atol=1e-13)
    distance = separatrix_distance(torch.tensor(W1), torch.tensor(W2), torch.tensor(sigma))
    np.testing.assert_allclose(distance, separatrix_distance(W1, W2, sigma), atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: separatrix_distance(np.diag([1.0, 2.0]), np.eye(2), np.eye(2)), "the imbalance is 1.5"),
        (lambda: learnable([[1.0]], [[1.0]], [[1.0]], noise=0.0), "noise must be positive"),
        (lambda: learnable([[1.0]], [[1.0]], [[1.0]], noise=np.nan), "noise must be positive and finite"),
        (
            lambda: learnable([[1.0]], [[1.0]], [[1.0]], noise=[0.1, 0.2]),
            r"noise must be one number; its shape is \(2,\)",
        ),
        (lambda: learnable([[1.0]], [[1.0]], [[1.0]], tau=0.0), "tau must be positive"),
        (lambda: learnable([[1.0]], [[1.0]], [[np.nan]]), "sigma_yx must be finite"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("noise", ["a", 1j, object(), "1e-3"])
def test_noise_that_is_no_number_is_named(noise):
    with pytest.raises(TypeError, match="noise must"):
        learnable([[1.0]], [[1.0]], [[1.0]], noise=noise)


@pytest.mark.parametrize(
    "noise", [Fraction(1, 1000), np.float64(1e-3), torch.tensor(1e-3, dtype=torch.float64)]
)
def test_noise_is_a_number_of_any_kind(noise):
    found = learnable([[1.0]], [[1.0]], [[-1.0]], noise=noise)
    assert float(found.escape_time) == pytest.approx(np.log(1000), rel=1e-12)
