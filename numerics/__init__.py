"""Networks that are really trained, and the studies that confront the theory with them.

- ``numerics.networks``: the architectures of the papers, as torch modules.
- ``numerics.tasks``: what they learn. ``numerics.starts``: initialisations.
- ``numerics.measures``: tangent kernels and their distance, the balances of any feed-forward network with a recorder
  for your own training loop, learning curves.
- ``numerics.training``: gradient flow and gradient descent, of one network or of many as one tensor program.
- ``numerics.lab``: studies, how they are run and kept, their evidence, claims and figures.
- ``numerics.studies``: the studies themselves, a folder a topic.

Importing this package imports neither torch nor scipy. A module may be named without its folder, as in
``numerics.ensembles``; it is imported when it is first named.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType

_FOLDERS = ("measures", "networks", "starts", "tasks", "training", "lab")


def __getattr__(name: str) -> ModuleType:
    for folder in (*_FOLDERS, "studies"):
        if name == folder:
            return importlib.import_module(f"numerics.{folder}")
    for folder in _FOLDERS if name.isidentifier() and not name.startswith("_") else ():
        if importlib.util.find_spec(f"numerics.{folder}.{name}") is not None:
            return importlib.import_module(f"numerics.{folder}.{name}")
    raise AttributeError(f"module 'numerics' has no module '{name}'; its folders are {', '.join(_FOLDERS)}")
