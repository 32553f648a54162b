r"""What a result compiles to is what its facts are about: a changed value must not go with unchanged facts.

Most kinds of statement compile to one of their sides. A chain of facts, and an identity, may name another value. Then
it is proved, with the other claims of the statement, to be what the facts are about: of each result in turn that is
seen here, and that a changed value is not.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from derivations.wide_linear.solution.single_output import of_weights
from derivations.wide_linear.symbols import Delta, mu, phi, s
from symdyn.calculus.matrix import evaluate
from symdyn.catalogue.registry import index, load, results
from symdyn.catalogue.result import Result
from symdyn.proof.check import decide
from symdyn.proof.mutants import mutations

MOST = 2
"""Changes of a value that are tried: enough to see whether it matters."""

TOPICS = sorted({e.topic for e in index()})


def naming(topic: str) -> list[Result]:
    """The results of a topic that name the value that they compile to."""
    return [r for r in results(topic) if getattr(r.statement, "compiles", None) is not None]


def test_many_results_name_the_value_that_they_compile_to():
    assert sum(len(naming(topic)) for topic in TOPICS) > 40


@pytest.mark.parametrize("topic", TOPICS)
def test_the_value_that_is_compiled_is_proved_to_be_that_of_the_facts(topic, alone):
    """By proof: a form that agrees at points alone would not do. What else a chain concludes may be argued."""
    found = {result: alone(result.key) for result in naming(topic)}
    assert [r.key for r, verdict in found.items() if (verdict.facts or verdict.grade) != "proved"] == []
    unlike = [
        result.key
        for result, verdict in found.items()
        if verdict.outcome != ("ARGUED" if result.statement.argued else "PROVED")
        and not _by_its_facts(verdict)
    ]
    assert unlike == []


def _by_its_facts(found):
    """Whether a conclusion is argued because one of its facts is, and the others are proved."""
    return found.outcome == "ARGUED" and all(part.outcome in ("PROVED", "ARGUED") for part in found.parts)


@pytest.mark.parametrize("topic", TOPICS)
def test_another_value_does_not_go_with_the_same_facts(topic):
    for result in naming(topic):
        changed = [value for _, value in mutations(result.statement.value)][:MOST]
        assert changed, result.key
        accepted = [x for x in changed if decide(replace(result.statement, compiles=x), result.domain).stands]
        assert accepted == [], result.key


@pytest.mark.parametrize("key", ["wide_linear.signed_norm_dynamics", "wide_linear.cosine_dynamics"])
def test_the_compiled_velocities_are_the_proved_ones_at_every_network(key):
    fact, value = load(key).statement.because[0], load(key).statement.value
    for sizes in fact.sizes:
        weights = fact.rules.sample(fact.velocity, sizes, seed=1)
        norms, cosines, _, balance, length = (evaluate(x, weights, sizes) for x in of_weights)
        variables = {mu.letter: norms, phi.letter: cosines, Delta.letter: balance, s: length}
        found = evaluate(value, {**weights, **variables}, sizes)
        proved = evaluate(fact.velocity, weights, sizes)
        assert any(proved)
        assert max(abs(sp.N(x, 30)) for x in found - proved) < 1e-20
