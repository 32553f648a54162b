"""Signals, correlations and gradients in wide low-rank networks (naitsaada2023, Sec. 1, 2 and App. A.1-A.8).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS = (
    "Activation",
    "activation",
    "length_map",
    "correlation_map",
    "correlation_gap",
    "fixed_point",
    "fixed_points",
    "chi",
    "depth_scales",
    "edge_of_chaos",
    "edge_points",
    "from_fixed_point",
)


def __getattr__(name: str) -> Any:
    from symdyn.catalogue.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.signal_propagation.functions"), name)
    for entry in index():
        if entry.key == f"signal_propagation.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.signal_propagation' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.catalogue.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "signal_propagation")])
