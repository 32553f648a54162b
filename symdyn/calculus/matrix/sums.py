r"""Sums over indices, contracted wherever an index occurs twice.

    Σ_k (xᵀe_k)(e_kᵀy) = xᵀy,     Σ_k (xᵀe_k) e_k = x,     Σ_k A e_k e_kᵀ B = A B,     Σ_k e_kᵀ A e_k = tr A,
    Σ_k (e_kᵀe_j) c(k) = c(j),    Σ_k 1 = n,

and what remains is stored with canonical names of the summed indices, so that it does not matter how they
were called. A sum of scalars is itself a commuting scalar (`ScalarSum`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import sympy

from symdyn.calculus.matrix.normal import normal, trace
from symdyn.calculus.matrix.words import (
    Basis,
    Factor,
    Index,
    Kron,
    Scalar,
    ScalarWord,
    TraceWord,
    Vec,
    Word,
    count_basis,
    replace_factors,
)

Bound = tuple[Index, ...]
Term = tuple[Bound, Word]

_SHOWN = "kjilmpqrs"
_numbers = itertools.count()


class ScalarSum(sympy.Symbol):  # type: ignore[misc, unused-ignore]
    """Σ over the indices `bound` of the scalar `body`, as a real commuting symbol."""

    __slots__ = ("body", "bound", "spelling")

    def __new__(cls, bound: Bound, body: Scalar) -> ScalarSum:
        name = f"sum[{','.join(k.name for k in bound)}]({body})"
        symbol = sympy.Symbol.__xnew__(cls, name, real=True)
        symbol.bound, symbol.body = bound, body
        parts = (atom.spelling for atom in body.atoms(ScalarWord, TraceWord, ScalarSum))
        symbol.spelling = " ".join([*(str(k.size) for k in bound), *sorted(parts)])
        return symbol  # type: ignore[no-any-return]

    def __getnewargs_ex__(self) -> tuple[tuple[Bound, Scalar], dict[str, Any]]:
        return (self.bound, self.body), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        return self.spelling, *super()._hashable_content()

    def _latex(self, printer: Any) -> str:
        names = shown_names(self.bound, indices_of(self.body))
        return sigma_latex(names.values()) + str(printer.doprint(rename_scalar(self.body, names)))


def sigma_latex(indices: Iterable[Index]) -> str:
    return "".join(rf"\sum_{{{k.name}=1}}^{{{sympy.latex(k.size)}}} " for k in indices)


def shown_names(bound: Bound, free: Iterable[Index]) -> dict[Index, Index]:
    """Letters for the summed indices that no free index bears."""
    taken = {k.name for k in free if k not in bound}
    letters = (letter for letter in _SHOWN if letter not in taken)
    return {k: Index(next(letters, k.name), k.size) for k in bound}


def indices_of(scalar: Scalar) -> frozenset[Index]:
    """The indices that a scalar depends on, without those it is summed over."""
    found: frozenset[Index] = frozenset()
    for atom in scalar.atoms(ScalarWord, TraceWord, ScalarSum):
        found |= indices_of(atom.body) - set(atom.bound) if isinstance(atom, ScalarSum) else atom.word.indices
    return found


def rename_word(word: Word, names: Mapping[Index, Index]) -> Word:
    """The word with its indices renamed."""

    def renamed(factor: Factor) -> list[Factor] | None:
        if isinstance(factor, Basis) and factor.index in names:
            return [Basis(names[factor.index], factor.transposed)]
        return None

    return replace_factors(word, renamed)


def rename_scalar(scalar: Scalar, names: Mapping[Index, Index]) -> Scalar:
    """The scalar with its free indices renamed; summed ones keep their names."""
    rules: dict[Scalar, Scalar] = {}
    for atom in scalar.atoms(ScalarWord, TraceWord, ScalarSum):
        if isinstance(atom, ScalarSum):
            inner = {k: j for k, j in names.items() if k not in atom.bound}
            rules[atom] = ScalarSum(atom.bound, rename_scalar(atom.body, inner))
        elif isinstance(atom, ScalarWord):
            rules[atom] = normal(rename_word(atom.word, names))[0]
        else:
            rules[atom] = trace(rename_word(atom.word, names))
    return scalar.xreplace(rules)


def fresh(bound: Bound, scalar: Scalar, word: Word) -> tuple[Bound, Scalar, Word]:
    """The term with new names for its summed indices, which no other term can bear."""
    if not bound:
        return bound, scalar, word
    names = {k: Index(f"#{next(_numbers)}", k.size) for k in bound}
    return tuple(names.values()), rename_scalar(scalar, names), rename_word(word, names)


def collect(terms: Iterable[tuple[Bound, Scalar, Word]]) -> dict[Term, Scalar]:
    """The terms in normal form, equal ones added, zero ones dropped."""
    total: dict[Term, Scalar] = {}
    for bound, coefficient, word in terms:
        scalar, word = normal(word)
        coefficient = expand(coefficient * scalar)
        if not bound:
            total[(), word] = total.get(((), word), sympy.S.Zero) + coefficient
            continue
        for monomial in sympy.Add.make_args(coefficient):
            left, c, w = _canonical(*_separate(*_contract(bound, monomial, word)))
            total[left, w] = total.get((left, w), sympy.S.Zero) + c
    expanded = {term: expand(c) for term, c in total.items()}
    return {term: c for term, c in expanded.items() if c != 0}


def expand(scalar: Scalar) -> Scalar:
    """Products multiplied out; powers, exponentials and logarithms are left alone."""
    return sympy.expand(scalar, power_base=False, power_exp=False, log=False)


def _powers(monomial: Scalar) -> list[tuple[Scalar, Scalar]]:
    return [factor.as_base_exp() for factor in sympy.Mul.make_args(monomial)]


def _contract(bound: Bound, monomial: Scalar, word: Word) -> tuple[Bound, Scalar, Word]:
    """Carry out the sum over every index that occurs not at all, twice, or in some e_kᵀe_j."""
    for k in bound:
        found = _contract_index(k, monomial, word)
        if found is not None:
            return _contract(tuple(j for j in bound if j != k), *found)
    return bound, monomial, word


def _contract_index(k: Index, monomial: Scalar, word: Word) -> tuple[Scalar, Word] | None:
    powers = _powers(monomial)
    for base, exponent in powers:
        other = _partner(base, k)
        if other is not None and exponent.is_Integer and exponent > 0:
            names = {k: other}
            return rename_scalar(monomial / base**exponent, names), rename_word(word, names)
    holders = [(base, exponent) for base, exponent in powers if k in indices_of(base)]
    in_word = count_basis(word, k)
    if not holders and not in_word:
        return monomial * k.size, word
    if in_word + sum(_count(base, exponent, k) for base, exponent in holders) != 2:
        return None
    if in_word == 2:
        return _close_word(k, monomial, word)
    return _close_scalars(k, monomial, holders, word)


def _partner(base: Scalar, k: Index) -> Index | None:
    """The index j if the scalar is e_kᵀe_j."""
    if isinstance(base, ScalarWord) and len(base.word.factors) == 2:
        first, last = base.word.factors
        if isinstance(first, Basis) and isinstance(last, Basis) and k in (first.index, last.index):
            return last.index if first.index == k else first.index
    return None


def _count(base: Scalar, exponent: Scalar, k: Index) -> float:
    if isinstance(base, ScalarWord) and exponent.is_Integer and exponent > 0:
        return int(exponent) * count_basis(base.word, k)
    return math.inf


def _close_word(k: Index, monomial: Scalar, word: Word) -> tuple[Scalar, Word] | None:
    """Σ_k A e_k e_kᵀ B = A B, also within a Kronecker product or a vectorisation."""
    closed = _without_pair(k, word)
    if closed is None:
        return None
    scalar, closed = normal(closed)
    return monomial * scalar, closed


def _without_pair(k: Index, word: Word) -> Word | None:
    """The word without the neighbours e_k e_kᵀ, None where they do not occur."""
    pair = (Basis(k), Basis(k, True))
    for i, factor in enumerate(word.factors):
        found: tuple[Factor, ...] | None = None
        if word.factors[i : i + 2] == pair:
            return Word(word.factors[:i] + word.factors[i + 2 :], word.rows, word.cols)
        if isinstance(factor, Kron):
            left, right = _without_pair(k, factor.left), _without_pair(k, factor.right)
            if left is not None or right is not None:
                found = (Kron(left or factor.left, right or factor.right),)
        elif isinstance(factor, Vec):
            inner = _without_pair(k, factor.word)
            found = None if inner is None else (Vec(inner, factor.transposed),)
        if found is not None:
            return Word(word.factors[:i] + found + word.factors[i + 1 :], word.rows, word.cols)
    return None


def _close_scalars(
    k: Index, monomial: Scalar, holders: list[tuple[Scalar, Scalar]], word: Word
) -> tuple[Scalar, Word] | None:
    """Carry out the sum where e_k stands once in a scalar and once elsewhere, or twice in one scalar."""
    (first, exponent), *others = holders
    if count_basis(first.word, k) == 2:
        middle = first.word.factors
        if middle[0] != Basis(k, True) or middle[-1] != Basis(k):
            return None
        return monomial / first * trace(Word(middle[1:-1], k.size, k.size)), word
    row = _row_before(first.word, k)
    if row is None and others and exponent == 1:
        (first, _), others = others[0], [holders[0]]
        row = _row_before(first.word, k)
    if row is None:
        return None
    if exponent == 2:
        return monomial / first**2 * normal(row.then(row.T))[0], word
    if others:
        second = others[0][0]
        return monomial / (first * second) * normal(_insert(second.word, k, row))[0], word
    scalar, closed = normal(_insert(word, k, row))
    return monomial / first * scalar, closed


def _row_before(word: Word, k: Index) -> Word | None:
    """The row xᵀ if the 1×1 word is xᵀe_k or its transpose."""
    for oriented in (word, word.T):
        if oriented.factors[-1] == Basis(k):
            return Word(oriented.factors[:-1], sympy.S.One, k.size)
    return None


def _insert(word: Word, k: Index, row: Word) -> Word:
    """The word with x in place of e_k, where row is xᵀ."""

    def inserted(factor: Factor) -> tuple[Factor, ...] | None:
        if isinstance(factor, Basis) and factor.index == k:
            return row.factors if factor.transposed else row.T.factors
        return None

    return replace_factors(word, inserted)


def _separate(bound: Bound, monomial: Scalar, word: Word) -> tuple[Bound, Scalar, Word]:
    """Factor out the sums that do not touch the word, as `ScalarSum`s."""
    groups: list[tuple[frozenset[Index], Scalar]] = []
    kept = word.indices & set(bound)
    for factor in sympy.Mul.make_args(monomial):
        mine, product = indices_of(factor) & set(bound), factor
        for indices, other in [group for group in groups if group[0] & mine]:
            groups.remove((indices, other))
            mine, product = mine | indices, product * other
        groups.append((mine, product))
    grown = True
    while grown:
        touching = [indices for indices, _ in groups if indices & kept and not indices <= kept]
        kept, grown = kept.union(*touching), bool(touching)
    scalar = sympy.S.One
    for indices, product in groups:
        apart = bool(indices) and not indices & kept
        scalar *= _scalar_sum(tuple(k for k in bound if k in indices), product) if apart else product
    return tuple(k for k in bound if k in kept), scalar, word


def _scalar_sum(bound: Bound, body: Scalar) -> Scalar:
    one = sympy.S.One
    names, body, _ = _canonical(bound, body, Word((), one, one))
    return ScalarSum(names, body)


def _level(scalar: Scalar) -> int:
    return max((1 + _level(atom.body) for atom in scalar.atoms(ScalarSum)), default=0)


def _canonical(bound: Bound, monomial: Scalar, word: Word) -> tuple[Bound, Scalar, Word]:
    """The term with its summed indices renamed so that names and order in the input do not matter."""
    if not bound:
        return bound, monomial, word
    level = _level(monomial)
    candidates = []
    for order in itertools.permutations(bound):
        names = {k: Index(f"#{level}.{i}", k.size) for i, k in enumerate(order)}
        w, c = rename_word(word, names), rename_scalar(monomial, names)
        candidates.append((w.key, str(c), tuple(names.values()), c, w))
    _, _, renamed, c, w = min(candidates, key=lambda candidate: candidate[:2])
    return renamed, c, w
