"""Relabelings of a learned task: those with a cycle of even length leave modes unlearned, one each."""

from itertools import permutations

import numpy as np
import pytest
import torch

from derivations.prior_knowledge import (
    learnable,
    missed_modes,
    network_function,
    reversal_like,
    separatrix_distance,
)


def learned(rng, size, outputs, hidden, values):
    """Zero-balanced weights that compute U diag(values) V^T: W1, W2, and their product."""
    frames = (np.linalg.qr(rng.normal(size=(rows, len(values))))[0] for rows in (size, outputs, hidden))
    V, U, R = frames
    W1, W2 = (R * np.sqrt(values)) @ V.T, (U * np.sqrt(values)) @ R.T
    return W1, W2, W2 @ W1


@pytest.mark.parametrize(("size", "outputs", "hidden"), [(3, 3, 3), (4, 4, 4), (4, 6, 5), (5, 5, 7)])
def test_every_relabeling_of_a_task_of_full_rank_misses_one_mode_for_each_even_cycle(size, outputs, hidden):
    W1, W2, sigma = learned(np.random.default_rng(size), size, outputs, hidden, np.linspace(2.0, 1.0, size))
    orders = np.array(list(permutations(range(size))))
    tasks = np.moveaxis(sigma[:, orders], 1, 0)
    assert tasks.shape == (len(orders), outputs, size)
    found = learnable(W1, W2, tasks)
    np.testing.assert_array_equal(size - found.rank, missed_modes(orders))
    np.testing.assert_array_equal(~found.learnable, reversal_like(orders))
    np.testing.assert_array_equal(separatrix_distance(W1, W2, tasks) < 1e-7, reversal_like(orders))
    assert 0 < reversal_like(orders).mean() < 1


def test_equal_singular_values_do_not_matter():
    W1, W2, sigma = learned(np.random.default_rng(1), 4, 4, 4, np.array([2.0, 2.0, 1.0, 1.0]))
    orders = np.array(list(permutations(range(4))))
    found = learnable(W1, W2, np.moveaxis(sigma[:, orders], 1, 0))
    np.testing.assert_array_equal(4 - found.rank, missed_modes(orders))


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [1, 2, 0, 3], [1, 2, 3, 0], [1, 0, 3, 2]])
def test_the_exact_flow_arrives_at_the_new_task_unless_the_relabeling_is_like_a_reversal(order):
    W1, W2, sigma = learned(np.random.default_rng(2), 4, 4, 4, np.array([2.0, 1.7, 1.3, 1.0]))
    last = network_function(60.0, W1, W2, sigma[:, order], check=False)
    arrived = np.linalg.norm(last - sigma[:, order]) < 1e-6
    assert arrived != bool(reversal_like(order))


def shared_dimension(order, rows):
    """The dimension of the x in the row space with P x = -x."""
    P = np.eye(len(order))[:, order]
    return rows.shape[1] - np.linalg.matrix_rank((np.eye(len(order)) + P) @ rows, tol=1e-9)


@pytest.mark.parametrize("bottleneck", [False, True])
def test_at_a_smaller_rank_only_what_the_row_space_contains_is_missed(bottleneck):
    """Of rank 2, with the difference of the first two items as one mode: by the task, or by the number of neurons."""
    V = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 1.0, -2.0]]).T
    V /= np.linalg.norm(V, axis=0)
    values = np.array([2.0, 1.0])
    W1, W2 = np.sqrt(values)[:, None] * V.T, np.eye(4)[:, :2] * np.sqrt(values)
    rest = np.linalg.svd(V.T)[2][2:]
    sigma = W2 @ W1 + (np.eye(4)[:, 2:] @ np.diag([0.5, 0.25]) @ rest if bottleneck else 0.0)
    orders = np.array(list(permutations(range(4))))
    found = learnable(W1, W2, np.moveaxis(sigma[:, orders], 1, 0))
    missed = np.array([shared_dimension(order, V) for order in orders])
    np.testing.assert_array_equal(2 - found.rank, missed)
    assert (missed <= missed_modes(orders)).all()
    assert (missed < missed_modes(orders)).any() and (missed > 0).any()


def test_another_balance_learns_every_relabeling():
    size = 3
    offset, values = 0.4, np.array([2.0, 1.5, 1.0])
    V = np.linalg.qr(np.random.default_rng(3).normal(size=(size, size)))[0]
    root = np.sqrt(values**2 + offset**2 / 4)
    W1, W2 = np.sqrt(root - offset / 2)[:, None] * V.T, np.diag(np.sqrt(root + offset / 2))
    assert reversal_like([1, 0, 2]) and learnable(W1, W2, (W2 @ W1)[:, [1, 0, 2]]).learnable


def test_a_permutation_and_its_inverse_agree_and_cycles_are_counted_by_their_lengths():
    rng = np.random.default_rng(5)
    orders = rng.permuted(np.tile(np.arange(9), (200, 1)), axis=1)
    np.testing.assert_array_equal(missed_modes(orders), missed_modes(np.argsort(orders, -1)))
    values = np.linalg.eigvals(np.eye(9)[orders])
    np.testing.assert_array_equal(missed_modes(orders), (np.abs(values + 1) < 1e-9).sum(-1))


def test_batches_and_tensors_give_the_same_answers():
    orders = torch.tensor([[[1, 0, 2], [1, 2, 0]], [[0, 1, 2], [0, 2, 1]]])
    found = reversal_like(orders)
    assert found.dtype == torch.bool and found.tolist() == [[True, False], [False, True]]
    assert missed_modes(orders).tolist() == missed_modes(orders.numpy()).tolist()
    assert not reversal_like([0])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ([0, 0, 2], ValueError, r"permutation must be the numbers 0 \.\. 2, each once$"),
        ([[0, 1], [1, 2]], ValueError, "each once; it is not at index 1"),
        ([1, 2, 3], ValueError, "each once"),
        ([], ValueError, "permutation must be a vector"),
        (3, ValueError, "permutation must be a vector"),
        ([0.0, 1.0], TypeError, "permutation must hold integers; its dtype is float64"),
        (torch.tensor([1.0, 0.0]), TypeError, "permutation must hold integers"),
    ],
)
def test_what_is_no_permutation_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        reversal_like(wrong)
