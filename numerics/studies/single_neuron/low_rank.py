"""The interpolating solution that gradient flow selects on low-rank data, as a function of δ (Kunin et al.
2024, figure 4b).

One datum in two dimensions: X = (½, 1), y = 1.1, so that XᵀX = [[¼, ½], [½, 1]] and the minimum-norm solution
is β_* = (0.44, 0.88). The start is β(0) = (0.4, 0.05) with a > 0. The paper integrates by RK45 at a relative
tolerance of 1e-6 up to t = 20. Here a tight integration to t = 400 decides what the limit is, and trained
networks confirm it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, between, differences
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The paper's data, start, tolerance and last time; when the tight flow ends; steps of training up to the paper's time.
PAPER: dict[str, Any] = {
    "deltas": [-4, -2, -1, 0, 1, 2, 4],
    "X": [[0.5, 1.0]],
    "y": [1.1],
    "beta_0": [0.4, 0.05],
    "rtol": 1e-6,
    "horizon": 20.0,
    "long_horizon": 400.0,
    "step_counts": [1000, 2000, 4000, 8000],
}
SCALES = {
    "smoke": {**PAPER, "deltas": [-4, 0, 4], "step_counts": [500, 1000, 2000]},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {"beta": ("time", "component"), "beta_limit": ("component",), "beta_0": ("component",)}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"delta": delta} for delta in cfg["deltas"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg, device) for cell in batch]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any], device: str) -> Cell:
    """One δ: the closed-form limit, two solvers and trained networks."""
    import numpy as np

    from derivations.single_neuron.evaluators.interpolation import implicit_bias
    from numerics.starts.balanced import single_neuron_start
    from numerics.training.flows import gradient_flow, train_single_neuron

    X, y, beta_0 = (np.array(cfg[name]) for name in ("X", "y", "beta_0"))
    a0, w0 = single_neuron_start(beta_0, cell["delta"])
    shortest, null = _solutions(X, y)
    limit = implicit_bias(X=X, y=y, a0=a0, w0=w0)
    solver = gradient_flow(a0, w0, X, y, horizon=cfg["horizon"], rtol=cfg["rtol"], atol=cfg["rtol"])
    tight = gradient_flow(
        a0, w0, X, y, times=[0.0, cfg["long_horizon"]], method="DOP853", rtol=1e-12, atol=1e-13
    )
    path = gradient_flow(
        a0, w0, X, y, times=np.linspace(0.0, cfg["horizon"], 401), rtol=cfg["rtol"], atol=cfg["rtol"]
    )
    trained = [
        train_single_neuron(
            a0, w0, X, y, step=cfg["horizon"] / count, steps=count, record=[count], device=device
        ).beta[-1]
        for count in cfg["step_counts"]
    ]
    final = solver.beta[-1]
    projected = beta_0 + np.linalg.pinv(X) @ (y - X @ beta_0)
    cosine = final @ beta_0 / (np.linalg.norm(final) * np.linalg.norm(beta_0))
    values = {
        "beta_rk45": final.tolist(),
        "beta_limit": limit.tolist(),
        "rk45_points": solver.t.size,
        "rk45_error": float(np.linalg.norm(final - limit)),
        "tight_error": float(np.linalg.norm(tight.beta[-1] - limit)),
        "alpha_rk45": float(final @ null),
        "alpha_closed_form": float(printed_alpha(shortest, null, beta_0, cell["delta"])),
        "distance_to_projection": float(np.linalg.norm(final - projected)),
        "distance_to_shortest": float(np.linalg.norm(final - shortest)),
        "angle_to_start": float(np.degrees(np.arccos(cosine))),
        "descent_step": [cfg["horizon"] / count for count in cfg["step_counts"]],
        "descent_error": [float(np.linalg.norm(beta - limit)) for beta in trained],
    }
    return Cell(cell, values, {"beta": path.beta, "beta_limit": limit, "beta_0": beta_0})


def _solutions(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest solution in the plane, and the unit vector along the line of all solutions."""
    import numpy as np

    shortest = np.linalg.pinv(X) @ y
    return shortest, np.array([-shortest[1], shortest[0]]) / np.linalg.norm(shortest)


def printed_alpha(shortest: np.ndarray, null: np.ndarray, beta_0: np.ndarray, delta: float) -> float:
    """The coordinate of β(∞) along the null direction, as the paper prints it (appendix A.4.4)."""
    import numpy as np

    size = np.linalg.norm(beta_0)
    k = np.sqrt(np.sqrt(size**2 + delta**2 / 4) - delta / 2) * (beta_0 @ null) / size
    half = (k**2 + delta) / 2
    return k * np.sqrt(half + np.sqrt(half**2 + shortest @ shortest))


def claims(measured: Measurements) -> list[Claim]:
    """β(∞) moves from the projection of β(0) through the balanced solution to the direction of β(0), as
    predicted.
    """
    return [*_limit_claims(measured), *_bias_claims(measured)]


def _limit_claims(measured: Measurements) -> list[Claim]:
    """The closed form of β(∞) on the paper's solver, on a tighter one and on trained networks."""
    gaps = differences(measured.values("alpha_rk45"), measured.values("alpha_closed_form"))
    return [
        at_most(
            "limit-on-rk45",
            "for every δ, β at t = 20 from the paper's solver (RK45, rtol 1e-6) is within 10 rtol of the "
            "closed-form limit",
            max(measured.values("rk45_error")),
            1e-5,
        ),
        at_most(
            "alpha-on-rk45",
            "for every δ, its component along the null direction is within 10 rtol of the paper's closed "
            "form for α",
            max(abs(gap) for gap in gaps),
            1e-5,
        ),
        at_most(
            "limit-on-tight-flow",
            "for every δ, β at t = 400 from DOP853 at rtol 1e-12 is within 1e-9 of the closed-form limit",
            max(measured.values("tight_error")),
            1e-9,
            about="check",
        ),
        order_claim(
            "descent-order",
            "networks trained with step h until t = 20 end O(h) away from the closed-form limit: the fitted "
            "order farthest from 1 over all δ",
            [(row.values["descent_step"], row.values["descent_error"]) for row in measured],
        ),
    ]


def _bias_claims(measured: Measurements) -> list[Claim]:
    """Which solution is selected far upstream, far downstream, and in between."""
    low, high = min(measured.coordinates("delta")), max(measured.coordinates("delta"))
    ordered = sorted(measured, key=lambda row: row.cell["delta"])
    alphas = [row.values["alpha_rk45"] for row in ordered]
    return [
        at_most(
            "upstream-projection",
            f"at δ = {high} the solution is within 0.05 of the projection of β(0) on the solutions",
            measured.value("distance_to_projection", delta=high),
            0.05,
        ),
        at_most(
            "downstream-direction",
            f"at δ = {low} the solution is within 10 degrees of the direction of β(0)",
            measured.value("angle_to_start", delta=low),
            10.0,
        ),
        between(
            "balanced-between",
            "the balanced solution lies strictly between the two ends: its place on the way from the "
            "upstream to the downstream end, as a fraction",
            (measured.value("alpha_rk45", delta=0) - alphas[-1]) / (alphas[0] - alphas[-1]),
            0.05,
            0.95,
        ),
        at_least(
            "monotone-in-delta",
            "the solution moves one way as δ grows: the smallest step in |α| between neighbouring δ",
            min(abs(left) - abs(right) for left, right in pairwise(alphas)),
            0.0,
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    import numpy as np

    from numerics.lab.figures import delta_colors, delta_legend, measured, new_figure, style

    colors = delta_colors([cell.cell["delta"] for cell in results])
    drawing = new_figure(1, 2, width=3.9, height=3.3)
    left, right = drawing.subplots(1, 2)
    (x1, x2), target = PAPER["X"][0], PAPER["y"][0]
    first, second = np.meshgrid(np.linspace(-0.05, 1.8, 90), np.linspace(-0.05, 1.2, 90))
    residual = np.abs(x1 * first + x2 * second - target)
    left.contour(first, second, residual, levels=7, colors="0.88", linewidths=0.7)
    line = np.array([-0.05, 1.8])
    left.plot(line, (target - x1 * line) / x2, color="black", linewidth=1, linestyle="--")
    for cell in results:
        left.plot(*cell.curves["beta"].T, **measured(colors[cell.cell["delta"]]))
        left.plot(*cell.curves["beta_limit"], "*", color="black", markersize=7, markeredgewidth=0, zorder=7)
    start = results[0].curves["beta_0"]
    left.plot([0, 4 * start[0]], [0, 4 * start[1]], color="0.6", linewidth=0.8, zorder=0)
    left.plot(*start, "o", color="black", markersize=5, zorder=7)
    words = {"fontsize": 8, "rotation_mode": "anchor", "transform_rotates_text": True}
    left.text(1.0, 0.66, "solutions", rotation=np.degrees(np.arctan2(-x1, x2)), **words)
    slope = np.degrees(np.arctan2(start[1], start[0]))
    left.text(1.0, 0.06, r"direction of $\beta(0)$", rotation=slope, color="0.4", **words)
    left.set(xlim=(-0.05, 1.75), ylim=(-0.05, 1.15))
    style(left, xlabel=r"$\beta_1$", ylabel=r"$\beta_2$", title="function space")
    _along_line(right, results, colors)
    style(
        right,
        xlabel=r"$\delta$",
        ylabel=r"$|\alpha(\infty)|$",
        title=r"place on the line, $\beta = \beta_* + \alpha v$",
    )
    delta_legend(drawing, colors, loc="outside right center", handlelength=1.4)
    return drawing


def _along_line(axes: Axes, results: Sequence[Cell], colors: Mapping[float, Any]) -> None:
    """|α(∞)| against δ: measured, the printed closed form, and the two ends."""
    import numpy as np

    from numerics.lab.figures import EXACT

    shortest, null = _solutions(np.array(PAPER["X"]), np.array(PAPER["y"]))
    beta_0 = np.array(PAPER["beta_0"])
    deltas = np.linspace(-4.6, 4.6, 185)
    alphas = [abs(printed_alpha(shortest, null, beta_0, delta)) for delta in deltas]
    for cell in results:
        delta = cell.cell["delta"]
        axes.plot(delta, abs(cell.values["alpha_rk45"]), "o", color=colors[delta], markersize=8)
    axes.plot(deltas, alphas, **EXACT)
    across = abs(beta_0 @ null)
    ends = (
        ("projection", across, "top"),
        ("direction", across * (shortest @ shortest) / (beta_0 @ shortest), "bottom"),
    )
    for name, level, side in ends:
        axes.axhline(level, color="0.6", linewidth=0.8, zorder=0)
        axes.annotate(rf"{name} of $\beta(0)$", (-4.6, level), ha="left", va=side, fontsize=8, color="0.4")
    axes.set_ylim(0, 1.65)


@study(
    "kunin2024.fig234-low-rank",
    title="Single-neuron gradient flow on low-rank data: the solution it selects, against δ",
    confronts=(
        "single_neuron.implicit_bias_of_the_neuron",
        "single_neuron.vanishing_initialization",
    ),
)
def low_rank() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS)
