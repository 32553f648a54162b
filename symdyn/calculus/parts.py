"""What a scalar, vector or operator is made of: its scalar coefficients, and the symbols that occur in them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import GramOperator
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Linear
from symdyn.compile.named import NamedFunction, unfold


@lru_cache(4096)
def plain(expr: sp.Expr) -> sp.Expr:
    """The expression with named quantities replaced by their definitions."""
    return unfold(expr) if expr.has(NamedFunction) else expr


def components(x: Any) -> list[sp.Expr]:
    """The scalar coefficients whose vanishing makes x vanish, in every dimension."""
    if isinstance(x, (list, tuple)):
        return [c for y in x for c in components(y)]
    if isinstance(x, Linear):
        return [plain(c) for c in x.terms.values()]
    if isinstance(x, GramOperator):
        return [plain(c) for c in (x.identity, *x.outer.values())]
    if isinstance(x, Isotropic):
        return [plain(x.f), plain(x.h)]
    if hasattr(x, "components"):
        return list(x.components())
    return [plain(formula(x))]


def atoms(x: Any) -> set[Any]:
    """The symbols, inner products and vectors that occur in a scalar, vector, operator or tuple of them."""
    if isinstance(x, (tuple, list)):
        return set().union(*(atoms(y) for y in x)) if x else set()
    out: set[Any] = set().union(*(c.free_symbols for c in components(x)))
    for attribute in ("terms", "outer"):
        keys = getattr(x, attribute, {})
        for key in keys if isinstance(keys, dict) else ():
            out |= set(key) if isinstance(key, tuple) else {key}
    vector = getattr(x, "vector", None)
    return out | ({vector} if vector is not None else set())
