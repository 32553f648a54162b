"""The scalar claims of a statement, each side as the derivation writes it, as lemmas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from symdyn.calculus.bridge import isotropic_to_gram
from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Flow, GramOperator, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.parts import atoms
from symdyn.calculus.vectors import Dot, Linear, Vector
from symdyn.lemmas.page import RELATION_SIGNS, Hint, Lemma, Page, Unprintable
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.inference import Rule
from symdyn.statements.kinds import (
    Chain,
    Conservation,
    Definition,
    Dynamics,
    Identity,
    Inequality,
    Solution,
    Statement,
)


class NotScalar(Exception):
    """The claim is about words of matrices, which are not asked of Rocq."""


def pairs(left: Any, right: Any, domain: Domain) -> list[tuple[str, Any, Any]]:
    """What must be equal for two values to be: scalars, and the coefficients of vectors and operators."""
    if isinstance(left, (tuple, list)):
        rights = right if isinstance(right, (tuple, list)) else [right] * len(left)
        found = [pairs(x, y, domain) for x, y in zip(left, rights, strict=True)]
        return [
            (f"component {i + 1} {label}".strip(), x, y)
            for i, part in enumerate(found)
            for label, x, y in part
        ]
    if isinstance(left, Isotropic) and isinstance(right, Isotropic):
        return [("on β⊥", left.f, right.f), ("along β", left.h, right.h)]
    left, right = (isotropic_to_gram(x) if isinstance(x, Isotropic) else x for x in (left, right))
    vectors = {v: c for v, c in domain.let.items() if isinstance(v, Vector)}
    if isinstance(left, Linear) or isinstance(right, Linear):
        x, y = (substitute(z, vectors).terms if isinstance(z, Linear) else {} for z in (left, right))
        return [(f"coefficient of {v}", x.get(v, sp.S.Zero), y.get(v, sp.S.Zero)) for v in {**x, **y}]
    if isinstance(left, GramOperator) or isinstance(right, GramOperator):
        p, q = (
            substitute(z, vectors) if isinstance(z, GramOperator) else GramOperator() for z in (left, right)
        )
        rest = [
            (f"coefficient of {u} {v}'", p.outer.get((u, v), sp.S.Zero), q.outer.get((u, v), sp.S.Zero))
            for u, v in {**p.outer, **q.outer}
        ]
        return [("coefficient of I", p.identity, q.identity), *rest]
    if hasattr(left, "at") or hasattr(right, "at") or hasattr(left, "components"):
        raise NotScalar(f"{type(left).__name__} is no scalar")
    return [("", formula(left), formula(right))]


def facts(statement: Statement, domain: Domain, path: str = "") -> Iterator[tuple[str, Statement, Domain]]:
    """The statement and those that it is a chain of, with what leads to each and the domain of each."""
    domain = statement.domain or domain
    yield path, statement, domain
    for number, fact in enumerate(statement.facts(), start=1):
        yield from facts(fact, domain, f"{path}.{number}" if path else str(number))


def not_scalar(statement: Statement, domain: Domain, definitions: bool = False) -> int:
    """How many claims of a statement Rocq is not asked.

    Limits, orders and words of matrices; that a solution exists throughout; that a conclusion follows from its facts;
    that a chain is about the value that it compiles to, where no fact gives it as it stands.
    """
    count = 0
    for _, fact, on in facts(statement, domain):
        if isinstance(fact, (Solution, Rule)):
            count += 1
        elif isinstance(fact, Chain):
            given = [x for part in fact.facts() for x in part.gives()]
            count += fact.argued
            count += fact.compiles is not None and not any(
                type(x) is type(fact.compiles) and x == fact.compiles for x in given
            )
        elif not isinstance(fact, SCALAR):
            count += 1
        else:
            try:
                list(sides(fact, on, definitions))
            except NotScalar:
                count += 1
            except Exception:  # listed where its lemma is to be printed
                continue
    return count


SCALAR = (Identity, Inequality, Dynamics, Conservation, Definition)


def sides(statement: Statement, domain: Domain, definitions: bool = False) -> Iterator[tuple[str, Any]]:
    """What a statement claims of scalars: a label, and what writes both sides on a page.

    With `definitions`, what is defined is claimed to be equal to itself: its debts are that it is defined.
    """
    if isinstance(statement, Identity):
        for label, x, y in pairs(statement.lhs, statement.rhs, domain):
            yield label, _plain(x, "=", y)
        if statement.compiles is not None:
            for label, x, y in pairs(statement.compiles, statement.rhs, domain):
                yield f"form that compiles {label}".strip(), _plain(x, "=", y)
    elif isinstance(statement, Inequality):
        yield "", _plain(formula(statement.lhs), RELATION_SIGNS[statement.relation], formula(statement.rhs))
    elif isinstance(statement, Dynamics):
        yield from _moving(statement.quantity, statement.velocity, statement.under, domain)
        yield from _kept(statement.quantity, statement.under, domain)
    elif isinstance(statement, Conservation):
        zero = (0,) * len(statement.quantity) if isinstance(statement.quantity, (tuple, list)) else sp.S.Zero
        yield from _moving(statement.quantity, zero, statement.under, domain)
        yield from _kept(statement.quantity, statement.under, domain)
    elif isinstance(statement, Solution):
        yield from _solution(statement, domain)
    elif isinstance(statement, Definition) and definitions:
        for label, x, _ in pairs(statement.expression, statement.expression, domain):
            yield f"is defined {label}".strip(), _plain(x, "=", x)


def _plain(x: Any, relation: str, y: Any) -> Any:
    def write(page: Page) -> tuple[Any, str, Any, Any]:
        page.lattice(x, y)
        return page.write(x), relation, page.write(y), page.meaning(x) - page.meaning(y)

    return write, None, None


def _moving(quantity: Any, velocity: Any, flow: Flow, domain: Domain) -> Iterator[tuple[str, Any]]:
    if isinstance(quantity, (tuple, list)):
        for i, (q, v) in enumerate(zip(quantity, velocity, strict=True)):
            for label, writer in _moving(q, v, flow, domain):
                yield f"component {i + 1} {label}".strip(), writer
        return
    if isinstance(quantity, (Linear, GramOperator)):
        rate = flow.unfold(flow.derivative(quantity))
        for label, x, y in pairs(rate, flow.unfold(velocity) if velocity != 0 else rate * 0, domain):
            yield label, (_plain(x, "=", y)[0], flow, None)
        return
    yield "", (_rate_is(quantity, velocity, flow), flow, None)


def _kept(quantity: Any, flow: Flow, domain: Domain) -> Iterator[tuple[str, Any]]:
    """That the flow keeps what is supposed: its relations of inner products, and the definitions of the domain."""
    relations = {x: y for x, y in flow.relations.items() if isinstance(x, Dot)}
    occurring = atoms(quantity)
    occurring |= {v for x in occurring if isinstance(x, Dot) for v in (x.left, x.right)}
    defined = {x: domain.let[x] for x in sorted(occurring & set(domain.let), key=str)}
    for symbol, value in (relations | defined).items():
        moving: Any = flow.relations.get(symbol, symbol) if symbol in defined else symbol
        mine = flow.derivative(1 * moving)
        label = f"the flow keeps {symbol} = {value}"
        if isinstance(value, Linear):
            for part, x, y in pairs(flow.unfold(mine), flow.unfold(flow.derivative(1 * value)), domain):
                yield f"{label}, {part}", (_plain(x, "=", y)[0], flow, None)
        elif mine != 0 or flow.derivative(value) != 0:
            yield label, (_rate_is(value, mine, flow), flow, None)


def _rate_is(quantity: Any, velocity: Any, flow: Flow) -> Any:
    x, y = formula(quantity), formula(velocity)

    def write(page: Page) -> tuple[Any, str, Any, Any]:
        page.moving = True
        page.lattice(x, y)
        return page.rate(page.write(x), _Velocities(page, flow)), "=", page.write(y), None

    return write


class _Velocities(dict[Any, Any]):
    """Velocities along a flow: those it states, and those of inner products; definitions give the others."""

    def __init__(self, page: Page, flow: Flow) -> None:
        super().__init__()
        self.page, self.flow = page, flow

    def __contains__(self, key: object) -> bool:
        return key in self.flow.velocities or (isinstance(key, Dot) and key not in self.flow.velocities)

    def __missing__(self, key: Any) -> Any:
        return self.flow.derivative(key)


def _solution(statement: Solution, domain: Domain) -> Iterator[tuple[str, Any]]:
    if fault := statement._fault():
        raise Unprintable(fault)
    time = statement.time
    rules = {u: formula(c) for u, c in statement.solution.items()}
    for unknown, closed in rules.items():
        rate = formula(statement.velocity[unknown])
        values = {u: c for u, c in rules.items() if u in rate.free_symbols and u != c}
        yield f"equation of {unknown}", (_equation(closed, rate, time, values), None, values)
        start = closed.subs(time, 0)
        yield f"initial value of {unknown}", _plain(start, "=", formula(statement.initial[unknown]))
    if statement.compiles is not None:
        for label, x, y in pairs(statement.compiles, statement._closed, domain):
            yield f"form that compiles {label}".strip(), _plain(x, "=", y)


def _equation(closed: Any, rate: Any, time: sp.Symbol, values: Any) -> Any:
    def write(page: Page) -> tuple[Any, str, Any, Any]:
        page.moving = time in page.cell.where  # all else that the cell defines stands still
        page.lattice(closed, rate)
        return page.rate(page.write(closed), {time: sp.Integer(1)}), "=", page.write(rate), None

    return write


Claimed = tuple[str, str, Domain, Cell, Any]
"""A claim of scalars on a cell: of which fact, which part of it, and what writes it with what it needs for that."""


def scalar_claims(
    key: str, statement: Statement, domain: Domain, definitions: bool = False
) -> Iterator[Claimed | tuple[str, str]]:
    """The claims of a result on each cell, or (which fact, why it cannot be printed).

    With `definitions`, also that what is defined by a definition is a real number.
    """
    for path, fact, on in facts(statement, domain):
        name = f"{key}{'.' if path else ''}{path}"
        try:
            claimed = list(sides(fact, on, definitions))
        except NotScalar:
            continue
        except Exception as obstacle:
            yield name, str(obstacle)
            continue
        for label, writer in claimed:
            for cell in on.cells:
                yield name, label, on, cell, writer


def written(
    name: str, label: str, domain: Domain, cell: Cell, writer: Any, hint: Hint | None = None
) -> tuple[Lemma, Page]:
    """The lemma of one claim on one cell, and the page on which it is written.

    It is written twice: what occurs in it tells what the domain has to say, which then comes first.
    """
    write, flow, values = writer
    tried = Page(domain, cell, flow, values, hint)
    write(tried)
    tried.close()
    page = Page(domain, cell, flow, values, hint)
    page.open(tried)
    left, relation, right, gap = write(page)
    page.close()
    made = Lemma(
        name,
        cell.name,
        label,
        list(page.meanings),
        page.parts(left, relation, right),
        left,
        relation,
        right,
        dict(page.meanings),
        gap=gap,
    )
    return made, page


def false_hypotheses(
    domain: Domain, cell: Cell, made: Lemma, page: Page, most: int | None = None
) -> tuple[list[str], list[dict[Any, Any]]]:
    """The hypotheses and debts that are false at a point of the cell, one in each dimension and degenerate ones,
    and the values at these points, `most` of them if that is given, spread over all. A lemma with a false hypothesis
    would say nothing, one with a false debt is false.
    """
    wrong: dict[str, None] = {}
    tried: list[dict[Any, Any]] = []
    points = list(domain.points(cell, per_dimension=1))
    for point in points if most is None else points[:: max(1, len(points) // most)]:
        values = page.values_at(point)
        tried.append(values)
        for h in made.parts:
            if not h.true_at(values):
                wrong[f"{'owed' if h.kind == 'debt' else 'supposed'}: {h.text}"] = None
                if h.kind == "debt":  # what follows has no value
                    break
    return list(wrong), tried
