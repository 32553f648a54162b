"""The phase diagram at growing width: exponents follow from the bounds, and the bounds hold for networks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from derivations.piecewise_linear.infinite_width.phase_diagram import movement_by_fitting, phase_boundary
from derivations.piecewise_linear.infinite_width.phase_exponent import movement_exponent
from symdyn.proof.check import refuted
from symdyn.statements.kinds import Identity

LAZY = [(0.5, -1.0), (0.5, 0.0), (0.75, 0.5), (0.9, -0.3), (1.0, 0.4), (1.25, 0.5), (1.5, 1.2), (2.0, 1.01)]
RICH = [(1.25, 0.0), (1.25, -1.0), (1.5, 0.3), (1.75, -0.5), (2.0, 0.99), (2.0, -1.5)]
BOUNDARY = [(1.0, 0.0), (1.0, -0.7), (1.5, 0.5), (2.0, 1.0)]


def slope(function, gamma, gamma_prime):
    """The power of the width with which a function of (Σ, κ′) grows, at widths that are beyond any network."""
    logs = [math.log(function(h ** (1 - gamma), h**-gamma_prime)) for h in (1e60, 1e80)]
    return (logs[1] - logs[0]) / math.log(1e20)


def growth(total, ratio, d=2, label=1.0):
    """The least growth of ‖W‖ that fits a label."""
    return math.sqrt(ratio * label**2 / (d * total * (label + total * ratio)))


def movement(total, ratio):
    """The larger of the movements at the first velocities and by the balance."""
    readouts = 2 / (total * (1 + ratio**2))
    return max(ratio**2 * readouts, (ratio * readouts) ** 2)


def least_norm(balance, label):
    """The least ‖W‖² that fits a label."""
    return (math.sqrt(balance**2 + 4 * label**2) - balance) / 2


@pytest.mark.parametrize("point", LAZY)
def test_on_the_lazy_side_the_exponent_is_that_of_the_larger_movement_and_negative(point):
    assert movement_exponent(*point) == pytest.approx(slope(movement, *point), abs=1e-9)
    assert movement_exponent(*point) < 0


@pytest.mark.parametrize("point", RICH)
def test_on_the_rich_side_the_exponent_is_that_of_the_growth_which_labels_demand_and_positive(point):
    assert movement_exponent(*point) == pytest.approx(slope(growth, *point), abs=1e-9)
    assert movement_exponent(*point) > 0


@pytest.mark.parametrize("point", BOUNDARY)
def test_the_exponent_vanishes_on_the_boundary_and_is_continuous_there(point):
    assert movement_exponent(*point) == 0
    around = [movement_exponent(point[0] + dx, point[1] + dy) for dx in (-1e-6, 1e-6) for dy in (-1e-6, 1e-6)]
    assert max(map(abs, around)) < 1e-5


def test_larger_scales_need_a_larger_ratio_to_be_rich_and_none_suffices_below_one():
    assert movement_exponent(1.75, 0.5) > 0 > movement_exponent(1.25, 0.5)
    assert movement_exponent(1.25, 0.0) > 0
    assert all(movement_exponent(0.9, -ratio) < 0 for ratio in (0, 1, 10, 1000))


def test_a_network_that_outgrows_its_labels_is_refused():
    with pytest.raises(ValueError, match="at least 1/2"):
        movement_exponent(0.4, 0.0)


def test_no_network_fits_a_label_with_less_and_aligned_neurons_need_no_more():
    generator = np.random.default_rng(0)
    x = np.array([0.6, 0.8])
    for _ in range(200):
        a, W = generator.standard_normal(6), generator.standard_normal((6, 2)) * generator.uniform(0.1, 3)
        label = abs(a @ np.maximum(W @ x, 0))
        assert (W**2).sum() >= least_norm((a**2).sum() - (W**2).sum(), label)
    a = np.abs(a)
    W = 1.7 * a[:, None] * x
    label, norm = a @ np.maximum(W @ x, 0), (W**2).sum()
    assert norm == pytest.approx(least_norm((a**2).sum() - norm, label), rel=1e-12)


@pytest.mark.parametrize("result", [movement_by_fitting, phase_boundary])
def test_the_arguments_are_proved_and_every_fact_has_a_change_that_is_refuted(result, verdicts):
    verdict = verdicts[result.key]
    assert (verdict.outcome, verdict.facts, verdict.survivors) == ("ARGUED", "proved", ())
    for fact in result.statement.because:
        if isinstance(fact, Identity):
            assert any(refuted(mutant, result.domain) for _, mutant in fact.mutants())
