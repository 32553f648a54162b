"""The vocabulary of the deep linear network f(x) = aᵀW_L⋯W_1x, β = W_1ᵀ⋯W_Lᵀa.

Matrices have symbolic shapes: h hidden neurons a layer, d inputs, n data. They are words of the matrix calculus;
scalars and vectors are those of the glossary.
"""

from __future__ import annotations

import sympy as sp

from symdyn.statements.notation import glossary

words = glossary("deep_linear")

beta = words.vector("beta", r"\beta", "the function of the network, β = W_1ᵀ⋯W_Lᵀa")
beta0 = words.vector("beta0", r"\beta_0", "the function at time zero")
r = words.vector("r", "r", "gradient of the loss in β, Xᵀρ for the squared loss")
delta = words.scalar("delta", r"\delta", "the balance of an isotropic network, aaᵀ - W_L W_Lᵀ = δ I")
L = words.scalar("L", "L", "number of hidden layers, one less than the depth")
a2 = words.scalar("a2", r"\|a\|^2", "squared norm of the read-out weights")
s = words.scalar("s", "s", "‖a‖² - δ, an eigenvalue of W_lᵀW_l in every layer")
e = words.scalar("e", r"\epsilon", "the size of a balance δ = -e below zero")
S = words.scalar("S", r"\Sigma_L", "the sum of s^l e^{L-1-l} over l = 0, …, L-1")
x = words.scalar("x", "x", "squared norm ‖β‖²")

beta_end = words.vector("beta_inf", r"\beta_\infty", "the function in the end")
dual = words.vector("dual", r"\nabla\Phi(\beta)", "the dual variable of β, the gradient of a potential at β")
dual0 = words.vector("dual0", r"\nabla\Phi(\beta_0)", "the dual variable at time zero")
pull = words.vector(
    "pull", r"X^\top\!\!\textstyle\int\!\rho/g", "the gradient r in β, integrated in warped time"
)
warp = words.scalar("warp", "g", "how fast the warped time runs, at one moment")
v = words.vector("v", "v", "a direction in the null space of the data")
p = words.vector("p", "X^+y", "the interpolator of least norm")
u = words.vector("u", "u", "the part of ∇Φ(β_0) in the null space of the data")

sigma = words.scalar("sigma", r"\sigma", "scale of the hidden weights, of variance σ²/d")
sigma_a = words.scalar("sigmaa", r"\sigma_a", "scale of the read-out weights, of variance σ_a²/d")
width = words.scalar("d", "d", "the width of a square network")

h, d, m, n = sp.symbols("h d m n", integer=True, positive=True)
