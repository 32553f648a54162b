"""Reference cases of evaluators: how arguments are drawn, and the values to many digits from the tied results.

    @case(crossing_time, draw=start)
    def _(a0, w0, beta_star, eta_a, eta_w):
        return [compiled("single_neuron.zero_crossing_time", …)]

The reference takes the drawn arguments as mpmath numbers, at a precision that is raised until it no longer matters, and
gives one list, number or matrix for each output of the evaluator. It calls none of the evaluator's own code: it stands
on the compiled result, on the statement of the result, or on the facts that define what the result states. Drawn values
that are no floats (a depth, a name) are handed on as they are. `examine` holds the evaluator to the accuracy contract.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from symdyn.calculus import gram
from symdyn.calculus.matrix import evaluate
from symdyn.calculus.matrix.transform import letters_of, symbols_of
from symdyn.catalogue.registry import load
from symdyn.compile import printers
from symdyn.compile.named import unfold
from symdyn.compile.words import CompiledWords
from tests.agreement.accuracy import DENSE, TOLERANCE, Truth, judge, truth
from tests.agreement.draws import DECADES, Draw
from tests.agreement.subjects import Arguments, Refused, Subject, flat, fractions

__all__ = [
    "CASES",
    "Case",
    "Examined",
    "Refused",
    "case",
    "compiled",
    "examine",
    "formula",
    "stated",
    "words",
]

CASES: dict[tuple[str, str], Case] = {}
"""The cases by the module and the name of the evaluator."""

PERTURBATION = 1e-9
"""The relative error that a case must refuse, unless its evaluator is documented to be less accurate."""


@dataclass(frozen=True)
class Case:
    """An evaluator, the way to draw its arguments, and their values to any number of digits.

    `call` gives the outputs of the evaluator as arrays, by default in the order in which it returns them. `scale` gives
    the natural scale of each output where that is not its norm. `discrete` answers must be equal. With `facts` the
    reference takes what the evaluator found as well, `found`, lists of exact numbers, and gives pairs of what should
    be zero and the scale of the numbers of which it is the difference. `tolerance` is that of the accuracy contract
    unless the evaluator documents another, and `perturbation` the relative error that must be refused. `mutants` are
    wrong evaluators, by what is wrong.
    """

    evaluator: Any
    draw: Callable[[Draw], Arguments]
    reference: Callable[..., Any]
    call: Callable[..., Any]
    scale: Callable[..., Sequence[Any]] | None = None
    draws: int = 24
    decades: float = DECADES
    discrete: bool = False
    facts: bool = False
    tolerance: float = TOLERANCE["float64"]
    perturbation: float = PERTURBATION
    mutants: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.evaluator.__module__, self.evaluator.__name__


def case(
    evaluator: Any,
    *,
    draw: Callable[[Draw], Arguments],
    call: Callable[..., Any] | None = None,
    returns: Any = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorated reference the case of the evaluator, and of the class that holds what it returns, if any."""

    def register(reference: Callable[..., Any]) -> Callable[..., Any]:
        made = Case(evaluator, draw, reference, call or evaluator, **options)
        for key in (made.key, *([(returns.__module__, returns.__name__)] if returns else ())):
            if key in CASES:
                raise ValueError(f"{'.'.join(key)} has two cases")
            CASES[key] = made
        return reference

    return register


@cache
def _kernel(key: str, digits: int) -> Any:
    program = load(key).compiled._program
    return printers.exact_kernel(program.source("mpmath"), program.graph, digits, key), program.names


def compiled(key: str, **arguments: Any) -> list[Any]:
    """The outputs of a compiled result at the precision at work, each a number or a list of its components."""
    result = load(key)
    if isinstance(result.compiled, CompiledWords):
        parts = (
            result.compiled.value if isinstance(result.compiled.value, tuple) else (result.compiled.value,)
        )
        return [words(part, **arguments) for part in parts]
    (context, kernel), names = _kernel(key, mpmath.mp.dps)

    def enter(x: Any) -> Any:
        return [enter(y) for y in x] if isinstance(x, list) else context.convert(mpmath.mpf(x))

    def leave(x: Any) -> Any:
        return [leave(y) for y in x] if isinstance(x, (list, tuple)) else mpmath.mpf(x)

    return [leave(output) for output in kernel(context, None, *(enter(arguments[name]) for name in names))]


@cache
def _formula(expression: sp.Expr) -> tuple[list[str], Any]:
    plain = unfold(expression)
    symbols = sorted(plain.free_symbols, key=lambda symbol: symbol.name)
    return [symbol.name for symbol in symbols], sp.lambdify(symbols, plain, "mpmath")


def formula(expression: sp.Expr, **arguments: Any) -> Any:
    """The value of a formula of scalars, taken from a statement, at the precision at work."""
    names, function = _formula(expression)
    return mpmath.mpf(function(*(arguments[name] for name in names)))


def stated(expression: Any, **arguments: Any) -> Any:
    """The value of a formula of scalars and vectors, taken from a statement: a number, or a list of components."""

    def exact(x: Any) -> Any:
        return [exact(y) for y in x] if isinstance(x, list) else sp.Float(x, mpmath.mp.dps + 5)

    symbols = {str(symbol): symbol for symbol in gram._atoms(expression, whole_dots=False)}
    values = {symbols[name]: exact(value) for name, value in arguments.items() if name in symbols}
    found = gram.evaluate(expression, values)
    return [_number(x) for x in found] if isinstance(found, list) else _number(found)


def words(expression: Any, sizes: Any = None, **arguments: Any) -> Any:
    """The value of an expression of matrices, taken from a result or a statement, as rows."""

    def exact(x: Any) -> Any:
        return [exact(y) for y in x] if isinstance(x, list) else sp.Float(x, mpmath.mp.dps + 5)

    letters = {letter.name: letter for letter in letters_of(expression)}
    names = {symbol.name: symbol for symbol in symbols_of(expression)}
    values = {(letters | names)[name]: exact(x) for name, x in arguments.items() if name in letters | names}
    found = evaluate(expression, values, sizes)
    if isinstance(found, sp.MatrixBase):
        return [[_number(x) for x in row] for row in found.tolist()]
    return _number(found)


def _number(value: Any) -> Any:
    return mpmath.mpf(sp.sympify(value).evalf(mpmath.mp.dps)._to_mpmath(mpmath.mp.prec + 15))


class _At(Subject):
    """A case with the drawn values that are no numbers."""

    def __init__(self, of: Case, fixed: Arguments) -> None:
        self.case, self.fixed = of, fixed

    def exact(self, arguments: Mapping[str, Any], digits: int) -> list[list[Any]]:
        with mpmath.workdps(digits):
            found = self.case.reference(
                **{name: _exactly(value) for name, value in arguments.items()}, **self.fixed
            )
            return [[mpmath.mpf(x) for x in _entries(output)] for output in found]


def _exactly(value: Any) -> Any:
    if isinstance(value, list):
        return [_exactly(x) for x in value]
    return mpmath.mpf(value.numerator) / value.denominator


def _entries(value: Any) -> list[Any]:
    """The numbers in a number, a list, or a matrix, row by row."""
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in _entries(part)]
    return flat(value.tolist()) if isinstance(value, mpmath.matrix) else [value]


@dataclass
class Point:
    """Drawn arguments, the exact values (None where there are none), and what the evaluator gave, or its refusal."""

    arguments: Arguments
    truth: Truth | None
    found: list[list[float]] | ValueError


@dataclass
class Examined:
    """What a case found at each of its draws."""

    case: Case
    points: list[Point]

    @property
    def outputs(self) -> int:
        """How many outputs the evaluator has."""
        return max(len(p.found) for p in self.points if not isinstance(p.found, ValueError))

    def faults(self, change: Callable[[list[list[float]]], list[list[float]]] | None = None) -> list[str]:
        """The draws at which the evaluator breaks the contract, after a change of what it gave, if there is one."""
        found = []
        for point in self.points:
            fault = self._fault(point, change)
            if fault:
                found.append(fault)
        return found

    def _fault(self, point: Point, change: Any) -> str:
        call = ", ".join(f"{name}={value!r}" for name, value in point.arguments.items())
        place = f"{'.'.join(self.case.key)}({call})"
        if point.truth is None:
            if change is None and not isinstance(point.found, ValueError):
                return f"{place} = {point.found}, which has no value"
            return ""
        if isinstance(point.found, ValueError):
            return f"{place} raises {point.found}, though it has a value" if change is None else ""
        values = change(point.found) if change else point.found
        if self.case.facts:
            return self._denied(point.arguments, values, place)
        true = point.truth
        sizes, right = ([len(output) for output in outputs] for outputs in (values, true.outputs))
        if sizes != right:
            return f"{place} has outputs of {sizes} components, right are {right}"
        excess = max(
            self._excess(x, y, scale, slack)
            for output, exact, slacks, scale in zip(
                values, true.outputs, true.slack, true.scales, strict=True
            )
            for x, y, slack in zip(output, exact, slacks, strict=True)
        )
        if excess <= 1:
            return ""
        shown = [[mpmath.nstr(x, 17) for x in output] for output in true.outputs]
        return f"{place} = {values}, right is {shown}: {excess:.1e} × the bound"

    def _denied(self, arguments: Arguments, values: list[list[float]], place: str) -> str:
        """What says against the values, by the facts that define them."""
        with mpmath.workdps(60):
            given = {n: _exactly(fractions(x)) if _is_numbers(x) else x for n, x in arguments.items()}
            found = [[mpmath.mpf(x) for x in output] for output in values]
            excess = mpmath.mpf(0)
            for rest, scale in self.case.reference(found=found, **given):
                size = max((abs(x) for x in _entries([rest])), default=mpmath.mpf(0))
                excess = max(excess, size / (self.case.tolerance * scale) if size else 0)
        return (
            f"{place} = {values} is {mpmath.nstr(excess, 2)} × the bound from the facts" if excess > 1 else ""
        )

    def _excess(self, found: float, true: Any, scale: Any, slack: Any) -> float:
        if self.case.discrete:
            return 0.0 if found == true else float("inf")
        widened = self.case.tolerance / TOLERANCE["float64"]
        return judge(found, true, scale * widened, slack * widened, "float64")

    def perturbed(self, output: int) -> list[str]:
        """The faults that are seen when every number of an output is off by a little."""

        def change(found: list[list[float]]) -> list[list[float]]:
            return [
                [x * (1 + self.case.perturbation) for x in o] if k == output else o
                for k, o in enumerate(found)
            ]

        return self.faults(change)

    def exchanged(self) -> list[str]:
        """The faults that are seen when every draw is given the answer to the next one of as many components."""
        answers = [p for p in self.points if p.truth is not None and not isinstance(p.found, ValueError)]
        turned = []
        for i, point in enumerate(answers):
            others = (answers[(i + k) % len(answers)] for k in range(1, len(answers)))
            sizes = [len(output) for output in point.found]
            other = next((o for o in others if [len(output) for output in o.found] == sizes), None)
            if other is not None:
                turned.append(Point(point.arguments, point.truth, other.found))
        return Examined(self.case, turned).faults(lambda found: found)

    def with_call(self, call: Callable[..., Any]) -> list[str]:
        """The faults of another evaluator at the draws of this one."""
        points = [Point(p.arguments, p.truth, _found(call, p.arguments)) for p in self.points if p.truth]
        return Examined(self.case, points).faults(lambda found: found)


def _found(call: Callable[..., Any], arguments: Arguments) -> list[list[float]] | ValueError:
    given = {name: np.array(value) if _is_numbers(value) else value for name, value in arguments.items()}
    try:
        found = call(**given)
    except ValueError as refusal:
        return refusal
    parts = found if isinstance(found, (tuple, list)) else (found,)
    return [np.asarray(part, dtype=float).ravel().tolist() for part in parts]


def _is_numbers(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, list) and len(value) > 0 and all(isinstance(x, float) for x in flat(value))
    )


@cache
def examine(of: tuple[str, str]) -> Examined:
    """Draw, compute and compare."""
    made = CASES[of]
    rng = random.Random("/".join(of))
    points = []
    for i in range(made.draws * DENSE):
        drawn = made.draw(Draw(rng, made.decades if i % 4 else min(made.decades, 1.5)))
        points.append(Point(drawn, _true(made, drawn), _found(made.call, drawn)))
    return Examined(made, points)


def _true(made: Case, drawn: Arguments) -> Truth | None:
    numbers = {name: value for name, value in drawn.items() if _is_numbers(value)}
    fixed = {name: value for name, value in drawn.items() if name not in numbers}
    at = _At(made, fixed)
    if made.facts:
        return Truth([], [], [])
    try:
        if made.discrete:
            return _answer(at, numbers)
        found = truth(at, numbers)
    except Refused:
        return None
    if made.scale is not None:
        with mpmath.workdps(60):
            given = {name: _exactly(fractions(value)) for name, value in numbers.items()}
            found.scales = [mpmath.mpf(x) for x in made.scale(found.outputs, **given, **fixed)]
    return found


def _answer(at: _At, numbers: Arguments) -> Truth:
    """The exact answer, which no conditioning excuses."""
    exact = {name: fractions(value) for name, value in numbers.items()}
    outputs, again = (at.exact(exact, digits) for digits in (400, 800))
    if outputs != again:
        raise ArithmeticError(f"400 digits do not settle the answer at {numbers}")
    return Truth(
        outputs, [[mpmath.mpf(0)] * len(output) for output in outputs], [mpmath.mpf(0)] * len(outputs)
    )


def rational(value: float) -> Fraction:
    """The number that a float is."""
    return Fraction(value)
