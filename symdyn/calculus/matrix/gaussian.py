r"""Exact means over Gaussian matrices of any shape, by integration by parts.

For W with independent entries of mean zero and variance s, and any polynomial F of its entries,

    E[W_ij F] = s E[∂F/∂W_ij].

Read with W = Σ_ij W_ij e_i e_jᵀ it takes one W out of a word and differentiates the rest, so that for instance
E[W Wᵀ] = s m I and E tr(W Wᵀ W Wᵀ) = s² (n m² + n² m + n m) for W of shape n × m.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.matrix.expression import Expression, basis, from_word, sum_over, zero
from symdyn.calculus.matrix.sums import ScalarSum, expand
from symdyn.calculus.matrix.transform import WORD_SYMBOLS, as_letter, derivative, letters_of, summed
from symdyn.calculus.matrix.words import Factor, Index, Letter, Occurrence, Scalar, TraceWord, Word

_numbers = itertools.count()


def gaussian_mean(x: Any, variances: Mapping[Any, Any]) -> Any:
    """The mean of an expression, or of a scalar in which words stand, over Gaussian letters.

    `variances` maps letters to the variance of their entries, all independent and of mean zero; what it does
    not name is fixed. Raises ValueError for a symmetric letter, and where the mean is not that of a polynomial
    in the entries (an inverse, or a negative or symbolic power of a scalar).
    """
    for key, variance in variances.items():
        letter = as_letter(key)
        if letter is None or letter.symmetric:
            raise ValueError(f"{key!r} is not a letter with independent entries")
        x = _mean(x, letter, formula(variance))
    return x


def _mean(x: Any, letter: Letter, variance: Scalar) -> Any:
    if not isinstance(x, Expression):
        return _mean_scalar(expand(formula(x)), letter, variance)
    total = zero(x.rows, x.cols)
    for bound, coefficient, word in x.listed():
        for monomial in sympy.Add.make_args(expand(coefficient)):
            total = total + summed(bound, _mean_term(monomial, word, letter, variance))
    return total


def _mean_term(monomial: Scalar, word: Word, letter: Letter, variance: Scalar) -> Expression:
    """The mean of monomial · word: by the first W of the word, or of the scalar where the word has none."""
    if letter not in letters_of(from_word(word)):
        mean: Expression = _mean_scalar(monomial, letter, variance) * from_word(word)
        return mean
    place = _place(word, letter)
    before, after = _around(word, place)
    row, column, direction = _entry(letter)
    first, last = (column, row) if _transposed(word, place) else (row, column)
    left = from_word(before) @ basis(first)
    rest = monomial * (basis(last).T @ from_word(after))
    moved: Expression = _summed_mean(
        left @ derivative(rest, {letter: direction}), row, column, letter, variance
    )
    return moved


def _mean_scalar(scalar: Scalar, letter: Letter, variance: Scalar) -> Scalar:
    total = sympy.S.Zero
    for monomial in sympy.Add.make_args(scalar):
        atom = _random_factor(monomial, letter)
        if atom is None:
            total += monomial
            continue
        place = _place(atom.word, letter)
        before, after = _around(atom.word, place)
        row, column, direction = _entry(letter)
        first, last = (column, row) if _transposed(atom.word, place) else (row, column)
        if isinstance(atom, TraceWord):
            entry = basis(last).T @ from_word(after) @ from_word(before) @ basis(first)
        else:
            entry = (from_word(before) @ basis(first)) @ (basis(last).T @ from_word(after))
        rest = monomial / atom * entry.scalar()
        moved = derivative(rest, {letter: direction})
        total += _summed_mean(moved, row, column, letter, variance)
    return expand(total)


def _summed_mean(moved: Any, row: Index, column: Index, letter: Letter, variance: Scalar) -> Any:
    """s E Σ_ij of what integration by parts left, a polynomial of lower degree."""
    return _mean(variance * sum_over(column, sum_over(row, moved)), letter, variance)


def _entry(letter: Letter) -> tuple[Index, Index, Expression]:
    """New indices i and j, and the direction e_i e_jᵀ of the entry W_ij."""
    number = next(_numbers)
    row, column = Index(f"%row{number}", letter.rows), Index(f"%column{number}", letter.cols)
    return row, column, basis(row) @ basis(column).T


def _random_factor(monomial: Scalar, letter: Letter) -> Any:
    """A trace or 1×1 word with the letter in it that is a factor of the monomial, None if it is not random."""
    random = [atom for atom in monomial.atoms(*WORD_SYMBOLS) if letter in letters_of(atom)]
    if not random:
        return None
    powers = monomial.as_powers_dict()
    for atom in sorted(random, key=lambda symbol: symbol.name):
        exponent = powers.get(atom, sympy.S.Zero)
        if isinstance(atom, ScalarSum) or not (exponent.is_Integer and exponent > 0):
            raise ValueError(f"{monomial} is not a polynomial in the entries of {letter.name}")
    return min(random, key=lambda symbol: symbol.name)


def _place(word: Word, letter: Letter) -> int:
    """Where the letter first stands in the word."""
    for place, factor in enumerate(word.factors):
        if isinstance(factor, Occurrence) and factor.letter == letter:
            if factor.inverted:
                raise ValueError(f"the mean of an inverse of {letter.name} is not that of a polynomial")
            return place
        if letter in letters_of(from_word(Word((factor,), *factor.shape))):
            raise ValueError(f"the mean over {letter.name} inside {factor.key} is not supported")
    raise ValueError(f"{letter.name} does not stand in {word.key}")


def _transposed(word: Word, place: int) -> bool:
    factor: Factor = word.factors[place]
    return isinstance(factor, Occurrence) and factor.transposed


def _around(word: Word, place: int) -> tuple[Word, Word]:
    """What stands before and after a place of the word."""
    rows, cols = word.factors[place].shape
    before = Word(word.factors[:place], word.rows, rows)
    return before, Word(word.factors[place + 1 :], cols, word.cols)
