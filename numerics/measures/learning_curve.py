"""The shape of a learning curve: how often the loss drops, how straight its logarithm is, and when it is small.

- A drop is a maximum of −dL/dt after the start whose prominence is at least half of its height: the loss falls there,
  and falls less than half as fast before and after. A logistic curve has one, an exponential none. Drops count down to
  a millionth of the initial loss, and above the rounding of the loss, 1e-9 L(0) a unit of time.
- The fall of a curve is its part from a tenth of the initial loss (the transient) to a millionth. How straight ln L is
  there is the part of its variance that a line against t explains; its bend is the root mean square distance from that
  line.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from numerics.measures.arrays import loose, plain, require_some

# Parts of the initial loss: the transient ends, drops and the fall end, and the late rate is measured.
TRANSIENT, END, LATE = 0.1, 1e-6, (1e-8, 1e-10)
# The least prominence of a drop in units of its height, and the least height in units of L(0) a unit of time.
PROMINENCE, ROUNDING = 0.5, 1e-9


def shape_of(t: np.ndarray, loss: np.ndarray, sigma: np.ndarray) -> dict[str, object]:
    """The times, drops and slopes of a learning curve (T,) on the task Σ; None for what it does not reach.

    ``time``            when it comes to 1 % of its initial value
    ``time_to_common``  when it comes to 1 % of the loss of the zero map, ½|Σ|²
    ``drops``           how many drops it has
    ``plateaus``        the losses where it falls slowest between two drops, if it has four of them
    ``straight``        the part of the variance of ln L that a line explains during the fall
    ``bend``            the root mean square distance of ln L from that line
    ``least_rate``      the least rate −d ln L/dt of the fall, in units of the mean one
    ``slowing``         the rate at the beginning of the fall, in units of that at its end
    ``late_rate``       the mean rate from 1e-8 to 1e-10 of the initial loss
    """
    from scipy.signal import find_peaks

    t, loss, sigma = plain(t=t, loss=loss, sigma=sigma)
    require_some(t=t, loss=loss, sigma=sigma)
    if not (np.diff(t) > 0).all():
        raise ValueError("the times t of a learning curve must increase")
    logarithm = np.log(np.maximum(loss, np.finfo(float).tiny))
    rate = -np.gradient(logarithm, t)
    speed = -np.gradient(loss, t)[loss >= END * loss[0]]
    peaks, found = find_peaks(speed, prominence=0.0, height=ROUNDING * loss[0])
    drops = peaks[found["prominences"] >= PROMINENCE * speed[peaks]]
    between_drops = [low + int(speed[low:high].argmin()) for low, high in pairwise(drops)]
    falls = (loss <= TRANSIENT * loss[0]) & (loss >= END * loss[0])
    late = (loss <= LATE[0] * loss[0]) & (loss >= LATE[1] * loss[0])
    fallen = falls.sum() > 2
    return {
        "time": reaches(t, logarithm, np.log(0.01 * loss[0])),
        "time_to_common": reaches(t, logarithm, np.log(0.005 * (sigma**2).sum())),
        "drops": len(drops),
        "plateaus": loss[between_drops].tolist() if len(drops) == 4 else None,
        "straight": float(np.corrcoef(t[falls], logarithm[falls])[0, 1] ** 2) if fallen else None,
        "bend": _bend(t[falls], logarithm[falls]) if fallen else None,
        "least_rate": float(rate[falls].min() / rate[falls].mean()) if fallen else None,
        "slowing": float(rate[falls][0] / rate[falls][-1]) if fallen else None,
        "late_rate": float(rate[late].mean()) if late.any() else None,
    }


def _bend(t: np.ndarray, logarithm: np.ndarray) -> float:
    """The root mean square distance of a curve (T,) from its line of least squares."""
    return float(np.std(logarithm - np.polyval(np.polyfit(t, logarithm, 1), t)))


def reaches(t: Any, falling: Any, level: Any) -> float | None:
    """When a falling curve has come down to a level, by interpolation; None if it has not."""
    t, falling, level = loose(t=t, falling=falling, level=level)
    require_some(t=t, falling=falling)
    below = falling <= level
    if not below.any():
        return None
    k = max(int(below.argmax()), 1)
    return float(np.interp(-level, -falling[k - 1 : k + 1], t[k - 1 : k + 1]))
