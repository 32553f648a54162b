"""Paths of a wide linear network in function space, for several balances (Kunin et al. 2024, section 4).

f(x) = AᵀWx with two inputs, neurons and outputs, whitened inputs, and Δ = δI. All networks start from the same small
function β(0) and learn the same β_* with singular values 2 and 1. A balanced network learns the stronger mode first and
the weaker one later; a large balance of either sign makes the path a straight line. Shown are the overlaps of β with
the two modes of β_*: integrated by gradient descent, and the exact solution for isotropic balance. In a network as
wide as its inputs and outputs the paths for δ and −δ coincide; those for δ < 0 are drawn as thin lines on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most
from numerics.lab.order import order_claim
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


# Singular values of β_*; the size of β(0) and its overlaps with the modes; the number of data; in how many steps
# networks are trained to the horizon, and how often they are looked at.
PAPER: dict[str, Any] = {
    "deltas": [-16, -4, -1, 0, 1, 4, 16],
    "strengths": [2.0, 1.0],
    "start": 0.02,
    "overlaps": [[0.6, 0.5], [-0.4, 0.5]],
    "seed": 3,
    "n": 6,
    "horizon": 8.0,
    "step_counts": [2000, 4000, 8000],
    "records": 200,
}
SCALES = {
    "smoke": {**PAPER, "deltas": [-16, 0, 16], "step_counts": [1000, 2000, 4000], "records": 100},
    "laptop": PAPER,
    "paper": PAPER,
}
QUANTITIES = ("beta", "M", "singular_values")
DIMS = {
    "t": ("time",),
    "trained": ("time", "mode"),
    "exact": ("time", "mode"),
    "kernel_distance": ("time",),
}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"delta": delta} for delta in cfg["deltas"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    import numpy as np

    task = _task(cfg)
    starts = [_start(task[3], cell["delta"]) for cell in batch]
    A, W = (np.stack(layers) for layers in zip(*starts, strict=True))
    runs = [_trained(cfg, A, W, task, count) for count in cfg["step_counts"]]
    return [
        _cell(cell, cfg, task, *starts[place], [{name: r[name][:, place] for name in r} for r in runs])
        for place, cell in enumerate(batch)
    ]


def _cell(
    cell: Mapping[str, Any],
    cfg: Mapping[str, Any],
    task: tuple[np.ndarray, ...],
    A: np.ndarray,
    W: np.ndarray,
    runs: Sequence[Mapping[str, np.ndarray]],
) -> Cell:
    """One δ: trained networks against the exact solution, and the path of the latter."""
    import numpy as np

    from numerics.measures.kernels import kernel_distance

    X, _, beta_star, _ = task
    times, exact = _exact(cfg, A, W, beta_star, cell["delta"])
    lift = np.kron(np.eye(2), X)
    S = kernel_distance(lift @ exact["M"][0] @ lift.T, lift @ exact["M"] @ lift.T)
    length = np.linalg.norm(np.diff(exact["beta"], axis=0), axis=(1, 2)).sum()
    modes = _modes(exact["beta"], cfg)
    values = {
        "step": [cfg["horizon"] / count for count in cfg["step_counts"]],
        **{name: [float(np.abs(r[name] - exact[name]).max()) for r in runs] for name in QUANTITIES},
        "largest_kernel_distance": float(S.max()),
        "detour": float(length / np.linalg.norm(exact["beta"][-1] - exact["beta"][0])),
        "distance_at_end": float(np.linalg.norm(exact["beta"][-1] - beta_star)),
        "half_times": [_first(times, modes[:, k] >= 0.5 * cfg["strengths"][k]) for k in range(2)],
    }
    curves = {"t": times, "trained": _modes(runs[-1]["beta"], cfg), "exact": modes, "kernel_distance": S}
    return Cell(cell, values, curves)


def _task(cfg: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Whitened inputs, labels, β_* and β(0). The modes of β_* are rotated against the axes, and β(0) overlaps with
    both of them and mixes them.
    """
    import numpy as np

    generator = np.random.default_rng(cfg["seed"])
    X = np.linalg.qr(generator.standard_normal((cfg["n"], 2)))[0]
    left, right = _frames(cfg)
    beta_star = left * cfg["strengths"] @ right.T
    return X, X @ beta_star, beta_star, cfg["start"] * left @ np.array(cfg["overlaps"]) @ right.T


def _frames(cfg: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """The singular vectors of β_*, in columns."""
    import numpy as np

    generator = np.random.default_rng(cfg["seed"] + 1)
    return tuple(np.linalg.qr(generator.standard_normal((2, 2)))[0] for _ in range(2))


def _modes(beta: np.ndarray, cfg: Mapping[str, Any]) -> np.ndarray:
    """The overlaps u_iᵀβv_i with the modes of β_*."""
    import numpy as np

    left, right = _frames(cfg)
    return np.einsum("di,...dc,ci->...i", left, beta, right)


def _start(beta_0: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights with WᵀA = β(0) and AAᵀ − WWᵀ = δI: A is the root of AᵀA = δ/2 + √(β(0)ᵀβ(0) + δ²/4)."""
    import numpy as np

    values, axes = np.linalg.eigh(beta_0.T @ beta_0)
    root = np.sqrt(values + delta**2 / 4)
    squares = values / (root - delta / 2) if delta < 0 else root + delta / 2
    A = axes * np.sqrt(squares) @ axes.T
    return A, np.linalg.solve(A.T, beta_0.T)


def _exact(
    cfg: Mapping[str, Any], A: np.ndarray, W: np.ndarray, beta_star: np.ndarray, delta: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times and the exact β, preconditioner M and singular values of β of one network."""
    import numpy as np

    from derivations.wide_linear.evaluators.isotropic_balance import isotropic_preconditioner
    from derivations.wide_linear.evaluators.isotropic_flow import isotropic_flow

    times = np.linspace(0.0, cfg["horizon"], cfg["records"] + 1)
    beta = isotropic_flow(times, A, W, beta_star).beta
    M = isotropic_preconditioner(beta=beta, delta=float(delta))
    return times, {"beta": beta, "M": M, "singular_values": np.linalg.svd(beta, compute_uv=False)}


def _trained(
    cfg: Mapping[str, Any], A: np.ndarray, W: np.ndarray, task: tuple[np.ndarray, ...], count: int
) -> dict[str, np.ndarray]:
    """The same of networks (K, ...) trained in ``count`` steps, at the same times: (T, K, ...)."""
    import numpy as np

    from numerics.networks.linear import WideLinear
    from numerics.training.flows import gradient_descent

    X, Y, _, _ = task
    path = gradient_descent(
        WideLinear(A, W),
        X,
        Y,
        rates={"A": 1.0, "W": 1.0},
        step=cfg["horizon"] / count,
        steps=count,
        record=range(0, count + 1, count // cfg["records"]),
        observe=lambda network: {"A": network.A, "W": network.W},
    )
    A, W = path["A"], path["W"]
    one, turned = np.eye(2), (0, 1, 3, 2)
    M = np.kron(A.transpose(turned) @ A, one) + np.kron(one, W.transpose(turned) @ W)
    beta = W.transpose(turned) @ A
    return {"beta": beta, "M": M, "singular_values": np.linalg.svd(beta, compute_uv=False)}


def _first(times: np.ndarray, reached: np.ndarray) -> float | None:
    """The first of the times that is reached, None if none is."""
    return float(times[reached.argmax()]) if reached.any() else None


def claims(measured: Measurements) -> list[Claim]:
    """Lazy at large balances of both signs, rich and one mode after the other at none."""
    low, high = min(measured.coordinates("delta")), max(measured.coordinates("delta"))
    balanced = measured.where(delta=0)[0].values
    first, second = balanced["half_times"]
    return [
        order_claim(
            "descent-order",
            "networks trained with step h deviate from the exact solution by O(h) in β, M and singular values: the "
            "fitted order farthest from 1",
            [(row.values["step"], row.values[name]) for row in measured for name in QUANTITIES],
        ),
        at_most(
            "lazy-at-large-balance",
            f"the kernel distance at δ = {low} and δ = {high} never exceeds 0.01",
            max(measured.value("largest_kernel_distance", delta=delta) for delta in (low, high)),
            0.01,
        ),
        at_most(
            "straight-at-large-balance",
            f"the path at δ = {low} and δ = {high} is at most 1 % longer than its chord",
            max(measured.value("detour", delta=delta) for delta in (low, high)),
            1.01,
        ),
        at_least(
            "rich-without-balance",
            "the kernel distance at δ = 0 exceeds 0.1 on the way",
            balanced["largest_kernel_distance"],
            0.1,
        ),
        at_least(
            "one-mode-after-the-other",
            "at δ = 0 the mode of strength 1 takes at least 1.5 times as long for half of its way as that of "
            "strength 2",
            second / first if first and second else float("nan"),
            1.5,
        ),
        at_most(
            "learned",
            "every network ends within 0.01 of β*",
            max(measured.values("distance_at_end")),
            0.01,
            about="check",
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import EXACT, delta_colors, delta_legend, measured, new_figure, style

    colors = delta_colors([cell.cell["delta"] for cell in results])
    drawing = new_figure(1, 2, width=3.4, height=3.1)
    paths, kernels = drawing.subplots(1, 2)
    for cell in results:
        color, curves = colors[cell.cell["delta"]], cell.curves
        drawn = measured(color) | ({"linewidth": 1.2, "zorder": 4} if cell.cell["delta"] < 0 else {})
        paths.plot(*curves["trained"].T, **drawn)
        kernels.plot(curves["t"], curves["kernel_distance"], **drawn)
    for cell in results:
        paths.plot(*cell.curves["exact"].T, **EXACT)
    paths.plot(*PAPER["strengths"], "k*", markersize=9, zorder=9)
    style(
        paths,
        xlabel="overlap with the stronger mode",
        ylabel="overlap with the weaker mode",
        title=r"paths of $\beta$",
    )
    style(kernels, xlabel="$t$", ylabel="$S(0, t)$", title="kernel distance")
    delta_legend(drawing, colors, loc="outside right center", handlelength=1.4)
    return drawing


@study(
    "wide_linear.function-space",
    title="Wide linear networks in function space: straight paths at large balance, one mode after the other at none",
    confronts=(
        "wide_linear.self_consistent_dynamics",
        "wide_linear.singular_value_dynamics",
    ),
)
def wide_function_space() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, batch=None)
