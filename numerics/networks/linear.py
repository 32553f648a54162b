"""Linear networks with any number of layers and outputs (Kunin et al. 2024, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from numerics.networks.parameters import floating


class WideLinear(nn.Module):
    """f(x) = AᵀWx, for one network or for a stack of independent ones.

    ``A`` has shape (..., h, c) and ``W`` shape (..., h, d). Given data X (n, d), the network returns its outputs
    (..., n, c). Raises ValueError for shapes that do not fit.

    >>> WideLinear([[2.0]], [[1.0, 0.5]])(torch.tensor([[1.0, 2.0]], dtype=torch.float64)).tolist()
    [[4.0]]
    """

    def __init__(self, A0: Any, W0: Any) -> None:
        super().__init__()
        A, W = floating(A0=A0, W0=W0)
        if A.ndim < 2 or W.ndim < 2 or A.shape[:-1] != W.shape[:-1]:
            raise ValueError(
                "A0 must be (..., h, c) and W0 (..., h, d) with the same h and leading axes: "
                f"A0 has shape {tuple(A.shape)}, W0 {tuple(W.shape)}"
            )
        self.A, self.W = nn.Parameter(A.clone()), nn.Parameter(W.clone())

    @property
    def beta(self) -> torch.Tensor:
        """The predictor β = WᵀA, of shape (..., d, c)."""
        return self.W.mT @ self.A

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.beta


class DeepLinear(nn.Module):
    """f(x) = aᵀ W_L ⋯ W₁ x, for one network or for a stack of independent ones.

    ``a`` has shape (..., h) and ``Ws`` lists W₁ (..., h₁, d), W₂ (..., h₂, h₁), …, W_L (..., h, h_{L−1}): the
    layer next to the data comes first. Given data X (n, d), the network returns its outputs (..., n). Raises
    ValueError for shapes that do not fit.
    """

    def __init__(self, a0: Any, Ws: Sequence[Any]) -> None:
        super().__init__()
        a, *layers = floating(a0=a0, **{f"W{place}": W for place, W in enumerate(Ws, start=1)})
        widths = [W.shape[-2:] for W in layers if W.ndim >= 2]
        fits = len(widths) == len(layers) > 0 and a.ndim > 0
        if not fits or [W[1] for W in widths[1:]] + [a.shape[-1]] != [W[0] for W in widths]:
            raise ValueError(
                "each layer must take what the one below gives, W1 (..., h1, d), W2 (..., h2, h1), ..., a0 (..., h): "
                f"got {[tuple(W.shape) for W in layers]} and a0 {tuple(a.shape)}"
            )
        self.a = nn.Parameter(a.clone())
        self.Ws = nn.ParameterList(nn.Parameter(W.clone()) for W in layers)

    @property
    def beta(self) -> torch.Tensor:
        """The predictor β = W₁ᵀ ⋯ W_Lᵀ a, of shape (..., d)."""
        product = self.a[..., None]
        for W in reversed(self.Ws):
            product = W.mT @ product
        return product[..., 0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ self.beta[..., None])[..., 0]
