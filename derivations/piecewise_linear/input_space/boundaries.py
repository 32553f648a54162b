r"""Boundaries between regions, and how the linear predictor changes there.

On a region the slopes of all neurons are fixed, and f is affine with the predictor β_R = ∇f. Its gradient passes back
through the first layer, so that it lies in the span of the first-layer weights, and so do differences of predictors.
Where two regions meet in a piece of a hyperplane nᵀx = const, f is continuous: the difference of the predictors is
orthogonal to every direction within the hyperplane, hence a multiple of n. For one hidden layer the difference across
the boundary of neuron k is (1 - γ) a_k w_k, added up over the neurons that share the boundary (kunin2024, App. C.1).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.piecewise_linear.network.leaky_relu import NEGATIVE, POSITIVE, leaky, sigma
from derivations.piecewise_linear.symbols import a, d, gamma, gap, h, n1, v, w, x, z
from symdyn.calculus.gram import inner, norm2
from symdyn.calculus.matrix import matrix, vector
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Existence, Identity
from symdyn.statements.matrix import MatrixDynamics

SIZES = ({h: 2, d: 3}, {h: 3, d: 2})

hyperplane = Domain(
    (),
    (gap, n1, v),
    (Cell("n ≠ 0", {norm2(n1): 1}),),
    words="v any vector, n the normal of the hyperplane",
    hypotheses=(
        stated("App. C.1", "z_i is not zero throughout: its zeros are a hyperplane with a normal n ≠ 0", n1),
    ),
)
neuron = Domain((a, gamma), (w, x))


@result(ledger=("kunin2024.pw-linear-predictor-boundary",), uses=("piecewise_linear.activation",))
def predictor_boundary() -> Existence:
    """Regions have linear predictors in the span of the first-layer weights; boundaries are normal to their difference.

    The first two facts are f = β_Rᵀx for one neuron, on either side of its boundary, the next that what changes there
    is (1 - γ) a w, a multiple of the normal w. In general, v minus its part along n lies within the hyperplane; if the
    difference Δβ is orthogonal to it for every v, then Δβ = (nᵀΔβ/‖n‖²) n. The last fact is the gradient of a network
    with two hidden layers, W_1ᵀ(…); D_1, D_2 are the diagonal matrices of the slopes.
    """
    right, left = (
        replace(leaky, scalars=(*leaky.scalars, a), cells=(cell,)) for cell in (POSITIVE, NEGATIVE)
    )
    within = v - inner(n1, v) / norm2(n1) * n1
    W1, W2, readout = matrix("W1", h, d, "W_1"), matrix("W2", h, h, "W_2"), vector("a", h)
    D1, D2 = matrix("D1", h, h, "D_1", symmetric=True), matrix("D2", h, h, "D_2", symmetric=True)
    point, step = vector("x", d), vector("v", d)
    f = readout.T @ D2 @ W2 @ D1 @ W1 @ point
    return Existence(
        r"$\beta_{\mathcal R}=\nabla f$ lies in the span of the first-layer weights, and differs across a boundary by a"
        r" multiple of its normal",
        (
            Identity(a * sigma, a * z, on=right, name=r"a\sigma(z)"),
            Identity(a * sigma, a * gamma * z, on=left, name=r"a\sigma(z)"),
            Identity(a * w - gamma * a * w, (1 - gamma) * a * w, on=neuron, name=r"\Delta\beta"),
            Identity(inner(n1, within), sp.S.Zero, on=hyperplane),
            Identity(
                inner(gap, within),
                inner(gap - inner(n1, gap) / norm2(n1) * n1, v),
                on=hyperplane,
            ),
            MatrixDynamics(f, (W1.T @ (D1 @ W2.T @ D2 @ readout)).T @ step, {point: step}, SIZES, name="f"),
        ),
    )
