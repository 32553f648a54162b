"""The forms in which the named quantities of two modes are computed equal their definitions.

The closed forms of two coupled modes, inverses of sums of exponentials, lose digits where a task is weak, and leave the
range of numbers where a start is large or small. Each quantity has other forms, each for a part of its domain.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from derivations.prior_knowledge.quantities import (
    connection,
    coupling,
    elapsed,
    excess,
    held,
    moment,
    tempered,
)
from derivations.prior_knowledge.symbols import a1, a2, b, c, g1, s, s1, s2, t, tau, u, v
from symdyn.catalogue.result import result
from symdyn.compile.named import NamedFunction, unfold
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Identity

QUANTITIES = (elapsed, connection, held, tempered, coupling, excess, moment)
POSITIVE = {a1: 1, a2: 1, c: 1, s: 1, s1: 1, s2: 1, t: 1, tau: 1, u: 1, v: 1}
START, ALIKE, EMPTY, FREE = (
    Cell("a₁, a₂ > 0, ρ < 1", POSITIVE),
    Cell("a₁, a₂ > 0, ρ = 1", {**POSITIVE}, {c: sp.S.Zero}),
    Cell("a₂ = 0 = b", POSITIVE, {a2: sp.S.Zero, b: sp.S.Zero, c: sp.S.One}),
    Cell("a₁ = 0 = b", POSITIVE, {a1: sp.S.Zero, b: sp.S.Zero, c: sp.S.One}),
)

AT = {
    elapsed: (s, t),
    connection: (a1, u, v),
    held: (s1, a2, s2, c, t),
    tempered: (u, v),
    coupling: (a1, a2, b, s1, s2, t, c),
    excess: (a1, a2, s, v, c),
    moment: (tau, s, g1),
}
"""Arguments; c stands for 1 - ρ, and t for t/τ."""

WHERE = {
    elapsed: ((START,), (START,)),
    connection: ((START, FREE), (START,)),
    held: ((EMPTY,), (START, ALIKE), (ALIKE,)),
    tempered: ((START,),),
    coupling: ((EMPTY, FREE), (START, ALIKE), (ALIKE,)),
    excess: ((START,), (START,)),
    moment: ((START,), (START,)),
}
"""Cells on which each form of a quantity is the quantity, wherever in them it is used."""


RATIONAL = {held: lambda x: x**2, coupling: lambda x: x**2, excess: sp.exp}
"""What makes of roots and logarithms rational functions, one to one: k₁ is positive, and b(t) has the sign of b."""


def forms(function: type[NamedFunction]) -> Iterator[Identity]:
    """Definition = form, for every form of a quantity."""
    rational = RATIONAL.get(function, lambda x: x)
    quantity, at = function.quantity, AT[function]
    for cell, places in zip(quantity.cells, WHERE[function], strict=True):
        definition, form = (unfold(quantity.at(e, at)) for e in (quantity.definition, cell.form))
        for place in places:
            # A cell may fix symbols that the quantity does not have.
            present = {x: e for x, e in place.where.items() if x in at}
            signs = {x: sign for x, sign in place.signs.items() if x in at and x not in present}
            yield Identity(
                rational(definition), rational(form), on=Domain(at, cells=(Cell(place.name, signs, present),))
            )


@result()
def stable_forms() -> Conjunction:
    """The forms in which connections, coupling and the time of its peak are computed equal their definitions."""
    return Conjunction(*tuple(fact for quantity in QUANTITIES for fact in forms(quantity)))
