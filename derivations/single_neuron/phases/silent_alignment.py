"""Balanced starts of vanishing size: alignment first, fitting later.

At δ = 0, with p = η_a η_w, the dynamics on whitened data are

    φ̇ = sgn(μ) √p ‖β_*‖ (1 - φ²),    μ̇ = 2√p |μ| (φ‖β_*‖ - μ).

φ does not know μ: it aligns in a time that does not depend on the size of the start. Up to any fixed time μ stays
proportional to μ_0, and so does the kernel. Only after a time of order log(1/|μ_0|) does μ reach ‖β_*‖, and by
then φ = ±1, where μ obeys a logistic equation (kunin2024, Sec. 3).

The kernel is that of M = √p‖β‖ (I + ŵŵᵀ), a multiple of the identity updated by a term of rank one. Up to its
scale the rank-one term alone changes in the first phase, from ŵ_0ŵ_0ᵀ to that of β_*, by the kernel distance
(1 - φ_0²)/(d + 3) on whitened data; in the second phase nothing but the scale does. The scale, and with it the
identity part, grows in both.
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.coordinates.planar import WHITENED
from derivations.single_neuron.coordinates.polar import mu_dot, phi_dot
from derivations.single_neuron.preconditioning.of_the_neuron import M
from derivations.single_neuron.regimes import BALANCED, function_space, x_beta
from derivations.single_neuron.symbols import (
    beta,
    beta_star,
    c,
    d,
    delta,
    eta_a,
    eta_w,
    mu,
    mu0,
    phi,
    s,
    t,
    w,
)
from symdyn.calculus.gram import GramOperator, Vector, identity, inner, norm2, outer
from symdyn.calculus.isotropic import Isotropic
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import standing, stated
from symdyn.statements.kinds import Existence, Identity, Limit, Solution

speed = sp.sqrt(eta_a * eta_w) * s
"""The speed √(η_a η_w)‖β_*‖ of the alignment."""

POSITIVE = {eta_a: 1, eta_w: 1, s: 1}
balanced = Domain(
    (mu, phi, s, delta, eta_a, eta_w),
    (),
    tuple(
        Cell(f"μ {text} 0", {mu: m, **POSITIVE}, {delta: sp.Integer(0)}) for text, m in ((">", 1), ("<", -1))
    ),
    words="δ = 0, whitened data",
    hypotheses=(
        stated("Sec. 3 (Balanced)", "δ = 0", delta),
        WHITENED,
        stated("Sec. 3 (Balanced)", "μ ≠ 0: not at the saddle, which no other trajectory reaches", mu),
    ),
)
starts = Domain(
    (c, mu0, s, eta_a, eta_w, t),
    (),
    (Cell("μ₀ > 0", {mu0: 1, t: 1, **POSITIVE}),),
    hypotheses=(standing("App. A.2.2", "a_0 > 0 without loss of generality", mu0 > 0),),
)

VANISHING = stated("Sec. 3 (Balanced)", "‖β_0‖ → 0, so that μ_0 < ‖β_*‖", mu0 < s)
phase = c + speed * t
aligned = sp.tanh(phase)
later = (2 * speed * t + sp.sinh(2 * phase) - sp.sinh(2 * c)) / (2 * s)
fitted = sp.cosh(phase) ** 2 / (sp.cosh(c) ** 2 / mu0 + later)
logistic = s / (1 + (s / mu0 - 1) * sp.exp(-2 * speed * t))


def _fitting(direction: sp.Expr) -> sp.Expr:
    """The speed of μ > 0 at δ = 0 for a cosine φ."""
    return 2 * speed / s * mu * (direction * s - mu)


@result(
    ledger=("kunin2024.balanced-vanishing-two-phase",),
    domain=balanced,
    uses=("single_neuron.polar_dynamics",),
)
def two_phases() -> Existence:
    """From a balanced start of vanishing size φ aligns while μ is still of the size of its start, and μ fits later.

    The closed form is that of a_0 > 0 and φ_0 = tanh c; a_0 < 0 is its mirror image. μ_0/μ is affine in μ_0, so that
    μ = μ_0 cosh²(c + √p‖β_*‖t)/cosh²(c) + O(μ_0²) up to any fixed time.
    """
    size = sp.sign(mu) * mu
    return Existence(
        r"for δ = 0 and $\mu_0\to0$: φ tends to ±1 at a speed that does not depend on $\mu_0$, while μ stays"
        r" proportional to $\mu_0$; μ reaches $\pm\|\beta_*\|$ after a time of order $\log(1/|\mu_0|)$",
        (
            Identity(phi_dot(eta_a * eta_w), sp.sign(mu) * speed * (1 - phi**2), name=r"\dot\varphi"),
            Identity(mu_dot(eta_a * eta_w), 2 * speed / s * size * (phi * s - mu), name=r"\dot\mu"),
            Solution(
                {phi: aligned, mu: fitted},
                {phi: speed * (1 - phi**2), mu: _fitting(phi)},
                {phi: sp.tanh(c), mu: mu0},
                t,
                on=starts,
            ),
            Identity(
                mu0 / fitted,
                (sp.cosh(c) ** 2 + mu0 * later) / sp.cosh(phase) ** 2,
                on=starts,
                name=r"\mu_0/\mu",
            ),
            Limit(aligned, t, sp.oo, sp.Integer(1), on=starts),
            Solution({mu: logistic}, {mu: _fitting(1)}, {mu: mu0}, t, on=starts),
            Identity(
                logistic.subs(t, sp.log(s / mu0 - 1) / (2 * speed)),
                s / 2,
                on=starts.restrict(mu0 < s, hypotheses=(VANISHING,)),
            ),
        ),
    )


DIRECTION = stated("Sec. 3, where φ is defined", "w ≠ 0, which has a direction", norm2(w))


def unit_kernel(direction: Vector) -> GramOperator:
    """I + ûûᵀ."""
    return identity() + outer(direction, direction) / norm2(direction)


@result(
    ledger=("kunin2024.balanced-kernel-two-stage",),
    domain=function_space.with_cells(BALANCED).supposing(*balanced.hypotheses[:2]),
    uses=("single_neuron.preconditioner", "single_neuron.two_phases"),
)
def kernel_in_two_stages() -> Existence:
    """Up to scale the balanced kernel changes in its rank-one term alone while w aligns, and not at all afterwards."""
    one, other = unit_kernel(w), unit_kernel(beta_star)
    cosine2 = inner(w, beta_star) ** 2 / (norm2(w) * norm2(beta_star))
    directions = Domain(
        (d,), (w, beta_star), (Cell("w ≠ 0", {norm2(w): 1, norm2(beta_star): 1}),), hypotheses=(DIRECTION,)
    )
    return Existence(
        r"$M=\sqrt{\eta_a\eta_w}\,\|\beta\|(I+\hat w\hat w^\top)$: up to scale, the alignment replaces the rank-one"
        r" term $\hat w_0\hat w_0^\top$ by that of $\beta_*$, and the fitting, $\dot\mu=2\sqrt{\eta_a\eta_w}\,"
        r"\mu(\|\beta_*\|-\mu)$, changes the scale alone",
        (
            Identity(
                M / sp.sqrt(eta_a * eta_w * x_beta), Isotropic(1, 1, x_beta, beta), name=r"M/\mathrm{scale}"
            ),
            Identity(
                ((one @ other).trace(d), (one @ one).trace(d)),
                (d + 2 + cosine2, d + 3),
                on=directions,
            ),
            Identity(
                mu_dot(eta_a * eta_w).xreplace({phi: sp.Integer(1)}),
                _fitting(1),
                on=balanced.with_cells(balanced.cells[0]),
                name=r"\dot\mu|_{\varphi=1}",
            ),
        ),
    )
