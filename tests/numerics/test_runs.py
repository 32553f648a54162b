"""Running studies: what is left behind, resumption after an interruption, and what is refused."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray
from PIL import Image

from numerics.lab import provenance, runs, sweep
from numerics.lab.claims import at_most
from numerics.lab.figures import new_figure
from numerics.lab.fingerprint import Source
from numerics.lab.runs import run_study
from numerics.lab.store import read_cells
from numerics.lab.study import SCALES, Cell, Plan, StudyError, study

TOY = """
import os, time
from pathlib import Path
from numerics.lab.claims import at_most
from numerics.lab.study import Cell, Plan, study

def cells(cfg):
    return [{"place": place} for place in range(8)]

def run(batch, cfg, device, resume):
    with open(os.environ["TOY_LOG"], "a") as log:
        log.write(f"{batch[0]['place']}\\n")
    time.sleep(0.2)
    return [Cell(cell, {"square": cell["place"] ** 2}, {}) for cell in batch]

def figure(results):
    from numerics.lab.figures import new_figure
    return new_figure(1, 1)

def claims(measured):
    return [at_most("sum", "the squares sum to at most 140", sum(measured.values("square")), 140)]

@study("toy.squares", title="Squares")
def squares():
    scale = {"seed": 0}
    return Plan({"smoke": scale, "laptop": scale, "paper": scale}, cells, run, figure, claims, {})
"""


def toy(started, *, stop_at=None, offset=0.0, batch=1):
    """A study of squares over six cells that logs the cells it starts and can be interrupted at one."""

    def run(cells, cfg, device, resume):
        done = []
        for cell in cells:
            if cell["place"] == stop_at:
                raise KeyboardInterrupt
            started.append(cell["place"])
            curve = np.array([cell["place"], math.nan, math.inf])
            done.append(Cell(cell, {"square": cell["place"] ** 2 + offset, "absent": None}, {"line": curve}))
        return done

    def define():
        return Plan(
            scales={scale: {"offset": offset, "count": 6} for scale in SCALES},
            cells=lambda cfg: [{"place": place, "word": f"w{place}"} for place in range(cfg["count"])],
            run=run,
            figure=lambda results: new_figure(1, 1),
            claims=lambda rows: [
                at_most("largest", "the largest square is at most 25", max(rows.values("square")), 25)
            ],
            dims={"line": ("along",)},
            absent=("absent",),
            batch=batch,
        )

    return study("toy.squares", title="Squares")(define)


def quiet(*arguments, **options):
    return run_study(*arguments, progress=False, **options)


def test_a_run_leaves_figure_data_and_claims_in_one_folder(tmp_path):
    result = quiet(toy([]), "smoke", out=tmp_path / "out")
    names = {path.name for path in result.folder.iterdir()}
    assert {"figure.png", "figure.pdf", "data.nc", "claims.json", "cells.jsonl", "run.json"} <= names
    report = json.loads((result.folder / "claims.json").read_text())
    assert report["claims"][0]["estimate"] == 25
    assert report["claims"][0]["holds"] is True
    assert report["configuration"] == {"study": "toy.squares", "scale": "smoke", "offset": 0.0, "count": 6}


def test_figures_carry_the_configuration(tmp_path):
    folder = quiet(toy([]), "smoke", out=tmp_path).folder
    with Image.open(folder / "figure.png") as image:
        assert json.loads(image.text["Description"])["configuration"]["count"] == 6
    content = (folder / "figure.pdf").read_bytes()
    assert b"toy.squares" in content and b"offset" in content


def test_data_are_labelled_and_keep_what_is_missing_as_nan(tmp_path):
    folder = quiet(toy([]), "smoke", out=tmp_path).folder
    with xarray.open_dataset(folder / "data.nc", engine="h5netcdf") as data:
        assert data["square"].values.tolist() == [0, 1, 4, 9, 16, 25]
        assert data["word"].values.tolist() == [f"w{place}" for place in range(6)]
        assert data["line"].dims == ("cell", "along")
        assert np.isnan(data["absent"]).all() and np.isnan(data["line"][:, 1:]).all()
        assert json.loads(data.attrs["configuration"])["configuration"]["scale"] == "smoke"


@pytest.mark.parametrize("batch", [1, 4])
def test_an_interrupted_run_resumes_and_repeats_nothing(tmp_path, batch):
    started = []
    with pytest.raises(KeyboardInterrupt):
        quiet(toy(started, stop_at=4, batch=batch), "smoke", out=tmp_path)
    assert started == [0, 1, 2, 3]
    result = quiet(toy(started, batch=batch), "smoke", out=tmp_path)
    assert started == [0, 1, 2, 3, 4, 5]
    assert [cell.values["square"] for cell in result.cells] == [0, 1, 4, 9, 16, 25]


def test_a_finished_run_starts_no_cell_again(tmp_path):
    started = []
    first = quiet(toy(started), "smoke", out=tmp_path)
    second = quiet(toy(started), "smoke", out=tmp_path)
    assert started == list(range(6))
    assert first.claims == second.claims


def test_a_killed_process_loses_nothing_that_was_finished(tmp_path, monkeypatch):
    (tmp_path / "toystudy.py").write_text(TOY)
    log, out = tmp_path / "log", tmp_path / "out"
    monkeypatch.setenv("TOY_LOG", str(log))
    command = (
        "import toystudy; from numerics.lab.runs import run_study; "
        "run_study(toystudy.squares, 'smoke', out='out')"
    )
    process = subprocess.Popen([sys.executable, "-c", command], cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (log.exists() and len(log.read_text().split()) >= 4):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [cell.cell["place"] for cell in read_cells(out / "cells.jsonl")]
    assert 3 <= len(before) < 8
    subprocess.run([sys.executable, "-c", command], cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
    after = [cell.cell["place"] for cell in read_cells(out / "cells.jsonl")]
    starts = [int(place) for place in log.read_text().split()]
    assert after == list(range(8))
    assert all(starts.count(place) == 1 for place in before)
    assert json.loads((out / "claims.json").read_text())["claims"][0]["estimate"] == 140


def test_a_line_that_was_cut_short_is_run_again(tmp_path):
    started = []
    quiet(toy(started), "smoke", out=tmp_path)
    path = tmp_path / "cells.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    quiet(toy(started), "smoke", out=tmp_path)
    assert started == [0, 1, 2, 3, 4, 5, 5]
    assert path.read_bytes() == whole


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    quiet(toy([]), "smoke", out=tmp_path)
    path = tmp_path / "cells.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "{broken\n", *lines[2:]]))
    with pytest.raises(StudyError, match=r"line 2 of .*cells\.jsonl is broken"):
        quiet(toy([]), "smoke", out=tmp_path)


def test_results_of_another_configuration_are_not_mixed(tmp_path):
    quiet(toy([]), "smoke", out=tmp_path)
    before = (tmp_path / "cells.jsonl").read_bytes()
    started = []
    with pytest.raises(StudyError, match=r"configuration\.offset was 0\.0, is 0\.5"):
        quiet(toy(started, offset=0.5), "smoke", out=tmp_path)
    with pytest.raises(StudyError, match=r"configuration\.scale was smoke, is laptop"):
        quiet(toy(started), "laptop", out=tmp_path)
    assert started == []
    assert (tmp_path / "cells.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["source", "versions"])
def test_results_of_other_code_or_other_versions_are_not_mixed(tmp_path, monkeypatch, name):
    quiet(toy([]), "smoke", out=tmp_path)
    if name == "source":
        monkeypatch.setattr(runs, "source_of", lambda *_: Source("changed", {}))
    else:
        monkeypatch.setattr(runs, "versions", lambda *_: {"numpy": "0.1"})
    with pytest.raises(StudyError, match=rf"holds results of another run: {name}"):
        quiet(toy([]), "smoke", out=tmp_path)


def test_results_of_another_tool_are_not_mixed(tmp_path):
    first = toy([])
    by = [replace(first, plan=replace(first.plan, tools=lambda cfg, device, n=n: {"steps": n})) for n in "ab"]
    quiet(by[0], "smoke", out=tmp_path)
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert record["versions"]["steps"] == "a" and "torch" in record["versions"]
    with pytest.raises(StudyError, match=r"versions\.steps was a, is b"):
        quiet(by[1], "smoke", out=tmp_path)


def test_a_worker_with_another_tool_takes_no_part(tmp_path):
    first, started = toy([]), []

    def tools(cfg, device):
        return {"steps": "a" if threading.current_thread() is threading.main_thread() else "b"}

    other = replace(first, plan=replace(first.plan, tools=tools, run=lambda *_: started.append(1)))
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(StudyError, match=r"recorded .*'steps': 'a'.* take part has .*'steps': 'b'"),
    ):
        quiet(other, "smoke", out=tmp_path, executor=executor)
    assert not started


def test_a_worker_with_other_code_takes_no_part(tmp_path, monkeypatch):
    started = []

    def source(module, attribute):
        return Source("a" if threading.current_thread() is threading.main_thread() else "b", {})

    monkeypatch.setattr(runs, "source_of", source)
    monkeypatch.setattr(sweep, "source_of", source)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(StudyError, match="give all workers the same code"),
    ):
        quiet(toy(started), "smoke", out=tmp_path, executor=executor)
    assert not started


@pytest.mark.parametrize("threads", [0, 1])
def test_code_that_is_edited_during_a_run_stops_no_process_that_has_begun(tmp_path, monkeypatch, threads):
    started = []

    def source(module, attribute):
        return Source("edited" if started else "as it was", {})

    monkeypatch.setattr(runs, "source_of", source)
    monkeypatch.setattr(sweep, "source_of", source)
    with ThreadPoolExecutor(threads) if threads else nullcontext() as executor:
        assert len(quiet(toy(started), "smoke", out=tmp_path, executor=executor).cells) == 6
    with pytest.raises(StudyError, match="source was"):
        quiet(toy(started), "smoke", out=tmp_path)


def changed(**parts):
    """The toy study with other parts of its plan."""
    study = toy([])
    return replace(study, plan=replace(study.plan, **parts))


def test_a_grid_with_a_cell_twice_is_refused_before_the_work(tmp_path):
    with pytest.raises(StudyError, match=r"the grid of toy.squares has the cell .* more than once"):
        quiet(changed(cells=lambda cfg: [{"place": 1}, {"place": 2}, {"place": 1}]), "smoke", out=tmp_path)
    assert not (tmp_path / "cells.jsonl").exists()


@pytest.mark.parametrize("returned", [[], [{"place": 7, "word": "w0"}], [{"place": 0.0, "word": "w0"}]])
def test_a_batch_must_return_its_own_cells(tmp_path, returned):
    study = changed(run=lambda *_: [Cell(cell, {"square": 1}, {"line": np.zeros(3)}) for cell in returned])
    with pytest.raises(StudyError, match="is to return a Cell for each of"):
        quiet(study, "smoke", out=tmp_path)
    assert not (tmp_path / "cells.jsonl").exists()


def test_numbers_of_numpy_are_kept_and_what_is_not_finite_is_absent(tmp_path):
    values = {
        "square": np.int64(4),
        "half": np.float32(0.5),
        "gone": math.nan,
        "list": np.array([1.0, math.inf]),
    }
    study = changed(run=lambda batch, *_: [Cell(cell, values, {"line": np.zeros(3)}) for cell in batch])
    cells = quiet(study, "smoke", out=tmp_path).cells
    assert cells[0].values == {"square": 4, "half": 0.5, "gone": None, "list": [1.0, None]}


@pytest.mark.parametrize(("seed", "stored"), [(2**60 + 1, 2**60 + 1), (2**70 + 1, str(2**70 + 1))])
def test_large_seeds_are_stored_to_the_last_digit(tmp_path, seed, stored):
    study = changed(
        cells=lambda cfg: [{"seed": seed}],
        run=lambda batch, *_: [Cell(cell, {"square": 1}, {"line": np.zeros(3)}) for cell in batch],
    )
    folder = quiet(study, "smoke", out=tmp_path).folder
    with xarray.open_dataset(folder / "data.nc", engine="h5netcdf") as data:
        assert data["seed"].values.tolist() == [stored]


def test_a_record_that_is_none_is_refused(tmp_path):
    quiet(toy([]), "smoke", out=tmp_path)
    (tmp_path / "run.json").write_text("[]", encoding="utf-8")
    with pytest.raises(StudyError, match=r"run\.json is broken"):
        quiet(toy([]), "smoke", out=tmp_path)


def test_cells_without_a_record_of_their_run_are_refused(tmp_path):
    quiet(toy([]), "smoke", out=tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(StudyError, match=r"holds cells without run\.json"):
        quiet(toy([]), "smoke", out=tmp_path)


def test_two_runs_do_not_share_a_folder(tmp_path):
    other = toy([])

    def intrude(cells, cfg, device, resume):
        with pytest.raises(StudyError, match="another run is writing"):
            quiet(other, "smoke", out=tmp_path)
        return other.plan.run(cells, cfg, device, resume)

    intruded = replace(other, plan=replace(other.plan, run=intrude))
    assert len(quiet(intruded, "smoke", out=tmp_path).cells) == 6


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path):
    (tmp_path / "file").write_text("in the way")
    started = []
    with pytest.raises(StudyError, match=r"cannot be written .*choose another with --out"):
        quiet(toy(started), "smoke", out=tmp_path / "file" / "out")
    assert started == []


def test_a_missing_package_is_named_with_the_extra_that_brings_it(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "NEEDED", ("torch", "no_such_package_at_all"))
    with pytest.raises(StudyError, match=r"needs no_such_package_at_all: .*pip install -e '\.\[numerics\]'"):
        quiet(toy([]), "smoke", out=tmp_path)


def test_an_unknown_device_is_refused_before_the_work(tmp_path):
    started = []
    with pytest.raises(StudyError, match="device 'nonsense' cannot be used"):
        quiet(toy(started), "smoke", "nonsense", tmp_path)
    assert started == []


def test_an_unknown_scale_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(StudyError, match="no scale 'huge': choose one of smoke, laptop, paper"):
        quiet(toy([]), "huge", out=tmp_path)


def test_progress_goes_to_stderr_with_the_time_that_is_left(tmp_path, capfd):
    run_study(toy([]), "smoke", out=tmp_path)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "6/6" in captured.err and "ETA" in captured.err


def test_a_study_without_all_scales_is_refused_when_it_is_declared():
    plan = toy([]).plan
    with pytest.raises(ValueError, match="scales must be"):
        study("toy.squares", title="Squares")(lambda: replace(plan, scales={"smoke": {}}))


def test_the_default_folder_names_study_and_scale(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert quiet(toy([]), "smoke").folder == Path("studies/toy.squares/smoke")


def measuring(value):
    """A study of one cell whose value is given."""
    plan = Plan(
        scales={scale: {} for scale in SCALES},
        cells=lambda cfg: [{"place": 3}],
        run=lambda cells, cfg, device, resume: [Cell(cells[0], {"square": value}, {})],
        figure=lambda results: new_figure(1, 1),
        claims=lambda rows: [],
        dims={},
    )
    return study("toy.squares", title="Squares")(lambda: plan)


@pytest.mark.parametrize("value", [1j, {"nine": 9}, [1.0, object()]])
def test_a_value_that_cannot_be_stored_is_named_with_its_cell(tmp_path, value):
    with pytest.raises(StudyError, match=r"value 'square' of the cell \{\"place\": 3\}.*cannot be stored"):
        quiet(measuring(value), "smoke", out=tmp_path)


@pytest.mark.parametrize("value", [np.int64(9), np.float32(9), np.array(9.0), np.bool_(True)])
def test_numbers_of_numpy_are_values(tmp_path, value):
    assert quiet(measuring(value), "smoke", out=tmp_path).cells[0].values == {"square": value}


def holding(values=lambda cell: {}, curves=lambda cell: {}, dims=None, grid=None):
    """A study whose cells, three unless told otherwise, have the given values and curves."""
    return changed(
        cells=lambda cfg: [{"place": place} for place in range(3)] if grid is None else grid,
        run=lambda batch, *_: [Cell(cell, values(cell), curves(cell)) for cell in batch],
        claims=lambda rows: [],
        dims={"line": ("along",)} if dims is None else dims,
    )


def stored(folder):
    """The data set of a run."""
    with xarray.open_dataset(folder / "data.nc", engine="h5netcdf") as data:
        return data.load()


def test_a_value_and_a_curve_of_one_name_are_both_stored(tmp_path):
    study = holding(lambda cell: {"line": cell["place"]}, lambda cell: {"line": np.arange(2.0)})
    data = stored(quiet(study, "smoke", out=tmp_path).folder)
    assert data["line"].values.tolist() == [[0, 1]] * 3
    assert data["line_value"].values.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "curves", "name"),
    [
        ({"place": 1}, {}, "place"),
        ({}, {"place": np.zeros(2)}, "place"),
        ({"line": 1, "line_value": 2}, {"line": np.zeros(2)}, "line_value"),
    ],
)
def test_a_name_of_two_things_is_refused_once_the_first_batch_is_kept(tmp_path, values, curves, name):
    with pytest.raises(StudyError, match=f"'{name}' names two of the coordinates, values and curves"):
        quiet(holding(lambda cell: values, lambda cell: curves), "smoke", out=tmp_path)
    assert len(read_cells(tmp_path / "cells.jsonl")) == 1


@pytest.mark.parametrize(
    ("curve", "reason"),
    [
        (np.array([1.0, 2j]), "it is complex"),
        ([1.0, 2j], "it is complex"),
        ([[1.0], [2.0, 3.0]], "inhomogeneous"),
        (["one"], "could not convert"),
    ],
)
def test_a_curve_that_cannot_be_stored_is_named_with_its_cell(tmp_path, curve, reason):
    study = holding(curves=lambda cell: {"line": curve})
    with pytest.raises(
        StudyError, match=rf"curve 'line' of the cell \{{\"place\": 0\}} cannot be .*{reason}"
    ):
        quiet(study, "smoke", out=tmp_path)


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        ({}, "do not name it"),
        ({"line": ()}, r"say \(\)"),
        ({"line": ("along", "across")}, r"say \('along', 'across'\)"),
        ({"line": "t"}, "say 't'"),
        ({"line": ("cell",)}, r"say \('cell',\)"),
    ],
)
def test_a_curve_whose_axes_are_not_named_is_told_once_the_first_batch_is_kept(tmp_path, dims, told):
    study = holding(curves=lambda cell: {"line": np.zeros(2)}, dims=dims)
    with pytest.raises(
        StudyError, match=rf"axis of the curve 'line', which has the shape \(2,\).*they {told}"
    ):
        quiet(study, "smoke", out=tmp_path)
    assert len(read_cells(tmp_path / "cells.jsonl")) == 1


def test_a_curve_of_different_lengths_is_named_and_the_cells_are_kept(tmp_path):
    study = holding(curves=lambda cell: {"line": np.zeros(2 + cell["place"] // 2)})
    with pytest.raises(
        StudyError, match=r"the curve 'line' of toy\.squares has the shapes \[\(2,\), \(3,\)\]"
    ):
        quiet(study, "smoke", out=tmp_path)
    assert len(read_cells(tmp_path / "cells.jsonl")) == 3


@pytest.mark.parametrize("values, curves", [({"a/b": 1}, {}), ({}, {"a/b": np.zeros(2)})])
def test_a_name_with_a_slash_is_refused_once_the_first_batch_is_kept(tmp_path, values, curves):
    with pytest.raises(
        StudyError, match=r"the name 'a/b' of a coordinate, a value or a curve of toy\.squares has a slash"
    ):
        quiet(holding(lambda cell: values, lambda cell: curves), "smoke", out=tmp_path)
    assert len(read_cells(tmp_path / "cells.jsonl")) == 1


def test_a_list_that_is_filled_up_as_it_is_told_counts(tmp_path):
    lists = [[1.0, None], [2.0, 3.0], [None, None]]
    study = holding(lambda cell: {"list": lists[cell["place"]]})
    claimed = replace(study.plan, claims=lambda rows: [at_most("one", "one", 1, 2)])
    found = [
        quiet(
            replace(study, plan=replace(claimed, absent=absent)), "smoke", out=tmp_path / str(len(absent))
        ).claims
        for absent in ((), ("list",))
    ]
    assert [[claim.name for claim in claims] for claims in found] == [["all-measured"], ["one"]]


def test_a_curve_that_the_first_cell_does_not_have_is_checked_at_the_end(tmp_path):
    lines = [{}, {"line": np.zeros(2)}, {"line": np.zeros(3)}]
    with pytest.raises(StudyError, match=r"'line' of toy\.squares has the shapes"):
        quiet(holding(curves=lambda cell: lines[cell["place"]]), "smoke", out=tmp_path)


def test_two_curves_of_different_lengths_along_one_axis_are_named(tmp_path):
    dims = {"line": ("along",), "other": ("along",)}
    study = holding(curves=lambda cell: {"line": np.zeros(2), "other": np.zeros(3)}, dims=dims)
    with pytest.raises(
        StudyError, match=r"axis 'along' .* curve 'other' has the length 3 and the curve 'line' 2"
    ):
        quiet(study, "smoke", out=tmp_path)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            lambda cell: {"list": [0.0] * (1 + cell["place"])},
            r"has the shapes \[\(1,\), \(2,\)\].*up with None, and name it in the plan's absent",
        ),
        (lambda cell: {"list": [0.0, [1.0]]}, "is a list of lists of different lengths"),
    ],
)
def test_a_value_of_different_lengths_is_named(tmp_path, values, reason):
    with pytest.raises(StudyError, match=rf"the value 'list' of toy\.squares {reason}"):
        quiet(holding(values), "smoke", out=tmp_path)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ([[1, 2], [3, None]], [[1, 2], [3, -1]]),
        (["one", None], ["one", ""]),
        (["one", 2], ["one", "2"]),
    ],
)
def test_lists_of_numbers_and_of_words_are_stored(tmp_path, value, read):
    data = stored(quiet(holding(lambda cell: {"list": value}), "smoke", out=tmp_path).folder)
    found = data["list"] if data["list"].dtype.kind in "UO" else data["list"].fillna(-1)
    assert found.values.tolist() == [read] * 3


def test_numbers_of_numpy_are_coordinates(tmp_path):
    grid = [{"count": np.int64(3), "rate": np.float32(0.5), "on": np.bool_(True), "word": np.str_("w")}]
    cells = quiet(holding(grid=grid), "smoke", out=tmp_path).cells
    assert cells[0].cell == {"count": 3, "rate": 0.5, "on": True, "word": "w"}
    assert list(map(type, cells[0].cell.values())) == [int, float, bool, str]


@pytest.mark.parametrize("value", [math.nan, math.inf, -np.float32(math.inf), (1, 2), 1j])
def test_a_coordinate_that_cannot_be_stored_is_named_before_the_work(tmp_path, value):
    started = []
    study = holding(lambda cell: started.append(cell) or {}, grid=[{"place": 0}, {"place": value}])
    with pytest.raises(
        StudyError, match=r"the coordinate 'place' of the cell \{'place': .*a finite number or a word"
    ):
        quiet(study, "smoke", out=tmp_path)
    assert started == []


def test_a_grid_without_cells_is_refused(tmp_path):
    with pytest.raises(StudyError, match=r"the grid of toy\.squares has no cells at scale smoke"):
        quiet(holding(grid=[]), "smoke", out=tmp_path)


def test_a_folder_in_which_nothing_was_finished_is_free(tmp_path):
    with pytest.raises(StudyError, match="has no cells"):
        quiet(changed(cells=lambda cfg: []), "laptop", out=tmp_path)
    assert len(quiet(toy([]), "smoke", out=tmp_path).cells) == 6


def test_checkpoints_of_another_run_hold_a_folder(tmp_path):
    def interrupt(cells, cfg, device, resume):
        resume.mkdir(parents=True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet(changed(run=interrupt), "laptop", out=tmp_path)
    with pytest.raises(StudyError, match=r"configuration\.scale was laptop, is smoke"):
        quiet(toy([]), "smoke", out=tmp_path)


def test_a_claim_about_no_number_is_null_in_json(tmp_path):
    study = changed(claims=lambda rows: [at_most("none", "nothing to compare", math.nan, math.inf)])
    quiet(study, "smoke", out=tmp_path)
    (claim,) = json.loads((tmp_path / "claims.json").read_text(), parse_constant=pytest.fail)["claims"]
    assert claim["estimate"] is None and claim["threshold"] is None and claim["holds"] is False


def test_a_figure_that_is_not_returned_is_told_and_costs_no_data(tmp_path):
    with pytest.raises(
        StudyError,
        match=r"`figure` returned None; let it end with `return drawn`.*cells\.jsonl, but a study that was corrected",
    ):
        quiet(changed(figure=lambda results: None), "smoke", out=tmp_path)
    assert len(read_cells(tmp_path / "cells.jsonl")) == 6
    assert stored(tmp_path)["square"].values.tolist() == [0, 1, 4, 9, 16, 25]
    assert json.loads((tmp_path / "claims.json").read_text())["claims"][0]["holds"] is True
