"""Printed forms at the inputs that tell them from the true ones: exact, or along the flow in many digits."""

from __future__ import annotations

import mpmath as mp
import pytest
import sympy as sp

from symdyn.catalogue.registry import load


def flow(X, y, a0, w0, end=30):
    """The weights of one neuron at unit rates at a late time, in 30 digits."""
    with mp.workdps(30):
        X = [[mp.mpf(x) for x in row] for row in X]

        def velocity(_, z):
            a, w = z[0], z[1:]
            rest = [
                a * sum(p * q for p, q in zip(row, w, strict=True)) - v for row, v in zip(X, y, strict=True)
            ]
            g = [sum(row[k] * q for row, q in zip(X, rest, strict=True)) for k in range(len(w))]
            return [-sum(p * q for p, q in zip(w, g, strict=True)), *(-a * q for q in g)]

        return mp.odefun(velocity, 0, [mp.mpf(a0), *map(mp.mpf, w0)], tol=mp.mpf(10) ** -18)(end)


def position(k, delta, s):
    half = (k**2 + delta) / 2
    return k * mp.sqrt(half + mp.sqrt(half**2 + s**2))


def test_the_square_on_the_line_needs_the_interpolator_of_least_norm():
    beta_star, v = sp.Matrix([1, 1]), sp.Matrix([0, 1])
    beta = beta_star + v
    assert beta.dot(beta) == 5
    assert beta_star.dot(beta_star) + 1 == 3


def test_the_position_on_the_line_is_that_of_the_flow_from_least_norm_alone():
    a, w1, w2 = flow([[1, 0]], [1], 1, (0, 0.5))
    delta = mp.mpf(3) / 4
    z = -mp.mpf(3) / 2 * mp.sqrt(mp.sqrt(mp.mpf(1) / 4 + delta**2 / 4) - delta / 2)
    k = -2 * z / 3
    assert abs(a * w1 - 1) < 1e-12
    assert abs(a * w2 - position(k, delta, 1)) < 1e-12
    assert abs(a * w2 - mp.mpf("0.636009824757")) < 1e-11
    assert abs(1 + position(k, delta, mp.sqrt(2)) - mp.mpf("1.70710678118655")) < 1e-11


def test_at_the_pole_of_the_wrong_sign_mu_turns_round():
    a, w = flow([[1]], [1], 2, (-1,))
    assert a > 0
    assert abs(a * w - 1) < 1e-12  # φ = -1 at the start, but μ = a|w| ends at +1


def test_the_direction_across_the_target_is_zero_over_zero_along_it():
    w0 = beta_star = sp.Matrix([1, 0])
    across = w0 - beta_star.dot(w0) / beta_star.dot(beta_star) * beta_star
    assert across == sp.zeros(2, 1)
    assert w0.dot(w0) - (beta_star.dot(w0)) ** 2 / beta_star.dot(beta_star) == 0


def test_in_one_dimension_the_inverse_preconditioner_is_a_second_derivative():
    beta, delta = sp.symbols("beta delta", positive=True)
    slope = sp.asinh(2 * beta / delta) / 2
    assert sp.simplify(sp.diff(slope, beta) - 1 / sp.sqrt(delta**2 + 4 * beta**2)) == 0
    confirmed = load("single_neuron.inverse_is_no_hessian")
    assert 1 not in confirmed.domain.dimensions
    assert "d ≥ 2" in confirmed.domain.words


def test_theorem_5_prints_the_product_of_the_rates():
    delta = mp.mpf(3) / 2  # both rates 2: the path of unit rates, twice as fast, with twice the balance
    k = mp.sqrt(mp.sqrt(mp.mpf(1) / 4 + delta**2 / 4) - delta / 2)
    assert abs(position(k, delta, 1) - mp.mpf("0.636009824757")) > 0.05
    assert any("η_a η_w = 1" in x for x in load("single_neuron.azulay_theorem").assumptions)


@pytest.mark.parametrize(
    "name",
    [
        "printed_square_on_the_line",
        "printed_equation_on_the_line",
        "printed_position_on_the_line",
        "printed_weights_from_phi",
        "printed_upstream_fitting",
    ],
)
def test_the_printed_form_needs_its_hypothesis(name, verdicts):
    verdict = verdicts[f"single_neuron.{name}"]
    assert verdict.status == "conditional"
    assert verdict.witness is not None
