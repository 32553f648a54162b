r"""The normal form of a word, by laws that hold for all matrices.

    A A⁻¹ = I,   (A ⊗ B)(C ⊗ D) = AC ⊗ BD,   (A ⊗ B) vec(W) = vec(B W Aᵀ),   e_kᵀ e_k = 1,
    vec(V)ᵀ vec(W) = tr(Vᵀ W),   tr(A B) = tr(B A),   tr(A ⊗ B) = tr A tr B,

and wherever the inner size is 1 the word splits, so that its 1×1 pieces become commuting scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import sympy

from symdyn.calculus.matrix.words import (
    Basis,
    Factor,
    Kron,
    Occurrence,
    Scalar,
    ScalarWord,
    Size,
    TraceWord,
    Vec,
    Word,
    rotations,
    same_size,
)


def normal(word: Word) -> tuple[Scalar, Word]:
    """The scalar c and the word w in normal form with word = c w."""
    scalar: Scalar = sympy.S.One
    factors: list[Factor] = []
    for factor in word.factors:
        c, parts = _open(factor)
        scalar, factors = scalar * c, factors + parts
    i = 0
    while i < len(factors) - 1:
        merged = _merge(factors[i], factors[i + 1])
        if merged is None:
            i += 1
            continue
        c, parts = merged
        scalar, factors = scalar * c, factors[:i] + parts + factors[i + 2 :]
        i = max(i - 1, 0)
    sizes = [word.rows, *(f.shape[1] for f in factors)] if factors else [word.rows]
    cuts = [position for position, size in enumerate(sizes) if size == 1]
    if cuts:
        for start, stop in pairwise(cuts):
            scalar *= scalar_of(factors[start:stop])
        factors = factors[: cuts[0]] + factors[cuts[-1] :]
    return scalar, Word(tuple(factors), word.rows, word.cols)


def scalar_of(factors: Sequence[Factor]) -> Scalar:
    """The commuting scalar that a 1×1 sequence of normal factors is."""
    if not factors:
        return sympy.S.One
    if len(factors) == 2:
        first, last = factors
        if isinstance(first, Basis) and isinstance(last, Basis) and first.index == last.index:
            return sympy.S.One
        if isinstance(first, Vec) and isinstance(last, Vec) and _fit(first.word, last.word):
            return trace(first.word.T.then(last.word))
    return ScalarWord(Word(tuple(factors), sympy.S.One, sympy.S.One))


def trace(word: Word) -> Scalar:
    """tr(word) as a scalar. Raises ValueError for a word that is not square."""
    if not same_size(word.rows, word.cols):
        raise ValueError(f"{word.key} is {word.rows} × {word.cols}, not square, and has no trace")
    scalar, word = normal(word)
    if not word.factors:
        return scalar * word.rows
    for rotation in rotations(word):
        c, shorter = normal(rotation)
        if c != 1 or len(shorter.factors) < len(word.factors):
            return scalar * c * trace(shorter)
    if len(word.factors) == 1 and isinstance(word.factors[0], Kron):
        left, right = word.factors[0].left, word.factors[0].right
        if same_size(left.rows, left.cols) and same_size(right.rows, right.cols):
            return scalar * trace(left) * trace(right)
    return scalar * TraceWord(word)


def _fit(left: Word, right: Word) -> bool:
    return same_size(left.rows, right.rows) and same_size(left.cols, right.cols)


def _open(factor: Factor) -> tuple[Scalar, list[Factor]]:
    """A single factor in normal form: Kronecker products and vectorisations that are something simpler."""
    if isinstance(factor, Vec):
        scalar, word = normal(factor.word)
        if word.cols == 1 or word.rows == 1:
            column = word if word.cols == 1 else word.T
            return scalar, list((column.T if factor.transposed else column).factors)
        return scalar, [Vec(word, factor.transposed)]
    if isinstance(factor, Kron):
        (c, left), (d, right) = normal(factor.left), normal(factor.right)
        return c * d, _open_kron(left, right)
    return sympy.S.One, [factor]


def _open_kron(left: Word, right: Word) -> list[Factor]:
    if not left.factors and (left.rows == 1 or not right.factors):
        return list(right.factors)  # 1 ⊗ B = B, and I ⊗ I = I
    if not right.factors and right.rows == 1:
        return list(left.factors)
    i, j = _cut(left), _cut(right)
    if i is None or j is None:
        return [Kron(left, right)]
    # (a bᵀ) ⊗ (c dᵀ) = (a ⊗ c)(b ⊗ d)ᵀ, and a ⊗ c = vec(c aᵀ)
    (a, b), (c, d) = _split(left, i), _split(right, j)
    column, row = c.then(a.T), d.T.then(b)
    parts: list[Factor] = []
    for word, transposed in ((column, False), (row, True)):
        if word.factors or word.rows != 1:
            parts += _open(Vec(word, transposed))[1]
    return parts


def _cut(word: Word) -> int | None:
    """The first place where the word has inner size 1, or None."""
    sizes = [word.rows, *(f.shape[1] for f in word.factors)]
    return next((position for position, size in enumerate(sizes) if size == 1), None)


def _split(word: Word, position: int) -> tuple[Word, Word]:
    one = sympy.S.One
    return Word(word.factors[:position], word.rows, one), Word(word.factors[position:], one, word.cols)


def _single(factor: Factor) -> Word:
    return Word((factor,), *factor.shape)


def _meet(kron: Kron, left: Size, right: Size) -> bool:
    """Whether what follows a Kronecker product splits into factors as the product does."""
    return same_size(kron.left.cols, left) and same_size(kron.right.cols, right)


def _merge(f: Factor, g: Factor) -> tuple[Scalar, list[Factor]] | None:
    """What two neighbours combine to, or None if they stay as they are."""
    if isinstance(f, Occurrence) and isinstance(g, Occurrence):
        return (sympy.S.One, []) if f.letter.square and f.inverse == g else None
    if isinstance(f, Kron) and isinstance(g, Kron) and _meet(f, g.left.rows, g.right.rows):
        return _open(Kron(f.left.then(g.left), f.right.then(g.right)))
    column = isinstance(g, Vec) and not g.transposed
    if isinstance(f, Kron) and isinstance(g, Vec) and column and _meet(f, g.word.cols, g.word.rows):
        return _open(Vec(f.right.then(g.word).then(f.left.T)))
    if isinstance(g, Kron) and isinstance(f, Vec) and f.transposed:
        merged = _merge(g.T, f.T)
        return None if merged is None else (merged[0], [part.T for part in reversed(merged[1])])
    if isinstance(f, Kron) and f.left.cols == 1:
        return _open(Kron(f.left, f.right.then(_single(g))))
    if isinstance(f, Kron) and f.right.cols == 1:
        return _open(Kron(f.left.then(_single(g)), f.right))
    if isinstance(g, Kron) and (g.left.rows == 1 or g.right.rows == 1):
        merged = _merge(g.T, f.T)
        return None if merged is None else (merged[0], [part.T for part in reversed(merged[1])])
    return None
