"""What is measured on networks, and how they start, against the compiled results that state it."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import torch
from torch import nn

from numerics.measures import (
    balances,
    kernel_distance,
    layer_balance,
    neuron_deltas,
    ntk,
    single_neuron_delta,
    single_neuron_ntk,
    two_layer_linear_ntk,
    two_layer_ntk,
)
from numerics.starts import single_neuron_start
from symdyn.catalogue.registry import load
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments, flat
from tests.agreement.tied.case import Refused, case, compiled, words

KERNEL = load("piecewise_linear.tangent_kernel").statement.because[1].rhs
"""The kernel of one neuron with the slopes C, a diagonal matrix."""


def rates(draw: Draw) -> Arguments:
    if draw.rng.random() < 0.3:
        return {"eta_a": 1.0, "eta_w": 1.0}
    return {name: 10.0 ** draw.rng.uniform(-2, 2) for name in ("eta_a", "eta_w")}


def neuron(draw: Draw) -> Arguments:
    return {"a": draw.scalar("a"), "w": draw.vector("w", draw.rng.choice((1, 2, 3))), **rates(draw)}


def neurons(draw: Draw) -> Arguments:
    """Two layers with one output."""
    h, d = (draw.rng.choice((1, 2, 3)) for _ in "hd")
    return {
        "a": [draw.scalar("a") for _ in range(h)],
        "W": [draw.vector("W", d) for _ in range(h)],
        **rates(draw),
    }


def layers(draw: Draw) -> Arguments:
    h, d, c = (draw.rng.choice((1, 2, 3)) for _ in "hdc")
    return {"A": draw.matrix("A", h, c, False), "W": draw.matrix("W", h, d, False), **rates(draw)}


def with_data(network: Any) -> Any:
    """The network with one to three inputs."""

    def drawn(draw: Draw) -> Arguments:
        given = network(draw)
        d = len(given["w"] if "w" in given else given["W"][0])
        return {**given, "X": [draw.vector("X", d) for _ in range(draw.rng.choice((1, 2, 3)))]}

    return drawn


def with_slope(network: Any) -> Any:
    """The network with the slope γ of its activation, and now and then an input on the boundary of a neuron."""

    def drawn(draw: Draw) -> Arguments:
        given = network(draw)
        if draw.rng.random() < 0.2:
            given["W"] = ((3, 4), *((draw.rng.randint(-3, 3), 5) for _ in given["a"][1:]))
            given["X"] = ((-8, 6), (draw.rng.randint(-3, 3), 1))
        return {**given, "gamma": draw.rng.choice((0.0, draw.rng.random(), 1e-9))}

    return drawn


def exchanged(function: Any) -> dict[str, Any]:
    """The mutant in which the layers have each other's rates."""
    return {"η_a and η_w exchanged": lambda eta_a, eta_w, **rest: function(eta_a=eta_w, eta_w=eta_a, **rest)}


def plain(function: Any) -> Any:
    return lambda W, X, **rest: function(W=np.array(W, float), X=np.array(X, float), **rest)


@case(single_neuron_delta, draw=neuron, mutants=exchanged(single_neuron_delta))
def _(**given: Any) -> Any:
    return compiled("single_neuron.conserved_delta", **given)


@case(neuron_deltas, draw=neurons, mutants=exchanged(neuron_deltas))
def _(a: Any, W: Any, eta_a: Any, eta_w: Any) -> Any:
    return [of_each(a, W, eta_a, eta_w)]


def of_each(a: Any, W: Any, eta_a: Any, eta_w: Any) -> list[Any]:
    """δ of every neuron, compiled."""
    return [
        compiled("piecewise_linear.conserved_delta", a=readout, w=w, eta_a=eta_a, eta_w=eta_w)[0]
        for readout, w in zip(a, W, strict=True)
    ]


@case(layer_balance, draw=layers, mutants=exchanged(layer_balance))
def _(**given: Any) -> Any:
    return compiled("wide_linear.conserved_balance", **given)


def of_network(A: Any, W: Any, rectified: bool, eta_a: Any, eta_w: Any) -> Any:
    """The balance of the layers of a torch network with these weights, with ReLU or nothing between them."""
    low, high = nn.Linear(W.shape[1], len(W), bias=False), nn.Linear(len(A), A.shape[1], bias=False)
    network = nn.Sequential(low, *([nn.ReLU()] if rectified else []), high).double()
    with torch.no_grad():
        low.weight.copy_(torch.tensor(W))
        high.weight.copy_(torch.tensor(A.T))
    found = balances(network, {"0": float(eta_w), "2" if rectified else "1": float(eta_a)})
    return tuple(value.detach().numpy() for value in found.values())


def torch_layers(draw: Draw) -> Arguments:
    return {**layers(draw), "rectified": draw.rng.random() < 0.5}


@case(balances, draw=torch_layers, call=of_network, draws=40, mutants=exchanged(of_network))
def _(A: Any, W: Any, rectified: bool, eta_a: Any, eta_w: Any) -> Any:
    """All of Δ for linear networks, its diagonal for rectified ones: δ of each neuron, of all its outputs."""
    (whole,) = compiled("wide_linear.conserved_balance", A=A, W=W, eta_a=eta_a, eta_w=eta_w)
    return [[whole[k][k] for k in range(len(A))]] if rectified else [whole]


@case(
    two_layer_linear_ntk,
    draw=with_data(neurons),
    decades=4,
    draws=20,
    mutants=exchanged(two_layer_linear_ntk),
)
def _(a: Any, W: Any, X: Any, eta_a: Any, eta_w: Any) -> Any:
    return compiled("wide_linear.tangent_kernel", A=[[x] for x in a], W=W, X=X, eta_a=eta_a, eta_w=eta_w)


@case(
    two_layer_ntk,
    draw=with_slope(with_data(neurons)),
    call=plain(two_layer_ntk),
    decades=4,
    draws=24,
    mutants={
        **exchanged(plain(two_layer_ntk)),
        "γ forgotten": lambda gamma, **rest: plain(two_layer_ntk)(gamma=0.0, **rest),
    },
)
def _(a: Any, W: Any, X: Any, gamma: Any, eta_a: Any, eta_w: Any) -> Any:
    """The sum over the neurons, with σ'(0) = 1."""
    W, X = ([[mp.mpf(x) for x in row] for row in rows] for rows in (W, X))
    total = mp.matrix(len(X), len(X))
    for w, readout in zip(W, a, strict=True):
        slopes = [mp.mpf(1) if mp.fdot(w, x) >= 0 else gamma for x in X]
        C = [[slope if i == j else mp.mpf(0) for j in range(len(X))] for i, slope in enumerate(slopes)]
        total += mp.matrix(words(KERNEL, C=C, X=X, w=[[x] for x in w], a=readout, eta_a=eta_a, eta_w=eta_w))
    return [total]


def of_pairs(a: Any, w: Any, X: Any, eta_a: Any, eta_w: Any) -> Any:
    """The kernel of the single neuron on all pairs of inputs."""
    return [
        [
            compiled("single_neuron.neuron_kernel", point=x, point1=y, a=a, w=w, eta_a=eta_a, eta_w=eta_w)[0]
            for y in X
        ]
        for x in X
    ]


@case(single_neuron_ntk, draw=with_data(neuron), decades=4, draws=20, mutants=exchanged(single_neuron_ntk))
def _(**given: Any) -> Any:
    return [of_pairs(**given)]


class Neuron(nn.Module):
    """f(x) = a wᵀx."""

    def __init__(self, a: Any, w: Any) -> None:
        super().__init__()
        self.a, self.w = (nn.Parameter(torch.as_tensor(x, dtype=torch.float64)) for x in (a, w))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.a * (X @ self.w)


def of_module(a: Any, w: Any, X: Any, eta_a: Any, eta_w: Any) -> Any:
    return ntk(Neuron(a, w), torch.tensor(X), {"a": float(eta_a), "w": float(eta_w)}).numpy()


@case(ntk, draw=with_data(neuron), call=of_module, decades=4, draws=20, mutants=exchanged(of_module))
def _(**given: Any) -> Any:
    return [of_pairs(**given)]


def kernels(draw: Draw) -> Arguments:
    """Two kernels, alike to any degree."""
    n = draw.rng.choice((1, 2, 3))
    factor = np.array([[draw.rng.gauss(0, 1) for _ in range(n)] for _ in range(n)])
    other = factor + 10.0 ** draw.rng.uniform(-7, 1) * np.array(
        [[draw.rng.gauss(0, 1) for _ in range(n)] for _ in range(n)]
    )
    sizes = [draw.magnitude("") for _ in range(2)]
    first, second = (s * x @ x.T for s, x in zip(sizes, (factor, other), strict=True))
    return {"K1": first.tolist(), "K2": second.tolist()}


@case(
    kernel_distance,
    draw=kernels,
    draws=30,
    mutants={"of another kernel": lambda K1, K2: kernel_distance(K1, K2 + np.diag(np.diag(K2)))},
)
def _(K1: Any, K2: Any) -> Any:
    return compiled("single_neuron.kernel_distance", kernel1=flat(K1), kernel2=flat(K2))


def predictor(draw: Draw) -> Arguments:
    d = draw.rng.choice((1, 2, 3))
    beta0 = [0.0] * d if draw.rng.random() < 0.1 else draw.vector("beta", d)
    delta = 0.0 if draw.rng.random() < 0.2 else draw.scalar("delta")
    return {"beta0": beta0, "delta": delta, **rates(draw), "sign": draw.rng.choice((1, -1))}


@case(
    single_neuron_start,
    draw=predictor,
    draws=40,
    mutants={
        **exchanged(single_neuron_start),
        "δ of the other sign": lambda delta, **rest: single_neuron_start(delta=-delta, **rest),
    },
)
def _(beta0: Any, delta: Any, eta_a: Any, eta_w: Any, sign: int) -> Any:
    """a from μ = ±‖β₀‖ and δ, and w = β₀/a."""
    if not any(beta0):
        raise Refused("beta0 must not be zero")
    mu = sign * mp.norm(beta0)
    a, _ = compiled("single_neuron.weights_from_mu", mu=mu, delta=delta, eta_a=eta_a, eta_w=eta_w)
    return [a, [x / a for x in beta0]]
