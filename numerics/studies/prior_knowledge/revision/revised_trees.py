"""Revising what is known about living things, or learning their colours instead (Braun et al. 2022, Sec. 6 and figure
6E–H).

A network learns the tree of living things from a zero-balanced start, small or as large as the task, and
then a second task: the tree after a swap of siblings (two fish, fish and birds, or animals and plants), or a colour
hierarchy. A swap reverses the modes that change their sign and leaves the network on the separatrix. The exact flow
misses these modes; training leaves the saddle because its first lesson was neither of infinite length nor of
infinitely small steps. Three things that change places in a circle reverse no mode, and are the control.

The exact flow of the second task starts from the learned weights next to the trained ones. The first mode s u vᵀ that
a swap reverses has for v the normalised difference of what is swapped. The part of W1 v + W2ᵀu that lies outside the
hidden directions of the modes that are kept grows as e^(st), and half of the mode is learned after
ln(√(2s)/overlap)/s.

Half of all starts, and half of all colour hierarchies after the first task, are on a separatrix; the sign of a row of
W2, and of a feature of the tree, puts them on the other side. The published sizes are not stated; here N_h = 16, the
strengths are 4, 3, 2, 1, and the step is 0.005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import (
    Claim,
    Measurement,
    Measurements,
    at_most,
    mean_at_least,
    mean_at_most,
    ratios,
    relative_deviations,
)
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SWAPS = {
    "things": [1, 0, 2, 3, 4, 5, 6, 7],
    "pairs": [2, 3, 0, 1, 4, 5, 6, 7],
    "kingdoms": [4, 5, 6, 7, 0, 1, 2, 3],
}
REVISIONS = {**SWAPS, "circle": [1, 2, 0, 3, 4, 5, 6, 7]}
RATES = [0.01, 0.005, 0.0025]
# The scale of small starts; step, and how many steps between two records; how long lessons and swaps are trained (τ =
# 1); how many records are stored; the steps with which, and the time until which, lessons are compared with the exact
# flow. ``seeds`` learn all tasks, ``pairs`` only those that are claimed to take equally long.
PAPER = {
    "hidden": 16,
    "small": 1e-3,
    "rate": 0.005,
    "every": 10,
    "short": 20.0,
    "long": 40.0,
    "kept": 201,
    "rates": RATES,
    "followed": 8.0,
    "seeds": list(range(8)),
    "pairs": list(range(60)),
}
SCALES = {
    "smoke": {**PAPER, "kept": 41, "seeds": [0, 1, 2], "pairs": list(range(24))},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {
    **{name: ("time",) for name in ("t", "loss", "exact_loss")},
    **{name: ("time", "mode") for name in ("modes", "exact_modes")},
    "function": ("time", "feature", "thing"),
}
SIMILAR = math.log(1.5)


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All tasks from both starts for ``seeds``; the two that take equally long from the large start for ``pairs``."""
    full = [
        {"first": first, "task": task, "seed": seed}
        for first in ("small", "large")
        for task in ("living", *REVISIONS, "colours")
        for seed in cfg["seeds"]
    ]
    more = [seed for seed in cfg["pairs"] if seed not in cfg["seeds"]]
    return full + [
        {"first": "large", "task": task, "seed": seed} for task in ("living", "colours") for seed in more
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    """All first lessons together, then the second tasks: swaps for a long time, others for a short one."""
    from numerics.tasks.semantic import hierarchy

    living = hierarchy()
    found, ends = _lessons([cell for cell in batch if cell["task"] == "living"], living, cfg)
    for horizon, chosen in (("short", ("circle", "colours")), ("long", SWAPS)):
        group = [cell for cell in batch if cell["task"] in chosen]
        found |= _second_tasks(group, ends, living, cfg[horizon], cfg)
    for name, cell in found.items():
        if cell.cell["first"] == "large" and cell.cell["seed"] in cfg["seeds"]:
            apart = _apart(cell, found[_name(cell.cell | {"first": "small"})])  # type: ignore[operator]  # a dictionary
            found[name] = _with(cell, functions_apart=apart)
    return [found[_name(cell)] for cell in batch]


def _lessons(
    cells: Sequence[Mapping[str, Any]], living: np.ndarray, cfg: Mapping[str, Any]
) -> tuple[dict[Any, Cell], dict[Any, Any]]:
    """What is measured in the first lessons, by the name of the cell, and the weights at their ends."""
    from numerics.training.linear_descent import stacked

    starts = {_name(cell): _start(cell, living, cfg) for cell in cells}
    found, ends = {}, {}
    runs = _train(list(starts.values()), [living] * len(cells), cfg["short"], cfg)
    for cell, (times, W1, W2) in zip(cells, runs, strict=True):
        found[_name(cell)] = _measure(cell, times, W1, W2, living, starts[_name(cell)], cfg)
        ends[cell["first"], cell["seed"]] = W1[-1], W2[-1]
    followed = [_name(cell) for cell in cells if cell["seed"] in cfg["seeds"]]
    deviations = _deviations(*stacked(starts[name] for name in followed), living, cfg)  # type: ignore[arg-type, call-arg]  # two stacks
    for name, deviation in zip(followed, deviations, strict=True):
        found[name] = _with(found[name], following=deviation)
    return found, ends


def _second_tasks(
    cells: Sequence[Mapping[str, Any]],
    ends: Mapping[Any, Any],
    living: np.ndarray,
    horizon: float,
    cfg: Mapping[str, Any],
) -> dict[Any, Cell]:
    """What is measured in the second tasks of some cells, by their names."""
    begins = [ends[cell["first"], cell["seed"]] for cell in cells]
    tasks = [_second_task(cell, *begin) for cell, begin in zip(cells, begins, strict=True)]
    runs = _train(begins, tasks, horizon, cfg)
    return {
        _name(cell): _second(cell, times, W1, W2, task, living, cfg)
        for cell, (times, W1, W2), task in zip(cells, runs, tasks, strict=True)
    }


def _with(cell: Cell, **more: Any) -> Cell:
    """An outcome with more values."""
    return replace(cell, values={**cell.values, **more})


def _train(
    starts: Sequence[Any], tasks: Sequence[np.ndarray], horizon: float, cfg: Mapping[str, Any]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Times (T,) and weights (T, ...) of networks that learn a task each, all at once."""
    import numpy as np

    from numerics.training.linear_descent import stacked
    from numerics.training.relearning import train

    options = {"rate": cfg["rate"], "every": cfg["every"], "horizon": horizon}
    times, first, second = train(*stacked(starts), np.stack(tasks), **options)  # type: ignore[arg-type, call-arg]  # two stacks
    return [(times, W1, W2) for W1, W2 in zip(first, second, strict=True)]


def _name(cell: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """What tells the cells apart."""
    return cell["first"], cell["task"], cell["seed"]


def _start(
    cell: Mapping[str, Any], living: np.ndarray, cfg: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """W1 (N_h, 8) and W2 (8, N_h) of the first lesson."""
    import numpy as np

    from numerics.starts.learned_starts import to_learnable_side
    from numerics.training.linear_descent import zero_balanced_start

    generator = np.random.default_rng(cell["seed"])
    large = np.linalg.svd(living, compute_uv=False)
    values = cfg["small"] if cell["first"] == "small" else large
    return to_learnable_side(*zero_balanced_start(cfg["hidden"], 8, 8, values, generator), living)  # type: ignore[arg-type]  # an array of numbers


def _second_task(cell: Mapping[str, Any], W1: np.ndarray, W2: np.ndarray) -> np.ndarray:
    """Σ (8, 8) of the task that follows: the revised tree, or one that the weights can learn."""
    import numpy as np

    from numerics.tasks.semantic import hierarchy
    from numerics.training.relearning import colour_hierarchy

    if cell["task"] in REVISIONS:
        return hierarchy(REVISIONS[cell["task"]])
    return colour_hierarchy(np.random.default_rng([cell["seed"], 1]), W1, W2)[0]


def _measure(
    cell: Mapping[str, Any],
    times: np.ndarray,
    W1: np.ndarray,
    W2: np.ndarray,
    sigma: np.ndarray,
    start: Sequence[np.ndarray],
    cfg: Mapping[str, Any],
) -> Cell:
    """Training (T, ...) on Σ, the exact flow from ``start``, and when each has learned."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.representations import network_function
    from numerics.starts.learned_starts import finite_or_none
    from numerics.training.relearning import learning_time, losses

    function, exact = W2 @ W1, network_function(times, *start, sigma, on_separatrix=True)  # type: ignore[arg-type, misc]  # two layers
    loss, exact_loss = losses(function, sigma), losses(exact, sigma)
    U, _, Vt = np.linalg.svd(sigma)
    modes, exact_modes = (np.einsum("ik,tij,kj->tk", U, F, Vt) for F in (function, exact))
    values = {
        "time": finite_or_none(learning_time(times, loss, sigma)),
        "exact_time": finite_or_none(learning_time(times, exact_loss, sigma)),
        "loss_at_end": float(loss[-1]),
        "exact_loss_at_end": float(exact_loss[-1]),
    }
    curves = {"t": times, "loss": loss, "exact_loss": exact_loss, "modes": modes, "exact_modes": exact_modes}
    thin = (len(times) - 1) // (cfg["kept"] - 1)
    curves = {name: curve[::thin] for name, curve in (curves | {"function": function}).items()}
    return Cell(cell, values, curves)


def _second(
    cell: Mapping[str, Any],
    times: np.ndarray,
    W1: np.ndarray,
    W2: np.ndarray,
    sigma: np.ndarray,
    living: np.ndarray,
    cfg: Mapping[str, Any],
) -> Cell:
    """As `_measure`, with what is predicted of the saddle."""
    from derivations.prior_knowledge.evaluators.learnability import learnable
    from numerics.training.relearning import learned_next_to

    start = learned_next_to(W1[0], W2[0], living)
    found = _measure(cell, times, W1, W2, sigma, start, cfg)
    order = SWAPS.get(cell["task"])
    return _with(
        found,
        excess=float(learnable(*start, sigma).excess_loss),
        **(_escape(order, times, W1, W2, sigma, start) if order else {}),
    )


def _escape(
    order: Any,
    times: np.ndarray,
    W1: np.ndarray,
    W2: np.ndarray,
    sigma: np.ndarray,
    start: Sequence[np.ndarray],
) -> dict[str, Any]:
    """When half of the first missed mode is learned, and when that is predicted from its overlap at the start.

    Modes that the swap keeps hold hidden neurons. What grows at the rate s is the overlap across theirs.
    """
    import numpy as np

    from derivations.prior_knowledge.evaluators.learnability import learnable
    from numerics.starts.learned_starts import crossing, finite_or_none

    values, axes = np.linalg.eigh(np.eye(8)[:, order])
    v = np.where(np.arange(8) == order, 0.0, np.sign(order - np.arange(8)))
    v /= np.linalg.norm(v)
    s = np.linalg.norm(sigma @ v)
    u = sigma @ v / s
    left, _, right = np.linalg.svd(sigma)
    overlaps = W1[0] + W2[0].T @ left @ right
    held = np.linalg.qr(overlaps @ axes[:, values > 0])[0]
    overlap = overlaps @ v
    across = np.linalg.norm(overlap - held @ (held.T @ overlap))
    noise = across / math.sqrt((W1[0] ** 2).sum() + (W2[0] ** 2).sum())
    strength = np.einsum("i,tij,j->t", u, W2 @ W1, v)
    return {
        "rate": float(s),
        "overlap": float(noise),
        "escape": finite_or_none(crossing(times, strength, s / 2)),
        "predicted": float(learnable(*start, sigma, noise=float(noise)).escape_time),  # type: ignore[arg-type, misc]  # two layers
    }


def _deviations(
    W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, cfg: Mapping[str, Any]
) -> list[list[float]]:
    """The largest distances of training with each step from the exact flow of the first lesson, a list a network."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.representations import network_function
    from numerics.training.relearning import train

    found = []
    for rate in cfg["rates"]:
        every = round(cfg["followed"] / rate) // 160
        times, first, second = train(W1, W2, sigma, rate=rate, horizon=cfg["followed"], every=every)
        found.append(np.abs(second @ first - network_function(times, W1, W2, sigma)).max((-3, -2, -1)))
    return np.stack(found, -1).tolist()


def _apart(large: Cell, small: Cell) -> float:
    """What is left of the size of the start: the difference of the last functions, in units of one of them."""
    import numpy as np

    first, second = (cell.curves["function"][-1] for cell in (large, small))
    return float(np.linalg.norm(first - second) / np.linalg.norm(first))


def claims(measured: Measurements) -> list[Claim]:
    """Swaps stop the exact flow and delay training; a new tree takes as long as a large start; the end is one and the
    same."""
    swapped = Measurements([row for row in measured if row.cell["task"] in SWAPS])
    lessons, circles, colours = (measured.where(task=task) for task in ("living", "circle", "colours"))
    return [
        *_swap_claims(swapped, colours),
        *_large_start_claims(lessons, colours),
        at_most(
            "same-representation-from-small-and-large-starts",
            "training from small and from large weights ends in the same function, after the first task and after the "
            "second: largest relative distance",
            max(_present(measured, "functions_apart")),
            1e-6,
        ),
        *_checks(lessons, Measurements([*lessons, *circles, *colours])),
        *_own_claims(swapped, circles),
    ]


def _swap_claims(swapped: Measurements, colours: Measurements) -> list[Claim]:
    """The exact flow is stuck after a swap; training is slow and arrives."""
    slower = [
        min(_slower(swapped.where(seed=seed), colours.where(seed=seed))) for seed in swapped.distinct("seed")
    ]
    return [
        at_most(
            "swaps-stop-the-exact-flow",
            "after a swap of siblings on any level the exact flow ends with the loss that is predicted of the modes it "
            "reverses: largest relative deviation",
            max(relative_deviations(swapped.values("exact_loss_at_end"), swapped.values("excess"))),
            1e-6,
        ),
        at_most(
            "training-leaves-the-saddle",
            "gradient descent learns every swap: the largest loss at the end",
            max(swapped.values("loss_at_end")),
            1e-6,
        ),
        mean_at_least(
            "swaps-are-slow",
            "trained weights need at least twice as long for the fastest of the swaps as for a colour hierarchy: ln of "
            "the ratio of the times to 1 %, over seeds",
            slower,
            math.log(2),
        ),
    ]


def _large_start_claims(lessons: Measurements, colours: Measurements) -> list[Claim]:
    """Colours after a first lesson take as long as the first lesson from a start that is as large."""
    times = (rows.where(first="large").values("time") for rows in (colours, lessons))
    similar = [math.log(ratio) for ratio in ratios(*times)]
    return [
        mean_at_most(
            "colours-as-fast-as-a-large-start",
            "the colour hierarchy after the living things takes at most 1.5 times as long as the living things from a "
            "large start: ln of the ratio, over seeds",
            similar,
            SIMILAR,
        ),
        mean_at_least(
            "colours-no-faster-than-a-large-start",
            "and at least 1/1.5 of that time",
            similar,
            -SIMILAR,
        ),
    ]


def _checks(lessons: Measurements, learned: Measurements) -> list[Claim]:
    """Where the flow learns a task, training is on the flow."""
    return [
        order_claim(
            "lessons-follow-the-flow",
            "in the first lesson training with step h deviates from the exact flow by O(h): the order farthest from 1",
            [(RATES, errors) for errors in _present(lessons, "following")],
            about="check",
        ),
        at_most(
            "times-of-the-flow",
            "first lessons, circles and colours: the times to 1 % of training and of the exact flow differ by at most "
            "5 %",
            max(relative_deviations(learned.values("time"), learned.values("exact_time"))),
            0.05,
            about="check",
        ),
    ]


def _own_claims(swapped: Measurements, circles: Measurements) -> list[Claim]:
    """When training leaves the saddle, and that three things in a circle make none."""
    return [
        at_most(
            "escape-is-predicted-by-the-overlap",
            "half of the first missed mode is learned when its overlap outside the kept modes predicts it: largest "
            "difference in e-folds 1/s",
            max(
                math.inf
                if row.values["escape"] is None
                else row.values["rate"] * abs(row.values["escape"] - row.values["predicted"])
                for row in swapped
            ),
            1.0,
            about="own",
        ),
        at_most(
            "a-circle-of-three-is-no-swap",
            "the exact flow learns the tree in which three things change places in a circle: largest loss at the end",
            max(circles.values("exact_loss_at_end")),
            1e-9,
            about="own",
        ),
    ]


def _present(rows: Iterable[Measurement], name: str) -> list[Any]:
    """A number of the cells that have it."""
    return [row.values[name] for row in rows if name in row.values]


def _slower(swapped: Measurements, colours: Measurements) -> list[float]:
    """ln of the ratio of times of every swap and the colour hierarchy, after the same first lesson of one seed."""
    times = dict(zip(colours.coordinates("first"), colours.values("time"), strict=True))
    return [math.log(row.values["time"] / times[row.cell["first"]]) for row in swapped]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    seed = results[0].cell["seed"]
    shown = {(cell.cell["first"], cell.cell["task"]): cell for cell in results if cell.cell["seed"] == seed}
    drawing = new_figure(2, 4, width=3.0, height=2.7)
    panels = drawing.subplots(2, 4)
    rows = (("small", "things", "small start, fish swapped"), ("large", "colours", "large start, colours"))
    for line, (first, task, title) in zip(panels, rows, strict=True):
        lesson, second = shown[first, "living"], shown[first, task]
        end = 12.0 if first == "small" else 6.0
        _losses(line[0], lesson, second, end, f"E  {title}")
        _modes(line[1], lesson, second, end)
    _scaled(
        panels[:, 2],
        [shown["small", "living"], shown["large", "living"]],
        ["from small", "from large"],
        "G  ",
    )
    _swapped(panels[0, 3], shown["small", "things"])
    _scaled(panels[1:, 3], [shown["large", "colours"]], ["colour hierarchy"], "H  ")
    return drawing


def _joined(lesson: Cell, second: Cell, end: float) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """The curves of the first lesson until ``end``, and of twice that time and more of the second from there on."""
    for cell, shift in ((lesson, 0.0), (second, end)):
        part = cell.curves["t"] <= (end if cell is lesson else 2 * end)
        yield shift + cell.curves["t"][part], {name: cell.curves[name][part] for name in DIMS}


def _losses(axes: Axes, lesson: Cell, second: Cell, end: float, title: str) -> None:
    """The loss through both lessons, trained and exact, with the predicted escape from the saddle."""
    from numerics.lab.figures import EXACT, measured, style

    for (t, curves), color in zip(_joined(lesson, second, end), ("#1b4f8a", "#e6842a"), strict=True):
        axes.plot(t, curves["loss"], **measured(color))
        axes.plot(t, curves["exact_loss"], **EXACT)
    if second.values["excess"]:
        place = end + second.values["escape"]
        axes.plot(
            place, second.values["excess"], "o", color="#1a9850", markersize=10, fillstyle="none", zorder=8
        )
    axes.axvline(end, color="0.7", linewidth=0.8)
    axes.set(yscale="log", ylim=(1e-3, 80))
    style(axes, xlabel="$t$", ylabel="loss", title=title)


def _modes(axes: Axes, lesson: Cell, second: Cell, end: float) -> None:
    """The modes of the task in training through both lessons, trained and exact."""
    from matplotlib import colormaps

    from numerics.lab.figures import EXACT, measured, style

    for t, curves in _joined(lesson, second, end):
        for mode in range(8):
            thin = measured(colormaps["viridis"](mode / 8)) | {"linewidth": 1.8}
            axes.plot(t, curves["modes"][:, mode], **thin)
            axes.plot(t, curves["exact_modes"][:, mode], **EXACT)
    axes.axvline(end, color="0.7", linewidth=0.8)
    style(axes, xlabel="$t$", ylabel=r"$u_i^\top W_2W_1\,v_i$", title="F  modes of the task")


def _scaled(panels: Sequence[Axes], cells: Sequence[Cell], titles: Sequence[str], letter: str) -> None:
    """Paths of the eight things, without their mean, in the plane of one scaling for all panels."""
    import numpy as np
    from matplotlib import colormaps

    from numerics.lab.figures import style
    from numerics.training.relearning import classical_scaling

    plane = classical_scaling(np.concatenate([_things(cell) for cell in cells])).reshape(len(cells), -1, 8, 2)
    for axes, path, title in zip(panels, plane, titles, strict=True):
        for thing in range(8):
            color = colormaps["tab20"](thing)
            axes.plot(*path[:, thing].T, color=color, linewidth=1.4)
            axes.plot(*path[0, thing], "o", color=color, markersize=5, fillstyle="none")
            axes.plot(*path[-1, thing], "o", color=color, markersize=5)
        for place, names in _labels(path[-1]):
            axes.annotate(names, place, fontsize=7, xytext=(5, 3), textcoords="offset points")
        axes.margins(0.3, 0.15)
        style(axes, title=letter + title)


def _things(cell: Cell) -> np.ndarray:
    """The things at all times (T 8, 8) as vectors of features, without their mean."""
    function = cell.curves["function"]
    return (function - function.mean(-1, keepdims=True)).swapaxes(1, 2).reshape(-1, 8)


def _swapped(axes: Axes, cell: Cell) -> None:
    """The one coordinate of the scaling in which something moves, over time."""
    import numpy as np
    from matplotlib import colormaps

    from numerics.lab.figures import style
    from numerics.tasks.semantic import ITEMS
    from numerics.training.relearning import classical_scaling

    paths = classical_scaling(_things(cell), 7).reshape(-1, 8, 7)
    moved = paths[..., np.abs(paths[-1] - paths[0]).max(0).argmax()]
    shown = cell.curves["t"] <= 24.0
    for thing, name in enumerate(ITEMS):
        axes.plot(
            cell.curves["t"][shown], moved[shown, thing], color=colormaps["tab20"](thing), linewidth=1.8
        )
        if abs(moved[-1, thing]) > 0.1:
            axes.annotate(
                name,
                (24.0, moved[-1, thing]),
                fontsize=7,
                xytext=(-4, 4),
                textcoords="offset points",
                ha="right",
            )
    axes.margins(0.05, 0.15)
    style(axes, xlabel="$t$", ylabel="coordinate that moves", title="H  two fish swapped")


def _labels(places: np.ndarray) -> Iterator[tuple[Any, str]]:
    """The names of things at places (8, 2), together where they are together."""
    import numpy as np

    from numerics.tasks.semantic import ITEMS

    near = np.linalg.norm(places[:, None] - places[None], axis=-1) < 0.15 * np.ptp(places)
    for thing in range(8):
        if not near[thing, :thing].any():
            yield places[thing], ", ".join(ITEMS[other] for other in range(thing, 8) if near[thing, other])


@study(
    "braun2022.fig-6e-h",
    title="Revising the tree of living things, or learning a colour hierarchy: saddles, times and representations",
    confronts=(
        "prior_knowledge.swap_is_reversal",
        "prior_knowledge.relabelings_like_reversal",
        "prior_knowledge.tree_similarity",
    ),
)
def revised_trees() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        batch=None,
        absent=("exact_time",),
    )
