"""The studies of tasks in a row: their claims fail on measurements that contradict them, each by name."""

from __future__ import annotations

import pytest

from numerics.lab.claims import Measurement, Measurements
from numerics.lab.evidence import load_evidence
from numerics.lab.study import load_study, recomputed_claims
from numerics.studies.prior_knowledge.continual import forgetting


def failing(key, name=None, spoil=None, **coordinates):
    """The claims that fail on the stored measurements, with one number spoiled in the cells at the coordinates."""
    rows = []
    for row in load_evidence(key)["cells"]:
        chosen = name in row["values"] and all(row["cell"][k] == v for k, v in coordinates.items())
        values = row["values"] | ({name: spoil(row["values"][name])} if chosen else {})
        rows.append({"cell": row["cell"], "values": values})
    return {claim.name for claim in recomputed_claims(load_study(key), rows) if not claim.holds}


@pytest.mark.parametrize(
    ("key", "name", "spoil", "coordinates", "broken"),
    [
        ("braun2022.fig-5a", "function_deviation", lambda v: [x + 0.01 for x in v], {}, {"descent-order"}),
        ("braun2022.fig-5a", "loss_deviation", lambda v: [x**2 for x in v], {"seed": 3}, {"descent-order"}),
        ("braun2022.fig-5a", "extrapolated_deviation", lambda v: 0.02, {"seed": 3}, {"curves-coincide"}),
        (
            "braun2022.fig-5a",
            "least_rise_of_earlier",
            lambda v: 0.4,
            {"seed": 0},
            {"earlier-tasks-are-forgotten"},
        ),
        ("braun2022.fig-5a", "mean_rise_of_others", lambda v: v - 2.5, {}, {"others-rise-on-average"}),
        ("braun2022.fig-5a", "above_best", lambda v: 1e-3, {"seed": 0}, {"tasks-are-learned"}),
        ("braun2022.fig-5a", "restarted_deviation", lambda v: v / 100, {}, {"the-chain-matters"}),
        ("braun2022.fig-5a", "learnable", lambda v: not v, {"seed": 2}, {"opposite-determinants-are-told"}),
        (
            "braun2022.fig-5a",
            "time_to_learn",
            lambda v: [v[0], v[0], v[0]],
            {},
            {"stuck-networks-leave-by-their-step-alone"},
        ),
        (
            "braun2022.fig-5b",
            "measured",
            lambda v: v + 1e-3,
            {"activation": "linear"},
            {"linear-on-the-diagonal"},
        ),
        (
            "braun2022.fig-5b",
            "measured",
            lambda v: v - 1.5,
            {"activation": "relu", "noise": 1.0},
            {"relu-forgets-more", "most-relu-networks-forget-more"},
        ),
        (
            "braun2022.fig-5b",
            "measured",
            lambda v: v - 10,
            {"activation": "tanh", "noise": 2.0},
            {"tanh-excess-grows-with-noise"},
        ),
        (
            "braun2022.fig-5b",
            "learned",
            lambda v: 0.1,
            {"activation": "linear"},
            {"linear-networks-have-learned"},
        ),
        (
            "braun2022.fig-5b",
            "above_best",
            lambda v: 1e-10,
            {"activation": "linear", "seed": 0, "noise": 2.0},
            {"both-tasks-are-learned-closely"},
        ),
        (
            "braun2022.fig-5c",
            "after_two",
            lambda v: v + 0.001,
            {"activation": "linear"},
            {"linear-drift-order"},
        ),
        (
            "braun2022.fig-5c",
            "after_one",
            lambda v: v / 10,
            {"activation": "tanh"},
            {"tanh-unbalanced-after-one"},
        ),
        (
            "braun2022.fig-5c",
            "neurons_after_two",
            lambda v: v + 0.001,
            {"activation": "relu"},
            {"relu-neurons-drift-order"},
        ),
        ("braun2022.fig-5c", "neurons_after_two", lambda v: v / 10, {}, {"tanh-neurons-do-not"}),
        ("braun2022.fig-5c", "before", lambda v: 1e-6, {"seed": 7}, {"balanced-at-first"}),
        (
            "braun2022.fig-5de",
            "change_deviation",
            lambda v: 1e-3,
            {"activation": "linear", "seed": 4},
            {"linear-change-agrees"},
        ),
        (
            "braun2022.fig-5de",
            "loss_relative",
            lambda v: v / 5,
            {"activation": "tanh"},
            {"tanh-loss-does-not"},
        ),
    ],
)
def test_a_contradiction_breaks_the_claim_it_contradicts(key, name, spoil, coordinates, broken):
    assert failing(key, name, spoil, **coordinates) == failing(key) | broken


def test_forgetting_that_is_as_foretold_breaks_every_claim_that_it_is_not():
    """With the foretold values in the place of the measured ones every network lies on the diagonal."""
    rows = load_evidence("braun2022.fig-5b")["cells"]
    rows = [Measurement(row["cell"], row["values"] | {"measured": row["values"]["foretold"]}) for row in rows]
    held = {claim.name for claim in forgetting.claims(Measurements(rows)) if claim.holds}
    checks = {"linear-networks-have-learned", "both-tasks-are-learned-closely"}
    assert held == {"linear-on-the-diagonal"} | checks


def test_what_is_forgotten_is_what_was_learned_and_what_is_left():
    """Measured and foretold forgetting differ by the gain on the first task and by the loss after the second."""
    for row in load_evidence("braun2022.fig-5b")["cells"]:
        value = row["values"]
        assert value["measured"] - value["foretold"] == pytest.approx(
            value["learned"] + value["left"], abs=1e-9
        )
