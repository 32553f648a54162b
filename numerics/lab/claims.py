"""Claims: what a figure says, as measured statements fixed in advance, each with its test and its result.

A study's ``claims`` function sees measurements only, never figures or networks, so that anyone can recompute
the claims from the numbers that were stored. This module needs nothing beyond the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

ABOUT = ("paper", "check", "own")


@dataclass(frozen=True)
class Claim:
    """One measured statement.

    ``estimate`` is compared with ``threshold`` by ``relation`` ("at most", "at least" or "between");
    ``stderr`` is the standard error of the estimate where it has one. ``about`` says whom the claim belongs
    to: "paper" for what the source states, "check" for what must be true for the measurement to count (the
    solver resolved the flow, say), "own" for statements of this project.
    """

    name: str
    statement: str
    about: str
    estimate: float
    relation: str
    threshold: float | tuple[float, float]
    holds: bool
    stderr: float | None = None

    def __post_init__(self) -> None:
        if self.about not in ABOUT:
            raise ValueError(f"claim {self.name}: about is one of {', '.join(ABOUT)}, not {self.about!r}")

    def as_dict(self) -> dict[str, object]:
        """The claim as plain JSON values, with None for each number that is not finite."""
        bounds = self.threshold
        return asdict(self) | {
            "estimate": _finite(self.estimate),
            "threshold": [_finite(bound) for bound in bounds]
            if isinstance(bounds, tuple)
            else _finite(bounds),
            "stderr": None if self.stderr is None else _finite(self.stderr),
        }


def at_most(name: str, statement: str, estimate: float, threshold: float, *, about: str = "paper") -> Claim:
    """The claim that a measured number is at most ``threshold``. A NaN never holds."""
    estimate, threshold = _numbers(estimate=estimate, threshold=threshold)
    return Claim(
        name, statement, about, float(estimate), "at most", float(threshold), bool(estimate <= threshold)
    )


def at_least(name: str, statement: str, estimate: float, threshold: float, *, about: str = "paper") -> Claim:
    """The claim that a measured number is at least ``threshold``. A NaN never holds."""
    estimate, threshold = _numbers(estimate=estimate, threshold=threshold)
    return Claim(
        name, statement, about, float(estimate), "at least", float(threshold), bool(estimate >= threshold)
    )


def between(
    name: str,
    statement: str,
    estimate: float,
    low: float,
    high: float,
    *,
    stderr: float | None = None,
    max_stderr: float = math.inf,
    about: str = "paper",
) -> Claim:
    """The claim that low ≤ estimate ≤ high, known to within a standard error of at most ``max_stderr``."""
    estimate, low, high = _numbers(estimate=estimate, low=low, high=high)
    sharp = stderr is None or stderr <= max_stderr
    holds = bool(low <= estimate <= high) and sharp
    return Claim(name, statement, about, float(estimate), "between", (float(low), float(high)), holds, stderr)


# The 0.975 quantile of Student's t for 1, 2, … degrees of freedom; beyond the table, the last one (too wide).
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip


def mean_and_stderr(samples: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error of independent samples; NaN without any, an infinite error for a single one."""
    samples = _floats("samples", samples)
    if not samples:
        return math.nan, math.nan
    average = math.fsum(samples) / len(samples)
    if len(samples) == 1:
        return average, math.inf
    variance = math.fsum((value - average) ** 2 for value in samples) / (len(samples) - 1)
    return average, math.sqrt(variance / len(samples))


def mean(samples: Sequence[float]) -> float:
    """The mean of samples, NaN without any."""
    return mean_and_stderr(samples)[0]


def mean_at_least(
    name: str, statement: str, samples: Sequence[float], threshold: float, *, about: str = "paper"
) -> Claim:
    """The claim that a mean is at least ``threshold``: the two-sided 95 % t interval lies above it."""
    average, stderr = mean_and_stderr(samples)
    (threshold,) = _numbers(threshold=threshold)
    holds = bool(average - _reach(samples) * stderr >= threshold)
    return Claim(name, statement, about, average, "at least, 95 %", float(threshold), holds, _finite(stderr))


def mean_at_most(
    name: str, statement: str, samples: Sequence[float], threshold: float, *, about: str = "paper"
) -> Claim:
    """The claim that a mean is at most ``threshold``: the two-sided 95 % t interval lies below it."""
    average, stderr = mean_and_stderr(samples)
    (threshold,) = _numbers(threshold=threshold)
    holds = bool(average + _reach(samples) * stderr <= threshold)
    return Claim(name, statement, about, average, "at most, 95 %", float(threshold), holds, _finite(stderr))


def _reach(samples: Sequence[float]) -> float:
    return _T[min(max(len(samples) - 1, 1), len(_T)) - 1]


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def differences(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """a − b of samples in pairs. Raises ValueError if there is not a partner for each."""
    return [a - b for a, b in _pairs(first, second)]


def ratios(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """a / b of samples in pairs. Raises ValueError if there is not a partner for each."""
    return [a / b for a, b in _pairs(first, second)]


def relative_deviations(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """|a/b − 1| of samples in pairs, infinite where one of them is NaN or b = 0."""
    return [
        math.inf if math.isnan(a) or math.isnan(b) or b == 0 else abs(a / b - 1)
        for a, b in _pairs(first, second)
    ]


def _numbers(**values: float) -> list[float]:
    """Numbers as Python numbers, each by the same rule. Raises ValueError for more than one in a name."""
    found = []
    for name, value in values.items():
        if type(value) not in (float, int):
            from numerics.measures.arrays import doubles

            (array,) = doubles(**{name: value})
            if array.shape:
                raise ValueError(f"{name} must be one number: it is an array of shape {array.shape}")
            value = float(array)
        found.append(value)
    return found


def _pairs(first: Sequence[float], second: Sequence[float]) -> Iterator[tuple[float, float]]:
    return zip(_floats("first", first), _floats("second", second), strict=True)


def _floats(name: str, samples: Sequence[float]) -> Sequence[float]:
    """Samples as Python numbers: those of an array by the rule of ``numerics.measures.arrays``."""
    if type(samples) in (list, tuple) and set(map(type, samples)) <= {float, int}:
        return samples
    from numerics.measures.arrays import doubles

    return doubles(**{name: samples})[0].tolist()


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation of two sequences of one length; NaN if a value is NaN.

    Raises ValueError for fewer than two values and for ties.
    """
    first, second = _floats("first", first), _floats("second", second)
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(
            f"two sequences of one length, 2 or more, are needed: got {len(first)} and {len(second)}"
        )
    if any(math.isnan(value) for value in (*first, *second)):
        return math.nan
    if any(len(set(values)) < len(values) for values in (first, second)):
        raise ValueError("ranks need values without ties")
    ranks = [[sorted(values).index(value) for value in values] for values in (first, second)]
    n = len(first)
    return 1 - 6 * sum((a - b) ** 2 for a, b in zip(*ranks, strict=True)) / (n * (n * n - 1))


@dataclass(frozen=True)
class Measurement:
    """What was measured in one cell of a study: labelled coordinates and the numbers found there."""

    cell: Mapping[str, Any]
    values: Mapping[str, Any]


class Measurements(Sequence[Measurement]):
    """The measurements of a study, cell by cell, in the order of its grid."""

    def __init__(self, rows: Sequence[Measurement]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Measurement: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Measurement, ...]: ...

    def __getitem__(self, index: int | slice) -> Measurement | tuple[Measurement, ...]:
        return self._rows[index]

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self._rows)

    def where(self, **coordinates: object) -> Measurements:
        """The cells with the given coordinates. Raises KeyError if there is none."""
        rows = [row for row in self._rows if all(row.cell.get(k) == v for k, v in coordinates.items())]
        if not rows:
            raise KeyError(f"no cell has the coordinates {coordinates}")
        return Measurements(rows)

    def values(self, name: str) -> list[Any]:
        """One measured number, or list of numbers, of every cell, NaN where it was absent."""
        return [math.nan if row.values[name] is None else row.values[name] for row in self._rows]

    def coordinates(self, name: str) -> list[Any]:
        """One coordinate of every cell."""
        return [row.cell[name] for row in self._rows]

    def distinct(self, name: str) -> list[Any]:
        """The different values of a coordinate, in the order of the grid."""
        return list(dict.fromkeys(self.coordinates(name)))

    def value(self, name: str, **coordinates: object) -> Any:
        """One measured number, or list of numbers, of the one cell with the given coordinates."""
        rows = self.where(**coordinates)
        if len(rows) > 1:
            raise KeyError(f"{len(rows)} cells have the coordinates {coordinates}")
        return rows.values(name)[0]
