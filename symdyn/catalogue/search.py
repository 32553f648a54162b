"""Search: what says something of some words, best first.

Looks through the keys, titles and docstrings of results, printed forms and studies, the functions that compute
results, the modules by their first line, and the statements of the ledger; nothing is imported for it. A hit holds
every word, at the beginning of one of its words, whatever the case, the accents and the hyphens; it ranks by where the
words stand: in the name, in the title, in the rest.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from symdyn.catalogue.implements import ties
from symdyn.catalogue.packages import DERIVATIONS, STUDIES, PackageError, package_files, packages
from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import DECORATORS, index

MOST = 30
"""So many hits at most."""
NAME, TITLE, TEXT = 9, 4, 1
"""What a word counts in the name, in the title, and in the rest."""
KINDS = {"result": 3, "function": 3, "study": 2, "module": 2, "ledger": 1, "printed": 0}
"""What a kind counts among equals."""


@dataclass(frozen=True)
class Hit:
    """What was found: its name, its kind, what it says in a line, and where it stands."""

    name: str
    kind: str
    title: str
    place: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def found(words: str) -> list[Hit]:
    """The hits for some words, best first. Raises ValueError where there is no word."""
    wanted = _words(words)
    if not wanted:
        raise ValueError("search for a word, as in: symdyn search implicit bias")
    ranked = []
    for hit, text in _everything():
        score = _score(wanted, hit, text)
        if score:
            ranked.append((-score, -KINDS[hit.kind], hit.name, hit))
    return [hit for *_, hit in sorted(ranked, key=lambda row: row[:3])[:MOST]]


@lru_cache(maxsize=20_000)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text without case and accents; of a name in its parts."""
    spread = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    bare = "".join(c for c in unicodedata.normalize("NFKD", spread) if not unicodedata.combining(c))
    return tuple(re.findall(r"[^\W_]+", bare.lower()))


def _score(wanted: tuple[str, ...], hit: Hit, text: str) -> int:
    """How well a hit answers: nothing where a word stands nowhere in it."""
    score = 0
    places = [(NAME, _words(hit.name)), (TITLE, _words(hit.title)), (TEXT, _words(text))]
    for word in wanted:
        here = [
            weight + (weight if word in held else 0)
            for weight, held in places
            if any(w.startswith(word) for w in held)
        ]
        if not here:
            return 0
        score += sum(here)
    return score


def _everything() -> Iterator[tuple[Hit, str]]:
    docs: dict[str, str] = {}
    for group in (DERIVATIONS, STUDIES):
        for package in packages(group).values():
            for module, file in _files(package):
                said = _docstrings(file)
                docs.update({f"{module}.{name}": text for name, text in said.items() if name})
                if first := said.get(""):
                    yield (
                        Hit(module, "module", first.splitlines()[0].rstrip("."), _place(module, file)),
                        first,
                    )
    for kind in DECORATORS:
        for e in index(kind):
            name = e.key.partition(".")[2]
            text = " ".join((docs.get(f"{e.module}.{name}", ""), *e.ledger, *e.confronts))
            yield Hit(e.key, kind, e.title, e.module), text
    for tie in ties():
        text = docs.get(f"{tie.module}.{tie.name}", "")
        yield Hit(tie.place, "function", (text or tie.name).splitlines()[0].rstrip("."), tie.module), text
    for entry in ledger().values():
        yield Hit(entry.id, "ledger", entry.where, entry.topic), f"{entry.statement} {entry.topic}"


def _place(module: str, file: Path) -> str:
    """The file of a module as it lies in its distribution."""
    return "/".join(file.parts[-module.count(".") - (2 if file.stem == "__init__" else 1) :])


def _files(package: str) -> list[tuple[str, Path]]:
    try:
        return list(package_files(package))
    except PackageError:
        return []


def _docstrings(file: Path) -> dict[str, str]:
    """The docstring of a module under the empty name, and those of what it defines."""
    try:
        return _written(file, file.stat().st_mtime_ns)
    except OSError:
        return {}


@cache
def _written(file: Path, changed: int) -> dict[str, str]:
    """The docstrings of a file as it was at that time."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    nodes = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    said = {node.name: ast.get_docstring(node) or "" for node in nodes}
    return {"": ast.get_docstring(tree) or "", **said}
