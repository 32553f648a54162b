"""Large zero-balanced weights learn faster and represent the same (Braun et al. 2022, Sec. 6 and figure 6G, H).

Zero-balanced starts of random directions, with all singular values of W2 W1 equal to a scale between 1e-6 and 4,
learn the tree of living things. Times are those to a loss of 1 % of ½|Σ|², in training and on the exact
flow. The final representation is compared as a function, W2 W1, and in hidden space, W1ᵀW1, which tends to the square
root of ΣᵀΣ from every zero-balanced start on the learnable side (half of them are, by the sign of a row of W2). In
training, steps of finite size spoil the balance, and W1ᵀW1 comes as close as O(h). Gaussian weights
of the same variance are fast as well, but what they represent is left over from the start.

The published sizes are not stated. Here N_h = 16, the strengths of the tree are 4, 3, 2, 1, "small" is the scale 1e-3,
"large" the scale 2, and the smallest gain that counts is a factor of 1.5. That the losses of training tend to those of
the flow while they fall is a check that was added after the data had been seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_most, between, mean_and_stderr, mean_at_least, ratios
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


SMALL, LARGE = 1e-3, 2.0
# Singular values of W2 W1 at the start; steps, for each of which one in ``every`` is kept; the horizon (τ = 1).
PAPER = {
    "hidden": 16,
    "scales": [1e-6, 1e-5, 1e-4, SMALL, 1e-2, 0.1, 0.5, LARGE, 4.0],
    "rates": [0.01, 0.005, 0.0025],
    "every": [10, 20, 40],
    "horizon": 25.0,
    "seeds": list(range(20)),
}
SCALES = {
    "smoke": {**PAPER, "scales": [1e-6, SMALL, LARGE], "seeds": list(range(4))},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {name: ("time",) for name in ("t", "loss", "apart")}
GAIN = math.log(1.5)


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    kinds = [("zero-balanced", scale) for scale in cfg["scales"]] + [("Gaussian", LARGE)]
    return [{"start": start, "scale": scale, "seed": seed} for start, scale in kinds for seed in cfg["seeds"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    import numpy as np

    from derivations.prior_knowledge.evaluators.representations import qqt
    from numerics.starts.learned_starts import finite_or_none
    from numerics.tasks.semantic import contrasts, hierarchy
    from numerics.training.linear_descent import stacked
    from numerics.training.relearning import learning_time, losses, train

    sigma = hierarchy()
    C = contrasts()
    goal = C.T @ np.diag(np.linalg.norm(sigma, axis=1)) @ C
    W1, W2 = stacked(_start(cell, sigma, cfg) for cell in batch)
    runs = [
        train(W1, W2, sigma, rate=rate, every=every, horizon=cfg["horizon"])
        for rate, every in zip(cfg["rates"], cfg["every"], strict=True)
    ]
    times, first, second = runs[-1]
    descents = [losses(run[2] @ run[1], sigma) for run in runs]
    loss = descents[-1]
    trained = learning_time(times, loss, sigma)
    hidden = [_apart(run[1][:, -1].swapaxes(-1, -2) @ run[1][:, -1], goal) for run in runs]
    along = _apart(first.swapaxes(-1, -2) @ first, goal)
    found = []
    for place, cell in enumerate(batch):
        values = {
            "time": finite_or_none(trained[place]),
            "function_at_end": float(_apart(second[place, -1] @ first[place, -1], sigma)),
            "hidden_at_end": [float(one[place]) for one in hidden],
        }
        if cell["start"] == "zero-balanced":
            state = qqt(times, W1[place], W2[place], sigma)
            exact = losses(state[:, 8:, :8], sigma)
            values |= {
                "exact_time": finite_or_none(learning_time(times, exact, sigma)),
                "exact_hidden_at_end": float(_apart(state[-1, :8, :8], goal)),
                "following": [float(np.abs(one[place] - exact).max() / exact[0]) for one in descents],
            }
        thin = slice(None, None, 2)
        found.append(
            Cell(cell, values, {"t": times[thin], "loss": loss[place, thin], "apart": along[place, thin]})
        )
    return found


def _start(
    cell: Mapping[str, Any], sigma: np.ndarray, cfg: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """W1 (N_h, 8) and W2 (8, N_h), zero-balanced or Gaussian of the same variance, on the learnable side."""
    import numpy as np

    from numerics.starts.learned_starts import to_learnable_side
    from numerics.training.linear_descent import random_start, zero_balanced_start

    generator = np.random.default_rng(cell["seed"])
    sizes = cfg["hidden"], 8, 8
    if cell["start"] == "Gaussian":
        start = random_start(*sizes, math.sqrt(cell["scale"]), generator)
    else:
        start = zero_balanced_start(*sizes, cell["scale"], generator)
    return to_learnable_side(*start, sigma)


def _apart(matrices: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """|M − goal| / |goal| of matrices (..., n, m)."""
    import numpy as np

    return np.linalg.norm(matrices - goal, axis=(-2, -1)) / np.linalg.norm(goal)


def claims(measured: Measurements) -> list[Claim]:
    """Large zero-balanced starts are faster, and end in the same function and the same hidden representation."""
    balanced = measured.where(start="zero-balanced")
    return [
        *_speed_claims(balanced.where(scale=SMALL), balanced.where(scale=LARGE)),
        *_end_claims(balanced),
        order_claim(
            "training-follows-the-flow",
            "from all zero-balanced starts the loss of training with steps h is O(h) from that of the exact flow at "
            "all times: the order farthest from 1",
            [(PAPER["rates"], errors) for errors in balanced.values("following")],
            about="check",
        ),
        *_own_claims(balanced, measured.where(start="Gaussian")),
    ]


def _speed_claims(small: Measurements, large: Measurements) -> list[Claim]:
    """Large starts are faster."""
    return [
        mean_at_least(
            "large-is-faster-in-training",
            "training from the scale 2 needs at most two thirds of the time from the scale 1e-3: ln of the ratio, "
            "paired by seed",
            _log_ratios(small.values("time"), large.values("time")),
            GAIN,
        ),
        mean_at_least(
            "large-is-faster-in-the-exact-flow",
            "the same for the exact flow",
            _log_ratios(small.values("exact_time"), large.values("exact_time")),
            GAIN,
        ),
    ]


def _end_claims(balanced: Measurements) -> list[Claim]:
    """What is computed and represented in the end does not depend on the start."""
    return [
        at_most(
            "same-function",
            "from all zero-balanced starts training ends within 1e-6 |Σ| of Σ",
            max(balanced.values("function_at_end")),
            1e-6,
        ),
        at_most(
            "same-hidden-representation-in-the-exact-flow",
            "from all zero-balanced starts the exact flow ends with W1ᵀW1 within 1e-9 of √(ΣᵀΣ), relative",
            max(balanced.values("exact_hidden_at_end")),
            1e-9,
        ),
        order_claim(
            "same-hidden-representation-in-training",
            "with steps h, W1ᵀW1 ends within O(h) of √(ΣᵀΣ): the fitted order farthest from 1 over all "
            "zero-balanced starts",
            [(PAPER["rates"], errors) for errors in balanced.values("hidden_at_end")],
        ),
    ]


def _own_claims(balanced: Measurements, gaussian: Measurements) -> list[Claim]:
    """How long small starts wait, and what Gaussian ones represent."""
    smallest = balanced.where(scale=min(balanced.distinct("scale")))
    slopes = [_per_e_fold(smallest, balanced.where(scale=SMALL), seed) for seed in balanced.distinct("seed")]
    slope, stderr = mean_and_stderr(slopes)
    return [
        between(
            "small-starts-wait-by-the-logarithm",
            "below 1e-3 the time of the exact flow grows by 1/(2s) for each e-fold of the scale, s = 1 the weakest "
            "strength: slope times 2s, mean over seeds",
            slope,
            0.98,
            1.02,
            stderr=stderr,
            max_stderr=0.01,
            about="own",
        ),
        mean_at_least(
            "balance-is-needed",
            "Gaussian weights of the large variance end with W1ᵀW1 at least 0.1 from √(ΣᵀΣ), relative, over seeds",
            [distances[-1] for distances in gaussian.values("hidden_at_end")],
            0.1,
            about="own",
        ),
    ]


def _log_ratios(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """ln of the ratios of paired samples."""
    return [math.log(ratio) for ratio in ratios(first, second)]


def _per_e_fold(small: Measurements, less_small: Measurements, seed: int) -> float:
    """How much later one start has learned than another one, in units of 1/2, for each e-fold between their scales."""
    first, second = small.where(seed=seed), less_small.where(seed=seed)
    e_folds = math.log(second.coordinates("scale")[0] / first.coordinates("scale")[0])
    return 2 * (first.values("exact_time")[0] - second.values("exact_time")[0]) / e_folds


def figure(results: Sequence[Cell]) -> Figure:
    import numpy as np
    from matplotlib import colormaps

    from numerics.lab.figures import new_figure, style

    drawing = new_figure(1, 3, width=3.3, height=2.9)
    left, middle, right = drawing.subplots(1, 3)
    scales = sorted({cell.cell["scale"] for cell in results})
    hues = {scale: colormaps["plasma"](0.85 * place / len(scales)) for place, scale in enumerate(scales)}
    first = results[0].cell["seed"]
    for cell in results:
        balanced = cell.cell["start"] == "zero-balanced"
        color = hues[cell.cell["scale"]] if balanced else "0.5"
        if cell.cell["seed"] == first:
            line = {"color": color, "linestyle": "-" if balanced else "--", "linewidth": 1.8}
            label = f"{cell.cell['scale']:g}" if balanced else "Gaussian"
            left.plot(cell.curves["t"], cell.curves["loss"], label=label, **line)
            right.plot(cell.curves["t"], cell.curves["apart"], **line)
        if balanced:
            middle.plot(cell.cell["scale"], cell.values["time"], "o", color=color, markersize=4, alpha=0.6)
    for scale in scales:
        times = [
            cell.values["exact_time"]
            for cell in results
            if cell.cell["start"] == "zero-balanced" and cell.cell["scale"] == scale
        ]
        middle.plot(scale, np.mean(times), "_", color="black", markersize=14)
    left.set(yscale="log", ylim=(1e-3, 60), xlim=(0, 12))
    handles, labels = left.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8, title="scale")
    middle.set(xscale="log", ylim=(0, None))
    right.set(xlim=(0, 14), yscale="log", ylim=(1e-7, 3))
    style(left, xlabel="$t$", ylabel="loss", title="learning the living things")
    style(middle, xlabel="scale of the start", ylabel="time to 1 %", title="trained; mean of the flow (dash)")
    style(
        right,
        xlabel="$t$",
        ylabel="relative distance",
        title=r"$W_1^\top W_1$ from $\sqrt{\Sigma^\top\Sigma}$",
    )
    return drawing


@study(
    "braun2022.large-zero-balanced-speeds-up",
    title="Large zero-balanced weights: faster learning, same function and representation",
    confronts=("prior_knowledge.speed_of_large_starts",),
)
def large_starts() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None)
