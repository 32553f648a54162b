"""The contents page of a topic: its results in the order of the argument, and the functions that compute them.

The ``__init__`` of a topic's package is that page:

    CONTENTS = (
        Section("The network", "network", "model", "squared_loss"),
        Section("What it conserves", "network", "conserved_delta"),
    )
    EVALUATORS = {"trajectory": "exact_solution"}

    __getattr__, __dir__ = offered(__name__, CONTENTS, EVALUATORS)

With it `from derivations.single_neuron import conserved_delta, trajectory` finds each of them in its module when it is
first named, so that the page costs nothing to import. A result that no section lists is found all the same; a test of
the library holds its own pages complete.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


class Section:
    """A section of a topic: its title, the folder of its modules, and its results in the order of the argument."""

    def __init__(self, title: str, folder: str, *results: str) -> None:
        self.title = title
        self.folder = folder
        self.results = results

    def __repr__(self) -> str:
        return f"{self.title} ({self.folder}): {', '.join(self.results)}"


def offered(
    package: str, sections: tuple[Section, ...], evaluators: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a module needs to offer its contents: `__getattr__` and `__dir__`.

    `evaluators` names for each function its module below ``evaluators``.
    """
    listed = {name for section in sections for name in section.results}

    def found(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if name in evaluators:
            return getattr(importlib.import_module(f"{package}.evaluators.{evaluators[name]}"), name)
        entry = next((e for e in _results(package) if e.key.partition(".")[2] == name), None)
        if entry is None:
            raise AttributeError(
                f"module '{package}' has no result and no function '{name}'; dir() of it lists both"
            )
        return getattr(importlib.import_module(entry.module), name)

    def names() -> list[str]:
        own = {e.key.partition(".")[2] for e in _results(package)}
        return sorted({*listed, *own, *evaluators})

    return found, names


def _results(package: str) -> list[Any]:
    from symdyn.catalogue.packages import home
    from symdyn.catalogue.registry import index

    return [e for e in index() if home(e.module) == package]


def listed(
    package: str, names: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that offers what its modules define, each loaded when it is first named.

    `names` lists for each module what the package offers of it.
    """
    where = {name: module for module, offered_names in names.items() for name in offered_names}

    def found(name: str) -> Any:
        if name not in where:
            raise AttributeError(
                f"module '{package}' has no attribute '{name}'; it offers {', '.join(where)}"
            )
        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    return found, lambda: sorted(where)
