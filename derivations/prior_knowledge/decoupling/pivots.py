r"""The initial values from which the modes of a small start are learned in effect, whatever their number.

Let G₀ = LLᵀ be the start AᵀA(0) in the basis of the task, with the singular values falling, L lower triangular, and
E = e^{-S̃t/τ}. With X = ELᵀE⁻¹ the solution of Theorem 5.1 is

    AᵀA(t) = Xᵀ(E² + X(I - E²)S̃⁻¹Xᵀ)⁻¹X,    X_ij = L_ji e^{-(s_i - s_j)t/τ} for i ≤ j, and 0 below the diagonal.

Above the diagonal X vanishes with the time. Let G₀ have a size ε. While mode i is learned, e_i² is of this size, the
e_j² of the stronger modes are far below it and those of the weaker ones far above. What is left is the logistic curve

    1/a_i(t) → e_i²/p_i + (1 - e_i²)/s_i,    p_i = L_ii²,

which starts from the pivot p_i of elimination in the order of falling singular values: what is left of a_i after the
stronger modes, once learned, have taken with them what they share with it. It is missed by the order
ε^{|s_i - s_j|/s_i} for the mode j that is nearest in strength. For two modes, with p₂ = Δ/a₁, the difference is exactly

    1/a₁(t) - [e₁²/a₁ + (1 - e₁²)/s₁] = b²e₁²(1 - e₂²)/(a₁(s₂a₁e₂² + Δ(1 - e₂²))) ≤ (b/a₁)² e₁²/(s₂e₂²),
    [e₂²/p₂ + (1 - e₂²)/s₂] - 1/a₂(t) = s₁b²e₁²e₂²/(Δ(s₁a₂e₁² + Δ(1 - e₁²))) ≤ (b/Δ)² s₁e₁²e₂²/(1 - e₁²).

Modes of one singular value s form a block of X that stays. There AᵀA(t) is a function of the block of pivots, the Schur
complement on the stronger modes, and each of its eigenvectors follows the logistic curve that starts from its
eigenvalue. If all singular values are equal this is exact, for every size (braun2022, Sec. 5, whose decoupled curves
start from the diagonal of AᵀA(0)).
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from derivations.prior_knowledge.decoupling.off_diagonal import alike
from derivations.prior_knowledge.decoupling.task_overlaps import SHAPES, E, Si, one, spectral
from derivations.prior_knowledge.decoupling.two_modes import determinant, within_first, within_second
from derivations.prior_knowledge.symbols import a1, a2, b, i, m, o, r1, r2, s, s1, s2, t, tau, u, v, y, z
from symdyn.calculus.matrix import Rules, matrix
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Existence, Identity, Inequality, Limit
from symdyn.statements.matrix import MatrixIdentity

L = matrix("L", m, m)
X = E @ L.T @ E.inverse()
slope = (one - E @ E) @ Si
closed_inverse = E @ (L @ L.T).inverse() @ E + slope
"""(AᵀA)⁻¹ at time t, by Theorem 5.1."""

L1, L2 = matrix("L1", i, i, "L_1"), matrix("L2", o, o, "L_2")
across = matrix("C", o, i)
shared = across @ L1.T
"""The lower left block of LLᵀ for L = [[L₁, 0], [C, L₂]], with the stronger modes first."""

BLOCKS = ({i: 1, o: 1}, {i: 2, o: 1}, {i: 2, o: 3})

running = Domain(
    (a1, b, s1, s2, y, z),
    cells=(
        Cell(
            "t > 0",
            {a1: 1, u: 1, s1: 1, s2: 1, r1: 1, r2: 1},
            {a2: (b**2 + u) / a1, y: 1 / (1 + r1), z: 1 / (1 + r2)},
            "e_i² = 1/(1 + r_i), u is the determinant",
        ),
    ),
    words="A(0)ᵀA(0) definite, t > 0",
)
ordered = Domain((s1, s2, tau, t), cells=(Cell("s₁ > s₂", {s2: 1, v: 1, tau: 1}, {s1: s2 + v}),))
eigenvalues = Domain(
    (a1, s, u, v, y),
    cells=(Cell("u, v > 0", {u: 1, v: 1, s: 1, r1: 1}, {y: 1 / (1 + r1)}, "u and v are the eigenvalues"),),
    words="s₁ = s₂ = s, A(0)ᵀA(0) definite",
)


def resistance(start: sp.Expr, rate: sp.Expr, fall: sp.Expr) -> sp.Expr:
    """1/a(t) on the logistic curve from a start, `fall` standing for e^{-2st/τ}: the wait and the saturation add up."""
    return fall / start + (1 - fall) / rate


pivot = determinant / a1
first_gap = b**2 * y * (1 - z) / (a1 * (s2 * a1 * z + determinant * (1 - z)))
second_gap = s1 * b**2 * y * z / (determinant * (s1 * a2 * y + determinant * (1 - y)))


def by_eigenvalues(expression: Callable[..., sp.Expr]) -> sp.Expr:
    """A closed form for s₁ = s₂ = s, with the eigenvalues u and v of A(0)ᵀA(0) for its determinant and a₂."""
    return alike(lambda *falls: expression(*falls).xreplace({determinant: u * v}), y).xreplace(
        {a2: u + v - a1}
    )


@result(ledger=(), uses=("prior_knowledge.connections", "prior_knowledge.explicit_solution"))
def logistic_from_pivots() -> Existence:
    """Small starts are learned along logistic curves from the pivots of A(0)ᵀA(0), in the order of falling s_i.

    The rest in 1/a_i is of the order ε^{|s_i - s_j|/s_i}, for two modes with the constants of the facts. For equal
    singular values the eigenvalues take the place of the pivots, without rest.
    """
    return Existence(
        r"for falling $s_i$ and $A(0)^\top A(0)=LL^\top$, $L$ lower triangular, of a size that tends to zero,"
        r" $1/a_i(t)$ tends to $e^{-2s_it/\tau}/L_{ii}^2+(1-e^{-2s_it/\tau})/s_i$",
        (
            MatrixIdentity(X @ closed_inverse @ X.T, E @ E + X @ slope @ X.T, SHAPES, Rules(spectral)),
            Limit(sp.exp(-(s1 - s2) * t / tau), t, sp.oo, sp.S.Zero, on=ordered),
            MatrixIdentity(
                across @ across.T + L2 @ L2.T - shared @ (L1 @ L1.T).inverse() @ shared.T,
                L2 @ L2.T,
                BLOCKS,
                name="P",
            ),
            Identity(1 / within_first() - resistance(a1, s1, y), first_gap, on=running),
            Inequality(b**2 * y / (a1**2 * s2 * z), ">=", first_gap, on=running),
            Identity(resistance(pivot, s2, z) - 1 / within_second(), second_gap, on=running),
            Inequality(s1 * b**2 * y * z / (determinant**2 * (1 - y)), ">=", second_gap, on=running),
            Identity(
                by_eigenvalues(within_first) + by_eigenvalues(within_second),
                1 / resistance(u, s, y) + 1 / resistance(v, s, y),
                on=eigenvalues,
            ),
        ),
    )
