"""What a collection is made of: claims, each with where it fails, and the domains they are made on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from symdyn.calculus.vectors import Vector
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Statement

a, b, c, e, k, p, q, s, t, u, x, y, z = sp.symbols("a b c e k p q s t u x y z", real=True)
x0, y0 = sp.symbols("x0 y0", real=True)
w = sp.Symbol("w", complex=True)
f = sp.Function("f")
oo = sp.oo
R = sp.Rational
TINY = R(1, 10**12)

v1, v2, v3, v4 = (Vector(f"v{i}") for i in range(1, 5))


@dataclass(frozen=True)
class Claim:
    """A statement that is false, or one that is true.

    `at` names a point by the names of its symbols, vectors and letters: where a false claim fails, or where a true
    one is tried besides a grid. `near(i)`, i = 0, 1, 2, is a sequence of values of the variable of a limit that
    comes ever nearer. `check` is the calculation that shows it where the statement alone cannot: what a conclusion in
    words says, that a sampler breaks its rule.
    """

    name: str
    says: Callable[[], Statement]
    why: str = ""
    on: Domain | None = None
    near: Callable[[int], Any] | None = None
    check: Callable[[], bool] | None = None
    at: dict[str, Any] = field(default_factory=dict)


def false(
    name: str,
    says: Callable[[], Statement],
    why: str,
    on: Domain | None = None,
    near: Callable[[int], Any] | None = None,
    check: Callable[[], bool] | None = None,
    **at: Any,
) -> Claim:
    """A false claim and the point where it fails."""
    return Claim(name, says, why, on, near, check, at)


def true(
    name: str,
    says: Callable[[], Statement],
    on: Domain | None = None,
    near: Callable[[int], Any] | None = None,
    check: Callable[[], bool] | None = None,
    **at: Any,
) -> Claim:
    """A true claim."""
    return Claim(name, says, "", on, near, check, at)


def positive(*symbols: Any, also: tuple[Any, ...] = ()) -> Domain:
    """All positive values of the symbols, all real ones of the others."""
    cell = Cell("positive", dict.fromkeys(symbols, 1), reason="the domain")
    return Domain((*symbols, *also), cells=(cell,))


def negative(*symbols: Any, also: tuple[Any, ...] = ()) -> Domain:
    """All negative values of the symbols, all real ones of the others."""
    cell = Cell("negative", dict.fromkeys(symbols, -1), reason="the domain")
    return Domain((*symbols, *also), cells=(cell,))


def nonzero(symbol: Any, *others: Any) -> Domain:
    """Two cells, on which the symbol is positive and negative; the others are any real numbers."""
    cells = tuple(Cell(name, {symbol: sign}) for name, sign in (("positive", 1), ("negative", -1)))
    return Domain((symbol, *others), cells=cells)


def where(*conditions: Any, also: tuple[Any, ...] = ()) -> Domain:
    """The real values of the symbols of the conditions that satisfy all of them."""
    symbols = sorted(set().union(*(condition.free_symbols for condition in conditions)) | set(also), key=str)
    return Domain(tuple(symbols)).restrict(*conditions, words=", ".join(map(str, conditions)))
