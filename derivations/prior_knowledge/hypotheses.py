"""What holds throughout the paper on prior knowledge, and what its symbols mean."""

from __future__ import annotations

import sympy as sp

from derivations.prior_knowledge.symbols import (
    a1,
    a2,
    b,
    minus,
    plus,
    r1,
    r2,
    rest,
    s,
    s1,
    s2,
    size,
    t,
    tau,
    u,
)
from symdyn.statements.hypothesis import meaning, standing, stated

HYPOTHESES = (
    standing(
        "Sec. 2, Assumption 2.4, and Eq. (10)",
        "full rank: the singular values of the task and of the start are not zero, s, s₁, s₂ > 0",
        s > 0,
        s1 > 0,
        s2 > 0,
    ),
    standing("Sec. 2, Assumption 2.2", "the inputs are whitened, Σ^xx = XXᵀ/P = I", "XXᵀ = P I"),
    standing(
        "Sec. 5, Theorem 5.1 and Eq. (14)",
        "A(0) is invertible: a₁, a₂ and the determinant u = a₁a₂ - b² are positive",
        a1 > 0,
        a2 > 0,
        u > 0,
        sp.Eq(a2, (b**2 + u) / a1, evaluate=False),
    ),
    stated(
        "Sec. 3, Theorem 3.1",
        "compact singular value decompositions of full rank, and B is non-singular (Assumption 3.1)",
        "singular vectors of start and task, B invertible",
        "B and C as defined",
    ),
    stated(
        "Sec. 3, Eq. (10)",
        "Ũ, Ṽ, U and V are singular vectors: orthonormal columns, projectors on what these leave out",
        *(f"{name} has orthonormal columns" for name in ("U", "V", "Ut", "Vt", "Uq", "Vq")),
        "orthonormal columns and projectors on their complements",
    ),
    meaning("t is the time since the start, and τ = 1/η", t > 0, t >= 0, tau > 0),
    meaning("e_i² = 1/(1 + r_i), or t = τ log(1 + r)/2s, for times t > 0", r1, r2),
    meaning("a size of a start is positive", size > 0),
    meaning(
        "squares of Q along the eigenvectors of F; where one vanishes the formulas hold by continuity",
        plus > 0,
        plus >= 0,
        minus > 0,
        rest > 0,
        rest >= 0,
    ),
    meaning(
        "exponentials of a task commute with it",
        *(
            "e^{Ft/τ} commutes with F and F⁻¹",
            "e^{-Σ^xx t/τ} commutes with Σ^xx",
            "S̃ and its exponential are diagonal",
            "E and S̃ are diagonal",
            "E and St commute",
            "an exponential",
            "R1 is an inverse",
        ),
    ),
    meaning("R and O are orthogonal", "R has orthonormal columns", "O has orthonormal columns"),
    meaning("the rows of Q are those of inputs and outputs", "coordinates of inputs and outputs"),
)
