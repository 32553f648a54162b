"""LaTeX of results: the statement, broken into lines where it is long, without delimiters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdyn.render import prose
from symdyn.render.layout import display, tidy
from symdyn.statement import Chain, Experiment, Statement

if TYPE_CHECKING:
    from symdyn.result import Result


def statement_latex(statement: Statement) -> str:
    """The statement as one formula; of a conclusion in words, the words and then its formula."""
    if isinstance(statement, Experiment):
        return prose.katex(statement.claim)
    if isinstance(statement, Chain):
        words = prose.katex(statement.conclusion)
        if not statement.formula:
            return words
        return (
            "\\begin{gathered}\n" + words + " \\\\\n" + set_formula(statement.formula) + "\n\\end{gathered}"
        )
    return set_formula(statement.latex())


def set_formula(tex: str) -> str:
    """A formula as it is shown: symbols as commands, no needless parentheses, broken where it is long."""
    return display(tidy(prose.in_mathematics(tex)))


def result_latex(result: Result) -> str:
    """The statement of a result as one formula."""
    return statement_latex(result.statement)
