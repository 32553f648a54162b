"""Values that keep the accuracy contract wherever values exist: what lost its digits is computed anew, exactly.

On eager calls a running error analysis (`bounds`) runs beside the kernel. A member of the batch whose bound is above
what the contract allows is asked about its condition, sum_i |x_i dy/dx_i| by differences, for what the rounding of the
input costs is forgiven; if that does not explain the loss, the member is computed in more digits by mpmath. So are
members whose intermediate powers left the range of numbers. All others keep the value of the kernel, to the bit.
Where values may not be looked at, inside transforms, the condition is asked along a few directions only, and a member
that it does not explain is NaN (`Assurance.trusted`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected
from symdyn.compile import bounds, printers
from symdyn.compile.anew import Exact, differentiable, plain

Rerun = Callable[[Collected], tuple[Array, ...]]

_ALLOWED = {"float32": 5e-6, "float64": 5e-14}
_STEPS = {"float32": 2.0**-10, "float64": 2.0**-23}
_BLOCKS = {"numpy": 2**12, "torch": 2**16}  # as many members at a time: what they take stays in the cache


class Assurance(Exact):
    """What assures the values of one compiled function; its exact kernels are made on first use and kept."""

    def __init__(self, program: Any, backends: Sequence[str]) -> None:
        self._program = program
        # made here and not on first use, which may be inside torch.compile
        self._bounds = {
            each: bounds.kernel(program.bound_source(each), each, program.name) for each in backends
        }
        self._exact: dict[int, Any] = {}

    def settle(self, read: Collected, batch: tuple[int, ...], dtype: Any, rerun: Rerun) -> tuple[Array, ...]:
        """The outputs that `rerun` gives of the arguments, in the dtype, with doubtful members computed anew.

        Gradients of those members are exact too; they have no second derivatives.
        """
        outputs = rerun(read)
        count = math.prod(batch)
        places = np.flatnonzero(self._doubtful(read, batch, str(dtype).rpartition(".")[2]))
        if not len(places):
            return outputs
        inputs = self._members(read, batch)
        if read.xp is np:
            anew: Any = self.exactly([x[places] for x in inputs.values()])
            return tuple(_replaced(x, count, places, y) for x, y in zip(outputs, anew, strict=True))
        index = read.xp.as_tensor(places, device=outputs[0].device)
        rows = [x[index] for x in inputs.values()]
        if any(output.requires_grad for output in outputs):
            outputs = rerun(self._held(read, batch, count, index))
            anew = differentiable(read.xp).apply(self, *rows)
        else:
            anew = [read.xp.as_tensor(y, device=index.device) for y in self.exactly([plain(x) for x in rows])]
        return tuple(
            x.reshape(count, -1).index_put((index,), y.to(x.dtype)).reshape(x.shape)
            for x, y in zip(outputs, anew, strict=True)
        )

    def _held(self, read: Collected, batch: tuple[int, ...], count: int, index: Array) -> Collected:
        """The arguments of every member, of which the doubtful ones take no gradient."""
        doubtful = read.xp.zeros(count, dtype=read.xp.bool, device=index.device)
        doubtful[index] = True
        held = {}
        for name, x in self._members(read, batch).items():
            mask = doubtful[:, None] if len(x.shape) > 1 else doubtful
            held[name] = read.xp.where(mask, x.detach(), x).reshape((*batch, *x.shape[1:]))
        return Collected(read.xp, read.dtype, read.traced, held)

    def _members(self, read: Collected, batch: tuple[int, ...]) -> dict[str, Array]:
        """The arguments of every member of the batch, one after the other."""
        inputs = {}
        for name in self._program.names:
            array = read[name]
            shape = (array.shape[-1],) if name in self._program.vectors else ()
            inputs[name] = read.xp.broadcast_to(array, (*batch, *shape)).reshape(-1, *shape)
        return inputs

    def _doubtful(self, read: Collected, batch: tuple[int, ...], dtype: str) -> Array:
        """Whether each member may have lost more digits than the contract forgives, (members,) in NumPy."""
        ranks = [out.rank for out in self._program.outputs]
        bounded, limit = Bounded(self._kernel(read.xp), read.xp, ranks), Limit.of(dtype)
        inputs = {name: arrays.detach(x) for name, x in self._members(read, batch).items()}
        count = math.prod(batch)
        found = np.zeros(count, dtype=bool)
        with np.errstate(all="ignore"):  # of tensors too: what is asked of them is asked in NumPy
            size = _BLOCKS[read.xp.__name__]
            for start in range(0, count if inputs else 0, size):
                part = {name: x[start : start + size] for name, x in inputs.items()}
                found[start : start + size] = _lost(bounded, part, limit)
        return found

    def _kernel(self, xp: Any) -> Any:
        return self._bounds["numpy" if xp is np else "torch"]

    def trusted(self, read: Collected, dtype: Any, kernel: Any) -> Any:
        """Where no more digits are lost than the contract forgives, as far as `_DIRECTIONS` of the arguments tell.

        Nothing is decided by a value, so that it can be traced. Of the batch shape, or of one that broadcasts to it.
        """
        xp, limit = read.xp, Limit.of(str(dtype).rpartition(".")[2])
        names, ranks = self._program.names, [out.rank for out in self._program.outputs]
        inputs = [arrays.detach(read[name]) for name in names]
        pairs = self._kernel(xp)(xp, inputs[0], *inputs)
        slacks: list[Any] = [0.0] * len(ranks)
        for direction in _DIRECTIONS:
            moved = [
                x * _stepped(xp, x, name in self._program.vectors, i, direction, limit.step)
                for i, (name, x) in enumerate(zip(names, inputs, strict=True))
            ]
            others = kernel(xp, inputs[0], *moved)
            for k, (other, (value, _), rank) in enumerate(zip(others, pairs, ranks, strict=True)):
                slope = _largest(xp, other - value, rank, inputs[0]) / (2 * limit.step)
                slope = arrays.where(xp, xp.isfinite(slope), slope, 0.0)
                slacks[k] = slope if isinstance(slacks[k], float) else xp.maximum(slacks[k], slope)
        good: Any = True
        for (value, bound), slack, rank in zip(pairs, slacks, ranks, strict=True):
            size, error = (_largest(xp, x, rank, inputs[0]) for x in (value, bound))
            within = bounds.ROUNDOFF * error <= limit.relative * (size + slack) + limit.absolute
            good = good & within & (xp.isfinite(size) | (error == 0))
        return good

    def at(self, values: list[Any], moved: Any, digits: int) -> list[list[Any]]:
        if digits not in self._exact:
            program = self._program
            text = program.source("mpmath")
            self._exact[digits] = printers.exact_kernel(text, program.graph, digits, program.name)
        context, kernel = self._exact[digits]
        numbers = [[context.mpf(x) for x in v] if isinstance(v, list) else context.mpf(v) for v in values]
        if moved is not None:
            argument, index, step = moved
            if index:
                numbers[argument][index[0]] += step
            else:
                numbers[argument] += step
        return [_flat(output) for output in kernel(context, None, *numbers)]


class Limit(NamedTuple):
    """What an error may be beside the size of a value, what any error may be, and a step to see a slope by.

    Digits that are lost by more than is allowed must not pass for a slope: the step is far larger than `relative`.
    """

    relative: float
    absolute: float
    step: float

    @classmethod
    def of(cls, dtype: str) -> Limit:
        return cls(_ALLOWED[dtype], _ALLOWED[dtype] * float(np.finfo(dtype).tiny), _STEPS[dtype])


@dataclass(frozen=True)
class Bounded:
    """A function that gives every output and its bound, as rows of NumPy, (members, components)."""

    kernel: Any
    xp: Any
    ranks: Sequence[int]

    def __call__(self, inputs: dict[str, Array]) -> list[tuple[Array, Array]]:
        like = next(iter(inputs.values()))
        pairs = self.kernel(self.xp, like, *inputs.values())
        return [
            (_rows(value, rank, len(like)), _rows(bound, rank, len(like)))
            for (value, bound), rank in zip(pairs, self.ranks, strict=True)
        ]

    def taken(self, inputs: dict[str, Array], places: Array) -> dict[str, Array]:
        """The arguments of some of the members."""
        like = next(iter(inputs.values()))
        index = places if self.xp is np else self.xp.as_tensor(places, device=like.device)
        return {name: x[index] for name, x in inputs.items()}


def _lost(bounded: Bounded, inputs: dict[str, Array], limit: Limit) -> Array:
    """Where one of the outputs has lost digits that the condition does not explain, (members,)."""
    found = bounded(inputs)
    sizes, errors = ([abs(pair[k]).max(-1) for pair in found] for k in (0, 1))
    suspect = _beyond(sizes, errors, limit)
    if suspect.any():
        places = np.flatnonzero(suspect)
        slack = _slack(bounded, bounded.taken(inputs, places), limit.step)
        forgiven = [size[places] + one for size, one in zip(sizes, slack, strict=True)]
        suspect[places] = _beyond(forgiven, [error[places] for error in errors], limit)
    return suspect


def _beyond(sizes: list[Array], errors: list[Array], limit: Limit) -> Array:
    """Where an error may exceed the limit. An infinite value is right if nothing was rounded."""
    bad = np.zeros(sizes[0].shape, dtype=bool)
    for size, error in zip(sizes, errors, strict=True):
        within = bounds.ROUNDOFF * error <= limit.relative * size + limit.absolute
        bad |= ~(within & (np.isfinite(size) | (error == 0)))
    return bad


def _slack(bounded: Bounded, inputs: dict[str, Array], step: float) -> list[Array]:
    """Half of sum_i |x_i dy/dx_i| of each output, by differences."""
    base = [value for value, _ in bounded(inputs)]
    slack = [np.zeros(len(value)) for value in base]
    for name, x in inputs.items():
        for column in range(x.shape[-1]) if len(x.shape) > 1 else (slice(None),):
            factor = bounded.xp.ones_like(x)
            factor[(..., column)[2 - len(x.shape) :]] += step
            moved = bounded({**inputs, name: x * factor})
            for total, value, (other, _) in zip(slack, base, moved, strict=True):
                slope = abs(other - value).max(-1) / step
                total += np.where(np.isfinite(slope), slope / 2, 0.0)
    return slack


_DIRECTIONS = (lambda k: 1, lambda k: (-1) ** k, lambda k: (-1) ** (k // 2))
"""The signs with which the arguments, and the components of one, are moved."""


def _stepped(xp: Any, x: Array, vector: bool, place: int, sign: Callable[[int], int], step: float) -> Any:
    """The factor 1 ± step of an argument, or of each of its components."""
    if not vector:
        return 1 + sign(place) * step
    factors = [1 + sign(place + k) * step for k in range(x.shape[-1])]
    return np.array(factors) if xp is np else xp.tensor(factors, dtype=x.dtype, device=x.device)


def _largest(xp: Any, x: Any, rank: int, like: Array) -> Any:
    """The size of the largest component of an output of its rank."""
    if isinstance(x, float):
        return np.float64(abs(x)) if xp is np else xp.full((), abs(x), dtype=like.dtype, device=like.device)
    size = abs(x)
    return xp.amax(size, tuple(range(-rank, 0))) if rank and len(x.shape) >= rank else size


def _rows(x: Any, rank: int, count: int) -> Array:
    """An output of `count` members, or the one of all of them, of its rank behind the members, as rows."""
    array = plain(x)
    if rank and array.ndim == rank:
        array = array[None]
    return np.broadcast_to(array, (count, *array.shape[1:])).reshape(count, -1)


def _replaced(output: Array, count: int, places: Array, anew: Array) -> Array:
    rows = np.array(output).reshape(count, -1)
    rows[places] = anew
    return rows.reshape(np.shape(output))[()]


def _flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _flat(part)] if isinstance(value, (tuple, list)) else [value]
