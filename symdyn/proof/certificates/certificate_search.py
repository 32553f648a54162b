"""The search for certificates: steps from which the kernel sees that a lemma holds.

Nothing that is found here is believed. Every step is tried on the kernel's own account of what is known, and the whole
is checked by it once more.

What is defined is replaced by what it is, in variables that nothing defines; a square root by a product of roots of
factors, or by one that is there already. What is left is a polynomial, linear in each root, that is zero or not. Signs
are found from factors, from terms, from a root that prevails, from squares completed and from what else is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import isqrt
from typing import Any

from flint import fmpq

from symdyn.kernel.lemma import Lemma, Number, Part, Power, Product, Relation, Term, Variable
from symdyn.kernel.polynomials import (
    Polynomial,
    Quotient,
    Refused,
    coefficients,
    constant,
    key,
    lowest,
    occurring,
    replaced,
    ring,
)
from symdyn.kernel.polynomials import read as read_term
from symdyn.kernel.signs import Sign
from symdyn.kernel.steps import (
    Cases,
    Combination,
    Context,
    Divisor,
    Dominates,
    Equations,
    Monomial,
    Monotone,
    Proof,
    Root,
    Rule,
    Section,
    Step,
    Use,
)

SECONDS = 1.0
"""The CPU time that the search for one proof may take."""

FRESH = 12
"""At most so many roots are introduced."""

DEPTH = 7
LARGEST = 4000
FEW = 60


class NotFound(Exception):
    """The search has found no proof: which part is left."""


def certificate(lemma: Lemma, seconds: float = SECONDS) -> Proof:
    """A proof of a lemma; raises NotFound, with what is left, where the search finds none."""
    search = Search(lemma, time.process_time() + seconds)
    return search.proof()


class Search:
    """What is known at one place of a proof, and the steps that led there."""

    def __init__(self, lemma: Lemma, deadline: float) -> None:
        self.lemma, self.deadline = lemma, deadline
        taken = set(lemma.variables)
        self.fresh = tuple(
            name for name in (f"b_{k}" for k in range(FRESH + len(taken))) if name not in taken
        )[:FRESH]
        self.ring = ring((*lemma.variables, *self.fresh))
        self.context = Context(self.ring, frozenset(lemma.variables))
        self.one = self.context.one
        self.steps: list[Step] = []
        self.values: dict[str, Rule] = {}
        self.roots: dict[str, Rule] = {}
        self.facts: dict[Any, Polynomial] = {}
        self.pending: list[Part] = []
        self.equations: list[Polynomial] = []
        self.failed: dict[Any, int] = {}
        self.splits = self.looks = 0

    def copy(self) -> Search:
        other = object.__new__(Search)
        other.__dict__.update(self.__dict__)
        other.context = self.context.copy()
        other.steps = []
        for name in ("values", "roots", "facts", "failed"):
            setattr(other, name, dict(getattr(self, name)))
        other.pending, other.equations = list(self.pending), list(self.equations)
        return other

    # the whole proof

    def proof(self) -> Proof:
        sections: list[Section] = []
        for part in self.lemma.parts:
            if part.owed:
                sections.append(self._pay(part))
                self.context.usable[part.name] = part
                if part.given:
                    self.pending.append(part)
            else:
                self.context.usable[part.name] = part
                self._suppose(part)
        self._show(self.lemma.goal, "the goal")
        sections.append(self._section())
        return Proof(tuple(sections), self.fresh)

    def _section(self, supposing: tuple[Step, ...] = ()) -> Section:
        steps, self.steps = tuple(self.steps), []
        return Section(steps, supposing)

    def _pay(self, debt: Part) -> Section:
        if not debt.given:
            self._show(debt.claim, debt.name)
            self._note(self.context.read(debt.claim)[0])
            return self._section()
        for condition in debt.given:
            self._show_denominators(condition)
        here = self.copy()
        found = []
        for condition in debt.given:
            try:
                here.context.assume(condition)
            except Refused as why:
                raise NotFound(f"{debt.name}: {why}") from why
            found.append(here.context.read(condition))
        for p, _ in found:
            here._note(p)
        for p, sign in found:
            if sign == Sign.ZERO:
                here._eliminate(p)
        for p in list(here.facts.values()):
            here._rewritten(p)
        here._use_pending()
        here._show(debt.claim, debt.name, supposed=True)
        return self._section(tuple(here.steps))

    def _late(self) -> None:
        self.looks += 1
        if self.looks % 20 == 0 and time.process_time() > self.deadline:
            raise NotFound("the time is up")

    def do(self, step: Step) -> bool:
        """Take a step, if the kernel lets it be taken."""
        self._late()
        try:
            step.check(self.context)
        except Refused:
            return False
        self.steps.append(step)
        return True

    # hypotheses

    def _suppose(self, part: Part) -> None:
        if part.given:
            self.pending.append(part)
            self._use_pending()
            return
        self._show_denominators(part.claim)
        if not self.do(Use(part.name)):
            return
        self._used(part)

    def _used(self, part: Part) -> None:
        p, sign = self.context.read(part.claim)
        self._note(p)
        if sign != Sign.ZERO or not p:
            return
        left = part.claim.left
        if isinstance(left, Variable) and left.name not in {*self.values, *self.roots}:
            self._define(left.name, part.claim.right, p)
        elif isinstance(left, Power) and isinstance(left.base, Variable) and left.exponent > 1:
            self._root(left.base.name, left.exponent, part.claim.right, p)
        elif isinstance(left, Product) and (v := self._last(left)) is not None:
            self._eliminate(p, v)
        else:
            self.equations.append(p)

    def _last(self, x: Product) -> str | None:
        for factor in reversed(x.factors):
            if isinstance(factor, Variable) and factor.name.startswith("d_"):
                return factor.name
        return None

    def _show_denominators(self, claim: Relation) -> None:
        for side in (claim.left, claim.right):
            for d in read_term(side, self.context._value, self.one).denominators:
                if not self.context.sign(d).without_zero:
                    self.signed(d, Sign.NONZERO)

    def _use_pending(self) -> None:
        """Use the hypotheses whose conditions are seen to hold."""
        for part in list(self.pending):
            if all(self._holds(c) for c in part.given):
                self._show_denominators(part.claim)
                if self.do(Use(part.name)):
                    self.pending.remove(part)
                    self._used(part)

    def _holds(self, condition: Relation) -> bool:
        try:
            self._show_denominators(condition)
            p, sign = self.context.read(condition)
        except Refused:
            return False
        return self.signed(p, sign, 4)

    def _note(self, p: Polynomial) -> None:
        """Remember a polynomial of which something is known."""
        if constant(p) is None:
            self.facts.setdefault(key(p), p)
            self.failed.clear()

    # normal forms

    def reduce(self, p: Polynomial) -> tuple[Polynomial, Polynomial, tuple[Rule, ...], tuple[Any, ...]]:
        """p in variables that nothing defines, linear in roots: (p', m, rules, m's factors) with m p = p'."""
        rules: list[Rule] = []
        factors: list[tuple[Polynomial, int]] = []
        times = self.one
        again = True
        while again:
            again = False
            if len(p) > LARGEST:
                raise NotFound("a polynomial is too large")
            self._late()
            names = occurring(p)
            for name in (n for n in (*self.values, *reversed(self.roots)) if n in names):
                rule = self.values.get(name) or self.roots[name]
                parts = coefficients(p, name)
                most = max(parts) // rule.power
                if most == 0:
                    continue
                of = coefficients(rule.equation, name)
                m = of[rule.power]
                p = replaced(p, name, rule.power, -of.get(0, self.one * 0), m)
                if constant(m) != 1:
                    factors.append((m, most))
                    times = times * m**most
                rules.append(rule)
                again = True
                break
        return p, times, tuple(rules), tuple(factors)

    def frac(self, term: Term) -> Quotient:
        """The quotient that a term is, in variables that nothing defines."""
        if isinstance(term, Number):
            return Quotient(self.one * fmpq(term.value.numerator, term.value.denominator), self.one)
        if isinstance(term, Variable):
            return self._value(term.name)
        if isinstance(term, Power):
            x = self.frac(term.base)
            n = abs(term.exponent)
            if term.exponent < 0:
                if not x.above:
                    raise NotFound("a denominator vanishes")
                x = Quotient(x.below, x.above)
            return self._tidy(x.above**n, x.below**n)
        parts = [self.frac(t) for t in (term.factors if isinstance(term, Product) else term.terms)]
        out = Quotient(self.one * isinstance(term, Product), self.one)
        for x in parts:
            if isinstance(term, Product):
                out = self._tidy(out.above * x.above, out.below * x.below)
            elif out.below == x.below:
                out = self._tidy(out.above + x.above, out.below)
            else:
                out = self._tidy(out.above * x.below + x.above * out.below, out.below * x.below)
        return out

    def _tidy(self, above: Polynomial, below: Polynomial) -> Quotient:
        a, m, _, _ = self.reduce(above)
        b, n, _, _ = self.reduce(below)
        if m != n:
            a, b = a * n, b * m
            if self.roots:
                a, b = self.reduce(a)[0], self.reduce(b)[0]
        if not b:
            raise NotFound("a denominator vanishes")
        if not a:
            return Quotient(a, self.one)
        return lowest(Quotient(a, b))

    def _value(self, name: str) -> Quotient:
        if name in self.values:
            of = coefficients(self.values[name].equation, name)
            return self._tidy(-of.get(0, self.one * 0), of[1])
        return Quotient(self._variable(name), self.one)

    def _variable(self, name: str) -> Polynomial:
        return self.ring.gen(self.ring.variable_to_index(name))

    # what is defined

    def _define(self, name: str, body: Term, equation: Polynomial) -> None:
        """name = body: replaced from here on by what it is."""
        try:
            x = self.frac(body)
        except NotFound:
            self._late()
            return
        self._replace(name, x, Rule(equation, name))

    def _replace(self, name: str, x: Quotient, known: Rule) -> bool:
        times = coefficients(known.equation, name).get(1)
        if times is None or name in occurring(x.above) | occurring(x.below):
            return False
        if not self.signed(times, Sign.NONZERO) or not self.signed(x.below, Sign.NONZERO):
            return False
        simple = x.below * self._variable(name) - x.above
        if simple != known.equation:
            _, _, rules, _ = self.reduce(
                replaced(simple, name, 1, -coefficients(known.equation, name).get(0, 0 * self.one), times)
            )
            if not self.do(Combination(simple, (), by=Equations((known, *rules)))):
                return False
        self.values[name] = Rule(simple, name)
        self.failed.clear()
        self._rewrite_facts(name)
        return True

    def _eliminate(self, p: Polynomial, name: str | None = None) -> bool:
        """Use an equation to replace a variable in which it is linear, the last one if none is named."""
        q, m, rules, _ = self.reduce(p)
        if not q:
            return False
        base = [n for n in self.lemma.variables if n not in self.values and n not in self.roots]
        for v in [name] if name else reversed([n for n in base if n in occurring(q)]):
            parts = coefficients(q, v)
            if set(parts) - {0, 1} or 1 not in parts:
                continue
            same = Combination(q, (Monomial(1, ((p, 1),)),), by=Equations(rules))
            if (
                q != p
                and not self.do(same)
                and not self.do(Combination(q, (), by=Equations(rules, ((m, p),))))
            ):
                return False
            if not self.signed(parts[1], Sign.NONZERO, 3):
                continue
            x = self._tidy(-parts.get(0, self.one * 0), parts[1])
            if self._replace(v, x, Rule(q, v)):
                return True
        return False

    def _rewrite_facts(self, name: str) -> None:
        """What is known of polynomials with a variable that is replaced, in the variables that are left."""
        for p in list(self.facts.values()):
            if name in occurring(p) and p != self.values[name].equation:
                self._rewritten(p)

    def _rewritten(self, p: Polynomial) -> None:
        if self.context.sign(p) in (Sign.ANY, Sign.ZERO):
            return
        q, _, rules, factors = self.reduce(p)
        if constant(q) is not None or q == p:
            return
        for t, _ in factors:
            self.signed(t, Sign.POSITIVE, 2)
        term = Monomial(1, (*factors, (p, 1)))
        if self.do(Combination(q, (term,), by=Equations(rules))):
            self._note(q)

    # roots

    def _root(self, name: str, n: int, radicand: Term, equation: Polynomial) -> None:
        try:
            x = self.frac(radicand)
        except NotFound:
            self._late()
            return
        v = self._variable(name)
        times = coefficients(equation, name).get(n)
        if times is None or not self.signed(times, Sign.NONZERO) or not self.signed(x.below, Sign.NONZERO):
            return
        simple = x.below * v**n - x.above
        if simple != equation:
            _, _, rules, _ = self.reduce(replaced(simple, name, n, -coefficients(equation, name)[0], times))
            if not self.do(Combination(simple, (), by=Equations((Rule(equation, name, n), *rules)))):
                return
            self._note(simple)
        if not x.above:
            self.do(Monotone(v, self.one * 0, n)) or (
                self.do(
                    Combination(
                        v**n, (), Monomial(1, ((x.below, 1),)), Equations(multiples=((self.one, simple),))
                    )
                )
                and self.do(Monotone(v, self.one * 0, n))
            )
            if self.context.sign(v) == Sign.ZERO:
                self.values[name] = Rule(v, name)
                return
        self.roots[name] = Rule(simple, name, n)
        if n == 2 and x.above:
            self._simplified(name, x)
        if name in self.roots and self.signed(x.above * x.below, Sign.POSITIVE, 3):
            self.do(
                Divisor(v, v ** (n - 1) * x.below, x.above, Equations((self.roots[name],)))
            ) if self.signed(x.above, Sign.NONZERO, 3) else None

    def _simplified(self, name: str, x: Quotient) -> None:
        """Replace a root by a product of roots that are there, or by one of something simpler."""
        own = self.roots.pop(name)
        v = self._variable(name)
        sign = 1
        if not self.signed(x.below, Sign.POSITIVE, 3):
            if not self.signed(x.below, Sign.NEGATIVE, 3):
                self.roots[name] = own
                return
            sign = -1
        square, _, _, _ = self.reduce(x.above * x.below)
        found = self.root_of(square, name if x.below == 1 else None)
        if found is None:
            self.roots[name] = own
            return
        y, times = found  # times √square = y
        left = x.below * v * sign * times
        gap = left**2 - y**2
        _, _, rules, _ = self.reduce(replaced(gap, name, 2, *self._solved(own)))
        if not (
            self.signed(left, Sign.NOT_NEGATIVE, 3)
            and self.signed(y, Sign.NOT_NEGATIVE, 3)
            and (not gap or self.do(Combination(gap, (), by=Equations((own, *rules)))))
            and self.do(Monotone(left, y, 2))
        ):
            self.roots[name] = own
            return
        if not self._replace(name, self._tidy(y, x.below * sign * times), Rule(left - y, name)):
            self.roots[name] = own

    def _solved(self, rule: Rule) -> tuple[Polynomial, Polynomial]:
        of = coefficients(rule.equation, rule.variable)
        return -of.get(0, self.one * 0), of[rule.power]

    def root_of(self, p: Polynomial, own: str | None = None) -> tuple[Polynomial, Polynomial] | None:
        """(y, m) with m √p = y in roots that are there or are new; None if it is best left as it is."""
        if occurring(p) & set(self.roots):
            return self._nested(p)
        content, factors = p.factor()
        y, inside = self.one, self.one
        signs = 1 if content > 0 else -1
        several = len(factors) + (abs(content) != 1) > 1
        odd = []
        for f, e in factors:
            e = int(e)
            if (e // 2) % 2:
                s = self._unit(f)
                if s is None:
                    return None
                y = y * f * s
                y = y * f ** (e // 2 - 1)
            elif e // 2:
                y = y * f ** (e // 2)
            if e % 2:
                s = self._unit(f) if several else None
                if s is None:
                    inside = inside * f
                else:
                    signs *= s
                    odd.append(f * s)
        inside = inside * signs
        number, below = int(abs(content).p) * int(abs(content).q), int(abs(content).q)
        outside, primes = _square_part(number)
        if inside == -1:
            return None
        wanted = [*(self.one * q for q in primes), *odd, *([] if inside == 1 else [inside])]
        if own is not None and len(wanted) == 1 and wanted[0] == p and self._there(p) is None:
            return None
        names = []
        for q in wanted:
            name = self._base(q)
            if name is None:
                return None
            names.append(name)
        y = y * outside
        for name in names:
            y = y * self._variable(name)
        return self.reduce(y)[0], self.one * below

    def _unit(self, p: Polynomial) -> int | None:
        if self.signed(p, Sign.NOT_NEGATIVE, 3):
            return 1
        return -1 if self.signed(p, Sign.NOT_POSITIVE, 3) else None

    def _base(self, p: Polynomial) -> str | None:
        """The variable that is √p, a new one if there is none."""
        if (name := self._there(p)) is not None:
            return name
        if not self.signed(p, Sign.NOT_NEGATIVE, 4):
            return None
        free = [n for n in self.fresh if n not in self.context.introduced]
        if not free or not self.do(Root(free[0], 2, p, self.one)):
            return None
        v = self._variable(free[0])
        self.roots[free[0]] = Rule(v**2 - p, free[0], 2)
        if self.signed(p, Sign.POSITIVE, 3):
            self.do(Divisor(v, v, p, Equations((self.roots[free[0]],))))
        return free[0]

    def _there(self, p: Polynomial) -> str | None:
        for name, rule in self.roots.items():
            if rule.power == 2 and rule.equation == self._variable(name) ** 2 - p:
                return name
        return None

    def _nested(self, p: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        """√p of a polynomial with roots in it: a square, a conjugate of an old one, or √P ± √Q."""
        content, factors = p.factor()
        outer = [(f, int(e)) for f, e in factors if not occurring(f) & set(self.roots)]
        inner = [(f, int(e)) for f, e in factors if occurring(f) & set(self.roots)]
        scale: tuple[Polynomial, Polynomial] = (self.one, self.one)
        rest = self.one
        for f, e in inner:
            rest = rest * f**e
        rest = rest * (1 if content > 0 else -1)
        pulled = self.one * abs(content)
        for f, e in outer:
            s = self._unit(f)
            if s is None:
                rest = rest * f**e
            else:
                pulled = pulled * (f * s) ** e
                rest = rest * s**e
        if pulled != 1:
            found = self.root_of(pulled)
            if found is None:
                return None
            scale = found
        found = self._nested_primitive(rest)
        if found is None:
            if pulled == 1:
                return None
            name = self._base(rest)
            if name is None:
                return None
            found = (self._variable(name), self.one)
        return self.reduce(scale[0] * found[0])[0], self.reduce(scale[1] * found[1])[0]

    def _nested_primitive(self, p: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        for name, rule in self.roots.items():
            q, m = self._solved(rule)
            if rule.power != 2 or m != 1 or not occurring(q) & set(self.roots):
                continue
            if q == p:
                return self._variable(name), self.one
            whole = self.reduce(p * q)[0]
            if not occurring(whole) & set(self.roots):
                found = self.root_of(whole)
                if found is not None and self.signed(self._variable(name), Sign.POSITIVE, 3):
                    return found[0], found[1] * self._variable(name)
        return self._as_sum_of_roots(p)

    def _as_sum_of_roots(self, p: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        """√(A + B r) = √P ± √Q with P, Q = (A ± √(A² - B² q))/2, where all of these are squares of what is there."""
        r = [n for n in self.roots if n in occurring(p)][-1]
        parts = coefficients(p, r)
        a, b = parts.get(0, self.one * 0), parts[1]
        s = _exact_root(self.reduce(a**2 - b**2 * self._variable(r) ** 2)[0])
        if s is None:
            return None
        for half in (s, -s):
            first, second = (self.reduce((a + half) * fmpq(1, 2))[0], self.reduce((a - half) * fmpq(1, 2))[0])
            roots = [self._known_root(x) for x in (first, second)]
            if None in roots:
                continue
            (y, m), (z, n) = roots  # type: ignore[misc]
            for sign in (1, -1):
                y2 = self.reduce(y * n + sign * z * m)[0]
                if self.reduce(y2**2 - p * (m * n) ** 2)[0] == 0 and self.signed(y2, Sign.NOT_NEGATIVE, 3):
                    return y2, m * n
        return None

    def _known_root(self, p: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        if not p:
            return self.one * 0, self.one
        if occurring(p) & set(self.roots):
            return None
        return self.root_of(p)

    # what is to be shown

    def _show(self, claim: Relation, name: str, supposed: bool = False) -> None:
        self._show_denominators(claim)
        try:
            p, sign = self.context.read(claim)
        except Refused as why:
            raise NotFound(f"{name}: {why}") from why
        if self.shown(p, sign):
            return
        if self.context.contradictory and supposed:
            return
        raise NotFound(f"{name}: {claim_text(p, sign)}")

    def shown(self, p: Polynomial, sign: Sign) -> bool:
        if self.signed(p, sign) or self.context.contradictory:
            return True
        for equation in list(self.equations):
            if self._eliminate(equation):
                self.equations.remove(equation)
        self._use_pending()
        if self.signed(p, sign) or self.context.contradictory:
            return True
        return self._by_cases(p, sign)

    def _by_cases(self, p: Polynomial, sign: Sign) -> bool:
        """Show it for each sign of what a condition compares with zero."""
        if self.splits >= 3:
            return False
        for part in self.pending:
            for condition in part.given:
                try:
                    on, _ = self.context.read(condition)
                except Refused:
                    continue
                on = self.reduce(on)[0]
                if constant(on) is not None or self.context.sign(on) in (
                    Sign.ZERO,
                    Sign.POSITIVE,
                    Sign.NEGATIVE,
                ):
                    continue
                return self._split(on, p, sign)
        return False

    def _split(self, on: Polynomial, p: Polynomial, sign: Sign) -> bool:
        branches = []
        for s in (Sign.NEGATIVE, Sign.ZERO, Sign.POSITIVE):
            case = self.copy()
            case.splits = self.splits + 1
            case.failed = {}
            case.context.learn(on, s)
            if not case.context.contradictory:
                case._note(on)
                if s == Sign.ZERO:
                    case._eliminate(on)
                case._use_pending()
                if not case.shown(p, sign):
                    return False
            branches.append(tuple(case.steps))
        return self.do(Cases(on, p, *branches)) and self.context.sign(p).within(sign)

    # signs

    def signed(self, p: Polynomial, want: Sign, depth: int = DEPTH) -> bool:
        """Whether p is seen to have one of the wanted signs; the steps that show it are taken."""
        if self.context.sign(p).within(want):
            return True
        if depth <= 0 or len(p) > LARGEST or constant(p) is not None:
            return False
        self._late()
        mark = (key(p), want.value)
        if self.failed.get(mark, 0) >= depth:
            return False
        self.failed[mark] = depth
        try:
            q, _, rules, factors = self.reduce(p)
        except NotFound:
            self._late()
            return False
        if q != p:
            if not q:
                if self.do(Combination(p, (), by=Equations(rules))):
                    return self.context.sign(p).within(want)
                return False
            if want == Sign.ZERO:
                return False
            for t, _ in factors:
                self.signed(t, Sign.POSITIVE, depth - 1)
            for target in {Sign.NEGATIVE: (Sign.NEGATIVE,), Sign.POSITIVE: (Sign.POSITIVE,)}.get(
                want, (want,)
            ):
                self.signed(q, target, depth)
            step = Combination(p, (Monomial(1, ((q, 1),)),), Monomial(1, factors), Equations(rules))
            return self.do(step) and self.context.sign(p).within(want)
        if want == Sign.ZERO:
            return False
        found = self._sign_of(p, want, depth)
        if found:
            self._note(p)
        return found

    def _sign_of(self, p: Polynomial, want: Sign, depth: int) -> bool:
        content, factors = p.factor()
        if len(factors) > 1 or (factors and int(factors[0][1]) > 1):
            return self._of_product(p, content, [(f, int(e)) for f, e in factors], want, depth)
        for way in (
            self._of_terms,
            self._of_multiple,
            self._of_root,
            self._of_shift,
            self._of_square,
            self._of_facts,
            self._of_divisor,
        ):
            if way(p, want, depth) and self.context.sign(p).within(want):
                return True
            self._late()
        if want == Sign.NONZERO:
            return self.signed(p, Sign.POSITIVE, depth - 1) or self.signed(p, Sign.NEGATIVE, depth - 1)
        return False

    def _of_product(
        self, p: Polynomial, content: Any, factors: list[tuple[Polynomial, int]], want: Sign, depth: int
    ) -> bool:
        strict = want.without_zero
        for f, e in factors:
            if e % 2 == 0 or want == Sign.NONZERO:
                if strict and not self.signed(f, Sign.NONZERO, depth - 1):
                    return self._of_divisor(p, want, depth) and self.context.sign(p).within(want)
                continue
            for target in (
                Sign.POSITIVE,
                Sign.NEGATIVE,
                *(() if strict else (Sign.NOT_NEGATIVE, Sign.NOT_POSITIVE)),
            ):
                if self.signed(f, target, depth - 1):
                    break
        self.do(Combination(p, (Monomial(content, tuple(factors)),)))
        return self.context.sign(p).within(want)

    def _terms(self, p: Polynomial) -> Iterator[tuple[Monomial, Polynomial]]:
        for m, c in p.to_dict().items():
            factors = tuple((self.ring.gen(k), int(e)) for k, e in enumerate(m) if e)
            yield Monomial(c, factors), self.ring.from_dict({m: c})

    def _of_terms(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """By the signs of the variables: make sure first that these are known."""
        before = self.context.sign(p)
        for name in occurring(p):
            v = self._variable(name)
            if self.context.sign(v) in (Sign.ANY, Sign.NOT_NEGATIVE, Sign.NOT_POSITIVE):
                self.signed(v, Sign.NONZERO, min(depth - 1, 2))
        return self.context.sign(p) != before

    def _of_root(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """The sign of A + B r with a root r: that of both, or of the one with the larger square."""
        names = [n for n in self.roots if n in occurring(p) and self.roots[n].power == 2]
        if not names or want == Sign.NONZERO:
            return False
        r = names[-1]
        v = self._variable(r)
        parts = coefficients(p, r)
        if set(parts) - {0, 1} or 0 not in parts:
            return False
        a, b = parts[0], parts[1]
        up = Sign.POSITIVE.within(want)
        good = Sign.NOT_NEGATIVE if up else Sign.NOT_POSITIVE
        strict = Sign.POSITIVE if up else Sign.NEGATIVE
        a_good = self.signed(a, strict, depth - 1) or self.signed(a, good, depth - 1)
        b_good = self.signed(b, strict, depth - 1) or self.signed(b, good, depth - 1)
        if a_good and b_good:
            terms = (Monomial(1, ((a, 1),)), Monomial(1, ((b, 1), (v, 1))))
            return self.do(Combination(p, terms))
        q, m = self._solved(self.roots[r])
        if constant(m) != 1:
            return False
        gap = self.reduce(b**2 * q - a**2)[0]
        size = Sign.POSITIVE if want.without_zero else Sign.NOT_NEGATIVE
        sign = 1 if up else -1
        if b_good and self.signed(gap, size, depth - 1):
            return self._dominant(b * v * sign, a * sign, gap, depth)
        if a_good and self.signed(-gap, size, depth - 1):
            return self._dominant(a * sign, b * v * sign, -gap, depth)
        return False

    def _dominant(self, x: Polynomial, y: Polynomial, gap: Polynomial, depth: int) -> bool:
        _, _, rules, _ = self.reduce(x**2 - y**2)
        return (
            self.signed(x, Sign.NOT_NEGATIVE, depth - 1)
            and self.do(Combination(x**2 - y**2, (Monomial(1, ((gap, 1),)),), by=Equations(rules)))
            and self.do(Dominates(x, y))
        )

    def _of_shift(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """By powers of what is known to be positive, such as E - 1 of an exponential E > 1."""
        shifts: dict[int, tuple[Polynomial, Any]] = {}
        for f in list(self.facts.values()):
            if len(f) != 2 or f.total_degree() != 1:
                continue
            names = occurring(f)
            c = f.to_dict().get((0,) * self.ring.nvars())
            if len(names) == 1 and c is not None and names <= occurring(p):
                at = self.ring.variable_to_index(next(iter(names)))
                leading = f.leading_coefficient()
                if self.context.sign(f * (1 / leading)).within(Sign.NOT_NEGATIVE):
                    shifts[at] = (f * (1 / leading), c / leading)
        if not shifts:
            return False
        generators = list(self.ring.gens())
        moved = p.compose(
            *(g - shifts[k][1] if k in shifts else g for k, g in enumerate(generators)), ctx=self.ring
        )
        terms = tuple(
            Monomial(
                c,
                tuple((shifts[k][0] if k in shifts else generators[k], int(e)) for k, e in enumerate(m) if e),
            )
            for m, c in moved.to_dict().items()
        )
        return self.do(Combination(p, terms))

    def _of_square(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """4A (A x² + B x + C) = (2A x + B)² + 4AC - B²."""
        if len(p) > FEW:
            return False
        for name in occurring(p) - set(self.roots):
            parts = coefficients(p, name)
            if max(parts) != 2 or 0 not in parts or 1 not in parts:
                continue
            a, b, c = parts[2], parts[1], parts[0]
            if self.context.sign(a) not in (Sign.POSITIVE, Sign.NEGATIVE):
                continue
            rest = self.reduce(4 * a * c - b**2)[0]
            weakly = (Sign.POSITIVE,) if want.without_zero else (Sign.POSITIVE, Sign.NOT_NEGATIVE)
            if rest and not any(self.signed(rest, s, depth - 2) for s in weakly):
                continue
            square = 2 * a * self._variable(name) + b
            terms = (Monomial(1, ((square, 2),)), Monomial(1, ((rest, 1),)))
            _, _, rules, _ = self.reduce(4 * a * p - square**2 - rest)
            if self.do(Combination(p, terms, Monomial(4, ((a, 1),)), Equations(rules))):
                return True
        return False

    def _of_facts(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """p = c m q + rest with a monomial m and a known q, where both have the wanted sign."""
        if want == Sign.NONZERO or len(p) > FEW or depth < 2:
            return False
        up = Sign.POSITIVE.within(want)
        good = Sign.NOT_NEGATIVE if up else Sign.NOT_POSITIVE
        for q in list(self.facts.values()):
            if self.context.sign(q) in (Sign.ANY, Sign.NONZERO, Sign.ZERO) or len(q) < 2 or q == p:
                continue
            if occurring(q) & set(self.values):
                continue
            seen = set()
            for (m, c), (n, d) in ((x, y) for x in p.to_dict().items() for y in q.to_dict().items()):
                if any(j > i for i, j in zip(m, n, strict=True)):
                    continue
                monomial = tuple(i - j for i, j in zip(m, n, strict=True))
                mark = (monomial, c / d)
                if mark in seen:
                    continue
                seen.add(mark)
                factors = tuple((self.ring.gen(k), int(e)) for k, e in enumerate(monomial) if e)
                first = Monomial(c / d, (*factors, (q, 1)))
                if not first.sign(self.context).within(good):
                    continue
                rest = p - first.expanded(self.context)
                if len(rest) > len(p):
                    continue
                terms = (first,) if not rest else (first, Monomial(1, ((rest, 1),)))
                if rest and not self.signed(
                    rest, want if not first.sign(self.context).without_zero else good, depth - 2
                ):
                    continue
                if self.do(Combination(p, terms)) and self.context.sign(p).within(want):
                    return True
        return False

    def _of_multiple(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """From the sign of what is known of c p, with a factor c whose sign is known."""
        for q in list(self.facts.values()):
            if self.context.sign(q) in (Sign.ANY, Sign.ZERO) or not occurring(p) <= occurring(q):
                continue
            if p == 0 or len(q) < len(p) or q == p or occurring(q) & set(self.values):
                continue
            factor, rest = divmod(q, p)
            if rest == 0 and self.context.sign(factor).without_zero:
                step = Combination(p, (Monomial(1, ((q, 1),)),), Monomial(1, ((factor, 1),)))
                if self.do(step) and self.context.sign(p).within(want):
                    return True
        return False

    def _of_divisor(self, p: Polynomial, want: Sign, depth: int) -> bool:
        """It does not vanish since something does not that it divides."""
        if not want.without_zero:
            return False
        for q in list(self.facts.values()):
            if not self.context.sign(q).without_zero or constant(p) is not None:
                continue
            if not occurring(p) <= occurring(q) or occurring(q) & set(self.values):
                continue
            quotient, remainder = divmod(q, p)
            if remainder == 0 and constant(quotient) is None and self.do(Divisor(p, quotient, q)):
                return self.context.sign(p).within(want)
        names = [n for n in self.roots if n in occurring(p)]
        if names:
            r = names[-1]
            parts = coefficients(p, r)
            if set(parts) == {0, 1}:
                conjugate = parts[0] - parts[1] * self._variable(r)
                norm, m, rules, _ = self.reduce(p * conjugate)
                if constant(m) == 1 and norm and self.signed(norm, Sign.NONZERO, depth - 2):
                    self.do(Divisor(p, conjugate, norm, Equations(rules)))
            elif set(parts) == {1} and p == self._variable(r):
                q, m = self._solved(self.roots[r])
                if self.signed(q, Sign.NONZERO, depth - 1):
                    self.do(Divisor(p, p ** (self.roots[r].power - 1) * m, q, Equations((self.roots[r],))))
        return self.context.sign(p).within(want)


def _square_part(n: int) -> tuple[int, list[int]]:
    """√n = the first times √ of the primes."""
    outside, primes, k = 1, [], 2
    while k * k <= n and k < 10_000:
        while n % (k * k) == 0:
            n, outside = n // (k * k), outside * k
        if n % k == 0:
            primes.append(k)
            n //= k
        k += 1
    if n > 1:
        whole = isqrt(n)
        if whole * whole == n:
            outside *= whole
        else:
            primes.append(n)
    return outside, primes


def _exact_root(p: Polynomial) -> Polynomial | None:
    """A polynomial whose square is p, or None."""
    if not p:
        return p
    content, factors = p.factor()
    if content <= 0 or any(int(e) % 2 for _, e in factors):
        return None
    above, below = isqrt(int(content.p)), isqrt(int(content.q))
    if above**2 != int(content.p) or below**2 != int(content.q):
        return None
    out = p.context().constant(1) * fmpq(above, below)
    for f, e in factors:
        out = out * f ** (int(e) // 2)
    return out


def claim_text(p: Polynomial, sign: Sign) -> str:
    return f"{str(p)[:160]} is not seen to be {str(sign.name).lower().replace('_', ' ')}"
