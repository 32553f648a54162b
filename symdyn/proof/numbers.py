"""Certified signs and enclosures of exact numbers.

A number built from rationals by roots, exponentials and the like is evaluated in ball arithmetic where
python-flint is installed, and otherwise in the interval arithmetic of mpmath: in both cases the enclosure is
rigorous, and a sign is reported only when the enclosure excludes zero.
"""

from __future__ import annotations

from typing import Any

import mpmath
import sympy as sp

from symdyn.proof.tower import to_exponentials

PRECISIONS = (80, 200, 500)


def _inverse_hyperbolics(number: sp.Expr) -> sp.Expr:
    rules = {
        sp.atanh: lambda z: sp.log((1 + z) / (1 - z)) / 2,
        sp.asinh: lambda z: sp.log(z + sp.sqrt(z**2 + 1)),
        sp.acosh: lambda z: sp.log(z + sp.sqrt(z**2 - 1)),
    }
    for head, rule in rules.items():
        number = number.replace(head, rule)
    return number


def _interval(number: sp.Expr, bits: int) -> Any | None:
    """An interval that contains the number, or None where interval arithmetic has no rule for a head."""
    iv = mpmath.iv.__class__()
    iv.prec = bits
    try:
        return _walk(number, iv)
    except (ZeroDivisionError, ValueError, KeyError, mpmath.libmp.ComplexResult):
        return None


def _walk(e: sp.Expr, iv: Any) -> Any:
    if e.is_Rational:
        return iv.mpf(int(e.p)) / iv.mpf(int(e.q))
    if e.is_Add or e.is_Mul:
        out = _walk(e.args[0], iv)
        for arg in e.args[1:]:
            out = out + _walk(arg, iv) if e.is_Add else out * _walk(arg, iv)
        return out
    if isinstance(e, sp.exp):
        return iv.exp(_walk(e.args[0], iv))
    if e.is_Pow:
        base, exponent = e.args
        x = _walk(base, iv)
        if exponent.is_Integer:
            return x ** int(exponent)
        if exponent.is_Rational and exponent.q == 2:
            return iv.sqrt(x) ** int(exponent.p)
        return iv.exp(_walk(exponent, iv) * iv.log(x))
    if isinstance(e, sp.log):
        return iv.log(_walk(e.args[0], iv))
    if isinstance(e, sp.Abs):
        return abs(_walk(e.args[0], iv))
    raise KeyError(e.func)


def _constants(number: sp.Expr) -> sp.Expr:
    """Signs, maxima and branches of exact numbers, decided exactly before intervals are used."""
    number = number.replace(sp.sign, lambda z: sp.Integer(certified_sign(z) or 0))
    for head, keep in ((sp.Max, 1), (sp.Min, -1)):
        while number.has(head):
            node = next(iter(number.atoms(head)))
            best = node.args[0]
            for arg in node.args[1:]:
                best = arg if (certified_sign(arg - best) or 0) * keep > 0 else best
            number = number.xreplace({node: best})
    return number


def certified_sign(number: sp.Expr) -> int | None:
    """+1 or -1 with proof, 0 for a rational zero, None where it could not be decided."""
    number = _constants(sp.sympify(number))
    if number.is_Rational:
        return int(sp.sign(number))
    number = to_exponentials(_inverse_hyperbolics(number))
    for bits in PRECISIONS:
        x = _interval(number, bits)
        if x is None:
            break
        if x.a > 0:
            return 1
        if x.b < 0:
            return -1
    return None


def enclosure(number: sp.Expr) -> str:
    """The number as text: exact if rational, otherwise an interval that contains it."""
    number = _constants(sp.sympify(number))
    if number.is_Rational:
        return str(number)
    x = _interval(to_exponentials(_inverse_hyperbolics(number)), 120)
    if x is None:
        return str(sp.N(number, 15))
    return f"[{mpmath.nstr(mpmath.mpf(x.a), 12)}, {mpmath.nstr(mpmath.mpf(x.b), 12)}]"


def residual_size(number: sp.Expr) -> sp.Float:
    """|number| at 50 digits relative to the largest of its terms (at least one)."""
    number = sp.sympify(number)
    terms = [abs(sp.N(term, 60)) for term in sp.Add.make_args(number)]
    return abs(sp.N(number, 60, maxn=200)) / max([sp.Float(1), *terms])
