"""The phase portrait after ten times longer training (Kunin et al. 2024, appendix D.1, supporting figure).

The same students as in figure 1b, trained to 1e6 steps, with Hamming distance, parameter distance and training loss
beside test loss and kernel distance. The scale ``paper`` trains a part of the published grid, its corners, the axes
δ = 0 and τ in the middle, and both diagonals, with all 16 seeds; it is meant for a GPU. ``contrasts`` trains the
corners and the balanced student of small scale with the first 2 seeds, as long as published. ``laptop`` trains the
corners and the balanced student of small scale with two seeds, in steps ten times as long and a tenth as many: the
times of gradient flow at which things are compared are the published ones. Steps that long change what the upstream
student learns early (its kernel distance ends at 0.11 instead of 0.17), but not when students stop changing, which is
the question here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most
from numerics.lab.study import Cell, Plan, study
from numerics.studies.piecewise_linear.phase_portrait import DIMS, MEASURES, grid_points, tools
from numerics.studies.piecewise_linear.phase_portrait import PAPER as PORTRAIT

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHARED = ("log10_tau", "delta", "seeds", "d", "h", "k", "n", "test_size", "rate", "dtype")
PAPER = {
    **{name: PORTRAIT[name] for name in SHARED},
    "part": "corners, axes, diagonals",
    "steps": 1_000_000,
}
SCALES = {
    "smoke": {
        **PAPER,
        "log10_tau": [-1.0, 0.3, 2],
        "delta": [-1.0, 1.0, 3],
        "part": "corners",
        "seeds": [100, 101],
        "n": 200,
        "test_size": 200,
        "steps": 300,
    },
    "laptop": {
        **PAPER,
        "part": "corners and balanced",
        "seeds": [100, 101],
        "rate": 5e-2,
        "steps": 100_000,
    },
    "paper": PAPER,
    "contrasts": {**PAPER, "part": "corners and balanced", "seeds": [100, 101]},
}
# The published figure does not resolve training losses below this number.
FLOOR = 1e-10


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    points = grid_points(cfg)
    taus, deltas = sorted({tau for tau, _ in points}), sorted({delta for _, delta in points})
    chosen = [
        (tau, delta)
        for tau, delta in points
        if _belongs(taus.index(tau), deltas.index(delta), len(taus), len(deltas), cfg["part"])
    ]
    return [{"seed": seed, "tau": tau, "delta": delta} for seed in cfg["seeds"] for tau, delta in chosen]


def _belongs(row: int, column: int, rows: int, columns: int, part: str) -> bool:
    """Whether a point of the grid belongs to the part that is trained."""
    corner = row in (0, rows - 1) and column in (0, columns - 1)
    if part == "corners":
        return corner
    balanced = row == 0 and 2 * column == columns - 1
    if part == "corners and balanced":
        return corner or balanced
    axis = 2 * row == rows - 1 or 2 * column == columns - 1
    diagonal = row * (columns - 1) in (column * (rows - 1), (columns - 1 - column) * (rows - 1))
    return corner or axis or diagonal


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    from numerics.studies.piecewise_linear.portraits import train_seed

    return train_seed(batch, cfg, device, resume)


def claims(measured: Measurements) -> list[Claim]:
    """What still changes in the last nine tenths of the training, and what does not."""
    before = max(int(name.partition("@")[2] or 0) for name in measured[0].values)
    pairs = {
        name: list(zip(measured.values(f"{name}@{before}"), measured.values(name), strict=True))
        for name in MEASURES
    }
    falling = [late / early for early, late in pairs["train_loss"] if not early <= FLOOR]
    over = "over all cells and seeds"
    return [
        at_most(
            "training-loss-still-falls",
            f"wherever the training loss is above 1e-10 after a tenth of the training, it ends at no more than half "
            f"of that: the largest ratio {over}",
            max(falling, default=0.0),
            0.5,
        ),
        at_most(
            "test-loss-unchanged",
            f"the test loss changes by at most 10 % in the same time: the largest change of its logarithm {over}",
            max(abs(math.log(late / early)) for early, late in pairs["test_loss"]),
            math.log(1.1),
        ),
        at_most(
            "kernel-distance-unchanged",
            f"the kernel distance changes by at most 0.02 {over}",
            max(abs(late - early) for early, late in pairs["kernel_distance"]),
            0.02,
        ),
        at_most(
            "hamming-distance-unchanged",
            f"the Hamming distance changes by at most one of 50 neurons {over}",
            max(abs(late - early) for early, late in pairs["hamming_distance"]),
            1.0,
        ),
        at_most(
            "parameter-distance-unchanged",
            f"the parameter distance changes by at most 10 % {over}",
            max(abs(math.log(late / early)) for early, late in pairs["parameter_distance"]),
            math.log(1.1),
        ),
        at_least(
            "something-to-see",
            "cells whose training loss is above 1e-10 after a tenth of the training",
            len(falling),
            1,
            about="check",
        ),
        at_most(
            "balance-kept",
            "the balance δ of no neuron drifts by more than 0.05, so that descent follows the flow",
            max(measured.values("delta_drift")),
            0.05,
            about="check",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import draw_curves

    rows = [
        ("test_loss", "test loss", True),
        ("kernel_distance", "kernel distance", False),
        ("hamming_distance", "Hamming distance", False),
        ("parameter_distance", "parameter distance", False),
        ("train_loss", "training loss", True),
    ]
    return draw_curves(results, rows)


@study(
    "kunin2024.fig1-supporting",
    title="Two-layer ReLU students trained ten times longer: training loss falls on, distances stay",
    confronts=(
        "piecewise_linear.relative_scale",
        "single_neuron.kernel_distance",
    ),
)
def phase_portrait_late() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        batch=None,
        shared=("seed",),
        tools=tools,
    )
