"""The two-layer network with one output and a piecewise linear activation (Kunin et al. 2024, section 5)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from numerics.networks.parameters import floating


def activation(z: torch.Tensor, gamma: float = 0.0) -> torch.Tensor:
    """σ(z) = max(z, γz) for γ ≤ 1: ReLU at γ = 0, leaky ReLU in between, the identity at γ = 1. σ′(0) = 1.

    torch's own ReLU has σ′(0) = 0.
    """
    return torch.where(z >= 0, z, gamma * z)


class TwoLayer(nn.Module):
    """f(x) = aᵀσ(Wx) with σ(z) = max(z, γz), for one network or for a stack of independent ones.

    ``a`` has shape (..., h) and ``W`` shape (..., h, d). Given data X (n, d), the network returns its outputs
    (..., n). Parameters take the dtype and the device of ``a0`` and ``W0``; Python and NumPy numbers become
    float64. Raises ValueError for shapes that do not fit and for γ > 1.

    >>> network = TwoLayer([1.0, -1.0], [[1.0, 0.0], [0.0, 1.0]])
    >>> network(torch.tensor([[2.0, 3.0], [2.0, -3.0]], dtype=torch.float64)).tolist()
    [-1.0, 2.0]
    """

    def __init__(self, a0: Any, W0: Any, gamma: float = 0.0) -> None:
        super().__init__()
        a, W = floating(a0=a0, W0=W0)
        if a.ndim == 0 or W.shape[:-1] != a.shape:
            raise ValueError(
                "W0 must have one axis more than a0, the last one of length d: a0 has shape "
                f"{tuple(a.shape)}, W0 {tuple(W.shape)}"
            )
        if gamma > 1:
            raise ValueError(
                f"gamma must be at most 1 for max(z, gamma z) to bend at 0 as stated, got {gamma}"
            )
        self.a, self.W, self.gamma = nn.Parameter(a.clone()), nn.Parameter(W.clone()), gamma

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.a[..., None, :] @ activation(self.W @ x.mT, self.gamma)).squeeze(-2)
