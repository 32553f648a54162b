r"""What an isotropic deep network learns from too little data: its dual variable is the read-out.

Let s = ‖a‖² - δ, so that ‖β‖² = s^L(s + δ) and M = s^L I + (L/s) ββᵀ. Gradient flow moves s by
ṡ = d‖a‖²/dt = -2βᵀr, and so

    d/dt(s^{-L/2} β) = -s^{L/2} r:

the terms along β cancel, for every balance and every depth. The vector s^{-L/2} β = ‖a‖ β/‖β‖ is the gradient of

    Φ_δ(β) = ‖a‖² s^{L/2} - (s^{(L+2)/2} - (-δ)^{(L+2)/2})/(L + 2),

a convex function of ‖β‖, because its slope ‖a‖ grows with ‖β‖. Up to the warp of time s^{L/2} this is a mirror
flow, so that an interpolator that is reached minimises Φ_δ(β) - ‖a_0‖ β̂_0ᵀβ among all interpolators. At δ = 0 it is
Theorem 15 of the paper: s = ‖β‖^{2/(L+1)} and Φ = (L+1)/(L+2) ‖β‖^{(L+2)/(L+1)} (kunin2024, App. B.2).
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.deep_linear.preconditioning.rich import M, M_inverse, drawn, layered, log_norm, nonzero, rho
from derivations.deep_linear.symbols import (
    L,
    a2,
    beta,
    beta0,
    delta,
    dual,
    e,
    pull,
    r,
    s,
    warp,
)
from symdyn.calculus.gram import Combination, Flow, gradient, inner, norm2, substitute
from symdyn.calculus.isotropic import hessian
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import (
    Asymptotic,
    Conjunction,
    Conservation,
    Dynamics,
    Identity,
    Inequality,
    Minimiser,
)

half = L / 2
log_s, log_e = sp.symbols("y z", real=True)

POSITIVE = Cell("s > 0", {L: 1, a2: 1}, where={s: sp.exp(log_s)}, reason="s > 0 is an exponential")
moving = Domain((s, L), (beta, r), (POSITIVE,), words="square isotropic network, s > 0")

flow = Flow(
    {beta: -1 * (s**L * r + L / s * inner(beta, r) * beta), s: -2 * inner(beta, r)},
    {delta: norm2(beta) * s ** (-L) - s},
)
"""The flow of β and s in a square isotropic network, where δ = ‖β‖² s^{-L} - s."""


@result(domain=moving, uses=("deep_linear.closed_preconditioner", "deep_linear.norm_of_beta"))
def dual_variable() -> Conjunction:
    """The dual variable of a square isotropic network is s^{-L/2} β = ‖a‖ β/‖β‖, for every balance δ ≤ 0 and any depth.

    That ṡ = -2βᵀr is the flow of the read-out, d‖a‖²/dt = -2aᵀP_L r; it conserves δ.
    """
    variable = s ** (-half) * beta
    return Conjunction(
        Conservation(flow.unfold(delta), under=flow, name=r"\delta"),
        Dynamics(variable, -(s**half) * r, under=flow, name=r"s^{-L/2}\beta"),
        Identity(norm2(variable), flow.unfold(s + delta), name=r"\|s^{-L/2}\beta\|^2"),
    )


length = sp.sqrt(s + delta) * s**half
"""‖β‖ as a function of s."""
along_curve = Domain(
    (s, delta, L),
    (),
    (
        Cell(
            "β ≠ 0",
            {a2: 1, L: 1},
            where={s: sp.exp(log_s), delta: a2 - sp.exp(log_s)},
            reason="s > 0 is an exponential, and δ = ‖a‖² - s",
        ),
    ),
    words="β ≠ 0",
)
Phi_curve = (s + delta) * s**half - s ** (half + 1) / (L + 2)
"""Φ_δ as a function of s, up to a constant."""


@result(domain=along_curve, uses=("deep_linear.dual_variable",))
def balanced_potential() -> Minimiser:
    """The potential of a square isotropic network, for every balance δ ≤ 0.

    Its slope in ‖β‖ is ‖a‖, so that its Hessian has the eigenvalue ‖a‖/‖β‖ = s^{-L/2} across β and d‖a‖/d‖β‖ along β.
    Times g = s^{-L/2} these are the eigenvalues of M⁻¹. It vanishes at β = 0, where s = -δ.
    """
    slope, stretch = sp.sqrt(s + delta), sp.diff(length, s)
    curvature = sp.diff(slope, s) / stretch
    g, along = s ** (-half), s**L + L * (s + delta) * s ** (L - 1)
    at_zero = Domain((e, L), (), (Cell("δ = -e", {L: 1}, {e: sp.exp(log_e)}, reason="e > 0"),))
    return Minimiser(
        r"$\nabla\Phi_\delta(\beta)=s^{-L/2}\beta$, and $\Phi_\delta$ is strictly convex",
        (
            Identity(sp.diff(Phi_curve, s), slope * stretch, name=r"\partial_s\Phi_\delta"),
            Identity(slope / length, g, name=r"\|a\|/\|\beta\|"),
            Identity(1 / along, g * curvature),
            Identity(1 / s**L, g * slope / length),
            Inequality(slope / length, ">"),
            Inequality(curvature, ">"),
            Identity(-Phi_curve.subs({delta: -e, s: e}), e ** (half + 1) / (L + 2), on=at_zero),
        ),
        formula=r"\Phi_\delta(\beta) = \|a\|^2 s^{L/2} - \frac{s^{(L+2)/2} - (-\delta)^{(L+2)/2}}{L+2},"
        r" \quad s^L (s + \delta) = \|\beta\|^2, \quad \|a\|^2 = s + \delta",
    )


x = norm2(beta)
Phi = (L + 1) / (L + 2) * x ** ((L + 2) / (2 * (L + 1)))
g_rich = x ** (-L / (2 * (L + 1)))
dual_rich = x ** (-L / (2 * (L + 1))) * beta


@result(
    ledger=("kunin2024.deep-warp-potential",),
    domain=nonzero,
    arguments=("beta", "L"),
    requires=(layered,),
    uses=("deep_linear.rich_inverse",),
)
def rich_potential() -> Characterised:
    """The potential and the warp of time in the rich limit: M⁻¹ = g ∇²Φ with g = ‖β‖^{-L/(L+1)}."""

    def facts(value: sp.Expr) -> tuple[Identity, ...]:
        return (
            Identity(M_inverse, g_rich * hessian(value, x, beta), name="M^{-1}"),
            Identity(gradient(value, beta), dual_rich, name=r"\nabla\Phi"),
        )

    return Characterised.of(Phi, facts, name=r"\Phi(\beta)")


rich_flow = Flow({beta: -1 * (M.f * r + M.h / x * inner(beta, r) * beta)})
driven = Domain((L,), (beta, r), nonzero.cells, conditions=nonzero.conditions, sampler=drawn)
falling = Flow({dual: -warp * r, pull: warp * r})
"""The dual variable and Xᵀ∫ρ/g along the flow; the second is zero at time zero."""
near_zero = Domain((s, e, L), (), (Cell("e > 0", {e: 1, L: 1}, {s: sp.exp(log_s)}, reason="s > 0"),))


def drawn_start(rng: random.Random, dimension: int) -> Point:
    """β_0 with the logarithm of its length."""
    point = drawn(rng, dimension)
    return {beta0: point[beta], log_norm: point[log_norm]}


at_start = Domain(
    (L,),
    (beta0,),
    (
        Cell(
            "β_0 ≠ 0",
            {rho: 1},
            where={norm2(beta0): sp.exp(2 * log_norm), L: 1 / rho - 1},
            reason="as for β",
        ),
    ),
    conditions=nonzero.conditions,
    sampler=drawn_start,
)


@result(
    ledger=("kunin2024.thm15-bias",),
    domain=nonzero,
    uses=("deep_linear.rich_potential", "deep_linear.balanced_potential", "single_neuron.bregman_projection"),
)
def implicit_bias() -> Minimiser:
    """The interpolator that a deep linear network learns in the rich limit δ → 0.

    The dual variable ∇Φ(β) moves along -r = -Xᵀρ, so that ∇Φ(β_∞) - ∇Φ(β_0) lies in row(X); as Φ is strictly convex,
    β_∞ is the one minimiser. For δ < 0 the same holds with Φ_δ. As δ → 0 at a fixed β_0 that objective tends to this
    one, uniformly on bounded sets of β, and its minimiser with it: at a fixed s the two differ by O(δ).
    """
    linear_term = norm2(beta0) ** (-L / (2 * (L + 1))) * beta0
    across, along = hessian(Phi, x, beta).transverse, hessian(Phi, x, beta).radial
    start: Combination = substitute(gradient(Phi, beta), {beta: beta0})
    unbalanced = (s - e) * s**half - (s ** (half + 1) - e ** (half + 1)) / (L + 2)
    return Minimiser(
        r"the end of a trajectory with $\beta(t)\ne0$ that interpolates, in the limit $\delta\to0$",
        (
            Dynamics(dual_rich, -1 / g_rich * r, under=rich_flow, name=r"\nabla\Phi(\beta)", on=driven),
            Identity(start, linear_term, on=at_start, name=r"\nabla\Phi(\beta_0)"),
            Conservation(dual + pull, under=falling, on=Domain((warp,), (dual, pull, r))),
            Inequality(across, ">"),
            Inequality(along, ">"),
            Asymptotic(unbalanced, (L + 1) / (L + 2) * s ** (half + 1), e, sp.S.Zero, e, on=near_zero),
        ),
        formula=r"\beta_\infty = \operatorname{argmin}_{X \beta = y} \frac{L+1}{L+2} \|\beta\|^{\frac{L+2}{L+1}}"
        r" - \left(\frac{\beta_0}{\|\beta_0\|^{L/(L+1)}}\right)^\top \beta",
    )
