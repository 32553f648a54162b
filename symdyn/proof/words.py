"""The claims about words in matrices of symbolic shape: that they vanish, and that their coefficients are defined.

A normal form that is zero proves a claim for all shapes and all matrices that satisfy the declared rules. Rational
matrices refute; they prove nothing, in however many shapes they agree: for every n there is an identity of all n × n
matrices that fails for larger ones, and what a sampler draws may have more in common than its rules say.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.matrices.exceptions import NonInvertibleMatrixError

from symdyn.calculus.formula import formula
from symdyn.calculus.matrix import Expression, Rules, derivative, evaluate, letters_of, opened, symbols_of
from symdyn.calculus.matrix.expression import from_word
from symdyn.calculus.matrix.sums import ScalarSum, indices_of
from symdyn.calculus.matrix.transform import within_sums
from symdyn.calculus.matrix.words import Letter, number_of
from symdyn.proof.claim import ByProof, Finding
from symdyn.proof.quantities import faults_of
from symdyn.proof.signs.cases import Case, follows, in_all_cases
from symdyn.proof.signs.defined import Demand, Undefined, compare, demands, distinct, relations
from symdyn.proof.signs.numbers import certified_sign
from symdyn.proof.undecided import Undecided
from symdyn.proof.verdict import Witness
from symdyn.proof.zero.tower import Tower
from symdyn.statements.domain import Cell, Domain

Sizes = Mapping[Any, int]
Example = tuple[Sizes, dict[Any, Any]]

LARGEST = 4
"""Every size is drawn from 1 to this, besides the shapes that are listed."""
LONGEST_SIDE = 8
"""No letter is drawn with more rows or columns than this in a shape that is not listed."""
MOST_ENTRIES = 24
"""So many entries may the letters of a claim about one shape have to be taken as symbols."""
CANNOT_DRAW = (ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError, RecursionError)
"""What a sampler raises that has no matrices of a shape."""


@dataclass(frozen=True)
class WordZero:
    """A sum of words (or a scalar of words) vanishes for all matrices that satisfy the rules.

    `moving` are the letters and symbols that move, with their velocities: they must keep what is declared.
    """

    x: Any
    rules: Rules
    sizes: tuple[Sizes, ...]
    label: str = "difference"
    moving: tuple[tuple[Any, Any], ...] = field(default=(), hash=False)

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        self._need_sound()
        rest = opened(self.x)
        for _ in range(2):  # simpler coefficients may let a sum over an index close, and rules apply again
            rest = self._reduced(rest)
            rest = rest.map(self._simpler) if isinstance(rest, Expression) else self._simpler(rest)
        if not _is_zero(rest):
            if self._vanishes_entry_by_entry(rest):
                return Finding("PROVED", "proved", f"{self.label}: every entry vanishes at the given shape")
            raise Undecided(f"the normal form of the {self.label} is not zero: {rest}")
        return Finding("PROVED", "proved", f"{self.label}: the normal form vanishes for all shapes")

    def _reduced(self, x: Any) -> Any:
        try:
            return self.rules.normal_form(x)
        except ValueError as obstacle:
            raise Undecided(str(obstacle)) from obstacle

    def _need_sound(self) -> None:
        """Raise Undecided where a sampler breaks a declaration, or what moves does not keep one."""
        self._need_unbroken()
        for what, drift in self._drifts():
            if not _is_zero(self._reduced(opened(drift))):
                raise Undecided(f"what moves does not keep what is declared: {what}")

    def _need_unbroken(self) -> None:
        if broken := _broken_rule(self.rules, tuple(tuple(sizes.items()) for sizes in self.sizes)):
            raise Undecided(f"what is drawn does not satisfy what is declared: {broken}")

    def _drifts(self) -> Iterator[tuple[str, Any]]:
        """What must vanish for the moving letters to stay what they are declared to be."""
        velocities = dict(self.moving)
        for letter, velocity in self.moving:
            if isinstance(letter, Letter) and letter.symmetric:
                skew = velocity - velocity.T
                yield f"{letter.name} is declared symmetric, and its velocity is not: {velocity}", skew
        for rule in _declared(self.rules) if velocities else ():
            if rule in self.rules.implied:
                continue
            gap = from_word(rule.left) - rule.right
            if letters_of(gap) & velocities.keys() or symbols_of(gap) & velocities.keys():
                yield rule.latex(), derivative(gap, velocities)

    def _vanishes_entry_by_entry(self, rest: Any) -> bool:
        """Whether a claim about one shape, under no rules, holds for matrices whose entries are symbols."""
        letters = letters_of(rest)
        sizes = [size for letter in letters for size in (letter.rows, letter.cols)]
        count = sum((letter.rows * letter.cols for letter in letters), sp.S.Zero)
        if not (letters and all(s.is_Integer for s in sizes) and count <= MOST_ENTRIES):
            return False
        if any(letter in declared.letters for declared in self.rules.declarations for letter in letters):
            return False
        values = {letter: _generic(letter) for letter in letters}
        values |= {symbol: symbol for symbol in symbols_of(rest)}
        value = evaluate(rest, values, {})
        t = Tower(self.rules.sign_of)
        return not any(t.convert(c)[0] for c in (value if isinstance(rest, Expression) else [value]))

    def _simpler(self, scalar: Any) -> Any:
        """A coefficient in lowest terms; roots are drawn with the signs of the rules, in sums as well."""
        scalar = within_sums(scalar, self._simpler)
        if scalar.is_rational_function(*scalar.free_symbols):
            return sp.cancel(sp.expand(scalar))
        tower = Tower(self.rules.sign_of)
        return tower.expression(tower.convert(scalar))

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        return self._refute_at(8)

    def cross_examine(self, domain: Domain, cell: Cell) -> Finding | None:
        """Refutation after a proof: by many shapes rather than by many matrices of each."""
        return self._refute_at(2)

    def strike(self, domain: Domain, cell: Cell) -> Finding | None:
        """Refutation of a mutant, which may be true as well and moves the same letters, by the listed shapes."""
        return self._refute_at(8, mutant=True)

    def _refute_at(self, trials: int, mutant: bool = False) -> Finding | None:
        self._need_unbroken()  # or else what is drawn refutes nothing
        gaps = [(f"{self.label} ≠ 0", self.label, self.x)]
        drifts = () if mutant else self._drifts()
        gaps += [(f"what moves leaves what is declared: {what}", "rate", x) for what, x in drifts]
        for text, label, gap in gaps:
            for sizes, values in examples((gap,), self.rules, self.sizes, trials, not mutant):
                if (value := _value(gap, values, sizes)) is not None and any(map(_not_zero, _flat(value))):
                    witness = Witness(_point(values, sizes), f"{label} = {_text(value)}")
                    return Finding("REFUTED", "proved", text, witness)
        return None

    def test(self, domain: Domain, cell: Cell) -> Finding:
        """Rational matrices that agree decide nothing: they are counted for whoever looks for a proof."""
        self._need_sound()
        found = [sizes for sizes, _ in examples((self.x,), self.rules, self.sizes, 1)]
        shapes = "; ".join(dict.fromkeys(map(_shape, found)))
        return Finding(
            "UNKNOWN",
            "tested",
            f"{self.label}: not refuted by {len(found)} rational examples of the shapes {shapes}, which is no proof "
            "for other shapes or other matrices that satisfy the rules: declare the rules from which it follows",
        )


@dataclass(frozen=True)
class WordsCompile(ByProof, WordZero):
    """The form that compiles, minus the value that is proved, vanishes for all shapes."""

    label: str = "form that compiles minus the value"


@dataclass(frozen=True)
class WordsDefined:
    """The coefficients of some sums of words are real and finite, for all numbers and matrices that are allowed.

    Numbers and words have the signs that are declared. The same is demanded of the rules, but for those that hold in
    the limit where they are not defined. A letter that is inverted is invertible.
    """

    x: tuple[Any, ...]
    rules: Rules
    sizes: tuple[Sizes, ...]
    label: str = "claim"

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        named = _letters(*self.x, self.rules)
        if twice := sorted({a.name for a in named for b in named if a != b and a.name == b.name}):
            raise Undecided(f"{', '.join(twice)} names two letters: give each a name of its own")
        missing = [self._missing(d) for d in self._open()]
        missing += faults_of(c for side in self.x for c in _scalars(side))
        if missing:
            raise Undecided("; ".join(missing))
        return Finding("PROVED", "proved", "")

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        """Rational matrices and numbers at which a coefficient is not real or not finite."""
        for demand in self._open():
            parts = tuple(x for way in demand.alternatives for x, _ in way)
            for sizes, values in examples((*self.x, *parts), self.rules, self.sizes, 1):
                if not _may_be_met(demand, values, sizes):
                    text = f"{self._missing(demand)}, which fails there"
                    return Finding("REFUTED", "proved", text, Witness(_point(values, sizes), text))
        return None

    def test(self, domain: Domain, cell: Cell) -> Finding:
        return Finding("UNKNOWN", "tested", "; ".join(map(self._missing, self._open())))

    def _missing(self, demand: Demand) -> str:
        return f"{demand.place} in the {self.label} is a real number only where {demand}"

    def _open(self) -> list[Demand]:
        """The demands that do not follow from what is declared."""
        declared = (
            rule.right
            for declaration in self.rules.declarations
            if not declaration.in_the_limit
            for rule in declaration.rules
        )
        coefficients = [c for side in (*self.x, *declared) for c in _scalars(opened(side))]
        if floats := sorted({str(x) for c in coefficients for x in c.atoms(sp.Float)}):
            raise Undecided(
                f"{', '.join(floats)} in the {self.label} has no exact meaning: write a rational number"
            )
        try:
            found = distinct(d for c in coefficients for d in demands(c))
        except Undefined as obstacle:
            raise Undecided(f"the {self.label} is refused: {obstacle}") from obstacle
        case = self._case([x for d in found for way in d.alternatives for x, _ in way])
        return [d for d in found if not _grants(case, d)]

    def _case(self, parts: list[Any]) -> Case:
        symbols = set().union(*(x.free_symbols for x in parts))
        signs = {s: self.rules.sign_of(s) for s in symbols}
        sizes = _size_symbols(self.x, self.rules, self.sizes) & symbols
        strict = {s: sign // 2 for s, sign in signs.items() if sign is not None and abs(sign) == 2}
        facts = [(n - 1, ">=") for n in sorted(sizes, key=str)] + [(x, "!=") for x in self.rules.nonzero]
        return Case(Cell("rules", strict | dict.fromkeys(sizes, 1)), tuple(facts))


def _grants(case: Case, demand: Demand) -> bool:
    here = Case(case.cell, (*case.facts, *relations(demand.given)))
    return any(all(_granted(here, *r) for r in way) for way in demand.alternatives)


def _granted(case: Case, x: Any, relation: str) -> bool:
    def attempt(here: Case) -> None:
        if not follows(here, here.read(x), relation):
            raise Undecided("it does not follow")

    try:
        in_all_cases(case, attempt)
    except Undecided:
        return False
    return True


# examples


def examples(
    xs: tuple[Any, ...], rules: Rules, listed: tuple[Sizes, ...], trials: int, others: bool = True
) -> Iterator[Example]:
    """Rational matrices and numbers that satisfy the declarations, of every listed shape and of others, with the sizes.

    What nothing is declared of is degenerate as well: zero, of rank one, equal. Raises what the sampler raises where it
    has no matrices of a listed shape; of another shape it need not have any.
    """
    for sizes in listed:
        for seed in range(trials):
            yield sizes, _drawn(xs, rules, sizes, seed)
    declared: set[Any] | None = None
    for sizes in shapes(xs, rules, listed) if others else ():
        if sizes in listed:
            kinds: tuple[str, ...] = DEGENERATE
        else:
            kinds = ("", *(DEGENERATE[:2] if max(sizes.values()) <= 2 else ()))
        try:
            values = _drawn(xs, rules, sizes, 0)
        except CANNOT_DRAW:
            continue
        if declared is None:
            declared = {x for d in rules.declarations for x in d.sampler(random.Random(0), sizes)}
        for kind in kinds:
            if not kind:
                yield sizes, values
            elif (degenerate := _degenerate(kind, values, declared, rules, sizes)) is not None:
                yield sizes, degenerate


def shapes(xs: tuple[Any, ...], rules: Rules, listed: tuple[Sizes, ...]) -> list[Sizes]:
    """The listed shapes, and others in which every size is from 1 to 4, equal or not."""
    symbols = sorted(_size_symbols(xs, rules, listed), key=str)
    found = [dict(sizes) for sizes in listed]
    found += [dict.fromkeys(symbols, k) for k in range(1, LARGEST + 1)]
    for symbol in symbols if len(symbols) > 1 else ():
        found += [dict.fromkeys(symbols, 2) | {symbol: LARGEST}, dict.fromkeys(symbols, 3) | {symbol: 1}]
    for order in (symbols, symbols[::-1]) if len(symbols) > 1 else ():
        found.append({symbol: 1 + i % LARGEST for i, symbol in enumerate(order)})
    sides = {side for letter in _letters(*xs, rules) for side in (letter.rows, letter.cols)}
    distinct_shapes: list[Sizes] = []
    for k, sizes in enumerate(found):
        small = k < len(listed) or all(side.subs(sizes) <= LONGEST_SIDE for side in sides)
        if small and sizes and sizes not in distinct_shapes:
            distinct_shapes.append(sizes)
    return distinct_shapes


def _size_symbols(xs: tuple[Any, ...], rules: Rules, listed: tuple[Sizes, ...]) -> set[Any]:
    sizes = [size for letter in _letters(*xs, rules) for size in (letter.rows, letter.cols)]
    sizes += [size for x in xs if isinstance(x, Expression) for size in x.shape]
    sizes += [symbol for x in xs for symbol in symbols_of(x) if symbol.is_integer and symbol.is_positive]
    return {symbol for one in listed for symbol in one}.union(*(size.free_symbols for size in sizes))


def _letters(*xs: Any) -> set[Letter]:
    """The letters of expressions, of scalars and of declarations."""
    found: set[Letter] = set()
    for x in xs:
        if isinstance(x, Rules):
            found = found.union(*(declared.letters for declared in x.declarations))
            found = found.union(*(letters_of(from_word(r.left)) | letters_of(r.right) for r in x.rules))
        else:
            found |= letters_of(x)
    return found


def _drawn(xs: tuple[Any, ...], rules: Rules, sizes: Sizes, seed: int) -> dict[Any, Any]:
    """One value for each letter and symbol. Raises ValueError where a sampler draws matrices of another shape."""
    values = rules.sample(xs[0] if len(xs) == 1 else xs, sizes, seed)
    for letter, value in values.items():
        if isinstance(letter, Letter) and hasattr(value, "shape"):
            shape = number_of(letter.rows, sizes), number_of(letter.cols, sizes)
            if value.shape != shape:
                raise ValueError(f"{letter.name} is drawn with the shape {value.shape}, not {shape}")
    return values


DEGENERATE = ("zero", "rank one", "numbers zero", "numbers one", "numbers equal", "the same")


def _degenerate(
    kind: str, values: dict[Any, Any], declared: set[Any], rules: Rules, sizes: Sizes
) -> dict[Any, Any] | None:
    """The values with what is free in them degenerate; None where nothing is free or the signs do not allow it."""
    letters = sorted((x for x in values if isinstance(x, Letter) and x not in declared), key=lambda x: x.name)
    symbols = sorted((x for x in values if not isinstance(x, Letter) and x not in declared), key=str)
    out = dict(values)
    if kind.startswith("numbers"):
        number = {"zero": sp.S.Zero, "one": sp.S.One}.get(kind.split()[1])
        if number is None and symbols:
            number = values[symbols[0]]
        out |= dict.fromkeys(symbols, number)
    else:
        for letter in letters:
            shape = number_of(letter.rows, sizes), number_of(letter.cols, sizes)
            if kind == "zero":
                out[letter] = sp.zeros(*shape)
            elif kind == "rank one":
                out[letter] = sp.ones(*shape)
            else:
                alike = (x for x in letters if out[x].shape == shape and x.symmetric == letter.symmetric)
                out[letter] = out[next(alike)]
    return out if out != values and rules.admits(out, sizes) else None


def _generic(letter: Letter) -> sp.Matrix:
    """A matrix whose entries are symbols."""
    entries = sp.Matrix(
        int(letter.rows), int(letter.cols), lambda i, j: sp.Symbol(f"{letter.name}_{i}{j}", real=True)
    )
    if not letter.symmetric:
        return entries
    return sp.Matrix(*entries.shape, lambda i, j: entries[min(i, j), max(i, j)])


def _declared(rules: Rules) -> Iterator[Any]:
    yield from (rule for declaration in rules.declarations for rule in declaration.rules)
    yield from rules.derived


@functools.cache
def _broken_rule(rules: Rules, listed: tuple[tuple[tuple[Any, int], ...], ...]) -> str:
    """A rule that rational matrices of the samplers do not satisfy, with their shape; empty if there is none.

    All declarations are drawn together, so that rules are held against each other, in the shapes that are listed and
    in others besides, as far as the samplers have matrices of these. A sign that is declared must be that of what is
    drawn.
    """
    given = tuple(dict(sizes) for sizes in listed)
    gaps = [(rule, from_word(rule.left) - rule.right) for rule in _declared(rules)]
    for sizes in shapes((), rules, given) if gaps else ():
        for seed in range(2 if sizes in given else 1):
            try:
                values = rules.sample(tuple(gap for _, gap in gaps), sizes, seed)
                found = [(rule, evaluate(gap, values, sizes)) for rule, gap in gaps]
            except CANNOT_DRAW as obstacle:
                if sizes in given:
                    return f"no matrices that satisfy them are drawn at {_shape(sizes)}: {obstacle}"
                break
            for rule, value in found:
                if any(map(_not_zero, value)):
                    return f"{rule.latex()} fails at {_shape(sizes)}"
    for declaration in rules.declarations:
        for sizes in given if declaration.signs else ():
            drawn = declaration.sampler(random.Random(0), sizes)
            for symbol, sign in declaration.signs.items():
                if symbol in drawn and certified_sign(drawn[symbol]) not in (sign, None):
                    return f"{symbol} is drawn as {drawn[symbol]}"
    return ""


def _value(x: Any, values: Mapping[Any, Any], sizes: Sizes) -> Any:
    """The value of x; None where it is not defined, as at a matrix that is inverted and singular.

    Of its free indices the first is 1, the next 2, and so on, as far as they go.
    """
    try:
        free = sorted(_free_indices(x), key=lambda index: index.name)
        at = {index: k % number_of(index.size, sizes) for k, index in enumerate(free)}
        return evaluate(x, values, sizes, at)
    except (ZeroDivisionError, NonInvertibleMatrixError):
        return None


def _free_indices(x: Any) -> set[Any]:
    if not isinstance(x, Expression):
        return set(indices_of(formula(x)))
    parts = ((word.indices | indices_of(c)) - set(bound) for (bound, word), c in x.terms.items())
    return set().union(*parts)


def _may_be_met(demand: Demand, values: Mapping[Any, Any], sizes: Sizes) -> bool:
    """Whether a demand is met at an example, or cannot be decided there."""
    return demand.given is not sp.true or any(
        all(_may_hold(x, relation, values, sizes) for x, relation in way) for way in demand.alternatives
    )


def _may_hold(x: Any, relation: str, values: Mapping[Any, Any], sizes: Sizes) -> bool:
    value = _value(x, values, sizes)
    if value is None or not value.is_finite or value.is_extended_real is False:
        return True
    sign = certified_sign(value)
    return sign is None or compare(sign, relation)


def _scalars(x: Any) -> Iterator[Any]:
    """The coefficients of an expression, or a scalar, with the summands of the sums in them."""
    for c in x.terms.values() if isinstance(x, Expression) else (formula(x),):
        yield c
        for atom in c.atoms(ScalarSum):
            yield from _scalars(atom.body)


def _is_zero(x: Any) -> bool:
    return x.is_zero if isinstance(x, Expression) else sp.expand(x) == 0


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, sp.MatrixBase) else [value]


def _not_zero(number: Any) -> bool:
    if number.has(sp.nan, sp.zoo, sp.oo):
        return False
    return certified_sign(number) not in (0, None)


def _point(values: Mapping[Any, Any], sizes: Sizes) -> dict[str, str]:
    point = {str(getattr(k, "name", k)): _text(v) for k, v in values.items()}
    return point or {str(symbol): str(n) for symbol, n in sizes.items()}


def _shape(sizes: Sizes) -> str:
    return ", ".join(f"{symbol} = {n}" for symbol, n in sizes.items())


def _text(value: Any) -> str:
    return str(value.tolist()) if hasattr(value, "tolist") else str(value)
