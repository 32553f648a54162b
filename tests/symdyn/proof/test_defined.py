"""A claim about what is not a real number somewhere on its cell does not hold there, and says where."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Vector, inner, norm, norm2
from symdyn.proof.check import decide
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity, Inequality

x, y, p, q = sp.symbols("x y p q", real=True)
u, v = Vector("u"), Vector("v")
R = sp.Rational
line, plane = Domain((x,)), Domain((x, y))
below = Domain((x,), cells=(Cell("x < 0", {x: -1}),))
above = Domain((x,), cells=(Cell("x > 0", {x: 1}),))
quadrant = Domain((x, y), cells=(Cell("x, y > 0", {x: 1, y: 1}),))


def where(*conditions):
    return Domain(
        tuple(sorted(set().union(*(c.free_symbols for c in conditions)), key=str)), conditions=conditions
    )


UNDEFINED = [
    (Inequality(sp.sqrt(-1 - x**2), ">="), line),
    (Inequality(1 + sp.sqrt(-1 - x**2), ">"), line),
    (Inequality(sp.acosh(x) ** 2, ">="), where(x**2 < 1)),
    (Inequality(sp.acosh(x) ** 2, ">="), line),
    (Inequality(sp.log(x) ** 2, ">="), below),
    (Inequality(sp.log(x) ** 2, ">="), where(x >= 0)),
    (Inequality(sp.asin(x) ** 2, ">="), where(x > 1)),
    (Inequality(sp.acos(x) ** 2, ">="), where(x**2 < R(11, 10))),
    (Inequality(sp.atanh(x) ** 2, ">="), where(x**2 <= 1)),
    (Inequality(sp.sqrt(x), ">="), line),
    (Inequality(1 / x**2, ">"), line),
    (Inequality(1 / sp.sqrt(x), ">"), where(x >= 0)),
    (Inequality(1 / (x**2 - 2 * x * y + y**2), ">"), plane),
    (Inequality(sp.log(1 + x) ** 2, ">="), where(x >= -1)),
    (Inequality(x ** R(1, 3) + 1, "!="), below),
    (Inequality(1 / (x - 1) ** 2, ">"), above),
    (Inequality(sp.coth(x) ** 2, ">"), line),
    (Inequality(1 / (sp.exp(x) - 1) ** 2, ">"), line),
    (Inequality(sp.sqrt(x**2 - R(1, 10**12)), ">="), line),
    (Inequality(sp.sqrt((x - 1) * (x - 1 - R(1, 10**6))), ">="), above),
    (Identity(sp.exp(sp.acosh(x)), x + sp.sqrt(x**2 - 1)), line),
    (Identity(sp.sqrt(-x) * sp.sqrt(-y), sp.sqrt(x * y)), quadrant),
    (Identity(sp.sqrt(x) * sp.sqrt(y), sp.sqrt(x * y)), plane),
    (Identity((x**2 - 1) / (x - 1), x + 1), line),
    (Identity((x**2 - y**2) / (x - y), x + y), quadrant),
    (Identity(sp.log(x * y), sp.log(x) + sp.log(y)), plane),
    (Identity(x, x, compiles=sp.exp(sp.log(x, evaluate=False), evaluate=False)), line),
    (Inequality(sp.sqrt(norm2(u) * norm2(v) - inner(u, v) ** 2 - R(1, 10**9)), ">="), Domain((), (u, v))),
    (Inequality(1 / (norm2(u) * norm2(v) - inner(u, v) ** 2) ** 2, ">"), Domain((), (u, v))),
]
"""Neither side may be compared where one of them is undefined."""

DEFINED = [
    (Inequality(sp.sqrt(1 + x**2), ">"), line),
    (Inequality(sp.acosh(1 + x**2) ** 2, ">="), line),
    (Inequality(sp.log(1 + x**2) ** 2, ">="), line),
    (Inequality(sp.log(x) ** 2, ">="), above),
    (Inequality(sp.asin(x) ** 2, ">="), where(x**2 < 1)),
    (Inequality(sp.atanh(x) ** 2, ">="), where(x < 1, x > -1)),
    (Inequality(1 / x**2, ">"), below),
    (Inequality(1 / (x - y) ** 2, ">"), where(sp.Ne(x, y))),
    (Inequality(1 / (x - y) ** 2, ">"), where(x > y)),
    (Inequality(1 / (1 - sp.exp(-x)), ">"), above),
    (Inequality(1 / (sp.exp(x) - sp.exp(y)) ** 2, ">"), where(x > y)),
    (Inequality(1 / (x**2 - x + 1), ">"), line),
    (Inequality(sp.log(x**2 - x * y + y**2 + 1) ** 2, ">="), plane),
    (Inequality(sp.sqrt(norm2(u) * norm2(v) - inner(u, v) ** 2), ">="), Domain((), (u, v))),
    (Identity(sp.sqrt(x) * sp.sqrt(y), sp.sqrt(x * y)), quadrant),
    (Identity(sp.exp(sp.acosh(x)), x + sp.sqrt(x**2 - 1)), where(x >= 1)),
    (Identity((x**2 - 1) / (x - 1), x + 1), where(sp.Ne(x, 1))),
    (Identity(sp.log(x * y), sp.log(x) + sp.log(y)), quadrant),
    (Identity(norm2(u) / norm(u), norm(u)), Domain((), (u,))),
    (Identity(x / q, p), Domain((p, q), let={x: p * q}, conditions=(sp.Ne(q, 0),))),
    (Identity(1 / p, q), Domain((p,), let={q: 1 / p})),
]


def test_what_is_undefined_at_a_point_of_its_cell_does_not_hold():
    counts = {"tried": 0, "refuted": 0, "undecided": 0, "wrong": 0}
    for statement, domain in UNDEFINED:
        verdict = decide(statement, domain)
        counts["tried"] += 1
        counts["wrong" if verdict.holds else "refuted" if verdict.holds is False else "undecided"] += 1
        if verdict.holds:
            print("holds:", statement)
        if verdict.holds is False:
            assert verdict.witness is not None
    print(f"claims that are undefined somewhere: {counts}")
    assert counts["wrong"] == 0 and counts["refuted"] >= 24


@pytest.mark.parametrize(("statement", "domain"), DEFINED, ids=str)
def test_what_is_defined_throughout_is_decided(statement, domain):
    verdict = decide(statement, domain)
    assert verdict.holds, verdict


def test_the_place_is_named():
    verdict = decide(Inequality(1 + sp.sqrt(x - 1), ">"), above)
    assert verdict.holds is False
    assert "sqrt(x - 1)" in verdict.evidence and "x - 1 >= 0" in verdict.evidence


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (Identity(sp.DiracDelta(x) + y, y), "DiracDelta"),
        (Identity(sp.Abs(sp.Symbol("w")) ** 2, sp.Symbol("w") ** 2), "symbol w, which is not declared real"),
        (Identity(sp.Symbol("w") + 1, 1 + sp.Symbol("w")), "symbol w"),
        (Identity(sp.I * x, x * sp.I), "imaginary unit"),
        (Identity(x + sp.nan, x), "nan"),
        (Identity(sp.besselj(0, x), sp.besselj(0, x)), "besselj"),
        (Identity(sp.SingularityFunction(x, 0, -1) + y, y), "SingularityFunction"),
    ],
    ids=str,
)
def test_what_is_no_real_function_is_refused_by_name(statement, named):
    verdict = decide(statement)
    assert verdict.holds is None
    assert named in verdict.evidence
