"""The potential whose mirror flow, in warped time, is the dynamics of β.

g M⁻¹ with g = √(κ + δ) is the Hessian of a function q(‖β‖) of the length if q′ = 2n/√(κ + δ) and q″ = √(κ +
δ)/κ, n = ‖β‖. Both are the derivatives of q = (κ - 2δ)√(κ + δ)/3. It is convex with its least value at β = 0;
with that subtracted

    Φ_δ(β) = (κ - 2δ)√(κ + δ)/3 + max(0, sgn(δ) √2|δ|^{3/2}/3),    κ = √(δ² + 4‖β‖²),

whose gradient is √(κ - δ) β/‖β‖ (kunin2024, App. A.4.2; η_a η_w = 1).
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.mirror.warp_equation import g, inverse, k, minus, plus
from derivations.single_neuron.preconditioning.of_the_neuron import INVERTIBLE, directed, invertible
from derivations.single_neuron.quantities import (
    kappa,
    kappa_minus,
    kappa_plus,
    potential_slope,
    radial_potential,
)
from derivations.single_neuron.regimes import UNIT_PRODUCT, unit_rates, x_beta
from derivations.single_neuron.symbols import beta, delta, n
from symdyn.calculus.gram import GramOperator, Linear, gradient, norm2
from symdyn.calculus.isotropic import Isotropic, hessian
from symdyn.catalogue.result import result
from symdyn.compile.named import unfold
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import standing
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality, Statement, typeset

cells = tuple(
    Cell(f"n > 0, {words}", {n: 1, **signs}, where)
    for words, signs, where in (
        ("δ > 0", {delta: 1}, {}),
        ("δ = 0", {}, {delta: 0}),
        ("δ < 0", {delta: -1}, {}),
    )
)
lengths = Domain(
    (delta, n),
    cells=cells,
    words="n = ‖β‖ > 0",
    hypotheses=(standing("App. A.4.2, ‖β(t)‖ > 0 for all t", "n = ‖β‖ > 0", n), UNIT_PRODUCT),
)

k_n, plus_n, minus_n = (quantity(delta, n**2) for quantity in (kappa, kappa_plus, kappa_minus))
q = (k_n - 2 * delta) * sp.sqrt(plus_n) / 3
slope = 2 * n / sp.sqrt(plus_n)
curvature = sp.sqrt(plus_n) / k_n


@result(ledger=("kunin2024.q-derivative-conditions",), domain=lengths, uses=("single_neuron.radial_hessian",))
def derivative_conditions() -> Conjunction:
    """What g M⁻¹ demands of a potential q(‖β‖): its first and second derivative, which are compatible."""
    along_identity, along_beta = 2 / sp.sqrt(plus_n), minus_n / (sp.sqrt(plus_n) * n**2 * k_n)
    return Conjunction(
        Identity(slope / n, along_identity),
        Identity(slope / n**3 - curvature / n**2, along_beta),
        Identity(2 / sp.sqrt(plus_n) - minus_n / (sp.sqrt(plus_n) * k_n), curvature, name="q''"),
        Identity(sp.diff(slope, n), curvature),
    )


@result(
    ledger=("kunin2024.q-two-layer",),
    domain=lengths,
    arguments=("n", "delta"),
    uses=("single_neuron.derivative_conditions",),
)
def radial_solution() -> Characterised:
    """The function of the length that satisfies both conditions."""

    def facts(solution: sp.Expr) -> tuple[Statement, ...]:
        return (Identity(sp.diff(solution, n), slope), Identity(sp.diff(solution, n, 2), curvature))

    return Characterised.of(q, facts, name=r"q")


@result(ledger=("kunin2024.q-convex-minimum",), domain=lengths, uses=("single_neuron.radial_solution",))
def convex_with_minimum_at_zero() -> Existence:
    """q is convex with its minimum at zero: q″ > 0 off zero, and q′ is odd and has the sign of its argument.

    For δ < 0 it has a kink at zero, where q′ jumps upwards from -√(2|δ|) to √(2|δ|).
    """
    return Existence(
        r"$q''>0$ for $n\ne0$, $q'>0$ for $n>0$ and $q$ is even",
        (
            Inequality(curvature, ">"),
            Inequality(slope, ">"),
            Identity(slope.subs(n, -n), -slope),
        ),
    )


@result(
    ledger=("kunin2024.c-delta",),
    domain=Domain((delta,), cells=cells, hypotheses=lengths.hypotheses),
    arguments=("delta",),
)
def least_value() -> Identity:
    """The constant that makes the potential vanish at β = 0, c_δ = -q(0)."""
    size = sp.sqrt(2) * sp.Abs(delta) ** sp.Rational(3, 2) / 3
    return Identity(-q.subs(n, 0), sp.Max(0, sp.sign(delta) * size), name=r"c_\delta")


Phi = radial_potential(delta, x_beta)


@result(
    ledger=("kunin2024.phi-delta-potential",),
    domain=unit_rates,
    arguments=("beta", "delta"),
    uses=("single_neuron.least_value", "single_neuron.stable_forms"),
)
def potential() -> Existence:
    """The potential of the time-warped mirror flow."""
    printed = (k - 2 * delta) * sp.sqrt(plus) / 3 + least_value.value

    def facts(value: sp.Expr) -> tuple[Statement, ...]:
        written = unfold(value)
        return (
            Identity(value, printed),
            Identity(hessian(written, x_beta, beta), g * inverse),
            Identity(written.subs(x_beta, 0), 0 * delta),
            Inequality(sp.diff(written, x_beta), ">"),
        )

    return Existence.of(
        Phi,
        facts,
        r"$\nabla^2\Phi_\delta=g_\delta M^{-1}$, $\Phi_\delta(0)=0$, and $\Phi_\delta$ increases with $\|\beta\|$",
        formula=rf"\Phi_\delta(\beta) = {typeset(printed)}",
    )


@result(
    domain=unit_rates, arguments=("beta", "delta"), requires=(directed,), uses=("single_neuron.potential",)
)
def grad_potential() -> Characterised:
    """The gradient of the potential, along β and of length √(κ - δ)."""

    def facts(value: Linear) -> tuple[Statement, ...]:
        return (Identity(gradient(unfold(Phi), beta), value), Identity(norm2(value), minus))

    value = potential_slope(delta, x_beta) * beta
    return Characterised.of(value, facts, name=r"\nabla\Phi_\delta(\beta)")


@result(
    ledger=("kunin2024.gM-inverse",),
    domain=unit_rates,
    arguments=("beta", "delta"),
    requires=(invertible,),
    hypotheses=(INVERTIBLE,),
    uses=("single_neuron.potential",),
)
def hess_potential() -> Characterised:
    """The Hessian of the potential, equal to g M⁻¹."""

    def facts(value: GramOperator) -> tuple[Statement, ...]:
        return (Identity(g * inverse, value), Identity(hessian(unfold(Phi), x_beta, beta), value))

    value = Isotropic(2 / sp.sqrt(plus), -minus / (sp.sqrt(plus) * k), x_beta, beta)
    return Characterised.of(value, facts, name=r"g_\delta M^{-1}")
