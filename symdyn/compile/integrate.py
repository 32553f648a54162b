"""Integrate a differential equation until something is decided; SciPy is imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[np.float64]]

_EVALUATIONS = 200_000


class NotReached(ArithmeticError):
    """The event did not happen within the horizon or the allowed effort."""


def state_when(
    event: Callable[[Vector], float],
    velocity: Callable[[Vector], Vector],
    start: Vector,
    *,
    rtol: float = 1e-11,
    atol: float | Vector = 1e-13,
    horizon: float = 1e12,
) -> Vector:
    """The state of x' = velocity(x), x(0) = start, at the first time at which event(x) rises through zero.

    Args:
        event: a function of the state, negative at the start.
        velocity: the right-hand side, a function of the state (n,).
        start: the initial state (n,).
        rtol, atol: local error per step (LSODA, which switches to an implicit method where the flow is
            stiff).
        horizon: the longest time to wait.

    Raises:
        NotReached: the event has not happened by then, or the effort became unreasonable.
    """
    from scipy.integrate import solve_ivp

    evaluations = 0

    def right_hand_side(_: float, state: Vector) -> Vector:
        nonlocal evaluations
        evaluations += 1
        if evaluations > _EVALUATIONS:
            raise NotReached("the integration took too many steps")
        return velocity(state)

    def rises(_: float, state: Vector) -> float:
        return event(state)

    rises.terminal = True  # type: ignore[attr-defined]
    rises.direction = 1.0  # type: ignore[attr-defined]
    run = solve_ivp(
        right_hand_side, (0.0, horizon), start, method="LSODA", events=rises, rtol=rtol, atol=atol
    )
    if run.status != 1:
        raise NotReached(run.message)
    state: Vector = run.y_events[0][0]
    return state
