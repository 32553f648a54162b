"""Two modes keep their digits at every size of start, task and time, also where products leave the range of numbers."""

import mpmath as mp
import numpy as np
import pytest
import torch

from derivations.prior_knowledge import (
    ata_2x2,
    decoupled_modes,
    explicit_solution,
    offdiagonal_peak,
    time_of_peak,
)
from symdyn.compile import aids

TOLERANCE = {np.float64: 1e-13, np.float32: 1e-5}
EXTREMES = [1e150, 1e200, 1e300, 1.7e308, 1e-150, 1e-200, 1e-300]
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def modes(t, a1, a2, b, s1, s2, tau):
    e1, e2 = (mp.exp(-2 * s * t / tau) for s in (s1, s2))
    d1, d2 = (-mp.expm1(-2 * s * t / tau) / s for s in (s1, s2))
    det = a1 * a2 - b * b
    n = e1 * e2 + a2 * e1 * d2 + a1 * e2 * d1 + det * d1 * d2
    return (a1 * e2 + det * d2) / n, (a2 * e1 + det * d1) / n, b * mp.sqrt(e1 * e2) / n


def peak(a1, a2, b, s, tau):
    return (tau / (4 * s) * mp.log(1 + s * (s - a1 - a2) / (a1 * a2 - b * b)),)


def assert_accurate(found, function, at, dtype):
    """|error| <= tolerance (|y| + sum |x dy/dx|), for values that are normal numbers."""
    limits = np.finfo(dtype)
    with mp.workdps(700):
        at, nudge = [mp.mpf(float(x)) for x in at], mp.mpf(10) ** -300
        truth = function(*at)
        slack = [abs(y) for y in truth]
        for k, x in enumerate(at):
            up, down = (function(*at[:k], x * (1 + side * nudge), *at[k + 1 :]) for side in (1, -1))
            slack = [s + abs(u - d) / (2 * nudge) for s, u, d in zip(slack, up, down, strict=True)]
        for value, true, allowed in zip(map(float, found), truth, slack, strict=True):
            if float(limits.tiny) <= abs(true) <= float(limits.max):
                assert np.isfinite(value), (at, float(true))
                assert abs(mp.mpf(value) - true) <= TOLERANCE[dtype] * allowed, (value, float(true))


def starts(dtype, count, seed):
    """t, a1, a2, b, s1, s2, tau over 24 decades, and with one of them far beyond."""
    rng, drawn = np.random.default_rng(seed), []
    while len(drawn) < count:
        a1, a2, s1, s2, tau = 10 ** rng.uniform(-12, 12, size=5)
        s2 = s1 * (1 + 10 ** rng.uniform(-9, 1)) if rng.random() < 0.3 else s2
        t = tau / (s1, s2)[rng.integers(2)] * 10 ** rng.uniform(-4, 2.6) if rng.random() < 0.8 else 1 / s1
        at = [t, a1, a2, s1, s2, tau]
        if dtype is np.float64 and rng.random() < 0.4:
            at[rng.integers(6)] = rng.choice(EXTREMES)
        b = np.sqrt(at[1]) * np.sqrt(at[2]) * (1 - 10 ** rng.uniform(-5, -0.1)) * rng.choice([1, -1])
        with np.errstate(all="ignore"):
            at = [dtype(x) for x in (*at[:3], b, *at[3:])]
        if all(np.isfinite(x) and abs(x) >= np.finfo(dtype).tiny for x in at):
            drawn.append(at)
    return drawn


@BOTH
def test_the_explicit_solution_keeps_its_digits(dtype):
    for at in starts(dtype, 60, 1):
        assert_accurate(explicit_solution(*at), modes, at, dtype)


@BOTH
def test_decoupled_modes_keep_their_digits(dtype):
    for t, a1, a2, _, s1, s2, tau in starts(dtype, 60, 2):
        found = decoupled_modes(t=t, a1=a1, a2=a2, s1=s1, s2=s2, tau=tau)
        assert_accurate(found, modes, (t, a1, a2, 0.0, s1, s2, tau), dtype)


@BOTH
@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_two_modes_of_arrays_and_tensors_keep_their_digits(dtype, convert):
    for at in starts(dtype, 60, 3):
        assert_accurate(ata_2x2(*map(convert, at)), modes, at, dtype)


@BOTH
@pytest.mark.parametrize("function", [time_of_peak, offdiagonal_peak])
def test_the_time_of_the_peak_keeps_its_digits(dtype, function):
    rng = np.random.default_rng(4)
    for _, a1, a2, b, _, _, tau in starts(dtype, 60, 4):
        with np.errstate(all="ignore"):
            at = [a1, a2, b, dtype((float(a1) + float(a2)) * (1 + 10 ** rng.uniform(-3, 6))), tau]
        if np.isfinite(at[3]):
            assert_accurate((function(*at),), peak, at, dtype)


@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600, 2.0**900])
def test_a_change_of_units_changes_no_digit(scale):
    at = (0.5, 0.25, 0.25, 2.0, 1.5)
    found = ata_2x2(0.7 / scale, *(scale * x for x in at))
    np.testing.assert_allclose(np.array(found) / scale, ata_2x2(0.7, *at), rtol=1e-15)
    late = offdiagonal_peak(*(scale * x for x in at[:3]), scale * 1.0)
    assert late * scale == pytest.approx(offdiagonal_peak(*at[:3], 1.0), rel=1e-15)


def test_weak_tasks_do_not_cancel():
    assert decoupled_modes(t=1, a1=1, a2=1, s1=1e-15, s2=1)[0] == pytest.approx(1 / 3, rel=1e-14)
    assert explicit_solution(t=1, a1=1, a2=1, b=0, s1=1e-15, s2=1)[0] == pytest.approx(1 / 3, rel=1e-14)


def test_a_start_that_is_not_semidefinite_is_refused_where_its_squares_underflow_or_overflow():
    for a, b in ((1e-200, 1e-170), (1e160, 1e200)):
        with pytest.raises(ValueError, match="b must be at most"):
            ata_2x2(1.0, a, a, b, 1.0, 1.0)
        with pytest.raises(ValueError, match="b must be at most"):
            explicit_solution(t=1.0, a1=a, a2=a, b=b, s1=1.0, s2=1.0)


def test_gradients_are_finite_at_every_size():
    for at in [
        (0.3, 0.5, 0.2, 0.1, 1.0, 2.0),
        (0.3, 0.0, 0.2, 0.0, 1.0, 2.0),
        (1.0, 1e150, 1.0, 1.0, 1.0, 1.0),
    ]:
        inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at]
        for function in (ata_2x2, explicit_solution):
            found = torch.autograd.grad(sum(function(*inputs)), inputs)
            assert all(torch.isfinite(x).all() for x in found), (function, at, found)


def test_what_two_modes_do_not_share_is_exact_where_they_are_almost_alike():
    a, b = np.float64(1.0), np.nextafter(np.float64(1.0), 0)
    for scale in (1.0, 2.0**900, 2.0**-900):
        assert aids.share(np, scale * a, scale * a, scale * b) == pytest.approx(2.0**-52, rel=1e-15)
    assert aids.share(np, np.float64(49.0) ** 2, np.float64(1.0), np.float64(49.0)) == 0
