"""Mirror flows, and what they minimise.

Where β̇ = -(∇²Φ)⁻¹Xᵀρ the chain rule gives d/dt ∇Φ(β) = -Xᵀρ: the dual variable ∇Φ(β) moves within row(X), by
-Xᵀ∫ρ in all. If Xβ_∞ = y, then for every other interpolator β the three-point identity

    D(β, β_0) = D(β, β_∞) + D(β_∞, β_0) + (∇Φ(β_∞) - ∇Φ(β_0))ᵀ(β - β_∞)

has a last term of zero, so that β_∞ minimises the Bregman divergence D from β_0. The multiplier of the
constraint is ν = -∫ρ; the paper drops the sign (kunin2024, App. A.4.1).
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.preconditioning.of_the_neuron import M_weights
from derivations.single_neuron.symbols import (
    Phi_beta,
    Phi_end,
    Phi_of,
    Phi_start,
    a,
    any_vector,
    beta,
    beta0,
    beta_end,
    dual,
    dual0,
    dual_end,
    e1,
    e2,
    eta_a,
    eta_w,
    pull,
    r,
    row,
    v,
    w,
)
from symdyn.calculus.gram import Flow, Linear, gradient, hessian, inner, jacobian, outer
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.kinds import Conservation, Dynamics, Identity, Minimiser

Phi = Phi_of(inner(e1, beta), inner(e2, beta))
"""Any potential, as a function of two coordinates of β; more of them change nothing in the argument."""

curved = hessian(Phi, beta) @ any_vector


@result(
    ledger=("kunin2024.mirror-flow-definition",),
    domain=Domain((), (beta, e1, e2, any_vector), functions=(Phi,)),
)
def mirror_flow() -> Dynamics:
    """A mirror flow β̇ = -(∇²Φ)⁻¹r moves the dual variable ∇Φ(β) along -r.

    With z = (∇²Φ)⁻¹r the flow is β̇ = -z, and r = ∇²Φ z.
    """
    return Dynamics(
        gradient(Phi, beta), -1 * curved, under=Flow({beta: -1 * any_vector}), name=r"\nabla\Phi(\beta)"
    )


@result(ledger=("kunin2024.mirror-hessian-requirement",), uses=("single_neuron.mirror_flow",))
def hessian_requirement() -> Identity:
    """For β̇ = -J Jᵀr to be a mirror flow, ∇²Φ has to be the inverse of J Jᵀ, which for the single neuron is M.

    J is the Jacobian of β in the parameters, each column times the root of its rate: here √η_a w and √η_w a
    I.
    """
    in_readout, in_weights = w, jacobian(a * w, w)
    product = eta_a * outer(in_readout, in_readout) + eta_w * (in_weights @ in_weights.T)
    return Identity(product, M_weights, name=r"J J^\top")


falling = Flow({dual: -1 * r, pull: 1 * r})
"""The dual variable and Xᵀ∫ρ along a mirror flow, r = Xᵀρ; the second is zero at time zero."""


@result(ledger=("kunin2024.mirror-integrated-flow",), uses=("single_neuron.mirror_flow",))
def integrated_mirror_flow() -> Conservation:
    """The dual variable changes by -Xᵀ∫ρ: both change together, from 0 at time zero."""
    return Conservation(dual + pull, under=falling)


def stationarity(sign: int, formula: str) -> Minimiser:
    """∇Q(β) = ∇Φ(β) - ∇Φ(β_0) is Xᵀν at all times, the condition of Karush, Kuhn and Tucker, with ν = ±∫ρ."""
    return Minimiser(
        r"the multiplier of $X\beta=y$",
        (Conservation(dual - dual0 - sign * pull, under=falling),),
        formula=r"\nabla Q(\beta_\infty) = X^\top \nu, \quad \nu = " + formula,
    )


@result(ledger=("kunin2024.mirror-kkt-multiplier",), uses=("single_neuron.mirror_flow",))
def kkt_multiplier() -> Minimiser:
    """The multiplier of the constraint is ν = -∫ρ."""
    return stationarity(-1, r"- \int_0^\infty \rho(t)\, dt")


@printed(
    "kunin2024.mirror-kkt-multiplier",
    quote=r"$\nabla Q(\beta(\infty))=X^\top\nu$ holds with $\nu=\int_0^\infty\rho(t)\,dt$",
    severity="convention",
)
def printed_kkt_multiplier() -> Minimiser:
    """As printed, with ν = ∫ρ.

    For Φ = β²/2 in one dimension with X = y = 1 and β_0 = 0, ρ = -e^{-t}: ∇Q(β_∞) = 1, but Xᵀ∫ρ = -1.
    """
    return stationarity(1, r"\int_0^\infty \rho(t)\, dt")


def bregman(Phi_p: sp.Expr, Phi_q: sp.Expr, dual_q: Linear, p: Linear, q: Linear) -> sp.Expr:
    """D(p, q) = Φ(p) - Φ(q) - ∇Φ(q)ᵀ(p - q)."""
    return Phi_p - Phi_q - inner(dual_q, p - q)


to_start = bregman(Phi_beta, Phi_start, dual0, beta, beta0)


@result(ledger=("kunin2024.mirror-q-equivalence",))
def same_minimiser() -> Identity:
    """Q(β) = Φ(β) - ∇Φ(β_0)ᵀβ and the Bregman divergence from β_0 differ by a constant."""
    Q = Phi_beta - inner(dual0, beta)
    return Identity(to_start - Q, inner(dual0, beta0) - Phi_start, name=r"D_\Phi(\beta, \beta_0) - Q(\beta)")


def across(rng: random.Random, d: int) -> Point:
    """A vector Xᵀν of the row space and a direction v of the null space of the data."""
    values = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(d)]
    direction = [sp.Rational(rng.randint(-9, 9), 2) for _ in range(d)]
    direction[-1] = -sum(p * q for p, q in zip(values[:-1], direction[:-1], strict=True)) / values[-1]
    return {row: values, v: direction}


interpolators = Domain(
    (Phi_beta, Phi_start, Phi_end),
    (beta0, beta_end, dual0, row, v),
    (
        Cell(
            "Xv = 0", where={inner(row, v): 0}, reason="β and β_∞ both interpolate, so β - β_∞ = v has Xv = 0"
        ),
    ),
    let={beta: beta_end + v, dual_end: dual0 + row},
    dimensions=(2, 3),
    sampler=across,
    words="Xβ = Xβ_∞ = y and ∇Φ(β_∞) - ∇Φ(β_0) in row(X)",
    hypotheses=(
        stated(
            "App. A.4.1",
            "Xβ = Xβ(∞) = y, with more features than data: Xv = 0 for v = β - β_∞, d ≥ 2",
            v,
            row,
            "d",
        ),
        meaning("β = β_∞ + v, and the dual variables differ by a row", *defined(beta, dual_end)),
    ),
)


@result(
    ledger=("kunin2024.mirror-flow-bregman",),
    domain=interpolators,
    uses=("single_neuron.mirror_flow", "single_neuron.integrated_mirror_flow"),
)
def bregman_projection() -> Minimiser:
    """A mirror flow that interpolates has found the interpolator nearest to its start in Bregman divergence.

    D(β, β_∞) is positive for β ≠ β_∞ by strict convexity. No integral has to converge: the dual variable has
    a limit because β has, and row(X) is closed.
    """
    to_end = bregman(Phi_beta, Phi_end, dual_end, beta, beta_end)
    whole_way = bregman(Phi_end, Phi_start, dual0, beta_end, beta0)
    return Minimiser(
        r"no interpolator is nearer to $\beta_0$ in Bregman divergence than $\beta_\infty$",
        (Identity(to_start, to_end + whole_way),),
        formula=r"\beta_\infty = \operatorname{argmin}_{X \beta = y} D_\Phi(\beta, \beta_0)",
    )
