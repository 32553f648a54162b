"""The wide linear network f(x) = AᵀWx with h hidden neurons and c outputs (kunin2024, Sec. 4 and App. B.1).

Results are loaded when they are first named, and so are the functions that are more than one formula.
"""

from __future__ import annotations

import importlib
from typing import Any

_FUNCTIONS = (
    "conserved",
    "preconditioner",
    "neuron_sum",
    "isotropic_preconditioner",
    "isotropic_init",
    "matrix_riccati",
    "regime",
    "hyperbolic_entropy",
    "hyperbolic_entropy_gradient",
    "hyperbolic_entropy_hessian",
    "isotropic_flow",
    "neuron_preconditioners",
    "signed_svd_path",
    "unvec",
    "vec",
)


def __getattr__(name: str) -> Any:
    from symdyn.registry import index

    if name in _FUNCTIONS:
        return getattr(importlib.import_module("derivations.wide_linear.functions"), name)
    for entry in index():
        if entry.key == f"wide_linear.{name}":
            return getattr(importlib.import_module(entry.module), name)
    raise AttributeError(f"module 'derivations.wide_linear' has no attribute '{name}'")


def __dir__() -> list[str]:
    from symdyn.registry import index

    return sorted([*_FUNCTIONS, *(e.key.split(".")[1] for e in index() if e.topic == "wide_linear")])
