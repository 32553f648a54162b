r"""The balanced network, δ = 0: the signs are kept, and φ has a closed form (kunin2024, App. A.2.2).

With δ = 0 the weights lie on the cone η_w a² = η_a‖w‖². There, with k = √(η_a η_w)‖β_*‖,

    μ' = 2√(η_a η_w) sgn(μ) μ (φ‖β_*‖ - μ),        φ' = k sgn(μ) (1 - φ²).

The apex is the only point of the cone with a = 0, and nothing moves there; away from it a' = g a with a bounded g, so
that a keeps its sign. For a > 0 the equation of φ is solved by φ = tanh(artanh φ_0 + kt).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from derivations.single_neuron.coordinates.planar import POSITIVE, WHITENED, plane, whitened
from derivations.single_neuron.coordinates.polar import COMPUTED
from derivations.single_neuron.symbols import (
    a,
    beta_star,
    delta,
    eta_a,
    eta_w,
    mu,
    mu0,
    n,
    omega,
    phi,
    phi0,
    s,
    t,
    w,
)
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, standing, stated
from symdyn.statements.kinds import Dynamics, Existence, Identity, Inequality, Solution

root = sp.sqrt(eta_a * eta_w)
mu_of_weights = a * norm(w)
phi_of_weights = inner(w, beta_star) / (norm(w) * norm(beta_star))


def on_cone(slope: sp.Expr, rates: Mapping[Any, sp.Expr]) -> Domain:
    """The two halves of the cone a = ± slope ‖w‖, the slope being √(η_a/η_w)."""
    sides = (
        Cell(
            f"δ = 0, a {'>' if side > 0 else '<'} 0",
            {eta_a: 1, norm2(w): 1, norm2(beta_star): 1} | ({} if eta_w in rates else {eta_w: 1}),
            {**rates, a: side * slope * norm(w)},
            "δ = 0",
        )
        for side in (1, -1)
    )
    return Domain(
        (eta_a, eta_w),
        (w, beta_star),
        tuple(sides),
        let={mu: mu_of_weights, phi: phi_of_weights, s: norm(beta_star)},
        words="δ = 0, w ≠ 0",
        hypotheses=(
            WHITENED,
            COMPUTED,
            stated("App. A.2.2", "δ = 0: a = ±√(η_a/η_w)‖w‖ on the double cone", a),
            stated("App. A.2.1, where φ is defined", "w ≠ 0, for φ divides by ‖w‖", norm2(w)),
            *((standing("App. A.2.1", "η_a η_w = 1", eta_w),) if rates else ()),
        ),
    )


all_rates = on_cone(sp.sqrt(eta_a) / sp.sqrt(eta_w), {})
product_of_one = on_cone(eta_a, {eta_w: 1 / eta_a})


def velocities(factor: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The velocities of μ and φ, `factor` standing for √(η_a η_w)."""
    side = sp.sign(mu)
    return side * 2 * factor * mu * (phi * s - mu), side * factor * s * (1 - phi**2)


PARTS = meaning(
    "ω = wᵀβ_* and n = ‖w‖ by the parts of w along and across β_*; the apex of the cone is a = ω = δ = 0",
    omega,
    n,
    delta,
)


@result(ledger=("kunin2024.balanced-ode",), domain=all_rates)
def balanced_dynamics() -> Dynamics:
    """The dynamics of μ and φ for δ = 0, for all rates."""
    return Dynamics((mu_of_weights, phi_of_weights), velocities(root), under=whitened, name=r"(\mu, \phi)")


@printed(
    "kunin2024.balanced-ode",
    quote=r"$\dot\mu=\mathrm{sgn}(\mu)\,2\mu(\phi\|\beta_*\|-\mu)$, "
    r"$\dot\phi=\mathrm{sgn}(\mu)\|\beta_*\|(1-\phi^2)$",
    domain=product_of_one,
)
def printed_balanced_dynamics() -> Dynamics:
    """As printed, for η_a η_w = 1."""
    return Dynamics((mu_of_weights, phi_of_weights), velocities(1), under=whitened)


@result(
    ledger=("kunin2024.balanced-sign-preservation",),
    domain=all_rates.supposing(PARTS),
    uses=("single_neuron.balanced_dynamics",),
)
def balanced_sign() -> Existence:
    """For δ = 0 the sign of μ, which is that of a, never changes.

    a' = (± kφ - η_w a²) a with |φ| ≤ 1, so that (a²)' ≤ 2 (k - η_w a²) a² bounds a² from above, and then
    a'/a ≥ -k - η_w a² is bounded from below: |a| does not reach zero in finite time.
    """
    _along, _across = sp.symbols("along across", real=True)
    parts = Cell("w in its parts", {s: 1}, {omega: s * _along, n: sp.sqrt(_along**2 + _across**2)})
    apex = Cell("the apex", {eta_a: 1, eta_w: 1, s: 1}, {a: 0, omega: 0, delta: 0}, "a = 0 and w = 0")
    return Existence(
        r"For $\delta = 0$ the sign of $\mu$ is that of $a$, and never changes",
        because=(
            Inequality(mu_of_weights * a, ">"),
            Dynamics(a, (sp.sign(a) * root * s * phi - eta_w * a**2) * a, under=whitened),
            Inequality(omega**2, "<=", n**2 * s**2, on=Domain((s,), cells=(parts,))),
            Identity(
                tuple(plane.velocities.values()),
                (sp.S.Zero, sp.S.Zero),
                on=Domain((eta_a, eta_w, s), cells=(apex,)),
            ),
        ),
    )


z = sp.Symbol("z", real=True)
SPHERICAL = stated(
    "App. A.2.2, c_φ = artanh φ_0",
    "|φ_0| < 1, where artanh is real: φ_0 = (z - 1)/(z + 1), z > 0; φ_0 = ±1 is kept",
    z,
    (phi0 > -1) & (phi0 < 1),
)
inside = {phi0: (z - 1) / (z + 1)}
signs = {t: 1, s: 1, eta_a: 1, mu0: 1, z: 1}
positive_side = Domain(
    (t, s, eta_a, eta_w, mu0),
    cells=(Cell("a > 0, any rates", {**signs, eta_w: 1}, inside, "|φ_0| < 1"),),
    words="δ = 0, a_0 > 0, |φ_0| < 1",
    hypotheses=(
        standing(
            "App. A.2.2", "δ = 0 and, without loss of generality, a_0 > 0, so that μ_0 > 0", mu0 > 0, mu > 0
        ),
        SPHERICAL,
    ),
)
product_side = replace(
    positive_side, cells=(Cell("a > 0, η_a η_w = 1", signs, {**inside, eta_w: 1 / eta_a}, "|φ_0| < 1"),)
)
angle = sp.atanh(phi0) + root * s * t
printed_angle = sp.atanh(phi0) + s * t
REQUIRES = (
    *POSITIVE,
    ("between -1 and 1", (phi0 > -1) & (phi0 < 1), "phi0"),
)


@result(
    ledger=("kunin2024.balanced-phi-solution",),
    domain=positive_side,
    uses=("single_neuron.balanced_dynamics", "single_neuron.balanced_sign"),
    requires=REQUIRES,
)
def balanced_alignment() -> Solution:
    """The cosine for δ = 0 and a_0 > 0: φ = tanh(artanh φ_0 + √(η_a η_w)‖β_*‖ t)."""
    left = 2 / (sp.exp(2 * root * s * t) + 1)
    stable = (1 + phi0 - left) / (1 + phi0 - phi0 * left)
    velocity = {phi: root * s * (1 - phi**2)}
    return Solution({phi: sp.tanh(angle)}, velocity, {phi: phi0}, t, compiles=stable)


@printed(
    "kunin2024.balanced-phi-solution",
    quote=r"$\phi(t)=\tanh(c_\phi+\|\beta_*\|t)$, $c_\phi=\tanh^{-1}(\phi_0)$",
    domain=product_side,
)
def printed_balanced_alignment() -> Solution:
    """As printed, for η_a η_w = 1."""
    return Solution({phi: sp.tanh(printed_angle)}, {phi: root * s * (1 - phi**2)}, {phi: phi0}, t)
