"""Limits at infinity by dominant exponentials are what they are, and are left undecided where a sign is missing."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.proof.exponentials import limit_at_infinity
from symdyn.proof.tower import Undecided

t, d, x, y, c = sp.symbols("t d x y c", real=True)
plus = d / 2 + sp.sqrt(d**2 + 4 * x) / 2
minus = d / 2 - sp.sqrt(d**2 + 4 * x) / 2
POSITIVE = {d: 2, x: 2, y: 2}


@pytest.mark.parametrize(
    ("expr", "limit"),
    [
        (sp.exp(minus * t), 0),
        (c * sp.exp(plus * t) * sp.exp(-plus * t) + t**3 * sp.exp(minus * t), c),
        (
            (3 * sp.exp(plus * t) + sp.exp(minus * t)) / (5 * sp.exp(plus * t) + t**2 * sp.exp(d * t)),
            sp.Rational(3, 5),
        ),
        (sp.tanh(x * t), 1),
        (t * sp.exp(-x * t) / (1 + t), 0),
        (sp.exp(plus * t) / (1 + t * sp.exp(d * t)), sp.zoo),
        ((t * sp.exp(x * t) + sp.exp(x * t)) / (2 * t * sp.exp(x * t)), sp.Rational(1, 2)),
        (sp.Piecewise((sp.exp(-x * t), t > 0), (sp.exp(x * t), True)), 0),
        ((sp.exp(2 * x * t + y) - 1) / sp.exp(2 * x * t), sp.exp(y)),
        (1 / ((1 - sp.exp(-x * t)) * (1 - sp.exp(-y * t))), 1),
    ],
    ids=str,
)
def test_limits(expr, limit):
    assert sp.simplify(limit_at_infinity(expr, t, POSITIVE.get) - limit) == 0 or limit is sp.zoo
    assert (limit_at_infinity(expr, t, POSITIVE.get) is sp.zoo) == (limit is sp.zoo)


@pytest.mark.parametrize(
    "expr",
    [
        sp.exp(c * t),
        1 / (c * sp.exp(x * t) + 1),
        sp.sqrt(1 + sp.exp(x * t)),
        sp.exp(x * t**2),
        sp.exp((x - y) * t),
    ],
    ids=str,
)
def test_what_needs_a_sign_or_another_rule_is_undecided(expr):
    with pytest.raises(Undecided):
        limit_at_infinity(expr, t, POSITIVE.get)


def test_expressions_without_exponentials_are_left_to_others():
    assert limit_at_infinity(t / (1 + t), t, POSITIVE.get) is None
