r"""Balanced networks of vanishing size: partition alignment first, data fitting later.

Let all μ_k be of the size ε. Then the outputs are ε F_i, and what drives a neuron is

    ξ_k = Σ_i c_ki x_i(ε F_i - y_i) = -Σ_i c_ki x_i y_i + O(ε),

which knows nothing of the other neurons. The part of ξ_k across β̂_k turns the direction at the speed √(η_aη_w) whatever
ε is, but |μ̇_k| ≤ 2√(η_aη_w)|μ_k|‖ξ_k‖ is O(ε): up to any fixed time |μ_k| stays below ε e^{2√(η_aη_w)‖ξ‖t}, while
directions move by amounts of order one. Where one has settled, on a multiple of ξ_k, the neuron grows at the rate
2√(η_aη_w)‖ξ_k‖, so that after a time of order log(1/ε) it is no longer small, and the outputs move to the data: the
loss falls at the rate ρᵀKρ. One neuron with whitened data in its active halfspace is the single linear neuron, for
which both phases are known in closed form (kunin2024, Sec. 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.neuron import SIZES
from derivations.piecewise_linear.regimes import balanced, product, turning
from derivations.piecewise_linear.spherical import kappa
from derivations.piecewise_linear.symbols import F, c, mu, n, scale, t, v, x, xi, y
from symdyn.calculus.gram import inner, norm2
from symdyn.calculus.matrix import matrix, vector
from symdyn.domain import Cell, Domain
from symdyn.matrix_statement import MatrixDynamics
from symdyn.result import result
from symdyn.statement import Asymptotic, Existence, Identity, Solution

root = sp.sqrt(product)
vanishing = Domain((c, F, y, scale), (x,), (Cell("ε > 0", {scale: 1}),))
directions = Domain((), (v, xi), (Cell("any", {norm2(v): 1, norm2(xi): 1}),))
growth = Domain((scale, t, *product.free_symbols), (v,), (Cell("ε > 0", {scale: 1, t: 1, norm2(v): 1}),))


@result(
    ledger=("kunin2024.pw-balanced-phase1",),
    domain=balanced,
    uses=(
        "piecewise_linear.balanced_dynamics",
        "piecewise_linear.tangent_kernel",
        "single_neuron.two_phases",
    ),
)
def vanishing_network():
    """From a balanced start of vanishing size neurons first align, each for itself, and then grow to fit the data."""
    driven = c * (scale * F - y) * x
    rejected = norm2(v) * xi - inner(v, xi) * v
    rate = 2 * root * sp.sqrt(norm2(v))
    grown = scale * sp.exp(rate * t)
    K = matrix("K", n, n, symmetric=True)
    residual = vector("rho", n, r"\rho")
    return Existence(
        r"for $\varepsilon\to0$: $\xi_k=-\sum_ic_{ki}x_iy_i+O(\varepsilon)$, directions turn at a speed of order one"
        r" while $\dot\mu_k=O(\varepsilon)$; after a time of order $\log(1/\varepsilon)$ neurons are no longer small,"
        r" and the outputs move to the data",
        (
            Asymptotic(driven, -c * y * x, scale, sp.S.Zero, scale, on=vanishing),
            Identity(turning, root * sp.sign(mu)),
            Identity(kappa, 2 * root * sp.Abs(mu)),
            Identity(norm2(v) * norm2(xi) - inner(v, xi) ** 2, norm2(rejected) / norm2(v), on=directions),
            Solution({mu: grown}, {mu: rate * mu}, {mu: scale}, t, on=growth),
            Identity(grown.subs(t, sp.log(1 / scale) / rate), sp.S.One, on=growth),
            MatrixDynamics(
                residual.T @ residual / 2, -(residual.T @ K @ residual), {residual: -(K @ residual)}, SIZES
            ),
        ),
    )
