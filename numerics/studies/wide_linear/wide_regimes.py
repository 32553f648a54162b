"""Lazy, rich or delayed rich: the answer before training against the network after it (Kunin et al. 2024, section 4
and appendix B.1.4).

For shapes (h, d, c) that narrow, widen or keep their size, random contributions β_k of unit size, and balances that are
all large and positive, all large and negative, large of both signs, or zero, the regime is asked of
``derivations.wide_linear.regime`` before training. Then the flow is integrated to its end. The network was lazy if
its kernel distance never exceeds 0.02, the square of the relative change that the function allows, halved; otherwise
delayed rich, if less than a tenth of the largest distance was reached after ten units of time, and rich if more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurement, Measurements, at_least, at_most
from numerics.lab.study import Cell, Plan, study

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


# Shapes (h, d, c); the size of large balances, in units of |β_k|; n inputs; when rich networks have begun to learn; and
# when the flow ends, for large balances in units of their size.
PAPER = {
    "shapes": [[2, 4, 2], [2, 2, 4], [4, 4, 2], [4, 2, 4], [3, 3, 3], [1, 3, 1], [1, 3, 2]],
    "balances": ["positive", "negative", "mixed", "none"],
    "size": 400.0,
    "seeds": [0, 1, 2, 3],
    "n": 8,
    "early": 10.0,
    "ends": {"large": 300.0, "none": 300.0},
}
SCALES = {
    "smoke": {**PAPER, "shapes": [[2, 4, 2], [1, 3, 2]], "seeds": [0]},
    "laptop": PAPER,
    "paper": PAPER,
}
# The largest kernel distance of a lazy network, and the early part of it in a delayed one.
LAZY_BELOW, DELAYED_BELOW = 0.02, 0.1
REGIMES = ("lazy", "delayed rich", "rich")
DIMS = {"kernel_distance": ("moment",), "moment": ("moment",)}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"h": h, "d": d, "c": c, "balance": balance, "seed": seed}
        for h, d, c in cfg["shapes"]
        for balance in cfg["balances"]
        for seed in cfg["seeds"]
        if not (balance == "mixed" and h == 1)
    ]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg) for cell in batch]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """One network: the regime told before training, and the one measured."""
    import numpy as np

    from derivations.wide_linear.evaluators.regime_decision import regime
    from numerics.training.flows import wide_gradient_flow

    h, d, c = cell["h"], cell["d"], cell["c"]
    generator = np.random.default_rng([cell["seed"], h, d, c])
    X = np.linalg.qr(generator.standard_normal((cfg["n"], d)))[0]
    beta_star = generator.standard_normal((d, c))
    beta_star /= np.linalg.norm(beta_star)
    rows, columns = (_unit(generator.standard_normal((h, size))) for size in (c, d))
    deltas = cfg["size"] * _signs(cell["balance"], h)
    kappa = np.hypot(deltas, 2.0)
    A = _half(kappa, deltas)[:, None] * rows
    W = _half(kappa, -deltas)[:, None] * columns
    beta_k = W[:, :, None] * A[:, None, :]
    predicted = regime(h, d, c, deltas, beta_k, beta_star)
    end = cfg["ends"]["none"] if cell["balance"] == "none" else cfg["ends"]["large"] * cfg["size"]
    moments = np.concatenate(
        [[0.0], np.geomspace(1e-3, cfg["early"], 41), np.geomspace(1.01 * cfg["early"], end, 60)]
    )
    A, W = wide_gradient_flow(A, W, X, X @ beta_star, times=moments)
    S = _kernel_distances(A, W, X)
    early = S[moments <= cfg["early"]].max()
    values = {
        "predicted": predicted,
        "measured": _measured(S, early),
        "largest_kernel_distance": float(S.max()),
        "kernel_early": float(early),
        "distance_at_end": float(np.linalg.norm(W[-1].T @ A[-1] - beta_star)),
    }
    return Cell(cell, values, {"kernel_distance": S, "moment": moments})


def _signs(balance: str, h: int) -> np.ndarray:
    """The sign of the balance of every neuron, (h,), 0 for none."""
    import numpy as np

    if balance == "mixed":
        return np.where(np.arange(h) % 2, -1.0, 1.0)
    return {"positive": 1.0, "negative": -1.0, "none": 0.0}[balance] * np.ones(h)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., n) divided by their norms."""
    import numpy as np

    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _half(kappa: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """√((κ + δ) / 2) with κ = √(δ² + 4), without cancellation."""
    import numpy as np

    return np.sqrt(np.where(delta >= 0, (kappa + delta) / 2, 2 / (kappa - delta)))


def _kernel_distances(A: np.ndarray, W: np.ndarray, X: np.ndarray) -> np.ndarray:
    """S(0, t) of K = AᵀA ⊗ XXᵀ + I ⊗ XWᵀWXᵀ at every moment."""
    import numpy as np

    from numerics.measures.kernels import kernel_distance

    c = A.shape[2]
    upper, lower = A.swapaxes(1, 2) @ A, X @ W.swapaxes(1, 2) @ W @ X.T
    kernels = np.array(
        [np.kron(a, X @ X.T) + np.kron(np.eye(c), w) for a, w in zip(upper, lower, strict=True)]
    )
    return kernel_distance(kernels[:1], kernels)


def _measured(S: np.ndarray, early: float) -> str:
    """The regime of a network with the kernel distances S (T,), of which ``early`` is the largest of the early ones."""
    if S.max() < LAZY_BELOW:
        return "lazy"
    return "delayed rich" if early < DELAYED_BELOW * S.max() else "rich"


def claims(measured: Measurements) -> list[Claim]:
    """The answers before training are right, and the paper's cases are among them."""
    wrong = sum(row.values["predicted"] != row.values["measured"] for row in measured)
    none = measured.where(balance="none")
    return [
        at_least(
            "answers-are-right",
            f"the regime named before training is the one measured after it: fraction of {len(measured)} networks",
            1 - wrong / len(measured),
            0.95,
            about="own",
        ),
        *_one_sided_claims([row for row in measured if row.cell["balance"] in ("positive", "negative")]),
        at_least(
            "balanced-networks-are-rich",
            f"of {len(none)} networks without balance, the fraction that was rich",
            _count(none, "rich") / len(none),
            0.9,
        ),
        at_most(
            "learned",
            "every network that has neurons enough for its task ends within 0.01 of β*",
            max(
                row.values["distance_at_end"]
                for row in measured
                if row.cell["h"] >= min(row.cell["d"], row.cell["c"])
            ),
            0.01,
            about="check",
        ),
    ]


def _count(rows: Iterable[Measurement], regime: str) -> int:
    """How many networks were in a regime."""
    return sum(row.values["measured"] == regime for row in rows)


def _one_sided_claims(rows: Sequence[Measurement]) -> list[Claim]:
    """Large balances of one sign: lazy with neurons enough, delayed rich without."""
    wide = [row for row in rows if row.cell["h"] >= max(row.cell["d"], row.cell["c"])]
    easy = [
        row
        for row in rows
        if row.cell["h"] >= (row.cell["c"] if row.cell["balance"] == "positive" else row.cell["d"])
    ]
    hard = [row for row in rows if row not in easy]
    return [
        at_most(
            "large-balances-that-span-are-lazy",
            f"of {len(easy)} networks with large balances of one sign and neurons enough to span the outputs (δ > 0) "
            "or the inputs (δ < 0), how many were not lazy",
            len(easy) - _count(easy, "lazy"),
            0,
        ),
        at_most(
            "wide-networks-are-lazy-at-either-sign",
            f"of {len(wide)} networks with h ≥ max(d, c) and large balances of one sign, how many were not lazy",
            len(wide) - _count(wide, "lazy"),
            0,
        ),
        at_most(
            "others-are-delayed-rich",
            f"of {len(hard)} networks with large balances of one sign and too few neurons, how many were not delayed "
            "rich",
            len(hard) - _count(hard, "delayed rich"),
            0,
        ),
    ]


def figure(results: Sequence[Cell]) -> Figure:
    import numpy as np
    from matplotlib.lines import Line2D

    from numerics.lab.figures import new_figure, style

    shapes = list(dict.fromkeys((cell.cell["h"], cell.cell["d"], cell.cell["c"]) for cell in results))
    balances = list(dict.fromkeys(cell.cell["balance"] for cell in results))
    hues = dict(zip(REGIMES, ("#4575b4", "#fdae61", "#d73027"), strict=True))
    drawing = new_figure(1, len(balances), width=2.3, height=2.6)
    for axes, balance in zip(
        drawing.subplots(1, len(balances), sharey=True, squeeze=False)[0], balances, strict=True
    ):
        for cell in results:
            if cell.cell["balance"] != balance:
                continue
            row = shapes.index((cell.cell["h"], cell.cell["d"], cell.cell["c"]))
            right = cell.values["predicted"] == cell.values["measured"]
            axes.plot(
                max(cell.values["largest_kernel_distance"], 1e-9),
                row + 0.12 * (cell.cell["seed"] - 1.5),
                "o" if right else "X",
                color=hues[cell.values["predicted"]],
                markersize=5 if right else 8,
            )
        axes.axvline(LAZY_BELOW, color="0.7", linewidth=0.8)
        axes.set(
            xscale="log", yticks=np.arange(len(shapes)), yticklabels=[f"{h}, {d}, {c}" for h, d, c in shapes]
        )
        style(axes, xlabel="largest kernel distance", title=f"balances: {balance}")
    dots = [Line2D([], [], marker="o", linestyle="none", color=hues[name], label=name) for name in REGIMES]
    cross = Line2D([], [], marker="X", linestyle="none", color="0.4", label="otherwise")
    drawing.legend(
        handles=[*dots, cross], loc="outside right center", frameon=False, fontsize=8, title="predicted"
    )
    return drawing


@study(
    "wide_linear.regimes",
    title="Lazy, rich or delayed rich: the regime of a wide linear network, told before training",
    confronts=(
        "wide_linear.lazy_regime",
        "wide_linear.narrowing_and_expanding",
        "wide_linear.delayed_rich_regime",
    ),
)
def wide_regimes() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS)
