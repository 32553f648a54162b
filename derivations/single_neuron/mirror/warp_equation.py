"""The warp of time that makes the inverse preconditioner a Hessian.

M⁻¹ = f I - h ββᵀ, f = 2/(κ + δ), h = (κ - δ)/(xκ(κ + δ)) with x = ‖β‖², has 2f′ + h = -4/(κ(κ + δ)²) ≠ 0 and is not a
Hessian: there are more features than data in this part of the paper, so that d ≥ 2. For d = 1 every function is a
second derivative, and M⁻¹ = 1/κ that of ∫ ½ asinh(2β/|δ|) dβ. The factor g that makes it one solves
g′ = -(2f′ + h) g/(2f) = g/(κ(κ + δ)), hence g = c √(κ + δ) (kunin2024, App. A.4.2; η_a η_w = 1).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.single_neuron.regimes import UNIT_PRODUCT, unit_rates, x_beta
from derivations.single_neuron.symbols import beta, c, delta, g_of
from symdyn.calculus.isotropic import Isotropic, hessian_condition
from symdyn.catalogue.result import printed, result
from symdyn.statements.hypothesis import standing
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Existence, Identity, Inequality, Statement

k, plus, minus = (q(delta, x_beta) for q in (kappa, kappa_plus, kappa_minus))
M = Isotropic(plus / 2, minus / 2, x_beta, beta)
"""The preconditioner for η_a η_w = 1."""

f = 2 / plus
h = minus / (x_beta * k * plus)
inverse = Isotropic.unnormalised(f, -h, x_beta, beta)
obstruction = 2 * sp.diff(f, x_beta) + h
size = -4 / (k * plus**2)
g = sp.sqrt(plus)


@result(ledger=("kunin2024.f-h-definitions",), domain=unit_rates, arguments=("beta", "delta"))
def inverse_in_two_functions() -> Identity:
    """The inverse preconditioner as f I - h ββᵀ."""
    return Identity(M.inverse(), inverse, name="M^{-1}")


@printed(
    "kunin2024.two-layer-M-inverse",
    quote=r"\frac{(\kappa-\delta)/(\kappa+\delta)}{\|\beta\|^2\kappa}\beta\beta^\top",
    domain=unit_rates,
)
def printed_inverse() -> Identity:
    """As printed, for η_a η_w = 1; the formula stands for all rates, with them in κ."""
    printed_form = Isotropic.unnormalised(2 / plus, -(minus / plus) / (x_beta * k), x_beta, beta)
    return Identity(M.inverse(), printed_form, name="M^{-1}")


@result(ledger=("kunin2024.hessian-condition-value",), domain=unit_rates, arguments=("beta", "delta"))
def obstruction_value() -> Identity:
    """How far M⁻¹ is from a Hessian: 2f′ + h, which would have to vanish."""
    return Identity(obstruction, size, name="2 f' + h")


more_features = replace(
    unit_rates,
    dimensions=(2, 3),
    words="η_a η_w = 1, β ≠ 0; d ≥ 2",
    hypotheses=(UNIT_PRODUCT, standing("App. A.4", "there are more features than data, so that d ≥ 2", "d")),
)


@result(
    ledger=("kunin2024.M-inverse-not-hessian",),
    domain=more_features,
    uses=("single_neuron.isotropic_condition", "single_neuron.inverse_in_two_functions"),
)
def inverse_is_no_hessian() -> Existence:
    """M⁻¹ is not a Hessian map for d ≥ 2: 2f′ + h is negative wherever β ≠ 0."""
    return Existence(
        "$M^{-1}$ is the Hessian of no potential",
        (Identity(hessian_condition(inverse), size), Inequality(size, "<")),
        formula="2 f' + h < 0",
    )


@result(ledger=("kunin2024.g-ode",), domain=unit_rates, uses=("single_neuron.warped_condition",))
def warp_law() -> Identity:
    """The linear equation for the warp, g′ = g/(κ(κ + δ))."""
    return Identity(-obstruction / (2 * f), 1 / (k * plus), name=r"\frac{g'}{g}")


@result(
    ledger=("kunin2024.g-solution",),
    domain=unit_rates,
    arguments=("beta", "delta"),
    uses=("single_neuron.warp_law", "single_neuron.stable_forms"),
)
def time_warp() -> Characterised:
    """The warp of time, g = √(κ + δ), which is positive for β ≠ 0; every multiple of it warps as well."""

    def facts(warp: sp.Expr) -> tuple[Statement, ...]:
        return (
            Identity(sp.diff(c * warp, x_beta), c * warp / (k * plus), on=with_constant),
            Identity(warp**2, plus),
            Inequality(warp, ">"),
        )

    return Characterised.of(g, facts, name=r"g")


with_constant = replace(unit_rates, scalars=(*unit_rates.scalars, c))


@result(ledger=("kunin2024.g-solution",), domain=unit_rates, uses=("single_neuron.warp_law",))
def warp_is_unique() -> Identity:
    """Two solutions of the linear equation for the warp are proportional: √(κ + δ) divides any of them."""
    any_warp = g_of(x_beta)
    ratio = sp.diff(any_warp / g, x_beta)
    return Identity(
        ratio,
        (sp.diff(any_warp, x_beta) - any_warp / (k * plus)) / g,
        on=replace(unit_rates, functions=(any_warp,)),
    )
