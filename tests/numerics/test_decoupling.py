"""The measurements behind the figures on decoupling, and claims that fail where measurements contradict them."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.lab.evidence import load_evidence
from numerics.lab.study import load_study, recomputed_claims
from numerics.studies.prior_knowledge.exact.coupled_modes import (
    largest_rise,
    learned_time,
    peak_time,
    printed_peak,
    trained,
)

KEY = "braun2022.fig-4d-f"


def failing(rows):
    return {claim.name for claim in recomputed_claims(load_study(KEY), rows) if not claim.holds}


def spoiled(name, change, **where):
    """The names of the claims that fail only after a number is changed in the cells with these coordinates."""
    rows = load_evidence(KEY)["cells"]
    changed = [
        row | {"values": row["values"] | {name: change(row["values"][name])}}
        if all(row["cell"][key] == value for key, value in where.items())
        else row
        for row in rows
    ]
    return failing(changed) - failing(rows)


INTERMEDIATE, LARGE = {"variance": 0.25}, {"variance": 9.0}
PEAKS = {"target": "equal", "variance": 0.25}


@pytest.mark.parametrize(
    ("name", "change", "where", "claims"),
    [
        (
            "height",
            lambda x: [1.0] * len(x),
            {"target": "dense"},
            "silent-dense near-zero-dense silence-has-its-power",
        ),
        (
            "height",
            lambda x: [10 * y for y in x],
            {"target": "unequal"},
            "near-zero-unequal",
        ),
        ("height", lambda x: [4 * y for y in x], {"target": "dense"}, "near-zero-dense"),
        ("height", lambda x: [2 * y for y in x], {"target": "equal"}, "equal-modes-are-never-silent"),
        (
            "rise",
            lambda x: [0.02] * 20 + x[20:],
            LARGE,
            "monotone-when-large monotone-where-large-everywhere",
        ),
        ("learned_time", lambda x: [0.01] * len(x), INTERMEDIATE, "peak-before-learned"),
        ("learned_time", lambda x: [None] * 10 + x[10:], INTERMEDIATE, "peaked-networks-are-learned"),
        ("predicted_gap", lambda x: [y and y + 0.01 for y in x], PEAKS, "predicted-peak-order"),
        ("printed_time", lambda x: [y - 1 for y in x], PEAKS | {"variance": 1e-6}, "printed-peak-small"),
        ("predicted_time", lambda x: [y and 1.1 * y for y in x], PEAKS, "predicted-peak-intermediate"),
        ("sum_at_peak", lambda x: [1.1 * y for y in x], INTERMEDIATE, "half-learned-on-average"),
        ("deviation", lambda x: [y + 0.1 for y in x], LARGE, "descent-order"),
        ("peak_time", lambda x: [0.0] * 35 + x[35:], INTERMEDIATE, "networks-enough"),
    ],
)
def test_a_contradiction_breaks_its_claim_and_no_other(name, change, where, claims):
    assert spoiled(name, change, **where) == set(claims.split())


def test_with_the_right_formula_in_place_of_the_printed_one_only_silence_fails():
    rows = [
        row
        | {
            "values": row["values"]
            | {
                "printed_time": row["values"]["predicted_time"],
                "printed_gap": row["values"]["predicted_gap"],
            }
        }
        for row in load_evidence(KEY)["cells"]
    ]
    assert failing(rows) == {"silent-equal", "near-zero-equal"}


def test_the_peak_is_found_between_the_records_and_is_zero_where_the_coupling_falls_from_the_start():
    times = np.linspace(0, 3, 301)
    centres = np.array([0.7234, 1.5])
    curves = np.stack([-np.exp(-((times - c) ** 2)) for c in centres] + [np.exp(-times)])
    np.testing.assert_allclose(peak_time(times, curves), [*centres, 0.0], atol=1e-6)


def test_a_rise_counts_from_the_lowest_earlier_value():
    assert largest_rise(np.array([[3.0, 1.0, 2.5, 0.0], [3.0, 2.0, 1.0, 0.5]])).tolist() == [1.5, 0.0]


def test_modes_are_learned_when_both_stay_near_their_singular_values():
    a1 = np.array([[0.0, 2.0, 1.0, 2.0], [2.0] * 4, [0.0] * 4, [4.0, 2.0, 2.0, 2.0]])
    assert learned_time(np.arange(4.0), a1, np.ones((4, 4)), [2.0, 1.0]) == [3.0, 0.0, None, 1.0]


def test_a_network_that_is_no_number_has_learned_nothing():
    a1 = np.array([[0.0, 2.0, np.nan, np.nan], [np.nan] * 4])
    assert learned_time(np.arange(4.0), a1, np.ones((2, 4)), [2.0, 1.0]) == [None, None]


def test_a_curve_that_still_rises_is_largest_at_the_last_time():
    times = np.arange(6.0)
    assert peak_time(times, np.array([[0.0, 1.0, 1.9, 2.7, 3.4, 4.0]])).tolist() == [5.0]


@pytest.mark.parametrize("spacing", [0.25, 0.04])
def test_times_lie_on_steps(spacing):
    start = np.eye(2)[None] / 10
    with pytest.raises(
        ValueError, match=f"spacing must be a multiple of the rate: {spacing} is not one of 0.1"
    ):
        trained(start, np.eye(2), np.ones(2), np.eye(2), rate=0.1, spacing=spacing, count=4)


def test_the_printed_time_is_the_printed_formula():
    found = printed_peak(np.array([0.5, 1.0]), np.array([0.25, 1.0]), np.array([0.25, 0.1]), 1.0)
    np.testing.assert_allclose(found[0], np.log(0.25 / 0.0625) / 4, rtol=1e-15)
    assert np.isnan(found[1])
