"""Gradient flow of the single-neuron network on full-rank data, for several δ (Kunin et al. 2024, figures 2,
3 and 4a).

X ᵀX = I₂, β_* = (0, 1), β(0) = (−1, 0), a > 0. The start is orthogonal to the target, so that learning must
turn w. The paper integrates by RK45 at a relative tolerance of 1e-6 up to t = 20 and overlays its closed
form; here the closed form is also confronted with a much tighter integration and with networks trained by
gradient descent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, between
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The paper's setting, with its tolerance and last time; how many times are shown; in how many steps networks are
# trained to the last time, and how often they are looked at.
PAPER = {
    "deltas": [-4, -2, -1, 0, 1, 2, 4],
    "beta_star": [0.0, 1.0],
    "beta_0": [-1.0, 0.0],
    "rtol": 1e-6,
    "horizon": 20.0,
    "times": 801,
    "step_counts": [2000, 4000, 8000, 16000],
    "records": 200,
}
SCALES = {
    "smoke": {**PAPER, "deltas": [-4, 0, 4], "times": 101, "step_counts": [500, 1000, 2000], "records": 100},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {
    "t": ("time",),
    "a": ("time",),
    "w": ("time", "component"),
    "S": ("time",),
    "a_rk45": ("sample",),
    "w_rk45": ("sample", "component"),
    "S_rk45": ("sample",),
    "t_rk45": ("sample",),
}
QUANTITIES = ("a", "w", "ntk", "loss")


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"delta": delta} for delta in cfg["deltas"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg, device) for cell in batch]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any], device: str) -> Cell:
    """One δ: the closed form, two solvers and trained networks."""
    import numpy as np

    from derivations.single_neuron.evaluators.exact_solution import trajectory
    from numerics.measures.kernels import kernel_distance, single_neuron_ntk
    from numerics.starts.balanced import single_neuron_start
    from numerics.training.flows import gradient_flow

    X, beta_star = np.eye(2), np.array(cfg["beta_star"])
    a0, w0 = single_neuron_start(cfg["beta_0"], cell["delta"])

    def exact(t: np.ndarray) -> Any:
        return trajectory(t=t, a0=a0, w0=w0, beta_star=beta_star)

    solver = gradient_flow(a0, w0, X, beta_star, horizon=cfg["horizon"], rtol=cfg["rtol"], atol=cfg["rtol"])
    times = np.linspace(0.0, cfg["horizon"], cfg["times"])
    tight = gradient_flow(a0, w0, X, beta_star, times=times, method="DOP853", rtol=1e-12, atol=1e-12)
    samples = np.linspace(0.0, cfg["horizon"], 401)
    sampled = gradient_flow(a0, w0, X, beta_star, times=samples, rtol=cfg["rtol"], atol=cfg["rtol"])
    a, w = exact(times)
    start = single_neuron_ntk(a0, w0, X)
    S = kernel_distance(start, single_neuron_ntk(a, w, X))
    limit = single_neuron_ntk(*single_neuron_start(beta_star, cell["delta"]), X)
    loss = 0.5 * ((a[:, None] * w - beta_star) ** 2).sum(-1)
    values = {
        "rk45_points": solver.t.size,
        "rk45_error": _worst(solver, exact(solver.t)),
        "tight_error": _worst(tight, (a, w)),
        "kernel_at_end": float(S[-1]),
        "kernel_limit": float(kernel_distance(start, limit)),
        "kernel_half_time": float(times[np.argmax(S[-1] <= 2 * S)]),
        "loss_half_time": float(times[np.argmax(loss <= loss[0] / 2)]),
        "distance_at_end": float(np.linalg.norm(a[-1] * w[-1] - beta_star)),
        **_descent(cfg, a0, w0, X, beta_star, device),
    }
    curves = {
        "t": times, "a": a, "w": w, "S": S,
        "t_rk45": samples, "a_rk45": sampled.a, "w_rk45": sampled.w,
        "S_rk45": kernel_distance(start, single_neuron_ntk(sampled.a, sampled.w, X)),
    }  # fmt: skip
    return Cell(cell, values, curves)


def _worst(flow: Any, exact: Sequence[np.ndarray]) -> float:
    """The largest deviation of a or of any component of w, over time."""
    import numpy as np

    return float(max(np.abs(flow.a - exact[0]).max(), np.abs(flow.w - exact[1]).max()))


def _descent(
    cfg: Mapping[str, Any], a0: np.ndarray, w0: np.ndarray, X: np.ndarray, beta_star: np.ndarray, device: str
) -> dict[str, Any]:
    """Deviations of trained networks from the closed form at each number of steps."""
    from derivations.single_neuron.evaluators.exact_solution import trajectory
    from numerics.studies.single_neuron.agreement import deviations, exact_trajectory, train_at_steps

    exact = exact_trajectory(trajectory, cfg["horizon"], cfg["records"], a0, w0, beta_star)
    runs = train_at_steps(
        a0, w0, X, beta_star, cfg["horizon"], cfg["step_counts"], cfg["records"], device=device
    )
    found = [deviations(run, exact, X, beta_star) for run in runs]
    errors = {f"descent_{name}": [float(item[name]) for item in found] for name in QUANTITIES}
    return {"descent_step": [cfg["horizon"] / count for count in cfg["step_counts"]], **errors}


def claims(measured: Measurements) -> list[Claim]:
    """What the paper says of these figures, and what makes the measurement count."""
    low, high = min(measured.coordinates("delta")), max(measured.coordinates("delta"))
    return [
        *_closed_form_claims(measured),
        *_kernel_claims(measured, low, high),
        at_least(
            "horizon-cuts-alignment",
            f"at δ = {low} the predictor is still at least 0.1 from β* at the paper's last time, t = 20",
            measured.value("distance_at_end", delta=low),
            0.1,
            about="own",
        ),
    ]


def _closed_form_claims(measured: Measurements) -> list[Claim]:
    """The paper's solver, a tighter one and trained networks on the closed form."""
    return [
        at_most(
            "closed-form-on-rk45",
            "at every point of the paper's solver (RK45, rtol 1e-6) a and w are within 10 rtol of the "
            "closed form",
            max(measured.values("rk45_error")),
            1e-5,
        ),
        at_most(
            "closed-form-on-tight-flow",
            "a and w from DOP853 at rtol 1e-12 are within 1e-9 of the closed form",
            max(measured.values("tight_error")),
            1e-9,
            about="check",
        ),
        order_claim(
            "descent-order",
            "networks trained with step h deviate from the closed form by O(h) in a, w, NTK and loss: the "
            "fitted order farthest from 1 over all δ",
            [
                (row.values["descent_step"], row.values[f"descent_{name}"])
                for row in measured
                for name in QUANTITIES
            ],
        ),
    ]


def _kernel_claims(measured: Measurements, low: float, high: float) -> list[Claim]:
    """How much the kernel moves at the smallest, the vanishing and the largest δ, and when."""
    kernel = {delta: measured.value("kernel_at_end", delta=delta) for delta in (low, 0, high)}
    late = {delta: measured.value("kernel_half_time", delta=delta) for delta in (low, 0)}
    return [
        at_most("kernel-upstream-little", f"S(0, 20) at δ = {high} is at most 0.05", kernel[high], 0.05),
        between(
            "kernel-balanced-moderate", "S(0, 20) at δ = 0 lies between 0.1 and 0.4", kernel[0], 0.1, 0.4
        ),
        at_least(
            "kernel-downstream-strong",
            f"S(0, 20) at δ = {low} exceeds that at δ = 0 by at least 0.3",
            kernel[low] - kernel[0],
            0.3,
        ),
        at_least(
            "kernel-downstream-late",
            f"the kernel at δ = {low} needs at least 5 times as long as at δ = 0 for half of its change up "
            "to t = 20",
            late[low] / late[0],
            5.0,
        ),
        at_least(
            "kernel-after-loss",
            f"at δ = {low} the kernel reaches half of its change at least 5 times later than the loss its "
            "half",
            late[low] / measured.value("loss_half_time", delta=low),
            5.0,
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import delta_colors, delta_legend, new_figure

    colors = delta_colors([cell.cell["delta"] for cell in results])
    drawing = new_figure(2, 4, width=2.6, height=2.6)
    top, bottom = drawing.subfigures(2, 1, height_ratios=[1.15, 1])  # type: ignore[misc]  # an array of two
    shown = _three(results)
    for place, cell in enumerate(shown, start=1):
        _parameter_space(top.add_subplot(1, 3, place, projection="3d"), cell, colors)
    panels = bottom.subplots(1, 4)
    _time_panels(panels[:3], results, colors)
    _function_space(panels[3], results, colors)
    delta_legend(drawing, colors, loc="outside right center", handlelength=1.4)
    return drawing


def _three(results: Sequence[Cell]) -> list[Cell]:
    """One downstream, the balanced and one upstream cell: |δ| = 2 if it is there, as in the paper."""
    ordered = sorted(results, key=lambda cell: (abs(abs(cell.cell["delta"]) - 2), cell.cell["delta"]))
    signs = [[cell for cell in ordered if _sign(cell.cell["delta"]) == sign] for sign in (-1, 0, 1)]
    return [group[0] for group in signs if group]


def _sign(value: float) -> int:
    """The sign of a number, 0 for 0."""
    return int(math.copysign(1, value)) if value else 0


def _parameter_space(axes: Any, cell: Cell, colors: Mapping[float, Any]) -> None:
    """One path on its hyperboloid, with the minima dashed."""
    import numpy as np

    from numerics.lab.figures import hyperboloid, style_3d

    limit, delta = 2.0, cell.cell["delta"]
    for sheet in hyperboloid(delta, limit):
        axes.plot_surface(*sheet, color="0.8", alpha=0.28, linewidth=0, antialiased=True, shade=False)
    a, w = cell.curves["a"], cell.curves["w"]
    axes.plot(w[:, 0], w[:, 1], a, color=colors[delta], linewidth=2.2, zorder=10)
    axes.scatter(w[:1, 0], w[:1, 1], a[:1], color="black", s=18, depthshade=False, zorder=11)
    height = np.linspace(1 / limit, limit, 60)
    for sign in (1, -1):
        axes.plot(0 * height, sign / height, sign * height, color="black", linewidth=1, linestyle="--")
    style_3d(axes, limit=limit, title=rf"$\delta = {delta:g}$")
    axes.view_init(elev=18, azim=-50)


def _time_panels(panels: Sequence[Axes], results: Sequence[Cell], colors: Mapping[float, Any]) -> None:
    """Signed magnitude, cosine and kernel distance over time, by the paper's solver and exactly."""
    import numpy as np

    from numerics.lab.figures import EXACT, measured, style

    for suffix in ("_rk45", ""):
        for cell in results:
            t, a, w, S = (cell.curves[name + suffix] for name in ("t", "a", "w", "S"))
            norm = np.linalg.norm(w, axis=-1)
            options = measured(colors[cell.cell["delta"]]) if suffix else EXACT
            for panel, curve in zip(panels, (a * norm, w[:, 1] / norm, S), strict=True):
                panel.plot(t, curve, **options)
    style(panels[0], xlabel="$t$", ylabel=r"$\mu = a\,\|w\|$", title="signed magnitude")
    style(panels[1], xlabel="$t$", ylabel=r"$\phi$", title=r"cosine of $w$ and $\beta_*$")
    style(panels[2], xlabel="$t$", ylabel="$S(0, t)$", title="kernel distance")


def _function_space(axes: Axes, results: Sequence[Cell], colors: Mapping[float, Any]) -> None:
    """Paths of β over the contours of the loss."""
    import numpy as np

    from numerics.lab.figures import EXACT, measured, style

    first, second = np.meshgrid(np.linspace(-1.15, 0.25, 80), np.linspace(-0.2, 1.2, 80))
    axes.contour(first, second, np.hypot(first, second - 1), levels=8, colors="0.88", linewidths=0.7)
    for suffix in ("_rk45", ""):
        for cell in results:
            beta = cell.curves["a" + suffix][:, None] * cell.curves["w" + suffix]
            axes.plot(*beta.T, **(measured(colors[cell.cell["delta"]]) if suffix else EXACT))
    axes.plot([-1], [0], "o", color="black", markersize=5, zorder=6)
    axes.plot([0], [1], "*", color="black", markersize=9, zorder=6)
    axes.set_aspect("equal")
    axes.set_xticks([-1, -0.5, 0])
    style(axes, xlabel=r"$\beta_1$", ylabel=r"$\beta_2$", title="function space")


@study(
    "kunin2024.fig234-full-rank",
    title="Single-neuron gradient flow on full-rank data: trajectories and kernel distance",
    confronts=(
        "single_neuron.conserved_delta",
        "single_neuron.preconditioner",
        "single_neuron.kernel_distance",
    ),
)
def full_rank() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS)
