"""Signs of transcendental expressions: by bounds of their functions, and by the sign of a derivative.

A differentiable function that is not negative at the end of an interval and increases on it is positive there. The
sign of the derivative is found in the same way, so that a few steps decide tanh x < x, eˣ ≥ 1 + x or log x ≤ x - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import sympy as sp

from symdyn.proof.signs.cases import Case, follows, in_all_cases
from symdyn.proof.signs.defined import Demand, Relation, Undefined, demands
from symdyn.proof.signs.loci import jumps
from symdyn.proof.undecided import Undecided

DEPTH = 3
"""Derivatives that are taken before a sign is given up."""

BENDS = (sp.Abs, sp.Max, sp.Min)
Rewriting = Callable[[Case, sp.Expr], tuple[Case, sp.Expr]]

TRANSCENDENTAL = (sp.exp, sp.log, sp.sin, sp.cos, sp.atan, sp.asin, sp.acos, sp.erf)
HYPERBOLIC = (sp.sinh, sp.cosh, sp.tanh, sp.asinh, sp.acosh, sp.atanh)

BOUNDED = {
    sp.sin: (sp.S.One, ">="),
    sp.cos: (sp.S.One, ">="),
    sp.tanh: (sp.S.One, ">"),
    sp.erf: (sp.S.One, ">"),
    sp.atan: (sp.pi / 2, ">"),
}
"""Functions with |f| at most, or below, a number, for all real arguments."""

PI = ((sp.Rational(223, 71), ">"), (sp.Rational(22, 7), "<"))
"""Archimedes' bounds of π."""


def by_bounds(case: Case, x: sp.Expr) -> tuple[Case, sp.Expr]:
    """The expression with a symbol for each bounded function and for π, and the case that knows the bounds."""
    facts: list[Relation] = []
    rules: dict[sp.Expr, sp.Expr] = {}
    pi = sp.Dummy("π", real=True)
    for node in sorted((n for n in x.atoms(sp.Function) if n.func in BOUNDED), key=sp.default_sort_key):
        bound, relation = BOUNDED[node.func]
        rules[node] = sp.Dummy(node.func.__name__, real=True)
        facts += [(bound - rules[node], relation), (bound + rules[node], relation)]
    if x.has(sp.pi) or any(f.has(sp.pi) for f, _ in facts):
        rules[sp.pi] = pi
        facts += [(pi - bound, relation) for bound, relation in PI]
    inner = x.xreplace(rules)
    return replace(case, facts=(*case.facts, *((f.xreplace(rules), r) for f, r in facts))), inner


def by_exponents(case: Case, x: sp.Expr) -> tuple[Case, sp.Expr]:
    """The expression with 1 + h for each exponential of something positive, and 1/(1 + h) of something negative.

    Each h is positive. What the h have to do with each other is forgotten, so that a sign for all h > 0 is one for
    the exponentials.
    """
    signs: dict[sp.Expr, int] = {}
    rules: dict[sp.Expr, sp.Expr] = {}
    for node in sorted(x.atoms(sp.exp), key=sp.default_sort_key):
        side = (
            1 if stands(case, node.args[0], True, ()) else -1 if stands(case, -node.args[0], True, ()) else 0
        )
        if side:
            h = sp.Dummy("h", real=True)
            signs[h], rules[node] = 1, (1 + h) ** side
    cell = replace(case.cell, signs={**case.cell.signs, **signs})
    return Case(cell, case.facts, case.solved), x.xreplace(rules)


@dataclass(frozen=True)
class Interval:
    """Where a symbol lies; an end that is included is `closed`, and one that is infinite is None."""

    low: sp.Rational | None = None
    high: sp.Rational | None = None
    closed_low: bool = False
    closed_high: bool = False

    def starts(self) -> Iterator[sp.Rational]:
        """Points from which an expression is followed: the ends, and the usual zeros inside."""
        yield from (end for end in (self.low, self.high) if end is not None)
        for number in (0, 1, -1):
            point = sp.Integer(number)
            if (self.low is None or self.low < point) and (self.high is None or point < self.high):
                yield point

    def includes(self, point: sp.Rational) -> bool:
        if point == self.low:
            return self.closed_low
        return self.closed_high if point == self.high else True


def interval_of(case: Case, symbol: sp.Symbol) -> Interval:
    """Where a symbol lies by its sign and by the facts that speak of nothing else."""
    lows: list[tuple[sp.Rational, bool]] = []
    highs: list[tuple[sp.Rational, bool]] = []
    sign = case.cell.signs.get(symbol)
    known = [*case.facts, *([(sign * symbol, ">")] if sign else [])]
    for fact, relation in known:
        slope = sp.diff(fact, symbol)
        if fact.free_symbols != {symbol} or not slope.is_Rational or slope == 0 or relation == "!=":
            continue
        end = -fact.xreplace({symbol: sp.S.Zero}) / slope
        if not end.is_Rational:
            continue
        above = (slope > 0) == (relation in (">", ">="))
        (lows if above else highs).append((end, relation in (">=", "<=")))
    low = max(lows, key=lambda pair: (pair[0], not pair[1]), default=(None, False))
    high = min(highs, key=lambda pair: (pair[0], pair[1]), default=(None, False))
    return Interval(low[0], high[0], low[1], high[1])


def follows_by_slope(case: Case, x: sp.Expr, strict: bool) -> bool:
    """Whether x is positive (not negative, unless strict) on a case, by the sign of a derivative in one symbol."""
    if jumps(x) or x.has(*BENDS, sp.Piecewise):
        return False
    functions = [n for n in x.atoms(sp.Function) if isinstance(n, (*TRANSCENDENTAL, *HYPERBOLIC))]
    for symbol in sorted(set().union(*(n.free_symbols for n in functions)), key=str):
        if case.solved:
            return False
        inside = interval_of(case, symbol)
        for start in dict.fromkeys(inside.starts()):
            if inside.includes(start) and not stands(case, x.xreplace({symbol: start}), strict):
                continue
            if all(_on_side(case, x, symbol, start, side, inside, strict) for side in (1, -1)):
                return True
    return False


_numbers = count()


def _on_side(
    case: Case, x: sp.Expr, symbol: sp.Symbol, start: sp.Rational, side: int, inside: Interval, strict: bool
) -> bool:
    """Whether the sign stands on one side of a point, as far as the interval reaches; an end may belong to it.

    What else is known of the symbol is not used: an interval without holes is needed to follow an expression.
    """
    end, closed = (inside.high, inside.closed_high) if side > 0 else (inside.low, inside.closed_low)
    if end == start:
        return True
    h = sp.Symbol(f"h{next(_numbers)}", real=True)
    facts = [fact for fact in case.facts if symbol not in fact[0].free_symbols]
    if end is not None:
        facts.append((side * (end - start) - h, ">=" if closed else ">"))
    signs = {s: sign for s, sign in case.cell.signs.items() if s != symbol} | {h: 1}
    here = Case(replace(case.cell, signs=signs), tuple(facts))
    return _increases_from(here, x.xreplace({symbol: start + side * h}), h, strict, DEPTH)


def _increases_from(case: Case, x: sp.Expr, h: sp.Symbol, strict: bool, depth: int) -> bool:
    """Whether x is positive for h > 0, or not negative, by its value at h = 0 and its slope."""
    if stands(case, x, strict):
        return True
    if depth == 0 or not _defined(case, x, h):
        return False
    slope = sp.diff(x, h)
    at_zero = x.xreplace({h: sp.S.Zero})
    if not at_zero.is_finite and at_zero.is_number:
        return False
    edge = _without(case, h)
    above = stands(edge, at_zero, strict=True) if strict else False
    if not above and not stands(edge, at_zero, strict=False):
        return False
    return _increases_from(case, slope, h, strict and not above, depth - 1)


def _defined(case: Case, x: sp.Expr, h: sp.Symbol) -> bool:
    """Whether x and its slope are real and finite for h > 0, and x is so, and continuous, down to h = 0."""
    reach = tuple(f for f in case.facts if h in f[0].free_symbols)  # the other end, which is not at h = 0
    edge = _without(case, h)
    closed = replace(edge, facts=(*edge.facts, (h, ">="), *reach))
    try:
        return all(_granted(closed, d) for d in demands(x)) and all(
            _granted(case, d) for d in demands(sp.diff(x, h))
        )
    except Undefined:
        return False


def _without(case: Case, h: sp.Symbol) -> Case:
    signs = {s: sign for s, sign in case.cell.signs.items() if s != h}
    facts = tuple(f for f in case.facts if h not in f[0].free_symbols)
    return Case(replace(case.cell, signs=signs), facts)


def _granted(case: Case, demand: Demand) -> bool:
    return demand.given is sp.true and any(all(granted(case, *r) for r in way) for way in demand.alternatives)


def stands(
    case: Case, x: sp.Expr, strict: bool, ways: tuple[Rewriting, ...] = (by_bounds, by_exponents)
) -> bool:
    """Whether x > 0, or x ≥ 0 unless strict, by the signs that are known, the bounds of functions and exponentials."""

    def attempt(here: Case, y: sp.Expr) -> None:
        if not follows(here, here.read(y), ">" if strict else ">="):
            raise Undecided("it does not follow")

    for rewrite in (None, *ways):
        known, y = (case, x) if rewrite is None else rewrite(case, x)
        if rewrite is not None and y == x:
            continue
        try:
            in_all_cases(known, lambda here, y=y: attempt(here, y))  # type: ignore[misc]
        except Undecided:
            continue
        return True
    return False


def granted(case: Case, x: sp.Expr, relation: str) -> bool:
    """Whether x stands in a relation to zero throughout a case."""
    if relation == "!=":
        return stands(case, x, True) or stands(case, -x, True)
    return stands(case, x if relation in (">", ">=") else -x, relation in (">", "<"))
