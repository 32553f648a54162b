"""How a result shows itself in a notebook: the formula, its source, its verdict."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from symdyn.render import prose

if TYPE_CHECKING:
    from symdyn.catalogue.result import Result
    from symdyn.proof.verdict import Verdict


def result_html(result: Result) -> str:
    """The formula for MathJax, the title above it, source and verdict below it."""
    return (
        f"<p><b>{prose.html_text(result.title)}</b> <code>{html.escape(result.key)}</code></p>\n"
        f"<div>$$\n{html.escape(result.latex(), quote=False)}\n$$</div>\n"
        f"<p><small>{source(result)}. {verdict_words(result.verify())}</small></p>"
    )


def source(result: Result) -> str:
    """Where the result comes from: the papers and the places in them, or that it is our own."""
    places = [f"{e.paper.key}, {e.where} ({e.id})" for e in result.entries]
    return html.escape("; ".join(places)) if places else "A result of symdyn's own"


def verdict_words(verdict: Verdict) -> str:
    """The verdict in one sentence."""
    return prose.html_text(
        f"{verdict.outcome} ({verdict.grade}) in {verdict.seconds:.2f} s: {verdict.evidence}"
    )
