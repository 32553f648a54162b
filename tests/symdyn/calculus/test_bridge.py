"""Every bridge between the calculi, on numeric arrays and both ways."""

from __future__ import annotations

import pytest
import sympy
from sympy import Matrix, Rational, sqrt

from symdyn.calculus import gram
from symdyn.calculus.bridge import (
    apply_isotropic,
    flow_to_words,
    gram_to_isotropic,
    gram_to_word,
    isotropic_to_gram,
    isotropic_to_word,
    vector_to_word,
    word_to_gram,
    word_to_isotropic,
)
from symdyn.calculus.gram import Combination, Dot, Flow, GramOperator, Vector, inner, norm2, outer
from symdyn.calculus.isotropic import BETA, Isotropic
from symdyn.calculus.isotropic import hessian as radial_hessian
from symdyn.calculus.matrix import derivative, eye, matrix, trace, vector
from symdyn.calculus.matrix import evaluate as evaluate_word

a, b, x, delta = sympy.symbols("a b x delta", real=True)
n, m = sympy.symbols("n m", integer=True, positive=True)
u, v, w, r = (Vector(name) for name in "uvwr")
NUMBERS = [Rational(number) for number in ("2", "-1/3", "5/7", "3", "-1/2", "1/5", "-4")]
DIMENSIONS = (1, 2, 3, 5)
P = Isotropic(1 + x**2, delta * x, x)
COLUMNS = {y: vector_to_word(y, n) for y in (u, v, w)}

SCALAR = a * inner(u, v) ** 2 + norm2(w) / (1 + norm2(u)) + b
COMBINATION = inner(u, w) * v - (a + b) * w + u
OPERATOR = norm2(w) * gram.identity() + a * outer(u, v) - inner(u, v) * outer(w, w)


def vectors(d):
    return {y: [NUMBERS[(i * step) % 7] for i in range(d)] for y, step in ((u, 2), (v, 3), (w, 5))}


SYMBOLS = {a: Rational(3, 2), b: Rational(-2, 3)}


def as_letters(values):
    return {vector_to_word(y, n): row for y, row in values.items()}


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("y", [SCALAR, COMBINATION, OPERATOR], ids=["scalar", "combination", "operator"])
def test_gram_objects_have_the_values_of_their_words(y, d):
    values = vectors(d)
    words = evaluate_word(gram_to_word(y, n), as_letters(values) | SYMBOLS, {n: d})
    expected = gram.evaluate(y, values | SYMBOLS)
    assert words == (Matrix(expected) if isinstance(expected, list) else expected)


def test_gram_objects_come_back_from_words():
    assert sympy.expand(word_to_gram(gram_to_word(SCALAR, n), COLUMNS) - SCALAR) == 0
    assert (word_to_gram(gram_to_word(COMBINATION, n), COLUMNS) - COMBINATION).map(
        sympy.expand
    ) == Combination()
    assert (word_to_gram(gram_to_word(OPERATOR, n), COLUMNS) - OPERATOR).map(sympy.expand) == GramOperator()


@pytest.mark.parametrize("d", (2, 4))
def test_products_may_be_named_as_gram_vectors(d):
    """With r for Xᵀρ, wᵀXᵀρ is the inner product of w and r."""
    X, rho, W = matrix("X", m, n), vector("rho", m), vector_to_word(w, n)
    columns = {w: W, r: X.T @ rho}
    scalar, column, square = (W.T @ X.T @ rho).scalar(), a * (X.T @ rho) - W, W @ rho.T @ X
    values = {
        X: [[NUMBERS[(i + 2 * j) % 7] for j in range(d)] for i in range(3)],
        rho: NUMBERS[:3],
        W: NUMBERS[:d],
    }
    gram_values = {w: NUMBERS[:d], r: list(evaluate_word(X.T @ rho, values))} | SYMBOLS
    assert word_to_gram(scalar, columns) == Dot(r, w) and word_to_gram(square, columns) == outer(w, r)
    assert gram.evaluate(word_to_gram(scalar, columns), gram_values) == evaluate_word(scalar, values)
    found = Matrix(gram.evaluate(word_to_gram(column, columns), gram_values))
    assert found == evaluate_word(column, values | SYMBOLS)
    assert word_to_gram(eye(n), columns) == gram.identity()


def test_words_that_are_not_gram_objects_are_refused():
    A = matrix("A", n, n)
    U, V = COLUMNS[u], COLUMNS[v]
    for y in ((U.T @ A @ V).scalar(), A @ U, A @ U @ V.T, trace(A), A):
        with pytest.raises(ValueError, match=r"column|inner product"):
            word_to_gram(y, COLUMNS)
    with pytest.raises(ValueError, match="single product"):
        word_to_gram(U, {u: U + V})


def test_the_derivative_along_a_flow_is_the_same_in_words():
    flow = Flow({a: -inner(w, u), w: -a * u + norm2(w) * v})
    for y in (SCALAR, COMBINATION, OPERATOR):
        difference = gram_to_word(flow.derivative(y), n) - derivative(
            gram_to_word(y, n), flow_to_words(flow, n)
        )
        vanishes = difference.map(sympy.cancel).is_zero if y is not SCALAR else sympy.cancel(difference) == 0
        assert vanishes


@pytest.mark.parametrize("d", DIMENSIONS)
def test_isotropic_operators_are_gram_operators_and_words(d):
    beta, other = NUMBERS[:d], NUMBERS[::-1][:d]
    point = {BETA: beta, u: other, delta: Rational(2, 5)}
    explicit = Matrix(P.evaluate({BETA: beta, delta: Rational(2, 5)}))
    assert Matrix(gram.evaluate(isotropic_to_gram(P), point)) == explicit
    assert Matrix(gram.evaluate(apply_isotropic(P, u), point)) == explicit * Matrix(other)
    words = isotropic_to_word(P, n)
    assert evaluate_word(words, {vector_to_word(BETA, n): beta, delta: Rational(2, 5)}) == explicit
    assert gram_to_isotropic(isotropic_to_gram(P), x, BETA).map(sympy.cancel) == P
    assert word_to_isotropic(words, x, {BETA: vector_to_word(BETA, n)}).map(sympy.cancel) == P


def test_products_of_isotropic_operators_are_products_of_words():
    q = Isotropic(delta - x, 3 + x, x)
    difference = isotropic_to_word(P @ q, n) - isotropic_to_word(P, n) @ isotropic_to_word(q, n)
    assert difference.map(sympy.cancel).is_zero


def test_gram_and_isotropic_hessians_agree():
    q = x**3 - sqrt(1 + x)
    coordinates_free = gram.hessian(q.subs(x, norm2(BETA)), BETA)
    assert (isotropic_to_gram(radial_hessian(q, x)) - coordinates_free).map(sympy.cancel) == GramOperator()


def test_operators_that_are_not_isotropic_are_refused():
    with pytest.raises(ValueError, match="not isotropic"):
        gram_to_isotropic(outer(BETA, u), x, BETA)
    with pytest.raises(ValueError, match="not only on the norm"):
        gram_to_isotropic(inner(BETA, u) * gram.identity(), x, BETA)
    with pytest.raises(ValueError, match="one vector"):
        word_to_isotropic(eye(n), x, COLUMNS)
    assert gram_to_isotropic(norm2(u) * gram.identity(), x, BETA).f == Dot(u, u)
