"""The inverse of a rank-one update, the Sherman-Morrison formula.

A + u vᵀ is inverted by trying y = A⁻¹z - c A⁻¹u: then (A + u vᵀ) y = z + (vᵀA⁻¹z - c (1 + vᵀA⁻¹u)) u, so that
c = vᵀA⁻¹z/(1 + vᵀA⁻¹u). It is vᵀA⁻¹u that stands in the denominator; uᵀA⁻¹v, which the paper prints, is the
same only where A is symmetric, as it is where the paper uses it (kunin2024, App. A.4.2).
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.symbols import any_vector, solved_u, solved_v, solved_z, u_rank, v_rank
from symdyn.calculus.gram import Combination, inner
from symdyn.domain import Domain
from symdyn.result import printed, result
from symdyn.statement import Existence, Identity, typeset

SOLVED = {solved_z: any_vector, solved_u: u_rank}


def invertible(rng: random.Random, d: int) -> dict:
    """A rational matrix A, not symmetric, seen through the solutions of A y = z, u and v."""
    A = sp.zeros(d, d)
    while A.det() == 0:
        A = sp.Matrix(d, d, lambda i, j: sp.Integer(rng.randint(-4, 4)))
    drawn = {v: sp.Matrix([rng.randint(-5, 5) for _ in range(d)]) for v in (any_vector, u_rank, v_rank)}
    pairs = ((solved_z, any_vector), (solved_u, u_rank), (solved_v, v_rank))
    drawn |= {solution: A.LUsolve(drawn[side]) for solution, side in pairs}
    return {vector: list(value) for vector, value in drawn.items()}


matrices = Domain(
    vectors=(any_vector, u_rank, v_rank, solved_z, solved_u, solved_v),
    conditions=(sp.Ne(1 + inner(v_rank, solved_u), 0), sp.Ne(1 + inner(u_rank, solved_v), 0)),
    sampler=invertible,
    words="A invertible, A + u vᵀ invertible",
)


def solves(y: Combination) -> tuple[Identity]:
    """(A + u vᵀ) y = z, where y is made of A⁻¹z and A⁻¹u."""
    image = sum(c * SOLVED[v] for v, c in y.terms.items())
    return (Identity(image + inner(v_rank, y) * u_rank, 1 * any_vector),)


def update(denominator) -> Existence:
    """A⁻¹ - A⁻¹u vᵀA⁻¹/denominator, applied to z, solves (A + u vᵀ) y = z."""
    y = solved_z - inner(v_rank, solved_z) / denominator * solved_u
    words = r"$y=(A+uv^\top)^{-1}z$ for every $z$, as $(A+uv^\top)y=z$"
    return Existence.of(y, solves, words, formula=f"y = {typeset(y)}")


@result(ledger=("kunin2024.sherman-morrison",), domain=matrices)
def rank_one_inverse():
    """The inverse of a rank-one update."""
    return update(1 + inner(v_rank, solved_u))


@printed(
    "kunin2024.sherman-morrison",
    quote=r"\frac{A^{-1}uv^\top A^{-1}}{1+u^\top A^{-1}v}",
    domain=matrices,
    severity="typo",
)
def printed_rank_one_inverse():
    """As printed, with uᵀA⁻¹v in the denominator.

    For A = (1 2; 0 1), u = (1, 0), v = (0, 1) it gives (1 -1; 0 1) in place of (1 -3; 0 1).
    """
    return update(1 + inner(u_rank, solved_v))
