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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np

from tests.agreement.draws import DECADES, Draw
from tests.agreement.subjects import Arguments, Compiled, Refused, Subject, compiled_subjects, flat, fractions

__all__ = ["Report", "Truth", "cases", "compiled_subjects", "examine", "truth"]

OUTCOMES = ("right", "refused", "declined", "withheld", "wrong")
TOLERANCE = {"float64": 1e-13, "float32": 1e-5}
DENSE = int(os.environ.get("SYMDYN_ACCURACY_DENSE", "1"))
"""How many times the ordinary number of draws: 1 in ordinary runs, 20 or more to hunt for what is wrong."""

FIRST_DIGITS, TRIES = 60, 4


class Undecided(ArithmeticError):
    """No number of digits that was tried settles the exact value."""


@dataclass
class Truth:
    """The components of every output, the slack sum_i |x_i dy/dx_i| of each, and the scale of each output."""

    outputs: list[list[Any]]
    slack: list[list[Any]]
    scales: list[Any]


def truth(subject: Subject, arguments: Arguments) -> Truth:
    """The exact values, with digits added until they no longer matter to the contract. Raises Refused."""
    # As many digits may cancel as the arguments are decades away from 1, all together: some of them more than once.
    numbers = [abs(x) for value in arguments.values() for x in flat(value) if x]
    digits, last = FIRST_DIGITS + 40 * round(sum(abs(np.log10(x)) for x in numbers) / 20), None
    for _ in range(TRIES):
        found = _differences(subject, arguments, digits)
        if last is not None and _agree(last, found):
            return found
        last, digits = found, 2 * digits
    raise Undecided(f"{digits // 2} digits do not settle the value")


def _differences(subject: Subject, arguments: Arguments, digits: int) -> Truth:
    exact = {name: fractions(value) for name, value in arguments.items()}
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
        if [a == b for a, b in zip(flat(plus), flat(value), strict=True)] == [
            a == b for a, b in zip(flat(moved), flat(value), strict=True)
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


def _rounded(value: Any, dtype: str) -> Any:
    return np.asarray(value, dtype=dtype).astype(float).tolist()


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


def cases(subject: Subject, kind: str, dtype: str) -> Iterator[Arguments]:
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
    return all(x == 0 or limits.tiny <= abs(x) <= limits.max for v in arguments.values() for x in flat(v))


@cache
def _drawn(subject: Subject, kind: str, dtype: str) -> list[tuple[Arguments, Truth | Exception]]:
    """What is drawn of normal numbers, with the exact values or why there are none."""
    found: list[tuple[Arguments, Truth | Exception]] = []
    for arguments in cases(subject, kind, dtype):
        if not _normal(arguments, dtype):
            continue
        try:
            if isinstance(subject, Compiled):
                subject._admit({name: fractions(value) for name, value in arguments.items()})
            found.append((arguments, truth(subject, arguments)))
        except (Refused, Undecided) as obstacle:
            found.append((arguments, obstacle))
    return found


def _examine(subject: Subject, kind: str, dtype: str, check: bool, report: Report) -> None:
    drawn = []
    for arguments, true in _drawn(subject, kind, dtype):
        if isinstance(true, Refused):
            report.count(subject.topic, "refused")
        elif isinstance(true, Undecided):
            report.count(subject.topic, "wrong")
            report.faults.append(Fault(subject.key, f"{kind}, exact", arguments, None, str(true), 1.0))
        else:
            drawn.append((arguments, true))
    for backend in subject.backends:
        for found, (arguments, true) in zip(
            _computed(subject, drawn, backend, dtype, check), drawn, strict=True
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


def _computed(subject: Subject, drawn: Sequence[Any], backend: str, dtype: str, check: bool) -> Iterator[Any]:
    """The outputs of each case, computed in batches of one shape and, where one is refused, one by one."""
    answers: dict[int, Any] = {}
    groups: dict[Any, list[int]] = {}
    for i, (arguments, _) in enumerate(drawn):
        groups.setdefault(tuple(np.shape(value) for value in arguments.values()), []).append(i)
    for members in groups.values():
        try:
            answers.update(_batch(subject, [drawn[i][0] for i in members], members, backend, dtype, check))
        except ValueError:
            for i in members:
                try:
                    answers.update(_batch(subject, [drawn[i][0]], [i], backend, dtype, check))
                except ValueError as refusal:
                    answers[i] = refusal
    yield from (answers[i] for i in range(len(drawn)))


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
