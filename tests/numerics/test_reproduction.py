"""Evidence that later code repeats in part: noted if every digit is the same, refused if one is not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import numerics
from numerics.lab.evidence import load_evidence, stale, verify_claims
from numerics.lab.reproduction import reproduce, spread
from numerics.lab.runs import run_study
from numerics.lab.study import StudyError, load_study

TOY = '''"""Squares of four places, in batches of one."""
from numerics.lab.claims import at_most
from numerics.lab.study import Cell, Plan, study


def cells(cfg):
    return [{"place": place} for place in range(4)]


def run(batch, cfg, device, resume):
    return [Cell(cell, {"square": cell["place"] ** 2 / 3}, {}) for cell in batch]


def figure(results):
    from numerics.lab.figures import new_figure
    return new_figure(1, 1)


def claims(measured):
    """What is claimed."""
    return [at_most("small", "at most three", max(measured.values("square")), 3)]


@study("toy.squares", title="Squares")
def squares():
    plain = {"seed": 4}
    return Plan({"smoke": plain, "laptop": plain, "paper": plain}, cells, run, figure, claims, {}, batch=1)
'''
RENAMED = TOY.replace("batch, cfg, device", "few, cfg, device").replace("in batch", "in few")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A user's study with evidence of two kinds of code: call it with a source to change to that."""
    package = tmp_path / "toysquares"
    package.mkdir()
    (package / "__init__.py").write_text("")
    metadata = tmp_path / "toy_squares-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-squares\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[symdyn.studies]\ntoys = toysquares\n")
    monkeypatch.syspath_prepend(tmp_path)

    def become(source):
        (package / "squares.py").write_text(source)
        forget()

    become(TOY)
    options = {"out": tmp_path / "out", "evidence": True, "progress": False}
    run_study(load_study("toy.squares"), "paper", **options)
    yield become
    forget()


def forget():
    for name in [name for name in sys.modules if name.split(".")[0] == "toysquares"]:
        del sys.modules[name]


def test_code_that_repeats_the_digits_makes_evidence_current_again(toy):
    toy(RENAMED)
    before = load_evidence("toy.squares")
    assert stale(before)
    found = reproduce("toy.squares", 3)
    assert (found.repeated, found.cells) == (3, 4)
    after = load_evidence("toy.squares")
    assert not stale(after)
    assert after["cells"] == before["cells"] and after["source"] == before["source"]
    verdict = verify_claims("toy.squares")
    assert verdict["stale"] is False and "3 of them repeated to the last digit" in verdict["evidence"]
    toy(RENAMED.replace("few", "some"))
    assert stale(load_evidence("toy.squares"))


@pytest.mark.parametrize(
    "change", [("/ 3", "/ 3 + 1e-15 * (cell['place'] == 3)"), ('"square": ', '"other": 1, "square": ')]
)
def test_code_that_changes_one_digit_or_name_is_refused_and_nothing_is_written(toy, change):
    toy(TOY.replace(*change))
    before = load_evidence("toy.squares")
    with pytest.raises(StudyError, match="has to be run anew"):
        reproduce("toy.squares", 2)
    assert load_evidence("toy.squares") == before


@pytest.mark.parametrize(
    "change", [("range(4)", "range(3)"), ("in batch]", "in batch if cell['place'] not in (0, 3)]")]
)
def test_code_that_loses_cells_repeats_nothing(toy, change):
    toy(TOY.replace(*change))
    before = load_evidence("toy.squares")
    with pytest.raises(StudyError, match=r"another grid of cells|is to return a Cell for each"):
        reproduce("toy.squares", 2)
    assert load_evidence("toy.squares") == before


def test_arrays_and_what_is_not_finite_are_compared_as_they_are_stored(toy, tmp_path):
    values = '{"square": np.float32(cell["place"]), "pair": np.array([0.1, np.inf]), "gone": np.nan}'
    toy(
        TOY.replace('{"square": cell["place"] ** 2 / 3}', values).replace(
            "places", 'places"""\nimport numpy as np\n"""'
        )
    )
    run_study(load_study("toy.squares"), "paper", out=tmp_path / "arrays", evidence=True, progress=False)
    assert reproduce("toy.squares", 4).repeated == 4


def test_digits_of_other_versions_are_not_compared(toy, monkeypatch):
    monkeypatch.setattr("numerics.lab.reproduction.versions", lambda *_: {"numpy": "0"})
    with pytest.raises(StudyError, match="digits cannot be compared"):
        reproduce("toy.squares")


def test_digits_of_other_tools_are_not_compared(toy):
    toy(TOY.replace("batch=1)", 'batch=1, tools=lambda cfg, device: {"steps": "a"})'))
    with pytest.raises(StudyError, match=r"'steps': 'a'.*digits cannot be compared"):
        reproduce("toy.squares")


def test_no_batch_repeats_nothing(toy):
    with pytest.raises(StudyError, match="at least one batch"):
        reproduce("toy.squares", 0)


DEPENDENT = TOY.replace("/ 3}", '/ 3 + float(os.environ["PROCESSOR"])}').replace(
    "places, in", "places, in several"
)
DEPENDENT = DEPENDENT.replace("from numerics.lab.claims", "import os\nfrom numerics.lab.claims")


@pytest.fixture
def elsewhere(toy, tmp_path, monkeypatch):
    """Evidence from another kind of processor, and a checkout of the code that made it."""
    toy(DEPENDENT)
    monkeypatch.setenv("PROCESSOR", "1e-9")
    run_study(load_study("toy.squares"), "paper", out=tmp_path / "there", evidence=True, progress=False)
    monkeypatch.setenv("PROCESSOR", "2e-9")
    before = tmp_path / "before"
    for name in ("toysquares", "toy_squares-1.dist-info"):
        shutil.copytree(tmp_path / name, before / name)
    (before / "numerics").symlink_to(Path(numerics.__file__).parent)
    return toy, before


def test_on_another_processor_the_code_that_made_the_evidence_runs_beside(elsewhere):
    toy, before = elsewhere
    toy(DEPENDENT.replace("batch, cfg, device", "few, cfg, device").replace("in batch", "in few"))
    with pytest.raises(StudyError, match="has to be run anew"):
        reproduce("toy.squares", 2)
    assert reproduce("toy.squares", 2, beside=before).repeated == 2
    assert not stale(load_evidence("toy.squares"))


def test_a_digit_that_the_code_changes_is_seen_beside_it(elsewhere):
    toy, before = elsewhere
    toy(DEPENDENT.replace("/ 3 +", "/ 3 + 1e-15 * (cell['place'] == 3) +"))
    stored = load_evidence("toy.squares")
    with pytest.raises(StudyError, match="has to be run anew"):
        reproduce("toy.squares", 2, beside=before)
    assert load_evidence("toy.squares") == stored


def test_code_that_did_not_make_the_evidence_proves_nothing_beside(elsewhere, tmp_path):
    toy, before = elsewhere
    other = DEPENDENT.replace("/ 3 +", "/ 4 +")
    toy(other)
    (before / "toysquares" / "squares.py").write_text(other)
    with pytest.raises(StudyError, match="neither made nor repeated the evidence"):
        reproduce("toy.squares", 2, beside=before)
    with pytest.raises(StudyError, match="is no checkout of symdyn"):
        reproduce("toy.squares", 2, beside=tmp_path / "nothing")
    (before / "toysquares" / "squares.py").write_text("raise SystemExit(3)")
    with pytest.raises(StudyError, match="did not run the study"):
        reproduce("toy.squares", 2, beside=before)


def test_batches_are_spread_over_the_grid_with_both_ends():
    assert list(spread(1, 5)) == [0]
    assert list(spread(2, 5)) == [0, 4]
    assert list(spread(3, 5)) == [0, 2, 4]
    assert list(spread(9, 3)) == [0, 1, 2]


def test_a_device_that_is_not_there_is_refused(toy):
    with pytest.raises(StudyError, match="the device 'nowhere' cannot be used here"):
        reproduce("toy.squares", device="nowhere")


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_evidence_that_decides_does_not_give_way_to_some_that_does_not(toy, tmp_path, scale):
    study, options = load_study("toy.squares"), {"evidence": True, "progress": False}
    before = load_evidence("toy.squares")
    with pytest.raises(StudyError, match=rf"is of scale paper.*that of scale {scale} would take its place"):
        run_study(study, scale, out=tmp_path / "other", **options)
    assert load_evidence("toy.squares") == before and not (tmp_path / "other" / "cells.jsonl").exists()
    run_study(study, "paper", out=tmp_path / "again", **options)
