"""Phase portraits of two-layer ReLU students: one seed's whole grid of (τ, δ) as one ensemble.

The setting of Kunin et al. 2024, appendix D.1: teacher, base student and data depend on the seed alone, and a
point of the grid rescales the base student. The learning rate of the mean square loss is rate / τ².
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from numerics.lab.study import Cell
from numerics.tasks.teacher_student import draw_task, held_out, outputs, students
from numerics.training import native_steps
from numerics.training.ensembles import log_checkpoints, networks, train
from numerics.training.observers import standard_observers


def train_seed(
    cells: Sequence[Mapping[str, Any]],
    cfg: Mapping[str, Any],
    device: str,
    resume: Path | None,
    *,
    steps: int | None = None,
    dtype: str | None = None,
) -> list[Cell]:
    """Train the students of one seed, a cell {"seed", "tau", "delta", …} each, and measure them on the way.

    The configuration names d, h, k, n, test_size, rate, steps and dtype. Values: every measure after the last
    step, by its name, and after k steps, as "name@k" for k = 100 and, where there is one, the checkpoint before
    the last. Curves: every measure at every checkpoint.
    """
    seed = cells[0]["seed"]
    task = draw_task(seed, d=cfg["d"], h=cfg["h"], k=cfg["k"], n=cfg["n"])
    tau, delta = (np.array([cell[name] for cell in cells]) for name in ("tau", "delta"))
    X_test = held_out(cfg["d"], cfg["test_size"])
    y_test = outputs(task.teacher_a, task.teacher_W, X_test)
    data = [value.to(device) for value in (task.X, task.y, X_test, y_test)]
    run = train(
        networks(*students(task, tau, delta)),
        task.X,
        task.y,
        step=2 * cfg["rate"] / tau**2 / cfg["n"],
        checkpoints=log_checkpoints(steps or cfg["steps"]),
        observers=standard_observers(*data),
        dtype=getattr(torch, dtype or cfg["dtype"]),
        device=device,
        compiled=compiled(device, cfg["dtype"]),
        resume=resume,
    )
    early = sorted({100, int(run.steps[-2])} & set(run.steps.tolist()[1:-1]))
    return [
        _cell(cell, run.steps, {name: curves[place] for name, curves in run.measured.items()}, early)
        for place, cell in enumerate(cells)
    ]


def compiled(device: str, dtype: str) -> bool:
    """Whether a run in this dtype takes all of its steps by a compiled program, in C on a CPU, by Triton on a card."""
    kind = torch.device(device).type
    if kind == "cuda":
        return find_spec("triton") is not None
    return kind == "cpu" and native_steps.available(getattr(torch, dtype))


def steps_by(cfg: Mapping[str, Any], device: str) -> dict[str, str]:
    """What takes the steps here, {"steps": …}: C or Triton, and its version, or torch."""
    if not compiled(device, cfg["dtype"]):
        return {"steps": "torch"}
    if torch.device(device).type == "cuda":
        return {"steps": f"Triton {import_module('triton').__version__}"}
    return {"steps": f"C, {native_steps.compiler_version()}"}


def _cell(
    cell: Mapping[str, Any], steps: np.ndarray, measured: Mapping[str, np.ndarray], early: Sequence[int]
) -> Cell:
    values = {}
    for name, curve in measured.items():
        values[name] = _rounded(curve[-1])
        values |= {f"{name}@{step}": _rounded(curve[steps == step].item()) for step in early}
    return Cell(dict(cell), values, {"step": steps, **measured})


def _rounded(value: float) -> float | None:
    """Nine digits are more than a seed repeats; None for a student that diverged."""
    return float(f"{value:.9g}") if math.isfinite(value) else None
