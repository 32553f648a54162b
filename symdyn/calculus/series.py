r"""Formal power series whose coefficients are rational functions of any parameters.

    S = Series.of((1 + z) / (1 + z / gamma), z, 5)
    S.power(L)                   with a symbolic exponent, by the differential equation f g' = L f' g
    psi.reversion()              the inverse under composition

A series is known up to the order at which it is cut. Two are equal if their coefficients are the same rational
functions up to the lower of the two orders, which is what an `Identity` between them claims: one vanishing function for
each order. Products, reciprocals and reversions are those of `sympy.polys.ring_series`, over the field of rational
functions in all parameters. Nothing needs to be believed of a power or a reversion that its equation does not say:
`p.logarithmic(f, L)` is f p' - L f' p, and `psi.compose(inverse)` is z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ
from sympy.polys.ring_series import rs_mul, rs_series_inversion, rs_series_reversion
from sympy.polys.rings import ring

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import evaluate, latex


class Series:
    """c_0 + c_1 z + … + c_n z^n + O(z^{n+1}), with coefficients that are rational in their parameters."""

    __slots__ = ("coefficients", "variable")

    def __init__(self, coefficients: Iterable[Any], variable: sp.Symbol) -> None:
        self.coefficients: tuple[Any, ...] = tuple(formula(c) for c in coefficients)
        self.variable = variable
        if not self.coefficients:
            raise ValueError("a series has at least the coefficient of order 0")
        for c in self.coefficients:
            if c.has(variable):
                raise ValueError(f"the coefficient {c} contains the variable {variable} of the series")
            if not c.is_rational_function(*c.free_symbols) or c.has(sp.Float):
                raise ValueError(f"the coefficient {c} is no rational function of its parameters")

    @classmethod
    def of(cls, expression: Any, variable: sp.Symbol, order: int) -> Series:
        """The expansion at zero of a rational function of the variable. Raises ValueError at a pole."""
        numerator, denominator = sp.fraction(sp.together(formula(expression)))
        top, bottom = (sp.Poly(part, variable) for part in (numerator, denominator))
        while bottom.nth(0) == 0 and top.nth(0) == 0 and not top.is_zero:
            top, bottom = (sp.Poly(sp.cancel(p.as_expr() / variable), variable) for p in (top, bottom))
        if sp.cancel(bottom.nth(0)) == 0:
            raise ValueError(f"{expression} has a pole at {variable} = 0")
        up, down = (cls([p.nth(k) for k in range(order + 1)], variable) for p in (top, bottom))
        return up * down.reciprocal()

    @property
    def order(self) -> int:
        """The highest power that is known."""
        return len(self.coefficients) - 1

    def __getitem__(self, k: int) -> Any:
        return self.coefficients[k]

    def cut(self, order: int) -> Series:
        """The same series, known up to an order that is not higher."""
        if order > self.order:
            raise ValueError(f"the series is known up to order {self.order}, not {order}")
        return Series(self.coefficients[: order + 1], self.variable)

    def map(self, f: Callable[[Any], Any]) -> Series:
        return Series(map(f, self.coefficients), self.variable)

    def _together(self, other: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The coefficients of both up to the order to which both are known."""
        if not isinstance(other, Series):
            other = Series([other, *[sp.S.Zero] * self.order], self.variable)
        if other.variable != self.variable:
            raise ValueError(f"series in {self.variable} and in {other.variable} do not mix")
        n = min(self.order, other.order) + 1
        return self.coefficients[:n], other.coefficients[:n]

    def __add__(self, other: Any) -> Series:
        return Series([sp.cancel(a + b) for a, b in zip(*self._together(other), strict=True)], self.variable)

    __radd__ = __add__

    def __neg__(self) -> Series:
        return self.map(lambda c: -c)

    def __sub__(self, other: Any) -> Series:
        """The difference, coefficient by coefficient and as it stands: that it vanishes is for a proof to find."""
        return Series([a - b for a, b in zip(*self._together(other), strict=True)], self.variable)

    def __mul__(self, other: Any) -> Series:
        first, second = self._together(other)
        z, (p, q) = _in_ring(first, second)
        return self._made(rs_mul(p, q, z, len(first)), len(first))

    __rmul__ = __mul__

    def reciprocal(self) -> Series:
        """1/f. Raises ZeroDivisionError where c_0 = 0."""
        if sp.cancel(self.coefficients[0]) == 0:
            raise ZeroDivisionError("a series without a constant term has no reciprocal")
        z, (p,) = _in_ring(self.coefficients)
        return self._made(rs_series_inversion(p, z, self.order + 1), self.order + 1)

    def __truediv__(self, other: Any) -> Series:
        divisor = other if isinstance(other, Series) else Series([other], self.variable)
        return self.__mul__(divisor.reciprocal())

    def shifted(self, by: int) -> Series:
        """z^by f; for a negative number the first coefficients, which have to be zero, are left out."""
        if by >= 0:
            return Series([*[sp.S.Zero] * by, *self.coefficients], self.variable)
        if any(sp.cancel(c) != 0 for c in self.coefficients[:-by]):
            raise ValueError(f"the series does not begin with {self.variable}^{-by}")
        return Series(self.coefficients[-by:], self.variable)

    def power(self, exponent: Any) -> Series:
        """f^L for c_0 = 1 and any L, a symbol or a number.

        From f g' = L f' g one has k g_k = Σ_{j=1}^k (L j - (k - j)) f_j g_{k-j}, of which the solution with g_0 = 1 is
        the only one. Raises ValueError where c_0 is not 1.
        """
        if sp.cancel(self.coefficients[0] - 1) != 0:
            raise ValueError("a power with any exponent is formed of a series that begins with 1")
        exponent = formula(exponent)
        found: list[Any] = [sp.S.One]
        for k in range(1, self.order + 1):
            terms = ((exponent * j - (k - j)) * self.coefficients[j] * found[k - j] for j in range(1, k + 1))
            found.append(sp.cancel(sp.Add(*terms) / k))
        return Series(found, self.variable)

    def derivative(self) -> Series:
        return Series([k * c for k, c in enumerate(self.coefficients)][1:] or [sp.S.Zero], self.variable)

    def logarithmic(self, base: Series, exponent: Any) -> Series:
        """f g' - L f' g, which vanishes with g_0 = 1 exactly where g, this series, is the power f^L."""
        first: Series = base * self.derivative()
        second: Series = base.derivative() * self * formula(exponent)
        return first - second

    def compose(self, inner: Series) -> Series:
        """f(g(z)) for g(0) = 0. Raises ValueError for another g."""
        if sp.cancel(inner.coefficients[0]) != 0:
            raise ValueError("what is put into a series has to vanish at zero")
        n = min(self.order, inner.order)
        z, (outside, inside) = _in_ring(self.coefficients[: n + 1], inner.coefficients[: n + 1])
        held = {powers[0]: c for powers, c in outside.terms()}
        total = z.ring.zero
        for k in range(n, -1, -1):
            total = rs_mul(total, inside, z, n + 1) + held.get(k, z.ring.domain.zero)
        return Series(self._made(total, n + 1).coefficients, inner.variable)

    def reversion(self) -> Series:
        """The inverse under composition, for c_0 = 0 and c_1 ≠ 0. Raises ValueError for other series."""
        if self.order < 1 or sp.cancel(self.coefficients[0]) != 0 or sp.cancel(self.coefficients[1]) == 0:
            raise ValueError("a series with an inverse under composition begins with a multiple of z")
        z, (p,) = _in_ring(self.coefficients)
        y = p.ring.gens[1]
        found = rs_series_reversion(p, z, self.order + 1, y)
        terms = {powers[1]: p.ring.domain.to_sympy(c) for powers, c in found.terms()}
        return Series([terms.get(k, sp.S.Zero) for k in range(self.order + 1)], self.variable)

    def _made(self, polynomial: Any, length: int) -> Series:
        field = polynomial.ring.domain
        terms = {powers[0]: field.to_sympy(c) for powers, c in polynomial.terms()}
        return Series([terms.get(k, sp.S.Zero) for k in range(length)], self.variable)

    def components(self) -> list[Any]:
        """What vanishes where the series does."""
        return list(self.coefficients)

    def at(self, point: Mapping[Any, Any]) -> list[Any]:
        return [evaluate(c, dict(point)) for c in self.coefficients]

    def mutable_parts(self) -> Iterator[tuple[str, Any, Callable[[Any], Series]]]:
        """The coefficients, each with a function that puts a changed one back."""
        for k, c in enumerate(self.coefficients):
            yield f"coefficient of {self.variable}^{k}", c, partial(self._with, k)

    def _with(self, k: int, new: Any) -> Series:
        return Series([*self.coefficients[:k], new, *self.coefficients[k + 1 :]], self.variable)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Series)
            and self.variable == other.variable
            and self.coefficients == other.coefficients
        )

    def __hash__(self) -> int:
        return hash((self.variable, self.coefficients))

    def __repr__(self) -> str:
        return f"Series({self.latex()})"

    def latex(self) -> str:
        """The terms that do not vanish, and the order of what is left out."""
        z = latex(self.variable)
        shown = []
        for k, c in enumerate(self.coefficients):
            if c == 0:
                continue
            factor = "" if k == 0 else z if k == 1 else f"{z}^{{{k}}}"
            text = latex(c)
            if factor and c == 1:
                shown.append(factor)
            else:
                shown.append(
                    rf"\left({text}\right){factor}" if c.is_Add and factor else f"{text} {factor}".strip()
                )
        rest = rf"O\left({z}^{{{self.order + 1}}}\right)"
        return " + ".join([*shown, rest]).replace("+ - ", "- ").replace("+ -", "- ")


def _in_ring(*lists: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Coefficients as polynomials in z, with a letter for reversions, over the rational functions in the rest."""
    parameters = sorted({s for coefficients in lists for c in coefficients for s in c.free_symbols}, key=str)
    field = QQ.frac_field(*parameters) if parameters else QQ
    letters, z, _ = ring("z_,y_", field)
    made = []
    for coefficients in lists:
        terms = {(k, 0): field.from_sympy(c) for k, c in enumerate(coefficients)}
        made.append(letters.from_dict({powers: c for powers, c in terms.items() if c}))
    return z, made


__all__ = ["Series"]
