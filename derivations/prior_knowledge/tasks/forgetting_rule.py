r"""What training on one task does to the loss of another.

For whitened inputs the loss of a task depends on the network function W alone through its distance to the correlation
of the task,

    L(W) = ½‖W - Σ^yx‖² + c,    c = ½(⟨‖y‖²⟩ - ‖Σ^yx‖²),

and c is the loss of the best linear map. A network that has learned task j computes W = Σ_j, so that forgetting is
known from the correlations before training starts (braun2022, Sec. 6, which leaves c to an appendix).
"""

from __future__ import annotations

import sympy as sp

from derivations.prior_knowledge.network.model import WHITE, WHITE_SIZES, task
from derivations.prior_knowledge.symbols import P, X, Y, i, o
from symdyn.calculus.matrix import Expression, matrix, trace
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Conjunction
from symdyn.statements.matrix import MatrixIdentity

W = matrix("W", o, i)
b, c = matrix("Sb", o, i, r"\tilde\Sigma_b"), matrix("Sc", o, i, r"\tilde\Sigma_c")
"""The correlations of two other tasks."""


def norm2(x: Expression) -> sp.Expr:
    """Squared Frobenius norm."""
    return trace(x.T @ x)


def loss_at(function: Expression) -> sp.Expr:
    """The loss of the task (X, Y) for a network function."""
    return norm2(function @ X - Y) / (2 * P)


constant = norm2(Y) / (2 * P) - norm2(task) / 2


@result(ledger=("braun2022.forgetting-loss",), uses=("prior_knowledge.mean_squared_error",))
def loss_of_another_task() -> Conjunction:
    """The loss of a task for any network function, which is Σ_j once task j is learned."""
    return Conjunction(
        MatrixIdentity(
            loss_at(W), norm2(W - task) / 2 + constant, WHITE_SIZES, WHITE, name=r"\mathcal L_i(W)"
        )
    )


@result(ledger=("braun2022.forgetting-constant",), uses=("prior_knowledge.loss_of_another_task",))
def constant_of_the_loss() -> MatrixIdentity:
    """c = ½(⟨‖y‖²⟩ - ‖Σ^yx‖²) is the loss of the best linear map: zero if and only if that fits the targets exactly."""
    return MatrixIdentity(loss_at(task), constant, WHITE_SIZES, WHITE, name="c")


@result(ledger=("braun2022.forgetting-amount",), uses=("prior_knowledge.loss_of_another_task",))
def amount_of_forgetting() -> Conjunction:
    """How much of task a is forgotten from b to c: c drops out, and inner products of the tasks decide.

    Less than nothing is forgotten, and the loss falls, where c is closer to a than b is.
    """
    change = loss_at(c) - loss_at(b)
    distances = norm2(c - task) / 2 - norm2(b - task) / 2
    similarities = norm2(c) / 2 - norm2(b) / 2 - trace((c - b).T @ task)
    return Conjunction(
        MatrixIdentity(change, distances, WHITE_SIZES, WHITE),
        MatrixIdentity(change, similarities, WHITE_SIZES, WHITE),
    )
