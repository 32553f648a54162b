"""Claims about means: the t interval decides, and the table of quantiles is right."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import spearmanr, t, ttest_1samp

from numerics.lab.claims import (
    _T,
    Measurement,
    Measurements,
    at_most,
    between,
    differences,
    mean_and_stderr,
    mean_at_least,
    mean_at_most,
    rank_correlation,
    ratios,
    relative_deviations,
)


def test_the_table_holds_the_quantiles_of_students_t():
    np.testing.assert_allclose(_T, t.ppf(0.975, np.arange(1, len(_T) + 1)), atol=5e-4)


@pytest.mark.parametrize("count", [2, 4, 16, 40])
def test_a_mean_is_confirmed_where_its_t_interval_says_so(count):
    samples = np.random.default_rng(count).standard_normal(count) + 1.0
    low, high = ttest_1samp(samples, 0.0).confidence_interval(0.95)
    slack = 1e-3 * (high - low) if count <= 21 else 0.05 * (high - low)
    values = samples.tolist()
    assert mean_at_least("m", "", values, low - slack).holds
    assert not mean_at_least("m", "", values, low + slack).holds
    assert mean_at_most("m", "", values, high + slack).holds
    assert not mean_at_most("m", "", values, high - slack).holds


def test_one_sample_confirms_nothing_and_neither_does_a_nan():
    assert not mean_at_least("m", "", [5.0], 0.0).holds
    assert mean_at_least("m", "", [5.0], 0.0).stderr is None
    assert not mean_at_most("m", "", [0.0, math.nan, 0.1], 1.0).holds
    assert all(map(math.isnan, mean_and_stderr([])))


def test_the_rank_correlation_is_spearmans():
    first, second = np.random.default_rng(2).standard_normal((2, 12)).tolist()
    assert rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)
    assert math.isnan(rank_correlation([1.0, math.nan], [1.0, 2.0]))
    with pytest.raises(ValueError, match="two sequences of one length"):
        rank_correlation([1.0], [1.0])


def test_pairs_are_compared_partner_by_partner_and_none_is_left_over():
    assert differences([3.0, 1.0], [1.0, 2.0]) == [2.0, -1.0]
    assert ratios([3.0, 1.0], [1.0, 2.0]) == [3.0, 0.5]
    for compare in (differences, ratios):
        with pytest.raises(ValueError, match="shorter"):
            compare([1.0, 2.0], [1.0])


def test_what_is_absent_deviates_without_limit():
    assert relative_deviations([1.1, 0.5], [1.0, 1.0]) == pytest.approx([0.1, 0.5])
    assert relative_deviations([math.nan, 1.0, 1.0], [1.0, math.nan, 0.0]) == [math.inf] * 3


def test_the_values_of_a_coordinate_come_once_each_in_the_order_of_the_grid():
    rows = [Measurement({"scale": scale, "seed": seed}, {}) for scale in (2.0, 0.5) for seed in (7, 3)]
    assert Measurements(rows).distinct("scale") == [2.0, 0.5]
    assert Measurements(rows).distinct("seed") == [7, 3]


@pytest.mark.parametrize("estimate", [math.nan, math.inf])
def test_a_claim_without_a_number_never_holds_below_and_is_stored_without_one(estimate):
    claim = at_most("small", "at most three", estimate, 3)
    assert not claim.holds
    assert json.loads(json.dumps(claim.as_dict(), allow_nan=False))["estimate"] is None


def test_bounds_and_errors_that_are_not_finite_are_stored_as_none():
    claim = between("b", "one draw", 1.0, -math.inf, 2.0, stderr=math.inf)
    fields = json.loads(json.dumps(claim.as_dict(), allow_nan=False))
    assert (fields["threshold"], fields["stderr"]) == ([None, 2.0], None)


def test_ranks_with_ties_are_refused():
    with pytest.raises(ValueError, match="ranks need values without ties"):
        rank_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 2.0, 2.0])


def test_a_claim_belongs_to_one_of_three():
    with pytest.raises(ValueError, match="claim small: about is one of paper, check, own, not 'chek'"):
        at_most("small", "at most three", 4, 3, about="chek")
