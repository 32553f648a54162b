"""The evaluators of signal propagation, against integrals over Gaussians in many digits.

The evaluators are documented to so many digits of their values, with nothing for the conditioning. So their arguments
are drawn as they are, in tuples, and not varied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import mpmath as mp
import numpy as np

from derivations.signal_propagation import (
    Activation,
    activation,
    chi,
    correlation_gap,
    correlation_map,
    depth_scales,
    edge_of_chaos,
    edge_points,
    fixed_point,
    fixed_points,
    from_fixed_point,
    length_map,
    one_bias_edge,
    one_bias_scales,
)
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import case

DIGITS = 25
Function = Callable[[Any], Any]


def step(x: Any) -> Any:
    return mp.mpf(x > 0)


FUNCTIONS: dict[str, tuple[Function, Function, tuple[int, ...]]] = {
    "linear": (lambda x: x, lambda x: mp.mpf(1), ()),
    "relu": (lambda x: max(x, mp.mpf(0)), step, (0,)),
    "leaky_relu": (lambda x: x if x > 0 else x * mp.mpf(0.01), lambda x: 1 if x > 0 else mp.mpf(0.01), (0,)),
    "erf": (mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-(x**2)), ()),
    "hard_tanh": (lambda x: min(max(x, -1), 1), lambda x: mp.mpf(abs(x) < 1), (-1, 1)),
    "sin": (mp.sin, mp.cos, ()),
    "tanh": (mp.tanh, lambda x: mp.sech(x) ** 2, ()),
    "gelu": (lambda x: x * mp.ncdf(x), lambda x: mp.ncdf(x) + x * mp.npdf(x), ()),
}
"""φ, φ' and the kinks of every activation that has a name."""


def mean(f: Callable[[Any, Any], Any], q: Any, kinks: tuple[int, ...]) -> Any:
    """∫ f(√q z, z) Dz, between points that resolve what changes at √q z of order one, and the kinks."""
    root = mp.sqrt(q)
    ends = [mp.mpf(x) for x in (-14, -6, 0, 6, 14)]
    if root:
        ends += [side * mp.mpf(2) ** k / root for k in range(-1, 8) for side in (-1, 1)]
        ends += [mp.mpf(x) / root for x in kinks]
    kept = sorted({x for x in ends if abs(x) <= 14})
    return mp.quad(lambda z: f(root * z, z) * mp.npdf(z), kept)


def of_digits(function: Any) -> Any:
    """The function, with its values remembered at each precision."""
    known: dict[Any, Any] = {}

    @wraps(function)
    def remembered(*arguments: Any) -> Any:
        key = (mp.mp.dps, *arguments)
        if key not in known:
            known[key] = function(*arguments)
        return known[key]

    return remembered


@of_digits
def square(phi: str, q: Any) -> Any:
    f, _, kinks = FUNCTIONS[phi]
    return mean(lambda x, z: f(x) ** 2, q, kinks)


@of_digits
def slopes(phi: str, q: Any, k: int = 1) -> Any:
    _, d, kinks = FUNCTIONS[phi]
    return mean(lambda x, z: d(x) ** (2 * k), q, kinks)


@of_digits
def square_slope(phi: str, q: Any) -> Any:
    """The derivative of ∫φ²(√q z)Dz in q, which is ∫φφ'z Dz/√q."""
    f, d, kinks = FUNCTIONS[phi]
    return mean(lambda x, z: f(x) * d(x) * z, q, kinks) / mp.sqrt(q)


def pair_gap(phi: str, q: Any, g: Any) -> Any:
    """E φ(u)² - E φ(u)φ(u') for the correlation 1 - g: q ∫_c^1 E φ'φ' dt by Price's rule, where E φ'φ' is known."""
    if phi == "linear":
        return q * g
    if phi == "erf":
        return mp.quad(lambda r: q * erf_slopes(q, r), [0, g])
    if phi == "sin":
        return mp.quad(lambda r: q * mp.exp(-q) * mp.cosh(q * (1 - r)), [0, g])
    if phi == "relu":  # the slopes are both one in the share (π - angle)/2π of all directions
        return mp.quad(lambda r: q * (1 - mp.acos(1 - r) / mp.pi) / 2, [0, g])
    raise ValueError(phi)


def erf_slopes(q: Any, g: Any) -> Any:
    """E φ'φ' of two Gaussian densities: 4/π over the root of the determinant of 1 + 2 times the covariance."""
    return 4 / mp.pi / mp.sqrt((1 + 2 * q * g) * (1 + 2 * q * (2 - g)))


def pair_slopes(phi: str, q: Any, g: Any) -> Any:
    if phi == "erf":
        return erf_slopes(q, g)
    return mp.exp(-q) * mp.cosh(q * (1 - g))  # sin


def numbers(**given: Any) -> dict[str, Any]:
    return {name: mp.mpf(x[0]) if isinstance(x, tuple) else x for name, x in given.items()}


def plain(function: Any) -> Any:
    return lambda **given: function(**{n: x[0] if isinstance(x, tuple) else x for n, x in given.items()})


def network(draw: Draw, names: tuple[str, ...] = tuple(FUNCTIONS)) -> Arguments:
    rng = draw.rng
    return {
        "sigma_alpha2": (10.0 ** rng.uniform(-1, 0.5),),
        "sigma_b2": (rng.choice((0.0, 10.0 ** rng.uniform(-2, 0.5))),),
        "gamma": (rng.choice((1.0, 0.25, rng.uniform(0.05, 1))),),
        "phi": rng.choice(names),
    }


def rank_forgotten(function: Any) -> Any:
    return lambda gamma, **rest: plain(function)(gamma=(1.0,), **rest)


def with_length(draw: Draw) -> Arguments:
    return {
        **network(draw),
        "q": (draw.rng.choice((0.0, *(10.0 ** draw.rng.uniform(-6, 2) for _ in range(9)))),),
    }


def of_points(phi: str, x: tuple[float, ...]) -> Any:
    found = activation(phi)
    return found(np.array(x)), found.derivative(np.array(x))


@case(
    activation,
    returns=Activation,
    draw=lambda draw: {
        "phi": draw.rng.choice(tuple(FUNCTIONS)),
        "x": (0.5, *(draw.rng.choice((1, -1)) * 10.0 ** draw.rng.uniform(-9, 0.7) for _ in range(6))),
    },
    call=of_points,
    mutants={
        "always tanh": lambda phi, x: of_points("tanh", x),
        "the sign of x swapped": lambda phi, x: of_points(phi, tuple(-y for y in x)),
    },
)
def _(phi: str, x: tuple[float, ...]) -> Any:
    f, d, _ = FUNCTIONS[phi]
    return [[f(mp.mpf(y)) for y in x], [d(mp.mpf(y)) for y in x]]


@case(
    length_map,
    draw=with_length,
    call=plain(length_map),
    draws=20,
    mutants={"γ forgotten": rank_forgotten(length_map)},
)
def _(**given: Any) -> Any:
    at = numbers(**given)
    with mp.workdps(DIGITS):
        return [at["gamma"] * (at["sigma_alpha2"] * square(at["phi"], at["q"]) + at["sigma_b2"])]


PAIRS = ("linear", "erf", "sin", "relu")


def two_inputs(name: str) -> Callable[[Draw], Arguments]:
    def drawn(draw: Draw) -> Arguments:
        rng = draw.rng
        gap = rng.choice((0.0, 2.0, 1.0, *(2 * 10.0 ** rng.uniform(-12, 0) for _ in range(7))))
        value = gap if name == "gap" else 1 - gap
        return {name: (value,), **network(draw, PAIRS), "q": (10.0 ** rng.uniform(-4, 0.7),)}

    return drawn


def bias_forgotten(function: Any) -> Any:
    return lambda sigma_b2, **rest: plain(function)(sigma_b2=(0.0,), **rest)


@case(
    correlation_map,
    draw=two_inputs("c"),
    call=plain(correlation_map),
    scale=lambda outputs, **_: [1],
    mutants={"σ_b² forgotten": bias_forgotten(correlation_map)},
)
def _(c: Any, **given: Any) -> Any:
    with mp.workdps(DIGITS):
        return [1 - ratio_of_gap(gap=1 - mp.mpf(c[0]), **numbers(**given))]


def ratio_of_gap(gap: Any, q: Any, sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: str) -> Any:
    return sigma_alpha2 * pair_gap(phi, q, gap) / (sigma_alpha2 * square(phi, q) + sigma_b2)


@case(
    correlation_gap,
    draw=two_inputs("gap"),
    call=plain(correlation_gap),
    mutants={"σ_b² forgotten": bias_forgotten(correlation_gap)},
)
def _(**given: Any) -> Any:
    with mp.workdps(DIGITS):
        return [ratio_of_gap(**numbers(**given))]


@case(chi, draw=with_length, call=plain(chi), draws=20, mutants={"γ forgotten": rank_forgotten(chi)})
def _(**given: Any) -> Any:
    at = numbers(**given)
    with mp.workdps(DIGITS):
        return [at["gamma"] * at["sigma_alpha2"] * slopes(at["phi"], at["q"])]


SATURATED = ("erf", "tanh", "sin", "hard_tanh")
"""Bounded activations, whose lengths have a fixed point for all parameters."""


def bounded(draw: Draw) -> Arguments:
    given = network(draw, SATURATED)
    return {**given, "sigma_b2": (given["sigma_b2"][0] or 0.03,)}


def lengths(q: Any, sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: str) -> Any:
    return gamma * (sigma_alpha2 * square(phi, q) + sigma_b2)


def largest(found: Any, **given: Any) -> Any:
    """q = V(q), and V(q) < q above: what is missing there is negative, and counts as zero.

    For activations that are at most 1, only below γ(σ_α² + σ_b²) could there be another one.
    """
    facts = [(lengths(found, **given) - found, found)]
    most = given["gamma"] * (given["sigma_alpha2"] + given["sigma_b2"])
    with mp.workdps(15):
        for higher in (found * mp.mpf("1.001"), mp.sqrt(found * most)):
            if found < higher < most:
                facts.append((max(lengths(higher, **given) - higher, mp.mpf(0)), higher))
    return facts


@case(
    fixed_point,
    draw=bounded,
    call=plain(fixed_point),
    facts=True,
    draws=6,
    mutants={"γ forgotten": rank_forgotten(fixed_point)},
)
def _(found: Any, **given: Any) -> Any:
    with mp.workdps(DIGITS):
        return largest(found[0][0], **numbers(**given))


@case(
    fixed_points,
    draw=bounded,
    call=lambda **given: list(zip(*plain(fixed_points)(**given), strict=True)),
    facts=True,
    draws=6,
    mutants={"γ forgotten": lambda **given: list(zip(*rank_forgotten(fixed_points)(**given), strict=True))},
)
def _(found: Any, **given: Any) -> Any:
    """All of them; the last is the largest. The slopes are V'."""
    at = numbers(**given)
    with mp.workdps(DIGITS):
        facts = largest(found[0][-1], **at)
        for q, slope in zip(*found, strict=True):
            exact = at["gamma"] * at["sigma_alpha2"] * square_slope(at["phi"], q)
            facts += [(lengths(q, **at) - q, q), (slope - exact, abs(exact) + 1)]
        return facts


@case(
    depth_scales,
    draw=lambda draw: {**bounded(draw), "phi": draw.rng.choice(("erf", "sin"))},
    call=lambda **given: list(plain(depth_scales)(**given)),
    facts=True,
    draws=8,
    mutants={
        "as printed, -1/log χ in both phases": lambda **given: (
            lambda found: [*found[:4], -1 / np.log(found[1]), found[5]]
        )(list(plain(depth_scales)(**given))),
        "γ forgotten": lambda **given: list(rank_forgotten(depth_scales)(**given)),
    },
)
def _(found: Any, **given: Any) -> Any:
    """q* and χ there; C(c*) = c* below one where χ > 1; and minus one over the logarithms of the slopes."""
    at = numbers(**given)
    q, value, c, length, correlation, phase = (x[0] for x in found)
    with mp.workdps(DIGITS):
        scale = at["gamma"] * at["sigma_alpha2"]
        growth = scale * square_slope(at["phi"], q)
        facts = [*largest(q, **at), (value - scale * slopes(at["phi"], q), value)]
        facts.append((phase - mp.sign(value - 1), 1))
        rate = scale * pair_slopes(at["phi"], q, 1 - c) if phase > 0 else value
        facts.append((1 - c, 1) if phase <= 0 else (scale * pair_gap(at["phi"], q, 1 - c) - q * (1 - c), q))
        # A depth scale -1/log r takes from r what 1/log r does.
        for scale_found, of in ((length, abs(growth)), (correlation, rate)):
            exact = -1 / mp.log(of)
            facts.append((scale_found - exact, abs(exact) * (1 + abs(exact)) * 10))
        return facts


def on_edge(draw: Draw) -> Arguments:
    rng = draw.rng
    return {
        "q_star": (10.0 ** rng.uniform(-3, 1),),
        "gamma": network(draw)["gamma"],
        "phi": rng.choice(("erf", "tanh", "linear", "relu", "hard_tanh")),
    }


@case(
    from_fixed_point,
    draw=on_edge,
    call=plain(from_fixed_point),
    scale=lambda outputs, q_star, gamma, phi: [outputs[0][0], mp.mpf(q_star[0]) / mp.mpf(gamma[0])],
    mutants={"γ forgotten": rank_forgotten(from_fixed_point)},
)
def _(**given: Any) -> Any:
    at = numbers(**given)
    with mp.workdps(DIGITS):
        sigma2 = 1 / (at["gamma"] * slopes(at["phi"], at["q_star"]))
        return [sigma2, at["q_star"] / at["gamma"] - sigma2 * square(at["phi"], at["q_star"])]


def bias(draw: Draw) -> Arguments:
    given = network(draw, ("erf", "tanh"))
    return {"sigma_b2": (10.0 ** draw.rng.uniform(-2, 0.3),), "gamma": given["gamma"], "phi": given["phi"]}


def of_edge(sigma_alpha2: Any, q: Any, sigma_b2: Any, gamma: Any, phi: str) -> Any:
    """χ = 1 and q = V(q)."""
    return [
        (gamma * sigma_alpha2 * slopes(phi, q) - 1, 1),
        (lengths(q, sigma_alpha2, sigma_b2, gamma, phi) - q, q),
    ]


@case(
    edge_of_chaos,
    draw=bias,
    call=lambda **given: list(plain(edge_of_chaos)(**given)),
    facts=True,
    draws=6,
    mutants={"γ forgotten": lambda **given: list(rank_forgotten(edge_of_chaos)(**given))},
)
def _(found: Any, **given: Any) -> Any:
    with mp.workdps(DIGITS):
        return of_edge(found[0][0], found[1][0], **numbers(**given))


@case(
    edge_points,
    draw=bias,
    call=lambda **given: list(zip(*plain(edge_points)(**given), strict=True)),
    facts=True,
    draws=6,
    mutants={"γ forgotten": lambda **given: list(zip(*rank_forgotten(edge_points)(**given), strict=True))},
)
def _(found: Any, **given: Any) -> Any:
    with mp.workdps(DIGITS):
        return [
            fact for sigma2, q in zip(*found, strict=True) for fact in of_edge(sigma2, q, **numbers(**given))
        ]


def one_bias(draw: Draw) -> Arguments:
    """Networks whose lengths have a stationary law, that of a linear recursion."""
    rng = draw.rng
    phi, slope = rng.choice((("linear", 1.0), ("relu", 0.5)))
    gamma = rng.choice((1.0, 0.25))
    return {
        "sigma_alpha2": rng.uniform(0.2, 0.9) / (gamma * slope),
        "sigma_b2": 10.0 ** rng.uniform(-2, 1),
        "gamma": gamma,
        "phi": phi,
    }


def scales(**given: Any) -> Any:
    found = one_bias_scales(**given)
    return found.mean_length, found.variance_of_length, found.exponent, found.correlation


@case(
    one_bias_scales,
    draw=one_bias,
    call=scales,
    draws=8,
    tolerance=2e-10,
    perturbation=1e-8,
    mutants={
        "independent biases": lambda **given: (scales(**given)[0], 0.0, *scales(**given)[2:]),
        "the bias twice": lambda sigma_b2, **rest: scales(sigma_b2=2 * sigma_b2, **rest),
    },
)
def _(sigma_alpha2: Any, sigma_b2: Any, gamma: Any, phi: str) -> Any:
    """q' = γ(σ_α²s q + b²) with s = Eφ²/q: the mean, the variance and the rate of a linear recursion."""
    rate = gamma * sigma_alpha2 * (1 if phi == "linear" else mp.mpf(1) / 2)
    return [
        gamma * sigma_b2 / (1 - rate),
        2 * (gamma * sigma_b2) ** 2 / (1 - rate**2),
        mp.log(rate),
        -1 / mp.log(rate),
    ]


def erf_exponent(sigma_alpha2: float, sigma_b2: float, gamma: float) -> float:
    """E log χ for erf: the transfer operator of y = Eφ²(q), q' = γ(σ_α²y + b²), applied until it has averaged.

    χ = γσ_α² 4/(π √(1 + 4q)) and Eφ² = (2/π) arcsin(2q/(1 + 2q)) are the statements of the erf kernel.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    degree = 48
    y = (1 + np.cos(np.pi * (np.arange(degree) + 0.5) / degree)) / 2
    q = gamma * (sigma_alpha2 * y[:, None] + sigma_b2 * nodes**2)
    following = 2 / np.pi * np.arcsin(2 * q / (1 + 2 * q))
    values = np.log(gamma * sigma_alpha2 * 4 / np.pi / np.sqrt(1 + 4 * q)) @ weights
    step = np.polynomial.chebyshev.chebvander(2 * following - 1, degree - 1) @ weights_of(degree)
    operator = np.einsum("ijk,j->ik", step, weights)
    for _ in range(400):
        values = operator @ values
    return float(values.mean())


def weights_of(degree: int) -> np.ndarray:
    """The coefficients of Chebyshev's polynomials from values at their zeros."""
    x = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
    return np.linalg.inv(np.polynomial.chebyshev.chebvander(x, degree - 1))


def with_one_bias(draw: Draw) -> Arguments:
    return {"sigma_b2": draw.rng.uniform(0.05, 0.6), "gamma": draw.rng.choice((1.0, 0.25)), "phi": "erf"}


@case(
    one_bias_edge,
    draw=with_one_bias,
    facts=True,
    draws=4,
    tolerance=3e-8,
    perturbation=1e-6,
    mutants={
        "independent biases": lambda sigma_b2, gamma, phi: edge_of_chaos(sigma_b2, gamma, phi).sigma_alpha2
    },
)
def _(found: Any, sigma_b2: Any, gamma: Any, phi: str) -> Any:
    """E log χ = 0 under the stationary law."""
    ((variance,),) = found
    return [(mp.mpf(erf_exponent(float(variance), float(sigma_b2), float(gamma))), mp.mpf(1))]
