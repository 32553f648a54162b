"""Statements about matrices of symbolic shape: identities and dynamics in the matrix calculus.

They hold for all shapes at once. Declared rules (orthogonality, balancedness, a positive semidefinite root)
enter the proof as rewriting and the refutation as rational matrices that satisfy them exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from symdyn.calculus.matrix import Expression, Rules, derivative, evaluate, opened, within_sums, zero
from symdyn.calculus.matrix.expression import from_word
from symdyn.domain import Cell, Domain
from symdyn.proof.claim import ByProof, Finding
from symdyn.proof.hyperbolic import HYPERBOLIC
from symdyn.proof.mutants import mutations
from symdyn.proof.numbers import agrees_with_zero, certified_sign
from symdyn.proof.tower import Tower
from symdyn.proof.undecided import Undecided
from symdyn.proof.verdict import Witness
from symdyn.statement import Mutant, Statement, difference_in_kind, other_forms, typeset

Sizes = Mapping[Any, int]
NO_RULES = Rules()
SEEDS = 2


@dataclass(frozen=True)
class WordZero:
    """A sum of words (or a scalar of words) vanishes for all matrices that satisfy the rules."""

    x: Any
    rules: Rules
    sizes: tuple[Sizes, ...]
    label: str = "difference"
    moving: tuple[tuple[Any, Any], ...] = field(default=(), hash=False)

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        self._need_sound()
        rest = opened(self.x)
        for _ in range(2):  # simpler coefficients may let a sum over an index close, and rules apply again
            try:
                reduced = self.rules.normal_form(rest)
            except ValueError as obstacle:
                raise Undecided(str(obstacle)) from obstacle
            rest = reduced.map(self._simpler) if isinstance(reduced, Expression) else self._simpler(reduced)
        if not (rest.is_zero if isinstance(rest, Expression) else rest == 0):
            raise Undecided(f"the normal form of the {self.label} is not zero: {rest}")
        return Finding("PROVED", "proved", f"{self.label}: the normal form vanishes for all shapes")

    def _need_sound(self) -> None:
        """Raise Undecided where a sampler breaks a rule, or a symmetric letter does not stay symmetric."""
        if broken := _broken_rule(self.rules, tuple(tuple(sizes.items()) for sizes in self.sizes)):
            raise Undecided(f"the declarations do not satisfy their rules: {broken}")
        for letter, velocity in self.moving:
            skew = velocity - velocity.T if letter.symmetric else zero(letter.rows, letter.cols)
            if not self._vanishes(skew):
                raise Undecided(f"{letter.name} is declared symmetric, and its velocity is not: {velocity}")

    def _vanishes(self, x: Any) -> bool:
        try:
            return self.rules.proves_zero(opened(x))
        except ValueError as obstacle:
            raise Undecided(str(obstacle)) from obstacle

    def _simpler(self, scalar: Any) -> Any:
        """A coefficient in lowest terms; roots are drawn with the signs of the rules, in sums as well."""
        scalar = within_sums(scalar, self._simpler)
        roots = (
            power for power in scalar.atoms(sp.Pow) if power.exp.is_Rational and not power.exp.is_Integer
        )
        if not any(roots) and not scalar.has(sp.exp, *HYPERBOLIC):
            return sp.cancel(sp.expand(scalar))
        tower = Tower(self.rules.sign_of)
        return tower.expression(tower.convert(scalar))

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        for values, numbers, value in self._examples(8):
            if any(certified_sign(number) not in (0, None) for number in numbers):
                point = {str(getattr(k, "name", k)): _text(v) for k, v in values.items()}
                witness = Witness(point, f"{self.label} = {_text(value)}")
                return Finding("REFUTED", "proved", f"{self.label} ≠ 0", witness)
        return None

    def test(self, domain: Domain, cell: Cell) -> Finding:
        """Zero exactly, or enclosed with zero in less than 1e-60, at rational matrices of every shape."""
        self._need_sound()
        count = 0
        for _, numbers, _ in self._examples(4):
            if not all(map(agrees_with_zero, numbers)):
                return Finding(
                    "UNKNOWN", "tested", f"{self.label} is not known to vanish at rational matrices"
                )
            count += 1
        return Finding("AGREES", "tested", f"{self.label}: zero at {count} rational examples")

    def _examples(self, trials: int) -> Iterator[tuple[Mapping[Any, Any], list[Any], Any]]:
        """Rational matrices of every listed shape, and the entries of x and x itself there."""
        for sizes in self.sizes:
            for seed in range(trials):
                values = self.rules.sample(self.x, sizes, seed)
                value = evaluate(self.x, values, sizes)
                yield values, list(value) if isinstance(self.x, Expression) else [value], value


@functools.cache
def _broken_rule(rules: Rules, shapes: tuple[tuple[tuple[Any, int], ...], ...]) -> str:
    """A rule that rational matrices of the samplers do not satisfy, with their shape; empty if there is none.

    All declarations are drawn together, so that rules are held against each other, in the shapes that are listed and
    in small ones besides, as far as the samplers have matrices of these.
    """
    listed = [dict(shape) for shape in shapes]
    symbols = list(dict.fromkeys(symbol for shape in listed for symbol in shape))
    others = [dict.fromkeys(symbols, 2), {symbol: 2 + i for i, symbol in enumerate(symbols[::-1])}]
    declared = (*(rule for declaration in rules.declarations for rule in declaration.rules), *rules.derived)
    for sizes in (*listed, *(shape for shape in others if shape not in listed)):
        for rule in declared:
            gap = from_word(rule.left) - rule.right
            for seed in range(SEEDS if sizes in listed else 1):
                try:
                    value = evaluate(gap, rules.sample(gap, sizes, seed), sizes)
                except (
                    ValueError,
                    KeyError,
                    TypeError,
                    IndexError,
                    ZeroDivisionError,
                    RecursionError,
                ) as obstacle:
                    if sizes in listed:
                        return f"{rule.latex()} cannot be tried at {_shape(sizes)}: {obstacle}"
                    break
                if any(certified_sign(number) not in (0, None) for number in value):
                    return f"{rule.latex()} fails at {_shape(sizes)}"
    return ""


def _shape(sizes: Sizes) -> str:
    return ", ".join(f"{symbol} = {n}" for symbol, n in sizes.items())


@dataclass(frozen=True)
class WordsCompile(ByProof, WordZero):
    """The form that compiles, minus the value that is proved, vanishes for all shapes."""

    label: str = "form that compiles minus the value"


def _moving(velocities: Mapping[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """The letters that move, with their velocities."""
    return tuple((x.letter, v) for x, v in velocities.items() if isinstance(x, Expression))


def _text(value: Any) -> str:
    return str(value.tolist()) if hasattr(value, "tolist") else str(value)


@dataclass(frozen=True)
class MatrixStatement(Statement):
    """Base of the kinds below. Their points are rational matrices of the listed shapes, not those of a domain."""

    def same(self, form: Any, value: Any) -> Any:
        kind: Any = self  # each kind has rules and sizes
        return WordsCompile(difference_in_kind(form, value), kind.rules, kind.sizes)

    @property
    def domain(self) -> Domain:
        return Domain(words="all shapes")


@dataclass(frozen=True)
class MatrixIdentity(MatrixStatement):
    """lhs = rhs for all shapes, under the declared rules.

    `sizes` lists the shapes at which a false claim is refuted: dictionaries from size symbols to numbers.
    It compiles to the right-hand side, or to `compiles`, which is proved to be the same.
    """

    lhs: Any
    rhs: Any
    sizes: tuple[Sizes, ...]
    rules: Rules = field(default=NO_RULES, hash=False)
    name: str = ""
    compiles: Any = None

    def claims(self) -> list[Any]:
        sides = WordZero(self.lhs - self.rhs, self.rules, self.sizes, "difference of the two sides")
        return [sides] if self.compiles is None else [sides, self.same(self.compiles, self.rhs)]

    def mutants(self) -> Iterator[Mutant]:
        alone = replace(self, compiles=None)
        for label, changed in mutations(self.rhs):
            yield label, replace(alone, rhs=changed)
        for label, changed in mutations(self.lhs):
            yield f"{label} on the left", replace(alone, lhs=changed)
        yield from other_forms(self)

    def gives(self) -> tuple[Any, ...]:
        return (self.lhs, self.rhs, self.value)

    @property
    def value(self) -> Any:
        return self.rhs if self.compiles is None else self.compiles

    def latex(self) -> str:
        middle = f"{self.name} = " if self.name else ""
        return f"{middle}{typeset(self.lhs)} = {typeset(self.rhs)}"


@dataclass(frozen=True)
class MatrixDynamics(MatrixStatement):
    """d/dt quantity = velocity when the letters move with the given velocities."""

    quantity: Any
    velocity: Any
    velocities: Mapping[Any, Any] = field(hash=False)
    sizes: tuple[Sizes, ...]
    rules: Rules = field(default=NO_RULES, hash=False)
    name: str = ""

    def claims(self) -> list[Any]:
        gap = derivative(self.quantity, self.velocities) - self.velocity
        moving = _moving(self.velocities)
        return [WordZero(gap, self.rules, self.sizes, "time derivative minus velocity", moving)]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.velocity):
            yield label, replace(self, velocity=changed)
        for label, changed in mutations(self.quantity):
            yield f"{label} on the left", replace(self, quantity=changed)

    @property
    def value(self) -> Any:
        return self.velocity

    def latex(self) -> str:
        name = self.name or typeset(self.quantity)
        return rf"\frac{{d}}{{dt}}\left({name}\right) = {typeset(self.velocity)}"


@dataclass(frozen=True)
class MatrixConservation(MatrixStatement):
    """d/dt quantity = 0 when the letters move with the given velocities."""

    quantity: Any
    velocities: Mapping[Any, Any] = field(hash=False)
    sizes: tuple[Sizes, ...]
    rules: Rules = field(default=NO_RULES, hash=False)
    name: str = ""

    def claims(self) -> list[Any]:
        rate = derivative(self.quantity, self.velocities)
        return [WordZero(rate, self.rules, self.sizes, "time derivative", _moving(self.velocities))]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.quantity):
            yield label, replace(self, quantity=changed)

    @property
    def value(self) -> Any:
        return self.quantity

    def latex(self) -> str:
        name = f"{self.name} = " if self.name else ""
        return rf"\frac{{d}}{{dt}}\left({name}{typeset(self.quantity)}\right) = 0"
