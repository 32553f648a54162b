r"""The hyperbolic entropy, the potential of singular values under isotropic balance, for any ratio of its arguments.

q(x) = (2 r x asinh(u) - sqrt(delta^2 + 4 r^2 x^2) + |delta|) / (4 r^2), r = sqrt(eta_a eta_w), u = 2 r x / |delta|.
The difference of the last two terms cancels at small u, where q is x^2 / (2 |delta|); as a product,

    q(x) = (x / (2r)) (asinh(u) - u / (1 + sqrt(1 + u^2))),

it loses at most a factor of two at any u. q'' = 1 / sqrt(delta^2 + 4 r^2 x^2) is the inverse of the preconditioner.
"""

from __future__ import annotations

from symdyn.compile import arrays
from symdyn.compile.arrays import Array, Collected


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
    read = _read(check, x=x, delta=delta, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        xp, value = read.xp, read["x"]
        root, u = _scaled(read)
        return value / (2 * root) * (xp.arcsinh(u) - u / (1 + arrays.hypot(xp, u, 1 + 0 * u)))


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
    read = _read(check, x=x, delta=delta, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        root, u = _scaled(read)
        return read.xp.arcsinh(u) / (2 * root)


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
    read = _read(check, x=x, delta=delta, eta_a=eta_a, eta_w=eta_w)
    with arrays.quiet(read.xp):
        root = _root(read)
        return 1 / arrays.hypot(read.xp, _imbalance(read) + 0 * root, 2 * root * read["x"])


def _read(check: bool, **arguments: object) -> Collected:
    read = arrays.collect(**arguments)
    arrays.broadcast_shape(**{name: tuple(read[name].shape) for name in arguments})
    if check and not read.traced:
        arrays.require_finite(read, "x")
        arrays.require("delta", read.xp.isfinite(read["delta"]) & (read["delta"] != 0), "finite and not zero")
        arrays.require_positive(read, "eta_a", "eta_w")
    return read


def _imbalance(read: Collected) -> Array:
    """|delta|, NaN where delta is zero."""
    return arrays.where(read.xp, read["delta"] == 0, float("nan"), read.xp.abs(read["delta"]))


def _root(read: Collected) -> Array:
    """sqrt(eta_a eta_w), NaN where a rate is not positive."""
    xp = read.xp
    rates = (arrays.where(xp, read[name] > 0, read[name], float("nan")) for name in ("eta_a", "eta_w"))
    first, second = (xp.sqrt(rate) for rate in rates)
    return first * second


def _scaled(read: Collected) -> tuple[Array, Array]:
    """r and u = 2 r x / |delta|."""
    root = _root(read)
    return root, 2 * root * (read["x"] / _imbalance(read))
