"""Networks with a piecewise linear activation, most of all f(x) = aᵀσ(Wx) (kunin2024, Sec. 5, App. C and D.1).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS = (
    "Regions",
    "coordinates_rhs",
    "ntk",
    "scale_init",
    "activation_regions",
    "two_colouring",
)


def __getattr__(name: str) -> Any:
    from symdyn.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.piecewise_linear.functions"), name)
    for entry in index():
        if entry.key == f"piecewise_linear.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.piecewise_linear' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "piecewise_linear")])
