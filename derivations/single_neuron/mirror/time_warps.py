"""Mirror flows in warped time.

A factor g > 0 between ∇²Φ and the inverse of the preconditioner only warps time. Then β̇ = -M r with M⁻¹ =
∇²Φ/g gives d/dt ∇Φ(β) = -g r: the dual variable still moves within row(X), now by -Xᵀ∫gρ, and the
interpolator that is reached is the same minimiser. In the time τ = ∫g the flow is a mirror flow (kunin2024,
App. A.4.1).
"""

from __future__ import annotations

from derivations.single_neuron.mirror.mirror_flows import Phi, curved
from derivations.single_neuron.symbols import (
    any_vector,
    beta,
    dual,
    dual0,
    e1,
    e2,
    r,
    warp,
    warped,
    warped_pull,
)
from symdyn.calculus.gram import Combination, Flow, gradient
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conservation, Dynamics, Existence, Identity, Inequality, Minimiser

running = Domain(
    (warp,),
    (beta, e1, e2, any_vector, dual, dual0, r, warped_pull),
    (Cell("g > 0", {warp: 1}),),
    functions=(Phi,),
    words="g > 0",
    hypotheses=(stated("App. A.4.1", "g is a smooth positive function", warp),),
)

flow = Flow({beta: -warp * any_vector, warped: warp})
"""β̇ = -M r, written as -g z with z = (∇²Φ)⁻¹r, and the warped time."""


def stationarity(sign: int, formula: str) -> Minimiser:
    """d/dt ∇Φ(β) = -g r, so that ∇Q(β) = Xᵀν with ν = ±∫gρ."""
    dual_flow = Flow({dual: -warp * r, warped_pull: warp * r})
    return Minimiser(
        r"if $\nabla^2\Phi=gM^{-1}$ then $\beta_\infty$ minimises $Q$ under $X\beta=y$, with the multiplier",
        (
            Dynamics(gradient(Phi, beta), -warp * curved, under=flow),
            Conservation(dual - dual0 - sign * warped_pull, under=dual_flow),
        ),
        formula=r"\nu = " + formula,
    )


@result(ledger=("kunin2024.time-warp-condition",), domain=running, uses=("single_neuron.bregman_projection",))
def time_warp_condition() -> Minimiser:
    """With ∇²Φ = g M⁻¹, g > 0, the flow β̇ = -M r minimises as a mirror flow does; the multiplier is ν = -∫g ρ."""
    return stationarity(-1, r"- \int_0^\infty g(\beta(t))\, \rho(t)\, dt")


@printed(
    "kunin2024.time-warp-condition",
    quote=r"the same interpretation holds with $\nu=\int_0^\infty g(\beta(t'))\rho(t')\,dt'$",
    domain=running,
    severity="convention",
)
def printed_time_warp_condition() -> Minimiser:
    """As printed, with ν = ∫g ρ."""
    return stationarity(1, r"\int_0^\infty g(\beta(t))\, \rho(t)\, dt")


@result(ledger=("kunin2024.time-warp-definition",), domain=running, uses=("single_neuron.mirror_flow",))
def warped_time() -> Existence:
    """The warped time τ = ∫g: run by it, the flow is a mirror flow on the same path.

    τ increases, and if τ(∞) = ∞ the path is run through to its end, so that both flows have the same limit.
    """
    velocity = flow.derivative(Combination({beta: 1})) / flow.derivative(warped)
    return Existence(
        r"$\tau=\int_0^tg\,dt'$ increases, and $d\beta/d\tau=-(\nabla^2\Phi)^{-1}r$ on the same path",
        (
            Dynamics(warped, warp, under=flow, name=r"\tau"),
            Inequality(flow.derivative(warped), ">"),
            Identity(velocity, -1 * any_vector, name=r"\frac{d\beta}{d\tau}"),
        ),
    )
