"""Lemmas and polynomials from text, and what they say at a point, computed without the kernel."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from symdyn.kernel import Lemma, Number, Part, Power, Product, Relation, Sum, Term, Variable, ring
from symdyn.kernel.polynomials import Polynomial

RELATIONS = ("<=", ">=", "<>", "=", "<", ">")


def relation(text: str) -> Relation:
    """left relation right, from text."""
    sign = next(r for r in RELATIONS if r in text)
    left, right = text.split(sign)
    return Relation(term(left), sign, term(right))


def term(text: str) -> Term:
    with sp.evaluate(False):
        return _term(sp.parse_expr(text, evaluate=False))


def _term(e: Any) -> Term:
    if e.is_Rational:
        return Number(Fraction(int(e.p), int(e.q)))
    if e.is_Symbol:
        return Variable(str(e))
    if e.is_Add:
        return Sum(tuple(_term(a) for a in e.args))
    if e.is_Mul:
        return Product(tuple(_term(a) for a in e.args))
    return Power(_term(e.base), int(e.exp))


def part(name: str, text: str) -> Part:
    """A hypothesis "H: x > 0 -> y = 1", or a debt if its name begins with D."""
    given, _, claim = text.rpartition("->")
    conditions = tuple(relation(c) for c in given.split(" and ")) if given else ()
    return Part(name, relation(claim), conditions, owed=name.startswith("D"))


def lemma(variables: str, parts: dict[str, str], goal: str) -> Lemma:
    made = tuple(part(name, text) for name, text in parts.items())
    return Lemma(tuple(variables.split()), made, relation(goal))


def gens(names: str) -> dict[str, Polynomial]:
    """The variables of a ring by their names."""
    made = tuple(names.split())
    return dict(zip(made, ring(made).gens(), strict=True))


def value(t: Term, at: dict[str, Any]) -> Any:
    """The number that a term is at a point."""
    if isinstance(t, Number):
        return t.value
    if isinstance(t, Variable):
        return at[t.name]
    if isinstance(t, Power):
        return value(t.base, at) ** t.exponent
    out: Any = Fraction(isinstance(t, Product))
    for x in t.factors if isinstance(t, Product) else t.terms:
        out = out * value(x, at) if isinstance(t, Product) else out + value(x, at)
    return out


def true_at(r: Relation, at: dict[str, Any]) -> bool:
    x, y = value(r.left, at), value(r.right, at)
    return {"=": x == y, "<>": x != y, ">": x > y, ">=": x >= y, "<": x < y, "<=": x <= y}[r.relation]


def false_at(made: Lemma, at: dict[str, Any]) -> bool:
    """Whether a point satisfies all hypotheses, and breaks a debt or the goal."""
    for p in made.parts:
        if not all(true_at(c, at) for c in p.given):
            continue
        try:
            holds = true_at(p.claim, at)
        except ZeroDivisionError:
            holds = p.owed
        if p.owed and not holds:
            return True
        if not holds:
            return False
    try:
        return not true_at(made.goal, at)
    except ZeroDivisionError:
        return True
