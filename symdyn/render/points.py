"""Counterexamples as people read them: of a point, the coordinates on which the refuted formula depends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symdyn.calculus.vectors import Dot
from symdyn.proof.claim import atoms, opened
from symdyn.proof.verdict import Witness
from symdyn.statement import Statement


def occurring(statement: Statement, witness: Witness) -> Witness:
    """The witness with the coordinates alone that occur in the statement, its quantities opened or not.

    A domain draws more than it needs: the weights of which δ is made, where the formula has δ. Functions stay, and
    so does the whole point where a fact is one of matrices, whose letters are not listed.
    """
    names = symbols(statement)
    if not names:
        return witness
    point = {n: v for n, v in witness.point.items() if n in names or v.startswith("Lambda(")}
    return replace(witness, point=point or witness.point)


def symbols(statement: Statement) -> frozenset[str]:
    """The names in a statement; empty where they are not known for all of its facts."""
    facts = statement.facts()
    if facts:
        found = [symbols(fact) for fact in facts]
        return frozenset().union(*found) if all(found) else frozenset()
    return frozenset(name for x in statement.expressions for y in (x, opened(x)) for name in _names(y))


def _names(x: Any) -> set[str]:
    found = atoms(x)
    ends = {end for dot in found if isinstance(dot, Dot) for end in (dot.left, dot.right)}
    return {a.name for a in found | ends if hasattr(a, "name")}
