"""What stored numbers say of their source: the claims that are blamed are those that failed and are the source's own,
and what a file holds is what was measured.
"""

from __future__ import annotations

import json
import math
from itertools import product

import pytest

from numerics.lab import evidence
from numerics.lab.claims import (
    Measurement,
    Measurements,
    at_least,
    at_most,
    between,
    mean,
    mean_at_least,
    mean_at_most,
)
from numerics.lab.evidence import (
    EvidenceError,
    _findings,
    _status,
    evidence_state,
    load_evidence,
    rewrite_evidence,
    stale,
    verify_claims,
    write_evidence,
    write_text,
)
from numerics.lab.fingerprint import Source
from numerics.lab.study import SCALES, Cell, Plan, Study

KEY = "toy.numbers"


def claim(name, about, holds):
    return at_most(name, f"the statement of {name}", 1.5 if holds else 2.5, 2, about=about)


@pytest.mark.parametrize("kinds", list(product(product(("paper", "check", "own"), (True, False)), repeat=3)))
def test_the_claims_that_are_blamed_are_those_of_the_source_that_failed(kinds):
    """All ways in which three claims can belong to the source, a check or us, and hold or not."""
    claims = [claim(f"c{place}", *kind) for place, kind in enumerate(kinds)]
    stated = [holds for about, holds in kinds if about == "paper"]
    checked = all(holds for about, holds in kinds if about == "check")
    status = _status(claims)
    if not stated or not checked:
        assert status == "open"
    elif all(stated):
        assert status == "holds"
    elif any(stated):
        assert status == "conditional"
    else:
        assert status == "erratum"
    blamed = [f"c{place}" for place, kind in enumerate(kinds) if kind == ("paper", False)]
    claimed = "; ".join(f"the statement of {name}" for name in blamed)
    found = "; ".join(f"{name}: measured 2.5, at most 2.0" for name in blamed)
    wanted = {
        "conditional": {"claim": claimed, "hypothesis": f"all but what was not found ({found})"},
        "erratum": {"claim": claimed, "corrected": found, "severity": "substantive"},
    }
    assert _findings(status, claims) == wanted.get(status, {})


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A study whose claims a test gives, with its evidence in a folder; ``toy(claims)`` returns it."""
    source = Source("1" * 16, {"toy.run": "2" * 16})

    def make(claims=lambda rows: [], seed=4):
        plan = Plan(
            {scale: {"seed": seed} for scale in SCALES},
            lambda cfg: [],
            None,
            None,
            claims,
            {},
            absent=("gone",),
        )
        study = Study(KEY, "Numbers", "toy", plan, "numbers")
        monkeypatch.setattr(evidence, "load_study", lambda key: study)
        monkeypatch.setattr(evidence, "source_of", lambda *_: source)
        return study

    make.source = source
    make.set = lambda hash: monkeypatch.setattr(evidence, "source_of", lambda *_: Source(hash, {}))
    return make


def store(study, folder, cells, scale="paper", **options):
    return write_evidence(
        study,
        study.configuration(scale),
        cells,
        device="cpu",
        versions={"numpy": "1"},
        folder=folder,
        **options,
    )


CELLS = [
    Cell({"place": 0, "word": "é"}, {"number": 0.1, "gone": None}, {}),
    Cell({"place": 1, "word": "w"}, {"number": 0.30000000000000004, "gone": [1, None]}, {}),
    Cell({"place": 2}, {"number": -1e-300}, {}),
    Cell({"place": 3}, {"number": 2**60 + 1}, {}),
    Cell({"place": 4, "word": "w"}, {"number": 5, "gone": True}, {}),
]


def test_a_file_says_everything_about_a_run(toy, tmp_path):
    study = toy(lambda rows: [claim("a", "paper", True), claim("b", "own", False)])
    path = store(study, tmp_path, CELLS)
    assert path == tmp_path / f"{KEY}.json"
    content = load_evidence(KEY, tmp_path)
    digest = content.pop("digest")
    assert len(digest) == 16 and set(digest) <= set("0123456789abcdef")
    assert content == {
        "schema": 3,
        "study": KEY,
        "scale": "paper",
        "configuration": {"study": KEY, "scale": "paper", "seed": 4},
        "versions": {"numpy": "1"},
        "device": "cpu",
        "source": toy.source.as_dict(),
        "cells": [{"cell": dict(cell.cell), "values": dict(cell.values)} for cell in CELLS],
        "claims": [claim("a", "paper", True).as_dict(), claim("b", "own", False).as_dict()],
    }
    other = store(study, tmp_path / "other", CELLS, source=Source("3" * 16, {}))
    assert json.loads(other.read_text())["source"]["hash"] == "3" * 16


def test_a_file_has_a_line_for_each_cell_and_each_claim(toy, tmp_path):
    lines = store(toy(lambda rows: [claim("a", "paper", True)] * 2), tmp_path, CELLS).read_text().splitlines()
    assert lines[0] == "{" and lines[-1] == "}"
    assert [line for line in lines if line.startswith("   [")] == [
        '   [0, "é", 0.1, null],',
        '   [1, "w", 0.30000000000000004, [1, null]]',
        "   [2, -1e-300],",
        "   [3, 1152921504606846977]",
        '   [4, "w", 5, true]',
    ]
    assert len([line for line in lines if line.startswith('  {"name": "a"')]) == 2
    heads = [line for line in lines if line.startswith('  {"cell"')]
    assert heads[0] == '  {"cell": ["place", "word"], "values": ["number", "gone"], "rows": ['
    assert len(heads) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("0.30000000000000004", "0.3"),
        lambda text: text.replace("0.1,", "0.10000000000000001,").replace("[0,", "[9,"),
        lambda text: text.replace('"é"', '"e"'),
        lambda text: text.replace("null", "0", 1),
        lambda text: text.replace('"seed": 4', '"seed": 5'),
        lambda text: text.replace('"device": "cpu"', '"device": "gpu"'),
        lambda text: text.replace('"numpy": "1"', '"numpy": "2"'),
        lambda text: text.replace("1111111111111111", "1111111111111112"),
        lambda text: text.replace('"scale": "paper"', '"scale": "smoke"', 1),
        lambda text: text.replace('"holds": true', '"holds": false'),
        lambda text: text.replace("1152921504606846977", "1152921504606846976"),
        lambda text: text.replace("-1e-300", "1e-300"),
        lambda text: text.replace("   [2, -1e-300],\n", ""),
        lambda text: text.replace('"number", "gone"', '"gone", "number"', 1),
        lambda text: text.replace('"digest": "', '"digest": "0'),
        lambda text: text.replace("{\n", '{\n "more": 1,\n', 1),
        lambda text: text.replace('"w", 5', '"x", 5'),
        lambda text: text.replace("true]", "false]"),
        lambda text: text.replace("[1, null]", "[1, 0]"),
        lambda text: text.replace('"estimate": 1.5', '"estimate": 1.25'),
    ],
)
def test_an_edit_by_hand_is_noticed(toy, tmp_path, change):
    path = store(toy(lambda rows: [claim("a", "paper", True)]), tmp_path, CELLS)
    text = path.read_text(encoding="utf-8")
    assert change(text) != text
    path.write_text(change(text), encoding="utf-8")
    with pytest.raises(
        EvidenceError, match=r"changed after it was written.*--scale paper --evidence` to write it anew"
    ):
        load_evidence(KEY, tmp_path)
    assert evidence_state(KEY, tmp_path) == {"evidence": "broken", "scale": None}


BROKEN = [
    b"", b"{", b"null", b"[]", b"3", b'"x"', b"{}", b"\xff\xfe", b'{"cells": "\xe9"}', b"[" * 100_000, b"1" * 5000,
    b"NaN", b'{"schema": 3}', b"\x00", b"\xef\xbb\xbf{}", b'{"a": 1} x',
]  # fmt: skip
CONTENTS = [
    ("cells", value)
    for value in (None, 5, "ab", {}, [5], [[]], [{}], [{"cell": [], "values": []}],
                  [{"cell": 5, "values": [], "rows": []}],
                  [{"cell": ["a"], "values": [], "rows": [[1, 2]]}], [{"cell": ["a"], "values": [], "rows": 5}],
                  [{"cell": [[]], "values": [], "rows": [[1]]}], [{"cell": ["\ud800"], "values": [], "rows": [[1]]}])
] + [
    ("study", "other"), ("study", None), ("schema", 2), ("schema", "3"), ("schema", None), ("digest", None),
]  # fmt: skip


def test_a_file_that_is_no_evidence_is_refused_by_name(toy, tmp_path):
    path = store(toy(), tmp_path, CELLS)
    whole, tried = json.loads(path.read_text()), 0
    for content in BROKEN:
        path.write_bytes(content)
        with pytest.raises(EvidenceError, match=rf"the evidence file {KEY}\.json"):
            load_evidence(KEY, tmp_path)
        tried += 1
    for name, value in CONTENTS:
        path.write_text(json.dumps(whole | {name: value}))
        with pytest.raises(
            EvidenceError, match=rf"the evidence file {KEY}\.json|of the evidence file {KEY}\.json"
        ):
            load_evidence(KEY, tmp_path)
        tried += 1
    for name in whole:
        path.write_text(json.dumps({other: value for other, value in whole.items() if other != name}))
        with pytest.raises(EvidenceError, match=f"lacks {name}; run"):
            load_evidence(KEY, tmp_path)
        tried += 1
    path.unlink()
    path.mkdir()
    with pytest.raises(EvidenceError, match=r"cannot be read \(Is a directory\)"):
        load_evidence(KEY, tmp_path)
    assert evidence_state(KEY, tmp_path)["evidence"] == "broken"
    path.rmdir()
    with pytest.raises(EvidenceError, match=f"there is no evidence for {KEY}; run"):
        load_evidence(KEY, tmp_path)
    assert evidence_state(KEY, tmp_path) == {"evidence": "none", "scale": None}
    print(f"\nfiles of evidence: tried {tried + 2}, right 0, refused {tried + 2}, wrong 0")


def test_evidence_is_current_while_code_and_configuration_are_what_they_were(toy, tmp_path):
    store(toy(), tmp_path, CELLS)
    assert evidence_state(KEY, tmp_path) == {"evidence": "current", "scale": "paper"}
    stored = load_evidence(KEY, tmp_path)
    toy.set("4" * 16)
    assert stale(stored) and evidence_state(KEY, tmp_path) == {"evidence": "stale", "scale": "paper"}
    note = {"hash": "4" * 16, "definitions": {}, "cells": 2}
    rewrite_evidence(stored | {"reproduced": note}, tmp_path)
    assert evidence_state(KEY, tmp_path)["evidence"] == "current"
    toy.set("1" * 16)
    assert evidence_state(KEY, tmp_path)["evidence"] == "current"
    toy(seed=5)
    assert evidence_state(KEY, tmp_path)["evidence"] == "stale"
    study = toy()
    del study.plan.scales["paper"]
    assert stale(stored)


@pytest.mark.parametrize(
    ("holding", "scale", "status", "holds"),
    [
        ((True, True), "paper", "holds", True),
        ((True, False), "paper", "conditional", False),
        ((False, False), "paper", "erratum", False),
        ((True, True), "laptop", "open", None),
        ((False, False), "smoke", "open", None),
    ],
)
def test_the_sentence_says_how_many_claims_hold_and_which_do_not(
    toy, tmp_path, holding, scale, status, holds
):
    claims = [claim(name, "paper", one) for name, one in zip("ab", holding, strict=True)]
    store(toy(lambda rows: claims), tmp_path, CELLS, scale)
    found = verify_claims(KEY, tmp_path)
    failing = [name for name, one in zip("ab", holding, strict=True) if not one]
    words = f"{sum(holding)} of 2 claims hold over 5 cells (scale {scale}, cpu)"
    assert found["evidence"] == words + (f"; not: {', '.join(failing)}" if failing else "")
    assert (found["status"], found["holds"], found["grade"], found["stale"]) == (
        status,
        holds,
        "simulated",
        False,
    )
    assert found["claims"] == [one.as_dict() for one in claims]
    assert ("claim" in found) is (status in ("conditional", "erratum"))
    assert ("severity" in found) is (status == "erratum")
    rewrite_evidence(load_evidence(KEY, tmp_path) | {"reproduced": {"hash": "9", "cells": 3}}, tmp_path)
    assert (
        f"{words}, 3 of them repeated to the last digit by later code"
        in verify_claims(KEY, tmp_path)["evidence"]
    )


def test_without_evidence_everything_is_open(toy, tmp_path):
    toy()
    assert verify_claims(KEY, tmp_path) == {
        "status": "open",
        "holds": None,
        "grade": "simulated",
        "evidence": f"not run yet: symdyn study run {KEY} --scale paper --evidence",
        "stale": False,
        "claims": [],
    }


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "één")
    assert path.read_bytes() == "één".encode()

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(evidence.os, name, full)
            with pytest.raises(
                EvidenceError, match=r"cannot write .*a\.txt: No space left on device; free some space"
            ):
                write_text(path, "other")
        assert path.read_bytes() == "één".encode()
        assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(EvidenceError, match="surrogates not allowed"):
        write_text(path, "\ud800")
    assert path.read_bytes() == "één".encode()


@pytest.mark.parametrize("make", [at_most, at_least])
def test_a_claim_is_about_the_source_unless_it_says_so(make):
    assert make("a", "", 1, 1).about == "paper" and make("a", "", 1, 1, about="own").about == "own"
    assert between("a", "", 1, 0, 2).about == mean_at_least("a", "", [1.0], 0).about == "paper"
    assert mean_at_most("a", "", [1.0], 0).about == "paper"


def test_a_bound_belongs_to_what_it_bounds():
    assert at_most("a", "", 1, 1).holds and at_least("a", "", 1, 1).holds
    assert (
        not at_most("a", "", math.nextafter(1, 2), 1).holds
        and not at_least("a", "", math.nextafter(1, 0), 1).holds
    )
    assert between("a", "", 1, 1, 2).holds and between("a", "", 2, 1, 2).holds
    assert not between("a", "", math.nextafter(1, 0), 1, 2).holds and not between("a", "", 2.5, 1, 2).holds
    assert mean_at_least("a", "", [2.0, 2.0], 2).holds and mean_at_most("a", "", [2.0, 2.0], 2).holds
    assert (at_most("a", "", 1, 1).relation, at_least("a", "", 1, 1).relation) == ("at most", "at least")
    assert between("a", "", 1, 0, 2).relation == "between" and between("a", "", 1, 0, 2).threshold == (
        0.0,
        2.0,
    )
    with pytest.raises(AttributeError):
        at_most("a", "", 1, 1).holds = False


@pytest.mark.parametrize(
    ("estimate", "stderr", "holds"),
    [(1, None, True), (1, 0.1, True), (1, 0.2, True), (1, 0.3, False), (3, 0.1, False), (3, None, False),
     (1, math.nan, False)],
)  # fmt: skip
def test_a_value_that_is_not_sharp_enough_lies_nowhere(estimate, stderr, holds):
    assert between("a", "", estimate, 0, 2, stderr=stderr, max_stderr=0.2).holds is holds


def test_the_mean_is_that_of_the_samples():
    assert mean([1.0, 2.0, 6.0]) == 3.0 and math.isnan(mean([]))


def test_cells_are_found_by_their_coordinates():
    rows = Measurements([Measurement({"x": x, "s": s}, {"v": 10 * x + s}) for x in (1, 2) for s in (3, 4)])
    assert rows.value("v", x=2, s=3) == 23 and rows.where(x=1).values("v") == [13, 14]
    assert len(rows) == 4 and rows[1].values == {"v": 14} and rows.coordinates("s") == [3, 4, 3, 4]
    with pytest.raises(KeyError, match="no cell has the coordinates"):
        rows.where(x=5)
    with pytest.raises(KeyError, match="no cell has the coordinates"):
        rows.where(y=1)
    with pytest.raises(KeyError, match="2 cells have the coordinates"):
        rows.value("v", x=1)
    assert math.isnan(Measurements([Measurement({"x": 1}, {"v": None})]).value("v", x=1))
