"""Every function keeps the accuracy contract over 24 decades of every argument, and at the ends of the range.

`SYMDYN_ACCURACY_DENSE=30 pytest tests/agreement/test_accuracy_contract.py -s` draws thirty times as many points.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from symdyn.catalogue.registry import load
from tests.agreement import accuracy

TOPICS = ("single_neuron", "piecewise_linear", "wide_linear", "deep_linear", "prior_knowledge")
DECLINED = {"grid": 0.01, "extreme": 0.10}
"""The largest share of values that may be a named error though they exist: where squares overflow, and at edges."""
WITHHELD = {"grid": 0.25, "extreme": 0.60}
"""The largest share of values that may be NaN though they exist, where calls may not look at them."""


@pytest.mark.parametrize("kind", ["grid", "extreme"])
@pytest.mark.parametrize("topic", TOPICS)
def test_compiled_results_keep_the_accuracy_contract(topic, kind):
    report = accuracy.examine(accuracy.compiled_subjects(topic), kind)
    print("\n" + report.table())
    counts = report.counts[topic]
    assert not report.faults, "\n" + report.worst()
    assert counts["right"] > 0
    assert counts["declined"] <= DECLINED[kind] * (counts["right"] + counts["declined"])


@pytest.mark.parametrize("kind", ["grid", "extreme"])
@pytest.mark.parametrize("topic", TOPICS)
def test_unchecked_values_keep_it_or_are_nan(topic, kind):
    report = accuracy.examine(accuracy.compiled_subjects(topic), kind, ("float64",), check=False)
    print("\n" + report.table())
    counts = report.counts[topic]
    assert not report.faults, "\n" + report.worst()
    assert counts["withheld"] <= WITHHELD[kind] * (counts["right"] + counts["withheld"])


HARD = (
    ("single_neuron.potential_equivalence", {"beta": [1e-3, 0, 0], "delta": 48.6}),
    ("single_neuron.potential_equivalence", {"beta": [1e150, 0.5], "delta": 1.0}),
    ("single_neuron.position_on_the_line", {"k": -0.5, "delta": -1e8, "s": 1e-2}),
    ("single_neuron.polar_dynamics_of_unit_product", {"delta": 1, "mu": 1e-9, "phi": 0.5, "s": 1}),
    ("single_neuron.weights_from_phi", {"w0": [-8e-13, -9e-14], "beta_star": [1, 2], "c": 1e6, "alpha": 1e6}),
    ("wide_linear.riccati_integrals", {"delta": 1, "t": 1, "rho": 1e-4}),
    ("wide_linear.riccati_integrals", {"delta": 2 + 1e-12, "t": 1, "rho": 1}),
    ("prior_knowledge.decoupled_modes", {"tau": 1, "t": 1, "a1": 1, "a2": 1, "s1": 1e-15, "s2": 1}),
    ("deep_linear.rich_inverse", {"beta": [3.75], "L": 1e5}),
    ("single_neuron.kernel_distance", {"kernel1": np.eye(3).tolist(), "kernel2": np.ones((3, 3)).tolist()}),
)


@pytest.mark.parametrize(("key", "arguments"), HARD)
def test_values_where_all_digits_cancel_or_powers_overflow(key, arguments):
    result = load(key)
    arguments = {a.name: arguments.get(a.name, a.default) for a in result.arguments}
    exact = [mpmath.mpf(x) for x in _numbers(result.mpmath(**arguments, digits=400))]
    for function in (result.numpy, result.torch):
        found = [float(x) for x in _numbers(function(**arguments))]
        np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-13)


def _numbers(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [x for part in value for x in _numbers(part)] if isinstance(value, (list, tuple)) else [value]
