"""Compiled functions on exact numbers: mpmath to a stated number of digits, confirmed at a higher one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import numpy as np

from symdyn.compile import printers

_GUARD_DIGITS = 15
_ATTEMPTS = 6
_BEFORE_ZERO = 3  # a zero may be digits that cancelled: it is believed only after so many doublings


class PrecisionError(ArithmeticError):
    """Two precisions did not agree to the digits asked for."""


def evaluate_exactly(program: Any, values: Mapping[str, Any], digits: int, check: bool) -> Any:
    """The outputs as mpmath numbers, lists or lists of rows, correct to `digits` significant digits.

    The function is evaluated at two precisions, and again at higher ones until they agree. Raises
    PrecisionError if they never do, ValueError outside the domain, TypeError for what is not a real number.
    """
    if not isinstance(digits, int) or digits < 1:
        raise ValueError(f"digits must be a positive integer, not {digits!r}")
    _check_arguments(program, values)
    working = digits + _GUARD_DIGITS
    previous = _evaluate(program, values, working, check)
    for attempt in range(_ATTEMPTS):
        working *= 2
        current = _evaluate(program, values, working, check)
        pairs = list(zip(_flat(previous), _flat(current), strict=True))
        settled = attempt + 1 >= _BEFORE_ZERO or all(new != 0 for _, new in pairs)
        if settled and all(_agree(old, new, digits) for old, new in pairs):
            results = tuple(_public(part) for part in current)
            return results if program.is_tuple else results[0]
        previous = current
    raise PrecisionError(
        f"{program.name}: computed with {working // 2} and with {working} digits, the values do not agree "
        f"to {digits} digits"
    )


def _check_arguments(program: Any, values: Mapping[str, Any]) -> None:
    lengths = {}
    for name, value in values.items():
        vector = name in program.vectors
        if vector != _is_sequence(value):
            wanted = "a sequence of numbers" if vector else "a number"
            raise TypeError(f"{name} must be {wanted} on mpmath, not {value!r}")
        for part in value if vector else (value,):
            if isinstance(part, (complex, np.complexfloating, mpmath.mpc)):
                raise TypeError(f"{name} must be real, not {part!r}")
        if vector:
            lengths[name] = len(value)
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ValueError(f"all vectors of {program.name} must have one length, at least 1, not {lengths}")


def _is_sequence(value: object) -> bool:
    return (
        isinstance(value, (Sequence, np.ndarray))
        and not isinstance(value, (str, bytes))
        and np.ndim(value) > 0
    )


def _evaluate(program: Any, values: Mapping[str, Any], digits: int, check: bool) -> tuple[Any, ...]:
    context, kernel = printers.exact_kernel(program.source("mpmath"), program.graph, digits, program.name)
    inputs = {
        name: [printers.number(context, part) for part in value]
        if name in program.vectors
        else printers.number(context, value)
        for name, value in values.items()
    }
    violated = _violated(program, context, inputs, digits)
    if violated and check:
        raise ValueError(violated)
    results = kernel(context, None, *inputs.values())
    return _filled(results, context.nan) if violated else results


def _violated(program: Any, context: Any, inputs: Mapping[str, Any], digits: int) -> str:
    """What the arguments must be and are not, "" inside the domain."""
    for name, value in inputs.items():
        if not all(context.isfinite(part) for part in _flat(value)):
            return f"{name} must be finite"
    _, test = printers.exact_kernel(program.test_source("mpmath"), program.graph, digits, program.name)
    for condition, good in zip(program.conditions, test(context, None, *inputs.values()), strict=True):
        if not good:
            return f"{condition.blamed} must be {condition.description}"
    return ""


def _filled(value: Any, number: Any) -> Any:
    """A number in place of every number of nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return type(value)(_filled(part, number) for part in value)
    return number


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in _flat(part)]
    return [value]


def _agree(old: Any, new: Any, digits: int) -> bool:
    if new != new or new in (mpmath.inf, -mpmath.inf):
        return bool(old == new or (old != old and new != new))
    return bool(abs(old - new) * 10 ** (digits + 1) <= abs(new))


def _public(value: Any) -> Any:
    """The value as numbers of mpmath's own context, which keep their digits whatever its precision is."""
    if isinstance(value, (tuple, list)):
        return [_public(part) for part in value]
    return mpmath.mp.make_mpf(value._mpf_)
