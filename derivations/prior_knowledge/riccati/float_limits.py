r"""Where the solutions lose their digits in floating point.

Eq. 5 inverts M = I + A(e^{2S̃t/τ} - I)S̃⁻¹Aᵀ for weights made of A and of the singular vectors of the task. For two modes
with G = AᵀA = ((a₁, b), (b, a₂)) and g_k = (e^{2s_kt/τ} - 1)/s_k,

    tr M = 2 + g₁a₁ + g₂a₂,        det M = 1 + g₁a₁ + g₂a₂ + g₁g₂(a₁a₂ - b²),

so that the condition number of M, about (tr M)²/det M, grows as e^{2(s₁ - s₂)t/τ} for s₁ > s₂: the digits are used up
after the time τ ln(1/ε)/2(s₁ - s₂), whereas QQᵀ itself tends to the task. And e^{st/τ} overflows.

Eqs. 11 and 12 have no growing exponential; K starts from 4B⁻¹S⁻¹B⁻ᵀ, whose inverse is ¼BᵀSB, and ends at S̃⁻¹. What is
left is B, and early S: the condition number of K(0) is at most κ(B)²κ(S). For a turn of V in a plane, by an angle with
tan(angle/2) = x, the eigenvalues of BᵀB are 4 outside the plane and 4/(1 + x²) within it, and the bound is attained
where S has one value in the plane and a larger one outside: κ(K(0)) = (1 + x²)κ(S). It has no bound over starts with an
invertible B. When the terms with S̃ dominate, K is close to a diagonal matrix, which has the digits it is given
(braun2022, Sec. 2 and 3).
"""

from __future__ import annotations

import sympy as sp

from derivations.prior_knowledge.riccati.singular_form import (
    BASIS,
    SHAPES,
    B,
    B_inv,
    K,
    S,
    S_inv,
    decay,
    one,
    s_inv,
)
from derivations.prior_knowledge.symbols import a1, a2, b, c, m, s, s1, s2, t, tau, u, v
from symdyn.calculus.matrix import substitute, zero
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality, Limit
from symdyn.statements.matrix import MatrixIdentity

distinct = Domain(
    (s1, s2, a1, a2, b, t, tau),
    cells=(
        Cell(
            "s₁ > s₂ > 0, a₁a₂ > b²",
            {s2: 1, s: 1, a1: 1, c: 1, t: 1},
            {s1: s2 + s, a2: (c + b**2) / a1, tau: sp.S.One},
            "τ is the unit of time",
        ),
    ),
    words="s₁ > s₂ > 0, A(0) invertible",
)


def growth(value: sp.Expr) -> sp.Expr:
    return (sp.exp(2 * value * t / tau) - 1) / value


first, second = growth(s1), growth(s2)
trace = 2 + first * a1 + second * a2
determinant = 1 + first * a1 + second * a2 + first * second * (a1 * a2 - b**2)


@result(
    ledger=("braun2022.eq5-numerical-instability",),
    domain=distinct,
    uses=("prior_knowledge.fukumizu_form",),
    hypotheses=(
        meaning(
            "an example of what is often unstable: s₁ - s₂ = s > 0 and a₁a₂ - b² = c > 0, the unit of time is τ",
            s1,
            a2,
            c,
            tau,
        ),
    ),
)
def condition_of_fukumizu_form() -> Existence:
    """The condition number of the bracket of eq. 5 grows exponentially, at twice the difference of the singular values.

    (tr M)²/det M is the condition number plus 2 plus its inverse. The solution itself stays bounded.
    """
    spread = trace**2 / determinant * sp.exp(-2 * (s1 - s2) * t / tau)
    entries = (1 + first * a1, b * sp.sqrt(first * second), 1 + second * a2)
    return Existence(
        r"$\kappa(M)\sim\frac{a_1^2s_2}{s_1(a_1a_2-b^2)}e^{2(s_1-s_2)t/\tau}$",
        (
            Identity(entries[0] + entries[2], trace, name=r"\mathrm{tr}\,M"),
            Identity(entries[0] * entries[2] - entries[1] ** 2, determinant, name=r"\det M"),
            Limit(spread, t, sp.oo, a1**2 * s2 / (s1 * (a1 * a2 - b**2))),
        ),
    )


WELL_CONDITIONED = (
    "κ(B)²κ(S)ε ≪ 1, with the strengths S of the start: negative exponentials help neither where B⁻¹ is "
    "large nor, early, where the singular values of the start are far apart"
)
turned = Domain(
    (u, c), cells=(Cell("a turn", {c: 1}),), words="a turn of V by an angle with tan(angle/2) = u, c = κ(S)"
)
far = sp.Symbol("far", real=True)
cos, sin = (1 - u**2) / (1 + u**2), 2 * u / (1 + u**2)


@result(
    ledger=("braun2022.stability-claim",),
    uses=(
        "prior_knowledge.exact_solution",
        "prior_knowledge.steady_state",
        "prior_knowledge.invertible_overlap",
    ),
    hypotheses=(
        added(WELL_CONDITIONED),
        meaning("c is the strength of the start outside a plane", c),
    ),
)
def condition_of_exact_solution() -> Existence:
    """The bracket of Theorem 3.1 ends at S̃⁻¹, and starts as ill-conditioned as B and the strengths S of the start.

    B = I + R for square bases with U = Ũ; a turn by an angle in one plane has the singular values of B there alike,
    √((1 + cos)² + sin²). c is the strength of the start outside this plane, in units of that within, so that it is
    κ(S) for c ≥ 1. Eqs. 11 and 12 lose digits early, as many as κ(B)²κ(S) has, unless it is far below the inverse
    of the rounding.
    """
    at_start = substitute(substitute(K, {decay: one}), {t: sp.S.Zero})
    plane = (1 + cos) ** 2 + sin**2
    return Existence(
        r"$K(0)=4B^{-1}S^{-1}B^{-\top}$, $K(\infty)=\tilde S^{-1}$; $\kappa(K(0))\le\kappa(B)^2\kappa(S)$, and "
        r"$\kappa(K(0))=(1+u^2)\kappa(S)$ for a turn",
        (
            MatrixIdentity(at_start, 4 * B_inv @ S_inv @ B_inv.T, SHAPES, BASIS, name="K(0)"),
            MatrixIdentity(B.T @ S @ B @ at_start / 4, one, SHAPES, BASIS, name=r"\frac14B^\top S\,B\,K(0)"),
            MatrixIdentity(substitute(K, {decay: zero(m, m)}), s_inv, SHAPES, BASIS, name=r"K(\infty)"),
            Identity((4 / plane) / (4 / (4 * c)), (1 + u**2) * c, name=r"\kappa(K(0))", on=turned),
        ),
    )


lost = (1 + u**2) * c * sp.Rational(1, 2**52)
"""κ(K(0)) times the rounding, for a turn by an angle with tan(angle/2) = u and κ(S) = c."""

any_start = turned.with_cells(
    Cell("a turn close to a half one", {far: 1}, {u: 2**27 * (1 + far), c: sp.S.One}, "κ(S) = 1"),
    Cell("strengths far apart", {far: 1}, {u: sp.S.Zero, c: 2**53 * (1 + far)}, "no turn, κ(B) = 1"),
)
moderate = turned.with_cells(
    Cell("κ(B)²κ(S) ≤ 2⁴⁰", {v: 1}, {c: 2**40 / ((1 + v) * (1 + u**2))}, "(1 + u²)c ≤ 2⁴⁰")
).restrict(c >= 1, words="κ(S) = c ≥ 1")


@printed(
    "braun2022.stability-claim",
    quote="the solution is numerically stable and precise over a wide range",
    domain=any_start,
    hypothesis=WELL_CONDITIONED,
    under=moderate,
    hypotheses=(
        stated(
            "Sec. 3, Assumption 3.1",
            "B is invertible: the turn is less than a half one, by any tan(θ/2) = u",
            u,
        ),
        meaning("two corners: u, or κ(S), above a power of two", far, c),
    ),
)
def printed_stability() -> Inequality:
    """As printed, for every invertible B and S: the condition number of K(0) times the rounding 2⁻⁵² is below 1."""
    return Inequality(1 - lost, ">")
