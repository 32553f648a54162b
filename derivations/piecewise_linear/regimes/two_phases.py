r"""Balanced networks of vanishing size: partition alignment first, data fitting later.

Let all μ_k be of the size ε. Then the outputs are ε F_i, and what drives a neuron is

    ξ_k = Σ_i c_ki x_i(ε F_i - y_i) = -Σ_i c_ki x_i y_i + O(ε),

which knows nothing of the other neurons. The part of ξ_k across β̂_k turns the direction at the speed √(η_aη_w) whatever
ε is, but |μ̇_k| ≤ 2√(η_aη_w)|μ_k|‖ξ_k‖ is O(ε): up to any fixed time |μ_k| stays below ε e^{2√(η_aη_w)‖ξ‖t}, while
directions move by amounts of order one. Where one has settled, on a multiple of ξ_k ≠ 0, the neuron grows at the rate
2√(η_aη_w)‖ξ_k‖, so that after a time of order log(1/ε) it is no longer small, and the outputs move to the data: the
loss falls at the rate ρᵀKρ. One neuron with whitened data in its active halfspace is the single linear neuron, for
which both phases are known in closed form (kunin2024, Sec. 5).

The data are fitted in the end if the smallest eigenvalue of K stays above a positive number, for then the loss falls
exponentially. To be positive is not enough: a leaky neuron that points exactly against the only datum shrinks to zero,
and K with it. And a ReLU neuron that is inactive on all data has ξ_k = 0 and stands still for good, and one whose
read-out has the other sign than the labels turns away from its data until it is such a neuron, before it has grown.
Where all neurons are, K = 0, and the network stays as small as it was. This happens with a positive probability: for
one datum (3/4)^h at random signs and directions, when no neuron is active there with the sign of the label.
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.network.neuron import SIZES
from derivations.piecewise_linear.network.spherical import kappa
from derivations.piecewise_linear.regimes.neuron_regimes import balanced, product, turning
from derivations.piecewise_linear.symbols import F, a, c, eta_a, eta_w, gamma, mu, n, scale, t, v, x, xi, y, z
from symdyn.calculus.gram import inner, norm2
from symdyn.calculus.matrix import matrix, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Asymptotic, Existence, Identity, Inequality, Solution
from symdyn.statements.matrix import MatrixDynamics

root = sp.sqrt(product)
FITS = (
    "after the alignment the smallest eigenvalue of the tangent kernel on the data stays above a positive "
    "number; with one datum, for a ReLU: some neuron is active there with a read-out of the sign of the label"
)
SMALL = stated("Sec. 5 (Balanced)", "‖β_k(0)‖ → 0 for all k: the size ε > 0 of the start vanishes", scale)
DRIVEN = meaning("a direction v ≠ 0, and ξ_k ≠ 0: where ξ_k = 0 a neuron does not move", v, xi)
vanishing = Domain((c, F, y, scale), (x,), (Cell("ε > 0", {scale: 1}),), hypotheses=(SMALL,))
directions = Domain((), (v, xi), (Cell("any", {norm2(v): 1, norm2(xi): 1}),), hypotheses=(DRIVEN,))
growth = Domain(
    (scale, t, *product.free_symbols),
    (v,),
    (Cell("ε > 0", {scale: 1, t: 1, norm2(v): 1, eta_a: 1, eta_w: 1}),),
    hypotheses=(SMALL, DRIVEN),
)


@result(
    ledger=("kunin2024.pw-balanced-phase1",),
    domain=balanced,
    uses=(
        "piecewise_linear.balanced_dynamics",
        "piecewise_linear.tangent_kernel",
        "single_neuron.two_phases",
    ),
    hypotheses=(added(FITS),),
)
def vanishing_network() -> Existence:
    """From a balanced start of vanishing size neurons first align, each for itself, and then those with ξ_k ≠ 0 grow.

    The outputs then move to the data, and fit them where K ≥ λI for some λ > 0: if ρᵀKρ ≥ λ‖ρ‖², the loss is at most a
    multiple of e^{-2λt}.
    """
    driven = c * (scale * F - y) * x
    rejected = norm2(v) * xi - inner(v, xi) * v
    rate = 2 * root * sp.sqrt(norm2(v))
    grown = scale * sp.exp(rate * t)
    K = matrix("K", n, n, symmetric=True)
    residual = vector("rho", n, r"\rho")
    return Existence(
        r"for $\varepsilon\to0$: $\xi_k=-\sum_ic_{ki}x_iy_i+O(\varepsilon)$, directions turn at a speed of order one"
        r" while $\dot\mu_k=O(\varepsilon)$; after a time of order $\log(1/\varepsilon)$ neurons are no longer small"
        r" where $\xi_k\ne0$, and the loss falls at the rate $\rho^\top K\rho$",
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


slope, leak = sp.Max(z, gamma * z) / z, sp.Symbol("leak", real=True)
label = Domain(
    (y, z, a, gamma, eta_a, eta_w),
    (x,),
    words="one neuron, one datum with a label y ≠ 0, an output near zero",
)


def reached(words: str, pre_activation: int, **slopes: sp.Expr) -> Cell:
    """A neuron with wᵀx of the given sign."""
    signs = {y: 1, z: pre_activation, a: 1, eta_a: 1, eta_w: 1, norm2(x): 1, leak: 1}
    return Cell(words, signs, {gamma: slopes.get("gamma", leak / (1 + leak))}, "0 ≤ γ < 1")


ALIVE = (
    reached("active", 1),
    reached("active, ReLU", 1, gamma=sp.S.Zero),
    reached("inactive, 0 < γ < 1", -1),
)
DEAD = reached("inactive, ReLU", -1, gamma=sp.S.Zero)


@printed(
    "kunin2024.pw-balanced-phase1",
    quote="then Phase II fits the data",
    domain=label.with_cells(*ALIVE, DEAD),
    hypothesis=FITS,
    under=label.with_cells(*ALIVE),
    hypotheses=(
        meaning(
            "an example: one neuron with a > 0 and wᵀx ≠ 0, one datum x ≠ 0 with y > 0", z, a, x, leak, gamma
        ),
    ),
)
def printed_data_fitting() -> Inequality:
    """As the paper says, for one neuron and one datum: as long as the output is near zero, the loss y²/2 falls.

    Its speed is Ky² with the kernel K = c²(η_a z² + η_w a²‖x‖²). A ReLU neuron that is inactive there has c = 0.
    """
    kernel = slope**2 * (eta_a * z**2 + eta_w * a**2 * norm2(x))
    return Inequality(kernel * y**2, ">")
