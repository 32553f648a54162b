r"""Where a start of the single-neuron network ends: basin, distance to the separatrix, time of the crossing.

The growing mode of the exact solution has the amplitude alpha = (lambda+ a0 + eta_a w0.beta*) / (2R), with
lambda+ = delta/2 + R. Its sign is the final sign of a for every balance delta: the separatrix, which runs
into the saddle {a = 0, w.beta* = 0}, is alpha = 0. For delta >= 0 this is the sign of a0 (unless delta = 0
and w0 is antiparallel to beta*, which reaches the saddle at the origin); for delta < 0 the two can differ,
and a then passes through zero exactly once, when the decaying mode has shrunk to the size of the growing one.

Source: kunin2024, App. A.2.4 and A.2.5.
"""

from __future__ import annotations

from derivations.single_neuron.evaluators.exact_solution import Modes, modes_of, read_start
from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected
from symdyn.catalogue.implements import implements


@implements("single_neuron.final_branch")
def basin(
    a0: object, w0: object, beta_star: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""The final sign of a: +1, -1, or 0 for a start that runs into the saddle.

    basin = sign(lambda+ a0 + eta_a w0.beta*),  lambda+ = delta/2 + sqrt(delta^2/4 + eta_a eta_w |beta*|^2).

    Args:
        a0: initial readout weight (...).
        w0: initial input weights (..., d).
        beta_star: least-squares solution (..., d), non-zero.
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain is then NaN.

    Returns:
        The sign (...), in the dtype of the input. It is 0 only where the numbers given lie on the separatrix
        as they stand, up to 1e-30 of the two terms of alpha (1e-12 in float32); to allow for the rounding of
        the input, compare `separatrix_distance` with a length.

    Raises:
        ValueError, TypeError: as `trajectory`.

    >>> float(basin(a0=0.1, w0=[-1.0, 0.0], beta_star=[2.0, 0.0]))
    -1.0
    """
    read = read_start(check, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        return read.xp.sign(modes_of(read).alpha)


@implements("single_neuron.separating_surface")
def separatrix_distance(
    a0: object, w0: object, beta_star: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""The signed distance from the start to the separatrix, to first order.

    distance = F / |grad F|,  F(a, w) = lambda+(delta(a, w)) a + eta_a w.beta*,  the gradient at the start.

    Its sign is the basin, its zeros are the separatrix, and next to the separatrix it is the Euclidean
    distance in the space of (a, w) up to a relative error proportional to it. |grad F| never vanishes, since
    dF/da = lambda+ (1 + eta_w a^2 / R) > 0.

    Args:
        a0, w0, beta_star, eta_a, eta_w, check: as in `basin`.

    Returns:
        The distance (...), in units of a and w.

    >>> float(separatrix_distance(a0=0.25, w0=[0.0, 0.0], beta_star=[3.0, 4.0])) > 0
    True
    """
    read = read_start(check, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        return _distance(read, modes_of(read))


def _distance(read: Collected, modes: Modes) -> Array:
    a0, eta_a, eta_w = read["a0"], read["eta_a"], read["eta_w"]
    along_a = modes.growth * (1 + 2 * eta_w * a0**2 / modes.gap)
    share = 2 * a0 * modes.growth / modes.gap
    along_w = eta_a[..., None] * (read["beta_star"] - share[..., None] * read["w0"])
    slope = read.xp.hypot(along_a, arrays.norm(read.xp, along_w))
    return modes.alpha * (modes.gap / slope)


@implements("single_neuron.zero_crossing_time")
def crossing_time(
    a0: object, w0: object, beta_star: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""The time at which a passes through zero; +inf where it never does.

    t = log(1 - a0/alpha) / (2R),  2R = sqrt(delta^2 + 4 eta_a eta_w |beta*|^2),

    where a0 and alpha have opposite signs, which needs delta < 0. A start with a0 = 0 off the saddle crosses
    at t = 0; a start on the separatrix never does.

    Args:
        a0, w0, beta_star, eta_a, eta_w, check: as in `basin`.

    Returns:
        The time (...), in the units of `trajectory`; +inf, with gradient zero, where there is no crossing.

    >>> float(crossing_time(a0=1.0, w0=[2.0, 0.0], beta_star=[1.0, 0.0]))
    inf
    """
    read = read_start(check, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        return _crossing(read, modes_of(read))


def _crossing(read: Collected, modes: Modes) -> Array:
    xp, a0, alpha = read.xp, read["a0"], modes.alpha
    crosses = (alpha != 0) & ((a0 == 0) | ((a0 < 0) != (alpha < 0)))
    near = crosses & (xp.abs(a0) <= 100 * xp.abs(alpha))
    far = crosses & ~near
    ratio = -arrays.where(xp, near, a0, 0.0) / arrays.where(xp, near, alpha, 1.0)
    start = xp.abs(arrays.where(xp, far, a0, 1.0))
    mode = xp.abs(arrays.where(xp, far, alpha, 1.0))
    logarithm = xp.where(near, xp.log1p(ratio), xp.log(start + mode) - xp.log(mode))
    time = arrays.where(xp, crosses, logarithm / modes.gap + 0.0, float("inf"))  # 0, not -0, at a0 = 0
    return arrays.where(xp, alpha == alpha, time, float("nan"))
