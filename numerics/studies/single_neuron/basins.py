"""Two basins of attraction and the surface between them (Kunin et al. 2024, appendix A.2.5, figure).

Whitened data, β_* = (1, ¼) as in the authors' code. For every point of a grid of starts (w₁, w₂, a) the flow
is integrated to t = 200 and the final sign of a is compared with the sign of

    F(a, w) = wᵀβ_* + ½ a (δ + √(δ² + 4‖β_*‖²)),    δ = a² − ‖w‖²,

the functional whose zero set the paper states as the separating surface. Starts on the surface have no final
sign; they are left out and counted. In addition, the place where the final sign flips is found by bisection
of integrations, along lines parallel to β_*, and compared with the zero of F: this measures the surface
itself. A bisection stops integrating a start as soon as a and wᵀβ_* share a sign, after which neither ever
changes (Lemma 4 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


# The cube of starts, in planes a(0) = const, each with a grid of w(0) and lines along β_*; the end of the flow; how
# often the place on a line is halved. Shown are two starts at a(0) beside the surface, so far from it, for each δ.
PAPER: dict[str, Any] = {
    "beta_star": [1.0, 0.25],
    "limit": 3.0,
    "heights": 13,
    "grid": 25,
    "lines": 13,
    "horizon": 200.0,
    "bisections": 24,
    "shown_deltas": [0.0, -2.0, -10.0],
    "shown_height": -4.0,
    "shown_offset": 1e-3,
}
SCALES = {
    "smoke": {**PAPER, "heights": 3, "grid": 13, "lines": 5, "bisections": 19},
    "laptop": PAPER,
    "paper": PAPER,
}
# Starts with |F| up to the first are on the surface; a and wᵀβ_* share a sign where their product is above the second.
ON_SURFACE, SHARED_SIGN = 1e-9, 1e-12
DIMS = {
    "sign": ("w1", "w2"),
    "surface": ("line",),
    "across": ("line",),
    "path_a": ("side", "time"),
    "path_w": ("side", "time", "component"),
}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    step = 2 * cfg["limit"] / (cfg["heights"] - 1)
    slices = [{"part": "slice", "height": -cfg["limit"] + step * k} for k in range(cfg["heights"])]
    return slices + [{"part": "pair", "delta": delta} for delta in cfg["shown_deltas"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_slice(cell, cfg) if cell["part"] == "slice" else _run_pair(cell, cfg) for cell in batch]


def functional(a: np.ndarray, w: np.ndarray, beta_star: np.ndarray) -> np.ndarray:
    """F(a, w), whose sign names the basin; a (...), w (..., d), returns (...)."""
    import numpy as np

    delta = a * a - (w * w).sum(-1)
    return w @ beta_star + 0.5 * a * (delta + np.sqrt(delta * delta + 4 * beta_star @ beta_star))


def _run_slice(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """All starts in a plane a(0) = const: signs found and stated, and where the sign flips."""
    import numpy as np

    from numerics.training.flows import gradient_flow

    beta_star = np.array(cfg["beta_star"])
    axis = np.linspace(-cfg["limit"], cfg["limit"], cfg["grid"])
    w = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)
    a = np.full(w.shape[:-1], cell["height"])
    stated = functional(a, w, beta_star)
    off = np.abs(stated) > ON_SURFACE
    flow = gradient_flow(a[off], w[off], np.eye(2), beta_star, times=[cfg["horizon"]], rtol=1e-8, atol=1e-10)
    found = np.zeros(a.shape)
    found[off] = np.sign(flow.a[:, -1])
    arrived = np.linalg.norm(flow.beta[:, -1] - beta_star, axis=-1) < 1e-3
    shifted = functional(1.02 * a, w, beta_star)
    across, surface, stated_surface = _surface(cell["height"], cfg, beta_star)
    values = {
        "starts": int(off.sum()),
        "on_surface": int((~off).sum()),
        "disagreements": int((found[off] != np.sign(stated[off])).sum()),
        "arrived": int(arrived.sum()),
        "told_from_a_surface_2_percent_off": int((found[off] != np.sign(shifted[off])).sum()),
        "surface_error": float(np.abs(surface - stated_surface).max()),
        "lines": int(across.size),
    }
    return Cell(cell, values, {"sign": found, "surface": surface, "across": across})


def _surface(
    height: float, cfg: Mapping[str, Any], beta_star: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Along lines w = s β̂ + u v: where the final sign flips, by bisecting integrations and by bisecting F."""
    import numpy as np

    length = np.linalg.norm(beta_star)
    unit = beta_star / length
    normal = np.array([-unit[1], unit[0]])
    across = np.linspace(-cfg["limit"], cfg["limit"], cfg["lines"])

    def start(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(position.shape, height), position[:, None] * unit + across[:, None] * normal

    def integrated(position: np.ndarray) -> np.ndarray:
        return _final_sign(*start(position), cfg, beta_star)

    def stated(position: np.ndarray) -> np.ndarray:
        return np.sign(functional(*start(position), beta_star))

    bracket = abs(height) + 0.7, abs(height) + 1.0
    return (
        across,
        _bisect(integrated, bracket, across.size, cfg["bisections"]),
        _bisect(stated, bracket, across.size, 60),
    )


def _bisect(
    sign: Callable[[np.ndarray], np.ndarray], bracket: Sequence[float], size: int, steps: int
) -> np.ndarray:
    """Where ``sign`` flips from −1 to 1 between −bracket[0] and bracket[1], for each of ``size`` lines at
    once.
    """
    import numpy as np

    low, high = np.full(size, -bracket[0]), np.full(size, bracket[1])
    if not ((sign(low) < 0).all() and (sign(high) > 0).all()):
        raise RuntimeError("the final sign of a does not flip within the bracket")
    for _ in range(steps):
        middle = 0.5 * (low + high)
        up = sign(middle) > 0
        low, high = np.where(up, low, middle), np.where(up, middle, high)
    return 0.5 * (low + high)


def _final_sign(a: np.ndarray, w: np.ndarray, cfg: Mapping[str, Any], beta_star: np.ndarray) -> np.ndarray:
    """The sign of a once it and wᵀβ_* agree for every start a (n,), w (n, 2), or at ten times the horizon."""
    import numpy as np

    from numerics.training.flows import gradient_flow

    flow = gradient_flow(
        a,
        w,
        np.eye(2),
        beta_star,
        horizon=10 * cfg["horizon"],
        rtol=1e-9,
        atol=1e-12,
        stop=lambda a, w: (a * (w @ beta_star)).min() - SHARED_SIGN,
    )
    return np.sign(flow.a[:, -1])


def _run_pair(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """Two starts at a(0) = −4, on either side of the surface, and where they go."""
    import numpy as np

    from numerics.training.flows import gradient_flow

    beta_star, a, delta = np.array(cfg["beta_star"]), cfg["shown_height"], cell["delta"]
    length = np.linalg.norm(beta_star)
    unit = beta_star / length
    along = -0.5 * a * (delta + np.sqrt(delta**2 + 4 * length**2)) / length
    across = np.sqrt(max(a * a - delta - along**2, 0.0))
    w = along * unit + across * np.array([-unit[1], unit[0]])
    starts = a + cfg["shown_offset"] * np.array([-1.0, 1.0])
    flow = gradient_flow(
        starts,
        np.stack([w, w]),
        np.eye(2),
        beta_star,
        times=np.concatenate([[0.0], np.geomspace(1e-3, cfg["horizon"], 400)]),
        rtol=1e-6,
        atol=1e-6,
    )
    values = {
        "sign_below": float(np.sign(flow.a[0, -1])),
        "sign_above": float(np.sign(flow.a[1, -1])),
        "nearest_to_saddle": float(np.hypot(flow.a, flow.w @ beta_star).min()),
    }
    return Cell(cell, values, {"path_a": flow.a, "path_w": flow.w})


def claims(measured: Measurements) -> list[Claim]:
    """The sign of a(∞) on a grid changes exactly across the stated surface."""
    slices, pairs = measured.where(part="slice"), measured.where(part="pair")
    starts = sum(slices.values("starts"))
    left_out = sum(slices.values("on_surface"))
    return [
        at_most(
            "sign-on-grid",
            f"with F = wᵀβ* + a (δ + √(δ² + 4‖β*‖²)) / 2 at the start, the final sign of a differs from the "
            f"sign of F at none of {starts} starts ({left_out} with F = 0 left out)",
            sum(slices.values("disagreements")),
            0,
        ),
        at_most(
            "surface-measured",
            f"on {sum(slices.values('lines'))} lines the place where the final sign flips is within 1e-5 of "
            "the zero of F",
            max(slices.values("surface_error")),
            1e-5,
        ),
        at_most(
            "pairs-separate",
            "starts 1e-3 below and above the surface, at a(0) = −4, end with a < 0 and a > 0: how many "
            "pairs do not",
            sum(row.values["sign_below"] >= 0 or row.values["sign_above"] <= 0 for row in pairs),
            0,
        ),
        at_least(
            "starts-arrived",
            "at least 95 % of the starts have reached the minima by t = 200, so that the sign is final",
            sum(slices.values("arrived")) / starts,
            0.95,
            about="check",
        ),
        at_least(
            "grid-has-power",
            "the grid tells the stated surface from one whose a is 2 % off: how many starts disagree with "
            "that one",
            sum(slices.values("told_from_a_surface_2_percent_off")),
            1,
            about="check",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    drawing = new_figure(1, 2, width=4.2, height=4.3)
    left, right = drawing.subfigures(1, 2, width_ratios=[1.05, 1])  # type: ignore[misc]  # an array of two
    slices = [cell for cell in results if cell.cell["part"] == "slice"]
    _draw_surface(left.add_subplot(projection="3d"), slices, [c for c in results if c.cell["part"] == "pair"])
    _draw_slices(right, slices)
    return drawing


def _draw_surface(axes: Any, slices: Sequence[Cell], pairs: Sequence[Cell]) -> None:
    """The measured surface, and the paths of starts next to it."""
    import numpy as np

    from numerics.lab.figures import NEGATIVE, POSITIVE, style_3d

    beta_star = np.array(PAPER["beta_star"])
    unit = beta_star / np.linalg.norm(beta_star)
    normal = np.array([-unit[1], unit[0]])
    w = np.array(
        [cell.curves["surface"][:, None] * unit + cell.curves["across"][:, None] * normal for cell in slices]
    )
    height = np.array([cell.cell["height"] for cell in slices])
    axes.plot_surface(
        w[..., 0], w[..., 1], height[:, None] + 0 * w[..., 0],
        color="0.75", alpha=0.45, linewidth=0.3, edgecolor="0.55", shade=False,
    )  # fmt: skip
    for cell in pairs:
        for a, w, color in zip(
            cell.curves["path_a"], cell.curves["path_w"], (NEGATIVE, POSITIVE), strict=True
        ):
            axes.plot(w[:, 0], w[:, 1], a, color=color, linewidth=1.4, zorder=10)
    style_3d(axes, limit=4.0, title="measured surface, and starts on either side of it")
    axes.view_init(elev=24, azim=-75)


def _draw_slices(drawing: Any, slices: list[Cell]) -> None:
    """Final signs over w(0) in four planes a(0), with the stated boundary."""
    import numpy as np
    from matplotlib.lines import Line2D

    from numerics.lab.figures import NEGATIVE, POSITIVE, style

    heights = np.array([cell.cell["height"] for cell in slices])
    wanted = [np.abs(heights - level).argmin() for level in (-2.0, -1.0, 1.0, 2.0)]
    panels = drawing.subplots(2, 2, sharex=True, sharey=True)
    beta_star, limit = np.array(PAPER["beta_star"]), PAPER["limit"]
    fine = np.linspace(-limit, limit, 301)
    w = np.stack(np.meshgrid(fine, fine, indexing="ij"), -1)
    for axes, place in zip(panels.flat, wanted, strict=True):
        cell = slices[place]
        signs = cell.curves["sign"]
        axis = np.linspace(-limit, limit, len(signs))
        first, second = np.meshgrid(axis, axis, indexing="ij")
        for sign, color in ((-1, NEGATIVE), (1, POSITIVE)):
            axes.plot(
                first[signs == sign], second[signs == sign], ".", color=color, markersize=2.6, alpha=0.8
            )
        height = cell.cell["height"]
        axes.contour(
            w[..., 0],
            w[..., 1],
            functional(np.full(w.shape[:-1], height), w, beta_star),
            [0.0],
            colors="black",
        )
        axes.set_aspect("equal")
        style(axes, title=rf"$a(0) = {height:g}$")
    for axes in panels[-1]:
        axes.set_xlabel("$w_1(0)$")
    for axes in panels[:, 0]:
        axes.set_ylabel("$w_2(0)$")
    handles = [
        Line2D([], [], marker="o", linestyle="none", color=POSITIVE, markersize=4, label=r"$a(\infty) > 0$"),
        Line2D([], [], marker="o", linestyle="none", color=NEGATIVE, markersize=4, label=r"$a(\infty) < 0$"),
        Line2D([], [], color="black", linewidth=1.2, label="$F = 0$"),
    ]
    drawing.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


@study(
    "kunin2024.fig-basins",
    title="Two basins of attraction of the single-neuron network and the surface between them",
    confronts=(
        "single_neuron.final_branch",
        "single_neuron.separating_surface",
    ),
)
def basins() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS)
