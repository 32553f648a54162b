r"""Isotropic networks: what they are, that gradient flow keeps them so, and which balances are possible.

    aaᵀ - W_L W_Lᵀ = δ I_h,        W_{l+1}ᵀW_{l+1} = W_l W_lᵀ.

Gradient flow conserves the difference of the two sides of each, for every loss, because a rotation between two
layers leaves the function unchanged. For a direction v across a the first says ‖W_Lᵀv‖² = -δ‖v‖²: with more than one
hidden neuron δ ≤ 0, and every δ ≤ 0 is possible with a read-out of any length (kunin2024, App. B.2, Definition 12).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.deep_linear.network.chains import a, aa, drawn_chain, isotropic
from derivations.deep_linear.symbols import d, delta, h, m, n
from symdyn.calculus.matrix import Declaration, Rules, eye, matrix, orthogonal, rule, unit, vector
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Conjunction, Existence
from symdyn.statements.matrix import MatrixConservation, MatrixIdentity

SQUARE = ({h: 2, d: 2}, {h: 3, d: 3})
ANY = ({h: 2, d: 3, m: 2, n: 2}, {h: 3, d: 2, m: 2, n: 1})
alpha, rho = sp.symbols("alpha rho", real=True)
eta_l, eta_u = sp.symbols("eta_l eta_u", real=True)


@result(ledger=("kunin2024.deep-isotropic-definition",))
def isotropic_network() -> Conjunction:
    """An isotropic network: the read-out balances the last layer up to δ I, and the layers balance each other.

    The rules are consistent, because rational weights satisfy them, and δ is determined by them.
    """
    (W1, W2), rules = isotropic(2)
    return Conjunction(
        MatrixIdentity(aa - W2 @ W2.T, delta * eye(h), SQUARE, rules, name=r"aa^\top-W_LW_L^\top"),
        MatrixIdentity(W2.T @ W2, W1 @ W1.T, SQUARE, rules, name=r"W_{l+1}^\top W_{l+1}"),
    )


def orthogonal_layers() -> tuple[Any, Any, Rules]:
    """Two orthogonal matrices O and O', of consecutive layers."""
    lower, upper = matrix("O", h, h, "O_l"), matrix("U", h, h, "O_{l+1}")
    return lower, upper, Rules(orthogonal(lower), orthogonal(upper))


@result(ledger=("kunin2024.deep-isotropic-orthogonal-example",), uses=("deep_linear.isotropic_network",))
def orthogonal_start() -> Conjunction:
    """A read-out of zero with layers W_l = α O_l, O_l orthogonal, is isotropic with δ = -α²."""
    lower, upper, rules = orthogonal_layers()
    below, above = alpha * lower, alpha * upper
    nothing = 0 * a
    return Conjunction(
        MatrixIdentity(nothing @ nothing.T - above @ above.T, -(alpha**2) * eye(h), SQUARE, rules),
        MatrixIdentity(above.T @ above, below @ below.T, SQUARE, rules),
    )


@result(ledger=("kunin2024.deep-isotropic-conserved",), uses=("deep_linear.layer_velocity",))
def conserved_structure() -> Conjunction:
    """Gradient flow conserves what makes a network isotropic, for every loss.

    With P the layers below two consecutive ones, q what is above them, and r the gradient of the loss in β, their
    flow is that of `layer_velocity`. With a rate for each layer it is η_l W_{l+1}ᵀW_{l+1} - η_{l+1} W_l W_lᵀ that is
    conserved; for equal rates this is the structure of an isotropic network.
    """
    P, lower, upper = matrix("P", n, d), matrix("W", m, n, "W_l"), matrix("V", h, m, "W_{l+1}")
    q, r, whole = vector("q", h), vector("r", d), matrix("P", h, d, "P_{L-1}")
    last = matrix("W", h, h, "W_L")
    layered = {upper: -eta_u * q @ (lower @ P @ r).T, lower: -eta_l * upper.T @ q @ (P @ r).T}
    topmost = {a: -eta_u * last @ whole @ r, last: -eta_l * a @ (whole @ r).T}
    between = eta_l * upper.T @ upper - eta_u * lower @ lower.T
    at_the_top = eta_l * aa - eta_u * last @ last.T
    return Conjunction(
        MatrixConservation(between, layered, ANY), MatrixConservation(at_the_top, topmost, ANY)
    )


def across_the_readout() -> tuple[Any, Any, Rules]:
    """The last layer W of an isotropic network, and a direction v across its read-out."""
    W, v = matrix("W", h, h, "W_L"), vector("v", h)

    def sampler(rng: random.Random, sizes: Any) -> dict[Any, Any]:
        readout, (weights,), balance = drawn_chain(rng, sizes[h], sizes[h], 1)
        across = sp.Matrix([-readout[1], readout[0], *([0] * (sizes[h] - 2))])
        return {a.letter: readout, W.letter: weights, v.letter: across, delta: balance}

    rules = (rule(W @ W.T, aa - delta * eye(h)), rule(v.T @ a, 0))
    return W, v, Rules(Declaration("v across a", rules, (W.letter, a.letter, v.letter), sampler))


@result(uses=("deep_linear.isotropic_network",))
def possible_balances() -> Existence:
    """With two or more hidden neurons an isotropic network has δ ≤ 0, and ‖a‖² ≥ δ; all such are possible.

    For v across a, ‖W_Lᵀv‖² = -δ‖v‖² cannot be negative. Conversely W = α O + (ρ - α) ûûᵀO has
    W Wᵀ = α² I + (ρ² - α²) ûûᵀ, which with û along a and ρ² - α² = ‖a‖² is aaᵀ + α² I.
    """
    W, v, rules = across_the_readout()
    rotation, direction = matrix("O", h, h), vector("u", h, r"\hat u")
    layer = alpha * rotation + (rho - alpha) * direction @ direction.T @ rotation
    return Existence(
        r"$\delta\le0$ if $h\ge2$; every $\delta=-\alpha^2$ and every $\|a\|$ occur",
        (
            MatrixIdentity(
                (W.T @ v).T @ (W.T @ v), -delta * v.T @ v, SQUARE, rules, name=r"\|W_L^\top v\|^2"
            ),
            MatrixIdentity(
                layer @ layer.T,
                alpha**2 * eye(h) + (rho**2 - alpha**2) * direction @ direction.T,
                SQUARE,
                Rules(orthogonal(rotation), unit(direction)),
                name=r"W_LW_L^\top",
            ),
        ),
    )
