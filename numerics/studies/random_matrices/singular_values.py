"""The singular values of the Jacobian against depth, for several ranks (Nait Saada and Tanner 2023, figures 4 and 5).

Low-rank Gaussian networks with erf or tanh stand on the edge of chaos with q* = 1/2 and width 1000; the input has that
length. The published values of γ and of depth are not stated; those here are ours. Of each network the r singular
values that need not be zero are found at every depth, and from them

    variance    of s² over all N values, zeros included: what the theory is about
    largest     the largest s
    decades     the distance of the fifth and the 95th percentile of log10 s, without zeros: what the log axis shows

"Spreads with depth" is claimed of each of them from each depth to the next. "More strongly for smaller γ" is claimed of
the variance and of the largest value, in pairs by seed. It is not what the log axis shows: the bulk without its
zeros is that of a product of r × r matrices, and does not become wider as γ falls. This is a statement of ours.
"""

from __future__ import annotations

import math
from itertools import pairwise

from numerics.lab.claims import at_most, between, differences, mean_and_stderr, mean_at_least
from numerics.lab.study import Cell, Plan, study

Q_STAR = 0.5
FIGURE = {
    "width": 1000,
    "gammas": [0.1, 0.25, 0.5],
    "depths": [1, 2, 4, 8, 16],
    "shown": 60,
    "seeds": [0, 1, 2, 3, 4],
}
SCALES = {
    "smoke": {
        **FIGURE,
        "width": 200,
        "gammas": [0.1, 0.25, 0.5],
        "depths": [1, 4, 16],
        "seeds": [0, 1, 2, 3],
    },
    "laptop": {**FIGURE, "width": 500},
    "paper": FIGURE,
}
DIMS = {"values": ("depth", "rank")}
SPREADS = {
    "largest": "the largest singular value",
    "decades": "the distance of the 5th and 95th percentile of log10 s",
}


def cells(phi):
    return lambda cfg: [
        {"phi": phi, "gamma": gamma, "seed": seed} for gamma in cfg["gammas"] for seed in cfg["seeds"]
    ]


def run(batch, cfg, device, resume):
    return [_network(cell, cfg) for cell in batch]


def _network(cell, cfg):
    """Singular values at each depth of one network."""
    import numpy as np
    import torch

    from derivations.random_matrices.evaluators.jacobian_moments import jacobian_variance
    from derivations.signal_propagation.evaluators.activations import activation
    from derivations.signal_propagation.evaluators.length_and_correlation import from_fixed_point
    from numerics.networks.random_layers import Setting, inputs, jacobians, layers

    gamma, N, phi = cell["gamma"], cfg["width"], activation(cell["phi"])
    setting = Setting(N, round(gamma * N), *(float(x) for x in from_fixed_point(Q_STAR, gamma, phi)))
    generator = torch.Generator().manual_seed(cell["seed"])
    start = inputs(N, Q_STAR, generator)[..., 0]
    found = {"first": [], "variance": [], "largest": [], "decades": []}
    shown = []
    for depth, (_, jacobian) in enumerate(
        jacobians(phi, start, layers(setting, max(cfg["depths"]), generator)), 1
    ):
        if depth not in cfg["depths"]:
            continue
        values = jacobian.singular_values()
        m1, m2 = ((values**k).sum() / N for k in (2, 4))
        low, high = np.quantile(np.log10(values), [0.05, 0.95])
        found["first"].append(float(m1))
        found["variance"].append(float(m2 / m1**2 - 1))
        found["largest"].append(float(values[0] / math.sqrt(m1)))
        found["decades"].append(float(high - low))
        shown.append(np.quantile(values, np.linspace(0, 1, cfg["shown"])))
    limit = [float(jacobian_variance(L, gamma, "gaussian", phi, Q_STAR)) for L in cfg["depths"]]
    return Cell(cell, {"depth": list(cfg["depths"]), **found, "limit": limit}, {"values": np.array(shown)})


def claims(measured):
    """What the figures show: a spread that grows with depth, and more so at smaller γ."""
    gammas, count = sorted(measured.distinct("gamma")), len(measured[0].values["depth"])
    found = []
    for name, words in {"variance": "the relative variance of s²", **SPREADS}.items():
        steps = [
            differences(_at(measured.where(gamma=gamma), name, j), _at(measured.where(gamma=gamma), name, i))
            for gamma in gammas
            for i, j in pairwise(range(count))
        ]
        found.append(
            at_most(
                f"{name}-grows-with-depth",
                f"{words} grows from each depth to the next at every γ: steps of {len(steps)} where it does "
                f"not, at 95 %",
                _failures(steps),
                0,
            )
        )
    for name, words in (("variance", "the relative variance of s²"), ("largest", SPREADS["largest"])):
        steps = [
            differences(_at(measured.where(gamma=low), name, k), _at(measured.where(gamma=high), name, k))
            for low, high in [(gammas[0], gammas[-1])]
            for k in range(count)
        ]
        found.append(
            at_most(
                f"{name}-grows-as-rank-falls",
                f"{words} is larger at γ = {gammas[0]} than at γ = {gammas[-1]}, at every depth: depths of "
                f"{len(steps)} where "
                "it is not, at 95 %",
                _failures(steps),
                0,
            )
        )
    return [*found, *_own_claims(measured, gammas, count)]


def _own_claims(measured, gammas, count):
    """The formula, the mean, and what the log axis shows."""
    ratios, errors = [], []
    for gamma in gammas:
        here = measured.where(gamma=gamma)
        for k in range(count):
            average, stderr = mean_and_stderr(_at(here, "variance", k))
            ratios.append(average / here[0].values["limit"][k])
            errors.append(stderr / here[0].values["limit"][k])
    ends = [measured.where(gamma=gamma) for gamma in (gammas[0], gammas[-1])]
    wider, stderr = mean_and_stderr(differences(_at(ends[0], "decades", -1), _at(ends[1], "decades", -1)))
    width, _ = mean_and_stderr(_at(ends[1], "decades", -1))
    return [
        between(
            "variance-is-as-derived",
            f"the relative variance of s² is L(μ_2/μ_1² - 1 + 1/γ), a mean over the {len(ratios)} points: ratio",
            *mean_and_stderr(ratios)[:1],
            0.9,
            1.1,
            stderr=math.sqrt(sum(error**2 for error in errors)) / len(errors),
            max_stderr=0.05,
            about="own",
        ),
        between(
            "the-bulk-is-no-wider-at-low-rank",
            f"from γ = {gammas[-1]} down to γ = {gammas[0]} the distance of the percentiles of log10 s at the largest "
            "depth changes by less than a fifth: relative change",
            wider / width,
            -0.2,
            0.2,
            stderr=stderr / width,
            max_stderr=0.1,
            about="own",
        ),
    ]


def _at(rows, name, place):
    return [row.values[name][place] for row in rows]


def _failures(samples):
    return sum(not mean_at_least("", "", each, 0.0).holds for each in samples)


def figure(results):
    """A panel for each γ: all singular values but the zeros against depth, and the root of mean and spread."""
    import numpy as np

    from numerics.lab.figures import EXACT, new_figure, style

    gammas = sorted({cell.cell["gamma"] for cell in results})
    drawing = new_figure(1, len(gammas), width=2.3, height=2.9)
    panels = drawing.subplots(1, len(gammas), sharey=True, squeeze=False)[0]
    for axes, gamma in zip(panels, gammas, strict=True):
        cell = next(cell for cell in results if cell.cell["gamma"] == gamma)
        depths = cell.values["depth"]
        for place, depth in enumerate(depths):
            values = cell.curves["values"][place]
            axes.scatter(np.full(len(values), depth), values, s=4, color="#1b6ca8", alpha=0.5, linewidths=0)
        spread = np.sqrt(1 + np.sqrt(np.array(cell.values["limit"])))
        axes.plot(depths, spread, color="#b2182b", linewidth=1.2)
        axes.plot(depths, np.ones(len(depths)), **EXACT)
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(depths, [str(depth) for depth in depths])
        axes.minorticks_off()
        style(axes, xlabel="depth $L$", title=rf"{cell.cell['phi']}, $\gamma = {gamma:g}$")
    panels[0].set_ylabel("singular values of $J$")
    return drawing


@study(
    "naitsaada2023.fig4-singular-values-erf",
    title="Singular values of the Jacobian of low-rank erf networks against depth",
    confronts=("random_matrices.gaussian_variance", "random_matrices.jacobian_product"),
)
def erf():
    return Plan(SCALES, cells("erf"), run, figure, claims, DIMS)


@study(
    "naitsaada2023.fig5-singular-values-tanh",
    title="Singular values of the Jacobian of low-rank tanh networks against depth",
    confronts=("random_matrices.gaussian_variance", "random_matrices.jacobian_product"),
)
def tanh():
    return Plan(SCALES, cells("tanh"), run, figure, claims, DIMS)
