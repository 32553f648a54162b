r"""Bridges between the calculi: the same object said in another language.

f I + h β̂β̂ᵀ   is the Gram operator   f I + (h/‖β‖²) β βᵀ,   with x = ‖β‖² = βᵀβ.
"""

from __future__ import annotations

from typing import Any

import sympy

from symdyn.calculus.gram import Combination, Dot, GramOperator, Linear
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Vector


def isotropic_to_gram(operator: Isotropic) -> GramOperator:
    """f I + (h/βᵀβ) β βᵀ: the isotropic operator with its radial coordinate written as the inner product."""
    beta = operator.vector
    norm2 = {operator.x: Dot(beta, beta)}
    c = (operator.h / operator.x).xreplace(norm2)
    return GramOperator(operator.f.xreplace(norm2), {(beta, beta): c})


def gram_to_isotropic(operator: GramOperator, x: sympy.Symbol, vector: Vector) -> Isotropic:
    """f I + x c β̂β̂ᵀ for the Gram operator f I + c ββᵀ whose coefficients know β only through βᵀβ = x.

    Raises ValueError where the operator has other directions or other inner products with β.
    """
    directions = set(operator.outer) - {(vector, vector)}
    if directions:
        u, v = sorted(directions, key=str)[0]
        raise ValueError(f"the term {u} {v}ᵀ is not along {vector}: the operator is not isotropic")
    norm2 = Dot(vector, vector)
    c = operator.outer.get((vector, vector), sympy.S.Zero)
    for dot in sorted(operator.identity.atoms(Dot) | c.atoms(Dot), key=str):
        if dot != norm2 and vector in (dot.left, dot.right):
            raise ValueError(f"a coefficient depends on {dot}, not only on the norm of {vector}")
    return Isotropic.unnormalised(operator.identity.xreplace({norm2: x}), c.xreplace({norm2: x}), x, vector)


def apply_isotropic(operator: Isotropic, combination: Linear) -> Combination:
    """(f I + h β̂β̂ᵀ) u = f u + (h βᵀu/βᵀβ) β, with x written as βᵀβ."""
    image: Any = isotropic_to_gram(operator) @ combination
    return Combination(image.terms)
