"""Elimination in many small matrices at once: against LAPACK, where rows must be exchanged, and where it fails."""

import numpy as np
import pytest
import torch

from derivations.wide_linear.evaluators import elimination
from symdyn.arrays.linalg import first_last, last_first


@pytest.fixture(autouse=True)
def quiet():
    """As the functions are used: NaN and infinity are results, not warnings."""
    with np.errstate(all="ignore"):
        yield


def stack(size, seed, batch=(3,), times=40):
    """Random matrices (..., T, n, n), and right-hand sides (..., n, n) that are one for all times."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*batch, times, size, size)), rng.normal(size=(*batch, size, size))


@pytest.mark.parametrize("size", [1, 2, 5, 8, 30])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_the_solution_solves_the_equations(size, batch):
    a, b = stack(size, size, batch)
    x = last_first(elimination.solve(np, first_last(a), b))
    residue = np.abs(a @ x - b[..., None, :, :]).max((-2, -1))
    scale = np.abs(a).max((-2, -1)) * np.abs(x).max((-2, -1))
    assert (residue <= 50 * size * np.finfo(float).eps * scale).all()


def test_rows_are_exchanged_where_a_pivot_is_small():
    small = np.array([1.0, 1e-3, 1e-9, 1e-17, 0.0])
    a = np.zeros((2, 2, 5))
    a[0, 0], a[0, 1], a[1, 0], a[1, 1] = small, 1.0, 1.0, 2.0
    x = elimination.solve(np, a, np.array([[1.0], [3.0]]))
    determinant = 2 * small - 1
    np.testing.assert_allclose(x[0, 0], (2.0 - 3.0) / determinant, rtol=1e-15)
    np.testing.assert_allclose(x[1, 0], (3 * small - 1.0) / determinant, rtol=1e-15)


def test_a_singular_matrix_is_nan_and_its_neighbours_are_not():
    a = first_last(
        np.stack(
            [np.eye(3), np.ones((3, 3)), np.diag([1.0, 0.0, 2.0]), np.diag([1.0, 2.0, 0.0]), 2 * np.eye(3)]
        )
    )
    x = elimination.solve(np, a, np.eye(3))
    np.testing.assert_array_equal(np.isnan(x).all((0, 1)), [False, True, True, True, False])
    np.testing.assert_array_equal(x[..., 0], np.eye(3))
    np.testing.assert_array_equal(x[..., 4], np.eye(3) / 2)


@pytest.mark.parametrize("size", [1, 2, 8, 30])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_the_congruence_is_symmetric_and_does_not_see_the_scale_of_the_rows(size, batch):
    a, _ = stack(size, size + 1, batch)
    h, m = a @ a.swapaxes(-1, -2) + np.eye(size), stack(size, size + 2, batch)[0][..., :2]
    expected = m.swapaxes(-1, -2) @ np.linalg.solve(h, m)
    scale = np.geomspace(1.0, 1e-120, size)
    for rows in (np.ones(size), scale):
        scaled = h * rows[:, None] * rows, m * rows[:, None]
        found = elimination.congruence(np, *map(first_last, scaled))
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(found, found.swapaxes(-1, -2), rtol=1e-15, atol=1e-300)


def test_a_row_lost_to_underflow_leaves_the_others_alone():
    h = np.array([[2.0, 0.0], [0.0, 0.0]])[..., None]
    found = elimination.congruence(np, h, np.array([[1.0, 3.0], [0.0, 1e-170]])[..., None])
    np.testing.assert_allclose(found, [[[0.5, 1.5], [1.5, 4.5]]], rtol=1e-15)


def test_torch_gives_the_same():
    a, b = stack(4, 7)
    h, m = first_last(a @ a.swapaxes(-1, -2) + np.eye(4)), first_last(a)
    pairs = [(elimination.solve, (first_last(a), b)), (elimination.congruence, (h, m))]
    for function, arrays in pairs:
        mine, theirs = function(np, *arrays), function(torch, *map(torch.tensor, arrays))
        np.testing.assert_allclose(theirs.numpy(), mine, rtol=1e-9, atol=1e-11)
