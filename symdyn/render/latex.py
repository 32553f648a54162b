"""LaTeX of results: the statement, broken into lines where it is long, without delimiters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symdyn.notation import GLOSSARIES
from symdyn.render import prose
from symdyn.render.layout import LINE, display, tidy, without_repetition
from symdyn.statement import Chain, Experiment, Statement

if TYPE_CHECKING:
    from symdyn.result import Result


def statement_latex(statement: Statement) -> str:
    """The statement as one formula; of a conclusion in words, the words and then its formula."""
    if isinstance(statement, Experiment):
        return _gathered(prose.katex_lines(statement.claim, LINE))
    if isinstance(statement, Chain):
        words = prose.katex_lines(statement.conclusion, LINE)
        return _gathered(words + ([set_formula(statement.formula)] if statement.formula else []))
    return set_formula(statement.latex())


def _gathered(rows: list[str]) -> str:
    body = " \\\\\n".join(rows)
    return rows[0] if len(rows) == 1 else f"\\begin{{gathered}}\n{body}\n\\end{{gathered}}"


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
