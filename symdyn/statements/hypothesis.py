"""Hypotheses: the conditions under which a result is claimed, each with where it comes from.

    stated("Sec. 2, below Eq. (3)", "δ > 0", delta)
    standing("App. A", "the learning rates are positive", eta_a > 0, eta_w > 0)
    added("β_* ≠ 0", norm2(beta_star), counterexample=at_zero)
    meaning("t is the time after the start", t > 0)

*Stated*: the paper says it at the place, or the formula that it prints there is defined only so. *Standing*: it holds
throughout the section that is named. *Added*: the paper does not say it, and the entry is conditional. A *meaning*
supposes nothing: it says what a quantity is, a time, a length, a coordinate in which the points are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

if TYPE_CHECKING:
    from symdyn.statements.kinds import Statement

ORIGINS = ("stated", "standing", "added", "meaning")


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A condition in words, its origin, the place in the paper, and the quantities or relations that it is about.

    `counterexample` returns the claim at a point where the hypothesis fails, which the engine refutes.
    """

    words: str
    origin: str
    place: str = ""
    about: tuple[Any, ...] = ()
    counterexample: Callable[[], Statement] | None = None

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise ValueError(
                f"the origin of a hypothesis is one of {', '.join(ORIGINS)}, not {self.origin!r}"
            )
        if not (isinstance(self.words, str) and self.words.strip()):
            raise ValueError(f"say in words what the {self.origin} hypothesis supposes, not {self.words!r}")
        placed = self.origin in ("stated", "standing")
        if not isinstance(self.place, str) or placed != bool(self.place.strip()):
            wanted = "the place in the paper first" if placed else "no place in a paper"
            raise ValueError(f"'{self.words}' is {self.origin}, which has {wanted}, not {self.place!r}")
        if self.counterexample is not None and self.origin != "added":
            raise ValueError(
                f"'{self.words}' is {self.origin}: what is added has a counterexample without it"
            )
        if self.counterexample is not None and not callable(self.counterexample):
            raise ValueError(f"the counterexample to '{self.words}' is a function that returns a statement")

    @property
    def source(self) -> str:
        """The origin with its place: `stated, Sec. 2`, `added`."""
        return f"{self.origin}, {self.place}" if self.place else self.origin

    def covers(self, restriction: Restriction) -> bool:
        """Whether a restriction is what the hypothesis is about: the relation, one of its quantities, or its text."""
        return any(names(x, restriction) for x in self.about)

    def as_json(self) -> dict[str, str]:
        return {"origin": self.origin, "place": self.place, "words": self.words}


def stated(place: str, words: str, *about: Any) -> Hypothesis:
    """A condition that the paper states at a place, or under which alone the formula that it prints is defined."""
    return Hypothesis(words, "stated", place, about)


def standing(place: str, words: str, *about: Any) -> Hypothesis:
    """A condition that holds throughout a section of the paper."""
    return Hypothesis(words, "standing", place, about)


def added(words: str, *about: Any, counterexample: Callable[[], Statement] | None = None) -> Hypothesis:
    """A condition that the paper does not say: what holds under it alone is conditional."""
    return Hypothesis(words, "added", "", about, counterexample)


def meaning(words: str, *about: Any) -> Hypothesis:
    """No condition: what quantities are by their definition, or coordinates that leave out nothing."""
    return Hypothesis(words, "meaning", "", about)


def checked(hypotheses: Any) -> tuple[Hypothesis, ...]:
    """The hypotheses as they are declared. Raises TypeError for anything else."""
    if isinstance(hypotheses, Hypothesis):
        raise TypeError("write hypotheses as a tuple, hypotheses=(stated(…),)")
    found = tuple(hypotheses)
    for x in found:
        if not isinstance(x, Hypothesis):
            raise TypeError(f"a hypothesis is made by stated(), standing() or added(), not {x!r}")
    return found


@dataclass(frozen=True)
class Defined:
    """That a quantity is computed from others, and not what else is said of it."""

    quantity: Any


def defined(*quantities: Any) -> tuple[Defined, ...]:
    """What a hypothesis is about that says what some quantities are, but not that they have a sign, say."""
    return tuple(map(Defined, quantities))


@dataclass(frozen=True, eq=False)
class Restriction:
    """Something that keeps a claim from being made everywhere: in words, with the quantities that it restricts."""

    text: str
    quantities: frozenset[Any]
    relation: Any = None


def names(x: Any, restriction: Restriction) -> bool:
    if isinstance(x, sp.logic.boolalg.Boolean) and not isinstance(x, sp.Symbol):
        return restriction.relation is not None and canonical(x) == restriction.relation
    if isinstance(x, str) and x == restriction.text:
        return True
    return any(x is q or (type(x) is type(q) and x == q) for q in restriction.quantities)


def canonical(relation: Any) -> Any:
    if isinstance(relation, sp.core.relational.Relational):
        return relation.canonical
    return relation if isinstance(relation, sp.logic.boolalg.BooleanFunction) else None


def joined(hypotheses: Iterable[Hypothesis]) -> str:
    return "; ".join(dict.fromkeys(h.words for h in hypotheses))
