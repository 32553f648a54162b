"""The tradeoff in the inductive bias: how close to the shortest solution, how close to the direction of the
start.

Kunin et al. 2024 state after Theorem 1 that δ trades the minimum-norm solution against the direction of β(0),
and that for a vanishing start the upstream and the balanced network have functionally the same bias, the
minimum norm. Here both are measured: over δ, over the size s of the start s β(0), for the paper's low-rank
problem and for random ones with three data in six dimensions, also from starts whose a changes sign on the
way. With the size s of the start the distance to the shortest solution vanishes as s for δ > 0, as √s for δ =
0, and not at all for δ < 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, between
from numerics.lab.order import fit_order
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The paper's problem at each δ, and from starts of each size at three of them; random problems; the ends of the flows.
PAPER = {
    "deltas": [-64, -16, -4, -2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2, 4, 16, 64],
    "sizes": [1.0, 1e-1, 1e-2, 1e-3, 1e-4],
    "size_deltas": [-1, 0, 1],
    "random_seeds": [0, 1, 2, 3],
    "random_deltas": [-4, -1, 0, 1, 4],
    "X": [[0.5, 1.0]],
    "y": [1.1],
    "beta_0": [0.4, 0.05],
    "horizon": 400.0,
    "random_horizon": 1500.0,
}
SMOKE = {
    "deltas": [-16, -1, 0, 1, 16],
    "sizes": [1.0, 1e-2, 1e-3, 1e-4],
    "random_seeds": [0],
    "random_deltas": [-1, 1],
}
SCALES = {"smoke": {**PAPER, **SMOKE}, "laptop": PAPER, "paper": PAPER}
ERROR = 1e-8


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A sign of −1 turns a alone, so that the predictor starts from −s β(0)."""
    grid = [{"problem": "paper", "size": 1.0, "delta": delta, "sign": 1} for delta in cfg["deltas"]]
    grid += [
        {"problem": "paper", "size": size, "delta": delta, "sign": 1}
        for delta in cfg["size_deltas"]
        for size in cfg["sizes"]
        if size != 1.0 or delta not in cfg["deltas"]
    ]
    grid += [
        {"problem": f"random {seed}", "size": 1.0, "delta": delta, "sign": sign}
        for seed in cfg["random_seeds"]
        for delta in cfg["random_deltas"]
        for sign in (1, -1)
    ]
    return grid


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg) for cell in batch]


def _problem(
    cell: Mapping[str, Any], cfg: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Data, labels, start and horizon of a cell; the random ones have singular values between ½ and 1."""
    import numpy as np

    if cell["problem"] == "paper":
        return (*(np.array(cfg[name]) for name in ("X", "y", "beta_0")), cfg["horizon"])
    generator = np.random.default_rng(int(cell["problem"].split()[1]))
    left = np.linalg.qr(generator.standard_normal((3, 3)))[0]
    right = np.linalg.qr(generator.standard_normal((6, 3)))[0]
    X = left @ np.diag(generator.uniform(0.5, 1.0, 3)) @ right.T
    beta_0 = generator.standard_normal(6)
    return X, generator.standard_normal(3), beta_0 / np.linalg.norm(beta_0), cfg["random_horizon"]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """One start: where the flow ends, and how far that is from the shortest solution and from the start."""
    import numpy as np

    from derivations.single_neuron.evaluators.interpolation import implicit_bias
    from numerics.starts.balanced import single_neuron_start
    from numerics.training.flows import gradient_flow

    X, y, beta_0, horizon = _problem(cell, cfg)
    a0, w0 = single_neuron_start(cell["size"] * beta_0, cell["delta"])
    a0 = cell["sign"] * a0
    flow = gradient_flow(a0, w0, X, y, horizon=horizon, method="DOP853", rtol=1e-12, atol=1e-14)
    final = flow.beta[-1]
    shortest = np.linalg.pinv(X) @ y
    projected = cell["size"] * beta_0 + np.linalg.pinv(X) @ (y - X @ beta_0 * cell["size"])
    cosine = abs(final @ beta_0) / (np.linalg.norm(final) * np.linalg.norm(beta_0))
    values = {
        "distance_to_shortest": float(np.linalg.norm(final - shortest) / np.linalg.norm(shortest)),
        "distance_to_projection": float(np.linalg.norm(final - projected) / np.linalg.norm(shortest)),
        "angle_to_start": float(np.degrees(np.arccos(min(cosine, 1.0)))),
        "norm": float(np.linalg.norm(final)),
        "residual": float(np.linalg.norm(X @ final - y)),
        "error": float(np.linalg.norm(final - implicit_bias(X=X, y=y, a0=a0, w0=w0))),
        "crosses": int(flow.a[0] * flow.a[-1] < 0),
    }
    return Cell(cell, values, {})


def claims(measured: Measurements) -> list[Claim]:
    """The tradeoff over δ, and the three rates at which it disappears with the size of the start."""
    random = [row for row in measured if row.cell["problem"] != "paper"]
    return [
        at_most(
            "closed-form",
            f"β(∞) by integration is within {ERROR:g} of the closed form for every problem, δ and size",
            max(measured.values("error")),
            ERROR,
            about="own",
        ),
        at_least(
            "closed-form-through-crossings",
            "among the random problems there are starts whose a changes sign on the way: how many",
            sum(row.values["crosses"] for row in random),
            1,
            about="check",
        ),
        *_tradeoff_claims(measured),
        *_vanishing_claims(measured),
    ]


def _tradeoff_claims(measured: Measurements) -> list[Claim]:
    """Over δ the solution goes from the direction of the start to the shortest one."""
    line = sorted(measured.where(problem="paper", size=1.0), key=lambda row: row.cell["delta"])
    distance, angle, projection = (
        [row.values[name] for row in line]
        for name in ("distance_to_shortest", "angle_to_start", "distance_to_projection")
    )
    return [
        at_least(
            "shorter-upstream",
            "the distance to the shortest solution falls as δ grows: its smallest fall between neighbouring "
            "δ",
            min(left - right for left, right in pairwise(distance)),
            0.0,
        ),
        at_least(
            "direction-downstream",
            "the angle to the start grows with δ: its smallest rise in degrees between neighbouring δ",
            min(right - left for left, right in pairwise(angle)),
            0.0,
        ),
        at_most(
            "far-upstream-is-projection",
            f"at δ = {line[-1].cell['delta']} the solution is within 0.01 of the projection of β(0), "
            "relative to the shortest",
            projection[-1],
            0.01,
        ),
        at_most(
            "far-downstream-is-direction",
            f"at δ = {line[0].cell['delta']} the solution is within 1 degree of the direction of β(0)",
            angle[0],
            1.0,
        ),
    ]


def _vanishing_claims(measured: Measurements) -> list[Claim]:
    """How the distance to the shortest solution falls with the size of the start, below, at and above δ = 0."""
    rates = {delta: _rate(measured, delta) for delta in (-1, 0, 1)}
    return [
        between(
            "vanishing-start-upstream",
            "at δ = 1 the distance to the shortest solution vanishes as s¹: fitted order over the three "
            "smallest sizes",
            rates[1],
            0.9,
            1.1,
            about="own",
        ),
        between(
            "vanishing-start-balanced",
            "at δ = 0 it vanishes as s^½ only: fitted order over the three smallest sizes",
            rates[0],
            0.45,
            0.55,
            about="own",
        ),
        between(
            "vanishing-start-downstream",
            "at δ = −1 it does not vanish: fitted order over the three smallest sizes",
            rates[-1],
            -0.05,
            0.05,
            about="own",
        ),
    ]


def _rate(measured: Measurements, delta: float) -> float:
    """The order in the size of the start with which the distance to the shortest solution vanishes at one δ."""
    rows = sorted(measured.where(problem="paper", delta=delta), key=lambda row: row.cell["size"])[:3]
    return fit_order(
        [row.cell["size"] for row in rows], [row.values["distance_to_shortest"] for row in rows]
    )[0]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    drawing = new_figure(1, 3, width=3.3, height=3.0)
    panels = drawing.subplots(1, 3)
    _over_delta(panels[:2], results)
    _over_size(panels[2], results)
    return drawing


def _over_delta(panels: Sequence[Axes], results: Sequence[Cell]) -> None:
    """Distance and angle over δ, measured and exact."""
    import numpy as np

    from derivations.single_neuron.evaluators.interpolation import implicit_bias
    from numerics.lab.figures import EXACT, delta_colors, style
    from numerics.starts.balanced import single_neuron_start

    line = [cell for cell in results if cell.cell["problem"] == "paper" and cell.cell["size"] == 1.0]
    colors = delta_colors([cell.cell["delta"] for cell in line])
    X, y, beta_0 = (np.array(PAPER[name]) for name in ("X", "y", "beta_0"))
    shortest = np.linalg.pinv(X) @ y
    deltas = np.concatenate([-np.geomspace(64, 0.02, 80), [0], np.geomspace(0.02, 64, 80)])
    limits = []
    for delta in deltas:
        a0, w0 = single_neuron_start(beta_0, delta)
        limits.append(implicit_bias(X=X, y=y, a0=a0, w0=w0))
    limits = np.array(limits)  # type: ignore[assignment]  # an array from here on
    cosine = limits @ beta_0 / (np.linalg.norm(limits, axis=-1) * np.linalg.norm(beta_0))
    exact = (
        np.linalg.norm(limits - shortest, axis=-1) / np.linalg.norm(shortest),
        np.degrees(np.arccos(np.minimum(cosine, 1))),
    )
    for axes, curve, name in zip(panels, exact, ("distance_to_shortest", "angle_to_start"), strict=True):
        for cell in line:
            axes.plot(
                cell.cell["delta"], cell.values[name], "o", color=colors[cell.cell["delta"]], markersize=7
            )
        axes.plot(deltas, curve, **EXACT)
        axes.set_xscale("asinh", linear_width=0.5)
        axes.set_xticks([-64, -4, 0, 4, 64], ["−64", "−4", "0", "4", "64"])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
    style(
        panels[0],
        xlabel=r"$\delta$",
        ylabel=r"$\|\beta(\infty) - \beta_*\| \,/\, \|\beta_*\|$",
        title="from the shortest solution",
    )
    style(panels[1], xlabel=r"$\delta$", ylabel="angle (degrees)", title=r"from the direction of $\beta(0)$")


def _over_size(axes: Axes, results: Sequence[Cell]) -> None:
    """The distance over the size of the start, with the predicted powers."""
    import numpy as np

    from numerics.lab.figures import delta_colors, style

    colors = delta_colors([-1, 0, 1])
    for delta, power in ((-1, 0), (0, 0.5), (1, 1)):
        cells = [cell for cell in results if cell.cell["problem"] == "paper" and cell.cell["delta"] == delta]
        cells.sort(key=lambda cell: cell.cell["size"])
        sizes = np.array([cell.cell["size"] for cell in cells])
        distances = np.array([cell.values["distance_to_shortest"] for cell in cells])
        axes.loglog(sizes, distances[0] * (sizes / sizes[0]) ** power, color="0.7", linewidth=0.9, zorder=0)
        axes.loglog(sizes, distances, "o", color=colors[delta], markersize=7)
        label = {0: "$s^0$", 0.5: r"$s^{1/2}$", 1: "$s^1$"}[power]
        axes.annotate(
            rf"$\delta = {delta}$: {label}",
            (sizes[1], distances[1]),
            xytext=(4, -14),
            textcoords="offset points",
            fontsize=9,
        )
    style(
        axes,
        xlabel="size $s$ of the start",
        ylabel=r"$\|\beta(\infty) - \beta_*\| \,/\, \|\beta_*\|$",
        title="vanishing start",
    )


@study(
    "single_neuron.inductive-bias-tradeoff",
    title="The inductive bias between the shortest solution and the direction of the start",
    confronts=(
        "single_neuron.implicit_bias_of_the_neuron",
        "single_neuron.vanishing_initialization",
    ),
)
def tradeoff() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims={})
