r"""The phase diagram at growing width, next to the portrait over scale and balance (Kunin et al. 2024, section 5).

Two-layer ReLU networks f(x) = (1/α) Σ_k a_k σ(w_kᵀx) of h neurons, a_k ~ N(0, β_a²), w_k ~ N(0, β_W² I), start at

    β_aβ_W/α = h^-γ  (overall scale),      β_a/β_W = h^-γ′  (relative scale),

the normalisation of Luo et al. 2021, whose boundary is γ = max(1, 1 + γ′): lazy below it, rich above. The NTK
parametrisation is (1/2, 0), the mean-field one (1, 0). Only the unit of time depends on α, which is 1. The networks
follow the gradient flow on five points of the circle, one in each fifth, with random labels of mean square one, until
their loss is a hundredth of that of f = 0. Measured there: the exponents in h of the relative movement
‖W(t) − W(0)‖/‖W(0)‖ (its supremum over time) and of the kernel distance S, the activations that flipped, in how many
directions the neurons point (an effective number, of neurons weighted by |a_k|‖w_k‖ in 72 bins), and the balances δ_k.
The source reports no measurement and gives no setting of its own; all sizes are ours.

What the source says, sentence by sentence: lazy, "always achieved at large scale", is γ < 1 whatever γ′; lazy "at small
scale if the first layer variance is sufficiently larger" is γ > 1, γ′ > γ − 1; rich "at small function scale" is γ > 1,
γ′ < γ − 1; and rich "at larger scales if β_a/β_W is sufficiently large" can be read in two ways. Towards γ = 1 the
boundary γ′ = γ − 1 falls, so that a larger scale needs a larger β_a/β_W: one claim tests this. That a large β_a/β_W
makes networks rich at γ < 1 too is what the word "always" excludes: another claim tests that, up to β_a/β_W = h.
The boundary "contains a range of parametrizations, including the mean-field": there the exponent is zero to within 0.1,
less than the nearest rich point is predicted to have (1/8).

The finite-width side has one width and unit neurons in pairs ±a, scaled to (τ, δ) as in the portrait.

Few directions are fewer than 2n: the n inputs divide the circle into 2n sectors of neurons with the same active inputs.

How large S can be depends on the data: five inputs apart from each other keep the kernel near its diagonal, and S below
0.2. So kernels are compared, with the width or with each other, and no number divides lazy from rich. Lazy points a
quarter from the boundary have S ~ h^-1/2; "does not vanish" means an exponent above half of that. Lazy at one width
means a tenth of the distance at the smallest τ and δ = 0. Steps are Heun's, each the fraction ``step`` of the time in
which kernel and residual act. That every side has points is a check that was added after the data had been seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derivations.piecewise_linear.infinite_width.phase_exponent import movement_exponent
from numerics.lab.claims import (
    Claim,
    Measurement,
    Measurements,
    at_least,
    at_most,
    between,
    mean,
    mean_and_stderr,
    mean_at_least,
    mean_at_most,
    ratios,
)
from numerics.lab.study import Cell, Plan, study
from numerics.studies.piecewise_linear.phase_plane import SIDES, by_point, exponents, on_side, point_of, side

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Where the width grows: exponents γ and γ′, and widths. At one width h: scales τ and balances δ. Both: n points, the
# relative loss at which they count as fitted, and the length and the largest number of steps.
PAPER: dict[str, Any] = {
    "gamma": [0.5, 0.75, 1.0, 1.25, 1.5, 1.75],
    "gamma_prime": [-1.0, -0.5, 0.0, 0.5, 1.0],
    "widths": [64, 256, 1024, 4096],
    "seeds": list(range(16)),
    "tau": [0.03, 0.1, 0.3, 1.0, 3.0],
    "delta": [-1.0, -0.5, 0.0, 0.5, 1.0],
    "h": 64,
    "n": 5,
    "fitted": 0.01,
    "step": 0.2,
    "most_steps": 60_000,
}
SCALES = {
    "smoke": {
        **PAPER,
        "gamma": [0.5, 1.0, 1.75],
        "gamma_prime": [-0.5, 0.0, 1.0],
        "widths": [32, 1024],
        "seeds": list(range(8)),
        "tau": [0.03, 3.0],
        "delta": [-1.0, 0.0, 1.0],
        "step": 0.4,
    },
    "laptop": {**PAPER, "widths": [64, 256, 1024], "seeds": list(range(6))},
    "paper": PAPER,
}
STEPS = ("fitted", "step", "most_steps")
# An exponent on the boundary is as close to zero as the first; a kernel vanishes if its exponent is below the second.
ON_BOUNDARY, VANISHING = 0.1, -0.25
# In decades: how much smaller a lazy kernel distance is at one width.
TENFOLD = 1.0
# The share of the kernel's distance that lies behind when the loss has halved, without delay.
HALF = 0.5


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    wide = [
        {"part": "width", "seed": seed, "gamma": gamma, "gamma_prime": gamma_prime, "h": h}
        for seed in cfg["seeds"]
        for gamma in cfg["gamma"]
        for gamma_prime in cfg["gamma_prime"]
        for h in cfg["widths"]
    ]
    finite = [
        {"part": "balance", "seed": seed, "tau": tau, "delta": delta}
        for seed in cfg["seeds"]
        for tau in cfg["tau"]
        for delta in cfg["delta"]
    ]
    return wide + finite


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg) for cell in batch]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """One network, Gaussian where the width grows and balanced at one width."""
    from numerics.training.wide_relu import balanced_start, circle_task, gaussian_start, measures

    X, y = circle_task(cell["seed"], cfg["n"])
    if cell["part"] == "width":
        start = gaussian_start(cell["seed"], cell["h"], cell["gamma"], cell["gamma_prime"])
    else:
        start = balanced_start(cell["seed"], cfg["h"], cell["tau"], cell["delta"])
    return Cell(cell, measures(*start, X, y, **{name: cfg[name] for name in STEPS}), {})


def claims(measured: Measurements) -> list[Claim]:
    """What the source says of either side of the boundary, of the boundary, and of the portrait at one width."""
    wide, finite = measured.where(part="width"), measured.where(part="balance")
    return [
        *_side_claims(wide),
        *_ratio_claims(wide),
        *_rapid_claims(wide),
        *_portrait_claims(finite),
        *_own_claims(wide),
        at_least(
            "every-side-has-points",
            f"statements on all points of a side are not empty: the fewest points of a side ({', '.join(SIDES)})",
            min(len(on_side(dict.fromkeys(exponents(wide, "movement")), where)) for where in SIDES),
            1,
            about="check",
        ),
        at_most(
            "fitted",
            "every network fits the data: largest loss at the end, relative to that of f = 0",
            max(measured.values("relative_loss")),
            0.01,
            about="check",
        ),
        at_most(
            "balances-kept",
            "the steps follow the flow: largest Σ_k |δ_k(t) − δ_k(0)| relative to the squared norm of the weights",
            max(measured.values("delta_drift")),
            0.01,
            about="check",
        ),
    ]


def _not_below(found: Mapping[Any, Sequence[float]], threshold: float = 0.0) -> int:
    """How many points have an exponent that is not below the threshold at 95 %."""
    return sum(not mean_at_most("", "", slopes, threshold).holds for slopes in found.values())


def _not_above(found: Mapping[Any, Sequence[float]], threshold: float = 0.0) -> int:
    """How many points have one that is not above it at 95 %."""
    return sum(not mean_at_least("", "", slopes, threshold).holds for slopes in found.values())


def _side_claims(wide: Measurements) -> list[Claim]:
    """Exponents on either side of the boundary, and on it."""
    movement, kernel = exponents(wide, "movement"), exponents(wide, "kernel_distance")
    found = [
        at_most(
            f"{name}-is-lazy-by-{quantity}",
            f"{words}, the {long} vanishes with the width: points of {len(on_side(slopes, where))} whose exponent is "
            "not negative at 95 %",
            _not_below(on_side(slopes, where)),
            0,
        )
        for where, name, words in (
            ("large", "large-scale", "at γ < 1, whatever γ′"),
            ("downstream", "downstream", "at γ ≥ 1 and γ′ > γ − 1"),
        )
        for quantity, long, slopes in (
            ("movement", "relative movement of W", movement),
            ("kernel", "kernel distance", kernel),
        )
    ]
    rich, rich_kernel = on_side(movement, "rich"), on_side(kernel, "rich")
    boundary = on_side(movement, "boundary")
    mean_field, stderr = mean_and_stderr(movement[1.0, 0.0])
    return [
        *found,
        at_most(
            "small-scale-is-rich-by-movement",
            f"at γ > 1 and γ′ < γ − 1 the relative movement of W grows with the width: points of {len(rich)} whose "
            "exponent is not positive at 95 %",
            _not_above(rich),
            0,
        ),
        at_most(
            "small-scale-is-rich-by-kernel",
            f"there the kernel distance does not vanish: points of {len(rich)} whose exponent is not above "
            f"{VANISHING}, at 95 %",
            _not_above(rich_kernel, VANISHING),
            0,
        ),
        between(
            "mean-field-is-on-the-boundary",
            "in the mean-field parametrisation, γ = 1, γ′ = 0, the movement's exponent is within "
            f"{ON_BOUNDARY} of zero",
            mean_field,
            -ON_BOUNDARY,
            ON_BOUNDARY,
            stderr=stderr,
            max_stderr=ON_BOUNDARY / 2,
        ),
        at_most(
            "the-boundary-is-a-range",
            f"at all {len(boundary)} points with γ = max(1, 1 + γ′) the mean exponent is within "
            f"{ON_BOUNDARY} of zero: largest absolute value",
            max(abs(mean(slopes)) for slopes in boundary.values()),
            ON_BOUNDARY,
        ),
    ]


def _ratio_claims(wide: Measurements) -> list[Claim]:
    """Rich at larger scales if β_a/β_W is large enough: the boundary's slope, and whether it ends at γ = 1."""
    movement = exponents(wide, "movement")
    last = max(gamma for gamma, _ in movement)
    nearest = min(gamma for gamma, _ in movement if gamma > 1)
    relative = sorted({gamma_prime for _, gamma_prime in movement})
    # The smallest relative scale that is rich far above γ = 1 and lazy close to it, if the grid has one.
    between_them = [
        ratio
        for ratio in relative
        if side((last, ratio)) == "rich" and side((nearest, ratio)) == "downstream"
    ]
    larger = {(nearest, ratio): movement[nearest, ratio] for ratio in relative if ratio < nearest - 1}
    below = max(gamma for gamma, _ in movement if gamma < 1)
    found = [
        at_most(
            "larger-scale-needs-a-larger-ratio",
            f"at γ′ = {ratio} networks are rich at γ = {last} and not at the larger scale γ = {nearest}, where "
            f"{', '.join(f'γ′ = {point[1]:g}' for point in larger)} make them rich again: statements of "
            f"{2 + len(larger)} that fail at 95 %",
            _not_above({0: movement[last, ratio], **larger}) + _not_below({0: movement[nearest, ratio]}),
            0,
        )
        for ratio in between_them
    ]
    return [
        *found,
        mean_at_most(
            "no-ratio-is-rich-at-large-scale",
            f"at γ < 1 even β_a/β_W up to the power {-relative[0]:g} of the width leaves networks lazy: exponent of "
            "the movement at the largest of these scales and ratios closest to the boundary, γ = "
            f"{below:g}, γ′ = {relative[0]:g}",
            movement[below, relative[0]],
            0.0,
        ),
    ]


def _rapid_claims(wide: Measurements) -> list[Claim]:
    """On the rich side neurons condense, and the kernel moves without delay."""
    few = 2 * PAPER["n"]
    widest = wide.where(h=max(wide.distinct("h")))
    directions, early = by_point(widest, "directions_after"), {}  # type: ignore[var-annotated]  # shares by seed
    for row in widest:
        if side(point_of(row)) == "rich":
            share = row.values["kernel_distance_halfway"] / row.values["kernel_distance"]
            early.setdefault(row.cell["seed"], []).append(min(share, 1.0))
    rich = on_side(directions, "rich")
    lazy = on_side(directions, "large") | on_side(directions, "downstream")
    return [
        at_most(
            "neurons-condense",
            f"on the rich side, at the largest width, the effective number of directions ends below {few}: points of "
            f"{len(rich)} where it does not, at 95 %",
            _not_below(rich, few),
            0,
        ),
        at_most(
            "lazy-neurons-do-not-condense",
            f"on the lazy side it stays above {few}: points of {len(lazy)} where it does not, at 95 %",
            _not_above(lazy, few),
            0,
            about="own",
        ),
        mean_at_least(
            "rich-without-delay",
            "on the rich side, at the largest width, half of the kernel's distance lies behind when the loss has "
            "halved: share, at most one, a mean over points for each seed",
            [mean(shares) for shares in early.values()],
            HALF,
        ),
    ]


def _portrait_claims(finite: Measurements) -> list[Claim]:
    """Lazy and rich at one width, over scale and balance."""
    taus, deltas = sorted(finite.distinct("tau")), sorted(finite.distinct("delta"))
    small, large = taus[0], taus[-1]

    def decades(above: tuple[float, float], below: tuple[float, float]) -> list[float]:
        """log₁₀ of the ratio of the kernel distances at two (τ, δ), seed by seed."""
        distances = (
            finite.where(tau=tau, delta=delta).values("kernel_distance") for tau, delta in (above, below)
        )
        return [math.log10(ratio) for ratio in ratios(*distances)]

    return [
        at_most(
            "portrait-lazy-at-large-scale",
            f"at one width and τ = {large:g} the kernel distance is less than a tenth of that at τ = {small:g}, δ = 0, "
            f"whatever δ: values of δ, of {len(deltas)}, where it is not, at 95 %",
            _not_above({delta: decades((small, 0.0), (large, delta)) for delta in deltas}, TENFOLD),
            0,
        ),
        mean_at_least(
            "portrait-lazy-downstream",
            f"at τ = {small:g} the kernel distance at δ = {deltas[0]:g} is less than a tenth of that at δ = 0 when the "
            "data are fitted: decades",
            decades((small, 0.0), (small, deltas[0])),
            TENFOLD,
        ),
        at_most(
            "portrait-rich-upstream",
            f"at τ = {small:g}, δ > 0 it is ten times as large as at τ = {large:g} and the same δ: values of δ where "
            "it is not, at 95 %",
            _not_above(
                {delta: decades((small, delta), (large, delta)) for delta in deltas if delta > 0},
                TENFOLD,
            ),
            0,
        ),
    ]


def _own_claims(wide: Measurements) -> list[Claim]:
    """The exponents that were derived, activations that flip, and the balances of Gaussian weights."""
    movement = exponents(wide, "movement")
    errors = [abs(mean(slopes) - movement_exponent(*point)) for point, slopes in movement.items()]
    flipped = by_point(wide.where(h=max(wide.distinct("h"))), "flipped")
    shares = {where: [mean(found) for found in on_side(flipped, where).values()] for where in SIDES}
    scores = [_balance_score(row) ** 2 for row in wide]
    return [
        at_most(
            "exponents-are-as-derived",
            f"the movement has the exponents of the scaling argument: mean deviation over {len(errors)} points",
            mean(errors),
            0.1,
            about="own",
        ),
        at_least(
            "more-activations-flip-where-rich",
            "at the largest width every rich point has more activations flipped, on average, than any lazy one: least "
            "rich minus largest lazy share",
            min(shares["rich"]) - max(*shares["large"], *shares["downstream"]),
            0.0,
            about="own",
        ),
        between(
            "balances-are-as-derived",
            "δ_k = a_k² − ‖w_k‖² has the mean β_a² − 2β_W² and the variance 2β_a⁴ + 4β_W⁴: root mean square of the "
            "deviations of a network's mean, in standard errors, is one",
            math.sqrt(mean(scores)),
            0.75,
            1.25,
            about="own",
        ),
    ]


def _balance_score(row: Measurement) -> float:
    """How far the mean δ_k of a network is from that of the law, in standard errors."""
    h, gamma, gamma_prime = (row.cell[name] for name in ("h", "gamma", "gamma_prime"))
    upper, lower = h ** -(gamma + gamma_prime), h ** -(gamma - gamma_prime)
    return (row.values["delta_mean"] - (upper - 2 * lower)) / math.sqrt((2 * upper**2 + 4 * lower**2) / h)


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.studies.piecewise_linear.width_diagram_figure import draw

    return draw(results)


@study(
    "kunin2024.infinite-width-phase-diagram",
    title="Lazy and rich ReLU networks at growing width, next to the portrait over scale and balance",
    confronts=(
        "piecewise_linear.phase_boundary",
        "piecewise_linear.movement_by_fitting",
        "piecewise_linear.balances_at_random",
    ),
)
def width_diagram() -> Plan:
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims={})
