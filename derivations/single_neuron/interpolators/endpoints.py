"""Start and end of a trajectory on any data, as exact points.

Gradient flow moves w within row(X) and keeps δ. So a start (a_0, u_0 + n_0) and an end (a_∞, u_∞ + n_0), the
u in the row space and n_0 in the null space, can belong to one trajectory only if they have the same δ; then
X a_∞u_∞ = y says what the end interpolates. Where XXᵀ = I the row space sees whitened data, for which the
final sign of a is that of λ_+a_0 + η_a u_0ᵀX⁺y with λ_+ = η_w a_∞²: the flow from this start ends at this end
if η_w a_0a_∞ + η_a u_0ᵀu_∞ > 0. Coordinates for proofs are δ and κ = η_w a² + η_a‖w‖² at both ends, with η_w
a² = (κ + δ)/2 and η_a‖w‖² = (κ - δ)/2.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import sympy as sp

from derivations.single_neuron.symbols import (
    a0,
    a_end,
    beta0,
    beta_end,
    delta,
    eta_a,
    eta_w,
    kappa0,
    kappa_end,
    n0,
    u0,
    u_end,
    w0,
    w_end,
)
from symdyn.calculus.gram import inner, norm2
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import defined, meaning, standing, stated

WEIGHTS = {
    w0: u0 + n0,
    w_end: u_end + n0,
    beta0: a0 * w0,
    beta_end: a_end * w_end,
}


def _across(rng: random.Random, direction: list[sp.Expr]) -> list[sp.Expr]:
    """A rational vector orthogonal to a direction."""
    drawn = [sp.Rational(rng.randint(-9, 9), rng.randint(1, 3)) for _ in direction]
    share = sum(p * q for p, q in zip(drawn, direction, strict=True)) / sum(q * q for q in direction)
    return [p - share * q for p, q in zip(drawn, direction, strict=True)]


def _square(v: list[sp.Expr]) -> sp.Expr:
    return sum((p * p for p in v), sp.S.Zero)


def sampler(sign0: int, sign_end: int, product_one: bool) -> Callable[[random.Random, int], Point]:
    """Exact endpoints: a_0² - a_∞² = (η_a/η_w)(‖u_0‖² - ‖u_∞‖²) splits into a_0 - a_∞ and a_0 + a_∞."""

    def draw(rng: random.Random, d: int) -> Point:
        rate_a = sp.Rational(rng.randint(1, 5), rng.randint(1, 3))
        rate_w = 1 / rate_a if product_one else sp.Rational(rng.randint(1, 5), rng.randint(1, 3))
        null = [sp.Rational(rng.randint(-3, 3)) for _ in range(d - 1)] + [sp.S.One]
        first, last = _across(rng, null), _across(rng, null)
        gap = rate_a / rate_w * (_square(first) - _square(last))
        step = sp.Rational(rng.randint(1, 9), 2)
        size0, size_end = (abs(gap / step + s) / 2 for s in (step, -step))
        balance = rate_w * size0**2 - rate_a * (_square(first) + _square(null))
        return {
            eta_a: rate_a,
            eta_w: rate_w,
            a0: sign0 * size0,
            a_end: sign_end * size_end,
            u0: first,
            u_end: last,
            n0: null,
            delta: balance,
            kappa0: 2 * rate_w * size0**2 - balance,
            kappa_end: 2 * rate_w * size_end**2 - balance,
        }

    return draw


ENDS = meaning(
    "κ_0, κ_∞ > 0 stand for a_0, a_∞ and the lengths of u_0, u_∞, at which δ is the same",
    kappa0,
    kappa_end,
    u0,
    u_end,
    *defined(w0, w_end, beta0, beta_end),
)


def endpoints(sign0: int = 1, sign_end: int = 1, product_one: bool = False, **changes: Any) -> Domain:
    """All starts and ends with the given signs of a; with `product_one` only those with η_a η_w = 1."""
    rates = {eta_w: 1 / eta_a} if product_one else {}
    signs = {eta_a: 1, kappa0: 1, kappa_end: 1} | ({} if product_one else {eta_w: 1})
    rate_w = rates.get(eta_w, eta_w)
    where = {
        **rates,
        a0: sign0 * sp.sqrt((kappa0 + delta) / (2 * rate_w)),
        a_end: sign_end * sp.sqrt((kappa_end + delta) / (2 * rate_w)),
        inner(u0, n0): sp.S.Zero,
        inner(u_end, n0): sp.S.Zero,
        norm2(u0): (kappa0 - delta) / (2 * eta_a) - norm2(n0),
        norm2(u_end): (kappa_end - delta) / (2 * eta_a) - norm2(n0),
    }
    name = f"a_0 {'>' if sign0 > 0 else '<'} 0, a_∞ {'>' if sign_end > 0 else '<'} 0"
    return Domain(
        (a0, a_end, delta, kappa0, kappa_end, eta_a, eta_w),
        (u0, u_end, n0),
        (Cell(name, signs, where, "η_w a² and η_a‖w‖² are (κ ± δ)/2"),),
        let=WEIGHTS,
        conditions=(
            a0 * sign0 > 0,
            a_end * sign_end > 0,
            norm2(u0) + norm2(n0) > 0,
            norm2(u_end) > 0,
            eta_w * a0 * a_end + eta_a * inner(u0, u_end) > 0,
        ),
        dimensions=(2, 3),
        sampler=sampler(sign0, sign_end, product_one),
        words="w_∞ - w_0 in row(X), δ the same at both ends",
        hypotheses=(
            ENDS,
            stated(
                "Sec. 3, Theorem 1",
                "Xβ(∞) = y has infinitely many solutions: d ≥ 2, n_0 in the null space",
                n0,
                "d",
            ),
            stated(
                "Sec. 3, Theorem 1, β(t) ≠ 0 for all t",
                "a keeps its sign, β_0 ≠ 0 and β_∞ ≠ 0",
                a0,
                a_end,
                u0,
                u_end,
            )
            if sign0 == sign_end
            else stated(
                "App. A.4.3",
                "a(t) = 0 at one point of the trajectory, where it changes its sign; β_0 ≠ 0 in β_0/‖β_0‖",
                a0,
                a_end,
                u0,
            ),
            *((standing("App. A.3, before A.3.1", "η_a η_w = 1", eta_w),) if product_one else ()),
        ),
        **changes,
    )
