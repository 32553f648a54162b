r"""How fast perturbations of lengths and correlations die out with depth.

Near a fixed point the slope of a map multiplies a perturbation, layer by layer: V'(q*) for lengths; χ for correlations
where c* = 1, and R = γσ_α²∫∫φ'(u_1*)φ'(u_2*) where c* < 1. So 1/ξ is -log of these. The depth scale of correlations in
the chaotic phase is that of R: -log χ is negative there. A larger γ makes χ larger, and convergence slower, as long as
c* = 1: for a linear network the rate is -log(γσ_α²).

At c = 1 - ε the second input is u_2 = u_1 + √(2q*ε) z_2 - ε√q* z_1 + …, so that first and second derivatives of φ
contribute at the same order; what they add up to is χε (naitsaada2023, Sec. 2.1, App. A.6 and A.7).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.signal_propagation.maps.closed_forms import erf_kernel_value
from derivations.signal_propagation.maps.length_and_correlation import (  # type: ignore[attr-defined]  # of jet
    at_fixed_point,
    correlation,
    jet,
    length,
    lengths,
    pairs,
    u,
    u1,
    u2,
    u_star,
)
from derivations.signal_propagation.maps.length_and_correlation import z1 as normal1
from derivations.signal_propagation.symbols import (
    c,
    c_star,
    chi,
    epsilon,
    gamma,
    layer,
    q,
    q_star,
    sigma,
    slope,
    x,
    y,
    z1,
    z2,
)
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Existence, Identity, Inequality, Limit
from symdyn.statements.probability import MeanOfSquare

SMALL = meaning("ε > 0 is small", epsilon)
interior = Domain(
    (epsilon, c_star, q_star, z1, z2),
    (),
    (Cell("-1 < c* < 1", {q_star: 1}),),
    conditions=(c_star < 1, c_star > -1),
    hypotheses=(stated("App. A.7", "-1 < c* < 1", c_star), SMALL),
)
unit = Domain((epsilon, q_star, z1, z2), (), (Cell("c* = 1", {q_star: 1, epsilon: 1}),), hypotheses=(SMALL,))
root = sp.sqrt(q_star)


@result(ledger=("naitsaada2023.u2-expansion-interior",), domain=interior)
def second_input() -> Asymptotic:
    """The pre-activation of the second input near a correlation c* < 1."""
    here = c_star + epsilon
    exact = root * (here * z1 + sp.sqrt(1 - here**2) * z2)
    start = root * (c_star * z1 + sp.sqrt(1 - c_star**2) * z2)
    first = start + root * epsilon * (z1 - c_star / sp.sqrt(1 - c_star**2) * z2)
    return Asymptotic(exact, first, epsilon, sp.S.Zero, epsilon**2, "both")


@result(ledger=("naitsaada2023.u2-expansion-unit",), domain=unit)
def second_input_near_one() -> Conjunction:
    """The pre-activation of the second input near correlation 1, u_2* = √q* z_1: it moves by √(2q*ε) z_2.

    In the text at hand the root ends before ε. That is its transcription: the remainder of the display, O(ε^{3/2}), has
    half powers, and the line that integrates it has √(2ε) and ½·2ε∫φφ'', which only √(2q*ε) gives.
    """
    exact = root * ((1 - epsilon) * z1 + sp.sqrt(1 - (1 - epsilon) ** 2) * z2)
    moved = sp.sqrt(2 * q_star * epsilon) * z2
    leading = root * z1 + moved - epsilon * root * z1
    return Conjunction(
        Asymptotic(exact, leading, epsilon, sp.S.Zero, epsilon ** sp.Rational(3, 2)),
        Identity(moved / q_star, sp.sqrt(2 * epsilon) / root * z2),
        Identity(moved**2 / (2 * q_star), epsilon * z2**2),
    )


rate_of = gamma * sigma**2 * jet(u1, 1) * jet(u2, 1)


@result(
    ledger=("naitsaada2023.corr-perturbation-interior",),
    domain=pairs,
    uses=("signal_propagation.correlation_slope", "signal_propagation.second_input"),
)
def interior_rate() -> Conjunction:
    """A perturbation of a correlation c* < 1 is multiplied by γσ_α²∫∫φ'(u_1*)φ'(u_2*).

    The three terms of the paper's last but one line are the first fact: those with φφ'' cancel.
    """
    raw = gamma * sigma**2 * (jet(u1, 1) * jet(u2, 1) + c * jet(u1) * jet(u2, 2) - c * jet(u1) * jet(u2, 2))
    return Conjunction(
        Identity(correlation.derivative(c), raw), Identity(correlation.derivative(c), rate_of, name="R")
    )


@printed(
    "naitsaada2023.corr-perturbation-interior",
    quote=r"\epsilon_{l+1}=\epsilon_l\gamma_l\sigma_\alpha^2\int\phi(u_1^*)\phi^\prime(u_2^*)Dz_1Dz_2",
    domain=replace(pairs, conditions=(*pairs.conditions, gamma <= 1)),
    severity="substantive",
)
def printed_interior_rate() -> Identity:
    """As printed, the factor is γσ_α²∫∫φ(u_1*)φ'(u_2*): for the odd φ(x) = x it would be zero."""
    return Identity(correlation.derivative(c).of(x, x), (gamma * sigma**2 * jet(u1) * jet(u2, 1)).of(x, x))


nearby = Domain(
    (epsilon, q_star, gamma, sigma),
    (),
    (Cell("c* = 1", {q_star: 1, epsilon: 1, gamma: 1, sigma: 1}),),
    conditions=(epsilon < 1,),
    hypotheses=(SMALL,),
)
angles = Domain((y,), (), (Cell("an angle", {y: 1}),), hypotheses=(meaning("c = cos θ, with θ called y", y),))


@result(
    ledger=("naitsaada2023.corr-perturbation-unit",),
    domain=at_fixed_point,
    uses=("signal_propagation.chi_is_slope", "signal_propagation.second_input_near_one"),
)
def unit_rate() -> Conjunction:
    """A perturbation of correlation 1 is multiplied by χ, up to O(ε²) for smooth φ and O(ε^{3/2}) for one with a kink.

    The first fact is the slope at c = 1. For erf, by its closed form, the remainder is O(ε²). For ReLU with c = cos θ,
    C = (sin θ + (π - θ)cos θ)/π at χ = 1, and ε = 1 - cos θ: the remainder is O(θ³).
    """
    a = 2 * q_star / (1 + 2 * q_star)
    kernel = erf_kernel_value.subs({q: q_star, c: 1 - epsilon})
    gap = gamma * sigma**2 / q_star * (erf_kernel_value.subs({q: q_star, c: 1}) - kernel)
    leading = gamma * sigma**2 * 4 / (sp.pi * sp.sqrt(1 + 4 * q_star)) * epsilon
    of_angle = 1 - (sp.sin(y) + (sp.pi - y) * sp.cos(y)) / sp.pi
    return Conjunction(
        Identity(gamma * sigma**2 * jet(u_star, 1) * jet(u_star, 1), gamma * sigma**2 * jet(u_star, 1) ** 2),
        Identity((1 + 2 * q_star) ** 2 * (1 - a**2), 1 + 4 * q_star, on=nearby),
        Asymptotic(gap, leading, epsilon, sp.S.Zero, epsilon**2, on=nearby),
        Asymptotic(of_angle, 1 - sp.cos(y), y, sp.S.Zero, y**3, on=angles),
    )


@result(
    ledger=("naitsaada2023.corr-perturbation-unit-steps",),
    domain=at_fixed_point,
    uses=("signal_propagation.second_input_near_one", "signal_propagation.stein"),
)
def unit_steps() -> Conjunction:
    """The steps near correlation 1: with √(2q*ε) z_2 the second derivative gives εq*∫φφ'' z_2², which cancels a part.

    -√q*∫φφ'z_1 = -q*(∫φ'² + ∫φφ''), and q*∫φφ'' of the second order is added: what is left is -q*∫φ'².
    """
    first = -root * jet(u_star) * jet(u_star, 1) * normal1
    return Conjunction(
        Identity(first, -q_star * (jet(u_star, 1) ** 2 + jet(u_star) * jet(u_star, 2))),
        Identity(first + q_star * jet(u_star) * jet(u_star, 2), -q_star * jet(u_star, 1) ** 2),
    )


@printed(
    "naitsaada2023.corr-perturbation-unit-steps",
    quote=r"\frac{c^*}{\sqrt{1-c^{*2}}}z_2",
    domain=Domain(
        (epsilon, q_star, z1, z2),
        (),
        (Cell("c* = 1, z_2 ≠ 0", {q_star: 1, epsilon: 1, z2: 1}),),
        hypotheses=(SMALL, meaning("z_2 is a value of a normal variable, not zero", z2)),
    ),
    severity="typo",
)
def printed_unit_steps() -> Asymptotic:
    """As printed, the second line has the expansion for c* < 1, in which u_2 moves by O(ε).

    Its coefficient c*/√(1 - c*²) is not finite at c* = 1, and u_2 moves by O(√ε).
    """
    exact = root * ((1 - epsilon) * z1 + sp.sqrt(1 - (1 - epsilon) ** 2) * z2)
    return Asymptotic(exact, root * z1, epsilon, sp.S.Zero, epsilon)


RISING_WORDS = "V'(q*) > 0, as for odd φ that do not fall; in general |V'(q*)| stands in the logarithm"
RISING = added(RISING_WORDS, slope)
any_slope = Domain((slope,), (), (Cell("any V'(q*)", {}),))
stable = Domain(
    (slope, layer),
    (),
    (Cell("V'(q*) > 0", {layer: 1}, {slope: sp.exp(y)}, reason="V'(q*) > 0 is an exponential"),),
    hypotheses=(meaning("l is a number of layers", layer),),
)


@result(
    ledger=("naitsaada2023.length-depth-scale",),
    domain=lengths,
    hypotheses=(RISING,),
    uses=("signal_propagation.length_slope",),
)
def length_depth_scale() -> Conjunction:
    """The depth scale of lengths: a perturbation of q* is multiplied by V'(q*) = exp(-1/ξ_q) in each layer.

    Where V'(q*) ≤ 0 there is no logarithm: for φ = cos it is -γσ_α²e^{-2q*}, at a fixed point that is approached with
    alternating signs, and |V'(q*)| is what counts.
    """
    of_cosine = gamma * sigma**2 * ((1 - sp.exp(-2 * q)) / 2 - (1 + sp.exp(-2 * q)) / 2)
    return Conjunction(
        Identity(
            length.derivative(q),
            gamma * sigma**2 * (jet(u, 1) ** 2 + jet(u) * jet(u, 2)),
            name=r"\mathcal V'(q^*)",
        ),
        Identity(sp.exp(layer * sp.log(slope)), slope**layer, on=stable, name=r"e^{-l/\xi_q}"),
        Identity(of_cosine, -gamma * sigma**2 * sp.exp(-2 * q), name=r"\mathcal V'|_{\phi=\cos}"),
    )


@printed(
    "naitsaada2023.length-depth-scale",
    quote=r"\xi_{q,\gamma}^{-1}:=-\log",
    domain=any_slope,
    hypothesis=RISING_WORDS,
    under=any_slope.with_cells(Cell("V'(q*) > 0", {slope: 1})),
)
def printed_length_depth_scale() -> Inequality:
    """As printed, the logarithm of V'(q*) is taken, which has to be positive."""
    return Inequality(slope, ">")


linear = Domain(
    (gamma, sigma),
    (),
    (Cell("γ, σ_α > 0", {gamma: 1, sigma: 1}),),
    conditions=(gamma <= 1, gamma * sigma**2 < 1),
    hypotheses=(
        stated("Sec. 2.1", "a fixed point that is approached, for φ(x) = x: γσ_α² < 1", gamma, sigma),
    ),
)


@result(
    ledger=("naitsaada2023.length-depth-gamma-monotone", "naitsaada2023.correlation-depth-gamma-monotone"),
    domain=linear,
    uses=("signal_propagation.length_slope", "signal_propagation.chi_is_slope"),
)
def rates_fall_with_rank() -> Conjunction:
    """For a linear network both rates are -log(γσ_α²), and fall as γ rises: convergence gets slower, not faster.

    In γ = 1/σ_α² the network comes to the edge of chaos, where the depth scale diverges.
    """
    rate = -sp.log(gamma * sigma**2)
    return Conjunction(
        Identity(
            (gamma * sigma**2 * (jet(u, 1) ** 2 + jet(u) * jet(u, 2))).of(x, x),
            gamma * sigma**2,
            name=r"\mathcal V'",
        ),
        Identity((gamma * sigma**2 * jet(u_star, 1) ** 2).of(x, x), gamma * sigma**2, name=r"\chi_\gamma"),
        Inequality(sp.diff(rate, gamma), "<"),
    )


@printed(
    "naitsaada2023.length-depth-gamma-monotone",
    quote=r"convergence of $q^l$ to $q^*$ gets faster",
    domain=linear,
    severity="substantive",
)
def printed_length_rate_rises() -> Inequality:
    """As printed, 1/ξ_q rises with γ: for φ(x) = x, 1/ξ_q = -log(γσ_α²)."""
    return Inequality(sp.diff(-sp.log(gamma * sigma**2), gamma), ">")


@printed(
    "naitsaada2023.correlation-depth-gamma-monotone",
    quote=r"convergence of the correlation to its fixed point gets faster",
    domain=linear,
    severity="substantive",
)
def printed_correlation_rate_rises() -> Inequality:
    """As printed, 1/ξ_c = -log χ rises with γ: for φ(x) = x, χ = γσ_α²."""
    return Inequality(sp.diff(-sp.log(gamma * sigma**2), gamma), ">")


by_log = Domain(
    (y,),
    (),
    (Cell("χ = e^y", {}),),
    conditions=(sp.Ne(y, 0),),
    hypotheses=(meaning("χ = e^y with y ≠ 0: off the edge of chaos", y),),
)
ORDERED_WORDS = "χ < 1: the ordered phase, in which c* = 1"
ordered = by_log.with_cells(Cell("χ = e^y < 1", {y: -1}))
ORDERED = added(ORDERED_WORDS, y)


@result(
    ledger=("naitsaada2023.correlation-depth-scale",),
    domain=ordered,
    hypotheses=(ORDERED,),
    uses=("signal_propagation.unit_rate", "signal_propagation.interior_rate"),
)
def correlation_depth_scale() -> Conjunction:
    """The depth scale of correlations in the ordered phase: 1/ξ_c = -log χ > 0. In the chaotic phase it is -log R."""
    return Conjunction(Inequality(-sp.log(sp.exp(y)), ">"), Identity(-sp.log(sp.exp(y)), -y, name=r"1/\xi_c"))


@printed(
    "naitsaada2023.correlation-depth-scale",
    quote=r"\xi_{c,\gamma}^{-1}:=-\log(\chi_\gamma)",
    domain=by_log,
    hypothesis=ORDERED_WORDS,
    under=ordered,
)
def printed_correlation_depth_scale() -> Inequality:
    """As printed, perturbations vanish at the rate -log χ, which has to be positive."""
    return Inequality(-sp.log(sp.exp(y)), ">")


@result(
    ledger=("naitsaada2023.correlation-depth-divergence",),
    domain=ordered,
    hypotheses=(ORDERED,),
    uses=("signal_propagation.correlation_depth_scale",),
)
def depth_scale_diverges() -> Conjunction:
    """The depth scale of correlations diverges to +∞ as χ tends to 1 from below: with χ = e^y it is -1/y > 0."""
    approach = Domain((y,), (), (Cell("χ = e^y < 1", {y: -1}),))
    return Conjunction(
        Inequality(-1 / y, ">", on=approach), Limit(-y, y, sp.S.Zero, sp.S.Zero, "-", on=approach)
    )


@printed(
    "naitsaada2023.correlation-depth-divergence",
    quote=r"$\xi_{c,\gamma}\to+\infty$ as $\chi_\gamma\to1$",
    domain=by_log,
    hypothesis=ORDERED_WORDS,
    under=ordered,
)
def printed_depth_scale_diverges() -> Inequality:
    """As printed, ξ_c = -1/log χ tends to +∞ from both sides, and so is positive near χ = 1."""
    return Inequality(-1 / y, ">")


erf_rates = Domain(
    (chi, q_star),
    (),
    (Cell("χ, q* > 0", {chi: 1, q_star: 1}),),
    conditions=(chi < 1,),
    hypotheses=(stated("Sec. 2.1.2", "a perturbation that vanishes: χ < 1", chi),),
)


@result(
    ledger=("naitsaada2023.correlation-decay-law",),
    domain=erf_rates,
    uses=("signal_propagation.unit_rate", "signal_propagation.erf_slopes_of_maps"),
)
def decay_of_correlations() -> Conjunction:
    """Perturbations of correlation 1 vanish as exp(-l/ξ_c) = χ^l, more slowly than exp(-l/ξ_q): for erf, V'(q*) < χ."""
    by_layers = Domain(
        (chi, layer),
        (),
        (Cell("χ > 0", {layer: 1}, {chi: sp.exp(y)}, reason="χ > 0 is an exponential"),),
        hypotheses=(meaning("l is a number of layers, and χ = e^y", layer, chi),),
    )
    return Conjunction(
        Identity(sp.exp(layer * sp.log(chi)), chi**layer, on=by_layers, name=r"e^{-l/\xi_c}"),
        Inequality(chi / (1 + 2 * q_star), "<", chi),
    )


@printed(
    "naitsaada2023.correlation-decay-law",
    quote=r"e^{-l/\xi_{q,\gamma}}",
    domain=erf_rates,
    severity="typo",
)
def printed_decay_of_correlations() -> Inequality:
    """As printed, they are O(e^{-l/ξ_q}): then χ is at most V'(q*), which is χ/(1 + 2q*) for erf."""
    return Inequality(chi, "<=", chi / (1 + 2 * q_star))


@result(
    ledger=("naitsaada2023.ordered-convergence",),
    domain=pairs,
    uses=("signal_propagation.correlation_slope", "signal_propagation.unit_correlation"),
)
def ordered_phase() -> Existence:
    """In the ordered phase, χ < 1, correlations converge to 1 exponentially, from any start between -1 and 1.

    |C'(c)| ≤ χ on all of (-1, 1), as the means of (φ'(u_1) ∓ φ'(u_2))² are not negative: C is a contraction with the
    fixed point 1, and |1 - c^l| ≤ χ^l |1 - c^0|.
    """
    first, second = jet(u1, 1), jet(u2, 1)
    return Existence(
        r"for $\chi<1$ the correlation map contracts $[-1,1]$ by $\chi$, so that $|1-c^l|\le\chi^l|1-c^0|$",
        (
            MeanOfSquare(first * second, first**2, first - second, factor=2),
            MeanOfSquare(-(first * second), first**2, first + second, factor=2),
            Identity(correlation.derivative(c), gamma * sigma**2 * first * second),
        ),
    )


@result(
    ledger=("naitsaada2023.chaotic-instability",),
    domain=at_fixed_point,
    uses=("signal_propagation.chi_is_slope", "signal_propagation.unit_rate"),
)
def chaotic_phase() -> Existence:
    """In the chaotic phase, χ > 1, correlation 1 is unstable: near it the map multiplies 1 - c by χ > 1.

    The fact is the slope at c = 1, which is C'(c) with equal inputs, for every smooth φ.
    """
    at_one = gamma * sigma**2 * jet(u_star, 1) * jet(u_star, 1)
    return Existence(
        r"for $\chi>1$ there are $\delta>0$, $\rho>1$ with $1-C(c)\ge\rho(1-c)$ for $1-c<\delta$: none stays near 1",
        (Identity(at_one, gamma * sigma**2 * jet(u_star, 1) ** 2, name=r"\partial_cC(1)"),),
    )
