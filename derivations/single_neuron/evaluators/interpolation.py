r"""Which interpolator the single-neuron network learns, for any data and also when a changes sign.

Gradient flow moves w only within row(X), so the part n0 of w0 in the null space stays. Let u be the part in
row(X), beta+ = X^+ y. Both delta and |n0| are fixed, hence so is

    delta' = delta + eta_a |n0|^2 = eta_w a^2 - eta_a |u|^2,

and at the end a u = beta+. This determines a(inf) up to its sign,

    eta_w a(inf)^2 = (delta' + sqrt(delta'^2 + 4 eta_a eta_w |beta+|^2)) / 2,   beta(inf) = beta+ + a(inf) n0.

The sign is certified. The loss decreases strictly and equals |y|^2/2 wherever a = 0, so a vanishes at most
once for any data, and never again once the loss is below |y|^2/2. It never vanishes if delta' > 0. If X X^T
is a multiple of the identity, the row space sees whitened data and the separatrix is known in closed form.
Otherwise the flow is integrated until the loss is below |y|^2/2, from both sides of the start, which must
agree.

Source: kunin2024, App. A.4.2 to A.4.4, and for the sign changes App. A.4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays import compensated
from symdyn.arrays.backends import Array, Collected
from symdyn.catalogue.implements import implements
from symdyn.compile import integrate

_NEAR = 1e-8
_LOCKED = 1e-6


@dataclass(frozen=True)
class Rows:
    """The problem seen from the row space.

    X = R^T Q^T with Q (..., d, n) orthonormal and R (..., n, n) triangular; u = Q^T w0 (..., n), hidden = w0
    - Q u (..., d), solution = Q^T beta+ (..., n), pull = R y = Q^T X^T y (..., n).
    """

    basis: Array
    triangle: Array
    u: Array
    hidden: Array
    solution: Array
    pull: Array


@implements("single_neuron.implicit_bias_of_the_neuron", "single_neuron.bias_through_a_crossing")
def implicit_bias(
    X: object,
    y: object,
    a0: object,
    w0: object,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    check: bool = True,
) -> Array:
    r"""The predictor beta(inf) = a(inf) w(inf) that gradient flow on |X a w - y|^2 / 2 converges to.

    beta(inf) = X^+ y + a(inf) (w0 - X^+ X w0), with a(inf) as in this module's docstring.

    Args:
        X: inputs (..., n, d) of rank n (so n <= d); with n = d the result is the solution of X beta = y.
        y: targets (..., n).
        a0: initial readout weight (...).
        w0: initial input weights (..., d).
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain, or undecidable, is then NaN.

    Returns:
        beta(inf) (..., d). Inside transforms and compilers a final sign that only integration can tell is
        NaN.

    Raises:
        ValueError: X of rank below n, a value out of its domain, shapes that do not fit, or a start on the
            manifold of the saddle, or so near to it (1e-8 relative) that the final sign of a cannot be
            decided.
        TypeError: complex or non-numeric data.

    >>> beta = implicit_bias(X=[[1.0, 0.0]], y=[2.0], a0=1.0, w0=[0.0, 1.0])
    >>> [round(float(b), 6) for b in beta]
    [2.0, 1.600485]
    """
    read = arrays.collect(X=X, y=y, a0=a0, w0=w0, eta_a=eta_a, eta_w=eta_w)
    _check_shapes(read)
    if check and not read.traced:
        _check_values(read)
    with arrays.quiet(read.xp):
        rows = _rows(read)
        size = _final_size(read, rows)
        sign = _quick_sign(read, rows)
        if not read.traced:
            sign = _certified(read, rows, sign, check)
        bias = (rows.basis @ rows.solution[..., None])[..., 0] + (sign * size)[..., None] * rows.hidden
    return bias


def _check_shapes(read: Collected) -> None:
    shape = tuple(read["X"].shape)
    if len(shape) < 2 or 0 in shape[-2:]:
        raise ValueError(f"X must be a matrix (n, d), rows being samples; its shape is {shape}")
    arrays.check_vector("y", read["y"])
    arrays.check_vector("w0", read["w0"])
    n, d = shape[-2:]
    if read["y"].shape[-1] != n:
        raise ValueError(f"y must have one target per row of X, {n}; it has {read['y'].shape[-1]}")
    if read["w0"].shape[-1] != d:
        raise ValueError(f"w0 must have one component per column of X, {d}; it has {read['w0'].shape[-1]}")
    if n > d:
        raise ValueError(f"X must have rank n; with n = {n} rows and d = {d} columns it cannot")
    batch = {name: tuple(read[name].shape) for name in ("a0", "eta_a", "eta_w")}
    batch |= {name: tuple(read[name].shape[:-1]) for name in ("y", "w0")}
    arrays.broadcast_shape(X=shape[:-2], **batch)


def _check_values(read: Collected) -> None:
    xp = read.xp
    arrays.require("X", xp.isfinite(read["X"]).all(-1).all(-1), "finite")
    arrays.require_finite(read, "a0", vectors=("y", "w0"))
    arrays.require_positive(read, "eta_a", "eta_w")
    n, d = read["X"].shape[-2:]
    singular = xp.linalg.svdvals(arrays.detach(read["X"]))
    least, largest = singular[..., -1], singular[..., 0]
    arrays.require("X", least > d * xp.finfo(read.dtype).eps * largest, f"of rank n = {n}")


def _rows(read: Collected) -> Rows:
    xp = read.xp
    basis, triangle = xp.linalg.qr(xp.swapaxes(read["X"], -1, -2))
    flipped = xp.swapaxes(triangle, -1, -2)
    u = _apply(xp.swapaxes(basis, -1, -2), read["w0"])
    hidden = read["w0"] - _apply(basis, u)
    hidden = hidden - _apply(basis, _apply(xp.swapaxes(basis, -1, -2), hidden))
    if basis.shape[-1] == basis.shape[-2]:
        hidden = hidden * 0
    solution = _solve(xp, flipped, read["y"])
    return Rows(basis, triangle, u, hidden, solution, _apply(triangle, read["y"]))


def _solve(xp: Any, lower: Array, y: Array) -> Array:
    """lower^-1 y, NaN where a diagonal entry vanishes."""
    singular = (xp.diagonal(lower, 0, -2, -1) == 0).any(-1)[..., None]
    unit = _identity(xp, lower)
    regular = xp.where(singular[..., None], unit, lower)
    return arrays.where(xp, singular, float("nan"), xp.linalg.solve(regular, y[..., None])[..., 0])


def _identity(xp: Any, matrix: Array) -> Array:
    """The identity as large as the matrix, on its device."""
    placed = {} if xp is np else {"device": matrix.device}
    return xp.eye(matrix.shape[-1], dtype=matrix.dtype, **placed)


def _apply(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]


def _row_balance(read: Collected, u: Array) -> Array:
    """delta' = eta_w a0^2 - eta_a |u|^2."""
    return _balance(read["a0"], compensated.dot(u, u), read["eta_a"], read["eta_w"])


def _balance(a0: Array, square: compensated.Double, eta_a: Array, eta_w: Array) -> Array:
    outer = compensated.multiply(compensated.two_product(a0, a0), compensated.double(eta_w))
    return compensated.subtract(outer, compensated.multiply(square, compensated.double(eta_a))).hi


def _readout_size(xp: Any, balance: Array, length: Array, eta_a: Array, eta_w: Array) -> Array:
    """|a| with eta_w a^2 = (balance + sqrt(balance^2 + 4 eta_a eta_w length^2)) / 2, without cancellation."""
    eta_a, eta_w = (arrays.where(xp, eta > 0, eta, float("nan")) for eta in (eta_a, eta_w))
    reach = arrays.sqrt(xp, eta_a * eta_w) * length
    kappa = arrays.hypot(xp, balance, 2 * reach)
    positive = balance >= 0
    larger = (kappa + xp.where(positive, balance, -balance)) / 2
    square = xp.where(positive, larger, reach * arrays.divide(xp, reach, larger))
    return arrays.sqrt(xp, square / eta_w)


def _final_size(read: Collected, rows: Rows) -> Array:
    length = arrays.norm(read.xp, rows.solution)
    return _readout_size(read.xp, _row_balance(read, rows.u), length, read["eta_a"], read["eta_w"])


def _quick_sign(read: Collected, rows: Rows) -> Array:
    """The final sign of a where it follows at once, NaN elsewhere."""
    xp = read.xp
    a0, y, eta_a, eta_w = (arrays.detach(read[name]) for name in ("a0", "y", "eta_a", "eta_w"))
    u, pull, triangle = arrays.detach(rows.u), arrays.detach(rows.pull), arrays.detach(rows.triangle)
    solution = arrays.detach(rows.solution)
    rounding = 64 * u.shape[-1] * xp.finfo(read.dtype).eps
    balance = _balance(a0, compensated.dot(u, u), eta_a, eta_w)
    output = _apply(xp.swapaxes(triangle, -1, -2), u)
    aligned = xp.sum(u * pull, -1)
    gain = a0 * aligned - (a0**2) * xp.sum(output**2, -1) / 2
    allowance = rounding * xp.abs(a0) * arrays.norm(xp, output) * arrays.norm(xp, y)
    stays = (gain > allowance) | (balance > rounding * (eta_w * a0**2 + eta_a * xp.sum(u**2, -1)))
    stays = (stays & (a0 != 0)) | (y == 0).all(-1)
    sign = arrays.where(xp, stays, xp.sign(a0) + 0 * gain, float("nan"))
    leaves = (a0 == 0) & (xp.abs(aligned) > rounding * arrays.norm(xp, u) * arrays.norm(xp, pull))
    sign = xp.where(leaves, xp.sign(aligned), sign)
    white, side = _isotropic_sign(xp, a0, u, solution, triangle, balance, eta_a, eta_w, rounding)
    return xp.where((sign != sign) & white, side, sign)


def _isotropic_sign(
    xp: Any,
    a0: Array,
    u: Array,
    solution: Array,
    triangle: Array,
    balance: Array,
    eta_a: Array,
    eta_w: Array,
    rounding: float,
) -> tuple[Array, Array]:
    """Whether X X^T is a multiple of the identity; the sign of lambda+ a0 + eta_a u.beta+ (NaN if near)."""
    gram = xp.swapaxes(triangle, -1, -2) @ triangle
    n = gram.shape[-1]
    mean = xp.sum(triangle**2, (-2, -1)) / n
    unit = _identity(xp, triangle)
    white = xp.amax(xp.abs(gram - mean[..., None, None] * unit), (-2, -1)) <= rounding * mean
    growth = eta_w * _readout_size(xp, balance, arrays.norm(xp, solution), eta_a, eta_w) ** 2
    ahead, along = growth * a0, eta_a * xp.sum(u * solution, -1)
    clear = xp.abs(ahead + along) > 8 * rounding * (xp.abs(ahead) + xp.abs(along))
    return white, arrays.where(xp, clear, xp.sign(ahead + along), float("nan"))


def _certified(read: Collected, rows: Rows, sign: Array, check: bool) -> Array:
    """The final sign of a, by integration where it is still NaN; undecidable starts raise (or stay NaN)."""
    decided = _numpy(sign).copy()
    parts = (read["a0"], rows.u, rows.triangle, rows.pull, read["eta_a"], read["eta_w"])
    core = (0, 1, 2, 1, 0, 0)
    open_starts = [index for index in np.ndindex(decided.shape) if np.isnan(decided[index])]
    for index in open_starts:
        chosen = [_at(_numpy(x), decided.shape, k, index) for x, k in zip(parts, core, strict=True)]
        decided[index] = _integrated_sign(*chosen)
    if check:
        arrays.require(
            "a0 and w0", ~np.isnan(decided), "off the manifold of the saddle, by 1e-8 (relative) at least"
        )
    if read.xp is np:
        return decided.astype(read.dtype)
    return sign.new_tensor(decided.tolist())


def _numpy(x: Array) -> Any:
    return np.asarray(x.detach().cpu().numpy() if arrays.is_tensor(x) else x, dtype=np.float64)


def _at(x: Any, batch: tuple[int, ...], core: int, index: tuple[int, ...]) -> Any:
    return np.broadcast_to(x, batch + x.shape[x.ndim - core :])[index]


def _integrated_sign(a0: Any, u: Any, triangle: Any, pull: Any, eta_a: Any, eta_w: Any) -> float:
    """The final sign of a by integration from slightly larger and slightly smaller a0; NaN if they disagree.

    In A = sqrt(eta_w) a, U = sqrt(eta_a) u the flow is A' = U.q - A U.H U, U' = A (q - A H U) with H = R R^T
    and q = sqrt(eta_a eta_w) R y; units of time and size make |H| and |(A, U)|^2 + |q| one. The loss is below
    |y|^2/2 when A U.q - A^2 U.H U / 2 > 0.
    """
    regular = np.isfinite(triangle).all() and np.isfinite(pull).all() and np.diagonal(triangle).all()
    if not (regular and eta_a > 0 and eta_w > 0):
        return float("nan")
    gram = triangle @ triangle.T
    largest = np.linalg.norm(gram, 2)
    gram, q = gram / largest, np.sqrt(eta_a * eta_w) * pull / largest
    start = np.concatenate([[np.sqrt(eta_w) * a0], np.sqrt(eta_a) * u])
    unit = start @ start + np.linalg.norm(q)
    start, q = start / np.sqrt(unit), q / unit
    most = q @ np.linalg.solve(gram, q) / 2

    def velocity(state: Any) -> Any:
        a, v = state[0], state[1:]
        slope = q - a * (gram @ v)
        return np.concatenate([[v @ slope], a * slope])

    def locked(state: Any) -> float:
        a, v = state[0], state[1:]
        return float((a * (v @ q) - a**2 * (v @ gram @ v) / 2) / most - _LOCKED)

    width = np.linalg.norm(start[1:])
    if not np.isfinite(start).all() or width == 0:
        return float("nan")
    natural = max(abs(start[0]), min(width, np.linalg.norm(q) / width))
    nudge = np.zeros_like(start)
    nudge[0] = _NEAR * natural
    tolerance = 1e-13 * np.concatenate([[natural], np.full(len(start) - 1, width)])
    try:
        ends = [
            np.sign(integrate.state_when(locked, velocity, start + side * nudge, atol=tolerance)[0])
            for side in (-1.0, 1.0)
        ]
    except integrate.NotReached:
        return float("nan")
    return float(ends[0]) if ends[0] == ends[1] else float("nan")


@implements("single_neuron.position_on_the_line", "single_neuron.reversed_position")
def nullspace_alpha(
    beta_star: object, v: object, a0: object, w0: object, *, sign: object = None, check: bool = True
) -> Array:
    r"""The coordinate of beta(inf) along a one-dimensional null space: beta(inf) = beta_star + alpha v.

    alpha = s (w0.v) sqrt(h + sqrt(h^2 + |beta*|^2)),  h = (delta + (w0.v)^2) / 2,  delta = a0^2 - |w0|^2,

    for unit learning rates, s being the final sign of a. beta_star and v do not determine s, the data do. As
    in Theorem 1 it is taken to be the sign of a0 unless given: a keeps its sign if delta + (w0.v)^2 > 0, or
    if the loss starts below |y|^2/2. `implicit_bias` takes the data and certifies the sign.

    Args:
        beta_star: the minimum-norm interpolator (..., d).
        v: unit vector of the null space (..., d), orthogonal to beta_star.
        a0: initial readout weight (...).
        w0: initial input weights (..., d).
        sign: final sign of a, +1 or -1 (...); None for the sign of a0, which must then not be zero.
        check: False omits the checks of values; without a final sign, +1 or -1, the result is then NaN.

    Returns:
        alpha (...).

    Raises:
        ValueError: v not a unit vector orthogonal to beta_star, a0 = 0 without a sign, non-finite values or
            shapes that do not fit.

    Source: kunin2024, App. A.4.4.

    >>> round(float(nullspace_alpha(beta_star=[2.0, 0.0], v=[0.0, 1.0], a0=1.0, w0=[0.0, 1.0])), 6)
    1.600485
    """
    given = {} if sign is None else {"sign": sign}
    read = arrays.collect(beta_star=beta_star, v=v, a0=a0, w0=w0, **given)
    _check_nullspace(read, check)
    xp, a0_, w0_, v_ = read.xp, read["a0"], read["w0"], read["v"]
    with arrays.quiet(xp):
        along = compensated.dot(w0_, v_)
        in_rows = compensated.subtract(compensated.dot(w0_, w0_), compensated.multiply(along, along))
        one = xp.ones_like(a0_)
        length = arrays.norm(xp, read["beta_star"])
        size = _readout_size(xp, _balance(a0_, in_rows, one, one), length, one, one)
        side = read["sign"] if given else xp.sign(a0_)
        side = arrays.where(xp, xp.abs(side) == 1, side, float("nan"))
        return side * along.hi * size


def _check_nullspace(read: Collected, check: bool) -> None:
    vectors = ("beta_star", "v", "w0")
    scalars = tuple(name for name in ("a0", "sign") if name in read.arrays)
    for name in vectors:
        arrays.check_vector(name, read[name])
    sizes = {name: read[name].shape[-1] for name in vectors}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"beta_star, v and w0 must have the same number of components; they have {sizes}")
    batch = {name: tuple(read[name].shape) for name in scalars}
    arrays.broadcast_shape(**batch, **{name: tuple(read[name].shape[:-1]) for name in vectors})
    if not check or read.traced:
        return
    xp = read.xp
    arrays.require_finite(read, *scalars, vectors=vectors)
    tolerance = 4 * xp.finfo(read.dtype).eps ** 0.5
    v, beta_star = read["v"], read["beta_star"]
    arrays.require("v", xp.abs(arrays.norm(xp, v) - 1) <= tolerance, "a unit vector")
    off = xp.abs(xp.sum(v * beta_star, -1)) <= tolerance * arrays.norm(xp, beta_star)
    arrays.require("v", off, "orthogonal to beta_star")
    if "sign" in read.arrays:
        arrays.require("sign", xp.abs(read["sign"]) == 1, "+1 or -1")
    else:
        arrays.require("a0", read["a0"] != 0, "non-zero unless the final sign of a is given")
