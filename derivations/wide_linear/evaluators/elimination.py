"""Gaussian elimination in many small matrices at once, which stand one behind another along their last axis.

Matrices are (..., n, m, T), and one step of the elimination is one NumPy operation on all T of them, which takes less
time than T calls of LAPACK. Rows cannot be exchanged in this way, and seldom have to be: a positive definite matrix
needs no exchange, and LAPACK takes those of the others whose multipliers are large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symdyn.arrays import linalg
from symdyn.arrays.backends import Array
from symdyn.arrays.linalg import first_last, last_first

_SMALL = 24
_LARGEST_MULTIPLIER = 4.0


def solve(xp: Any, a: Array, b: Array) -> Array:
    """a^-1 b (..., n, m, T) for a (..., n, n, T) and b (..., n, m) of one batch shape; NaN where a is singular."""
    n = a.shape[-2]
    if xp is not np or n > _SMALL:
        return first_last(linalg.solve(xp, last_first(a), b[..., None, :, :]))
    work = np.concatenate((a, np.broadcast_to(b[..., None], (*b.shape, a.shape[-1]))), -2)
    for i in range(n):
        work[..., i, i:, :] -= _dot(work[..., i, :i, :], work[..., :i, i:, :])
        work[..., i + 1 :, i, :] -= _dot(work[..., :i, i, :], work[..., i + 1 :, :i, :].swapaxes(-2, -3))
        work[..., i + 1 :, i, :] /= work[..., i, None, i, :]
    x = work[..., n:, :]
    for i in reversed(range(n)):
        x[..., i, :, :] -= _dot(work[..., i, i + 1 : n, :], x[..., i + 1 :, :, :])
        x[..., i, :, :] /= work[..., i, i, None, :]
    unsafe = ~_safe(work[..., :n, :])
    if unsafe.any():
        sides = np.broadcast_to(b[..., None, :, :], (*unsafe.shape, *b.shape[-2:]))
        last_first(x)[unsafe] = linalg.solve(np, last_first(a)[unsafe], sides[unsafe])
    return x


def congruence(xp: Any, h: Array, m: Array) -> Array:
    """m^T h^-1 m (..., T, k, k), symmetric, for positive definite h (..., n, n, T) and m (..., n, k, T).

    Elimination of a positive definite matrix does not depend on its scaling. A pivot that rounding or underflow has
    made zero counts as the rounding of its diagonal entry.
    """
    n, about = h.shape[-2], xp.finfo(h.dtype)
    if xp is not np or n > _SMALL:
        return last_first(
            linalg.congruence(xp, h + about.tiny * linalg.identity_like(xp, h, n)[..., None], m)
        )
    work = np.concatenate((h, m), -2)
    pivots = np.einsum("...iit->...it", work[..., :n, :])
    least = about.eps * pivots + about.tiny
    for i in range(n):
        work[..., i, i:, :] -= _dot(work[..., i, :i, :], work[..., :i, i:, :])
        pivots[..., i, :] += least[..., i, :] * (pivots[..., i, :] == 0)
        work[..., i + 1 :, i, :] = work[..., i, i + 1 : n, :] / pivots[..., i, None, :]
    half = work[..., n:, :]
    half /= np.sqrt(np.abs(pivots))[..., None, :]
    return last_first(half.swapaxes(-2, -3)).copy() @ last_first(half).copy()


def _dot(x: Array, y: Array) -> Array:
    """sum_k x_k y_kj, for x (..., k, T) and y (..., k, j, T)."""
    return np.einsum("...kt,...kjt->...jt", x, y)


def _safe(factors: Array) -> Array:
    """Where no multiplier is large, and no pivot zero or NaN, (..., T)."""
    multipliers = np.abs(factors[..., *np.tril_indices(factors.shape[-2], -1), :])
    pivots = np.abs(np.einsum("...iit->...it", factors))
    return (multipliers.max(-2, initial=0.0) <= _LARGEST_MULTIPLIER) & (pivots > 0).all(-2)
