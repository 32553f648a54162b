r"""Words as arrays: exact for rational matrices, batched for NumPy and torch.

A letter of shape n × m takes an array (..., n, m); a letter with one column takes (..., n), and results lose
their axes of size 1 in the same way: a column is (..., n), a scalar is (...). Leading axes broadcast.
Summed indices become array axes of their own, just before the matrix axes, so there are no loops.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.matrix.expression import Expression
from symdyn.calculus.matrix.sums import Bound, ScalarSum
from symdyn.calculus.matrix.transform import as_letter, letters_of
from symdyn.calculus.matrix.words import (
    Basis,
    Factor,
    Index,
    Kron,
    Letter,
    Occurrence,
    Scalar,
    ScalarWord,
    Size,
    TraceWord,
    Word,
    number_of,
)
from symdyn.compile.named import NamedFunction, unfold

Array = Any


@dataclass(frozen=True)
class _Frame:
    """What is needed to evaluate: the module of array functions, the values, and the axes of the indices.

    `letters` hold (..., rows, cols), `symbols` hold (...); index number i of `active` runs along the i-th of
    the axes between the batch axes and the matrix axes. `exact` says that the entries are SymPy numbers.
    """

    xp: Any
    like: dict[str, Any]
    exact: bool
    letters: Mapping[Letter, Array]
    symbols: Mapping[Any, Array]
    sizes: Mapping[Any, int]
    indices: Mapping[Index, int]
    active: Bound = ()

    def size(self, size: Size) -> int:
        return number_of(size, self.sizes)

    def eye(self, n: int) -> Array:
        if self.exact:
            return np.array([[sympy.Integer(i == j) for j in range(n)] for i in range(n)], dtype=object)
        return self.xp.eye(n, **self.like)

    def lift(self, array: Array, matrix_axes: int) -> Array:
        """The array with an axis of size 1 for each active index, before its last `matrix_axes` axes."""
        split = len(array.shape) - matrix_axes
        return array.reshape((*array.shape[:split], *(1 for _ in self.active), *array.shape[split:]))


def evaluate(
    x: Any,
    values: Mapping[Any, Any],
    sizes: Mapping[Any, int] | None = None,
    indices: Mapping[Index, int] | None = None,
) -> Any:
    """The SymPy matrix (or number) that x is for exact values; an index counts from 0.

    `values` maps letters to matrices (lists of rows; a list of numbers for a column) and symbols to numbers;
    sizes are read off the matrices, and given in `sizes` where no matrix has them. Raises ValueError for
    missing values and for shapes that contradict each other.
    """
    exact = {key: _exact_array(value) for key, value in values.items()}
    frame = _frame(x, exact, sizes, indices, None)
    with np.errstate(all="ignore"):  # of what SymPy guesses in floats about exact numbers
        if not isinstance(x, Expression):
            return formula(_scalar(formula(x), frame).item())
        return sympy.Matrix(_expression(x, frame).tolist())


def evaluate_arrays(
    x: Any,
    values: Mapping[Any, Any],
    sizes: Mapping[Any, int] | None = None,
    indices: Mapping[Index, int] | None = None,
) -> Array:
    """x on NumPy arrays or torch tensors with leading batch axes; the input decides backend and dtype.

    Arguments as in `evaluate`. Raises ValueError for missing values and contradicting shapes.
    """
    from symdyn.arrays.backends import collect  # the array layer loads on first use

    names = _names(values)
    collected = collect(**{name: values[key] for key, name in names.items()})
    arrays = {key: collected[name] for key, name in names.items()}
    frame = _frame(x, arrays, sizes, indices, collected)
    if not isinstance(x, Expression):
        return _scalar(formula(x), frame)
    result = _expression(x, frame)
    if x.cols == 1:
        result = result[..., 0]
    if x.rows == 1:
        result = result[..., 0] if x.cols == 1 else result[..., 0, :]
    return result


def _names(keys: Iterable[Any]) -> dict[Any, str]:
    """A name of its own for each letter and symbol: its name, with a prime where another has the same."""
    names: dict[Any, str] = {}
    for key in keys:
        letter = as_letter(key)
        name = str(key) if letter is None else letter.name
        while name in names.values():
            name += "′"
        names[key] = name
    return names


def _exact_array(value: Any) -> Array:
    array = np.array(value.tolist() if hasattr(value, "tolist") else value, dtype=object)
    return np.asarray(np.frompyfunc(formula, 1, 1)(array), dtype=object)


def _frame(x: Any, values: Mapping[Any, Array], sizes: Any, indices: Any, collected: Any) -> _Frame:
    """The values sorted into letters and symbols, with all sizes read off and checked."""
    letters: dict[Letter, Array] = {}
    symbols: dict[Any, Array] = {}
    known: dict[Any, int] = {size: operator.index(length) for size, length in (sizes or {}).items()}
    for key, array in values.items():
        letter = as_letter(key)
        if letter is None:
            symbols[key] = array
            continue
        letters[letter] = _with_matrix_axes(letter, array, exact=collected is None)
        for size, length in zip((letter.rows, letter.cols), letters[letter].shape[-2:], strict=True):
            if size.is_Symbol:
                known.setdefault(size, length)
            if (size if size.is_Integer else known.get(size) or size.subs(known)) != length:
                raise ValueError(
                    f"{letter.name} is {letter.rows} × {letter.cols}, but its array has shape "
                    f"{tuple(letters[letter].shape)} where the sizes are {known}"
                )
    missing = sorted(letter.name for letter in letters_of(x) - set(letters))
    if missing:
        raise ValueError(f"no value given for {', '.join(missing)}")
    if collected is None:
        return _Frame(np, {}, True, letters, symbols, known, indices or {})
    like = {"dtype": collected.dtype}
    devices = {array.device for array in letters.values() if hasattr(array, "device")}
    if collected.xp is not np and devices:
        like["device"] = devices.pop()
    return _Frame(collected.xp, like, False, letters, symbols, known, indices or {})


def _with_matrix_axes(letter: Letter, array: Array, exact: bool) -> Array:
    """(..., rows, cols) from an array that leaves out axes of size 1."""
    shape = tuple(array.shape)
    if exact and len(shape) == 2:
        return array
    if letter.cols == 1:
        shape = (*shape, 1)
    if letter.rows == 1:
        shape = (*shape[:-1], 1, shape[-1]) if letter.cols != 1 else (*shape[:-1], 1, 1)
    if len(shape) < 2:
        raise ValueError(f"{letter.name} is a matrix; its array has shape {shape}")
    return array.reshape(shape)


def _expression(x: Expression, frame: _Frame) -> Array:
    rows, cols = frame.size(x.rows), frame.size(x.cols)
    total: Array = frame.lift(frame.eye(max(rows, cols))[:rows, :cols] * 0, 2)
    for (bound, word), c in x.terms.items():
        inner = replace(frame, active=frame.active + bound)
        scalar = _scalar(c, inner)
        total = total + _sum_axes(scalar[..., None, None] * _word(word, inner), bound, inner, 2)
    return total


def _sum_axes(array: Array, bound: Bound, frame: _Frame, matrix_axes: int) -> Array:
    """Sum over the axes of the indices `bound`, which are the last active ones."""
    for index in reversed(bound):
        axis = -1 - matrix_axes
        count = frame.size(index.size) if array.shape[axis] == 1 else 1
        array = array.sum(axis) * count
    return array


def _scalar(c: Scalar, frame: _Frame) -> Array:
    """A scalar as an array of shape (..., active indices)."""
    if frame.exact:
        c = unfold(c)
    symbols = sorted(c.free_symbols, key=lambda symbol: symbol.name)
    arrays = [_symbol(symbol, frame) for symbol in symbols]
    if frame.exact:
        if not symbols:
            return _constant(c, frame)

        def number(*numbers: Any) -> Any:
            return c.xreplace(dict(zip(symbols, numbers, strict=True)))

        pick = np.frompyfunc(number, len(symbols), 1)
        return np.asarray(pick(*arrays), dtype=object)
    if not symbols:
        return _constant(c, frame)
    return _function(c, tuple(symbols), frame.xp.__name__)(*arrays)


@functools.lru_cache(maxsize=1024)
def _function(c: Scalar, symbols: tuple[Any, ...], module: str) -> Any:
    """The scalar as a function of its symbols; written once, as that takes longer than many a call.

    In the code, symbols have names that no function has, in the same order: a symbol may be called sqrt. Named
    quantities are computed in their stable forms, which takes the compiler of scalars.
    """
    if c.has(NamedFunction):
        return _stable(c, symbols, module)
    mangled = {
        symbol: sympy.Symbol(f"given_{symbol.name}", **symbol.assumptions0)
        for symbol in symbols
        if type(symbol) is sympy.Symbol
    }
    given = [mangled.get(symbol, symbol) for symbol in symbols]
    return sympy.lambdify(given, c.xreplace(mangled), modules=module)


def _stable(c: Scalar, symbols: tuple[Any, ...], module: str) -> Any:
    from symdyn.compile import printers
    from symdyn.compile.lower import Lowering

    xp, names = importlib.import_module(module), {symbol: f"x{i}" for i, symbol in enumerate(symbols)}
    lowering = Lowering("a scalar of words", names)
    node = lowering.scalar(c)
    text = printers.source(lowering.graph, [node], list(names.values()), module, lowering.name)
    kernel = printers.array_kernel(text, module, lowering.name)
    return lambda *values: kernel(xp, values[0], *values)[0]


def _constant(c: Scalar, frame: _Frame) -> Array:
    ones = tuple(1 for _ in frame.active)
    if frame.exact:
        return np.array(c, dtype=object).reshape(ones)
    return frame.xp.ones(ones, **frame.like) * float(c)


def _symbol(symbol: Any, frame: _Frame) -> Array:
    if isinstance(symbol, ScalarSum):
        inner = replace(frame, active=frame.active + symbol.bound)
        return _sum_axes(_scalar(symbol.body, inner), symbol.bound, inner, 0)
    if isinstance(symbol, ScalarWord):
        return _word(symbol.word, frame)[..., 0, 0]
    if isinstance(symbol, TraceWord):
        square = _word(symbol.word, frame)
        return (square * frame.eye(square.shape[-1])).sum(-1).sum(-1)
    if symbol in frame.symbols:
        return frame.lift(frame.symbols[symbol], 0)
    if symbol in frame.sizes:
        return _constant(sympy.Integer(frame.sizes[symbol]), frame)
    raise ValueError(f"no value given for {symbol}")


def _word(word: Word, frame: _Frame) -> Array:
    """A word as an array of shape (..., active indices, rows, cols)."""
    product = None
    for factor in word.factors:
        array = _factor(factor, frame)
        product = array if product is None else frame.xp.matmul(product, array)
    return frame.lift(frame.eye(frame.size(word.rows)), 2) if product is None else product


def _factor(factor: Factor, frame: _Frame) -> Array:
    if isinstance(factor, Occurrence):
        array = frame.lift(frame.letters[factor.letter], 2)
        if factor.inverted:
            array = _inverse(array, frame)
        return _swap(array, frame) if factor.transposed else array
    if isinstance(factor, Basis):
        column = _basis(factor.index, frame)
        return _swap(column, frame) if factor.transposed else column
    if isinstance(factor, Kron):
        left, right = _word(factor.left, frame), _word(factor.right, frame)
        product = left[..., :, None, :, None] * right[..., None, :, None, :]
        rows, cols = left.shape[-2] * right.shape[-2], left.shape[-1] * right.shape[-1]
        return product.reshape((*product.shape[:-4], rows, cols))
    array = _swap(_word(factor.word, frame), frame)
    stacked = array.reshape((*array.shape[:-2], array.shape[-2] * array.shape[-1], 1))
    return _swap(stacked, frame) if factor.transposed else stacked


def _swap(array: Array, frame: _Frame) -> Array:
    return frame.xp.swapaxes(array, -1, -2)


def _inverse(array: Array, frame: _Frame) -> Array:
    if not frame.exact:
        return frame.xp.linalg.inv(array)
    shape = array.shape
    inverses = [sympy.Matrix(square.tolist()).inv().tolist() for square in array.reshape((-1, *shape[-2:]))]
    return np.array(inverses, dtype=object).reshape(shape)


def _basis(index: Index, frame: _Frame) -> Array:
    n = frame.size(index.size)
    if index in frame.active:
        axes = [n if k == index else 1 for k in frame.active]
        return frame.eye(n).reshape((*axes, n, 1))
    if index not in frame.indices:
        raise ValueError(f"no value given for the index {index.name}")
    return frame.lift(frame.eye(n)[:, frame.indices[index]][:, None], 2)
