"""Restrictions: what keeps a result from being claimed everywhere, and the hypotheses that say whence each comes.

What a result restricts, by its domain, those of its facts, ``requires`` and the declarations of its matrices, is read
off by ``restrictions``; each has to be what some hypothesis is about, or the result restricts silently. The module
``hypotheses`` of a topic's package lists in HYPOTHESES what holds throughout: a result has those that it needs.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.vectors import Dot
from symdyn.catalogue.packages import home
from symdyn.proof.claim import atoms
from symdyn.statements.hypothesis import Defined, Hypothesis, Restriction, canonical, checked, joined

if TYPE_CHECKING:
    from symdyn.catalogue.result import PrintedForm, Result
    from symdyn.statements.domain import Cell, Domain
    from symdyn.statements.kinds import Statement

DIMENSION = "d"
"""What a hypothesis on the dimension of the vectors is about."""
_LEAST = re.compile(r"(?<![A-Za-z0-9_])d\s*(>=|≥|>)\s*(\d+)")


class SilentRestriction(ValueError):
    """A result is claimed under a condition of which nothing says where it comes from."""


def quantities_of(*parts: Any) -> frozenset[Any]:
    """Scalars, vectors and inner products that occur in expressions."""
    found: set[Any] = set()
    for part in parts:
        if isinstance(part, sp.Basic):
            dots = part.atoms(Dot)
            found |= part.free_symbols | dots
            found |= {vector for dot in dots for vector in (dot.left, dot.right)}
            found |= {applied.func for applied in part.atoms(sp.core.function.AppliedUndef)}
        else:
            found.add(part)
    return frozenset(found)


def _restriction(relation: Any, text: str = "") -> Restriction:
    return Restriction(text or str(relation), quantities_of(relation), canonical(relation))


def of_domain(domain: Domain) -> Iterator[Restriction]:
    """What a domain leaves out, cells and conditions, dimensions and samplers."""
    yield from _of_cells(domain.cells)
    for condition in domain.conditions:
        if isinstance(condition, sp.Basic):
            yield _restriction(condition)
        else:
            yield Restriction(getattr(condition, "__name__", "a condition"), frozenset({condition}))
    lowest = max(
        [min(domain.dimensions or (1,)), *(int(n) + (by == ">") for by, n in _LEAST.findall(domain.words))]
    )
    if lowest > 1:
        yield Restriction(f"d ≥ {lowest}", frozenset({DIMENSION}))
    if domain.sampler is not None:
        dimension = max(domain.dimensions or (3,))
        drawn = [x for seed in range(4) for x in domain.sampler(random.Random(seed), dimension)]
        name = getattr(domain.sampler, "__name__", "sampler")
        yield Restriction(f"points of {name}", quantities_of(domain.sampler, *drawn))


def _of_cells(cells: tuple[Cell, ...]) -> Iterator[Restriction]:
    """The signs, values and equations that no cell goes without."""
    sides: dict[Any, list[frozenset[int]]] = {}
    equations: dict[Any, list[Any]] = {}
    for k, cell in enumerate(cells):
        given = {q: frozenset({s}) for q, s in cell.signs.items()}
        for quantity, value in cell.where.items():
            if value == 0:
                given[quantity] = frozenset({0})
            else:
                given[quantity] = frozenset()  # a single value covers no sign
                equations.setdefault(quantity, []).append(sp.Eq(quantity, formula(value), evaluate=False))
        for quantity, allowed in given.items():
            sides.setdefault(quantity, [_all(quantity)] * len(cells))[k] = allowed
    whole = {}
    for quantity, by_cell in sides.items():
        allowed = frozenset().union(*by_cell)
        if allowed == _all(quantity):
            whole[quantity] = by_cell
        else:
            said = [
                *dict.fromkeys(equations.get(quantity, ())),
                *([_said(quantity, allowed)] if allowed else []),
            ]
            yield _restriction(sp.Or(*said, evaluate=False) if len(said) > 1 else said[0])
    boxes = [tuple(by_cell[k] for by_cell in whole.values()) for k in range(len(cells))]
    for corner in itertools.product(*map(_all, whole)):
        if not any(all(s in side for s, side in zip(corner, box, strict=True)) for box in boxes):
            left_out = zip(whole, corner, strict=True)
            text = " and ".join(f"{q} {'<=>'[s + 1]} 0" for q, s in left_out)
            yield Restriction(f"without {text}", quantities_of(*whole))
            return


def _all(quantity: Any) -> frozenset[int]:
    square = isinstance(quantity, Dot) and quantity.left == quantity.right
    return frozenset({0, 1}) if square else frozenset({-1, 0, 1})


def _said(quantity: Any, allowed: frozenset[int]) -> Any:
    """A set of signs as a relation."""
    relation = {
        frozenset({1}): sp.Gt,
        frozenset({-1}): sp.Lt,
        frozenset({0}): sp.Eq,
        frozenset({0, 1}): sp.Ge,
        frozenset({-1, 0}): sp.Le,
    }.get(allowed, sp.Ne)
    return relation(quantity, 0, evaluate=False)


def _by_let(everywhere: Iterable[Domain], statement: Statement) -> Iterator[Restriction]:
    """What a domain makes of quantities that the statement names: x = q² is not negative, and β = a w fits a and w."""
    defined = [(x, value) for domain in everywhere for x, value in domain.let.items()]
    named = quantities_of(*_atoms(statement)) if defined else frozenset()
    for quantity, value in defined:
        if quantity in named:
            yield Restriction(f"{quantity} = {value}", frozenset({quantity, Defined(quantity)}))


def _atoms(statement: Statement) -> Iterator[Any]:
    for expression in statement.expressions:
        yield from atoms(expression)
    for fact in statement.facts():
        yield from _atoms(fact)


def domains(statement: Statement) -> Iterator[Domain]:
    """The domains that a statement and its facts name themselves."""
    if statement.domain is not None:
        yield statement.domain
    for fact in statement.facts():
        yield from domains(fact)


def _declared(statement: Statement) -> Iterator[Restriction]:
    """What the declarations of matrices suppose."""
    for declaration in getattr(getattr(statement, "rules", None), "declarations", ()):
        yield from (_restriction(_said(q, frozenset({s}))) for q, s in declaration.signs.items())
        if declaration.rules or not declaration.signs:
            yield Restriction(declaration.name, frozenset({declaration.name, *declaration.letters}))
    for fact in statement.facts():
        yield from _declared(fact)


def restrictions(result: Result | PrintedForm) -> tuple[Restriction, ...]:
    """Whatever restricts a result, each once: by its domain, those of its facts, its matrices, and what it requires."""
    everywhere = [result.domain] if result.domain is not None else []
    everywhere += domains(result.statement)
    found = [r for domain in everywhere for r in of_domain(domain)]
    found += _by_let(everywhere, result.statement)
    found += _declared(result.statement)
    found += [_restriction(relation) for _, relation, _ in result.requires]
    return tuple({r.text: r for r in found}.values())


def declared(result: Result | PrintedForm) -> tuple[Hypothesis, ...]:
    """The hypotheses of a result: its own, those of its domains, and of those of its topic the ones that it needs."""
    own = [*own_hypotheses(result)]
    for domain in domains(result.statement):
        own += domain.hypotheses
    left = [r for r in restrictions(result) if not any(h.covers(r) for h in own)]
    own += [h for h in of_topic(result.module) if any(h.covers(r) for r in left)]
    return _once(own)


def _once(hypotheses: Iterable[Hypothesis]) -> tuple[Hypothesis, ...]:
    return tuple({(h.origin, h.place, h.words): h for h in hypotheses}.values())


def own_hypotheses(result: Result | PrintedForm) -> tuple[Hypothesis, ...]:
    """What the result and its domain declare, known before the statement is."""
    return result.hypotheses + (result.domain.hypotheses if result.domain is not None else ())


def added_to(result: Result | PrintedForm) -> tuple[Hypothesis, ...]:
    """The hypotheses that the paper does not say."""
    return _once(h for h in own_hypotheses(result) if h.origin == "added")


def of_topic(module: str) -> tuple[Hypothesis, ...]:
    """What holds throughout the topic of a module: HYPOTHESES of the module ``hypotheses`` of its package."""
    name = beside(module)
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # a script, or a package that is not there
        found = None
    if found is None:
        return ()
    listed = getattr(importlib.import_module(name), "HYPOTHESES", None)
    if listed is None:
        raise TypeError(
            f"{name} lists no HYPOTHESES: write HYPOTHESES = (standing(…), …) there, or rename it"
        )
    return checked(listed)


def beside(module: str) -> str:
    """The module that holds the hypotheses of the topic of another one."""
    return f"{home(module)}.hypotheses"


def silent(result: Result | PrintedForm) -> tuple[str, ...]:
    """What restricts a result of the ledger without a hypothesis that is about it."""
    if not result.ledger:
        return ()
    known = declared(result)
    missing = [r.text for r in restrictions(result) if not any(h.covers(r) for h in known)]
    said = result.domain.words if result.domain is not None else ""
    return tuple(missing or ([said] if said and not known else ()))


def refuse_silent(result: Result | PrintedForm) -> None:
    """Raise SilentRestriction where a result of the ledger restricts and nothing says whence that comes."""
    if missing := silent(result):
        raise SilentRestriction(
            f"{result.key} restricts without saying why: {'; '.join(missing)}. Declare each in hypotheses=(…) as "
            "stated(place, words, quantities), standing(place, words, quantities) or added(words, quantities)"
        )
    hidden = {h.words for h in declared(result) if h.origin == "added"} - {h.words for h in added_to(result)}
    if hidden and result.ledger:
        raise SilentRestriction(
            f"{result.key} adds a hypothesis in a fact or for its whole topic: {'; '.join(sorted(hidden))}. Declare it "
            "in hypotheses=(…) of the result"
        )


def refuse_added(form: PrintedForm) -> None:
    """Raise SilentRestriction where a printed form is claimed under what the paper does not say."""
    if hidden := added_to(form):
        raise SilentRestriction(
            f"{form.key} is claimed under what the paper does not say: {joined(hidden)}. A printed form is claimed as "
            "the paper claims it; what is added goes into hypothesis=…, and the domain with it into under=…"
        )
