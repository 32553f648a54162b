"""What is watched while an ensemble of two-layer networks learns.

An observer takes the networks at the start and now, both in float64, and returns one number per network. The
measures and their normalisations are those of Kunin et al. 2024, figure 1 and its supporting figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from numerics.measures.arrays import tensors, wide_tensors
from numerics.measures.kernels import two_layer_ntk
from symdyn.arrays.backends import is_tensor
from symdyn.arrays.kinds import dtype_of


@dataclass(frozen=True)
class Networks:
    """A stack of networks f(x) = aᵀσ(Wx): a (B, h), W (B, h, d), layer-wise rates eta_a and eta_w (B,), σ(z) =
    max(z, γz) with γ ≤ 1.
    """

    a: torch.Tensor
    W: torch.Tensor
    eta_a: torch.Tensor
    eta_w: torch.Tensor
    gamma: float = 0.0

    def __post_init__(self) -> None:
        for name in ("a", "W", "eta_a", "eta_w"):
            value = getattr(self, name)
            if not is_tensor(value) or dtype_of(torch, name, value) is not value.dtype:
                kind = value.dtype if is_tensor(value) else type(value).__name__
                raise TypeError(
                    f"{name} must be a tensor of float32 or float64, not {kind}: see numerics.ensembles.networks"
                )

    def __len__(self) -> int:
        return len(self.a)

    def part(self, start: int, stop: int) -> Networks:
        """The networks from ``start`` up to ``stop``; a view, not a copy."""
        return replace(
            self,
            a=self.a[start:stop],
            W=self.W[start:stop],
            eta_a=self.eta_a[start:stop],
            eta_w=self.eta_w[start:stop],
        )

    def to(self, *, dtype: torch.dtype | None = None, device: Any = None) -> Networks:
        """A contiguous copy in another precision or on another device."""
        moved = {
            name: getattr(self, name).to(dtype=dtype, device=device, copy=True).contiguous()
            for name in ("a", "W", "eta_a", "eta_w")
        }
        return replace(self, **moved)

    def outputs(self, X: torch.Tensor) -> torch.Tensor:
        """f(X), (B, n), for X (n, d)."""
        a, W, X = wide_tensors(a=self.a, W=self.W, X=X)
        hidden = torch.nn.functional.leaky_relu(W @ X.mT, self.gamma)
        return (a[:, None, :] @ hidden).squeeze(-2)

    def delta(self) -> torch.Tensor:
        """δ_k = η_w a_k² − η_a ‖w_k‖² of every neuron, (B, h): constant under gradient flow."""
        return self.eta_w[:, None] * self.a**2 - self.eta_a[:, None] * (self.W**2).sum(-1)


Observer = Callable[[Networks, Networks], torch.Tensor]


def mean_square(X: torch.Tensor, y: torch.Tensor) -> Observer:
    """(1/n) Σ (f(x) − y)² over the inputs X (n, d) with labels y (n,)."""
    X, y = _data(X=X, y=y)
    return lambda start, now: ((now.outputs(X) - y) ** 2).mean(-1)


def kernel_distance(X: torch.Tensor) -> Observer:
    """S(0, t) = 1 − ⟨K₀, K_t⟩ / (‖K₀‖ ‖K_t‖) on the inputs X, as ½ ‖K₀/‖K₀‖ − K_t/‖K_t‖‖², never negative."""
    (X,) = _data(X=X)

    def observe(start: Networks, now: Networks) -> torch.Tensor:
        unit = [
            _unit(two_layer_ntk(net.a, net.W, X, net.gamma, net.eta_a, net.eta_w)) for net in (start, now)
        ]
        return 0.5 * ((unit[0] - unit[1]) ** 2).sum((-2, -1))

    return observe


def hamming_distance(X: torch.Tensor) -> Observer:
    """How many neurons of a network changed the sign of wᵀx, on average over the inputs X: between 0 and h, NaN where
    wᵀx is not finite.
    """
    (X,) = _data(X=X)

    def observe(start: Networks, now: Networks) -> torch.Tensor:
        before, after = start.W @ X.mT, now.W @ X.mT
        changed = (before.sign() != after.sign()).double().sum(-2).mean(-1)
        known = (before.isfinite() & after.isfinite()).all(-1).all(-1)
        return torch.where(known, changed, torch.nan)

    return observe


def parameter_distance(start: Networks, now: Networks) -> torch.Tensor:
    """‖θ(t) − θ(0)‖ over all parameters."""
    return torch.sqrt(((now.a - start.a) ** 2).sum(-1) + ((now.W - start.W) ** 2).sum((-2, -1)))


def delta_drift(start: Networks, now: Networks) -> torch.Tensor:
    """max over neurons of |δ_k(t) − δ_k(0)|, which vanishes with the step."""
    return (now.delta() - start.delta()).abs().amax(-1)


def standard_observers(
    X: torch.Tensor, y: torch.Tensor, X_test: torch.Tensor, y_test: torch.Tensor
) -> dict[str, Observer]:
    """The measures of figure 1 and its supporting figure, and the drift of δ; all data float64."""
    X_test, y_test = _data(X_test=X_test, y_test=y_test)
    return {
        "train_loss": mean_square(X, y),
        "test_loss": mean_square(X_test, y_test),
        "kernel_distance": kernel_distance(X),
        "hamming_distance": hamming_distance(X),
        "parameter_distance": parameter_distance,
        "delta_drift": delta_drift,
    }


def _data(**arguments: torch.Tensor) -> list[torch.Tensor]:
    """Data in float64, like the networks that observers see."""
    return [tensors(**{name: value})[0].double() for name, value in arguments.items()]


def _unit(kernel: torch.Tensor) -> torch.Tensor:
    return kernel / torch.linalg.norm(kernel, dim=(-2, -1), keepdim=True)
