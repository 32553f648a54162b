"""Activation regions of bias-free networks in the plane, in exact arithmetic.

A neuron of the first layer changes its sign on a line through the origin. Between two neighbouring rays of these lines
the network is linear, so that a neuron of the next layer is a linear function there and changes its sign on at most
one more ray; and so on, layer after layer. So the plane falls into cones around the origin, found without rounding:
floats are the rational numbers that they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays import kinds
from symdyn.catalogue.implements import implements

Ray = tuple[int, int]
Row = tuple[Fraction, ...]
Layer = tuple[Row, ...]


@implements("piecewise_linear.activation_region")
@dataclass(frozen=True)
class Regions:
    """The cones of a partition of the plane, counterclockwise; cone i lies between rays[i] and rays[i + 1].

    rays: (m, 2) integers without common divisor, the boundaries.
    points: (m, 2) integers, one point inside each cone.
    patterns: (m, N) signs of the N hidden neurons in each cone, layer after layer: 1, -1, and 0 where a neuron of a
        deeper layer vanishes on the whole cone, which then is part of no activation region.
    changing: for each ray the neurons whose sign changes there.

    Regions are neighbours if they meet along a ray; a cone that is part of none of them has no neighbours.
    """

    rays: np.ndarray
    points: np.ndarray
    patterns: np.ndarray
    changing: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.rays)

    @property
    def in_a_region(self) -> np.ndarray:
        """(m,) whether each cone is an activation region: whether no neuron vanishes there."""
        return (self.patterns != 0).all(1)

    @property
    def parity(self) -> np.ndarray:
        """(m,) the number of active neurons of each cone, modulo 2."""
        return (self.patterns > 0).sum(1) % 2

    @property
    def parity_colours(self) -> bool:
        """Whether the parity of the number of active neurons is different in any two regions that are neighbours."""
        neighbours = self.in_a_region & np.roll(self.in_a_region, 1)
        return bool((self.parity != np.roll(self.parity, 1))[neighbours].all())


@implements(
    "piecewise_linear.activation_region", "piecewise_linear.pattern_count", "piecewise_linear.region_count"
)
def activation_regions(W: object, *deeper: object, gamma: object = 0) -> Regions:
    """The activation regions of a bias-free network with two inputs, exactly.

    For one hidden layer, f(x) = aᵀσ(Wx), these are the cones of the arrangement of the lines w_kᵀx = 0. Weights of
    deeper hidden layers may follow; σ(z) = max(z, γz).

    Args:
        W: weights (h, 2) of the first layer; no row may be zero.
        deeper: weights (h_l, h_{l-1}) of further hidden layers, the first of them next to W.
        gamma: slope of the activation on the negative side, 0 ≤ γ < 1; it matters for deeper layers only.
            Numbers may be integers, fractions, SymPy rationals or floats, which are taken for what they are exactly.

    Returns:
        `Regions`; every cone has an angle of at most π.

    Raises:
        ValueError: shapes that do not fit, numbers that are not finite, a zero row of W, γ out of its range.

    Source: kunin2024, App. C.1, Definition 16; result `piecewise_linear.partition`.

    >>> activation_regions([[1, 0], [1, 1], [-1, 0]]).rays.tolist()
    [[0, 1], [-1, 1], [0, -1], [1, -1]]
    """
    layers = [_layer(f"layer {number}", weights) for number, weights in enumerate((W, *deeper), start=1)]
    slope = _exact("gamma", gamma)
    if not 0 <= slope < 1:
        raise ValueError(f"gamma must be at least 0 and below 1; it is {gamma}")
    _check_shapes(layers)
    rays = _sorted(ray for row in layers[0] for ray in _line(row))
    for depth in range(1, len(layers)):
        inside = [ray for cone in _cones(rays) for ray in _zeros(cone, layers[: depth + 1], slope)]
        rays = _sorted((*rays, *inside))
    points = [_inside(*cone) for cone in _cones(rays)]
    patterns = np.array([_pattern(point, layers, slope) for point in points])
    changing = tuple(
        tuple(np.flatnonzero(here != before).tolist())
        for here, before in zip(patterns, np.roll(patterns, 1, axis=0), strict=True)
    )
    return Regions(np.array(rays, dtype=object), np.array(points, dtype=object), patterns, changing)


@implements("piecewise_linear.two_colours", "piecewise_linear.parity_rule")
def two_colouring(regions: Any, *deeper: object, gamma: object = 0) -> np.ndarray | None:
    """Two colours for the activation regions such that neighbours differ, or None where there are none.

    Around the origin the colours have to alternate: this is possible exactly if the number of regions is even or a cone
    that is part of none of them interrupts them. For one hidden layer it always is, two cones for each line. The
    colours are the parity of the number of active neurons wherever that rule works: where on every ray between two
    regions the signs of an odd number of neurons change.

    Args:
        regions, deeper, gamma: the arguments of `activation_regions`; or `Regions` alone, which know their network.

    Returns:
        (m,) zeros and ones, and -1 for cones that are part of no region; or None.

    Raises:
        ValueError: weights of further layers or gamma next to `Regions`, or as `activation_regions`.

    Source: kunin2024, App. C.1, Proposition 17; results `piecewise_linear.two_colours` and `parity_rule`.

    >>> two_colouring([[1, 0], [0, 1], [1, 1]])
    array([1, 0, 1, 0, 1, 0])
    >>> two_colouring([[1, 0], [0, 1]], [[1, -2]])
    array([ 1,  0,  1, -1,  0])
    """
    known = isinstance(regions, Regions)
    if known and (deeper or _exact("gamma", gamma) != 0):
        raise ValueError(
            "Regions have their layers and gamma already: give these to activation_regions, or here with the weights W"
        )
    found = regions if known else activation_regions(regions, *deeper, gamma=gamma)
    coloured = found.in_a_region
    if coloured.all() and len(found) % 2:
        return None
    colours = np.full(len(found), -1)
    for i in np.roll(np.arange(len(found)), -coloured.argmin()):
        if coloured[i]:
            colours[i] = 1 - colours[i - 1] if colours[i - 1] >= 0 else found.parity[i]
    return colours


def _exact(name: str, number: Any) -> Fraction:
    if hasattr(number, "p") and hasattr(number, "q"):
        return Fraction(int(number.p), int(number.q))
    if hasattr(number, "item"):
        array = kinds.exactly(name, number)
        if array.size != 1:
            raise ValueError(f"{name} must be one number here; its shape is {array.shape}")
        number = array.item()
    if isinstance(number, bool) or not isinstance(number, (int, float, Fraction)):
        raise ValueError(f"{name} must hold integers, fractions or floats, not {number!r}")
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"{name} must be finite; it holds {number}")
    return Fraction(number)


def _listed(values: Any) -> Any:
    """Arrays and tensors as lists."""
    return values.tolist() if hasattr(values, "tolist") else values


def _layer(name: str, weights: Any) -> Layer:
    kinds.refuse(name, weights)
    if arrays.is_tensor(weights) or not np.issubdtype(getattr(weights, "dtype", object), np.object_):
        arrays.collect(**{name: weights})
    listed = _listed(weights)
    rows = [_listed(row) for row in listed] if isinstance(listed, Sequence) else []
    if not rows or not all(isinstance(row, Sequence) and len(row) == len(rows[0]) > 0 for row in rows):
        raise ValueError(f"{name} must be a matrix, a row of weights for each neuron")
    return tuple(tuple(_exact(name, number) for number in row) for row in rows)


def _check_shapes(layers: list[Layer]) -> None:
    if len(layers[0][0]) != 2:
        raise ValueError(f"W must have 2 columns, for inputs in the plane; it has {len(layers[0][0])}")
    for number, (below, above) in enumerate(pairwise(layers), start=2):
        if len(above[0]) != len(below):
            raise ValueError(
                f"layer {number} takes {len(above[0])} inputs, but there are {len(below)} neurons below"
            )
    zero = [k for k, row in enumerate(layers[0]) if not any(row)]
    if zero:
        raise ValueError(f"W must not have zero rows, for they have no sign; row {zero[0]} is zero")


def _primitive(x: Fraction, y: Fraction) -> Ray:
    """The direction of (x, y) as integers without common divisor."""
    scale = math.lcm(x.denominator, y.denominator)
    p, q = int(x * scale), int(y * scale)
    divisor = math.gcd(p, q)
    return p // divisor, q // divisor


def _line(row: Row) -> tuple[Ray, Ray]:
    """The two rays on which a linear function vanishes."""
    x, y = _primitive(-row[1], row[0])
    return (x, y), (-x, -y)


def _cross(p: Ray, q: Ray) -> int:
    return p[0] * q[1] - p[1] * q[0]


def _sorted(rays: Iterable[Ray]) -> list[Ray]:
    """Different rays, counterclockwise from the positive first axis."""

    def lower(ray: Ray) -> bool:
        return ray[1] < 0 or (ray[1] == 0 and ray[0] < 0)

    def order(p: Ray, q: Ray) -> int:
        return lower(p) - lower(q) or -_cross(p, q)

    return sorted(set(rays), key=cmp_to_key(order))


def _cones(rays: list[Ray]) -> list[tuple[Ray, Ray]]:
    return list(zip(rays, rays[1:] + rays[:1], strict=True))


def _inside(first: Ray, last: Ray) -> Ray:
    """A point inside the cone, whose angle is at most π."""
    if _cross(first, last) == 0:
        return -first[1], first[0]
    return first[0] + last[0], first[1] + last[1]


def _functionals(point: Ray, layers: Sequence[Layer], slope: Fraction) -> list[list[Row]]:
    """The neurons of each layer as linear functions of the input, those of the cone in which the point lies."""
    found = [list(layers[0])]
    for layer in layers[1:]:
        active = [tuple((1 if _at(g, point) > 0 else slope) * e for e in g) for g in found[-1]]
        found.append(
            [tuple(sum(v * g[i] for v, g in zip(row, active, strict=True)) for i in (0, 1)) for row in layer]  # type: ignore[misc]  # of one term at least
        )
    return found


def _at(functional: Row, point: Ray) -> Fraction:
    return functional[0] * point[0] + functional[1] * point[1]


def _zeros(cone: tuple[Ray, Ray], layers: Sequence[Layer], slope: Fraction) -> list[Ray]:
    """The rays inside a cone on which a neuron of the last layer vanishes; the layers below have one sign there."""
    first, last = cone
    straight = _cross(first, last) == 0
    found = []
    for functional in _functionals(_inside(first, last), layers, slope)[-1]:
        for ray in _line(functional) if any(functional) else ():
            if _cross(first, ray) > 0 and (straight or _cross(ray, last) > 0):
                found.append(ray)
    return found


def _pattern(point: Ray, layers: Sequence[Layer], slope: Fraction) -> list[int]:
    values = [_at(g, point) for layer in _functionals(point, layers, slope) for g in layer]
    return [(value > 0) - (value < 0) for value in values]
