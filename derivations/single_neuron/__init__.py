"""The single-neuron linear network f(x) = a wᵀx (kunin2024, Sec. 3 and App. A).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS = (
    "trajectory",
    "mu_phi",
    "basin",
    "separatrix_distance",
    "crossing_time",
    "implicit_bias",
    "nullspace_alpha",
)


def __getattr__(name: str) -> Any:
    from symdyn.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.single_neuron.functions"), name)
    for entry in index():
        if entry.key == f"single_neuron.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.single_neuron' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "single_neuron")])
