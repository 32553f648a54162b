"""How two modes decouple, for three tasks and starts of three sizes (Braun et al. 2022, figures 4C to 4F).

W1 = AṼᵀ and W2 = ŨAᵀ with a square A(0), invertible as in the source, whose entries are Gaussian of variance σ²/2, so
that AᵀA(0) is σ² times the identity on average. The tasks are a dense matrix, a diagonal one of unequal entries and one
of equal entries. For each, many networks are trained by gradient descent at several rates: the connections a₁ and a₂
within the modes, the coupling b across them, and the moment at which |b| is largest. Small starts have σ² = 10⁻⁶,
intermediate ones 1/4 and large ones 9; still smaller ones show how the coupling shrinks with the start. All cells share
the same directions of A(0). The source states neither tasks nor variances nor rates; those here are ours.

The time of the peak is printed as τ/(4s) ln(s(s − a₁ − a₂)/Δ), Δ = a₁a₂ − b². It is τ/(4s) ln(1 + s(s − a₁ − a₂)/Δ)
(`derivations.prior_knowledge.time_of_peak`). Both are drawn, and both are confronted with the trained networks. The
network in the figure was chosen among the forty of each cell for its clear peak; there the times differ by 0.001.

The source says that small starts keep the coupling near zero. What that means is not stated: shrinking with the
variance, or at most a tenth of s at the variance 10⁻⁶, and both are claimed. The second was added after the data had
been seen; so was the check that networks with a peak are learned, without which they cannot be late.

Large starts train at the rate η/(1 + σ²/3), as their first steps are large.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurements, at_least, at_most, mean, mean_at_most
from numerics.lab.order import fit_order, order_claim
from numerics.lab.study import Cell, Plan, study
from numerics.studies.prior_knowledge.exact.coupled_modes import LEARNED

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


SMALL, INTERMEDIATE, LARGE = 1e-6, 0.25, 9.0
NAMES = {SMALL: "small", INTERMEDIATE: "intermediate", LARGE: "large"}
HEADS = {
    SMALL: r"small, $\sigma^2=10^{-6}$",
    INTERMEDIATE: r"intermediate, $\sigma^2=1/4$",
    LARGE: r"large, $\sigma^2=9$",
}
# Tasks; variances, twice that of the entries of A(0); rates in units where τ = 1. Every cell has the same ``networks``,
# drawn from one seed, and stores so many points of their curves.
PAPER = {
    "targets": {
        "dense": [[1.5, 0.9], [-0.4, 1.3]],
        "unequal": [[2.0, 0.0], [0.0, 1.0]],
        "equal": [[1.5, 0.0], [0.0, 1.5]],
    },
    "variances": [1e-12, 1e-10, 1e-8, SMALL, INTERMEDIATE, LARGE],
    "rates": [0.008, 0.004, 0.002, 0.001],
    "networks": 40,
    "seed": 3,
    "points": 601,
}
SCALES = {
    "smoke": {
        **PAPER,
        "variances": [1e-10, 1e-8, SMALL, INTERMEDIATE, LARGE],
        "rates": [0.016, 0.008, 0.004],
        "points": 101,
    },
    "laptop": PAPER,
    "paper": PAPER,
}
# A time is near another one within this part of it.
NEAR = 0.05
# In units of the mean singular value: which rise of |b| counts, and up to where it is near zero.
VISIBLE, NEAR_ZERO = 0.01, 0.1
DIMS = {
    "t": ("time",),
    "matrix": ("output", "input"),
    "trained": ("element", "network", "time"),
    "exact": ("element", "network", "time"),
}
FORMULA = {"printed": "as printed", "predicted": "with the 1 in its logarithm"}
# Which network the figure shows, and until when.
SHOWN, UNTIL = 23, {SMALL: 14.0, INTERMEDIATE: 5.0, LARGE: 1.0}
TITLES = {"dense": "dense", "unequal": "unequal diagonal", "equal": "equal diagonal"}


def cells(cfg: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"target": target, "variance": size} for target in cfg["targets"] for size in cfg["variances"]]


def run(batch: list[dict[str, Any]], cfg: Mapping[str, Any], device: str, resume: Path) -> list[Cell]:
    return [_run_cell(cell, cfg) for cell in batch]


def _run_cell(cell: Mapping[str, Any], cfg: Mapping[str, Any]) -> Cell:
    """The networks of one task and one variance, trained at each rate, against the exact solution."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.overlaps import ata_2x2
    from numerics.studies.prior_knowledge.exact.coupled_modes import connections, interpolated, trained

    task, variance = np.array(cfg["targets"][cell["target"]]), cell["variance"]
    U, s, V = np.linalg.svd(task)
    generator = np.random.default_rng(cfg["seed"])
    A = math.sqrt(variance / 2) * generator.standard_normal((cfg["networks"], 2, 2))
    start = connections(A.swapaxes(-1, -2) @ A)
    rates = [rate / (1 + variance / 3) for rate in cfg["rates"]]
    horizon = 3 if variance > 1 else 5 - math.log(variance) / (1.6 * s[1])
    count = math.ceil(horizon / rates[0])
    times = rates[0] * np.arange(count + 1)
    exact = ata_2x2(times, *start, *s)
    # The smallest variances only show how the coupling shrinks.
    used = rates if variance in NAMES else rates[:1]
    found = [trained(A, U, s, V, rate=rate, spacing=rates[0], count=count) for rate in used]
    shown = np.linspace(0.0, times[-1], cfg["points"])
    values = {
        "s": s.tolist(),
        "rate": rates,
        **{name: entry.tolist() for name, entry in zip(("a1", "a2", "b"), start, strict=True)},
        **_at_smallest_rate(times, found[-1], s),
        **_against_theory(times, found, exact, _told(start, s)),
    }
    curves = {
        name: interpolated(shown, times, one) for name, one in (("trained", found[-1]), ("exact", exact))
    }
    return Cell(cell, values, {"t": shown, "matrix": task, **curves})


def _told(start: Sequence[np.ndarray], s: np.ndarray) -> dict[str, np.ndarray]:
    """The times of the peak by either formula, which are for equal modes: NaN for others."""
    import numpy as np

    from derivations.prior_knowledge.evaluators.overlaps import offdiagonal_peak
    from numerics.studies.prior_knowledge.exact.coupled_modes import printed_peak

    if not math.isclose(*s):
        return dict.fromkeys(FORMULA, np.full(len(start[0]), np.nan))
    return {"printed": printed_peak(*start, s[0]), "predicted": offdiagonal_peak(*start, s[0])}  # type: ignore[call-arg]  # three elements


def _at_smallest_rate(times: np.ndarray, found: Sequence[np.ndarray], s: np.ndarray) -> dict[str, Any]:
    """When the coupling is largest and how large, how far it rises, what is learned then, and when all is learned."""
    import numpy as np

    from numerics.studies.prior_knowledge.exact.coupled_modes import (
        at_moments,
        largest_rise,
        learned_time,
        peak_time,
    )

    a1, a2, b = found
    peak = peak_time(times, b)
    return {
        "peak_time": peak.tolist(),
        "height": (np.abs(b).max(-1) / s.mean()).tolist(),
        "rise": (largest_rise(np.abs(b)) / s.mean()).tolist(),
        "sum_at_peak": at_moments(times, a1 + a2, peak).tolist(),
        "learned_time": learned_time(times, a1, a2, s),
    }


def _against_theory(
    times: np.ndarray,
    found: Sequence[Sequence[np.ndarray]],
    exact: Sequence[np.ndarray],
    told: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """How far training is from the exact solution, and its peak from the times that are told, at each rate if there are
    several, and these times.
    """
    from numerics.studies.prior_knowledge.exact.coupled_modes import (
        mean_deviation,
        numbers_or_none,
        peak_time,
    )

    several = len(found) > 1
    peaks = [peak_time(times, b) for _, _, b in found]
    return {
        "deviation": [mean_deviation(one, exact) for one in found] if several else None,
        **{f"{name}_gap": _gaps(peaks, moments) if several else None for name, moments in told.items()},
        **{f"{name}_time": numbers_or_none(moments) for name, moments in told.items()},
    }


def _gaps(peaks: Iterable[np.ndarray], told: np.ndarray) -> list[float] | None:
    """At each rate how far the peaks (networks,) are from the times that are told, on average over networks that have
    one; None where none has.
    """
    import numpy as np

    there = np.isfinite(told)
    return None if not there.any() else [float(np.abs(found - told)[there].mean()) for found in peaks]


def claims(measured: Measurements) -> list[Claim]:
    """What the source says of the coupling at each size of the start, and of the time of its peak."""
    moderate, large = (_networks(measured.where(variance=size)) for size in (INTERMEDIATE, LARGE))
    peaked = [one for one in moderate if one.peak > 0]
    finished = [one for one in peaked if one.learned is not None]
    safe = [one for one in moderate + large if _large_everywhere(*one.start, *one.s)]
    small = [size for size in measured.distinct("variance") if size <= SMALL]
    shrinks = {target: _shrinks(measured, target, small) for target in measured.distinct("target")}
    return [
        *_silence_claims(measured, shrinks),
        *_size_claims(large, finished),
        *_peak_claims(measured),
        *_own_claims(measured, shrinks, safe, peaked),
        *_checks(measured, moderate, large, safe, peaked, finished),
    ]


def _silence_claims(measured: Measurements, shrinks: Mapping[str, Any]) -> list[Claim]:
    """Small starts keep the coupling near zero."""
    return [
        *(
            at_least(
                f"silent-{target}",
                f"{TITLES[target]} task: the largest |b| shrinks with the variance of small starts, at least like its "
                "power 0.1 (geometric mean over networks): the fitted power",
                power,
                0.1,
            )
            for target, power in shrinks.items()
        ),
        *(
            mean_at_most(
                f"near-zero-{target}",
                f"{TITLES[target]} task: from starts of the variance 1e-6 the largest |b| is at most {NEAR_ZERO} of "
                "the mean singular value, mean over networks",
                measured.value("height", target=target, variance=SMALL),
                NEAR_ZERO,
            )
            for target in shrinks
        ),
    ]


def _size_claims(large: Sequence[Network], finished: Sequence[Network]) -> list[Claim]:
    """From large starts the coupling falls; from intermediate ones it peaks before the modes are learned."""
    return [
        at_least(
            "monotone-when-large",
            f"of {len(large)} large starts, the fraction whose |b| never rises by {VISIBLE} of the mean singular value",
            sum(one.rise < VISIBLE for one in large) / len(large),
            0.95,
        ),
        at_most(
            "peak-before-learned",
            f"of {len(finished)} intermediate starts whose |b| has a peak and whose modes are learned in time, how "
            f"many reach it after both modes have come to {LEARNED:.0%} of their singular values for good",
            sum(one.peak >= one.learned for one in finished),  # type: ignore[operator]  # they have learned
            0,
        ),
    ]


def _peak_claims(measured: Measurements) -> list[Claim]:
    """When the coupling is largest, as printed and as derived."""
    return [
        *(_peak_line(measured, size, "printed", "paper") for size in (SMALL, INTERMEDIATE)),
        *(_peak_line(measured, size, "predicted", "own") for size in (SMALL, INTERMEDIATE)),
        _peak_order(measured, "printed", "paper"),
        _peak_order(measured, "predicted", "own"),
    ]


def _own_claims(
    measured: Measurements, shrinks: Mapping[str, Any], safe: Sequence[Network], peaked: Sequence[Network]
) -> list[Claim]:
    """How silent small starts are, which starts have no peak, and what is learned at a peak."""
    return [
        at_most(
            "silence-has-its-power",
            "for s₁ > s₂ the largest |b| falls with the power (s₁ − s₂)/(2 s₁) of the variance: the largest deviation "
            "of the fitted power",
            max(
                abs(power - _power(measured, target))
                for target, power in shrinks.items()
                if target != "equal"
            ),
            0.03,
            about="own",
        ),
        at_most(
            "equal-modes-are-never-silent",
            "for s₁ = s₂ = s the largest |b| is s|b|/(a₁ + a₂ + 2√Δ) from small starts: the largest relative "
            "deviation",
            max(
                abs(one.height / _silent_limit(*one.start) - 1)
                for one in _networks(measured.where(target="equal", variance=SMALL))
            ),
            0.01,
            about="own",
        ),
        at_most(
            "monotone-where-large-everywhere",
            f"of {len(safe)} starts with A(0)ᵀA(0) ⪰ S̃/2, how many have a |b| that rises by a millionth",
            sum(one.rise > 1e-6 for one in safe),
            0,
            about="own",
        ),
        at_most(
            "half-learned-on-average",
            "at a peak a₁ + a₂ = (s₁ + s₂)/2, whatever the task: the largest relative deviation over intermediate "
            "starts",
            max(abs(2 * one.sum_at_peak / sum(one.s) - 1) for one in peaked),
            0.01,
            about="own",
        ),
    ]


def _checks(
    measured: Measurements,
    moderate: Sequence[Network],
    large: Sequence[Network],
    safe: Sequence[Network],
    peaked: Sequence[Network],
    finished: Sequence[Network],
) -> list[Claim]:
    """Training is on the exact solution, and there are networks enough of every kind."""
    return [
        order_claim(
            "descent-order",
            "trained at the rate η the three elements of AᵀA deviate from the exact solution by O(η), on average over "
            "networks: the fitted order that is farthest from 1",
            [
                (row.values["rate"], row.values["deviation"])
                for size in (SMALL, INTERMEDIATE, LARGE)
                for row in measured.where(variance=size)
            ],
            about="check",
        ),
        at_least(
            "networks-enough",
            "at least a quarter of the intermediate starts have a peak, and a quarter of the large ones are large in "
            "every direction: the smaller of the fractions",
            min(len(peaked) / len(moderate), sum(one in large for one in safe) / len(large)),
            0.25,
            about="check",
        ),
        at_least(
            "peaked-networks-are-learned",
            f"of {len(peaked)} intermediate starts whose |b| has a peak, the fraction whose modes are learned in time",
            len(finished) / len(peaked),
            0.9,
            about="check",
        ),
    ]


@dataclass(frozen=True)
class Network:
    """What was measured of one network at the smallest rate.

    The singular values of its task and (a₁, a₂, b) at the start; the largest |b| and the largest rise of |b|, in units
    of the mean singular value; the moment of the largest |b| and a₁ + a₂ there; the printed and the predicted moment,
    and when both modes are learned, None for what does not exist.
    """

    s: tuple[float, float]
    start: tuple[float, float, float]
    height: float
    rise: float
    peak: float
    sum_at_peak: float
    printed: float | None
    predicted: float | None
    learned: float | None


def _networks(rows: Measurements) -> list[Network]:
    """The networks of some cells."""
    measures = (
        "height",
        "rise",
        "peak_time",
        "sum_at_peak",
        "printed_time",
        "predicted_time",
        "learned_time",
    )
    return [
        Network(tuple(row.values["s"]), start, *numbers)
        for row in rows
        for start, numbers in zip(
            zip(*(row.values[name] for name in ("a1", "a2", "b")), strict=True),
            zip(*(row.values[name] for name in measures), strict=True),
            strict=True,
        )
    ]


def _shrinks(measured: Measurements, target: str, sizes: Sequence[float]) -> float:
    """The fitted power of the variance with which the geometric mean of the largest |b| falls."""
    heights = [measured.value("height", target=target, variance=size) for size in sizes]
    return fit_order(sizes, [math.exp(mean([*map(math.log, found)])) for found in heights])[0]


def _power(measured: Measurements, target: str) -> float:
    """(s₁ − s₂)/(2 s₁)."""
    s1, s2 = measured.where(target=target)[0].values["s"]
    return (s1 - s2) / (2 * s1)


def _silent_limit(a1: float, a2: float, b: float) -> float:
    """The height of the peak in units of s, for s₁ = s₂ = s and small starts."""
    return abs(b) / (a1 + a2 + 2 * math.sqrt(a1 * a2 - b * b))


def _large_everywhere(a1: float, a2: float, b: float, s1: float, s2: float) -> bool:
    """Whether AᵀA(0) − S̃/2 is positive semi-definite."""
    first, second = a1 - s1 / 2, a2 - s2 / 2
    return first >= 0 and second >= 0 and first * second >= b * b


def _peak_line(measured: Measurements, size: float, name: str, about: str) -> Claim:
    """The claim that the line at the printed or the predicted time is where |b| is largest."""
    found = [one for one in _networks(measured.where(target="equal", variance=size)) if one.peak > 0]
    times = [(one.peak, getattr(one, name)) for one in found]
    near = [peak for peak, told in times if told is not None and abs(told / peak - 1) <= NEAR]
    return at_least(
        f"{name}-peak-{NAMES[size]}",
        f"equal diagonal, {NAMES[size]} starts: the time of the peak, {FORMULA[name]}, is within {NEAR:.0%} of the "
        f"moment at which |b| is largest: fraction of {len(found)} networks with a peak",
        len(near) / max(len(found), 1),
        0.95,
        about=about,
    )


def _peak_order(measured: Measurements, name: str, about: str) -> Claim:
    """The claim that trained networks come to the printed or the predicted time of the peak as their rate falls."""
    return order_claim(
        f"{name}-peak-order",
        "equal diagonal: trained at the rate η the moment of the largest |b| is O(η) from the time of the peak, "
        f"{FORMULA[name]}, on average over networks: the fitted order that is farthest from 1",
        [
            (row.values["rate"], row.values[f"{name}_gap"])
            for size in (SMALL, INTERMEDIATE)
            for row in measured.where(target="equal", variance=size)
        ],
        about=about,
    )


def figure(results: Sequence[Cell]) -> Figure:
    from numerics.lab.figures import new_figure

    drawing = new_figure(3, 4, width=2.5, height=2.0)
    panels = drawing.subplots(3, 4, width_ratios=[0.6, 1, 1, 1])
    found = {(cell.cell["target"], cell.cell["variance"]): cell for cell in results}
    targets = list(dict.fromkeys(target for target, _ in found))
    for line, target in zip(panels, targets, strict=True):
        _matrix(line[0], found[target, SMALL].curves["matrix"], TITLES[target])
        for axes, size in zip(line[1:], NAMES, strict=True):
            _curves(axes, found[target, size])
        line[1].set_ylabel(r"elements of $A^\top A$")
    for axes, size in zip(panels[0, 1:], NAMES, strict=True):
        axes.set_title(HEADS[size], fontsize=10)
    for axes in panels[-1, 1:]:
        axes.set_xlabel(r"time $t/\tau$")
    drawing.legend(handles=_legend(), loc="outside lower center", frameon=False, fontsize=9, ncols=6)
    return drawing


def _looks() -> dict[str, Any]:
    """How the three elements and the two lines at the peak are drawn."""
    from numerics.lab.figures import EXACT, NEGATIVE, POSITIVE, measured

    return {
        "$a_1$": measured(POSITIVE),
        "$a_2$": measured("#67a9cf"),
        "$b$": measured(NEGATIVE),
        "exact": EXACT,
        "predicted": {"color": "#1b7837", "linestyle": (0, (5, 2)), "linewidth": 1.4},
        "printed": {"color": "0.45", "linestyle": (0, (1, 1.2)), "linewidth": 1.4},
    }


def _legend() -> list[Line2D]:
    """One entry for each kind of line."""
    from matplotlib.lines import Line2D

    names = {"exact": "exact solution", "predicted": "predicted peak", "printed": "peak as printed"}
    return [Line2D([], [], label=names.get(name, name), **look) for name, look in _looks().items()]


def _matrix(axes: Axes, target: Any, title: str) -> None:
    """The task as a picture with its numbers."""
    import numpy as np

    from numerics.lab.figures import number

    axes.imshow(target, cmap="RdBu_r", vmin=-3, vmax=3)
    for (row, column), entry in np.ndenumerate(target):
        axes.text(column, row, number(entry), ha="center", va="center", fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])


def _curves(axes: Axes, cell: Cell) -> None:
    """One network: trained curves, the exact ones on them, and the lines at the peak of |b|, where there is one."""
    from numerics.lab.figures import style

    looks, t, size = _looks(), cell.curves["t"], cell.cell["variance"]
    for curve, name in zip(cell.curves["trained"][:, SHOWN], ("$a_1$", "$a_2$", "$b$"), strict=True):
        axes.plot(t, curve, **looks[name])
    for curve in cell.curves["exact"][:, SHOWN]:
        axes.plot(t, curve, **looks["exact"])
    for name in ("predicted", "printed"):
        moment = cell.values[f"{name}_time"][SHOWN]
        if moment is not None and moment > 0:
            axes.axvline(moment, **looks[name])
    style(axes)
    axes.set_xlim(0, min(UNTIL[size], t[-1]))


@study(
    "braun2022.fig-4d-f",
    title="How two modes decouple: three tasks, and starts of three sizes",
    confronts=(
        "prior_knowledge.modes_of_small_starts",
        "prior_knowledge.coupling_rises_and_falls",
        "prior_knowledge.time_of_peak",
        "prior_knowledge.coupling_vanishes",
    ),
)
def decoupling() -> Plan:
    absent = ("deviation", "printed_gap", "predicted_gap", "printed_time", "predicted_time", "learned_time")
    return Plan(scales=SCALES, cells=cells, run=run, figure=figure, claims=claims, dims=DIMS, absent=absent)
