r"""Rules of inference about means and laws: conclusions that a machine draws, as in `symdyn.statements.inference`.

MeanOfSquare        one mean is not smaller than another, because they differ by the mean of a square
InProbability       a quantity tends to a number in probability, because its mean does and its variance vanishes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.means import Mean
from symdyn.statements.domain import Domain
from symdyn.statements.inference import Rule, where
from symdyn.statements.kinds import Identity, Inequality, Limit, Statement, typeset


@dataclass(frozen=True)
class MeanOfSquare(Rule):
    """smaller ≤ larger, because larger - smaller = E X² / factor for a positive number.

    For instance E φ'(u)φ'(v) ≤ E φ'(u)² for u and v with the same variance, by X = φ'(u) - φ'(v) and factor 2.
    """

    smaller: Mean
    larger: Mean
    root: Mean
    factor: int = 1
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        yield Identity(self.larger - self.smaller, self.root**2 / self.factor, on=self.on)

    def lacks(self) -> str:
        return "" if self.factor > 0 else f"{self.factor} is no positive number"

    @property
    def conclusion(self) -> str:
        return rf"${typeset(self.smaller)} \le {typeset(self.larger)}${where(self.on)}"


@dataclass(frozen=True)
class InProbability(Rule):
    """A quantity tends to a number in probability, by Chebyshev: its mean tends to it, and its variance, which is not
    negative, to zero.

    `mean` and `variance` are those of the quantity as functions of a variable that tends to infinity, the others fixed;
    `moments` are the statements by which they are what they are. `name` is the LaTeX of the quantity.
    """

    name: str
    mean: sp.Expr
    variance: sp.Expr
    variable: sp.Symbol
    limit: sp.Expr
    moments: tuple[Statement, ...] = ()
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        yield from self.moments
        yield Limit(self.mean, self.variable, sp.oo, self.limit, on=self.on)
        yield Inequality(self.variance, ">=", on=self.on)
        yield Limit(self.variance, self.variable, sp.oo, sp.S.Zero, on=self.on)

    def lacks(self) -> str:
        if formula(self.limit).has(self.variable):
            return f"the limit {self.limit} depends on {self.variable}"
        return "" if self.name else "say of what quantity this is the mean"

    @property
    def conclusion(self) -> str:
        to = rf"{typeset(self.variable)}\to\infty"
        return rf"${self.name} \to {typeset(formula(self.limit))}$ in probability as ${to}${where(self.on)}"


__all__ = ["InProbability", "MeanOfSquare"]
