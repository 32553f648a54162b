"""Cases of a cell: where the sign of an expression is needed and not known, it is positive, negative or zero.

What holds in each case holds on the cell. In the case of zero one symbol is solved for, exactly, and disappears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from symdyn.calculus.vectors import Dot
from symdyn.proof.signs.numbers import certified_sign
from symdyn.proof.undecided import NeedsSign, Undecided
from symdyn.proof.zero.polynomials import sign_of_product
from symdyn.proof.zero.tower import Tower
from symdyn.statements.domain import Cell

MOST = 32
"""Cases that are told apart before a proof is given up."""


IMPLIED_BY = {
    ">": (">",),
    ">=": (">", ">="),
    "<": ("<",),
    "<=": ("<", "<="),
    "!=": (">", "<", "!="),
}


@dataclass(frozen=True)
class Case:
    """A cell with further facts, and symbols that are replaced because something vanishes."""

    cell: Cell
    facts: tuple[tuple[sp.Expr, str], ...]
    solved: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()

    @cached_property
    def shared(self) -> Tower:
        """One tower for all signs that are asked for: what it learns of the cell, it learns once."""
        return self.tower()

    def tower(self) -> Tower:
        return Tower(signs_of(self.cell), self.facts)

    def read(self, x: sp.Expr) -> sp.Expr:
        """An expression in what is left of the symbols."""
        for symbol, value in self.solved:
            x = x.xreplace({symbol: value})
        return x

    def sign(self, x: sp.Expr) -> int | None:
        """The sign of an expression by those of its summands and factors as written, or else by its normal form."""
        s = self._sign_as_written(x)
        if s is not None and abs(s) == 2:
            return s
        t = self.shared
        try:
            element = t.convert(x)
            found = t.sign_on_cell(element) if element[0] else s
        except NeedsSign:
            if s is None:
                raise
            return s
        return found if found is not None else s

    def _sign_as_written(self, x: sp.Expr) -> int | None:
        if x.is_Rational:
            return 2 if x > 0 else -2 if x < 0 else 1
        if x.is_number:
            found = certified_sign(x)
            return None if not found else 2 * found
        if isinstance(x, sp.exp):
            return 2
        if x.is_Pow and x.exp.is_Rational:
            return self._sign_of_power(x.base, x.exp)
        if not (x.is_Add or x.is_Mul):
            known = signs_of(self.cell)(x) if x.is_Symbol else None
            return known if known is None or isinstance(known, int) else None
        if x.is_Add and (squares := _sign_of_squares(x)) is not None:
            return squares
        signs: list[int] = []
        for arg in _terms(x) if x.is_Add else x.args:
            s = self.sign(arg)
            if s is None or (x.is_Add and signs and (s > 0) != (signs[0] > 0)):
                return None
            signs.append(s)
        return max(signs, key=abs) if x.is_Add else sign_of_product(signs)

    def _sign_of_power(self, base: sp.Expr, exponent: sp.Rational) -> int | None:
        """Of a base that is in the domain of the power."""
        if not exponent.is_Integer:
            return 2 if exponent < 0 or self.sign(base) == 2 else 1
        s = self.sign(base)
        if exponent % 2:
            return s
        return 1 if s is None else abs(s)

    def vanishes(self, x: sp.Expr) -> bool:
        """Whether an expression is known to vanish throughout."""
        return not self.tower().convert(x)[0]

    def vanishes_nowhere(self, x: sp.Expr) -> bool:
        """Whether an expression is known not to vanish, whatever its sign."""
        return self.shared.facts.vanishes_nowhere(self.shared.convert(x)[0])

    def is_known_not_to_vanish(self, x: sp.Expr) -> bool:
        return self.shared.facts.is_known_not_to_vanish(self.shared.convert(x)[0])

    def split(self, need: NeedsSign) -> Iterator[Case]:
        """The cases of the sign that is needed: both weak ones, or the strict ones and zero."""
        expr, strict = need.split
        relations = (">", "<") if strict else (">=", "<=")
        known = self._known(expr)
        for relation, sign in zip(relations, (1, -1), strict=True):
            if known is None or known * sign > 0:
                yield Case(self.cell, (*self.facts, (expr, relation)), self.solved)
        if strict and (known is None or abs(known) == 1):
            yield from self._vanishing(expr)

    def _known(self, expr: sp.Expr) -> int | None:
        t = self.tower()
        try:
            return t.sign_on_cell(t.convert(expr))
        except Undecided:
            return None

    def _vanishing(self, expr: sp.Expr) -> Iterator[Case]:
        """The cases in which an expression is zero: those of its factors, each solved for a symbol."""
        numerator = sp.numer(sp.together(expr))
        for factor, _ in sp.factor_list(numerator)[1]:
            if factor.is_number:
                continue
            t = self.tower()
            element = t.convert(factor)
            s = t.sign_on_cell(element)
            if (s is not None and abs(s) == 2) or t.facts.vanishes_nowhere(element[0]):
                continue
            yield self._solved(factor, s)

    def _solved(self, factor: sp.Expr, sign: int | None) -> Case:
        parts = sp.Add.make_args(sp.expand(factor)) if sign is not None else ()
        for part in parts:  # terms of one sign vanish with their sum
            bases = [b.base if b.is_Pow else b for b in sp.Mul.make_args(part) if not b.is_number]
            alone = len(bases) == 1 and bases[0].is_Symbol
            if alone and all(self._has_sign(other, sign) for other in parts):
                return self._with(bases[0], sp.S.Zero)
        for symbol in sorted(factor.free_symbols, key=str):
            if not factor.is_polynomial(symbol) or sp.degree(factor, symbol) != 1:
                continue
            expanded = sp.expand(factor)
            slope, rest = expanded.coeff(symbol, 1), expanded.coeff(symbol, 0)
            t = self.tower()
            if slope.is_Rational or t.facts.vanishes_nowhere(t.convert(slope)[0]):
                return self._with(symbol, -rest / slope)
        raise Undecided(f"the case {factor} = 0 is not solved for a symbol")

    def _has_sign(self, x: sp.Expr, sign: int | None) -> bool:
        t = self.tower()
        s = t.sign(t.convert(x))
        return s is not None and sign is not None and (s > 0) == (sign > 0)

    def _with(self, symbol: sp.Symbol, value: sp.Expr) -> Case:
        rule = {symbol: value}
        facts = [(x.xreplace(rule), relation) for x, relation in self.facts]
        known = signs_of(self.cell)(symbol)
        if known is not None:
            facts.append((value, {2: ">", 1: ">=", -1: "<=", -2: "<"}[known]))
        return Case(self.cell, tuple(facts), (*self.solved, (symbol, value)))


def follows(case: Case, x: sp.Expr, relation: str) -> bool:
    """Whether x stands in a relation to zero throughout a case, by the signs that are known there."""
    if any(fact == x and known in IMPLIED_BY[relation] for fact, known in case.facts):
        return True
    if relation == "!=" and case.is_known_not_to_vanish(x):
        return True
    s = case.sign(x)
    if relation == "!=":
        return (s is not None and abs(s) == 2) or case.vanishes_nowhere(x)
    wanted = 1 if relation in (">", ">=") else -1
    if s is not None and s * wanted > 0:
        return abs(s) == 2 or relation in (">=", "<=")
    return relation in (">=", "<=") and case.vanishes(x)


def _sign_of_squares(x: sp.Expr) -> int | None:
    """The sign of a sum of squared lengths of combinations of vectors, and of a number of the same sign.

    Σ c_ij v_i·v_j with rational c is not negative where the matrix c is positive semidefinite.
    """
    if not all(isinstance(symbol, Dot) for symbol in x.free_symbols) or not x.free_symbols:
        return None
    parts = x.as_coefficients_dict()
    if any(not (part.is_Symbol or part == 1) or not c.is_Rational for part, c in parts.items()):
        return None
    number = parts.pop(sp.S.One, sp.S.Zero)
    vectors = sorted({v for dot in parts for v in (dot.left, dot.right)}, key=str)
    form = sp.zeros(len(vectors))
    for dot, c in parts.items():
        i, j = vectors.index(dot.left), vectors.index(dot.right)
        form[i, j] += c / 2
        form[j, i] += c / 2
    for sign in (1, -1):
        if sign * number >= 0 and (sign * form).is_positive_semidefinite:
            return sign * (2 if number else 1)
    return None


def _terms(x: sp.Expr) -> list[sp.Expr]:
    """The summands, those that are numbers together."""
    numbers = [arg for arg in x.args if arg.is_number]
    if len(numbers) < 2:
        return list(x.args)
    return [sp.Add(*numbers, evaluate=False), *(arg for arg in x.args if not arg.is_number)]


def in_all_cases(case: Case, attempt: Callable[[Case], None]) -> int:
    """Make an attempt, and where it needs a sign make it in each case of it. Returns the number of cases."""
    pending: list[Case] = [case]
    done = 0
    while pending:
        here = pending.pop()
        try:
            attempt(here)
            done += 1
        except NeedsSign as need:
            if need.split is None or done + len(pending) > MOST:
                raise
            pending.extend(here.split(need))
    return done


def signs_of(cell: Cell) -> Any:
    """The signs of a cell as a tower takes them: ±2 for those that are stated, 1 for squares of lengths."""

    def sign_of(symbol: Any) -> int | None:
        s = cell.sign(symbol)
        strict = symbol in cell.signs
        return None if s is None else (2 * s if strict else s)

    return sign_of
