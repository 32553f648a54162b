"""What names stand for in packages as they lie on disk: the definition, wherever an import or a package that finds its
names when they are asked for has it from.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numerics.lab.definitions import Import, Key, Module, Named, Said, read
from numerics.lab.study import StudyError

# What lists, stores, prints or judges results without touching the numbers: a change there leaves them valid.
KEEPING = {
    "numerics.lab": (
        "study", "runs", "provenance", "store", "sweep", "checkpoint", "claims", "evidence", "figures", "reproduction",
        "fingerprint", "definitions", "names",
    ),
    "symdyn.catalogue": ("auditing", "citation", "contents", "implements", "packages", "search", "paper", "registry"),
    "symdyn": ("cli", "render"),
}  # fmt: skip
BOOKKEEPING = tuple(f"{package}.{name}" for package, names in KEEPING.items() for name in names)


@functools.lru_cache(maxsize=4)
def packages_now(followed: frozenset[str], state: tuple[Any, ...]) -> Packages:
    """The packages in a ``state`` of their files (``state_of``); what was read of them is kept until one changes."""
    return Packages(followed)


def state_of(followed: frozenset[str]) -> tuple[Any, ...]:
    """The sources of packages with their sizes and the times of their last changes."""
    found = []
    for top in sorted(followed):
        path = file_of(top)
        files = [path] if path is not None else []
        if path is not None and path.name == "__init__.py":
            files = [file for kind in ("*.py", "*.c") for file in sorted(path.parent.rglob(kind))]
        for file in files:
            status = file.stat()
            found.append((str(file), status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


@dataclass
class Packages:
    """The packages whose definitions are followed, what was found in them, and what their definitions say."""

    followed: frozenset[str]
    said: dict[Key, Said] = field(default_factory=dict)
    files: dict[str, Path | None] = field(default_factory=dict)
    read: dict[str, Module | None] = field(default_factory=dict)

    def follows(self, module: str) -> bool:
        return module.split(".")[0] in self.followed

    def is_kept(self, module: str) -> bool:
        """Whether a module only keeps or judges what others make."""
        return any(module == name or module.startswith(f"{name}.") for name in BOOKKEEPING)

    def file(self, module: str) -> Path | None:
        """The file of a module; None for what is none."""
        if module not in self.files:
            self.files[module] = file_of(module)
        return self.files[module]

    def native(self, module: str) -> Path | None:
        """The C source beside a module, if there is one."""
        path = self.file(module)
        native = path.with_suffix(".c") if path else None
        return native if native is not None and native.is_file() else None

    def module(self, name: str) -> Module | None:
        """The definitions of a module of the packages that are followed; None for what is none. Raises StudyError for a
        file that cannot be read.
        """
        if name not in self.read:
            self.read[name] = self._module(name)
        return self.read[name]

    def _module(self, name: str) -> Module | None:
        path = self.file(name) if self.follows(name) else None
        if path is None:
            return None
        try:
            return read(name, path.name == "__init__.py", path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, OSError) as error:
            raise StudyError(
                f"{path} cannot be read ({error}), so nobody could say which code makes the results"
            ) from None

    def modules(self, package: str) -> list[str]:
        """The modules of a package, at any depth, and the package itself."""
        path = self.file(package)
        if path is None or path.name != "__init__.py":
            return [package]
        inside = []
        for file in sorted(path.parent.rglob("*.py")):
            parts = file.relative_to(path.parent).with_suffix("").parts
            name = ".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])
            if self.file(name) == file:
                inside.append(name)
        return inside

    def has(self, home: str, name: str) -> bool:
        """Whether a module that is followed binds a name at its top level, or has it from everything in another."""
        found = self.module(home)
        if found is None:
            return False
        return (
            name in found.statements or name in found.imports or any(self.has(s, name) for s in found.stars)
        )

    def all_of(self, home: str) -> list[Key]:
        """Every definition of a module."""
        found = self.module(home)
        if found is None or self.is_kept(home):
            return []
        return [(home, name) for name in found.statements]

    def find(self, module: Module, imported: Import | None, parts: Sequence[str]) -> tuple[Named, int]:
        """What a chain of names stands for that begins with an import in a function, or at the top of the module, and
        how many of its names that takes.
        """
        if imported is None:
            keys = [(module.name, parts[0])] if parts[0] in module.statements else []
            imported = module.imports.get(parts[0])
            if imported is None:
                for star in () if keys else module.stars:
                    if self.has(star, parts[0]):
                        return self.look_up(star, parts[0]), 1  # type: ignore[return-value]  # it has the name
                return (Named(tuple(keys)) if keys else Named(word=parts[0])), 1
            if keys:  # an import, and something else where it fails
                named, used = self.find(module, imported, parts)
                return Named((*keys, *named.keys), named.word if not named.keys else ""), used
        if imported.name is not None:
            there = self.look_up(imported.module, imported.name)
            if there is not None or not self.follows(imported.module):
                return there or Named(word=f"{imported.module}.{'.'.join([imported.name, *parts[1:]])}"), (
                    1 if there else len(parts)
                )
            imported = Import(f"{imported.module}.{imported.name}")
        if not self.follows(imported.module):
            return Named(word=".".join([imported.module, *parts[1:]])), len(parts)
        home, used = imported.module, 1
        while used < len(parts) and self.file(f"{home}.{parts[used]}") is not None:
            home, used = f"{home}.{parts[used]}", used + 1
        if used < len(parts) and (there := self.look_up(home, parts[used])) is not None:
            return there, used + 1
        if self.is_kept(home):
            return Named(word="kept module"), used
        return Named(tuple(self.all_of(home))), used

    def look_up(self, home: str, name: str, seen: frozenset[Key] = frozenset()) -> Named | None:
        """What a name in a module stands for; None where it is itself a module, or no module is there."""
        found = self.module(home)
        if found is None or (home, name) in seen:
            return None
        if self.is_kept(home):
            return None if self.file(f"{home}.{name}") else Named(word=f"kept {name}")
        keys: list[Key] = [(home, name)] if name in found.statements else []
        if (target := found.imports.get(name)) is not None:
            if not self.follows(target.module):
                return Named(
                    tuple(keys), "" if keys else ".".join(filter(None, [target.module, target.name]))
                )
            inner = (
                self.look_up(target.module, target.name, seen | {(home, name)})
                if target.name
                else Named(tuple(self.all_of(target.module)))
            )
            if inner is None:
                return None
            return Named((*keys, *inner.keys), inner.word if not keys else "")
        if keys:
            return Named(tuple(keys))
        if self.file(f"{home}.{name}") is not None:
            return None
        if found.lazy:
            return self._found_when_asked(home, name)
        for star in found.stars:
            if self.has(star, name):
                return self.look_up(star, name, seen | {(home, name)})
        return Named(tuple(self.all_of(home)))

    def _found_when_asked(self, package: str, name: str) -> Named:
        """Where a package finds a name when it is asked for it: in the modules within that define it, or in all."""
        inside = [part for part in self.modules(package) if part != package]
        homes = [(part, name) for part in inside if name in self.module(part).statements]  # type: ignore[union-attr]  # the modules that there are
        kept = [key for key in homes if self.is_kept(key[0])]
        if kept and len(kept) == len(homes):
            return Named(word=f"kept {name}")
        followed = [key for key in homes if key not in kept]
        return Named(tuple(followed or (key for part in (package, *inside) for key in self.all_of(part))))


def file_of(module: str) -> Path | None:
    """The file of a module, found without importing the module itself; None for what is not a module."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a script or a notebook
        return None
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return Path(spec.origin) if not rest and spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations:
        base = Path(folder).joinpath(*rest)
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None
