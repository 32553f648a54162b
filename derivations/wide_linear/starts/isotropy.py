r"""Isotropic balance, Δ = δ I: when there is such an initialisation, and weights drawn from all of them.

For δ > 0, η_w AAᵀ = δ I + η_a WWᵀ is positive definite, so that the h rows of A are independent and h ≤ c; for δ < 0
the same with W and d. For δ = 0 there is no such bound. Where the bound holds there are examples: scaled orthonormal
rows (kunin2024, App. B.1.6, Assumption 7).

In a basis of neurons where AAᵀ and WWᵀ are diagonal, with entries p_i² and q_i², isotropy is η_w p_i² - η_a q_i² = δ.
Rational points of this conic make rational matrices that satisfy it exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import sympy as sp

from derivations.wide_linear.symbols import A, W, c, d, delta, eta_a, eta_w, h, x, y
from symdyn.calculus.gram import norm2
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rules,
    cayley,
    eye,
    matrix,
    orthogonal,
    orthonormal_columns,
    random_rational,
    rule,
    vector,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Inequality
from symdyn.statements.matrix import MatrixIdentity

RATES = {eta_a: 1, eta_w: 1}


def _positive(generator: random.Random) -> sp.Rational:
    return abs(random_rational(generator))


def _branch(
    generator: random.Random, near: sp.Rational, mine: sp.Rational, other: sp.Rational
) -> tuple[sp.Expr, sp.Expr]:
    """A rational point (u, v) of mine u² - other v² = mine near², close to the vertex (near, 0)."""
    slope = random_rational(generator) / 7
    while mine == other * slope**2:
        slope = slope / 2
    below = mine - other * slope**2
    return near * (mine + other * slope**2) / below, 2 * near * slope * mine / below


def singular_values(
    generator: random.Random, sign: int, h: int, d: int, c: int
) -> tuple[list[sp.Expr], list[sp.Expr], sp.Expr, sp.Expr, sp.Expr]:
    """(p, q, δ, η_a, η_w) with η_w p_i² - η_a q_i² = δ for every neuron, of the sign that is asked for.

    Only min(h, d) of the q and min(h, c) of the p can be non-zero.
    """
    rate_a, vertex = _positive(generator), _positive(generator)
    if sign == 0:
        ratio, rank = _positive(generator), min(h, d, c)
        p = [random_rational(generator) if i < rank else sp.S.Zero for i in range(h)]
        return p, [ratio * value for value in p], sp.S.Zero, rate_a, rate_a * ratio**2
    rate_w = _positive(generator)
    mine, other, free = (rate_w, rate_a, min(h, d)) if sign > 0 else (rate_a, rate_w, min(h, c))
    points = [_branch(generator, vertex, mine, other) if i < free else (vertex, sp.S.Zero) for i in range(h)]
    first, second = ([point[i] for point in points] for i in (0, 1))
    p, q = (first, second) if sign > 0 else (second, first)
    return p, q, sign * mine * vertex**2, rate_a, rate_w


def layer(
    generator: random.Random, basis: sp.Matrix, values: list[sp.Expr], cols: int
) -> tuple[sp.Matrix, sp.Matrix]:
    """(U diag(values) Vᵀ, V) with random orthonormal columns V, as many as fit."""
    size = len(values)
    rank = min(size, cols)
    right = orthonormal_columns(generator, cols, rank)
    return basis[:, :rank] * sp.diag(*values[:rank]) * right.T, right


def possible_signs(h: int, d: int, c: int) -> list[int]:
    """The signs of δ for which there are isotropic weights."""
    return [0] + [1] * (h <= c) + [-1] * (h <= d)


def draw(
    generator: random.Random, sizes: Sizes, signs: Callable[[int, int, int], list[int]] = possible_signs
) -> dict[Any, Any]:
    """Isotropic weights of the given shapes, their balance and rates."""
    shape = [sizes[size] for size in (h, d, c)]
    p, q, balance, rate_a, rate_w = singular_values(generator, generator.choice(signs(*shape)), *shape)
    basis = cayley(generator, shape[0])
    readout, input_ = layer(generator, basis, p, shape[2])[0], layer(generator, basis, q, shape[1])[0]
    return {A.letter: readout, W.letter: input_, delta: balance, eta_a: rate_a, eta_w: rate_w}


ISOTROPIC_RULE = rule(W @ W.T, (eta_w * A @ A.T - delta * eye(h)) / eta_a)
ISOTROPIC = Rules(Declaration("Δ = δ I", (ISOTROPIC_RULE,), (A.letter, W.letter), draw, RATES))
"""Any isotropic weights."""

SHAPES = ({h: 2, d: 3, c: 2}, {h: 2, d: 2, c: 3}, {h: 2, d: 1, c: 2}, {h: 3, d: 3, c: 1})


@result(ledger=("kunin2024.assumption7-isotropic",), uses=("wide_linear.conserved_balance",))
def isotropic_initialisation() -> Conjunction:
    """Isotropic balance, Δ = δ I, which is kept: scaled orthonormal rows are an example, for either sign of δ.

    One layer with such rows does for its own sign of δ.
    """
    p, q = sp.symbols("p q", real=True)
    E, F = matrix("E", c, h), matrix("F", d, h)
    readout, input_ = p * E.T, q * F.T
    rules = Rules(orthogonal(E), orthogonal(F))

    def balance(readout: Expression, input_: Expression) -> Expression:
        return eta_w * readout @ readout.T - eta_a * input_ @ input_.T

    sizes = ({h: 2, d: 3, c: 2}, {h: 1, d: 2, c: 3})
    return Conjunction(
        MatrixIdentity(balance(readout, input_), (eta_w * p**2 - eta_a * q**2) * eye(h), sizes, rules),
        MatrixIdentity(balance(readout, zero(h, d)), eta_w * p**2 * eye(h), sizes, rules),
        MatrixIdentity(balance(zero(h, c), input_), -eta_a * q**2 * eye(h), sizes, rules),
    )


CASES = (
    stated("App. B.1.6", "δ > 0, where h ≤ c, and δ < 0, where h ≤ d", delta),
    meaning("x ≠ 0 is any vector over neurons: xᵀAAᵀx > 0 is that AAᵀ ≻ 0", x),
)
quadratic = Domain(
    (delta, eta_a, eta_w),
    (x, y),
    (Cell("δ > 0", {delta: 1, **RATES, norm2(x): 1}),),
    words="δ > 0",
    hypotheses=CASES,
)


@result(ledger=("kunin2024.isotropic-dimension-limit",), uses=("wide_linear.isotropic_initialisation",))
def isotropic_dimensions() -> Existence:
    """Isotropic balance needs h ≤ c for δ > 0 and h ≤ d for δ < 0, hence h ≤ min(d, c) to have either sign.

    For a vector x over neurons, y stands for Wᵀx in the first inequality and for Aᵀx in the second.
    """
    v = vector("v", h)
    of_A, of_W = eta_w * (v.T @ A @ A.T @ v).scalar(), eta_a * (v.T @ W @ W.T @ v).scalar()
    norm = (v.T @ v).scalar()
    negative = quadratic.with_cells(Cell("δ < 0", {delta: -1, **RATES, norm2(x): 1}))
    return Existence(
        r"$\delta>0$: $AA^\top\succ0$ and $h\le c$; $\delta<0$: $WW^\top\succ0$ and $h\le d$",
        (
            MatrixIdentity(of_A, delta * norm + of_W, SHAPES, ISOTROPIC, name=r"\eta_w\|A^\top v\|^2"),
            Inequality(delta * norm2(x) + eta_a * norm2(y), ">", on=quadratic),
            MatrixIdentity(of_W, -delta * norm + of_A, SHAPES, ISOTROPIC, name=r"\eta_a\|W^\top v\|^2"),
            Inequality(-delta * norm2(x) + eta_w * norm2(y), ">", on=negative),
        ),
    )
