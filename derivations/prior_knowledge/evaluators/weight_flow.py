r"""The weights themselves: the exact flow with the rotation of the hidden neurons.

Q Q^T leaves a rotation of hidden space open. The flow Z' = Z F - Z Z^T Z / 2 of Z = [W1 W2^T] decides it by the
symmetry of Z' Z^T. Write Z = P U^T Y V^T with the lift Y = L^-1 R e^(rt) of `modal_flow`, L L^T = 1 + R k R^T. With
K = Y Y^T,

    L^-1 L' = lower(K),  the lower triangle with half the diagonal,  and hence
    U' = -S(K) U,        S = (lower(K) - lower(K)^T) / 2,            U(0) = 1:

for lower(K) = K/2 + S, so that Y' Y^T - Y Y'^T = -(S K + K S). The equation is linear in U, with a
generator that is known at all times. It is integrated by exponentials of antisymmetric matrices (Magnus series of sixth
order, Blanes et al. 2009), so that U is orthogonal and Q Q^T the exact one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import (
    ExactlyRead,
    read_start,
    read_times,
    require_no_gradient,
    require_values,
)
from derivations.prior_knowledge.evaluators.modal_flow import Frame, frame_of, lift, settled
from derivations.prior_knowledge.evaluators.separatrix import (
    Overlaps,
    on_separatrix_of,
    overlaps_of,
    within_rounding,
)
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array
from symdyn.arrays.linalg import transpose
from symdyn.catalogue.implements import implements

_STEPS = 200_000
_AT_REST = 100.0
_NODES = np.array([-math.sqrt(15) / 10, 0.0, math.sqrt(15) / 10, -math.sqrt(3) / 6, math.sqrt(3) / 6]) + 0.5


@implements("prior_knowledge.weights_with_rotation")
def weights(
    t: object,
    W1: object,
    W2: object,
    sigma_yx: object,
    tau: object = 1,
    *,
    on_separatrix: bool = False,
    check: bool = True,
) -> tuple[Array, Array]:
    r"""W1(t) and W2(t) of the exact flow from every lambda-balanced start, with the rotation of the hidden neurons.

    [W1 W2^T] = P U^T Y V^T, see this module's docstring. The rotation U solves a linear equation, by steps with an
    error of about 1e-12 in float64.

    Args:
        t: times (T,), or one time (); finite, t >= 0, in any order.
        W1, W2, sigma_yx, tau, on_separatrix, check: as in `qqt`.

    Returns:
        W1 (..., T, N_h, N_i) and W2 (..., T, N_o, N_h); the time axis is absent when t is one number.

    Raises:
        ValueError: as `qqt`.
        TypeError: as `qqt`, a call inside a transform of torch, or arguments that ask for a gradient, which it has not.
        ArithmeticError: more than 200,000 steps, or rational numbers whose `separatrix_distance` rounding hides.

    Not differentiable. One choice of steps serves the whole batch.

    Source: braun2022, Sec. 3, which leaves the rotation open.

    >>> W1, W2 = weights(40.0, W1=[[1.0, 0.0]], W2=[[0.6], [0.8]], sigma_yx=[[2.0, 0.0], [0.0, 1.0]])
    >>> (W2 @ W1).round(6).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    read = read_start(check, t=t, W1=W1, W2=W2, sigma_yx=sigma_yx, tau=tau)
    require_values("weights", read)
    require_no_gradient("weights", read)
    xp, times = read.xp, read_times(read, check)
    with arrays.quiet(xp):
        modes = overlaps_of(read)
        stuck = on_separatrix_of(read, modes)
        if isinstance(read, ExactlyRead):
            _require_same(read, stuck, modes)
        if check and not on_separatrix:
            arrays.require(
                "W1 and W2", ~stuck, "off the separatrix of this task (on_separatrix=True allows it)"
            )
        frame = frame_of(read, bool(on_separatrix and stuck.any()))
        turned = transpose(_rotations(xp, times, frame)) @ lift(xp, times, frame)
        Z = frame.basis[..., None, :, :] @ turned @ transpose(frame.vectors)[..., None, :, :]
    inputs = read["W1"].shape[-1]
    first, second = Z[..., :inputs], transpose(Z[..., inputs:])
    return (first, second) if len(read["t"].shape) else (first[..., 0, :, :], second[..., 0, :, :])


def _require_same(read: ExactlyRead, stuck: Array, modes: Overlaps) -> None:
    """Raise ArithmeticError where float64 does not see what rational numbers decide."""
    if (stuck != within_rounding(read, modes)).any():
        raise ArithmeticError(
            "this start is too near to a separatrix for the digits of float64, in which the rotation of the hidden "
            "neurons is computed; qqt and network_function have as many digits as it takes"
        )


def _rotations(xp: Any, times: Array, frame: Frame) -> Array:
    """U (..., T, r, r) at the times."""
    # Long after everything has settled, the rounding of a generator of zero would turn the neurons.
    end = _AT_REST * settled(xp, frame)
    moments = [min(float(x), end) for x in times]
    order = np.argsort(moments, kind="stable")
    rows = frame.rows
    turn = linalg.identity_like(xp, rows, rows.shape[-2]) + 0 * (rows @ transpose(rows))
    now, found = 0.0, [turn] * len(moments)
    size = float((rows * rows).sum((-2, -1)).max()) + 2 * float(xp.abs(frame.rates).max())
    step = 0.05 / size if size > 0 else math.inf
    tolerance = 1e-5 if str(rows.dtype).endswith("32") else 1e-10
    taken = 0
    for index in order:
        while now < moments[index]:
            taken += 1
            if taken > _STEPS:
                raise ArithmeticError(f"the rotation of the hidden neurons needs more than {_STEPS} steps")
            length = min(step, moments[index] - now)
            last = length == moments[index] - now
            exponent, error = _magnus(xp, now, length, frame)
            if error <= tolerance:
                turn = _exponential(xp, exponent) @ turn
                now = moments[index] if last else now + length
            factor = 0.9 * (tolerance / error) ** 0.2 if error > 0 else 5.0 if error == 0 else 0.0
            step = max(step if last and factor > 1 else 0.0, length * min(5.0, max(0.2, factor)))
        found[index] = turn
    return xp.stack(found, -3)


def _generator(xp: Any, moments: Array, frame: Frame) -> Array:
    """-S(K) (..., T, r, r)."""
    Y = lift(xp, moments, frame)
    lower = xp.tril(Y @ transpose(Y), -1)
    return (transpose(lower) - lower) / 2


def _magnus(xp: Any, now: float, length: float, frame: Frame) -> tuple[Array, float]:
    """The exponent of a step of sixth order, and how far that of fourth order is from it."""
    moments = linalg.constant_like(xp, now + length * _NODES, frame.rows)
    values = _generator(xp, moments, frame)
    left, middle, right, before, after = (values[..., k, :, :] for k in range(5))
    a = length * middle
    b = math.sqrt(15) / 3 * length * (right - left)
    c = 10 / 3 * length * (right - 2 * middle + left)
    first = _commutator(a, b)
    second = _commutator(a, 2 * c + first) / -60
    exponent = a + c / 12 + _commutator(-20 * a - c + first, b + second) / 240
    fourth = length / 2 * (before + after) + math.sqrt(3) / 12 * (length * length) * _commutator(
        after, before
    )
    return exponent, float(xp.abs(exponent - fourth).max())


def _commutator(x: Array, y: Array) -> Array:
    return x @ y - y @ x


def _exponential(xp: Any, x: Array) -> Array:
    """e^x for antisymmetric x, by squaring and the Taylor series."""
    size = float(xp.abs(x).sum(-1).max())
    halvings = max(0, math.ceil(math.log2(size)) + 2) if size > 0 else 0
    x = x / 2.0**halvings
    one = linalg.identity_like(xp, x, x.shape[-1])
    total = one + 0 * x
    for k in range(14, 0, -1):
        total = one + x @ total / k
    for _ in range(halvings):
        total = total @ total
    return total
