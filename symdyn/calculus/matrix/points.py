"""Rational matrices for the letters of scalars in which words stand: degenerate ones, and any."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import sympy

from symdyn.calculus.matrix.arrays import evaluate
from symdyn.calculus.matrix.rules import random_matrix
from symdyn.calculus.matrix.sums import ScalarSum
from symdyn.calculus.matrix.transform import WORD_SYMBOLS, letters_of, symbols_of
from symdyn.calculus.matrix.words import Letter, ScalarWord, Size, TraceWord, Word, number_of


def is_word(symbol: Any) -> bool:
    """Whether a symbol stands for a word: its value follows from those of its letters."""
    return isinstance(symbol, WORD_SYMBOLS)


def never_negative(symbol: Any) -> bool:
    """Whether a symbol is vᵀv or the trace of AᵀA, which are not negative."""
    return isinstance(symbol, (ScalarWord, TraceWord)) and _is_square(symbol.word)


def _is_square(word: Word) -> bool:
    return len(word.factors) % 2 == 0 and word.T.factors == word.factors


def letters_at_random(symbols: Iterable[Any], rng: random.Random, degenerate: str = "") -> dict[Any, Any]:
    """Matrices for the letters of word symbols, numbers for the other symbols in them, and what the words are.

    `degenerate` makes all letters "zero", of rank "one" or the "same" where their shapes are; letters that are inverted
    somewhere stay invertible. Sizes are drawn from 1 to 4.
    """
    words = [s for s in symbols if is_word(s)]
    letters = sorted(set().union(*(letters_of(w) for w in words)), key=lambda letter: letter.name)
    sizes = {
        s: rng.randint(1, 4) for s in sorted(set().union(*(_sizes(letter) for letter in letters)), key=str)
    }
    values: dict[Any, Any] = {}
    inverted = any("^-1" in str(w) for w in words)
    for letter in letters:
        values[letter] = random_matrix(rng, letter, sizes)
        if degenerate and not inverted:
            values[letter] = _degenerate(degenerate, letter, values, sizes)
    inner = set().union(*(symbols_of(w) for w in words if isinstance(w, ScalarSum))) - set(sizes)
    for symbol in sorted(inner, key=str):
        values[symbol] = sympy.Rational(rng.randint(-9, 9), rng.choice((1, 2, 3)))
    return {**values, **{w: evaluate(w, values, sizes) for w in words}}


def _sizes(letter: Letter) -> set[Size]:
    return letter.rows.free_symbols | letter.cols.free_symbols  # type: ignore[no-any-return]


def _degenerate(kind: str, letter: Letter, drawn: dict[Any, Any], sizes: dict[Any, int]) -> Any:
    rows, cols = number_of(letter.rows, sizes), number_of(letter.cols, sizes)
    if kind == "zero":
        return sympy.zeros(rows, cols)
    if kind == "one":
        return sympy.Matrix(rows, cols, lambda i, j: sympy.Integer(1))
    alike = (
        m for other, m in drawn.items() if m.shape == (rows, cols) and other.symmetric == letter.symmetric
    )
    return next(alike)
