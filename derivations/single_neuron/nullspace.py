"""The learned interpolator where the null space of the data is one-dimensional.

The interpolators are β_* + αv with β_* of least norm, Xv = 0, ‖v‖ = 1. Along this line the objective q_δ(‖β‖)
+ zᵀβ of Theorem 5 has the derivative q_δ′(‖β‖) α/‖β‖ + zᵀv, and with k = -2zᵀv/3 it vanishes at

    α = k √((k² + δ)/2 + √(((k² + δ)/2)² + ‖β_*‖²))

(kunin2024, App. A.4.4; η_a η_w = 1).
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.mirror_potential import lengths
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
from symdyn.domain import Cell, Domain
from symdyn.result import result
from symdyn.statement import Existence, Identity, typeset

half = delta / 2


def q(length):
    """q_δ of Theorem 5."""
    root = sp.sqrt(length**2 + half**2)
    return (length**2 - half * (half + root)) * sp.sqrt(root - half) / length


def slope(length):
    """q_δ′ for a positive length."""
    return sp.Rational(3, 2) * sp.sign(length) * sp.sqrt(sp.sqrt(length**2 + half**2) - half)


def unit_direction(rng: random.Random, d: int) -> dict:
    """A rational unit vector v, and β_* orthogonal to it."""
    flat = [sp.Rational(rng.randint(-5, 5), rng.randint(1, 4)) for _ in range(d - 1)]
    square = sum(p * p for p in flat)
    direction = [2 * p / (square + 1) for p in flat] + [(square - 1) / (square + 1)]
    drawn = [sp.Rational(rng.randint(-9, 9), rng.randint(1, 3)) for _ in range(d)]
    share = sum(p * q for p, q in zip(drawn, direction, strict=True))
    return {v: direction, beta_star: [p - share * q for p, q in zip(drawn, direction, strict=True)]}


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
)
on_line = beta_star + alpha * v


@result(ledger=("kunin2024.nullspace-gradients",), domain=line)
def gradients_on_the_line():
    """The derivatives of the objective's parts along the interpolators β_* + αv.

    The argument of q_δ is a length, so that sgn is one.
    """
    return Existence(
        r"derivatives along $\beta=\beta_*+\alpha v$",
        (
            Identity(sp.diff(q(n), n), slope(n), on=lengths),
            Identity(sp.diff(norm(on_line), alpha), alpha / norm(on_line)),
            Identity(sp.diff(inner(tilt, on_line), alpha), inner(tilt, v)),
            Identity(norm2(on_line), norm2(beta_star) + alpha**2),
        ),
        formula=r"q_\delta'(n) = \frac{3}{2} \sqrt{\sqrt{n^2 + \delta^2/4} - \delta/2}, \quad "
        r"\nabla_\alpha \|\beta\| = \frac{\alpha}{\|\beta\|}, \quad \nabla_\alpha z^\top \beta = z^\top v",
    )


def left_side(position, square):
    """√(√(square + α² + δ²/4) - δ/2) α/√(square + α²)."""
    total = square + position**2
    return sp.sqrt(sp.sqrt(total + half**2) - half) * position / sp.sqrt(total)


@result(ledger=("kunin2024.nullspace-equation",), domain=line, uses=("single_neuron.azulay_theorem",))
def equation_on_the_line():
    """The equation for the minimiser on the line of interpolators."""
    objective = q(norm(on_line)) + inner(tilt, on_line)
    position = left_side(alpha, norm2(beta_star))
    return Existence(
        r"the derivative of $q_\delta(\|\beta\|)+z^\top\beta$ along $\beta=\beta_*+\alpha v$ vanishes",
        (Identity(sp.diff(objective, alpha), 3 * position / 2 + inner(tilt, v)),),
        formula=rf"{typeset(position)} = - \frac{{2 z^\top v}}{{3}}",
    )


solution = k * sp.sqrt((k**2 + delta) / 2 + sp.sqrt(((k**2 + delta) / 2) ** 2 + s**2))
larger, smaller = sp.symbols("p q", real=True)
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
)


@result(
    ledger=("kunin2024.nullspace-alpha-solution",),
    domain=rational,
    arguments=("k", "delta", "s"),
    uses=("single_neuron.equation_on_the_line",),
)
def position_on_the_line():
    """The minimiser on the line of interpolators, in closed form; the equation has no other solution, by convexity."""

    def facts(position):
        return (Identity(left_side(position, s**2), k),)

    return Existence.of(
        solution,
        facts,
        r"$\alpha$ solves the equation with $s=\|\beta_*\|$",
        formula=rf"\alpha = {typeset(solution)}",
    )
