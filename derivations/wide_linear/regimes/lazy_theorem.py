r"""Large balances of one sign are lazy at all times if the layer that is large can solve the task as it stands.

Let all |δ_k| → ∞, each at a rate of its own, with the β_k(0) fixed, δ_k < 0 to begin with, and Λ = diag √|δ_k|. Then
W = ΛV and A = Λ⁻¹B with V and B of order 1, β = VᵀB, and

    Ḃ = -η_a Λ² V G,        V̇ = -η_w Λ⁻² B Gᵀ,        M = η_a I ⊗ VᵀΛ²V + η_w BᵀΛ⁻²B ⊗ I.

Let D be the least of the |δ_k|. In units of time 1/D every row of B moves at a rate of at least one, and every row of V
at a rate of at most ε, of order 1/D². With V at rest, B solves a convex least-squares problem, whose loss decays
exponentially to a minimum, at a B_∞ that is bounded whatever the ratios of the δ_k: solutions of least squares with
positive weights are. It is the least loss of all if β_* = V(0)ᵀB_* for some B_*.
While this lasts V moves by O(ε), which leaves e, the loss above its minimum, of order ε². What of the residual XVᵀB
- XV(0)ᵀB_∞ is not in the range of XV(0)ᵀ is X(V - V(0))ᵀB: it has its rows in those of B, so that V sees it. In
general position e is therefore bounded by a multiple C² of its squared gradient near the minimum, and 2C√e
decreases faster than V moves: V goes no further than O(ε), for all t. So M and the kernel move by a part O(1/D²) of
their sizes, and the kernel distance is O(1/D⁴).

For δ_k > 0 the layers change roles, and β_* = WᵀA(0) is asked for. Then the rows of A stay in the span they start
in, without any condition, because those of G do: G has the rows of β and of XᵀXβ_* (kunin2024, Sec. 4 and App.
B.1.5, Theorem 6).

With h ≥ c neurons in general position A(0) has rank c and every β_* qualifies; with h ≥ d, W(0) has rank d.
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import M, flow, gradient
from derivations.wide_linear.symbols import (
    A,
    B,
    B_star,
    D,
    G,
    Lambda,
    V,
    W,
    X,
    Y,
    beta_star,
    c,
    constant,
    d,
    eta_a,
    eta_w,
    f,
    gap,
    h,
    mobility,
    n,
)
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    eye,
    inverse_of,
    kron,
    matrix,
    orthonormal_columns,
    positive,
    random_matrix,
    rule,
    substitute,
    trace,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Existence, Inequality
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity, MatrixStatement

SHAPES = ({h: 2, d: 3, c: 2, n: 4}, {h: 1, d: 2, c: 3, n: 2})
LARGE = Rules(positive(D, eta_a, eta_w))
RATES = Rules(positive(eta_a, eta_w))
root = sp.sqrt(D)
rescaled = {W: root * V, A: B / root}
"""The weights with δ_k < 0 of the size D; for δ_k > 0 with A = √D B and W = V/√D."""
mirrored = {W: V / root, A: root * B}


def rescaled_flow() -> tuple[MatrixIdentity, ...]:
    """The flow of the layers rescaled by one size D, and the preconditioner, for both signs."""
    small, large = flow[A], flow[W]
    units = ((rescaled, root, 1 / root), (mirrored, 1 / root, root))
    (down, of_A, of_W), (up, of_A_up, of_W_up) = units
    preconditioner = eta_a * kron(eye(c), V.T @ V) + eta_w / D**2 * kron(B.T @ B, eye(d))
    mirrored_preconditioner = eta_w * kron(B.T @ B, eye(d)) + eta_a / D**2 * kron(eye(c), V.T @ V)
    return (
        MatrixIdentity(of_A * substitute(small, down), -eta_a * D * V @ G, SHAPES, LARGE, name=r"\dot B"),
        MatrixIdentity(of_W * substitute(large, down), -eta_w / D * B @ G.T, SHAPES, LARGE, name=r"\dot V"),
        MatrixIdentity(substitute(M, down) / D, preconditioner, SHAPES, LARGE, name="M/D"),
        MatrixIdentity(of_W_up * substitute(large, up), -eta_w * D * B @ G.T, SHAPES, LARGE, name=r"\dot V"),
        MatrixIdentity(of_A_up * substitute(small, up), -eta_a / D * V @ G, SHAPES, LARGE, name=r"\dot B"),
        MatrixIdentity(substitute(M, up) / D, mirrored_preconditioner, SHAPES, LARGE, name="M/D"),
    )


def flow_in_units_of_each_balance() -> tuple[MatrixIdentity, ...]:
    """The flow of W = ΛV and A = Λ⁻¹B, and the preconditioner, whatever the balances are; and with A = ΛB, W = Λ⁻¹V."""
    large, small = Lambda @ Lambda, Lambda.inverse() @ Lambda.inverse()
    down = {W: Lambda @ V, A: Lambda.inverse() @ B}
    up = {W: Lambda.inverse() @ V, A: Lambda @ B}
    preconditioner = eta_a * kron(eye(c), V.T @ large @ V) + eta_w * kron(B.T @ small @ B, eye(d))
    mirrored_preconditioner = eta_w * kron(B.T @ large @ B, eye(d)) + eta_a * kron(eye(c), V.T @ small @ V)
    moves = (
        (Lambda @ substitute(flow[A], down), -eta_a * large @ V @ G, r"\dot B"),
        (Lambda.inverse() @ substitute(flow[W], down), -eta_w * small @ B @ G.T, r"\dot V"),
        (substitute(M, down), preconditioner, "M"),
        (Lambda @ substitute(flow[W], up), -eta_w * large @ B @ G.T, r"\dot V"),
        (Lambda.inverse() @ substitute(flow[A], up), -eta_a * small @ V @ G, r"\dot B"),
        (substitute(M, up), mirrored_preconditioner, "M"),
    )
    return tuple(MatrixIdentity(lhs, rhs, SHAPES, RATES, name=name) for lhs, rhs, name in moves)


def frozen_problem() -> tuple[MatrixStatement, ...]:
    """With V at rest the loss falls at the rate η_a‖ΛVG‖², and where VG = 0 it is as small as that of β_* = VᵀB_*."""
    fit = X @ V.T @ B - Y
    pull = X.T @ fit
    loss = trace(fit.T @ fit) / 2
    error = V.T @ (B - B_star)
    curved = X.T @ X @ error
    large = Lambda @ Lambda
    return (
        MatrixDynamics(
            loss,
            -eta_a * trace(pull.T @ V.T @ large @ V @ pull),
            {B: -eta_a * large @ V @ pull},
            SHAPES,
            name=r"\mathcal L",
        ),
        MatrixIdentity(
            trace((B - B_star).T @ V @ curved), trace(error.T @ X.T @ X @ error), SHAPES, name=r"\|XE\|^2"
        ),
    )


steep = Domain(
    (gap, f, constant, mobility),
    cells=(
        Cell("on the way", {gap: 1, f: 1, constant: 1, mobility: 1}),
        Cell("at the bound", {f: 1, constant: 1, mobility: 1}, {gap: sp.S.Zero}),
    ),
    words="e > 0",
)


def bounded_length() -> Inequality:
    """With g² = Σ (rate) |∂e|², ė = -g² and g ≥ √ε √e/C: then C g²/√e ≥ √ε g, which is at least the speed of V.

    That has the square Σ (rate)² |∂e|² over the rows of V, of which no rate is larger than ε.

    The left side is the rate at which 2C√e decreases. `gap` is C g - √ε √e, and f is √e.
    """
    slope = (gap + sp.sqrt(mobility) * f) / constant
    return Inequality(constant * slope**2 / f, ">=", sp.sqrt(mobility) * slope, on=steep)


def _draw_frozen(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Data, input weights V_0, and the orthogonal projector on what they can fit, the range of XV_0ᵀ."""
    drawn = {letter.letter: random_matrix(generator, letter.letter, sizes) for letter in (X, V_0)}
    seen = drawn[X.letter] * drawn[V_0.letter].T
    columns = seen.columnspace()
    basis = sp.Matrix.hstack(*columns)
    return drawn | {projector_.letter: basis * (basis.T * basis).inv() * basis.T}


def _draw_rows(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Weights and targets whose rows lie in one space, and the projector on it."""
    outputs = sizes[c]
    basis = orthonormal_columns(generator, outputs, (outputs + 1) // 2)
    free = {letter: random_matrix(generator, letter.letter, sizes) * basis * basis.T for letter in (A, Y)}
    return {letter.letter: value for letter, value in free.items()} | {on_rows.letter: basis * basis.T}


V_0 = matrix("V_0", h, d)
projector_ = matrix("Pi", n, n, r"\Pi", symmetric=True)
on_rows = matrix("P", c, c, symmetric=True)
FROZEN = Rules(
    Declaration(
        "Π projects on the range of XV_0ᵀ",
        (rule(projector_ @ X @ V_0.T, X @ V_0.T),),
        (X.letter, V_0.letter, projector_.letter),
        _draw_frozen,
    )
)
KEPT = Rules(
    Declaration(
        "the rows of A and Y lie in the range of P",
        (rule(A @ on_rows, A), rule(Y @ on_rows, Y)),
        (A.letter, Y.letter, on_rows.letter),
        _draw_rows,
    )
)


def what_the_large_layer_sees() -> tuple[MatrixIdentity, ...]:
    """Beyond the range of XV_0ᵀ the residual is X(V - V_0)ᵀB; and rows of A in a space with those of β_* stay in it."""
    residual = X @ V.T @ B - X @ V_0.T @ B_star
    beyond = eye(n) - projector_
    return (
        MatrixIdentity(beyond @ residual, beyond @ X @ (V - V_0).T @ B, SHAPES, FROZEN, name=r"(I-\Pi)R"),
        MatrixIdentity(W @ gradient @ on_rows, W @ gradient, SHAPES, KEPT, name=r"\dot AP"),
    )


@result(
    ledger=("kunin2024.thm6-lazy",),
    uses=(
        "wide_linear.large_balance_limit",
        "wide_linear.spans_of_the_neurons",
        "wide_linear.conserved_balance",
    ),
    hypotheses=(
        stated("App. B.1.5, Theorem 6", "δ_k → ±∞ for all k, with the β_k(0) held fixed"),
        stated(
            "App. B.1.5, Theorem 6", "some β_* has its rows, or columns, in the span of those of the β_k(0)"
        ),
    ),
)
def lazy_regime() -> Existence:
    """Large balances are lazy for all t where the large layer, as it starts, can solve the task.

    For δ_k → ∞ some β_* has its rows in the span of the a_k(0), for δ_k → -∞ its columns in the span of the w_k(0);
    the limit is taken with the β_k(0) held fixed, and the δ_k may grow at different rates.
    """
    return Existence(
        r"the kernel moves by a part of its size that tends to zero with $1/|\delta_k|$, uniformly for $t\ge0$",
        (*flow_in_units_of_each_balance(), *frozen_problem(), *what_the_large_layer_sees(), bounded_length()),
    )


def every_task() -> tuple[MatrixIdentity, ...]:
    """β_* = WᵀA with A of rank c, and with W of rank d: the other layer is given by the inverse of a Gram matrix."""
    of_A, inverse_A = inverse_of("R", A.T @ A, "(A^\\top A)^{-1}")
    of_W, inverse_W = inverse_of("Q", W.T @ W, "(W^\\top W)^{-1}")
    outputs, inputs = ({h: 2, d: 3, c: 2}, {h: 3, d: 2, c: 1}), ({h: 2, d: 2, c: 3}, {h: 3, d: 1, c: 2})
    return (
        MatrixIdentity((A @ of_A @ beta_star.T).T @ A, beta_star, outputs, Rules(inverse_A)),
        MatrixIdentity(W.T @ (W @ of_W @ beta_star), beta_star, inputs, Rules(inverse_W)),
    )


GENERAL_POSITION = stated(
    "Sec. 4 and App. B.1.5",
    "independent initialisations for all β_k: A(0) has rank c, W(0) rank d, with probability one",
    "R is an inverse",
    "Q is an inverse",
)


@result(
    ledger=("kunin2024.wide-regime-narrow-expand",),
    uses=("wide_linear.lazy_regime",),
    hypotheses=(GENERAL_POSITION,),
)
def narrowing_and_expanding() -> Existence:
    """In general position, networks that narrow are lazy for δ_k ≫ 0, and networks that expand for δ_k ≪ 0.

    For d > c, h ≥ c the rows of A(0) span all outputs; for d < c, h ≥ d those of W(0) span all inputs.
    """
    return Existence(
        r"for $\min(d,c)\le h<\max(d,c)$ and $\beta_k$ drawn independently, in general position: lazy for $d>c$, "
        r"$\delta_k\gg0$ and for $d<c$, $\delta_k\ll0$",
        every_task(),
    )
