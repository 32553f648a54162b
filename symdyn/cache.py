"""Verdicts are remembered under a hash of everything that was run to reach them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

LOG = logging.getLogger("symdyn")

NOT_RUN_BY_A_CHECK = ("render", "compile", "cli.py", "__main__.py", "auditing.py", "citation.py")


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
    root = Path(__file__).parent
    files = [
        f
        for f in root.rglob("*.py")
        if f.relative_to(root).parts[0] not in NOT_RUN_BY_A_CHECK and "__pycache__" not in f.parts
    ]
    named = root / "compile" / "named.py"
    libraries = "".join(f"{name}{version(name)}" for name in ("sympy", "mpmath")) + sys.version
    return hashlib.sha256((digest([*files, named]) + libraries).encode()).hexdigest()


@functools.cache
def package_digest(package: str) -> str:
    """A hash of a package of derivations and of the engine."""
    from symdyn.registry import package_files

    files = [file for _, file in package_files(package)]
    return hashlib.sha256((engine_digest() + digest(files)).encode()).hexdigest()


class Cache:
    """A JSON file per package: key → what was found. A broken file is set aside and said so."""

    def __init__(self, package: str) -> None:
        self.stamp = package_digest(package)
        self.file = folder() / f"{package}.json"
        self.entries: dict[str, Any] = {}
        self._read()

    def _read(self) -> None:
        try:
            data = json.loads(self.file.read_text(encoding="utf-8"))
            if data["stamp"] == self.stamp:
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
        data = json.dumps({"stamp": self.stamp, "entries": self.entries})
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", dir=self.file.parent, delete=False, encoding="utf-8"
            ) as draft:
                draft.write(data)
            os.replace(draft.name, self.file)
        except OSError as error:
            LOG.warning("verdicts could not be cached in %s: %s", self.file.parent, error.strerror)
