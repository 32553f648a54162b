"""The derivation of a statement, line by line: what is given, what the calculus makes of it, what remains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdyn.calculus.gram import Combination, Flow, GramOperator, Vector, substitute
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix.transform import as_letter
from symdyn.calculus.vectors import Dot, Linear, transposed_latex
from symdyn.proof.claim import atoms
from symdyn.render import prose
from symdyn.render.latex import cleaned, statement_formula
from symdyn.render.layout import display, stacked, width
from symdyn.render.spelling import quantities, scalars, spelled_apart
from symdyn.statements.domain import Domain
from symdyn.statements.inference import Rule
from symdyn.statements.kinds import (
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
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity
from symdyn.statements.notation import vocabulary

if TYPE_CHECKING:
    from symdyn.catalogue.result import Result

_SAYS_ITSELF = re.compile(r"[+-]|\\sqrt")
"""A quantity that is kept folded for its accuracy, such as κ + δ, prints as what it is."""

_MOVING = Conservation | Dynamics | MatrixConservation | MatrixDynamics

Line = tuple[str, str]
"""A reason in words and a formula."""


@dataclass(frozen=True)
class Step:
    """One line of a derivation: a reason in words and a formula in LaTeX."""

    reason: str
    latex: str

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"


def result_steps(result: Result) -> tuple[Step, ...]:
    """The derivation of a result, in the symbols of its topic."""
    return steps(result.statement, result.domain, result.topic)


def steps(statement: Statement, domain: Domain | None = None, topic: str = "") -> tuple[Step, ...]:
    """The derivation of a statement, each step a reason and a formula that KaTeX and LaTeX set.

    `domain` is where the statement is claimed, unless it says so itself: what the domain defines is given, and so
    substituted where coefficients are compared.
    """
    found = []
    with vocabulary(topic):
        derived = _once(_lines(spelled_apart(statement), statement.domain or domain))
        for reason, group in groupby(derived, key=lambda line: line[0]):
            formulas = [tex for _, tex in group]
            found.append(Step(reason, display(formulas[0]) if len(formulas) == 1 else stacked(formulas)))
        if isinstance(statement, Chain | Rule) and statement.conclusion:
            found.append(Step("Therefore", statement_formula(statement)))
    return tuple(found)


def _once(derived: Iterator[Line]) -> Iterator[Line]:
    """Each formula where it is first written: facts of a chain share what is given and how things move."""
    written: set[str] = set()
    for reason, tex in derived:
        formula = cleaned(tex)
        if formula not in written:
            written.add(formula)
            yield reason, formula


def _lines(statement: Statement, domain: Domain | None) -> Iterator[Line]:
    yield from _defined_by_domains(statement, domain)
    yield from _named(statement)
    if isinstance(statement, Chain | Rule):
        yield from _facts(statement, domain)
    else:
        yield from _own_lines(statement, domain)


def _defined_by_domains(statement: Statement, domain: Domain | None) -> Iterator[Line]:
    """What the domain and those of the facts define, of all that occurs: δ by the weights, β as a w."""
    for part in (statement, *statement.facts()):
        occurring = _letters(part)
        for symbol, value in _definitions(part.domain or domain).items():
            if symbol in occurring:
                yield "Where", f"{typeset(symbol)} = {typeset(value)}"


def _definitions(domain: Domain | None) -> Mapping[Any, Any]:
    return domain.let if domain is not None else {}


def _letters(statement: Statement) -> set[Any]:
    """The symbols and vectors that occur."""
    found: set[Any] = set()
    for x in statement.expressions:
        found |= atoms(x)
    dots = {x for x in found if isinstance(x, Dot)}
    return found.union(*({dot.left, dot.right} for dot in dots))


def _facts(chain: Chain | Rule, domain: Domain | None) -> Iterator[Line]:
    """The facts of a chain, each with what remains to be seen of it; those that read alike are told together."""
    told: dict[Line, list[int]] = {}
    before: dict[int, list[Line]] = {}
    for number, fact in enumerate(chain.because, start=1):
        told.setdefault(_said(fact), []).append(number)
        before[number] = _before(fact, domain)
    before = _told_of_which(before)
    for (kind, said), numbers in told.items():
        facts = [chain.because[number - 1] for number in numbers]
        words = "; ".join(dict.fromkeys(filter(None, (_where(fact, domain) for fact in facts))))
        label = _facts_named(numbers).capitalize()
        yield from (line for number in numbers for line in before[number])
        yield f"{label}{f' ({words})' if words else ''}{kind}", said
        for fact in facts:
            if isinstance(fact, Identity):
                yield from _vanishing(f"{label}, left minus right side", gap(fact, domain))


def _facts_named(numbers: list[int]) -> str:
    *first, last = map(str, numbers)
    return f"facts {', '.join(first)} and {last}" if first else f"fact {last}"


def _told_of_which(before: Mapping[int, list[Line]]) -> dict[int, list[Line]]:
    """What leads to each fact, with the facts that it is given for where it is not given for all that need such."""
    users: dict[Line, list[int]] = {}
    needing: dict[str, set[int]] = {}
    for number, derived in before.items():
        for line in dict.fromkeys(derived):
            users.setdefault(line, []).append(number)
            needing.setdefault(line[0], set()).add(number)
    return {
        number: [
            (
                reason
                if set(users[reason, tex]) == needing[reason]
                else f"{reason}, for {_facts_named(users[reason, tex])}",
                tex,
            )
            for reason, tex in derived
        ]
        for number, derived in before.items()
    }


def _where(fact: Statement, domain: Domain | None) -> str:
    """Where a fact is claimed, if it says so and the whole argument does not."""
    own: Domain | None = getattr(fact, "on", None)
    return own.words if own is not None and (domain is None or own.words != domain.words) else ""


def _before(fact: Statement, domain: Domain | None) -> list[Line]:
    """What leads to a fact."""
    derived = isinstance(fact, _MOVING | MatrixIdentity)
    return list(_own_lines(fact, domain))[:-1] if derived else []


def _said(fact: Statement) -> Line:
    """What a fact says: of an identity that the calculus has computed already, what both sides are."""
    if isinstance(fact, Chain | Rule | Experiment):
        return "", statement_formula(fact)
    if isinstance(fact, Identity | MatrixIdentity) and typeset(fact.lhs) == typeset(fact.rhs):
        name = f"{fact.name} = " if fact.name else ""
        return ("" if name else ", both sides of which are"), name + typeset(fact.lhs)
    return "", fact.latex()


def gap(identity: Identity, domain: Domain | None = None) -> Any:
    """Left minus right side, in vectors of which the domain defines none by others: each coefficient vanishes."""
    vectors = {v: x for v, x in _definitions(identity.domain or domain).items() if isinstance(v, Vector)}
    return _substituted(difference(identity.lhs, identity.rhs), vectors)


def _substituted(gap: Any, vectors: Mapping[Any, Any]) -> Any:
    if isinstance(gap, tuple):
        return tuple(_substituted(part, vectors) for part in gap)
    return substitute(gap, vectors) if vectors and isinstance(gap, Linear | GramOperator) else gap


def _told_once(statement: Statement) -> str:
    """Both sides of an identity; where they look the same, one of them."""
    told = statement.latex()
    left, equal, right = told.partition(" = ")
    return left if equal and left == right else told


def _own_lines(statement: Statement, domain: Domain | None) -> Iterator[Line]:
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
            if all(coefficient == 0 for _, coefficient in coefficients(gap(statement, domain))):
                yield "Both sides, which the calculus writes alike", _told_once(statement)
            else:
                yield "Both sides", statement.latex()
                yield from _vanishing("Left minus right side", gap(statement, domain))
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
            yield "Both sides, in normal form", _told_once(statement)
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
            yield "Given", r.latex()


def _moving_letters(statement: MatrixConservation | MatrixDynamics) -> Iterator[Line]:
    """The velocities of letters and symbols."""
    for key, velocity in statement.velocities.items():
        letter = as_letter(key)
        yield "Along the flow", f"{_dot(key if letter is None else letter.symbol)} = {typeset(velocity)}"


def _sign(relation: str) -> str:
    return {">=": r"\ge", "<=": r"\le", "!=": r"\ne"}.get(relation, relation)


def _named(statement: Statement) -> Iterator[Line]:
    """The definitions of the named quantities that occur, each of them once."""
    for quantity in quantities(statement):
        name = typeset(quantity)
        if not _SAYS_ITSELF.search(name):
            yield "With", f"{name} = {typeset(quantity.defined())}"


def _dot(x: Any) -> str:
    """The rate of a symbol: a dot, where it is narrow enough to carry one."""
    name = x if isinstance(x, str) else typeset(x)
    return rf"\frac{{d}}{{dt}} {name}" if "^" in name or width(name) > 2 else rf"\dot{{{name}}}"


def _moving(flow: Flow, x: Any) -> list[Any]:
    """The symbols and vectors of x that have a velocity or a relation."""
    found: dict[Any, None] = {}
    if isinstance(x, (Linear, GramOperator)):
        keys = x.terms if isinstance(x, Linear) else [v for pair in x.outer for v in pair]
        found.update(dict.fromkeys(keys))
    for expression in scalars(x):
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
    if isinstance(quantity, sp.Expr) and quantity not in flow.velocities:
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


def _vanishing(label: str, residual: Any) -> Iterator[Line]:
    """The residual, coefficient by coefficient, that the normal form shows to be zero."""
    for of, coefficient in coefficients(residual):
        if coefficient != 0:
            yield label + (f", coefficient of ${of}$" if of else ""), f"{typeset(coefficient)} = 0"


def coefficients(value: Any) -> Iterator[tuple[str, sp.Expr]]:
    """What each coefficient of a value belongs to, in LaTeX, and the coefficient."""
    match value:
        case tuple() | list():
            for part in value:
                yield from coefficients(part)
        case Combination():
            yield from ((v.latex(), c) for v, c in value.terms.items())
        case GramOperator():
            yield "I", value.identity
            yield from ((rf"{u.latex()} {transposed_latex(v)}", c) for (u, v), c in value.outer.items())
        case Isotropic():
            beta = value.vector.latex()
            yield "I", value.f
            yield rf"{beta} {transposed_latex(value.vector)} / \|{beta}\|^2", value.h
        case sp.Basic():
            yield "", value


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
        rest = difference(statement.expression, statement.leading)
        scale = typeset(statement.remainder)
        yield "Its remainder, bounded by a multiple of the order", rf"{typeset(rest)} = O\left({scale}\right)"
    else:
        yield "The expression", typeset(statement.expression)
        yield "Its exact limit, all else held fixed", statement.latex()
