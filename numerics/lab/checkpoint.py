"""Checkpoints within a long batch: the state of a run in one file, replaced whole, and how far the run is."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from numerics.lab.study import StudyError

STATE, FRACTION = "state.npz", "fraction"
_THREAD = threading.local()


class CheckpointError(StudyError, ValueError):
    """A checkpoint cannot be written or read, or is that of another run."""


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be written ({error.strerror or error}); free some space, or move away what is in its "
            "place, and run again: it goes on from its last checkpoint"
        ) from None


def save_state(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays to the folder's state file; a kill at any moment leaves the old file or the new one.

    Raises CheckpointError, and leaves the old file, where the new one cannot be written, on a full disk say.
    """
    draft = folder / f".{STATE}.{os.getpid()}"
    with _written(folder / STATE):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with open(draft, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, folder / STATE)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


def load_state(folder: Path, identity: str) -> dict[str, np.ndarray] | None:
    """The arrays of the folder's state file, None if there is none yet.

    Raises CheckpointError, a ValueError, if their entry ``identity`` is not the one asked for, since that state belongs
    to another run, and for a file that cannot be read.
    """
    path = folder / STATE
    if not path.exists():
        return None
    try:
        with np.load(path) as stored:
            state = dict(stored)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CheckpointError(f"{path} is broken ({error}); remove it to begin anew") from None
    if str(state.get("identity")) != identity:
        raise CheckpointError(
            f"{path} is the state of another run (other networks, data, rates, steps, dtype or "
            "observers, or another device or way to compile); results are not mixed: choose another folder, or "
            "remove this one"
        )
    return state


def fingerprint(*parts: object) -> str:
    """One hash of arrays and plain values."""
    found = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        found.update(f"{array.dtype} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:16]


class Stopped(RuntimeError):
    """A run was told to stop; it goes on from its last checkpoint."""


def heed(told: threading.Event) -> None:
    """Runs that begin in this thread stop once the event is set, the next time that they report."""
    _THREAD.told = told


class Progress:
    """Tells how far a run is, through a small file beside its state, at most once a second."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.last = folder, 0.0
        self.told: threading.Event | None = getattr(_THREAD, "told", None)

    def report(self, fraction: float) -> None:
        """Set the fraction that is done; without a folder, nothing is written. Raises Stopped if told to stop."""
        if self.told is not None and self.told.is_set():
            raise Stopped("the run was stopped; started again, it goes on from its last checkpoint")
        now = time.monotonic()
        if self.folder is None or now - self.last < 1.0:
            return
        self.last = now
        with _written(self.folder / FRACTION):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / FRACTION).write_text(f"{fraction:.6f}")


def fraction_done(folder: Path) -> float:
    """What the run that uses the folder last reported, 0 before its first report."""
    try:
        return float((folder / FRACTION).read_text())
    except (OSError, ValueError):
        return 0.0
