r"""Closed forms of the maps for erf, ReLU, sin and linear networks.

By Price's rule the mean of φφ has the slope q∫∫φ'φ' in c, and for erf, φ' = (2/√π)exp(-x²), that is a Gaussian
integral:

    ∫∫φ'(u_1)φ'(u_2) = (4/π)/√((1 + 2q)² - 4q²c²),    ∫∫φ(u_1)φ(u_2) = (2/π) arcsin(2qc/(1 + 2q)).

So χ = γσ_α²(4/π)/√(1 + 4q*) and V'(q*) = χ/(1 + 2q*): on the edge of chaos, at χ = 1, lengths converge exponentially
all the same, though correlations do not (cf. naitsaada2023, Sec. 1).
"""

from __future__ import annotations

import sympy as sp

from derivations.signal_propagation.maps.length_and_correlation import INSIDE
from derivations.signal_propagation.symbols import c, chi, gamma, q, q_star, sigma, sigma_b
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality

POSITIVE = {q: 1, gamma: 1, sigma: 1, chi: 1}
pairs = Domain(
    (c, q),
    (),
    (Cell("-1 < c < 1", POSITIVE),),
    conditions=(c < 1, c > -1),
    hypotheses=(INSIDE,),
)
lengths = Domain((q, gamma, sigma, sigma_b), (), (Cell("q > 0", POSITIVE),))

erf_kernel_value = 2 / sp.pi * sp.asin(2 * q * c / (1 + 2 * q))
erf_slopes = 4 / sp.pi / sp.sqrt((1 + 2 * q) ** 2 - 4 * q**2 * c**2)
erf_length = gamma * (sigma**2 * 2 / sp.pi * sp.asin(2 * q / (1 + 2 * q)) + sigma_b**2)
erf_chi = gamma * sigma**2 * 4 / (sp.pi * sp.sqrt(1 + 4 * q))
angle_kernel = q / (2 * sp.pi) * (sp.sqrt(1 - c**2) + c * (sp.pi - sp.acos(c)))
sine_kernel = sp.exp(-q) * sp.sinh(q * c)


@result(domain=pairs, uses=("signal_propagation.correlation_slope",))
def erf_kernel() -> Conjunction:
    """The mean of erf(u_1)erf(u_2): its slope in c is q times that of the product of slopes, and it vanishes at c = 0.

    The mean of exp(-u_1² - u_2²) is the inverse root of det(1 + 2Σ) = (1 + 2q)² - 4q²c².
    """
    determinant = sp.Matrix([[1 + 2 * q, 2 * q * c], [2 * q * c, 1 + 2 * q]]).det()
    return Conjunction(
        Identity(determinant, (1 + 2 * q) ** 2 - 4 * q**2 * c**2, name=r"\det(1+2\Sigma)"),
        Identity(sp.diff(erf_kernel_value, c), q * erf_slopes, name=r"\partial_c\int\phi(u_1)\phi(u_2)"),
        Identity(erf_kernel_value.subs(c, 0), sp.S.Zero),
    )


@result(domain=pairs, uses=("signal_propagation.correlation_slope",))
def relu_kernel() -> Conjunction:
    """The mean of φ(u_1)φ(u_2) for ReLU: its second derivative in c is q times the density of both at zero.

    At c = -1 the mean and its slope vanish, as u_1 and u_2 are never both positive.
    """
    density = 1 / (2 * sp.pi * sp.sqrt(1 - c**2))
    return Conjunction(
        Identity(sp.diff(angle_kernel, c), q * (sp.pi - sp.acos(c)) / (2 * sp.pi)),
        Identity(sp.diff(angle_kernel, c, 2), q * density),
        Identity(angle_kernel.subs(c, -1), sp.S.Zero),
        Identity(sp.diff(angle_kernel, c).subs(c, 0), q / 4),
    )


@result(domain=pairs, uses=("signal_propagation.correlation_slope",))
def sine_kernel_form() -> Conjunction:
    """The mean of sin(u_1)sin(u_2) is e^{-q} sinh(qc), and that of cos(u_1)cos(u_2) e^{-q} cosh(qc).

    The mean of exp(i(u_1 ± u_2)) is exp(-q(1 ± c)), of which they are half the difference and half the sum.
    """
    minus, plus = sp.exp(-q * (1 - c)), sp.exp(-q * (1 + c))
    return Conjunction(
        Identity((minus - plus) / 2, sine_kernel, name=r"\int\sin(u_1)\sin(u_2)"),
        Identity(sp.diff(sine_kernel, c), q * (minus + plus) / 2),
    )


@result(domain=lengths, uses=("signal_propagation.erf_kernel", "signal_propagation.length_slope"))
def erf_slopes_of_maps() -> Conjunction:
    """For erf, χ(q) = γσ_α²(4/π)/√(1 + 4q) and V'(q) = χ(q)/(1 + 2q)."""
    return Conjunction(
        Identity(gamma * sigma**2 * erf_slopes.subs(c, 1), erf_chi, name=r"\chi_\gamma"),
        Identity(sp.diff(erf_length, q), erf_chi / (1 + 2 * q), name=r"\mathcal V'(q)"),
    )


RATES = Domain(
    (chi, q_star),
    (),
    (Cell("q* > 0", {chi: 1, q_star: 1}),),
    conditions=(chi <= 1,),
    hypotheses=(stated("Sec. 1", "χ ≤ 1, where c* = 1", chi),),
)
ON_EDGE = Domain(
    (q_star,),
    (),
    (Cell("χ = 1", {q_star: 1}),),
    words="χ = 1",
    hypotheses=(stated("Sec. 1", "on the edge of chaos, χ = 1", q_star),),
)


@result(
    ledger=("naitsaada2023.exponential-convergence",),
    domain=RATES,
    uses=("signal_propagation.erf_slopes_of_maps", "signal_propagation.chi_is_slope"),
)
def convergence_on_the_edge() -> Existence:
    """Correlations converge exponentially for χ < 1 and not at χ = 1; lengths do at χ = 1 too, where V'(q*) < 1.

    For erf V'(q*) = χ/(1 + 2q*) < 1 for all χ ≤ 1 and q* > 0, whereas the slope of C at c = 1 is χ.
    """
    rate = chi / (1 + 2 * q_star)
    return Existence(
        r"near $q^*$ lengths converge at the rate $-\log|\mathcal V'(q^*)|$, and correlations near 1 at $-\log\chi$",
        (
            Inequality(rate, "<", sp.S.One),
            Inequality(rate, ">"),
            Inequality(1 / (1 + 2 * q_star), "<", sp.S.One, on=ON_EDGE),
        ),
        formula=r"\mathcal V'(q^*) = \frac{\chi_\gamma}{1+2q^*} \quad (\phi=\mathrm{erf})",
    )


@printed(
    "naitsaada2023.exponential-convergence",
    quote=r"at $\chi=1$ the approach is sub-exponential",
    domain=ON_EDGE,
    severity="scope",
)
def printed_convergence_on_the_edge() -> Identity:
    """As printed, both maps converge sub-exponentially at χ = 1, so that V'(q*) = 1; for erf it is 1/(1 + 2q*)."""
    return Identity(1 / (1 + 2 * q_star), sp.S.One, name=r"\mathcal V'(q^*)")
