r"""A start that is turned away from the task learns late, however large it is.

Let all modes of the task have the same strength, Σ^yx = sI, and the start be a turned multiple of it: zero-balanced
weights with W₂W₁(0) = ε R for a rotation R = cos θ I + sin θ J, J the right angle in one plane or in each of several,
JJ = -I. Then U = R, V = Ũ = Ṽ = I and S = εI. With u = tan(θ/2) and y = e^{-2st/τ},

    B⁻¹ = ½(I + uJ),    B⁻¹C = -uJ,    K = [y(1 + u²)/ε + (1 - y)(1 + yu²)/s] I = kI,    W₂W₁(t) = (I + yuJ)²/k

by eqs. 11 and 12. So the start turns to the task by tan(θ(t)/2) = e^{-2st/τ} tan(θ/2), whatever its size: ε is in the
length alone. The loss stays above that of W₂W₁ = 0 until a right angle is left, at (τ/2s) ln tan(θ/2), and half of the
task is not learned before (τ/s) ln tan(θ/2), which is the time for ε → ∞. These times have no bound as θ tends to
180°, where B is singular: the term of K with C does not fall as S grows. At 180° what is left of ε → ∞ is the function
-s/(e^{2st/τ} - 1) I, which ends at zero. So the size of the weights speeds up only starts with a B far from singular
(braun2022, Sec. 3, eq. 11, and Sec. 4).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.symbols import c, m, r1, s, size, u, v, y
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rules,
    cayley,
    eye,
    matrix,
    positive,
    rule,
    substitute,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Existence, Identity, Inequality, Limit
from symdyn.statements.matrix import MatrixIdentity

J = matrix("J", m, m)
SHAPES = ({m: 2}, {m: 4})


def _right_angles(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A right angle in each of m/2 planes, in any basis."""
    basis = cayley(generator, sizes[m])
    angles = sp.diag(*[sp.Matrix([[0, -1], [1, 0]])] * (sizes[m] // 2))
    return {J.letter: basis * angles * basis.T}


RIGHT = Rules(Declaration("right angles in planes", (rule(J @ J, -eye(m)),), (J.letter,), _right_angles))
POSITIVE_SIZES = Rules(*RIGHT.declarations, positive(s, size))


def transposed(x: Expression) -> Expression:
    """The transpose of a polynomial in J, as Jᵀ = -J."""
    return substitute(x, {J: -J})


cos, sin = (1 - u**2) / (1 + u**2), 2 * u / (1 + u**2)
one = eye(m)
turn = (1 - u**2) * one + 2 * u * J
"""(1 + u²)R."""
B_inv = (one + u * J) / 2
"""B⁻¹ for U = R, V = Ũ = Ṽ = I."""

fall = (1 - y) * (1 + y * u**2) / s
bracket = y * (1 + u**2) / size + fall
along, aside = (1 - (y * u) ** 2) / bracket, 2 * y * u / bracket
"""What W₂W₁ = along I + aside J has of the task, and at a right angle to it."""

large = s * (1 - (y * u) ** 2) / ((1 - y) * (1 + y * u**2)), 2 * s * y * u / ((1 - y) * (1 + y * u**2))
"""The same for ε → ∞."""

running = Domain(
    (s, size, u, y),
    cells=(Cell("t > 0", {s: 1, size: 1, u: 1, r1: 1}, {y: 1 / (1 + r1)}, "y = 1/(1 + r₁)"),),
    words="Σ^yx = sI, W₂W₁(0) = ε times a rotation, u the tangent of half its angle, y = exp(-2st/τ)",
)
more_than_a_right_angle = running.with_cells(
    Cell(
        "uy > 1",
        {s: 1, size: 1, v: 1, r1: 1},
        {y: 1 / (1 + r1), u: (1 + v) * (1 + r1)},
        "y = 1/(1 + r₁), uy = 1 + v",
    )
).restrict(words="0 < t < (τ/2s) ln u")
before = running.with_cells(
    Cell(
        "u²y > 1",
        {s: 1, size: 1, v: 1, c: 1},
        {u: 1 + v, y: (1 + c) / ((1 + v) ** 2 + c)},
        "u = 1 + v, y from 1/u² to 1 as c grows",
    )
).restrict(words="0 < t < (τ/s) ln u")
late = running.with_cells(
    Cell("u²y = 1", {s: 1, v: 1}, {u: 1 + v, y: 1 / (1 + v) ** 2}, "u = 1 + v")
).restrict(words="t = (τ/s) ln u, ε → ∞")


def of_equation_11() -> tuple[MatrixIdentity, ...]:
    """B⁻¹, B⁻¹C, the bracket of eq. 11, and the function W₂W₁ in it, from Z = [I - yuJ; I + yuJ]."""
    shift = y * u * J
    K = (
        4 * y / size * B_inv @ transposed(B_inv)
        + (1 - y) / s * one
        + y * (1 - y) / s * (u * J) @ transposed(u * J)
    )
    length = 1 + u**2
    return (
        MatrixIdentity(transposed(turn) @ turn, length**2 * one, SHAPES, RIGHT, name=r"(1+u^2)^2R^\top R"),
        MatrixIdentity(
            (transposed(turn) + length * one) @ B_inv, length * one, SHAPES, RIGHT, name="(1+u^2)B B^{-1}"
        ),
        MatrixIdentity(
            B_inv @ (transposed(turn) - length * one), -u * length * J, SHAPES, RIGHT, name="(1+u^2)B^{-1}C"
        ),
        MatrixIdentity(K, bracket * one, SHAPES, POSITIVE_SIZES, name="K"),
        MatrixIdentity(
            (one + shift) @ transposed(one - shift),
            (1 - (y * u) ** 2) * one + 2 * y * u * J,
            SHAPES,
            RIGHT,
            name=r"k\,W_2W_1",
        ),
    )


@result(
    ledger=("braun2022.large-zero-balanced-exponential", "braun2022.task-agnostic-initialisations"),
    domain=running,
    uses=("prior_knowledge.exact_solution",),
    hypotheses=(
        meaning(
            "a family of starts for Σ^yx = sI: turned by an angle, tan(θ/2) = u > 0, at times between 0 and the end",
            u,
            v,
            c,
            y,
            "right angles in planes",
        ),
    ),
)
def wait_of_turned_starts() -> Existence:
    """A start at the angle θ to the task has not learned half of it before (τ/s) ln tan(θ/2), however large it is.

    For half of this time the loss is above that of W₂W₁ = 0. The facts are for all ε, then
    for ε → ∞; a start at 180° has the reversed task and tends to zero.
    """
    return Existence(
        r"$W_2W_1(t)=(I+y\,u\,J)^2/k$ for $\tilde\Sigma^{yx}=sI$, $W_2W_1(0)=\varepsilon R$, with "
        r"$u=\tan\frac\theta2$, $y=e^{-2st/\tau}$: for every $\varepsilon$ less than half of the task is learned "
        r"before $t=\frac\tau s\ln\tan\frac\theta2$",
        (
            *of_equation_11(),
            Identity((along.subs(y, 1), aside.subs(y, 1)), (size * cos, size * sin), name="W_2W_1(0)"),
            Inequality((along - s) ** 2 + aside**2, ">", s**2, on=more_than_a_right_angle),
            Inequality(s / 2, ">", along, on=before),
            Limit(along, size, sp.oo, large[0]),
            Limit(aside, size, sp.oo, large[1]),
            Identity(large[0], s / 2, on=late),
            Limit(large[0], u, sp.oo, -s * y / (1 - y)),
            Limit(large[1], u, sp.oo, sp.S.Zero),
        ),
    )
