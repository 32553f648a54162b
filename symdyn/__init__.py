"""Executable theory of learning dynamics.

    >>> import symdyn
    >>> symdyn.load("single_neuron.conserved_delta").title
    'The conserved quantity of the single-neuron network'

Importing symdyn loads no third-party package; what is named here is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "catalogue.registry": ("load", "results"),
    "catalogue.auditing": ("audit", "errata"),
    "catalogue.citation": ("cite",),
    "catalogue.result": ("Result", "printed", "result"),
    "catalogue.implements": ("implements",),
    "catalogue.contents": ("Section", "offered"),
    "proof.verdict": ("Verdict",),
    "statements.domain": ("Cell", "Domain"),
    "statements.hypothesis": ("added", "meaning", "standing", "stated"),
    "statements.notation": ("glossary",),
    "statements.kinds": (
        "Asymptotic",
        "Chain",
        "Conjunction",
        "Conservation",
        "Definition",
        "Dynamics",
        "Existence",
        "Experiment",
        "Identity",
        "InDistribution",
        "Inequality",
        "Limit",
        "Minimiser",
        "Solution",
    ),
    "calculus.gram": ("Flow", "Vector", "gradient", "inner", "norm", "norm2"),
    "calculus.isotropic": ("Isotropic",),
    "calculus.vectors": ("Combination",),
    "compile.named": ("NamedQuantity", "unfold"),
    "statements.matrix": ("MatrixConservation", "MatrixDynamics", "MatrixIdentity"),
    "statements.inference": (
        "AtMostOneZero",
        "Characterised",
        "CrossesOnce",
        "InvariantRegion",
        "Monotone",
        "SameZeros",
        "UniqueMinimiser",
    ),
}
_WHERE = {name: f"symdyn.{module}" for module, names in _HOMES.items() for name in names}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'symdyn' has no attribute '{name}'")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
