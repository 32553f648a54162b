"""Sweeps: batches, executors, and what survives a kill at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from numerics.lab import sweep
from numerics.lab.checkpoint import Progress, Stopped, fraction_done, load_state, save_state
from numerics.lab.runs import run_study
from numerics.lab.store import CELLS, finish_batch, read_cells, recover
from numerics.lab.study import Cell, Plan, StudyError
from numerics.lab.sweep import Streams, batches, processes, workers
from numerics.tasks.teacher_student import draw_task, students
from numerics.training.ensembles import networks, train
from numerics.training.observers import parameter_distance

TOY = '''
"""Three seeds of four networks, with a log of every interval that starts between two checkpoints."""
import os
import numpy as np
from numerics import ensembles
from numerics.lab.claims import at_most
from numerics.training.observers import parameter_distance
from numerics.lab.study import Cell, Plan, study
from numerics.tasks.teacher_student import draw_task, students

DELTAS, SEEDS, INTERVAL, INTERVALS = (-1.0, 0.0, 0.5, 1.0), (1, 2, 3), 1000, 11

def cells(cfg):
    return [{"seed": seed, "delta": delta} for seed in SEEDS for delta in DELTAS]

def run(batch, cfg, device, resume):
    seed, advance = batch[0]["seed"], ensembles._Workers.advance

    def logged(self, before, after, last, progress):
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write(f"{seed * 100 + after // INTERVAL}\\n")
        return advance(self, before, after, last, progress)

    ensembles._Workers.advance = logged
    try:
        task = draw_task(seed, d=3, h=4, k=2, n=6)
        delta = np.array([cell["delta"] for cell in batch])
        found = ensembles.train(
            ensembles.networks(*students(task, np.full(len(batch), 0.5), delta)), task.X, task.y, step=1e-3,
            checkpoints=[INTERVAL * place for place in range(INTERVALS + 1)],
            observers={"moved": parameter_distance}, threads=1, resume=resume,
        )
    finally:
        ensembles._Workers.advance = advance
    rows = found.measured["moved"]
    return [Cell(c, {"moved": float(row[-1])}, {"moved": row}) for c, row in zip(batch, rows, strict=True)]

def figure(results):
    from numerics.lab.figures import new_figure
    return new_figure(1, 1)

def claims(measured):
    return [at_most("moved", "nothing moved by more than 10", max(measured.values("moved")), 10)]

@study("toy.ensemble", title="An ensemble")
def ensemble():
    scale = {"dtype": "float64", "seeds": list(SEEDS)}
    scales = {"smoke": scale, "laptop": scale, "paper": scale}
    return Plan(scales, cells, run, figure, claims, {"moved": ("time",)}, batch=None, shared=("seed",))
'''

KILLER = """
import os, random, signal, sys, time
import matplotlib.figure, h5netcdf, xarray, rich.progress, torch, toyensemble
from numerics.lab.runs import run_study
from numerics.lab.store import CELLS, read_cells
from pathlib import Path

torch.set_num_threads(1)
choose, kills, seen = random.Random(int(sys.argv[1])), 0, []
while True:
    child = os.fork()
    if not child:
        run_study(toyensemble.ensemble, "smoke", out="out", progress=False)
        os._exit(0)
    if kills == 20:
        print(kills, os.waitpid(child, 0)[1])
        break
    time.sleep(choose.uniform(0.0, 0.15))
    if os.waitpid(child, os.WNOHANG)[0]:
        print(kills, 0)
        break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills += 1
    with open(os.environ["TOY_LOG"], "a") as log:
        log.write("killed\\n")
"""

STOPPED = """
import time, toyensemble
from numerics import runs, sweep

def main():
    submit = sweep.Workers.submit
    sweep.Workers.submit = lambda self, *_: submit(self, time.sleep, 60)
    print("started", flush=True)
    try:
        runs.run_study(toyensemble.ensemble, "smoke", out="out", progress=False, workers=2)
    except KeyboardInterrupt:
        print("stopped")

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The toy study as an importable module, here and in other processes; returns it with the path of its log."""
    (tmp_path / "toyensemble.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import toyensemble

    yield toyensemble, tmp_path / "log"
    del sys.modules["toyensemble"]


def quiet(study, out, **options):
    return run_study(study, "smoke", out=out, progress=False, **options)


def moved(run):
    return np.array([cell.curves["moved"] for cell in run.cells])


def test_a_sweep_that_is_killed_twenty_times_loses_repeats_and_redoes_nothing(toy, tmp_path):
    """Each kill costs at most the interval between two checkpoints that it interrupts."""
    study, log = toy
    (tmp_path / "killer.py").write_text(KILLER)
    command = [sys.executable, "killer.py", "3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    kills, status = map(int, done.stdout.split())
    assert kills >= 15 and status == 0
    runs = [part.split() for part in log.read_text().split("killed")]
    started = [int(place) for part in runs for place in part]
    assert started == sorted(started)
    assert len(set(started)) == 3 * 12
    for before, after in pairwise(runs):
        assert len(set(before)) == len(before)
        assert len(set(before) & set(after)) <= 1
    lines = [json.loads(line)["cell"] for line in (tmp_path / "out" / CELLS).read_text().splitlines()]
    assert Counter(map(str, lines)) == Counter(str(cell) for cell in study.cells({}))
    resumed, whole = quiet(study.ensemble, tmp_path / "out"), quiet(study.ensemble, tmp_path / "whole")
    np.testing.assert_array_equal(moved(resumed), moved(whole))
    assert list((tmp_path / "out" / "checkpoints").iterdir()) == []


@pytest.mark.parametrize("patience", [0.3, 1.5])
def test_ctrl_c_ends_the_workers_at_once_and_without_a_word(toy, tmp_path, patience):
    """A terminal sends it to the workers too, some of which are still being imported."""
    (tmp_path / "stopped.py").write_text(STOPPED)
    options = {"cwd": tmp_path, "text": True, "start_new_session": True, "env": dict(os.environ)}
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    # In the background of a shell the signal is ignored, and children inherit that.
    heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen([sys.executable, "stopped.py"], **options, **pipes, preexec_fn=heeding) as run:
        assert run.stdout.readline() == "started\n"
        time.sleep(patience)
        os.killpg(run.pid, signal.SIGINT)
        try:
            found = run.communicate(timeout=20)
        finally:
            run.kill()
    assert found == ("stopped\n", "")


def test_any_executor_gives_the_same_cells_in_the_order_of_the_grid(toy, tmp_path):
    study, _ = toy
    alone = quiet(study.ensemble, tmp_path / "alone")
    with ThreadPoolExecutor(1) as executor:
        threaded = quiet(study.ensemble, tmp_path / "threaded", executor=executor)
    with processes(2) as executor:
        spawned = quiet(study.ensemble, tmp_path / "spawned", executor=executor)
    for run in (threaded, spawned):
        assert [cell.cell for cell in run.cells] == study.cells({})
        np.testing.assert_allclose(moved(run), moved(alone), rtol=1e-12)


def test_a_batch_that_fails_on_an_executor_stops_the_run_and_keeps_the_others(toy, tmp_path, monkeypatch):
    study, log = toy
    run = sweep.measure

    def failing(study, cells, *rest):
        if cells[0]["seed"] == 2:
            raise FloatingPointError("seed two")
        return run(study, cells, *rest)

    monkeypatch.setattr(sweep, "measure", failing)
    with ThreadPoolExecutor(1) as executor, pytest.raises(FloatingPointError, match="seed two"):
        quiet(study.ensemble, tmp_path / "out", executor=executor)
    monkeypatch.undo()
    monkeypatch.setenv("TOY_LOG", str(log))
    assert {cell.cell["seed"] for cell in read_cells(tmp_path / "out" / CELLS)} == {1}
    log.write_text("")
    quiet(study.ensemble, tmp_path / "out")
    assert not any(line.startswith("1") for line in log.read_text().splitlines())


def test_results_of_another_precision_are_not_mixed(toy, tmp_path):
    study, _ = toy
    quiet(study.ensemble, tmp_path / "out")
    path = tmp_path / "out" / "run.json"
    path.write_text(path.read_text().replace("float64", "float32"))
    with pytest.raises(StudyError, match=r"configuration\.dtype was float32, is float64"):
        quiet(study.ensemble, tmp_path / "out")


def plan(batch, shared):
    return Plan({}, None, None, None, None, {}, batch=batch, shared=shared)


def test_batches_share_what_they_must_and_are_no_larger_than_asked():
    grid = [{"seed": seed, "delta": delta} for seed in (1, 2) for delta in range(3)]
    assert [len(part) for part in batches(plan(None, ("seed",)), grid)] == [3, 3]
    assert [len(part) for part in batches(plan(2, ("seed",)), grid)] == [2, 1, 2, 1]
    assert [len(part) for part in batches(plan(4, ()), grid)] == [4, 2]
    assert [cell for part in batches(plan(2, ("seed",)), grid) for cell in part] == grid
    assert batches(plan(None, ()), []) == []


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_batch_whose_lines_were_cut_off_is_taken_from_its_journal(tmp_path, monkeypatch, kept):
    """A kill after the journal was written, and after some of the lines."""
    cells = [Cell({"place": place}, {"square": place**2}, {}) for place in range(3)]
    resume = tmp_path / "checkpoints" / "batch"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("numerics.lab.store._append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        finish_batch(tmp_path, resume, cells)
    whole = (resume / "finished.jsonl").read_bytes()
    (tmp_path / CELLS).write_bytes(b"".join(whole.splitlines(keepends=True)[:kept]) + whole[:9])
    recover(tmp_path)
    assert [cell.values["square"] for cell in read_cells(tmp_path / CELLS)] == [0, 1, 4]
    assert not resume.exists()


def test_a_disk_that_fills_up_costs_no_cell(tmp_path):
    finish_batch(tmp_path, tmp_path / "checkpoints" / "a", [Cell({"place": 0}, {}, {"c": np.zeros(100)})])
    size = (tmp_path / CELLS).stat().st_size
    code = f"""
import resource, signal
import numpy as np
from pathlib import Path
from numerics.lab.store import finish_batch
from numerics.lab.study import Cell
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size + size // 2}, resource.RLIM_INFINITY))
finish_batch(Path("."), Path("checkpoints/b"), [Cell({{"place": 1}}, {{}}, {{"c": np.zeros(100)}})])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "cannot be written" in done.stderr
    recover(tmp_path)
    assert [cell.cell["place"] for cell in read_cells(tmp_path / CELLS)] == [0, 1]


def test_words_with_line_separators_survive_in_a_journal(tmp_path, monkeypatch):
    cell = Cell({"word": "a\u2028b\x85c"}, {}, {})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("numerics.lab.store._append", raise_interrupt)
        finish_batch(tmp_path, tmp_path / "checkpoints" / "a", [cell])
    recover(tmp_path)
    assert read_cells(tmp_path / CELLS) == [cell]


def raise_interrupt(*_):
    raise KeyboardInterrupt


def test_a_state_is_replaced_whole_and_only_read_by_its_own_run(tmp_path):
    assert load_state(tmp_path, "mine") is None
    save_state(tmp_path, {"identity": np.array("mine"), "x": np.arange(3)})
    save_state(tmp_path, {"identity": np.array("mine"), "x": np.arange(4)})
    assert load_state(tmp_path, "mine")["x"].tolist() == [0, 1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]
    with pytest.raises(ValueError, match="results are not mixed"):
        load_state(tmp_path, "other")


def test_progress_is_read_from_beside_the_state(tmp_path):
    assert fraction_done(tmp_path / "batch") == 0.0
    Progress(tmp_path / "batch").report(0.25)
    assert fraction_done(tmp_path / "batch") == 0.25
    Progress(None).report(0.5)


def endless(resume):
    """A training that will not end by itself, with a checkpoint after its first step."""
    task = draw_task(1, d=3, h=4, k=2, n=6)
    start = networks(*students(task, np.full(2, 0.5), np.zeros(2)))
    options = {"checkpoints": [0, 1, 10**9], "observers": {"moved": parameter_distance}, "threads": 1}
    return train(start, task.X, task.y, step=1e-3, resume=resume, **options)


def finished(folder):
    """How many checkpoints a training has behind it."""
    return int(np.load(folder / "state.npz")["done"]) if (folder / "state.npz").exists() else 0


def test_streams_end_at_once_and_leave_their_checkpoints(tmp_path):
    executor = Streams(2, "cpu")
    folders = [tmp_path / name for name in "abc"]
    jobs = [executor.submit(endless, folder) for folder in folders]
    while [finished(folder) for folder in folders[:2]] != [2, 2]:
        time.sleep(0.01)
    executor.end()
    assert [type(job.exception()) for job in jobs[:2]] == [Stopped, Stopped] and jobs[2].cancelled()
    assert [finished(folder) for folder in folders] == [2, 2, 0]


def test_ctrl_c_ends_streams(toy, tmp_path, monkeypatch):
    study, _ = toy

    def interrupted(jobs):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "as_completed", interrupted)
    with Streams(1, "cpu") as executor, pytest.raises(KeyboardInterrupt):
        quiet(study.ensemble, tmp_path / "out", executor=executor)
    assert executor.told.is_set()


def test_only_the_threads_of_the_streams_are_told_to_stop():
    with Streams(1, "cpu") as executor:
        theirs, ours = executor.submit(Progress, None).result(), Progress(None)
        executor.end()
    assert theirs.told is executor.told and ours.told is None
    with pytest.raises(Stopped, match="goes on from its last checkpoint"):
        theirs.report(0.5)
    ours.report(0.5)


def test_on_a_card_workers_are_streams():
    with workers(2, device="cuda") as executor:
        assert isinstance(executor, Streams)
    with workers(2, device="cpu") as executor:
        assert not isinstance(executor, Streams)


def test_one_worker_is_this_process():
    with workers() as executor:
        assert executor is None


def test_a_dask_scheduler_gives_an_executor():
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=None) as cluster,
        workers(scheduler=cluster.scheduler_address) as executor,
    ):
        assert executor.submit(pow, 2, 5).result(timeout=30) == 32


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch, address):
    monkeypatch.setattr(sweep, "ANSWER", 0.5)
    with (
        pytest.raises(StudyError, match=f"no Dask scheduler answers at '{address}'"),
        workers(1, address),
    ):
        pass


def test_a_scheduler_without_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(StudyError, match=r"pip install -e '\.\[cluster\]'"), workers(1, "tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize(("count", "scheduler"), [(0, None), (-1, None), (2, "tcp://127.0.0.1:9")])
def test_impossible_wishes_for_workers_are_refused(count, scheduler):
    with pytest.raises(StudyError), workers(count, scheduler):
        pass
