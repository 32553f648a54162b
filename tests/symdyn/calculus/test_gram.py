"""The Gram calculus against explicit coordinates."""

from __future__ import annotations

import copy
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
import sympy
from sympy import Matrix, Rational, S, sqrt

from symdyn.calculus.gram import (
    Combination,
    Dot,
    Flow,
    GramOperator,
    Vector,
    evaluate,
    gradient,
    hessian,
    identity,
    inner,
    jacobian,
    latex,
    norm,
    norm2,
    outer,
    substitute,
)

a, b, eta_a, eta_w, t = sympy.symbols("a b eta_a eta_w t", real=True)
u, v, w, r = (Vector(name) for name in "uvwr")
beta, beta_star = Vector("beta", r"\beta"), Vector("beta_star", r"\beta_*")
DIMENSIONS = (1, 2, 3, 5)


def rational(generator):
    return Rational(generator.randint(-9, 9), generator.randint(1, 5))


def point(d, seed=0):
    """Rational values for every symbol and vector of these tests, in dimension d."""
    generator = random.Random(seed)
    values = {vector: [rational(generator) for _ in range(d)] for vector in (u, v, w, r, beta, beta_star)}
    return values | {symbol: rational(generator) + Rational(1, 7) for symbol in (a, b, eta_a, eta_w, t)}


def array(number_or_list):
    return Matrix(number_or_list if isinstance(number_or_list, list) else [number_or_list])


def column(x, values):
    return array(evaluate(x, values))


def test_scalars_multiply_vectors_from_both_sides():
    for scalar in (eta_a, 2 * a + 1, sqrt(a), S.Half, 3, Fraction(1, 3), np.int64(4)):
        assert scalar * w == w * scalar == Combination({w: sympy.sympify(scalar)})
        assert (scalar * (u + w)).terms == {u: sympy.sympify(scalar), w: sympy.sympify(scalar)}


def test_a_vector_is_the_combination_with_coefficient_one():
    assert 1 * w == w and w == 1 * w and hash(1 * w) == hash(w)
    assert w / 2 == S.Half * w and -w == -1 * w and +w == w
    assert 2 * w != w and u != w


def test_zero_terms_vanish():
    assert (a * w - a * w).terms == {}
    assert not w - w
    assert sum([u, w, -u]) == w


@pytest.mark.parametrize("d", DIMENSIONS)
def test_combinations_are_sums_of_coordinates(d):
    values = point(d)
    coordinates = {x: Matrix(values[x]) for x in (u, w)}
    expected = values[a] * coordinates[u] - coordinates[w] / 3 + values[b] ** 2 * coordinates[u]
    assert column(a * u - w / 3 + b**2 * u, values) == expected


@pytest.mark.parametrize(
    "operation", [lambda: w * 0.5, lambda: w * w, lambda: w + 1, lambda: w @ w, lambda: a + w]
)
def test_what_is_not_linear_algebra_is_refused(operation):
    with pytest.raises(TypeError):
        operation()


def test_vectors_refuse_bad_names_zero_divisors_and_mutation():
    with pytest.raises(ValueError, match="cannot name a vector"):
        Vector("beta,w")
    with pytest.raises(ZeroDivisionError):
        w / 0
    with pytest.raises(AttributeError, match="immutable"):
        w.name = "u"


def test_dot_is_symmetric_real_and_of_no_sign():
    assert Dot(w, beta) == Dot(beta, w) and hash(Dot(w, beta)) == hash(Dot(beta, w))
    assert (Dot(w, beta).left, Dot(w, beta).right, Dot(w, beta).name) == (beta, w, "dot(beta,w)")
    assert Dot(w, w).is_real and Dot(w, w).is_nonnegative is None and Dot(w, w).is_commutative
    assert Dot(w, w) != sympy.Symbol("dot(w,w)", real=True)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_dots_and_vectors_survive_copies(clone):
    expression = a * Dot(beta, beta_star) ** 2 + norm(w)
    assert clone(expression) == expression
    (dot,) = clone(Dot(beta_star, w)).atoms(Dot)
    assert (dot.left, dot.right) == (beta_star, w) and dot.left.latex() == r"\beta_*"


@pytest.mark.parametrize("d", DIMENSIONS)
def test_inner_is_the_sum_over_coordinates(d):
    values = point(d)
    x, y = a * u - 2 * w + b * v, u / 3 + eta_a * w
    assert evaluate(inner(x, y), values) == column(x, values).dot(column(y, values))
    assert evaluate(norm2(x), values) == column(x, values).dot(column(x, values))
    assert evaluate(norm(x), values) == sqrt(column(x, values).dot(column(x, values)))


def test_inner_is_bilinear_and_symmetric():
    left, right = (
        inner(a * u + b * v, w - r),
        a * inner(u, w) - a * inner(u, r) + b * inner(v, w) - b * inner(v, r),
    )
    assert sympy.expand(left - right) == 0
    assert inner(u + w, v) == inner(v, u + w)
    assert sympy.expand(inner(a * u, a * u) - a * norm2(u)) != 0


def test_inner_and_outer_name_the_culprit():
    with pytest.raises(TypeError, match="inner takes vectors"):
        inner(w, a)
    with pytest.raises(TypeError, match="outer takes vectors"):
        outer(a, w)
    with pytest.raises(TypeError, match="use inner"):
        Dot(a * w, u)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_operators_are_matrices(d):
    values = point(d)
    p = a * identity() + outer(u + b * w, v) - outer(w, w) / 2
    q = b * identity() + eta_a * outer(v, u)
    x = a * u - r
    matrix_p, matrix_q = Matrix(evaluate(p, values)), Matrix(evaluate(q, values))
    U, V, W = (Matrix(values[y]) for y in (u, v, w))
    explicit = values[a] * sympy.eye(d) + (U + values[b] * W) * V.T - W * W.T / 2
    assert matrix_p == explicit
    assert Matrix(evaluate(p.T, values)) == matrix_p.T
    assert Matrix(evaluate(p @ q, values)) == matrix_p * matrix_q
    assert Matrix(evaluate(p - 3 * q, values)) == matrix_p - 3 * matrix_q
    assert column(p @ x, values) == matrix_p * column(x, values)
    assert evaluate(p.trace(d), values) == matrix_p.trace()


def test_operator_algebra_is_associative_and_transposes_reverse():
    p, q, s = a * identity() + outer(u, v), outer(v, w) - identity(), outer(w, u) + b * outer(v, v)
    assert ((p @ q) @ s - p @ (q @ s)).map(sympy.expand) == GramOperator()
    assert ((p @ q).T - q.T @ p.T).map(sympy.expand) == GramOperator()
    assert (p @ q - q @ p).map(sympy.expand) != GramOperator()


FLOW = Flow({a: -eta_a * inner(w, r), w: -eta_w * a * r})


def test_a_quantity_is_conserved_for_every_gradient():
    delta = eta_w * a**2 - eta_a * norm2(w)
    assert sympy.expand(FLOW.derivative(delta)) == 0
    assert sympy.expand(FLOW.derivative(eta_w * a**2 + eta_a * norm2(w))) != 0
    assert sympy.expand(FLOW.derivative(a**2 - norm2(w))) != 0


@pytest.mark.parametrize("d", DIMENSIONS)
def test_derivatives_agree_with_dual_numbers_in_coordinates(d):
    """Along x + t ẋ the derivative at t = 0 of a coordinate expression is its derivative along the flow."""
    values = point(d)
    speed = {a: evaluate(FLOW.derivative(a), values), w: evaluate(FLOW.velocities[w], values)}
    moved = values | {
        a: values[a] + t * speed[a],
        w: [x + t * y for x, y in zip(values[w], speed[w], strict=True)],
    }

    def slope(x):
        return column(x, moved).diff(t).subs(t, 0).expand()

    scalar = sqrt(1 + norm2(w)) * inner(w, beta) * a + sympy.exp(a)
    vector = a * w + inner(w, beta) * w + beta
    operator = norm2(w) * identity() + a * outer(w, beta) + outer(w, w)
    for x in (scalar, vector, operator):
        assert slope(x) == column(FLOW.derivative(x), values).expand()


def test_product_rule():
    x, y = a * norm2(w), sqrt(inner(w, beta))
    d = FLOW.derivative
    assert sympy.expand(d(x * y) - d(x) * y - x * d(y)) == 0
    assert (d(x * w) - d(x) * w - x * d(1 * w)).map(sympy.expand) == Combination()


def test_constants_stand_still_and_movers_are_listed():
    assert FLOW.derivative(eta_a * norm2(beta)) == 0 and FLOW.derivative(3 * beta) == Combination()
    assert FLOW.scalars == (a,) and FLOW.vectors == (w,)


def test_relations_carry_velocities_and_unfold():
    flow = Flow(FLOW.velocities, {beta: a * w, b: norm2(beta)})
    expected = FLOW.derivative(a * w)
    assert flow.derivative(beta) == expected
    assert flow.unfold(b) == a**2 * norm2(w)
    assert sympy.expand(flow.unfold(flow.derivative(b)) - FLOW.derivative(a**2 * norm2(w))) == 0


def test_flows_refuse_contradictions():
    with pytest.raises(ValueError, match="both a velocity and a relation"):
        Flow({a: b}, {a: t})
    with pytest.raises(ValueError, match="circular"):
        Flow({}, {a: b, b: a + 1})
    with pytest.raises(ValueError, match="circular"):
        Flow({}, {beta: norm(beta) * w})
    with pytest.raises(TypeError, match="needs a combination"):
        Flow({w: a})
    with pytest.raises(TypeError, match="follows from those of its vectors"):
        Flow({Dot(w, w): a})


@pytest.mark.parametrize("d", DIMENSIONS)
def test_gradient_hessian_and_jacobian_in_coordinates(d):
    symbols = sympy.symbols(f"y:{d}", real=True)
    values = point(d)
    free = values | {w: symbols}
    there = dict(zip(symbols, values[w], strict=True))
    scalar = norm2(w) ** 2 * a + inner(w, beta) ** 3 - inner(w, u) * norm2(w) + sqrt(1 + norm2(w))
    field = a * w + inner(w, u) * beta + norm2(w) * w
    explicit = evaluate(scalar, free)
    slopes = Matrix([explicit]).jacobian(symbols)
    assert column(gradient(scalar, w), values) == slopes.T.subs(there)
    assert (
        (Matrix(evaluate(hessian(scalar, w), values)) - slopes.jacobian(symbols).subs(there))
        .expand()
        .is_zero_matrix
    )
    assert Matrix(evaluate(jacobian(field, w), values)) == column(field, free).jacobian(symbols).subs(there)


def test_gradient_of_the_inner_product_rules():
    assert gradient(norm2(w), w) == 2 * w
    assert gradient(inner(w, u), w) == u
    assert gradient(inner(beta, u), w) == Combination()
    assert hessian(norm2(w) / 2, w) == identity()
    assert jacobian(w, w) == identity() and jacobian(u, w) == GramOperator()


@pytest.mark.parametrize("d", DIMENSIONS)
def test_substitution_commutes_with_evaluation(d):
    values = point(d)
    mapping = {w: a * u - beta, a: b + inner(u, w), u: w}
    substituted = values | {x: evaluate(y, values) for x, y in mapping.items()}
    for x in (a * norm2(w) + inner(w, beta) * sqrt(1 + a**2), a * w + inner(w, u) * beta, a * outer(w, u)):
        assert (column(substitute(x, mapping), values) - column(x, substituted)).expand().is_zero_matrix


def test_substitution_is_simultaneous():
    assert substitute(a - b, {a: b, b: a}) == b - a
    assert substitute(u - 2 * w, {u: w, w: u}) == w - 2 * u
    assert substitute(norm2(w) + inner(u, w), {Dot(w, w): b, u: 2 * w}) == b + 2 * Dot(w, w)


def test_evaluation_is_exact_and_complains_about_missing_values():
    assert evaluate(inner(u, w), {u: [1, Fraction(1, 3)], w: [Rational(1, 2), 6]}) == Rational(5, 2)
    with pytest.raises(ValueError, match="no value given for w"):
        evaluate(inner(u, w), {u: [1, 2]})
    with pytest.raises(ValueError, match="one length"):
        evaluate(inner(u, w), {u: [1, 2], w: [1]})
    with pytest.raises(ValueError, match="state the dimension"):
        evaluate(identity(), {})
    assert evaluate(2 * identity(), {}, dimension=2) == [[2, 0], [0, 2]]


def test_latex_of_inner_products_and_norms():
    dot = Dot(beta_star, Vector("beta", r"\beta"))
    assert sympy.latex(dot) == r"\beta^\top \beta_*"
    assert sympy.latex(Dot(w, w)) == r"\|w\|^2"
    assert sympy.latex(Dot(u, w) ** 2) == r"\left(u^\top w\right)^{2}"
    assert latex(norm(w)) == r"\|w\|" and latex(norm(w) ** 3) == r"\|w\|^3"
    assert latex(1 / norm2(w)) == r"\frac{1}{\|w\|^2}" and latex(a / norm(w)) == r"\frac{a}{\|w\|}"
    assert sympy.latex(Dot(Vector("w_bar", r"w^*"), w)) == r"w^\top w^*"
    assert sympy.latex(Dot(Vector("c_bar", r"c^*"), w)) == r"(c^*)^\top w"


def test_latex_of_combinations_and_operators_has_signs_and_parentheses():
    assert (-w).latex() == "- w" and (u - w / 2).latex() == r"u - \frac{1}{2} w"
    assert ((a + b) * w - a * u).latex() == r"\left(a + b\right) w - a u"
    assert ((-a - b) * w).latex() == r"- \left(a + b\right) w"
    assert ((a - b) * w).latex() == r"\left(a - b\right) w"
    assert (a * identity() - outer(u, w)).latex() == r"a I - u w^\top"
    assert Combination().latex() == "0" and GramOperator().latex() == "0"


def test_pretty_printing_knows_dots():
    assert "dot(u,w)" in sympy.pretty(Dot(u, w) + 1)
