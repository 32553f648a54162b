"""The phase portrait of two-layer ReLU students in one command: the whole published grid, on one GPU.

    python -m benchmarks.gpu_phase_portrait --out portrait [--seconds 500] [--evidence]

17 × 17 × 16 networks, 1e5 steps each: the scale ``paper`` of the study kunin2024.fig1b-phase-portrait. Leaves figure,
data and claims in the folder, and ``speed.json``: seconds, floating-point operations per second and their fraction of
what the card reaches in one large float32 matrix product (without TF32), memory, card and versions. With
``--seconds`` the run stops in time; the same command then goes on where it stopped, and the speed is that of the part
that ran. Operations are those of the two matrix products of each step. On a card as fast as an H100 the whole grid is
meant to take less than eight minutes. Exits with status 2 if the run was stopped before it was complete.
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

STUDIES = {
    "fig1b": "kunin2024.fig1b-phase-portrait",
    "supporting": "kunin2024.fig1-supporting",
}


def network_steps(cells: list[Mapping], cfg: Mapping, folder: Path) -> float:
    """Steps that the folder holds, summed over networks: of finished cells and of batches at their checkpoints."""
    import numpy as np

    from numerics.ensembles import log_checkpoints
    from numerics.store import CELLS, CHECKPOINTS, label, read_cells

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


def matmul_rate(device: str, size: int) -> float:
    """Operations per second of one square float32 product."""
    import torch

    left, right = (torch.randn(size, size, device=device) for _ in range(2))
    torch.mm(left, right)
    best = float("inf")
    for _ in range(5):
        _wait(device)
        start = time.perf_counter()
        torch.mm(left, right)
        _wait(device)
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


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


def run(name: str, scale: str, device: str, out: Path, seconds: float | None, evidence: bool) -> dict:
    """One part of the portrait, or all of it; returns what ``speed.json`` says."""
    import torch

    from numerics.runs import device_name, run_study, versions
    from numerics.study import load_study

    torch.backends.cuda.matmul.allow_tf32 = False
    study = load_study(STUDIES[name])
    cfg = study.configuration(scale)
    cells = study.plan.cells(cfg)
    rate = matmul_rate(device, 8192 if device.startswith("cuda") else 1024)
    before = network_steps(cells, cfg, out)
    start, finished = time.perf_counter(), None
    try:
        with _limit(seconds):
            finished = run_study(study, scale, device, out, evidence=evidence)
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
        "matmul FLOP/s": rate,
        "fraction of matmul": operations / elapsed / rate,
        "peak memory (bytes)": torch.cuda.max_memory_allocated() if device.startswith("cuda") else None,
        "device": device_name(device),
        "versions": versions(),
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
    parser.add_argument(
        "--evidence", action="store_true", help="store the measurements where the audit finds them"
    )
    options = parser.parse_args(arguments)
    report = run(options.study, options.scale, options.device, options.out, options.seconds, options.evidence)
    print(json.dumps(report, indent=1))
    return 0 if report["complete"] else 2


if __name__ == "__main__":
    sys.exit(main())
