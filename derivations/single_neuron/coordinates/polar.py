"""The signed norm μ = a‖w‖ of the function and the cosine φ between w and β_*, which obey a closed system.

On whitened data d‖w‖²/dt and da/dt know w only through ‖w‖ and wᵀβ_*, so that μ and φ move by themselves
once the sum η_w a² + η_a‖w‖² is known. It is: the difference of the two is the balance δ and their product is
η_a η_w μ², hence the sum is κ = √(δ² + 4η_a η_w μ²). This holds for any two rates (kunin2024, Sec. 3 and
App. A.2.1).
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.coordinates.planar import WHITENED
from derivations.single_neuron.network.model import whitened
from derivations.single_neuron.symbols import a, beta_star, delta, eta_a, eta_w, mu, phi, s, w
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.kinds import Conjunction, Definition, Dynamics, Identity

mu_of_weights = a * norm(w)
phi_of_weights = inner(w, beta_star) / (norm(w) * norm(beta_star))
balance = eta_w * a**2 - eta_a * norm2(w)
STRICT = {eta_a: 1, eta_w: 1, norm2(w): 1, norm2(beta_star): 1}

COMPUTED = meaning("δ, μ, φ and s = ‖β_*‖ are those of the weights", *defined(delta, mu, phi, s))
polar = Domain(
    (a, eta_a, eta_w),
    (w, beta_star),
    (Cell("any rates", STRICT),),
    let={delta: balance, mu: mu_of_weights, phi: phi_of_weights, s: norm(beta_star)},
    words="w ≠ 0, β_* ≠ 0",
    hypotheses=(
        WHITENED,
        COMPUTED,
        stated("App. A.2.1, where φ is defined", "w ≠ 0, for φ divides by ‖w‖", norm2(w)),
    ),
)
"""Weights with a direction, and δ, μ, φ and s = ‖β_*‖ in terms of them."""


def mu_dot(product: sp.Expr) -> sp.Expr:
    """κ (φ‖β_*‖ - μ) for the product η_a η_w of the rates."""
    return sp.sqrt(delta**2 + 4 * product * mu**2) * (phi * s - mu)


def phi_dot(product: sp.Expr) -> sp.Expr:
    """2 η_a η_w μ‖β_*‖/(κ - δ) (1 - φ²) for the product η_a η_w of the rates."""
    kappa = sp.sqrt(delta**2 + 4 * product * mu**2)
    return 2 * product * mu * s / (kappa - delta) * (1 - phi**2)


@result(ledger=("kunin2024.mu-phi-definition",), domain=polar)
def polar_coordinates() -> Conjunction:
    """The signed norm μ of β = a w, and the cosine φ of the angle between w and β_*.

    μ² = ‖β‖² and μ φ‖β_*‖ = βᵀβ_*. Between β and β_* the cosine is sgn(a) φ.
    """
    return Conjunction(
        Definition((mu, phi), (mu_of_weights, phi_of_weights)),
        Identity(mu_of_weights**2, norm2(a * w), name=r"\mu^2"),
        Identity(mu * phi * s, inner(a * w, beta_star), name=r"\mu\,\varphi\,\|\beta_*\|"),
        compiles=(mu_of_weights, phi_of_weights),
    )


@result(ledger=("kunin2024.key-simplification",), domain=polar)
def layer_norms() -> Identity:
    """The sum of the squared layer norms, each times the rate of the other layer, is κ."""
    return Identity(
        eta_w * a**2 + eta_a * norm2(w), sp.sqrt(delta**2 + 4 * eta_a * eta_w * mu**2), name=r"\kappa"
    )


@result(ledger=("kunin2024.mu-phi-ode",), domain=polar, uses=("single_neuron.conserved_delta",))
def polar_dynamics() -> Dynamics:
    """The closed dynamics of μ and φ, for any two rates."""
    return Dynamics(
        (mu_of_weights, phi_of_weights),
        (mu_dot(eta_a * eta_w), phi_dot(eta_a * eta_w)),
        under=whitened,
        name=r"(\mu, \varphi)",
    )
