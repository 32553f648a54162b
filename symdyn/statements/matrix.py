"""Statements about matrices of symbolic shape: identities and dynamics in the matrix calculus.

They hold for all shapes at once. Declared rules (orthogonality, balancedness, a positive semidefinite root)
enter the proof as rewriting and the refutation as rational matrices that satisfy them exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from symdyn.calculus.matrix import Expression, Rules, derivative
from symdyn.proof.mutants import mutations
from symdyn.proof.words import WordsCompile, WordsDefined, WordZero
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Mutant, Statement, difference_in_kind, other_forms, typeset

Sizes = Mapping[Any, int]
NO_RULES = Rules()


def _moving(velocities: Mapping[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """The letters and symbols that move, with their velocities."""
    return tuple((x.letter if isinstance(x, Expression) else x, v) for x, v in velocities.items())


@dataclass(frozen=True)
class MatrixStatement(Statement):
    """Base of the kinds below. Their points are rational matrices of the listed shapes, not those of a domain."""

    def same(self, form: Any, value: Any) -> Any:
        kind: Any = self  # each kind has rules and sizes
        return WordsCompile(difference_in_kind(form, value), kind.rules, kind.sizes)

    def defined(self) -> tuple[Any, ...]:
        """That every coefficient, as it is written, is real and finite wherever the statement is claimed."""
        kind: Any = self
        return (WordsDefined(self.sides(), kind.rules, kind.sizes),)

    def sides(self) -> tuple[Any, ...]:
        """The sums of words that are compared, and by which letters move."""
        return ()

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

    def sides(self) -> tuple[Any, ...]:
        return (self.lhs, self.rhs, *(() if self.compiles is None else (self.compiles,)))

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

    def sides(self) -> tuple[Any, ...]:
        return (self.quantity, self.velocity, *self.velocities.values())

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

    def sides(self) -> tuple[Any, ...]:
        return (self.quantity, *self.velocities.values())

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.quantity):
            yield label, replace(self, quantity=changed)

    @property
    def value(self) -> Any:
        return self.quantity

    def latex(self) -> str:
        name = f"{self.name} = " if self.name else ""
        return rf"\frac{{d}}{{dt}}\left({name}{typeset(self.quantity)}\right) = 0"
