"""Trees that follow the living things, and how long a network needs for them (Braun et al. 2022, Sec. 6).

A colour hierarchy is a new tree of the same things: another order of the leaves and other features, drawn at random.
Trained networks are compared by the time at which the loss is 1 % of that of the zero map, ½|Σ|².
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numerics.measures.arrays import doubles, plain, require_some
from numerics.starts.learned_starts import crossing, on_wrong_side
from numerics.tasks.semantic import hierarchy
from numerics.training.linear_descent import descend, orthonormal, whitened_loss

LEARNED = 0.01


def colour_hierarchy(generator: np.random.Generator, W1: Any, W2: Any) -> tuple[np.ndarray, bool]:
    """A new tree Σ (8, 8) that the weights can learn, and whether it was a reflected one.

    Leaves in random order, features from the uniform law. Where the weights are on the separatrix of this tree, the
    last feature direction changes its sign.
    """
    order, features = generator.permutation(8), orthonormal(8, 8, generator)
    tree = hierarchy(order, features=features)  # type: ignore[arg-type]  # an array is a sequence here
    wrong = bool(on_wrong_side(W1, W2, tree))
    if wrong:
        tree = hierarchy(order, features=features * np.where(np.arange(8) == 7, -1.0, 1.0))  # type: ignore[arg-type]  # an array is a sequence here
    return tree, wrong


def train(
    W1: Any, W2: Any, sigma: Any, *, rate: float, horizon: float, every: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient descent from W1 (..., N_h, N_i), W2 (..., N_o, N_h) on Σ (..., N_o, N_i) up to the time ``horizon``.

    Returns the times (T,), one in ``every`` steps, and the weights (..., T, N_h, N_i), (..., T, N_o, N_h).
    """
    steps = round(horizon / rate)
    record = np.arange(0, steps + 1, every)
    first, second = descend(W1, W2, sigma, rate=rate, steps=steps, record=record)  # type: ignore[arg-type]  # an array is a sequence here
    return rate * record, first, second


def losses(function: Any, sigma: Any) -> np.ndarray:
    """½|W2 W1 − Σ|² (..., T) of functions (..., T, N_o, N_i) on Σ (..., N_o, N_i)."""
    (sigma,) = plain(sigma=sigma)
    return whitened_loss(function, sigma[..., None, :, :])


def learning_time(times: Any, loss: Any, sigma: Any) -> np.ndarray:
    """When the loss (..., T) first is 1 % of ½|Σ|², (...): +inf if never. Between ``times`` (T,) ln loss is linear."""
    times, loss, sigma = plain(times=times, loss=loss, sigma=sigma)
    level = LEARNED * (sigma**2).sum((-2, -1))[..., None] / 2
    return crossing(times, -np.log(np.maximum(loss, np.finfo(float).tiny) / level))


def learned_next_to(W1: Any, W2: Any, sigma: Any) -> tuple[np.ndarray, np.ndarray]:
    """The zero-balanced weights that compute Σ = U S Vᵀ with the hidden neurons of trained ones.

    W1 = R √S Vᵀ and W2 = U √S Rᵀ with the R of orthonormal columns that is nearest to (W1 V + W2ᵀ U) / 2√S.
    """
    W1, W2, sigma = plain(W1=W1, W2=W2, sigma=sigma)
    U, S, Vt = np.linalg.svd(sigma, full_matrices=False)
    root = np.sqrt(S)
    left, _, right = np.linalg.svd((W1 @ Vt.T + W2.T @ U) / (2 * root), full_matrices=False)
    R = left @ right
    return (R * root) @ Vt, (U * root) @ R.T


def classical_scaling(points: Any, dimensions: int = 2) -> np.ndarray:
    """Coordinates (n, dimensions) from classical multidimensional scaling of the distances of points (n, d).

    The leading eigenvectors of the centred Gram matrix −½ J D² J, D the matrix of distances, times the roots of
    their eigenvalues. Each axis points to where its largest coordinate is positive.
    """
    (points,) = doubles(points=points)
    require_some(points=points)
    squares = ((points[:, None] - points[None]) ** 2).sum(-1)
    gram = -0.5 * (squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(gram)
    found = vectors[:, ::-1][:, :dimensions] * np.sqrt(np.maximum(values[::-1][:dimensions], 0.0))
    peaks = found[np.abs(found).argmax(0), np.arange(dimensions)]
    return found * np.where(peaks < 0, -1.0, 1.0)
