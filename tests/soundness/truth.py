"""Whether claims are what the collection says: each false one fails where it says so, each true one stands on a grid.

Nothing here asks the engine: expressions are computed at exact points (`values`), velocities by differences in many
digits, limits along sequences.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mpmath
import sympy as sp

from symdyn.calculus.gram import Dot, GramOperator, Linear, Vector
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix import Expression, evaluate, letters_of, symbols_of
from symdyn.calculus.matrix.expression import from_word
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import (
    Asymptotic,
    Conservation,
    Definition,
    Dynamics,
    Identity,
    Inequality,
    Limit,
    Solution,
    Statement,
)
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity, MatrixStatement
from tests.soundness import claims
from tests.soundness.claims import Claim
from tests.soundness.values import WORDS, Undefined, holds, number, rounding, value, values

DIGITS = 250
SMALL = mpmath.mpf(10) ** -30
EQUAL = mpmath.mpf(10) ** -220
Point = dict[Any, Any]
NAMES = {
    getattr(x, "name", None) or str(x): x for x in vars(claims).values() if isinstance(x, (sp.Symbol, Vector))
}
NAMES |= {"f": claims.f, "beta": Isotropic(1, 0, claims.x).vector}
GRID = [sp.Rational(half, 2) for half in (0, 2, -2, 1, 4, -3, 3, 6)]
VECTORS = {
    1: [(1,), (-1,), (2,), (-3,)],
    2: [(1, 0), (0, 1), (-1, 0), (2, 1), (1, 1)],
    3: [(1, 0, 0), (0, 1, 0), (1, 1, 1), (-1, -1, -1), (0, 2, 1)],
    5: [(1, 0, 0, 0, 0), (0, 1, 1, 0, 0), (1, 2, 0, 3, 1), (0, 0, -1, 0, 1), (1, 1, 1, 1, 1)],
}


def fails(claim: Claim) -> bool:
    """Whether a false claim fails at its witness, or by its own calculation, or cannot even be stated."""
    if claim.check is not None:
        return bool(claim.check())
    try:
        statement = claim.says()
    except ValueError:  # no statement is made of it: it is refused by its words
        return True
    return failure(statement, claim)


def failure(statement: Statement, claim: Claim) -> bool:
    """Whether a statement fails at the witness of a claim."""
    with mpmath.workdps(DIGITS):
        if statement.facts():
            return any(failure(fact, claim) for fact in statement.facts())
        if isinstance(statement, MatrixStatement):
            return _words_fail(statement, *_matrices(statement, claim.at))
        return _fails_at(statement, _point(statement, claim.at), claim.near)


def stands(claim: Claim) -> list[Point]:
    """The points of a grid at which a true claim fails: none, if it is true."""
    statement = claim.says()
    with mpmath.workdps(DIGITS):
        if isinstance(statement, MatrixStatement):
            return [at for at, sizes in _drawn(statement) if _words_fail(statement, at, sizes)]
        facts = statement.facts() or (statement,)
        return [at for fact in facts for at in _grid(fact, claim) if _fails_at(fact, at, claim.near)]


def tried(claim: Claim) -> int:
    """How many points of the grid a true claim is tried at."""
    statement = claim.says()
    if isinstance(statement, MatrixStatement):
        return len(list(_drawn(statement)))
    facts = statement.facts() or (statement,)
    return sum(1 for fact in facts for _ in _grid(fact, claim))


# at a point


def _fails_at(statement: Statement, at: Point, near: Callable[[int], Any] | None) -> bool:
    """Whether the statement is false, or says nothing, at a point."""
    try:
        return _KINDS[type(statement)](statement, at, near)
    except Undefined:
        return True


def _identity(statement: Identity, at: Point, near: Any) -> bool:
    sides = [statement.lhs, statement.rhs] + ([] if statement.compiles is None else [statement.compiles])
    first, *others = ([*values(side, at)] for side in sides)
    return any(_differ(first, other) for other in others)


def _inequality(statement: Inequality, at: Point, near: Any) -> bool:
    gap = value(statement.lhs, at) - value(statement.rhs, at)
    if isinstance(gap, mpmath.mpc):
        if abs(gap.imag) > EQUAL:
            return True
        gap = gap.real
    gap = 0 if abs(gap) < EQUAL else gap
    relations = {">": gap > 0, ">=": gap >= 0, "<": gap < 0, "<=": gap <= 0, "!=": gap != 0}
    return not relations[statement.relation]


def _definition(statement: Definition, at: Point, near: Any) -> bool:
    values(statement.expression, at)
    return False


def _limit(statement: Limit, at: Point, near: Any) -> bool:
    """The values stay away from the limit, or the limit is ∞ and the values do not grow."""
    numbers = _sequence(statement, [statement.expression], at, near)
    if statement.limit in (sp.oo, -sp.oo):
        sign = 1 if statement.limit is sp.oo else -1
        return not (sign * numbers[2][0] > 1.3 * sign * numbers[1][0] > 1.6 * sign * numbers[0][0] > 0)
    goal = value(statement.limit, at)
    gaps = [abs(x - goal) for (x,) in numbers]
    return bool(gaps[2] > mpmath.mpf(10) ** -60 and gaps[2] > gaps[1] * 3 / 4)


def _asymptotic(statement: Asymptotic, at: Point, near: Any) -> bool:
    """The ratio grows without bound, or tends to zero though the order is said to be attained."""
    ratios = []
    for x, leading, scale in _sequence(
        statement, [statement.expression, statement.leading, statement.remainder], at, near
    ):
        if scale == 0:
            raise Undefined
        ratios.append(abs(x - leading) / abs(scale))
    small = mpmath.mpf(10) ** -60
    grows = ratios[2] > 1.3 * ratios[1] > 1.3**2 * ratios[0] and ratios[2] > small
    vanishes = ratios[2] < small or ratios[2] < ratios[1] / 1.3 < ratios[0] / 1.3**2
    return bool(grows or (statement.sharp and vanishes))


def _sequence(statement: Any, parts: list[Any], at: Point, near: Any) -> list[list[Any]]:
    """The parts at three values of the variable that come ever nearer to its end."""
    to = sp.sympify(statement.to)
    out, fixed = [], {key: x for key, x in at.items() if key != statement.variable}
    token = rounding.set(False)
    try:
        for i in range(3):
            step = near(i) if near else _nearby(statement, i)
            size = _decades(step if near or abs(to) is sp.oo else step - to)
            with mpmath.workdps(int(60 + 10 * size)):
                out.append([value(part, {**fixed, statement.variable: step}) for part in parts])
    finally:
        rounding.reset(token)
    return out


def _decades(step: Any) -> float:
    """How many powers of ten the step is away from 1."""
    size = abs(float(mpmath.log10(abs(mpmath.mpmathify(str(sp.N(step, 30)))))))
    if size > 4000:
        raise ValueError("a sequence for limits must stay within 4000 powers of ten")
    return size


def _nearby(statement: Any, i: int) -> Any:
    far = sp.Integer(10) ** (30 * (i + 1))
    to = sp.sympify(statement.to)
    if to in (sp.oo, -sp.oo):
        return far if to is sp.oo else -far
    return to - 1 / far if statement.side == "-" else to + 1 / far


def _solution(statement: Solution, at: Point, near: Any) -> bool:
    """An unknown lacks an equation or a closed form, or the closed form breaks one of them between 0 and t."""
    unknowns = set(statement.solution)
    if unknowns != set(statement.velocity) or unknowns != set(statement.initial):
        return True
    spoken = set().union(*(sp.sympify(closed).free_symbols for closed in statement.solution.values()))
    if spoken & unknowns:
        return True
    moment = sp.sympify(at[statement.time])
    for part in range(13):
        now = {**at, statement.time: moment * sp.Rational(part, 12)}
        state = {u: value(closed, now) for u, closed in statement.solution.items()}
        for u, closed in statement.solution.items():
            rate = _slope(partial(_later, closed, now, statement.time))
            if _differ([rate], [value(statement.velocity[u], {**now, **state})], mpmath.mpf(10) ** -60):
                return True
            if part == 0 and _differ(
                [state[u]], [value(statement.initial[u], {**at, statement.time: moment})]
            ):
                return True
    if statement.compiles is not None:
        closed = tuple(statement.solution.values())
        return _differ(values(closed, at), values(statement.compiles, at))
    return False


def _later(x: Any, now: Point, time: Any, h: Any) -> Any:
    """The value of x a little later."""
    return value(x, {**now, time: now[time] + h})


def _conservation(statement: Conservation, at: Point, near: Any) -> bool:
    velocity = [0] * len(values(statement.quantity, _related(statement.under, at)))
    return _moves(statement, velocity, at)


def _dynamics(statement: Dynamics, at: Point, near: Any) -> bool:
    return _moves(statement, values(statement.velocity, _related(statement.under, at)), at)


def _moves(statement: Any, velocity: list[Any], at: Point) -> bool:
    """The rate of the quantity is another, or the flow breaks a relation that it declares."""
    flow = statement.under
    base = _related(flow, at)
    speeds = {key: values(v, base) for key, v in flow.velocities.items()}

    def moved(h: Any) -> Point:
        new = dict(base)
        for key, speed in speeds.items():
            now = base[key]
            if isinstance(key, Vector):
                new[key] = tuple(number(x) + number(h) * s for x, s in zip(now, speed, strict=True))
            else:
                new[key] = number(now) + number(h) * speed[0]
        return _related(flow, new)

    for dot, expression in flow.relations.items():
        if isinstance(dot, Dot):
            kept = [value(dot, base) - value(expression, base)]
            if _differ(kept, [0]):
                raise AssertionError(f"the witness is not on the relation of {dot}")
            broken = _slope(lambda h, dot=dot, e=expression: value(dot, moved(h)) - value(e, moved(h)))
            if abs(broken) > mpmath.mpf(10) ** -60:
                return True
    values(statement.quantity, base)
    for k, wanted in enumerate(velocity):
        rate = _slope(lambda h, k=k: values(statement.quantity, moved(h))[k])
        if _differ([rate], [wanted], mpmath.mpf(10) ** -60):
            return True
    return False


def _related(flow: Any, at: Point) -> Point:
    """The point with what the relations of the flow abbreviate."""
    point = dict(at)
    for key, expression in flow.relations.items():
        if isinstance(key, Vector):
            point[key] = tuple(values(expression, point))
        elif not isinstance(key, Dot):
            point[key] = value(expression, point)
    return point


def _slope(function: Callable[[Any], Any]) -> Any:
    h = mpmath.mpf(10) ** -80
    exact = sp.Rational(1, 10**80)
    return (function(exact) - function(-exact)) / (2 * h)


_KINDS: dict[type, Callable[..., bool]] = {
    Identity: _identity,
    Inequality: _inequality,
    Definition: _definition,
    Limit: _limit,
    Asymptotic: _asymptotic,
    Solution: _solution,
    Conservation: _conservation,
    Dynamics: _dynamics,
}


def _differ(xs: list[Any], ys: list[Any], least: Any = EQUAL) -> bool:
    if len(xs) != len(ys):
        return True
    return any(abs(x - y) > least * (1 + abs(x)) for x, y in zip(xs, ys, strict=True))


# points


def _point(statement: Statement, at: dict[str, Any]) -> Point:
    """The witness in symbols, vectors and letters; what it does not name is not needed."""
    letters = {letter.name: letter for e in statement.expressions for letter in _letters(e)}
    return {letters[name] if name in letters else NAMES[name]: x for name, x in at.items()}


def _letters(x: Any) -> set[Any]:
    return (
        set().union(*(letters_of(word) for word in sp.sympify(x).atoms(*WORDS)))
        if not isinstance(x, (tuple, Linear, GramOperator, Isotropic))
        else set()
    )


def _symbols(x: Any) -> set[Any]:
    """The symbols, vectors and unspecified functions of whatever a statement is made of."""
    if isinstance(x, (tuple, list)):
        return set().union(*map(_symbols, x)) if x else set()
    if isinstance(x, Linear):
        return set(x.terms) | _symbols(list(x.terms.values()))
    if isinstance(x, GramOperator):
        return {v for pair in x.outer for v in pair} | _symbols([x.identity, *x.outer.values()])
    if isinstance(x, Isotropic):
        return {x.vector} | _symbols([x.f, x.h])
    expr = sp.sympify(x)
    dots = expr.atoms(Dot)
    letters = _letters(expr)
    functions = {applied.func for applied in expr.atoms(sp.core.function.AppliedUndef)}
    return (
        (expr.free_symbols - dots - expr.atoms(*WORDS))
        | {v for d in dots for v in (d.left, d.right)}
        | letters
        | functions
    )


def _grid(statement: Statement, claim: Claim) -> Iterator[Point]:
    """Points of the domain of a claim: zeros, ones, coincidences, parallel and orthogonal vectors, some others."""
    parts = list(statement.expressions)
    if isinstance(statement, (Conservation, Dynamics)):
        parts += [x for pair in statement.under.velocities.items() for x in pair]
        parts += [x for pair in statement.under.relations.items() for x in pair]
    if isinstance(statement, Solution):
        parts.append(statement.time)
    if getattr(statement, "compiles", None) is not None:
        parts.append(statement.compiles)
    found = _symbols(parts)
    domain = getattr(statement, "on", None) or claim.on or Domain()
    if claim.at:
        point = _point(statement, claim.at)
        if _complete(found, point):
            yield point
    if isinstance(statement, (Conservation, Dynamics)) and any(
        isinstance(key, Dot) for key in statement.under.relations
    ):
        return
    if any(isinstance(x, sp.core.function.UndefinedFunction) for x in found) or claim.check:
        return
    found = (found | set(domain.scalars) | set(domain.vectors)) - set(domain.let)
    scalars = sorted((x for x in found if isinstance(x, sp.Symbol)), key=str)
    if isinstance(statement, (Limit, Asymptotic)):
        scalars = [x for x in scalars if x != statement.variable]
    vectors = sorted((x for x in found if isinstance(x, Vector)), key=str)
    letters = sorted((x for x in found if hasattr(x, "rows")), key=lambda letter: letter.name)
    rng = random.Random(str(scalars))
    every = list(itertools.product(GRID, repeat=len(scalars)))
    chosen = every if len(every) <= 64 else rng.sample(every, 40) + [(x,) * len(scalars) for x in GRID]
    extra = [
        tuple(sp.Rational(rng.randint(1, 40), rng.randint(1, 12)) * sign for _ in scalars)
        for sign in (1, -1, 1, -1)
    ]
    if isinstance(statement, Solution):
        chosen = [numbers for numbers in chosen if numbers[0] != 0][:12]
    for numbers in [*chosen, *(extra if scalars else [])]:
        for d in VECTORS if vectors else (2,):
            point = dict(zip(scalars, numbers, strict=True))
            point |= {v: rng.choice(VECTORS[d]) for v in vectors}
            point |= {
                letter: [[rng.randint(-2, 2) for _ in range(1 if letter.cols == 1 else d)] for _ in range(d)]
                for letter in letters
            }
            point |= {
                v: tuple(values(form, point)) for v, form in domain.let.items() if isinstance(v, Vector)
            }
            if _admitted(point, domain):
                yield point


def _complete(found: set[Any], point: Point) -> bool:
    return all(x in point for x in found if not isinstance(x, sp.core.function.UndefinedFunction))


def _admitted(point: Point, domain: Domain) -> bool:
    signs = any(
        all(point[s] * sign > 0 for s, sign in cell.signs.items() if s in point) for cell in domain.cells
    )
    known = [c for c in domain.conditions if c.free_symbols <= set(point)]
    return signs and all(holds(c, point, None) for c in known)


# matrices


def _matrices(statement: Any, at: dict[str, Any]) -> tuple[Point, dict[Any, int]]:
    """The witness in letters, symbols and sizes."""
    parts = _parts(statement)
    letters = {letter.name: letter for x in parts for letter in letters_of(x)}
    letters |= {
        letter.name: letter for declared in statement.rules.declarations for letter in declared.letters
    }
    symbols = {str(s): s for x in parts for s in symbols_of(x)}
    symbols |= {str(s): s for s in _sizes_of([*letters.values()])}
    symbols |= {str(s): s for r in statement.rules.rules for s in symbols_of(r.right)}
    point, sizes = {}, {}
    for name, x in at.items():
        if name in letters:
            point[letters[name]] = [[x_] if not isinstance(x_, tuple) else list(x_) for x_ in x]
        elif symbols[name].is_integer:
            sizes[symbols[name]] = x
        else:
            point[symbols[name]] = x
    for letter, rows in list(point.items()):
        if isinstance(rows, list):
            for size, length in ((letter.rows, len(rows)), (letter.cols, len(rows[0]))):
                if size.is_Symbol:
                    sizes.setdefault(size, length)
    return point, sizes


def _parts(statement: Any) -> list[Any]:
    if isinstance(statement, MatrixIdentity):
        return [statement.lhs, statement.rhs]
    velocity = [statement.velocity] if isinstance(statement, MatrixDynamics) else []
    moved = [x for x in statement.velocities.values()]
    return [
        statement.quantity,
        *velocity,
        *moved,
        *(x for x in statement.velocities if isinstance(x, Expression)),
    ]


def _sizes_of(letters: list[Any]) -> set[Any]:
    return {s for letter in letters for size in (letter.rows, letter.cols) for s in size.free_symbols}


def _words_fail(statement: Any, at: Point, sizes: dict[Any, int]) -> bool:
    """The sides differ at matrices that satisfy the rules, or the flow leaves what the letters are declared to be."""
    try:
        for r in statement.rules.rules:
            if all(
                letter in at for letter in letters_of(from_word(r.left)) | letters_of(r.right)
            ) and _entries(from_word(r.left) - r.right, at, sizes, nonzero=True):
                raise AssertionError("the witness does not satisfy the rules")
        if isinstance(statement, MatrixIdentity):
            return _differ(_entries(statement.lhs, at, sizes), _entries(statement.rhs, at, sizes))
        return _matrix_moves(statement, at, sizes)
    except ZeroDivisionError:
        return True


def _entries(x: Any, at: Point, sizes: dict[Any, int], nonzero: bool = False) -> Any:
    """The entries, exactly; with `nonzero`, whether any of them is not zero."""
    found = evaluate(x, at, sizes)
    flat = [sp.sympify(c) for c in (found if isinstance(x, Expression) else [found])]
    if any(c.has(sp.zoo, sp.nan, sp.oo, sp.I) for c in flat):  # not a real number
        raise ZeroDivisionError
    return any(abs(number(c)) > EQUAL for c in flat) if nonzero else [number(c) for c in flat]


def _matrix_moves(statement: Any, at: Point, sizes: dict[Any, int]) -> bool:
    h = sp.Rational(1, 10**40)
    speeds = {
        key.letter if isinstance(key, Expression) else key: v for key, v in statement.velocities.items()
    }

    def moved(step: Any) -> Point:
        new = dict(at)
        for letter, velocity in speeds.items():
            new[letter] = (sp.Matrix(at[letter]) + step * evaluate(velocity, at, sizes)).tolist()
        return new

    for letter, velocity in speeds.items():
        speed = evaluate(velocity, at, sizes)
        if letter.symmetric and speed != speed.T:
            return True

    def rate(x: Any) -> list[Any]:
        forth, back = (_entries(x, moved(step), sizes) for step in (h, -h))
        return [(f - b) / number(2 * h) for f, b in zip(forth, back, strict=True)]

    for r in statement.rules.rules:
        if (letters_of(from_word(r.left)) | letters_of(r.right)) & set(speeds) and any(
            abs(c) > SMALL for c in rate(from_word(r.left) - r.right)
        ):
            return True
    found = rate(statement.quantity)
    wanted = (
        [0] * len(found)
        if isinstance(statement, MatrixConservation)
        else _entries(statement.velocity, at, sizes)
    )
    return any(abs(f - w) > SMALL for f, w in zip(found, wanted, strict=True))


def _drawn(statement: Any) -> Iterator[tuple[Point, dict[Any, int]]]:
    """Rational matrices that satisfy the rules, in each of the listed shapes and in one of its own."""
    for sizes in statement.sizes:
        for seed in (11, 12):
            point: Point = {}
            for x in _parts(statement):
                for key, drawn in statement.rules.sample(x, sizes, seed).items():
                    point.setdefault(key, drawn)
            yield point, dict(sizes)
