"""Points of a cell at which given expressions vanish, and on both sides of these.

Where a sign jumps, a denominator vanishes or a radicand changes its sign, a claim may fail though it holds at points
drawn at random. From points of the cell one coordinate is moved, exactly, to the roots of the expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import combinations, islice, pairwise
from typing import Any

import sympy as sp

from symdyn.calculus.gram import evaluate
from symdyn.statements.domain import Cell, Domain, EmptyDomain, Point

BASES = 24
"""Points from which zeros are looked for."""

MOST = 60
"""Points on loci that are tried."""


@lru_cache(1024)
def bends(expr: sp.Expr) -> tuple[sp.Expr, ...]:
    """The expressions at whose zeros an expression jumps or takes another form, moduli, maxima and √(u²) included."""
    found = jumps(expr)
    found.extend(e.args[0] for e in expr.atoms(sp.Abs))
    for e in expr.atoms(sp.Max, sp.Min):
        found.extend(u - v for u, v in combinations(e.args, 2))
    for e in expr.atoms(sp.Pow):
        if e.exp.is_Rational and not e.exp.is_Integer:
            factors = sp.factor_list(e.base)[1] if e.base.is_polynomial() else ()
            found.extend(u for u, k in factors if k % 2 == 0)
    return tuple(sorted(dict.fromkeys(found), key=sp.default_sort_key))


def jumps(expr: sp.Expr) -> list[sp.Expr]:
    """The expressions at whose zeros an expression may jump, or take another form."""
    found: list[sp.Expr] = [e.args[0] for e in expr.atoms(sp.sign, sp.Heaviside)]
    for e in expr.atoms(sp.floor, sp.ceiling):
        found.extend(e.args[0] - k for k in (0, 1, -1))
    for e in expr.atoms(sp.Piecewise):
        for _, condition in e.args:
            found.extend(r.lhs - r.rhs for r in condition.atoms(sp.core.relational.Relational))
    return sorted(dict.fromkeys(found), key=sp.default_sort_key)


def points_near(targets: Iterable[sp.Expr], domain: Domain, cell: Cell) -> Iterator[Point]:
    """Points of a cell on the zeros of each target and beside them, as far as one coordinate can be solved for."""
    targets = [t for t in targets if not t.is_number]
    if targets:
        yield from islice(_moved(targets, domain, cell), MOST)


def zeros(targets: Iterable[sp.Expr], domain: Domain, cell: Cell) -> Iterator[Point]:
    """Points of a cell on the zeros of each target, from more points, by coordinates in which it is linear."""
    with suppress(EmptyDomain):
        for base in domain.generic(cell, BASES):
            for target in targets:
                for coordinate in _coordinates(base, domain, cell):
                    if isinstance(coordinate, sp.Symbol) and target.is_polynomial(coordinate):
                        slope = sp.diff(target, coordinate)
                        if slope != 0 and not slope.has(coordinate):
                            step = evaluate(target / slope, base)
                            moved = step.is_finite and domain.complete(
                                _with(base, coordinate, base[coordinate] - step), cell
                            )
                            if moved:
                                yield moved


def _moved(targets: list[sp.Expr], domain: Domain, cell: Cell) -> Iterator[Point]:
    try:
        bases = [next(domain.generic(cell, seed=seed)) for seed in (0, 1)] + list(domain.generic(cell, 1))[
            -1:
        ]
    except EmptyDomain:
        return
    for base in bases:
        independent = _coordinates(base, domain, cell)
        for target in targets:
            for coordinate in independent:
                for value in _candidates(target, coordinate, base):
                    moved = domain.complete(_with(base, coordinate, value), cell)
                    if moved is not None:
                        yield moved


def _coordinates(point: Point, domain: Domain, cell: Cell) -> list[Any]:
    """The symbols, and the places in vectors, that may be moved: not those that a sampler supplies."""
    if domain.sampler is not None:
        return []
    scalars: list[Any] = list(domain.independent(cell))
    places = [(v, i) for v in domain.vectors if v not in domain.let for i in range(len(point[v]))]
    return scalars + places[:4]


def _with(point: Point, coordinate: Any, value: Any) -> Point:
    if not isinstance(coordinate, tuple):
        return {**point, coordinate: value}
    vector, i = coordinate
    return {**point, vector: [*point[vector][:i], value, *point[vector][i + 1 :]]}


def _candidates(target: sp.Expr, coordinate: Any, point: Point) -> list[Any]:
    """The roots of the target in one coordinate that are rational or of degree two, and numbers between all roots."""
    if not isinstance(coordinate, tuple) and coordinate not in target.free_symbols:
        return []
    z = sp.Dummy("z", real=True)
    line = evaluate(target, _with(point, coordinate, z))
    if not line.has(z):
        return []
    numerator = sp.numer(sp.together(line))
    if not numerator.is_polynomial(z):
        return []
    poly = sp.Poly(numerator, z)
    if (not poly.domain.is_QQ and not poly.domain.is_ZZ) or poly.degree() > 8:
        return []
    exact = [
        r
        for factor, _ in poly.factor_list()[1]
        if factor.degree() <= 2
        for r in sp.roots(factor, z)
        if r.is_real
    ]
    ends = sorted({end for interval, _ in poly.intervals() for end in interval})
    if not ends:
        return exact
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    scaled = [c * r for r in (*exact, *ends) for c in (sp.S.Half, sp.Integer(2)) if r]
    return [*exact, *between, ends[0] - 1, ends[-1] + 1, *scaled]
