"""The plane (γ, γ′) of overall and relative scale at growing width h: its sides, and exponents in h at its points.

Weights of the standard deviations β_a and β_W start at the overall scale β_aβ_W = h^-γ and the relative scale β_a/β_W =
h^-γ′. The boundary is γ = max(1, 1 + γ′) (Kunin et al. 2024, section 5; Luo et al. 2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numerics.lab.claims import Measurement

Point = tuple[float, float]
SIDES = ("large", "downstream", "boundary", "rich")


def side(point: Point) -> str:
    """Where a point (γ, γ′) lies: "large" or "downstream" on the lazy side, "boundary" or "rich"."""
    gamma, gamma_prime = point
    if gamma < 1:
        return "large"
    if gamma_prime > gamma - 1:
        return "downstream"
    return "rich" if gamma > 1 and gamma_prime < gamma - 1 else "boundary"


def on_side(found: Mapping[Point, object], where: str) -> dict[Point, Any]:
    """What was found at the points of one side."""
    return {point: value for point, value in found.items() if side(point) == where}


def by_point(rows: Iterable[Measurement], name: str) -> dict[Point, list[float]]:
    """The values of ``name`` at every point, in the order of the rows."""
    found: dict[Point, list[float]] = {}
    for row in rows:
        found.setdefault(point_of(row), []).append(row.values[name])
    return found


def exponents(rows: Iterable[Measurement], name: str) -> dict[Point, list[float]]:
    """The slope of log ``name`` in log h at every point, by least squares: one exponent for each seed."""
    series: dict[Point, dict[int, list[tuple[float, float]]]] = {}
    for row in rows:
        values = series.setdefault(point_of(row), {}).setdefault(row.cell["seed"], [])
        values.append((math.log(row.cell["h"]), math.log(row.values[name])))
    return {point: [_slope(values) for values in seeds.values()] for point, seeds in series.items()}


def point_of(row: Measurement) -> Point:
    """The point (γ, γ′) of a measurement."""
    return row.cell["gamma"], row.cell["gamma_prime"]


def _slope(points: Sequence[tuple[float, float]]) -> float:
    mean_x, mean_y = (sum(column) / len(points) for column in zip(*points, strict=True))
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return covariance / sum((x - mean_x) ** 2 for x, _ in points)
