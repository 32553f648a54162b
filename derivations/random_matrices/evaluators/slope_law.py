r"""The law of the squared slope φ'(√q z)² of an activation, and its moment transform up to the real axis.

    M(w) = E d/(w - d),    1 + M(w) = E w/(w - d),    U(w) = E log(w - d),    d = φ'(√q z)²,   z standard normal.

Pieces of z on which the slope is constant are atoms of the law. On the others the integral over z is taken along a
path beside the real axis, on the side on which Im d < 0: for w in the upper half-plane the poles d(z) = w lie on the
other side, and the path may be moved there (Cauchy). So a fixed rule with complex nodes d_j and weights c_j,

    M(w) = Σ c_j d_j/(w - d_j),

holds for all w with Im w ≥ 0, on the real axis as the limit from above. Between the places where d' = 0, at which the
path touches the axis, φ' is continued by interpolation, so that only its values on the axis are needed
(naitsaada2023, Sec. 3.1, where D² enters by S_{D²}).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from derivations.signal_propagation.evaluators.activations import Activation
from symdyn.catalogue.implements import implements

Array = Any
REACH = 10.0
"""Beyond so many standard deviations there are 2e-23 of the mass."""
_TILT = 0.6
"""The height of the path over the axis, by the distance from the end of a branch or the width of a panel."""
_FLAT = 1e-13
_IN_CACHE = 8_192
"""So many complex numbers at once stay in the second cache."""
_NOTHING = 1e-290
"""Squared slopes below count as zero."""
_WEIGHTY = 7.0
_GRADED, _DEEP = 11, 32
"""Halvings of the panel at the end of a branch where φ'' = 0, and where φ' = 0 or φ' bends."""
_CHEBYSHEV = 24
_GAUSS = 16


@implements("random_matrices.s_transform", "random_matrices.jacobian_s")
@dataclass(frozen=True)
class SlopeLaw:
    """The law of φ'(√q z)²: nodes and weights for its transforms, its atoms, and the ends of its continuous part.

    Attributes:
        nodes, weights: d_j and c_j, complex where the law is continuous; an atom at zero is not among them.
        zero: the mass of the atom at zero.
        atoms: {place: mass} of the others.
        pieces: the intervals (low, high) of d, one for each monotone branch, on which the law is continuous.
        thin: the least d with |z| < 7.9 if it is at an end: what is below has 3e-15 of the mass; else 0.
    """

    nodes: Array
    weights: Array
    zero: float
    atoms: dict[float, float]
    pieces: tuple[tuple[float, float], ...]
    thin: float = 0.0

    @property
    def highest(self) -> float:
        """The largest squared slope."""
        return max((*self.atoms, *(high for _, high in self.pieces)))

    def transforms(self, w: Array) -> tuple[Array, Array, Array]:
        """M(w), M(w) + P(d > 0) and M'(w) for w (...) in the closed upper half-plane, off the atoms."""
        w = np.asarray(w, dtype=np.complex128)
        flat = w.reshape(-1)
        first, other = np.empty((flat.size, 2), np.complex128), np.empty(flat.size, np.complex128)
        of_value = self.weights * self.nodes
        both = np.stack([of_value, self.weights], axis=-1)
        rows = max(1, _IN_CACHE // self.nodes.size)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for start in range(0, flat.size, rows):
                part = slice(start, start + rows)
                inverse = 1 / (flat[part, None] - self.nodes)
                first[part] = inverse @ both
                inverse *= inverse
                other[part] = inverse @ of_value
            value, positive = first[:, 0], flat * first[:, 1]
        return value.reshape(w.shape), positive.reshape(w.shape), -other.reshape(w.shape)

    def potential(self, w: Array) -> Array:
        """U(w) = E log(w - d) for w (...) in the closed upper half-plane, with an imaginary part from 0 to π."""
        w = np.asarray(w, dtype=np.complex128)
        gaps = w.reshape(-1)[:, None] - self.nodes
        found = upper_log(gaps) @ self.weights + self.zero * upper_log(w.reshape(-1))
        return found.reshape(w.shape)

    def moment(self, k: int) -> float:
        """μ_k = E φ'^{2k}."""
        return float((self.weights @ self.nodes**k).real)


def upper_log(w: Array) -> Array:
    """log w with an argument from -π/2 to 3π/2: continuous in and around the closed upper half-plane."""
    with np.errstate(divide="ignore"):
        return np.log(-1j * np.asarray(w)) + 0.5j * math.pi


@implements("random_matrices.s_transform", "random_matrices.jacobian_s")
def slope_law(phi: Activation, q: float, refine: int = 1) -> SlopeLaw:
    """The law of φ'(√q z)² for an activation and a length q > 0.

    Args:
        phi: an `Activation` that does not jump.
        q: the length of the pre-activations.
        refine: the rule has as many times the panels, to see what its error is.

    Returns:
        A `SlopeLaw`. Its transforms are good to about 1e-9 of themselves where the argument is close to the law.

    Raises:
        ValueError: a slope that is not settled by interpolation between its kinks.
    """
    root = math.sqrt(q)
    cuts = sorted({-REACH, *(k / root for k in phi.kinks if abs(k / root) < REACH), REACH})
    even = phi.parity != 0 and all(-c in cuts for c in cuts)
    nodes: list[Array] = []
    weights: list[Array] = []
    masses: dict[float, float] = {}
    pieces: list[tuple[float, float]] = []
    for low, high in itertools.pairwise(cuts):
        if even and high <= 0:
            continue
        start, factor = (0.0, 2.0) if even and low < 0 else (low, 2.0 if even else 1.0)
        place = _constant(phi, root, start, high)
        if place is not None:
            masses[place] = masses.get(place, 0.0) + factor * _mass(start, high, REACH)
            continue
        for piece in _branches(phi, root, start, high, refine):
            if isinstance(piece, tuple):
                place, mass = piece
                place = next((p for p in masses if abs(p - place) <= 1e-12 * place), place)
                masses[place] = masses.get(place, 0.0) + factor * mass
            else:
                nodes.append(piece.nodes)
                weights.append(factor * piece.weights)
                pieces.append(piece.ends)
    zero = masses.pop(0.0, 0.0)
    all_nodes = np.concatenate([*nodes, np.array(list(masses), dtype=np.complex128)])
    all_weights = np.concatenate([*weights, np.array(list(masses.values()), dtype=np.complex128)])
    thin = _thin(phi, root)
    if not pieces or any(place <= thin * (1 + 1e-9) for place in (*masses, *([0.0] if zero else []))):
        thin = 0.0  # what is least has a mass
    return SlopeLaw(all_nodes, all_weights, zero, masses, tuple(sorted(pieces)), thin)


def _thin(phi: Activation, root: float) -> float:
    d = phi.derivative(root * np.linspace(-7.9, 7.9, 4001)) ** 2
    return float(d.min()) if min(d[0], d[-1]) <= d.min() else 0.0


def _mass(low: float, high: float, reach: float) -> float:
    """P(low < z < high), where what is at the reach stands for infinity."""
    low, high = (math.copysign(math.inf, x) if abs(x) >= reach else x for x in (low, high))
    if low > 0:
        low, high = -high, -low
    return float(special.ndtr(high) - special.ndtr(low))


def _constant(phi: Activation, root: float, low: float, high: float) -> float | None:
    """d on a piece where it is the same everywhere, else None."""
    inside = low + (high - low) * np.array([1e-9, 0.02, 0.13, 0.3, 0.5, 0.71, 0.9, 0.99, 1 - 1e-9])
    d = phi.derivative(root * inside) ** 2
    return float(d[0]) if (np.abs(d - d[0]) <= 1e-15 * d[0]).all() else None


@dataclass(frozen=True)
class _Branch:
    nodes: Array
    weights: Array
    ends: tuple[float, float]


_AT = np.cos(np.pi * (np.arange(_CHEBYSHEV) + 0.5) / _CHEBYSHEV)
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(_AT, _CHEBYSHEV - 1))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_GAUSS)


class _Interpolant:
    """φ' on panels of the real axis, by polynomials that may be evaluated beside it: they fit three panels each."""

    def __init__(self, phi: Activation, root: float, low: float, high: float) -> None:
        self.phi, self.root = phi, root
        scale = 1 / max(root, 1.0)
        powers = scale * 2.0 ** np.arange(-2, 1 + math.ceil(math.log2(2 * REACH / scale)))
        points = np.array(
            [low, high, 0.0, *powers, *-powers, *np.arange(-REACH, REACH + 1, min(1.0, 2 / root))]
        )
        self.edges = np.unique(np.clip(points, low, high))
        self.edges = self.edges[np.concatenate([[True], np.diff(self.edges) > 1e-12])]
        self.edges[-1] = high
        for _ in range(9):
            middle = (self.edges[1:] + self.edges[:-1]) / 2
            width = self.edges[1:] - self.edges[:-1]
            left = np.maximum(self.edges[:-1] - width, low)
            right = np.minimum(self.edges[1:] + width, high)
            centre, half = (left + right) / 2, (right - left) / 2
            x = centre[:, None] + half[:, None] * _AT
            slopes = phi.derivative(root * x)
            self.coefficients = slopes @ _TO_COEFFICIENTS.T
            size = np.abs(slopes).max(-1)
            rough = np.abs(self.coefficients[:, -3:]).max(-1) > 3e-13 * size + 1e-15 * size.max()
            if not rough.any():
                break
            self.edges = np.sort(np.concatenate([self.edges, middle[rough]]))
        else:
            raise ValueError(
                f"the slope of {phi.name} is not smooth between its kinks: name the points at which it bends, "
                "Activation(…, kinks=(…))"
            )
        self.middle, self.half = centre, half

    def slope(self, z: Array, panel: Array) -> tuple[Array, Array]:
        """φ' and its derivative in z, at points z beside the given panels."""
        t = (z - self.middle[panel]) / self.half[panel]
        rows = self.coefficients[panel]
        before, now = np.zeros_like(t), np.ones_like(t)
        value, change = rows[..., 0] * now, np.zeros_like(t)
        d_before, d_now = np.zeros_like(t), np.zeros_like(t)
        following, d_following = t, np.ones_like(t)
        for k in range(1, _CHEBYSHEV):
            value = value + rows[..., k] * following
            change = change + rows[..., k] * d_following
            before, now = now, following
            d_before, d_now = d_now, d_following
            following = 2 * t * now - before
            d_following = 2 * now + 2 * t * d_now - d_before
        return value, change / self.half[panel]

    def panel(self, z: Array) -> Array:
        return np.clip(np.searchsorted(self.edges, z, "right") - 1, 0, len(self.half) - 1)


def _branches(phi: Activation, root: float, low: float, high: float, refine: int) -> list[Any]:
    """The monotone branches of d on a piece, and what is flat to rounding as (place, mass)."""
    f = _Interpolant(phi, root, low, high)
    turning = _turning_points(f)
    marks = np.unique(np.concatenate([[low], turning, [high]]))
    found: list[Any] = []
    for a, b in itertools.pairwise(marks):
        if b - a < 1e-11:
            continue
        found.extend(_branch(f, a, b, refine))
    return found


def _turning_points(f: _Interpolant) -> Array:
    """Where d' = 2φ'φ'' changes its sign, by bisection on the panels."""
    t = np.array([0.13, 0.38, 0.63, 0.88])
    inner = (f.edges[:-1, None] + np.diff(f.edges)[:, None] * t).ravel()
    x = np.concatenate([f.edges[:1], inner, f.edges[-1:]])

    def rise(x: Array) -> Array:
        value, change = f.slope(x, f.panel(x))
        return value * change

    at = rise(x)
    at = np.where(np.abs(at) <= 1e-13 * np.abs(at).max(), 0.0, at)
    sign = np.sign(at)
    k = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    low, high, left = x[k], x[k + 1], sign[k]
    for _ in range(55 if k.size else 0):
        middle = (low + high) / 2
        same = np.sign(rise(middle)) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


def _branch(f: _Interpolant, a: float, b: float, refine: int) -> list[Any]:
    """One branch: the path from a to b on the side where Im d < 0, without the ends that are flat to rounding."""
    vertices = _graded(f, a, b)
    d = f.slope(vertices, f.panel(vertices))[0] ** 2
    widths = np.diff(vertices)
    flat = (np.abs(np.diff(d)) <= _FLAT * np.maximum(d[1:], d[:-1])) & (widths > 0.05)
    flat |= np.maximum(d[1:], d[:-1]) <= _NOTHING
    if flat.all():
        return [(float(d[0]) if d[0] > _NOTHING else 0.0, _mass(a, b, REACH))]
    start, stop = np.flatnonzero(~flat)[0], len(flat) - np.flatnonzero(~flat[::-1])[0]
    found: list[Any] = []
    for k in (*range(start), *range(stop, len(flat))):
        place = float(d[k]) if d[k] > _NOTHING else 0.0
        found.append((place, _mass(vertices[k], vertices[k + 1], REACH)))
    vertices, d = vertices[start : stop + 1], d[start : stop + 1]
    distance = np.minimum(vertices - vertices[0], vertices[-1] - vertices)
    widths = np.diff(vertices)
    local = np.minimum(np.append(widths, widths[-1]), np.append(widths[:1], widths))
    up = -1.0 if d[-1] > d[0] else 1.0
    height = _TILT * np.minimum(distance, local)
    if refine > 1:
        steps = np.linspace(0, 1, refine, endpoint=False)
        finer = np.append((vertices[:-1, None] + widths[:, None] * steps).ravel(), vertices[-1])
        height, vertices = np.interp(finer, vertices, height), finer
    panel = f.panel((vertices[1:] + vertices[:-1]) / 2)[:, None]
    for _ in range(40):
        corners = vertices + 1j * up * height
        half, middle = np.diff(corners)[:, None] / 2, (corners[1:] + corners[:-1])[:, None] / 2
        z = middle + half * _NODES
        values = f.slope(z, np.broadcast_to(panel, z.shape))[0] ** 2
        wrong = (values.imag > 0).any(-1)
        if not wrong.any():
            break
        height = np.where(np.append(wrong, False) | np.append(False, wrong), height / 2, height)
    weights = half * _WEIGHTS * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    low, high = sorted((_beyond(f, vertices[0], d[0]), _beyond(f, vertices[-1], d[-1])))
    return [*found, _Branch(values.ravel(), weights.ravel(), (low if low > 1e-24 * high else 0.0, high))]


def _beyond(f: _Interpolant, z: float, d: float) -> float:
    """d at the end z of a branch: at a place that stands for infinity its limit there, if it has one."""
    if abs(z) < REACH:
        return float(d)
    far = f.phi.derivative(f.root * z * 2.0 ** np.arange(1, 13)) ** 2
    steady = np.isfinite(far).all() and abs(far[-1] - far[-2]) <= 1e-9 * abs(far[-1])
    return float(far[-1]) if steady else float(d)


def _graded(f: _Interpolant, a: float, b: float) -> Array:
    """Points of a branch, closer towards its ends and where log d changes fast."""
    inner = f.edges[(f.edges > a) & (f.edges < b)]
    found = np.unique(np.concatenate([[a], inner, [b]]))
    left, right = found[1] - a, b - found[-2]
    value, change = f.slope(found, f.panel(found))
    levels = []
    for end in (0, -1):
        bent = abs(change[end]) > 1e-6 * np.abs(change).max()  # a kink, or a zero of the slope
        levels.append(0 if abs(found[end]) >= REACH else _DEEP if bent else _GRADED)
    from_a, from_b = (2.0 ** -np.arange(1, n + 1) for n in levels)
    found = np.unique(np.concatenate([found, a + left * from_a, b - right * from_b]))
    for _ in range(6):
        value, change = f.slope(found, f.panel(found))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(value**2 > _NOTHING, np.abs(value / change), math.inf)
        distance = np.minimum(found - a, b - found)
        allowed = np.maximum(scale, distance)  # near a zero of the slope it is the distance that counts
        widths = np.diff(found)
        middle = (found[1:] + found[:-1]) / 2
        wide = (widths > np.minimum(allowed[1:], allowed[:-1])) & (np.abs(middle) < _WEIGHTY)
        if not wide.any():
            break
        found = np.sort(np.concatenate([found, middle[wide]]))
    return found


__all__ = ["SlopeLaw", "slope_law", "upper_log"]
