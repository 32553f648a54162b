"""Which claims of a statement have a certificate that the kernel has checked."""

from __future__ import annotations

from typing import Any

from symdyn.kernel import Refused, check
from symdyn.lemmas.algebra import claimed
from symdyn.lemmas.claims import false_hypotheses, not_scalar, scalar_claims, written
from symdyn.lemmas.page import Unprintable
from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.certificates.certificate_search import SECONDS, NotFound, certificate
from symdyn.proof.verdict import Certificates
from symdyn.proof.zero.exponents import simpler
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Statement

POINTS = 5
"""At so many points of a cell, in each claim, what a lemma supposes is evaluated; `symdyn certify` does so at all."""

WRITING = 5.0
"""The CPU time in which a lemma is to be written, in seconds."""


def certificates(statement: Statement, domain: Domain) -> Certificates:
    """Search a certificate for each scalar claim on each cell, and have the kernel check it.

    A claim without one is left as it is: its verdict stands on the engine alone.
    """
    count, left = 0, []
    for found in scalar_claims("", statement, domain, definitions=True):
        count += 1
        obstacle = found[1] if len(found) == 2 else _obstacle(found)
        if obstacle:
            name = found[0].strip(".") or "the statement"
            place = "" if len(found) == 2 else f" on '{found[3].name}'"
            left.append(f"{name}{place}: {obstacle}")
    return Certificates(count, count - len(left), not_scalar(statement, domain, True), tuple(left))


def _obstacle(found: Any) -> str:
    """Why a claim has no checked certificate; empty if it has one."""
    try:
        with cpu_budget(WRITING):
            name, label, domain, cell, writer = found
            lemma, page = written(name, label, domain, cell, writer, simpler)
            claim = claimed(lemma)
        with cpu_budget(2 * SECONDS):
            check(claim, certificate(claim))
        with cpu_budget(WRITING):
            false, _ = false_hypotheses(domain, cell, lemma, page, POINTS)
    except (NotFound, Refused, Unprintable, BudgetExceeded, RecursionError) as obstacle:
        return str(obstacle)[:200]
    except Exception as failure:  # a claim that cannot be written leaves the others as they are
        return f"{type(failure).__name__}: {failure}"[:200]
    return f"false at a point, {false[0]}" if false else ""
