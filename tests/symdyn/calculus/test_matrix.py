"""The matrix calculus: laws of words of symbolic shape, against explicit matrices at several shapes."""

from __future__ import annotations

import copy
import pickle
import random

import pytest
import sympy
from sympy import Matrix, Rational
from sympy.matrices import kronecker_product

from symdyn.calculus.matrix import (
    Index,
    Rules,
    basis,
    derivative,
    diagonal,
    entry,
    evaluate,
    eye,
    kron,
    kron_sum,
    letters_of,
    matrix,
    random_matrix,
    substitute,
    sum_over,
    symbols_of,
    trace,
    vec,
    vector,
    zero,
)

n, m, p, q = sympy.symbols("n m p q", integer=True, positive=True)
a, b, t = sympy.symbols("a b t", real=True)
A, X, B = matrix("A", n, m), matrix("X", m, p), matrix("B", p, q)
S, R = matrix("S", n, n), matrix("R", n, n)
Y = matrix("Y", n, n, symmetric=True)
u, v, w = vector("u", n), vector("v", n), vector("w", m)
k, j, i = Index("k", n), Index("j", n), Index("i", n)
SHAPES = ({n: 2, m: 3, p: 2, q: 1}, {n: 3, m: 1, p: 2, q: 3}, {n: 1, m: 2, p: 3, q: 2})
FREE = Rules()


def draw(sizes, seed=0):
    generator = random.Random(seed)
    values = {x: random_matrix(generator, x.letter, sizes) for x in (A, X, B, S, R, Y, u, v, w)}
    return values | {a: Rational(2, 3), b: Rational(-3, 2)}


def stack(matrix_):
    """The columns stacked, by hand."""
    return Matrix([matrix_[row, column] for column in range(matrix_.cols) for row in range(matrix_.rows)])


@pytest.mark.parametrize("sizes", SHAPES)
def test_operations_are_those_of_matrices(sizes):
    values = draw(sizes)
    EA, EX, EB, ES, ER, EY, eu, ev = (values[x] for x in (A, X, B, S, R, Y, u, v))
    d = sizes[n]
    expected = {
        A @ X @ B: EA * EX * EB,
        a * S - R / 3 + S @ R: values[a] * ES - ER / 3 + ES * ER,
        (A @ X).T: EX.T * EA.T,
        S.inverse() @ R.inverse().T: ES.inv() * ER.inv().T,
        S**3 - S**-1: ES**3 - ES.inv(),
        kron(A, X): kronecker_product(EA, EX),
        kron_sum(S, R): kronecker_product(ES, sympy.eye(d)) + kronecker_product(sympy.eye(d), ER),
        vec(A @ X): stack(EA * EX),
        vec(S).T @ kron(S, R): stack(ES).T * kronecker_product(ES, ER),
        diagonal(S @ R): sympy.diag(*(ES * ER).diagonal()),
        u @ v.T @ S @ u: eu * ev.T * ES * eu,
        n * eye(n) + Y: d * sympy.eye(d) + EY,
        zero(n, m): sympy.zeros(d, sizes[m]),
    }
    for expression, value in expected.items():
        assert evaluate(expression, values, sizes) == value
    assert evaluate(trace(S @ R.T), values, sizes) == (ES * ER.T).trace()
    assert evaluate(trace(kron(S, R) @ kron(R, Y)), values, sizes) == (ES * ER).trace() * (ER * EY).trace()
    assert evaluate(entry(S @ Y, k, j), values, sizes, {k: 0, j: d - 1}) == (ES * EY)[0, d - 1]


def test_algebra_of_words():
    assert (A @ X) @ B == A @ (X @ B)
    assert S @ (R + 2 * Y) == S @ R + 2 * S @ Y and (S + R) @ Y == S @ Y + R @ Y
    assert eye(n) @ A == A == A @ eye(m)
    assert S @ R != R @ S
    assert (S - S).is_zero and zero(n, n) == (S - S)
    assert (a + b) * S == a * S + b * S


def test_transpose_reverses_products():
    assert (A @ X @ B).T == B.T @ X.T @ A.T and A.T.T == A
    assert (S @ R).T != S.T @ R.T
    assert Y.T == Y and (Y @ S).T == S.T @ Y


def test_inverse():
    assert S.inverse() @ S == eye(n) == S @ S.inverse()
    assert (2 * S @ R).inverse() == R.inverse() @ S.inverse() / 2
    assert S.T.inverse() == S.inverse().T
    assert kron(S, R).inverse() @ kron(S, R) == eye(n * n)
    with pytest.raises(ValueError, match="not square"):
        A.inverse()
    with pytest.raises(ValueError, match="single product"):
        (S + R).inverse()


def test_one_by_one_words_are_commuting_scalars():
    scalar = (u.T @ S @ v).scalar()
    assert scalar == (v.T @ S.T @ u).scalar() and scalar != (v.T @ S @ u).scalar()
    assert u @ (v.T @ S @ u) @ w.T == (v.T @ S @ u).scalar() * (u @ w.T)
    assert scalar.is_real and scalar.is_commutative and scalar * a - a * scalar == 0
    assert (u.T @ v) * S == (v.T @ u) * S
    with pytest.raises(ValueError, match="not a scalar"):
        S.scalar()


def test_trace_is_cyclic_and_blind_to_transposition():
    assert trace(A @ X @ (A @ X).T) == trace(X @ X.T @ A.T @ A)
    assert trace(S @ R @ Y) == trace(Y @ S @ R) == trace(R.T @ S.T @ Y)
    assert trace(S @ R @ Y) != trace(R @ S @ Y)
    assert trace(u @ v.T @ S) == (v.T @ S @ u).scalar()
    assert trace(eye(n)) == n and trace(S @ R @ S.inverse()) == trace(R)
    assert trace(kron(S, R)) == trace(S) * trace(R)
    with pytest.raises(ValueError, match="not square"):
        trace(A)


def test_vec_and_kronecker_product():
    assert vec(A @ X @ B) == kron(B.T, A) @ vec(X)
    assert kron(A, X) @ kron(X, B) == kron(A @ X, X @ B)
    assert kron(A.T, X.T) == kron(A, X).T
    assert (vec(S).T @ vec(R)).scalar() == trace(S.T @ R)
    assert vec(u @ w.T) == kron(w, u) and vec(u) == u and vec(u.T) == u
    assert kron(eye(n), eye(m)) == eye(n * m)
    assert vec(S @ R + R @ Y) == kron(eye(n), S) @ vec(R) + kron(Y, eye(n)) @ vec(R)
    assert kron_sum(S, R) @ vec(Y) == vec(R @ Y + Y @ S.T)
    assert kron(u, S) @ v == kron(u, S @ v) and u.T @ kron(eye(1), S) == u.T @ S


def test_wrong_laws_leave_a_difference_and_a_witness():
    wrong = {
        "row stacking": vec(A @ X @ B) - kron(A, B.T) @ vec(X),
        "kron commutes": kron(S, R) - kron(R, S),
        "transpose keeps order": (S @ R).T - S.T @ R.T,
        "products commute": S @ R - R @ S,
        "trace is multiplicative": trace(S @ R) - trace(S) * trace(R),
        "diagonal is multiplicative": diagonal(S @ R) - diagonal(S) @ diagonal(R),
        "inverse keeps order": (S @ R).inverse() - S.inverse() @ R.inverse(),
    }
    for law, difference in wrong.items():
        assert not FREE.proves_zero(difference), law
        assert FREE.witness(difference, {n: 2, m: 3, p: 2, q: 2}) is not None, law


def explicit_sum(function, values, sizes, axes):
    """Σ of function(e_k, …) over coordinate vectors, by a loop."""
    d = sizes[n]
    total = None
    for choice in range(d**axes):
        columns = [sympy.eye(d)[:, (choice // d**axis) % d] for axis in range(axes)]
        term = function(values, *columns)
        total = term if total is None else total + term
    return total


@pytest.mark.parametrize("sizes", SHAPES)
def test_neuron_sums_are_loops(sizes):
    values = draw(sizes)
    e, f = basis(k), basis(j)
    cases = [
        (sum_over(k, e @ e.T), 1, lambda x, c: c * c.T),
        (sum_over(k, entry(S, k, k) * (R @ e @ e.T)), 1, lambda x, c: (c.T * x[S] * c)[0] * x[R] * c * c.T),
        (sum_over(k, (e.T @ u).scalar() ** 3 * (e @ w.T)), 1, lambda x, c: (c.T * x[u])[0] ** 3 * c * x[w].T),
        (sum_over(k, e), 1, lambda x, c: c),
        (sum_over(k, a * eye(n)), 1, lambda x, c: x[a] * sympy.eye(c.rows)),
        (
            sum_over(k, sum_over(j, entry(S, k, j) ** 2 * entry(R, j, k) * (e @ f.T))),
            2,
            lambda x, c, d: (c.T * x[S] * d)[0] ** 2 * (d.T * x[R] * c)[0] * c * d.T,
        ),
        (
            sum_over(k, sum_over(j, (e.T @ f).scalar() * entry(S, k, j) ** 2 * (f @ e.T))),
            2,
            lambda x, c, d: (c.T * d)[0] * (c.T * x[S] * d)[0] ** 2 * d * c.T,
        ),
        (
            sum_over(k, sum_over(j, entry(S, k, k) ** 2 * entry(R, j, j) ** 2 * (e @ u.T))),
            2,
            lambda x, c, d: (c.T * x[S] * c)[0] ** 2 * (d.T * x[R] * d)[0] ** 2 * c * x[u].T,
        ),
        (sum_over(k, kron(e, S) @ kron(e.T, R)), 1, lambda x, c: kronecker_product(c * c.T, x[S] * x[R])),
    ]
    for expression, axes, function in cases:
        assert evaluate(expression, values, sizes) == explicit_sum(function, values, sizes, axes)


def test_sums_contract_where_an_index_occurs_twice():
    e, f = basis(k), basis(j)
    assert sum_over(k, e @ e.T) == eye(n)
    assert sum_over(k, kron(S @ e @ e.T, R)) == kron(S, R)
    assert sum_over(k, vec(S @ e @ e.T @ R)) == vec(S @ R)
    assert sum_over(k, (e.T @ u).scalar() * e) == u
    assert sum_over(k, (S @ e) @ (e.T @ R)) == S @ R
    assert sum_over(k, entry(S, k, k)) == trace(S)
    assert sum_over(k, (e.T @ u).scalar() ** 2) == (u.T @ u).scalar()
    assert sum_over(k, sum_over(j, entry(S, k, j) * entry(R, j, k))) == trace(S @ R)
    assert sum_over(k, (e.T @ f).scalar() * entry(S, k, k) ** 5) == entry(S, j, j) ** 5
    assert sum_over(k, a) == a * n
    assert sum_over(k, (e.T @ u).scalar() * (e.T @ v).scalar() * e) != u


def test_names_and_order_of_summed_indices_do_not_matter():
    def double(first, second):
        summand = entry(S, first, second) ** 2 * entry(R, first, first) * (basis(first) @ basis(second).T)
        return sum_over(first, sum_over(second, summand))

    assert double(k, j) == double(j, k) == double(i, k)
    assert double(k, j) != double(k, j).T
    square = sum_over(k, entry(S, k, k) ** 2)
    assert square == sum_over(j, entry(S, j, j) ** 2)
    nested = sum_over(k, entry(S, k, k) ** 2 * square)
    assert nested == square**2


def test_diagonals_multiply():
    assert diagonal(diagonal(S)) == diagonal(S)
    assert diagonal(S) @ diagonal(R) == diagonal(R) @ diagonal(S)
    assert diagonal(S) == diagonal(S).T and trace(diagonal(S)) == trace(S)
    assert diagonal(eye(n)) == eye(n)


def random_program(seed, sizes, steps=14):
    """Random operations done on words and on explicit matrices side by side."""
    generator = random.Random(seed)
    values = draw(sizes, seed)
    pool = [(x, values[x]) for x in (A, X, B, S, R, Y, u, v, w)]
    for _ in range(steps):
        (x, ex), (y, ey) = generator.choice(pool), generator.choice(pool)
        operation = generator.choice(
            ["multiply", "multiply", "transpose", "kron", "vec", "add", "trace", "scale"]
        )
        if operation == "multiply" and x.cols == y.rows:
            pool.append((x @ y, ex * ey))
        elif operation == "transpose":
            pool.append((x.T, ex.T))
        elif operation == "kron" and ex.rows * ex.cols * ey.rows * ey.cols <= 60:
            pool.append((kron(x, y), kronecker_product(ex, ey)))
        elif operation == "vec" and ex.rows * ex.cols <= 40:
            pool.append((vec(x), stack(ex)))
        elif operation == "add" and x.shape == y.shape:
            pool.append((x - 2 * y, ex - 2 * ey))
        elif operation == "trace" and x.rows == x.cols:
            pool.append((trace(x) * y, ex.trace() * ey))
        elif operation == "scale" and x.shape == (1, 1):
            pool.append((x * y, ex[0] * ey))
    return values, pool[9:]


@pytest.mark.parametrize("seed", range(24))
def test_normal_forms_keep_the_value_of_random_expressions(seed):
    sizes = SHAPES[seed % 3]
    values, pool = random_program(seed, sizes)
    for expression, explicit in pool[-6:]:
        assert evaluate(expression, values, sizes) == explicit


@pytest.mark.parametrize("sizes", SHAPES)
def test_derivatives_agree_with_dual_numbers(sizes):
    """d/dt at X + t Ẋ, entry by entry, for polynomials and inverses."""
    values = draw(sizes)
    velocities = {S: S @ R - Y, u: R @ u - v, A: u @ w.T, a: (u.T @ v).scalar(), Y: S + S.T}
    speeds = {x: evaluate(y, values, sizes) for x, y in velocities.items()}
    moved = values | {x: values[x] + t * speeds[x] for x in velocities}
    e = basis(k)
    cases = [
        S @ A @ A.T @ S.T @ Y,
        a**2 * S.inverse() @ u,
        S.inverse().T @ Y,
        kron(S, u) - a * kron(R, u),
        vec(S @ Y @ R),
        diagonal(S @ S) @ u,
        sum_over(k, entry(S, k, k) ** 3 * (e @ u.T)),
        (u.T @ S @ v) * eye(n),
        trace(S @ Y) * A,
        sum_over(k, entry(S, k, k) ** 2) * A,
    ]
    for x in cases:
        slope = evaluate(x, moved, sizes).diff(t).subs(t, 0)
        assert (evaluate(derivative(x, velocities), values, sizes) - slope).expand().is_zero_matrix
    scalar = trace(S @ S.T) * a + (u.T @ Y @ u).scalar() ** 2
    slope = sympy.diff(evaluate(scalar, moved, sizes), t).subs(t, 0)
    assert evaluate(derivative(scalar, velocities), values, sizes) == sympy.expand(slope)


def test_product_rule_and_constants():
    velocities = {S: R, A: S @ A}
    d = derivative(S @ A, velocities)
    assert d == R @ A + S @ S @ A and derivative(R @ A @ X, {S: R}).is_zero
    assert derivative(S.inverse(), {S: R}) == -S.inverse() @ R @ S.inverse()
    assert derivative(trace(S @ S), {S: R}) == 2 * trace(S @ R)


@pytest.mark.parametrize("sizes", SHAPES)
def test_substitution_commutes_with_evaluation(sizes):
    values = draw(sizes)
    mapping = {S: R @ R - a * Y, u: S @ v, a: b + (u.T @ v).scalar(), A: u @ w.T}
    images = {x: (evaluate(y, values, sizes)) for x, y in mapping.items()}
    cases = (S @ A + a * u @ w.T, kron(S, u), vec(S @ S.T) * a, diagonal(S) @ u, trace(S @ Y) * eye(n))
    for x in cases:
        assert evaluate(substitute(x, mapping), values, sizes) == evaluate(x, values | images, sizes)
    assert substitute(S.inverse(), {S: 2 * R}) == R.inverse() / 2
    assert substitute(S @ R, {S: R, R: S}) == R @ S


def test_letters_and_symbols_are_found():
    x = a * diagonal(S) @ u + trace(R) * v
    assert letters_of(x) == {y.letter for y in (S, u, R, v)} and symbols_of(x) == {a}


def test_shape_errors_say_which_sizes_differ():
    with pytest.raises(ValueError, match="inner sizes m and p differ"):
        A @ B
    with pytest.raises(ValueError, match="cannot add a n × n expression to a n × m"):
        A + S
    with pytest.raises(ValueError, match="A is n × m, but what replaces it is n × n"):
        derivative(A, {A: S})
    with pytest.raises(ValueError, match="cannot be symmetric"):
        matrix("Z", n, m, symmetric=True)
    with pytest.raises(ValueError, match="positive integer"):
        matrix("Z", 0, n)
    with pytest.raises(ValueError, match="cannot name a matrix"):
        matrix("X Y", n, m)
    with pytest.raises(TypeError):
        S * 0.5
    with pytest.raises(TypeError):
        S @ 2


def test_evaluation_errors_say_what_is_missing():
    with pytest.raises(ValueError, match="no value given for S"):
        evaluate(S @ u, {u: [1, 2]})
    with pytest.raises(ValueError, match=r"u is n × 1, but its array has shape \(3, 1\)"):
        evaluate(S @ u, {S: [[1, 2], [3, 4]], u: [1, 2, 3]})
    with pytest.raises(ValueError, match="no value given for a"):
        evaluate(a * u, {u: [1]})
    with pytest.raises(ValueError, match="size n is not known"):
        evaluate(eye(n), {})
    with pytest.raises(ValueError, match="index k"):
        evaluate(basis(k), {}, {n: 2})


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_expressions_survive_copies(clone):
    x = a * diagonal(S) @ u + trace(R) * (u.T @ v) * v
    assert clone(x) == x
    square = sum_over(k, entry(S, k, k) ** 2)
    assert clone(square) == square and hash(clone(x)) == hash(x)


def test_latex():
    assert (A @ X).latex() == "A X"
    assert (-A.T).latex() == r"- A^\top" and S.inverse().latex() == "S^{-1}"
    assert S.inverse().T.latex() == r"S^{-\top}" and (S @ S @ R).latex() == "S^{2} R"
    assert ((a + b) * S - R / 2).latex() == r"\left(a + b\right) S - \frac{1}{2} R"
    assert kron(S, R).latex() == r"\left(S \otimes R\right)"
    assert vec(S).T.latex() == r"\operatorname{vec}\left(S\right)^\top"
    assert sympy.latex(trace(S @ R)) == r"\operatorname{tr}\left(R S\right)"
    assert ((u.T @ S @ u) * u).latex() == r"\left(u^\top S u\right) u"
    assert diagonal(S).latex() == (r"\sum_{k=1}^{n} \left(e_{k}^\top S e_{k}\right) e_{k} e_{k}^\top")
    assert (S - diagonal(S)).latex().startswith(r"S - \sum_{k=1}^{n} ")
    assert sympy.latex(sum_over(j, entry(S, k, j) ** 4)) == (
        r"\sum_{j=1}^{n} \left(e_{k}^\top S e_{j}\right)^{4}"
    )
    assert eye(n).latex() == "I" and zero(n, m).latex() == "0"
    assert matrix("W_1", n, m, r"W_1^*").T.latex() == r"(W_1^*)^\top"


def test_letters_of_one_name_and_different_shapes_spell_different_scalars():
    tall, wide = matrix("T", n, 1), matrix("T", m, 1)
    pair = (tall.T @ tall).scalar(), (wide.T @ wide).scalar()
    assert pair[0] != pair[1]
    assert {letter.rows for scalar in pair for letter in letters_of(scalar * a)} == {n, m}
    assert trace(matrix("T", n, m) @ matrix("T", n, m).T) != trace(matrix("T", m, n) @ matrix("T", m, n).T)
