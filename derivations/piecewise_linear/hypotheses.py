"""What holds throughout the part of the paper on piecewise linear networks, and what its symbols mean."""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.input_space import regions
from derivations.piecewise_linear.network import expressivity, leaky_relu
from derivations.piecewise_linear.regimes import teacher_student
from derivations.piecewise_linear.symbols import (
    C,
    N,
    alpha,
    beta_a,
    beta_w,
    c,
    delta,
    demand,
    depth,
    dimension,
    eta_a,
    eta_w,
    gamma,
    imbalance,
    j,
    m,
    mu,
    power,
    power_ratio,
    ratio,
    t,
    tau,
    total,
    u,
    width,
    y,
)
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing("Sec. 1, Notation", "the learning rates are positive, η_a, η_w > 0", eta_a > 0, eta_w > 0),
    standing("App. C.2", "0 ≤ γ < 1", gamma >= 0, (gamma >= 0) & (gamma < 1)),
    stated(
        "Sec. 5, where M_k and the coordinates are written in β_k", "β_k ≠ 0, so that μ_k ≠ 0", sp.Ne(mu, 0)
    ),
    stated("Sec. 5", "δ_k ≪ 0 downstream", delta < 0),
    stated("Sec. 5", "δ_k = 0 in balance", sp.Eq(delta, 0)),
    stated("Sec. 5", "δ_k ≫ 0 upstream", delta > 0),
    meaning("t is a time or a positive factor", t > 0),
    meaning(
        "scales τ and α are positive, and α, by which outputs are divided, is not zero",
        tau > 0,
        alpha > 0,
        sp.Ne(alpha, 0),
    ),
    meaning("standard deviations of the weights are positive", beta_a > 0, beta_w > 0),
    meaning("the scale Σ, the ratio κ' and a label q are positive", total > 0, ratio > 0, demand > 0),
    meaning(
        "Δ, the powers of the width and the ratio κ' by positive numbers: all of them, part by part",
        imbalance,
        power,
        power_ratio,
        ratio,
        u > 0,
    ),
    meaning(
        "numbers of neurons, layers, choices, dimensions and degrees are positive",
        *(number > 0 for number in (N, j, C, depth, dimension, width, m)),
        j < N,
        m >= 1,
    ),
    meaning(
        "γ by a positive number, 0 < γ < 1, and c between γ and 1; the ends of the intervals follow by continuity",
        leaky_relu.below,
        leaky_relu.above,
        expressivity.rest,
        teacher_student.rest,
        c,
    ),
    meaning(
        "numbers by how much they exceed a bound, or by their logarithm",
        regions.rest,
        regions.log_u,
        expressivity.more,
    ),
    meaning("a label of the size y > 2τ: an example", y > 0, y > 2 * tau),
)
