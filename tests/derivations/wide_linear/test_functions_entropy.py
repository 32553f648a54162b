"""Hyperbolic entropy over 24 decades of its argument, and its limits."""

import mpmath as mp
import numpy as np
import pytest
import torch

from derivations.wide_linear import (
    hyperbolic_entropy,
    hyperbolic_entropy_gradient,
    hyperbolic_entropy_hessian,
)

FUNCTIONS = (hyperbolic_entropy, hyperbolic_entropy_gradient, hyperbolic_entropy_hessian)


def exact(x, delta, eta_a, eta_w):
    x, delta, eta_a, eta_w = (mp.mpf(float(v)) for v in (x, delta, eta_a, eta_w))
    r = mp.sqrt(eta_a * eta_w)
    root = mp.sqrt(delta**2 + (2 * r * x) ** 2)
    u = mp.asinh(2 * r * x / abs(delta))
    return (2 * r * x * u - root + abs(delta)) / (4 * r * r), u / (2 * r), 1 / root


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-15), (np.float32, 1e-6)])
def test_value_gradient_and_hessian_have_no_cancellation(dtype, tolerance, convert):
    for exponent in np.linspace(-12, 12, 49):
        for delta in (1.0, -3.0, 1e-6, 1e6):
            x = dtype((-1) ** int(exponent * 2) * 10.0**exponent * abs(delta))
            point = [dtype(v) for v in (x, delta, 1.7, 0.3)]
            with mp.workdps(50):
                truth = exact(*point)
            for function, true in zip(FUNCTIONS, truth, strict=True):
                value = function(*(convert(v) for v in point))
                assert abs(mp.mpf(float(value)) - true) <= tolerance * abs(true)


def test_the_limits_are_the_penalties_on_squares_and_on_absolute_values():
    x = np.array([-2.0, 0.3, 5.0])
    far = 1e9 * hyperbolic_entropy(x, 1e9)
    np.testing.assert_allclose(far, x**2 / 2, rtol=1e-12)
    near = hyperbolic_entropy(x, 1e-150, eta_a=4.0)
    np.testing.assert_allclose(near, np.abs(x) / 4 * (np.log(8 * np.abs(x) / 1e-150) - 1), rtol=1e-14)
    slopes = [hyperbolic_entropy(x, 10.0**-n) / np.log(10.0**n) for n in (10, 300)]
    assert np.abs(slopes[1] - np.abs(x) / 2).max() < np.abs(slopes[0] - np.abs(x) / 2).max() / 20


def test_derivatives_in_torch_are_the_closed_forms_at_zero_too():
    x = torch.tensor([0.0, 1e-9, -2.0, 5.0], dtype=torch.float64, requires_grad=True)
    delta = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(hyperbolic_entropy(x, delta).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(first, hyperbolic_entropy_gradient(x, delta), rtol=1e-14, atol=1e-17)
    torch.testing.assert_close(second, hyperbolic_entropy_hessian(x, delta), rtol=1e-14, atol=0)
    assert torch.autograd.gradcheck(hyperbolic_entropy, (x, delta))


def test_it_is_even_in_both_arguments_and_zero_at_zero():
    x = np.array([1e-7, 0.4, 3e5])
    for sign_x, sign_delta in ((-1, 1), (1, -1)):
        np.testing.assert_array_equal(
            hyperbolic_entropy(sign_x * x, sign_delta * 0.3), hyperbolic_entropy(x, 0.3)
        )
    np.testing.assert_array_equal(hyperbolic_entropy_gradient(-x, 0.3), -hyperbolic_entropy_gradient(x, 0.3))
    assert hyperbolic_entropy(0.0, 0.3) == 0.0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_input_is_named_or_nan(function):
    with pytest.raises(ValueError, match=r"delta must be finite and not zero; it is not at index 1"):
        function([1.0, 2.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="x must be finite"):
        function(np.inf, 1.0)
    with pytest.raises(ValueError, match="eta_w must be positive"):
        function(1.0, 1.0, eta_w=-1.0)
    values = function([1.0, 2.0], [1.0, 0.0], check=False)
    assert np.isfinite(values[0]) and np.isnan(values[1])


RANGES = [
    (torch.float64, (-300, -200, -150, -100, -7, -1, 0, 1, 6, 7, 100, 150, 200, 300), 1e-15),
    (torch.float32, (-37, -30, -20, -7, -1, 0, 1, 6, 7, 20, 30, 37), 1e-6),
]


@pytest.mark.parametrize(("dtype", "exponents", "tolerance"), RANGES, ids=["float64", "float32"])
def test_values_and_derivatives_are_exact_at_any_ratio_that_floats_have(dtype, exponents, tolerance):
    """For all signs and x = 0; what a float cannot hold is infinite or zero."""
    smallest, largest = torch.finfo(dtype).tiny, torch.finfo(dtype).max
    points = [(0.0, -1.7 * 10.0**n) for n in exponents]
    points += [(s * 1.3 * 10.0**m, s * 1.7 * 10.0**n) for m in exponents for n in exponents for s in (1, -1)]
    x, delta = torch.tensor(points, dtype=dtype).T.clone().requires_grad_().unbind()
    found = []
    for function in FUNCTIONS:
        value = function(x, delta)
        as_numpy = function(x.detach().numpy(), delta.detach().numpy())
        torch.testing.assert_close(value.detach().numpy(), as_numpy, rtol=2 * tolerance, atol=0)
        first = torch.autograd.grad(value.sum(), (x, delta), create_graph=True)
        found += [value, *first]
    found.append(torch.autograd.grad(found[1].sum(), x)[0])
    rows = torch.stack(found, -1).tolist()
    for point, row in zip(zip(x.tolist(), delta.tolist(), strict=True), rows, strict=True):
        with mp.workdps(700):
            q, dual, curvature = exact(*point, 1, 1)
            a, b = (mp.mpf(v) for v in point)
            by_delta = (1 - mp.sqrt(1 + (2 * a / b) ** 2)) / 4 * mp.sign(b)
            of_entropy, of_dual = (q, dual, by_delta), (dual, curvature, -a * curvature / b)
            of_curvature = (curvature, -4 * a * curvature**3, -b * curvature**3)
            truth = (*of_entropy, *of_dual, *of_curvature, curvature)
        for value, true in zip(row, truth, strict=True):
            # dq/ddelta passes through q itself and sqrt|delta|, which may be smaller than any float
            floor = smallest * max(1, 1 / abs(b) ** 0.5) if true is by_delta else smallest
            if abs(true) > largest:
                assert abs(value) == np.inf, point
            else:
                assert abs(value - true) <= tolerance * abs(true) + floor, point


def test_a_learning_rate_moves_the_potential_by_half_its_slope_less_itself():
    """eta dq/deta = x q' / 2 - q, also where x / |delta| is no float."""
    rates = torch.tensor([1.7, 0.3], dtype=torch.float64, requires_grad=True)
    for x, delta in ((2.0, 0.7), (2.0, 1e-200), (-1e200, 1e-200)):
        (slope,) = torch.autograd.grad(hyperbolic_entropy(x, delta, *rates), rates)
        with mp.workdps(50):
            q, dual, _ = exact(x, delta, *rates.tolist())
            expected = float(x * dual / 2 - q)
        np.testing.assert_allclose(rates.tolist() * slope.numpy(), expected, rtol=1e-14)
