r"""The exact flow in one basis of hidden space for all times, with the modes of the task in falling order of rate.

Let F V = V diag(r) with r falling, and Z0 V = P R with an orthogonal P and R in row echelon form, so that row i of R
begins with the mode of its pivot. With g = max(r, 0), the rows X_ij = R_ij e^((g_j - g_i) t) are bounded, and

    Z^T Z = V e^(min(r, 0) t) X^T (e^(-2 g t) + X k X^T)^-1 X e^(min(r, 0) t) V^T,    k = (1 - e^(-2|r| t)) / (2|r|).

One factorisation a start and one elimination a time make this many times faster than a basis for every time. Its
digits are those of R: a pivot much smaller than its row costs some at intermediate times, and then `linear_flow` is
better. A pivot that is zero to rounding can be taken for zero here, so that rounding errors never grow: that is the
flow on a separatrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import balance
from derivations.prior_knowledge.evaluators.separatrix import gaps, resolution, tie_of
from derivations.wide_linear.evaluators.isotropic_flow import turn
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose

_WHOLE, _FRONT = 30, 1e4

Part = tuple[slice, slice]


class Frame(NamedTuple):
    """Eigenvectors of F as columns (..., N, N), rates (..., N), the rows R (..., r, N), the growing part g (..., r) of
    the rate of every row's pivot, and P (..., N_h, r)."""

    vectors: Array
    rates: Array
    rows: Array
    lead: Array
    basis: Array


def _eigenvectors(read: Collected) -> tuple[Array, Array]:
    """Of F = [[-lambda/2, sigma_yx^T], [sigma_yx, lambda/2]], rates falling."""
    xp = read.xp
    u, s, v = xp.linalg.svd(read["sigma_yx"], full_matrices=True)
    s = _tied(read, s)
    v, k, half = transpose(v), s.shape[-1], balance(read)[0][..., None] / 2
    R, *angle = turn(xp, s, half)
    cos, sin = (x[..., None, :] for x in angle)
    zero = 0 * half[..., None]
    other_v, other_u = _complement(v, k) + zero, _complement(u, k) + zero
    parts = (
        (v[..., :k] * sin, u[..., :k] * cos),
        (v[..., :k] * cos, -u[..., :k] * sin),
        (other_v, 0 * u[..., :1] * other_v[..., :1, :]),
        (0 * v[..., :1] * other_u[..., :1, :], other_u),
    )
    vectors = xp.concatenate([xp.concatenate(pair, -2) for pair in parts], -1)
    rates = xp.concatenate((R, -R, -half + 0 * v[..., 0, k:], half + 0 * u[..., 0, k:]), -1)
    order = xp.argsort(-arrays.detach(rates), -1)
    take = np.take_along_axis if xp is np else xp.take_along_dim
    return take(vectors, order[..., None, :], -1), take(rates, order, -1)


def _complement(axes: Array, count: int) -> Array:
    """The columns after the first ones, as the complement of these: `svd` gives them no derivative."""
    first, rest = axes[..., :count], arrays.detach(axes[..., count:])
    return rest - first @ (transpose(first) @ rest)


def _tied(read: Collected, s: Array) -> Array:
    """Singular values that differ by rounding alone made equal: their rates must not part in long times."""
    tie, found = arrays.detach(tie_of(read, s))[..., 0], [s[..., 0]]
    for j in range(1, s.shape[-1]):
        found.append(read.xp.where(s[..., j - 1] - s[..., j] > tie, s[..., j], found[-1]))
    return read.xp.stack(found, -1)


def frame_of(read: Collected, dependent: bool) -> Frame:
    """The frame of every start; `dependent` takes pivots for zero that are zero to rounding."""
    xp, W1, W2t = read.xp, read["W1"], transpose(read["W2"])
    vectors, rates = _eigenvectors(read)
    inputs = W1.shape[-1]
    overlaps = W1 @ vectors[..., :inputs, :] + W2t @ vectors[..., inputs:, :]
    growing = arrays.where(xp, rates > 0, rates, 0.0)
    if not dependent:
        basis, rows = xp.linalg.qr(overlaps)
        return Frame(vectors, rates, xp.triu(rows), growing[..., : rows.shape[-2]], basis)
    basis = _echelon(read, overlaps, _small(read, overlaps.shape[-1]))
    rows = xp.triu(transpose(basis) @ overlaps)
    return Frame(vectors, rates, rows, growing + 0 * overlaps[..., 0, :], basis)


def _small(read: Collected, count: int) -> Array:
    """What counts as zero of the overlaps with the first mode, the first two, and so on."""
    xp = read.xp
    s = arrays.detach(xp.linalg.svd(read["sigma_yx"], full_matrices=False)[1])
    gap, tie = gaps(xp, s), tie_of(read, s)
    # Equal singular values have no basis of their own: within them, only the weights are inexact.
    steep = arrays.where(xp, (gap > tie) & (s > tie), gap, np.inf)
    plain = arrays.where(xp, 0 * s[..., :1] == 0, np.inf, s[..., :1])
    return resolution(read, xp.concatenate((steep, *[plain] * (count - s.shape[-1])), -1))


def _echelon(read: Collected, overlaps: Array, small: Array) -> Array:
    """P with a column for every mode, zero where the overlap lies in the span of those before to rounding."""
    xp, n = read.xp, overlaps.shape[-1]
    ranks = [
        (
            xp.linalg.svd(arrays.detach(overlaps[..., : j + 1]), full_matrices=False)[1] > small[..., j, None]
        ).sum(-1)
        for j in range(n)
    ]
    for j in range(n - 1, 0, -1):
        ranks[j - 1] = xp.maximum(ranks[j - 1], ranks[j] - 1)
    basis, before = [], 0  # type: ignore[var-annotated]  # arrays of either library
    for j, rank in enumerate(ranks):
        direction = overlaps[..., j]
        for _ in range(2):
            for earlier in basis:
                direction = direction - earlier * (earlier * direction).sum(-1)[..., None]
        direction = arrays.divide(xp, direction, arrays.norm(xp, direction)[..., None])
        basis.append(direction * (rank > before)[..., None])
        before = xp.maximum(rank, before + 0 * rank)
    return xp.stack(basis, -1)


def well_conditioned(xp: Any, frame: Frame) -> Array:
    """Where the rows, and the part of them in front of the last pivot, lose no more than a digit or two at any time."""
    rows = arrays.detach(frame.rows)
    size = arrays.norm(xp, rows)[..., None]
    rows = arrays.divide(xp, rows, size)
    whole, front = (xp.linalg.svd(x, full_matrices=False)[1] for x in (rows, rows[..., : rows.shape[-2]]))
    good = whole[..., -1] * _WHOLE >= whole[..., 0]
    return good & (front[..., -1] * _FRONT >= front[..., 0]) & (size[..., 0] > 0).all(-1)


def settled(xp: Any, frame: Frame) -> float:
    """A time after which no exponential of any start of the batch is felt in float64; infinite with a rate of zero."""
    rates, lead, rows = (arrays.detach(x) for x in (xp.abs(frame.rates), frame.lead, frame.rows))
    growing = arrays.detach(arrays.where(xp, frame.rates > 0, frame.rates, 0.0))
    gaps = lead[..., :, None] - growing[..., None, :]
    slowest = min(float(rates.min()), float(arrays.where(xp, gaps > 0, gaps, np.inf).min()))
    pivots = xp.abs((rows[..., : rows.shape[-2]] * linalg.identity_like(xp, rows, rows.shape[-2])).sum(-1))
    least = min(1.0, float(arrays.where(xp, lead > 0, pivots, np.inf).min()))
    if slowest == 0 or least == 0:
        return np.inf
    largest = max(1.0, float(xp.abs(rows).max())) * max(1.0, float(rates.max()))
    return (45 + 4 * np.log(largest / least)) / slowest


def evaluate(xp: Any, times: Array, frame: Frame, part: Part, out: Array | None = None) -> Array:
    """The rows and columns of Z^T Z that `part` names (..., T, n, m), in `out` if that is given."""
    Q = lift(xp, times, frame) @ transpose(frame.vectors)[..., None, :, :]
    rows, right = Q[..., part[0]], Q[..., part[1]]
    if xp is not np:
        return transpose(rows) @ right
    if out is None:
        out = np.empty((*Q.shape[:-2], rows.shape[-1], right.shape[-1]), Q.dtype)
    # By halves, for the routine of BLAS for a whole Q^T Q takes several times longer with matrices of this size.
    half = rows.shape[-1] // 2
    for some in (slice(0, half), slice(half, None)):
        np.matmul(transpose(rows[..., some]), right, out=out[..., some, :])
    return out


def lift(xp: Any, times: Array, frame: Frame) -> Array:
    """Y = L^-1 X e^(min(r, 0) t) (..., T, r, N), with the lower triangular L L^T = e^(-2 g t) + X k X^T: a Z of the
    exact flow up to a rotation of hidden space, in the basis of the modes. At t = 0 it is R."""
    rates, t = frame.rates[..., None, :], times[:, None]
    growing = arrays.where(xp, rates > 0, rates, 0.0)
    falling, lead = xp.where(rates > 0, 0 * rates, rates), frame.lead[..., None, :]
    counts = (growing > 0).sum(-1)
    few, some = int(counts.min()), int(counts.max())
    gaps = xp.clip(growing[..., :some] - frame.lead[..., :, None], None, 0.0)
    first = frame.rows[..., None, :, :some] * xp.exp(gaps[..., None, :, :] * t[..., None])
    X = xp.concatenate((first, frame.rows[..., None, :, some:] * xp.exp(-lead * t)[..., None]), -1)
    kappa = t * arrays.phi1(xp, 2 * (falling - growing) * t)
    H = (X * kappa[..., None, :]) @ transpose(X)
    size = H.shape[-1]
    H.reshape(*H.shape[:-2], size**2)[..., :: size + 1] += xp.exp(-2 * lead * t) + xp.finfo(X.dtype).tiny
    faded = X[..., few:] * xp.exp(falling[..., few:] * t)[..., None, :]
    return _forward(xp, linalg.cholesky(xp, H), xp.concatenate((X[..., :few], faded), -1))


def _forward(xp: Any, L: Array, b: Array) -> Array:
    """L^-1 b for lower triangular L (..., n, n) and b (..., n, m), in the place of b: NumPy has no routine for it."""
    if xp is not np:
        return xp.linalg.solve_triangular(L, b, upper=False)
    for i in range(L.shape[-1]):
        b[..., i, :] -= (L[..., i, None, :i] @ b[..., :i, :])[..., 0, :]
        b[..., i, :] /= L[..., i, i, None]
    return b
