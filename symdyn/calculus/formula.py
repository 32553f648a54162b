"""Numbers and formulas as SymPy objects. Text is never read as a formula: SymPy would evaluate it as Python."""

from __future__ import annotations

from typing import Any

import sympy


def formula(value: Any) -> Any:
    """The SymPy object that a number or a formula is.

    Raises TypeError for text and for everything else that is neither.
    """
    if isinstance(value, sympy.Basic):
        return value
    if isinstance(value, tuple):
        return sympy.Tuple(*map(formula, value))
    try:
        if isinstance(value, (dict, set, frozenset)):
            raise sympy.SympifyError(value)
        return sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        raise TypeError(
            f"expected a number or a SymPy formula, not {type(value).__name__} {value!r:.60}; text is not evaluated"
        ) from None
