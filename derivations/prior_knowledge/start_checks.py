r"""Reading a lambda-balanced start: W2^T W2 - W1 W1^T = lambda I."""

from __future__ import annotations

from typing import Any

import numpy as np

from symdyn.compile import arrays, linalg
from symdyn.compile.arrays import Array, Collected
from symdyn.compile.linalg import transpose


def read_times(read: Collected, check: bool) -> Array:
    """t/tau as a vector of times; t must be a number or a vector, tau one positive number."""
    if len(read["t"].shape) > 1:
        raise ValueError(f"t must be a number or a vector of times; its shape is {tuple(read['t'].shape)}")
    if len(read["tau"].shape):
        raise ValueError(f"tau must be one number; its shape is {tuple(read['tau'].shape)}")
    if check and not read.traced:
        arrays.require("t", (read["t"] >= 0) & read.xp.isfinite(read["t"]), "finite and non-negative")
        arrays.require_positive(read, "tau")
    times = read["t"] / read["tau"]
    return times if len(times.shape) else times[None]


def read_start(check: bool, **arguments: object) -> Collected:
    """Read W1, W2 and sigma_yx, with whatever else is given: shapes always, values if they are to be checked."""
    read = arrays.collect(**arguments)
    check_weights(read)
    linalg.check_matrix("sigma_yx", read["sigma_yx"])
    shape = (read["W2"].shape[-2], read["W1"].shape[-1])
    found = tuple(read["sigma_yx"].shape[-2:])
    if found != shape:
        raise ValueError(f"sigma_yx must be {shape}, outputs by inputs, to fit W1 and W2; it is {found}")
    batches = {name: tuple(read[name].shape[:-2]) for name in ("W1", "W2", "sigma_yx")}
    arrays.broadcast_shape(**batches)
    if check and not read.traced:
        arrays.require("sigma_yx", read.xp.isfinite(read["sigma_yx"]).all(-1).all(-1), "finite")
        require_balanced(read)
    return read


def check_weights(read: Collected) -> None:
    """Raise ValueError unless W1 (..., N_h, N_i) and W2 (..., N_o, N_h) chain."""
    for name in ("W1", "W2"):
        linalg.check_matrix(name, read[name])
    hidden, other = read["W1"].shape[-2], read["W2"].shape[-1]
    if hidden != other:
        raise ValueError(
            f"W1 (N_h, N_i) and W2 (N_o, N_h) must chain; W1 has {hidden} rows, W2 {other} columns"
        )
    arrays.broadcast_shape(W1=tuple(read["W1"].shape[:-2]), W2=tuple(read["W2"].shape[:-2]))


def balance(read: Collected) -> tuple[Array, Array]:
    """lambda (...), the mean of the diagonal of W2^T W2 - W1 W1^T, and the largest entry of what is left."""
    xp, W1, W2 = read.xp, read["W1"], read["W2"]
    difference = transpose(W2) @ W2 - W1 @ transpose(W1)
    size = difference.shape[-1]
    offset = sum(difference[..., i, i] for i in range(size)) / size
    rest = difference - linalg.identity_like(xp, difference, size) * offset[..., None, None]
    return offset, xp.amax(xp.abs(rest), (-2, -1))


def weight_size(read: Collected) -> Array:
    """|W1|_F^2 + |W2|_F^2 (...)."""
    return (read["W1"] ** 2).sum((-2, -1)) + (read["W2"] ** 2).sum((-2, -1))


def require_balanced(read: Collected) -> None:
    """Raise ValueError, naming the imbalance, where the weights are not finite or not lambda-balanced."""
    for name in ("W1", "W2"):
        arrays.require(name, read.xp.isfinite(read[name]).all(-1).all(-1), "finite")
    tolerance = 1e-4 if str(read.dtype).endswith("32") else 1e-10
    size, found = _numbers(weight_size(read)), _numbers(balance(read)[1])
    good = found <= tolerance * size
    largest = np.max(np.where(good, 0.0, found), initial=0.0)
    domain = "lambda-balanced, W2^T W2 - W1 W1^T = lambda I"
    arrays.require("W1 and W2", good, f"{domain} (the imbalance is {largest:.3g})")


def require_values(name: str, read: Collected) -> None:
    """Raise TypeError inside a transform, for a function whose branches depend on values."""
    if read.traced:
        raise TypeError(
            f"{name} depends on values by its branches; call it outside torch.func transforms and torch.compile"
        )


def _numbers(x: Any) -> np.ndarray:
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else np.asarray(x)
