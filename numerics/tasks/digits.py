"""Handwritten digits: the 1,797 embedded ones of scikit-learn, of 8 × 8 pixels, with no download.

They stand in for MNIST where a study says so. Nothing is substituted silently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Digits:
    """Training and test images X (n, 64), each pixel of mean zero over the training images and each image of mean
    square one, and their labels y (n,), 0 to 9.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def digits(seed: int = 0, *, test: int = 297) -> Digits:
    """The embedded digits in a random order of the seed, the last ``test`` of them held out.

    Raises ValueError for a number of test images that leaves none, and ModuleNotFoundError, with the extra that brings
    it, without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the embedded digits need scikit-learn: install the extra `numerics`"
        ) from None
    X, y = load_digits(return_X_y=True)
    if isinstance(test, bool) or not isinstance(test, int) or not 0 <= test < len(X):
        raise ValueError(
            f"test = {test!r} must be a number of images from 0 to {len(X) - 1}, of {len(X)} in all"
        )
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    cut = len(X) - test
    X = X - X[:cut].mean(0)
    X = X / np.sqrt((X**2).mean(1, keepdims=True))
    return Digits(X[:cut], y[:cut], X[cut:], y[cut:])
