r"""Words: products of matrices whose shapes are symbols.

A word is a sequence of factors with a shape: letters (perhaps transposed or inverted), coordinate vectors
e_k, Kronecker products and vectorisations of words. The empty word is the identity. A 1×1 word and a trace
are commuting scalars: SymPy symbols that remember their word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from symdyn.calculus.formula import formula

Scalar = Any  # a SymPy expression
Size = Any  # a SymPy integer or symbol

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def as_size(value: object) -> Size:
    """The size as a SymPy object; raises ValueError unless it is a positive integer or may be one."""
    if not isinstance(value, (int, sympy.Expr)) or isinstance(value, bool):
        raise ValueError(f"a size is a positive integer or a symbol, not {value!r}")
    size = formula(value)
    if size.is_integer is False or size.is_positive is False:
        raise ValueError(f"a size is a positive integer or a symbol, not {value!r}")
    return size


def number_of(size: Size, sizes: Mapping[Any, int]) -> int:
    """The size as a number. Raises ValueError where `sizes` does not determine it."""
    if size in sizes:
        return int(sizes[size])
    number = formula(size)
    if number.is_Integer:
        return int(number)
    number = number.subs({symbol: formula(length) for symbol, length in sizes.items()})
    if not number.is_Integer:
        raise ValueError(f"the size {size} is not known; give it in sizes")
    return int(number)


def same_size(left: Size, right: Size) -> bool:
    """Whether two sizes are equal as expressions."""
    return bool(left == right) or sympy.expand(left - right) == 0


@dataclass(frozen=True)
class Letter:
    """A matrix symbol of shape rows × cols; `symbol` is its LaTeX."""

    name: str
    rows: Size
    cols: Size
    symbol: str = field(default="", compare=False)
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} cannot name a matrix: use a letter, then letters, digits or underscores"
            )
        object.__setattr__(self, "rows", as_size(self.rows))
        object.__setattr__(self, "cols", as_size(self.cols))
        if not self.symbol:
            object.__setattr__(self, "symbol", sympy.latex(sympy.Symbol(self.name)))
        if self.symmetric and not self.square:
            raise ValueError(f"{self.name} is {self.rows} × {self.cols} and cannot be symmetric")

    @property
    def square(self) -> bool:
        return same_size(self.rows, self.cols)


@dataclass(frozen=True)
class Index:
    """An index k that runs from 1 to `size`."""

    name: str
    size: Size

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", as_size(self.size))


@dataclass(frozen=True)
class Occurrence:
    """A letter as it stands in a word: itself, transposed, inverted, or both."""

    letter: Letter
    transposed: bool = False
    inverted: bool = False

    @property
    def shape(self) -> tuple[Size, Size]:
        shape = self.letter.rows, self.letter.cols
        return shape[::-1] if self.transposed else shape

    @property
    def T(self) -> Occurrence:
        return self if self.letter.symmetric else replace(self, transposed=not self.transposed)

    @property
    def inverse(self) -> Occurrence:
        if not self.letter.square:
            name, rows, cols = self.letter.name, self.letter.rows, self.letter.cols
            raise ValueError(f"{name} is {rows} × {cols}, not square, and has no inverse")
        return replace(self, inverted=not self.inverted)

    @property
    def key(self) -> str:
        return self.letter.name + ("^-1" if self.inverted else "") + ("'" if self.transposed else "")

    @property
    def indices(self) -> frozenset[Index]:
        return frozenset()

    def latex(self) -> str:
        marks = ("-" if self.inverted else "") + (
            r"\top" if self.transposed else "1" if self.inverted else ""
        )
        symbol = self.letter.symbol
        if not marks:
            return symbol
        body = f"({symbol})" if "^" in symbol else symbol
        return f"{body}^{marks}" if marks == r"\top" else f"{body}^{{{marks}}}"


@dataclass(frozen=True)
class Basis:
    """The coordinate vector e_k, a column; transposed it is a row."""

    index: Index
    transposed: bool = False

    @property
    def shape(self) -> tuple[Size, Size]:
        shape = self.index.size, sympy.S.One
        return shape[::-1] if self.transposed else shape

    @property
    def T(self) -> Basis:
        return replace(self, transposed=not self.transposed)

    @property
    def key(self) -> str:
        return f"e[{self.index.name}]" + ("'" if self.transposed else "")

    @property
    def indices(self) -> frozenset[Index]:
        return frozenset((self.index,))

    def latex(self) -> str:
        return f"e_{{{self.index.name}}}" + (r"^\top" if self.transposed else "")


@dataclass(frozen=True)
class Word:
    """A product of factors, of shape rows × cols; without factors, the identity."""

    factors: tuple[Factor, ...]
    rows: Size
    cols: Size

    @property
    def T(self) -> Word:
        return Word(tuple(f.T for f in reversed(self.factors)), self.cols, self.rows)

    @property
    def key(self) -> str:
        return "*".join(f.key for f in self.factors) or f"I[{self.rows}]"

    @property
    def indices(self) -> frozenset[Index]:
        return frozenset().union(*(f.indices for f in self.factors))

    def then(self, other: Word) -> Word:
        """The product of two words. Raises ValueError where the inner sizes differ."""
        if not same_size(self.cols, other.rows):
            raise ValueError(
                f"{self.key} is {self.rows} × {self.cols} but {other.key} is {other.rows} × {other.cols}: "
                f"the inner sizes {self.cols} and {other.rows} differ"
            )
        return Word(self.factors + other.factors, self.rows, other.cols)

    def latex(self) -> str:
        parts: list[str] = []
        factors = list(self.factors)
        while factors:
            count = next((i for i, f in enumerate(factors) if f != factors[0]), len(factors))
            first = factors[0]
            plain = isinstance(first, Occurrence) and not first.transposed and not first.inverted
            if count > 1 and plain and "^" not in first.latex():
                parts.append(f"{first.latex()}^{{{count}}}")
                factors = factors[count:]
            else:
                parts.append(first.latex())
                factors = factors[1:]
        return " ".join(parts) or "I"


@dataclass(frozen=True)
class Kron:
    """The Kronecker product left ⊗ right of two words."""

    left: Word
    right: Word

    @property
    def shape(self) -> tuple[Size, Size]:
        return self.left.rows * self.right.rows, self.left.cols * self.right.cols

    @property
    def T(self) -> Kron:
        return Kron(self.left.T, self.right.T)

    @property
    def key(self) -> str:
        return f"({self.left.key} (x) {self.right.key})"

    @property
    def indices(self) -> frozenset[Index]:
        return self.left.indices | self.right.indices

    def latex(self) -> str:
        return rf"\left({self.left.latex()} \otimes {self.right.latex()}\right)"


@dataclass(frozen=True)
class Vec:
    """vec(W): the columns of W stacked; transposed it is a row."""

    word: Word
    transposed: bool = False

    @property
    def shape(self) -> tuple[Size, Size]:
        shape = self.word.rows * self.word.cols, sympy.S.One
        return shape[::-1] if self.transposed else shape

    @property
    def T(self) -> Vec:
        return replace(self, transposed=not self.transposed)

    @property
    def key(self) -> str:
        return f"vec({self.word.key})" + ("'" if self.transposed else "")

    @property
    def indices(self) -> frozenset[Index]:
        return self.word.indices

    def latex(self) -> str:
        return rf"\operatorname{{vec}}\left({self.word.latex()}\right)" + (
            r"^\top" if self.transposed else ""
        )


Factor = Occurrence | Basis | Kron | Vec


class ScalarWord(sympy.Symbol):  # type: ignore[misc, unused-ignore]
    """A 1×1 word as a real commuting symbol; a word and its transpose are the same scalar."""

    __slots__ = ("spelling", "word")

    def __new__(cls, word: Word) -> ScalarWord:
        word = min(word, word.T, key=plainness)
        symbol = sympy.Symbol.__xnew__(cls, f"({word.key})", real=True)
        symbol.word, symbol.spelling = word, spelling(word)
        return symbol  # type: ignore[no-any-return]

    def __getnewargs_ex__(self) -> tuple[tuple[Word], dict[str, Any]]:
        return (self.word,), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        # letters of one name may differ in shape, and so do the words they spell
        return self.spelling, *super()._hashable_content()

    def _latex(self, printer: object) -> str:
        return str(self.word.latex())


class TraceWord(sympy.Symbol):  # type: ignore[misc, unused-ignore]
    """The trace of a word as a real commuting symbol, the same for all its rotations and its transpose."""

    __slots__ = ("spelling", "word")

    def __new__(cls, word: Word) -> TraceWord:
        word = min((r for w in (word, word.T) for r in rotations(w)), key=plainness)
        symbol = sympy.Symbol.__xnew__(cls, f"tr({word.key})", real=True)
        symbol.word, symbol.spelling = word, spelling(word)
        return symbol  # type: ignore[no-any-return]

    def __getnewargs_ex__(self) -> tuple[tuple[Word], dict[str, Any]]:
        return (self.word,), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        # letters of one name may differ in shape, and so do the words they spell
        return self.spelling, *super()._hashable_content()

    def _latex(self, printer: object) -> str:
        return rf"\operatorname{{tr}}\left({self.word.latex()}\right)"


def spelling(word: Word) -> str:
    """The word with the shapes of its letters, and whether they are symmetric."""
    parts = []
    for factor in word.factors:
        if isinstance(factor, Kron):
            parts.append(f"({spelling(factor.left)} (x) {spelling(factor.right)})")
        elif isinstance(factor, Vec):
            parts.append(f"vec({spelling(factor.word)})" + ("'" if factor.transposed else ""))
        else:
            rows, cols = factor.shape
            symmetric = isinstance(factor, Occurrence) and factor.letter.symmetric
            parts.append(f"{factor.key}[{rows},{cols}{',s' if symmetric else ''}]")
    return "*".join(parts) or f"I[{word.rows}]"


def plainness(word: Word) -> tuple[int, str]:
    """The order in which equal scalars are spelt: few transposes first, then by name."""
    return word.key.count("'"), word.key


def rotations(word: Word) -> list[Word]:
    """All words that arise from moving factors from the front to the back of a square word."""
    turned = [word.factors[i:] + word.factors[:i] for i in range(len(word.factors))] or [()]
    return [Word(factors, *([factors[0].shape[0]] * 2 if factors else [word.rows] * 2)) for factors in turned]


def replace_factors(word: Word, function: Callable[[Factor], Sequence[Factor] | None]) -> Word:
    """The word with each innermost factor replaced by what `function` returns; None keeps it."""
    factors: list[Factor] = []
    for factor in word.factors:
        if isinstance(factor, Kron):
            factors.append(
                Kron(replace_factors(factor.left, function), replace_factors(factor.right, function))
            )
        elif isinstance(factor, Vec):
            factors.append(Vec(replace_factors(factor.word, function), factor.transposed))
        else:
            found = function(factor)
            factors.extend([factor] if found is None else found)
    return Word(tuple(factors), word.rows, word.cols)


def count_basis(word: Word, index: Index) -> int:
    """How often e_k or its transpose occurs in the word, at any depth."""
    total = 0
    for factor in word.factors:
        if isinstance(factor, Kron):
            total += count_basis(factor.left, index) + count_basis(factor.right, index)
        elif isinstance(factor, Vec):
            total += count_basis(factor.word, index)
        elif isinstance(factor, Basis):
            total += factor.index == index
    return total
