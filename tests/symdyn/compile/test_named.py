"""Named quantities: folded and unfolded, their derivatives, their LaTeX, and claims about stable forms."""

import pickle

import mpmath
import numpy as np
import pytest
import sympy
import torch

from symdyn.compile import Argument, NamedQuantity, build, claims, unfold
from symdyn.compile.named import expm1_ratio, log1p_ratio, registry, root_sum

mp = mpmath.mp
d, x, z = sympy.symbols("d x z", real=True)
DX = (Argument("d", d), Argument("x", x))


def test_a_quantity_stays_folded_until_asked(quantities):
    kappa, plus = quantities.kappa, quantities.plus
    formula = plus(d, 3 * x) ** 2
    assert formula.has(plus) and sympy.expand(formula).has(plus)
    assert plus(d, x).defined() == kappa(d, x) + d
    assert unfold(formula) == (sympy.sqrt(d**2 + 12 * x) + d) ** 2
    assert plus(d, 3 * x).doit() == sympy.sqrt(d**2 + 12 * x) + d
    assert unfold(formula, plus) == (kappa(d, 3 * x) + d) ** 2
    assert unfold(kappa(kappa(d, x), x)) == sympy.sqrt(d**2 + 8 * x)


def test_quantities_are_real_functions_of_their_arguments(quantities):
    assert quantities.kappa(d, x).is_real and quantities.kappa(d, x).free_symbols == {d, x}
    with pytest.raises(TypeError):
        quantities.kappa(d)


@pytest.mark.parametrize("name", ["kappa", "plus", "minus", "Phi"])
def test_stated_derivatives_are_those_of_the_definition(quantities, name):
    function = getattr(quantities, name)
    point = {d: sympy.Rational(3, 7), x: sympy.Rational(5, 3)}
    for variable in (d, x):
        stated = unfold(sympy.diff(function(d, x), variable)).subs(point)
        true = sympy.diff(unfold(function(d, x)), variable).subs(point)
        assert abs(sympy.N(stated - true, 50)) < sympy.Float("1e-45", 50)


@pytest.mark.parametrize("ratio", [expm1_ratio, log1p_ratio, lambda t: root_sum(t, t**2 + 1)])
def test_derivatives_of_the_primitives(ratio):
    for point in (sympy.Rational(1, 3), sympy.Rational(-1, 5)):
        stated = unfold(sympy.diff(ratio(z), z)).subs(z, point)
        true = sympy.diff(unfold(ratio(z)), z).subs(z, point)
        assert abs(sympy.N(stated - true, 50)) < sympy.Float("1e-45", 50)


def test_derivatives_of_the_ratios_at_zero():
    half = sympy.Rational(1, 2)
    assert sympy.diff(expm1_ratio(z), z).subs(z, 0) == half
    assert sympy.diff(log1p_ratio(z), z).subs(z, 0) == -half


def test_numbers(quantities):
    assert abs(quantities.kappa(3, 4).evalf(30) - 5) < sympy.Float("1e-28", 30)
    assert quantities.minus(sympy.Rational(10) ** 40, 1).evalf(20) != 0
    assert abs(expm1_ratio(1).evalf(40) - (sympy.E - 1)) < sympy.Float("1e-38", 40)


def test_latex_is_the_symbol_or_a_pattern_of_the_arguments(quantities):
    assert sympy.latex(quantities.kappa(d, x) ** 2 + 1) == r"\kappa^{2} + 1"
    assert sympy.latex(expm1_ratio(2 * z)) == r"\varphi_1\left(2 z\right)"
    assert sympy.latex(root_sum(d, x) ** 2) == r"\left(\sqrt{\left(d\right)^2 + x}\right)^{2}"


def test_formulas_with_quantities_can_be_pickled(quantities):
    formula = sympy.sqrt(quantities.plus(d, x)) + expm1_ratio(d)
    assert pickle.loads(pickle.dumps(formula)) == formula


def test_a_name_means_one_thing():
    with pytest.raises(ValueError, match="already defined in symdyn"):
        NamedQuantity("root_sum", "r", (d,), d**2, module="elsewhere")
    assert registry()["root_sum"] is root_sum


def test_definitions_are_exact_and_closed():
    with pytest.raises(ValueError, match="floating-point"):
        NamedQuantity("test_bad", "b", (d,), 0.5 * d, module=__name__)
    with pytest.raises(ValueError, match="depends on x"):
        NamedQuantity("test_bad", "b", (d,), d, cells=((x > 0, d),), module=__name__)
    assert "test_bad" not in registry()


def residuals(quantity):
    """The differences of all claims at points of their conditions, to 60 digits."""
    points = [
        (sympy.Rational(a, 7), sympy.Rational(b, 11))
        for a in (-900, -3, 0, 1, 2, 1000)
        for b in (0, 1, 9, 40)
    ]
    for claim in claims(quantity):
        inside = [p for p in points if claim.condition.subs({d: p[0], x: p[1]}) == sympy.true]
        inside = [p for p in inside if p != (0, 0)]
        assert len(inside) >= 3, claim
        yield [abs(sympy.N(claim.difference.subs({d: p[0], x: p[1]}), 60, maxn=400)) for p in inside]


@pytest.mark.parametrize("name", ["kappa", "plus", "minus", "Phi"])
def test_every_stable_form_equals_the_definition_on_its_cell(quantities, name):
    differences = list(residuals(getattr(quantities, name)))
    assert len(differences) == len(getattr(quantities, name).quantity.cells)
    assert all(value < 1e-40 for values in differences for value in values)


def test_claims_are_made_on_the_cell_within_the_domain(quantities):
    upper, lower = claims(quantities.plus)
    assert upper.condition == sympy.And(x >= 0, d >= 0) and lower.condition == sympy.And(x >= 0, d < 0)
    assert upper.quantity == "test_kappa_plus" and upper.difference == 0


def test_a_wrong_stable_form_shows_in_its_claim(quantities):
    kappa = quantities.kappa
    wrong = NamedQuantity(
        "test_wrong",
        "w",
        (d, x),
        kappa(d, x) + d,
        cells=((d >= 0, kappa(d, x) + d), (d < 0, 4 * x / (kappa(d, x) + d))),
        module=__name__,
        domain=x >= 0,
    )
    right, mistaken = (
        abs(sympy.N(claim.difference.subs({d: s, x: 1})))
        for claim, s in zip(claims(wrong), (1, -1), strict=True)
    )
    assert right == 0 and mistaken > 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tensor", [False, True], ids=["numpy", "torch"])
def test_the_stable_forms_keep_their_digits(quantities, dtype, tensor):
    sizes = np.logspace(-12, 12, 9)
    grid = np.array([(s * a, b) for s in (-1, 1) for a in sizes for b in [*sizes, 0.0]], dtype)
    tolerance = 8 * np.finfo(dtype).eps
    with mp.workdps(150):
        for name, sign in (("plus", 1), ("minus", -1), ("kappa", 0)):
            function = build(getattr(quantities, name)(d, x), DX, name="t")
            columns = [torch.tensor(c) if tensor else c for c in grid.T]
            for (a, b), got in zip(grid.tolist(), np.asarray(function(*columns)).tolist(), strict=True):
                truth = mp.sqrt(mp.mpf(a) ** 2 + 4 * mp.mpf(b)) + sign * mp.mpf(a)
                assert abs(got - truth) <= tolerance * truth, (name, a, b)


def test_kappa_does_not_overflow(quantities):
    f = build(quantities.kappa(d, x), DX, name="t")
    assert f(1e200, 1.0) == 1e200 and f.torch(-1e200, 1.0).item() == 1e200
    assert f(np.float32(1e30), np.float32(1)) == np.float32(1e30)
    assert f(torch.tensor(1e-30), torch.tensor(0.0)).item() == pytest.approx(1e-30, rel=1e-6)


def test_gradients_at_the_edges_are_finite_and_where_they_exist_exact(quantities):
    edges = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 3.0], [0.0, 0.0]], dtype=torch.float64)
    expected = {
        "kappa": [(1, 1), (-1, 1), (0, 1 / 3**0.5)],
        "plus": [(2, 1), (0, 1), (1, 1 / 3**0.5)],
        "minus": [(0, 1), (-2, 1), (-1, 1 / 3**0.5)],
    }
    for name, slopes in expected.items():
        at = edges.clone().requires_grad_()
        function = build(getattr(quantities, name)(d, x), DX, name="t")
        (gradient,) = torch.autograd.grad(function(at[:, 0], at[:, 1]).sum(), at)
        assert torch.isfinite(gradient).all()
        torch.testing.assert_close(
            gradient[:3], torch.tensor(slopes, dtype=torch.float64), rtol=1e-14, atol=0
        )


@pytest.mark.parametrize(("ratio", "reference"), [(expm1_ratio, mp.expm1), (log1p_ratio, mp.log1p)])
def test_ratios_and_their_gradients(ratio, reference):
    function = build(ratio(z), (Argument("z", z),), name="t")
    points = [0.0, *(s * p for s in (-1, 1) for p in np.logspace(-14, -0.01, 25))]
    at = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    values = function(at)
    (slopes,) = torch.autograd.grad(values.sum(), at)
    numpy = function(np.array(points))
    assert values[0] == numpy[0] == 1 and abs(slopes[0].item()) == pytest.approx(0.5, rel=1e-15)
    with mp.workdps(80):
        for p, value, other, slope in zip(
            points[1:], values.tolist()[1:], numpy.tolist()[1:], slopes.tolist()[1:], strict=True
        ):
            q = mp.mpf(p)
            truth = reference(q) / q
            assert abs(value / truth - 1) < 1e-15 and abs(other / truth - 1) < 1e-15
            assert abs(slope / mp.diff(lambda t: reference(t) / t, q, h=q * mp.mpf(10) ** -25) - 1) < 5e-14
