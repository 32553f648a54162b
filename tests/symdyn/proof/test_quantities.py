"""What a named quantity states of itself is decided before a proof stands on it."""

from __future__ import annotations

import itertools
from types import FunctionType

import pytest
import sympy as sp
from sympy import Rational, exp, log, sqrt, tanh

from symdyn.compile.named import NamedQuantity
from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Identity, Inequality, Limit

x, y, z = sp.symbols("x y z", real=True)
numbers = itertools.count()


def written(value):
    """The name of a case: a derivative is named by what it gives at x."""
    return str(value(x) if isinstance(value, FunctionType) else value)


def quantity(definition, args=(x,), **options):
    return NamedQuantity(f"tried_{next(numbers)}", "q", args, definition, module=__name__, **options)


WRONG_DERIVATIVES = [
    (x**2, lambda u: (u,), sp.true),
    (x**2, lambda u: (2 * u + Rational(1, 10**12),), sp.true),
    (x**2, lambda u: (2 * sp.Abs(u),), sp.true),
    (sqrt(1 + x**2), lambda u: (u / (1 + u**2),), sp.true),
    (sqrt(1 + x**2), lambda u: (-u / sqrt(1 + u**2),), sp.true),
    (exp(2 * x), lambda u: (exp(2 * u),), sp.true),
    (tanh(x), lambda u: (1 - tanh(u),), sp.true),
    (tanh(x), lambda u: (1 + tanh(u) ** 2,), sp.true),
    (log(x), lambda u: (1 / u**2,), x > 0),
    (1 / (1 + x), lambda u: (1 / (1 + u) ** 2,), x > 0),
    (x**3 / 3, lambda u: (u**2 + (u - 1) * (u - 2) / 10**9,), sp.true),
    (sp.S.One, lambda u: (u,), sp.true),
]
WRONG_FORMS = [
    (x**2, ((x > 0, x), (x <= 0, x**2))),
    (x**2, ((x > 0, x**2), (sp.true, x**2 + Rational(1, 10**12)))),
    (sp.Abs(x), ((sp.true, x),)),
    (sqrt(1 + x**2) - x, ((x > 0, 1 / (sqrt(1 + x**2) - x)), (sp.true, sqrt(1 + x**2) - x))),
    (sqrt(1 + x**2) - x, ((x > 1, 1 / (2 * x)), (sp.true, sqrt(1 + x**2) - x))),
    (exp(x) - 1, ((x < 1, x), (sp.true, exp(x) - 1))),
    (tanh(x), ((x > 20, sp.S.One), (sp.true, tanh(x)))),
    (1 / (1 + exp(-x)), ((x < 0, exp(x) / (1 - exp(x))), (sp.true, 1 / (1 + exp(-x))))),
    (log(1 + x**2), ((sp.true, 2 * log(1 + sp.Abs(x))),)),
    ((x + 1) ** 2, ((x > 0, x**2 + 2 * x + 1), (sp.true, x**2 - 2 * x + 1))),
]
RIGHT = [
    quantity(x**2, derivative=lambda u: (2 * u,)),
    quantity(sqrt(1 + x**2) - x, cells=((x > 0, 1 / (sqrt(1 + x**2) + x)), (sp.true, sqrt(1 + x**2) - x))),
    quantity(x**2, cells=((x > 0, x**2), (sp.true, sp.Abs(x) ** 2))),
    quantity(sqrt(x), derivative=lambda u: (1 / (2 * sqrt(u)),), domain=x > 0),
]


@pytest.mark.parametrize(("definition", "derivative", "domain"), WRONG_DERIVATIVES, ids=written)
def test_a_wrong_derivative_is_caught_before_use(definition, derivative, domain):
    q = quantity(definition, derivative=derivative, domain=domain)
    with pytest.raises(ValueError, match=r"the derivative of tried_.* that of its definition is"):
        sp.diff(q(z), z)
    for claim in (Identity(q(z) - q(z) / 2, q(z) / 2), Limit(q(z) * z, z, 0, 0)):
        verdict = verify(claim, few_mutants="of no interest here")
        assert verdict.holds is not True
        assert "derivative" in decide(claim).evidence or verdict.holds is False


@pytest.mark.parametrize(("definition", "cells"), WRONG_FORMS, ids=str)
def test_a_wrong_stable_form_is_caught_before_use(definition, cells):
    q = quantity(definition, cells=cells)
    for claim in (Identity(q(z), definition.xreplace({x: z})), Inequality(q(z) ** 2 + 1, ">")):
        verdict = decide(claim)
        assert verdict.holds is None
        assert "stable form" in verdict.evidence


@pytest.mark.parametrize("q", RIGHT, ids=str)
def test_quantities_that_are_what_they_state_serve_proofs(q):
    definition = q.quantity.definition.xreplace({x: z})
    condition = q.quantity.domain.xreplace({x: z})
    domain = Domain((z,), conditions=() if condition == sp.true else (condition,))
    assert decide(Identity(q(z), definition), domain).outcome == "PROVED"


def test_a_fault_of_a_quantity_inside_another_is_found():
    inner = quantity(exp(x) ** 2, derivative=lambda u: (exp(u),))
    outer = quantity(1 + inner(x) ** 2)
    assert decide(Identity(outer(z), 1 + inner(z) ** 2)).holds is None


def test_that_a_derivative_of_an_unspecified_function_vanishes_is_refuted():
    f = sp.Function("f", real=True)(x)
    for order in (1, 2, 3, 4, 5, 6):
        assert (
            decide(Identity(sp.diff(f, x, order), sp.S.Zero), Domain((x,), functions=(f,))).outcome
            == "REFUTED"
        )
    g = sp.Function("g", real=True)(x, y)
    mixed = sp.diff(g, x, 2, y, 2) - sp.diff(g, x, 4)
    assert decide(Identity(mixed, sp.S.Zero), Domain((x, y), functions=(g,))).outcome == "REFUTED"
