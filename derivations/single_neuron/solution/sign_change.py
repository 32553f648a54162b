"""What happens where the read-out weight passes through zero, for any data and any loss.

Where a = 0 the function β = a w is zero and the loss has the value L(0). The loss decreases strictly off rest
points,

    dL/dt = -(ȧ²/η_a + ‖ẇ‖²/η_w),

so it has that value at most once: a, and β, vanish at most once along any trajectory that is not at rest.
There, and only there, M = η_w a² I + η_a w wᵀ loses rank, for δ = -η_a‖w‖² < 0. The dual variable sgn(a) η_a
√(2η_w) w of the mirror flow turns round with the sign of a, while w itself goes on within row(X): so Theorem
1 extends to all trajectories, but with the linear term of its objective reversed after a crossing (kunin2024,
App. A.4.3).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.interpolators.endpoints import WEIGHTS, endpoints
from derivations.single_neuron.interpolators.theorem import dual, psi
from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.preconditioning.of_the_neuron import M_weights
from derivations.single_neuron.quantities import kappa_minus, kappa_plus
from derivations.single_neuron.symbols import (
    a,
    any_vector,
    beta0,
    beta_end,
    c,
    delta,
    eta_a,
    eta_w,
    loss,
    n0,
    r,
    w,
    x,
)
from symdyn.calculus.gram import Flow, inner, norm, norm2, substitute
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.kinds import Conjunction, Dynamics, Existence, Identity, Inequality, Limit, Minimiser

adot, wdot = flow.velocities[a], flow.velocities[w]
descent = Flow({**flow.velocities, loss: inner(r, adot * w + a * wdot)})
"""The flow of the weights, and of a loss with the gradient r in β."""

positive_rates = Cell("positive rates", {eta_a: 1, eta_w: 1})
squares = adot**2 / eta_a + norm2(wdot) / eta_w


@result(
    ledger=("kunin2024.sign-change-general-data",),
    domain=Domain((a, eta_a, eta_w, loss), (w, r), (positive_rates,)),
)
def zero_is_passed_once() -> Existence:
    """Along a trajectory that is not at rest a vanishes at most once, for any data and any loss; so does β.

    At two zeros the loss would have the one value L(0), while it decreases as long as ȧ or ẇ is not zero.

    Only this half of Lemma 4 carries over to data that are not whitened: a wᵀXᵀy may vanish twice, as it does for unit
    rates, XᵀX = diag(1, 4), Xᵀy = (1, 1) and the start a_0 = 1, w_0 = (-1, 1), and so may a wᵀβ_*, from w_0 = (-1, 4).
    """
    return Existence(
        r"$a(t)=0$, and even $\beta(t)=0$, for at most one $t$",
        (
            Dynamics(loss, -squares, under=descent),
            Identity(squares, eta_a * inner(w, r) ** 2 + eta_w * a**2 * norm2(r)),
            Inequality(squares, ">="),
        ),
        formula=r"\frac{d}{dt} \mathcal L = - \frac{\dot a^2}{\eta_a} - \frac{\|\dot w\|^2}{\eta_w}",
    )


@result(
    ledger=("kunin2024.M-low-rank-only-at-crossing",),
    domain=Domain(
        (a, eta_a, eta_w),
        (w, any_vector),
        (Cell("w ≠ 0, z ≠ 0", {eta_a: 1, eta_w: 1, norm2(w): 1, norm2(any_vector): 1}),),
        words="w ≠ 0 where a = 0, that is, off the origin",
        hypotheses=(
            stated(
                "App. A.4.3", "M is of low rank only where a(t) = 0; the other parts are claimed for a ≠ 0", a
            ),
            stated(
                "App. A.4.3, initialisations with δ < 0", "w ≠ 0: where a = 0, δ = -η_a‖w‖² < 0", norm2(w)
            ),
            meaning("z ≠ 0 is any vector: zᵀMz > 0 is that M is positive definite", any_vector),
        ),
    ),
)
def rank_is_lost_at_a_crossing() -> Conjunction:
    """M is positive definite for a ≠ 0. Where a = 0 it is η_a w wᵀ, of rank one, and δ = -η_a‖w‖² is negative."""
    form = inner(any_vector, M_weights @ any_vector)
    return Conjunction(
        Identity(form, eta_w * a**2 * norm2(any_vector) + eta_a * inner(w, any_vector) ** 2),
        Inequality(form, ">", on=nonzero_readout),
        Identity(substitute(M_weights @ any_vector, {a: sp.S.Zero}), eta_a * inner(w, any_vector) * w),
        Inequality(-eta_a * norm2(w), "<"),
    )


nonzero_readout = Domain(
    (a, eta_a, eta_w),
    (w, any_vector),
    tuple(
        Cell(f"a {'>' if s > 0 else '<'} 0", {a: s, eta_a: 1, eta_w: 1, norm2(any_vector): 1})
        for s in (1, -1)
    ),
)


def stationarity(sign: int, domain: Domain | None = None) -> Identity:
    """n_0ᵀ(∇Ψ_δ(β_∞) - sign ψ_δ β̂_0) = 0, for the objective Ψ_δ(β) - sign ψ_δ β̂_0ᵀβ."""
    in_the_end, at_start = inner(n0, dual(at=beta_end)), inner(n0, psi() / norm(beta0) * beta0)
    return Identity(in_the_end, sign * at_start, on=domain)


@result(ledger=("kunin2024.mirror-extension-through-crossing",), uses=("single_neuron.zero_is_passed_once",))
def bias_through_a_crossing() -> Minimiser:
    """The minimiser for every trajectory: the linear term has the sign sgn(a_0 a_∞).

    At the crossing M has the limit η_a w wᵀ, but the dual variable jumps from -p to p: ∇Ψ_δ(β_∞) + ∇Ψ_δ(β_0)
    is in row(X).
    """
    edge = Domain(
        (delta, x),
        cells=(Cell("δ < 0", {delta: -1, x: 1}),),
        hypotheses=(
            stated("App. A.4.3", "δ < 0, and x = ‖β‖² > 0 on the way to the crossing", delta < 0, x),
        ),
    )
    return Minimiser(
        r"any trajectory with $\beta_0\ne0$ that interpolates, $\sigma=\operatorname{sgn}(a_0a_\infty)$",
        (
            stationarity(1, endpoints(1, 1)),
            stationarity(-1, endpoints(1, -1)),
            stationarity(-1, endpoints(-1, 1)),
            Limit(kappa_plus(delta, x) / 2, x, 0, sp.S.Zero, on=edge),
            Limit(kappa_minus(delta, x) / 2, x, 0, -delta, on=edge),
        ),
        formula=r"\beta_\infty = \operatorname{argmin}_{X \beta = y} "
        r"\Psi_\delta(\beta) - \sigma \psi_\delta \hat\beta_0^\top \beta",
    )


@printed(
    "kunin2024.mirror-extension-through-crossing",
    quote=r"extend the time-warped mirror flow analysis to all initializations with $\|\beta_0\|>0$",
    domain=replace(endpoints(1, -1, product_one=True), let={**WEIGHTS, c: sp.S.One}),
    hypothesis="the linear term of the objective is reversed when a changes its sign",
    under=replace(endpoints(1, -1, product_one=True), let={**WEIGHTS, c: -sp.S.One}),
    hypotheses=(meaning("c is the sign of the linear term", *defined(c)),),
)
def printed_extension() -> Minimiser:
    """The conclusion of Theorem 1 after a crossing, c the sign of the linear term: c = 1 is the theorem unchanged."""
    return Minimiser(
        r"the end of a trajectory on which $a$ changes its sign",
        (stationarity(c),),
        formula=r"\beta_\infty = \operatorname{argmin}_{X \beta = y} "
        r"\Psi_\delta(\beta) - c\, \psi_\delta \hat\beta_0^\top \beta",
    )
