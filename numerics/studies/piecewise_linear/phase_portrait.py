"""Lazy and rich learning over overall scale τ and balance δ (Kunin et al. 2024, figure 1b and appendix D.1).

Two-layer ReLU students of width 50 learn a teacher of width 3 in 100 dimensions from 1,000 examples. Every seed
draws a teacher, a base student and data; every point of the grid rescales that student to (τ, δ). Test loss and
kernel distance are averages over seeds, and contrasts are paired by seed.

The paper shows 17 × 17 points, 16 seeds and 1e5 steps, which is the scale ``paper``, meant for a GPU; ``laptop``
is a coarser grid with the first 4 seeds and ends after 1e4 steps. ``contrasts`` trains the corners, the middles of the
edges and the balanced axis, 3 × 5 points of the published grid, with all 16 seeds for all 1e5 steps.

The regression anchors are numbers that the authors' notebook printed: means over their 16 seeds in single cells,
trained here in float64. At τ = 0.1 the learning rate is 0.5, and the kernel distance depends on the last digit of the
draws at the level of 1e-3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numerics.lab.claims import (
    Claim,
    Measurements,
    at_least,
    at_most,
    differences,
    mean_and_stderr,
    mean_at_least,
    mean_at_most,
    rank_correlation,
    ratios,
)
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The grid is [first, last, count] of log₁₀ τ and of δ; the learning rate of the mean square loss is rate / τ².
PAPER = {
    "log10_tau": [-1.0, 0.3, 17],
    "delta": [-1.0, 1.0, 17],
    "seeds": list(range(100, 116)),
    "d": 100,
    "h": 50,
    "k": 3,
    "n": 1000,
    "test_size": 10_000,
    "rate": 5e-3,
    "steps": 100_000,
    "dtype": "float32",
    "anchors": [100, 1000],
}
SCALES = {
    "smoke": {
        **PAPER,
        "log10_tau": [-1.0, 0.3, 2],
        "delta": [-1.0, 1.0, 3],
        "seeds": [100, 101],
        "n": 200,
        "test_size": 200,
        "steps": 2000,
        "anchors": [],
    },
    "laptop": {
        **PAPER,
        "log10_tau": [-1.0, 0.3, 9],
        "delta": [-1.0, 1.0, 9],
        "seeds": [100, 101, 102, 103],
        "steps": 10_000,
    },
    "paper": PAPER,
    "contrasts": {**PAPER, "log10_tau": [-1.0, 0.3, 3], "delta": [-1.0, 1.0, 5]},
}


class Anchor(NamedTuple):
    """The mean of a measure over the published seeds, in one cell of the published grid: τ by its place, and δ."""

    steps: int
    measure: str
    place: int
    delta: float
    mean: float


# Cells in which the authors' notebook found an extreme.
ANCHORS = (
    Anchor(100, "test_loss", 0, 1.0, 0.0015167659),
    Anchor(100, "kernel_distance", 0, 0.375, 0.2385023795),
    Anchor(100, "kernel_distance", 7, -1.0, 3.14936e-5),
    Anchor(100, "parameter_distance", 16, -1.0, 0.0211254028),
    Anchor(100, "parameter_distance", 0, 0.125, 0.7275941636),
    Anchor(1000, "test_loss", 0, 1.0, 0.00086754034),
    Anchor(1000, "kernel_distance", 16, -1.0, 2.2741e-4),
    Anchor(1000, "hamming_distance", 16, -1.0, 0.1041875),
)
MEASURES = (
    "train_loss",
    "test_loss",
    "kernel_distance",
    "hamming_distance",
    "parameter_distance",
    "delta_drift",
)
DIMS = {name: ("checkpoint",) for name in ("step", *MEASURES)}


def grid_points(cfg: Mapping[str, Any]) -> list[tuple[float, float]]:
    """The points (τ, δ) of the grid, τ logarithmic, δ linear."""
    low, high, count = cfg["delta"]
    deltas = [low + (high - low) * k / (count - 1) for k in range(count)]
    return [(tau_at(place, cfg), delta) for place in range(cfg["log10_tau"][-1]) for delta in deltas]


def tau_at(place: int, cfg: Mapping[str, Any]) -> float:
    """The τ at a place of the grid, to twelve digits."""
    low, high, count = cfg["log10_tau"]
    return float(f"{10.0 ** (low + (high - low) * place / (count - 1)):.12g}")


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    anchors = sorted({(tau_at(anchor.place, PAPER), anchor.delta) for anchor in ANCHORS})
    return [
        {"part": "grid", "seed": seed, "tau": tau, "delta": delta}
        for seed in cfg["seeds"]
        for tau, delta in grid_points(cfg)
    ] + [
        {"part": "anchor", "seed": seed, "tau": tau, "delta": delta}
        for seed in PAPER["seeds"]  # type: ignore[attr-defined]  # a list
        for tau, delta in anchors
        if cfg["anchors"]
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    from numerics.studies.piecewise_linear.portraits import train_seed

    if batch[0]["part"] == "grid":
        return train_seed(batch, cfg, device, resume)
    found = train_seed(batch, cfg, device, resume, steps=max(cfg["anchors"]), dtype="float64")
    return [Cell(cell.cell, cell.values, {}) for cell in found]


def tools(cfg: Mapping[str, Any], device: str) -> dict[str, str]:
    from numerics.studies.piecewise_linear.portraits import steps_by

    return steps_by(cfg, device)


def claims(measured: Measurements) -> list[Claim]:
    """What the paper says of this portrait, whether the students follow the flow, and the anchors."""
    grid = measured.where(part="grid")
    checks = [
        at_most(
            "students-diverged",
            "every student's loss stays finite: how many did not",
            sum(map(math.isnan, grid.values("train_loss"))),
            0,
            about="check",
        ),
        at_most(
            "balance-kept",
            "the balance δ of no neuron drifts by more than 0.02, so that descent follows the flow",
            max(grid.values("delta_drift")),
            0.02,
            about="check",
        ),
    ]
    return [*_kernel_claims(grid), *_test_claims(grid), *checks, *_anchor_claims(measured)]


def _corners(grid: Measurements) -> tuple[float, float, list[float]]:
    """The smallest and the largest τ, and all δ."""
    taus, deltas = sorted(grid.distinct("tau")), sorted(grid.distinct("delta"))
    return taus[0], taus[-1], deltas


def _kernel_claims(grid: Measurements) -> list[Claim]:
    """Where in the portrait the kernel moves, and when."""
    small, large, deltas = _corners(grid)
    down, up = deltas[0], deltas[-1]
    late = {delta: grid.where(tau=small, delta=delta).values("kernel_distance") for delta in (down, 0.0, up)}
    early = {
        delta: grid.where(tau=small, delta=delta).values("kernel_distance@100") for delta in (down, 0.0, up)
    }
    at_large = [grid.where(tau=large, delta=delta).values("kernel_distance") for delta in deltas]
    return [
        mean_at_most(
            "lazy-at-large-scale",
            f"at τ = {large:.3g} the kernel distance stays below 0.05 whatever δ (largest over δ, mean over seeds)",
            [max(column) for column in zip(*at_large, strict=True)],
            0.05,
        ),
        mean_at_least(
            "balanced-rich-at-small-scale",
            f"at τ = {small:.3g}, δ = 0, the kernel distance is at least 0.1",
            late[0.0],
            0.1,
        ),
        mean_at_least(
            "upstream-rich-at-small-scale",
            f"at τ = {small:.3g}, δ = {up:g}, the kernel distance is at least 0.1",
            late[up],
            0.1,
        ),
        mean_at_most(
            "downstream-lazy-at-small-scale",
            f"at τ = {small:.3g}, δ = {down:g}, the kernel distance stays below 0.05 up to the last step",
            late[down],
            0.05,
        ),
        mean_at_least(
            "downstream-rich-late",
            f"at τ = {small:.3g}, δ = {down:g}, the kernel has moved by at least 0.1 after the last step",
            late[down],
            0.1,
            about="own",
        ),
        mean_at_least(
            "kernel-grows-with-delta",
            f"at τ = {small:.3g} the kernel distance after the last step is larger at δ = {up:g} than at "
            f"δ = {down:g}, by at least 0.1",
            differences(late[up], late[down]),
            0.1,
        ),
        mean_at_least(
            "upstream-rich-early",
            f"at τ = {small:.3g}, after 100 steps, the kernel distance at δ = {up:g} exceeds that at δ = {down:g} by "
            "at least 0.1",
            differences(early[up], early[down]),
            0.1,
        ),
        mean_at_least(
            "upstream-earlier-than-balanced",
            f"at τ = {small:.3g}, after 100 steps, the kernel distance at δ = {up:g} exceeds that at δ = 0 by at "
            "least 0.05",
            differences(early[up], early[0.0]),
            0.05,
        ),
    ]


def _test_claims(grid: Measurements) -> list[Claim]:
    """Where in the portrait students generalise."""
    small, _, deltas = _corners(grid)
    means = {
        (tau, delta): mean_and_stderr(grid.where(tau=tau, delta=delta).values("test_loss"))[0]
        for tau in sorted(grid.distinct("tau"))
        for delta in deltas
    }
    best = min(means, key=lambda point: math.inf if math.isnan(means[point]) else means[point])
    down, up = (grid.where(tau=small, delta=delta).values("test_loss") for delta in (deltas[0], deltas[-1]))
    return [
        at_most(
            "test-error-falls-with-delta",
            f"at τ = {small:.3g} the mean test loss falls with δ: Spearman's rank correlation is at most −0.8",
            rank_correlation(deltas, [means[small, delta] for delta in deltas]),
            -0.8,
        ),
        mean_at_least(
            "test-error-upstream-below-downstream",
            f"at τ = {small:.3g} the test loss at δ = {deltas[0]:g} is at least twice that at δ = {deltas[-1]:g}: "
            "mean binary logarithm of the ratio",
            [math.log2(ratio) for ratio in ratios(down, up)],
            1.0,
        ),
        at_least("best-is-upstream", "the smallest mean test loss of the grid lies at δ ≥ 0.5", best[1], 0.5),
        at_most("best-is-small", "the smallest mean test loss of the grid lies at τ ≤ 0.2", best[0], 0.2),
    ]


def _anchor_claims(measured: Measurements) -> list[Claim]:
    """The numbers that the authors' notebook printed, where their cells were trained."""
    if "anchor" not in measured.coordinates("part"):
        return []
    found = []
    for step, name, place, delta, stored in ANCHORS:
        tau = tau_at(place, PAPER)
        column = name if step == max(PAPER["anchors"]) else f"{name}@{step}"  # type: ignore[call-overload]  # a list
        mean, _ = mean_and_stderr(measured.where(part="anchor", tau=tau, delta=delta).values(column))
        relative = name == "kernel_distance"
        allowed = {"kernel_distance": 1e-3, "hamming_distance": 1e-2}.get(name, 1e-6)
        found.append(
            at_most(
                f"anchor-{name.replace('_', '-')}-{step}-{tau:.3g}-{delta:g}",
                f"after {step} steps at τ = {tau:.3g}, δ = {delta:g} the mean {name.replace('_', ' ')} over 16 seeds "
                f"is {stored:.8g}, as the published notebook has it: {'relative' if relative else 'absolute'} "
                "deviation",
                abs(mean - stored) / (stored if relative else 1.0),
                allowed,
                about="own",
            )
        )
    return found


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import draw_heatmaps

    shown = [cell for cell in results if cell.cell["part"] == "grid"]
    steps = [int(step) for step in shown[0].curves["step"] if step >= 100]
    rows = [("test_loss", "test loss", True), ("kernel_distance", "kernel distance", False)]
    return draw_heatmaps(shown, rows, steps)


@study(
    "kunin2024.fig1b-phase-portrait",
    title="Phase portrait of two-layer ReLU students: test loss and kernel distance over scale and balance",
    confronts=(
        "piecewise_linear.relative_scale",
        "piecewise_linear.balanced_base",
        "single_neuron.kernel_distance",
    ),
)
def phase_portrait() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        batch=None,
        shared=("part", "seed"),
        tools=tools,
    )
