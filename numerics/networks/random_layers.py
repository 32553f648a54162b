"""Random low-rank networks layer by layer: drawn one at a time, with their signals and their Jacobian.

    h^(l) = C^(l)(A^(l)φ(h^(l-1)) + b^(l)),        J = D^(L)W^(L) ⋯ D^(1)W^(1),  D^(l) = diag φ'(h^(l))

A network of any depth is never held whole. Its Jacobian is kept as three factors,

    J = (D^(L)C^(L)) P A^(1),   P = M^(L) ⋯ M^(2),   M^(l) = A^(l)D^(l-1)C^(l-1)  (r, r),

so that its singular values and traces cost as much as those of a matrix of rank r (Nait Saada and Tanner 2023, Sec. 1
and 3). Leading axes are independent networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from numerics.starts.low_rank import normal, orthonormal_columns

if TYPE_CHECKING:
    from derivations.signal_propagation.evaluators.activations import Activation


@dataclass(frozen=True)
class Setting:
    """What a layer is drawn from: width N, rank r, σ_α², σ_b², the ensemble ("gaussian" or "orthogonal": W = σ_αQRᵀ),
    and whether the bias is one number for all directions.
    """

    width: int
    rank: int
    sigma_alpha2: float
    sigma_b2: float = 0.0
    ensemble: str = "gaussian"
    shared_bias: bool = False


@dataclass(frozen=True)
class Layer:
    """Basis C (..., N, r), coefficients A (..., r, N) and bias b (..., r, 1) of one layer."""

    C: np.ndarray
    A: np.ndarray
    b: np.ndarray

    def preactivations(self, z: np.ndarray) -> np.ndarray:
        """h = C(Az + b) of inputs z (..., N, n)."""
        return self.C @ (self.A @ z + self.b)


def layers(
    setting: Setting, depth: int, generator: torch.Generator, batch: tuple[int, ...] = ()
) -> Iterator[Layer]:
    """The layers of a random network, or of a batch of them, the first one first, in float64."""
    like = torch.empty((), dtype=torch.float64)
    N, r = setting.width, setting.rank
    for _ in range(depth):
        C = orthonormal_columns(N, r, like=like, generator=generator, batch=batch)
        if setting.ensemble == "orthogonal":
            rows = orthonormal_columns(N, r, like=like, generator=generator, batch=batch).mT
            A = rows * math.sqrt(setting.sigma_alpha2)
        else:
            A = normal((*batch, r, N), like, generator) * math.sqrt(setting.sigma_alpha2 / N)
        count = 1 if setting.shared_bias else r
        b = normal((*batch, count, 1), like, generator) * math.sqrt(setting.sigma_b2)
        yield Layer(C.numpy(), A.numpy(), b.expand(*batch, r, 1).numpy())


def inputs(
    width: int, q: float, generator: torch.Generator, batch: tuple[int, ...] = (), count: int = 1
) -> np.ndarray:
    """Random pre-activations (..., N, n) of length exactly q, orthogonal to each other."""
    like = torch.empty((), dtype=torch.float64)
    columns = orthonormal_columns(width, count, like=like, generator=generator, batch=batch)
    return math.sqrt(q * width) * columns.numpy()


def correlated(h: np.ndarray, c: float) -> np.ndarray:
    """Two pre-activations (..., N, 2) of one length and correlation c, from two that are orthogonal."""
    first, other = h[..., 0], h[..., 1]
    return np.stack([first, c * first + math.sqrt((1 - c) * (1 + c)) * other], -1)


def length(h: np.ndarray) -> np.ndarray:
    """q = |h|²/N of pre-activations (..., N, n); returns (..., n)."""
    return (h * h).mean(-2)


def correlation(h: np.ndarray) -> np.ndarray:
    """The correlation of two pre-activations (..., N, 2); returns (...)."""
    first, other = h[..., 0], h[..., 1]
    return (first * other).sum(-1) / np.sqrt((first * first).sum(-1) * (other * other).sum(-1))


def gap(h: np.ndarray) -> np.ndarray:
    """1 - c of two pre-activations (..., N, 2), with all digits where they are close; returns (...)."""
    unit = h / np.sqrt((h * h).sum(-2, keepdims=True))
    return ((unit[..., 0] - unit[..., 1]) ** 2).sum(-1) / 2


@dataclass(frozen=True)
class Jacobian:
    """The three factors of J: DC (..., N, r), P (..., r, r) and A (..., r, N)."""

    outer: np.ndarray
    core: np.ndarray
    inner: np.ndarray

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """tr JJᵀ/N and tr (JJᵀ)²/N, each (...)."""
        N = self.outer.shape[-2]
        gram = self.outer.swapaxes(-1, -2) @ self.outer
        inside = self.core @ (self.inner @ self.inner.swapaxes(-1, -2)) @ self.core.swapaxes(-1, -2)
        product = gram @ inside
        first = np.trace(product, axis1=-2, axis2=-1) / N
        return first, (product * product.swapaxes(-1, -2)).sum((-2, -1)) / N

    def singular_values(self) -> np.ndarray:
        """The r singular values that need not be zero, (..., r), in descending order."""
        right = np.linalg.qr(self.outer, mode="r")
        left = np.linalg.qr(self.inner.swapaxes(-1, -2), mode="r")
        return np.linalg.svd(right @ self.core @ left.swapaxes(-1, -2), compute_uv=False)  # type: ignore[call-overload, attr-defined]  # mode "r" gives arrays


def jacobians(
    phi: Activation, h: np.ndarray, drawn: Iterator[Layer]
) -> Iterator[tuple[np.ndarray, Jacobian]]:
    """The pre-activations (..., N) and the Jacobian ∂z^l/∂z^0 after each layer, z = φ(h), from h (..., N) on.

    ``phi`` is an `Activation`. The layers are taken one by one; only the last one is held.
    """
    core = slope = before = inner = None
    for layer in drawn:
        if before is None:
            inner = layer.A
            core = np.broadcast_to(
                np.eye(layer.A.shape[-2]), (*layer.A.shape[:-2], *2 * layer.A.shape[-2:-1])
            )
        else:
            core = (layer.A @ (slope[..., None] * before)) @ core  # type: ignore[index]  # the layer before has set it
        h = layer.preactivations(phi(h)[..., None])[..., 0]
        slope, before = phi.derivative(h), layer.C
        yield h, Jacobian(slope[..., None] * before, core, inner)  # type: ignore[arg-type]  # the first layer has set it
