"""The inverse of a rank-one update, the Sherman-Morrison formula.

With c = 1/(1 + vᵀA⁻¹u) the product (A + u vᵀ)(A⁻¹ - c A⁻¹u vᵀA⁻¹) is I + (1 - c - c vᵀA⁻¹u) u vᵀA⁻¹ = I. It
is vᵀA⁻¹u that stands in the denominator; uᵀA⁻¹v, which the paper prints, is the same where A is symmetric, as
it is where the paper uses it (kunin2024, App. A.4.2).
"""

from __future__ import annotations

import sympy as sp

from symdyn.calculus.matrix import Expression, Rules, eye, matrix, nonzero, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.matrix import MatrixIdentity

d = sp.Symbol("d", integer=True, positive=True)
A, u, v = matrix("A", d, d), vector("u", d), vector("v", d)
SIZES = ({d: 2}, {d: 3})


def update(product: Expression) -> MatrixIdentity:
    """(A + u vᵀ)(A⁻¹ - A⁻¹u vᵀA⁻¹/(1 + product)) = I."""
    inverse = A.inverse() - A.inverse() @ u @ v.T @ A.inverse() / (1 + product.scalar())
    words = rf"\left(A + u v^\top\right) \left({inverse.latex()}\right)"
    defined = Rules(nonzero(1 + product.scalar()))
    return MatrixIdentity((A + u @ v.T) @ inverse, eye(d), SIZES, defined, name=words)


@result(ledger=("kunin2024.sherman-morrison",))
def rank_one_inverse() -> MatrixIdentity:
    """The inverse of a rank-one update."""
    return update(v.T @ A.inverse() @ u)


@printed(
    "kunin2024.sherman-morrison", quote=r"\frac{A^{-1}uv^\top A^{-1}}{1+u^\top A^{-1}v}", severity="typo"
)
def printed_rank_one_inverse() -> MatrixIdentity:
    """As printed, with uᵀA⁻¹v in the denominator.

    For A = (1 2; 0 1), u = (1, 0), v = (0, 1) it gives (1 -1; 0 1) in place of (1 -3; 0 1).
    """
    return update(u.T @ A.inverse() @ v)
