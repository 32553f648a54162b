"""A linear network learns one task after another: the exact chain of solutions, and the loss of the other tasks (Braun
et al. 2022, figure 5A).

The end of one task is the start of the next, for gradient descent as for the exact flow. The published sizes, tasks
and rates are not stated. Here N_h, N_i, N_o = 10, 5, 3, the weights start in balance with singular values of 0.01, and
every task has ten whitened inputs of its own, singular values between 0.5 and 2, and targets of which a linear map
leaves ½ unexplained. N_i differs from N_o on purpose: with N_i = N_o ≤ N_h the exact flow learns no task whose
correlation has a determinant of the other sign than the last one's, and half of all pairs of tasks are of that kind.
The cells of the part "square" measure this: networks that have learned one task of size 3 × 3 go on to another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import (
    Claim,
    Measurement,
    Measurements,
    at_least,
    at_most,
    between,
    mean,
    mean_at_least,
)
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study
from numerics.training.continual import SETTING

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Each of the tasks takes the time ``horizon`` (τ = 1), in each number of steps, of which ``records`` are kept. "square"
# networks of N inputs and outputs learn their second task at each rate and are looked at ``every`` so much time.
PAPER: dict[str, Any] = {
    **SETTING,
    "tasks": 4,
    "horizon": 15.0,
    "records": 150,
    "step_counts": [600, 1200, 2400, 4800],
    "seeds": list(range(8)),
    "square": {"N_h": 10, "N": 3, "horizon": 40.0, "every": 0.04, "rates": [0.01, 0.005, 0.0025]},
    "square_seeds": list(range(16)),
}
SCALES = {
    "smoke": {
        **PAPER,
        "seeds": [0, 1, 2],
        "tasks": 3,
        "records": 60,
        "step_counts": [300, 600, 1200],
        "square": {**PAPER["square"], "horizon": 24.0, "rates": [0.02, 0.01]},
        "square_seeds": list(range(6)),
    },
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS = {
    "t": ("time",),
    "function": ("time", "output", "input"),
    "function_exact": ("time", "output", "input"),
    "losses": ("task", "time"),
    "losses_exact": ("task", "time"),
    "t_square": ("moment",),
    "excess": ("rate", "moment"),
}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        *({"part": "sequence", "seed": seed} for seed in cfg["seeds"]),
        *({"part": "square", "seed": seed} for seed in cfg["square_seeds"]),
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return _run_squares(batch, cfg) if batch[0]["part"] == "square" else _run_sequences(batch, cfg, device)


def _run_sequences(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str) -> list[Cell]:
    """All networks at once, trained with each number of steps, each against the exact chain."""
    from numerics.training.continual import drawn_sequences

    X, Y, W1, W2 = drawn_sequences(batch, cfg, cfg["tasks"], 51)
    trained = [_descents(W1, W2, X, Y, count, cfg, device) for count in cfg["step_counts"]]
    return [
        _compared(cell, cfg, X[k], Y[k], W1[k], W2[k], [(A[k], B[k]) for A, B in trained])
        for k, cell in enumerate(batch)
    ]


def _compared(
    cell: Mapping[str, Any],
    cfg: Mapping[str, Any],
    X: np.ndarray,
    Y: np.ndarray,
    W1: np.ndarray,
    W2: np.ndarray,
    trained: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Cell:
    """One network, trained with each number of steps, against the exact chain."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.separatrix import separatrix_distance
    from numerics.training.continual import correlation, losses

    K, T = cfg["tasks"], cfg["horizon"]
    tasks, times = correlation(X, Y), np.linspace(0.0, T, cfg["records"] + 1)
    exact = _chain(times, W1, W2, tasks)
    restarted = _chain(times, W1, W2, tasks, restart=True)
    goal, goal_losses = exact[1] @ exact[0], losses(*exact, X, Y, "linear")  # type: ignore[arg-type, call-arg]  # two layers
    functions = [B @ A for A, B in trained]
    found = [losses(A, B, X, Y, "linear") for A, B in trained]
    ends = np.arange(1, K + 1) * times.size - 1
    L = np.concatenate([found[-1][:, :1], found[-1][:, ends]], -1)
    starts = [(W1, W2), *((exact[0][end], exact[1][end]) for end in ends[:-1])]
    pairs = [(i, j) for j in range(K) for i in range(K) if i != j]
    values = {
        "step": [T / count for count in cfg["step_counts"]],
        "function_deviation": [float(np.abs(function - goal).max()) for function in functions],
        "loss_deviation": [float(np.abs(value - goal_losses).max()) for value in found],
        "extrapolated_deviation": float(np.abs(2 * functions[-1] - functions[-2] - goal).max()),
        "restarted_deviation": float(np.abs(functions[-1] - restarted[1] @ restarted[0]).max()),
        "above_best": float(max(L[k, k + 1] for k in range(K)) - cfg["noise"] ** 2 / 2),
        "least_rise_of_earlier": float(min(L[i, j + 1] - L[i, i + 1] for i, j in pairs if i < j)),
        "mean_rise_of_others": float(np.mean([L[i, j + 1] - L[i, j] for i, j in pairs])),
        "others_that_rise": float(np.mean([L[i, j + 1] > L[i, j] for i, j in pairs])),
        "separatrix_distance": [
            float(separatrix_distance(*start, task)) for start, task in zip(starts, tasks, strict=True)
        ],
    }
    curves = {
        "t": np.concatenate([k * T + times for k in range(K)]),
        "function": functions[-1],
        "function_exact": goal,
        "losses": found[-1],
        "losses_exact": goal_losses,
    }
    return Cell(cell, values, curves)


def _chain(
    times: np.ndarray,
    W1: np.ndarray,
    W2: np.ndarray,
    tasks: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    restart: bool = False,
) -> tuple[np.ndarray, ...]:
    """The exact weights at ``times`` of every task, one after the other; with ``restart`` every task begins with the
    first weights, which is not what is claimed.
    """
    import numpy as np

    from derivations.prior_knowledge.evaluators.weight_flow import weights

    parts, here = [], (W1, W2)
    for task in tasks:
        parts.append(weights(times, *here, task))
        here = (W1, W2) if restart else tuple(W[-1] for W in parts[-1])
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _descents(
    W1: np.ndarray,
    W2: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    count: int,
    cfg: Mapping[str, Any],
    device: str,
) -> tuple[np.ndarray, ...]:
    """The weights of gradient descent at the same times, ``count`` steps a task, of all networks."""
    import numpy as np

    from numerics.training.continual import train

    record, parts, here = range(0, count + 1, count // cfg["records"]), [], (W1, W2)
    for k in range(cfg["tasks"]):
        parts.append(
            train(
                *here, X[:, k], Y[:, k], activation="linear", rate=cfg["horizon"] / count, steps=count,
                record=record, device=device,
            )
        )  # fmt: skip
        here = tuple(W[:, -1] for W in parts[-1])  # type: ignore[assignment]  # two layers
    return tuple(np.concatenate(part, 1) for part in zip(*parts, strict=True))


def _run_squares(batch: list[dict[str, Any]], cfg: Mapping[str, Any]) -> list[Cell]:
    """Networks with as many inputs as outputs that have learned one task, and how long they need for the next."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.learnability import learnable
    from numerics.training.linear_descent import descend, stacked

    W1, W2, first, second = stacked(_square_pair(cell["seed"], cfg) for cell in batch)
    foretold = learnable(W1, W2, second)
    weakest = np.linalg.svd(second, compute_uv=False)[:, -1]
    setting = cfg["square"]
    moments = np.arange(round(setting["horizon"] / setting["every"]) + 1) * setting["every"]
    excess = []
    for rate in setting["rates"]:
        stride = round(setting["every"] / rate)
        last = stride * (moments.size - 1)
        A, B = descend(W1, W2, second, rate=rate, steps=last, record=range(0, last + 1, stride))
        excess.append(((B @ A - second[:, None]) ** 2).sum((-2, -1)) / 2)
    excess = np.stack(excess, 1)  # type: ignore[assignment]  # an array from here on
    late = excess > weakest[:, None, None] ** 2 / 4
    times = moments[late.shape[-1] - 1 - np.argmax(late[..., ::-1], -1)]
    return [
        Cell(
            cell,
            {
                "opposite": bool(np.linalg.det(first[place]) * np.linalg.det(second[place]) < 0),
                "learnable": bool(foretold.learnable[place]),
                "weakest": float(weakest[place]),
                "excess_foretold": float(foretold.excess_loss[place]),
                "excess_at_end": excess[place, :, -1].tolist(),  # type: ignore[call-overload]  # an array by now
                "time_to_learn": times[place].tolist(),
            },
            {"t_square": moments, "excess": excess[place]},
        )
        for place, cell in enumerate(batch)
    ]


def _square_pair(seed: int, cfg: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights that have learned a first task, in balance, that task and another one."""
    import numpy as np

    from numerics.training.linear_descent import orthonormal

    N_h, N = cfg["square"]["N_h"], cfg["square"]["N"]
    generator = np.random.default_rng([seed, 52])
    R = orthonormal(N_h, N, generator)
    U, V, Q, S = (orthonormal(N, N, generator) for _ in range(4))
    s, other = (generator.uniform(*cfg["strengths"], N) for _ in range(2))  # type: ignore[call-overload]  # two bounds
    root = np.sqrt(s)
    return (R * root) @ V.T, (U * root) @ R.T, (U * s) @ V.T, (Q * other) @ S.T


def claims(measured: Measurements) -> list[Claim]:
    """The chain is exact, earlier tasks are forgotten, and square networks get stuck where the theory says."""
    chains = measured.where(part="sequence")
    return [
        *_chain_claims(chains),
        *_forgetting_claims(chains),
        *_checks(chains),
        *_square_claims(measured.where(part="square")),
    ]


def _chain_claims(chains: Measurements) -> list[Claim]:
    """Trained networks are on the exact chain of solutions."""
    return [
        order_claim(
            "descent-order",
            "trained with step h, the network function and the losses of all tasks deviate from the exact chain by "
            "O(h), over all tasks in a row: the fitted order farthest from 1 over networks",
            [
                (row.values["step"], row.values[f"{name}_deviation"])
                for row in chains
                for name in ("function", "loss")
            ],
        ),
        at_most(
            "curves-coincide",
            "extrapolated to step zero from the two smallest steps, every entry of W2 W1 stays within 0.01 of the "
            "exact chain",
            max(chains.values("extrapolated_deviation")),
            0.01,
        ),
    ]


def _forgetting_claims(chains: Measurements) -> list[Claim]:
    """What one task does to the loss of the others."""
    return [
        at_least(
            "earlier-tasks-are-forgotten",
            "after every later task the loss of every earlier one is at least 0.5 above what it was once learned",
            min(chains.values("least_rise_of_earlier")),
            0.5,
        ),
        mean_at_least(
            "others-rise-on-average",
            "while one task is learned, the losses of the others rise by at least 0.1: mean over tasks, samples are "
            "networks",
            chains.values("mean_rise_of_others"),
            0.1,
        ),
    ]


def _checks(chains: Measurements) -> list[Claim]:
    """Every task is learned, and where it begins can be told from the curves."""
    return [
        at_most(
            "tasks-are-learned",
            "every task ends within 1e-5 of the loss of the best linear map",
            max(chains.values("above_best")),
            1e-5,
            about="check",
        ),
        at_least(
            "the-chain-matters",
            "solutions that all begin at the first weights are at least 10 times as far from the trained network as "
            "the chain",
            min(row.values["restarted_deviation"] / row.values["function_deviation"][-1] for row in chains),
            10.0,
            about="check",
        ),
    ]


def _square_claims(squares: Measurements) -> list[Claim]:
    """Networks with as many inputs as outputs are stuck where the determinants say, and then wait for their step."""
    stuck = [row for row in squares if row.values["opposite"]]
    free = [row for row in squares if not row.values["opposite"]]
    return [
        at_most(
            "opposite-determinants-are-told",
            f"of {len(squares)} square networks, how many were told to learn a task whose determinant has the other "
            "sign than the last one's, or not to learn one of the same sign",
            sum(row.values["opposite"] == row.values["learnable"] for row in squares),
            0,
            about="own",
        ),
        between(
            "stuck-networks-leave-by-their-step-alone",
            f"where the exact flow is stuck ({len(stuck)} networks), halving the step delays learning by ln 2 / s of "
            "the missed mode: mean of the measured delay in this unit",
            mean([delay for row in stuck for delay in _delays(row)]),
            0.9,
            1.1,
            about="own",
        ),
        at_most(
            "free-networks-do-not-wait",
            f"where it is not ({len(free)} networks), the largest such delay is at most 0.2",
            max((abs(delay) for row in free for delay in _delays(row)), default=math.nan),
            0.2,
            about="own",
        ),
    ]


def _delays(row: Measurement) -> list[float]:
    """How much later the missed mode was learned at every halving of the step, in units of ln 2 / s."""
    times = row.values["time_to_learn"]
    return [(b - a) * row.values["weakest"] / math.log(2) for a, b in pairwise(times)]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    chain = next(cell for cell in results if cell.cell["part"] == "sequence")
    drawing = new_figure(2, 3, width=3.0, height=2.3)
    grid = drawing.add_gridspec(2, 3)
    top, bottom = (drawing.add_subplot(grid[row, :2]) for row in (0, 1))
    _draw_chain(top, bottom, chain)
    _draw_deviations(drawing.add_subplot(grid[0, 2]), results)
    _draw_square(drawing.add_subplot(grid[1, 2]), results)
    return drawing


TASK_COLORS = ("#1b6ca8", "#d1495b", "#3a8f5c", "#9467bd")


def _draw_chain(top: Axes, bottom: Axes, cell: Cell) -> None:
    """The function and all losses of one network over its tasks, dotted where exact."""
    import numpy as np
    from matplotlib.lines import Line2D

    from numerics.lab.figures import EXACT, measured, style

    t, K = cell.curves["t"], len(cell.curves["losses"])
    pieces = np.split(np.arange(t.size), K)
    for k, here in enumerate(pieces):
        function = cell.curves["function"][here].reshape(here.size, -1)
        top.plot(t[here], function, **{**measured(TASK_COLORS[k]), "linewidth": 1.8})
        for i in range(K):
            options = {"linewidth": 2.6} if i == k else {"linewidth": 1.8, "linestyle": (0, (2, 1.1))}
            bottom.plot(t[here], cell.curves["losses"][i, here], color=TASK_COLORS[i], **options)
    top.plot(t, cell.curves["function_exact"].reshape(t.size, -1), **EXACT)
    bottom.plot(t, cell.curves["losses_exact"].T, **EXACT)
    for axes in (top, bottom):
        for here in pieces[1:]:
            axes.axvline(t[here[0]], color="0.85", linewidth=0.8, zorder=0)
        axes.set_xlim(t[0], t[-1])
    for k, here in enumerate(pieces):
        top.text(t[here].mean(), 1.02, f"task {k + 1}", transform=top.get_xaxis_transform(), ha="center",
                 fontsize=9, color=TASK_COLORS[k])  # fmt: skip
    style(top, ylabel=r"entries of $W_2W_1$")
    style(bottom, xlabel="$t$", ylabel="loss of every task")
    bottom.set_ylim(0, 1.25 * cell.curves["losses"].max())
    handles = [
        Line2D([], [], color="0.4", linewidth=2.6, label="task in training"),
        Line2D([], [], color="0.4", linewidth=1.8, linestyle=(0, (2, 1.1)), label="other tasks"),
        Line2D([], [], **{k: v for k, v in EXACT.items() if k != "zorder"}, label="exact chain"),
    ]
    bottom.legend(handles=handles, frameon=False, fontsize=8, ncols=3, loc="upper center")


def _draw_deviations(axes: Axes, results: Sequence[Cell]) -> None:
    """How far every network is from the exact chain, against the step."""
    import numpy as np

    from numerics.lab.figures import style

    chains = [cell for cell in results if cell.cell["part"] == "sequence"]
    for cell in chains:
        axes.plot(cell.values["step"], cell.values["function_deviation"], "o-", color="0.35", markersize=3,
                  linewidth=0.8)  # fmt: skip
    steps = np.array(chains[0].values["step"])
    low = min(min(cell.values["function_deviation"]) for cell in chains)
    axes.plot(steps, 0.6 * low * steps / steps.min(), color="0.6", linestyle="--", linewidth=1)
    axes.text(
        steps[1], 0.45 * low * steps[1] / steps.min(), r"$\propto h$", color="0.45", fontsize=9, va="top"
    )
    axes.set(xscale="log", yscale="log", xticks=steps, xticklabels=[f"{1e3 * step:.3g}" for step in steps])
    axes.minorticks_off()
    style(axes, xlabel="step $h$ ($10^{-3}$)", title="deviation from the chain")


def _draw_square(axes: Axes, results: Sequence[Cell]) -> None:
    """A network that learns its second task, and one that the exact flow leaves stuck, trained with each step."""
    from numerics.lab.figures import style

    squares = [cell for cell in results if cell.cell["part"] == "square"]
    stuck = [cell for cell in squares if cell.values["opposite"]]
    free = [cell for cell in squares if not cell.values["opposite"]]
    for shown, color in ((free[:1], "#1b6ca8"), (stuck[:1], "#d1495b")):
        for cell in shown:
            for place, curve in enumerate(cell.curves["excess"]):
                axes.plot(cell.curves["t_square"], curve, color=color, linewidth=1.6,
                          alpha=(0.4, 0.7, 1.0)[place], zorder=3)  # fmt: skip
    for cell in stuck[:1]:
        axes.axhline(cell.values["excess_foretold"], color="black", linewidth=1, linestyle=(0, (1, 1.6)))
    axes.text(4.2, 2e-5, "same sign of\ndeterminants", color="#1b6ca8", fontsize=8)
    axes.text(19.6, 1.0, "opposite sign,\nthree steps $h$", color="#d1495b", fontsize=8, ha="right")
    axes.set(xlim=(0, 20), ylim=(1e-6, 30), yscale="log")
    style(axes, xlabel="$t$", title="$N_i=N_o$: excess loss")


@study(
    "braun2022.fig-5a",
    title="A linear network on a sequence of tasks: the exact chain of solutions and the losses of the other tasks",
    confronts=(
        "prior_knowledge.tasks_in_a_row",
        "prior_knowledge.loss_of_another_task",
    ),
)
def continual_chain() -> Plan:
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
        batch=None,
        shared=("part",),
    )
