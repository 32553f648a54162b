"""Limits and orders: proved at every parameter point of a cell, refuted at one.

* `LimitIs(x, variable, to, value)`: the limit exists and equals the value, at every parameter point.
* `Order(x, variable, to, scale)`: x/scale is bounded near the limit point, at every parameter point; `sharp` if it does
  not tend to zero at any of them.

Proofs are expansions with a remainder whose leading coefficients have signs that the cell gives; where it does not
give one that is needed, the cell is split by the sign of a parameter, zero included. Refutations and tests are the
same expansions at exact points, at which a parameter vanishes, equals another or is ±1 before it is anything else.
The limits of SymPy serve points alone, where numbers near the limit confirm them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import InnerProductSymbol, Linear, evaluate
from symdyn.compile.named import unfold
from symdyn.proof.claim import Finding, components, describe, plain
from symdyn.proof.limits.expansion import Expansion, Field, NeedsSign, NeedsTerms, NotReal, expanded
from symdyn.proof.signs.loci import zeros
from symdyn.proof.signs.numbers import certified_sign, enclosure, residual_size
from symdyn.proof.undecided import Undecided
from symdyn.proof.verdict import Witness
from symdyn.statements.domain import Cell, Domain, Point

SIDES = {"+": ("+",), "-": ("-",), "both": ("+", "-")}
MOST_SPLITS = 4
MOST_CASES = 60
GENERIC = 6
SEARCHED = 60
"""Points of the cell that a limit is tried at besides the degenerate ones."""


def sides(side: str, to: sp.Expr) -> tuple[str, ...]:
    """The sides a limit is taken from. Raises ValueError for an unknown side, both sides of infinity, and no point."""
    if side not in SIDES:
        raise ValueError(f"the side of a limit is one of {', '.join(map(repr, SIDES))}, not {side!r}")
    if to.has(sp.nan, sp.zoo) or (to.has(sp.oo, -sp.oo) and to not in (sp.oo, -sp.oo)):
        raise ValueError(f"a limit is taken at a number, a formula, oo or -oo, not at {to}")
    if to in (sp.oo, -sp.oo):
        if side == "both":
            raise ValueError(f"{to} is approached from one side alone; leave out side='both'")
        return ("+",)
    return SIDES[side]


@dataclass(frozen=True)
class Case:
    """A part of a cell: signs of symbols, substitutions made to get there, and the strict signs of expressions."""

    signs: Mapping[Any, int]
    facts: tuple[tuple[sp.Expr, int], ...] = ()
    substitutions: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()

    def sign_of(self, symbol: Any) -> int | None:
        if symbol in self.signs:
            return 2 * self.signs[symbol]
        square = isinstance(symbol, InnerProductSymbol) and symbol.left == symbol.right
        return 1 if square else None

    def __call__(self, expr: sp.Expr) -> sp.Expr:
        for symbol, value in self.substitutions:
            expr = expr.xreplace({symbol: value})
        if expr.has(sp.zoo, sp.nan):
            where = ", ".join(f"{s} = {v}" for s, v in self.substitutions)
            raise Undecided(f"the expression is not defined at {where}")
        return expr

    @property
    def words(self) -> str:
        signs = [f"{s} = {v}" for s, v in self.substitutions]
        return ", ".join(signs + [f"{s} {'>' if v > 0 else '<'} 0" for s, v in self.signs.items()])

    def within(self, symbol: Any, sign: int) -> Case | None:
        """The part on which a symbol has a sign (0: vanishes), None if there is none."""
        if sign:
            return Case({**self.signs, symbol: sign}, self.facts, self.substitutions)
        return self._with(symbol, sp.S.Zero, self.signs)

    def _with(self, symbol: Any, value: sp.Expr, signs: Mapping[Any, int]) -> Case | None:
        facts = []
        for expr, sign in self.facts:
            new = expr.xreplace({symbol: value})
            if not new.is_Rational:
                facts.append((new, sign))
            elif not (new != 0 if sign == 0 else new * sign > 0):
                return None
        return Case(signs, tuple(facts), (*self.substitutions, (symbol, value)))

    def split(self, expr: sp.Expr) -> list[Case]:
        """Parts that cover the case, on each of which more is known of the sign of an expression."""
        unknown = [s for s in sorted(expr.free_symbols, key=str) if abs(self.sign_of(s) or 0) < 2]
        if expr.is_Symbol or (unknown and not self.shift(expr)):
            symbol = expr if expr.is_Symbol else unknown[0]
            signs = (1, 0) if self.sign_of(symbol) == 1 else (1, -1, 0)
            found = [self.within(symbol, s) for s in signs]
            return [case for case in found if case is not None]
        shift = self.shift(expr)
        if shift is None:
            return []
        symbol, factor = shift
        u = sp.Dummy(f"({expr})", real=True)
        value = sp.expand((u - (expr - factor * symbol)) / factor)
        signs_left = {s: v for s, v in self.signs.items() if s != symbol}
        before = (*self.facts, (symbol, self.signs[symbol])) if symbol in self.signs else self.facts
        parts = []
        for s in (1, -1, 0):
            at = value if s else value.xreplace({u: sp.S.Zero})
            case = Case(self.signs, before, self.substitutions)._with(
                symbol, at, {**signs_left, u: s} if s else signs_left
            )
            parts += [case] if case is not None else []
        return parts

    def shift(self, expr: sp.Expr) -> tuple[sp.Symbol, sp.Rational] | None:
        """A symbol that the expression is linear in with a rational factor, and the factor; unsigned symbols first."""
        expr = sp.expand(expr)
        symbols = sorted(expr.free_symbols, key=lambda s: (abs(self.sign_of(s) or 0), str(s)))
        for symbol in symbols:
            factor = expr.coeff(symbol, 1)
            if factor.is_Rational and factor != 0 and not (expr - factor * symbol).has(symbol):
                return symbol, factor
        return None


def _facts(conditions: Any) -> Iterator[tuple[sp.Expr, int]]:
    """The expressions whose strict sign (0: that they do not vanish) the conditions of a domain give."""
    for condition in conditions:
        if isinstance(condition, sp.And):
            yield from _facts(condition.args)
        elif isinstance(condition, (sp.Gt, sp.Lt, sp.Ne)):
            yield plain(condition.lhs - condition.rhs), {">": 1, "<": -1, "!=": 0}[condition.rel_op]


def _of_factors(expr: sp.Expr, sign: int) -> list[tuple[sp.Expr, int]]:
    """The signs of u and v where that of u v is known and u + v, or v - u, is a number: those of 1 ± x where x² < 1."""
    content, factors = sp.factor_list(expr) if expr.is_polynomial(*expr.free_symbols) else (expr, [])
    if (
        sign == 0
        or len(factors) != 2
        or any(exponent != 1 for _, exponent in factors)
        or not content.is_Rational
    ):
        return []
    (u, _), (v, _) = factors
    same = sign * content > 0
    total = sp.expand(v + u if same else v - u)
    if not total.is_Rational or total == 0:
        return []
    s = int(sp.sign(total))
    return [(v, s), (u, s if same else -s)]


def first_case(domain: Domain, cell: Cell, variable: sp.Symbol | None) -> Case:
    """The cell as the first case. What is said of the running variable holds near the limit, if at all."""
    facts = []
    for expr, sign in _facts(domain.conditions):
        expr = formula(domain.unfold(expr, cell))
        if not expr.is_number and (variable is None or not expr.has(variable)):
            facts += [(expr, sign), *_of_factors(expr, sign)]
    return Case({s: v for s, v in cell.signs.items() if s != variable}, tuple(facts))


def _on_cases(case: Case, attempt: Callable[[Case], None]) -> list[Case]:
    """The cases at all of which an attempt succeeds: the cell, or parts that cover it, split where a sign is needed."""
    todo, done, tried = [(case, 0)], [], 0
    while todo:
        current, depth = todo.pop()
        tried += 1
        try:
            attempt(current)
        except NeedsSign as need:
            parts = current.split(need.expression) if depth < MOST_SPLITS and tried < MOST_CASES else []
            if not parts:
                raise Undecided(f"{need} ({current.words})") from need
            todo += [(part, depth + 1) for part in parts]
        else:
            done.append(current)
    return done


def _paired(x: Any, y: Any) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """The coefficients of x with those of y at the same vectors; a missing one is zero."""
    if isinstance(x, Linear) and isinstance(y, Linear):
        for v in dict.fromkeys((*x.terms, *y.terms)):
            yield plain(x.terms.get(v, sp.S.Zero)), plain(y.terms.get(v, sp.S.Zero))
    else:
        yield from zip(components(x), components(y), strict=True)


def _limit_of(expansion: Expansion) -> sp.Expr:
    """The limit of an expansion at a point: a number, or ±oo."""
    numbers = expansion.field
    if not expansion.rest or any(numbers.size(m) > 0 for m in expansion.terms):
        large = {m: c for m, c in expansion.terms.items() if numbers.size(m) > 0}
        if large:
            _, c = Expansion(numbers, large, expansion.rest).leading()
            return sp.oo * numbers.sign(c)
    _, middle, _ = expansion.parts()
    return numbers.expression(middle)


def _free(symbol: Any) -> None:
    return None


def limit_at(expr: sp.Expr, variable: sp.Symbol, to: sp.Expr, side: str) -> sp.Expr:
    """The limit of an expression in one variable, a number or ±oo.

    By its expansion; where none is known by SymPy, if numbers near the limit confirm it. Raises Undecided.
    """
    if expr.has(sp.DiracDelta) or expr.atoms(sp.Float):
        raise Undecided(f"{expr} is not a function of exact numbers")
    try:
        numbers = Field(_free, numbers=True, speaks_of=(expr,))
        return expanded(numbers, expr, variable, to, side, _limit_of)
    except NotReal:
        raise
    except (Undecided, NotImplementedError) as obstacle:
        return _confirmed(expr, variable, to, side, str(obstacle))


def _confirmed(expr: sp.Expr, variable: sp.Symbol, to: sp.Expr, side: str, obstacle: str) -> sp.Expr:
    """SymPy's limit, if the values at points near the limit point come nearer and nearer to it."""
    e = sp.Dummy("e", positive=True)
    step = e if side == "+" else -e
    inner = expr.subs(variable, sp.sign(to) / e if to in (sp.oo, -sp.oo) else to + step)
    try:
        limit = sp.limit(sp.powdenest(sp.together(inner)), e, 0, "+")
    except (TypeError, ValueError, AttributeError, RecursionError, NotImplementedError) as failure:
        raise Undecided(f"{obstacle}; SymPy finds no limit: {failure}") from failure
    if limit.is_finite is not True or not limit.is_number or limit.is_real is False:
        raise Undecided(f"{obstacle}; SymPy's limit is {limit}")
    gaps = []
    for digits in (8, 12, 16):
        value = sp.N(inner.subs(e, sp.Rational(1, 10**digits)), 40, maxn=2000)
        if not value.is_real:
            raise Undecided(f"{obstacle}; not real near the limit")
        gaps.append(abs(value - sp.N(limit, 40)))
    rounding = sp.Float("1e-30") * (1 + abs(sp.N(limit, 40)))
    if any(later > sp.Max(sooner / 10, rounding) for sooner, later in pairwise(gaps)):
        raise Undecided(f"{obstacle}; SymPy's limit {limit} is not approached")
    return limit


def evaluated(expr: sp.Expr, point: Point) -> sp.Expr:
    """An expression at a point that may leave some symbols free."""
    expr = plain(formula(expr))
    missing = {s: s for s in expr.free_symbols if s not in point and not hasattr(s, "left")}
    return evaluate(expr, {**point, **missing})


def completed(point: Point, domain: Domain, cell: Cell) -> Point | None:
    """A point whose dependent quantities follow the others, None where it leaves the cell."""
    point = dict(point)
    for definitions in (cell.where, domain.let):
        for symbol, expr in definitions.items():
            value = evaluate(expr if isinstance(expr, Linear) else unfold(formula(expr)), point)
            if not all(n.is_finite for n in (value if isinstance(value, list) else [value])):
                return None
            if not isinstance(symbol, InnerProductSymbol):
                point[symbol] = value
            elif evaluate(symbol, point) != value:
                return None
    return point if domain.admits(point, cell) else None


def points(
    domain: Domain, cell: Cell, variable: sp.Symbol, symbols: set[Any]
) -> Iterator[tuple[bool, Point]]:
    """Points of a cell with the running variable left free, and whether they are degenerate: first one that is not,
    then those at which one of the symbols vanishes, is ±1 or coincides with another, or all vanish, then others.
    """
    base = list(islice(domain.points(cell), GENERIC))
    dependent = {*cell.where, *domain.let, variable}
    free = [s for s in base[0] if isinstance(s, sp.Symbol) and s in symbols and s not in dependent]
    changes: list[Point] = [{s: sp.S.Zero} for s in free]
    changes += [{s: t} for i, s in enumerate(free) for t in free[:i]]
    changes += [{s: v} for s in free for v in (sp.S.One, sp.S.NegativeOne)]
    changes += [dict.fromkeys(free, sp.S.Zero)] if len(free) > 1 else []
    yield False, _without(base[0], variable)
    for change in changes if domain.sampler is None else ():
        for start in base[:1]:
            moved = completed({**start, **{s: start.get(v, v) for s, v in change.items()}}, domain, cell)
            if moved is not None:
                yield True, _without(moved, variable)
    for point in base[1:]:
        yield False, _without(point, variable)


def _on_each_side(
    expr: sp.Expr, domain: Domain, cell: Cell, variable: sp.Symbol
) -> Iterator[tuple[bool, Point]]:
    """Points at which an expression is positive, negative and zero, as far as they are found."""
    missing = {1, -1}
    dependent = {*cell.where, *domain.let, variable}
    shift = Case({s: 1 for s in dependent if s in expr.free_symbols}).shift(expr)
    for number, point in enumerate(domain.points(cell, per_dimension=SEARCHED, seed=1)):
        value = evaluated(expr, point)
        sign = certified_sign(value) if value.is_number and value.is_finite else None
        if sign in missing:
            missing.discard(sign)
            yield True, _without(point, variable)
        if shift is not None and shift[0] in point and shift[0] not in dependent and number < GENERIC:
            root = completed({**point, shift[0]: point[shift[0]] - value / shift[1]}, domain, cell)
            if root is not None:
                yield True, _without(root, variable)
        if not missing and number >= GENERIC:
            return


def _without(point: Point, variable: sp.Symbol) -> Point:
    return {k: v for k, v in point.items() if k != variable}


AT_ZEROS = 12
"""Points at which what is left of a numerator or a denominator vanishes."""

JUMPING = (sp.Piecewise, sp.sign, sp.Heaviside, sp.floor, sp.ceiling)


class Pointwise:
    """What limits and orders have in common: points, parts of a cell, and how many were tried."""

    x: Any
    variable: sp.Symbol
    to: sp.Expr
    side: str
    label: str

    def points(self, domain: Domain, cell: Cell, *formulas: sp.Expr) -> Iterator[tuple[bool, Point]]:
        symbols = set().union(*(f.free_symbols for f in (*formulas, self.to)))
        independent = {s for e in cell.where.values() for s in formula(e).free_symbols}
        yield from points(domain, cell, self.variable, symbols | (independent if symbols else set()))
        for expr in self.critical(domain, cell):
            yield from _on_each_side(expr, domain, cell, self.variable)
        for point in islice(zeros(self._leading(formulas), domain, cell), AT_ZEROS):
            yield True, _without(point, self.variable)

    def _leading(self, formulas: Iterable[sp.Expr]) -> list[sp.Expr]:
        """Numerators and denominators as the variable has come to its point: where they vanish, a limit is another."""
        parts = [part for f in formulas for part in sp.fraction(sp.together(f)) if self.to.is_finite]
        at = [part.subs(self.variable, self.to) for part in parts if not part.has(*JUMPING)]
        factors = [
            f
            for x in map(sp.expand, at)
            if x.free_symbols and x.is_polynomial()
            for f, _ in sp.factor_list(x)[1]
        ]
        return [f for f in dict.fromkeys(factors) if f.free_symbols]

    def critical(self, domain: Domain, cell: Cell) -> list[sp.Expr]:
        """What the claim turns on: expressions whose sign a proof would need."""
        found: list[sp.Expr] = []

        def attempt(case: Case) -> None:
            try:
                self.holds_on(case, domain, cell)
            except NeedsSign as need:
                found.append(need.expression)
                raise

        with suppress(Undecided, NotImplementedError):
            _on_cases(first_case(domain, cell, self.variable), attempt)
        return [expr for expr in dict.fromkeys(found) if not expr.atoms(sp.Dummy)]

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        parts = _on_cases(
            first_case(domain, cell, self.variable), lambda case: self.holds_on(case, domain, cell)
        )
        split = f", on each of {len(parts)} parts of the cell" if len(parts) > 1 else ""
        return Finding("PROVED", "proved", f"{self.claim}: leading terms at every parameter point{split}")

    def holds_on(self, case: Case, domain: Domain, cell: Cell) -> None:
        raise NotImplementedError

    @property
    def claim(self) -> str:
        return self.label

    def _not_real(self, obstacle: Exception, point: Point, cell: Cell) -> Finding:
        witness = Witness(
            describe(point), f"not real near {self.variable} = {self.to}: {obstacle}", cell.name
        )
        return Finding("REFUTED", "proved", "not real near the limit", witness)


@dataclass(frozen=True)
class LimitIs(Pointwise):
    """lim x = value as the variable tends to a point from a side, at every parameter point."""

    x: Any
    variable: sp.Symbol
    to: sp.Expr
    value: Any
    side: str = "+"
    label: str = "limit"

    def _gaps(self, domain: Domain, cell: Cell) -> Iterator[tuple[sp.Expr, sp.Expr]]:
        for x, value in _paired(*(domain.unfold(q, cell) for q in (self.x, self.value))):
            if value.has(self.variable):
                raise Undecided(f"the {self.label} {value} depends on {self.variable}, which has left")
            yield x, value

    def holds_on(self, case: Case, domain: Domain, cell: Cell) -> None:
        for x, value in self._gaps(domain, cell):
            x, value, to = case(x), case(value), case(self.to)
            known = Field(case.sign_of, case.facts, speaks_of=(x, *(() if value.is_infinite else (value,))))
            for side in sides(self.side, self.to):
                expanded(known, x, self.variable, to, side, partial(self._tends, value))

    def _tends(self, value: sp.Expr, expansion: Expansion) -> None:
        known = expansion.field
        if value in (sp.oo, -sp.oo):
            m, c = expansion.leading()
            if known.size(m) <= 0 or known.sign(c) != sp.sign(value):
                raise Undecided(f"the {self.label} is not {value}")
            return
        if not value.is_finite and value.has(sp.oo, sp.zoo, sp.nan):
            raise Undecided(f"{value} is no {self.label}")
        constant = Expansion(known, {}) + _constant(known, value)
        large, middle, _ = (expansion + constant.scaled(known.element(sp.S.NegativeOne))).parts()
        if large or middle[0]:
            came = " + ".join(str(known.expression(c)) for c in large.values()) or known.expression(middle)
            raise Undecided(f"the {self.label} is off by {came}" if middle[0] and not large else "it grows")

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        gaps = list(self._gaps(domain, cell))
        for _, point in self.points(domain, cell, *(q for pair in gaps for q in pair)):
            for x, value in gaps:
                for side in sides(self.side, self.to):
                    found = self._other(x, value, point, side, cell)
                    if found is not None:
                        return found
        return None

    def _other(self, x: sp.Expr, value: sp.Expr, point: Point, side: str, cell: Cell) -> Finding | None:
        """The finding that the limit at a point is another, None if it is the claimed one or not known."""
        at, claimed = evaluated(x, point), evaluated(value, point)
        if not _meaningful(at) or claimed.has(sp.nan, sp.zoo):
            return None
        try:
            limit = limit_at(at, self.variable, evaluated(self.to, point), side)
        except NotReal as obstacle:
            return self._not_real(obstacle, point, cell)
        except Undecided:
            return None
        if limit.is_infinite or claimed.is_infinite:
            if limit == claimed:
                return None
            text = f"the {self.label} is {limit}"
        else:
            gap = limit - claimed
            if certified_sign(gap) in (0, None):
                return None
            text = f"the {self.label} is {limit}, off by {enclosure(gap)}"
        return Finding("REFUTED", "proved", "another limit", Witness(describe(point), text, cell.name))

    def test(self, domain: Domain, cell: Cell) -> Finding:
        gaps, count, degenerate = list(self._gaps(domain, cell)), 0, 0
        for special, point in self.points(domain, cell, *(q for pair in gaps for q in pair)):
            for x, value in gaps:
                at, claimed = evaluated(x, point), evaluated(value, point)
                if not _meaningful(at) or not _meaningful(claimed):
                    raise Undecided(f"{self.label}: not defined at {describe(point)}")
                for side in sides(self.side, self.to):
                    limit = limit_at(at, self.variable, evaluated(self.to, point), side)
                    same = limit == claimed if limit.is_infinite or claimed.is_infinite else None
                    if same is None:
                        same = residual_size(limit - claimed) <= sp.Float("1e-40")
                    if not same:
                        return Finding("UNKNOWN", "tested", f"{self.label}: {limit} at {describe(point)}")
                    count, degenerate = count + 1, degenerate + special
        evidence = f"{self.label}: exact at {count} rational points, {degenerate} of them degenerate"
        return Finding("AGREES", "tested", evidence)


def _constant(known: Field, value: sp.Expr) -> Expansion:
    """A value free of the variable, with every denominator and root in it checked."""
    nothing = sp.Dummy("nothing")
    return expanded(known, value, nothing, sp.S.Zero, "+", lambda e: e)  # type: ignore[no-any-return]


def _meaningful(expr: sp.Expr) -> bool:
    return not expr.has(sp.nan, sp.zoo, sp.I) and not expr.has(sp.AccumBounds)


@dataclass(frozen=True)
class Order(Pointwise):
    """x = O(scale) as the variable tends to a point, at every parameter point; with `sharp`, at none of them does the
    ratio tend to zero.
    """

    x: Any
    variable: sp.Symbol
    to: sp.Expr
    scale: sp.Expr
    side: str = "+"
    sharp: bool = False
    label: str = "remainder"

    def _ratios(self, domain: Domain, cell: Cell) -> list[sp.Expr]:
        (scale,) = components(domain.unfold(self.scale, cell))
        return [x / scale for x in components(domain.unfold(self.x, cell))]

    @property
    def claim(self) -> str:
        return f"{self.label} = O({self.scale})"

    def holds_on(self, case: Case, domain: Domain, cell: Cell) -> None:
        ratios = [case(ratio) for ratio in self._ratios(domain, cell)]
        to = case(self.to)
        for side in sides(self.side, self.to):
            known = Field(case.sign_of, case.facts, speaks_of=ratios)
            limits = [expanded(known, r, self.variable, to, side, self._bounded) for r in ratios]
            if self.sharp:
                self._attained(limits)

    def _bounded(self, ratio: Expansion) -> Any:
        """The limit of a ratio that is bounded, None where it has none or more terms are needed for it."""
        known = ratio.field
        if any(known.size(r) > 0 for r in ratio.rest):
            raise NeedsTerms("a remainder of the ratio is not bounded")
        large = [c for m, c in ratio.terms.items() if known.size(m) > 0]
        if large:
            raise Undecided(f"{self.label}/({self.scale}) grows like {known.expression(large[0])}")
        if any(known.size(r) == 0 for r in ratio.rest):
            if self.sharp:
                raise NeedsTerms("the limit of the ratio is not known")
            return None
        return known, ratio.parts()[1]

    def _attained(self, limits: list[Any]) -> None:
        """One of the ratios has a limit that vanishes nowhere."""
        need: Undecided = Undecided(f"{self.label}/({self.scale}) tends to 0")
        for known, limit in limits:
            try:
                if known.nonzero(limit):
                    return
            except Undecided as obstacle:
                need = obstacle
        raise need

    def refute(self, domain: Domain, cell: Cell) -> Finding | None:
        ratios = self._ratios(domain, cell)
        for _, point in self.points(domain, cell, *ratios):
            for side in sides(self.side, self.to):
                limits = []
                for ratio in ratios:
                    at = evaluated(ratio, point)
                    try:
                        limits.append(self._limit(at, point, side) if _meaningful(at) else None)
                    except NotReal as obstacle:
                        return self._not_real(obstacle, point, cell)
                    except Undecided:
                        limits.append(None)
                where = describe(point), cell.name
                if any(limit is not None and limit.is_infinite for limit in limits):
                    text = f"{self.label}/({self.scale}) is unbounded"
                    return Finding(
                        "REFUTED", "proved", "a larger remainder", Witness(where[0], text, where[1])
                    )
                if self.sharp and all(limit is not None and limit == 0 for limit in limits):
                    text = f"{self.label}/({self.scale}) tends to 0"
                    return Finding(
                        "REFUTED", "proved", "the order is not attained", Witness(where[0], text, where[1])
                    )
        return None

    def _limit(self, at: sp.Expr, point: Point, side: str) -> sp.Expr:
        return limit_at(at, self.variable, evaluated(self.to, point), side)

    def test(self, domain: Domain, cell: Cell) -> Finding:
        ratios, count, degenerate = self._ratios(domain, cell), 0, 0
        for special, point in self.points(domain, cell, *ratios):
            for side in sides(self.side, self.to):
                limits = []
                for ratio in ratios:
                    at = evaluated(ratio, point)
                    if not _meaningful(at):
                        raise Undecided(f"{self.label}: not defined at {describe(point)}")
                    limits.append(self._limit(at, point, side))
                if any(limit.is_infinite for limit in limits):
                    return Finding("UNKNOWN", "tested", f"{self.label}: unbounded ratio at {describe(point)}")
                if self.sharp and all(certified_sign(limit) in (0, None) for limit in limits):
                    return Finding("UNKNOWN", "tested", f"{self.label}: not attained at {describe(point)}")
                count, degenerate = count + 1, degenerate + special
        evidence = f"{self.claim} at {count} rational points, {degenerate} of them degenerate"
        return Finding("AGREES", "tested", evidence)
