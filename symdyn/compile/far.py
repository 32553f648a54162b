"""Words whose products leave the range of floats on their way to a value that is in it.

Every sum and product of words is right to rounding as long as none of them overflows or underflows. Whether one does,
the processor notices. A member of a batch in which that happens, or which comes out as no finite number, is computed
in as many digits as it needs instead; the others keep what they are, to the bit. On tensors the same is asked of
their numbers in NumPy, unless all of these are so near to 1 that their products cannot leave the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array
from symdyn.calculus.formula import formula
from symdyn.calculus.matrix import Letter, evaluate, evaluate_arrays, letters_of, symbols_of
from symdyn.compile.anew import Exact, differentiable, plain

_NEAR, _REACH = 1e12, 1e30


@dataclass(frozen=True)
class Members:
    """A part, an expression or a scalar of words, and the arguments it has, each of one shape for every member."""

    part: Any
    values: Mapping[Any, Array]
    batch: tuple[int, ...]

    @classmethod
    def of(cls, part: Any, values: Mapping[Any, Array], batch: tuple[int, ...]) -> Members:
        """From arguments whose leading axes broadcast to the batch."""
        flat = {}
        for symbol, array in values.items():
            own = tuple(array.shape)[len(array.shape) - _axes(symbol) :]
            xp = arrays.namespace(array)
            flat[symbol] = xp.broadcast_to(array, (*batch, *own)).reshape(-1, *own)
        return cls(part, flat, batch)

    @property
    def count(self) -> int:
        return math.prod(self.batch)

    def taken(self, places: Any) -> Members:
        taken = {symbol: array[places] for symbol, array in self.values.items()}
        return Members(self.part, taken, (len(next(iter(taken.values()), ())),))

    def in_numpy(self) -> Members:
        return Members(self.part, {symbol: plain(x) for symbol, x in self.values.items()}, self.batch)

    def doubtful(self) -> list[int]:
        """The members in which something overflows or underflows, or which are not finite."""
        if not self.count:
            return []
        flags: list[str] = []
        with (
            np.errstate(all="ignore"),
            np.errstate(over="call", under="call", call=lambda *x: flags.append(x[0])),
        ):
            found = evaluate_arrays(self.part, self.values)
        if not flags and np.isfinite(found).all():
            return []
        if self.count == 1:
            return [0]
        half = self.count // 2
        parts = (0, half), (half, self.count)
        return [start + i for start, end in parts for i in self.taken(slice(start, end)).doubtful()]


class ExactWords(Exact):
    """A part as a function of the values of the letters and symbols that it has."""

    def __init__(self, part: Any, symbols: Iterable[Any]) -> None:
        self.part, self.symbols = part, tuple(symbols)

    def at(self, values: list[Any], moved: Any, digits: int) -> list[list[Any]]:
        exact = {}
        for i, (symbol, value) in enumerate(zip(self.symbols, values, strict=True)):
            # Floats of SymPy, since of rational numbers it would look for the exact roots.
            own = np.vectorize(lambda x: sp.Float(sp.Rational(x), digits), otypes=[object])(value)
            if moved is not None and moved[0] == i:
                own[moved[1]] += sp.Float(moved[2], digits)
            exact[symbol] = own.tolist()
        found = evaluate(self.part, exact)
        with mpmath.workdps(digits):
            return [[_number(x) for x in (found if isinstance(found, sp.MatrixBase) else [found])]]


def _axes(symbol: Any) -> int:
    """How many axes a member of an argument has."""
    return sum(size != 1 for size in (symbol.rows, symbol.cols)) if isinstance(symbol, Letter) else 0


def occurring(part: Any, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """The values of the letters and symbols that a part has; all, if its sizes may be read off others."""
    if letters_of(part):
        return dict(values)
    present = symbols_of(part) if not isinstance(part, sp.MatrixBase) else set()
    return {symbol: value for symbol, value in values.items() if symbol in present}


def mended(part: Any, values: Mapping[Any, Array]) -> Array:
    """The part at arrays or tensors of float64, on an eager call, right also where products leave the range."""
    used = occurring(part, values)
    if not used:
        return evaluate_arrays(part, used)
    tensors = [x for x in used.values() if arrays.is_tensor(x)]
    if tensors and all(map(_is_near, used.values())):
        return evaluate_arrays(part, used)
    shapes = {str(s): tuple(x.shape)[: len(x.shape) - _axes(s)] for s, x in used.items()}
    batch = arrays.broadcast_shape(**shapes)
    if not tensors:
        return _mended_numpy(part, used, batch)
    members = Members.of(part, used, batch)
    places = members.in_numpy().doubtful()
    if not places:
        return evaluate_arrays(part, used)
    torch = arrays.namespace(*tensors)
    index = torch.as_tensor(places, device=tensors[0].device)
    # What cannot be computed in floats must not spoil the gradients of what can.
    mask = torch.zeros(members.count, dtype=torch.bool, device=index.device).index_fill(0, index, True)
    held = {
        s: torch.where(mask[(..., *(None,) * _axes(s))], x.detach(), x) for s, x in members.values.items()
    }
    result = evaluate_arrays(part, held)
    rows = members.taken(index)
    exact = ExactWords(part, rows.values)
    (anew,) = differentiable(torch).apply(exact, *rows.values.values())
    anew = anew.reshape(len(places), *result.shape[1:])
    return result.index_put((index,), anew).reshape(*batch, *result.shape[1:])


def _mended_numpy(part: Any, used: Mapping[Any, Array], batch: tuple[int, ...]) -> Array:
    flags: list[str] = []
    with (
        np.errstate(all="ignore"),
        np.errstate(over="call", under="call", call=lambda *x: flags.append(x[0])),
    ):
        result = evaluate_arrays(part, used)
    if not flags and np.isfinite(result).all():
        return result
    members = Members.of(part, used, batch)
    places = members.doubtful()
    if not places:
        return result
    own = tuple(np.shape(result))[len(batch) :]
    rows = np.array(np.broadcast_to(result, (*batch, *own))).reshape(members.count, -1)
    (rows[places],) = ExactWords(part, used).exactly(list(members.taken(places).values.values()))
    return rows.reshape(*batch, *own)[()]


def within_reach(values: Mapping[Any, Array]) -> Any:
    """Whether all numbers of a member are so near to 1 that products of ten stay in the range, of the batch shape."""
    good: Any = True
    for symbol, array in values.items():
        xp, size = arrays.namespace(array), abs(arrays.detach(array))
        near = (size == 0) | ((size >= 1 / _REACH) & (size <= _REACH))
        axes = tuple(range(-_axes(symbol), 0))
        good = good & (near if not axes else ~xp.amax(~near, axes))
    return good


def nan_beyond(reach: Any, found: Array) -> Array:
    """The value, NaN for members that are out of reach."""
    if isinstance(reach, bool):
        return found
    xp = arrays.namespace(found)
    mask = reach.reshape(tuple(reach.shape) + (1,) * (len(found.shape) - len(reach.shape)))
    return arrays.where(xp, mask, found, math.nan)


def _is_near(x: Array) -> bool:
    size = abs(arrays.detach(x))
    return bool(((size == 0) | ((size >= 1 / _NEAR) & (size <= _NEAR))).all())


def _number(value: Any) -> Any:
    """A number of SymPy as one of mpmath, of the digits of its context; NaN for none that is finite and real."""
    found = formula(value)
    return mpmath.mpf(found._to_mpmath(mpmath.mp.prec)) if found.is_finite and found.is_real else mpmath.nan
