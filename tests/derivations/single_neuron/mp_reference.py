"""The exact solution of the single-neuron network at any precision, and what rounding its input costs.

Written apart from the library, in the plain form of the formulas: with enough digits no care is needed.
"""

from __future__ import annotations

import functools

import mpmath as mp

DIGITS = 160


def precisely(function):
    @functools.wraps(function)
    def at_many_digits(*arguments):
        with mp.workdps(DIGITS):
            return function(*arguments)

    return at_many_digits


def _quantities(a0, w0, beta_star, eta_a, eta_w):
    square = mp.fsum(b * b for b in beta_star)
    omega = mp.fsum(x * b for x, b in zip(w0, beta_star, strict=True))
    delta = eta_w * a0**2 - eta_a * mp.fsum(x * x for x in w0)
    gap = mp.sqrt(delta**2 + 4 * eta_a * eta_w * square)
    plus, minus = (delta + gap) / 2, (delta - gap) / 2
    alpha = (plus * a0 + eta_a * omega) / gap
    return square, omega, delta, gap, plus, minus, alpha


def _grown(rate, t):
    return t if rate == 0 else mp.expm1(rate * t) / rate


@precisely
def solution(t, a0, w0, beta_star, eta_a, eta_w):
    """[a, w_1, ..., w_d, mu, phi] at time t."""
    square, omega, delta, _, plus, minus, alpha = _quantities(a0, w0, beta_star, eta_a, eta_w)
    rest = a0 - alpha
    p = alpha * mp.exp(plus * t) + rest * mp.exp(minus * t)
    q = (-minus * alpha * mp.exp(plus * t) - plus * rest * mp.exp(minus * t)) / eta_a
    integral = (
        alpha**2 * _grown(2 * plus, t) + 2 * alpha * rest * _grown(delta, t) + rest**2 * _grown(2 * minus, t)
    )
    e = mp.sqrt(1 + 2 * eta_w * integral)
    w = [(x - omega * b / square) / e + q / e * b / square for x, b in zip(w0, beta_star, strict=True)]
    length = mp.sqrt(mp.fsum(x * x for x in w))
    phi = q / e / (length * mp.sqrt(square)) if length else mp.sign(alpha)
    return [p / e, *w, p / e * length, phi]


@precisely
def mode_amplitude(t, a0, w0, beta_star, eta_a, eta_w):
    """[alpha], whose sign is the basin."""
    return [_quantities(a0, w0, beta_star, eta_a, eta_w)[-1]]


@precisely
def mode_terms(t, a0, w0, beta_star, eta_a, eta_w):
    """(lambda+ |a0| + eta_a |w0.beta*|) / (2R), of which alpha is the signed sum."""
    _, omega, _, gap, plus, _, _ = _quantities(a0, w0, beta_star, eta_a, eta_w)
    return (plus * abs(a0) + eta_a * abs(omega)) / gap


@precisely
def spectral_gap(t, a0, w0, beta_star, eta_a, eta_w):
    """2R."""
    return _quantities(a0, w0, beta_star, eta_a, eta_w)[3]


@precisely
def crossing(t, a0, w0, beta_star, eta_a, eta_w):
    """[time of the sign change], +inf where there is none."""
    *_, gap, _, _, alpha = _quantities(a0, w0, beta_star, eta_a, eta_w)
    if alpha == 0 or a0 * alpha > 0:
        return [mp.inf]
    return [mp.log(1 - a0 / alpha) / gap]


@precisely
def kappa(a, w, eta_a, eta_w):
    """eta_w a^2 + eta_a |w|^2."""
    return eta_w * a**2 + eta_a * mp.fsum(x * x for x in w)


@precisely
def input_sensitivity(function, t, a0, w0, beta_star, eta_a, eta_w):
    """sum_i |x_i dy/dx_i| for every component y of function, by differences far below every scale."""
    flat = [mp.mpf(x) for x in (t, a0, *w0, *beta_star, eta_a, eta_w)]
    d = len(w0)

    def at(x):
        return function(x[0], x[1], x[2 : 2 + d], x[2 + d : 2 + 2 * d], x[-2], x[-1])

    base = at(flat)
    total = [mp.mpf(0)] * len(base)
    step = mp.mpf(10) ** (-DIGITS // 3)
    for i, x in enumerate(flat):
        if x == 0:
            continue
        moved = at([*flat[:i], x * (1 + step), *flat[i + 1 :]])
        total = [s + abs(m - b) / step for s, m, b in zip(total, moved, base, strict=True)]
    return base, total
