"""Two-layer ReLU students in the plane, for four starts (τ, δ) (Kunin et al. 2024, figure 1a and appendix D.1).

d = 2, 50 hidden neurons, a teacher with 3, 20 examples. The four students share teacher, data and base student and
differ in overall scale and balance alone; all are trained with the same learning rate 1e-4, so that equal numbers
of steps are equal times of gradient flow. The teacher has a seed of its own, 15; base student and data have seed
100. As in the authors' program the unbalanced students have α = 10^{±1}, which is δ = ±0.9999 rather than ±1.

Shown are the paths of |a_k| w_k, coloured by the sign of a_k, over the activation regions of the trained network. In
the plane these are the sectors between the lines w_kᵀx = 0; two colours suffice, and lines that coincide count
once.

"Fits fastest" is read as a comparison at equal scale, τ = 0.1, by more than the spacing of the checkpoints, 12 %. The
kernel of the student at τ = 2 is larger from the start; how much earlier that one fits is measured beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


PAPER = {
    "students": [[0.1, 0.0], [2.0, 0.0], [0.1, 0.9999], [0.1, -0.9999]],
    "teacher_seed": 15,
    "seed": 100,
    "d": 2,
    "h": 50,
    "k": 3,
    "n": 20,
    "rate": 1e-4,
    "steps": 1_000_000,
    "per_decade": 20,
    "dtype": "float64",
}
SCALES = {"smoke": {**PAPER, "steps": 20_000, "per_decade": 5}, "laptop": PAPER, "paper": PAPER}
MEASURES = ("train_loss", "kernel_distance", "hamming_distance", "parameter_distance", "delta_drift")
NAMES = {
    "balanced": "τ = 0.1, δ = 0",
    "large": "τ = 2, δ = 0",
    "upstream": "τ = 0.1, δ ≈ 1",
    "downstream": "τ = 0.1, δ ≈ −1",
}
TURNING, STAYING = ("balanced", "upstream"), ("large", "downstream")
DIMS = {
    **{name: ("time",) for name in ("step", *MEASURES)},
    "path": ("neuron", "component", "time"),
    "sign": ("neuron",),
    "W": ("neuron", "component"),
    "teacher": ("teacher", "component"),
}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"tau": tau, "delta": delta} for tau, delta in cfg["students"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    import numpy as np
    import torch

    from numerics.tasks.teacher_student import draw_task, students
    from numerics.training.ensembles import log_checkpoints, networks, train
    from numerics.training.observers import standard_observers

    task = draw_task(
        cfg["seed"], d=cfg["d"], h=cfg["h"], k=cfg["k"], n=cfg["n"], teacher_seed=cfg["teacher_seed"]
    )
    tau, delta = (np.array([cell[name] for cell in batch]) for name in ("tau", "delta"))
    start = networks(*students(task, tau, delta))
    X, y = task.X.to(device), task.y.to(device)
    watched = standard_observers(X, y, X, y)
    found = train(
        start,
        task.X,
        task.y,
        step=2 * cfg["rate"] / cfg["n"],
        checkpoints=log_checkpoints(cfg["steps"], cfg["per_decade"]),
        observers={
            **{name: watched[name] for name in MEASURES},
            "path": lambda start, now: now.a.abs()[..., None] * now.W,
        },
        dtype=getattr(torch, cfg["dtype"]),
        device=device,
        resume=resume,
    )
    weights = zip(start.W.numpy(), found.networks.a.numpy(), found.networks.W.numpy(), strict=True)
    return [
        _cell(
            cell,
            found.steps,
            {name: curves[place] for name, curves in found.measured.items()},
            *student,
            task.teacher_W.numpy(),
        )
        for place, (cell, student) in enumerate(zip(batch, weights, strict=True))
    ]


def _cell(
    cell: Mapping[str, Any],
    steps: np.ndarray,
    measured: Mapping[str, np.ndarray],
    W0: np.ndarray,
    a: np.ndarray,
    W: np.ndarray,
    teacher: np.ndarray,
) -> Cell:
    """One student, with W0 (h, d) at the start and a (h,), W (h, d) at the end, and the teacher's W (k, d)."""
    import numpy as np

    turns = _angle(W0, W)
    sizes = np.abs(a) * np.linalg.norm(W, axis=-1)
    to_teacher = _angle(W[:, None], teacher[None]).min(-1)
    loss = measured["train_loss"]
    fitted = steps[loss <= 0.1 * loss[0]]
    values = {
        **{name: float(measured[name][-1]) for name in MEASURES},
        "mean_turn": float(turns.mean()),
        "largest_turn": float(turns.max()),
        "angle_to_teacher": float((sizes * to_teacher).sum() / sizes.sum()),
        "steps_to_a_tenth": int(fitted[0]) if fitted.size else None,
    }
    curves = {**measured, "step": steps, "sign": np.sign(a), "W": W, "teacher": teacher}
    return Cell(cell, values, curves)


def _angle(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The angle between vectors (..., d), in degrees."""
    import numpy as np

    cosine = (first * second).sum(-1) / np.linalg.norm(first, axis=-1) / np.linalg.norm(second, axis=-1)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def claims(measured: Measurements) -> list[Claim]:
    """Which neurons turn, which stay, and who fits first."""
    rows = {_kind(row.cell): row.values for row in measured}
    return [
        *_direction_claims(rows),
        *_speed_claims(rows),
        at_least(
            "kernels-move-where-neurons-turn",
            "the kernel distance of each student whose neurons turn is at least ten times that of each whose "
            "neurons stay",
            min(rows[kind]["kernel_distance"] for kind in TURNING)
            / max(rows[kind]["kernel_distance"] for kind in STAYING),
            10.0,
            about="own",
        ),
        at_most(
            "balance-kept",
            "no neuron's balance δ drifts by more than 1e-3: descent follows the flow",
            max(row["delta_drift"] for row in rows.values()),
            1e-3,
            about="check",
        ),
    ]


def _direction_claims(rows: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Which neurons change their direction."""
    turning = [
        at_least(
            f"{kind}-turns",
            f"at {NAMES[kind]} the neurons change direction: the mean angle between w_k at the start and at the "
            "end is at least 20°",
            rows[kind]["mean_turn"],
            20.0,
        )
        for kind in TURNING
    ]
    staying = [
        at_most(
            f"{kind}-stays",
            f"at {NAMES[kind]} the neurons keep their directions: the mean angle between w_k at the start and at "
            "the end is at most 5°",
            rows[kind]["mean_turn"],
            5.0,
        )
        for kind in STAYING
    ]
    return turning + staying


def _speed_claims(rows: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Who fits first, and what the first one of small scale has learned."""
    steps = {kind: row["steps_to_a_tenth"] or float("inf") for kind, row in rows.items()}
    return [
        at_least(
            "upstream-fits-fastest",
            "the upstream student has a tenth of its first loss left earlier than the balanced and the downstream "
            "student of the same scale, at least 1.2 times",
            min(steps["balanced"], steps["downstream"]) / steps["upstream"],
            1.2,
        ),
        at_most(
            "upstream-aligns-with-teacher",
            "the upstream student's neurons, weighted by their size, point to a teacher neuron to within 10°",
            rows["upstream"]["angle_to_teacher"],
            10.0,
        ),
        at_least(
            "large-fits-earlier-still",
            "at the same learning rate the student at τ = 2 has a tenth of its first loss left at least twice as "
            "early as the upstream one",
            steps["upstream"] / steps["large"],
            2.0,
            about="own",
        ),
    ]


def _kind(cell: Mapping[str, Any]) -> str:
    """Which of ``NAMES`` a student is."""
    if cell["tau"] > 1:
        return "large"
    return {0: "balanced", 1: "upstream", -1: "downstream"}[round(cell["delta"])]


def figure(results: Sequence[Cell]) -> Figure:
    import numpy as np

    from numerics.lab.figures import NEGATIVE, POSITIVE, draw_sectors, new_figure, number

    drawing = new_figure(1, len(results), width=2.7, height=3.0)
    for axes, cell in zip(drawing.subplots(1, len(results), squeeze=False)[0], results, strict=True):
        path, sign, teacher = (cell.curves[name] for name in ("path", "sign", "teacher"))
        limit = 1.15 * np.abs(path).max()
        draw_sectors(axes, cell.curves["W"], limit)
        for direction in teacher:
            axes.plot(*(2 * limit * np.outer(direction, [0, 1])), color="0.3", linestyle=":", linewidth=1)
        for neuron, positive in zip(path, sign > 0, strict=True):
            color = POSITIVE if positive else NEGATIVE
            axes.plot(neuron[0], neuron[1], color=color, linewidth=0.8, alpha=0.8)
            axes.plot(neuron[0, -1], neuron[1, -1], ".", color=color, markersize=3.5)
        axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
        tau, delta = cell.cell["tau"], number(cell.cell["delta"], ".3g")
        axes.set_title(rf"$\tau = {tau:g}$, $\delta = {delta}$", fontsize=10)
    return drawing


@study(
    "kunin2024.fig1a-teacher-student",
    title="Two-layer ReLU students in the plane: which neurons turn, for four scales and balances",
    confronts=(
        "piecewise_linear.relative_scale",
        "piecewise_linear.balanced_base",
        "single_neuron.kernel_distance",
    ),
)
def teacher_student_plane() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        absent=("steps_to_a_tenth",),
        batch=None,
    )
