r"""Gradient flow of a two-layer network, neuron by neuron.

On n data the outputs are f = Σ_k a_k C_k X w_k, with C_k the diagonal matrix of the slopes c_ki = σ'(w_kᵀx_i), which do
not move as long as no pre-activation passes through zero. The gradient of ‖f - y‖²/2 in a_k is w_kᵀξ_k and in w_k it
is a_k ξ_k, with ξ_k = XᵀC_kρ. So neuron k obeys the equations of the single linear neuron, with ξ_k for the gradient:
δ_k is conserved, β_k = a_k w_k is preconditioned by M_k, and the tangent kernel is the sum of C_k X M_k XᵀC_k
(kunin2024, Sec. 5 and App. C.2). At a kink the slope is any c in [γ, 1], the same in both equations.
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.symbols import a, beta, d, delta, eta_a, eta_w, n, w, xi
from derivations.single_neuron.quantities import kappa_minus, kappa_plus
from symdyn.calculus.gram import Flow, identity, inner, norm2, outer
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix import Index, basis, diagonal, entry, eye, matrix, sum_over, vector
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.kinds import Conjunction, Conservation, Dynamics, Identity
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

SIZES = ({n: 1, d: 2}, {n: 2, d: 2}, {n: 3, d: 1})
X, slopes = matrix("X", n, d), matrix("C", n, n)
others, weights, step = vector("o", n, r"f_{\ne k}-y"), vector("w", d, "w_k"), vector("v", d, r"\dot w_k")
C = diagonal(slopes)
move = sp.Symbol("u", real=True)

output = a * (C @ X @ weights)
residual = others + output
drive = X.T @ C @ residual

flow = Flow({a: -eta_a * inner(w, xi), w: -eta_w * a * xi})
"""The flow of one neuron, for any ξ_k."""

balance = eta_w * a**2 - eta_a * norm2(w)
M_weights = eta_w * a**2 * identity() + eta_a * outer(w, w)
x_beta = norm2(beta)
x_rates = eta_a * eta_w * x_beta
M = Isotropic(kappa_plus(delta, x_rates) / 2, kappa_minus(delta, x_rates) / 2, x_beta, beta)

RATES = {eta_a: 1, eta_w: 1}
NOT_ZERO = stated(
    "Sec. 5 and App. C.2",
    "β_k ≠ 0 and a_k² ≠ 0, so that w_k ≠ 0; for δ_k ≥ 0 M_k has a limit at β_k = 0, which is computed",
    a,
    w,
    (delta >= 0) | (x_beta > 0),
)
all_weights = Domain(
    (a, eta_a, eta_w),
    (w, xi),
    (Cell("a_k > 0", {a: 1, norm2(w): 1, **RATES}), Cell("a_k < 0", {a: -1, norm2(w): 1, **RATES})),
    let={delta: balance, beta: a * w},
    words="a_k ≠ 0, w_k ≠ 0",
    hypotheses=(NOT_ZERO, meaning("δ_k and β_k = a_k w_k are those of the weights", *defined(delta, beta))),
)


@result(ledger=("kunin2024.pw-two-layer-flow",), uses=("piecewise_linear.activation",))
def neuron_flow() -> Conjunction:
    """Gradient flow of one neuron of a two-layer network on the squared loss, all slopes being what they are.

    The first fact is the gradient of the loss in (a_k, w_k), the second ξ_k as a sum over the data.
    """
    i = Index("i", n)
    summand = entry(slopes, i, i) * (X.T @ basis(i) @ basis(i).T @ residual)
    downhill = move * (weights.T @ drive) + (a * drive).T @ step
    return Conjunction(
        MatrixDynamics(
            residual.T @ residual / 2, downhill, {a: move, weights: step}, SIZES, name=r"\mathcal L"
        ),
        MatrixIdentity(drive, sum_over(i, summand), SIZES, name=r"\xi_k"),
    )


@result(ledger=("kunin2024.pw-conserved-delta",), uses=("piecewise_linear.neuron_flow",))
def conserved_delta() -> Conservation:
    """The balance of every neuron is conserved, whatever drives it."""
    return Conservation(balance, under=flow, name=r"\delta_k")


@result(ledger=("kunin2024.pw-beta-ode",), uses=("piecewise_linear.neuron_flow",))
def neuron_function_dynamics() -> Dynamics:
    """The dynamics of what a neuron contributes to the function, β_k = a_k w_k."""
    return Dynamics(a * w, -1 * (M_weights @ xi), under=flow, name=r"\beta_k")


@result(
    ledger=("kunin2024.pw-M",),
    domain=all_weights,
    arguments=("beta", "delta", "eta_a", "eta_w"),
    requires=(
        (
            "non-zero where delta < 0 (the limit depends on the direction)",
            (delta >= 0) | (x_beta > 0),
            "beta",
        ),
    ),
    uses=("single_neuron.stable_forms",),
)
def neuron_preconditioner() -> Identity:
    """The preconditioner of a neuron as a function of β_k and δ_k."""
    return Identity(M_weights, M, name="M_k")


@result(ledger=("kunin2024.pw-ntk",), uses=("piecewise_linear.neuron_flow",))
def tangent_kernel() -> Conjunction:
    """The neural tangent kernel of a two-layer network, the sum of C_k X M_k XᵀC_k over its neurons.

    The first fact is the Jacobian of the outputs in (a_k, w_k), the others its product with itself, as matrices and
    in coordinates. The function `ntk` computes it.
    """
    i, j = Index("i", n), Index("j", n)
    in_readout, in_weights = C @ X @ weights, a * (C @ X)
    preconditioner = eta_w * a**2 * eye(d) + eta_a * weights @ weights.T
    kernel = eta_a * in_readout @ in_readout.T + eta_w * in_weights @ in_weights.T
    at_i, at_j = X.T @ basis(i), X.T @ basis(j)
    in_coordinates = sum_over(
        i,
        sum_over(
            j, entry(C, i, i) * (at_i.T @ preconditioner @ at_j) * entry(C, j, j) * basis(i) @ basis(j).T
        ),
    )
    return Conjunction(
        MatrixDynamics(
            output, move * in_readout + in_weights @ step, {a: move, weights: step}, SIZES, name="f"
        ),
        MatrixIdentity(kernel, C @ X @ preconditioner @ X.T @ C, SIZES, name="K"),
        MatrixIdentity(kernel, in_coordinates, SIZES, name="K"),
    )
