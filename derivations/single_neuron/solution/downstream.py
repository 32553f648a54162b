r"""At most one zero: what can happen to a and ω = wᵀβ_* when δ < 0 (kunin2024, App. A.2.4, Lemma 4).

The product of a and ω obeys

    (aω)' = (δ - 2η_w a²) aω + η_a ω² + η_w‖β_*‖² a²,

and the last two terms are positive away from a = ω = 0, where nothing moves. So aω increases through each of its
zeros; between two of them it would have to decrease through one. Hence at most one of a and ω vanishes, and only
once; the quadrants {a, ω > 0} and {a, ω < 0} are entered and never left. This holds for every balance and all rates.

Where a does not vanish, ν and with it the solution of the upstream case remain; where it does, ω does not, and
υ = a/ω takes the place of ν.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.coordinates.planar import (
    WHITENED,
    any_rates,
    modes,
    plane,
    product_one,
    starts,
    unit_rates,
    weights,
    whitened,
)
from derivations.single_neuron.solution.riccati import in_plane, printed_nu_solution
from derivations.single_neuron.solution.unified import E2_closed, P_closed
from derivations.single_neuron.solution.upstream import (
    REAL,
    inverse_square,
    printed_square_bracket,
    real_starts,
)
from derivations.single_neuron.symbols import (
    a,
    a0,
    beta_star,
    delta,
    eta_a,
    eta_w,
    n,
    nu0,
    omega,
    omega0,
    s,
    t,
    upsilon,
    w,
)
from symdyn.calculus.gram import inner, norm
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.inference import InvariantRegion
from symdyn.statements.kinds import Conjunction, Dynamics, Existence, Identity, Inequality

plus, _, R = modes
_rates = {eta_a: 1, eta_w: 1, s: 1}
_plane = Domain(
    (a, omega, delta, s, eta_a, eta_w), cells=(Cell("the plane", _rates),), hypotheses=(WHITENED,)
)
positive_rates = replace(
    _plane,
    words="positive rates and β_* ≠ 0",
    hypotheses=(
        stated("App. A.2.4, O⁺ and O⁻", "a, ω > 0 or a, ω < 0: the orthants and their boundaries", a, omega),
    ),
)
at_rest = _plane.with_cells(Cell("a = ω = 0", _rates, {a: 0, omega: 0}, "the saddle")).supposing(
    meaning("a = ω = 0 is the saddle, at which the velocity vanishes", sp.Eq(a, 0), sp.Eq(omega, 0))
)
off_the_origin = _plane.with_cells(
    Cell("ω > 0", {**_rates, omega: 1}),
    Cell("ω < 0", {**_rates, omega: -1}),
    Cell("ω = 0, a > 0", {**_rates, a: 1}, {omega: 0}),
    Cell("ω = 0, a < 0", {**_rates, a: -1}, {omega: 0}),
).supposing(stated("App. A.2.4, Lemma 4", "a_0 ≠ 0 or w_0ᵀβ_* ≠ 0: not at the saddle", a, omega))
push = eta_a * omega**2 + eta_w * s**2 * a**2


def no_motion_at_the_origin() -> Identity:
    """At a = ω = 0 nothing moves; a trajectory that starts elsewhere does not arrive in finite time."""
    return Identity(tuple(plane.velocities.values()), (sp.S.Zero, sp.S.Zero), on=at_rest)


@result(ledger=("kunin2024.lemma4-single-zero",), domain=_plane, uses=("single_neuron.planar_dynamics",))
def single_zero() -> Existence:
    """The product a wᵀβ_* vanishes at most once, for every balance and all rates."""
    return Existence(
        r"If $a_0 \ne 0$ or $w_0^\top\beta_* \ne 0$, then $a\, w^\top\beta_* = 0$ has at most one solution $t \ge 0$",
        because=(
            no_motion_at_the_origin(),
            Dynamics(a * omega, (delta - 2 * eta_w * a**2) * a * omega + push, under=plane),
            Inequality(push, ">", on=off_the_origin),
        ),
    )


@result(
    ledger=("kunin2024.lemma4-invariant-orthants",), domain=_plane, uses=("single_neuron.planar_dynamics",)
)
def invariant_orthants() -> Conjunction:
    """The orthants a, ω > 0 and a, ω < 0 are never left, and on their boundaries only the origin rests."""
    return Conjunction(
        no_motion_at_the_origin(),
        InvariantRegion((a, omega), under=plane, on=positive_rates),
        InvariantRegion((-a, -omega), under=plane, on=positive_rates),
    )


@result(
    ledger=("kunin2024.downstream-omega-bernoulli",), domain=in_plane, uses=("single_neuron.planar_dynamics",)
)
def projection_dynamics() -> Dynamics:
    """The Bernoulli equation of ω = wᵀβ_* driven by υ, for all rates."""
    return Dynamics(omega, eta_w * omega * (upsilon * s**2 - upsilon**2 * omega**2), under=plane)


_ratio = {upsilon: a / inner(w, beta_star), n: norm(a * w)}


@printed(
    "kunin2024.downstream-omega-bernoulli",
    quote=r"$\dot\omega=\omega(\upsilon\|\beta\|^2-\upsilon^2\omega^2)$",
    domain=weights(unit_rates, also=_ratio, conditions=(delta < 0,)),
    severity="typo",
    hypotheses=(
        stated("App. A.2.4", "δ < 0", delta < 0),
        stated("App. A.2.4, as the example of η_a η_w = 1", "η_a = η_w = 1", eta_a, eta_w),
        meaning("n = ‖β‖", *defined(n)),
    ),
)
def printed_projection_dynamics() -> Dynamics:
    """As printed, with ‖β‖ in the place of ‖β_*‖, which is wrong for η_a = η_w = 1 already."""
    velocity = omega * (upsilon * n**2 - upsilon**2 * omega**2)
    return Dynamics(inner(w, beta_star), velocity, under=whitened)


def denominator(ratio: sp.Expr) -> sp.Expr:
    """The denominator of ν(t), divided by cosh Rt."""
    return 2 * R + (2 * eta_a * ratio + delta) * sp.tanh(R * t)


_margin, _later = sp.symbols("margin later", real=True)
no_crossing = Domain(
    (delta, s, eta_a, eta_w),
    cells=(
        Cell(
            "a does not vanish",
            {**_rates, _margin: 1, _later: 1},
            {nu0: (_margin - 2 * R - delta) / (2 * eta_a), t: sp.log(1 + _later) / (2 * R)},
            "2η_a ν_0 + δ + 2R > 0, and e^{2Rt} > 1",
        ),
    ),
    hypotheses=(
        stated("App. A.2.4", "a does not cross zero: 2η_a ν_0 + δ + 2R > 0", _margin),
        meaning("t > 0 by e^{2Rt} - 1 > 0", _later),
    ),
)


@result(
    ledger=("kunin2024.downstream-no-crossing-solution",),
    domain=real_starts(any_rates, -1),
    uses=("single_neuron.nu_solution", "single_neuron.solution_for_every_balance"),
)
def solution_without_crossing() -> Existence:
    """Where a does not vanish ν is finite for all times, and the solution of δ > 0 is that of δ < 0 too.

    The closed form of 1/a² is the same; in that of a the factor √δ(…)^{-1/2} has to be read as (…/δ)^{-1/2}, its two
    parts being imaginary.
    """
    return Existence(
        r"If $\delta < 0$ and $a$ does not cross zero, then $\nu$ is finite for all $t$, and $\nu(t)$ and $1/a(t)^2$ "
        r"are those of $\delta > 0$",
        because=(
            Inequality(denominator(nu0), ">", on=no_crossing),
            Identity(E2_closed / P_closed**2, inverse_square()),
        ),
    )


@printed(
    "kunin2024.downstream-no-crossing-solution",
    quote="$\\nu$ is well defined for all $t$ and the solution of the upstream section still holds",
    domain=starts(
        product_one, also={nu0: omega0 / a0}, conditions=(delta < 0, a0 > 0, a0 * plus + eta_a * omega0 > 0)
    ),
    hypothesis=f"{REAL}, and √δ(…)^{{-1/2}} in a(t) is read as (…/δ)^{{-1/2}}",
    under=real_starts(unit_rates, -1).restrict(
        printed_square_bracket(s, a0, omega0) / delta > 0,
        hypotheses=(meaning("the bracket has the sign of δ: by the solution it is 4e^{δt}‖β_*‖²δ/a²"),),
    ),
    hypotheses=(
        stated("App. A.2.4", "δ < 0", delta < 0),
        stated("App. A.2.4, a does not cross zero", "a stays positive", a0, omega0),
    ),
)
def printed_solution_without_crossing() -> Existence:
    """The printed ν(t) and a(t) of δ > 0, for δ < 0."""
    printed_a = 2 * sp.exp(t * delta / 2) * s / sp.sqrt(printed_square_bracket(s, a0, omega0) / delta)
    return Existence(
        r"The solution of $\delta > 0$ still holds",
        because=(printed_nu_solution.statement, Identity(printed_a, P_closed / sp.sqrt(E2_closed))),
    )
