"""The learned interpolator where the null space of the data is one-dimensional.

The interpolators are β_* + αv with β_* of least norm, Xv = 0, ‖v‖ = 1. Along this line the objective q_δ(‖β‖)
+ zᵀβ of Theorem 5 has the derivative q_δ′(‖β‖) α/‖β‖ + zᵀv, and with k = -2zᵀv/3 it vanishes at

    α = k √((k² + δ)/2 + √(((k² + δ)/2)² + ‖β_*‖²)).

The paper writes β_* without saying which interpolator it is. From any other one ‖β‖² is ‖β_*‖² + α² + 2α β_*ᵀv, and
the formulas are off: for X = (1, 0), y = 1 and the start a_0 = 1, w_0 = (0, ½) the flow ends in (1, 0.636), which is
what the formula gives from β_* = (1, 0), while from β_* = (1, 1) it gives (1, 1.707)
(kunin2024, App. A.4.4; η_a η_w = 1).
"""

from __future__ import annotations

import random
from dataclasses import replace

import sympy as sp

from derivations.single_neuron.mirror.mirror_potential import lengths
from derivations.single_neuron.regimes import UNIT_PRODUCT
from derivations.single_neuron.symbols import (
    alpha,
    beta_star,
    delta,
    k,
    n,
    s,
    tilt,
    v,
)
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Statement, typeset

half = delta / 2


def q(length: sp.Expr) -> sp.Expr:
    """q_δ of Theorem 5."""
    root = sp.sqrt(length**2 + half**2)
    return (length**2 - half * (half + root)) * sp.sqrt(root - half) / length


def slope(length: sp.Expr) -> sp.Expr:
    """q_δ′ for a positive length."""
    return sp.Rational(3, 2) * sp.sign(length) * sp.sqrt(sp.sqrt(length**2 + half**2) - half)


def unit_direction(rng: random.Random, d: int) -> Point:
    """A rational unit vector v, and β_* orthogonal to it."""
    flat = [sp.Rational(rng.randint(-5, 5), rng.randint(1, 4)) for _ in range(d - 1)]
    square = sum(p * p for p in flat)
    direction = [2 * p / (square + 1) for p in flat] + [(square - 1) / (square + 1)]
    drawn = [sp.Rational(rng.randint(-9, 9), rng.randint(1, 3)) for _ in range(d)]
    share = sum(p * q for p, q in zip(drawn, direction, strict=True))
    return {v: direction, beta_star: [p - share * q for p, q in zip(drawn, direction, strict=True)]}


LEAST_NORM = (
    "β_* is the interpolator of least norm, β_*ᵀv = 0: the paper defines β_* where XᵀX is invertible, and any"
    " interpolator will do for β = β_* + αv"
)
ON_THE_LINE = (
    stated(
        "App. A.4.4",
        "the null space of XᵀX has one dimension, XᵀXv = 0 and ‖v‖ = 1; d ≥ 2",
        norm2(v),
        v,
        "d",
    ),
    stated("App. A.4.4, division by ‖β‖", "‖β‖ > 0 at all α, so that β_* ≠ 0", norm2(beta_star)),
    UNIT_PRODUCT,
)
unit = {inner(beta_star, v): sp.S.Zero, norm2(v): sp.S.One}
line = Domain(
    (alpha, delta),
    (beta_star, v, tilt),
    tuple(
        Cell(
            f"δ {words}", {norm2(beta_star): 1, **signs}, {**unit, **where}, "Xv = 0, ‖v‖ = 1, β_* in row(X)"
        )
        for words, signs, where in (
            ("> 0", {delta: 1}, {}),
            ("= 0", {}, {delta: 0}),
            ("< 0", {delta: -1}, {}),
        )
    ),
    dimensions=(2, 3),
    sampler=unit_direction,
    words="Xv = 0, ‖v‖ = 1, β_* ≠ 0 the interpolator of least norm",
    hypotheses=(*ON_THE_LINE, added(LEAST_NORM, sp.Eq(inner(beta_star, v), 0))),
)
on_line = beta_star + alpha * v


def any_interpolator(rng: random.Random, d: int) -> Point:
    """A rational unit vector v, and β_* that is orthogonal to it in half of the cases."""
    drawn = unit_direction(rng, d)
    share = rng.choice((0, 1))
    return {v: drawn[v], beta_star: [p + share * q for p, q in zip(drawn[beta_star], drawn[v], strict=True)]}


from_any_interpolator = replace(
    line,
    cells=tuple(
        replace(
            cell,
            where={key: x for key, x in cell.where.items() if key != inner(beta_star, v)},
            reason="Xv = 0, ‖v‖ = 1",
        )
        for cell in line.cells
    ),
    sampler=any_interpolator,
    words="Xv = 0, ‖v‖ = 1, β_* ≠ 0 any interpolator",
    hypotheses=ON_THE_LINE,
)


@result(ledger=("kunin2024.nullspace-gradients",), domain=line)
def gradients_on_the_line() -> Conjunction:
    """The derivatives of the objective's parts along the interpolators β_* + αv.

    The argument of q_δ is a length, so that sgn is one.
    """
    return Conjunction(
        Identity(sp.diff(q(n), n), slope(n), on=lengths),
        Identity(sp.diff(norm(on_line), alpha), alpha / norm(on_line)),
        Identity(sp.diff(inner(tilt, on_line), alpha), inner(tilt, v)),
        Identity(norm2(on_line), norm2(beta_star) + alpha**2),
    )


@printed(
    "kunin2024.nullspace-gradients",
    quote=r"$\|\beta\|^2=\|\beta_*\|^2+\alpha^2$",
    domain=from_any_interpolator,
    hypothesis=LEAST_NORM,
    under=line,
)
def printed_square_on_the_line() -> Identity:
    """As printed, with a β_* of which nothing is said: β_* = (1, 1), v = (0, 1), α = 1 have ‖β‖² = 5, and not 3."""
    return Identity(norm2(on_line), norm2(beta_star) + alpha**2)


def left_side(position: sp.Expr, square: sp.Expr) -> sp.Expr:
    """√(√(square + α² + δ²/4) - δ/2) α/√(square + α²)."""
    total = square + position**2
    return sp.sqrt(sp.sqrt(total + half**2) - half) * position / sp.sqrt(total)


def derivative_on_the_line() -> Identity:
    """The derivative of the objective is 3/2 times the difference of the two sides of the equation for α."""
    objective = q(norm(on_line)) + inner(tilt, on_line)
    return Identity(sp.diff(objective, alpha), 3 * left_side(alpha, norm2(beta_star)) / 2 + inner(tilt, v))


@result(ledger=("kunin2024.nullspace-equation",), domain=line, uses=("single_neuron.azulay_theorem",))
def equation_on_the_line() -> Existence:
    """The equation for the minimiser on the line of interpolators."""
    position = left_side(alpha, norm2(beta_star))
    return Existence(
        r"the derivative of $q_\delta(\|\beta\|)+z^\top\beta$ along $\beta=\beta_*+\alpha v$ vanishes",
        (derivative_on_the_line(),),
        formula=rf"{typeset(position)} = - \frac{{2 z^\top v}}{{3}}",
    )


@printed(
    "kunin2024.nullspace-equation",
    quote=r"\frac\alpha{\sqrt{\|\beta_*\|^2+\alpha^2}}=-\frac{2z^\top v}3",
    domain=from_any_interpolator,
    hypothesis=LEAST_NORM,
    under=line,
)
def printed_equation_on_the_line() -> Identity:
    """As printed, with a β_* of which nothing is said."""
    return derivative_on_the_line()


solution = k * sp.sqrt((k**2 + delta) / 2 + sp.sqrt(((k**2 + delta) / 2) ** 2 + s**2))
larger, smaller, overlap = sp.symbols("p q g", real=True)
ROOTS = meaning(
    "p and -q are the roots of z² - (k² + δ) z - ‖β_*‖², δ and ‖β_*‖ > 0 in terms of them",
    larger,
    smaller,
)
rational = Domain(
    (k, delta, s),
    cells=(
        Cell(
            "β_* ≠ 0",
            {larger: 1, smaller: 1},
            {s: sp.sqrt(larger * smaller), delta: larger - smaller - k**2},
            "p and -q are the roots of z² - (k² + δ) z - s² = 0",
        ),
    ),
    words="s = ‖β_*‖ > 0",
    hypotheses=(
        *ON_THE_LINE,
        added(LEAST_NORM, overlap),
        ROOTS,
    ),
)


@result(
    ledger=("kunin2024.nullspace-alpha-solution",),
    domain=rational,
    arguments=("k", "delta", "s"),
    uses=("single_neuron.equation_on_the_line",),
)
def position_on_the_line() -> Existence:
    """The minimiser on the line of interpolators, in closed form; the equation has no other solution, by convexity."""

    def facts(position: sp.Expr) -> tuple[Statement, ...]:
        return (Identity(left_side(position, s**2), k),)

    return Existence.of(
        solution,
        facts,
        r"$\alpha$ solves the equation with $s=\|\beta_*\|$",
        formula=rf"\alpha = {typeset(solution)}",
    )


STARTED = rational.cells[0]
anywhere = replace(
    rational,
    scalars=(k, delta, s, overlap),
    conditions=(overlap**2 < s**2,),
    words="s = ‖β_*‖ > 0, g = β_*ᵀv",
    hypotheses=(
        *ON_THE_LINE,
        ROOTS,
        meaning("g = β_*ᵀv, less than ‖β_*‖ in absolute value as β_* is not along v", overlap**2 < s**2),
    ),
)
at_least_norm = replace(
    anywhere,
    cells=(replace(STARTED, name="g = 0", where={**STARTED.where, overlap: sp.S.Zero}),),
)


def tilt_at(position: sp.Expr) -> sp.Expr:
    """The slope of the objective's radial part along v at β_* + αv, times 2/3, for any interpolator β_*."""
    square = s**2 + 2 * overlap * position + position**2
    return sp.sqrt(sp.sqrt(square + half**2) - half) * (position + overlap) / sp.sqrt(square)


@printed(
    "kunin2024.nullspace-alpha-solution",
    quote=r"\alpha=k\sqrt{\frac{k^2+\delta}2+\sqrt{\big(\frac{k^2+\delta}2\big)^2+\|\beta_*\|^2}}",
    domain=anywhere,
    hypothesis=LEAST_NORM,
    under=at_least_norm,
)
def printed_position_on_the_line() -> Identity:
    """As printed: the objective is stationary there, with ‖β‖² = s² + 2gα + α² and its derivative 2(α + g)."""
    return Identity(tilt_at(solution), k)
