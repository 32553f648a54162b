"""How deep a low-rank network may be to be trained, against its depth scale (after Nait Saada and Tanner 2023, Sec.
2.1).

Signals reach as deep as the depth scale of correlations: in the ordered phase ξ_c = -1/log χ. Schoenholz et al. 2016
found full-rank networks trainable to about six of it. Here low-rank tanh networks with γ = 1/4, of several depths and
variances of the weights, are trained on the embedded digits by stochastic gradient descent on cross-entropy,
coefficients and biases alone, with one learning rate that is divided by the depth. Trained means a training
accuracy of a half after a fixed number of steps. The study is ours, and so are all of its sizes.

Depth enters as L/ξ_c. "Deep" is beyond ten of it, "shallow" within three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, mean_at_least, mean_at_most, rank_correlation
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE = {
    "width": 128,
    "gamma": 0.25,
    "bias": 0.05,
    # γσ_α² in units of its value on the edge of chaos.
    "factors": [0.3, 0.6, 0.8, 1.0],
    "depths": [4, 12, 36],
    "batch": 100,
    "steps": 300,
    "rate": 0.5,
    "seeds": [0, 1, 2],
}
SCALES = {
    "smoke": {
        **FIGURE,
        "width": 64,
        "factors": [0.3, 1.0],
        "depths": [4, 24],
        "steps": 120,
        "seeds": [0, 1, 2],
    },
    "laptop": FIGURE,
    "paper": FIGURE,
}
DIMS = {"accuracy": ("record",)}
RECORDS = 20
TRAINED, SHALLOW, DEEP = 0.5, 3.0, 10.0


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"factor": factor, "depth": depth, "seed": seed}
        for factor in cfg["factors"]
        for depth in cfg["depths"]
        for seed in cfg["seeds"]
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_network(cell, cfg, device) for cell in batch]


def _network(cell: Mapping[str, Any], cfg: Mapping[str, Any], device: str) -> Cell:
    """The training and test accuracy of one network after its training, and its depth scale."""
    import numpy as np
    import torch
    from torch import nn

    from derivations.signal_propagation.evaluators.length_and_correlation import depth_scales, edge_of_chaos
    from numerics.networks.low_rank import LowRankLinear
    from numerics.tasks.digits import digits

    gamma, N = cfg["gamma"], cfg["width"]
    bias = cfg["bias"] / gamma
    variance = cell["factor"] * float(edge_of_chaos(bias, gamma, "tanh").sigma_alpha2)
    generator = torch.Generator().manual_seed(cell["seed"])
    sizes = [64, *[N] * cell["depth"]]
    parts: list[nn.Module] = []
    for below, above in pairwise(sizes):
        layer = LowRankLinear(below, above, gamma=gamma)
        layer.reset_parameters(variance, bias, generator=generator)
        parts += [layer, nn.Tanh()]
    readout = nn.Linear(N, 10)
    with torch.no_grad():
        readout.weight.copy_(torch.randn(10, N, generator=generator) / N**0.5)
        readout.bias.zero_()
    network = nn.Sequential(*parts, readout).to(device)
    data = digits(cell["seed"])
    X, X_test = (torch.as_tensor(x, dtype=torch.float32, device=device) for x in (data.X, data.X_test))
    y, y_test = (torch.as_tensor(x, device=device) for x in (data.y, data.y_test))
    optimiser = torch.optim.SGD(network.parameters(), cfg["rate"] / cell["depth"], momentum=0.9)
    records, every = [], max(1, cfg["steps"] // RECORDS)  # type: ignore[var-annotated]  # accuracies
    for step in range(cfg["steps"]):
        chosen = torch.randint(len(X), (cfg["batch"],), generator=generator).to(device)
        outputs = network(X[chosen])
        loss = nn.functional.cross_entropy(outputs, y[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % every == 0 and len(records) < RECORDS:
            records.append(float((outputs.argmax(1) == y[chosen]).float().mean()))
    with torch.no_grad():
        train = float((network(X).argmax(1) == y).float().mean())
        test = float((network(X_test).argmax(1) == y_test).float().mean())
    scales = depth_scales(variance, bias, gamma, "tanh")
    xi = float(scales.correlation)
    return Cell(
        cell,
        {"train": train, "test": test, "in_depth_scales": 0.0 if np.isinf(xi) else cell["depth"] / xi},
        {"accuracy": np.array(records + [train] * (RECORDS - len(records)))},
    )


def claims(measured: Measurements) -> list[Claim]:
    """Networks of few depth scales are trained, those of many are not."""
    shallow = [row.values["train"] for row in measured if row.values["in_depth_scales"] <= SHALLOW]
    deep = [row.values["train"] for row in measured if row.values["in_depth_scales"] >= DEEP]
    deepest = measured.where(depth=max(measured.distinct("depth")))
    edge = deepest.where(factor=1.0)
    low = deepest.where(factor=min(measured.distinct("factor")))
    groups: dict[tuple[float], list[float]] = {}
    for row in measured:
        if row.values["in_depth_scales"] > 0:
            groups.setdefault((row.values["in_depth_scales"],), []).append(row.values["train"])
    scales = [key for (key,) in groups]
    accuracy = [sum(found) / len(found) + 1e-6 * place for place, found in enumerate(groups.values())]
    return [
        mean_at_least(
            "shallow-networks-are-trained",
            f"networks of at most {SHALLOW:g} depth scales reach a training accuracy of a half: mean over "
            f"{len(shallow)}",
            shallow,
            TRAINED,
            about="own",
        ),
        mean_at_most(
            "deep-networks-are-not",
            f"networks of {DEEP:g} depth scales or more do not: mean over {len(deep)}",
            deep,
            TRAINED,
            about="own",
        ),
        mean_at_least(
            "the-edge-is-trained-where-the-ordered-phase-is-not",
            f"of the deepest networks, of {deepest[0].cell['depth']} layers, those on the edge of chaos are "
            f"ahead of those "
            "deepest in the ordered phase: difference in accuracy, paired by seed",
            [a - b for a, b in zip(edge.values("train"), low.values("train"), strict=True)],
            0.3,
            about="own",
        ),
        at_least(
            "accuracy-falls-with-depth-scales",
            f"accuracy falls with L/ξ_c, over {len(groups)} kinds of networks off the edge: rank correlation "
            f"without its "
            "sign",
            -rank_correlation(scales, accuracy),
            0.7,
            about="own",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    """Training accuracy against L/ξ_c, and against depth."""
    from matplotlib import colormaps

    from numerics.lab.claims import Measurements, mean
    from numerics.lab.figures import new_figure, style

    measured = Measurements(results)
    factors, depths = measured.distinct("factor"), measured.distinct("depth")
    drawing = new_figure(1, 2, width=3.3, height=2.9)
    left, right = drawing.subplots(1, 2, sharey=True)
    for place, factor in enumerate(factors):
        hue = colormaps["viridis"](0.9 * place / max(len(factors) - 1, 1))
        rows = [measured.where(factor=factor, depth=depth) for depth in depths]
        means = [mean(here.values("train")) for here in rows]
        for here in rows:
            left.plot(
                here.coordinates("depth"), here.values("train"), "o", color=hue, markersize=3, alpha=0.5
            )
            if factor < 1:
                right.plot(here.values("in_depth_scales"), here.values("train"), "o", color=hue, markersize=4)
        name = "on the edge" if factor == 1 else rf"${factor:g}$ of the edge's $\sigma_\alpha^2$"
        left.plot(depths, means, color=hue, linewidth=1.4, label=name)
    right.axvline(6, color="0.6", linestyle=":", linewidth=1)
    for axes in (left, right):
        axes.axhline(0.1, color="0.7", linewidth=0.8, zorder=0)
        axes.set(xscale="log", ylim=(0, 1.03))
    left.set_xticks(depths, [str(depth) for depth in depths])
    left.minorticks_off()
    left.legend(frameon=False, fontsize=8)
    style(left, xlabel="depth $L$", ylabel="training accuracy", title="digits, 8 × 8 pixels")
    style(right, xlabel=r"$L/\xi_c$", title="dotted: six depth scales")
    return drawing


@study(
    "signal_propagation.trainable-depth",
    title="The depth at which low-rank tanh networks still train on embedded digits, against their depth scale",
    confronts=("signal_propagation.correlation_depth_scale", "signal_propagation.depth_scale_diverges"),
)
def trainable_depth() -> Plan:
    return Plan(SCALES, cells, run, figure, claims, DIMS, batch=6)
