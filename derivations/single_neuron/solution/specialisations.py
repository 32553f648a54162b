r"""The paper's three solutions are one: each is the exact solution in variables that need a sign of δ or of a.

From P and Q of the exact solution, with the variables of the paper (kunin2024, App. A.2.2 to A.2.4):

    ν = Q/P and υ = P/Q for every δ,        1/a² = E²/P² upstream,
    φ = √(η_a/η_w) Q/(‖β_*‖P) and μ = √(η_w/η_a) P²/E² for δ = 0 and a > 0.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.solution.balanced import angle, z
from derivations.single_neuron.solution.balanced_bernoulli import constant, size
from derivations.single_neuron.solution.riccati import nu_closed, upsilon_closed
from derivations.single_neuron.solution.unified import E2_closed, P_closed, Q_closed, every_start
from derivations.single_neuron.symbols import a0, delta, eta_a, eta_w, mu0, nu0, omega0, phi0, s, t, upsilon0
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Identity

slope = sp.sqrt(eta_w) / sp.sqrt(eta_a)
"""‖w‖/a on the cone δ = 0, a > 0."""

_cosine = (z - 1) / (z + 1)
balanced = Domain(
    (t, a0, eta_a, eta_w, s),
    cells=(
        Cell(
            "δ = 0, a_0 > 0",
            {t: 1, a0: 1, eta_a: 1, eta_w: 1, s: 1, z: 1},
            {delta: 0, phi0: _cosine, omega0: slope * a0 * s * _cosine, mu0: slope * a0**2},
            "|φ_0| < 1",
        ),
    ),
)


@result(
    domain=replace(
        every_start,
        let={nu0: omega0 / a0, upsilon0: a0 / omega0},
        conditions=tuple(
            sp.Ne(x, 0) for x in (P_closed, Q_closed, sp.denom(nu_closed), sp.denom(upsilon_closed))
        ),
        words="any start and any balance, η_a, η_w, ‖β_*‖ > 0, while ν and υ are finite",
    ),
    uses=(
        "single_neuron.solution_for_every_balance",
        "single_neuron.upstream_readout",
        "single_neuron.solution_without_crossing",
    ),
)
def special_cases() -> Conjunction:
    """The balanced, upstream and downstream solutions of the paper, corrected, as the one exact solution."""
    size_now = size(s, angle, constant(s, sp.atanh(phi0), mu0))
    return Conjunction(
        Identity(Q_closed / P_closed, nu_closed, name=r"\nu"),
        Identity(P_closed / Q_closed, upsilon_closed, name=r"\upsilon"),
        Identity(Q_closed / (P_closed * slope * s), sp.tanh(angle), name=r"\phi", on=balanced),
        Identity(slope * P_closed**2 / E2_closed, size_now, name=r"\mu", on=balanced),
    )
