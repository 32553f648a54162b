r"""From which values the modes of a small, coupled start are learned in effect (see `pivots`).

Elimination of A(0)^T A(0) in the order of falling singular values, one group of equal ones at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import require_values
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array
from symdyn.catalogue.implements import implements


@implements("prior_knowledge.logistic_from_pivots")
def effective_start(gram0: Any, s: Any, *, check: bool = True) -> Array:
    r"""The initial values of decoupled modes that are learned when those of a small start A(0)^T A(0) are.

    a_i = det G_(1..i) / det G_(1..i-1) with the modes in the order of falling s, that is, the pivots of elimination. On
    the logistic curve s_i a_i / (e^(-2 s_i t/tau) (s_i - a_i) + a_i) mode i of the coupled start is learned, up to an
    error of the order size^(|s_i - s_j|/s_i) in the time of learning, for the mode j nearest in strength. The diagonal
    of gram0 itself is right for the strongest mode only: for two modes with s1 > s2 these are a1 and a2 - b^2/a1.

    Args:
        gram0: A(0)^T A(0) (..., n, n), symmetric and positive semi-definite, in the basis of the task.
        s: singular values of the task (..., n), positive and finite, in any order.
        check: False omits the checks of values.

    Returns:
        a (..., n), in the order of s. Zero, for a mode that is never learned, where a pivot is zero to rounding: N_h
        neurons have no more than N_h modes. To equal singular values, up to rounding, belong the eigenvalues of their
        block after elimination of the stronger modes, the largest first; they are the starts along its eigenvectors,
        which are singular vectors of the task as well, and their curves sum up to the trace of the block.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data, or a call inside a transform of torch.

    Source: braun2022, Sec. 5, corrected and for any number of modes.

    >>> effective_start(gram0=[[0.5, 0.2], [0.2, 0.1]], s=[2.0, 1.0]).round(9).tolist()
    [0.5, 0.02]
    >>> effective_start(gram0=[[0.5, 0.2], [0.2, 0.1]], s=[1.0, 2.0]).round(9).tolist()
    [0.1, 0.1]
    """
    read = arrays.collect(gram0=gram0, s=s)
    linalg.check_square("gram0", read["gram0"])
    arrays.check_vector("s", read["s"])
    size = read["gram0"].shape[-1]
    if read["s"].shape[-1] != size:
        raise ValueError(f"s must have one entry a mode, {size} for gram0; it has {read['s'].shape[-1]}")
    batch = arrays.broadcast_shape(gram0=tuple(read["gram0"].shape[:-2]), s=tuple(read["s"].shape[:-1]))
    require_values("effective_start", read)
    if 0 in batch:
        raise ValueError(f"gram0 and s must be of one task at least; their batch is {batch}")
    if check:
        arrays.require("gram0", read.xp.isfinite(read["gram0"]).all(-1).all(-1), "finite")
        arrays.require("s", ((read["s"] > 0) & read.xp.isfinite(read["s"])).all(-1), "positive and finite")
        linalg.require_semidefinite(read, "gram0")
    xp = read.xp
    gram0 = xp.broadcast_to((read["gram0"] + linalg.transpose(read["gram0"])) / 2, (*batch, size, size))
    s = xp.broadcast_to(read["s"], (*batch, size))
    rates = _numbers(s).reshape(-1, size)
    order = np.argsort(-rates, -1, kind="stable")
    rows = np.arange(len(rates))[:, None]
    ordered = gram0.reshape(-1, size, size)[rows[..., None], order[:, :, None], order[:, None, :]]
    ends = _ends_of_groups(rates[rows, order])
    patterns = np.unique(ends, axis=0)
    members = [np.flatnonzero((ends == pattern).all(-1)) for pattern in patterns]
    starts = [
        _pivots(xp, ordered[chosen], np.flatnonzero(pattern))
        for chosen, pattern in zip(members, patterns, strict=True)
    ]
    together = xp.concatenate(starts)[np.argsort(np.concatenate(members))]
    return together[rows, np.argsort(order, -1)].reshape(*batch, size)


def _ends_of_groups(falling: np.ndarray) -> np.ndarray:
    """Where a group of equal singular values ends: booleans (members, n)."""
    tie = 4 * falling.shape[-1] * np.finfo(falling.dtype).eps * falling[:, :1]
    return np.concatenate((falling[:, :-1] - falling[:, 1:] > tie, np.ones_like(falling[:, :1], bool)), -1)


def _pivots(xp: Any, gram: Array, ends: np.ndarray) -> Array:
    """The pivots (members, n) of matrices (members, n, n), and eigenvalues of the block for a group of equal values."""
    rounding = 4 * gram.shape[-1] * xp.finfo(gram.dtype).eps
    small = [rounding * arrays.detach(gram)[:, k, k] for k in range(gram.shape[-1])]
    starts, first = [], 0
    for end in ends:
        group = range(first, end + 1)
        block = gram[:, first : end + 1, first : end + 1]
        values = block[..., 0] if len(group) == 1 else xp.flip(xp.linalg.eigvalsh(block), (-1,))
        dead = sum(small[k] for k in group)[:, None]
        starts.append(arrays.where(xp, values > dead, values, 0.0))
        for k in group:
            alive = (gram[:, k, k] > small[k])[:, None]
            column = arrays.where(xp, alive, gram[:, :, k], 0.0)
            share = column / arrays.where(xp, alive, gram[:, k, k][:, None], 1.0)
            gram = gram - share[:, :, None] * column[:, None, :]
        first = end + 1
    return xp.concatenate(starts, -1)


def _numbers(x: Array) -> np.ndarray:
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else np.asarray(x)
