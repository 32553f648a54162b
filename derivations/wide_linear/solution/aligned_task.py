r"""Aligned with the task, the singular values learn one by one, and what they learn does not depend on δ.

On whitened data G = β - β_*. Let a neuron direction y have Aᵀy = p v and Wᵀy = q u, where u, v are singular vectors of
β_* too, with the singular value s. Then G moves Aᵀy along v and Wᵀy along u: directions stay, and

    ṗ = -η_a q (pq - s),    q̇ = -η_w p (pq - s),    λ̇ = -κ (λ - s)    with λ = pq, κ² = δ² + 4 η_a η_w λ²,

a single neuron with one input and one output, for each of them alone. For δ ≠ 0 the speed κ is at least |δ|, so that
every λ reaches s. For δ = 0 it vanishes at λ = 0, the saddle, where the starts with λ s ≤ 0 end, and for h <
min(d, c) there are no neurons for some s: Theorem 11, from which the paper argues, excludes both.

It takes layers that are aligned, and not β_0 alone: the singular vectors of λ = 0 are not unique, and those that β_*
has there may be no directions of the layers. Take h = d = 2, c = 3, β_* = ((1, 0, 0), (0, 0, 1)) and β_0 = ((λ, 0, 0),
(0, 0, 0)). For δ > 0, A_0 = ((p, 0, 0), (0, √δ, 0)) and W_0 = ((q, 0), (0, 0)) never learn the second mode, and for
δ < 0, A_0 = ((p, 0, 0), (0, 0, 0)) and W_0 = ((q, 0), (0, √-δ)) learn it. If β_0 has the rank min(d, c), or h = c for
δ > 0 and h = d for δ < 0, the layers are aligned when β_0 is (kunin2024, App. B.1.7).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import beta, flow
from derivations.wide_linear.solution.singular_values import SHAPES, TRIPLE, TRIPLE_RULES, u, v, y
from derivations.wide_linear.starts.isotropy import RATES
from derivations.wide_linear.symbols import A, G, W, beta_star, delta, eta_a, eta_w, goal, p, q, sigma
from symdyn.calculus.gram import Flow
from symdyn.calculus.matrix import Declaration, Rules, derivative, rule, substitute
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Conservation, Dynamics, Existence, Inequality
from symdyn.statements.matrix import MatrixIdentity


def _draw_aligned(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Isotropic weights with a neuron direction, and a task for which its singular vectors are right."""
    drawn = TRIPLE.declarations[0].sampler(generator, sizes)
    value = sp.Rational(generator.randint(1, 6), 2)
    left, right = drawn[u.letter], drawn[v.letter]
    inputs, outputs = sp.eye(left.rows) - left * left.T, sp.eye(right.rows) - right * right.T
    free = sp.Matrix(left.rows, right.rows, lambda i, j: generator.randint(-3, 3))
    return drawn | {beta_star.letter: value * left * right.T + inputs * free * outputs, goal: value}


ALIGNED = Rules(
    Declaration(
        "a neuron direction aligned with the task",
        (*TRIPLE_RULES, rule(beta_star @ v, goal * u), rule(beta_star.T @ u, goal * v)),
        (A.letter, W.letter, beta_star.letter),
        _draw_aligned,
        RATES,
    )
)
whitened = {letter: substitute(velocity, {G: beta - beta_star}) for letter, velocity in flow.items()}
decoupled = Flow({p: -eta_a * q * (p * q - goal), q: -eta_w * p * (p * q - goal)})

FULL_RANK = (
    "β_0 has the rank min(d, c), or h = c for δ > 0 and h = d for δ < 0: otherwise β_0 = 0, say, is aligned "
    "with every β_*, but the layers need not be, and singular vectors turn, or one mode is never learned for δ > 0 "
    "that is for δ < 0"
)


planar = Domain((p, q, goal, eta_a, eta_w), cells=(Cell("positive rates", RATES),))
speeds = Domain(
    (sigma, delta, eta_a, eta_w),
    cells=tuple(Cell(f"δ {s} 0", {delta: i, **RATES}) for s, i in ((">", 1), ("<", -1))),
)


@result(
    ledger=("kunin2024.aligned-solution-independent",),
    domain=planar,
    uses=("wide_linear.singular_value_dynamics",),
    hypotheses=(
        stated(
            "App. B.1.7",
            "whitened input and a task-aligned start",
            "a neuron direction aligned with the task",
        ),
        added(FULL_RANK),
        stated("App. B.1.7, Theorem 11, of which it speaks", "h ≥ min(d, c) and δ ≠ 0", delta),
    ),
)
def aligned_learning() -> Existence:
    """With layers aligned with a whitened task singular vectors stay; for h ≥ min(d, c), δ ≠ 0 all of it is learned.

    The gap (λ - s)² falls at the rate 2κ, and κ ≥ |δ|. For δ = 0, κ > 0 unless λ = 0, which λ s > 0 at first avoids.
    """
    lam = p * q
    kappa = eta_w * p**2 + eta_a * q**2
    return Existence(
        r"if both layers are aligned with $\beta_*$, as they are where $\beta_0$ is, of the rank $\min(d,c)$: "
        r"the singular vectors stay fixed, the singular values decouple, and for $h\ge\min(d,c)$ the solution is "
        r"$\beta_*$ for every $\delta\ne0$, and for $\delta=0$ where $\lambda_is_i>0$ at first",
        (
            MatrixIdentity(
                derivative(A, whitened).T @ y,
                -eta_a * q * (lam - goal) * v,
                SHAPES,
                ALIGNED,
                name=r"\dot A^\top y",
            ),
            MatrixIdentity(
                derivative(W, whitened).T @ y,
                -eta_w * p * (lam - goal) * u,
                SHAPES,
                ALIGNED,
                name=r"\dot W^\top y",
            ),
            Conservation(eta_w * p**2 - eta_a * q**2, under=decoupled, name=r"\delta"),
            Dynamics(lam, -kappa * (lam - goal), under=decoupled, name=r"\lambda"),
            Dynamics((lam - goal) ** 2, -2 * kappa * (lam - goal) ** 2, under=decoupled),
            Inequality(sp.sqrt(delta**2 + 4 * eta_a * eta_w * sigma**2), ">=", sp.Abs(delta), on=speeds),
        ),
    )


layers = Domain(
    (p, q, eta_a, eta_w),
    cells=(Cell("δ > 0", {**RATES, p: 1}, {q: sp.S.Zero}), Cell("δ < 0", {**RATES, q: 1}, {p: sp.S.Zero})),
    words="δ ≠ 0, λ = 0, a neuron direction along both singular vectors",
)
astray = Cell(
    "no direction along this pair",
    RATES,
    {p: sp.S.Zero, q: sp.S.Zero},
    "λ = 0 and h < max(d, c): the singular vectors of β_* belong to λ = 0, and no neuron sees them",
)


@printed(
    "kunin2024.aligned-solution-independent",
    quote=r"the final solution does not depend on $\delta$",
    domain=layers.with_cells(*layers.cells, astray),
    hypothesis=FULL_RANK,
    under=layers,
    hypotheses=(
        stated("App. B.1.7, Theorem 11, of which it speaks", "δ ≠ 0", p, q),
        meaning("p = ‖Av‖ and q = ‖Wu‖ are lengths", p, q),
    ),
)
def printed_aligned_learning() -> Inequality:
    """As printed, each mode of an aligned β_0 is learned at the speed κ > 0, also from λ = 0; p = ‖Av‖, q = ‖Wu‖."""
    return Inequality(eta_w * p**2 + eta_a * q**2, ">")
