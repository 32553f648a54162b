"""The change of the kernel K = X M Xᵀ, driven by the length and by the direction of β.

With β̂ = β/‖β‖ the preconditioner is M = (κ + δ)/2 I + (κ - δ)/2 β̂β̂ᵀ. Its first coefficient and the second
know β only through its length, with the same derivative 2x/(κ‖β‖), x = η_a η_w‖β‖²; the rest of Ṁ is the
turning of β̂β̂ᵀ, with the weight (κ - δ)/2. Which of the two is large decides between lazy and rich
(kunin2024, App. A.3.1).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.network.model import output
from derivations.single_neuron.preconditioning.of_the_neuron import M, k, minus, weights, x_rates
from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.single_neuron.regimes import REGIME, function_space, unit_rates, x_beta
from derivations.single_neuron.symbols import a, beta, beta_dot, delta, eta_a, eta_w, point, point1, w
from symdyn.calculus.bridge import apply_isotropic, isotropic_to_gram
from symdyn.calculus.gram import Flow, GramOperator, gradient, identity, inner, outer, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.catalogue.result import printed, result
from symdyn.statements.kinds import Dynamics, Existence, Identity, Inequality

length = sp.sqrt(x_beta)
projector = outer(beta, beta) / x_beta
moving = Flow({beta: beta_dot})
"""Any motion of β."""


@result(ledger=("kunin2024.single-ntk-from-M",), domain=replace(weights, vectors=(w, point, point1)))
def kernel_from_preconditioner() -> Identity:
    """The kernel is that of M: Θ(x, x') = xᵀ M x' with M a function of β and δ, so that K = X M Xᵀ."""
    other = substitute(output, {point: point1})
    of_readout = eta_a * sp.diff(output, a) * sp.diff(other, a)
    of_weights = eta_w * inner(gradient(output, w), gradient(other, w))
    return Identity(of_readout + of_weights, inner(point, apply_isotropic(M, point1)), name=r"\Theta(x, x')")


def change(first: sp.Expr, second: sp.Expr) -> GramOperator:
    """first (I + β̂β̂ᵀ) ∂_t‖β‖ + second ∂_t(β̂β̂ᵀ)."""
    return first * moving.derivative(length) * (identity() + projector) + second * moving.derivative(
        projector
    )


@result(ledger=("kunin2024.single-mdot",), domain=replace(function_space, vectors=(beta, beta_dot)))
def preconditioner_dynamics() -> Dynamics:
    """The change of M has a part from the length of β and a part from its direction."""
    return Dynamics(
        isotropic_to_gram(M), change(2 * x_rates / (k * length), minus / 2), under=moving, name="M"
    )


@printed(
    "kunin2024.single-mdot",
    quote=r"\frac{2\|\beta\|}{\kappa}(\mathbf I_d+\hat\beta\hat\beta^\top)\partial_t\|\beta\|",
    domain=replace(unit_rates, vectors=(beta, beta_dot)),
)
def printed_preconditioner_dynamics() -> Dynamics:
    """As printed, for η_a η_w = 1."""
    plus, minus = kappa_plus(delta, x_beta), kappa_minus(delta, x_beta)
    unit = isotropic_to_gram(Isotropic(plus / 2, minus / 2, x_beta, beta))
    return Dynamics(unit, change(2 * length / kappa(delta, x_beta), minus / 2), under=moving, name="M")


@result(ledger=("kunin2024.kernel-change-regimes",), domain=function_space.supposing(REGIME))
def kernel_change_regimes() -> Existence:
    """Which part of Ṁ counts: none far upstream, the direction far downstream, both in balance.

    The coefficient of ∂_t‖β‖ is below 2x/(|δ|‖β‖) for either sign of δ. That of the turning is below x/δ
    upstream and above |δ| downstream. In balance the coefficients of the relative change ∂_t‖β‖/‖β‖ and of
    the turning are both √x.
    """
    of_length, of_direction = 2 * x_rates / (k * length), minus / 2
    upstream, balanced, downstream = (function_space.with_cells(cell) for cell in function_space.cells)
    root = sp.sqrt(x_rates)
    return Existence(
        r"the coefficients of $\partial_t\|\beta\|$ and $\partial_t(\hat\beta\hat\beta^\top)$ both vanish for "
        r"$\delta\to\infty$; for $\delta\to-\infty$ the second is above $|\delta|$; for $\delta=0$ they are alike",
        (
            Inequality(of_length, "<", 2 * x_rates / (delta * length), on=upstream),
            Inequality(of_direction, "<", x_rates / delta, on=upstream),
            Inequality(of_length, "<", -2 * x_rates / (delta * length), on=downstream),
            Inequality(of_direction, ">", -delta, on=downstream),
            Identity((of_length * length, of_direction), (root, root), on=balanced),
        ),
    )
