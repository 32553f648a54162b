"""Studies notice an exact solution whose time constant is 2 % off: they compare while networks learn."""

from __future__ import annotations

import pytest

from derivations.prior_knowledge.evaluators import representations as flow_functions
from numerics.lab.claims import Measurement, Measurements
from numerics.lab.study import load_study

CASES = [
    (
        "braun2022.large-zero-balanced-speeds-up",
        {"seeds": [0, 1], "scales": [1e-6, 1e-3, 2.0]},
        "training-follows-the-flow",
    ),
    ("braun2022.colour-hierarchy-no-advantage", {"seeds": [0, 1, 2]}, "training-tends-to-the-flow"),
    ("braun2022.fig-2d", {}, "coincide-closely"),
]


def holds(key, settings, name):
    """Whether a claim holds of a few networks of the smoke scale."""
    plan = load_study(key).plan
    cfg = plan.scales["smoke"] | settings
    found = plan.run(plan.cells(cfg), cfg, "cpu", None)
    claims = plan.claims(Measurements([Measurement(cell.cell, cell.values) for cell in found]))
    return next(claim.holds for claim in claims if claim.name == name)


@pytest.mark.parametrize(("key", "settings", "name"), CASES)
def test_a_time_constant_that_is_slightly_off_is_noticed(key, settings, name, monkeypatch):
    assert holds(key, settings, name)
    for formula in ("qqt", "network_function"):
        exact = getattr(flow_functions, formula)
        monkeypatch.setattr(
            flow_functions,
            formula,
            lambda times, *rest, exact=exact, **options: exact(times / 1.02, *rest, **options),
        )
    assert not holds(key, settings, name)
