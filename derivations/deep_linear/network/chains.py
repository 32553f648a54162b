"""Isotropic chains of layers: the rules they satisfy, with rational weights that satisfy them exactly.

With orthogonal O_0, …, O_L and D = diag(k, m, …, m), the layers W_l = O_l D O_{l-1}ᵀ balance each other, for
W_{l+1}ᵀW_{l+1} and W_l W_lᵀ are both O_l D² O_lᵀ, and the read-out a = n O_L e_1 has aaᵀ - W_L W_Lᵀ = -m² I if
k² = n² + m². Pythagorean triples (n, m, k) keep all this rational. In the last of them m = 0: the balance is
δ = 0, and every layer has rank one.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import sympy as sp

from derivations.deep_linear.symbols import d, delta, h
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rules,
    cayley,
    eye,
    matrix,
    orthonormal_columns,
    rule,
    vector,
)

TRIPLES = ((3, 4, 5), (4, 3, 5), (5, 12, 13), (12, 5, 13), (3, 0, 3))
"""(n, m, k) with n² + m² = k²."""

a = vector("a", h)
aa = a @ a.T
norm2_a = (a.T @ a).scalar()
s = norm2_a - delta
"""‖a‖² - δ."""


def layers(depth: int) -> list[Expression]:
    """W_1 (h × d) and W_2, …, W_depth (h × h)."""
    return [
        matrix(f"W{number}", h, d if number == 1 else h, f"W_{{{number}}}") for number in range(1, depth + 1)
    ]


def drawn_chain(
    rng: random.Random, rows: int, cols: int, depth: int
) -> tuple[sp.Matrix, list[sp.Matrix], sp.Expr]:
    """Rational a, (W_1, …, W_depth) and δ of an isotropic network, W_1 of shape rows × cols, rows ≤ cols."""
    n, m, k = (sp.Rational(i, 6) for i in rng.choice(TRIPLES))
    middle = sp.diag(k, *([m] * (rows - 1)))
    frames = [orthonormal_columns(rng, cols, rows), *(cayley(rng, rows) for _ in range(depth))]
    weights = [above * middle * below.T for below, above in pairwise(frames)]
    return n * frames[-1][:, 0], weights, -(m**2)


def isotropic(depth: int) -> tuple[list[Expression], Rules]:
    """The layers of an isotropic network, and its rules, completed so that words have one normal form."""
    W = layers(depth)
    rules = [rule(above.T @ above, below @ below.T) for below, above in pairwise(W)]
    rules.append(rule(W[-1] @ W[-1].T, aa - delta * eye(h)))

    def sampler(rng: random.Random, sizes: Any) -> dict[Any, Any]:
        readout, weights, balance = drawn_chain(rng, sizes[h], sizes[d], depth)
        return {a.letter: readout, delta: balance} | {
            w.letter: drawn for w, drawn in zip(W, weights, strict=True)
        }

    letters = (a.letter, *(w.letter for w in W))
    return W, Rules(
        Declaration(f"isotropic with {depth} hidden layers", tuple(rules), letters, sampler)
    ).completed()
