r"""The surface between the basins, and what crossing it means (kunin2024, App. A.2.5).

F = λ_+ a + η_a ω obeys F' = (λ_+ - η_w a²) F, so that F = 0 is never left. On it ω = -λ_+ a/η_a and
a' = (λ_- - η_w a²) a, where λ_- < 0: both run into the saddle a = ω = 0. A start with a_0 ≠ 0 has
2R α/a_0 = λ_+ + η_a ν_0; if this is negative, a changes its sign, at the zero of the denominator of ν(t); otherwise
it never vanishes.

Multiplied by a_0, membership in a basin becomes a condition on β_0 = a_0 w_0: a_0 F_0 = η_a β_0ᵀβ_* + λ_+ a_0². It
says nothing where a_0 = 0, since β_0 = 0 there whatever w_0 is.
"""

from __future__ import annotations

import random
from dataclasses import replace

import sympy as sp

from derivations.single_neuron.basins.final_sign import F0, every_weight, printed_F0
from derivations.single_neuron.coordinates.planar import (
    COMPUTED,
    MODES,
    UNIT,
    WHITENED,
    any_rates,
    by_modes,
    gap,
    low,
    modes,
    plane,
    product_one,
    starts,
    weights,
)
from derivations.single_neuron.solution.downstream import denominator, no_crossing
from derivations.single_neuron.solution.unified import P_closed, alpha, every_start
from derivations.single_neuron.symbols import (
    a,
    a0,
    beta_star,
    delta,
    eta_a,
    eta_w,
    nu0,
    omega,
    omega0,
    s,
    t,
    w,
    w0,
)
from symdyn.calculus.gram import inner
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Dynamics, Existence, Identity, Inequality, Solution

plus, minus, R = modes
F = plus * a + eta_a * omega
printed_F = omega + a / 2 * (delta + sp.sqrt(delta**2 + 4 * s**2))


def on_surface(name: str, sign: int) -> Cell:
    """A cell of the surface F = 0."""
    rates = by_modes(sign)
    omega_there = (-plus * a / eta_a).xreplace(rates)
    return Cell(name, {eta_a: 1, eta_w: 1, t: 1, low: 1, gap: 1}, {**rates, omega: omega_there}, "F = 0")


on_the_surface = Domain(
    (t, a, a0, eta_a, eta_w),
    cells=tuple(on_surface(*x) for x in (("δ > 0", 1), ("δ = 0", 0), ("δ < 0", -1))),
    hypotheses=(
        stated("App. A.2.5, caption of the figure of the basins", "on the separating surface", omega),
        MODES,
        WHITENED,
    ),
)


def turned_positive(point: Point) -> bool:
    """Whether the first component of β_* is positive, which a rotation makes it."""
    return point[beta_star][0] > 0


a_on_surface = a0 * sp.exp(minus * t) / sp.sqrt(1 + eta_w * a0**2 * (1 - sp.exp(2 * minus * t)) / -minus)


@result(
    ledger=("kunin2024.basin-separating-hyperplane",),
    domain=on_the_surface,
    uses=("single_neuron.planar_dynamics",),
)
def separating_surface() -> Existence:
    """The surface λ_+ a + η_a ω = 0 is never left, and runs into the saddle a = ω = 0, for all rates."""
    return Existence(
        r"A start on $\lambda_+ a + \eta_a\, w^\top\beta_* = 0$ stays on this surface and tends to the saddle "
        r"$a = w^\top\beta_* = 0$",
        because=(
            Dynamics(F, (plus - eta_w * a**2) * F, under=plane, name="F", on=every_weight),
            Dynamics(a, (minus - eta_w * a**2) * a, under=plane),
            Solution({a: a_on_surface}, {a: (minus - eta_w * a**2) * a}, {a: a0}, t),
            Inequality(minus - eta_w * a**2, "<"),
        ),
        formula=r"\lambda_+ a + \eta_a\, w^\top\beta_* = 0",
    )


def on_printed_hyperplane(random: random.Random, dimension: int) -> Point:
    """Exact weights with rates of product one on the printed hyperplane, in the chosen dimension.

    There ω = -τ s a with δ = s (τ - 1/τ), so that s follows from τ, a, the rates and the part of w across β_*.
    """
    tau, rate, size, *across = (
        sp.Rational(random.randint(1, 9), random.randint(1, 9)) for _ in range(dimension + 2)
    )
    balance = size**2 / rate - rate * ((tau * size) ** 2 + sum(x**2 for x in across))
    length = balance / (tau - 1 / tau) if tau != 1 else sp.S.NegativeOne
    zeros = [sp.S.Zero] * (dimension - 1)
    return {a: size, eta_a: rate, w: [-tau * size, *across], beta_star: [length, *zeros]}


@printed(
    "kunin2024.basin-separating-hyperplane",
    quote=r"Initializations on $w_0^\top\beta_*+\frac{a_0}2(\delta+\sqrt{\delta^2+4\|\beta_*\|^2})=0$ travel "
    r"along this surface",
    domain=weights(
        product_one,
        sampler=on_printed_hyperplane,
        conditions=(sp.Eq(printed_F, 0), turned_positive),
    ),
    hypothesis=UNIT,
    under=Domain(
        (a, delta, s),
        cells=(
            Cell(
                "η_a = η_w = 1, on the hyperplane",
                {s: 1},
                {eta_a: 1, eta_w: 1, omega: -a / 2 * (delta + sp.sqrt(delta**2 + 4 * s**2))},
                "the printed functional vanishes",
            ),
        ),
    ),
    hypotheses=(
        stated(
            "App. A.2.5",
            "on the printed surface; by rotation the first component of β_* is positive",
            printed_F,
            turned_positive,
            omega,
            beta_star,
            w,
        ),
    ),
)
def printed_separating_hyperplane() -> Dynamics:
    """As printed, without the rates: on the hyperplane its functional stands still."""
    return Dynamics(printed_F, sp.S.Zero, under=plane)


def with_nu(domain: Domain) -> Domain:
    """The domain with ν_0 = ω_0/a_0 computed."""
    return replace(domain, let={**domain.let, nu0: omega0 / a0}).supposing(COMPUTED)


@result(
    ledger=("kunin2024.basin-sign-change-condition",),
    domain=with_nu(every_start),
    uses=("single_neuron.zero_crossing_time", "single_neuron.nu_solution"),
)
def sign_change_condition() -> Existence:
    """a ≠ 0 changes its sign if and only if the denominator of ν(t) vanishes: 2R < -2η_a ν_0 - δ, for all rates."""
    ratio = 2 * eta_a * nu0 + delta
    below = 2 * R * sp.cosh(R * t) + ratio * sp.sinh(R * t)
    return Existence(
        r"$a$ changes its sign if and only if the denominator of $\nu(t)$ vanishes, if and only if "
        r"$2R < -2\eta_a\nu_0 - \delta$",
        because=(
            Identity(P_closed, a0 * sp.exp(delta * t / 2) * below / (2 * R)),
            Identity(4 * R * alpha, a0 * (2 * R + ratio)),
            Inequality(denominator(nu0), ">", on=no_crossing),
        ),
        formula=r"\sqrt{\delta^2 + 4\eta_a\eta_w\|\beta_*\|^2} < -2\eta_a\nu_0 - \delta",
    )


_lift = sp.Symbol("lift", real=True)


@printed(
    "kunin2024.basin-sign-change-condition",
    quote=r"$\sqrt{\delta^2+4\|\beta_*\|^2}<-2\nu_0-\delta$",
    domain=starts(
        product_one,
        also={nu0: inner(w0, beta_star) / a0},
        conditions=(sp.Ne(F0, 0), sp.Ne(printed_F0, 0)),
    ),
    hypothesis=UNIT,
    under=Domain(
        (a0, delta, s),
        cells=tuple(
            Cell(
                f"η_a = η_w = 1, a {'keeps' if side > 0 else 'changes'} its sign",
                {s: 1, _lift: side, a0: sign},
                {
                    eta_a: 1,
                    eta_w: 1,
                    nu0: (_lift - delta - sp.sqrt(delta**2 + 4 * s**2)) / 2,
                    omega0: a0 * (_lift - delta - sp.sqrt(delta**2 + 4 * s**2)) / 2,
                },
                "lift is the difference of the two sides",
            )
            for side in (1, -1)
            for sign in (1, -1)
        ),
    ),
    hypotheses=(
        stated(
            "App. A.2.5, a_0 off the separating surface",
            "a_0 ≠ 0, and neither surface, printed or true, is met",
            omega0,
        ),
    ),
)
def printed_sign_change() -> Inequality:
    """As printed: √(δ² + 4‖β_*‖²) + 2ν_0 + δ has the sign of α/a_0, which is negative where a changes its sign."""
    return Inequality(a0 * alpha * (sp.sqrt(delta**2 + 4 * s**2) + 2 * nu0 + delta), ">")


@result(
    ledger=("kunin2024.basin-alignment-interpretation",),
    domain=starts(any_rates),
    uses=("single_neuron.final_branch",),
)
def basin_by_alignment() -> Identity:
    """Where a_0 ≠ 0 the basin is read off β_0: a_0 (λ_+ a_0 + η_a ω_0) = η_a β_0ᵀβ_* + λ_+ a_0².

    So a_0 > 0 stays positive where β_0ᵀβ_* > -λ_+ a_0²/η_a, and a_0 < 0 turns positive where β_0ᵀβ_* is less than that.
    """
    return Identity(a0 * F0, eta_a * inner(a0 * w0, beta_star) + plus * a0**2)


_one = {eta_w: 1 / eta_a}
_downstream = (
    Cell("a_0 > 0", {a0: 1, eta_a: 1, eta_w: 1}),
    Cell("a_0 < 0", {a0: -1, eta_a: 1, eta_w: 1}),
)


@printed(
    "kunin2024.basin-alignment-interpretation",
    quote=r"$\beta_0$ is sufficiently aligned to $\beta_*$ if $a_0\ge0$, or sufficiently misaligned if $a_0\le0$",
    domain=starts(
        *(replace(cell, signs={a0: cell.signs[a0], eta_a: 1}, where=_one) for cell in _downstream),
        Cell("a_0 = 0", {eta_a: 1}, {a0: 0, **_one}),
        conditions=(delta < 0, F0 > 0),
    ),
    hypothesis="a_0 ≠ 0: where a_0 = 0, β_0 = 0 has no direction and does not say in which basin the start lies",
    under=Domain(
        (a0, delta, s, eta_a, eta_w),
        cells=tuple(
            replace(
                cell,
                signs={**cell.signs, s: 1, delta: -1, _lift: 1},
                where={omega0: (_lift - plus * a0) / eta_a},
            )
            for cell in _downstream
        ),
    ),
    hypotheses=(stated("App. A.2.5", "δ < 0, and the start is in S⁺", delta < 0, omega0),),
)
def printed_basin_by_alignment() -> Inequality:
    """As printed: in S⁺ the alignment exceeds its threshold for a_0 ≥ 0, and falls below it for a_0 ≤ 0."""
    return Inequality(sp.sign(a0) * (eta_a * a0 * omega0 + plus * a0**2), ">")
