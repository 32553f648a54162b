r"""The network without a hidden layer, ŷ = Wx: linear dynamics, and no saddle.

τẆ = Σ^yx - WΣ^xx has the solution W = W* + (W(0) - W*)e^{-Σ^xx t/τ} with W* = Σ^yx(Σ^xx)⁻¹. For whitened inputs all of
the difference to W* decays at the one rate 1/τ. From the reversed task, W(0) = -Σ^yx, the function is
(1 - 2e^{-t/τ})Σ^yx, which passes zero at t = τ ln 2 without a stop (braun2022, Sec. 6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.network.model import inputs_correlation, task
from derivations.prior_knowledge.symbols import SIZES, TIMED, P, X, Y, i, o, sigma_xx, sigma_yx, tau
from derivations.prior_knowledge.tasks.forgetting_rule import norm2
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    eye,
    matrix,
    positive,
    random_matrix,
    random_rational,
    rule,
    substitute,
    trace,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Conjunction
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

W, W0, D = matrix("W", o, i), matrix("W0", o, i, "W(0)"), matrix("D", o, i)
decay = matrix("E", i, i, r"e^{-\tilde\Sigma^{xx}t/\tau}", symmetric=True)
back = matrix("Sxi", i, i, r"(\tilde\Sigma^{xx})^{-1}", symmetric=True)
fade = sp.Symbol("e", real=True)


def _commuting(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A symmetric invertible Σ^xx, its inverse, and a polynomial of it in place of its exponential."""
    value = random_matrix(generator, sigma_xx.letter, sizes)
    power = random_rational(generator) * value + random_rational(generator) * value * value
    return {sigma_xx.letter: value, back.letter: value.inv(), decay.letter: power}


EXPONENTIAL = Rules(
    Declaration(
        "e^{-Σ^xx t/τ} commutes with Σ^xx",
        (
            rule(sigma_xx @ decay, decay @ sigma_xx),
            rule(back @ sigma_xx, eye(i)),
            rule(sigma_xx @ back, eye(i)),
        ),
        (sigma_xx.letter, back.letter, decay.letter),
        _commuting,
    ),
    positive(tau),
)


@result(ledger=("braun2022.shallow-solution",), uses=("prior_knowledge.correlations",))
def one_layer() -> Conjunction:
    """The shallow network in closed form, for all inputs; e stands for e^{-t/τ} where they are whitened."""
    best = sigma_yx @ back
    closed = best + (W0 - best) @ decay
    loss = norm2(W @ X - Y) / (2 * P)
    gap = W - sigma_yx
    reversal = sigma_yx + (-sigma_yx - sigma_yx) * fade
    return Conjunction(
        MatrixDynamics(
            loss, -trace(D.T @ (task - W @ inputs_correlation)), {W: D}, SIZES, name=r"\mathcal L"
        ),
        MatrixDynamics(
            closed,
            (sigma_yx - closed @ sigma_xx) / tau,
            {decay: -sigma_xx @ decay / tau},
            SIZES,
            EXPONENTIAL,
            name="W",
        ),
        MatrixIdentity(substitute(closed, {decay: eye(i)}), W0, SIZES, EXPONENTIAL, name="W|_{t=0}"),
        MatrixDynamics(norm2(gap) / 2, -norm2(gap) / tau, {W: -gap / tau}, SIZES, TIMED),
        MatrixIdentity(reversal, (1 - 2 * fade) * sigma_yx, SIZES),
        MatrixDynamics(reversal, (sigma_yx - reversal) / tau, {fade: -fade / tau}, SIZES, TIMED),
    )
