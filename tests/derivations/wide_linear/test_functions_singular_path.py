"""Signed singular values along a path: no kink at a crossing, none at zero."""

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from derivations.wide_linear import isotropic_flow, isotropic_init, signed_svd_path


def turning(rng, size, columns):
    """Orthonormal columns that turn with time, analytically."""
    generator = rng.normal(size=(size, size))
    start = np.linalg.qr(rng.normal(size=(size, columns)))[0]
    return lambda t: expm(0.3 * t * (generator - generator.T)) @ start


def crossing_path(d, c, points=401):
    """Known values, which cross each other and zero, in turning frames."""
    rng = np.random.default_rng(d + 10 * c)
    m = min(d, c)
    left, right = turning(rng, d, m), turning(rng, c, m)
    times = np.linspace(-1, 1, points)
    values = np.stack([0.3 * (i + 1) * times + 0.2 * i * np.cos(3 * times) - 0.1 for i in range(m)], -1)
    path = np.stack([(left(t) * v) @ right(t).T for t, v in zip(times, values, strict=True)])
    return path, values


@pytest.mark.parametrize(("d", "c"), [(3, 3), (5, 3), (3, 5), (4, 1), (1, 4)])
def test_values_and_vectors_follow_the_analytic_ones_through_crossings_and_zeros(d, c):
    path, known = crossing_path(d, c)
    U, values, V = signed_svd_path(path)
    np.testing.assert_allclose((U * values[:, None, :]) @ V.swapaxes(1, 2), path, atol=1e-14)
    for frame in (U, V):
        np.testing.assert_allclose(
            frame.swapaxes(1, 2) @ frame, np.stack([np.eye(min(d, c))] * 401), atol=1e-13
        )
    order = np.argsort(-np.abs(known[0]))
    np.testing.assert_allclose(values, known[:, order] * np.sign(known[0, order]), atol=1e-13)
    assert max(np.abs(np.diff(frame, axis=0)).max() for frame in (U, V)) < 0.01
    kinks = np.abs(np.diff(np.linalg.svd(path, compute_uv=False), 2, axis=0)).max()
    assert kinks > 10 * np.abs(np.diff(values, 2, axis=0)).max()


def test_points_on_a_crossing_and_on_a_zero_belong_to_the_path():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 3)))[0] for n in (4, 3))
    x = np.linspace(0, 1, 11)
    known = np.stack([x, 1 - x, 0.5 - x], -1)
    U, values, V = signed_svd_path((left * known[:, None, :]) @ right.T)
    np.testing.assert_allclose(values[:, 0], 1 - x, atol=1e-14)
    np.testing.assert_allclose(values[:, 1], 0.5 - x, atol=1e-14)
    np.testing.assert_allclose(values[:, 2], x, atol=1e-14)
    assert max(np.abs(np.diff(frame, axis=0)).max() for frame in (U, V)) < 1e-13


def test_a_start_at_zero_takes_the_vectors_that_come_next():
    beta = np.arange(6.0).reshape(3, 2)
    U, values, _ = signed_svd_path(np.linspace(0, 1, 4)[:, None, None] * beta)
    np.testing.assert_allclose(values, np.linspace(0, 1, 4)[:, None] * np.linalg.svd(beta)[1], atol=1e-14)
    np.testing.assert_allclose(U, np.stack([U[-1]] * 4), atol=1e-13)
    assert not signed_svd_path(np.zeros((3, 2, 2)))[1].any()


def test_the_derivative_of_a_value_is_u_dot_beta_v():
    """Along a trained network, by differences, where a singular value of beta passes through zero."""
    rng = np.random.default_rng(9)
    A, W = isotropic_init(2, 2, 2, -0.5, rng, scale=0.8)
    beta_star = rng.normal(size=(2, 2))
    times = np.linspace(0.0, 3.0, 3001)
    path = isotropic_flow(times, A, W, beta_star).beta
    U, values, V = signed_svd_path(path)
    assert (np.linalg.det(path) < 0).any() and (np.linalg.det(path) > 0).any()
    slope = (values[2:] - values[:-2]) / (times[2:] - times[:-2])[:, None]
    velocity = (path[2:] - path[:-2]) / (times[2:] - times[:-2])[:, None, None]
    expected = np.einsum("tim,tij,tjm->tm", U[1:-1], velocity, V[1:-1])
    np.testing.assert_allclose(slope, expected, atol=1e-4 * np.abs(slope).max())


@pytest.mark.parametrize("zeros", [np.zeros, torch.zeros], ids=["numpy", "torch"])
@pytest.mark.parametrize("batch", [(0,), (2, 0)])
def test_an_empty_batch_of_paths_has_empty_results(zeros, batch):
    found = signed_svd_path(zeros((*batch, 5, 4, 3)))
    assert [tuple(x.shape) for x in found] == [(*batch, 5, *size) for size in ((4, 3), (3,), (3, 3))]


def test_a_path_that_is_not_resolved_is_refused():
    rng = np.random.default_rng(0)
    rough = np.stack([np.ones((4, 3, 3)) + np.eye(3), rng.normal(size=(4, 3, 3))])
    with pytest.raises(ValueError, match=r"not resolved between its points \d and \d of the path \(1,\)"):
        signed_svd_path(rough)
    signed_svd_path(rough, check=False)
    with pytest.raises(ValueError, match="must be a path of matrices"):
        signed_svd_path(np.eye(2))
    with pytest.raises(ValueError, match="beta must be finite; it is not at index 0"):
        signed_svd_path([[[np.nan]], [[1.0]]])


def test_torch_gives_the_same_numbers_and_exact_derivatives():
    path = crossing_path(3, 2, points=60)[0][-8:]
    tensor = torch.tensor(path, requires_grad=True)
    for mine, theirs in zip(signed_svd_path(path), signed_svd_path(tensor), strict=True):
        np.testing.assert_allclose(theirs.detach().numpy(), mine, atol=1e-14)
    assert torch.autograd.gradcheck(lambda x: signed_svd_path(x)[1], tensor)
    assert torch.autograd.gradcheck(lambda x: signed_svd_path(x)[0], tensor)
    zero = torch.tensor(np.linspace(0, 1, 4)[:, None, None] * np.ones((2, 2)), requires_grad=True)
    signed_svd_path(zero)[1].sum().backward()
    assert torch.isfinite(zero.grad).all()
