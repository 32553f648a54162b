"""The real number that an expression is at a point, computed apart from the engine and in its strictest sense.

Every subexpression must be a finite real number: a root or a logarithm of a negative number, a pole, a distribution
have no value. Where a coordinate of the point is complex, the value is complex.
"""

from __future__ import annotations

import contextvars
from typing import Any

import mpmath
import sympy as sp

from symdyn.calculus.gram import Dot, GramOperator, Linear
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix import Expression, ScalarSum, ScalarWord, TraceWord, evaluate
from symdyn.compile.named import unfold

WORDS = (ScalarWord, TraceWord, ScalarSum)
rounding = contextvars.ContextVar("rounding", default=True)
"""Whether a number that is zero to nearly all digits is taken for zero, as it is at an exact point."""


class Undefined(ArithmeticError):
    """A part of the expression is not a finite real number."""


def values(x: Any, point: dict[Any, Any], sizes: Any = None) -> list[Any]:
    """All numbers that a scalar, vector, operator, matrix or tuple of them is at a point."""
    if isinstance(x, (tuple, list)):
        return [n for part in x for n in values(part, point, sizes)]
    if isinstance(x, Expression):
        return [number(c) for c in evaluate(x, _letters(point), sizes)]
    if isinstance(x, Linear):
        return _sum([(value(c, point), point[v]) for v, c in x.terms.items()], len(_any_vector(point)))
    if isinstance(x, GramOperator):
        d = len(_any_vector(point))
        identity = value(x.identity, point)
        terms = [(value(c, point), point[u], point[v]) for (u, v), c in x.outer.items()]
        return [
            identity * int(i == j) + sum(c * number(u[i]) * number(v[j]) for c, u, v in terms)
            for i in range(d)
            for j in range(d)
        ]
    if isinstance(x, Isotropic):
        return values(_as_gram(x), {**point, x.x: sum(sp.sympify(n) ** 2 for n in point[x.vector])})
    return [value(x, point, sizes)]


def value(e: Any, point: dict[Any, Any], sizes: Any = None) -> Any:
    """The number that a scalar is at a point. Raises Undefined."""
    e = unfold(sp.sympify(e))
    functions = {f: body for f, body in point.items() if isinstance(f, sp.core.function.UndefinedFunction)}
    for f, body in functions.items():
        e = e.replace(f, body).doit()
    if any(not _is_real(n) for n in point.values() if isinstance(n, (complex, sp.Expr))):
        return mpmath.mpc(*(sp.N(part, 60) for part in _complex(e, point).as_real_imag()))
    return _walk(e, point, sizes)


def _is_real(n: Any) -> bool:
    return not isinstance(n, complex) and n.is_real is not False


def _complex(e: Any, point: dict[Any, Any]) -> Any:
    return sp.N(
        e.xreplace(
            {s: sp.nsimplify(n) if isinstance(n, complex) else sp.sympify(n) for s, n in point.items()}
        ),
        60,
    )


def number(n: Any) -> Any:
    """An exact number in the working precision."""
    if isinstance(n, (mpmath.mpf, mpmath.mpc)):
        return n
    n = sp.sympify(n)
    if n.is_Rational:
        return mpmath.mpf(int(n.p)) / int(n.q)
    return _walk(n, {}, None)


def _tiny() -> Any:
    return mpmath.mpf(10) ** (-(mpmath.mp.dps * 4) // 5)


def _round(x: Any) -> Any:
    """x, or zero where it is zero to all digits but the last fifth."""
    return mpmath.mpf(0) if rounding.get() and abs(x) < _tiny() else x


def _at_least(bound: int, function: Any, strict: bool = False) -> Any:
    def apply(x: Any) -> Any:
        gap = _round(x - bound)
        if gap < 0 or (strict and gap == 0):
            raise Undefined
        return function(gap + bound)

    return apply


def _pole(denominator: Any, function: Any) -> Any:
    def apply(x: Any) -> Any:
        if _round(denominator(x)) == 0:
            raise Undefined
        return function(x)

    return apply


def _within_one(function: Any, strict: bool = False) -> Any:
    def apply(x: Any) -> Any:
        gap = _round(1 - abs(x))
        if gap < 0 or (strict and gap == 0):
            raise Undefined
        return function(x if gap else mpmath.sign(x))

    return apply


def _gamma(x: Any) -> Any:
    if x <= 0 and _round(x - mpmath.nint(x)) == 0:
        raise Undefined
    return mpmath.gamma(x)


def _step(x: Any) -> Any:
    x = _round(x)
    return mpmath.mpf(1) if x > 0 else mpmath.mpf(0) if x < 0 else mpmath.mpf(1) / 2


def _floor(x: Any) -> Any:
    nearest = mpmath.nint(x)
    return nearest if _round(x - nearest) == 0 else mpmath.floor(x)


FUNCTIONS = {
    sp.exp: mpmath.exp,
    sp.log: _at_least(0, mpmath.log, strict=True),
    sp.sin: mpmath.sin,
    sp.cos: mpmath.cos,
    sp.tan: _pole(mpmath.cos, mpmath.tan),
    sp.cot: _pole(mpmath.sin, mpmath.cot),
    sp.sec: _pole(mpmath.cos, mpmath.sec),
    sp.asin: _within_one(mpmath.asin),
    sp.acos: _within_one(mpmath.acos),
    sp.atan: mpmath.atan,
    sp.sinh: mpmath.sinh,
    sp.cosh: mpmath.cosh,
    sp.tanh: mpmath.tanh,
    sp.coth: _pole(mpmath.sinh, mpmath.coth),
    sp.asinh: mpmath.asinh,
    sp.acosh: _at_least(1, mpmath.acosh),
    sp.atanh: _within_one(mpmath.atanh, strict=True),
    sp.erf: mpmath.erf,
    sp.gamma: _gamma,
    sp.Abs: abs,
    sp.sign: lambda x: mpmath.sign(_round(x)),
    sp.Heaviside: lambda x, half=None: _step(x),
    sp.floor: _floor,
    sp.ceiling: lambda x: -_floor(-x),
    sp.frac: lambda x: x - _floor(x),
    sp.Max: max,
    sp.Min: min,
    sp.conjugate: lambda x: x,
    sp.re: lambda x: x,
    sp.im: lambda x: mpmath.mpf(0),
}


def _walk(e: Any, point: dict[Any, Any], sizes: Any) -> Any:
    if e in point:
        return number(point[e])
    if isinstance(e, Dot):
        return mpmath.fsum(number(p) * number(q) for p, q in zip(point[e.left], point[e.right], strict=True))
    if isinstance(e, WORDS):
        return number(evaluate(e, _letters(point), sizes))
    if e.is_Rational:
        return number(e)
    if e.is_NumberSymbol:
        return {sp.pi: mpmath.pi, sp.E: mpmath.e, sp.EulerGamma: mpmath.euler}[e] + mpmath.mpf(0)
    if e.is_Symbol:
        raise KeyError(f"no value given for {e}")
    if e.is_Add:
        return mpmath.fsum(_walk(arg, point, sizes) for arg in e.args)
    if e.is_Mul:
        return mpmath.fprod([_walk(arg, point, sizes) for arg in e.args])
    if e.is_Pow:
        return _power(_walk(e.base, point, sizes), e.exp, point, sizes)
    if isinstance(e, sp.Piecewise):
        branch = next((branch for branch, condition in e.args if _true(condition, point, sizes)), None)
        if branch is None:
            raise Undefined
        return _walk(branch, point, sizes)
    if type(e) in FUNCTIONS:
        return FUNCTIONS[type(e)](*(_walk(arg, point, sizes) for arg in e.args))
    if isinstance(e, (sp.Derivative, sp.Subs)):
        return _walk(e.doit(), point, sizes)
    raise Undefined(f"{type(e).__name__} has no value")


def _power(base: Any, exponent: Any, point: dict[Any, Any], sizes: Any) -> Any:
    base = _round(base)
    power = _walk(exponent, point, sizes)
    if _round(power) == 0:
        return mpmath.mpf(1)
    if base == 0:
        if power < 0:
            raise Undefined
        return mpmath.mpf(0)
    if exponent.is_Integer or _round(power - mpmath.nint(power)) == 0:
        return base ** int(mpmath.nint(power))
    if base < 0:
        raise Undefined
    return base**power


def _true(condition: Any, point: dict[Any, Any], sizes: Any) -> bool:
    if condition in (True, False, sp.true, sp.false):
        return bool(condition)
    if isinstance(condition, (sp.And, sp.Or)):
        parts = [_true(c, point, sizes) for c in condition.args]
        return all(parts) if isinstance(condition, sp.And) else any(parts)
    if isinstance(condition, sp.Not):
        return not _true(condition.args[0], point, sizes)
    gap = _round(_walk(condition.lhs, point, sizes) - _walk(condition.rhs, point, sizes))
    return {"==": gap == 0, "!=": gap != 0, "<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[
        condition.rel_op
    ]


holds = _true


def _letters(point: dict[Any, Any]) -> dict[Any, Any]:
    """What the words of the matrix calculus take: exact matrices and numbers."""
    return {
        key: n
        for key, n in point.items()
        if isinstance(n, (list, tuple, sp.MatrixBase)) or hasattr(key, "free_symbols")
    }


def _any_vector(point: dict[Any, Any]) -> Any:
    return next(n for n in point.values() if isinstance(n, (list, tuple)))


def _sum(terms: list[tuple[Any, Any]], d: int) -> list[Any]:
    return [mpmath.fsum(c * number(v[i]) for c, v in terms) for i in range(d)]


def _as_gram(x: Isotropic) -> GramOperator:
    """f I + (h/x) ββᵀ, x being ‖β‖² at the point."""
    return GramOperator(x.f, {(x.vector, x.vector): x.h / x.x})
