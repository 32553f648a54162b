"""Where a statement is claimed: cells that cover the domain, and exact points in every one of them.

A symbol carries no sign. Signs belong to the cells of a domain, and a proof that uses one is a proof on that
cell. A domain samples itself with exact rational numbers and vectors, degenerate values before curated ones and these
before random ones, so that a claim is refuted by a point that anyone can check by hand. A domain without points is an
error.
"""

from __future__ import annotations

import itertools
import operator
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from symdyn.calculus.bridge import isotropic_to_gram
from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Combination, InnerProductSymbol, Linear, Vector, evaluate, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix.points import is_word, letters_at_random, never_negative
from symdyn.compile.named import unfold
from symdyn.proof.signs.numbers import certified_sign
from symdyn.statements.hypothesis import Hypothesis

Point = dict[Any, Any]
Change = Callable[[Point], None]

CURATED = [
    sp.Rational(p, q) for p, q in ((1, 1), (1, 2), (2, 1), (3, 2), (1, 3), (5, 4), (7, 3), (1, 50), (40, 1))
]


DIMENSION = re.compile(r"(?<![A-Za-z0-9_])d\s*(<=|>=|≤|≥|<|>|=)\s*(\d+)")
"""Where the words of a domain say which dimensions are meant."""
_COMPARED = {
    "<=": operator.le,
    "≤": operator.le,
    ">=": operator.ge,
    "≥": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}

DEGENERATE = 28
"""At most so many degenerate points of a cell without vectors, and in each dimension of one with vectors a quarter."""


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
        """The sign known for a symbol on this cell; |v|², vᵀv and tr AᵀA are non-negative."""
        square = isinstance(symbol, InnerProductSymbol) and symbol.left == symbol.right
        if symbol not in self.signs and (square or never_negative(symbol)):
            return 1
        return self.signs.get(symbol)


@dataclass(frozen=True)
class Domain:
    """The values of scalars and vectors for which something is claimed.

    `let` defines dependent scalars and vectors by independent ones (δ by a, w and the rates; β as a w);
    `conditions` are relations that every point satisfies; `sampler(random, dimension)` may supply values that
    satisfy constraints exactly. `functions` are unspecified functions, each applied to its arguments, such as
    f(x): proofs know nothing of them, points take rational functions for them. Vectors are not zero, unless
    the sampler supplies them. They have any
    dimension d that `words` allow, as "d > 1" does. Points are drawn in the listed `dimensions`, all that are allowed
    if none are listed, and in any case in those up to one more than there are vectors, as far as the sampler draws
    them: it may raise where it was not made for a dimension that is not listed. `hypotheses` say
    where what it restricts comes from.
    """

    scalars: tuple[sp.Symbol, ...] = ()
    vectors: tuple[Vector, ...] = ()
    cells: tuple[Cell, ...] = (Cell(),)
    let: Mapping[Any, Any] = field(default_factory=dict)
    conditions: tuple[Any, ...] = ()
    dimensions: tuple[int, ...] = ()
    sampler: Callable[[random.Random, int], Point] | None = None
    words: str = ""
    functions: tuple[sp.Expr, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()

    def __post_init__(self) -> None:
        if not self.cells:
            raise EmptyDomain("a domain has at least one cell: leave cells=… out for one without signs")

    def restrict(
        self, *conditions: Any, words: str = "", hypotheses: tuple[Hypothesis, ...] = (), **changes: Any
    ) -> Domain:
        """The part of the domain on which further conditions hold, with where these come from."""
        text = "; ".join(w for w in (self.words, words) if w)
        known = self.hypotheses + hypotheses
        return replace(self, conditions=self.conditions + conditions, words=text, hypotheses=known, **changes)

    def supposing(self, *hypotheses: Hypothesis) -> Domain:
        """The same domain, with where its conditions come from."""
        return replace(self, hypotheses=self.hypotheses + hypotheses)

    def with_cells(self, *cells: Cell) -> Domain:
        return replace(self, cells=cells)

    def points(self, cell: Cell, per_dimension: int = 6, seed: int = 0) -> Iterator[Point]:
        """Exact points of a cell in every dimension of the domain, degenerate ones first."""
        found = 0
        for point in self.degenerate(cell, seed):
            found += 1
            yield point
        try:
            yield from self.generic(cell, per_dimension, seed)
        except EmptyDomain:
            if not found:
                raise

    def generic(self, cell: Cell, per_dimension: int = 6, seed: int = 0) -> Iterator[Point]:
        """Exact points of a cell in every dimension of the domain, curated values before random ones."""
        return self._remembered(
            ("generic", per_dimension, seed), cell, lambda: self._generic(cell, per_dimension, seed)
        )

    def _remembered(self, kind: Any, cell: Cell, draw: Callable[[], Iterator[Point]]) -> Iterator[Point]:
        """Points, each drawn once however often they are gone through. They are not to be changed."""
        memory = self.__dict__.setdefault("_drawn", {})
        key = (*kind, id(cell))
        if key not in memory:
            memory[key] = (cell, [], draw())
        _, points, more = memory[key]
        for k in itertools.count():
            while k >= len(points):
                try:
                    points.append(next(more))
                except StopIteration:
                    return
                except BaseException:
                    del memory[key]  # interrupted: to be drawn anew
                    raise
            yield points[k]

    def _generic(self, cell: Cell, per_dimension: int, seed: int) -> Iterator[Point]:
        found = 0
        for d in self._drawn_dimensions():
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
                f"no admissible point in cell '{cell.name}' of the domain ({self.words or 'unnamed'}): its signs and "
                "conditions contradict each other, or need a sampler that meets them"
            )

    def degenerate(self, cell: Cell, seed: int = 0) -> Iterator[Point]:
        """The points of a cell where what is different in general coincides.

        A scalar is 0 where the cell allows it, or ±1, or equal or opposite to another one, or all of them are; two
        vectors are equal, opposite, parallel or orthogonal, or all are equal.
        """
        return self._remembered(("degenerate", seed), cell, lambda: self._degenerate(cell, seed))

    def _degenerate(self, cell: Cell, seed: int) -> Iterator[Point]:
        dimensions = self._drawn_dimensions()
        draws = (self._supplied(random.Random(seed), d) for d in reversed(dimensions))
        supplied = set(next((drawn for drawn in draws if drawn is not None), {}))
        free = [s for s in self.independent(cell) if s not in supplied]
        scalars = list(_degenerate_scalars(free, cell, random.Random(f"{cell.name}/{seed}")))
        if any(map(is_word, self.scalars)):
            scalars += [lambda point: None] * 6
        vectors = list(_degenerate_vectors(tuple(v for v in self.vectors if v not in supplied)))
        most = DEGENERATE if len(dimensions) == 1 else DEGENERATE // 4
        for k, d in enumerate(dimensions):
            rng = random.Random(f"degenerate/{cell.name}/{d}/{seed}")
            here: list[tuple[Any, Any]] = [(change, None) for change in _turn(scalars, k, len(dimensions))]
            there = [(None, change) for change in _turn(vectors, k, len(dimensions))]
            changes = [x for pair in itertools.zip_longest(there, here) for x in pair if x is not None]
            for scalar, vector in changes[:most]:
                point = self._draw(rng, cell, d, True, scalar, vector)
                if point is not None:
                    yield point

    def _drawn_dimensions(self) -> tuple[int, ...]:
        """The dimensions of points: those listed, and more as far as a sampler, if there is one, may draw them."""
        numbers = [int(n) for _, n in DIMENSION.findall(self.words)]
        most = max(3, len(self.vectors) + 1, *(n + 1 for n in numbers))
        allowed = [d for d in range(1, most + 1) if self.allows(d)]
        listed = self.dimensions or tuple(allowed)
        if not self.vectors:
            return listed[-1:]
        more = [d for d in allowed if self.sampler is None or d > max(listed)]
        return tuple(sorted({*listed, *more}))

    def allows(self, d: int) -> bool:
        """Whether the words of the domain allow vectors of this dimension."""
        return all(_COMPARED[relation](d, int(n)) for relation, n in DIMENSION.findall(self.words))

    def uncovered(self, cell: Cell) -> str:
        """Why points that agree say nothing of the whole cell; empty if they have all the dimensions they need.

        What k vectors span has at most the dimension k, and there is a direction apart from it in one more. Matrices
        in words have any shape, which points never cover, and no one checks that a sampler draws all that it may.
        """
        if any(map(is_word, self.scalars)):
            return "matrices of a few shapes are no proof for all shapes"
        if self.sampler is not None:
            return "what a sampler draws may have more in common than the domain says"
        found, most = set(), 0
        for point in self.generic(cell):
            vectors = [v for v in point if isinstance(v, Vector)]
            found |= {len(point[v]) for v in vectors}
            most = max(most, sum(v not in self.let for v in vectors) + 1)
        needed = [d for d in range(1, most + 1) if self.allows(d)]
        if not found or not needed or max(found) >= needed[-1]:
            return ""
        drawn = ", ".join(map(str, sorted(found)))
        return (
            f"tested at d = {drawn} alone, and {most - 1} vectors need d = {needed[-1]}: let the sampler draw that, or "
            f"say in the words of the domain which d are meant ('d <= {max(found)}')"
        )

    def _draw(
        self,
        rng: random.Random,
        cell: Cell,
        d: int,
        curated: bool,
        scalar_change: Change | None = None,
        vector_change: Change | None = None,
    ) -> Point | None:
        point: Point = {}
        for vector in self.vectors:
            point[vector] = _vector(rng, d)
        if vector_change is not None:
            vector_change(point)
        for symbol in self.independent(cell):
            value = rng.choice(CURATED) if curated else sp.Rational(rng.randint(1, 24), rng.randint(1, 12))
            point[symbol] = value * (cell.signs.get(symbol) or rng.choice((1, -1)))
        if scalar_change is not None:
            scalar_change(point)
        if any(map(is_word, self.scalars)):
            kind = rng.choice(("zero", "one", "same")) if scalar_change is not None else ""
            point.update(letters_at_random(self.scalars, rng, kind))
        for applied in self.functions:
            point[applied.func] = _function(rng, len(applied.args))
        if self.sampler is not None:
            supplied = self._supplied(rng, d)
            if supplied is None:
                return None
            point.update(supplied)
        return self.complete(point, cell)

    def _supplied(self, rng: random.Random, d: int) -> Point | None:
        """What the sampler draws; None if it has nothing of a dimension that it was not said to draw."""
        if self.sampler is None or not self.dimensions or d in self.dimensions:
            return self.sampler(rng, d) if self.sampler is not None else {}
        try:
            drawn = self.sampler(rng, d)
        except Exception:  # whatever it is that fails in a sampler which was made for other dimensions
            return None
        vectors = [value for key, value in drawn.items() if isinstance(key, Vector)]
        return drawn if all(len(value) == d and any(value) for value in vectors) else None

    def complete(self, point: Point, cell: Cell) -> Point | None:
        """A point with what the cell and the domain define by its coordinates; None if it is outside of the cell."""
        for definitions in (cell.where, self.let):
            for symbol, expr in definitions.items():
                value = evaluate(expr if isinstance(expr, Linear) else unfold(formula(expr)), point)
                if not all(map(_is_real_number, value if isinstance(value, list) else [value])):
                    return None
                if not isinstance(symbol, InnerProductSymbol):
                    point[symbol] = value
                elif evaluate(symbol, point) != value:
                    return None
        return point if self.admits(point, cell) else None

    def supplied(self) -> set[Any]:
        """What the sampler supplies, of which no more is known than the cells say."""
        if self.sampler is None:
            return set()
        for d in self._drawn_dimensions()[::-1]:
            with suppress(ValueError, ZeroDivisionError, IndexError):
                return set(self.sampler(random.Random(0), d))
        return set()

    def independent(self, cell: Cell) -> list[sp.Symbol]:
        """The scalars that nothing defines on a cell."""
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
        return [
            s for s in (*self.scalars, *fresh) if s not in cell.where and s not in self.let and not is_word(s)
        ]

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
    if not _is_real_number(gap):
        return False
    sign = None if gap.is_Rational else certified_sign(unfold(gap))
    return bool(condition.func(gap if sign is None else sign, 0))


def _is_real_number(x: Any) -> bool:
    return bool(x.is_finite) and x.is_extended_real is not False


def _function(rng: random.Random, arguments: int) -> sp.Lambda:
    """A rational function, of which no derivative vanishes, for an unspecified function."""
    z = sp.symbols(f"z:{arguments}", cls=sp.Dummy)
    powers = [v**k for v in (*z, sp.Add(*z)) for k in range(4)]
    line = sp.Add(*(sp.Rational(rng.randint(1, 9), rng.randint(1, 5)) * power for power in powers))
    slopes = [sp.Rational(rng.randint(1, 9), 5) for _ in z]
    bump = 1 / (1 + sp.Add(*(c * v for c, v in zip(slopes, z, strict=True))) ** 2)
    return sp.Lambda(z, line + bump)


def _turn(changes: list[Change], k: int, of: int) -> list[Change]:
    """The changes, beginning with another one in each of several dimensions."""
    start = len(changes) * k // of
    return changes[start:] + changes[:start]


def _degenerate_scalars(symbols: list[sp.Symbol], cell: Cell, rng: random.Random) -> Iterator[Change]:
    """Changes of a point that make scalars vanish, one, or equal, within the signs of a cell."""
    signs = {s: cell.signs.get(s) for s in symbols}
    free = [s for s in symbols if signs[s] is None]

    def put(*values: tuple[sp.Symbol, Any]) -> Change:
        return lambda point: point.update(values)

    for s in free:
        yield put((s, sp.S.Zero))
    if len(free) > 1:
        yield put(*((s, sp.S.Zero) for s in free))
    if symbols:
        yield put(*((s, sp.Integer(signs[s] or 1)) for s in symbols))
        if free:
            yield put(*((s, sp.Integer(signs[s] or -1)) for s in symbols))
    pairs = list(itertools.combinations(symbols, 2))
    rng.shuffle(pairs)
    for s, t in pairs:
        if signs[s] == signs[t] or None in (signs[s], signs[t]):
            yield _copied(*((s, t) if signs[s] is not None else (t, s)), 1)
        if signs[s] is None or signs[t] is None or signs[s] != signs[t]:
            yield _copied(*((s, t) if signs[s] is not None else (t, s)), -1)
    for s in symbols:
        for value in (1, -1):
            if signs[s] in (None, value):
                yield put((s, sp.Integer(value)))


def _copied(source: Any, target: Any, sign: int) -> Change:
    return lambda point: point.update({target: sign * point[source]})


def _degenerate_vectors(vectors: tuple[Vector, ...]) -> Iterator[Change]:
    """Changes of a point that make vectors equal, opposite, parallel or orthogonal."""
    pairs = list(itertools.combinations(vectors, 2))
    if len(vectors) > 2:
        yield lambda point: point.update({v: list(point[vectors[0]]) for v in vectors})
    for u, v in pairs:
        for factor in (1, -1, 2):
            yield lambda point, u=u, v=v, c=factor: point.update({v: [c * x for x in point[u]]})  # type: ignore[misc]
        yield lambda point, u=u, v=v: point.update({v: _across(point[u], point[v])})  # type: ignore[misc]


def _across(u: list[sp.Rational], v: list[sp.Rational]) -> list[sp.Rational]:
    """What is left of v, or of a coordinate vector, without its part along u; v itself on a line."""
    for w in (v, *([sp.Integer(i == j) for j in range(len(u))] for i in range(len(u)))):
        c = sum(x * y for x, y in zip(u, w, strict=True)) / sum(x * x for x in u)
        rest = [y - c * x for x, y in zip(u, w, strict=True)]
        if any(rest):
            return rest
    return v


def _vector(rng: random.Random, d: int) -> list[sp.Rational]:
    while True:
        v = [sp.Rational(rng.randint(-9, 9), rng.choice((1, 2, 3, 5))) for _ in range(d)]
        if any(v):
            return v
