r"""Tasks in a row, and when the end of one is where the next can be learned from.

With P = QQᵀ(0) the solution from any start is QQᵀ(t) = eP(I + KP)⁻¹e, e = e^{Ft/τ} and τK̇ = e². It knows nothing of the
start but P, so that the end of one task is the start of the next. Two tasks in a row are one solution with e₂e₁ and
K₁ + e₁K₂e₁ in the places of e and K.

Every next task is learned if its B is not singular, but a zero-balanced start may have a singular B. With one hidden
neuron and one singular value s let q₊², q₋² and q₀² be the squares of the start along the eigenvectors of F with the
eigenvalues s, -s and 0. Then the network function tends to s if q₊ ≠ 0, and to zero if q₊ = 0, which is B = 0. The task
-W₂W₁(0) is such a case: from w₁ = 1, w₂ = -1 the function of the task s = 1 tends to zero. So not any zero-balanced
start is overwritten; that q₊ = 0 is excluded is no hypothesis beside the claim, but what is left of it
(braun2022, Sec. 6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.riccati.stacked_layers import n
from derivations.prior_knowledge.symbols import h, minus, minus_t, plus, plus_t, rest, rest_t, s, t, tau
from symdyn.calculus.matrix import Declaration, Rules, eye, inverse_of, matrix, random_matrix, rule
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Existence, Limit, Solution
from symdyn.statements.matrix import MatrixIdentity

SHAPES = ({n: 2, h: 3}, {n: 3, h: 2})

P0 = matrix("P0", n, n, "P", symmetric=True)
K1, K2 = (matrix(f"K{k}", n, n, f"K_{k}", symmetric=True) for k in (1, 2))
e1 = matrix("e1", n, n, "e_1", symmetric=True)
back = matrix("e1i", n, n, "e_1^{-1}", symmetric=True)
Q0 = matrix("Q0", n, h, "Q(0)")
one = eye(n)
bracket = one + K1 @ P0
resolvent, of_resolvent = inverse_of("R1", bracket, "R_1")


def _exponential(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    value = random_matrix(generator, e1.letter, sizes)
    return {e1.letter: value, back.letter: value.inv()}


CHAIN = Rules(
    of_resolvent,
    Declaration(
        "an exponential", (rule(e1 @ back, one), rule(back @ e1, one)), (e1.letter, back.letter), _exponential
    ),
)


@result(ledger=("braun2022.continual-learning-chain",), uses=("prior_knowledge.solution_from_any_start",))
def tasks_in_a_row() -> Existence:
    """Tasks in a row: QQᵀ at the end of one is all that the next needs to know, and their solutions compose.

    No rank is lost on the way, since e and I + KP are invertible.
    """
    after_first = e1 @ P0 @ resolvent @ e1
    both = K1 + e1 @ K2 @ e1
    return Existence(
        r"$QQ^\top=eP(I+KP)^{-1}e$, with $e_2e_1$ and $K_1+e_1K_2e_1$ for two tasks in a row",
        (
            MatrixIdentity(
                Q0.T @ (one + K1 @ (Q0 @ Q0.T)),
                (eye(h) + Q0.T @ K1 @ Q0) @ Q0.T,
                SHAPES,
                name=r"Q(0)^\top(I+KP)",
            ),
            MatrixIdentity(
                (one + K2 @ after_first) @ back @ bracket, back @ (one + both @ P0), SHAPES, CHAIN
            ),
        ),
    )


growth = sp.exp(2 * s * t / tau)
size = 1 + plus * (growth - 1) / (2 * s) + minus * (1 - 1 / growth) / (2 * s) + rest * t / tau
one_mode = {plus_t: plus * growth / size, minus_t: minus / growth / size, rest_t: rest / size}
"""The squares of Q along the eigenvectors of F, for one hidden neuron."""

total = plus_t + minus_t + rest_t
velocity = {
    plus_t: plus_t * (2 * s - total) / tau,
    minus_t: -minus_t * (2 * s + total) / tau,
    rest_t: -rest_t * total / tau,
}
function = (one_mode[plus_t] - one_mode[minus_t]) / 2
"""The network function along the mode."""

SIGNS = {s: 1, tau: 1, t: 1}
regular = Cell("q₊ ≠ 0", {**SIGNS, plus: 1, minus: 1, rest: 1})
kernel = Cell("q₊ = 0", {**SIGNS, minus: 1}, {plus: sp.S.Zero, rest: sp.S.Zero}, "B = 0")
starts = Domain(
    (plus, minus, rest, s, tau, t), cells=(regular, kernel), words="one hidden neuron, one singular value"
)
with_overlap = starts.with_cells(regular)


@result(
    ledger=("braun2022.any-zero-balanced-converges",),
    domain=starts,
    uses=("prior_knowledge.solution_from_any_start",),
    hypotheses=(meaning("both cases: q₊ ≠ 0, and q₊ = 0 with nothing in the kernel", plus, rest),),
)
def learned_from_overlap() -> Existence:
    """One mode is learned if and only if the start overlaps with it, q₊ ≠ 0; otherwise the function tends to zero."""
    return Existence(
        r"$W_2W_1\to s$ along the mode if $q_+\ne0$, and $\to0$ if $q_+=0$",
        (
            Solution(one_mode, velocity, {plus_t: plus, minus_t: minus, rest_t: rest}, t),
            Limit(function, t, sp.oo, s, on=with_overlap),
            Limit(function, t, sp.oo, sp.S.Zero, on=starts.with_cells(kernel)),
        ),
    )


@printed(
    "braun2022.any-zero-balanced-converges",
    quote=r"from any zero-balanced initialisation the network converges to the global optimum",
    domain=starts,
    severity="scope",
)
def printed_any_start() -> Limit:
    """As printed, the task is learned from every start, here of one hidden neuron for a task of rank one.

    Theorem 3.2 has an invertible B, and does not give it for any start.
    """
    return Limit(function, t, sp.oo, s)
