"""The vocabulary of the wide linear network f(x) = AᵀWx, β = WᵀA.

Matrices have symbolic shapes: h hidden neurons, d inputs, c outputs, n data. They are words of the matrix calculus;
scalars and vectors are those of the glossary.
"""

from __future__ import annotations

import sympy as sp

from symdyn.notation import glossary

words = glossary("wide_linear")

delta = words.scalar("delta", r"\delta", "the conserved balance, of one neuron or of all")
eta_a = words.scalar("eta_a", r"\eta_a", "learning rate of the read-out weights A", default=1)
eta_w = words.scalar("eta_w", r"\eta_w", "learning rate of the input weights W", default=1)

h, d, c, n = sp.symbols("h d c n", integer=True, positive=True)
