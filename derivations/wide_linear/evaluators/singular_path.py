r"""Signed singular values and vectors that follow a path of matrices without kinks.

A sorted, non-negative singular value decomposition kinks where two singular values cross or one passes through zero:
the values exchange their places, the vectors jump. Along an analytic path beta(t) there is an analytic decomposition
beta = sum_i lambda_i u_i v_i^T whose values keep their identity and change sign instead (Bunse-Gerstner et al. 1991).
It is found by continuation: the vectors at a point are matched with those at the point before by their overlaps,
with both signs free, so that lambda_i is negative where one of u_i, v_i kept its direction and the other did not.
Where singular values coincide the vectors are any basis of their space, and the one closest to the vectors before is
taken.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Namespace
from symdyn.arrays.linalg import transpose
from symdyn.arrays.members import Bound, confine, finite, nan_unless
from symdyn.catalogue.implements import implements

_TIE = {"float32": 1e-4, "float64": 1e-9}
_RESOLVED = 0.6


@implements("wide_linear.singular_value_derivative")
def signed_svd_path(beta: object, *, check: bool = True) -> tuple[Array, Array, Array]:
    r"""U, lambda, V with beta_k = U_k diag(lambda_k) V_k^T, continuous along the path.

    At the first point lambda_1 >= lambda_2 >= ... >= 0 as usual. From there on every value keeps its identity: lambda
    is neither sorted nor of one sign.

    Args:
        beta: the points of the path (..., T, d, c), in their order; batch axes are paths of their own.
        check: False omits the check of values, and of the steps; a path that is not finite is then NaN.

    Returns:
        U (..., T, d, m), lambda (..., T, m) and V (..., T, c, m), m = min(d, c), the columns of U and V orthonormal.
        Where a value is zero its vectors continue those of the points beside it.

    Raises:
        ValueError: a value that is not finite, or a step so long that a vector after it is near none before: then the
            path is not resolved, and its points must be closer.
        TypeError: complex or non-numeric data.

    In torch lambda has the derivative d lambda_i = u_i^T d beta v_i. Where two absolute values coincide that is its
    derivative along the path only, and the vectors have none.

    Source: kunin2024, App. B.1.7, whose singular values these are as long as none is zero or equal to another.

    >>> _, values, _ = signed_svd_path([[[x, 0.0], [0.0, 0.5]] for x in (-1.0, -0.5, 0.0, 0.5, 1.0)])
    >>> values[:, 0].tolist()
    [1.0, 0.5, 0.0, -0.5, -1.0]
    """
    read = arrays.collect(beta=beta)
    xp, path = read.xp, read["beta"]
    if len(path.shape) < 3 or 0 in path.shape[-3:]:
        raise ValueError(f"beta must be a path of matrices, (..., T, d, c); its shape is {tuple(path.shape)}")
    if read.traced:
        raise ValueError("a path is followed by its values: signed_svd_path does not run inside a transform")
    read, good = confine(check, read, Bound("beta", finite(xp, 2), "finite"))
    path = read["beta"]
    left, values, right = xp.linalg.svd(path, full_matrices=False)
    sides = left, transpose(right)
    plain = [_numpy(x) for x in (sides[0], values, sides[1])]
    batch = path.shape[:-3]
    tie = _TIE[str(read.dtype).rpartition(".")[2]]
    (T, d, c), m = path.shape[-3:], min(path.shape[-2:])
    parts = [np.empty((*batch, T, rows, m), dtype=plain[1].dtype) for rows in (m, d, m, c)]
    for index in np.ndindex(batch):
        for part, found in zip(parts, _follow(*(x[index] for x in plain), tie, check, index), strict=True):  # type: ignore[arg-type, call-arg]  # three arrays
            part[index] = found
    turn_u, still_u, turn_v, still_v = (_like(xp, part, path) for part in parts)
    U, V = sides[0] @ turn_u + still_u, sides[1] @ turn_v + still_v
    signed = (arrays.detach(U) * (path @ arrays.detach(V))).sum(-2) + 0.0
    good = None if good is None else good.all(-1)
    return nan_unless(xp, good, U), nan_unless(xp, good, signed), nan_unless(xp, good, V)


def _numpy(x: Array) -> np.ndarray:
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else x


def _like(xp: Namespace, x: np.ndarray, path: Array) -> Array:
    return xp.as_tensor(x, dtype=path.dtype, device=path.device) if arrays.is_tensor(path) else x


class Point(NamedTuple):
    """The vectors U (d, m) and V (c, m) of one point of a path, and how they come from the sorted ones.

    U = (sorted U) turn_u + still_u, the second for vectors that belong to zero; `signs` are those of lambda.
    """

    U: np.ndarray
    V: np.ndarray
    signs: np.ndarray
    turn_u: np.ndarray
    still_u: np.ndarray
    turn_v: np.ndarray
    still_v: np.ndarray


def _follow(
    left: np.ndarray, values: np.ndarray, right: np.ndarray, tie: float, check: bool, index: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """turn_u, still_u, turn_v, still_v of every point, followed both ways from the one farthest from rank loss."""
    middle = int(np.argmax(values[:, -1]))
    size = values.shape[-1]
    points: dict[int, Point] = {}
    one, none = np.eye(size, dtype=values.dtype), np.zeros(size, dtype=values.dtype)
    points[middle] = Point(
        left[middle], right[middle], none + 1, one, 0 * left[middle], one, 0 * right[middle]
    )
    ways = itertools.chain(
        itertools.pairwise(range(middle, len(values))), itertools.pairwise(range(middle, -1, -1))
    )
    for before, k in ways:
        points[k] = _continue(points[before], left[k], values[k], right[k], tie * values.max())
        if check:
            _require_resolved(points[before], points[k], (*index, min(k, before)))
    first = points[0]
    sign = np.where(first.signs < 0, -1.0, 1.0).astype(values.dtype)
    order = np.argsort(-np.abs(np.sum(first.turn_v**2 * values[0][:, None], 0)), kind="stable")
    found = [points[k] for k in range(len(values))]
    return (
        np.stack([p.turn_u * sign for p in found])[..., order],
        np.stack([p.still_u * sign for p in found])[..., order],
        np.stack([p.turn_v for p in found])[..., order],
        np.stack([p.still_v for p in found])[..., order],
    )


def _continue(before: Point, left: np.ndarray, values: np.ndarray, right: np.ndarray, tie: float) -> Point:
    """The vectors nearest to those before among all that decompose this point."""
    size = len(values)
    at_u, at_v = left.T @ before.U, right.T @ before.V
    turn_u, turn_v = np.zeros((2, size, size), dtype=values.dtype)
    still_u, still_v = np.zeros_like(before.U), np.zeros_like(before.V)
    signs = np.zeros(size, dtype=values.dtype)
    free = np.ones(size, dtype=bool)
    for group in _groups(values, tie):
        likeness = (at_u[group] ** 2 + at_v[group] ** 2).sum(0)
        chosen = np.flatnonzero(free)[np.argsort(-likeness[free], kind="stable")[: len(group)]]
        free[chosen] = False
        if values[group[0]] <= tie:
            others = np.setdiff1d(np.arange(size), group)
            still_u[:, chosen] = _nearest(before.U[:, chosen], left[:, others])
            still_v[:, chosen] = _nearest(before.V[:, chosen], right[:, others])
            continue
        block = np.ix_(group, chosen)
        sign = np.where((at_u[block] * at_v[block]).sum(0) < 0, -1.0, 1.0).astype(values.dtype)
        turn = _polar(at_v[block] + at_u[block] * sign)
        turn_v[block], turn_u[block], signs[chosen] = turn, turn * sign, sign
    return Point(left @ turn_u + still_u, right @ turn_v + still_v, signs, turn_u, still_u, turn_v, still_v)


def _groups(values: np.ndarray, tie: float) -> list[np.ndarray]:
    """The indices of the sorted values, those that differ by rounding in one group; zeros are the last one."""
    breaks = np.flatnonzero(values[:-1] - values[1:] > tie) + 1
    return np.split(np.arange(len(values)), breaks)


def _polar(x: np.ndarray) -> np.ndarray:
    """The orthonormal matrix nearest to x."""
    left, _, right = np.linalg.svd(x, full_matrices=False)
    return left @ right


def _nearest(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Orthonormal vectors nearest to those given, across the others."""
    return _polar(vectors - others @ (others.T @ vectors))


def _require_resolved(before: Point, after: Point, index: tuple[int, ...]) -> None:
    for x, y in ((before.U, after.U), (before.V, after.V)):
        if np.abs((x * y).sum(0)).min() < _RESOLVED:
            raise ValueError(
                f"beta is not resolved between its points {index[-1]} and {index[-1] + 1}"
                + (f" of the path {index[:-1]}" if index[:-1] else "")
                + ": a singular vector turns by more than 50 degrees; give points that are closer"
            )
