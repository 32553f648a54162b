"""Compilation of formulas to functions of NumPy arrays, torch tensors and exact numbers.

`build` makes a function of a value; `NamedQuantity` gives a formula a numerically stable form; `arrays` is
for functions that are more than one formula.
"""

from symdyn.compile.exact import PrecisionError
from symdyn.compile.function import Argument, Compiled, Condition, build
from symdyn.compile.heads import UnsupportedHead, supported_heads
from symdyn.compile.named import NamedFunction, NamedQuantity, claims, unfold

__all__ = [
    "Argument",
    "Compiled",
    "Condition",
    "NamedFunction",
    "NamedQuantity",
    "PrecisionError",
    "UnsupportedHead",
    "build",
    "claims",
    "supported_heads",
    "unfold",
]
