"""The symbols of a statement: what they mean, and on which coordinates of a counterexample it depends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symdyn.calculus.vectors import Dot
from symdyn.compile.words import ingredients
from symdyn.proof.claim import atoms, opened
from symdyn.proof.verdict import Witness
from symdyn.statements.kinds import Statement
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity
from symdyn.statements.notation import GLOSSARIES, Term


def occurring(statement: Statement, witness: Witness) -> Witness:
    """The witness with the coordinates alone that occur in the statement, its quantities opened or not.

    A domain draws more than it needs: the weights of which δ is made, where the formula has δ. Functions stay, and
    so does the whole point where a fact is one of matrices, which stand in the rules as well.
    """
    if not all(fact.expressions for fact in _leaves(statement)):
        return witness
    names = {symbol.name for symbol in symbols(statement)}
    point = {n: v for n, v in witness.point.items() if n in names or v.startswith("Lambda(")}
    return replace(witness, point=point or witness.point)


def meanings(statement: Statement, topic: str) -> tuple[Term, ...]:
    """What the glossary of a topic says of the symbols in a statement and in the facts it follows from."""
    found = symbols(statement)
    return tuple(term for term in GLOSSARIES.get(topic, ()) if term.symbol in found)


def symbols(statement: Statement) -> frozenset[Any]:
    """The scalars, vectors and letters of matrices in a statement and its facts."""
    return frozenset().union(*(_symbols_of(x) for fact in _leaves(statement) for x in _formulas(fact)))


def _leaves(statement: Statement) -> Iterator[Statement]:
    facts = statement.facts()
    for fact in facts:
        yield from _leaves(fact)
    if not facts:
        yield statement


def _formulas(fact: Statement) -> tuple[Any, ...]:
    match fact:
        case MatrixIdentity(lhs, rhs):
            return lhs, rhs
        case MatrixDynamics(quantity, velocity):
            return quantity, velocity
        case MatrixConservation(quantity):
            return (quantity,)
    return (*fact.expressions, *map(opened, fact.expressions))


def _symbols_of(x: Any) -> set[Any]:
    letters = ingredients(x)
    if letters is not None:
        return letters
    found = atoms(x)
    ends = {end for dot in found if isinstance(dot, Dot) for end in (dot.left, dot.right)}
    return {symbol for symbol in found | ends if hasattr(symbol, "name")}
