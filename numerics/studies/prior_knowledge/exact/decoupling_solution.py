"""The connections AᵀA within and across the modes of a task, and their exact solution (Braun et al. 2022, figure 4A).

A(0) is a square Gaussian matrix, W1 = AṼᵀ and W2 = ŨAᵀ, and the task has the singular values 4, 3, 2 and 1 in random
directions. The network is trained by gradient descent at learning rates η; its AᵀA = ŨᵀW2W1Ṽ is compared with
equation (13) at the same t = k η, within the modes (on the diagonal) and across them. A solution that is exact leaves
a deviation that falls as η. The theorem is printed for an invertible A(0); starts with more hidden neurons, where A is
tall, are measured beside it. The source states neither sizes nor scales nor rates; those here are ours.

Deviations are the largest over times and entries, relative to the largest change of any entry of the same kind. As a
contrast, the curves of a start without its couplings are compared in the same way: they must not agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


# Singular values of the task; sizes of the hidden layer; the standard deviation of A(0); rates in units where τ = 1.
PAPER = {
    "strengths": [4.0, 3.0, 2.0, 1.0],
    "hidden": [4, 7],
    "sigma": 0.3,
    "horizon": 5.0,
    "records": 125,
    "rates": [0.008, 0.004, 0.002, 0.001],
    "seeds": 10,
}
SCALES = {"smoke": {**PAPER, "seeds": 2}, "laptop": PAPER, "paper": PAPER}
KINDS = ("within", "across")
BOUND = 0.01


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"hidden": hidden, "seed": seed} for hidden in cfg["hidden"] for seed in range(cfg["seeds"])]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    """The networks of one number of hidden neurons, all at once."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.overlaps import ata
    from numerics.training.linear_descent import descend, stacked

    A, U, V = stacked(_start(cell, cfg) for cell in batch)
    s = np.array(cfg["strengths"])
    W1, W2 = A @ V.swapaxes(-1, -2), U @ A.swapaxes(-1, -2)
    sigma = (U * s) @ V.swapaxes(-1, -2)
    times = np.linspace(0.0, cfg["horizon"], cfg["records"] + 1)
    start = A.swapaxes(-1, -2) @ A
    exact = ata(times, start, s)
    found = []
    for rate in cfg["rates"]:
        steps = round(cfg["horizon"] / rate)
        first, second = descend(
            W1, W2, sigma, rate=rate, steps=steps, record=range(0, steps + 1, steps // cfg["records"])
        )
        right, left = first @ V[:, None], U[:, None].swapaxes(-1, -2) @ second
        connections = left @ right
        found.append(_deviations(connections, exact))
    alone = ata(times, start * np.eye(len(s)), s)
    apart = _deviations(connections, exact, alone)["within"]
    unlike = np.abs(right - left.swapaxes(-1, -2)).max((-3, -2, -1))
    off = np.abs(exact * (1 - np.eye(len(s)))).max((-3, -2, -1))
    return [
        Cell(
            cell,
            {
                "rate": list(cfg["rates"]),
                "unlike": float(unlike[k]),
                "largest_coupling": float(off[k]),
                **{f"deviation_{kind}": [float(item[kind][k]) for item in found] for kind in KINDS},
                "uncoupled_within": float(apart[k]),
            },
            {"t": times, "trained": connections[k], "exact": exact[k]},
        )
        for k, cell in enumerate(batch)
    ]


def _start(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A(0), Ũ and Ṽ of a cell. Cells of one seed learn the same task."""
    import numpy as np

    from numerics.training.linear_descent import orthonormal

    size = len(cfg["strengths"])
    generator = np.random.default_rng(cell["seed"])
    U, V = (orthonormal(size, size, generator) for _ in range(2))
    return cfg["sigma"] * generator.standard_normal((cell["hidden"], size)), U, V


def _deviations(
    connections: np.ndarray, exact: np.ndarray, formula: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """How far connections (K, T, n, n) are from a formula, by default the exact solution, within and across the modes:
    the largest deviation of each network (K,), in units of its largest exact change.
    """
    import numpy as np

    diagonal = np.eye(exact.shape[-1])
    moved = np.abs(exact - exact[:, :1])
    gap = np.abs(connections - (exact if formula is None else formula))
    axes = (-3, -2, -1)
    masks = {"within": diagonal, "across": 1 - diagonal}
    return {kind: (gap * mask).max(axes) / (moved * mask).max(axes) for kind, mask in masks.items()}


def claims(measured: Measurements) -> list[Claim]:
    """That the analytical and the numerical curves coincide, and that only the exact ones do."""
    return [
        *(
            order_claim(
                f"order-{kind}",
                f"trained at the rate η the connections {kind} the modes deviate from equation (13) by O(η): the "
                "fitted order that is farthest from 1",
                [(row.values["rate"], row.values[f"deviation_{kind}"]) for row in measured],
            )
            for kind in KINDS
        ),
        *(
            at_most(
                f"coincide-{kind}",
                f"at the smallest learning rate the connections {kind} the modes are within {BOUND:.0%} of eq. (13): "
                "the largest deviation",
                max(row.values[f"deviation_{kind}"][-1] for row in measured),
                BOUND,
            )
            for kind in KINDS
        ),
        at_least(
            "couplings-matter",
            "without the couplings of the start the solution is at least 10 times farther away within the modes: the "
            "smallest factor over all networks",
            min(row.values["uncoupled_within"] / row.values["deviation_within"][-1] for row in measured),
            10.0,
            about="own",
        ),
        at_most(
            "weights-keep-their-form",
            "after training W1Ṽ and W2ᵀŨ still are one matrix A, to 1e-12: the largest difference",
            max(measured.values("unlike")),
            1e-12,
            about="check",
        ),
        at_least(
            "couplings-are-there",
            "in every network some coupling is at least 0.05 at some time",
            min(measured.values("largest_coupling")),
            0.05,
            about="check",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from matplotlib.lines import Line2D

    from numerics.lab.figures import EXACT, NEGATIVE, POSITIVE, measured, new_figure, style

    counts = list(dict.fromkeys(cell.cell["hidden"] for cell in results))
    drawing = new_figure(1, len(counts), width=3.4, height=2.9)
    for axes, hidden in zip(
        drawing.subplots(1, len(counts), sharey=True, squeeze=False)[0], counts, strict=True
    ):
        cell = next(cell for cell in results if cell.cell["hidden"] == hidden)
        size = cell.curves["exact"].shape[-1]
        places = sorted(((i, j) for i in range(size) for j in range(i, size)), key=lambda p: p[0] == p[1])
        for i, j in places:
            color = POSITIVE if i == j else NEGATIVE
            axes.plot(cell.curves["t"], cell.curves["trained"][:, i, j], **measured(color))
        for i, j in places:
            axes.plot(cell.curves["t"], cell.curves["exact"][:, i, j], **EXACT)
        style(axes, xlabel=r"time $t/\tau$", title=f"{hidden} hidden neurons")
    drawing.axes[0].set_ylabel(r"elements of $A^\top A$")
    handles = [
        Line2D([], [], label="within modes", **measured(POSITIVE)),
        Line2D([], [], label="across modes", **measured(NEGATIVE)),
        Line2D([], [], label="equation (13)", **EXACT),
    ]
    drawing.legend(handles=handles, loc="outside right center", frameon=False, fontsize=9)
    return drawing


@study(
    "braun2022.fig-4a",
    title="Connections within and across the modes of a task: gradient descent on the exact solution",
    confronts=(
        "prior_knowledge.connections",
        "prior_knowledge.aligned_start",
    ),
)
def decoupling_solution() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims={"t": ("time",), "trained": ("time", "mode", "other"), "exact": ("time", "mode", "other")},
        batch=None,
        shared=("hidden",),
    )
