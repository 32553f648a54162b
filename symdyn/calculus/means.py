r"""Means of products of jets φ⁽ⁿ⁾ of Gaussian linear forms, for an activation φ of which only the class is known.

    z1, z2 = normals(2)
    u = form("u_1", {z1: sqrt(q)})
    mean(jet(u, 1) ** 2)                        ∫ φ'(u)² Dz
    mean(jet(u) * jet(u, 1) * z1)               ∫ φ(u) φ'(u) z_1 Dz

Stein's rule takes the factors z out of a mean: E[z_i F] = E[∂F/∂z_i]. What is left is a product of jets, whose mean
depends on nothing but the covariances of their forms, so that forms may change places that have the same ones. This is
the normal form; two means with the same normal form are equal for every φ to which the rule applies. A derivative
in a parameter goes under the integral, ∂E F/∂θ = E[Σ_a ∂u_a/∂θ ∂F/∂u_a], and with Stein's rule is Price's theorem.

Both rules need a φ of a class: the jets that occur are absolutely continuous and grow no faster than exp(κx²) for every
κ > 0. A φ with a kink has this for φ alone, one with a jump has it not: it is for the domain to say so. Means that
differ in their normal form may still be equal for some φ; `Mean.at` tells them apart by polynomials φ, whose means are
exact numbers, formed directly from the moments of z and without Stein's rule.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import evaluate, latex

_x = sp.Symbol("x", real=True)
TRIALS = (_x, _x**2, _x + _x**2 / 2, 1 - _x + _x**3 / 3)
"""The polynomials that are taken for φ where a claim is put to refutation."""


@dataclass(frozen=True)
class Normal:
    """A standard normal variable, independent of the others."""

    number: int

    def latex(self) -> str:
        return f"z_{self.number}"


@dataclass(frozen=True)
class Form:
    """A linear form in standard normal variables, such as u = √q z_1."""

    name: str
    coefficients: tuple[tuple[Normal, sp.Expr], ...]

    def on(self, z: Normal) -> sp.Expr:
        return dict(self.coefficients).get(z, sp.S.Zero)

    def map(self, f: Callable[[Any], Any]) -> Form:
        return Form(self.name, tuple((z, f(c)) for z, c in self.coefficients))

    def covariance(self, other: Form) -> sp.Expr:
        total = sp.Add(*(c * other.on(z) for z, c in self.coefficients))
        return sp.cancel(sp.expand(total))


Jets = tuple[tuple[Form, tuple[int, ...]], ...]
"""For each form the orders of its jets: φ(u)φ''(u)² is ((u, (0, 2, 2)),)."""
Monomial = tuple[tuple[tuple[Normal, int], ...], Jets]


def normals(count: int) -> tuple[Mean, ...]:
    """The first independent standard normal variables z_1, z_2, …"""
    return tuple(Mean({(((Normal(i + 1), 1),), ()): sp.S.One}) for i in range(count))


def form(name: str, coefficients: Mapping[Mean, Any]) -> Form:
    """A linear form with a name for printing. Raises TypeError where it is not one in normal variables."""
    found = []
    for variable, c in coefficients.items():
        z = variable.variable
        if z is None:
            raise TypeError(f"{variable.latex()} is no standard normal variable")
        found.append((z, formula(c)))
    return Form(name, tuple(sorted(found, key=lambda pair: pair[0].number)))


def jet(u: Form, order: int = 0) -> Mean:
    """φ⁽ⁿ⁾(u)."""
    if order < 0:
        raise ValueError(f"a jet has an order from 0 on, not {order}")
    return Mean({((), ((u, (order,)),)): sp.S.One})


def mean(x: Any) -> Mean:
    """The mean of a sum of products; a number is its own mean."""
    return x if isinstance(x, Mean) else Mean({((), ()): formula(x)})


class Mean:
    """A sum of products of jets and normal variables, under the mean."""

    __slots__ = ("products",)

    def __init__(self, terms: Mapping[Monomial, Any]) -> None:
        self.products: dict[Monomial, Any] = {m: c for m, c in terms.items() if c != 0}

    @property
    def variable(self) -> Normal | None:
        """The normal variable that this is, or None."""
        if len(self.products) != 1:
            return None
        ((powers, jets), c) = next(iter(self.products.items()))
        return powers[0][0] if c == 1 and not jets and len(powers) == 1 and powers[0][1] == 1 else None

    def __add__(self, other: Any) -> Mean:
        total: dict[Monomial, Any] = dict(self.products)
        for m, c in mean(other).products.items():
            total[m] = total.get(m, sp.S.Zero) + c
        return Mean(total)

    __radd__ = __add__

    def __neg__(self) -> Mean:
        return Mean({m: -c for m, c in self.products.items()})

    def __sub__(self, other: Any) -> Mean:
        return self + -mean(other)

    def __rsub__(self, other: Any) -> Mean:
        return mean(other) - self

    def __mul__(self, other: Any) -> Mean:
        total: dict[Monomial, Any] = {}
        for (m, c), (n, d) in itertools.product(self.products.items(), mean(other).products.items()):
            product = _product(m, n)
            total[product] = total.get(product, sp.S.Zero) + c * d
        return Mean(total)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Mean:
        return self.__mul__(1 / formula(other))

    def __pow__(self, exponent: int) -> Mean:
        total = mean(1)
        for _ in range(exponent):
            total = total * self
        return total

    def map(self, f: Callable[[Any], Any]) -> Mean:
        """The same with a function of each coefficient, of those of the forms as well."""
        total: dict[Monomial, Any] = {}
        for (powers, jets), c in self.products.items():
            m = (powers, tuple((u.map(f), orders) for u, orders in jets))
            total[m] = total.get(m, sp.S.Zero) + f(c)
        return Mean(total)

    def derivative(self, parameter: sp.Symbol) -> Mean:
        """The derivative in a parameter of coefficients and forms, under the integral."""
        total = Mean({m: sp.diff(c, parameter) for m, c in self.products.items()})
        for (powers, jets), c in self.products.items():
            for k, (u, orders) in enumerate(jets):
                moved = {z: d for z, a in u.coefficients if (d := sp.diff(a, parameter)) != 0}
                for raised, times in _raised(orders):
                    changed = (*jets[:k], (u, raised), *jets[k + 1 :])
                    for z, d in moved.items():
                        total = total + Mean({_product((((z, 1),), ()), (powers, changed)): times * d * c})
        return total

    def normal_form(self) -> dict[Any, Any]:
        """The coefficients of the means of products of jets, by what these depend on, without normal variables."""
        total: dict[Any, Any] = {}
        waiting = list(self.products.items())
        while waiting:
            (powers, jets), c = waiting.pop()
            if powers:
                waiting.extend(_by_stein(powers, jets, c))
            else:
                key = _canonical(jets)
                total[key] = total.get(key, sp.S.Zero) + c
        return total

    def components(self) -> list[Any]:
        """What has to vanish for the mean to vanish for every φ."""
        return list(self.normal_form().values())

    def at(self, point: Mapping[Any, Any]) -> list[Any]:
        """The mean for each of a few polynomials φ, at a point of the parameters: exact numbers."""
        values = dict(point)
        return [self._for(phi, lambda c: evaluate(c, values)) for phi in TRIALS]

    def of(self, phi: Any, x: sp.Symbol = _x) -> Any:
        """The mean for one polynomial φ in x, as a function of the parameters."""
        phi = formula(phi)
        if not phi.is_polynomial(x):
            raise ValueError(f"{phi} is no polynomial in {x}: its mean is not known exactly")
        return self._for(phi.subs(x, _x), lambda c: c)

    def _for(self, phi: Any, value: Callable[[Any], Any]) -> Any:
        total = sp.S.Zero
        for (powers, jets), c in self.products.items():
            here = {z: sp.Symbol(f"z{z.number}") for z in self._variables()}
            product = sp.Mul(*(here[z] ** k for z, k in powers))
            for u, orders in jets:
                at = sp.Add(*(value(a) * here[z] for z, a in u.coefficients))
                product *= sp.Mul(*(sp.diff(phi, _x, n).subs(_x, at) for n in orders))
            polynomial = sp.Poly(sp.expand(product), *here.values()) if here else None
            moment = product if polynomial is None else _moment(polynomial)
            total += value(c) * moment
        return sp.expand(total)

    def _variables(self) -> list[Normal]:
        found = {z for powers, _ in self.products for z, _ in powers}
        found |= {z for _, jets in self.products for u, _ in jets for z, _ in u.coefficients}
        return sorted(found, key=lambda z: z.number)

    def mutable_parts(self) -> Iterator[tuple[str, Any, Callable[[Any], Mean]]]:
        """The coefficients, each with a function that puts a changed one back, as it is or differentiated."""
        for m, c in self.products.items():
            yield f"coefficient of {_typeset(m)}", c, partial(self._with, m, m)
        for m, c in self.products.items():
            powers, jets = m
            for k, (u, orders) in enumerate(jets):
                raised = tuple(sorted((orders[0] + 1, *orders[1:])))
                other = (powers, (*jets[:k], (u, raised), *jets[k + 1 :]))
                if other not in self.products:
                    yield f"a derivative more in {_typeset(m)}", c, partial(self._with, m, other)

    def _with(self, old: Monomial, new: Monomial, c: Any) -> Mean:
        """The same with another coefficient and another product for one of its terms."""
        rest = {m: kept for m, kept in self.products.items() if m != old}
        return Mean({**rest, new: c})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mean) and self.products == other.products

    def __hash__(self) -> int:
        return hash(frozenset(self.products.items()))

    def __repr__(self) -> str:
        return f"Mean({self.latex()})"

    def latex(self) -> str:
        shown = []
        for m, c in self.products.items():
            inside = _typeset(m)
            body = rf"\int {inside}\, Dz" if inside else ""
            if not body:
                shown.append(latex(c))
            elif c in (1, -1):
                shown.append(body if c == 1 else f"-{body}")
            else:
                shown.append(rf"\left({latex(c)}\right) {body}" if c.is_Add else f"{latex(c)} {body}")
        return " + ".join(shown).replace("+ - ", "- ").replace("+ -", "- ") or "0"


def _product(first: Monomial, second: Monomial) -> Monomial:
    powers: Counter[Normal] = Counter()
    for z, k in (*first[0], *second[0]):
        powers[z] += k
    orders: dict[Form, tuple[int, ...]] = {}
    for u, more in (*first[1], *second[1]):
        orders[u] = tuple(sorted((*orders.get(u, ()), *more)))
    by_number = sorted(powers.items(), key=lambda pair: pair[0].number)
    return tuple(by_number), tuple(sorted(orders.items(), key=lambda pair: (pair[0].name, str(pair[0]))))


def _raised(orders: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The derivative of a product of jets of one form: each with one order raised, and how often it occurs."""
    for n, times in Counter(orders).items():
        rest = list(orders)
        rest.remove(n)
        yield tuple(sorted((*rest, n + 1))), times


def _by_stein(powers: tuple[tuple[Normal, int], ...], jets: Jets, c: Any) -> Iterator[tuple[Monomial, Any]]:
    """E[z F] = E[∂F/∂z] for the first of the normal variables."""
    (z, k), others = powers[0], powers[1:]
    left = ((z, k - 1), *others) if k > 1 else others
    if k > 1:
        lower = ((z, k - 2), *others) if k > 2 else others
        yield (lower, jets), (k - 1) * c
    for place, (u, orders) in enumerate(jets):
        if (slope := u.on(z)) != 0:
            for raised, times in _raised(orders):
                yield (left, (*jets[:place], (u, raised), *jets[place + 1 :])), times * slope * c


def _canonical(jets: Jets) -> Any:
    """The orders of the jets and the covariances of their forms, in the first of all orders of these."""
    found = []
    for order in itertools.permutations(jets):
        orders = tuple(n for _, n in order)
        forms = [u for u, _ in order]
        covariances = tuple(
            sp.srepr(forms[i].covariance(forms[j])) for i in range(len(forms)) for j in range(i + 1)
        )
        found.append((orders, covariances))
    return min(found)


def _moment(polynomial: sp.Poly) -> Any:
    """The mean of a polynomial in independent standard normal variables: E z^{2k} = (2k - 1)!!."""
    total = sp.S.Zero
    for exponents, c in polynomial.terms():
        if not any(k % 2 for k in exponents):
            total += c * sp.Mul(*(sp.factorial2(k - 1) for k in exponents))
    return total


def _typeset(monomial: Monomial) -> str:
    powers, jets = monomial
    shown = []
    for u, orders in jets:
        for n, times in sorted(Counter(orders).items()):
            primes = "'" * n if n < 4 else f"^{{({n})}}"
            text = rf"\phi{primes}({u.name})"
            shown.append(
                text
                if times == 1
                else rf"{text}^{{{times}}}"
                if n == 0
                else rf"\left({text}\right)^{{{times}}}"
            )
    for z, k in powers:
        shown.append(z.latex() if k == 1 else f"{z.latex()}^{{{k}}}")
    return r"\, ".join(shown)


__all__ = ["Form", "Mean", "Normal", "form", "jet", "mean", "normals"]
