r"""Gradients: the chain rule through low-rank layers, and the mean squares of what it gives.

With the coefficients α as parameters, ∂E/∂α_ij = (Σ_{m=1}^{N_l} δ_m(C_i)_m)φ(h_j): a sum over all units of the layer,
and there are r_l N_{l-1} of them. Taking forward and backward weights as independent, as the paper does,

    q̃^l = (N_{l+1}/N_l) χ_{l+1} q̃^{l+1},

from r_{l+1}σ_α²/(N_l N_{l+1}) for each of the N_{l+1} weights, and the slopes at the length q^l of the layer itself.
With constant width gradients go as χ^{L-l} (naitsaada2023, Sec. 2.2 and App. A.8).
"""

from __future__ import annotations

import sympy as sp

from derivations.signal_propagation.maps.closed_forms import erf_chi
from derivations.signal_propagation.network.model import FRAME, SIZES, A, C, k, left, m, n, p, right, scale
from derivations.signal_propagation.symbols import (
    N_in,
    N_next,
    N_out,
    c1,
    c2,
    chi,
    d1,
    d2,
    depth,
    gamma,
    layer,
    mu1,
    q,
    q_next,
    q_tilde,
    r,
    sigma,
    y,
)
from symdyn.calculus.haar import haar_moment
from symdyn.calculus.matrix import Index, basis, eye, gaussian_mean, matrix, sum_over, trace, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Conjunction, Identity, Inequality, Limit
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

after = sp.Symbol("K", integer=True, positive=True)
SHAPES = ({n: 2, m: 2, k: 1, after: 3}, {n: 1, m: 2, k: 1, after: 2}, {n: 3, m: 1, k: 2, after: 1})
W_next = matrix("W_next", after, n, "W^{(l+1)}")
D = matrix("D", n, n, symmetric=True)
delta_next, delta = vector("delta_next", after, r"\delta^{l+1}"), vector("delta", n, r"\delta^l")
h_dot = vector("v", n, r"\dot h^{(l)}")
bias_next = vector("B", after, "b^{(l+1)}")
z_out = vector("z", n, r"\phi(h^{(l)})")
W, W_dot = matrix("W", n, m), matrix("V", n, m, r"\dot W")
A_dot = matrix("B", k, m, r"\dot\alpha")
unit_k = vector("u", k, "e_i")
INDEPENDENT = stated("Sec. 2.2", "forward and backward weights are treated as independent", q_tilde)


@result(ledger=("naitsaada2023.delta-recursion",))
def backward_recursion() -> Conjunction:
    """The gradient in pre-activations obeys a recursion from the last layer to the first.

    The first fact is the velocity of h^(l+1) when h^(l) moves, and so φ(h^(l)) by D times as much. Then Ė, the inner
    product of δ^(l+1) with it, is that of δ^l with the velocity of h^(l).
    """
    moved = W_next @ D @ h_dot
    return Conjunction(
        MatrixDynamics(W_next @ z_out + bias_next, moved, {z_out: D @ h_dot}, SHAPES, name="h^{(l+1)}"),
        MatrixIdentity(delta_next.T @ moved, (D @ W_next.T @ delta_next).T @ h_dot, SHAPES, name=r"\dot E"),
    )


@result(ledger=("naitsaada2023.gradient-weight",), uses=("signal_propagation.backward_recursion",))
def gradient_in_weights() -> Conjunction:
    """The gradient in the weights is δφ(h)ᵀ, with entries δ_iφ(h_j)."""
    return Conjunction(
        MatrixDynamics(
            delta.T @ W @ p, trace((delta @ p.T).T @ W_dot) * eye(1), {W: W_dot}, SHAPES, name="E"
        ),
        MatrixIdentity(
            (left.T @ (delta @ p.T) @ right),
            (left.T @ delta) @ (p.T @ right),
            SHAPES,
            name=r"\partial E/\partial W",
        ),
    )


@result(
    ledger=("naitsaada2023.gradient-alpha", "naitsaada2023.gradient-alpha-chain"),
    uses=("signal_propagation.backward_recursion", "signal_propagation.low_rank_weight"),
)
def gradient_in_coefficients() -> Conjunction:
    """The gradient in the coefficients is Cᵀδφ(h)ᵀ, with entries (Σ_m δ_m(C_i)_m)φ(h_j): sums over all N_l units."""
    unit = Index("m", n)
    summed = sum_over(unit, (basis(unit).T @ delta).scalar() * (basis(unit).T @ C @ unit_k).scalar())
    return Conjunction(
        MatrixDynamics(
            delta.T @ C @ A @ p, trace((C.T @ delta @ p.T).T @ A_dot) * eye(1), {A: A_dot}, SHAPES, name="E"
        ),
        MatrixIdentity(summed * p.T @ right, unit_k.T @ (C.T @ delta @ p.T) @ right, SHAPES),
    )


two_units = Domain((d1, d2, c1, c2))


@printed(
    "naitsaada2023.gradient-alpha",
    quote=r"\sum_{m=1}^{r_l}\delta^l_m(C^l_i)_m",
    domain=two_units,
    severity="typo",
)
def printed_gradient_in_coefficients() -> Identity:
    """As printed, the sum has r_l terms: δ_1C_1 for rank one and two units."""
    return Identity(d1 * c1, d1 * c1 + d2 * c2)


counts = Domain(
    (N_in, N_out, N_next, gamma),
    (),
    (Cell("widths", {N_in: 1, N_out: 1, N_next: 1, gamma: 1}),),
    conditions=(gamma <= 1,),
)


@result(
    ledger=("naitsaada2023.gradient-norm-count",),
    domain=counts,
    uses=("signal_propagation.gradient_in_coefficients",),
)
def number_of_coefficients() -> Conjunction:
    """The squared norm of the gradient is the sum over r_l N_{l-1} = γ_l N_l N_{l-1} coefficients, |Cᵀδ|²|φ(h)|².

    So it is as many times the mean square of one of them.
    """
    gradient = C.T @ delta @ p.T
    return Conjunction(
        MatrixIdentity(
            trace(gradient @ gradient.T) * eye(1),
            (delta.T @ C @ C.T @ delta).scalar() * (p.T @ p),
            SHAPES,
            name=r"\|\nabla_\alpha E\|^2",
        ),
        Identity(gamma * N_out * N_in, N_in * (gamma * N_out), name="r_lN_{l-1}"),
    )


@printed(
    "naitsaada2023.gradient-norm-count",
    quote=r"N_lN_{l+1}\,\mathbb E\big(",
    domain=counts,
    severity="substantive",
)
def printed_number_of_coefficients() -> Identity:
    """As printed, there are N_l N_{l+1} coefficients; the matrix α^(l) has r_l rows and N_{l-1} columns."""
    return Identity(N_out * N_next, gamma * N_out * N_in)


haar = Domain((N_out, N_in, r, sigma), (), (Cell("sizes", {N_out: 1, N_in: 1, r: 1, sigma: 1}),))


@result(
    ledger=("naitsaada2023.weight-second-moment",), domain=haar, uses=("signal_propagation.haar_columns",)
)
def second_moment_of_weights() -> Conjunction:
    """A low-rank weight has entries of mean zero and variance r_lσ_α²/(N_lN_{l-1}) = γ_lσ_α²/N_{l-1}.

    Given C the covariance of a column of W is σ_α²CCᵀ/N_{l-1}, and E C_jk² = 1/N_l for each of r columns.
    """
    of_a = gaussian_mean((left.T @ C @ A @ right).scalar() ** 2, {A: scale**2 / m})
    return Conjunction(
        MatrixIdentity(
            of_a * eye(1),
            scale**2 / m * (right.T @ right).scalar() * (left.T @ C @ C.T @ left),
            SIZES,
            FRAME,
            name=r"E_A(e^\top Wf)^2",
        ),
        Identity(
            sigma**2 / N_in * r * haar_moment("jj", "kk", N_out),
            r * sigma**2 / (N_in * N_out),
            name=r"E\,W_{ij}^2",
        ),
    )


@result(
    ledger=("naitsaada2023.gradient-alpha-second-moment",),
    uses=("signal_propagation.gradient_in_coefficients", "signal_propagation.haar_columns"),
    domain=Domain((N_out,), (), (Cell("N > 1", {N_out: 1}),)),
    hypotheses=(INDEPENDENT,),
)
def mean_square_in_coefficients() -> Conjunction:
    """The mean square of a gradient in a coefficient is E δ_1² E φ²: (Σδ_mC_m)² = Σδ_m²C_m² + Σ_{p≠m}δ_pδ_mC_pC_m.

    For Haar columns, E C_m² = 1/N and E C_pC_m = 0 for p ≠ m, which is what independence would give; with δ
    independent of C the cross terms vanish.
    """
    column = C @ unit_k
    rotated = vector("w", n, "C_i")
    return Conjunction(
        MatrixIdentity(
            gaussian_mean((delta.T @ rotated).scalar() ** 2, {rotated: 1 / n}) * eye(1),
            delta.T @ delta / n,
            SHAPES,
            name=r"E(\delta^\top C_i)^2",
        ),
        MatrixIdentity(
            (delta.T @ column).scalar() ** 2 * eye(1), (delta.T @ column) @ (column.T @ delta), SHAPES
        ),
        Identity(haar_moment("mm", "ii", N_out), 1 / N_out, name="E\\,C_m^2"),
        Identity(haar_moment("mp", "ii", N_out), sp.S.Zero, name="E\\,C_mC_p"),
    )


@printed(
    "naitsaada2023.gradient-alpha-second-moment",
    quote=r"\sum_m(\delta_m)^2(C_i)_m^2+\sum_{p,m}\delta_m(C_i)_m",
    domain=two_units,
    severity="typo",
)
def printed_mean_square_in_coefficients() -> Identity:
    """As printed, the cross terms are Σ_{p,m} δ_mC_m, with p of two values here, instead of Σ_{p≠m} δ_pδ_mC_pC_m."""
    squares = d1**2 * c1**2 + d2**2 * c2**2
    return Identity(squares + 2 * (d1 * c1 + d2 * c2), (d1 * c1 + d2 * c2) ** 2)


POSITIVE = {N_in: 1, N_out: 1, N_next: 1, gamma: 1, sigma: 1, q_tilde: 1, mu1: 1, chi: 1}
back = Domain(
    (N_out, N_next, gamma, sigma, q_tilde, mu1),
    (),
    (Cell("widths", POSITIVE),),
    hypotheses=(INDEPENDENT, stated("Eq. (8)", "μ_1 > 0", mu1)),
)
weight2 = gamma * N_next * sigma**2 / N_out / N_next
"""E W² of the layer after: r_{l+1}σ_α²/(N_l N_{l+1})."""


@result(
    ledger=("naitsaada2023.qtilde-factorisation",),
    uses=("signal_propagation.backward_recursion", "signal_propagation.second_moment_of_weights"),
    domain=Domain((N_out,), (), (Cell("N > 1", {N_out: 1}),)),
    hypotheses=(INDEPENDENT,),
)
def gradients_factorise() -> Conjunction:
    """The mean square of Σδ_kW_kj is the sum of E δ_k² E W_kj², as different weights of a column are uncorrelated.

    Given C, E(δᵀWe)² = σ_α²|e|²δᵀCCᵀδ/N, of which the mean over C is r|δ|²/N_l by E C_jiC_ki = 0 for j ≠ k.
    """
    of_a = gaussian_mean((delta.T @ C @ A @ right).scalar() ** 2, {A: scale**2 / m})
    return Conjunction(
        MatrixIdentity(
            of_a * eye(1),
            scale**2 / m * (right.T @ right).scalar() * (delta.T @ C @ C.T @ delta),
            SHAPES,
            FRAME,
        ),
        Identity(haar_moment("jk", "ii", N_out), sp.S.Zero, name="E\\,C_{ji}C_{ki}"),
        Identity(haar_moment("jj", "ii", N_out), 1 / N_out, name="E\\,C_{ji}^2"),
    )


@result(
    ledger=("naitsaada2023.gradient-length-recursion", "naitsaada2023.qtilde-recursion-appendix"),
    domain=back.with_cells(Cell("χ", POSITIVE)),
    uses=("signal_propagation.gradients_factorise",),
)
def gradient_recursion() -> Identity:
    """The mean square of gradients one layer back, q̃^l = (N_{l+1}/N_l) χ q̃^{l+1}: a sum over N_{l+1} weights.

    At equal widths the ratio is 1.
    """
    return Identity(
        N_next * q_tilde * weight2 * mu1,
        q_tilde * N_next / N_out * (gamma * sigma**2 * mu1),
        name=r"\tilde q^l",
    )


EQUAL_WORDS = "N_{l+1} = N_l"
equal = back.with_cells(
    Cell("equal widths", {s: 1 for s in POSITIVE if s != N_next}, {N_next: N_out})
).supposing(added(EQUAL_WORDS, N_next))


@printed(
    "naitsaada2023.qtilde-recursion-appendix",
    quote=r"\tilde q^l_{aa}=\tilde q^{l+1}_{aa}\gamma_{l+1}\sigma_\alpha^2",
    domain=back,
    hypothesis=EQUAL_WORDS,
    under=equal,
)
def printed_gradient_recursion() -> Identity:
    """As printed in the appendix, without the ratio of widths that Sec. 2.2 has."""
    return Identity(q_tilde * gamma * sigma**2 * mu1, N_next * q_tilde * weight2 * mu1)


slopes = Domain(
    (q, q_next, gamma, sigma),
    (),
    (Cell("lengths", {q: 1, q_next: 1, gamma: 1, sigma: 1}),),
    conditions=(gamma <= 1,),
    hypotheses=(INDEPENDENT, stated("Sec. 1", "lengths are positive", q, q_next)),
)


@result(
    ledger=("naitsaada2023.qtilde-intermediate",),
    domain=back,
    uses=("signal_propagation.gradients_factorise", "signal_propagation.law_of_an_entry"),
)
def gradient_step() -> Identity:
    """Before lengths have converged the slopes are those of the layer l itself: μ_1 = ∫φ'(√q^l z)²Dz."""
    return Identity(
        gamma * N_next * sigma**2 / N_out * (1 / N_next) * N_next * q_tilde * mu1,
        N_next * q_tilde * weight2 * mu1,
    )


@printed(
    "naitsaada2023.qtilde-intermediate",
    quote=r"\phi^\prime(\sqrt{q^{l-1}_{aa}}z)",
    domain=slopes,
    severity="typo",
)
def printed_gradient_step() -> Identity:
    """As printed, the slopes φ'(h^(l)) are averaged at the length q^{l-1} of the layer before, called q: for erf."""
    return Identity(erf_chi, erf_chi.subs(q, q_next))


by_layers = Domain(
    (chi, depth, layer, q_tilde),
    (),
    (Cell("χ > 0", {depth: 1, layer: 1, q_tilde: 1}, {chi: sp.exp(y)}, reason="χ > 0 is an exponential"),),
    hypotheses=(meaning("χ = e^y, and l, L are numbers of layers", chi, depth, layer),),
)


@result(
    ledger=("naitsaada2023.gradient-product-form", "naitsaada2023.gradient-depth-scale"),
    domain=by_layers,
    uses=("signal_propagation.gradient_recursion",),
)
def gradient_by_depth() -> Conjunction:
    """At constant width q̃^l is q̃^L times the product of the χ of the layers after: q̃^Lχ^{L-l}, proportional to e^{l/ξ}.

    By induction: one layer further back there is one factor χ more. 1/ξ = -log χ.
    """
    value = q_tilde * chi ** (depth - layer)
    return Conjunction(
        Identity(value.subs(layer, layer - 1), chi * value, name=r"\tilde q^{l-1}"),
        Identity(value.subs(layer, depth), q_tilde, name=r"\tilde q^L"),
        Identity(
            value, q_tilde * sp.exp(depth * sp.log(chi)) * sp.exp(-layer * sp.log(chi)), name=r"\tilde q^l"
        ),
    )


@result(
    ledger=("naitsaada2023.gradient-norm-proportional",),
    domain=Domain(
        (N_out, N_in, gamma, q_tilde, mu1),
        (),
        (Cell("constant", POSITIVE),),
        hypotheses=(INDEPENDENT, stated("Sec. 2.2", "E φ² > 0", mu1)),
    ),
    uses=("signal_propagation.mean_square_in_coefficients", "signal_propagation.number_of_coefficients"),
)
def gradient_norm() -> Conjunction:
    """The squared norm of the gradient in the coefficients is r_lN_{l-1} E φ² times q̃^l, for all layers of one width.

    E φ², called μ_1 here, is that of a length at its fixed point. Given C, |Cᵀδ|² is r q̃ in the mean.
    """
    return Conjunction(
        Identity(
            gamma * N_out * N_in * (q_tilde * mu1),
            (gamma * N_out * N_in * mu1) * q_tilde,
            name=r"\|\nabla_\alpha E\|^2",
        ),
        Identity(haar_moment("jj", "ii", N_out) * gamma * N_out, gamma, name=r"E\,|C_{j\cdot}|^2"),
    )


phases = Domain(
    (y, depth),
    (),
    (Cell("layers", {depth: 1}),),
    hypotheses=(meaning("χ = e^y, and L is a number of layers", y, depth),),
)


@result(
    ledger=("naitsaada2023.gradient-phases",),
    domain=phases,
    uses=("signal_propagation.gradient_by_depth", "signal_propagation.gradient_norm"),
)
def gradient_phases() -> Conjunction:
    """Over L layers gradients grow as χ^L for χ > 1, vanish as χ^L for χ < 1, and keep their scale for χ = 1.

    With χ = e^y: growth by e in 1/|y| = |ξ| layers.
    """
    above, below = (
        phases.with_cells(Cell(name, {depth: 1, y: sign})) for name, sign in (("χ > 1", 1), ("χ < 1", -1))
    )
    return Conjunction(
        Inequality(sp.exp(y * depth), ">", sp.S.One, on=above),
        Limit(sp.exp(-y * depth), depth, sp.oo, sp.S.Zero, on=above),
        Inequality(sp.exp(y * depth), "<", sp.S.One, on=below),
        Limit(sp.exp(y * depth), depth, sp.oo, sp.S.Zero, on=below),
        Identity(sp.exp(y * depth).subs(y, 0), sp.S.One),
    )


direction = vector("e", m, r"\epsilon")


@result(
    ledger=("naitsaada2023.perturbation-growth",),
    uses=("signal_propagation.backward_recursion", "random_matrices.trace_of_squares"),
)
def perturbation_growth() -> Conjunction:
    """The growth of a perturbation in one layer is the mean squared singular value of DW, (1/N_l) tr DW(DW)ᵀ.

    For a perturbation ε in a random direction, with entries of variance 1 so that its length |ε|²/N_{l-1} is 1 in the
    mean: the mean of |DWε|²/N_l, at any widths.
    """
    moved = D @ W @ direction
    return Conjunction(
        MatrixIdentity(
            gaussian_mean(moved.T @ moved, {direction: 1}) / n,
            trace(D @ W @ W.T @ D) / n * eye(1),
            SHAPES,
            name=r"E\,|DW\epsilon|^2/N_l",
        ),
        MatrixIdentity(
            gaussian_mean(direction.T @ direction, {direction: 1}) / m,
            eye(1),
            SHAPES,
            name=r"E\,|\epsilon|^2/N_{l-1}",
        ),
    )
