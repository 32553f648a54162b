"""Decide a statement on its domain, and make sure that the decision could have gone the other way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import MissingValue
from symdyn.calculus.vectors import Dot, Vector
from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.certificates.certified import certificates
from symdyn.proof.claim import Defined, Finding, ProofRefuted, atoms, components, examined
from symdyn.proof.flows.throughout import Throughout
from symdyn.proof.quantities import faults_of
from symdyn.proof.undecided import Undecided
from symdyn.proof.verdict import Certificates, Verdict, weakest
from symdyn.statements.domain import Cell, Domain, EmptyDomain
from symdyn.statements.kinds import (
    Chain,
    Conservation,
    Definition,
    Dynamics,
    Experiment,
    Identity,
    Inequality,
    Solution,
    Statement,
)

SECONDS = 20.0
FEWEST_MUTANTS = 3


def default_domain(statement: Statement) -> Domain:
    """Every real value of the symbols that occur, and every non-zero vector."""
    occurring = [*statement.expressions, *(claim.x for claim in statement.claims())]
    found: set[Any] = set().union(*(atoms(e) for e in occurring))
    vectors = {v for v in found if isinstance(v, Vector)}
    scalars = {s for s in found if isinstance(s, sp.Symbol) and not isinstance(s, Dot)}
    for dot in (s for s in found if isinstance(s, Dot)):
        vectors |= {dot.left, dot.right}
    return Domain(tuple(sorted(scalars, key=str)), tuple(sorted(vectors, key=str)))


def decide(statement: Statement, domain: Domain | None = None, seconds: float = SECONDS) -> Verdict:
    """The verdict on a statement, without its mutants."""
    start = time.process_time()
    domain = statement.domain or domain or default_domain(statement)
    findings = list(_findings(statement, domain, seconds))
    parts = tuple(decide(fact, domain, seconds) for fact in statement.facts())
    outcomes = [f.outcome for f in findings] + [p.outcome for p in parts]
    grades = [f.grade for f in findings] + [p.grade for p in parts]
    both: list[Finding | Verdict] = [*findings, *parts]
    refuted = next((x for x in both if x.outcome == "REFUTED"), None)
    spent = time.process_time() - start
    if refuted is not None:
        return Verdict("REFUTED", refuted.grade, refuted.evidence, spent, refuted.witness, parts=parts)
    if not outcomes:
        return Verdict("UNKNOWN", "tested", "the statement claims nothing that could be checked", spent)
    outcome = next((o for o in ("UNKNOWN", "ARGUED", "AGREES") if o in outcomes), "PROVED")
    texts = dict.fromkeys([f.evidence for f in findings] + [p.evidence for p in parts])
    evidence = "; ".join(text for text in texts if text)
    if statement.argued and outcome != "UNKNOWN":
        outcome, grades = "ARGUED", [*grades, "argued"]
        evidence = f"that it follows from its facts is said in words; the facts: {evidence}"
    return Verdict(outcome, weakest(grades), evidence, spent, parts=parts)


def _findings(statement: Statement, domain: Domain, seconds: float) -> Iterator[Finding]:
    if isinstance(statement, Experiment):
        yield Finding("UNKNOWN", "simulated", f"measured by the study {statement.study}")
        return
    for fault in faults_of(statement.expressions):
        yield Finding("UNKNOWN", "tested", fault)
    if isinstance(statement, Definition):
        for cell in domain.cells:
            yield _well_formed(statement, domain, cell, seconds)
        return
    for cell in domain.cells:
        yield from _on_cell(statement, domain, cell, seconds)


def _on_cell(statement: Statement, domain: Domain, cell: Cell, seconds: float) -> Iterator[Finding]:
    """What is found of the claims of a statement on a cell: where they are not defined, they can only be refuted."""
    undefined = [
        found
        for claim in (*_defined(statement), *statement.defined())
        if (found := _decide_claim(claim, domain, cell, seconds)).outcome != "PROVED"
    ]
    for claim in statement.claims():
        if not undefined:
            yield _decide_claim(claim, domain, cell, seconds)
        elif (found := _decide_claim(claim, domain, cell, seconds, ("refutation",))).outcome == "REFUTED":
            yield found
    yield from undefined


def _defined(statement: Statement) -> Iterator[Defined]:
    """That what is claimed, as it is written, is real and finite wherever it is claimed."""
    form = getattr(statement, "compiles", None)
    sides = statement.expressions if form is None else (*statement.expressions, form)
    if isinstance(statement, Solution):
        closed = {unknown: formula(x) for unknown, x in statement.solution.items()}
        exists = Throughout(closed, statement.time)
        yield Defined(
            tuple(x.xreplace(closed) if isinstance(x, sp.Basic) else x for x in sides), but=exists.meets
        )
    elif isinstance(statement, (Identity, Inequality, Conservation, Dynamics)):
        yield Defined(sides)


def _well_formed(statement: Definition, domain: Domain, cell: Cell, seconds: float) -> Finding:
    """A definition is real and finite throughout its domain."""
    if any(c.has(sp.zoo, sp.nan, sp.oo, -sp.oo) for c in components(statement.expression)):
        return Finding("REFUTED", "definition", f"undefined on all of the cell '{cell.name}'")
    found = _decide_claim(Defined((statement.expression,), "definition"), domain, cell, seconds)
    if found.outcome != "PROVED":
        return replace(found, grade="definition" if found.outcome == "REFUTED" else found.grade)
    return Finding("PROVED", "definition", "real and finite throughout its domain")


def _decide_claim(
    claim: Any,
    domain: Domain,
    cell: Cell,
    seconds: float,
    ways: tuple[str, ...] = ("proof", "refutation", "test"),
) -> Finding:
    """Prove, or else refute, or else test on points: the first that succeeds.

    A proof is put to refutation before it counts. An exception in one of the three leaves the claim undecided, unless
    another one refutes it.
    """
    obstacles: list[str] = []
    failed = False
    attempts = {"proof": partial(examined, claim), "refutation": claim.refute, "test": claim.test}
    for name in ways:
        attempt = attempts[name]
        try:
            with cpu_budget(seconds):
                finding = attempt(domain, cell)
        except (EmptyDomain, ProofRefuted):
            raise
        except (Undecided, BudgetExceeded, NotImplementedError) as obstacle:
            obstacles.append(str(obstacle))
            continue
        except MissingValue as failure:
            failed = True
            obstacles.append(f"{failure}: the domain has no such symbol or vector; add it there")
            continue
        except Exception as failure:
            failed = True
            obstacles.append(f"the {name} ended in {type(failure).__name__}: {failure}")
            continue
        if finding is not None and finding.outcome == "AGREES" and (gap := domain.uncovered(cell)):
            obstacles.append(f"{finding.evidence}; {gap}")
            continue
        if (
            finding is not None
            and finding.outcome != "UNKNOWN"
            and (finding.outcome == "REFUTED" or not failed)
        ):
            return finding  # type: ignore[no-any-return]
        if finding is not None and not failed:
            obstacles.append(finding.evidence)
    return Finding("UNKNOWN", "tested", "; ".join(dict.fromkeys(obstacles)))


def refuted(statement: Statement, domain: Domain, but: Sequence[tuple[Any, Domain]] = ()) -> bool:
    """Whether the check refutes a statement: the quick way, by points and exact limits alone.

    Nothing is tried of the claims `but`, each on a domain, which stand already.
    """
    domain = statement.domain or domain
    for claim in statement.claims():
        if any(where is domain and known == claim for known, where in but):
            continue
        for cell in domain.cells:
            try:
                with cpu_budget(SECONDS):
                    if getattr(claim, "strike", claim.refute)(domain, cell) is not None:
                        return True
            except EmptyDomain:
                raise
            except Exception:  # a mutant that is not refuted survives, whatever kept it from being refuted
                continue
    return any(refuted(fact, domain, but) for fact in statement.facts())


def _claims(statement: Statement, domain: Domain) -> Iterator[tuple[Any, Domain]]:
    """The claims of a statement and of its facts, each with its domain."""
    domain = statement.domain or domain
    yield from ((claim, domain) for claim in statement.claims())
    for fact in statement.facts():
        yield from _claims(fact, domain)


def verify(statement: Statement, domain: Domain | None = None, few_mutants: str = "") -> Verdict:
    """The verdict on a statement together with the fate of its mutants.

    A mutant the check proves is an equivalent claim, or for an inequality one that is true as well, and is not
    counted; but where facts are to characterise a value, no other value may satisfy them. One that is neither
    refuted nor proved survives. Fewer than three refuted mutants need a reason. Of each scalar claim a certificate is
    searched, for the kernel to check.
    """
    start = time.process_time()
    domain = statement.domain or domain or default_domain(statement)
    verdict = decide(statement, domain)
    killed, survivors = [], []
    if verdict.stands and (verdict.facts or verdict.grade) != "definition":
        standing = list(_claims(statement, domain))
        for label, mutant in statement.mutants():
            if refuted(mutant, domain, standing):
                killed.append(label)
            elif not _accounted_for(mutant, statement, domain):
                survivors.append(label)
        if len(killed) < FEWEST_MUTANTS and not few_mutants:
            survivors.append(
                f"only {len(killed)} of {FEWEST_MUTANTS} mutants were refuted; say why in few_mutants=…"
            )
    found = certificates(statement, domain) if verdict.stands else Certificates()
    told = f"; certificate checked: {found.checked} of {found.claims} claims" if found.checked else ""
    spent = time.process_time() - start
    return Verdict(
        verdict.outcome,
        verdict.grade,
        verdict.evidence + (f"; {len(killed)} mutants refuted" if killed else "") + told,
        spent,
        verdict.witness,
        tuple(killed),
        tuple(survivors),
        verdict.parts,
        found,
    )


def _accounted_for(mutant: Statement, statement: Statement, domain: Domain) -> bool:
    """Whether a mutant that was not refuted is true. One of a value that is characterised must be the same value."""
    if isinstance(mutant, Inequality):
        return True
    if isinstance(mutant, Chain) and mutant.characterised is not None:
        mutant = Identity(mutant.compiles, statement.value)
    outcome = decide(mutant, domain, seconds=5.0).outcome
    return outcome == "PROVED" or (statement.argued and outcome == "ARGUED")
