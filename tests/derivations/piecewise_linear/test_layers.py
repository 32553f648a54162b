"""Flow in spherical coordinates, tangent kernel and scaled starts of two-layer networks, against autograd."""

import mpmath as mp
import numpy as np
import pytest
import torch

from derivations.piecewise_linear import coordinates_rhs, ntk, scale_init

RATES = {"eta_a": 0.7, "eta_w": 1.9}


def draw(seed, h=5, d=3, n=6):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((h, d), (h,), (n, d), (n,))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def outputs(W, a, X, gamma):
    z = X @ W.T
    return torch.maximum(z, gamma * z) @ a


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_velocities_of_the_coordinates_are_those_of_gradient_flow(gamma):
    W, a, X, y = draw(0)
    loss = lambda W, a: ((outputs(W, a, X, gamma) - y) ** 2).sum() / 2  # noqa: E731
    grad_W, grad_a = torch.autograd.functional.jacobian(loss, (W, a))
    velocity = (-RATES["eta_w"] * grad_W, -RATES["eta_a"] * grad_a)

    def coordinates(W, a):
        length = W.norm(dim=-1)
        return a * length, W / length[:, None]

    _, expected = torch.autograd.functional.jvp(coordinates, (W, a), velocity)
    mu_dot, turning = coordinates_rhs(W, a, X, y, gamma, **RATES)
    torch.testing.assert_close(mu_dot, expected[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(turning, expected[1], rtol=1e-12, atol=1e-12)


def test_velocities_are_those_of_the_formula_in_mu_and_delta():
    W, a, X, y = (tensor.numpy() for tensor in draw(1))
    mu_dot, turning = coordinates_rhs(W, a, X, y, 0.2, **RATES)
    length = np.linalg.norm(W, axis=-1)
    mu, direction = a * length, W / length[:, None]
    delta = RATES["eta_w"] * a**2 - RATES["eta_a"] * length**2
    kappa = np.sqrt(delta**2 + 4 * RATES["eta_a"] * RATES["eta_w"] * mu**2)
    z = X @ W.T
    slopes = np.where(z > 0, 1.0, 0.2)
    xi = (slopes * ((slopes * z) @ a - y)[:, None]).T @ X
    along = (direction * xi).sum(-1)
    np.testing.assert_allclose(mu_dot, -kappa * along, rtol=1e-12)
    rejected = xi - along[:, None] * direction
    np.testing.assert_allclose(turning, -((kappa + delta) / (2 * mu))[:, None] * rejected, rtol=1e-11)
    assert (a < 0).any()
    assert (delta < 0).any()


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_kernel_is_the_gram_matrix_of_the_jacobian(gamma):
    W, a, X, _ = draw(2)
    J_W, J_a = torch.autograd.functional.jacobian(lambda W, a: outputs(W, a, X, gamma), (W, a))
    J_W = J_W.reshape(len(X), -1)
    expected = RATES["eta_w"] * J_W @ J_W.T + RATES["eta_a"] * J_a @ J_a.T
    torch.testing.assert_close(ntk(W, a, X, gamma, **RATES), expected, rtol=1e-12, atol=1e-12)


def test_batches_of_networks_share_inputs_and_may_have_their_own_rates():
    networks = [draw(seed) for seed in (3, 4)]
    X = networks[0][2]
    W, a = (torch.stack(tensors) for tensors in zip(*((w, r) for w, r, *_ in networks), strict=True))
    rates = torch.tensor([1.0, 2.0], dtype=torch.float64)
    together = ntk(W, a, X, 0.1, rates, 1.0)
    for index in (0, 1):
        alone = ntk(W[index], a[index], X, 0.1, float(rates[index]), 1.0)
        torch.testing.assert_close(together[index], alone, rtol=1e-13, atol=1e-13)
    mu_dot, turning = coordinates_rhs(W, a, X, networks[0][3])
    assert mu_dot.shape == (2, 5)
    assert turning.shape == (2, 5, 3)


@pytest.mark.parametrize(("tau", "delta"), [(1.0, 0.0), (0.1, -1.0), (2.0, 0.5), (1e-3, 1.0)])
def test_scaled_base_has_the_balance_and_the_scale(tau, delta):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(8, 5))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    scaled, readout = scale_init(W, rng.choice([-1.0, 1.0], 8), tau, delta)
    size = readout**2 + (scaled**2).sum(1)
    np.testing.assert_allclose(readout**2 - (scaled**2).sum(1), delta, atol=1e-14 * size.max())
    np.testing.assert_allclose(abs(readout) * np.linalg.norm(scaled, axis=1), tau**2, rtol=1e-14)


EXTREMES = [
    (np.float64, 1e-170, 0.0),
    (np.float64, 1e-10, 1e300),
    (np.float64, 1e-10, -1e300),
    (np.float64, 1e-150, -1e-200),
    (np.float64, 1e-150, 1e-300),
    (np.float64, 1e150, -1e300),
    (np.float64, 1e200, 1.0),
    (np.float64, 0.3, 0.2),
    (np.float32, 1e-23, 0.0),
    (np.float32, 1e-20, 1.0),
    (np.float32, 1e25, -1e30),
]


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "tau", "delta"), EXTREMES)
def test_no_scale_or_balance_is_lost_to_the_square_of_the_scale(dtype, tau, delta, convert):
    tau, delta = dtype(tau), dtype(delta)
    weights, readout = scale_init(*(convert(np.array(x, dtype)) for x in ([[1, 0]], [-1])), tau, delta)
    with mp.workdps(700):
        square, balance = mp.mpf(float(tau)) ** 2, mp.mpf(float(delta))
        larger = mp.sqrt((mp.sqrt(balance**2 + 4 * square**2) + abs(balance)) / 2)
        expected = [float(square / larger), float(larger)]
    found = [float(weights[0, 0]), -float(readout[0])]
    np.testing.assert_allclose(
        found if delta >= 0 else found[::-1],
        expected,
        rtol=4 * np.finfo(dtype).eps,
        atol=np.finfo(dtype).tiny,
    )


@pytest.mark.parametrize("delta", [-0.7, -1e-3, 0.0, 0.7])
def test_scaled_starts_are_smooth_in_scale_and_balance_also_where_they_are_balanced(delta):
    W, a = torch.eye(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    at = tuple(torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (0.3, delta))
    assert torch.autograd.gradcheck(lambda tau, delta: scale_init(W, a, tau, delta), at)


def test_a_grid_of_scales_adds_batch_axes():
    W, a = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, -1.0])
    scaled, readout = scale_init(W, a, np.array([[0.1], [2.0]]), np.array([-1.0, 0.0, 1.0]))
    assert scaled.shape == (2, 3, 2, 2)
    assert readout.shape == (2, 3, 2)
    np.testing.assert_allclose(readout[0, 2] ** 2 - (scaled[0, 2] ** 2).sum(-1), 1.0, rtol=1e-13)


def test_what_is_wrong_is_named():
    W, a, X, y = (tensor.numpy() for tensor in draw(5))
    with pytest.raises(ValueError, match="gamma must be at least 0 and below 1"):
        ntk(W, a, X, 1.0)
    with pytest.raises(ValueError, match="W has 5 rows, so a needs 5"):
        ntk(W, a[:4], X)
    with pytest.raises(ValueError, match="W must be a matrix without zero rows"):
        coordinates_rhs(0 * W, a, X, y)
    with pytest.raises(ValueError, match="X has 6 rows, so y needs 6"):
        coordinates_rhs(W, a, X, y[:3])
    with pytest.raises(ValueError, match="rows of length one"):
        scale_init(W, np.sign(a), 1.0, 0.0)
    with pytest.raises(ValueError, match=r"tau must be positive and finite; it is not at index 1"):
        scale_init(np.eye(3), np.ones(3), [1.0, 0.0], 0.0)
