"""The two-layer linear network with one hidden neuron, f(x) = a wᵀx (Kunin et al. 2024, section 3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from numerics.networks.parameters import floating


class SingleNeuron(nn.Module):
    """f(x) = a wᵀx, for one network or for a stack of independent ones.

    ``a`` has shape (...) and ``w`` shape (..., d). Given data X (n, d), the network returns its outputs (...,
    n). Parameters take the dtype and the device of ``a0`` and ``w0``; Python and NumPy numbers become
    float64.

    >>> network = SingleNeuron(2.0, [1.0, 0.5])
    >>> network(torch.tensor([[1.0, 2.0]], dtype=torch.float64)).tolist()
    [4.0]
    """

    def __init__(self, a0: Any, w0: Any) -> None:
        super().__init__()
        a, w = floating(a0=a0, w0=w0)
        if w.ndim == 0 or w.shape[:-1] != a.shape:
            raise ValueError(
                "w0 must have one axis more than a0, the last one of length d: a0 has shape "
                f"{tuple(a.shape)}, "
                f"w0 {tuple(w.shape)}"
            )
        self.a = nn.Parameter(a.clone())
        self.w = nn.Parameter(w.clone())

    @property
    def beta(self) -> torch.Tensor:
        """The predictor β = a w, of shape (..., d)."""
        return self.a[..., None] * self.w

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a[..., None] * (self.w @ x.mT)
