"""The graph behind a compiled function: sharing, norms, guards, and eigenvalues that keep their digits."""

import random

import numpy as np
import pytest
import sympy
import torch

from symdyn.calculus.gram import Combination, Dot, Vector, evaluate, norm
from symdyn.calculus.isotropic import Isotropic
from symdyn.compile import Argument, NamedQuantity, UnsupportedHead, build, unfold
from symdyn.compile.named import cosine_distance, root_sum
from symdyn.compile.outputs import radial_eigenvalue

x, y, r = sympy.symbols("x y r", real=True)
v = Vector("v")
X, Y, V = Argument("x", x), Argument("y", y), Argument("v", v)


def gradient(function, *inputs):
    leaves = [torch.tensor(i, dtype=torch.float64, requires_grad=True) for i in inputs]
    return [g.tolist() for g in torch.autograd.grad(function(*leaves).sum(), leaves)]


def test_each_subexpression_is_computed_once_over_all_outputs():
    shared = sympy.tanh(x + y)
    text = build((shared**2 + sympy.sin(shared), 1 / shared, shared * v), (X, Y, V), name="t").source("numpy")
    assert text.count("xp.tanh") == 1 and text.count("given_x + given_y") == 1


def test_numbers_are_single_literals():
    text = build(sympy.sqrt(2) * sympy.exp(2) * x / 3, (X,), name="t").source("torch")
    assert repr(float(sympy.N(sympy.sqrt(2) * sympy.exp(2) / 3, 30))) in text
    assert "sqrt" not in text and "exp" not in text


def test_products_of_squares_do_not_overflow():
    assert build(x**2 / y**2, (X, Y), name="t")(1e200, 2e200) == 0.25
    assert build(1 / (1 + x**2 / y**2), (X, Y), name="t")(1e-200, 1e-200) == 0.5


def test_a_norm_neither_overflows_nor_vanishes():
    function = build(norm(3 * v), (V,), name="t")
    for size in (1e-200, 1.0, 1e200):
        assert function(np.array([3.0, 4.0]) * size) == pytest.approx(15 * size, rel=1e-15, abs=0)
        assert function(torch.tensor([3.0, 4.0]).double() * size).item() == pytest.approx(
            15 * size, rel=1e-15, abs=0
        )


def test_the_norm_has_gradient_zero_at_zero_and_its_square_a_true_hessian():
    assert gradient(build(norm(v), (V,), name="t"), [0.0, 0.0]) == [[0.0, 0.0]]
    square = build(norm(v) ** 2 * sympy.exp(norm(v) ** 2), (V,), name="t")
    hessian = torch.func.jacrev(torch.func.jacrev(square))(torch.zeros(2, dtype=torch.float64))
    assert hessian.tolist() == [[2.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("make", [np.array, lambda rows: torch.tensor(rows, dtype=torch.float64)])
@pytest.mark.parametrize("size", [1e-200, 1.0])
def test_squares_that_underflow_are_no_operands(make, size):
    short = make([[3.0 * size, 4.0 * size], [0.3, 0.4]])
    root = build(root_sum(x, 9 * Dot(v, v)), (X, V), name="t")
    assert root(0.0, short).tolist() == pytest.approx([15 * size, 1.5], rel=1e-15, abs=0)
    assert root(size, short)[0] == pytest.approx(size * np.sqrt(226), rel=1e-15, abs=0)
    quotient = build(Dot(v, v) / (x + norm(v)), (X, V), name="t")
    assert quotient(size, short)[0] == pytest.approx(size * 25 / 6, rel=1e-15, abs=0)
    power = build(Dot(v, v) ** (x / 3), (X, V), name="t")
    assert power(1.0, short)[0] == pytest.approx((5 * size) ** (2 / 3), rel=1e-14, abs=0)


def test_a_cosine_keeps_its_digits_however_short_the_vectors_are_and_is_undefined_at_zero():
    w = Vector("w")
    cosine = build(Dot(v, w) / (norm(v) * norm(w)), (V, Argument("w", w)), name="t")
    one, other = np.array([3.0, 4.0]), np.array([5.0, 12.0])
    for size in (1.0, 1e-160, 1e-200):
        for place in (one, torch.tensor(one)):
            assert float(cosine(size * place, size * other)) == pytest.approx(63 / 65, rel=1e-15, abs=0)
    assert np.isnan(cosine(0 * one, other, check=False))
    inverse = build(x * Dot(v, w) / Dot(v, v), (X, V, Argument("w", w)), name="t")
    assert inverse(2.0, 1e-200 * one, 1e-200 * other) == pytest.approx(2 * 63 / 25, rel=1e-15, abs=0)


def test_a_root_of_a_sum_of_squares_has_a_true_hessian_at_zero():
    root = build(root_sum(x, 3 * Dot(v, v)), (X, V), name="t")
    at = torch.tensor(2.0).double(), torch.zeros(2, dtype=torch.float64)
    hessian = torch.func.jacrev(torch.func.jacrev(root, argnums=1), argnums=1)(*at)
    assert hessian.tolist() == [[1.5, 0.0], [0.0, 1.5]]


@pytest.mark.parametrize("power", [1, 3, -1, -3])
def test_roots_of_products_with_a_norm(power):
    function = build(sympy.sqrt(x * Dot(v, v) ** power), (X, V), name="t")
    assert function(4.0, np.array([3.0, 4.0])) == pytest.approx(2 * 5.0**power, rel=1e-15, abs=0)


def test_the_branch_not_taken_spoils_neither_value_nor_gradient():
    dangerous = [
        1 / x,
        sympy.log(x),
        sympy.sqrt(x),
        sympy.exp(1 / x),
        x ** sympy.Rational(-1, 3),
        sympy.log(-1 + x / x),
    ]
    for formula in (*dangerous[:5], sympy.acosh(1 + x), sympy.atanh(1 - x)):
        function = build(sympy.Piecewise((formula, x > 0), (y * x, True)), (X, Y), name="t")
        assert gradient(function, 0.0, 3.0) == [3.0, 0.0]
        assert gradient(function, -2.0, 3.0) == [3.0, -2.0]
        assert np.isfinite(gradient(function, 0.5, 3.0)).all()


def test_guards_reach_through_overflow():
    function = build(sympy.Piecewise((sympy.exp(x) - 1, x < 10), (sympy.cosh(y) * x, True)), (X, Y), name="t")
    assert gradient(function, 1e4, 0.0) == [1.0, 0.0]
    assert gradient(function, 0.0, 1e4) == [1.0, 0.0]


def test_nested_pieces_and_the_gap_between_pieces():
    inner = sympy.Piecewise((sympy.log(y), y > 0), (0, True))
    function = build(sympy.Piecewise((inner / x, x > 0), (-1, x < 0)), (X, Y), name="t")
    assert function(2.0, 1.0) == 0.0 and function(-2.0, -1.0) == -1.0 and np.isnan(function(0.0, 1.0))
    assert gradient(function, -1.0, -1.0) == [0.0, 0.0]
    assert gradient(function, 2.0, 1.0) == [0.0, 0.5]


def test_a_coefficient_over_the_norm_is_taken_into_the_unit_vector():
    function = build(Combination({v: x / norm(v)}), (X, V), name="t")
    assert function(2.0, np.array([3e-200, 4e-200])) == pytest.approx([1.2, 1.6], rel=1e-15, abs=0)
    assert function(2.0, np.zeros(2)).tolist() == [0.0, 0.0]
    assert gradient(function, 2.0, [0.0, 0.0]) == [0.0, [0.0, 0.0]]


def test_pieces_of_a_coefficient_choose_between_vector_and_unit_vector():
    slope = sympy.Piecewise((y, x > 0), (-1 / norm(v), True))
    function = build(Combination({v: 2 * slope}), (X, Y, V), name="t")
    both = function(np.array([1.0, -1.0]), 3.0, np.array([3.0, 4.0]))
    np.testing.assert_allclose(both, [[18.0, 24.0], [-1.2, -1.6]], rtol=1e-15)
    jacobian = torch.func.jacrev(function, argnums=2)(*map(torch.tensor, (1.0, 3.0)), torch.zeros(2))
    assert jacobian.tolist() == [[6.0, 0.0], [0.0, 6.0]]


def test_the_eigenvalue_along_the_vector_is_reduced_exactly(values, quantities):
    d, rated = values.delta, values.eta_a * values.eta_w * r
    kappa, plus = quantities.kappa(d, rated), quantities.plus(d, rated)
    assert radial_eigenvalue(values.preconditioner) == kappa
    assert radial_eigenvalue(values.inverse_preconditioner) == 1 / kappa
    k, p = quantities.kappa(d, r), quantities.plus(d, r)
    assert radial_eigenvalue(values.hess_potential) == sympy.sqrt(p) / k
    assert radial_eigenvalue(Isotropic(x, x * y, r, v)) == x + x * y
    assert plus.func == p.func


def test_a_small_eigenvalue_is_kept_beside_a_large_one():
    """f = 1 across and 10⁻³⁰ along: the entries along β are as small as they are, not rounding of 1 − 1."""
    tiny = sympy.Rational(1, 10**30)
    function = build(Isotropic(1, tiny - 1, r, v), (V,), name="t")
    assert function(np.array([5.0])) == pytest.approx(np.array([[1e-30]]), rel=1e-15, abs=0)
    matrix = function(np.array([1.0, 1e-16]))
    assert matrix[0, 0] == pytest.approx(1e-30 + 1e-32, rel=1e-14, abs=0) and matrix[1, 1] == 1.0


GUARDS = {
    1 / sympy.sqrt(x): 1,
    1 / (2 * sympy.sqrt(x)): 1,
    sympy.sqrt(sympy.sqrt(x) / 3): 1,
    sympy.sqrt(y**2 + 1) / sympy.sqrt(x): 1,
    1 / (y * sympy.sqrt(x)): 2,
    sympy.sqrt(sympy.sqrt(x) / y): 2,
    sympy.sqrt(y * sympy.sqrt(x)): 2,
    1 / (sympy.sqrt(x) - 5): 2,
    sympy.log(sympy.sqrt(x)): 2,
    sympy.atanh(sympy.sqrt(x)): 2,
    sympy.atanh(sympy.sqrt(x) / 5): 2,
    sympy.acosh(1 / sympy.sqrt(x)): 2,
    1 / (sympy.sqrt(x) * sympy.sqrt(x + 1)): 2,
}
"""A form that is used for x > 0 only, and how many of its operands need a harmless number elsewhere."""


@pytest.mark.parametrize("formula", GUARDS)
def test_an_operand_is_guarded_unless_guards_below_make_it_positive(formula):
    """√1 is positive, and its products, quotients and roots; y√1 and √1 − 5 need not be, and atanh √1 is infinite."""
    function = build(sympy.Piecewise((formula, x > 0), (y, True)), (X, Y), name="t")
    assert function.source("torch").count("xp.where") == 1 + GUARDS[formula]
    assert gradient(function, [0.0, -1.0, -4.0], [2.0, 0.0, -3.0]) == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize(
    "number", [sympy.I, sympy.sqrt(-2), sympy.log(-1), sympy.asin(2), 1 + sympy.I, sympy.zoo]
)
def test_a_constant_that_is_not_real_is_refused(number):
    with pytest.raises(UnsupportedHead):
        build(sympy.Add(x, number, evaluate=False) * y, (X, Y), name="t")


def test_infinities_are_constants():
    for infinity in (sympy.oo, -sympy.oo):
        function = build(sympy.Piecewise((x, x > 0), (infinity, True)), (X,), name="t")
        assert function(-1.0) == function.mpmath(-1) == float(infinity)


def products(count, seed=7):
    """Products of powers, with numbers, vectors and sums in them, of every sign and on both sides of the line."""
    rng, w = random.Random(seed), Vector("w")
    half = sympy.Rational(1, 2)
    powers = (
        -3,
        -2,
        -3 * half,
        -1,
        -half,
        0,
        0,
        half,
        1,
        1,
        2,
        3,
        4,
        sympy.Rational(1, 3),
        sympy.Rational(-2, 3),
    )
    bases = (x, y, x + y, Dot(v, v), Dot(w, w), Dot(v, v) + y**2, 1 + Dot(v, w) ** 2)
    numbers = (1, 1, -1, 2, -3 * half, sympy.sqrt(2), sympy.pi / 3)
    for _ in range(count):
        factors = [base ** rng.choice(powers) for base in rng.sample(bases, rng.randint(1, 4))]
        yield sympy.Mul(rng.choice(numbers), *factors, Dot(v, w) ** rng.choice((0, 0, 1, 1, 2, -1)))


def sums(count):
    """Sums of two of them, with what is made of sums: logarithms, exponentials, roots, powers and choices."""
    terms = list(products(3 * count, seed=8))
    kinds = (
        lambda a, b: a - b,
        lambda a, b: -a - b,
        lambda a, b: sympy.exp(sympy.tanh(a)) - 1 + b,
        lambda a, b: sympy.exp(sympy.tanh(a)) + b,
        lambda a, b: sympy.log(1 + a**2) - 2 * b,
        lambda a, b: sympy.log(3 + a**2) + cosine_distance(1 + a**2, b, 2 + b**2),
        lambda a, b: sympy.sqrt(a**2 + b**2 + 1) + sympy.Abs(a),
        lambda a, b: (a**2 + 1) ** sympy.tanh(b),
        lambda a, b: (a**2 + 2) ** -sympy.tanh(b),
        lambda a, b: sympy.Max(a, b, 1) - sympy.Min(a, -b, 2),
        lambda a, b: sympy.Piecewise((a, a > b), (b, sympy.And(b > 1, sympy.Ne(a, 1))), (a * b, True)),
        lambda a, b: sympy.Piecewise(
            (a, sympy.Or(a < 1, b <= 0)), (-b, sympy.Not(sympy.Eq(b, 2))), (1, True)
        ),
        lambda a, b: sympy.atan2(a, b) + sympy.Abs(a) * sympy.sign(b),
    )
    for k in range(count):
        yield kinds[k % len(kinds)](terms[2 * k], terms[2 * k + 1])


@pytest.mark.parametrize("formulas", [tuple(products(160)), tuple(sums(66))], ids=["products", "sums"])
def test_every_formula_has_the_value_that_sympy_gives_it(formulas):
    w = Vector("w")
    point = {
        x: sympy.Rational(3, 2),
        y: sympy.Rational(5, 7),
        v: [sympy.Rational(1, 3), -2],
        w: [3, sympy.Rational(1, 4)],
    }
    function = build(formulas, (X, Y, V, Argument("w", w)), name="t")
    arguments = [
        [float(n) for n in value] if isinstance(value, list) else float(value) for value in point.values()
    ]
    tensors = [torch.tensor(a, dtype=torch.float64) for a in arguments]
    exact = function.mpmath(*point.values(), digits=25)
    for formula, *found in zip(formulas, function(*arguments), function(*tensors), exact, strict=True):
        expected = float(evaluate(formula, point).evalf(25))
        assert [float(f) for f in found] == pytest.approx([expected] * 3, rel=1e-13, abs=0), formula


def test_exponentials_minus_one_and_logarithms_of_one_and_more_keep_tiny_numbers():
    function = build((sympy.exp(x) - 1, sympy.exp(x) - 1 + y, sympy.log(1 + x)), (X, Y), name="t")
    for make in (float, torch.tensor):
        found = function(make(1e-20), make(0.0))
        assert [float(f) for f in found] == pytest.approx([1e-20] * 3, rel=1e-6, abs=0)


def test_an_inner_product_is_divided_by_lengths_only_where_they_are_below_it():
    w = Vector("w")
    plain = build(x * Dot(v, w), (X, V, Argument("w", w)), name="t")
    over = build(x * Dot(v, w) / norm(w), (X, V, Argument("w", w)), name="t")
    assert "dot_over" not in plain.source("numpy") and "dot_over" in over.source("numpy")


over = NamedQuantity("test_one_over_root", r"o\left(#1\right)", (x,), 1 / sympy.sqrt(x), module=__name__)
SLOPES = {
    "alone": over(Dot(v, v)),
    "a factor": -2 * over(Dot(v, v)) * (1 + y**2),
    "a piece": sympy.Piecewise((y, x > 0), (-1 / norm(v), True)),
    "a factor that is a piece": (y + 3) * sympy.Piecewise((y, x > 0), (-1 / norm(v), True)),
    "both pieces": y * sympy.Piecewise((2 / norm(v), x > 0), (over(Dot(v, v)), True)),
    "a piece within a piece": sympy.Piecewise(
        (sympy.Piecewise((1 / norm(v), y > 9), (y, True)), x > 0), (over(Dot(v, v)), True)
    ),
}


@pytest.mark.parametrize("kind", SLOPES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_unit_vector_of_a_coefficient_is_zero_at_zero_and_has_all_digits_beside_it(kind, sign):
    function = build(Combination({v: SLOPES[kind]}), (X, Y, V), name="t")
    one = function(sign, 2.0, np.array([3.0, 4.0]))
    assert one.tolist() == pytest.approx(
        [float(c) for c in evaluate(Combination({v: SLOPES[kind]}).map(unfold), {x: sign, y: 2, v: [3, 4]})],
        rel=1e-14,
    )
    length = (
        1 if kind in ("a piece", "a factor that is a piece", "a piece within a piece") and sign > 0 else 0
    )
    short = function(sign, 2.0, np.array([3e-200, 4e-200]))
    assert short.tolist() == pytest.approx((one * 1e-200**length).tolist(), rel=1e-14, abs=0)
    assert function(sign, 2.0, np.zeros(2)).tolist() == [0.0, 0.0]
    at = [torch.tensor(a, dtype=torch.float64) for a in (sign, 2.0, [0.0, 0.0])]
    assert torch.isfinite(torch.func.jacrev(function, argnums=2)(*at)).all()


def test_only_numpy_lets_go_of_what_was_used_last():
    function = build(sympy.exp(x) * sympy.sin(x), (X,), name="t")
    assert "del t" in function.source("numpy")
    assert "del t" not in function.source("torch") + function.source("mpmath")
