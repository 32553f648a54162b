"""What is manifestly not negative, and what is finite with its derivatives wherever its arguments are in the domain.

Both questions are answered by looking, without proof search: a False only means "not seen". The compiler uses them to
leave out guards that nothing needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy

from symdyn.calculus.vectors import InnerProductSymbol
from symdyn.compile.heads import HEADS, OPERATIONS
from symdyn.compile.named import NamedFunction, cells_of

Expr = Any
Signs = Mapping[Any, int]  # 1 for a symbol known to be at least 0, −1 for one at most 0


def known_signs(conditions: Iterable[Any]) -> dict[Any, int]:
    """The signs of symbols that conditions of the form `symbol > 0` (or ≥, <, ≤) state, joined by And."""
    signs: dict[Any, int] = {}
    for condition in conditions:
        for relation in sympy.And.make_args(condition):
            symbol, sign = _stated(relation)
            if symbol is not None:
                signs[symbol] = sign
    return signs


def _stated(relation: Any) -> tuple[Any, int]:
    if relation.func not in (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le):
        return None, 0
    difference = relation.gts - relation.lts  # at least 0
    if difference.is_Symbol:
        return difference, 1
    if (-difference).is_Symbol:
        return -difference, -1
    return None, 0


def is_nonnegative(expr: Expr, signs: Signs) -> bool:
    """Whether the expression is manifestly at least 0 (or NaN), given the signs of symbols."""
    if isinstance(expr, InnerProductSymbol):
        return bool(expr.left == expr.right)
    if expr.is_Symbol:
        return signs.get(expr) == 1
    if not expr.free_symbols:
        return expr.is_nonnegative is True
    if expr.is_Add:
        return all(is_nonnegative(term, signs) for term in expr.args)
    if expr.is_Mul:
        negative = [f for f in expr.args if not is_nonnegative(f, signs)]
        return not negative or (len(negative) == 2 and all(_nonpositive(f, signs) for f in negative))
    if expr.is_Pow:
        even = expr.exp.is_Integer and expr.exp % 2 == 0
        return (
            bool(even) or is_nonnegative(expr.base, signs) or (expr.exp.is_Rational and expr.exp.q % 2 == 0)
        )
    if isinstance(expr, NamedFunction):
        return _named_nonnegative(expr, signs)
    return isinstance(expr, (sympy.exp, sympy.Abs, sympy.cosh, sympy.Heaviside))


def _nonpositive(expr: Expr, signs: Signs) -> bool:
    if expr.is_Symbol:
        return signs.get(expr) == -1
    return expr.is_nonpositive is True


def _named_nonnegative(expr: NamedFunction, signs: Signs) -> bool:
    if expr.quantity.operation == "root_sum":
        return True
    if not expr.quantity.cells:
        return is_nonnegative(expr.defined(), signs)
    return all(
        is_nonnegative(form, {**signs, **known_signs([condition])}) for condition, form in cells_of(expr)
    )


def is_manifest(condition: Any, signs: Signs) -> bool:
    """Whether a condition `e ≥ 0` (or true) is manifest."""
    if condition == sympy.true:
        return True
    if condition.func not in (sympy.Ge, sympy.Le):
        return False
    return is_nonnegative(condition.gts - condition.lts, signs)


def is_total(expr: Expr, signs: Signs) -> bool:
    """Whether value and derivatives are finite on the whole domain, so that the expression needs no guard.

    A named quantity is total where its own domain holds: its cells see to that.
    """
    if not expr.free_symbols or expr.is_Symbol:
        return True
    if isinstance(expr, NamedFunction):
        if not (expr.quantity.cells or expr.quantity.operation):
            return is_total(expr.defined(), signs)
        domain = expr.quantity.at(expr.quantity.domain, expr.args)
        return is_manifest(domain, signs) and all(is_total(arg, signs) for arg in expr.args)
    if not all(is_total(arg, signs) for arg in expr.args if isinstance(arg, sympy.Expr)):
        return False
    if expr.is_Add or expr.is_Mul:
        return True
    if expr.is_Pow:
        smooth = expr.exp.is_Integer and expr.exp > 0
        return bool(
            smooth
            or (
                expr.exp.is_Rational and expr.exp > 0 and expr.exp.q == 2 and is_nonnegative(expr.base, signs)
            )
        )
    head = HEADS.get(expr.func)
    return head is not None and head.via is not None and OPERATIONS[head.via].harmless is None
