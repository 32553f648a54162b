"""Normal forms in a tower of square roots over a field of rational functions.

An expression in real symbols, square roots, exponentials and hyperbolic functions is read as an element of
K(r_1, …, r_m), where K is the field of rational functions in the symbols and in independent exponentials, and
r_i² is an element below r_i. Two elements that agree after reduction modulo the relations r_i² = p_i agree as
functions wherever both are defined, on every branch of the roots. That direction is a proof; the other is
left to refutation at exact points.

Rewriting a root uses its sign, so a tower is built for one cell of a domain, which says the signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import combinations
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, ring

from symdyn.calculus.formula import formula
from symdyn.proof.signs.facts import Facts
from symdyn.proof.undecided import NeedsSign, Undecided
from symdyn.proof.zero.hyperbolic import exponent_terms, inverse_function, to_exponentials
from symdyn.proof.zero.polynomials import (
    cancelled,
    exact_square_root,
    factor_list,
    sign_of_product,
    unit,
    without,
)

Pair = tuple[PolyElement, PolyElement]

LARGEST_PRODUCT = 2_000_000
LARGEST_EXPONENT = 200

NO_FUNCTIONS = (sp.DiracDelta, sp.SingularityFunction)


class Tower:
    """Elements are pairs (numerator, denominator) of polynomials, multilinear in the roots.

    `sign_of(symbol)` gives ±2 (strict), ±1 (weak) or None for a symbol of the cell; generators for exponentials
    are positive and those for square roots non-negative by construction. `facts` are pairs (expression, relation) with
    a relation to zero (>, >=, <, <=, !=) that hold throughout the cell: signs follow from them as well.
    """

    def __init__(
        self, sign_of: Callable[[sp.Expr], int | None], facts: Iterable[tuple[sp.Expr, str]] = ()
    ) -> None:
        self.sign_of = sign_of
        self.facts = Facts(self, facts)
        # SymPy does not factor in a ring without generators, so one is there that nothing uses
        self.generators: list[sp.Symbol] = [sp.Symbol("unused")]
        self.signs: list[int | None] = [2]
        self.ring = ring(self.generators, sp.QQ)[0]
        self.radicands: dict[int, Pair] = {}
        self.opaque: dict[Any, int] = {}
        self.lattice: dict[sp.Expr, int] = {}
        self.nonzero: set[int] = set()
        self.logarithms: dict[int, Pair] = {}

    def give_sign(self, index: int, sign: int) -> None:
        """A generator has a sign that follows from the facts of the cell."""
        known = self.signs[index]
        if known is None or abs(known) < abs(sign):
            self.signs[index] = sign
        if abs(sign) == 2 or index in self.nonzero:
            self.exclude_zero(index)

    def exclude_zero(self, index: int) -> None:
        """A generator does not vanish; if it is a root, its radicand does not either."""
        if index in self.nonzero:
            return
        self.nonzero.add(index)
        if index in self.radicands:
            self.facts.note(self.radicands[index], ">")
        known = self.signs[index]
        if known is not None and abs(known) == 1:
            self.signs[index] = 2 * known

    def _extend(self, key: Any, sign: int | None) -> int:
        if key in self.opaque:
            return self.opaque[key]
        index = len(self.generators)
        self.generators.append(sp.Symbol(f"g{index}"))
        self.signs.append(sign)
        self.ring = ring(self.generators, sp.QQ)[0]
        self.opaque[key] = index
        return index

    def _lift(self, p: PolyElement) -> PolyElement:
        return p if p.ring is self.ring or p.ring == self.ring else p.set_ring(self.ring)

    def _generator(self, index: int) -> Pair:
        return self.ring.gens[index], self.ring.one

    def constant(self, value: sp.Rational) -> Pair:
        return self.ring(sp.QQ(int(value.p), int(value.q))), self.ring.one

    def _reduce(self, p: PolyElement) -> Pair:
        """Replace r² by its radicand for every root r, the last one first."""
        den = self.ring.one
        for index in sorted(self.radicands, reverse=True):
            p = self._lift(p)
            top = max((m[index] // 2 for m in p), default=0) if p else 0
            if top == 0:
                continue
            num_r, den_r = (self._lift(q) for q in self.radicands[index])
            parts: dict[int, dict[tuple[int, ...], Any]] = {}
            for monomial, c in p.terms():
                k, rest = divmod(monomial[index], 2)
                lowered = (*monomial[:index], rest, *monomial[index + 1 :])
                parts.setdefault(k, {})[lowered] = c
            p = self.ring.zero
            for k, terms in parts.items():
                p += self.ring.from_dict(terms) * num_r**k * den_r ** (top - k)
            den = den * den_r**top
        return p, den

    def _tidy(self, num: PolyElement, den: PolyElement) -> Pair:
        num, scale_n = self._reduce(self._lift(num))
        den, scale_d = self._reduce(self._lift(den))
        num, den = num * self._lift(scale_d), den * self._lift(scale_n)
        if not num:
            return self.ring.zero, self.ring.one
        if not den:
            raise Undecided("a denominator vanishes identically")
        if len(num) + len(den) > 4:
            num, den = cancelled(num, den)
        if self.radicands and any(m[i] > 1 for i in self.radicands for q in (num, den) for m in q):
            return self._tidy(num, den)
        return num, den

    def add(self, x: Pair, y: Pair) -> Pair:
        (a, b), (c, d) = (tuple(map(self._lift, q)) for q in (x, y))
        _bounded(a, d)
        _bounded(c, b)
        return self._tidy(a + c, b) if b == d else self._tidy(a * d + c * b, b * d)

    def mul(self, x: Pair, y: Pair) -> Pair:
        (a, b), (c, d) = (tuple(map(self._lift, q)) for q in (x, y))
        _bounded(a, c)
        _bounded(b, d)
        return self._tidy(a * c, b * d)

    def power(self, x: Pair, n: int) -> Pair:
        if n < 0:
            num, den = x
            if not num:
                raise Undecided("division by an expression that vanishes identically")
            return self.power((den, num), -n)
        out: Pair = (self.ring.one, self.ring.one)
        while n:
            if n & 1:
                out = self.mul(out, x)
            x = self.mul(x, x) if n > 1 else x
            n >>= 1
        return out

    def sign(self, x: Pair) -> int | None:
        """The sign of x on the cell: ±2 strict, ±1 weak (x may vanish), None if its terms do not say.

        Zero counts as weakly positive.
        """
        signs = [self._sign_poly(self._lift(p)) for p in x]
        return None if None in signs else sign_of_product(signs)  # type: ignore[arg-type]

    def sign_on_cell(self, x: Pair) -> int | None:
        """The sign of x by its terms or else by the facts of the cell, as `sign` gives it."""
        s = self.sign(x)
        return self.sign(x) if (s is None or abs(s) == 1) and self.facts.learn() else s

    def _sign_monomial(self, monomial: tuple[int, ...]) -> int | None:
        signs = []
        for index, (exponent, s) in enumerate(zip(monomial, self.signs, strict=False)):
            if exponent:
                if s is None and exponent % 2:
                    return None
                signs.append(s if exponent % 2 else 2 if index in self.nonzero else abs(s or 1))
        return sign_of_product(signs)  # type: ignore[arg-type]

    def _sign_poly(self, p: PolyElement) -> int | None:
        """The sign of a polynomial by those of its terms and factors, or else by what is known on the cell."""
        p = self._lift(p)
        s = self._sign_terms(p)
        return s if s is not None and abs(s) == 2 else self.facts.stronger(self._lift(p), s)

    def _sign_terms(self, p: PolyElement) -> int | None:
        found = []
        for monomial, c in p.terms():
            s = self._sign_monomial(monomial)
            if s is None:
                return self._sign_factors(p)
            found.append(s if c > 0 else -s)
        if not found:
            return 1
        if all(s > 0 for s in found) or all(s < 0 for s in found):
            return max(found, key=abs)
        return self._sign_factors(p)

    def _sign_factors(self, p: PolyElement) -> int | None:
        content, factors = self.factors(p)
        if len(factors) == 1 and factors[0][1] == 1:
            return self._sign_root(p)
        signs = [2 if content > 0 else -2]
        for factor, exponent in factors:
            s = self._sign_poly(self._lift(factor))
            if s is None and exponent % 2:
                return None
            signs.append(s if exponent % 2 else abs(s or 1))  # type: ignore[arg-type]
        return sign_of_product(signs)

    def factors(self, p: PolyElement) -> Any:
        """The content and the irreducible factors of a polynomial."""
        return factor_list(p)

    def _sign_root(self, p: PolyElement) -> int | None:
        """The sign of A + B r with r = √q ≥ 0: that of A and B, or of A² - B² q where they disagree."""
        if any(m[i] > 1 for i in self.radicands for m in p):  # squares of roots are written out before
            return self.sign(self._reduce(p))
        for index in sorted(self.radicands, reverse=True):
            if any(m[index] for m in p):
                a = self.ring.from_dict({m: c for m, c in p.terms() if m[index] == 0})
                b = self.ring.from_dict({without(m, index): c for m, c in p.terms() if m[index] == 1})
                sa, sb = self._sign_poly(a), self._sign_poly(b)
                if sb is not None:
                    sb = sign_of_product([sb, self.signs[index] or 1])
                if sa is None or sb is None:
                    return self._sign_of_larger(sa, sb, a, b, index)
                if not a or (sa > 0) == (sb > 0):
                    return max(sa, sb, key=abs) if a else sb
                s = self.sign(self._difference_of_squares(a, b, index))
                return None if s is None else (abs(s) if (s > 0) == (sa > 0) else -abs(s))
        return None

    def _sign_of_larger(
        self, sa: int | None, sb: int | None, a: PolyElement, b: PolyElement, index: int
    ) -> int | None:
        """The sign of A + B r where only that of one summand is known: it prevails if its square is not smaller."""
        known = sa if sa is not None else sb
        if known is None:
            return None
        s = self.sign(self._difference_of_squares(a, b, index))
        if s is None or (s > 0) != (known == sa):
            return None
        return abs(s) if known > 0 else -abs(s)

    def _difference_of_squares(self, a: PolyElement, b: PolyElement, index: int) -> Pair:
        one = self.ring.one
        minus_b2 = self.mul((-b, one), (b, one))
        return self.add(self.mul((a, one), (a, one)), self.mul(minus_b2, self.radicands[index]))

    def convert(self, expr: sp.Expr) -> Pair:
        """The element of the tower that an expression denotes."""
        try:
            return self.read(expr)
        except Undecided:
            if not self.facts.learn():
                raise
            return self.read(expr)

    def read(self, expr: sp.Expr) -> Pair:
        """The element that an expression denotes, as far as what has been learnt of the cell tells."""
        expr = self._without_moduli(to_exponentials(formula(expr)))
        self.scan(expr)
        return self._convert(expr)

    def _without_moduli(self, expr: sp.Expr) -> sp.Expr:
        """Moduli in exponents as the cell decides them, so that √(x²) and x are one exponent where x > 0."""
        moduli = set().union(*(e.args[0].atoms(sp.Abs) for e in expr.atoms(sp.exp)))
        signs = {m: unit(self.sign(self._convert(m.args[0]))) for m in moduli}
        return expr.xreplace({m: s * m.args[0] for m, s in signs.items() if s is not None})

    def scan(self, expr: sp.Expr) -> None:
        """Take up the exponents of an expression: those with a common unit become powers of one generator."""
        for node in expr.atoms(sp.exp):
            for coefficient, monomial in exponent_terms(node.args[0]):
                self.lattice[monomial] = sp.ilcm(self.lattice.get(monomial, 1), coefficient.q)

    def _convert(self, e: sp.Expr) -> Pair:
        if e.is_Rational:
            return self.constant(e)
        if e.is_Float:
            raise Undecided(f"a floating-point number, {e}, has no exact meaning")
        if e.is_Add or e.is_Mul:
            combine = self.add if e.is_Add else self.mul
            out = self._convert(e.args[0])
            for arg in e.args[1:]:
                out = combine(out, self._convert(arg))
            return out
        if isinstance(e, sp.exp):
            return self._exponential(e.args[0])
        if e.is_Pow:
            return self._power(e)
        if e.is_Symbol:
            return self._generator(self._extend(e, self.sign_of(e)))
        return self._function(e)

    def _power(self, e: sp.Pow) -> Pair:
        base, exponent = e.args
        if exponent.is_Integer:
            return self.power(self._convert(base), int(exponent))
        if exponent.is_Rational and exponent.q & (exponent.q - 1) == 0:
            x = self._convert(base)
            for _ in range(exponent.q.bit_length() - 1):
                x = self.root(x)
            return self.power(x, int(exponent.p))
        return self._generator(self._extend(e, None))

    def _function(self, e: sp.Expr) -> Pair:
        if isinstance(e, sp.Abs):
            x = self._convert(e.args[0])
            return self.mul(self.constant(sp.Integer(self._needed_sign(x, e))), x)
        if isinstance(e, (sp.sign, sp.Heaviside)):
            s = self._strict_sign(e.args[0], e)
            return self._convert(e.func(sp.Integer(s), *e.args[1:]))
        if isinstance(e, (sp.Max, sp.Min)):
            best = self._convert(e.args[0])
            for arg in e.args[1:]:
                other = self._convert(arg)
                gap = self.add(other, self.mul(self.constant(sp.Integer(-1)), best))
                larger = self._needed_sign(gap, e) > 0
                best = other if larger == isinstance(e, sp.Max) else best
            return best
        if isinstance(e, sp.Piecewise):
            return self._convert(self.branch(e))
        if isinstance(e, NO_FUNCTIONS):
            raise Undecided(f"{e.func.__name__} is a distribution: it has no values")
        return self._generator(self._extend(e, None))

    def branch(self, e: sp.Piecewise) -> sp.Expr:
        """The piece that applies throughout the cell."""
        for piece, condition in e.args:
            decided = self.decide(condition)
            if decided is None:
                raise NeedsSign(f"the cell does not decide {condition}", self._open_gap(condition))
            if decided:
                return piece
        raise Undecided("no piece applies on the cell")

    def decide(self, condition: Any) -> bool | None:
        """Whether a condition holds throughout the cell (True), nowhere in it (False), or is not known (None)."""
        if condition in (sp.true, sp.false):
            return bool(condition)
        if isinstance(condition, (sp.And, sp.Or)):
            parts = [self.decide(c) for c in condition.args]
            settled = isinstance(condition, sp.Or)
            if settled in parts:
                return settled
            return None if None in parts else not settled
        if isinstance(condition, sp.Not):
            inner = self.decide(condition.args[0])
            return None if inner is None else not inner
        gap = self._convert(condition.lhs - condition.rhs)
        s = 0 if not gap[0] else self.sign(gap)
        if s is None or (abs(s) == 1 and not isinstance(condition, (sp.Ge, sp.Le))):
            return None
        if abs(s) == 1:
            return True if isinstance(condition, sp.Ge) == (s > 0) else None
        return bool(condition.func(s, 0))

    def _open_gap(self, condition: Any) -> tuple[sp.Expr, bool] | None:
        """The difference of the two sides of a relation that is not decided, whose sign would decide it."""
        for relation in sorted(condition.atoms(sp.core.relational.Relational), key=sp.default_sort_key):
            if self.decide(relation) is None:
                return relation.lhs - relation.rhs, True
        return None

    def _strict_sign(self, argument: sp.Expr, e: sp.Expr) -> int:
        """The sign of an argument where it does not vanish, or 0 where it vanishes identically."""
        x = self._convert(argument)
        if not x[0]:
            return 0
        s = self.sign(x)
        if s is None or abs(s) == 1:
            raise NeedsSign(f"the sign of the argument of {e} is not known on this cell", (argument, True))
        return 1 if s > 0 else -1

    def _needed_sign(self, x: Pair, e: sp.Expr) -> int:
        s = unit(self.sign(x))
        if s is None:
            text = f"the sign of the argument of {e} is not known on this cell"
            raise NeedsSign(text, (self.expression(x), False))
        return s

    def _exponential(self, argument: sp.Expr) -> Pair:
        out: Pair = (self.ring.one, self.ring.one)
        for coefficient, monomial in exponent_terms(argument):
            inverse = inverse_function(monomial)
            if inverse is not None and (2 * coefficient * inverse[1]).is_Integer:
                base = self._convert(inverse[0])
                twice = int(2 * coefficient * inverse[1])
                factor = (
                    self.power(base, twice // 2) if twice % 2 == 0 else self.power(self.root(base), twice)
                )
            else:
                unit = self.lattice.setdefault(monomial, 1)
                if unit % coefficient.q:
                    raise Undecided(
                        f"exponent {coefficient}*{monomial} outside the lattice of the expression"
                    )
                steps = int(coefficient * unit)
                if abs(steps) > LARGEST_EXPONENT:  # e^1234 is a number of its own, not a power of another
                    monomial, unit, steps = coefficient * monomial, 1, 1
                index = self._exponential_generator(monomial, unit)
                factor = self.power(self._generator(index), steps)
            out = self.mul(out, factor)
        return out

    def _exponential_generator(self, monomial: sp.Expr, unit: int) -> int:
        """exp(monomial/unit), which is larger than one where the monomial is positive."""
        key = ("exp", monomial, unit)
        if key not in self.opaque:
            index = self._extend(key, 2)
            s = None
            with suppress(Undecided):
                exponent = self._convert(monomial)
                self.logarithms[index] = self.mul(self.constant(sp.Rational(1, unit)), exponent)
                s = self.sign(exponent)
            if s is not None:
                self.facts.add(self.ring.gens[index] - 1, s)
        return self.opaque[key]

    def root(self, x: Pair) -> Pair:
        """The non-negative square root of an element that is non-negative on the cell."""
        num, den = self._tidy(*x)
        if not num:
            return num, den
        if self._nested(num) or self._nested(den):
            return self._nested_root(num, den)
        product = num * den
        content, factors = factor_list(product)
        outside: Pair = (self.ring.one, den)
        inside = self.ring.one
        negative = content < 0
        for factor, exponent in factors:
            f = self._lift(factor)
            if exponent // 2:
                s = unit(self._sign_poly(f)) if (exponent // 2) % 2 else 1
                if s is None:
                    s_text = self.show(f)
                    text = f"the sign of {s_text}, taken out of a square root, is not known"
                    raise NeedsSign(text, (self.expression((f, self.ring.one)), False))
                outside = self.mul(outside, (f ** (exponent // 2) * s, self.ring.one))
            if exponent % 2:
                s = unit(self._sign_poly(f))
                if s is None or len(factors) == 1:
                    inside = self._lift(inside) * f
                else:
                    negative ^= s < 0
                    outside = self.mul(outside, self._base_root(f * s))
        s_den = unit(self._sign_poly(self._lift(den)))
        if s_den is None:
            raise Undecided("the sign of a denominator under a square root is not known")
        if s_den < 0:
            outside = self.mul(outside, self.constant(sp.Integer(-1)))
        if negative:
            inside = -inside
        outside = self.mul(outside, self._number_root(abs(content)))
        return outside if inside == 1 else self.mul(outside, self._base_root(inside))

    def _number_root(self, value: Any) -> Pair:
        p, q = int(value.numerator), int(value.denominator)
        out: Pair = self.constant(sp.Rational(1, q))
        for prime, exponent in sp.factorint(p * q).items():
            out = self.mul(out, self.constant(sp.Integer(prime) ** (exponent // 2)))
            if exponent % 2:
                out = self.mul(out, self._adjoin(("number", prime), (self.ring(prime), self.ring.one)))
        return out

    def _base_root(self, p: PolyElement) -> Pair:
        """The root of a polynomial without roots: an old generator, or a product of old ones, where it can be."""
        if p == 1:
            return self.ring.one, self.ring.one
        known = {i: q for i, q in self.radicands.items() if not self._nested(self._lift(q[0])) and q[1] == 1}
        for size in (2, 3):
            for subset in combinations(known, size):
                product = self._lift(p)
                for i in subset:
                    product = product * self._lift(known[i][0])
                square = exact_square_root(product)
                if square is not None and (s := unit(self._sign_poly(square))) is not None:
                    below: Pair = (self.ring.one, self.ring.one)
                    for i in subset:
                        below = self.mul(below, self._generator(i))
                    return self.mul((square * s, self.ring.one), self.power(below, -1))
        return self._adjoin(("root", self.show(p)), (p, self.ring.one))

    def _nested_root(self, num: PolyElement, den: PolyElement) -> Pair:
        """√p for p with roots in it: if p q is free of them for an old radicand q, then √p = √(p q)/√q."""
        radicand = self._tidy(num * den, self.ring.one)
        if (s := unit(self.sign((den, self.ring.one)))) is None:
            raise Undecided("the sign of a denominator under a nested square root is not known")
        scale: Pair = (self.ring(s), den)
        content, primitive = self._split_content(radicand)
        scale = self.mul(scale, self.root(content))
        for index, old in list(self.radicands.items()):
            if not self._nested(self._lift(old[0])):
                continue
            product = self.mul(primitive, old)
            if not self._nested(self._lift(product[0])) and not self._nested(self._lift(product[1])):
                return self.mul(scale, self.mul(self.root(product), self.power(self._generator(index), -1)))
            ratio = self.mul(primitive, self.power(old, -1))
            if not self._nested(self._lift(ratio[0])) and not self._nested(self._lift(ratio[1])):
                return self.mul(scale, self.mul(self.root(ratio), self._generator(index)))
        key = ("nested", self.show(primitive[0]), self.show(primitive[1]))
        return self.mul(scale, self._adjoin(key, primitive))

    def _split_content(self, x: Pair) -> tuple[Pair, Pair]:
        """Take out of a nested radicand the common factor free of roots whose sign is known."""
        num, den = (self._lift(p) for p in x)
        content, factors = factor_list(num)
        outside = self.ring(abs(content))
        inside = self.ring(1 if content > 0 else -1)
        for factor, exponent in factors:
            f = self._lift(factor)
            if not self._nested(f) and (s := unit(self._sign_poly(f))) is not None:
                outside = outside * (f * s) ** exponent
                inside = inside * s**exponent
            else:
                inside = inside * f**exponent
        return (outside, den), (inside, self.ring.one)

    def _adjoin(self, key: Any, radicand: Pair) -> Pair:
        strict = self.sign(radicand) == 2
        index = self._extend(key, 2 if strict else 1)
        self.radicands.setdefault(index, radicand)
        return self._generator(index)

    def _nested(self, p: PolyElement) -> bool:
        return any(m[i] for i in self.radicands for m in p if i < len(m))

    def show(self, p: PolyElement) -> str:
        return str(p.as_expr())

    def expression(self, x: Pair) -> sp.Expr:
        """The element written with the original symbols, exponentials and roots."""
        names: dict[sp.Symbol, sp.Expr] = {}
        for key, index in sorted(self.opaque.items(), key=lambda item: item[1]):
            g = self.generators[index]
            if index in self.radicands:
                num, den = self.radicands[index]
                names[g] = sp.sqrt((num.as_expr() / den.as_expr()).xreplace(names))
            elif isinstance(key, tuple):
                names[g] = sp.exp(key[1] / key[2])
            else:
                names[g] = key
        num, den = x
        return (num.as_expr() / den.as_expr()).xreplace(names)


def _bounded(p: PolyElement, q: PolyElement) -> None:
    """Refuse products that would fill the memory before the time of a check is up."""
    if len(p) * len(q) > LARGEST_PRODUCT:
        raise Undecided(f"a product of {len(p)} by {len(q)} terms is too large for a normal form")
