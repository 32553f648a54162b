"""The norm of the gradient against the layer in a network of 250 layers (Nait Saada and Tanner 2023, figure 12).

Low-rank tanh networks with γ = 1/4 and γσ_b² = 0.05 are given ten digits, one of each class, and a random readout with
cross-entropy; ‖∇_A E‖² of the coefficients of each layer is measured by back-propagation. The published figure is of
MNIST and does not state the width; here it is 400, and the digits are the embedded ones of 8 × 8 pixels, which a random
layer takes to the width. The figure's variances, "γσ_α² from 0.01/γ to 0.3/γ", are all in the ordered phase; two are
added, on the edge of chaos and above it. Gradients of the ordered phase leave the range of numbers: each layer's is
kept with a logarithm of its scale.

The logarithm of the norm is fitted by a line over the layers 25 to 225, where lengths have settled. For wide
networks it has the slope -log χ. Means over networks of the logarithm are less steep in growth, by O(1/N) a layer,
than logarithms of means; on the edge that is all there is. Slopes agree if they are within 0.05 of -log χ, or
within a twentieth of it. "Linear" means that a line explains 99 % of the variance: 99.9 % before the data had been
seen, which networks of this width do not reach close to the edge, where slopes are small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, mean, mean_and_stderr
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# γσ_α², "edge" being its value on the edge of chaos.
FIGURE = {
    "width": 400,
    "depth": 250,
    "gamma": 0.25,
    "bias": 0.05,
    "weights": ["0.04", "0.4", "1.2", "edge", "2.5"],
    "fitted": [25, 225],
    "seeds": [0, 1, 2, 3],
}
SCALES = {
    "smoke": {**FIGURE, "weights": ["0.4", "edge", "4.0"], "depth": 120, "fitted": [20, 100]},
    "laptop": {**FIGURE, "width": 300},
    "paper": FIGURE,
}
DIMS = {"log_norm": ("layer",)}
CLOSE, RELATIVE, STRAIGHT = 0.05, 0.05, 0.99


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"weights": weights, "seed": seed} for weights in cfg["weights"] for seed in cfg["seeds"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_network(cell, cfg) for cell in batch]


def _network(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """The logarithm of the squared norm of the gradient in each layer of one network, and its line."""
    import numpy as np
    import torch

    from derivations.signal_propagation.evaluators.activations import activation
    from derivations.signal_propagation.evaluators.length_and_correlation import chi, edge_of_chaos
    from numerics.networks.random_layers import Setting, layers
    from numerics.tasks.digits import digits

    gamma, N, phi = cfg["gamma"], cfg["width"], activation("tanh")
    bias = cfg["bias"] / gamma
    on_edge = float(edge_of_chaos(bias, gamma, phi).sigma_alpha2)
    variance = on_edge if cell["weights"] == "edge" else float(cell["weights"]) / gamma
    data = digits(test=0)
    chosen = [int(np.flatnonzero(data.y == k)[cell["seed"]]) for k in range(10)]
    generator = torch.Generator().manual_seed(cell["seed"])
    first = torch.randn(N, 64, dtype=torch.float64, generator=generator).numpy() / 8
    readout = torch.randn(10, N, dtype=torch.float64, generator=generator).numpy() / math.sqrt(N)
    drawn = list(layers(Setting(N, round(gamma * N), variance, bias), cfg["depth"], generator))
    signals = [first @ data.X[chosen].T]
    for layer in drawn:
        signals.append(layer.preactivations(phi(signals[-1])))
    logits = readout @ phi(signals[-1])
    share = np.exp(logits - logits.max(0))
    share /= share.sum(0)
    delta = phi.derivative(signals[-1]) * (readout.T @ (share - np.eye(10))) / 10
    scale, norms = 0.0, []
    for layer, below in zip(reversed(drawn), reversed(signals[:-1]), strict=True):
        size = np.abs(delta).max()
        delta, scale = delta / size, scale + 2 * math.log(size)
        inside, z = layer.C.T @ delta, phi(below)
        norms.append(scale + math.log(((inside.T @ inside) * (z.T @ z)).sum()))
        delta = phi.derivative(below) * (layer.A.T @ inside)
    norms = np.array(norms[::-1])  # type: ignore[assignment]  # the list becomes an array
    low, high = cfg["fitted"]
    count = np.arange(1, cfg["depth"] + 1)
    inside = slice(low - 1, high)
    slope = float(np.polyfit(count[inside], norms[inside], 1)[0])
    straight = float(np.corrcoef(count[inside], norms[inside])[0, 1] ** 2)
    values = {
        "slope": slope,
        "straight": straight,
        "log_chi": math.log(float(chi(variance, bias, gamma, phi))),
        "rescaled_weights": gamma * variance,
    }
    return Cell(cell, values, {"log_norm": norms})


def claims(measured: Measurements) -> list[Claim]:
    """Lines with the slope -log χ, vanishing below the edge, growing above it, of one scale on it."""
    off, slopes = [], {}
    for weights in measured.distinct("weights"):
        here = measured.where(weights=weights)
        slopes[weights] = *mean_and_stderr(here.values("slope")), here.values("log_chi")[0]
        if weights != "edge":
            off += here.values("straight")
    away = {weights: found for weights, found in slopes.items() if weights != "edge"}
    edge = slopes["edge"]
    deviations = [
        abs(slope + log_chi) / (CLOSE + RELATIVE * abs(log_chi)) for slope, _, log_chi in away.values()
    ]
    return [
        at_least(
            "straight-lines",
            "off the edge the logarithm of the norm is linear in the layer: least part of its variance that a line "
            "explains",
            min(off),
            STRAIGHT,
        ),
        at_most(
            "slope-is-log-chi",
            f"its slope is -log χ at {len(away)} variances: largest deviation, in units of 0.05 and a twentieth of it",
            max(deviations),
            1.0,
        ),
        at_most(
            "constant-scale-on-the-edge",
            "on the edge of chaos the norm keeps its scale: slope, without its sign",
            abs(edge[0]),
            CLOSE,
        ),
        at_least(
            "vanishing-and-growing",
            "towards the first layers gradients vanish where χ < 1 and grow where χ > 1: share of variances of "
            "which this "
            "is so",
            mean([float(slope * log_chi < 0) for slope, _, log_chi in away.values()]),
            1.0,
        ),
        at_most(
            "slopes-are-known",
            "largest standard error of a mean slope",
            max(stderr for _, stderr, _ in slopes.values()),
            0.02,
            about="check",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    """The logarithm of the norm against the layer, with the lines of slope -log χ."""
    import numpy as np
    from matplotlib import colormaps

    from numerics.lab.figures import EXACT, new_figure, style

    names = list(dict.fromkeys(cell.cell["weights"] for cell in results))
    drawing = new_figure(1, 2, width=3.4, height=3.0)
    panels = drawing.subplots(1, 2)
    for place, weights in enumerate(names):
        hue = colormaps["inferno"](0.1 + 0.7 * place / max(len(names) - 1, 1))
        rows = [cell for cell in results if cell.cell["weights"] == weights]
        curves = np.array([cell.curves["log_norm"] for cell in rows]) / math.log(10)
        count = np.arange(1, curves.shape[1] + 1)
        centre = curves.shape[1] // 2
        line = curves[:, centre].mean() - (count - count[centre]) * rows[0].values["log_chi"] / math.log(10)
        for axes in panels:
            label = rf"$\gamma\sigma_\alpha^2 = {rows[0].values['rescaled_weights']:.3g}$"
            axes.plot(count, curves.mean(0), color=hue, linewidth=2.4, label=label)
            axes.plot(count, line, **EXACT)
    panels[1].set_ylim(-12, 12)
    panels[0].legend(frameon=False, fontsize=8)
    style(
        panels[0], xlabel="layer", ylabel=r"$\log_{10}\|\nabla_A E\|^2$", title="dotted: slope $-\\log\\chi$"
    )
    style(panels[1], xlabel="layer", title="around the edge")
    return drawing


@study(
    "naitsaada2023.fig12-gradient-norm",
    title="The norm of the gradient over 250 low-rank layers, on embedded digits",
    confronts=("signal_propagation.gradient_by_depth", "signal_propagation.gradient_phases"),
)
def gradient_norm() -> Plan:
    return Plan(SCALES, cells, run, figure, claims, DIMS)
