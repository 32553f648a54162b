"""Compiled functions on exact numbers: mpmath to a stated number of digits, confirmed at a higher one."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import sympy

from symdyn.arrays import kinds
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
    values = _read(program, values)
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


def _read(program: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as numbers and lists of numbers; TypeError, naming the argument, for anything else."""
    read: dict[str, Any] = {}
    for name, value in values.items():
        kinds.refuse(name, value)
        if name not in program.vectors:
            read[name] = real_number(name, value)
        elif name in program.matrices:
            read[name] = _entries(name, value)
        elif _is_sequence(value):
            read[name] = [real_number(name, part) for part in value]
        else:
            raise TypeError(f"{name} must be a sequence of numbers on mpmath, not {value!r:.60}")
    matrices = {name: len(read[name]) for name in program.matrices}
    vectors = {name: len(read[name]) for name in program.vectors if name not in matrices}
    for lengths in (vectors, matrices):
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ValueError(f"all vectors of {program.name} must have one length, at least 1, not {lengths}")
    return read


def _entries(name: str, value: Any) -> list[Any]:
    """The entries of a square matrix, row by row."""
    rows = list(value) if _is_sequence(value) else []
    if not rows or not all(_is_sequence(row) and len(row) == len(rows) for row in rows):
        raise TypeError(
            f"{name} must be a square matrix on mpmath, a sequence of its rows, not {value!r:.60}"
        )
    return [real_number(name, entry) for row in rows for entry in row]


def real_number(name: str, value: Any) -> Any:
    """The value if it is one real number; out of an array of no axes its number.

    Raises TypeError, naming the argument: text is no number, even if it spells one, and is never evaluated.
    """
    kinds.refuse(name, value)
    if getattr(value, "shape", None) == () and not isinstance(value, (np.generic, sympy.Basic)):
        value = value.item()
    if isinstance(value, sympy.Expr) and value.is_number:
        found = value.evalf(15)
        if found.is_Float or found.is_Rational or found in (sympy.nan, sympy.oo, -sympy.oo):
            return value
    known = (numbers.Rational, float, np.integer, np.floating, Decimal)
    if (isinstance(value, known) and not isinstance(value, bool)) or hasattr(value, "_mpf_"):
        return value
    complex_ = isinstance(value, (numbers.Complex, mpmath.mpc)) or getattr(value, "is_number", False) is True
    if complex_ and not isinstance(value, (bool, sympy.logic.boolalg.Boolean)):
        raise TypeError(f"{name} must be real, not {value!r:.60}")
    raise TypeError(
        f"{name} must be a number on mpmath, not {type(value).__name__} {value!r:.60}: give an int, a Fraction, a "
        "Decimal, a float, or a number of SymPy or mpmath"
    )


def _is_sequence(value: object) -> bool:
    """Whether a value has several numbers; an array of no axes has one, and so has text none."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


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
