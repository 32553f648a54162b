"""Where an expression is real and finite: what each of its parts demands, and whether a cell grants it.

A root demands that its radicand is not negative, a denominator that it does not vanish, a logarithm that its argument
is positive, and so on. A claim about an expression that is not defined throughout the cell is no claim: it is refuted
where a point of the cell shows it, and otherwise not proved as long as a demand is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from symdyn.calculus.formula import formula
from symdyn.calculus.vectors import Dot, Vector, inner, norm2
from symdyn.compile.named import NamedFunction, unfold
from symdyn.statements.domain import Cell, Domain

Relation = tuple[sp.Expr, str]

TOTAL = (
    sp.exp,
    sp.sin,
    sp.cos,
    sp.sinh,
    sp.cosh,
    sp.tanh,
    sp.sech,
    sp.asinh,
    sp.atan,
    sp.erf,
    sp.erfc,
    sp.Abs,
    sp.sign,
    sp.Max,
    sp.Min,
    sp.Heaviside,
    sp.floor,
    sp.ceiling,
    sp.Add,
    sp.Mul,
)
"""Functions with a real value for all real arguments."""

DEMANDS: dict[Any, Callable[..., tuple[Relation, ...]]] = {
    sp.log: lambda z: ((z, ">"),),
    sp.atanh: lambda z: ((1 - z**2, ">"),),
    sp.acosh: lambda z: ((z - 1, ">="),),
    sp.acoth: lambda z: ((z**2 - 1, ">"),),
    sp.asech: lambda z: ((z, ">"), (1 - z, ">=")),
    sp.acsch: lambda z: ((z, "!="),),
    sp.asin: lambda z: ((1 - z**2, ">="),),
    sp.acos: lambda z: ((1 - z**2, ">="),),
    sp.coth: lambda z: ((z, "!="),),
    sp.csch: lambda z: ((z, "!="),),
    sp.tan: lambda z: ((sp.cos(z), "!="),),
    sp.sec: lambda z: ((sp.cos(z), "!="),),
    sp.cot: lambda z: ((sp.sin(z), "!="),),
    sp.csc: lambda z: ((sp.sin(z), "!="),),
    sp.gamma: lambda z: ((z, ">"),),
    sp.loggamma: lambda z: ((z, ">"),),
    sp.factorial: lambda z: ((z + 1, ">"),),
    sp.erfinv: lambda z: ((1 - z**2, ">"),),
    sp.atan2: lambda y, x: ((x**2 + y**2, "!="),),
}
"""What other functions demand of their arguments."""


class Undefined(Exception):
    """An expression has a part that is no real number, whatever the point."""


@dataclass(frozen=True)
class Demand:
    """One of several alternatives must hold (all relations of it), wherever `given` does; `place` says for what."""

    alternatives: tuple[tuple[Relation, ...], ...]
    place: str
    given: Any = sp.true

    def __str__(self) -> str:
        return " or ".join(
            " and ".join(f"{_short(x)} {relation} 0" for x, relation in way) for way in self.alternatives
        )


def demands(expr: sp.Expr, given: Any = sp.true) -> Iterator[Demand]:
    """What the parts of an expression demand, innermost first. Raises Undefined for what is never a real number."""
    if isinstance(expr, NamedFunction):
        yield from demands(unfold(expr), given)
    elif isinstance(expr, sp.Piecewise):
        yield from _of_pieces(expr, given)
    elif expr.is_Atom:
        _check_atom(expr)
    elif isinstance(expr, AppliedUndef):
        for arg in expr.args:
            yield from demands(arg, given)
    elif isinstance(expr, sp.Derivative) and isinstance(expr.expr, AppliedUndef):
        yield from demands(expr.expr, given)
    elif isinstance(expr, sp.Subs) and isinstance(expr.expr, sp.Derivative):
        for arg in expr.point:
            yield from demands(arg, given)
    else:
        for arg in expr.args:
            yield from demands(arg, given)
        yield from _of_head(expr, given)


def _of_head(expr: sp.Expr, given: Any) -> Iterator[Demand]:
    if expr.is_Pow:
        ways = _of_power(*expr.args)
    elif expr.func in DEMANDS:
        ways = (DEMANDS[expr.func](*expr.args),)
    elif isinstance(expr, TOTAL):
        return
    else:
        raise Undefined(f"{expr.func.__name__} has no rule that says where it is a real number")
    ways = tuple(tuple(r for r in way if not _granted_by_number(*r)) for way in ways)
    if all(ways):
        yield Demand(ways, _short(expr), given)


def _of_power(base: sp.Expr, exponent: sp.Expr) -> tuple[tuple[Relation, ...], ...]:
    if exponent.is_integer:
        if exponent.is_nonnegative:
            return ((),)
        return (((base, "!="),),) if exponent.is_number else (((base, "!="),), ((exponent, ">="),))
    if exponent.is_Rational:
        return (((base, ">=" if exponent > 0 else ">"),),)
    return (((base, ">"),), ((base, ">="), (exponent, ">")))


def _of_pieces(expr: sp.Piecewise, given: Any) -> Iterator[Demand]:
    before: Any = sp.true
    for piece, condition in expr.args:
        for part in condition.atoms(sp.core.relational.Relational):
            yield from demands(part.lhs, given)
            yield from demands(part.rhs, given)
        here = sp.And(given, before, condition)
        if here is not sp.false:
            yield from demands(piece, here)
        before = sp.And(before, sp.Not(condition))
    rest = sp.And(given, before)
    if rest is not sp.false:
        yield Demand((((sp.S.Zero, "!="),),), f"{_short(expr)}, of which no piece may apply", rest)


def _check_atom(atom: Any) -> None:
    if atom in (sp.zoo, sp.oo, -sp.oo, sp.nan):
        raise Undefined(f"it contains {atom}, which is no number")
    if atom is sp.I or (atom.is_Symbol and not atom.is_extended_real):
        what = "the imaginary unit" if atom is sp.I else f"the symbol {atom}, which is not declared real"
        raise Undefined(f"it contains {what}")
    if atom.is_Number or atom.is_NumberSymbol or atom.is_Symbol or atom in (sp.true, sp.false):
        return
    raise Undefined(f"it contains {atom}, which is no real number")


def _granted_by_number(x: sp.Expr, relation: str) -> bool:
    return bool(x.is_Rational) and compare(int(sp.sign(x)), relation)


def compare(sign: int, relation: str) -> bool:
    """Whether a number of this sign stands in the relation to zero."""
    return {">": sign > 0, ">=": sign >= 0, "<": sign < 0, "<=": sign <= 0, "!=": sign != 0}[relation]


def relations(condition: Any) -> Iterator[Relation]:
    """The relations to zero that a condition states; what cannot be written so is left out."""
    if isinstance(condition, sp.And):
        for part in condition.args:
            yield from relations(part)
    elif isinstance(condition, sp.Not) and isinstance(condition.args[0], sp.Eq):
        yield condition.args[0].lhs - condition.args[0].rhs, "!="
    elif isinstance(condition, sp.core.relational.Relational) and condition.rel_op in (
        ">",
        ">=",
        "<",
        "<=",
        "!=",
    ):
        yield condition.lhs - condition.rhs, condition.rel_op


def facts_of(domain: Domain, cell: Cell) -> list[Relation]:
    """What holds throughout a cell: the conditions, and that what is defined there is real and finite.

    Inner products obey |uᵀv| ≤ ‖u‖‖v‖.
    """
    found = [r for condition in domain.conditions for r in relations(condition)]
    for definitions in (domain.let, cell.where):
        for symbol, expr in definitions.items():
            for part in expr.terms.values() if isinstance(symbol, Vector) else (formula(expr),):
                found.extend(granted(unfold(part)))
            if isinstance(symbol, Dot) and symbol.left == symbol.right:
                found.append((formula(expr), ">="))
    out = [(_unfolded(x, domain, cell), relation) for x, relation in found]
    pairs = {d for x, _ in out for d in x.atoms(Dot) if d.left != d.right}
    return out + [gap for d in sorted(pairs, key=str) for gap in cauchy_schwarz(d)]


def granted(expr: sp.Expr) -> Iterator[Relation]:
    """What must hold where an expression is real and finite."""
    try:
        for demand in demands(expr):
            if len(demand.alternatives) == 1 and demand.given is sp.true:
                yield from demand.alternatives[0]
    except Undefined:
        return


def cauchy_schwarz(dot: Dot) -> Iterator[Relation]:
    yield norm2(dot.left) * norm2(dot.right) - inner(dot.left, dot.right) ** 2, ">="


def nonzero_vectors(domain: Domain, cell: Cell) -> list[Relation]:
    """The vectors of a domain are not zero, unless it says what they are, or draws them itself."""
    supplied = domain.supplied()
    lengths = [norm2(v) for v in domain.vectors if v not in domain.let and v not in supplied]
    return [(_unfolded(x, domain, cell), "!=") for x in lengths]


def _unfolded(x: sp.Expr, domain: Domain, cell: Cell) -> sp.Expr:
    return unfold(domain.unfold(unfold(x), cell))


def distinct(found: Iterable[Demand]) -> list[Demand]:
    return list(dict.fromkeys(found))


def _short(x: Any) -> str:
    text = str(x)
    return text if len(text) <= 70 else f"{text[:48]} … {text[-16:]}"
