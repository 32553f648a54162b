"""Certified signs and enclosures of exact numbers.

A number built from rationals by roots, exponentials, logarithms, trigonometric functions, the error function and Γ
is evaluated in the ball arithmetic of python-flint. The enclosure is rigorous, and a sign is reported only when it
excludes zero.
"""

from __future__ import annotations

from typing import Any

import flint
import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.proof.zero.hyperbolic import to_exponentials

PRECISIONS = (80, 200, 500)

ORDINARY = 80
"""Bits of the numerators and denominators that points and claims usually have."""

FINE = 500
"""Bits at which a number that may be zero is enclosed, and shown if its sign is not seen before."""

WIDTH = sp.Rational(1, 10**60)
"""An enclosure that contains zero and is not wider agrees with zero."""

INVERSE_HYPERBOLIC = {
    sp.atanh: lambda z: sp.log((1 + z) / (1 - z)) / 2,
    sp.asinh: lambda z: sp.log(z + sp.sqrt(z**2 + 1)),
    sp.acosh: lambda z: sp.log(z + sp.sqrt(z**2 - 1)),
}


class NoEnclosure(Exception):
    """The number has a head without an interval rule, or leaves the real numbers."""


class Balls:
    """Balls of python-flint at a working precision in bits."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def evaluate(self, number: sp.Expr) -> Any:
        with flint.ctx.workprec(self.bits):
            x = _walk(number, self)
        if not x.is_finite():
            raise NoEnclosure("the ball is not finite")
        return x

    def rational(self, p: int, q: int) -> Any:
        return flint.arb(flint.fmpq(p, q))

    def exp(self, x: Any) -> Any:
        return x.exp()

    def log(self, x: Any) -> Any:
        return x.log()

    def sqrt(self, x: Any) -> Any:
        return x.sqrt()

    def pi(self) -> Any:
        return flint.arb.pi()

    def function(self, name: str, x: Any) -> Any:
        return getattr(x, name)()

    def sign(self, x: Any) -> int | None:
        return 1 if x > 0 else -1 if x < 0 else None

    def narrow(self, x: Any) -> bool:
        return bool(x.rad() < flint.arb(flint.fmpq(WIDTH.p, WIDTH.q)))

    def show(self, x: Any) -> str:
        return str(x.str(12))


FUNCTIONS = {
    sp.sin: "sin",
    sp.cos: "cos",
    sp.tan: "tan",
    sp.cot: "cot",
    sp.sec: "sec",
    sp.csc: "csc",
    sp.asin: "asin",
    sp.acos: "acos",
    sp.atan: "atan",
    sp.erf: "erf",
    sp.erfc: "erfc",
    sp.erfi: "erfi",
    sp.erfinv: "erfinv",
    sp.gamma: "gamma",
    sp.loggamma: "lgamma",
    sp.digamma: "digamma",
}
"""Functions that ball arithmetic has under these names."""


def _walk(e: sp.Expr, field: Balls) -> Any:
    if e.is_Rational:
        return field.rational(int(e.p), int(e.q))
    if e.is_Add or e.is_Mul:
        out = _walk(e.args[0], field)
        for arg in e.args[1:]:
            out = out + _walk(arg, field) if e.is_Add else out * _walk(arg, field)
        return out
    if isinstance(e, sp.exp):
        return field.exp(_walk(e.args[0], field))
    if isinstance(e, sp.log):
        return field.log(_walk(e.args[0], field))
    if isinstance(e, sp.Abs):
        return abs(_walk(e.args[0], field))
    if e.is_Pow:
        return _power(e, field)
    if e is sp.E:
        return field.exp(field.rational(1, 1))
    if e is sp.pi:
        return field.pi()
    if e is sp.GoldenRatio:
        return (field.rational(1, 1) + field.sqrt(field.rational(5, 1))) / field.rational(2, 1)
    if type(e) in FUNCTIONS:
        return field.function(FUNCTIONS[type(e)], _walk(e.args[0], field))
    raise NoEnclosure(f"no interval rule for {e.func.__name__}")


def _power(e: sp.Expr, field: Balls) -> Any:
    base, exponent = e.args
    x = _walk(base, field)
    if exponent.is_Rational and exponent.q <= 2:
        root = x if exponent.q == 1 else field.sqrt(x)
        power = root ** abs(int(exponent.p))
        return power if exponent.p > 0 else field.rational(1, 1) / power
    return field.exp(_walk(exponent, field) * field.log(x))


def bits_of_literals(number: sp.Expr) -> int:
    """Bits that the longest literals of a number take beyond the usual: what 10⁻²⁰⁰ changes is seen with them alone."""
    literals = number.atoms(sp.Rational)
    longest = max((max(abs(int(r.p)).bit_length(), int(r.q).bit_length()) for r in literals), default=0)
    return max(0, longest - ORDINARY)


def _enclose(number: sp.Expr, bits: int) -> Any | None:
    try:
        return Balls(bits).evaluate(number)
    except (NoEnclosure, ZeroDivisionError):
        return None


def _without_jumps(number: sp.Expr) -> sp.Expr:
    """The number with its signs, steps and integer parts decided, as far as enclosures decide them."""
    for head, value in JUMPS.items():
        for node in sorted(number.atoms(head), key=sp.count_ops):
            found = value(*node.args)
            if found is not None:
                number = number.xreplace({node: found})
    return number


def _sign_value(z: sp.Expr) -> sp.Expr | None:
    s = certified_sign(z)
    return None if s is None else sp.Integer(s)


def _step_value(z: sp.Expr, at_zero: Any = sp.S.Half) -> sp.Expr | None:
    s = certified_sign(z)
    return None if s is None else at_zero if s == 0 else sp.Integer(max(s, 0))


def _integer_part(z: sp.Expr) -> sp.Expr | None:
    guess = sp.Integer(int(sp.floor(sp.N(z, 30))))
    for candidate in (guess - 1, guess, guess + 1):
        if certified_sign(z - candidate) in (0, 1) and certified_sign(z - candidate - 1) == -1:
            return candidate
    return None


def _integer_above(z: sp.Expr) -> sp.Expr | None:
    below = _integer_part(-z)
    return None if below is None else -below


JUMPS: dict[Any, Any] = {
    sp.sign: _sign_value,
    sp.Heaviside: _step_value,
    sp.floor: _integer_part,
    sp.ceiling: _integer_above,
}


def _elementary(number: sp.Expr) -> sp.Expr:
    """The number by roots, exponentials and logarithms; signs and maxima of exact numbers are decided first."""
    number = _without_jumps(number)
    for head, keep in ((sp.Max, 1), (sp.Min, -1)):
        while number.has(head):
            node = next(iter(number.atoms(head)))
            best = node.args[0]
            for arg in node.args[1:]:
                best = arg if (certified_sign(arg - best) or 0) * keep > 0 else best
            number = number.xreplace({node: best})
    for head, rule in INVERSE_HYPERBOLIC.items():
        number = number.replace(head, rule)
    return to_exponentials(number)


def certified_sign(number: sp.Expr) -> int | None:
    """+1 or -1 with proof, 0 for a rational zero, None where it could not be decided."""
    number = formula(number)
    if number.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
        return None
    if not number.is_Rational:
        number = _elementary(number)
    if number.is_Rational:
        return int(sp.sign(number))
    for bits in _precisions(number):
        x = _enclose(number, bits)
        if x is not None and (sign := Balls(bits).sign(x)) is not None:
            return sign
    return None


def _precisions(number: sp.Expr) -> tuple[int, ...]:
    more = bits_of_literals(number)
    return (*PRECISIONS, FINE + more) if more else PRECISIONS


def enclosure(number: sp.Expr) -> str:
    """The number as text: exact if rational, otherwise an interval that contains it, and not zero where it can be."""
    number = _elementary(formula(number))
    if number.is_Rational:
        return str(number)
    text = str(sp.N(number, 15))
    for bits in (120, *_precisions(number)[1:]):
        x = _enclose(number, bits)
        if x is not None:
            text = Balls(bits).show(x)
            if Balls(bits).sign(x) is not None:
                break
    return text


def agrees_with_zero(number: sp.Expr) -> bool:
    """Whether a number is zero as far as enclosures tell: a rational zero, or enclosed with zero in less than 1e-60."""
    number = formula(number)
    if number.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
        return False
    if not number.is_Rational:
        number = _elementary(number)
    if number.is_Rational:
        return bool(number == 0)
    bits = max(_precisions(number))
    x = _enclose(number, bits)
    return x is not None and Balls(bits).sign(x) is None and Balls(bits).narrow(x)


def residual_size(number: sp.Expr) -> sp.Float:
    """|number| at 50 digits relative to the largest of its terms (at least one)."""
    number = formula(number)
    terms = [abs(sp.N(term, 60)) for term in sp.Add.make_args(number)]
    return abs(sp.N(number, 60, maxn=200)) / max([sp.Float(1), *terms])
