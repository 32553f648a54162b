"""The tie between a function that is more than one formula and the results that it computes.

    @implements("single_neuron.solution_for_every_balance")
    def trajectory(t, …):

says so on the function itself; `symdyn show` prints it on the result, and the audit in its column. Functions that
measure on networks what a result states are tied in the same way, in packages that announce themselves as
`symdyn.measures`. The table of all ties is read from the source, as the index of results is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from symdyn.catalogue.packages import (
    DERIVATIONS,
    MEASURES,
    PackageError,
    announces,
    declarations,
    files_of,
    home,
    naming,
)

Tied = TypeVar("Tied", bound=Callable[..., Any])
_KEY = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


def implements(*keys: str) -> Callable[[Tied], Tied]:
    """Tie a function, or a class, to the results of these keys: it computes what they state.

    Raises ValueError for what is no key, and where none is named.
    """
    wrong = [key for key in keys if not (isinstance(key, str) and _KEY.fullmatch(key))]
    if wrong or not keys:
        raise ValueError(
            "name the results that the function computes by their keys, as in "
            f"@implements('single_neuron.potential'){', not ' + repr(wrong[0]) if wrong else ''}"
        )

    def tie(function: Tied) -> Tied:
        function.implements = keys  # type: ignore[attr-defined]
        return function

    return tie


@dataclass(frozen=True)
class Tie:
    """A function, the module that defines it, and the keys of the results that it computes."""

    name: str
    module: str
    keys: tuple[str, ...]

    @property
    def place(self) -> str:
        """The function as it is imported, from the page of its package where that offers it."""
        page = home(self.module)
        offered = ".evaluators." in self.module or announces(MEASURES, page)
        return f"{page if offered else self.module}.{self.name}"


@cache
def ties() -> tuple[Tie, ...]:
    """All ties of the packages that announce themselves; what cannot be read is left out, and named by the index."""
    found: list[Tie] = []
    for group in (DERIVATIONS, MEASURES):
        for _, module, file in files_of(group):
            found.extend(_declared(module, file))
    return tuple(found)


def _declared(module: str, file: Path) -> list[Tie]:
    try:
        nodes = declarations(file, ("@implements(",))
    except PackageError:
        return []
    found = []
    for node in nodes:
        for call in getattr(node, "decorator_list", ()):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id == "implements"
            ):
                keys = tuple(str(arg.value) for arg in call.args if isinstance(arg, ast.Constant))
                found.append(Tie(node.name, module, keys))  # type: ignore[attr-defined]
    return found


def computed_by(key: str) -> tuple[Tie, ...]:
    """The functions that compute a result. As long as the table of all ties is not there, only files are parsed that
    name the key.
    """
    found = ties() if ties.cache_info().currsize else _naming(key)
    return tuple(tie for tie in found if key in tie.keys)


def _naming(key: str) -> list[Tie]:
    return [
        tie
        for group in (DERIVATIONS, MEASURES)
        for _, module, file in naming(group, key)
        for tie in _declared(module, file)
    ]
