"""The primitive claims that statements are made of, and how each is decided on a cell of a domain.

* `Zero(x)`: a scalar, vector or operator vanishes identically. Proved by a normal form, refuted by a point.
* `Sign(x, relation)`: a scalar is positive (or non-negative, …) everywhere.

Limits and orders are in `symdyn.proof.limits.orders`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Combination, GramOperator, evaluate
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.parts import atoms as atoms
from symdyn.calculus.parts import components as components
from symdyn.calculus.parts import plain as plain
from symdyn.calculus.vectors import Dot, Linear
from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.signs.cases import Case, follows, in_all_cases, signs_of
from symdyn.proof.signs.defined import (
    Demand,
    Undefined,
    cauchy_schwarz,
    compare,
    demands,
    distinct,
    facts_of,
    nonzero_vectors,
    relations,
)
from symdyn.proof.signs.loci import bends, jumps, points_near
from symdyn.proof.signs.numbers import agrees_with_zero, certified_sign, enclosure
from symdyn.proof.signs.pointwise import sign_at, vanishes_at
from symdyn.proof.signs.slopes import follows_by_slope, granted, stands
from symdyn.proof.undecided import Undecided
from symdyn.proof.verdict import Witness
from symdyn.proof.zero.tower import Tower
from symdyn.statements.domain import Cell, Domain, EmptyDomain, Point
from symdyn.statements.domain import holds as holds_in


@dataclass(frozen=True)
class Finding:
    """What one check found on one cell: an outcome, a grade, a sentence, and a witness if refuted."""

    outcome: str
    grade: str
    evidence: str
    witness: Witness | None = None


class ProofRefuted(RuntimeError):
    """What was proved is refuted at a point: a bug of the engine, which stops the audit and never becomes a verdict."""


EXAMINATION = 5.0
"""Seconds of CPU time in which a proof is put to refutation; what is not refuted by then stands."""


def examined(claim: Any, domain: Domain, cell: Cell) -> Finding:
    """The proof of a claim, after the same claim was put to refutation. Raises ProofRefuted where that succeeds."""
    finding: Finding = claim.prove(domain, cell)
    if finding.outcome == "PROVED" and not getattr(claim, "examines_itself", False):
        with suppress(Undecided, NotImplementedError, BudgetExceeded), cpu_budget(EXAMINATION):
            counter = getattr(claim, "cross_examine", claim.refute)(domain, cell)
            if counter is not None:
                raise ProofRefuted(
                    f"a bug of the engine: '{finding.evidence}' was proved on '{cell.name}' and is refuted: "
                    f"{counter.evidence} at {counter.witness}"
                )
    return finding


def opened(x: Any) -> Any:
    """x with the named quantities in its coefficients replaced by their definitions."""
    if isinstance(x, (list, tuple)):
        return tuple(map(opened, x))
    if isinstance(x, (Combination, GramOperator, Isotropic)):
        return x.map(plain)
    return x if isinstance(x, Linear) or hasattr(x, "at") else plain(formula(x))


def entries(x: Any, point: Point) -> list[sp.Expr]:
    """All numbers that x is at a point, flattened."""
    if isinstance(x, (list, tuple)):
        return [c for y in x for c in entries(y, point)]
    if isinstance(x, Isotropic):
        return [evaluate(plain(c), point) for c in (x.f, x.h)]
    if hasattr(x, "at"):
        return list(x.at(point))
    value = evaluate(opened(x), point)
    flat: list[sp.Expr] = []
    for row in value if isinstance(value, list) else [value]:
        flat.extend(row if isinstance(row, list) else [row])
    return flat


def residuals(x: Any, point: Point) -> Iterator[sp.Expr]:
    """The entries of x at a point, with zero for those that are zero or enclosed with it in less than 1e-60."""
    if isinstance(x, (list, tuple)):
        for y in x:
            yield from residuals(y, point)
    elif isinstance(x, sp.Expr) and vanishes_at(x, point):
        yield sp.S.Zero
    else:
        yield from entries(x, point)


def describe(point: Point) -> dict[str, str]:
    return {
        getattr(name, "name", None) or str(name): "(" + ", ".join(map(str, value)) + ")"
        if isinstance(value, (list, tuple))
        else str(value)
        for name, value in point.items()
    }


def tower(cell: Cell) -> Tower:
    """A tower of roots with the signs of a cell."""
    return Tower(signs_of(cell))


def case_of(domain: Domain, cell: Cell, *exprs: sp.Expr) -> Case:
    """The cell as one case, with all that is known on it about some expressions."""
    facts = facts_of(domain, cell)
    known = {d for x, _ in facts for d in x.atoms(Dot)}
    new = {d for x in exprs for d in x.atoms(Dot) if d.left != d.right} - known
    return Case(cell, (*facts, *(gap for d in sorted(new, key=str) for gap in cauchy_schwarz(d))))


FEW = 2
"""Points in general position, in each dimension, at which a proof is put to refutation besides the degenerate ones."""


def points_of(
    domain: Domain, cell: Cell, near: Iterable[sp.Expr] = (), in_general: int = 6
) -> Iterator[Point]:
    """Points at which a claim is put to refutation: in general position, degenerate, and near zeros."""
    found = False
    for points in (domain.generic(cell, in_general), domain.degenerate(cell)):
        with suppress(EmptyDomain):
            for point in points:
                found = True
                yield point
    if not found:
        yield from domain.generic(cell)
    yield from points_near((domain.unfold(x, cell) for x in near), domain, cell)


def _with_cases(text: str, cases: int) -> str:
    return text if cases == 1 else f"{text}, in each of {cases} cases"


@dataclass(frozen=True)
class Zero:
    """x = 0 identically."""

    x: Any
    label: str = "residual"

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        """A point where x is certainly not zero, or None."""
        x = opened(self.x)
        return self._refute_at(points_of(domain, cell, _bends(x)), cell)

    def cross_examine(self, domain: Domain, cell: Cell) -> Finding | None:
        """Refutation after a proof: rather by degenerate points than by many that are not."""
        return self._refute_at(points_of(domain, cell, _bends(opened(self.x)), FEW), cell)

    def _refute_at(self, points: Iterable[Point], cell: Cell) -> Finding | None:
        x = opened(self.x)
        for point in points:
            for number in residuals(x, point):
                if number is sp.nan or number.has(sp.zoo, sp.nan, sp.oo):
                    continue
                if certified_sign(number) not in (0, None):
                    witness = Witness(describe(point), f"{self.label} = {enclosure(number)}", cell.name)
                    return Finding("REFUTED", "proved", f"{self.label} ≠ 0", witness)
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        parts = components(domain.unfold(self.x, cell))

        def attempt(case: Case) -> None:
            normal = [case.tower().convert(case.read(c)) for c in parts]
            left = sum(1 for num, _ in normal if num)
            if left:
                raise Undecided(f"{left} of {len(normal)} normal forms of the {self.label} are not zero")

        cases = in_all_cases(case_of(domain, cell, *parts), attempt)
        found = f"{len(parts)} normal form(s) vanish" if parts else "no term is left after collecting vectors"
        return Finding("PROVED", "proved", _with_cases(f"{self.label}: {found}", cases))

    def test(self, domain: Domain, cell: Cell) -> Finding:
        """Zero exactly, or enclosed with zero in less than 1e-60, at every point of the cell that is tried."""
        x, count = opened(self.x), 0
        for point in points_of(domain, cell, _bends(x)):
            for number in residuals(x, point):
                if not agrees_with_zero(number):
                    at = ", ".join(f"{name} = {value}" for name, value in describe(point).items())
                    return Finding(
                        "UNKNOWN", "tested", f"{self.label}: {number} at {at} is not known to be zero"
                    )
                count += 1
        return Finding(
            "AGREES", "tested", f"{self.label}: zero, or enclosed with it in 1e-60, at {count} points"
        )


def _bends(x: Any) -> list[sp.Expr]:
    return [u for c in components(x) for u in bends(c)]


class ByProof:
    """What a claim must be besides: proved, as points that agree prove nothing. To stand before the kind of claim."""

    label: str

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        try:
            return super().refute(domain, cell)  # type: ignore[misc, no-any-return]
        except ValueError as foreign:  # a symbol, or a shape, of which the domain knows nothing
            raise Undecided(f"the {self.label}: {foreign}") from foreign

    def test(self, domain: Domain, cell: Cell) -> Finding:
        raise Undecided(f"the {self.label} is not proved to vanish")


@dataclass(frozen=True)
class Compiles(ByProof, Zero):
    """The form that compiles, minus the value that is proved, vanishes."""

    label: str = "form that compiles minus the value"


@dataclass(frozen=True)
class IllPosed:
    """What cannot be claimed, and why: never proved, refuted or tested."""

    reason: str
    x: Any = ()

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        raise Undecided(self.reason)

    test = prove


RELATIONS = {">": (1, True), ">=": (1, False), "<": (-1, True), "<=": (-1, False), "!=": (0, True)}


@dataclass(frozen=True)
class Sign:
    """x > 0 (or ≥, <, ≤, ≠ 0) at every point."""

    x: Any
    relation: str = ">"
    label: str = "expression"

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        x = opened(self.x)
        return self._refute_at(points_of(domain, cell, [x, *jumps(x)]), cell)

    def cross_examine(self, domain: Domain, cell: Cell) -> Finding | None:
        """Refutation after a proof, which says that there are no zeros to look for."""
        return self._refute_at(points_of(domain, cell, jumps(opened(self.x)), FEW), cell)

    def strike(self, domain: Domain, cell: Cell) -> Finding | None:
        """Refutation of a mutant, which may be true as well, by the points that anyone would try."""
        return self._refute_at(domain.generic(cell), cell)

    def _refute_at(self, points: Iterable[Point], cell: Cell) -> Finding | None:
        x = opened(self.x)
        for point in points:
            told = sign_at(x, point) if isinstance(x, sp.Expr) else None
            if told is not None and compare(told, self.relation):
                continue
            (number,) = entries(x, point)
            if not number.is_finite:
                continue
            s = certified_sign(number)
            if s is not None and not compare(s, self.relation):
                witness = Witness(describe(point), f"{self.label} = {enclosure(number)}", cell.name)
                return Finding("REFUTED", "proved", f"not {self.label} {self.relation} 0", witness)
        return None

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        x = plain(domain.unfold(self.x, cell))

        def attempt(case: Case) -> None:
            if not follows(case, case.read(x), self.relation):
                raise Undecided(f"the sign of the {self.label} does not follow from its terms")

        case = case_of(domain, cell, x)
        try:
            cases = in_all_cases(case, attempt)
        except Undecided:
            if not self._by_slope(case, x):
                raise
            return Finding(
                "PROVED", "proved", f"{self.label} {self.relation} 0 from the sign of a derivative"
            )
        text = f"{self.label} {self.relation} 0 from the signs of its terms"
        return Finding("PROVED", "proved", _with_cases(text, cases))

    def _by_slope(self, case: Case, x: sp.Expr) -> bool:
        if self.relation == "!=":
            return False
        above, strict = self.relation in (">", ">="), self.relation in (">", "<")
        y = x if above else -x
        return stands(case, y, strict) or follows_by_slope(case, y, strict)

    def test(self, domain: Domain, cell: Cell) -> Finding:
        return Finding("UNKNOWN", "tested", f"{self.label}: a sign is not decided by points")


@dataclass(frozen=True)
class Defined:
    """Every part of some expressions is real and finite at every point; `but` tells which demands are met otherwise."""

    sides: tuple[Any, ...]
    label: str = "claim"
    but: Callable[[Domain, Cell, Demand], bool] = field(default=lambda *_: False, compare=False, repr=False)
    memory: dict[int, list[Demand]] = field(default_factory=dict, compare=False, repr=False)

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        still_open = self._open(domain, cell)
        if still_open:
            raise Undecided("; ".join(map(self._missing, still_open)))
        return Finding("PROVED", "proved", "")

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        """A point of the cell at which a part is not real or not finite."""
        found = self._open(domain, cell)
        near = [x for demand in found for way in demand.alternatives for x, _ in way]
        demanded = found or [d for d in self._demands(domain, cell) if not self.but(domain, cell, d)]
        for point in points_of(domain, cell, near, 6 if found else FEW) if demanded else ():
            for demand in demanded:
                if holds_in(demand.given, point) and not self._met(demand, point):
                    text = f"{self._missing(demand)}, which fails there"
                    return Finding("REFUTED", "proved", text, Witness(describe(point), text, cell.name))
        return None

    def test(self, domain: Domain, cell: Cell) -> Finding:
        text = "; ".join(map(self._missing, self._open(domain, cell)))
        return Finding("UNKNOWN", "tested", text)

    def _missing(self, demand: Demand) -> str:
        return f"{demand.place} in the {self.label} is a real number only where {demand}"

    def _demands(self, domain: Domain, cell: Cell) -> list[Demand]:
        parts = [c for side in self.sides for c in components(domain.unfold(side, cell))]
        try:
            return distinct(d for c in parts for d in demands(c))
        except Undefined as obstacle:
            raise Undecided(f"the {self.label} is refused: {obstacle}") from obstacle

    def _open(self, domain: Domain, cell: Cell) -> list[Demand]:
        """The demands that do not follow from what is known on the cell."""
        if (known := self.memory.get(id(cell))) is not None:
            return known
        found = self._demands(domain, cell)
        named = [x for d in found for way in d.alternatives for x, _ in way]
        facts = (*case_of(domain, cell, *named).facts, *nonzero_vectors(domain, cell)) if found else ()
        cases: dict[Any, Case] = {}
        for d in found:
            if d.given not in cases:
                cases[d.given] = Case(cell, (*facts, *relations(d.given)))
        self.memory[id(cell)] = [
            d for d in found if not self.but(domain, cell, d) and not _grants(cases[d.given], d)
        ]
        return self.memory[id(cell)]

    def _met(self, demand: Demand, point: Point) -> bool:
        """Whether a demand is met at a point, or cannot be decided there."""
        return any(
            all(self._may_hold(x, relation, point) for x, relation in way) for way in demand.alternatives
        )

    def _may_hold(self, x: sp.Expr, relation: str, point: Point) -> bool:
        s = sign_at(x, point)
        s = certified_sign(evaluate(x, point)) if s is None else s
        return s is None or compare(s, relation)


def _grants(case: Case, demand: Demand) -> bool:
    return any(all(_granted(case, *r) for r in way) for way in demand.alternatives)


def _granted(case: Case, x: sp.Expr, relation: str) -> bool:
    def attempt(here: Case) -> None:
        if not follows(here, here.read(x), relation):
            raise Undecided("it does not follow")

    try:
        in_all_cases(case, attempt)
    except Undecided:
        return granted(case, x, relation)
    return True
