"""Limits and orders are proved at every parameter point or refuted at one; a computer-algebra system proves none."""

from __future__ import annotations

import random
from itertools import product

import mpmath
import pytest
import sympy as sp
from sympy import Abs, Rational, acosh, asinh, atan, cos, cosh, exp, log, oo, pi, sign, sin, sqrt, tanh

from symdyn.proof.check import decide, verify
from symdyn.proof.limits.orders import limit_at
from symdyn.proof.zero.tower import Undecided
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Asymptotic, Limit

a, b, c, d, e, t, x, y = sp.symbols("a b c d e t x y", real=True)
POSITIVE = Domain((a, b, c, d, x, y), cells=(Cell("positive", dict.fromkeys((a, b, d, x, y), 1)),))
plus = d / 2 + sqrt(d**2 + 4 * x) / 2
minus = d / 2 - sqrt(d**2 + 4 * x) / 2

NEARLY = [
    Limit(e / (a + e), e, 0, 0),
    Limit(t * a**2 / (1 + t * a**2), t, oo, 1),
    Limit(a**2 / (a**2 + x**2) * b, x, 0, b),
    Limit(a * x / (a * x + 1), x, oo, 1),
    Limit(a**2 * x / (a**2 * x + 1), x, -oo, 1),
    Limit(b * tanh(a**2 * x), x, oo, b),
    Limit(tanh(a * x), x, oo, 1),
    Limit(exp(-(a**2) * x), x, oo, 0),
    Limit(exp(-Abs(a) * x), x, oo, 0),
    Limit(exp((a - b) * x) / (exp((a - b) * x) + 1), x, oo, 1),
    Limit((a - b) ** 2 * x / ((a - b) ** 2 * x + 1), x, oo, 1),
    Limit((a - b) / (a - b + x), x, 0, 1),
    Limit((a + b) / (a + b + x), x, 0, 1),
    Limit((a**2 - 1) / (a**2 - 1 + x), x, 0, 1),
    Limit((a - 1) * x / ((a - 1) * x + 1), x, oo, 1),
    Limit(sqrt(a**2 + x) / Abs(a), x, 0, 1),
    Limit((sqrt(a**2 + x) - Abs(a)) / sqrt(x), x, 0, 0),
    Limit(x ** (a**2), x, 0, 0),
    Limit(x / sqrt(x**2 + a**2 * x**4), x, oo, 0),
    Limit(sin(a * x) / (a * x), x, oo, 0),
    Limit(Abs(x) / x, x, 0, 1, side="both"),
    Limit(1 / x, x, 0, oo, side="both"),
    Limit(atan(1 / x), x, 0, pi / 2, side="both"),
    Limit(exp(-1 / x), x, 0, 0, side="both"),
    Limit(1 / x, x, 0, oo, side="-"),
    Limit(atan(x), x, oo, pi / 2 + Rational(1, 10**12)),
    Limit(x * (1 + Rational(1, 10**12)) / (x + 1), x, oo, 1),
    Limit(x**a, x, oo, oo),
    Limit(b + sin(1 / x), x, 0, b),
    Limit(cos(x), x, oo, 0),
    Limit(a * sin(x), x, oo, 0),
    Limit(x + sqrt(x**2 + a), x, -oo, 1),
    Limit(sqrt(-x), x, 0, 0),
    Limit(log(x), x, 0, 0, side="-"),
    Limit(a * x, x, oo, oo),
    Limit(a**2 * x, x, oo, oo),
    Limit(x, x, oo, x),
]
"""False at one parameter point or on one side at least, or without a limit."""

NEARLY_ORDERS = [
    Asymptotic(e**2 / (a**2 + e), 0, e, 0, e ** Rational(3, 2)),
    Asymptotic(a / (a + x), 1, x, 0, x),
    Asymptotic(sqrt(a**2 + x), Abs(a), x, 0, x),
    Asymptotic(sqrt(a**2 + x), Abs(a) + x / (2 * Abs(a)), x, 0, x**2),
    Asymptotic(1 / (a**2 + x), 0, x, 0, sp.S.One),
    Asymptotic(x / (1 + a**2 * x), 0, x, oo, sp.S.One),
    Asymptotic(x ** (1 + a), 0, x, 0, x),
    Asymptotic(exp(a * x), 0, x, oo, sp.S.One),
    Asymptotic(exp(-(a**2) * x), 0, x, oo, 1 / x),
    Asymptotic(log(a**2 + x), 0, x, 0, sp.S.One),
    Asymptotic(log(x), 0, x, 0, sp.S.One),
    Asymptotic(x * log(x), 0, x, 0, x),
    Asymptotic(sin(x), x, x, 0, x**4),
    Asymptotic(cos(x), 1 - x**2 / 2 + x**4 / 25, x, 0, x**5),
    Asymptotic(sqrt(x**2 + a), x, x, -oo, 1 / x),
    Asymptotic(tanh(a * x), sign(a) * (1 - a), x, oo, 1 / x),
    Asymptotic(a * x, 0, x, 0, x, sharp=True),
    Asymptotic((a - b) * x + x**2, 0, x, 0, x, sharp=True),
    Asymptotic(sqrt(1 + x), 1 + x / 2, x, 0, x, sharp=True),
    Asymptotic(x + 1 / x, 0, x, 0, x, side="both"),
    Asymptotic(sqrt(x), 0, x, 0, sp.S.One, side="both"),
    Asymptotic(x * sin(1 / x), 0, x, 0, x**2),
]

TRUE = [
    Limit(sqrt(a**2 + x), x, 0, Abs(a)),
    Limit(tanh(a * x), x, oo, sign(a)),
    Limit(a**2 + x, x, oo, oo),
    Limit(-(a**2) - x, x, oo, -oo),
    Limit(1 / x, x, 0, oo),
    Limit(1 / x**2, x, 0, oo, side="both"),
    Limit(x / (1 + a**2 + x), x, oo, 1),
    Limit(x / (1 + a**2 + x), x, 0, 0, side="both"),
    Limit(x / (x + exp(a)), x, 0, 0, side="both"),
    Limit(sin(a * x) / x, x, 0, a, side="both"),
    Limit((1 - cos(a * x)) / x**2, x, 0, a**2 / 2, side="both"),
    Limit(x * sin(1 / x), x, 0, 0, side="both"),
    Limit(sin(x) / x, x, oo, 0),
    Limit(x * log(x), x, 0, 0),
    Limit((1 + a / x) ** x, x, oo, exp(a)),
    Limit(x**a * exp(-x), x, oo, 0),
    Limit(log(1 + exp(a * x)) / x, x, oo, sp.Max(a, 0)),
    Limit(atan(x), x, oo, pi / 2),
    Limit(asinh(x) - log(x), x, oo, log(2)),
    Limit(acosh(x) - log(2 * x), x, oo, sp.S.Zero),
    Limit(sqrt(x**2 + a * x) - x, x, oo, a / 2),
    Limit(sqrt(x**2 + a * x) + x, x, -oo, -a / 2),
    Limit(tanh(a * x) / x, x, 0, a, side="both"),
    Limit((cosh(a * x) - 1) / x**2, x, 0, a**2 / 2, side="both"),
    Limit((exp(a * x) - exp(b * x)) / x, x, 0, a - b, side="both"),
    Limit((x**a - 1) / log(x), x, 1, a, side="both"),
    Asymptotic(sqrt(1 + a * x), 1 + a * x / 2, x, 0, x**2, side="both"),
    Asymptotic(sin(x), 0, x, oo, sp.S.One),
    Asymptotic(a**2 / (1 + a**2 * x), a**2, x, 0, x, side="both"),
    Asymptotic(sqrt(x**2 + a), x + a / (2 * x), x, oo, x**-3),
    Asymptotic(log(1 + exp(x)), x, x, oo, exp(-x), sharp=True),
    Asymptotic(sqrt(1 + x), 1 + x / 2, x, 0, x**2, sharp=True),
    Asymptotic(exp(-(a**2) * x), 0, x, oo, sp.S.One),
    Asymptotic(tanh(x), x - x**3 / 3, x, 0, x**5, side="both", sharp=True),
]


@pytest.mark.parametrize("statement", [*NEARLY, *NEARLY_ORDERS], ids=str)
def test_what_fails_at_a_point_or_on_a_side_does_not_hold(statement):
    verdict = verify(statement, few_mutants="of no interest here")
    assert verdict.holds is not True, verdict


UNDEFINED = [s for s in (*NEARLY, *NEARLY_ORDERS) if (s.expression + s.value).subs(a, 0).has(sp.nan, sp.zoo)]
WITHOUT_A_LIMIT = [s for s in (*NEARLY, *NEARLY_ORDERS) if s.expression.has(sin, cos, atan)]
REFUTED_AT = [s for s in (*NEARLY[:-1], *NEARLY_ORDERS) if s not in (*UNDEFINED, *WITHOUT_A_LIMIT)]


@pytest.mark.parametrize("statement", REFUTED_AT, ids=str)
def test_it_is_refuted_there(statement):
    verdict = decide(statement)
    assert verdict.outcome == "REFUTED", verdict
    assert verdict.witness is not None


@pytest.mark.parametrize("statement", TRUE, ids=str)
def test_true_limits_and_orders_are_proved(statement):
    verdict = decide(statement)
    assert (verdict.outcome, verdict.grade) == ("PROVED", "proved"), verdict


@pytest.mark.parametrize(
    ("expr", "limit"),
    [
        (exp(minus * t), 0),
        (c * exp(plus * t) * exp(-plus * t) + t**3 * exp(minus * t), c),
        ((3 * exp(plus * t) + exp(minus * t)) / (5 * exp(plus * t) + t**2 * exp(d * t)), Rational(3, 5)),
        (tanh(x * t), 1),
        (t * exp(-x * t) / (1 + t), 0),
        (exp(plus * t) / (1 + t * exp(d * t)), oo),
        ((t * exp(x * t) + exp(x * t)) / (2 * t * exp(x * t)), Rational(1, 2)),
        (sp.Piecewise((exp(-x * t), t > 0), (exp(x * t), True)), 0),
        ((exp(2 * x * t + y) - 1) / exp(2 * x * t), exp(y)),
        (1 / ((1 - exp(-x * t)) * (1 - exp(-y * t))), 1),
        (sqrt(1 + exp(x * t)) * exp(-x * t / 2), 1),
        (exp(x * t**2) / exp(x * t**2 + y * t), 0),
    ],
    ids=str,
)
def test_dominant_exponentials_are_those_of_the_cell(expr, limit):
    assert decide(Limit(expr, t, oo, sp.sympify(limit)), POSITIVE).outcome == "PROVED"


@pytest.mark.parametrize("expr", [exp(c * t), 1 / (c * exp(x * t) + 1), exp((x - y) * t)], ids=str)
def test_what_depends_on_a_sign_that_no_cell_gives_has_no_one_limit(expr):
    assert decide(Limit(expr, t, oo, sp.S.Zero), POSITIVE).outcome == "REFUTED"


def test_an_unknown_side_is_an_error_that_lists_the_sides():
    for side in ("", "left", "+-", None):
        with pytest.raises(ValueError, match=r"'\+', '-', 'both'"):
            Limit(x, x, 0, 0, side=side)
        with pytest.raises(ValueError, match="'both'"):
            Asymptotic(x, 0, x, 0, x, side=side)
    with pytest.raises(ValueError, match="one side alone"):
        Limit(1 / x, x, oo, 0, side="both")
    for nowhere in (sp.nan, sp.zoo, oo * sp.Symbol("z")):
        with pytest.raises(ValueError, match="a limit is taken at"):
            Limit(1 / x, x, nowhere, 0)


@pytest.mark.parametrize(
    "expr", [sp.DiracDelta(x), x / 2.0, sp.Function("f")(x), sp.Sum(x, (t, 0, a))], ids=str
)
def test_what_is_not_a_function_of_exact_numbers_is_undecided(expr):
    assert decide(Limit(expr, x, 0, sp.S.Zero)).outcome == "UNKNOWN"


def test_conditions_of_the_domain_give_signs():
    gap = Limit(exp((2 * a - b) * t), t, oo, sp.S.Zero)
    assert decide(gap, Domain((a, b, t), conditions=(b > 2 * a,))).outcome == "PROVED"
    assert decide(gap, Domain((a, b, t), conditions=(b > a,))).outcome == "REFUTED"
    away = Limit(e / (a + e), e, 0, 0)
    assert decide(away, Domain((a, e), conditions=(sp.Ne(a, 0),))).outcome == "PROVED"
    inside = Limit(t / (1 + (1 - a**2) * t), t, oo, 1 / (1 - a**2))
    assert decide(inside, Domain((a, t), conditions=(a**2 < 1,))).outcome == "PROVED"


def test_what_agrees_was_tried_at_degenerate_points():
    verdict = decide(Limit(exp(-t * (a**2 + b**2 + 1 + sp.cos(a))), t, oo, 0))
    assert verdict.outcome == "AGREES"
    assert "of them degenerate" in verdict.evidence
    assert ", 0 of them degenerate" not in verdict.evidence


def _part(rng: random.Random, depth: int) -> sp.Expr:
    """A random expression in two parameters and the variable x > 0, real where its roots are."""
    if depth == 0:
        return rng.choice([a, b, x, x, sp.Integer(1), a - b, a + b, x**2, a**2, a * x, b * x, 1 - a])
    part, other = _part(rng, depth - 1), _part(rng, depth - 1)
    kind = rng.randrange(9)
    if kind < 2:
        return part + other
    if kind < 4:
        return part * other
    if kind < 6:
        return part / (other + rng.choice([0, x, 1]))
    if kind == 6:
        return sqrt(part**2 + rng.choice([x, other**2, sp.Integer(1)]))
    if kind == 7:
        return rng.choice([tanh, Abs])(part)
    return exp(-(part**2) * rng.choice([1, x]))


def _nearby(expr: sp.Expr, to: sp.Expr, digits: int) -> mpmath.mpf | None:
    """The value of an expression close to the limit point, None where it is not a real number."""
    with mpmath.workdps(400):
        near = mpmath.mpf(10) ** (digits if to is oo else -digits)
        try:
            value = sp.lambdify(x, expr, "mpmath")(near)
        except (ZeroDivisionError, OverflowError):
            return None
        return mpmath.re(value) if mpmath.isfinite(value) and mpmath.im(value) == 0 else None


def _tends(expr: sp.Expr, to: sp.Expr, value: sp.Expr) -> bool | None:
    """Whether an expression in x tends to a value, by numbers; None where these do not tell."""
    values = [_nearby(expr, to, digits) for digits in (20, 40, 80)]
    if None in values:
        return None
    if value is oo or value is -oo:
        return all(v * (1 if value is oo else -1) > 10**6 for v in values[1:])
    with mpmath.workdps(400):
        goal = mpmath.mpf(str(sp.N(value, 300)))
        gaps = [abs(v - goal) for v in values]
    if gaps[2] < mpmath.mpf(10) ** -15:
        return True
    return None if gaps[2] < gaps[1] / 10 else False


SPECIAL = [sp.Integer(v) for v in (0, 1, -1, 2)] + [Rational(1, 3)]


@pytest.mark.parametrize("seed", range(5))
def test_no_random_limit_is_proved_that_fails_at_an_exceptional_point(seed):
    rng = random.Random(seed)
    proved = refuted = wrong_before = 0
    for _ in range(50):
        expr, to = _part(rng, rng.choice([2, 2, 3])), rng.choice([sp.S.Zero, oo])
        if not {a, b} & expr.free_symbols or x not in expr.free_symbols or expr.has(sp.zoo, sp.nan):
            continue
        claimed = _generic_limit(expr, to, rng)
        if claimed is None:
            continue
        verdict = decide(Limit(expr, x, to, claimed), seconds=4.0)
        truths = [
            _tends(expr.xreplace(at), to, claimed.xreplace(at))
            for at in ({a: v, b: w} for v, w in product(SPECIAL, SPECIAL))
            if not expr.xreplace(at).has(sp.zoo, sp.nan) and not claimed.xreplace(at).has(sp.zoo, sp.nan)
        ]
        wrong_before += False in truths
        if verdict.outcome in ("PROVED", "AGREES"):
            proved += 1
            assert False not in truths, (expr, to, claimed, verdict)
        if verdict.outcome == "REFUTED":
            refuted += 1
            at = {s: sp.Rational(verdict.witness.point.get(str(s), "1")) for s in (a, b)}
            assert _tends(expr.xreplace(at), to, claimed.xreplace(at)) is not True, (
                expr,
                to,
                claimed,
                verdict,
            )
    assert proved >= 5
    assert refuted >= 3
    assert wrong_before >= 3


def _generic_limit(expr: sp.Expr, to: sp.Expr, rng: random.Random) -> sp.Expr | None:
    """What one would write down: the value at zero, the limit for positive parameters, the limit at a point."""
    if to is sp.S.Zero:
        claimed = expr.xreplace({x: sp.S.Zero})
        if not claimed.has(sp.zoo, sp.nan):
            return claimed
    elif expr.is_rational_function(x):
        positive = {s: sp.Dummy(str(s), positive=True) for s in (a, b)}
        claimed = sp.limit(expr.xreplace(positive), x, oo).xreplace({v: k for k, v in positive.items()})
        if claimed.is_finite or claimed in (oo, -oo):
            return claimed
    try:
        claimed = limit_at(expr.xreplace({a: rng.choice(SPECIAL), b: Rational(-3, 7)}), x, to, "+")
    except Undecided:
        return None
    return claimed if claimed in (0, 1, -1, oo, -oo) else None
