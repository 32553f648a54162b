r"""The hyperbolic entropy, the potential of singular values under isotropic balance, for any ratio of its arguments.

q(x) = (2 r x asinh(u) - sqrt(delta^2 + 4 r^2 x^2) + |delta|) / (4 r^2), r = sqrt(eta_a eta_w), u = 2 r x / |delta|.
The difference of the last two terms cancels at small u, where q is x^2 / (2 |delta|); as a product,

    q(x) = (x / (2r)) (asinh(u) - u / (1 + sqrt(1 + u^2))),

it loses at most a factor of two at any u. q'' = 1 / sqrt(delta^2 + 4 r^2 x^2) is the inverse of the preconditioner.

u itself leaves the range of floats long before q does. Far out both terms are functions of v = 1/u, with the sign of x,

    asinh(u) = log(u) + log(1 + sqrt(1 + v^2)),    u / (1 + sqrt(1 + u^2)) = 1 / (v + sqrt(1 + v^2)).
"""

from __future__ import annotations

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected, detach
from symdyn.arrays.members import Bound, confine, finite, nan_unless, positive
from symdyn.catalogue.implements import implements

_FAR = 2.0**20


@implements("wide_linear.entropy")
def hyperbolic_entropy(
    x: object, delta: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""q_delta(x) = (2 r x asinh(2 r x / |delta|) - sqrt(delta^2 + 4 r^2 x^2) + |delta|) / (4 r^2), elementwise.

    r = sqrt(eta_a eta_w); at unit rates the potential of kunin2024, Theorem 11. Even and convex in x, even in delta.

    Args:
        x: singular values (...), of any sign.
        delta: the balance (...), not zero.
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain is then NaN.

    Returns:
        The potential of each value (...), in units of x. Its limits are those of the penalties between which it
        interpolates: |delta| q -> x^2 / 2 as |delta| -> inf, and q / log(1/|delta|) -> |x| / (2r) as delta -> 0, where
        q itself grows like (|x| / (2r)) (log(4 r |x| / |delta|) - 1).

    Raises:
        ValueError: a value out of its domain (argument and indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    >>> round(float(hyperbolic_entropy(x=3.0, delta=8.0)), 9)
    0.539720771
    """
    read, good = _read(check, x=x, delta=delta, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        root, arcsinh, share = _terms(read)
        return nan_unless(read.xp, good, read["x"] / (2 * root) * (arcsinh - share))


@implements("wide_linear.entropy")
def hyperbolic_entropy_gradient(
    x: object, delta: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""q_delta'(x) = asinh(2 r x / |delta|) / (2r), r = sqrt(eta_a eta_w): the dual variable of the mirror flow.

    Args:
        x, delta, eta_a, eta_w, check: as in `hyperbolic_entropy`.

    Returns:
        The derivative of each value (...); odd in x.

    Raises:
        ValueError, TypeError: as `hyperbolic_entropy`.

    >>> round(float(hyperbolic_entropy_gradient(x=3.0, delta=8.0)), 9)
    0.34657359
    """
    read, good = _read(check, x=x, delta=delta, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        root, arcsinh, _ = _terms(read)
        return nan_unless(read.xp, good, arcsinh / (2 * root))


@implements("wide_linear.entropy")
def hyperbolic_entropy_hessian(
    x: object, delta: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""q_delta''(x) = 1 / sqrt(delta^2 + 4 r^2 x^2), r = sqrt(eta_a eta_w): the inverse of Lemma 10's preconditioner.

    Args:
        x, delta, eta_a, eta_w, check: as in `hyperbolic_entropy`.

    Returns:
        The second derivative of each value (...).

    Raises:
        ValueError, TypeError: as `hyperbolic_entropy`.

    >>> float(hyperbolic_entropy_hessian(x=3.0, delta=8.0))
    0.1
    """
    read, good = _read(check, x=x, delta=delta, eta_a=eta_a, eta_w=eta_w)
    xp = read.xp
    with arrays.quiet(xp):
        delta, slope = xp.abs(read["delta"]), 2 * _root(read) * read["x"]
        unit = detach(xp.maximum(delta, xp.abs(slope)))
        return nan_unless(xp, good, (1 / unit) / arrays.hypot(xp, delta / unit, slope / unit))


def _read(check: bool, **arguments: object) -> tuple[Collected, Array | None]:
    read = arrays.collect(**arguments)
    arrays.broadcast_shape(**{name: tuple(read[name].shape) for name in arguments})
    xp = read.xp
    return confine(
        check,
        read,
        Bound("x", finite(xp), "finite"),
        Bound("delta", lambda x: xp.isfinite(x) & (x != 0), "finite and not zero", 1.0),
        *positive(xp, "eta_a", "eta_w"),
    )


def _root(read: Collected) -> Array:
    """sqrt(eta_a eta_w)."""
    return read.xp.sqrt(read["eta_a"]) * read.xp.sqrt(read["eta_w"])


def _terms(read: Collected) -> tuple[Array, Array, Array]:
    """r, asinh(u) and u / (1 + sqrt(1 + u^2)).

    Detached units cancel in the values; divided by them before they are multiplied, derivatives stay in range as well.
    """
    xp, x, root, delta = read.xp, read["x"], _root(read), read.xp.abs(read["delta"])
    near = 2 * root * xp.abs(x) <= _FAR * delta
    half = xp.sqrt(detach(delta))
    u = 2 * root * ((arrays.where(xp, near, x, 0.0) / half) / (delta / half))
    size = xp.where(near, delta, xp.abs(x))
    unit = detach(size)
    relative = size / unit
    v = delta / unit / relative / (2 * root)
    ratio = (root / detach(root)) * relative / (delta / detach(delta))
    log = 2 * xp.log(xp.sqrt(2 * detach(root)) * (xp.sqrt(unit) / half)) + xp.log(ratio)
    beyond = arrays.hypot(xp, v, 1 + 0 * v)
    sign = arrays.where(xp, x < 0, -1.0, xp.ones_like(x))
    arcsinh = xp.where(near, xp.arcsinh(u), sign * (log + xp.log(1 + beyond)))
    share = xp.where(near, u / (1 + arrays.hypot(xp, u, 1 + 0 * u)), sign / (v + beyond))
    return root, arcsinh, share
