r"""How the modes of a task decouple: the overlaps A^T A of start and task in the singular basis of the task.

With N_i = N_o, W1 = A V^T and W2 = U A^T, sigma_yx = U S V^T, zero balance holds by construction and G = A^T A obeys
G' = S G + G S - 2 G^2. It is solved by

    G(t) = e^(St) L (1 + L^T K L)^-1 L^T e^(St),    G(0) = L L^T,    K = (e^(2St) - 1) S^-1,

which is braun2022, Theorem 5.1, without the inverse of G(0). With the modes in falling order of s, L lower triangular
and X = e^(-St) L^T e^(St) = (L_ji e^((s_j - s_i) t)), nothing grows:

    G(t) = X^T (e^(-2St) + X k X^T)^-1 X,    k = (1 - e^(-2St)) S^-1,

and since elimination of a positive definite matrix does not feel its scaling, small overlaps keep their digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import read_times
from derivations.wide_linear.evaluators.isotropic_flow import isotropic_flow
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose
from symdyn.catalogue.implements import implements
from symdyn.compile import aids

_BINADES = {"float32": 25, "float64": 200}
"""Sizes within two to this power, up and down, have products of four that are normal numbers."""


@implements("prior_knowledge.connections")
def ata(t: object, gram0: object, s: object, tau: object = 1, *, check: bool = True) -> Array:
    r"""A^T A of a network whose layers share the singular vectors of the task, W1 = A V^T, W2 = U A^T.

    G(t) = [e^(-St/tau) G(0)^-1 e^(-St/tau) + (1 - e^(-2St/tau)) S^-1]^-1, continued to singular G(0).

    Args:
        t: times (T,), or one time (); finite, t >= 0.
        gram0: A(0)^T A(0) (..., n, n), symmetric and positive semi-definite. It is singular where N_h < n.
        s: singular values of the task (..., n), non-negative and finite, in any order.
        tau: time constant, one positive number.
        check: False omits the checks of values.

    Returns:
        G (..., T, n, n); the time axis is absent when t is one number. G_ij is the strength from input singular vector
        j to output singular vector i.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Accurate for any t: overlaps of very different size keep their digits while gram0 is positive definite to rounding.
    Where it is not, what is zero to rounding (in units of its largest entry) is zero, and derivatives are those along
    matrices of the same rank, NaN where eigenvalues of gram0 are equal.

    Source: braun2022, Theorem 5.1, eq. (13).

    >>> ata([0.0, 40.0], gram0=[[0.5, 0.2], [0.2, 0.1]], s=[2.0, 1.0]).round(9).tolist()
    [[[0.5, 0.2], [0.2, 0.1]], [[2.0, 0.0], [0.0, 1.0]]]
    """
    read = arrays.collect(t=t, gram0=gram0, s=s, tau=tau)
    linalg.check_square("gram0", read["gram0"])
    arrays.check_vector("s", read["s"])
    size = read["gram0"].shape[-1]
    if read["s"].shape[-1] != size:
        raise ValueError(f"s must have one entry a mode, {size} for gram0; it has {read['s'].shape[-1]}")
    arrays.broadcast_shape(gram0=tuple(read["gram0"].shape[:-2]), s=tuple(read["s"].shape[:-1]))
    times = read_times(read, check)
    if check and not read.traced:
        arrays.require("gram0", read.xp.isfinite(read["gram0"]).all(-1).all(-1), "finite")
        arrays.require(
            "s", ((read["s"] >= 0) & read.xp.isfinite(read["s"])).all(-1), "finite and non-negative"
        )
        linalg.require_semidefinite(read, "gram0")
    with arrays.quiet(read.xp):
        found = _decoupling(read, times)
    return found if len(read["t"].shape) else found[..., 0, :, :]


def _decoupling(read: Collected, times: Array) -> Array:
    xp, size = read.xp, read["gram0"].shape[-1]
    batch = arrays.broadcast_shape(gram0=read["gram0"].shape[:-2], s=read["s"].shape[:-1])
    gram0 = xp.broadcast_to((read["gram0"] + transpose(read["gram0"])) / 2, (*batch, size, size))
    s = xp.broadcast_to(read["s"], (*batch, size))
    order = xp.argsort(-arrays.detach(s), -1)
    shuffle = arrays.where(
        xp, linalg.constant_like(xp, np.arange(size), s) == order[..., :, None], 1.0, 0.0 * s[..., None]
    )
    falling = (shuffle @ s[..., None])[..., 0]
    ordered = shuffle @ gram0 @ transpose(shuffle)
    L = linalg.cholesky(xp, ordered)
    pivots, squares = (linalg.identity_like(xp, L, size) * x for x in (L, ordered))
    rounding = 4 * size * xp.finfo(L.dtype).eps
    definite = ((pivots * pivots).sum(-1) > rounding * squares.sum(-1)).all(-1)[..., None, None, None]
    back = shuffle[..., None, :, :]
    found = transpose(back) @ _definite(xp, times, arrays.where(xp, definite[..., 0], L, 0.0), falling) @ back
    if not read.traced and bool(definite.all()):
        return found
    return xp.where(definite, found, _singular(xp, times, gram0, s))


def _definite(xp: Any, times: Array, L: Array, s: Array) -> Array:
    """G (..., T, n, n) for lower triangular L and falling s."""
    s, t = s[..., None, :], times[:, None]
    lead = (s[..., None, :] - s[..., :, None]) * t[..., None]
    X = transpose(L)[..., None, :, :] * xp.exp(xp.clip(lead, None, 0.0))
    fall = xp.exp(-2 * s * t)
    inner = (X * (2 * t * arrays.phi1(xp, -2 * s * t))[..., None, :]) @ transpose(X)
    tiny = xp.finfo(X.dtype).tiny
    inner = inner + linalg.identity_like(xp, X, X.shape[-1]) * (fall + tiny)[..., None, :]
    root = linalg.cholesky(xp, inner)
    half = linalg.solve(xp, root, X)
    return transpose(half) @ half


def _singular(xp: Any, times: Array, gram0: Array, s: Array) -> Array:
    values, axes = xp.linalg.eigh(gram0)
    rounding = 8 * gram0.shape[-1] * xp.finfo(gram0.dtype).eps
    alive = values > rounding * values[..., -1:]
    A = arrays.sqrt(xp, arrays.where(xp, alive, values, 0.0))[..., :, None] * transpose(axes)
    task = linalg.identity_like(xp, gram0, gram0.shape[-1]) * s[..., None, :]
    return isotropic_flow(times, A, A, task, check=False).beta


@implements("prior_knowledge.explicit_solution")
def ata_2x2(
    t: object,
    a1: object,
    a2: object,
    b: object,
    s1: object,
    s2: object,
    tau: object = 1,
    *,
    check: bool = True,
) -> tuple[Array, Array, Array]:
    r"""The two on-diagonal strengths and the coupling of a task with two modes, A^T A = [[a1, b], [b, a2]].

    With E_i = e^(-2 s_i t/tau), d_i = (1 - E_i)/s_i, D = a1 a2 - b^2 and N = E1 E2 + a2 E1 d2 + a1 E2 d1 + D d1 d2:
    a1(t) = (a1 E2 + D d2)/N,  a2(t) = (a2 E1 + D d1)/N,  b(t) = b sqrt(E1 E2)/N. No term of N is negative. A D that is
    zero to rounding is zero, and the fractions are then divided by E1 E2.

    Args:
        t: times (T,), or one time (); finite, t >= 0.
        a1, a2, b: the entries of A(0)^T A(0) (...), with a1, a2 >= 0 and a1 a2 >= b^2.
        s1, s2: singular values of the task (...), non-negative and finite.
        tau: time constant, one positive number.
        check: False omits the checks of values.

    Returns:
        a1, a2, b (..., T); the time axis is absent when t is one number.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Where D is zero, derivatives are right for changes that keep it zero, and for positive a1 and a2.

    Source: braun2022, Sec. 5, which says that the solution is lengthy but explicit.

    >>> a1, a2, b = ata_2x2(0.0, a1=0.5, a2=0.1, b=0.2, s1=2.0, s2=1.0)
    >>> [round(float(x), 12) for x in (a1, a2, b)]
    [0.5, 0.1, 0.2]
    """
    read = arrays.collect(t=t, a1=a1, a2=a2, b=b, s1=s1, s2=s2, tau=tau)
    names = ("a1", "a2", "b", "s1", "s2")
    arrays.broadcast_shape(**{name: tuple(read[name].shape) for name in names})
    times = read_times(read, check)
    if check and not read.traced:
        _require_strengths(read)
        for name in ("s1", "s2"):
            good = (read[name] >= 0) & read.xp.isfinite(read[name])
            arrays.require(name, good, "finite and non-negative")
    with arrays.quiet(read.xp):
        found = _within_range(read, times, *(read[name][..., None] for name in names))
    return found if len(read["t"].shape) else tuple(x[..., 0] for x in found)


_LATE = {"float32": 40.0, "float64": 300.0}
"""Where e to the minus this may leave the range in a product, a coupling is computed by its logarithm."""


def _precision(x: Array) -> str:
    return str(x.dtype).rpartition(".")[2]


def _extreme(*numbers: Array) -> Array:
    """Where one of the numbers is too large or too small for plain products of a few of them."""
    exponent = _BINADES[_precision(numbers[0])]
    found: Any = False
    for x in map(arrays.detach, numbers):
        found = found | ((abs(x) > 2.0**exponent) | ((abs(x) < 2.0**-exponent) & (x != 0)))
    return found


def _within_range(read: Collected, times: Array, *start: Array) -> tuple[Array, Array, Array]:
    """By the fractions of `ata_2x2` where all their products are normal numbers, by `_far` elsewhere."""
    xp, (a1, a2, b, s1, s2) = read.xp, start
    far = _extreme(times, *start)
    fallen = abs(b) * xp.exp(-s1 * times) * xp.exp(-s2 * times)
    # Of what has decayed, the first digits to go are those of its factors.
    limits = xp.finfo(b.dtype)
    lowest = limits.tiny / limits.eps
    E1, E2 = (arrays.detach(xp.exp(-2 * s * times)) for s in (s1, s2))
    kept = [xp.where(a > 0, a, 1.0) for a in map(arrays.detach, (a1, a2))]
    decayed = far | (kept[0] * E2 < lowest) | (kept[1] * E1 < lowest) | (lowest > E1 * E2)
    faint = decayed | ((arrays.detach(fallen) < lowest) & (b != 0) & (a1 * a2 > 0))
    if not read.traced and not bool(faint.any()):
        return _two_modes(xp, times, *start)
    whole = xp.zeros_like(fallen)
    plain = _two_modes(xp, *(arrays.where(xp, far, 0.25, x + whole) for x in (times, *start)))
    rest = _far(xp, *(arrays.where(xp, faint, x + whole, 0.25) for x in (times, *start)))
    masks = (decayed, decayed, faint)
    return tuple(xp.where(m, y, x) for m, x, y in zip(masks, plain, rest, strict=True))


def _far(
    xp: Any, t: Array, a1: Array, a2: Array, b: Array, s1: Array, s2: Array
) -> tuple[Array, Array, Array]:
    """The forms of `quantities`: no product in them leaves the range before the values do."""
    share = _share(xp, a1, a2, b)
    alone = share <= 0
    alive = [a > 0 for a in (a1, a2)]
    roots = [xp.sqrt(arrays.where(xp, here, a, 1.0)) for here, a in zip(alive, (a1, a2), strict=True)]
    elapsed = [_elapsed(xp, s, t) for s in (s1, s2)]
    left = [xp.exp(-s * t) / root for s, root in zip((s1, s2), roots, strict=True)]
    apart = [arrays.hypot(xp, p, arrays.sqrt(xp, d)) for p, d in zip(left, elapsed, strict=True)]
    held = [
        arrays.hypot(xp, p, arrays.sqrt(xp, arrays.where(xp, alone, 1.0, share) * d))
        for p, d in zip(left, elapsed, strict=True)
    ]
    kept = []
    for i, j, lead in ((0, 1, (s2 - s1) * t), (1, 0, (s1 - s2) * t)):
        singular = xp.exp(arrays.where(xp, alone, lead, 0.0)) * apart[j] * (roots[j] / roots[i])
        both = arrays.where(xp, alone, singular, left[i] * (apart[j] / held[j]))
        kept.append(xp.where(alive[j], both, left[i]))
    first, second = (
        arrays.where(xp, here, 1 / (d + k * k), 0.0) for here, d, k in zip(alive, elapsed, kept, strict=True)
    )
    fraction = arrays.where(xp, alone, 1.0, left[1] / held[1])
    mixed = b / roots[0] / roots[1] / (kept[0] + elapsed[0] / kept[0]) * fraction / apart[1]
    late = (s1 * t > _LATE[_precision(b)]) | (s2 * t > _LATE[_precision(b)])
    coupled = alive[0] & alive[1] & (b != 0)
    if arrays.is_tensor(late) or late.any():
        size = arrays.where(xp, coupled & late, abs(b), 1.0)
        logs = [-s * t - xp.log(root) for s, root in zip((s1, s2), roots, strict=True)]
        stronger = arrays.detach(s1) >= arrays.detach(s2)
        grown = [arrays.hypot(xp, k, arrays.sqrt(xp, d)) for k, d in zip(kept, elapsed, strict=True)]
        shared = logs[0] + logs[1] - 2 * xp.log(held[1]) - 2 * xp.log(grown[0])
        apart_by = xp.where(stronger, logs[0] - logs[1], logs[1] - logs[0])
        of_one = apart_by - 2 * xp.log(arrays.where(xp, stronger, grown[0], grown[1]))
        exponent = (
            xp.log(size) - xp.log(roots[0]) - xp.log(roots[1]) + arrays.where(xp, alone, of_one, shared)
        )
        fallen = xp.exp(arrays.where(xp, coupled & late, exponent, 0.0))
        mixed = arrays.where(xp, late, xp.where(b < 0, -fallen, fallen), mixed)
    return first, second, arrays.where(xp, coupled, mixed, 0.0)


def _elapsed(xp: Any, s: Array, t: Array) -> Array:
    """(1 - e^(-2 s t))/s."""
    late = s * t > 1
    early = arrays.where(xp, late, 0.0, s * t)
    return xp.where(
        late,
        -xp.expm1(-2 * s * t) / arrays.where(xp, late, s + 0 * early, 1.0),
        t * arrays.phi1(xp, -2 * early) * 2,
    )


def _share(xp: Any, a1: Array, a2: Array, b: Array) -> Array:
    """1 - b^2/(a1 a2), zero where it is zero to rounding."""
    share = aids.share(xp, a1, a2, b)
    return arrays.where(xp, share > 4 * xp.finfo(share.dtype).eps, share, 0.0)


def _two_modes(
    xp: Any, t: Array, a1: Array, a2: Array, b: Array, s1: Array, s2: Array
) -> tuple[Array, Array, Array]:
    determinant = _determinant(xp, a1, a2, b)
    d1, d2 = (2 * t * arrays.phi1(xp, -2 * s * t) for s in (s1, s2))
    whole = determinant > 0
    E1, E2 = xp.exp(-2 * s1 * t), xp.exp(-2 * s2 * t)
    N = E1 * E2 + a2 * E1 * d2 + a1 * E2 * d1 + determinant * d1 * d2
    N = arrays.where(xp, whole, N, 1.0)
    g1, g2 = (arrays.where(xp, a > 0, s * t, 0.0) for a, s in ((a1, s1), (a2, s2)))
    shift = xp.where(g1 > g2, g1, g2)
    p1, p2 = xp.exp(g1 - shift), xp.exp(g2 - shift)
    M = xp.exp(-2 * shift) + a1 * p1 * p1 * d1 + a2 * p2 * p2 * d2
    return (
        xp.where(whole, (a1 * E2 + determinant * d2) / N, a1 * p1 * p1 / M),
        xp.where(whole, (a2 * E1 + determinant * d1) / N, a2 * p2 * p2 / M),
        xp.where(whole, b * xp.exp(-s1 * t) * xp.exp(-s2 * t) / N, b * p1 * p2 / M),
    )


def _determinant(xp: Any, a1: Array, a2: Array, b: Array) -> Array:
    """a1 a2 - b^2, zero where it is zero to rounding."""
    product = a1 * a2
    found = product - b * b
    return arrays.where(xp, found > 4 * xp.finfo(product.dtype).eps * product, found, 0.0)


@implements("prior_knowledge.time_of_peak")
def offdiagonal_peak(a1: Any, a2: Any, b: Any, s: Any, tau: Any = 1, *, check: bool = True) -> Array:
    r"""When the coupling b of two equally strong modes is largest: tau/(4s) ln(1 + s (s - a1 - a2)/(a1 a2 - b^2)).

    That is tau/(4s) ln(det(s - G)/det G) for G = A(0)^T A(0). There is a peak at a positive time if and only if
    a1 + a2 < s, b != 0 and a1 a2 > b^2: with larger starts |b| falls from the beginning, and with a singular G it
    rises for ever. braun2022 prints the logarithm without the 1.

    Args:
        a1, a2, b: the entries of A(0)^T A(0) (...), with a1, a2 >= 0 and a1 a2 >= b^2.
        s: the singular value of both modes (...), positive.
        tau: time constant (...), positive.
        check: False omits the checks of values.

    Returns:
        The time of the peak of |b| (...), +inf where there is none.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Source: braun2022, Sec. 5, corrected.

    >>> offdiagonal_peak(a1=0.5, a2=0.25, b=0.25, s=1.0).round(6).tolist()
    0.402359
    >>> offdiagonal_peak(a1=0.5, a2=0.5, b=0.25, s=1.0).tolist()
    inf
    """
    read = arrays.collect(a1=a1, a2=a2, b=b, s=s, tau=tau)
    arrays.broadcast_shape(**{name: tuple(read[name].shape) for name in ("a1", "a2", "b", "s", "tau")})
    if check and not read.traced:
        _require_strengths(read)
        arrays.require_positive(read, "s", "tau")
    xp, s, b = read.xp, read["s"], read["b"]
    with arrays.quiet(xp):
        a1, a2, tau = read["a1"], read["a2"], read["tau"]
        far = _extreme(a1, a2, b, s, tau)
        share = _share(xp, a1, a2, b)
        determinant = xp.where(far, share, _determinant(xp, a1, a2, b))
        room = s - a1 - a2
        peaks = (room > 0) & (b != 0) & (determinant > 0)
        room, determinant = arrays.where(xp, peaks, room, 1.0), arrays.where(xp, peaks, determinant, 1.0)
        ratio = s * room / determinant
        large = ratio > 1e10
        logarithm = xp.where(
            large,
            xp.log(s) + xp.log(room) - xp.log(determinant),
            xp.log1p(arrays.where(xp, large, 0.0, ratio)),
        )
        found = tau * logarithm / (4 * s)
        if read.traced or bool(far.any()):
            a1, a2, share = (arrays.where(xp, peaks & far, x, 1.0) for x in (a1, a2, share))
            ratio = (s / a1) * (room / a2) / share
            large = ratio > 1e10
            logarithm = xp.where(
                large,
                xp.log(s) - xp.log(a1) + (xp.log(room) - xp.log(a2)) - xp.log(share),
                xp.log1p(arrays.where(xp, large, 0.0, ratio)),
            )
            first = (tau < 1) | (logarithm >= 4)
            quarter = logarithm / 4
            found = xp.where(far, xp.where(first, (tau / s) * quarter, tau * quarter / s), found)
        return arrays.where(xp, peaks, found, np.inf)


def _require_strengths(read: Collected) -> None:
    xp = read.xp
    for name in ("a1", "a2"):
        arrays.require(name, (read[name] >= 0) & xp.isfinite(read[name]), "finite and non-negative")
    arrays.require("b", xp.isfinite(read["b"]), "finite")
    rounding = 8 * xp.finfo(read.dtype).eps
    with arrays.quiet(xp):
        product = read["a1"] * read["a2"]
        good = read["b"] ** 2 <= product * (1 + rounding)
        far = _extreme(read["a1"], read["a2"], read["b"])
        good = xp.where(far, aids.share(xp, read["a1"], read["a2"], read["b"]) >= -rounding, good)
    arrays.require("b", good, "at most sqrt(a1 a2) in size, as in a positive semi-definite matrix")
