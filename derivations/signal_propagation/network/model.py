r"""The network: low-rank weights W = CA, a bias in their column span, and pre-activations h = Cz.

Orthonormal columns make everything a matter of the coefficients z_k = Σ_j α_kj φ(h_j) + b: |h|² = |z|², and the
overlap of two inputs is that of their coefficients. W has the rank of A, which is min(r_l, N_{l-1}): it is r_l only
where r_l ≤ N_{l-1} (naitsaada2023, Sec. 1, App. A.2-A.4).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.signal_propagation.symbols import (
    N_in,
    N_out,
    gamma,
    r,
    s,
    z1,
    z2,
)
from symdyn.calculus.haar import haar_moment
from symdyn.calculus.matrix import (
    Index,
    Rules,
    basis,
    entry,
    eye,
    gaussian_mean,
    matrix,
    orthogonal,
    sum_over,
    vector,
)
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity

positive_s = Domain((s,), (), (Cell("s > 0", {s: 1}),))
size = Domain((N_out,), (), (Cell("width", {N_out: 1}),))
squares = Domain((z1, z2, gamma, N_out), (), (Cell("γ, N > 0", {gamma: 1, N_out: 1}),))
n, k, m = sp.symbols("N r M", integer=True, positive=True)
scale, bias_scale = sp.symbols("sigma sigma_b", real=True)
SIZES = ({n: 2, k: 1, m: 3}, {n: 3, k: 2, m: 2}, {n: 1, k: 1, m: 1})
C, A = matrix("C", n, k), matrix("A", k, m)
FRAME = Rules(orthogonal(C))
W_full = matrix("W", n, m)
b, b_full = vector("b", 1), vector("B", n, "b")
p, p2 = vector("p", m, r"\phi(h)"), vector("p2", m, r"\phi(h')")
z, other = vector("z", k), vector("y", k, "{z'}")
left, right = vector("e", n), vector("f", m)
i, j, k_ = Index("i", n), Index("j", m), Index("l", k)
ones = sum_over(k_, basis(k_))
LAW = {A: scale**2 / m, b: bias_scale**2}
h = C @ A @ p + C @ ones @ b


@result(ledger=("naitsaada2023.full-rank-init",))
def full_rank_start() -> Conjunction:
    """The full-rank initialisation: independent entries of variance σ_W²/N_{l-1}, by covariances in directions."""
    bilinear = (left.T @ W_full @ right).scalar()
    return Conjunction(
        MatrixIdentity(
            gaussian_mean(bilinear**2, {W_full: scale**2 / m}) * eye(1),
            scale**2 / m * (left.T @ left).scalar() * (right.T @ right).scalar() * eye(1),
            SIZES,
        ),
        MatrixIdentity(
            gaussian_mean((left.T @ b_full).scalar() ** 2, {b_full: bias_scale**2}) * eye(1),
            bias_scale**2 * (left.T @ left),
            SIZES,
        ),
    )


@result(ledger=("naitsaada2023.forward-recursion",))
def forward_recursion() -> MatrixIdentity:
    """The forward pass h^(l) = W^(l)z^(l) + b^(l), in coordinates and as matrices, with z^(l) of N_{l-1} entries."""
    summed = sum_over(i, sum_over(j, entry(W_full, i, j) * (basis(j).T @ p).scalar() * basis(i)))
    return MatrixIdentity(summed + b_full, W_full @ p + b_full, SIZES, name="h^{(l)}")


@result(ledger=("naitsaada2023.length-covariance-def", "naitsaada2023.overlap-matrix-def"))
def lengths_and_overlaps() -> Conjunction:
    """Length and covariance of pre-activations as sums over units, and by the coefficients z."""
    first, second = C @ z, C @ other

    def over_units(x: Any, y: Any) -> Any:
        return sum_over(i, (basis(i).T @ x).scalar() * (basis(i).T @ y).scalar()) / n * eye(1)

    return Conjunction(
        MatrixIdentity(over_units(first, first), first.T @ first / n, SIZES, FRAME, name="q^l"),
        MatrixIdentity(over_units(first, second), first.T @ second / n, SIZES, FRAME, name="q^l_{12}"),
    )


@result(ledger=("naitsaada2023.low-rank-weight",))
def low_rank_weight() -> MatrixIdentity:
    """The low-rank weight Σ_k C_k α_k· is the product CA."""
    summed = sum_over(k_, C @ basis(k_) @ basis(k_).T @ A)
    return MatrixIdentity(summed, C @ A, SIZES, name="W^{(l)}")


@result(ledger=("naitsaada2023.weight-columns",))
def weight_columns() -> MatrixIdentity:
    """A column of the low-rank weight is Σ_k α_kj C_k, with all of its r terms.

    In the text at hand the last of the three columns of the display lacks its dots; the two others have them.
    """
    v = vector("v", k, r"\alpha_{\cdot j}")
    return MatrixIdentity(sum_over(k_, (basis(k_).T @ v).scalar() * C @ basis(k_)), C @ v, SIZES)


widths = Domain((r, N_in, N_out), (), (Cell("sizes", {r: 1, N_in: 1, N_out: 1}),))
NARROW = added("r_l ≤ N_{l-1}")


@result(
    ledger=("naitsaada2023.rank-claim",), hypotheses=(NARROW,), uses=("signal_propagation.low_rank_weight",)
)
def rank() -> Existence:
    """The low-rank weight has the rank r_l almost surely if r_l ≤ N_{l-1}, and otherwise N_{l-1}.

    C has full column rank, and so has A if its rows are independent: the mean Gram determinant of two of them is
    σ_α⁴(1 - 1/N_{l-1}), which vanishes for N_{l-1} = 1.
    """
    first, second = vector("u", m), vector("v", m)
    gram = (first.T @ first).scalar() * (second.T @ second).scalar() - (first.T @ second).scalar() ** 2
    mean = gaussian_mean(gram, {first: scale**2 / m, second: scale**2 / m})
    return Existence(
        r"$\mathrm{rank}\,CA=\min(r_l,N_{l-1})$ almost surely, as the determinants of normal matrices have densities",
        (
            MatrixIdentity(C.T @ (C @ A), A, SIZES, FRAME, name=r"C^\top W"),
            MatrixIdentity(mean * eye(1), scale**4 * (1 - 1 / m) * eye(1), SIZES),
        ),
    )


@printed(
    "naitsaada2023.rank-claim",
    quote=r"has rank $r_l=\gamma_lN_l$",
    domain=widths,
    hypothesis="r_l ≤ N_{l-1}",
    under=widths.restrict(r <= N_in, words="r_l ≤ N_{l-1}"),
)
def printed_rank() -> Inequality:
    """As printed, the rank is r_l, which is no more than the number N_{l-1} of columns."""
    return Inequality(r, "<=", N_in)


@result(ledger=("naitsaada2023.c-matrix-law",))
def haar_columns() -> Conjunction:
    """The columns of C: orthonormal, with entries of mean zero and variance 1/N, but not independent.

    Under Haar's measure the fourth moments are 3/(N(N+2)), and squares in one row have the mean product 1/(N(N+2)),
    less than 1/N².
    """
    return Conjunction(
        MatrixIdentity(C.T @ C, eye(k), SIZES, FRAME),
        Identity(haar_moment("j", "k", N_out), sp.S.Zero, name="E\\,C_{jk}"),
        Identity(haar_moment("jj", "kk", N_out), 1 / N_out, name="E\\,C_{jk}^2", on=size),
        Identity(haar_moment("jjjj", "kkkk", N_out), 3 / (N_out * (N_out + 2)), on=size),
        Identity(haar_moment("jjjj", "kkll", N_out), 1 / (N_out * (N_out + 2)), on=size),
    )


@result(ledger=("naitsaada2023.bias-definition",))
def shared_bias() -> MatrixIdentity:
    """The bias b(C_1 + … + C_r) with one scalar b a layer: its covariance given C is σ_b²C11ᵀCᵀ."""
    vector_of = C @ ones @ b
    return MatrixIdentity(
        gaussian_mean(vector_of @ vector_of.T, {b: bias_scale**2}),
        bias_scale**2 * C @ ones @ ones.T @ C.T,
        SIZES,
        FRAME,
        name=r"E\,bb^\top",
    )


@result(ledger=("naitsaada2023.preactivation-decomposition",), uses=("signal_propagation.low_rank_weight",))
def coefficients() -> MatrixIdentity:
    """The pre-activations are Cz with coefficients z, which the layer before and the bias give."""
    inside = A @ p + ones @ b
    return MatrixIdentity(
        sum_over(k_, (basis(k_).T @ inside).scalar() * C @ basis(k_)), h, SIZES, name="h^{(l)}"
    )


@result(ledger=("naitsaada2023.row-decomposition",), uses=("signal_propagation.coefficients",))
def rows() -> MatrixIdentity:
    """One pre-activation is the inner product of z with a row of C."""
    unit_row = C.T @ left
    return MatrixIdentity(left.T @ (C @ z), z.T @ unit_row, SIZES, name="h_j")


@result(
    ledger=("naitsaada2023.preactivation-law-claim",),
    uses=("signal_propagation.coefficients", "signal_propagation.shared_bias"),
)
def preactivation_covariance() -> Conjunction:
    """Given C and h^(l-1) the pre-activations are exactly normal, in the span of the columns of C.

    h is linear in the normal A and b. Its covariance C(s I + σ_b²11ᵀ)Cᵀ, with s = σ_α²|φ(h)|²/N_{l-1}, is not
    diagonal: for one column C = (3/5, 4/5)ᵀ its entry off the diagonal is 12/25 of s + σ_b².
    """
    inside = scale**2 / m * (p.T @ p).scalar() * eye(k) + bias_scale**2 * ones @ ones.T
    column = sp.Matrix([sp.Rational(3, 5), sp.Rational(4, 5)])
    return Conjunction(
        MatrixIdentity(gaussian_mean(h @ h.T, LAW), C @ inside @ C.T, SIZES, FRAME, name=r"E\,hh^\top"),
        MatrixIdentity(gaussian_mean(h, LAW), 0 * h, SIZES, FRAME, name="E\\,h"),
        Inequality((column * column.T)[0, 1] * s, ">", on=positive_s),
    )


@result(ledger=("naitsaada2023.length-pythagoras",), uses=("signal_propagation.lengths_and_overlaps",))
def pythagoras() -> MatrixIdentity:
    """The length is that of the coefficients, |h|² = |z|², as the columns of C are orthonormal."""
    first = C @ z
    return MatrixIdentity(
        first.T @ first / n,
        sum_over(k_, (basis(k_).T @ z).scalar() ** 2) / n * eye(1),
        SIZES,
        FRAME,
        name="q^l",
    )


@result(ledger=("naitsaada2023.length-average-form",), uses=("signal_propagation.pythagoras",))
def length_as_average() -> Identity:
    """The length is γ times the average of the squared coefficients, r = γN; here for two of them."""
    total = z1**2 + z2**2
    return Identity(total / N_out, gamma / (gamma * N_out) * total, on=squares, name="q^l")


@result(ledger=("naitsaada2023.overlap-sum",), uses=("signal_propagation.lengths_and_overlaps",))
def overlap() -> Conjunction:
    """The overlap of two inputs is that of their coefficients; terms of different columns vanish by orthogonality."""
    first, second = C @ z, C @ other
    return Conjunction(
        MatrixIdentity(first.T @ second / n, z.T @ other / n, SIZES, FRAME, name="q^l_{12}"),
        MatrixIdentity(
            z.T @ other / n,
            sum_over(k_, (basis(k_).T @ z).scalar() * (basis(k_).T @ other).scalar()) / n * eye(1),
            SIZES,
        ),
    )


@printed(
    "naitsaada2023.overlap-sum",
    quote=r"\sum_{1\le k,p\le r_l}z_k(x^{0,1})z_p(x^{0,2})\sum_i(C_k)_i(C_p)_i",
    domain=Domain((z1, z2, N_out), (), (Cell("N > 0", {N_out: 1}),)),
    severity="typo",
)
def printed_overlap() -> Identity:
    """As printed, the second sum has the terms k = p once more: for one column of length one, and so C_1² = 1.

    z_1 and z_2 are the coefficients of the two inputs.
    """
    return Identity(z1 * z2 / N_out + z1 * z2 / N_out, z1 * z2 / N_out)
