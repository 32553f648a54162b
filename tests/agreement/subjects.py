"""Compiled results with the way to draw their arguments, and their values to any number of digits."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import sympy as sp

from symdyn.calculus.matrix import Letter, evaluate
from symdyn.calculus.vectors import InnerProductSymbol, Vector
from symdyn.catalogue.registry import results
from symdyn.compile import UnsupportedHead, printers
from symdyn.compile.words import CompiledWords
from tests.agreement.draws import COSINES, LENGTHS, SIZES, Draw

Arguments = dict[str, Any]  # floats, lists of floats, or lists of rows


class Refused(ValueError):
    """The arguments are outside the domain."""


class Subject:
    """A compiled result, the way to draw its arguments, and its values to any number of digits.

    `exact(arguments, digits)` takes exact numbers (Fraction) in the place of floats and gives, for each output, the
    list of its components as mpmath numbers; it raises Refused outside the domain. `numeric(arguments)` takes arrays
    or tensors with one batch axis in front and gives the outputs in a tuple, components flattened behind the batch
    axis.
    """

    key: str
    topic: str
    draws = 40
    extremes = 20
    backends: tuple[str, ...] = ("numpy", "torch")

    def names(self) -> Sequence[str]:
        raise NotImplementedError

    def draw(self, draw: Draw) -> Arguments:
        raise NotImplementedError

    def exact(self, arguments: Mapping[str, Any], digits: int) -> list[list[Any]]:
        raise NotImplementedError

    def numeric(self, arguments: Mapping[str, Any], check: bool) -> tuple[Any, ...]:
        raise NotImplementedError


class Compiled(Subject):
    """A compiled result of scalars and vectors."""

    def __init__(self, result: Any) -> None:
        self.result, self.function = result, result.compiled
        self.key, self.topic = result.key, result.topic
        self._program = self.function._program
        self._kernels: dict[int, Any] = {}

    def names(self) -> Sequence[str]:
        return [a.name for a in self.result.arguments]

    def draw(self, draw: Draw) -> Arguments:
        length, vectors, values = draw.rng.choice(LENGTHS), [], {}
        if self._program.matrices:
            length = draw.rng.choice(SIZES) ** 2
        signs = self._signs(draw.rng)
        rates_are_one = draw.rng.random() < 0.3
        for argument in self.result.arguments:
            name = argument.name
            if isinstance(argument.symbol, Vector):
                values[name] = draw.vector(name, length, vectors)
                vectors.append(values[name])
            elif name in COSINES:
                values[name] = draw.cosine(name)
            elif rates_are_one and argument.default is not None and name != draw.big:
                values[name] = float(argument.default)
            else:
                values[name] = draw.scalar(name, 1 if argument.positive else signs.get(argument.symbol, 0))
        return values

    def _signs(self, rng: random.Random) -> dict[Any, int]:
        """The signs of the arguments in a cell of the domain; 0 is drawn where a cell says so."""
        cells = self.result.domain.cells if self.result.domain is not None else ()
        if not cells:
            return {}
        cell = rng.choice(cells)
        signs = dict(cell.signs)
        for symbol, expr in cell.where.items():
            if expr in cell.signs:
                signs[symbol] = cell.signs[expr]
        return {symbol: sign for symbol, sign in signs.items() if isinstance(symbol, sp.Symbol)}

    def _admit(self, arguments: Mapping[str, Any]) -> None:
        """Raise Refused outside the domain of the result, as far as its arguments tell."""
        domain = self.result.domain
        if domain is None:
            return
        values = {a.symbol: arguments[a.name] for a in self.result.arguments}

        def number(symbol: Any) -> Any:
            if isinstance(symbol, InnerProductSymbol):
                if symbol.left in values and symbol.right in values:
                    return sum(x * y for x, y in zip(values[symbol.left], values[symbol.right], strict=True))
                return None
            return values.get(symbol)

        def in_cell(cell: Any) -> bool:
            signs = {**cell.signs, **{s: cell.signs[e] for s, e in cell.where.items() if e in cell.signs}}
            known = [(number(symbol), sign) for symbol, sign in signs.items()]
            zeros = [number(symbol) for symbol, expr in cell.where.items() if expr == 0 and symbol in values]
            return all(v is None or v * sign > 0 for v, sign in known) and not any(zeros)

        if domain.cells and not any(in_cell(cell) for cell in domain.cells):
            raise Refused("outside every cell of the domain")
        for condition in domain.conditions:
            if isinstance(condition, sp.core.relational.Relational):
                known = {symbol: number(symbol) for symbol in condition.free_symbols}
                if None not in known.values():
                    gap = (condition.lhs - condition.rhs).xreplace(
                        {s: sp.Rational(v.numerator, v.denominator) for s, v in known.items()}
                    )
                    if not condition.func(gap, 0):
                        raise Refused(str(condition))

    def exact(self, arguments: Mapping[str, Any], digits: int) -> list[list[Any]]:
        if digits not in self._kernels:
            texts = (self._program.source("mpmath"), self._program.test_source("mpmath"))
            self._kernels[digits] = [
                printers.exact_kernel(text, self._program.graph, digits, self.key) for text in texts
            ]
        (context, kernel), (_, test) = self._kernels[digits]

        def number(x: Any) -> Any:
            return [number(y) for y in x] if isinstance(x, list) else context.mpf(x.numerator) / x.denominator

        inputs = [number(arguments[name]) for name in self._program.names]
        holds = test(context, None, *inputs)
        for condition, good in zip(self._program.conditions, holds, strict=True):
            if not good:
                raise Refused(f"{condition.blamed} must be {condition.description}")
        return [flat(output) for output in kernel(context, None, *inputs)]

    def numeric(self, arguments: Mapping[str, Any], check: bool) -> tuple[Any, ...]:
        given = {name: self._square(name, value) for name, value in arguments.items()}
        found = self.function(**given, check=check)
        parts = found if isinstance(found, tuple) else (found,)
        batch = len(next(iter(arguments.values())))
        return tuple(part.reshape(batch, -1) for part in parts)

    def _square(self, name: str, array: Any) -> Any:
        """The entries of a matrix, drawn in one row, as the matrix."""
        if name not in self._program.matrices:
            return array
        size = round(array.shape[-1] ** 0.5)
        return array.reshape((*array.shape[:-1], size, size))


class Words(Subject):
    """A compiled result of matrices."""

    draws, extremes = 6, 6

    def __init__(self, result: Any) -> None:
        self.result, self.function = result, result.compiled
        self.key, self.topic = result.key, result.topic

    def names(self) -> Sequence[str]:
        return [a.name for a in self.result.arguments]

    def draw(self, draw: Draw) -> Arguments:
        values = self._free(draw)
        rank_one = any("rank one" in condition[0] for condition in self.function.domain)
        for argument in self.result.arguments:
            name = argument.name
            if rank_one and isinstance(argument.symbol, Letter):
                rows, cols = len(values[name]), len(values[name][0])
                u, v = draw.vector(name, rows), draw.vector("", cols)
                longest = max(map(abs, v)) or 1.0
                values[name] = [[x * (y / longest) for y in v] for x in u]
        return values

    def _free(self, draw: Draw) -> Arguments:
        sizes: dict[Any, int] = {}
        values: Arguments = {}
        for argument in self.result.arguments:
            symbol, name = argument.symbol, argument.name
            if not isinstance(symbol, Letter):
                values[name] = draw.scalar(name, 1 if argument.positive or name == "s" else 0)
                continue
            for size in (symbol.rows, symbol.cols):
                if size.is_Symbol:
                    sizes.setdefault(size, draw.rng.choice(SIZES))
            rows, cols = (int(size.subs(sizes)) for size in (symbol.rows, symbol.cols))
            matrix = draw.matrix(name, rows, cols, symbol.symmetric)
            if name == "phi":
                matrix = [[draw.cosine("") for _ in row] for row in matrix]
            values[name] = matrix
        return values

    def exact(self, arguments: Mapping[str, Any], digits: int) -> list[list[Any]]:
        exact = {a.symbol: floating(arguments[a.name], digits) for a in self.result.arguments}
        for description, inequality, blamed in self.function.domain:
            excess = evaluate(inequality.gts - inequality.lts, exact)
            strict = isinstance(inequality, sp.Gt | sp.Lt)
            if not (excess > 0 if strict else excess >= 0):
                raise Refused(f"{blamed} must be {description}")
        value = self.function.value
        parts = value if isinstance(value, tuple) else (value,)
        with mpmath.workdps(digits):
            outputs = []
            for part in parts:
                found = evaluate(part, exact)
                entries = flat(found.tolist()) if isinstance(found, sp.MatrixBase) else [found]
                outputs.append([number(entry, digits) for entry in entries])
        return outputs

    def numeric(self, arguments: Mapping[str, Any], check: bool) -> tuple[Any, ...]:
        given = {}
        for argument in self.result.arguments:
            array, symbol = arguments[argument.name], argument.symbol
            column = isinstance(symbol, Letter) and symbol.cols == 1
            given[argument.name] = array[..., 0] if column else array
        found = self.function(**given, check=check)
        parts = found if isinstance(found, tuple) else (found,)
        batch = len(next(iter(arguments.values())))
        return tuple(part.reshape(batch, -1) for part in parts)


@cache
def compiled_subjects(topic: str | None = None) -> tuple[Subject, ...]:
    """Every result that compiles and has arguments."""
    found: list[Subject] = []
    for result in results(topic) if topic else results():
        if result.value is None or not result.arguments:
            continue
        try:
            function = result.compiled
        except UnsupportedHead:  # an unspecified function of a theorem
            continue
        found.append(Words(result) if isinstance(function, CompiledWords) else Compiled(result))
    return tuple(found)


def fractions(value: Any) -> Any:
    return [fractions(x) for x in value] if isinstance(value, list) else Fraction(value)


def floating(value: Any, digits: int) -> Any:
    """Fractions as SymPy's numbers of so many digits: of rational ones, SymPy would look for the exact roots."""
    if isinstance(value, list):
        return [floating(x, digits) for x in value]
    number = sp.Rational(value.numerator, value.denominator)
    return number if number.is_Integer else sp.Float(number, digits)


def number(value: Any, digits: int) -> Any:
    """A SymPy number to so many digits, however many cancel on the way."""
    return mpmath.mpf(
        sp.sympify(value).evalf(digits + 5, maxn=10 * digits + 3000)._to_mpmath(mpmath.mp.prec + 15)
    )


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (list, tuple)) else [value]
