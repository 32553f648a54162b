"""Learning curves of small random, large random and large zero-balanced starts: in steps or along an exponential
(Braun et al. 2022, figure 3F).

The networks are those of figure 3C-E (``rich_representations``), twenty of each kind, by the exact flow and by
gradient descent with three steps. What counts as a drop of the loss is defined in
``numerics.measures.learning_curve``. ln L is straight where a line of it against t, from a tenth of the initial loss
(the transient) to a millionth, explains at least 0.95 of its variance. That separates less than it seems, as steps of
equal length explain 0.94. So two contrasts between the kinds, added after the data had been seen, compare the root
mean square distance of ln L from the line, and the least of the rates −d ln L/dt in units of their mean: small for
what stands still between.

Small starts lose their modes one level of the tree after the other, s = 4, 3, 2, 1, at t = ln(s/overlap)/2s, and the
loss in between is half the sum of the s² to come. The drops are apart where the overlaps are small enough: at the scale
1e-8 in another kind of cell.

What is said of large zero-balanced starts has limits, which two more kinds of cell measure by the exact flow. The
weakest mode waits for t = ln(1/d)/s at the distance d from the separatrix, where half of all zero-balanced starts are;
the curves of those nearby have a plateau. And weights far larger than the task asks for shrink as those of an empty
task, W2 W1 ≈ R/2t with an orthogonal R, so that the loss falls as t⁻² first, and as e^(−4 s t) for the weakest s in the
end, however large they were.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import (
    Claim,
    Measurements,
    at_least,
    at_most,
    between,
    mean_at_least,
    rank_correlation,
    ratios,
)
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study
from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import BALANCED, KINDS, LARGE, SMALL

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Scales of small and large starts, of much smaller and of much larger ones; horizons (τ = 1), on each of which curves
# have so many points; steps; how many large zero-balanced starts are searched for those that wait.
PAPER = {
    "hidden": 32,
    "small": 1e-4,
    "large": 3.0,
    "seeds": list(range(20)),
    "horizons": {SMALL: 18.0, LARGE: 6.0, BALANCED: 12.0},
    "points": 1501,
    "rates": [0.004, 0.002, 0.001],
    "tiny": 1e-8,
    "tiny_horizon": 30.0,
    "vast": 100.0,
    "many": 200,
}
SCALES = {
    "smoke": {**PAPER, "seeds": [0, 1, 2], "points": 751, "rates": [0.008, 0.004, 0.002], "many": 24},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {"t": ("time",), "flow": ("time",), "trained": ("time",)}
# The times between which the loss of vast starts falls as a power.
ALGEBRAIC = 0.001, 0.01
# The large starts of the claims by their names there, and the two ways in which networks are followed.
NAMED = {"random": LARGE, "zero-balanced": BALANCED}
WAYS = {"trained": "trained networks", "flow": "the exact flow"}
COLUMNS = ("t", "flow", "trained")


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = [("learning", kind) for kind in KINDS] + [("tiny", SMALL), ("vast", BALANCED)]
    grid = [{"part": part, "start": kind, "seed": seed} for part, kind in parts for seed in cfg["seeds"]]
    return [*grid, {"part": "many", "start": BALANCED, "seed": -1}]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    parts = {"learning": _learning, "tiny": _tiny, "vast": _vast, "many": _many}
    return parts[batch[0]["part"]](batch, cfg)


def _learning(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """Networks of one kind: each by its flow, all together by descent."""
    import numpy as np

    from numerics.measures.learning_curve import shape_of
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import flow, start, trained
    from numerics.tasks.semantic import hierarchy
    from numerics.training.linear_descent import stacked

    sigma, kind = hierarchy(), batch[0]["start"]
    t = np.linspace(0.0, cfg["horizons"][kind], cfg["points"])
    starts = [start(kind, cfg, cell["seed"], sigma) for cell in batch]
    descents = [_loss(trained(*stacked(starts), sigma, t, rate), sigma) for rate in cfg["rates"]]  # type: ignore[arg-type, call-arg]  # two stacks
    found = []
    for place, cell in enumerate(batch):
        exact = _loss(flow(kind, *starts[place], sigma, t), sigma)
        values = {
            **{f"flow_{name}": value for name, value in shape_of(t, exact, sigma).items()},
            **{f"trained_{name}": value for name, value in shape_of(t, descents[-1][place], sigma).items()},
            "rate": list(cfg["rates"]),
            "deviation": [float(np.abs(loss[place] - exact).max() / exact[0]) for loss in descents],
        }
        found.append(Cell(cell, values, _curves(t, exact, descents[-1][place])))
    return found


def _loss(states: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """The loss (...) of states Q Qᵀ (..., N_i + N_o, N_i + N_o) on Σ."""
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import blocks
    from numerics.training.linear_descent import whitened_loss

    return whitened_loss(blocks(states, sigma.shape[1])[1], sigma)


def _curves(t: np.ndarray, exact: np.ndarray, descent: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """The curves of a cell, NaN where nothing was trained."""
    return dict(zip(COLUMNS, (t, exact, exact * float("nan") if descent is None else descent), strict=True))


def _tiny(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """The drops of the flow from much smaller weights."""
    import numpy as np

    from numerics.measures.learning_curve import shape_of
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import flow, start
    from numerics.tasks.semantic import hierarchy

    sigma, t = hierarchy(), np.linspace(0.0, cfg["tiny_horizon"], cfg["points"])
    found = []
    for cell in batch:
        W1, W2 = start(SMALL, {**cfg, "small": cfg["tiny"]}, cell["seed"], sigma)
        loss = _loss(flow(SMALL, W1, W2, sigma, t), sigma)
        found.append(Cell(cell, {"drops": shape_of(t, loss, sigma)["drops"]}, _curves(t, loss)))
    return found


def _vast(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """The exponent p of L ~ t^(−p) in the flow of zero-balanced starts that are far larger than the task."""
    import numpy as np

    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import flow, start
    from numerics.tasks.semantic import hierarchy

    sigma, t = hierarchy(), np.geomspace(1e-5, cfg["horizons"][BALANCED], cfg["points"])
    early = (t >= ALGEBRAIC[0]) & (t <= ALGEBRAIC[1])
    found = []
    for cell in batch:
        W1, W2 = start(BALANCED, {**cfg, "large": cfg["vast"]}, cell["seed"], sigma)
        loss = _loss(flow(BALANCED, W1, W2, sigma, t), sigma)
        exponent = -float(np.polyfit(np.log(t[early]), np.log(loss[early]), 1)[0])
        found.append(Cell(cell, {"exponent": exponent}, _curves(t, loss)))
    return found


def _many(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """Zero-balanced starts of other seeds: distance from the separatrix, waiting time, straightness, drops."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.separatrix import separatrix_distance
    from numerics.measures.learning_curve import shape_of
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import flow, start
    from numerics.tasks.semantic import hierarchy

    sigma, t = hierarchy(), np.linspace(0.0, cfg["horizons"][BALANCED], cfg["points"] // 3)
    nothing = np.full(cfg["points"], np.nan)
    found = []
    for seed in range(1000, 1000 + cfg["many"]):
        W1, W2 = start(BALANCED, cfg, seed, sigma)
        shape = shape_of(t, _loss(flow(BALANCED, W1, W2, sigma, t), sigma), sigma)
        distance = float(separatrix_distance(W1, W2, sigma))
        found.append((distance, shape["time_to_common"], shape["straight"], shape["drops"]))
    names = ("distance", "waiting", "straightness", "dropping")
    values = {name: list(column) for name, column in zip(names, zip(*found, strict=True), strict=True)}
    return [Cell(batch[0], values, _curves(nothing, nothing))]


def claims(measured: Measurements) -> list[Claim]:
    """Small starts are slow and fall in steps, large ones are fast and nearly exponential."""
    by_kind = {kind: measured.where(part="learning", start=kind) for kind in KINDS}
    return [
        *(claim for way, words in WAYS.items() for claim in _shape_claims(by_kind, way, words)),
        *_contrasts(by_kind),
        *_common_loss_claims(by_kind),
        *_level_claims(by_kind[SMALL], measured.where(part="tiny")),
        *_rate_claims(by_kind, measured.where(part="vast")),
        *_separatrix_claims(measured.where(part="many")[0].values),
        order_claim(
            "descent-order",
            "the learning curves of descent with step h are O(h) from those of the flow: the order farthest from 1",
            [(row.values["rate"], row.values["deviation"]) for row in measured.where(part="learning")],
            about="check",
        ),
    ]


def _shape_claims(by_kind: Mapping[str, Measurements], way: str, words: str) -> list[Claim]:
    """What the source says of the curves of trained networks, or of the flow."""
    found = []
    for name, kind in NAMED.items():
        found += [
            mean_at_least(
                f"large-{name}-fast-{way}",
                f"{words}: large {name} starts reach 1 % of their initial loss at least 5 times earlier than small "
                "ones, mean over pairs",
                ratios(by_kind[SMALL].values(f"{way}_time"), by_kind[kind].values(f"{way}_time")),
                5.0,
            ),
            at_least(
                f"large-{name}-straight-{way}",
                f"{words}: a line through ln L against t, from a tenth to a millionth of the initial loss of large "
                f"{name} starts, explains at least this part of its variance, least over seeds",
                min(by_kind[kind].values(f"{way}_straight")),
                0.95,
            ),
            at_most(
                f"large-{name}-no-drop-{way}",
                f"{words}: the most drops of a large {name} start",
                max(by_kind[kind].values(f"{way}_drops")),
                0,
            ),
        ]
    return [
        *found,
        at_least(
            f"small-in-steps-{way}",
            f"{words}: the fewest drops of a small random start, more than one with plateaus between them",
            min(by_kind[SMALL].values(f"{way}_drops")),
            2,
        ),
    ]


def _contrasts(by_kind: Mapping[str, Measurements]) -> list[Claim]:
    """Steps against exponentials: how much less straight and less steady small starts are than large ones."""
    small = by_kind[SMALL]
    return [
        *(
            mean_at_least(
                f"small-bends-more-{way}",
                f"{words}: the root mean square distance of ln L from its line is at least twice as large from small "
                "starts as from large random ones, mean over pairs",
                ratios(small.values(f"{way}_bend"), by_kind[LARGE].values(f"{way}_bend")),
                2.0,
                about="own",
            )
            for way, words in WAYS.items()
        ),
        *(
            mean_at_least(
                f"small-stands-still-{name}-{way}",
                f"{words}: the least rate −d ln L/dt, in units of its mean, is at least 3 times as large from {kind} "
                "starts as from small ones, mean over pairs",
                ratios(by_kind[kind].values(f"{way}_least_rate"), small.values(f"{way}_least_rate")),
                3.0,
                about="own",
            )
            for way, words in WAYS.items()
            for name, kind in NAMED.items()
        ),
    ]


def _common_loss_claims(by_kind: Mapping[str, Measurements]) -> list[Claim]:
    """Large starts are faster to one and the same loss, although they begin at larger ones."""
    name = "trained_time_to_common"
    return [
        mean_at_least(
            f"large-{words}-fast-to-one-loss",
            f"trained networks: {kind} starts reach 1 % of the loss of the zero map at least 5 times earlier than "
            "small ones, mean over pairs",
            ratios(by_kind[SMALL].values(name), by_kind[kind].values(name)),
            5.0,
            about="own",
        )
        for words, kind in NAMED.items()
    ]


def _level_claims(small: Measurements, tiny: Measurements) -> list[Claim]:
    """Small starts learn level by level; between the drops the loss is that of the levels to come."""
    levels = [21 / 2, 12 / 2, 4 / 2]
    away = [
        abs(loss / level - 1)
        for row in small
        for loss, level in zip(row.values["flow_plateaus"] or (), levels, strict=False)
    ]
    return [
        at_most(
            "a-drop-for-every-level",
            f"the exact flow from {len(tiny)} starts of scale 1e-8: how many do not drop exactly four times, once for "
            "each level of the tree",
            sum(count != 4 for count in tiny.values("drops")),
            0,
            about="own",
        ),
        at_most(
            "plateaus-at-the-levels",
            "the exact flow from small starts with four drops: between them the loss is half the sum of the s² to "
            "come, 21/2, 12/2 and 4/2, within 15 %",
            max(away, default=float("nan")),
            0.15,
            about="own",
        ),
    ]


def _rate_claims(by_kind: Mapping[str, Measurements], vast: Measurements) -> list[Claim]:
    """In what sense large starts are exponential: at the end, but not from the start on."""
    return [
        between(
            "late-rate-of-the-weakest-mode",
            "the exact flow from large zero-balanced starts: between 1e-8 and 1e-10 of its initial value the loss "
            "falls at the rate 4 s of the weakest mode, s = 1: the rate farthest from 4",
            max(by_kind[BALANCED].values("flow_late_rate"), key=lambda rate: abs(rate - 4)),
            3.96,
            4.04,
            about="own",
        ),
        *(
            mean_at_least(
                f"large-{name}-slows-down",
                f"the exact flow from {kind} starts: from a tenth to a millionth of the initial loss the rate "
                "−d ln L/dt falls to a half or less",
                by_kind[kind].values("flow_slowing"),
                2.0,
                about="own",
            )
            for name, kind in NAMED.items()
        ),
        between(
            "vast-starts-fall-algebraically",
            "the exact flow from zero-balanced starts of 100²: L ~ t^(−2) from t = 0.001 to 0.01, the exponent "
            "farthest from 2",
            max(vast.values("exponent"), key=lambda exponent: abs(exponent - 2)),
            1.9,
            2.1,
            about="own",
        ),
    ]


def _separatrix_claims(many: Mapping[str, Any]) -> list[Claim]:
    """Why some large zero-balanced starts are not exponential."""
    nearest = sorted(zip(many["distance"], many["waiting"], strict=True))[: len(many["distance"]) // 4]
    return [
        order_claim(
            "waits-near-the-separatrix",
            "the exact flow from the quarter of large zero-balanced starts that is nearest to the separatrix reaches "
            "1 % of the loss of the zero map after ln(1/d)/s + constant, s = 1: the order of d in e^(−t)",
            [([math.exp(-time) for _, time in nearest], [distance for distance, _ in nearest])],
            about="own",
        ),
        at_least(
            "straighter-the-farther",
            "and the farther from it a start is, the straighter is ln L: rank correlation over all of them",
            rank_correlation(many["distance"], many["straightness"]),
            0.7,
            about="own",
        ),
        at_least(
            "some-wait",
            f"of {len(many['dropping'])} large zero-balanced starts that the flow takes to the task, the fraction "
            "with a plateau and a drop",
            sum(count > 0 for count in many["dropping"]) / len(many["dropping"]),
            0.02,
            about="own",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    drawing = new_figure(1, 4, width=2.9, height=2.9)
    panels = drawing.subplots(1, 4)
    _curve_panels(panels[:2], [cell for cell in results if cell.cell["part"] == "learning"])
    _separatrix_panel(panels[2], next(cell for cell in results if cell.cell["part"] == "many"))
    _vast_panel(panels[3], [cell for cell in results if cell.cell["part"] == "vast"])
    return drawing


def _curve_panels(panels: Sequence[Axes], results: Sequence[Cell]) -> None:
    """All learning curves, on the axes of the source and on logarithmic ones; dotted: one flow of each kind."""
    from matplotlib.lines import Line2D

    from numerics.lab.figures import EXACT, style
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import LINES

    for axes in panels:
        for cell in results:
            kind, t = cell.cell["start"], cell.curves["t"]
            for name, options in (
                ("trained", {"color": LINES[kind], "linewidth": 1.0, "alpha": 0.55}),
                ("flow", EXACT),
            ):
                loss = cell.curves[name]
                if name == "trained" or cell.cell["seed"] == 0:
                    axes.plot(t, loss / loss[0], **options)
    panels[0].set(xlim=(-0.15, 13), ylim=(-0.02, 1.03))
    panels[1].set(xlim=(-0.15, 13), ylim=(1e-6, 1.5), yscale="log")
    style(panels[0], xlabel="$t$", ylabel="$L\\,/\\,L(0)$", title="F   learning curves")
    style(panels[1], xlabel="$t$", ylabel="$L\\,/\\,L(0)$", title="the same, logarithmic")
    handles = [Line2D([], [], color=LINES[kind], linewidth=2, label=kind) for kind in KINDS]
    panels[0].legend(handles=handles, frameon=False, fontsize=8, loc="upper right")


def _separatrix_panel(axes: Axes, cell: Cell) -> None:
    """The time to a common loss against the distance from the separatrix, with the slope −1/s of the weakest mode."""
    import numpy as np

    from numerics.lab.figures import EXACT, style
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import LINES

    distance, wait = (np.array(cell.values[name]) for name in ("distance", "waiting"))
    dropping = np.array(cell.values["dropping"]) > 0
    for chosen, marker, label in ((~dropping, "o", "no drop"), (dropping, "D", "a drop")):
        axes.plot(
            distance[chosen], wait[chosen], marker, color=LINES[BALANCED], markersize=4, label=label,
            markerfacecolor=LINES[BALANCED] if marker == "D" else "none",
        )  # fmt: skip
    nearest = np.argsort(distance)[: len(distance) // 4]
    line = np.array([distance.min(), 1.0])
    axes.plot(line, np.mean(wait[nearest] + np.log(distance[nearest])) - np.log(line), **EXACT)
    axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=8)
    style(
        axes,
        xlabel="distance from the separatrix",
        ylabel="$t$ at 1 % of the loss of 0",
        title="large zero-balanced",
    )


def _vast_panel(axes: Axes, results: Sequence[Cell]) -> None:
    """Zero-balanced starts that are far larger than the task, with the loss n/8t² of an empty task."""
    import numpy as np

    from numerics.lab.figures import EXACT, style
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import LINES

    for cell in results:
        axes.plot(cell.curves["t"], cell.curves["flow"], color=LINES[BALANCED], linewidth=1.0, alpha=0.55)
    t = np.geomspace(1e-4, 1.0, 50)
    axes.plot(t, 1 / t**2, **EXACT)
    axes.annotate("$n/8t^2$", (0.1, 100), (0.18, 400), fontsize=9)
    axes.set(xscale="log", yscale="log", xlim=(1e-5, 12), ylim=(1e-6, 1e9))
    style(axes, xlabel="$t$", ylabel="$L$", title="vast zero-balanced")


@study(
    "braun2022.fig-3f-learning-curves",
    title="Rich and lazy learning: learning curves of small random, large random and large zero-balanced starts",
    confronts=(
        "prior_knowledge.rich_solutions",
        "prior_knowledge.small_equal_modes",
        "prior_knowledge.large_equal_modes",
    ),
)
def rich_learning_curves() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        absent=("flow_plateaus", "trained_plateaus"),
        batch=10,
        shared=("part", "start"),
    )
