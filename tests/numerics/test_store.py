"""What lies in the folder of a run is what was written there, or is refused with its file and what to do; nothing that
was finished is lost, whatever ends a run.
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from numerics.lab.checkpoint import CheckpointError, fraction_done, load_state, save_state
from numerics.lab.claims import at_most
from numerics.lab.figures import new_figure
from numerics.lab.runs import run_study
from numerics.lab.store import CHECKPOINTS, JOURNAL, SUM, _line, finish_batch, read_cells, recover
from numerics.lab.study import SCALES, Cell, Plan, StudyError, study

CELLS = [
    Cell(
        {"place": place, "word": f"wé{place}"},
        {"square": place**2 + 0.125, "gone": None},
        {"line": [0.5, math.nan]},
    )
    for place in range(3)
]


def toy(started, size=4):
    """A study of six cells in batches of two, which logs what it starts, with a curve of some length."""

    def run(cells, cfg, device, resume):
        started.extend(cell["place"] for cell in cells)
        return [
            Cell(c, {"square": c["place"] ** 2 / 7, "gone": None}, {"line": np.arange(size) / 3})
            for c in cells
        ]

    plan = Plan(
        scales={scale: {"size": size} for scale in SCALES},
        cells=lambda cfg: [{"place": place} for place in range(6)],
        run=run,
        figure=lambda results: new_figure(1, 1),
        claims=lambda rows: [at_most("largest", "it is at most 4", max(rows.values("square")), 4)],
        dims={"line": ("along",)},
        absent=("gone",),
        batch=2,
    )
    return study("toy.squares", title="Squares")(lambda: plan)


def quiet(*arguments, **options):
    return run_study(*arguments, progress=False, **options)


def write(path, lines):
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def lines_of(cells=CELLS):
    return [_line(cell).encode() for cell in cells]


def told(counts, kind):
    """Print what became of the attempts of a kind, and fail if one was wrong."""
    print(
        f"\n{kind}: " + ", ".join(f"{name} {counts[name]}" for name in ("tried", "right", "refused", "wrong"))
    )
    assert counts["tried"] >= 20 and counts["wrong"] == 0


def plainly(cells):
    return [_line(cell) for cell in cells]


def test_no_byte_of_the_list_of_cells_changes_without_notice(tmp_path):
    """Each byte is replaced by others, and each line and each pair of neighbours is left out or swapped."""
    path = write(tmp_path / "cells.jsonl", lines_of())
    whole, right = path.read_bytes(), plainly(CELLS)
    counts = Counter()
    for place in range(len(whole)):
        for other in {b"0", b"e", b'"', b"\n", bytes([whole[place] ^ 1])} - {whole[place : place + 1]}:
            path.write_bytes(whole[:place] + other + whole[place + 1 :])
            counts["tried"] += 1
            try:
                found = plainly(read_cells(path))
            except StudyError as error:
                assert f"{path} is broken" in str(error) and "remove that line and run again" in str(error)
                counts["refused"] += 1
            else:  # a last line without its end counts as one that was cut short
                counts["right" if found in (right, right[:-1]) else "wrong"] += 1
    told(counts, "bytes of cells.jsonl")


UNSIGNED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"3",
    b'"word"',
    b"{}",
    b'{"cell": {}, "values": {}}',
    b'{"cell": [], "values": {}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": [1, 2], "curves": {}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": []}',
    b'{"cell": {"a": 1}, "values": {"x": {"y": 1}}, "curves": {}}',
    b'{"cell": {"a": [1]}, "values": {}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": {"x": NaN}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": {"x": 1e999}, "curves": {}}',
    b'{"cell": {"a": 1e999}, "values": {}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": {"x": [1, Infinity]}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {"c": [1.0, [2.0]]}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {"c": ["1.5"]}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {"c": {"0": 1.0}}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {"c": [1e999]}}',
    b'{"cell": {"a": 1}, "values": {"x": 1, "x": 2}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {}, "more": {}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {}, "sum": "0000000000000000"}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {}, "sum": 5}',
    b'{"cell": {"a": 1}, "values": {"x": ' + b"1" * 5000 + b'}, "curves": {}}',
    b'{"cell": {"a": 1}, "values": {}, "curves": {"c": [' + b"1" * 400 + b"]}}",
    b'{"cell": {"a": 1}, "values": {"x": "' + "é".encode("latin-1") + b'"}, "curves": {}}',
    '{"cell": {"a": 1}, "values": {}, "curves": {}}'.encode("utf-16"),
    b"[" * 100_000,
    b"\x00\xff\xfe",
]


@pytest.mark.parametrize("journal", [False, True], ids=["list", "journal"])
def test_a_line_that_could_not_have_been_written_is_named(tmp_path, journal):
    counts = Counter()
    for line in UNSIGNED:
        folder = tmp_path / f"{counts['tried']}"
        path = folder / (f"{CHECKPOINTS}/batch/{JOURNAL}" if journal else "cells.jsonl")
        path.parent.mkdir(parents=True)
        write(path, [lines_of()[0], line])
        counts["tried"] += 1
        try:
            recover(folder) if journal else read_cells(path)
        except StudyError as error:
            assert f"of {path} is broken" in str(error) and "remove that line and run again: its cell" in str(
                error
            ), line[:60]
            assert path.exists()
            counts["refused"] += 1
        else:
            counts["wrong"] += 1
    told(counts, "lines of a journal" if journal else "lines of cells.jsonl")


def unsigned(line):
    """The line as runs wrote it before lines had checksums."""
    return SUM.sub("}", line.decode()).encode()


def test_lists_without_checksums_are_read_and_go_on_with_checksums(tmp_path):
    lines = lines_of()
    old = write(tmp_path / "old", map(unsigned, lines))
    assert plainly(read_cells(old)) == plainly(CELLS)
    mixed = write(tmp_path / "mixed", [unsigned(lines[0]), *lines[1:]])
    assert plainly(read_cells(mixed)) == plainly(CELLS)
    with pytest.raises(
        StudyError, match=r"line 3 of .* broken \(it has no checksum, although a line above has one"
    ):
        read_cells(write(tmp_path / "cut", [*lines[:2], unsigned(lines[2])]))


def test_a_cell_that_is_there_twice_counts_once_if_both_lines_agree(tmp_path):
    lines = lines_of()
    for again in (lines[1], unsigned(lines[1])):
        path = write(tmp_path / "cells.jsonl", [unsigned(lines[0]), again, lines[1], lines[2], lines[2]])
        assert plainly(read_cells(path)) == plainly(CELLS)


def test_two_lines_that_say_different_things_of_a_cell_are_both_named(tmp_path):
    counts = Counter()
    first = CELLS[0]
    others = [
        *(
            replace(first, values={"square": value, "gone": None})
            for value in (0.25, 0, -0.125, None, "0.125", [0.125])
        ),
        *(replace(first, values={"square": np.nextafter(0.125, end), "gone": None}) for end in (0, 1)),
        *(replace(first, values=values) for values in ({}, {"square": 0.125}, {"square": 0.125, "gone": 0})),
        *(
            replace(first, curves={"line": line})
            for line in ([0.5], [0.5, 0.0], [math.nan, 0.5], [[0.5, math.nan]])
        ),
        *(replace(first, curves=curves) for curves in ({}, {"other": [0.5, math.nan]})),
    ]
    for other in others:
        for signed in (
            lines_of([first, CELLS[1], other]),
            [*map(unsigned, lines_of([first, CELLS[1]])), *lines_of([other])],
        ):
            path = write(tmp_path / "cells.jsonl", signed)
            counts["tried"] += 1
            with pytest.raises(
                StudyError, match=r"line 1 of .*cells\.jsonl and line 3 of .* say different things of the"
            ):
                read_cells(path)
            counts["refused"] += 1
    told(counts, "cells with two values")


def test_a_journal_that_contradicts_the_list_is_refused_and_kept(tmp_path):
    write(tmp_path / "cells.jsonl", lines_of())
    journal = tmp_path / CHECKPOINTS / "batch" / JOURNAL
    journal.parent.mkdir(parents=True)
    write(journal, lines_of([replace(CELLS[2], values={"square": 5, "gone": None})]))
    with pytest.raises(
        StudyError, match=rf"line 3 of .*cells\.jsonl and line 1 of {journal} say different things"
    ):
        recover(tmp_path)
    assert journal.exists() and plainly(read_cells(tmp_path / "cells.jsonl")) == plainly(CELLS)


RECORDS = [
    b"",
    b"{",
    b"null",
    b"true",
    b"[]",
    b"[{}]",
    b"5",
    b"1e999",
    b"NaN",
    b'"word"',
    b"{}",
    b'{"configuration": []}',
    b'{"configuration": null, "device": [], "source": {}, "versions": 5}',
    b'{"versions": {"torch": {}}}',
    b'{"configuration": "\xe9"}',
    b"\xff\xfe\x00",
    '{"configuration": {}}'.encode("utf-16"),
    b"\xef\xbb\xbf{}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"1" * 5000,
    b"\x00" * 100,
    b'{"configuration": {}} {}',
]


def test_a_record_that_is_none_of_this_run_is_refused_with_what_to_do(tmp_path):
    quiet(toy([]), "smoke", out=tmp_path)
    cells, counts = (tmp_path / "cells.jsonl").read_bytes(), Counter()
    for record in RECORDS:
        (tmp_path / "run.json").write_bytes(record)
        counts["tried"] += 1
        with pytest.raises(
            StudyError, match=r"(?s)(run\.json is broken|results of another run).*choose another --out"
        ):
            quiet(toy([]), "smoke", out=tmp_path)
        counts["refused"] += 1
    assert (tmp_path / "cells.jsonl").read_bytes() == cells
    told(counts, "records of a run")


FILES = (
    "run.json",
    "cells.jsonl",
    "claims.json",
    "data.nc",
    "figure.png",
    "figure.pdf",
    ".lock",
    CHECKPOINTS,
)


def in_place(path, what):
    if what == "folder":
        path.mkdir()
    elif what == "full folder":
        (path / "inside").mkdir(parents=True)
    elif what == "dangling link":
        path.symlink_to(path.with_name("nowhere") / "else")
    elif what == "circle":
        path.symlink_to(path)
    else:
        os.mkfifo(path)


def test_what_stands_in_a_files_place_is_named(tmp_path):
    """At the beginning of a run and, where the file is read, when it goes on."""
    counts = Counter()
    for name in FILES:
        for what in ("folder", "full folder", "dangling link", "circle", "pipe"):
            if (name, what) in ((".lock", "pipe"), (CHECKPOINTS, "folder"), (CHECKPOINTS, "full folder")):
                continue  # a pipe can be locked once it is read, and checkpoints are a folder
            for finished in (False, True):
                folder = tmp_path / f"{counts['tried']}"
                if finished:
                    quiet(toy([]), "smoke", out=folder)
                    path = folder / name
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                folder.mkdir(exist_ok=True)
                in_place(folder / name, what)
                counts["tried"] += 1
                try:
                    found = quiet(toy([]), "smoke", out=folder)
                except StudyError as error:
                    assert str(folder) in str(error) and "Traceback" not in str(error)
                    counts["refused"] += 1
                else:  # a link or a pipe is replaced by the file, and checkpoints are not needed at the end
                    counts["right" if len(found.cells) == 6 else "wrong"] += 1
    told(counts, "files in whose place something stands")


@contextmanager
def room_for(size):
    """No file grows beyond so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    """Files may not grow beyond a size, from none to that of the largest; then there is room, and the run goes on."""
    whole = quiet(toy([], 300), "smoke", out=tmp_path / "whole").folder
    largest = max(path.stat().st_size for path in whole.iterdir())
    counts = Counter()
    for size in [0, 1, 100, *range(200, 24_000, 600), *range(24_000, largest, 9000), largest]:
        folder, started = tmp_path / f"{size}", []
        counts["tried"] += 1
        with room_for(size):
            try:
                quiet(toy(started, 300), "smoke", out=folder)
                counts["right"] += 1
            except StudyError as error:
                assert "cannot" in str(error) and "what is finished is kept" in str(error)
                counts["refused"] += 1
        kept = read_cells(folder / "cells.jsonl") if (folder / "cells.jsonl").exists() else []
        assert len(kept) >= len(started) - 2
        assert not [path for path in folder.iterdir() if path.name.startswith(".") and path.name != ".lock"]
        before = list(started)
        again = quiet(toy(started, 300), "smoke", out=folder)
        repeated = Counter(started[len(before) :])
        if any(repeated[cell.cell["place"]] for cell in kept):
            counts["wrong"] += 1
        same = ("cells.jsonl", "claims.json", "figure.png", "figure.pdf")
        assert [(again.folder / name).read_bytes() for name in same] == [
            (whole / name).read_bytes() for name in same
        ]
    assert counts["right"] == 1
    told(counts, "sizes of a full disk")


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path):
    state = {"identity": np.array("a"), "x": np.arange(1000.0)}
    save_state(tmp_path, state)
    for size in range(0, 8000, 400):
        with room_for(size), pytest.raises(CheckpointError, match="goes on from its last checkpoint"):
            save_state(tmp_path, state | {"x": np.zeros(1000)})
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]
    assert np.array_equal(load_state(tmp_path, "a")["x"], state["x"])


def test_a_folder_in_a_checkpoints_place_is_named(tmp_path):
    (tmp_path / "state.npz").mkdir()
    (tmp_path / "fraction").mkdir()
    assert fraction_done(tmp_path) == 0.0
    with pytest.raises(CheckpointError, match="is broken"):
        load_state(tmp_path, "a")
    with pytest.raises(CheckpointError, match="cannot be written"):
        save_state(tmp_path, {"x": np.zeros(3)})


@pytest.mark.parametrize("word", ["\ud800", "half \udcff"])
def test_half_a_character_and_endless_numbers_are_no_values(tmp_path, word):
    for value in (word, [word], 10**5000):
        with pytest.raises(StudyError, match=r"a word or a number of the cell .* cannot be stored"):
            finish_batch(tmp_path, tmp_path / "batch", [Cell({"place": 1}, {"x": value}, {})])
    assert not (tmp_path / "cells.jsonl").exists()


def test_checkpoints_without_a_record_of_their_run_are_refused(tmp_path):
    (tmp_path / CHECKPOINTS / "batch").mkdir(parents=True)
    write(tmp_path / CHECKPOINTS / "batch" / JOURNAL, lines_of())
    with pytest.raises(StudyError, match=r"holds checkpoints without run\.json"):
        quiet(toy([]), "smoke", out=tmp_path)


KILLING = """
import os, random, signal, sys, time
from pathlib import Path
from numerics.lab.claims import at_most
from numerics.lab.study import Cell, Plan, study
from numerics.lab.runs import run_study
from numerics.lab.provenance import versions
import killed, matplotlib.pyplot, torch, xarray, h5netcdf

out, kills = Path("out"), int(sys.argv[1])
draw, seen = random.Random(3), []
run_study(killed.squares, "smoke", out="first", progress=False)  # all is imported from now on
os.environ["TOY_LOG"] = "log"
for kill in range(kills):
    child = os.fork()
    if not child:
        run_study(killed.squares, "smoke", out=out, progress=False)
        os._exit(0)
    time.sleep(draw.uniform(0.0, 0.3))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    held = (out / "cells.jsonl").read_bytes().split(b"\\n")[:-1] if (out / "cells.jsonl").exists() else []
    assert held[: len(seen)] == seen, "a finished cell was lost"
    seen = held
    print(len(seen), end=" ")
run_study(killed.squares, "smoke", out=out, progress=False)
"""
KILLED = """
import os, time
from numerics.lab.claims import at_most
from numerics.lab.study import Cell, Plan, study

def run(batch, cfg, device, resume):
    if "TOY_LOG" in os.environ:
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write("".join(f"{cell['place']}\\n" for cell in batch))
    time.sleep(0.005)
    return [Cell(cell, {"square": cell["place"] ** 2 / 7}, {"line": [cell["place"] / 3] * 400}) for cell in batch]

def figure(results):
    from numerics.lab.figures import new_figure
    return new_figure(1, 1)

@study("toy.squares", title="Squares")
def squares():
    return Plan(
        {scale: {} for scale in ("smoke", "laptop", "paper")},
        lambda cfg: [{"place": place} for place in range(300)],
        run,
        figure,
        lambda rows: [at_most("sum", "it is", sum(rows.values("square")), 1e9)],
        {"line": ("along",)},
        batch=5,
    )
"""


def test_kills_at_any_moment_lose_no_finished_cell(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    (tmp_path / "killing.py").write_text(KILLING)
    kills = 30
    subprocess.run([sys.executable, "killing.py", str(kills)], cwd=tmp_path, check=True, timeout=300)
    starts = Counter(int(place) for place in (tmp_path / "log").read_text().split())
    assert (tmp_path / "out" / "cells.jsonl").read_bytes() == (
        tmp_path / "first" / "cells.jsonl"
    ).read_bytes()
    repeated = sum(count - 1 for count in starts.values())
    print(f"\nkills {kills}, cells 300, begun again {repeated}, lost 0")
    assert repeated <= 5 * kills
    assert json.loads((tmp_path / "out" / "claims.json").read_text())["claims"][0]["holds"] is True
