"""Exact temporal dynamics of the single-neuron network (Kunin et al. 2024, appendix A.2.6, figure).

β_* is a unit vector at π/4; β(0) is a unit vector at 3π/2, −π/4 and π/4, one row each; a(0) > 0, and δ
decides how the norm is shared. Shown are ν = wᵀβ_*/a, φ = a/√|δ| (the hyperbolic sine or cosine of the angle
on the hyperboloid, which does not exist at δ = 0), ζ = wᵀβ_*/(‖w‖‖β_*‖), and the parameters a, w₁, w₂. Where
a passes through zero ν has a pole, so its deviation is measured on the projective line: |ν − ν′| / √((1 +
ν²)(1 + ν′²)), which is |Δν| where ν is small and |Δ(1/ν)| where it is large.

The printed setting has an oddity: with a unit β_* the third row starts at the minimum, β(0) = β_*, and
nothing moves. The authors' code uses a β_* of norm ½√2, with which it does. Both norms are run; the figure
shows the latter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


# Angles in units of π; the printed norm of β_* and that of the authors' code; their tolerance and last time.
PAPER = {
    "deltas": [-2, -1, -0.2, 0, 0.2, 1, 2],
    "start_angles": [1.5, -0.25, 0.25],
    "target_angle": 0.25,
    "target_norms": [1.0, math.sqrt(0.5)],
    "rtol": 1e-6,
    "horizon": 20.0,
}
SCALES = {
    "smoke": {**PAPER, "deltas": [-2, 0, 1], "target_norms": [1.0]},
    "laptop": PAPER,
    "paper": PAPER,
}
NAMES = ("nu", "varphi", "zeta", "a", "w1", "w2")
DIMS = {"t": ("time",), **{name + end: ("time",) for name in NAMES for end in ("", "_rk45")}}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"target_norm": norm, "start_angle": angle, "delta": delta}
        for norm in cfg["target_norms"]
        for angle in cfg["start_angles"]
        for delta in cfg["deltas"]
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg) for cell in batch]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """One δ and one start: the closed form on the paper's solver and on a tighter one."""
    import numpy as np

    from derivations.single_neuron.evaluators.exact_solution import trajectory
    from derivations.single_neuron.evaluators.separatrix import crossing_time
    from numerics.starts.balanced import single_neuron_start
    from numerics.training.flows import gradient_flow

    beta_star = cell["target_norm"] * _direction(cfg["target_angle"])
    a0, w0 = single_neuron_start(_direction(cell["start_angle"]), cell["delta"])

    def both(
        tolerance: float, **points: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
        flow = gradient_flow(a0, w0, np.eye(2), beta_star, rtol=tolerance, atol=tolerance, **points)
        exact = trajectory(t=flow.t, a0=a0, w0=w0, beta_star=beta_star)
        return (
            flow.t,
            _variables(flow.a, flow.w, beta_star, cell["delta"]),
            _variables(*exact, beta_star, cell["delta"]),
        )

    _, solver, at_solver = both(cfg["rtol"], horizon=cfg["horizon"])
    _, tight, at_tight = both(1e-11, horizon=cfg["horizon"], method="DOP853")
    t, sampled, exact = both(cfg["rtol"], times=np.linspace(0.0, cfg["horizon"], 401))
    crossing = float(crossing_time(a0=a0, w0=w0, beta_star=beta_star))
    existing = [name for name in NAMES if cell["delta"] or name != "varphi"]
    values = {
        "crossing_time": crossing if math.isfinite(crossing) else None,
        "points": solver["a"].size,
        **{f"rk45_error_{name}": _gap(name, solver[name], at_solver[name]) for name in existing},
        **{f"tight_error_{name}": _gap(name, tight[name], at_tight[name]) for name in existing},
        "movement_of_a": float(np.ptp(exact["a"])),
    }
    curves = {"t": t, **exact, **{f"{name}_rk45": sampled[name] for name in NAMES}}
    return Cell(cell, values, curves)


def _direction(turns_of_pi: float) -> np.ndarray:
    """The unit vector at an angle given in units of π, exact on the axes."""
    import numpy as np

    vector = np.array([np.cos(np.pi * turns_of_pi), np.sin(np.pi * turns_of_pi)])
    return np.where(np.abs(vector) < 1e-15, 0.0, vector)


def _variables(a: np.ndarray, w: np.ndarray, beta_star: np.ndarray, delta: float) -> dict[str, np.ndarray]:
    """ν, φ, ζ, a, w₁ and w₂ over time, φ not a number at δ = 0."""
    import numpy as np

    omega = w @ beta_star
    with np.errstate(divide="ignore"):
        nu = omega / a
    varphi = a / np.sqrt(abs(delta)) if delta else np.full(a.shape, np.nan)
    zeta = omega / (np.linalg.norm(w, axis=-1) * np.linalg.norm(beta_star))
    return {"nu": nu, "varphi": varphi, "zeta": zeta, "a": a, "w1": w[:, 0], "w2": w[:, 1]}


def _gap(name: str, measured: np.ndarray, exact: np.ndarray) -> float:
    """sup over time of the deviation, chordal for ν."""
    import numpy as np

    gap = np.abs(measured - exact)
    if name == "nu":
        gap = gap / np.sqrt((1 + measured**2) * (1 + exact**2))
    return float(gap.max())


def claims(measured: Measurements) -> list[Claim]:
    """Theory and simulation coincide for every variable, every row, and δ < 0, = 0, > 0."""
    symbols = {
        "nu": "ν (on the projective line)",
        "varphi": "φ",
        "zeta": "ζ",
        "a": "a",
        "w1": "w₁",
        "w2": "w₂",
    }
    coincide = [
        at_most(
            f"coincide-{name}",
            f"{symbol} at every point of RK45 (rtol 1e-6) is within 20 rtol of the closed form, in every "
            "row and at every δ",
            _largest(measured, f"rk45_error_{name}"),
            2e-5,
        )
        for name, symbol in symbols.items()
    ]
    tight = max(_largest(measured, f"tight_error_{name}") for name in NAMES)
    crossing = [row for row in measured if row.values["crossing_time"] is not None]
    return [
        *coincide,
        at_most(
            "coincide-tight",
            "every variable from DOP853 at rtol 1e-11 is within 1e-8 of the closed form",
            tight,
            1e-8,
            about="check",
        ),
        at_least(
            "crossing-covered",
            "in the first row a passes through zero at δ ≤ −1, so the overlay includes crossings: how many "
            "cells cross",
            len(crossing),
            sum(row.cell["delta"] <= -1 and row.cell["start_angle"] == 1.5 for row in measured),
            about="check",
        ),
        at_most(
            "printed-third-row-at-rest",
            "with the printed unit β* the third row starts at the minimum: a moves by at most 1e-12 at "
            "every δ",
            max(measured.where(target_norm=1.0, start_angle=0.25).values("movement_of_a")),
            1e-12,
            about="own",
        ),
    ]


def _largest(measured: Measurements, name: str) -> float:
    """The largest value, over the cells in which it exists."""
    return max(row.values[name] for row in measured if name in row.values)


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import EXACT, delta_colors, delta_legend, measured, new_figure, style

    labels = {
        "nu": r"$\nu$",
        "varphi": r"$\varphi$",
        "zeta": r"$\zeta$",
        "a": "$a$",
        "w1": "$w_1$",
        "w2": "$w_2$",
    }
    limits = {
        "nu": (-4, 4),
        "varphi": (-2.2, 4.6),
        "zeta": (-1.08, 1.08),
        "a": (-1.7, 1.7),
        "w1": (-1.7, 1.7),
        "w2": (-1.7, 1.7),
    }
    rows = {1.5: r"$\beta(0)$ at $3\pi/2$", -0.25: r"$\beta(0)$ at $-\pi/4$", 0.25: r"$\beta(0)$ at $\pi/4$"}
    norm = min(cell.cell["target_norm"] for cell in results)
    shown = [cell for cell in results if cell.cell["target_norm"] == norm]
    colors = delta_colors(sorted({cell.cell["delta"] for cell in shown}))
    drawing = new_figure(3, 6, width=1.95, height=1.85)
    panels = drawing.subplots(3, 6, sharex=True)
    for place, (row, (angle, title)) in enumerate(zip(panels, rows.items(), strict=True)):
        for axes, name in zip(row, NAMES, strict=True):
            for suffix in ("_rk45", ""):
                for cell in shown:
                    if cell.cell["start_angle"] == angle:
                        options = measured(colors[cell.cell["delta"]]) if suffix else EXACT
                        axes.plot(cell.curves["t"], _broken(name, cell.curves[name + suffix]), **options)
            axes.set(xlim=(0, 10), ylim=limits[name])
            style(
                axes,
                xlabel="$t$" if place == 2 else "",
                ylabel=labels[name],
                title=title if name == "nu" else "",
            )
    delta_legend(drawing, colors, loc="outside right center", handlelength=1.4)
    return drawing


def _broken(name: str, curve: np.ndarray) -> np.ndarray:
    """ν without the line that would join +∞ to −∞ across its pole."""
    import numpy as np

    if name != "nu":
        return curve
    curve = curve.copy()
    jump = np.flatnonzero((np.abs(np.diff(curve)) > 4) & (curve[:-1] * curve[1:] < 0))
    curve[jump] = np.nan
    return curve


@study(
    "kunin2024.fig-single-neuron-trajectories",
    title="Exact temporal dynamics of the single-neuron network",
    confronts=(
        "single_neuron.solution_for_every_balance",
        "single_neuron.special_cases",
    ),
)
def trajectories() -> Plan:
    absent = ("crossing_time",)
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, absent=absent)
