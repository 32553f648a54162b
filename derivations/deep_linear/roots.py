r"""The one equation behind isotropic networks, t (t + c)^L = r² with c ≥ 0.

With t = ‖a‖² and c = -δ it gives ‖a‖² and s = ‖a‖² - δ as functions of r = ‖β‖; with c = ‖u‖² - δ it gives the
interpolator. As a function of log t the logarithm of the left side is convex and increases with a slope between 1 and
L + 1, so that Newton's method comes down to the root without overshooting.
"""

from __future__ import annotations

from symdyn.compile.arrays import Array, Namespace, detach, where

_STEPS = 40


def balance_root(xp: Namespace, r: Array, c: Array, hidden: int) -> tuple[Array, Array]:
    """(t, s) with t s^hidden = r² and s = t + c, for r, c ≥ 0 of one shape; differentiable in r and c.

    The derivatives are those of the implicit function; at r = 0 they are zero.
    """
    if hidden == 0:
        return r * r, r * r + c
    empty = r == 0
    log_x = 2 * xp.log(where(xp, empty, 1.0, r))
    goal, offset = detach(log_x), detach(c)
    free = goal / (hidden + 1)
    floor = where(xp, offset == 0, 1.0, offset)
    tau = where(xp, offset == 0, free, xp.minimum(free, goal - hidden * xp.log(floor)))
    for _ in range(_STEPS):
        t = xp.exp(tau)
        slope = 1 + hidden * t / (t + offset)
        tau = tau - (hidden * xp.log(t + offset) + tau - goal) / slope
    fixed = xp.exp(tau)
    slope = 1 + hidden * fixed / (fixed + offset)
    tau = tau - (hidden * xp.log(fixed + c) + tau - log_x) / slope
    t = where(xp, empty, 0.0, xp.exp(tau))
    return t, t + c
