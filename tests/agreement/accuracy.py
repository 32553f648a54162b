"""The accuracy contract, held against every compiled result.

A `Subject` is a compiled result with the way to draw its arguments and its values to any number of digits. `examine`
draws arguments, computes, and counts:

    right      |error| <= TOLERANCE (s + sum_i |x_i dy/dx_i|), s the norm of the output
    refused    an error, or NaN, where there is no exact value either
    declined   a named error where there is an exact value, as for squares that overflow
    withheld   NaN of an unchecked call where there is an exact value
    wrong      anything else

Values that leave the normal numbers of the dtype count as right if they come out as 0 or inf, to within one bit of
the edge. The derivatives are differences at many digits; digits are added until they no longer matter.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from symdyn.calculus.matrix import Letter, evaluate
from symdyn.calculus.vectors import InnerProductSymbol, Vector
from symdyn.compile import UnsupportedHead, printers
from symdyn.compile.words import CompiledWords
from symdyn.registry import results

OUTCOMES = ("right", "refused", "declined", "withheld", "wrong")
TOLERANCE = {"float64": 1e-13, "float32": 1e-5}
DECADES = 12
DENSE = int(os.environ.get("SYMDYN_ACCURACY_DENSE", "1"))
"""How many times the ordinary number of draws: 1 in ordinary runs, 20 or more to hunt for what is wrong."""

FIRST_DIGITS, TRIES = 60, 4

SIZES = (1, 2, 3)
LENGTHS = (1, 2, 3, 5)
COSINES = ("phi", "phi0")

Arguments = dict[str, Any]  # floats, lists of floats, or lists of rows


class Refused(ValueError):
    """The arguments are outside the domain."""


class Undecided(ArithmeticError):
    """No number of digits that was tried settles the exact value."""


def _rounded(value: Any, dtype: str) -> Any:
    return np.asarray(value, dtype=dtype).astype(float).tolist()


# ---------------------------------------------------------------------------------------------------- drawing


@dataclass
class Draw:
    """Numbers on logarithmic grids, in float64; `big` names the one argument that is enormous or minute, if any."""

    rng: random.Random
    decades: float = DECADES
    big: str | None = None
    seen: list[float] = field(default_factory=list)

    def magnitude(self, name: str) -> float:
        if name == self.big:
            low, high = self.rng.choice(((150.0, 308.0), (-300.0, -150.0)))
            return float(10.0 ** self.rng.uniform(low, high))
        return float(10.0 ** self.rng.uniform(-self.decades, self.decades))

    def scalar(self, name: str, sign: int = 0) -> float:
        """A number of the sign, 0 for any; now and then 0, one drawn before, or one beside it."""
        kind = self.rng.random()
        if name != self.big and kind < 0.04 and sign == 0:
            return 0.0
        value = self.magnitude(name)
        if name != self.big and kind < 0.20 and self.seen:
            value = abs(self.rng.choice(self.seen))
            if kind < 0.12:
                value *= 1 + 10.0 ** self.rng.uniform(-16, -1) * self.rng.choice((-1, 1))
            if kind < 0.06:
                value *= self.rng.choice((2.0, 0.5, 4.0, 0.25))
        self.seen.append(value)
        return value * (sign or self.rng.choice((1, -1)))

    def cosine(self, name: str) -> float:
        """A cosine: minute, moderate, or beside ±1."""
        kind = self.rng.random()
        sign = self.rng.choice((1, -1))
        if name == self.big or kind < 0.3:
            return sign * float(10.0 ** self.rng.uniform(-300 if name == self.big else -self.decades, -0.01))
        if kind < 0.6:
            return sign * (1 - float(10.0 ** self.rng.uniform(-15, 0)))
        return sign * self.rng.random() if kind < 0.95 else self.rng.choice((0.0, 1.0, -1.0))

    def vector(self, name: str, length: int, others: Sequence[list[float]] = ()) -> list[float]:
        """A vector of a size on the grid: of entries alike or far apart, zero, or almost along another one."""
        kind, size = self.rng.random(), self.magnitude(name)
        if name != self.big and kind < 0.03:
            return [0.0] * length
        if others and 0.03 < kind < 0.25:
            other = self.rng.choice(others)
            longest = max(map(abs, other)) or 1.0
            tilt = self.rng.choice((0.0, float(10.0 ** self.rng.uniform(-16, 0))))
            sign = self.rng.choice((1, -1))
            return [sign * size * (x / longest + tilt * self.rng.gauss(0, 1)) for x in other]
        if kind < 0.35:  # one entry large, the others moderate, small or 0
            spread = [float(10.0 ** self.rng.uniform(-self.decades, self.decades)) for _ in range(length)]
            spread[self.rng.randrange(length)] = size
            return [x * self.rng.choice((1, -1, 1, -1, 0) if x != size else (1, -1)) for x in spread]
        return [size * self.rng.gauss(0, 1) for _ in range(length)]

    def matrix(self, name: str, rows: int, cols: int, symmetric: bool) -> list[list[float]]:
        size = self.magnitude(name)
        if self.rng.random() < 0.3:
            entries = [[self.scalar("") for _ in range(cols)] for _ in range(rows)]
        else:
            entries = [[size * self.rng.gauss(0, 1) for _ in range(cols)] for _ in range(rows)]
        if symmetric:
            entries = [[entries[max(i, j)][min(i, j)] for j in range(cols)] for i in range(rows)]
        return entries


# ---------------------------------------------------------------------------------------------------- subjects


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
        return [_flat(output) for output in kernel(context, None, *inputs)]

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
        exact = {a.symbol: _floating(arguments[a.name], digits) for a in self.result.arguments}
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
                entries = _flat(found.tolist()) if isinstance(found, sp.MatrixBase) else [found]
                outputs.append([_number(entry, digits) for entry in entries])
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


def compiled_subjects(topic: str | None = None) -> list[Subject]:
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
    return found


# ---------------------------------------------------------------------------------------------------- the truth


@dataclass
class Truth:
    """The components of every output, the slack sum_i |x_i dy/dx_i| of each, and the scale of each output."""

    outputs: list[list[Any]]
    slack: list[list[Any]]
    scales: list[Any]


def truth(subject: Subject, arguments: Arguments) -> Truth:
    """The exact values, with digits added until they no longer matter to the contract. Raises Refused."""
    # As many digits may cancel as the arguments are decades away from 1, all together: some of them more than once.
    numbers = [abs(x) for value in arguments.values() for x in _flat(value) if x]
    digits, last = FIRST_DIGITS + 40 * round(sum(abs(np.log10(x)) for x in numbers) / 20), None
    for _ in range(TRIES):
        found = _differences(subject, arguments, digits)
        if last is not None and _agree(last, found):
            return found
        last, digits = found, 2 * digits
    raise Undecided(f"{digits // 2} digits do not settle the value")


def _differences(subject: Subject, arguments: Arguments, digits: int) -> Truth:
    exact = {name: _fractions(value) for name, value in arguments.items()}
    outputs = subject.exact(exact, digits)
    step = Fraction(1, 2 ** int(digits * 1.1))  # a third of the digits
    with mpmath.workdps(digits):
        slack = [[mpmath.mpf(0) for _ in output] for output in outputs]
        for name in exact:
            for moved in _moved(exact[name], 1 + step):
                try:
                    others = subject.exact({**exact, name: moved}, digits)
                except Refused:  # the edge of the domain
                    back = next(iter(_matching(exact[name], moved, 1 - step)))
                    try:
                        others = subject.exact({**exact, name: back}, digits)
                    except Refused:
                        continue
                for total, output, other in zip(slack, outputs, others, strict=True):
                    for i, (x, y) in enumerate(zip(output, other, strict=True)):
                        if mpmath.isfinite(x) and mpmath.isfinite(y):
                            total[i] += abs(y - x) * step.denominator
        scales = [mpmath.norm([x for x in output if mpmath.isfinite(x)] or [0]) for output in outputs]
    return Truth(outputs, slack, scales)


def _moved(value: Any, factor: Fraction) -> Iterator[Any]:
    """The value with each of its numbers, but zeros, in turn multiplied by the factor."""
    if not isinstance(value, list):
        if value:
            yield value * factor
        return
    for i, part in enumerate(value):
        for moved in _moved(part, factor):
            yield [*value[:i], moved, *value[i + 1 :]]


def _matching(value: Any, moved: Any, factor: Fraction) -> Iterator[Any]:
    """The value with the number multiplied that is another in `moved`."""
    for plus, other in zip(_moved(value, Fraction(3, 2)), _moved(value, factor), strict=True):
        if [a == b for a, b in zip(_flat(plus), _flat(value), strict=True)] == [
            a == b for a, b in zip(_flat(moved), _flat(value), strict=True)
        ]:
            yield other


def _agree(old: Truth, new: Truth) -> bool:
    for k, scale in enumerate(new.scales):
        for x, y, slack in zip(old.outputs[k], new.outputs[k], new.slack[k], strict=True):
            if not mpmath.isfinite(y):
                if not (x == y or (mpmath.isnan(x) and mpmath.isnan(y))):
                    return False
            elif not abs(x - y) <= mpmath.mpf(10) ** -20 * (scale + slack):
                return False
    return True


def _fractions(value: Any) -> Any:
    return [_fractions(x) for x in value] if isinstance(value, list) else Fraction(value)


def _floating(value: Any, digits: int) -> Any:
    """Fractions as SymPy's numbers of so many digits: of rational ones, SymPy would look for the exact roots."""
    if isinstance(value, list):
        return [_floating(x, digits) for x in value]
    number = sp.Rational(value.numerator, value.denominator)
    return number if number.is_Integer else sp.Float(number, digits)


def _rational(value: Any) -> Any:
    if isinstance(value, list):
        return [_rational(x) for x in value]
    return sp.Rational(value.numerator, value.denominator)


def _number(value: Any, digits: int) -> Any:
    """A SymPy number to so many digits, however many cancel on the way."""
    return mpmath.mpf(
        sp.sympify(value).evalf(digits + 5, maxn=10 * digits + 3000)._to_mpmath(mpmath.mp.prec + 15)
    )


def _flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _flat(part)] if isinstance(value, (list, tuple)) else [value]


# ---------------------------------------------------------------------------------------------------- the verdict


@dataclass
class Fault:
    """A value that breaks the contract, in a shape that can be pasted into a call."""

    key: str
    how: str
    arguments: Arguments
    found: Any
    true: Any
    excess: float

    def __str__(self) -> str:
        call = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        excess = f"{self.excess:.1e} × the bound"
        return f"{self.key}({call}) [{self.how}] = {self.found}, right is {self.true}: {excess}"


@dataclass
class Report:
    """Counts by topic, and what was wrong."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def count(self, topic: str, what: str, number: int = 1) -> None:
        self.counts.setdefault(topic, Counter())[what] += number

    def table(self) -> str:
        rows = [f"{'topic':20}" + "".join(f"{what:>10}" for what in ("tried", *OUTCOMES))]
        for topic, count in sorted(self.counts.items()):
            numbers = "".join(f"{count[what]:>10}" for what in OUTCOMES)
            rows.append(f"{topic:20}{sum(count.values()):>10}{numbers}")
        return "\n".join(rows)

    def worst(self, most: int = 3) -> str:
        """For each function and way of computing, how many values are wrong and the worst of them."""
        by: dict[tuple[str, str], list[Fault]] = {}
        for fault in self.faults:
            by.setdefault((fault.key, fault.how), []).append(fault)
        lines = []
        for (key, how), faults in sorted(by.items()):
            faults.sort(key=lambda fault: -fault.excess)
            lines.append(f"{key} [{how}]: {len(faults)} wrong")
            lines += [f"    {fault}" for fault in faults[:most]]
        return "\n".join(lines)


def judge(found: float, true: Any, scale: Any, slack: Any, dtype: str) -> float:
    """The error in units of what the contract allows: at most 1 if right."""
    limits = np.finfo(dtype)
    tiny, most = mpmath.mpf(float(limits.tiny)), mpmath.mpf(float(limits.max))
    if mpmath.isnan(true):
        return 0.0 if found != found else float("inf")
    if mpmath.isinf(true):
        return 0.0 if found == float(true) else float("inf")
    if found != found:
        return float("inf")
    allowed = mpmath.mpf(TOLERANCE[dtype]) * (scale + slack) + tiny
    if abs(true) > most * (1 - mpmath.mpf(TOLERANCE[dtype])) - allowed:
        if np.isinf(found):
            return 0.0 if (found > 0) == (true > 0) else float("inf")
    elif np.isinf(found):
        return float("inf")
    return float(min(abs(mpmath.mpf(found) - true) / allowed, mpmath.mpf("1e300")))


def examine(
    subjects: Sequence[Subject],
    kind: str = "grid",
    dtypes: Sequence[str] = ("float64", "float32"),
    check: bool = True,
) -> Report:
    """Draw, compute and compare. kind: "grid" for logarithmic grids of every argument, "extreme" for one argument at
    a time near the ends of the range of float64. check: whether values are checked, as on eager calls.
    """
    report = Report()
    for subject in subjects:
        for dtype in dtypes if kind == "grid" else ("float64",):
            _examine(subject, kind, dtype, check, report)
    return report


def _cases(subject: Subject, kind: str, dtype: str) -> Iterator[Arguments]:
    rng = random.Random(f"{subject.key}/{kind}/{dtype}")
    if kind == "grid":
        for i in range(subject.draws * DENSE):
            # a share of the draws moderate, where more of the domain is met
            yield _narrowed(subject.draw(Draw(rng, DECADES if i % 4 else 1.5)), dtype)
        return
    for i in range(subject.extremes * DENSE):
        names = list(subject.names())
        yield _narrowed(subject.draw(Draw(rng, 1.0, names[i % len(names)])), dtype)


def _narrowed(arguments: Arguments, dtype: str) -> Arguments:
    return {name: _rounded(value, dtype) for name, value in arguments.items()}


def _normal(arguments: Arguments, dtype: str) -> bool:
    limits = np.finfo(dtype)
    return all(x == 0 or limits.tiny <= abs(x) <= limits.max for v in arguments.values() for x in _flat(v))


def _examine(subject: Subject, kind: str, dtype: str, check: bool, report: Report) -> None:
    cases = []
    for arguments in _cases(subject, kind, dtype):
        if not _normal(arguments, dtype):
            continue
        try:
            if isinstance(subject, Compiled):
                subject._admit({name: _fractions(value) for name, value in arguments.items()})
            cases.append((arguments, truth(subject, arguments)))
        except Refused:
            report.count(subject.topic, "refused")
        except Undecided as undecided:
            report.count(subject.topic, "wrong")
            report.faults.append(Fault(subject.key, f"{kind}, exact", arguments, None, str(undecided), 1.0))
    for backend in subject.backends:
        for found, (arguments, true) in zip(
            _computed(subject, cases, backend, dtype, check), cases, strict=True
        ):
            _compare(subject, f"{kind}, {backend}, {dtype}", arguments, found, true, dtype, check, report)


def _compare(
    subject: Subject,
    how: str,
    arguments: Arguments,
    found: Any,
    true: Truth,
    dtype: str,
    check: bool,
    report: Report,
) -> None:
    if isinstance(found, ValueError):
        report.count(subject.topic, "declined")
        return
    nothing = np.isnan(np.concatenate(found)).all()
    if nothing and all(mpmath.isnan(x) for output in true.outputs for x in output):
        report.count(subject.topic, "refused")
        return
    if nothing and not check:
        report.count(subject.topic, "withheld")
        return
    excess = max(
        judge(float(x), y, scale, slack, dtype)
        for output, exact, slacks, scale in zip(found, true.outputs, true.slack, true.scales, strict=True)
        for x, y, slack in zip(output, exact, slacks, strict=True)
    )
    if excess <= 1:
        report.count(subject.topic, "right")
        return
    report.count(subject.topic, "wrong")
    shown = [[mpmath.nstr(x, 17) for x in output] for output in true.outputs]
    report.faults.append(Fault(subject.key, how, arguments, [f.tolist() for f in found], shown, excess))


def _computed(subject: Subject, cases: Sequence[Any], backend: str, dtype: str, check: bool) -> Iterator[Any]:
    """The outputs of each case, computed in batches of one shape and, where one is refused, one by one."""
    answers: dict[int, Any] = {}
    groups: dict[Any, list[int]] = {}
    for i, (arguments, _) in enumerate(cases):
        groups.setdefault(tuple(np.shape(value) for value in arguments.values()), []).append(i)
    for members in groups.values():
        try:
            answers.update(_batch(subject, [cases[i][0] for i in members], members, backend, dtype, check))
        except ValueError:
            for i in members:
                try:
                    answers.update(_batch(subject, [cases[i][0]], [i], backend, dtype, check))
                except ValueError as refusal:
                    answers[i] = refusal
    yield from (answers[i] for i in range(len(cases)))


def _batch(
    subject: Subject, rows: list[Arguments], members: list[int], backend: str, dtype: str, check: bool
) -> dict[int, Any]:
    stacked = {name: np.array([row[name] for row in rows], dtype=dtype) for name in rows[0]}
    if backend == "torch":
        import torch

        outputs = subject.numeric({name: torch.as_tensor(array) for name, array in stacked.items()}, check)
        outputs = tuple(output.numpy() for output in outputs)
    else:
        outputs = subject.numeric(stacked, check)
    return {i: [output[k] for output in outputs] for k, i in enumerate(members)}
