r"""Declarations for the matrices of deep linear networks: orthogonal, whitened, balanced, PSD roots.

Rational orthogonal matrices come from the Cayley transform (I − S)(I + S)⁻¹ of a skew S, which misses only
those with the eigenvalue −1; signs of the columns bring these back.
"""

from __future__ import annotations

import random
from typing import Any

import sympy

from symdyn.calculus.matrix.arrays import evaluate
from symdyn.calculus.matrix.expression import Expression, eye, from_word, matrix
from symdyn.calculus.matrix.rules import Declaration, Sizes, random_matrix, random_rational, rule
from symdyn.calculus.matrix.transform import WORD_SYMBOLS, letters_of, symbols_of
from symdyn.calculus.matrix.words import number_of, plainness, same_size

_DRAWS = 20


def cayley(generator: random.Random, n: int) -> sympy.Matrix:
    """A rational orthogonal n×n matrix: (I − S)(I + S)⁻¹ with S skew, its columns with random signs."""
    skew = sympy.zeros(n, n)
    for i in range(n):
        for j in range(i):
            skew[i, j] = random_rational(generator)
            skew[j, i] = -skew[i, j]
    one = sympy.eye(n)
    signs = sympy.diag(*(generator.choice([-1, 1]) for _ in range(n)))
    return (one - skew) * (one + skew).inv() * signs


def orthonormal_columns(generator: random.Random, rows: int, cols: int) -> sympy.Matrix:
    """A rational rows×cols matrix with orthonormal columns. Raises ValueError for more columns than rows."""
    if cols > rows:
        raise ValueError(f"a {rows}×{cols} matrix cannot have orthonormal columns")
    return cayley(generator, rows)[:, :cols]


def orthogonal(u: Expression) -> Declaration:
    """UᵀU = I; for a square letter also U Uᵀ = I and U⁻¹ = Uᵀ."""
    letter = u.letter
    rules = [rule(u.T @ u, eye(u.cols))]
    if letter.square:
        rules += [rule(u @ u.T, eye(u.rows)), rule(u.inverse(), u.T)]

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        shape = number_of(letter.rows, sizes), number_of(letter.cols, sizes)
        return {letter: orthonormal_columns(generator, *shape)}

    return Declaration(f"{letter.name} has orthonormal columns", tuple(rules), (letter,), sampler)


def whitened(x: Expression) -> Declaration:
    """XᵀX = I: the data matrix X, one sample a row, is whitened."""
    declared = orthogonal(x)
    return Declaration(f"{x.letter.name} is whitened", declared.rules, declared.letters, declared.sampler)


def unit(u: Expression) -> Declaration:
    """uᵀu = 1 for a column u."""
    letter = u.letter

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        return {letter: orthonormal_columns(generator, number_of(letter.rows, sizes), 1)}

    return Declaration(f"{letter.name} is a unit vector", (rule(u.T @ u, 1),), (letter,), sampler)


def positive(*symbols: Any) -> Declaration:
    """Scalars that are positive, such as learning rates, and 1×1 words and traces that are: a vᵀv where v is not zero.

    A word with an index is positive for each value of it. Raises TypeError for what is neither.
    """
    for symbol in symbols:
        if not isinstance(symbol, sympy.Symbol):
            raise TypeError(
                f"{symbol} is neither a symbol nor one 1×1 word or trace; of other scalars use nonzero(…)"
            )
    numbers = [symbol for symbol in symbols if not isinstance(symbol, WORD_SYMBOLS)]

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        return {symbol: abs(random_rational(generator)) for symbol in numbers}

    names = ", ".join(str(symbol) for symbol in symbols)
    return Declaration(f"{names} positive", (), (), sampler, dict.fromkeys(symbols, 1))


def nonzero(*scalars: Any) -> Declaration:
    """Scalars of numbers and words, without an index, that do not vanish: a denominator."""
    names = ", ".join(str(scalar) for scalar in scalars)
    return Declaration(f"{names} not zero", (), (), lambda generator, sizes: {}, nonzero=scalars)


def projector(p: Expression) -> Declaration:
    """P² = P for a symmetric letter P."""
    letter = p.letter
    if not letter.symmetric:
        raise ValueError(f"declare {letter.name} symmetric: an orthogonal projector is")

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        n = number_of(letter.rows, sizes)
        q = orthonormal_columns(generator, n, generator.randint(0, n))
        return {letter: q * q.T}

    return Declaration(f"{letter.name} is a projector", (rule(p @ p, p),), (letter,), sampler)


def commuting(first: Expression, second: Expression) -> Declaration:
    """K H = H K for symmetric letters K and H, functions of one matrix: H K → K H. Samples share their eigenvectors.

    Raises ValueError for letters that are not symmetric.
    """
    k, h = first.letter, second.letter
    for letter in (k, h):
        if not letter.symmetric:
            raise ValueError(f"declare {letter.name} symmetric: it shares the eigenvectors of another")

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        n = number_of(k.rows, sizes)
        q = cayley(generator, n)
        k_values, h_values = ([random_rational(generator) for _ in range(n)] for _ in "kh")
        return {k: q * sympy.diag(*k_values) * q.T, h: q * sympy.diag(*h_values) * q.T}

    return Declaration(
        f"{k.name} and {h.name} commute", (rule(second @ first, first @ second),), (k, h), sampler
    )


def balanced(first: Expression, second: Expression) -> Declaration:
    """W₂ᵀW₂ = W₁W₁ᵀ for consecutive layers W₁ (h × d) and W₂ (c × h)."""
    w1, w2 = first.letter, second.letter
    if not same_size(w1.rows, w2.cols):
        raise ValueError(
            f"{w2.name} has {w2.cols} columns but {w1.name} has {w1.rows} rows: not consecutive layers"
        )

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        d, h, c = (number_of(size, sizes) for size in (w1.cols, w1.rows, w2.rows))
        rank = min(d, h, c)
        root = sympy.Matrix(h, rank, lambda i, j: random_rational(generator))
        return {
            w1: root * orthonormal_columns(generator, d, rank).T,
            w2: orthonormal_columns(generator, c, rank) * root.T,
        }

    declared = rule(second.T @ second, first @ first.T)
    return Declaration(f"{w1.name} and {w2.name} are balanced", (declared,), (w1, w2), sampler)


def psd_root(name: str, square: Expression, latex: str = "") -> tuple[Expression, Declaration]:
    """The positive semidefinite root X of Y, X² = Y: the letter X and its declaration.

    Y is a symmetric letter and is written as X X, so that X commutes with Y. Samples draw X = R Rᵀ, Y = X².
    Raises ValueError where Y is not a symmetric letter.
    """
    letter = square.letter
    if not letter.symmetric:
        raise ValueError(f"declare {letter.name} symmetric: a matrix with a positive semidefinite root is")
    root = matrix(name, letter.rows, letter.cols, latex or rf"{letter.symbol}^{{1/2}}", symmetric=True)

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        n = number_of(letter.rows, sizes)
        factor = sympy.Matrix(n, n, lambda i, j: random_rational(generator))
        drawn = factor * factor.T
        return {root.letter: drawn, letter: drawn * drawn}

    declared = rule(square, root @ root)
    letters = (root.letter, letter)
    return root, Declaration(f"{name} is the root of {letter.name}", (declared,), letters, sampler)


def inverse_of(name: str, expression: Expression, latex: str = "") -> tuple[Expression, Declaration]:
    """The inverse R of a sum A = Σ c w: the letter R, and R A = A R = I solved for the longest word of A.

    The letters of A are drawn freely; where they have declarations of their own, compose a `Declaration` with
    one sampler for all. Raises ValueError where A is not square or contains no word without a summed index.
    """
    if not same_size(expression.rows, expression.cols):
        raise ValueError(f"a {expression.rows} × {expression.cols} expression has no inverse")
    words = [(word, c) for (bound, word), c in expression.terms.items() if not bound and word.factors]
    if not words:
        raise ValueError(f"{expression!r} has no word to solve for")
    word, c = max(words, key=lambda term: (len(term[0].factors), plainness(term[0])))
    longest, rest = from_word(word), expression - c * from_word(word)
    n = expression.rows
    inverse = matrix(name, n, n, latex, symmetric=expression == expression.T)
    rules = (
        rule(inverse @ longest, (eye(n) - inverse @ rest) / c),
        rule(longest @ inverse, (eye(n) - rest @ inverse) / c),
    )
    letters = sorted(letters_of(expression), key=lambda letter: letter.name)

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        for _ in range(_DRAWS):
            drawn: dict[Any, Any] = {letter: random_matrix(generator, letter, sizes) for letter in letters}
            for symbol in sorted(symbols_of(expression) - set(sizes), key=lambda symbol: symbol.name):
                drawn[symbol] = random_rational(generator)
            value = evaluate(expression, drawn, sizes)
            if value.det() != 0:
                return drawn | {inverse.letter: value.inv()}
        raise ValueError(f"{expression!r} is never invertible where the sizes are {dict(sizes)}")

    described = f"{name} is an inverse"
    return inverse, Declaration(described, rules, (inverse.letter, *letters), sampler, in_the_limit=True)
