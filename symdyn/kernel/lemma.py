"""What is claimed: a relation between rational expressions of real variables, under hypotheses and debts.

    H1 -> H2 -> (D1) /\\ (H3 -> (D2) /\\ (H4 -> goal))

A hypothesis may be used for all that follows it. A debt (a denominator that is not zero, a radicand that is not
negative) is to be shown from the hypotheses that precede it, before what follows may be said at all. Either may hold
only where the relations in `given` hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Number:
    """A rational number."""

    value: Fraction


@dataclass(frozen=True)
class Variable:
    """A real number of which the lemma knows what its hypotheses say."""

    name: str


@dataclass(frozen=True)
class Sum:
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Product:
    factors: tuple[Term, ...]


@dataclass(frozen=True)
class Power:
    """An integer power; with a negative exponent it is only defined where the base is not zero."""

    base: Term
    exponent: int


Term = Number | Variable | Sum | Product | Power


@dataclass(frozen=True)
class Relation:
    """left relation right, with one of = <> > >= < <= between them."""

    left: Term
    relation: str
    right: Term


@dataclass(frozen=True)
class Part:
    """A hypothesis, or a debt if it is owed. It is claimed where all relations in `given` hold."""

    name: str
    claim: Relation
    given: tuple[Relation, ...] = ()
    owed: bool = False


@dataclass(frozen=True)
class Lemma:
    """For all real values of the variables: the parts in their order, and then the goal."""

    variables: tuple[str, ...]
    parts: tuple[Part, ...]
    goal: Relation

    @property
    def debts(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.owed)
