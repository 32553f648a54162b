"""Compiled words: a value of the matrix calculus as a function of NumPy arrays, torch tensors or exact numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from symdyn.arrays import backends as arrays
from symdyn.arrays import kinds
from symdyn.calculus.formula import formula
from symdyn.calculus.matrix import Expression, Letter, evaluate, evaluate_arrays, letters_of, symbols_of
from symdyn.compile import far
from symdyn.compile.exact import real_number
from symdyn.compile.function import check_names


def ingredients(value: Any) -> set[Any] | None:
    """The letters and scalar symbols that a value of words is made of, without its sizes; None without words."""
    parts = value if isinstance(value, tuple) else (value,)
    parts = tuple(p if isinstance(p, (Expression, sp.Expr)) else None for p in parts)
    if None in parts or not any(isinstance(p, Expression) or letters_of(p) for p in parts):
        return None
    letters = set().union(*(letters_of(p) for p in parts))
    symbols = set().union(*(symbols_of(p) for p in parts))
    return letters | {s for s in symbols if not s.is_integer}


@dataclass(frozen=True)
class CompiledWords:
    """A function of arrays: matrices are the last two axes, letters with one column the last; leading axes broadcast.

    A tensor among the arguments makes it a torch computation, otherwise NumPy; what is given in float32 is computed in
    float64. Where products leave the range of floats on their way to a value that is in it, eager calls compute it in
    more digits; inside a transform, or unchecked, it is NaN for arguments that hold a number, not 0, of a size outside
    1e-30 to 1e30. On mpmath (`.mpmath`) arguments
    are numbers and lists, `digits=` sets the precision, and matrices come back as lists of rows.

    `domain` has triples (description, inequality between scalars, argument to blame), checked on eager calls.
    """

    value: Any
    arguments: tuple[Any, ...]
    name: str
    backend: str = "auto"
    domain: tuple[tuple[str, Any, str], ...] = ()

    def __post_init__(self) -> None:
        check_names(self.name, self.arguments)

    @property
    def numpy(self) -> CompiledWords:
        """The same function for NumPy only: tensors are refused."""
        return replace(self, backend="numpy")

    @property
    def torch(self) -> CompiledWords:
        """The same function for torch only: arguments become tensors, float64 unless they say otherwise."""
        return replace(self, backend="torch")

    @property
    def mpmath(self) -> CompiledWords:
        """The same function on exact numbers, to any number of digits."""
        return replace(self, backend="mpmath")

    def __call__(self, /, *args: Any, check: bool = True, digits: int = 50, **kwargs: Any) -> Any:
        values = self._bind(args, kwargs)
        if self.backend == "mpmath":
            exact = {a.symbol: _rational(a.name, values[a.symbol], check) for a in self.arguments}
            if check:
                self._check_domain(lambda x: evaluate(x, _occurring(x, exact)))
            return self._each(lambda part: _exact(part, exact, digits))
        tensors = any(arrays.is_tensor(value) for value in values.values())
        if self.backend == "numpy" and tensors:
            raise TypeError(f"{self.name} was built for NumPy; convert the tensor with .numpy(force=True)")
        names = {argument.symbol: argument.name for argument in self.arguments}
        given = {name: values[symbol] for symbol, name in names.items()}
        if self.backend == "torch" and not tensors:
            given = _as_tensors(given)
        read = arrays.collect(**given)
        wide = arrays.widened(read)
        named = {symbol: wide[name] for symbol, name in names.items()}
        with arrays.quiet(read.xp):
            if not check or read.traced:
                reach = far.within_reach(named)
                found = self._each(
                    lambda part: far.nan_beyond(reach, evaluate_arrays(part, _needed(part, named)))
                )
            else:
                _check_finite(read)
                plain = {symbol: arrays.detach(x) for symbol, x in named.items()}
                self._check_domain(lambda x: far.mended(x, _occurring(x, plain)))
                found = self._each(lambda part: far.mended(part, named))
            return _narrowed(read, found)

    def _each(self, function: Any) -> Any:
        if isinstance(self.value, tuple):
            return tuple(map(function, self.value))
        return function(self.value)

    def _check_domain(self, number: Callable[[Any], Any]) -> None:
        """Raise ValueError where an inequality of the domain fails, given what makes numbers of its two sides."""
        for description, inequality, blamed in self.domain:
            excess = number(inequality.gts - inequality.lts)
            arrays.require(
                blamed, excess > 0 if isinstance(inequality, sp.Gt | sp.Lt) else excess >= 0, description
            )

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[Any, Any]:
        names = [argument.name for argument in self.arguments]
        given = dict(zip(names, args, strict=False))
        unknown = [name for name in kwargs if name not in names]
        missing = [a.name for a in self.arguments if a.default is None and a.name not in {*given, *kwargs}]
        twice = sorted(set(given) & set(kwargs))
        problem = (
            f"takes {len(names)} arguments"
            if len(args) > len(names)
            else f"has no argument {', '.join(unknown)}"
            if unknown
            else f"got {', '.join(twice)} twice"
            if twice
            else f"needs {', '.join(missing)}"
            if missing
            else ""
        )
        if problem:
            raise TypeError(f"{self.name} {problem}. Its arguments:\n{self._listing()}")
        given.update(kwargs)
        return {a.symbol: given.get(a.name, a.default) for a in self.arguments}

    def _listing(self) -> str:
        lines = []
        for a in self.arguments:
            shape = _shape(a.symbol) if isinstance(a.symbol, Letter) else "(...)"
            default = "" if a.default is None else f", default {a.default}"
            lines.append(f"    {a.name} {shape}{default}: {a.meaning}")
        return "\n".join(lines)


def _shape(letter: Letter) -> str:
    sizes = [str(size) for size in (letter.rows, letter.cols) if size != 1]
    return f"({', '.join(['...', *sizes])})"


def _narrowed(read: arrays.Collected, found: Any) -> Any:
    """What was found, in the dtype of the arguments."""
    if isinstance(found, tuple):
        return tuple(_narrowed(read, part) for part in found)
    return found.astype(read.dtype) if read.xp.__name__ == "numpy" else found.to(read.dtype)


def _needed(part: Any, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """The values that occur in a part, or that its sizes are read off."""
    return dict(values) if isinstance(part, Expression) or letters_of(part) else {}


def _occurring(scalar: Any, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """The values of the letters and symbols that a scalar has."""
    present = letters_of(scalar) | symbols_of(scalar)
    return {key: value for key, value in values.items() if key in present}


def _as_tensors(values: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    read = arrays.collect(**values)
    return {name: torch.as_tensor(read[name]) for name in values}


def _check_finite(read: arrays.Collected) -> None:
    for name, array in read.arrays.items():
        finite = read.xp.isfinite(array)
        if not bool(finite.all()):
            raise ValueError(f"{name} must be finite")


def _exact(part: Any, values: Mapping[Any, Any], digits: int) -> Any:
    value = evaluate(part, values)
    if not isinstance(value, sp.MatrixBase):
        return _number(value, digits)
    rows = [[_number(entry, digits) for entry in row] for row in value.tolist()]
    if value.shape == (1, 1):
        return rows[0][0]
    return [row[0] for row in rows] if value.shape[1] == 1 else rows


def _rational(name: str, value: Any, check: bool) -> Any:
    """A number, or nested lists of numbers, exactly; what is not finite is refused, or else NaN."""
    array = (isinstance(value, np.ndarray) or arrays.is_tensor(value)) and value.shape != ()
    if array or isinstance(value, (list, tuple)):
        kinds.refuse(name, value)
        listed = value.tolist() if array else value
        return [_rational(name, part, check) for part in listed]
    number = real_number(name, value)
    if hasattr(number, "_mpf_") and not isinstance(number, mpmath.mp.constant):
        number = (
            sp.Rational(*map(int, mpmath.libmp.to_rational(number._mpf_)))
            if mpmath.isfinite(number)
            else sp.nan
        )
    elif isinstance(number, (float, np.floating, Decimal)):
        number = sp.Rational(*number.as_integer_ratio()) if math.isfinite(number) else sp.nan
    exact = formula(number)
    if check and not exact.is_finite:
        raise ValueError(f"{name} must be finite")
    return exact


def _number(value: Any, digits: int) -> mpmath.mpf:
    with mpmath.workdps(digits + 5):
        return mpmath.mpf(str(sp.N(value, digits + 5)))
