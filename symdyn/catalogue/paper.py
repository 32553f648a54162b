"""The papers and the ledger of their results.

The ledger lists every equation, theorem, figure and experiment of a paper under a stable id, transcribed as
printed. It is data of the package that holds the derivations: a folder `ledger` in the package of a topic, or beside
it, with `papers.yaml` (the BibTeX record of each paper) and a file for each paper
(`derivations/ledger/kunin2024.yaml`). It carries no verdicts: those come from the registry, by calculation.
"""

from __future__ import annotations

import difflib
import functools
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symdyn.catalogue.packages import DERIVATIONS, PackageError, packages

PAPERS_FILE = "papers.yaml"
FIELDS = ("id", "topic", "where", "kind", "statement")
"""What each entry says; assumptions, depends_on, check and claim may be there."""


class LedgerError(PackageError):
    """A ledger of a package cannot be read, or claims what another one has."""


@dataclass(frozen=True)
class Paper:
    """A paper and its bibliographic record."""

    key: str

    def __post_init__(self) -> None:
        if self.key not in papers():
            raise KeyError(f"unknown paper '{self.key}'; known are {', '.join(papers())}")

    @property
    def title(self) -> str:
        return papers()[self.key]["title"]

    @property
    def year(self) -> str:
        return papers()[self.key]["year"]

    def bibtex(self, note: str = "") -> str:
        """The BibTeX record, with a note that says which results are meant."""
        record = {name: value for name, value in papers()[self.key].items() if name != "kind"}
        fields = {**record, **({"note": note} if note else {})}
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@{papers()[self.key]['kind']}{{{self.key},\n{body}\n}}"


@dataclass(frozen=True)
class Entry:
    """One entry of the ledger, as transcribed."""

    id: str
    topic: str
    where: str
    kind: str
    statement: str
    assumptions: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    check: str = ""
    claim: str = ""

    @property
    def paper(self) -> Paper:
        return Paper(self.id.split(".")[0])

    @property
    def title(self) -> str:
        """The id in words."""
        return self.id.split(".", 1)[1].replace("-", " ")


def papers() -> dict[str, dict[str, str]]:
    """The bibliographic records of all papers, by their names, those of symdyn's own ledger first."""
    return {name: dict(record) for name, (record, _) in _papers_on(tuple(sys.path))[0].items()}


def broken_ledgers() -> tuple[tuple[str, str], ...]:
    """The ledgers, or files of them, that are left out: where they are, and why."""
    path = tuple(sys.path)
    found = list(_papers_on(path)[1])
    for name, (_, folder) in _papers_on(path)[0].items():
        try:
            _entries(name, folder)
        except LedgerError as error:
            found.append((str(folder / f"{name}.yaml"), str(error)))
    return tuple(found)


@functools.lru_cache(maxsize=8)
def _papers_on(
    path: tuple[str, ...],
) -> tuple[dict[str, tuple[dict[str, str], Path]], tuple[tuple[str, str], ...]]:
    """Each paper with its record and the folder of its ledger, and what cannot be read."""
    found: dict[str, tuple[dict[str, str], Path]] = {}
    wrong: list[tuple[str, str]] = []
    for folder in _folders():
        try:
            for name, record in _records(folder).items():
                if name in found:
                    raise LedgerError(
                        f"the paper '{name}' has a ledger in {found[name][1]} and another in {folder}: "
                        "rename one of the two"
                    )
                found[name] = (record, folder)
        except LedgerError as error:
            wrong.append((str(folder / PAPERS_FILE), str(error)))
    return found, tuple(wrong)


def _folders() -> list[Path]:
    """The folders `ledger` in the packages of topics, and beside them; symdyn's own first."""
    own: dict[Path, None] = {}
    for package in packages(DERIVATIONS).values():
        for name in (package.rpartition(".")[0], package):
            try:
                spec = importlib.util.find_spec(name) if name else None
            except (Exception, SystemExit):  # a package that cannot be imported is told by the index
                continue
            for place in (spec.submodule_search_locations or ()) if spec is not None else ():
                folder = Path(place) / "ledger"
                if (folder / PAPERS_FILE).is_file():
                    own[folder] = None
    return sorted(own, key=lambda folder: folder.parent.name != "derivations")


def _records(folder: Path) -> dict[str, dict[str, str]]:
    file = folder / PAPERS_FILE
    read = _read(file)
    if not isinstance(read, dict):
        raise LedgerError(
            f"{file} lists no papers: write 'name:' and below it the fields of its BibTeX record"
        )
    for name, record in read.items():
        missing = {"title", "year", "kind"} - set(record if isinstance(record, dict) else ())
        if missing or not isinstance(name, str) or "." in name:
            raise LedgerError(
                f"{file}: the record of '{name}' needs title, year and kind (article, misc, …), and a name without dots"
            )
    return {name: {key: str(value) for key, value in record.items()} for name, record in read.items()}


def _read(file: Path) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise LedgerError(f"{file} cannot be read: {' '.join(str(error).split())}") from None


@functools.lru_cache(maxsize=64)
def _entries(paper: str, folder: Path) -> dict[str, Entry]:
    """The entries of a paper. Raises LedgerError, which names the entry, for what is no ledger."""
    file = folder / f"{paper}.yaml"
    rows = _read(file)
    if not isinstance(rows, list):
        raise LedgerError(f"{file} is no list of entries, each with {', '.join(FIELDS)}")
    entries: dict[str, Entry] = {}
    for number, row in enumerate(rows, start=1):
        missing = [name for name in FIELDS if not (isinstance(row, dict) and isinstance(row.get(name), str))]
        if missing:
            raise LedgerError(f"{file}: entry {number} needs {', '.join(missing)}, each a text")
        name = row["id"]
        if not name.startswith(f"{paper}.") or name in entries:
            why = "is there twice" if name in entries else f"does not begin with '{paper}.'"
            raise LedgerError(f"{file}: the id '{name}' {why}")
        entries[name] = Entry(
            id=name,
            topic=row["topic"],
            where=row["where"],
            kind=row["kind"],
            statement=row["statement"],
            assumptions=tuple(map(str, row.get("assumptions") or ())),
            depends_on=tuple(row.get("depends_on") or ()),
            check=str(row.get("check") or ""),
            claim=str(row.get("claim") or ""),
        )
    return entries


def ledger(paper: str | None = None) -> dict[str, Entry]:
    """The entries of one paper, or of all, in the order of the ledger.

    What cannot be read of all is left out, and named by ``broken_ledgers``. Raises KeyError for an unknown paper, and
    LedgerError where the ledger of the one that is asked for cannot be read.
    """
    path = tuple(sys.path)
    if paper is not None:
        return dict(_entries(paper, _papers_on(path)[0][Paper(paper).key][1]))
    return dict(_all_entries(path))


@functools.lru_cache(maxsize=8)
def _all_entries(path: tuple[str, ...]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for name, (_, folder) in _papers_on(path)[0].items():
        try:
            found |= _entries(name, folder)
        except LedgerError:  # told by broken_ledgers
            continue
    return found


def entry(ledger_id: str) -> Entry:
    """One entry; an unknown id raises KeyError and names near ones."""
    prefix = ledger_id.split(".")[0]
    known = ledger(prefix) if prefix in papers() else ledger()
    if ledger_id not in known:
        near = difflib.get_close_matches(ledger_id, known, n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise KeyError(f"unknown ledger id '{ledger_id}'{hint}")
    return known[ledger_id]
