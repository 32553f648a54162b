"""Three starts on a tree of living things: how they are drawn, followed and judged."""

from __future__ import annotations

import numpy as np
import pytest

from derivations.prior_knowledge.limit_functions import learnable
from numerics.data.semantic import hierarchy
from numerics.evidence import load_evidence
from numerics.linear_descent import zero_balanced_start
from numerics.rich_lazy import (
    BALANCED,
    KINDS,
    LARGE,
    SMALL,
    blocks,
    flow,
    gaps,
    learnable_sign,
    start,
    state,
    task_state,
    trained,
)
from numerics.study import load_study, recomputed_claims

REPRESENTATIONS = "braun2022.fig-3c-e-final-representations"
SIZES = {"hidden": 10, "small": 1e-3, "large": 2.0}


@pytest.fixture
def sigma():
    return hierarchy()


def test_large_starts_have_the_same_mean_square_and_small_ones_its_scale(sigma):
    def mean_square(kind):
        found = [start(kind, SIZES, seed, sigma) for seed in range(200)]
        return np.mean([(W1**2).sum() + (W2**2).sum() for W1, W2 in found])

    assert mean_square(LARGE) == pytest.approx(mean_square(BALANCED), rel=0.02)
    assert mean_square(SMALL) == pytest.approx(mean_square(LARGE) * (1e-3 / 2) ** 2, rel=0.02)


def test_zero_balanced_starts_are_balanced_and_learnable_and_half_of_them_would_not_be(sigma):
    generator = np.random.default_rng(3)
    drawn = [zero_balanced_start(10, 8, 8, 4.0, generator) for _ in range(100)]
    signed = [learnable_sign(*pair, sigma) for pair in drawn]
    for W1, W2 in signed:
        np.testing.assert_allclose(W1 @ W1.T, W2.T @ W2, atol=1e-13)
    count = [
        int(learnable(*(np.stack(part) for part in zip(*pairs, strict=True)), sigma).learnable.sum())
        for pairs in (drawn, signed)
    ]
    assert 30 < count[0] < 70 and count[1] == 100


@pytest.mark.parametrize("kind", KINDS)
def test_training_follows_the_flow_as_the_step_vanishes(kind, sigma):
    W1, W2 = start(kind, SIZES | {"small": 0.1}, 0, sigma)
    times = [0.0, 0.2, 0.4]
    exact = flow(kind, W1, W2, sigma, times)
    errors = [np.abs(trained(W1, W2, sigma, times, rate) - exact).max() for rate in (2e-3, 1e-3, 5e-4)]
    np.testing.assert_allclose(exact[0], state(W1, W2), atol=1e-12)
    assert np.diff(np.log2(errors)) == pytest.approx([-1, -1], abs=0.1)


def test_the_rich_solution_has_the_blocks_of_the_task_and_no_gap(sigma):
    inputs, function, outputs = blocks(task_state(sigma), 8)
    np.testing.assert_allclose(function, sigma, atol=1e-14)
    np.testing.assert_allclose(inputs @ inputs, sigma.T @ sigma, atol=1e-13)
    np.testing.assert_allclose(outputs @ outputs, sigma @ sigma.T, atol=1e-13)
    assert max(gaps(task_state(sigma), sigma)) == 0
    moved = task_state(sigma)
    moved[8:, :8] *= 1.5
    assert gaps(moved, sigma) == pytest.approx((0, 0.5, 0))


def test_blocks_of_networks_whose_outputs_are_fewer_are_found_where_they_are():
    generator = np.random.default_rng(4)
    W1, W2 = generator.standard_normal((3, 5)), generator.standard_normal((2, 3))
    for found, wanted in zip(blocks(state(W1, W2), 5), (W1.T @ W1, W2 @ W1, W2 @ W2.T), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize(
    ("part", "kind", "name", "spoil", "failing"),
    [
        ("learned", LARGE, "trained_function", lambda gaps: [1e-6] * len(gaps), {"same-function-trained"}),
        ("learned", SMALL, "flow_function", lambda gap: gap + 1e-6, {"same-function-flow"}),
        ("learned", SMALL, "trained_input", lambda gaps: [0.02] * len(gaps), {"rich-trained"}),
        ("learned", BALANCED, "flow_output", lambda gap: gap + 1e-6, {"rich-from-balance-flow"}),
        (
            "learned",
            SMALL,
            "scaled_output",
            lambda gaps: [gap**0.9 for gap in gaps],
            {"small-scale-order-output"},
        ),
        (
            "learned",
            BALANCED,
            "trained_input",
            lambda gaps: [gaps[-1]] * len(gaps),
            {"step-order-input"},
        ),
        ("learned", LARGE, "trained_input", lambda gaps: [1e-3] * len(gaps), {"rich-against-lazy"}),
        ("signs", BALANCED, "stuck", lambda count: count // 2, {"half-are-stuck"}),
        ("signs", BALANCED, "told_wrong", lambda count: 1, {"determinant-tells-which"}),
        ("signs", BALANCED, "most_missed", lambda loss: 4 * loss, {"stuck-ones-miss-the-weakest-mode"}),
        ("signs", BALANCED, "escaped", lambda count: count - 1, {"descent-leaves-the-separatrix"}),
        (
            "signs",
            BALANCED,
            "escape_order",
            lambda orders: [order / 2 for order in orders],
            {"escape-waits-for-the-step"},
        ),
    ],
)
def test_one_contradiction_in_one_cell_breaks_one_claim_on_representations(part, kind, name, spoil, failing):
    rows = load_evidence(REPRESENTATIONS)["cells"]
    place = next(
        place
        for place, row in enumerate(rows)
        if row["cell"]["part"] == part and row["cell"]["start"] == kind
    )
    values = rows[place]["values"]
    rows[place] = rows[place] | {"values": values | {name: spoil(values[name])}}
    claims = recomputed_claims(load_study(REPRESENTATIONS), rows)
    assert {claim.name for claim in claims if not claim.holds} == failing


@pytest.mark.parametrize("side", ["input", "output"])
def test_networks_that_are_all_rich_break_the_claim_that_large_random_ones_are_not(side):
    rows = [
        row | {"values": row["values"] | {f"trained_{side}": [1e-3] * 3}}
        if row["cell"]["start"] == LARGE
        else row
        for row in load_evidence(REPRESENTATIONS)["cells"]
    ]
    claims = recomputed_claims(load_study(REPRESENTATIONS), rows)
    assert f"lazy-from-large-random-{side}" in {claim.name for claim in claims if not claim.holds}
