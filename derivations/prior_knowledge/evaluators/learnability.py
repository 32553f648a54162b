r"""Where the exact flow of a network ends, what it misses there, and for how long noise does not help.

The modes of the task take their overlaps with the start for themselves in falling order of their rate, as
`separatrix_functions` explains. A mode whose overlap lies in the span of those of stronger modes is missed: the flow
ends in a saddle. A perturbation grows there as e^((R_j - |lambda|/2) t) in a hidden neuron that is free, or as
e^((R_j - R_i) t) in the place of a weaker mode i.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import (
    ExactlyRead,
    balance,
    read_start,
    require_no_gradient,
    require_values,
    weight_norm,
)
from derivations.prior_knowledge.evaluators.separatrix import gaps, overlaps_of, resolution
from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected
from symdyn.catalogue.implements import implements


@implements("prior_knowledge.learned_from_overlap")
class Learnable(NamedTuple):
    """The end of the exact flow, see `learnable`."""

    learnable: Array
    limit: Array
    rank: Array
    excess_loss: Array
    escape_time: Array


@implements("prior_knowledge.learned_from_overlap", "prior_knowledge.singular_overlap")
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
        noise: what a training run adds to the overlap of the missed mode, relative to sqrt(|W1|^2 + |W2|^2), one
            positive number; the rounding of the dtype by default.
        check: False omits the checks of values.

    Returns:
        Learnable: `learnable` (...), whether the exact flow ends at the best map of rank N_h; `limit` (..., N_o, N_i),
        where W2 W1 ends; `rank` (...) of the limit; `excess_loss` (...), how much its loss is above the best that N_h
        neurons can do; `escape_time` (...), 0 where the task is learned, and otherwise an estimate of when a
        perturbation of the size `noise` has grown to the first of the missed modes, tau ln(size/noise)/rate. The rate
        is R_j - |lambda|/2 for the missed mode where a hidden neuron is free, and R_j - R_i where it must take the
        place of a weaker one. It is +inf where all weights are zero: nothing perturbs them.

    The mode is half learned at the escape time if `noise` is its overlap across those of the learned modes, and if the
    weights are small. Others decay first and take some of the overlap o with them: |M^(-1/2) o| of it counts, with
    M = 1 + sum q q^T/(2R) over falling modes of rates R > 0 and overlaps q. Other measures of noise, as the imbalance
    of trained weights, are proportional to the overlap, with an unknown factor c. Then the time is known up to
    tau ln(c)/rate, and only its change with the size of the noise is foretold.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), a start that is not lambda-balanced
            (its imbalance is named), or shapes that do not fit.
        TypeError: complex or non-numeric data, a call inside a transform of torch, or one that asks for a gradient.

    Overlaps are zero that 4 units in the last place of the input may make zero. For rational numbers (Fractions,
    rational numbers or matrices of SymPy, integers in arrays of objects) it is decided exactly whether they are. Not
    differentiable: arguments that ask for a gradient raise.

    Source: braun2022, Theorem 3.2 and Sec. 6, for all starts.

    >>> found = learnable(W1=[[1.0, 0.0], [0.0, 1.0]], W2=[[1.0, 0.0], [0.0, 1.0]], sigma_yx=[[2.0, 0.0], [0.0, -1.0]])
    >>> bool(found.learnable), (found.limit.round(9) + 0.0).tolist(), int(found.rank), float(found.excess_loss)
    (False, [[2.0, 0.0], [0.0, 0.0]], 1, 0.5)
    """
    read = read_start(check, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau)
    require_values("learnable", read)
    require_no_gradient("learnable", read)
    if len(read["tau"].shape):
        raise ValueError(f"tau must be one number; its shape is {tuple(read['tau'].shape)}")
    if check and not read.traced:
        arrays.require_positive(read, "tau")
    xp = read.xp
    noise = float(xp.finfo(read.dtype).eps) if noise is None else _positive("noise", noise)
    if isinstance(read, ExactlyRead):
        return _ends(read, float(read["tau"]), noise)
    names = ("W1", "W2", "sigma_yx")
    plain = arrays.collect(**{name: _numpy(read[name]) for name in names})
    ends = _ends(plain, float(read["tau"]), noise)
    return ends if xp is np else Learnable(*(xp.as_tensor(x, device=read["W1"].device) for x in ends))


def _positive(name: str, value: Any) -> float:
    read = arrays.collect(**{name: float(value) if isinstance(value, Rational) else value})
    if len(read[name].shape):
        raise ValueError(f"{name} must be one number; its shape is {tuple(read[name].shape)}")
    arrays.require_positive(read, name)
    return float(read[name])


def _numpy(x: Any) -> np.ndarray:
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else x


def _ends(read: Collected, tau: float, noise: float) -> Learnable:
    with arrays.quiet(np):
        modes, offset = overlaps_of(read), balance(read)[0]
        small = resolution(read, gaps(np, modes.s))
        size = noise * weight_norm(read)
    shape = modes.overlaps.shape[:-2]
    u, _, v = np.linalg.svd(read["sigma_yx"], full_matrices=False)
    spread = [np.broadcast_to(x, shape) for x in (offset, size)]
    spread += [np.broadcast_to(x, shape + x.shape[-1:]) for x in (small, modes.s, modes.rates)]
    spread += [np.broadcast_to(x, shape + x.shape[-2:]) for x in (u, v, modes.overlaps)]
    if isinstance(read, ExactlyRead):
        numbers = [spread[i] for i in (0, 1, 3, 4)]
        ends = [_exact_end(read.starts[index], *(x[index] for x in numbers)) for index in np.ndindex(shape)]  # type: ignore[arg-type]  # floats and arrays in turn
    else:
        ends = [_end(*(x[index] for x in spread)) for index in np.ndindex(shape)]  # type: ignore[arg-type]  # floats and arrays in turn
    columns = [np.array(x).reshape(shape + np.shape(x[0])) for x in zip(*ends, strict=True)]
    return Learnable(*columns[:4], escape_time=tau * columns[4])  # type: ignore[misc]  # four columns


def _end(
    offset: float,
    noise: float,
    small: np.ndarray,
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
    ranks = _ranks(overlaps, groups, small)
    for group, rank in zip(groups, ranks, strict=True):
        rest = overlaps[:, group]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        left, _, right = np.linalg.svd(rest, full_matrices=False)
        caught = rank - basis.shape[1]
        basis, right = np.hstack((basis, left[:, :caught])), right[:caught]
        limit = limit + (u[:, group] * s[group]) @ right.T @ right @ v[group]
    return _summary([len(group) for group in groups], ranks, hidden, offset, noise, s, rates, limit)


def _ranks(overlaps: np.ndarray, groups: list[np.ndarray], small: np.ndarray) -> list[int]:
    """Of the overlaps with the first groups. A group adds no more than its size: so what is certain of all of them says
    something of those before, where a narrow gap makes them uncertain."""
    ranks = []
    for group in groups:
        sizes = np.linalg.svd(overlaps[:, : group[-1] + 1], compute_uv=False)
        ranks.append(int((sizes > small[group[-1]]).sum()))
    for k in range(len(groups) - 1, 0, -1):
        ranks[k - 1] = max(ranks[k - 1], ranks[k] - len(groups[k]))
    return list(np.maximum.accumulate(ranks)) if ranks else []


def _exact_end(start: Any, offset: float, noise: float, s: np.ndarray, rates: np.ndarray) -> Learnable:
    """Of one start of rational numbers."""
    from derivations.prior_knowledge.evaluators.rational_flow import limit

    sizes, ranks = start.decision.sizes, start.decision.ranks
    return _summary(sizes, ranks, start.hidden, offset, noise, s, rates, limit(start))


def _summary(
    sizes: Sequence[int],
    ranks: Sequence[int],
    hidden: int,
    offset: float,
    noise: float,
    s: np.ndarray,
    rates: np.ndarray,
    limit: np.ndarray,
) -> Learnable:
    """From the numbers of equal singular values, and the ranks of the overlaps with all modes at least that strong."""
    room, loss, weakest, missed = min(hidden, sum(sizes)), 0.0, np.inf, 0.0
    rank = place = 0
    for size, now in zip(sizes, ranks, strict=True):
        caught, wanted = now - rank, min(size, room)
        weakest = rates[place] if caught else weakest
        if caught < wanted:
            missed = max(missed, rates[place])
        loss += (wanted - caught) * s[place] ** 2 / 2
        room, rank, place = room - wanted, now, place + size
    if missed == 0:
        return Learnable(True, limit, rank, s.dtype.type(0), s.dtype.type(0))
    rate = missed - (abs(offset) / 2 if rank < hidden else weakest)
    escape = np.inf if noise == 0 else max(0.0, np.log(np.sqrt(2 * missed) / noise) / rate)
    return Learnable(False, limit, rank, s.dtype.type(loss), s.dtype.type(escape))
