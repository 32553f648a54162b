"""Closed forms that exist at all times from zero on: what a solution of an initial-value problem must do besides.

A closed form with a pole at T solves the equation until T, and from there on another problem. So whatever stands in
a denominator, under a root or in a logarithm keeps its sign from time zero to the time of the claim. On a cell that
says of the time no more than its sign this follows if the sign is strict on the whole cell; where the domain bounds
the time, a sum of two exponentials has at most one zero, so that one sign at both ends is the sign in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.proof.claim import Finding, describe, plain
from symdyn.proof.limits.expansion import Field
from symdyn.proof.limits.orders import Case, completed, evaluated, first_case
from symdyn.proof.signs.defined import Demand, Undefined, demands
from symdyn.proof.signs.numbers import certified_sign
from symdyn.proof.signs.pointwise import sign_at
from symdyn.proof.undecided import Undecided
from symdyn.proof.verdict import Witness
from symdyn.proof.zero.hyperbolic import exponent_terms, inverse_function, to_exponentials
from symdyn.statements.domain import Cell, Domain, Point

STEPS = 8
BISECTIONS = 100
POINTS = 8
LATE = 50

POSITIVE_PARTS = {
    sp.log: lambda z: z,
    sp.atanh: lambda z: 1 - z**2,
    sp.asin: lambda z: 1 - z**2,
    sp.acos: lambda z: 1 - z**2,
    sp.acosh: lambda z: z - 1,
}
ZERO_FREE_PARTS = {sp.tan: sp.cos, sp.cot: sp.sin, sp.Abs: lambda z: z, sp.sign: lambda z: z}


def places(expr: sp.Expr, time: sp.Symbol) -> Iterator[tuple[sp.Expr, bool]]:
    """What depends on the time and must not vanish, and whether it must be positive."""
    for node in sp.preorder_traversal(expr):
        if not node.has(time):
            continue
        if isinstance(node, sp.Piecewise) and any(
            c.has(time) for _, c in node.args if c not in (True, False)
        ):
            raise Undecided(f"pieces that begin at different times: {node}")
        if node.is_Pow and node.base.has(time) and not (node.exp.is_Integer and node.exp > 0):
            yield node.base, not node.exp.is_Integer
        elif node.func in POSITIVE_PARTS:
            yield POSITIVE_PARTS[node.func](node.args[0]), True
        elif node.func in ZERO_FREE_PARTS:
            yield ZERO_FREE_PARTS[node.func](node.args[0]), False
        elif isinstance(node, (sp.coth, sp.csch)):
            yield sp.sinh(node.args[0]), False


@dataclass(frozen=True)
class Throughout:
    """Closed forms that exist from time zero to the time of the claim."""

    closed: Mapping[sp.Symbol, sp.Expr] = field(hash=False)
    time: sp.Symbol
    label: str = "closed form"
    memory: dict[int, frozenset[tuple[Any, Any]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def x(self) -> tuple[sp.Expr, ...]:
        """What the claim is about."""
        return tuple(self.closed.values())

    def _places(self, domain: Domain, cell: Cell) -> list[tuple[sp.Symbol, sp.Expr, bool]]:
        moving = {*domain.let, *cell.where}
        found = []
        for unknown, closed in self.closed.items():
            for s in closed.free_symbols & moving:
                meant = cell.where.get(s, domain.let.get(s))
                if formula(domain.unfold(meant, cell)).has(self.time):
                    raise Undecided(f"{s} in the {self.label} of {unknown} depends on {self.time}: {meant}")
            expr = plain(domain.unfold(plain(closed), cell))
            found += [(unknown, *place) for place in dict.fromkeys(places(expr, self.time))]
        return found

    def meets(self, domain: Domain, cell: Cell, demand: Demand) -> bool:
        """Whether a demand that depends on the time is one of the closed forms, which exist up to it by a proof."""
        if not any(x.has(self.time) for way in demand.alternatives for x, _ in way):
            return False
        if id(cell) not in self.memory:
            self.memory[id(cell)] = frozenset()
            with suppress(Undecided, Undefined, NotImplementedError):
                self.prove(domain, cell)
                own = (d for x in self.x for d in demands(plain(domain.unfold(plain(x), cell))))
                self.memory[id(cell)] = frozenset((d.alternatives, d.given) for d in own)
        return (demand.alternatives, demand.given) in self.memory[id(cell)]

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        """The proof, which is looked for once on each cell of a domain: that a solution is defined asks for it too."""
        known = domain.__dict__.setdefault("_existence", {})
        key = (tuple(self.closed.items()), self.time, cell.name, id(cell))
        if key not in known:
            try:
                known[key] = self._prove(domain, cell)
            except Undecided as obstacle:
                known[key] = obstacle
        if isinstance(known[key], Undecided):
            raise known[key]
        return known[key]  # type: ignore[no-any-return]

    def _prove(self, domain: Domain, cell: Cell) -> Finding:
        found = self._places(domain, cell)
        case = first_case(domain, cell, None)
        bounded = Case(case.signs, tuple(f for f in case.facts if not f[0].has(self.time)))
        for unknown, expr, positive in found:
            above, below = sp.fraction(sp.together(to_exponentials(expr)))
            for part in (above, below):
                if part.has(self.time) and not self._keeps_sign(part, case, bounded):
                    raise Undecided(f"{part} in the {self.label} of {unknown} may vanish before {self.time}")
            if positive and strict_sign(expr.subs(self.time, 0), bounded) != 1:
                raise Undecided(f"{expr} in the {self.label} of {unknown} is not known to be positive")
        evidence = f"{self.label}: {len(found)} denominator(s) and root(s) keep their sign from time zero on"
        return Finding("PROVED", "proved", evidence)

    def _keeps_sign(self, part: sp.Expr, case: Case, bounded: Case) -> bool:
        start = strict_sign(part.subs(self.time, 0), bounded)
        if start is None:
            return False
        if strict_sign(part, bounded) == start:
            return True
        return _is_sum_of_two(part, self.time) and strict_sign(part, case) == start

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        for point, unknown, expr, positive in self._at_points(domain, cell):
            signs = list(self._signs(expr, point))
            for (sooner, s), (later, r) in pairwise(signs):
                if s is None or r is None:
                    continue
                if positive and r < 0:
                    return self._broken(point, unknown, f"{expr} is negative at {self.time} = {later}", cell)
                if s * r < 0 and (pole := self._pole(unknown, expr, point, sooner, later, domain, cell)):
                    return self._broken(point, unknown, f"it has a pole at {self.time} = {pole}", cell)
        return None

    def _broken(self, point: Point, unknown: sp.Symbol, text: str, cell: Cell) -> Finding:
        witness = Witness(describe(point), f"the {self.label} of {unknown} ends before: {text}", cell.name)
        return Finding("REFUTED", "proved", "the solution ends", witness)

    def _at_points(self, domain: Domain, cell: Cell) -> Iterator[tuple[Point, sp.Symbol, sp.Expr, bool]]:
        found = self._places(domain, cell)
        for point in islice(domain.points(cell, per_dimension=POINTS) if found else (), POINTS):
            if self.time not in point:
                continue
            yield from ((point, *place) for place in found)
            late = completed({**point, self.time: LATE * point[self.time]}, domain, cell)
            if late is not None and late[self.time] != point[self.time]:
                yield from ((late, *place) for place in found)

    def _signs(self, expr: sp.Expr, point: Point) -> Iterator[tuple[sp.Rational, int | None]]:
        """The signs of an expression at times from zero to that of a point."""
        at = evaluated(expr, {k: v for k, v in point.items() if k != self.time})
        for step in range(STEPS + 1):
            moment = point[self.time] * sp.Rational(step, STEPS)
            yield moment, _sign_at(at, self.time, moment)

    def _pole(
        self,
        unknown: sp.Symbol,
        expr: sp.Expr,
        point: Point,
        sooner: sp.Rational,
        later: sp.Rational,
        domain: Domain,
        cell: Cell,
    ) -> str:
        """Where the closed form is unbounded between two times, as text; empty if it stays bounded there."""
        without = {k: v for k, v in point.items() if k != self.time}
        at = evaluated(expr, without)
        start = _sign_at(at, self.time, sooner)
        for _ in range(BISECTIONS):
            middle = (sooner + later) / 2
            if _sign_at(at, self.time, middle) == start:
                sooner = middle
            else:
                later = middle
        closed = evaluated(domain.unfold(plain(self.closed[unknown]), cell), without)
        value = sp.N(closed.subs(self.time, sooner), 60, maxn=400)
        return str(sp.N(sooner, 12)) if value.is_finite and abs(value) > 10**9 else ""

    def test(self, domain: Domain, cell: Cell) -> Finding:
        count = 0
        for _, unknown, expr, positive in ((p[0], *p[1:]) for p in self._at_points(domain, cell)):
            signs = {s for _, s in self._signs(expr, _)}
            if len(signs) > 1 or signs & {None, 0} or (positive and signs != {1}):
                return Finding("UNKNOWN", "tested", f"{expr} in the {self.label} of {unknown} may vanish")
            count += 1
        return Finding("AGREES", "tested", f"{self.label}: exists from time zero on at {count} points")


def _sign_at(expr: sp.Expr, time: sp.Symbol, moment: sp.Expr) -> int | None:
    if (told := sign_at(expr, {time: moment})) is not None:
        return told
    value = expr.subs(time, moment)
    return certified_sign(value) if value.is_finite and value.is_real else None


def strict_sign(expr: sp.Expr, case: Case) -> int | None:
    """1 or -1 where the expression has that sign strictly on the whole case, None where it is not known."""
    for rewrite in (lambda e, known: e, _by_growth, _by_whole_exponents):
        with suppress(Undecided):
            facts = [e for e, _ in case.facts]
            known = Field(case.sign_of, case.facts, speaks_of=(expr, *facts))
            inner, signs = rewrite(expr, known), {}
            if isinstance(inner, tuple):
                inner, signs = inner
                known = Field(Case({**case.signs, **signs}).sign_of, _plain_facts(case), speaks_of=(inner,))
            if found := known.sign(known.element(inner)):
                return found
    return None


def _plain_facts(case: Case) -> tuple[tuple[sp.Expr, int], ...]:
    return tuple((e, s) for e, s in case.facts if not e.atoms(sp.exp))


def _by_growth(expr: sp.Expr, known: Field) -> tuple[sp.Expr, dict[sp.Symbol, int]]:
    """Exponentials by h > 0: e^m = 1 + h for a positive m, and h itself where the sign of m is not known."""
    expr = to_exponentials(expr)
    terms = {e: exponent_terms(known.expression(known.element(e.args[0]))) for e in expr.atoms(sp.exp)}
    units: dict[sp.Expr, int] = {}
    for c, m in (term for found in terms.values() for term in found):
        units[m] = sp.ilcm(units.get(m, 1), c.q)
    bases, signs = {}, {}
    for m, q in units.items():
        if inverse_function(m) is not None:
            bases[m] = sp.exp(m / q)
            continue
        h = sp.Dummy("h", positive=True)
        signs[h] = 1
        try:
            bases[m] = (1 + h) ** known.sign(known.element(m))
        except Undecided:
            bases[m] = h
    rules = {e: sp.Mul(*(bases[m] ** (c * units[m]) for c, m in found)) for e, found in terms.items()}
    return expr.xreplace(rules), signs


def _by_whole_exponents(expr: sp.Expr, known: Field) -> tuple[sp.Expr, dict[sp.Symbol, int]]:
    """The same with an h for every exponent whose sign is known."""
    expr = sp.powsimp(to_exponentials(expr), combine="exp")
    rules, signs = {}, {}
    for e in expr.atoms(sp.exp):
        h = sp.Dummy("h", positive=True)
        rules[e] = (1 + h) ** known.sign(known.element(e.args[0]))
        signs[h] = 1
    return expr.xreplace(rules), signs


def _is_sum_of_two(expr: sp.Expr, time: sp.Symbol) -> bool:
    """Whether it is c₁ e^{r₁ t} + c₂ e^{r₂ t} or c₁ + c₂ t, which has at most one zero or vanishes throughout."""
    rates = set()
    linear = sp.expand(expr)
    if not sp.diff(linear, time).has(time):
        return True
    for term in sp.Add.make_args(sp.expand(to_exponentials(expr))):
        rate = sp.S.Zero
        for factor in sp.Mul.make_args(term):
            if not factor.has(time):
                continue
            slope = sp.expand(factor.args[0]).coeff(time, 1) if isinstance(factor, sp.exp) else None
            if slope is None or sp.expand(factor.args[0] - slope * time).has(time) or slope.has(time):
                return False
            rate += slope
        rates.add(sp.expand(rate))
    return len(rates) <= 2
