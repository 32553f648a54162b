r"""What a result compiles to is what its facts are about: a changed value must not go with unchanged facts.

Most kinds of statement compile to one of their sides. A chain of facts, and an identity, may name another value; then
either the facts are made from it, or it is a side of one of them, or it is the same thing in other variables, which
is checked here by numbers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
import sympy as sp

from derivations.wide_linear.single_output import of_weights
from derivations.wide_linear.symbols import Delta, mu, phi, s
from symdyn.calculus.matrix import evaluate
from symdyn.proof.claim import entries
from symdyn.proof.mutants import mutations
from symdyn.registry import load, results
from symdyn.statement import Chain, Solution, Statement

SIDES = ("lhs", "rhs", "quantity", "velocity", "expression", "limit", "bound")

IN_OTHER_VARIABLES = {
    "wide_linear.signed_norm_dynamics": "Q of the proved velocity is known from μ and Δ by overlaps_from_norms",
    "wide_linear.cosine_dynamics": "Q of the proved velocity is known from μ and Δ by overlaps_from_norms",
    "single_neuron.upstream_readout": "the right-hand side without overflow",
}
"""Results whose value is no side of a fact, and why; the tests below compare it with that side in numbers."""

MOST = 3
"""Changes of a value that are tried: enough to see whether it matters."""


def names_a_value(statement: Statement) -> bool:
    return getattr(statement, "compiles", None) is not None and not isinstance(statement, Solution)


def sides(statement: Statement) -> list:
    """Everything a statement or one of its facts says something about, components one by one."""
    found = [getattr(statement, name) for name in SIDES if hasattr(statement, name)]
    parts = [part for side in found for part in (side if isinstance(side, (tuple, list)) else (side,))]
    return parts + [side for fact in statement.facts() for side in sides(fact)]


def follows(statement: Statement) -> bool:
    """Whether the value, each of its components, is a side of a fact, or every change of it changes the facts."""
    if isinstance(statement, Chain) and statement.characterised is not None:
        if statement.characterised(statement.value) != statement.because:
            return False
        changed = [value for _, value in mutations(statement.value)][:MOST]
        return bool(changed) and all(statement.characterised(x) != statement.because for x in changed)
    value = statement.value
    components = value if isinstance(value, (tuple, list)) else (value,)
    return all(any(x == side for side in sides(statement)) for x in components)


NAMING = [r.key for r in results() if names_a_value(r.statement)]


@pytest.mark.parametrize("key", sorted(set(NAMING) - set(IN_OTHER_VARIABLES)))
def test_the_facts_are_about_the_value_that_is_compiled(key):
    assert follows(load(key).statement)


def test_the_exceptions_are_needed():
    assert set(IN_OTHER_VARIABLES) <= set(NAMING)
    assert not any(follows(load(key).statement) for key in IN_OTHER_VARIABLES)


@pytest.mark.parametrize("key", sorted(set(NAMING) - set(IN_OTHER_VARIABLES)))
def test_another_value_does_not_go_with_the_same_facts(key):
    statement = load(key).statement
    _, changed = mutations(statement.value)[0]
    assert not follows(replace(statement, compiles=changed))


@pytest.mark.parametrize("key", ["wide_linear.signed_norm_dynamics", "wide_linear.cosine_dynamics"])
def test_the_compiled_velocities_are_the_proved_ones_at_every_network(key):
    (fact,), value = load(key).statement.because, load(key).statement.value
    for sizes in fact.sizes:
        weights = fact.rules.sample(fact.velocity, sizes, seed=1)
        norms, cosines, _, balance, length = (evaluate(x, weights, sizes) for x in of_weights)
        variables = {mu.letter: norms, phi.letter: cosines, Delta.letter: balance, s: length}
        found = evaluate(value, {**weights, **variables}, sizes)
        proved = evaluate(fact.velocity, weights, sizes)
        assert any(proved)
        assert max(abs(sp.N(x, 30)) for x in found - proved) < 1e-20


def test_the_readout_without_overflow_is_the_proved_one():
    result = load("single_neuron.upstream_readout")
    (cell,) = result.domain.cells
    points = list(islice(result.domain.points(cell), 2))
    for point in points:
        found, proved = (entries(x, point)[0] for x in (result.statement.value, result.statement.rhs))
        assert abs(found / proved - 1) < 1e-25
    assert len(points) == 2
