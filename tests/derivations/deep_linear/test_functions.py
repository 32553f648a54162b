"""The functions of the deep linear network against networks, gradient flow, convex programmes and many digits."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from derivations.deep_linear import (
    inductive_bias,
    interpolating_solution,
    isotropic_init,
    isotropic_preconditioner,
    preconditioner,
)
from derivations.deep_linear.evaluators.roots import balance_root


def predictor(a, Ws):
    for W in reversed(Ws):
        a = W.T @ a
    return a


def test_preconditioner_is_the_jacobian_product_of_any_network():
    rng = np.random.default_rng(0)
    sizes = (4, 3, 5, 2)
    Ws = [torch.tensor(rng.normal(size=(out, into))) for into, out in pairwise(sizes)]
    a = torch.tensor(rng.normal(size=sizes[-1]))
    parts = torch.autograd.functional.jacobian(lambda *p: predictor(p[0], p[1:]), (a, *Ws))
    expected = sum(J.reshape(sizes[0], -1) @ J.reshape(sizes[0], -1).T for J in parts)
    torch.testing.assert_close(preconditioner(a, Ws), expected, rtol=1e-12, atol=1e-12)
    batched = preconditioner(np.stack([a, 2 * a]), [W.numpy() for W in Ws])
    np.testing.assert_allclose(batched[0], expected, rtol=1e-12)
    assert batched.shape == (2, 4, 4)


@pytest.mark.parametrize("layers", [1.0, None, iter([np.eye(2)])])
def test_layers_that_are_not_in_a_list_are_named(layers):
    with pytest.raises(TypeError, match="Ws must be a list of layers, not"):
        preconditioner([1.0, 0.0], layers)


@pytest.mark.parametrize(("depth", "delta", "readout"), [(2, -0.7, 1.2), (4, -0.3, 0.0), (3, 0.0, 0.8)])
def test_isotropic_init_satisfies_its_definition(depth, delta, readout):
    a, Ws = isotropic_init(4, depth, delta, 3, readout)
    assert len(Ws) == depth - 1
    np.testing.assert_allclose(np.outer(a, a) - Ws[-1] @ Ws[-1].T, delta * np.eye(4), atol=1e-14)
    for below, above in pairwise(Ws):
        np.testing.assert_allclose(above.T @ above, below @ below.T, atol=1e-14)
        assert np.abs(above - below).max() > 0.1
    size = readout**2 * (readout**2 - delta) ** (depth - 1)
    assert predictor(a, Ws) @ predictor(a, Ws) == pytest.approx(size, abs=1e-14)


@pytest.mark.parametrize("delta", [-0.7, 0.0])
def test_isotropic_preconditioner_is_that_of_isotropic_weights(delta):
    a, Ws = isotropic_init(3, 4, delta, np.random.default_rng(5), 0.9)
    beta = predictor(a, Ws)
    np.testing.assert_allclose(isotropic_preconditioner(beta, delta, 4), preconditioner(a, Ws), atol=1e-13)


def test_isotropic_init_follows_a_torch_generator():
    a, Ws = isotropic_init(3, 3, -0.5, torch.Generator().manual_seed(1), 1.0)
    assert a.dtype == torch.float32
    torch.testing.assert_close(torch.outer(a, a) - Ws[-1] @ Ws[-1].T, -0.5 * torch.eye(3))
    with pytest.raises(ValueError, match="delta must be zero or negative"):
        isotropic_init(2, 3, 0.5, 0)
    with pytest.raises(ValueError, match="depth must be at least 2"):
        isotropic_init(2, 1, -0.5, 0)


def flow_end(X, y, a, Ws):
    """β where gradient flow of the weights on |Xβ - y|²/2 has fitted the data to 1e-11."""
    shapes = [a.shape, *(W.shape for W in Ws)]
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1].astype(int)

    def unpack(state):
        parts = [p.reshape(shape) for p, shape in zip(np.split(state, cuts), shapes, strict=True)]
        return parts[0], parts[1:]

    def velocity(_, state):
        a, Ws = unpack(state)
        inputs = [-X.T @ (X @ predictor(a, Ws) - y)]
        for W in Ws:
            inputs.append(W @ inputs[-1])
        signal, moves = a, []
        for W, x in zip(reversed(Ws), reversed(inputs[:-1]), strict=True):
            moves.insert(0, np.outer(signal, x))
            signal = W.T @ signal
        return np.concatenate([inputs[-1], *(m.ravel() for m in moves)])

    def fitted(_, state):
        return np.linalg.norm(X @ predictor(*unpack(state)) - y) - 1e-11

    fitted.terminal = True
    start = np.concatenate([a, *(W.ravel() for W in Ws)])
    run = solve_ivp(velocity, (0, 1e4), start, method="LSODA", events=fitted, rtol=1e-12, atol=1e-14)
    assert run.status == 1
    return predictor(*unpack(run.y[:, -1]))


@pytest.mark.parametrize(
    ("depth", "delta", "readout"),
    [(2, 0.0, 0.6), (3, 0.0, 0.7), (4, 0.0, 0.8), (3, -0.4, 0.5), (2, -1.0, 0.0)],
)
def test_gradient_flow_of_the_weights_ends_at_the_interpolating_solution(depth, delta, readout):
    rng = np.random.default_rng(depth)
    X, y = rng.normal(size=(2, 4)), rng.normal(size=2)
    a, Ws = isotropic_init(4, depth, delta, rng, readout)
    learned = flow_end(X, y, a, Ws)
    beta0 = predictor(a, Ws)
    np.testing.assert_allclose(interpolating_solution(X, y, beta0, depth, delta), learned, atol=1e-9)
    if depth == 3:
        other = interpolating_solution(X, y, beta0, depth + 1, delta)
        assert np.abs(other - learned).max() > 1e-3


@pytest.mark.parametrize(("depth", "delta"), [(1, 0.0), (2, 0.0), (5, 0.0), (3, -0.2)])
def test_interpolating_solution_minimises_the_bias(depth, delta):
    rng = np.random.default_rng(7)
    X, y, beta0 = rng.normal(size=(2, 4)), rng.normal(size=2), rng.normal(size=4)
    least, null = np.linalg.pinv(X) @ y, np.linalg.svd(X)[2][2:].T

    def objective(z):
        return inductive_bias(least + null @ z, beta0, depth, delta)

    found = minimize(objective, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
    solution = interpolating_solution(X, y, beta0, depth, delta)
    np.testing.assert_allclose(least + null @ found.x, solution, atol=2e-6)
    assert inductive_bias(solution, beta0, depth, delta) <= found.fun + 1e-13


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e9, 1e12])
def test_where_the_data_fix_the_interpolator_the_start_does_not_matter(depth, size):
    rng = np.random.default_rng(0)
    for inputs in range(2, 6):
        X, beta = rng.normal(size=(inputs + 2, inputs)), rng.normal(size=inputs)
        learned = interpolating_solution(X, X @ beta, size * rng.normal(size=inputs), depth, -0.3)
        np.testing.assert_allclose(learned, beta, rtol=1e-12)


@pytest.mark.parametrize(("depth", "delta"), [(2, 0.0), (3, -0.3), (6, 0.0), (20, -5.0)])
@pytest.mark.parametrize("size", [1e-190, 1e-9, 1.0, 1e9, 1e190])
def test_interpolating_solution_fits_and_keeps_the_dual_across_the_data(depth, delta, size):
    rng = np.random.default_rng(depth)
    X, y, beta0 = rng.normal(size=(2, 5)), size * rng.normal(size=2), size * rng.normal(size=5)
    learned = interpolating_solution(X, y, beta0, depth, delta)
    rounding = 1e-14 * np.abs(learned).max()
    np.testing.assert_allclose(X @ learned, y, atol=rounding)
    beta = torch.tensor(learned, requires_grad=True)
    (slope,) = torch.autograd.grad(inductive_bias(beta, beta0, depth, delta), beta)
    moved = np.linalg.norm(np.linalg.svd(X)[2][2:] @ slope.numpy())
    nothing = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    (dual0,) = torch.autograd.grad(inductive_bias(nothing, beta0, depth, delta), nothing)
    assert moved <= 1e-13 * (np.linalg.norm(slope) + np.linalg.norm(dual0))


def bisected(function, high):
    low = mpmath.mpf(0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def exact_bias(beta, beta0, depth, delta):
    """Q with 40 digits, ‖a‖² by bisection."""
    L, k = depth - 1, mpmath.mpf(depth - 1) / 2
    with mpmath.workdps(60):
        balance = mpmath.mpf(delta)

        def weights(vector):
            x = sum(mpmath.mpf(float(b)) ** 2 for b in vector)
            t = bisected(lambda t: (t - balance) ** L * t - x, x + 1 - balance)
            return t, t - balance

        (t, s), (_, s0) = weights(beta), weights(beta0)
        phi = t * s**k - (s ** (k + 1) - (-balance) ** (k + 1)) / (L + 2)
        tilt = sum(mpmath.mpf(float(b)) * mpmath.mpf(float(b0)) for b, b0 in zip(beta, beta0, strict=True))
        return float(phi - tilt * s0 ** (-k))


def test_bias_has_all_digits_near_zero_and_far_away():
    beta0 = np.array([0.5, 0.25])
    for scale in (1e-6, 1e-2, 1.0, 1e3):
        beta = scale * np.array([0.75, -1.5])
        for depth, delta in ((2, -0.5), (4, -2.0), (3, -1e-6)):
            expected = exact_bias(beta, beta0, depth, delta)
            assert inductive_bias(beta, beta0, depth, delta) == pytest.approx(expected, rel=2e-14)


def test_root_is_solved_for_extreme_values():
    r, c = np.meshgrid(np.logspace(-30, 30, 25), np.r_[0.0, np.logspace(-2, 2, 9)])
    for hidden in (1, 2, 7, 100):
        a, s = balance_root(np, r, c, hidden)
        np.testing.assert_allclose(2 * np.log(a) + hidden * np.log(s), 2 * np.log(r), atol=1e-11 * hidden)
        np.testing.assert_allclose(s - a**2, c, rtol=1e-15, atol=1e-15 * s.max())


def test_gradients_are_those_of_the_potential_and_of_the_solution():
    beta0 = torch.tensor([0.3, -0.4, 0.1], dtype=torch.float64)
    beta = torch.tensor([0.5, 1.0, -0.2], dtype=torch.float64, requires_grad=True)
    for depth, delta in ((3, 0.0), (4, -0.3)):
        assert torch.autograd.gradcheck(lambda b, p=depth, q=delta: inductive_bias(b, beta0, p, q), (beta,))
    X = torch.tensor([[1.0, 0.5, -0.3]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda X, y: interpolating_solution(X, y, beta0, 3, -0.2), (X, y))
    at_zero = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(inductive_bias(at_zero, beta0, 3, -0.2), at_zero)
    assert torch.isfinite(gradient).all()


def test_batches_and_errors():
    X, y = np.array([[1.0, 0.0, 0.0]]), np.array([2.0])
    starts = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    solutions = interpolating_solution(X, y, starts, 3)
    for start, solution in zip(starts, solutions, strict=True):
        np.testing.assert_allclose(solution, interpolating_solution(X, y, start, 3), rtol=1e-14)
    with pytest.raises(ValueError, match=r"beta0 must be a non-zero vector .* index 1"):
        interpolating_solution(X, y, starts * [[1.0], [0.0]], 3)
    with pytest.raises(ValueError, match="y must be a vector X β"):
        interpolating_solution(np.zeros((1, 3)), y, starts, 3)
    with pytest.raises(ValueError, match=r"X must have at least one sample, a row; its shape is \(0, 3\)"):
        interpolating_solution(np.zeros((0, 3)), np.zeros(0), starts, 3)
    with pytest.raises(ValueError, match="delta must be zero or negative"):
        inductive_bias(starts, starts, 2, 0.5)
    with pytest.raises(ValueError, match="depth must be a positive integer"):
        inductive_bias(starts, starts, 2.5)
    with pytest.raises(ValueError, match=r"Ws\[1\] has 2 rows, but a takes 3 inputs"):
        preconditioner(np.ones(3), [np.ones((2, 2)), np.ones((2, 2))])
    with pytest.raises(ValueError, match=r"Ws\[0\] must have at least one input; its shape is \(2, 0\)"):
        preconditioner(np.ones(2), [np.ones((2, 0))])
    with pytest.raises(ValueError, match=r"Ws\[1\] must have at least one input"):
        preconditioner(np.ones(2), [np.ones((0, 3)), np.ones((2, 0))])


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize(("name", "depth"), [("X", 3), ("y", 3), ("beta0", 1), ("delta", 1)])
def test_without_checks_a_member_that_is_not_finite_is_nan_and_the_others_are_not(name, depth, convert):
    rng = np.random.default_rng(0)
    given = {"X": rng.normal(size=(3, 2, 4)), "y": rng.normal(size=(3, 2)), "beta0": rng.normal(size=(3, 4))}
    given["delta"] = -rng.uniform(size=3)
    expected = interpolating_solution(**given, depth=depth)
    given[name] = given[name].copy()
    given[name][(1, *(0,) * (given[name].ndim - 1))] = np.nan
    tensors = {key: convert(value) for key, value in given.items()}
    found = np.asarray(interpolating_solution(**tensors, depth=depth, check=False))
    np.testing.assert_allclose(found[[0, 2]], expected[[0, 2]], rtol=1e-13)
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("name", ["delta", "readout"])
def test_an_isotropic_start_has_one_balance_and_one_length(name):
    with pytest.raises(TypeError, match=f"{name} must be one real number, got array"):
        isotropic_init(2, 3, **{"delta": -1.0, "generator": 0} | {name: np.array([-1.0, -2.0])})


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_depth_and_size_may_be_any_integral_number(kind):
    beta, beta0 = np.array([1.0, 2.0], np.float32), np.array([0.5, 0.0], np.float32)
    bias = inductive_bias(beta, beta0, kind(3), -0.5)
    assert (bias, bias.dtype) == (inductive_bias(beta, beta0, 3, -0.5), np.float32)
    given, expected = isotropic_init(kind(2), kind(1 + 2), -0.5, 1), isotropic_init(2, 3, -0.5, 1)
    np.testing.assert_array_equal(given[1], expected[1])


@pytest.mark.parametrize("refused", [True, np.True_, 2.0, np.float64(2), "2", None, 0, -1])
def test_depth_and_size_must_be_positive_integers(refused):
    with pytest.raises(ValueError, match="depth must be a positive integer"):
        inductive_bias([1.0], [1.0], refused)
    with pytest.raises(ValueError, match="d must be a positive integer"):
        isotropic_init(refused, 2, -0.5, 0)
