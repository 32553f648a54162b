r"""The variance of the spectrum of JJᵀ on the edge of chaos, and what depends on rank and depth in it.

At χ = 1 it is m_2 - m_1² = L(μ_2/μ_1² - 1 - s_1), with s_1 = -1/γ for Gaussian and s_1 = 1 - 1/γ for orthogonal
weights. As μ_2 ≥ μ_1², it grows in proportion to L for every activation and every q* unless γ = 1 and the weights are
orthogonal, and it rises as γ falls. A scale of the weights changes no s_k (naitsaada2023, Sec. 3.1, 4 and 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.random_matrices.jacobian.moments import FREE, GAUSSIAN, ORTHOGONAL, mean, relative_moments
from derivations.random_matrices.spectra.gaussian_weights import S as S_gaussian
from derivations.random_matrices.spectra.orthogonal_weights import S as S_orthogonal
from derivations.random_matrices.symbols import (
    L,
    c,
    depth,
    excess,
    gamma,
    gamma2,
    mu1,
    mu2,
    q_star,
    s1,
    sigma,
    z,
)
from symdyn.calculus.means import form, jet, normals
from symdyn.calculus.series import Series
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Conjunction, Identity, Inequality
from symdyn.statements.probability import MeanOfSquare

ratio = mu2 / mu1**2
of_any = L * (ratio - 1 - s1)
of_gaussian = L * (ratio - 1 + 1 / gamma)
of_orthogonal = L * (ratio - 2 + 1 / gamma)
of_truncated = of_orthogonal + (L - 1) * (ratio - 1) * (1 / gamma - 1)
"""Of the orthogonal weights of Sec. 3.2 as they stand, W = σ_α(Q, 0): see `truncated_second_moment`."""
POSITIVE = {gamma: 1, L: 1, mu1: 1, mu2: 1}
EDGE = stated("Sec. 3.1, above Eq. (11)", "on the edge of chaos, χ_γ = γσ_α²μ_1 = 1", sigma)
edge = Domain(
    (gamma, sigma, L, mu1, mu2, s1),
    (),
    (Cell("χ = 1", POSITIVE),),
    conditions=(gamma <= 1,),
    words="on the edge of chaos",
    hypotheses=(EDGE,),
)
RATIO = stated("Sec. 3.1", "μ_2/μ_1² ≥ 1, as it is proved: μ_2/μ_1² = 1 + ε with ε ≥ 0", excess, excess >= 0)
by_excess = Domain(
    (gamma, gamma2, L, depth, excess),
    (),
    (Cell("all", {gamma: 1, gamma2: 1, L: 1, depth: 1}),),
    conditions=(excess >= 0, gamma <= 1),
    hypotheses=(RATIO, meaning("L' and γ' are another depth and ratio", depth, gamma2)),
)
below_one = by_excess.restrict(
    gamma < 1, words="γ < 1", hypotheses=(stated("Sec. 4", "low rank, γ < 1", gamma < 1),)
)


def by(variance: sp.Expr) -> sp.Expr:
    """A variance as a function of ε = μ_2/μ_1² - 1."""
    return sp.expand(variance.subs(mu2, (1 + excess) * mu1**2))


@result(
    ledger=("naitsaada2023.jacobian-variance",),
    domain=edge,
    hypotheses=(FREE,),
    uses=("random_matrices.jacobian_second_moment", "random_matrices.jacobian_first_moment"),
)
def jacobian_variance_formula() -> Identity:
    """The variance of the spectrum of JJᵀ on the edge of chaos; in general it is χ^{2L} times as much."""
    return Identity(relative_moments(2)[1] - 1, of_any, name=r"\sigma^2_{JJ^\top}")


@result(
    ledger=("naitsaada2023.gaussian-jacobian-variance",),
    domain=edge,
    uses=("random_matrices.gaussian_s1", "random_matrices.multiplicativity"),
)
def gaussian_variance() -> Identity:
    """The variance for low-rank Gaussian weights on the edge of chaos: their rows have random directions."""
    return Identity(relative_moments(2, GAUSSIAN.cut(1))[1] - 1, of_gaussian, name=r"\sigma^2_{JJ^\top}")


@result(
    ledger=("naitsaada2023.orthogonal-jacobian-variance",),
    domain=edge,
    hypotheses=(FREE,),
    uses=("random_matrices.orthogonal_s1", "random_matrices.jacobian_variance_formula"),
)
def orthogonal_variance() -> Identity:
    """The variance for low-rank orthogonal weights σ_αQRᵀ in random directions, on the edge of chaos."""
    return Identity(relative_moments(2, ORTHOGONAL.cut(1))[1] - 1, of_orthogonal, name=r"\sigma^2_{JJ^\top}")


@result(
    ledger=("naitsaada2023.variance-linear-in-depth",),
    domain=edge,
    uses=("random_matrices.gaussian_variance", "random_matrices.orthogonal_variance"),
)
def linear_in_depth() -> Conjunction:
    """The variance is linear in depth, and at γ = 1 that of full rank; γσ_α² stands where σ_W² does in χ.

    So it is for orthogonal weights in random directions, and for those that see the first r coordinates alone.
    """
    of_full_rank = L * (ratio - 1 + 1)
    return Conjunction(
        Identity(sp.diff(of_any, L) * L, of_any),
        Identity(of_gaussian.subs(gamma, 1), of_full_rank, name=r"\sigma^2_{JJ^\top}|_{\gamma=1}"),
        Identity(of_orthogonal.subs(gamma, 1), L * (ratio - 1)),
        Identity(of_truncated.subs(gamma, 1), L * (ratio - 1)),
        Identity(sp.diff(of_truncated, L) * (L - 1), of_truncated - of_truncated.subs(L, 1)),
        Identity(mean.subs(sigma, sigma / sp.sqrt(gamma)), sigma**2 * mu1, name=r"\chi_\gamma"),
    )


more = depth
several = by_excess.restrict(words="L = 1 + L', L' > 0")
SMOOTH = stated("Sec. 3.1, where μ_k is formed", "φ' has a fourth moment, and μ_1 ≠ 0")
z1, z2 = normals(2)
first, second = form("u", {z1: sp.sqrt(q_star)}), form("v", {z2: sp.sqrt(q_star)})


@result(
    ledger=("naitsaada2023.mu-ratio-inequality",),
    domain=Domain(
        (q_star,),
        (),
        (Cell("q* > 0", {q_star: 1}),),
        hypotheses=(SMOOTH, stated("Eq. (8)", "q* > 0", q_star)),
    ),
)
def ratio_of_moments() -> MeanOfSquare:
    """μ_1² ≤ μ_2: with an independent copy v of u, μ_2 - μ_1² is half the mean of (φ'(u)² - φ'(v)²)²."""
    slope, other = jet(first, 1) ** 2, jet(second, 1) ** 2
    return MeanOfSquare(slope * other, slope * slope, slope - other, factor=2)


@result(
    ledger=("naitsaada2023.depth-independence-condition",),
    domain=by_excess,
    uses=(
        "random_matrices.ratio_of_moments",
        "random_matrices.gaussian_variance",
        "random_matrices.orthogonal_variance",
        "random_matrices.truncated_second_moment",
    ),
)
def depth_independence() -> Conjunction:
    """The variance does not depend on depth only if s_1 = 0, for which weights are orthogonal and of full rank.

    Its slope in L is ε - s_1 with ε ≥ 0. That of Gaussian weights is at least 1, that of orthogonal ones at least
    1/γ - 1, which is zero for γ = 1 alone.
    """
    return Conjunction(
        Identity(sp.diff(by(of_gaussian), L), excess + 1 / gamma, name=r"\partial_L\sigma^2"),
        Identity(sp.diff(by(of_orthogonal), L), excess + 1 / gamma - 1, name=r"\partial_L\sigma^2"),
        Inequality(excess + 1 / gamma, ">"),
        Identity(sp.diff(by(of_truncated), L), (excess + 1) / gamma - 1, name=r"\partial_L\sigma^2_{(Q,0)}"),
        Inequality(excess + 1 / gamma - 1, ">=", excess),
        Inequality((excess + 1) / gamma - 1, ">=", excess),
        Inequality(1 / gamma - 1, ">", on=below_one),
        Identity((1 - 1 / gamma).subs(gamma, 1), sp.S.Zero),
    )


@result(
    ledger=("naitsaada2023.second-order-not-rescalable",),
    domain=by_excess,
    uses=("random_matrices.depth_independence", "random_matrices.scaling"),
)
def not_rescalable() -> Conjunction:
    """No scale of the weights undoes what rank does to the variance.

    A factor c of W leaves γσ_α²S_{WᵀW}, and so s_1, as it is. With γσ_α² and γσ_b² fixed, which keeps q*, χ and ε, the
    variance of rank γ exceeds that of full rank by L(1/γ - 1); and it is at least L/γ for Gaussian and L(1/γ - 1) for
    orthogonal weights, whatever q* is.
    """
    scaled = Domain(
        (gamma, sigma, c),
        (),
        (Cell("scales", {gamma: 1, sigma: 1, c: 1}),),
        hypotheses=(meaning("a factor c > 0", c),),
    )
    wide = (gamma * sigma**2, gamma * (c * sigma) ** 2)
    plain, changed = (
        Series.of(S_gaussian.subs(sigma, s), z, 1).map(lambda a, w=w: w * a)  # type: ignore[misc]  # SymPy has no types
        for s, w in zip((sigma, c * sigma), wide, strict=True)
    )
    ortho, changed_ortho = (
        Series.of(S_orthogonal.subs(sigma, s), z, 1).map(lambda a, w=w: w * a)  # type: ignore[misc]  # SymPy has no types
        for s, w in zip((sigma, c * sigma), wide, strict=True)
    )
    more = by(of_gaussian) - by(of_gaussian).subs(gamma, 1)
    return Conjunction(
        Identity(changed, plain, on=scaled),
        Identity(changed_ortho, ortho, on=scaled),
        Identity(more, L * (1 / gamma - 1), name=r"\sigma^2_\gamma-\sigma^2_1"),
        Inequality(more, ">", on=below_one),
        Inequality(by(of_gaussian), ">=", L / gamma),
        Inequality(by(of_orthogonal), ">=", L * (1 / gamma - 1)),
    )


@result(
    ledger=("naitsaada2023.orthogonal-advantage-lost",),
    domain=below_one,
    uses=("random_matrices.depth_independence",),
)
def advantage_lost() -> Conjunction:
    """For γ < 1 both ensembles have a variance that grows with depth, whatever φ and q* are.

    Orthogonal weights keep the smaller one, by L.
    """
    return Conjunction(
        Inequality(sp.diff(by(of_gaussian), L), ">"),
        Inequality(sp.diff(by(of_orthogonal), L), ">"),
        Inequality(sp.diff(by(of_truncated), L), ">"),
        Identity(by(of_gaussian) - by(of_orthogonal), L),
    )


@result(
    ledger=("naitsaada2023.variance-monotone-in-gamma",),
    domain=by_excess,
    uses=("random_matrices.gaussian_variance", "random_matrices.orthogonal_variance"),
)
def falls_with_rank() -> Conjunction:
    """The variance increases strictly as γ falls, at fixed φ, q* and depth."""
    return Conjunction(
        Inequality(sp.diff(by(of_gaussian), gamma), "<"),
        Inequality(sp.diff(by(of_orthogonal), gamma), "<"),
        Inequality(sp.diff(by(of_truncated).subs(L, 1 + more), gamma), "<", on=several),
    )
