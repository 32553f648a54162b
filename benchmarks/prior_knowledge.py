"""The exact Q Q^T of two-layer linear networks against integration of their weights, in one run.

    python -m benchmarks.prior_knowledge [--size 20] [--json FILE]

100 random zero-balanced starts off the separatrix, of size x size x size, at 1,000 times, for three horizons in units
of the slowest mode of the task: while they learn, long after, and very long after. ``solve_ivp`` integrates the weights
at rtol 1e-10 and forms Q Q^T, extrapolated from a sample of the starts. Errors are the largest, relative, against the
formula at 60 digits. Exits with status 1 if the exact solution is not the more accurate one at every horizon, or not
100 times faster at the longest.

At short horizons there is little to win: Q Q^T of the full size is 1.28 GB, which NumPy alone takes a while to fill
with a constant (`floor`), and an integration that need not go far is cheap. ``network_function`` asks for a quarter of
that array. It is held against the same integration, which gives both.
"""

from __future__ import annotations

import os
import sys

import mpmath as mp
import numpy as np

from benchmarks.stopwatch import best_of, status, surroundings, with_json

STARTS, TIMES, SAMPLE, REFERENCED = 100, 1_000, 3, 1
HORIZONS, REFERENCE_PLACES = (10.0, 1_000.0, 10_000.0), (0.05, 0.2)
RTOL, ATOL, DIGITS, REPEATS = 1e-10, 1e-12, 60, 2
WANTED_RATIO = 100.0


def random_starts(size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Zero-balanced W1 and W2, and tasks with singular values between 1 and 2 that they can learn."""
    generator = np.random.default_rng(0)
    turn, first, second, u, v = np.linalg.qr(generator.standard_normal((5, count, size, size)))[0]
    strengths = np.sqrt(generator.uniform(0.1, 2, (count, size, 1)))
    W1, W2 = turn @ (strengths * first), np.swapaxes(turn @ (strengths * second), 1, 2)
    sigma = (u * np.linspace(1, 2, size)) @ v
    sigma[:, 0] *= (np.sign(np.linalg.det(W2 @ W1)) * np.sign(np.linalg.det(sigma)))[:, None]
    return W1, W2, sigma


def integrate(W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Q Q^T of the integrated weights."""
    from scipy.integrate import solve_ivp

    size = len(W1)

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        first, second = state.reshape(2, size, size)
        error = sigma - second @ first
        return np.concatenate(((second.T @ error).ravel(), (error @ first.T).ravel()))

    start = np.concatenate((W1.ravel(), W2.ravel()))
    run = solve_ivp(velocity, (0.0, times[-1]), start, t_eval=times, rtol=RTOL, atol=ATOL)
    first, second = run.y.T.reshape(-1, 2, size, size).swapaxes(0, 1)
    Q = np.concatenate((first.swapaxes(1, 2), second), 1)
    return Q @ Q.swapaxes(1, 2)


def reference(W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, t: float) -> np.ndarray:
    """e^(tF) Q0 (1 + Q0^T int_0^t e^(2sF) ds Q0)^-1 Q0^T e^(tF) at many digits."""
    size = len(W1)
    with mp.workdps(DIGITS):
        F = mp.zeros(2 * size)
        for i in range(size):
            for j in range(size):
                F[size + i, j] = F[j, size + i] = mp.mpf(float(sigma[i, j]))
        rates, axes = mp.eigsy(F)
        P = mp.matrix(np.hstack([W1, W2.T]).tolist()) * axes
        grown = mp.diag([mp.expm1(2 * r * t) / (2 * r) for r in rates])
        right = P * mp.diag([mp.exp(r * t) for r in rates])
        inner = mp.cholesky(mp.eye(size) + P * grown * P.T)
        half = inner**-1 * right * axes.T
        return np.array((half.T * half).tolist(), dtype=float)


def measure(size: int) -> dict[str, object]:
    """Times and errors at every horizon."""
    from derivations.prior_knowledge import network_function, qqt

    W1, W2, sigma = random_starts(size, STARTS)
    moments = np.array([HORIZONS[0] * place for place in REFERENCE_PLACES])
    known = [[reference(W1[k], W2[k], sigma[k], float(t)) for t in moments] for k in range(REFERENCED)]
    rows = []
    for horizon in HORIZONS:
        times = np.unique(np.concatenate((moments, np.linspace(0, horizon, TIMES - len(moments)))))
        places = np.searchsorted(times, moments)

        def loop(times=times):
            return [integrate(W1[k], W2[k], sigma[k], times) for k in range(SAMPLE)]

        exact = qqt(times, W1[:REFERENCED], W2[:REFERENCED], sigma[:REFERENCED])[:, places]
        found = [integrate(W1[k], W2[k], sigma[k], times)[places] for k in range(REFERENCED)]
        row = {
            "horizon": horizon,
            "exact_seconds": best_of(lambda times=times: qqt(times, W1, W2, sigma), REPEATS),
            "network_seconds": best_of(lambda times=times: network_function(times, W1, W2, sigma), REPEATS),
            "floor_seconds": best_of(lambda: np.full((STARTS, TIMES, 2 * size, 2 * size), 1.0), REPEATS),
            "integration_seconds": best_of(loop, REPEATS) * STARTS / SAMPLE,
            "exact_error": float(np.abs(exact - known).max() / np.abs(known).max()),
            "integration_error": float(np.abs(np.array(found) - known).max() / np.abs(known).max()),
        }
        slow = row["integration_seconds"]
        ratios = {
            "ratio": slow / row["exact_seconds"],
            "network_ratio": slow / row["network_seconds"],
            "floor_ratio": row["exact_seconds"] / row["floor_seconds"],
        }
        rows.append({**row, **ratios})
    accurate = all(row["exact_error"] < row["integration_error"] for row in rows)
    return {
        "benchmark": "Q Q^T of two-layer linear networks",
        "setting": {
            "size": size,
            "starts": STARTS,
            "times": TIMES,
            "sample": SAMPLE,
            "rtol": RTOL,
            "atol": ATOL,
        },
        **surroundings("numpy", "scipy", "mpmath"),
        "threads": int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1),
        "rows": rows,
        "ratio": rows[-1]["ratio"],
        "wanted_ratio": WANTED_RATIO,
        "holds": bool(accurate and rows[-1]["ratio"] >= WANTED_RATIO),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = with_json("Exact Q Q^T against a loop over solve_ivp.")
    parser.add_argument("--size", type=int, default=20, help="inputs, hidden neurons and outputs")
    options = parser.parse_args(arguments)
    return status(measure(options.size), _show, options.json)


def _show(result) -> None:
    from rich.console import Console
    from rich.table import Table

    size = result["setting"]["size"]
    table = Table(
        title=f"{STARTS} starts at {TIMES:,} times, {size} x {size} x {size}, solve_ivp at rtol {RTOL:g}"
    )
    seconds = ("exact_seconds", "network_seconds", "floor_seconds", "integration_seconds")
    heads = ("Q Q^T, s", "W2 W1, s", "floor, s", "solve_ivp, s", "ratio", "W2 W1")
    for name in ("horizon", *heads):
        table.add_column(name, justify="right")
    for row in result["rows"]:
        ratios = (f"{row[name]:.1f}" for name in ("ratio", "network_ratio"))
        table.add_row(f"{row['horizon']:g}", *(f"{row[name]:.3g}" for name in seconds), *ratios)
    console = Console()
    console.print(table)
    ours, theirs = (max(row[f"{name}_error"] for row in result["rows"]) for name in ("exact", "integration"))
    console.print(
        f"solve_ivp extrapolated from {SAMPLE} starts; {result['threads']} threads; errors {ours:.1e} and "
        f"{theirs:.1e} against {DIGITS} digits, {REFERENCED} start"
    )
    verdict = "reached" if result["holds"] else "missed"
    console.print(
        f"{WANTED_RATIO:.0f} times faster at the longest horizon, and more accurate at all: {verdict}"
    )


if __name__ == "__main__":
    sys.exit(main())
