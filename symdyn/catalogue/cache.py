"""Verdicts are remembered under a hash of everything that was run to reach them."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.util
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from symdyn.catalogue.packages import packages_of_all_kinds
from symdyn.catalogue.restrictions import beside

LOG = logging.getLogger("symdyn")

NOT_RUN_BY_A_CHECK = (
    "render",
    "compile",
    "arrays",
    "certify",
    "cli",
    "__main__.py",
    "catalogue/auditing.py",
    "catalogue/citation.py",
    "catalogue/contents.py",
)


def folder() -> Path:
    """The cache folder: SYMDYN_CACHE, or symdyn below the user's cache."""
    base = os.environ.get("SYMDYN_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "symdyn"


def digest(files: Iterable[Path]) -> str:
    """A hash of the contents of some files."""
    h = hashlib.sha256()
    for file in sorted(files):
        h.update(
            os.fsencode(file.name) + b"\0" + (file.read_bytes() if file.is_file() else b"no file") + b"\0"
        )
    return h.hexdigest()


@functools.cache
def engine_digest() -> str:
    """A hash of the engine's own source and of the libraries a proof runs."""
    root = Path(__file__).parents[1]
    apart = [root / name for name in NOT_RUN_BY_A_CHECK]
    files = [f for f in root.rglob("*.py") if not {f, *f.parents} & {*apart}]
    named = root / "compile" / "named.py"
    libraries = (
        "".join(f"{name}{version(name)}" for name in ("sympy", "mpmath", "python-flint")) + sys.version
    )
    return hashlib.sha256((digest([*files, named]) + libraries).encode()).hexdigest()


@functools.cache
def module_digest(module: str) -> str:
    """A hash of the engine, and of a module with all that it imports of the packages that hold derivations."""
    files = {name: path for name in _reached(module) | {beside(module)} if (path := _file(name)) is not None}
    contents = "".join(f"{name}{digest([path])}" for name, path in sorted(files.items()))
    return hashlib.sha256((engine_digest() + contents).encode()).hexdigest()


def _reached(module: str) -> set[str]:
    """A module and the modules that it imports, wherever it does so, of the packages that lie beside its own."""
    own = {*(name.partition(".")[0] for name in packages_of_all_kinds()), module.partition(".")[0]} - {
        "symdyn"
    }
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            parents = [name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1)]
            imported = (n for n in _imported(name) if n.partition(".")[0] in own and _file(n) is not None)
            waiting += [*parents, *imported]
    return seen


@functools.cache
def _imported(module: str) -> frozenset[str]:
    """The names that a module imports, which may be modules or what they define."""
    path = _file(module)
    try:
        tree = ast.parse(path.read_bytes()) if path is not None else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):  # what cannot be read cannot be verified either
        return frozenset()
    package = module if path is not None and path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module or "") if part)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(found)


@functools.cache
def _file(module: str) -> Path | None:
    """The file of a module, found without importing anything; None for what is no module of Python source."""
    top, *below = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    roots = [Path(root) for root in spec.submodule_search_locations or ()]
    if not below and not roots:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    found = (root.joinpath(*below) for root in roots)
    files = (file for stem in found for file in (stem / "__init__.py", stem.with_suffix(".py")))
    return next((file for file in files if file.is_file()), None)


class Cache:
    """A JSON file per package: key → what was found, the stamp of what was run, and a checksum of both.

    What is read is believed only under the stamp of the code as it is now, and if its checksum says that it is what was
    written. A broken file is set aside and said so.
    """

    def __init__(self, package: str) -> None:
        self.file = folder() / f"{package}.json"
        self.entries: dict[str, Any] = {}
        self._read()

    def get(self, key: str, module: str) -> Any:
        """What is known of a key of the module, or None."""
        entry = self.entries.get(key)
        if not isinstance(entry, dict) or entry.get("stamp") != module_digest(module):
            return None
        if entry.get("checksum") != _checksum(key, entry["stamp"], entry.get("found")):
            LOG.warning("what the cache %s says of %s is not what was written; it is redone", self.file, key)
            return None
        return entry["found"]

    def put(self, key: str, module: str, found: Any) -> None:
        stamp = module_digest(module)
        self.entries[key] = {"stamp": stamp, "found": found, "checksum": _checksum(key, stamp, found)}

    def _read(self) -> None:
        try:
            data = json.loads(self.file.read_text(encoding="utf-8"))
            self.entries = dict(data["entries"])
        except OSError:
            return
        except (ValueError, KeyError, TypeError):
            aside = self.file.with_suffix(".broken")
            with contextlib.suppress(OSError):
                os.replace(self.file, aside)
            LOG.warning(
                "the cache %s was broken; it is now %s, and everything is redone", self.file, aside.name
            )

    def write(self) -> None:
        """Write atomically; a folder that cannot be written costs time at the next run and nothing else."""
        data = json.dumps({"entries": self.entries})
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", dir=self.file.parent, delete=False, encoding="utf-8"
            ) as draft:
                draft.write(data)
            os.replace(draft.name, self.file)
        except OSError as error:
            LOG.warning("verdicts could not be cached in %s: %s", self.file.parent, error.strerror)


def _checksum(key: str, stamp: str, found: Any) -> str:
    """A hash of an entry, whatever order its fields have been read in."""
    text = json.dumps([key, stamp, found], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
