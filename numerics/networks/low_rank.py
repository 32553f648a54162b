"""The low-rank layer h = C(Ax + b): fixed orthonormal columns C, trained coefficients A (Nait Saada, Tanner 2023)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from numerics.starts.low_rank import (
    check_generator,
    check_weight,
    normal,
    orthonormal_columns,
    rank_of,
    variance_of,
)


class LowRankLinear(nn.Module):
    """h = C(Ax + b) of rank r, for data x (..., N_in); returns (..., N_out).

    ``basis`` C (N_out, r) has orthonormal columns and is a buffer: it moves with the module, is kept in its state, and
    is not trained. ``coefficients`` A (r, N_in) and ``bias`` b (r,) are parameters. The weight is W = CA and the bias
    vector Cb lies in the span of its columns, so that a layer has r(N_in + 1) trained numbers, in place of
    N_out(N_in + 1).

    Args:
        in_features, out_features: N_in and N_out.
        rank: number r of columns, 1 to N_out; or
        gamma: the ratio γ in (0, 1], where r is the whole number nearest to γN_out.
        bias: whether there is b.
        device, dtype: of parameters and basis, as for `torch.nn.Linear`: float16, bfloat16, float32 or float64.

    Raises ValueError and TypeError for sizes, ranks and dtypes out of their range. Source: naitsaada2023, Eq. (2),
    low-rank-weight and bias-definition.

    >>> layer = LowRankLinear(6, 8, 2)
    >>> layer
    LowRankLinear(in_features=6, out_features=8, rank=2, bias=True)
    >>> layer(torch.ones(5, 6)).shape, sum(p.numel() for p in layer.parameters())
    (torch.Size([5, 8]), 14)
    """

    basis: torch.Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        rank: int | None = None,
        *,
        gamma: float | None = None,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        for name, size in (("in_features", in_features), ("out_features", out_features)):
            if isinstance(size, bool) or not isinstance(size, int):
                raise TypeError(f"{name} is a whole number, not {size!r}")
            if size < 1:
                raise ValueError(f"{name} = {size}: a layer has one at least")
        self.in_features, self.out_features = in_features, out_features
        self.rank = rank_of(out_features, rank, gamma)
        kind = {"device": device, "dtype": dtype}
        self.register_buffer("basis", torch.empty(out_features, self.rank, **kind))
        check_weight(self.basis)
        self.coefficients = nn.Parameter(torch.empty(self.rank, in_features, **kind))
        if bias:
            self.bias = nn.Parameter(torch.empty(self.rank, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    @property
    def gamma(self) -> float:
        """The ratio of rank to width, r/N_out."""
        return self.rank / self.out_features

    @property
    def weight(self) -> torch.Tensor:
        """The weight W = CA (N_out, N_in), through which gradients reach the coefficients."""
        return self.basis @ self.coefficients

    def reset_parameters(
        self,
        sigma_alpha2: float | None = None,
        sigma_b2: float = 0.0,
        *,
        shared_bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        """Draw a basis from the uniform law, A_kj ~ N(0, σ_α²/N_in) and b_k ~ N(0, σ_b²), in place.

        σ_α² is 1/γ if left out, with which linear layers keep the mean square of their inputs. With ``shared_bias`` all
        b_k are one number, as in the paper: the maps of lengths and correlations then do not hold, however wide the
        layer is (`derivations.signal_propagation.length_concentrates`). On the meta device nothing is drawn.
        ``generator`` as for `numerics.starts.low_rank_gaussian_`. Raises ValueError for a variance of the bias where
        there is none.
        """
        variance = 1 / self.gamma if sigma_alpha2 is None else variance_of(sigma_alpha2)
        bias_variance = variance_of(sigma_b2, "sigma_b2")
        check_generator(generator)
        if self.bias is None and bias_variance > 0:
            raise ValueError(f"sigma_b2 = {sigma_b2}, but the layer has no bias: make it with bias=True")
        if self.basis.is_meta:
            return
        with torch.no_grad():
            like = self.coefficients
            self.basis.copy_(
                orthonormal_columns(self.out_features, self.rank, like=self.basis, generator=generator)
            )
            scale = math.sqrt(variance / self.in_features)
            like.copy_(normal((self.rank, self.in_features), like, generator) * scale)
            if self.bias is not None:
                count = 1 if shared_bias else self.rank
                self.bias.copy_(normal((count,), like, generator) * math.sqrt(bias_variance))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(F.linear(x, self.coefficients, self.bias), self.basis)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, rank={self.rank}, "
            f"bias={self.bias is not None}"
        )
