"""Ledgers of a user's own: a paper beside his derivations is audited, refuted, cited and printed as ours are."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from symdyn.catalogue.auditing import audit, errata
from symdyn.catalogue.paper import LedgerError, Paper, broken_ledgers, entry, ledger, papers
from symdyn.catalogue.registry import PRINTED, REGISTERED, _scanned, index, load
from symdyn.render.chapters import chapters

PAPERS = """
smith2025:
  title: Sums of squares
  author: Smith, Ada
  year: '2025'
  kind: article
"""
ENTRIES = """
- id: smith2025.square
  topic: sums
  where: Sec. 1, Eq. 1
  kind: identity
  statement: '(x+1)^2 = x^2 + x + 1'
- id: smith2025.cube
  topic: sums
  where: Sec. 2
  kind: identity
  statement: '(x+1)^3'
"""
MODULE = '''
import sympy as sp
from symdyn import Identity, printed, result

x = sp.Symbol("x", real=True)


@result(ledger=("smith2025.square",))
def square():
    """The square of a sum."""
    return Identity((x + 1) ** 2, x**2 + 2 * x + 1)


@printed("smith2025.square", quote="(x+1)^2 = x^2 + x + 1", severity="typo")
def printed_square():
    """As printed, without the factor."""
    return Identity((x + 1) ** 2, x**2 + x + 1)
'''


@pytest.fixture
def sums(tmp_path, monkeypatch):
    """A package of derivations with a ledger beside its topic; returns the folder of the ledger."""
    monkeypatch.setenv("SYMDYN_CACHE", str(tmp_path / "cache"))
    package = tmp_path / "of_smith" / "sums"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "squares.py").write_text(MODULE)
    folder = package.parent / "ledger"
    folder.mkdir()
    (folder / "papers.yaml").write_text(PAPERS)
    (folder / "smith2025.yaml").write_text(ENTRIES)
    metadata = tmp_path / "of_smith-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: of_smith\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[symdyn.derivations]\nsums = of_smith.sums\n")
    monkeypatch.syspath_prepend(tmp_path)
    index.cache_clear()
    _scanned.cache_clear()
    yield folder
    index.cache_clear()
    _scanned.cache_clear()
    for known in (REGISTERED, PRINTED):
        for key in [key for key in known if key.startswith("sums.")]:
            del known[key]
    for name in [name for name in sys.modules if name.split(".")[0] == "of_smith"]:
        del sys.modules[name]


def test_the_paper_of_a_user_is_a_paper_like_any(sums):
    assert list(papers())[:2] == ["kunin2024", "braun2022"] and "smith2025" in papers()
    assert list(ledger("smith2025")) == ["smith2025.square", "smith2025.cube"]
    assert entry("smith2025.cube").where == "Sec. 2"
    assert Paper("smith2025").bibtex().startswith("@article{smith2025,\n  title = {Sums of squares}")
    assert "Smith, Ada" in load("sums.square").bibtex()
    assert len(ledger()) == len(ledger("smith2025")) + sum(
        len(ledger(p)) for p in papers() if p != "smith2025"
    )
    assert broken_ledgers() == ()


def test_it_is_audited_and_what_it_prints_wrong_is_an_erratum(sums):
    square, cube = audit(paper="smith2025", processes=1)
    assert (square.status, square.severity, square.grade) == ("erratum", "typo", "proved")
    assert square.corrected
    assert cube.status == "open"
    assert [e.id for e in errata(topic="sums")] == ["smith2025.square"]


def test_it_has_a_chapter_in_the_book_and_so_has_a_topic_without_a_ledger(sums, monkeypatch):
    keep = [e for e in index() if e.topic == "sums"]
    monkeypatch.setattr("symdyn.render.chapters.index", lambda: tuple(keep))
    (chapter,) = chapters()
    assert (chapter.title, [p.key for p in chapter.papers]) == ("Sums", ["smith2025"])
    assert [s.entry.id for s in chapter.sections] == ["smith2025.square", "smith2025.cube"]
    assert [d.key for d in chapter.derived] == ["sums.square"]
    monkeypatch.setattr("symdyn.render.chapters.ledger", dict)
    (chapter,) = chapters()
    assert (chapter.sections, [d.key for d in chapter.derived]) == ((), ["sums.square"])


BROKEN = {
    "papers are no mapping": ("papers.yaml", "- smith2025", "lists no papers"),
    "a record without a year": (
        "papers.yaml",
        "smith2025: {title: t, kind: misc}",
        "needs title, year and kind",
    ),
    "a record that is a text": ("papers.yaml", "smith2025: text", "needs title, year and kind"),
    "a name with a dot": ("papers.yaml", "a.b: {title: t, year: '1', kind: misc}", "a name without dots"),
    "papers are no YAML": ("papers.yaml", "smith2025: [", "cannot be read"),
    "papers are no text": ("papers.yaml", b"\xff\xfe\x00", "cannot be read"),
    "a paper that another ledger has": (
        "papers.yaml",
        "kunin2024: {title: t, year: '1', kind: misc}",
        "has a ledger in",
    ),
    "entries are no list": ("smith2025.yaml", "a: 1", "is no list of entries"),
    "an entry that is a text": (
        "smith2025.yaml",
        "- text",
        "entry 1 needs id, topic, where, kind, statement",
    ),
    "an entry without a statement": (
        "smith2025.yaml",
        "- {id: smith2025.a, topic: t, where: w, kind: k}",
        "entry 1 needs statement",
    ),
    "an id of another paper": (
        "smith2025.yaml",
        ENTRIES.replace("smith2025.cube", "smith.cube"),
        "does not begin",
    ),
    "an id twice": (
        "smith2025.yaml",
        ENTRIES.replace("smith2025.cube", "smith2025.square"),
        "is there twice",
    ),
    "entries are no YAML": ("smith2025.yaml", "- {", "cannot be read"),
    "no entries": ("smith2025.yaml", None, "cannot be read"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_ledger_that_cannot_be_read_is_named_and_the_others_stand(sums, kind):
    file, text, reason = BROKEN[kind]
    path = sums / file
    if text is None:
        path.unlink()
    elif isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text)
    from symdyn.catalogue import paper

    paper._papers_on.cache_clear()
    paper._entries.cache_clear()
    paper._all_entries.cache_clear()
    ((place, why),) = broken_ledgers()
    assert place.endswith(file) and reason in why
    assert Counter(name.partition(".")[0] for name in ledger()) == Counter(
        {name: len(ledger(name)) for name in papers() if name != "smith2025"}
    )
    if file == "smith2025.yaml":
        with pytest.raises(LedgerError, match=r"smith2025\.yaml"):
            ledger("smith2025")


def test_an_unknown_paper_is_refused_with_those_that_are_known():
    with pytest.raises(KeyError, match="known are kunin2024, braun2022"):
        ledger("smith2025")
