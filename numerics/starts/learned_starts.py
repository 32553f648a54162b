"""Where relearning starts, and when it is done: networks that know a task, and the sides of the separatrix (Braun et
al. 2022, Sec. 6).

With as many inputs as outputs and no fewer hidden neurons, a zero-balanced start learns a task Σ of full rank only if
det(W2 W1) det(Σ) > 0 (`derivations.prior_knowledge.separatrix_distance`). Half of all random starts lie on the
separatrix; changing the sign of one row of W2 puts such a start on the other side, and keeps balance and singular
values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numerics.measures.arrays import doubles, loose, plain, require_some
from numerics.training.linear_descent import orthonormal


def learned_weights(sigma_yx: Any, N_h: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Zero-balanced weights W1 = R √S Vᵀ (N_h, N_i) and W2 = U √S Rᵀ (N_o, N_h) that compute Σ = U S Vᵀ (N_o, N_i).

    R has orthonormal columns from the uniform law. Raises ValueError for fewer hidden neurons than min(N_i, N_o).
    """
    U, S, Vt = np.linalg.svd(*doubles(sigma_yx=sigma_yx), full_matrices=False)  # type: ignore[call-overload]  # of one array
    if S.size > N_h:
        raise ValueError(f"a task with {S.size} modes needs as many hidden neurons at least, got {N_h}")
    R, root = orthonormal(N_h, S.size, generator), np.sqrt(S)
    return (R * root) @ Vt, (U * root) @ R.T


def on_wrong_side(W1: Any, W2: Any, sigma_yx: Any) -> np.ndarray:
    """Whether det(W2 W1) det(Σ) < 0 (...), for square Σ (..., N, N): the start is on the separatrix of Σ."""
    W1, W2, sigma_yx = plain(W1=W1, W2=W2, sigma_yx=sigma_yx)
    return np.linalg.slogdet(W2 @ W1)[0] * np.linalg.slogdet(sigma_yx)[0] < 0


def to_learnable_side(W1: Any, W2: Any, sigma_yx: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same weights, with the first row of W2 (..., N, N_h) reflected where the start is on the wrong side."""
    W1, W2 = plain(W1=W1, W2=W2)
    sign = np.where(on_wrong_side(W1, W2, sigma_yx), -1.0, 1.0)[..., None, None]
    first = np.arange(W2.shape[-2])[:, None] == 0
    return W1, np.where(first, sign, 1.0) * W2


def crossing(times: Any, rising: Any, level: Any = 0.0) -> np.ndarray:
    """When ``rising`` (..., T) first is at least ``level``, (...): linear between ``times`` (T,), +inf if never."""
    times, rising, level = loose(times=times, rising=rising, level=level)
    require_some(times=times)
    rising = rising - level
    reached = rising >= 0
    place = reached.argmax(-1)
    before = np.maximum(place - 1, 0)
    low, high = (np.take_along_axis(rising, where[..., None], -1)[..., 0] for where in (before, place))
    share = np.where(place > 0, -low / np.where(high > low, high - low, 1.0), 0.0)
    found = times[before] + share * (times[place] - times[before])
    return np.where(reached.any(-1), found, np.inf)


def finite_or_none(time: Any) -> float | None:
    """A time as it is stored: None for what never happens."""
    (time,) = loose(time=time)
    return float(time) if np.isfinite(time) else None
