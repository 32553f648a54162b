"""Compiled functions as callables: shapes, dtypes, names, domains, errors, digits."""

import inspect
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
import torch

import symdyn.compile
from symdyn.calculus.gram import Combination, Dot, GramOperator, Vector, identity, inner, outer
from symdyn.calculus.isotropic import Isotropic
from symdyn.compile import Argument, Compiled, Condition, PrecisionError, build

x, y, r = sympy.symbols("x y r", real=True)
u, v = Vector("u"), Vector("v")
A, B = Argument("x", x, "a number"), Argument("y", y, "another", 2)
U, V = Argument("u", u, "a vector"), Argument("v", v)

plain = build(x**2 + y, (A, B), name="t.plain")
constant = build(x - x + 3, (A, B), name="t.constant")
product = build(inner(u, v) * x, (A, U, V), name="t.product")


@pytest.mark.parametrize("tensor", [False, True], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    ("one", "other"), [((), ()), ((4,), ()), ((2, 1), (3,)), ((0,), ()), ((2, 3), (2, 3))]
)
@pytest.mark.parametrize("function", [plain, constant])
def test_the_shape_is_the_broadcast_of_the_inputs_even_of_a_constant(function, one, other, tensor):
    make = torch.ones if tensor else np.ones
    value = function(make(one), make(other))
    assert tuple(value.shape) == np.broadcast_shapes(one, other)
    if tensor or value.ndim:
        value += 1  # a result is an array of its own


def test_unused_arguments_take_part_in_the_shape():
    function = build(x, (A, B), name="t")
    for make in (np.ones, torch.ones):
        value = function(make(3), make((2, 1)))
        value[0] += 1
        assert value.tolist() == [[2.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("make", [np.ones, torch.ones])
def test_a_result_is_never_the_input_itself(make):
    given = make(3)
    value = build(x, (A,), name="t")(given)
    value += 1
    assert given.tolist() == [1.0] * 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floating_dtypes_are_kept_and_python_numbers_follow(dtype):
    for function in (plain, constant, build(sympy.Piecewise((1, x > 0), (sympy.pi, True)), (A, B), name="t")):
        assert function(np.ones(2, dtype), 3).dtype == dtype
        assert function(np.array(1, dtype), 3.5).dtype == dtype
        assert function(torch.ones(2, dtype=getattr(torch, dtype)), 3).dtype == getattr(torch, dtype)
        assert function(torch.tensor(1, dtype=getattr(torch, dtype))).dtype == getattr(torch, dtype)


def test_other_inputs_are_float64():
    assert plain(1).dtype == plain([1, 2]).dtype == plain(np.arange(3)).dtype == np.float64
    assert plain(torch.arange(3)).dtype == torch.float64
    assert plain(np.ones(2, "float32"), np.ones(2)).dtype == np.float64


def test_the_input_decides_the_backend():
    assert isinstance(plain(np.ones(2)), np.ndarray)
    assert isinstance(plain(1.0, torch.tensor(2.0)), torch.Tensor)
    assert isinstance(plain.torch(1.0), torch.Tensor) and plain.torch(1.0).dtype == torch.float64
    with pytest.raises(TypeError, match="convert the tensor"):
        plain.numpy(torch.tensor(1.0))
    with pytest.raises(ValueError, match="no backend 'jax'"):
        build(x, (A,), "jax", name="t.f")


def test_values_by_position_keyword_and_default():
    assert plain(3) == plain(x=3) == plain(3, 2) == plain(3, y=2) == plain(y=2, x=3) == 11


@pytest.mark.parametrize("call", [lambda: plain(), lambda: plain(1, z=2), lambda: plain(1, 2, 3)])
def test_a_wrong_call_lists_the_arguments(call):
    with pytest.raises(TypeError) as error:
        call()
    assert "t.plain" in str(error.value)
    assert "x (...): a number" in str(error.value) and "y (...), default 2: another" in str(error.value)


def test_an_argument_given_twice():
    with pytest.raises(TypeError, match="x twice"):
        plain(1, x=2)


def test_help():
    assert "x (...): a number" in plain.__doc__ and "u (..., d): a vector" in product.__doc__
    assert str(inspect.signature(plain)) == "(x, y=2, *, check=None)"
    assert plain.__name__ == "plain"


@pytest.mark.parametrize("bad", [np.array(1j), torch.tensor(1j), "a", None])
def test_what_is_no_real_number_is_refused_by_name(bad):
    with pytest.raises(TypeError, match="x"):
        plain(bad) if bad is not None else plain(np.array(None))


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match=r"y has batch shape \(3,\)"):
        plain(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="u has 2, v has 3"):
        product(1, np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="u must be a vector"):
        product(1, 1.0, np.ones(3))


def test_combinations_act_on_the_last_axis():
    f = build(Combination({u: x, v: -inner(u, v)}), (A, U, V), name="t")
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((4, 1)), rng.standard_normal(3), rng.standard_normal((5, 3))
    expected = a[..., None] * b - (b * c).sum(-1)[..., None] * c
    np.testing.assert_allclose(f(a, b, c), expected, rtol=1e-14)
    np.testing.assert_allclose(f(*map(torch.tensor, (a, b, c))), expected, rtol=1e-14)
    exact = f.mpmath(Fraction(1, 3), [1, 2], [3, 4], digits=40)
    assert [mpmath.nstr(e, 15) for e in exact] == ["-32.6666666666667", "-43.3333333333333"]


def test_operators_are_matrices_over_the_last_two_axes():
    f = build(x * identity() + 2 * outer(u, v), (A, U, V), name="t")
    rng = np.random.default_rng(1)
    a, b, c = rng.standard_normal((2, 1)), rng.standard_normal((3, 4)), rng.standard_normal(4)
    expected = a[..., None, None] * np.eye(4) + 2 * b[..., :, None] * c
    assert f(a, b, c).shape == (2, 3, 4, 4)
    np.testing.assert_allclose(f(a, b, c), expected, rtol=1e-15)
    np.testing.assert_allclose(f(torch.tensor(a), torch.tensor(b), torch.tensor(c)), expected, rtol=1e-15)
    assert f.mpmath(5, [1, 2], [3, 4]) == [[11, 8], [12, 21]]


def test_constant_operators_and_the_zero_vector():
    assert build(identity(), (U,), name="t")(np.ones((2, 3))).shape == (2, 3, 3)
    assert build(GramOperator(), (U,), name="t")(np.ones(3)).tolist() == np.zeros((3, 3)).tolist()
    assert (
        build(Combination(), (U, B), name="t")(np.ones(3), np.ones(2)).tolist() == np.zeros((2, 3)).tolist()
    )
    with pytest.raises(ValueError, match="no vector among the arguments"):
        build(identity(), (A,), name="t")


def test_isotropic_operators_in_one_and_many_dimensions():
    f = build(Isotropic(x, r * y, r, u), (A, B, U), name="t")
    for d in (1, 2, 5):
        b = np.linspace(1, 2, d)
        expected = 3 * np.eye(d) + 2 * np.outer(b, b)
        np.testing.assert_allclose(f(3, 2, b), expected, rtol=1e-14)
        np.testing.assert_allclose(f(3, 2, torch.tensor(b)), expected, rtol=1e-14)
    assert f(np.ones(4), 1, np.zeros(3)).tolist() == [np.eye(3).tolist()] * 4


def test_a_tuple_of_values_shares_its_subexpressions():
    f = build((sympy.exp(x * y), u * sympy.exp(x * y)), (A, B, U), name="t")
    scalar, vector = f(np.ones(4), 2, np.ones(3))
    assert scalar.shape == (4,) and vector.shape == (4, 3) and vector[0, 0] == scalar[0]
    assert f.source("numpy").count("exp") == 1


positive = Condition("positive", x > 0, "x")
nonzero = ("non-zero where y < 0", sympy.Or(y >= 0, Dot(u, u) > 0), "u")
rooted = build(sympy.log(x) * Dot(u, u) + y, (A, B, U), name="t.rooted", domain=(positive, nonzero))


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_values_outside_the_domain_are_named_with_their_batch_index(make):
    ok = make([1.0, 0.0])
    with pytest.raises(ValueError, match=r"x must be positive; it is not at index 1, 3"):
        rooted(make([1.0, -1.0, 2.0, 0.0]), 1, ok)
    with pytest.raises(ValueError, match=r"x must be positive$"):
        rooted(make(-1.0), 1, ok)
    with pytest.raises(ValueError, match=r"u must be non-zero where y < 0; it is not at index \(0, 1\)"):
        rooted(1.0, make([[1.0], [-1.0]]).T, make([1e-300, 0.0])[None, :] * make([[[1.0]], [[0.0]]])[1])
    with pytest.raises(ValueError, match=r"y must be finite; it is not at index 0"):
        rooted(1.0, make([float("nan"), 1.0]), ok)
    with pytest.raises(ValueError, match=r"u must be finite"):
        rooted(1.0, 1.0, make([float("inf"), 1.0]))


def test_a_tiny_vector_is_not_zero():
    assert np.isfinite(rooted(1.0, -1.0, np.array([1e-200, 0.0])))


def test_the_bare_kernel_gives_nan_outside_the_domain():
    assert np.isnan(rooted(-1.0, 1, np.ones(2), check=False))
    assert torch.isnan(rooted(torch.tensor([-1.0, 1.0]), 1, torch.ones(2), check=False)).tolist() == [
        True,
        False,
    ]
    unchecked = build(sympy.log(x), (A,), name="t", domain=(positive,), check=False)
    assert np.isnan(unchecked(-1.0))
    with pytest.raises(ValueError, match="positive"):
        unchecked(-1.0, check=True)


# 1/sqrt(1 + e^-x) is a number for every x, in the domain or not; its operator is one at u = 0 too
harmless = build(
    Isotropic(1 / sympy.sqrt(1 + sympy.exp(-x)), 0 * x, sympy.Symbol("r2", real=True), u),
    (A, U),
    name="t.harmless",
    domain=(("positive", x > 0, "x"),),
)


@pytest.mark.parametrize("bad", [-1.0, float("inf"), float("nan")])
def test_unchecked_values_outside_the_domain_are_nan_even_where_the_formula_is_a_number(bad):
    good = harmless(1.0, [1.0, 2.0])
    kept = harmless([bad, 1.0], [1.0, 2.0], check=False)
    assert np.isnan(kept[0]).all() and np.array_equal(kept[1], good)
    points, vectors = torch.tensor([bad, 1.0], dtype=torch.float64), torch.tensor([1.0, 2.0])
    for function in (
        lambda a: harmless(a, vectors, check=False),
        torch.func.vmap(lambda a: harmless(a, vectors)),
        torch.compile(lambda a: harmless(a, vectors), backend="eager", fullgraph=True),
    ):
        kept = function(points)
        assert torch.isnan(kept[0]).all() and np.allclose(kept[1], good, rtol=1e-15)
    assert all(mpmath.isnan(x) for row in harmless.mpmath(bad, [1, 2], check=False) for x in row)
    assert np.isnan(harmless(1.0, [bad if bad > 0 else np.inf, 2.0], check=False)).all()


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_a_vector_whose_square_overflows_is_refused_and_one_that_is_not_squared_is_not(make):
    squared = build(inner(u, u) / (1 + inner(u, u)), (U,), name="t")
    huge = make(np.array([[1.0, 2.0], [1e160, 1.0]]))
    with pytest.raises(ValueError, match=r"u must be of a length whose square does not overflow.*index 1"):
        squared(huge)
    assert float(squared(huge[0])) == pytest.approx(5 / 6, rel=1e-15)
    length = build(sympy.sqrt(inner(u, u)), (U,), name="t")
    assert float(length(huge)[1]) == 1e160


def test_inside_transforms_only_shapes_are_checked():
    out = torch.func.vmap(lambda a: rooted(a, 1, torch.ones(2)))(torch.tensor([-1.0, 1.0]))
    assert torch.isnan(out).tolist() == [True, False]
    with pytest.raises(ValueError, match="u must be a vector"):
        torch.func.vmap(lambda a: rooted(a, 1, torch.tensor(1.0)))(torch.ones(2))


def test_exact_calls_check_the_domain_too():
    with pytest.raises(ValueError, match="x must be positive"):
        rooted.mpmath(0, 1, [1])
    with pytest.raises(ValueError, match="y must be finite"):
        rooted.mpmath(1, mpmath.inf, [1])
    with pytest.raises(TypeError, match="u must be a sequence"):
        rooted.mpmath(1, 1, 1)
    with pytest.raises(TypeError, match="x must be a number"):
        rooted.mpmath([1], 1, [1])
    with pytest.raises(TypeError, match="x must be real"):
        rooted.mpmath(1j, 1, [1])


def test_exact_numbers_of_every_kind():
    third = build(x, (A,), "mpmath", name="t")
    with mpmath.workdps(60):
        truth = mpmath.mpf(1) / 3
        for value in (Fraction(1, 3), sympy.Rational(1, 3), truth):
            assert abs(third(value, digits=50) - truth) < mpmath.mpf(10) ** -50
        assert abs(third(Decimal("0.1"), digits=50) - mpmath.mpf(1) / 10) < mpmath.mpf(10) ** -51
        assert third(0.1, digits=50) == mpmath.mpf(0.1) == third(np.float64(0.1))
        assert abs(third(sympy.sqrt(2), digits=50) - mpmath.sqrt(2)) < mpmath.mpf(10) ** -50


def test_cancellation_is_overcome_by_precision():
    difference = build(sympy.cos(x) - 1 + x**2 / 2, (A,), "mpmath", name="t")
    with mpmath.workdps(200):
        tiny = mpmath.mpf(10) ** -30
        truth = tiny**4 / 24 * (1 - tiny**2 / 30)
        assert abs(difference(tiny, digits=30) / truth - 1) < mpmath.mpf(10) ** -30


def test_a_value_that_no_precision_settles():
    """sin² + cos² − 1 is 0, but what is left of it at any precision is noise, which now and then is not."""
    noise = build(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1, (A,), "mpmath", name="t")
    with pytest.raises(PrecisionError, match="do not agree"):
        for k in range(1, 60):
            assert noise(sympy.Rational(k, 3)) == 0


def test_foreign_symbols_and_bad_declarations():
    with pytest.raises(ValueError, match=r"t.f: the symbol y is not among the arguments"):
        build(x + y, (A,), name="t.f")
    with pytest.raises(ValueError, match=r"t.f: the vector v is not among the arguments"):
        build(inner(u, v), (U,), name="t.f")
    with pytest.raises(ValueError, match="listed twice"):
        build(x, (A, A), name="t.f")
    with pytest.raises(ValueError, match="'check' cannot name an argument"):
        build(x, (A, Argument("check", y)), name="t.f")
    with pytest.raises(ValueError, match="blames no argument"):
        build(x, (A,), name="t.f", domain=[("positive", x > 0, "z")])
    with pytest.raises(TypeError, match="not an expression"):
        build(sympy.true, (A,), name="t.f")


def test_a_long_constant_is_not_rounded_on_the_way():
    number = sympy.Rational("0.12345678901234567890123456789012345678901234567890")
    exact = build(number * x, (A,), "mpmath", name="t")(1, digits=48)
    with mpmath.workdps(60):
        assert abs(exact - mpmath.mpf(number.p) / number.q) < mpmath.mpf(10) ** -48


def test_importing_the_compiler_does_not_import_torch_or_scipy():
    """… nor does defining a named quantity import NumPy."""
    heavy = "print(sorted({'torch', 'scipy', 'numpy'} & set(sys.modules)))"
    for module, loaded in (("symdyn.compile.function", "['numpy']"), ("symdyn.compile.named", "[]")):
        code = f"import sys, {module}; {heavy}"
        assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == loaded


def test_every_public_name_is_there():
    for name in symdyn.compile.__all__:
        assert getattr(symdyn.compile, name).__module__.startswith("symdyn.compile.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        symdyn.compile.nothing  # noqa: B018


def test_compiled_functions_travel_between_processes():
    again = pickle.loads(pickle.dumps(plain))
    assert isinstance(again, Compiled) and again(3) == 11


def test_the_first_call_may_be_inside_a_compiler():
    fresh = build(sympy.sqrt(2) * x / 3 + y, (A, B), name="t.fresh")
    compiled = torch.compile(fresh, fullgraph=True, backend="eager")
    assert compiled(torch.tensor([3.0]), y=1).item() == pytest.approx(2**0.5 + 1)
