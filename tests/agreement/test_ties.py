"""Every evaluator that is tied to a result computes it, under the accuracy contract.

The tests are made from the ties, `@implements("topic.result")` on the evaluators; the reference of each stands in
`tied`, one module a topic. An evaluator without a reference fails by name.
`SYMDYN_ACCURACY_DENSE=10 pytest tests/agreement/test_ties.py` draws ten times as many points.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

from symdyn.catalogue.implements import Tie, ties
from tests.agreement.tied.case import CASES, Examined, examine

TOPICS = (
    "single_neuron",
    "wide_linear",
    "deep_linear",
    "piecewise_linear",
    "prior_knowledge",
    "random_matrices",
    "signal_propagation",
)
"""The topics that have references. A topic that has none yet fails by name."""

for topic in (*TOPICS, "measures"):
    import_module(f"tests.agreement.tied.{topic}")


def topic_of(tie):
    """The topic of an evaluator; `measures` holds the references of what is measured on networks and of starts."""
    package, topic = tie.module.split(".")[:2]
    return topic if package == "derivations" else "measures"


def the_case(tie):
    assert (tie.module, tie.name) in CASES, (
        f"{tie.place} computes {', '.join(tie.keys)} and has no reference: write one in "
        f"tests/agreement/tied/{topic_of(tie)}.py"
    )
    return examine(CASES[tie.module, tie.name].key)


@pytest.mark.parametrize("tie", ties(), ids=lambda tie: tie.place)
def test_evaluator_computes_its_results(tie):
    examined = the_case(tie)
    faults = examined.faults()
    assert not faults, f"{len(faults)} of {len(examined.points)} wrong\n" + "\n".join(faults[:3])
    assert sum(point.truth is not None for point in examined.points) >= len(examined.points) / 2


@pytest.mark.parametrize("tie", ties(), ids=lambda tie: tie.place)
def test_evaluator_with_one_thing_wrong_is_refused(tie):
    examined = the_case(tie)
    assert examined.exchanged(), "the draws do not tell one answer from another"
    if not examined.case.discrete:
        outputs = examined.outputs
        unseen = [k for k in range(outputs) if not examined.perturbed(k)]
        assert not unseen, f"outputs {unseen} may be off by {examined.case.perturbation}"
    unseen = [name for name, mutant in examined.case.mutants.items() if not examined.with_call(mutant)]
    assert not unseen


def test_every_topic_has_references():
    assert {topic_of(tie) for tie in ties()} == {*TOPICS, "measures"}


@pytest.mark.parametrize("topic", TOPICS)
def test_every_evaluator_that_a_topic_offers_is_tied(topic):
    page = import_module(f"derivations.{topic}")
    offered = [getattr(page, name) for name in dir(page)]
    named = {(getattr(x, "__module__", None), getattr(x, "__name__", "")) for x in offered}
    evaluators = {(module, name) for module, name in named if ".evaluators." in str(module)}
    tied = {(tie.module, tie.name) for tie in ties() if topic_of(tie) == topic}
    assert evaluators and evaluators <= tied


def test_an_evaluator_without_a_reference_is_named():
    tie = Tie(
        "new_function", "derivations.wide_linear.evaluators.weights", ("wide_linear.conserved_balance",)
    )
    with pytest.raises(
        AssertionError, match=r"wide_linear\.new_function computes wide_linear\.conserved_balance"
    ):
        the_case(tie)


def test_a_refusal_where_there_is_a_value_and_a_value_where_there_is_none_are_faults():
    """A reference that refuses everything, or an evaluator that does, examines nothing and is refused itself."""
    examined = examine(CASES["derivations.wide_linear.evaluators.weights", "conserved"].key)
    refusing = Examined(examined.case, [replace(point, found=ValueError("no")) for point in examined.points])
    assert len(refusing.faults()) == len(examined.points)
    without = Examined(examined.case, [replace(point, truth=None) for point in examined.points])
    assert len(without.faults()) == len(examined.points)


def test_no_case_is_left_over():
    """A case whose evaluator is gone, or has lost its tie, examines nothing."""
    assert set(CASES) <= {(tie.module, tie.name) for tie in ties()}
