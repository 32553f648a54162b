r"""Isotropic balance, eta_w A A^T - eta_a W W^T = delta I_h: when it exists, exact starts, and its preconditioner.

For delta > 0, eta_w A A^T = delta I + eta_a W W^T has rank h, so that h <= c; then any W will do, with
A = (delta I + eta_a W W^T)^(1/2) O / sqrt(eta_w) and any O with orthonormal rows. For delta < 0 the layers change
places and h <= d. For delta = 0 there are such starts for all sizes; both layers have the same rank, min(h, d, c) at
most, so that the neurons are linearly dependent where h > min(d, c).

Under isotropic balance with h = c (delta > 0), h = d (delta < 0) or delta = 0 the preconditioner depends on beta alone
(kunin2024, Theorem 3).
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from derivations.wide_linear.evaluators.weights import kronecker_sum
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array
from symdyn.arrays.linalg import transpose
from symdyn.arrays.members import Bound, confine, finite, nan_unless, one_number, positive
from symdyn.catalogue.implements import implements


@implements("wide_linear.isotropic_form")
def isotropic_preconditioner(
    beta: object, delta: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""M = sqrt(r^2 beta^T beta + delta^2/4) x I_d + I_c x sqrt(r^2 beta beta^T + delta^2/4), r^2 = eta_a eta_w.

    Args:
        beta: the map of the network (..., d, c).
        delta: its isotropic balance (...).
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain is then NaN.

    Returns:
        M (..., cd, cd), by which gradient flow moves vec(beta), columns stacked (`vec`). It is the preconditioner of a
        network with Delta = delta I and h = c if delta > 0, h = d if delta < 0, any h if delta = 0; with fewer neurons
        M has a null space.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    The square roots keep the small singular values of beta, also at delta = 0. First and second derivatives are exact
    at equal singular values too; where delta = 0 and beta loses rank M has none. Where delta = 0 and d != c, M has a
    kink in delta, and the derivative in delta is the one to the right.

    Source: kunin2024, Theorem 3.

    >>> isotropic_preconditioner(beta=[[0.0, 2.0], [1.0, 0.0]], delta=0.0).diagonal().tolist()
    [3.0, 2.0, 4.0, 3.0]
    """
    read = arrays.collect(beta=beta, delta=delta, eta_a=eta_a, eta_w=eta_w)
    linalg.check_matrix("beta", read["beta"])
    batch = {name: tuple(read[name].shape) for name in ("delta", "eta_a", "eta_w")}
    arrays.broadcast_shape(beta=tuple(read["beta"].shape[:-2]), **batch)
    xp = read.xp
    read, good = confine(
        check,
        read,
        Bound("beta", finite(xp, 2), "finite"),
        Bound("delta", finite(xp), "finite"),
        *positive(xp, "eta_a", "eta_w"),
    )
    with arrays.quiet(xp):
        first, second = (xp.sqrt(read[name]) for name in ("eta_a", "eta_w"))
        scaled = (first * second)[..., None, None] * read["beta"]
        found = kronecker_sum(xp, *_roots(xp, scaled, read["delta"][..., None, None] / 2))
    return nan_unless(xp, good, found)


def _roots(xp: Any, x: Array, half: Array) -> tuple[Array, Array]:
    """sqrt(x^T x + half^2) and sqrt(x x^T + half^2) for x (..., n, m) and half (..., 1, 1).

    Their values come from the singular values of x. Their derivatives in torch are, for n <= m, those of the solutions
    X of X^2 = x x^T + half^2 and Z of (X + |half|) Z = x, and of the other root |half| + x^T Z, by two steps of the
    chord iteration whose corrections have the value zero: unlike those of singular vectors they do not mind equal
    singular values. The other root does not solve an equation of its own, which its null directions would make
    singular at half = 0.
    """
    if x.shape[-2] > x.shape[-1]:
        smaller, larger = _roots(xp, transpose(x), half)
        return larger, smaller
    level = xp.where(half >= 0, half, -half)
    u, s, v = xp.linalg.svd(arrays.detach(x), full_matrices=False)
    beside = arrays.detach(level)[..., 0] + 0 * s
    values = arrays.hypot(xp, s, beside)
    tangent = arrays.divide(xp, s, values + beside)
    one, other = (linalg.identity_like(xp, x, size) for size in x.shape[-2:])
    small = arrays.detach(level) * one + (u * (s * tangent)[..., None, :]) @ transpose(u)
    large = arrays.detach(level) * other + transpose(v) @ ((s * tangent)[..., None] * v)
    if xp is np:
        return large, small
    Z, square = u @ (tangent[..., None] * v), x @ transpose(x) + half * half * one
    sums, shifted = values[..., :, None] + values[..., None, :], (values + beside)[..., None]
    for _ in range(2):
        miss = transpose(u) @ _still(square - small @ small) @ u
        small = small + u @ arrays.divide(xp, miss, sums) @ transpose(u)
        miss = transpose(u) @ _still(x - small @ Z - level * Z)
        Z = Z + u @ arrays.divide(xp, miss, shifted)
    return large + _still(level * other + transpose(x) @ Z), small


def _still(x: Array) -> Array:
    """Zero, with the derivatives of x."""
    return x - x.detach()


@implements("wide_linear.isotropic_initialisation")
def isotropic_init(
    h: int,
    d: int,
    c: int,
    delta: float,
    generator: Any,
    *,
    scale: float = 1.0,
    eta_a: float = 1.0,
    eta_w: float = 1.0,
    batch: int | tuple[int, ...] = (),
) -> tuple[Array, Array]:
    r"""Random weights with exactly isotropic balance, eta_w A A^T - eta_a W W^T = delta I_h.

    One layer has independent normal entries of standard deviation `scale`: W where delta > 0, or delta = 0 and h <= c,
    A otherwise. The other is its balance times a random orthonormal frame. Where delta = 0 and h > max(c, d) both have
    the rank min(h, d, c), with normal entries in a random frame of hidden space.

    Args:
        h, d, c: hidden neurons, inputs and outputs.
        delta: the balance. A start exists if and only if delta > 0 and h <= c, delta < 0 and h <= d, or delta = 0.
        generator: numpy.random.Generator for arrays, torch.Generator for tensors on its device; both in float64.
        scale: standard deviation of the free layer's entries, at least 0.
        eta_a, eta_w: learning rates, positive.
        batch: leading axes of independent starts, or the length of one.

    Returns:
        A (*batch, h, c) and W (*batch, h, d).

    Raises:
        ValueError: no such weights exist (the reason is given), or an argument is out of its domain.
        TypeError: the generator is of neither kind, or delta, scale or a rate is not one real number.

    Source: kunin2024, App. B.1.6, Assumption 7.

    >>> A, W = isotropic_init(2, 5, 3, delta=0.5, generator=np.random.default_rng(0))
    >>> (A @ A.T - W @ W.T).round(12).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    given = {"delta": delta, "scale": scale, "eta_a": eta_a, "eta_w": eta_w}
    delta, scale, eta_a, eta_w = (one_number(name, value) for name, value in given.items())
    _check_start(h, d, c, delta, scale, eta_a, eta_w)
    normal, xp = _source(generator)
    upstream = delta > 0 or (delta == 0 and h <= c)
    free, bound, rank = (d, c, h) if upstream else (c, d, h)
    if delta == 0 and h > max(c, d):
        rank = min(h, d, c)
    batch = (batch,) if isinstance(batch, numbers.Integral) else tuple(batch)  # type: ignore[arg-type]  # a tuple, if no integer
    layer = scale * normal((*batch, rank, free))
    rates = (eta_a, eta_w) if upstream else (eta_w, eta_a)
    basis, values, _ = xp.linalg.svd(layer, full_matrices=True)
    values = xp.concatenate((values, 0 * layer[..., :, 0]), -1)[..., :rank]
    sizes = arrays.hypot(xp, rates[0] ** 0.5 * values, abs(delta) ** 0.5 + 0 * values) / rates[1] ** 0.5
    frame = transpose(_orthonormal(xp, normal((*batch, bound, rank))))
    other = (basis * sizes[..., None, :]) @ frame
    if rank < h:
        hidden = _orthonormal(xp, normal((*batch, h, rank)))
        layer, other = hidden @ layer, hidden @ other
    return (other, layer) if upstream else (layer, other)


def _check_start(h: int, d: int, c: int, delta: float, scale: float, eta_a: float, eta_w: float) -> None:
    for name, size in (("h", h), ("d", d), ("c", c)):
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be a positive integer, got {size!r}")
    if not np.isfinite(delta):
        raise ValueError(f"delta must be finite, got {delta!r}")
    for name, rate in (("eta_a", eta_a), ("eta_w", eta_w)):
        if not (rate > 0 and np.isfinite(rate)):
            raise ValueError(f"{name} must be positive and finite, got {rate!r}")
    if not (scale >= 0 and np.isfinite(scale)):
        raise ValueError(f"scale must be finite and not negative, got {scale!r}")
    if delta > 0 and h > c:
        raise ValueError(
            f"no isotropic start with delta > 0 and h = {h} > c = {c}: eta_w A A^T = delta I + eta_a W W^T is positive "
            "definite, so that A has h independent rows of c components"
        )
    if delta < 0 and h > d:
        raise ValueError(
            f"no isotropic start with delta < 0 and h = {h} > d = {d}: eta_a W W^T = -delta I + eta_w A A^T is "
            "positive definite, so that W has h independent rows of d components"
        )


def _source(generator: Any) -> tuple[Any, Any]:
    """A function shape -> independent standard normals in float64, and the module numpy or torch."""
    if isinstance(generator, np.random.Generator):
        return generator.standard_normal, np
    torch = arrays.loaded_torch()
    if torch is not None and isinstance(generator, torch.Generator):
        return (
            lambda shape: torch.randn(
                shape, generator=generator, dtype=torch.float64, device=generator.device
            )
        ), torch
    raise TypeError(
        f"generator must be a numpy.random.Generator or a torch.Generator, not {type(generator).__name__}"
    )


def _orthonormal(xp: Any, x: Array) -> Array:
    """An orthonormal basis (..., n, m) of the columns of normal x, n >= m, uniform among all frames."""
    q, r = xp.linalg.qr(x)
    diagonal = (r * linalg.identity_like(xp, r, r.shape[-1])).sum(-2)
    return q * xp.sign(diagonal)[..., None, :]
