"""The arithmetic that the kernel rests on: polynomials over ℚ in real variables, by FLINT.

Sums, products, powers, comparison and greatest common divisors of `fmpq_mpoly` are believed, and nothing else of any
computer-algebra system: FLINT is small in what is used of it, old and widely tested, and a hundred times faster than
what Python could do here. That a common divisor divides is multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from symdyn.kernel.lemma import Number, Power, Product, Term, Variable

Polynomial: TypeAlias = fmpq_mpoly
Ring: TypeAlias = fmpq_mpoly_ctx


class Refused(Exception):
    """A certificate that does not show what it is to show, and why."""


def ring(names: tuple[str, ...]) -> Ring:
    """Polynomials over ℚ in some variables; the same ring for the same names."""
    if len(set(names)) != len(names):
        raise Refused("a variable has a name that another one has")
    return fmpq_mpoly_ctx.get(names or ("unused",), "lex")


def key(p: Polynomial) -> Any:
    """What tells a polynomial from others."""
    return tuple((m, int(c.p), int(c.q)) for m, c in p.to_dict().items())


def constant(p: Polynomial) -> Any:
    """The number that a polynomial is, or None."""
    return None if not p.is_constant() else p.leading_coefficient() if p else fmpq(0)


def occurring(p: Polynomial) -> set[str]:
    """The names of the variables that occur in a polynomial."""
    names = p.context().names()
    return {name for name, degree in zip(names, p.degrees(), strict=True) if degree > 0}


def coefficients(p: Polynomial, variable: str) -> dict[int, Polynomial]:
    """p as a polynomial in one variable: its coefficients by the power."""
    context = p.context()
    at = context.variable_to_index(variable)
    parts: dict[int, dict[Any, Any]] = {}
    for monomial, c in p.to_dict().items():
        rest = (*monomial[:at], 0, *monomial[at + 1 :])
        parts.setdefault(int(monomial[at]), {})[rest] = c
    return {n: context.from_dict(terms) for n, terms in parts.items()}


def replaced(p: Polynomial, variable: str, power: int, by: Polynomial, times: Polynomial) -> Polynomial:
    """times^k p with variable^power replaced by `by`/times, where k is as large as it takes to have no quotient.

    It is zero where p is, if times variable^power = by; the converse takes that `times` is not zero.
    """
    parts = coefficients(p, variable)
    most = max(parts, default=0) // power
    if most == 0:
        return p
    x = p.context().gen(p.context().variable_to_index(variable))
    out = p - p
    for n, c in parts.items():
        k, rest = divmod(n, power)
        out += c * x**rest * by**k * times ** (most - k)
    return out


@dataclass(frozen=True)
class Quotient:
    """above/below, which is defined where none of `denominators` vanishes; `below` vanishes at most where one does."""

    above: Polynomial
    below: Polynomial
    denominators: tuple[Polynomial, ...] = ()


def lowest(x: Quotient) -> Quotient:
    """The quotient without common factors, and over 1 if it is a polynomial."""
    number = constant(x.below)
    if number:
        return Quotient(x.above * (1 / number), x.below * (1 / number), x.denominators)
    common = x.above.gcd(x.below)
    if constant(common) is not None:
        return x
    above, below = x.above // common, x.below // common
    if above * common != x.above or below * common != x.below:
        raise Refused("a common divisor does not divide")
    return lowest(Quotient(above, below, x.denominators))


def read(term: Term, value: Callable[[str], Quotient], one: Polynomial) -> Quotient:
    """The quotient that a term is, given those that its variables are."""
    if isinstance(term, Number):
        return Quotient(one * fmpq(term.value.numerator, term.value.denominator), one)
    if isinstance(term, Variable):
        return value(term.name)
    if isinstance(term, Power):
        base = read(term.base, value, one)
        n = abs(term.exponent)
        if term.exponent >= 0:
            return Quotient(base.above**n, base.below**n, base.denominators)
        return lowest(Quotient(base.below**n, base.above**n, (*base.denominators, base.above)))
    out = Quotient(one * isinstance(term, Product), one)
    for part in term.factors if isinstance(term, Product) else term.terms:
        x = read(part, value, one)
        shown = out.denominators + x.denominators
        if isinstance(term, Product):
            out = lowest(Quotient(out.above * x.above, out.below * x.below, shown))
        elif out.below == x.below:
            out = lowest(Quotient(out.above + x.above, out.below, shown))
        else:
            above = out.above * x.below + x.above * out.below
            out = lowest(Quotient(above, out.below * x.below, shown))
    return out
