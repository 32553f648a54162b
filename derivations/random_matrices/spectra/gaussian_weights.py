r"""The transforms of low-rank Gaussian weights, and the law of Marčenko and Pastur at its right scale.

W = CA with CᵀC = I_r and an r × N matrix A of independent normal entries of variance σ_α²/N has WᵀW = AᵀA. Its
moments at any width follow from Wick's rule; for r = γN → ∞ they tend to

    m_1 = γσ_α²,    m_2 = γ(1 + γ)σ_α⁴,    m_3 = γ(1 + 3γ + γ²)σ_α⁶,

the first of the law whose moment transform solves z M = σ_α²(1 + M)(γ + M):

    ρ(x) = (1 - γ)δ(x) + √((λ⁺ - x)(x - λ⁻))/(2πσ_α²x),    λ^± = σ_α²(1 ± √γ)²,
    S_{WᵀW}(z) = 1/(σ_α²(γ + z)) = (1/(γσ_α²))(1 - z/γ + z²/γ² - …).

The S-transform of the paper's Table 1 is this one, 1 + z(1 + 1/γ) + z²/γ being (1 + z)(1 + z/γ). But its way there is
not: the edges (1 ± 1/γ)² belong to no γ < 1, M⁻¹ and S in App. A.10 are those of entries of variance 1/r, without
saying so, and the factor 1/γ that this leaves out comes back by WᵀW = γAᵀA, which contradicts WᵀW = AᵀA. The second
coefficient of the series is 1/γ² (naitsaada2023, Sec. 3.3 and App. A.10).
"""

from __future__ import annotations

import sympy as sp

from derivations.random_matrices.spectra.transforms import moment_series, moments_of, s_series
from derivations.random_matrices.symbols import N, gamma, m, r, root, sigma, u, x, z
from symdyn.calculus.haar import gaussian_weight, layer, partitions
from symdyn.calculus.matrix import Rules, gaussian_mean, matrix, orthogonal, trace
from symdyn.calculus.series import Series
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Conjunction, Identity, InDistribution, Inequality, Limit
from symdyn.statements.matrix import MatrixIdentity

n, k, before = sp.symbols("N r M", integer=True, positive=True)
variance = sp.Symbol("sigma", real=True) ** 2
SIZES = ({n: 2, k: 1, before: 3}, {n: 3, k: 2, before: 2}, {n: 1, k: 1, before: 1})
C, A = matrix("C", n, k), matrix("A", k, before)
FRAME = Rules(orthogonal(C))

limits = (gamma * sigma**2, gamma * (1 + gamma) * sigma**4, gamma * (1 + 3 * gamma + gamma**2) * sigma**6)
"""The first moments of AᵀA, for r = γN → ∞."""
inverse = sigma**2 * (1 + m) * (gamma + m) / m
"""z as a function of m = M(z)."""
S = 1 / (sigma**2 * (gamma + z))
printed_S = (1 + z) / (1 + z * (1 + 1 / gamma) + z**2 / gamma)
"""What the paper prints, but for its prefactor."""
lower, upper = (1 - 1 / gamma) ** 2, (1 + 1 / gamma) ** 2
"""The edges as printed."""

POSITIVE = {gamma: 1, sigma: 1}
RATIO = Cell("γ, σ_α > 0", POSITIVE)
parameters = Domain((gamma, sigma), (), (RATIO,), conditions=(gamma <= 1,))
of_s = Domain(
    (z, gamma, sigma),
    (),
    (RATIO,),
    conditions=(gamma <= 1, sp.Ne(z, -gamma), sp.Ne(z, -1)),
)
OF_VALUE = meaning(
    "z = M⁻¹(m) by its coordinate m, for which z is finite and not 0", m, (m > 0) | (m < 0), sp.Ne(m, 0)
)
of_value = Domain(
    (m, gamma, sigma),
    (),
    (Cell("z beyond the spectrum: 0 < m < √γ", {**POSITIVE, m: 1}),),
    conditions=(gamma <= 1, m**2 < gamma),
    hypotheses=(OF_VALUE,),
)


def wick_moment(power: int, rows: sp.Expr, columns: sp.Expr) -> sp.Expr:
    """(1/columns) E tr (AᵀA)^k for rows × columns entries of variance σ_α²/columns."""
    table = layer(power, rows, gaussian_weight(power, sigma**2 / columns))
    start = [columns ** len(kind) for kind in partitions(power)]
    return sp.expand(sum(t * s for t, s in zip(table[0], start, strict=True)) / columns)


@result(ledger=("naitsaada2023.gaussian-product-form",))
def gaussian_product() -> MatrixIdentity:
    """A low-rank Gaussian weight is W = CA, and WᵀW = AᵀA as the columns of C are orthonormal."""
    W = C @ A
    return MatrixIdentity(W.T @ W, A.T @ A, SIZES, FRAME, name=r"W^\top W")


@result(
    domain=Domain((r, N, sigma), (), (Cell("sizes", {r: 1, N: 1, sigma: 1}),)),
    uses=("random_matrices.gaussian_product",),
)
def gaussian_moments() -> Conjunction:
    """The first moments of AᵀA at any width and rank, exactly, by two ways.

    The first fact is by the calculus of matrix words, the others by Wick's rule for pairings.
    """
    size = sp.Symbol("sigma", real=True)
    of_words = gaussian_mean(trace(A.T @ A @ A.T @ A), {A: size**2 / before}) / before
    return Conjunction(
        MatrixIdentity(
            of_words,
            size**4 * k * (before + k + 1) / before**2,
            SIZES,
            name=r"\frac1N E\,\mathrm{tr}(A^\top A)^2",
        ),
        Identity(wick_moment(1, r, N), r / N * sigma**2, name=r"\frac1N E\,\mathrm{tr}A^\top A"),
        Identity(wick_moment(2, r, N), sigma**4 * r * (N + r + 1) / N**2),
        Identity(wick_moment(3, r, N), sigma**6 * r * (N**2 + r**2 + 3 * r * N + 3 * r + 3 * N + 4) / N**3),
    )


@result(
    domain=Domain((N, gamma, sigma), (), (Cell("wide", {N: 1, **POSITIVE}),)),
    uses=("random_matrices.gaussian_moments",),
)
def gaussian_limits() -> Conjunction:
    """The first moments of AᵀA for r = γN → ∞."""
    return Conjunction(
        *(Limit(wick_moment(power, gamma * N, N), N, sp.oo, limits[power - 1]) for power in (1, 2, 3))
    )


@result(
    ledger=("naitsaada2023.gaussian-mgf-inverse",),
    domain=of_value,
    uses=("random_matrices.gaussian_limits", "random_matrices.moment_transform"),
)
def gaussian_inverse() -> InDistribution:
    """The inverse of the moment transform of σ_α⁻²AᵀA: M⁻¹(z) = (1 + z)(γ + z)/z.

    The first fact holds it against the exact moments, through the equation u(1 + ψ)(γ + ψ) = ψ of ψ(u) = M(1/u); that
    it is so to all orders is the theorem of Marčenko and Pastur. The second is the same with σ_α.
    """
    psi = moment_series(tuple(x.subs(sigma, 1) for x in limits))
    one = Series([1, 0, 0, 0], u)
    by_equation = ((psi + one) * (psi + Series([gamma, 0, 0, 0], u))).shifted(1).cut(3)
    return InDistribution(
        r"for $r=\gamma N\to\infty$ the law of $A^\top A$ is that of Marčenko and Pastur (1967)",
        (
            Identity(by_equation, psi, on=parameters),
            Identity(
                inverse / sigma**2,
                (gamma + m * (1 + gamma) + m**2) / m,
                name=r"M^{-1}_{\sigma_\alpha^{-2}A^\top A}(m)",
            ),
        ),
        formula=r"M^{-1}_{\sigma_\alpha^{-2}A^\top A}(z) = \frac{\gamma + z(1+\gamma) + z^2}{z}",
    )


@printed(
    "naitsaada2023.gaussian-mgf-inverse",
    quote=r"\frac{\gamma+z(1+\gamma)+z^2}{\gamma z}",
    domain=parameters,
    severity="substantive",
)
def printed_gaussian_inverse() -> Identity:
    """As printed, M⁻¹(z) = (γ + z(1 + γ) + z²)/(γz): its first moment would be 1, and the trace of σ_α⁻²AᵀA/N is γ."""
    form = Series.of(z * gamma / (gamma + z * (1 + gamma) + z**2), z, 2)
    return Identity(form.reversion()[1], limits[0] / sigma**2, name="m_1")


@result(
    ledger=("naitsaada2023.gaussian-mgf",),
    domain=of_value,
    uses=("random_matrices.gaussian_inverse",),
)
def gaussian_moment_transform() -> Conjunction:
    """The moment transform of AᵀA: of the two solutions of its equation the one that vanishes at infinity.

    With z by its value m, the square root is z - σ_α²(1 + γ) - 2σ_α²m, positive for 0 < m < √γ, and its square is
    (z - λ⁺)(z - λ⁻).
    """
    difference = inverse - sigma**2 * (1 + gamma) - 2 * sigma**2 * m
    discriminant = (inverse - sigma**2 * (1 + gamma)) ** 2 - 4 * sigma**4 * gamma
    form = (inverse - sigma**2 * (1 + gamma) - sp.sqrt(discriminant)) / (2 * sigma**2)
    return Conjunction(
        Inequality(difference, ">"),
        Identity(discriminant, difference**2),
        Identity(form, m, name=r"M_{A^\top A}(z)"),
        formula=r"M_{A^\top A}(z) = "
        r"\frac{z-\sigma_\alpha^2(1+\gamma)-\sqrt{(z-\lambda^+)(z-\lambda^-)}}{2\sigma_\alpha^2},"
        r" \quad \lambda^\pm = \sigma_\alpha^2(1\pm\sqrt\gamma)^2",
    )


@printed(
    "naitsaada2023.gaussian-mgf",
    quote=r"-\gamma\sqrt{(\lambda^+-z)(z-\lambda^-)}",
    domain=of_value.restrict(sp.Eq(sigma, 1)).with_cells(
        Cell("z beyond the spectrum, σ_α = 1", {gamma: 1, m: 1}, {sigma: sp.S.One})
    ),
    severity="substantive",
    hypotheses=(meaning("σ_α = 1, by which the matrix is divided", sigma),),
)
def printed_gaussian_moment_transform() -> Identity:
    """As printed, 2M + 1 + γ - γz = -γ√((λ⁺ - z)(z - λ⁻)) with λ^± = (1 ± 1/γ)²: squared, at z = M⁻¹(m)."""
    return Identity(
        (2 * m + 1 + gamma - gamma * inverse) ** 2, gamma**2 * (upper - inverse) * (inverse - lower)
    )


@result(
    ledger=("naitsaada2023.gaussian-stieltjes",),
    domain=of_value,
    uses=("random_matrices.gaussian_moment_transform",),
)
def gaussian_stieltjes() -> Conjunction:
    """The Stieltjes transform of AᵀA: (1 + M)/z, the branch with zG → 1 at infinity.

    It solves σ_α²zG² + (σ_α²(γ - 1) - z)G + 1 = 0.
    """
    G = (1 + m) / inverse
    root_of = inverse - sigma**2 * (1 + gamma) - 2 * sigma**2 * m
    return Conjunction(
        Identity(G, (inverse + sigma**2 * (1 - gamma) - root_of) / (2 * sigma**2 * inverse), name="G(z)"),
        Identity(sigma**2 * inverse * G**2 + (sigma**2 * (gamma - 1) - inverse) * G + 1, sp.S.Zero),
        Limit(inverse * G, m, sp.S.Zero, sp.S.One),
        Limit(m / inverse, m, sp.S.Zero, sp.S.Zero),
        formula=r"G_{A^\top A}(z) = "
        r"\frac{z+\sigma_\alpha^2(1-\gamma)-\sqrt{(z-\lambda^+)(z-\lambda^-)}}{2\sigma_\alpha^2z},"
        r" \quad \lambda^\pm = \sigma_\alpha^2(1\pm\sqrt\gamma)^2",
    )


@printed(
    "naitsaada2023.gaussian-stieltjes",
    quote=r"z+\gamma^{-1}-1-\sqrt{(\lambda^+-z)(z-\lambda^-)}",
    domain=of_value.with_cells(Cell("z beyond the spectrum, σ_α = 1", {gamma: 1, m: 1}, {sigma: sp.S.One})),
    severity="substantive",
    hypotheses=(meaning("σ_α = 1, by which the matrix is divided", sigma),),
)
def printed_gaussian_stieltjes() -> Identity:
    """As printed, z + 1/γ - 1 - 2zG/γ = √((λ⁺ - z)(z - λ⁻)) with λ^± = (1 ± 1/γ)²: squared, with zG = 1 + m."""
    return Identity(
        (inverse + 1 / gamma - 1 - 2 * (1 + m) / gamma) ** 2, (upper - inverse) * (inverse - lower)
    )


by_root = Domain(
    (x, root, sigma),
    (),
    (Cell("√γ > 0", {root: 1, sigma: 1, x: 1}),),
    conditions=(root < 1, x > sigma**2 * (1 - root) ** 2, x < sigma**2 * (1 + root) ** 2),
    words="within the bulk",
    hypotheses=(meaning("x lies in the bulk, and γ = 1 follows by continuity", x, root),),
)
below_bulk = Domain(
    (z, root, sigma),
    (),
    (Cell("√γ > 0", {root: 1, sigma: 1}),),
    conditions=(root < 1,),
    hypotheses=(meaning("γ < 1 by its root, where there is an atom", root),),
)


@result(
    ledger=("naitsaada2023.mp-density-appendix", "naitsaada2023.mp-density-main"),
    uses=("random_matrices.gaussian_stieltjes", "random_matrices.inversion"),
    domain=by_root,
)
def marchenko_pastur() -> InDistribution:
    """The law of AᵀA: density, edges and atom, with the scale σ_α².

    Where (z - λ⁺)(z - λ⁻) < 0 the solutions of the equation of G are a pair of conjugates, G = p ± iπρ: the first two
    facts are its real and imaginary part for p = (x + σ_α²(1 - γ))/(2σ_α²x) and (πρ)² = (λ⁺ - x)(x - λ⁻)/(2σ_α²x)². The
    last is the mass at zero, lim zG with the negative root below the bulk.
    """
    s2, ratio = sigma**2, root**2
    edges = (s2 * (1 + root) ** 2 - x) * (x - s2 * (1 - root) ** 2)
    p = (x + s2 * (1 - ratio)) / (2 * s2 * x)
    height2 = edges / (2 * s2 * x) ** 2
    rest = s2 * (ratio - 1) - x
    discriminant = (z - s2 * (1 + ratio)) ** 2 - 4 * s2**2 * ratio
    at_zero = (z + s2 * (1 - ratio) + sp.sqrt(discriminant)) / (2 * s2)
    return InDistribution(
        r"for $r=\gamma N\to\infty$ the spectrum of $A^\top A$ tends to this law (Marčenko and Pastur 1967)",
        (
            Identity(s2 * x * (p**2 - height2) + rest * p + 1, sp.S.Zero),
            Identity(2 * s2 * x * p + rest, sp.S.Zero),
            Inequality(height2, ">"),
            Limit(at_zero, z, sp.S.Zero, 1 - ratio, "-", on=below_bulk),
        ),
        formula=r"\rho_{A^\top A}(\lambda) = (1-\gamma)\delta(\lambda) + "
        r"\frac{\sqrt{(\lambda^+-\lambda)(\lambda-\lambda^-)}}"
        r"{2\pi\sigma_\alpha^2\lambda}, \quad \lambda^\pm = \sigma_\alpha^2(1\pm\sqrt\gamma)^2",
    )


@printed(
    "naitsaada2023.mp-density-main",
    quote=r"\lambda^\pm=(1\pm\frac1\gamma)^2",
    domain=parameters,
    severity="substantive",
)
def printed_marchenko_pastur() -> Identity:
    """As printed, the mean of AᵀA is γ/(2πσ_α²)∫√((λ⁺ - x)(x - λ⁻))dx = γ(λ⁺ - λ⁻)²/(16σ_α²): half of a disc."""
    area = ((upper - lower) / 2) ** 2 / 2
    return Identity(gamma / (2 * sigma**2) * area, limits[0], name="m_1")


@printed(
    "naitsaada2023.mp-density-appendix",
    quote=r"\lambda^\pm=(1\pm\frac1\gamma)^2",
    domain=parameters,
    severity="substantive",
)
def printed_marchenko_pastur_unscaled() -> Identity:
    """As printed, the mean of σ_α⁻²AᵀA is γ(λ⁺ - λ⁻)²/16 = 1/γ; its trace divided by N is γ."""
    area = ((upper - lower) / 2) ** 2 / 2
    return Identity(gamma / 2 * area, limits[0] / sigma**2, name="m_1")


@result(
    ledger=("naitsaada2023.gaussian-s-unscaled", "naitsaada2023.gaussian-s-ata"),
    domain=of_s.restrict(sp.Ne(z, 0)),
    uses=("random_matrices.gaussian_inverse", "random_matrices.s_transform"),
)
def gaussian_s() -> Conjunction:
    """The S-transform of AᵀA, 1/(σ_α²(γ + z)); that of σ_α⁻²AᵀA is 1/(γ + z).

    The second fact holds it against the exact moments, to third order.
    """
    of_inverse = (1 + z) / (z * inverse.subs(m, z))
    return Conjunction(
        Identity(of_inverse, S, name=r"S_{A^\top A}(z)"),
        Identity(s_series(limits), Series.of(S, z, 2), on=parameters),
        Identity(moments_of(Series.of(S, z, 2)), limits, on=parameters),
    )


@printed(
    "naitsaada2023.gaussian-s-unscaled",
    quote=r"\gamma\frac{1+z}{\gamma+z(1+\gamma)+z^2}",
    domain=of_s.restrict(sp.Ne(z, 0)),
    severity="substantive",
)
def printed_gaussian_s_unscaled() -> Identity:
    """As printed, S of σ_α⁻²AᵀA is γ(1 + z)/(γ + z(1 + γ) + z²) = γ/(γ + z), with S(0) = 1 instead of 1/m_1 = 1/γ."""
    return Identity(gamma * (1 + z) / (gamma + z * (1 + gamma) + z**2), S * sigma**2)


@printed(
    "naitsaada2023.gaussian-s-ata",
    quote=r"S_{A^TA}(z)=\sigma_\alpha^{-2}\frac{1+z}{1+z(1+\gamma^{-1})+\gamma^{-1}z^2}",
    domain=of_s.restrict(sp.Ne(z, 0)),
    severity="substantive",
)
def printed_gaussian_s_ata() -> Identity:
    """As printed, S of AᵀA lacks the factor 1/γ."""
    return Identity(printed_S / sigma**2, S)


@result(
    ledger=("naitsaada2023.w-as-scaled-a",),
    domain=parameters,
    uses=("random_matrices.gaussian_product", "random_matrices.gaussian_s", "random_matrices.scaling"),
)
def weight_is_not_scaled() -> Conjunction:
    """The S-transform of WᵀW is that of AᵀA; a factor γ of AᵀA would divide it by γ.

    The first fact is WᵀW = AᵀA at any width; the others what S is at zero, by the moments γσ_α² of AᵀA and γ²σ_α² of
    γAᵀA.
    """
    W = C @ A
    scaled = tuple(gamma**j * x for j, x in enumerate(limits, 1))
    return Conjunction(
        MatrixIdentity(W.T @ W, A.T @ A, SIZES, FRAME, name=r"W^\top W"),
        Identity(s_series(limits)[0], 1 / (gamma * sigma**2), name=r"S_{W^\top W}(0)"),
        Identity(s_series(scaled)[0], 1 / (gamma**2 * sigma**2), name=r"S_{\gamma A^\top A}(0)"),
    )


@printed(
    "naitsaada2023.w-as-scaled-a",
    quote=r"S_{W^TW}=S_{(\sqrt\gamma A)^T\sqrt\gamma A}=\gamma^{-1}S_{A^TA}",
    domain=parameters,
    severity="substantive",
)
def printed_weight_is_scaled() -> Identity:
    """As printed, S_{WᵀW} = γ⁻¹S_{AᵀA}, though WᵀW = AᵀA: compared at z = 0, by the exact first moment."""
    return Identity(s_series(limits)[0], s_series(limits)[0] / gamma)


@result(
    ledger=("naitsaada2023.table1-gaussian",),
    domain=of_s,
    uses=("random_matrices.gaussian_s", "random_matrices.gaussian_product"),
)
def gaussian_s_table() -> Conjunction:
    """The S-transform of low-rank Gaussian weights as in Table 1, with s_1 = -1/γ: it is 1/(σ_α²(γ + z))."""
    return Conjunction(
        Identity(printed_S / (gamma * sigma**2), S, name=r"S_{W^\top W}(z)"),
        Identity(
            Series.of(S, z, 1).map(lambda s: gamma * sigma**2 * s), Series([1, -1 / gamma], z), on=parameters
        ),
        Identity(s_series(limits), Series.of(printed_S / (gamma * sigma**2), z, 2), on=parameters),
    )


@result(
    ledger=("naitsaada2023.gaussian-s-series",),
    domain=parameters,
    uses=("random_matrices.gaussian_s_table",),
)
def gaussian_s_series() -> Identity:
    """The expansion of the S-transform of low-rank Gaussian weights: a geometric series, s_k = (-1/γ)^k."""
    found = Series.of(printed_S, z, 4)
    return Identity(
        found,
        Series([1, -1 / gamma, 1 / gamma**2, -1 / gamma**3, 1 / gamma**4], z),
        name=r"\gamma\sigma_\alpha^2 S_{W^\top W}(z)",
    )


@printed(
    "naitsaada2023.gaussian-s-series",
    quote=r"\frac{1-4\gamma}{\gamma^2}z^2",
    domain=parameters,
    severity="substantive",
)
def printed_gaussian_s_series() -> Identity:
    """As printed, the second coefficient is (1 - 4γ)/γ²."""
    return Identity(Series.of(printed_S, z, 2), Series([1, -1 / gamma, (1 - 4 * gamma) / gamma**2], z))


@result(
    ledger=("naitsaada2023.gaussian-s1",),
    domain=parameters,
    uses=("random_matrices.gaussian_s_series",),
)
def gaussian_s1() -> Conjunction:
    """The coefficient s_1 of low-rank Gaussian weights, -1/γ: minus the variance of WᵀW over its squared mean."""
    first, second, _ = limits
    return Conjunction(
        Identity(-(second - first**2) / first**2, -1 / gamma, name="s_1"),
        Identity((-1 / gamma).subs(gamma, 1), sp.S.NegativeOne, name=r"s_1|_{\gamma=1}"),
    )
