"""The matrix Riccati and Bernoulli system in closed form against SciPy's integrators: time and accuracy, in one run.

    python -m benchmarks.wide_linear [--json FILE]

A network of 8 neurons with 8 outputs and isotropic balance learns a task whose modes are of strength 4 down to 0.02,
from small weights until the weakest has been learned to rounding; nu and C are wanted at 1,000 times. The closed form
computes them at once; ``solve_ivp`` integrates the 128 equations at a relative tolerance of 1e-10. The ratio that
counts is the one to its default method, RK45; DOP853 and LSODA, which is compiled Fortran, are shown beside it, and so
are shorter horizons, at which the integrators have less to do while the closed form has as much as ever: about 10
times faster to t = 20, 20 to t = 200, 50 from t = 700 or so on, and 120 to t = 2000. At t = 20 there is no reaching
50 by a formula that solves linear systems at every time: the last row is the time of two stacks of systems alone, one
for nu and one for C, by LAPACK. Accuracy is measured against the linearised system at many digits (mpmath). Exits with
status 1 if the closed form is less than 50 times faster than RK45 at the full horizon, or not the most accurate of all.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.stopwatch import best_of, status, surroundings, with_json

SIZE, TIMES, BALANCE, SCALE = 8, 1000, 0.02, 0.01
STRONGEST, WEAKEST = 4.0, 0.02
HORIZONS = (20.0, 200.0, 2000.0)
REFERENCE_TIMES, DIGITS = (1.0, 5.0, 20.0), 150
RTOL, ATOL = 1e-10, 1e-12
METHODS = ("RK45", "DOP853", "LSODA")
WANTED_RATIO = 50.0
REPEATS = 3


def random_start(seed: int = 0):
    """nu0, C0 and G of a network that is isotropic with balance ``BALANCE``."""
    from derivations.wide_linear import isotropic_init

    rng = np.random.default_rng(seed)
    A, W = isotropic_init(SIZE, SIZE, SIZE, BALANCE, rng, scale=SCALE)
    left, right = (np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0] for _ in range(2))
    beta_star = (left * np.geomspace(STRONGEST, WEAKEST, SIZE)) @ right
    return np.linalg.solve(A, W @ beta_star), A.T @ A, beta_star.T @ beta_star


def integrate(nu0, C0, gram, times, method):
    """nu and C (T, c, c) by ``solve_ivp``."""
    from scipy.integrate import solve_ivp

    size, shift = len(gram), BALANCE * np.eye(len(gram))

    def velocity(_, state):
        nu, C = state.reshape(2, size, size)
        pull = C @ (nu + shift)
        return np.concatenate([(gram - BALANCE * nu - nu @ nu).ravel(), (pull + pull.T - 2 * C @ C).ravel()])

    start = np.concatenate([nu0.ravel(), C0.ravel()])
    solution = solve_ivp(velocity, (0.0, times[-1]), start, method, times, rtol=RTOL, atol=ATOL)
    if not solution.success:
        raise RuntimeError(f"solve_ivp ({method}) stopped: {solution.message}")
    return solution.y.T.reshape(-1, 2, size, size).swapaxes(0, 1)


def reference(nu0, C0, gram):
    """nu and C (T, c, c) at ``REFERENCE_TIMES``: Y'' = Y (G + delta^2/4) and the linear equation of C^-1, solved in the
    eigenbasis of G at ``DIGITS`` digits.
    """
    import mpmath as mp

    with mp.workdps(DIGITS):
        exact = [mp.matrix(x.tolist()) for x in (nu0, C0, (gram + gram.T) / 2)]
        delta, size = mp.mpf(BALANCE), len(gram)
        values, axes = mp.eigsy(exact[2])
        rates = [mp.sqrt(abs(x) + delta**2 / 4) for x in values]
        n = axes.T * exact[0] * axes + delta / 2 * mp.eye(size)
        inverse = axes.T * exact[1] ** -1 * axes
        found = []
        for moment in REFERENCE_TIMES:
            t = mp.mpf(moment)
            Y = mp.diag([mp.cosh(r * t) for r in rates]) + n * mp.diag([mp.sinh(r * t) / r for r in rates])
            slope = mp.diag([r * mp.sinh(r * t) for r in rates]) + n * mp.diag(
                [mp.cosh(r * t) for r in rates]
            )
            parts = [[mp.expm1((delta + s * r) * t) / (delta + s * r) for r in rates] for s in (2, 0, -2)]
            cc = mp.diag([(a + 2 * b + c) / 4 for a, b, c in zip(*parts, strict=True)])
            cs = n * mp.diag([(a - c) / (4 * r) for a, _, c, r in zip(*parts, rates, strict=True)])
            ss = (
                n
                * mp.diag([(a - 2 * b + c) / (4 * r * r) for a, b, c, r in zip(*parts, rates, strict=True)])
                * n.T
            )
            C = mp.exp(delta * t) * (Y.T * (inverse + 2 * (cc + cs + cs.T + ss)) ** -1 * Y)
            nu = Y**-1 * slope - delta / 2 * mp.eye(size)
            found.append([np.array((axes * x * axes.T).tolist(), dtype=float) for x in (nu, C)])
    return np.array(found).swapaxes(0, 1)


def two_solves(count: int):
    """A function that solves two stacks of linear systems, as many and as large as those for nu and for C."""
    stacks = np.random.default_rng(0).normal(size=(2, count, SIZE, SIZE))
    return lambda: [np.linalg.solve(stack, np.eye(SIZE)) for stack in stacks]


def keep_memory() -> None:
    """Free an array larger than all that follow: the C library then keeps what is freed, as in a process of some age.

    In a young process a third of the time of the closed form goes into pages of memory given back and taken anew.
    """
    np.ones(2**20)


def least_times(tasks) -> list[float]:
    """The least wall time of every task, timed in rounds, so that other work on the machine disturbs all alike."""
    rounds = [[best_of(task, REPEATS) for task in tasks] for _ in range(REPEATS)]
    return np.min(rounds, 0).tolist()


def measure() -> dict[str, object]:
    """Times and errors of the closed form and of every integrator, and what follows from them."""
    from derivations.wide_linear import matrix_riccati

    start = random_start()
    known = reference(*start)
    moments = np.concatenate([[0.0], REFERENCE_TIMES])

    def largest(found) -> float:
        gaps = [
            np.abs(mine[-len(true) :] - true).max() / np.abs(true).max()
            for mine, true in zip(found, known, strict=True)
        ]
        return float(max(gaps))

    ways = {"closed form": lambda times: matrix_riccati(times, *start, BALANCE)}
    for method in METHODS:
        ways[f"solve_ivp, {method}"] = lambda times, method=method: integrate(*start, times, method)
    grids = [np.linspace(0.0, horizon, TIMES) for horizon in HORIZONS]
    tasks = [lambda times=times, solve=solve: solve(times) for solve in ways.values() for times in grids]
    keep_memory()
    *seconds, floor = least_times([*tasks, two_solves(TIMES)])
    rows = [
        {"what": what, "seconds": list(times), "error": largest(solve(moments))}
        for (what, solve), times in zip(
            ways.items(), np.reshape(seconds, (-1, len(grids))).tolist(), strict=True
        )
    ]
    for row in rows:
        row["ratio"] = [mine / ours for mine, ours in zip(row["seconds"], rows[0]["seconds"], strict=True)]
    ratio = rows[1]["ratio"][-1]
    more_accurate = rows[0]["error"] <= min(row["error"] for row in rows[1:])
    return {
        "benchmark": "matrix Riccati and Bernoulli equations",
        "setting": {
            "size": SIZE,
            "times": TIMES,
            "balance": BALANCE,
            "horizons": list(HORIZONS),
            "strengths": [STRONGEST, WEAKEST],
            "rtol": RTOL,
            "atol": ATOL,
        },
        **surroundings("numpy", "scipy", "mpmath"),
        "rows": rows,
        "two_solves": floor,
        "ratio": ratio,
        "wanted_ratio": WANTED_RATIO,
        "holds": bool(ratio >= WANTED_RATIO and more_accurate),
    }


def main(arguments: list[str] | None = None) -> int:
    options = with_json("The matrix Riccati system in closed form against solve_ivp.").parse_args(arguments)
    return status(measure(), _show, options.json)


def _show(result) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{SIZE} x {SIZE} at {TIMES:,} times, solve_ivp at rtol {RTOL:g}: milliseconds (times slower)"
    )
    table.add_column("")
    for horizon in HORIZONS:
        table.add_column(f"to t = {horizon:g}", justify="right")
    table.add_column("error", justify="right")
    for row in result["rows"]:
        pairs = zip(row["seconds"], row["ratio"], strict=True)
        cells = [f"{1e3 * seconds:.3g} ({ratio:.0f})" for seconds, ratio in pairs]
        table.add_row(row["what"], *cells, f"{row['error']:.1e}")
    ratios = [result["two_solves"] / seconds for seconds in result["rows"][0]["seconds"]]
    table.add_row(
        "two numpy.linalg.solve", *(f"{1e3 * result['two_solves']:.3g} ({x:.1f})" for x in ratios), ""
    )
    console = Console()
    console.print(table)
    console.print(
        f"the best of several runs; error: relative to the largest entry, against {DIGITS} digits, "
        f"up to t = {REFERENCE_TIMES[-1]:g}"
    )
    verdict = "reached" if result["holds"] else "missed"
    console.print(
        f"{WANTED_RATIO:.0f} times faster than {METHODS[0]} to t = {HORIZONS[-1]:g}, and more accurate: {verdict} "
        f"({result['ratio']:.0f} times)"
    )


if __name__ == "__main__":
    sys.exit(main())
