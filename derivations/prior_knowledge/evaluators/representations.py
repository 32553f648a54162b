r"""What a two-layer linear network computes and represents while it learns, exactly, from every lambda-balanced start.

Q Q^T = [[W1^T W1, W1^T W2^T], [W2 W1, W2 W2^T]] follows e^(tF) Q0 (1 + Q0^T int_0^t e^(2sF) ds Q0)^-1 Q0^T e^(tF) with
F = [[-lambda/2, sigma_yx^T], [sigma_yx, lambda/2]] and W2^T W2 - W1 W1^T = lambda I. This is braun2022, eq. (5) and
Theorem 3.1, without the conditions there: N_i, N_o, N_h are any, lambda need not be zero, and neither sigma_yx, nor
W2 W1, nor B need have full rank. `modal_flow` and `derivations.wide_linear.evaluators.isotropic_flow` are its
evaluations.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import ExactlyRead, read_start, read_times
from derivations.prior_knowledge.evaluators.modal_flow import (
    Frame,
    Part,
    evaluate,
    frame_of,
    settled,
    well_conditioned,
)
from derivations.prior_knowledge.evaluators.separatrix import on_separatrix_of, overlaps_of
from derivations.wide_linear.evaluators.isotropic_flow import isotropic_flow
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose
from symdyn.catalogue.implements import implements

_BLOCK, _WORTH = 500_000, 4
_WHOLE: Part = (slice(None), slice(None))


@implements("prior_knowledge.solution_from_any_start")
def qqt(
    t: object,
    W1: object,
    W2: object,
    sigma_yx: object,
    tau: object = 1,
    *,
    on_separatrix: bool = False,
    check: bool = True,
) -> Array:
    r"""Q Q^T(t) of the exact flow: W1^T W1, the network function W2 W1, and W2 W2^T, from every lambda-balanced start.

    Q Q^T = e^(tF) Q0 (1 + Q0^T int_0^t e^(2sF) ds Q0)^-1 Q0^T e^(tF), see this module's docstring.

    Args:
        t: times (T,), or one time (); finite, t >= 0.
        W1: initial input weights (..., N_h, N_i).
        W2: initial readout weights (..., N_o, N_h), with W2^T W2 - W1 W1^T = lambda I.
        sigma_yx: input-output correlation (..., N_o, N_i) for whitened inputs, of any rank.
        tau: time constant, one positive number: one over the learning rate, with t in steps.
        on_separatrix: True gives the exact flow of starts whose `separatrix_distance` is zero as far as one can tell.
        check: False omits the checks of values, this one included.

        Floats count as exact to 4 units in the last place. W1, W2 and sigma_yx of rational numbers (Fractions, rational
        numbers or matrices of SymPy, integers in arrays of objects) are exact: then it is decided without rounding
        whether the start is on a separatrix, and the flow is computed with as many digits as it takes (milliseconds a
        time, not microseconds). A start that is 1e-17 away from one is off it.

    Returns:
        Q Q^T (..., T, N_i + N_o, N_i + N_o), inputs first; the time axis is absent when t is one number.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), a start that is not lambda-balanced
            (its imbalance is named), a start on the separatrix, whose late times rounding would decide, or shapes that
            do not fit.
        TypeError: complex or non-numeric data.

    Accurate to rounding in units of |Q|^2, times the condition of the problem, for any t: late times lose as many
    digits as `separatrix_distance` is smaller than the weights. Rational numbers lose none. Weights that are balanced
    to rounding leave |Z|^2 eps of the balance, which counts beside the singular values and beside 1/t: it costs large
    weights digits.

    Derivatives are those along balanced starts, and with on_separatrix=True, where the distance is zero, along the
    separatrix. Those in sigma_yx need singular values that are distinct, and distinct from zero where N_i != N_o or
    lambda = 0: equal ones give NaN, or a wrong finite number where they are equal to rounding. For lambda = 0 those in
    W1 and W2 are lost as well where a singular value is zero to rounding but not exactly.

    Source: braun2022, eq. (5), Theorem 3.1 and Sec. 6.

    >>> qqt(40.0, W1=[[1.0, 0.0]], W2=[[0.6], [0.8]], sigma_yx=[[2.0, 0.0], [0.0, 1.0]]).round(6)[2:, :2].tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    read = read_start(check, t=t, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau)
    return _state(read, on_separatrix, check)


@implements("prior_knowledge.solution_from_any_start")
def network_function(
    t: object,
    W1: object,
    W2: object,
    sigma_yx: object,
    tau: object = 1,
    *,
    on_separatrix: bool = False,
    check: bool = True,
) -> Array:
    r"""W2 W1(t) of the exact flow.

    Args:
        t, W1, W2, sigma_yx, tau, on_separatrix, check: as in `qqt`.

    Returns:
        W2 W1 (..., T, N_o, N_i); the time axis is absent when t is one number.

    Raises:
        ValueError, TypeError: as `qqt`.

    Source: braun2022, eq. (7).

    >>> network_function(40.0, W1=[[1.0]], W2=[[-1.0]], sigma_yx=[[-3.0]]).round(9).tolist()
    [[-3.0]]
    """
    read = read_start(check, t=t, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau)
    inputs = read["W1"].shape[-1]
    return _state(read, on_separatrix, check, (slice(inputs, None), slice(inputs)))


@implements("prior_knowledge.input_similarity")
def rsm_input(
    t: object,
    W1: object,
    W2: object,
    sigma_yx: object,
    X: object,
    tau: object = 1,
    *,
    on_separatrix: bool = False,
    check: bool = True,
) -> Array:
    r"""X^T W1^T W1(t) X, the similarity of the hidden representations of the inputs.

    Args:
        t, W1, W2, sigma_yx, tau, on_separatrix, check: as in `qqt`.
        X: inputs (..., N_i, P), whitened: X X^T / P = I.

    Returns:
        RSM_I (..., T, P, P); the time axis is absent when t is one number.

    Raises:
        ValueError: inputs that are not whitened, or as `qqt`.
        TypeError: as `qqt`.

    Source: braun2022, eq. (8).

    >>> rsm_input(0.0, W1=[[2.0]], W2=[[2.0]], sigma_yx=[[1.0]], X=[[1.0, -1.0]]).round(9).tolist()
    [[4.0, -4.0], [-4.0, 4.0]]
    """
    read = read_start(check, t=t, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau, X=X)
    X = _inputs(read, check)
    inputs = slice(read["W1"].shape[-1])
    return transpose(X) @ _state(read, on_separatrix, check, (inputs, inputs)) @ X


@implements("prior_knowledge.output_similarity")
def rsm_output(
    t: object,
    W1: object,
    W2: object,
    sigma_yx: object,
    Y: Any,
    tau: object = 1,
    *,
    on_separatrix: bool = False,
    check: bool = True,
) -> Array:
    r"""Y^T (W2 W2^T(t))^+ Y, the similarity of the smallest hidden codes W2^+ Y that give the targets best.

    Args:
        t, W1, W2, sigma_yx, tau, on_separatrix, check: as in `qqt`.
        Y: targets (..., N_o, P).

    Returns:
        RSM_O (..., T, P, P); the time axis is absent when t is one number. Eigenvalues of W2 W2^T below 64 N_o
        roundings of the largest are zero.

    Raises:
        ValueError, TypeError: as `qqt`.

    Source: braun2022, eq. (8).

    >>> rsm_output(0.0, W1=[[2.0]], W2=[[2.0]], sigma_yx=[[1.0]], Y=[[1.0, -1.0]]).round(9).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    read = read_start(check, t=t, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau, Y=Y)
    Y, xp = _data("Y", read, read["W2"].shape[-2], check), read.xp
    outputs = slice(read["W1"].shape[-1], None)
    state = _state(read, on_separatrix, check, (outputs, outputs))
    cut = 64 * Y.shape[-2] * xp.finfo(Y.dtype).eps
    return transpose(Y) @ xp.linalg.pinv(state, rtol=cut, hermitian=True) @ Y


@implements("prior_knowledge.tangent_kernel")
def ntk(
    t: object,
    W1: object,
    W2: object,
    sigma_yx: object,
    X: Any,
    tau: object = 1,
    *,
    on_separatrix: bool = False,
    check: bool = True,
) -> Array:
    r"""The tangent kernel I x X^T W1^T W1(t) X + W2 W2^T(t) x X^T X of the network on its inputs.

    Args:
        t, W1, W2, sigma_yx, tau, on_separatrix, check: as in `qqt`.
        X: inputs (..., N_i, P), whitened: X X^T / P = I.

    Returns:
        NTK (..., T, N_o P, N_o P); the time axis is absent when t is one number. Row o P + p is output o on datum p:
        the rows of W2 W1 X one after another, which are the columns of its transpose stacked. It is J J^T for
        the Jacobian J of these outputs in the weights.

    Raises:
        ValueError: inputs that are not whitened, or as `qqt`.
        TypeError: as `qqt`.

    Source: braun2022, eq. (9).

    >>> ntk(0.0, W1=[[2.0]], W2=[[2.0]], sigma_yx=[[1.0]], X=[[1.0, -1.0]]).round(9).tolist()
    [[8.0, -8.0], [-8.0, 8.0]]
    """
    read = read_start(check, t=t, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau, X=X)
    X, xp = _inputs(read, check), read.xp
    inputs, state = read["W1"].shape[-1], _state(read, on_separatrix, check)
    hidden, readout = transpose(X) @ state[..., :inputs, :inputs] @ X, state[..., inputs:, inputs:]
    similar = transpose(X) @ X
    outputs, count = readout.shape[-1], X.shape[-1]
    one = linalg.identity_like(xp, readout, outputs)
    kernel = one[:, None, :, None] * hidden[..., None, :, None, :]
    kernel = kernel + readout[..., :, None, :, None] * similar[..., None, :, None, :]
    return kernel.reshape(*kernel.shape[:-4], outputs * count, outputs * count)


def _inputs(read: Collected, check: bool) -> Array:
    """X as `_data`, with an error where it is not whitened."""
    data, xp = _data("X", read, read["W1"].shape[-1], check), read.xp
    if check and not read.traced:
        X = read["X"]
        rest = X @ transpose(X) / X.shape[-1] - linalg.identity_like(xp, X, X.shape[-2])
        tolerance = 1e-4 if str(read.dtype).endswith("32") else 1e-8
        arrays.require("X", xp.amax(xp.abs(rest), (-2, -1)) <= tolerance, "whitened, X X^T / P = I")
    return data


def _data(name: str, read: Collected, rows: int, check: bool) -> Array:
    """Data (..., rows, P), with a time axis of length 1 before the last two where t has one."""
    data = read[name]
    linalg.check_matrix(name, data)
    if data.shape[-2] != rows:
        shape = tuple(data.shape)
        raise ValueError(
            f"{name} must have {rows} rows and one column a datum to fit the weights; its shape is {shape}"
        )
    if check and not read.traced:
        arrays.require(name, read.xp.isfinite(data).all(-1).all(-1), "finite")
    return data[..., None, :, :] if len(read["t"].shape) else data


def _state(read: Collected, on_separatrix: bool, check: bool, part: Part = _WHOLE) -> Array:
    """The rows and columns of Q Q^T that `part` names, of the exact flow, without time axis if t is one number."""
    xp, times = read.xp, read_times(read, check)
    with arrays.quiet(xp):
        if read.traced:
            found = _by_rows(read, times)[..., part[0], part[1]]
        else:
            stuck = on_separatrix_of(read, overlaps_of(read))
            if check and not on_separatrix:
                arrays.require("W1 and W2", ~stuck, _OFF)
            exact = isinstance(read, ExactlyRead)
            found = _exactly(read, part) if exact else _by_kind(read, times, stuck & on_separatrix, part)  # type: ignore[arg-type]  # if exact
    return found if len(read["t"].shape) else found[..., 0, :, :]


def _exactly(read: ExactlyRead, part: Part) -> Array:
    """Of rational numbers, with mpmath."""
    from derivations.prior_knowledge.evaluators.rational_flow import states

    found = np.stack([states(read.times(), start)[..., part[0], part[1]] for start in read.starts.flat])
    return found.reshape(*read.starts.shape, *found.shape[1:])


def _by_kind(read: Collected, times: Array, stuck: Array, part: Part) -> Array:
    """Each start by the way that suits it: on a separatrix, in one basis for all times, or in one for every time."""
    xp, names = read.xp, ("W1", "W2", "sigma_yx")
    frames = frame_of(read, False)
    simple = well_conditioned(xp, frames) & ~stuck
    if any(getattr(x, "requires_grad", False) for x in read):
        simple = simple & False
    shape = tuple(stuck.shape)
    if bool(simple.all()):
        return _until_settled(read, times, frames, part)
    whole = {name: xp.broadcast_to(read[name], (*shape, *read[name].shape[-2:])) for name in names}
    parts = []
    for mask in (stuck, simple, ~(stuck | simple)):
        if not bool(mask.any()):
            continue
        some = arrays.collect(**{name: x[mask] for name, x in whole.items()})
        if mask is stuck or mask is simple:
            frame = frame_of(some, mask is stuck)
            solution = partial(evaluate, xp, frame=frame, part=part)
        else:
            solution = partial(_rows_of, some, part=part)
        parts.append((mask, _in_blocks(some, times, solution)))
    if len(parts) == 1:
        return parts[0][1].reshape(*shape, *parts[0][1].shape[-3:])
    found = _empty(xp, parts[0][1], (*shape, *parts[0][1].shape[-3:]))
    for mask, block in parts:
        found[mask] = block
    return found


def _rows_of(read: Collected, times: Array, part: Part) -> Array:
    return _by_rows(read, times)[..., part[0], part[1]]


def _by_rows(read: Collected, times: Array) -> Array:
    """In a basis for every time."""
    xp = read.xp
    task = transpose(read["sigma_yx"])
    flow = isotropic_flow(times, transpose(read["W2"]), read["W1"], task, check=False)
    upper = xp.concatenate((flow.gram_w, flow.beta), -1)
    return xp.concatenate((upper, xp.concatenate((transpose(flow.beta), flow.gram_a), -1)), -2)


def _until_settled(read: Collected, times: Array, frame: Frame, part: Part) -> Array:
    """In one basis for all times. All times at which nothing moves any more share one evaluation."""
    xp = read.xp
    late = times >= settled(xp, frame)
    last = evaluate(xp, times[late][-1:] if bool(late.any()) else times[:1], frame, part)
    found = _empty(xp, last, (*last.shape[:-3], len(times), *last.shape[-2:]))
    found[..., late, :, :] = last
    place = np.flatnonzero(~late) if xp is np else xp.nonzero(~late)[:, 0]
    if xp is not np:
        for step in _blocks(read, place):
            found[..., place[step], :, :] = evaluate(xp, times[place[step]], frame, part)
    else:
        _fill(read, times, frame, part, place, found)
    return found


def _fill(read: Collected, times: Array, frame: Frame, part: Part, place: Array, found: Array) -> None:
    """The state at the times in these places, by all cores that OMP_NUM_THREADS grants."""

    def fill(step: slice) -> None:
        here = place[step]
        with arrays.quiet(np):
            if here[-1] - here[0] == len(here) - 1:
                evaluate(np, times[here], frame, part, out=found[..., here[0] : here[-1] + 1, :, :])
            else:
                found[..., here, :, :] = evaluate(np, times[here], frame, part)

    steps = _blocks(read, place)
    cores = min(len(steps) // _WORTH, int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1))
    if cores < 2:
        for step in steps:
            fill(step)
    else:
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(fill, steps))


def _empty(xp: Any, like: Array, shape: tuple[int, ...]) -> Array:
    return np.empty(shape, like.dtype) if xp is np else like.new_empty(shape)


def _blocks(read: Collected, times: Array) -> list[slice]:
    """Slices of the times, so that what is between stays in the cache."""
    size = (read["W1"].shape[-1] + read["W2"].shape[-2]) ** 2
    for length in arrays.broadcast_shape(**{n: read[n].shape[:-2] for n in ("W1", "W2", "sigma_yx")}):
        size *= length
    step = max(1, _BLOCK // size)
    return [slice(i, i + step) for i in range(0, len(times), step)]


def _in_blocks(read: Collected, times: Array, solution: Callable[[Array], Array]) -> Array:
    blocks = [solution(times[step]) for step in _blocks(read, times) or [slice(0, 0)]]
    return blocks[0] if len(blocks) == 1 else read.xp.concatenate(blocks, -3)


_OFF = (
    "off the separatrix of this task, where separatrix_distance is zero to rounding and late times are those of a "
    "saddle or of rounding errors (on_separatrix=True gives the exact flow)"
)
