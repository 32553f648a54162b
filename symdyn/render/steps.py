"""The derivation of a statement, line by line: what is given, what the calculus makes of it, what remains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdyn.calculus.gram import Combination, Flow, GramOperator
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix.transform import as_letter
from symdyn.calculus.vectors import Dot, Linear, transposed_latex
from symdyn.compile.named import NamedFunction
from symdyn.matrix_statement import MatrixConservation, MatrixDynamics, MatrixIdentity
from symdyn.render import prose
from symdyn.render.latex import cleaned, statement_latex
from symdyn.render.layout import display, stacked
from symdyn.statement import (
    Asymptotic,
    Chain,
    Conservation,
    Definition,
    Dynamics,
    Experiment,
    Identity,
    Inequality,
    Limit,
    Solution,
    Statement,
    difference,
    typeset,
)

if TYPE_CHECKING:
    from symdyn.result import Step

_SAYS_ITSELF = re.compile(r"[+-]|\\sqrt")
"""A quantity that is kept folded for its accuracy, such as κ + δ, prints as what it is."""

_MOVING = Conservation | Dynamics | MatrixConservation | MatrixDynamics

Line = tuple[str, str]
"""A reason in words and a formula."""


def steps(statement: Statement) -> tuple[Step, ...]:
    """The derivation of a statement, each step a reason and a formula that KaTeX and LaTeX set."""
    from symdyn.result import Step

    found = []
    for reason, group in groupby(_lines(statement), key=lambda line: line[0]):
        formulas = [cleaned(tex) for _, tex in group]
        found.append(Step(reason, display(formulas[0]) if len(formulas) == 1 else stacked(formulas)))
    return tuple(found)


def _lines(statement: Statement) -> Iterator[Line]:
    yield from _named(statement)
    if isinstance(statement, Chain):
        for number, fact in enumerate(statement.because, start=1):
            yield from _fact(number, fact)
        yield "Therefore", statement_latex(statement)
    else:
        yield from _own_lines(statement)


def _fact(number: int, fact: Statement) -> Iterator[Line]:
    """A fact of a chain: what it says, and what remains to be seen of it."""
    *before, (_, said) = (
        _own_lines(fact) if isinstance(fact, _MOVING | MatrixIdentity) else [("", _said(fact))]
    )
    yield from before
    yield f"Fact {number}", said
    if isinstance(fact, Identity):
        gap = difference(fact.lhs, fact.rhs)
        if any(coefficient != 0 for _, coefficient in _coefficients(gap)):
            yield from _vanishing(f"Fact {number}, left minus right side", gap)


def _said(statement: Statement) -> str:
    return statement_latex(statement) if isinstance(statement, Chain | Experiment) else statement.latex()


def _own_lines(statement: Statement) -> Iterator[Line]:
    match statement:
        case Definition():
            yield "Definition", statement.latex()
        case Conservation():
            yield "The quantity", typeset(statement.quantity)
            yield from _along(statement.under, statement.quantity)
            yield "Hence nothing changes along the flow", statement.latex()
        case Dynamics():
            yield from _dynamics(statement)
        case Identity():
            gap = difference(statement.lhs, statement.rhs)
            if all(coefficient == 0 for _, coefficient in _coefficients(gap)):
                yield "Both sides, which the calculus writes alike", statement.latex()
            else:
                yield "Both sides", statement.latex()
                yield from _vanishing("Left minus right side", gap)
        case Solution():
            yield from _solution(statement)
        case Limit() | Asymptotic():
            yield from _limit(statement)
        case Inequality():
            yield "The claim", statement.latex()
            gap_latex = typeset(sp.factor(statement.lhs - statement.rhs))
            yield "Its sign decides", f"{gap_latex} {_sign(statement.relation)} 0"
        case MatrixIdentity():
            yield from _declared(statement)
            yield "Both sides, in normal form", statement.latex()
        case MatrixConservation() | MatrixDynamics():
            yield from _moving_letters(statement)
            yield from _declared(statement)
            yield "Hence, by the product rule", statement.latex()
        case Experiment():
            yield f"Measured by the study {statement.study}", prose.katex(statement.claim)
        case _:
            yield "The statement", statement.latex()


def _declared(statement: MatrixIdentity | MatrixConservation | MatrixDynamics) -> Iterator[Line]:
    """The rules by which words are rewritten."""
    for declaration in statement.rules.declarations:
        for r in declaration.rules:
            yield "Given", f"{r.left.latex()} = {r.right.latex()}"


def _moving_letters(statement: MatrixConservation | MatrixDynamics) -> Iterator[Line]:
    """The velocities of letters and symbols."""
    for key, velocity in statement.velocities.items():
        letter = as_letter(key)
        yield (
            "Along the flow",
            rf"\dot{{{typeset(key) if letter is None else letter.symbol}}} = {typeset(velocity)}",
        )


def _sign(relation: str) -> str:
    return {">=": r"\ge", "<=": r"\le", "!=": r"\ne"}.get(relation, relation)


def _scalars(x: Any) -> Iterator[sp.Expr]:
    """The scalar expressions that a value is made of."""
    match x:
        case tuple() | list():
            for y in x:
                yield from _scalars(y)
        case Linear():
            yield from x.terms.values()
        case GramOperator():
            yield from (x.identity, *x.outer.values())
        case Isotropic():
            yield from (x.f, x.h)
        case sp.Basic():
            yield x


def _named(statement: Statement) -> Iterator[Line]:
    """The definitions of the named quantities that occur, each of them once."""
    seen: dict[Any, None] = {}
    waiting = [e for x in statement.expressions for e in _scalars(x)]
    while waiting:
        found = [
            q for q in sp.preorder_traversal(waiting.pop(0)) if isinstance(q, NamedFunction) and q not in seen
        ]
        seen.update(dict.fromkeys(found))
        waiting.extend(q.defined() for q in found)
    for quantity in seen:
        name = typeset(quantity)
        if not _SAYS_ITSELF.search(name):
            yield "With", f"{name} = {typeset(quantity.defined())}"


def _dot(x: Any) -> str:
    return rf"\dot{{{typeset(x)}}}"


def _moving(flow: Flow, x: Any) -> list[Any]:
    """The symbols and vectors of x that have a velocity or a relation."""
    found: dict[Any, None] = {}
    if isinstance(x, (Linear, GramOperator)):
        keys = x.terms if isinstance(x, Linear) else [v for pair in x.outer for v in pair]
        found.update(dict.fromkeys(keys))
    for expression in _scalars(x):
        for symbol in sorted(expression.free_symbols, key=str):
            found.update(dict.fromkeys([symbol.left, symbol.right] if isinstance(symbol, Dot) else [symbol]))
    return [y for y in found if y in flow.velocities or y in flow.relations]


def _along(flow: Flow, quantity: Any) -> Iterator[Line]:
    """The velocities that enter, and the chain rule."""
    waiting = _moving(flow, quantity)
    known: dict[Any, None] = {}
    while waiting:
        x = waiting.pop(0)
        if x in known:
            continue
        known[x] = None
        if x in flow.relations:
            yield "Abbreviation", f"{typeset(x)} = {typeset(flow.relations[x])}"
            waiting.extend(_moving(flow, flow.relations[x]))
        else:
            yield "Along the flow", f"{_dot(x)} = {typeset(flow.velocities[x])}"
    for x in flow.relations:
        if isinstance(x, Dot):
            yield "Abbreviation", f"{typeset(x)} = {typeset(flow.relations[x])}"
    if isinstance(quantity, sp.Expr):
        yield from _chain_rule(flow, quantity)


def _chain_rule(flow: Flow, quantity: sp.Expr) -> Iterator[Line]:
    pieces = []
    for symbol in sorted(quantity.free_symbols, key=str):
        rate = flow.derivative(symbol)
        if rate != 0:
            slope = sp.diff(quantity, symbol)
            factor = "" if slope == 1 else rf"\left({typeset(slope)}\right) "
            pieces.append(rf"{factor}\left({typeset(rate)}\right)")
    if pieces:
        yield "By the chain rule", rf"\frac{{d}}{{dt}}\left({typeset(quantity)}\right) = {' + '.join(pieces)}"


def _dynamics(statement: Dynamics) -> Iterator[Line]:
    flow = statement.under
    pairs = (
        zip(statement.quantity, statement.velocity, strict=True)
        if isinstance(statement.quantity, (tuple, list))
        else [(statement.quantity, statement.velocity)]
    )
    for quantity, velocity in pairs:
        yield from _along(flow, quantity)
        yield from _vanishing(
            "The rate minus the velocity", flow.unfold(flow.derivative(quantity) - velocity)
        )
    yield "Hence", statement.latex()


def _vanishing(label: str, gap: Any) -> Iterator[Line]:
    """The residual, coefficient by coefficient, that the normal form shows to be zero."""
    for of, coefficient in _coefficients(gap):
        if coefficient != 0:
            yield label + (f", coefficient of ${of}$" if of else ""), f"{typeset(coefficient)} = 0"


def _coefficients(gap: Any) -> Iterator[tuple[str, sp.Expr]]:
    """What each coefficient of a value belongs to, in LaTeX, and the coefficient."""
    match gap:
        case tuple() | list():
            for part in gap:
                yield from _coefficients(part)
        case Combination():
            yield from ((v.latex(), c) for v, c in gap.terms.items())
        case GramOperator():
            yield "I", gap.identity
            yield from ((rf"{u.latex()} {transposed_latex(v)}", c) for (u, v), c in gap.outer.items())
        case Isotropic():
            beta = gap.vector.latex()
            yield "I", gap.f
            yield rf"{beta} {transposed_latex(gap.vector)} / \|{beta}\|^2", gap.h
        case sp.Basic():
            yield "", gap


def _solution(statement: Solution) -> Iterator[Line]:
    time = typeset(statement.time)
    for unknown, velocity in statement.velocity.items():
        start = typeset(statement.initial[unknown])
        yield (
            "To be solved",
            rf"{_dot(unknown)} = {typeset(velocity)}, \qquad {typeset(unknown)}(0) = {start}",
        )
    for unknown, closed in statement.solution.items():
        yield "Solution", f"{typeset(unknown)}({time}) = {typeset(closed)}"
        if unknown in statement.velocity:
            yield "Its derivative", f"{_dot(unknown)} = {typeset(sp.diff(closed, statement.time))}"
    for unknown, closed in statement.solution.items():
        start = closed.subs(statement.time, 0)
        yield (
            "At time zero",
            f"{typeset(unknown)}(0) = {typeset(start)} = {typeset(statement.initial[unknown])}",
        )


def _limit(statement: Limit | Asymptotic) -> Iterator[Line]:
    if isinstance(statement, Asymptotic):
        yield "The claim, all else held fixed", statement.latex()
        gap = difference(statement.expression, statement.leading)
        scale = typeset(statement.remainder)
        yield "Its remainder, bounded by a multiple of the order", rf"{typeset(gap)} = O\left({scale}\right)"
    else:
        yield "The expression", typeset(statement.expression)
        yield "Its exact limit, all else held fixed", statement.latex()
