"""How the search says that it cannot go on."""

from __future__ import annotations

from typing import Any


class Undecided(Exception):
    """The expression needs a fact (usually a sign) that the cell does not provide."""


class NeedsSign(Undecided):
    """The sign of an expression is needed: `split` says of which, so that cases can be told apart."""

    def __init__(self, text: str, split: Any = None) -> None:
        super().__init__(text)
        self.split = split
