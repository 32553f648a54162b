r"""Rules: what holds for particular matrices, declared with rational matrices for which it does.

A `Declaration` says how words are rewritten, such as UᵀU → I, and how to draw rational matrices that satisfy
it exactly. `Rules` joins declarations: an expression whose normal form is zero vanishes for all matrices that
satisfy them. A normal form that is not zero proves nothing; then `witness` looks for rational matrices at
which the expression does not vanish, and these refute it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy.matrices.exceptions import NonInvertibleMatrixError

from symdyn.calculus.formula import formula
from symdyn.calculus.matrix.arrays import evaluate
from symdyn.calculus.matrix.expression import Expression, from_scalar, from_word, kron, trace, vec
from symdyn.calculus.matrix.sums import ScalarSum, indices_of, rename_scalar
from symdyn.calculus.matrix.transform import WORD_SYMBOLS, letters_of, summed, symbols_of
from symdyn.calculus.matrix.words import (
    Basis,
    Index,
    Kron,
    Letter,
    Scalar,
    ScalarWord,
    TraceWord,
    Vec,
    Word,
    number_of,
    plainness,
    rotations,
)
from symdyn.calculus.vectors import as_scalar

Sizes = Mapping[Any, int]
Sampler = Callable[[random.Random, Sizes], dict[Any, Any]]

_STEPS = 2_000
_DRAWS = 50
_LONGEST_WORD = 100


@dataclass(frozen=True)
class Rule:
    """left → right, where left is a word of at least one factor and right an expression of its shape."""

    left: Word
    right: Expression

    @property
    def T(self) -> Rule:
        return Rule(self.left.T, self.right.T)

    def latex(self) -> str:
        """The rule as an equation."""
        return f"{self.left.latex()} = {self.right.latex()}"


def rule(left: Expression, right: Any) -> Rule:
    """The rule left → right; left is a single product, right an expression or, for 1×1 words, a scalar.

    Raises ValueError where left is not a single product or the shapes differ.
    """
    if not isinstance(right, Expression):
        scalar = as_scalar(right)
        if scalar is None:
            raise TypeError(f"a word is rewritten to an expression or a scalar, not {right!r}")
        right = from_scalar(scalar)
    if left.shape != right.shape:
        raise ValueError(f"{left!r} and {right!r} differ in shape: {left.shape} and {right.shape}")
    if len(left.terms) != 1:
        raise ValueError(f"{left!r} is not a single product")
    (((bound, word), coefficient),) = left.terms.items()
    if not word.factors and left.shape == (1, 1):
        symbols = coefficient.atoms(ScalarWord)
        if len(symbols) == 1:
            (symbol,) = symbols
            word, coefficient = symbol.word, coefficient / symbol
    if bound or not word.factors or coefficient.atoms(*WORD_SYMBOLS):
        raise ValueError(f"{left!r} is not a single product of letters")
    return Rule(word, right / coefficient)


@dataclass(frozen=True)
class Declaration:
    """Rules that hold for some letters, with a sampler of rational matrices that satisfy them exactly.

    `signs` gives +1 or -1 to scalar symbols, which the sampler must draw accordingly, and to 1×1 words and traces; one
    with an index has the sign for each value of it. Scalars of words that are `nonzero` do not vanish. What is drawn is
    drawn anew until this holds. `in_the_limit` says that what the rules stand for is defined where a number that
    they divide by vanishes, and continuous there, so that what follows from them does so too.
    """

    name: str
    rules: tuple[Rule, ...]
    letters: tuple[Letter, ...]
    sampler: Sampler
    signs: Mapping[Any, int] = field(default_factory=dict, hash=False)
    nonzero: tuple[Any, ...] = ()
    in_the_limit: bool = False


class Rules:
    """Declarations together, used for rewriting. Each rule also acts transposed, where that does not undo it.

    `derived` are further rules; those of them that follow from the others, as `completed` finds them, are `implied`.
    """

    def __init__(self, *declarations: Declaration, derived: Iterable[Rule] = ()) -> None:
        self.declarations = declarations
        self._samples: dict[Any, dict[Any, Any]] = {}
        self.derived = tuple(derived)
        self.implied: tuple[Rule, ...] = ()
        seen: dict[Word, Rule] = {}
        for declared in (*(r for d in declarations for r in d.rules), *self.derived):
            back = from_word(declared.T.left) == declared.right  # of a rule that commutes symmetric letters
            for oriented in (declared,) if back else (declared, declared.T):
                seen.setdefault(oriented.left, oriented)
        self.rules = tuple(seen.values())
        self.signs = {symbol: sign for d in declarations for symbol, sign in d.signs.items()}
        self.word_signs = {
            _of_any_index(symbol): sign
            for symbol, sign in self.signs.items()
            if isinstance(symbol, WORD_SYMBOLS)
        }

        self.nonzero = tuple(x for d in declarations for x in d.nonzero)

    def __repr__(self) -> str:
        return f"Rules({', '.join(map(repr, self.declarations))})"

    def sign_of(self, symbol: Any) -> int | None:
        """±2 for a symbol declared positive or negative, 1 for vᵀv, which is not negative, None if unknown."""
        if symbol in self.signs:
            return 2 * self.signs[symbol]
        if self.word_signs and (sign := self.word_signs.get(_of_any_index(symbol))) is not None:
            return 2 * sign
        return 1 if isinstance(symbol, ScalarWord) and _is_square(symbol.word) else None

    def normal_form(self, x: Any) -> Any:
        """The expression or scalar after rewriting until no rule applies.

        Raises ValueError where this does not come to an end.
        """
        for _ in range(_STEPS):
            rewritten = self._step(x) if isinstance(x, Expression) else self._step_scalar(formula(x))
            if rewritten is None:
                return x
            x = rewritten
            if isinstance(x, Expression) and any(len(w.factors) > _LONGEST_WORD for _, w in x.terms):
                break
        raise ValueError("rewriting does not come to an end; orient the rules towards simpler words")

    def proves_zero(self, x: Any) -> bool:
        """Whether the normal form of x is zero, which proves that x vanishes; False proves nothing."""
        reduced = self.normal_form(x)
        return reduced.is_zero if isinstance(reduced, Expression) else sympy.expand(reduced) == 0

    def _step(self, x: Expression) -> Expression | None:
        for i, (bound, c, word) in enumerate(terms := x.listed()):
            scalar, rewritten = self._step_scalar(c), self._step_word(word)
            if scalar is None and rewritten is None:
                continue
            rest = Expression(terms[:i] + terms[i + 1 :], x.rows, x.cols)
            product = from_word(word) if rewritten is None else rewritten
            return rest + summed(bound, (c if scalar is None else scalar) * product)
        return None

    def _step_scalar(self, c: Scalar) -> Scalar | None:
        for atom in sorted(c.atoms(*WORD_SYMBOLS), key=lambda symbol: symbol.name):
            found = self._step_symbol(atom)
            if found is not None:
                return c.xreplace({atom: found})
        return None

    def _step_symbol(self, atom: Any) -> Scalar | None:
        if isinstance(atom, ScalarSum):
            body = self._step_scalar(atom.body)
            return None if body is None else summed(atom.bound, from_scalar(body)).scalar()
        if isinstance(atom, TraceWord):
            found = (self._step_word(rotation) for rotation in rotations(atom.word))
            return next((trace(expression) for expression in found if expression is not None), None)
        rewritten = self._step_word(atom.word)
        return None if rewritten is None else rewritten.scalar()

    def _step_word(self, word: Word) -> Expression | None:
        match = next(self._matches(word), None)
        if match is None:
            return None
        start, stop, right = match
        before = Word(word.factors[:start], word.rows, right.rows)
        after = Word(word.factors[stop:], right.cols, word.cols)
        return from_word(before) @ right @ from_word(after)

    def _matches(self, word: Word) -> Iterator[tuple[int, int, Expression]]:
        """Places of the word that can be rewritten, with what comes there."""
        for r in self.rules:
            length = len(r.left.factors)
            for start in range(len(word.factors) - length + 1):
                if word.factors[start : start + length] == r.left.factors:
                    yield start, start + length, r.right
        for i, factor in enumerate(word.factors):
            if isinstance(factor, Kron):
                left, right = self._step_word(factor.left), self._step_word(factor.right)
                if left is not None or right is not None:
                    first = from_word(factor.left) if left is None else left
                    yield i, i + 1, kron(first, from_word(factor.right) if right is None else right)
            elif isinstance(factor, Vec):
                inner = self._step_word(factor.word)
                if inner is not None:
                    yield i, i + 1, vec(inner).T if factor.transposed else vec(inner)

    def unresolved(self) -> list[Expression]:
        """The differences between the two ways to rewrite overlapping left sides, where they stay different.

        The rules are confluent on words of letters if the list is empty.
        """
        found = []
        for r in self.rules:
            for s in self.rules:
                for word, i in _overlaps(r.left, s.left):
                    difference = _apply(word, 0, r) - _apply(word, i, s)
                    reduced = self.normal_form(difference)
                    if not reduced.is_zero:
                        found.append(reduced)
        return found

    def completed(self, most: int = 20) -> Rules:
        """The rules with consequences added until all overlaps are resolved.

        The longest word of an unresolved difference, and of these the last by name, becomes the left side of
        a new rule. Raises ValueError where `most` new rules are not enough.
        """
        rules = self
        for _ in range(most + 1):
            unresolved = rules.unresolved()
            if not unresolved:
                return rules
            implied = (*rules.implied, _orient(unresolved[0]))
            rules = Rules(*self.declarations, derived=(*self.derived, *implied))
            rules.implied = implied
        raise ValueError(f"the rules are not confluent after adding {most} consequences")

    def sample(self, x: Any, sizes: Sizes, seed: int = 0) -> dict[Any, Any]:
        """Rational values for all letters and symbols of x, or of several, that satisfy the declarations exactly.

        Letters without a declaration are drawn freely (symmetric ones symmetric, square ones invertible).
        Raises ValueError where two declarations draw the same letter, and where no draw has the signs of the words.
        """
        xs = x if isinstance(x, tuple) else (x,)
        letters = frozenset().union(*map(letters_of, (*xs, *self.word_signs, *self.nonzero)))
        symbols = frozenset().union(*map(symbols_of, (*xs, *self.nonzero)))
        key = (letters, symbols, frozenset(sizes.items()), seed)
        if key not in self._samples:
            self._samples[key] = self._sample(letters, symbols, sizes, random.Random(seed))
        return dict(self._samples[key])

    def _sample(self, letters: Any, symbols: Any, sizes: Sizes, generator: random.Random) -> dict[Any, Any]:
        for _ in range(_DRAWS):
            values = self._draw(letters, symbols, sizes, generator)
            if self.admits(values, sizes):
                return values
        words = (*self.word_signs, *self.nonzero)
        raise ValueError(f"no draw has the signs that are declared of {', '.join(map(str, words))}")

    def admits(self, values: Mapping[Any, Any], sizes: Sizes) -> bool:
        """Whether the words of which all letters are given have the signs that are declared, and do not vanish."""
        known = values.keys() | sizes.keys()
        for x in self.nonzero:
            if letters_of(x) | symbols_of(x) <= known:
                try:
                    if evaluate(x, values, sizes) == 0:
                        return False
                except NonInvertibleMatrixError:
                    return False
        for word, sign in self.word_signs.items():
            if letters_of(word) <= values.keys():
                free = sorted(indices_of(word), key=str)
                every = itertools.product(*(range(number_of(k.size, sizes)) for k in free))
                places = [dict(zip(free, at, strict=True)) for at in every]
                if any(evaluate(word, values, sizes, at) * sign <= 0 for at in places):
                    return False
        return True

    def _draw(self, letters: Any, symbols: Any, sizes: Sizes, generator: random.Random) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for declaration in self.declarations:
            drawn = declaration.sampler(generator, sizes)
            twice = sorted(letter.name for letter in drawn if letter in values)
            if twice:
                raise ValueError(
                    f"{', '.join(twice)} would be drawn twice; declare their rules together, with one sampler"
                )
            values.update(drawn)
        for letter in sorted(letters - set(values), key=lambda letter: letter.name):
            values[letter] = random_matrix(generator, letter, sizes)
        for symbol in sorted(symbols - set(sizes) - set(values), key=lambda symbol: symbol.name):
            values[symbol] = random_rational(generator)
        return values

    def witness(self, x: Any, sizes: Sizes, trials: int = 3) -> dict[Any, Any] | None:
        """Rational values that satisfy the declarations and at which x does not vanish, or None."""
        for seed in range(trials):
            values = self.sample(x, sizes, seed)
            value = evaluate(x, values, sizes)
            if not (value.is_zero_matrix if isinstance(x, Expression) else value == 0):
                return values
        return None


def _of_any_index(symbol: Any) -> Any:
    """A word with its indices named by their order in it, so that it is the same for all of them."""
    if not isinstance(symbol, WORD_SYMBOLS) or isinstance(symbol, ScalarSum):
        return symbol
    indices = dict.fromkeys(f.index for f in symbol.word.factors if isinstance(f, Basis))
    names = {k: Index(f"any{i}", k.size) for i, k in enumerate(indices)}
    return rename_scalar(symbol, names) if names else symbol


def _is_square(word: Word) -> bool:
    """Whether the 1×1 word is vᵀv."""
    return len(word.factors) % 2 == 0 and word.T.factors == word.factors


def _apply(word: Word, start: int, r: Rule) -> Expression:
    before = Word(word.factors[:start], word.rows, r.left.rows)
    after = Word(word.factors[start + len(r.left.factors) :], r.left.cols, word.cols)
    return from_word(before) @ r.right @ from_word(after)


def _overlaps(v: Word, w: Word) -> Iterator[tuple[Word, int]]:
    """The words that begin with v and contain w from place i on, overlapping v, and the places i."""
    for i in range(len(v.factors)):
        common = min(len(v.factors) - i, len(w.factors))
        if v.factors[i : i + common] == w.factors[:common] and (v, 0) != (w, i):
            rest = w.factors[common:]
            yield Word(v.factors + rest, v.rows, w.cols if rest else v.cols), i


def _orient(difference: Expression) -> Rule:
    plain = [(word, c) for (bound, word), c in difference.terms.items() if not bound and word.factors]
    if not plain:
        raise ValueError(f"the rules imply {difference!r} = 0, which cannot be solved for a word")
    word, c = max(plain, key=lambda term: (len(term[0].factors), plainness(term[0])))
    return Rule(word, from_word(word) - difference / c)


def random_rational(generator: random.Random) -> sympy.Rational:
    """A rational number with small numerator and denominator, not zero."""
    return sympy.Rational(generator.choice([-5, -3, -2, -1, 1, 2, 3, 4]), generator.randint(1, 3))


def random_matrix(generator: random.Random, letter: Letter, sizes: Sizes) -> sympy.Matrix:
    """A rational matrix of the letter's shape: symmetric if the letter is, invertible if it is square."""
    rows, cols = number_of(letter.rows, sizes), number_of(letter.cols, sizes)
    drawn = sympy.Matrix(rows, cols, lambda i, j: random_rational(generator))
    if letter.symmetric:
        drawn = drawn + drawn.T
    if letter.square and drawn.det() == 0:
        return random_matrix(generator, letter, sizes)
    return drawn
