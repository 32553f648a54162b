"""What is printed is refuted where the paper claims it: at 0 < γ ≤ 1, and at whole widths and ranks too."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.catalogue.registry import index, load_printed
from symdyn.statements.kinds import Identity

TOPICS = ("random_matrices", "signal_propagation")
FORMS = {e.key: e for e in index("printed") if e.topic in TOPICS}
WIDTHS = {"N": 7, "N_in": 5, "N_out": 4, "N_next": 3, "r": 2}
"""Rank 2 of width 4, say; no two of them are equal."""


@pytest.mark.parametrize("key", FORMS)
def test_the_point_is_one_that_the_paper_admits(key, verdicts):
    found = verdicts[key]
    for verdict in (found.stated, found.under):
        if verdict is not None and verdict.witness is not None and "gamma" in verdict.witness.point:
            assert 0 < sp.Rational(verdict.witness.point["gamma"]) <= 1


def test_forms_that_name_widths_are_false_at_whole_widths(verdicts):
    seen = []
    for key, e in FORMS.items():
        statement, witness = load_printed(e).statement, verdicts[key].stated.witness
        if not isinstance(statement, Identity) or witness is None or not WIDTHS.keys() & witness.point.keys():
            continue
        difference = sp.sympify(statement.lhs) - sp.sympify(statement.rhs)
        at = {name: WIDTHS.get(name, value) for name, value in witness.point.items()}
        left = difference.subs({x: sp.sympify(at[x.name]) for x in difference.free_symbols if x.name in at})
        assert left.is_number and left != 0, key
        seen.append(key)
    assert len(seen) >= 4
