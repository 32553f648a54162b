"""The deep linear network f(x) = aᵀW_L⋯W_1x (kunin2024, Sec. 4 and App. B.2).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS = (
    "preconditioner",
    "isotropic_preconditioner",
    "isotropic_init",
    "inductive_bias",
    "interpolating_solution",
)


def __getattr__(name: str) -> Any:
    from symdyn.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.deep_linear.functions"), name)
    for entry in index():
        if entry.key == f"deep_linear.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.deep_linear' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "deep_linear")])
