"""What jumps is decided on both sides of the jump and at it: strict and weak signs are different things."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Vector, inner, norm2
from symdyn.proof.check import decide, verify
from symdyn.proof.zero.tower import Tower
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity, Inequality

a, b, x, y = sp.symbols("a b x y", real=True)
u, v = Vector("u"), Vector("v")
sign, step, floor = sp.sign, sp.Heaviside, sp.floor
positive = Domain((x, y), cells=(Cell("x, y > 0", {x: 1, y: 1}),))
ordered = Domain((x, y), conditions=(x >= y,))
apart = Domain((x, y), conditions=(sp.Ne(x, y),))


def if_zero(condition, then, otherwise):
    return sp.Piecewise((then, condition), (otherwise, True))


FALSE = [
    (Identity(sign((a - b) ** 2), 1), None),
    (Identity(x, x, compiles=sp.log(sp.exp(x)) + sign((x - y) ** 2) - 1), Domain((x, y))),
    (Inequality(sign(x**2), ">"), None),
    (Identity(sign(x) ** 2 * y, y), None),
    (Identity(if_zero(sp.Eq(x, 0), 1, 0) + y, y), None),
    (Identity(if_zero(x > 0, x, -x), sp.Abs(x) + if_zero(sp.Eq(x, y), 1, 0)), None),
    (Identity(sign(x) * sign(y), sign(x * y) + if_zero(sp.Eq(x + y, 0), 1, 0)), None),
    (Identity(sign(x - y), 1), ordered),
    (Identity(sign(sp.sqrt(x) - sp.sqrt(y)) ** 2, 1), positive),
    (Identity(sign(x**2 + y**2), 1), None),
    (Identity(sign(x**2 - 2 * x * y + y**2) + x, 1 + x), None),
    (Identity(step(x) + step(-x), 1 + if_zero(sp.Eq(x, 1), 1, 0)), None),
    (Identity(step(x) ** 2, step(x)), None),
    (Identity(step(x) * step(y), step(x * y)), None),
    (Identity(2 * step(x - y, 1) - 1, sign(x - y)), None),
    (Identity(sp.Max(sign(x), 0), step(x)), None),
    (Identity(floor(x) + floor(-x), -1), None),
    (Identity(floor(x + y), floor(x) + floor(y)), None),
    (Identity(sp.ceiling(x) - floor(x), 1), None),
    (Identity(sp.Abs(x) / x, sign(x)), None),
    (Identity(sign(inner(u, v)) ** 2, 1), Domain((), (u, v))),
    (Identity(sign(norm2(u) * norm2(v) - inner(u, v) ** 2), 1), Domain((), (u, v))),
    (Identity(sign(norm2(u - v)), 1), Domain((), (u, v))),
    (Identity(sign(norm2(u + v)), 1), Domain((), (u, v))),
    (Identity(if_zero(sp.Eq(inner(u, v), 0), 1, 0) + x, x), Domain((x,), (u, v))),
    (Inequality(sign(x - y) ** 2, ">"), None),
    (Inequality(step(x**2), "<=", sp.Rational(1, 2)), None),
    (Inequality(sign(x) - sign(-x), "!="), None),
    (Inequality(sp.Abs(x), ">"), None),
    (Inequality(sp.Abs(x - y) + sp.Abs(x + y), ">"), None),
    (Inequality(sp.Max(x, y) - sp.Min(x, y), ">"), None),
]

TRUE = [
    (Identity(sign((a - b) ** 2), 1), Domain((a, b), conditions=(sp.Ne(a, b),))),
    (Identity(sign(x) * sp.Abs(x), x), None),
    (Identity(sign(x) * sign(y), sign(x * y)), None),
    (Identity(sign(x) ** 2 * x, x), None),
    (Identity(sp.Abs(x) * sp.Abs(y), sp.Abs(x * y)), None),
    (Identity(sp.Max(x, y) + sp.Min(x, y), x + y), None),
    (Identity(sp.Max(x, y) - sp.Min(x, y), sp.Abs(x - y)), None),
    (Identity(step(x) + step(-x), 1 + 0 * x), None),
    (Identity(2 * step(x) - 1, sign(x)), None),
    (Identity(if_zero(x > 0, x, -x), sp.Abs(x)), None),
    (Identity(if_zero(sp.Eq(x, 0), 0, x), x), None),
    (Identity(sign(x - y), 1), Domain((x, y), conditions=(x > y,))),
    (Identity(sign(x - y) ** 2, 1), apart),
    (Identity(sp.sqrt(x**2 * y), sp.Abs(x) * sp.sqrt(y)), Domain((x, y), cells=(Cell("y > 0", {y: 1}),))),
    (Inequality(sp.Abs(x), ">="), None),
    (Inequality(sp.Abs(x) - x, ">="), None),
    (Inequality(sp.Abs(x) + sp.Abs(y) - sp.Abs(x + y), ">="), None),
    (Inequality(sign(x**2 + 1), ">"), None),
    (Inequality(sign(x) * x, ">="), None),
    (Inequality(x**2 - x + 1, ">"), None),
    (Inequality(sp.sqrt(x**2 + 1) - x, ">"), None),
]


def test_what_is_false_at_a_jump_does_not_hold():
    counts = {"tried": 0, "refuted": 0, "undecided": 0, "wrong": 0}
    for statement, domain in FALSE:
        verdict = decide(statement, domain)
        counts["tried"] += 1
        counts["wrong" if verdict.holds else "refuted" if verdict.holds is False else "undecided"] += 1
        if verdict.holds is not False:
            print("not refuted:", statement, verdict.outcome)
    print(f"claims that fail at a jump: {counts}")
    assert counts["wrong"] == 0 and counts["refuted"] >= 28


@pytest.mark.parametrize(("statement", "domain"), TRUE, ids=str)
def test_what_is_true_in_every_case_is_proved(statement, domain):
    verdict = decide(statement, domain)
    assert verdict.outcome == "PROVED", verdict


def test_cases_are_counted():
    verdict = verify(Identity(sign(x) * sp.Abs(x) + y, x + y))
    assert verdict.holds and "cases" in verdict.evidence


@pytest.mark.parametrize(
    ("expression", "signs", "facts", "expected"),
    [
        (x**2, {}, (), 1),
        (x**2, {x: 2}, (), 2),
        (x**2, {}, ((x, "!="),), 2),
        ((x - y) ** 2, {}, (), 1),
        ((x - y) ** 2, {}, ((x - y, "!="),), 2),
        (x**2 + y**2, {}, ((x * y, "!="),), 2),
        (x - a, {}, ((x - y, ">"), (y - a, ">=")), 2),
        (x - a, {}, ((x - y, ">="), (y - a, ">=")), 1),
        (x - a, {}, ((x - y, ">="), (a - y, ">=")), None),
        (1 + x, {}, ((1 - x**2, ">"),), 2),
        (1 + x, {}, ((1 - x**2, ">="),), 1),
        (x**2 + x, {}, (), None),
        (x**2 + x + sp.Rational(1, 4), {}, (), 1),
        (x**2 + x + sp.Rational(1, 4) + sp.Rational(1, 10**12), {}, (), 2),
        (x**2 + x + sp.Rational(1, 4) - sp.Rational(1, 10**12), {}, (), None),
        (x**3 - 3 * x + 2, {x: 2}, (), 1),
        (x**3 - 3 * x + 2 + sp.Rational(1, 10**9), {x: 2}, (), 2),
        (x**3 - 3 * x + 2 - sp.Rational(1, 10**9), {x: 2}, (), None),
        (sp.exp(x) - 1, {x: 2}, (), 2),
        (sp.exp(x) - 1, {x: 1}, (), 1),
        (sp.exp(x) - sp.exp(y), {}, ((x - y, ">"),), 2),
        (sp.exp(x) - sp.exp(y), {}, ((x - y, ">="),), 1),
        (sp.exp(x) + sp.exp(-x) - 2, {}, (), 1),
        (sp.sqrt(x**2 + 1) + x, {}, (), 2),
        (sp.sqrt(x**2 + y**2) + x, {}, (), 1),
        (sp.sqrt(x**2 + y) - x, {y: 2}, (), 2),
    ],
)
def test_strict_and_weak_signs(expression, signs, facts, expected):
    tower = Tower(lambda symbol: signs.get(symbol), facts)
    assert tower.sign_on_cell(tower.convert(expression)) == expected
