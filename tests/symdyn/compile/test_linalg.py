"""Linear algebra on stacks: failures are marked member by member, layouts and sizes make no difference."""

import numpy as np
import pytest
import torch

from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg

BACKENDS = [(np, np.asarray), (torch, torch.as_tensor)]


@pytest.mark.parametrize(("xp", "convert"), BACKENDS, ids=["numpy", "torch"])
def test_a_singular_member_is_nan_and_the_others_are_solved(xp, convert):
    stack = np.array([[[2.0, 1.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])
    solution = np.asarray(linalg.solve(xp, convert(stack), convert(np.eye(2)[None])))
    np.testing.assert_allclose(solution[0], np.linalg.inv(stack[0]))
    assert np.isnan(solution[1]).all()


@pytest.mark.parametrize(("xp", "convert"), BACKENDS, ids=["numpy", "torch"])
def test_a_matrix_that_is_not_positive_definite_has_no_cholesky_factor(xp, convert):
    stack = np.array([[[4.0, 2.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]])
    factor = np.asarray(linalg.cholesky(xp, convert(stack)))
    np.testing.assert_allclose(factor[0] @ factor[0].T, stack[0])
    assert factor[0, 0, 1] == 0 and np.isnan(factor[1]).any()


@pytest.mark.parametrize(("xp", "convert"), BACKENDS, ids=["numpy", "torch"])
@pytest.mark.parametrize("size", [1, 5, 30])
def test_the_congruence_is_m_transposed_h_inverse_m_however_rows_are_scaled(xp, convert, size):
    rng = np.random.default_rng(size)
    root, m = rng.normal(size=(2, 7, size, size)), rng.normal(size=(2, 7, size, 3))
    h = root @ root.swapaxes(-1, -2) + np.eye(size)
    expected = m.swapaxes(-1, -2) @ np.linalg.solve(h, m)
    rows = 10.0 ** rng.integers(-8, 8, size=(size, 1))
    for scale in (1.0, rows):
        scaled = (linalg.first_last(scale * h * np.swapaxes(np.atleast_2d(scale), 0, 1)), scale * m)
        found = linalg.congruence(xp, convert(scaled[0]), convert(linalg.first_last(scaled[1])))
        np.testing.assert_allclose(np.asarray(linalg.last_first(found)), expected, rtol=1e-9, atol=1e-11)


def test_layouts_with_an_axis_behind_and_sizes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 6, 2, 4))
    np.testing.assert_array_equal(linalg.last_first(linalg.first_last(x)), x)
    np.testing.assert_allclose(linalg.size(np, x), np.linalg.norm(x, axis=(-2, -1)))


def test_what_a_matrix_must_be_is_checked_and_named():
    read = arrays.collect(
        skew=[np.eye(2), [[1.0, 1.0], [0.0, 1.0]]],
        indefinite=[np.diag([1.0, -1.0]), np.eye(2)],
        thin=np.diag([1.0, 0.0]),
    )
    with pytest.raises(ValueError, match="skew must be symmetric; it is not at index 1"):
        linalg.require_symmetric(read, "skew")
    with pytest.raises(ValueError, match="indefinite must be positive semi-definite; it is not at index 0"):
        linalg.require_semidefinite(read, "indefinite")
    linalg.require_semidefinite(read, "thin")
    with pytest.raises(ValueError, match="x must be a square matrix in its last two axes"):
        linalg.check_square("x", np.ones((2, 3)))
    with pytest.raises(ValueError, match="x must be a matrix in its last two axes"):
        linalg.check_matrix("x", np.ones((2, 0)))


def test_what_a_matrix_must_be_up_to_rounding():
    stack = np.stack([np.diag([1.0, -1e-15]), np.diag([1.0, -1e-3]), [[1.0, 0.1], [0.0, 1.0]]])
    assert linalg.is_symmetric(np, stack).tolist() == [True, True, False]
    assert linalg.is_semidefinite(np, stack[:2]).tolist() == [True, False]
    assert linalg.is_definite(np, np.stack([np.eye(2), stack[0]])).tolist() == [True, False]
