r"""The plane of a and ω = wᵀβ_*, in which the single-neuron network moves on whitened data.

With XᵀX = I the gradient in β is β - β_*. Along β_* the flow is that of ω, and ‖w‖² = (η_w a² - δ)/η_a is known from
a and the conserved δ, so that a and ω move by themselves; across β_* the weights only shrink (kunin2024, App. A.2.4,
proof of Lemma 4). The paper's equations are those of η_a = η_w = 1: that the product of the rates is one is not
enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from derivations.single_neuron.coordinates.modes import lambda_minus, lambda_plus, rate
from derivations.single_neuron.symbols import (
    a,
    a0,
    beta_star,
    delta,
    eta_a,
    eta_w,
    nu,
    nu0,
    omega,
    omega0,
    s,
    t,
    upsilon,
    w,
    w0,
)
from symdyn.calculus.gram import Flow, inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, standing
from symdyn.statements.kinds import Dynamics

UNIT = "η_a = η_w = 1: that η_a η_w = 1 is not enough"

POSITIVE = (
    ("positive", eta_a > 0, "eta_a"),
    ("positive", eta_w > 0, "eta_w"),
    ("positive", s > 0, "s"),
    ("non-negative", t >= 0, "t"),
)
"""What the closed forms in time demand of their arguments."""

whitened = Flow({a: -eta_a * inner(w, a * w - beta_star), w: -eta_w * a * (a * w - beta_star)})
"""The flow of the weights on whitened data."""

plane = Flow({a: eta_a * omega - a * (eta_w * a**2 - delta), omega: eta_w * (a * s**2 - a**2 * omega)})
"""The flow of a and ω; δ and s = ‖β_*‖ stand still."""

modes = tuple(mode(delta, eta_a * eta_w * s**2) for mode in (lambda_plus, lambda_minus, rate))
"""λ_+, λ_- and R in the balance δ and the length of β_*."""

low, gap = sp.symbols("low gap", real=True)


WHITENED = standing("Sec. 3 and App. A.2", "whitened input, XᵀX = I, so that β_* = Xᵀy")
COMPUTED = meaning(
    "δ, ω = wᵀβ_*, s = ‖β_*‖ and the ratios ν and υ are those of the weights",
    *defined(delta, omega, omega0, s, nu, nu0, upsilon),
)
MODES = meaning("δ and ‖β_*‖ by the modes: low is the smaller of λ_+ and -λ_-, gap is |δ|", low, gap)


def by_modes(sign: int) -> dict[sp.Symbol, sp.Expr]:
    """δ of a sign and ‖β_*‖ in coordinates that make λ_± rational: the smaller of λ_+ and -λ_- is low, |δ| = gap."""
    return {delta: sign * gap, s: sp.sqrt(low * (low + abs(sign) * gap) / (eta_a * eta_w))}


any_rates = Cell("any rates", {eta_a: 1, eta_w: 1})
product_one = Cell(
    "η_a η_w = 1", {eta_a: 1}, where={eta_w: 1 / eta_a}, reason="the product of the rates is one"
)
unit_rates = Cell("η_a = η_w = 1", where={eta_a: 1, eta_w: 1}, reason="the rates are one")


def weights(*cells: Cell, also: Mapping[Any, Any] | None = None, **changes: Any) -> Domain:
    """All weights a and w, with δ, ω and s computed from them, and whatever is computed `also`."""
    return Domain(
        (a, eta_a, eta_w),
        (w, beta_star),
        cells,
        let={
            delta: eta_w * a**2 - eta_a * norm2(w),
            omega: inner(w, beta_star),
            s: norm(beta_star),
            **(also or {}),
        },
        words="η_a, η_w > 0, β_* ≠ 0",
        hypotheses=(WHITENED, COMPUTED),
        **changes,
    )


def starts(*cells: Cell, also: Mapping[Any, Any] | None = None, **changes: Any) -> Domain:
    """All starts a_0 and w_0 and times t, with δ, ω_0 and s computed, and whatever is computed `also`."""
    return Domain(
        (t, a0, eta_a, eta_w),
        (w0, beta_star),
        tuple(replace(cell, signs={t: 1, **cell.signs}) for cell in cells),
        let={
            delta: eta_w * a0**2 - eta_a * norm2(w0),
            omega0: inner(w0, beta_star),
            s: norm(beta_star),
            **(also or {}),
        },
        words="η_a, η_w > 0, β_* ≠ 0",
        hypotheses=(WHITENED, COMPUTED),
        **changes,
    )


@result(ledger=("kunin2024.lemma4-planar-ode",), domain=weights(any_rates))
def planar_dynamics() -> Dynamics:
    """The dynamics of a and ω = wᵀβ_*, for all rates."""
    return Dynamics((a, inner(w, beta_star)), tuple(plane.velocities.values()), under=whitened)


@printed(
    "kunin2024.lemma4-planar-ode",
    quote=r"$\dot a=\omega-a(a^2-\delta)$, $\dot\omega=a\|\beta_*\|^2-a^2\omega$",
    domain=weights(product_one),
    hypothesis=UNIT,
    under=weights(unit_rates),
)
def printed_planar_dynamics() -> Dynamics:
    """As printed, without the rates."""
    velocity = (omega - a * (a**2 - delta), a * s**2 - a**2 * omega)
    return Dynamics((a, inner(w, beta_star)), velocity, under=whitened)


@result(domain=weights(any_rates))
def dynamics_across() -> Dynamics:
    """The part of w across β_*, which only shrinks."""
    across = w - inner(w, beta_star) / norm2(beta_star) * beta_star
    return Dynamics(across, -eta_w * a**2 * across, under=whitened, name=r"w_\perp")
