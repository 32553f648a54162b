"""Signs of products, and squares of polynomials: what the tower of roots asks of the ring below it."""

from __future__ import annotations

from math import isqrt

import sympy as sp
from sympy.polys.rings import PolyElement


def unit(sign: int | None) -> int | None:
    return None if sign is None else (1 if sign > 0 else -1)


def sign_of_product(signs: list[int]) -> int:
    """The sign of a product: strict if every factor is."""
    sign = 1
    for s in signs:
        sign *= 1 if s > 0 else -1
    return sign * min((abs(s) for s in signs), default=2)


def without(monomial: tuple[int, ...], index: int) -> tuple[int, ...]:
    return (*monomial[:index], 0, *monomial[index + 1 :])


def _has_square_value(p: PolyElement) -> bool:
    """Whether the value at one integer point is a square, as that of a square must be; far cheaper than factors."""
    if not p.ring.gens:
        return True
    value = p.evaluate(list(zip(p.ring.gens, range(2, 2 + len(p.ring.gens)), strict=True)))
    parts = int(value.numerator), int(value.denominator)
    return value >= 0 and all(isqrt(part) ** 2 == part for part in parts)


def exact_square_root(p: PolyElement) -> PolyElement | None:
    if not _has_square_value(p):
        return None
    content, factors = p.factor_list()
    if content <= 0 or any(e % 2 for _, e in factors):
        return None
    root = sp.sqrt(sp.Rational(int(content.numerator), int(content.denominator)))
    if not root.is_Rational:
        return None
    out = p.ring(sp.QQ(int(root.p), int(root.q)))
    for factor, exponent in factors:
        out = out * factor ** (exponent // 2)
    return out
