"""The neural tangent kernel with layer-wise learning rates, and the distance between two kernels.

Θ(x, x′) = Σ_p η_p ∂_p f(x) ∂_p f(x′) (Kunin et al. 2024, Notation). The closed forms take NumPy arrays, lists or
torch tensors of any dtype that ``numerics.measures.arrays`` takes, and compute in float32 or float64; ``ntk``
differentiates any torch network and is the reference that the closed forms are tested against.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from numerics.measures.arrays import alike, doubles
from symdyn.arrays.backends import Array, Namespace
from symdyn.catalogue.implements import implements

if TYPE_CHECKING:
    import torch
    from torch import nn


BLOCK = 512


@implements("wide_linear.tangent_kernel")
def two_layer_linear_ntk(a: Array, W: Array, X: Array, eta_a: Array = 1.0, eta_w: Array = 1.0) -> Array:
    """K = X (η_w ‖a‖² I + η_a WᵀW) Xᵀ of f(x) = aᵀW x, for a (..., h), W (..., h, d), X (n, d); returns (...,
    n, n). Raises ValueError for shapes that do not fit.
    """
    a, W, X, eta_a, eta_w = alike(a=a, W=W, X=X, eta_a=eta_a, eta_w=eta_w)
    _check_shapes(a, W, X)
    hidden = W @ X.T
    return (eta_w * (a * a).sum(-1))[..., None, None] * (X @ X.T) + _trail(eta_a) * (
        hidden.swapaxes(-1, -2) @ hidden
    )


@implements("piecewise_linear.tangent_kernel")
def two_layer_ntk(
    a: Array, W: Array, X: Array, gamma: Array = 0.0, eta_a: Array = 1.0, eta_w: Array = 1.0
) -> Array:
    """K = η_a σ(Z)ᵀσ(Z) + η_w (XXᵀ) ∘ (GᵀG) of f(x) = aᵀσ(Wx), with Z = WXᵀ and G_ki = a_k σ′(z_ki).

    σ(z) = max(z, γz) and σ′(0) = 1. For a (..., h), W (..., h, d), X (n, d); eta_a and eta_w are scalars or of
    shape (...). Returns (..., n, n); the large kernel of a single network, unless torch differentiates or maps it, is
    made block by block, which keeps the work in the cache and makes use of the symmetry. Raises ValueError for shapes
    that do not fit. Source: Kunin et al. 2024, section 5.
    """
    a, W, X, gamma, eta_a, eta_w = alike(a=a, W=W, X=X, gamma=gamma, eta_a=eta_a, eta_w=eta_w)
    _check_shapes(a, W, X)
    hidden = W @ X.T
    slope = gamma + (1 - gamma) * (0 * hidden + (hidden >= 0))
    features, gates = hidden * slope, a[..., None] * slope
    large = a.ndim == 1 and len(X) > 2 * BLOCK
    return (_in_blocks if large else _whole)(features, gates, X, eta_a, eta_w)


def _check_shapes(a: Array, W: Array, X: Array) -> None:
    first, second, data = (tuple(getattr(value, "shape", ())) for value in (a, W, X))
    if len(second) < 2 or len(data) != 2 or first[-1:] != second[-2:-1] or second[-1] != data[-1]:
        raise ValueError(
            f"a must be (..., h), W (..., h, d) and X (n, d): they are {first}, {second} and {data}"
        )


def _whole(features: Array, gates: Array, X: Array, eta_a: Array, eta_w: Array) -> Array:
    return _trail(eta_a) * (features.swapaxes(-1, -2) @ features) + _trail(eta_w) * (X @ X.T) * (
        gates.swapaxes(-1, -2) @ gates
    )


def _in_blocks(features: Array, gates: Array, X: Array, eta_a: Array, eta_w: Array) -> Array:
    """The kernel from its upper triangle, a band of rows at a time, with one buffer for all other products.

    It is made whole where there are many rates or where products may not be written in place.
    """
    first = _whole(features[:, :1], gates[:, :1], X[:1], eta_a, eta_w)
    if not _in_place(first, features, gates, X, eta_a, eta_w):
        return _whole(features, gates, X, eta_a, eta_w)
    xp, n = _namespace(X), len(X)
    kernel, buffer = _empty(first, n * n).reshape(n, n), _empty(first, BLOCK * n)
    for low in range(0, n, BLOCK):
        high = min(low + BLOCK, n)
        rows = kernel[low:high, low:]
        other = buffer[: rows.shape[0] * rows.shape[1]].reshape(rows.shape)
        xp.matmul(X[low:high], X[low:].T, out=rows)
        rows *= xp.matmul(eta_w * gates[:, low:high].T, gates[:, low:], out=other)
        rows += xp.matmul(eta_a * features[:, low:high].T, features[:, low:], out=other)
        kernel[high:, low:high] = kernel[low:high, high:].T
    return kernel


def _in_place(first: Array, features: Array, gates: Array, X: Array, eta_a: Array, eta_w: Array) -> bool:
    """Whether the products of one datum may be written into an array like their kernel ``first``.

    They may not where torch differentiates, backwards or forwards, maps over a batch, compiles or traces, nor between
    libraries or dtypes.
    """
    xp = _namespace(X)
    recorded = xp is not np and (xp.compiler.is_compiling() or xp.jit.is_tracing())
    if first.shape != (1, 1) or _namespace(first) is not xp or recorded:
        return False
    one = _empty(first, 1).reshape(1, 1)
    try:
        xp.matmul(X[:1], X[:1].T, out=one)
        xp.matmul(eta_w * gates[:, :1].T, gates[:, :1], out=one)
        xp.matmul(eta_a * features[:, :1].T, features[:, :1], out=one)
    except RuntimeError:
        return False
    return True


def _empty(like: Array, size: int) -> Array:
    """``size`` numbers in the dtype of ``like``, on its device: in memory in large pages, which NumPy asks the system
    for and torch does not.
    """
    if isinstance(like, np.ndarray):
        return np.empty(size, like.dtype)
    import torch

    if like.device.type != "cpu":
        return torch.empty(size, dtype=like.dtype, device=like.device)
    return torch.from_numpy(np.empty(size * like.element_size(), np.uint8)).view(like.dtype)


def _namespace(array: Array) -> Namespace:
    """NumPy or torch, whichever made the array."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


@implements("single_neuron.neuron_kernel")
def single_neuron_ntk(a: Array, w: Array, X: Array, eta_a: Array = 1.0, eta_w: Array = 1.0) -> Array:
    """K = X (η_w a² I + η_a wwᵀ) Xᵀ of f(x) = a wᵀx, for a (...), w (..., d), X (n, d); returns (..., n, n).

    eta_a and eta_w are scalars or of shape (...). Source: Kunin et al. 2024, section 3.
    """
    a, w, X, eta_a, eta_w = alike(a=a, w=w, X=X, eta_a=eta_a, eta_w=eta_w)
    hidden = w @ X.T
    return _trail(eta_w * a * a) * (X @ X.T) + _trail(eta_a) * hidden[..., :, None] * hidden[..., None, :]


def _trail(rate: Array) -> Array:
    return rate[..., None, None] if getattr(rate, "ndim", 0) else rate


@implements("single_neuron.tangent_kernel", "single_neuron.kernel_matrix")
def ntk(network: nn.Module, X: torch.Tensor, rates: Mapping[str, float]) -> torch.Tensor:
    """The kernel of any torch network with one output per datum, by automatic differentiation.

    ``network(X)`` has shape (n,) for X (n, ...); ``rates`` gives the learning rate of each trained parameter by its
    name (a number, or a tensor that broadcasts against it), and may name those with requires_grad=False, which do not
    count.
    Parameters that lie in the same memory are one parameter, with one rate. Returns (n, n), exactly symmetric, in the
    dtype of the parameters, also under autocast; it can be differentiated where X requires a gradient. The network is
    evaluated as it is, in its mode, and left as it was, together with all random states; what its hooks write elsewhere
    is theirs.

    Raises ValueError if a rate is missing or the outputs are not (n,), for a network that is random (dropout) or whose
    data are coupled (batch statistics, attention between them), and as ``numerics.measures.evaluation.trained`` does.
    """
    from numerics.measures.evaluation import full_precision, jacobian, merged, trained

    parameters = trained(network)
    names = {name for name, _ in network.named_parameters()}
    if not set(parameters) <= set(rates) <= names:
        raise ValueError(f"rates must name the parameters {sorted(parameters)}, got {sorted(rates)}")
    kernel = 0.0
    blocks = jacobian(network, X, parameters)
    with full_precision():
        for block, rate in merged(blocks, parameters, rates):
            weighted = block * rate
            kernel = kernel + weighted.reshape(len(X), -1) @ block.reshape(len(X), -1).T
    return kernel.triu() + kernel.triu(1).T  # type: ignore[attr-defined]  # a tensor: there is a block


@implements("single_neuron.kernel_distance")
def kernel_distance(K1: Array, K2: Array) -> np.ndarray:
    """S = 1 − ⟨K₁, K₂⟩ / (‖K₁‖ ‖K₂‖) in float64, for kernels (..., n, n) that broadcast; returns (...).

    Computed as ½ ‖K₁/‖K₁‖ − K₂/‖K₂‖‖²: the same number, never negative, and exact to rounding where S is
    tiny. Raises ValueError for a kernel that is zero, not finite or not square, and for two of different sizes. Source:
    Kunin et al. 2024, Notation.
    """
    first, second = _unit(K1, "K1"), _unit(K2, "K2")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"K1 and K2 are kernels of {first.shape[-1]} and {second.shape[-1]} data")
    return 0.5 * ((first - second) ** 2).sum((-2, -1))


def _unit(kernel: Array, name: str) -> np.ndarray:
    if kernel.is_complex() if hasattr(kernel, "is_complex") else np.iscomplexobj(kernel):
        raise ValueError(f"{name} must be real, not complex")
    (kernel,) = doubles(**{name: kernel})
    if kernel.ndim < 2 or kernel.shape[-1] != kernel.shape[-2] or kernel.shape[-1] == 0:
        raise ValueError(f"{name} must be (..., n, n), of at least one datum: it is {kernel.shape}")
    if not np.isfinite(kernel).all():
        raise ValueError(f"{name} must be finite")
    largest = np.abs(kernel).max((-2, -1), keepdims=True)
    if (largest == 0).any():
        raise ValueError(f"{name} is zero: the kernel distance is undefined")
    kernel = kernel / largest
    return kernel / np.sqrt((kernel**2).sum((-2, -1), keepdims=True))
