"""What is known of signs on a cell besides those of its symbols: its conditions, and what follows from them.

A fact is an expression with a relation to zero that holds throughout the cell. The sign of a polynomial follows from
facts where it is a multiple of one, a sum of multiples with one sign, a square completed, or where a polynomial in one
variable has no root in the range of that variable. Strict and weak signs stay apart: ±2 excludes zero, ±1 does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement

from symdyn.proof.undecided import Undecided
from symdyn.proof.zero.polynomials import factor_list, sign_of_product

DEPTH = 3
"""How many facts may be combined to find one sign."""

TERMS = 60
"""The largest polynomial whose sign is looked for in this way."""

ATTEMPTS = 60
"""How many polynomials are looked at to find one sign."""

FEW = 5
"""Of so many facts the products are facts that are used as well."""

RELATION = {">": 2, ">=": 1, "<": -2, "<=": -1}


class Facts:
    """The facts of a cell as polynomials in the generators of a tower, learnt when a sign is first missing."""

    def __init__(self, tower: Any, given: Iterable[tuple[sp.Expr, str]]) -> None:
        self.tower = tower
        self.pending: list[tuple[sp.Expr, str]] = list(given)
        self.signs: list[tuple[PolyElement, int]] = []
        self.nonzero: list[PolyElement] = []
        self.memory: dict[Any, int | None] = {}
        self.attempts = self.depth = 0

    def add(self, p: PolyElement, sign: int) -> None:
        """One more fact, the sign of a polynomial, to be used in sums."""
        self.signs.append((p, sign))

    def stronger(self, p: PolyElement, known: int | None) -> int | None:
        """The sign of p, given the sign that its terms have (weak or unknown)."""
        if not p or len(p) > TERMS:
            return known
        p = self.tower._lift(p)
        key = (len(self.signs), len(self.nonzero), p)
        found = self.memory.get(key)
        if found is None and key not in self.memory:
            self.memory[key] = None  # an attempt to find this sign that needs this sign is none
            if self.depth == 0:
                self.attempts = 0
            self.depth += 1
            try:
                found = self.memory[key] = self._search(p)
            finally:
                self.depth -= 1
                if self.memory[key] is None and self.depth:
                    del self.memory[key]  # not found from here, with fewer facts to combine
        if known is not None and (found is None or abs(found) < 2):
            found = known
        if found is not None and abs(found) == 1 and self._excluded(self.tower._lift(p)):
            found *= 2
        return found

    def vanishes_nowhere(self, p: PolyElement) -> bool:
        """Whether p is known not to be zero, whatever its sign."""
        self.learn()
        p = self.tower._lift(p)
        s = self.tower._sign_poly(p)
        return (s is not None and abs(s) == 2) or self._excluded(p)

    def is_known_not_to_vanish(self, p: PolyElement) -> bool:
        """Whether it is said of p itself that it does not vanish, or of what it is times a root."""
        self.learn()
        p = _normal(self.tower._lift(p))
        return bool(p) and any(p == _normal(self.tower._lift(q)) for q in self._known_nonzero())

    def _excluded(self, p: PolyElement) -> bool:
        if not p:
            return False
        if len(p) > TERMS:
            return False
        known = [_normal(self.tower._lift(q)) for q in self._known_nonzero()]
        _, factors = self.tower.factors(p)
        for factor, _ in factors:
            factor = self.tower._lift(factor)
            if _normal(factor) in known:
                continue
            gap = self._exponents(factor)
            if gap is not None and gap[0] and self.vanishes_nowhere(gap[0]):
                continue
            if len(factors) == 1 and factors[0][1] == 1:
                return False
            s = self.tower._sign_poly(factor)
            if s is None or abs(s) < 2:
                return False
        return True

    def _known_nonzero(self) -> Iterator[PolyElement]:
        """What does not vanish, and its products with roots that do not, in which squares of roots are written out."""
        yield from self.nonzero
        roots = [i for i in self.tower.radicands if self.tower.signs[i] == 2]
        for q in self.nonzero:
            for index in roots:
                q = self.tower._lift(q)
                if any(m[index] for m in q):
                    yield self.tower._reduce(q * self.tower.ring.gens[index])[0]

    def _search(self, p: PolyElement) -> int | None:
        if self.depth > DEPTH or self.attempts > ATTEMPTS:
            return None
        self.attempts += 1
        best: int | None = None
        for found in (
            self._as_multiple,
            self._of_exponents,
            self._without_roots,
            self._completed_square,
            self._as_sum,
        ):
            s = found(p)
            if s is not None and abs(s) == 2:
                return s
            best = s if best is None else best
        return best

    def _as_multiple(self, p: PolyElement) -> int | None:
        weak = None
        for q, s in self._lifted():
            ratio = _ratio(p, q)
            if ratio is not None:
                found = s if ratio > 0 else -s
                if abs(found) == 2:
                    return found
                weak = found
        return weak

    def _of_exponents(self, p: PolyElement) -> int | None:
        """exp(u) - exp(v) has the sign of u - v."""
        gap = self._exponents(p)
        s = None if gap is None or not gap[0] else self.tower.sign(gap)
        return s if s is None or p.LC > 0 else -s

    def _exponents(self, p: PolyElement) -> tuple[PolyElement, PolyElement] | None:
        """u - v of a multiple of exp(u) - exp(v), the leading term first."""
        if len(p) != 2 or sum(p.coeffs()) != 0:
            return None
        (first, _), (second, _) = p.terms()
        gap: tuple[PolyElement, PolyElement] = (self.tower.ring.zero, self.tower.ring.one)
        for index, (i, j) in enumerate(zip(first, second, strict=True)):
            if i != j and index not in self.tower.logarithms:
                return None
            if i != j:
                step = self.tower.constant(sp.Integer(i - j))
                gap = self.tower.add(gap, self.tower.mul(step, self.tower.logarithms[index]))
            elif i and index not in self.tower.logarithms:
                return None
        return gap

    def _without_roots(self, p: PolyElement) -> int | None:
        """A polynomial in one variable that has no real root where the variable lies."""
        used = [i for i in range(p.ring.ngens) if any(m[i] for m in p)]
        if len(used) != 1 or used[0] in self.tower.radicands:
            return None
        (index,) = used
        sign = self.tower.signs[index]
        x = sp.Dummy()
        poly = sp.Poly(
            {(m[index],): sp.Rational(int(c.numerator), int(c.denominator)) for m, c in p.terms()}, x
        )
        if sign is not None and poly.eval(0) == 0:
            return None
        side = 0 if sign is None else (1 if sign > 0 else -1)
        low, high = (None if side <= 0 else 0), (None if side >= 0 else 0)
        if poly.count_roots(low, high):
            return None
        return 2 if poly.eval(side) > 0 else -2

    def _completed_square(self, p: PolyElement) -> int | None:
        """4A(Ax² + Bx + C) = (2Ax + B)² + 4AC - B²: the sign of A where the rest is not negative."""
        for index in range(1, p.ring.ngens):
            if index in self.tower.radicands or max(m[index] for m in p) != 2:
                continue
            a, b, c = (_coefficient(p, index, k) for k in (2, 1, 0))
            if not c or not b:
                continue
            s = self.tower._sign_poly(a)
            if s is None or abs(s) < 2:
                continue
            rest = 4 * a * c - b**2
            r = 1 if not rest else self.tower._sign_poly(rest)
            if r is not None and r > 0:
                return (1 if s > 0 else -1) * r
        return None

    def _as_sum(self, p: PolyElement) -> int | None:
        """λ m q + rest, with a monomial m and a known q such that the two summands have one sign."""
        weak = None
        for q, s in self._lifted():
            for (m, c), (n, d) in ((x, y) for x in p.terms() for y in q.terms()):
                if any(j > i for i, j in zip(m, n, strict=True)):
                    continue
                monomial = tuple(i - j for i, j in zip(m, n, strict=True))
                factor = self.tower._sign_monomial(monomial) if any(monomial) else 2
                if factor is None:
                    continue
                rest = p - q.mul_term((monomial, c / d))
                if len(rest) > len(p):
                    continue
                self.attempts += 1
                if self.attempts > ATTEMPTS:
                    return weak
                first = sign_of_product([factor, s, 2 if c / d > 0 else -2])
                second = first if not rest else self.tower._sign_poly(rest)
                if second is not None and (first > 0) == (second > 0):
                    found = max(first, second, key=abs) if rest else first
                    if abs(found) == 2:
                        return found
                    weak = found
        return weak

    def _lifted(self) -> Iterator[tuple[PolyElement, int]]:
        """The polynomials whose sign is known, and the products of two of them where they are few."""
        known = [(self.tower._lift(q), s) for q, s in self.signs]
        yield from known
        if self.depth == 1 and len(known) <= FEW:
            for (p, s), (q, t) in combinations(known, 2):
                yield p * q, sign_of_product([s, t])

    def learn(self) -> bool:
        """Read the facts that are new, and say whether there were any: what is not understood is left out.

        This may add generators to the tower, so it is done between its operations.
        """
        there_were = bool(self.pending)
        while self.pending:
            x, relation = self.pending.pop(0)
            with suppress(Undecided, ZeroDivisionError):
                self.note(self.tower.read(x), relation)
        return there_were

    def note(self, pair: tuple[PolyElement, PolyElement], relation: str) -> None:
        """Keep what a relation between an element and zero says of its factors."""
        num, den = (self.tower._lift(q) for q in pair)
        if not num:
            return
        content, factors = factor_list(num * den)
        s = RELATION.get(relation)
        if relation in (">", "<", "!="):
            for factor, _ in factors:
                self.nonzero.append(factor)
                if (index := _generator(factor)) is not None:
                    self.tower.exclude_zero(index)
        if s is None:
            return
        open_factors, sign = [], s if content > 0 else -s
        several = sum(exponent % 2 for _, exponent in factors) > 1  # of one alone the relation says the sign
        for factor, exponent in factors:
            if exponent % 2 == 0:
                continue
            known = self.tower._sign_poly(factor) if several else None
            if known is None or abs(known) < 2:
                open_factors.append(factor)
            else:
                sign = sign if known > 0 else -sign
        product = self.tower.ring.one
        for factor in open_factors:
            product = self.tower._lift(product) * self.tower._lift(factor)
        if len(open_factors) == 1 and (index := _generator(product)) is not None:
            self.tower.give_sign(index, sign)
        elif open_factors and len(open_factors) < 4:
            self.signs.append((product, sign))
        if len(open_factors) == 2:
            self._of_two(open_factors[0], open_factors[1], sign)

    def _of_two(self, f: PolyElement, g: PolyElement, sign: int) -> None:
        """Two factors whose product has a sign have that of their sum, or opposite ones by their difference."""
        f, g = self.tower._lift(f), self.tower._lift(g)
        together = f + g if sign > 0 else f - g
        s = self.tower._sign_poly(together) if together else None
        if s is not None and abs(s) == 2:
            size = abs(sign)
            first = size if s > 0 else -size
            for factor, found in ((f, first), (g, first if sign > 0 else -first)):
                if (index := _generator(factor)) is not None:
                    self.tower.give_sign(index, found)
                else:
                    self.signs.append((factor, found))


def _generator(p: PolyElement) -> int | None:
    """The index of the generator that p is, or None."""
    return None if len(p) != 1 or p.LC != 1 or sum(p.LM) != 1 else p.LM.index(1)


def _normal(p: PolyElement) -> PolyElement:
    return p.monic() if p else p


def _ratio(p: PolyElement, q: PolyElement) -> Any:
    """c with p = c q, or None."""
    if len(p) != len(q) or p.LM != q.LM:
        return None
    ratio = p.LC / q.LC
    return ratio if p == q * ratio else None


def _coefficient(p: PolyElement, index: int, power: int) -> PolyElement:
    return p.ring.from_dict({(*m[:index], 0, *m[index + 1 :]): c for m, c in p.terms() if m[index] == power})
