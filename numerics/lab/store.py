"""The folder of a run: what ran, the finished cells, the results.

``run.json`` says what ran: configuration with seeds and dtypes, code, versions, device. ``cells.jsonl`` holds
the finished cells, one line each, with a checksum of the line at its end. A batch that finishes is first written whole
to a journal, so that a kill between two of its lines loses none of its cells; the journal is carried over when the run
is resumed. What cannot be read, or says two things of one cell, is refused with its file and line.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from numerics.lab.claims import Claim
from numerics.lab.evidence import write_bytes, write_text
from numerics.lab.study import Cell, Study, StudyError

if TYPE_CHECKING:
    import numpy as np
    import xarray
    from matplotlib.figure import Figure


CELLS, JOURNAL, CHECKPOINTS = "cells.jsonl", "finished.jsonl", "checkpoints"
SUM = re.compile(r', "sum": "([0-9a-f]{16})"\}')
PARTS = ("cell", "values", "curves")
KEPT = "The finished cells stay in cells.jsonl, but a study that was corrected begins anew, in another --out."


def label(cell: Mapping[str, Any]) -> str:
    """The coordinates of a cell as one string, the same whatever their order. Raises StudyError as ``coordinates``."""
    return json.dumps(coordinates(cell), sort_keys=True)


def coordinates(cell: Mapping[str, Any]) -> dict[str, object]:
    """The coordinates of a cell as JSON has them: NumPy's numbers as Python's.

    Raises StudyError for one that is neither a finite number nor a word nor None.
    """
    return {name: _coordinate(cell, name, value) for name, value in cell.items()}


def _coordinate(cell: Mapping[str, Any], name: str, value: Any) -> int | float | str | None:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if plain is None or isinstance(plain, bool | int | str):
        return plain
    if isinstance(plain, float) and math.isfinite(plain):
        return plain
    raise StudyError(
        f"the coordinate {name!r} of the cell {dict(cell)} is {plain!r}; a coordinate is a finite number or a word"
    )


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

    with _told(f"the output folder {folder} cannot be locked", "choose another with --out"):
        lock = open(folder / ".lock", "w")  # noqa: SIM115 closed below: an error of the run is none of the lock
    with lock:
        try:
            with _told(f"the output folder {folder} cannot be locked", "choose another with --out"):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(
                f"another run is writing into {folder}; wait for it or choose another --out"
            ) from None
        yield


@contextmanager
def _told(what: str, remedy: str) -> Iterator[None]:
    """Raises StudyError, which says ``what`` and why, for an OSError, of a full disk or a folder in a file's place say;
    BlockingIOError, which says that a lock is held, passes.
    """
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        raise StudyError(f"{what} ({error.strerror or error}); {remedy}") from None


def _written(path: Path) -> AbstractContextManager[None]:
    """Raises StudyError for a file or folder of a run that cannot be written."""
    return _told(
        f"{path} cannot be written",
        "free some space, or move away what is in its place, and run again: what is finished is kept",
    )


def claim_folder(folder: Path, identity: Mapping[str, Any]) -> None:
    """Write down what runs here. Raises StudyError if the folder holds cells or checkpoints of something else."""
    path = folder / "run.json"
    started = [name for name in (CELLS, CHECKPOINTS) if (folder / name).exists()]
    if not path.exists() or not started:
        if started:
            what = "cells" if CELLS in started else "checkpoints"
            raise StudyError(
                f"{folder} holds {what} without run.json, so nobody can say what they are; choose another "
                "--out"
            )
        write_text(path, json.dumps(identity, indent=1, ensure_ascii=False) + "\n")
        return
    try:
        held = json.loads(_content(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # broken JSON, or what is not UTF-8
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


def _difference(held: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> str:
    old, new = held.get(name), wanted[name]
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return f"{name} was {old}, is {new}"
    parts = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(f"{name}.{key} was {old.get(key)}, is {new.get(key)}" for key in parts)


def finish_batch(folder: Path, resume: Path, cells: Sequence[Cell]) -> list[Cell]:
    """Add a finished batch to the folder and drop its checkpoints. Returns the cells as a resumed run reads
    them, so that both end in the same results.

    Raises StudyError, and keeps the checkpoints, for a coordinate, a value or a curve that cannot be stored.
    """
    lines = [_line(cell) for cell in cells]
    with _written(resume):
        resume.mkdir(parents=True, exist_ok=True)
    write_text(resume / JOURNAL, "".join(f"{line}\n" for line in lines))
    _append(folder / CELLS, lines)
    _drop(resume)
    return [_parsed(line) for line in lines]


def as_stored(cell: Cell) -> Cell:
    """The cell as a resumed run reads it. Raises StudyError as ``finish_batch``."""
    return _parsed(_line(cell))


def recover(folder: Path) -> None:
    """Carry over what journals hold and the list of cells does not, and drop those batches' checkpoints.

    Raises StudyError, which names file and line, for a journal that ``read_cells`` would refuse, and for one that says
    something else of a cell than the list.
    """
    for journal in sorted((folder / CHECKPOINTS).glob(f"*/{JOURNAL}")):
        held = _entries(folder / CELLS)
        found = _entries(journal, held)
        _append(folder / CELLS, [entry.text for place, entry in found.items() if place not in held])
        _drop(journal.parent)


def _append(path: Path, lines: Sequence[str]) -> None:
    """Add lines, all or none, and wait until they are on the disk. Raises StudyError, for a full disk say."""
    content = memoryview("".join(f"{line}\n" for line in lines).encode())
    # Without a buffer, which would be written on closing: after the part that did not fit was taken back.
    with _written(path), open(path, "ab", buffering=0) as file:
        size = file.tell()
        try:
            while content:
                content = content[file.write(content) :]
            os.fsync(file.fileno())
        except OSError:
            os.truncate(path, size)
            raise


def _drop(batch: Path) -> None:
    """Remove the checkpoints of a finished batch."""
    with _told(f"{batch} cannot be removed", "remove it, since its cells are in the list, and run again"):
        shutil.rmtree(batch)


def _line(cell: Cell) -> str:
    record = {
        "cell": coordinates(cell.cell),
        "values": {name: _number(cell, name, value) for name, value in cell.values.items()},
        "curves": {name: _curve(cell, name, curve) for name, curve in cell.curves.items()},
    }
    try:
        body = json.dumps(record, ensure_ascii=False, allow_nan=False)
        return f'{body[:-1]}, "sum": "{_sum(body)}"}}'
    except ValueError as error:  # half a character, or thousands of digits
        raise StudyError(
            f"a word or a number of the cell {label(cell.cell)} cannot be stored: {error}; let words be text of whole "
            "characters and numbers fit into 64 bits"
        ) from None


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _number(cell: Cell, name: str, value: Any) -> Any:
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


@dataclass(frozen=True)
class _Entry:
    """A line of a list of cells or of a journal: its place, its text, and the cell that it says."""

    path: Path
    number: int
    text: str
    cell: Cell

    def says(self, other: _Entry) -> bool:
        """Whether both say the same of their cell, with a checksum or without."""
        return _body(self.text)[0] == _body(other.text)[0]


def _parsed(line: str) -> Cell:
    """The cell that a line says. Raises ValueError, which says why, for one that is not as it was written."""
    body, checksum = _body(line)
    if checksum is not None and checksum != _sum(body):
        raise ValueError("it was changed after it was written: its checksum is not that of its numbers")
    record = json.loads(body, object_pairs_hook=_once, parse_constant=_no_number)
    if not isinstance(record, dict) or set(record) != set(PARTS):
        raise ValueError(f"it is no record of {', '.join(PARTS)}")
    for name in PARTS:
        if not isinstance(record[name], dict):
            raise ValueError(f"its {name} are no names with numbers")
    if checksum is None:
        _check_unsigned(record)
    return Cell(record["cell"], record["values"], _arrays(record["curves"]))


def _body(line: str) -> tuple[str, str | None]:
    """A line without its checksum, and the checksum, None where it has none: older runs wrote none."""
    if not (found := SUM.fullmatch(line, max(0, len(line) - 28))):
        return line, None
    return line[: found.start()] + "}", found.group(1)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has one name twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _check_unsigned(record: Mapping[str, dict[str, Any]]) -> None:
    """Raises ValueError for what could not have been written, where no checksum tells."""
    cell = Cell(coordinates(record["cell"]), record["values"], record["curves"])
    if any(_number(cell, name, value) != value for name, value in cell.values.items()):
        raise ValueError("its values are not all finite")
    if not all(map(_is_listed, cell.curves.values())):
        raise ValueError("its curves are not all lists of finite numbers")


def _is_listed(values: object) -> bool:
    if isinstance(values, list):
        return all(map(_is_listed, values))
    return values is None or (isinstance(values, float) and math.isfinite(values))


def read_cells(path: Path) -> list[Cell]:
    """The finished cells of a run. A last line that a kill cut short is removed from the file: that cell did
    not finish.

    Raises StudyError, which names the line and what to do, for a broken one anywhere else (its checksum is wrong, say,
    or it has none although one above has), for two that say different things of one cell, and for a file that cannot
    be read.
    """
    return [entry.cell for entry in _entries(path).values()]


def _entries(path: Path, known: Mapping[str, _Entry] | None = None) -> dict[str, _Entry]:
    """The lines of a list of cells or of a journal, by their cells, none of which says something else than the
    ``known`` ones. Raises StudyError as ``read_cells``.
    """
    found: dict[str, _Entry] = {}
    signed = False
    for number, line in enumerate(_whole_lines(path), start=1):
        try:
            entry = _Entry(path, number, line.decode("utf-8"), _parsed(line.decode("utf-8")))
            place = label(entry.cell.cell)
            if signed and _body(entry.text)[1] is None:
                raise ValueError("it has no checksum, although a line above has one")
        except (ValueError, TypeError, OverflowError, RecursionError, StudyError) as error:
            raise StudyError(
                f"line {number} of {path} is broken ({error}); remove that line and run again: its cell is then "
                "measured anew"
            ) from None
        signed = _body(entry.text)[1] is not None
        before = found.setdefault(place, (known or {}).get(place, entry))
        if not before.says(entry):
            raise StudyError(
                f"line {before.number} of {before.path} and line {number} of {path} say different things of the cell "
                f"{place}; remove both lines and run again: the cell is then measured anew"
            )
    return found


def _whole_lines(path: Path) -> list[bytes]:
    """The lines of a file without the last, where a kill cut it short; that is removed from the file."""
    if not os.path.lexists(path):
        return []
    content = _content(path)
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with _written(path):
            os.truncate(path, len(whole))
    return whole.split(b"\n")[:-1]


def _content(path: Path) -> bytes:
    """What a file holds. Raises StudyError for a folder in its place, a dangling link, or one that may not be read."""
    with _told(f"{path} cannot be read", "move away what is in its place, or choose another --out"):
        if not path.is_file() and path.exists():
            raise IsADirectoryError(0, "it is no file")
        return path.read_bytes()


def _curve(cell: Cell, name: str, curve: object) -> list[Any] | float | None:
    """An array as nested lists, with None for what is not finite: JSON has no NaN.

    Raises StudyError for what is no array of real numbers.
    """
    import numpy as np

    try:
        if not np.iscomplexobj(np.asarray(curve)):
            return _listed(np.asarray(curve, float).tolist())
        reason = "it is complex"
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error)
    raise StudyError(
        f"the curve {name!r} of the cell {label(cell.cell)} cannot be stored ({reason}): a curve is an array of real "
        "numbers, and one of complex numbers is two curves"
    )


def _listed(values: Any) -> Any:
    if isinstance(values, list):
        return [_listed(value) for value in values]
    return values if math.isfinite(values) else None


def _arrays(curves: Mapping[str, Any]) -> dict[str, object]:
    import numpy as np

    return {name: np.array(values, dtype=float) for name, values in curves.items()}


def save_results(
    study: Study, identity: Mapping[str, Any], cells: list[Cell], claims: list[Claim], folder: Path
) -> None:
    """Write claims.json, data.nc, figure.png and figure.pdf, each whole or not at all and with what ran; the figure
    last, so that one that cannot be drawn costs no data. Raises StudyError where the plan's ``figure`` returns none,
    for a file that cannot be written, and as ``check_data``.
    """
    text = json.dumps(identity, ensure_ascii=False, sort_keys=True)
    report = {
        "study": study.key,
        "title": study.title,
        **identity,
        "claims": [claim.as_dict() for claim in claims],
    }
    body = json.dumps(_finite(report), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / "claims.json", f"{body}\n")
    # HDF5 ends the process where the disk is full, so it writes to memory.
    write_bytes(folder / "data.nc", dataset(study, cells, text).to_netcdf(None, engine="h5netcdf"))
    figure = study.plan.figure(cells)
    if not hasattr(figure, "savefig"):
        raise StudyError(
            f"the figure of {study.key} is to be a Figure of matplotlib, but `figure` returned {figure!r}; let it end "
            f"with `return drawn`, of the Figure that it drew. {KEPT}"
        )
    png = {"Title": study.title, "Software": "symdyn", "Description": text}
    _save_figure(figure, folder / "figure.png", dpi=200, metadata=png)
    pdf = {
        "Title": study.title,
        "Creator": "symdyn",
        "Subject": study.key,
        "Keywords": text,
        "CreationDate": None,
    }
    _save_figure(figure, folder / "figure.pdf", metadata=pdf)


def _save_figure(figure: Figure, path: Path, **options: Any) -> None:
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], **options)
    write_bytes(path, drawn.getbuffer())


def _finite(value: Any) -> Any:
    """The same, with None for each number that is not finite: JSON has no NaN."""
    if isinstance(value, Mapping):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_data(study: Study, cells: Sequence[Cell]) -> None:
    """Raises StudyError, which names it, for what one data set cannot hold: a name of a coordinate and of something
    else, a name with a slash, a curve whose axes the plan's ``dims`` does not name, and a curve or a list of another
    shape in another cell, or of another length than another curve along the same axis.
    """
    curves = _names(cells, "curves")
    values = _names(cells, "values")
    names = [*_names(cells, "cell"), *(_beside(name, curves) for name in values), *curves]
    for name in names:
        if "/" in name:
            raise StudyError(
                f"the name {name!r} of a coordinate, a value or a curve of {study.key} has a slash, which would make a "
                f"folder of the data set; give it another. {KEPT}"
            )
    for name in (name for name, count in Counter(names).items() if count > 1):
        raise StudyError(
            f"{name!r} names two of the coordinates, values and curves of {study.key}, which are stored side by side; "
            f"give each a name of its own. {KEPT}"
        )
    for name in values:
        entries = [cell.values.get(name) for cell in cells]
        _shape(study, f"value {name!r}", entries, "None, and name it in the plan's absent")
    known: dict[str, tuple[int, str]] = {}
    for name in curves:
        shape = _shape(study, f"curve {name!r}", [cell.curves.get(name) for cell in cells], "NaN")
        for axis, length in zip(_axes(study, name, shape), shape, strict=True):
            first, other = known.setdefault(axis, (length, name))
            if first != length:
                raise StudyError(
                    f"along the axis {axis!r} of {study.key} the curve {name!r} has the length {length} and the curve "
                    f"{other!r} {first}; let the plan's dims name two axes. {KEPT}"
                )


def _shape(study: Study, what: str, entries: list[Any], filled: str) -> tuple[int, ...]:
    """The one shape of what all cells have of a name, to be ``filled`` up if need be; that of a number, where all of it
    is missing.
    """
    import numpy as np

    try:
        shapes = {np.shape(entry) for entry in entries if entry is not None} or {()}
    except ValueError:
        raise StudyError(
            f"the {what} of {study.key} is a list of lists of different lengths; fill them up with {filled}. {KEPT}"
        ) from None
    if len(shapes) > 1:
        raise StudyError(
            f"the {what} of {study.key} has the shapes {sorted(shapes)} in different cells; give it one in all, filled "
            f"up with {filled}. {KEPT}"
        )
    return shapes.pop()


def _axes(study: Study, name: str, shape: tuple[int, ...]) -> Sequence[str]:
    """The names of the axes of a curve, from the plan."""
    axes = study.plan.dims.get(name)
    if isinstance(axes, tuple | list) and len(axes) == len(shape) and "cell" not in axes:
        return axes
    told = "do not name it" if axes is None else f"say {axes!r}"
    raise StudyError(
        f"the plan's dims of {study.key} are to name each axis of the curve {name!r}, which has the shape {shape}, in "
        f"a tuple, as in {{'S': ('time',)}}, and none of them 'cell'; they {told}. {KEPT}"
    )


def _beside(name: str, curves: Collection[str]) -> str:
    """The name of a value in the data set, where a curve of its name keeps it."""
    return f"{name}_value" if name in curves else name


def dataset(study: Study, cells: list[Cell], configuration: str) -> xarray.Dataset:
    """The results as an xarray data set: one axis of cells with their coordinates, values and curves. A value x is
    named x_value beside a curve x.

    What a cell does not have is NaN (an empty string where it would be in words). Raises StudyError as ``check_data``.
    """
    import xarray

    check_data(study, cells)
    coordinates = {
        name: ("cell", _column([cell.cell.get(name) for cell in cells])) for name in _names(cells, "cell")
    }
    variables, curves = {}, _names(cells, "curves")
    for name in _names(cells, "values"):
        column = _column([cell.values.get(name) for cell in cells])
        axes = (f"{name}_index{place or ''}" for place in range(column.ndim - 1))
        variables[_beside(name, curves)] = (("cell", *axes), column)
    for name in curves:
        column = _column([cell.curves.get(name) for cell in cells])
        variables[name] = (("cell", *study.plan.dims[name]), column)
    attributes = {"study": study.key, "title": study.title, "configuration": configuration}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _names(cells: Sequence[Cell], part: str) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in getattr(cell, part)))


def _column(entries: list[Any]) -> np.ndarray:
    """One array of all cells' entries, which are words, numbers, or lists or arrays of one shape of these; None is
    missing. Whole numbers that do not fit 64 bits, as some seeds, are words.
    """
    import numpy as np

    if all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries):
        return (
            np.array(entries)
            if max(map(abs, entries)) < 2**63
            else np.array([str(entry) for entry in entries])
        )
    worded = any(map(_has_words, entries))
    missing, kind = ("", str) if worded else (math.nan, float)
    arrays = [
        None if entry is None else np.asarray(_words(entry) if worded else entry, kind) for entry in entries
    ]
    shape = next((array.shape for array in arrays if array is not None), ())
    return np.stack([np.full(shape, missing) if array is None else array for array in arrays])


def _has_words(entry: object) -> bool:
    return isinstance(entry, str) or (isinstance(entry, list) and any(map(_has_words, entry)))


def _words(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_words(part) for part in entry]
    return "" if entry is None else str(entry)
