"""Printed forms of the piecewise linear network at the inputs that tell them from the true ones."""

from __future__ import annotations

import pytest
import sympy as sp


def test_two_neurons_that_both_matter_change_together():
    def active(x):
        return (x > 0) + (-x > 0)

    assert active(1) == active(-1) == 1  # |x| = σ(x) + σ(-x): no change of parity across x = 0


def test_what_a_label_demands_downstream_does_not_vanish_with_the_scale():
    q, size = sp.symbols("q size", positive=True)
    share = (sp.sqrt(size**2 + 4 * q**2) - size) / (2 * size)
    assert share.subs({q: 1, size: 1}) == (sp.sqrt(5) - 1) / 2
    assert sp.limit(share, size, sp.oo) == 0


@pytest.mark.parametrize(
    ("name", "status"), [("printed_parity_rule", "erratum"), ("printed_lazy_downstream", "conditional")]
)
def test_the_printed_form_is_refuted_where_it_claims_too_much(name, status, verdicts):
    verdict = verdicts[f"piecewise_linear.{name}"]
    assert verdict.status == status
    assert verdict.witness is not None
