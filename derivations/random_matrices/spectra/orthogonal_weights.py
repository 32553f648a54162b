r"""The transforms of low-rank orthogonal weights.

W = σ_α (Q, 0) with r orthonormal columns Q has WᵀW = σ_α² P with the projector P on the first r coordinates. So
σ_α⁻²WᵀW has the law γδ_1 + (1 - γ)δ_0, from which

    G = γ/(z - 1) + (1 - γ)/z,    M = γ/(z - 1),    M⁻¹(z) = (γ + z)/z,    S = (1 + z)/(γ + z)

and, with the scale σ_α², γσ_α² S = (1 + z)/(1 + z/γ) = 1 + (1 - 1/γ)z + (1/γ² - 1/γ)z² + … (naitsaada2023, Sec. 3.2
and App. A.11).
"""

from __future__ import annotations

import sympy as sp

from derivations.random_matrices.spectra.transforms import moments_of, s_series, stieltjes
from derivations.random_matrices.symbols import gamma, m, sigma, z
from symdyn.calculus.matrix import Rules, eye, matrix, orthogonal, trace
from symdyn.calculus.series import Series
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Identity
from symdyn.statements.matrix import MatrixIdentity

n, k = sp.symbols("N r", integer=True, positive=True)
scale = sp.Symbol("sigma", real=True)
SIZES = ({n: 1, k: 1}, {n: 3, k: 1}, {n: 3, k: 2})
Q, P = matrix("Q", n, k), matrix("P", n, k, "E_r")
"""The columns of the weight, and the first r coordinate vectors."""
ORTHONORMAL = Rules(orthogonal(Q), orthogonal(P))
W = scale * Q @ P.T

law = {sp.S.One: gamma, sp.S.Zero: 1 - gamma}
G = stieltjes(law)
transform = gamma / (z - 1)
inverse = (gamma + z) / z
S_plain = (1 + z) / (gamma + z)
S = (1 + z) / (sigma**2 * (gamma + z))
ORDER = 4

POSITIVE = {gamma: 1, sigma: 1}
outside = Domain((z, gamma), (), (Cell("γ > 0", {gamma: 1}),), conditions=(sp.Ne(z, 1), sp.Ne(z, 0)))
inside = Domain((m, gamma), (), (Cell("γ > 0", {gamma: 1}),), conditions=(sp.Ne(m, 0),))
of_s = Domain(
    (z, gamma, sigma), (), (Cell("γ, σ_α > 0", POSITIVE),), conditions=(sp.Ne(z, -gamma), sp.Ne(z, 0))
)
parameters = Domain((gamma, sigma), (), (Cell("γ, σ_α > 0", POSITIVE),))


@result(ledger=("naitsaada2023.orthogonal-weight-def",))
def orthogonal_weight() -> MatrixIdentity:
    """A low-rank orthogonal weight, σ_α times r orthonormal columns and N - r columns of zeros, has WᵀW = σ_α²P.

    P = E_rE_rᵀ is the projector on the first r coordinates, the matrix diag(I_r, 0).
    """
    return MatrixIdentity(W.T @ W, scale**2 * P @ P.T, SIZES, ORTHONORMAL, name=r"W^\top W")


@result(
    ledger=("naitsaada2023.orthogonal-spectral-density",),
    uses=("random_matrices.orthogonal_weight", "random_matrices.spectral_density"),
)
def orthogonal_law() -> Conjunction:
    """The spectrum of σ_α⁻²WᵀW: γ of the eigenvalues are 1 and the others 0, at any width.

    A symmetric matrix that is its own square has the eigenvalues 0 and 1, and its trace counts the ones.
    """
    gram = Q @ P.T
    square = gram.T @ gram
    return Conjunction(
        MatrixIdentity(square @ square, square, SIZES, ORTHONORMAL, name=r"(\sigma_\alpha^{-2}W^\top W)^2"),
        MatrixIdentity(
            trace(square) / n * eye(1),
            k / n * eye(1),
            SIZES,
            ORTHONORMAL,
            name=r"\frac1N\mathrm{tr}\,\sigma_\alpha^{-2}W^\top W",
        ),
        formula=r"\rho(\lambda) = \gamma\,\delta(\lambda-1) + (1-\gamma)\,\delta(\lambda)",
    )


@result(
    ledger=("naitsaada2023.orthogonal-stieltjes",),
    domain=outside,
    uses=("random_matrices.orthogonal_law", "random_matrices.stieltjes_transform"),
)
def orthogonal_stieltjes() -> Identity:
    """The Stieltjes transform of low-rank orthogonal weights of scale one."""
    return Identity(G, gamma / (z - 1) + (1 - gamma) / z, name="G(z)")


@result(
    ledger=("naitsaada2023.orthogonal-mgf",),
    domain=outside,
    uses=("random_matrices.orthogonal_stieltjes", "random_matrices.moment_transform"),
)
def orthogonal_moments() -> Identity:
    """The moment transform of low-rank orthogonal weights of scale one: all moments are γ."""
    return Identity(z * G - 1, transform, name="M(z)")


@result(
    ledger=("naitsaada2023.orthogonal-mgf-inverse",),
    domain=inside,
    uses=("random_matrices.orthogonal_moments",),
)
def orthogonal_inverse() -> Identity:
    """The inverse of the moment transform: M(M⁻¹(m)) = m."""
    return Identity(transform.subs(z, inverse.subs(z, m)), m, name=r"M\left(\frac{\gamma+m}{m}\right)")


@result(
    ledger=("naitsaada2023.orthogonal-s-transform",),
    domain=of_s,
    uses=("random_matrices.orthogonal_inverse", "random_matrices.s_transform"),
)
def orthogonal_s() -> Identity:
    """The S-transform of low-rank orthogonal weights of scale one."""
    return Identity(
        ((1 + z) / (z * inverse), (1 + z) / (z * inverse)),
        (S_plain, (1 + z) / (gamma * (1 + z / gamma))),
        name="S(z)",
    )


@result(
    ledger=("naitsaada2023.table1-orthogonal",),
    domain=of_s,
    uses=("random_matrices.orthogonal_s", "random_matrices.scaling"),
)
def orthogonal_s_scaled() -> Conjunction:
    """The S-transform of low-rank orthogonal weights, with its first coefficient s_1 = 1 - 1/γ.

    The second fact is its expansion, the third that it belongs to the moments γσ_α^{2k}.
    """
    powers = tuple(gamma * sigma ** (2 * j) for j in range(1, ORDER + 1))
    series = Series.of(S, z, ORDER - 1)
    prefactor = gamma * sigma**2
    return Conjunction(
        Identity(S_plain / sigma**2, (1 + z) / (gamma * sigma**2 * (1 + z / gamma)), name=r"S_{W^\top W}(z)"),
        Identity(series.map(lambda s: prefactor * s).cut(1), Series([1, 1 - 1 / gamma], z), on=parameters),
        Identity(s_series(powers), series, on=parameters),
    )


@result(
    ledger=("naitsaada2023.orthogonal-s-series",),
    domain=parameters,
    uses=("random_matrices.orthogonal_s_scaled",),
)
def orthogonal_s_series() -> Conjunction:
    """The expansion of the S-transform of low-rank orthogonal weights, as printed and one order further."""
    expected = Series([1, -(1 / gamma - 1), 1 / gamma**2 - 1 / gamma, -(1 / gamma**3 - 1 / gamma**2)], z)
    geometric = Series([(-1 / gamma) ** j for j in range(4)], z) * Series([1, 1, 0, 0], z)
    found = Series.of(S, z, 3).map(lambda s: gamma * sigma**2 * s)
    return Conjunction(
        Identity(found, expected, name=r"\gamma\sigma_\alpha^2 S_{W^\top W}(z)"),
        Identity(geometric, expected),
    )


@result(
    ledger=("naitsaada2023.orthogonal-s1",),
    domain=parameters,
    uses=("random_matrices.orthogonal_s_series",),
)
def orthogonal_s1() -> Conjunction:
    """The coefficient s_1 of low-rank orthogonal weights, 1 - 1/γ: minus the variance of WᵀW over its squared mean."""
    first, second, *_ = moments_of(Series.of(S, z, 2))
    return Conjunction(
        Identity(-(second - first**2) / first**2, 1 - 1 / gamma, name="s_1"),
        Identity((1 - 1 / gamma).subs(gamma, 1), sp.S.Zero, name=r"s_1|_{\gamma=1}"),
    )
