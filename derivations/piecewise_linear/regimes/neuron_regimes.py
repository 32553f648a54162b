r"""What upstream, balanced and downstream neurons do.

κ_k and the two coefficients of M_k = (κ_k + δ_k)/2 I + (κ_k - δ_k)/2 β̂_kβ̂_kᵀ decide, at a fixed μ_k:

    δ_k → -∞:   κ_k ≈ |δ_k|, M_k ≈ |δ_k| β̂_kβ̂_kᵀ, and the direction turns at the speed η_aη_w|μ_k|/|δ_k|;
    δ_k = 0:    κ_k = 2√(η_aη_w)|μ_k|, and the direction turns at the speed √(η_aη_w), whatever μ_k is;
    δ_k → +∞:   κ_k ≈ δ_k, M_k ≈ δ_k I, and the direction turns at the speed δ_k/|μ_k|,

each times what drives it. Downstream, in a time of order 1/|δ_k|, μ_k moves by an amount of order one and a direction
by O(1/δ_k²): boundaries, slopes c_ki and the kernel Σ_k c_ki x_iᵀM_kx_j c_kj stay. If the data are fitted by then, that
is all; if there are too few neurons to fit them with the directions that they have, these turn later, in a time of
order |δ_k|, as the paper says. Upstream M_k stays, but directions turn, and the slopes with them (kunin2024, Sec. 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.network.spherical import kappa
from derivations.piecewise_linear.symbols import delta, eta_a, eta_w, mu, t, tau, y
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Existence, Identity, Inequality, Limit, Solution

product = eta_a * eta_w
isotropic, along = (kappa + delta) / 2, (kappa - delta) / 2
"""The coefficients of I and of β̂β̂ᵀ in M_k."""
turning = (kappa + delta) / (2 * mu)
"""What multiplies (I - β̂β̂ᵀ)ξ in the dynamics of the direction."""

POSITIVE = {eta_a: 1, eta_w: 1}


def signed(words: str, **signs: int) -> tuple[Cell, ...]:
    """The cells μ > 0 and μ < 0, with the sign of δ."""
    balance = {delta: signs["balance"]} if signs["balance"] else {}
    where = {} if balance else {delta: sp.S.Zero}
    return tuple(
        Cell(f"{words}, μ {text} 0", {mu: sign, **balance, **POSITIVE}, where)
        for sign, text in ((1, ">"), (-1, "<"))
    )


parameters = (mu, delta, eta_a, eta_w)
downstream = Domain(parameters, (), signed("δ < 0", balance=-1), words="δ_k ≪ 0 at a fixed μ_k ≠ 0")
balanced = Domain(parameters, (), signed("δ = 0", balance=0), words="δ_k = 0, μ_k ≠ 0")
upstream = Domain(parameters, (), signed("δ > 0", balance=1), words="δ_k ≫ 0 at a fixed μ_k ≠ 0")


@result(
    ledger=("kunin2024.pw-downstream-limit",),
    domain=downstream,
    uses=("piecewise_linear.spherical_dynamics",),
)
def downstream_limit() -> Existence:
    """Far downstream a neuron moves along its direction only, which it keeps, and its boundary and the kernel with it.

    The direction turns at most at the speed η_aη_w|μ_k|/|δ_k|, while μ_k moves at the speed |δ_k|. What the kernel is
    made of, M_k/|δ_k| and c_ki, depends in the limit on the direction alone.
    """
    size = -delta
    return Existence(
        r"$M_k/|\delta_k|\to\hat\beta_k\hat\beta_k^\top$, $\dot\mu_k\to-|\delta_k|\hat\beta_k^\top\xi_k$,"
        r" and the direction turns at the speed $O(1/|\delta_k|)$",
        (
            Limit(isotropic / size, delta, -sp.oo, sp.S.Zero),
            Limit(along / size, delta, -sp.oo, sp.S.One),
            Asymptotic(kappa, size, delta, -sp.oo, 1 / size),
            Asymptotic(turning, product * mu / size, delta, -sp.oo, 1 / size**3),
            Inequality(sp.Abs(turning), "<=", product * sp.Abs(mu) / size),
        ),
    )


@result(ledger=("kunin2024.pw-balanced",), domain=balanced, uses=("piecewise_linear.spherical_dynamics",))
def balanced_dynamics() -> Conjunction:
    """A balanced neuron turns at a speed that does not depend on its size, and grows in proportion to it."""
    root = sp.sqrt(product)
    return Conjunction(
        Identity((isotropic, along), (root * sp.Abs(mu), root * sp.Abs(mu))),
        Identity(turning, root * sp.sign(mu)),
        Identity(kappa, 2 * root * sp.Abs(mu)),
    )


changing = Domain(
    (delta, tau, y, t), (), (Cell("0 < 2τ < y", {delta: 1, tau: 1, y: 1, t: 1}),), conditions=(y > 2 * tau,)
)
"""The example of a slope that changes: a neuron of size τ and a label y > 2τ."""


@result(
    ledger=("kunin2024.pw-upstream-limit",), domain=upstream, uses=("piecewise_linear.spherical_dynamics",)
)
def upstream_limit() -> Existence:
    """Far upstream β_k follows -δ_k ξ_k as if M_k were constant; its direction turns, and slopes may change.

    M_k - δ_k I is O(1/δ_k). The last facts are an example in the plane, a ReLU neuron β = τ(1, -1), a > 0, with the
    datum x = (1, 0) and the label y: the first component follows β̇_1 = -δ(β_1 - y) to y. The input (1, 2) has the
    pre-activation β_1 - 2τ up to a positive factor, first negative and in the end positive: its slope changes.
    """
    first = y + (tau - y) * sp.exp(-delta * t)
    return Existence(
        r"$M_k/\delta_k\to I$,"
        r" $\frac{d}{dt}\hat\beta_k\approx-\delta_k\mu_k^{-1}(I-\hat\beta_k\hat\beta_k^\top)\xi_k$,"
        r" $\dot\mu_k\approx-\delta_k\hat\beta_k^\top\xi_k$; the slopes $c_{ki}$ can change",
        (
            Asymptotic(isotropic, delta, delta, sp.oo, 1 / delta),
            Asymptotic(along, product * mu**2 / delta, delta, sp.oo, 1 / delta**3),
            Asymptotic(turning, delta / mu, delta, sp.oo, 1 / delta),
            Asymptotic(kappa, delta, delta, sp.oo, 1 / delta),
            Solution({mu: first}, {mu: -delta * (mu - y)}, {mu: tau}, t, on=changing),
            Inequality(first.subs(t, 0) - 2 * tau, "<", on=changing),
            Limit(first - 2 * tau, t, sp.oo, y - 2 * tau, on=changing),
        ),
    )


@result(
    ledger=("kunin2024.pw-upstream-alignment-speed",),
    domain=upstream,
    uses=("piecewise_linear.spherical_dynamics", "piecewise_linear.balanced_dynamics"),
)
def alignment_speed() -> Conjunction:
    """Upstream the scale sets the speed at which neurons turn, which is δ_k/|μ_k| and without bound as μ_k → 0.

    What is radial stays at the speed δ_k.
    """
    size = sp.Abs(mu)
    small = upstream.with_cells(upstream.cells[0]).supposing(
        stated("Sec. 5 (Upstream)", "vanishing initialisations, μ_k → 0, here from above", mu > 0)
    )
    return Conjunction(
        Inequality(sp.Abs(turning), ">", delta / size),
        Asymptotic(turning, delta / mu, mu, sp.S.Zero, mu, on=small),
        Limit(1 / turning, mu, sp.S.Zero, sp.S.Zero, on=small),
        Asymptotic(kappa, delta, mu, sp.S.Zero, mu**2, on=small),
    )
