r"""The size of the balanced network: μ = a‖w‖ for δ = 0 and a > 0 (kunin2024, App. A.2.2).

Driven by φ = tanh y, y = artanh φ_0 + √(η_a η_w)‖β_*‖ t, the equation of μ is one of Bernoulli, linear in 1/μ, and
solved by

    μ = 2‖β_*‖ cosh² y / (2y + sinh 2y + c).

The paper prints this solution and its constant without the factor ‖β_*‖, so that its μ tends to 1 instead of ‖β_*‖.
At φ_0 = -1 the cosine stays, and the network runs into the saddle at the origin.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.solution.balanced import (
    REQUIRES,
    angle,
    positive_side,
    printed_angle,
    product_side,
    root,
    z,
)
from derivations.single_neuron.symbols import eta_a, eta_w, mu, mu0, phi, phi0, s, t
from symdyn.calculus.gram import Flow
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conservation, Existence, Identity, Limit, Solution

positive_flow = Flow({mu: 2 * root * mu * (phi * s - mu), phi: root * s * (1 - phi**2)})
"""The flow of μ and φ for δ = 0 and a > 0."""

here = {phi: (z - 1) / (z + 1)}
moving = Domain(
    (s, eta_a, eta_w, mu),
    cells=(Cell("a > 0, any rates", {s: 1, eta_a: 1, eta_w: 1, mu: 1, z: 1}, here, "|φ| < 1"),),
    words="δ = 0, a > 0, |φ| < 1",
    hypotheses=(
        *positive_side.hypotheses,
        stated("App. A.2.2, c_φ = artanh φ_0", "|φ| < 1 along with |φ_0| < 1", z),
    ),
)
moving_product = replace(
    moving,
    cells=(Cell("a > 0, η_a η_w = 1", {s: 1, eta_a: 1, mu: 1, z: 1}, {**here, eta_w: 1 / eta_a}, "|φ| < 1"),),
)


def size_velocity(cosine: sp.Expr) -> sp.Expr:
    """The velocity of μ for a > 0, given the cosine."""
    return 2 * root * mu * (cosine * s - mu)


def size(length: sp.Expr, y: sp.Expr, constant: sp.Expr) -> sp.Expr:
    """length · 2cosh² y / (2y + sinh 2y + constant)."""
    return 2 * length * sp.cosh(y) ** 2 / (2 * y + sp.sinh(2 * y) + constant)


def constant(length: sp.Expr, y: sp.Expr, start: sp.Expr) -> sp.Expr:
    """The constant of the size for which it is `start` at y."""
    return 2 * length * sp.cosh(y) ** 2 / start - (2 * y + sp.sinh(2 * y))


_driven = replace(positive_side, scalars=(*positive_side.scalars, mu))


@result(
    ledger=("kunin2024.balanced-mu-bernoulli",),
    domain=_driven,
    uses=("single_neuron.balanced_dynamics", "single_neuron.balanced_alignment"),
)
def balanced_size_dynamics() -> Identity:
    """The Bernoulli equation of μ driven by the cosine, for δ = 0 and a_0 > 0."""
    driven = 2 * root * s * sp.tanh(angle) * mu - 2 * root * mu**2
    return Identity(size_velocity(sp.tanh(angle)), driven, name=r"\dot\mu")


@printed(
    "kunin2024.balanced-mu-bernoulli",
    quote=r"$\dot\mu=2\|\beta_*\|\tanh(c_\phi+\|\beta_*\|t)\,\mu-2\mu^2$",
    domain=replace(product_side, scalars=(*product_side.scalars, mu)),
)
def printed_balanced_size_dynamics() -> Identity:
    """As printed, for η_a η_w = 1."""
    printed_velocity = 2 * s * sp.tanh(printed_angle) * mu - 2 * mu**2
    return Identity(size_velocity(sp.tanh(angle)), printed_velocity)


@result(
    ledger=("kunin2024.balanced-mu-solution",),
    domain=positive_side,
    uses=("single_neuron.balanced_size_dynamics",),
    requires=(*REQUIRES, ("positive", mu0 > 0, "mu0")),
)
def balanced_size() -> Solution:
    """The signed norm μ for δ = 0 and a_0 > 0, with the factor ‖β_*‖ that the paper's formula lacks."""
    start = constant(s, sp.atanh(phi0), mu0)
    left = 2 / (sp.exp(2 * root * s * t) + 1)
    turned = 1 + phi0 - phi0 * left
    below = sp.tanh(root * s * t) * ((1 + phi0) ** 2 - 2 * phi0 * left)
    below += left * (2 - left) * (s / mu0 + (1 - phi0) * (1 + phi0) * root * s * t)
    stable = s * turned**2 / below
    velocity = {mu: size_velocity(sp.tanh(angle))}
    return Solution({mu: size(s, angle, start)}, velocity, {mu: mu0}, t, compiles=stable)


@printed(
    "kunin2024.balanced-mu-solution",
    quote=r"$\mu(t)=\frac{2\cosh^2(c_\phi+\|\beta_*\|t)}"
    r"{2(c_\phi+\|\beta_*\|t)+\sinh(2(c_\phi+\|\beta_*\|t))+c_\mu}$",
    domain=product_side,
    severity="substantive",
)
def printed_balanced_size() -> Solution:
    """As printed, with the printed constant."""
    start = constant(1, sp.atanh(phi0), mu0)
    velocity = 2 * s * sp.tanh(printed_angle) * mu - 2 * mu**2
    return Solution({mu: size(1, printed_angle, start)}, {mu: velocity}, {mu: mu0}, t)


@result(
    ledger=("kunin2024.balanced-mu-constant",),
    domain=moving,
    uses=("single_neuron.balanced_dynamics", "single_neuron.balanced_size"),
)
def balanced_constant() -> Conservation:
    """The constant of the size, with the factor ‖β_*‖: computed from any point of a trajectory it is the same.

    It is what μ(0) = μ_0 demands of the solution, and a trajectory may be said to start at any of its points.
    """
    return Conservation(constant(s, sp.atanh(phi), mu), under=positive_flow, name="c")


@printed(
    "kunin2024.balanced-mu-constant",
    quote=r"$c_\mu=2\mu_0^{-1}\cosh^2(c_\phi)-(2c_\phi+\sinh(2c_\phi))$",
    domain=moving_product,
    severity="substantive",
)
def printed_balanced_constant() -> Conservation:
    """As printed; it changes along the flow, and so is no constant of its solutions."""
    return Conservation(constant(1, sp.atanh(phi), mu), under=positive_flow)


size_at_minus_one = s * mu0 / ((s + mu0) * sp.exp(2 * root * s * t) - mu0)


@result(
    ledger=("kunin2024.balanced-phi0-minus-one",),
    domain=positive_side,
    uses=("single_neuron.balanced_dynamics",),
)
def balanced_saddle() -> Existence:
    """For δ = 0 and a_0 > 0 a start with φ_0 = -1 keeps φ = -1 and runs into the saddle: μ tends to 0.

    With μ = a‖w‖ and η_w a² = η_a‖w‖² both a and w tend to 0.
    """
    return Existence(
        r"$\phi$ stays at $-1$, and $\mu$ tends to $0$",
        because=(
            Identity(positive_flow.velocities[phi].xreplace({phi: sp.S.NegativeOne}), sp.S.Zero),
            Solution({mu: size_at_minus_one}, {mu: size_velocity(-1)}, {mu: mu0}, t),
            Limit(size_at_minus_one, t, sp.oo, sp.S.Zero),
        ),
        formula=r"\mu(t) = \frac{\|\beta_*\|\mu_0}"
        r"{(\|\beta_*\| + \mu_0) e^{2\sqrt{\eta_a\eta_w}\|\beta_*\| t} - \mu_0}",
    )
