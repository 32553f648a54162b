"""The folder of a run: what ran, the finished cells, the results.

``run.json`` says what ran: configuration with seeds and dtypes, code, versions, device. ``cells.jsonl`` holds
the finished cells, one line each. A batch that finishes is first written whole to a journal, so that a kill
between two of its lines loses none of its cells; the journal is carried over when the run is resumed.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from numerics.claims import Claim
from numerics.evidence import write_text
from numerics.study import Cell, Study, StudyError

CELLS, JOURNAL, CHECKPOINTS = "cells.jsonl", "finished.jsonl", "checkpoints"


def label(cell: Mapping) -> str:
    """The coordinates of a cell as one string, the same whatever their order."""
    return json.dumps(cell, sort_keys=True)


def check_writable(folder: Path) -> None:
    """Make the folder. Raises StudyError if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StudyError(
            f"the output folder {folder} cannot be written ({error.strerror}); choose another with --out"
        ) from None


@contextmanager
def sole_user(folder: Path) -> Iterator[None]:
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


def claim_folder(folder: Path, identity: Mapping) -> None:
    """Write down what runs here. Raises StudyError if the folder holds results of something else."""
    path = folder / "run.json"
    if not path.exists():
        if (folder / CELLS).exists():
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
    if not isinstance(held, dict):
        raise StudyError(f"{path} is broken (no record); choose another --out, or remove the folder")
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


def finish_batch(folder: Path, resume: Path, cells: Sequence[Cell]) -> list[Cell]:
    """Add a finished batch to the folder and drop its checkpoints. Returns the cells as a resumed run reads
    them, so that both end in the same results.
    """
    lines = [_line(cell) for cell in cells]
    resume.mkdir(parents=True, exist_ok=True)
    write_text(resume / JOURNAL, "".join(f"{line}\n" for line in lines))
    _append(folder / CELLS, lines)
    shutil.rmtree(resume)
    return [_parsed(line) for line in lines]


def recover(folder: Path) -> None:
    """Carry over what journals hold and the list of cells does not, and drop those batches' checkpoints."""
    for journal in sorted((folder / CHECKPOINTS).glob(f"*/{JOURNAL}")):
        held = {label(cell.cell) for cell in read_cells(folder / CELLS)}
        lines = journal.read_text(encoding="utf-8").split("\n")[:-1]
        _append(folder / CELLS, [line for line in lines if label(json.loads(line)["cell"]) not in held])
        shutil.rmtree(journal.parent)


def _append(path: Path, lines: Sequence[str]) -> None:
    """Add lines and wait until they are on the disk. Raises OSError, of a full disk say, before it is given up."""
    with open(path, "ab") as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def _line(cell: Cell) -> str:
    values = {name: _number(cell, name, value) for name, value in cell.values.items()}
    record = {"cell": dict(cell.cell), "values": values, "curves": _plain(cell.curves)}
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _number(cell: Cell, name: str, value):
    """A value as JSON has it: NumPy's numbers and arrays as Python's, and None for what is not finite.

    Raises StudyError for what is neither a number nor a word nor a list of those.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return [_number(cell, name, entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise StudyError(
        f"the value {name!r} of the cell {label(cell.cell)} is {value!r}, which cannot be stored: a value is a "
        "number, a word, a list of these, or None"
    )


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


def save_results(
    study: Study, identity: Mapping, cells: list[Cell], claims: list[Claim], folder: Path
) -> None:
    """Write figure.png, figure.pdf, data.nc and claims.json, each with what ran."""
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
    """One array of all cells' entries, which are words, numbers, or arrays of one shape; None is missing. Whole numbers
    that do not fit 64 bits, as some seeds, are words.
    """
    import numpy as np

    if any(isinstance(entry, str) for entry in entries):
        return np.array(["" if entry is None else entry for entry in entries])
    if all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries):
        return (
            np.array(entries)
            if max(map(abs, entries)) < 2**63
            else np.array([str(entry) for entry in entries])
        )
    arrays = [None if entry is None else np.asarray(entry, float) for entry in entries]
    shape = next((array.shape for array in arrays if array is not None), ())
    return np.stack([np.full(shape, math.nan) if array is None else array for array in arrays])
