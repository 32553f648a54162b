r"""Lazy, rich or delayed rich: what a wide linear network will be, decided before it is trained.

A neuron with a large balance delta_k moves one layer only. If delta_k >> 0 that is w_k: beta_k = w_k a_k^T keeps its
row space; if delta_k << 0 it is a_k: beta_k keeps its column space. If all are large, the network is a linear
regression on

    { X_k a_k^T summed over delta_k > 0 } + { w_k Y_k^T summed over delta_k < 0 },

with a kernel that stays. It fits the data, lazily, if and only if this space holds a solution: if and only if

    (1 - P_w) beta* (1 - P_a) = 0,

P_a the projection on the rows of all beta_k with delta_k > 0 and P_w that on the columns of those with delta_k < 0. For
balances of one sign these are the two conditions of kunin2024, Theorem 6; for both signs, one neuron may supply rows
and another columns. Otherwise the network first fits what it can and then has to turn, after a time of order
|delta|, up to a logarithm: delayed rich.

At finite balances, what the kernel will do is estimated by the linearised network: by where its training ends, and by
how much that would change the kernel. A linearisation that contradicts itself is not lazy. In units in which learning
rates are one, with C = A^T A and D = W^T W, it ends at

    A + W F,  W + A F^T,    D F + F C = beta* - beta.

If some balances grow next to finite ones, |delta_k| = t tau_k with t -> inf, so does the kernel, by the larger weights
of these neurons. What these weights can fit, or any weight of the other neurons, an F fits that stays finite: next to
the kernel it does nothing. The rest is left to the smaller weights of the growing neurons, of order 1 / sqrt(t), and
takes an F of order t, which moves the larger ones in proportion. So the limit is the linearisation again, its kernel
made of the larger weights and its rates of the smaller ones, outside of what is fitted already.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from symdyn.arrays import backends as arrays
from symdyn.arrays import kinds
from symdyn.catalogue.implements import implements

_ROUNDING = 1e-14
# A balance this much larger than all contributions: rounding of the larger weights comes near the size of the smaller
# ones, and the limit is off by a part in 1e10.
_INFINITE = 1e10


@implements(
    "wide_linear.lazy_regime", "wide_linear.narrowing_and_expanding", "wide_linear.delayed_rich_regime"
)
def regime(
    h: int,
    d: int,
    c: int,
    deltas: object,
    beta_k: object,
    beta_star: object,
    eta_a: float = 1.0,
    eta_w: float = 1.0,
    *,
    large: float = 2.0,
    rank_tolerance: float = 0.05,
    kernel_tolerance: float = 0.2,
) -> Any:
    r"""The regime in which f(x) = A^T W x will learn beta* on whitened data: "lazy", "rich" or "delayed rich".

    If every |delta_k| is at least large * 2 sqrt(eta_a eta_w) max(|beta*|, |beta_k|): "delayed rich" where
    (1 - P_w) beta* (1 - P_a) != 0, see this module's docstring; else "lazy" or, if the contributions it takes are so
    large that the kernel must change, "delayed rich". If some |delta_k| is smaller: "lazy" where the linearised network
    changes its kernel little, as at large initial scale, else "rich".

    Args:
        h, d, c: hidden neurons, inputs and outputs.
        deltas: balances eta_w |a_k|^2 - eta_a |w_k|^2 of the neurons (..., h); +-inf stands for the limit, in which
            those that are infinite grow together.
        beta_k: initial contributions w_k a_k^T of the neurons (..., h, d, c), each of rank one and not zero.
        beta_star: the least-squares solution (..., d, c).
        eta_a, eta_w: learning rates, positive.
        large: how much larger than everything else a balance must be to count as large.
        rank_tolerance: the part of beta* that may be outside the space before it counts. A remainder turns the kernel
            by an angle of its size, so that smaller ones do not show. If beta_k and beta_star consist of integers,
            fractions or SymPy rationals, the condition is decided exactly instead.
        kernel_tolerance: the relative change of the kernel, in the Frobenius norm, that still counts as lazy.

    Returns:
        One of the three words, or an array of them (...) for a batch.

    Raises:
        ValueError: h, d or c below one, shapes that do not fit, values out of their domain, a neuron without a
            direction, `large` that is not positive or a tolerance that is negative.
        TypeError: complex or non-numeric data.

    Source: kunin2024, Theorem 6, for balances of any signs.

    >>> row = [[[1, 0], [0, 0], [0, 0]]]
    >>> regime(1, 3, 2, deltas=[100], beta_k=row, beta_star=[[1, 0], [2, 0], [3, 0]])
    'lazy'
    >>> regime(1, 3, 2, deltas=[-100], beta_k=row, beta_star=[[1, 0], [2, 0], [3, 0]])
    'delayed rich'
    >>> regime(1, 3, 2, deltas=[0], beta_k=row, beta_star=[[1, 0], [2, 0], [3, 0]])
    'rich'
    """
    given = {"deltas": _numbers("deltas", deltas), "beta_k": _numbers("beta_k", beta_k)}
    given["beta_star"] = _numbers("beta_star", beta_star)
    _check_thresholds(large, rank_tolerance, kernel_tolerance)
    batch = _check(h, d, c, given, eta_a, eta_w)
    exact = all(given[name].dtype == object for name in ("beta_k", "beta_star"))
    spread = [
        np.broadcast_to(given[name], (*batch, *size))
        for name, size in (("deltas", (h,)), ("beta_k", (h, d, c)), ("beta_star", (d, c)))
    ]
    tolerances = (large, rank_tolerance, kernel_tolerance)
    found = np.empty(batch, dtype="<U12")
    for index in np.ndindex(batch):
        found[index] = _decide(*(x[index] for x in spread), float(eta_a), float(eta_w), exact, *tolerances)  # type: ignore[arg-type, call-arg]  # three arrays
    return found if batch else str(found[()])


def _decide(
    deltas: np.ndarray,
    beta_k: np.ndarray,
    beta_star: np.ndarray,
    eta_a: float,
    eta_w: float,
    exact: bool,
    large: float,
    rank_tolerance: float,
    kernel_tolerance: float,
) -> str:
    balances, parts, target = (np.asarray(x, dtype=float) for x in (deltas, beta_k, beta_star))
    # a power of two, by which division is exact
    unit = np.frexp(max(np.abs(parts).max(), np.abs(target).max()))[1]
    parts, target = np.ldexp(parts, -unit), np.ldexp(target, -unit)
    with np.errstate(over="ignore"):
        relative = np.ldexp(balances / np.sqrt(eta_a) / np.sqrt(eta_w), -unit)
    scale = max(np.linalg.norm(target), np.linalg.norm(parts, axis=(-2, -1)).max())
    infinite = np.isinf(balances)
    dominant = bool((np.abs(relative) >= large * 2 * scale).all())
    if dominant:
        up = deltas > 0
        rest = _rest(up, parts, target)
        little = bool(np.linalg.norm(rest) <= rank_tolerance * np.linalg.norm(target))
        if not (_reachable_exactly(up, beta_k, beta_star) if exact else little):
            return "delayed rich"
        if infinite.any():
            return "lazy"
        target = target - rest
    growing = infinite if infinite.any() else np.abs(relative) > _INFINITE * scale
    missing = target - parts.sum(0)
    if growing.any():
        growth = np.where(growing, np.where(infinite, 1.0, np.abs(balances)), 0.0)
        growth = growth / growth.max()
        change = _limit_of_kernel_change(growth, balances > 0, parts, missing)
    else:
        change = _kernel_change(relative, parts, missing)
    if change <= kernel_tolerance:
        return "lazy"
    return "delayed rich" if dominant else "rich"


def _rest(up: np.ndarray, beta_k: np.ndarray, beta_star: np.ndarray) -> np.ndarray:
    """(1 - P_w) beta* (1 - P_a)."""
    w, a, _ = _directions(beta_k)
    return _without(a[up], _without(w[~up], beta_star).T).T


def _reachable_exactly(up: np.ndarray, beta_k: np.ndarray, beta_star: np.ndarray) -> bool:
    """Whether it is zero, in rational arithmetic: n^T beta* m = 0 for all n across the columns, m across the rows."""
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    def rational(rows: Any, width: int) -> Any:
        entries = [[QQ(x.numerator, x.denominator) for x in row] for row in rows]
        return DomainMatrix(entries, (len(entries), width), QQ)

    d, c = beta_star.shape
    columns = rational(beta_k[~up].swapaxes(-1, -2).reshape(-1, d), d)
    rows = rational(beta_k[up].reshape(-1, c), c)
    rest = _null(columns) * rational(beta_star, c) * _null(rows).transpose()
    return bool(rest.is_zero_matrix)


def _null(rows: Any) -> Any:
    """A basis of the null space, as rows."""
    from sympy.polys.matrices import DomainMatrix

    return rows.nullspace() if rows.shape[0] else DomainMatrix.eye(rows.shape[1], rows.domain)


def _directions(beta_k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors along w_k and along a_k, and |beta_k|."""
    left, sizes, right = np.linalg.svd(beta_k, full_matrices=False)
    return left[:, :, 0], right[:, 0, :], sizes[:, 0]


def _without(vectors: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x minus its projection on the span of the unit vectors given as rows; zero where a column is in it."""
    if not len(vectors):
        return x
    _, sizes, directions = np.linalg.svd(vectors, full_matrices=False)
    kept = directions[sizes > _ROUNDING * len(vectors) * sizes[0]]
    rest = x - kept.T @ (kept @ x)
    return np.where(np.linalg.norm(rest, axis=0) > _ROUNDING * np.linalg.norm(x, axis=0), rest, 0.0)


def _kernel_change(balances: np.ndarray, beta_k: np.ndarray, missing: np.ndarray) -> float:
    """|K - K0| / |K0| at the end of the linearised training."""
    w, a, sizes = _directions(beta_k)
    larger = np.sqrt((np.hypot(balances, 2 * sizes) + np.abs(balances)) / 2)
    up = balances >= 0
    A = np.where(up, larger, sizes / larger)[:, None] * a
    W = np.where(up, sizes / larger, larger)[:, None] * w
    return _linearised(A, W, A, W, missing)


def _limit_of_kernel_change(
    growth: np.ndarray, up: np.ndarray, beta_k: np.ndarray, missing: np.ndarray
) -> float:
    """The same for delta_k = +-t growth_k with t -> inf; growth_k = 0 where delta_k is finite."""
    w, a, sizes = _directions(beta_k)
    larger, grows = np.sqrt(growth), growth > 0
    smaller = sizes / np.where(grows, larger, np.inf)
    fitted_columns, fitted_rows = w[~(grows & up)], a[~(grows & ~up)]
    A, W = (np.where(up, larger, 0.0)[:, None] * a, np.where(up, 0.0, larger)[:, None] * w)
    slow_A = _without(fitted_rows, (np.where(up, 0.0, smaller)[:, None] * a).T).T
    slow_W = _without(fitted_columns, (np.where(up, smaller, 0.0)[:, None] * w).T).T
    missing = _without(fitted_rows, _without(fitted_columns, missing).T).T
    return _linearised(A, W, slow_A, slow_W, missing)


def _linearised(
    A: np.ndarray, W: np.ndarray, moving_A: np.ndarray, moving_W: np.ndarray, missing: np.ndarray
) -> float:
    """|K - K0| / |K0|, K0 of A and W, at A + W F and W + A F^T, the W and A of these sums and of D F + F C moving."""
    (c, c_axes), (d, d_axes) = _modes(moving_A), _modes(moving_W)
    rates = np.hypot(d[:, None], c)
    modes = d_axes @ missing @ c_axes.T
    moving = (rates > 0) & (np.abs(modes) > _ROUNDING)
    rates = np.where(moving, rates, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        force = d_axes.T @ np.where(moving, modes / rates / rates, 0.0) @ c_axes
        after_A, after_W = A + moving_W @ force, W + moving_A @ force.T
        C, D = A.T @ A, W.T @ W
        change = float(np.sqrt(_square(after_A.T @ after_A - C, after_W.T @ after_W - D) / _square(C, D)))
    # no float holds what rates this small do
    return np.inf if np.isnan(change) else change


def _modes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Roots of the eigenvalues of rows^T rows, which keep twice the digits, and eigenvectors as rows."""
    _, values, axes = np.linalg.svd(np.linalg.qr(rows, mode="r"))
    roots = np.zeros(len(axes))
    roots[: len(values)] = np.where(values > _ROUNDING * values[0], values, 0.0)
    return roots, axes


def _square(C: np.ndarray, D: np.ndarray) -> float:
    """|C x I + I x D|^2, Frobenius."""
    return len(D) * (C * C).sum() + len(C) * (D * D).sum() + 2 * np.trace(C) * np.trace(D)


def _numbers(name: str, value: Any) -> np.ndarray:
    """An object array of fractions if all entries are rational, else a float array."""
    if arrays.is_tensor(value):
        arrays.collect(**{name: value})
        value = value.detach().cpu().numpy()
    kinds.refuse(name, value)
    array = np.asarray(value)
    if array.dtype.kind in "iu" or (
        array.dtype == object and all(isinstance(x, numbers.Rational) for x in array.flat)
    ):
        fractions = np.empty(array.shape, dtype=object)
        for index in np.ndindex(array.shape):
            fractions[index] = Fraction(int(array[index].numerator), int(array[index].denominator))  # type: ignore[attr-defined]  # a rational number
        return fractions
    if array.dtype == object and all(isinstance(x, numbers.Real | sympy.Number) for x in array.flat):
        return array.astype(float)
    return kinds.as_numpy(name, value).astype(float)


def _check_thresholds(large: float, rank_tolerance: float, kernel_tolerance: float) -> None:
    if not large > 0:
        raise ValueError(f"large must be positive, got {large!r}")
    for name, tolerance in (("rank_tolerance", rank_tolerance), ("kernel_tolerance", kernel_tolerance)):
        if not tolerance >= 0:
            raise ValueError(f"{name} must be at least 0, got {tolerance!r}")


def _check(
    h: int, d: int, c: int, given: dict[str, np.ndarray], eta_a: float, eta_w: float
) -> tuple[int, ...]:
    """The batch shape; raises ValueError for shapes or values out of their domain."""
    if min(h, d, c) < 1:
        raise ValueError(f"h, d and c must be at least 1; they are {h}, {d} and {c}")
    for name, shape in (("deltas", (h,)), ("beta_k", (h, d, c)), ("beta_star", (d, c))):
        found = given[name].shape[-len(shape) :]
        if found != shape:
            raise ValueError(
                f"{name} must end in the axes {shape} for h, d, c = {h}, {d}, {c}; it ends in {found}"
            )
    floats = {name: x.astype(float) for name, x in given.items()}
    arrays.require("deltas", ~np.isnan(floats["deltas"]), "numbers or infinite")
    for name in ("beta_k", "beta_star"):
        arrays.require(name, np.isfinite(floats[name]).all((-2, -1)), "finite")
    values = np.linalg.svd(floats["beta_k"], compute_uv=False)
    arrays.require("beta_k", values[..., 0] > 0, "non-zero: a neuron without contribution has no direction")
    arrays.require("beta_k", values[..., 1:].sum(-1) <= 1e-6 * values[..., 0], "of rank one, w_k a_k^T")
    for name, rate in (("eta_a", eta_a), ("eta_w", eta_w)):
        if not (rate > 0 and np.isfinite(rate)):
            raise ValueError(f"{name} must be positive and finite, got {rate!r}")
    return arrays.broadcast_shape(
        deltas=given["deltas"].shape[:-1],
        beta_k=given["beta_k"].shape[:-3],
        beta_star=given["beta_star"].shape[:-2],
    )
