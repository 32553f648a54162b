r"""How isotropic layers telescope: β as a polynomial in ‖a‖² and W_1ᵀW_1.

Backward, the read-out becomes q_L = a, q_{l-1} = W_lᵀq_l, β = q_0. Each of these is an eigenvector of its layer,
W_l W_lᵀq_l = s q_l with s = ‖a‖² - δ: this holds for a, and passes down, because W_{l-1}W_{l-1}ᵀ = W_lᵀW_l. So each
layer multiplies the squared length by s.

Forward, with P_l = W_l⋯W_1 and G = W_1ᵀW_1, a layer passes G through, W_l W_lᵀP_l = P_l G. So P_lᵀP_l = G^l
(kunin2024, App. B.2, Lemma 13). Neither uses that the network is square.
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.deep_linear.network.chains import a, aa, drawn_chain, isotropic, norm2_a, s
from derivations.deep_linear.symbols import d, delta, h
from symdyn.calculus.matrix import Declaration, Expression, Rules, eye, matrix, rule, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.kinds import Existence
from symdyn.statements.matrix import MatrixIdentity

SIZES = ({h: 2, d: 2}, {h: 2, d: 3})
eigenvalue = sp.Symbol("s", real=True)

P, V, W = matrix("P", h, d, "P_l"), matrix("V", h, h, "W_l"), matrix("W", h, h, "W_{l+1}")
G, H = matrix("G", d, d, symmetric=True), matrix("H", d, d, "G^l", symmetric=True)
q, last = vector("q", h, "q_l"), matrix("W", h, h, "W_L")


def forward() -> Rules:
    """What holds after l ≥ 2 layers, and that the next one is balanced with the last."""

    def sampler(rng: random.Random, sizes: Any) -> dict[Any, Any]:
        _, (first, second, third), _ = drawn_chain(rng, sizes[h], sizes[d], 3)
        passed = second * first
        return {
            P.letter: passed,
            V.letter: second,
            W.letter: third,
            G.letter: first.T * first,
            H.letter: passed.T * passed,
        }

    rules = (rule(V @ V.T @ P, P @ G), rule(P.T @ P, H), rule(W.T @ W, V @ V.T))
    return Rules(Declaration("balanced layers", rules, tuple(x.letter for x in (P, V, W, G, H)), sampler))


def backward() -> Rules:
    """What holds of the signal q that has come down to layer V, and that the layer U below it is balanced."""
    below = matrix("U", h, h, "W_{l-1}")

    def sampler(rng: random.Random, sizes: Any) -> dict[Any, Any]:
        readout, (first, second), balance = drawn_chain(rng, sizes[h], sizes[h], 2)
        return {
            q.letter: readout,
            V.letter: second,
            below.letter: first,
            eigenvalue: readout.dot(readout) - balance,
        }

    rules = (rule(V @ V.T @ q, eigenvalue * q), rule(below @ below.T, V.T @ V))
    return Rules(Declaration("an eigenvector", rules, (q.letter, V.letter, below.letter), sampler))


def at_the_top() -> Rules:
    """The read-out and the last layer of an isotropic network."""

    def sampler(rng: random.Random, sizes: Any) -> dict[Any, Any]:
        readout, (weights,), balance = drawn_chain(rng, sizes[h], sizes[h], 1)
        return {a.letter: readout, last.letter: weights, delta: balance}

    rules = (rule(last @ last.T, aa - delta * eye(h)),)
    return Rules(Declaration("isotropic at the top", rules, (a.letter, last.letter), sampler))


@result(uses=("deep_linear.isotropic_network",))
def forward_products() -> Existence:
    """In an isotropic network P_lᵀP_l = G^l with G = W_1ᵀW_1, P_l = W_l⋯W_1.

    From P_1 = W_1 on, by induction: WᵀW = VVᵀ for the next layer W and the last, V.
    """
    first = matrix("W1", h, d, "W_1")
    passed = W @ P
    return Existence(
        r"$W_lW_l^\top P_l=P_lG$ and $P_l^\top P_l=G^l$ for every $l$",
        (
            MatrixIdentity(first @ first.T @ first, first @ (first.T @ first), SIZES),
            MatrixIdentity(
                W @ W.T @ passed, passed @ G, SIZES, forward(), name=r"W_{l+1}W_{l+1}^\top P_{l+1}"
            ),
            MatrixIdentity(passed.T @ passed, H @ G, SIZES, forward(), name=r"P_{l+1}^\top P_{l+1}"),
        ),
    )


@result(uses=("deep_linear.isotropic_network",))
def backward_signals() -> Existence:
    """Going down an isotropic network the read-out stays an eigenvector, and each layer multiplies ‖q‖² by ‖a‖² - δ.

    From q_L = a on, by induction: q_{l-1} = W_lᵀq_l, and W_{l-1}W_{l-1}ᵀ = W_lᵀW_l.
    """
    below, arrived = matrix("U", h, h, "W_{l-1}"), V.T @ q
    return Existence(
        r"$W_lW_l^\top q_l=sq_l$ and $\|q_{l-1}\|^2=s\|q_l\|^2$ for every $l$, $s=\|a\|^2-\delta$",
        (
            MatrixIdentity(last @ last.T @ a, s * a, SIZES, at_the_top(), name=r"W_LW_L^\top a"),
            MatrixIdentity(below @ below.T @ arrived, eigenvalue * arrived, SIZES, backward()),
            MatrixIdentity(
                arrived.T @ arrived, eigenvalue * q.T @ q, SIZES, backward(), name=r"\|q_{l-1}\|^2"
            ),
        ),
    )


def predictor(W: list[Expression]) -> Expression:
    """β = W_1ᵀ⋯W_Lᵀa."""
    signal = a
    for layer in reversed(W):
        signal = layer.T @ signal
    return signal


@result(ledger=("kunin2024.lemma13-norm",), uses=("deep_linear.backward_signals",))
def norm_of_beta() -> Existence:
    """The squared norm of β in an isotropic network, ‖β‖² = ‖a‖²(‖a‖² - δ)^L.

    The backward signal starts as a and is multiplied L times by s = ‖a‖² - δ. Written out for up to three layers.
    """
    facts = []
    for depth in (1, 2, 3):
        W, rules = isotropic(depth)
        beta = predictor(W)
        facts.append(
            MatrixIdentity(beta.T @ beta, norm2_a * s**depth * eye(1), SIZES, rules, name=r"\|\beta\|^2")
        )
    return Existence(
        r"$q_L=a$ and $\|q_{l-1}\|^2=(\|a\|^2-\delta)\|q_l\|^2$, $\beta=q_0$",
        tuple(facts),
        formula=r"\|\beta\|^2 = \|a\|^2 \left(\|a\|^2 - \delta\right)^L",
    )


@result(ledger=("kunin2024.lemma13-outer",), uses=("deep_linear.forward_products",))
def outer_product_of_beta() -> Existence:
    """The outer product of β in an isotropic network, ββᵀ = G^{L+1} + δ G^L with G = W_1ᵀW_1.

    Because β = P_Lᵀa, and aaᵀ = W_L W_Lᵀ + δ I. Written out for up to three layers.
    """
    facts = [
        MatrixIdentity(
            P.T @ (V @ V.T + delta * eye(h)) @ P, H @ G + delta * H, SIZES, forward(), name=r"\beta\beta^\top"
        )
    ]
    for depth in (1, 2, 3):
        W, rules = isotropic(depth)
        beta, gram = predictor(W), W[0].T @ W[0]
        facts.append(
            MatrixIdentity(
                beta @ beta.T,
                gram ** (depth + 1) + delta * gram**depth,
                SIZES,
                rules,
                name=r"\beta\beta^\top",
            )
        )
    return Existence(
        r"$\beta\beta^\top=P_L^\top(W_LW_L^\top+\delta I)P_L$ and $P_L^\top W_LW_L^\top P_L=G^{L+1}$",
        tuple(facts),
        formula=r"\beta\beta^\top = (W_1^\top W_1)^{L+1} + \delta (W_1^\top W_1)^L",
    )


def telescoped(depth: int, exponent: int, sizes: Any) -> tuple[MatrixIdentity, MatrixIdentity]:
    """‖β‖² = aᵀ(W_L W_Lᵀ)^exponent a = aᵀ(aaᵀ - δ I)^exponent a, in a network of `depth` hidden layers."""
    W, rules = isotropic(depth)
    length, top = predictor(W).T @ predictor(W), W[-1] @ W[-1].T
    shifted = a.T @ (aa - delta * eye(h)) ** exponent @ a
    return (
        MatrixIdentity(length, a.T @ top**exponent @ a, sizes, rules, name=r"\|\beta\|^2"),
        MatrixIdentity(length, shifted, sizes, rules, name=r"\|\beta\|^2"),
    )


@result(ledger=("kunin2024.lemma13-proof-telescoping",), uses=("deep_linear.norm_of_beta",))
def telescoped_norm() -> Existence:
    """The squared norm of β as a telescoped product, with one factor W_L W_Lᵀ for each hidden layer."""
    return Existence(
        r"$\|\beta\|^2$ has one factor $W_LW_L^\top=aa^\top-\delta I_h$ for each of the L hidden layers",
        tuple(fact for depth in (1, 2, 3) for fact in telescoped(depth, depth, SIZES)),
        formula=r"\|\beta\|^2 = a^\top (W_L W_L^\top)^L a = a^\top (aa^\top - \delta I_h)^L a",
    )


@printed(
    "kunin2024.lemma13-proof-telescoping",
    quote=r"$\|\beta\|^2=a^\top(W_LW_L^\top)^da=a^\top(aa^\top-\delta\mathbf I_h)^da$",
    severity="typo",
)
def printed_telescoped_norm() -> Existence:
    """As printed, with the input dimension d in place of L in the exponent.

    With one hidden layer and d = 2 it is off by the factor ‖a‖² - δ.
    """
    return Existence(
        r"$\|\beta\|^2$ has d factors $W_LW_L^\top$: here one hidden layer, and d = 2",
        telescoped(1, 2, ({h: 2, d: 2},)),
        formula=r"\|\beta\|^2 = a^\top (W_L W_L^\top)^d a = a^\top (aa^\top - \delta I_h)^d a",
    )
