"""The site: sphinx with executed notebooks, and formulas in MathML, so that its pages need no network."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any

from docutils import nodes

from symdyn.render.prose import mathml

project = "symdyn"
author = "The symdyn authors"
copyright = "the symdyn authors"
version = release = version_of("symdyn-learning")

extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
myst_enable_extensions = ["dollarmath", "amsmath"]
nb_execution_mode = "cache"
nb_execution_timeout = 3600  # where no verdict is remembered, all are reached
nb_execution_raise_on_error = True
nb_render_markdown_format = "gfm"
nb_mime_priority_overrides = [("*", "text/latex", 0)]  # formulas are set here, not by a script in the page
html_theme = "furo"
html_title = "symdyn"
html_math_renderer = "mathml"


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div style="overflow: auto hidden">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
