"""Substitution into expressions and their derivative along a flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.matrix.expression import (
    Expression,
    from_scalar,
    from_word,
    kron,
    sum_over,
    trace,
    vec,
    zero,
)
from symdyn.calculus.matrix.sums import Bound, ScalarSum
from symdyn.calculus.matrix.words import (
    Factor,
    Kron,
    Letter,
    Occurrence,
    Scalar,
    ScalarWord,
    TraceWord,
    Vec,
    Word,
    same_size,
)
from symdyn.calculus.vectors import as_scalar
from symdyn.compile.named import unfold

WORD_SYMBOLS = (ScalarWord, TraceWord, ScalarSum)


def letters_of(x: Any) -> set[Letter]:
    """The letters of an expression or of a scalar in which words stand."""
    if isinstance(x, Expression):
        found: set[Letter] = set()
        for (_, word), c in x.terms.items():
            found |= _letters_of_word(word) | letters_of(c)
        return found
    atoms = x.atoms(*WORD_SYMBOLS)
    parts = (letters_of(a.body) if isinstance(a, ScalarSum) else _letters_of_word(a.word) for a in atoms)
    return set().union(*parts)


def symbols_of(x: Any) -> set[Any]:
    """The scalar symbols of an expression or scalar, without the 1×1 words, traces and sums themselves."""
    if isinstance(x, Expression):
        return set().union(*(symbols_of(c) for c in x.terms.values()))
    bodies = (symbols_of(atom.body) for atom in x.atoms(ScalarSum))
    return {s for s in x.free_symbols if not isinstance(s, WORD_SYMBOLS)}.union(*bodies)


def _letters_of_word(word: Word) -> set[Letter]:
    found: set[Letter] = set()
    for factor in word.factors:
        if isinstance(factor, Occurrence):
            found.add(factor.letter)
        elif isinstance(factor, Kron):
            found |= _letters_of_word(factor.left) | _letters_of_word(factor.right)
        elif isinstance(factor, Vec):
            found |= _letters_of_word(factor.word)
    return found


def opened(x: Any) -> Any:
    """x with its named quantities replaced by their definitions, in sums as well."""

    def scalar(c: Scalar) -> Scalar:
        return within_sums(unfold(c), scalar)

    return x.map(scalar) if isinstance(x, Expression) else scalar(formula(x))


def within_sums(c: Scalar, function: Callable[[Scalar], Scalar]) -> Scalar:
    """A scalar with a function applied to the summands of its sums."""
    sums = c.atoms(ScalarSum)
    return c.xreplace({a: summed(a.bound, from_scalar(function(a.body))).scalar() for a in sums})


def substitute(x: Any, mapping: Mapping[Any, Any]) -> Any:
    """x with letters replaced by expressions of their shape and symbols by scalars, all at once.

    Works on expressions and on scalars in which words stand. Raises ValueError for a wrong shape.
    """
    letters, symbols = split_mapping(mapping)

    def image(occurrence: Occurrence) -> Expression:
        if occurrence.letter not in letters:
            return from_word(Word((occurrence,), *occurrence.shape))
        found = letters[occurrence.letter]
        found = found.inverse() if occurrence.inverted else found
        return found.T if occurrence.transposed else found

    def scalar(c: Scalar) -> Scalar:
        rules = {symbol: symbols[symbol] for symbol in c.free_symbols if symbol in symbols}
        for atom in c.atoms(*WORD_SYMBOLS):
            if isinstance(atom, ScalarSum):
                rules[atom] = summed(atom.bound, from_scalar(scalar(atom.body))).scalar()
            else:
                found = expand_word(atom.word, image)
                rules[atom] = trace(found) if isinstance(atom, TraceWord) else found.scalar()
        return c.xreplace(rules)

    if not isinstance(x, Expression):
        return scalar(formula(x))
    result = zero(x.rows, x.cols)
    for bound, c, word in x.listed():
        result = result + summed(bound, scalar(c) * expand_word(word, image))
    return result


def derivative(x: Any, velocities: Mapping[Any, Any]) -> Any:
    """d/dt of an expression or scalar, by the product rule; d(A⁻¹)/dt = −A⁻¹ Ȧ A⁻¹.

    `velocities` maps letters to expressions of their shape and symbols to scalars; all else stands still.
    The velocity of a symmetric letter has to be symmetric. Raises ValueError for a wrong shape.
    """
    letters, symbols = split_mapping(velocities)

    def of_factor(factor: Factor) -> Expression:
        if isinstance(factor, Kron):
            left, right = from_word(factor.left), from_word(factor.right)
            return kron(of_word(factor.left), right) + kron(left, of_word(factor.right))
        if isinstance(factor, Vec):
            moving = vec(of_word(factor.word))
            return moving.T if factor.transposed else moving
        if not isinstance(factor, Occurrence) or factor.letter not in letters:
            return zero(*factor.shape)
        velocity = letters[factor.letter].T if factor.transposed else letters[factor.letter]
        here = from_word(Word((factor,), *factor.shape))
        return -(here @ velocity @ here) if factor.inverted else velocity

    def of_word(word: Word) -> Expression:
        result = zero(word.rows, word.cols)
        for i, factor in enumerate(word.factors):
            before = Word(word.factors[:i], word.rows, factor.shape[0])
            after = Word(word.factors[i + 1 :], factor.shape[1], word.cols)
            result = result + from_word(before) @ of_factor(factor) @ from_word(after)
        return result

    def of_symbol(symbol: Scalar) -> Scalar:
        if isinstance(symbol, ScalarSum):
            return summed(symbol.bound, from_scalar(of_scalar(symbol.body))).scalar()
        if isinstance(symbol, ScalarWord):
            return of_word(symbol.word).scalar()
        if isinstance(symbol, TraceWord):
            return trace(of_word(symbol.word))
        return symbols.get(symbol, sympy.S.Zero)

    def of_scalar(c: Scalar) -> Scalar:
        moving = sorted(c.free_symbols, key=lambda symbol: symbol.name)
        return sympy.Add(*(sympy.diff(c, symbol) * of_symbol(symbol) for symbol in moving))

    if not isinstance(x, Expression):
        return of_scalar(formula(x))
    result = zero(x.rows, x.cols)
    for bound, c, word in x.listed():
        result = result + summed(bound, of_scalar(c) * from_word(word) + c * of_word(word))
    return result


def summed(bound: Bound, expression: Expression) -> Expression:
    """The expression summed over all the indices of `bound`."""
    for index in bound:
        expression = sum_over(index, expression)
    return expression


def expand_word(word: Word, image: Callable[[Occurrence], Expression]) -> Expression:
    """The word with every letter replaced by an expression, multiplied out."""
    result = from_word(Word((), word.rows, word.rows))
    for factor in word.factors:
        if isinstance(factor, Kron):
            result = result @ kron(expand_word(factor.left, image), expand_word(factor.right, image))
        elif isinstance(factor, Vec):
            column = vec(expand_word(factor.word, image))
            result = result @ (column.T if factor.transposed else column)
        elif isinstance(factor, Occurrence):
            result = result @ image(factor)
        else:
            result = result @ from_word(Word((factor,), *factor.shape))
    return result


def as_letter(key: object) -> Letter | None:
    """The letter that a key stands for, or None if it is none."""
    if isinstance(key, Letter):
        return key
    return key.letter if isinstance(key, Expression) else None


def split_mapping(mapping: Mapping[Any, Any]) -> tuple[dict[Letter, Expression], dict[Any, Scalar]]:
    """The letters and the scalar symbols of a mapping, with their values checked for kind and shape."""
    letters: dict[Letter, Expression] = {}
    symbols: dict[Any, Scalar] = {}
    for key, value in mapping.items():
        letter = as_letter(key)
        if letter is None:
            scalar = as_scalar(value.scalar() if isinstance(value, Expression) else value)
            if not isinstance(key, sympy.Symbol) or scalar is None:
                raise TypeError(f"{key!r} cannot be replaced by {value!r}: expected a symbol and a scalar")
            symbols[key] = scalar
            continue
        if not isinstance(value, Expression):
            raise TypeError(f"the matrix {letter.name} needs an expression, not {value!r}")
        if not (same_size(value.rows, letter.rows) and same_size(value.cols, letter.cols)):
            raise ValueError(
                f"{letter.name} is {letter.rows} × {letter.cols}, but what replaces it is "
                f"{value.rows} × {value.cols}"
            )
        letters[letter] = value
    return letters, symbols
