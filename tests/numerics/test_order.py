"""The fitted order recovers a power, knows its own uncertainty, and refuses what has no order."""

from __future__ import annotations

import math

import pytest
from scipy.stats import linregress

from numerics.lab.order import fit_order, has_order, order_claim

STEPS = [0.1, 0.05, 0.025, 0.0125]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, -1.0])
def test_a_pure_power_is_recovered_with_no_uncertainty(power):
    order, stderr = fit_order(STEPS, [3.0 * step**power for step in STEPS])
    assert order == pytest.approx(power, abs=1e-12)
    assert stderr < 1e-12


def test_the_standard_error_is_that_of_a_linear_regression():
    errors = [0.11, 0.048, 0.027, 0.0119]
    known = linregress([math.log(s) for s in STEPS], [math.log(e) for e in errors])
    assert fit_order(STEPS, errors) == pytest.approx((known.slope, known.stderr), rel=1e-10)


@pytest.mark.parametrize(
    ("order", "stderr", "accepted"),
    [(1.0, 0.0, True), (1.09, 0.02, True), (1.11, 0.0, False), (0.89, 0.0, False), (1.0, 0.031, False)],
)
def test_an_order_is_confirmed_only_if_close_and_sharp(order, stderr, accepted):
    assert has_order(order, stderr) is accepted


def test_another_expected_order_can_be_asked_for():
    assert has_order(2.05, 0.01, expected=2.0)
    assert not has_order(1.0, 0.01, expected=2.0)


@pytest.mark.parametrize("errors", [[1.0, 0.5, 0.0, 0.1], [1.0, math.nan, 0.3, 0.1], [1.0, -0.5, 0.3, 0.1]])
def test_errors_that_are_not_positive_are_refused(errors):
    with pytest.raises(ValueError, match="errors must be positive and finite"):
        fit_order(STEPS, errors)


def test_two_points_do_not_make_an_order():
    with pytest.raises(ValueError, match="k >= 3"):
        fit_order([0.1, 0.05], [0.1, 0.05])


def powers(*orders):
    return [(STEPS, [3.0 * step**order for step in STEPS]) for order in orders]


def test_a_claim_on_orders_is_decided_by_the_series_that_is_farthest_from_the_expected_one():
    claim = order_claim("order", "O(h)", powers(1.01, 0.95, 1.03), about="check")
    assert claim.holds and claim.about == "check" and claim.estimate == pytest.approx(0.95)
    assert not order_claim("order", "O(h)", powers(1.0, 0.89)).holds
    assert not order_claim("order", "O(h)", powers(1.0, 1.0), expected=2.0).holds
    assert order_claim("order", "O(h²)", powers(1.95, 2.02), expected=2.0).estimate == pytest.approx(1.95)


def test_one_unsteady_series_breaks_a_claim_on_orders_however_good_its_order():
    unsteady = (STEPS, [0.1, 0.06, 0.021, 0.0125])
    assert abs(fit_order(*unsteady)[0] - 1) < 0.1
    claim = order_claim("order", "O(h)", [*powers(1.0), unsteady])
    assert not claim.holds and claim.stderr == fit_order(*unsteady)[1]
