r"""The moments of JJᵀ, to any order and at any depth, by reversion of a series.

If the factors of J = Π D^(l)W^(l) are free, S of JJᵀ is S_{D²}^L S_{WᵀW}^L. With S_{D²} from the moments μ_k of φ'² and
γσ_α² S_{WᵀW} = 1 + Σ s_k z^k, a power with the symbolic exponent L and one reversion give all m_k: m_1 = χ^L and

    m_2 = χ^{2L}(1 + L(μ_2/μ_1² - 1 - s_1)).

Whether they are free depends on the weights. Rows of A in uniformly random directions, as low-rank Gaussian weights
have them, are free of the diagonal D of the layer before. The low-rank orthogonal weights of Sec. 3.2 see the first r
coordinates alone, W = σ_α(Q, 0): these commute with D, and the truncated layers R D Q are what is multiplied. Then

    m_2/m_1² - 1 = L(μ_2/μ_1² - 2 + 1/γ) + (L - 1)(μ_2/μ_1² - 1)(1/γ - 1),

more than the paper has for γ < 1, unless φ is linear. With W = σ_αQRᵀ, R a Haar matrix of r columns, all is as printed
(naitsaada2023, Sec. 3.1).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.random_matrices.spectra import gaussian_weights
from derivations.random_matrices.spectra.gaussian_weights import FRAME, SIZES, A, C, before
from derivations.random_matrices.spectra.single_layer import D, layer_law, scale
from derivations.random_matrices.spectra.transforms import moments_of, s_series
from derivations.random_matrices.symbols import (
    L,
    gamma,
    mu1,
    mu2,
    mu3,
    mu4,
    mu5,
    s1,
    s2,
    s3,
    s4,
    sigma,
    z,
)
from symdyn.calculus.matrix import eye, gaussian_mean, matrix, trace
from symdyn.calculus.series import Series
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Statement
from symdyn.statements.matrix import MatrixIdentity

mus = (mu1, mu2, mu3, mu4, mu5)
coefficients = (s1, s2, s3, s4)
mean = gamma * sigma**2 * mu1
"""χ, the first moment of one layer."""
variables = (gamma, sigma, L, mu1, mu2, mu3, s1, s2)
POSITIVE = {gamma: 1, sigma: 1, L: 1, mu1: 1, mu2: 1}
layers = Domain(variables, (), (Cell("layers", POSITIVE),))


def layer_series(order: int, weights: Series | None = None) -> Series:
    """S_{D²} S_{WᵀW} of one layer times χ: a series that begins with 1."""
    of_slopes = s_series(mus[: order + 1]).map(lambda c: c * mu1)
    own = Series([1, *coefficients[:order]], z) if weights is None else weights
    return of_slopes * own


def relative_moments(count: int, weights: Series | None = None) -> tuple[Any, ...]:
    """m_k/m_1^k of JJᵀ for L free layers, k = 1, …, count."""
    return moments_of(layer_series(count - 1, weights).power(L))


def truncated_moments(count: int) -> tuple[Any, ...]:
    """m_k/m_1^k for low-rank orthogonal weights W = σ_α(Q, 0) as they stand, of which the first r coordinates are seen.

    JJᵀ has the eigenvalues of r × r matrices: L - 1 factors R D²R of the law of D², as many RQ of which S is
    (1 + γz)/(γ + γz), and QᵀD²Q, a free compression, of which S(z) is S_{D²}(γz). The trace over N has γ of theirs.
    """
    order = count - 1
    slopes = s_series(mus[: order + 1]).map(lambda c: c * mu1)
    inner = Series.of((1 + gamma * z) / (1 + z), z, order)
    last = Series([c * gamma**k for k, c in enumerate(slopes.coefficients)], z)
    found = moments_of((slopes * inner).power(L - 1) * last)
    return tuple(m / gamma ** (k - 1) for k, m in enumerate(found, 1))


def truncated() -> Statement:
    """Low-rank orthogonal weights with columns of zeros: the second moment as printed."""
    strict = Domain(
        (gamma, L, mu1, mu2),
        (),
        (Cell("γ < 1, φ not linear", {gamma: 1, L: 1, mu1: 1, mu2: 1}),),
        conditions=(gamma < 1, L > 1, mu2 > mu1**2),
    )
    found = truncated_moments(2)[1]
    return Identity(found, 1 + L * (mu2 / mu1**2 - 1 - (1 - 1 / gamma)), on=strict)


FREE = added(
    "the weights are in uniformly random directions on both sides, for orthogonal ones W = σ_α Q Rᵀ with "
    "independent Haar Q and R of r columns; or φ is linear",
    counterexample=truncated,
)


@result(
    ledger=("naitsaada2023.s-jacobian",),
    domain=layers,
    hypotheses=(FREE,),
    uses=("random_matrices.multiplicativity", "random_matrices.jacobian_product"),
)
def jacobian_s() -> Existence:
    """S of JJᵀ is S_{D²}^L S_{WᵀW}^L where the layers are free.

    The facts are the moments of L linear layers, carried from layer to layer by the exact recursion for r = γN → ∞: the
    second moments of L + 1 layers by those of L, for Gaussian and for orthogonal weights.
    """
    gaussian, orthogonal = (_linear(weights) for weights in (GAUSSIAN, ORTHOGONAL))
    scale2 = (gamma * sigma**2) ** 2
    return Existence(
        r"$S_{JJ^\top}=S_{D^2}^LS_{W^\top W}^L$ for free layers (Voiculescu; Pennington, Schoenholz, Ganguli)",
        (
            Identity(scale2 * gaussian.subs(L, L + 1), sigma**4 * (gamma**2 * gaussian + gamma)),
            Identity(
                scale2 * orthogonal.subs(L, L + 1),
                sigma**4 * (gamma**2 * orthogonal + gamma - gamma**2),
            ),
        ),
        formula=r"S_{JJ^\top} = S_{D^2}^L\,S_{W^\top W}^L",
    )


GAUSSIAN = Series([1, -1 / gamma, 1 / gamma**2, -1 / gamma**3, 1 / gamma**4], z)
ORTHOGONAL = Series.of((1 + z) / (1 + z / gamma), z, 4)


def _linear(weights: Series) -> Any:
    """m_2/m_1² for L linear layers."""
    return moments_of(weights.cut(1).power(L))[1]


@result(
    ledger=("naitsaada2023.moment-definitions",),
    domain=Domain((gamma, sigma, mu1, mu2, mu3), (), (Cell("all", {gamma: 1, sigma: 1, mu1: 1}),)),
    uses=(
        "random_matrices.s_transform",
        "random_matrices.gaussian_limits",
        "random_matrices.orthogonal_s_scaled",
    ),
    hypotheses=(
        stated(
            "Sec. 3.1", "the weights are identically distributed along layers, so that all widths are equal"
        ),
    ),
)
def moment_definitions() -> Conjunction:
    """The prefactor of S_{WᵀW} is 1/m_1 = 1/(γσ_α²) for both ensembles, with equal widths.

    The third fact is S_{D²}, by its moments μ_k.
    """
    powers = tuple(gamma * sigma ** (2 * k) for k in (1, 2))
    prefactor = 1 / (gamma * sigma**2)
    return Conjunction(
        Identity(s_series(gaussian_weights.limits)[0], prefactor, name="S_{W^\\top W}(0)"),
        Identity(s_series(powers)[0], prefactor),
        Identity(s_series((mu1, mu2)), Series([1 / mu1, -(mu2 - mu1**2) / mu1**3], z), name="S_{D^2}(z)"),
    )


@result(
    ledger=("naitsaada2023.jacobian-first-moment",),
    domain=layers,
    uses=("random_matrices.mean_square_limit", "random_matrices.moment_definitions"),
)
def jacobian_first_moment() -> Conjunction:
    """The first moment of JJᵀ, the mean squared singular value of J, is χ^L = (γσ_α²μ_1)^L.

    It needs no freeness. Given X = JJᵀ of the layers before, E_A tr(DWXWᵀD) = σ_α² tr(DCCᵀD) tr(X)/N is the first fact:
    each layer multiplies the trace by χ. The others say that free layers and the truncated orthogonal ones agree.
    """
    given, moved = matrix("X", before, before, symmetric=True), D @ C @ A
    of_a = gaussian_mean(trace(moved @ given @ moved.T), layer_law)
    return Conjunction(
        MatrixIdentity(
            of_a * eye(1),
            scale**2 / before * trace(D @ C @ C.T @ D) * trace(given) * eye(1),
            SIZES,
            FRAME,
            name=r"E_A\mathrm{tr}\,DWXW^\top D",
        ),
        Identity((gamma * sigma**2 / s_series((mu1, mu2))[0]) ** L, mean**L, name="m_1"),
        Identity(relative_moments(2)[0], sp.S.One),
        Identity(truncated_moments(2)[0], sp.S.One),
    )


@result(
    ledger=("naitsaada2023.jacobian-second-moment",),
    domain=layers,
    hypotheses=(FREE,),
    uses=("random_matrices.jacobian_s", "random_matrices.jacobian_first_moment"),
)
def jacobian_second_moment() -> Conjunction:
    """The second moment of JJᵀ for L free layers.

    The second fact is that the power of the series is one: f g' = L f' g. The last is that the reversion is one.
    """
    one = layer_series(1)
    power = one.power(L)
    psi = Series([0, *relative_moments(2)], z)
    inverse = (power / Series([1, 1], z)).shifted(1)
    return Conjunction(
        Identity(
            mean ** (2 * L) * relative_moments(2)[1],
            mean ** (2 * L) * L * (mu2 / mu1**2 + 1 / L - 1 - s1),
            name="m_2",
        ),
        Identity(power.logarithmic(one, L), Series([0], z)),
        Identity(psi.compose(inverse), Series([0, 1, 0], z)),
    )


@result(domain=layers, hypotheses=(FREE,), uses=("random_matrices.jacobian_s",))
def jacobian_third_moment() -> Conjunction:
    """The third moment of JJᵀ over m_1³ for L free layers, by a = μ_2/μ_1² - 1 - s_1 and what the third order adds.

    With b = 2(μ_2/μ_1²)² - μ_3/μ_1³ - μ_2/μ_1² + 1 + …, collected from S of one layer, 1 - a z + b z² + …
    """
    one = layer_series(2)
    a, b = -one[1], one[2]
    value = 1 + 3 * L * a + L * (3 * L * a**2 + a**2 - 2 * b) / 2
    return Conjunction(
        Identity(a, mu2 / mu1**2 - 1 - s1, name="a"),
        Identity(relative_moments(3)[2], value, name="m_3/m_1^3"),
        Identity(
            Series([0, *relative_moments(3)], z).compose((one.power(L) / Series([1, 1, 0], z)).shifted(1)),
            Series([0, 1, 0, 0], z),
        ),
    )


@result(domain=layers.restrict(gamma <= 1), uses=("random_matrices.jacobian_product",))
def truncated_second_moment() -> Existence:
    """The second moment for low-rank orthogonal weights as they stand in Sec. 3.2, W = σ_α(Q, 0).

    Their columns of zeros make a layer see the first r coordinates of the one before, and these commute with D.
    """
    ratio = mu2 / mu1**2
    value = 1 + L * (ratio - 2 + 1 / gamma) + (L - 1) * (ratio - 1) * (1 / gamma - 1)
    return Existence(
        r"for $W=\sigma_\alpha(Q,0)$, by free compressions (Nica and Speicher 1996)",
        (Identity(truncated_moments(2)[1], value, name="m_2/m_1^2"),),
        formula=r"\frac{m_2}{m_1^2} = 1 + L\left(\frac{\mu_2}{\mu_1^2}-2+\frac1\gamma\right)"
        r" + (L-1)\left(\frac{\mu_2}{\mu_1^2}-1\right)\left(\frac1\gamma-1\right)",
    )
