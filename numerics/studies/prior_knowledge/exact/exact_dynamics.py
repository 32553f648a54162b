"""Learning curves of two-layer linear networks and their exact solution (Braun et al. 2022, figures 1, 2A and 2B).

A network with 4 inputs, 6 hidden and 2 output neurons learns a task with the singular values 3 and 1.5, in random
directions, from zero-balanced random weights, small or large, or from the weights that have learned another such
task. It is trained by gradient descent at learning rates η, and every quantity is compared with the solution of the
gradient flow at the same t = k η. A solution that is exact leaves a deviation that falls as η. The source states its
sizes, scales and rates in an appendix that is not at hand; those here are ours. N_i = 2 N_o,
because for N_i = N_o ≤ N_h half of all starts lie on a separatrix and do not learn the task, and for N_i = N_o + 1 many
lie close to one and wait.

Deviations are the largest over times and entries, relative to the largest change of any entry of that quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, ratios
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Singular values of the task and, up to a factor from ½ to 1½, of the start; the horizon in units where τ = 1, and at
# how many times of it the networks are compared; a time constant that the bounds must notice to be wrong.
PAPER = {
    "sizes": {"inputs": 4, "hidden": 6, "outputs": 2},
    "strengths": [3.0, 1.5],
    "small": 1e-3,
    "large": 3.0,
    "tau_off": 1.05,
    "horizon": 6.0,
    "records": 150,
    "rates": [0.008, 0.004, 0.002, 0.001],
    "seeds": 10,
}
SCALES = {"smoke": {**PAPER, "seeds": 2, "records": 75}, "laptop": PAPER, "paper": PAPER}
STARTS, SIZES = ("small", "large", "learned"), ("small", "large")
TITLES = {
    "small": "small random weights",
    "large": "large random weights",
    "learned": "weights of a learned task",
}
COLUMNS = ("loss", "function", "inputs", "readouts", "ntk")
LABELS = {
    "loss": r"loss $\mathcal{L}$",
    "function": r"function $W_2W_1X$",
    "inputs": r"input weights $W_1^\top W_1$",
    "readouts": r"output weights $W_2W_2^\top$",
    "ntk": "NTK",
}
BOUND = 0.01
# How long an earlier task was learned; how many entries of a quantity are shown.
LESSON, SHOWN = 40.0, 12


def cells(starts: Sequence[str]) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    return lambda cfg: [{"start": start, "seed": seed} for start in starts for seed in range(cfg["seeds"])]


def run(names: Sequence[str]) -> Callable[[list[dict[str, Any]], Mapping[str, Any], str, Path], list[Cell]]:
    """How a batch of networks, all of one size, is measured: the deviations of the named quantities."""

    def measure(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
        import numpy as np

        from numerics.training.linear_descent import descend, stacked
        from numerics.training.linear_ensembles import observed

        W1, W2, X, Y = stacked(_network(cell, cfg) for cell in batch)
        sigma = Y @ X.swapaxes(-1, -2) / X.shape[-1]
        times = np.linspace(0.0, cfg["horizon"], cfg["records"] + 1)
        exact = _exact(times, W1, W2, X, Y, 1.0)
        off = _exact(times, W1, W2, X, Y, cfg["tau_off"])
        found, spoiled = [], []
        for rate in cfg["rates"]:
            steps = round(cfg["horizon"] / rate)
            record = range(0, steps + 1, steps // cfg["records"])
            trained = observed(*descend(W1, W2, sigma, rate=rate, steps=steps, record=record), X, Y)
            found.append({name: _deviation(trained[name], exact[name]) for name in names})
            spoiled.append({name: _deviation(trained[name], off[name]) for name in names})
        half = times[np.argmax(_progress(exact["loss"], X, Y) >= 0.5, axis=-1)]
        return [
            Cell(
                cell,
                {
                    "rate": list(cfg["rates"]),
                    "loss_half_time": float(half[k]),
                    **{f"deviation_{name}": [float(item[name][k]) for item in found] for name in names},
                    **{f"off_{name}": float(spoiled[-1][name][k]) for name in names},
                },
                {
                    "t": times,
                    "target": Y[k],
                    **{name: trained[name][k] for name in names},
                    **{f"exact_{name}": exact[name][k] for name in names},
                },
            )
            for k, cell in enumerate(batch)
        ]

    return measure


def _network(
    cell: Mapping[str, Any], cfg: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The start W1, W2 and the data X, Y of a cell. Cells of one seed learn the same task."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.weight_flow import weights
    from numerics.training.linear_descent import whitened_inputs, zero_balanced_start

    N_i, N_h, N_o = (cfg["sizes"][name] for name in ("inputs", "hidden", "outputs"))
    generator = np.random.default_rng(cell["seed"])
    X = whitened_inputs(N_i, N_i, generator)
    sigma, earlier = (_task(N_o, N_i, cfg["strengths"], generator) for _ in range(2))
    spread = generator.uniform(0.5, 1.5, min(N_i, N_h, N_o))
    size = cfg["large" if cell["start"] == "large" else "small"]
    W1, W2 = zero_balanced_start(N_h, N_i, N_o, size * spread, generator)
    if cell["start"] == "learned":
        W1, W2 = weights(LESSON, W1, W2, earlier)
    return W1, W2, X, sigma @ X


def _task(N_o: int, N_i: int, strengths: Any, generator: np.random.Generator) -> np.ndarray:
    """Σ = U diag(s) Vᵀ with random directions U and V."""
    from numerics.training.linear_descent import orthonormal

    rank = len(strengths)
    return (orthonormal(N_o, rank, generator) * strengths) @ orthonormal(N_i, rank, generator).T


def _exact(
    times: np.ndarray, W1: np.ndarray, W2: np.ndarray, X: np.ndarray, Y: np.ndarray, tau: float
) -> dict[str, np.ndarray]:
    """The quantities of ``observed`` by the exact solution."""
    from derivations.prior_knowledge.evaluators.representations import ntk, qqt
    from numerics.training.linear_descent import whitened_loss
    from numerics.training.linear_ensembles import unexplained

    sigma, inputs = Y @ X.swapaxes(-1, -2) / X.shape[-1], X.shape[-2]
    state = qqt(times, W1, W2, sigma, tau)
    product = state[..., inputs:, :inputs]
    return {
        "loss": whitened_loss(product, sigma[..., None, :, :], unexplained(X, Y)[..., None]),
        "function": product @ X[..., None, :, :],
        "inputs": state[..., :inputs, :inputs],
        "readouts": state[..., inputs:, inputs:],
        "ntk": ntk(times, W1, W2, sigma, X, tau),
    }


def _deviation(trained: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """sup |trained − exact| / sup |exact − exact(0)| over times and entries, network by network."""
    axes = tuple(range(1, exact.ndim))
    return abs(trained - exact).max(axes) / abs(exact - exact[:, :1]).max(axes)


def _progress(loss: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """What part of the loss that can be removed has been removed."""
    from numerics.training.linear_ensembles import unexplained

    rest = unexplained(X, Y)[:, None] / 2
    return 1 - (loss - rest) / (loss[:, :1] - rest)


def claims_fig_1(measured: Measurements) -> list[Claim]:
    """The curves of simulation and solution coincide, from every start, and the starts differ."""
    small, large = (measured.where(start=start).values("loss_half_time") for start in SIZES)
    return [
        *(
            _order(measured.where(start=start), "function", f"order-{start}", f"from {TITLES[start]}")
            for start in STARTS
        ),
        *(
            _bound(measured.where(start=start), "function", f"coincide-{start}", f"from {TITLES[start]}")
            for start in STARTS
        ),
        at_least(
            "starts-differ",
            "in every pair of one seed, small random weights need at least 3 times as long as large ones to "
            "remove half of the loss",
            min(ratios(small, large)),
            3.0,
        ),
        _resolved(measured, ("function",)),
    ]


def claims_fig_2ab(measured: Measurements) -> list[Claim]:
    """Every quantity of the simulation is matched by the solution."""
    rows = [(start, measured.where(start=start)) for start in SIZES]
    return [
        *(
            _order(some, name, f"order-{start}-{name}", f"{name}, {TITLES[start]}")
            for start, some in rows
            for name in COLUMNS
        ),
        *(
            _bound(some, name, f"match-{start}-{name}", f"{name}, {TITLES[start]}")
            for start, some in rows
            for name in COLUMNS
        ),
        _resolved(measured, COLUMNS),
    ]


def _order(rows: Measurements, quantity: str, name: str, what: str) -> Claim:
    """The claim that a quantity deviates from the solution by O(η)."""
    return order_claim(
        name,
        f"{what}: the deviation from the solution falls as the learning rate; the fitted order farthest from 1 over "
        "seeds",
        [(row.values["rate"], row.values[f"deviation_{quantity}"]) for row in rows],
    )


def _bound(rows: Measurements, quantity: str, name: str, what: str) -> Claim:
    """The claim that at the smallest rate it is within 1 % of the solution."""
    return at_most(
        name,
        f"{what}: at the smallest rate the deviation is at most {BOUND:.0%} of the change, for every seed",
        max(row.values[f"deviation_{quantity}"][-1] for row in rows),
        BOUND,
    )


def _resolved(measured: Measurements, names: Sequence[str]) -> Claim:
    """The check that the bound would notice a time constant that is 5 % off."""
    return at_least(
        "resolution",
        f"a solution with a time constant that is 5 % off deviates by more than {BOUND:.0%}, in everything",
        min(value for name in names for value in measured.values(f"off_{name}")),
        BOUND,
        about="check",
    )


def figure_fig_1(results: Sequence[Cell]) -> Figure:
    """The network, and its outputs over time from the three starts of the first seed."""
    from matplotlib.lines import Line2D

    from numerics.lab.figures import new_figure, style

    drawing = new_figure(1, 4, width=2.75, height=2.7)
    panels = drawing.subplots(1, 4, width_ratios=[0.75, 1, 1, 1])
    _schematic(panels[0])
    panels[0].set_title("A   network", fontsize=10, loc="left")
    for axes, start, letter in zip(panels[1:], STARTS, "BCD", strict=True):
        cell = next(cell for cell in results if cell.cell["start"] == start)
        _draw(axes, cell, "function", "viridis")
        axes.plot([1.03] * cell.curves["target"].size, cell.curves["target"].ravel(), "<", color="0.35",
                  markersize=4, clip_on=False, transform=axes.get_yaxis_transform())  # fmt: skip
        style(axes, xlabel="training time $t$", title=f"{letter}   {TITLES[start]}")
    panels[1].set_ylabel(r"network output $\hat{Y}$")
    for axes in panels[2:]:
        axes.sharey(panels[1])
    target = Line2D([], [], color="0.35", marker="<", markersize=4, linestyle="", label="target")
    _legend(drawing, target)
    return drawing


def figure_fig_2ab(results: Sequence[Cell]) -> Figure:
    """Small starts above, large ones below, a column for each quantity, of the first seed."""
    from numerics.lab.figures import new_figure, style

    drawing = new_figure(2, 5, width=2.3, height=2.2)
    maps = dict(zip(COLUMNS, (None, "viridis", "plasma", "cividis", "magma"), strict=True))
    for line, start, letter in zip(drawing.subplots(2, 5, sharex=True), SIZES, "AB", strict=True):
        cell = next(cell for cell in results if cell.cell["start"] == start)
        for axes, name in zip(line, COLUMNS, strict=True):
            _draw(axes, cell, name, maps[name])
            style(axes, title=LABELS[name] if start == "small" else "")
        line[0].set_ylabel(f"{TITLES[start]}")
        line[0].annotate(letter, (-0.3, 1.06), xycoords="axes fraction", fontsize=12, fontweight="bold")
        if start == "large":
            for axes in line:
                axes.set_xlabel("training time $t$")
    _legend(drawing)
    return drawing


def _draw(axes: Axes, cell: Cell, name: str, palette: Any) -> None:
    """Simulated entries, broad, and exact ones, dotted: the upper half where symmetric, and 12 of them at most."""
    import numpy as np
    from matplotlib import colormaps

    from numerics.lab.figures import EXACT, measured

    t, simulated, exact = cell.curves["t"], cell.curves[name], cell.curves[f"exact_{name}"]
    if palette is None:
        axes.plot(t, simulated, **measured("#2166ac"))
        axes.plot(t, exact, **EXACT)
        axes.set_ylim(bottom=0)
        return
    rows, columns = simulated.shape[1:]
    symmetric = name in ("inputs", "readouts", "ntk")
    upper = np.triu_indices(rows) if symmetric else np.divmod(np.arange(rows * columns), columns)
    places = np.array(upper).T
    if len(places) > SHOWN:
        places = places[np.linspace(0, len(places) - 1, SHOWN).round().astype(int)]
    colors = colormaps[palette](np.linspace(0.2, 0.9, len(places)))
    for (row, column), color in zip(places, colors, strict=True):
        axes.plot(t, simulated[:, row, column], **measured(color))
    for row, column in places:
        axes.plot(t, exact[:, row, column], **EXACT)


def _schematic(axes: Axes) -> None:
    """Three layers of neurons with all their connections."""
    import numpy as np

    layers = [
        (0.0, np.linspace(-1.5, 1.5, 4)),
        (1.0, np.linspace(-2.2, 2.2, 6)),
        (2.0, np.linspace(-0.5, 0.5, 2)),
    ]
    for (x, heights), (other, ends) in pairwise(layers):
        for y in heights:
            for end in ends:
                axes.plot([x, other], [y, end], color="0.8", linewidth=0.6, zorder=1)
    for (x, heights), label in zip(layers, ("$x$", "$h$", r"$\hat{y}$"), strict=True):
        axes.scatter(np.full(len(heights), x), heights, s=70, color="white", edgecolor="0.2", zorder=2)
        axes.text(x, -3.2, label, ha="center", va="center", fontsize=11)
    for x, label in ((0.5, "$W_1$"), (1.5, "$W_2$")):
        axes.text(x, 2.9, label, ha="center", va="center", fontsize=11)
    axes.set(xlim=(-0.3, 2.3), ylim=(-3.6, 3.3))
    axes.axis("off")


def _legend(drawing: Figure, *more: Any) -> None:
    """Simulation and solution, and what else a figure shows."""
    from matplotlib.lines import Line2D

    from numerics.lab.figures import EXACT, measured

    handles = [
        Line2D([], [], **measured("0.55"), label="simulation"),
        Line2D([], [], **EXACT, label="exact solution"),
        *more,
    ]
    drawing.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


DIMS_1 = {
    "t": ("time",),
    "target": ("output", "datum"),
    "function": ("time", "output", "datum"),
    "exact_function": ("time", "output", "datum"),
}
MATRICES = {
    "loss": ("time",),
    "function": ("time", "output", "datum"),
    "inputs": ("time", "input", "input_again"),
    "readouts": ("time", "output", "output_again"),
    "ntk": ("time", "entry", "entry_again"),
}
DIMS_2 = {**DIMS_1, **MATRICES, **{f"exact_{name}": axes for name, axes in MATRICES.items()}}


@study(
    "braun2022.fig-1",
    title="Outputs of a linear network from small, large and learned weights",
    confronts=("prior_knowledge.exact_solution", "prior_knowledge.solution_from_any_start"),
)
def starts() -> Plan:
    return Plan(SCALES, cells(STARTS), run(("function",)), figure_fig_1, claims_fig_1, DIMS_1, batch=None)


@study(
    "braun2022.fig-2ab",
    title="Loss, function, weight correlations and kernel of a linear network, exactly",
    confronts=(
        "prior_knowledge.exact_solution",
        "prior_knowledge.input_similarity",
        "prior_knowledge.output_similarity",
        "prior_knowledge.tangent_kernel",
    ),
)
def quantities() -> Plan:
    return Plan(SCALES, cells(SIZES), run(COLUMNS), figure_fig_2ab, claims_fig_2ab, DIMS_2, batch=None)
