"""Weights of deep linear networks: the preconditioner they make, and isotropic ones to start from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from derivations.deep_linear.evaluators.roots import balance_root
from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected, Namespace, where
from symdyn.arrays.members import one_number
from symdyn.catalogue.implements import implements


def _layer_names(Ws: Sequence[object]) -> list[str]:
    return [f"Ws[{number}]" for number in range(len(Ws))]


def _check_layers(read: Collected, names: list[str]) -> None:
    """Raise ValueError unless the shapes of a and the layers chain up and their batch axes broadcast."""
    arrays.check_vector("a", read["a"])
    for name in names:
        if len(read[name].shape) < 2:
            raise ValueError(
                f"{name} must be a matrix (..., out, in); its shape is {tuple(read[name].shape)}"
            )
    above, rows = "a", read["a"].shape[-1]
    for name in reversed(names):
        if read[name].shape[-2] != rows:
            raise ValueError(f"{name} has {read[name].shape[-2]} rows, but {above} takes {rows} inputs")
        above, rows = name, read[name].shape[-1]
        if rows == 0:
            raise ValueError(f"{name} must have at least one input; its shape is {tuple(read[name].shape)}")
    batch = {"a": tuple(read["a"].shape[:-1])} | {name: tuple(read[name].shape[:-2]) for name in names}
    arrays.broadcast_shape(**batch)


@implements("deep_linear.layer_velocity")
def preconditioner(a: object, Ws: Sequence[object], *, check: bool = True) -> Array:
    """The preconditioner of the dynamics of β = W_1ᵀ⋯W_Lᵀa, for any weights: β̇ = -M Xᵀρ.

    M = P_LᵀP_L + Σ_l ‖q_l‖² P_{l-1}ᵀP_{l-1} with P_l = W_l⋯W_1 and q_l = W_{l+1}ᵀ⋯W_Lᵀa, at the learning rate 1. Where
    the weights are isotropic it is the matrix of Lemma 14.

    Args:
        a: read-out weights (..., h_L).
        Ws: the layers W_1 (..., h_1, d), …, W_L (..., h_L, h_{L-1}), at least one; leading axes broadcast.
        check: whether values are checked to be finite.

    Returns:
        M (..., d, d), symmetric and positive semidefinite.

    Raises:
        ValueError: no layers, one without inputs, shapes that do not chain up or broadcast, values that are not finite.
        TypeError: layers that are not in a list.

    Source: kunin2024, App. B.2; results `deep_linear.layer_velocity` and `deep_linear.isotropic_dynamics`.

    >>> preconditioner([3.0], [[[1.0, 2.0]]])
    array([[10.,  2.],
           [ 2., 13.]])
    """
    if not hasattr(Ws, "__len__"):
        raise TypeError(f"Ws must be a list of layers, not {type(Ws).__name__}")
    if len(Ws) == 0:
        raise ValueError("Ws must hold at least one layer")
    names = _layer_names(Ws)
    read = arrays.collect(a=a, **dict(zip(names, Ws, strict=True)))
    _check_layers(read, names)
    if check and not read.traced:
        for name in ("a", *names):
            axes = (-1,) if name == "a" else (-2, -1)
            arrays.require(name, read.xp.isfinite(read[name]).all(axes), "finite")
    xp = read.xp
    signals = [read["a"]]
    for name in reversed(names[1:]):
        signals.append((read[name].swapaxes(-1, -2) @ signals[-1][..., None])[..., 0])
    inputs = read[names[0]].shape[-1]
    below = xp.eye(inputs, dtype=read.dtype, **_device(read))
    total: Any = 0.0
    for name, q in zip(names, reversed(signals), strict=True):
        # ‖q‖ times P is squared, for their product is in range where their squares are not.
        unit = unit_of(xp, xp.amax(xp.abs(q), -1))[..., None]
        scaled = unit[..., None] * below
        total = total + ((q / unit) ** 2).sum(-1)[..., None, None] * (scaled.swapaxes(-1, -2) @ scaled)
        below = read[name] @ below
    return total + below.swapaxes(-1, -2) @ below


def unit_of(xp: Namespace, size: Array) -> Array:
    """A size that is not negative as a unit to measure in: without gradient, and 1 where it is 0."""
    return where(xp, size == 0, 1.0, arrays.detach(size))


def _device(read: Collected) -> dict[str, Any]:
    return {} if read.xp is np else {"device": read["a"].device}


def hidden_layers(depth: Any) -> int:
    """L = depth - 1. Raises ValueError unless depth is an integer and at least 1."""
    if not _is_positive_integer(depth):
        raise ValueError(
            f"depth must be a positive integer, the number of layers with the read-out; it is {depth!r}"
        )
    return int(depth) - 1


def _is_positive_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= 1  # type: ignore[operator]  # Integral says nothing of order


@implements("deep_linear.closed_preconditioner")
def isotropic_preconditioner(beta: object, delta: object, depth: int, *, check: bool = True) -> Array:
    """The preconditioner of a square isotropic network as a function of β: M = s^L I + (L/s) ββᵀ.

    s is the root of s^L(s + δ) = ‖β‖² with s + δ = ‖a‖² ≥ 0, and L = depth - 1.

    Args:
        beta: the function of the network (..., d).
        delta: the balance (...), not positive.
        depth: the number of layers, the read-out counted.
        check: whether values are checked.

    Returns:
        M (..., d, d); zero at β = 0 for δ = 0 and depth > 1.

    Raises:
        ValueError: a depth below 1, values out of their domain, shapes that do not broadcast.

    Source: kunin2024, App. B.2; result `deep_linear.closed_preconditioner`.
    """
    hidden = hidden_layers(depth)
    read = arrays.collect(beta=beta, delta=delta)
    arrays.check_vector("beta", read["beta"])
    arrays.broadcast_shape(beta=tuple(read["beta"].shape[:-1]), delta=tuple(read["delta"].shape))
    if check and not read.traced:
        arrays.require_finite(read, "delta", vectors=("beta",))
        arrays.require("delta", read["delta"] <= 0, "zero or negative")
    xp, vector = read.xp, read["beta"]
    length, offset = xp.broadcast_arrays(*_pair(read)) if xp is np else xp.broadcast_tensors(*_pair(read))
    diagonal = xp.eye(vector.shape[-1], **({} if xp is np else {"device": vector.device})) == 1
    with arrays.quiet(xp):
        _, s = balance_root(xp, length, offset, hidden)
        # β/√s is squared, for it is in range where ββᵀ is not.
        along = arrays.divide(xp, vector, arrays.sqrt(xp, s)[..., None])
        outer = along[..., :, None] * along[..., None, :]
        return where(xp, diagonal, (s**hidden)[..., None, None], 0.0) + hidden * outer


def _pair(read: Collected) -> tuple[Array, Array]:
    return arrays.norm(read.xp, read["beta"]), -read["delta"]


@implements("deep_linear.isotropic_network")
def isotropic_init(
    d: int, depth: int, delta: float, generator: Any, readout: float = 0.0
) -> tuple[Array, list[Array]]:
    """Random isotropic weights of a square network: aaᵀ - W_L W_Lᵀ = δ I and W_{l+1}ᵀW_{l+1} = W_l W_lᵀ.

    W_l = O_l D O_{l-1}ᵀ and a = readout O_L e_1 with D = diag(√(readout² - δ), √-δ, …, √-δ) and random orthogonal O_l.
    The function of the network has ‖β‖² = readout² (readout² - δ)^L.

    Args:
        d: inputs and neurons of every layer.
        depth: the number of layers, the read-out counted; at least 2.
        delta: the balance, not positive (with d = 1, at most readout²).
        generator: a seed or numpy.random.Generator for NumPy arrays in float64, a torch.Generator for tensors on its
            device in the default dtype.
        readout: the length ‖a‖; 0 gives layers that are multiples of orthogonal matrices.

    Returns:
        a (d,) and the list of W_1, …, W_L, each (d, d).

    Raises:
        ValueError: a size that is not a positive integer, depth below 2, or a balance that no such network has.
        TypeError: delta or readout is not one real number.

    Source: kunin2024, App. B.2, Definition 12; results `deep_linear.isotropic_network` and `possible_balances`.
    """
    if not _is_positive_integer(d):
        raise ValueError(f"d must be a positive integer; it is {d!r}")
    hidden = hidden_layers(depth)
    if hidden == 0:
        raise ValueError("depth must be at least 2: a network with a hidden layer")
    delta, readout = one_number("delta", delta), one_number("readout", readout)
    if not np.isfinite([delta, readout]).all():
        raise ValueError("delta and readout must be finite")
    length, root = abs(readout), np.sqrt(abs(delta))
    if delta > 0 and (d > 1 or root > length):
        bound = "zero or negative" if d > 1 else "at most readout²"
        raise ValueError(
            f"delta must be {bound}: W_L W_Lᵀ = aaᵀ - δ I has no negative eigenvalue; it is {delta}"
        )
    spectrum = np.full(d, root)
    spectrum[0] = np.hypot(length, root) if delta <= 0 else np.sqrt(length - root) * np.sqrt(length + root)
    source = generator if _is_torch(generator) else np.random.default_rng(generator)
    frames = [_orthogonal(d, source) for _ in range(hidden + 1)]
    xp = arrays.namespace(frames[0])
    scale = spectrum if xp is np else xp.as_tensor(spectrum, dtype=frames[0].dtype, device=frames[0].device)
    layers = [(above * scale) @ below.T for below, above in pairwise(frames)]
    return readout * frames[-1][:, 0], layers


def _is_torch(generator: Any) -> bool:
    torch = arrays.loaded_torch()
    return torch is not None and isinstance(generator, torch.Generator)


def _orthogonal(n: int, generator: Any) -> Array:
    """An orthogonal matrix, uniformly distributed: Q of a Gaussian matrix, with the signs of R's diagonal."""
    if _is_torch(generator):
        torch = arrays.loaded_torch()
        drawn = torch.randn((n, n), generator=generator, device=generator.device)  # type: ignore[union-attr]  # torch has made the generator
        q, r = torch.linalg.qr(drawn)  # type: ignore[union-attr]  # as above
    else:
        q, r = np.linalg.qr(generator.standard_normal((n, n)))
    diagonal = r.diagonal()
    return q * where(arrays.namespace(q), diagonal < 0, -1.0, diagonal * 0 + 1)
