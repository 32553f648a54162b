"""Packages of derivations and of studies that announce themselves, their modules, and what cannot be read of them.

A package may have folders: its modules are all those below it, and belong to the topic that its entry point names.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

OWN = "symdyn-learning"
DERIVATIONS, STUDIES = "symdyn.derivations", "symdyn.studies"
MEASURES = "symdyn.measures"
"""The group of packages whose functions measure on networks, or start them by, what results state."""


class PackageError(LookupError):
    """An entry point names something other than an installed package of modules, or the modules of the packages do not
    agree on what their keys mean.
    """


def packages(group: str) -> dict[str, str]:
    """The packages of a group by the names of their entry points, without those that share a name."""
    return {name: points[0].value for name, points in announced(group).items() if len(points) == 1}


def announced(group: str) -> dict[str, list[EntryPoint]]:
    """The entry points of a group by name; of a name that symdyn's own distribution uses, its own alone."""
    found = _announced(group)
    if not found:
        raise PackageError(
            f"no package announces itself as '{group}': install symdyn-learning (pip install -e .)"
        )
    return found


def _announced(group: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in _points(group, _places()):
        found.setdefault(point.name, {}).setdefault(point.value, point)
    return {name: _own(points) or list(points.values()) for name, points in found.items()}


@functools.lru_cache(maxsize=16)
def _points(group: str, places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _places() -> tuple[tuple[str, int], ...]:
    """Where distributions may lie, and when something last came to lie there."""
    found = []
    for place in sys.path:
        try:
            found.append((place, os.stat(place or ".").st_mtime_ns))
        except OSError:
            continue
    return tuple(found)


def _own(points: dict[str, EntryPoint]) -> list[EntryPoint]:
    return [point for point in points.values() if point.dist is not None and point.dist.name == OWN]


def package_files(package: str) -> Iterator[tuple[str, Path]]:
    """The modules of a package and their files, found without importing it.

    Raises PackageError, which says why, for what is not the name of an installed package.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError as error:
        if not f"{package}.".startswith(
            f"{error.name}."
        ):  # a package above it wants another that is not there
            raise PackageError(_not_imported(package, error)) from error
        spec = None
    except (Exception, SystemExit) as error:  # whatever the code of a package above it raises
        raise PackageError(_not_imported(package, error)) from error
    if spec is None:
        raise PackageError(f"the package '{package}' that an entry point names is not installed")
    if not spec.submodule_search_locations:
        raise PackageError(
            f"the entry point '{package}' names a module; name a package, the folder that holds the modules"
        )
    files: dict[str, Path] = {}
    for folder in spec.submodule_search_locations:
        # The first folder that has a module is the one that Python imports it from.
        try:
            for module, file in below(package, Path(folder)):
                files.setdefault(module, file)
        except OSError as error:
            raise PackageError(
                f"the folder {error.filename} of the package '{package}' cannot be read: {error.strerror}"
            ) from None
    yield from files.items()


def below(package: str, folder: Path, above: tuple[Path, ...] = ()) -> Iterator[tuple[str, Path]]:
    """The modules in the folder of a package: its own, then those of the packages in it that announce none themselves.

    Raises OSError for a folder that cannot be read.
    """
    names = sorted(folder.iterdir())
    for file in names:
        if file.suffix == ".py":
            yield package if file.stem == "__init__" else f"{package}.{file.stem}", file
    apart, above = packages_of_all_kinds(), (*above, folder.resolve())
    for file in names:
        name = f"{package}.{file.name}"
        if name not in apart and (file / "__init__.py").exists() and file.resolve() not in above:
            yield from below(name, file, above)


def announces(group: str, package: str) -> bool:
    """Whether a package announces itself in a group."""
    return any(point.value == package for points in _announced(group).values() for point in points)


def files_of(group: str) -> Iterator[tuple[str, str, Path]]:
    """Topic, module and file of all modules in the packages of a group, which may be none; what cannot be read is left
    out.
    """
    for topic, points in _announced(group).items():
        if len(points) == 1:
            try:
                files = list(package_files(points[0].value))
            except PackageError:
                continue
            yield from ((topic, module, file) for module, file in files)


def naming(group: str, text: str) -> Iterator[tuple[str, str, Path]]:
    """Topic, module and file of what names a text in the packages of a group; what cannot be read names nothing."""
    for topic, module, file in files_of(group):
        try:
            named = file.is_file() and text.encode() in file.read_bytes()
        except OSError:
            continue
        if named:
            yield topic, module, file


def packages_of_all_kinds() -> dict[str, str]:
    """The packages that announce themselves, with the names under which they do: of several, that of their folder."""
    return _found_on(_places())


@functools.lru_cache(maxsize=8)
def _found_on(places: tuple[tuple[str, int], ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for group in (DERIVATIONS, STUDIES, MEASURES):
        for point in _points(group, places):
            if point.value not in found or point.name == point.value.rpartition(".")[2]:
                found[point.value] = point.name
    return found


def home(module: str) -> str:
    """The package in which a module is at home: the innermost that announces itself, or else the one that holds it."""
    known = packages_of_all_kinds()
    parts = module.split(".")
    around = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((name for name in around if name in known), module.rpartition(".")[0] or module)


def topic_of(module: str) -> str:
    """The topic of a module: the name under which the package announces itself in which it is at home."""
    package = home(module)
    return packages_of_all_kinds().get(package, package.rpartition(".")[2])


def imported(module: str) -> ModuleType:
    """A module of a package. Raises PackageError, which says why, where its code does not let it be imported."""
    try:
        return importlib.import_module(module)
    except PackageError:
        raise
    except (Exception, SystemExit) as error:
        raise PackageError(_not_imported(module, error)) from error


def _not_imported(module: str, error: BaseException) -> str:
    return f"'{module}' cannot be imported ({said(error)}): correct it, or uninstall its package"


def said(error: BaseException) -> str:
    """The kind of an error and what it says, in one line, whatever its text raises itself."""
    try:
        words = " ".join(str(error).split())
    except Exception:
        words = ""
    if isinstance(error, PackageError):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def declarations(file: Path, marks: tuple[str, ...] = ()) -> list[ast.stmt]:
    """The statements of a module, in the encoding that it names; none where it has none of some ``marks``.

    Raises PackageError, which says why, for what is no file, and for a source that Python does not read.
    """
    if not file.is_file():
        raise PackageError(
            f"{file} is no file but a folder, a pipe or a link to nothing: remove or rename it"
        )
    try:
        source = file.read_bytes()
        if marks and not any(mark.encode() in source for mark in marks):
            return []
        return ast.parse(source, filename=str(file)).body
    except OSError as error:
        raise PackageError(f"{file} cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        raise PackageError(f"{file}, line {error.lineno}, cannot be read: {error.msg}") from None
    except (ValueError, LookupError, RecursionError, MemoryError) as error:
        raise PackageError(f"{file} cannot be read: {said(error)}") from None
