r"""One exact solution of the single-neuron network for every balance and every start.

Gradient flow on whitened data, a' = eta_a (w.beta* - a |w|^2), w' = eta_w (a beta* - a^2 w), keeps
delta = eta_w a^2 - eta_a |w|^2. With E(t) = exp(eta_w int_0^t a^2) the cubic terms disappear: P = a E and
Q = E w.beta* obey the linear system P' = delta P + eta_a Q, Q' = eta_w |beta*|^2 P, and (E^2)' = 2 eta_w P^2.
Its rates are lambda+- = delta/2 +- R, R = sqrt(delta^2 + 4 eta_a eta_w |beta*|^2) / 2, so that

    P = alpha e^(lambda+ t) + (a0 - alpha) e^(lambda- t),    alpha = (lambda+ a0 + eta_a w0.beta*) / (2R),

a = P/E, w.beta* = Q/E, and the part of w across beta* is that of w0 divided by E. Nothing is singular where a
passes through zero, and no sign of delta is special: the paper's balanced, upstream and downstream solutions
(kunin2024, App. A.2.2 to A.2.6) are this one. The start lies on the separatrix when alpha = 0; the sign of
alpha is the final sign of a.

The numerics keep every digit that the input carries: delta, alpha and the smaller of |lambda+-| are computed
in double-double arithmetic, exponentials are scaled by the one that wins, and sums are arranged so that terms
cancel only where the trajectory itself passes through zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symdyn.arrays import backends as arrays
from symdyn.arrays import compensated
from symdyn.arrays.backends import Array, Collected
from symdyn.catalogue.implements import implements

_LARGEST_EXPONENT = {"float32": 60.0, "float64": 600.0}
_NOISE = {"float32": 1e-12, "float64": 1e-30}
_SADDLE_EXPONENT = {"float32": 30.0, "float64": 300.0}


def _name(x: Array) -> str:
    return str(x.dtype).rpartition(".")[2]


@dataclass(frozen=True)
class Modes:
    """The linear modes of one start, each of batch shape (...): growth = lambda+, decay = -lambda-.

    `positive` says delta >= 0, `imbalance` is |delta|, `gap` is growth + decay = 2R, `length` is |beta*|,
    `omega0` is w0.beta*, and `across`, (..., d), the part of w0 across beta*.
    """

    positive: Array
    imbalance: Array
    gap: Array
    growth: Array
    decay: Array
    alpha: Array
    omega0: Array
    length: Array
    across: Array


def read_start(check: bool, **arguments: object) -> Collected:
    """Read a0, w0, beta_star, eta_a, eta_w (and t): shapes are always checked, values if they are to be."""
    read = arrays.collect(**arguments)
    arrays.check_vector("w0", read["w0"])
    arrays.check_vector("beta_star", read["beta_star"])
    if read["w0"].shape[-1] != read["beta_star"].shape[-1]:
        sizes = f"{read['w0'].shape[-1]} and {read['beta_star'].shape[-1]}"
        raise ValueError(f"w0 and beta_star must have the same number of components; they have {sizes}")
    batch = {n: tuple(read[n].shape) for n in ("a0", "eta_a", "eta_w")}
    batch |= {n: tuple(read[n].shape[:-1]) for n in ("w0", "beta_star")}
    arrays.broadcast_shape(**batch)
    if "t" in arguments and len(read["t"].shape) > 1:
        raise ValueError(f"t must be a number or a vector of times; its shape is {tuple(read['t'].shape)}")
    if check and not read.traced:
        arrays.require_finite(read, "a0", vectors=("w0", "beta_star"))
        arrays.require_positive(read, "eta_a", "eta_w")
        arrays.require_nonzero(read, "beta_star")
        if "t" in arguments:
            arrays.require("t", (read["t"] >= 0) & read.xp.isfinite(read["t"]), "finite and non-negative")
        _require_representable(read)
    return read


def _require_representable(read: Collected) -> None:
    """delta^2 and eta_a eta_w |beta*|^2 must be numbers of the dtype, as they are between 1e-18 and 1e18."""
    with arrays.quiet(read.xp):
        modes = modes_of(read)
        sizes = (("beta_star", modes.length), ("a0 and w0", modes.gap))
        for name, size in sizes:
            good = read.xp.isfinite(size) & (size > 0)
            arrays.require(
                name, good, f"of a size whose powers neither overflow nor underflow in {read.dtype}"
            )


def modes_of(read: Collected) -> Modes:
    """The modes of arguments read with `read_start`."""
    xp = read.xp
    a0, w0 = read["a0"], read["w0"]
    nonzero = (read["beta_star"] != 0).any(-1)[..., None]
    beta_star = arrays.where(xp, nonzero, read["beta_star"], float("nan"))
    eta_a, eta_w = (arrays.where(xp, read[n] > 0, read[n], float("nan")) for n in ("eta_a", "eta_w"))
    rate_a, rate_w = compensated.double(eta_a), compensated.double(eta_w)
    square = compensated.dot(beta_star, beta_star)
    omega = compensated.dot(w0, beta_star)
    delta = compensated.subtract(
        compensated.multiply(compensated.two_product(a0, a0), rate_w),
        compensated.multiply(compensated.dot(w0, w0), rate_a),
    )
    product = compensated.multiply(compensated.two_product(eta_a, eta_w), square)
    gap = compensated.sqrt(
        xp, compensated.add(compensated.multiply(delta, delta), compensated.scale(product, 4))
    )
    positive = delta.hi >= 0
    sign = arrays.where(xp, positive, 1.0, -xp.ones_like(delta.hi))
    imbalance = compensated.scale(delta, sign)
    larger = compensated.scale(compensated.add(gap, imbalance), 0.5)
    smaller = compensated.divide(product, larger)
    growth = compensated.Double(
        xp.where(positive, larger.hi, smaller.hi), xp.where(positive, larger.lo, smaller.lo)
    )
    ahead, along = compensated.multiply(growth, compensated.double(a0)), compensated.multiply(omega, rate_a)
    alpha = compensated.divide(compensated.add(ahead, along), gap).hi
    noise = _NOISE[_name(alpha)] * (xp.abs(ahead.hi) + xp.abs(along.hi)) / gap.hi
    on_separatrix = arrays.detach(xp.abs(alpha) <= noise)
    return Modes(
        positive=positive,
        imbalance=imbalance.hi,
        gap=gap.hi,
        growth=growth.hi,
        decay=xp.where(positive, smaller.hi, larger.hi),
        alpha=xp.where(on_separatrix, alpha - arrays.detach(alpha), alpha),
        omega0=omega.hi,
        length=compensated.sqrt(xp, square).hi,
        across=_across(xp, w0, beta_star),
    )


def _across(xp: Any, w0: Array, beta_star: Array) -> Array:
    """w0 - (w0.beta*/|beta*|^2) beta*; on a line nothing is across."""
    if w0.shape[-1] == 1:
        return (w0 + beta_star) * 0
    largest = xp.amax(xp.abs(arrays.detach(beta_star)), -1)[..., None]
    direction = beta_star / xp.exp2(xp.floor(xp.log2(largest)))
    slope = compensated.divide(compensated.dot(w0, direction), compensated.dot(direction, direction))
    column = compensated.Double(slope.hi[..., None], slope.lo[..., None])
    along = compensated.multiply(column, compensated.double(direction))
    return compensated.subtract(compensated.double(w0), along).hi


@dataclass(frozen=True)
class Scaled:
    """The solution at every time, (..., T), with e^rho taken out: rho = 0 until the growing mode has won.

    mode = alpha e^(lambda+ t - rho) (1 - e^(-2Rt)), start = e^(lambda- t - rho), rest = e^(-rho), and
    norm = E e^(-rho). `remaining` is 1 - e^(lambda- t).
    """

    mode: Array
    start: Array
    rest: Array
    remaining: Array
    norm: Array


def _scaled(xp: Any, t: Array, a0: Array, eta_w: Array, modes: Modes) -> Scaled:
    t = arrays.where(xp, t >= 0, t, float("nan"))
    growing, decaying = modes.growth * t, modes.decay * t
    shift = arrays.detach(_exponent(xp, growing, eta_w, modes))
    rho = arrays.where(xp, modes.alpha == 0, 0.0, growing - shift)
    amplitude = modes.alpha * xp.exp(shift)
    rest = xp.exp(-rho)
    start = xp.exp(-decaying - rho)
    other = a0 - modes.alpha
    slower = xp.where(modes.positive, decaying, growing)
    mixed = xp.exp(-slower - rho) * arrays.phi1(xp, -modes.imbalance * t)
    integral = (
        amplitude**2 * arrays.phi1(xp, -2 * growing)
        + 2 * amplitude * other * mixed
        + (other * rest) ** 2 * arrays.phi1(xp, -2 * decaying)
    )
    return Scaled(
        mode=-amplitude * xp.expm1(-modes.gap * t),
        start=start,
        rest=rest,
        remaining=-xp.expm1(-decaying),
        norm=xp.sqrt(rest**2 + 2 * eta_w * t * integral),
    )


def _exponent(xp: Any, growing: Array, eta_w: Array, modes: Modes) -> Array:
    """How much of e^(lambda+ t) to keep beside alpha: all of it, or what makes the growing mode of order one.

    The result does not depend on the choice; overflow and underflow do. At alpha = 0 only the derivative
    by alpha is concerned, e^(lambda+ t), which is cut where it would overflow.
    """
    dtype = _name(growing)
    size = arrays.where(xp, modes.alpha == 0, 1.0, xp.abs(modes.alpha))
    growth = arrays.where(xp, modes.growth == 0, 1.0, modes.growth)
    enough = xp.clip(0.5 * (xp.log(growth) - xp.log(eta_w)) - xp.log(size), 0.0, _LARGEST_EXPONENT[dtype])
    enough = arrays.where(xp, modes.alpha == 0, _SADDLE_EXPONENT[dtype], enough)
    return xp.minimum(growing, enough)


def _over_time(modes: Modes) -> Modes:
    """The modes with a time axis appended to the batch."""
    scalars = {name: value[..., None] for name, value in vars(modes).items() if name != "across"}
    return Modes(across=modes.across[..., None, :], **scalars)


@implements("single_neuron.solution_for_every_balance")
def trajectory(
    t: object,
    a0: object,
    w0: object,
    beta_star: object,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    check: bool = True,
) -> tuple[Array, Array]:
    r"""The exact parameters (a(t), w(t)) of gradient flow on whitened data, for any balance and any start.

    a = P/E,  w = w_across/E + (Q/E) beta*/|beta*|^2,  with P, Q, E as in this module's docstring.

    Args:
        t: times (T,), or one time (); finite, t >= 0, in units of 1/(learning rate x data scale).
        a0: initial readout weight (...).
        w0: initial input weights (..., d).
        beta_star: least-squares solution X^T y (..., d), non-zero.
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain is then NaN.

    Returns:
        a (..., T) and w (..., T, d); the time axis is absent when t is one number. At t = 0 the start itself.
        A start on the separatrix runs into the saddle {a = 0, w.beta* = 0}.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named) or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Source: kunin2024, App. A.2.2 to A.2.6, in one formula.

    >>> a, w = trajectory([0.0, 50.0], a0=0.0, w0=[1.0, 0.0], beta_star=[2.0, 0.0])
    >>> [round(float(x), 12) for x in a * w[:, 0]]
    [0.0, 2.0]
    """
    read = read_start(check, t=t, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        return _trajectory(read)


def _trajectory(read: Collected) -> tuple[Array, Array]:
    modes = _over_time(modes_of(read))
    times = read["t"] if len(read["t"].shape) else read["t"][None]
    a0, eta_a, eta_w = (read[name][..., None] for name in ("a0", "eta_a", "eta_w"))
    now = _scaled(read.xp, times, a0, eta_w, modes)
    a = (now.mode + a0 * now.start) / now.norm
    pull = modes.decay / (eta_a * modes.length) * now.mode
    unit = read["beta_star"][..., None, :] / modes.length[..., None]
    w = (
        (now.rest * now.remaining)[..., None] * modes.across
        + now.start[..., None] * read["w0"][..., None, :]
        + pull[..., None] * unit
    ) / now.norm[..., None]
    return (a, w) if len(read["t"].shape) else (a[..., 0], w[..., 0, :])


@implements("single_neuron.solution_for_every_balance", "single_neuron.polar_coordinates")
def mu_phi(
    t: object,
    a0: object,
    w0: object,
    beta_star: object,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    check: bool = True,
) -> tuple[Array, Array]:
    r"""The signed size mu = a |w| and the alignment phi = w.beta* / (|w| |beta*|) along the exact trajectory.

    Where w = 0 (at t = 0, or as w passes through zero when it is antiparallel to beta*) phi is its limit from
    later times, the final sign of a.

    Args:
        t, a0, w0, beta_star, eta_a, eta_w, check: as in `trajectory`.

    Returns:
        mu (..., T) and phi (..., T) in [-1, 1]; the time axis is absent when t is one number.

    Raises:
        ValueError: as `trajectory`, and for a start at the origin, which rests there without a direction (NaN
            with check=False).

    Source: kunin2024, App. A.2.1.

    >>> mu, phi = mu_phi(100.0, a0=1.0, w0=[0.0, 1.0], beta_star=[3.0, 4.0])
    >>> round(float(mu), 9), round(float(phi), 9)
    (5.0, 1.0)
    """
    read = read_start(check, t=t, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
    if check and not read.traced:
        moving = (read["a0"] != 0) | (read["w0"] != 0).any(-1)
        arrays.require("w0", moving, "non-zero where a0 = 0, because phi has no value at the origin")
    with arrays.quiet(read.xp):
        return _mu_phi(read)


def _mu_phi(read: Collected) -> tuple[Array, Array]:
    xp = read.xp
    first = modes_of(read)
    breadth = arrays.norm(xp, first.across)[..., None]
    modes = _over_time(first)
    times = read["t"] if len(read["t"].shape) else read["t"][None]
    a0, eta_a, eta_w = (read[name][..., None] for name in ("a0", "eta_a", "eta_w"))
    now = _scaled(xp, times, a0, eta_w, modes)
    along = (modes.decay / eta_a * now.mode + modes.omega0 * now.start) / modes.length
    aside = breadth * now.rest
    size = arrays.hypot(xp, along, aside)
    side = arrays.where(xp, modes.alpha == 0, xp.sign(modes.omega0), xp.sign(modes.alpha))
    side = arrays.where(xp, side == 0, float("nan"), side)
    phi = xp.where(size == 0, side, _cosine(xp, along, aside))
    mu = (now.mode + a0 * now.start) / now.norm * (size / now.norm)
    return (mu, phi) if len(read["t"].shape) else (mu[..., 0], phi[..., 0])


def _cosine(xp: Any, along: Array, aside: Array) -> Array:
    """along / hypot(along, aside), with finite gradients however small both are."""
    steep = xp.abs(along) >= aside
    smaller, larger = xp.where(steep, aside, along), xp.where(steep, along, aside)
    ratio = arrays.divide(xp, smaller, larger)
    root = xp.sqrt(1 + ratio**2)
    return xp.where(steep, xp.sign(along), ratio) / root
