"""The exact solution keeps every digit that its input carries, over 24 decades of balance and scale."""

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from derivations.single_neuron import basin, crossing_time, mu_phi, trajectory
from tests.derivations.single_neuron import mp_reference as reference

TOLERANCE = {np.float64: 1e-13, np.float32: 1e-5}


@st.composite
def starts(draw, dtype):
    """(t, a0, w0, beta_star, eta_a, eta_w) on logarithmic grids, with the special geometries drawn often."""
    exponent = st.floats(-12, 12)
    delta = draw(st.sampled_from([-1.0, 0.0, 1.0])) * 10 ** draw(exponent)
    beta0, length = 10 ** draw(exponent), 10 ** draw(exponent)
    eta_a, eta_w = 10 ** draw(st.floats(-3, 3)), 10 ** draw(st.floats(-3, 3))
    kappa = np.hypot(delta, 2 * np.sqrt(eta_a * eta_w) * beta0)
    larger = (kappa + abs(delta)) / 2
    smaller = eta_a * eta_w * beta0**2 / larger
    outer, inner = (larger, smaller) if delta >= 0 else (smaller, larger)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    d = draw(st.integers(1, 3))
    star, side = rng.normal(size=(2, d))
    kinds = (
        "generic",
        "parallel",
        "antiparallel",
        "nearly antiparallel",
        "a0 = 0",
        "w0 = 0",
        "near the separatrix",
    )
    kind = draw(st.sampled_from(kinds))
    a0 = draw(st.sampled_from([-1.0, 1.0])) * np.sqrt(outer / eta_w)
    if kind == "parallel":
        side = star
    if kind == "antiparallel":
        side = -np.sign(a0) * star
    if kind == "nearly antiparallel":
        side = -np.sign(a0) * star + 10 ** draw(st.floats(-12, 0)) * side
    beta_star = star * (length / np.linalg.norm(star))
    w0 = side * (np.sqrt(inner / eta_a) / np.linalg.norm(side)) * (kind != "w0 = 0")
    if kind == "a0 = 0":
        a0 = 0.0
    rates = rates_of(a0, w0, beta_star, eta_a, eta_w)
    if kind == "near the separatrix":
        a0 = -eta_a * (w0 @ beta_star) / rates[0] * (1 + 10 ** draw(st.floats(-16, -1)))
    late = draw(st.sampled_from(["any", "growth", "gap"]))
    natural = {"any": 1.0, "growth": rates[0], "gap": rates[1]}[late]
    span = st.floats(-12, 6) if late == "any" else st.floats(-2, 2.5)
    t = min(10 ** draw(span) / natural, 1e6)
    return [np.asarray(x, dtype=dtype) for x in (t, a0, w0, beta_star, eta_a, eta_w)]


def rates_of(a0, w0, beta_star, eta_a, eta_w):
    """(lambda+, 2R)."""
    delta = eta_w * a0**2 - eta_a * (w0 @ w0)
    product = eta_a * eta_w * (beta_star @ beta_star)
    gap = np.hypot(delta, 2 * np.sqrt(product))
    return ((gap + delta) / 2 if delta >= 0 else 2 * product / (gap - delta)), gap


def keep_in_range(start):
    """The claim is for numbers of the dtype and |delta| up to 1e12."""
    t, a0, w0, beta_star, eta_a, eta_w = start
    tiny = np.finfo(t.dtype).tiny
    for x in (t, a0, w0, beta_star):
        assume(((np.abs(x) >= tiny) | (x == 0)).all())
    assume(beta_star.any() and (a0 != 0 or w0.any()))
    assume(float(eta_w) * float(a0) ** 2 + float(eta_a) * float(w0 @ w0) < 1e16)


def exact(start):
    t, a0, w0, beta_star, eta_a, eta_w = ([mp.mpf(float(x)) for x in np.atleast_1d(value)] for value in start)
    return t[0], a0[0], w0, beta_star, eta_a[0], eta_w[0]


def assert_accurate(computed, truth, scales, sensitivity, dtype):
    smallest = float(np.finfo(dtype).tiny)
    for value, true, scale, slack in zip(computed, truth, scales, sensitivity, strict=True):
        error = abs(mp.mpf(float(value)) - true)
        assert error <= TOLERANCE[dtype] * (scale + slack) + smallest, (float(value), float(true))


def check_trajectory(start, dtype, convert):
    keep_in_range(start)
    a, w = trajectory(*map(convert, start))
    mu, phi = mu_phi(*map(convert, start))
    at = exact(start)
    truth, sensitivity = reference.input_sensitivity(reference.solution, *at)
    kappa = reference.kappa(truth[0], truth[1:-2], *at[-2:])
    eta_a, eta_w = at[-2:]
    scales = [mp.sqrt(kappa / eta_w), *[mp.sqrt(kappa / eta_a) for _ in at[2]]]
    scales += [kappa / (2 * mp.sqrt(eta_a * eta_w)), mp.mpf(1)]
    assert_accurate([a, *w, mu, phi], truth, scales, sensitivity, dtype)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(starts(np.float64))
def test_trajectory_is_accurate_to_1e_13_in_float64(start):
    check_trajectory(start, np.float64, np.asarray)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(starts(np.float32))
def test_trajectory_is_accurate_to_1e_5_in_float32(start):
    check_trajectory(start, np.float32, np.asarray)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(starts(np.float64))
def test_torch_trajectory_is_as_accurate(start):
    check_trajectory(start, np.float64, torch.as_tensor)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_basin_and_crossing_time_are_accurate(dtype):
    noise = {np.float64: 1e-29, np.float32: 1e-11}[dtype]
    seen = {-1: 0, 0: 0, 1: 0, "crossing": 0}

    @settings(max_examples=150, derandomize=True, deadline=None)
    @given(starts(dtype))
    def check(start):
        keep_in_range(start)
        at = exact(start)
        (alpha,) = reference.mode_amplitude(*at)
        side = float(basin(*start[1:]))
        assert side == mp.sign(alpha) or (side == 0 and abs(alpha) < noise * reference.mode_terms(*at))
        time = float(crossing_time(*start[1:]))
        (true,), (slack,) = reference.input_sensitivity(reference.crossing, *at)
        assert np.isfinite(time) == mp.isfinite(true) or side == 0
        seen[int(side)] += 1
        if np.isfinite(time) and mp.isfinite(true):
            seen["crossing"] += 1
            gap = reference.spectral_gap(*at)
            assert abs(time - true) <= TOLERANCE[dtype] * (1 / gap + slack)

    check()
    assert seen[1] > 30 and seen[-1] > 30 and seen["crossing"] > 10


def test_balance_keeps_its_digits_when_its_terms_nearly_cancel():
    a0, w0 = 1e6, np.array([1e6, 1e-6])
    time = crossing_time(1e-14, w0, [-1.0, 0.0])
    (true,) = reference.crossing(
        *exact([np.asarray(x) for x in (0.0, 1e-14, w0, np.array([-1.0, 0.0]), 1.0, 1.0)])
    )
    assert abs(time / float(true) - 1) < 1e-14
    alpha_sign = basin(a0, w0, [-1.0, 0.0])
    (alpha,) = reference.mode_amplitude(
        *exact([np.asarray(x) for x in (0.0, a0, w0, np.array([-1.0, 0]), 1.0, 1.0)])
    )
    assert alpha_sign == mp.sign(alpha)


@pytest.mark.parametrize("a0, w0", [(0.4, [-1.0, 0.5]), (0.05, [-1.0, 0.5]), (1.5, [0.2, -0.3])])
def test_the_reference_solves_the_differential_equation(a0, w0):
    beta_star, eta_a, eta_w = [0.75, 0.5], 0.5, 2.0

    def velocity(_, state):
        a, w = state[0], state[1:]
        omega = sum(x * b for x, b in zip(w, beta_star, strict=True))
        size = sum(x * x for x in w)
        return [
            eta_a * (omega - a * size),
            *(eta_w * (a * b - a * a * x) for x, b in zip(w, beta_star, strict=True)),
        ]

    with mp.workdps(50):
        w0 = [mp.mpf(x) for x in w0]
        by_taylor = mp.odefun(velocity, 0, [mp.mpf(a0), *w0])(1)
        truth = reference.solution(mp.mpf(1), mp.mpf(a0), w0, beta_star, mp.mpf(eta_a), mp.mpf(eta_w))
        assert max(abs(x - y) for x, y in zip(by_taylor, truth[:3], strict=True)) < mp.mpf(10) ** -25
    run = solve_ivp(velocity, (0, 20), [a0, *map(float, w0)], method="DOP853", rtol=1e-12, atol=1e-14)
    late = reference.solution(mp.mpf(20), mp.mpf(a0), w0, beta_star, mp.mpf(eta_a), mp.mpf(eta_w))
    np.testing.assert_allclose(run.y[:, -1], [float(x) for x in late[:3]], rtol=0, atol=1e-10)
