"""Running a study: progress, resumption after an interruption, and the folder of results.

A run keeps its finished cells in ``cells.jsonl``, one line each, written whole or not at all, beside
``run.json``, which says what ran. A killed run continues where it stopped; a folder that holds another
configuration, other code or other versions is refused. At the end the folder also holds figure.png,
figure.pdf, data.nc and claims.json.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from numerics.claims import Claim
from numerics.evidence import write_evidence, write_text
from numerics.fingerprint import combined, source_hashes
from numerics.study import Cell, Study, StudyError, load_study, recomputed_claims

NEEDED = ("torch", "scipy", "matplotlib", "xarray", "h5netcdf", "h5py")


@dataclass(frozen=True)
class Run:
    """A finished run: where its files are, what it found, and the evidence file if one was written."""

    folder: Path
    cells: list[Cell]
    claims: list[Claim]
    evidence: Path | None


def run_study(
    study: str | Study,
    scale: str = "laptop",
    device: str = "cpu",
    out: str | Path | None = None,
    *,
    evidence: bool = False,
    progress: bool = True,
) -> Run:
    """Run a study, or the rest of it, and leave figure, data and claims in one folder.

    ``study`` is a key or a Study; ``out`` defaults to ``studies/<key>/<scale>`` in the current folder. With
    ``evidence`` the measurements are also stored where the audit finds them. The progress bar goes to stderr.
    Raises StudyError, before any work starts, for an unknown key or scale, a missing package, a device that
    is not there, a folder that cannot be written, and a folder that holds results of something else.
    """
    study = load_study(study) if isinstance(study, str) else study
    configuration = study.configuration(scale)
    _check_packages()
    _check_device(device)
    folder = Path(out) if out is not None else Path("studies") / study.key / scale
    identity = {
        "configuration": configuration,
        "device": device_name(device),
        "source": combined(source_hashes(study.module)),
        "versions": versions(),
    }
    _check_writable(folder)
    with _sole_user(folder):
        _claim_folder(folder, identity)
        cells = _complete(study, configuration, device, folder, progress)
        rows = [{"cell": dict(cell.cell), "values": dict(cell.values)} for cell in cells]
        claims = recomputed_claims(study, rows)
        _save(study, identity, cells, claims, folder)
        path = None
        if evidence:
            path = write_evidence(
                study, configuration, cells, device=identity["device"], versions=identity["versions"]
            )
    return Run(folder=folder, cells=cells, claims=claims, evidence=path)


def versions() -> dict[str, str]:
    """The versions of the packages that the numbers depend on."""
    found = {}
    for name in ("numpy", "scipy", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def device_name(device: str) -> str:
    """The device in words: "cpu", or the name of the card."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(torch.device(device))
    return device


def _check_packages() -> None:
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise StudyError(
            f"running a study needs {', '.join(absent)}: install the extra `numerics` "
            f"(pip install 'symdyn-learning[numerics]')"
        )


def _check_device(device: str) -> None:
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise StudyError(
            f"the device {device!r} cannot be used here ({reason}); choose --device cpu"
        ) from None


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StudyError(
            f"the output folder {folder} cannot be written ({error.strerror}); choose another with --out"
        ) from None


@contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    """Hold the folder while a run writes into it; the lock dies with its process."""
    import fcntl

    with open(folder / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(
                f"another run is writing into {folder}; wait for it or choose another --out"
            ) from None
        yield


def _claim_folder(folder: Path, identity: Mapping) -> None:
    path = folder / "run.json"
    if not path.exists():
        if (folder / "cells.jsonl").exists():
            raise StudyError(
                f"{folder} holds cells without run.json, so nobody can say what they are; choose another "
                "--out"
            )
        write_text(path, json.dumps(identity, indent=1, ensure_ascii=False) + "\n")
        return
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise StudyError(f"{path} is broken ({error}); choose another --out, or remove the folder") from None
    wanted = json.loads(json.dumps(identity))
    differing = [name for name in wanted if held.get(name) != wanted[name]]
    if differing:
        raise StudyError(
            f"{folder} holds results of another run: "
            f"{', '.join(_difference(held, wanted, name) for name in differing)}. "
            f"Results are not mixed; choose another --out, or remove the folder"
        )


def _difference(held: Mapping, wanted: Mapping, name: str) -> str:
    old, new = held.get(name), wanted[name]
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return f"{name} was {old}, is {new}"
    parts = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(f"{name}.{key} was {old.get(key)}, is {new.get(key)}" for key in parts)


def _complete(study: Study, configuration: Mapping, device: str, folder: Path, progress: bool) -> list[Cell]:
    """Run the cells that are not there yet, and return all of them in the order of the grid."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    grid = study.plan.cells(configuration)
    path = folder / "cells.jsonl"
    done = {_label(cell.cell): cell for cell in read_cells(path)}
    missing = [cell for cell in grid if _label(cell) not in done]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bar:
        task = bar.add_task(study.key, total=len(grid), completed=len(grid) - len(missing))
        for start in range(0, len(missing), study.plan.batch):
            batch = missing[start : start + study.plan.batch]
            resume = folder / "checkpoints" / f"{len(grid) - len(missing) + start}"
            for cell in study.plan.run(batch, configuration, device, resume):
                done[_label(cell.cell)] = _append(path, cell)
            bar.advance(task, len(batch))
    return [done[_label(cell)] for cell in grid]


def _label(cell: Mapping) -> str:
    return json.dumps(cell, sort_keys=True)


def _append(path: Path, cell: Cell) -> Cell:
    """Add one line to the file with a single write, wait until it is on the disk, and return what it says.

    The cell comes back as a resumed run would read it, so that both end in the same results.
    """
    record = {"cell": dict(cell.cell), "values": dict(cell.values), "curves": _plain(cell.curves)}
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    with open(path, "ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
        os.fsync(file.fileno())
    return _parsed(line)


def _parsed(line: str | bytes) -> Cell:
    record = json.loads(line)
    return Cell(record["cell"], record["values"], _arrays(record["curves"]))


def read_cells(path: Path) -> list[Cell]:
    """The finished cells of a run. A last line that a kill cut short is removed from the file: that cell did
    not finish.

    Raises StudyError for a broken line anywhere else.
    """
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with open(path, "r+b") as file:
            file.truncate(len(whole))
    cells = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            cells.append(_parsed(line))
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise StudyError(
                f"line {number} of {path} is broken ({type(error).__name__}); remove that line and run again"
            ) from None
    return cells


def _plain(curves: Mapping) -> dict[str, object]:
    """Arrays as nested lists, with None for what is not finite: JSON has no NaN."""
    import numpy as np

    return {name: _listed(np.asarray(values, float).tolist()) for name, values in curves.items()}


def _listed(values):
    if isinstance(values, list):
        return [_listed(value) for value in values]
    return values if math.isfinite(values) else None


def _arrays(curves: Mapping) -> dict[str, object]:
    import numpy as np

    return {name: np.array(values, dtype=float) for name, values in curves.items()}


def _save(study: Study, identity: Mapping, cells: list[Cell], claims: list[Claim], folder: Path) -> None:
    text = json.dumps(identity, ensure_ascii=False, sort_keys=True)
    figure = study.plan.figure(cells)
    png = {"Title": study.title, "Software": "symdyn", "Description": text}
    figure.savefig(folder / "figure.png", dpi=200, metadata=png)
    pdf = {
        "Title": study.title,
        "Creator": "symdyn",
        "Subject": study.key,
        "Keywords": text,
        "CreationDate": None,
    }
    figure.savefig(folder / "figure.pdf", metadata=pdf)
    dataset(study, cells, text).to_netcdf(folder / "data.nc", engine="h5netcdf")
    report = {
        "study": study.key,
        "title": study.title,
        **identity,
        "claims": [claim.as_dict() for claim in claims],
    }
    write_text(folder / "claims.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def dataset(study: Study, cells: list[Cell], configuration: str):
    """The results as an xarray data set: one axis of cells with their coordinates, numbers and curves.

    What a cell does not have is NaN (an empty string for a coordinate in words).
    """
    import xarray

    coordinates = {
        name: ("cell", _column([cell.cell.get(name) for cell in cells])) for name in _names(cells, "cell")
    }
    variables = {}
    for name in _names(cells, "values"):
        column = _column([cell.values.get(name) for cell in cells])
        variables[name] = (("cell", f"{name}_index")[: column.ndim], column)
    for name in _names(cells, "curves"):
        variables[name] = (
            ("cell", *study.plan.dims[name]),
            _column([cell.curves.get(name) for cell in cells]),
        )
    attributes = {"study": study.key, "title": study.title, "configuration": configuration}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _names(cells: list[Cell], part: str) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in getattr(cell, part)))


def _column(entries: list):
    """One array of all cells' entries, which are words, numbers, or arrays of one shape; None is missing."""
    import numpy as np

    if any(isinstance(entry, str) for entry in entries):
        return np.array(["" if entry is None else entry for entry in entries])
    arrays = [None if entry is None else np.asarray(entry, float) for entry in entries]
    shape = next((array.shape for array in arrays if array is not None), ())
    return np.stack([np.full(shape, math.nan) if array is None else array for array in arrays])
