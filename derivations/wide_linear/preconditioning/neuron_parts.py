r"""The preconditioner as a sum over hidden neurons, each known from its function and its balance.

The neuron with weights w_k and a_k contributes β_k = w_k a_kᵀ and keeps δ_k = η_w‖a_k‖² - η_a‖w_k‖². The terms of δ_k
have the difference δ_k and the product η_a η_w‖β_k‖², so they are (κ_k ± δ_k)/2 with κ_k² = δ_k² + 4 η_a η_w‖β_k‖²,
and the projectors on a_k and w_k are those on the rows and columns of β_k. Summed over the neurons this gives AᵀA and
WᵀW, and with them M (kunin2024, Sec. 4, Theorem 2 and App. B.1.3).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.single_neuron.quantities import kappa_minus, kappa_plus
from derivations.wide_linear.network.model import M, balance
from derivations.wide_linear.symbols import SIZES, A, W, a, beta_k, delta, eta_a, eta_w, k, w
from symdyn.calculus.matrix import (
    Expression,
    Rules,
    basis,
    entry,
    kron_sum,
    positive,
    substitute,
    sum_over,
    trace,
)
from symdyn.catalogue.result import result
from symdyn.statements.hypothesis import stated
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Conjunction
from symdyn.statements.matrix import MatrixIdentity

RATES = Rules(positive(eta_a, eta_w))


def square(x: Expression) -> sp.Expr:
    """The squared norm of a column, as a scalar."""
    return (x.T @ x).scalar()


def shares(function: Expression, balance_of_neuron: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """(κ + δ)/2 and (κ - δ)/2 of a neuron, which are η_w‖a_k‖² and η_a‖w_k‖²."""
    x = eta_a * eta_w * trace(function.T @ function)
    return kappa_plus(balance_of_neuron, x) / 2, kappa_minus(balance_of_neuron, x) / 2


def neuron_part(function: Expression, balance_of_neuron: sp.Expr) -> Expression:
    """M_k as a function of β_k and δ_k."""
    readout, input_ = shares(function, balance_of_neuron)
    norm2 = trace(function.T @ function)
    return kron_sum(readout / norm2 * function.T @ function, input_ / norm2 * function @ function.T)


function = w @ a.T
balance_of_one = eta_w * square(a) - eta_a * square(w)


def of_weights(x: Any) -> Any:
    """A function of β_k and δ_k as one of the weights."""
    return substitute(x, {beta_k: function, delta: balance_of_one})


@result(ledger=("kunin2024.thm2-gram",))
def gram_of_a_neuron() -> Conjunction:
    """The Gram matrices and the norm of the function of one neuron."""
    return Conjunction(
        MatrixIdentity(function.T @ function, square(w) * a @ a.T, SIZES, name=r"\beta_k^\top\beta_k"),
        MatrixIdentity(function @ function.T, square(a) * w @ w.T, SIZES, name=r"\beta_k\beta_k^\top"),
        MatrixIdentity(trace(function.T @ function), square(a) * square(w), SIZES, name=r"\|\beta_k\|_F^2"),
        MatrixIdentity(trace(function @ function.T), square(a) * square(w), SIZES, name=r"\|\beta_k\|_F^2"),
    )


_gram = beta_k.T @ beta_k
RANK_ONE = (
    "of rank one, up to rounding",
    trace(_gram @ _gram) >= (1 - sp.Rational(1, 10**5)) * trace(_gram) ** 2,
    "beta_k",
)
"""What a function w_k a_kᵀ is; the traces of its Gram matrix and of the square of this tell."""
ACTIVE = Rules(positive(eta_a, eta_w, square(a), square(w)))
"""Both weights of the neuron are not zero, as its function is not."""
NONZERO = ("non-zero (the limit depends on the direction)", trace(_gram) > 0, "beta_k")


OF_RANK_ONE = stated("Sec. 4, before Theorem 2", "β_k = w_k a_kᵀ, a matrix of rank one", RANK_ONE[1])
NOT_ZERO = stated("Sec. 4, Theorem 2", "‖β_k‖_F ≠ 0 for all k", NONZERO[1])


@result(ledger=("kunin2024.thm2-norms",), requires=(RANK_ONE,), hypotheses=(OF_RANK_ONE,))
def norms_of_a_neuron() -> Characterised:
    """The squared norms of the weights of one neuron, from its function and its balance."""
    readout, input_ = shares(beta_k, delta)

    def facts(norms: tuple[sp.Expr, sp.Expr]) -> tuple[MatrixIdentity, ...]:
        return (
            MatrixIdentity(square(a), of_weights(norms[0]), SIZES, RATES, name=r"\|a_k\|^2"),
            MatrixIdentity(square(w), of_weights(norms[1]), SIZES, RATES, name=r"\|w_k\|^2"),
        )

    return Characterised.of((readout / eta_w, input_ / eta_a), facts)


@result(
    ledger=("kunin2024.thm2-outer-products",),
    uses=("wide_linear.norms_of_a_neuron",),
    requires=(RANK_ONE, NONZERO),
    hypotheses=(OF_RANK_ONE, NOT_ZERO),
)
def outer_products_of_a_neuron() -> Characterised:
    """The outer products of the weights of one neuron, from its function and its balance."""
    readout, input_ = shares(beta_k, delta)
    norm2 = trace(beta_k.T @ beta_k)

    def facts(products: tuple[Expression, Expression]) -> tuple[MatrixIdentity, ...]:
        return (
            MatrixIdentity(a @ a.T, of_weights(products[0]), SIZES, ACTIVE, name=r"a_ka_k^\top"),
            MatrixIdentity(w @ w.T, of_weights(products[1]), SIZES, ACTIVE, name=r"w_kw_k^\top"),
        )

    return Characterised.of(
        (
            readout / (eta_w * norm2) * beta_k.T @ beta_k,
            input_ / (eta_a * norm2) * beta_k @ beta_k.T,
        ),
        facts,
    )


@result(
    ledger=("kunin2024.thm2-M-neuron-sum",),
    uses=("wide_linear.gram_of_a_neuron",),
    requires=(RANK_ONE, NONZERO),
    hypotheses=(OF_RANK_ONE, NOT_ZERO),
)
def part_of_a_neuron() -> Characterised:
    """The part of the preconditioner that one neuron contributes, M_k = η_w a_k a_kᵀ ⊕ η_a w_k w_kᵀ."""
    part, by_layers = neuron_part(beta_k, delta), kron_sum(eta_w * a @ a.T, eta_a * w @ w.T)
    return Characterised.of(
        part,
        lambda part: (MatrixIdentity(by_layers, of_weights(part), SIZES, ACTIVE, name="M_k"),),
        name=r"M_k",
    )


@result(
    ledger=("kunin2024.thm2-M-neuron-sum",), uses=("wide_linear.part_of_a_neuron",), hypotheses=(NOT_ZERO,)
)
def neuron_decomposition() -> Conjunction:
    """The preconditioner is the sum of the parts of the neurons, where none of them has a vanishing function.

    The balance of neuron k is the diagonal entry Δ_kk.
    """
    of_neuron = W.T @ basis(k) @ basis(k).T @ A
    parts = sum_over(k, neuron_part(of_neuron, entry(balance, k, k)))
    every = Rules(positive(eta_a, eta_w, square(A.T @ basis(k)), square(W.T @ basis(k))))
    return Conjunction(MatrixIdentity(M, parts, SIZES, every, name="M"))
