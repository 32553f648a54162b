"""Finding results: by key, by ledger id, by topic.

Packages of derivations announce themselves through the entry-point group `symdyn.derivations` (name: topic,
value: package), packages of studies through `symdyn.studies`. The index is read from the source of their
modules, from the decorators @result, @printed and @study, without importing them. What cannot be read, or means two
things, is left out of the index and named by ``broken``: a package of one user does not stand in the way of the others.
"""

from __future__ import annotations

import ast
import difflib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symdyn.catalogue.packages import (
    DERIVATIONS,
    STUDIES,
    PackageError,
    announced,
    declarations,
    imported,
    naming,
    package_files,
    packages,
)

if TYPE_CHECKING:
    from symdyn.catalogue.result import PrintedForm, Result

DECORATORS = ("result", "printed", "study")
REGISTERED: dict[str, Result] = {}
"""The results whose modules are imported, by key; `@result` registers them."""
PRINTED: dict[str, PrintedForm] = {}
"""The printed forms whose modules are imported, by key; `@printed` registers them."""


@dataclass(frozen=True)
class IndexEntry:
    """What the source says of a result, a printed form or a study; of this also which results it confronts."""

    key: str
    topic: str
    ledger: tuple[str, ...]
    title: str
    module: str
    kind: str
    confronts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Broken:
    """A package, a module or a key that the index leaves out, and why, with what to do."""

    name: str
    topic: str
    reason: str


def _sharing_a_name(group: str) -> Iterator[Broken]:
    kept = packages(group)
    for point in entry_points(group=group):
        first = kept.get(point.name) or announced(group)[point.name][0].value
        if point.value != first:
            yield Broken(
                point.value,
                point.name,
                f"the entry point '{point.name}' of '{group}' names {first} and again {point.value}: give each package "
                "a name of its own",
            )


@functools.cache
def index(kind: str = "result") -> tuple[IndexEntry, ...]:
    """Every result (or printed form, or study), from the source alone; what is left out is told by ``broken``.

    A key that is defined twice, as a result or a printed form, is left out.
    """
    if kind not in DECORATORS:
        raise ValueError(f"kind is one of {', '.join(DECORATORS)}, not '{kind}'")
    found: dict[str, list[IndexEntry]] = {}
    left_out = list(_sharing_a_name(_group(kind)))
    for topic, package in packages(_group(kind)).items():
        entries, unread = _scanned(topic, package)
        left_out.extend(unread)
        for e in entries:
            if (e.kind == "study") == (kind == "study"):
                found.setdefault(e.key, []).append(e)
    for key, (first, *others) in found.items():
        left_out.extend(Broken(key, first.topic, _defined_twice(first, other)) for other in others[:1])
    _LEFT_OUT[kind] = tuple(left_out)
    return tuple(e for e, *others in found.values() if not others and e.kind == kind)


def _group(kind: str) -> str:
    return STUDIES if kind == "study" else DERIVATIONS


@functools.cache
def _scanned(topic: str, package: str) -> tuple[tuple[IndexEntry, ...], tuple[Broken, ...]]:
    """What the decorators in the source of a package declare, and what of it cannot be read."""
    try:
        files = list(package_files(package))
    except PackageError as error:
        return (), (Broken(package, topic, str(error)),)
    entries: list[IndexEntry] = []
    unread: list[Broken] = []
    for module, file in files:
        try:
            entries.extend(list(_scan(topic, module, file)))
        except PackageError as error:
            unread.append(Broken(module, topic, str(error)))
    return tuple(entries), tuple(unread)


def named(name: str) -> tuple[IndexEntry, ...]:
    """The results that a key or a ledger id names; a key is looked up in the source of its own topic alone."""
    topic = name.partition(".")[0]
    package = packages(_group("result")).get(topic)
    if package is not None:
        found = [e for e in _scanned(topic, package)[0] if e.key == name and e.kind != "study"]
        if len(found) == 1 and found[0].kind == "result":
            return tuple(found)
    return tuple(e for e in index() if name == e.key) or tuple(e for e in index() if name in e.ledger)


_LEFT_OUT: dict[str, tuple[Broken, ...]] = {}


def broken(kind: str = "result", topic: str | None = None) -> tuple[Broken, ...]:
    """What the index of a kind leaves out (of one topic), and why."""
    index(kind)
    return tuple(b for b in _LEFT_OUT[kind] if topic in (None, b.topic))


def _defined_twice(first: IndexEntry, second: IndexEntry) -> str:
    where = (
        f"twice in {first.module}"
        if first.module == second.module
        else f"in {first.module} and again in {second.module}"
    )
    return f"{first.key} is defined {where}; rename one of the two, since a key names one of them only"


def _scan(topic: str, module: str, file: Path) -> Iterator[IndexEntry]:
    for node in declarations(file, tuple(f"@{name}(" for name in DECORATORS)):
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in DECORATORS:
                ids = _ledger_ids(call, file)
                doc = ((ast.get_docstring(node) or "").strip() or node.name).splitlines()[0].rstrip(".")
                key = ids[0] if call.func.id == "study" else f"{topic}.{node.name}"
                title = _literal(call, "title") if call.func.id == "study" else doc
                confronted = _literal(call, "confronts") or ()
                yield IndexEntry(key, topic, ids, title or doc, module, call.func.id, tuple(confronted))


def _literal(call: ast.Call, keyword: str) -> Any:
    """The value of a keyword of a decorator that is written out, or None."""
    for given in call.keywords:
        if given.arg == keyword:
            try:
                return ast.literal_eval(given.value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                return None
    return None


def confronted_by(key: str) -> tuple[IndexEntry, ...]:
    """The studies that confront a result with trained networks. As long as nothing was indexed, only files are parsed
    that name the key.
    """
    if index.cache_info().currsize:
        return tuple(e for e in index("study") if key in e.confronts)
    found = []
    for topic, module, file in naming(STUDIES, key):
        try:
            found += [e for e in _scan(topic, module, file) if e.kind == "study" and key in e.confronts]
        except PackageError:  # told by the index
            continue
    return tuple(found)


def _ledger_ids(call: ast.Call, file: Path) -> tuple[str, ...]:
    """The ledger ids a decorator names: its first argument, or the keyword `ledger`.

    Raises PackageError, which names the line, for what is not a text or a list of texts.
    """
    nodes = call.args[:1] + [k.value for k in call.keywords if k.arg == "ledger"]
    ids: list[str] = []
    try:
        for node in nodes:
            value = ast.literal_eval(node)
            ids.extend([value] if isinstance(value, str) else value)
        if not all(isinstance(name, str) for name in ids):
            raise TypeError
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise PackageError(f"{file}, line {call.lineno}: write ledger ids out as literals") from None
    if not ids and ast.unparse(call.func) == "study":
        raise PackageError(
            f"{file}, line {call.lineno}: a study needs a key, written out as its first argument"
        )
    return tuple(ids)


def results(topic: str | None = None) -> tuple[Result, ...]:
    """All results, or those of a topic, in the order of the source.

    Raises KeyError for an unknown topic, and PackageError, which names them, where some of them cannot be read.
    """
    _refuse_without(topic)
    entries = [e for e in index() if topic is None or e.topic == topic]
    if not entries:
        raise KeyError(_unknown("topic", topic or "", {e.topic for e in index()}))
    return tuple(_load(e) for e in entries)


def printed_forms(topic: str | None = None) -> tuple[PrintedForm, ...]:
    """All printed forms, or those of a topic. Raises PackageError as ``results``."""
    _refuse_without(topic)
    return tuple(load_printed(e) for e in index("printed") if topic is None or e.topic == topic)


def _refuse_without(topic: str | None) -> None:
    if found := broken(topic=topic):
        others = "" if topic else "; name a topic to have those of the others, as in results('single_neuron')"
        raise PackageError("; ".join(b.reason for b in found) + others)


def load_printed(e: IndexEntry) -> PrintedForm:
    """The printed form of a line of the index. Raises PackageError where its topic is not that of the entry point."""
    imported(e.module)
    if e.key not in PRINTED:
        raise PackageError(_of_another_topic(e, "rename the entry point or the folder"))
    return PRINTED[e.key]


def _load(e: IndexEntry) -> Result:
    imported(e.module)
    if e.key not in REGISTERED:
        raise PackageError(
            _of_another_topic(e, f"write @result(topic='{e.topic}'), or rename the entry point")
        )
    return REGISTERED[e.key]


def _of_another_topic(e: IndexEntry, remedy: str) -> str:
    name = e.key.removeprefix(f"{e.topic}.")
    made = getattr(imported(e.module), name, None)
    own = getattr(made, "key", "of another topic")
    return (
        f"'{name}' of {e.module} is {own}, but the entry point of its package names the topic '{e.topic}': {remedy}, "
        "so that both name one topic"
    )


def load(name: str) -> Result:
    """A result by its key (single_neuron.potential) or by a ledger id (kunin2024.phi-delta-potential).

    Raises KeyError, with near names, when there is none, TypeError for a name that is no string, and PackageError,
    which says why, for one that the index leaves out or whose module cannot be imported.
    """
    if not isinstance(name, str):
        raise TypeError(f"name a result by its key or by a ledger id, not by {name!r}")
    if found := named(name):
        return _load(found[0])
    raise _missing("result", name, {e.key for e in index()} | {i for e in index() for i in e.ledger})


def _missing(what: str, name: str, known: set[str]) -> LookupError:
    """PackageError where what is left out may have the name, KeyError otherwise; both say what is left out."""
    left_out = broken("study" if what == "study" else "result")
    near = [b.reason for b in left_out if name == b.name or name.partition(".")[0] == b.topic]
    if near:
        return PackageError("; ".join(near))
    return KeyError("; ".join([_unknown(what, name, known), *(b.reason for b in left_out)]))


def _unknown(what: str, name: str, known: set[str]) -> str:
    return f"unknown {what} '{name}'{nearest(name, known)}"


def nearest(name: str, known: set[str]) -> str:
    """The keys that come closest to a name, as the end of a sentence that says that there is none."""
    tails = {k.split(".", 1)[-1]: k for k in known}
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    near += [tails[t] for t in difflib.get_close_matches(name.split(".", 1)[-1], tails, n=3, cutoff=0.5)]
    return f"; did you mean {', '.join(dict.fromkeys(near[:3]))}?" if near else "; `symdyn list` shows all"


def verify_study(key: str) -> dict[str, Any]:
    """What a study's stored measurement shows, its claims computed anew by the package that holds the study.

    The package of an entry point `symdyn.studies` provides `verify_claims(key)`, which returns the fields status,
    grade, evidence (a sentence) and stale, and runs without the libraries that measured. Raises KeyError for an
    unknown study and RuntimeError where the package does not provide it.
    """
    found = next((e for e in index("study") if e.key == key), None)
    if found is None:
        raise _missing("study", key, {e.key for e in index("study")})
    package = imported(packages(STUDIES)[found.topic])
    if not hasattr(package, "verify_claims"):
        raise RuntimeError(
            f"{package.__name__} does not tell what its studies show: write `from numerics.lab.evidence import "
            "evidence_state, verify_claims` in its __init__.py"
        )
    return package.verify_claims(key)  # type: ignore[no-any-return]
