"""What holds throughout the part of the paper on random matrices, and what its symbols mean."""

from __future__ import annotations

from derivations.random_matrices.symbols import (
    L,
    N,
    N_in,
    N_out,
    chi,
    excess,
    gamma,
    gamma2,
    m,
    mu1,
    mu2,
    r,
    root,
    sigma,
    u,
    z,
)
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing("App. A.3", "0 < γ ≤ 1", gamma > 0, gamma <= 1, gamma2 > 0, gamma2 <= 1, root > 0),
    standing("Sec. 1", "a variance σ_α² > 0", sigma > 0),
    standing("Sec. 3", "widths and ranks are positive numbers, r ≤ N", N > 0, N_in > 0, N_out > 0, r > 0),
    stated("Sec. 3.1, where the moments divide by μ_1", "μ_1 > 0, μ_2 > 0", mu1 > 0, mu2 > 0, chi > 0),
    meaning("L ≥ 1 is a number of layers", L > 0, L >= 1),
    meaning("z, u and M(z) are where the transforms are defined", z, u, m),
    meaning("μ_2/μ_1² - 1 by a number that is not negative", excess >= 0),
    stated(
        "Sec. 1 and Sec. 3.2",
        "the columns of C^(l), or the first r columns of W/σ_α, are orthonormal",
        *(f"{name} has orthonormal columns" for name in "CQPUV"),
    ),
)
