"""Signs at exact points without the numbers being simplified first, and factors of polynomials, against SymPy."""

import random

import pytest
import sympy as sp
from sympy.polys.rings import ring

from symdyn.calculus.vectors import Vector, inner, norm2
from symdyn.proof.signs.numbers import certified_sign
from symdyn.proof.signs.pointwise import sign_at, vanishes_at
from symdyn.proof.zero.polynomials import cancelled, factor_list

x, y = sp.symbols("x y", real=True)
POINT = {x: sp.Rational(1, 3), y: sp.Rational(-2, 7)}
HEADS = (
    sp.exp,
    sp.sinh,
    sp.tanh,
    sp.cos,
    sp.atan,
    sp.Abs,
    sp.erf,
    lambda z: sp.sqrt(z**2 + 1),
    lambda z: 1 / z,
)


def an_expression(rng: random.Random, depth: int) -> sp.Expr:
    if depth == 0:
        return rng.choice((x, y, sp.Integer(2), sp.Rational(-3, 5)))
    left, right = (an_expression(rng, depth - 1) for _ in range(2))
    return rng.choice((left + right, left * right, left - right, rng.choice(HEADS)(left)))


@pytest.mark.parametrize("seed", range(60))
def test_a_sign_that_is_told_is_the_sign_of_the_number(seed):
    expr = an_expression(random.Random(seed), 4)
    told = sign_at(expr, POINT) if expr.is_finite is not False else None
    if told is not None:
        assert told == certified_sign(sp.sympify(expr).xreplace(POINT))


@pytest.mark.parametrize(
    "expr",
    [
        sp.sqrt(y),
        sp.log(y),
        sp.acosh(x),
        sp.asin(3 * x + 1),
        1 / (x - sp.Rational(1, 3)),
        sp.atan(1 / (3 * x - 1)),
        sp.exp(-1 / (3 * x - 1) ** 2),
        y ** sp.Rational(1, 3),
        sp.gamma(3 * x - 1),
        sp.Piecewise((1, x > 0), (0, True)),
        sp.Symbol("z", real=True),
        x * sp.Float("0.5"),
        sp.sign(sp.sqrt(2) * sp.sqrt(x) - sp.sqrt(2 * x)),
    ],
    ids=str,
)
def test_what_is_no_real_number_at_a_point_is_neither_signed_nor_zero(expr):
    assert sign_at(expr, POINT) in (None, 0) and not (
        vanishes_at(expr, POINT) and sign_at(expr, POINT) is None
    )


def test_what_vanishes_is_enclosed_with_zero_and_what_does_not_is_told_apart():
    z = sp.Symbol("z", positive=True)
    assert vanishes_at(sp.sinh(x) ** 2 - sp.cosh(x) ** 2 + 1, POINT)
    assert vanishes_at(x - y - sp.Rational(13, 21), POINT)
    assert not vanishes_at(sp.sinh(x) ** 2 - sp.cosh(x) ** 2 + 1 + sp.Rational(1, 10**59), POINT)
    assert not vanishes_at(y + sp.Rational(1, 10) ** z - x, {**POINT, y: POINT[x], z: sp.Integer(200)})
    assert not vanishes_at(sp.exp(-z), {z: sp.Integer(10) ** 4})
    assert not vanishes_at(sp.sqrt(z + 1) - sp.sqrt(z), {z: sp.Integer(10) ** 300})


def test_inner_products_are_those_of_the_vectors():
    u, v = Vector("u"), Vector("v")
    point = {u: [sp.Integer(1), sp.Integer(2)], v: [sp.Integer(-2), sp.Integer(1)]}
    assert sign_at(inner(u, v), point) == 0
    assert sign_at(norm2(u) - norm2(v), point) == 0
    assert sign_at(sp.sqrt(norm2(u)) - 2, point) == 1


def polynomials(rng: random.Random, count: int) -> list:
    R, *gens = ring("unused,g1,g2,g3,g4", sp.QQ)
    out = []
    while len(out) < count:
        terms = [
            sp.QQ(rng.randint(-6, 6), rng.randint(1, 4)) * g**k * h
            for g, h in (rng.sample(gens[1:], 2) for _ in range(rng.randint(1, 3)))
            for k in (0, 1, 2)
        ]
        if sum(terms, R.zero):
            out.append(sum(terms, R.zero))
    return out


@pytest.mark.parametrize("seed", range(20))
def test_factors_and_cancelled_fractions_are_those_of_sympy(seed):
    rng = random.Random(seed)
    p, q, r = polynomials(rng, 3)
    product = p * q ** rng.randint(1, 2) * rng.choice((1, -3))
    assert factor_list(product) == product.factor_list()
    assert cancelled(p * r, -q * r) == (p * r).cancel(-q * r)
    assert factor_list(p.ring(sp.QQ(-2, 3))) == p.ring(sp.QQ(-2, 3)).factor_list()
