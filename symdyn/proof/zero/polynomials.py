"""Signs of products, factors and squares of polynomials: what the tower of roots asks of the ring below it.

Factors and greatest common divisors are those of FLINT, in the order and with the units that SymPy gives them.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, isqrt
from typing import Any

import flint
import sympy as sp
from sympy.polys.rings import PolyElement, PolyRing

from symdyn.proof.undecided import Undecided

MEMORY = 4096
"""Polynomials whose factors, and pairs whose common divisors, are remembered."""

Factors = tuple[Any, list[tuple[PolyElement, int]]]


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
    content, factors = factor_list(p)
    if content <= 0 or any(e % 2 for _, e in factors):
        return None
    root = sp.sqrt(sp.Rational(int(content.numerator), int(content.denominator)))
    if not root.is_Rational:
        return None
    out = p.ring(sp.QQ(int(root.p), int(root.q)))
    for factor, exponent in factors:
        out = out * factor ** (exponent // 2)
    return out


def factor_list(p: PolyElement) -> Factors:
    """The content and the irreducible factors of a polynomial with their exponents, the simplest first.

    Factors have integer coefficients without a common divisor, the leading one positive. Raises Undecided for a
    polynomial that FLINT has no numbers for.
    """
    content, factors = _factored(p)
    return content, list(factors)


@lru_cache(MEMORY)
def _factored(p: PolyElement) -> Factors:
    used, (poly,), (scale,) = _in_flint(p)
    try:
        content, found = poly.factor()
    except OverflowError as obstacle:
        raise Undecided(f"a polynomial of {len(p)} terms is too large to be factored") from obstacle
    left = poly.context().constant(content)
    for factor, exponent in found:
        left = left * factor**exponent
    if left != poly:
        raise ArithmeticError(f"the factors of a polynomial do not multiply to it: {p}")
    ring = p.ring
    factors = []
    for factor, exponent in found:
        if factor.leading_coefficient() < 0:
            factor, content = -factor, content if exponent % 2 == 0 else -content
        factors.append((_from_flint(factor, used, ring), int(exponent)))
    if len(factors) > 1:
        factors.sort(key=lambda pair: _complexity(*pair))
    return ring.domain(int(content)) / scale, factors


def _complexity(factor: PolyElement, exponent: int) -> Any:
    dense = factor.ring.to_dense(factor)
    return len(dense), exponent, dense


@lru_cache(MEMORY)
def cancelled(p: PolyElement, q: PolyElement) -> tuple[PolyElement, PolyElement]:
    """p and q, not zero, without their common divisor: integer coefficients, the leading one of q positive."""
    used, (f, g), (a, b) = _in_flint(p, q)
    common = f.gcd(g)
    f, g = f / common, g / common
    ratio = b / a
    f, g = f * int(ratio.numerator), g * int(ratio.denominator)
    if g.leading_coefficient() < 0:
        f, g = -f, -g
    return _from_flint(f, used, p.ring), _from_flint(g, used, p.ring)


def _in_flint(*polynomials: PolyElement) -> tuple[list[int], list[Any], list[Any]]:
    """The generators that occur, multiples of polynomials in them with integer coefficients, and the multipliers."""
    ring = polynomials[0].ring
    used = [i for i in range(ring.ngens) if any(m[i] for p in polynomials for m in p)]
    context = flint.fmpz_mpoly_ctx.get([f"g{i}" for i in used], "lex")
    scales, out = [], []
    for p in polynomials:
        scale = p.ring.domain.one
        for c in p.values():
            scale = scale * (int(c.denominator) // gcd(int(scale), int(c.denominator)))
        terms = {tuple(m[i] for i in used): int(c * scale) for m, c in p.items()}
        out.append(context.from_dict(terms))
        scales.append(scale)
    return used, out, scales


def _from_flint(poly: Any, used: list[int], ring: PolyRing) -> PolyElement:
    terms = {}
    for exponents, c in poly.to_dict().items():
        monomial = [0] * ring.ngens
        for i, k in zip(used, exponents, strict=True):
            monomial[i] = int(k)
        terms[tuple(monomial)] = ring.domain(int(c))
    return ring.from_dict(terms)
