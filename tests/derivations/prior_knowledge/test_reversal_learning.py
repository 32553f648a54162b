"""Reversal learning: what gradient descent in floating point does, and which revisions of a tree are reversals."""

from __future__ import annotations

import numpy as np
import pytest


def descend(W1, W2, task, steps, eta=0.05):
    for _ in range(steps):
        fit = task - W2 @ W1
        W1, W2 = W1 + eta * (W2.T @ fit), W2 + eta * (fit @ W1.T)
    return W1, W2


def test_rounding_that_treats_both_layers_alike_does_not_lead_one_mode_off_the_separatrix():
    W1, W2 = descend(np.array([[1.3]]), np.array([[-1.3]]), np.array([[1.7]]), 20_000)
    assert W1[0, 0] == -W2[0, 0]
    assert abs(W1[0, 0]) < 1e-100


def test_rounding_leads_dense_weights_off_the_separatrix():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    task = U @ np.diag([2.0, 1.5, 1.0]) @ V.T
    A = rng.normal(size=(3, 3))
    early = descend(A @ V.T, -U @ A.T, task, 200)
    late = descend(*early, task, 3_000)
    assert np.abs(early[1] @ early[0]).max() < 1e-6
    np.testing.assert_allclose(late[1] @ late[0], task, atol=1e-9)


def tree():
    """Eight items and the eight modes of a binary tree with three levels: items in a row."""
    one, two = np.array([[1, 1], [1, -1]]) / np.sqrt(2), np.array([1, 1]) / np.sqrt(2)
    rows = [np.kron(np.kron(one[k], two), two) for k in (0, 1)]
    rows += [np.kron(np.eye(2)[k], np.kron(one[1], two)) for k in (0, 1)]
    rows += [np.kron(np.eye(4)[k], one[1]) for k in range(4)]
    return np.array(rows).T


@pytest.mark.parametrize(
    ("order", "kernel"),
    [
        ([1, 0, 2, 3, 4, 5, 6, 7], 1),
        ([2, 3, 0, 1, 4, 5, 6, 7], 2),
        ([4, 5, 6, 7, 0, 1, 2, 3], 4),
        ([1, 2, 0, 3, 4, 5, 6, 7], 0),
        ([1, 2, 3, 0, 4, 5, 6, 7], 1),
    ],
    ids=["two fishes", "two groups", "two kingdoms", "a cycle of three", "a cycle of four"],
)
def test_swaps_on_every_level_of_a_tree_make_the_overlap_singular(order, kernel):
    V, strengths = tree(), np.diag([8.0, 6.0, 4.0, 4.0, 2.0, 2.0, 2.0, 2.0])
    learned = strengths @ V.T
    left, _, right = np.linalg.svd(learned)
    new_left, _, new_right = np.linalg.svd(learned @ np.eye(8)[order])
    overlap = left.T @ new_left + right @ new_right.T
    assert np.sum(np.linalg.svd(overlap, compute_uv=False) < 1e-9) == kernel
