r"""Expressions: sums of words with scalar coefficients, and of words summed over indices.

    Σ c(k) A₁ ⋯ A_m   over indices k that may stand in the word as e_k and in the coefficient as e_kᵀ A e_k.

Every operation returns an expression in normal form, so that equal sums of words are equal objects as far as
the laws of all matrices reach. What holds for particular matrices only is declared by rules
(`symdyn.calculus.matrix.rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.matrix.normal import trace as trace_of_word
from symdyn.calculus.matrix.sums import (
    Bound,
    Term,
    collect,
    fresh,
    indices_of,
    rename_scalar,
    rename_word,
    shown_names,
    sigma_latex,
)
from symdyn.calculus.matrix.words import (
    Basis,
    Factor,
    Index,
    Kron,
    Letter,
    Occurrence,
    Scalar,
    ScalarWord,
    Size,
    Vec,
    Word,
    as_size,
    same_size,
)
from symdyn.calculus.vectors import as_scalar, join_terms

ONE = sympy.S.One
EMPTY = Word((), ONE, ONE)


class Expression:
    """A sum of terms of one shape rows × cols; `terms` maps (summed indices, word) to the coefficient."""

    __slots__ = ("cols", "rows", "terms")
    __array_ufunc__ = None

    def __init__(self, terms: Iterable[tuple[Bound, Scalar, Word]], rows: Size, cols: Size) -> None:
        self.rows, self.cols = as_size(rows), as_size(cols)
        listed = list(terms)
        for _, _, word in listed:
            if not (same_size(word.rows, self.rows) and same_size(word.cols, self.cols)):
                raise ValueError(
                    f"{word.key} is {word.rows} × {word.cols} and cannot be a term of a {rows} × {cols} sum"
                )
        self.terms: dict[Term, Scalar] = collect(listed)

    @property
    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.cols

    @property
    def is_zero(self) -> bool:
        """Whether no term is left. True proves that the expression vanishes; False proves nothing."""
        return not self.terms

    def listed(self) -> list[tuple[Bound, Scalar, Word]]:
        """The terms as (summed indices, coefficient, word), with new names for the indices."""
        return [fresh(bound, c, word) for (bound, word), c in self.terms.items()]

    @property
    def letter(self) -> Letter:
        """The letter, of an expression that is a single one. Raises ValueError for any other."""
        if len(self.terms) == 1:
            (((bound, word), c),) = self.terms.items()
            if not bound and c == 1 and len(word.factors) == 1:
                (factor,) = word.factors
                if isinstance(factor, Occurrence) and not factor.transposed and not factor.inverted:
                    return factor.letter
        if _is_scalar(self):
            scalar = self.scalar()
            if isinstance(scalar, ScalarWord) and len(scalar.word.factors) == 1:
                (factor,) = scalar.word.factors
                if isinstance(factor, Occurrence) and not factor.inverted:
                    return factor.letter
        raise ValueError(f"{self!r} is not a single letter")

    def scalar(self) -> Scalar:
        """The commuting scalar that a 1×1 expression is. Raises ValueError for other shapes."""
        if not _is_scalar(self):
            raise ValueError(f"a {self.rows} × {self.cols} expression is not a scalar")
        return self.terms.get(((), EMPTY), sympy.S.Zero)

    def map(self, function: Callable[[Scalar], Scalar]) -> Expression:
        """The expression with `function` applied to every coefficient, for instance `sympy.factor`."""
        return self._listing((bound, function(c), word) for bound, c, word in self.listed())

    def _listing(self, terms: Iterable[tuple[Bound, Scalar, Word]]) -> Expression:
        return Expression(terms, self.rows, self.cols)

    def __add__(self, other: object) -> Expression:
        if not isinstance(other, Expression):
            return NotImplemented
        if not (same_size(self.rows, other.rows) and same_size(self.cols, other.cols)):
            raise ValueError(f"cannot add a {_shape(other)} expression to a {_shape(self)} expression")
        return self._listing(self.listed() + other.listed())

    def __radd__(self, other: object) -> Expression:
        return self if other == 0 else NotImplemented

    def __neg__(self) -> Expression:
        return self._listing((bound, -c, word) for bound, c, word in self.listed())

    def __sub__(self, other: object) -> Expression:
        if not isinstance(other, Expression):
            return NotImplemented
        return self + (-other)

    def __mul__(self, scalar: object) -> Expression:
        if isinstance(scalar, Expression) and not _is_scalar(scalar):
            if not _is_scalar(self):
                raise ValueError("neither factor of * is a scalar; the product of matrices is @")
            return scalar * self
        factor = _factor(scalar)
        if factor is None:
            return NotImplemented
        return self._listing((bound, c * factor, word) for bound, c, word in self.listed())

    def __rmul__(self, scalar: object) -> Expression:
        return self * scalar

    def __truediv__(self, scalar: object) -> Expression:
        factor = _factor(scalar)
        if factor is None:
            return NotImplemented
        if factor.is_zero:
            raise ZeroDivisionError("a matrix cannot be divided by zero")
        return self._listing((bound, c / factor, word) for bound, c, word in self.listed())

    def __matmul__(self, other: object) -> Expression:
        if not isinstance(other, Expression):
            return NotImplemented
        if not same_size(self.cols, other.rows):
            raise ValueError(
                f"cannot multiply a {_shape(self)} by a {_shape(other)} expression: "
                f"the inner sizes {self.cols} and {other.rows} differ"
            )
        return bilinear(self, other, lambda v, w: v.then(w), self.rows, other.cols)

    def __pow__(self, exponent: int) -> Expression:
        if not isinstance(exponent, int) or not same_size(self.rows, self.cols):
            raise ValueError(
                f"a power needs a square matrix and an integer, not {_shape(self)}, {exponent!r}"
            )
        base = self if exponent >= 0 else self.inverse()
        power = eye(self.rows)
        for _ in range(abs(exponent)):
            power = power @ base
        return power

    @property
    def T(self) -> Expression:
        """The transpose: (A B)ᵀ = Bᵀ Aᵀ."""
        return Expression(((bound, c, word.T) for bound, c, word in self.listed()), self.cols, self.rows)

    def inverse(self) -> Expression:
        """The inverse of a single product, (c A B)⁻¹ = B⁻¹ A⁻¹ / c.

        Raises ValueError for a sum: give its inverse a letter and declare what it does by rules.
        """
        if len(self.terms) != 1:
            raise ValueError(
                "only a single product can be inverted; declare a letter for the inverse of a sum"
            )
        (((bound, word), c),) = self.terms.items()
        if bound:
            raise ValueError("a sum over an index cannot be inverted; declare a letter for its inverse")
        return self._listing([((), 1 / c, _inverse_word(word))])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self.shape == other.shape and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((self.shape, frozenset(self.terms.items())))

    def __repr__(self) -> str:
        terms = [
            "".join(f"sum_{k.name} " for k in bound) + f"({c})*{word.key}"
            for (bound, word), c in self.terms.items()
        ]
        return " + ".join(terms) or f"0 ({_shape(self)})"

    def latex(self) -> str:
        """The sum as LaTeX; the empty word is printed as I, a 1×1 expression as its scalar."""
        text = ""
        for (bound, word), c in self.terms.items():
            names = shown_names(bound, indices_of(c) | word.indices)
            c, word = rename_scalar(c, names), rename_word(word, names)
            term = scalar_latex(c) if word == EMPTY else _term_latex(c, word)
            negative = term.startswith("- ") and (word != EMPTY or not c.is_Add)
            body = sigma_latex(names.values()) + (term[2:] if negative else term)
            text += (" - " if negative else " + ") + body if text else ("- " if negative else "") + body
        return text or "0"


def _shape(expression: Expression) -> str:
    return f"{expression.rows} × {expression.cols}"


def _is_scalar(expression: Expression) -> bool:
    return bool(expression.rows == 1) and bool(expression.cols == 1)


def _factor(value: object) -> Scalar | None:
    if isinstance(value, Expression):
        return value.scalar()
    return as_scalar(value)


def scalar_latex(scalar: Scalar) -> str:
    """LaTeX of a scalar in which 1×1 words may stand."""
    return str(sympy.latex(scalar))


def _term_latex(coefficient: Scalar, word: Word) -> str:
    """LaTeX of coefficient · word, with 1×1 words of the coefficient in parentheses."""
    marks = {atom: sympy.Dummy(atom.name) for atom in coefficient.atoms(ScalarWord)}
    shown = {mark: rf"\left({atom.word.latex()}\right)" for atom, mark in marks.items()}
    return join_terms(iter([(coefficient.xreplace(marks), word.latex())]), shown)


def _inverse_word(word: Word) -> Word:
    factors: list[Factor] = []
    for factor in reversed(word.factors):
        if isinstance(factor, Kron):
            factors.append(Kron(_inverse_word(factor.left), _inverse_word(factor.right)))
        elif isinstance(factor, Occurrence):
            factors.append(factor.inverse)
        else:
            raise ValueError(f"{factor.key} has no inverse")
    return Word(tuple(factors), word.cols, word.rows)


def bilinear(
    left: Expression, right: Expression, join: Callable[[Word, Word], Word], rows: Size, cols: Size
) -> Expression:
    """Σ c d join(v, w) over the terms c v of the left and d w of the right expression."""
    terms = [(b + q, c * d, join(v, w)) for b, c, v in left.listed() for q, d, w in right.listed()]
    return Expression(terms, rows, cols)


def from_word(word: Word) -> Expression:
    """The expression that consists of one word."""
    return Expression([((), ONE, word)], word.rows, word.cols)


def from_scalar(scalar: Scalar) -> Expression:
    """The 1×1 expression with this entry."""
    return Expression([((), scalar, EMPTY)], ONE, ONE)


def matrix(name: str, rows: Any, cols: Any, latex: str = "", *, symmetric: bool = False) -> Expression:
    """A letter of shape rows × cols as an expression; sizes are positive integers or symbols."""
    return from_word(word_of(Letter(name, as_size(rows), as_size(cols), latex, symmetric)))


def vector(name: str, rows: Any, latex: str = "") -> Expression:
    """A letter of shape rows × 1."""
    return matrix(name, rows, 1, latex)


def word_of(letter: Letter) -> Word:
    """The word that consists of one letter."""
    return Word((Occurrence(letter),), letter.rows, letter.cols)


def eye(n: Any) -> Expression:
    """The identity of size n."""
    return from_word(Word((), as_size(n), as_size(n)))


def zero(rows: Any, cols: Any) -> Expression:
    """The rows × cols zero matrix."""
    return Expression([], rows, cols)


def basis(index: Index) -> Expression:
    """The coordinate vector e_k, of shape size × 1."""
    return from_word(Word((Basis(index),), index.size, ONE))


def entry(a: Expression, i: Index, j: Index) -> Scalar:
    """The scalar A_ij = e_iᵀ A e_j."""
    return (basis(i).T @ a @ basis(j)).scalar()


def sum_over(index: Index, summand: Any) -> Any:
    """Σ_k of an expression or of a scalar in which the index k stands."""
    if not isinstance(summand, Expression):
        return sum_over(index, from_scalar(formula(summand))).scalar()
    terms = [((*bound, index), c, word) for bound, c, word in summand.listed()]
    return Expression(terms, summand.rows, summand.cols)


def diagonal(a: Expression) -> Expression:
    """The diagonal matrix Σ_k A_kk e_k e_kᵀ of a square matrix A."""
    if not same_size(a.rows, a.cols):
        raise ValueError(f"a {_shape(a)} expression is not square and has no diagonal matrix")
    k = Index("#diagonal", a.rows)
    result: Expression = sum_over(k, entry(a, k, k) * (basis(k) @ basis(k).T))
    return result


def trace(a: Expression) -> Scalar:
    """tr A as a scalar. Raises ValueError for a matrix that is not square."""
    if not same_size(a.rows, a.cols):
        raise ValueError(f"a {_shape(a)} expression is not square and has no trace")
    return Expression(
        ((bound, c * trace_of_word(word), EMPTY) for bound, c, word in a.listed()), ONE, ONE
    ).scalar()


def kron(a: Expression, b: Expression) -> Expression:
    """The Kronecker product A ⊗ B."""
    rows, cols = a.rows * b.rows, a.cols * b.cols
    return bilinear(a, b, lambda v, w: Word((Kron(v, w),), rows, cols), rows, cols)


def kron_sum(a: Expression, b: Expression) -> Expression:
    """The Kronecker sum A ⊕ B = A ⊗ I + I ⊗ B of two square matrices."""
    return kron(a, eye(b.rows)) + kron(eye(a.rows), b)


def vec(a: Expression) -> Expression:
    """vec(A), the columns of A stacked: vec(A X B) = (Bᵀ ⊗ A) vec(X)."""
    size = a.rows * a.cols
    return Expression(((bound, c, Word((Vec(word),), size, ONE)) for bound, c, word in a.listed()), size, ONE)
