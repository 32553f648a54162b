"""The evaluators of random matrices, against the statements of their results and integrals of the stated laws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np

from derivations.random_matrices import (
    JacobianLaw,
    SlopeLaw,
    SpectralLaw,
    exact_linear_moments,
    jacobian_density,
    jacobian_moments,
    jacobian_variance,
    largest_depth,
    slope_law,
    spectral_law,
)
from derivations.signal_propagation import activation
from symdyn.catalogue.registry import load
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import case, formula
from tests.agreement.tied.signal_propagation import DIGITS, slopes

ENSEMBLES = ("gaussian", "orthogonal")
SECOND = load("random_matrices.jacobian_second_moment").statement.because[0].rhs
"""m_2 by s_1, the first coefficient of the series of S."""
THIRD = load("random_matrices.jacobian_third_moment").statement.because[1].rhs
"""m_3/m_1³ by s_1 and s_2."""
VARIANCE = load("random_matrices.jacobian_variance_formula").statement.rhs
"""The variance on the edge of chaos, m_1 = 1."""


def network(draw: Draw) -> Arguments:
    rng = draw.rng
    phi = rng.choice(("linear", "relu", "tanh", "erf", "hard_tanh"))
    return {
        "depth": rng.choice((1, 2, 3, 10)),
        "gamma": rng.choice((Fraction(1), Fraction(1, 4), Fraction(2, 3))),
        "ensemble": rng.choice(ENSEMBLES),
        "phi": phi,
        "q": (10.0 ** rng.uniform(-2, 1),),
        "chi": rng.choice((1, Fraction(9, 10), Fraction(5, 4))),
    }


def exact(x: Fraction | int) -> Any:
    return mp.mpf(Fraction(x).numerator) / Fraction(x).denominator


def of_series(gamma: Any, ensemble: str) -> tuple[Any, Any]:
    """s_1 and s_2 of S = (1 + s_1 z + s_2 z² + …)/(γσ²): 1/(1 + z/γ), times 1 + z for orthogonal weights."""
    if ensemble == "gaussian":
        return -1 / gamma, 1 / gamma**2
    return 1 - 1 / gamma, 1 / gamma**2 - 1 / gamma


def stated_moments(depth: int, gamma: Any, ensemble: str, phi: str, q: Any, chi: Any) -> tuple[Any, Any, Any]:
    with mp.workdps(DIGITS):
        g, x, length = exact(gamma), exact(chi), mp.mpf(q[0])
        s1, s2 = of_series(g, ensemble)
        mu = [slopes(phi, length, k) for k in (1, 2, 3)]
        sigma = mp.sqrt(x / (g * mu[0]))
        at = {"L": mp.mpf(depth), "gamma": g, "sigma": sigma, "s1": s1, "s2": s2}
        at |= {"mu1": mu[0], "mu2": mu[1], "mu3": mu[2]}
        first = x**depth
        return first, formula(SECOND, **at), first**3 * formula(THIRD, **at)


def moments_of(q: Any, **given: Any) -> Any:
    return [float(m) for m in jacobian_moments(q=q[0], k=3, **given)]


def rank_forgotten(function: Any) -> Any:
    return lambda gamma, **rest: function(gamma=Fraction(1), **rest)


def other_ensemble(function: Any) -> Any:
    return lambda ensemble, **rest: function(ensemble=ENSEMBLES[ensemble == "gaussian"], **rest)


@case(
    jacobian_moments,
    draw=network,
    call=moments_of,
    draws=12,
    mutants={"γ forgotten": rank_forgotten(moments_of), "the other ensemble": other_ensemble(moments_of)},
)
def _(**given: Any) -> Any:
    return list(stated_moments(**given))


def variance_of(q: Any, **given: Any) -> Any:
    return float(jacobian_variance(q=q[0], **given))


@case(
    jacobian_variance,
    draw=network,
    call=variance_of,
    draws=12,
    scale=lambda outputs, depth, gamma, chi, **_: [abs(outputs[0][0]) + exact(chi) ** (2 * depth)],
    mutants={"γ forgotten": rank_forgotten(variance_of), "the other ensemble": other_ensemble(variance_of)},
)
def _(depth: int, gamma: Any, ensemble: str, phi: str, q: Any, chi: Any) -> Any:
    with mp.workdps(DIGITS):
        mu1, mu2 = (slopes(phi, mp.mpf(q[0]), k) for k in (1, 2))
        s1, _ = of_series(exact(gamma), ensemble)
        return [exact(chi) ** (2 * depth) * formula(VARIANCE, L=mp.mpf(depth), mu1=mu1, mu2=mu2, s1=s1)]


def finite(draw: Draw) -> Arguments:
    rng = draw.rng
    N = rng.choice((2, 3, 4, 6))
    return {
        "N": N,
        "r": rng.choice((1, N, rng.randint(1, N))),
        "depth": rng.choice((1, 2, 3)),
        "sigma2": Fraction(rng.randint(1, 9), rng.randint(1, 9)),
        "ensemble": rng.choice(ENSEMBLES),
    }


def of_width(**given: Any) -> Any:
    return [[float(x)] for x in exact_linear_moments(**given)]


@case(
    exact_linear_moments,
    draw=finite,
    call=of_width,
    facts=True,
    draws=40,
    mutants={
        "of infinite width": lambda N, r, depth, sigma2, ensemble: [
            [float(m)]
            for m in jacobian_moments(
                depth, Fraction(r, N), ensemble, "linear", 1, 3, chi=Fraction(r, N) * sigma2
            )
        ],
        "the other ensemble": other_ensemble(of_width),
    },
)
def _(found: Any, N: int, r: int, depth: int, sigma2: Fraction, ensemble: str) -> Any:
    """Moments of Wishart matrices (AAᵀ with entries of the variance s), and of projections in random directions."""
    known: list[Any] = [(sigma2 * r / N) ** depth, None, None]
    s = sigma2 / N
    if ensemble == "gaussian":
        # E tr (A X Aᵀ)² and E (tr A X Aᵀ)² of independent rows a, by E(aᵀXb)² = s² tr X² and that of aᵀXa
        square, trace = Fraction(N), Fraction(N**2)
        for _layer in range(depth):
            square, trace = (
                s**2 * ((r**2 + r) * square + r * trace),
                s**2 * (2 * r * square + r**2 * trace),
            )
        known[1] = square / N
        if depth == 1:
            known[2] = s**3 * r * (r**2 + N**2 + 3 * r * N + 3 * r + 3 * N + 4)
    elif depth == 1 or r == N:
        known[1:] = [sigma2 ** (k * depth) * r / N for k in (2, 3)]
    elif depth == 2:
        # tr PΠPΠ of a fixed and a random projection: E Π_ij Π_kl = a δ_ij δ_kl + b (δ_ik δ_jl + δ_il δ_jk)
        b = (r - Fraction(r**2, N)) / ((N - 1) * (N + 2))
        a = (r**2 - 2 * b * N) / Fraction(N**2)
        known[1] = sigma2**4 * (a * r + b * (r + r**2)) / N
    return [(f[0] - exact(x), exact(x)) for f, x in zip(found, known, strict=True) if x is not None]


def allowed(draw: Draw) -> Arguments:
    rng = draw.rng
    return {
        "gamma": rng.choice((Fraction(1), Fraction(1, 4), Fraction(2, 3))),
        "ensemble": rng.choice(ENSEMBLES),
        "phi": rng.choice(("linear", "relu", "tanh", "erf")),
        "spread": (rng.choice((20.0, 0.25, 10.0 ** rng.uniform(-1, 3))),),
    }


def deepest(spread: Any, **given: Any) -> Any:
    return largest_depth(spread=spread[0], **given)


@case(
    largest_depth,
    draw=allowed,
    call=deepest,
    discrete=True,
    draws=40,
    mutants={"γ forgotten": rank_forgotten(deepest), "one layer more": lambda **given: deepest(**given) + 1},
)
def _(gamma: Fraction, ensemble: str, phi: str, spread: Any) -> Any:
    """The variance is linear in depth, with the slope μ_2/μ_1² - 1 - s_1: for ReLU 1 - s_1, else at best -s_1."""
    s1, _ = of_series(gamma, ensemble)
    slope = (phi == "relu") - s1
    return [mp.inf if slope == 0 else mp.mpf(math.floor(Fraction(spread[0]) / Fraction(slope)))]


def law(draw: Draw) -> Arguments:
    rng = draw.rng
    return {
        "gamma": (rng.choice((1.0, 0.25, rng.uniform(0.05, 0.95))),),
        "sigma2": (10.0 ** rng.uniform(-2, 2),),
        "ensemble": rng.choice(ENSEMBLES),
        "inside": (rng.uniform(0.05, 0.95),),
        "z": (rng.uniform(-2, 3), rng.choice((1, -1)) * 10.0 ** rng.uniform(-1, 1)),
    }


def seen(gamma: Any, sigma2: Any, ensemble: str, inside: Any, z: Any) -> Any:
    """Density and distribution function within the bulk, three moments, G, and S at γ/2 below zero."""
    found, (low, high) = spectral_law(gamma[0], sigma2[0], ensemble), edges(gamma[0], sigma2[0])
    x = low + inside[0] * (high - low)
    at = found.stieltjes(sigma2[0] * complex(*z))
    moments = [float(found.moment(k)) for k in (0, 1, 2, 3)]
    return (
        float(found.density(x)),
        float(found.cdf(x)),
        moments,
        [at.real, at.imag],
        float(found.s_transform(-gamma[0] / 2)),
    )


def edges(gamma: Any, sigma2: Any) -> tuple[Any, Any]:
    """λ^± = σ²(1 ± √γ)²."""
    root = mp.sqrt(gamma) if isinstance(gamma, mp.mpf) else math.sqrt(gamma)
    return sigma2 * (1 - root) ** 2, sigma2 * (1 + root) ** 2


@case(
    spectral_law,
    returns=SpectralLaw,
    draw=law,
    call=seen,
    draws=8,
    scale=lambda outputs, sigma2, **_: [
        abs(outputs[0][0]) + 1 / mp.mpf(sigma2[0]),
        1,
        *(mp.norm(x) for x in outputs[2:]),
    ],
    mutants={
        "γ and 1 - γ exchanged": lambda gamma, **rest: seen(gamma=(1.01 - gamma[0],), **rest),
        "the other ensemble": other_ensemble(seen),
    },
)
def _(gamma: Any, sigma2: Any, ensemble: str, inside: Any, z: Any) -> Any:
    """The stated law: its density, and its integrals."""
    with mp.workdps(DIGITS):
        g, scale, place = mp.mpf(gamma[0]), mp.mpf(sigma2[0]), mp.mpc(*z) * mp.mpf(sigma2[0])
        low, high = edges(g, scale)
        # the point at which the evaluator is asked, as the float that it is
        first, last = edges(gamma[0], sigma2[0])
        x = mp.mpf(first + inside[0] * (last - first))
        atoms = {mp.mpf(0): 1 - g} if ensemble == "gaussian" else {mp.mpf(0): 1 - g, scale: g}

        def density(y: Any) -> Any:
            return mp.sqrt((high - y) * (y - low)) / (2 * mp.pi * scale * y)

        def over(f: Any, end: Any = None) -> Any:
            """∫ f dρ up to an end; y = λ⁻ + (λ⁺ - λ⁻) sin²(θ/2) takes the roots at the edges away."""
            total = mp.fsum(m * f(y) for y, m in atoms.items() if end is None or y <= end)
            if ensemble == "orthogonal":
                return total
            width = high - low
            until = mp.pi if end is None else 2 * mp.asin(mp.sqrt((end - low) / width))

            def along(theta: Any) -> Any:
                y = low + width * mp.sin(theta / 2) ** 2
                return f(y) * width**2 * mp.sin(theta) ** 2 / (8 * mp.pi * scale * y)

            return total + mp.quad(along, [0, until / 2, until])

        def psi(w: Any) -> Any:
            return over(lambda y: w * y / (1 - w * y))

        # S(ζ) = (1 + ζ)w/ζ where ψ(w) = ζ, which falls from zero to -γ as w goes from zero to -∞
        zeta = -g / 2
        w = mp.findroot(lambda v: psi(-mp.exp(v)) - zeta, (-mp.log(scale), -mp.log(scale) + mp.mpf(1) / 8))
        at = over(lambda y: 1 / (place - y))
        bulk = density(x) if ensemble == "gaussian" else mp.mpf(0)
        moments = [over(lambda y, k=k: y**k) for k in range(4)]
        return [
            bulk,
            over(lambda y: mp.mpf(1), x),
            moments,
            [at.real, at.imag],
            -(1 + zeta) * mp.exp(w) / zeta,
        ]


def off_the_axis(draw: Draw) -> Arguments:
    """A point of the upper half-plane, in polar coordinates; of the size that eigenvalues have, most of the time."""
    rng = draw.rng
    return {"modulus": 10.0 ** rng.uniform(-1.5, 1.5), "angle": math.pi * rng.uniform(0.02, 0.98)}


def piecewise_constant_slopes(draw: Draw) -> Arguments:
    """Networks whose φ'² is 1 or 0, so that S of D² is elementary."""
    rng = draw.rng
    return {
        "depth": rng.choice((1, 2, 3, 10)),
        "gamma": rng.choice((Fraction(1), Fraction(1, 4), Fraction(2, 3))),
        "ensemble": rng.choice(ENSEMBLES),
        "phi": rng.choice(("linear", "relu")),
        "chi": rng.choice((1, Fraction(9, 10), Fraction(5, 4))),
        **off_the_axis(draw),
    }


def of_jacobian(modulus: Any, angle: Any, **given: Any) -> Any:
    """G at a point, its real and its imaginary part."""
    found = jacobian_density(q=1.0, **given).stieltjes(modulus * np.exp(1j * angle))
    return found.real, found.imag


@case(
    jacobian_density,
    returns=JacobianLaw,
    draw=piecewise_constant_slopes,
    call=of_jacobian,
    facts=True,
    draws=24,
    tolerance=1e-11,
    mutants={
        "one layer more": lambda depth, **rest: of_jacobian(depth=depth + 1, **rest),
        "the other ensemble": lambda ensemble, **rest: of_jacobian(
            ensemble=ENSEMBLES[ensemble == "gaussian"], **rest
        ),
        "the other half-plane": lambda angle, **rest: of_jacobian(angle=-angle, **rest),
    },
)
def _(found: Any, depth: int, gamma: Any, ensemble: str, phi: str, chi: Any, modulus: Any, angle: Any) -> Any:
    """1/z = m/(1 + m) S_{D²}^L S_{WᵀW}^L for m = zG - 1, on the branch with Im G < 0.

    S_{D²} = (1 + m)/(m + p) with p = P(φ' = 1), and S_{WᵀW} = 1/(σ²(γ + m)), times 1 + m for orthogonal weights.
    """
    ((real,), (imaginary,)) = found
    p, g = mp.mpf(1) if phi == "linear" else mp.mpf(1) / 2, exact(gamma)
    variance = exact(chi) / (g * p)
    z = modulus * mp.expj(angle)
    m = z * mp.mpc(real, imaginary) - 1
    of_weights = (1 if ensemble == "gaussian" else 1 + m) / (variance * (g + m))
    product = z * m / (1 + m) * ((1 + m) / (m + p) * of_weights) ** depth
    # What the digits of G, of the size of 1/z, mean for the product.
    slope = 1 / m - 1 / (1 + m) + depth * (1 / (1 + m) - 1 / (m + p) - 1 / (g + m))
    slope += depth / (1 + m) if ensemble == "orthogonal" else 0
    return [(abs(product - 1), 1 + abs(slope) * abs(1 + m)), (max(imaginary, mp.mpf(0)), mp.mpf("1e-200"))]


ANALYTIC = {"erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-(x**2)), "sin": np.cos}
"""φ' of analytic functions, in floats."""


def slopes_at(draw: Draw) -> Arguments:
    phi = draw.rng.choice(("relu", "erf", "hard_tanh", "sin"))
    return {"phi": phi, "q": (10.0 ** draw.rng.uniform(-1.5, 0.5),), **off_the_axis(draw)}


def of_slopes(phi: str, q: Any, modulus: Any, angle: Any) -> Any:
    """M(w), its real and its imaginary part."""
    found = slope_law(activation(phi), q[0]).transforms(modulus * np.exp(1j * angle))[0]
    return found.real, found.imag


@case(
    slope_law,
    returns=SlopeLaw,
    draw=slopes_at,
    call=of_slopes,
    facts=True,
    draws=16,
    tolerance=2e-9,
    perturbation=1e-7,
    mutants={
        "the conjugate": lambda angle, **rest: of_slopes(angle=-angle, **rest),
        "of another length": lambda q, **rest: of_slopes(q=(q[0] * 1.0001,), **rest),
    },
)
def _(found: Any, phi: str, q: Any, modulus: Any, angle: Any) -> Any:
    """M(w) = E d/(w - d) for d = φ'(√q z)²: by the trapezoidal rule where φ is analytic.

    The rule of the evaluator is good to 1e-9 where w is close to the law, as its densities are.
    """
    ((real,), (imaginary,)) = found
    w, root = complex(modulus * mp.expj(angle)), math.sqrt(q[0])
    if phi in ANALYTIC:
        z = np.linspace(-12, 12, 2_000_001)
        d = ANALYTIC[phi](root * z) ** 2
        true = (
            float(z[1] - z[0]) * complex((np.exp(-(z**2) / 2) * d / (w - d)).sum()) / math.sqrt(2 * math.pi)
        )
    else:  # d is 1 or 0
        true = float(slopes(phi, mp.mpf(q[0]))) / (w - 1)
    return [(abs(mp.mpc(real, imaginary) - true), mp.mpf(abs(true)))]
