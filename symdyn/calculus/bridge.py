r"""Bridges between the calculi: the same object said in another language.

    a Gram vector v                    is  an n×1 letter,
    the inner product uᵀv              is  a 1×1 word,
    c I + Σ c_uv u vᵀ                  is  an n×n sum of words,
    f I + h β̂β̂ᵀ with x = ‖β‖²          is  f I + (h/βᵀβ) β βᵀ, as a Gram operator and as words.

The way back from words names the columns that become Gram vectors, which may be products: with r for Xᵀρ the
scalar wᵀXᵀρ becomes the inner product of w and r.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Combination, Dot, Flow, GramOperator, Linear, Vector
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix.expression import Expression, eye, vector, zero
from symdyn.calculus.matrix.transform import WORD_SYMBOLS
from symdyn.calculus.matrix.words import ScalarWord, Word

Scalar = Any


def isotropic_to_gram(operator: Isotropic) -> GramOperator:
    """f I + (h/βᵀβ) β βᵀ: the isotropic operator with its radial coordinate written as the inner product."""
    beta = operator.vector
    norm2 = {operator.x: Dot(beta, beta)}
    c = (operator.h / operator.x).xreplace(norm2)
    return GramOperator(operator.f.xreplace(norm2), {(beta, beta): c})


def gram_to_isotropic(operator: GramOperator, x: sympy.Symbol, vector: Vector) -> Isotropic:
    """f I + x c β̂β̂ᵀ for the Gram operator f I + c ββᵀ whose coefficients know β only through βᵀβ = x.

    Raises ValueError where the operator has other directions or other inner products with β.
    """
    directions = set(operator.outer) - {(vector, vector)}
    if directions:
        u, v = sorted(directions, key=str)[0]
        raise ValueError(f"the term {u} {v}ᵀ is not along {vector}: the operator is not isotropic")
    norm2 = Dot(vector, vector)
    c = operator.outer.get((vector, vector), sympy.S.Zero)
    for dot in sorted(operator.identity.atoms(Dot) | c.atoms(Dot), key=str):
        if dot != norm2 and vector in (dot.left, dot.right):
            raise ValueError(f"a coefficient depends on {dot}, not only on the norm of {vector}")
    return Isotropic.unnormalised(operator.identity.xreplace({norm2: x}), c.xreplace({norm2: x}), x, vector)


def apply_isotropic(operator: Isotropic, combination: Linear) -> Combination:
    """(f I + h β̂β̂ᵀ) u = f u + (h βᵀu/βᵀβ) β, with x written as βᵀβ."""
    image: Any = isotropic_to_gram(operator) @ combination
    return Combination(image.terms)


def vector_to_word(v: Vector, n: Any) -> Expression:
    """The n×1 letter of the same name and LaTeX."""
    return vector(v.name, n, v.latex())


def gram_to_word(x: Any, n: Any) -> Any:
    """x in dimension n as words: a combination is n×1, an operator n×n, the Dots of a scalar 1×1 words."""
    if isinstance(x, Linear):
        column = zero(n, 1)
        for v, c in x.terms.items():
            column = column + gram_to_word(c, n) * vector_to_word(v, n)
        return column
    if isinstance(x, GramOperator):
        square = gram_to_word(x.identity, n) * eye(n)
        for (u, v), c in x.outer.items():
            square = square + gram_to_word(c, n) * (vector_to_word(u, n) @ vector_to_word(v, n).T)
        return square
    expr = formula(x)
    return expr.xreplace(
        {
            dot: (vector_to_word(dot.left, n).T @ vector_to_word(dot.right, n)).scalar()
            for dot in expr.atoms(Dot)
        }
    )


def isotropic_to_word(operator: Isotropic, n: Any) -> Expression:
    """f I + (h/βᵀβ) β βᵀ as an n×n sum of words."""
    words: Expression = gram_to_word(isotropic_to_gram(operator), n)
    return words


def flow_to_words(flow: Flow, n: Any) -> dict[Any, Any]:
    """The velocities of a Gram flow in dimension n, for `symdyn.calculus.matrix.derivative`."""
    return {
        (vector_to_word(x, n).letter if isinstance(x, Vector) else x): gram_to_word(velocity, n)
        for x, velocity in flow.velocities.items()
    }


def word_to_gram(x: Any, vectors: Mapping[Vector, Expression]) -> Any:
    """x as a Gram scalar, combination (columns) or operator (square), where `vectors` names the columns.

    Each value of `vectors` is a single product with one column and coefficient 1, such as w or Xᵀρ.
    Raises ValueError where x contains words that are not made of these columns.
    """
    names = _columns(vectors)
    if not isinstance(x, Expression):
        return _gram_scalar(formula(x), names)
    if x.rows == 1 and x.cols == 1:
        return _gram_scalar(x.scalar(), names)
    if x.cols == 1:
        column = Combination()
        for bound, c, word in x.listed():
            column = column + _gram_scalar(c, names) * _name(word, names, bound)
        return column
    operator = GramOperator()
    for bound, c, word in x.listed():
        term = GramOperator(0, {_pair(word, names, bound): 1}) if word.factors else GramOperator(1)
        operator = operator + _gram_scalar(c, names) * term
    return operator


def word_to_isotropic(a: Expression, x: sympy.Symbol, vectors: Mapping[Vector, Expression]) -> Isotropic:
    """The isotropic operator that an n×n sum of words is; `vectors` names the one column β it is along.

    Raises ValueError where it is not of the form f I + c ββᵀ with f and c functions of βᵀβ.
    """
    if len(vectors) != 1:
        raise ValueError(f"an isotropic operator is along one vector, not {len(vectors)}")
    (beta,) = vectors
    return gram_to_isotropic(word_to_gram(a, vectors), x, beta)


def _columns(vectors: Mapping[Vector, Expression]) -> dict[tuple[Any, ...], Vector]:
    names: dict[tuple[Any, ...], Vector] = {}
    for v, expression in vectors.items():
        terms = list(expression.terms.items())
        if expression.cols != 1 or len(terms) != 1 or terms[0][0][0] or terms[0][1] != 1:
            raise ValueError(f"{v} must stand for a single product with one column, not {expression!r}")
        names[terms[0][0][1].factors] = v
    return names


def _name(word: Word, names: Mapping[tuple[Any, ...], Vector], bound: object = ()) -> Vector:
    if bound or word.factors not in names:
        raise ValueError(f"{word.key} is not one of the columns {', '.join(map(str, names.values()))}")
    return names[word.factors]


def _pair(word: Word, names: Mapping[tuple[Any, ...], Vector], bound: object = ()) -> tuple[Vector, Vector]:
    """The vectors u, v with word = u vᵀ (or, for a 1×1 word, with word = uᵀv)."""
    scalar = word.rows == 1
    for i in range(1, len(word.factors)):
        inner = word.factors[i].shape[0]
        left, right = Word(word.factors[:i], word.rows, inner), Word(word.factors[i:], inner, word.cols)
        pair = (left.T, right) if scalar else (left, right.T)
        if not bound and all(part.factors in names for part in pair):
            return names[pair[0].factors], names[pair[1].factors]
    raise ValueError(f"{word.key} is not a product of the columns {', '.join(map(str, names.values()))}")


def _gram_scalar(c: Scalar, names: Mapping[tuple[Any, ...], Vector]) -> Scalar:
    rules = {}
    for atom in c.atoms(*WORD_SYMBOLS):
        if not isinstance(atom, ScalarWord):
            raise ValueError(f"{atom} is not an inner product of the named columns")
        rules[atom] = Dot(*_pair(atom.word, names))
    return c.xreplace(rules)
