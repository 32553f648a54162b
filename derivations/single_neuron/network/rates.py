"""Which formulas survive when the learning rates are absorbed.

The weights a' = √η_w a and w' = √η_a w, with r' = √(η_a η_w) r, move as if both rates were one, at the same
balance δ = a'² - ‖w'‖². So every formula for unit rates holds for any rates once it is read in a', w' and
β_*' = √(η_a η_w) β_*.

Functions of β = a w and δ alone know the scaling through β' = √(η_a η_w) β = a' w' only, hence through the
product of the rates: the dynamics of (μ, φ) and of β keep their form when the product is one. Formulas for a,
w, wᵀβ_*/a and the like do not: they need both rates to be one (kunin2024, App. A.2.1 and A.3).
"""

from __future__ import annotations

from sympy import sqrt

from derivations.single_neuron.coordinates.polar import (
    STRICT,
    balance,
    mu_dot,
    mu_of_weights,
    phi_dot,
    phi_of_weights,
    polar,
)
from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.network.model import whitened
from derivations.single_neuron.preconditioning.of_the_neuron import M
from derivations.single_neuron.regimes import UNIT_PRODUCT, function_space
from derivations.single_neuron.symbols import a, beta, beta_star, delta, eta_a, eta_w, mu, phi, r, s, w
from symdyn.calculus.bridge import isotropic_to_gram
from symdyn.calculus.gram import Flow, norm, substitute
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Dynamics, Identity

root = sqrt(eta_a * eta_w)
scaled = {a: sqrt(eta_w) * a, w: sqrt(eta_a) * w, r: root * r, eta_a: 1, eta_w: 1}
"""What stands for the weights, the gradient and the rates in a formula for unit rates."""

any_rates = Domain((a, eta_a, eta_w), (w, r), (Cell("any rates", {eta_a: 1, eta_w: 1}),))
unit_product = Cell("η_a η_w = 1", STRICT, {eta_w: 1 / eta_a}, "one rate is free")
primed = {delta: balance, mu: root * mu_of_weights, phi: phi_of_weights, s: root * norm(beta_star)}


@result(domain=any_rates)
def unit_rate_weights() -> Conjunction:
    """The weights √η_w a and √η_a w move as if both rates were one, with the same balance."""
    as_if_one = tuple(substitute(flow.velocities[u], scaled) for u in (a, w))
    return Conjunction(
        Dynamics((scaled[a], scaled[w]), as_if_one, under=flow, name=r"(\sqrt{\eta_w}\,a,\sqrt{\eta_a}\,w)"),
        Identity(substitute(balance, scaled), balance, name=r"\delta"),
        Identity(scaled[a] * scaled[w], root * a * w, name=r"\beta'"),
    )


@result(
    ledger=("kunin2024.eta-absorption-mu",),
    domain=polar.restrict(let=primed),
    uses=("single_neuron.layer_norms",),
)
def absorbed_polar_dynamics() -> Dynamics:
    """With μ' = √(η_a η_w) μ and β_*' = √(η_a η_w) β_* the product of the rates leaves the dynamics of (μ', φ)."""
    return Dynamics(
        (primed[mu], primed[phi]), (mu_dot(1), phi_dot(1)), under=whitened, name=r"(\mu', \varphi)"
    )


@result(
    ledger=("kunin2024.mu-phi-ode-unit-eta",), domain=polar.with_cells(unit_product).supposing(UNIT_PRODUCT)
)
def polar_dynamics_of_unit_product() -> Dynamics:
    """The dynamics of (μ, φ) for rates with product one, whatever their ratio."""
    return Dynamics(
        (mu_of_weights, phi_of_weights), (mu_dot(1), phi_dot(1)), under=whitened, name=r"(\mu, \varphi)"
    )


@result(
    ledger=("kunin2024.eta-absorption-beta",),
    domain=Domain((delta, eta_a, eta_w), (beta, r), function_space.cells),
)
def absorbed_function_dynamics() -> Dynamics:
    """With β' = √(η_a η_w) β and y' = √(η_a η_w) y the rates enter the dynamics of β' through δ alone.

    Xᵀ(Xβ - y) is linear in β and y, so that r' = √(η_a η_w) r.
    """
    moving = Flow({beta: -1 * (isotropic_to_gram(M) @ r)})
    unit_M = substitute(isotropic_to_gram(M), {eta_a: 1, eta_w: 1})
    same_form = -1 * (substitute(unit_M, {beta: root * beta}) @ (root * r))
    return Dynamics(root * beta, same_form, under=moving, name=r"\beta'")
