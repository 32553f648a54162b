"""A lemma in the terms of the kernel, which checks what the search finds for it.

What is printed for Rocq and what the kernel is asked have the same parts in the same order; here each expression of
SymPy is taken over node by node. A condition in pieces, "A or B", gives one part for each of them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.kernel.lemma import Lemma as Claim
from symdyn.kernel.lemma import Number, Part, Power, Product, Relation, Sum, Term, Variable
from symdyn.lemmas.page import RELATIONS, Hypothesis, Lemma, Unprintable

OPPOSITE = {"=": "<>", "<>": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}


def claimed(lemma: Lemma) -> Claim:
    """What a lemma claims, for the kernel."""
    parts = [part for h in lemma.parts for part in _parts(h)]
    goal = Relation(term(lemma.left), lemma.relation, term(lemma.right))
    return Claim(tuple(str(v) for v in lemma.variables), tuple(parts), goal)


def _parts(h: Hypothesis) -> list[Part]:
    claim = Relation(term(h.left), h.relation, term(h.right))
    ways = [sum(way, ()) for way in product(*(alternatives(c) for c in h.given))]
    names = [h.name] if len(ways) == 1 else [f"{h.name}_{k + 1}" for k in range(len(ways))]
    return [Part(n, claim, way, h.kind == "debt") for n, way in zip(names, ways, strict=True)]


def alternatives(condition: Any, holds: bool = True) -> list[tuple[Relation, ...]]:
    """The ways in which a condition holds, or does not hold, each a conjunction of relations."""
    if condition in (sp.true, sp.false):
        return [()] if bool(condition) == holds else []
    if isinstance(condition, sp.Not):
        return alternatives(condition.args[0], not holds)
    if isinstance(condition, (sp.And, sp.Or)):
        found = [alternatives(c, holds) for c in condition.args]
        if isinstance(condition, sp.Or) == holds:
            return [way for ways in found for way in ways]
        return [sum(ways, ()) for ways in product(*found)]
    relation = RELATIONS[type(condition).__name__]
    relation = relation if holds else OPPOSITE[relation]
    return [(Relation(term(condition.lhs), relation, term(condition.rhs)),)]


def term(e: Any) -> Term:
    """A rational expression, node by node."""
    e = formula(e)
    if e.is_Rational:
        return Number(Fraction(int(e.p), int(e.q)))
    if e.is_Symbol:
        return Variable(str(e))
    if e.is_Add:
        return Sum(tuple(term(a) for a in e.args))
    if e.is_Mul:
        return Product(tuple(term(a) for a in e.args))
    if e.is_Pow and e.exp.is_Integer:
        return Power(term(e.base), int(e.exp))
    raise Unprintable(f"{type(e).__name__} has no place in a lemma over the reals")
