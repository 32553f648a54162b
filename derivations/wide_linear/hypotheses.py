"""What holds throughout the part of the paper on wide linear networks, and what its symbols mean."""

from __future__ import annotations

import sympy as sp

from derivations.wide_linear.symbols import (
    D,
    alpha,
    beta,
    constant,
    delta,
    eta_a,
    eta_w,
    f,
    gap,
    length,
    mobility,
    omega,
    sigma,
    sigma_a,
    sigma_j,
    sigma_w,
    total,
    width,
)
from symdyn.calculus.gram import norm2
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing("Sec. 1, Notation", "the learning rates are positive, η_a, η_w > 0", eta_a > 0, eta_w > 0),
    standing("Sec. 4, Theorem 2", "‖β_k‖_F ≠ 0, here x = ‖β_k‖² > 0", norm2(beta) > 0),
    stated(
        "Sec. 4, Theorem 2",
        "‖β_k‖_F ≠ 0 for all k: neither a_k nor w_k vanishes",
        "(a'*a) > 0",
        "(w'*w) > 0",
        "(e[k]'*A*A'*e[k]) > 0",
        "(e[k]'*W*W'*e[k]) > 0",
        "(A)**2, (W*W') not zero",
        "(A*A'), (W)**2 not zero",
    ),
    meaning("σ_0 is the standard deviation of weights", "sigma0 > 0"),
    stated("App. B.1.6, Assumption 7", "Δ = δ I_h", "Δ = δ I"),
    stated(
        "App. B.1.6, Lemmas 8 and 9",
        "Δ = δ I_h, and h ≥ d if δ < 0 for WᵀW, h ≥ c if δ > 0 for AᵀA; with h ≤ d or h ≤ c the layer is square",
        "a square layer under isotropic balance",
    ),
    stated("Sec. 4, Theorem 3", "Δ = δ I_h, and h = d if δ < 0 or h = c if δ > 0", "Lemmas 8 and 9"),
    stated(
        "App. B.1.7, Lemma 10",
        "Δ = δ I_h; y is a neuron direction, Aᵀy = p v and Wᵀy = q u with the singular vectors u, v of β",
        "a neuron direction",
    ),
    stated(
        "App. B.1.7, proof of Lemma 10",
        "h < min(d, c), and u, v are singular vectors beyond the first h",
        "no neuron for this pair",
    ),
    stated("App. B.1.1, c = h", "Δ = δ I and A is invertible throughout training", "Δ = δ I, A invertible"),
    stated("App. B.1.1", "ν and S share their eigenspaces where decoupling is spoken of", "one basis"),
    stated("App. B.1.7, Theorem 11", "δ ≠ 0", sp.Ne(delta, 0)),
    meaning("the scales of Gaussian weights and the width are positive", width > 0, sigma_a > 0, sigma_w > 0),
    meaning("D is the size of the |δ_k|", D > 0),
    meaning("ℓ = 2√(η_a η_w)|λ| > 0; where λ = 0 the potential is zero", length > 0),
    meaning("σ_i, σ_j > 0 are singular values; those that vanish add |δ|/2 to an eigenvalue", sigma, sigma_j),
    meaning("squared lengths of columns, and T = η_w α + η_a ω, are positive", alpha, omega, total),
    meaning("gap ≥ 0, f = √e > 0 and the constants of the bound on the path", gap, f, constant, mobility),
    meaning(
        "E and F have orthonormal columns: they are an example of weights",
        *(f"{x} has orthonormal columns" for x in "EF"),
    ),
    meaning("R is the root of B + m²/4 I", "R² = B + m²/4 I"),
    meaning(
        "letters for inverses, and for functions of one root, which commute", "an inverse", "K and H commute"
    ),
    meaning("Δ is the balance of the weights", "Δ is the balance"),
    meaning("two orthonormal directions over neurons", "two orthonormal directions over neurons"),
    meaning(
        "projectors on the rows of X, on the range of XV_0ᵀ, and on a space that holds the rows of A and Y",
        "P projects on the rows of X",
        "Π projects on the range of XV_0ᵀ",
        "the rows of A and Y lie in the range of P",
    ),
)
