"""Two coupled modes: the closed forms against integration, the peak, the effective initial values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from derivations.prior_knowledge import explicit_solution, time_of_peak

STARTS = [
    dict(a1=0.3, a2=0.05, b=-0.1, s1=2.0, s2=0.7, tau=3.0),
    dict(a1=4.0, a2=1.0, b=1.9, s1=0.5, s2=1.5, tau=0.8),
    dict(a1=0.2, a2=0.8, b=0.4, s1=1.0, s2=1.0, tau=1.0),
]


def velocity(_, gram, s1, s2, tau):
    S, G = np.diag([s1, s2]), gram.reshape(2, 2)
    return ((S @ G + G @ S - 2 * G @ G) / tau).ravel()


@pytest.mark.parametrize("start", STARTS)
def test_the_closed_forms_solve_the_matrix_equation(start):
    times = np.linspace(0.1, 4, 7)
    gram = [start["a1"], start["b"], start["b"], start["a2"]]
    rates = (start["s1"], start["s2"], start["tau"])
    found = solve_ivp(
        velocity, (0, 4), gram, args=rates, t_eval=times, rtol=1e-11, atol=1e-13, method="DOP853"
    ).y
    first, second, mixed = explicit_solution(t=times, **start)
    np.testing.assert_allclose([first, mixed, second], found[[0, 1, 3]], rtol=1e-8)


@pytest.mark.parametrize(
    ("a1", "a2", "b", "s"), [(1e-3, 2e-3, 5e-4, 1.5), (0.3, 0.2, -0.2, 1.0), (0.6, 0.3, 0.4, 1.0)]
)
def test_the_coupling_is_largest_where_it_is_said_to_be(a1, a2, b, s):
    peak = float(time_of_peak(a1=a1, a2=a2, b=b, s=s, tau=2.0))
    around = peak + np.array([-1e-3, 0, 1e-3])
    _, _, mixed = explicit_solution(a1=a1, a2=a2, b=b, s1=s, s2=s, tau=2.0, t=around)
    assert peak > 0
    assert abs(mixed[1]) > max(abs(mixed[0]), abs(mixed[2]))
    first, second, _ = explicit_solution(a1=a1, a2=a2, b=b, s1=s, s2=s, tau=2.0, t=peak)
    assert first + second == pytest.approx(s, rel=1e-12)


def test_the_printed_peak_time_is_missed_for_intermediate_starts():
    a1, a2, b, s = 0.6, 0.3, 0.1, 1.0
    printed = np.log(s * (s - a1 - a2) / (a1 * a2 - b**2)) / (4 * s)
    assert printed < 0 < float(time_of_peak(a1=a1, a2=a2, b=b, s=s, tau=1.0))


def test_the_weaker_mode_starts_from_its_pivot():
    size, s1, s2 = 1e-9, 2.0, 1.0
    a1, a2, b = 1.0, 1.0, 0.9
    pivot = a2 - b**2 / a1

    def half(start):
        return np.log((s2 - size * start) / (size * start)) / (2 * s2)

    _, second, _ = explicit_solution(
        a1=size * a1, a2=size * a2, b=size * b, s1=s1, s2=s2, tau=1.0, t=np.array([half(pivot), half(a2)])
    )
    assert second[0] == pytest.approx(s2 / 2, abs=1e-3)
    assert second[1] < 0.2 * s2
