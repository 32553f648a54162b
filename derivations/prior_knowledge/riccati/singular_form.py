r"""The exact solution in the singular vectors of start and task: Theorem 3.1 and where it ends.

Zero-balanced weights whose product has the rank m of the task are W₁(0) = RS^{1/2}Vᵀ, W₂(0) = US^{1/2}Rᵀ, so that
QQᵀ(0) = [V; U]S[V; U]ᵀ. F has the eigenvectors [Ṽ; ±Ũ] with the eigenvalues ±S̃, and nothing else but zeros, on Ṽ_⊥ and
Ũ_⊥. With E = e^{-S̃t/τ}, e^{Ft/τ}[V; U] = ½ZE⁻¹Bᵀ, and Z and the bracket K of the theorem obey

    τŻ = FZ - ZS̃,        τK̇ = ZᵀZ - S̃K - KS̃,        ½Z(0)Bᵀ = [V; U],        ¼BK(0)Bᵀ = S⁻¹,

so that ZK⁻¹Zᵀ solves the Riccati equation and starts from QQᵀ(0). All of K is positive semidefinite for t ≥ 0 and its
first term positive definite. As E → 0, Z → [Ṽ; Ũ] and K → S̃⁻¹; the term 4(t/τ)E…E, which is there for N_i ≠ N_o only,
tends to zero too, though t does not stand in an exponential there (braun2022, Sec. 3, Theorems 3.1 and 3.2).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.symbols import TIMED, W1, W2, h, i, m, o, r1, s, start, t, task, tau
from symdyn.calculus.gram import inner, norm2
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rules,
    balanced,
    cayley,
    eye,
    matrix,
    orthonormal_columns,
    positive,
    random_rational,
    rule,
    substitute,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality, Limit
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity, MatrixStatement

N = sp.Symbol("N", integer=True, positive=True)
SHAPES = ({i: 3, o: 2, m: 2}, {i: 2, o: 3, m: 2}, {i: 2, o: 2, m: 2})
"""N_i above, below and equal to N_o."""
ONE_MODE = ({i: 2, o: 1, m: 1}, {i: 1, o: 2, m: 1})

V, U = matrix("V", i, m), matrix("U", o, m)
V_task, U_task = matrix("Vt", i, m, r"\tilde V"), matrix("Ut", o, m, r"\tilde U")
V_proj = matrix("Vp", i, i, r"\tilde V_\perp\tilde V_\perp^\top", symmetric=True)
U_proj = matrix("Up", o, o, r"\tilde U_\perp\tilde U_\perp^\top", symmetric=True)
S, S_inv = matrix("S", m, m, symmetric=True), matrix("Si", m, m, "S^{-1}", symmetric=True)
s_task = matrix("St", m, m, r"\tilde S", symmetric=True)
s_inv = matrix("Sti", m, m, r"\tilde S^{-1}", symmetric=True)
# E is diagonal. As a letter that is not declared symmetric it can be moved to one side of S̃, and Eᵀ to the other, by
# rewriting that comes to an end; so Eᵀ stands on the left of products and E on the right.
decay = matrix("E", m, m, r"e^{-\tilde St/\tau}")
B, C = matrix("B", m, m), matrix("C", m, m)
B_inv = matrix("Bi", m, m, "B^{-1}")


def _bases(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Singular vectors and values of a start and a task with an invertible B, and a diagonal E."""
    inputs, outputs, rank = (sizes[size] for size in (i, o, m))
    start = orthonormal_columns(generator, inputs, rank), orthonormal_columns(generator, outputs, rank)
    turns = cayley(generator, inputs), cayley(generator, outputs)
    task = turns[0][:, :rank], turns[1][:, :rank]
    overlap = start[1].T * task[1] + start[0].T * task[0]
    if overlap.det() == 0:
        return _bases(generator, sizes)

    def values() -> sp.Matrix:
        return sp.diag(*(abs(random_rational(generator)) for _ in range(rank)))

    size, goal = values(), values()
    return {
        V.letter: start[0],
        U.letter: start[1],
        V_task.letter: task[0],
        U_task.letter: task[1],
        V_proj.letter: sp.eye(inputs) - task[0] * task[0].T,
        U_proj.letter: sp.eye(outputs) - task[1] * task[1].T,
        S.letter: size,
        S_inv.letter: size.inv(),
        s_task.letter: goal,
        s_inv.letter: goal.inv(),
        decay.letter: values(),
        B.letter: overlap,
        B_inv.letter: overlap.inv(),
        C.letter: start[1].T * task[1] - start[0].T * task[0],
    }


BASIS = Rules(
    Declaration(
        "singular vectors of start and task, B invertible",
        (
            rule(V_task.T @ V_task, eye(m)),
            rule(U_task.T @ U_task, eye(m)),
            rule(V_task.T @ V_proj, zero(m, i)),
            rule(U_task.T @ U_proj, zero(m, o)),
            rule(V_proj @ V_proj, V_proj),
            rule(U_proj @ U_proj, U_proj),
            rule(V_task @ V_task.T, eye(i) - V_proj),
            rule(U_task @ U_task.T, eye(o) - U_proj),
            rule(V_task.T @ V, (B.T - C.T) / 2),
            rule(U_task.T @ U, (B.T + C.T) / 2),
            rule(B @ B_inv, eye(m)),
            rule(B_inv @ B, eye(m)),
            rule(S @ S_inv, eye(m)),
            rule(S_inv @ S, eye(m)),
            rule(s_task @ s_inv, eye(m)),
            rule(s_inv @ s_task, eye(m)),
            rule(decay @ s_task, s_task @ decay),
            rule(decay @ s_inv, s_inv @ decay),
            rule(decay @ decay.T, decay.T @ decay),
        ),
        (
            *(x.letter for x in (V, U, V_task, U_task, V_proj, U_proj, S, S_inv, s_task, s_inv, decay, B)),
            *(x.letter for x in (C, B_inv)),
        ),
        _bases,
    ),
    positive(tau),
)

OVERLAPS = Rules(
    Declaration(
        "B and C as defined",
        (
            rule(B @ B_inv, eye(m)),
            rule(B_inv @ B, eye(m)),
            rule(V_task @ V_task.T, eye(i) - V_proj),
            rule(U_task @ U_task.T, eye(o) - U_proj),
            rule(B, U.T @ U_task + V.T @ V_task),
            rule(C, U.T @ U_task - V.T @ V_task),
        ),
        BASIS.declarations[0].letters,
        _bases,
    )
)

one = eye(m)
left, right = decay.T @ B_inv, B_inv.T @ decay
squared = decay.T @ decay
turned = decay.T @ C.T @ right
Z_in = V_task @ (one - turned) + 2 * V_proj @ V @ right
Z_out = U_task @ (one + turned) + 2 * U_proj @ U @ right
beyond = V.T @ V_proj @ V + U.T @ U_proj @ U
K = (
    4 * left @ S_inv @ right
    + (one - squared) @ s_inv
    - left @ C @ (squared - one) @ s_inv @ C.T @ right
    + 4 * t / tau * left @ beyond @ right
)
"""Z and the bracket of Theorem 3.1, in the two blocks of inputs and outputs."""

sigma = U_task @ s_task @ V_task.T
moving = {decay: -s_task @ decay / tau, t: sp.S.One}
"""E moves by τĖ = -ES̃, and dt/dt = 1."""


def bracket_velocity(x: Expression) -> Expression:
    """ZᵀZ - S̃x - xS̃ over τ, what the bracket x should have for its velocity."""
    return (Z_in.T @ Z_in + Z_out.T @ Z_out - s_task @ x - x @ s_task) / tau


@result(ledger=("braun2022.z-matrix",))
def singular_basis_of_flow() -> Conjunction:
    """Z moves by τŻ = FZ - ZS̃ and starts from ½ZBᵀ = [V; U], for N_i below, equal to and above N_o."""
    start_in, start_out = (substitute(x, {decay: one}) @ B.T / 2 for x in (Z_in, Z_out))
    return Conjunction(
        MatrixDynamics(Z_in, (sigma.T @ Z_out - Z_in @ s_task) / tau, moving, SHAPES, BASIS),
        MatrixDynamics(Z_out, (sigma @ Z_in - Z_out @ s_task) / tau, moving, SHAPES, BASIS),
        MatrixIdentity(start_in, V, SHAPES, OVERLAPS, name=r"\frac12Z_i(0)B^\top"),
        MatrixIdentity(start_out, U, SHAPES, OVERLAPS, name=r"\frac12Z_o(0)B^\top"),
    )


F = matrix("F", N, N, symmetric=True)
Z, bracket = matrix("Z", N, m), matrix("K", m, m, symmetric=True)
rates = matrix("D", m, m, r"\tilde S", symmetric=True)
FEW = ({N: 3, m: 2}, {N: 2, m: 1})
grown = Domain(
    (s, t),
    cells=(Cell("s, t > 0", {s: 1, r1: 1}, {t: sp.log(1 + r1) / (2 * s)}, "e^{2st} grows from 1"),),
    words="s, t > 0",
)
later = Domain((s, t), cells=(Cell("s, t > 0", {s: 1, t: 1}),), words="s, t > 0")


def riccati_facts() -> tuple[MatrixStatement, ...]:
    """ZK⁻¹Zᵀ solves the Riccati equation if Z and K move as stated, K as printed does, and starts as it should."""
    closed = Z @ bracket.inverse() @ Z.T
    both = {Z: (F @ Z - Z @ rates) / tau, bracket: (Z.T @ Z - rates @ bracket - bracket @ rates) / tau}
    riccati = (F @ closed + closed @ F - closed @ closed) / tau
    at_start = substitute(substitute(K, {decay: one}), {t: sp.S.Zero})
    return (
        MatrixDynamics(closed, riccati, both, FEW, TIMED, name=r"ZK^{-1}Z^\top"),
        MatrixDynamics(K, bracket_velocity(K), moving, ONE_MODE, BASIS, name="K"),
        MatrixIdentity(B @ at_start @ B.T / 4, S_inv, SHAPES, BASIS, name=r"\frac14BK(0)B^\top"),
    )


growing = matrix("A", m, m, symmetric=True)
apart, ratio = matrix("X", m, m, symmetric=True), matrix("D", m, m)
MODES = ({m: 1}, {m: 2})


def _decaying(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """The diagonal matrices alone."""
    drawn = [sp.diag(*(abs(random_rational(generator)) for _ in range(sizes[m]))) for _ in range(2)]
    return {decay.letter: drawn[0], s_task.letter: drawn[1], s_inv.letter: drawn[1].inv()}


DECAYING = Rules(
    Declaration(
        "E and S̃ are diagonal",
        (
            rule(s_task @ s_inv, one),
            rule(s_inv @ s_task, one),
            rule(decay @ s_task, s_task @ decay),
            rule(decay @ s_inv, s_inv @ decay),
            rule(decay @ decay.T, decay.T @ decay),
        ),
        (decay.letter, s_task.letter, s_inv.letter),
        _decaying,
    ),
    positive(tau),
)
abbreviated = {
    growing: 4 * B_inv @ (S_inv + t / tau * beyond) @ B_inv.T,
    apart: B_inv @ beyond @ B_inv.T,
    ratio: C.T @ B_inv.T,
}
"""A for 4B⁻¹(S⁻¹ + (t/τ)(…))B⁻ᵀ, which moves by τȦ = 4X, X for B⁻¹(…)B⁻ᵀ, and D for CᵀB⁻ᵀ."""


@result(
    ledger=("braun2022.theorem-3-1",),
    uses=(
        "prior_knowledge.weight_riccati",
        "prior_knowledge.singular_basis_of_flow",
        "prior_knowledge.balanced_blocks",
    ),
)
def exact_solution() -> Existence:
    """The exact solution in singular vectors, for all N_i, N_o and N_h.

    It needs that W₂(0)W₁(0) and Σ^yx have the same rank m, and that B, m × m, is invertible. The terms of K beyond the
    first are Gram matrices with weights (1 - e^{-2st})/s or t, so that K is positive definite.
    In the equation of K, A stands for 4B⁻¹(S⁻¹ + (t/τ)(…))B⁻ᵀ, X for B⁻¹(…)B⁻ᵀ and D for CᵀB⁻ᵀ.
    """
    turned_short = decay.T @ ratio @ decay
    gram = 2 * one + 2 * turned_short.T @ turned_short + 4 * decay.T @ apart @ decay
    short = decay.T @ growing @ decay + (one - squared) @ s_inv
    short = short - decay.T @ ratio.T @ (squared - one) @ s_inv @ ratio @ decay
    velocity = gram - s_task @ short - short @ s_task
    bracket_in_full, gram_in_full, growing_in_full, apart_in_full = (
        substitute(x, abbreviated) for x in (short, gram, growing, apart)
    )
    lemma, _, at_start = riccati_facts()
    return Existence(
        r"eqs. 11 and 12: $QQ^\top=ZK^{-1}Z^\top$",
        (
            lemma,
            MatrixIdentity(Z_in.T @ Z_in + Z_out.T @ Z_out, gram_in_full, ONE_MODE, BASIS, name=r"Z^\top Z"),
            MatrixIdentity(K, bracket_in_full, ONE_MODE, BASIS, name="K"),
            MatrixDynamics(
                growing_in_full, 4 * apart_in_full / tau, {t: sp.S.One}, ONE_MODE, BASIS, name="A"
            ),
            MatrixDynamics(
                short, velocity / tau, {**moving, growing: 4 * apart / tau}, MODES, DECAYING, name="K"
            ),
            at_start,
            Inequality((1 - sp.exp(-2 * s * t)) / s, ">", on=grown),
        ),
    )


@printed(
    "braun2022.theorem-3-1", quote=r"QQ^T(t)=Z\,[\,4e^{-\tilde St/\tau}B^{-1}S^{-1}B^{-T}e^{-\tilde St/\tau}"
)
def printed_exact_solution() -> Existence:
    """As printed, with E for e^{-S̃t/τ}; a weight matrix of full rank has min(N_i, N_o) for N_m."""
    return Existence(r"eqs. 11 and 12: $QQ^\top=ZK^{-1}Z^\top$", riccati_facts())


@result(ledger=())
def balanced_blocks() -> Existence:
    """The diagonal blocks of QQᵀ of zero-balanced weights are the roots of MᵀM and MMᵀ for M = W₂W₁.

    So M = USVᵀ fixes all of QQᵀ = [V; U]S[V; U]ᵀ, and W₁, W₂ and M have the same rank.
    """
    product = W2 @ W1
    sizes = ({i: 2, h: 3, o: 2}, {i: 3, h: 1, o: 2}, {i: 1, h: 2, o: 3})
    rules = Rules(balanced(W1, W2))
    return Existence(
        r"$W_1^\top W_1=V S V^\top$ and $W_2W_2^\top=U S U^\top$ for $W_2W_1=U S V^\top$",
        (
            MatrixIdentity(
                W1.T @ W1 @ W1.T @ W1, product.T @ product, sizes, rules, name=r"(W_1^\top W_1)^2"
            ),
            MatrixIdentity(W2 @ W2.T @ W2 @ W2.T, product @ product.T, sizes, rules, name=r"(W_2W_2^\top)^2"),
        ),
    )


def end(x: Expression) -> Expression:
    """Where E has died out."""
    return substitute(x, {decay: zero(m, m)})


@result(
    ledger=(
        "braun2022.theorem-3-2-function",
        "braun2022.theorem-3-2-representation",
        "braun2022.steady-state-exponentials",
    ),
    uses=("prior_knowledge.exact_solution", "prior_knowledge.whitened_inputs"),
)
def steady_state() -> Existence:
    """Under the conditions of Theorem 3.1, QQᵀ tends to [Ṽ; Ũ]S̃[Ṽ; Ũ]ᵀ, which the task alone decides.

    The loss has its global minimum at W₂W₁ = ŨS̃Ṽᵀ = Σ^yx. Entries of the term with t in front of exponentials are
    t e^{-(s + s')t} times constants.
    """
    inputs, outputs, inverse = end(Z_in), end(Z_out), end(K)
    steady = s_task
    return Existence(
        r"$QQ^\top\to\begin{bmatrix}\tilde V\\\tilde U\end{bmatrix}\tilde S"
        r"\begin{bmatrix}\tilde V\\\tilde U\end{bmatrix}^\top$ as $t\to\infty$",
        (
            MatrixIdentity(inverse @ steady, one, SHAPES, BASIS, name=r"K(\infty)\tilde S"),
            MatrixIdentity(outputs @ steady @ inputs.T, sigma, SHAPES, BASIS, name="W_2W_1"),
            MatrixIdentity(
                inputs @ steady @ inputs.T, V_task @ s_task @ V_task.T, SHAPES, BASIS, name=r"W_1^\top W_1"
            ),
            MatrixIdentity(outputs @ steady @ outputs.T, U_task @ s_task @ U_task.T, SHAPES, BASIS),
            Limit(t * sp.exp(-s * t), t, sp.oo, sp.S.Zero, on=later),
        ),
    )


def _unit_vectors(rng: random.Random, dimension: int) -> Point:
    """Two unit vectors that are not opposite."""
    while True:
        turn = cayley(rng, dimension), cayley(rng, dimension)
        first, second = (list(x[:, 0]) for x in turn)
        if first != [-x for x in second]:
            return {start: first, task: second}


EXAMPLES = meaning(
    "one output, unit vectors; s, t and τ positive, and all of them one", s, t, tau, start, task
)
one_output = Domain(
    (s, t, tau),
    (start, task),
    (
        Cell("t = τ, s = 1", {}, {s: sp.S.One, t: sp.S.One, tau: sp.S.One}, "while the task is learned"),
        Cell("s, t, τ > 0", {s: 1, t: 1, tau: 1}),
    ),
    sampler=_unit_vectors,
    words="N_o = 1, v and ṽ unit vectors, not opposite, u = ũ = 1",
)


@printed(
    "braun2022.steady-state-exponentials",
    quote="Time-dependent variables occur only in matrix exponentials of diagonal matrices of negative sign",
    domain=one_output,
    severity="scope",
    hypotheses=(EXAMPLES,),
)
def printed_steady_state() -> Identity:
    """As printed, no t stands in front of the exponentials; for one output its factor is 4e^{-2st/τ}‖ṽ_⊥ᵀv‖²/(τB²).

    So it is for N_i = N_o, but the sentence is said of eq. 11, whose last term 4(t/τ)e^{-S̃t/τ}…e^{-S̃t/τ} is there for
    N_i ≠ N_o, the case that the theorem adds. It tends to zero too: the steady state stands.
    """
    overlap = 1 + inner(start, task)
    return Identity(
        4 * sp.exp(-2 * s * t / tau) * (norm2(start) - inner(start, task) ** 2) / (tau * overlap**2), 0
    )
