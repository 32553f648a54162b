"""The closed forms in time against integration of the flow, and the printed ones read as complex numbers."""

from __future__ import annotations

import cmath
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import derivations.single_neuron as functions
from derivations.single_neuron.basins import final_sign as basins
from derivations.single_neuron.solution import balanced_bernoulli, riccati, unified, upstream
from derivations.single_neuron.symbols import a0 as start
from derivations.single_neuron.symbols import delta, omega0, s, t

BETA_STAR = np.array([0.6, -1.1])
STARTS = {
    "upstream": (1.3, [0.2, 0.5], 0.7, 1.9),
    "downstream, a keeps its sign": (0.4, [1.1, -0.3], 1.4, 0.6),
    "downstream, a changes its sign": (0.2, [-0.9, 1.0], 1.2, 0.8),
}


def integrated(a0, w0, eta_a, eta_w, time):
    def velocity(_, x):
        r = x[0] * x[1:] - BETA_STAR
        return [-eta_a * x[1:] @ r, *(-eta_w * x[0] * r)]

    x = solve_ivp(velocity, (0, time), [a0, *w0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    return x[0], x[1:]


@pytest.mark.parametrize("case", STARTS)
def test_the_closed_forms_are_the_trajectory(case):
    a0, w0, eta_a, eta_w = STARTS[case]
    a, w = integrated(a0, w0, eta_a, eta_w, 1.7)
    omega, omega_0 = w @ BETA_STAR, np.dot(w0, BETA_STAR)
    rest = {
        "delta": eta_w * a0**2 - eta_a * np.dot(w0, w0),
        "s": np.linalg.norm(BETA_STAR),
        "eta_a": eta_a,
        "eta_w": eta_w,
        "t": 1.7,
    }
    found = unified.solution_for_every_balance(a0=a0, omega0=omega_0, **rest)
    np.testing.assert_allclose(found, (a, omega), rtol=1e-9)
    np.testing.assert_allclose(riccati.nu_solution(nu0=omega_0 / a0, **rest), omega / a, rtol=1e-9)
    np.testing.assert_allclose(riccati.upsilon_solution(upsilon0=a0 / omega_0, **rest), a / omega, rtol=1e-9)


def test_the_corrected_balanced_size_is_the_trajectory():
    w0, eta_a, eta_w = np.array([0.3, 0.2]), 0.5, 1.7
    a0 = np.sqrt(eta_a / eta_w) * np.linalg.norm(w0)
    a, w = integrated(a0, w0, eta_a, eta_w, 1.1)
    length = np.linalg.norm(BETA_STAR)
    phi0 = w0 @ BETA_STAR / (np.linalg.norm(w0) * length)
    arguments = {"eta_a": eta_a, "eta_w": eta_w, "s": length, "mu0": a0 * np.linalg.norm(w0), "phi0": phi0}
    np.testing.assert_allclose(
        balanced_bernoulli.balanced_size(t=1.1, **arguments), a * np.linalg.norm(w), rtol=1e-9
    )
    np.testing.assert_allclose(balanced_bernoulli.balanced_size(t=1e4, **arguments), length, rtol=1e-14)


def test_the_time_of_the_crossing_is_that_of_the_weights():
    a0, w0, eta_a, eta_w = STARTS["downstream, a changes its sign"]
    arguments = {
        "delta": eta_w * a0**2 - eta_a * np.dot(w0, w0),
        "s": np.linalg.norm(BETA_STAR),
        "a0": a0,
        "omega0": np.dot(w0, BETA_STAR),
        "eta_a": eta_a,
        "eta_w": eta_w,
    }
    expected = functions.crossing_time(a0=a0, w0=w0, beta_star=BETA_STAR, eta_a=eta_a, eta_w=eta_w)
    time = unified.zero_crossing_time(**arguments)
    np.testing.assert_allclose(time, expected, rtol=1e-12)
    assert abs(integrated(a0, w0, eta_a, eta_w, float(time))[0]) < 1e-10
    assert basins.final_branch(**arguments) == -1


@pytest.mark.parametrize(
    ("case", "a0", "w0"),
    [
        ("Y real, δ > 0", 1.5, [0.1, 0.4]),
        ("Y complex, δ > 0", 4.0, [1.1, -2.0]),
        ("Y real, δ < 0", 0.5, [0.5, 0.5]),
        ("Y complex, δ < 0", 0.1, [0.3, -0.5]),
    ],
)
def test_the_printed_read_out_holds_with_principal_complex_roots(case, a0, w0):
    """√δ (…)^{-1/2} with an imaginary √δ, and an inverse hyperbolic tangent beyond one, still give a(t)."""
    values = {
        delta: a0**2 - np.dot(w0, w0),
        s: np.linalg.norm(BETA_STAR),
        start: a0,
        omega0: np.dot(w0, BETA_STAR),
        t: 0.8,
    }
    argument = (2 * values[omega0] / a0 + values[delta]) / np.hypot(values[delta], 2 * values[s])
    assert (abs(argument) > 1) == ("complex" in case)
    assert (values[delta] < 0) == ("δ < 0" in case)
    bracket = complex(sp.N(upstream.printed_square_bracket(s, start, omega0).subs(values)))
    growth = np.exp(0.8 * values[delta] / 2)
    printed = 2 * growth * values[s] * cmath.sqrt(values[delta]) / cmath.sqrt(bracket)
    assert printed == pytest.approx(integrated(a0, w0, 1.0, 1.0, 0.8)[0], rel=1e-9, abs=1e-12)


def test_the_printed_hyperplane_meets_upstream_weights_when_the_rates_differ():
    a, w, beta_star, eta_a, eta_w = (
        Fraction(1),
        Fraction(-3, 2),
        Fraction(21, 20),
        Fraction(1, 2),
        Fraction(2),
    )
    balance = eta_w * a**2 - eta_a * w**2
    root = Fraction(91, 40)
    assert eta_a * eta_w == 1
    assert balance > 0
    assert root**2 == balance**2 + 4 * beta_star**2
    assert w * beta_star + a / 2 * (balance + root) == 0
