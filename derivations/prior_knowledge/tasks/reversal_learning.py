r"""Reversal learning: the learned state lies on the stable manifold of a saddle.

From W₁ = AṼᵀ and W₂ = -ŨAᵀ the weights stay of this form, with τȦ = -A(S̃ + AᵀA): the function -ŨAᵀAṼᵀ shrinks to zero
and never becomes ŨS̃Ṽᵀ. In closed form, with E = e^{-S̃t/τ},

    AᵀA(t) = E[(A(0)ᵀA(0))⁻¹ + (I - E²)S̃⁻¹]⁻¹E,

also for N_i ≠ N_o and for every A(0) of rank m; from the learned state, A(0)ᵀA(0) = S̃, each mode is s/(2e^{2st/τ} - 1).
No B⁻¹ is needed, and there is none: U = -Ũ and V = Ṽ give B = 0. Where only some modes are reversed, U = ŨJ with signs
J, B = I + J has these modes for its kernel.

An overlap q₊² with a reversed mode grows at the rate 2s/τ at most, so that half of the mode takes at least
τ/(2s) ln(s/q₊²): slowing without bound as q₊ → 0. Gradient descent with steps of any size keeps to the stable
manifold just as the flow does. What leaves it is a perturbation, by rounding or noise, and rounding that treats both
layers alike need not supply one (braun2022, Sec. 6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.decoupling.task_overlaps import (
    SHAPES,
    A,
    E,
    S,
    Si,
    U,
    V,
    frames,
    one,
    spectral,
    task,
)
from derivations.prior_knowledge.symbols import (
    TIMED,
    m,
    minus,
    plus,
    plus_t,
    rest,
    reversed_t,
    s,
    t,
    tau,
    u,
    v,
    w1,
    w2,
)
from derivations.prior_knowledge.tasks.task_sequences import SIGNS, growth, one_mode, size, starts
from symdyn.calculus.matrix import Rules, matrix, positive, rule, substitute, zero
from symdyn.calculus.matrix.rules import Declaration, Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality, Limit, Solution
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

first, second = A @ V.T, -U @ A.T
residual = task - second @ first
M = matrix("M", m, m, symmetric=True)
H0 = matrix("H0", m, m, "(A(0)^\\top A(0))^{-1}", symmetric=True)
J = matrix("J", m, m, symmetric=True)


def _signs(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    return {J.letter: sp.diag(*(generator.choice((-1, 1)) for _ in range(sizes[m])))}


signs = Declaration("J² = I", (rule(J @ J, one),), (J.letter,), _signs)
reversed_domain = Domain((s, tau, t), cells=(Cell("s > 0", SIGNS),))


@result(ledger=("braun2022.reversal-solution",), uses=("prior_knowledge.solution_from_any_start",))
def reversed_connections() -> Existence:
    """The exact solution in reversal learning: a form without the inverse of B, which is singular there."""
    stays = -A @ (S + A.T @ A) / tau
    bracket = H0 + (one - E @ E) @ Si
    closed = E @ M.inverse() @ E
    return Existence(
        r"$A^\top A(t)=E\left[(A(0)^\top A(0))^{-1}+(I-E^2)\tilde S^{-1}\right]^{-1}E$, $E=e^{-\tilde St/\tau}$, for"
        r" $W_1=A\tilde V^\top$ and $W_2=-\tilde UA^\top$",
        (
            MatrixIdentity(first @ first.T, second.T @ second, SHAPES, frames),
            MatrixIdentity(
                second.T @ residual, -A @ (S + A.T @ A) @ V.T, SHAPES, frames, name=r"\tau\dot W_1"
            ),
            MatrixIdentity(residual @ first.T, U @ (S + A.T @ A) @ A.T, SHAPES, frames, name=r"\tau\dot W_2"),
            MatrixDynamics(
                A.T @ A, -(S @ A.T @ A + A.T @ A @ S + 2 * A.T @ A @ A.T @ A) / tau, {A: stays}, SHAPES, TIMED
            ),
            MatrixDynamics(
                closed,
                -(S @ closed + closed @ S + 2 * closed @ closed) / tau,
                {E: -S @ E / tau, M: 2 * E @ E / tau},
                SHAPES,
                Rules(spectral, positive(tau)),
            ),
            MatrixDynamics(
                bracket, 2 * E @ E / tau, {E: -S @ E / tau}, SHAPES, Rules(spectral, positive(tau)), name="M"
            ),
            MatrixIdentity(substitute(bracket, {E: one}), H0, SHAPES, name="M(0)"),
            MatrixIdentity(substitute(closed, {E: one, M: H0}), H0.inverse(), SHAPES, name="A^\\top A(0)"),
        ),
    )


@result(
    ledger=("braun2022.reversal-fails",),
    domain=reversed_domain,
    uses=("prior_knowledge.reversed_connections",),
)
def reversal_fails() -> Existence:
    """From the learned reversed task every mode shrinks as s/(2e^{2st/τ} - 1): the function tends to zero, a saddle."""
    mode = s / (2 * sp.exp(2 * s * t / tau) - 1)
    return Existence(
        r"$W_2W_1=-\tilde U\frac{\tilde S}{2e^{2\tilde St/\tau}-I}\tilde V^\top\to0$",
        (
            Solution(
                {reversed_t: mode},
                {reversed_t: -2 * reversed_t * (s + reversed_t) / tau},
                {reversed_t: s},
                t,
            ),
            Limit(mode, t, sp.oo, sp.S.Zero),
        ),
    )


@result(
    ledger=("braun2022.reversal-b-singular",),
    hypotheses=(meaning("J is diagonal with entries ±1, of which -1 marks a reversed mode", "J² = I"),),
)
def singular_overlap() -> Conjunction:
    """B is zero where all modes are reversed, and annihilates the reversed modes where only some are."""
    overlap = (U @ J).T @ U + V.T @ V
    return Conjunction(
        MatrixIdentity((-U).T @ U + V.T @ V, zero(m, m), SHAPES, frames, name="B"),
        MatrixIdentity(overlap, one + J, SHAPES, Rules(*frames.declarations, signs), name="B"),
        MatrixIdentity(overlap @ (one - J), zero(m, m), SHAPES, Rules(*frames.declarations, signs)),
    )


moving = starts.with_cells(
    Cell("q₊ ≠ 0, t > 0", {**SIGNS, plus: 1, minus: 1, rest: 1, u: 1}, {t: tau * u / (2 * s)}, "u = 2st/τ")
)


@result(
    ledger=("braun2022.catastrophic-slowing",),
    domain=moving,
    uses=("prior_knowledge.learned_from_overlap",),
    hypotheses=(
        meaning("u = 2st/τ > 0, or a time u before the end of the wait; q₊² in terms of it", u, t, plus),
    ),
)
def catastrophic_slowing() -> Existence:
    """A mode is half learned no sooner than τ/(2s) ln(s/q₊²), which has no bound next to the separatrix q₊ = 0.

    q₊²(t) = q₊²e^{2st/τ}/D with D ≥ 1: D starts from 1 and grows.
    """
    cell = Cell(
        "q₊ small",
        {s: 1, tau: 1},
        {plus: s * sp.exp(-2 * s * (t + u) / tau)},
        "u before the time τ/(2s) ln(s/q₊²)",
    )
    near = Domain((s, tau, t), cells=(cell,))
    return Existence(
        r"$q_+^2(t)\le q_+^2e^{2st/\tau}$, which is below $s$ until $\frac\tau{2s}\ln\frac s{q_+^2}$,"
        r" as late as one likes for small $q_+$",
        (
            Identity(plus * growth / one_mode[plus_t], size),
            Inequality(tau * sp.diff(size, t), ">"),
            Identity(plus * growth, s * sp.exp(-2 * s * u / tau), on=near),
        ),
    )


sum_of_weights = w1 + w2


def after_step(one_weight: sp.Expr, other: sp.Expr) -> sp.Expr:
    """A weight after one step of gradient descent, for one input, one hidden neuron and one output."""
    return one_weight + (s - one_weight * other) * other / tau


@result(
    ledger=("braun2022.numerical-escape",),
    uses=("prior_knowledge.learned_from_overlap",),
    hypotheses=(
        stated("Sec. 6, reversal learning", "w₁w₂ < 0 < s; w₁ < 0 < w₂ is its mirror image", w1, w2),
    ),
)
def escape_needs_a_perturbation() -> Existence:
    """A step of gradient descent multiplies w₁ + w₂, the distance to the separatrix: it leaves zero at zero.

    In reversal learning w₁w₂ < 0, and the factor 1 + (s - w₁w₂)/τ is above 1: any perturbation of the sum grows, but
    none is made. Rounding makes none either where it treats both layers alike, as it is symmetric in the sign.
    """
    apart = Domain((w1, w2, s, tau), cells=(Cell("τ > 0", {tau: 1}),))
    reversed_signs = Domain((w1, w2, s, tau), cells=(Cell("w₁w₂ < 0", {w1: 1, w2: -1, s: 1, tau: 1}),))
    factor = 1 + (s - w1 * w2) / tau
    return Existence(
        r"$w_1+w_2$ becomes $(w_1+w_2)\left(1+(s-w_1w_2)/\tau\right)$ in one step",
        (
            Identity(after_step(w1, w2) + after_step(w2, w1), sum_of_weights * factor, on=apart),
            Inequality(factor, ">", sp.S.One, on=reversed_signs),
        ),
    )


@printed(
    "braun2022.numerical-escape",
    quote=r"Learning still succeeds numerically",
    domain=Domain(
        (w1, s, tau),
        cells=(Cell("learned reversed task", {w1: 1, s: 1, tau: 1}, {w2: -w1}),),
        words="gradient descent from W₂W₁ < 0, one input and one output",
    ),
    hypothesis="a perturbation, by rounding or noise, leads off the separatrix, w₁ + w₂ ≠ 0",
    under=Domain(
        (s, tau),
        cells=(
            Cell("off the separatrix", {u: 1, v: 1, s: 1, tau: 1}, {w1: u + v, w2: -u}, "v = w₁ + w₂"),
            Cell("on the other side", {u: 1, v: 1, s: 1, tau: 1}, {w1: u, w2: -u - v}, "v = -w₁ - w₂"),
        ),
        words="w₁ + w₂ ≠ 0",
    ),
    hypotheses=(stated("Sec. 6, reversal learning", "from the learned reversed task, w₂ = -w₁ < 0", w1, w2),),
)
def printed_numerical_escape() -> Inequality:
    """As printed, gradient descent leaves the separatrix: w₁ + w₂ is not zero after a step."""
    return Inequality(after_step(w1, w2) + after_step(w2, w1), "!=")
