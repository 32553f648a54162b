"""Where the results of the single-neuron network are claimed: the cells upstream, balanced and downstream.

The sign of δ decides the geometry. A cell says the sign, so that roots can be taken in it; points of the cells
are where claims are tested and refuted.
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.symbols import beta, delta, eta_a, eta_w
from symdyn.calculus.gram import norm2
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import standing, stated

x_beta = norm2(beta)

UPSTREAM = Cell("upstream, δ > 0", {delta: 1, x_beta: 1, eta_a: 1, eta_w: 1})
BALANCED = Cell("balanced, δ = 0", {x_beta: 1, eta_a: 1, eta_w: 1}, {delta: 0})
DOWNSTREAM = Cell("downstream, δ < 0", {delta: -1, x_beta: 1, eta_a: 1, eta_w: 1})
REGIMES = (UPSTREAM, BALANCED, DOWNSTREAM)

function_space = Domain((delta, eta_a, eta_w), (beta,), REGIMES, words="β ≠ 0")
"""Any balance, any rates, any β ≠ 0."""

UNIT_PRODUCT = standing(
    "App. A.3, before A.3.1",
    "η_a η_w = 1, which is absorbed into β and y",
    sp.Eq(eta_w, 1 / eta_a, evaluate=False),
)

REGIME = stated(
    "Sec. 3, where the regimes are named",
    "δ > 0 upstream, δ = 0 balanced, δ < 0 downstream: each part is claimed in its regime",
    delta > 0,
    sp.Eq(delta, 0),
    delta < 0,
)

unit_rates = Domain((delta,), (beta,), REGIMES, words="η_a η_w = 1, β ≠ 0", hypotheses=(UNIT_PRODUCT,))
"""Any balance and any β ≠ 0, the product of the rates absorbed into β."""
