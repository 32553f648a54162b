r"""The layers stacked in one matrix Q = [W₁ᵀ; W₂]: the Riccati equation of QQᵀ, and its solution from every start.

With J_i and J_o for the coordinates of inputs and outputs, Q = J_iW₁ᵀ + J_oW₂ and F = J_iΣᵀJ_oᵀ + J_oΣJ_iᵀ, with
Σ = Σ^yx. If W₂ᵀW₂ - W₁W₁ᵀ = λI then QᵀQ = 2W₁W₁ᵀ + λI = 2W₂ᵀW₂ - λI, and for whitened inputs

    τQ̇ = F_λ Q - ½QQᵀQ,        F_λ = F + λ/2 (J_oJ_oᵀ - J_iJ_iᵀ),

so that QQᵀ obeys a Riccati equation; zero-balanced weights have λ = 0. It is solved by Y M⁻¹Yᵀ with τẎ = F_λY and
τṀ = YᵀY, Y(0) = Q(0), M(0) = I: M is the identity plus an integral of YᵀY, hence invertible for t ≥ 0. This needs no
condition on shapes or ranks. Where F has an inverse, the integral is ½Q(0)ᵀ(e^{Ft/τ}F⁻¹e^{Ft/τ} - F⁻¹)Q(0), and this
is Fukumizu's form (braun2022, Sec. 2, eqs. 4-6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.network.model import whitened_flow
from derivations.prior_knowledge.symbols import TIMED, W1, W2, h, i, o, sigma_yx, tau
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
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Existence, typeset
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

n = sp.Symbol("n", integer=True, positive=True)
lam = sp.Symbol("lambda", real=True)
Ji, Jo = matrix("Ji", n, i, "J_i"), matrix("Jo", n, o, "J_o")

SHAPES = (
    {i: 2, h: 3, o: 2, n: 4},
    {i: 3, h: 2, o: 1, n: 4},
    {i: 1, h: 2, o: 2, n: 3},
    {i: 2, h: 1, o: 2, n: 4},
)
"""Also shapes with N_i ≠ N_o, and a bottleneck."""
FEW_SHAPES = SHAPES[:2]


def _coordinates(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """The coordinates of inputs and outputs: the columns of the identity, shared out."""
    basis = sp.eye(sizes[n])
    return {Ji.letter: basis[:, : sizes[i]], Jo.letter: basis[:, sizes[i] :]}


BLOCKS = Declaration(
    "coordinates of inputs and outputs",
    (
        rule(Ji.T @ Ji, eye(i)),
        rule(Jo.T @ Jo, eye(o)),
        rule(Ji.T @ Jo, zero(i, o)),
        rule(Jo @ Jo.T, eye(n) - Ji @ Ji.T),
    ),
    (Ji.letter, Jo.letter),
    _coordinates,
)

Q = Ji @ W1.T + Jo @ W2
F = Ji @ sigma_yx.T @ Jo.T + Jo @ sigma_yx @ Ji.T
whole, plain_task = matrix("Q", n, h), matrix("F", n, n, symmetric=True)
task = matrix("F", n, n, "F_\\lambda", symmetric=True)
ANY, ZERO = Rules(BLOCKS), Rules(BLOCKS, balanced(W1, W2), positive(tau))


def with_balance(F: Expression) -> Expression:
    """F_λ."""
    return F + lam / 2 * (Jo @ Jo.T - Ji @ Ji.T)


def velocity(Q: Expression, F: Expression) -> Expression:
    """Of Q, in the task F."""
    return (F @ Q - Q @ Q.T @ Q / 2) / tau


def riccati(square: Expression, F: Expression) -> Expression:
    """The velocity of QQᵀ."""
    return (F @ square + square @ F - square @ square) / tau


def _isotropic_weights(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Weights with W₂ᵀW₂ - W₁W₁ᵀ = λI for a λ of either sign, where the shapes allow it, or of zero."""
    hidden, inputs, outputs = sizes[h], sizes[i], sizes[o]
    sign = generator.choice([0] + [1] * (hidden <= outputs) + [-1] * (hidden <= inputs))
    if not sign:
        return _ZERO_DRAW(generator, sizes) | {lam: sp.S.Zero}
    small = min(hidden, inputs, outputs)
    large_size, small_size = (outputs, inputs) if sign > 0 else (inputs, outputs)
    vertex = abs(random_rational(generator))
    slopes = [random_rational(generator) / 7 if k < small else sp.S.Zero for k in range(hidden)]
    large = [vertex * (1 + s**2) / (1 - s**2) for s in slopes]
    little = [2 * vertex * s / (1 - s**2) for s in slopes]
    basis = cayley(generator, hidden)
    first = basis * sp.diag(*large) * orthonormal_columns(generator, large_size, hidden).T
    second = basis[:, :small] * sp.diag(*little[:small]) * orthonormal_columns(generator, small_size, small).T
    layers = (second, first.T) if sign > 0 else (first, second.T)
    return {W1.letter: layers[0], W2.letter: layers[1], lam: sign * vertex**2}


_ZERO_DRAW = balanced(W1, W2).sampler
BALANCE = rule(W2.T @ W2, W1 @ W1.T + lam * eye(h))
ISOTROPIC = Rules(
    BLOCKS,
    Declaration("W₂ᵀW₂ - W₁W₁ᵀ = λI", (BALANCE,), (W1.letter, W2.letter), _isotropic_weights),
    positive(tau),
)


@result(ledger=("braun2022.q-and-f",))
def stacked_layers() -> Conjunction:
    """The layers in one matrix, Q = [W₁ᵀ; W₂], and the task in F: the rows of both are those of inputs and outputs."""
    return Conjunction(
        MatrixIdentity(Ji.T @ Q, W1.T, SHAPES, ANY),
        MatrixIdentity(Jo.T @ Q, W2, SHAPES, ANY),
        MatrixIdentity(Ji.T @ F @ Jo, sigma_yx.T, SHAPES, ANY),
        MatrixIdentity(Jo.T @ F @ Ji, sigma_yx, SHAPES, ANY),
        MatrixIdentity(Ji.T @ F @ Ji, zero(i, i), SHAPES, ANY),
        MatrixIdentity(Jo.T @ F @ Jo, zero(o, o), SHAPES, ANY),
    )


@result(
    ledger=("braun2022.qqt-blocks", "braun2022.network-function"), uses=("prior_knowledge.stacked_layers",)
)
def blocks() -> Conjunction:
    """The blocks of QQᵀ: correlations of the weights on the diagonal, the network function W₂W₁ off it.

    W₂W₁ makes the outputs W₂W₁X of the network from the inputs X.
    """
    square = Q @ Q.T
    return Conjunction(
        MatrixIdentity(Ji.T @ square @ Ji, W1.T @ W1, SHAPES, ANY),
        MatrixIdentity(Ji.T @ square @ Jo, W1.T @ W2.T, SHAPES, ANY),
        MatrixIdentity(Jo.T @ square @ Ji, W2 @ W1, SHAPES, ANY),
        MatrixIdentity(Jo.T @ square @ Jo, W2 @ W2.T, SHAPES, ANY),
    )


@result(
    ledger=("braun2022.weight-riccati",),
    uses=(
        "prior_knowledge.gradient_flow",
        "prior_knowledge.conserved_balance",
        "prior_knowledge.stacked_layers",
    ),
    hypotheses=(
        stated(
            "Sec. 2, Assumption 2.3",
            "zero-balanced weights, which is λ = 0 of W₂ᵀW₂ - W₁W₁ᵀ = λI",
            "W₂ᵀW₂ - W₁W₁ᵀ = λI",
        ),
    ),
)
def weight_riccati() -> Conjunction:
    """The equation of Q and the Riccati equation of QQᵀ, for zero-balanced weights and all others with balance λI.

    For any shapes, a bottleneck too.
    """
    of_layers = MatrixDynamics(
        Q, velocity(Q, with_balance(F)), whitened_flow, FEW_SHAPES, ISOTROPIC, name="Q"
    )
    square = whole @ whole.T
    moving = {whole: velocity(whole, task)}
    of_square = MatrixDynamics(square, riccati(square, task), moving, FEW_SHAPES, TIMED, name=r"QQ^\top")
    return Conjunction(of_layers, of_square)


@printed(
    "braun2022.weight-riccati",
    quote=r"\tau\dot Q = FQ-\tfrac12 QQ^TQ",
    hypotheses=(stated("Sec. 2, Assumption 2.3", "zero-balanced weights", "W1 and W2 are balanced"),),
)
def printed_weight_riccati() -> Existence:
    """As printed, for zero-balanced weights."""
    square, letters = Q @ Q.T, whole @ whole.T
    velocities = typeset(velocity(whole, plain_task)), typeset(riccati(letters, plain_task))
    return Existence(
        "for zero-balanced weights",
        (
            MatrixDynamics(Q, velocity(Q, F), whitened_flow, SHAPES, ZERO, name="Q"),
            MatrixDynamics(square, riccati(square, F), whitened_flow, SHAPES, ZERO, name=r"QQ^\top"),
        ),
        formula=rf"\dot Q = {velocities[0]}, \quad \frac{{d}}{{dt}}QQ^\top = {velocities[1]}",
    )
