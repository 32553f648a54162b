r"""What the preconditioner of a neuron becomes for large |δ_k|, and what spans the rows and columns of its function.

M_k = (κ_k + δ_k)/2 P ⊗ I + (κ_k - δ_k)/2 I ⊗ Q with the projectors P = β_kᵀβ_k/‖β_k‖² on the row and Q =
β_kβ_kᵀ/‖β_k‖² on the column of β_k. For δ_k → ∞ the first weight is δ_k + O(1/δ_k) and the second O(1/δ_k), and for
δ_k → -∞ they change places. The row of β_k = w_k a_kᵀ is spanned by a_k, its column by w_k (kunin2024, App. B.1.5).
"""

from __future__ import annotations

import sympy as sp

from derivations.wide_linear.preconditioning.neuron_parts import ACTIVE, square
from derivations.wide_linear.preconditioning.single_hidden import any_balance, minus, plus
from derivations.wide_linear.symbols import SIZES, A, G, W, a, c, d, delta, eta_a, eta_w, k, w
from symdyn.calculus.matrix import Index, basis, entry, matrix, sum_over
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Asymptotic, Existence
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

function = w @ a.T
norm2 = square(w) * square(a)
on_row = function.T @ function / norm2
on_column = function @ function.T / norm2
one_neuron = {a: -eta_a * G.T @ w, w: -eta_w * G @ a}


@result(ledger=("kunin2024.thm6-M-limit",), domain=any_balance, uses=("wide_linear.part_of_a_neuron",))
def large_balance_limit() -> Existence:
    """For δ_k → ∞ a neuron follows the gradient projected on its row, for δ_k → -∞ on its column, at the rate |δ_k|.

    Its function moves by both terms, β̇_k = -η_w G a_k a_kᵀ - η_a w_k w_kᵀ G, of which one stays with the weight
    |δ_k| and the other has a weight O(1/δ_k). In the weights, x stands for the entries of β_k, held fixed.
    """
    weights = plus / 2, minus / 2
    limits = r"\delta_k\to\infty$: $M_k\to|\delta_k|\,\beta_k^\top\beta_k/\|\beta_k\|_F^2\otimes I_d"
    other = r"\delta_k\to-\infty$: $M_k\to I_c\otimes|\delta_k|\,\beta_k\beta_k^\top/\|\beta_k\|_F^2"
    moved = -eta_w * square(a) * G @ on_row - eta_a * square(w) * on_column @ G
    return Existence(
        f"${limits}$, ${other}$, each up to $O(1/\\delta_k)$",
        (
            MatrixDynamics(function, moved, one_neuron, SIZES, name=r"\beta_k"),
            MatrixIdentity(on_row @ on_row, on_row, SIZES, ACTIVE, name="P^2"),
            MatrixIdentity(function @ on_row, function, SIZES, ACTIVE, name=r"\beta_kP"),
            MatrixIdentity(on_column @ function, function, SIZES, ACTIVE, name=r"Q\beta_k"),
            Asymptotic(weights, (delta, sp.S.Zero), delta, sp.oo, 1 / delta, sharp=True),
            Asymptotic(weights, (sp.S.Zero, -delta), delta, -sp.oo, 1 / delta, sharp=True),
        ),
    )


@result(ledger=("kunin2024.thm6-span-equivalence",))
def spans_of_the_neurons() -> Existence:
    """The row space of β_k is spanned by a_k where w_k ≠ 0, the column space by w_k where a_k ≠ 0.

    β_kᵀz is a multiple of a_k for every z, and not zero for z = w_k. The matrices with rows in the span of the a_k
    are the products WᵀA(0), as row i of WᵀA is Σ_k W_ki a_kᵀ; likewise those with columns in the span of the w_k.
    """
    z, y = matrix("z", d, 1), matrix("y", c, 1)
    i, j = Index("i", d), Index("j", c)
    e, f = basis(i), basis(j)
    row = sum_over(i, e @ sum_over(k, entry(W, k, i) * basis(k).T @ A))
    column = sum_over(j, sum_over(k, entry(A, k, j) * W.T @ basis(k)) @ f.T)
    return Existence(
        r"$\mathrm{Row}(\beta_*)\subseteq\mathrm{span}\{a_k(0)\}$ means $\beta_*=W^\top A(0)$ for some $W$, "
        r"$\mathrm{Col}(\beta_*)\subseteq\mathrm{span}\{w_k(0)\}$ means $\beta_*=W(0)^\top A$ for some $A$",
        (
            MatrixIdentity(function.T @ z, (w.T @ z).scalar() * a, SIZES, name=r"\beta_k^\top z"),
            MatrixIdentity(function.T @ w, square(w) * a, SIZES, name=r"\beta_k^\top w_k"),
            MatrixIdentity(function @ y, (a.T @ y).scalar() * w, SIZES, name=r"\beta_ky"),
            MatrixIdentity(function @ a, square(a) * w, SIZES, name=r"\beta_ka_k"),
            MatrixIdentity(W.T @ A, row, SIZES),
            MatrixIdentity(W.T @ A, column, SIZES),
        ),
    )
