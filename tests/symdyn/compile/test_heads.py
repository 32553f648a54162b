"""Every supported head, point by point, on every backend, against mpmath at 50 digits."""

import mpmath
import numpy as np
import pytest
import sympy
import torch

from symdyn.compile import Argument, UnsupportedHead, build, supported_heads
from symdyn.compile.heads import HEADS, OPERATIONS

mp = mpmath.mp
X, Y = sympy.symbols("x y", real=True)
HALF = sympy.Rational(1, 2)

ANY = np.concatenate([-np.logspace(-12, 1, 14), np.logspace(-12, 1, 14)])
WIDE = np.concatenate([-np.logspace(-12, 12, 13), np.logspace(-12, 12, 13)])
POSITIVE = np.logspace(-12, 12, 25)
INSIDE = np.concatenate([-np.logspace(-12, -0.01, 12), np.logspace(-12, -0.01, 12)])
ABOVE_ONE = 1 + np.logspace(-6, 10, 22)
SOFT = np.concatenate([-np.logspace(-6, 1.8, 12), np.logspace(-6, 1.8, 12)])
W_POINTS = np.concatenate([np.linspace(-0.3, -0.01, 8), np.logspace(-6, 6, 14)])

CASES = {
    sympy.exp: (sympy.exp(X), mp.exp, SOFT),
    sympy.log: (sympy.log(X), mp.log, POSITIVE),
    sympy.sinh: (sympy.sinh(X), mp.sinh, ANY),
    sympy.cosh: (sympy.cosh(X), mp.cosh, ANY),
    sympy.tanh: (sympy.tanh(X), mp.tanh, WIDE),
    sympy.coth: (sympy.coth(X), mp.coth, WIDE),
    sympy.sech: (sympy.sech(X), mp.sech, SOFT),
    sympy.csch: (sympy.csch(X), mp.csch, SOFT),
    sympy.asinh: (sympy.asinh(X), mp.asinh, WIDE),
    sympy.acosh: (sympy.acosh(X), mp.acosh, ABOVE_ONE),
    sympy.atanh: (sympy.atanh(X), mp.atanh, INSIDE),
    sympy.acoth: (sympy.acoth(X), mp.acoth, ABOVE_ONE),
    sympy.sin: (sympy.sin(X), mp.sin, ANY),
    sympy.cos: (sympy.cos(X), mp.cos, ANY),
    sympy.tan: (sympy.tan(X), mp.tan, ANY),
    sympy.asin: (sympy.asin(X), mp.asin, INSIDE),
    sympy.acos: (sympy.acos(X), mp.acos, INSIDE),
    sympy.atan: (sympy.atan(X), mp.atan, WIDE),
    sympy.atan2: (sympy.atan2(X, -3), lambda x: mp.atan2(x, -3), WIDE),
    sympy.Abs: (sympy.Abs(X), abs, WIDE),
    sympy.sign: (sympy.sign(X), mp.sign, WIDE),
    sympy.Max: (sympy.Max(1, X), lambda x: max(1, x), WIDE),
    sympy.Min: (sympy.Min(X, sympy.Rational(1, 3), X**2), lambda x: min(x, mp.mpf(1) / 3, x * x), WIDE),
    sympy.Heaviside: (sympy.Heaviside(X), lambda x: mp.mpf(x > 0), WIDE),
    sympy.erf: (sympy.erf(X), mp.erf, ANY),
    sympy.erfc: (sympy.erfc(X), mp.erfc, np.linspace(-5, 5, 20)),
    sympy.LambertW: (sympy.LambertW(X), mp.lambertw, W_POINTS),
}
FORMULAS = {
    "sqrt(2) x": (sympy.sqrt(2) * X, lambda x: mp.sqrt(2) * x, WIDE),
    "exp(2) - x/3": (sympy.exp(2) - X / 3, lambda x: mp.exp(2) - x / 3, WIDE),
    "log(x, 2)": (sympy.log(X, 2), lambda x: mp.log(x) / mp.log(2), POSITIVE),
    "x^7": (X**7, lambda x: x**7, ANY),
    "x^-3": (X**-3, lambda x: x**-3, ANY),
    "sqrt": (sympy.sqrt(X), mp.sqrt, POSITIVE),
    "x^(5/2)": (X ** sympy.Rational(5, 2), lambda x: mp.sqrt(x) ** 5, POSITIVE),
    "x^(-3/2)": (X ** sympy.Rational(-3, 2), lambda x: 1 / mp.sqrt(x) ** 3, POSITIVE),
    "x^(1/3)": (sympy.cbrt(X), mp.cbrt, POSITIVE),
    "x^pi": (X**sympy.pi, lambda x: x**mp.pi, np.logspace(-3, 3, 21)),
    "2^x": (2**X, lambda x: mp.mpf(2) ** x, ANY),
    "x^-x": (X**-X, lambda x: x**-x, np.logspace(-6, 1, 21)),
    "expm1": (sympy.exp(X) - 1, mp.expm1, ANY),
    "log1p": (sympy.log(1 + X), mp.log1p, INSIDE),
    "(x/3)^2/(x+1)^2": (X**2 / (1 + X**2) ** 2, lambda x: x**2 / (1 + x**2) ** 2, WIDE),
    "pi E rationals": (sympy.pi * X + sympy.E * X**2 + HALF, lambda x: mp.pi * x + mp.e * x * x + 0.5, ANY**2),
    "Piecewise": (
        sympy.Piecewise((X**2, X < -1), (HALF, sympy.Eq(X, 0)), (-X, X <= 1), (sympy.log(X), True)),
        lambda x: x * x if x < -1 else mp.log(x) if x > 1 else -x,
        WIDE,
    ),
    "And Or Not": (
        sympy.Piecewise((1, sympy.Or(X > 3, sympy.And(X > -2, X < -1))), (2, sympy.Ne(X, 7)), (3, True)),
        lambda x: mp.mpf(1 if x > 3 or -2 < x < -1 else 2),
        WIDE,
    ),
}  # fmt: skip


def argument():
    return (Argument("x", X),)


def condition_number(reference, x):
    """|y| + |x y'|, by a central difference in 50 digits."""
    h = abs(x) * mp.mpf(10) ** -20
    return abs(reference(x)) + abs(x * (reference(x + h) - reference(x - h)) / (2 * h))


def assert_accurate(compute, reference, points, dtype, tolerance):
    points = points.astype(dtype)
    with np.errstate(over="ignore"):
        got = np.asarray(compute(points))
    assert got.dtype == dtype and got.shape == points.shape and len(points) >= 20
    with mp.workdps(50):
        for x, y in zip(points.tolist(), got.tolist(), strict=True):
            truth = reference(mp.mpf(x))
            if np.finfo(dtype).tiny < abs(truth) < np.finfo(dtype).max or truth == 0:
                assert abs(mp.mpf(y) - truth) <= tolerance * condition_number(reference, mp.mpf(x)), (
                    x,
                    y,
                    truth,
                )


ALL = [pytest.param(*case, id=getattr(key, "__name__", key)) for key, case in (CASES | FORMULAS).items()]


@pytest.mark.parametrize(("expr", "reference", "points"), ALL)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-15), (np.float32, 6e-7)])
def test_numpy_agrees_with_mpmath(expr, reference, points, dtype, tolerance):
    assert_accurate(build(expr, argument(), "numpy", name="t"), reference, points, dtype, tolerance)


ON_TORCH = [case for case in ALL if not case.values[0].has(sympy.LambertW)]


@pytest.mark.parametrize(("expr", "reference", "points"), ON_TORCH)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-15), (np.float32, 6e-7)])
def test_torch_agrees_with_mpmath(expr, reference, points, dtype, tolerance):
    function = build(expr, argument(), "torch", name="t")
    assert_accurate(lambda x: function(torch.tensor(x)).numpy(), reference, points, dtype, tolerance)


@pytest.mark.parametrize(("expr", "reference", "points"), ALL)
def test_the_mpmath_callable_has_fifty_digits(expr, reference, points):
    function = build(expr, argument(), "mpmath", name="t")
    before = mp.dps
    for x in points[::7].tolist():
        value = function(x, digits=50)
        with mp.workdps(80):
            truth = reference(mp.mpf(x))
            assert abs(value - truth) <= mp.mpf(10) ** -50 * abs(truth)
    assert mp.dps == before


@pytest.mark.parametrize("expr", [case.values[0] for case in ON_TORCH], ids=[case.id for case in ON_TORCH])
def test_torch_gradients_are_those_of_the_formula(expr):
    points = {"acosh": 2.5, "acoth": 2.5, "sign": 0.4}.get(expr.func.__name__, 0.4)
    x = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    y = build(expr, argument(), "torch", name="t")(x)
    slope = torch.autograd.grad(y, x)[0].item() if y.requires_grad else 0.0
    h = 1e-6
    difference = build(expr, argument(), "mpmath", name="t")
    with mp.workdps(40):
        truth = float(
            (difference(points + h, digits=30) - difference(points - h, digits=30)) / (2 * mp.mpf(h))
        )
    assert slope == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_every_head_of_the_table_has_a_case():
    assert set(CASES) == set(HEADS)


def test_the_sides_of_cuts_agree():
    """Off the domain of a root, a logarithm or a power all backends give NaN, and none a wrong sign."""
    for expr in (
        sympy.sqrt(1 / X),
        sympy.log(X),
        X ** sympy.Rational(1, 3),
        sympy.acosh(X),
        sympy.atanh(X - 2),
    ):
        for x in (-2.0, -1e-9):
            numpy = build(expr, argument(), name="t")(x)
            tensor = build(expr, argument(), "torch", name="t")(x).item()
            exact = build(expr, argument(), "mpmath", name="t")(x)
            assert np.isnan(numpy) and np.isnan(tensor) and mp.isnan(exact)


@pytest.mark.parametrize("far", [30.0, 100.0, 900.0, -900.0])
@pytest.mark.parametrize("head", [sympy.sech, sympy.csch])
def test_gradients_of_sech_and_csch_do_not_overflow(head, far):
    x = torch.tensor(far, dtype=torch.float64, requires_grad=True)
    slope = torch.autograd.grad(build(head(X), argument(), name="t")(x), x)[0].item()
    assert slope == pytest.approx(
        -2 * np.exp(-abs(far)) * (np.sign(far) if head is sympy.sech else 1), rel=1e-12
    )


@pytest.mark.parametrize(
    ("expr", "head"),
    [
        (sympy.besselj(0, X), "besselj"),
        (sympy.gamma(X) + 1, "gamma"),
        (sympy.Function("f")(X), "f"),
        (sympy.Integral(sympy.exp(-(Y**2)), (Y, 0, X)), "Integral"),
        (sympy.I * X, "ImaginaryUnit"),
        (X + sympy.Float("0.1"), "Float"),
        (X * sympy.zeta(3), "zeta"),
        (sympy.Piecewise((sympy.polygamma(1, X), X > 0), (0, True)), "polygamma"),
    ],
)
def test_an_unsupported_head_is_named_when_the_function_is_built(expr, head):
    with pytest.raises(UnsupportedHead) as error:
        build(expr, argument(), name="topic.some_result")
    message = str(error.value)
    assert "topic.some_result" in message and head in message
    assert "tanh" in message and "Piecewise" in message


def test_lambert_w_compiles_where_a_backend_has_it():
    with pytest.raises(UnsupportedHead, match=r"LambertW.*torch"):
        build(sympy.LambertW(X), argument(), "torch", name="t")
    assert "LambertW" in supported_heads("numpy") and "LambertW" not in supported_heads("torch")
    assert "LambertW" not in supported_heads()


def test_harmless_operands_are_harmless():
    """Value and derivative of each guarded operation are finite at its harmless operand."""
    for name, operation in OPERATIONS.items():
        if operation.harmless is None or operation.torch is None or "{1}" in operation.torch:
            continue
        head = {
            "expm1": lambda x: sympy.exp(x) - 1,
            "log1p": lambda x: sympy.log(1 + x),
            "sqrt": sympy.sqrt,
        }.get(name)
        head = head or next((h.cls for h in HEADS.values() if h.via == name), None)
        if head is None:
            continue
        x = torch.tensor(operation.harmless, dtype=torch.float64, requires_grad=True)
        y = build(head(X), argument(), name="t")(x)
        assert torch.isfinite(y) and torch.isfinite(torch.autograd.grad(y, x)[0])
