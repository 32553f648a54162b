"""LaTeX of results: the statement, broken into lines where it is long, without delimiters."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import sympy as sp

from symdyn.render import prose
from symdyn.render.layout import LINE, display, lines, stacked, tidy, width, without_repetition
from symdyn.render.spelling import quantities, spelled_apart
from symdyn.statements.inference import Characterised, Rule
from symdyn.statements.kinds import Chain, Conjunction, Experiment, Identity, Solution, Statement, typeset
from symdyn.statements.notation import vocabulary

if TYPE_CHECKING:
    from symdyn.catalogue.result import Result


LEGIBLE = 100
"""A line wider than this is too small to read once it has been scaled to the page."""
NAMED = 12
"""Repeated subexpressions wider than this get a name in formulas that would be wider than that."""


def statement_latex(statement: Statement, topic: str = "") -> str:
    """The statement as one formula in the symbols of a topic; of a conclusion in words, the words and a formula."""
    with vocabulary(topic):
        return statement_formula(statement)


def statement_formula(statement: Statement) -> str:
    """The statement as one formula, in the symbols of the vocabulary at work."""
    if isinstance(statement, Experiment):
        return _gathered(prose.katex_lines(statement.claim, LINE))
    if isinstance(statement, Conjunction):
        return _gathered([_with_domain(fact) for fact in statement.because])
    if isinstance(statement, Characterised):
        facts = [_with_domain(fact) for fact in statement.because]
        return _gathered([set_formula(statement.equation()), r"\text{satisfies}", *facts])
    if isinstance(statement, Chain | Rule):
        words = prose.katex_lines(statement.conclusion, LINE)
        return _gathered(words + ([set_formula(statement.formula)] if statement.formula else []))
    return stacked([cleaned(tex) for tex in short_formulas(statement)])


def _with_domain(fact: Statement) -> str:
    """A fact as a formula, with the words of its own domain."""
    words = fact.domain.words if fact.domain is not None else ""
    return statement_formula(fact) + (rf" \qquad {prose.katex(words)}" if words else "")


def _gathered(rows: list[str]) -> str:
    body = " \\\\\n".join(rows)
    return rows[0] if len(rows) == 1 else f"\\begin{{gathered}}\n{body}\n\\end{{gathered}}"


def short_formulas(statement: Statement) -> list[str]:
    """The formula of a statement; where it is too wide to read, the definitions of what repeats in it; and those
    of symbols that would mean several things if they were not told apart.
    """
    apart = spelled_apart(statement)
    definitions = [] if apart is statement else [(q, q.defined()) for q in quantities(apart)]
    if max(map(width, lines(cleaned(apart.latex())))) > LEGIBLE:
        apart, repeated = fold(apart)
        definitions = repeated + definitions
    return [apart.latex(), *(f"{typeset(symbol)} = {typeset(value)}" for symbol, value in definitions)]


def fold(statement: Statement) -> tuple[Statement, list[tuple[sp.Symbol, sp.Expr]]]:
    """An identity or a solution with repeated subexpressions named z_1, z_2, …; short ones stay as they are."""
    if isinstance(statement, Identity):
        parts = [statement.lhs, statement.rhs]
    elif isinstance(statement, Solution):
        parts = list(statement.solution.values())
    else:
        return statement, []
    if not all(isinstance(part, sp.Expr) for part in parts):
        return statement, []
    found, parts = sp.cse(parts, order="none")
    names = (sp.Symbol(f"z_{number}", real=True) for number in count(1))
    inside: dict[sp.Symbol, sp.Expr] = {}
    definitions = []
    for symbol, value in found:
        value = value.xreplace(inside)
        inside[symbol] = value
        if width(typeset(value)) > NAMED:
            inside[symbol] = next(names)
            definitions.append((inside[symbol], value))
    parts = [part.xreplace(inside) for part in parts]
    if isinstance(statement, Identity):
        return replace(statement, lhs=parts[0], rhs=parts[1]), definitions
    return replace(statement, solution=dict(zip(statement.solution, parts, strict=True))), definitions


def cleaned(tex: str) -> str:
    """A formula with its symbols as commands and without needless parentheses."""
    return without_repetition(tidy(prose.in_mathematics(tex)))


def set_formula(tex: str) -> str:
    """A formula as it is shown: cleaned, and broken into lines where it is long."""
    return display(cleaned(tex))


def result_latex(result: Result) -> str:
    """The statement of a result as one formula."""
    return statement_latex(result.statement, result.topic)
