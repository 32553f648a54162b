r"""Signed spherical coordinates of a neuron: how steep it is, μ_k = a_k‖w_k‖, and where it looks, β̂_k = w_k/‖w_k‖.

The halfspace in which the neuron is active depends on β̂_k alone, its slope there on μ_k alone. Along the flow

    μ̇_k = -(η_w a_k² + η_a‖w_k‖²) β̂_kᵀξ_k,        d/dt β̂_k = -(η_w a_k/‖w_k‖)(I - β̂_kβ̂_kᵀ)ξ_k,

where the sum in the first is κ_k = √(δ_k² + 4η_aη_wμ_k²), and the ratio in the second is (κ_k + δ_k)/(2μ_k), of the
sign of a_k (kunin2024, Sec. 5 and App. C.2).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.network.neuron import RATES, balance, flow
from derivations.piecewise_linear.symbols import a, beta, delta, eta_a, eta_w, mu, w, xi
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.kinds import Conjunction, Dynamics, Identity

kappa = sp.sqrt(delta**2 + 4 * eta_a * eta_w * mu**2)
direction = w / norm(w)
signed_norm = a * norm(w)

pointed = Domain(
    (a, eta_a, eta_w),
    (w, xi),
    (Cell("a_k > 0", {a: 1, norm2(w): 1, **RATES}), Cell("a_k < 0", {a: -1, norm2(w): 1, **RATES})),
    let={delta: balance, mu: signed_norm, beta: a * w},
    words="a_k ≠ 0, w_k ≠ 0",
    hypotheses=(
        stated("App. C.2", "a_k² ≠ 0, and β_k ≠ 0, by whose norm β̂_k divides", a, w),
        meaning("δ_k, μ_k and β_k are those of the weights", *defined(delta, mu, beta)),
    ),
)


@result(ledger=("kunin2024.pw-spherical-definition",), domain=pointed)
def spherical_coordinates() -> Conjunction:
    """The signed direction and the signed norm of β_k, in terms of β_k and in terms of the weights."""
    return Conjunction(
        Identity(sp.sign(a) / norm(beta) * beta, direction, name=r"\hat\beta_k"),
        Identity(sp.sign(a) * norm(beta), signed_norm, name=r"\mu_k"),
        Identity(signed_norm * direction, a * w, name=r"\beta_k"),
    )


@result(
    ledger=("kunin2024.pw-spherical-ode",),
    domain=pointed,
    uses=("piecewise_linear.neuron_flow", "piecewise_linear.conserved_delta"),
)
def spherical_dynamics() -> Conjunction:
    """The dynamics of the signed norm and of the direction of a neuron, for any rates and both signs of a_k and δ_k."""
    across = xi - inner(direction, xi) * direction
    turning = (kappa + delta) / (2 * mu)
    return Conjunction(
        Dynamics(signed_norm, -kappa * inner(direction, xi), under=flow, name=r"\mu_k"),
        Dynamics(direction, -turning * across, under=flow, name=r"\hat\beta_k"),
    )
