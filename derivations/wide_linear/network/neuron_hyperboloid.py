r"""The surface on which the weights of one neuron move, and when it is connected.

On η_w‖a‖² - η_a‖w‖² = δ the neuron can shrink w for δ ≥ 0, or a for δ ≤ 0, along the surface, until what is left is a
sphere of directions: of a, in c dimensions, for δ > 0, of w, in d dimensions, for δ < 0, and the origin for δ = 0. A
sphere is connected in two dimensions or more, where a half-turn joins opposite points, and two points on a line. So
c > 1 does for δ > 0, but it takes d > 1 for δ < 0 (kunin2024, App. B.1.3, footnote).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import sympy as sp

from derivations.wide_linear.symbols import delta, eta_a, eta_w, into, out, t, turned
from symdyn.calculus.gram import Linear, inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality

rates = {eta_a: 1, eta_w: 1}
directed = {norm2(out): 1, norm2(into): 1, t: 1}
UPSTREAM = Cell("δ > 0", {delta: 1, **rates, **directed})
DOWNSTREAM = Cell("δ < 0", {delta: -1, **rates, **directed})
BALANCED = Cell("δ = 0", {**rates, **directed}, {delta: sp.S.Zero})
TWO_INPUTS = (
    "d > 1 or δ_k ≥ 0: for d = 1 and δ_k < 0 there are two sheets, w_k > 0 and w_k < 0, whatever c is"
)
surface = Domain(
    (delta, eta_a, eta_w, t),
    (out, into),
    words="a, w ≠ 0",
    hypotheses=(
        stated("App. B.1.3, footnote 8", "c > 1"),
        added(TWO_INPUTS, "d", delta),
        meaning("a, w ≠ 0 and t > 0: a path from any such point; t → 0 is its end", out, into, t),
    ),
)


def quarter_turn(rng: random.Random, d: int) -> Point:
    """A vector, and the same turned by a right angle in its first plane; on a line there is no room."""
    v = [sp.Rational(rng.randint(1, 9), rng.choice((1, 2, 3))) for _ in range(2)][:d] + [sp.S.Zero] * (d - 2)
    return {into: v, turned: [-v[1], v[0], *v[2:]] if d > 1 else [sp.S.Zero]}


half_turn = ((1 - t**2) * into + 2 * t * turned) / (1 + t**2)
"""From w at t = 0 to -w as t → ∞, in a plane."""

TURNED = meaning("w and w turned by a right angle", into, turned)
ROOM = Cell(
    "room to turn",
    {norm2(into): 1},
    {inner(turned, into): sp.S.Zero, norm2(turned): norm2(into)},
    "a right angle keeps the norm",
)
in_a_plane = Domain(
    (t,),
    (into, turned),
    (ROOM,),
    dimensions=(2, 3),
    sampler=quarter_turn,
    words="d > 1",
    hypotheses=(TURNED,),
)


@result(ledger=("kunin2024.hyperboloid-connected-footnote",), domain=surface)
def neuron_surface() -> Existence:
    """The surface of one neuron is connected for c, d > 1; for δ ≥ 0 it does without d > 1, for δ ≤ 0 without c > 1.

    Each path shrinks one layer by the factor t and keeps the direction of the other. For δ < 0 and d = 1 the
    sign of w is kept, so that there are two sheets, for every c.
    """
    shrink_w = sp.sqrt((delta + eta_a * t**2 * norm2(into)) / eta_w) / norm(out) * out, t * into
    shrink_a = t * out, sp.sqrt((eta_w * t**2 * norm2(out) - delta) / eta_a) / norm(into) * into

    def balance(weights: Sequence[Linear]) -> sp.Expr:
        return eta_w * norm2(weights[0]) - eta_a * norm2(weights[1])

    def on(cell: Cell) -> Domain:
        return surface.with_cells(cell)

    return Existence(
        r"the surface $\eta_w\|a_k\|^2-\eta_a\|w_k\|^2=\delta_k$ is connected for δ > 0 if c > 1, for δ < 0 if d > 1, "
        r"and for δ = 0 always; otherwise it has two sheets",
        (
            Identity(balance(shrink_w), delta, on=on(UPSTREAM)),
            Identity(balance(shrink_a), delta, on=on(DOWNSTREAM)),
            Identity(balance(tuple(t * weights for weights in shrink_w)), t**2 * delta, on=on(BALANCED)),
            Identity(norm2(half_turn), norm2(into), on=in_a_plane),
            Inequality((eta_w * norm2(out) - delta) / eta_a, ">", on=on(DOWNSTREAM)),
            Inequality((delta + eta_a * norm2(into)) / eta_w, ">", on=on(UPSTREAM)),
        ),
    )


@printed(
    "kunin2024.hyperboloid-connected-footnote",
    quote=r"As long as $c>1$ the surface $\eta_w\|a_k\|^2-\eta_a\|w_k\|^2=\delta_k$ is always connected",
    domain=Domain((t,), (into, turned), sampler=quarter_turn, words="c > 1, δ_k < 0, any d"),
    hypothesis=TWO_INPUTS,
    under=in_a_plane,
    hypotheses=(
        TURNED,
        stated("App. B.1.3, footnote 8", "c > 1"),
    ),
)
def printed_connected_surface() -> Identity:
    """A half-turn joins w and -w on the surface, for every d."""
    return Identity(norm2(half_turn), norm2(into))
