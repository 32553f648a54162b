"""Where a statement is claimed: cells that cover the domain, and exact points in every one of them.

A symbol carries no sign. Signs belong to the cells of a domain, and a proof that uses one is a proof on that
cell. A domain samples itself with exact rational numbers and vectors, curated values before random ones, so
that a claim is refuted by a point that anyone can check by hand. A domain without points is an error.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from symdyn.calculus.bridge import isotropic_to_gram
from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Combination, InnerProductSymbol, Linear, Vector, evaluate, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.compile.named import unfold

Point = dict[Any, Any]

CURATED = [
    sp.Rational(p, q) for p, q in ((1, 1), (1, 2), (2, 1), (3, 2), (1, 3), (5, 4), (7, 3), (1, 50), (40, 1))
]


class EmptyDomain(ValueError):
    """No admissible point was found: any claim would pass."""


@dataclass(frozen=True)
class Cell:
    """A part of a domain on which signs are known.

    `signs` gives +1 or -1 to symbols; `where` replaces symbols by expressions in others (δ = 0, or a coordinate
    that makes roots rational) and `reason` says why that loses nothing. Where it replaces an inner product, the
    points of the cell are those whose vectors have it, which a sampler of the domain must supply.
    """

    name: str = "everywhere"
    signs: Mapping[sp.Symbol, int] = field(default_factory=dict)
    where: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    reason: str = ""

    def sign(self, symbol: Any) -> int | None:
        """The sign known for a symbol on this cell; |v|² is non-negative."""
        if isinstance(symbol, InnerProductSymbol) and symbol.left == symbol.right:
            return 1
        return self.signs.get(symbol)


@dataclass(frozen=True)
class Domain:
    """The values of scalars and vectors for which something is claimed.

    `let` defines dependent scalars and vectors by independent ones (δ by a, w and the rates; β as a w);
    `conditions` are relations that every point satisfies; `sampler(random, dimension)` may supply values that
    satisfy constraints exactly. `functions` are unspecified functions, each applied to its arguments, such as
    f(x): proofs know nothing of them, points take polynomials for them.
    """

    scalars: tuple[sp.Symbol, ...] = ()
    vectors: tuple[Vector, ...] = ()
    cells: tuple[Cell, ...] = (Cell(),)
    let: Mapping[Any, Any] = field(default_factory=dict)
    conditions: tuple[Any, ...] = ()
    dimensions: tuple[int, ...] = (1, 2, 3)
    sampler: Callable[[random.Random, int], Point] | None = None
    words: str = ""
    functions: tuple[sp.Expr, ...] = ()

    def restrict(self, *conditions: Any, words: str = "", **changes: Any) -> Domain:
        """The part of the domain on which further conditions hold."""
        text = "; ".join(w for w in (self.words, words) if w)
        return replace(self, conditions=self.conditions + conditions, words=text, **changes)

    def with_cells(self, *cells: Cell) -> Domain:
        return replace(self, cells=cells)

    def points(self, cell: Cell, per_dimension: int = 6, seed: int = 0) -> Iterator[Point]:
        """Exact points of a cell in every dimension of the domain, curated values first."""
        found = 0
        for d in self.dimensions if self.vectors else self.dimensions[-1:]:
            rng = random.Random(f"{cell.name}/{d}/{seed}")
            accepted = 0
            for attempt in range(400 * per_dimension):
                point = self._draw(rng, cell, d, curated=attempt < 2 * per_dimension)
                if point is not None:
                    accepted += 1
                    yield point
                if accepted == per_dimension:
                    break
            found += accepted
        if not found:
            raise EmptyDomain(
                f"no admissible point in cell '{cell.name}' of the domain ({self.words or 'unnamed'})"
            )

    def coincidences(self, cell: Cell) -> Iterator[Point]:
        """Points of a cell at which a scalar is zero, or two of them are equal or opposite, as far as the cell allows.

        Of scalars by which no other is defined; none, where a sampler keeps relations between them.
        """
        if self.sampler is not None:
            return
        definitions = [
            formula(e) for by in (cell.where, self.let) for e in by.values() if isinstance(e, sp.Expr)
        ]
        bound = set().union(*(e.free_symbols for e in definitions))
        free = [s for s in self._independent(cell) if s not in bound]
        for point in itertools.islice(self.points(cell), 1):
            for s in free:
                others = [t for t in free if t is not s]
                for value in (sp.S.Zero, *(sign * point[t] for t in others for sign in (1, -1))):
                    changed = {**point, s: value}
                    if self.admits(changed, cell):
                        yield changed

    def _draw(self, rng: random.Random, cell: Cell, d: int, curated: bool) -> Point | None:
        point: Point = {}
        for vector in self.vectors:
            point[vector] = _vector(rng, d)
        for symbol in self._independent(cell):
            value = rng.choice(CURATED) if curated else sp.Rational(rng.randint(1, 24), rng.randint(1, 12))
            point[symbol] = value * (cell.signs.get(symbol) or rng.choice((1, -1)))
        for applied in self.functions:
            point[applied.func] = _polynomial(rng, len(applied.args))
        if self.sampler is not None:
            point.update(self.sampler(rng, d))
        for definitions in (cell.where, self.let):
            for symbol, expr in definitions.items():
                value = evaluate(expr if isinstance(expr, Linear) else unfold(formula(expr)), point)
                if not all(number.is_finite for number in (value if isinstance(value, list) else [value])):
                    return None
                if not isinstance(symbol, InnerProductSymbol):
                    point[symbol] = value
                elif evaluate(symbol, point) != value:
                    return None
        return point if self.admits(point, cell) else None

    def _independent(self, cell: Cell) -> list[sp.Symbol]:
        fresh = sorted(
            {
                s
                for e in cell.where.values()
                for s in formula(e).free_symbols
                if not isinstance(s, InnerProductSymbol)
            }
            - set(self.scalars)
            - set(self.let),
            key=str,
        )
        return [s for s in (*self.scalars, *fresh) if s not in cell.where and s not in self.let]

    def admits(self, point: Point, cell: Cell) -> bool:
        """Whether a point lies in the cell and satisfies every condition."""
        for symbol, sign in cell.signs.items():
            if isinstance(symbol, InnerProductSymbol):
                value = evaluate(symbol, point)
            elif symbol in point:
                value = point[symbol]
            else:
                continue
            if value * sign <= 0:
                return False
        return all(holds(condition, point) for condition in self.conditions)

    def unfold(self, x: Any, cell: Cell) -> Any:
        """An expression in the independent quantities of a cell."""
        vectors = {v: combination for v, combination in self.let.items() if isinstance(v, Vector)}
        scalars = {s: expr for s, expr in self.let.items() if s not in vectors}
        for _ in scalars:
            x = self._replace(x, scalars)
        for _ in vectors:
            x = _write_out(x, vectors)
        return self._replace(x, cell.where)

    def _replace(self, x: Any, definitions: Mapping[sp.Symbol, Any]) -> Any:
        if not definitions:
            return x
        rules = {s: formula(e) for s, e in definitions.items()}
        return _map(x, lambda e: e.xreplace(rules))


def _map(x: Any, f: Callable[[sp.Expr], sp.Expr]) -> Any:
    if isinstance(x, (tuple, list)):
        return tuple(_map(y, f) for y in x)
    if isinstance(x, Vector):
        x = Combination({x: sp.Integer(1)})
    if hasattr(x, "map") and not isinstance(x, sp.Basic):
        return x.map(f)
    return f(formula(x))


def _write_out(x: Any, vectors: Mapping[Vector, Any]) -> Any:
    """x with vectors replaced by the combinations they stand for."""
    if isinstance(x, (tuple, list)):
        return tuple(_write_out(y, vectors) for y in x)
    return substitute(isotropic_to_gram(x) if isinstance(x, Isotropic) else x, vectors)


def holds(condition: Any, point: Point) -> bool:
    """Whether a relation between scalars, or a predicate on points, is true at a point."""
    if isinstance(condition, sp.logic.boolalg.BooleanFunction):
        parts = [holds(c, point) for c in condition.args]
        return any(parts) if isinstance(condition, sp.Or) else all(parts)
    if not isinstance(condition, sp.core.relational.Relational):
        return bool(condition(point)) if callable(condition) else bool(condition)
    gap = evaluate(condition.lhs - condition.rhs, point)
    return bool(condition.func(gap, 0))


def _polynomial(rng: random.Random, arguments: int) -> sp.Lambda:
    """A polynomial of degree 3 in each variable and in their sum, for an unspecified function."""
    z = sp.symbols(f"z:{arguments}", cls=sp.Dummy)
    powers = [v**k for v in (*z, sp.Add(*z)) for k in range(4)]
    return sp.Lambda(
        z, sp.Add(*(sp.Rational(rng.randint(1, 9), rng.randint(1, 5)) * power for power in powers))
    )


def _vector(rng: random.Random, d: int) -> list[sp.Rational]:
    while True:
        v = [sp.Rational(rng.randint(-9, 9), rng.choice((1, 2, 3, 5))) for _ in range(d)]
        if any(v):
            return v
