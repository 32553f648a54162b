"""The surfaces on which the weights move: hyperboloids of two sheets, one sheet, and the double cone between.

A point of |p|² - |q|² = α, with α ≥ 0 and p of k coordinates, is a direction of p and a q, as |p| = √(α + |q|²): the
surface is a sphere of dimension k - 1 times the space of q. The sphere is two points for k = 1 and connected otherwise.
For α = 0 all directions meet where q = 0, at the origin, where the gradient (2p, -2q) vanishes: so for k = 1 the two
halves of the cone are one connected set, and it takes α > 0 to part them (kunin2024, App. A.1).

The weights keep δ = η_w a² - η_a‖w‖². For δ > 0 it is a that cannot vanish, and its sign labels two sheets. For δ < 0
it is w: the sheet is a sphere of directions of w times the line of a, connected for d ≥ 2, and two branches for d = 1.
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.symbols import a, alpha, beta_star, delta, eta_a, eta_w, p, q, r, t, turned, w
from symdyn.calculus.gram import inner, norm, norm2, substitute
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, defined, meaning, stated
from symdyn.statements.kinds import Conservation, Definition, Existence, Identity, Inequality

balance = eta_w * a**2 - eta_a * norm2(w)
rates = {eta_a: 1, eta_w: 1}

REGULAR = Cell("α > 0", {alpha: 1, norm2(p): 1})
CONE = Cell("α = 0", {norm2(p): 1, norm2(q): 1}, {alpha: sp.Integer(0)})
surface = Domain(
    (alpha,),
    (p, q),
    (REGULAR, CONE),
    words="α ≥ 0, k ≥ 1",
    hypotheses=(
        stated("App. A.1", "α ≥ 0", alpha >= 0, alpha > 0),
        stated("App. A.1, k coordinates count positive", "k ≥ 1; p ≠ 0 on the surface off the origin", p),
    ),
)
regular = surface.with_cells(REGULAR)


def _origin_too(rng: random.Random, d: int) -> Point:
    return {q: [sp.Integer(0)] * d} if rng.random() < 0.5 else {}


@result(ledger=("kunin2024.hyperboloid-geometry",), domain=surface)
def hyperboloid_geometry() -> Existence:
    """The sheets of |p|² - |q|² = α: two for k = 1 and α > 0, otherwise one; singular only at the origin, for α = 0."""
    on_surface = sp.sqrt(alpha + norm2(q)) / norm(p) * p
    slope = norm2(2 * on_surface) + norm2(2 * q)
    return Existence(
        r"$|p|^2-|q|^2=\alpha$ has two sheets for k = 1 and α > 0, one for k ≥ 2,"
        " and is singular at the origin for α = 0 alone",
        (
            Identity(norm2(on_surface) - norm2(q), alpha),
            Inequality(alpha + norm2(q), ">", on=regular),
            Identity(slope, 4 * (alpha + 2 * norm2(q)), name=r"\|\nabla(|p|^2-|q|^2)\|^2"),
            Inequality(slope, ">", on=regular),
        ),
    )


@printed(
    "kunin2024.hyperboloid-geometry",
    quote=r"$\alpha\ge0$, has two sheets when $k=1$",
    domain=Domain(
        (alpha,),
        (q,),
        (Cell("α > 0", {alpha: 1}), Cell("α = 0", {}, {alpha: sp.Integer(0)})),
        sampler=_origin_too,
        words="k = 1, α ≥ 0",
    ),
    hypothesis="α > 0 (and k ≥ 1): for α = 0 and k = 1 the two halves of the cone meet at the origin",
    under=Domain((alpha,), (q,), (Cell("α > 0", {alpha: 1}),), sampler=_origin_too, words="k = 1, α > 0"),
    hypotheses=(
        stated("App. A.1", "k = 1 and α ≥ 0", alpha),
        meaning("q is any vector, zero too", q),
    ),
)
def printed_two_sheets() -> Inequality:
    """For k = 1 the coordinate x₁ vanishes nowhere on the surface, so that its sign tells two sheets apart."""
    return Inequality(alpha + norm2(q), ">")


@result(ledger=("kunin2024.single-regime-names",), arguments=("delta",))
def regime() -> Definition:
    """The regime of a balance: 1 upstream (δ > 0), 0 balanced (δ = 0), -1 downstream (δ < 0)."""
    return Definition(r"\mathrm{regime}", sp.sign(delta))


UPSTREAM = Cell("δ > 0", {delta: 1, **rates})
upstream = Domain(
    (delta, eta_a, eta_w),
    (w,),
    (UPSTREAM,),
    words="δ > 0",
    hypotheses=(stated("App. A.2.3", "δ > 0", delta > 0),),
)
weights = Domain((a, eta_a, eta_w), (w, r, beta_star), (Cell("positive rates", rates),))


balanced_weights = weights.restrict(let={delta: balance}).supposing(
    meaning("δ is the balance of the weights", *defined(delta))
)


@result(ledger=("kunin2024.hyperboloid-upstream-sheets",), domain=weights)
def upstream_sheets() -> Existence:
    """For δ > 0 the weights move on one of two mirror images, told apart by the sign of a₀."""
    mirrored = {a: -a, w: -1 * w, r: r}
    return Existence(
        "for δ > 0 the surface has two sheets, a > 0 and a < 0, mirror images of each other",
        (
            Identity(eta_w * a**2, delta + eta_a * norm2(w), on=balanced_weights),
            Inequality(delta + eta_a * norm2(w), ">", on=upstream),
            Identity(substitute(balance, mirrored), balance, name=r"\delta(-a,-w)"),
            Identity(
                tuple(substitute(flow.velocities[u], mirrored) for u in (a, w)),
                tuple(-1 * flow.velocities[u] for u in (a, w)),
            ),
        ),
    )


@result(ledger=("kunin2024.upstream-sign-preservation",), domain=weights)
def upstream_sign() -> Existence:
    """For δ > 0 the sign of a is kept: a² is at least δ/η_w at all times."""
    square = (delta + eta_a * norm2(w)) / eta_w
    return Existence(
        "for δ > 0 and $a_0>0$, a(t) > 0 for all t, because a is continuous and cannot be zero",
        (
            Conservation(balance, under=flow, name=r"\delta"),
            Identity(a**2, square, on=balanced_weights),
            Inequality(square, ">", on=upstream),
            Inequality(square, ">=", delta / eta_w, on=upstream),
        ),
    )


def _right_angle(rng: random.Random, d: int) -> Point:
    """w and w turned by a right angle in its first plane; on a line there is no room, and it is zero."""
    v = [sp.Rational(rng.randint(1, 9), rng.choice((1, 2, 3))) for _ in range(2)][:d] + [sp.Integer(0)] * (
        d - 2
    )
    return {w: v, turned: [-v[1], v[0], *v[2:]] if d > 1 else [sp.Integer(0)]}


TWO_DIMENSIONS = "d ≥ 2: for d = 1 the sheet is a hyperbola of two branches, w > 0 and w < 0"
half_turn = ((1 - t**2) * w + 2 * t * turned) / (1 + t**2)
ROOM = Cell(
    "room to turn",
    {norm2(w): 1},
    {inner(turned, w): sp.Integer(0), norm2(turned): norm2(w)},
    "a right angle keeps the norm",
)
rotations = Domain(
    (t,),
    (w, turned),
    (ROOM,),
    dimensions=(2, 3),
    sampler=_right_angle,
    words="d ≥ 2",
    hypotheses=(meaning("w^⊥ is w turned by a right angle, and w ≠ 0 for δ < 0", turned, w),),
)
downstream = Domain(
    (a, delta, eta_a, eta_w),
    (),
    (Cell("δ < 0", {delta: -1, **rates}),),
    words="δ < 0",
    hypotheses=(stated("App. A.2.4", "δ < 0", delta < 0),),
)


@result(
    ledger=("kunin2024.hyperboloid-downstream-sheet",),
    domain=weights,
    hypotheses=(added(TWO_DIMENSIONS, "d"),),
)
def downstream_sheet() -> Existence:
    """For δ < 0 the weights move on a single sheet for d ≥ 2, along which a may change sign.

    w does not vanish; its half-turn in any plane, from w at t = 0 to -w as t → ∞, stays on the sheet.
    """
    at_zero = substitute(-eta_a * inner(w, a * w - beta_star), {a: sp.Integer(0)})
    return Existence(
        "for δ < 0 and d ≥ 2 the surface is a single sheet, and a may change sign",
        (
            Identity(norm2(w), (eta_w * a**2 - delta) / eta_a, on=balanced_weights),
            Inequality((eta_w * a**2 - delta) / eta_a, ">", on=downstream),
            Identity(norm2(half_turn), norm2(w), on=rotations),
            Identity(at_zero, eta_a * inner(w, beta_star), name=r"\dot a|_{a=0}"),
        ),
    )


@printed(
    "kunin2024.hyperboloid-downstream-sheet",
    quote=r"For $\delta<0$ the dynamics live on a hyperboloid composed of a single sheet",
    domain=Domain((t,), (w, turned), sampler=_right_angle, words="any d"),
    hypothesis=TWO_DIMENSIONS,
    under=rotations,
    hypotheses=(meaning("w turned by a right angle, where there is room for it", turned),),
)
def printed_downstream_sheet() -> Identity:
    """A half-turn joins w and -w on the sheet, for every d."""
    return Identity(norm2(half_turn), norm2(w))
