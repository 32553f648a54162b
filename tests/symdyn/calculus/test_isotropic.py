"""The isotropic calculus against explicit matrices."""

from __future__ import annotations

import itertools

import pytest
import sympy
from sympy import Matrix, Rational, sqrt

from symdyn.calculus.gram import Vector
from symdyn.calculus.isotropic import BETA, Isotropic, gradient, hessian, hessian_condition, projector
from symdyn.calculus.isotropic import identity as isotropic_identity

x, delta, xdot, t = sympy.symbols("x delta xdot t", real=True)
DIMENSIONS = (1, 2, 3, 5)
NUMBERS = [Rational(n) for n in ("2", "-1/3", "5/7", "3", "-1/2")]
P = Isotropic(1 + x**2, delta * x, x)
Q = Isotropic(delta - x, 3 + x, x)


def values(d):
    return {BETA: NUMBERS[:d], delta: Rational(2, 5)}


def matrix(operator, d):
    return Matrix(operator.evaluate(values(d)))


def explicit(f, h, d):
    beta = Matrix(NUMBERS[:d])
    norm2_beta = beta.dot(beta)
    point = {x: norm2_beta, delta: Rational(2, 5)}
    return f.subs(point) * sympy.eye(d) + h.subs(point) * beta * beta.T / norm2_beta


@pytest.mark.parametrize("d", DIMENSIONS)
def test_algebra_is_that_of_matrices(d):
    p, q = explicit(P.f, P.h, d), explicit(Q.f, Q.h, d)
    assert matrix(P, d) == p
    assert matrix(P + Q, d) == p + q and matrix(P - 2 * Q, d) == p - 2 * q and matrix(P / 3, d) == p / 3
    assert matrix(P @ Q, d) == p * q == matrix(Q @ P, d)
    assert matrix(P.inverse(), d) == p.inv()
    assert matrix(P.T, d) == p.T
    assert matrix(P.apply(lambda s: s**3), d) == p**3


@pytest.mark.parametrize("d", DIMENSIONS)
def test_determinant_trace_and_eigenvalues(d):
    p = explicit(P.f, P.h, d)
    point = {x: sum(n**2 for n in NUMBERS[:d]), delta: Rational(2, 5)}
    assert P.det(d).subs(point) == p.det() and P.trace(d).subs(point) == p.trace()
    (transverse, many), (radial, once) = P.eigenvalues(d)
    found = {transverse.subs(point): many, radial.subs(point): once}
    assert p.eigenvals() == {value: count for value, count in found.items() if count}
    assert p * Matrix(NUMBERS[:d]) == radial.subs(point) * Matrix(NUMBERS[:d])


def test_inverse_and_projector_are_exact_for_every_dimension():
    product = (P @ P.inverse()).map(lambda c: sympy.cancel(c))
    assert product == isotropic_identity(x)
    assert projector(x) @ projector(x) == projector(x)
    with pytest.raises(ZeroDivisionError):
        projector(x).inverse()


def test_unnormalised_is_the_printed_convention():
    assert Isotropic.unnormalised(1, delta, x).h == x * delta


@pytest.mark.parametrize("d", DIMENSIONS)
def test_gradient_and_hessian_of_radial_functions_in_coordinates(d):
    coordinates = sympy.symbols(f"b:{d}", real=True)
    there = dict(zip(coordinates, NUMBERS, strict=False)) | {delta: Rational(2, 5)}
    for q in (x**3 - delta * x, sqrt(delta**2 + 4 * x), x * sympy.exp(x / 9)):
        radial = q.subs(x, sum(b**2 for b in coordinates))
        slopes = Matrix([radial]).jacobian(coordinates)
        point = there | {x: sum(n**2 for n in NUMBERS[:d])}
        assert gradient(q, x).subs(point) * Matrix(NUMBERS[:d]) == slopes.T.subs(there)
        difference = matrix(hessian(q, x), d) - slopes.jacobian(coordinates).subs(there)
        assert difference.applyfunc(sympy.radsimp).expand().is_zero_matrix


def curl(operator):
    """All ∂_k H_ij − ∂_j H_ik in three coordinates, at a rational point."""
    b = sympy.symbols("b:3", real=True)
    entries = operator.evaluate({operator.vector: b, delta: Rational(2, 5)})
    there = dict(zip(b, NUMBERS, strict=False))
    triples = itertools.product(range(3), repeat=3)
    return [(entries[i][j].diff(b[k]) - entries[i][k].diff(b[j])).subs(there) for i, j, k in triples]


@pytest.mark.parametrize(
    "operator",
    [
        hessian(x**3 - delta * x**2, x),
        Isotropic(x, 2 * x, x),
        Isotropic(x, -2 * x, x),
        Isotropic(x, x, x),
        Isotropic(1 + x**2, 4 * x**2, x),
        Isotropic(delta, x, x),
        Isotropic.unnormalised(1 / (1 + x), -2 / (1 + x) ** 2, x),
    ],
)
def test_hessian_condition_is_the_curl_in_coordinates(operator):
    condition = sympy.cancel(hessian_condition(operator))
    assert all(c == 0 for c in curl(operator)) == (condition == 0)
    at_point = condition.subs({x: sum(n**2 for n in NUMBERS[:3]), delta: Rational(2, 5)})
    # the entry i = j = 0, k = 1 of the curl is the condition times the coordinate 1
    assert curl(operator)[1] == at_point * NUMBERS[1]


@pytest.mark.parametrize("d", (2, 3))
def test_time_derivative_in_coordinates(d):
    velocity = Matrix([Rational(1, 3), -2, Rational(3, 4)][:d])
    start = Matrix(NUMBERS[:d])
    beta = start + t * velocity
    moving = Matrix(P.evaluate({BETA: list(beta), delta: Rational(2, 5)})).diff(t).subs(t, 0)
    operator, turning = P.time_derivative(xdot)
    point = {x: start.dot(start), delta: Rational(2, 5), xdot: 2 * start.dot(velocity)}
    unit = (beta * beta.T / beta.dot(beta)).diff(t).subs(t, 0)
    first = Matrix(operator.evaluate({BETA: list(start), delta: point[delta], xdot: point[xdot]}))
    assert (moving - first - turning.subs(point) * unit).expand().is_zero_matrix


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="does not combine"):
        P + Isotropic(1, 1, x, Vector("v"))
    with pytest.raises(ValueError, match="depends on the direction"):
        projector(x).evaluate({BETA: [0, 0]})
    assert Isotropic(1 + x, x, x).evaluate({BETA: [0, 0]}) == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="no value given for delta"):
        P.evaluate({BETA: [1]})
    with pytest.raises(TypeError, match="exact scalar"):
        Isotropic(0.5, 1, x)
    with pytest.raises(TypeError, match="must be a symbol"):
        Isotropic(1, 1, x**2)
    with pytest.raises(ValueError, match="dimension"):
        P.det(0)


def test_latex():
    assert Isotropic(x, -1, x).latex() == r"\|\beta\|^2 I - \frac{\beta \beta^\top}{\|\beta\|^2}"
    assert Isotropic(0, delta + x, x).latex() == (
        r"\left(\|\beta\|^2 + \delta\right) \frac{\beta \beta^\top}{\|\beta\|^2}"
    )
