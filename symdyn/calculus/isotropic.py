r"""The isotropic calculus: operators f I + h β̂β̂ᵀ, with f and h functions of x = ‖β‖².

β̂ = β/‖β‖ is the unit vector, so no 1/x blows up at the origin. All such operators of one β commute: they
have the eigenvalue f on the hyperplane orthogonal to β and f + h along β, and a function of the operator is
the function of these two. Gradients and Hessians of radial functions q(‖β‖²) stay inside the calculus:

    ∇q = 2 q′(x) β,        ∇²q = 2 q′(x) I + 4 x q″(x) β̂β̂ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.vectors import Dot, Scalar, Vector, as_scalar, join_terms, transposed_latex

BETA = Vector("beta", r"\beta")


@dataclass(frozen=True)
class Isotropic:
    r"""The operator f I + h β̂β̂ᵀ on R^d for every d; f and h depend on the symbol x, which stands for ‖β‖².

    `vector` is the β it acts along. At β = 0 it is defined only where h vanishes.
    Raises TypeError where f or h is not an exact scalar or x is not a symbol.
    """

    f: Scalar
    h: Scalar
    x: Any
    vector: Vector = BETA

    def __post_init__(self) -> None:
        if not isinstance(self.x, sympy.Symbol):
            raise TypeError(f"the radial coordinate must be a symbol, not {self.x!r}")
        for name in ("f", "h"):
            scalar = as_scalar(getattr(self, name))
            if scalar is None:
                raise TypeError(f"{name} must be an exact scalar, not {getattr(self, name)!r}")
            object.__setattr__(self, name, scalar)

    @classmethod
    def unnormalised(cls, f: Scalar, c: Scalar, x: Any, vector: Vector = BETA) -> Isotropic:
        """f I + c ββᵀ, that is h = x c."""
        return cls(f, x * c, x, vector)

    @property
    def transverse(self) -> Scalar:
        """The eigenvalue f on the hyperplane orthogonal to β."""
        return self.f

    @property
    def radial(self) -> Scalar:
        """The eigenvalue f + h along β."""
        return self.f + self.h

    @property
    def T(self) -> Isotropic:
        """The transpose: the operator itself, which is symmetric."""
        return self

    def _with(self, f: Scalar, h: Scalar) -> Isotropic:
        return Isotropic(f, h, self.x, self.vector)

    def _same_frame(self, other: Isotropic) -> None:
        if (self.x, self.vector) != (other.x, other.vector):
            raise ValueError(
                f"an operator along {self.vector} in {self.x} does not combine with one along "
                f"{other.vector} in {other.x}"
            )

    def __add__(self, other: object) -> Isotropic:
        if not isinstance(other, Isotropic):
            return NotImplemented
        self._same_frame(other)
        return self._with(self.f + other.f, self.h + other.h)

    def __neg__(self) -> Isotropic:
        return self._with(-self.f, -self.h)

    def __sub__(self, other: object) -> Isotropic:
        if not isinstance(other, Isotropic):
            return NotImplemented
        return self + (-other)

    def __mul__(self, scalar: object) -> Isotropic:
        factor = as_scalar(scalar)
        if factor is None:
            return NotImplemented
        return self._with(self.f * factor, self.h * factor)

    __rmul__ = __mul__

    def __truediv__(self, scalar: object) -> Isotropic:
        factor = as_scalar(scalar)
        if factor is None:
            return NotImplemented
        if factor.is_zero:
            raise ZeroDivisionError("an operator cannot be divided by zero")
        inverse: object = 1 / factor
        return self * inverse

    def __matmul__(self, other: object) -> Isotropic:
        """(f₁ I + h₁ β̂β̂ᵀ)(f₂ I + h₂ β̂β̂ᵀ) = f₁f₂ I + (f₁h₂ + h₁f₂ + h₁h₂) β̂β̂ᵀ."""
        if not isinstance(other, Isotropic):
            return NotImplemented
        self._same_frame(other)
        return self._with(self.f * other.f, self.f * other.h + self.h * other.f + self.h * other.h)

    def inverse(self) -> Isotropic:
        """I/f − h/(f (f + h)) β̂β̂ᵀ. Raises ZeroDivisionError where an eigenvalue is identically zero."""
        if self.f.is_zero or self.radial.is_zero:
            raise ZeroDivisionError("an eigenvalue of the operator vanishes identically")
        return self._with(1 / self.f, -self.h / (self.f * self.radial))

    def apply(self, function: Callable[[Scalar], Scalar]) -> Isotropic:
        """The function of the operator: function(f) I + (function(f + h) − function(f)) β̂β̂ᵀ."""
        return self._with(function(self.transverse), function(self.radial) - function(self.transverse))

    def map(self, function: Callable[[Scalar], Scalar]) -> Isotropic:
        """f and h each rewritten by `function`, for instance `sympy.expand`."""
        return self._with(function(self.f), function(self.h))

    def det(self, d: Scalar) -> Scalar:
        """f^(d−1) (f + h) in dimension d."""
        return self.transverse ** (_dimension(d) - 1) * self.radial

    def trace(self, d: Scalar) -> Scalar:
        """d f + h in dimension d."""
        return _dimension(d) * self.f + self.h

    def eigenvalues(self, d: Scalar) -> tuple[tuple[Scalar, Scalar], tuple[Scalar, Scalar]]:
        """((f, d − 1), (f + h, 1)): the two eigenvalues in dimension d with their multiplicities."""
        return (self.transverse, _dimension(d) - 1), (self.radial, sympy.S.One)

    def time_derivative(self, xdot: Scalar) -> tuple[Isotropic, Scalar]:
        """The two parts of d/dt(f I + h β̂β̂ᵀ) when ‖β‖² moves at the speed ẋ.

        The derivative is ẋ (f′ I + h′ β̂β̂ᵀ) + h d/dt(β̂β̂ᵀ); returned are the first operator and the
        coefficient h of the second, the turning of the direction, which ẋ does not determine.
        """
        return self.map(lambda c: sympy.diff(c, self.x) * xdot), self.h

    def evaluate(self, values: Mapping[Any, Any]) -> list[list[Scalar]]:
        """The d×d matrix at β = values[vector] with numbers for all symbols but x; exact for rational values.

        Raises ValueError for missing values, and at β = 0 unless h vanishes there.
        """
        if self.vector not in values:
            raise ValueError(f"no value given for the vector {self.vector}")
        beta = [formula(b) for b in values[self.vector]]
        x = sympy.Add(*(b * b for b in beta))
        point = {s: formula(n) for s, n in values.items() if isinstance(s, sympy.Symbol)} | {self.x: x}
        missing = sorted(str(s) for s in (self.f.free_symbols | self.h.free_symbols) - set(point))
        if missing:
            raise ValueError(f"no value given for {', '.join(missing)}")
        f, h = self.f.xreplace(point), self.h.xreplace(point)
        if x == 0 and h != 0:
            raise ValueError(
                f"the operator has no value at {self.vector} = 0: its limit depends on the direction"
            )
        c = sympy.S.Zero if h == 0 else h / x
        return [
            [sympy.Add(f if i == j else 0, c * p * q) for j, q in enumerate(beta)] for i, p in enumerate(beta)
        ]

    def latex(self) -> str:
        """f I + h ββᵀ/‖β‖², with ‖β‖² in place of x."""
        norm2 = {self.x: Dot(self.vector, self.vector)}
        beta = self.vector.latex()
        unit = rf"\frac{{{beta} {transposed_latex(self.vector)}}}{{\|{beta}\|^2}}"
        terms = [(c.xreplace(norm2), symbol) for c, symbol in ((self.f, "I"), (self.h, unit)) if c != 0]
        return join_terms(iter(terms))


def identity(x: Any, vector: Vector = BETA) -> Isotropic:
    """The identity operator."""
    return Isotropic(1, 0, x, vector)


def projector(x: Any, vector: Vector = BETA) -> Isotropic:
    """β̂β̂ᵀ, the orthogonal projector onto the direction of β."""
    return Isotropic(0, 1, x, vector)


def gradient(q: Scalar, x: Any) -> Scalar:
    """The coefficient c = 2 q′(x) of ∇_β q(‖β‖²) = c β."""
    return 2 * sympy.diff(q, x)


def hessian(q: Scalar, x: Any, vector: Vector = BETA) -> Isotropic:
    """∇²_β q(‖β‖²) = 2 q′(x) I + 4 x q″(x) β̂β̂ᵀ."""
    return Isotropic(2 * sympy.diff(q, x), 4 * x * sympy.diff(q, x, 2), x, vector)


def hessian_condition(operator: Isotropic) -> Scalar:
    """2 f′(x) − h/x: zero for all x > 0 exactly if the operator is a Hessian map on R^d without 0, d ≥ 2.

    With H = f I + (h/x) ββᵀ, ∂_k H_ij − ∂_j H_ik = (2f′ − h/x)(δ_ij β_k − δ_ik β_j), which is not zero for
    some i, j, k unless the first bracket is. If that vanishes, the operator is the Hessian of q(‖β‖²) for
    any q with 2 q′ = f. In the convention f I − h̃ ββᵀ the same condition reads 2 f′ + h̃ = 0. For d = 1
    there is no condition.
    """
    return 2 * sympy.diff(operator.f, operator.x) - operator.h / operator.x


def _dimension(d: Scalar) -> Scalar:
    dimension = as_scalar(d)
    if dimension is None or dimension.is_integer is False or dimension.is_positive is False:
        raise ValueError(f"a dimension is a positive integer or a symbol, not {d!r}")
    return dimension
