"""The formula for a one-dimensional null space is the general closed form, before and after a change of sign of a.

Along the null direction v = n_0/‖n_0‖ the paper's k is √((κ_0 - δ)/2) β̂_0ᵀv = sgn(a_0) √η_a‖n_0‖, and k² + δ
= δ' is the balance that the row space sees. Hence α = sgn(a_0)|a_∞|‖n_0‖: where a keeps its sign αv = a_∞n_0,
and after a change of sign the learned interpolator is β_* - αv, as the paper observes (kunin2024, App. A.4.4;
η_a η_w = 1).
"""

from __future__ import annotations

import random
from dataclasses import replace

import sympy as sp

from derivations.single_neuron.interpolators.learned_solution import final_square, interpolating
from derivations.single_neuron.interpolators.nullspace import (
    LEAST_NORM,
    ON_THE_LINE,
    anywhere,
    at_least_norm,
    solution,
    tilt_at,
    unit_direction,
)
from derivations.single_neuron.quantities import kappa_minus
from derivations.single_neuron.symbols import (
    a0,
    beta0,
    beta_plus,
    beta_star,
    delta,
    delta_row,
    eta_a,
    eta_w,
    k,
    n0,
    s,
    u0,
    v,
    w0,
)
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity

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
    hypotheses=(
        *ON_THE_LINE,
        stated("App. A.4.4", "α ≠ 0: the start has a part n_0 in the null space", n0),
        added(LEAST_NORM, beta_plus),
    ),
)
root = sp.sqrt(final_square)


def position(sign: int) -> sp.Expr:
    """α for k = ±√η_a‖n_0‖, δ = δ' - η_a‖n_0‖² and ‖β_*‖ = ‖β_+‖."""
    start = {k: sign * sp.sqrt(eta_a) * norm(n0), delta: delta_row - eta_a * norm2(n0), s: norm(beta_plus)}
    return solution.subs(start, simultaneous=True)


@result(domain=one_rate, uses=("single_neuron.learned_interpolator", "single_neuron.position_on_the_line"))
def line_is_a_special_case() -> Conjunction:
    """αv is a_∞n_0 where a_∞ has the sign of a_0: the paper's formula is the general one, for η_a η_w = 1.

    With v = n_0/‖n_0‖ the paper's k is √((κ_0 - δ)/2) β̂_0ᵀv = ±√η_a‖n_0‖, the sign that of a_0.
    """
    tilt_at_start = sp.sqrt(kappa_minus(delta, norm2(beta0)) / 2) * inner(beta0, n0) / norm(beta0)
    return Conjunction(
        Identity(tilt_at_start, sp.sign(a0) * sp.sqrt(eta_a) * norm2(n0), on=starts),
        Identity(position(1), root * norm(n0)),
        Identity(position(-1), -root * norm(n0)),
    )


def parts_of_start(rng: random.Random, d: int) -> Point:
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
    conditions=(norm2(n0) > 0,),
    dimensions=(2, 3),
    sampler=parts_of_start,
    hypotheses=(stated("App. A.4.4", "α ≠ 0: the start has a part n_0 in the null space", n0),),
)


@result(
    ledger=("kunin2024.nullspace-minus-alpha",),
    domain=one_rate,
    uses=("single_neuron.line_is_a_special_case",),
)
def reversed_position() -> Existence:
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


@printed(
    "kunin2024.nullspace-minus-alpha",
    quote=r"$\beta=\beta_*-\alpha v$",
    domain=anywhere,
    hypothesis=LEAST_NORM,
    under=at_least_norm,
)
def printed_reversed_position() -> Identity:
    """As printed: where a has changed its sign, zᵀβ is reversed, and the objective is stationary at β_* - αv."""
    return Identity(tilt_at(-solution), -k)
