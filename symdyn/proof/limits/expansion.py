r"""Expansions with a remainder that hold at every point of a cell.

As e tends to 0 from above, a function of e and of parameters is

    f(e) = Σ c_m m(e) + Σ O(m'(e)),    m(e) = exp(Σ_q r_q e^-q) e^p log(1/e)^k,

with coefficients c_m, rates r_q and powers p that depend on the parameters alone. The constant in a remainder may
depend on the parameters, so the equation says something at each of their values, and nothing uniform. Sums and
products need no sign. Whatever divides, takes a root or a logarithm needs its leading coefficient to be non-zero (or
positive) at every point of the cell, and whatever compares two monomials the sign of what they differ by: where the
cell does not give it, `NeedsSign` says of which expression, and the cell can be split there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from symdyn.proof.signs.numbers import certified_sign
from symdyn.proof.undecided import Undecided
from symdyn.proof.zero.hyperbolic import inverse_function, to_exponentials
from symdyn.proof.zero.polynomials import factor_list, unit, without
from symdyn.proof.zero.tower import Pair, Tower

Rates = tuple[tuple[sp.Rational, sp.Expr], ...]
MOST_TERMS = 400
LARGEST_POWER = 12
ORDERS = (2, 4, 8)


class NeedsSign(Undecided):
    """The cell does not give the sign of an expression that an expansion depends on."""

    def __init__(self, expression: sp.Expr) -> None:
        super().__init__(f"the sign of {expression} is not known on this cell")
        self.expression = expression


class NotReal(Undecided):
    """The expression leaves the real numbers near the limit point."""


class NeedsTerms(Undecided):
    """All terms kept so far cancel: more of them may tell."""


@dataclass(frozen=True)
class Monomial:
    """exp(Σ r_q e^-q) e^power log(1/e)^logs; `rates` lists (q, r_q), the largest q first."""

    rates: Rates = ()
    power: sp.Expr = sp.S.Zero
    logs: sp.Expr = sp.S.Zero

    def __mul__(self, other: Monomial) -> Monomial:
        rates = dict(self.rates)
        for q, r in other.rates:
            rates[q] = _plain(rates.get(q, sp.S.Zero) + r)
        return Monomial(_sorted(rates), _plain(self.power + other.power), self.logs + other.logs)

    def __pow__(self, n: sp.Expr) -> Monomial:
        rates = {q: _plain(n * r) for q, r in self.rates}
        return Monomial(_sorted(rates), _plain(n * self.power), n * self.logs)


ONE = Monomial()


@functools.lru_cache(maxsize=4096)
def _plain(x: sp.Expr) -> sp.Expr:
    return x if x.is_Rational else sp.cancel(sp.expand(x))


def _sorted(rates: dict[sp.Rational, sp.Expr]) -> Rates:
    return tuple(sorted(((q, r) for q, r in rates.items() if r != 0), reverse=True, key=lambda item: item[0]))


class Field:
    """Coefficients of expansions: elements of a tower of roots on a cell, and what is known of their signs.

    `sign_of` is that of a tower. `facts` are pairs of an expression and its strict sign on the cell, 0 if it is
    only known not to vanish. A field of `numbers` asks enclosures for signs. The exponents, and their halves, of what
    it `speaks_of` are told from independent ones.
    """

    def __init__(
        self,
        sign_of: Callable[[Any], int | None],
        facts: Iterable[tuple[sp.Expr, int]] = (),
        numbers: bool = False,
        speaks_of: Iterable[sp.Expr] = (),
    ) -> None:
        self.tower = Tower(sign_of)
        self.numbers = numbers
        for expr in speaks_of:
            self.tower.scan(to_exponentials(expr))
        self.tower.lattice = {monomial: 2 * unit for monomial, unit in self.tower.lattice.items()}
        self.facts = [(self.tower.convert(e)[0], s) for e, s in facts]

    def element(self, expr: sp.Expr) -> Pair:
        return self.tower.convert(expr)

    def expression(self, x: Pair) -> sp.Expr:
        return self.tower.expression(x)

    def sign(self, x: Pair, strict: bool = True) -> int:
        """1 or -1, and 0 of what vanishes identically. Not strict, 1 and -1 allow zeros. Raises NeedsSign."""
        if not x[0]:
            return 0
        if self.numbers:
            number = self.expression(x)
            found = certified_sign(number)
            if found is None or found == 0:
                raise Undecided(f"the sign of {number} is not decided")
            return found
        return self._sign(x[0], strict) * self._sign(x[1], strict)

    def nonzero(self, x: Pair) -> bool:
        """Whether x vanishes nowhere (True) or identically (False). Raises NeedsSign for what is in between."""
        if not x[0] or self.numbers:
            return self.sign(x) != 0
        rest, _ = self._without_facts(self.tower._lift(x[0]))
        for factor, _ in factor_list(rest)[1]:
            self._sign(factor, True)
        return True

    def _sign(self, p: Any, strict: bool) -> int:
        p = self.tower._lift(p)
        s = self.tower._sign_poly(p)
        if s is not None and (abs(s) == 2 or not strict):
            return 1 if s > 0 else -1
        if (found := self._collected(p, strict)) is not None:
            return found
        rest, s = self._without_facts(p)
        content, factors = factor_list(rest)
        s *= 1 if content > 0 else -1
        for factor, exponent in factors:
            f = self.tower._lift(factor)
            found = self.tower._sign_poly(f)
            found = found if found is not None and abs(found) == 2 else self._rootless(f) or found
            if found is None and exponent % 2 == 0 and not strict:
                continue
            if found is None or (abs(found) < 2 and strict):
                raise NeedsSign(self.expression((f, self.tower.ring.one)))
            s *= (unit(found) or 1) ** exponent
        if s == 0:
            raise NeedsSign(self.expression((p, self.tower.ring.one)))
        return int(s)

    def _rootless(self, p: Any) -> int | None:
        """±2 for a polynomial in one generator that has no real root where this has its sign, None otherwise."""
        used = {i for monomial in p for i, exponent in enumerate(monomial) if exponent}
        if len(used) != 1:
            return None
        (index,) = used
        z = sp.Dummy("z")
        poly = sp.Poly(
            {(m[index],): sp.Rational(int(c.numerator), int(c.denominator)) for m, c in p.terms()}, z
        )
        s = self.tower.signs[index]
        low, high = (None, None) if s is None else (0, None) if s > 0 else (None, 0)
        at = poly.eval(0)
        return 2 * int(sp.sign(at)) if at != 0 and poly.count_roots(low, high) == 0 else None

    def _collected(self, p: Any, strict: bool) -> int | None:
        """The sign of a polynomial in a symbol of known sign whose coefficients are all of one sign."""
        for index, s in enumerate(self.tower.signs):
            if s is None or abs(s) < 2 or len({m[index] for m in p}) < 2:
                continue
            parts: dict[int, dict[Any, Any]] = {}
            for monomial, c in p.terms():
                parts.setdefault(monomial[index], {})[without(monomial, index)] = c
            signs = set()
            for exponent, terms in parts.items():
                try:
                    found = self._sign(self.tower.ring.from_dict(terms), strict)
                except NeedsSign:
                    break
                signs.add(found * (1 if s > 0 else (-1) ** exponent))
            else:
                if len(signs) == 1:
                    return int(signs.pop())
        return None

    def _without_facts(self, p: Any) -> tuple[Any, int]:
        """p with the factors taken out that a fact is about, and the sign of these, 0 if not known."""
        s = 1
        for fact, sign in self.facts:
            f = self.tower._lift(fact)
            times = 0
            while not f.is_ground and not (p % f):
                p, times = p.exquo(f), times + 1
            s *= 1 if times % 2 == 0 else sign
        return p, s

    def less(self, x: sp.Expr, y: sp.Expr) -> int:
        """The sign of x - y, for rates and powers."""
        gap = _plain(x - y)
        return int(sp.sign(gap)) if gap.is_Rational else self.sign(self.element(gap))

    def compare(self, m: Monomial, n: Monomial) -> int:
        """1 where m/n grows without bound as e tends to 0, -1 where it vanishes, 0 where m and n are the same."""
        mine, other = dict(m.rates), dict(n.rates)
        for q in sorted({*mine, *other}, reverse=True):
            if s := self.less(mine.get(q, sp.S.Zero), other.get(q, sp.S.Zero)):
                return s
        return -self.less(m.power, n.power) or self.less(m.logs, n.logs)

    def size(self, m: Monomial) -> int:
        """1 of a monomial that is unbounded, -1 of one that vanishes, 0 of the constant."""
        return self.compare(m, ONE)


@dataclass(frozen=True)
class Expansion:
    """Σ c_m m + Σ O(m'): `terms` maps m to c_m, `rest` holds the m'. No rest: exact."""

    field: Field
    terms: dict[Monomial, Pair]
    rest: frozenset[Monomial] = frozenset()

    @property
    def is_zero(self) -> bool:
        return not self.terms and not self.rest

    @property
    def constant(self) -> Pair | None:
        """The value of what does not depend on e, or None."""
        if self.rest or set(self.terms) - {ONE}:
            return None
        return self.terms[ONE] if self.terms else self.field.tower.constant(sp.S.Zero)

    def __add__(self, other: Expansion) -> Expansion:
        terms = dict(self.terms)
        for m, c in other.terms.items():
            terms[m] = self.field.tower.add(terms[m], c) if m in terms else c
        return _pruned(self.field, terms, self.rest | other.rest)

    def __mul__(self, other: Expansion) -> Expansion:
        if len(self.terms) * len(other.terms) > MOST_TERMS:
            raise Undecided(f"an expansion would have {len(self.terms) * len(other.terms)} terms")
        terms: dict[Monomial, Pair] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                product, both = self.field.tower.mul(c, d), m * n
                terms[both] = self.field.tower.add(terms[both], product) if both in terms else product
        rest = {m * r for m in (*self.terms, *self.rest) for r in other.rest}
        rest |= {n * r for n in other.terms for r in self.rest}
        return _pruned(self.field, terms, frozenset(rest))

    def scaled(self, c: Pair, m: Monomial = ONE) -> Expansion:
        return self * Expansion(self.field, {m: c})

    def leading(self) -> tuple[Monomial, Pair]:
        """The term that dominates all others, whose coefficient vanishes nowhere on the cell."""
        if not self.terms:
            raise NeedsTerms("an expansion of which only a bound is left")
        merged = self._merged()
        best = _largest(self.field, merged)
        if any(self.field.compare(best, r) <= 0 for r in self.rest):
            raise NeedsTerms("a remainder is as large as the leading term")
        self.field.nonzero(merged[best])
        return best, merged[best]

    def _merged(self) -> dict[Monomial, Pair]:
        """The terms, those of monomials that are written differently and are the same as one."""
        out: dict[Monomial, Pair] = {}
        for m, c in self.terms.items():
            same = next((n for n in out if m.logs == n.logs and self._equal(m, n)), None)
            if same is None:
                out[m] = c
            else:
                out[same] = self.field.tower.add(out[same], c)
        return {m: c for m, c in out.items() if c[0]} or _raise(NeedsTerms("all terms cancel"))

    def _equal(self, m: Monomial, n: Monomial) -> bool:
        try:
            return self.field.compare(m, n) == 0
        except NeedsSign:
            return False

    def power(self, n: sp.Expr, order: int) -> Expansion:
        """The power n, which is free of e."""
        field = self.field
        if n.is_Integer and 0 <= n <= LARGEST_POWER:
            out = number(field, sp.S.One)
            for _ in range(int(n)):
                out = out * self
            return out
        if self.is_zero:
            if field.less(n, sp.S.Zero) > 0:
                return self
            raise Undecided("a denominator vanishes identically")
        c = self.constant
        if c is not None and n.is_Rational and n > 0 and not n.is_Integer:
            if field.sign(c, strict=False) >= 0:
                return constant(field, _power(field, c, n))
            raise NotReal(f"the power {n} of what is negative is not real")
        m, c = self.leading()
        if not n.is_Integer and field.sign(c) < 0:
            raise NotReal(f"the power {n} of what is negative is not real")
        small = self._over(m, c)
        coefficients = [sp.S.One]
        for j in range(order):
            coefficients.append(sp.expand(coefficients[-1] * (n - j)) / (j + 1))
        return small.series(coefficients).scaled(_power(field, c, n), m**n)

    def _over(self, m: Monomial, c: Pair) -> Expansion:
        """u of the expansion c m (1 + u)."""
        field = self.field
        others = Expansion(field, {n: d for n, d in self._merged().items() if n != m}, self.rest)
        return others.scaled(field.tower.power(c, -1), m ** sp.Integer(-1))

    def series(self, coefficients: list[sp.Expr]) -> Expansion:
        """Σ_j a_j u^j + O(u^J) for J = len(coefficients) - 1, which vanishing u have; exact if u is zero."""
        field, *rest = self.field, *coefficients
        out = number(field, sp.S.Zero)
        for a in reversed(rest[:-1]):
            out = out * self + number(field, a)
        if self.is_zero:
            return out
        bound = frozenset(m ** sp.Integer(len(rest) - 1) for m in (*self.terms, *self.rest))
        return _pruned(field, out.terms, out.rest | bound)

    def parts(self) -> tuple[dict[Monomial, Pair], Pair, Expansion]:
        """Its unbounded terms, its constant and what vanishes. Raises NeedsTerms if a remainder does not vanish."""
        field = self.field
        if any(field.size(r) >= 0 for r in self.rest):
            raise NeedsTerms("a remainder does not vanish")
        large: dict[Monomial, Pair] = {}
        small: dict[Monomial, Pair] = {}
        middle = field.tower.constant(sp.S.Zero)
        for m, c in (self._merged() if self.terms and not self._cancels() else {}).items():
            size = field.size(m)
            if size == 0:
                middle = field.tower.add(middle, c)
            else:
                (large if size > 0 else small)[m] = c
        return large, middle, Expansion(field, small, self.rest)

    def _cancels(self) -> bool:
        try:
            self._merged()
        except NeedsTerms:
            return True
        return False

    def sign(self, strict: bool = True) -> int:
        """Its sign for small e: 0 if it is zero. Not strict, a constant may have zeros."""
        if self.is_zero:
            return 0
        if self.constant is not None and not strict:
            return self.field.sign(self.constant, strict=False)
        return self.field.sign(self.leading()[1])


def _raise(error: Exception) -> Any:
    raise error


def _pruned(field: Field, terms: dict[Monomial, Pair], rest: frozenset[Monomial]) -> Expansion:
    """Without terms that vanish identically or that a remainder contains."""

    def within(m: Monomial, bound: Monomial) -> bool:
        try:
            return field.compare(m, bound) <= 0
        except Undecided:
            return False

    bounds: list[Monomial] = []
    for r in rest:
        if not any(within(r, b) for b in bounds):
            bounds = [b for b in bounds if not within(b, r)] + [r]
    kept = {m: c for m, c in terms.items() if c[0] and not any(within(m, b) for b in bounds)}
    return Expansion(field, kept, frozenset(bounds))


def _largest(field: Field, terms: Iterable[Monomial]) -> Monomial:
    """The monomial that dominates all others; two that are not comparable may both be below a third."""
    monomials = list(terms)
    need: NeedsSign | None = None
    for m in monomials:
        try:
            if all(field.compare(m, n) > 0 for n in monomials if n is not m):
                return m
        except NeedsSign as unknown:
            need = need or unknown
    raise need or Undecided("no term dominates the others")


def _power(field: Field, c: Pair, n: sp.Expr) -> Pair:
    tower = field.tower
    if n.is_Integer:
        return tower.power(c, int(n))
    if n.is_Rational and n.q & (n.q - 1) == 0:
        for _ in range(n.q.bit_length() - 1):
            c = tower.root(c)
        return tower.power(c, int(n.p))
    base = field.expression(c)
    return field.element(sp.exp(n * sp.log(base)) if not n.is_Rational else base**n)


def constant(field: Field, c: Pair) -> Expansion:
    return _pruned(field, {ONE: c}, frozenset())


def number(field: Field, x: sp.Expr) -> Expansion:
    """A coefficient of a series: a rational number, or a polynomial in parameters."""
    return constant(field, field.element(x))


class Expander:
    """Expansions of expressions in one variable, given the expansion of the variable, with `order` terms a function."""

    def __init__(self, field: Field, variable: sp.Symbol, at: Expansion, order: int) -> None:
        self.field, self.variable, self.at, self.order = field, variable, at, order
        self.known: dict[sp.Expr, Expansion] = {}

    def expand(self, e: sp.Expr) -> Expansion:
        if e not in self.known:
            self.known[e] = self._expand(e)
        return self.known[e]

    def _expand(self, e: sp.Expr) -> Expansion:
        if e == self.variable:
            return self.at
        if e.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
            raise Undecided(f"{e} is not a finite number")
        if e.is_Float or e.has(sp.I):
            raise Undecided(f"{e} is not an exact real number")
        if e.is_Symbol or e.is_NumberSymbol or e.is_Rational or isinstance(e, AppliedUndef):
            if e.has(self.variable):
                raise Undecided(f"nothing is known of {e} as {self.variable} moves")
            return constant(self.field, self.field.element(e))
        if e.is_Add or e.is_Mul:
            first, *others = map(self.expand, e.args)
            for other in others:
                first = first + other if e.is_Add else first * other
            return first
        if isinstance(e, sp.exp):
            return self._exp(self.expand(e.args[0]))
        if e.is_Pow:
            base, exponent = e.args
            if exponent.has(self.variable):
                return self._exp(self.expand(exponent) * self._log(self.expand(base)))
            if not exponent.is_Rational:
                self.expand(exponent)  # refuses what is not real
            return self.expand(base).power(exponent, self.order)
        if isinstance(e, sp.log):
            return self._log(self.expand(e.args[0]))
        rule = RULES.get(e.func)
        if rule is not None:
            return rule(self, e)
        if (inverse := inverse_function(e)) is not None:
            return self._log(self.expand(inverse[0])) * number(self.field, inverse[1])
        if (exponentials := to_exponentials(e)) != e:
            return self.expand(exponentials)
        raise Undecided(f"no expansion of {e.func.__name__} is known")

    def _exp(self, g: Expansion) -> Expansion:
        field = self.field
        large, middle, small = g.parts()
        monomial = ONE
        for m, c in large.items():
            rate = field.expression(c)
            if m == Monomial(logs=sp.S.One):
                monomial = monomial * Monomial(power=_plain(-rate))
            elif not m.rates and m.logs == 0 and m.power.is_Rational:
                monomial = monomial * Monomial(((-m.power, _plain(rate)),))
            else:
                raise Undecided("an exponent that grows like neither a power nor a logarithm")
        scale = field.element(sp.exp(field.expression(middle)))
        return small.series([1 / sp.factorial(j) for j in range(self.order + 1)]).scaled(scale, monomial)

    def _log(self, g: Expansion) -> Expansion:
        field = self.field
        if g.is_zero:
            raise Undecided("the logarithm of what vanishes identically")
        m, c = g.leading()
        if field.sign(c) < 0:
            raise NotReal("the logarithm of what is negative is not real")
        if m.logs != 0:
            raise Undecided("the logarithm of a logarithm")
        terms = {Monomial(power=-q): field.element(r) for q, r in m.rates}
        terms[Monomial(logs=sp.S.One)] = field.element(-m.power)
        terms[ONE] = field.element(sp.log(field.expression(c)))
        logs = [sp.S.Zero, *(sp.Rational((-1) ** (j + 1), j) for j in range(1, self.order + 1))]
        return _pruned(field, terms, frozenset()) + g._over(m, c).series(logs)

    def taylor(self, head: Callable[[sp.Expr], sp.Expr], middle: Pair, small: Expansion) -> Expansion:
        """head(c + u) by the derivatives of head at c, where it is smooth."""
        z = sp.Dummy("z", real=True)
        at, derivative, coefficients = self.field.expression(middle), head(z), []
        for j in range(self.order + 1):
            coefficients.append(derivative.subs(z, at) / sp.factorial(j))
            derivative = sp.diff(derivative, z)
        return small.series(coefficients)

    def _periodic(self, e: sp.Expr) -> Expansion:
        """sin and cos: where the argument has no limit, they are bounded."""
        g = self.expand(e.args[0])
        try:
            large, middle, small = g.parts()
        except NeedsTerms:
            large, middle, small = (
                {ONE: self.field.tower.constant(sp.S.One)},
                g.field.tower.constant(sp.S.Zero),
                g,
            )
        if large:
            return Expansion(self.field, {}, frozenset({ONE}))
        return self.taylor(e.func, middle, small)

    def _smooth(self, e: sp.Expr) -> Expansion:
        large, middle, small = self.expand(e.args[0]).parts()
        if large:
            raise Undecided(f"{e} where its argument has no limit")
        return self.taylor(e.func, middle, small)

    def _atan(self, e: sp.Expr) -> Expansion:
        g = self.expand(e.args[0])
        large, middle, small = g.parts()
        if not large:
            return self.taylor(sp.atan, middle, small)
        s = sp.Integer(g.sign())
        inverse = g.power(sp.Integer(-1), self.order)
        zero = self.field.tower.constant(sp.S.Zero)
        turned = self.taylor(sp.atan, zero, inverse)
        return number(self.field, s * sp.pi / 2) + turned * number(self.field, sp.Integer(-1))

    def _arc(self, e: sp.Expr) -> Expansion:
        z = e.args[0]
        inside = self.expand(1 - z**2).sign()
        if inside <= 0:
            raise NotReal(f"{e} is not real") if inside else Undecided(f"{e} is not smooth")
        return self._smooth(e)

    def _modulus(self, e: sp.Expr) -> Expansion:
        g = self.expand(e.args[0])
        return g * number(self.field, sp.Integer(g.sign(strict=False)))

    def _sign(self, e: sp.Expr) -> Expansion:
        return number(self.field, sp.Integer(self.expand(e.args[0]).sign()))

    def _extreme(self, e: sp.Expr) -> Expansion:
        keep = 1 if isinstance(e, sp.Max) else -1
        best, *others = e.args
        for other in others:
            if self.expand(other - best).sign(strict=False) * keep > 0:
                best = other
        return self.expand(best)

    def _piecewise(self, e: sp.Piecewise) -> Expansion:
        for piece, condition in e.args:
            if self.holds(condition):
                return self.expand(piece)
        raise Undecided("no piece applies near the limit")

    def holds(self, condition: Any) -> bool:
        """Whether a condition holds for all small e."""
        if condition in (sp.true, sp.false):
            return bool(condition)
        if isinstance(condition, sp.And):
            return all(self.holds(c) for c in condition.args)
        if isinstance(condition, sp.Or):
            return any(self.holds(c) for c in condition.args)
        if isinstance(condition, sp.Not):
            return not self.holds(condition.args[0])
        gap = self.expand(condition.lhs - condition.rhs)
        if isinstance(condition, (sp.Eq, sp.Ne)):
            if not gap.is_zero:
                gap.leading()
            return gap.is_zero == isinstance(condition, sp.Eq)
        return bool(condition.func(gap.sign(), 0))


RULES: dict[Any, Callable[[Expander, Any], Expansion]] = {
    sp.sin: Expander._periodic,
    sp.cos: Expander._periodic,
    sp.tan: lambda self, e: self.expand(sp.sin(e.args[0]) / sp.cos(e.args[0])),
    sp.atan: Expander._atan,
    sp.asin: Expander._arc,
    sp.acos: Expander._arc,
    sp.erf: Expander._smooth,
    sp.Abs: Expander._modulus,
    sp.sign: Expander._sign,
    sp.Max: Expander._extreme,
    sp.Min: Expander._extreme,
    sp.Piecewise: Expander._piecewise,
}


def approach(field: Field, to: sp.Expr, side: str) -> Expansion:
    """A variable that tends to a point from a side, or to infinity, in terms of e."""
    if to in (sp.oo, -sp.oo):
        return Expansion(field, {Monomial(power=sp.S.NegativeOne): field.element(sp.sign(to))})
    step = Expansion(field, {Monomial(power=sp.S.One): field.element(sp.Integer(1 if side == "+" else -1))})
    return step + number(field, to)


def expanded(
    field: Field, expr: sp.Expr, variable: sp.Symbol, to: sp.Expr, side: str, use: Callable[[Expansion], Any]
) -> Any:
    """What `use` makes of the expansion of an expression, which gets more terms as long as they are asked for."""
    need = NeedsTerms("")
    for order in ORDERS:
        try:
            return use(Expander(field, variable, approach(field, to, side), order).expand(expr))
        except NeedsTerms as more:
            need = more
    raise need
