"""What the compiler may take as non-negative and as finite everywhere: never more than is true."""

import pytest
import sympy
import torch

from symdyn.calculus.gram import Dot, Vector
from symdyn.compile import Argument, build
from symdyn.compile.named import log1p_ratio, root_sum
from symdyn.compile.signs import is_manifest, is_nonnegative, is_total, known_signs

x, y, d = sympy.symbols("x y d", real=True)
u, v = Vector("u"), Vector("v")
UP = {x: 1, y: -1}


@pytest.mark.parametrize(
    "expr",
    [x, x + x**2, -y, x * y**2, -x * y, sympy.sqrt(d), d**2, Dot(v, v) / x, sympy.exp(d), x + sympy.Abs(d)],
)
def test_seen_to_be_nonnegative(expr):
    assert is_nonnegative(expr, UP)


@pytest.mark.parametrize(
    "expr", [y, -x, d, x - 1, x * y, x + y, d**3, Dot(u, v), d * y, sympy.log(x), -(x**2)]
)
def test_not_taken_for_nonnegative(expr):
    assert not is_nonnegative(expr, UP)


def test_the_pieces_of_a_quantity_are_judged_under_their_own_conditions(quantities):
    assert is_nonnegative(quantities.plus(d, x), {x: 1})
    assert is_nonnegative(quantities.minus(d, x * Dot(v, v)), {x: 1})
    assert not is_nonnegative(quantities.plus(d, x), {})
    assert not is_nonnegative(quantities.plus(d, x) - d, {x: 1})


def test_signs_are_read_off_conditions():
    assert known_signs([sympy.And(x > 0, y <= 0), d > 1, sympy.Or(d > 0, x > 0), sympy.Ne(d, 0)]) == {
        x: 1,
        y: -1,
    }


def test_manifest_conditions():
    assert is_manifest(Dot(v, v) >= 0, {}) and is_manifest(x >= y, UP) and is_manifest(sympy.true, {})
    assert not is_manifest(x > 0, UP) and not is_manifest(d >= 0, UP)


def test_what_is_finite_with_its_derivatives_everywhere(quantities):
    assert is_total(root_sum(d, x), {x: 1}) and not is_total(root_sum(d, x), {})
    assert is_total(sympy.sqrt(x) + d**3 * sympy.tanh(y), UP) and not is_total(sympy.sqrt(d), UP)
    assert is_total(quantities.plus(d, Dot(v, v)), {}) and not is_total(quantities.plus(d, -Dot(v, v)), {})
    for partial in (1 / x, sympy.log(x), sympy.exp(d), log1p_ratio(d), x**d, sympy.acosh(x), sympy.sech(d)):
        assert not is_total(partial, UP)


def test_total_quantities_are_shared_between_pieces(quantities):
    """κ is computed once, although it occurs in every piece of two quantities."""
    value = quantities.Phi(d, Dot(v, v)) * quantities.plus(d, Dot(v, v))
    text = build(value, (Argument("d", d), Argument("v", v)), name="t").source("torch")
    assert text.count("root_of_squares") == 1


def test_a_known_sign_leaves_out_guards_but_not_the_gradient():
    formula = sympy.Piecewise((sympy.sqrt(x) * d, d > 0), (x * d, True))
    arguments = (Argument("d", d), Argument("x", x))
    guarded = build(formula, arguments, name="t")
    free = build(formula, arguments, name="t", domain=[("non-negative", x >= 0, "x")])
    assert free.source("torch").count("where") < guarded.source("torch").count("where")
    for function in (guarded, free):
        for at in ((-2.0, 0.0), (2.0, 4.0)):
            leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in at]
            slopes = [s.item() for s in torch.autograd.grad(function(*leaves), leaves)]
            assert slopes == ([0.0, -2.0] if at[0] < 0 else [2.0, 0.5])
