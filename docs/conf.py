"""The site: sphinx with executed notebooks."""

from importlib.metadata import version as version_of

project = "symdyn"
author = "The symdyn authors"
copyright = "the symdyn authors"
version = release = version_of("symdyn-learning")

extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["jupyter_execute"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
html_theme = "furo"
html_title = "symdyn"
