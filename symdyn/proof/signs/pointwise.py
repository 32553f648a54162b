"""What an expression is at an exact point, as far as enclosures tell: its sign, or that it is zero or very close to it.

The expression is evaluated as it stands, without the numbers being simplified first: rational parts exactly, all
others in balls. Where that leaves a question open, `symdyn.proof.signs.numbers` answers it for the number in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import flint
import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.vectors import Dot
from symdyn.proof.signs.numbers import FINE, FUNCTIONS, WIDTH, bits_of_literals

QUICK = 80
"""Bits of the first attempt."""

LARGEST_POWER = 1000
"""Up to this exponent powers of rational numbers are exact."""

Value = Any
"""A rational number of FLINT where it is known exactly, or else a ball."""


class Untold(Exception):
    """A part is no real number, or has a head without a rule here."""


def sign_at(x: sp.Expr, point: Mapping[Any, Any]) -> int | None:
    """The sign of an expression at a point: 1 or -1 by an enclosure, 0 of an exact zero, None if it is not told."""
    try:
        return _sign(_value(x, point, QUICK))
    except Untold:
        return None


def vanishes_at(x: sp.Expr, point: Mapping[Any, Any]) -> bool:
    """Whether an expression at a point is zero exactly, or enclosed with zero in less than 1e-60."""
    try:
        first = _value(x, point, QUICK)
        if _exact(first) or _sign(first) is not None:
            return bool(_sign(first) == 0)
        found = _value(x, point, FINE + _longest(x, point))
        return _sign(found) is None and bool(found.rad() < flint.arb(flint.fmpq(WIDTH.p, WIDTH.q)))
    except Untold:
        return False


def _exact(value: Value) -> bool:
    return isinstance(value, flint.fmpq)


def _sign(value: Value) -> int | None:
    if _exact(value):
        return int(value > 0) - int(value < 0)
    return 1 if value > 0 else -1 if value < 0 else None


def _longest(x: sp.Expr, point: Mapping[Any, Any]) -> int:
    """Bits that the longest literals of an expression and of a point take beyond the usual."""
    flat = (n for v in point.values() for n in (v if isinstance(v, (list, tuple)) else (v,)))
    return max(map(_bits, (x, *(n for n in flat if isinstance(n, sp.Expr)))))


@lru_cache(2048)
def _bits(x: sp.Expr) -> int:
    return bits_of_literals(x)


def _value(x: sp.Expr, point: Mapping[Any, Any], bits: int) -> Value:
    with flint.ctx.workprec(bits):
        return _Evaluation(point).of(x)


class _Evaluation:
    """The values of an expression and its parts at one point, each found once."""

    def __init__(self, point: Mapping[Any, Any]) -> None:
        self.point = point
        self.memory: dict[sp.Expr, Value] = {}

    def of(self, e: sp.Expr) -> Value:
        found = self.memory.get(e)
        if found is None:
            found = self._of(e)
            if not _exact(found) and not found.is_finite():
                raise Untold(f"{e.func.__name__} is not finite there")
            self.memory[e] = found
        return found

    def _of(self, e: sp.Expr) -> Value:
        if e.is_Rational:
            return flint.fmpq(int(e.p), int(e.q))
        if e.is_Symbol:
            return self._symbol(e)
        if e.is_Add or e.is_Mul:
            out = self.of(e.args[0])
            for arg in e.args[1:]:
                out = _added(out, self.of(arg)) if e.is_Add else _multiplied(out, self.of(arg))
            return out
        if e.is_Pow:
            return self._power(self.of(e.base), self.of(e.exp))
        rule = RULES.get(e.func) or (CONSTANTS.get(e) if e.is_number and not e.args else None)
        if rule is None:
            raise Untold(f"{e.func.__name__} has no rule")
        return rule(*(self.of(arg) for arg in e.args))

    def _symbol(self, symbol: sp.Symbol) -> Value:
        if symbol in self.point:
            value = self.point[symbol]
            return self.of(formula(value))
        if isinstance(symbol, Dot) and symbol.left in self.point and symbol.right in self.point:
            pairs = zip(self.point[symbol.left], self.point[symbol.right], strict=True)
            out: Value = flint.fmpq(0)
            for p, q in pairs:
                out = _added(out, _multiplied(self.of(formula(p)), self.of(formula(q))))
            return out
        raise Untold(f"{symbol} has no value")

    def _power(self, base: Value, exponent: Value) -> Value:
        if not _exact(exponent) or exponent.q > 2:
            return _exp(_multiplied(exponent, _positive(base, _log)))
        p = int(exponent.p)
        if exponent.q == 2:
            base = _sqrt(base)
        if abs(p) > LARGEST_POWER:
            base = _ball(base)
        power = base ** abs(p)
        return power if p >= 0 else _inverse(power)


def _ball(x: Value) -> Any:
    return flint.arb(x) if _exact(x) else x


def _added(x: Value, y: Value) -> Value:
    return x + y if _exact(x) == _exact(y) else _ball(x) + _ball(y)


def _multiplied(x: Value, y: Value) -> Value:
    return x * y if _exact(x) == _exact(y) else _ball(x) * _ball(y)


def _inverse(x: Value) -> Value:
    if _exact(x) and x == 0:
        raise Untold("division by zero")
    return 1 / x


def _sqrt(x: Value) -> Value:
    if not _exact(x):
        return x.sqrt()
    if x < 0:
        raise Untold("a root of a negative number")
    p, q = x.p.isqrt(), x.q.isqrt()
    return flint.fmpq(p, q) if p * p == x.p and q * q == x.q else flint.arb(x).sqrt()


def _positive(x: Value, function: Callable[[Value], Value]) -> Value:
    if _sign(x) != 1:
        raise Untold("what must be positive is not known to be")
    return function(x)


def _log(x: Value) -> Value:
    return _ball(x).log()


def _exp(x: Value) -> Value:
    return flint.fmpq(1) if _exact(x) and x == 0 else _ball(x).exp()


def _definite(x: Value) -> Value:
    if (sign := _sign(x)) is None:
        raise Untold("a sign that is not told")
    return flint.fmpq(sign)


def _extreme(larger: bool) -> Callable[..., Value]:
    def rule(first: Value, *others: Value) -> Value:
        for x in others:
            gap = _definite(_added(x, _multiplied(flint.fmpq(-1), first)))
            first = x if (gap > 0) == larger else first
        return first

    return rule


def _of_ball(name: str) -> Callable[[Value], Value]:
    return lambda x: getattr(_ball(x), name)()


RULES: dict[Any, Callable[..., Value]] = {
    sp.exp: _exp,
    sp.log: lambda x: _positive(x, _log),
    sp.Abs: abs,
    sp.sign: _definite,
    sp.Max: _extreme(True),
    sp.Min: _extreme(False),
    **{head: _of_ball(name) for head, name in FUNCTIONS.items()},
    **{getattr(sp, name): _of_ball(name) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch")},
    **{getattr(sp, name): _of_ball(name) for name in ("asinh", "acosh", "atanh")},
}
"""The values of functions from those of their arguments."""

CONSTANTS: dict[Any, Callable[[], Value]] = {
    sp.E: lambda: flint.arb(1).exp(),
    sp.pi: flint.arb.pi,
}
