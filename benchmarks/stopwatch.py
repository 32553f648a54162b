"""What the benchmarks share: the least of several wall times, where they ran, and how a result is shown and stored."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path


def best_of(action: Callable[[], object], repeats: int = 1) -> float:
    """The least wall time of several runs, in seconds: the one that other work on the machine disturbed least."""
    elapsed = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        elapsed.append(time.perf_counter() - start)
    return min(elapsed)


def surroundings(*packages: str) -> dict[str, dict[str, object]]:
    """The machine with its load, and the versions of the packages that were measured."""
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }
    return {"machine": machine, "versions": {name: version(name) for name in packages}}


def with_json(description: str) -> argparse.ArgumentParser:
    """A parser with the option --json FILE."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser


def status(result: dict, show: Callable[[dict], None], path: Path | None) -> int:
    """Show and store a result; the exit status says whether it is as wanted, by its field "holds"."""
    show(result)
    if path:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if result["holds"] else 1
