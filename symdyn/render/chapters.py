"""What the book says, before it is LaTeX or HTML: a chapter for each topic, a section for each ledger entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symdyn.auditing import AuditEntry, audit
from symdyn.paper import Entry, Paper, entry, ledger
from symdyn.registry import index, load, printed_forms
from symdyn.render.steps import steps as derivation
from symdyn.statement import Chain, Experiment, Statement

if TYPE_CHECKING:
    from symdyn.result import PrintedForm, Result, Step

Progress = Callable[[str, int, int], None]

BADGES = {
    "holds": "holds",
    "conditional": "holds under a hypothesis",
    "erratum": "erratum",
    "extraction": "text damaged",
    "open": "open",
}


@dataclass(frozen=True)
class Formula:
    """What a statement says: a sentence, a displayed formula, or both. Either may be empty."""

    words: str
    latex: str


@dataclass(frozen=True)
class Derived:
    """A result as the book shows it."""

    key: str
    title: str
    formula: Formula
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Section:
    """An entry of the ledger: what the paper says, what is known, and why."""

    entry: Entry
    audit: AuditEntry
    printed: tuple[Formula, ...]
    results: tuple[tuple[str, Formula], ...]


@dataclass(frozen=True)
class Chapter:
    """A topic: the entries in ledger order, then the derivations of all its results."""

    topic: str
    paper: Paper
    sections: tuple[Section, ...]
    derived: tuple[Derived, ...]

    @property
    def title(self) -> str:
        return self.topic.replace("_", " ").capitalize()

    @property
    def count(self) -> dict[str, int]:
        """How many entries have each status, in the order of the statuses."""
        found = {status: sum(s.audit.status == status for s in self.sections) for status in BADGES}
        return {status: n for status, n in found.items() if n}


def formula(statement: Statement) -> Formula:
    """A statement as a sentence and a formula."""
    if isinstance(statement, Experiment):
        return Formula(statement.claim, "")
    if isinstance(statement, Chain):
        return Formula(statement.conclusion, statement.formula)
    return Formula("", statement.latex())


def chapters(progress: Progress | None = None) -> tuple[Chapter, ...]:
    """One chapter for each topic that has results, in ledger order."""
    topics = {e.topic for e in index()}
    wanted = dict.fromkeys(e.topic for e in ledger().values() if e.topic in topics)
    return tuple(_chapter(topic, progress) for topic in wanted)


def _chapter(topic: str, progress: Progress | None) -> Chapter:
    audited = audit(topic=topic, progress=progress)
    forms = printed_forms(topic)
    sections = tuple(_section(e, forms) for e in audited)
    keys = [e.key for e in index() if e.topic == topic]
    derived = []
    for done, key in enumerate(keys, start=1):
        derived.append(_derived(load(key)))
        if progress is not None:
            progress(key, done, len(keys))
    return Chapter(topic, sections[0].entry.paper, sections, tuple(derived))


def _section(audited: AuditEntry, forms: tuple[PrintedForm, ...]) -> Section:
    printed = tuple(formula(form.statement) for form in forms if form.ledger_id == audited.id)
    keys = {e.key for e in index()}
    results = tuple((key, formula(load(key).statement)) for key in audited.results if key in keys)
    return Section(entry(audited.id), audited, printed, results)


def _derived(result: Result) -> Derived:
    return Derived(result.key, result.title, formula(result.statement), derivation(result.statement))


def formulas(chapter: Chapter) -> Iterator[Any]:
    """Every formula of a chapter, for whoever wants to check them all."""
    for section in chapter.sections:
        yield from (printed.latex for printed in section.printed if printed.latex)
    for derived in chapter.derived:
        if derived.formula.latex:
            yield derived.formula.latex
        yield from (step.latex for step in derived.steps)
