"""The plot idioms that the figures share: one colour per δ, quiet axes, exact curves over measured points.

matplotlib is imported inside, and no global state is touched: figures are made as objects, without pyplot.
"""

from __future__ import annotations

import numpy as np

EXACT = {"color": "black", "linewidth": 1.0, "linestyle": (0, (1, 1.6)), "zorder": 5}
POSITIVE, NEGATIVE = "#2166ac", "#b2182b"
_PANEL = 2.7


def measured(color) -> dict[str, object]:
    """How a simulated curve is drawn: broad and solid, so that the exact one, thin and dotted, stays visible
    on it.
    """
    return {"color": color, "linewidth": 2.6, "solid_capstyle": "round"}


def new_figure(rows: int, columns: int, *, width: float = _PANEL, height: float = _PANEL):
    """An empty figure for rows × columns panels, laid out so that no label overlaps."""
    from matplotlib.figure import Figure

    return Figure(figsize=(columns * width, rows * height), layout="constrained")


def delta_colors(deltas) -> dict[float, tuple]:
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


def style(axes, *, xlabel: str = "", ylabel: str = "", title: str = "") -> None:
    """Labels and quiet spines for one panel."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10, loc="left")
    axes.tick_params(labelsize=8, length=3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def style_3d(axes, *, limit: float, title: str = "") -> None:
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


def delta_legend(target, colors, **options) -> None:
    """One legend entry per δ."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=color, linewidth=2, label=f"{value:g}".replace("-", "−"))
        for value, color in sorted(colors.items())
    ]
    target.legend(handles=handles, title=r"$\delta$", frameon=False, fontsize=8, title_fontsize=10, **options)


def hyperboloid(delta: float, limit: float, points: int = 121):
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
