"""The edge of chaos of low-rank tanh networks, and networks on it (Nait Saada and Tanner 2023, figures 1 and 10).

The curve χ_γ = 1 in the plane (γσ_α², γσ_b²) is computed for γ = 1/4 (figure 1) and for full rank (figure 10). It
is the same curve, as γ enters both axes alone. Networks of width 1000 and rank 250 are then put on it, and on
either side with a tenth less or more variance of the weights, at the fixed point q* of their own lengths. Their χ
is measured as the mean squared singular value of DW, tr(DWWᵀD)/N, in each of ten layers. The ranges of the
published axes are not stated.

Bias coefficients are independent: with one bias for all directions, as printed, lengths do not settle at q*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import (
    Claim,
    Measurements,
    at_most,
    between,
    mean,
    mean_and_stderr,
    mean_at_least,
    mean_at_most,
    relative_deviations,
)
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE = {
    "gammas": [0.25, 1.0],
    "bias": [round(0.01 * k, 2) for k in range(1, 31)],
    "network_gamma": 0.25,
    "network_bias": [0.01, 0.05, 0.1, 0.3],
    "factors": [0.9, 1.0, 1.1],
    "width": 1000,
    "depth": 10,
    "seeds": [0, 1, 2, 3],
}
SCALES = {
    "smoke": {**FIGURE, "width": 300, "network_bias": [0.05, 0.3], "seeds": list(range(6))},
    "laptop": FIGURE,
    "paper": FIGURE,
}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    curve = [
        {"part": "curve", "gamma": gamma, "bias": bias} for gamma in cfg["gammas"] for bias in cfg["bias"]
    ]
    networks = [
        {"part": "network", "bias": bias, "factor": factor, "seed": seed}
        for bias in cfg["network_bias"]
        for factor in cfg["factors"]
        for seed in cfg["seeds"]
    ]
    return curve + networks


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [(_point if cell["part"] == "curve" else _network)(cell, cfg) for cell in batch]


def _point(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """One point of the curve, in rescaled axes."""
    from derivations.signal_propagation.evaluators.length_and_correlation import chi, edge_of_chaos

    gamma, sigma_b2 = cell["gamma"], cell["bias"] / cell["gamma"]
    edge = edge_of_chaos(sigma_b2, gamma, "tanh")
    variance = float(edge.sigma_alpha2)
    return Cell(
        cell,
        {
            "weights": gamma * variance,
            "q_star": float(edge.q_star),
            "chi_of_curve": float(chi(variance, sigma_b2, gamma, "tanh")),
        },
        {},
    )


def _network(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """χ in the layers of one network."""
    import numpy as np
    import torch

    from derivations.signal_propagation.evaluators.activations import activation
    from derivations.signal_propagation.evaluators.length_and_correlation import (
        chi,
        edge_of_chaos,
        fixed_point,
    )
    from numerics.networks.random_layers import Setting, inputs, layers

    gamma, N, phi = cfg["network_gamma"], cfg["width"], activation("tanh")
    bias = cell["bias"] / gamma
    variance = cell["factor"] * float(edge_of_chaos(bias, gamma, phi).sigma_alpha2)
    q = float(fixed_point(variance, bias, gamma, phi))
    generator = torch.Generator().manual_seed(cell["seed"])
    h = inputs(N, q, generator)
    found, lengths = [], []
    for layer in layers(Setting(N, round(gamma * N), variance, bias), cfg["depth"], generator):
        h = layer.preactivations(phi(h))
        rows = ((layer.C @ (layer.A @ layer.A.T)) * layer.C).sum(1)
        found.append(float((phi.derivative(h[:, 0]) ** 2 * rows).mean()))
        lengths.append(float((h**2).mean()))
    values = {
        "chi": float(np.mean(found)),
        "chi_limit": float(chi(variance, bias, gamma, phi)),
        "length": float(np.mean(lengths)),
        "length_limit": q,
        "weights_of_network": gamma * variance,
    }
    return Cell(cell, values, {})


def claims(measured: Measurements) -> list[Claim]:
    """The two curves are one, and networks on it have χ = 1."""
    curve, networks = measured.where(part="curve"), measured.where(part="network")
    low, full = (curve.where(gamma=gamma) for gamma in curve.distinct("gamma"))
    on = networks.where(factor=1.0)
    average, stderr = mean_and_stderr(on.values("chi"))
    sides = [networks.where(factor=factor) for factor in (0.9, 1.1)]
    deviations = [
        found - limit
        for found, limit in zip(networks.values("chi"), networks.values("chi_limit"), strict=True)
    ]
    error, known = mean_and_stderr(deviations)
    return [
        at_most(
            "one-curve-in-rescaled-axes",
            "at γ = 1/4 and at full rank the curve has the same γσ_α² for each γσ_b²: largest relative deviation",
            max(relative_deviations(low.values("weights"), full.values("weights"))),
            1e-12,
        ),
        at_most(
            "chi-is-one-on-the-curve",
            "χ at the fixed point of the lengths is one on it: largest deviation",
            max(abs(x - 1) for x in curve.values("chi_of_curve")),
            1e-9,
            about="check",
        ),
        between(
            "networks-on-the-curve-have-chi-one",
            f"networks on it have a mean squared singular value of DW of one, over {len(on)} networks: mean",
            average,
            0.98,
            1.02,
            stderr=stderr,
            max_stderr=0.01,
        ),
        mean_at_most(
            "ordered-on-the-left",
            "with a tenth less variance it is less than one: mean",
            sides[0].values("chi"),
            0.99,
        ),
        mean_at_least(
            "chaotic-on-the-right",
            "with a tenth more it is more than one: mean",
            sides[1].values("chi"),
            1.01,
        ),
        between(
            "chi-is-as-derived",
            "on the curve and off it the measured χ is that of the formula: mean deviation",
            error,
            -0.02,
            0.02,
            stderr=known,
            max_stderr=0.01,
            about="own",
        ),
        between(
            "lengths-are-as-derived",
            "lengths stay at q*: mean of their ratio",
            mean(
                [
                    a / b
                    for a, b in zip(networks.values("length"), networks.values("length_limit"), strict=True)
                ]
            ),
            0.95,
            1.05,
            about="own",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    """The curve in both pairs of axes, with the networks on it coloured by their χ."""
    from matplotlib.colors import TwoSlopeNorm

    from numerics.lab.claims import Measurements
    from numerics.lab.figures import new_figure, style

    measured = Measurements(results)
    curve, networks = measured.where(part="curve"), measured.where(part="network")
    drawing = new_figure(1, 2, width=3.4, height=3.0)
    panels = drawing.subplots(1, 2, sharey=True)
    names = ((r"\gamma\sigma_\alpha^2", r"\gamma\sigma_b^2"), (r"\sigma_W^2", r"\sigma_b^2"))
    for axes, gamma, (x, y) in zip(panels, curve.distinct("gamma"), names, strict=True):
        here = curve.where(gamma=gamma)
        axes.plot(here.values("weights"), here.coordinates("bias"), color="black", linewidth=1.4)
        axes.text(1.15, 0.24, "ordered", style="italic", fontsize=9)
        axes.text(2.1, 0.04, "chaotic", style="italic", fontsize=9)
        axes.set(xlim=(1.0, 2.8), ylim=(0, 0.32))
        title = rf"low rank, $\gamma = {gamma:g}$" if gamma < 1 else "full rank"
        style(axes, xlabel=f"${x}$", ylabel=f"${y}$", title=title)
    points = {(row.cell["bias"], row.cell["factor"]) for row in networks}
    groups = [networks.where(bias=bias, factor=factor) for bias, factor in sorted(points)]
    dots = panels[0].scatter(
        [group.values("weights_of_network")[0] for group in groups],
        [group.cell["bias"] for (group, *_) in groups],
        c=[sum(group.values("chi")) / len(group) for group in groups],
        norm=TwoSlopeNorm(1.0, 0.85, 1.15),
        cmap="RdBu_r",
        edgecolors="0.3",
        s=45,
        linewidths=0.6,
        zorder=3,
    )
    drawing.colorbar(dots, ax=list(panels), label=r"measured $\chi$ of networks", pad=0.02)
    return drawing


@study(
    "naitsaada2023.fig1-eoc-curve",
    title="The edge of chaos of low-rank tanh networks in rescaled axes, and networks on it",
    confronts=(
        "signal_propagation.edge",
        "signal_propagation.rescaled_edge",
        "random_matrices.mean_squared_singular_value",
    ),
)
def edge() -> Plan:
    return Plan(SCALES, cells, run, figure, claims, {}, batch=16)
