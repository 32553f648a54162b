"""The formulas of the single neuron as values to compile, and exact evaluation to hold them against."""

from __future__ import annotations

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import sympy

from symdyn.calculus.gram import Combination, Dot, Vector
from symdyn.calculus.isotropic import Isotropic
from symdyn.compile import Argument, Condition, NamedQuantity, build
from symdyn.compile.named import root_sum

d, x = sympy.symbols("d x", real=True)

kappa = NamedQuantity(
    "test_kappa",
    r"\kappa",
    (d, x),
    sympy.sqrt(d**2 + 4 * x),
    cells=((x >= 0, root_sum(d, 4 * x)),),
    derivative=lambda d, x: (d / kappa(d, x), 2 / kappa(d, x)),
    module=__name__,
    domain=x >= 0,
)
plus = NamedQuantity(
    "test_kappa_plus",
    r"\kappa_+",
    (d, x),
    kappa(d, x) + d,
    cells=((d >= 0, kappa(d, x) + d), (d < 0, 4 * x / (kappa(d, x) - d))),
    derivative=lambda d, x: (plus(d, x) / kappa(d, x), 2 / kappa(d, x)),
    module=__name__,
    domain=x >= 0,
)
minus = NamedQuantity(
    "test_kappa_minus",
    r"\kappa_-",
    (d, x),
    kappa(d, x) - d,
    cells=((d <= 0, kappa(d, x) - d), (d > 0, 4 * x / (kappa(d, x) + d))),
    derivative=lambda d, x: (-minus(d, x) / kappa(d, x), 2 / kappa(d, x)),
    module=__name__,
    domain=x >= 0,
)
_s, _s0, _k = sympy.sqrt(plus(d, x)), sympy.sqrt(2 * d), kappa(d, x)
Phi = NamedQuantity(
    "test_Phi",
    r"\Phi",
    (d, x),
    (_k - 2 * d) * sympy.sqrt(_k + d) / 3
    + sympy.Piecewise((sympy.sqrt(2) * sympy.Abs(d) ** sympy.Rational(3, 2) / 3, d > 0), (0, True)),
    cells=(
        (d <= 0, (_k - 2 * d) * _s / 3),
        (sympy.And(d > 0, 4 * d <= _k), (_k - 2 * d) * _s / 3 + d * _s0 / 3),
        (d > 0, minus(d, x) * (_k + _s * _s0) / (3 * (_s + _s0))),
    ),
    module=__name__,
    domain=x >= 0,
)


def neuron_values() -> SimpleNamespace:
    """The five functions of (β, δ, η_a, η_w) or (β, δ), uncompiled."""
    beta, r = Vector("beta", r"\beta"), sympy.Symbol("r", real=True)
    delta, eta_a, eta_w = sympy.symbols("delta eta_a eta_w", real=True)
    n2 = Dot(beta, beta)
    rated = eta_a * eta_w * r
    warp = sympy.sqrt(plus(delta, r))
    slope = sympy.Piecewise(
        (2 / sympy.sqrt(plus(delta, n2)), delta > 0), (sympy.sqrt(minus(delta, n2)) / sympy.sqrt(n2), True)
    )
    return SimpleNamespace(
        beta=beta,
        delta=delta,
        eta_a=eta_a,
        eta_w=eta_w,
        n2=n2,
        preconditioner=Isotropic(plus(delta, rated) / 2, minus(delta, rated) / 2, r, beta),
        inverse_preconditioner=Isotropic(
            2 / plus(delta, rated), -minus(delta, rated) / (kappa(delta, rated) * plus(delta, rated)), r, beta
        ),
        hess_potential=Isotropic(2 / warp, -minus(delta, r) / (kappa(delta, r) * warp), r, beta),
        time_warp=sympy.sqrt(plus(delta, n2)),
        potential=Phi(delta, n2),
        grad_potential=Combination({beta: slope}),
    )


@pytest.fixture(scope="session")
def quantities():
    return SimpleNamespace(kappa=kappa, plus=plus, minus=minus, Phi=Phi)


@pytest.fixture(scope="session")
def values():
    return neuron_values()


@pytest.fixture(scope="session")
def neuron(values):
    """The compiled functions."""
    beta, delta = (
        Argument("beta", values.beta, "coefficients of the linear map"),
        Argument("delta", values.delta, "conserved balance of the layers"),
    )
    rates = (Argument("eta_a", values.eta_a, "rate of a", 1), Argument("eta_w", values.eta_w, "rate of w", 1))
    positive = [
        ("positive", symbol > 0, rate) for rate, symbol in (("eta_a", values.eta_a), ("eta_w", values.eta_w))
    ]
    downstream = Condition(
        "non-zero where delta < 0 (the limit depends on the direction)",
        sympy.Or(values.delta >= 0, values.n2 > 0),
        "beta",
    )
    invertible = Condition("non-zero where delta <= 0", sympy.Or(values.delta > 0, values.n2 > 0), "beta")
    full = (beta, delta, *rates)
    return SimpleNamespace(
        preconditioner=build(
            values.preconditioner, full, name="neuron.preconditioner", domain=[*positive, downstream]
        ),
        inverse_preconditioner=build(
            values.inverse_preconditioner, full, name="neuron.inverse", domain=[*positive, invertible]
        ),
        time_warp=build(values.time_warp, (beta, delta), name="neuron.time_warp"),
        potential=build(values.potential, (beta, delta), name="neuron.potential"),
        grad_potential=build(
            values.grad_potential, (beta, delta), name="neuron.grad_potential", domain=[downstream]
        ),
        hess_potential=build(
            values.hess_potential, (beta, delta), name="neuron.hess_potential", domain=[invertible]
        ),
    )


def exact_neuron(name, beta, delta, eta_a=1, eta_w=1):
    """The function by its definition, in an mpmath context of its own precision, without any stable form.

    Call it inside `mpmath.workdps`.
    """
    mp = mpmath.mp
    beta, delta = [mp.mpf(b) for b in beta], mp.mpf(delta)
    n2 = mp.fdot(beta, beta)
    k = mp.sqrt(delta**2 + 4 * mp.mpf(eta_a) * mp.mpf(eta_w) * n2)
    bump = mp.sqrt(2) * abs(delta) ** mp.mpf("1.5") / 3 if delta > 0 else mp.mpf(0)
    if name == "time_warp":
        return mp.sqrt(k + delta)
    if name == "potential":
        return (k - 2 * delta) * mp.sqrt(k + delta) / 3 + bump
    if name == "grad_potential":
        return [mp.sqrt(k - delta) * b / mp.sqrt(n2) for b in beta]
    f, along = {
        "preconditioner": ((k + delta) / 2, k),
        "inverse_preconditioner": (2 / (k + delta), 1 / k),
        "hess_potential": (2 / mp.sqrt(k + delta), mp.sqrt(k + delta) / k),
    }[name]
    size = len(beta)
    return [
        [(f if i == j else 0) + (along - f) * beta[i] * beta[j] / n2 for j in range(size)]
        for i in range(size)
    ]


@pytest.fixture(scope="session")
def exact():
    return exact_neuron


@pytest.fixture(scope="session")
def spread():
    """(β, δ) over |δ| and ‖β‖ from 1e-12 to 1e12, both signs of δ, several dimensions and directions."""
    rng = np.random.default_rng(20240607)
    sizes = 10.0 ** np.arange(-12, 13, 3)
    points = []
    for sign in (1.0, -1.0):
        for balance in sizes:
            for length in sizes:
                direction = rng.standard_normal(3)
                points.append((length * direction / np.linalg.norm(direction), sign * balance))
    return np.array([b for b, _ in points]), np.array([d for _, d in points])
