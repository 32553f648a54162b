r"""The solution in the basis of the task, A ↦ AᵀA.

Let the weights be W₁ = AṼᵀ and W₂ = ŨAᵀ with an A of h rows and m columns, ŨᵀŨ = ṼᵀṼ = I. They are balanced, whatever
A is, and stay of this form, with τȦ = A(S̃ - AᵀA). The inverse H of AᵀA therefore obeys the linear equation
τḢ = 2I - S̃H - HS̃, and

    AᵀA(t) = [E(A(0)ᵀA(0))⁻¹E + (I - E²)S̃⁻¹]⁻¹,    E = e^{-S̃t/τ},

for every A(0) of rank m, which asks for h ≥ m only, and also for N_i ≠ N_o (braun2022, Theorem 5.1).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.symbols import TIMED, a1, h, i, m, o, s1, s2, t, tau
from symdyn.calculus.matrix import Declaration, Rules, eye, matrix, orthogonal, positive, rule, substitute
from symdyn.calculus.matrix.rules import Sizes
from symdyn.calculus.matrix.words import number_of
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Existence, Limit
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

SHAPES = ({i: 2, o: 2, m: 2, h: 2}, {i: 3, o: 2, m: 2, h: 3}, {i: 2, o: 3, m: 2, h: 1})
"""Shapes at which false claims are refuted, with N_i = N_o and not, and with a bottleneck."""

A = matrix("A", h, m)
U, V = matrix("Ut", o, m, r"\tilde U"), matrix("Vt", i, m, r"\tilde V")
S = matrix("St", m, m, r"\tilde S", symmetric=True)
H = matrix("H", m, m, symmetric=True)
E = matrix("E", m, m, r"e^{-\tilde St/\tau}", symmetric=True)
H0 = matrix("H0", m, m, "H_0", symmetric=True)
Si = matrix("Si", m, m, r"\tilde S^{-1}", symmetric=True)
one = eye(m)
frames = Rules(orthogonal(U), orthogonal(V))
first, second, task = A @ V.T, U @ A.T, U @ S @ V.T
residual = task - second @ first


def _drawn(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Diagonal S̃ and E, rational, and the inverse of S̃."""
    size = number_of(m, sizes)
    values = [sp.Rational(generator.randint(1, 9), generator.randint(1, 4)) for _ in range(2 * size)]
    spectrum = sp.diag(*values[:size])
    return {S.letter: spectrum, Si.letter: spectrum.inv(), E.letter: sp.diag(*values[size:])}


spectral = Declaration(
    "S̃ and its exponential are diagonal",
    (rule(S @ Si, one), rule(Si @ S, one), rule(S @ E, E @ S), rule(Si @ E, E @ Si)),
    (S.letter, Si.letter, E.letter),
    _drawn,
)
closed_inverse = E @ H0 @ E + (one - E @ E) @ Si
"""(AᵀA)⁻¹ at time t."""


@result(ledger=("braun2022.theorem-5-1-start-balanced",))
def aligned_start() -> MatrixIdentity:
    """The start of Theorem 5.1 is balanced for every A(0) of every shape: that is no further assumption."""
    return MatrixIdentity(first @ first.T, second.T @ second, SHAPES, frames)


@result(ledger=("braun2022.theorem-5-1",), uses=("prior_knowledge.aligned_start",))
def connections() -> Existence:
    """AᵀA in closed form, for all N_i, N_o and N_h, whenever A(0) has full column rank."""
    G = A.T @ A
    stays = (A @ (S - G)) / tau
    return Existence(
        r"$A^\top A(t)=\left[e^{-\tilde St/\tau}(A(0)^\top A(0))^{-1}e^{-\tilde St/\tau}"
        r"+(I-e^{-2\tilde St/\tau})\tilde S^{-1}\right]^{-1}$",
        (
            MatrixIdentity(second.T @ residual, A @ (S - G) @ V.T, SHAPES, frames, name=r"\tau\dot W_1"),
            MatrixIdentity(residual @ first.T, U @ (S - G) @ A.T, SHAPES, frames, name=r"\tau\dot W_2"),
            MatrixDynamics(G, (S @ G + G @ S - 2 * G @ G) / tau, {A: stays}, SHAPES, TIMED, name="A^\\top A"),
            MatrixDynamics(
                H.inverse(),
                (S @ H.inverse() + H.inverse() @ S - 2 * H.inverse() @ H.inverse()) / tau,
                {H: (2 * one - S @ H - H @ S) / tau},
                SHAPES,
                TIMED,
                name="H^{-1}",
            ),
            MatrixDynamics(
                closed_inverse,
                (2 * one - S @ closed_inverse - closed_inverse @ S) / tau,
                {E: -S @ E / tau},
                SHAPES,
                Rules(spectral, positive(tau)),
                name="H",
            ),
            MatrixIdentity(substitute(closed_inverse, {E: one}), H0, SHAPES, name="H(0)"),
        ),
    )


positive_task = Domain((a1, s1, s2, tau, t), cells=(Cell("S̃ > 0", {s1: 1, s2: 1, tau: 1, t: 1}),))


@result(ledger=("braun2022.ata-interpretation",), uses=("prior_knowledge.connections",))
def meaning_of_connections() -> Existence:
    """AᵀA is the network function in the singular vectors of the task, and tends to S̃.

    Entry by entry, (AᵀA)⁻¹ - S̃⁻¹ falls like e^{-(s_i + s_j)t/τ}; a₁ stands for an entry at time zero.
    """
    function = U.T @ second @ first @ V
    return Existence(
        r"$A^\top A=\tilde U^\top W_2W_1\tilde V\to\tilde S$",
        (
            MatrixIdentity(function, A.T @ A, SHAPES, frames, name=r"\tilde U^\top W_2W_1\tilde V"),
            MatrixIdentity(closed_inverse - Si, E @ (H0 - Si) @ E, SHAPES, Rules(spectral)),
            Limit(a1 * sp.exp(-(s1 + s2) * t / tau), t, sp.oo, sp.S.Zero, on=positive_task),
        ),
    )


R, D = matrix("R", m, m), matrix("D", m, m, symmetric=True)
Uq, Vq = matrix("Uq", m, m, r"\tilde U"), matrix("Vq", m, m, r"\tilde V")
SQUARE = ({m: 2}, {m: 3})
turned = Rules(*map(orthogonal, (R, Uq, Vq)))


@result(ledger=("braun2022.uv-relation",), uses=("prior_knowledge.aligned_start",))
def singular_vectors_of_the_start() -> Existence:
    """The start has U = ŨR and V = ṼR with one orthogonal R, the eigenvectors of A(0)ᵀA(0): UVᵀ = ŨṼᵀ.

    UVᵀ is the orthogonal polar factor of an invertible W₂W₁(0), whatever singular vectors are chosen.
    """
    start = Uq @ (R @ D @ R.T) @ Vq.T
    return Existence(
        r"$UV^\top=\tilde U\tilde V^\top$",
        (
            MatrixIdentity((Uq @ R) @ D @ (Vq @ R).T, start, SQUARE, turned, name="W_2W_1(0)"),
            MatrixIdentity((Uq @ R).T @ (Uq @ R), eye(m), SQUARE, turned, name=r"U^\top U"),
            MatrixIdentity((Uq @ R) @ (Vq @ R).T, Uq @ Vq.T, SQUARE, turned, name=r"UV^\top"),
        ),
    )


@printed("braun2022.uv-relation", quote=r"UV=\tilde U\tilde V", severity="typo")
def printed_uv_relation() -> MatrixIdentity:
    """As printed, without the transposes."""
    return MatrixIdentity((Uq @ R) @ (Vq @ R), Uq @ Vq, SQUARE, turned)
