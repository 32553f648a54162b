"""Forgetting that was foretold, and forgetting that was measured (Braun et al. 2022, figure 5B).

Fifty networks of each kind (linear, tanh, ReLU) learn one task and then another. How much of the first is forgotten,
L_1(T_2) − L_1(T_1), is told from the correlations of the tasks before training, by
``derivations.prior_knowledge.forgetting``. The published sizes and tasks are not stated. Here N_h, N_i, N_o = 10, 5, 3
and every task has ten whitened inputs of its own; its targets are a linear map of the inputs, with singular values
between 0.5 and 2, and a part of mean square noise² that no linear map explains. What a nonlinear network forgets
depends on that part, so that its size is varied; at every size the starts and the correlations of a seed are the same.

The source says that tanh and ReLU "can show different behaviour, typically increasing the amount of forgetting". That
it increases also where a linear map explains the tasks, or grows with what it leaves, is not in that sentence: those
claims are ours. (The former was first taken for the source's, and failed.) Only ends are compared here; that every
step follows the gradient of the loss, for all three nonlinearities, is a unit test of ``numerics.training.continual``,
and that the losses of linear networks follow the exact chain of solutions on the way is measured for figure 5A. That
the second task is learned, and as closely as the diagonal asks for, is a check that was added after the data had been
seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, differences, mean_at_least
from numerics.lab.study import Cell, Plan, study
from numerics.training.continual import ACTIVATIONS, NONLINEAR, SETTING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# At every noise each task is learned in ``steps`` steps of the size ``rate``.
PAPER = {
    **{name: SETTING[name] for name in ("sizes", "P", "strengths", "start")},
    "noises": [0.0, 0.5, 1.0, 1.5, 2.0],
    "rate": 0.02,
    "steps": 5000,
    "seeds": list(range(50)),
}
SCALES = {
    "smoke": {**PAPER, "noises": [0.0, 1.0], "rate": 0.05, "steps": 800, "seeds": list(range(10))},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS: dict[str, tuple[str, ...]] = {}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"activation": kind, "noise": noise, "seed": seed}
        for kind in ACTIVATIONS
        for noise in cfg["noises"]
        for seed in cfg["seeds"]
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    from numerics.training.continual import foretold_and_measured

    foretold, L = foretold_and_measured(batch, {**cfg, "noise": batch[0]["noise"]}, 2, 54, device)
    return [
        Cell(
            cell,
            {
                "foretold": float(foretold[place, 0, 1] - foretold[place, 0, 0]),
                "measured": float(L[place, 0, 2] - L[place, 0, 1]),
                "learned": float(foretold[place, 0, 0] - L[place, 0, 1]),
                "above_best": float(max(L[place, i, i + 1] - foretold[place, i, i] for i in range(2))),
                "left": float(L[place, 0, 2] - foretold[place, 0, 1]),
            },
            {},
        )
        for place, cell in enumerate(batch)
    ]


def excess(rows: Measurements) -> list[float]:
    """How much more was forgotten than foretold, network by network."""
    return differences(rows.values("measured"), rows.values("foretold"))


def claims(measured: Measurements) -> list[Claim]:
    """Linear networks on the diagonal, the others off it, and on which side of it."""
    linear = measured.where(activation="linear")
    return [
        at_most(
            "linear-on-the-diagonal",
            f"what {len(linear)} linear networks forget is within 1e-6 of what was foretold",
            max(abs(value) for value in excess(linear)),
            1e-6,
        ),
        *(
            at_least(
                f"{kind}-off-the-diagonal",
                f"what {kind} networks forget deviates from it by at least 0.1, root mean square",
                _rms(excess(measured.where(activation=kind))),
                0.1,
            )
            for kind in NONLINEAR
        ),
        *_more_claims(measured.where(noise=1.0)),
        *_noise_claims(measured.where(noise=0.0), measured.where(noise=max(measured.distinct("noise")))),
        at_most(
            "linear-networks-have-learned",
            "linear networks end the first task within 1e-6 of the best linear map",
            max(abs(value) for value in linear.values("learned")),
            1e-6,
            about="check",
        ),
        at_most(
            "both-tasks-are-learned-closely",
            "linear networks end either task within 1e-14 of the loss of the best linear map: the largest excess. To "
            "the first order the loss of the first task then has moved by less than 1e-6",
            max(linear.values("above_best")),
            1e-14,
            about="check",
        ),
    ]


def _more_claims(noisy: Measurements) -> list[Claim]:
    """Nonlinear networks forget more of the tasks of which a linear map leaves the loss ½."""
    return [
        *(
            mean_at_least(
                f"{kind}-forgets-more",
                f"{kind} networks forget at least 0.05 more than foretold, on tasks of which a linear map leaves ½ "
                "unexplained",
                excess(noisy.where(activation=kind)),
                0.05,
            )
            for kind in NONLINEAR
        ),
        *(
            at_least(
                f"most-{kind}-networks-forget-more",
                f"of {len(rows)} {kind} networks, on tasks of which a linear map leaves ½ unexplained, the "
                "fraction that forgets more than foretold (of 50, 0.66 excludes one half in a two-sided sign test)",
                sum(value > 0 for value in excess(rows)) / len(rows),
                0.66,
            )
            for kind, rows in ((kind, noisy.where(activation=kind)) for kind in NONLINEAR)
        ),
    ]


def _noise_claims(plain: Measurements, loudest: Measurements) -> list[Claim]:
    """Whether they forget more of linear tasks too, and more the more a linear map leaves."""
    return [
        *(
            mean_at_least(
                f"{kind}-forgets-more-of-linear-tasks",
                f"{kind} networks forget at least 0.05 more than foretold also of tasks that a linear map explains",
                excess(plain.where(activation=kind)),
                0.05,
                about="own",
            )
            for kind in NONLINEAR
        ),
        *(
            mean_at_least(
                f"{kind}-excess-grows-with-noise",
                f"{kind} networks forget at least 1 more than foretold, of tasks with the largest noise, than of "
                "linear ones: paired by seed",
                differences(*(excess(rows.where(activation=kind)) for rows in (loudest, plain))),
                1.0,
                about="own",
            )
            for kind in NONLINEAR
        ),
    ]


def _rms(values: Sequence[float]) -> float:
    """The root mean square."""
    return math.sqrt(math.fsum(value * value for value in values) / len(values))


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure, style

    measured = Measurements(results)
    drawing = new_figure(1, 3, width=2.9, height=2.9)
    panels = drawing.subplots(1, 3)
    titles = ("best linear map: loss ½", "best linear map: loss 0")
    for axes, noise, title in zip(panels, (1.0, 0.0), titles, strict=False):
        _scatter(axes, measured.where(noise=noise))
        style(axes, xlabel="forgetting, foretold", ylabel="forgetting, measured", title=title)
    panels[0].legend(frameon=False, fontsize=8, handletextpad=0.2, loc="upper left")
    _over_noise(panels[2], measured)
    style(
        panels[2],
        xlabel="loss of the best linear map",
        ylabel="measured − foretold",
        title="mean excess, 95 %",
    )
    return drawing


def _scatter(axes: Axes, rows: Measurements) -> None:
    """Measured against foretold forgetting, a dot a network."""
    from matplotlib.ticker import MultipleLocator

    from numerics.lab.figures import ACTIVATION_COLORS, ACTIVATION_NAMES

    values = [value for name in ("foretold", "measured") for value in rows.values(name)]
    low, high = min(*values, 0.0), max(values)
    edge = 0.05 * (high - low)
    ends = [low - edge, high + edge]
    axes.plot(ends, ends, color="0.75", linewidth=1, zorder=0)
    for kind in ("relu", "tanh", "linear"):
        found = rows.where(activation=kind)
        axes.plot(found.values("foretold"), found.values("measured"), "o", color=ACTIVATION_COLORS[kind], markersize=4,
                  markeredgecolor="white", markeredgewidth=0.4, label=ACTIVATION_NAMES[kind])  # fmt: skip
    axes.set(xlim=ends, ylim=ends)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MultipleLocator(4))
    axes.set_aspect("equal")


def _over_noise(axes: Axes, measured: Measurements) -> None:
    """The mean excess, with its 95 % interval over fifty networks, against what a linear map leaves."""
    from numerics.lab.claims import mean_and_stderr
    from numerics.lab.figures import ACTIVATION_COLORS

    noises = sorted(set(measured.coordinates("noise")))
    axes.axhline(0, color="0.75", linewidth=1, zorder=0)
    for kind in ACTIVATIONS:
        found = [mean_and_stderr(excess(measured.where(activation=kind, noise=noise))) for noise in noises]
        axes.errorbar([noise**2 / 2 for noise in noises], [mean for mean, _ in found],
                      yerr=[2.01 * error for _, error in found], fmt="o-", color=ACTIVATION_COLORS[kind], markersize=4,
                      linewidth=1.4, capsize=2)  # fmt: skip


@study(
    "braun2022.fig-5b",
    title="Forgetting of a first task after a second: foretold, and measured in linear, tanh and ReLU networks",
    confronts=("prior_knowledge.amount_of_forgetting",),
)
def forgetting_foretold() -> Plan:
    return Plan(
        scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None,
        shared=("activation", "noise"),
    )  # fmt: skip
