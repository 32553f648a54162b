r"""The one equation behind isotropic networks, ‖a‖ s^{L/2} = r with s = ‖a‖² + c and c ≥ 0.

With c = -δ it gives ‖a‖ and s as functions of r = ‖β‖; with c = ‖u‖² - δ it gives the interpolator. As a function of
log ‖a‖² the logarithm of the left side is convex and increases with a slope between 1/2 and (L + 1)/2, so that Newton's
method comes down to the root without overshooting.
"""

from __future__ import annotations

from symdyn.arrays.backends import Array, Namespace, detach, divide, where

_STEPS = 40


def times_power(xp: Namespace, base: Array, exponent: float, value: Array) -> Array:
    """base^exponent · value for base ≥ 0; 0 without gradient if base = 0, or if value = 0 meets an infinite power.

    The power comes in two factors and its gradient from a ratio that is 1, so that only what is itself out of the range
    of floats leaves it.
    """
    if exponent == 0:
        return xp.ones_like(base) * value
    safe = where(xp, base == 0, 1.0, base)
    half = detach(safe) ** (exponent / 2)
    idle = (base == 0) | ((value == 0) & ~xp.isfinite(half * half))
    half = where(xp, idle, 1.0, half)
    return where(xp, idle, 0.0, half * (half * value) * (safe / detach(safe)) ** exponent)


def balance_root(xp: Namespace, r: Array, c: Array, hidden: int) -> tuple[Array, Array]:
    """(‖a‖, s) with ‖a‖ s^{hidden/2} = r and s = ‖a‖² + c, for r, c ≥ 0 of one shape; twice differentiable in r and c.

    The derivatives are those of the implicit function; at r = c = 0 they are zero.
    """
    if hidden == 0:
        return r + 0 * c, r * r + c
    empty, offset = r == 0, detach(c)
    goal = 2 * xp.log(where(xp, empty, 1.0, detach(r)))
    free = goal / (hidden + 1)
    floor = where(xp, offset == 0, 1.0, offset)
    tau = where(xp, offset == 0, free, xp.minimum(free, goal - hidden * xp.log(floor)))
    for _ in range(_STEPS):
        t = xp.exp(tau)
        slope = 1 + hidden * t / (t + offset)
        tau = tau - (hidden * xp.log(t + offset) + tau - goal) / slope
    a = where(xp, empty, 0.0, xp.exp(tau / 2))
    # Two steps without logarithms take off the rounding of large ones, and carry first and second derivatives.
    for _ in range(2):
        t = a * a
        slope = 1 + hidden * divide(xp, t, t + c)
        a = a + (times_power(xp, t + c, -hidden / 2, r) - a) / slope
    return a, a * a + c
