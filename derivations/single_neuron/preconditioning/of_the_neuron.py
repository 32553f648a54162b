"""The preconditioner of the function's dynamics, as a function of β and δ alone.

β = a w obeys β̇ = -M Xᵀρ with M = η_w a² I + η_a w wᵀ, where r = Xᵀρ is the gradient of the loss in β. Since
η_w a² and η_a‖w‖² have the difference δ and the product x = η_a η_w‖β‖², they are (κ ± δ)/2 with κ = √(δ² +
4x): M is known from β and δ, and so is its inverse (kunin2024, Sec. 3 and App. A.3, A.4.2).
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.single_neuron.regimes import REGIME, function_space, x_beta
from derivations.single_neuron.symbols import a, beta, delta, eta_a, eta_w, label, point, r, w
from symdyn.calculus.gram import gradient, identity, inner, norm2, outer
from symdyn.calculus.isotropic import Isotropic
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Conjunction, Dynamics, Existence, Identity, Inequality, Statement

M_weights = eta_w * a**2 * identity() + eta_a * outer(w, w)
"""M in terms of the weights."""

x_rates = eta_a * eta_w * x_beta
k, plus, minus = (q(delta, x_rates) for q in (kappa, kappa_plus, kappa_minus))
M = Isotropic(plus / 2, minus / 2, x_beta, beta)
"""M in terms of β and δ."""

weights = Domain(
    (a, eta_a, eta_w),
    (w,),
    (Cell("positive rates", {eta_a: 1, eta_w: 1}),),
    let={delta: eta_w * a**2 - eta_a * norm2(w), beta: a * w},
    words="β = a w with a ≠ 0, w ≠ 0",
    hypotheses=(
        stated("App. A.3", "a² > 0, and β ≠ 0, by whose square the formula divides"),
        meaning("β = a w and δ are those of the weights", *defined(beta, delta)),
    ),
)
"""All weights but those with β = 0, the balance and the function computed from them."""

in_function_space = ("beta", "delta", "eta_a", "eta_w")
directed = (
    "non-zero where delta < 0 (the limit depends on the direction)",
    (delta >= 0) | (x_beta > 0),
    "beta",
)
invertible = ("non-zero where delta <= 0", (delta > 0) | (x_beta > 0), "beta")
DIRECTED = stated(
    "Sec. 3, where M is expressed by β",
    "β ≠ 0; for δ ≥ 0 M has a limit there, which is computed",
    directed[1],
)
INVERTIBLE = stated(
    "App. A.4.2", "‖β‖ > 0; for δ > 0 M has an inverse at β = 0 too, which is computed", invertible[1]
)


@result(ledger=("kunin2024.single-beta-ode",))
def function_dynamics() -> Dynamics:
    """The dynamics of the function β = a w, a preconditioned gradient flow."""
    return Dynamics(a * w, -1 * (M_weights @ r), under=flow, name=r"\beta")


@result(ledger=("kunin2024.single-beta-ode",))
def loss_gradient() -> Identity:
    """The gradient of the squared loss in β is Xᵀρ: one datum x with residual βᵀx - y adds (βᵀx - y) x."""
    residual = inner(beta, point) - label
    return Identity(gradient(residual**2 / 2, beta), residual * point, name=r"\nabla_\beta\mathcal{L}")


@result(
    ledger=("kunin2024.single-a2-quadratic",),
    domain=function_space,
    arguments=in_function_space,
)
def readout_square() -> Characterised:
    """The square of the read-out weight as a function of β and δ."""
    other_root = -minus / (2 * eta_w)

    def facts(square: sp.Expr) -> tuple[Statement, ...]:
        return (
            Identity(a**2, square, on=weights),
            Identity(eta_w * square**2 - delta * square - eta_a * x_beta, 0 * delta),
            Inequality(square, ">"),
            Identity(eta_w * other_root**2 - delta * other_root - eta_a * x_beta, 0 * delta),
            Inequality(other_root, "<"),
        )

    return Characterised.of(plus / (2 * eta_w), facts, name=r"a^2")


@result(
    ledger=("kunin2024.single-wwT-from-beta",),
    domain=weights,
    arguments=in_function_space,
)
def input_weights_square() -> Identity:
    """The outer product of the input weights as a function of β and δ."""
    return Identity(outer(w, w), Isotropic(0, minus / (2 * eta_a), x_beta, beta))


@result(
    ledger=("kunin2024.single-M-self-consistent",),
    domain=weights,
    arguments=in_function_space,
    requires=(directed,),
    hypotheses=(DIRECTED,),
    uses=("single_neuron.stable_forms",),
)
def preconditioner() -> Identity:
    """The preconditioner M as a function of β and δ."""
    return Identity(M_weights, M, name="M")


@result(
    ledger=("kunin2024.single-M-balanced",),
    domain=function_space.with_cells(function_space.cells[1]).supposing(REGIME),
)
def balanced_preconditioner() -> Identity:
    """In balance M is the length of β, times the identity plus the projector on β."""
    length = sp.sqrt(eta_a * eta_w) * sp.sqrt(x_beta)
    return Identity(M, Isotropic(length, length, x_beta, beta), name="M")


@result(ledger=("kunin2024.single-M-positive-definite",), domain=function_space)
def positive_definite() -> Existence:
    """M is positive definite wherever β ≠ 0: its eigenvalues are (κ + δ)/2 across β and κ along it."""
    return Existence(
        r"$M$ has the eigenvalues $(\kappa+\delta)/2$, $d-1$ times, and $\kappa$, all of them positive",
        (
            Identity(M.radial, k),
            Inequality(M.transverse, ">"),
            Inequality(M.radial, ">"),
        ),
    )


@result(
    ledger=("kunin2024.two-layer-M-inverse",),
    domain=function_space,
    arguments=in_function_space,
    requires=(invertible,),
    hypotheses=(INVERTIBLE,),
    uses=("single_neuron.stable_forms",),
)
def inverse_preconditioner() -> Identity:
    """The inverse of the preconditioner."""
    return Identity(M.inverse(), Isotropic(2 / plus, -minus / (plus * k), x_beta, beta), name="M^{-1}")


@result(ledger=("kunin2024.two-layer-M-inverse",), domain=function_space)
def rank_one_update() -> Conjunction:
    """M as a rank-one update A + u vᵀ of a multiple of the identity, for which uᵀA⁻¹v = (κ - δ)/(κ + δ)."""
    A, u, v = plus / 2, minus / (2 * x_beta) * beta, beta
    return Conjunction(Identity(A * identity() + outer(u, v), M), Identity(inner(u, v) / A, minus / plus))
