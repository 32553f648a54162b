"""The figure of `numerics.studies.piecewise_linear.width_diagram`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import TwoSlopeNorm

from derivations.piecewise_linear.infinite_width.phase_exponent import movement_exponent
from numerics.lab.claims import Measurements, mean, mean_and_stderr
from numerics.lab.figures import new_figure, number, style
from numerics.lab.study import Cell
from numerics.studies.piecewise_linear.phase_plane import exponents, side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(results: Sequence[Cell]) -> Figure:
    """Exponents over the plane of scales, measured against derived ones, and kernel distances at one width."""
    measured = Measurements(results)
    drawing = new_figure(1, 3, width=3.5, height=3.3)
    plane, scatter, portrait = drawing.subplots(1, 3)
    movement = exponents(measured.where(part="width"), "movement")
    means = {point: mean_and_stderr(slopes) for point, slopes in movement.items()}
    _draw_plane(drawing, plane, means)
    _draw_scatter(scatter, means)
    _draw_portrait(drawing, portrait, measured.where(part="balance"))
    return drawing


def _draw_plane(
    drawing: Figure, axes: Axes, means: Mapping[tuple[float, float], tuple[float, float]]
) -> None:
    """Measured exponents over the plane of scales, axes as in the portrait: scale grows upwards, ratio to the right."""
    points = list(means)
    x, y = [-ratio for _, ratio in points], [-scale for scale, _ in points]
    low, high = min(x) - 0.35, max(x) + 0.35
    bottom, top = min(y) - 0.25, max(y) + 0.25
    corner = max(low, bottom + 1)
    axes.fill(
        [corner, 0, high, high, corner], [corner - 1, -1, -1, bottom, bottom], color="#f4e3dc", zorder=0
    )
    axes.plot([corner, 0, high], [corner - 1, -1, -1], color="black", linewidth=1.2, zorder=1)
    dots = axes.scatter(
        x,
        y,
        c=[means[point][0] for point in points],
        norm=TwoSlopeNorm(0, -2.5, 0.75),
        cmap="RdBu_r",
        s=150,
        edgecolors="0.3",
        linewidths=0.6,
        zorder=2,
    )
    drawing.colorbar(dots, ax=axes, ticks=[-2, -1, 0, 0.5], label="exponent of the movement of $W$", pad=0.02)
    axes.text(low + 0.08, top - 0.12, "lazy", fontsize=11, style="italic", va="center")
    axes.text(high - 0.08, bottom + 0.12, "rich", fontsize=11, style="italic", va="center", ha="right")
    axes.set_yticks(sorted(set(y)))
    for (gamma, gamma_prime), name in (((0.5, 0.0), "NTK"), ((1.0, 0.0), "mean field")):
        if (gamma, gamma_prime) in means:
            axes.annotate(name, (-gamma_prime, -gamma), (6, 7), textcoords="offset points", fontsize=8)
    axes.set(xlim=(low, high), ylim=(bottom, top))
    style(
        axes,
        xlabel=r"relative scale, $-\gamma' = \log_h(\beta_a/\beta_W)$",
        ylabel=r"overall scale, $-\gamma = \log_h(\beta_a\beta_W/\alpha)$",
        title="growing width",
    )


def _draw_scatter(axes: Axes, means: Mapping[tuple[float, float], tuple[float, float]]) -> None:
    """Measured against derived exponents."""
    hues = {"large": "#2166ac", "downstream": "#67a9cf", "boundary": "black", "rich": "#b2182b"}
    names = {"large": "lazy, large scale", "downstream": "lazy, downstream"}
    ends = [movement_exponent(*point) for point in means]
    axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="0.6", linewidth=0.8)
    for where, hue in hues.items():
        shown = [point for point in means if side(point) == where]
        axes.errorbar(
            [movement_exponent(*point) for point in shown],
            [means[point][0] for point in shown],
            yerr=[means[point][1] for point in shown],
            fmt="o",
            markersize=4,
            linewidth=1,
            color=hue,
            label=names.get(where, where),
        )
    axes.legend(frameon=False, fontsize=8)
    style(axes, xlabel="exponent derived", ylabel="exponent measured", title="movement of $W$ against width")


def _draw_portrait(drawing: Figure, axes: Axes, finite: Measurements) -> None:
    """Mean kernel distance over (δ, τ) at one width."""
    taus, deltas = (sorted(finite.distinct(name)) for name in ("tau", "delta"))
    distance = [
        [mean(finite.where(tau=tau, delta=delta).values("kernel_distance")) for delta in deltas]
        for tau in taus
    ]
    image = axes.imshow(np.array(distance), origin="lower", aspect="auto", cmap="magma", vmin=0)
    axes.set_xticks(range(len(deltas)), [number(delta) for delta in deltas])
    axes.set_yticks(range(len(taus)), [f"{tau:g}" for tau in taus])
    drawing.colorbar(image, ax=axes, label="kernel distance", pad=0.02)
    style(axes, xlabel=r"balance $\delta$", ylabel=r"scale $\tau$", title="one width")
