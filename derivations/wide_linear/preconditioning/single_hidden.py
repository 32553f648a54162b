r"""One hidden neuron: the preconditioner with one output, with one input, and its limits.

Theorem 2 with h = 1 has one term. With c = 1 the projector on the rows is 1 and M = (κ + δ)/2 I + (κ - δ)/2 β̂β̂ᵀ acts
on inputs; with d = 1 that on the columns is 1 and M = (κ + δ)/2 β̂ᵀβ̂ + (κ - δ)/2 I acts on outputs. So the sign of δ for
which M becomes a multiple of the identity is opposite in the two, and with c = d = 1 there is no wrong sign
(kunin2024, App. B.1.4).
"""

from __future__ import annotations

import functools
from typing import Any

import sympy as sp

from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.wide_linear.preconditioning.neuron_parts import neuron_part, square
from derivations.wide_linear.symbols import SIZES, beta, c, d, delta, eta_a, eta_w
from symdyn.calculus.gram import norm2
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix import Expression, Rules, eye, kron_sum, matrix, nonzero, positive
from symdyn.catalogue.result import result
from symdyn.compile.named import unfold
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import Hypothesis, stated
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Asymptotic, Conjunction, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity

x = norm2(beta)
x_rates = eta_a * eta_w * x
k, plus, minus = (quantity(delta, x_rates) for quantity in (kappa, kappa_plus, kappa_minus))
one_output = Isotropic(plus / 2, minus / 2, x, beta)
"""M for h = c = 1, on inputs."""
one_input = Isotropic(minus / 2, plus / 2, x, beta)
"""M for h = d = 1, on outputs; β is the column βᵀ."""

NOT_ZERO = (
    stated(
        "Sec. 4, Theorem 2",
        "β ≠ 0; where the limit at β = 0 does not depend on the direction, it is computed",
        beta,
    ),
)


def at_zero(identity_share: sp.Expr) -> tuple[Hypothesis]:
    """The hypothesis that β ≠ 0, for what a function asks of it."""
    return (stated(NOT_ZERO[0].place, NOT_ZERO[0].words, directed(identity_share)[1]),)


any_balance = Domain(
    (delta, eta_a, eta_w),
    (beta,),
    (Cell("positive rates", {eta_a: 1, eta_w: 1, x: 1}),),
    words="β ≠ 0",
    hypotheses=NOT_ZERO,
)


def as_matrix(operator: Isotropic, column: Expression, balance: sp.Expr) -> Expression:
    """An isotropic operator of β and δ as a matrix, for β a column."""
    values = {operator.x: square(column), delta: balance}
    along, everywhere = (unfold(x).xreplace(values) for x in (operator.h, operator.f))
    return everywhere * eye(column.rows) + along / square(column) * column @ column.T


def weights(rows: Any, cols: Any) -> tuple[Expression, Expression]:
    return matrix("A", 1, cols), matrix("W", 1, rows)


@functools.cache
def active(rows: Any, cols: Any) -> Rules:
    """The rates are positive, and neither weight of the neuron is zero."""
    return Rules(positive(eta_a, eta_w), nonzero(*(square(x.T) for x in weights(rows, cols))))


def special(operator: Isotropic, rows: Any, cols: Any) -> tuple[MatrixIdentity, MatrixIdentity]:
    """The facts that M of one neuron with a scalar on one side is the operator, of β or of βᵀ."""
    readout, input_ = weights(rows, cols)
    of_weights = input_.T @ readout
    balance = eta_w * (readout @ readout.T).scalar() - eta_a * (input_ @ input_.T).scalar()
    by_layers = kron_sum(eta_w * readout.T @ readout, eta_a * input_.T @ input_)
    found = as_matrix(operator, of_weights if cols == 1 else of_weights.T, balance)
    return (
        MatrixIdentity(neuron_part(of_weights, balance), found, SIZES, active(rows, cols)),
        MatrixIdentity(by_layers, found, SIZES, active(rows, cols), name="M"),
    )


def directed(identity_share: sp.Expr) -> tuple[str, Any, str]:
    """The condition that β has a direction, unless the share of the projector on it vanishes with β."""
    sign = "<" if identity_share == delta else ">"
    return (
        f"non-zero where delta {sign} 0 (the limit depends on the direction)",
        (identity_share >= 0) | (x > 0),
        "beta",
    )


@result(
    ledger=("kunin2024.h1-M-c1",),
    uses=("wide_linear.part_of_a_neuron",),
    requires=(directed(delta),),
    hypotheses=at_zero(delta),
)
def one_output_preconditioner() -> Characterised:
    """With one hidden neuron and one output, M is a multiple of the identity plus a projector on β."""
    return Characterised.of(one_output, lambda operator: special(operator, d, 1))


@result(
    ledger=("kunin2024.h1-M-d1",),
    uses=("wide_linear.part_of_a_neuron",),
    requires=(directed(-delta),),
    hypotheses=at_zero(-delta),
)
def one_input_preconditioner() -> Characterised:
    """With one hidden neuron and one input, the identity and the projector change places."""
    return Characterised.of(one_input, lambda operator: special(operator, 1, c))


@result(
    ledger=("kunin2024.h1-limits",),
    domain=any_balance,
    uses=("wide_linear.one_output_preconditioner", "wide_linear.one_input_preconditioner"),
)
def one_neuron_limits() -> Conjunction:
    """For large δ the first form tends to δ times the identity and the second to δ times the projector; and vice versa.

    Of the two weights (κ + δ)/2 and (κ - δ)/2, one is |δ| + O(1/δ) and the other O(1/δ), β and the rates held fixed.
    """
    weights, none = (plus / 2, minus / 2), sp.S.Zero
    return Conjunction(
        Identity(one_output, Isotropic(weights[0], weights[1], x, beta), name="M_{c=1}"),
        Identity(one_input, Isotropic(weights[1], weights[0], x, beta), name="M_{d=1}"),
        Asymptotic(weights, (delta, none), delta, sp.oo, 1 / delta, sharp=True),
        Asymptotic(weights, (none, -delta), delta, -sp.oo, 1 / delta, sharp=True),
    )


@result(
    ledger=("kunin2024.h1-scalar",),
    domain=any_balance,
    arguments=("beta", "delta", "eta_a", "eta_w"),
    uses=("wide_linear.one_output_preconditioner", "wide_linear.one_input_preconditioner"),
)
def scalar_preconditioner() -> Conjunction:
    """With one neuron, one input and one output, M is κ: constant for large |δ|, proportional to |β| in balance."""
    length = sp.sqrt(x)
    balanced = any_balance.with_cells(
        Cell("δ = 0", {eta_a: 1, eta_w: 1, x: 1}, {delta: sp.S.Zero}, "the balanced network")
    ).supposing(stated("App. B.1.4", "when δ = 0, M depends on β", delta))
    return Conjunction(
        Identity(one_output.radial, k, name="M"),
        Identity(one_input.radial, k, name="M"),
        Asymptotic(k, delta, delta, sp.oo, 1 / delta, sharp=True),
        Asymptotic(k, -delta, delta, -sp.oo, 1 / delta, sharp=True),
        Identity(k, 2 * sp.sqrt(eta_a * eta_w) * length, on=balanced),
        Inequality(2 * sp.sqrt(eta_a * eta_w) * length, ">", on=balanced),
        compiles=k,
    )
