"""Evidence after a change of code that was not meant to change numbers: repeat a part of it, to the last digit.

    symdyn study reproduce kunin2024.fig1b-phase-portrait --batches 2

Measurements that took an hour stay what they were when code is moved, renamed or made faster, but only a repetition
shows it. Batches from all over the grid run again, as long as they ran then, and every number must come out as it is
stored. Then the evidence says which code repeated how much of it, beside the code that made it, and is no longer
stale. Where one digit differs nothing is written, and the study has to be run anew.

    symdyn study reproduce kunin2024.fig1b-phase-portrait --beside ../symdyn-before

On another kind of processor numbers of single precision have other last digits whatever the code is, so that they tell
nothing of a change of code. There the code that made the evidence, in a checkout of its own, runs the same batches on
the same machine, and the two must agree to the last digit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerics.lab.evidence import EvidenceError, evidence_folder, load_evidence, rewrite_evidence
from numerics.lab.fingerprint import source_of
from numerics.lab.provenance import check_device, check_packages, device_name, versions
from numerics.lab.store import as_stored, label
from numerics.lab.study import Cell, StudyError, load_study
from numerics.lab.sweep import batches, grid_of, measure


@dataclass(frozen=True)
class Reproduction:
    """The cells that ran again, of how many, and the evidence file that says so."""

    repeated: int
    cells: int
    evidence: Path


def reproduce(
    key: str, count: int = 2, device: str = "cpu", folder: Path | None = None, beside: Path | None = None
) -> Reproduction:
    """Run ``count`` batches of the stored evidence of a study again and, if all their numbers come out as they are
    stored, note it in the evidence file.

    The batches are spread evenly over the grid, the first and the last among them. With ``beside``, a checkout of the
    code that made or last repeated the evidence, the numbers are compared with those that this code makes of the same
    batches on this machine, in a process of its own that runs at the same time.

    Raises StudyError for a count below one, for other versions of what the numbers depend on, another device, another
    configuration or other cells than those of the evidence, for a number that differs, which it names, without the
    packages, and for a checkout of other code; EvidenceError without evidence.
    """
    if count < 1:
        raise StudyError(f"at least one batch has to run again, not {count}")
    check_packages()
    check_device(device)
    study, stored = load_study(key), load_evidence(key, folder)
    source, cfg = source_of(study.module, study.attribute), study.configuration(stored["scale"])
    now = {
        "versions": versions(study, cfg, device),
        "device": device_name(device),
        "configuration": dict(cfg),
    }
    for name, value in now.items():
        if stored[name] != value:
            raise StudyError(
                f"the evidence of {key} has {name} {stored[name]}, here they are {value}: digits cannot be compared; "
                f"run `symdyn study run {key} --scale {stored['scale']} --evidence` instead"
            )
    grid = grid_of(study, cfg)
    groups = batches(study.plan, grid)
    chosen = [groups[place] for place in spread(count, len(groups))]
    known = {label(row["cell"]): row["values"] for row in stored["cells"]}
    if list(known) != [label(cell) for cell in grid]:
        raise StudyError(f"the evidence of {key} is of another grid of cells; the study has to be run anew")
    other = _Beside(beside, stored, chosen, device) if beside is not None else None
    measured: list[Cell] = []
    try:
        for cells in chosen:
            with tempfile.TemporaryDirectory() as aside:
                measured += map(as_stored, measure(study, cells, cfg, device, Path(aside)))
            if other is None:
                for cell in measured:
                    _compare(cell, known)
        if other is not None:
            known = other.values()
            for cell in measured:
                _compare(cell, known)
    finally:
        if other is not None:
            other.end()
    note = {**source.as_dict(), "cells": len(measured)}
    repeated = len(measured)
    path = rewrite_evidence(stored | {"reproduced": note}, folder or evidence_folder(study.module))
    return Reproduction(repeated, len(stored["cells"]), path)


def spread(count: int, groups: int) -> Sequence[int]:
    """``count`` places among ``groups``, evenly spread, with the first and, from two on, the last."""
    if count >= groups:
        return range(groups)
    return [round(place * (groups - 1) / max(count - 1, 1)) for place in range(count)]


_RUN = """
import json, sys, tempfile
from pathlib import Path
try:
    from numerics.lab.fingerprint import source_of
    from numerics.lab.store import as_stored
    from numerics.lab.study import load_study
    from numerics.lab.sweep import measure
except ModuleNotFoundError:  # up to version 0.1 these modules lay in `numerics` itself
    from numerics.fingerprint import source_of
    from numerics.store import as_stored
    from numerics.study import load_study
    from numerics.sweep import measure

key, scale, device, batches = json.loads(sys.stdin.read())
study = load_study(key)
rows = []
for cells in batches:
    with tempfile.TemporaryDirectory() as aside:
        found = map(as_stored, measure(study, cells, study.configuration(scale), device, Path(aside)))
        rows += [[dict(cell.cell), dict(cell.values)] for cell in found]
print(json.dumps({"hash": source_of(study.module, study.attribute).hash, "rows": rows}))
"""


class _Beside:
    """The same batches by another checkout, in a process of its own."""

    def __init__(
        self,
        checkout: Path,
        stored: Mapping[str, Any],
        batches: Sequence[Sequence[Mapping[str, Any]]],
        device: str,
    ) -> None:
        places = (checkout / "numerics" / "lab", checkout / "numerics")
        if not any((place / "fingerprint.py").is_file() for place in places):
            raise StudyError(f"{checkout} is no checkout of symdyn: it has no numerics/lab/fingerprint.py")
        self._checkout, self._stored = checkout, stored
        self._process = subprocess.Popen(
            [sys.executable, "-c", _RUN],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout.resolve())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        wanted = [
            stored["study"],
            stored["scale"],
            device,
            [[dict(cell) for cell in cells] for cells in batches],
        ]
        self._process.stdin.write(json.dumps(wanted))  # type: ignore[union-attr]  # a pipe
        self._process.stdin.close()  # type: ignore[union-attr]  # a pipe

    def values(self) -> dict[str, Mapping[str, Any]]:
        """What that code measures, by cell. Raises StudyError if it fails, or is not the code of the evidence."""
        text = self._process.stdout.read()  # type: ignore[union-attr]  # a pipe
        if self._process.wait():
            raise StudyError(f"the code in {self._checkout} did not run the study: see its message above")
        found = json.loads(text.splitlines()[-1])
        notes = (self._stored["source"], self._stored.get("reproduced", {}))
        if found["hash"] not in [note["hash"] for note in notes if note]:
            raise StudyError(
                f"the code in {self._checkout} neither made nor repeated the evidence: its hash is {found['hash']}"
            )
        return {label(cell): values for cell, values in found["rows"]}

    def end(self) -> None:
        """Let no process run on, and no pipe stay open."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]  # a pipe


def _compare(cell: Cell, known: Mapping[str, Mapping[str, Any]]) -> None:
    stored = known.get(label(cell.cell))
    if stored is None:
        raise EvidenceError(f"the evidence lacks the cell {dict(cell.cell)}; the study has to be run anew")
    for name in sorted({*stored, *cell.values}):
        before, after = stored.get(name), cell.values.get(name)
        if before != after:
            raise StudyError(
                f"{name} of {dict(cell.cell)} was {before} and is {after} now: the code does not repeat the evidence, "
                "and the study has to be run anew"
            )
