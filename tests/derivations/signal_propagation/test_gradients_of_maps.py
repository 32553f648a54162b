"""Tensors through the maps: torch in, torch out, with derivatives that agree with differences of the maps."""

from __future__ import annotations

import math

import pytest
import torch

from derivations.signal_propagation import chi, correlation_gap, correlation_map, fixed_point, length_map

NAMES = ("tanh", "erf", "relu", "sin", "gelu", "hard_tanh", torch.nn.functional.silu)


def numbers(*entries):
    return torch.tensor(entries, dtype=torch.float64, requires_grad=True)


def agrees(function, arguments, **options):
    return torch.autograd.gradcheck(function, arguments, eps=1e-5, atol=1e-7, rtol=1e-6, **options)


@pytest.mark.parametrize("phi", NAMES)
def test_length_map_and_chi(phi):
    q, alpha, bias, gamma = numbers(0.4, 1.7), numbers(1.3, 0.8), numbers(0.2), numbers(0.5)
    assert agrees(lambda *x: length_map(*x, phi), (q, alpha, bias, gamma))
    assert agrees(lambda q, a, b, g: chi(a, b, g, phi, q=q), (q, alpha, bias, gamma))


@pytest.mark.parametrize("phi", NAMES)
def test_correlation_map_and_gap(phi):
    c, q, alpha = numbers(0.3, -0.5, 0.9), numbers(0.4, 1.7, 0.9), numbers(1.3)
    bias, gamma = numbers(0.2), numbers(0.5)
    assert agrees(lambda *x: correlation_map(*x, phi), (c, q, alpha, bias, gamma))
    assert agrees(lambda *x: correlation_gap(*x, phi), (numbers(0.3, 1.2, 0.05), q, alpha, bias, gamma))


@pytest.mark.parametrize("phi", ["tanh", "erf", "relu"])
def test_fixed_points_and_chi_at_them(phi):
    alpha, bias, gamma = numbers(1.1, 0.8), numbers(0.3), numbers(0.9, 0.5)
    assert agrees(lambda *x: fixed_point(*x, phi), (alpha, bias, gamma))
    assert agrees(lambda *x: chi(*x, phi), (alpha, bias, gamma))


def test_the_slope_of_the_correlation_map_at_one_is_chi():
    q = fixed_point(1.5, 0.1, 1.0, "tanh")
    gap = numbers(1e-12)
    correlation_gap(gap, float(q), 1.5, 0.1, 1.0, "tanh").sum().backward()
    assert float(gap.grad) == pytest.approx(float(chi(1.5, 0.1, 1.0, "tanh")), rel=1e-10)


def test_a_variance_is_found_by_descent():
    alpha = numbers(1.0)
    optimiser = torch.optim.SGD([alpha], lr=2.0)
    for _ in range(60):
        optimiser.zero_grad()
        (chi(alpha, 0.1, 1.0, "erf") - 1).pow(2).sum().backward()
        optimiser.step()
    assert float(chi(alpha.detach(), 0.1, 1.0, "erf")) == pytest.approx(1, abs=1e-4)


def test_a_second_derivative_is_refused_and_no_gradient_is_kept_where_none_is_wanted():
    q = numbers(0.7)
    (first,) = torch.autograd.grad(length_map(q, 1.0, 0.1, 1.0, "tanh").sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match=r"once_differentiable|does not require grad"):
        torch.autograd.grad(first.sum(), q)
    with torch.no_grad():
        assert not length_map(q, 1.0, 0.1, 1.0, "tanh").requires_grad
    assert not length_map(q.detach(), 1.0, 0.1, 1.0, "tanh").requires_grad
    single = q.detach().to(torch.float32).requires_grad_(True)
    value = length_map(single, 1.0, 0.1, 1.0, "tanh")
    value.sum().backward()
    assert value.dtype == single.grad.dtype == torch.float32
    assert math.isfinite(float(single.grad))
