"""Named quantities are trusted by proofs that unfold or differentiate them: what they state is decided first.

The stated derivatives are those of the definition, and each stable form is the definition where its condition holds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.compile.named import NamedFunction, unfold
from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.claim import Zero
from symdyn.proof.undecided import Undecided
from symdyn.statements.domain import Cell, Domain, EmptyDomain, Point, holds

SECONDS = 10.0
ANYWHERE = Cell()


def faults_of(expressions: Iterable[Any]) -> list[str]:
    """What is wrong with the named quantities in expressions, in words; nothing if all are what they state."""
    found: set[Any] = set()

    def collect(expr: Any) -> Any:
        found.update(node.func for node in formula(expr).atoms(NamedFunction))
        return expr

    for x in expressions:
        _visit(x, collect)
    known: set[Any] = set()
    while found - known:
        quantity = (found - known).pop()
        known.add(quantity)
        collect(quantity.quantity.definition)
    return [fault for quantity in sorted(known, key=str) for fault in faults(quantity)]


def _visit(x: Any, collect: Any) -> None:
    if isinstance(x, (list, tuple)):
        for y in x:
            _visit(y, collect)
    elif isinstance(x, sp.Basic):
        collect(x)
    elif hasattr(x, "map"):
        x.map(collect)


@functools.cache
def faults(function: Any) -> tuple[str, ...]:
    """The statements of one named quantity that are false, or not even true at points."""
    quantity = function.quantity
    known = [s for s in (unfold(formula(quantity.domain)),) if s != sp.true]
    out = []
    if quantity.derivative is not None:
        stated = quantity.derivative(*quantity.formal)
        for symbol, rate in zip(quantity.formal, stated, strict=True):
            definition = unfold(quantity.definition)
            gap = unfold(formula(rate)) - sp.diff(definition, symbol)
            # SymPy differentiates the pieces: at a point that is a piece of its own, its value has no derivative.
            apart = [sp.Ne(e.lhs, e.rhs) for e in definition.atoms(sp.Eq)]
            if fault := _fault(gap, quantity.formal, [*known, *apart]):
                out.append(
                    f"the derivative of {quantity.name} in {symbol} is not that of its definition: {fault}"
                )
    earlier: list[Any] = []
    on = unfold(formula(quantity.forms_on))
    for cell in quantity.cells:  # tried in order
        condition = unfold(formula(cell.condition))
        here = [*known, on, condition, *(sp.Not(c) for c in earlier)]
        earlier.append(condition)
        if fault := _fault(unfold(quantity.definition - cell.form), quantity.formal, here):
            out.append(f"a stable form of {quantity.name} is not its definition: {fault}")
    if earlier and (uncovered := _admitted(quantity.formal, [*known, on, *(sp.Not(c) for c in earlier)])):
        out.append(f"{quantity.name} has no stable form at {uncovered}, and compiles to NaN there")
    return tuple(out)


def _true_at(condition: Any, point: Point) -> bool:
    """Whether a condition is true at a point; not where it is not even real."""
    try:
        return holds(condition, point)
    except TypeError:
        return False


def _where(formal: tuple[Any, ...], conditions: list[Any]) -> Domain:
    kept = tuple(functools.partial(_true_at, c) for c in conditions if c != sp.true)
    return Domain(formal, conditions=kept)


def _admitted(formal: tuple[Any, ...], conditions: list[Any]) -> str:
    """A point at which the conditions hold, as text; empty if none is found."""
    try:
        return ", ".join(f"{s} = {x}" for s, x in next(_where(formal, conditions).points(ANYWHERE)).items())
    except (EmptyDomain, StopIteration):
        return ""


def _fault(gap: Any, formal: tuple[Any, ...], conditions: list[Any]) -> str:
    """Why a difference does not vanish where the conditions hold, as far as points tell; empty if it does."""
    zero, domain = Zero(gap), _where(formal, conditions)
    try:
        with cpu_budget(SECONDS):
            refuted = zero.refute(domain, ANYWHERE)
    except (Undecided, BudgetExceeded, NotImplementedError):
        return ""
    except EmptyDomain:  # a line or a point, which no sample hits
        return ""
    return "" if refuted is None else str(refuted.witness)
