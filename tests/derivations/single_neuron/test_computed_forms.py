"""The stable forms cover the domains of the quantities, and the compiled functions keep their promises at the edges."""

import mpmath
import numpy as np
import pytest
import sympy as sp

import symdyn
from derivations.single_neuron import (
    conserved_delta,
    grad_potential,
    hess_potential,
    inverse_preconditioner,
    potential,
    preconditioner,
    time_warp,
)
from derivations.single_neuron.computed_forms import QUANTITIES

ZERO = np.zeros(3)


@pytest.mark.parametrize(
    "quantity", [q.quantity for q in QUANTITIES if q.quantity.cells], ids=lambda q: q.name
)
@pytest.mark.parametrize("balance", [-2, sp.Rational(-1, 10**9), 0, sp.Rational(1, 10**9), 3])
@pytest.mark.parametrize("square", [0, sp.Rational(1, 10**9), 5])
def test_some_form_applies_everywhere_on_the_domain(quantity, balance, square):
    from symdyn.compile.named import unfold

    at = (sp.Integer(0) + balance, sp.Integer(0) + square)
    if unfold(quantity.at(sp.sympify(quantity.domain), at)) == sp.true:
        assert any(unfold(quantity.at(cell.condition, at)) == sp.true for cell in quantity.cells)


def test_values_at_the_origin():
    assert preconditioner(ZERO, 2.0, 3.0, 5.0).tolist() == (2 * np.eye(3)).tolist()
    assert inverse_preconditioner(ZERO, 2.0).tolist() == (np.eye(3) / 2).tolist()
    assert potential(ZERO, np.array([5.0, 0.0, -5.0])).tolist() == [0.0, 0.0, 0.0]
    assert grad_potential(np.zeros((2, 3)), np.array([2.0, 0.0])).tolist() == [[0.0] * 3] * 2
    np.testing.assert_allclose(hess_potential(ZERO, 2.0), np.eye(3), rtol=1e-15)
    assert time_warp(ZERO, np.array([2.0, -2.0])).tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    ("function", "balance"),
    [
        (preconditioner, -1.0),
        (grad_potential, -1.0),
        (inverse_preconditioner, 0.0),
        (inverse_preconditioner, -1.0),
        (hess_potential, 0.0),
        (hess_potential, -1.0),
    ],
)
def test_what_has_no_value_at_the_origin_says_so(function, balance):
    with pytest.raises(ValueError, match="beta must be non-zero where delta"):
        function(ZERO, balance)


@pytest.mark.parametrize("function", [preconditioner, inverse_preconditioner, conserved_delta])
@pytest.mark.parametrize(("rates", "blamed"), [((0.0, 1.0), "eta_a"), ((1.0, [2.0, -2.0]), "eta_w")])
def test_rates_are_positive(function, rates, blamed):
    first, second = (1.0, np.ones(2)) if function is conserved_delta else (np.ones(2), 1.0)
    with pytest.raises(ValueError, match=f"{blamed} must be positive"):
        function(first, second, *rates)


def test_every_function_of_the_topic_refuses_a_rate_that_is_not_positive():
    checked = set()
    for result in symdyn.results("single_neuron"):
        rates = [] if result.value is None else [a.name for a in result.arguments if a.name[:4] == "eta_"]
        values = {a.name: 1.0 for a in result.arguments if hasattr(a.symbol, "is_Symbol")} if rates else {}
        vectors = {a.name: [1.0, 2.0] for a in result.arguments if a.name not in values} if rates else {}
        for rate in rates:
            with pytest.raises(ValueError, match=f"^{rate} must be positive"):
                result(**vectors, **{**values, rate: -1.0})
            checked.add(result.name)
    assert {"conserved_delta", "polar_dynamics", "balanced_preconditioner", "gradient_flow"} <= checked


@pytest.mark.parametrize("sign", [1, -1])
def test_potential_and_gradient_keep_their_digits_over_the_decades(sign):
    beta = np.array([3.0, -4.0, 12.0])
    for scale in (1e-9, 1e-3, 1.0, 1e4):
        for size in (1e-6, 1.0, 1e6):
            with mpmath.workdps(80):
                d, length = mpmath.mpf(sign * size), 13 * mpmath.mpf(scale)
                k = mpmath.sqrt(d**2 + 4 * length**2)
                level = mpmath.sqrt(2) * max(d, 0) ** mpmath.mpf(1.5) / 3
                wanted = float((k - 2 * d) * mpmath.sqrt(k + d) / 3 + level)
                slope = float(mpmath.sqrt(k - d))
            assert potential(scale * beta, sign * size) == pytest.approx(wanted, rel=4e-15)
            np.testing.assert_allclose(
                grad_potential(scale * beta, sign * size), slope * beta / 13, rtol=4e-15
            )
