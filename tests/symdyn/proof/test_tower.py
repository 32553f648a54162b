"""Normal forms: what they prove is true, what is false they never prove, and signs are what they say."""

from __future__ import annotations

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symdyn.proof.zero.tower import Tower, Undecided

x, y, d, t = sp.symbols("x y d t", real=True)
POSITIVE = {x: 2, y: 2}


def vanishes(expr, signs=POSITIVE):
    return not Tower(signs.get).convert(expr)[0]


kappa = sp.sqrt(d**2 + 4 * x)
TRUE = [
    (x + y) ** 2 - x**2 - 2 * x * y - y**2,
    sp.sqrt(x * y) - sp.sqrt(x) * sp.sqrt(y),
    sp.sqrt(d * t * (d + t) * (d**2 + x)) - sp.sqrt(d * t * (d + t)) * sp.sqrt(d**2 + x),
    sp.sqrt(x**2) - x,
    sp.sqrt(8) - 2 * sp.sqrt(2),
    sp.sqrt(x ** sp.Rational(3, 2)) - x / x ** sp.Rational(1, 4),
    sp.sqrt(x / y) - sp.sqrt(x * y) / y,
    sp.sqrt(kappa + d) * sp.sqrt(kappa - d) - 2 * sp.sqrt(x),
    sp.sqrt(2 * kappa + 2 * d) - sp.sqrt(2) * sp.sqrt(kappa + d),
    1 / (kappa + d) - (kappa - d) / (4 * x),
    sp.cosh(t) ** 2 - sp.sinh(t) ** 2 - 1,
    sp.sinh(2 * t) - 2 * sp.sinh(t) * sp.cosh(t),
    sp.tanh(t + sp.atanh(d)) - (sp.tanh(t) + d) / (1 + d * sp.tanh(t)),
    sp.sech(t) ** 2 - 1 + sp.tanh(t) ** 2,
    sp.exp(sp.asinh(x)) - x - sp.sqrt(x**2 + 1),
    sp.exp(2 * sp.log(x)) - x**2,
    sp.exp(t * d / 2) ** 2 - sp.exp(t * d),
    abs(x) - x,
    sp.exp(t * sp.sqrt(4 * d * x**2)) - sp.exp(t * x * sp.sqrt(d)) ** 2,
    sp.Max(x, -x) - x,
    sp.sign(x + y) - 1,
    sp.Piecewise((x, x > 0), (0, True)) - x,
]
FALSE = [
    sp.sqrt(x + y) - sp.sqrt(x) - sp.sqrt(y),
    sp.sqrt(kappa + d) * sp.sqrt(kappa - d) - sp.sqrt(x),
    sp.sqrt(kappa + d) - sp.sqrt(kappa) - sp.sqrt(d**2) / 2,
    sp.cosh(t) - sp.sinh(t) - 1,
    sp.tanh(t) - sp.sinh(t),
    sp.exp(t) * sp.exp(d) - sp.exp(t * d),
    sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5),
]


@pytest.mark.parametrize("expr", TRUE, ids=str)
def test_identities_are_proved(expr):
    assert vanishes(expr)


@pytest.mark.parametrize("expr", FALSE, ids=str)
def test_falsehoods_are_not_proved(expr):
    try:
        assert not vanishes(expr)
    except Undecided as obstacle:
        assert "sign" in str(obstacle)


def test_a_root_of_a_square_needs_the_sign():
    with pytest.raises(Undecided, match="sign"):
        Tower({}.get).convert(sp.sqrt(d**2))
    assert vanishes(sp.sqrt(d**2) + d, {d: -2})
    assert not vanishes(sp.sqrt(d**2) - d, {d: -2})


def test_floats_have_no_exact_meaning():
    with pytest.raises(Undecided, match="floating"):
        Tower({}.get).convert(sp.Float(0.1) * x)


@pytest.mark.parametrize(
    ("expr", "signs", "sign"),
    [
        (kappa - d, {d: 2, x: 2}, 2),
        (kappa + d, {d: -2, x: 2}, 2),
        (kappa + d, {d: -2, x: 1}, 1),
        (kappa - 2 * d, {d: -2, x: 2}, 2),
        (d - kappa, {d: 2, x: 2}, -2),
        (x - y, {x: 2, y: 2}, None),
        (kappa - 2 * d, {d: 2, x: 2}, None),
        (d**2, {}, 1),
        (sp.exp(d) + x, {x: 1}, 2),
        (sp.Integer(0), {}, 1),
    ],
)
def test_signs(expr, signs, sign):
    tower = Tower(signs.get)
    assert tower.sign(tower.convert(expr)) == sign


leaves = st.sampled_from([x, y, d, t, sp.Integer(1), sp.Integer(2), sp.Rational(1, 3)])
operations = st.sampled_from(["+", "*", "-", "sqrt", "exp", "/"])


@st.composite
def expressions(draw, depth=3):
    if depth == 0:
        return draw(leaves)
    op = draw(operations)
    first = draw(expressions(depth=depth - 1))
    if op == "sqrt":
        return sp.sqrt(first**2 + x)
    if op == "exp":
        return sp.exp(first) if not first.has(sp.exp) else first
    second = draw(expressions(depth=depth - 1))
    if op == "/":
        return first / (second**2 + 1)
    return {"+": first + second, "*": first * second, "-": first - second}[op]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(expressions(), expressions())
def test_the_normal_form_has_the_value_of_the_expression(left, right):
    point = {x: sp.Rational(3, 2), y: sp.Rational(2, 5), d: sp.Rational(-7, 4), t: sp.Rational(1, 3)}
    expr = left * right - left
    tower = Tower({x: 2, y: 2, t: 2, d: -2}.get)
    written = tower.expression(tower.convert(expr))
    exact, read = (sp.N(e.subs(point), 40) for e in (expr, written))
    assert abs(exact - read) <= 1e-30 * (1 + abs(exact))


@pytest.mark.parametrize("relation", [">=", "<=", ">", "<"])
def test_a_root_less_a_number_has_the_sign_that_a_fact_gives_it(relation):
    """The search multiplies what is known by a root r = √(x² + 1): r² is written out before a sign is read off."""
    gap = sp.sqrt(x**2 + 1) - 2
    tower = Tower({x: 2}.get, ((gap, relation),))
    tower.facts.learn()
    assert tower.sign(tower.read(gap)) == {">": 2, ">=": 1, "<=": -1, "<": -2}[relation]
    without = Tower({x: 2}.get)
    assert without.sign(without.read(gap)) is None
