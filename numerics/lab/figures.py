"""The plot idioms that the figures share: one colour per δ, quiet axes, exact curves over measured points.

matplotlib is imported inside, and no global state is touched: figures are made as objects, without pyplot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numerics.lab.study import Cell


EXACT: dict[str, Any] = {"color": "black", "linewidth": 1.0, "linestyle": (0, (1, 1.6)), "zorder": 5}
POSITIVE, NEGATIVE = "#2166ac", "#b2182b"
ACTIVATION_COLORS = {"linear": "#d1495b", "tanh": "#1b6ca8", "relu": "#3a8f5c"}
ACTIVATION_NAMES = {"linear": "linear", "tanh": "tanh", "relu": "ReLU"}
_PANEL = 2.7


def measured(color: Any) -> dict[str, Any]:
    """How a simulated curve is drawn: broad and solid, so that the exact one, thin and dotted, stays visible
    on it.
    """
    return {"color": color, "linewidth": 2.6, "solid_capstyle": "round"}


def new_figure(rows: int, columns: int, *, width: float = _PANEL, height: float = _PANEL) -> Figure:
    """An empty figure for rows × columns panels, laid out so that no label overlaps."""
    from matplotlib.figure import Figure

    return Figure(figsize=(columns * width, rows * height), layout="constrained")


def delta_colors(deltas: Iterable[float]) -> dict[float, tuple[Any, ...]]:
    """A colour for each δ on a diverging map: brown downstream (δ < 0), grey balanced, green upstream (δ >
    0).

    Colours follow the rank of |δ|, not its size, so that neighbouring curves can be told apart at any
    spacing.
    """
    from matplotlib import colormaps

    magnitudes = sorted({abs(value) for value in deltas if value != 0})
    colors = {}
    for value in deltas:
        if value == 0:
            colors[value] = (0.45, 0.45, 0.45, 1.0)
            continue
        rank = (magnitudes.index(abs(value)) + 1) / len(magnitudes)
        colors[value] = colormaps["BrBG"](0.5 + np.sign(value) * (0.2 + 0.27 * rank))
    return colors


def number(value: float, form: str = "g") -> str:
    """A number in a given format, with a minus sign in place of the hyphen."""
    return format(value, form).replace("-", "−")


def style(axes: Axes, *, xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Labels and quiet spines for one panel."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10, loc="left")
    axes.tick_params(labelsize=8, length=3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def style_3d(axes: Any, *, limit: float, title: str = "") -> None:
    """A parameter-space panel (w₁, w₂, a) on the cube [−limit, limit]³."""
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), zlim=(-limit, limit))
    axes.set_xlabel("$w_1$", labelpad=-8)
    axes.set_ylabel("$w_2$", labelpad=-8)
    axes.set_zlabel("$a$", labelpad=-9)
    axes.set_title(title, fontsize=10, y=0.98)
    axes.tick_params(labelsize=7, pad=-3)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_ticks([-limit / 2, 0, limit / 2])
        axis.pane.set_facecolor((1, 1, 1, 0))
        axis.pane.set_edgecolor((0.8, 0.8, 0.8, 1))
    axes.grid(False)


def delta_legend(target: Axes | Figure, colors: Mapping[float, Any], **options: Any) -> None:
    """One legend entry per δ."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=color, linewidth=2, label=number(value))
        for value, color in sorted(colors.items())
    ]
    target.legend(handles=handles, title=r"$\delta$", frameon=False, fontsize=8, title_fontsize=10, **options)


def hyperboloid(
    delta: float, limit: float, points: int = 121
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sheets of a² − ‖w‖² = δ in the cube [−limit, limit]³, each as arrays (w₁, w₂, a)."""
    angle = np.linspace(0, 2 * np.pi, points)
    if delta >= 0:
        radius = np.linspace(0, np.sqrt(max(limit**2 - delta, 0)), points)
        radius, angle = np.meshgrid(np.minimum(radius, limit), angle)
        height = np.sqrt(radius**2 + delta)
        return [(radius * np.cos(angle), radius * np.sin(angle), sign * height) for sign in (1, -1)]
    reach = np.sqrt(max(limit**2 + delta, 0))
    height, angle = np.meshgrid(np.linspace(-reach, reach, points), angle)
    radius = np.sqrt(height**2 - delta)
    return [(radius * np.cos(angle), radius * np.sin(angle), height)]


def draw_heatmaps(
    results: Sequence[Cell], rows: Sequence[tuple[str, str, bool]], steps: Sequence[int]
) -> Figure:
    """A figure of heat maps over (δ, τ), averaged over seeds: a row for each (measure, title, logarithmic), a column
    for each of ``steps``.
    """
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import FixedLocator, NullLocator

    drawing = new_figure(len(rows), len(steps), width=2.2, height=2.1)
    panels = drawing.subplots(len(rows), len(steps), sharex=True, sharey=True, squeeze=False)
    for line, (name, title, logarithmic) in zip(panels, rows, strict=True):
        maps = [mean_map(results, name, step) for step in steps]
        values = np.concatenate([shown[2].ravel() for shown in maps])
        values = values[np.isfinite(values) & ((values > 0) | (not logarithmic))]
        low, high = (values.min(), values.max()) if logarithmic else (0.0, values.max())
        norm = (LogNorm if logarithmic else Normalize)(low, max(high, low * 1.0001))
        for axes, (deltas, taus, mean) in zip(line, maps, strict=True):
            edges = _edges(deltas), np.exp(_edges(np.log(taus)))
            image = axes.pcolormesh(*edges, np.clip(mean, low, None), norm=norm, cmap="magma")
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2]))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.tick_params(labelsize=8)
        line[0].set_ylabel(r"$\tau$")
        drawing.colorbar(image, ax=list(line), label=title, pad=0.01)
    for axes, step in zip(panels[0], steps, strict=True):
        axes.set_title(f"{step:,} steps", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel(r"$\delta$")
    return drawing


def mean_map(results: Sequence[Cell], name: str, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The seeds' mean of a measure after ``step`` steps: δ (D,), τ (T,) and the map (T, D), NaN where no cell is."""
    deltas = sorted({cell.cell["delta"] for cell in results})
    taus = sorted({cell.cell["tau"] for cell in results})
    total, count = np.zeros((len(taus), len(deltas))), np.zeros((len(taus), len(deltas)))
    for cell in results:
        place = taus.index(cell.cell["tau"]), deltas.index(cell.cell["delta"])
        total[place] += cell.curves[name][cell.curves["step"] == step].item()
        count[place] += 1
    with np.errstate(invalid="ignore"):
        return np.array(deltas), np.array(taus), total / count


def _edges(centres: np.ndarray) -> np.ndarray:
    """The borders of the cells around increasing centres, two or more."""
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def draw_sectors(axes: Axes, W: np.ndarray, limit: float) -> None:
    """The activation regions of a network in the plane in two colours: the sectors between the lines wᵀx = 0 of
    its neurons W (h, 2). Lines closer than 1e-6 count as one, and every line changes the colour.
    """
    from matplotlib.patches import Wedge

    lines = np.sort(np.degrees(np.arctan2(W[:, 0], -W[:, 1])) % 180)
    lines = lines[np.diff(lines, prepend=lines[-1] - 180) > 1e-6]
    rays = np.concatenate([lines, lines + 180])
    for place, (low, high) in enumerate(zip(rays, np.append(rays[1:], rays[0] + 360), strict=True)):
        shade = "0.92" if place % 2 else "1.0"
        axes.add_patch(Wedge((0, 0), 1.5 * limit, low, high, facecolor=shade, edgecolor="0.8", linewidth=0.4))


def draw_curves(results: Sequence[Cell], rows: Sequence[tuple[str, str, bool]]) -> Figure:
    """A panel for each (measure, title, logarithmic) over the steps of training: a colour for each δ, a line style for
    each τ (at most five are drawn), averaged over seeds.
    """
    from matplotlib.lines import Line2D

    deltas = sorted({cell.cell["delta"] for cell in results})
    taus = sorted({cell.cell["tau"] for cell in results})
    taus = [taus[place] for place in np.unique(np.linspace(0, len(taus) - 1, 5).round().astype(int))]
    styles = dict(zip(taus, ("-", (0, (5, 1.5)), "-.", (0, (3, 1, 1, 1, 1, 1)), ":"), strict=False))
    colors = delta_colors(deltas)
    drawing = new_figure(1, len(rows), width=2.3, height=2.5)
    for axes, (name, title, logarithmic) in zip(drawing.subplots(1, len(rows)), rows, strict=True):
        for tau in taus:
            for delta in deltas:
                group = [c for c in results if c.cell["tau"] == tau and c.cell["delta"] == delta]
                if not group:
                    continue
                curve = np.mean([cell.curves[name] for cell in group], axis=0)
                steps = group[0].curves["step"]
                axes.plot(steps[1:], curve[1:], color=colors[delta], linestyle=styles[tau], linewidth=1.6)
        axes.set_xscale("log")
        axes.set_yscale("log" if logarithmic else "linear")
        style(axes, xlabel="steps", title=title)
    lines = [
        Line2D([], [], color="black", linestyle=styles[tau], label=rf"$\tau = {tau:.2g}$") for tau in taus
    ]
    hues = [Line2D([], [], color=colors[d], linewidth=2, label=rf"$\delta = {d:g}$") for d in deltas]
    drawing.legend(handles=[*lines, *hues], loc="outside right center", frameon=False, fontsize=8)
    return drawing
