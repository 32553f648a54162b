"""The preconditioner of the function's dynamics, as a function of β and δ alone.

β = a w obeys β̇ = -M Xᵀρ with M = η_w a² I + η_a w wᵀ, where r = Xᵀρ is the gradient of the loss in β. Since
η_w a² and η_a‖w‖² have the difference δ and the product η_a η_w‖β‖², they are (κ ± δ)/2 with κ = √(δ² + 4 η_a η_w‖β‖²):
M is known from β and δ, and so is its inverse (kunin2024, Sec. 3 and App. A.3).
"""

from __future__ import annotations

from derivations.single_neuron.conservation import flow
from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.single_neuron.regimes import function_space, x_beta
from derivations.single_neuron.symbols import a, beta, delta, eta_a, eta_w, r, w
from symdyn.calculus.bridge import isotropic_to_gram
from symdyn.calculus.gram import identity, norm2, outer, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.domain import Cell, Domain
from symdyn.result import result
from symdyn.statement import Dynamics, Identity

M_weights = eta_w * a**2 * identity() + eta_a * outer(w, w)
"""M in terms of the weights."""

x_rates = eta_a * eta_w * x_beta
M = Isotropic(kappa_plus(delta, x_rates) / 2, kappa_minus(delta, x_rates) / 2, x_beta, beta)
"""M in terms of β and δ."""

weights = Domain(
    (a, eta_a, eta_w),
    (w,),
    (Cell("positive rates", {eta_a: 1, eta_w: 1}),),
    let={delta: eta_w * a**2 - eta_a * norm2(w)},
    words="a ≠ 0, w ≠ 0",
)


@result(ledger=("kunin2024.single-beta-ode",))
def function_dynamics():
    """The dynamics of the function β = a w."""
    return Dynamics(a * w, -1 * (M_weights @ r), under=flow, name=r"\beta")


@result(
    ledger=("kunin2024.single-M-self-consistent",),
    domain=weights,
    arguments=("beta", "delta", "eta_a", "eta_w"),
    requires=(
        ("β ≠ 0 where δ < 0: the limit depends on the direction of β", (delta >= 0) | (x_beta > 0), "beta"),
    ),
)
def preconditioner():
    """The preconditioner M as a function of β and δ."""
    in_weights = substitute(isotropic_to_gram(M), {beta: a * w})
    return Identity(M_weights, in_weights, name="M", compiles=M)


@result(ledger=("kunin2024.two-layer-M-inverse",), domain=function_space)
def inverse_preconditioner():
    """The inverse of the preconditioner."""
    k, plus, minus = (q(delta, x_rates) for q in (kappa, kappa_plus, kappa_minus))
    return Identity(M.inverse(), Isotropic(2 / plus, -minus / (plus * k), x_beta, beta), name="M^{-1}")
