"""Linear algebra on stacks of small matrices, for NumPy and torch alike, that marks failure by NaN.

LAPACK stops at the first singular matrix of a stack. These functions fill its place with NaN, so that a caller
can name the members of a batch that failed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected, Namespace

_ROUNDING = {"float32": 1e-5, "float64": 1e-13}


def transpose(x: Array) -> Array:
    """x with its last two axes exchanged."""
    return x.swapaxes(-1, -2)


def last_first(x: Array) -> Array:
    """(..., n, m, T) as (..., T, n, m)."""
    return x.swapaxes(-1, -3).swapaxes(-1, -2)


def first_last(x: Array) -> Array:
    """(..., T, n, m) as (..., n, m, T)."""
    return x.swapaxes(-1, -2).swapaxes(-1, -3)


def identity_like(xp: Namespace, x: Array, size: int) -> Array:
    """The identity (size, size), of the dtype and on the device of x."""
    if xp is np:
        return np.eye(size, dtype=x.dtype)
    return xp.eye(size, dtype=x.dtype, device=x.device)


def constant_like(xp: Namespace, value: Array, x: Array) -> Array:
    """A NumPy constant in the dtype and on the device of x."""
    if xp is np:
        return np.asarray(value, dtype=x.dtype)
    return xp.as_tensor(value, dtype=x.dtype, device=x.device)


def check_matrix(name: str, x: Array) -> None:
    """Raise ValueError unless x is a stack of matrices without an axis of length zero."""
    shape = tuple(x.shape)
    if len(shape) < 2 or 0 in shape[-2:]:
        raise ValueError(f"{name} must be a matrix in its last two axes; its shape is {shape}")


def check_square(name: str, x: Array) -> None:
    """Raise ValueError unless x is a stack of square matrices of size at least one."""
    shape = tuple(x.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] == 0:
        raise ValueError(f"{name} must be a square matrix in its last two axes; its shape is {shape}")


def is_symmetric(xp: Namespace, x: Array) -> Array:
    """Whether the matrices of x (..., n, n) are their transposes, up to rounding: (...)."""
    rounding = _rounding(x) * xp.amax(xp.abs(x), (-2, -1))
    return (xp.abs(x - transpose(x)) <= rounding[..., None, None]).all(-1).all(-1)


def is_semidefinite(xp: Namespace, x: Array) -> Array:
    """Whether the finite symmetric matrices of x (..., n, n) have no negative eigenvalue, up to rounding: (...)."""
    values = xp.linalg.eigvalsh(arrays.detach(x))
    return values[..., 0] >= -_rounding(x) * values.shape[-1] * xp.amax(xp.abs(values), -1)


def is_definite(xp: Namespace, x: Array) -> Array:
    """Whether the symmetric matrices of x (..., n, n) have a Cholesky factor: (...)."""
    return xp.isfinite(cholesky(xp, arrays.detach(x))).all(-1).all(-1)


def _rounding(x: Array) -> float:
    return _ROUNDING[str(x.dtype).rpartition(".")[2]]


def require_symmetric(read: Collected, name: str) -> None:
    """Raise ValueError where the named matrix differs from its transpose by more than rounding."""
    arrays.require(name, is_symmetric(read.xp, read[name]), "symmetric")


def require_semidefinite(read: Collected, name: str) -> None:
    """Raise ValueError where the named matrix is not symmetric and positive semi-definite, up to rounding."""
    require_symmetric(read, name)
    arrays.require(name, is_semidefinite(read.xp, read[name]), "positive semi-definite")


def size(xp: Namespace, x: Array) -> Array:
    """The Frobenius norm of the matrices of x, (...), with gradient zero at zero."""
    return arrays.norm(xp, x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def solve(xp: Namespace, a: Array, b: Array) -> Array:
    """a^-1 b for a (..., n, n) and b (..., n, m) of the same batch shape; NaN where a is singular."""
    if xp is not np:
        solution, failed = xp.linalg.solve_ex(a, b)
        return xp.where((failed == 0)[..., None, None], solution, float("nan"))
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return _each(np.linalg.solve, a, b)


def cholesky(xp: Namespace, a: Array) -> Array:
    """The lower L with L L^T = a for symmetric a (..., n, n); NaN where a is not positive definite."""
    if xp is not np:
        factor, failed = xp.linalg.cholesky_ex(a)
        return xp.where((failed == 0)[..., None, None], factor, float("nan"))
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return _each(np.linalg.cholesky, a)


def _each(function: Any, first: Array, *others: Array) -> Array:
    """The function on each matrix of a stack by itself, NaN where it raises LinAlgError."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (first, *others)))
    stacks = [np.broadcast_to(x, batch + x.shape[-2:]) for x in (first, *others)]
    result = np.full(stacks[-1].shape, np.nan, dtype=first.dtype)
    for index in np.ndindex(batch):
        try:
            result[index] = function(*(x[index] for x in stacks))
        except np.linalg.LinAlgError:
            continue
    return result


def congruence(xp: Namespace, h: Array, m: Array) -> Array:
    """m^T h^-1 m, symmetric, for positive definite h (..., n, n, T) and m (..., n, k, T)."""
    first, rest = last_first(h), last_first(m)
    found = transpose(rest) @ solve(xp, first, rest)
    return first_last((found + transpose(found)) / 2)
