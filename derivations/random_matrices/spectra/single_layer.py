r"""One layer: χ is the mean squared singular value of DW, and neither their median nor their mean.

With W = CA, E_A AAᵀ = σ_α²I_r and E|C_j·|² = r/N_l for each row of C,

    (1/N_l) E tr DW(DW)ᵀ = γσ_α² (1/N_l) Σ_j φ'(h_j)² → γσ_α² ∫φ'(√q* z)² Dz = χ.

The sum runs over the N_l units of the layer. The rank of DW is at most r, so that N - r singular values are zero: for
γ < 1/2 their median is zero. By Cauchy and Schwarz their mean is at most √(γχ), which is less than 1 on the edge of
chaos (naitsaada2023, Sec. 1 and App. A.9).
"""

from __future__ import annotations

import sympy as sp

from derivations.random_matrices.spectra.gaussian_weights import FRAME, SIZES, A, C, before, k, n
from derivations.random_matrices.symbols import (
    L,
    N,
    N_in,
    N_out,
    chi,
    gamma,
    mu1,
    phi_slope,
    phi_slope2,
    r,
    sigma,
    w0,
    w1,
)
from symdyn.calculus.haar import haar_moment
from symdyn.calculus.matrix import Rules, gaussian_mean, matrix, orthogonal, trace
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Identity, InDistribution, Inequality
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

scale = sp.Symbol("sigma", real=True)
D = matrix("D", n, n, symmetric=True)
U, V, values = matrix("U", n, k), matrix("V", before, k), matrix("Sigma", k, k, r"\Sigma", symmetric=True)
layer_law = {A: scale**2 / before}

sizes = Domain(
    (N, N_in, N_out, r, sigma, phi_slope, phi_slope2),
    (),
    (Cell("widths", {N: 1, N_in: 1, N_out: 1, r: 1, sigma: 1}),),
)
phases = Domain((chi, gamma, L), (), (Cell("all", {chi: 1, gamma: 1, L: 1}),), conditions=(gamma <= 1,))


@result(ledger=("naitsaada2023.trace-singular-values",))
def trace_of_squares() -> MatrixIdentity:
    """The trace of DW(DW)ᵀ is the sum of the squared singular values of DW."""
    M = U @ values @ V.T
    rules = Rules(orthogonal(U), orthogonal(V))
    shapes = ({n: 3, before: 2, k: 2}, {n: 2, before: 2, k: 1}, {n: 1, before: 1, k: 1})
    return MatrixIdentity(
        trace(M @ M.T), trace(values @ values), shapes, rules, name=r"\mathrm{tr}\,DW(DW)^\top"
    )


@result(
    ledger=("naitsaada2023.mean-square-sv-sum",),
    domain=sizes,
    uses=("random_matrices.gaussian_product", "random_matrices.trace_of_squares"),
)
def mean_square_sum() -> Conjunction:
    """The mean squared singular value of DW given D, at any widths: γσ_α² times the mean of φ'(h_j)² over N_l units.

    The mean over A leaves σ_α² tr DCCᵀD/N_l, and E C_jk² = 1/N_l. The last fact is the case N_l = 2.
    """
    left = D @ C @ A
    of_a = gaussian_mean(trace(left @ left.T), layer_law)
    row = haar_moment("jj", "kk", N_out)
    mean = r * sigma**2 * row * (phi_slope**2 + phi_slope2**2) / 2
    return Conjunction(
        MatrixIdentity(
            of_a, scale**2 * trace(D @ C @ C.T @ D), SIZES, FRAME, name=r"E_A\mathrm{tr}\,DW(DW)^\top"
        ),
        Identity(row, 1 / N_out, name=r"E\,C_{jk}^2"),
        Identity(mean.subs(N_out, 2), r * sigma**2 / 2 * (phi_slope**2 + phi_slope2**2) / 2),
        formula=r"\frac1{N_l}E_W\mathrm{tr}\,DW(DW)^\top = \gamma_l\sigma_\alpha^2"
        r"\frac1{N_l}\sum_{j=1}^{N_l}\phi'(h_j^{(l)})^2",
    )


@printed(
    "naitsaada2023.mean-square-sv-sum",
    quote=r"\gamma_l\sigma_\alpha^2\frac1{N_{l-1}}\sum_{i=1}^{N_{l-1}}\phi^\prime(h^{(l)}_i)^2",
    domain=sizes,
    severity="typo",
)
def printed_mean_square_sum() -> Identity:
    """As printed, φ' belongs to the index i of the N_{l-1} inputs, here one of them before a layer of two units."""
    gained = r * sigma**2 / 2
    return Identity(gained * phi_slope**2, gained * (phi_slope**2 + phi_slope2**2) / 2)


@result(
    ledger=("naitsaada2023.mean-square-sv-limit",),
    domain=Domain(
        (gamma, sigma, mu1, chi),
        (),
        (Cell("χ", {gamma: 1, sigma: 1, mu1: 1}),),
        let={chi: gamma * sigma**2 * mu1},
    ),
    uses=("random_matrices.mean_square_sum",),
    hypotheses=(stated("Eq. (8)", "χ_γ = γσ_α²μ_1", chi),),
)
def mean_square_limit() -> InDistribution:
    """The mean squared singular value of DW tends to χ, as N_l → ∞ with q^l = q*.

    Given D it is γσ_α² times the mean of φ'(h_j)² over the units, by the facts of `mean_square_sum`; that this mean
    tends to μ_1, and that D, which depends on W through h = Wz, may be held fixed, is a law of large numbers.
    """
    of_a = gaussian_mean(trace(D @ C @ A @ A.T @ C.T @ D), layer_law)
    return InDistribution(
        r"$\frac1{N_l}E\,\mathrm{tr}\,DW(DW)^\top\to\chi_\gamma$, as $\frac1{N_l}\sum_j\phi'(h_j)^2\to\mu_1$",
        (
            MatrixIdentity(of_a, scale**2 * trace(D @ C @ C.T @ D), SIZES, FRAME),
            Identity(gamma * sigma**2 * mu1, chi, name=r"\chi_\gamma"),
        ),
    )


@result(
    ledger=("naitsaada2023.chi-median-singular-value", "naitsaada2023.jacobian-average-singular-value"),
    domain=phases,
    uses=("random_matrices.mean_square_limit", "random_matrices.jacobian_first_moment"),
)
def mean_squared_singular_value() -> Conjunction:
    """The mean squared singular value of DW is χ, and that of J is χ^L: neither the median nor the mean of these.

    By Cauchy and Schwarz the mean singular value is at most √(γ m_1), since no more than γ of them are not zero. The
    two facts are its square where a share γ of the singular values is equal and the rest zero, as it is for
    orthogonal weights: with m_1 = χ^L the mean is √(γχ^L), below 1 at χ = 1 for γ < 1.
    """
    value = sp.sqrt(chi**L / gamma)
    return Conjunction(
        Identity(gamma * value**2, chi**L, name=r"\frac1N\sum\sigma_k^2"),
        Identity((gamma * value) ** 2, gamma * chi**L, name=r"(\frac1N\sum\sigma_k)^2"),
    )


@printed(
    "naitsaada2023.chi-median-singular-value",
    quote=r"equals the median singular value of $D^{(l)}W^{(l)}$",
    domain=phases,
    severity="substantive",
)
def printed_median() -> Inequality:
    """As printed, the median is χ > 0: then at most half of the singular values are zero, of which a share 1 - γ is."""
    return Inequality(1 - gamma, "<=", sp.Rational(1, 2))


@printed(
    "naitsaada2023.jacobian-average-singular-value",
    quote=r"average singular value of $J$ equals $\chi_\gamma^L$",
    domain=phases,
    severity="substantive",
)
def printed_average() -> Inequality:
    """As printed, the mean singular value is χ^L: its square would be at most γ times the mean square χ^L."""
    return Inequality(chi ** (2 * L), "<=", gamma * chi**L)


h0, h1, h2 = (sp.Symbol(name, integer=True, positive=True) for name in ("N_0", "N_1", "N_2"))
W1, W2 = matrix("W1", h1, h0, "W^{(1)}"), matrix("W2", h2, h1, "W^{(2)}")
D1, D2 = matrix("D1", h1, h1, "D^{(1)}", symmetric=True), matrix("D2", h2, h2, "D^{(2)}", symmetric=True)
bias1, bias2 = matrix("b1", h1, 1, "b^{(1)}"), matrix("b2", h2, 1, "b^{(2)}")
start, first = matrix("z1", h0, 1, "z^{(1)}"), matrix("z2", h1, 1, "z^{(2)}")
step = matrix("v", h0, 1, r"\dot z^{(1)}")
SHAPES = ({h0: 2, h1: 3, h2: 1}, {h0: 1, h1: 2, h2: 3})


@result(ledger=("naitsaada2023.jacobian-product",))
def jacobian_product() -> Conjunction:
    """The Jacobian of L layers, D^(L)W^(L)…D^(1)W^(1), is that of z^(L+1) = φ(h^(L)) in z^(1), as Eq. (1) counts.

    By Eq. (1), h^(l) = W^(l)z^(l) + b^(l) and z^(l+1) = φ(h^(l)), so that ż^(l+1) = D^(l)W^(l)ż^(l): for two layers of
    any widths, and so for more.
    """
    moved = D1 @ W1 @ step
    return Conjunction(
        MatrixDynamics(W1 @ start + bias1, W1 @ step, {start: step}, SHAPES, name="h^{(1)}"),
        MatrixDynamics(W2 @ first + bias2, W2 @ moved, {first: moved}, SHAPES, name="h^{(2)}"),
        MatrixIdentity(D2 @ W2 @ moved, (D2 @ W2 @ D1 @ W1) @ step, SHAPES, name=r"\dot z^{(3)}"),
    )


@printed(
    "naitsaada2023.jacobian-product",
    quote=r"J:=\partial z^L/\partial z^0=\prod_{l=1}^LD^{(l)}W^{(l)}",
    domain=Domain((phi_slope, phi_slope2, w0, w1)),
    severity="convention",
)
def printed_jacobian_product() -> Identity:
    """As printed, ∂z^1/∂z^0 = D^(1)W^(1); but z^(1) = φ(W^(0)z^(0)) by Eq. (1): with one unit a layer."""
    return Identity(phi_slope * w0, phi_slope2 * w1)
