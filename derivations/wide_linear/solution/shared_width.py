r"""As many hidden neurons as outputs: a matrix Riccati equation and a matrix Bernoulli equation.

Let c = h, whitened inputs, A invertible and Δ = δ I, and

    ν = A⁻¹Wβ_*,    C = AᵀA,    S = β_*ᵀβ_*.

As η_a WWᵀ = η_w AAᵀ - δ I, the cubic terms of the flow cancel, and for all rates

    ν̇ = η_w S - δν - η_a ν²,        Ċ = C(η_a ν + δ) + (η_a ν + δ)ᵀC - 2η_w C².

ν is not symmetric and does not commute with S in general (kunin2024, App. B.1.1).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.wide_linear import symbols
from derivations.wide_linear.starts.isotropy import RATES, draw
from derivations.wide_linear.symbols import C, S, beta_star, c, d, delta, eta_a, eta_w, h, nu
from symdyn.calculus.matrix import Declaration, Expression, Rules, eye, matrix, rule, substitute
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.inference import Characterised
from symdyn.statements.matrix import MatrixDynamics

A, W = matrix("A", c, c), matrix("W", c, d)
UNIT = {eta_a: sp.S.One, eta_w: sp.S.One}
SHAPES = ({c: 2, d: 3}, {c: 2, d: 1}, {c: 3, d: 2})


def _weights(rates: dict[Any, Any]) -> Rules:
    """Isotropic weights with an invertible A, and rates that are drawn, or given."""

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        width, inputs = sizes[c], sizes[d]
        signs = [1] + [0, -1] * (width <= inputs)
        drawn = draw(generator, {h: width, d: inputs, c: width}, lambda *_: signs)
        readout, input_ = drawn[symbols.A.letter], drawn[symbols.W.letter]
        if readout.det() == 0:
            return sampler(generator, sizes)
        # with √η_w A and √η_a W in place of A and W, the rates are 1 and the balance stays
        if rates:
            roots = sp.sqrt(drawn[eta_w]), sp.sqrt(drawn[eta_a])
            readout, input_ = roots[0] * readout, roots[1] * input_
        scalars = {symbol: drawn[symbol] for symbol in (delta, eta_a, eta_w)}
        return {A.letter: readout, W.letter: input_} | scalars | rates

    image = (eta_w * A @ A.T - delta * eye(c)) / eta_a
    isotropic = rule(W @ W.T, image.map(lambda scalar: scalar.xreplace(rates)))
    return Rules(Declaration("Δ = δ I, A invertible", (isotropic,), (A.letter, W.letter), sampler, RATES))


ANY_RATES, UNIT_RATES = _weights({}), _weights(UNIT)

error = W.T @ A - beta_star
flow = {A: -eta_a * W @ error, W: -eta_w * A @ error.T}
ratio, gram, task = A.inverse() @ W @ beta_star, A.T @ A, beta_star.T @ beta_star


def nu_velocity(nu: Expression, S: Expression) -> Expression:
    return eta_w * S - delta * nu - eta_a * nu @ nu


def C_velocity(nu: Expression, C: Expression) -> Expression:
    pull = eta_a * nu + delta * eye(c)
    return C @ pull + pull.T @ C - 2 * eta_w * C @ C


def of_weights(x: Expression) -> Expression:
    """A function of ν, C and S as one of the weights and the task."""
    return substitute(x, {nu: ratio, C: gram, S: task})


def at_unit_rates(x: Expression) -> Expression:
    """x with both rates 1, where the paper sets them so."""
    return x.map(lambda scalar: scalar.xreplace(UNIT))


@result(ledger=("kunin2024.ch-nu-riccati",), uses=("wide_linear.isotropic_initialisation",))
def ratio_dynamics() -> Characterised:
    """The matrix Riccati equation of ν = A⁻¹Wβ_*, for all rates."""
    return Characterised.of(
        nu_velocity(nu, S),
        lambda velocity: (MatrixDynamics(ratio, of_weights(velocity), flow, SHAPES, ANY_RATES, name=r"\nu"),),
    )


@result(ledger=("kunin2024.ch-C-bernoulli",), uses=("wide_linear.isotropic_initialisation",))
def gram_dynamics() -> Characterised:
    """The matrix Bernoulli equation of C = AᵀA, driven by ν, for all rates."""
    return Characterised.of(
        C_velocity(nu, C),
        lambda velocity: (MatrixDynamics(gram, of_weights(velocity), flow, SHAPES, ANY_RATES, name="C"),),
    )


unit_flow = {letter: at_unit_rates(velocity) for letter, velocity in flow.items()}


@printed("kunin2024.ch-nu-riccati", quote=r"$\dot\nu=\beta_*^\top\beta_*-\delta\nu-\nu^2$")
def printed_ratio_dynamics() -> MatrixDynamics:
    """As printed, for unit rates."""
    velocity = task - delta * ratio - ratio @ ratio
    return MatrixDynamics(ratio, velocity, unit_flow, SHAPES, UNIT_RATES, name=r"\nu")


@printed(
    "kunin2024.ch-C-bernoulli",
    quote=r"$\dot C=C(\nu+\delta\mathbf I_h)+(\nu+\delta\mathbf I_h)^\top C-2C^2$",
)
def printed_gram_dynamics() -> MatrixDynamics:
    """As printed, for unit rates."""
    pull = ratio + delta * eye(c)
    velocity = gram @ pull + pull.T @ gram - 2 * gram @ gram
    return MatrixDynamics(gram, velocity, unit_flow, SHAPES, UNIT_RATES, name="C")
