"""The cells of a study, batch by batch: in this process, or on any executor of ``concurrent.futures``.

    with workers(2) as executor:
        run_study("kunin2024.fig1b-phase-portrait", executor=executor)

Dask (``client.get_executor()``) and submitit speak the same interface. Every batch has a folder of its own for
checkpoints, and its cells enter the list of finished ones together, as soon as it is done.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.checkpoint import fraction_done, heed
from numerics.lab.fingerprint import source_of
from numerics.lab.provenance import versions
from numerics.lab.store import (
    CELLS,
    CHECKPOINTS,
    check_data,
    coordinates,
    finish_batch,
    label,
    read_cells,
    recover,
)
from numerics.lab.study import Cell, Plan, Study, StudyError

if TYPE_CHECKING:
    from distributed import Client


POLLING = 0.5
ANSWER = 10.0  # seconds that a scheduler has to answer
_TAKING_PART: set[str] = set()  # the runs whose code, packages and tools this process was found to have


@dataclass(frozen=True)
class Batch:
    """Cells that run together, and the folder of their checkpoints."""

    cells: list[dict[str, Any]]
    resume: Path


def complete(
    study: Study,
    configuration: Mapping[str, Any],
    device: str,
    folder: Path,
    *,
    progress: bool = True,
    executor: Executor | None = None,
    recorded: Mapping[str, object] | None = None,
) -> list[Cell]:
    """Run the cells that are not there yet, and return all of them in the order of the grid.

    Raises StudyError where a process that is to take part has other ``recorded`` versions or another source when it
    begins its first batch (what is edited later does not concern the modules that it has imported), for a grid without
    cells, with a cell twice or with coordinates that cannot be stored, for a batch that does not return its own cells,
    and, once it is kept, for one that does not fit into the data set.
    """
    folder = folder.resolve()
    recover(folder)
    grid = grid_of(study, configuration)
    done = {label(cell.cell): cell for cell in read_cells(folder / CELLS)}
    waiting = [
        Batch(missing, folder / CHECKPOINTS / _name(missing))
        for group in batches(study.plan, grid)
        if (missing := [cell for cell in group if label(cell) not in done])
    ]
    run = uuid.uuid4().hex
    measured = partial(_measure_as_recorded, study, configuration, device, recorded, run)
    outcomes = _outcomes(measured, waiting, executor)
    with _bar(study.key, grid, done, waiting, progress), closing(outcomes):
        for batch, cells in outcomes:
            found = finish_batch(folder, batch.resume, cells)
            done.update({label(cell.cell): cell for cell in found})
            check_data(study, [next(iter(done.values())), *found])
    return [done[label(cell)] for cell in grid]


def batches(plan: Plan, grid: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The grid cut into batches: neighbours that agree in the coordinates of ``plan.shared``, and no more than
    ``plan.batch`` of them. The cut depends on the grid alone, so that a resumed run makes the same one.
    """
    groups = [list(group) for _, group in groupby(grid, key=lambda cell: [cell.get(n) for n in plan.shared])]
    size = plan.batch or max(map(len, groups), default=1)
    return [group[start : start + size] for group in groups for start in range(0, len(group), size)]


def grid_of(study: Study, configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cells of a study with NumPy's numbers as Python's. Raises StudyError if there are none, for one that is there
    twice, and for a coordinate that is neither a finite number nor a word.
    """
    grid = [coordinates(cell) for cell in study.plan.cells(configuration)]
    if not grid:
        raise StudyError(
            f"the grid of {study.key} has no cells at scale {configuration['scale']}; let the plan's `cells` return at "
            "least one"
        )
    repeated = [cell for cell, count in Counter(map(label, grid)).items() if count > 1]
    if repeated:
        raise StudyError(
            f"the grid of {study.key} has the cell {repeated[0]} more than once; give each cell coordinates of its own"
        )
    return grid


def measure(
    study: Study, cells: list[dict[str, Any]], configuration: Mapping[str, Any], device: str, resume: Path
) -> list[Cell]:
    """One batch, wherever it runs. Raises StudyError unless it returns each of its cells once."""
    found = list(study.plan.run(cells, configuration, device, resume))
    if sorted(label(cell.cell) for cell in found) != sorted(map(label, cells)):
        raise StudyError(
            f"a batch of {study.key} is to return a Cell for each of {cells}, with the same coordinates; it returned "
            f"{[dict(cell.cell) for cell in found]}"
        )
    return found


def _measure_as_recorded(
    study: Study,
    configuration: Mapping[str, Any],
    device: str,
    recorded: Mapping[str, Any] | None,
    run: str,
    cells: list[dict[str, Any]],
    resume: Path,
) -> list[Cell]:
    if recorded is not None and run not in _TAKING_PART:
        here = {
            "versions": versions(study, configuration, device),
            "source": source_of(study.module, study.attribute).hash,
        }
        there = {name: recorded[name] for name in here}
        if here != there:
            raise StudyError(
                f"the run recorded {there}, but a worker that is to take part has {here}; results are not mixed: give "
                "all workers the same code, packages and tools"
            )
        _TAKING_PART.add(run)
    return measure(study, cells, configuration, device, resume)


class Workers(ProcessPoolExecutor):
    """Processes of this machine that can be ended at once, whatever they run."""

    def end(self) -> None:
        for process in list((self._processes or {}).values()):  # no public list of them before Python 3.14
            process.terminate()


def processes(count: int) -> Workers:
    """An executor of ``count`` processes on this machine, with torch on one core in each. They end with the
    process that started them, even if that is killed.
    """
    return Workers(count, mp_context=get_context("spawn"), initializer=_begin, initargs=(os.getpid(),))


class Streams(ThreadPoolExecutor):
    """Threads of this process whose batches share a card, each in a stream of its own.

    Batches that are too small to fill the card then run side by side, which processes would not.
    """

    def __init__(self, count: int, device: str) -> None:
        self.told = threading.Event()
        super().__init__(count, initializer=_begin_stream, initargs=(device, self.told))

    def end(self) -> None:
        """Stop whatever runs, within a moment, and drop the rest."""
        self.told.set()
        self.shutdown(cancel_futures=True)


def _begin_stream(device: str, told: threading.Event) -> None:
    import torch

    heed(told)
    if torch.device(device).type == "cuda":
        torch.cuda.set_stream(torch.cuda.Stream(device))


@contextmanager
def workers(count: int = 1, scheduler: str | None = None, device: str = "cpu") -> Iterator[Executor | None]:
    """Where batches run: in this process, on ``count`` processes of this machine, or on a Dask cluster; with a
    ``device`` that is no CPU, in ``count`` streams of that device.

    ``scheduler`` is the address of a Dask scheduler, tcp://host:8786, whose workers must see the folder of results
    under the same path and have the packages and tools of this machine. Raises StudyError for a count below one, for
    both at once, without the extra `cluster`, and for a scheduler that does not answer.
    """
    if count < 1:
        raise StudyError(f"a run needs at least one worker, not {count}")
    if scheduler is None:
        with nullcontext() if count == 1 else _several(count, device) as executor:
            yield executor
        return
    if count > 1:
        raise StudyError("name processes of this machine or a Dask scheduler, not both")
    client = _client(scheduler)
    try:
        yield client.get_executor()
    finally:
        client.close()


def _several(count: int, device: str) -> Workers | Streams:
    return processes(count) if device == "cpu" else Streams(count, device)


def _client(scheduler: str) -> Client:
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise StudyError(
            "a Dask scheduler needs the extra `cluster` (in a checkout of symdyn: pip install -e '.[cluster]')"
        ) from None
    try:
        get_address_host_port(scheduler, strict=True)  # a client of a malformed address would not close
        return Client(scheduler, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyError(
            f"no Dask scheduler answers at {scheduler!r} ({reason}); start one with `dask scheduler`"
        ) from None


def _begin(parent: int) -> None:
    import torch

    torch.set_num_threads(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _name(cells: Sequence[dict[str, Any]]) -> str:
    return hashlib.sha256("\n".join(map(label, cells)).encode()).hexdigest()[:16]


def _outcomes(
    measured: Callable[[list[dict[str, Any]], Path], list[Cell]],
    waiting: Iterable[Batch],
    executor: Executor | None,
) -> Generator[tuple[Batch, list[Cell]], None, None]:
    if executor is None:
        for batch in waiting:
            yield batch, measured(batch.cells, batch.resume)
        return
    jobs: dict[Future[list[Cell]], Batch] = {}
    try:
        with _uninterrupted():
            for batch in waiting:
                jobs[executor.submit(measured, batch.cells, batch.resume)] = batch
        for job in as_completed(jobs):
            yield jobs[job], job.result()
    except (KeyboardInterrupt, GeneratorExit):
        if isinstance(executor, Workers):
            executor.end()
            wait(jobs, timeout=ANSWER)  # a pool reports its end to every job that was not cancelled before
        elif isinstance(executor, Streams):
            executor.end()
        raise
    finally:
        for job in jobs:
            job.cancel()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that start meanwhile never see Ctrl-C, which a terminal sends to all: their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _bar(
    title: str,
    grid: Sequence[Mapping[str, Any]],
    done: Mapping[str, Any],
    waiting: Sequence[Batch],
    progress: bool,
) -> Iterator[None]:
    """A bar with the time that is left; it counts finished cells, and running batches by what they report."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    over = threading.Event()

    def state() -> float:
        running = sum(
            len(b.cells) * fraction_done(b.resume) for b in waiting if label(b.cells[0]) not in done
        )
        return len(done) + running

    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bar:
        task = bar.add_task(title, total=len(grid), completed=state())  # type: ignore[arg-type]  # Rich takes parts of one

        def follow() -> None:
            while not over.wait(POLLING):
                bar.update(task, completed=state())

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        try:
            yield
        finally:
            over.set()
            follower.join()
            bar.update(task, completed=state())
