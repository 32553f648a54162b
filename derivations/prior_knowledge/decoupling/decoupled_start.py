r"""The decoupled start: singular vectors shared with the task stay, and every mode moves on its own.

Zero-balanced weights with W₂W₁ = ŨS(0)Ṽᵀ are W₁ = RrṼᵀ, W₂ = ŨrRᵀ with r² = S and orthonormal columns R over hidden
neurons. The gradients have the same form, with ṙ = r(S̃ - S)/τ on the diagonal, so that Ũ, Ṽ and R stand still and
τṡ_k = 2s_k(s̃_k - s_k). Zero balance matters here: other weights of the same product W₂W₁ couple the modes by W₁ᵀW₁ and
W₂W₂ᵀ, which then need not be diagonal in Ũ and Ṽ. The paper asks for U = Ũ and V = Ṽ alone: for Σ^yx = diag(2, 1) the
start W₁ = [[1, 0], [1, 1]], W₂ = [[½, 0], [-¼, ¼]] has W₂W₁ = diag(½, ¼), and leaves its diagonal at the speed
[[·, 45/32], [9/16, ·]]/τ (braun2022, Sec. 5).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.network.model import whitened_flow
from derivations.prior_knowledge.symbols import W1, W2, h, i, m, o, r1, r2, s1, s2, sigma_yx, tau, u
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    commuting,
    eye,
    matrix,
    orthonormal_columns,
    positive,
    random_rational,
    rule,
    substitute,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning
from symdyn.statements.kinds import Existence, Identity
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

ZERO_BALANCE = (
    "the weights are zero-balanced: W₁ and W₂ by themselves have the singular vectors of the task then, and"
    " not their product alone. Assumption 2.3 is made for the solutions of the paper, not for the earlier ones that"
    " this sentence is about"
)
SHAPES = ({i: 2, h: 3, o: 2, m: 2}, {i: 3, h: 2, o: 2, m: 2}, {i: 1, h: 2, o: 3, m: 1})
left, right = matrix("Ut", o, m, r"\tilde U"), matrix("Vt", i, m, r"\tilde V")
over_neurons = matrix("R", h, m)
root = matrix("r", m, m, symmetric=True)
goal = matrix("St", m, m, r"\tilde S", symmetric=True)


def _modes(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Orthonormal columns and two diagonal matrices."""
    shapes = ((left, o), (right, i), (over_neurons, h))
    diagonals = {
        x.letter: sp.diag(*(random_rational(generator) for _ in range(sizes[m]))) for x in (root, goal)
    }
    return diagonals | {x.letter: orthonormal_columns(generator, sizes[size], sizes[m]) for x, size in shapes}


MODES = Rules(
    Declaration(
        "shared singular vectors",
        tuple(rule(x.T @ x, eye(m)) for x in (left, right, over_neurons)),
        tuple(x.letter for x in (left, right, over_neurons, root, goal)),
        _modes,
    ),
    positive(tau),
)
decoupled = {
    W1: over_neurons @ root @ right.T,
    W2: left @ root @ over_neurons.T,
    sigma_yx: left @ goal @ right.T,
}


@result(
    ledger=("braun2022.decoupled-assumption",),
    uses=("prior_knowledge.gradient_flow", "prior_knowledge.balanced_blocks"),
    hypotheses=(added(ZERO_BALANCE, "shared singular vectors", "r and St commute"),),
)
def shared_singular_vectors() -> Existence:
    """A decoupled start, U = Ũ and V = Ṽ, of zero-balanced weights: these stay and every mode moves on its own.

    r and S̃ are diagonal, so that r(S̃ - r²) is, and s = r² obeys τṡ = 2s(s̃ - s).
    """
    speed = root @ (goal - root @ root)
    first, second = (substitute(whitened_flow[x], decoupled) for x in (W1, W2))
    weights, r_dot = (decoupled[W1], decoupled[W2]), speed / tau
    return Existence(
        r"$W_1=R r\tilde V^\top$, $W_2=\tilde U r R^\top$ with $\tau\dot r=r(\tilde S-r^2)$, "
        r"$\tau\dot s=2s(\tilde s-s)$",
        (
            MatrixIdentity(
                weights[0] @ weights[0].T, weights[1].T @ weights[1], SHAPES, MODES, name="W_1W_1^\\top"
            ),
            MatrixIdentity(first, over_neurons @ speed @ right.T / tau, SHAPES, MODES, name=r"\dot W_1"),
            MatrixIdentity(second, left @ speed.T @ over_neurons.T / tau, SHAPES, MODES, name=r"\dot W_2"),
            MatrixDynamics(
                root @ root,
                (speed @ root + root @ speed) / tau,
                {root: r_dot},
                SHAPES,
                Rules(commuting(root, goal), positive(tau)),
                name="S",
            ),
        ),
    )


x11, x12, x21, x22 = sp.symbols("x11 x12 x21 x22", real=True)
p1, p2 = sp.symbols("p1 p2", real=True)
FIRST, START = sp.Matrix([[x11, x12], [x21, x22]]), sp.diag(p1, p2)
SECOND = START * FIRST.inv()
"""W₁ is invertible, and W₂ such that W₂W₁ = diag(p₁, p₂), which has the singular vectors of Σ^yx = diag(s₁, s₂)."""

cos, sin = (1 - u**2) / (1 + u**2), 2 * u / (1 + u**2)
POSITIVE = {p1: 1, p2: 1, s1: 1, s2: 1, tau: 1}
BALANCED = Cell(
    "zero-balanced",
    {r1: 1, r2: 1, s1: 1, s2: 1, tau: 1},
    {p1: r1**2, p2: r2**2, x11: cos * r1, x21: sin * r1, x12: -sin * r2, x22: cos * r2},
    "W₁ = Rr with a rotation R, by the tangent u of half its angle, and then W₂ = rRᵀ",
)
shared = Domain(
    (x11, x12, x21, x22, p1, p2, s1, s2, u, tau),
    (),
    (Cell("any W₁", POSITIVE), BALANCED),
    conditions=(sp.Ne(x11 * x22, x12 * x21),),
    words="W₂W₁(0) and Σ^yx diagonal, d = h = 2",
)


@printed(
    "braun2022.decoupled-assumption",
    quote=r"U=\tilde U, V=\tilde V (no cross-coupling, modes evolve independently)",
    domain=shared,
    hypothesis=ZERO_BALANCE,
    under=shared.with_cells(BALANCED),
    hypotheses=(
        meaning("d = h = 2 with an invertible W₁, which has a W₂ such that W₂W₁ is diagonal", x11, x12),
    ),
)
def printed_decoupled_start() -> Identity:
    """As printed, for all weights whose product has the singular vectors of the task: it stays diagonal."""
    gap = sp.diag(s1, s2) - START
    speed = (SECOND * SECOND.T * gap + gap * FIRST.T * FIRST) / tau
    return Identity((speed[0, 1], speed[1, 0]), (0 * tau, 0 * tau), name=r"\tfrac{d}{dt}(W_2W_1)_{i\ne j}")
