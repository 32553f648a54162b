"""Members of a batch computed anew, in as many digits as they need, with exact slopes where gradients are asked for."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from typing import Any

import mpmath
import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array

_DIGITS, _TRIES = 40, 4
_BELOW = mpmath.mpf(10) ** -400  # differences of numbers that are that small are zero as floats


class Exact(ABC):
    """A function of numbers and nested lists of numbers, the arguments of one member, to any number of digits."""

    @abstractmethod
    def at(self, values: list[Any], moved: Any, digits: int) -> list[list[Any]]:
        """The entries of each output, numbers of mpmath; `moved`, if any, is (argument, index, step): one entry of one
        argument is moved by the step first.
        """

    def exactly(self, rows: list[Array]) -> list[Array]:
        """The outputs of members, exact to rounding, as NumPy arrays (members, entries); arguments likewise."""
        found = [self._settled([x[i].tolist() for x in rows]) for i in range(len(rows[0]))]
        return [
            np.array([[_rounded(x) for x in member[k]] for member in found]) for k in range(len(found[0]))
        ]

    def slopes(self, values: list[Any]) -> list[list[Array]]:
        """For each argument of a member and each output, its derivatives: (entries of output, of argument)."""
        found = []
        for i, value in enumerate(values):
            columns = []
            for index in np.ndindex(np.shape(value)):
                x = functools.reduce(lambda part, k: part[k], index, value)
                step, tolerance = (mpmath.ldexp(x, -60), 1e-45) if x else (mpmath.ldexp(1, -300), 1e-140)
                base = self._settled(values, None, tolerance)
                moved = self._settled(values, (i, index, step), tolerance)
                columns.append(
                    [
                        [_rounded((b - a) / step) for a, b in zip(one, other, strict=True)]
                        for one, other in zip(base, moved, strict=True)
                    ]
                )
            found.append([np.array([c[k] for c in columns]).T for k in range(len(columns[0]))])
        return found

    def _settled(self, values: list[Any], moved: Any = None, tolerance: float = 1e-25) -> list[list[Any]]:
        """The outputs of one member as mpmath numbers, with digits added until they agree; NaN if they never do."""
        digits, last = _DIGITS + 3 * _decades(values), None
        for _ in range(_TRIES):
            found = self.at(values, moved, digits)
            if last is not None and all(_agree(*pair, tolerance) for pair in zip(last, found, strict=True)):
                return found
            last, digits = found, 2 * digits
        return [[math.nan] * len(output) for output in found]


def _decades(values: list[Any]) -> int:
    """How many decades the arguments are away from 1, all together: as many digits may cancel in their products.

    In multiples of 20, so that few precisions are asked for.
    """
    total = 0.0
    for value in values:
        numbers = [abs(x) for x in np.ravel(value).tolist() if x and math.isfinite(x)]
        total += max((abs(math.log10(x)) for x in numbers), default=0.0)
    return 20 * math.ceil(total / 20)


def _agree(old: list[Any], new: list[Any], tolerance: float) -> bool:
    """Whether two computations of an output agree beside its largest component, or below all floats."""
    size = max((abs(x) for x in new if x == x), default=0)
    for x, y in zip(old, new, strict=True):
        if x != x or y != y:
            if (x == x) != (y == y):
                return False
        elif x != y and not (abs(x - y) <= tolerance * size or max(abs(x), abs(y)) < _BELOW):
            return False
    return True


def _rounded(value: Any) -> float:
    """The nearest float, but the least one for what is smaller and not zero: its sign matters in a domain."""
    if not value:
        return 0.0
    try:
        return float(value) or math.copysign(math.ulp(0.0), value)
    except OverflowError:
        return math.copysign(math.inf, value)


def plain(x: Any) -> Array:
    """A number or an array as a NumPy array."""
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else np.asarray(x)


def _drawn(weight: Array, slope: Array) -> Array:
    """weightᵀ slope over the entries that have a weight: others may have an infinite slope."""
    used = weight != 0
    return weight[used] @ slope[used]


@functools.cache
def differentiable(torch: Any) -> Any:
    """The torch function of rows of members, (members, …) each, with exact values and slopes; no second derivatives.

    Applied to an `Exact` and the rows of its arguments.
    """
    from torch.autograd.function import once_differentiable

    class Anew(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, exact: Exact, *rows: Any) -> tuple[Any, ...]:
            ctx.exact = exact
            ctx.save_for_backward(*rows)
            found = exact.exactly([plain(x) for x in rows])
            return tuple(torch.as_tensor(y, device=rows[0].device) for y in found)

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
        def backward(ctx: Any, *upstream: Any) -> tuple[Any, ...]:
            rows = [plain(x) for x in ctx.saved_tensors]
            weights = [plain(g) for g in upstream]
            gradients = [np.zeros(x.shape) for x in rows]
            for i in range(len(rows[0])):
                slopes = ctx.exact.slopes([x[i].tolist() for x in rows])
                for x, own in zip(gradients, slopes, strict=True):
                    total = sum(_drawn(weight[i], slope) for weight, slope in zip(weights, own, strict=True))
                    x[i] = total.reshape(x[i].shape)
            return (None, *(torch.as_tensor(g, device=upstream[0].device) for g in gradients))

    return Anew
