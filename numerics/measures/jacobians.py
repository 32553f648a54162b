"""Singular values of a network's input-output Jacobian, its spectral moments, and gradient norms layer by layer.

For anyone's nn.Module. Products with J = ∂f/∂x and with Jᵀ are made by differentiating backwards once and twice, so
that moments and the largest singular values need no Jacobian in memory:

    E|Jᵀv|² = tr JJᵀ,   E|JJᵀv|² = tr (JJᵀ)²     for normal v,

and m_k = tr(JJᵀ)^k/N for N outputs. The network is evaluated on one input at a time, as it is, and left as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from numerics.measures.evaluation import trained, unmoved


class SpectralMoments(NamedTuple):
    """Estimates of m_1 and m_2 with their standard errors over probes, and of the variance m_2 - m_1²."""

    first: float
    first_stderr: float
    second: float
    second_stderr: float
    variance: float


def singular_values(
    network: Callable[..., torch.Tensor], x: torch.Tensor, count: int | None = None
) -> np.ndarray:
    """The singular values of J = ∂f/∂x at one input, in descending order.

    Args:
        network: an nn.Module, or any function of a torch tensor, that takes a batch (1, ...) and treats it alone.
        x: one input (...), of float32 or float64, in the dtype that the network takes.
        count: how many of the largest; by default all min(N, d) of them, for which J (N, d) is formed. The largest few
            are found by Lanczos iteration on products with J and Jᵀ, to about the rounding of the dtype.

    Returns:
        The singular values (count,), float64.

    Raises:
        ValueError: an input without entries or on the meta device, one that is not finite, a count out of range,
            outputs that are not finite or do not depend on x, and a network that is random (dropout).
        TypeError: an input that is no tensor of float32 or float64; a count that is no whole number.

    >>> singular_values(nn.Linear(3, 2, bias=False).double(), torch.ones(3, dtype=torch.float64)).shape
    (2,)
    """
    with _linearised(network, x) as (shape, pull, push, dense):
        size = min(shape)
        if count is not None:
            if isinstance(count, bool) or not isinstance(count, int):
                raise TypeError(f"count is a whole number, not {count!r}")
            if not 1 <= count <= size:
                raise ValueError(f"count = {count} is out of range: J is {shape[0]} × {shape[1]}")
        if count is None or 2 * count >= size:
            values = np.linalg.svd(dense(), compute_uv=False)
            return values[:count]
        from scipy.sparse.linalg import LinearOperator, svds

        operator = LinearOperator(shape, matvec=push, rmatvec=pull, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)
        found = svds(operator, k=count, v0=start, return_singular_vectors=False)
        return np.sort(found)[::-1]


def spectral_moments(
    network: Callable[..., torch.Tensor],
    x: torch.Tensor,
    *,
    probes: int = 64,
    generator: torch.Generator | None = None,
) -> SpectralMoments:
    """The moments m_1 and m_2 of the spectrum of JJᵀ at one input, estimated by random probes, without J.

    On the edge of chaos m_1 is one in the mean over wide networks, and m_2 - m_1² is
    `derivations.random_matrices.jacobian_variance`. Of N outputs, the relative error of m_1 is about
    √(2 m_2/(N m_1² probes)).

    Args:
        network, x: as for `singular_values`.
        probes: number of random vectors, two at least.
        generator: a torch.Generator of the CPU; one with the seed 0, if left out: no global state is touched.

    Returns:
        `SpectralMoments`. The variance may be negative where it is small against its error.

    Raises:
        ValueError, TypeError: as `singular_values`; fewer than two probes.

    >>> net = nn.Linear(50, 40, bias=False)
    >>> found = spectral_moments(net, torch.ones(50), probes=400)
    >>> abs(found.first - float(net.weight.detach().square().sum()) / 40) < 5 * found.first_stderr
    True
    """
    if isinstance(probes, bool) or not isinstance(probes, int):
        raise TypeError(f"probes is a whole number, not {probes!r}")
    if probes < 2:
        raise ValueError(f"probes = {probes}: an error needs two probes at least")
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    with _linearised(network, x) as ((outputs, _), pull, push, _):
        squares = []
        for _ in range(probes):
            probe = torch.randn(outputs, dtype=torch.float64, generator=generator).numpy()
            back = pull(probe)
            forth = push(back)
            squares.append((back @ back / outputs, forth @ forth / outputs))
    first, second = np.array(squares).T
    errors = [float(each.std(ddof=1) / math.sqrt(probes)) for each in (first, second)]
    m1, m2 = float(first.mean()), float(second.mean())
    return SpectralMoments(m1, errors[0], m2, errors[1], m2 - m1**2 + errors[0] ** 2)


def gradient_norms(network: nn.Module, loss: Callable[..., torch.Tensor], X: Any, y: Any) -> dict[str, float]:
    """‖∂E/∂p‖² of every trained parameter p of a network, by name, for E = loss(network(X), y).

    The squares are summed in float64. A gradient that leaves the range of the network's own dtype is zero or
    infinite all the same: measure a copy in float64, ``copy.deepcopy(network).double()``, where that is so.

    Args:
        network: an nn.Module; trained are its parameters that require a gradient.
        loss: a function of outputs and targets that returns one number, as `torch.nn.functional.cross_entropy`.
        X, y: inputs and targets, passed on as they are.

    Returns:
        The squared norms, in the order of `network.named_parameters()`; zero for what the loss does not depend on. The
        gradients that parameters hold are not touched.

    Raises:
        ValueError, TypeError: as `numerics.measures.evaluation.trained`; a loss that is not one number.
    """
    parameters = trained(network)
    with unmoved(network), torch.inference_mode(False), torch.enable_grad():
        value = loss(network(X), y)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            raise ValueError(f"the loss must be one number, a tensor: it is {_told(value)}")
        if not value.requires_grad:
            raise ValueError("the loss does not depend on any trained parameter")
        found = torch.autograd.grad(value.reshape(()), list(parameters.values()), allow_unused=True)
    return {
        name: 0.0 if gradient is None else float(gradient.detach().double().square().sum())
        for name, gradient in zip(parameters, found, strict=True)
    }


def _told(value: object) -> str:
    return (
        f"of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
    )


@contextmanager
def _linearised(network: Callable[..., torch.Tensor], x: torch.Tensor) -> Iterator[tuple[Any, ...]]:
    """The shape (N, d) of J at x, products Jᵀv and Jv of float64 arrays, and a function that forms J."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x is a torch tensor, not a {type(x).__name__}")
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"x holds {x.dtype}: a Jacobian is measured in float32 or float64")
    if x.numel() == 0 or x.is_meta:
        raise ValueError(f"x must be one input with numbers: its shape is {tuple(x.shape)}, on {x.device}")
    if not x.isfinite().all():
        raise ValueError("x is not finite")
    start = x.detach().reshape(-1)
    with unmoved(network) as restore, torch.inference_mode(False), torch.no_grad():

        def function(flat: torch.Tensor) -> torch.Tensor:
            restore()
            return network(flat.reshape(1, *x.shape)).reshape(-1)

        first, again = function(start), function(start)
        if not torch.equal(first, again):
            raise ValueError(
                "the network draws random numbers (dropout, say), so that it has no one Jacobian: call eval()"
            )
        if not first.isfinite().all():
            raise ValueError("the outputs of the network are not finite at x")
        with torch.enable_grad():
            start = start.clone().requires_grad_()
            outputs = function(start.clone())
            if not outputs.requires_grad:
                raise ValueError("the outputs of the network do not depend on x")
            side = torch.zeros_like(outputs, requires_grad=True)
            (back,) = torch.autograd.grad(outputs, start, side, create_graph=True)  # Jᵀu as a function of u

        def pull(v: np.ndarray) -> np.ndarray:
            (found,) = torch.autograd.grad(outputs, start, _like(v, outputs), retain_graph=True)
            return _numpy(found)

        def push(v: np.ndarray) -> np.ndarray:
            (found,) = torch.autograd.grad(back, side, _like(v, start), retain_graph=True)
            return _numpy(found)

        def dense() -> np.ndarray:
            rows = len(first) <= len(start)
            each = np.eye(len(first) if rows else len(start))
            found = np.stack([(pull if rows else push)(unit) for unit in each])
            return found if rows else found.T

        yield (len(first), len(start)), pull, push, dense


def _like(v: np.ndarray, tensor: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(np.ascontiguousarray(v).reshape(-1), dtype=tensor.dtype, device=tensor.device)


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()


__all__ = ["SpectralMoments", "gradient_norms", "singular_values", "spectral_moments"]
