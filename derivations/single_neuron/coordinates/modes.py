r"""The two modes of the single-neuron network on whitened data.

The products of the weights with E(t) = exp(η_w ∫a²) obey a linear system with the rates λ_± = δ/2 ± R, where
R = √(δ² + 4x)/2 and x = η_a η_w‖β_*‖². Hence λ_+ > 0 > λ_-, λ_+ + λ_- = δ and λ_+ λ_- = -x: the smaller of the two is
computed from the larger.
"""

from __future__ import annotations

from sympy import symbols

from symdyn.compile.named import NamedQuantity, root_sum

_d, _x = symbols("d x", real=True)

rate = NamedQuantity(
    "rate",
    "R",
    (_d, _x),
    root_sum(_d, 4 * _x) / 2,
    derivative=lambda d, x: (d / (4 * rate(d, x)), 1 / (2 * rate(d, x))),  # type: ignore[has-type]  # itself
    module=__name__,
    domain=_x >= 0,
)

lambda_plus = NamedQuantity(
    "lambda_plus",
    r"\lambda_+",
    (_d, _x),
    rate(_d, _x) + _d / 2,
    cells=((_d >= 0, rate(_d, _x) + _d / 2), (_d < 0, _x / (rate(_d, _x) - _d / 2))),
    derivative=lambda d, x: (lambda_plus(d, x) / (2 * rate(d, x)), 1 / (2 * rate(d, x))),  # type: ignore[has-type]  # itself
    module=__name__,
    domain=_x >= 0,
)

lambda_minus = NamedQuantity(
    "lambda_minus",
    r"\lambda_-",
    (_d, _x),
    _d / 2 - rate(_d, _x),
    cells=((_d <= 0, _d / 2 - rate(_d, _x)), (_d > 0, -_x / (rate(_d, _x) + _d / 2))),
    derivative=lambda d, x: (-lambda_minus(d, x) / (2 * rate(d, x)), -1 / (2 * rate(d, x))),  # type: ignore[has-type]  # itself
    module=__name__,
    domain=_x >= 0,
)

_a, _o = symbols("a o", real=True)

amplitude = NamedQuantity(
    "amplitude",
    r"\alpha",
    (_d, _x, _a, _o),
    (lambda_plus(_d, _x) * _a + _o) / (2 * rate(_d, _x)),
    module=__name__,
    domain=_x > 0,
)
"""The share of the growing mode in a start with a_0 = a and η_a ω_0 = o."""
