"""Correlation maps and the edge of chaos against quadrature by SciPy, point by point: time and accuracy.

    python -m benchmarks.signal_propagation [--json FILE]

The correlation map of tanh and of hard tanh is wanted on a grid of 1,000 lengths and 1,000 correlations, and the edge
of chaos of tanh at 200 variances of the bias. The obvious way is ``dblquad`` for each pair, and ``brentq`` over
``quad`` for each point of the edge; it is timed on a few points, and the ratio is that of the times of one point.
Errors are against mpmath at 30 digits on those points. Exits with status 1 if the grid of tanh takes a second or more,
the edge two seconds or more, or the grid is less than 1,000 times faster by the point.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from benchmarks.stopwatch import best_of, status, surroundings, with_json

LENGTHS, CORRELATIONS, EDGE = 1000, 1000, 200
POINTS = ((0.3, 0.5), (1.0, 0.9), (2.0, -0.4))
BIASES = (0.01, 0.3)
VARIANCE, BIAS = 1.5, 0.1
GRID_SECONDS, EDGE_SECONDS, WANTED_RATIO = 1.0, 2.0, 1000.0
REPEATS = 3


def by_dblquad(phi, q, c):
    """The correlation map at one point by two integrals over the plane and the line."""
    import warnings

    from scipy.integrate import IntegrationWarning, dblquad, quad

    warnings.simplefilter("ignore", IntegrationWarning)  # at kinks it does not reach its tolerance
    root, spread = math.sqrt(q), math.sqrt(1 - c * c)
    weight = 1 / (2 * math.pi)

    def pair(z2, z1):
        return (
            weight * math.exp(-(z1 * z1 + z2 * z2) / 2) * phi(root * z1) * phi(root * (c * z1 + spread * z2))
        )

    mean = dblquad(pair, -10, 10, -10, 10)[0]
    square = quad(lambda z: math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * phi(root * z) ** 2, -10, 10)[0]
    return (VARIANCE * mean + BIAS) / (VARIANCE * square + BIAS)


def by_mpmath(phi, q, c):
    """The correlation map of tanh at one point at 30 digits, by Hermite's series of its integral in the plane."""
    import mpmath as mp

    with mp.workdps(30):
        root, c = mp.sqrt(q), mp.mpf(c)
        z = [mp.mpf(k) / 16 for k in range(-16 * 13, 16 * 13 + 1)]
        weights = [mp.npdf(x) / 16 for x in z]
        values = [phi(root * x) for x in z]
        square = sum(w * v * v for w, v in zip(weights, values, strict=True))
        mean, before, now = mp.mpf(0), [mp.mpf(0)] * len(z), [mp.mpf(1)] * len(z)
        for n in range(400):
            coefficient = sum(w * v * h for w, v, h in zip(weights, values, now, strict=True))
            term = coefficient**2 * c**n
            mean += term
            if n > 4 and abs(term) < mp.mpf(10) ** -22 and n % 2:
                break
            following = [
                (x * h - mp.sqrt(n) * b) / mp.sqrt(n + 1) for x, h, b in zip(z, now, before, strict=True)
            ]
            before, now = now, following
        return float((VARIANCE * mean + BIAS) / (VARIANCE * square + BIAS))


def edge_by_quad(bias):
    """σ_α² on the edge of chaos of tanh for one variance of the bias, by root finding over quadrature."""
    from scipy.integrate import quad
    from scipy.optimize import brentq

    def mean(f, q):
        root = math.sqrt(q)
        return quad(lambda z: math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * f(root * z), -10, 10)[0]

    def excess(q):
        return q - mean(lambda u: math.tanh(u) ** 2, q) / mean(lambda u: 1 / math.cosh(u) ** 4, q) - bias

    q = brentq(excess, 1e-6, 50.0, xtol=1e-14, rtol=1e-14)
    return 1 / mean(lambda u: 1 / math.cosh(u) ** 4, q)


def measure() -> dict[str, object]:
    import mpmath as mp

    from derivations.signal_propagation import correlation_map, edge_of_chaos

    lengths = np.linspace(0.1, 5, LENGTHS)[:, None]
    grid = np.linspace(-1, 1, CORRELATIONS)[None, :]
    rows = []
    own = {"tanh": math.tanh, "hard_tanh": lambda x: min(1.0, max(-1.0, x))}
    for name, phi in own.items():
        seconds = best_of(
            lambda name=name: correlation_map(grid, lengths, VARIANCE, BIAS, 1.0, name), REPEATS
        )
        points = POINTS if name == "tanh" else POINTS[:1]
        run = best_of(lambda phi=phi, points=points: [by_dblquad(phi, *point) for point in points])
        slow = run / len(points)
        ours = [float(correlation_map(c, q, VARIANCE, BIAS, 1.0, name)) for q, c in POINTS]
        errors = [math.nan, math.nan]
        if name == "tanh":
            known = [by_mpmath(mp.tanh, *point) for point in POINTS]
            theirs = [by_dblquad(phi, *point) for point in POINTS]
            errors = [max(abs(a - b) for a, b in zip(found, known, strict=True)) for found in (ours, theirs)]
        count = LENGTHS * CORRELATIONS
        rows.append(
            {
                "what": f"correlation map, {name}, {LENGTHS} x {CORRELATIONS}",
                "seconds": seconds,
                "alternative": f"dblquad, {slow:.2g} s a point",
                "ratio": slow * count / seconds,
                "error": errors[0],
                "error_of_alternative": errors[1],
            }
        )
    biases = np.linspace(0.01, 1.0, EDGE)
    seconds = best_of(lambda: edge_of_chaos(biases, 1.0, "tanh"), REPEATS)
    slow = best_of(lambda: [edge_by_quad(b) for b in BIASES]) / len(BIASES)
    ours, theirs = (
        edge_of_chaos(np.array(BIASES), 1.0, "tanh").sigma_alpha2,
        [edge_by_quad(b) for b in BIASES],
    )
    rows.append(
        {
            "what": f"edge of chaos, tanh, {EDGE} points",
            "seconds": seconds,
            "alternative": f"brentq over quad, {slow:.2g} s a point",
            "ratio": slow * EDGE / seconds,
            "error": math.nan,
            "error_of_alternative": float(np.abs(ours - theirs).max()),
        }
    )
    holds = rows[0]["seconds"] < GRID_SECONDS and rows[-1]["seconds"] < EDGE_SECONDS
    return {
        "benchmark": "length and correlation maps, edge of chaos",
        "setting": {"points": POINTS, "biases": BIASES, "sigma_alpha2": VARIANCE, "sigma_b2": BIAS},
        **surroundings("numpy", "scipy", "mpmath"),
        "rows": rows,
        "holds": bool(holds and rows[0]["ratio"] >= WANTED_RATIO),
    }


def main(arguments: list[str] | None = None) -> int:
    options = with_json("Signal propagation against quadrature by SciPy.").parse_args(arguments)
    return status(measure(), _show, options.json)


def _show(result) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="signal propagation, the best of several runs")
    for name in ("", "seconds", "alternative", "times faster", "error", "its error"):
        table.add_column(name, justify="left" if name in ("", "alternative") else "right")
    for row in result["rows"]:
        table.add_row(
            row["what"],
            f"{row['seconds']:.3g}",
            row["alternative"],
            f"{row['ratio']:,.0f}",
            f"{row['error']:.0e}",
            f"{row['error_of_alternative']:.0e}",
        )
    console = Console()
    console.print(table)
    console.print("the edge by root finding is compared with ours; what was not measured is nan")
    console.print("as wanted" if result["holds"] else "missed")


if __name__ == "__main__":
    sys.exit(main())
