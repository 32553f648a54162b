"""Solutions exist on the whole interval that is claimed, of unknowns with an equation, a closed form and a start."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy import Rational, cos, cosh, exp, log, sin, sinh, sqrt, tan, tanh

from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Solution

x, y, z, t, p, q, k = sp.symbols("x y z t p q k", real=True)
later = Domain((t, p, q, k), cells=(Cell("t, p, q, k > 0", {t: 1, p: 1, q: 1, k: 1}),))
below = Domain((t, p, k), cells=(Cell("p < 0 < t", {t: 1, p: -1, k: 1}),))


def one(closed, velocity, start=p, on=later):
    return Solution({x: closed}, {x: velocity}, {x: start}, t, on=on)


PAST_ITS_END = [
    one(p / (1 - p * t), x**2),
    one(p / (1 - p * t), x**2, on=Domain((t, p))),
    one(p / (1 + p * t), -(x**2), on=below),
    one(p / sqrt(1 - 2 * p**2 * t), x**3),
    one(p / (1 - 2 * p**2 * t) ** Rational(1, 2), x**3, on=below),
    one(sqrt(p**2 - 2 * t), -1 / x),
    one(tan(t), 1 + x**2, sp.S.Zero),
    one(-log(exp(-p) - t), exp(x)),
    one(k * p / (p + (k - p) * exp(-k * t)), x * (k - x), on=below),
    one(p / (p - (p - 1) * exp(t)), x**2 - x),
    one((p * cosh(t) - sinh(t)) / (cosh(t) - p * sinh(t)), x**2 - 1),
    one(1 / tanh(k - t), x**2 - 1, 1 / tanh(k)),
    one(1 / (k - t), x**2, 1 / k),
    one(1 / (k - t) ** 2, 2 * x ** Rational(3, 2), 1 / k**2),
    one(k * tan(k * t), k**2 + x**2, sp.S.Zero),
    one(2 * p / (2 - p * t**2), t * x**2),
    one(p * exp(t) / (1 - p * (exp(t) - 1)), x + x**2),
    one(1 / cos(t), x * tan(t), sp.S.One),
    one(p / (1 - p * sin(t)), x**2 * cos(t)),
    one(p / (1 - p * t), x**2, on=later.restrict(p * t < 2)),
    one(p / (1 - p * t), x**2, on=later.restrict(p * t > 1)),
    one(1 / (k - t), x**2, 1 / k, on=later.restrict(t < 2 * k)),
]

ILL_POSED = [
    (Solution({x: p * exp(t), y: q}, {x: x}, {x: p, y: q}, t), "y has no equation"),
    (Solution({x: p * exp(t), y: sin(t)}, {x: x}, {x: p, y: 0}, t), "y has no equation"),
    (Solution({x: p * exp(y * t)}, {x: x * y, y: sp.S.One}, {x: p}, t), "y has no closed form"),
    (Solution({x: p + y * t}, {x: y, y: sp.S.One}, {x: p, y: q}, t), "y has no closed form"),
    (Solution({x: p + y * t, y: q + t}, {x: y, y: sp.S.One}, {x: p, y: q}, t), "closed form of x contains y"),
    (Solution({x: x * exp(t)}, {x: x}, {x: x}, t), "closed form of x contains x"),
    (Solution({x: t + q}, {x: sp.S.One}, {x: q + t}, t), "initial value of x contains t"),
    (Solution({x: p * exp(t)}, {x: x}, {}, t), "x has no initial value"),
    (Solution({x: p * exp(t)}, {x: x}, {x: p, y: q}, t), "y has no closed form"),
    (Solution({}, {}, {}, t), "no unknown"),
]

MOVING = [
    (Domain((t, p, k), let={k: 1 + t}), one(p * exp(k * t), k * x, on=None)),
    (Domain((t, p, q, k), cells=(Cell("k = t", where={k: t}),)), one(p * exp(k * t), k * x, on=None)),
]

TRUE = [
    one(p / (1 + p * t), -(x**2)),
    one(p / (1 - p * t), x**2, on=below),
    one(p / (1 - p * t), x**2, on=later.restrict(p * t < 1)),
    one(p / sqrt(1 + 2 * p**2 * t), -(x**3)),
    one(p * exp(-k * t), -k * x),
    one(k * p / (p + (k - p) * exp(-k * t)), x * (k - x)),
    one(log(exp(p) + t), exp(-x)),
    one(sqrt(p**2 + 2 * t), 1 / x),
    one(tanh(t), 1 - x**2, sp.S.Zero),
    one(1 / (k - t), x**2, 1 / k, on=later.restrict(t < k)),
    one(1 / tanh(k - t), x**2 - 1, 1 / tanh(k), on=later.restrict(t < k)),
    one(sinh(t), sqrt(1 + x**2), sp.S.Zero),
    Solution(
        {x: p * cos(t) + q * sin(t), y: q * cos(t) - p * sin(t)}, {x: y, y: -x}, {x: p, y: q}, t, on=later
    ),
    Solution({x: p + q * t + t**2 / 2, y: q + t}, {x: y, y: sp.S.One}, {x: p, y: q}, t, on=later),
]


@pytest.mark.parametrize("claim", PAST_ITS_END, ids=lambda s: f"{s.solution[x]} {s.on.words}")
def test_no_solution_is_continued_past_its_end(claim):
    verdict = verify(claim, few_mutants="of no interest here")
    assert verdict.holds is not True, verdict


@pytest.mark.parametrize("claim", PAST_ITS_END[:4], ids=lambda s: str(s.solution[x]))
def test_the_point_where_it_ends_is_shown(claim):
    verdict = decide(claim)
    assert verdict.outcome == "REFUTED"
    assert "ends before" in verdict.witness.residual


@pytest.mark.parametrize(("claim", "reason"), ILL_POSED, ids=[reason for _, reason in ILL_POSED])
def test_what_is_no_initial_value_problem_says_why(claim, reason):
    verdict = decide(claim)
    assert verdict.outcome == "UNKNOWN"
    assert reason in verdict.evidence


@pytest.mark.parametrize(("domain", "claim"), MOVING, ids=["let", "where"])
def test_a_parameter_that_depends_on_the_time_is_none(domain, claim):
    assert decide(claim, domain).holds is not True


@pytest.mark.parametrize("claim", TRUE, ids=lambda s: str(s.solution[x]))
def test_solutions_that_last_are_proved(claim):
    verdict = decide(claim)
    assert (verdict.outcome, verdict.grade) == ("PROVED", "proved"), verdict
