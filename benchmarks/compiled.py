"""Compiled functions against what `sympy.lambdify` makes of the same formula: time and accuracy, in one run.

    python -m benchmarks.compiled

The potential Φ_δ on a million points, |δ| and ‖β‖ over 24 decades. The naive function is the printed formula, written
with powers and roots; the error of both is measured at 50 digits on a sample of the points.
"""

from __future__ import annotations

import sys
from functools import partial

import mpmath
import numpy as np
import sympy as sp

from benchmarks.stopwatch import best_of

POINTS, SAMPLE, REPEATS = 1_000_000, 300, 3


def naive():
    """The printed potential as NumPy code by `sympy.lambdify`."""
    delta, x = sp.symbols("delta x", real=True)
    kappa = sp.sqrt(delta**2 + 4 * x)
    shift = sp.Max(0, sp.sign(delta) * sp.sqrt(2) * sp.Abs(delta) ** sp.Rational(3, 2) / 3)
    function = sp.lambdify((delta, x), (kappa - 2 * delta) * sp.sqrt(kappa + delta) / 3 + shift, "numpy")
    return lambda beta, delta: function(delta, (beta * beta).sum(-1))


def exact(beta: np.ndarray, delta: float) -> mpmath.mpf:
    """The potential at 120 digits."""
    with mpmath.workdps(120):
        d = mpmath.mpf(float(delta))
        k = mpmath.sqrt(d * d + 4 * sum(mpmath.mpf(float(b)) ** 2 for b in beta))
        shift = mpmath.sqrt(2) * d ** mpmath.mpf("1.5") / 3 if d > 0 else mpmath.mpf(0)
        return (k - 2 * d) * mpmath.sqrt(k + d) / 3 + shift


def worst_error(function, beta: np.ndarray, delta: np.ndarray) -> float:
    values = function(beta[:SAMPLE], delta[:SAMPLE])
    pairs = zip(values, beta, delta, strict=False)
    return max(float(abs((float(v) - e) / e)) for v, b, d in pairs for e in [exact(b, d)])


def main() -> int:
    import symdyn

    generator = np.random.default_rng(0)
    beta = generator.standard_normal((POINTS, 2)) * 10 ** generator.uniform(-12, 12, (POINTS, 1))
    delta = generator.choice([-1.0, 1.0], POINTS) * 10 ** generator.uniform(-12, 12, POINTS)
    compiled = symdyn.load("single_neuron.potential").numpy
    rows = {}
    with np.errstate(all="ignore"):
        for name, function in (("compiled", compiled), ("naive lambdify", naive())):
            rows[name] = best_of(partial(function, beta, delta), REPEATS), worst_error(function, beta, delta)
    print(f"{'function':<16}{'seconds':>10}{'worst relative error':>24}")
    for name, (seconds, error) in rows.items():
        print(f"{name:<16}{seconds:>10.3f}{error:>24.1e}")
    print(f"time ratio compiled / naive: {rows['compiled'][0] / rows['naive lambdify'][0]:.2f}")
    return int(not rows["compiled"][1] < 1e-14)


if __name__ == "__main__":
    sys.exit(main())
