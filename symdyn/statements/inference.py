r"""Rules of inference: conclusions that a machine draws, their words made from the facts and never typed.

    Characterised       a value satisfies facts that are made from it
    Invariant           a quantity keeps its sign along a flow, because its rate is a multiple of it
    InvariantRegion     {g_1 > 0, …, g_k > 0} is never left, because the flow points inwards at its boundary
    Monotone            a quantity rises, falls, does not fall or does not rise along a flow
    CrossesOnce         a quantity vanishes at most once along a flow, because it rises wherever it vanishes
    AtMostOneZero       a function of one variable vanishes at most once, because it is strictly monotone
    UniqueMinimiser     a stationary point of a strictly convex function is its only minimiser
    SameZeros           two systems of equations have the same solutions, because each implies the other

The premises of a rule are statements with mutants of their own, decided like any others; what a rule needs besides
(a region that is an interval, a rate that exists) is a claim that is refused, never assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Flow
from symdyn.calculus.vectors import Dot
from symdyn.proof.claim import Finding, plain
from symdyn.proof.mutants import mutations
from symdyn.proof.undecided import Undecided
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Chain, Dynamics, Identity, Inequality, Mutant, Statement, typeset

RISING = {
    ">": "increases strictly",
    ">=": "does not decrease",
    "<": "decreases strictly",
    "<=": "does not increase",
}


@dataclass(frozen=True)
class Characterised(Chain):
    """The compiled value satisfies the facts that are made from it, and a changed value does not.

    `name` is the LaTeX of what the value is of. That nothing else satisfies the facts is not claimed.
    """

    conclusion: str = ""
    because: tuple[Statement, ...] = ()
    name: str = ""

    @classmethod
    def of(  # type: ignore[override]
        cls,
        value: Any,
        facts: Callable[[Any], tuple[Statement, ...]],
        name: str = "",
        on: Domain | None = None,
    ) -> Characterised:
        return cls(because=facts(value), compiles=value, characterised=facts, name=name, on=on)

    def __post_init__(self) -> None:
        if self.characterised is None or self.conclusion or self.formula:
            raise TypeError(
                "a value is characterised by facts that are made from it: Characterised.of(value, facts)"
            )

    @property
    def argued(self) -> bool:
        return False

    def equation(self) -> str:
        """The value, with its name if it has one."""
        return f"{self.name} = {typeset(self.compiles)}" if self.name else typeset(self.compiles)

    def latex(self) -> str:
        facts = r",\qquad ".join(fact.latex() for fact in self.because)
        return rf"{self.equation()} \quad\text{{satisfies}}\quad {facts}"


@dataclass(frozen=True)
class Applies:
    """The rule applies: what it needs besides its facts is given, on the domain on which it is claimed."""

    rule: Rule
    x: Any = ()

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        if reason := self.rule.lacks() or self.rule.lacks_on(domain):
            raise Undecided(f"the rule does not apply: {reason}")
        return Finding("PROVED", "proved", "the rule applies")

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        return None

    test = prove


@dataclass(frozen=True)
class Rule(Statement):
    """A conclusion that follows from facts by a rule; words and facts are made from the fields."""

    @cached_property
    def because(self) -> tuple[Statement, ...]:
        return tuple(self.premises())

    def premises(self) -> Iterator[Statement]:
        """The facts from which the conclusion follows."""
        raise NotImplementedError

    def lacks(self) -> str:
        """Why the rule does not apply whatever its facts, or nothing."""
        return ""

    def lacks_on(self, domain: Domain) -> str:
        """Why it does not apply on a domain, or nothing. A domain of its own that leaves something out must say so."""
        own = self.domain
        if own is None or own.words:
            return ""
        narrow = own.conditions or own.sampler or any(cell.signs or cell.where for cell in own.cells)
        return "say in the words of the domain what it leaves out" if narrow else ""

    @property
    def conclusion(self) -> str:
        """What follows, as a sentence with formulas."""
        raise NotImplementedError

    formula = ""

    def facts(self) -> tuple[Statement, ...]:
        return () if self.lacks() else self.because

    def claims(self) -> list[Any]:
        return [Applies(self)]

    def mutants(self) -> Iterator[Mutant]:
        for i, fact in enumerate(self.facts()):
            for label, changed in fact.mutants():
                yield f"fact {i + 1}: {label}", changed

    @property
    def expressions(self) -> tuple[Any, ...]:
        return tuple(e for fact in self.facts() for e in fact.expressions)

    def latex(self) -> str:
        return r"\text{" + self.conclusion + "}"


def moving(flow: Flow, x: Any) -> set[Any]:
    """The symbols of x that change along the flow, inner products of what moves among them."""
    return {s for s in plain(formula(x)).free_symbols if formula(flow.derivative(s)) != 0}


def rough(flow: Flow, x: Any) -> str:
    """Why x might not be continuous along the flow, or nothing: it must be a polynomial in what moves."""
    expr = plain(formula(x))
    changing = sorted(moving(flow, x), key=str)
    if changing and not expr.is_polynomial(*changing):
        return f"{expr} is no polynomial in what moves, {', '.join(map(str, changing))}"
    return ""


def where(domain: Domain | None) -> str:
    return f", for {domain.words}" if domain is not None and domain.words else ""


@dataclass(frozen=True)
class Invariant(Rule):
    """A quantity whose rate is a continuous multiple of it keeps its sign, and zero stays zero.

    d/dt g = h g makes g(t) = g(0) exp ∫h, by which the velocity normal to the surface g = 0 vanishes on it.
    """

    quantity: sp.Expr
    multiple: sp.Expr
    under: Flow = field(hash=False)
    name: str = ""
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        rate = self.multiple * self.quantity
        yield Dynamics(self.quantity, rate, under=self.under, name=self.name, on=self.on)

    def lacks(self) -> str:
        return rough(self.under, self.multiple) or rough(self.under, self.quantity)

    @property
    def conclusion(self) -> str:
        return f"the sign of ${typeset(self.quantity)}$ is kept along the flow, and zero stays zero{where(self.on)}"


@dataclass(frozen=True)
class InvariantRegion(Rule):
    """The flow does not leave {g_1 > 0, …, g_k > 0}: at its boundary it points inwards, or nothing moves.

    The g_i are symbols that move, or their negatives. On each face of this orthant one g_i that vanishes there rises,
    or nothing moves. When a trajectory first left the region, it would be on a face on which none of the g_i that
    vanish rises; a rest point is reached by no other trajectory in finite time, as velocities are polynomials.
    """

    quantities: tuple[sp.Expr, ...]
    under: Flow = field(hash=False)
    on: Domain | None = None

    def _parts(self) -> Iterator[tuple[dict[sp.Symbol, int], list[int]]]:
        """The faces of the orthant: the signs of its symbols, and which of them vanish."""
        count = len(self.quantities)
        for mask in range(1, 2**count):
            zero = [i for i in range(count) if mask >> i & 1]
            signs = {self._symbol(i): self._sign(i) for i in range(count) if i not in zero}
            yield signs, zero

    def _symbol(self, i: int) -> sp.Symbol:
        return next(iter(formula(self.quantities[i]).free_symbols))

    def _sign(self, i: int) -> int:
        return 1 if formula(self.quantities[i]) == self._symbol(i) else -1

    def premises(self) -> Iterator[Statement]:
        base = self.on or Domain(tuple(sorted(self._symbols(), key=str)))
        for signs, zero in self._parts():
            face = {self._symbol(i): sp.S.Zero for i in zero}
            rates = [formula(self.under.derivative(self.quantities[i])).subs(face) for i in zero]
            cells = tuple(
                replace(c, signs={**c.signs, **signs}, where={**c.where, **face}) for c in base.cells
            )
            part = replace(base, cells=cells, words=self._words(signs, zero))
            rising = [rate for rate in rates if rate != 0]
            if rising:
                yield Inequality(rising[0], ">", on=part)
            else:
                standing = [formula(v).subs(face) for v in self.under.velocities.values()]
                yield Identity(tuple(standing), tuple(sp.S.Zero for _ in standing), on=part)

    def _symbols(self) -> set[Any]:
        velocities = self.under.velocities
        return {*velocities}.union(*(plain(formula(v)).free_symbols for v in velocities.values()))

    def _words(self, signs: Mapping[sp.Symbol, int], zero: list[int]) -> str:
        vanish = [f"{typeset(self._symbol(i))} = 0" for i in zero]
        given = [f"{typeset(s)} {'>' if sign > 0 else '<'} 0" for s, sign in signs.items()]
        return "$" + ", ".join(vanish + given) + "$"

    def lacks(self) -> str:
        symbols = []
        for g in map(formula, self.quantities):
            if len(g.free_symbols) != 1 or g not in (s := next(iter(g.free_symbols)), -s):
                return f"{g} is no symbol or its negative, so that the faces of the region are not known"
            symbols.append(s)
        if len(set(symbols)) < len(symbols) or not symbols:
            return "the region is no orthant of different symbols"
        if missing := [s for s in symbols if s not in self.under.velocities]:
            return f"{missing[0]} has no velocity"
        if self.under.vectors or self.under.relations:
            return "the flow has vectors or relations, on which the faces of the region are not known"
        base = self.on or Domain()
        for cell in base.cells:
            if {*cell.signs, *cell.where} & set(self.under.velocities):
                return f"the domain says of what moves more than the region does, in the cell '{cell.name}'"
        if taken := {*base.let} & set(self.under.velocities):
            return f"{min(map(str, taken))} is defined by the domain"
        for condition in (*base.conditions, *base.let.values()):
            if formula_symbols(condition) & set(self.under.velocities):
                return f"the domain says more of what moves: {condition}"
        if base.sampler is not None:
            return "the domain draws its own points, so that the faces of the region are not known"
        for x, v in self.under.velocities.items():
            if not plain(formula(v)).is_polynomial(*self.under.scalars):
                return f"the velocity of {x} is no polynomial in what moves"
        return ""

    @property
    def conclusion(self) -> str:
        region = r",\; ".join(f"{typeset(g)} > 0" for g in self.quantities)
        return rf"the flow does not leave the region $\{{{region}\}}${where(self.on)}"


def formula_symbols(condition: Any) -> set[Any]:
    return set(getattr(condition, "free_symbols", set()))


@dataclass(frozen=True)
class Monotone(Rule):
    """A quantity rises (>), does not fall (>=), falls (<) or does not rise (<=) along the flow, within the domain."""

    quantity: sp.Expr
    rate: sp.Expr
    relation: str
    under: Flow = field(hash=False)
    name: str = ""
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        yield Dynamics(self.quantity, self.rate, under=self.under, name=self.name, on=self.on)
        yield Inequality(self.rate, self.relation, on=self.on)

    def lacks(self) -> str:
        if self.relation not in RISING:
            return f"{self.relation} is no direction; one of {', '.join(RISING)} is"
        return rough(self.under, self.quantity)

    @property
    def conclusion(self) -> str:
        return f"${typeset(self.quantity)}$ {RISING[self.relation]} along the flow{where(self.on)}"


@dataclass(frozen=True)
class CrossesOnce(Rule):
    """A quantity vanishes at most once along the flow, within the domain: wherever it vanishes it rises.

    d/dt q = h q + p with p > 0 is positive where q = 0, so that between two zeros there would be one at which q does
    not rise. Within the domain: among times between which the trajectory does not leave it.
    """

    quantity: sp.Expr
    multiple: sp.Expr
    rest: sp.Expr
    under: Flow = field(hash=False)
    name: str = ""
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        rate = self.multiple * self.quantity + self.rest
        yield Dynamics(self.quantity, rate, under=self.under, name=self.name, on=self.on)
        yield Inequality(self.rest, ">", on=self.on)

    def lacks(self) -> str:
        return rough(self.under, self.multiple) or rough(self.under, self.quantity)

    @property
    def conclusion(self) -> str:
        return f"${typeset(self.quantity)}$ vanishes at most once along a trajectory{where(self.on)}"


def not_an_interval(variable: sp.Symbol, domain: Domain) -> str:
    """Why the values of the variable, all else fixed, might be no interval, or nothing."""
    if variable in domain.let:
        return f"{variable} is defined by the domain"
    if domain.sampler is not None:
        return f"the domain draws its own points, so that the values of {variable} are not known to be an interval"
    for condition in domain.conditions:
        if variable in formula_symbols(condition):
            return f"the domain restricts {variable}: {condition}"
    if any(variable in formula_symbols(formula(x)) for x in domain.let.values() if isinstance(x, sp.Basic)):
        return f"the domain defines other things by {variable}"
    signs = set()
    for cell in domain.cells:
        if variable in cell.where or any(variable in formula_symbols(x) for x in cell.where.values()):
            return f"the cell '{cell.name}' replaces {variable}"
        signs.add(cell.signs.get(variable))
    return f"the cells of the domain give {variable} different signs" if len(signs) > 1 else ""


@dataclass(frozen=True)
class AtMostOneZero(Rule):
    """A function of one variable vanishes at most once on its interval, all else fixed: its derivative has one sign."""

    expression: sp.Expr
    variable: sp.Symbol
    relation: str = ">"
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        yield Inequality(sp.diff(plain(formula(self.expression)), self.variable), self.relation, on=self.on)

    def lacks(self) -> str:
        if self.relation not in (">", "<"):
            return f"a derivative that is {self.relation} 0 does not make a function strictly monotone"
        expr = plain(formula(self.expression))
        if isinstance(self.variable, Dot) or not smooth(expr, self.variable):
            return f"{expr} may have jumps in {self.variable}"
        return ""

    def lacks_on(self, domain: Domain) -> str:
        return super().lacks_on(domain) or not_an_interval(self.variable, domain)

    @property
    def conclusion(self) -> str:
        x = typeset(self.variable)
        return f"${typeset(self.expression)}$ vanishes for at most one ${x}${where(self.on)}"


def smooth(expr: sp.Expr, variable: sp.Symbol) -> bool:
    """Whether an expression is differentiable in a variable wherever it is finite and real.

    Poles are excluded as far as they are seen: no denominator may depend on the variable, unless it is a sum of
    even powers and positive constants.
    """
    allowed = (sp.exp, sp.sinh, sp.cosh, sp.tanh, sp.asinh, sp.atan, sp.erf, sp.sin, sp.cos)
    for node in sp.preorder_traversal(expr):
        if not node.has(variable) or node.is_Add or node.is_Mul or node == variable:
            continue
        if isinstance(node, allowed):
            continue
        if node.is_Pow and not node.exp.has(variable):
            if node.exp.is_Integer and node.exp.is_positive:
                continue
            if _positive(node.base, variable):
                continue
        return False
    return True


def _positive(base: sp.Expr, variable: sp.Symbol) -> bool:
    """Whether a base is positive for every real value of its symbols: even powers and a positive number."""
    terms = sp.Add.make_args(sp.expand(base))
    even = all(
        c.is_positive
        and all(p.is_Pow and p.exp.is_Integer and p.exp % 2 == 0 for p in sp.Mul.make_args(rest) if p != 1)
        for c, rest in (term.as_coeff_Mul() for term in terms)
    )
    return even and any(term.is_positive and term.is_number for term in terms)


@dataclass(frozen=True)
class UniqueMinimiser(Rule):
    """A point is the only minimiser of a function on a box of its variables, all else fixed.

    The gradient vanishes at the point, which is in the box, and the Hessian is positive definite on all of it (its
    leading principal minors are positive, Sylvester's criterion). Each variable takes all real values, or all of one
    sign.
    """

    objective: sp.Expr
    variables: tuple[sp.Symbol, ...]
    at: tuple[sp.Expr, ...]
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        objective = plain(formula(self.objective))
        there = dict(zip(self.variables, map(formula, self.at), strict=True))
        slopes = tuple(sp.diff(objective, x).subs(there, simultaneous=True) for x in self.variables)
        yield Identity(slopes, tuple(sp.S.Zero for _ in slopes), on=self.on)
        hessian = sp.hessian(objective, self.variables)
        for k in range(1, len(self.variables) + 1):
            yield Inequality(hessian[:k, :k].det(method="berkowitz"), ">", on=self.on)
        for x, value in there.items():
            sign = next(iter(self.on.cells)).signs.get(x) if self.on is not None else None
            if sign is not None:
                yield Inequality(value, ">" if sign > 0 else "<", on=self.on)

    def mutants(self) -> Iterator[Mutant]:
        for i, value in enumerate(self.at):
            for label, changed in mutations(value):
                yield (
                    f"{self.variables[i]}: {label}",
                    replace(self, at=(*self.at[:i], changed, *self.at[i + 1 :])),
                )
        for i, fact in enumerate(self.facts()):
            if isinstance(fact, Inequality):
                for label, changed in fact.mutants():
                    yield f"fact {i + 1}: {label}", changed

    def lacks(self) -> str:
        if (
            not self.variables
            or len(self.at) != len(self.variables)
            or len(set(self.variables)) < len(self.variables)
        ):
            return (
                f"{len(self.at)} coordinates do not give a point of {len(self.variables)} different variables"
            )
        objective = plain(formula(self.objective))
        for x in self.variables:
            if any(formula(value).has(*self.variables) for value in self.at):
                return "the point depends on the variables"
            if not smooth(objective, x):
                return f"{objective} may not be smooth in {x}"
        return ""

    def lacks_on(self, domain: Domain) -> str:
        faults = [not_an_interval(x, domain) for x in self.variables]
        if self.on is None and any(cell.signs.get(x) for cell in domain.cells for x in self.variables):
            faults.append(
                "say with on= where the variables have a sign, so that the point is seen to be there"
            )
        return super().lacks_on(domain) or next(filter(None, faults), "")

    @property
    def conclusion(self) -> str:
        point = ",\\; ".join(
            f"{typeset(x)} = {typeset(v)}" for x, v in zip(self.variables, self.at, strict=True)
        )
        return f"${point}$ is the only minimiser of ${typeset(self.objective)}${where(self.on)}"


@dataclass(frozen=True)
class SameZeros(Rule):
    """Two systems of equations p_i = 0 and q_j = 0 have the same solutions, by two inclusions.

    `forward[j]` has the cofactors c with q_j = Σ_i c_i p_i, so that q vanishes where p does; `backward[i]` has those
    of p_i. Cofactors are polynomials over monomials in what has a sign, so that they are finite.
    """

    first: tuple[sp.Expr, ...]
    second: tuple[sp.Expr, ...]
    forward: tuple[tuple[sp.Expr, ...], ...]
    backward: tuple[tuple[sp.Expr, ...], ...]
    on: Domain | None = None

    def premises(self) -> Iterator[Statement]:
        for targets, sources, cofactors in self._ways():
            for target, row in zip(targets, cofactors, strict=True):
                combined = sum((c * p for c, p in zip(row, sources, strict=True)), sp.S.Zero)
                yield Identity(target, combined, on=self.on)

    def _ways(self) -> Iterator[tuple[Any, Any, Any]]:
        yield self.second, self.first, self.forward
        yield self.first, self.second, self.backward

    def mutants(self) -> Iterator[Mutant]:
        for i, p in enumerate(self.first):
            for label, changed in mutations(p):
                yield (
                    f"first {i + 1}: {label}",
                    replace(self, first=(*self.first[:i], changed, *self.first[i + 1 :])),
                )
        yield from super().mutants()

    def lacks(self) -> str:
        if not self.first or not self.second:
            return "a system without equations is no set to compare"
        for targets, sources, cofactors in self._ways():
            if len(cofactors) != len(targets) or any(len(row) != len(sources) for row in cofactors):
                return "there must be one cofactor for each pair of equations"
            for c in (plain(formula(c)) for row in cofactors for c in row):
                if not self._finite(c):
                    return f"the cofactor {c} may be infinite where equations hold"
        return ""

    def _finite(self, cofactor: sp.Expr) -> bool:
        """Whether it is a polynomial over a monomial in symbols that have a sign on every cell."""
        numerator, denominator = sp.fraction(sp.together(cofactor))
        signed = {
            s for s in denominator.free_symbols if self.on and all(c.signs.get(s) for c in self.on.cells)
        }
        monomial = all(
            factor.is_number or factor in signed or (factor.is_Pow and factor.base in signed)
            for factor in sp.Mul.make_args(denominator)
        )
        return monomial and (numerator.is_number or numerator.is_polynomial(*numerator.free_symbols))

    @property
    def conclusion(self) -> str:
        first, second = (
            r",\; ".join(f"{typeset(p)} = 0" for p in system) for system in (self.first, self.second)
        )
        return f"${first}$ if and only if ${second}${where(self.on)}"
