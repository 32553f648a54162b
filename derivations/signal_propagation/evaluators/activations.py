r"""Activations: the function, its slope, where it bends, and closed forms of its Gaussian means.

    activation("tanh"), activation("leaky_relu", slope=0.1), activation(torch.nn.functional.silu)

An `Activation` says of which class it is. *Smooth*: all that is said of derivatives holds. *Kinked*: φ is continuous
and its slope jumps at the listed points; χ is still the slope of the correlation map. *Jumping*: φ itself jumps; χ
says nothing of the correlation map, and functions that need it refuse.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from symdyn.arrays import backends as arrays
from symdyn.catalogue.implements import implements

Array = Any
Function = Callable[[Array], Array]
KINDS = ("smooth", "kinked", "jumping")
ROOT_2 = math.sqrt(2.0)


@dataclass(frozen=True)
class ClosedForms:
    """Gaussian means of one activation in closed form, for u and u' of variance q with the correlation c = 1 - g.

    square(q) = E φ(u)², square_slope its derivative, slopes(q, k) = E φ'(u)^{2k}, pair(q, c) = E φ(u)φ(u'), gap(q, g) =
    E φ(u)² - E φ(u)φ(u'), pair_slopes(q, c) = E φ'(u)φ'(u').
    """

    square: Callable[[Array], Array]
    square_slope: Callable[[Array], Array]
    slopes: Callable[[Array, int], Array]
    pair: Callable[[Array, Array], Array]
    gap: Callable[[Array, Array], Array]
    pair_slopes: Callable[[Array, Array], Array]


@implements("signal_propagation.chi_as_mean")
@dataclass(frozen=True)
class Activation:
    """An activation φ of one real variable, for arrays of float64.

    Args:
        name: what it is called.
        function, derivative: φ and φ' of an array, of the same shape.
        kinks: where φ' (or φ, if jumping) is not continuous.
        parity: -1 for an odd, 1 for an even function, 0 for neither.
        kind: "smooth", "kinked" or "jumping".
        closed: closed forms of its means, or None: then they are computed by quadrature.
    """

    name: str
    function: Function
    derivative: Function
    kinks: tuple[float, ...] = ()
    parity: int = 0
    kind: str = "smooth"
    closed: ClosedForms | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"the kind of an activation is one of {', '.join(KINDS)}, not '{self.kind}'")
        if self.parity not in (-1, 0, 1):
            raise ValueError(f"parity is -1 (odd), 1 (even) or 0, not {self.parity}")
        if self.kind != "smooth" and not self.kinks:
            raise ValueError(f"say at which points {self.name} is {self.kind}: kinks=(0.0,)")

    def __call__(self, x: Array) -> Array:
        return self.function(x)

    def __repr__(self) -> str:
        return f"Activation('{self.name}')"


@implements("signal_propagation.chi_as_mean")
def activation(phi: Any, slope: float | None = None) -> Activation:
    """The activation that a name, an Activation or a torch callable stands for.

    Args:
        phi: one of "linear", "relu", "leaky_relu", "erf", "hard_tanh", "sin", "tanh", "gelu"; an `Activation`; or a
            function of a torch tensor that acts entry by entry, which is differentiated by autograd and taken as
            smooth.
        slope: the slope of "leaky_relu" below zero, 0.01 if left out.

    Raises:
        ValueError: an unknown name, or a callable that returns another shape, NaN or infinity, or depends on the
            neighbours of an entry.
        TypeError: anything else.

    >>> activation("erf").kind, activation("relu").kinks
    ('smooth', (0.0,))
    """
    if isinstance(phi, Activation):
        return phi
    if isinstance(phi, str):
        if phi == "leaky_relu":
            return leaky_relu(0.01 if slope is None else slope)
        if slope is not None:
            raise ValueError(f"slope is that of leaky_relu; {phi} has none")
        if phi not in NAMED:
            raise ValueError(
                f"unknown activation '{phi}'; {', '.join([*NAMED, 'leaky_relu'])} have names, and any function of "
                "a torch tensor or Activation may be given"
            )
        return NAMED[phi]
    if callable(phi):
        return _of_torch(phi)
    raise TypeError(f"phi is a name, an Activation or a function of a torch tensor, not {phi!r}")


_PROBE = (-3.25, -1.0, -0.375, 0.0, 0.375, 1.0, 3.25)


def _of_torch(phi: Any) -> Activation:
    torch = arrays.loaded_torch()
    name = getattr(phi, "__name__", type(phi).__name__)
    if torch is None:
        raise TypeError(
            f"{name} is no name or Activation; a function of torch tensors needs torch to be imported"
        )

    def function(x: Array) -> Array:
        with torch.no_grad():
            return _seen(phi(torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float64)), x, name)

    def derivative(x: Array) -> Array:
        with torch.enable_grad():
            at = torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float64).requires_grad_(True)
            value = phi(at)
            if not getattr(value, "requires_grad", False):
                return np.zeros_like(x)
            (found,) = torch.autograd.grad(value.sum(), at)
        return _seen(found, x, f"the derivative of {name}")

    probe = np.array(_PROBE)
    together = function(probe)
    alone = np.array([float(function(np.array([x]))[0]) for x in probe])
    if not np.allclose(together, alone, rtol=1e-12, atol=1e-300):
        raise ValueError(f"{name} does not act entry by entry: its value at a point depends on the others")
    odd, even = np.array_equal(together, -together[::-1]), np.array_equal(together, together[::-1])
    return Activation(name, function, derivative, parity=-1 if odd else 1 if even else 0)


def _seen(value: Any, x: Array, name: str) -> Array:
    """The values of a function of torch tensors. Raises ValueError for another shape and for what is not finite."""
    found = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
    if found.shape != np.shape(x):
        raise ValueError(f"{name} returns the shape {found.shape} for an array of shape {np.shape(x)}")
    if not np.isfinite(found).all():
        at = np.asarray(x)[~np.isfinite(found)].flat[0]
        raise ValueError(f"{name} is not finite at {at}: its Gaussian means are not known")
    return found.astype(np.float64, copy=False)


def _theta(c: Array) -> Array:
    return np.arccos(np.clip(c, -1.0, 1.0))


def _sine_minus(theta: Array) -> Array:
    """sin θ - θ cos θ, by its series below 1/2."""
    small = np.minimum(theta, 0.5)
    series = sum((-1) ** k * (2 * k + 2) / math.factorial(2 * k + 3) * small ** (2 * k + 3) for k in range(9))
    return np.where(theta < 0.5, series, np.sin(theta) - theta * np.cos(theta))


def _relu_gap(q: Array, g: Array) -> Array:
    theta = 2 * np.arcsin(np.sqrt(np.clip(g, 0.0, 2.0) / 2))
    return q * (g / 2 - _sine_minus(theta) / (2 * math.pi))


def _relu_pair(q: Array, c: Array) -> Array:
    theta = _theta(c)
    return q / (2 * math.pi) * _sine_minus_reflected(theta)


def _sine_minus_reflected(theta: Array) -> Array:
    """sin θ + (π - θ)cos θ, without cancellation near θ = π."""
    return _sine_minus(math.pi - theta)


def _relu_pair_slopes(q: Array, c: Array) -> Array:
    return (math.pi - _theta(c)) / (2 * math.pi) + 0 * q


def leaky_relu(slope: float) -> Activation:
    """max(x, 0) + slope·min(x, 0). Raises ValueError for a slope that is no finite number."""
    a = float(slope)
    if not math.isfinite(a):
        raise ValueError(f"the slope of leaky_relu is a finite number, not {slope}")
    b = 1 - a
    closed = ClosedForms(
        lambda q: q * (1 + a * a) / 2,
        lambda q: (1 + a * a) / 2 + 0 * q,
        lambda q, k: (1 + a ** (2 * k)) / 2 + 0 * q,
        lambda q, c: a * q * c + b * b * _relu_pair(q, c),
        lambda q, g: a * q * g + b * b * _relu_gap(q, g),
        lambda q, c: a + b * b * _relu_pair_slopes(q, c),
    )
    name = "relu" if a == 0 else "linear" if a == 1 else f"leaky_relu({a:g})"
    kinks, kind = ((), "smooth") if a == 1 else ((0.0,), "kinked")
    parity = -1 if a == 1 else 1 if a == -1 else 0
    return Activation(
        name,
        lambda x: np.where(x > 0, x, a * x),
        lambda x: np.where(x > 0, 1.0, a) + 0 * x,
        kinks,
        parity,
        kind,
        closed,
    )


def _erf_gap(q: Array, g: Array) -> Array:
    """(2/π)(arcsin A - arcsin A c), as the angle between, with A = 2q/(1 + 2q)."""
    a = 2 * q / (1 + 2 * q)
    c = 1 - g
    cos_a = np.sqrt(1 + 4 * q) / (1 + 2 * q)
    cos_b = np.sqrt(cos_a**2 + a**2 * g * (2 - g))
    sine = a * a * g * (2 - g) / np.where(c > 0, a * cos_b + a * c * cos_a, 1.0)
    near = np.arcsin(np.minimum(sine, 1.0))
    far = np.arcsin(a) - np.arcsin(a * c)
    return 2 / math.pi * np.where(c > 0.25, near, far)


_ERF = ClosedForms(
    lambda q: 2 / math.pi * np.arctan2(2 * q, np.sqrt(1 + 4 * q)),
    lambda q: 4 / math.pi / ((1 + 2 * q) * np.sqrt(1 + 4 * q)),
    lambda q, k: (4 / math.pi) ** k / np.sqrt(1 + 4 * k * q),
    lambda q, c: 2 / math.pi * np.arctan2(2 * q * c, np.sqrt((1 + 2 * q * (1 - c)) * (1 + 2 * q * (1 + c)))),
    _erf_gap,
    lambda q, c: 4 / math.pi / np.sqrt((1 + 2 * q * (1 - c)) * (1 + 2 * q * (1 + c))),
)

_SINE = ClosedForms(
    lambda q: -np.expm1(-2 * q) / 2,
    lambda q: np.exp(-2 * q),
    lambda q, k: sum(math.comb(2 * k, j) * np.exp(-2.0 * (k - j) ** 2 * q) for j in range(2 * k + 1)) / 4**k,
    lambda q, c: -np.sign(c) * np.exp(-q * (1 - np.abs(c))) * np.expm1(-2 * q * np.abs(c)) / 2,
    lambda q, g: -np.expm1(-q * g) * (1 + np.exp(-q * (2 - g))) / 2,
    lambda q, c: (np.exp(-q * (1 - c)) + np.exp(-q * (1 + c))) / 2,
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def _inner_share(q: Array) -> Array:
    """P(|u| < 1)."""
    return special.erf(1 / np.sqrt(2 * q))


def _clipped_slope(q: Array) -> Array:
    """E z² over |√q z| < 1: 2/√π γ(3/2, 1/(2q))."""
    return special.gammainc(1.5, 1 / (2 * q))


def _by_angle(q: Array, start: Array, stop: Array, weight: Callable[[Array], Array]) -> Array:
    """∫ weight(1 - t) ∂_t P(|u| < 1, |u'| < 1; t) |dt| over t = cos α, α from start to stop.

    ∂_t P = (exp(-1/(q(1 + t))) - exp(-1/(q(1 - t))))/(π√(1 - t²)), which changes where 1 - t is about 1/q. Panels
    shrink towards α = 0 by factors of four, with 24 points of Gauss each.
    """
    count = 2 + max(0, math.ceil(math.log(16 * math.sqrt(float(np.max(q, initial=1.0))), 4)))
    edges = [stop * 4.0**-j for j in range(count)] + [0 * stop]
    total = 0.0
    for upper, lower in itertools.pairwise(edges):
        low, high = np.maximum(lower, start), np.maximum(upper, start)
        half, middle = (high - low) / 2, (high + low) / 2
        for x, w in zip(_NODES, _WEIGHTS, strict=True):
            rest = 2 * np.sin((middle + half * x) / 2) ** 2
            change = np.exp(-1 / (q * (2 - rest))) - np.exp(-1 / (q * np.maximum(rest, 1e-300)))
            total = total + w * half * weight(rest) * change
    return total / math.pi


def _right(q: Array) -> Array:
    return np.full(np.shape(q), math.pi / 2)


def _outer(q: Array, t: Array) -> tuple[Array, Array, Array, Array] | None:
    """The distinct lengths and arguments of a large grid, and which of them each entry is; None for what is no grid."""
    shape = np.broadcast_shapes(np.shape(q), np.shape(t))
    if math.prod(shape) < _GRID:
        return None
    lengths, of_q = np.unique(q, return_inverse=True)
    arguments, of_t = np.unique(t, return_inverse=True)
    if len(lengths) * len(arguments) > 2 * math.prod(shape):
        return None
    of_q = np.broadcast_to(of_q.reshape(np.shape(q)), shape)
    return lengths, arguments, of_q, np.broadcast_to(of_t.reshape(np.shape(t)), shape)


_GRID = 4096
_FEW, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(12)


def _running(q: Array, theta: Array) -> tuple[Array, Array]:
    """∫ ∂_t P dα and ∫ (1 - t) ∂_t P dα from 0 to each of the sorted angles θ, for each q: (len(q), len(θ)) each.

    The panels are those of `_by_angle` halved, cut at the angles, of which what lies before is summed once.
    """
    count = 2 + max(0, math.ceil(math.log(16 * math.sqrt(float(np.max(q))), 2)))
    ends = np.unique(np.concatenate([[0.0], math.pi / 2 * 2.0 ** -np.arange(count), theta]))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    plain, weighted = np.zeros((2, len(q), len(half)))
    for x, w in zip(_FEW, _FEW_WEIGHTS, strict=True):
        rest = 2 * np.sin((middle + half * x) / 2) ** 2
        change = np.exp(-1 / (q[:, None] * (2 - rest))) - np.exp(-1 / (q[:, None] * np.maximum(rest, 1e-300)))
        plain += w * half * change
        weighted += w * half * rest * change
    at = np.searchsorted(ends, theta)
    start = np.zeros((len(q), 1))
    first, second = (
        np.concatenate([start, np.cumsum(f, axis=1)], axis=1)[:, at] / math.pi for f in (plain, weighted)
    )
    return first, second


def _hard_pair(q: Array, c: Array) -> Array:
    """q(c P_0 + ∫_0^c (c - t) P'(t) dt), by Price's rule twice, for |c|: the mean is odd in c."""
    grid = _outer(q, c)
    if grid is not None:
        lengths, arguments, of_q, of_c = grid
        size = np.unique(np.abs(arguments))
        running = _running(lengths, np.append(_theta(size)[::-1], math.pi / 2))
        plain, weighted = (f[:, -1:] - f[:, -2::-1] for f in running)  # from the angle of each size to π/2
        inner = (size - 1) * plain + weighted
        table = lengths[:, None] * (size * _inner_share(lengths)[:, None] ** 2 + inner)
        place = np.searchsorted(size, np.abs(arguments))
        return (np.sign(arguments) * table[:, place])[of_q, of_c]
    q, c = np.broadcast_arrays(q, c)
    size = np.abs(c)
    inner = _by_angle(q, _theta(size), _right(q), lambda rest: size - 1 + rest)
    return np.sign(c) * q * (size * _inner_share(q) ** 2 + inner)


def _hard_gap(q: Array, g: Array) -> Array:
    """q(g P_1 - ∫_c^1 (t - c) P'(t) dt), with P_1 = P(|u| < 1); far from c = 1 the difference of two means."""
    grid = _outer(q, g)
    if grid is not None:
        lengths, gaps, of_q, of_g = grid
        near = gaps[gaps < 0.75]
        plain, weighted = _running(lengths, 2 * np.arcsin(np.sqrt(near / 2)))
        close = lengths[:, None] * (near * _inner_share(lengths)[:, None] - (near * plain - weighted))
        far = _hard_square(lengths)[:, None] - _hard_pair(lengths[:, None], 1 - gaps[gaps >= 0.75])
        return np.concatenate([close, far], axis=1)[of_q, of_g]
    q, g = np.broadcast_arrays(q, g)
    near = np.minimum(g, 1.0)
    theta = 2 * np.arcsin(np.sqrt(near / 2))
    close = q * (near * _inner_share(q) - _by_angle(q, 0 * theta, theta, lambda rest: near - rest))
    return np.where(g < 0.75, close, _hard_square(q) - _hard_pair(q, 1 - g))


def _hard_pair_slopes(q: Array, c: Array) -> Array:
    q, c = np.broadcast_arrays(q, c)
    return _inner_share(q) ** 2 + _by_angle(q, _theta(np.abs(c)), _right(q), lambda rest: 1.0 + 0 * rest)


def _hard_square(q: Array) -> Array:
    return q * _clipped_slope(q) + special.erfc(1 / np.sqrt(2 * q))


_HARD = ClosedForms(
    _hard_square,
    _clipped_slope,
    lambda q, k: _inner_share(q),
    _hard_pair,
    _hard_gap,
    _hard_pair_slopes,
)


def _gelu_slope(x: Array) -> Array:
    return special.ndtr(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def _sech2(x: Array) -> Array:
    e = np.exp(-2 * np.abs(x))
    return 4 * e / (1 + e) ** 2


NAMED: dict[str, Activation] = {
    "linear": leaky_relu(1.0),
    "relu": leaky_relu(0.0),
    "erf": Activation(
        "erf", special.erf, lambda x: 2 / math.sqrt(math.pi) * np.exp(-(x**2)), parity=-1, closed=_ERF
    ),
    "hard_tanh": Activation(
        "hard_tanh",
        lambda x: np.clip(x, -1.0, 1.0),
        lambda x: np.where(np.abs(x) < 1, 1.0, 0.0),
        (-1.0, 1.0),
        -1,
        "kinked",
        _HARD,
    ),
    "sin": Activation("sin", np.sin, np.cos, parity=-1, closed=_SINE),
    "tanh": Activation("tanh", np.tanh, _sech2, parity=-1),
    "gelu": Activation("gelu", lambda x: x * special.ndtr(x), _gelu_slope),
}
"""The activations with a name; "leaky_relu" is made with its slope."""

__all__ = ["NAMED", "Activation", "ClosedForms", "activation", "leaky_relu"]
