"""The evaluators of deep linear networks, against the statements of their results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np

from derivations.deep_linear import (
    inductive_bias,
    interpolating_solution,
    isotropic_init,
    isotropic_preconditioner,
    preconditioner,
)
from symdyn.catalogue.registry import load
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import Refused, case, formula
from tests.agreement.tied.wide_linear import rows_of

DUAL_IN_THE_LIMIT, POTENTIAL = (load("deep_linear.implicit_bias").statement.because[k] for k in (0, -1))
CLOSED = load("deep_linear.closed_preconditioner").statement.because[2].rhs
"""M = s^L (I - β̂β̂ᵀ) + … β̂β̂ᵀ, an isotropic operator."""


def root(square: Any, offset: Any, L: int) -> Any:
    """s ≥ offset of s^L (s - offset) = square, from above: the left side is convex there."""
    if square == 0 and (offset <= 0 or L == 0):
        return mp.mpf(offset if L == 0 else max(offset, 0))
    s = max(offset, 0) + square ** (mp.mpf(1) / (L + 1))
    for _ in range(400):
        step = (s**L * (s - offset) - square) / (s ** (L - 1) * ((L + 1) * s - L * offset))
        s -= step
        if abs(step) <= abs(s) * mp.mpf(10) ** (2 - mp.mp.dps):
            return s
    raise ArithmeticError("no root")


def square_of(v: Any) -> Any:
    return mp.fdot(v, v)


def two_functions(draw: Draw) -> Arguments:
    d = draw.rng.choice((1, 2, 3))
    beta0 = draw.vector("beta0", d)
    beta = draw.vector("beta", d, [beta0])
    delta = 0.0 if draw.rng.random() < 0.4 else -draw.magnitude("delta")
    return {"beta": beta, "beta0": beta0, "delta": delta, "depth": draw.rng.choice((1, 2, 3, 4, 6))}


def one_layer_more(function: Any) -> Any:
    return lambda depth, **rest: function(depth=depth + 1, **rest)


def size_of_potentials(outputs: Any, beta: Any, beta0: Any, delta: Any, depth: int) -> Any:
    """The two terms of which the objective is the difference."""
    linear = dual(beta0, delta, depth)
    return [abs(outputs[0][0] + mp.fdot(linear, beta)) + abs(mp.fdot(linear, beta))]


def dual(beta0: Any, delta: Any, depth: int) -> list[Any]:
    """∇Φ_δ(β_0) = s_0^{-L/2} β_0; where δ = 0, β_0 to the power of the statement."""
    L = depth - 1
    if delta == 0 and not any(beta0):
        raise Refused("the network does not move")
    s0 = root(square_of(beta0), -delta, L)
    power = s0 ** (-mp.mpf(L) / 2)
    return [power * x for x in beta0]


@case(
    inductive_bias,
    draw=two_functions,
    draws=40,
    scale=size_of_potentials,
    mutants={
        "one layer more": one_layer_more(inductive_bias),
        "without the start": lambda beta0, **rest: inductive_bias(beta0=0 * beta0 + 1e-300, **rest),
    },
)
def _(beta: Any, beta0: Any, delta: Any, depth: int) -> Any:
    L = depth - 1
    linear = mp.fdot(dual(beta0, delta, depth), beta)
    if delta == 0:
        size = mp.sqrt(square_of(beta))
        return [mp.mpf(L + 1) / (L + 2) * size ** (mp.mpf(L + 2) / (L + 1)) - linear]
    s = root(square_of(beta), -delta, L)
    return [formula(POTENTIAL.expression, s=s, e=-delta, L=mp.mpf(L)) - linear]


def underdetermined(draw: Draw) -> Arguments:
    n, extra = draw.rng.choice((1, 2)), draw.rng.choice((0, 1, 2))
    X = [[draw.rng.gauss(0, 1) for _ in range(n + extra)] for _ in range(n)]
    size = draw.magnitude("") ** 0.5
    delta = 0.0 if draw.rng.random() < 0.4 else -(draw.magnitude("delta") ** 0.5)
    return {
        "X": X,
        "y": [size * draw.rng.gauss(0, 1) * (draw.rng.random() > 0.1) for _ in range(n)],
        "beta0": draw.vector("beta0", n + extra),
        "delta": delta,
        "depth": draw.rng.choice((1, 2, 3, 5)),
    }


@case(
    interpolating_solution,
    draw=underdetermined,
    decades=6,
    draws=20,
    mutants={"one layer more": one_layer_more(interpolating_solution)},
)
def _(X: Any, y: Any, beta0: Any, delta: Any, depth: int) -> Any:
    """β_∞ = X⁺y + s^{L/2} u with s^L (s + δ - ‖u‖²) = ‖X⁺y‖², u the part of ∇Φ_δ(β_0) in the null space."""
    L, rows = depth - 1, mp.matrix(X)
    inverse = rows.T * (rows * rows.T) ** -1 if rows.rows < rows.cols else rows**-1
    plus, start = inverse * mp.matrix(y), mp.matrix(dual(beta0, delta, depth))
    u = start - inverse * (rows * start) if rows.rows < rows.cols else 0 * start
    s = root(square_of(list(plus)), square_of(list(u)) - delta, L)
    return [plus + (s ** (mp.mpf(L) / 2) if L else 1) * u]


def chain(draw: Draw) -> Arguments:
    """A read-out and one to three layers, of any widths."""
    widths = [draw.rng.choice((1, 2, 3)) for _ in range(draw.rng.choice((2, 3, 4)))]
    given: Arguments = {"a": draw.vector("a", widths[-1])}
    for k, (below, above) in enumerate(pairwise(widths), start=1):
        given[f"W{k}"] = draw.matrix(f"W{k}", above, below, False)
    return given


def of_chain(a: Any, **layers: Any) -> Any:
    return preconditioner(a, list(layers.values()))


@case(
    preconditioner,
    draw=chain,
    call=of_chain,
    draws=12,
    decades=4,
    mutants={"without the read-out": lambda a, **layers: of_chain(a, **layers) - of_chain(0 * a, **layers)},
)
def _(a: Any, **layers: Any) -> Any:
    """β̇ = -M r for the gradient flow of every layer: M = Σ_l J_l J_lᵀ, J_l the derivative of β in the layer."""
    given = [mp.matrix(layer) for layer in layers.values()]

    def function(layers: Any, readout: Any) -> Any:
        signal = readout
        for layer in reversed(layers):
            signal = layer.T * signal
        return signal

    total = mp.matrix(given[0].cols, given[0].cols)
    readout = mp.matrix(a)
    for k in range(len(a)):
        unit = mp.matrix([mp.mpf(i == k) for i in range(len(a))])
        slope = function(given, unit)
        total += slope * slope.T
    for place, layer in enumerate(given):
        for i in range(layer.rows):
            for j in range(layer.cols):
                unit = mp.matrix(layer.rows, layer.cols)
                unit[i, j] = 1
                slope = function([*given[:place], unit, *given[place + 1 :]], readout)
                total += slope * slope.T
    return [total]


def closed(draw: Draw) -> Arguments:
    delta = 0.0 if draw.rng.random() < 0.4 else -draw.magnitude("delta")
    beta = draw.vector("beta", draw.rng.choice((1, 2, 3)))
    return {"beta": beta, "delta": delta, "depth": draw.rng.choice((1, 2, 3, 5))}


@case(
    isotropic_preconditioner,
    draw=closed,
    draws=30,
    mutants={"one layer more": one_layer_more(isotropic_preconditioner)},
)
def _(beta: Any, delta: Any, depth: int) -> Any:
    L, x = depth - 1, square_of(beta)
    s = root(x, -delta, L)
    if s == 0:
        return [mp.eye(len(beta)) * (L == 0)]
    f, h = (formula(part, s=s, L=mp.mpf(L), x=x) for part in (CLOSED.f, CLOSED.h))
    return [
        [[f * (i == j) + (h * p * q / x if x else 0) for j, q in enumerate(beta)] for i, p in enumerate(beta)]
    ]


def square_network(draw: Draw) -> Arguments:
    readout = draw.magnitude("readout") * (draw.rng.random() > 0.2)
    delta = -draw.magnitude("delta") * (draw.rng.random() > 0.3)
    return {
        "delta": delta,
        "readout": readout,
        "d": draw.rng.choice((1, 2, 3)),
        "depth": draw.rng.choice((2, 3, 4)),
        "seed": draw.rng.randrange(10**6),
    }


def drawn(d: int, depth: int, delta: Any, readout: Any, seed: int) -> Any:
    a, layers = isotropic_init(d, depth, float(delta), seed, float(readout))
    return (a, *layers)


@case(
    isotropic_init,
    draw=square_network,
    call=drawn,
    facts=True,
    decades=4,
    mutants={
        "the sign of a row of the last layer swapped": lambda **given: (
            lambda a, *layers: (a, *layers[:-1], layers[-1] * np.r_[-1.0, np.ones(len(a) - 1)][:, None])
        )(*drawn(**given)),
        "δ larger by 1e-9": lambda delta, **rest: drawn(delta=delta * (1 + 1e-9), **rest),
    },
)
def _(found: Any, d: int, depth: int, delta: Any, readout: Any, seed: int) -> Any:
    """aaᵀ - W_L W_Lᵀ = δ I, W_{l+1}ᵀW_{l+1} = W_l W_lᵀ, and the read-out has the length that was asked for."""
    a, layers = mp.matrix(found[0]), [rows_of(x, d) for x in found[1:]]
    size = square_of(found[0]) + abs(delta) + mp.norm(layers[-1]) ** 2
    facts = [
        (a * a.T - layers[-1] * layers[-1].T - delta * mp.eye(d), size),
        (mp.norm(a) - readout, readout or 1),
    ]
    facts += [(up.T * up - low * low.T, size) for low, up in pairwise(layers)]
    return facts
