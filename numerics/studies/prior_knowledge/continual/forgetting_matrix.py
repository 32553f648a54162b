"""The loss of every task after every other one, foretold and measured (Braun et al. 2022, figures 5D and 5E).

Networks of each kind (linear, tanh, ReLU) learn five tasks in a row. L_i(T_j) is the loss of task i once task j has
been learned; ``derivations.prior_knowledge.forgetting`` tells it before training. The change L_i(T_j) − L_i(T_{j−1})
is the amount of forgetting, or of learning for i = j. Sizes, tasks and the number of networks are not stated in what
is left of the published caption: here N_h, N_i, N_o = 10, 5, 3, twenty networks of each kind, and the tasks of figure
5B of which the best linear map leaves a loss of ½. The figure shows the first network of each kind. Only ends are
compared; that every step follows the gradient of the loss, for all three nonlinearities, is a unit test of
``numerics.training.continual``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_most, mean_at_least, mean_at_most
from numerics.lab.study import Cell, Plan, study
from numerics.training.continual import ACTIVATIONS, NONLINEAR, SETTING

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PAPER = {
    **SETTING,
    "tasks": 5,
    "rate": 0.02,
    "steps": 5000,
    "seeds": list(range(20)),
}
SCALES = {
    "smoke": {**PAPER, "tasks": 4, "steps": 1600},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {"loss": ("task", "learned"), "loss_foretold": ("task", "learned")}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"activation": kind, "seed": seed} for kind in ACTIVATIONS for seed in cfg["seeds"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    from numerics.training.continual import foretold_and_measured

    foretold, L = foretold_and_measured(batch, cfg, cfg["tasks"], 56, device)
    L = L[..., 1:]
    return [
        Cell(cell, _compared(foretold[place], L[place]), {"loss": L[place], "loss_foretold": foretold[place]})
        for place, cell in enumerate(batch)
    ]


def _compared(foretold: np.ndarray, measured: np.ndarray) -> dict[str, float]:
    """How far the matrices of one network are from what was foretold, for losses and for their changes."""
    import numpy as np

    changes = np.diff(foretold, axis=1), np.diff(measured, axis=1)
    others = ~np.eye(len(foretold), dtype=bool)[:, 1:]
    return {
        "loss_deviation": float(np.abs(measured - foretold).max()),
        "change_deviation": float(np.abs(changes[1] - changes[0]).max()),
        "loss_relative": _relative(measured, foretold),
        "change_relative": _relative(changes[1], changes[0]),
        "others_explained": float(np.corrcoef(changes[0][others], changes[1][others])[0, 1] ** 2),
        "own_loss": float(np.diag(measured).max()),
    }


def _relative(measured: np.ndarray, foretold: np.ndarray) -> float:
    """Root mean square of the deviation, in units of that of what was foretold."""
    return float(math.sqrt(((measured - foretold) ** 2).mean() / (foretold**2).mean()))


def claims(measured: Measurements) -> list[Claim]:
    """The halves of the squares agree for linear networks, and for the others they do not."""
    rows = {kind: measured.where(activation=kind) for kind in ACTIVATIONS}
    panels = (("loss", "losses L_i(T_j)"), ("change", "changes L_i(T_j) − L_i(T_{j−1})"))
    return [
        *(
            at_most(
                f"linear-{name}-agrees",
                f"for {len(rows['linear'])} linear networks the {words} are within 1e-6 of what was foretold, all of "
                "them",
                max(rows["linear"].values(f"{name}_deviation")),
                1e-6,
            )
            for name, words in panels
        ),
        *(
            mean_at_least(
                f"{kind}-{name}-does-not",
                f"for {kind} networks the {words} are off by at least 0.1 of their size (root mean squares)",
                rows[kind].values(f"{name}_relative"),
                0.1,
            )
            for kind in NONLINEAR
            for name, words in panels
        ),
        *(
            mean_at_most(
                f"{kind}-is-not-predicted",
                f"in {kind} networks the foretold changes of the tasks that are not in training explain at most half "
                "of the variance of the measured ones",
                rows[kind].values("others_explained"),
                0.5,
            )
            for kind in NONLINEAR
        ),
        at_most(
            "linear-tasks-are-learned",
            "no linear network ends a task with a loss above that of the best linear map by more than 1e-6",
            max(rows["linear"].values("own_loss")) - 0.5,
            1e-6,
            about="check",
        ),
        at_most(
            "tanh-tasks-are-learned",
            "tanh networks end a task below the loss of the best linear map: the largest own loss",
            max(rows["tanh"].values("own_loss")),
            0.5,
            about="check",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    import numpy as np
    from matplotlib.colors import Normalize, TwoSlopeNorm

    from numerics.lab.figures import ACTIVATION_NAMES, new_figure, style

    shown = [next(cell for cell in results if cell.cell["activation"] == kind) for kind in ACTIVATIONS]
    pairs = [(cell.curves["loss_foretold"], cell.curves["loss"]) for cell in shown]
    changes = [tuple(np.diff(matrix, axis=1) for matrix in pair) for pair in pairs]
    top, reach = max(np.max(pair) for pair in pairs), max(np.abs(pair).max() for pair in changes)
    drawing = new_figure(2, 3, width=2.6, height=2.35)
    drawing.suptitle("each square: upper half foretold, lower half measured", fontsize=9, color="0.35")
    panels = drawing.subplots(2, 3)
    rows = (
        (pairs, 1, Normalize(0, top), "magma_r", "loss $L_i(T_j)$"),
        (changes, 2, TwoSlopeNorm(0, -reach, reach), "RdBu_r", "change of the loss"),
    )
    for line, (matrices, first, norm, colors, label) in zip(panels, rows, strict=True):
        for axes, kind, (foretold, measured) in zip(line, ACTIVATIONS, matrices, strict=True):
            drawn = _split_squares(axes, foretold, measured, first, norm, colors)
            style(axes, title=ACTIVATION_NAMES[kind] if first == 1 else "")
            axes.set_xlabel("after task $j$" if first == 2 else "")
        line[0].set_ylabel("task $i$")
        drawing.colorbar(drawn, ax=list(line), label=label, pad=0.01)
    return drawing


def _split_squares(
    axes: Axes, foretold: np.ndarray, measured: np.ndarray, first: int, norm: Any, colors: Any
) -> Any:
    """A square for each pair of tasks: its upper left half foretold, its lower right half measured."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    rows, columns = np.indices(foretold.shape)
    x, y = columns.ravel() + first - 0.5, rows.ravel() + 0.5
    corners = {"upper": ((0, 0), (1, 0), (0, 1)), "lower": ((1, 0), (1, 1), (0, 1))}
    for half, values in (("upper", foretold), ("lower", measured)):
        shapes = [[(a + dx, b + dy) for dx, dy in corners[half]] for a, b in zip(x, y, strict=True)]
        drawn = PolyCollection(
            shapes, array=values.ravel(), norm=norm, cmap=colors, edgecolors="face", linewidths=0.3
        )
        axes.add_collection(drawn)
    count, last = foretold.shape[0], first + foretold.shape[1]
    for edge in range(count + 1):
        axes.axhline(edge + 0.5, color="white", linewidth=1.2)
    for edge in range(first, last + 1):
        axes.axvline(edge - 0.5, color="white", linewidth=1.2)
    axes.set(xlim=(first - 0.5, last - 0.5), ylim=(count + 0.5, 0.5), aspect="equal")
    axes.set(xticks=range(first, last), yticks=range(1, count + 1))
    return drawn


@study(
    "braun2022.fig-5de",
    title="The loss of every task after every other one: foretold, and measured in linear, tanh and ReLU networks",
    confronts=(
        "prior_knowledge.amount_of_forgetting",
        "prior_knowledge.loss_of_another_task",
    ),
)
def forgetting_matrix() -> Plan:
    return Plan(
        scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None,
        shared=("activation",),
    )  # fmt: skip
