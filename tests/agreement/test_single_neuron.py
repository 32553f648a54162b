"""Trained single-neuron networks converge to the exact trajectory at first order in the step, and to nothing
else.
"""

from __future__ import annotations

import numpy as np
import pytest

from derivations.single_neuron.evaluators.exact_solution import trajectory
from numerics.lab.order import fit_order, has_order
from numerics.studies.single_neuron.agreement import QUANTITIES, delta_drift, deviations, exact_trajectory

BETA_STAR = np.array([0.6, 0.8, 0.0])
RECORDS = 125
PLACES = range(15)


def slower(t, **arguments):
    return trajectory(t=0.96 * t, **arguments)


def upper_rate_off(eta_a, **arguments):
    """Ten percent, for upstream networks hardly feel η_a."""
    return trajectory(eta_a=1.1 * eta_a, **arguments)


def lower_rate_off(eta_w, **arguments):
    return trajectory(eta_w=0.95 * eta_w, **arguments)


def rates_exchanged(eta_a, eta_w, **arguments):
    return trajectory(eta_a=eta_w, eta_w=eta_a, **arguments)


def target_off(beta_star, **arguments):
    return trajectory(beta_star=1.03 * beta_star, **arguments)


def alignment_flipped(w0, beta_star, **arguments):
    """The sign of wᵀβ_* reversed at the start."""
    along = (w0 @ beta_star)[..., None] / (beta_star @ beta_star) * beta_star
    return trajectory(w0=w0 - 2 * along, beta_star=beta_star, **arguments)


def across_off(w0, beta_star, **arguments):
    """A tenth of the part of w across β_* lost."""
    along = (w0 @ beta_star)[..., None] / (beta_star @ beta_star) * beta_star
    return trajectory(w0=along + 0.9 * (w0 - along), beta_star=beta_star, **arguments)


def unmoved_by(perturbation, training, quantity):
    """Configurations in which, by symmetry, a perturbation changes nothing."""
    if perturbation is rates_exchanged:
        return set(np.flatnonzero(training.eta_a == training.eta_w))
    if perturbation is alignment_flipped:
        symmetric = np.abs(training.w0 @ BETA_STAR) < 1e-12
        if quantity == "loss":
            symmetric = symmetric | (training.a0 == 0)
        return set(np.flatnonzero(symmetric))
    return set()


PERTURBED = (
    slower,
    upper_rate_off,
    lower_rate_off,
    rates_exchanged,
    target_off,
    alignment_flipped,
    across_off,
)


def orders(training, formula):
    """The fitted order and its standard error, for each quantity and configuration."""
    exact = exact_trajectory(
        formula,
        training.horizon,
        RECORDS,
        training.a0,
        training.w0,
        BETA_STAR,
        training.eta_a,
        training.eta_w,
    )
    found = [
        deviations(run, exact, training.X, training.y, training.eta_a, training.eta_w)
        for run in training.runs
    ]
    return {
        name: [fit_order(training.steps(place), [item[name][place] for item in found]) for place in PLACES]
        for name in QUANTITIES
    }


@pytest.fixture(scope="session")
def exact_orders(training):
    return orders(training, trajectory)


@pytest.fixture(scope="session", params=PERTURBED, ids=lambda formula: formula.__name__)
def perturbed(training, request):
    return request.param, orders(training, request.param)


def test_configurations_cover_every_regime(training):
    delta = training.eta_w * training.a0**2 - training.eta_a * (training.w0**2).sum(-1)
    final = training.runs[-1].a[:, -1]
    assert len(training.names) == len(PLACES)
    assert (delta > 3).any() and (delta < -3).any() and (np.abs(delta) < 1e-12).sum() >= 3
    assert (training.a0 * final < 0).sum() >= 3
    assert (training.eta_a * training.eta_w != 1).any() and (training.eta_a != training.eta_w).sum() >= 3


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_deviation_from_the_exact_trajectory_is_of_first_order(training, exact_orders, quantity):
    failed = {
        training.names[place]: fit for place, fit in enumerate(exact_orders[quantity]) if not has_order(*fit)
    }
    assert failed == {}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_formula_a_few_percent_off_leaves_a_deviation_that_does_not_shrink(training, perturbed, quantity):
    perturbation, fits = perturbed
    unmoved = unmoved_by(perturbation, training, quantity)
    shrinking = {
        training.names[place]: fits[quantity][place]
        for place in set(PLACES) - unmoved
        if not abs(fits[quantity][place][0]) < 0.5
    }
    assert shrinking == {}
    assert not any(has_order(*fits[quantity][place]) for place in set(PLACES) - unmoved)


def test_drift_of_delta_under_gradient_descent_is_of_first_order(training):
    drifts = [delta_drift(run, training.eta_a, training.eta_w) for run in training.runs]
    fits = [fit_order(training.steps(place), [drift[place] for drift in drifts]) for place in PLACES]
    assert {training.names[place]: fit for place, fit in enumerate(fits) if not has_order(*fit)} == {}


def test_drift_of_a_quantity_that_is_not_conserved_is_not_of_first_order(training):
    """With the rates exchanged, or a sign turned, the combination is not conserved and its change does not
    shrink.
    """
    exchanged = [delta_drift(run, training.eta_w, training.eta_a) for run in training.runs]
    turned = [delta_drift(run, -training.eta_a, training.eta_w) for run in training.runs]
    unequal = [place for place in PLACES if training.eta_a[place] != training.eta_w[place]]
    for drifts, places in ((exchanged, unequal), (turned, PLACES)):
        fits = [fit_order(training.steps(place), [drift[place] for drift in drifts]) for place in places]
        assert not any(has_order(*fit) for fit in fits)
