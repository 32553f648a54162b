r"""From which zero-balanced starts the task is learned, and how fast from large ones.

Theorem 3.2 needs an invertible B. Zero balance and whitened inputs alone are not enough: with one input, hidden neuron
and output, zero-balanced weights are w₂ = ±w₁, and a = w₂w₁ obeys τȧ = 2|a|(s - a), so that

    a(t) = s a₀/(e^{∓2st/τ}(s - a₀) + a₀)        for a₀ > 0 (upper sign) and a₀ < 0 (lower sign).

It tends to s from one half of all starts, and to zero from the other. No start suits all tasks, as Σ^yx = -W₂W₁(0) has
B = 0. Along one mode the gap to the task falls at the rate 2a/τ: for a₀ > s faster than e^{-2st/τ}, first by far, as
s/(e^{2st/τ} - 1) for a₀ → ∞, which is τ/2t for short times; for a₀ → 0 half of the mode is learned
after (τ/2s) ln((s - a₀)/a₀), which grows without bound. With several modes a large start can wait as long as a small
one: where B is almost singular (module turned_starts). The paper says that there are large zero-balanced starts with
rapid exponential learning curves, and these there are: along one mode all a₀ > s, with a gap between
(s/a₀)(a₀ - s) e^{-2st/τ} and (a₀ - s) e^{-2st/τ}. Of every large start, W₁ = √2 I and W₂ = √2 diag(1, -1) for the task
diag(2, 1), say, it is not true (braun2022, Sec. 4).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.prior_knowledge.riccati.singular_form import SHAPES, U, V
from derivations.prior_knowledge.riccati.task_basis import INSIDE
from derivations.prior_knowledge.symbols import a1, c, g1, m, r1, s, t, tau
from symdyn.calculus.matrix import (
    zero,
)
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality, Limit, Solution
from symdyn.statements.matrix import MatrixIdentity

TIMES = {t: 1, tau: 1}


def mode(side: int) -> sp.Expr:
    """The network function along one mode, for a₀ > 0 (side 1) and a₀ < 0 (side -1)."""
    return s * a1 / (sp.exp(-2 * side * s * t / tau) * (s - a1) + a1)


INVERTIBLE = (
    "W₂(0)W₁(0) has full rank and B is invertible, as Theorem 3.1 assumes; the zero-balanced weights of the "
    "other sign of the determinant, half of all for N_i = N_o, do not find it"
)
LEARNABLE = (
    "B is invertible for the task, and far from singular for rapid learning: the start has to have the sign "
    "of the determinant that the task has for N_i = N_o, and is on the separatrix of the reversed task, at least, for "
    "all dimensions; near to it the wait has no bound, whatever the size of the start"
)
NOT_REVERSED = (
    "no mode is reversed or nearly so, a₀ > 0 along every mode (B is far from singular): a reversed mode is "
    "not learned, and one nearly reversed waits, whatever the size of the start (wait_of_turned_starts). That there "
    "are large starts that learn so, as Sec. 4 says, holds; what is refuted is the sentence about every large start"
)
side = sp.Symbol("side", real=True)
ANY_SIGN = meaning(
    "starts of both signs, |a₀| above s by c > 0 where they are large; side is the sign", a1, side, c
)
towards = Domain((s, a1, t, tau), cells=(Cell("s, a₀ > 0", {s: 1, a1: 1, **TIMES}),), words="s, a₀ > 0")
against = Domain((s, a1, t, tau), cells=(Cell("a₀ < 0 < s", {s: 1, a1: -1, **TIMES}),), words="a₀ < 0 < s")
other_task = Domain((s, a1, t, tau), cells=(Cell("s < 0 < a₀", {s: -1, a1: 1, **TIMES}),), words="s < 0 < a₀")


def path(side: int, on: Domain) -> Solution:
    """The solution of one mode, whose |a| is side times a."""
    return Solution({g1: mode(side)}, {g1: 2 * side * g1 * (s - g1) / tau}, {g1: a1}, t, on=on)


@result(
    ledger=("braun2022.rich-solution-guaranteed",),
    uses=("prior_knowledge.steady_state", "prior_knowledge.invertible_overlap"),
    hypotheses=(added(INVERTIBLE, a1),),
)
def rich_solutions() -> Existence:
    """Zero-balanced weights of full rank find the rich solution if B is invertible.

    For N_i = N_o those with another sign of the determinant than the task, half of all, miss a mode or more: that B is
    singular there is a fact of invertible_overlap. The facts here are those of one input, hidden neuron and output
    alone, where a tends to s for a₀ > 0 and to zero for a₀ < 0; they say nothing of how many starts there are.
    """
    return Existence(
        r"$W_1^\top W_1\to\tilde V\tilde S\tilde V^\top$ and $W_2W_2^\top\to\tilde U\tilde S\tilde U^\top$ "
        r"for an invertible B; for a single mode $a\to s$ from $a_0>0$, $a\to0$ from $a_0<0$",
        (
            path(1, towards),
            Limit(mode(1), t, sp.oo, s, on=towards),
            path(-1, against),
            Limit(mode(-1), t, sp.oo, sp.S.Zero, on=against),
        ),
    )


either = Domain(
    (s, a1, t, tau, side),
    cells=(Cell("s, a₀ > 0", {s: 1, a1: 1, **TIMES}, {side: sp.S.One}),),
    words="a₀ > 0",
)


@printed(
    "braun2022.rich-solution-guaranteed",
    quote="the setup is guaranteed to find a rich solution",
    domain=either.with_cells(*either.cells, Cell("a₀ < 0 < s", {s: 1, a1: -1, **TIMES}, {side: -sp.S.One})),
    hypothesis=INVERTIBLE,
    under=either,
    hypotheses=(ANY_SIGN,),
)
def printed_rich_solutions() -> Limit:
    """As printed, a mode of any zero-balanced start tends to that of the task."""
    return Limit(mode(side), t, sp.oo, s)


@result(
    ledger=("braun2022.task-agnostic-initialisations",),
    uses=("prior_knowledge.rich_solutions", "prior_knowledge.invertible_overlap"),
    hypotheses=(added(LEARNABLE, a1, s),),
)
def task_agnostic_starts() -> Existence:
    """A large zero-balanced start finds the rich solution of the tasks for which its B is invertible, not of all tasks.

    For every start there are others: Σ^yx = -W₂W₁(0) has B = 0; and for N_i = N_o all tasks with another sign of the
    determinant. For N_i ≠ N_o they are exceptions. Rapidly it learns those with a B far from singular, as
    wait_of_turned_starts says.
    """
    return Existence(
        r"for all tasks with an invertible B; never for $\tilde\Sigma^{yx}=-W_2W_1(0)$, where $B=0$",
        (
            MatrixIdentity(-U.T @ U + V.T @ V, zero(m, m), SHAPES, INSIDE, name="B"),
            Limit(mode(1), t, sp.oo, s, on=towards),
            path(1, other_task),
            Limit(mode(1), t, sp.oo, sp.S.Zero, on=other_task),
        ),
    )


tasks = Domain((s, a1, t, tau), cells=(*towards.cells, *other_task.cells), words="a₀ > 0, s ≠ 0")


@printed(
    "braun2022.task-agnostic-initialisations",
    quote="applies to any task with well-defined input-output correlation",
    domain=tasks,
    hypothesis=LEARNABLE,
    under=towards,
    hypotheses=(stated("Sec. 4", "any task, s ≠ 0 of either sign", s),),
)
def printed_task_agnostic_starts() -> Limit:
    """As printed, for any task: one start, with a₀ > 0, tends to the task s."""
    return Limit(mode(1), t, sp.oo, s)


beyond = Domain(
    (s, a1, t, tau),
    cells=(
        Cell(
            "a₀ > s > 0",
            {s: 1, c: 1, r1: 1, tau: 1},
            {a1: s + c, t: tau * sp.log(1 + r1) / (2 * s)},
            "e^{2st/τ} grows from 1",
        ),
    ),
    words="a₀ > s > 0",
)
later = Domain(
    (s, t, tau),
    cells=(
        Cell(
            "s, t > 0", {s: 1, r1: 1, tau: 1}, {t: tau * sp.log(1 + r1) / (2 * s)}, "e^{2st/τ} grows from 1"
        ),
    ),
    words="s, t > 0",
)


def gap(side: int) -> sp.Expr:
    return mode(side) - s


large = Domain(
    (s, a1, t, tau, side),
    cells=tuple(replace(cell, where={**cell.where, side: sp.S.One}) for cell in beyond.cells),
    words="|a₀| > s > 0",
)
ending = Domain(
    (s, a1, t, tau, side),
    cells=tuple(
        Cell(f"{name} > s > 0", {s: 1, c: 1, **TIMES}, {a1: sign * (s + c), side: sp.Integer(sign)})
        for name, sign in (("a₀", 1), ("-a₀", -1))
    ),
    words="|a₀| > s > 0",
)
REVERSED = Cell(
    "-a₀ > s > 0",
    {s: 1, c: 1, r1: 1, tau: 1},
    {a1: -s - c, t: tau * sp.log(1 + r1) / (2 * s), side: -sp.S.One},
    "e^{2st/τ} grows from 1",
)


@result(
    ledger=("braun2022.large-zero-balanced-exponential",),
    uses=("prior_knowledge.rich_solutions",),
    hypotheses=(
        added(NOT_REVERSED, a1),
        meaning("c > 0 is how far one of a₀ and s is beyond the other", c, t),
    ),
)
def speed_of_large_starts() -> Existence:
    """One mode beyond the task learns at least as fast as e^{-2st/τ}; a small one waits for long, then rises.

    The rate of the gap is 2a/τ, from 2a₀/τ down to 2s/τ for large starts: so the curve is steeper than the exponential
    that it ends in, by a factor of a₀/s at most, and in the limit of large a₀ the gap is s/(e^{2st/τ} - 1). A mode with
    a₀ < 0 is not learned.
    """
    half_time = tau * sp.log((s - a1) / a1) / (2 * s)
    waiting = Domain((s, a1, tau), cells=(Cell("0 < a₀ < s", {c: 1, a1: 1, tau: 1}, {s: a1 + c}),))
    return Existence(
        r"$|a-s|\le|a_0-s|e^{-2st/\tau}$ for $a_0>s$; "
        r"$a=\frac s2$ at $t=\frac\tau{2s}\ln\frac{s-a_0}{a_0}$ for $a_0<s$",
        (
            Identity(sp.diff(gap(1), t), -2 * mode(1) * gap(1) / tau, on=towards),
            Inequality(gap(1), ">", on=beyond),
            Inequality((a1 - s) * sp.exp(-2 * s * t / tau) - gap(1), ">", on=beyond),
            Inequality(gap(1) - s * (a1 - s) / a1 * sp.exp(-2 * s * t / tau), ">", on=beyond),
            Limit(gap(1), a1, sp.oo, s / (sp.exp(2 * s * t / tau) - 1), on=later),
            Identity(mode(1).subs(t, half_time), s / 2, on=waiting),
            Limit(mode(1) / a1, a1, sp.S.Zero, sp.exp(2 * s * t / tau), on=later),
        ),
    )


@printed(
    "braun2022.large-zero-balanced-exponential",
    quote="Large (zero-balanced) initial weights give fast, exponential learning curves",
    domain=large.with_cells(*large.cells, REVERSED),
    hypothesis=NOT_REVERSED,
    under=large,
    hypotheses=(ANY_SIGN,),
)
def printed_speed_of_large_starts() -> Inequality:
    """As printed, read of every large start: the gap falls as fast as e^{-2st/τ}, or faster, along one mode."""
    return Inequality(((a1 - s) * sp.exp(-2 * s * t / tau)) ** 2 - gap(side) ** 2, ">")


@printed(
    "braun2022.large-zero-balanced-speeds-up",
    quote="while converging to a minimum with identical generalisation properties",
    domain=ending,
    hypothesis="B is invertible for the next task, as Theorem 3.2 asks for: the starts that are trained here are "
    "reflected to the side from which the task is learned, where half of the zero-balanced ones are not",
    under=ending.with_cells(ending.cells[0]),
    hypotheses=(ANY_SIGN,),
)
def printed_end_of_large_starts() -> Limit:
    """As printed, for every large start: along each mode it ends at the task.

    For W₁ = √2 I, W₂ = √2 diag(1, -1) and the task diag(2, 1) the second mode has a₀ = -2 and s = 1, and ends at zero.
    """
    return Limit(mode(side), t, sp.oo, s)
