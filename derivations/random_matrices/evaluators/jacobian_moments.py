r"""Moments and variance of JJᵀ for an activation, depth and rank, and exact moments of linear networks of any width.

With S of one layer a power series, its L-th power and one reversion give the moments m_1, …, m_k of free layers, in
rational arithmetic where all that enters is rational. What a finite width adds is known exactly for linear networks:
the means of products of traces of JJᵀ obey a linear recursion from layer to layer (naitsaada2023, Sec. 3.1).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from derivations.random_matrices.evaluators.laws import ensemble_of, exact, ratio_of_rank, variance_of
from derivations.signal_propagation.evaluators.activations import Activation, activation
from derivations.signal_propagation.evaluators.gaussian_means import slope_mean, square_mean
from symdyn.calculus.haar import MOST, gaussian_weight, haar_weight, layer, partitions
from symdyn.catalogue.implements import implements

Array = Any
HIGHEST = 12
"""Moments up to this order: beyond, double precision loses the digits of a reversion."""


@implements(
    "random_matrices.jacobian_first_moment",
    "random_matrices.jacobian_second_moment",
    "random_matrices.jacobian_third_moment",
)
def jacobian_moments(
    depth: int, gamma: Any, ensemble: str, phi: Any, q: Any, k: int, *, chi: Any = 1
) -> tuple[Any, ...]:
    """The moments m_1, …, m_k of the spectrum of JJᵀ for wide networks, J = Π D^(l)W^(l) over the layers.

    m_1 = χ^L, m_2 = χ^{2L}(1 + L(μ_2/μ_1² - 1 - s_1)), and so on by reversion of S_{D²}^L S_{WᵀW}^L. Orthogonal
    weights are taken in random directions, W = σ_α Q Rᵀ; for W = σ_α(Q, 0) the moments are larger, unless φ is
    linear.

    Args:
        depth: the number of layers L ≥ 1.
        gamma: ratio of rank to width, in (0, 1].
        ensemble: "gaussian" or "orthogonal".
        phi: a name, an `Activation` or a function of a torch tensor.
        q: the length of the pre-activations, positive; it does not matter for linear and ReLU networks.
        k: how many moments, 1 to 12.
        chi: χ = γσ_α²μ_1 of each layer; 1 on the edge of chaos.

    Returns:
        The k moments. Fractions where γ and χ are integers or Fractions and φ is "linear" or "relu"; otherwise floats,
        from         arithmetic with 50 digits: they are as accurate as the means μ_k.

    Raises:
        ValueError, TypeError: a value out of its domain, an unknown ensemble, an activation that jumps or whose slope
            vanishes.

    Source: naitsaada2023, Sec. 3.1.

    >>> jacobian_moments(3, Fraction(1, 2), "orthogonal", "linear", 1, 3)
    (Fraction(1, 1), Fraction(4, 1), Fraction(19, 1))
    """
    depth = _count("depth", depth, 1)
    k = _count("k", k, 1)
    if k > HIGHEST:
        raise ValueError(f"k = {k}: at most {HIGHEST} moments are formed")
    gamma, ensemble, chi = ratio_of_rank(gamma), ensemble_of(ensemble), variance_of(chi, "chi")
    means = _slopes(activation(phi), q, k)
    rational = exact(gamma) and exact(chi) and all(isinstance(m, Fraction) for m in means)
    number: Any = Fraction if rational else _digits
    one = number(1)
    relative = [number(m) for m in means]
    relative = [m / relative[0] ** j for j, m in enumerate(relative, 1)]
    weights = _weight_series(number(gamma), ensemble, k, one)
    slopes = _s_of_moments(relative, one)
    power = _power(_product(slopes, weights), depth, one)
    moments = _moments_of_s(power, one)
    scaled = [m * number(chi) ** (depth * j) for j, m in enumerate(moments, 1)]
    return tuple(scaled) if rational else tuple(float(m) for m in scaled)


@implements("random_matrices.jacobian_variance_formula")
def jacobian_variance(depth: int, gamma: Any, ensemble: str, phi: Any, q: Any, *, chi: Any = 1) -> Any:
    """The variance m_2 - m_1² of the spectrum of JJᵀ, χ^{2L}L(μ_2/μ_1² - 1 - s_1).

    Arguments, errors and exactness as for `jacobian_moments`.

    >>> jacobian_variance(10, Fraction(1, 4), "gaussian", "linear", 1)
    Fraction(40, 1)
    """
    depth = _count("depth", depth, 1)
    gamma, ensemble, chi = ratio_of_rank(gamma), ensemble_of(ensemble), variance_of(chi, "chi")
    first, second = _slopes(activation(phi), q, 2)
    rank = Fraction(gamma) if exact(gamma) else float(gamma)
    s1 = (-1 if ensemble == "gaussian" else rank - 1) / rank
    spread = second / first**2 - 1 - s1
    found = chi ** (2 * depth) * depth * spread
    return found if isinstance(found, Fraction) else float(found)


@implements(
    "random_matrices.jacobian_first_moment",
    "random_matrices.jacobian_second_moment",
    "random_matrices.jacobian_third_moment",
)
def exact_linear_moments(N: int, r: int, depth: int, sigma2: Any, ensemble: str) -> tuple[Fraction, ...]:
    """E tr(JJᵀ)^k/N for k = 1, 2, 3, exactly, of a linear network of finite width.

    J is a product of L independent N × N weights of rank r: W = CA with entries of A of variance σ²/N
    ("gaussian"), or σ times r orthonormal columns and zeros ("orthogonal").

    Args:
        N: width, at least 1.
        r: rank, from 1 to N.
        depth: number of layers L ≥ 1.
        sigma2: σ_α², positive; a float is taken as the fraction that it is.
        ensemble: "gaussian" or "orthogonal".

    Returns:
        Three Fractions. As N → ∞ with r = γN they tend to the `jacobian_moments` of a linear network.

    Raises:
        ValueError, TypeError: numbers out of their domain, another ensemble.

    >>> exact_linear_moments(4, 2, 1, 1, "gaussian")
    (Fraction(1, 2), Fraction(7, 8), Fraction(33, 16))
    """
    N = _count("N", N, 1)
    r = _count("r", r, 1)
    depth = _count("depth", depth, 1)
    if r > N:
        raise ValueError(f"r = {r} is more than the width N = {N}")
    ensemble = ensemble_of(ensemble)
    scale = sp.Rational(str(Fraction(variance_of(sigma2))))
    found = []
    for k in range(1, MOST + 1):
        weight = gaussian_weight(k, scale / N) if ensemble == "gaussian" else haar_weight(k, N, scale)
        step = sp.Matrix(layer(k, sp.Integer(r), weight))
        start = sp.Matrix([sp.Integer(N) ** len(kind) for kind in partitions(k)])
        value = (step**depth * start)[0] / N
        found.append(Fraction(int(value.p), int(value.q)))
    return tuple(found)


@implements("random_matrices.linear_in_depth", "random_matrices.depth_independence")
def largest_depth(gamma: Any, ensemble: str, phi: Any, spread: float) -> float:
    """How deep a network on the edge of chaos may be before the variance of JJᵀ exceeds a bound, at the best q.

    The variance is L(ε - s_1) exactly, ε = μ_2/μ_1² - 1, so that the depth is ⌊spread/(ε - s_1)⌋ with the least ε over
    the q that some network on the edge has, with σ_b² = q/γ - σ_α²E φ² ≥ 0. For a smooth φ with φ(0) = 0 ≠ φ'(0) the
    least ε is 0, at q → 0: what remains is 1/γ for Gaussian and 1/γ - 1 for orthogonal weights, and no choice of q, σ_α
    or σ_b keeps more than γ·spread, or γ·spread/(1 - γ), layers below the bound. For ReLU ε = 1 whatever q is.

    Args:
        gamma, ensemble, phi: as for `jacobian_moments`.
        spread: the largest variance that is allowed, positive.

    Returns:
        The number of layers, as a float: 0 where one layer is too many whatever q is, +inf where no depth is, as for
        linear networks with orthogonal weights of full rank. For tanh and the like of full rank and with orthogonal
        weights it is +inf too: at each depth some q is small enough. In exact arithmetic where ε is known exactly and
        γ and the bound are taken as the numbers that they are; otherwise ε is the least on a grid of q.

    Raises:
        ValueError, TypeError: as `jacobian_moments`; an activation that no network has on the edge of chaos.

    >>> largest_depth(Fraction(1, 4), "gaussian", "tanh", 20.0)
    5.0
    """
    gamma, ensemble, spread = ratio_of_rank(gamma), ensemble_of(ensemble), variance_of(spread, "spread")
    least = _least_excess(activation(phi))
    rank = Fraction(gamma) if isinstance(gamma, (int, float, Fraction)) else Fraction(float(gamma))
    slope = least + (1 / rank if ensemble == "gaussian" else (1 - rank) / rank)
    if slope == 0:
        return math.inf
    bound = Fraction(spread) if isinstance(spread, (int, float, Fraction)) else Fraction(float(spread))
    return float(math.floor(bound / slope))


def _least_excess(phi: Activation) -> Fraction:
    """The least of μ_2/μ_1² - 1 over the lengths of networks on the edge of chaos."""
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: its Jacobian says nothing of its values")
    if phi.name in ("linear", "relu"):
        return Fraction(int(phi.name == "relu"))
    lengths = 10.0 ** np.linspace(-12, 6, 145)
    first, second, square = (
        slope_mean(phi, lengths, 1),
        slope_mean(phi, lengths, 2),
        square_mean(phi, lengths),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        attained = (first > 0) & (lengths - square / first >= -1e-12 * lengths)
        excess = np.where(attained, second / first**2 - 1, math.inf)
    least = float(np.min(excess))
    if least == math.inf:
        raise ValueError(
            f"no network with {phi.name} is on the edge of chaos: its bias would need a negative variance"
        )
    return Fraction(0 if least < 1e-9 else least)


@functools.cache
def _context() -> Any:
    """Numbers of 50 digits, whatever the precision of mpmath is elsewhere."""
    context = mpmath.MPContext()
    context.dps = 50
    return context


def _digits(value: Any) -> Any:
    if isinstance(value, Fraction):
        return _context().mpf(value.numerator) / value.denominator
    return _context().mpf(value)


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{name} = {value} is less than {least}")
    return int(value)


def _slopes(phi: Activation, q: Any, count: int) -> list[Any]:
    """μ_1, …, μ_count; fractions for linear and ReLU networks."""
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: its Jacobian says nothing of its values")
    try:
        length = float(q)
    except (TypeError, ValueError):
        raise TypeError(f"q is a positive length, a number, not {q!r}") from None
    if not 0 < length < math.inf:
        raise ValueError(f"q = {q} is not a positive length")
    if phi.name in ("linear", "relu"):
        return [Fraction(1, 1 if phi.name == "linear" else 2)] * count
    found = [float(slope_mean(phi, np.array([length]), k)[0]) for k in range(1, count + 1)]
    if found[0] <= 0:
        raise ValueError(f"the slope of {phi.name} vanishes at q = {q}")
    return found


def _weight_series(gamma: Any, ensemble: str, k: int, one: Any) -> list[Any]:
    """γσ_α²S_{WᵀW} up to z^{k-1}: 1/(1 + z/γ), times 1 + z for orthogonal weights."""
    geometric = [(-one / gamma) ** j for j in range(k)]
    if ensemble == "gaussian":
        return geometric
    return [c + (geometric[j - 1] if j else 0) for j, c in enumerate(geometric)]


def _product(a: list[Any], b: list[Any]) -> list[Any]:
    return [sum((a[i] * b[n - i] for i in range(n + 1)), 0 * a[0]) for n in range(len(a))]


def _power(a: list[Any], exponent: int, one: Any) -> list[Any]:
    """a^L for a series that begins with 1: k g_k = Σ (L j - (k - j)) a_j g_{k-j}."""
    found = [one]
    for k in range(1, len(a)):
        total = sum(((exponent * j - (k - j)) * a[j] * found[k - j] for j in range(1, k + 1)), 0 * one)
        found.append(total / k)
    return found


def _reversion(a: list[Any], one: Any) -> list[Any]:
    """The inverse under composition of z + a_2 z² + …, by Lagrange: n b_n = [z^{n-1}](z/a)^n."""
    n = len(a)
    inverse = [one]
    for k in range(1, n):
        inverse.append(-sum((a[j] * inverse[k - j] for j in range(1, k + 1)), 0 * one))
    found, power = [], [one] + [0 * one] * (n - 1)
    for m in range(1, n + 1):
        power = _product(power, inverse)
        found.append(power[m - 1] / m)
    return found


def _s_of_moments(moments: list[Any], one: Any) -> list[Any]:
    """S of a law with moments m_1 = 1, m_2, …: (1 + z)ψ⁻¹(z)/z."""
    inverse = _reversion(moments, one)
    return [c + (inverse[j - 1] if j else 0) for j, c in enumerate(inverse)]


def _moments_of_s(s: list[Any], one: Any) -> list[Any]:
    """The moments of a law with S = 1 + s_1 z + …: the reversion of zS/(1 + z)."""
    signs = [one * (-1) ** j for j in range(len(s))]
    return _reversion(_product(s, signs), one)


__all__ = ["exact_linear_moments", "jacobian_moments", "jacobian_variance", "largest_depth"]
