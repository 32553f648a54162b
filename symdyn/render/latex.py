"""LaTeX of results: the statement, broken into lines where it is long, without delimiters."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import sympy as sp

from symdyn.notation import GLOSSARIES
from symdyn.render import prose
from symdyn.render.layout import LINE, display, lines, stacked, tidy, width, without_repetition
from symdyn.statement import Chain, Experiment, Identity, Solution, Statement, typeset

if TYPE_CHECKING:
    from symdyn.result import Result


LEGIBLE = 100
"""A line wider than this is too small to read once it has been scaled to the page."""
NAMED = 12
"""Repeated subexpressions wider than this get a name in formulas that would be wider than that."""


def statement_latex(statement: Statement) -> str:
    """The statement as one formula; of a conclusion in words, the words and then its formula."""
    if isinstance(statement, Experiment):
        return _gathered(prose.katex_lines(statement.claim, LINE))
    if isinstance(statement, Chain):
        words = prose.katex_lines(statement.conclusion, LINE)
        return _gathered(words + ([set_formula(statement.formula)] if statement.formula else []))
    return stacked([cleaned(tex) for tex in short_formulas(statement)])


def _gathered(rows: list[str]) -> str:
    body = " \\\\\n".join(rows)
    return rows[0] if len(rows) == 1 else f"\\begin{{gathered}}\n{body}\n\\end{{gathered}}"


def short_formulas(statement: Statement) -> list[str]:
    """The formula of a statement and, where it is too wide to read, the definitions of what repeats in it."""
    tex = statement.latex()
    if max(map(width, lines(cleaned(tex)))) <= LEGIBLE:
        return [tex]
    folded, definitions = fold(statement)
    return [folded.latex(), *(f"{typeset(symbol)} = {typeset(value)}" for symbol, value in definitions)]


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
    """A formula with symbols as commands and names as the glossaries print them, no needless parentheses."""
    return without_repetition(tidy(named(prose.in_mathematics(tex))))


def set_formula(tex: str) -> str:
    """A formula as it is shown: cleaned, and broken into lines where it is long."""
    return display(cleaned(tex))


_WORD = re.compile(r"\\(?:text|operatorname|mathrm|begin|end)\{(?:[^{}\\]|\\.)*\}|\\[A-Za-z]+|([A-Za-z]{2,})")


def named(tex: str) -> str:
    """The formula with each name that SymPy leaves bare (`label`) in the LaTeX of the glossary (`y`)."""
    words = {term.name: term.latex for glossary in GLOSSARIES.values() for term in glossary}
    return _WORD.sub(lambda m: words.get(m.group(1), m.group()), tex)


def result_latex(result: Result) -> str:
    """The statement of a result as one formula."""
    return statement_latex(result.statement)
