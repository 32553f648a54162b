"""The glossary of a topic: what every symbol means, how it prints, and what it is when left out of a call.

A symbol carries its type and that it is real, never a sign: that a learning rate is positive is a condition on
the arguments of compiled functions, stated here once for the topic. Two topics may use one name for two things
(β a vector or a matrix, φ a cosine or an activation); within a topic a name has one meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from symdyn.calculus.gram import Vector
from symdyn.calculus.matrix import Expression, matrix
from symdyn.calculus.vectors import Entries, Printer


@dataclass(frozen=True)
class Term:
    """One word of the vocabulary: the symbol, its LaTeX, its meaning, and the default of its argument.

    `positive` says that compiled functions of the topic refuse a value that is not positive.
    """

    symbol: Any
    latex: str
    meaning: str
    default: Any = None
    positive: bool = False

    @property
    def name(self) -> str:
        return self.symbol.name  # type: ignore[no-any-return]


@dataclass
class Glossary:
    """The vocabulary of a topic, in the order in which functions take their arguments."""

    topic: str
    terms: dict[Any, Term] = field(default_factory=dict)
    compiles: bool = True
    """Whether results of the topic are functions of its terms; where not, its evaluators are what computes."""

    def _declare(
        self, symbol: Any, latex: str, meaning: str, default: Any = None, positive: bool = False
    ) -> Any:
        for other in self.terms.values():
            if other.name == symbol.name:
                raise ValueError(f"'{symbol.name}' already means '{other.meaning}' in topic '{self.topic}'")
        if not meaning:
            raise ValueError(f"say what '{symbol.name}' means")
        self.terms[symbol] = Term(symbol, latex, meaning, default, positive)
        return symbol

    def scalar(
        self, name: str, latex: str, meaning: str, default: Any = None, *, positive: bool = False
    ) -> Any:
        """A real number; see `Term` for `positive`."""
        return self._declare(sp.Symbol(name, real=True), latex, meaning, default, positive)

    def vector(self, name: str, latex: str, meaning: str) -> Vector:
        """A vector of any dimension d."""
        return self._declare(Vector(name, latex), latex, meaning)  # type: ignore[no-any-return]

    def entries(self, name: str, latex: str, meaning: str) -> Entries:
        """A square matrix of any size as the vector of its n² entries: inner products are Frobenius'."""
        return self._declare(Entries(name, latex), latex, meaning)  # type: ignore[no-any-return]

    def matrix(
        self, name: str, rows: Any, cols: Any, latex: str, meaning: str, *, symmetric: bool = False
    ) -> Expression:
        """A matrix of symbolic shape rows × cols, a letter of the matrix calculus."""
        expression = matrix(name, rows, cols, latex, symmetric=symmetric)
        self._declare(expression.letter, latex, meaning)
        return expression

    def function(self, head: Any, latex: str, meaning: str) -> Any:
        """An unspecified function, such as a potential."""
        return self._declare(head, latex, meaning)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.terms

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms.values())

    @property
    def latex_names(self) -> dict[Any, str]:
        return {term.symbol: term.latex for term in self}


GLOSSARIES: dict[str, Glossary] = {}


def glossary(topic: str) -> Glossary:
    """The glossary of a topic, created on first use."""
    return GLOSSARIES.setdefault(topic, Glossary(topic))


@contextmanager
def vocabulary(topic: str) -> Iterator[None]:
    """While it lasts, scalars print as the glossary of the topic has them: `label` as y, `a2` as ‖a‖²."""
    before = Printer._global_settings.get("symbol_names", {})
    words = {t.symbol: t.latex for t in GLOSSARIES.get(topic, ()) if isinstance(t.symbol, sp.Symbol)}
    Printer.set_global_settings(symbol_names=words)
    try:
        yield
    finally:
        Printer.set_global_settings(symbol_names=before)
