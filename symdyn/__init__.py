"""Executable theory of learning dynamics.

    >>> import symdyn
    >>> symdyn.load("single_neuron.conserved_delta").title
    'The conserved quantity of the single-neuron network'

Importing symdyn loads no third-party package; what is named here is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "load": "symdyn.catalogue.registry",
    "results": "symdyn.catalogue.registry",
    "audit": "symdyn.catalogue.auditing",
    "errata": "symdyn.catalogue.auditing",
    "cite": "symdyn.catalogue.citation",
    "Result": "symdyn.catalogue.result",
    "Verdict": "symdyn.proof.verdict",
    "Domain": "symdyn.statements.domain",
    "Cell": "symdyn.statements.domain",
}

__all__ = ["Cell", "Domain", "Result", "Verdict", "audit", "cite", "errata", "load", "results"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'symdyn' has no attribute '{name}'")
    module = importlib.import_module(_HOMES[name])
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
