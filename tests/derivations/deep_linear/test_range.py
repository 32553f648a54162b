"""The functions of the deep linear network over the range of floats: against many digits, and under scaling."""

from itertools import product

import mpmath
import numpy as np
import pytest
import torch

from derivations.deep_linear import (
    inductive_bias,
    interpolating_solution,
    isotropic_init,
    isotropic_preconditioner,
    preconditioner,
)

DEPTHS = (1, 2, 3, 12, 101)
DIGITS = 900
"""Enough for s^k - (-δ)^k where ‖a‖² is 1e-700 of -δ."""
GRIDS = {
    np.float64: ((0.0, 1e-200, 1e-4, 1.0, 1e150), (1e-300, 1e-200, 1e-6, 1.0, 1e6, 1e200, 1e300)),
    np.float32: ((0.0, 1e-30, 1e-4, 1.0, 1e20), (1e-36, 1e-24, 1e-6, 1.0, 1e6, 1e24, 1e36)),
}


def exact(vector):
    return [mpmath.mpf(float(v)) for v in vector]


def length(vector):
    return mpmath.sqrt(sum(v * v for v in vector))


def exact_root(r, c, L):
    """(‖a‖, s) with ‖a‖ s^{L/2} = r and s = ‖a‖² + c: Newton in log ‖a‖² from above, until digits repeat."""
    if r == 0:
        return r, c
    x = 2 * mpmath.log(r)
    log_t = x / (L + 1) if c == 0 else min(x / (L + 1), x - L * mpmath.log(c))
    for _ in range(100):
        t = mpmath.exp(log_t)
        step = (log_t + L * mpmath.log(t + c) - x) / (1 + L * t / (t + c))
        log_t -= step
        if abs(step) < mpmath.mpf(10) ** (20 - DIGITS):
            break
    return mpmath.exp(log_t / 2), mpmath.exp(log_t) + c


def exact_solution(p, beta0, depth, c):
    """β_∞ across the one input, for X = (1, 0) and y = p."""
    L, beta0, c = depth - 1, exact(beta0), mpmath.mpf(float(c))
    u = exact_root(length(beta0), c, L)[1] ** mpmath.mpf(-L / 2) * beta0[1]
    s = exact_root(mpmath.mpf(float(p)), u * u + c, L)[1]
    return s ** mpmath.mpf(L / 2) * u


def exact_bias(beta, beta0, depth, c):
    """Φ_δ(β) and ∇Φ_δ(β_0)ᵀβ, and the smaller of ‖a‖ and ‖a_0‖ where they are not zero."""
    L, k, c = depth - 1, mpmath.mpf(depth + 1) / 2, mpmath.mpf(float(c))
    beta, beta0 = exact(beta), exact(beta0)
    (a, s), (a0, s0) = (exact_root(length(v), c, L) for v in (beta, beta0))
    tilt = s0 ** mpmath.mpf(-L / 2) * sum(x * y for x, y in zip(beta, beta0, strict=True))
    return a * a * s ** (k - 1) - (s**k - c**k) / (2 * k), tilt, min(a, a0 or a)


def agrees(value, expected, size, depth):
    """Whether a float is right to the rounding of L factors, relative to `size`; infinite where that is too large."""
    limits = np.finfo(value.dtype)
    if size > limits.max / 4:
        return not np.isnan(value) and (abs(expected) < limits.max or np.isinf(value))
    rounding = 4 * depth * float(limits.eps) * size + 4 * float(limits.smallest_subnormal)
    return abs(mpmath.mpf(float(value)) - expected) <= max(rounding, 64 * float(limits.eps * limits.tiny))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", DEPTHS)
def test_bias_and_solution_have_their_digits_over_the_range_of_floats(depth, dtype):
    balances, scales = GRIDS[dtype]
    X, tiny = np.array([[1.0, 0.0]], dtype), float(np.finfo(dtype).tiny)
    for c, scale, start in product(balances, scales, (0.0, None, scales[1], 1.0, scales[-2])):
        if start == c == 0.0:
            continue
        beta = np.array([3.0, -1.0], dtype) * dtype(scale)
        beta0 = np.array([0.5, 2.0], dtype) * dtype(scale if start is None else start)
        case = (c, scale, start)
        with mpmath.workdps(DIGITS):
            solution = interpolating_solution(X, beta[:1], beta0, depth, dtype(-c))
            expected = exact_solution(beta[0], beta0, depth, dtype(c))
            assert solution.dtype == dtype
            assert solution[0] == beta[0], case
            assert agrees(solution[1], expected, abs(expected), depth), case
            potential, tilt, smallest = exact_bias(beta, beta0, depth, dtype(c))
            if smallest > tiny:
                bias = inductive_bias(beta, beta0, depth, dtype(-c))
                assert agrees(bias, potential - tilt, potential + abs(tilt), depth), case


@pytest.mark.parametrize("depth", [2, 3, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_balance_solution_and_bias_are_homogeneous(depth, dtype):
    rng = np.random.default_rng(depth)
    X, beta, beta0 = (rng.normal(size=size).astype(dtype) for size in ((2, 4), 4, 4))
    solution = interpolating_solution(X, X @ beta, beta0, depth)
    bias, degree = inductive_bias(beta, beta0, depth), (depth + 1) / depth
    limits = np.finfo(dtype)
    for exponent in range(limits.minexp + 40, limits.maxexp - 10, 37):
        scale = dtype(2.0) ** dtype(exponent)
        scaled = interpolating_solution(X, scale * (X @ beta), scale * beta0, depth) / scale
        np.testing.assert_allclose(scaled, solution, rtol=40 * limits.eps, atol=40 * limits.eps)
        if limits.minexp < degree * exponent < limits.maxexp - 10:
            root = dtype(2.0 ** (degree * exponent / 2))
            rescaled = inductive_bias(scale * beta, scale * beta0, depth) / root / root
            np.testing.assert_allclose(rescaled, bias, rtol=400 * limits.eps)


def test_a_network_that_starts_at_zero_learns_the_least_norm_and_its_bias_is_the_potential():
    single = np.float32
    assert interpolating_solution([[1.0, 0.0]], [3.0], [0.0, 0.0], 100, -1e-6).tolist() == [3.0, 0.0]
    X, y, zero = np.array([[1, 0]], single), np.array([3], single), np.zeros(2, single)
    assert interpolating_solution(X, y, zero, 12, -1e-4).tolist() == [3.0, 0.0]
    assert interpolating_solution(X, y, np.array([1, 0], single), 1000, -1e-30).tolist() == [3.0, 0.0]
    expected = inductive_bias([3.0, 0.0], [0.0, 0.0], 30, -1e-4)
    assert inductive_bias(np.array([3, 0], single), zero, 30, -1e-4) == pytest.approx(expected, rel=1e-6)
    assert inductive_bias([3.0, 0.0], [0.0, 0.0], 400, -1e-6) == pytest.approx(
        inductive_bias([3.0, 0.0], [0.0, 0.0], 400, -1e-300), rel=1e-2
    )


def test_a_large_balance_leaves_linear_regression():
    """Q → (-δ)^{-L/2} (‖β‖²/2 - β_0ᵀβ), and β_∞ → X⁺y + (I - X⁺X)β_0."""
    for depth, delta in ((3, -1e150), (60, -1e6), (90, -1e6)):
        expected = (-delta) ** ((1 - depth) / 2) * 1.5
        bias = inductive_bias([3.0, 0.0], [1.0, 1.0], depth, delta)
        assert bias == pytest.approx(expected, rel=1e-12, abs=0)
        assert interpolating_solution([[1, 0]], [3], [1, 2], depth, delta) == pytest.approx([3, 2], rel=1e-12)
    assert interpolating_solution([[1, 0]], [3], [1, 2], 1000, -1e8) == pytest.approx([3, 2], rel=1e-12)


def gradients(function, *arguments):
    arguments = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in arguments]
    return [g.numpy() for g in torch.autograd.grad(function(*arguments).sum(), arguments)]


@pytest.mark.parametrize("scale", [2.0**-640, 2.0**-300, 2.0**300, 2.0**640])
def test_gradients_of_the_bias_are_homogeneous_where_it_is_in_range(scale):
    beta, beta0 = np.array([3.0, 0.5]), np.array([1.0, -2.0])
    scaled = gradients(lambda b, b0: inductive_bias(b, b0, 2), scale * beta, scale * beta0)
    unscaled = gradients(lambda b, b0: inductive_bias(b, b0, 2), beta, beta0)
    np.testing.assert_allclose(np.array(scaled) / np.sqrt(scale), unscaled, rtol=1e-13)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**-600, 2.0**600, 2.0**990])
def test_gradients_of_the_solution_are_homogeneous(scale):
    X, y, beta0 = np.array([[1.0, 0.25]]), np.array([3.0]), np.array([1.0, -2.0])
    scaled = gradients(lambda *given: interpolating_solution(*given, 3), X, scale * y, scale * beta0)
    unscaled = gradients(lambda *given: interpolating_solution(*given, 3), X, y, beta0)
    for one, other, power in zip(scaled, unscaled, (scale, 1, 1), strict=True):
        np.testing.assert_allclose(one / power, other, rtol=1e-13)


def test_gradients_at_a_start_at_zero_are_finite_where_the_true_ones_are():
    of_X, of_y, of_start, of_delta = gradients(
        lambda X, y, beta0, delta: interpolating_solution(X, y, beta0, 100, delta),
        [[1.0, 0.0]],
        [3.0],
        [0.0, 0.0],
        -1e-6,
    )
    assert (of_X.tolist(), of_y.tolist(), of_delta) == ([[-3.0, 3.0]], [1.0], 0.0)
    assert of_start == pytest.approx([0.0, 1e297 * 3 ** (99 / 100)], rel=1e-5)
    of_X, of_y, _ = gradients(
        lambda X, y, delta: interpolating_solution(X, y, [0.0, 0.0], 400, delta), [[1.0, 0.0]], [3.0], -1e-6
    )
    assert (of_X.tolist(), of_y.tolist()) == ([[-3.0, 3.0]], [1.0])
    of_beta, of_start = gradients(lambda b, b0: inductive_bias(b, b0, 3, -0.25), [0.0, 0.0], [0.0, 0.0])
    assert (of_beta.tolist(), of_start.tolist()) == ([0.0, 0.0], [0.0, 0.0])
    of_start = gradients(lambda b0: inductive_bias([3.0, 1.0], b0, 3, -0.25), [0.0, 0.0])[0]
    assert of_start == pytest.approx([-12.0, -4.0], rel=1e-14)


@pytest.mark.parametrize(("depth", "delta"), [(1, -0.3), (2, -0.3), (3, 0.0), (6, -2.0)])
def test_first_and_second_derivatives(depth, delta):
    beta0 = torch.tensor([0.3, -0.4, 0.1], dtype=torch.float64, requires_grad=True)
    beta = torch.tensor([0.5, 1.0, -0.2], dtype=torch.float64, requires_grad=True)
    X = torch.tensor([[1.0, 0.5, -0.3]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
    balance = torch.tensor(delta, dtype=torch.float64, requires_grad=delta < 0)

    def bias(beta, beta0, balance):
        return inductive_bias(beta, beta0, depth, balance)

    def solution(X, y, beta0, balance):
        return interpolating_solution(X, y, beta0, depth, balance)

    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(bias, (beta, beta0, balance))
        assert check(solution, (X, y, beta0, balance))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_slope_of_the_bias_in_the_balance_at_the_rich_limit(depth):
    beta, beta0, step = [0.5, 1.0], [0.3, -0.4], 1e-9
    slope = gradients(lambda delta: inductive_bias(beta, beta0, depth, delta), 0.0)[0]
    change = inductive_bias(beta, beta0, depth) - inductive_bias(beta, beta0, depth, -step)
    assert slope == pytest.approx(change / step, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_isotropic_preconditioner_without_balance_is_homogeneous(exponent):
    beta, scale = np.random.default_rng(0).normal(size=3), 2.0**exponent
    M = isotropic_preconditioner(scale * beta, 0.0, 2)
    np.testing.assert_allclose(M / scale, isotropic_preconditioner(beta, 0.0, 2), rtol=1e-14)
    np.testing.assert_array_equal(isotropic_preconditioner(scale * beta, -1.0, 1), np.eye(3))


def test_isotropic_preconditioner_overflows_where_it_is_too_large_and_nowhere_else():
    M = isotropic_preconditioner([1e200, 0.0], 0.0, 5)
    np.testing.assert_array_equal(M, [[np.inf, 0.0], [0.0, np.inf]])


def test_preconditioner_is_in_range_where_the_squares_of_its_factors_are_not():
    """With a/λ, λ W_1 and W_2/λ, q_1 is of order 1/λ² and M = P_2ᵀP_2 + ‖a‖² W_1ᵀW_1 is left."""
    rng, scale = np.random.default_rng(0), 2.0**600
    a, W1, W2 = rng.normal(size=2), rng.normal(size=(3, 4)), rng.normal(size=(2, 3))
    expected = (W2 @ W1).T @ W2 @ W1 + a @ a * W1.T @ W1
    np.testing.assert_allclose(preconditioner(a / scale, [scale * W1, W2 / scale]), expected, rtol=1e-13)


def test_second_derivatives_of_the_preconditioner_are_there_where_a_signal_vanishes():
    """M = W_1ᵀW_1 + ‖a‖² I is quadratic in a, at a = 0 too."""
    W = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(
        lambda a: preconditioner(a, [W])[0, 0], torch.zeros(1, dtype=torch.float64)
    )
    assert hessian.tolist() == [[2.0]]


@pytest.mark.parametrize(("exponent", "delta"), [(-1000, 0.0), (-490, -0.5), (490, -0.5), (1000, 0.0)])
def test_isotropic_starts_scale_with_the_read_out_and_the_root_of_the_balance(exponent, delta):
    scale = 2.0**exponent
    a, Ws = isotropic_init(3, 3, delta, 5, readout=0.75)
    scaled_a, scaled_Ws = isotropic_init(3, 3, scale * delta * scale, 5, readout=0.75 * scale)
    np.testing.assert_allclose(scaled_a / scale, a, rtol=1e-14)
    np.testing.assert_allclose(np.divide(scaled_Ws, scale), Ws, rtol=1e-14)


@pytest.mark.parametrize("scale", [2.0**-500, 1.0, 2.0**500])
def test_one_input_admits_every_balance_up_to_the_square_of_the_read_out(scale):
    readout = 1.5 * scale
    for part in (0.25, 0.9, 1.0):
        _, (W,) = isotropic_init(1, 2, part * readout**2, 0, readout)
        assert (W[0, 0] / scale) ** 2 == pytest.approx((1 - part) * 2.25, abs=1e-15)
    with pytest.raises(ValueError, match="delta must be at most readout²"):
        isotropic_init(1, 2, 1.001 * readout**2, 0, readout)
    _, (W,) = isotropic_init(1, 2, 1.0, 0, readout=2.0**600)
    assert abs(W[0, 0]) == pytest.approx(2.0**600)
