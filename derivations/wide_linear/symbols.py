"""The vocabulary of the wide linear network f(x) = AᵀWx, β = WᵀA.

Matrices have symbolic shapes: h hidden neurons, d inputs, c outputs, n data. They are words of the matrix calculus;
scalars, and vectors of which only inner products matter, belong to the Gram calculus.
"""

from __future__ import annotations

import sympy as sp

from symdyn.calculus.matrix import Index
from symdyn.statements.notation import glossary

words = glossary("wide_linear")

h, d, c, n = sp.symbols("h d c n", integer=True, positive=True)
k = Index("k", h)

A = words.matrix("A", h, c, "A", "read-out weights, one hidden neuron a row")
W = words.matrix("W", h, d, "W", "input weights, one hidden neuron a row")
X = words.matrix("X", n, d, "X", "inputs, one datum a row")
Y = words.matrix("Y", n, c, "Y", "targets, one datum a row")
G = words.matrix("G", d, c, "G", "gradient of the loss in β, Xᵀ(Xβ - Y) for the squared loss")
beta_star = words.matrix("beta_star", d, c, r"\beta_*", "the least-squares solution")

eta_a = words.scalar("eta_a", r"\eta_a", "learning rate of the read-out weights", default=1, positive=True)
eta_w = words.scalar("eta_w", r"\eta_w", "learning rate of the input weights", default=1, positive=True)
delta = words.scalar("delta", r"\delta", "the conserved balance of a neuron, or of all alike")

SIZES = ({h: 2, d: 3, c: 2, n: 4}, {h: 3, d: 2, c: 1, n: 3}, {h: 1, d: 2, c: 3, n: 2})
"""Shapes at which false claims are refuted."""

a = words.matrix("a", c, 1, "a_k", "read-out weights of one hidden neuron")
w = words.matrix("w", d, 1, "w_k", "input weights of one hidden neuron")
beta_k = words.matrix("beta_k", d, c, r"\beta_k", "function of one hidden neuron, w_k a_kᵀ")

beta = words.vector("beta", r"\beta", "the function of a network with one hidden neuron, as a vector")
r = words.vector("r", "r", "gradient of the loss in β, as a vector")
out = words.vector("out", "a", "read-out weights of one hidden neuron, a vector with c entries")
into = words.vector("into", "w", "input weights of one hidden neuron, a vector with d entries")
turned = words.vector("turned", r"v^\perp", "a vector turned by a right angle, where there is room for it")
t = words.scalar("t", "t", "time, or the parameter of a path")

readout = words.matrix("readout", h, 1, "a", "read-out weights of a network with one output")
target = words.matrix("target", d, 1, r"\beta_*", "the least-squares solution for one output")
mu = words.matrix("mu", h, 1, r"\mu", "signed norms a_k‖w_k‖ of the neurons")
phi = words.matrix("phi", h, 1, r"\phi", "cosines of the angles between w_k and β_*")
Delta = words.matrix(
    "Delta", h, h, r"\Delta", "the conserved balance of all pairs of neurons", symmetric=True
)
s = words.scalar("s", "s", "norm ‖β_*‖")
x = words.vector("x", "x", "any vector")
y = words.vector("y", "y", "what a matrix makes of the vector x")
sigma = words.scalar("sigma", r"\sigma_i", "a singular value of β")
sigma_j = words.scalar("sigma_j", r"\sigma_j", "another singular value of β")
p = words.scalar("p", "p", "what Aᵀ makes of a neuron direction y, p v")
q = words.scalar("q", "q", "what Wᵀ makes of a neuron direction y, q u")
goal = words.scalar("goal", "s", "a singular value of β_*")
length = words.scalar("length", r"\ell", "an absolute value, 2√(η_a η_w)|λ|")

nu = words.matrix("nu", c, c, r"\nu", "ratio A⁻¹Wβ_* for as many neurons as outputs")
C = words.matrix("C", c, c, "C", "Gram matrix AᵀA of the read-out weights", symmetric=True)
S = words.matrix("S", c, c, "S", "Gram matrix β_*ᵀβ_* of the least-squares solution", symmetric=True)
rho = words.scalar("rho", r"\varrho", "an eigenvalue of the root of δ²/4 I + η_a η_w S")
J1 = words.scalar("J1", "J_1", "an eigenvalue of the integral of exp(δt) cosh²(Rt)")
J2 = words.scalar("J2", "J_2", "an eigenvalue of the integral of exp(δt) cosh(Rt) sinh(Rt) R⁻¹")
J3 = words.scalar("J3", "J_3", "an eigenvalue of the integral of exp(δt) sinh²(Rt) R⁻²")

D = words.scalar("D", "D", "the size of the balances, |δ_k| for all neurons up to fixed ratios")
Lambda = words.matrix("Lambda", h, h, r"\Lambda", "the diagonal matrix of the √|δ_k|", symmetric=True)
V = words.matrix("V", h, d, "V", "the large layer over √D, or over Λ: W/√D or Λ⁻¹W for δ → -∞")
B = words.matrix("B", h, c, "B", "the small layer times √D, or Λ: √D A or ΛA for δ → -∞")
B_star = words.matrix(
    "B_star", h, c, "B_*", "read-out weights that solve the task with the input weights at time zero"
)
gap = words.scalar("gap", "g", "what the norm of the gradient has above its bound")
f = words.scalar("f", "f", "the root of the loss above its minimum")
constant = words.scalar("constant", "C_0", "bound of the root of the loss by its gradient")
mobility = words.scalar(
    "mobility", r"\varepsilon", "largest rate at which the large layer moves, of the order 1/D²"
)

g1 = words.scalar("g1", "g_1", "size of the large layer along one direction over neurons, over √D")
g2 = words.scalar("g2", "g_2", "the same along another direction")
m1 = words.scalar("m1", "m_1", "squared sine of the angle by which the first direction turns")
m2 = words.scalar("m2", "m_2", "squared sine of the angle by which the second direction turns")
x1 = words.scalar("x1", "x_1", "a coordinate")
x2 = words.scalar("x2", "x_2", "a coordinate")
beyond = words.scalar("beyond", "z", "the part of β_* outside a span, along a vector v")

sigma_a = words.scalar(
    "sigma_a", r"\sigma_a", "scale of the read-out weights, whose entries have the variance σ_a²/c"
)
sigma_w = words.scalar(
    "sigma_w", r"\sigma_w", "scale of the input weights, whose entries have the variance σ_w²/d"
)
width = words.scalar("width", "h", "number of hidden neurons, as a real number")
sigma0 = words.scalar("sigma0", r"\sigma_0", "standard deviation of the entries of both layers")
alpha = words.scalar("alpha", r"\alpha", "squared length of the columns of A at time zero")
omega = words.scalar("omega", r"\omega", "squared length of the columns of W at time zero")
total = words.scalar("total", "T", "overall scale of layers with orthogonal columns, η_w α + η_a ω")
