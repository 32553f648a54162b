"""Three starts of a network that learns a tree of living things (Braun et al. 2022, section 4): their flow and their
training.

Small random weights are Gaussian and tiny, large random ones Gaussian and larger than the task asks for, large
zero-balanced ones of random directions with the same mean square. Neither of the first two is balanced: W1 W1ᵀ and
W2ᵀ W2 differ by as much as the weights are large. Of zero-balanced starts with N_i = N_o every second one,
det(W2 W1) det Σ < 0, can never learn the task by the flow (`derivations.prior_knowledge.separatrix_distance`); there
the sign of the first row of W2 is changed.

States are Q Qᵀ = [[W1ᵀ W1, W1ᵀ W2ᵀ], [W2 W1, W2 W2ᵀ]] throughout, inputs first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from numerics.measures.arrays import doubles, plain, require_some
from numerics.starts.learned_starts import to_learnable_side
from numerics.training.linear_descent import descend, random_start, zero_balanced_start

SMALL, LARGE, BALANCED = KINDS = ("small random", "large random", "large zero-balanced")
LINES = {SMALL: "#1b7837", LARGE: "#d6548f", BALANCED: "#2166ac"}


def start(kind: str, cfg: Mapping[str, Any], seed: int, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W1 (N_h, N_i) and W2 (N_o, N_h) of a kind.

    ``cfg`` has the width "hidden" and the scales "small" and "large": the standard deviation of Gaussian weights is
    scale/√N_h, and the singular values of W2 W1 of a zero-balanced start are scale².
    """
    (sigma,) = plain(sigma=sigma)
    generator = np.random.default_rng([seed, KINDS.index(kind)])
    shape = cfg["hidden"], sigma.shape[1], sigma.shape[0]
    if kind == BALANCED:
        return to_learnable_side(*zero_balanced_start(*shape, cfg["large"] ** 2, generator), sigma)
    return random_start(*shape, cfg["small" if kind == SMALL else "large"], generator)


def state(W1: np.ndarray, W2: np.ndarray) -> np.ndarray:
    """Q Qᵀ (..., N_i + N_o, N_i + N_o) of weights W1 (..., N_h, N_i) and W2 (..., N_o, N_h)."""
    W1, W2 = plain(W1=W1, W2=W2)
    Q = np.concatenate([W1.swapaxes(-1, -2), W2], -2)
    return Q @ Q.swapaxes(-1, -2)


def flow(kind: str, W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, times: Any) -> np.ndarray:
    """Q Qᵀ (T, ...) of the gradient flow with τ = 1: the closed form of a zero-balanced start, and otherwise the
    integrated equations (DOP853, relative tolerance 1e-11).
    """
    W1, W2, sigma = plain(W1=W1, W2=W2, sigma=sigma)
    (times,) = doubles(times=times)
    if kind == BALANCED:
        from derivations.prior_knowledge.evaluators.representations import qqt

        return qqt(times, W1, W2, sigma)
    from numerics.training.flows import wide_gradient_flow

    A, W = wide_gradient_flow(
        W2.T, W1, np.eye(sigma.shape[1]), sigma.T, times=times, method="DOP853", rtol=1e-11, atol=1e-14
    )
    return state(W, A.swapaxes(-1, -2))


def trained(W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, times: Any, rate: float) -> np.ndarray:
    """Q Qᵀ (..., T, ...) of gradient descent at the multiples of the step that are nearest to the times."""
    (times,) = plain(times=times)
    require_some(times=times)
    record = np.rint(times / rate).astype(int)
    return state(*descend(W1, W2, sigma, rate=rate, steps=int(record[-1]), record=record.tolist()))


def task_state(sigma: np.ndarray) -> np.ndarray:
    """[[Ṽ S̃ Ṽᵀ, Σᵀ], [Σ, Ũ S̃ Ũᵀ]], the Q Qᵀ of the rich solution of Σ (N_o, N_i)."""
    (sigma,) = plain(sigma=sigma)
    U, S, Vt = np.linalg.svd(sigma, full_matrices=False)
    Q = np.concatenate([Vt.T, U]) * np.sqrt(S)
    return Q @ Q.T


def blocks(matrix: np.ndarray, inputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The representation of the inputs, the network function and the representation of the outputs in Q Qᵀ."""
    (matrix,) = plain(matrix=matrix)
    return (
        matrix[..., :inputs, :inputs],
        matrix[..., inputs:, :inputs],
        matrix[..., inputs:, inputs:],
    )


def gaps(matrix: np.ndarray, sigma: np.ndarray) -> tuple[float, ...]:
    """How far the three blocks of one Q Qᵀ are from those of the rich solution, each relative to the latter."""
    matrix, sigma = plain(matrix=matrix, sigma=sigma)
    require_some(matrix=matrix, sigma=sigma)
    inputs = sigma.shape[1]
    pairs = zip(blocks(matrix, inputs), blocks(task_state(sigma), inputs), strict=True)
    return tuple(float(np.linalg.norm(found - goal) / np.linalg.norm(goal)) for found, goal in pairs)
