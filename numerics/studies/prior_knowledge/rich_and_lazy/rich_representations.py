"""What networks represent that compute the same: small random, large random and large zero-balanced starts (Braun et
al. 2022, figure 3C-E).

Eight living things, one feature for each branching of their tree, 32 hidden neurons, twenty starts of each kind. The
appendix with the published sizes is missing; here small weights have the scale 1e-4 and large ones 3, so that W1ᵀ W1
starts near 9 I where the task asks for eigenvalues from 1 to 4. Every start is followed to t = 30, when the slowest
mode of the smallest weights is at its end, by the exact flow and by gradient descent with three steps.

The representations of small random starts are those of the task up to the imbalance W1 W1ᵀ − W2ᵀ W2 = O(scale²), which
the flow conserves. Descent with step h conserves the balance up to O(h). Of zero-balanced starts whose sign is left to
chance half are on the separatrix; a second kind of cell counts them, and trains some: descent leaves the separatrix.
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
    mean_and_stderr,
    mean_at_least,
)
from numerics.lab.order import ORDER_MARGIN, ORDER_STDERR, fit_order, order_claim
from numerics.lab.study import Cell, Plan, study
from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import BALANCED, KINDS, LARGE, SMALL

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Scales of the starts, and of small ones whose gap is fitted; steps and the horizon (τ = 1). Of ``signs`` starts of
# random sign the first ``stuck`` ones that are stuck are trained with the ``escape_rates``.
PAPER = {
    "hidden": 32,
    "small": 1e-4,
    "large": 3.0,
    "seeds": list(range(20)),
    "horizon": 30.0,
    "rates": [0.004, 0.002, 0.001],
    "scales": [0.03, 0.01, 0.003, 0.001],
    "signs": 400,
    "stuck": 12,
    "escape_rates": [0.004, 0.002, 0.001],
}
SCALES = {
    "smoke": {**PAPER, "seeds": [0, 1, 2], "rates": [0.008, 0.004, 0.002], "signs": 100},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {"flow": ("row", "column"), "trained": ("row", "column")}
ESCAPED = 0.25
GROUPS = (("living things",), ("animals", "plants"), ("fish", "birds", "trees", "flowers"))
BLOCKS = ("input", "function", "output")
SIDES = ("input", "output")
RICH = (SMALL, BALANCED)


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    learned = [{"part": "learned", "start": kind, "seed": seed} for kind in KINDS for seed in cfg["seeds"]]
    return [*learned, {"part": "signs", "start": BALANCED, "seed": -1}]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return {"learned": _learned, "signs": _signs}[batch[0]["part"]](batch, cfg)


def _learned(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """Networks of one kind: each by its flow, all together by descent."""
    import numpy as np

    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import flow, gaps, start, trained
    from numerics.tasks.semantic import hierarchy
    from numerics.training.linear_descent import stacked

    sigma, kind, end = hierarchy(), batch[0]["start"], [0.0, cfg["horizon"]]
    starts = [start(kind, cfg, cell["seed"], sigma) for cell in batch]
    descents = [trained(*stacked(starts), sigma, end, rate)[:, -1] for rate in cfg["rates"]]  # type: ignore[arg-type, call-arg]  # two stacks
    found = []
    for place, cell in enumerate(batch):
        exact = flow(kind, *starts[place], sigma, end)[-1]
        steps = np.transpose([gaps(descent[place], sigma) for descent in descents]).tolist()
        values = {
            **{f"flow_{name}": gap for name, gap in zip(BLOCKS, gaps(exact, sigma), strict=True)},
            **{f"trained_{name}": gap for name, gap in zip(BLOCKS, steps, strict=True)},
            "rate": list(cfg["rates"]),
            **(_scaling(cell["seed"], cfg, sigma) if kind == SMALL else {}),
        }
        found.append(Cell(cell, values, {"flow": exact, "trained": descents[-1][place]}))
    return found


def _scaling(seed: int, cfg: Mapping[str, Any], sigma: np.ndarray) -> dict[str, Any]:
    """The gaps of the flow from the same directions at several scales."""
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import flow, gaps, start

    found = []
    for scale in cfg["scales"]:
        W1, W2 = start(SMALL, {**cfg, "small": scale}, seed, sigma)
        found.append(gaps(flow(SMALL, W1, W2, sigma, [0.0, cfg["horizon"]])[-1], sigma))
    first, _, last = (list(column) for column in zip(*found, strict=True))
    return {"scale": list(cfg["scales"]), "scaled_input": first, "scaled_output": last}


def _signs(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """Zero-balanced starts whose sign is left to chance: how many are stuck, and whether the determinant tells."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.learnability import learnable
    from numerics.starts.learned_starts import on_wrong_side
    from numerics.tasks.semantic import hierarchy
    from numerics.training.linear_descent import stacked, zero_balanced_start

    sigma, generator = hierarchy(), np.random.default_rng(8)
    starts = [
        zero_balanced_start(cfg["hidden"], 8, 8, cfg["large"] ** 2, generator) for _ in range(cfg["signs"])
    ]
    W1, W2 = stacked(starts)
    ends = learnable(W1, W2, sigma)
    stuck = ~ends.learnable
    missed = ends.excess_loss[stuck]
    values = {
        "starts": cfg["signs"],
        "stuck": int(stuck.sum()),
        "told_wrong": int((stuck != on_wrong_side(W1, W2, sigma)).sum()),
        "least_missed": float(missed.min()),
        "most_missed": float(missed.max()),
        **_escapes(W1[stuck][: cfg["stuck"]], W2[stuck][: cfg["stuck"]], sigma, cfg),
    }
    nothing = np.full((16, 16), np.nan)
    return [Cell(batch[0], values, {"flow": nothing, "trained": nothing})]


def _escapes(W1: np.ndarray, W2: np.ndarray, sigma: np.ndarray, cfg: Mapping[str, Any]) -> dict[str, Any]:
    """How descent leaves the separatrix: when the loss that the flow keeps has been halved, at every step size.

    The imbalance that steps h leave behind, O(h), grows as e^(s t) in the missed mode, so that e^(−t) is O(h) there for
    s = 1: the fitted order of each start.
    """
    import numpy as np

    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import blocks, gaps, trained
    from numerics.training.linear_descent import whitened_loss

    times = np.arange(0.0, cfg["horizon"] + 0.016, 0.032)
    found, ends = [], []
    for rate in cfg["escape_rates"]:
        states = trained(W1, W2, sigma, times, rate)
        low = whitened_loss(blocks(states, sigma.shape[1])[1], sigma) < ESCAPED
        found.append(np.where(low.any(-1), times[low.argmax(-1)], np.inf))
        ends.append(max(max(gaps(last, sigma)) for last in states[:, -1]))
    escape = np.transpose(found)
    escaped = escape[np.isfinite(escape).all(-1)]
    return {
        "trained": len(escape),
        "escaped": len(escaped),
        "escape_order": [fit_order(cfg["escape_rates"], np.exp(-row))[0] for row in escaped],
        "escaped_gap": ends,
    }


def claims(measured: Measurements) -> list[Claim]:
    """The three kinds compute the same; two of them represent the task."""
    by_kind = {kind: measured.where(part="learned", start=kind) for kind in KINDS}
    signs = measured.where(part="signs")[0].values
    return [
        *_end_claims(by_kind),
        *(claim for side in SIDES for claim in _side_claims(by_kind, side)),
        *_separatrix_claims(signs),
        at_least(
            "rich-against-lazy",
            "over all seeds, the smallest gap from large random weights is at least 100 times the largest from large "
            "zero-balanced ones, after training",
            min(value for side in SIDES for value in _trained(by_kind[LARGE], side))
            / max(value for side in SIDES for value in _trained(by_kind[BALANCED], side)),
            100.0,
            about="own",
        ),
    ]


def _trained(rows: Measurements, block: str) -> list[float]:
    """How far a block of networks trained with the smallest step is from that of the task."""
    return [gaps[-1] for gaps in rows.values(f"trained_{block}")]


def _end_claims(by_kind: Mapping[str, Measurements]) -> list[Claim]:
    """All kinds compute the task; small and zero-balanced ones represent it."""
    flows = [by_kind[kind].values("flow_function") for kind in KINDS]
    rich = [_trained(by_kind[kind], side) for kind in RICH for side in SIDES]
    return [
        at_most(
            "same-function-trained",
            "trained networks of all three kinds end within 1e-9 of Σ, relative to it, and so of each other",
            max(max(_trained(by_kind[kind], "function")) for kind in KINDS),
            1e-9,
        ),
        at_most(
            "same-function-flow",
            "the flows of all three kinds end within 1e-9 of Σ, relative to it",
            max(map(max, flows)),
            1e-9,
        ),
        at_most(
            "rich-trained",
            "after training W1ᵀ W1 and W2 W2ᵀ of small random and of large zero-balanced starts are those of the task "
            "within 1 %",
            max(map(max, rich)),
            0.01,
        ),
        at_most(
            "rich-from-balance-flow",
            "the flow of large zero-balanced starts ends at the representations of the task within 1e-9",
            max(max(by_kind[BALANCED].values(f"flow_{side}")) for side in SIDES),
            1e-9,
        ),
    ]


def _side_claims(by_kind: Mapping[str, Measurements], side: str) -> list[Claim]:
    """The representation on one side: not that of the task from large random starts, and how close from the others."""
    return [
        mean_at_least(
            f"lazy-from-large-random-{side}",
            f"trained from large random weights, the {side} block differs from that of the task by at least half "
            "of the latter's norm",
            _trained(by_kind[LARGE], side),
            0.5,
        ),
        order_claim(
            f"small-scale-order-{side}",
            f"the flow of small random starts ends at the {side} block of the task up to O(scale²): the fitted "
            "order farthest from 2 over seeds",
            [(row.values["scale"], row.values[f"scaled_{side}"]) for row in by_kind[SMALL]],
            expected=2,
        ),
        order_claim(
            f"step-order-{side}",
            f"descent with step h takes the {side} block of zero-balanced starts O(h) away from that of the task: "
            "the fitted order farthest from 1 over seeds",
            [(row.values["rate"], row.values[f"trained_{side}"]) for row in by_kind[BALANCED]],
            about="check",
        ),
    ]


def _separatrix_claims(signs: Mapping[str, Any]) -> list[Claim]:
    """Half of all zero-balanced starts are stuck, which ones, on what, and that descent gets away."""
    count, spread = signs["starts"], 3 * math.sqrt(0.25 / signs["starts"])
    escape_order, escape_stderr = mean_and_stderr(signs["escape_order"])
    return [
        between(
            "half-are-stuck",
            f"of {count} zero-balanced starts of random sign, the fraction that the flow cannot take to Σ is one half "
            "within three standard errors",
            signs["stuck"] / count,
            0.5 - spread,
            0.5 + spread,
            about="own",
        ),
        at_most(
            "determinant-tells-which",
            "the stuck ones are those with det(W2 W1) det Σ < 0: how many starts it tells wrong",
            signs["told_wrong"],
            0,
            about="own",
        ),
        at_most(
            "stuck-ones-miss-the-weakest-mode",
            "what a stuck flow misses is one mode of the weakest level, s²/2 = 1/2 of loss: the largest deviation",
            max(abs(signs["least_missed"] - 0.5), abs(signs["most_missed"] - 0.5)),
            1e-9,
            about="own",
        ),
        at_most(
            "descent-leaves-the-separatrix",
            f"of {signs['trained']} stuck starts, those that descent does not take to the task by the horizon",
            signs["trained"] - signs["escaped"],
            0,
            about="own",
        ),
        between(
            "escape-waits-for-the-step",
            "and it leaves the later the smaller its step h, by ln(1/h) for s = 1: the order of e^(−t) in h, mean over "
            "starts",
            escape_order,
            1 - ORDER_MARGIN,
            1 + ORDER_MARGIN,
            stderr=escape_stderr,
            max_stderr=ORDER_STDERR,
            about="own",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure
    from numerics.tasks.semantic import hierarchy

    sigma = hierarchy()
    drawing = new_figure(1, 1, width=11.0, height=6.6)
    top, bottom = drawing.subfigures(2, 1, height_ratios=[1.08, 1])  # type: ignore[misc]  # an array of two
    _task(top, sigma)
    _final_states(bottom, results, sigma)
    bottom.supxlabel(" ", fontsize=4)
    return drawing


def _task(part: Any, sigma: np.ndarray) -> None:
    """The tree, its input-output correlation, and the representations of the rich solution."""
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import blocks, task_state
    from numerics.tasks.semantic import ITEMS

    panels = part.subplots(1, 4, width_ratios=[1.35, 1, 1, 1])
    _tree(panels[0])
    inputs, _, outputs = blocks(task_state(sigma), 8)
    branches = [left if not right else f"{left} | {right}" for left, right in _branches()]
    shown = (
        (sigma, r"B   $\tilde{\Sigma}^{yx} = \tilde{U}\tilde{S}\tilde{V}^T$", branches, ITEMS),
        (inputs, r"$\tilde{V}\tilde{S}\tilde{V}^T$: inputs", ITEMS, ITEMS),
        (outputs, r"$\tilde{U}\tilde{S}\tilde{U}^T$: outputs", branches, None),
    )
    for axes, (matrix, title, rows, columns) in zip(panels[1:], shown, strict=True):
        _heatmap(axes, matrix, title)
        axes.set(yticks=range(8), xticks=range(8) if columns else [])
        axes.set_yticklabels(rows, fontsize=7)
        axes.set_xticklabels(columns or [], fontsize=7, rotation=90)
        axes.tick_params(length=0)


def _branches() -> list[tuple[str, str]]:
    """The two sides of every branching, in the order of the features."""
    from numerics.tasks.semantic import ITEMS

    kinds = [*GROUPS[1], *GROUPS[2], *ITEMS]
    return [("all", ""), *zip(kinds[::2], kinds[1::2], strict=True)]


def _tree(axes: Axes) -> None:
    """The things as leaves, their groups at the branchings above them."""
    from numerics.tasks.semantic import ITEMS

    levels = [*GROUPS, ITEMS]
    for depth, names in enumerate(levels):
        width = 8 / len(names)
        for place, name in enumerate(names):
            x, y = (place + 0.5) * width, -depth
            if depth:
                above = (place // 2 + 0.5) * 2 * width
                axes.plot([above, x, x], [y + 1, y + 1, y], color="0.55", linewidth=1.1, zorder=1)
            leaf = depth == len(levels) - 1
            axes.text(
                x, y - 0.08 if leaf else y, name, fontsize=8, ha="center", va="top" if leaf else "center",
                rotation=90 if leaf else 0, zorder=2,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )  # fmt: skip
    axes.set(xlim=(0, 8), ylim=(-3.9, 0.3))
    axes.set_title("A   living things", fontsize=10, loc="left")
    axes.axis("off")


def _final_states(part: Any, results: Sequence[Cell], sigma: np.ndarray) -> None:
    """The trained Q Qᵀ of one network of each kind beside that of the rich solution."""
    from numerics.studies.prior_knowledge.rich_and_lazy.rich_lazy import gaps, task_state

    first = {kind: next(cell for cell in results if cell.cell["start"] == kind) for kind in KINDS}
    shown = [(r"$QQ^T$ of the rich solution", task_state(sigma))]
    shown += [
        (f"{letter}   {kind}", first[kind].curves["trained"])
        for letter, kind in zip("CDE", KINDS, strict=True)
    ]
    panels = part.subplots(1, 4)
    for axes, (title, matrix) in zip(panels, shown, strict=True):
        image = _heatmap(axes, matrix, title)
        axes.axhline(7.5, color="black", linewidth=0.8)
        axes.axvline(7.5, color="black", linewidth=0.8)
        axes.set(xticks=[3.5, 11.5], yticks=[3.5, 11.5])
        axes.set_xticklabels(["inputs", "outputs"], fontsize=8)
        axes.set_yticklabels(["inputs", "outputs"], fontsize=8, rotation=90, va="center")
        axes.tick_params(length=0)
        if axes is panels[0]:
            axes.set_xlabel("relative distance\nof the blocks from it:", fontsize=8, loc="right")
            continue
        inputs, function, outputs = gaps(matrix, sigma)
        axes.set_xlabel(f"inputs {inputs:.1g}, outputs {outputs:.1g},\nfunction {function:.0e}", fontsize=8)
    part.colorbar(image, ax=list(panels), pad=0.01, shrink=0.7, extend="both", ticks=[-2, -1, 0, 1, 2])


def _heatmap(axes: Axes, matrix: np.ndarray, title: str) -> Any:
    """A matrix on the scale of the task, beyond which colours saturate."""
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-2.5, vmax=2.5, interpolation="nearest")
    axes.set_title(title, fontsize=10, loc="left")
    return image


@study(
    "braun2022.fig-3c-e-final-representations",
    title="Rich and lazy learning: what small random, large random and large zero-balanced starts represent",
    confronts=(
        "prior_knowledge.rich_solutions",
        "prior_knowledge.task_agnostic_starts",
        "prior_knowledge.input_similarity",
    ),
)
def rich_representations() -> Plan:
    return Plan(
        scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None,
        shared=("part", "start"),
    )  # fmt: skip
