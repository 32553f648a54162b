"""The learned interpolator where the null space of the data is one-dimensional.

The interpolators are β_* + αv with β_* of least norm, Xv = 0, ‖v‖ = 1. Along this line the objective q_δ(‖β‖)
+ zᵀβ of Theorem 5 has the derivative q_δ′(‖β‖) α/‖β‖ + zᵀv, and with k = -2zᵀv/3 it vanishes at

    α = k √((k² + δ)/2 + √(((k² + δ)/2)² + ‖β_*‖²)).

Here k = sgn(a_0) √η_a n_0ᵀv and the root is |a_∞|/√η_a: this is β_* + a_∞n_0 as long as a_∞ has the sign of
a_0. After a change of sign of a it is β_* - αv, as the paper observes (kunin2024, App. A.4.4; η_a η_w = 1).
"""

from __future__ import annotations

import random
from dataclasses import replace

import sympy as sp

from derivations.single_neuron.learned_solution import final_square, interpolating
from derivations.single_neuron.mirror_potential import lengths
from derivations.single_neuron.quantities import kappa_minus
from derivations.single_neuron.symbols import (
    a0,
    alpha,
    beta0,
    beta_plus,
    beta_star,
    delta,
    delta_row,
    eta_a,
    eta_w,
    k,
    n,
    n0,
    s,
    tilt,
    u0,
    v,
    w0,
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
    )


def left_side(position, square):
    """√(√(square + α² + δ²/4) - δ/2) α/√(square + α²)."""
    total = square + position**2
    return sp.sqrt(sp.sqrt(total + half**2) - half) * position / sp.sqrt(total)


@result(ledger=("kunin2024.nullspace-equation",), domain=line, uses=("single_neuron.azulay_theorem",))
def equation_on_the_line():
    """The equation for the minimiser on the line of interpolators."""
    objective = q(norm(on_line)) + inner(tilt, on_line)
    equation = left_side(alpha, norm2(beta_star)) + 2 * inner(tilt, v) / 3
    return Identity(sp.diff(objective, alpha), 3 * equation / 2)


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


one_rate = replace(
    interpolating,
    cells=tuple(
        replace(
            cell,
            signs={key: sign for key, sign in cell.signs.items() if key != eta_w} | {norm2(n0): 1},
            where={**cell.where, eta_w: 1 / eta_a},
        )
        for cell in interpolating.cells
    ),
)
root = sp.sqrt(final_square)


def position(sign):
    """α for k = ±√η_a‖n_0‖, δ = δ' - η_a‖n_0‖² and ‖β_*‖ = ‖β_+‖."""
    start = {k: sign * sp.sqrt(eta_a) * norm(n0), delta: delta_row - eta_a * norm2(n0), s: norm(beta_plus)}
    return solution.subs(start, simultaneous=True)


@result(domain=one_rate, uses=("single_neuron.learned_interpolator", "single_neuron.position_on_the_line"))
def line_is_a_special_case():
    """αv is a_∞n_0 where a_∞ has the sign of a_0: the paper's formula is the general one, for η_a η_w = 1.

    With v = n_0/‖n_0‖ the paper's k is √((κ_0 - δ)/2) β̂_0ᵀv = ±√η_a‖n_0‖, the sign that of a_0.
    """
    tilt_at_start = sp.sqrt(kappa_minus(delta, norm2(beta0)) / 2) * inner(beta0, n0) / norm(beta0)
    return Existence(
        r"$\alpha v=a_\infty n_0$ if $\operatorname{sgn}a_\infty=\operatorname{sgn}a_0$",
        (
            Identity(tilt_at_start, sp.sign(a0) * sp.sqrt(eta_a) * norm2(n0), on=starts),
            Identity(position(1), root * norm(n0)),
            Identity(position(-1), -root * norm(n0)),
        ),
    )


def parts_of_start(rng: random.Random, d: int) -> dict:
    """The parts of w_0 in the row space and in the null space."""
    drawn = unit_direction(rng, d)
    return {u0: drawn[beta_star], n0: [3 * p for p in drawn[v]]}


starts = Domain(
    (a0, eta_a),
    (u0, n0),
    tuple(
        Cell(
            f"a_0 {w} 0", {a0: sign, eta_a: 1}, {eta_w: 1 / eta_a, inner(u0, n0): 0}, "η_a η_w = 1, X n_0 = 0"
        )
        for w, sign in ((">", 1), ("<", -1))
    ),
    let={
        w0: u0 + n0,
        beta0: a0 * w0,
        delta: eta_w * a0**2 - eta_a * norm2(u0 + n0),
    },
    dimensions=(2, 3),
    sampler=parts_of_start,
)


@result(
    ledger=("kunin2024.nullspace-minus-alpha",),
    domain=one_rate,
    uses=("single_neuron.line_is_a_special_case",),
)
def reversed_position():
    """After a change of sign of a the learned interpolator is β_* - αv.

    β_∞ - β_* = a_∞n_0 with a_∞ of the sign opposite to a_0. Trajectories that pass through β = 0 otherwise
    have w = 0 there, hence n_0 = 0 and α = 0.
    """
    v_unit = n0 / norm(n0)
    return Existence(
        r"$\beta_\infty=\beta_*-\alpha v$ where $a$ has changed its sign",
        (
            Identity(-root * n0, -position(1) * v_unit),
            Identity(root * n0, -position(-1) * v_unit),
        ),
        formula=r"\beta_\infty = \beta_* - \alpha v",
    )
