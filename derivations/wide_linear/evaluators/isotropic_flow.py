r"""Exact learning of every isotropic two-layer linear network, of any shape and any balance.

Let f(x) = A^T W x have whitened inputs and eta_w A A^T - eta_a W W^T = delta I. In units a = sqrt(eta_w) A,
w = sqrt(eta_a) W, target b = sqrt(eta_a eta_w) beta*, the rates disappear, and Z = [a w], h x (c + d), obeys

    Z' = Z F - Z Z^T Z / 2,    F = [[delta/2, b^T], [b, -delta/2]]:

isotropy lets w w^T a be replaced by (Z Z^T - delta) a / 2, and a a^T w likewise. With Z = N^-1 Z0 e^(tF) the cubic
term becomes a linear one, (N N^T)' = P P^T for P = Z0 e^(tF), so that

    Z^T Z = e^(tF) Z0^T (1 + Z0 int_0^t e^(2sF) ds Z0^T)^-1 Z0 e^(tF).

This is the solution of Fukumizu (1998) and of braun2022, Theorem 3.1, without their conditions: delta need not be
zero, and neither F nor Z0 nor the overlap of start and target need be invertible. N itself is known up to a rotation
of the hidden neurons, which no output, no kernel and no similarity of representations can see.

F has the eigenvectors (v cos, u sin) and (-v sin, u cos) for every pair of singular vectors of b = sum s u v^T, with
the rates +-R, R = sqrt(s^2 + delta^2/4) and tan = sqrt((R - delta/2) / (R + delta/2)), and +-delta/2 on what is left.
At late times the overlaps of the start with the modes are of very different size. They are therefore
orthogonalised in the order of their current size, and every row is measured by its largest entry, so that neither
overflow nor a lost digit limits the time. Overlaps that are zero to rounding are zero: such a mode is never learned.

For c = h, nu = (A^T A)^-1 beta^T beta* and C = A^T A are the solution of the Riccati and Bernoulli equations in
`riccati_flow`, which also has it for starts that no network has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose
from symdyn.arrays.members import Bound, confine, finite, nan_unless, positive, within
from symdyn.catalogue.implements import implements

_NOISE = {"float32": 1e-6, "float64": 2e-15}


@implements("wide_linear.self_consistent_dynamics")
class LinearFlow(NamedTuple):
    """What the network computes and how it represents: beta = W^T A (..., T, d, c), A^T A (..., T, c, c) and
    W^T W (..., T, d, d)."""

    beta: Array
    gram_a: Array
    gram_w: Array


@implements("wide_linear.self_consistent_dynamics")
def isotropic_flow(
    t: object,
    A: object,
    W: object,
    beta_star: object,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    tolerance: float | None = None,
    check: bool = True,
) -> LinearFlow:
    r"""The exact beta = W^T A, A^T A and W^T W of a two-layer linear network that starts with isotropic balance.

    [A W] -> Z^T Z = e^(tF) Z0^T (1 + Z0 int_0^t e^(2sF) ds Z0^T)^-1 Z0 e^(tF), see this module's docstring.

    Args:
        t: times (T,), or one time (); finite, t >= 0, in units of 1/(learning rate x data scale).
        A: initial readout weights (..., h, c).
        W: initial input weights (..., h, d), with eta_w A A^T - eta_a W W^T = delta I.
        beta_star: least-squares solution X^T Y (..., d, c) on whitened data, X^T X = I; any rank.
        eta_a, eta_w: learning rates (...), positive.
        tolerance: how far the balance may be from delta I, relative to eta_w |A|^2 + eta_a |W|^2. By default 1e-10
            (1e-4 in float32). What is computed is as far from the network.
        check: False omits the checks of values; what is out of domain is then NaN. A start that is not isotropic is
            not noticed: delta is then the mean of the diagonal of its balance, and no network does what is computed.

    Returns:
        LinearFlow(beta, gram_a, gram_w), with the time axis behind the batch; it is absent when t is one number. In the
        words of lambda-balanced networks W2 W1, W2^T W2 - W1 W1^T = lambda I: W1 = W, W2 = A^T, lambda = delta.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), a start that is not isotropic, a
            negative tolerance, or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Accurate to rounding in units of |A|^2 and |W|^2, times the condition of the problem, for any t. Derivatives with
    respect to beta_star need distinct singular values, and distinct from zero where d != c or the balance is zero. An
    overlap that is zero has its derivative too, with the exponential of its growth cut at e^300, in float32 at e^30.

    Source: kunin2024, App. B.1.6; braun2022, Theorem 3.1; Fukumizu (1998).

    >>> flow = isotropic_flow([0.0, 50.0], A=[[1.0, 0.0], [0.0, 1.0]], W=[[0.0, 0.0], [0.0, 0.0]],
    ...                       beta_star=[[0.0, 2.0], [1.0, 0.0]])
    >>> (flow.beta.round(9) + 0.0).tolist()
    [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [1.0, 0.0]]]
    """
    _check_tolerance(tolerance)
    read, good = _read(check, t=t, A=A, W=W, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
    if check and not read.traced:
        _require_isotropic(read, tolerance)
    with arrays.quiet(read.xp):
        flow = LinearFlow(*(nan_unless(read.xp, good, x) for x in _solution(read)))
    return flow if len(read["t"].shape) else LinearFlow(*(x[..., 0, :, :] for x in flow))


def balance(xp: Any, A: Array, W: Array, eta_a: Array, eta_w: Array) -> Array:
    """eta_w A A^T - eta_a W W^T for rates of batch shape."""
    return eta_w[..., None, None] * (A @ transpose(A)) - eta_a[..., None, None] * (W @ transpose(W))


def _check_tolerance(tolerance: float | None) -> None:
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"tolerance must be at least 0, or None for its default; it is {tolerance!r}")


def _read(check: bool, **arguments: object) -> tuple[Collected, Array | None]:
    """The arguments, of checked shapes and confined to their domain, and when they were in it, (..., T)."""
    read = arrays.collect(**arguments)
    for name in ("A", "W", "beta_star"):
        linalg.check_matrix(name, read[name])
    (h, c), (rows, d) = read["A"].shape[-2:], read["W"].shape[-2:]
    if rows != h:
        raise ValueError(f"A and W must have one row a neuron; A has {h} and W has {rows}")
    if tuple(read["beta_star"].shape[-2:]) != (d, c):
        shape = tuple(read["beta_star"].shape[-2:])
        raise ValueError(f"beta_star must be ({d}, {c}), inputs by outputs, to fit A and W; it is {shape}")
    batch = {name: tuple(read[name].shape[:-2]) for name in ("A", "W", "beta_star")}
    arrays.broadcast_shape(**batch, **{name: tuple(read[name].shape) for name in ("eta_a", "eta_w")})
    if len(read["t"].shape) > 1:
        raise ValueError(f"t must be a number or a vector of times; its shape is {tuple(read['t'].shape)}")
    xp = read.xp
    times = Bound("t", lambda t: (t >= 0) & xp.isfinite(t), "finite and non-negative")
    read, on_time = confine(check, read, times)
    # The singular vectors of beta_star have derivatives where its singular values are distinct.
    distinct = np.diag(np.arange(1.0, max(d, c) + 1))[:d, :c]
    read, good = confine(
        check,
        read,
        *positive(xp, "eta_a", "eta_w"),
        Bound("A", finite(xp, 2), "finite"),
        Bound("W", finite(xp, 2), "finite"),
        Bound("beta_star", finite(xp, 2), "finite", distinct),
    )
    return read, within(good, on_time)


def _require_isotropic(read: Collected, tolerance: float | None) -> None:
    xp, A, W, eta_a, eta_w = read.xp, read["A"], read["W"], read["eta_a"], read["eta_w"]
    if tolerance is None:
        tolerance = 1e-4 if str(read.dtype).endswith("32") else 1e-10
    found = balance(xp, A, W, eta_a, eta_w)
    rest = found - linalg.identity_like(xp, found, found.shape[-1]) * _delta(found)[..., None, None]
    size = eta_w * (A * A).sum((-2, -1)) + eta_a * (W * W).sum((-2, -1))
    good = xp.amax(xp.abs(rest), (-2, -1)) <= tolerance * size
    arrays.require("A and W", good, "isotropic: eta_w A A^T - eta_a W W^T = delta I")


def _delta(balance_matrix: Array) -> Array:
    """The mean of the diagonal."""
    size = balance_matrix.shape[-1]
    return sum(balance_matrix[..., i, i] for i in range(size)) / size


class Modes(NamedTuple):
    """Eigenvectors of F as columns (..., c + d, n), their rates (..., n), and Z0 times them (..., h, n).

    `noise` (..., n) is what rounding makes of an overlap that is zero.
    """

    vectors: Array
    rates: Array
    overlaps: Array
    noise: Array


def _modes(xp: Any, a: Array, w: Array, b: Array, delta: Array) -> Modes:
    d, c = b.shape[-2:]
    u, s, v = xp.linalg.svd(b, full_matrices=False)
    v, half = transpose(v), delta[..., None] / 2
    R, *angle = turn(xp, s, half)
    cos, sin = (x[..., None, :] for x in angle)
    av, wu = a @ v, w @ u
    size_a, size_w = (linalg.size(xp, arrays.detach(x))[..., None, None] for x in (a, w))
    overlaps = [av * cos + wu * sin, wu * cos - av * sin]
    sizes = [size_a * cos + size_w * sin, size_w * cos + size_a * sin]
    vectors = [xp.concatenate((v * cos, u * sin), -2), xp.concatenate((-v * sin, u * cos), -2)]
    rates = [R, -R]
    if c > d:
        within = v @ transpose(v)
        overlaps.append(a - a @ within)
        sizes.append(size_a + 0 * v[..., None, :, 0])
        vectors.append(xp.concatenate((linalg.identity_like(xp, v, c) + 0 * within, 0 * transpose(v)), -2))
        rates.append(half + 0 * v[..., 0])
    if d > c:
        within = u @ transpose(u)
        overlaps.append(w - w @ within)
        sizes.append(size_w + 0 * u[..., None, :, 0])
        vectors.append(xp.concatenate((0 * transpose(u), linalg.identity_like(xp, u, d) + 0 * within), -2))
        rates.append(-half + 0 * u[..., 0])
    return Modes(
        vectors=xp.concatenate(vectors, -1),
        rates=xp.concatenate(rates, -1),
        overlaps=xp.concatenate(overlaps, -1),
        noise=_NOISE[_name(a)] * arrays.detach(xp.concatenate(sizes, -1))[..., 0, :],
    )


def turn(xp: Any, s: Array, half: Array) -> tuple[Array, Array, Array]:
    """R, and cos and sin of the angle between an eigenvector of F and the readout, (..., k), any where F = 0, for
    singular values s >= 0 of the target and half the balance, which broadcast."""
    upstream = half >= 0
    level = xp.where(upstream, half, -half)
    R = xp.where(s == 0, level + 0 * s, arrays.hypot(xp, s, half + 0 * s))
    # From the tangent, whose derivative in the balance is exactly zero at s = 0, however small R is.
    tangent = arrays.divide(xp, s, R + level)
    large = 1 / xp.sqrt(1 + tangent**2)
    small = tangent * large
    return R, xp.where(upstream, large, small), xp.where(upstream, small, large)


def _name(x: Array) -> str:
    return str(x.dtype).rpartition(".")[2]


def _triangle(xp: Any, overlaps: Array, noise: Array, growth: Array) -> tuple[Array, Array]:
    """Rows (..., T, r, n) and heights (..., T, r) of the overlaps in a basis of hidden space chosen for every time.

    Gram-Schmidt, twice for every vector, takes the mode of the largest current overlap |z| e^growth first; the height
    of a row is the logarithm of that overlap if it is above 1.
    """
    h, n = overlaps.shape[-2:]
    rest = overlaps[..., None, :, :] + 0 * growth[..., None, :]
    noise, place = noise[..., None, :], linalg.constant_like(xp, np.arange(n), overlaps)
    basis: list[Array] = []
    rows, heights = [], []
    for _ in range(min(h, n)):
        size = arrays.norm(xp, transpose(arrays.detach(rest)))
        alive = size > noise
        weight = arrays.where(xp, alive, xp.log(arrays.where(xp, alive, size, 1.0)) + growth, -np.inf)
        chosen = place == xp.argmax(weight, -1)[..., None]
        direction = (rest * chosen[..., None, :]).sum(-1)
        for earlier in basis:
            direction = direction - earlier * (earlier * direction).sum(-1)[..., None]
        direction = arrays.divide(xp, direction, arrays.norm(xp, direction)[..., None])
        row = _zero_unless(xp, alive, (direction[..., None, :] @ rest)[..., 0, :])
        rest = (rest - direction[..., :, None] * row[..., None, :]) * ~chosen[..., None, :]
        rest = _zero_unless(xp, alive[..., None, :], rest)
        basis.append(direction)
        rows.append(row)
        heights.append(xp.clip(xp.amax(weight, -1), 0.0, None))
    return xp.stack(rows, -2), xp.stack(heights, -1)


def _zero_unless(xp: Any, alive: Array, x: Array) -> Array:
    """x where it is alive, and elsewhere a zero that has the derivative of x."""
    return x - arrays.where(xp, alive, 0.0, arrays.detach(x))


def _solution(read: Collected) -> LinearFlow:
    """With the time axis also where t is one time."""
    xp, eta_a, eta_w = read.xp, read["eta_a"], read["eta_w"]
    times = read["t"] if len(read["t"].shape) else read["t"][None]
    batch = arrays.broadcast_shape(
        A=read["A"].shape[:-2],
        W=read["W"].shape[:-2],
        b=read["beta_star"].shape[:-2],
        eta_a=eta_a.shape,
        eta_w=eta_w.shape,
    )
    A, W, b = (xp.broadcast_to(read[n], (*batch, *read[n].shape[-2:])) for n in ("A", "W", "beta_star"))
    root_a, root_w = (xp.sqrt(xp.broadcast_to(x, batch))[..., None, None] for x in (eta_a, eta_w))
    delta = _delta(balance(xp, A, W, eta_a, eta_w))
    modes = _modes(xp, root_w * A, root_a * W, root_a * root_w * b, delta)
    total = _outer(xp, times, modes)
    root_a, root_w, c = root_a[..., None, :, :], root_w[..., None, :, :], A.shape[-1]
    return LinearFlow(
        beta=total[..., c:, :c] / (root_a * root_w),
        gram_a=total[..., :c, :c] / root_w**2,
        gram_w=total[..., c:, c:] / root_a**2,
    )


def _outer(xp: Any, times: Array, modes: Modes) -> Array:
    """Z^T Z (..., T, c + d, c + d)."""
    rates, t = modes.rates[..., None, :], times[:, None]
    grows = rates >= 0
    growth, fall = xp.where(grows, rates * t, 0 * t), xp.where(grows, 0 * t, rates * t)
    kappa = t * arrays.phi1(xp, 2 * (fall - growth))
    tiny = 1e-30 if _name(times).endswith("32") else 1e-300
    weight = arrays.detach(growth + xp.log(xp.clip(kappa, tiny, None)) / 2)
    rows, heights = _triangle(xp, modes.overlaps, modes.noise, weight)
    # Of an overlap that is zero, only the derivative is concerned, and must not overflow.
    largest, least = (80.0, 30.0) if _name(times).endswith("32") else (700.0, 300.0)
    limit = arrays.where(xp, rows == 0, least, largest + 0 * arrays.detach(rows))
    scaled = rows * xp.exp(xp.minimum(growth[..., None, :] - heights[..., :, None], limit))
    base = linalg.identity_like(xp, rows, rows.shape[-2]) * xp.exp(-2 * heights)[..., None, :]
    inner = transpose(scaled) @ linalg.solve(
        xp, base + (scaled * kappa[..., None, :]) @ transpose(scaled), scaled
    )
    columns = modes.vectors[..., None, :, :] * xp.exp(fall)[..., None, :]
    total = columns @ inner @ transpose(columns)
    return (total + transpose(total)) / 2
