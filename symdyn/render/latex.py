"""LaTeX of results: the statement, broken into lines where it is long, without delimiters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdyn.render import prose
from symdyn.render.layout import display
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
        return "\\begin{gathered}\n" + words + " \\\\\n" + display(statement.formula) + "\n\\end{gathered}"
    return display(prose.in_mathematics(statement.latex()))


def result_latex(result: Result) -> str:
    """The statement of a result as one formula."""
    return statement_latex(result.statement)
