"""Limits at infinity of quotients of exponential sums, by their dominant terms.

A sum Σ c t^k e^{r t} behaves like its terms with the largest rate r, and among these the largest power k. Which rate
is the largest is a question of signs. The cell answers it for rates that SymPy does not compare, such as
δ/2 ± √(δ² + 4x)/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdyn.proof.hyperbolic import to_exponentials
from symdyn.proof.tower import Tower, Undecided


@dataclass
class Term:
    """coefficient · t^power · e^{rate t}."""

    rate: sp.Expr
    power: int
    coefficient: sp.Expr


def limit_at_infinity(
    expr: sp.Expr, variable: sp.Symbol, sign_of: Callable[[Any], int | None]
) -> sp.Expr | None:
    """The limit as the variable tends to +∞, `zoo` if it is infinite; None where nothing grows exponentially.

    Raises Undecided where the dominant term is not known, or the expression is not a quotient of such sums.
    """
    tower = Tower(lambda symbol: 2 if symbol == variable else sign_of(symbol))
    expr = to_exponentials(expr)
    while pieces := expr.atoms(sp.Piecewise):
        expr = expr.xreplace({e: tower.branch(e) for e in pieces})
    if not any(e.has(variable) for e in expr.atoms(sp.exp)):
        return None
    above, below = (_collected(part, variable, tower) for part in sp.fraction(sp.together(expr)))
    top, bottom = _dominant(above, tower), _dominant(below, tower)
    if bottom is None:
        raise Undecided("a denominator vanishes identically")
    if len(below) > 1 and abs(_sign(bottom.coefficient, tower) or 0) < 2:
        raise Undecided(f"the dominant coefficient {bottom.coefficient} of a denominator may vanish")
    if top is None or _order(top, bottom, tower) < 0:
        return sp.S.Zero
    return top.coefficient / bottom.coefficient if _order(top, bottom, tower) == 0 else sp.zoo


def _collected(part: sp.Expr, variable: sp.Symbol, tower: Tower) -> list[Term]:
    """The terms of a sum, those of one rate and power as one."""
    found: list[Term] = []
    for summand in sp.Add.make_args(sp.expand(part)):
        new = _term(summand, variable)
        old = next((o for o in found if o.power == new.power and _vanishes(o.rate - new.rate, tower)), None)
        if old is None:
            found.append(new)
        else:
            old.coefficient += new.coefficient
    return [term for term in found if not _vanishes(term.coefficient, tower)]


def _term(summand: sp.Expr, variable: sp.Symbol) -> Term:
    rate, power, coefficient = sp.S.Zero, 0, sp.S.One
    for factor in sp.Mul.make_args(summand):
        base, exponent = factor.as_base_exp()
        if isinstance(factor, sp.exp) and factor.has(variable):
            slope = sp.expand(factor.args[0]).coeff(variable, 1)
            constant = sp.expand(factor.args[0] - slope * variable)
            rate, coefficient = rate + slope, coefficient * sp.exp(constant)
            if slope.has(variable) or constant.has(variable):
                raise Undecided(f"the exponent of {factor} is not linear in {variable}")
        elif base == variable and exponent.is_Integer:
            power += int(exponent)
        elif factor.has(variable):
            raise Undecided(f"{factor} is neither a power of {variable} nor an exponential of it")
        else:
            coefficient *= factor
    return Term(rate, power, coefficient)


def _vanishes(x: sp.Expr, tower: Tower) -> bool:
    return x == 0 or not tower.convert(x)[0]


def _sign(x: sp.Expr, tower: Tower) -> int | None:
    """The sign of x: 0 if it vanishes identically, ±2 strict, ±1 weak, None if not known."""
    element = tower.convert(x)
    return tower.sign(element) if element[0] else 0


def _order(x: Term, y: Term, tower: Tower) -> int:
    """Whether x grows faster than y (1), slower (-1) or alike (0)."""
    sign = _sign(x.rate - y.rate, tower)
    if sign is None or abs(sign) == 1:
        raise Undecided(f"the cell does not say which of the rates {x.rate} and {y.rate} is larger")
    return int(sp.sign(sign or x.power - y.power))


def _dominant(terms: list[Term], tower: Tower) -> Term | None:
    """The term that grows fastest, None of an empty sum. Terms that grow slower than another need not be comparable."""
    best: Term | None = None
    try:
        for term in terms:
            if best is None or _order(term, best, tower) > 0:
                best = term
    except Undecided:
        leading = [term for term in terms if not any(_slower(term, other, tower) for other in terms)]
        if len(leading) != 1:
            raise
        (best,) = leading
    return best


def _slower(x: Term, y: Term, tower: Tower) -> bool:
    """Whether x is known to grow slower than y."""
    if x is y:
        return False
    try:
        return _order(x, y, tower) < 0
    except Undecided:
        return False
