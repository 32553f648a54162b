"""Exact trajectories against a loop over SciPy's integrators: time and accuracy, in one run.

    python -m benchmarks.single_neuron [--json FILE]

1,000 random single-neuron networks at 1,000 times. The exact solution computes them all at once; ``solve_ivp``
at a relative tolerance of 1e-10 integrates them one by one, which is timed on a sample and extrapolated. Both are
compared with an integration by Taylor series at 50 digits (mpmath) on a few networks. The ratio that counts is the
one to the default method of ``solve_ivp``, RK45; DOP853 and LSODA, which is compiled Fortran, are shown beside it.
Exits with status 1 if the exact solution is less than 100 times faster than RK45, or not the most accurate of all.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.stopwatch import best_of, status, surroundings, with_json

NETWORKS, TIMES, DIMENSION, HORIZON = 1000, 1000, 3, 20.0
SAMPLE, REFERENCED, DIGITS = 20, 3, 50
REFERENCE_TIMES = (0.5, 2.0, 5.0)
RTOL, ATOL = 1e-10, 1e-12
METHODS = ("RK45", "DOP853", "LSODA")
WANTED_RATIO = 100.0


def random_networks(seed: int = 0):
    """a0 (n,), w0 (n, d) and β_* (n, d) over a wide range of balances, all normal deviates times a random
    scale.
    """
    generator = np.random.default_rng(seed)
    a0 = generator.standard_normal(NETWORKS) * 10 ** generator.uniform(-0.5, 0.3, NETWORKS)
    w0 = generator.standard_normal((NETWORKS, DIMENSION)) * 10 ** generator.uniform(-0.5, 0.3, (NETWORKS, 1))
    return a0, w0, generator.standard_normal((NETWORKS, DIMENSION))


def integrate(a0, w0, beta_star, times, method):
    """One network by ``solve_ivp``: a (T,) and w (T, d)."""
    from scipy.integrate import solve_ivp

    def velocity(_, state):
        a, w = state[0], state[1:]
        return np.concatenate(([w @ beta_star - a * (w @ w)], a * beta_star - a * a * w))

    start = np.concatenate(([a0], w0))
    solution = solve_ivp(velocity, (0.0, times[-1]), start, method=method, t_eval=times, rtol=RTOL, atol=ATOL)
    return solution.y[0], solution.y[1:].T


def reference(a0, w0, beta_star):
    """One network at ``REFERENCE_TIMES`` by Taylor series at 50 digits: rows (a, w₁, …, w_d), as floats."""
    import mpmath

    with mpmath.workdps(DIGITS):
        target = [mpmath.mpf(float(value)) for value in beta_star]

        def velocity(_, state):
            a, w = state[0], state[1:]
            slope = mpmath.fdot(w, target) - a * mpmath.fdot(w, w)
            return [slope, *(a * goal - a * a * value for value, goal in zip(w, target, strict=True))]

        solution = mpmath.odefun(velocity, 0, [mpmath.mpf(float(value)) for value in (a0, *w0)])
        return np.array([[float(value) for value in solution(moment)] for moment in REFERENCE_TIMES])


def measure() -> dict[str, object]:
    """Times and errors of the exact solution and of every integrator, and what follows from them."""
    from derivations.single_neuron import trajectory

    a0, w0, beta_star = random_networks()
    times = np.linspace(0.0, HORIZON, TIMES)
    exact = best_of(lambda: trajectory(t=times, a0=a0, w0=w0, beta_star=beta_star), 5)
    known = [reference(a0[k], w0[k], beta_star[k]) for k in range(REFERENCED)]
    moments = np.array(REFERENCE_TIMES)

    def largest(solve) -> float:
        gaps = [
            np.abs(np.column_stack(solve(k)) - known[k]).max() / np.abs(known[k]).max()
            for k in range(REFERENCED)
        ]
        return float(max(gaps))

    rows = [
        {
            "what": "exact solution",
            "seconds": exact,
            "error": largest(lambda k: trajectory(t=moments, a0=a0[k], w0=w0[k], beta_star=beta_star[k])),
        }
    ]
    for method in METHODS:

        def loop(method=method):
            for k in range(SAMPLE):
                integrate(a0[k], w0[k], beta_star[k], times, method)

        rows.append(
            {
                "what": f"solve_ivp, {method}",
                "seconds": best_of(loop, 3) * NETWORKS / SAMPLE,
                "error": largest(
                    lambda k, method=method: integrate(a0[k], w0[k], beta_star[k], moments, method)
                ),
            }
        )
    for row in rows:
        row["ratio"] = row["seconds"] / exact
    ratio = rows[1]["ratio"]
    more_accurate = rows[0]["error"] <= min(row["error"] for row in rows[1:])
    return {
        "benchmark": "single-neuron trajectories",
        "setting": {
            "sample": SAMPLE,
            "networks": NETWORKS,
            "times": TIMES,
            "dimension": DIMENSION,
            "rtol": RTOL,
            "atol": ATOL,
        },
        **surroundings("numpy", "scipy", "mpmath"),
        "rows": rows,
        "ratio": ratio,
        "wanted_ratio": WANTED_RATIO,
        "holds": bool(ratio >= WANTED_RATIO and more_accurate),
    }


def main(arguments: list[str] | None = None) -> int:
    options = with_json("Exact trajectories against a loop over solve_ivp.").parse_args(arguments)
    return status(measure(), _show, options.json)


def _show(result) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{NETWORKS:,} networks at {TIMES:,} times, solve_ivp at rtol {RTOL:g}")
    for name, side in (("", "left"), ("seconds", "right"), ("times slower", "right"), ("error", "right")):
        table.add_column(name, justify=side)
    for row in result["rows"]:
        table.add_row(row["what"], f"{row['seconds']:.3g}", f"{row['ratio']:.0f}", f"{row['error']:.1e}")
    console = Console()
    console.print(table)
    console.print(
        f"seconds: the best of several runs; solve_ivp, extrapolated from {SAMPLE} networks\n"
        f"error: relative, against {DIGITS} digits, {REFERENCED} networks up to t = {REFERENCE_TIMES[-1]:g}"
    )
    verdict = "reached" if result["holds"] else "missed"
    console.print(
        f"{WANTED_RATIO:.0f} times faster than {METHODS[0]}, and more accurate: {verdict} ({result['ratio']:.0f} times)"
    )


if __name__ == "__main__":
    sys.exit(main())
