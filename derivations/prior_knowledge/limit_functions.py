r"""Where the exact flow of a network ends, what it misses there, and for how long noise does not help.

The modes of the task take their overlaps with the start for themselves in falling order of their rate, as
`separatrix_functions` explains. A mode whose overlap lies in the span of those of stronger modes is missed: the flow
ends in a saddle. A perturbation grows there as e^((R_j - |lambda|/2) t) in a hidden neuron that is free, or as
e^((R_j - R_i) t) in the place of a weaker mode i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from derivations.prior_knowledge.separatrix_functions import overlaps_of, rounding_of
from derivations.prior_knowledge.start_checks import balance, read_start, require_values, weight_size
from symdyn.compile import arrays
from symdyn.compile.arrays import Array, Collected


class Learnable(NamedTuple):
    """The end of the exact flow, see `learnable`."""

    learnable: Array
    limit: Array
    rank: Array
    excess_loss: Array
    escape_time: Array


def learnable(
    W1: object,
    W2: object,
    sigma_yx: object,
    tau: object = 1,
    *,
    noise: float | None = None,
    check: bool = True,
) -> Learnable:
    r"""Is this task learnable from this start? The limit of the exact flow, and when noise leads away from it.

    Args:
        W1: input weights (..., N_h, N_i).
        W2: readout weights (..., N_o, N_h), with W2^T W2 - W1 W1^T = lambda I.
        sigma_yx: input-output correlation (..., N_o, N_i) for whitened inputs, of any rank.
        tau: time constant, one positive number: one over the learning rate.
        noise: size of the perturbation that a training run adds, relative to the weights; the rounding of the dtype by
            default.
        check: False omits the checks of values.

    Returns:
        Learnable: `learnable` (...), whether the exact flow ends at the best map of rank N_h; `limit` (..., N_o, N_i),
        where W2 W1 ends; `rank` (...) of the limit; `excess_loss` (...), how much its loss is above the best that N_h
        neurons can do; `escape_time` (...), 0 where the task is learned, and otherwise an estimate of when a
        perturbation of the size `noise` has grown to the first of the missed modes, tau ln(size/noise)/rate. The rate
        is R_j - |lambda|/2 for the missed mode where a hidden neuron is free, and R_j - R_i where it must take the
        place of a weaker one. It is +inf where all weights are zero: nothing perturbs them.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), a start that is not lambda-balanced
            (its imbalance is named), or shapes that do not fit.
        TypeError: complex or non-numeric data, or a call inside a transform of torch.

    Overlaps that are zero to rounding are zero. Not differentiable.

    Source: braun2022, Theorem 3.2 and Sec. 6, for all starts.

    >>> found = learnable(W1=[[1.0, 0.0], [0.0, 1.0]], W2=[[1.0, 0.0], [0.0, 1.0]], sigma_yx=[[2.0, 0.0], [0.0, -1.0]])
    >>> bool(found.learnable), (found.limit.round(9) + 0.0).tolist(), int(found.rank), float(found.excess_loss)
    (False, [[2.0, 0.0], [0.0, 0.0]], 1, 0.5)
    """
    read = read_start(check, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau)
    require_values("learnable", read)
    if len(read["tau"].shape):
        raise ValueError(f"tau must be one number; its shape is {tuple(read['tau'].shape)}")
    if check and not read.traced:
        arrays.require_positive(read, "tau")
    xp = read.xp
    noise = float(xp.finfo(read.dtype).eps) if noise is None else noise
    if not noise > 0:
        raise ValueError(f"noise must be positive; it is {noise}")
    names = ("W1", "W2", "sigma_yx")
    plain = arrays.collect(**{name: _numpy(read[name]) for name in names})
    ends = _ends(plain, float(read["tau"]), noise)
    return ends if xp is np else Learnable(*(xp.as_tensor(x, device=read["W1"].device) for x in ends))


def _numpy(x: Any) -> np.ndarray:
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else x


def _ends(read: Collected, tau: float, noise: float) -> Learnable:
    with arrays.quiet(np):
        modes, offset, small = overlaps_of(read), balance(read)[0], rounding_of(read)
        size = noise * np.sqrt(weight_size(read))
    shape = modes.overlaps.shape[:-2]
    u, _, v = np.linalg.svd(read["sigma_yx"], full_matrices=False)
    spread = [np.broadcast_to(x, shape) for x in (offset, small, size)]
    spread += [np.broadcast_to(x, shape + x.shape[-1:]) for x in (modes.s, modes.rates)]
    spread += [np.broadcast_to(x, shape + x.shape[-2:]) for x in (u, v, modes.overlaps)]
    ends = [_end(*(x[index] for x in spread)) for index in np.ndindex(shape)]
    columns = [np.array(x).reshape(shape + np.shape(x[0])) for x in zip(*ends, strict=True)]
    return Learnable(*columns[:4], escape_time=tau * columns[4])


def _end(
    offset: float,
    small: float,
    noise: float,
    s: np.ndarray,
    rates: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    overlaps: np.ndarray,
) -> Learnable:
    """Of one start: equal singular values together, the largest first."""
    hidden = len(overlaps)
    tie = 4 * max(len(u), v.shape[-1]) * np.finfo(s.dtype).eps * s[0]
    number = int((s > tie).sum())
    groups = (
        np.split(np.arange(number), np.flatnonzero(s[: number - 1] - s[1:number] > tie) + 1) if number else []
    )
    limit, basis = np.zeros((len(u), v.shape[-1]), s.dtype), np.zeros((hidden, 0), s.dtype)
    room, loss, weakest, missed = min(hidden, number), 0.0, np.inf, 0.0
    for group in groups:
        together, sizes, _ = np.linalg.svd(overlaps[:, : group[-1] + 1], full_matrices=False)
        rest = overlaps[:, group]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        caught = max(int((sizes > small).sum()) - basis.shape[1], 0)
        basis = together[:, : basis.shape[1] + caught]
        wanted = min(len(group), room)
        room -= wanted
        right = np.linalg.svd(rest, full_matrices=False)[2][:caught]
        limit = limit + (u[:, group] * s[group]) @ right.T @ right @ v[group]
        weakest = rates[group[0]] if caught else weakest
        if caught < wanted:
            missed = max(missed, rates[group[0]])
        loss += (wanted - caught) * s[group[0]] ** 2 / 2
    rank = basis.shape[1]
    if missed == 0:
        return Learnable(True, limit, rank, s.dtype.type(0), s.dtype.type(0))
    rate = missed - (abs(offset) / 2 if rank < hidden else weakest)
    escape = np.inf if noise == 0 else max(0.0, np.log(np.sqrt(2 * missed) / noise) / rate)
    return Learnable(False, limit, rank, s.dtype.type(loss), s.dtype.type(escape))
