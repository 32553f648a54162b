"""Signs as sets: which of negative, zero and positive a number may still be.

Strict, weak, non-zero and zero are different values of one type, so that no rule can take one for another: a strict
sign is a set without zero. Sums, products and powers are taken element by element, and what is not known is ANY.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag
from functools import cache
from typing import Any


class Sign(Flag):
    """A set of signs; NONE, the empty one, is a contradiction."""

    NONE = 0
    NEGATIVE = 1
    ZERO = 2
    POSITIVE = 4
    NOT_POSITIVE = 3
    NONZERO = 5
    NOT_NEGATIVE = 6
    ANY = 7

    @property
    def without_zero(self) -> bool:
        """Whether zero is excluded."""
        return not self & Sign.ZERO

    def within(self, other: Sign) -> bool:
        """Whether all that this one allows, the other one allows."""
        return self & other == self

    def opposite(self) -> Sign:
        return product(self, Sign.NEGATIVE)


OF = {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}
"""The sign of a number by the sign of its comparison with zero."""

OF_RELATION = {
    "=": Sign.ZERO,
    "<>": Sign.NONZERO,
    ">": Sign.POSITIVE,
    ">=": Sign.NOT_NEGATIVE,
    "<": Sign.NEGATIVE,
    "<=": Sign.NOT_POSITIVE,
}
"""What left - right may be where left relation right."""


def of_number(x: Any) -> Sign:
    """The sign of a rational number."""
    return OF[(x > 0) - (x < 0)]


def _members(s: Sign) -> list[int]:
    return [number for number, single in OF.items() if single & s]


def _joined(signs: Iterable[Sign]) -> Sign:
    found = Sign.NONE
    for s in signs:
        found |= s
    return found


@cache
def total(x: Sign, y: Sign) -> Sign:
    """What the sum of two numbers may be: anything where they are opposite."""
    return _joined(
        Sign.ANY if a * b < 0 else OF[(a + b > 0) - (a + b < 0)] for a in _members(x) for b in _members(y)
    )


@cache
def product(x: Sign, y: Sign) -> Sign:
    """What the product of two numbers may be."""
    return _joined(OF[a * b] for a in _members(x) for b in _members(y))


@cache
def power(x: Sign, n: int) -> Sign:
    """What the n-th power of a number may be, n ≥ 0; the power 0 is 1."""
    return _joined(OF[a**n] for a in _members(x))
