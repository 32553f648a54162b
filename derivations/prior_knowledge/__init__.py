"""Two-layer linear networks that learn from structured initial weights (braun2022).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS: tuple[str, ...] = (
    "ata",
    "ata_2x2",
    "effective_start",
    "forgetting",
    "learnable",
    "missed_modes",
    "network_function",
    "ntk",
    "offdiagonal_peak",
    "qqt",
    "reversal",
    "reversal_like",
    "rsm_input",
    "rsm_output",
    "separatrix_distance",
    "shallow",
    "weights",
)


def __getattr__(name: str) -> Any:
    from symdyn.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.prior_knowledge.functions"), name)
    for entry in index():
        if entry.key == f"prior_knowledge.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.prior_knowledge' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "prior_knowledge")])
