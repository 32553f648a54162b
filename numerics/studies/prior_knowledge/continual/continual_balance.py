"""Are the layers still in balance after two tasks? (Braun et al. 2022, figure 5C.)

Fifty networks of each kind (linear, tanh, ReLU) start with W1 W1ᵀ = W2ᵀ W2 and learn two tasks, one after the other.
The gradient flow of a linear network keeps this balance, that of the others does not; gradient descent with step h
leaves a linear network out of balance by O(h). The published measure and sizes are not stated. Here the measure is
‖W1 W1ᵀ − W2ᵀ W2‖ / (‖W1 W1ᵀ‖ + ‖W2ᵀ W2‖) in Frobenius norms, N_h, N_i, N_o = 10, 5, 3, and tasks are those of figure
5B, of which the best linear map leaves a loss of ½. A ReLU network keeps one part of the balance, the diagonal: a
neuron's weights can be scaled against each other without changing what it computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_most, differences, mean_at_least, mean_at_most
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study
from numerics.training.continual import ACTIVATIONS, NONLINEAR, SETTING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Each task takes the time ``horizon`` (τ = 1), in each of the numbers of steps.
PAPER = {
    **SETTING,
    "horizon": 60.0,
    "step_counts": [3000, 6000, 12000, 24000],
    "seeds": list(range(50)),
}
SCALES = {
    "smoke": {**PAPER, "horizon": 15.0, "step_counts": [750, 1500, 3000], "seeds": list(range(10))},
    "laptop": PAPER,
    "paper": PAPER,
}
DIMS: dict[str, tuple[str, ...]] = {}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"activation": kind, "steps": steps, "seed": seed}
        for kind in ACTIVATIONS
        for steps in cfg["step_counts"]
        for seed in cfg["seeds"]
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    from numerics.training.continual import drawn_sequences, imbalance, neuron_imbalance, train_sequence

    X, Y, W1, W2 = drawn_sequences(batch, cfg, 2, 55)
    kind, steps = batch[0]["activation"], batch[0]["steps"]
    ends = train_sequence(
        W1, W2, X, Y, activation=kind, rate=cfg["horizon"] / steps, steps=steps, device=device
    )
    whole, neurons = imbalance(*ends), neuron_imbalance(*ends)
    return [
        Cell(
            cell,
            {
                "step": cfg["horizon"] / steps,
                "before": float(whole[place, 0]),
                "after_one": float(whole[place, 1]),
                "after_two": float(whole[place, 2]),
                "neurons_after_two": float(neurons[place, 2]),
            },
            {},
        )
        for place, cell in enumerate(batch)
    ]


def claims(measured: Measurements) -> list[Claim]:
    """Linear networks stay in balance up to their step, the others leave it, the neurons of a ReLU network do not."""
    *_, coarse, fine = sorted(measured.distinct("steps"))
    return [
        *_linear_claims(measured.where(activation="linear"), fine),
        *_nonlinear_claims(measured.where(steps=coarse), measured.where(steps=fine)),
        *_neuron_claims(measured.where(activation="relu"), measured.where(activation="tanh", steps=fine)),
        at_most(
            "balanced-at-first",
            "every network starts in balance",
            max(measured.values("before")),
            1e-12,
            about="check",
        ),
    ]


def _linear_claims(linear: Measurements, fine: int) -> list[Claim]:
    """Linear networks stay in balance up to their step."""
    return [
        order_claim(
            "linear-drift-order",
            "after two tasks linear networks trained with step h are out of balance by O(h): fitted order of the mean",
            [_means(linear, "after_two")],
        ),
        at_most(
            "linear-stays-balanced",
            f"with {fine} steps a task, no linear network is out of balance by more than 0.02",
            max(linear.where(steps=fine).values("after_two")),
            0.02,
        ),
    ]


def _nonlinear_claims(coarse: Measurements, fine: Measurements) -> list[Claim]:
    """The others leave it, and not because of their step."""
    return [
        *(
            mean_at_least(
                f"{kind}-unbalanced-after-{name}",
                f"{kind} networks are out of balance by at least 0.1 after {words}",
                fine.where(activation=kind).values(f"after_{name}"),
                0.1,
            )
            for kind in NONLINEAR
            for name, words in (("one", "one task"), ("two", "two tasks"))
        ),
        *(
            mean_at_most(
                f"{kind}-imbalance-is-of-the-flow",
                f"halving the step changes the imbalance of a {kind} network by at most 0.02: mean size of the change",
                [
                    abs(change)
                    for change in differences(
                        *(rows.where(activation=kind).values("after_two") for rows in (fine, coarse))
                    )
                ],
                0.02,
                about="own",
            )
            for kind in NONLINEAR
        ),
    ]


def _neuron_claims(relu: Measurements, tanh: Measurements) -> list[Claim]:
    """The neurons of a ReLU network keep their own part of the balance, those of a tanh network do not."""
    return [
        order_claim(
            "relu-neurons-drift-order",
            "neurons of a ReLU network keep their own balance: the diagonal of W1 W1ᵀ − W2ᵀ W2 is O(h): fitted order "
            "of the mean",
            [_means(relu, "neurons_after_two")],
            about="own",
        ),
        mean_at_least(
            "tanh-neurons-do-not",
            "the diagonal alone is at least 0.05 in tanh networks",
            tanh.values("neurons_after_two"),
            0.05,
            about="own",
        ),
    ]


def _means(rows: Measurements, name: str) -> tuple[list[float], list[float]]:
    """The steps, and the means over networks at each of them."""
    groups = [rows.where(steps=count) for count in sorted(rows.distinct("steps"))]
    means = [sum(group.values(name)) / len(group) for group in groups]
    return [group[0].values["step"] for group in groups], means


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure, style

    measured = Measurements(results)
    drawing = new_figure(1, 3, width=2.9, height=2.8)
    panels = drawing.subplots(1, 3)
    _draw_stages(panels[0], measured)
    style(panels[0], ylabel=r"imbalance", title="before and after two tasks")
    for axes, name, title in (
        (panels[1], "after_two", "after two tasks: all of it"),
        (panels[2], "neurons_after_two", "its diagonal: single neurons"),
    ):
        _draw_order(axes, measured, name)
        style(axes, xlabel="step $h$ ($10^{-3}$)", ylabel="imbalance", title=title)
    low = min(axes.get_ylim()[0] for axes in panels[1:])
    for axes in panels[1:]:
        axes.set_ylim(low, 1.5)
    panels[0].legend(frameon=False, fontsize=8, loc="upper left", handlelength=1)
    return drawing


def _draw_stages(axes: Axes, measured: Measurements) -> None:
    """Every network before, between and after its tasks, and the means."""
    import numpy as np

    from numerics.lab.figures import ACTIVATION_COLORS, ACTIVATION_NAMES

    finest = max(measured.coordinates("steps"))
    names = ("before", "after_one", "after_two")
    for shift, kind in enumerate(ACTIVATIONS):
        rows, color = measured.where(activation=kind, steps=finest), ACTIVATION_COLORS[kind]
        values = np.array([rows.values(name) for name in names])
        places = np.arange(3) + 0.22 * (shift - 1)
        axes.plot(places, values, "-", color=color, linewidth=0.3, alpha=0.35)
        axes.plot(places, values, "o", color=color, markersize=2.2, alpha=0.5, markeredgewidth=0)
        axes.plot(
            places,
            values.mean(1),
            "_",
            color=color,
            markersize=13,
            markeredgewidth=2.2,
            label=ACTIVATION_NAMES[kind],
        )
    axes.set(xticks=range(3), xticklabels=["before", "after one", "after two"], ylim=(-0.03, 1.0))


def _draw_order(axes: Axes, measured: Measurements, name: str) -> None:
    """Means over networks against the step, with the range of eight tenths of them."""
    import numpy as np

    from numerics.lab.figures import ACTIVATION_COLORS

    counts = sorted(measured.distinct("steps"))
    for kind in ACTIVATIONS:
        groups = [measured.where(activation=kind, steps=count) for count in counts]
        steps = [group[0].values["step"] for group in groups]
        values, color = np.array([group.values(name) for group in groups]), ACTIVATION_COLORS[kind]
        axes.plot(steps, values.mean(1), "o-", color=color, markersize=4, linewidth=1.6)
        axes.fill_between(
            steps, *np.quantile(values, [0.1, 0.9], axis=1), color=color, alpha=0.15, linewidth=0
        )
    axes.set(xscale="log", yscale="log", xticks=steps, xticklabels=[f"{1e3 * step:g}" for step in steps])
    axes.xaxis.minorticks_off()


@study(
    "braun2022.fig-5c",
    title="The balance of the layers before and after two tasks, in linear, tanh and ReLU networks",
    confronts=("prior_knowledge.conserved_balance",),
)
def continual_balance() -> Plan:
    return Plan(
        scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None,
        shared=("activation", "steps"),
    )  # fmt: skip
