"""What an isotropic deep linear network learns from data that it can interpolate in many ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from derivations.deep_linear.evaluators.roots import balance_root, times_power
from derivations.deep_linear.evaluators.weights import hidden_layers, unit_of
from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected, Namespace, divide, sqrt
from symdyn.arrays.members import Bound, confine, finite, nan_unless
from symdyn.catalogue.implements import implements

_CONSISTENT = {"float32": 1e-4, "float64": 1e-9}


@dataclass(frozen=True)
class Radial:
    """The length of the read-out ‖a‖ and s = ‖a‖² - δ, each of batch shape (...)."""

    a: Array
    s: Array


def _radial(xp: Namespace, r: Array, offset: Array, hidden: int) -> Radial:
    r, offset = xp.broadcast_arrays(r, offset) if xp is np else xp.broadcast_tensors(r, offset)
    return Radial(*balance_root(xp, r, offset, hidden))


def _potential_share(xp: Namespace, at: Radial, offset: Array, hidden: int) -> Array:
    """The share of ‖a‖‖β‖ that is Φ_δ, the rest being its dual (s^k - (-δ)^k)/2k with k = L/2 + 1.

    1 - (1 - q^k)/(2k (1 - q)) with q = -δ/s, where (1 - q^k)/(1 - q) is a sum of powers of q: nothing cancels.
    """
    q = divide(xp, offset, at.s)
    total = 1 / (1 + sqrt(xp, q)) if hidden % 2 else xp.ones_like(q)
    for _ in range((hidden + 1) // 2):
        total = 1 + q * total
    return 1 - total / (hidden + 2)


def _check_start(read: Collected) -> None:
    arrays.require_finite(read, "delta", vectors=("beta0",))
    arrays.require("delta", read["delta"] <= 0, "zero or negative")
    moving = (read["beta0"] != 0).any(-1) | (read["delta"] < 0)
    arrays.require("beta0", moving, "a non-zero vector where delta = 0, for there the network does not move")


@implements("deep_linear.implicit_bias")
def inductive_bias(
    beta: object, beta0: object, depth: int, delta: object = 0.0, *, check: bool = True
) -> Array:
    """The objective Q(β) = Φ_δ(β) - ∇Φ_δ(β_0)ᵀβ that an isotropic network minimises among the interpolators.

    In the rich limit δ = 0, with L = depth - 1, Q = (L+1)/(L+2) ‖β‖^{(L+2)/(L+1)} - ‖β_0‖^{-L/(L+1)} β_0ᵀβ. For δ < 0,
    Φ_δ = ‖a‖² s^{L/2} - (s^{(L+2)/2} - (-δ)^{(L+2)/2})/(L+2) with s = ‖a‖² - δ the root of s^L(s + δ) = ‖β‖².

    Args:
        beta: where Q is evaluated (..., d).
        beta0: the function at the start (..., d); not zero where δ = 0.
        depth: the number of layers, the read-out counted; 1 is linear regression, Q = ‖β‖²/2 - β_0ᵀβ.
        delta: the balance (...), not positive.
        check: whether values are checked.

    Returns:
        Q (...), accurate as long as the lengths ‖a‖ and ‖a_0‖ of the read-outs are in the range of floats.

    Raises:
        ValueError: a depth below 1, values out of their domain, shapes that do not fit.

    Source: kunin2024, Theorem 15; results `deep_linear.implicit_bias` and `deep_linear.balanced_potential`.

    >>> float(inductive_bias([3.0, 4.0], [0.0, 1.0], depth=1))
    8.5
    """
    hidden = hidden_layers(depth)
    read = arrays.collect(beta=beta, beta0=beta0, delta=delta)
    for name in ("beta", "beta0"):
        arrays.check_vector(name, read[name])
    if read["beta"].shape[-1] != read["beta0"].shape[-1]:
        sizes = f"{read['beta'].shape[-1]} and {read['beta0'].shape[-1]}"
        raise ValueError(f"beta and beta0 must have the same number of components; they have {sizes}")
    batch = {name: tuple(read[name].shape[:-1]) for name in ("beta", "beta0")}
    arrays.broadcast_shape(**batch, delta=tuple(read["delta"].shape))
    if check and not read.traced:
        arrays.require_finite(read, vectors=("beta",))
        _check_start(read)
    xp, beta, offset = read.xp, read["beta"], -read["delta"]
    with arrays.quiet(xp):
        r = arrays.norm(xp, beta)
        here = _radial(xp, r, offset, hidden)
        start = _radial(xp, arrays.norm(xp, read["beta0"]), offset, hidden)
        dual = times_power(xp, start.s[..., None], -hidden / 2, read["beta0"])
        # In units of ‖β‖ both terms are in range, so that Q overflows as a whole and not to ∞ - ∞.
        unit = unit_of(xp, r)
        potential = r / unit * here.a * _potential_share(xp, here, offset, hidden)
        return unit * (potential - (dual * (beta / unit[..., None])).sum(-1))


@implements("deep_linear.interpolator")
def interpolating_solution(
    X: object, y: object, beta0: object, depth: int, delta: object = 0.0, *, check: bool = True
) -> Array:
    """The interpolator β_∞ that an isotropic network of a given depth learns, the minimiser of `inductive_bias`.

    β_∞ = X⁺y + s^{L/2} u with s^L(s + δ - ‖u‖²) = ‖X⁺y‖², where L = depth - 1 and u is the part of ∇Φ_δ(β_0) in the
    null space of X; in the rich limit δ = 0, ∇Φ(β_0) = β_0/‖β_0‖^{L/(L+1)}.

    Args:
        X: inputs (..., n, d) of any rank.
        y: targets (..., n) that some β fits exactly.
        beta0: the function at the start (..., d); not zero where δ = 0.
        depth: the number of layers, the read-out counted; 1 is linear regression.
        delta: the balance (...), not positive.
        check: whether values are checked; if not, a member of a batch that is not finite is NaN.

    Returns:
        β_∞ (..., d).

    Raises:
        ValueError: no data, targets that no β fits, a depth below 1, values out of their domain, shapes that do not
            fit.

    Source: kunin2024, Theorem 15; result `deep_linear.interpolator`.

    >>> interpolating_solution([[1.0, 0.0]], [3.0], [0.0, 2.0], depth=1)
    array([3., 2.])
    """
    hidden = hidden_layers(depth)
    read = arrays.collect(X=X, y=y, beta0=beta0, delta=delta)
    _check_shapes(read)
    xp = read.xp
    sizes = {"X": 2, "y": 1, "delta": 0, "beta0": 1}
    read, good = confine(check, read, *(Bound(n, finite(xp, axes), "finite") for n, axes in sizes.items()))
    if check and not read.traced:
        _check_start(read)
    rtol = max(read["X"].shape[-2:]) * float(xp.finfo(read.dtype).eps)
    pinv = xp.linalg.pinv(read["X"], rcond=rtol) if xp is np else xp.linalg.pinv(read["X"], rtol=rtol)
    least = _apply(pinv, read["y"])
    if check and not read.traced:
        _require_fitted(read, least)
    free = read["beta0"]
    # The second time takes off the rounding of the first, which is relative to β_0 and not to what is left of it.
    for _ in range(2):
        free = free - _apply(pinv, _apply(read["X"], free))
    if hidden == 0:
        return nan_unless(xp, good, least + free + 0 * read["delta"][..., None])
    with arrays.quiet(xp):
        r0 = arrays.norm(xp, read["beta0"])
        start = _radial(xp, r0, -read["delta"], hidden)
        u = start.a * divide(xp, arrays.norm(xp, free), r0)
        end = _radial(xp, arrays.norm(xp, least), u * u - read["delta"], hidden)
        growth = sqrt(xp, end.s) / sqrt(xp, start.s)
        return nan_unless(xp, good, least + times_power(xp, growth[..., None], hidden, free))


def _apply(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]


def _check_shapes(read: Collected) -> None:
    if len(read["X"].shape) < 2:
        raise ValueError(f"X must be a matrix (..., n, d); its shape is {tuple(read['X'].shape)}")
    n, d = read["X"].shape[-2:]
    if n == 0:
        raise ValueError(f"X must have at least one sample, a row; its shape is {tuple(read['X'].shape)}")
    for name in ("y", "beta0"):
        arrays.check_vector(name, read[name])
    if read["y"].shape[-1] != n or read["beta0"].shape[-1] != d:
        sizes = f"{read['y'].shape[-1]} and {read['beta0'].shape[-1]}"
        raise ValueError(f"X is {n} × {d}, so y needs {n} and beta0 {d} components; they have {sizes}")
    batch = {name: tuple(read[name].shape[:-1]) for name in ("y", "beta0")}
    arrays.broadcast_shape(X=tuple(read["X"].shape[:-2]), **batch, delta=tuple(read["delta"].shape))


def _require_fitted(read: Collected, least: Array) -> None:
    xp, y = read.xp, read["y"]
    gap = arrays.norm(xp, _apply(read["X"], least) - y)
    tolerance = _CONSISTENT[str(read.dtype).rpartition(".")[2]]
    arrays.require("y", gap <= tolerance * arrays.norm(xp, y), "a vector X β for some β")
