"""What holds throughout the part of the paper on deep linear networks, and what its symbols mean."""

from __future__ import annotations

from derivations.deep_linear.interpolators.dual_variables import drawn_start, log_e, log_s
from derivations.deep_linear.preconditioning.rich import drawn, log_norm, rho
from derivations.deep_linear.symbols import L, S, beta, e, sigma, sigma_a, width, x
from symdyn.calculus.gram import norm2
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing("App. B.2", "d = h, and all parameters share the learning rate η = 1"),
    stated(
        "App. B.2, Definition 12",
        "isotropic initialisation: aaᵀ - W_L W_Lᵀ = δ I_h and W_{l+1}ᵀW_{l+1} = W_l W_lᵀ",
        *(f"isotropic with {depth} hidden layers" for depth in (1, 2, 3)),
        "balanced layers",
    ),
    stated(
        "App. B.2, Theorem 15",
        "‖β(t)‖ > 0 for all t ≥ 0, and δ → 0",
        norm2(beta) > 0,
    ),
    meaning("L ≥ 1 is a number of hidden layers", L > 0),
    meaning("x = ‖β‖² and e = -δ are positive", x > 0, e > 0, S > 0),
    meaning(
        "lengths by their logarithms, and L by ρ = 1/(L + 1)", log_norm, log_s, log_e, rho, drawn, drawn_start
    ),
    meaning("scales of Gaussian weights and the width are positive", sigma > 0, sigma_a > 0, width > 0),
    stated(
        "App. B.2",
        "W_l = α O_l with orthogonal O_l",
        "O has orthonormal columns",
        "U has orthonormal columns",
    ),
)
