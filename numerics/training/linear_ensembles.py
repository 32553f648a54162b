"""Many two-layer linear networks at once, of one size or of several, and what is observed of each (Braun et al. 2022).

A network with fewer neurons is a network with more whose other weights are zero: rows and columns of zeros in the
weights, with zeros in Σ where an input or an output is missing, stay zero under gradient descent. Networks of
different sizes are therefore trained as one stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numerics.measures.arrays import doubles, plain
from numerics.training.linear_descent import whitened_loss

QUANTITIES = ("loss", "function", "inputs", "readouts", "ntk")


def padded(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Matrices (r_k, c_k) as one stack (K, max r, max c), with zeros to the right and below.

    >>> padded([np.ones((1, 2)), np.ones((2, 1))]).tolist()
    [[[1.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]]
    """
    matrices = doubles(**{f"matrices[{place}]": matrix for place, matrix in enumerate(matrices)})
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    stack = np.zeros((len(matrices), rows, columns))
    for place, matrix in zip(stack, matrices, strict=True):
        place[: matrix.shape[0], : matrix.shape[1]] = matrix
    return stack


def unexplained(X: Any, Y: Any) -> np.ndarray:
    """⟨‖y‖²⟩ − ‖Σ‖², what no linear map explains of targets Y (..., N_o, P) on whitened inputs X (..., N_i, P)."""
    X, Y = plain(X=X, Y=Y)
    sigma = Y @ X.swapaxes(-1, -2) / X.shape[-1]
    return (Y * Y).sum((-2, -1)) / X.shape[-1] - (sigma * sigma).sum((-2, -1))


def tangent_kernel(inputs: Any, readouts: Any, X: Any) -> np.ndarray:
    """NTK = I ⊗ Xᵀ(W1ᵀW1)X + W2W2ᵀ ⊗ XᵀX (..., N_o P, N_o P), a row for each output and, within it, each datum.

    ``inputs`` is W1ᵀW1 (..., N_i, N_i), ``readouts`` W2W2ᵀ (..., N_o, N_o), X the data (..., N_i, P). Source: Braun
    et al. 2022, eq. (9).
    """
    inputs, readouts, X = plain(inputs=inputs, readouts=readouts, X=X)
    hidden, similar = X.swapaxes(-1, -2) @ inputs @ X, X.swapaxes(-1, -2) @ X
    kernel = np.einsum("ab,...pq->...apbq", np.eye(readouts.shape[-1]), hidden)
    kernel = kernel + np.einsum("...ab,...pq->...apbq", readouts, similar)
    size = readouts.shape[-1] * X.shape[-1]
    return kernel.reshape(*kernel.shape[:-4], size, size)


def observed(W1: Any, W2: Any, X: Any, Y: Any) -> dict[str, np.ndarray]:
    """Loss, W2W1X, W1ᵀW1, W2W2ᵀ and NTK of networks in training, by the names in ``QUANTITIES``.

    W1 (..., T, N_h, N_i) and W2 (..., T, N_o, N_h) have a time axis, X (..., N_i, P), whitened, and Y (..., N_o, P)
    have none. Returns a loss (..., T) and matrices (..., T, rows, columns).
    """
    W1, W2, X, Y = plain(W1=W1, W2=W2, X=X, Y=Y)
    data, product = X[..., None, :, :], W2 @ W1
    sigma, rest = Y @ X.swapaxes(-1, -2) / X.shape[-1], unexplained(X, Y)
    inputs, readouts = W1.swapaxes(-1, -2) @ W1, W2 @ W2.swapaxes(-1, -2)
    return {
        "loss": whitened_loss(product, sigma[..., None, :, :], rest[..., None]),
        "function": product @ data,
        "inputs": inputs,
        "readouts": readouts,
        "ntk": tangent_kernel(inputs, readouts, data),
    }
