r"""What one scalar bias a layer does to the maps, the depth scales and the edge of chaos.

The network of the paper adds b^(l)(C_1 + … + C_r) with one b^(l) ~ N(0, σ_b²) for all directions. Given b^(l), lengths
and overlaps concentrate as they do for independent coefficients, with (b^(l))² in the place of σ_b²:

    q^l = γ(σ_α²∫φ²(√q^{l-1}z)Dz + (b^(l))²),        1 - c^l = σ_α²(Eφ² - Eφφ')/(σ_α²Eφ² + (b^(l))²).

So the length is a Markov chain with a stationary law, and tends to no number q*. The gap of correlations is multiplied
by at most χ(q^{l-1})q^{l-1}/q^l, with equality as it vanishes, and the ratio of lengths telescopes: over L layers by
(q^0/q^L)Πχ(q^l). Correlations go to 1 at the rate -E log χ(q), the mean over the stationary law, and E log χ(q) = 0 is
the edge of chaos. For linear and ReLU networks χ does not depend on q, and the edge is where it was; for erf it is at
smaller variances, as log χ falls with q and is convex (cf. naitsaada2023, Sec. 1 and 2.1, where σ_b² stands for b²).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.signal_propagation.maps.closed_forms import erf_chi, erf_length, lengths
from derivations.signal_propagation.network.model import SIZES, A, k, m, scale
from derivations.signal_propagation.network.wide_limit import (
    ONES,
    number,
    one_bias,
    second,
    size2,
    size12,
    size22,
    squared,
    together,
)
from derivations.signal_propagation.symbols import (
    N,
    bias,
    chi,
    chi_next,
    gamma,
    q,
    q_next,
    q_star,
    s,
    s12,
    s22,
    unseen,
)
from symdyn.calculus.matrix import gaussian_mean
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity
from symdyn.statements.probability import InProbability

GIVEN = meaning("b is the value of the bias of the layer, and s_12 a covariance", bias, s12, s22, unseen)
given = Domain(
    (N, gamma, s, s12, unseen, bias),
    (),
    (
        Cell("two inputs", {N: 1, gamma: 1, s: 1, unseen: 1}),
        Cell("parallel inputs", {N: 1, gamma: 1, s: 1}, {unseen: 0}),
    ),
    conditions=(gamma <= 1,),
    let={s22: s12**2 / s + unseen},  # Cauchy and Schwarz: a covariance is not any number
    hypotheses=(GIVEN,),
)
by_weights = {A: scale**2 / m}
square = squared(one_bias)


def of_weights(x: Any) -> tuple[Any, Any]:
    """Mean and variance over the weights alone."""
    mean = gaussian_mean(x, by_weights)
    return mean, gaussian_mean(sp.expand(x**2), by_weights) - mean**2


@result(domain=given, uses=("signal_propagation.pythagoras", "signal_propagation.law_of_an_entry"))
def length_given_the_bias() -> InProbability:
    """Given the bias b of the layer, q^l tends to γ(s + b²) in probability: a random number, as b is.

    The variance over the weights is 2r s(s + 2b²)/N², at any width.
    """
    mean, variance = of_weights(squared(together))
    return InProbability(
        "q^l",
        gamma * N * (s + bias**2) / N,
        2 * gamma * N * s * (s + 2 * bias**2) / N**2,
        N,
        gamma * (s + bias**2),
        (
            MatrixIdentity(number(mean), number(k * (size2 + square)), SIZES, ONES),
            MatrixIdentity(number(variance), number(2 * k * size2 * (size2 + 2 * square)), SIZES, ONES),
        ),
    )


@result(domain=given, uses=("signal_propagation.overlap", "signal_propagation.length_given_the_bias"))
def overlap_given_the_bias() -> Conjunction:
    """Given b, q_12 tends to γ(s_12 + b²) in probability, and with equal lengths 1 - c^l to (s - s_12)/(s + b²)."""
    mean, variance = of_weights((together.T @ second).scalar())
    return Conjunction(
        InProbability(
            "q^l_{12}",
            gamma * N * (s12 + bias**2) / N,
            gamma * N * (s * s22 + s12**2 + bias**2 * (s + s22 + 2 * s12)) / N**2,
            N,
            gamma * (s12 + bias**2),
            (
                MatrixIdentity(number(mean), number(k * (size12 + square)), SIZES, ONES),
                MatrixIdentity(
                    number(variance),
                    number(k * (size2 * size22 + size12**2 + square * (size2 + size22 + 2 * size12))),
                    SIZES,
                    ONES,
                ),
            ),
        ),
        Identity(1 - (s12 + bias**2) / (s + bias**2), (s - s12) / (s + bias**2), name="1-c^l"),
    )


layers = Domain(
    (q, q_star, q_next, chi, chi_next),
    (),
    (Cell("lengths", {q: 1, q_star: 1, q_next: 1, chi: 1, chi_next: 1}),),
    hypotheses=(
        meaning(
            "q, q* and q^l are the lengths of three layers in a row, χ_γ and χ' the slopes at the first two",
            q,
        ),
        meaning("χ' is a slope like χ", chi_next),
    ),
)


@result(
    domain=layers,
    uses=("signal_propagation.overlap_given_the_bias", "signal_propagation.ordered_phase"),
)
def exponent_of_one_bias() -> Existence:
    """With one bias a layer correlations go to 1 at the rate -E log χ(q), over the stationary law of the lengths.

    One layer multiplies the gap by χ(q^{l-1})q^{l-1}/q^l at most, as |∫∫φ'φ'| ≤ ∫φ'². The first fact is that over two
    layers the ratios of lengths telescope; what is left of them does not grow.
    """
    return Existence(
        r"$1-c^L\le\frac{q^0}{q^L}\prod_l\chi(q^l)\,(1-c^0)$, and $\frac1L\sum_l\log\chi(q^l)\to E\log\chi(q)$ almost "
        r"surely where the lengths have a stationary law: ordered where it is negative, chaotic where it is positive",
        (
            Identity(
                chi * q / q_star * (chi_next * q_star / q_next), q / q_next * chi * chi_next, name=r"\epsilon"
            ),
        ),
        formula=r"\xi_c^{-1} = -E\log\chi_\gamma(q)",
    )


@result(
    domain=lengths, uses=("signal_propagation.exponent_of_one_bias", "signal_propagation.erf_slopes_of_maps")
)
def one_bias_is_more_chaotic() -> Existence:
    """For erf, E log χ(q) > log χ(q*): with one bias a layer the edge of chaos is at smaller variances.

    V is concave, so that E q = E V(q) ≤ V(E q) and E q ≤ q*; log χ falls, and is convex, so that by Jensen
    E log χ(q) ≥ log χ(E q) ≥ log χ(q*), strictly as q is not constant.
    """
    log_chi = sp.log(erf_chi)
    return Existence(
        r"$E\log\chi_\gamma(q)>\log\chi_\gamma(q^*)$ for $\phi=\mathrm{erf}$ and $\sigma_b>0$, by Jensen",
        (
            Inequality(sp.diff(erf_length, q, 2), "<"),
            Inequality(sp.diff(log_chi, q), "<"),
            Inequality(sp.diff(log_chi, q, 2), ">"),
        ),
    )
