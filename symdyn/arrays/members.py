"""Members of a batch that are out of domain: refused by name, or else NaN, and no harm to the others.

A member that is not finite stops LAPACK for the whole stack, and in torch its NaN reaches the gradients of every
argument that it shares with others. Where values are not checked, a function therefore computes with a harmless value
in its place, and writes NaN over what comes of it; through neither does a gradient flow.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected, Namespace


class Bound(NamedTuple):
    """One condition on an argument: where `holds` is False (...), it is not what the words say it must be.

    `harmless` is a value of the argument, or of a member of it, for which it holds.
    """

    name: str
    holds: Callable[[Array], Array]
    words: str
    harmless: Any = 0.0


def confine(check: bool, read: Collected, *bounds: Bound) -> tuple[Collected, Array | None]:
    """The arguments with harmless values where a bound does not hold, and where all of them do.

    Bounds count in their order; each sees what those before it have left. Where a bound says (...) of an argument
    (..., n, m), members are matrices; all bounds of one call broadcast. With `check`, and where values are available,
    the arguments stay as they are, and None stands for everywhere.

    Raises:
        ValueError: with `check`, a value out of its domain (argument and indices named).
    """
    good = None
    for bound in bounds:
        array = read[bound.name]
        here = bound.holds(array)
        if check and not read.traced:
            arrays.require(bound.name, here, bound.words)
            continue
        harmless = linalg.constant_like(read.xp, bound.harmless, array)
        kept = read.xp.where(_spread(here, array), array, harmless)
        read = Collected(read.xp, read.dtype, read.traced, {**read.arrays, bound.name: kept})
        good = here if good is None else good & here
    return read, good


def within(outer: Array | None, inner: Array | None) -> Array | None:
    """Where both hold, (..., n), of members (...) and of their parts (..., n) or (n,)."""
    return inner if outer is None else outer[..., None] & inner


def nan_unless(xp: Namespace, good: Array | None, x: Array) -> Array:
    """x (..., any further axes), and NaN for the members that are not good (...)."""
    return x if good is None else arrays.where(xp, _spread(good, x), x, float("nan"))


def one_number(name: str, value: Any) -> float:
    """The float of a real number, or of an array of no axes that holds one: what must not be a batch.

    Raises:
        TypeError: anything else.
    """
    number = value.item() if getattr(value, "shape", None) == () else value
    if not isinstance(number, numbers.Real):
        raise TypeError(f"{name} must be one real number, got {value!r}")
    return float(number)


def _spread(good: Array, x: Array) -> Array:
    """`good` (...) with an axis of length one for each further axis of x."""
    return good[(..., *(None,) * (len(x.shape) - len(good.shape)))]


def finite(xp: Namespace, axes: int = 0) -> Callable[[Array], Array]:
    """Whether all entries of a member are finite; members have this many axes."""
    return lambda x: _all(xp.isfinite(x), axes)


def _all(condition: Array, axes: int) -> Array:
    for _ in range(axes):
        condition = condition.all(-1)
    return condition


def positive(xp: Namespace, *names: str) -> tuple[Bound, ...]:
    """The named numbers are positive and finite, as learning rates are."""
    return tuple(Bound(n, lambda x: (x > 0) & xp.isfinite(x), "positive and finite", 1.0) for n in names)
