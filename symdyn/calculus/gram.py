r"""The Gram calculus: scalars and vectors of any dimension that flow.

Vectors enter an argument only through linear combinations and inner products. An inner product is kept as a
symbol (`Dot`), so every scalar is an ordinary SymPy expression; what is special about vectors is said
once, in three rules:

    inner(Σ cᵢ uᵢ, Σ dⱼ vⱼ) = Σ cᵢ dⱼ uᵢᵀvⱼ,     d(uᵀv)/dt = u̇ᵀv + uᵀv̇,     ∇_v (vᵀv) = 2 v,  ∇_v (uᵀv) = u.

An identity proved here holds in every dimension, because no coordinates were chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef, UndefinedFunction

from symdyn.calculus.formula import formula
from symdyn.calculus.vectors import (
    Combination,
    Dot,
    InnerProductSymbol,
    Linear,
    Printer,
    Scalar,
    Vector,
    as_scalar,
    exact,
    inner,
    join_terms,
    merge,
    norm,
    norm2,
    transposed_latex,
)

__all__ = [
    "Combination",
    "Dot",
    "Flow",
    "GramOperator",
    "InnerProductSymbol",
    "Linear",
    "Scalar",
    "Vector",
    "as_scalar",
    "evaluate",
    "gradient",
    "hessian",
    "identity",
    "inner",
    "jacobian",
    "latex",
    "norm",
    "norm2",
    "outer",
    "substitute",
]


class GramOperator:
    """A linear operator c₀ I + Σ c_uv u vᵀ, of any dimension; `outer` maps (u, v) to its non-zero c_uv."""

    __slots__ = ("identity", "outer")
    __array_ufunc__ = None

    def __init__(
        self, identity: Scalar = 0, outer: Mapping[tuple[Vector, Vector], Scalar] | None = None
    ) -> None:
        self.identity = exact(identity)
        scalars = {pair: exact(c) for pair, c in (outer or {}).items()}
        self.outer: dict[tuple[Vector, Vector], Scalar] = {p: c for p, c in scalars.items() if c != 0}

    def __add__(self, other: object) -> GramOperator:
        if not isinstance(other, GramOperator):
            return NotImplemented
        return GramOperator(self.identity + other.identity, merge(self.outer, other.outer))

    def __radd__(self, other: object) -> GramOperator:
        return self if other == 0 else NotImplemented

    def __neg__(self) -> GramOperator:
        return -1 * self

    def __sub__(self, other: object) -> GramOperator:
        if not isinstance(other, GramOperator):
            return NotImplemented
        return self + (-other)

    def __mul__(self, scalar: object) -> GramOperator:
        factor = as_scalar(scalar)
        if factor is None:
            return NotImplemented
        return self.map(lambda c: c * factor)

    __rmul__ = __mul__

    def __truediv__(self, scalar: object) -> GramOperator:
        factor = as_scalar(scalar)
        if factor is None:
            return NotImplemented
        if factor.is_zero:
            raise ZeroDivisionError("an operator cannot be divided by zero")
        inverse: object = 1 / factor
        return self * inverse

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Linear):
            image = self.identity * other
            for (u, v), c in self.outer.items():
                image = image + c * inner(v, other) * u
            return image
        if isinstance(other, GramOperator):
            product = self.identity * other + other.identity * GramOperator(0, self.outer)
            for (u, v), c in self.outer.items():
                for (p, q), d in other.outer.items():
                    product = product + GramOperator(0, {(u, q): c * d * Dot(v, p)})
            return product
        return NotImplemented

    @property
    def T(self) -> GramOperator:
        """The transpose: (u vᵀ)ᵀ = v uᵀ."""
        return GramOperator(self.identity, {(v, u): c for (u, v), c in self.outer.items()})

    def trace(self, dimension: Scalar) -> Scalar:
        """c₀ d + Σ c_uv vᵀu in dimension d."""
        return self.identity * dimension + sympy.Add(*(c * Dot(u, v) for (u, v), c in self.outer.items()))

    def map(self, function: Any) -> GramOperator:
        """The operator with `function` applied to every coefficient, for instance `sympy.expand`."""
        return GramOperator(function(self.identity), {p: function(c) for p, c in self.outer.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GramOperator):
            return NotImplemented
        return bool(self.identity == other.identity) and self.outer == other.outer

    def __hash__(self) -> int:
        return hash((self.identity, frozenset(self.outer.items())))

    def __bool__(self) -> bool:
        return self.identity != 0 or bool(self.outer)

    def __repr__(self) -> str:
        return " + ".join([f"({self.identity})*I", *(f"({c})*{u}*{v}'" for (u, v), c in self.outer.items())])

    def latex(self) -> str:
        first = [(self.identity, "I")] if self.identity != 0 else []
        rest = [(c, rf"{u.latex()} {transposed_latex(v)}") for (u, v), c in self.outer.items()]
        return join_terms(iter(first + rest))


def identity() -> GramOperator:
    """The identity operator I."""
    return GramOperator(1)


def outer(u: Linear, v: Linear) -> GramOperator:
    """u vᵀ, bilinear: the operator x ↦ (vᵀx) u."""
    for x in (u, v):
        if not isinstance(x, Linear):
            raise TypeError(f"outer takes vectors and their combinations, not {x!r}")
    return GramOperator(0, {(p, q): c * d for p, c in u.terms.items() for q, d in v.terms.items()})


def gradient(expr: Scalar, v: Vector) -> Combination:
    """∇_v of a scalar expression of Dots: Σ_u ∂expr/∂(uᵀv) u + 2 ∂expr/∂(vᵀv) v."""
    result = Combination()
    for dot in _dots(expr):
        if v in (dot.left, dot.right):
            other = dot.left if dot.right == v else dot.right
            result = result + sympy.diff(expr, dot) * (2 if other == v else 1) * other
    return result


def jacobian(combination: Linear, v: Vector) -> GramOperator:
    """The derivative in v of Σ c_u u: the operator c_v I + Σ u (∇_v c_u)ᵀ."""
    terms = combination.terms
    result = GramOperator(terms.get(v, 0))
    for u, c in terms.items():
        result = result + outer(u, gradient(c, v))
    return result


def hessian(expr: Scalar, v: Vector) -> GramOperator:
    """∇²_v of a scalar expression of Dots; symmetric, if need be after expansion of the coefficients."""
    return jacobian(gradient(expr, v), v)


class Flow:
    """Velocities of scalars and vectors; all else stands still.

    `velocities` maps a symbol to its velocity (an expression) and a vector to its velocity (a combination).
    `relations` maps further symbols and vectors to what they abbreviate along the flow, such as
    β ↦ a w: their velocity follows from it, and `unfold` writes it out. A relation for a `Dot` (such as
    ‖w‖² ↦ (η_w a² − δ)/η_a) is used by `unfold` only.
    Raises ValueError when something has both a velocity and a relation, or relations are circular;
    TypeError when a velocity is of the wrong kind.
    """

    def __init__(self, velocities: Mapping[Any, Any], relations: Mapping[Any, Any] | None = None) -> None:
        self.velocities: dict[Any, Any] = {x: _matching(x, v) for x, v in velocities.items()}
        self.relations: dict[Any, Any] = {x: _matching(x, v) for x, v in (relations or {}).items()}
        for x in self.velocities:
            if isinstance(x, Dot):
                raise TypeError(f"the velocity of {x} follows from those of its vectors; do not state it")
            if x in self.relations:
                raise ValueError(f"{x} has both a velocity and a relation; give one of them")
        self._implied: dict[Any, Any] = {}
        for x in self.relations:
            self._unfolded(x, ())
        for x in self.relations:
            if not isinstance(x, Dot):
                self._velocity(x)

    def __repr__(self) -> str:
        return f"Flow({self.velocities!r}{f', {self.relations!r}' if self.relations else ''})"

    @property
    def scalars(self) -> tuple[Any, ...]:
        """The symbols that move, in the order given."""
        return tuple(x for x in self.velocities if isinstance(x, sympy.Symbol))

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """The vectors that move, in the order given."""
        return tuple(x for x in self.velocities if isinstance(x, Vector))

    def derivative(self, x: Any) -> Any:
        """d/dt of an expression, combination or operator along the flow, by the product and chain rules."""
        if isinstance(x, Linear):
            result = Combination()
            for v, c in x.terms.items():
                result = result + self.derivative(c) * v + c * self._velocity(v)
            return result
        if isinstance(x, GramOperator):
            moving = GramOperator(self.derivative(x.identity))
            for (u, v), c in x.outer.items():
                moving = moving + self.derivative(c) * outer(u, v)
                moving = moving + c * (outer(self._velocity(u), v) + outer(u, self._velocity(v)))
            return moving
        expr = exact(x)
        symbols = sorted(expr.free_symbols, key=lambda symbol: symbol.name)
        return sympy.Add(*(sympy.diff(expr, s) * self._velocity(s) for s in symbols))

    def unfold(self, x: Any) -> Any:
        """x with every relation written out, until none of its left-hand sides is left."""
        for _ in range(len(self.relations) + 1):
            unfolded = substitute(x, self.relations)
            if unfolded == x:
                return x
            x = unfolded
        raise ValueError("the relations of the flow do not come to an end when written out")

    def _velocity(self, x: Any) -> Any:
        if x in self.velocities:
            return self.velocities[x]
        if isinstance(x, Dot):
            return inner(self._velocity(x.left), x.right) + inner(x.left, self._velocity(x.right))
        if x in self.relations:
            if x not in self._implied:
                self._implied[x] = self.derivative(self.relations[x])
            return self._implied[x]
        return Combination() if isinstance(x, Vector) else sympy.S.Zero

    def _unfolded(self, x: Any, above: tuple[Any, ...]) -> None:
        """Walk down the relations from x; raise where one leads back to where it came from."""
        if x in above:
            raise ValueError(f"the relations of the flow are circular: {' -> '.join(map(str, (*above, x)))}")
        for y in _atoms(self.relations[x]):
            if y in self.relations:
                self._unfolded(y, (*above, x))


def substitute(x: Any, mapping: Mapping[Any, Any]) -> Any:
    """x with symbols replaced by expressions and vectors by combinations, all at once.

    Dots expand by bilinearity; a `Dot` that is itself a key of `mapping` is replaced as a whole.
    Works on expressions, combinations and operators. Raises TypeError for a replacement of the wrong kind.
    """
    mapping = {key: _matching(key, value) for key, value in mapping.items()}
    if isinstance(x, Linear):
        result = Combination()
        for v, c in x.terms.items():
            result = result + substitute(c, mapping) * mapping.get(v, v)
        return result
    if isinstance(x, GramOperator):
        operator = GramOperator(substitute(x.identity, mapping))
        for (u, v), c in x.outer.items():
            operator = operator + substitute(c, mapping) * outer(mapping.get(u, u), mapping.get(v, v))
        return operator
    expr = exact(x)
    rules = {s: mapping[s] for s in expr.free_symbols if s in mapping}
    for dot in _dots(expr):
        if dot not in mapping and (dot.left in mapping or dot.right in mapping):
            left: Any = mapping.get(dot.left, dot.left)
            right: Any = mapping.get(dot.right, dot.right)
            rules[dot] = inner(left, right)
    if expr.has(sympy.Derivative, sympy.Integral, sympy.Subs):
        return expr.subs(rules, simultaneous=True)  # these bind variables, which xreplace would not respect
    return expr.xreplace(rules)


class MissingValue(ValueError):
    """A symbol or a vector of an expression has no value."""


def evaluate(x: Any, values: Mapping[Any, Any], dimension: int | None = None) -> Any:
    """The number, list or list of lists that x is for the given values; exact for rational ones.

    `values` maps symbols to numbers, vectors to sequences of numbers of one length, the dimension, and
    unspecified functions to what stands for them; `dimension` is needed only where no vector has a value.
    Raises ValueError for missing values and for vectors of different lengths.
    """
    numbers = {s: formula(n) for s, n in values.items() if isinstance(s, sympy.Symbol)}
    arrays = {v: [formula(n) for n in row] for v, row in values.items() if isinstance(v, Vector)}
    functions = {f: stand_in for f, stand_in in values.items() if isinstance(f, UndefinedFunction)}
    lengths = {len(row) for row in arrays.values()} | ({dimension} if dimension is not None else set())
    if len(lengths) > 1:
        raise ValueError(f"all vectors must have one length, not {sorted(lengths)}")
    missing = sorted(str(y) for y in _atoms(x, whole_dots=False) if y not in numbers and y not in arrays)
    if missing:
        raise MissingValue(f"no value given for {', '.join(missing)}")

    def number(expr: Scalar) -> Scalar:
        if functions and expr.has(AppliedUndef):
            for f, stand_in in functions.items():
                expr = expr.replace(f, stand_in)
            expr = expr.doit()
        dots = {
            d: sum(p * q for p, q in zip(arrays[d.left], arrays[d.right], strict=True)) for d in _dots(expr)
        }
        return expr.xreplace(numbers | dots)

    if not isinstance(x, (Linear, GramOperator)):
        return number(exact(x))
    if not lengths:
        raise ValueError("no vector has a value; state the dimension")
    (d,) = lengths
    if isinstance(x, Linear):
        terms = [(number(c), arrays[v]) for v, c in x.terms.items()]
        return [sympy.Add(*(c * row[i] for c, row in terms)) for i in range(d)]
    diagonal = number(x.identity)
    outers = [(number(c), arrays[u], arrays[v]) for (u, v), c in x.outer.items()]
    return [
        [sympy.Add(diagonal if i == j else 0, *(c * u[i] * v[j] for c, u, v in outers)) for j in range(d)]
        for i in range(d)
    ]


def latex(x: Any) -> str:
    r"""LaTeX of an expression, combination or operator, with √(vᵀv) printed as \|v\|."""
    if isinstance(x, (Linear, GramOperator)):
        return str(x.latex())  # type: ignore[union-attr]
    return str(Printer().doprint(exact(x)))


def _matching(key: object, value: object) -> Any:
    """The value, checked to be what can replace the key: a combination for a vector, else a scalar."""
    if isinstance(key, Vector):
        if value == 0:
            return Combination()
        if isinstance(value, Linear):
            return Combination(value.terms)
        raise TypeError(f"the vector {key} needs a combination of vectors, not {value!r}")
    if isinstance(key, sympy.Symbol):
        return exact(value)
    raise TypeError(f"expected a symbol or a vector as key, not {key!r}")


def _dots(expr: Scalar) -> list[Dot]:
    return sorted(formula(expr).atoms(Dot), key=lambda dot: dot.name)


def _atoms(x: Any, whole_dots: bool = True) -> set[Any]:
    """The symbols and vectors of x; a Dot counts as its vectors, and as itself too if `whole_dots`."""
    parts: Sequence[Scalar]
    if isinstance(x, Linear):
        vectors, parts = set(x.terms), list(x.terms.values())
    elif isinstance(x, GramOperator):
        vectors, parts = {v for pair in x.outer for v in pair}, [x.identity, *x.outer.values()]
    else:
        vectors, parts = set(), [exact(x)]
    atoms: set[Any] = set(vectors)
    for symbol in (s for part in parts for s in part.free_symbols):
        if not isinstance(symbol, Dot) or whole_dots:
            atoms.add(symbol)
        if isinstance(symbol, Dot):
            atoms |= {symbol.left, symbol.right}
    return atoms
