"""Theorem 5 of the paper, a result of Azulay et al., and why it is Theorem 1 for δ ≥ 0.

Their function q_δ(n) = (n² - (δ/2)(δ/2 + √(n² + δ²/4))) √(√(n² + δ²/4) - δ/2)/n becomes (κ - 2δ)√(κ +
δ)/(2√2) with κ = 2√(n² + δ²/4) and n = √(κ² - δ²)/2. Hence Φ_δ = (2√2/3) q_δ + c_δ, and their linear term zᵀβ
is -ψ_δ β̂_0ᵀβ by the same factor. For δ ≥ 0 the read-out weight never vanishes, η_w a² = δ + η_a‖w‖², so the
dual variable, a multiple of w, stays smooth even where β passes through zero: β_0 ≠ 0 is all that is assumed
(kunin2024, App. A.4.3; η_a η_w = 1).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.interpolators.theorem import Psi, psi
from derivations.single_neuron.mirror.mirror_potential import Phi, least_value
from derivations.single_neuron.regimes import BALANCED, UNIT_PRODUCT, UPSTREAM, unit_rates, x_beta
from derivations.single_neuron.symbols import beta, beta0, delta, eta_a, eta_w, w
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Identity, Inequality, Minimiser

length = norm(beta)
half = delta / 2
root = sp.sqrt(x_beta + half**2)
q_azulay = (x_beta - half * (half + root)) * sp.sqrt(root - half) / length
"""q_δ(‖β‖)."""

z_length = -sp.Rational(3, 2) * sp.sqrt(sp.sqrt(norm2(beta0) + half**2) - half)
"""z = z_length β_0/‖β_0‖."""

ratio = 2 * sp.sqrt(2) / 3
at_both = tuple(replace(c, signs={**c.signs, norm2(beta0): 1}) for c in (UPSTREAM, BALANCED))


@result(ledger=("kunin2024.potential-equivalence",), domain=unit_rates, uses=("single_neuron.potential",))
def potential_equivalence() -> Identity:
    """The potential and the function of Azulay et al. differ by a factor and a constant."""
    return Identity(Phi, ratio * q_azulay + least_value.value)


@result(
    ledger=("kunin2024.thm5-azulay",),
    domain=Domain(
        (delta,),
        (beta, beta0),
        at_both,
        words="δ ≥ 0, η_a η_w = 1",
        hypotheses=(
            UNIT_PRODUCT,
            stated(
                "App. A.4.3, Theorem 5, where q_δ divides by ‖β‖",
                "β ≠ 0; q_δ is continuous at zero",
                norm2(beta),
            ),
            stated("App. A.4.3, Theorem 5", "δ ≥ 0 and β_0 ≠ 0", delta >= 0, norm2(beta0)),
        ),
    ),
    uses=("single_neuron.implicit_bias_of_the_neuron", "single_neuron.potential_equivalence"),
)
def azulay_theorem() -> Minimiser:
    """For δ ≥ 0 and β_0 ≠ 0 the learned interpolator minimises q_δ(‖β‖) + zᵀβ, which is Theorem 1.

    The product of the rates is one, as from App. A.3 on in the paper: for others √(η_a η_w) β takes the place of β.
    """
    theirs = q_azulay + z_length * inner(beta0, beta) / norm(beta0)
    ours = Psi(sp.S.One) - psi(sp.S.One) * inner(beta0, beta) / norm(beta0)
    kept = Domain((delta, eta_a, eta_w), (w,), (Cell("δ > 0", {delta: 1, eta_a: 1, eta_w: 1}), balanced))
    return Minimiser(
        r"the end of a trajectory with $\delta\ge0$ and $\beta_0\ne0$ that interpolates",
        (Identity(ratio * theirs, ours), Inequality((delta + eta_a * norm2(w)) / eta_w, ">", on=kept)),
        formula=r"\beta_\infty = \operatorname{argmin}_{X \beta = y} q_\delta(\|\beta\|) + z^\top \beta",
    )


balanced = Cell("δ = 0, w ≠ 0", {eta_a: 1, eta_w: 1, norm2(w): 1}, {delta: 0})
