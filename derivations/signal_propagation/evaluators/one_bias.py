r"""Lengths, depth scales and the edge of chaos with one scalar bias a layer, as the paper's network has it.

The lengths are a Markov chain, q' = y + γb² with y = γσ_α²E φ(√q z)² and b ~ N(0, σ_b²). Its stationary law is found on
Chebyshev's points in y: the mean of a polynomial in the next y is a quadrature over b, which gives a matrix, and the
means of functions of q are those over its stationary vector. The number of points is doubled until they agree.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from derivations.signal_propagation.evaluators.activations import Activation, activation
from derivations.signal_propagation.evaluators.gaussian_means import slope_mean, square_mean
from derivations.signal_propagation.evaluators.length_and_correlation import (
    _largest,
    _network,
    _Read,
    edge_of_chaos,
)
from symdyn.catalogue.implements import implements

Array = Any
REACH = 9.0
"""Biases of more than so many standard deviations have 2e-19 of the mass."""
_COUNTS = (24, 48, 96, 192)
_SETTLED = 1e-9


class OneBias(NamedTuple):
    """Signals with one bias a layer: numbers, in units of lengths and layers.

    `mean_length` and `variance_of_length` of the stationary law of q; `exponent`, E log χ(q); `correlation`, the depth
    scale -1/exponent of correlations, +inf where they do not go to 1; and `phase`, its sign: -1 ordered, 1 chaotic.
    """

    mean_length: float
    variance_of_length: float
    exponent: float
    correlation: float
    phase: int


@implements("signal_propagation.exponent_of_one_bias", "signal_propagation.length_given_the_bias")
def one_bias_scales(sigma_alpha2: float, sigma_b2: float, gamma: float, phi: Any) -> OneBias:
    """The stationary law of lengths and the rate E log χ(q) of correlations, for one bias a layer.

    `depth_scales` has the same for independent bias coefficients, where q is a number.

    Args:
        sigma_alpha2: variance of the coefficients times N, positive.
        sigma_b2: variance of the bias of a layer, positive.
        gamma: ratio of rank to width, in (0, 1].
        phi: a name, an `Activation` or a function of a torch tensor, without jumps.

    Returns:
        `OneBias`, its means to 1e-9 of their scale.

    Raises:
        ValueError, TypeError: as `fixed_point`, for numbers; lengths without a stationary law; a law that 192 points do
            not settle.

    Source: naitsaada2023, Sec. 1 (the bias) and Sec. 2.1 (the depth scale); `exponent_of_one_bias`.

    >>> found = one_bias_scales(1.0, 0.3, 1.0, "relu")
    >>> round(found.exponent, 6), round(found.mean_length, 9)
    (-0.693147, 0.6)
    """
    read = _Read(sigma_alpha2=sigma_alpha2, sigma_b2=sigma_b2, gamma=gamma)
    if read["gamma"].shape:
        raise ValueError("one_bias_scales is for one network: give numbers")
    _network(read)
    read.require("sigma_b2", lambda x: x > 0, "a positive variance: without a bias use depth_scales")
    phi = activation(phi)
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: its correlation map has no slope at 1")
    scale, bias = (float(read["gamma"] * read[name]) for name in ("sigma_alpha2", "sigma_b2"))
    longest = _Read(sigma_alpha2=scale, sigma_b2=REACH**2 * bias, gamma=1.0)
    most = float(_largest(phi, longest))
    highest = scale * float(square_mean(phi, np.array([most]))[0])
    lowest = _lowest(phi, scale, most)
    found = None
    for count in _COUNTS:
        before, found = found, _stationary(phi, scale, bias, lowest, highest, count)
        if (
            before is not None
            and (np.abs(found - before) <= _SETTLED * np.array([found[0], found[0] ** 2, 1])).all()
        ):
            break
    else:
        raise ValueError(f"the stationary law of lengths for {phi.name} is not settled by {count} points")
    mean, variance, exponent = (float(x) for x in found)
    at_edge = abs(exponent) <= _SETTLED
    return OneBias(
        mean,
        max(variance, 0.0),
        exponent,
        -1 / exponent if exponent < -_SETTLED else math.inf,
        0 if at_edge else int(math.copysign(1, exponent)),
    )


def _lowest(phi: Activation, scale: float, longest: float) -> float:
    """What y does not fall below once it is above it: without bias its largest fixed point, if V rises."""
    q = np.concatenate([[0.0], longest * np.geomspace(1e-6, 1, 200)])
    values = scale * square_mean(phi, q)
    if (np.diff(values) < -1e-14 * values[1:]).any():
        return float(values.min())
    return float(_largest(phi, _Read(sigma_alpha2=scale, sigma_b2=0.0, gamma=1.0)))


def _stationary(
    phi: Activation, scale: float, bias: float, lowest: float, highest: float, count: int
) -> Array:
    """Mean and variance of q and E log χ(q), with so many points in y."""
    angles = math.pi * (np.arange(count) + 0.5) / count
    half = max((highest - lowest) / 2, 1e-300)
    points = (highest + lowest) / 2 + half * np.cos(angles)
    nodes, weights = np.polynomial.legendre.leggauss(18)
    ends = np.array([0, 0.6, 1.8, 4, REACH])
    widths = np.diff(ends)[:, None] / 2
    b = ((ends[1:] + ends[:-1])[:, None] / 2 + widths * nodes).ravel()
    mass = (widths * weights).ravel() * np.exp(-b * b / 2) * math.sqrt(2 / math.pi)
    mass /= mass.sum()
    q = points[:, None] + bias * b**2
    place = np.clip((scale * square_mean(phi, q) - (highest + lowest) / 2) / half, -1.0, 1.0)
    # Chebyshev's polynomials at the next y, and from them the values at its points.
    to_values = np.polynomial.chebyshev.chebvander(np.cos(angles), count - 1)
    moments = np.stack([mass @ np.polynomial.chebyshev.chebvander(row, count - 1) for row in place])
    step = moments @ np.linalg.inv(to_values)
    system = np.vstack([(step - np.eye(count)).T, np.ones(count)])
    law = np.linalg.lstsq(system, np.append(np.zeros(count), 1.0), rcond=None)[0]
    mean = law @ (q @ mass)
    variance = law @ ((q - mean) ** 2 @ mass)
    slopes = slope_mean(phi, q)
    if (slopes <= 0).any():
        raise ValueError(f"the slope of {phi.name} vanishes at some lengths: E log χ is minus infinity")
    return np.array([mean, variance, law @ (np.log(scale * slopes) @ mass)])


@implements("signal_propagation.exponent_of_one_bias", "signal_propagation.one_bias_is_more_chaotic")
def one_bias_edge(sigma_b2: float, gamma: float, phi: Any) -> float:
    """The variance σ_α² at which E log χ(q) = 0, with one bias of variance σ_b² a layer.

    Args:
        sigma_b2, gamma, phi: as for `one_bias_scales`.

    Returns:
        σ_α² to about 1e-8; it is less than that of `edge_of_chaos` for erf and tanh. +inf where there is no edge with
        γσ_α² between 1e-3 and 1e3 times that of independent biases.

    Raises:
        ValueError, TypeError: as `one_bias_scales` and `edge_of_chaos`; and for linear and ReLU networks, whose lengths
            have no stationary law on the edge.

    >>> round(one_bias_edge(0.3, 1.0, "erf"), 6), round(float(edge_of_chaos(0.3, 1.0, "erf").sigma_alpha2), 6)
    (1.877755, 1.963071)
    """
    start = edge_of_chaos(sigma_b2, gamma, phi).sigma_alpha2
    if np.shape(start):
        raise ValueError("one_bias_edge is for one network: give numbers")
    if not math.isfinite(start):
        raise ValueError("there is no edge of chaos with this bias, or none on which lengths are stationary")

    def exponent(log_variance: float) -> float:
        return one_bias_scales(math.exp(log_variance), sigma_b2, gamma, phi).exponent

    low = high = math.log(float(start))
    step = 0.05
    while exponent(low) > 0 and step < 8:
        low, step = low - step, 2 * step
    step = 0.05
    while exponent(high) < 0 and step < 8:
        high, step = high + step, 2 * step
    if exponent(low) > 0 or exponent(high) < 0:
        return math.inf
    return math.exp(low if low == high else brentq(exponent, low, high, xtol=1e-9))


__all__ = ["OneBias", "one_bias_edge", "one_bias_scales"]
