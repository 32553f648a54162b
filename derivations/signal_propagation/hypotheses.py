"""What holds throughout the part of the paper on signal propagation, and what its symbols mean."""

from __future__ import annotations

from derivations.signal_propagation.symbols import (
    N,
    N_in,
    N_next,
    N_out,
    chi,
    chi_next,
    gamma,
    q,
    q_next,
    q_star,
    q_tilde,
    r,
    s,
    s12,
    s22,
    sigma,
    sigma_b,
    sigma_w,
    y,
    z1,
    z2,
)
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing("App. A.3", "0 < γ ≤ 1", gamma > 0, gamma <= 1),
    standing("Sec. 1", "variances are positive", sigma > 0, sigma_b > 0, sigma_w > 0),
    standing(
        "Sec. 1", "widths and ranks are positive numbers", N > 0, N_in > 0, N_out > 0, N_next > 0, r > 0
    ),
    stated("Sec. 1", "the columns of C^(l) are orthonormal", "C has orthonormal columns"),
    stated(
        "Eq. (7) and (8), which divide by lengths or take their roots", "q > 0", q > 0, q_star > 0, q_next > 0
    ),
    stated("Eq. (8)", "χ_γ > 0", chi > 0, chi_next > 0),
    meaning("σ_α²Eφ² is positive", s > 0, s22 > 0, s12),
    meaning("1 is the vector of r ones", "1 has k entries 1"),
    meaning("a mean square is positive", q_tilde > 0),
    meaning("coordinates and coefficients", y > 0, z1, z2),
)
