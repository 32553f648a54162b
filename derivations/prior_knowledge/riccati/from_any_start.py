r"""The solution of the Riccati equation from every start, Fukumizu's form of it, and the weights with their rotation.

Let F be symmetric, τẎ = FY, Y(0) = Q(0), and τṀ = YᵀY, M(0) = I. Then YM⁻¹Yᵀ solves the equation of QQᵀ. M is the
identity plus an integral of Gram matrices, so that it is invertible for t ≥ 0: no shape, no rank and no rank of the
product W₂W₁ matters. Where F has an inverse, which needs N_i = N_o and an invertible Σ^yx, the integral is
½Q(0)ᵀ(e^{Ft/τ}F⁻¹e^{Ft/τ} - F⁻¹)Q(0). F + λ/2 diag(-I, I), for weights with the balance λI, takes the place of F.

The weights are Q = YM^{-1/2}O with an N_h × N_h rotation that starts from O = I. With r = M^{1/2},

    Ȯ = ½(ṙr⁻¹ - r⁻¹ṙ)O,

whose generator is skew. O stays I where the ṙ commute with the r, as for one hidden neuron or a decoupled start
(braun2022, Sec. 2, eq. 5, and Sec. 3).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.riccati.stacked_layers import n
from derivations.prior_knowledge.symbols import TIMED, h, i, m, o, tau, u
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rules,
    cayley,
    eye,
    matrix,
    orthogonal,
    positive,
    random_matrix,
    random_rational,
    rule,
    substitute,
    vector,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Existence, Inequality
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity, MatrixStatement

SHAPES = ({n: 3, h: 2}, {n: 2, h: 3}, {n: 4, h: 1})

F = matrix("F", n, n, symmetric=True)
Y, M = matrix("Y", n, h), matrix("M", h, h, symmetric=True)
Q0 = matrix("Q0", n, h, "Q(0)")
grow, back = matrix("E", n, n, r"e^{Ft/\tau}", symmetric=True), matrix("Fi", n, n, "F^{-1}", symmetric=True)


def riccati(F: Expression, square: Expression) -> Expression:
    return (F @ square + square @ F - square @ square) / tau


def _exponential(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A symmetric invertible F, its inverse, and a polynomial of F in place of its exponential."""
    task = random_matrix(generator, F.letter, sizes)
    power = random_rational(generator) * task + random_rational(generator) * task * task + sp.eye(sizes[n])
    return {F.letter: task, back.letter: task.inv(), grow.letter: power}


EXPONENTIAL = Rules(
    Declaration(
        "e^{Ft/τ} commutes with F and F⁻¹",
        (
            rule(F @ grow, grow @ F),
            rule(back @ grow, grow @ back),
            rule(F @ back, eye(n)),
            rule(back @ F, eye(n)),
        ),
        (F.letter, back.letter, grow.letter),
        _exponential,
    ),
    positive(tau),
)
growth = {grow: F @ grow / tau}


@result(ledger=("braun2022.over-under-complete",), uses=("prior_knowledge.weight_riccati",))
def solution_from_any_start() -> Existence:
    """The solution of the Riccati equation from every start and for all shapes, also with a bottleneck.

    M is never singular, as vᵀMv starts from ‖v‖² and grows. Theorem 3.1 covers less: N_h ≥ min(N_i, N_o), so that
    W₂W₁ can have the full rank it needs, and a non-singular B.
    """
    v = vector("v", h)
    moving = {Y: F @ Y / tau, M: Y.T @ Y / tau}
    closed = Y @ M.inverse() @ Y.T
    image = Y @ v
    return Existence(
        r"$QQ^\top=YM^{-1}Y^\top$ with $\tau\dot Y=F_\lambda Y$, $Y(0)=Q(0)$, $\tau\dot M=Y^\top Y$, $M(0)=I$",
        (
            MatrixDynamics(closed, riccati(F, closed), moving, SHAPES, TIMED, name=r"QQ^\top"),
            MatrixDynamics((v.T @ M @ v).scalar(), (image.T @ image).scalar() / tau, moving, SHAPES, TIMED),
            MatrixIdentity(substitute(closed, {Y: Q0, M: eye(h)}), Q0 @ Q0.T, SHAPES, name=r"QQ^\top(0)"),
        ),
    )


cos, sin = (1 - u**2) / (1 + u**2), 2 * u / (1 + u**2)
side = sp.Symbol("side", real=True)
agreeing = Domain(
    (u, side),
    cells=(Cell("det W₂W₁(0) and det Σ^yx of one sign", {}, {side: sp.S.One}, "R is a rotation"),),
    words="N_i = N_o = 2 ≤ N_h, start and task of full rank, R by the tangent u of half an angle",
)


@printed(
    "braun2022.over-under-complete",
    quote="covers over- and under-complete two-layer linear networks",
    domain=agreeing.with_cells(
        *agreeing.cells,
        Cell("det W₂W₁(0) and det Σ^yx of opposite signs", {}, {side: -sp.S.One}, "R is a reflection"),
    ),
    hypothesis="B is non-singular, as Assumption 3.1 adds: for N_i = N_o it is singular for half of all zero-balanced "
    "starts of full rank, whatever N_h is. The full rank of Assumption 2.4 leaves N_h < min(N_i, N_o) out",
    under=agreeing,
    hypotheses=(meaning("the two signs of the determinant of a start", side),),
)
def printed_over_under_complete() -> Inequality:
    """As printed, of Theorem 3.1, for every N_h: B = UᵀŨ(I + R) is invertible for zero-balanced starts of full rank.

    R = ŨᵀUVᵀṼ, orthogonal with the columns (cos, sin) and (∓sin, ±cos), has the determinant ±1.
    """
    turn = sp.Matrix([[cos, -side * sin], [sin, side * cos]])
    return Inequality((sp.eye(2) + turn).det(), "!=")


def of_fukumizu() -> Expression:
    """The bracket of eq. 5."""
    return eye(h) + Q0.T @ (grow @ back @ grow - back) @ Q0 / 2


def fukumizu_facts() -> tuple[MatrixStatement, ...]:
    """How e^{Ft/τ}Q(0) and the bracket of eq. 5 move, and that the bracket starts from I."""
    bracket, Y0 = of_fukumizu(), grow @ Q0
    return (
        MatrixDynamics(Y0, F @ Y0 / tau, growth, SHAPES, EXPONENTIAL, name="Y"),
        MatrixDynamics(bracket, Y0.T @ Y0 / tau, growth, SHAPES, EXPONENTIAL, name="M"),
        MatrixIdentity(substitute(bracket, {grow: eye(n)}), eye(h), SHAPES, name="M(0)"),
    )


@result(ledger=("braun2022.fukumizu-solution",), uses=("prior_knowledge.solution_from_any_start",))
def fukumizu_form() -> Existence:
    """Fukumizu's form of the solution, for an invertible F.

    What the paper assumes enters in this way: whitened inputs and zero balance make the equation, N_i = N_o and the
    full rank of Σ^yx the inverse of F. The rank of W₂(0)W₁(0) is not used.
    """
    return Existence(
        r"$Y=e^{Ft/\tau}Q(0)$ and $M=I+\frac12Q(0)^\top(e^{Ft/\tau}F^{-1}e^{Ft/\tau}-F^{-1})Q(0)$ for an invertible F",
        fukumizu_facts(),
    )


@printed("braun2022.fukumizu-solution", quote=r"QQ^T(t)=e^{Ft/\tau}Q(0)[I+\tfrac12Q(0)^T")
def printed_fukumizu_form() -> Existence:
    """As printed: YM⁻¹Yᵀ, with Y and M for e^{Ft/τ}Q(0) and the bracket, and how these two move and start."""
    closed, moving = Y @ M.inverse() @ Y.T, {Y: F @ Y / tau, M: Y.T @ Y / tau}
    return Existence(
        r"$QQ^\top=e^{Ft/\tau}Q(0)\left[I+\frac12Q(0)^\top(e^{Ft/\tau}F^{-1}e^{Ft/\tau}-F^{-1})Q(0)\right]^{-1}"
        r"Q(0)^\top e^{Ft/\tau}$",
        (
            *fukumizu_facts(),
            MatrixDynamics(closed, riccati(F, closed), moving, SHAPES, TIMED, name=r"QQ^\top"),
        ),
    )


def _task_with_kernel(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A task with fewer outputs than inputs, or equally many but dependent ones, and an input it does not see."""
    inputs, outputs = sizes[i], sizes[o]
    turn = cayley(generator, inputs)
    free = sp.Matrix(outputs, inputs - 1, lambda *_: random_rational(generator))
    return {wide.letter: free * turn[:, 1:].T, unseen.letter: turn[:, 0]}


square = matrix("S", i, i, r"\tilde\Sigma^{yx}")
wide, unseen = matrix("Sigma", o, i, r"\tilde\Sigma^{yx}"), vector("v", i)
KERNEL = Rules(
    Declaration("Σv = 0", (rule(wide @ unseen, zero(o, 1)),), (wide.letter, unseen.letter), _task_with_kernel)
)


@result(
    ledger=("braun2022.assumption-equal-dims",),
    uses=("prior_knowledge.solution_from_any_start",),
    hypotheses=(meaning("an example without an inverse: an input v that the task does not see", "Σv = 0"),),
)
def equal_dimensions() -> Existence:
    """Equal dimensions, N_i = N_o, as assumed, are what the inverse of F needs, together with an invertible Σ^yx.

    The blocks of F times its inverse; a vector that a task with N_o < N_i does not see makes F singular. The solution
    itself needs neither.
    """
    inverse = square.inverse()
    F_squared = square.T @ inverse.T, square @ inverse
    return Existence(
        r"$F^{-1}=\begin{bmatrix}0&\Sigma^{-1}\\\Sigma^{-\top}&0\end{bmatrix}$ for $N_i=N_o$, none otherwise",
        (
            MatrixIdentity(F_squared[0], eye(i), ({i: 2}, {i: 3})),
            MatrixIdentity(F_squared[1], eye(i), ({i: 2}, {i: 3})),
            MatrixIdentity(wide @ unseen, zero(o, 1), ({i: 3, o: 2}, {i: 2, o: 1}), KERNEL, name="Fv"),
        ),
    )


r, r_dot, spin = (
    matrix("r", h, h, symmetric=True),
    matrix("rd", h, h, r"\dot r", symmetric=True),
    matrix("O", h, h),
)
skew = (r_dot @ r.inverse() - r.inverse() @ r_dot) / 2


def _roots(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A diagonal root of M, some Y, and the velocity that the root then has."""
    hidden = sizes[h]
    root = [abs(random_rational(generator)) for _ in range(hidden)]
    flowing = random_matrix(generator, Y.letter, sizes)
    rate = abs(random_rational(generator))
    gram = flowing.T * flowing / rate
    velocity = sp.Matrix(hidden, hidden, lambda a, b: gram[a, b] / (root[a] + root[b]))
    return {Y.letter: flowing, r.letter: sp.diag(*root), r_dot.letter: velocity, tau: rate}


ROOT = Rules(
    Declaration(
        "r² = M, τṀ = YᵀY",
        (rule(Y.T @ Y, tau * (r_dot @ r + r @ r_dot)),),
        (Y.letter, r.letter, r_dot.letter),
        _roots,
        {tau: 1},
    ),
    orthogonal(spin),
)


def _semi_orthogonal(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Z, the bracket as a square, and a Q that is made of them."""
    rank = sizes[m]
    root = random_matrix(generator, kr.letter, sizes)
    tall = cayley(generator, sizes[n])[:, :rank] * random_matrix(generator, matrix("R", m, m).letter, sizes)
    rows = cayley(generator, sizes[h])[:rank, :]
    left = (tall.T * tall).inv() * tall.T
    return {
        kr.letter: root,
        kR.letter: root.inv(),
        Z.letter: tall,
        left_inverse.letter: left,
        Q.letter: tall * root * rows,
        rotation.letter: rows,
    }


Q, Z = matrix("Q", n, h), matrix("Z", n, m)
kr = matrix("kr", m, m, r"[\cdot]^{-1/2}", symmetric=True)
kR = matrix("kR", m, m, r"[\cdot]^{1/2}", symmetric=True)
left_inverse, rotation = matrix("L", m, n, r"Z^{+}"), matrix("O", m, h)
SEMI = Rules(
    Declaration(
        "QQᵀ = Z[·]⁻¹Zᵀ",
        (
            rule(Q @ Q.T, Z @ kr @ kr @ Z.T),
            rule(left_inverse @ Z, eye(m)),
            rule(kr @ kR, eye(m)),
            rule(kR @ kr, eye(m)),
            rule(rotation @ rotation.T, eye(m)),
        ),
        (Q.letter, Z.letter, kr.letter, kR.letter, left_inverse.letter, rotation.letter),
        _semi_orthogonal,
    )
)
THIN = ({n: 3, h: 2, m: 2}, {n: 4, h: 3, m: 2}, {n: 2, h: 3, m: 1})


@result(
    ledger=("braun2022.weights-up-to-rotation",),
    uses=("prior_knowledge.solution_from_any_start",),
    hypotheses=(
        meaning(
            "r is the root of M, and Q is made of Z and the bracket", "r² = M, τṀ = YᵀY", "QQᵀ = Z[·]⁻¹Zᵀ"
        ),
    ),
)
def weights_with_rotation() -> Existence:
    """The weights themselves, Q = YM^{-1/2}O, with the equation of their rotation; and Q = Z[·]^{-1/2}O.

    QQᵀ leaves a factor with orthonormal rows open, N_m × N_h for the form with Z: it is a square orthogonal matrix
    only for N_h = N_m. The rotation of the form with Y is one over hidden neurons, N_h × N_h, and known from O(0) = I.
    """
    q = Y @ r.inverse() @ spin
    moving = {Y: F @ Y / tau, r: r_dot, spin: skew @ spin}
    pull = Y @ r.inverse() @ (r_dot @ r.inverse() + r.inverse() @ r_dot) @ spin / 2
    found = kR @ left_inverse @ Q
    beyond = Q - Z @ kr @ found
    return Existence(
        r"$Q=Yr^{-1}O$ with $r^2=M$, $\dot O=\frac12(\dot rr^{-1}-r^{-1}\dot r)O$, $O(0)=I$; "
        r"$Q=Z[\cdot]^{-1/2}O$ with $OO^\top=I$",
        (
            MatrixDynamics(q, F @ q / tau - pull, moving, SHAPES, TIMED, name="Q"),
            MatrixIdentity(pull, q @ q.T @ q / (2 * tau), SHAPES, ROOT),
            MatrixConservation(spin.T @ spin, {r: r_dot, spin: skew @ spin}, SHAPES),
            MatrixIdentity(substitute(q, {Y: Q0, r: eye(h), spin: eye(h)}), Q0, SHAPES, name="Q|_{t=0}"),
            MatrixIdentity(found @ found.T, eye(m), THIN, SEMI, name="OO^\\top"),
            MatrixIdentity(beyond @ beyond.T, zero(n, n), THIN, SEMI),
            MatrixIdentity(Z @ kr @ rotation @ (Z @ kr @ rotation).T, Q @ Q.T, THIN, SEMI, name=r"QQ^\top"),
        ),
    )
