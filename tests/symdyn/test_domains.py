"""Compiled results refuse rates, scales and times outside their domain, and inside it their values are finite."""

from __future__ import annotations

import numpy as np
import pytest

from symdyn.calculus.gram import Vector
from symdyn.catalogue.registry import index, load, results
from symdyn.compile.heads import UnsupportedHead

RATES = ("tau", "eta_a", "eta_w")
SIZE = 2
"""All vectors and matrices have this size, which fits every result."""

SIGNED = ("delta", "a", "a0", "b", "nu", "nu0", "omega", "omega0", "sigma")

ANY_TIME = {
    "single_neuron.balanced_size_dynamics": "a velocity, which runs backwards too",
    "single_neuron.linear_modes": "a linear equation is solved forwards and backwards",
    "single_neuron.nu_by_angle": "the solution by the angle is that of the equation in both directions",
    "single_neuron.upstream_readout": "the closed form is that of the equation in both directions",
}
"""Results that take a negative time, and why."""


TOPICS = sorted({entry.topic for entry in index()})


def compiled_with_rates_or_times(topic):
    """The results that compile to a function with a rate, a scale or a time among its arguments."""
    found = []
    for result in results(topic):
        if result.value is None:
            continue
        try:
            compiled = result.compiled
        except UnsupportedHead:  # a potential that is any function
            continue
        if {a.name for a in result.arguments} & {*RATES, "t"}:
            found.append(result)
            assert compiled is not None
    return found


def draw(result, rng):
    """Arguments at random: of either sign where they have one, matrices of rank one."""
    drawn = {}
    for argument in result.arguments:
        if isinstance(argument.symbol, Vector):
            drawn[argument.name] = rng.normal(size=SIZE)
        elif hasattr(argument.symbol, "rows"):
            shape = (SIZE,) if argument.symbol.cols == 1 else (SIZE, SIZE)
            factors = rng.normal(size=(2, SIZE))
            drawn[argument.name] = factors[0] if len(shape) == 1 else np.outer(*factors)
        elif argument.name in ("phi", "phi0"):
            drawn[argument.name] = rng.uniform(-0.9, 0.9)
        else:
            sign = rng.choice([-1, 1]) if argument.name in SIGNED else 1
            drawn[argument.name] = sign * rng.uniform(0.2, 1.5)
    return drawn


def inside(result, rng):
    """Arguments that the result accepts, and its values there."""
    for _ in range(300):
        drawn = draw(result, rng)
        try:
            values = result.numpy(**drawn)
        except ValueError:
            continue
        return drawn, values if isinstance(values, tuple) else (values,)
    raise AssertionError(f"{result.key} accepts none of 300 random points")


@pytest.mark.parametrize("topic", TOPICS)
def test_values_in_the_domain_are_finite_and_arguments_outside_are_refused(topic):
    for result in compiled_with_rates_or_times(topic):
        rng = np.random.default_rng(3)
        for _ in range(4):
            drawn, values = inside(result, rng)
            assert all(np.isfinite(value).all() for value in values), result.key
        for name in set(RATES) & set(drawn):
            for wrong in (0.0, -1.0):
                with pytest.raises(ValueError, match=f"{name} must be positive"):
                    result(**{**drawn, name: wrong})
        if "t" in drawn and result.key not in ANY_TIME:
            with pytest.raises(ValueError, match="t must be"):
                result(**{**drawn, "t": -1.0})


def test_results_that_take_a_negative_time_do():
    for key in ANY_TIME:
        drawn, _ = inside(load(key), np.random.default_rng(4))
        assert np.isfinite(load(key)(**{**drawn, "t": -0.01})).all(), key


def test_there_are_results_with_rates_and_with_times():
    named = [
        {a.name for a in result.arguments}
        for topic in TOPICS
        for result in compiled_with_rates_or_times(topic)
    ]
    assert sum("t" in names for names in named) >= 10
    assert sum("eta_a" in names for names in named) >= 30


@pytest.mark.parametrize(
    ("key", "arguments", "problem"),
    [
        ("prior_knowledge.decoupled_modes", {"t": 1, "a1": -1, "a2": 1, "s1": 1, "s2": 1}, "a1 must be not"),
        (
            "prior_knowledge.decoupled_modes",
            {"t": 1, "a1": 1, "a2": 1, "s1": 1, "s2": 0},
            "s2 must be positive",
        ),
        ("prior_knowledge.decoupled_modes", {"t": 1e3, "a1": 0, "a2": 1, "s1": 1, "s2": 1}, "underflow"),
        (
            "prior_knowledge.explicit_solution",
            {"t": 1e3, "a1": 1, "a2": 1, "b": 1, "s1": 1, "s2": 1},
            "underflow",
        ),
        ("prior_knowledge.time_of_peak", {"a1": -1, "a2": -1, "b": 0, "s": 1}, "a1 must be positive"),
        ("wide_linear.one_output_preconditioner", {"beta": [0, 0], "delta": -1}, "depends on the direction"),
        ("wide_linear.one_input_preconditioner", {"beta": [0, 0], "delta": 1}, "depends on the direction"),
        ("wide_linear.norms_of_a_neuron", {"beta_k": np.eye(2), "delta": 1}, "of rank one"),
        ("wide_linear.part_of_a_neuron", {"beta_k": np.zeros((2, 2)), "delta": 1}, "non-zero"),
        ("wide_linear.riccati_integrals", {"delta": 1, "t": 1e4, "rho": 1}, "no exponential overflows"),
        ("wide_linear.riccati_integrals", {"delta": 1, "t": 1, "rho": 0}, "rho must be positive"),
        ("wide_linear.riccati_integrals", {"delta": 2, "t": 1, "rho": 1}, "other than ±2ρ"),
    ],
)
def test_what_has_no_value_or_none_in_this_precision_is_refused(key, arguments, problem):
    with pytest.raises(ValueError, match=problem):
        load(key)(**arguments)


def test_the_other_limit_at_the_origin_does_not_depend_on_the_direction():
    np.testing.assert_array_equal(
        load("wide_linear.one_output_preconditioner")(beta=[0, 0], delta=1), np.eye(2)
    )
    np.testing.assert_array_equal(
        load("wide_linear.one_input_preconditioner")(beta=[0, 0], delta=-1), np.eye(2)
    )


def test_integrals_that_are_not_refused_have_five_digits():
    integrals, rng = load("wide_linear.riccati_integrals"), np.random.default_rng(5)
    compared = 0
    for size, rho, t, off in 10.0 ** rng.uniform((-5, -5, -5, -14), 2, size=(150, 4)):
        for delta in (size, -size, 2 * rho * (1 + off)):
            try:
                values = integrals(delta, t, rho)
            except ValueError:
                continue
            exact = [float(x) for x in integrals.mpmath(delta, t, rho, digits=50)]
            np.testing.assert_allclose(values, exact, rtol=1e-5)
            compared += 1
    assert compared > 80
