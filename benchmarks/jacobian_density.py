"""The density of the spectrum of JJᵀ by free probability against one sampled network: time and accuracy.

    python -m benchmarks.jacobian_density [--json FILE]

The squared singular values of the Jacobian of a network of width 1,000 and depth 50 on the edge of chaos, for tanh and
for linear layers with Gaussian weights. The obvious way is to multiply the 50 layers of one network and to take its
singular values; its error is the largest distance of their distribution function from the limit. The law is solved anew
each time, with its edges and checks, and its density is taken at 1,000 points. Exits with status 1 if it is less than
100 times faster than the sample, or not more accurate.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from benchmarks.stopwatch import best_of, status, surroundings, with_json

WIDTH, DEPTH, POINTS = 1000, 50, 1000
CASES = (("tanh", 0.1), ("linear", 1.0))
WANTED_RATIO = 100.0
REPEATS = 5


def sampled(phi, q, generator):
    """The squared singular values of one network of Gaussian layers, with χ = 1."""
    from derivations.signal_propagation import activation
    from derivations.signal_propagation.evaluators.gaussian_means import slope_mean

    phi = activation(phi)
    scale = math.sqrt(1 / float(slope_mean(phi, np.array([q]))[0]) / WIDTH)
    J = np.eye(WIDTH)
    for _ in range(DEPTH):
        slopes = phi.derivative(math.sqrt(q) * generator.normal(size=WIDTH))
        J = (scale * slopes)[:, None] * (generator.normal(size=(WIDTH, WIDTH)) @ J)
    return np.linalg.svd(J, compute_uv=False) ** 2


def law(phi, q):
    from derivations.random_matrices import jacobian_density

    found = jacobian_density(DEPTH, 1, "gaussian", phi, q)
    high = found.support[-1][1]
    return found, found.density(high * (np.arange(POINTS) + 0.5) / POINTS)


def measure() -> dict[str, object]:
    rows = []
    for phi, q in CASES:
        kept = []
        slow = best_of(lambda phi=phi, q=q, kept=kept: kept.append(sampled(phi, q, np.random.default_rng(0))))
        seconds = best_of(lambda phi=phi, q=q: law(phi, q), REPEATS)
        found, _ = law(phi, q)
        values = np.sort(kept[0])
        # Below 1e-25 of the largest, rounding decides what the singular values of a product are.
        values = values[values > 1e-25 * values[-1]]
        steps = 1 - (np.arange(len(values))[::-1] + 0.5) / WIDTH
        distance = float(np.abs(found.cdf(values) - steps).max())
        rows.append(
            {
                "what": phi,
                "seconds": seconds,
                "sample": slow,
                "ratio": slow / seconds,
                "error": found.error,
                "distance": distance,
            }
        )
    return {
        "benchmark": "spectrum of the input-output Jacobian",
        "setting": {"width": WIDTH, "depth": DEPTH, "points": POINTS, "cases": CASES, "ensemble": "gaussian"},
        **surroundings("numpy", "scipy"),
        "rows": rows,
        "wanted_ratio": WANTED_RATIO,
        "holds": bool(all(r["ratio"] >= WANTED_RATIO and r["error"] < r["distance"] for r in rows)),
    }


def main(arguments: list[str] | None = None) -> int:
    options = with_json("The spectrum of JJᵀ by free probability against a sampled network.").parse_args(
        arguments
    )
    return status(measure(), _show, options.json)


def _show(result) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"JJᵀ of {DEPTH} layers, density at {POINTS:,} points, against one network of width {WIDTH:,}"
    )
    for name in ("", "law, ms", "network, s", "times faster", "error of law", "of network"):
        table.add_column(name, justify="right" if name else "left")
    for row in result["rows"]:
        table.add_row(
            row["what"],
            f"{1e3 * row['seconds']:.3g}",
            f"{row['sample']:.3g}",
            f"{row['ratio']:.0f}",
            f"{row['error']:.0e}",
            f"{row['distance']:.0e}",
        )
    console = Console()
    console.print(table)
    console.print("errors: of mass and moments of the law; of the distribution function of the network")
    console.print(
        f"{WANTED_RATIO:.0f} times faster, and more accurate: {'reached' if result['holds'] else 'missed'}"
    )


if __name__ == "__main__":
    sys.exit(main())
