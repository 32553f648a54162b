r"""With enough neurons both signs of large balances are lazy; without balance the overall scale decides.

With h ≥ max(d, c) neurons in general position either layer, as it starts, can solve every task, so that large balances
of either sign are lazy. That all δ_k tend to zero says little, however, as it bounds neither the size of the weights
nor the entries of Δ off its diagonal. Take orthogonal columns of one length, AᵀA = αI, WᵀW = ωI, WᵀA = 0, here those of
a 4 × 4 Hadamard matrix. All neurons have the balance δ_k = (η_w α - η_a ω)/2, zero if we like, but the network follows
the isotropic dynamics with |δ| = T = η_w α + η_a ω. It is lazy for T ≫ ‖β_*‖ and rich for T ≪ ‖β_*‖, whatever δ_k is:
from M(0) = T I to M = R_c ⊕ R_d, for two inputs and outputs and a task of rank one the kernel turns by an angle with

    sin² = (r₁ - r₂)²/(3r₁² + 2r₁r₂ + 3r₂²),        r₁ = √(T²/4 + η_a η_w σ²),  r₂ = T/2,

which tends to 1/3 for T → 0, and to zero as 1/T⁴ for T → ∞.

If all of Δ vanishes with the scale of the start, then for every start that reaches β_*

    (η_w AᵀA)² = η_a η_w βᵀβ + η_w AᵀΔA,        (η_a WᵀW)² = η_a η_w ββᵀ - η_a WᵀΔW

leave √(η_a η_w)((β_*ᵀβ_*)^½ ⊕ (β_*β_*ᵀ)^½) for M in the end. M(0) is not a multiple of it, unless the start is aligned
with the task; for d = c = 1 it is, and the kernel never turns (kunin2024, Sec. 4 and App. B.1.5).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import beta as function
from derivations.wide_linear.preconditioning.single_hidden import any_balance, minus, plus, x_rates
from derivations.wide_linear.regimes.lazy_theorem import GENERAL_POSITION, every_task
from derivations.wide_linear.symbols import (
    SIZES,
    A,
    Delta,
    W,
    alpha,
    constant,
    delta,
    eta_a,
    eta_w,
    omega,
    sigma,
    total,
)
from symdyn.calculus.matrix import Declaration, Rules, random_matrix, random_rational, rule
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added
from symdyn.statements.kinds import Asymptotic, Existence, Identity, Limit
from symdyn.statements.matrix import MatrixIdentity

RATES = {eta_a: 1, eta_w: 1}
SMALL_SCALE = (
    "the overall scale of the start, all of Δ and not the δ_k alone, is small against the task, c·rank X > "
    "1, and the start is not aligned with the task on the data: orthogonal columns of one length have δ_k = 0 and are "
    "lazy at a large scale"
)
balanced = any_balance.with_cells(Cell("β ≠ 0", any_balance.cells[0].signs))


def _draw_balance(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Any weights and rates, and their balance."""
    drawn = {x.letter: random_matrix(generator, x.letter, sizes) for x in (A, W)}
    rates = {rate: abs(random_rational(generator)) for rate in (eta_a, eta_w)}
    readout, input_ = (drawn[x.letter] for x in (A, W))
    of_pairs = rates[eta_w] * readout * readout.T - rates[eta_a] * input_ * input_.T
    return drawn | rates | {Delta.letter: of_pairs}


BALANCE = Rules(
    Declaration(
        "Δ is the balance",
        (rule(W @ W.T, (eta_w * A @ A.T - Delta) / eta_a),),
        (A.letter, W.letter, Delta.letter),
        _draw_balance,
        RATES,
    )
)


def learned_grams() -> tuple[MatrixIdentity, ...]:
    """The squares of both terms of M, as β and Δ make them."""
    of_A, of_W, product = eta_w * A.T @ A, eta_a * W.T @ W, eta_a * eta_w
    return (
        MatrixIdentity(
            of_A @ of_A,
            product * function.T @ function + eta_w * A.T @ Delta @ A,
            SIZES,
            BALANCE,
            name=r"(\eta_wA^\top A)^2",
        ),
        MatrixIdentity(
            of_W @ of_W,
            product * function @ function.T - eta_a * W.T @ Delta @ W,
            SIZES,
            BALANCE,
            name=r"(\eta_aW^\top W)^2",
        ),
    )


pair = sp.Matrix([[1, 1], [1, -1]])
hadamard = sp.kronecker_product(pair, pair)
readout, input_ = sp.sqrt(alpha) / 2 * hadamard[:, :2], sp.sqrt(omega) / 2 * hadamard[:, 2:]
lengths = Domain(
    (alpha, omega, eta_a, eta_w),
    cells=(Cell("α, ω > 0", {alpha: 1, omega: 1, **RATES}),),
    words="orthogonal columns of the squared lengths α and ω",
)


def orthogonal_start() -> tuple[Identity, ...]:
    """Columns of a Hadamard matrix: orthogonal, of one length, and with the same balance for every neuron."""
    of_neurons = eta_w * readout * readout.T - eta_a * input_ * input_.T
    one = (sp.S.One, sp.S.Zero, sp.S.Zero, sp.S.One)
    return (
        Identity(tuple(readout.T * readout), tuple(alpha * e for e in one), on=lengths, name=r"A^\top A"),
        Identity(tuple(input_.T * input_), tuple(omega * e for e in one), on=lengths, name=r"W^\top W"),
        Identity(tuple(input_.T * readout), (sp.S.Zero,) * 4, on=lengths, name=r"\beta(0)"),
        Identity(
            tuple(of_neurons[k, k] for k in range(4)),
            ((eta_w * alpha - eta_a * omega) / 2,) * 4,
            on=lengths,
            name=r"\delta_k",
        ),
    )


first, second = sp.sqrt(total**2 / 4 + eta_a * eta_w * sigma**2), total / 2
"""The eigenvalues r₁ and r₂ of R_c and R_d for β_* of rank one, with the singular value σ."""


def squared_sine() -> sp.Expr:
    """sin² of the angle between M(0) = T I and R_c ⊕ R_d, for d = c = 2, in the singular vectors of β_*."""
    root = sp.diag(first, second)
    learned = sp.kronecker_product(root, sp.eye(2)) + sp.kronecker_product(sp.eye(2), root)
    return 1 - learned.trace() ** 2 / (4 * (learned * learned).trace())


turn = (first - second) ** 2 / (3 * first**2 + 2 * first * second + 3 * second**2)
scales = Domain(
    (total, sigma, eta_a, eta_w),
    cells=(Cell("T, σ > 0", {total: 1, sigma: 1, **RATES}),),
    words="β_* of rank one, d = c = 2, orthogonal columns",
)


@result(
    ledger=("kunin2024.wide-hmax-lazy",),
    domain=balanced,
    uses=(
        "wide_linear.lazy_regime",
        "wide_linear.part_of_a_neuron",
        "wide_linear.orthogonal_columns",
        "wide_linear.isotropic_form",
        "wide_linear.isotropic_limits",
    ),
    hypotheses=(GENERAL_POSITION, added(SMALL_SCALE)),
)
def wide_enough() -> Existence:
    """With h ≥ max(d, c) neurons in general position both signs are lazy; for δ_k → 0 the overall scale decides.

    Without balance both weights of M_k are √(η_a η_w)‖β_k‖, and M_k changes as β_k does. But the β_k need not change
    much: with orthogonal columns of one length the kernel turns as T says and not as δ_k says. Where all of Δ
    vanishes with the scale, what is learned is the M of β_* alone.
    """
    length, product = sp.sqrt(x_rates), eta_a * eta_w
    return Existence(
        r"for $h\ge\max(d,c)$, $\beta_k$ in general position: lazy for all $\delta_k\gg0$ and all $\delta_k\ll0$; "
        r"for $\Delta\to0$ with the scale of the start, and $\beta\to\beta_*$, "
        r"$M\to\sqrt{\eta_a\eta_w}((\beta_*^\top\beta_*)^{1/2}\oplus(\beta_*\beta_*^\top)^{1/2})$; with orthogonal "
        r"columns lazy for large $T=\eta_w\alpha+\eta_a\omega$ and rich for small $T$, for every $\delta_k$",
        (
            *every_task(),
            Asymptotic((plus / 2, minus / 2), (length, length), delta, sp.S.Zero, delta, sharp=True),
            *learned_grams(),
            *orthogonal_start(),
            Identity(squared_sine(), turn, on=scales, name=r"\sin^2"),
            Limit(turn, total, sp.S.Zero, sp.Rational(1, 3), on=scales),
            Asymptotic(turn, (product * sigma**2) ** 2 / (2 * total**4), total, sp.oo, total**-6, on=scales),
        ),
    )


vanishing = Domain(
    (total, sigma, delta, eta_a, eta_w),
    cells=(Cell("the scale vanishes too", {sigma: 1, constant: 1, **RATES}, {total: constant * delta}),),
    words="δ_k → 0, orthogonal columns, β_* of rank one, d = c = 2; T vanishes with δ_k",
)


@printed(
    "kunin2024.wide-hmax-lazy",
    quote=r"as $\delta_k\to0$ all become rich",
    domain=vanishing.with_cells(
        Cell(
            "the scale stays", {total: 1, sigma: 1, **RATES}, {}, "δ_k = (η_w α - η_a ω)/2 does not bound T"
        ),
        *vanishing.cells,
    ),
    hypothesis=SMALL_SCALE,
    under=vanishing,
)
def printed_wide_enough() -> Limit:
    """As printed, δ_k → 0 is enough for the kernel to turn as it does from small weights, by an angle with sin² = 1/3.

    The start has orthogonal columns of one length, and T = η_w α + η_a ω ≥ 2|δ_k| for its overall scale.
    """
    return Limit(turn, delta, sp.S.Zero, sp.Rational(1, 3))
