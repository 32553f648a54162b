r"""What QQᵀ says of the network's representations: similarity matrices and the tangent kernel.

The hidden activity W₁X has the Gram matrix XᵀW₁ᵀW₁X. The similarity of the outputs uses the smallest hidden activity
that would make the targets, W₂⁺Y: its Gram matrix is Yᵀ(W₂W₂ᵀ)⁺Y. The two are the same if the network makes the
targets, Y = W₂W₁X, and the hidden activity has no part that W₂ does not see; zero balance sees to the second, as
W₁W₁ᵀ = W₂ᵀW₂. Before that Yᵀ(W₂W₂ᵀ)⁺Y is not the similarity of anything in the network.

The tangent kernel as printed takes the outputs one after the other, every one on all data: the order of vec(Ŷᵀ), or of
Ŷ flattened by rows as NumPy and torch do. For vec(Ŷ), columns stacked, the factors change places (braun2022, Sec. 2,
eqs. 8 and 9, and Sec. 4).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.network.model import output
from derivations.prior_knowledge.riccati.singular_form import BASIS, U_task, V_task, s_inv, s_task
from derivations.prior_knowledge.riccati.singular_form import SHAPES as BASIS_SHAPES
from derivations.prior_knowledge.riccati.task_basis import WITHOUT_B
from derivations.prior_knowledge.symbols import SIZES, W1, W2, P, X, Y, h, i, o
from symdyn.calculus.matrix import (
    Declaration,
    Index,
    Rules,
    basis,
    eye,
    kron,
    matrix,
    orthonormal_columns,
    random_rational,
    rule,
    sum_over,
    vec,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

hidden = W1 @ X
n = Index("n", P)
W2_plus = matrix("W2p", h, o, "W_2^{+}")


def _pseudoinverse(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Output weights of any rank and their pseudoinverse."""
    outputs, width = sizes[o], sizes[h]
    rank = generator.randint(1, min(outputs, width))
    left, right = (orthonormal_columns(generator, size, rank) for size in (outputs, width))
    values = sp.diag(*(random_rational(generator) for _ in range(rank)))
    return {W2.letter: left * values * right.T, W2_plus.letter: right * values.inv() * left.T}


PENROSE = Rules(
    Declaration(
        "W₂⁺ is the pseudoinverse of W₂",
        (
            rule(W2 @ W2_plus @ W2, W2),
            rule(W2_plus @ W2 @ W2_plus, W2_plus),
            rule(W2_plus.T @ W2.T, W2 @ W2_plus),
            rule(W2.T @ W2_plus.T, W2_plus @ W2),
        ),
        (W2.letter, W2_plus.letter),
        _pseudoinverse,
    )
)
"""The four equations of Penrose."""


def _balanced_pseudoinverse(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Zero-balanced weights of a rank that all three layers have room for, and the pseudoinverse of W₂."""
    rank = generator.randint(1, min(sizes[i], sizes[h], sizes[o]))
    inputs, hidden_, outputs = (orthonormal_columns(generator, sizes[size], rank) for size in (i, h, o))
    values = sp.diag(*(random_rational(generator) for _ in range(rank)))
    return {
        W1.letter: hidden_ * values * inputs.T,
        W2.letter: outputs * values * hidden_.T,
        W2_plus.letter: hidden_ * values.inv() * outputs.T,
    }


LEARNED = (
    "the task is learned, Y = W₂W₁X; at other times it is the similarity of W₂⁺Y, which no neuron has. "
    "(Zero balance, Assumption 2.3, is needed too: hidden activity that W₂ does not see would be missing.)"
)
BALANCED_PENROSE = Rules(
    Declaration(
        "zero-balanced weights and the pseudoinverse of W₂",
        (rule(W1 @ W1.T, W2.T @ W2), *PENROSE.declarations[0].rules),
        (W1.letter, W2.letter, W2_plus.letter),
        _balanced_pseudoinverse,
    )
)
PENROSE_SIZES = SIZES[:2]

output_rsm = Y.T @ W2_plus.T @ W2_plus @ Y


@result(ledger=("braun2022.rsm-input",), uses=("prior_knowledge.blocks",))
def input_similarity() -> Conjunction:
    """The similarity of the hidden activity, XᵀW₁ᵀW₁X: inner products of φ(x) = W₁x between all data."""
    similar = X.T @ W1.T @ W1 @ X
    return Conjunction(
        MatrixIdentity(hidden.T @ hidden, similar, SIZES, name=r"\phi(X)^\top\phi(X)"),
        MatrixIdentity(sum_over(n, W1 @ X @ basis(n) @ basis(n).T), hidden, SIZES, name=r"\phi(X)"),
        compiles=similar,
    )


@result(
    ledger=("braun2022.rsm-output",),
    uses=("prior_knowledge.input_similarity",),
    hypotheses=(
        meaning("W₂⁺ is the pseudoinverse of W₂", "W₂⁺ is the pseudoinverse of W₂"),
        added(LEARNED, "zero-balanced weights and the pseudoinverse of W₂"),
    ),
)
def output_similarity() -> Existence:
    """The similarity of the targets, Yᵀ(W₂W₂ᵀ)⁺Y, is that of W₂⁺Y; and of the hidden activity once the task is learned.

    Learned means Y = W₂W₁X. Then W₂⁺Y is the part of the hidden activity that W₂ sees, all of it for zero-balanced
    weights, whose W₂⁺W₂ leaves W₁ as it is. (W₂W₂ᵀ)⁺ = (W₂⁺)ᵀW₂⁺ by the four equations of Penrose.
    """
    square, inverse = W2 @ W2.T, W2_plus.T @ W2_plus
    missed = W1 - W2_plus @ W2 @ W1
    return Existence(
        r"$Y^\top(W_2W_2^\top)^+Y=(W_2^+Y)^\top W_2^+Y$, which is $X^\top W_1^\top W_1X$ for $Y=W_2W_1X$ and "
        r"$W_1W_1^\top=W_2^\top W_2$",
        (
            MatrixIdentity(square @ inverse @ square, square, PENROSE_SIZES, PENROSE),
            MatrixIdentity(
                inverse @ square @ inverse, inverse, PENROSE_SIZES, PENROSE, name="(W_2W_2^\\top)^+"
            ),
            MatrixIdentity(square @ inverse, W2 @ W2_plus, PENROSE_SIZES, PENROSE),
            MatrixIdentity((W2_plus @ Y).T @ W2_plus @ Y, output_rsm, PENROSE_SIZES, PENROSE),
            MatrixIdentity(missed @ missed.T, zero(h, h), PENROSE_SIZES, BALANCED_PENROSE),
        ),
    )


w1, w2, x, y = sp.symbols("w1 w2 x y", real=True)
balanced_signs = (("w₁ = w₂", 1), ("w₁ = -w₂", -1))
at_all_times = Domain(
    (w1, w2, x, y),
    cells=(
        Cell("y is twice the output", {}, {w1: sp.S.One, w2: sp.S.One, x: sp.S.One, y: sp.Integer(2)}),
        *(Cell(name, {w2: 1}, {w1: sign * w2}, "zero balance") for name, sign in balanced_signs),
    ),
    words="zero-balanced weights, one input, hidden neuron, output and datum",
)
learned = at_all_times.with_cells(
    *(
        Cell(f"{name}, learned", {w2: 1}, {w1: sign * w2, y: sign * w2**2 * x}, "y = w₂w₁x")
        for name, sign in balanced_signs
    )
)


@printed(
    "braun2022.rsm-output",
    quote="presented as a kernel matrix of hidden representations",
    domain=at_all_times,
    hypothesis=LEARNED,
    under=learned,
    hypotheses=(stated("Sec. 2, Assumption 2.3", "zero-balanced weights, w₁ = ±w₂, of one neuron", w1, w2),),
)
def printed_output_similarity() -> Identity:
    """As printed, of a single zero-balanced neuron: y²/w₂² is the similarity (w₁x)² of the hidden activity."""
    return Identity(y**2 / w2**2, (w1 * x) ** 2)


@result(ledger=("braun2022.ntk",), uses=("wide_linear.tangent_kernel",))
def tangent_kernel() -> Conjunction:
    """The tangent kernel I ⊗ XᵀW₁ᵀW₁X + W₂W₂ᵀ ⊗ XᵀX, in the order of vec(Ŷᵀ): outputs first, data within.

    That is Ŷ flattened by rows. In the order of vec(Ŷ), data first, the factors change places.
    """
    d1, d2 = matrix("d1", h, i, "dW_1"), matrix("d2", o, h, "dW_2")
    of_W1, of_W2 = kron(W2, X.T), kron(eye(o), hidden.T)
    similar = X.T @ W1.T @ W1 @ X
    kernel = kron(eye(o), similar) + kron(W2 @ W2.T, X.T @ X)
    other_W1, other_W2 = kron(X.T, W2), kron(hidden.T, eye(o))
    other = kron(similar, eye(o)) + kron(X.T @ X, W2 @ W2.T)
    directions = {W1: d1, W2: d2}
    rows, columns = of_W1 @ vec(d1.T) + of_W2 @ vec(d2.T), other_W1 @ vec(d1) + other_W2 @ vec(d2)
    return Conjunction(
        MatrixDynamics(vec(output.T), rows, directions, SIZES, name=r"\mathrm{vec}(\hat Y^\top)"),
        MatrixIdentity(of_W1 @ of_W1.T + of_W2 @ of_W2.T, kernel, SIZES, name=r"\mathrm{NTK}"),
        MatrixDynamics(vec(output), columns, directions, SIZES, name=r"\mathrm{vec}(\hat Y)"),
        MatrixIdentity(other_W1 @ other_W1.T + other_W2 @ other_W2.T, other, SIZES),
        compiles=kernel,
    )


@result(
    ledger=("braun2022.task-rsm-definition",),
    uses=("prior_knowledge.steady_state",),
    hypotheses=(WITHOUT_B,),
)
def task_similarity() -> Existence:
    """The similarity matrices of the task, ṼS̃Ṽᵀ and ŨS̃Ũᵀ: the roots of ΣᵀΣ and ΣΣᵀ, and what the weights learn.

    They compare inputs and outputs of the network, coordinate by coordinate. Between data, eq. 8 has in the end
    XᵀṼS̃ṼᵀX for both, as Y = ΣX then makes Yᵀ(ŨS̃Ũᵀ)⁺Y the same.
    """
    inputs, outputs = V_task @ s_task @ V_task.T, U_task @ s_task @ U_task.T
    task = U_task @ s_task @ V_task.T
    inverse = U_task @ s_inv @ U_task.T
    return Existence(
        r"$\tilde V\tilde S\tilde V^\top=(\Sigma^\top\Sigma)^{1/2}$ and "
        r"$\tilde U\tilde S\tilde U^\top=(\Sigma\Sigma^\top)^{1/2}$",
        (
            MatrixIdentity(
                inputs @ inputs, task.T @ task, BASIS_SHAPES, BASIS, name=r"(\tilde V\tilde S\tilde V^\top)^2"
            ),
            MatrixIdentity(outputs @ outputs, task @ task.T, BASIS_SHAPES, BASIS),
            MatrixIdentity(task.T @ inverse @ task, inputs, BASIS_SHAPES, BASIS),
        ),
    )
