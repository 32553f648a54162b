"""What a result states. Each kind reduces to primitive claims, knows its mutants and what it compiles to.

A statement is a frozen value; it is decided on a domain by `symdyn.proof.check`. The kinds:

    Definition, Identity, Conservation, Dynamics, Solution, Limit, Asymptotic, Inequality, Existence, Minimiser,
    InDistribution, Experiment.

Arguments that are chains of facts (invariance, "at most one zero") are an `Existence` or a `Minimiser`: words for the
conclusion, and the facts it follows from, each of them a statement with mutants of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import sympy as sp

from symdyn.calculus.bridge import isotropic_to_gram
from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Flow, GramOperator, latex
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Dot, Linear
from symdyn.proof.claim import RELATIONS, Compiles, Finding, IllPosed, Sign, Zero, atoms, examined
from symdyn.proof.flows.alongflow import RateVanishes
from symdyn.proof.flows.throughout import Throughout
from symdyn.proof.limits.orders import LimitIs, Order, sides
from symdyn.proof.mutants import mutations
from symdyn.proof.undecided import Undecided
from symdyn.statements.domain import Cell, Domain

Mutant = tuple[str, "Statement"]
FEW = 3
"""Changes of a value that are tried to see whether facts are made from it."""


@dataclass(frozen=True)
class Statement:
    """Base of all kinds. `on` narrows the domain of the result for this statement alone."""

    def claims(self) -> list[Any]:
        """The primitive claims that must all hold."""
        return []

    def defined(self) -> tuple[Any, ...]:
        """Further claims that what is claimed, as it is written, is defined: where they fail, the rest says nothing."""
        return ()

    def facts(self) -> tuple[Statement, ...]:
        """Statements this one is a chain of."""
        return ()

    @property
    def argued(self) -> bool:
        """Whether what is claimed is said in words, so that no machine checks that it follows from the facts."""
        return False

    def mutants(self) -> Iterator[Mutant]:
        """Changed copies of the claim, which the same check must refute.

        A changed fact of a chain stands for the chain with that fact changed.
        """
        return iter(())

    @property
    def value(self) -> Any:
        """What the statement compiles to, or None."""
        return None

    def gives(self) -> tuple[Any, ...]:
        """The values that are known if the statement holds: a chain of facts compiles to one of them."""
        return () if self.value is None else (self.value,)

    def same(self, form: Any, value: Any) -> Any:
        """The claim that a form which compiles equals a value, under what the statement supposes.

        Raises TypeError for a form of another kind than the value: a number for a vector, a pair for a triple.
        """
        return Compiles(difference_in_kind(form, value))

    @property
    def domain(self) -> Domain | None:
        return getattr(self, "on", None)

    def latex(self) -> str:
        raise TypeError(f"{type(self).__name__} does not print")

    @property
    def expressions(self) -> tuple[Any, ...]:
        """Everything symbolic in the statement, for the checks of its vocabulary."""
        return ()


def difference(lhs: Any, rhs: Any) -> Any:
    """lhs - rhs, componentwise for tuples; an isotropic and a Gram operator are compared as Gram operators."""
    if isinstance(lhs, (tuple, list)):
        return tuple(difference(a, b) for a, b in zip(lhs, rhs, strict=True))
    if {type(lhs), type(rhs)} == {Isotropic, GramOperator}:
        lhs, rhs = (isotropic_to_gram(x) if isinstance(x, Isotropic) else x for x in (lhs, rhs))
    return lhs - rhs


def difference_in_kind(form: Any, value: Any) -> Any:
    try:
        return difference(form, value)
    except (TypeError, ValueError, AttributeError) as obstacle:
        raise TypeError(f"the form that compiles, {form}, is of another kind than {value}") from obstacle


def vocabulary_of(x: Any) -> set[Any]:
    """The symbols, vectors and matrices that a value is made of."""
    from symdyn.compile.words import ingredients

    words = ingredients(x)
    if words is not None:
        return words
    found = atoms(x)
    dots = {a for a in found if isinstance(a, Dot)}
    return (found - dots).union(*({dot.left, dot.right} for dot in dots))


def typeset(x: Any) -> str:
    """LaTeX of anything the calculi know."""
    if isinstance(x, (tuple, list)):
        return r"\left(" + r",\; ".join(typeset(y) for y in x) + r"\right)"
    return x.latex() if hasattr(x, "latex") and not isinstance(x, sp.Basic) else latex(x)


def other_forms(statement: Any) -> Iterator[Mutant]:
    """The statement with a change in the form that compiles."""
    for label, changed in () if statement.compiles is None else mutations(statement.compiles):
        yield f"{label} in the form that compiles", replace(statement, compiles=changed)


@dataclass(frozen=True)
class Definition(Statement):
    """symbol := expression. Nothing to verify but that it is well-formed on its domain, and used as defined."""

    symbol: Any
    expression: Any
    on: Domain | None = None

    @property
    def value(self) -> Any:
        return self.expression

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.expression,)

    def latex(self) -> str:
        name = self.symbol if isinstance(self.symbol, str) else typeset(self.symbol)
        return f"{name} := {typeset(self.expression)}"


@dataclass(frozen=True)
class Identity(Statement):
    """lhs = rhs identically. `name` is the LaTeX of what is defined or derived, if it has a symbol of its own.

    It compiles to the right-hand side, or to `compiles`, which is proved to be the same, where that has more digits.
    """

    lhs: Any
    rhs: Any
    on: Domain | None = None
    name: str = ""
    compiles: Any = None

    def claims(self) -> list[Any]:
        sides = Zero(difference(self.lhs, self.rhs), "difference of the two sides")
        return [sides] if self.compiles is None else [sides, self.same(self.compiles, self.rhs)]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.rhs):
            yield label, replace(self, rhs=changed, compiles=None)
        yield from other_forms(self)

    def gives(self) -> tuple[Any, ...]:
        """Nothing, if its sides are one and the same number: that says nothing of it."""
        trivial = isinstance(self.lhs, sp.Basic) and self.lhs == self.rhs
        return () if trivial else (self.lhs, self.rhs, self.value)

    @property
    def value(self) -> Any:
        return self.rhs if self.compiles is None else self.compiles

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.lhs, self.rhs)

    def latex(self) -> str:
        middle = f"{self.name} = " if self.name else ""
        return f"{middle}{typeset(self.lhs)} = {typeset(self.rhs)}"


@dataclass(frozen=True)
class Conservation(Statement):
    """d/dt quantity = 0 along the flow, which keeps its relations and what the domain says of the quantity."""

    quantity: Any
    under: Flow = field(hash=False)
    name: str = ""
    on: Domain | None = None

    def claims(self) -> list[Any]:
        rate = self.under.unfold(self.under.derivative(self.quantity))
        return [RateVanishes(rate, flow=self.under, quantity=self.quantity)]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.quantity):
            yield label, replace(self, quantity=changed)

    @property
    def value(self) -> Any:
        return self.quantity

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.quantity, *self.under.velocities.values())

    def latex(self) -> str:
        name = f"{self.name} = " if self.name else ""
        return rf"\frac{{d}}{{dt}}\left({name}{typeset(self.quantity)}\right) = 0"


@dataclass(frozen=True)
class Dynamics(Statement):
    """d/dt quantity = velocity along the flow, which keeps its relations and what the domain says of the quantity."""

    quantity: Any
    velocity: Any
    under: Flow = field(hash=False)
    name: str = ""
    on: Domain | None = None

    def _residual(self) -> Any:
        flow = self.under
        if isinstance(self.quantity, (tuple, list)):
            rate: Any = tuple(flow.derivative(q) for q in self.quantity)
            pairs = zip(rate, self.velocity, strict=True)
            return tuple(flow.unfold(r - v) for r, v in pairs)
        return flow.unfold(flow.derivative(self.quantity) - self.velocity)

    def claims(self) -> list[Any]:
        label = "time derivative minus velocity"
        return [RateVanishes(self._residual(), label, flow=self.under, quantity=self.quantity)]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.velocity):
            yield label, replace(self, velocity=changed)

    @property
    def value(self) -> Any:
        return self.velocity

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.quantity, self.velocity, *self.under.velocities.values())

    def latex(self) -> str:
        name = self.name or typeset(self.quantity)
        dotted = name if self.name and "dot" in self.name else rf"\frac{{d}}{{dt}}\left({name}\right)"
        return f"{dotted} = {typeset(self.velocity)}"


@dataclass(frozen=True)
class Solution(Statement):
    """Closed forms that solve an initial-value problem.

    `solution` maps each unknown to its closed form in `time`, `velocity` each unknown to the right-hand side of its
    equation (in the unknowns and the time), `initial` each unknown to its value at time zero: all of the same unknowns,
    which stand in equations alone. The closed forms exist from time zero to any time of the domain. It compiles to
    them, or to `compiles` where that is the same thing without overflow.
    """

    solution: Mapping[sp.Symbol, sp.Expr] = field(hash=False)
    velocity: Mapping[sp.Symbol, sp.Expr] = field(hash=False)
    initial: Mapping[sp.Symbol, sp.Expr] = field(hash=False)
    time: sp.Symbol
    on: Domain | None = None
    compiles: Any = None

    def claims(self) -> list[Any]:
        if fault := self._fault():
            return [IllPosed(fault)]
        rules = {unknown: formula(closed) for unknown, closed in self.solution.items()}
        out: list[Any] = []
        for unknown, closed in rules.items():
            rate = formula(self.velocity[unknown]).xreplace(rules)
            out.append(Zero(sp.diff(closed, self.time) - rate, f"equation of {unknown}"))
            out.append(Zero(closed.subs(self.time, 0) - self.initial[unknown], f"initial value of {unknown}"))
        out.append(Throughout(rules, self.time))
        if self.compiles is not None:
            out.append(self.same(self.compiles, self._closed))
        return out

    def _fault(self) -> str:
        """Why these are no closed forms of an initial-value problem, or nothing."""
        given = {"closed form": self.solution, "equation": self.velocity, "initial value": self.initial}
        unknowns = list(dict.fromkeys(u for mapping in given.values() for u in mapping))
        for what, mapping in given.items():
            if missing := [u for u in unknowns if u not in mapping]:
                return f"{', '.join(map(str, missing))} has no {what}"
        for what, mapping, foreign in (
            ("closed form", self.solution, set(unknowns)),
            ("initial value", self.initial, {*unknowns, self.time}),
        ):
            for unknown, x in mapping.items():
                if found := formula(x).free_symbols & foreign:
                    return f"the {what} of {unknown} contains {', '.join(sorted(map(str, found)))}"
        return "" if unknowns else "there is no unknown"

    def mutants(self) -> Iterator[Mutant]:
        alone = replace(self, compiles=None)
        for unknown, closed in self.solution.items():
            for label, changed in mutations(closed):
                yield f"{unknown}: {label}", replace(alone, solution={**self.solution, unknown: changed})
        for unknown in self.solution:
            if unknown in self.velocity:
                faster = {**self.velocity, unknown: 2 * self.velocity[unknown]}
                yield f"{unknown}: twice the velocity", replace(alone, velocity=faster)
        yield from other_forms(self)

    @property
    def _closed(self) -> Any:
        closed = tuple(self.solution.values())
        return closed[0] if len(closed) == 1 else closed

    @property
    def value(self) -> Any:
        return self._closed if self.compiles is None else self.compiles

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (*self.solution.values(), *self.velocity.values(), *self.initial.values())

    def latex(self) -> str:
        return r",\quad ".join(
            f"{typeset(u)}({typeset(self.time)}) = {typeset(c)}" for u, c in self.solution.items()
        )


@dataclass(frozen=True)
class Limit(Statement):
    """lim expression = limit as the variable tends to a point from a side: "+" (above), "-" (below) or "both".

    It is claimed at every value of the other quantities. Raises ValueError for an unknown side.
    """

    expression: Any
    variable: sp.Symbol
    to: sp.Expr
    limit: Any
    side: str = "+"
    on: Domain | None = None

    def __post_init__(self) -> None:
        sides(self.side, formula(self.to))

    def claims(self) -> list[Any]:
        return [LimitIs(self.expression, self.variable, formula(self.to), self.limit, self.side)]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.limit):
            yield label, replace(self, limit=changed)
        for label, changed in mutations(self.expression):
            yield f"{label} under the limit", replace(self, expression=changed)

    @property
    def value(self) -> Any:
        return self.limit

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.expression, self.limit)

    def latex(self) -> str:
        side = "" if abs(self.to) is sp.oo or self.side == "both" else "^" + self.side
        to = f"{typeset(self.variable)} \\to {typeset(formula(self.to))}{side}"
        return rf"\lim_{{{to}}} \left({typeset(self.expression)}\right) = {typeset(self.limit)}"


@dataclass(frozen=True)
class Asymptotic(Statement):
    """expression = leading + O(remainder) as the variable tends to a point from a side, the other quantities fixed.

    It is claimed at every value of these, but not uniformly; `sharp` if the remainder is attained at each of them.
    Raises ValueError for a side other than "+", "-" and "both".
    """

    expression: Any
    leading: Any
    variable: sp.Symbol
    to: sp.Expr
    remainder: sp.Expr
    side: str = "+"
    sharp: bool = False
    on: Domain | None = None

    def __post_init__(self) -> None:
        sides(self.side, formula(self.to))

    def claims(self) -> list[Any]:
        gap = difference(self.expression, self.leading)
        return [Order(gap, self.variable, formula(self.to), self.remainder, self.side, self.sharp)]

    def mutants(self) -> Iterator[Mutant]:
        for label, changed in mutations(self.leading):
            yield label, replace(self, leading=changed)
        for label, changed in mutations(self.expression):
            yield f"{label} on the left", replace(self, expression=changed)
        if self.sharp:
            scale = self.variable if abs(self.to) is sp.oo else 1 / (self.variable - self.to)
            yield "a smaller remainder", replace(self, remainder=self.remainder / scale)

    @property
    def value(self) -> Any:
        return self.leading

    def gives(self) -> tuple[Any, ...]:
        return ()  # what is close to a value is not the value

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.expression, self.leading, self.remainder)

    def latex(self) -> str:
        order = rf"O\left({typeset(self.remainder)}\right)"
        to = f"{typeset(self.variable)} \\to {typeset(formula(self.to))}"
        return rf"{typeset(self.expression)} = {typeset(self.leading)} + {order}, \qquad {to}"


@dataclass(frozen=True)
class Inequality(Statement):
    """lhs relation rhs everywhere on the domain, the relation one of >, >=, <, <=, !=, or else ValueError is raised."""

    lhs: Any
    relation: str
    rhs: Any = sp.S.Zero
    on: Domain | None = None

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ValueError(f"the relation is one of {', '.join(RELATIONS)}, not {self.relation!r}")

    def claims(self) -> list[Any]:
        return [Sign(self.lhs - self.rhs, self.relation, "left minus right side")]

    def mutants(self) -> Iterator[Mutant]:
        opposite = {">": "<", ">=": "<", "<": ">", "<=": ">"}
        if self.relation in opposite:
            yield "the opposite relation", replace(self, relation=opposite[self.relation])
        for label, changed in mutations(self.lhs):
            yield label, replace(self, lhs=changed)
        for label, changed in mutations(self.rhs):
            yield f"{label} on the right", replace(self, rhs=changed)

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.lhs, self.rhs)

    def latex(self) -> str:
        relation = {">=": r"\ge", "<=": r"\le", "!=": r"\ne"}.get(self.relation, self.relation)
        return f"{typeset(self.lhs)} {relation} {typeset(self.rhs)}"


@dataclass(frozen=True)
class Follows:
    """The value that a chain compiles to is what its facts are about.

    Either the facts are made from it, and another value makes other facts; or a fact gives it, on the whole domain of
    the chain: as a side of an identity, a definition, a conserved quantity, a velocity, a limit; or it is proved to be
    equal to one of these.
    """

    chain: Chain
    x: Any = ()
    examines_itself = True

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        chain, value = self.chain, self.chain.compiles
        if chain.characterised is not None:
            if chain.characterised(value) != chain.because:
                raise Undecided("the facts are not those of the value that is compiled")
            changed = [other for _, other in mutations(value)][:FEW]
            if changed and all(chain.characterised(other) != chain.because for other in changed):
                return Finding("PROVED", "definition", "the facts are made from the value")
        given = list(self._given(domain))
        if any(type(side) is type(value) and side == value for _, side in given):
            return Finding("PROVED", "definition", "a fact gives the value")
        obstacles = []
        for claim in self._equalities(given):
            try:
                return examined(claim, domain, cell)
            except Undecided as obstacle:
                obstacles.append(str(obstacle))
        raise Undecided("; ".join(obstacles) or "no fact gives the value that is compiled")

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        """The value differs from everything that the facts give, by points."""
        found: Finding | None = None
        for claim in self._equalities(self._given(domain)):
            found = claim.refute(domain, cell)
            if found is None:
                return None
        return found

    def test(self, domain: Domain, cell: Cell) -> Finding:
        raise Undecided(f"{self.chain.compiles} is not proved to be what the facts are about")

    def _given(self, domain: Domain) -> Iterator[tuple[Statement, Any]]:
        for fact in self.chain.facts():
            if getattr(fact, "on", None) in (None, domain):
                yield from ((fact, side) for side in fact.gives())

    def _equalities(self, given: Iterable[tuple[Statement, Any]]) -> Iterator[Any]:
        """The claims that the value is one of the sides, of those that speak of the same things at all."""
        form = self.chain.compiles
        spoken = vocabulary_of(form)
        for fact, side in given:
            if not spoken or spoken & vocabulary_of(side):
                with suppress(TypeError):
                    yield fact.same(form, side)


@dataclass(frozen=True)
class Chain(Statement):
    """A conclusion in words and the facts it follows from, in the order of the argument.

    What it compiles to is given by one of the facts, or the facts are made from it: see `Follows`.
    """

    conclusion: str
    because: tuple[Statement, ...]
    compiles: Any = None
    formula: str = ""
    on: Domain | None = None
    characterised: Callable[[Any], tuple[Statement, ...]] | None = field(
        default=None, compare=False, repr=False
    )

    @classmethod
    def of(
        cls, value: Any, facts: Callable[[Any], tuple[Statement, ...]], conclusion: str, **options: Any
    ) -> Self:
        """The chain that says of a value what characterises it: a changed value must violate a fact."""
        return cls(conclusion, facts(value), compiles=value, characterised=facts, **options)

    def claims(self) -> list[Any]:
        return [] if self.compiles is None else [Follows(self)]

    def __post_init__(self) -> None:
        for number, fact in enumerate(self.because, start=1):
            if not isinstance(fact, Statement):
                raise TypeError(f"fact {number} is to be a statement, not {fact!r}")

    def facts(self) -> tuple[Statement, ...]:
        return self.because

    @property
    def argued(self) -> bool:
        return True

    def mutants(self) -> Iterator[Mutant]:
        if self.characterised is not None:
            for label, changed in mutations(self.compiles):
                yield f"value: {label}", replace(self, compiles=changed, because=self.characterised(changed))
        else:
            yield from other_forms(self)
        for i, fact in enumerate(self.because):
            for label, changed in fact.mutants():
                yield f"fact {i + 1}: {label}", changed

    @property
    def value(self) -> Any:
        return self.compiles

    @property
    def expressions(self) -> tuple[Any, ...]:
        return tuple(e for fact in self.because for e in fact.expressions)

    def latex(self) -> str:
        words = r"\text{" + self.conclusion + "}"
        return f"{words}: \\quad {self.formula}" if self.formula else words


class Conjunction(Chain):
    """All of its facts, and nothing but them: there is no conclusion in words, so that nothing is argued."""

    def __init__(
        self,
        *facts: Statement,
        compiles: Any = None,
        formula: str = "",
        on: Domain | None = None,
        because: tuple[Statement, ...] = (),
        conclusion: str = "",
        characterised: None = None,
    ) -> None:
        """`because` says the facts at once, for copies with a change; words and makers of facts have no place here."""
        if conclusion or characterised is not None:
            raise TypeError("a conjunction is its facts: it has no conclusion, and no value makes them")
        super().__init__("", facts or because, compiles, formula, on)

    @property
    def argued(self) -> bool:
        return False

    def latex(self) -> str:
        return r",\qquad ".join(fact.latex() for fact in self.because)


class Existence(Chain):
    """A set, a sheet, a sign that is kept, "at most one zero": a conclusion with the facts that imply it."""


class Minimiser(Chain):
    """The minimiser of a strictly convex objective under linear constraints: stationarity and convexity."""


class InDistribution(Chain):
    """A statement about random matrices or vectors, with the facts that imply it."""


@dataclass(frozen=True)
class Experiment(Statement):
    """A measured claim: the study that measures it holds the evidence."""

    study: str
    claim: str

    def latex(self) -> str:
        return r"\text{" + self.claim + "}"


def is_vector(x: Any) -> bool:
    return isinstance(x, Linear)
