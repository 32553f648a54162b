"""Balance, preconditioner and neuron sum of the weights; isotropic starts and their preconditioner."""

import importlib

import numpy as np
import pytest
import torch

from derivations import wide_linear
from derivations.wide_linear import (
    conserved,
    isotropic_init,
    isotropic_preconditioner,
    neuron_preconditioners,
    neuron_sum,
    preconditioner,
    unvec,
    vec,
)
from symdyn.catalogue.registry import index


def weights(batch=(), h=4, d=2, c=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*batch, h, c)), rng.normal(size=(*batch, h, d))


def contributions(A, W):
    return W[..., :, :, None] * A[..., :, None, :]


def balances(A, W, eta_a, eta_w):
    return eta_w * (A**2).sum(-1) - eta_a * (W**2).sum(-1)


def test_the_package_offers_every_function_by_name_whatever_modules_are_loaded():
    for entry in index():
        if entry.topic == "wide_linear":
            importlib.import_module(entry.module)
    for name, module in wide_linear.EVALUATORS.items():
        made = importlib.import_module(f"derivations.wide_linear.evaluators.{module}")
        assert getattr(wide_linear, name) is getattr(made, name)


def test_vec_stacks_columns_unlike_flattening():
    beta = np.arange(6.0).reshape(2, 3)
    assert vec(beta).tolist() == [0, 3, 1, 4, 2, 5]
    assert beta.reshape(-1).tolist() != vec(beta).tolist()
    np.testing.assert_array_equal(unvec(vec(np.stack([beta, 2 * beta])), d=2), [beta, 2 * beta])
    with pytest.raises(ValueError, match="multiple of d = 4"):
        unvec(vec(beta), d=4)


def test_the_balance_is_kept_by_a_step_of_any_loss_to_second_order():
    A, W = weights()
    gradient = np.random.default_rng(1).normal(size=(2, 3))
    before = conserved(A, W, eta_a=1.5, eta_w=0.4)
    drift = []
    for step in (1e-2, 1e-3):
        after = conserved(
            A - step * 1.5 * W @ gradient, W - step * 0.4 * A @ gradient.T, eta_a=1.5, eta_w=0.4
        )
        drift.append(np.abs(after - before).max())
    assert drift[0] / drift[1] == pytest.approx(100, rel=1e-3)


def test_the_preconditioner_moves_vec_of_beta_as_gradient_flow_does():
    A, W = weights(batch=(5,))
    eta_a, eta_w = np.array([0.5, 1.0, 1.5, 2.0, 3.0]), 0.7
    gradient = np.random.default_rng(1).normal(size=(5, 2, 3))
    rate = eta_a[:, None, None]
    velocity = -(W.swapaxes(1, 2) @ (rate * W @ gradient) + eta_w * gradient @ A.swapaxes(1, 2) @ A)
    M = preconditioner(A, W, eta_a=eta_a, eta_w=eta_w)
    moved = -(M @ vec(gradient)[..., None])[..., 0]
    np.testing.assert_allclose(moved, vec(velocity), atol=1e-13)
    np.testing.assert_allclose(
        M[2], np.kron(0.7 * A[2].T @ A[2], np.eye(2)) + np.kron(np.eye(3), 1.5 * W[2].T @ W[2])
    )


def test_the_sum_over_neurons_is_the_preconditioner():
    A, W = weights(batch=(5,))
    eta_a, eta_w = np.array([0.5, 1.0, 1.5, 2.0, 3.0]), 0.7
    M = preconditioner(A, W, eta_a=eta_a, eta_w=eta_w)
    np.testing.assert_allclose(neuron_sum(A, W, eta_a=eta_a, eta_w=eta_w), M, atol=1e-13)
    betas, deltas = contributions(A, W), balances(A, W, eta_a[:, None], eta_w)
    parts = neuron_preconditioners(betas, deltas, eta_a=eta_a, eta_w=eta_w)
    assert parts.shape == (5, 4, 6, 6)
    np.testing.assert_allclose(parts.sum(1), M, atol=1e-13)
    np.testing.assert_array_equal(
        neuron_sum(betas=betas, deltas=deltas, eta_a=eta_a, eta_w=eta_w), parts.sum(1)
    )


@pytest.mark.parametrize("as_array", [np.asarray, torch.tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    ("a", "w"), [(1e-150, 1e150), (1e150, 1e-150), (1e-170, 1e-170), (1e-200, 1.0), (1e-5, 1e-200)]
)
def test_the_sum_over_neurons_is_the_preconditioner_where_the_contributions_underflow(a, w, as_array):
    A, W = weights()
    layers = as_array(a * A), as_array(w * W)
    M = np.asarray(preconditioner(*layers))
    np.testing.assert_allclose(neuron_sum(*layers), M, atol=1e-14 * M.max())
    np.testing.assert_allclose(
        neuron_sum(*layers, eta_a=0.3, eta_w=2.0), preconditioner(*layers, 0.3, 2.0), atol=1e-14 * M.max()
    )


@pytest.mark.parametrize("zeros", [np.zeros, torch.zeros], ids=["numpy", "torch"])
def test_an_empty_batch_has_empty_results(zeros):
    A, W, betas = zeros((0, 4, 3)), zeros((0, 4, 2)), zeros((0, 4, 2, 3))
    assert conserved(A, W).shape == (0, 4, 4)
    assert preconditioner(A, W).shape == neuron_sum(A, W).shape == (0, 6, 6)
    assert neuron_preconditioners(betas, zeros((0, 4))).shape == (0, 4, 6, 6)
    assert neuron_sum(betas=betas, deltas=zeros((0, 4))).shape == (0, 6, 6)
    assert isotropic_preconditioner(zeros((0, 2, 3)), 0.5).shape == (0, 6, 6)


def test_the_smaller_layer_of_an_unbalanced_neuron_keeps_its_digits():
    part = neuron_preconditioners(betas=[[[1e-3, 0.0], [0.0, 0.0]]], deltas=[1e6])[0]
    np.testing.assert_allclose(np.diag(part), [1e6, 1e6, 1e-12, 0.0], rtol=1e-15)


def test_torch_gives_the_same_numbers_and_exact_derivatives():
    A, W = weights()
    betas, deltas = contributions(A, W), balances(A, W, 1.0, 1.0)
    tensors = [torch.tensor(x, requires_grad=True) for x in (betas, deltas)]
    sums = neuron_sum(betas=tensors[0], deltas=tensors[1])
    np.testing.assert_allclose(sums.detach().numpy(), neuron_sum(betas=betas, deltas=deltas), atol=1e-14)
    assert torch.autograd.gradcheck(lambda b, x: neuron_preconditioners(b, x, check=False), tensors)
    layers = [torch.tensor(x, requires_grad=True) for x in (A, W)]
    assert torch.autograd.gradcheck(
        lambda x, y: (conserved(x, y), preconditioner(x, y), neuron_sum(x, y)), layers
    )
    assert preconditioner(A.astype(np.float32), W.astype(np.float32)).dtype == np.float32


def test_derivatives_of_the_neuron_sum_are_those_of_the_preconditioner_at_a_balanced_neuron_too():
    """Balances 0, 0 and 6: |a| = |w| exactly for two of the neurons."""
    A = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    W = torch.tensor([[1.0, 2.0], [4.0, 3.0], [0.0, 2.0]], dtype=torch.float64, requires_grad=True)
    assert balances(A, W, 1.0, 1.0).tolist() == [0.0, 0.0, 6.0]
    for found, known in zip(
        torch.func.jacrev(neuron_sum, (0, 1))(A, W),
        torch.func.jacrev(preconditioner, (0, 1))(A, W),
        strict=True,
    ):
        np.testing.assert_allclose(found.detach(), known.detach(), atol=1e-13)
    assert torch.autograd.gradgradcheck(neuron_sum, (A, W))

    def of_contributions(A, W):
        return neuron_sum(betas=contributions(A, W), deltas=balances(A, W, 1.0, 1.0))

    assert torch.autograd.gradcheck(of_contributions, (A, W))
    deltas = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    betas = contributions(A, W).detach()
    assert torch.autograd.gradcheck(lambda x: neuron_preconditioners(betas, x), deltas)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A, W: conserved(A, W[:3]), "one row a neuron; A has 4 and W has 3"),
        (lambda A, W: conserved(A, W, eta_a=-1.0), "eta_a must be positive"),
        (lambda A, W: preconditioner(A * np.nan, W), "A must be finite"),
        (lambda A, W: conserved(A[0], W), "A must be a matrix"),
        (
            lambda A, W: neuron_sum(A, W * [[1.0], [0.0], [1.0], [1.0]]),
            "W must be a matrix without rows.*index 1",
        ),
        (lambda A, W: neuron_sum(A), "give either A and W, or betas and deltas"),
        (lambda A, W: neuron_sum(A, W, betas=A, deltas=W), "give either"),
        (lambda A, W: neuron_preconditioners(contributions(A, W) * 0, np.zeros(4)), "betas must be non-zero"),
        (lambda A, W: neuron_preconditioners([np.eye(2)], [1.0]), "betas must be of rank one.*index 0"),
        (lambda A, W: neuron_preconditioners(contributions(A, W), np.zeros(3)), "one entry a neuron"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(*weights())


SIZES = [(h, d, c) for h in (1, 2, 3, 5) for d in (1, 2, 4) for c in (1, 3)]


@pytest.mark.parametrize(
    "source", [np.random.default_rng(0), torch.Generator().manual_seed(0)], ids=["numpy", "torch"]
)
@pytest.mark.parametrize("delta", [2.0, 0.0, -3.0])
def test_isotropic_starts_exist_exactly_where_the_ranks_allow_and_are_exact(delta, source):
    for h, d, c in SIZES:
        rates = {"eta_a": 1.5, "eta_w": 0.4}
        if (delta > 0 and h > c) or (delta < 0 and h > d):
            with pytest.raises(
                ValueError, match=r"no isotropic start with delta .*positive definite, so that . has h"
            ):
                isotropic_init(h, d, c, delta, source, **rates)
            continue
        A, W = (np.asarray(x) for x in isotropic_init(h, d, c, delta, source, scale=0.7, batch=(2,), **rates))
        assert A.shape == (2, h, c) and W.shape == (2, h, d)
        found = conserved(A, W, **rates)
        np.testing.assert_allclose(found, np.stack([delta * np.eye(h)] * 2), atol=1e-14 * (1 + 10 * h))
        expected = min(h, d, c) if delta == 0 else h
        layer = W if delta < 0 else A
        assert (np.linalg.matrix_rank(layer) == expected).all()
        assert np.abs(A[0] - A[1]).max() > 1e-3
        if delta == 0 or h == (c if delta > 0 else d):
            M = isotropic_preconditioner(W.swapaxes(1, 2) @ A, delta, **rates)
            np.testing.assert_allclose(M, preconditioner(A, W, **rates), atol=1e-13 * M.max())


def test_the_free_layer_is_normal_with_the_scale_asked_for():
    """To three standard errors of standard deviation and fourth moment."""
    for delta, free in ((0.5, 1), (-0.5, 0)):
        layer = isotropic_init(3, 50, 20, delta, np.random.default_rng(0), scale=0.2, batch=2000)[free]
        assert layer.std() == pytest.approx(0.2, rel=3 / np.sqrt(2 * layer.size))
        assert (layer**4).mean() / 0.2**4 == pytest.approx(3.0, abs=3 * np.sqrt(96 / layer.size))
    A, W = isotropic_init(2, 3, 3, 4.0, np.random.default_rng(0), scale=0.0)
    assert not W.any() and np.allclose(A @ A.T, 4 * np.eye(2))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"h": 0}, "h must be a positive integer"),
        ({"h": True}, "h must be a positive integer, got True"),
        ({"delta": np.nan}, "delta must be finite"),
        ({"scale": -1.0}, "scale must be finite and not negative"),
        ({"eta_w": 0.0}, "eta_w must be positive"),
    ],
)
def test_bad_sizes_of_a_start_are_named(changed, message):
    arguments = {"h": 2, "d": 3, "c": 3, "delta": 1.0, "generator": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=message):
        isotropic_init(**(arguments | changed))
    with pytest.raises(TypeError, match=r"numpy\.random\.Generator or a torch\.Generator, not int"):
        isotropic_init(2, 3, 3, 1.0, 0)


@pytest.mark.parametrize("name", ["delta", "scale", "eta_a", "eta_w"])
@pytest.mark.parametrize("value", [np.ones(2), "1", None, [1.0], 1j])
def test_what_is_not_one_number_is_refused_and_named(name, value):
    arguments = {"delta": 1.0} | {name: value}
    with pytest.raises(TypeError, match=f"{name} must be one real number, got"):
        isotropic_init(2, 3, 3, generator=np.random.default_rng(0), **arguments)


@pytest.mark.parametrize("number", [1, np.float32(1.0), np.array(1.0), torch.tensor(1.0, requires_grad=True)])
def test_one_number_may_be_of_any_kind(number):
    start = isotropic_init(2, 3, 3, number, np.random.default_rng(0), scale=number, eta_a=number)
    for one, other in zip(start, isotropic_init(2, 3, 3, 1.0, np.random.default_rng(0)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_number_of_starts_is_a_batch_of_one_axis():
    for number, axes in ((3, (3,)), (np.int64(3), (3,)), ([2, 3], (2, 3))):
        pairs = [isotropic_init(2, 3, 4, 1.0, np.random.default_rng(0), batch=b) for b in (number, axes)]
        for one, other in zip(*pairs, strict=True):
            assert one.shape[:-2] == axes
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("h", [1, 2, 5])
@pytest.mark.parametrize("scale", [1e-170, 1e160])
def test_balanced_starts_of_any_scale_are_balanced(h, scale):
    A, W = isotropic_init(h, 3, 4, 0.0, np.random.default_rng(0), scale=scale, eta_a=1.5, eta_w=0.4)
    found = conserved(A / scale, W / scale, eta_a=1.5, eta_w=0.4)
    np.testing.assert_allclose(found, 0, atol=1e-14 * np.abs(W / scale).max() ** 2 * h)
    assert np.abs(A / scale).min() > 1e-3 and np.abs(W / scale).min() > 1e-3


def test_small_singular_values_survive_the_square_roots_of_a_balanced_network():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    M = isotropic_preconditioner((left * [1.0, 1e-9, 0.0]) @ right.T, 0.0)
    values = np.linalg.eigvalsh(M)
    np.testing.assert_allclose(
        values, [0, 1e-9, 1e-9, 2e-9, 1, 1, 1, 1, 2][:4] + list(values[4:]), atol=1e-15
    )
    np.testing.assert_allclose(values[4:], [1, 1, 1 + 1e-9, 1 + 1e-9, 2], atol=1e-14)


@pytest.mark.parametrize(
    ("beta", "delta"),
    [
        (np.random.default_rng(0).normal(size=(2, 3)), 0.5),
        (np.eye(3), 0.5),
        (np.zeros((2, 3)), -0.5),
        (np.diag([1.0, 1.0, 2.0]), 0.0),
    ],
    ids=["generic", "equal singular values", "zero", "balanced"],
)
def test_derivatives_of_the_isotropic_preconditioner_are_exact_to_second_order(beta, delta):
    inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (beta, delta, 1.3)]
    assert torch.autograd.gradcheck(isotropic_preconditioner, inputs)
    assert torch.autograd.gradgradcheck(isotropic_preconditioner, inputs)
    np.testing.assert_allclose(
        isotropic_preconditioner(*inputs).detach().numpy(),
        isotropic_preconditioner(beta, delta, 1.3),
        atol=1e-14,
    )


@pytest.mark.parametrize("delta", [0.0, 1e-14, 1e-8, 0.3, -0.4])
@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (4, 1), (1, 4), (5, 2), (3, 3), (1, 1)])
def test_derivatives_in_beta_are_exact_in_every_shape_also_as_the_balance_vanishes(shape, delta):
    beta = torch.tensor(np.random.default_rng(1).normal(size=shape), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: isotropic_preconditioner(x, delta), beta)
    assert torch.autograd.gradgradcheck(lambda x: isotropic_preconditioner(x, delta), beta)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_a_balanced_network_of_one_output_moves_by_its_norm_and_its_direction(size):
    """M = |beta| I + beta beta^T / |beta|, whose trace is 4 |beta| for three inputs."""
    beta = torch.tensor([[1.0], [2.0], [2.0]], dtype=torch.float64)
    found = torch.func.jacrev(lambda x: isotropic_preconditioner(size * x, 0.0) / size)(beta)[..., 0]
    closed = torch.func.jacrev(lambda x: x.norm() * torch.eye(3, dtype=x.dtype) + x @ x.T / x.norm())(beta)
    np.testing.assert_allclose(found, closed[..., 0], atol=1e-14)
    np.testing.assert_allclose(found.diagonal().sum(-1), 4 * beta[:, 0] / 3, rtol=1e-14)


def test_where_a_balanced_map_loses_rank_the_preconditioner_keeps_its_value_in_torch():
    for beta in (np.zeros((3, 2)), np.outer([1.0, 2.0, 3.0], [1.0, 2.0])):
        tensor = torch.tensor(beta, requires_grad=True)
        found = isotropic_preconditioner(tensor, 0.0)
        np.testing.assert_allclose(found.detach(), isotropic_preconditioner(beta, 0.0), atol=1e-14)
        found.sum().backward()
        assert torch.isfinite(tensor.grad).all()


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_where_the_balance_is_zero_the_derivative_in_it_is_that_to_the_right(shape):
    beta, step = np.random.default_rng(1).normal(size=shape), 1e-7
    delta = torch.zeros((), dtype=torch.float64)
    found = torch.func.jacrev(lambda x: isotropic_preconditioner(torch.tensor(beta), x))(delta)
    right = (isotropic_preconditioner(beta, step) - isotropic_preconditioner(beta, 0.0)) / step
    np.testing.assert_allclose(found, right, atol=1e-7)
