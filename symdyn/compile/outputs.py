"""Lowering of what a result may be: a scalar, a combination of vectors, an operator, or a tuple of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import GramOperator
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Dot, Linear, Vector
from symdyn.compile.lower import Lowering
from symdyn.compile.named import NamedFunction, cells_of

Expr = Any
SCALAR, VECTOR, MATRIX = 0, 1, 2


@dataclass(frozen=True)
class Output:
    """One output: the node that computes it and its rank, the number of axes behind the batch axes."""

    node: int
    rank: int


def output(lowering: Lowering, value: Any, like: Vector | None) -> Output:
    """Lower a value; `like` is any vector argument, which tells the dimension where the value does not.

    Raises TypeError for a value of another kind, ValueError for an operator whose dimension no argument
    tells.
    """
    if isinstance(value, Linear):
        return Output(_combination(lowering, value, like), VECTOR)
    if isinstance(value, GramOperator):
        return Output(_operator(lowering, value, like), MATRIX)
    if isinstance(value, Isotropic):
        return Output(_isotropic(lowering, value), MATRIX)
    expr = formula(value)
    if not isinstance(expr, sympy.Expr):
        raise TypeError(
            f"{lowering.name}: {value!r} is not an expression, a combination of vectors or an operator"
        )
    return Output(lowering.scalar(expr), SCALAR)


def _combination(lowering: Lowering, value: Linear, like: Vector | None) -> int:
    graph, total = lowering.graph, None
    for vector, coefficient in value.terms.items():
        plain, directed = _split(lowering, coefficient, vector, None)
        for part, operation in ((plain, None), (directed, "unit")):
            if part is None:
                continue
            base = lowering.vector(vector)
            term = graph.add("scale", part, base if operation is None else graph.add(operation, base))
            total = term if total is None else graph.add("add_vectors", total, term)
    if total is None:
        return graph.add("zero_vector", lowering.vector(_dimension(lowering, like)))
    return total


def _split(lowering: Lowering, c: Expr, v: Vector, active: int | None) -> tuple[int | None, int | None]:
    """Nodes p and q with c v = p v + q v/|v|; the unit vector, 0 at v = 0, takes a factor 1/|v| of c."""
    length = sympy.sqrt(Dot(v, v))
    if isinstance(c, sympy.Piecewise):
        pieces = lowering.split([(pair.cond, pair.expr) for pair in c.args], active)
        return _split_pieces(lowering, pieces, v)
    if isinstance(c, NamedFunction) and c.quantity.cells:
        return _split_pieces(lowering, lowering.split(cells_of(c), active, exclusive=False), v)
    if isinstance(c, NamedFunction) and c.quantity.operation is None:
        return _split(lowering, c.defined(), v, active)
    for factor in sympy.Mul.make_args(c):
        if factor == 1 / length:
            return None, lowering.scalar(c * length, active)
        if factor != c and isinstance(factor, (sympy.Piecewise, NamedFunction)):
            plain, directed = _split(lowering, factor, v, active)
            if directed is not None:
                # not c / factor: SymPy makes pieces of reciprocals of that, which are infinite where a piece is zero
                others = [other for other in sympy.Mul.make_args(c) if other != factor]
                rest = lowering.scalar(sympy.Mul(*others), active)
                product = [
                    None if p is None else lowering.graph.add("multiply", rest, p) for p in (plain, directed)
                ]
                return product[0], product[1]
    return lowering.scalar(c, active), None


def _split_pieces(
    lowering: Lowering, chosen: list[tuple[int | None, int | None, Expr]], v: Vector
) -> tuple[int | None, int | None]:
    parts = {form: _split(lowering, form, v, mask) for _, mask, form in chosen}
    if all(directed is None for _, directed in parts.values()):
        return lowering.choose(chosen, lowering.scalar), None
    zero = lowering.graph.constant(0)

    def of(side: int) -> int:
        def part(form: Expr, mask: int | None) -> int:
            node = parts[form][side]
            return zero if node is None else node

        return lowering.choose(chosen, part)

    return of(0), of(1)


def _operator(lowering: Lowering, value: GramOperator, like: Vector | None) -> int:
    graph, total = lowering.graph, None
    for (u, v), coefficient in value.outer.items():
        term = graph.add("outer", lowering.scalar(coefficient), lowering.vector(u), lowering.vector(v))
        total = term if total is None else graph.add("add_matrices", total, term)
    if total is None or value.identity != 0:
        some = next((u for u, _ in value.outer), like)
        size = lowering.vector(_dimension(lowering, some))
        identity = graph.add("diagonal", lowering.scalar(value.identity), size)
        total = identity if total is None else graph.add("add_matrices", total, identity)
    return total


def _dimension(lowering: Lowering, like: Vector | None) -> Vector:
    if like is None:
        raise ValueError(f"{lowering.name}: no vector among the arguments tells the dimension of the result")
    return like


def _isotropic(lowering: Lowering, value: Isotropic) -> int:
    norm2 = {value.x: Dot(value.vector, value.vector)}
    parts = (value.f, radial_eigenvalue(value), value.h)
    nodes = [lowering.scalar(part.xreplace(norm2)) for part in parts]
    return lowering.graph.add("isotropic", *nodes, lowering.graph.add("unit", lowering.vector(value.vector)))


def radial_eigenvalue(value: Isotropic) -> Expr:
    """f + h with what cancels between the two cancelled exactly, so that a small eigenvalue keeps its digits.

    Named quantities are opened by one step as long as that leaves rational functions of named quantities and
    symbols, the sum is reduced, and its factors are folded again.
    """
    total = value.f + value.h
    opened = {q: q.defined() for q in total.atoms(NamedFunction) if _is_rational(q.defined())}
    if not opened:
        return total
    reduced = sympy.factor(sympy.cancel(total.xreplace(opened)))
    for quantity, definition in opened.items():
        numerator = sympy.factor(definition)
        reduced = reduced.xreplace({numerator: quantity, sympy.expand(-numerator): -quantity})
    return reduced


def _is_rational(expr: Expr) -> bool:
    generators = {atom: sympy.Dummy() for atom in expr.atoms(NamedFunction)}
    opened = expr.xreplace(generators)
    return bool(generators) and bool(opened.is_rational_function(*opened.free_symbols))
