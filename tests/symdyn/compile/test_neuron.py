"""The functions of the single neuron: accuracy over 24 decades, gradients, edges, transforms."""

from decimal import Decimal

import mpmath
import numpy as np
import pytest
import torch

mp = mpmath.mp
NAMES = (
    "time_warp",
    "potential",
    "grad_potential",
    "preconditioner",
    "inverse_preconditioner",
    "hess_potential",
)
MATRICES = NAMES[3:]


def worst_error(neuron, exact, name, beta, delta, rates, tensor):
    """The largest relative error of any entry that is a normal number of the dtype."""
    dtype = beta.dtype.type
    convert = torch.tensor if tensor else np.asarray
    got = np.asarray(getattr(neuron, name)(convert(beta), convert(delta), *(dtype(rate) for rate in rates)))
    assert got.dtype == dtype
    worst, limits = 0.0, np.finfo(dtype)
    with mp.workdps(150):
        for point, balance, value in zip(beta.tolist(), delta.tolist(), got, strict=True):
            truth = exact(name, point, balance, *rates)
            for t, entry in zip(np.array(truth, object).ravel(), value.ravel().tolist(), strict=True):
                if limits.tiny < abs(t) < limits.max:
                    worst = max(worst, float(abs(entry / t - 1)))
                else:
                    assert t == 0 or not np.isnan(entry)
    return worst


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tensor", [False, True], ids=["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 2e-15), (np.float32, 1e-6)])
def test_every_entry_has_a_small_relative_error(neuron, exact, spread, name, tensor, dtype, tolerance):
    beta, delta = (part.astype(dtype) for part in spread)
    rates = (0.25, 3.0) if name.endswith("preconditioner") else ()
    assert worst_error(neuron, exact, name, beta, delta, rates, tensor) < tolerance


@pytest.mark.parametrize("name", NAMES)
def test_one_dimension(neuron, exact, name):
    sizes = np.logspace(-12, 12, 9)
    beta = np.array([[b] for s in (-1, 1) for b in sizes for _ in (*sizes, *sizes)])
    delta = np.array([d for _ in (-1, 1) for _ in sizes for d in (*sizes, *-sizes)])
    assert worst_error(neuron, exact, name, beta, delta, (), False) < 2e-15


@pytest.mark.parametrize("name", NAMES)
def test_balanced(neuron, exact, name):
    beta = np.logspace(-12, 12, 9)[:, None] * np.array([2.0, -1.0, 0.5])
    assert worst_error(neuron, exact, name, beta, np.zeros(9), (), False) < 2e-15


def test_the_exact_callable_has_the_digits_it_states(neuron, exact):
    with mp.workdps(120):
        for delta in ("1e12", "-1e12", "1e-12", "0"):
            value = neuron.potential.mpmath([Decimal("1e-12"), Decimal("2e-12")], Decimal(delta), digits=50)
            truth = exact("potential", ["1e-12", "2e-12"], delta)
            assert abs(value / truth - 1) < mp.mpf(10) ** -50
        matrix = neuron.inverse_preconditioner.mpmath([3, 4], -5, 2, digits=40)
        truth = exact("inverse_preconditioner", [3, 4], -5, 2)
        assert abs(matrix[0][1] / truth[0][1] - 1) < mp.mpf(10) ** -40


def test_the_inverse_is_the_inverse(neuron, spread):
    beta, delta = spread
    m, inverse = (
        neuron.preconditioner(beta, delta, 2, 0.7),
        neuron.inverse_preconditioner(beta, delta, 2, 0.7),
    )
    scale = np.abs(m) @ np.abs(inverse)
    assert (np.abs(m @ inverse - np.eye(3)) <= 1e-14 * scale).all()


def test_limits_at_the_origin(neuron):
    zero = np.zeros((2, 3))
    delta = np.array([2.0, 0.0])
    assert neuron.preconditioner(zero, delta).tolist() == [
        (2 * np.eye(3)).tolist(),
        np.zeros((3, 3)).tolist(),
    ]
    assert neuron.potential(zero, np.array([5.0, -5.0])).tolist() == [0.0, 0.0]
    assert neuron.grad_potential(zero, delta).tolist() == [[0.0] * 3] * 2
    assert neuron.hess_potential(zero[0], 2.0) == pytest.approx(np.eye(3), rel=1e-15)
    assert neuron.time_warp(zero, np.array([2.0, -2.0])).tolist() == [2.0, 0.0]


def test_no_limit_where_it_depends_on_the_direction(neuron):
    beta, delta = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.array([-1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"beta must be non-zero where delta < 0 .*it is not at index 0$"):
        neuron.preconditioner(beta, delta)
    with pytest.raises(ValueError, match=r"beta must be non-zero where delta < 0"):
        neuron.grad_potential(torch.tensor(beta), torch.tensor(delta))
    with pytest.raises(ValueError, match="eta_a must be positive"):
        neuron.preconditioner(beta[1], 1.0, 0.0)


def slopes(function, beta, delta):
    at = [torch.tensor(part, requires_grad=True) for part in (beta, delta)]
    return [g.numpy() for g in torch.autograd.grad(function(*at).sum(), at)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 5e-6)])
def test_gradients_of_the_potential_are_accurate_over_24_decades(neuron, spread, dtype, tolerance):
    """∂Φ/∂β = √(κ−δ) β/‖β‖ and ∂Φ/∂δ = (√(2 max(δ,0)) − √(κ+δ))/2, each held against mpmath."""
    beta, delta = (part.astype(dtype) for part in spread)
    in_beta, in_delta = slopes(neuron.potential, beta, delta)
    tiny = 1e8 * np.finfo(dtype).tiny  # a factor of a smaller derivative may be subnormal
    with mp.workdps(150):
        for b, d, gradient, slope in zip(
            beta.tolist(), delta.tolist(), in_beta, in_delta.tolist(), strict=True
        ):
            n2, d = mp.fdot(b, b), mp.mpf(d)
            k = mp.sqrt(d * d + 4 * n2)
            along_delta = (mp.sqrt(2 * max(d, 0)) - mp.sqrt(k + d)) / 2
            if abs(along_delta) > tiny:
                assert abs(slope / along_delta - 1) < tolerance, (b, d)
            for entry, part in zip(gradient.tolist(), b, strict=True):
                truth = mp.sqrt(k - d) * part / mp.sqrt(n2)
                if abs(truth) > tiny:
                    assert abs(entry / truth - 1) < tolerance, (b, d)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_are_finite_at_every_edge(neuron, name, dtype):
    zero, some = [0.0, 0.0], [0.3, -0.4]
    edges = [(zero, 2.0), (zero, 0.0), (some, 0.0), (zero, 1e12), ([1e-6, 0.0], -1e3), ([1e12, 0.0], 1e-12)]
    if name in ("time_warp", "potential"):
        edges.append((zero, -2.0))
    if name in ("inverse_preconditioner", "hess_potential"):
        edges = [edge for edge in edges if edge != (zero, 0.0)]
    for beta, delta in edges:
        at = [torch.tensor(beta, dtype=dtype), torch.tensor(delta, dtype=dtype)]
        for derivative in torch.func.jacrev(getattr(neuron, name), argnums=(0, 1))(*at):
            assert torch.isfinite(derivative).all(), (beta, delta)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_right_in_the_interior(neuron, name):
    for sign in (1.0, -1.0):
        beta = torch.tensor([[0.3, -0.7, 0.2], [2.0, 1.0, -1.0]], dtype=torch.float64, requires_grad=True)
        delta = torch.tensor([0.5 * sign, 3.0 * sign], dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(getattr(neuron, name), (beta, delta))


@pytest.mark.parametrize("delta", [3.0, 0.2, 0.0, -0.2, -3.0])
def test_derivatives_of_the_potential_are_the_compiled_ones(neuron, delta):
    beta, delta = (
        torch.tensor([0.3, -0.4, 1.2], dtype=torch.float64),
        torch.tensor(delta, dtype=torch.float64),
    )
    gradient = torch.func.jacrev(neuron.potential)
    torch.testing.assert_close(gradient(beta, delta), neuron.grad_potential(beta, delta), rtol=1e-13, atol=0)
    hessian = torch.func.jacrev(gradient)(beta, delta)
    torch.testing.assert_close(hessian, neuron.hess_potential(beta, delta), rtol=1e-12, atol=1e-14)
    warped = neuron.time_warp(beta, delta) * neuron.inverse_preconditioner(beta, delta)
    torch.testing.assert_close(hessian, warped, rtol=1e-12, atol=1e-14)


def test_the_hessian_at_the_origin(neuron):
    """For δ > 0 the potential is smooth at β = 0, and so are its compiled form and its gradient."""
    zero, delta = torch.zeros(3, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
    for hessian in (
        torch.func.jacrev(torch.func.jacrev(neuron.potential)),
        torch.func.jacrev(neuron.grad_potential),
    ):
        torch.testing.assert_close(
            hessian(zero, delta), torch.eye(3, dtype=torch.float64), rtol=1e-15, atol=0
        )


@pytest.mark.parametrize("name", NAMES)
def test_vmap_agrees_with_broadcasting(neuron, name):
    generator = torch.Generator().manual_seed(5)
    beta = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    delta = torch.randn(4, generator=generator, dtype=torch.float64)
    function = getattr(neuron, name)
    torch.testing.assert_close(
        torch.func.vmap(function)(beta, delta), function(beta, delta), rtol=1e-15, atol=0
    )
    batched = torch.func.vmap(torch.func.jacrev(function), in_dims=(0, None))(beta, delta[0])
    single = torch.stack([torch.func.jacrev(function)(b, delta[0]) for b in beta])
    torch.testing.assert_close(batched, single, rtol=1e-14, atol=1e-15)


def test_one_graph_compiles(neuron):
    """The potential, its time warp and the preconditioner in one graph, with a backward pass."""

    def everything(beta, delta):
        matrix = neuron.preconditioner(beta, delta, 0.5, eta_w=2)
        return neuron.potential(beta, delta) + neuron.time_warp(beta, delta) + matrix.sum((-2, -1))

    beta = torch.tensor([[0.3, -0.7], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    delta = torch.tensor([-0.5, 2.0], dtype=torch.float64, requires_grad=True)
    compiled = torch.compile(everything, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(beta, delta), everything(beta, delta), rtol=1e-14, atol=0)
    wanted = torch.autograd.grad(everything(beta, delta).sum(), (beta, delta))
    got = torch.autograd.grad(compiled(beta, delta).sum(), (beta, delta))
    torch.testing.assert_close(got, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "shapes", [((3,), ()), ((5, 3), ()), ((3,), (5,)), ((2, 1, 3), (4,)), ((2, 4, 3), (2, 4))]
)
def test_batches_are_the_single_calls(neuron, shapes):
    generator = np.random.default_rng(3)
    beta, delta = generator.standard_normal(shapes[0]), np.asarray(generator.standard_normal(shapes[1]))
    batch = np.broadcast_shapes(shapes[0][:-1], shapes[1])
    for name, tail in zip(NAMES, ((), (), (3,), (3, 3), (3, 3), (3, 3)), strict=True):
        function = getattr(neuron, name)
        together = function(beta, delta)
        assert together.shape == batch + tail
        betas, deltas = np.broadcast_to(beta, (*batch, 3)), np.broadcast_to(delta, batch)
        for index in np.ndindex(batch):
            np.testing.assert_allclose(together[index], function(betas[index], deltas[index]), rtol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_everything_stays_on_the_device_of_the_input(neuron, name):
    value = getattr(neuron, name)(torch.ones(4, 3, device="meta"), torch.ones(4, device="meta"))
    assert value.device.type == "meta" and value.dtype == torch.float32 and value.shape[0] == 4
