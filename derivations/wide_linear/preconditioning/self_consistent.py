r"""The preconditioner of isotropic networks as a function of β alone, and its limits.

Let R_c and R_d be the roots of η_a η_w βᵀβ + δ²/4 I and η_a η_w ββᵀ + δ²/4 I. By Lemmas 8 and 9 the two terms of M are
R_c + δ/2 I and R_d - δ/2 I, and δ cancels: M = R_c ⊗ I + I ⊗ R_d. Both lemmas apply for δ = 0, for δ > 0 with h = c,
and for δ < 0 with h = d. Let B be what stands beside δ²/4 I under a root R. Then (R - |δ|/2 I)(R + |δ|/2 I) = B, so
that R - |δ|/2 I is between 0 and B/|δ|: M tends to |δ| I for both signs of δ, which is positive definite as M is, with
an error O(1/|δ|) (kunin2024, Sec. 4, Theorem 3 and App. B.1.6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import M, beta, flow
from derivations.wide_linear.starts.isotropy import RATES, draw
from derivations.wide_linear.symbols import A, G, W, c, d, delta, eta_a, eta_w, h, sigma, sigma_j
from symdyn.calculus.matrix import Declaration, Expression, Rules, evaluate, eye, kron, matrix, rule
from symdyn.calculus.matrix.rules import Sampler, Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Existence, Identity, Inequality
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

R_c = matrix("R_c", c, c, symmetric=True)
R_d = matrix("R_d", d, d, symmetric=True)


def _theorem_signs(hidden: int, inputs: int, outputs: int) -> list[int]:
    return [0] + [1] * (hidden == outputs) + [-1] * (hidden == inputs)


def _draw_roots(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    drawn = draw(generator, sizes, _theorem_signs)
    of_readout = evaluate(eta_w * A.T @ A - delta / 2 * eye(c), drawn, sizes)
    of_input = evaluate(eta_a * W.T @ W + delta / 2 * eye(d), drawn, sizes)
    return drawn | {R_c.letter: of_readout, R_d.letter: of_input}


LEMMAS = Rules(
    Declaration(
        "Lemmas 8 and 9",
        (
            rule(A.T @ A, (R_c + delta / 2 * eye(c)) / eta_w),
            rule(W.T @ W, (R_d - delta / 2 * eye(d)) / eta_a),
        ),
        (A.letter, W.letter, R_c.letter, R_d.letter),
        _draw_roots,
        RATES,
    )
)
"""Isotropic weights under the conditions of Theorem 3, and the two roots."""

SHAPES = ({h: 2, d: 3, c: 2}, {h: 2, d: 2, c: 3}, {h: 3, d: 1, c: 2})
LEMMA_KEYS = ("wide_linear.input_gram", "wide_linear.readout_gram")
WORDS = (
    r"$R_c=\sqrt{\eta_a\eta_w\beta^\top\beta+\frac{\delta^2}4I_c}$ and "
    r"$R_d=\sqrt{\eta_a\eta_w\beta\beta^\top+\frac{\delta^2}4I_d}$"
)


@result(ledger=("kunin2024.thm3-M-isotropic",), uses=LEMMA_KEYS)
def isotropic_form() -> Conjunction:
    """The preconditioner of an isotropic network, δ = 0, δ > 0 with h = c, or δ < 0 with h = d."""
    return Conjunction(MatrixIdentity(M, kron(R_c, eye(d)) + kron(eye(c), R_d), SHAPES, LEMMAS, name="M"))


@result(ledger=("kunin2024.thm3-self-consistent-ode",), uses=LEMMA_KEYS)
def self_consistent_dynamics() -> Conjunction:
    """The function of an isotropic network obeys an equation of its own, with G = XᵀP for the squared loss."""
    with_roots = {**flow, R_c: eta_w * _rate(A), R_d: eta_a * _rate(W)}
    return Conjunction(MatrixDynamics(beta, -(G @ R_c + R_d @ G), with_roots, SHAPES, LEMMAS, name=r"\beta"))


def _rate(weights: Expression) -> Expression:
    """The velocity of the Gram matrix of weights, with which the roots of it move."""
    return flow[weights].T @ weights + weights.T @ flow[weights]


def eigenvalue(one: sp.Expr, other: sp.Expr) -> sp.Expr:
    """The eigenvalue of M that belongs to two singular values of β."""
    return sum(sp.sqrt(eta_a * eta_w * value**2 + delta**2 / 4) for value in (one, other))


spectrum = Domain(
    (delta, sigma, sigma_j, eta_a, eta_w),
    cells=(Cell("positive rates", {**RATES, sigma: 1, sigma_j: 1}),),
    words="β and the rates held fixed",
    hypotheses=(
        stated("App. B.1.6, below Theorem 3", "δ → ±∞ and δ = 0, with β held fixed", sp.Eq(delta, 0)),
        stated("Sec. 4, Theorem 3", "Δ = δ I_h, and h = d if δ < 0 or h = c if δ > 0"),
    ),
)


@result(ledger=("kunin2024.thm3-limits-of-M",), domain=spectrum, uses=("wide_linear.isotropic_form",))
def isotropic_limits() -> Existence:
    """The preconditioner tends to |δ| times the identity on both sides, and is a sum of two roots at δ = 0.

    For two singular values of β it has the eigenvalue √(η_a η_w σ_i² + δ²/4) + √(η_a η_w σ_j² + δ²/4).
    """
    B, R = matrix("B", d, d, symmetric=True), matrix("R", d, d, symmetric=True)
    m = sp.Symbol("m", real=True)
    square = rule(R @ R, B + m**2 / 4 * eye(d))
    root = Rules(Declaration("R² = B + m²/4 I", (square,), (R.letter, B.letter), _draw_root(R, B, m)))
    half = m / 2 * eye(d)
    balanced = spectrum.with_cells(
        Cell("δ = 0", {**RATES, sigma: 1, sigma_j: 1}, {delta: sp.S.Zero}, "the balanced network")
    )
    value = eigenvalue(sigma, sigma_j)
    spread = sp.sqrt(eta_a * eta_w * sigma**2 + delta**2 / 4)
    return Existence(
        r"$M=|\delta|I_{dc}+O(1/\delta)$ for $\delta\to\pm\infty$",
        (
            MatrixIdentity((R - half) @ (R + half), B, ({d: 2}, {d: 3}), root),
            Asymptotic(value, delta, delta, sp.oo, 1 / delta, sharp=True),
            Asymptotic(value, -delta, delta, -sp.oo, 1 / delta, sharp=True),
            Inequality(spread**2, ">", delta**2 / 4),
            Identity(value, sp.sqrt(eta_a * eta_w) * (sigma + sigma_j), on=balanced),
        ),
        formula=r"M \to \begin{cases} |\delta| I_{dc} & \delta \to \pm\infty \\ "
        r"\sqrt{\eta_a\eta_w\beta^\top\beta} \otimes I_d + I_c \otimes \sqrt{\eta_a\eta_w\beta\beta^\top} & \delta = 0"
        r" \end{cases}",
    )


def _draw_root(R: Expression, B: Expression, m: sp.Symbol) -> Sampler:
    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        n, value = sizes[d], sp.Rational(generator.randint(1, 9), generator.randint(1, 4))
        factor = sp.Matrix(n, n, lambda i, j: sp.Rational(generator.randint(-4, 5), 2))
        root = factor * factor.T + value / 2 * sp.eye(n)
        return {R.letter: root, B.letter: root**2 - value**2 / 4 * sp.eye(n), m: value}

    return sampler


@printed(
    "kunin2024.thm3-limits-of-M",
    quote=r"$M\to\delta\mathbf I_{dc}$ as $\delta\to-\infty$",
    domain=spectrum,
    severity="typo",
)
def printed_isotropic_limits() -> Asymptotic:
    """As printed: δ times the identity also for δ → -∞, where that is negative definite."""
    return Asymptotic(eigenvalue(sigma, sigma_j), delta, delta, -sp.oo, 1 / delta)
