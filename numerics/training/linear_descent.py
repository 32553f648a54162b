"""Two-layer linear networks trained by gradient descent on whitened inputs, and their starts (Braun et al. 2022).

With Σ^xx = I the gradient of L = ½⟨‖ŷ − y‖²⟩ depends on the data through Σ^yx alone:

    W1 ← W1 + η W2ᵀ(Σ − W2 W1),    W2 ← W2 + η (Σ − W2 W1) W1ᵀ,

so that k steps approximate the gradient flow with τ = 1 at time t = k η. Everything runs in float64, on any number of
networks at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from numerics.measures.arrays import alike, doubles, loose, plain
from numerics.training.loop import Iterated, increasing, reached


def orthonormal(rows: int, columns: int, generator: np.random.Generator) -> np.ndarray:
    """A matrix (rows, columns) with orthonormal columns, or rows where there are fewer, from the uniform law."""
    long, short = max(rows, columns), min(rows, columns)
    Q, R = np.linalg.qr(generator.standard_normal((long, short)))
    Q = Q * np.where(np.diag(R) < 0, -1.0, 1.0)
    return Q if rows >= columns else Q.T


def zero_balanced_start(
    N_h: int, N_i: int, N_o: int, values: float | Sequence[float], generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Weights W1 (N_h, N_i) and W2 (N_o, N_h) with W1 W1ᵀ = W2ᵀ W2, of random directions.

    W1 = R √S Vᵀ and W2 = U √S Rᵀ with R, U, V of orthonormal columns; ``values`` are the m = min(N_h, N_i, N_o)
    singular values S of W2 W1, or one number for all. Raises ValueError for another number of them.
    """
    rank = min(N_h, N_i, N_o)
    (S,) = doubles(values=values)
    S = np.broadcast_to(S, (rank,)) if S.ndim == 0 else S
    if S.shape != (rank,) or (S < 0).any():
        raise ValueError(f"values must be one number or {rank} of them, none negative: got {values}")
    R, U, V = (orthonormal(size, rank, generator) for size in (N_h, N_o, N_i))
    root = np.sqrt(S)
    return (R * root) @ V.T, (U * root) @ R.T


def random_start(
    N_h: int, N_i: int, N_o: int, scale: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Independent Gaussian weights W1 (N_h, N_i) and W2 (N_o, N_h), of standard deviation scale/√N_h: not balanced."""
    sigma = scale / np.sqrt(N_h)
    return sigma * generator.standard_normal((N_h, N_i)), sigma * generator.standard_normal((N_o, N_h))


def stacked(networks: Iterable[Sequence[np.ndarray]]) -> tuple[np.ndarray, ...]:
    """Networks of one size as stacks: K times (W1, W2, …) as one array (K, ...) of each.

    >>> W1, W2 = stacked([(np.zeros((4, 3)), np.zeros((2, 4))) for _ in range(5)])
    >>> W1.shape, W2.shape
    ((5, 4, 3), (5, 2, 4))
    """
    read = [
        plain(**{f"networks[{k}][{place}]": W for place, W in enumerate(network)})
        for k, network in enumerate(networks)
    ]
    return tuple(np.stack(part) for part in zip(*read, strict=True))


def whitened_inputs(N_i: int, P: int, generator: np.random.Generator) -> np.ndarray:
    """Inputs X (N_i, P) with X Xᵀ / P = I. Raises ValueError for P < N_i, where no data are whitened."""
    if N_i > P:
        raise ValueError(f"{P} inputs in {N_i} dimensions cannot be whitened: P must be at least N_i")
    return np.sqrt(P) * orthonormal(N_i, P, generator)


def descend(
    W1: Any, W2: Any, sigma_yx: Any, *, rate: Any, steps: int, record: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient descent from W1 (..., N_h, N_i) and W2 (..., N_o, N_h) on Σ (..., N_o, N_i), with step ``rate``.

    ``rate`` is one number or (...). ``record`` lists the numbers of steps, increasing from 0 to ``steps`` at most,
    after which the weights are kept: W1 (..., T, N_h, N_i) and W2 (..., T, N_o, N_h). Raises ValueError for a record
    that is not increasing or out of range.
    """
    record = increasing(record, steps)
    W1, W2, sigma, rate = doubles(W1=W1, W2=W2, sigma_yx=sigma_yx, rate=rate)
    learner = whitened_learner(W1, W2, sigma, rate[..., None, None])
    kept = [learner.state for _ in reached(learner, record)]
    first, second = zip(*kept, strict=True)
    return np.stack(np.broadcast_arrays(*first), -3), np.stack(np.broadcast_arrays(*second), -3)


def whitened_learner(W1: Any, W2: Any, sigma_yx: Any, rate: Any) -> Iterated:
    """The steps of ``descend`` for the loop of ``numerics.training.loop``, in the precision of the arrays.

    ``rate`` is a number or of shape (..., 1, 1). The state is W1 (..., N_h, N_i) and W2 (..., N_o, N_h).
    """
    W1, W2, sigma, rate = alike(W1=W1, W2=W2, sigma_yx=sigma_yx, rate=rate)

    def step(W1: Any, W2: Any) -> tuple[Any, Any]:
        gap = rate * (sigma - W2 @ W1)
        below, above = W2.mT @ gap, gap @ W1.mT
        below += W1
        above += W2
        return below, above

    return Iterated(step, (W1, W2))


def whitened_loss(function: Any, sigma_yx: Any, rest: Any = 0.0) -> np.ndarray:
    """L = ½(‖W2 W1 − Σ‖² + rest) for functions (..., N_o, N_i).

    ``rest`` = ⟨‖y‖²⟩ − ‖Σ‖² is what no linear map explains.
    """
    function, sigma_yx, rest = loose(function=function, sigma_yx=sigma_yx, rest=rest)
    gap = function - sigma_yx
    return 0.5 * ((gap * gap).sum((-2, -1)) + rest)
