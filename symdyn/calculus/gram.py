r"""The Gram calculus: scalars and vectors of any dimension that flow.

Vectors enter an argument only through linear combinations and inner products. An inner product is kept as a
symbol (`Dot`), so every scalar is an ordinary SymPy expression; what is special about vectors is said once, in
three rules:

    inner(Σ cᵢ uᵢ, Σ dⱼ vⱼ) = Σ cᵢ dⱼ uᵢᵀvⱼ,     d(uᵀv)/dt = u̇ᵀv + uᵀv̇,     ∇_v (vᵀv) = 2 v,  ∇_v (uᵀv) = u.

An identity proved here holds in every dimension, because no coordinates were chosen.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

Scalar = Any  # a SymPy expression; SymPy ships no types

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def as_scalar(value: object) -> Scalar | None:
    """The exact SymPy scalar equal to `value`, or None if it is not one (floats are not exact)."""
    if isinstance(value, sympy.Expr):
        return value
    if isinstance(value, numbers.Rational) and not isinstance(value, bool):
        return sympy.sympify(value)
    return None


class _Printer(LatexPrinter):  # type: ignore[misc]
    """LaTeX in which a power of vᵀv is a power of the norm: (vᵀv)^(1/2) is ‖v‖."""

    def _print_Pow(self, expr: Scalar) -> str:
        base, power = expr.base, 2 * expr.exp
        if isinstance(base, Dot) and base.left == base.right and power.is_Integer:
            size = _norm_latex(base.left, abs(power))
            return size if power > 0 else rf"\frac{{1}}{{{size}}}"
        return str(super()._print_Pow(expr))

    def factor(self, coefficient: Scalar) -> str:
        """The coefficient as the left factor of a product, parenthesised if it is a sum."""
        text = self.doprint(coefficient)
        if self._needs_mul_brackets(coefficient, first=True):
            return rf"\left({text}\right)"
        return text


def _norm_latex(vector: Vector, power: Scalar) -> str:
    return rf"\|{vector.latex()}\|" + ("" if power == 1 else f"^{{{power}}}" if power > 9 else f"^{power}")


def join_terms(terms: Iterator[tuple[Scalar, str]]) -> str:
    """LaTeX of Σ coefficient · symbol with its signs; `symbol` is already LaTeX. An empty sum is 0."""
    printer = _Printer()
    text = ""
    for coefficient, symbol in terms:
        negative = coefficient.could_extract_minus_sign()
        size = -coefficient if negative else coefficient
        body = symbol if size == 1 else f"{printer.factor(size)} {symbol}"
        text += (" - " if negative else " + ") + body if text else ("- " if negative else "") + body
    return text or "0"


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
        return Combination(_merge(self.terms, other.terms))

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
        return self * (1 / factor)


class Vector(Linear):
    r"""A named vector of unstated dimension; two vectors are the same when their names are.

    `Vector("beta_star", r"\beta_*")`. The name is ASCII: a letter, then letters, digits or underscores.
    Raises ValueError for any other name.
    """

    __slots__ = ("_latex", "name")
    name: str
    _latex: str

    def __init__(self, name: str, latex: str | None = None) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a vector: use a letter, then letters, digits or underscores")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_latex", sympy.latex(sympy.Symbol(name)) if latex is None else latex)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a Vector is immutable; {attribute!r} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return Vector, (self.name, self._latex)

    @property
    def terms(self) -> dict[Vector, Scalar]:
        return {self: sympy.S.One}

    def __eq__(self, other: object) -> bool:
        return self.name == other.name if isinstance(other, Vector) else NotImplemented

    def __hash__(self) -> int:
        return hash(("Vector", self.name))

    def __repr__(self) -> str:
        return self.name

    def latex(self) -> str:
        return self._latex


class Combination(Linear):
    """A finite linear combination Σ c_v v of vectors; `terms` maps each vector to its non-zero coefficient."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Mapping[Vector, Scalar] | None = None) -> None:
        exact = {v: _exact(c) for v, c in (terms or {}).items()}
        self._terms = {v: c for v, c in exact.items() if c != 0}

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


class InnerProductSymbol(sympy.Symbol):  # type: ignore[misc]
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

    def __getnewargs_ex__(self) -> tuple[tuple[Vector, Vector], dict[str, Any]]:
        return (self.left, self.right), {}

    def _latex(self, printer: LatexPrinter) -> str:
        if self.left == self.right:
            return _norm_latex(self.left, 2)
        return rf"{_superscriptable(self.left)}^\top {self.right.latex()}"


# SymPy's printers single out any class whose name is "Dot", so the class itself is called otherwise
Dot = InnerProductSymbol


def _superscriptable(vector: Vector) -> str:
    text = vector.latex()
    return f"{{{text}}}" if "^" in text or " " in text else text


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


class GramOperator:
    """A linear operator c₀ I + Σ c_uv u vᵀ, of any dimension; `outer` maps (u, v) to its non-zero c_uv."""

    __slots__ = ("identity", "outer")
    __array_ufunc__ = None

    def __init__(
        self, identity: Scalar = 0, outer: Mapping[tuple[Vector, Vector], Scalar] | None = None
    ) -> None:
        self.identity = _exact(identity)
        exact = {pair: _exact(c) for pair, c in (outer or {}).items()}
        self.outer: dict[tuple[Vector, Vector], Scalar] = {p: c for p, c in exact.items() if c != 0}

    def __add__(self, other: object) -> GramOperator:
        if not isinstance(other, GramOperator):
            return NotImplemented
        return GramOperator(self.identity + other.identity, _merge(self.outer, other.outer))

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
        return self * (1 / factor)

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
        rest = [(c, rf"{u.latex()} {_superscriptable(v)}^\top") for (u, v), c in self.outer.items()]
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
    """The second derivative of a scalar expression of Dots in v; symmetric up to expansion of its coefficients."""
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

    def __init__(
        self, velocities: Mapping[Any, Any], relations: Mapping[Any, Any] | None = None
    ) -> None:
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
        expr = _exact(x)
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
    expr = _exact(x)
    rules = {s: mapping[s] for s in expr.free_symbols if s in mapping}
    for dot in _dots(expr):
        if dot not in mapping and (dot.left in mapping or dot.right in mapping):
            rules[dot] = inner(mapping.get(dot.left, dot.left), mapping.get(dot.right, dot.right))
    if expr.has(sympy.Derivative, sympy.Integral, sympy.Subs):
        return expr.subs(rules, simultaneous=True)  # these bind variables, which xreplace would not respect
    return expr.xreplace(rules)


def evaluate(x: Any, values: Mapping[Any, Any], dimension: int | None = None) -> Any:
    """The number, list or list of lists that x is for the given values; exact for rational ones.

    `values` maps symbols to numbers and vectors to sequences of numbers of one length, the dimension;
    `dimension` is needed only where no vector has a value. Raises ValueError for missing values and
    for vectors of different lengths.
    """
    numbers = {s: sympy.sympify(n) for s, n in values.items() if isinstance(s, sympy.Symbol)}
    arrays = {v: [sympy.sympify(n) for n in row] for v, row in values.items() if isinstance(v, Vector)}
    lengths = {len(row) for row in arrays.values()} | ({dimension} if dimension is not None else set())
    if len(lengths) > 1:
        raise ValueError(f"all vectors must have one length, not {sorted(lengths)}")
    missing = sorted(str(y) for y in _atoms(x, whole_dots=False) if y not in numbers and y not in arrays)
    if missing:
        raise ValueError(f"no value given for {', '.join(missing)}")

    def number(expr: Scalar) -> Scalar:
        dots = {d: sum(p * q for p, q in zip(arrays[d.left], arrays[d.right], strict=True)) for d in _dots(expr)}
        return expr.xreplace(numbers | dots)

    if not isinstance(x, (Linear, GramOperator)):
        return number(_exact(x))
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
    return str(_Printer().doprint(_exact(x)))


def _exact(value: object) -> Scalar:
    scalar = as_scalar(value)
    if scalar is None:
        raise TypeError(f"expected a SymPy expression, an integer or a fraction, not {value!r}")
    return scalar


def _matching(key: object, value: object) -> Any:
    """The value, of the kind that can stand for the key: a combination for a vector, an expression for a symbol."""
    if isinstance(key, Vector):
        if value == 0:
            return Combination()
        if isinstance(value, Linear):
            return Combination(value.terms)
        raise TypeError(f"the vector {key} needs a combination of vectors, not {value!r}")
    if isinstance(key, sympy.Symbol):
        return _exact(value)
    raise TypeError(f"expected a symbol or a vector as key, not {key!r}")


def _merge(left: Mapping[Any, Scalar], right: Mapping[Any, Scalar]) -> dict[Any, Scalar]:
    merged = dict(left)
    for key, c in right.items():
        merged[key] = merged.get(key, sympy.S.Zero) + c
    return merged


def _dots(expr: Scalar) -> list[Dot]:
    return sorted(sympy.sympify(expr).atoms(Dot), key=lambda dot: dot.name)


def _atoms(x: Any, whole_dots: bool = True) -> set[Any]:
    """The symbols and vectors of x; a Dot counts as its vectors, and as itself too if `whole_dots`."""
    parts: Sequence[Scalar]
    if isinstance(x, Linear):
        vectors, parts = set(x.terms), list(x.terms.values())
    elif isinstance(x, GramOperator):
        vectors, parts = {v for pair in x.outer for v in pair}, [x.identity, *x.outer.values()]
    else:
        vectors, parts = set(), [_exact(x)]
    atoms: set[Any] = set(vectors)
    for symbol in (s for part in parts for s in part.free_symbols):
        if not isinstance(symbol, Dot) or whole_dots:
            atoms.add(symbol)
        if isinstance(symbol, Dot):
            atoms |= {symbol.left, symbol.right}
    return atoms
