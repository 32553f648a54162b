"""The forms in which the named quantities are computed equal their definitions, and their derivatives are right.

Definitions such as κ + δ lose digits where numbers cancel. Each quantity therefore has other forms, each on
the part of its domain where it is accurate; compiled functions use these, and differentiate by the declared
derivatives. Both are proved here, edges included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy as sp

from derivations.single_neuron.coordinates.modes import lambda_minus, lambda_plus, rate
from derivations.single_neuron.quantities import (
    kappa,
    kappa_minus,
    kappa_plus,
    potential_slope,
    radial_potential,
)
from derivations.single_neuron.symbols import delta, x
from symdyn.catalogue.result import result
from symdyn.compile.named import Quantity, unfold
from symdyn.statements.domain import Cell, Domain, holds
from symdyn.statements.kinds import Conjunction, Identity

QUANTITIES = (
    kappa,
    kappa_plus,
    kappa_minus,
    radial_potential,
    potential_slope,
    rate,
    lambda_plus,
    lambda_minus,
)

INTERIOR = (
    Cell("δ > 0", {delta: 1, x: 1}),
    Cell("δ = 0", {x: 1}, {delta: 0}),
    Cell("δ < 0", {delta: -1, x: 1}),
)
EDGE = (
    Cell("δ > 0, x = 0", {delta: 1}, {x: 0}),
    Cell("δ = 0, x = 0", {}, {delta: 0, x: 0}),
    Cell("δ < 0, x = 0", {delta: -1}, {x: 0}),
)


def on(condition: Any, cells: Iterable[Cell]) -> Domain:
    """The cells that meet a condition, and in them the points that satisfy it."""
    everywhere = Domain((delta, x))
    met = [cell for cell in cells if any(holds(condition, p) for p in everywhere.points(cell))]
    return Domain((delta, x), cells=tuple(met), conditions=(condition,))


def forms(quantity: Quantity) -> Iterator[Identity]:
    """Definition = form, for every form of a quantity, where the form is used."""
    for cell in quantity.cells:
        condition = unfold(quantity.at(sp.And(quantity.domain, cell.condition), (delta, x)))
        form, definition = (unfold(quantity.at(e, (delta, x))) for e in (cell.form, quantity.definition))
        yield Identity(definition, form, on=on(condition, INTERIOR + EDGE))


def derivatives(quantity: Quantity) -> Iterator[Identity]:
    """Derivatives of the definition = declared derivatives, for x > 0."""
    if quantity.derivative is not None:
        definition = unfold(quantity.at(quantity.definition, (delta, x)))
        for variable, declared in zip((delta, x), quantity.derivative(delta, x), strict=True):
            yield Identity(
                sp.diff(definition, variable), unfold(declared), on=Domain((delta, x), cells=INTERIOR)
            )


@result()
def stable_forms() -> Conjunction:
    """The stable forms of κ, κ ± δ, Φ_δ, its slope, and of R and λ_± equal their definitions."""
    facts = [fact for q in QUANTITIES for part in (forms, derivatives) for fact in part(q.quantity)]
    return Conjunction(*tuple(facts))
