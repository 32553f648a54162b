r"""The maps, their fixed points and the slope χ of the correlation map.

    V(q) = γ(σ_α²∫φ²(√q z)Dz + σ_b²),    C(c) = (γ/q*)(σ_α²∫∫φ(u_1)φ(u_2) + σ_b²),

with u_1 = √q* z_1 and u_2 = √q*(c z_1 + √(1 - c²)z_2), depend on γσ_α² and γσ_b² alone. With Stein's rule

    C'(c) = γσ_α²∫∫φ'(u_1)φ'(u_2),        V'(q) = γσ_α²(∫φ'(√q z)² + ∫φ''(√q z)φ(√q z)),

for every φ to which the rule applies: where φ, φ' are absolutely continuous and do not grow too fast. At c = 1 the
first is χ (naitsaada2023, Sec. 1, App. A.4-A.6).
"""

from __future__ import annotations

import sympy as sp

from derivations.signal_propagation.symbols import (
    c,
    gamma,
    m2,
    m12,
    mu1,
    q,
    q_star,
    sigma,
    sigma_b,
    sigma_w,
    x,
)
from symdyn.calculus.means import form, jet, mean, normals
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Definition, Identity

z1, z2 = normals(2)
POSITIVE = {gamma: 1, sigma: 1, q: 1, q_star: 1}
SMOOTH = stated(
    "App. A.5-A.7", "φ is smooth enough: Stein's rule applies to φ and the derivatives that occur"
)
INSIDE = stated("App. A.5, which divides by √(1 - c²)", "-1 < c < 1", c, c < 1, c > -1)

lengths = Domain(
    (q, gamma, sigma, sigma_b), (), (Cell("q > 0", POSITIVE),), words="φ smooth", hypotheses=(SMOOTH,)
)
pairs = Domain(
    (c, q_star, gamma, sigma, sigma_b),
    (),
    (Cell("-1 < c < 1", POSITIVE),),
    conditions=(c < 1, c > -1),
    words="φ smooth",
    hypotheses=(SMOOTH, INSIDE),
)
at_fixed_point = Domain(
    (q_star, gamma, sigma, sigma_b), (), (Cell("q* > 0", POSITIVE),), words="φ smooth", hypotheses=(SMOOTH,)
)
variances = Domain(
    (gamma, sigma, sigma_b, sigma_w, m2, m12, mu1),
    (),
    (Cell("variances", {gamma: 1, sigma: 1, sigma_b: 1, sigma_w: 1}),),
)

u = form(r"\sqrt{q}z", {z1: sp.sqrt(q)})
u_star = form(r"\sqrt{q^*}z", {z1: sp.sqrt(q_star)})
u1 = form("u_1", {z1: sp.sqrt(q_star)})
u2 = form("u_2", {z1: sp.sqrt(q_star) * c, z2: sp.sqrt(q_star) * sp.sqrt(1 - c**2)})
length = gamma * (sigma**2 * jet(u) ** 2 + sigma_b**2)
"""V(q)."""
correlation = gamma / q_star * (sigma**2 * jet(u1) * jet(u2) + sigma_b**2)
"""C(c) at the fixed point q*."""
chi_of = gamma * sigma**2 * jet(u_star, 1) ** 2


relu_map = gamma * sigma**2 * (sp.sqrt(1 - c**2) + c * (sp.pi - sp.acos(c))) / (2 * sp.pi)
"""C(c) of ReLU without bias, at any q*."""
inside = Domain(
    (c, gamma, sigma),
    (),
    (Cell("-1 < c < 1", {gamma: 1, sigma: 1}),),
    conditions=(c < 1, c > -1),
    hypotheses=(INSIDE,),
)


@result(ledger=("naitsaada2023.gaussian-measure",))
def gaussian_measure() -> Identity:
    """The standard normal measure Dz has the mass one: its distribution function tends to 0 and 1.

    (1 + erf(x/√2))/2 has the derivative exp(-x²/2)/√(2π).
    """
    function = (1 + sp.erf(x / sp.sqrt(2))) / 2
    return Identity(sp.diff(function, x), sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi), name="Dz/dz")


@result(
    ledger=("naitsaada2023.correlation-def",),
    domain=Domain((m12, q, q_star), (), (Cell("lengths", {q: 1, q_star: 1}),)),
)
def correlation_of_inputs() -> Definition:
    """The correlation of the pre-activations of two inputs, for lengths that are not zero: q and q* here."""
    return Definition("c^l_{12}", m12 / sp.sqrt(q * q_star))


@result(ledger=("naitsaada2023.fixed-point-def",), domain=lengths)
def fixed_point_of_lengths() -> Identity:
    """A fixed point of the length map, q* = V(q*): the bias for a given one is σ_b² = q*/γ - σ_α²∫φ²(√q*z)Dz."""
    inverse = q / gamma - sigma**2 * jet(u) ** 2
    return Identity(gamma * (sigma**2 * jet(u) ** 2 + inverse), mean(q), name=r"\mathcal V(q^*)")


@result(
    ledger=("naitsaada2023.chi-def",),
    domain=at_fixed_point,
    uses=("signal_propagation.fixed_point_of_lengths",),
)
def chi_as_mean() -> Identity:
    """χ is γσ_α² times the mean of φ'(√q* z)²: the mean squared slope times what a layer does to a length."""
    slope = jet(u_star, 1)
    return Identity(gamma * sigma**2 * slope * slope, gamma * sigma**2 * slope**2, name=r"\chi_\gamma")


@result(ledger=("naitsaada2023.edge-of-chaos-def",), domain=variances)
def edge() -> Identity:
    """The edge of chaos: where χ = γσ_α²μ_1 = 1, which is at σ_α² = 1/(γμ_1)."""
    on_it = variances.with_cells(Cell("μ_1 > 0", {gamma: 1, sigma: 1, sigma_b: 1, sigma_w: 1, mu1: 1}))
    return Identity(
        gamma * (1 / (gamma * mu1)) * mu1,
        sp.S.One,
        on=on_it.supposing(stated("Eq. (8)", "μ_1 > 0 on the edge", mu1)),
        name=r"\chi_\gamma",
    )


@result(
    ledger=("naitsaada2023.full-rank-recovery", "naitsaada2023.variance-rescaling"),
    domain=variances,
)
def full_rank() -> Conjunction:
    """At γ = 1, and with σ_α² → σ_W²/γ and σ_b² → σ_b²/γ at any γ, both maps are those of full rank.

    m_2 and m_12 stand for the means of φ² and φφ. The maps of Poole et al. are σ_W²Eφ² + σ_b² and σ_W²Eφφ + σ_b².
    """
    maps = tuple(gamma * (sigma**2 * moment + sigma_b**2) for moment in (m2, m12))
    full = tuple(sigma_w**2 * moment + sigma_b**2 for moment in (m2, m12))
    at_one = tuple(v.subs({gamma: 1, sigma: sigma_w}) for v in maps)
    rescaled = tuple(
        v.subs({sigma: sigma_w / sp.sqrt(gamma), sigma_b: sigma_b / sp.sqrt(gamma)}, simultaneous=True)
        for v in maps
    )
    return Conjunction(Identity(at_one, full), Identity(rescaled, full))


@result(ledger=("naitsaada2023.eoc-rescaling",), domain=variances, uses=("signal_propagation.full_rank",))
def rescaled_edge() -> Identity:
    """The edge of chaos is the same curve in γσ_α² and γσ_b² for every γ, as fixed points and χ depend on these alone.

    So a low-rank network on the curve has the variances of the full-rank one divided by γ, and drawn with axes
    multiplied by γ the curve is the full-rank one.
    """
    by_products = (sigma_w**2 * m2 + sigma_b**2, sigma_w**2 * mu1)
    rescaled = (gamma * (sigma**2 * m2 + sigma_b**2), gamma * sigma**2 * mu1)
    substituted = tuple(
        v.subs({sigma: sigma_w / sp.sqrt(gamma), sigma_b: sigma_b / sp.sqrt(gamma)}, simultaneous=True)
        for v in rescaled
    )
    return Identity(substituted, by_products, name=r"(\mathcal V, \chi_\gamma)")


@result(
    ledger=("naitsaada2023.unit-fixed-point",),
    domain=at_fixed_point,
    uses=("signal_propagation.fixed_point_of_lengths",),
)
def unit_correlation() -> Conjunction:
    """Correlation 1 is a fixed point: with u_2 = u_1, C(1) = V(q*)/q*."""
    equal = gamma / q_star * (sigma**2 * jet(u_star) ** 2 + sigma_b**2)
    at_one = gamma / q_star * (sigma**2 * jet(u_star) * jet(u_star) + sigma_b**2)
    bias = q_star / gamma - sigma**2 * jet(u_star) ** 2
    return Conjunction(
        Identity(at_one, equal, name="C(1)"),
        Identity(gamma / q_star * (sigma**2 * jet(u_star) ** 2 + bias), mean(1), name=r"\mathcal V(q^*)/q^*"),
    )


@result(
    ledger=("naitsaada2023.gaussian-ibp",),
    domain=Domain(
        (q_star, c), (), (Cell("all", {q_star: 1}),), conditions=(c < 1, c > -1), hypotheses=(SMOOTH, INSIDE)
    ),
)
def stein() -> Conjunction:
    """Stein's rule for φ and for the products G and H of the paper.

    It holds for absolutely continuous F that does not grow too fast: for a kink, not for a jump.
    """
    product = jet(u1) * jet(u2, 1)
    return Conjunction(
        Identity(jet(u1) * z1, sp.sqrt(q_star) * jet(u1, 1)),
        Identity(
            product * z1,
            sp.sqrt(q_star) * (jet(u1, 1) * jet(u2, 1) + c * jet(u1) * jet(u2, 2)),
        ),
        Identity(product * z2, sp.sqrt(q_star) * sp.sqrt(1 - c**2) * jet(u1) * jet(u2, 2)),
        Identity(jet(u1) * z1 * z1, jet(u1) + q_star * jet(u1, 2)),
    )


@result(
    ledger=("naitsaada2023.correlation-slope-raw",),
    domain=pairs,
    uses=("signal_propagation.unit_correlation",),
)
def raw_slope() -> Identity:
    """The derivative of the correlation map under the integral, before Stein's rule."""
    root = sp.sqrt(q_star)
    inner = root * z1 - root * c / sp.sqrt(1 - c**2) * z2
    return Identity(
        correlation.derivative(c),
        gamma * sigma**2 / q_star * jet(u1) * jet(u2, 1) * inner,
        name=r"\partial_cC(c)",
    )


@result(
    ledger=("naitsaada2023.correlation-slope",),
    domain=pairs,
    uses=("signal_propagation.raw_slope", "signal_propagation.stein"),
)
def correlation_slope() -> Identity:
    """The slope of the correlation map, C'(c) = γσ_α²∫∫φ'(u_1)φ'(u_2), for every smooth φ."""
    return Identity(
        correlation.derivative(c), gamma * sigma**2 * jet(u1, 1) * jet(u2, 1), name=r"\partial_cC(c)"
    )


@result(
    ledger=("naitsaada2023.chi-equals-correlation-slope",),
    domain=at_fixed_point,
    uses=("signal_propagation.correlation_slope", "signal_propagation.chi_as_mean"),
)
def chi_is_slope() -> Conjunction:
    """χ is the slope of the correlation map at c = 1, for every smooth φ.

    At c = 1, u_2 = u_1 in C'(c). The second fact is an activation with a kink, ReLU, by its closed form
    C(c) = γσ_α²(√(1 - c²) + c(π - arccos c))/(2π) + …: its slope tends to χ = γσ_α²/2 as well. For an activation with a
    jump φ' says nothing, and the slope is infinite.
    """
    return Conjunction(
        Identity(gamma * sigma**2 * jet(u1, 1) * jet(u1, 1), chi_of, name=r"\partial_cC(1)"),
        Identity(sp.diff(relu_map, c), gamma * sigma**2 * (sp.pi - sp.acos(c)) / (2 * sp.pi), on=inside),
    )


@result(
    ledger=("naitsaada2023.length-perturbation-recursion",),
    domain=lengths,
    uses=("signal_propagation.stein",),
)
def length_slope() -> Identity:
    """The slope of the length map, V'(q) = γσ_α²(∫φ'² + ∫φ''φ): what multiplies a small perturbation of q*."""
    value = gamma * sigma**2 * (jet(u, 1) ** 2 + jet(u) * jet(u, 2))
    return Identity(length.derivative(q), value, name=r"\mathcal V'(q)")


@result(
    ledger=("naitsaada2023.length-perturbation-steps",),
    domain=lengths,
    uses=("signal_propagation.length_slope",),
)
def length_expansion() -> Conjunction:
    """The expansion of the length map to first order in ε, each of its steps with the factor σ_α²."""
    first = gamma * sigma**2 * jet(u) * jet(u, 1) * z1 / sp.sqrt(q)
    return Conjunction(
        Identity(length.derivative(q), first, name=r"\mathcal V'(q)"),
        Identity(first, gamma * sigma**2 * (jet(u, 1) ** 2 + jet(u) * jet(u, 2))),
    )


@printed(
    "naitsaada2023.length-perturbation-steps",
    quote=r"\int\phi^\prime\phi\frac{\epsilon_l}{\sqrt{q^*}}z",
    domain=lengths,
    severity="typo",
)
def printed_length_expansion() -> Identity:
    """As printed in the fourth and fifth lines, the coefficient of ε is γ∫φ'φ z/√q, without σ_α²."""
    return Identity(length.derivative(q), gamma * jet(u) * jet(u, 1) * z1 / sp.sqrt(q))
