r"""The maps as functions: lengths, correlations, fixed points, χ, depth scales and the edge of chaos.

For pre-activations of length q and correlation c, with u, u' normal of variance q and correlation c,

    V(q) = γ(σ_α² E φ(u)² + σ_b²),        C(c) = (σ_α² E φ(u)φ(u') + σ_b²)/(σ_α² E φ(u)² + σ_b²).

At a fixed point q* = V(q*), C is the correlation map of the paper, and C'(1) = χ = γσ_α²E φ'². Where χ > 1 there is
one more fixed point c* < 1, since C is convex on [0, 1]. The bias has independent coefficients (naitsaada2023, Sec. 1
and 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from derivations.signal_propagation.evaluators.activations import Activation, activation
from derivations.signal_propagation.evaluators.gaussian_means import (
    gap_of_pairs,
    pair_gap,
    pair_slope_mean,
    slope_mean,
    square_mean,
    square_slope,
)
from symdyn.arrays import backends as arrays
from symdyn.arrays import gradients
from symdyn.catalogue.implements import implements

Array = Any
_LOWEST, _HIGHEST, _PER_DECADE = -12, 12, 8
_STEPS = 80


class DepthScales(NamedTuple):
    """What decides how deep signals go, each of the shape of the parameters.

    `q_star` and `chi`; `c_star`, the stable fixed point of correlations; `length`, -1/log|V'(q*)|; `correlation`,
    -1/log of the slope of C at c*; and `phase`: -1 ordered, 0 on the edge of chaos, 1 chaotic. A depth scale is +inf
    where perturbations do not vanish exponentially, and 0 where they vanish at once.
    """

    q_star: Array
    chi: Array
    c_star: Array
    length: Array
    correlation: Array
    phase: Array


class EdgePoint(NamedTuple):
    """A point of the edge of chaos: the variance of the weights, and the length that is a fixed point with it."""

    sigma_alpha2: Array
    q_star: Array


class _Read:
    """Arguments as float64 arrays of one shape, and how to give results back in the kind of the arguments."""

    def __init__(self, **arguments: Any) -> None:
        read = arrays.collect(**arguments)
        self.like = read
        plain = [x if read.xp is np else x.detach().cpu().numpy() for x in read]
        try:
            spread = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in plain))
        except ValueError as error:
            shapes = ", ".join(f"{n} {np.shape(x)}" for n, x in zip(read.arrays, plain, strict=True))
            raise ValueError(f"the shapes {shapes} do not broadcast") from error
        self.values = dict(zip(read.arrays, spread, strict=True))
        self.plain = dict(zip(read.arrays, (np.asarray(x, np.float64) for x in plain), strict=True))

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def require(self, name: str, ok: Callable[[Array], Array], words: str) -> None:
        x = self.plain[name]
        with np.errstate(invalid="ignore"):
            bad = ~(ok(x) & np.isfinite(x))
        if bad.any():
            at = np.argwhere(bad)[:5].tolist()
            where = f" at batch indices {at}" if x.ndim else ""
            raise ValueError(f"{name} = {x[bad].flat[0]}{where} is not {words}")

    def give(self, x: Array, slopes: Mapping[str, Callable[[], Array]] | None = None) -> Array:
        """A result in the kind of the arguments, with the gradients that the slopes give, or else without."""
        read = self.like
        if read.xp is np:
            return np.asarray(x).astype(read.dtype)
        first = next(iter(read))
        value = read.xp.as_tensor(np.ascontiguousarray(x)).to(dtype=read.dtype, device=first.device)
        if slopes is None:
            return value
        return gradients.attached(read.xp, value, dict(zip(read.arrays, read, strict=True)), slopes)


def _network(read: _Read) -> None:
    """The parameters of a network are in their domain."""
    if "gamma" in read.values:
        read.require("gamma", lambda x: (x > 0) & (x <= 1), "in (0, 1], as a ratio of rank to width is")
    if "sigma_alpha2" in read.values:
        read.require("sigma_alpha2", lambda x: x > 0, "a positive variance")
    if "sigma_b2" in read.values:
        read.require("sigma_b2", lambda x: x >= 0, "a variance, zero or positive")


@implements("signal_propagation.length_map_limit")
def length_map(q: Any, sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: Any) -> Array:
    """The length after one layer, V(q) = γ(σ_α²∫φ²(√q z)Dz + σ_b²).

    Args:
        q: length |h|²/N of the pre-activations, q ≥ 0 (...).
        sigma_alpha2: variance of the coefficients times N, positive (...).
        sigma_b2: variance of the bias coefficients, zero or positive (...).
        gamma: ratio of rank to width, in (0, 1] (...).
        phi: a name, an `Activation` or a function of a torch tensor; see `activation`.

    Returns:
        V(q) (...), the shape to which the arguments broadcast, to 1e-13 of its value. Tensors have first derivatives
        in all arguments; that in q at q = 0 is the one at 1e-12.

    Raises:
        ValueError: a value out of its domain, NaN or infinity (argument and batch indices named), or an activation
            whose mean is not settled.
        TypeError: complex or non-numeric data.

    Source: naitsaada2023, Eq. (3).

    >>> float(length_map(1.0, 2.0, 0.5, 0.25, "relu"))
    0.375
    """
    read = _Read(q=q, sigma_alpha2=sigma_alpha2, sigma_b2=sigma_b2, gamma=gamma)
    _network(read)
    read.require("q", lambda x: x >= 0, "a length, zero or positive")
    phi = activation(phi)
    mean = _of_lengths(square_mean, phi, read)
    inside = read["sigma_alpha2"] * mean + read["sigma_b2"]
    return read.give(
        read["gamma"] * inside,
        {
            "q": lambda: read["gamma"] * read["sigma_alpha2"] * _square_slope(phi, read),
            "sigma_alpha2": lambda: read["gamma"] * mean,
            "sigma_b2": lambda: read["gamma"],
            "gamma": lambda: inside,
        },
    )


def _square_slope(phi: Activation, read: _Read) -> Array:
    return _of_lengths(lambda phi, q: square_slope(phi, np.maximum(q, 10.0**_LOWEST)), phi, read)


_STEP = 2.0**-7


def _by_differences(f: Callable[[Array], Array], q: Array) -> Array:
    """df/dq by six points, to about 1e-11 of f/q for an f that is smooth on the scale of q."""
    weights = (3 / 4, -3 / 20, 1 / 60)
    step = _STEP * q
    return sum(w * (f(q + k * step) - f(q - k * step)) for k, w in enumerate(weights, 1)) / step


def _of_lengths(
    f: Callable[[Activation, Array], Array], phi: Activation, read: _Read, name: str = "q"
) -> Array:
    """A function of the length alone, computed before it is broadcast against the other arguments."""
    plain = read.plain[name]
    return np.broadcast_to(f(phi, plain), read[name].shape)


@implements("signal_propagation.correlation_map_limit")
def correlation_map(c: Any, q: Any, sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: Any) -> Array:
    """The correlation after one layer of two inputs with equal lengths q and correlation c.

    C(c) = (σ_α²E φ(u)φ(u') + σ_b²)/(σ_α²E φ(u)² + σ_b²); at q = q* it is the correlation map of the paper.

    Args:
        c: correlation, in [-1, 1] (...).
        q: length of both pre-activations, positive (...).
        sigma_alpha2, sigma_b2, gamma, phi: as for `length_map`.

    Returns:
        C(c) (...), to 1e-13. Near 1 use `correlation_gap`, which keeps the digits of 1 - C. Tensors have first
        derivatives: that in c by Price's rule, q σ_α²E φ'φ'/(σ_α²E φ² + σ_b²), that in q by differences to about 1e-10.

    Raises:
        ValueError, TypeError: as `length_map`; and where both means vanish, so that there is no correlation.

    Source: naitsaada2023, Eqs. (5)-(7).

    >>> round(float(correlation_map(0.0, 1.0, 2.0, 0.0, 1.0, "relu")), 6)
    0.31831
    """
    read = _pair("c", c, q, sigma_alpha2, sigma_b2, gamma)
    read.require("c", lambda x: np.abs(x) <= 1, "a correlation, in [-1, 1]")
    phi = activation(phi)
    length = _length(phi, read)
    gap = _gap(phi, read, 1 - read.plain["c"])
    slopes = _slopes_of_gap(phi, read, 1 - read.plain["c"], gap, length, "c")
    in_c = slopes.pop("c")
    turned = {name: lambda slope=slope: -slope() for name, slope in slopes.items()}
    return read.give(1 - read["sigma_alpha2"] * gap / length, {"c": in_c, **turned})


def _slopes_of_gap(
    phi: Activation, read: _Read, g: Array, gap: Array, length: Array, name: str
) -> dict[str, Callable[[], Array]]:
    """Derivatives of σ_α²G/(σ_α²E + σ_b²), G = E φ² - E φφ' and E = E φ²; in the gap itself under a name."""
    sigma_alpha2, q = read["sigma_alpha2"], read.plain["q"]

    def in_gap() -> Array:
        if phi.kind == "jumping":
            raise ValueError(f"{phi.name} jumps: its correlation map has no slope at 1")
        return (
            sigma_alpha2 * read["q"] * np.broadcast_to(pair_slope_mean(phi, q, 1 - g), length.shape) / length
        )

    def in_q() -> Array:
        of_gap = np.broadcast_to(_by_differences(lambda q: pair_gap(phi, q, g), q), length.shape)
        return sigma_alpha2 * (of_gap - sigma_alpha2 * gap * _square_slope(phi, read) / length) / length

    return {
        name: in_gap,
        "q": in_q,
        "sigma_alpha2": lambda: gap * read["sigma_b2"] / length**2,
        "sigma_b2": lambda: -sigma_alpha2 * gap / length**2,
        "gamma": lambda: np.zeros(length.shape),
    }


@implements("signal_propagation.correlation_map_limit")
def correlation_gap(gap: Any, q: Any, sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: Any) -> Array:
    """1 - C(1 - g): how far from 1 a correlation 1 - g is after one layer, with all digits for small g.

    Args:
        gap: g = 1 - c, in [0, 2] (...).
        q, sigma_alpha2, sigma_b2, gamma, phi: as for `correlation_map`.

    Returns:
        1 - C (...), to 1e-13 of itself; χ g for g → 0 at a fixed point, for an activation that does not jump. Tensors
        have first derivatives, as those of `correlation_map`.

    Raises:
        ValueError, TypeError: as `correlation_map`.

    >>> float(correlation_gap(1e-15, 1.0, 2.0, 0.0, 1.0, "relu")) < 1e-15
    True
    """
    read = _pair("gap", gap, q, sigma_alpha2, sigma_b2, gamma)
    read.require("gap", lambda x: (x >= 0) & (x <= 2), "1 - c for a correlation c, in [0, 2]")
    phi = activation(phi)
    gap, length = _gap(phi, read, read.plain["gap"]), _length(phi, read)
    slopes = _slopes_of_gap(phi, read, read.plain["gap"], gap, length, "gap")
    return read.give(read["sigma_alpha2"] * gap / length, slopes)


def _pair(name: str, value: Any, q: Any, sigma_alpha2: Any, sigma_b2: Any, gamma: Any) -> _Read:
    read = _Read(**{name: value, "q": q, "sigma_alpha2": sigma_alpha2, "sigma_b2": sigma_b2, "gamma": gamma})
    _network(read)
    read.require("q", lambda x: x > 0, "a positive length: inputs of length zero have no correlation")
    return read


def _length(phi: Activation, read: _Read) -> Array:
    """σ_α²E φ² + σ_b², which is not zero."""
    found = read["sigma_alpha2"] * _of_lengths(square_mean, phi, read) + read["sigma_b2"]
    if (found <= 0).any():
        raise ValueError(
            f"{phi.name} and the bias vanish: lengths after the layer are zero, and have no correlation"
        )
    return found


def _gap(phi: Activation, read: _Read, g: Array) -> Array:
    return np.broadcast_to(pair_gap(phi, read.plain["q"], g), read["q"].shape)


@implements("signal_propagation.chi_as_mean", "signal_propagation.chi_is_slope")
def chi(sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: Any, q: Any = None) -> Array:
    """χ = γσ_α²∫φ'(√q z)²Dz, at the fixed point of the lengths or at a given q.

    Args:
        sigma_alpha2, sigma_b2, gamma, phi: as for `length_map`.
        q: a length, positive (...); `fixed_point` of the other arguments if left out. The bias then does not matter.

    Returns:
        χ (...), to 1e-13 times one over 1 - V'(q*). It is the slope of the correlation map at 1, unless φ jumps.
        Tensors have first derivatives, through q* as well where q is left out.

    Raises:
        ValueError, TypeError: as `length_map` and `fixed_point`; and for an activation that jumps.

    Source: naitsaada2023, Eqs. (8) and (9).

    >>> float(chi(2.0, 0.0, 1.0, "relu", q=1.0))
    1.0
    """
    phi = activation(phi)
    if phi.kind == "jumping":
        raise ValueError(
            f"{phi.name} jumps: the mean of φ'² is not the slope of its correlation map, which is infinite"
        )
    given = {} if q is None else {"q": q}
    read = _Read(sigma_alpha2=sigma_alpha2, sigma_b2=sigma_b2, gamma=gamma, **given)
    _network(read)
    if q is None:
        at = _largest(phi, read)
        through = _slopes_of_fixed_point(phi, read, at)
    else:
        read.require("q", lambda x: x >= 0, "a length, zero or positive")
        at, through = read["q"], {"q": lambda: np.ones(read["q"].shape)}
    mean, scale = slope_mean(phi, at), read["gamma"] * read["sigma_alpha2"]

    def slope_through(name: str) -> Array:
        if name not in through:
            return np.zeros(mean.shape)
        positive = np.maximum(at, 10.0**_LOWEST)
        return scale * _by_differences(lambda q: slope_mean(phi, q), positive) * through[name]()

    own = {"sigma_alpha2": read["gamma"] * mean, "gamma": read["sigma_alpha2"] * mean}
    slopes = {name: lambda name=name: own.get(name, 0.0) + slope_through(name) for name in read.values}
    return read.give(scale * mean, slopes)


def _slopes_of_fixed_point(phi: Activation, read: _Read, q: Array) -> dict[str, Callable[[], Array]]:
    """Derivatives of q* by those of V: ∂q* = ∂V/(1 - V'(q*)). Zero where q* = 0 stays."""
    gamma, sigma_alpha2 = read["gamma"], read["sigma_alpha2"]

    def over(x: Array) -> Array:
        return np.where(q > 0, x, 0.0) / (
            1 - gamma * sigma_alpha2 * square_slope(phi, np.maximum(q, 10.0**_LOWEST))
        )

    return {
        "sigma_alpha2": lambda: over(gamma * square_mean(phi, q)),
        "sigma_b2": lambda: over(gamma * np.ones(q.shape)),
        "gamma": lambda: over(q / gamma),
    }


@implements("signal_propagation.fixed_point_of_lengths")
def fixed_point(sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: Any) -> Array:
    """The largest stable fixed point of the length map, q* = V(q*) with V falling below the diagonal there.

    Lengths that start above it come down to it. There may be others: `fixed_points` lists all. q* = 0 where nothing
    but zero stays, without bias and below the critical variance.

    Args:
        sigma_alpha2, sigma_b2, gamma, phi: as for `length_map`.

    Returns:
        q* (...), between 1e-12 and 1e12 or zero, to 1e-13 times one over 1 - V'(q*). Tensors have first derivatives.

    Raises:
        ValueError: as `length_map`; where there is no fixed point, as lengths grow without bound (the batch indices are
            named), and where every length is one, as for a linear or ReLU network without bias on the edge of chaos.

    >>> round(float(fixed_point(0.5, 1.0, 1.0, "linear")), 12)
    2.0
    """
    read = _Read(sigma_alpha2=sigma_alpha2, sigma_b2=sigma_b2, gamma=gamma)
    _network(read)
    phi = activation(phi)
    q = _largest(phi, read)
    return read.give(q, _slopes_of_fixed_point(phi, read, q))


@implements("signal_propagation.fixed_point_of_lengths")
def fixed_points(sigma_alpha2: float, sigma_b2: float, gamma: float, phi: Any) -> list[tuple[float, float]]:
    """All fixed points of the length map between 1e-12 and 1e12, and zero, each with the slope V'(q*) there.

    For numbers, not for arrays. A fixed point is stable if |V'| < 1. At zero the slope is that of V from above.
    """
    read = _Read(sigma_alpha2=sigma_alpha2, sigma_b2=sigma_b2, gamma=gamma)
    if read["gamma"].shape:
        raise ValueError("fixed_points is for one network: give numbers")
    _network(read)
    phi = activation(phi)
    grid = _grid()
    scale, bias = float(read["gamma"] * read["sigma_alpha2"]), float(read["gamma"] * read["sigma_b2"])
    excess = scale * square_mean(phi, grid) + bias - grid
    _refuse_all(phi, np.array([scale]), np.array([bias]), excess[None, :], grid)
    found: list[tuple[float, float]] = []
    zero = scale * float(square_mean(phi, np.zeros(1))[0]) + bias
    if zero == 0:
        found.append((0.0, scale * float(square_slope(phi, grid[:1])[0])))
    for k in np.flatnonzero(np.sign(excess[:-1]) * np.sign(excess[1:]) < 0):
        q = _refine(
            phi,
            np.array([scale]),
            np.array([bias]),
            grid[k : k + 1],
            grid[k + 1 : k + 2],
            np.sign(excess[k : k + 1]),
        )
        found.append((float(q[0]), scale * float(square_slope(phi, q)[0])))
    found += [(float(q), scale * float(square_slope(phi, np.array([q]))[0])) for q in grid[excess == 0]]
    return sorted(found)


def _grid() -> Array:
    return 10.0 ** np.linspace(_LOWEST, _HIGHEST, (_HIGHEST - _LOWEST) * _PER_DECADE + 1)


def _refuse_all(phi: Activation, scale: Array, bias: Array, excess: Array, grid: Array) -> None:
    every = (np.abs(excess) <= 1e-14 * grid).all(-1) & (bias == 0)
    if every.any():
        raise ValueError(
            f"every length is a fixed point for {phi.name} at the critical variance γσ_α² = {scale[every].flat[0]:g} "
            "without bias: give the length that you want"
        )


def _largest(phi: Activation, read: _Read) -> Array:
    """The largest stable fixed point for each network, by signs on a grid and safeguarded Newton steps."""
    shape = read["gamma"].shape
    scale = (read["gamma"] * read["sigma_alpha2"]).reshape(-1)
    bias = (read["gamma"] * read["sigma_b2"]).reshape(-1)
    if not scale.size:
        return np.empty(shape)
    grid = _grid()
    excess = scale[:, None] * square_mean(phi, grid) + bias[:, None] - grid
    _refuse_all(phi, scale, bias, excess, grid)
    above = excess[:, -1] > 0
    if above.any():
        at = np.argwhere(above.reshape(shape))[:5].tolist()
        where = f" at batch indices {at}" if shape else ""
        raise ValueError(
            f"the length map of {phi.name} has no fixed point above which it falls{where}: lengths grow without "
            f"bound, as γσ_α² = {scale[above][0]:g} with γσ_b² = {bias[above][0]:g} is too large"
        )
    down = (excess[:, :-1] > 0) & (excess[:, 1:] <= 0)
    some = down.any(-1)
    last = down.shape[1] - 1 - np.argmax(down[:, ::-1], axis=1)
    found = np.zeros(len(scale))
    if some.any():
        k = last[some]
        found[some] = _refine(phi, scale[some], bias[some], grid[k], grid[k + 1], np.ones(len(k)))
    zero = scale * square_mean(phi, np.zeros(1))[0] + bias
    lost = ~some & (zero > 0)
    if lost.any():
        raise ValueError(
            f"the fixed point of the length map of {phi.name} is below 1e-12: lengths are that small"
        )
    return found.reshape(shape)


def _refine(phi: Activation, scale: Array, bias: Array, low: Array, high: Array, sign: Array) -> Array:
    """The zero of V(q) - q between two lengths, at the lower of which it has the given sign."""
    low, high = low.copy(), high.copy()
    q = np.sqrt(low * high)
    for _ in range(_STEPS):
        excess = scale * square_mean(phi, q) + bias - q
        slope = scale * square_slope(phi, q) - 1
        below = sign * excess > 0
        low, high = np.where(below, q, low), np.where(below, high, q)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = q - excess / slope
        inside = (newton > low) & (newton < high)
        following = np.where(excess == 0, q, np.where(inside, newton, np.sqrt(low * high)))
        settled = np.abs(following - q) <= 2e-16 * q
        q = following
        if settled.all():
            break
    return q


@implements("signal_propagation.length_depth_scale", "signal_propagation.correlation_depth_scale")
def depth_scales(sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: Any) -> DepthScales:
    """The depth scales of lengths and correlations, with the phase, in units of layers.

    1/ξ_q = -log|V'(q*)|, and 1/ξ_c = -log C'(c*) at the stable fixed point c* of correlations: c* = 1 with C'(1) = χ
    in the ordered phase, c* < 1 with C'(c*) = γσ_α²∫∫φ'(u_1*)φ'(u_2*) in the chaotic one.

    Args:
        sigma_alpha2, sigma_b2, gamma, phi: as for `length_map`.

    Returns:
        `DepthScales`, each of its arrays (...).

    Raises:
        ValueError, TypeError: as `fixed_point` and `chi`; and where q* = 0, where there are no correlations.

    Source: naitsaada2023, Sec. 2.1, where -log χ is given for both phases.

    >>> found = depth_scales(1.5, 0.1, 1.0, "tanh")
    >>> int(found.phase), bool(found.c_star == 1)
    (-1, True)
    """
    phi = activation(phi)
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: its correlation map has no slope at 1")
    read = _Read(sigma_alpha2=sigma_alpha2, sigma_b2=sigma_b2, gamma=gamma)
    _network(read)
    q = _largest(phi, read)
    if (q == 0).any():
        raise ValueError(
            "lengths go to zero, where there is no correlation: take a larger variance or a bias"
        )
    scale = read["gamma"] * read["sigma_alpha2"]
    slope = scale * square_slope(phi, q)
    at_one = scale * slope_mean(phi, q)
    phase = np.where(np.abs(at_one - 1) <= 1e-13, 0, np.sign(at_one - 1)).astype(int)
    gap = _fixed_gap(phi, q, scale, phase)
    rate = np.where(phase > 0, scale * pair_slope_mean(phi, q, 1 - gap), at_one)
    give = read.give
    return DepthScales(
        give(q),
        give(at_one),
        give(1 - gap),
        give(_scale_of(np.abs(slope))),
        give(_scale_of(np.abs(rate))),
        phase,
    )


def _scale_of(rate: Array) -> Array:
    """-1/log of a rate: +inf at 1, where nothing vanishes exponentially, and 0 at 0."""
    with np.errstate(divide="ignore"):
        found = -1 / np.log(rate)
    return np.where(np.abs(rate - 1) <= 1e-13, math.inf, np.where(rate == 0, 0.0, found))


def _fixed_gap(phi: Activation, q: Array, scale: Array, phase: Array) -> Array:
    """1 - c* in the chaotic phase, by bisection of γσ_α²(E φ² - E φφ')/(q g) - 1, which falls with g; else 0."""
    found = np.zeros(np.shape(q))
    chaotic = phase > 0
    if not np.any(chaotic):
        return found
    q, scale = np.asarray(q)[chaotic], np.asarray(scale)[chaotic]
    gap = gap_of_pairs(phi, q)
    low, high = np.full(q.shape, 1e-16), np.ones(q.shape)
    for k in range(_STEPS):
        g = np.sqrt(low * high) if k < 12 else (low + high) / 2
        grows = scale * gap(g) > q * g
        low, high = np.where(grows, g, low), np.where(grows, high, g)
        if (high - low <= 2e-16 * high).all():
            break
    found[chaotic] = np.where(scale * gap(np.ones_like(q)) >= q, 1.0, high)
    return found


@implements("signal_propagation.edge")
def from_fixed_point(q_star: Any, gamma: Any, phi: Any) -> tuple[Array, Array]:
    """The variances (σ_α², σ_b²) on the edge of chaos with a given fixed point of the lengths.

    σ_α² = 1/(γμ_1) and σ_b² = q*/γ - σ_α²∫φ²(√q* z)Dz, with μ_1 = ∫φ'(√q* z)²Dz.

    Args:
        q_star: the length that is to be a fixed point, positive (...).
        gamma: ratio of rank to width, in (0, 1] (...).
        phi: as for `length_map`.

    Returns:
        σ_α² to 1e-13 of its value and σ_b² to 1e-13 of q*/γ, each (...). A σ_b² that is zero to rounding is zero.

    Raises:
        ValueError: as `length_map`; where σ_b² would be negative, so that no network on the edge has this fixed
        point, or
            where φ' vanishes.

    >>> sigma_alpha2, sigma_b2 = from_fixed_point(0.5, 0.25, "linear")
    >>> float(sigma_alpha2), float(sigma_b2)
    (4.0, 0.0)
    """
    read = _Read(q_star=q_star, gamma=gamma)
    _network(read)
    read.require("q_star", lambda x: x > 0, "a positive length")
    phi = activation(phi)
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: it has no edge of chaos")
    slopes, bias = _on_edge(phi, read.plain["q_star"])
    slopes, bias = (np.broadcast_to(x, read["gamma"].shape) for x in (slopes, bias))
    if (slopes <= 0).any():
        raise ValueError(
            f"the slope of {phi.name} vanishes at lengths of {read['q_star'][slopes <= 0].flat[0]}: χ is zero"
        )
    if (bias < 0).any():
        at = np.argwhere(bias < 0)[:5].tolist()
        where = f" at batch indices {at}" if bias.shape else ""
        raise ValueError(
            f"no network with {phi.name} on the edge of chaos has q* = {read['q_star'][bias < 0].flat[0]}{where}: the "
            f"variance of the bias, times γ, would be {bias[bias < 0].flat[0]:g}"
        )
    return read.give(1 / (read["gamma"] * slopes)), read.give(bias / read["gamma"])


def _on_edge(phi: Activation, q: Array) -> tuple[Array, Array]:
    """μ_1 and γσ_b² on the edge of chaos; the latter zero where it is so to rounding."""
    slopes, square = slope_mean(phi, q), square_mean(phi, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = q - square / slopes
    return slopes, np.where(np.abs(bias) <= 4e-15 * q, 0.0, bias)


@implements("signal_propagation.edge", "signal_propagation.rescaled_edge")
def edge_of_chaos(sigma_b2: Any, gamma: Any, phi: Any) -> EdgePoint:
    """The variance of the weights at which χ = 1, for a given variance of the bias, with its fixed point.

    Along the edge, parametrised by q*, σ_α² = 1/(γμ_1(q*)) and γσ_b² = q* - E φ²/μ_1. So there may be no q*, one or
    many for a σ_b². Without bias q* = 0 is the one where φ(0) = 0: then σ_α² = 1/(γφ'(0)²). For ReLU and linear
    networks all points of the edge have σ_b² = 0 and the same σ_α², and q* may be any length: it is given as NaN.

    Args:
        sigma_b2: variance of the bias coefficients, zero or positive (...).
        gamma: ratio of rank to width, in (0, 1] (...).
        phi: as for `length_map`.

    Returns:
        `EdgePoint` of σ_α² and q*, each (...): the one with the smallest q* where there are many (`edge_points` has
        all); +inf for both where there is none with q* below 1e12.

    Raises:
        ValueError, TypeError: as `length_map`; an activation that jumps.

    Source: naitsaada2023, Sec. 1 and Fig. 1.

    >>> float(edge_of_chaos(0.0, 0.25, "tanh").sigma_alpha2)
    4.0
    """
    read = _Read(sigma_b2=sigma_b2, gamma=gamma)
    _network(read)
    phi = activation(phi)
    target = (read["gamma"] * read["sigma_b2"]).reshape(-1)
    q = np.full(target.shape, math.inf)
    grid = _grid()
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: it has no edge of chaos")
    slopes, curve = _on_edge(phi, grid)
    if (curve == 0).all():
        q = np.where(target == 0, math.nan, math.inf)
        value = np.where(target == 0, 1 / slopes[0], math.inf)
    else:
        value = np.full(target.shape, math.inf)
        below = (curve[None, :] < target[:, None]) & (slopes > 0)
        crossing = below[:, :-1] != below[:, 1:]
        some = crossing.any(-1) & (target > 0)
        k = np.argmax(crossing, axis=1)[some]
        q[some] = _edge_length(phi, target[some], grid[k], grid[k + 1], below[some, k])
        value[some] = 1 / slope_mean(phi, q[some])
        still = (target == 0) & (float(phi(np.zeros(1))[0]) == 0)
        slope2 = float(slope_mean(phi, np.zeros(1))[0]) if not phi.kinks or 0.0 not in phi.kinks else 0.0
        if slope2 > 0:
            q, value = np.where(still, 0.0, q), np.where(still, 1 / slope2, value)
    shape = read["gamma"].shape
    return EdgePoint(read.give(value.reshape(shape) / read["gamma"]), read.give(q.reshape(shape)))


@implements("signal_propagation.edge")
def edge_points(sigma_b2: float, gamma: float, phi: Any) -> list[tuple[float, float]]:
    """All points (σ_α², q*) of the edge of chaos with one variance of the bias, for q* between 1e-12 and 1e12."""
    read = _Read(sigma_b2=sigma_b2, gamma=gamma)
    if read["gamma"].shape:
        raise ValueError("edge_points is for one network: give numbers")
    _network(read)
    phi = activation(phi)
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: it has no edge of chaos")
    target, grid = np.array([float(read["gamma"] * read["sigma_b2"])]), _grid()
    slopes, curve = _on_edge(phi, grid)
    below = (curve < target[0]) & (slopes > 0)
    found = []
    for k in np.flatnonzero(below[:-1] != below[1:]):
        q = _edge_length(phi, target, grid[k : k + 1], grid[k + 1 : k + 2], below[k : k + 1])
        found.append((1 / float(read["gamma"] * slope_mean(phi, q)[0]), float(q[0])))
    return found


def _edge_length(phi: Activation, target: Array, low: Array, high: Array, below: Array) -> Array:
    """The q with γσ_b² = target on the edge, between two lengths, by bisection in log q and then in q."""
    low, high = low.copy(), high.copy()
    for _ in range(_STEPS):
        q = (low + high) / 2
        same = (_on_edge(phi, q)[1] < target) == below
        low, high = np.where(same, q, low), np.where(same, high, q)
        if (high - low <= 4e-16 * high).all():
            break
    return (low + high) / 2


__all__ = [
    "DepthScales",
    "EdgePoint",
    "chi",
    "correlation_gap",
    "correlation_map",
    "depth_scales",
    "edge_of_chaos",
    "edge_points",
    "fixed_point",
    "fixed_points",
    "from_fixed_point",
    "length_map",
]
