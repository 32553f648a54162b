"""The named quantities of the single-neuron network.

κ = η_w a² + η_a‖w‖² = √(δ² + 4x) with x = η_a η_w‖β‖². Its sum and difference with δ are twice the two squared layer
norms, κ + δ = 2 η_w a² and κ - δ = 2 η_a‖w‖². Where the sign of δ makes one of them cancel,
it is 4x over the other.
"""

from __future__ import annotations

import sympy as sp
from sympy import And, Rational, sqrt, symbols

from symdyn.compile.named import NamedQuantity, root_sum

_d, _x = symbols("d x", real=True)

kappa = NamedQuantity(
    "kappa",
    r"\kappa",
    (_d, _x),
    sqrt(_d**2 + 4 * _x),
    cells=((_x >= 0, root_sum(_d, 4 * _x)),),
    derivative=lambda d, x: (d / kappa(d, x), 2 / kappa(d, x)),  # type: ignore[has-type]  # itself
    module=__name__,
    domain=_x >= 0,
)

kappa_plus = NamedQuantity(
    "kappa_plus",
    r"\left(\kappa + #1\right)",
    (_d, _x),
    kappa(_d, _x) + _d,
    cells=((_d >= 0, kappa(_d, _x) + _d), (_d < 0, 4 * _x / (kappa(_d, _x) - _d))),
    derivative=lambda d, x: (kappa_plus(d, x) / kappa(d, x), 2 / kappa(d, x)),  # type: ignore[has-type]  # itself
    module=__name__,
    domain=_x >= 0,
)

kappa_minus = NamedQuantity(
    "kappa_minus",
    r"\left(\kappa - #1\right)",
    (_d, _x),
    kappa(_d, _x) - _d,
    cells=((_d <= 0, kappa(_d, _x) - _d), (_d > 0, 4 * _x / (kappa(_d, _x) + _d))),
    derivative=lambda d, x: (-kappa_minus(d, x) / kappa(d, x), 2 / kappa(d, x)),  # type: ignore[has-type]  # itself
    module=__name__,
    domain=_x >= 0,
)

_s, _s0, _k = sqrt(kappa_plus(_d, _x)), sqrt(2 * _d), kappa(_d, _x)

radial_potential = NamedQuantity(
    "radial_potential",
    r"\Phi_{#1}",
    (_d, _x),
    (_k - 2 * _d) * _s / 3 + sqrt(2) / 3 * ((abs(_d) + _d) / 2) ** Rational(3, 2),
    cells=(
        (_d <= 0, (_k - 2 * _d) * _s / 3),
        (And(_d > 0, 4 * _d <= _k), (_k - 2 * _d) * _s / 3 + _d * _s0 / 3),
        (_d > 0, kappa_minus(_d, _x) * (_k + _s * _s0) / (3 * (_s + _s0))),
    ),
    derivative=lambda d, x: (_slope_in_balance(d, x), 1 / sqrt(kappa_plus(d, x))),
    module=__name__,
    domain=_x >= 0,
)
"""Φ_δ as a function of δ and x = ‖β‖², with Φ_δ(0) = 0."""


def _slope_in_balance(d: sp.Expr, x: sp.Expr) -> sp.Expr:
    """∂Φ/∂δ = (√(2 max(δ, 0)) - √(κ + δ))/2."""
    upper = sqrt(2) * sqrt((abs(d) + d) / 2)
    return (upper - sqrt(kappa_plus(d, x))) / 2


potential_slope = NamedQuantity(
    "potential_slope",
    r"\frac{2}{\sqrt{\kappa + #1}}",
    (_d, _x),
    2 / _s,
    cells=((_d > 0, 2 / _s), (_d <= 0, sqrt(kappa_minus(_d, _x)) / sqrt(_x))),
    module=__name__,
    domain=_x > 0,
)
"""∇Φ_δ(β) = slope(δ, ‖β‖²) β; for δ ≤ 0 the second form lets the unit vector β/‖β‖ be taken out."""
