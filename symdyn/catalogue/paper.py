"""The papers and the ledger of their results.

The ledger lists every equation, theorem, figure and experiment of a paper under a stable id, transcribed as
printed. It is data of the package that holds the derivations (`derivations/ledger/*.yaml`); it carries no
verdicts: those come from the registry, by calculation.
"""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from importlib import resources
from typing import Any

PAPERS = {
    "kunin2024": {
        "title": "Get rich quick: exact solutions reveal how unbalanced initializations promote rapid feature learning",
        "author": "Kunin, Daniel and Ravent{\\'o}s, Allan and Domin{\\'e}, Cl{\\'e}mentine and Chen, Feng and "
        "Klindt, David and Saxe, Andrew and Ganguli, Surya",
        "booktitle": "Advances in Neural Information Processing Systems",
        "volume": "37",
        "year": "2024",
        "kind": "inproceedings",
    },
    "braun2022": {
        "title": "Exact learning dynamics of deep linear networks with prior knowledge",
        "author": "Braun, Lukas and Domin{\\'e}, Cl{\\'e}mentine and Fitzgerald, James and Saxe, Andrew",
        "booktitle": "Advances in Neural Information Processing Systems",
        "volume": "35",
        "year": "2022",
        "kind": "inproceedings",
    },
    "naitsaada2023": {
        "title": "On the initialisation of wide low-rank feedforward neural networks",
        "author": "Nait Saada, Thiziri and Tanner, Jared",
        "year": "2023",
        "kind": "misc",
    },
    "pogodin2024": {
        "title": "Synaptic weight distributions depend on the geometry of plasticity",
        "author": "Pogodin, Roman and Cornford, Jonathan and Ghosh, Arna and Gidel, Gauthier and "
        "Lajoie, Guillaume and Richards, Blake",
        "booktitle": "International Conference on Learning Representations",
        "year": "2024",
        "kind": "inproceedings",
    },
    "liu2024": {
        "title": "How connectivity structure shapes rich and lazy learning in neural circuits",
        "author": "Liu, Yuhan Helena and Baratin, Aristide and Cornford, Jonathan and Mihalas, Stefan and "
        "Shea-Brown, Eric and Lajoie, Guillaume",
        "booktitle": "International Conference on Learning Representations",
        "year": "2024",
        "kind": "inproceedings",
    },
}


@dataclass(frozen=True)
class Paper:
    """A paper and its bibliographic record."""

    key: str

    def __post_init__(self) -> None:
        if self.key not in PAPERS:
            raise KeyError(f"unknown paper '{self.key}'; known are {', '.join(PAPERS)}")

    @property
    def title(self) -> str:
        return PAPERS[self.key]["title"]

    @property
    def year(self) -> str:
        return PAPERS[self.key]["year"]

    def bibtex(self, note: str = "") -> str:
        """The BibTeX record, with a note that says which results are meant."""
        record = dict(PAPERS[self.key])
        kind = record.pop("kind")
        fields = {**record, **({"note": note} if note else {})}
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@{kind}{{{self.key},\n{body}\n}}"


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


def _read(text: str) -> list[dict[str, Any]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, Loader=loader)  # type: ignore[no-any-return]


@functools.cache
def ledger(paper: str | None = None) -> dict[str, Entry]:
    """The entries of one paper, or of all, in the order of the ledger."""
    entries: dict[str, Entry] = {}
    for key in [paper] if paper else PAPERS:
        Paper(key)
        file = resources.files("derivations") / "ledger" / f"{key}.yaml"
        for row in _read(file.read_text(encoding="utf-8")):
            entries[row["id"]] = Entry(
                id=row["id"],
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


def entry(ledger_id: str) -> Entry:
    """One entry; an unknown id raises KeyError and names near ones."""
    prefix = ledger_id.split(".")[0]
    known = ledger(prefix) if prefix in PAPERS else ledger()
    if ledger_id not in known:
        near = difflib.get_close_matches(ledger_id, known, n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise KeyError(f"unknown ledger id '{ledger_id}'{hint}")
    return known[ledger_id]
