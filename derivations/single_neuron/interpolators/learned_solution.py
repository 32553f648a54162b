"""The learned interpolator in closed form, for any data and any rates.

Let n_0 be the part of w_0 in the null space of the data and u the part in the row space. Gradient flow moves
u alone, so β = a (u + n_0) ends at β_∞ = β_+ + a_∞n_0 with β_+ = X⁺y = a_∞u_∞. Both δ and n_0 stay, hence so
does

    δ' = δ + η_a‖n_0‖² = η_w a² - η_a‖u‖²,

and in the end ‖u‖ = ‖β_+‖/|a|: a_∞² is the positive root of η_w a⁴ - δ' a² - η_a‖β_+‖² = 0. Only the sign of
a_∞ is not an algebraic function of start and data; it is that of a_0 unless a passes through zero, which
happens at most once. This goes beyond the paper, whose formula for a one-dimensional null space (App. A.4.4)
is the case η_a η_w = 1.
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.quantities import kappa_minus, kappa_plus
from derivations.single_neuron.symbols import (
    a,
    a_end,
    beta_plus,
    delta_row,
    eta_a,
    eta_w,
    n0,
    r,
    u_end,
    v,
    w,
)
from symdyn.calculus.gram import Linear, inner, norm2
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Conjunction, Conservation, Identity, Inequality, Statement

x_plus = norm2(beta_plus)
final_square = kappa_plus(delta_row, eta_a * eta_w * x_plus) / (2 * eta_w)
"""a_∞²."""


def across_the_null_space(rng: random.Random, d: int) -> Point:
    """A gradient r of the row space, and a direction v of the null space."""
    gradient = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(d)]
    direction = [sp.Rational(rng.randint(-9, 9), 2) for _ in range(d)]
    direction[-1] = -sum(p * q for p, q in zip(gradient[:-1], direction[:-1], strict=True)) / gradient[-1]
    return {r: gradient, v: direction}


low_rank = Domain(
    (a, eta_a, eta_w),
    (w, r, v),
    (
        Cell(
            "Xv = 0",
            {eta_a: 1, eta_w: 1, norm2(v): 1},
            {inner(r, v): 0},
            "the gradient in β is in the row space, and v is a direction",
        ),
    ),
    dimensions=(2, 3),
    sampler=across_the_null_space,
    words="Xv = 0",
)


@result(domain=low_rank)
def null_part_is_kept() -> Conjunction:
    """What w_0 has in the null space of the data stays, and with it the balance that the row space sees.

    vᵀw is conserved for every v with Xv = 0; so is δ' = δ + η_a‖n_0‖², here with one direction v of the null
    space.
    """
    balance = eta_w * a**2 - eta_a * norm2(w)
    return Conjunction(
        Conservation(inner(v, w), under=flow),
        Conservation(balance + eta_a * inner(v, w) ** 2 / norm2(v), under=flow, name=r"\delta'"),
    )


def null_and_row(rng: random.Random, d: int) -> Point:
    """β_+ in the row space, n_0 in the null space."""
    drawn = across_the_null_space(rng, d)
    return {beta_plus: drawn[r], n0: drawn[v]}


interpolating = Domain(
    (delta_row, eta_a, eta_w),
    (beta_plus, n0),
    tuple(
        Cell(
            f"δ' {words}",
            {x_plus: 1, eta_a: 1, eta_w: 1, **signs},
            {inner(beta_plus, n0): 0, **where},
            "X n_0 = 0",
        )
        for words, signs, where in (
            ("> 0", {delta_row: 1}, {}),
            ("= 0", {}, {delta_row: 0}),
            ("< 0", {delta_row: -1}, {}),
        )
    ),
    dimensions=(2, 3),
    sampler=null_and_row,
    words="β_+ ≠ 0",
)


@result(
    domain=interpolating,
    arguments=("beta_plus", "deltarow", "eta_a", "eta_w"),
    requires=(("positive", eta_a > 0, "eta_a"), ("positive", eta_w > 0, "eta_w")),
    uses=("single_neuron.null_part_is_kept", "single_neuron.conserved_delta"),
)
def final_readout_square() -> Characterised:
    """The square of the read-out weight in the end, for any data and any rates."""
    other_root = -kappa_minus(delta_row, eta_a * eta_w * x_plus) / (2 * eta_w)
    balance = eta_w * a_end**2 - eta_a * norm2(u_end)
    ends = Domain(
        (a_end, eta_a, eta_w), (u_end,), let={delta_row: balance, beta_plus: a_end * u_end}, cells=rates
    )

    def quartic(square: sp.Expr) -> sp.Expr:
        return eta_w * square**2 - delta_row * square - eta_a * x_plus

    def facts(square: sp.Expr) -> tuple[Statement, ...]:
        return (
            Identity(quartic(a_end**2), 0 * delta_row, on=ends),
            Identity(quartic(square), 0 * delta_row),
            Inequality(square, ">"),
            Identity(quartic(other_root), 0 * delta_row),
            Inequality(other_root, "<"),
        )

    return Characterised.of(final_square, facts, name=r"a_\infty^2")


rates = (Cell("positive rates", {eta_a: 1, eta_w: 1}),)


@result(
    domain=interpolating,
    arguments=("beta_plus", "n0", "deltarow", "eta_a", "eta_w"),
    requires=(("positive", eta_a > 0, "eta_a"), ("positive", eta_w > 0, "eta_w")),
    uses=("single_neuron.final_readout_square", "single_neuron.zero_is_passed_once"),
)
def learned_interpolator() -> Characterised:
    """The interpolator learned when a ends positive, β_∞ = β_+ + a_∞n_0; when it ends negative, n_0 has the other sign.

    The facts are what determines it: its parts in the row space and in the null space, and the balance of a_∞
    and β_∞/a_∞.
    """
    root = sp.sqrt(final_square)

    def facts(value: Linear) -> tuple[Statement, ...]:
        return (
            Identity(inner(beta_plus, value), x_plus),
            Identity(inner(n0, value), root * norm2(n0)),
            Identity(eta_w * root**2 - eta_a * norm2(value) / root**2, delta_row - eta_a * norm2(n0)),
        )

    return Characterised.of(beta_plus + root * n0, facts, name=r"\beta_\infty")
