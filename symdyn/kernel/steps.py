"""The steps of a proof: each adds the sign of one polynomial to what is known, if it follows from what is known.

A step is the certificate, found by a search that is not believed. What it names, the kernel looks up: a sign that is
not known is ANY, and a step that needs more than is known is refused.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import reduce
from typing import Any

from flint import fmpq, fmpq_mpoly

from symdyn.kernel.lemma import Lemma, Part, Relation
from symdyn.kernel.polynomials import (
    Polynomial,
    Quotient,
    Refused,
    Ring,
    coefficients,
    constant,
    key,
    occurring,
    read,
    replaced,
    ring,
)
from symdyn.kernel.signs import OF_RELATION, Sign, of_number, power, product, total


class Context:
    """What is known at one place of a proof: which hypotheses may be used, and signs of polynomials."""

    def __init__(self, of: Ring, variables: frozenset[str]) -> None:
        self.ring = of
        self.one: Polynomial = of.constant(1)
        self.introduced = variables
        self.usable: dict[str, Part] = {}
        self.known: dict[Any, Sign] = {}
        self.contradictory = False
        self.keys = [key(x) for x in of.gens()]

    def copy(self) -> Context:
        """The same, for a part of the proof whose findings stay there."""
        other = copy(self)
        other.usable, other.known = dict(self.usable), dict(self.known)
        return other

    def sign(self, p: Polynomial) -> Sign:
        """What is known of the sign of a polynomial: of itself, or by the signs of the variables in its terms."""
        if (number := constant(p)) is not None:
            return of_number(number)
        by_terms = Sign.ZERO
        for monomial, c in p.to_dict().items():
            by_terms = total(by_terms, product(of_number(c), self._of_monomial(monomial)))
            if by_terms == Sign.ANY:
                break
        found = by_terms & self._looked_up(p)
        self.contradictory |= found == Sign.NONE
        return found

    def _of_monomial(self, monomial: tuple[int, ...]) -> Sign:
        out = Sign.POSITIVE
        for at, exponent in enumerate(monomial):
            if exponent:
                out = product(out, power(self.known.get(self.keys[at], Sign.ANY), int(exponent)))
        return out

    def _looked_up(self, p: Polynomial) -> Sign:
        leading = p.leading_coefficient()
        found = self.known.get(key(p * (1 / leading)), Sign.ANY)
        return product(of_number(leading), found)

    def learn(self, p: Polynomial, sign: Sign) -> None:
        """Add that the sign of p is one of these. What was known stays: both hold."""
        self.own(p)
        if (number := constant(p)) is not None:
            self.contradictory |= not of_number(number).within(sign)
            return
        leading = p.leading_coefficient()
        found = self.sign(p) & sign
        self.contradictory |= found == Sign.NONE
        self.known[key(p * (1 / leading))] = product(of_number(leading), found)

    def own(self, *polynomials: Polynomial) -> None:
        """Refuse a polynomial of another ring, or with a variable that is not introduced here."""
        for p in polynomials:
            if not isinstance(p, fmpq_mpoly) or p.context() is not self.ring:
                raise Refused("a polynomial of another ring")
            if strange := occurring(p) - self.introduced:
                raise Refused(f"{', '.join(sorted(strange))}: a variable that is not introduced")

    def read(self, relation: Relation) -> tuple[Polynomial, Sign]:
        """A relation as a polynomial and what its sign is to be. Refused if a denominator may vanish."""
        minus = read(relation.left, self._value, self.one), read(relation.right, self._value, self.one)
        gap = Quotient(
            minus[0].above * minus[1].below - minus[1].above * minus[0].below,
            minus[0].below * minus[1].below,
        )
        for d in (*minus[0].denominators, *minus[1].denominators):
            if not self.sign(d).without_zero:
                raise Refused(f"the denominator {d} may vanish")
        sign = OF_RELATION[relation.relation]
        if sign in (Sign.ZERO, Sign.NONZERO):
            return gap.above, sign
        return gap.above * gap.below, sign  # has the sign of the quotient

    def _value(self, name: str) -> Quotient:
        return Quotient(self.ring.gen(self.ring.variable_to_index(name)), self.one)

    def assume(self, relation: Relation) -> None:
        self.learn(*self.read(relation))

    def shown(self, relation: Relation) -> bool:
        """Whether a relation is known to hold."""
        p, sign = self.read(relation)
        return self.contradictory or self.sign(p).within(sign)


@dataclass(frozen=True)
class Monomial:
    """coefficient · Π p^n of polynomials p, whose sign follows from theirs; an even power is not negative."""

    coefficient: Any
    factors: tuple[tuple[Polynomial, int], ...] = ()

    def sign(self, context: Context) -> Sign:
        self._is_well_formed(context)
        signs = [power(context.sign(p), n) for p, n in self.factors]
        return reduce(product, signs, of_number(self.coefficient))

    def expanded(self, context: Context) -> Polynomial:
        self._is_well_formed(context)
        out = context.one * self.coefficient
        for p, n in self.factors:
            out = out * p**n
        return out

    def _is_well_formed(self, context: Context) -> None:
        if not isinstance(self.coefficient, (int, fmpq)):
            raise Refused(f"{self.coefficient} is no rational number")
        if any(not isinstance(n, int) or n < 0 for _, n in self.factors):
            raise Refused("a power that is no polynomial")
        context.own(*(p for p, _ in self.factors))


@dataclass(frozen=True)
class Rule:
    """An equation m v^n = q that is known, with m not zero, used to replace v^n by q/m."""

    equation: Polynomial
    variable: str
    power: int = 1

    def applied(self, p: Polynomial, context: Context) -> Polynomial:
        """A polynomial without v^n that vanishes only where p does."""
        context.own(self.equation)
        if self.variable not in context.introduced or not isinstance(self.power, int) or self.power < 1:
            raise Refused("no rule")
        if context.sign(self.equation) != Sign.ZERO:
            raise Refused(f"{self.equation} = 0 is not known")
        parts = coefficients(self.equation, self.variable)
        if self.power not in parts or set(parts) - {0, self.power}:
            raise Refused(f"{self.equation} = 0 does not say what {self.variable}^{self.power} is")
        times = parts[self.power]
        if not context.sign(times).without_zero:
            raise Refused(f"{times}, which {self.variable} is multiplied with, may vanish")
        return replaced(p, self.variable, self.power, -parts.get(0, context.one * 0), times)


@dataclass(frozen=True)
class Equations:
    """How a polynomial is seen to vanish: replacements, one after the other, and multiples of what vanishes."""

    rules: tuple[Rule, ...] = ()
    multiples: tuple[tuple[Polynomial, Polynomial], ...] = ()

    def vanishes(self, p: Polynomial, context: Context) -> None:
        """Refuse unless p is zero at all points where what is known holds."""
        context.own(p)
        for multiple, zero in self.multiples:
            context.own(multiple, zero)
            if context.sign(zero) != Sign.ZERO:
                raise Refused(f"{zero} = 0 is not known")
            p = p - multiple * zero
        for rule in self.rules:
            p = rule.applied(p, context)
        if p != 0:
            raise Refused(f"{str(p)[:200]} is not shown to vanish")


@dataclass(frozen=True)
class Use:
    """A hypothesis, or a debt that was shown, where all that it is given holds."""

    name: str

    def check(self, context: Context) -> None:
        part = context.usable.get(self.name)
        if part is None:
            raise Refused(f"there is no hypothesis {self.name} here")
        for condition in part.given:
            if not context.shown(condition):
                raise Refused(f"a condition of {self.name} is not known to hold")
        context.assume(part.claim)


@dataclass(frozen=True)
class Combination:
    """multiplier · p = Σ terms, so that p has the sign that these give; p = 0 if there are no terms.

    Sums of squares, products, positive coefficients, multiples of what is known: all are written in this way.
    """

    p: Polynomial
    terms: tuple[Monomial, ...] = ()
    multiplier: Monomial = Monomial(1)
    by: Equations = Equations()

    def check(self, context: Context) -> None:
        context.own(self.p)
        of_multiplier = self.multiplier.sign(context)
        if not of_multiplier.without_zero:
            raise Refused(f"a multiplier of {self.p} may vanish")
        right = context.one * 0
        sign = Sign.ZERO
        for term in self.terms:
            right += term.expanded(context)
            sign = total(sign, term.sign(context))
        self.by.vanishes(self.multiplier.expanded(context) * self.p - right, context)
        context.learn(self.p, product(sign, of_multiplier))


@dataclass(frozen=True)
class Divisor:
    """p · cofactor = whole, which is not zero: then p is not zero."""

    p: Polynomial
    cofactor: Polynomial
    whole: Polynomial
    by: Equations = Equations()

    def check(self, context: Context) -> None:
        context.own(self.p, self.cofactor, self.whole)
        if not context.sign(self.whole).without_zero:
            raise Refused(f"{self.whole} may vanish")
        self.by.vanishes(self.p * self.cofactor - self.whole, context)
        context.learn(self.p, Sign.NONZERO)


@dataclass(frozen=True)
class Monotone:
    """x - y has the sign of x^n - y^n where x, y ≥ 0, or n is odd: roots are unique, and increasing."""

    x: Polynomial
    y: Polynomial
    n: int

    def check(self, context: Context) -> None:
        context.own(self.x, self.y)
        if not isinstance(self.n, int) or self.n < 1:
            raise Refused("no power")
        weak = all(context.sign(z).within(Sign.NOT_NEGATIVE) for z in (self.x, self.y))
        if not weak and self.n % 2 == 0:
            raise Refused("powers are compared of what may be negative")
        context.learn(self.x - self.y, context.sign(self.x**self.n - self.y**self.n))


@dataclass(frozen=True)
class Dominates:
    """x + y and x - y are positive where x ≥ 0 and x² > y²; not negative where x² ≥ y²."""

    x: Polynomial
    y: Polynomial

    def check(self, context: Context) -> None:
        context.own(self.x, self.y)
        gap = context.sign(self.x**2 - self.y**2)
        if not context.sign(self.x).within(Sign.NOT_NEGATIVE) or not gap.within(Sign.NOT_NEGATIVE):
            raise Refused(f"it is not known that {self.x} is the larger one")
        sign = Sign.POSITIVE if gap == Sign.POSITIVE else Sign.NOT_NEGATIVE
        context.learn(self.x + self.y, sign)
        context.learn(self.x - self.y, sign)


@dataclass(frozen=True)
class Root:
    """A new variable: the non-negative root v of below · v^n = above, where above/below ≥ 0."""

    variable: str
    n: int
    above: Polynomial
    below: Polynomial

    def check(self, context: Context) -> None:
        context.own(self.above, self.below)
        if self.variable in context.introduced or self.variable not in context.ring.names():
            raise Refused(f"{self.variable} is no new variable")
        if not isinstance(self.n, int) or self.n < 1:
            raise Refused("no power")
        if not context.sign(self.above * self.below).within(Sign.NOT_NEGATIVE):
            raise Refused(f"{self.above} over {self.below} may be negative")
        if not context.sign(self.below).without_zero:
            raise Refused(f"{self.below} may vanish")
        context.introduced |= {self.variable}
        v = context.ring.gen(context.ring.variable_to_index(self.variable))
        context.learn(v, Sign.NOT_NEGATIVE)
        context.learn(self.below * v**self.n - self.above, Sign.ZERO)


@dataclass(frozen=True)
class Cases:
    """What is known of p in each case that `on` is negative, zero, or positive."""

    on: Polynomial
    p: Polynomial
    negative: tuple[Step, ...] = ()
    zero: tuple[Step, ...] = ()
    positive: tuple[Step, ...] = ()

    def check(self, context: Context) -> None:
        found = Sign.NONE
        cases = {Sign.NEGATIVE: self.negative, Sign.ZERO: self.zero, Sign.POSITIVE: self.positive}
        for sign, steps in cases.items():
            case = context.copy()
            case.learn(self.on, sign)
            for step in steps:
                step.check(case)
            found |= Sign.NONE if case.contradictory else case.sign(self.p)
        context.learn(self.p, found)


Step = Use | Combination | Divisor | Monotone | Dominates | Root | Cases


@dataclass(frozen=True)
class Section:
    """What shows a debt, or the goal: steps that are kept, and for a debt under conditions those that suppose them."""

    steps: tuple[Step, ...]
    supposing: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Proof:
    """A section for each debt in turn, and the last one for the goal; `roots` are the names of new variables."""

    sections: tuple[Section, ...]
    roots: tuple[str, ...] = ()


def check(lemma: Lemma, proof: Proof) -> None:
    """Whether a proof shows a lemma: refused, with the reason, or not.

    A lemma whose hypotheses contradict each other says nothing, and is refused.
    """
    if len(proof.sections) != len(lemma.debts) + 1:
        raise Refused(f"{len(proof.sections)} sections for {len(lemma.debts)} debts and the goal")
    context = Context(ring((*lemma.variables, *proof.roots)), frozenset(lemma.variables))
    sections = iter(proof.sections)
    for part in lemma.parts:
        if part.name in context.usable:
            raise Refused(f"two parts are called {part.name}")
        if part.owed:
            _pay(part, next(sections), context)
        context.usable[part.name] = part
    _pay(Part("the goal", lemma.goal), next(sections), context)
    if context.contradictory:
        raise Refused("the hypotheses contradict each other")


def _pay(debt: Part, section: Section, context: Context) -> None:
    """A debt is shown where its conditions hold; what is found under these is not known elsewhere."""
    for step in section.steps:
        step.check(context)
    here = context.copy() if debt.given else context
    for condition in debt.given:
        here.assume(condition)
    for step in section.supposing:
        step.check(here)
    if not here.shown(debt.claim):
        raise Refused(f"the steps do not show {debt.name}")
