"""The order at which one quantity vanishes with another: agreement by convergence, not by tolerance.

If a formula is exact for gradient flow, a network trained by gradient descent with step h deviates from it by
O(h). The measured order is then 1; if the formula is wrong, the deviation stays and the order falls to 0 with the step.
What is wrong shows once it is as large as that: with three to five steps, each half of the one before, an error of
40 % of the smallest deviation is noticed and one of 20 % is not. So the smallest step decides what can hide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from numerics.lab.claims import Claim, between
from numerics.measures.arrays import doubles

ORDER_MARGIN = 0.1
ORDER_STDERR = 0.03


def fit_order(steps: Any, errors: Any) -> tuple[float, float]:
    """Slope of log(error) against log(step) by least squares, with its standard error.

    ``steps`` and ``errors`` are positive and of shape (k,), k ≥ 3. Returns (order, standard error).
    Raises ValueError for fewer than three points and for values that are not positive and finite.

    >>> round(fit_order([0.1, 0.05, 0.025], [0.2, 0.1, 0.05])[0], 6)
    1.0
    """
    steps, errors = doubles(steps=steps, errors=errors)
    if steps.ndim != 1 or steps.shape != errors.shape or steps.size < 3:
        raise ValueError(
            f"steps and errors must both have shape (k,) with k >= 3, got {steps.shape} and {errors.shape}"
        )
    for name, values in (("steps", steps), ("errors", errors)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"{name} must be positive and finite, got {values.tolist()}")
    if (steps == steps[0]).all():
        raise ValueError(f"steps must differ, for errors to have an order in them: all are {steps[0]:g}")
    x = np.log(steps) - np.log(steps).mean()
    z = np.log(errors) - np.log(errors).mean()
    slope = (x @ z) / (x @ x)
    residual = z - slope * x
    stderr = np.sqrt((residual @ residual) / ((steps.size - 2) * (x @ x)))
    return float(slope), float(stderr)


def has_order(order: float, stderr: float, expected: float = 1.0) -> bool:
    """Whether a fitted order confirms the expected one: within 0.1 of it, with a standard error of at most
    0.03.
    """
    order, stderr = (float(value) for value in doubles(order=order, stderr=stderr))
    return abs(order - expected) <= ORDER_MARGIN and stderr <= ORDER_STDERR


def order_claim(
    name: str,
    statement: str,
    series: Iterable[tuple[Any, Any]],
    *,
    expected: float = 1.0,
    about: str = "paper",
) -> Claim:
    """The claim that every one of several series of (steps, errors) is of the expected order.

    The estimate is the fitted order that is farthest from the expected one, with the largest of all standard errors.
    It must be within 0.1 of the expected one, and the standard error at most 0.03.
    """
    fits = [fit_order(steps, errors) for steps, errors in series]
    return between(
        name,
        statement,
        max((order for order, _ in fits), key=lambda order: abs(order - expected)),
        expected - ORDER_MARGIN,
        expected + ORDER_MARGIN,
        stderr=max(stderr for _, stderr in fits),
        max_stderr=ORDER_STDERR,
        about=about,
    )
