r"""The decoupled start: singular vectors shared with the task stay, and every mode moves on its own.

Zero-balanced weights with W₂W₁ = ŨS(0)Ṽᵀ are W₁ = RrṼᵀ, W₂ = ŨrRᵀ with r² = S and orthonormal columns R over hidden
neurons. The gradients have the same form, with ṙ = r(S̃ - S)/τ on the diagonal, so that Ũ, Ṽ and R stand still and
τṡ_k = 2s_k(s̃_k - s_k). Zero balance matters here: other weights of the same product W₂W₁ couple the modes by W₁ᵀW₁ and
W₂W₂ᵀ, which then need not be diagonal in Ũ and Ṽ (braun2022, Sec. 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.prior_knowledge.network import whitened_flow
from derivations.prior_knowledge.symbols import W1, W2, h, i, m, o, sigma_yx, tau
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    eye,
    matrix,
    orthonormal_columns,
    random_rational,
    rule,
    substitute,
)
from symdyn.matrix_statement import MatrixDynamics, MatrixIdentity
from symdyn.result import result
from symdyn.statement import Existence

SHAPES = ({i: 2, h: 3, o: 2, m: 2}, {i: 3, h: 2, o: 2, m: 2}, {i: 1, h: 2, o: 3, m: 1})
left, right = matrix("Ut", o, m, r"\tilde U"), matrix("Vt", i, m, r"\tilde V")
over_neurons = matrix("R", h, m)
root = matrix("r", m, m, symmetric=True)
goal = matrix("St", m, m, r"\tilde S", symmetric=True)


def _modes(generator, sizes):
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
    )
)
decoupled = {
    W1: over_neurons @ root @ right.T,
    W2: left @ root @ over_neurons.T,
    sigma_yx: left @ goal @ right.T,
}


@result(
    ledger=("braun2022.decoupled-assumption",),
    uses=("prior_knowledge.gradient_flow", "prior_knowledge.balanced_blocks"),
)
def shared_singular_vectors():
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
            MatrixDynamics(root @ root, (speed @ root + root @ speed) / tau, {root: r_dot}, SHAPES, name="S"),
        ),
    )
