"""What the preconditioner becomes for large |δ|, and along which trajectories it is a function of β.

Upstream M → δ I, so that in units of time 1/δ the function follows the gradient flow of linear regression and
the kernel stands still. Downstream M → |δ| β̂β̂ᵀ: the function moves along its own direction at a speed of
order |δ|, and turns at a speed of order 1/|δ| (kunin2024, Sec. 3 and App. A.3).
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.preconditioning.of_the_neuron import (
    M,
    M_weights,
    k,
    minus,
    plus,
    weights,
    x_rates,
)
from derivations.single_neuron.regimes import DOWNSTREAM, REGIME, UPSTREAM, x_beta
from derivations.single_neuron.symbols import a, beta, delta, eta_a, eta_w, r, w
from symdyn.calculus.bridge import apply_isotropic
from symdyn.calculus.gram import Flow, inner, norm2, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Dynamics, Existence, Identity, Inequality

length = sp.sqrt(x_beta)
downhill = -1 * apply_isotropic(M, r)
on_functions = Flow({beta: downhill})
"""The flow of β by itself, with the gradient r of any loss."""

fixed_function = Domain(
    (delta, eta_a, eta_w),
    (beta, r),
    (Cell("any balance", {x_beta: 1, eta_a: 1, eta_w: 1}),),
    hypotheses=(REGIME,),
)


def isotropic(f: sp.Expr, h: sp.Expr) -> Isotropic:
    """f I + h β̂β̂ᵀ."""
    return Isotropic(f, h, x_beta, beta)


@result(ledger=("kunin2024.single-M-upstream",), domain=fixed_function)
def upstream_preconditioner() -> Existence:
    """Far upstream M is δ times the identity: linear regression in units of time 1/δ, with a constant kernel.

    What M has more than δ I is (κ - δ)/2 (I + β̂β̂ᵀ), and κ - δ < 2x/δ with x = η_a η_w‖β‖². So β̇/δ differs
    from -r by O(1/δ²), and on a bounded trajectory a kernel of order δ changes by O(1/δ).
    """
    return Existence(
        r"$M=\delta I+O(1/\delta)$ uniformly for bounded $\beta$, and $\dot\beta/\delta\to-r$",
        (
            Asymptotic(M, isotropic(delta, 0), delta, sp.oo, 1 / delta, sharp=True),
            Identity(downhill, -(delta + minus / 2) * r - minus / 2 * inner(beta, r) / x_beta * beta),
            Inequality(minus, "<", 2 * x_rates / delta, on=fixed_function.with_cells(UPSTREAM)),
        ),
    )


@result(ledger=("kunin2024.single-M-downstream",), domain=fixed_function)
def downstream_preconditioner() -> Conjunction:
    """Far downstream M is |δ| times the projector on β: fast along β, slow in turning.

    The length moves at the speed κ > |δ|, the direction at the speed (κ + δ)/2 < x/|δ| with x = η_a η_w‖β‖².
    """
    direction = beta / length
    turning = -plus / (2 * length) * (r - inner(beta, r) / x_beta * beta)
    return Conjunction(
        Asymptotic(M, isotropic(0, -delta), delta, -sp.oo, 1 / delta, sharp=True),
        Dynamics(length, -k * inner(direction, r), under=on_functions),
        Dynamics(direction, turning, under=on_functions),
        Inequality(plus / 2, "<", -x_rates / delta, on=fixed_function.with_cells(DOWNSTREAM)),
    )


@result(
    ledger=("kunin2024.single-M-validity",),
    domain=Domain(
        (eta_a,),
        (w, r),
        (Cell("η_a > 0", {eta_a: 1, norm2(w): 1}),),
        hypotheses=(
            stated("App. A.3", "where a = 0, w ≠ 0: not initialised at the saddle point at the origin", w),
        ),
    ),
)
def validity() -> Existence:
    """M is a function of β as long as a ≠ 0: for δ ≥ 0 off the origin always, for δ < 0 until a changes its sign.

    Where a = 0 the balance is -η_a‖w‖², and w stands still while a moves at the speed -η_a wᵀr. So with δ ≥ 0
    only the origin has a = 0, a rest point that no other trajectory reaches. With δ < 0 a zero of a is passed
    with a change of sign, unless wᵀr = 0 too and it is a rest point.
    """
    at_zero = {a: sp.S.Zero}
    return Existence(
        r"$a=0$ needs $\delta=-\eta_a\|w\|^2\le0$, and is a rest point or a change of sign of $a$",
        (
            Identity(M_weights, M, on=weights),
            Inequality(substitute(weights.let[delta], at_zero), "<"),
            Identity(
                tuple(substitute(flow.velocities[u], at_zero) for u in (a, w)), (-eta_a * inner(w, r), 0 * w)
            ),
        ),
    )
