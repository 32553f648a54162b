r"""The balances of a wide network at random initialisation.

With a_k ~ N(0, β_a²) and w_k ~ N(0, β_W² I_d), independent,

    E δ_k = η_wβ_a² - dη_aβ_W²,        Var δ_k = 2η_w²β_a⁴ + 2dη_a²β_W⁴.

Neither the width nor the factor 1/α before the output enters: with it both velocities are divided by α, and δ_k is
conserved still. So the NTK parametrisation (α = √h) and the mean-field one (α = h), both with β_a = β_W = 1, have the
same distribution of balances. But their mean is η_w - dη_a: at equal rates it is zero for a single input only. It is
zero for β_W² = β_a²/d, say, as if the inputs of a neuron were divided by √d (kunin2024, Sec. 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.network.neuron import balance
from derivations.piecewise_linear.symbols import a, alpha, beta_a, beta_w, d, dimension, eta_a, eta_w, w, xi
from symdyn.calculus.gram import Flow, inner
from symdyn.calculus.matrix import gaussian_mean, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conservation, Identity, InDistribution, Inequality

readout, inputs = vector("a", 1), vector("w", d)
random_balance = eta_w * (readout.T @ readout).scalar() - eta_a * (inputs.T @ inputs).scalar()


def mean(x: sp.Expr) -> sp.Expr:
    """The mean over the initialisation, in d inputs."""
    return gaussian_mean(sp.expand(x), {readout: beta_a**2, inputs: beta_w**2}).subs(d, dimension)


POSITIVE = {beta_a: 1, beta_w: 1, eta_a: 1, eta_w: 1, dimension: 1}
scalars = (beta_a, beta_w, eta_a, eta_w, dimension)
any_scales = Domain(
    scalars,
    (),
    (Cell("all", POSITIVE),),
    sampler=lambda rng, _: {dimension: sp.Integer(rng.randint(1, 6))},
    words="any standard deviations and rates",
    hypotheses=(stated("Sec. 5", "a_k ~ N(0, β_a²) and w_k ~ N(0, β_W² I_d)", dimension),),
)
zero_mean = any_scales.with_cells(
    Cell("η_wβ_a² = dη_aβ_W²", POSITIVE, {eta_w: dimension * eta_a * beta_w**2 / beta_a**2})
)

scaled = Flow({a: -eta_a / alpha * inner(w, xi), w: -eta_w * a / alpha * xi})
"""The flow of a neuron whose output is divided by α."""

any_output_scale = Domain(
    (a, alpha, eta_a, eta_w), (w, xi), conditions=(sp.Ne(alpha, 0),), words="the output is divided by α"
)


@result(ledger=("kunin2024.infinite-width-delta-distribution",), domain=any_scales)
def balances_at_random() -> InDistribution:
    """The mean and the variance of the balance of a neuron with Gaussian weights, at any width and any output scale."""
    expected = mean(random_balance)
    spread = sp.expand(mean(random_balance**2) - expected**2)
    return InDistribution(
        r"the distribution of $\delta_k$ does not depend on the width or on what divides the output",
        (
            Identity(expected, eta_w * beta_a**2 - dimension * eta_a * beta_w**2, name=r"E\,\delta_k"),
            Identity(
                spread,
                2 * eta_w**2 * beta_a**4 + 2 * dimension * eta_a**2 * beta_w**4,
                name=r"\mathrm{Var}\,\delta_k",
            ),
            Inequality(spread, ">"),
            Conservation(balance, under=scaled, name=r"\delta_k", on=any_output_scale),
        ),
        formula=r"E\, \delta_k = \eta_w \beta_a^2 - d \eta_a \beta_W^2",
    )


@printed(
    "kunin2024.infinite-width-delta-distribution",
    quote="zero in expectation with non-vanishing variance",
    domain=any_scales,
    hypothesis="η_wβ_a² = dη_aβ_W², for instance equal rates and β_W = β_a/√d",
    under=zero_mean,
)
def printed_balances_at_random() -> InDistribution:
    """As printed: the balance has mean zero and a variance that does not vanish."""
    expected = mean(random_balance)
    return InDistribution(
        r"$E\,\delta_k=0$ and $\mathrm{Var}\,\delta_k>0$",
        (
            Identity(expected, sp.S.Zero, name=r"E\,\delta_k"),
            Inequality(sp.expand(mean(random_balance**2) - expected**2), ">"),
        ),
    )
