"""Reversal learning in a deep linear network: the exact flow stops at a saddle, training leaves it (Braun et al. 2022,
Sec. 6 and figure 6A).

A network knows −Σ, zero-balanced, and is to learn Σ. The exact flow sends its function to zero. A perturbation with
the overlap |W1 v + W2ᵀ u| with the strongest mode s u vᵀ grows as e^(st) on the plateau, and the mode is half learned
after ln(√(2s)/overlap)/s (`derivations.prior_knowledge.learnable`). The starts differ in what perturbs them: known
weights of random directions, where rounding alone does, in double and in single precision; the same with Gaussian
perturbations of known sizes; weights that were trained on −Σ by gradient descent; and weights along the coordinate
axes, W2 = −W1ᵀ, where floating-point arithmetic is symmetric and rounding perturbs nothing. "fresh" starts, small and
on the learnable side, learn Σ for comparison.

The published sizes and the task are not stated. Here N_i = N_o = 3, N_h = 4, S = diag(1.5, 1, 0.7) and the step is
0.005, in units where τ = 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import (
    Claim,
    Measurement,
    Measurements,
    at_most,
    between,
    differences,
    mean_and_stderr,
    mean_at_least,
    ratios,
)
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Training: step and horizon (τ = 1), of which one in ``every`` steps is kept and of those one in ``thin`` is stored.
# Sizes of perturbations, relative to the weights; the scale of fresh starts; how long weights are trained on −Σ
# first; the steps with which, and the time until which, training is compared with the exact flow.
PAPER: dict[str, Any] = {
    "strengths": [1.5, 1.0, 0.7],
    "hidden": 4,
    "rate": 0.005,
    "horizon": 80.0,
    "every": 10,
    "thin": 4,
    "sizes": [1e-12, 1e-10, 1e-8, 1e-6, 1e-4],
    "small": 1e-3,
    "lesson": 20.0,
    "rates": [0.02, 0.01, 0.005],
    "followed": 4.0,
    "seeds": list(range(10)),
}
SCALES = {"smoke": {**PAPER, "thin": 16, "seeds": [0, 1, 2]}, "laptop": PAPER, "paper": PAPER}
DIMS = {name: ("time",) for name in ("t", "loss", "exact_loss")} | {
    name: ("time", "output", "input") for name in ("function", "exact")
}
PLATEAU, LEARNED = 0.01, 0.01


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    starts = [("known", "float64", 0.0), ("known", "float32", 0.0), ("along the axes", "float64", 0.0)]
    starts += [("along the axes", "float32", 0.0), ("trained", "float64", 0.0), ("fresh", "float64", 0.0)]
    starts += [("perturbed", "float64", size) for size in cfg["sizes"]]
    return [
        {"start": start, "precision": precision, "size": size, "seed": seed}
        for start, precision, size in starts
        for seed in cfg["seeds"]
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    import numpy as np

    from numerics.training.linear_descent import stacked

    times = np.arange(0, round(cfg["horizon"] / cfg["rate"]) + 1, cfg["every"]) * cfg["rate"]
    W1, W2, sigma = stacked(start_of(cell, cfg) for cell in batch)
    single = np.array([cell["precision"] == "float32" for cell in batch])
    function = np.empty((len(batch), len(times), *sigma.shape[1:]))
    for mask, descent in ((single, _descend_in_single_precision), (~single, _descend)):
        if mask.any():
            function[mask] = descent(W1[mask], W2[mask], sigma[mask], cfg)
    return [_measure(*item, times, cfg) for item in zip(batch, W1, W2, sigma, function, strict=True)]


def task_of(
    cell: Mapping[str, Any], cfg: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """Σ (3, 3) with its modes U, V as columns, of random directions or along the axes, and the generator that drew
    them."""
    import numpy as np

    from numerics.training.linear_descent import orthonormal

    generator, size = np.random.default_rng(cell["seed"]), len(cfg["strengths"])
    U, V = orthonormal(size, size, generator), orthonormal(size, size, generator)
    if cell["start"] == "along the axes":
        U = V = np.eye(size)
    return (U * cfg["strengths"]) @ V.T, U, V, generator


def start_of(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W1 (4, 3), W2 (3, 4) and Σ (3, 3)."""
    import numpy as np

    from numerics.starts.learned_starts import learned_weights, to_learnable_side
    from numerics.training.linear_descent import descend, zero_balanced_start

    sigma, _, _, generator = task_of(cell, cfg)
    size, hidden = len(sigma), cfg["hidden"]
    if cell["start"] == "along the axes":
        W1 = np.eye(hidden, size) * np.sqrt(generator.uniform(0.5, 2.0, size))
        return W1, -W1.T, sigma
    W1, W2 = learned_weights(-sigma, hidden, generator)
    if cell["start"] in ("trained", "fresh"):
        goal = sigma if cell["start"] == "fresh" else -sigma
        W1, W2 = to_learnable_side(*zero_balanced_start(hidden, size, size, cfg["small"], generator), goal)
    if cell["start"] == "trained":
        steps = round(cfg["lesson"] / cfg["rate"])
        W1, W2 = (kept[0] for kept in descend(W1, W2, -sigma, rate=cfg["rate"], steps=steps, record=[steps]))
    if cell["start"] == "perturbed":
        noise = [generator.standard_normal(W.shape) for W in (W1, W2)]
        scale = cell["size"] * _norm(W1, W2) / _norm(*noise)
        W1, W2 = W1 + scale * noise[0], W2 + scale * noise[1]
    return W1, W2, sigma


def _norm(W1: np.ndarray, W2: np.ndarray) -> float:
    """√(‖W1‖² + ‖W2‖²)."""
    return math.sqrt((W1**2).sum() + (W2**2).sum())


def _descend(W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, cfg: Mapping[str, Any]) -> np.ndarray:
    """W2 W1 of networks (K, ...) at the times that are kept, (K, T, N_o, N_i)."""
    from numerics.training.linear_descent import descend

    steps = round(cfg["horizon"] / cfg["rate"])
    record = range(0, steps + 1, cfg["every"])
    first, second = descend(W1, W2, sigma, rate=cfg["rate"], steps=steps, record=record)
    return second @ first


def _descend_in_single_precision(
    W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, cfg: Mapping[str, Any]
) -> np.ndarray:
    """As ``_descend``, every number rounded to float32."""
    import numpy as np

    from numerics.training.linear_descent import whitened_learner
    from numerics.training.loop import reached

    W1, W2, sigma = (value.astype(np.float32) for value in (W1, W2, sigma))
    learner = whitened_learner(W1, W2, sigma, cfg["rate"])
    steps = round(cfg["horizon"] / cfg["rate"])
    kept = (learner.state for _ in reached(learner, range(0, steps + 1, cfg["every"])))
    return np.stack([second @ first for first, second in kept], 1)


def _measure(
    cell: dict[str, Any],
    W1: np.ndarray,
    W2: np.ndarray,
    sigma: np.ndarray,
    function: np.ndarray,
    times: np.ndarray,
    cfg: Mapping[str, Any],
) -> Cell:
    """When a network, trained from W1 and W2 with the functions (T, 3, 3), has left the plateau and has learned, and
    what is predicted of it.
    """
    import numpy as np

    from derivations.prior_knowledge.evaluators.learnability import learnable
    from derivations.prior_knowledge.evaluators.next_task import reversal
    from derivations.prior_knowledge.evaluators.representations import qqt
    from numerics.starts.learned_starts import crossing, finite_or_none
    from numerics.training.linear_descent import whitened_loss

    _, U, V, _ = task_of(cell, cfg)
    norm = np.linalg.norm(sigma)
    size = np.linalg.norm(function, axis=(-2, -1)) / norm
    loss = whitened_loss(function, sigma)
    strongest = np.einsum("i,tij,j->t", U[:, 0], function, V[:, 0])
    escape = crossing(times, strongest, cfg["strengths"][0] / 2)
    overlap = np.linalg.norm(W1 @ V[:, 0] + W2.T @ U[:, 0]) / _norm(W1, W2)
    learned = crossing(times, -loss, -LEARNED * norm**2 / 2)
    values = {
        "overlap": float(overlap),
        "escape": finite_or_none(escape),
        "learned": finite_or_none(learned),
        "plateau": float((size < PLATEAU).sum() * (times[1] - times[0])),
        "size_at_end": float(size[-1]),
        "error_at_end": float(np.linalg.norm(function[-1] - sigma) / norm),
    }
    exact = np.full_like(function, np.nan)
    if cell["start"] in ("known", "along the axes"):
        state = qqt(times, W1, W2, sigma, on_separatrix=True)
        exact = state[:, 3:, :3]
        values |= {"exact_size_at_end": float(np.linalg.norm(exact[-1]) / norm)}
    if cell["start"] == "known":
        rounding = None if cell["precision"] == "float64" else float(np.finfo(np.float32).eps)
        values |= {
            "formulas_apart": float(np.abs(state - reversal(times, W1, W2)).max()),
            "predicted": float(learnable(W1, W2, sigma, noise=rounding).escape_time),
            "following": [_deviation(W1, W2, sigma, rate, cfg) for rate in cfg["rates"]],  # type: ignore[dict-item]  # a list
        }
    if cell["start"] in ("perturbed", "trained"):
        known = start_of(cell | {"start": "known"}, cfg)
        values |= {"predicted": float(learnable(*known, noise=overlap).escape_time)}  # type: ignore[arg-type]  # a number of NumPy
    exact_loss = whitened_loss(exact, sigma)
    curves = {"t": times, "function": function, "loss": loss, "exact": exact, "exact_loss": exact_loss}
    return Cell(cell, values, {name: curve[:: cfg["thin"]] for name, curve in curves.items()})


def _deviation(
    W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, rate: float, cfg: Mapping[str, Any]
) -> float:
    """The largest distance of gradient descent from the exact flow before the plateau."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.representations import network_function
    from numerics.training.linear_descent import descend

    steps = round(cfg["followed"] / rate)
    first, second = descend(W1, W2, sigma, rate=rate, steps=steps, record=range(steps + 1))
    exact = network_function(rate * np.arange(steps + 1), W1, W2, sigma, on_separatrix=True)
    return float(np.abs(second @ first - exact).max())


def claims(measured: Measurements) -> list[Claim]:
    """What the source says of reversal in deep networks, how long noise takes, and what happens without noise."""
    return [*_reversal_claims(measured), *_checks(measured.where(start="known")), *_escape_claims(measured)]


def _reversal_claims(measured: Measurements) -> list[Claim]:
    """The exact flow is stuck, training is slow and arrives."""
    exact = [row for row in measured if row.cell["start"] in ("known", "along the axes")]
    known, fresh, trained = (measured.where(start=name) for name in ("known", "fresh", "trained"))
    slower = ratios(known.where(precision="float64").values("learned"), fresh.values("learned"))
    return [
        at_most(
            "exact-flow-stays-at-zero",
            "from weights that know −Σ the exact flow ends with |W2 W1| / |Σ| at most 1e-9",
            max(row.values["exact_size_at_end"] for row in exact),
            1e-9,
        ),
        at_most(
            "training-reaches-the-target",
            "gradient descent from known and from trained weights, in double and in single precision, ends within "
            "0.001 |Σ| of Σ",
            max([*known.values("error_at_end"), *trained.values("error_at_end")]),
            1e-3,
        ),
        mean_at_least(
            "reversal-is-slow",
            "gradient descent in double precision needs at least twice as long for a loss of 1 % of |Σ|²/2 from known "
            "weights as from small ones on the learnable side: ln of the ratio, over seeds",
            [math.log(ratio) for ratio in slower],
            math.log(2),
        ),
    ]


def _checks(known: Measurements) -> list[Claim]:
    """Before the plateau training is on the exact flow, for which two formulas agree."""
    return [
        order_claim(
            "descent-follows-the-flow-to-the-plateau",
            "until t = 4 gradient descent with step h deviates from the exact flow by O(h): the order farthest from 1",
            [(PAPER["rates"], row.values["following"]) for row in known],
            about="check",
        ),
        at_most(
            "two-formulas-agree",
            "QQᵀ for any start and QQᵀ for reversal differ by at most 1e-12",
            max(known.values("formulas_apart")),
            1e-12,
            about="check",
        ),
    ]


def _escape_claims(measured: Measurements) -> list[Claim]:
    """When training leaves the saddle: as what perturbs it says, and not at all where nothing does."""
    fastest = max(PAPER["strengths"])
    disturbed, known, trained, axes = (
        measured.where(start=name) for name in ("perturbed", "known", "trained", "along the axes")
    )
    slopes = [_slope(disturbed.where(seed=seed), fastest) for seed in disturbed.distinct("seed")]
    slope, slope_stderr = mean_and_stderr(slopes)
    double = known.where(precision="float64")
    earlier = differences(double.values("escape"), trained.values("escape"))
    return [
        between(
            "escape-grows-with-the-logarithm",
            "the escape time falls by 1/s for each e-fold of the perturbation, s the largest singular value: slope "
            "times −s, mean over seeds",
            slope,
            0.98,
            1.02,
            stderr=slope_stderr,
            max_stderr=0.01,
            about="own",
        ),
        at_most(
            "escape-is-predicted-by-the-overlap",
            "perturbed and trained weights: escape time against that predicted from the overlap with the strongest "
            "mode, the largest difference in e-folds 1/s",
            max(_late([*disturbed, *trained], fastest)),
            1.0,
            about="own",
        ),
        at_most(
            "escape-by-rounding",
            "rounding alone, in double and in single precision: escape time against that predicted for noise of one "
            "unit of rounding, the largest difference in e-folds",
            max(_late(known, fastest)),
            4.0,
            about="own",
        ),
        mean_at_least(
            "trained-weights-escape-earlier",
            "weights trained on −Σ for t = 20 escape at least 5 e-folds before weights that know it to rounding, over "
            "seeds",
            [fastest * time for time in earlier],
            5.0,
            about="own",
        ),
        at_most(
            "no-noise-no-escape",
            "along the axes, where rounding is symmetric, gradient descent ends with |W2 W1| / |Σ| at most 1e-9, in "
            "double and in single precision",
            max(axes.values("size_at_end")),
            1e-9,
            about="own",
        ),
    ]


def _slope(rows: Measurements, rate: float) -> float:
    """−s times the slope of the escape time over ln(size), by least squares."""
    x = [math.log(row.cell["size"]) for row in rows]
    y = rows.values("escape")
    centre, mean = math.fsum(x) / len(x), math.fsum(y) / len(y)
    rise = math.fsum((a - centre) * (b - mean) for a, b in zip(x, y, strict=True))
    return -rate * rise / math.fsum((a - centre) ** 2 for a in x)


def _late(rows: Iterable[Measurement], rate: float) -> list[float]:
    """|escape − predicted| in e-folds, infinite for a network that never escapes."""
    return [
        math.inf
        if row.values["escape"] is None
        else rate * abs(row.values["escape"] - row.values["predicted"])
        for row in rows
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    drawing = new_figure(1, 3, width=3.4, height=3.0)
    left, middle, right = drawing.subplots(1, 3)
    seed = results[0].cell["seed"]
    shown = {
        (cell.cell["start"], cell.cell["precision"]): cell for cell in results if cell.cell["seed"] == seed
    }
    _dynamics(left, shown["known", "float64"])
    _losses(middle, shown)
    _escapes(right, results)
    return drawing


def _dynamics(axes: Axes, cell: Cell) -> None:
    """The entries of the function, trained and exact."""
    from matplotlib import colormaps

    from numerics.lab.figures import EXACT, measured, style

    t, function, exact = (cell.curves[name] for name in ("t", "function", "exact"))
    outputs, inputs = function.shape[1:]
    # One dotted line at zero: several with shifted gaps would look solid.
    for i in range(outputs):
        for j in range(inputs):
            axes.plot(
                t, function[:, i, j], **measured(colormaps["viridis"]((i * inputs + j) / (outputs * inputs)))
            )
            moving = slice(None) if i == j == 0 else abs(exact[:, i, j]) > 0.01
            axes.plot(t[moving], exact[moving, i, j], **EXACT)
    style(axes, xlabel="$t$", ylabel="entries of $W_2W_1$", title="A  exact flow (dotted) and training")


ROWS = {
    ("known", "float64"): ("known, float64", "#1b4f8a"),
    ("known", "float32"): ("known, float32", "#6baed6"),
    ("trained", "float64"): ("trained", "#e6842a"),
    ("along the axes", "float64"): ("along the axes", "#b2182b"),
    ("fresh", "float64"): ("fresh, small", "0.6"),
}


def _losses(axes: Axes, shown: Mapping[tuple[str, str], Cell]) -> None:
    """Losses of one seed, by what perturbs the start."""
    from numerics.lab.figures import EXACT, measured, style

    for kind, (label, color) in ROWS.items():
        curves = shown[kind].curves
        axes.plot(
            curves["t"], curves["loss"] / curves["loss"][0], label=label, **measured(color) | {"linewidth": 2}
        )
    curves = shown["known", "float64"].curves
    axes.plot(curves["t"], curves["exact_loss"] / curves["exact_loss"][0], label="exact flow", **EXACT)
    axes.set(yscale="log", ylim=(1e-6, 2), xlim=(0, 112), xticks=range(0, 81, 20))
    axes.legend(frameon=False, fontsize=7.5, loc="lower right")
    style(axes, xlabel="$t$", ylabel="loss / loss at the start", title="B  what perturbs decides when")


def _escapes(axes: Axes, results: Sequence[Cell]) -> None:
    """When networks leave the plateau, against the size of what perturbs them."""
    import numpy as np

    from numerics.lab.figures import style

    marks = {"perturbed": ("o", "#4d9221"), "trained": ("D", "#e6842a"), "known": ("s", "#1b4f8a")}
    for start, (mark, color) in marks.items():
        cells = [cell for cell in results if cell.cell["start"] == start]
        sizes = [
            cell.values["overlap"] if start != "known" else float(np.finfo(cell.cell["precision"]).eps)
            for cell in cells
        ]
        label = {"known": "rounding alone", "perturbed": "perturbed", "trained": "trained"}[start]
        times = [cell.values["escape"] or np.nan for cell in cells]
        axes.plot(sizes, times, mark, color=color, markersize=4.5, alpha=0.8, markeredgewidth=0, label=label)
    line = np.geomspace(1e-16, 1e-3, 50)
    strengths = np.array(PAPER["strengths"])
    weights = np.sqrt(2 * strengths.sum())
    axes.plot(
        line, np.log(np.sqrt(2 * strengths[0]) / (line * weights)) / strengths[0], color="black", linewidth=1
    )
    axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=7.5)
    style(
        axes,
        xlabel="size of the perturbation",
        ylabel="time of escape",
        title="C  predicted (line) and trained",
    )


@study(
    "braun2022.fig-6a",
    title="Reversal learning in a deep linear network: stuck in the exact flow, late in training",
    confronts=(
        "prior_knowledge.reversal_fails",
        "prior_knowledge.catastrophic_slowing",
        "prior_knowledge.escape_needs_a_perturbation",
    ),
)
def reversal_deep() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        batch=None,
        absent=("escape", "learned"),
    )
