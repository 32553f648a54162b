"""The primitive claims that statements are made of, and how each is decided on a cell of a domain.

* `Zero(x)`: a scalar, vector or operator vanishes identically. Proved by a normal form, refuted by a point.
* `Sign(x, relation)`: a scalar is positive (or non-negative, …) everywhere.
* `LimitIs(x, variable, to, value)`: the limit exists and equals the value.
* `Order(x, variable, to, scale)`: x = O(scale), that is x/scale has a finite limit; sharp if it is not zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Combination, GramOperator, evaluate
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Linear
from symdyn.compile.named import NamedFunction, unfold
from symdyn.domain import Cell, Domain, Point
from symdyn.proof.exponentials import limit_at_infinity
from symdyn.proof.numbers import certified_sign, enclosure, residual_size
from symdyn.proof.tower import Tower, Undecided
from symdyn.proof.verdict import Witness


@dataclass(frozen=True)
class Finding:
    """What one check found on one cell: an outcome, a grade, a sentence, and a witness if refuted."""

    outcome: str
    grade: str
    evidence: str
    witness: Witness | None = None


def plain(expr: sp.Expr) -> sp.Expr:
    """The expression with named quantities replaced by their definitions."""
    return unfold(expr) if expr.has(NamedFunction) else expr


def components(x: Any) -> list[sp.Expr]:
    """The scalar coefficients whose vanishing makes x vanish, in every dimension."""
    if isinstance(x, (list, tuple)):
        return [c for y in x for c in components(y)]
    if isinstance(x, Linear):
        return [plain(c) for c in x.terms.values()]
    if isinstance(x, GramOperator):
        return [plain(c) for c in (x.identity, *x.outer.values())]
    if isinstance(x, Isotropic):
        return [plain(x.f), plain(x.h)]
    if hasattr(x, "components"):
        return list(x.components())
    return [plain(formula(x))]


def atoms(x: Any) -> set[Any]:
    """The symbols, inner products and vectors that occur in a scalar, vector, operator or tuple of them."""
    if isinstance(x, (tuple, list)):
        return set().union(*(atoms(y) for y in x)) if x else set()
    out: set[Any] = set().union(*(c.free_symbols for c in components(x)))
    for attribute in ("terms", "outer"):
        keys = getattr(x, attribute, {})
        for key in keys if isinstance(keys, dict) else ():
            out |= set(key) if isinstance(key, tuple) else {key}
    vector = getattr(x, "vector", None)
    return out | ({vector} if vector is not None else set())


def opened(x: Any) -> Any:
    """x with the named quantities in its coefficients replaced by their definitions."""
    if isinstance(x, (list, tuple)):
        return tuple(map(opened, x))
    if isinstance(x, (Combination, GramOperator, Isotropic)):
        return x.map(plain)
    return x if isinstance(x, Linear) or hasattr(x, "at") else plain(formula(x))


def entries(x: Any, point: Point) -> list[sp.Expr]:
    """All numbers that x is at a point, flattened."""
    if isinstance(x, (list, tuple)):
        return [c for y in x for c in entries(y, point)]
    if isinstance(x, Isotropic):
        return [evaluate(plain(c), point) for c in (x.f, x.h)]
    if hasattr(x, "at"):
        return list(x.at(point))
    value = evaluate(opened(x), point)
    flat: list[sp.Expr] = []
    for row in value if isinstance(value, list) else [value]:
        flat.extend(row if isinstance(row, list) else [row])
    return flat


def describe(point: Point) -> dict[str, str]:
    return {
        str(name): "(" + ", ".join(map(str, value)) + ")" if isinstance(value, (list, tuple)) else str(value)
        for name, value in point.items()
    }


def _signs(cell: Cell) -> Any:
    def sign_of(symbol: Any) -> int | None:
        s = cell.sign(symbol)
        strict = symbol in cell.signs
        return None if s is None else (2 * s if strict else s)

    return sign_of


def tower(cell: Cell) -> Tower:
    """A tower of roots with the signs of a cell."""
    return Tower(_signs(cell))


@dataclass(frozen=True)
class Zero:
    """x = 0 identically."""

    x: Any
    label: str = "residual"

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        """A point where x is certainly not zero, or None."""
        x = opened(self.x)
        for point in domain.points(cell):
            for number in entries(x, point):
                if number is sp.nan or number.has(sp.zoo, sp.nan, sp.oo):
                    continue
                if certified_sign(number) not in (0, None):
                    witness = Witness(describe(point), f"{self.label} = {enclosure(number)}", cell.name)
                    return Finding("REFUTED", "proved", f"{self.label} ≠ 0", witness)
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        normal = [tower(cell).convert(c) for c in components(domain.unfold(self.x, cell))]
        left = sum(1 for num, _ in normal if num)
        if left:
            raise Undecided(f"{left} of {len(normal)} normal forms of the {self.label} are not zero")
        found = (
            f"{len(normal)} normal form(s) vanish" if normal else "no term is left after collecting vectors"
        )
        return Finding("PROVED", "proved", f"{self.label}: {found}")

    def test(self, domain: Domain, cell: Cell) -> Finding:
        """Residual below 1e-40 relative to its terms at 50 digits on points of the cell."""
        x, count, worst = opened(self.x), 0, sp.Float(0)
        for point in domain.points(cell):
            for number in entries(x, point):
                count += 1
                worst = max(worst, residual_size(number))
        if count and worst < sp.Float("1e-40"):
            return Finding("AGREES", "tested", f"{self.label}: below 1e-40 at {count} points")
        return Finding("UNKNOWN", "tested", f"{self.label}: {sp.N(worst, 3)} at {count} points")


class ByProof:
    """What a claim must be besides: proved, as points that agree prove nothing. To stand before the kind of claim."""

    label: str

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        try:
            return super().refute(domain, cell)  # type: ignore[misc, no-any-return]
        except ValueError as foreign:  # a symbol, or a shape, of which the domain knows nothing
            raise Undecided(f"the {self.label}: {foreign}") from foreign

    def test(self, domain: Domain, cell: Cell) -> Finding:
        raise Undecided(f"the {self.label} is not proved to vanish")


@dataclass(frozen=True)
class Compiles(ByProof, Zero):
    """The form that compiles, minus the value that is proved, vanishes."""

    label: str = "form that compiles minus the value"

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        found = super().prove(domain, cell)
        if (witness := self._denied(domain, cell)) is not None:
            raise Undecided(f"the proof is denied at a point, {witness}")
        return found

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        found = super().refute(domain, cell)
        if found is None and (witness := self._denied(domain, cell)) is not None:
            return Finding("REFUTED", "proved", f"{self.label} ≠ 0", witness)
        return found

    def _denied(self, domain: Domain, cell: Cell) -> Witness | None:
        """A point at which scalars vanish or coincide, where forms may jump, and the two are not equal."""
        x = opened(self.x)
        for point in domain.coincidences(cell):
            for number in entries(x, point):
                if number.is_finite and certified_sign(number) not in (0, None):
                    return Witness(describe(point), f"{self.label} = {enclosure(number)}", cell.name)
        return None


RELATIONS = {">": (1, True), ">=": (1, False), "<": (-1, True), "<=": (-1, False), "!=": (0, True)}


@dataclass(frozen=True)
class Sign:
    """x > 0 (or ≥, <, ≤, ≠ 0) at every point."""

    x: Any
    relation: str = ">"
    label: str = "expression"

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        wanted, strict = RELATIONS[self.relation]
        x = opened(self.x)
        for point in domain.points(cell):
            (number,) = entries(x, point)
            if not number.is_finite:
                continue
            s = certified_sign(number)
            if s is None:
                continue
            bad = s == 0 if wanted == 0 else (s * wanted < 0 or (strict and s == 0))
            if bad:
                witness = Witness(describe(point), f"{self.label} = {enclosure(number)}", cell.name)
                return Finding("REFUTED", "proved", f"not {self.label} {self.relation} 0", witness)
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        wanted, strict = RELATIONS[self.relation]
        t = tower(cell)
        s = t.sign(t.convert(plain(domain.unfold(self.x, cell))))
        if s is None or (wanted and s * wanted < 0) or (strict and abs(s) < 2):
            raise Undecided(f"the sign of the {self.label} does not follow from its terms")
        return Finding("PROVED", "proved", f"{self.label} {self.relation} 0 from the signs of its terms")

    def test(self, domain: Domain, cell: Cell) -> Finding:
        return Finding("UNKNOWN", "tested", f"{self.label}: a sign is not decided by points")


def _dummies(expr: sp.Expr, cell: Cell, variable: sp.Symbol) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
    """Symbols with the assumptions of the cell built in, for SymPy's limits."""
    back: dict[sp.Symbol, sp.Expr] = {}
    rules: dict[sp.Symbol, sp.Expr] = {}
    for symbol in sorted(expr.free_symbols - {variable}, key=str):
        sign = cell.sign(symbol)
        dummy = sp.Dummy(str(symbol), real=True) if sign is None else sp.Dummy(str(symbol), positive=True)
        rules[symbol] = -dummy if sign == -1 else dummy
        back[dummy] = -symbol if sign == -1 else symbol
    return expr.xreplace(rules), back


def _positive(symbol: Any) -> int | None:
    """The sign of a symbol with built-in assumptions."""
    return 2 if symbol.is_positive else None


def _limit(
    expr: sp.Expr, variable: sp.Symbol, to: sp.Expr, side: str, sign_of: Any = lambda symbol: None
) -> sp.Expr:
    """An exact one-sided limit: at infinity by dominant exponentials where that decides it, otherwise by SymPy.

    There the variable is replaced by a positive one that tends to zero.
    """
    if to in (sp.oo, -sp.oo):
        with suppress(Undecided):
            limit = limit_at_infinity(expr.xreplace({variable: sp.sign(to) * variable}), variable, sign_of)
            if limit is not None:
                return limit
    e = sp.Dummy("e", positive=True)
    if to in (sp.oo, -sp.oo):
        inner = expr.subs(variable, 1 / e if to is sp.oo else -1 / e)
    else:
        inner = expr.subs(variable, to + e if side == "+" else to - e)
    return sp.limit(sp.powdenest(sp.together(inner)), e, 0, "+")


def _nearby(variable: sp.Symbol, to: sp.Expr, side: str, digits: int) -> sp.Expr:
    """An exact number close to the limit point, on the side of the limit."""
    if to in (sp.oo, -sp.oo):
        return sp.sign(to) * sp.Integer(10) ** digits
    return to + (1 if side == "+" else -1) * sp.Rational(1, 10**digits)


def _paired(x: Any, y: Any) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """The coefficients of x with those of y at the same vectors; a missing one is zero."""
    if isinstance(x, Linear) and isinstance(y, Linear):
        for v in dict.fromkeys((*x.terms, *y.terms)):
            yield plain(x.terms.get(v, sp.S.Zero)), plain(y.terms.get(v, sp.S.Zero))
    else:
        yield from zip(components(x), components(y), strict=True)


@dataclass(frozen=True)
class LimitIs:
    """lim x = value as the variable tends to a point from one side."""

    x: Any
    variable: sp.Symbol
    to: sp.Expr
    value: Any
    side: str = "+"
    label: str = "limit"

    def _gaps(self, domain: Domain, cell: Cell) -> Iterator[tuple[sp.Expr, sp.Expr]]:
        yield from _paired(*(domain.unfold(q, cell) for q in (self.x, self.value)))

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        for point in _points_without(domain, cell, self.variable, 3):
            for x, value in self._gaps(domain, cell):
                at = _at(x, point)
                limit = _limit(at, self.variable, self.to, self.side)
                gap = limit - _at(value, point)
                if limit.is_infinite or (gap.is_finite and certified_sign(gap) not in (0, None)):
                    text = f"the {self.label} is {limit}" + (
                        "" if limit.is_infinite else f", off by {enclosure(gap)}"
                    )
                    return Finding(
                        "REFUTED", "proved", "another limit", Witness(describe(point), text, cell.name)
                    )
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        for x, value in self._gaps(domain, cell):
            inner, back = _dummies(x, cell, self.variable)
            limit = _limit(inner, self.variable, self.to, self.side, _positive).xreplace(back)
            num, _ = tower(cell).convert(limit - value)
            if num:
                raise Undecided(f"the {self.label} came out as {limit}")
            self._approach(x, value, domain, cell)
        return Finding("PROVED", "proved", f"{self.label}: exact limit, approached numerically")

    def _approach(self, x: sp.Expr, value: sp.Expr, domain: Domain, cell: Cell) -> None:
        """Guard against a wrong limit by the computer-algebra system: the values must come near."""
        for point in _points_without(domain, cell, self.variable, 2):
            at, goal = _at(x, point), sp.N(_at(value, point), 30)
            gaps = []
            for digits in (10, 20):
                near = _nearby(self.variable, self.to, self.side, digits)
                gaps.append(abs(sp.N(at.subs(self.variable, near), 30, maxn=2000) - goal))
            rounding = sp.Float("1e-20") * (1 + abs(goal))
            if not gaps[1] <= sp.Max(gaps[0], rounding) or gaps[1] > (1 + abs(goal)) / 1000:
                raise Undecided(f"the {self.label} {value} is not approached at {describe(point)}")

    def test(self, domain: Domain, cell: Cell) -> Finding:
        count = 0
        for point in _points_without(domain, cell, self.variable, 6):
            for x, value in self._gaps(domain, cell):
                limit = _limit(_at(x, point), self.variable, self.to, self.side)
                if residual_size(limit - _at(value, point)) > sp.Float("1e-40"):
                    return Finding("UNKNOWN", "tested", f"{self.label}: {limit} at a point")
                count += 1
        return Finding("AGREES", "tested", f"{self.label}: exact at {count} rational points")


@dataclass(frozen=True)
class Order:
    """x = O(scale) as the variable tends to a point; with `sharp`, the ratio does not tend to zero."""

    x: Any
    variable: sp.Symbol
    to: sp.Expr
    scale: sp.Expr
    side: str = "+"
    sharp: bool = False
    label: str = "remainder"

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        largest = sp.Integer(0)
        for point in _points_without(domain, cell, self.variable, 3):
            for x in components(domain.unfold(self.x, cell)):
                ratio = _limit(_at(x / self.scale, point), self.variable, self.to, self.side)
                if ratio.is_infinite:
                    text = f"{self.label}/({self.scale}) is unbounded"
                    return Finding(
                        "REFUTED", "proved", "a larger remainder", Witness(describe(point), text, cell.name)
                    )
                largest = max(largest, abs(ratio), key=lambda r: float(r))
        if self.sharp and largest == 0:
            text = f"{self.label}/({self.scale}) tends to 0"
            return Finding("REFUTED", "proved", "the order is not attained", Witness({}, text, cell.name))
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        found = []
        for x in components(domain.unfold(self.x, cell)):
            inner, back = _dummies(x / self.scale, cell, self.variable)
            ratio = _limit(inner, self.variable, self.to, self.side, _positive)
            if not ratio.is_finite:
                raise Undecided(f"{self.label}/({self.scale}) tends to {ratio}")
            found.append(ratio.xreplace(back))
        if self.sharp and all(ratio == 0 for ratio in found):
            raise Undecided(f"{self.label}/({self.scale}) tends to 0")
        return Finding("PROVED", "proved", f"{self.label} = O({self.scale}), ratio tends to {found}")

    def test(self, domain: Domain, cell: Cell) -> Finding:
        for point in _points_without(domain, cell, self.variable, 6):
            for x in components(domain.unfold(self.x, cell)):
                if not _limit(_at(x / self.scale, point), self.variable, self.to, self.side).is_finite:
                    return Finding("UNKNOWN", "tested", f"{self.label}: unbounded ratio")
        return Finding("AGREES", "tested", f"{self.label} = O({self.scale}) at rational points")


def _points_without(domain: Domain, cell: Cell, variable: sp.Symbol, count: int) -> Iterator[Point]:
    """Points of a cell with the running variable left free; conditions on it are those of the limit."""
    for point in islice(domain.points(cell), count):
        yield {k: v for k, v in point.items() if k != variable}


def _at(expr: sp.Expr, point: Point) -> sp.Expr:
    """An expression at a point that may leave some symbols free."""
    expr = plain(formula(expr))
    missing = {s: s for s in expr.free_symbols if s not in point and not hasattr(s, "left")}
    return evaluate(expr, {**point, **missing})
