"""Spectra of random weights and of the input-output Jacobian (naitsaada2023, Sec. 3, App. A.9-A.11).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS = (
    "SpectralLaw",
    "spectral_law",
    "jacobian_moments",
    "jacobian_variance",
    "exact_linear_moments",
    "largest_depth",
)


def __getattr__(name: str) -> Any:
    from symdyn.catalogue.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.random_matrices.functions"), name)
    for entry in index():
        if entry.key == f"random_matrices.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.random_matrices' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.catalogue.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "random_matrices")])
