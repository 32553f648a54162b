r"""Lengths and overlaps in the wide limit, and what one bias for all directions does to them.

Given the layer before, q^l = |z|²/N has the mean γ(s + σ_b²), s = σ_α²N⁻¹Σφ(h_j)². Its variance depends on the bias.
With one scalar b a layer, as it is defined, the z_k are correlated, Cov(z_k, z_p) = σ_b², and the variance tends to
2γ²σ_b⁴: q^l tends to γ(s + b²), which is random. With independent coefficients b_k of variance σ_b² (or σ_b = 0) it
vanishes as 1/r, and the printed maps hold in probability.

The pre-activations h = Cz of a layer are, for Haar C, a uniformly random point of the sphere with |h|² = Nq, whatever
z is. So its coordinates behave as independent N(0, q) variables (Maxwell, Poincaré): this is what the law of large
numbers for φ(h_j) needs, though the h_j are dependent (naitsaada2023, App. A.1-A.4).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.signal_propagation.network.model import (
    FRAME,
    LAW,
    SIZES,
    A,
    C,
    bias_scale,
    k,
    left,
    m,
    n,
    p,
    p2,
    scale,
)
from derivations.signal_propagation.symbols import (
    N,
    gamma,
    kappa,
    q,
    s,
    s12,
    s22,
    sigma_b,
    x,
)
from symdyn.calculus.haar import haar_moment
from symdyn.calculus.matrix import Rules, eye, gaussian_mean, rule, vector
from symdyn.calculus.matrix.rules import Declaration
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import Hypothesis, added, meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, InDistribution, Limit
from symdyn.statements.matrix import MatrixIdentity
from symdyn.statements.probability import InProbability

POSITIVE = {N: 1, gamma: 1, s: 1, s22: 1, sigma_b: 1}
SHARED = stated("Sec. 1 and App. A.2", "one scalar b^(l) a layer for all directions, κ = 1", kappa)
scalars = (N, gamma, s, s12, s22, sigma_b, kappa)
PSD = meaning("s_12 is a covariance", s12)


def with_bias(value: int, *hypotheses: Hypothesis, words: str) -> Domain:
    return Domain(
        scalars,
        (),
        (Cell(words, POSITIVE, {kappa: sp.Integer(value)}),),
        conditions=(gamma <= 1, N >= 1),
        words=words,
        hypotheses=(PSD, meaning("N ≥ 1 is a width", N), *hypotheses),
    )


shared = with_bias(1, SHARED, words="one bias b for all directions")
INDEPENDENT_WORDS = "the bias has independent coefficients b_k of variance σ_b², or σ_b = 0"
apart = with_bias(0, added(INDEPENDENT_WORDS, kappa), words="independent bias coefficients")

variance_of_z = s + sigma_b**2
count = gamma * N
mean_length = count * variance_of_z / N
variance_of_length = (
    2 * count * variance_of_z**2 + 2 * count * (count - 1) * (kappa * sigma_b**2) ** 2
) / N**2
mean_overlap = count * (s12 + sigma_b**2) / N
cross = kappa * sigma_b**2
variance_of_overlap = (
    count * (variance_of_z * (s22 + sigma_b**2) + (s12 + sigma_b**2) ** 2)
    + 2 * count * (count - 1) * cross**2
) / N**2

one_bias, many = vector("b", 1), vector("B", k, "b")
ones = vector("o", k, r"\mathbf 1")
ONES = Rules(
    Declaration(
        "1 has k entries 1",
        (rule(ones.T @ ones, k),),
        (ones.letter,),
        lambda generator, sizes: {ones.letter: sp.ones(sizes[k], 1)},
    )
)
together = A @ p + ones @ one_bias
second = A @ p2 + ones @ one_bias
each, each2 = A @ p + many, A @ p2 + many
law_each = {A: scale**2 / m, many: bias_scale**2}
size2 = scale**2 / m * (p.T @ p).scalar()
size12 = scale**2 / m * (p.T @ p2).scalar()
size22 = scale**2 / m * (p2.T @ p2).scalar()
full = size2 + bias_scale**2


def squared(v: Any) -> Any:
    return (v.T @ v).scalar()


def spread(v: Any, law: Any) -> Any:
    """The variance of |v|² over the weights."""
    return gaussian_mean(sp.expand(squared(v) ** 2), law) - gaussian_mean(squared(v), law) ** 2


def overlap_spread(v: Any, w: Any, law: Any) -> Any:
    product = (v.T @ w).scalar()
    return gaussian_mean(sp.expand(product**2), law) - gaussian_mean(product, law) ** 2


def number(x: Any) -> Any:
    return x * eye(1)


def lengths_at_any_width() -> tuple[MatrixIdentity, ...]:
    """Mean and variance of |z|² for both kinds of bias."""
    return (
        MatrixIdentity(number(gaussian_mean(squared(together), LAW)), number(k * full), SIZES, ONES),
        MatrixIdentity(
            number(spread(together, LAW)),
            number(2 * k * full**2 + 2 * k * (k - 1) * bias_scale**4),
            SIZES,
            ONES,
            name=r"\mathrm{Var}\,|z|^2",
        ),
        MatrixIdentity(
            number(spread(each, law_each)), number(2 * k * full**2), SIZES, name=r"\mathrm{Var}\,|z|^2_{b_k}"
        ),
    )


def overlaps_at_any_width() -> tuple[MatrixIdentity, ...]:
    """Mean and variance of the overlap of two inputs for both kinds of bias."""
    products = full * (size22 + bias_scale**2) + (size12 + bias_scale**2) ** 2
    return (
        MatrixIdentity(
            number(gaussian_mean((together.T @ second).scalar(), LAW)),
            number(k * (size12 + bias_scale**2)),
            SIZES,
            ONES,
        ),
        MatrixIdentity(
            number(overlap_spread(together, second, LAW)),
            number(k * products + 2 * k * (k - 1) * bias_scale**4),
            SIZES,
            ONES,
            name=r"\mathrm{Var}\,z^\top z'",
        ),
        MatrixIdentity(number(overlap_spread(each, each2, law_each)), number(k * products), SIZES),
    )


on_sphere = Domain((N, q), (), (Cell("a sphere", {N: 1, q: 1}),))


def sphere() -> tuple[Identity | Limit, ...]:
    """Moments of coordinates of a random point of the sphere |h|² = Nq, which tend to those of independent N(0, q)."""
    radius2 = N * q
    fourth = radius2**2 * haar_moment("aaaa", "1111", N)
    mixed = radius2**2 * haar_moment("aabb", "1111", N)
    return (
        Identity(radius2 * haar_moment("aa", "11", N), q, on=on_sphere, name="E\\,h_j^2"),
        Identity(fourth, 3 * q**2 * N / (N + 2), on=on_sphere, name="E\\,h_j^4"),
        Identity(mixed, q**2 * N / (N + 2), on=on_sphere, name="E\\,h_i^2h_j^2"),
        Limit(fourth, N, sp.oo, 3 * q**2, on=on_sphere),
        Limit(mixed, N, sp.oo, q**2, on=on_sphere),
    )


@result(ledger=("naitsaada2023.z-conditional-law",), uses=("signal_propagation.coefficients",))
def law_of_coefficients() -> Conjunction:
    """Given h^(l-1), a coefficient z_k is normal with variance σ_α²N⁻¹Σφ(h_j)² + σ_b², exactly and at any width.

    z_k is linear in independent normal variables. The second fact is the covariance of two of them for one shared bias.
    """
    row, row2 = vector("u", m, r"\alpha_1"), vector("v", m, r"\alpha_2")
    law = {row: scale**2 / m, row2: scale**2 / m, one_bias: bias_scale**2}
    z_one, z_two = row.T @ p + one_bias, row2.T @ p + one_bias
    return Conjunction(
        MatrixIdentity(gaussian_mean(z_one @ z_one, law), number(full), SIZES, name=r"\mathrm{Var}\,z_k"),
        MatrixIdentity(gaussian_mean(z_one, law), 0 * z_one, SIZES),
        MatrixIdentity(
            gaussian_mean(z_one @ z_two, law), bias_scale**2 * eye(1), SIZES, name=r"\mathrm{Cov}(z_1,z_2)"
        ),
    )


@result(ledger=("naitsaada2023.z-covariance",), uses=("signal_propagation.law_of_coefficients",))
def covariance_of_inputs() -> MatrixIdentity:
    """The covariance of one coefficient for two inputs, given the layer before."""
    row = vector("u", m, r"\alpha_1")
    law = {row: scale**2 / m, one_bias: bias_scale**2}
    return MatrixIdentity(
        gaussian_mean((row.T @ p + one_bias) @ (row.T @ p2 + one_bias), law),
        number(size12 + bias_scale**2),
        SIZES,
        name=r"\mathrm{Cov}(z_1,z'_1)",
    )


@result(ledger=("naitsaada2023.length-chi2-sum",), uses=("signal_propagation.law_of_coefficients",))
def terms_of_the_length() -> Conjunction:
    """Given h^(l-1), N q^l is a sum of r squares z_k², each v = s + σ_b² times a χ² variable of one degree of freedom.

    Mean and mean square of z_k²/v are 1 and 3. They are independent where the bias coefficients are; with one shared
    b the covariance of two of them is 2σ_b⁴.
    """
    row, row2 = vector("u", m, r"\alpha_1"), vector("v", m, r"\alpha_2")
    law = {row: scale**2 / m, row2: scale**2 / m, one_bias: bias_scale**2}
    first = ((row.T @ p).scalar() + (one_bias.T @ eye(1)).scalar()) ** 2
    other = ((row2.T @ p).scalar() + (one_bias.T @ eye(1)).scalar()) ** 2
    return Conjunction(
        MatrixIdentity(number(gaussian_mean(sp.expand(first), law)), number(full), SIZES, name="E\\,z_k^2"),
        MatrixIdentity(
            number(gaussian_mean(sp.expand(first**2), law)), number(3 * full**2), SIZES, name="E\\,z_k^4"
        ),
        MatrixIdentity(
            number(gaussian_mean(sp.expand(first * other), law)),
            number(full**2 + 2 * bias_scale**4),
            SIZES,
            name="E\\,z_1^2z_2^2",
        ),
    )


@result(
    ledger=("naitsaada2023.z-iid-lln",),
    domain=apart,
    uses=("signal_propagation.law_of_coefficients", "signal_propagation.length_as_average"),
)
def length_concentrates() -> InProbability:
    """With independent bias coefficients the length tends to γ Var z_1 in probability, given the layer before.

    The facts about |z|² are for one shared bias and for independent ones: they differ in the variance.
    """
    return InProbability(
        "q^l",
        mean_length,
        variance_of_length,
        N,
        gamma * variance_of_z,
        lengths_at_any_width(),
    )


@printed(
    "naitsaada2023.z-iid-lln",
    quote=r"All $z^{(l)}_k$ are i.i.d. Gaussian",
    domain=shared,
    hypothesis=INDEPENDENT_WORDS,
    under=apart,
)
def printed_length_concentrates() -> Limit:
    """As printed, the law of large numbers holds for z_k²: the variance of q^l tends to zero."""
    return Limit(variance_of_length, N, sp.oo, sp.S.Zero)


@result(
    ledger=("naitsaada2023.z-marginal-law",), domain=apart, uses=("signal_propagation.length_concentrates",)
)
def coefficients_are_independent() -> Conjunction:
    """With independent bias coefficients z is N(0, (q/γ)I) with q/γ = s + σ_b²; and h_j, given C, as below.

    The first fact is the covariance of z with independent b_k. With one shared b it would be s I + σ_b²11ᵀ.
    """
    return Conjunction(
        MatrixIdentity(gaussian_mean(each @ each.T, law_each), full * eye(k), SIZES, name=r"E\,zz^\top"),
        MatrixIdentity(
            gaussian_mean((left.T @ C @ each) @ (left.T @ C @ each), law_each),
            full * (left.T @ C @ C.T @ left),
            SIZES,
            FRAME,
            name=r"\mathrm{Var}(h_j|C)",
        ),
        Identity(mean_length / gamma, variance_of_z, name=r"q/\gamma"),
    )


@printed(
    "naitsaada2023.z-marginal-law",
    quote=r"\mathcal N\big(0,\frac{q^{l-1}}{\gamma_{l-1}}I_{r_{l-1}}\big)",
    domain=shared,
    hypothesis=INDEPENDENT_WORDS,
    under=apart,
)
def printed_coefficients_are_independent() -> Identity:
    """As printed, the covariance of two coefficients is zero; it is κσ_b²."""
    return Identity(kappa * sigma_b**2, sp.S.Zero * s, name=r"\mathrm{Cov}(z_1,z_2)")


row_domain = Domain((N, gamma), (), (Cell("γ, N > 0", {N: 1, gamma: 1}),), conditions=(gamma <= 1,))


@result(
    ledger=("naitsaada2023.h-entry-law",),
    domain=row_domain,
    uses=("signal_propagation.rows", "signal_propagation.haar_columns"),
)
def law_of_an_entry() -> InDistribution:
    """The squared length of a row of C tends to γ in probability, and h_j is N(0, q) in the limit, q = |h|²/N.

    The entries of a row are not independent, and Lemma A.1 does not apply, but its variance is 2r(N - r)/(N²(N + 2)).
    For any z, random or not, h = Cz is uniform on a sphere: the last facts are moments of its coordinates.
    """
    count_of = gamma * N
    second_moment = count_of * haar_moment("jjjj", "kkkk", N) + count_of * (count_of - 1) * haar_moment(
        "jjjj", "kkll", N
    )
    mean = count_of * haar_moment("jj", "kk", N)
    variance = sp.factor(second_moment - mean**2)
    return InDistribution(
        r"coordinates of a random point of the sphere $|h|^2=Nq$ are independent $\mathcal N(0,q)$ in the limit",
        (
            Identity(mean, gamma, name=r"E\,|C_{j\cdot}|^2"),
            Identity(variance, 2 * gamma * (1 - gamma) / (N + 2), name=r"\mathrm{Var}\,|C_{j\cdot}|^2"),
            InProbability(r"|C_{j\cdot}|^2", mean, variance, N, gamma),
            *sphere(),
        ),
    )


@result(
    ledger=("naitsaada2023.length-map",),
    domain=apart,
    uses=("signal_propagation.length_concentrates", "signal_propagation.law_of_an_entry"),
)
def length_map_limit() -> InDistribution:
    """The length map: with independent bias coefficients q^l tends to γ(σ_α²∫φ²(√q z)Dz + σ_b²) in probability.

    Given the layer before it tends to γ(s + σ_b²), and s = σ_α²N⁻¹Σφ(h_j)² to σ_α²∫φ²(√q z)Dz, as the coordinates of h,
    a random point of a sphere, behave as independent N(0, q) variables.
    """
    return InDistribution(
        r"$q^l\to\gamma(\sigma_\alpha^2\int\phi^2(\sqrt qz)Dz+\sigma_b^2)$ in probability, for independent biases",
        (
            InProbability(
                "q^l", mean_length, variance_of_length, N, gamma * variance_of_z, lengths_at_any_width()
            ),
            *sphere(),
        ),
        formula=r"q^l = \gamma\left(\sigma_\alpha^2\int\phi^2(\sqrt{q^{l-1}}z)Dz+\sigma_b^2\right)",
    )


@printed(
    "naitsaada2023.length-map",
    quote=r"q^l=\gamma_l\big(\sigma_\alpha^2\int\phi^2(\sqrt{q^{l-1}}z)\,Dz+\sigma_b^2\big)",
    domain=shared,
    hypothesis=INDEPENDENT_WORDS,
    under=apart,
)
def printed_length_map() -> Limit:
    """As printed, q^l is a number: its variance over weights and bias tends to zero. It tends to 2γ²κ²σ_b⁴."""
    return Limit(variance_of_length, N, sp.oo, sp.S.Zero)


@result(
    ledger=("naitsaada2023.covariance-map", "naitsaada2023.overlap-lln"),
    domain=apart,
    uses=(
        "signal_propagation.overlap",
        "signal_propagation.covariance_of_inputs",
        "signal_propagation.law_of_an_entry",
    ),
)
def covariance_map_limit() -> InDistribution:
    """The covariance map: q_12 tends to γ(σ_α²∫∫φ(u_1)φ(u_2) + σ_b²) in probability, for independent bias coefficients.

    Two inputs make two vectors h = Cz and h' = Cz', the columns of a random frame in the plane that they span: their
    coordinates are pairs of normal variables in the limit, with the covariances q_11, q_12 and q_22.
    """
    return InDistribution(
        r"$q^l_{12}\to\gamma(\sigma_\alpha^2\int\phi(u_1)\phi(u_2)Dz_1Dz_2+\sigma_b^2)$ in probability, for "
        r"independent bias coefficients",
        (
            InProbability(
                "q^l_{12}",
                mean_overlap,
                variance_of_overlap,
                N,
                gamma * (s12 + sigma_b**2),
                overlaps_at_any_width(),
            ),
            *sphere(),
        ),
        formula=r"q^l_{12} \to \gamma\,\mathrm{Cov}(z_1(x^{0,1}),z_1(x^{0,2})) = "
        r"\gamma\left(\sigma_\alpha^2\int\phi(u_1)\phi(u_2)Dz_1Dz_2+\sigma_b^2\right)",
    )


@printed(
    "naitsaada2023.covariance-map",
    quote=r"q^l_{12}=\gamma_l\big(\sigma_\alpha^2\int\phi(u_1)\phi(u_2)Dz_1Dz_2+\sigma_b^2\big)",
    domain=shared,
    hypothesis=INDEPENDENT_WORDS,
    under=apart,
)
def printed_covariance_map() -> Limit:
    """As printed, q_12 is a number: its variance tends to zero."""
    return Limit(variance_of_overlap, N, sp.oo, sp.S.Zero)


@printed(
    "naitsaada2023.overlap-lln",
    quote=r"\mathrm{Cov}\big(z_1(x^{0,2}),z_1(x^{0,2})\big)",
    domain=shared,
    severity="typo",
)
def printed_overlap_lln() -> Limit:
    """As printed, the mean overlap tends to γ times the variance s_22 + σ_b² of the second input alone."""
    return Limit(mean_overlap, N, sp.oo, gamma * (s22 + sigma_b**2))


@result(
    ledger=("naitsaada2023.correlation-map-fixed-length",),
    domain=apart,
    uses=("signal_propagation.covariance_map_limit", "signal_propagation.length_map_limit"),
)
def correlation_map_limit() -> Conjunction:
    """The correlation map at the fixed point of the lengths is the covariance map over q*, for independent biases.

    q_12/√(q_11 q_22) with both lengths q* = γ(s + σ_b²): the last fact is that it is 1 for equal inputs.
    """
    length = gamma * variance_of_z
    return Conjunction(
        InProbability(
            r"q^l_{12}/q^*",
            mean_overlap / length,
            variance_of_overlap / length**2,
            N,
            (s12 + sigma_b**2) / variance_of_z,
        ),
        Identity((gamma * (s12 + sigma_b**2) / sp.sqrt(length * length)).subs(s12, s), sp.S.One, on=apart),
    )


@printed(
    "naitsaada2023.correlation-map-fixed-length",
    quote=r"c^l_{12}=\frac{\gamma_l}{q^*}\big(",
    domain=shared,
    hypothesis=INDEPENDENT_WORDS,
    under=apart,
)
def printed_correlation_map() -> Limit:
    """As printed, c^l is a number when both lengths are q*: the variance of q_12/q* tends to zero."""
    return Limit(variance_of_overlap / (gamma * variance_of_z) ** 2, N, sp.oo, sp.S.Zero)


terms = Domain(
    (N, gamma),
    (),
    (Cell("n, γ > 0", {N: 1, gamma: 1}),),
    conditions=(N >= 1,),
    hypotheses=(stated("Lemma A.1", "γn terms: n, γ > 0", N, gamma),),
)


@result(ledger=("naitsaada2023.lemma-a1",), domain=terms)
def sum_of_squares() -> InProbability:
    """Lemma A.1: the sum of γn squares of independent N(0, 1/n) variables tends to γ in probability.

    Their mean is γ, their variance 2γ/n; n is called N.
    """
    v = vector("w", k, "C")
    law = {v: 1 / n}
    return InProbability(
        r"C_1^2+\dots+C_{\gamma n}^2",
        count / N,
        2 * count / N**2,
        N,
        gamma,
        (
            MatrixIdentity(number(gaussian_mean(squared(v), law)), number(k / n), SIZES),
            MatrixIdentity(number(spread(v, law)), number(2 * k / n**2), SIZES),
        ),
    )


@result(
    ledger=("naitsaada2023.lemma-a1-variance",), domain=terms, uses=("signal_propagation.sum_of_squares",)
)
def variance_of_square() -> Conjunction:
    """C² of a N(0, 1/n) variable has the mean 1/n and the variance 2/n², so that √2/n is its standard deviation."""
    v = vector("w", 1, "C")
    law = {v: 1 / n}
    return Conjunction(
        MatrixIdentity(number(gaussian_mean(squared(v), law)), number(1 / n), SIZES, name="E\\,C_1^2"),
        MatrixIdentity(number(spread(v, law)), number(2 / n**2), SIZES, name=r"\mathrm{Var}\,C_1^2"),
        Identity(sp.sqrt(count * 2 / N**2), sp.sqrt(2) / N * sp.sqrt(count)),
    )


@printed(
    "naitsaada2023.lemma-a1-variance",
    quote=r"\mathbb V(C_1^2)=\frac{\sqrt2}{n}",
    domain=terms,
    severity="typo",
)
def printed_variance_of_square() -> Identity:
    """As printed, the variance is √2/n; by E C⁴ = 3/n² it is 3/n² - 1/n²."""
    return Identity(3 / N**2 - (1 / N) ** 2, sp.sqrt(2) / N)


threshold = Domain((N, gamma, x), (), (Cell("n, γ > 0", {N: 1, gamma: 1}),), hypotheses=terms.hypotheses)
standardised = sp.sqrt(N) * (x - gamma) / sp.sqrt(2 * gamma)


@result(
    ledger=("naitsaada2023.lemma-a1-cdf-limit",),
    domain=threshold,
    uses=("signal_propagation.sum_of_squares",),
)
def distribution_limit() -> Existence:
    """The distribution function tends to the step at γ everywhere but at γ itself, where it tends to 1/2.

    The standardised threshold √n(x - γ)/√(2γ) has the square n(x - γ)²/(2γ) → ∞ for x ≠ γ, and is 0 for x = γ, where
    the normal distribution function is 1/2. For convergence in probability the points x ≠ γ are enough.
    """
    off = Domain(
        (N, gamma, x),
        (),
        (Cell("n, γ > 0", {N: 1, gamma: 1}),),
        conditions=(sp.Ne(x, gamma),),
        words="x ≠ γ",
        hypotheses=(meaning("off the step", sp.Ne(x, gamma)),),
    )
    normal = (1 + sp.erf(standardised / sp.sqrt(2))) / 2
    return Existence(
        r"$F(x)\to0$ for $x<\gamma$, $F(x)\to1$ for $x>\gamma$, and $F(\gamma)\to\frac12$ (central limit)",
        (
            Limit(1 / standardised**2, N, sp.oo, sp.S.Zero, on=off),
            Identity(normal.subs(x, gamma), sp.Rational(1, 2), name=r"F(\gamma)"),
        ),
    )


@printed(
    "naitsaada2023.lemma-a1-cdf-limit",
    quote=r"\to\mathbb 1_{x\ge\gamma}(x)",
    domain=terms,
    severity="scope",
)
def printed_distribution_limit() -> Identity:
    """As printed, F(γ) → 1, where the standardised threshold is 0 for every n: the normal distribution gives 1/2."""
    return Identity((1 + sp.erf(standardised.subs(x, gamma) / sp.sqrt(2))) / 2, sp.S.One, name=r"F(\gamma)")
