"""What a root in an exponent is equal to on a cell, for lemmas that write exponents without roots."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symdyn.proof.claim import tower
from symdyn.proof.undecided import Undecided
from symdyn.statements.domain import Cell


def simpler(cell: Cell, e: Any) -> Any:
    """The normal form of an expression on a cell, or the expression itself. The lemma owes that it is the same."""
    try:
        t = tower(cell)
        return sp.expand(t.expression(t.convert(e)))
    except (Undecided, NotImplementedError, ValueError):
        return e
