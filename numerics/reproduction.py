"""Evidence after a change of code that was not meant to change numbers: repeat a part of it, to the last digit.

    symdyn study reproduce kunin2024.fig1b-phase-portrait --batches 2

Measurements that took an hour stay what they were when code is moved, renamed or made faster, but only a repetition
shows it. Batches from all over the grid run again, as long as they ran then, and every number must come out as it is
stored. Then the evidence says which code repeated how much of it, beside the code that made it, and is no longer
stale. Where one digit differs nothing is written, and the study has to be run anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numerics.evidence import EvidenceError, evidence_folder, load_evidence, rewrite_evidence
from numerics.fingerprint import source_of
from numerics.provenance import check_device, check_packages, device_name, versions
from numerics.store import as_stored, label
from numerics.study import Cell, StudyError, load_study
from numerics.sweep import batches, grid_of, measure


@dataclass(frozen=True)
class Reproduction:
    """The cells that ran again, of how many, and the evidence file that says so."""

    repeated: int
    cells: int
    evidence: Path


def reproduce(key: str, count: int = 2, device: str = "cpu", folder: Path | None = None) -> Reproduction:
    """Run ``count`` batches of the stored evidence of a study again and, if all their numbers come out as they are
    stored, note it in the evidence file.

    The batches are spread evenly over the grid, the first and the last among them. Raises StudyError for a count
    below one, for other versions of what the numbers depend on, another device, another configuration or other cells
    than those of the evidence, for a number that differs, which it names, and without the packages; EvidenceError
    without evidence.
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
    repeated = 0
    for cells in chosen:
        with tempfile.TemporaryDirectory() as aside:
            for cell in measure(study, cells, cfg, device, Path(aside)):
                _compare(as_stored(cell), known)
                repeated += 1
    note = {**source.as_dict(), "cells": repeated}
    path = rewrite_evidence(stored | {"reproduced": note}, folder or evidence_folder(study.module))
    return Reproduction(repeated, len(stored["cells"]), path)


def spread(count: int, groups: int) -> Sequence[int]:
    """``count`` places among ``groups``, evenly spread, with the first and, from two on, the last."""
    if count >= groups:
        return range(groups)
    return [round(place * (groups - 1) / max(count - 1, 1)) for place in range(count)]


def _compare(cell: Cell, known: Mapping[str, Mapping]) -> None:
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
