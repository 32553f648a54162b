"""The phase portrait of two-layer ReLU students in one command: the whole published grid, on one GPU.

    python -m benchmarks.gpu_phase_portrait --out portrait [--seconds 500] [--evidence]
    python -m benchmarks.gpu_phase_portrait --study supporting --workers 4 --out supporting

17 × 17 × 16 networks, 1e5 steps each: the scale ``paper`` of the study kunin2024.fig1b-phase-portrait, or that of
kunin2024.fig1-supporting, 65 points × 16 seeds for 1e6 steps, whose batches are too small to fill a card alone and run
in streams side by side. Leaves figure, data and claims in the folder, and ``speed.json``: seconds, floating-point
operations per second and their fraction of what the card reaches in one large float32 matrix product (without TF32),
memory, card and versions. Operations are those of the two matrix products of each step. With ``--seconds`` the run
stops in time; the same command then goes on where it stopped, and the speed is that of the part that ran. On a card
as fast as an H100 the whole grid is meant to take less than eight minutes. Exits with status 2 if the run was stopped
before it was complete.

Before it starts, the kernel that takes the steps (``numerics.training.fused_steps``) is compared with the obvious
alternative, the library's float32 matrix products in a captured graph with compiled activations: seconds a step for
the students of one seed, and how far both are from float64 after 1,000 steps, relative to how far the students moved.
Where the learning rate is largest the paths of descent separate by themselves, hence the median over the students.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

COMPARED = 1000
STUDIES = {
    "fig1b": "kunin2024.fig1b-phase-portrait",
    "supporting": "kunin2024.fig1-supporting",
}


def network_steps(cells: list[Mapping], cfg: Mapping, folder: Path) -> float:
    """Steps that the folder holds, summed over networks: of finished cells and of batches at their checkpoints."""
    import numpy as np

    from numerics.lab.store import CELLS, CHECKPOINTS, label, read_cells
    from numerics.training.ensembles import log_checkpoints

    finished = {label(cell.cell) for cell in read_cells(folder / CELLS)}
    total = sum(_steps(cell, cfg) for cell in cells if label(cell) in finished)
    for path in sorted((folder / CHECKPOINTS).glob("*/state.npz")):
        with np.load(path) as state:
            place = int(state["done"]) - 1
            grid = log_checkpoints(_steps(cells[0], cfg))
            total += len(state["a"]) * (grid[place] if place < len(grid) else 0)
    return total


def _steps(cell: Mapping, cfg: Mapping) -> int:
    return max(cfg["anchors"]) if cell.get("part") == "anchor" else cfg["steps"]


def matmul_rate(device: str, size: int, dtype: str) -> float:
    """Operations per second of one square product."""
    import torch

    left, right = (torch.randn(size, size, device=device, dtype=getattr(torch, dtype)) for _ in range(2))
    torch.mm(left, right)
    best = float("inf")
    for _ in range(5):
        _wait(device)
        start = time.perf_counter()
        torch.mm(left, right)
        _wait(device)
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


def compare_steps(cfg: Mapping, device: str) -> dict[str, dict[str, float]]:
    """The kernel and a captured graph on the students of one seed: seconds a step, and the median deviation from
    float64 after ``COMPARED`` steps, relative to how far the students moved.
    """
    import numpy as np
    import torch

    from numerics.studies.piecewise_linear.phase_portrait import grid_points
    from numerics.tasks.teacher_student import draw_task, students
    from numerics.training import fused_steps
    from numerics.training.ensembles import networks
    from numerics.training.steppers import Graphed, Stepper

    task = draw_task(cfg["seeds"][0], d=cfg["d"], h=cfg["h"], k=cfg["k"], n=cfg["n"])
    tau, delta = np.transpose(grid_points(cfg))
    start = networks(*students(task, tau, delta))

    def descend(stepper, dtype):
        now, speed = (
            start.to(dtype=dtype, device=device),
            torch.as_tensor(2 * cfg["rate"] / tau**2 / cfg["n"]),
        )
        data = [value.to(dtype=dtype, device=device).contiguous() for value in (task.X, task.X.T, task.y)]
        made = stepper(now, speed.to(dtype=dtype, device=device), data)
        made.steps(1)  # compiles
        now.a.copy_(start.a)
        now.W.copy_(start.W)
        _wait(device)
        begin = time.perf_counter()
        made.steps(COMPARED)
        _wait(device)
        return (time.perf_counter() - begin) / COMPARED, now.to(dtype=torch.float64)

    def distance(first, second):
        return (((first.a - second.a) ** 2).sum(-1) + ((first.W - second.W) ** 2).sum((-2, -1))).sqrt()

    _, exact = descend(lambda now, speed, data: Stepper(now, speed, *data, False), torch.float64)
    moved = distance(exact, start.to(dtype=torch.float64, device=device))
    found = {}
    for name, stepper in {
        "one kernel": lambda now, speed, data: fused_steps.Fused(now, speed, data[0], data[2]),
        "captured graph": lambda now, speed, data: Graphed(Stepper(now, speed, *data, True)),
    }.items():
        seconds, now = descend(stepper, torch.float32)
        deviation = (distance(now, exact) / moved).nanmedian().item()
        found[name] = {"seconds a step": seconds, "median deviation from float64": deviation}
    return found


def _wait(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()


@contextmanager
def _limit(seconds: float | None) -> Iterator[None]:
    """Interrupt what runs inside, as Ctrl-C would, when the time is over."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def run(
    name: str,
    scale: str,
    device: str,
    out: Path,
    seconds: float | None = None,
    *,
    workers: int = 1,
    evidence: bool = False,
) -> dict:
    """One part of the portrait, or all of it; returns what ``speed.json`` says."""
    import torch

    from numerics.lab.provenance import device_name, versions
    from numerics.lab.runs import run_study
    from numerics.lab.study import load_study

    torch.backends.cuda.matmul.allow_tf32 = False
    study = load_study(STUDIES[name])
    cfg = study.configuration(scale)
    cells = study.plan.cells(cfg)
    cuda = device.startswith("cuda")
    rates = {name: matmul_rate(device, 8192 if cuda else 512, name) for name in ("float32", "float16")}
    compared = compare_steps(cfg, device) if cuda else None
    before = network_steps(cells, cfg, out)
    start, finished = time.perf_counter(), None
    try:
        with _limit(seconds):
            finished = run_study(study, scale, device, out, evidence=evidence, workers=workers)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
    elapsed = time.perf_counter() - start
    steps = network_steps(cells, cfg, out) - before
    operations = 4.0 * cfg["n"] * cfg["d"] * cfg["h"] * steps
    report = {
        "study": study.key,
        "scale": scale,
        "complete": finished is not None,
        "networks": len(cells),
        "network steps in this part": steps,
        "seconds of this part": elapsed,
        "FLOP/s": operations / elapsed,
        "matmul FLOP/s": rates,
        "fraction of matmul in float32": operations / elapsed / rates["float32"],
        "one step": compared,
        "peak memory (bytes)": torch.cuda.max_memory_allocated() if cuda else None,
        "device": device_name(device),
        "versions": versions(study, cfg, device),
        "claims": {claim.name: claim.holds for claim in finished.claims} if finished else None,
    }
    (out / "speed.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The phase portrait on one GPU, in one command.")
    parser.add_argument("--study", choices=STUDIES, default="fig1b")
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path("build/portrait"))
    parser.add_argument("--seconds", type=float, help="stop after this time; run again to go on")
    parser.add_argument("--workers", type=int, default=1, help="batches that run side by side")
    parser.add_argument(
        "--evidence", action="store_true", help="store the measurements where the audit finds them"
    )
    options = parser.parse_args(arguments)
    chosen = vars(options)
    report = run(chosen.pop("study"), chosen.pop("scale"), **chosen)
    print(json.dumps(report, indent=1))
    return 0 if report["complete"] else 2


if __name__ == "__main__":
    sys.exit(main())
