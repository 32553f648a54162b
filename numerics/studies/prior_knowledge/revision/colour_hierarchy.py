"""A new tree after the living things: knowing a tree is no advantage (Braun et al. 2022, Sec. 6).

Networks that know the living things, zero-balanced and with hidden neurons of random directions, learn a colour
hierarchy: the same things in a random order, with new features. They compete with random zero-balanced starts of
the same singular values. With as many features as things half of all new trees put the known tree on their
separatrix; so do half of all random starts. There the exact flow never learns the tree. Both kinds of starts are
compared on the learnable side, by the sign of a feature of the tree and of a row of W2; the trees on the other side are
counted, and given to the exact flow as they are.

Time is measured up to a loss of 1 % of ½|Σ|², in training with the step 0.01 and on the exact flow. "No advantage"
means: the known tree does not save a fifth of the time. That times of training with the steps h = 0.005 and h/2
extrapolate, 2t(h/2) − t(h), to those of the flow within half a percent is a check that was added after the data had
been seen. (With h = 0.01 one network in 240, next to the separatrix, was 0.54 % off, by what is left of second order;
the steps were halved, and the bound was kept.) The published sizes are not stated; here N_h = 16 and the
strengths of the tree are 4, 3, 2, 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import (
    Claim,
    Measurements,
    at_most,
    between,
    mean_at_least,
    ratios,
    relative_deviations,
)
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


# The step, of which one in ``every`` is kept; finer steps, of which times are extrapolated; the horizon (τ = 1).
PAPER = {
    "hidden": 16,
    "rate": 0.01,
    "fine_rates": [0.005, 0.0025],
    "every": 5,
    "horizon": 40.0,
    "seeds": list(range(120)),
}
SCALES = {
    "smoke": {**PAPER, "every": 10, "horizon": 20.0, "seeds": list(range(40))},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {name: ("time",) for name in ("t", "known_loss", "random_loss")}
ADVANTAGE = math.log(0.8)


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"seed": seed} for seed in cfg["seeds"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    from numerics.training.linear_descent import stacked

    pairs = [_starts(cell, cfg) for cell in batch]
    W1, W2, sigma = stacked(start for pair in pairs for start in pair[:2])
    return [
        Cell(cell, *outcome)
        for cell, outcome in zip(batch, _race(W1, W2, sigma, [pair[2] for pair in pairs], cfg), strict=True)
    ]


def _starts(
    cell: Mapping[str, Any], cfg: Mapping[str, Any]
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...], bool]:
    """The known and the random start with their task, and whether the tree was reflected."""
    import numpy as np

    from numerics.starts.learned_starts import learned_weights, to_learnable_side
    from numerics.tasks.semantic import hierarchy
    from numerics.training.linear_descent import zero_balanced_start
    from numerics.training.relearning import colour_hierarchy

    generator, living = np.random.default_rng(cell["seed"]), hierarchy()
    known = learned_weights(living, cfg["hidden"], generator)
    tree, reflected = colour_hierarchy(generator, *known)
    values = np.linalg.svd(living, compute_uv=False)
    drawn = to_learnable_side(*zero_balanced_start(cfg["hidden"], 8, 8, values, generator), tree)  # type: ignore[arg-type]  # an array of numbers
    return (*known, tree), (*drawn, tree), reflected


def _race(
    W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, reflected: Sequence[Any], cfg: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Numbers and curves of every pair of a known start and a random one, which follow each other in the stack."""
    from derivations.prior_knowledge.evaluators.representations import network_function
    from derivations.prior_knowledge.evaluators.separatrix import separatrix_distance
    from numerics.starts.learned_starts import finite_or_none
    from numerics.training.relearning import learning_time, losses, train

    times, first, second = train(W1, W2, sigma, rate=cfg["rate"], horizon=cfg["horizon"], every=cfg["every"])
    loss = losses(second @ first, sigma)
    coarse, fine = (_times(W1, W2, sigma, rate, cfg) for rate in cfg["fine_rates"])
    limit = 2 * fine - coarse
    exact_loss = losses(network_function(times, W1, W2, sigma), sigma)
    trained, exact = learning_time(times, loss, sigma), learning_time(times, exact_loss, sigma)
    distance = separatrix_distance(W1, W2, sigma)
    for place, other in enumerate(reflected):
        known, drawn = 2 * place, 2 * place + 1
        values = {"reflected": other}
        for name, index in (("known", known), ("random", drawn)):
            values |= {
                f"{name}_time": finite_or_none(trained[index]),
                f"{name}_exact_time": finite_or_none(exact[index]),
                f"{name}_limit_time": finite_or_none(limit[index]),
                f"{name}_distance": float(distance[index]),
                f"{name}_loss_at_end": float(loss[index, -1]),
            }
        values |= _other_side(W1[known], W2[known], sigma[known], cfg["horizon"])
        thin = slice(None, None, 4)
        curves = {"t": times[thin], "known_loss": loss[known, thin], "random_loss": loss[drawn, thin]}
        yield values, curves


def _times(
    W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, rate: float, cfg: Mapping[str, Any]
) -> np.ndarray:
    """When training with the step ``rate`` has learned, read off at the same moments for every step."""
    from numerics.training.relearning import learning_time, losses, train

    every = round(cfg["every"] * cfg["rate"] / rate)
    times, first, second = train(W1, W2, sigma, rate=rate, horizon=cfg["horizon"], every=every)
    return learning_time(times, losses(second @ first, sigma), sigma)


def _other_side(W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, horizon: float) -> dict[str, float]:
    """The loss that the exact flow keeps on the tree with one feature direction reflected, and its prediction."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.learnability import learnable
    from derivations.prior_knowledge.evaluators.representations import network_function
    from numerics.training.relearning import losses

    U, S, Vt = np.linalg.svd(sigma)
    U[:, -1] *= -1
    other = (U * S) @ Vt
    end = network_function(np.array([horizon]), W1, W2, other, on_separatrix=True)
    return {
        "other_side_loss": float(losses(end, other)[0]),
        "other_side_predicted": float(learnable(W1, W2, other).excess_loss),
    }


def claims(measured: Measurements) -> list[Claim]:
    """Known trees are not faster than random starts of the same singular values; half of the new trees are lost."""
    return [*_advantage_claims(measured), *_checks(measured), *_separatrix_claims(measured)]


def _advantage_claims(measured: Measurements) -> list[Claim]:
    """A known tree does not save a fifth of the time."""
    trained, exact = (
        [
            math.log(ratio)
            for ratio in ratios(measured.values(f"known_{name}"), measured.values(f"random_{name}"))
        ]
        for name in ("time", "exact_time")
    )
    return [
        mean_at_least(
            "no-advantage-in-training",
            "networks that know a tree do not learn the new one in less than 0.8 of the time from random weights of "
            "the same singular values: ln of the ratio, paired, gradient descent",
            trained,
            ADVANTAGE,
        ),
        mean_at_least(
            "no-advantage-in-the-exact-flow",
            "the same for the exact flow",
            exact,
            ADVANTAGE,
        ),
    ]


def _checks(measured: Measurements) -> list[Claim]:
    """All trees are learned, at the times of the exact flow."""
    return [
        at_most(
            "all-are-learned",
            "the largest loss at the end of training from either start, on the learnable side",
            max([*measured.values("known_loss_at_end"), *measured.values("random_loss_at_end")]),
            1e-6,
            about="check",
        ),
        at_most(
            "training-keeps-to-the-flow",
            "the times of training with step 0.01 and of the exact flow differ by at most 5 %",
            max(_apart(measured, "time")),
            0.05,
            about="check",
        ),
        at_most(
            "training-tends-to-the-flow",
            "the times of training, extrapolated to steps of no size from 0.005 and 0.0025, and those of the exact "
            "flow differ by at most 0.5 %",
            max(_apart(measured, "limit_time")),
            0.005,
            about="check",
        ),
    ]


def _separatrix_claims(measured: Measurements) -> list[Claim]:
    """Half of all new trees are on the other side, and there they are never learned."""
    lost = measured.values("reflected")
    stuck = relative_deviations(measured.values("other_side_loss"), measured.values("other_side_predicted"))
    return [
        between(
            "half-of-all-new-trees",
            "the fraction of new trees that have the known one on their separatrix",
            sum(lost) / len(lost),
            0.5 - 3 * 0.5 / math.sqrt(len(lost)),
            0.5 + 3 * 0.5 / math.sqrt(len(lost)),
            about="own",
        ),
        at_most(
            "the-other-side-is-never-learned",
            "with one feature reflected to the other side, the exact flow from the known tree misses the weakest mode "
            "of the new one: its last loss relative to the predicted, largest deviation",
            max(stuck),
            1e-6,
            about="own",
        ),
    ]


def _apart(measured: Measurements, name: str) -> list[float]:
    """The relative deviations of the times from those of the exact flow, for both starts."""
    return [
        deviation
        for start in ("known", "random")
        for deviation in relative_deviations(
            measured.values(f"{start}_{name}"), measured.values(f"{start}_exact_time")
        )
    ]


def figure(results: Sequence[Cell]) -> Figure:
    import numpy as np

    from numerics.lab.figures import new_figure, style

    drawing = new_figure(1, 3, width=3.2, height=2.9)
    left, middle, right = drawing.subplots(1, 3)
    hues = {"known": "#1b7837", "random": "0.55"}
    labels = {"known": "knows a tree", "random": "random, same variance"}
    for start in ("random", "known"):
        for cell in results[:25]:
            left.plot(
                cell.curves["t"], cell.curves[f"{start}_loss"], color=hues[start], linewidth=0.8, alpha=0.6
            )
        times = np.array([cell.values[f"{start}_time"] or np.inf for cell in results])
        distances = [cell.values[f"{start}_distance"] for cell in results]
        middle.step(
            np.sort(times), np.arange(1, len(times) + 1) / len(times), where="post", color=hues[start], linewidth=2,
            label=labels[start],
        )  # fmt: skip
        right.plot(distances, times, "o", color=hues[start], markersize=3.5, alpha=0.8, markeredgewidth=0)
    left.set(yscale="log", ylim=(1e-3, 60), xlim=(0, 8))
    right.set(xscale="log")
    middle.legend(frameon=False, fontsize=8, loc="lower right")
    style(left, xlabel="$t$", ylabel="loss", title="learning the colour hierarchy")
    style(middle, xlabel="time to 1 % of the loss", ylabel="fraction of networks", title="no advantage")
    style(right, xlabel="distance from the separatrix", ylabel="time to 1 %", title="what decides the time")
    return drawing


@study(
    "braun2022.colour-hierarchy-no-advantage",
    title="A new tree of known things: no faster than from random weights of the same variance",
    confronts=(
        "prior_knowledge.tree_similarity",
        "prior_knowledge.learned_from_overlap",
    ),
)
def colour_hierarchy() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None)
