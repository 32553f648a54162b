"""The scalar claims of a statement as lemmas for Rocq, with their proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symdyn.certify.search import Proof
from symdyn.lemmas.claims import false_hypotheses, not_scalar, scalar_claims, written
from symdyn.lemmas.page import Lemma, Unprintable
from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.check import SECONDS, default_domain
from symdyn.proof.zero.exponents import simpler
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Statement


def _on(statement: Statement, domain: Domain | None) -> Domain:
    return statement.domain or domain or default_domain(statement)


def lemmas(key: str, statement: Statement, domain: Domain | None) -> Iterator[Lemma | tuple[str, str, str]]:
    """The lemmas of a result, or (which claim, on which cell, why there is none)."""
    for found in scalar_claims(key, statement, _on(statement, domain)):
        if len(found) == 2:
            yield found[0], "", found[1]
            continue
        name, label, on, cell, writer = found
        try:
            with cpu_budget(SECONDS):
                made = lemma(name, label, on, cell, writer)
            yield made
        except (Unprintable, RecursionError, BudgetExceeded) as obstacle:
            yield f"{name}: {label}" if label else name, cell.name, str(obstacle)
        except Exception as failure:  # one claim that cannot be printed leaves the others as they are
            yield f"{name}: {label}" if label else name, cell.name, f"{type(failure).__name__}: {failure}"


def others(statement: Statement, domain: Domain | None) -> int:
    """How many claims of a statement Rocq is not asked."""
    return not_scalar(statement, _on(statement, domain))


def printed(key: str, statement: Statement, domain: Domain | None) -> Iterator[str]:
    """What is claimed, as it is printed: the lemmas without a proof, and what cannot be printed."""
    for found in scalar_claims(key, statement, _on(statement, domain)):
        try:
            yield ": ".join(found) if len(found) == 2 else written(*found, simpler)[0].stated("L")
        except Exception as obstacle:
            yield f"{found[0]}: {obstacle}"


def lemma(name: str, label: str, domain: Domain, cell: Cell, writer: Any) -> Lemma:
    """The lemma of one claim on one cell, with its proof. Its hypotheses are true at points of the cell."""
    made, page = written(name, label, domain, cell, writer, simpler)
    made.false, points = false_hypotheses(domain, cell, made, page)
    made.proof = Proof(page, made, points).write()
    return made
