"""Compilation of formulas to functions of NumPy arrays, torch tensors and exact numbers.

`build` makes a function of a value; `NamedQuantity` gives a formula a numerically stable form; `arrays` is for
functions that are more than one formula. Names are loaded on first use: defining quantities does not load NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symdyn.compile.exact import PrecisionError
    from symdyn.compile.function import Argument, Compiled, Condition, build
    from symdyn.compile.heads import UnsupportedHead, supported_heads
    from symdyn.compile.named import NamedFunction, NamedQuantity, claims, unfold

__all__ = [
    "Argument",
    "Compiled",
    "Condition",
    "NamedFunction",
    "NamedQuantity",
    "PrecisionError",
    "UnsupportedHead",
    "build",
    "claims",
    "supported_heads",
    "unfold",
]

_HOME = {
    "Argument": "function",
    "Compiled": "function",
    "Condition": "function",
    "NamedFunction": "named",
    "NamedQuantity": "named",
    "PrecisionError": "exact",
    "UnsupportedHead": "heads",
    "build": "function",
    "claims": "named",
    "supported_heads": "heads",
    "unfold": "named",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
