"""Finding results: by key, by ledger id, by topic.

Packages of derivations announce themselves through the entry-point group `symdyn.derivations` (name: topic,
value: package), packages of studies through `symdyn.studies`. The index is read from the source of their
modules, from the decorators @result, @printed and @study, without importing them.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symdyn.result import PrintedForm, Result

DECORATORS = ("result", "printed", "study")


class PackageError(LookupError):
    """An entry point names something other than an installed package of modules, or the modules of the packages do not
    agree on what their keys mean.
    """


@dataclass(frozen=True)
class IndexEntry:
    """What the source says of a result, a printed form or a study."""

    key: str
    topic: str
    ledger: tuple[str, ...]
    title: str
    module: str
    kind: str


def _packages(group: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for point in entry_points(group=group):
        first = found.setdefault(point.name, point.value)
        if first != point.value:
            raise PackageError(
                f"the entry point '{point.name}' of '{group}' names {first} and again {point.value}: give each package "
                "a name of its own"
            )
    if not found:
        raise PackageError(
            f"no package announces itself as '{group}': install symdyn-learning (pip install -e .)"
        )
    return found


def package_files(package: str) -> Iterator[tuple[str, Path]]:
    """The modules of a package and their files, found without importing it.

    Raises PackageError, which says why, for what is not the name of an installed package.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # a package above it is not there
        spec = None
    if spec is None:
        raise PackageError(f"the package '{package}' that an entry point names is not installed")
    if not spec.submodule_search_locations:
        raise PackageError(
            f"the entry point '{package}' names a module; name a package, the folder that holds the modules"
        )
    files: dict[str, Path] = {}
    for folder in spec.submodule_search_locations:
        # The first folder that has a module is the one that Python imports it from.
        for file in sorted(Path(folder).glob("*.py")):
            files.setdefault(package if file.stem == "__init__" else f"{package}.{file.stem}", file)
    yield from files.items()


@functools.cache
def index(kind: str = "result") -> tuple[IndexEntry, ...]:
    """Every result (or printed form, or study), from the source alone.

    Raises PackageError, which names the modules, where two of them have one key, be they results or printed forms.
    """
    if kind not in DECORATORS:
        raise ValueError(f"kind is one of {', '.join(DECORATORS)}, not '{kind}'")
    group = "symdyn.studies" if kind == "study" else "symdyn.derivations"
    found: dict[str, IndexEntry] = {}
    for topic, package in _packages(group).items():
        for module, file in package_files(package):
            for e in _scan(topic, module, file):
                if (e.kind == "study") != (kind == "study"):
                    continue
                if e.key in found:
                    raise PackageError(_defined_twice(found[e.key], e))
                found[e.key] = e
    return tuple(e for e in found.values() if e.kind == kind)


def _defined_twice(first: IndexEntry, second: IndexEntry) -> str:
    where = (
        f"twice in {first.module}"
        if first.module == second.module
        else f"in {first.module} and again in {second.module}"
    )
    return f"{first.key} is defined {where}; rename one of the two, since a key names one of them only"


def _scan(topic: str, module: str, file: Path) -> Iterator[IndexEntry]:
    source = file.read_text(encoding="utf-8")
    if not any(f"@{name}(" in source for name in DECORATORS):
        return
    try:
        body = ast.parse(source, filename=str(file)).body
    except SyntaxError as error:
        raise PackageError(f"{file}, line {error.lineno}, cannot be read: {error.msg}") from None
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in DECORATORS:
                ids = _ledger_ids(call, file)
                doc = (ast.get_docstring(node) or node.name).splitlines()[0].rstrip(".")
                key = ids[0] if call.func.id == "study" else f"{topic}.{node.name}"
                yield IndexEntry(key, topic, ids, doc, module, call.func.id)


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
    except (ValueError, TypeError):
        raise PackageError(f"{file}, line {call.lineno}: write ledger ids out as literals") from None
    if not ids and ast.unparse(call.func) == "study":
        raise PackageError(
            f"{file}, line {call.lineno}: a study needs a key, written out as its first argument"
        )
    return tuple(ids)


def results(topic: str | None = None) -> tuple[Result, ...]:
    """All results, or those of a topic, in the order of the source."""
    entries = [e for e in index() if topic is None or e.topic == topic]
    if not entries:
        raise KeyError(_unknown("topic", topic or "", {e.topic for e in index()}))
    return tuple(_load(e) for e in entries)


def printed_forms(topic: str | None = None) -> tuple[PrintedForm, ...]:
    """All printed forms, or those of a topic."""
    return tuple(load_printed(e) for e in index("printed") if topic is None or e.topic == topic)


def load_printed(e: IndexEntry) -> PrintedForm:
    """The printed form of a line of the index. Raises PackageError where its topic is not that of the entry point."""
    from symdyn.result import PRINTED

    importlib.import_module(e.module)
    if e.key not in PRINTED:
        raise PackageError(_of_another_topic(e, "rename the entry point or the folder"))
    return PRINTED[e.key]


def _load(e: IndexEntry) -> Result:
    from symdyn.result import REGISTERED

    importlib.import_module(e.module)
    if e.key not in REGISTERED:
        raise PackageError(
            _of_another_topic(e, f"write @result(topic='{e.topic}'), or rename the entry point")
        )
    return REGISTERED[e.key]


def _of_another_topic(e: IndexEntry, remedy: str) -> str:
    name = e.key.removeprefix(f"{e.topic}.")
    made = getattr(importlib.import_module(e.module), name, None)
    own = getattr(made, "key", "of another topic")
    return (
        f"'{name}' of {e.module} is {own}, but the entry point of its package names the topic '{e.topic}': {remedy}, "
        "so that both name one topic"
    )


def load(name: str) -> Result:
    """A result by its key (single_neuron.potential) or by a ledger id (kunin2024.phi-delta-potential).

    Raises KeyError, with near names, when there is none, and TypeError for a name that is no string.
    """
    if not isinstance(name, str):
        raise TypeError(f"name a result by its key or by a ledger id, not by {name!r}")
    by_key = {e.key: e for e in index()}
    if name in by_key:
        return _load(by_key[name])
    by_id: dict[str, IndexEntry] = {}
    for e in index():
        for ledger_id in e.ledger:
            by_id.setdefault(ledger_id, e)
    if name in by_id:
        return _load(by_id[name])
    raise KeyError(_unknown("result", name, set(by_key) | set(by_id)))


def _unknown(what: str, name: str, known: set[str]) -> str:
    tails = {k.split(".", 1)[-1]: k for k in known}
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    near += [tails[t] for t in difflib.get_close_matches(name.split(".", 1)[-1], tails, n=3, cutoff=0.5)]
    hint = f"; did you mean {', '.join(dict.fromkeys(near[:3]))}?" if near else "; `symdyn list` shows all"
    return f"unknown {what} '{name}'{hint}"


def verify_study(key: str) -> dict[str, Any]:
    """What a study's stored measurement shows, its claims computed anew by the package that holds the study.

    The package of an entry point `symdyn.studies` provides `verify_claims(key)`, which returns the fields status,
    grade, evidence (a sentence) and stale, and runs without the libraries that measured. Raises KeyError for an
    unknown study and RuntimeError where the package does not provide it.
    """
    found = next((e for e in index("study") if e.key == key), None)
    if found is None:
        raise KeyError(_unknown("study", key, {e.key for e in index("study")}))
    package = importlib.import_module(_packages("symdyn.studies")[found.topic])
    if not hasattr(package, "verify_claims"):
        raise RuntimeError(
            f"{package.__name__} does not tell what its studies show: write `from numerics.evidence import "
            "evidence_state, verify_claims` in its __init__.py"
        )
    return package.verify_claims(key)  # type: ignore[no-any-return]
