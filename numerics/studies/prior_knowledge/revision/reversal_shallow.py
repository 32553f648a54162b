"""Reversal learning in a network without hidden layer: no saddle, no plateau (Braun et al. 2022, Sec. 6 and
figure 6B).

The tasks of `numerics.studies.prior_knowledge.revision.reversal_deep`, learned by one layer that knows −Σ:
W ← W + η(Σ − W). The exact solution is W(t) = Σ − 2Σ e^(−t) (`derivations.prior_knowledge.shallow`), so that
ln loss falls at the rate 2 from start to end. Where the deep network waits, its loss does not fall at all; both
rates are measured, as the slowest fall of ln loss before 1 % of the first loss is reached.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, mean_at_least, ratios
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study
from numerics.studies.prior_knowledge.revision.reversal_deep import PAPER as DEEP

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


PAPER = {
    **{name: DEEP[name] for name in ("strengths", "hidden", "rate", "horizon", "every", "seeds")},
    "rates": [0.04, 0.02, 0.01, 0.005],
    "end": 12.0,
}
SCALES = {"smoke": {**PAPER, "seeds": [0, 1, 2]}, "laptop": PAPER, "paper": PAPER}
DIMS = {name: ("time",) for name in ("t", "loss", "deep_loss")} | {
    name: ("time", "output", "input") for name in ("function", "exact")
}
LEARNED = 0.01


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"seed": seed} for seed in cfg["seeds"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    import numpy as np

    from derivations.prior_knowledge.evaluators.next_task import shallow
    from numerics.training.linear_descent import whitened_loss

    deep_times, deep = _deep(batch, cfg)
    found = []
    for cell, deep_loss in zip(batch, deep, strict=True):
        sigma = _task(cell, cfg)
        errors = []
        for rate in cfg["rates"]:
            times = rate * np.arange(round(cfg["end"] / rate) + 1)
            function, exact = _train(-sigma, sigma, rate, len(times)), shallow(times, -sigma, sigma)
            errors.append(float(np.abs(function - exact).max()))
        loss, exact_loss = whitened_loss(function, sigma), whitened_loss(exact, sigma)
        values = {
            "errors": errors,
            "error_at_end": float(np.linalg.norm(function[-1] - sigma) / np.linalg.norm(sigma)),
            "slowest": slowest_fall(times, loss),
            "exact_slowest": slowest_fall(times, exact_loss),
            "deep_slowest": slowest_fall(deep_times, deep_loss),
            "learned": float(times[np.argmax(loss <= LEARNED * loss[0])]),
            "deep_learned": float(deep_times[np.argmax(deep_loss <= LEARNED * deep_loss[0])]),
        }
        thin = slice(None, None, max(1, len(times) // 240))
        curves = {"t": times[thin], "function": function[thin], "exact": exact[thin], "loss": loss[thin]}
        found.append(
            Cell(cell, values, curves | {"deep_loss": np.interp(times[thin], deep_times, deep_loss)})
        )
    return found


def slowest_fall(times: np.ndarray, loss: np.ndarray) -> float:
    """The least −d ln L / dt over intervals of one unit of time, until 1 % of the first loss is reached."""
    import numpy as np

    log, last = np.log(loss), times[np.argmax(loss <= LEARNED * loss[0])]
    begins = times[times + 1 <= last]
    return float((np.interp(begins, times, log) - np.interp(begins + 1, times, log)).min())


def _task(cell: dict[str, Any], cfg: Mapping[str, Any]) -> np.ndarray:
    """Σ (3, 3) of a cell, that of the deep network with the same seed."""
    from numerics.studies.prior_knowledge.revision.reversal_deep import task_of

    return task_of(cell | {"start": "known"}, cfg)[0]


def _train(W: np.ndarray, sigma: np.ndarray, rate: float, count: int) -> np.ndarray:
    """Gradient descent of one layer: W (count, N_o, N_i) after 0, 1, … steps."""
    import numpy as np

    kept = [W]
    for _ in range(count - 1):
        kept.append(kept[-1] + rate * (sigma - kept[-1]))
    return np.stack(kept)


def _deep(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Times (T,) and losses (cells, T) of deep networks that know −Σ, trained in double precision."""
    import numpy as np

    from numerics.studies.prior_knowledge.revision.reversal_deep import start_of
    from numerics.training.linear_descent import descend, stacked, whitened_loss

    W1, W2, sigma = stacked(start_of(cell | {"start": "known"}, cfg) for cell in batch)
    steps = round(cfg["horizon"] / cfg["rate"])
    record = np.arange(0, steps + 1, cfg["every"])
    first, second = descend(W1, W2, sigma, rate=cfg["rate"], steps=steps, record=record)  # type: ignore[arg-type]  # an array of numbers
    return cfg["rate"] * record, whitened_loss(second @ first, sigma[:, None])


def claims(measured: Measurements) -> list[Claim]:
    """The shallow network learns the reversed task as its exact solution says, without the deep network's plateau."""
    sooner = ratios(measured.values("deep_learned"), measured.values("learned"))
    return [
        order_claim(
            "training-on-the-exact-solution",
            "gradient descent with step h deviates from the exact solution by O(h): the order farthest from 1",
            [(PAPER["rates"], row.values["errors"]) for row in measured],
        ),
        at_most(
            "target-reached",
            "at t = 12 the trained network is within 1e-4 |Σ| of Σ",
            max(measured.values("error_at_end")),
            1e-4,
        ),
        at_least(
            "no-plateau",
            "until 1 % of the first loss, ln loss of the shallow network, exact and trained, falls by at least 1.9 in "
            "every unit of time",
            min([*measured.values("slowest"), *measured.values("exact_slowest")]),
            1.9,
        ),
        at_most(
            "the-deep-network-waits",
            "deep networks that know −Σ, trained on the same tasks, wait: in each of them ln loss falls by at most "
            "0.01 in some unit of time before 1 % of the first loss is reached",
            max(measured.values("deep_slowest")),
            0.01,
        ),
        mean_at_least(
            "shallow-learns-sooner",
            "1 % of the first loss is reached at least 5 times sooner than by the deep network: ln of the ratio, over "
            "seeds",
            [math.log(ratio) for ratio in sooner],
            math.log(5),
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from matplotlib import colormaps

    from numerics.lab.figures import EXACT, measured, new_figure, style

    drawing = new_figure(1, 2, width=3.6, height=3.0)
    left, right = drawing.subplots(1, 2)
    curves = results[0].curves
    t, function, exact = (curves[name] for name in ("t", "function", "exact"))
    entries = [(i, j) for i in range(function.shape[1]) for j in range(function.shape[2])]
    for place, (i, j) in enumerate(entries):
        left.plot(t, function[:, i, j], **measured(colormaps["viridis"](place / len(entries))))
        left.plot(t, exact[:, i, j], **EXACT)
    style(left, xlabel="$t$", ylabel="entries of $W$", title="exact (dotted) and trained")
    for cell in results:
        loss, deep = cell.curves["loss"], cell.curves["deep_loss"]
        right.plot(t, loss / loss[0], color="#e6842a", linewidth=1.6)
        right.plot(t, deep / deep[0], color="#1b4f8a", linewidth=1.2)
    right.lines[0].set_label("shallow")
    right.lines[1].set_label("deep, same tasks")
    right.legend(frameon=False, fontsize=8)
    right.set(yscale="log", ylim=(1e-8, 2))
    style(right, xlabel="$t$", ylabel="loss / loss at the start", title="one layer does not wait")
    return drawing


@study(
    "braun2022.fig-6b",
    title="Reversal learning in a shallow linear network: the exact solution, without plateau",
    confronts=("prior_knowledge.one_layer",),
)
def reversal_shallow() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None)
