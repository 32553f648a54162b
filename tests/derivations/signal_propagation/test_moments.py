"""The mean and the variance from which a limit in probability is drawn are those of the moments that are proved.

The rule takes them as functions of numbers, s = σ²|φ|²/M and the like; the moments are proved of words in vectors. Here
the words are evaluated at random vectors, and are what the numbers say. What is off by a factor or a sign is noticed.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import sympy as sp

from derivations.signal_propagation.symbols import N, bias, gamma, kappa, s, s12, s22, sigma_b
from symdyn.calculus.matrix import evaluate
from symdyn.calculus.matrix.transform import letters_of, symbols_of
from symdyn.catalogue.registry import load
from symdyn.proof.check import decide
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.probability import InProbability

WIDTH, RANK, BEFORE = 5, 3, 4
SHARED, INDEPENDENT = 1, 0
"""κ: one bias for all coordinates, or one for each."""
MOMENTS = {
    "length_given_the_bias": (("mean", SHARED), ("variance", SHARED)),
    "overlap_given_the_bias": (("mean", SHARED), ("variance", SHARED)),
    "length_concentrates": (("mean", SHARED), ("variance", SHARED), ("variance", INDEPENDENT)),
    "covariance_map_limit": (("mean", SHARED), ("variance", SHARED), ("variance", INDEPENDENT)),
}
"""Of which of mean and variance each moment is the value, and with what biases."""


def rule_of(key: str) -> InProbability:
    statement = load(f"signal_propagation.{key}").statement
    return next(part for part in (statement, *statement.facts()) if isinstance(part, InProbability))


def off(rule: InProbability, moments: tuple[tuple[str, int], ...]) -> list[str]:
    """The moments of which the rule says something else, at random layers of the width 5, the rank 3 and the size 4."""
    found = []
    for moment, (name, biases) in zip(rule.moments, moments, strict=True):
        rng = random.Random(str(moment.rhs))
        layer = {
            x: [[sp.Rational(rng.randint(-9, 9), 4)] for _ in range(BEFORE if x.name[0] == "p" else 1)]
            for x in letters_of(moment.rhs)
        }
        first, second, shift = (
            sp.Matrix(next((v for x, v in layer.items() if x.name == n), [[0]] * BEFORE))
            for n in ("p", "p2", "b")
        )
        scale, spread = sp.Rational(3, 2), sp.Rational(2, 3)
        sizes = {x: {"r": RANK, "M": BEFORE, "N": WIDTH}[x.name] for x in moment.sizes[0]}
        numbers = {x: v for x, v in sizes.items() if x in symbols_of(moment.rhs)}
        numbers |= {
            x: {"sigma": scale, "sigma_b": spread}[x.name]
            for x in symbols_of(moment.rhs)
            if x.name.startswith("sigma")
        }
        value = evaluate(moment.rhs, {**layer, **numbers}, sizes)[0, 0]
        written = getattr(rule, name) * WIDTH ** (1 if name == "mean" else 2)
        of = scale**2 / BEFORE
        at = {
            N: WIDTH, gamma: sp.Rational(RANK, WIDTH), sigma_b: spread, kappa: biases, bias: shift[0],
            s: of * first.dot(first), s12: of * first.dot(second), s22: of * second.dot(second),
        }  # fmt: skip
        if sp.simplify(sp.sympify(written).xreplace({x: sp.sympify(v) for x, v in at.items()}) - value) != 0:
            found.append(f"{name}, {biases}")
    return found


@pytest.mark.parametrize("key", MOMENTS)
def test_the_rule_has_the_moments_that_are_proved(key):
    assert off(rule_of(key), MOMENTS[key]) == []


@pytest.mark.parametrize("key", MOMENTS)
@pytest.mark.parametrize(
    "change",
    [lambda x: 2 * x, lambda x: -x, lambda x: x.subs(gamma, 1), lambda x: x * (1 + sp.Rational(1, 10**12))],
)
@pytest.mark.parametrize("name", ["mean", "variance"])
def test_another_mean_or_variance_is_noticed(key, change, name):
    rule = rule_of(key)
    assert off(replace(rule, **{name: change(sp.sympify(getattr(rule, name)))}), MOMENTS[key])


@pytest.mark.parametrize(
    "change",
    [
        {"variance": -1 / N},
        {"variance": s12 / N},  # negative where the covariance is
        {"variance": sp.S.One},
        {"mean": gamma + 1 / sp.Integer(10) ** 12},
        {"limit": -gamma},
        {"limit": gamma + 1 / N},
    ],
    ids=str,
)
def test_a_variance_that_is_negative_or_stays_and_another_limit_are_refused(change):
    right = InProbability("q", gamma, 2 * gamma / N, N, gamma)
    on = Domain((N, gamma, s12), (), (Cell("N, γ > 0", {N: 1, gamma: 1}),))
    assert decide(right, on).stands
    assert not decide(replace(right, **change), on).stands
