"""What holds throughout the part of the paper on the single-neuron network, and what its symbols mean."""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.symbols import (
    E,
    beta,
    beta_star,
    eta_a,
    eta_w,
    s,
    t,
    t_c,
    tau,
)
from symdyn.calculus.gram import norm2
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing("Sec. 1, Notation", "the learning rates are positive, η_a, η_w > 0", eta_a > 0, eta_w > 0),
    standing(
        "App. A.2, and Sec. 3 where φ divides by ‖β_*‖",
        "β_* ≠ 0",
        s > 0,
        norm2(beta_star) > 0,
    ),
    standing(
        "Sec. 3 and App. A.3",
        "β ≠ 0 wherever M is written in β: only starts with ‖β(t)‖ > 0 for all t ≥ 0 are studied there",
        norm2(beta) > 0,
    ),
    standing(
        "App. A.2.1 and A.3",
        "η_a η_w = 1 without loss of generality, the product being absorbed into β",
        sp.Eq(eta_w, 1 / eta_a, evaluate=False),
    ),
    stated(
        "App. A.4.2, the Sherman-Morrison formula",
        "1 + vᵀA⁻¹u ≠ 0, by which it divides",
        "(v'*A^-1*u) + 1 not zero",
        "(u'*A^-1*v) + 1 not zero",
    ),
    meaning("t is the time since the start", t > 0, t >= 0),
    meaning("τ is the time since the start in units of 1/|δ|", tau > 0),
    meaning("t_c is a time after the start", t_c > 0),
    meaning("E is the exponential of an integral", E > 0),
)
