"""From (μ, φ) back to the weights.

On whitened data w moves in the span of w₀ and β_*: a direction u across both keeps uᵀw = 0. More precisely, with
E = exp(η_w ∫ a²) the part of w across β_* is that of w₀ divided by E > 0. So its direction is fixed, and its length
never turns negative. The paper divides by its length at time zero, ‖w₀‖² - (β_*ᵀw₀)²/‖β_*‖²: where w₀ is along β_*,
as for w₀ = β_* = (1, 0), its formula is 0/0, and w = c₁β_*/‖β_*‖.

|a| and ‖w‖ follow from μ and δ, as 2η_w a² and 2η_a‖w‖² are κ ± δ. The paper prints them for η_a = η_w = 1. The sign
of a is that of μ, unless w = 0, where μ has lost it (kunin2024, Sec. 3 and App. A.2.6).
"""

from __future__ import annotations

import random
from dataclasses import replace

import sympy as sp

from derivations.single_neuron.coordinates.polar import STRICT, polar
from derivations.single_neuron.network.model import whitened
from derivations.single_neuron.quantities import kappa_minus, kappa_plus
from derivations.single_neuron.symbols import (
    E,
    a,
    alpha,
    beta_star,
    c,
    delta,
    eta_a,
    eta_w,
    fixed,
    mu,
    turned,
    w,
    w0,
)
from symdyn.calculus.gram import Flow, Linear, inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, defined, meaning
from symdyn.statements.kinds import Conservation, Dynamics, Existence, Identity, Inequality

target = norm2(beta_star)
growing = Flow({**whitened.velocities, E: eta_w * a**2 * E})
"""The flow on whitened data together with E = exp(η_w ∫ a²)."""

flow_domain = Domain(
    (a, eta_a, eta_w, E), (w, fixed, beta_star), (Cell("any rates", {eta_a: 1, eta_w: 1}),), words="β_* ≠ 0"
)


def across(vector: Linear) -> Linear:
    """The part of a vector across β_*, (I - β_*β_*ᵀ/‖β_*‖²) w."""
    return vector - inner(vector, beta_star) / target * beta_star


@result(ledger=("kunin2024.single-span-invariance",), domain=flow_domain)
def span_invariance() -> Existence:
    """On whitened data w stays in the span of w₀ and β_*."""
    linear = eta_w * a * inner(fixed, beta_star) - eta_w * a**2 * inner(fixed, w)
    return Existence(
        r"$w(t)\in\mathrm{span}(w_0,\beta_*)$: $u^\top w$ stays zero for every u across $w_0$ and $\beta_*$",
        (
            Dynamics(inner(fixed, w), linear, under=growing),
            Conservation(E * across(w), under=growing, name=r"E\,w_\perp"),
        ),
    )


def _across_target(rng: random.Random, d: int) -> Point:
    """β_* and a vector across it; on a line there is none but zero."""
    b = [sp.Rational(rng.randint(1, 9), rng.choice((1, 2))) for _ in range(2)][:d] + [sp.Integer(0)] * (d - 2)
    return {beta_star: b, turned: [-b[1], b[0], *b[2:]] if d > 1 else [sp.Integer(0)]}


decomposed = Domain(
    (c, alpha, E),
    (beta_star, turned),
    (Cell("across", {E: 1, target: 1}, {inner(turned, beta_star): sp.Integer(0)}, "a vector across β_*"),),
    sampler=_across_target,
    words="w₀ = c β_* + α v with v across β_*",
    hypotheses=(meaning("w_0 = c β_* + α v, with a vector v across β_*", turned),),
)


@result(
    ledger=("kunin2024.recover-c2-nonnegative",), domain=flow_domain, uses=("single_neuron.span_invariance",)
)
def coefficient_across() -> Existence:
    """The coefficient of w along the fixed direction across β_* is ‖w₀⊥‖/E, which is not negative."""
    start = c * beta_star + alpha * turned
    return Existence(
        r"$c_2(t)=\|w_{0\perp}\|/E(t)\ge0$",
        (
            Dynamics(
                inner(across(fixed), w), -eta_w * a**2 * inner(across(fixed), w), under=growing, name="c_2"
            ),
            Identity(inner(start, across(start)), norm2(across(start)), on=decomposed),
            Inequality(norm2(across(start)) / E, ">=", on=decomposed),
        ),
    )


along_target = sp.Symbol("k0", real=True)
OFF = Cell(
    "w₀ not along β_*",
    {alpha: 1, target: 1, norm2(turned): 1},
    {inner(turned, beta_star): sp.S.Zero},
    "w₀ = k₀ β_* + v with v across β_*; α = 1/E > 0",
)
ALONG = replace(
    OFF,
    name="w₀ along β_*",
    signs={alpha: 1, target: 1},
    where={**OFF.where, norm2(turned): sp.S.Zero},
    reason="v = 0",
)


def _off_or_along(rng: random.Random, d: int) -> Point:
    """β_* and a vector across it, which vanishes in half of the cases."""
    drawn = _across_target(rng, d)
    return drawn if rng.random() < 0.5 else drawn | {turned: [sp.S.Zero] * d}


NOT_ALONG = (
    "w₀ is not along β_*: otherwise, always for d = 1, the second term is 0/0, and it has to be left out"
)
moved = Domain(
    (c, alpha, along_target),
    (beta_star, turned),
    (OFF,),
    let={w0: along_target * beta_star + turned},
    dimensions=(2, 3),
    sampler=_off_or_along,
    words="w₀ not along β_*",
    hypotheses=(
        added(NOT_ALONG, norm2(turned), "d"),
        meaning("w_0 = k₀β_* + v with v across β_*, and α = 1/E > 0", alpha, turned, *defined(w0)),
    ),
)
every_start = replace(
    moved, cells=(OFF, ALONG), dimensions=(1, 2, 3), words="any w₀, β_* ≠ 0", hypotheses=moved.hypotheses[1:]
)
where_defined = replace(
    moved,
    hypotheses=(
        *moved.hypotheses[1:],
        meaning("where what is divided by does not vanish, which is the first fact", norm2(turned), "d"),
    ),
)
length_across = norm2(w0) - (inner(beta_star, w0) / norm(beta_star)) ** 2
"""The square of what the paper divides by."""


@result(ledger=("kunin2024.recover-w-decomposition",), domain=moved, uses=("single_neuron.span_invariance",))
def weights_from_phi() -> Identity:
    """w from ‖w‖, φ and the plane of w₀ and β_*.

    By the law for the part across β_*, w = c β_* + α w₀⊥ with α = 1/E > 0. If w₀ is along β_*, c₂ = 0, and there is no
    unit vector to multiply it with.
    """
    moving = c * beta_star + alpha * across(w0)
    return Identity(moving, in_coordinates(moving), name="w", compiles=moving)


def in_coordinates(moving: Linear) -> Linear:
    """c₁ and c₂ times the unit vectors along β_* and along the part of w₀ across it."""
    along = norm(moving) * (inner(moving, beta_star) / (norm(moving) * norm(beta_star)))
    remaining = sp.sqrt(norm2(moving) - along**2)
    return along * beta_star / norm(beta_star) + remaining * (across(w0) / sp.sqrt(length_across))


@printed(
    "kunin2024.recover-w-decomposition",
    quote=r"{\sqrt{\|w_0\|^2-(\beta_*^\top w_0/\|\beta_*\|)^2}}",
    domain=every_start,
    hypothesis=NOT_ALONG,
    under=moved,
)
def printed_weights_from_phi() -> Existence:
    """As printed, for any w₀: what is divided by does not vanish, and the two terms sum up to w."""
    moving = c * beta_star + alpha * across(w0)
    return Existence(
        r"$w=c_1\frac{\beta_*}{\|\beta_*\|}+c_2\frac{(I-\beta_*\beta_*^\top/\|\beta_*\|^2)w_0}"
        r"{\sqrt{\|w_0\|^2-(\beta_*^\top w_0/\|\beta_*\|)^2}}$ for every $w_0$",
        (
            Inequality(length_across, "!="),
            Identity(moving, in_coordinates(moving), name="w", on=where_defined),
        ),
    )


SIGNS = (
    Cell("a > 0", {a: 1, **STRICT}),
    Cell("a < 0", {a: -1, **STRICT}),
    Cell("a = 0", STRICT, {a: sp.Integer(0)}),
)


@result(
    ledger=("kunin2024.recover-a-normw",),
    domain=polar.with_cells(*SIGNS),
    arguments=("mu", "delta", "eta_a", "eta_w"),
    uses=("single_neuron.layer_norms",),
)
def weights_from_mu() -> Identity:
    """a and ‖w‖ from μ and δ, for any two rates and w ≠ 0."""
    x = eta_a * eta_w * mu**2
    readout = sp.sign(mu) * sp.sqrt(kappa_plus(delta, x) / (2 * eta_w))
    return Identity((a, norm(w)), (readout, sp.sqrt(kappa_minus(delta, x) / (2 * eta_a))))


product_one = tuple(
    Cell(f"{cell.name}, η_a η_w = 1", cell.signs, {**cell.where, eta_w: 1 / eta_a}) for cell in SIGNS
)
unit = tuple(
    Cell(
        f"{cell.name}, η_a = η_w = 1", cell.signs, {**cell.where, eta_a: sp.Integer(1), eta_w: sp.Integer(1)}
    )
    for cell in SIGNS
)


@printed(
    "kunin2024.recover-a-normw",
    quote=r"$a=\mathrm{sgn}(\mu)\sqrt{\frac{\sqrt{\delta^2+4\mu^2}+\delta}2}$",
    domain=polar.with_cells(*product_one),
    hypothesis="η_a = η_w = 1: that η_a η_w = 1 is not enough; and w ≠ 0, where sgn(μ) = 0 has lost the sign of a",
    under=polar.with_cells(*unit),
)
def printed_weights_from_mu() -> Identity:
    """As printed, without the rates."""
    kappa = sp.sqrt(delta**2 + 4 * mu**2)
    readout = sp.sign(mu) * sp.sqrt((kappa + delta) / 2)
    return Identity((a, norm(w)), (readout, sp.sqrt((kappa - delta) / 2)))
