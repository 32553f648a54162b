r"""Vectors of unstated dimension, their linear combinations, and inner products as symbols.

This is the vocabulary of the Gram calculus (`symdyn.calculus.gram`), with its LaTeX.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

from symdyn.calculus.formula import formula

Scalar = Any  # a SymPy expression; SymPy ships no types

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def as_scalar(value: object) -> Scalar | None:
    """The exact SymPy scalar equal to `value`, or None if it is not one (floats are not exact)."""
    if isinstance(value, sympy.Expr):
        return value
    if isinstance(value, numbers.Rational) and not isinstance(value, bool):
        return formula(value)
    return None


class Printer(LatexPrinter):
    """LaTeX in the order in which one writes: η_w a² - η_a‖w‖², with (vᵀv)^(1/2) as ‖v‖.

    Learning rates come first in a product, then scalars, inner products and norms; a sum starts with a term
    that has no minus sign, if there is one.
    """

    def _print_Mul(self, expr: Scalar) -> str:
        number, rest = expr.as_coeff_Mul()
        if number.is_negative:
            return f"- {self._print(-expr)}"
        factors = sorted(sympy.Mul.make_args(rest), key=_place)
        numbers = [] if number == 1 else [number]
        order, self._settings["order"] = self._settings["order"], "none"
        try:
            return str(super()._print_Mul(sympy.Mul(*numbers, *factors, evaluate=False)))
        finally:
            self._settings["order"] = order

    def _as_ordered_terms(self, expr: Scalar, order: str | None = None) -> list[Scalar]:
        terms = super()._as_ordered_terms(expr, order="lex")
        first = next((i for i, term in enumerate(terms) if not term.could_extract_minus_sign()), 0)
        return [terms[first], *terms[:first], *terms[first + 1 :]]

    def _print_Pow(self, expr: Scalar) -> str:
        base, power = expr.base, 2 * expr.exp
        if isinstance(base, Dot) and base.left == base.right and power.is_Integer:
            size = _norm_latex(base.left, abs(power))
            return size if power > 0 else rf"\frac{{1}}{{{size}}}"
        return str(super()._print_Pow(expr))

    def factor(self, coefficient: Scalar) -> str:
        """The coefficient as the left factor of a product, parenthesised if it is a sum."""
        text = str(self.doprint(coefficient))
        if self._needs_mul_brackets(coefficient, first=True):
            return rf"\left({text}\right)"
        return text


def _place(factor: Scalar) -> int:
    """Where a factor stands in a product: numbers, rates, scalars, inner products, norms, functions, sums."""
    base = factor.base if factor.is_Pow else factor
    if factor.is_number:
        return 0
    if isinstance(base, InnerProductSymbol):
        return 4 if base.left == base.right else 3
    if base.is_Symbol:
        return 1 if base.name.startswith("eta") else 2
    return 5 if base.is_Function else 6


def _norm_latex(vector: Vector, power: Scalar) -> str:
    return vector.norm_latex() + ("" if power == 1 else f"^{{{power}}}" if power > 9 else f"^{power}")


def join_terms(terms: Iterator[tuple[Scalar, str]], shown: Mapping[Any, str] | None = None) -> str:
    """LaTeX of Σ coefficient · symbol with its signs; `symbol` is already LaTeX. An empty sum is 0.

    `shown` says how particular symbols of the coefficients print.
    """
    printer = Printer()
    printer._settings["symbol_names"] = {**printer._settings["symbol_names"], **(shown or {})}
    text = ""
    for coefficient, symbol in terms:
        negative = _is_negative(coefficient)
        size = -coefficient if negative else coefficient
        body = symbol if size == 1 else f"{printer.factor(size)} {symbol}"
        text += (" - " if negative else " + ") + body if text else ("- " if negative else "") + body
    return text or "0"


def _is_negative(coefficient: Scalar) -> bool:
    """Whether the coefficient prints better with a minus in front: of a sum, only if each term has one."""
    return all(term.could_extract_minus_sign() for term in sympy.Add.make_args(coefficient))


class Linear:
    """What `Vector` and `Combination` share: the operations of a vector space over the SymPy scalars."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy scalars leave products to this class

    @property
    def terms(self) -> dict[Vector, Scalar]:
        """The non-zero coefficient of each vector, in the order in which the sum was written."""
        raise NotImplementedError

    def __add__(self, other: object) -> Combination:
        if not isinstance(other, Linear):
            return NotImplemented
        return Combination(merge(self.terms, other.terms))

    def __radd__(self, other: object) -> Combination:
        if other == 0:  # so that the built-in sum works
            return Combination(self.terms)
        return NotImplemented

    def __neg__(self) -> Combination:
        return -1 * self

    def __pos__(self) -> Combination:
        return Combination(self.terms)

    def __sub__(self, other: object) -> Combination:
        if not isinstance(other, Linear):
            return NotImplemented
        return self + (-other)

    def __mul__(self, scalar: object) -> Combination:
        factor = as_scalar(scalar)
        if factor is None:
            return NotImplemented
        return Combination({v: c * factor for v, c in self.terms.items()})

    __rmul__ = __mul__

    def __truediv__(self, scalar: object) -> Combination:
        factor = as_scalar(scalar)
        if factor is None:
            return NotImplemented
        if factor.is_zero:
            raise ZeroDivisionError("a vector cannot be divided by zero")
        inverse: object = 1 / factor
        return self * inverse


class Vector(Linear):
    r"""A named vector of unstated dimension; two vectors are the same when name and symbol are.

    `Vector("beta_star", r"\beta_*")`. The name is ASCII: a letter, then letters, digits or underscores.
    Raises ValueError for any other name.
    """

    __slots__ = ("_latex", "name")
    name: str
    _latex: str

    def __init__(self, name: str, latex: str | None = None) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot name a vector: use a letter, then letters, digits or underscores"
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_latex", sympy.latex(sympy.Symbol(name)) if latex is None else latex)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a Vector is immutable; {attribute!r} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self._latex)

    @property
    def terms(self) -> dict[Vector, Scalar]:
        return {self: sympy.S.One}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return (type(self), self.name, self.latex()) == (type(other), other.name, other.latex())

    def __hash__(self) -> int:
        return hash(("Vector", self.name, self.latex()))

    def __repr__(self) -> str:
        return self.name

    def latex(self) -> str:
        return self._latex

    def norm_latex(self) -> str:
        return rf"\|{self.latex()}\|"

    def inner_latex(self, other: Vector) -> str:
        return rf"{transposed_latex(self)} {other.latex()}"


class Entries(Vector):
    r"""A square matrix as the vector of its entries: the inner product ⟨K, K'⟩_F is Frobenius', tr KᵀK'.

    It prints as such, and compiled functions take the matrix, (..., n, n).
    """

    __slots__ = ()

    def norm_latex(self) -> str:
        return rf"\|{self.latex()}\|_F"

    def inner_latex(self, other: Vector) -> str:
        return rf"\langle {self.latex()}, {other.latex()}\rangle_F"


class Combination(Linear):
    """A finite linear combination Σ c_v v of vectors; `terms` maps each vector to its coefficient, not 0."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Mapping[Vector, Scalar] | None = None) -> None:
        scalars = {v: exact(c) for v, c in (terms or {}).items()}
        self._terms = {v: c for v, c in scalars.items() if c != 0}

    @property
    def terms(self) -> dict[Vector, Scalar]:
        return dict(self._terms)

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if isinstance(other, Linear) else NotImplemented

    def __hash__(self) -> int:
        if len(self._terms) == 1:
            ((vector, coefficient),) = self._terms.items()
            if coefficient == 1:
                return hash(vector)
        return hash(frozenset(self._terms.items()))

    def __bool__(self) -> bool:
        return bool(self._terms)

    def __repr__(self) -> str:
        return " + ".join(f"({c})*{v}" for v, c in self._terms.items()) or "0"

    def map(self, function: Any) -> Combination:
        """The combination with `function` applied to every coefficient, for instance `sympy.expand`."""
        return Combination({v: function(c) for v, c in self._terms.items()})

    def latex(self) -> str:
        return join_terms((c, v.latex()) for v, c in self._terms.items())


class InnerProductSymbol(sympy.Symbol):
    r"""The inner product leftᵀright of two named vectors, a real commutative symbol.

    The two vectors are kept in the order of their names, so that Dot(u, v) == Dot(v, u). No sign is assumed,
    not even of vᵀv: signs belong to domains.
    """

    __slots__ = ("left", "right")

    def __new__(cls, left: Vector, right: Vector) -> InnerProductSymbol:
        for vector in (left, right):
            if not isinstance(vector, Vector):
                raise TypeError(f"Dot joins two named vectors, not {vector!r}; use inner for combinations")
        left, right = sorted((left, right), key=lambda vector: vector.name)
        # SymPy's cache would hand out one object for all LaTeX spellings of the same two names
        dot = sympy.Symbol.__xnew__(cls, f"dot({left.name},{right.name})", real=True)
        dot.left, dot.right = left, right
        return dot  # type: ignore[no-any-return]

    def _hashable_content(self) -> tuple[Any, ...]:
        # SymPy's caches hand out equal objects for one another, so equal ones must print alike
        return (*super()._hashable_content(), self.left.latex(), self.right.latex())

    def __getnewargs_ex__(self) -> tuple[tuple[Vector, Vector], dict[str, Any]]:
        return (self.left, self.right), {}

    def _latex(self, printer: LatexPrinter) -> str:
        if self.left == self.right:
            return _norm_latex(self.left, 2)
        return str(self.left.inner_latex(self.right))


# SymPy's printers single out any class whose name is "Dot", so the class itself is called otherwise
Dot = InnerProductSymbol


def transposed_latex(vector: Vector) -> str:
    """LaTeX of vᵀ, in parentheses where the vector's own LaTeX has a superscript.

    Braces are not enough: TeX sees through them where an accent is alone inside.
    """
    text = vector.latex()
    if "^" in text:
        return rf"({text})^\top"
    return (f"{{{text}}}" if " " in text else text) + r"^\top"


def inner(u: Linear, v: Linear) -> Scalar:
    """uᵀv, bilinear and symmetric: a polynomial in the `Dot`s of the vectors of u and v."""
    for x in (u, v):
        if not isinstance(x, Linear):
            raise TypeError(f"inner takes vectors and their combinations, not {x!r}")
    return sympy.Add(*(c * d * Dot(p, q) for p, c in u.terms.items() for q, d in v.terms.items()))


def norm2(u: Linear) -> Scalar:
    """‖u‖² = uᵀu."""
    return inner(u, u)


def norm(u: Linear) -> Scalar:
    """‖u‖ = √(uᵀu)."""
    return sympy.sqrt(norm2(u))


def exact(value: object) -> Scalar:
    scalar = as_scalar(value)
    if scalar is None:
        raise TypeError(f"expected a SymPy expression, an integer or a fraction, not {value!r}")
    return scalar


def merge(left: Mapping[Any, Scalar], right: Mapping[Any, Scalar]) -> dict[Any, Scalar]:
    merged = dict(left)
    for key, c in right.items():
        merged[key] = merged.get(key, sympy.S.Zero) + c
    return merged
