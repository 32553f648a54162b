"""The vocabulary of the wide linear network f(x) = AᵀWx, β = WᵀA.

Matrices have symbolic shapes: h hidden neurons, d inputs, c outputs, n data. They are words of the matrix calculus;
scalars, and vectors of which only inner products matter, belong to the Gram calculus.
"""

from __future__ import annotations

import sympy as sp

from symdyn.calculus.matrix import Index
from symdyn.notation import glossary

words = glossary("wide_linear")

h, d, c, n = sp.symbols("h d c n", integer=True, positive=True)
k = Index("k", h)

A = words.matrix("A", h, c, "A", "read-out weights, one hidden neuron a row")
W = words.matrix("W", h, d, "W", "input weights, one hidden neuron a row")
X = words.matrix("X", n, d, "X", "inputs, one datum a row")
Y = words.matrix("Y", n, c, "Y", "targets, one datum a row")
G = words.matrix("G", d, c, "G", "gradient of the loss in β, Xᵀ(Xβ - Y) for the squared loss")
beta_star = words.matrix("beta_star", d, c, r"\beta_*", "the least-squares solution")

eta_a = words.scalar("eta_a", r"\eta_a", "learning rate of the read-out weights", default=1)
eta_w = words.scalar("eta_w", r"\eta_w", "learning rate of the input weights", default=1)
delta = words.scalar("delta", r"\delta", "the conserved balance of a neuron, or of all alike")

SIZES = ({h: 2, d: 3, c: 2, n: 4}, {h: 3, d: 2, c: 1, n: 3}, {h: 1, d: 2, c: 3, n: 2})
"""Shapes at which false claims are refuted."""

a = words.matrix("a", c, 1, "a_k", "read-out weights of one hidden neuron")
w = words.matrix("w", d, 1, "w_k", "input weights of one hidden neuron")
beta_k = words.matrix("beta_k", d, c, r"\beta_k", "function of one hidden neuron, w_k a_kᵀ")
