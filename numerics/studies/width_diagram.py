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

from derivations.piecewise_linear.phase_exponent import movement_exponent
from numerics.claims import at_least, at_most, between, mean_and_stderr, mean_at_least, mean_at_most
from numerics.study import Cell, Plan, study

PAPER = {
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
ON_BOUNDARY, VANISHING, TENFOLD, HALF = 0.1, -0.25, 1.0, 0.5
BINS = 72
SIDES = ("large", "downstream", "boundary", "rich")
DIMS = {}


def cells(cfg):
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


def run(batch, cfg, device, resume):
    return [_run_cell(cell, cfg) for cell in batch]


def _run_cell(cell, cfg):
    X, y = _task(cell["seed"], cfg["n"])
    a, W = _gaussian_start(cell) if cell["part"] == "width" else _balanced_start(cell, cfg["h"])
    return Cell(cell, _measure(a, W, X, y, cfg), {})


def _task(seed, n):
    """Inputs X (n, 2) on the circle, one in the middle 60 % of each n-th of it, and labels y (n,), ‖y‖² = n."""
    import numpy as np

    generator = np.random.default_rng([seed, 0])
    angle = 2 * np.pi * (np.arange(n) + generator.uniform(0.2, 0.8, n)) / n
    y = generator.standard_normal(n)
    return np.stack([np.cos(angle), np.sin(angle)], -1), y * math.sqrt(n) / np.linalg.norm(y)


def _gaussian_start(cell):
    """a (h,) and W (h, 2) with β_a = h^-(γ+γ′)/2 and β_W = h^-(γ-γ′)/2."""
    import numpy as np

    h, gamma, gamma_prime = cell["h"], cell["gamma"], cell["gamma_prime"]
    generator = np.random.default_rng([cell["seed"], 1, h])
    a, W = generator.standard_normal(h), generator.standard_normal((h, 2))
    return a * h ** (-(gamma + gamma_prime) / 2), W * h ** (-(gamma - gamma_prime) / 2)


def _balanced_start(cell, h):
    """Unit neurons, each with its negative, at the scale τ and the balance δ."""
    import numpy as np

    from numerics.teacher_student import relative_scale

    generator = np.random.default_rng([cell["seed"], 2])
    W = generator.standard_normal((h // 2, 2))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    tau, alpha = cell["tau"], relative_scale(cell["tau"], cell["delta"])
    return tau * alpha * np.repeat([1.0, -1.0], h // 2), tau / alpha * np.concatenate([W, W])


def _measure(a0, W0, X, y, cfg):
    """Follow the flow from (a₀, W₀) until the data are fitted, and compare the end with the start."""
    import numpy as np

    from numerics.conserved import neuron_deltas
    from numerics.kernels import kernel_distance, two_layer_ntk

    a, W, movement, halfway, loss = _descend(a0, W0, X, y, cfg)
    kernels = [two_layer_ntk(*weights, X) for weights in ((a0, W0), halfway, (a, W))]
    deltas = neuron_deltas(a0, W0)
    norms = (a0 @ a0 + (W0 * W0).sum(), a @ a + (W * W).sum())
    values = {
        "relative_loss": loss,
        "movement": movement,
        "kernel_distance": kernel_distance(kernels[0], kernels[2]),
        "kernel_distance_halfway": kernel_distance(kernels[0], kernels[1]),
        "flipped": ((W0 @ X.T >= 0) != (W @ X.T >= 0)).mean(),
        "directions_after": _directions(a, W),
        "delta_mean": deltas.mean(),
        "delta_drift": np.abs(neuron_deltas(a, W) - deltas).sum() / max(norms),
    }
    return {name: float(f"{value:.5g}") for name, value in values.items()}


def _descend(a, W, X, y, cfg):
    """Heun's method for the flow of L = ½ Σᵢ (f(xᵢ) − yᵢ)², up to L/L(f = 0) ≤ ``fitted`` or the last step.

    A step is the fraction ``step`` of 1/(tr K + Σᵢ |rᵢ|‖xᵢ‖), which bounds the rates of the outputs and of balanced
    weights. Returns a (h,), W (h, 2), sup_t ‖W(t) − W(0)‖/‖W(0)‖, the weights when the loss had first halved, and the
    relative loss at the end.
    """
    import numpy as np

    V, columns = np.ascontiguousarray(W.T), X.T
    V0, movement, halfway, at_start = V, 0.0, None, None
    for place in range(cfg["most_steps"] + 1):
        speed_a, speed_V, residual, rate = _velocity(a, V, X, columns, y)
        loss = residual @ residual
        at_start = loss if at_start is None else at_start
        if halfway is None and loss <= at_start / 2:
            halfway = a, V.T
        fitted = loss <= cfg["fitted"] * (y @ y)
        last = fitted or place == cfg["most_steps"]
        if place % 10 == 0 or last:
            movement = max(movement, np.linalg.norm(V - V0) / np.linalg.norm(V0))
        if last:
            break
        step = cfg["step"] / rate
        next_a, next_V, *_ = _velocity(a + step * speed_a, V + step * speed_V, X, columns, y)
        a, V = a + step / 2 * (speed_a + next_a), V + step / 2 * (speed_V + next_V)
    return a, V.T, movement, halfway or (a, V.T), loss / (y @ y)


def _velocity(a, V, X, columns, y):
    """ȧ = −σ(Z)ᵀr and Ẇ = −a ∘ (Gᵀ(r ∘ X)), with V = Wᵀ (2, h), the residual r and a bound on the rates."""
    import numpy as np

    hidden = X @ V
    active, features = hidden >= 0, np.maximum(hidden, 0)
    residual = features @ a - y
    rate = np.vdot(features, features) + (active @ (a * a)).sum() + np.abs(residual).sum()
    return -(residual @ features), -a * (columns @ (active * residual[:, None])), residual, rate


def _directions(a, W):
    """1/Σ_b p_b² over equal bins of the circle, p_b the share of |a_k|‖w_k‖ in bin b: at most 72."""
    import numpy as np

    angle = np.arctan2(W[:, 1], W[:, 0])
    weight = np.abs(a) * np.linalg.norm(W, axis=1)
    share = np.histogram(angle, BINS, (-np.pi, np.pi), weights=weight / weight.sum())[0]
    return 1 / (share**2).sum()


def exponents(wide, name):
    """The slope of log ``name`` in log h, by least squares: {(γ, γ′): one exponent for each seed}."""
    series: dict = {}
    for row in wide:
        point = row.cell["gamma"], row.cell["gamma_prime"]
        values = series.setdefault(point, {}).setdefault(row.cell["seed"], [])
        values.append((math.log(row.cell["h"]), math.log(row.values[name])))
    return {point: [_slope(values) for values in seeds.values()] for point, seeds in series.items()}


def _slope(points):
    mean_x, mean_y = (sum(column) / len(points) for column in zip(*points, strict=True))
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return covariance / sum((x - mean_x) ** 2 for x, _ in points)


def side(point):
    """Where a point (γ, γ′) lies: "large" or "downstream" on the lazy side, "boundary" or "rich"."""
    gamma, gamma_prime = point
    if gamma < 1:
        return "large"
    if gamma_prime > gamma - 1:
        return "downstream"
    return "rich" if gamma > 1 and gamma_prime < gamma - 1 else "boundary"


def claims(measured):
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
            min(len(_points(dict.fromkeys(exponents(wide, "movement")), where)) for where in SIDES),
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


def _points(found, where):
    return {point: slopes for point, slopes in found.items() if side(point) == where}


def _not_below(found, threshold=0.0):
    """How many points have an exponent that is not below the threshold at 95 %."""
    return sum(not mean_at_most("", "", slopes, threshold).holds for slopes in found.values())


def _not_above(found, threshold=0.0):
    return sum(not mean_at_least("", "", slopes, threshold).holds for slopes in found.values())


def _side_claims(wide):
    movement, kernel = exponents(wide, "movement"), exponents(wide, "kernel_distance")
    found = [
        at_most(
            f"{name}-is-lazy-by-{quantity}",
            f"{words}, the {long} vanishes with the width: points of {len(_points(slopes, where))} whose exponent is "
            "not negative at 95 %",
            _not_below(_points(slopes, where)),
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
    rich, rich_kernel = _points(movement, "rich"), _points(kernel, "rich")
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
            mean_and_stderr(movement[1.0, 0.0])[0],
            -ON_BOUNDARY,
            ON_BOUNDARY,
            stderr=mean_and_stderr(movement[1.0, 0.0])[1],
            max_stderr=ON_BOUNDARY / 2,
        ),
        at_most(
            "the-boundary-is-a-range",
            f"at all {len(_points(movement, 'boundary'))} points with γ = max(1, 1 + γ′) the mean exponent is within "
            f"{ON_BOUNDARY} of zero: largest absolute value",
            max(abs(mean_and_stderr(slopes)[0]) for slopes in _points(movement, "boundary").values()),
            ON_BOUNDARY,
        ),
    ]


def _ratio_claims(wide):
    """Rich at larger scales if β_a/β_W is large enough: the boundary's slope, and whether it ends at γ = 1."""
    movement = exponents(wide, "movement")
    last = max(gamma for gamma, _ in movement)
    nearest = min(gamma for gamma, _ in movement if gamma > 1)
    ratios = sorted({gamma_prime for _, gamma_prime in movement})
    # The smallest relative scale that is rich far above γ = 1 and lazy close to it, if the grid has one.
    between_them = [
        ratio for ratio in ratios if side((last, ratio)) == "rich" and side((nearest, ratio)) == "downstream"
    ]
    larger = {(nearest, ratio): movement[nearest, ratio] for ratio in ratios if ratio < nearest - 1}
    large = {point: slopes for point, slopes in movement.items() if point[0] < 1 and point[1] < 0}
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
            f"at γ < 1 even β_a/β_W up to the power {-ratios[0]:g} of the width leaves networks lazy: exponent of the "
            "movement at the largest of these scales and ratios closest to the boundary, γ = "
            f"{max(point[0] for point in large):g}, γ′ = {ratios[0]:g}",
            large[max(point[0] for point in large), ratios[0]],
            0.0,
        ),
    ]


def _rapid_claims(wide):
    few = 2 * PAPER["n"]
    directions, early = {}, {}
    for row in wide.where(h=max(wide.coordinates("h"))):
        point = row.cell["gamma"], row.cell["gamma_prime"]
        directions.setdefault(point, []).append(row.values["directions_after"])
        if side(point) == "rich":
            share = row.values["kernel_distance_halfway"] / row.values["kernel_distance"]
            early.setdefault(row.cell["seed"], []).append(min(share, 1.0))
    rich = _points(directions, "rich")
    lazy = _points(directions, "large") | _points(directions, "downstream")
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
            [mean_and_stderr(shares)[0] for shares in early.values()],
            HALF,
        ),
    ]


def _portrait_claims(finite):
    taus, deltas = sorted(set(finite.coordinates("tau"))), sorted(set(finite.coordinates("delta")))
    small, large = taus[0], taus[-1]
    balanced = _distances(finite, small, 0.0)

    def below_balanced(tau, delta):
        """log₁₀ of how much smaller the kernel distance is than at the smallest τ and δ = 0, seed by seed."""
        return [
            math.log10(rich / distance)
            for rich, distance in zip(balanced, _distances(finite, tau, delta), strict=True)
        ]

    upstream = [delta for delta in deltas if delta > 0]
    return [
        at_most(
            "portrait-lazy-at-large-scale",
            f"at one width and τ = {large:g} the kernel distance is less than a tenth of that at τ = {small:g}, δ = 0, "
            f"whatever δ: values of δ, of {len(deltas)}, where it is not, at 95 %",
            _not_above({delta: below_balanced(large, delta) for delta in deltas}, TENFOLD),
            0,
        ),
        mean_at_least(
            "portrait-lazy-downstream",
            f"at τ = {small:g} the kernel distance at δ = {deltas[0]:g} is less than a tenth of that at δ = 0 when the "
            "data are fitted: decades",
            below_balanced(small, deltas[0]),
            TENFOLD,
        ),
        at_most(
            "portrait-rich-upstream",
            f"at τ = {small:g}, δ > 0 it is ten times as large as at τ = {large:g} and the same δ: values of δ where "
            "it is not, at 95 %",
            _not_above(
                {
                    delta: [
                        math.log10(first / second)
                        for first, second in zip(
                            _distances(finite, small, delta), _distances(finite, large, delta), strict=True
                        )
                    ]
                    for delta in upstream
                },
                TENFOLD,
            ),
            0,
        ),
    ]


def _distances(finite, tau, delta):
    return finite.where(tau=tau, delta=delta).values("kernel_distance")


def _own_claims(wide):
    """The exponents that were derived, activations that flip, and the balances of Gaussian weights."""
    errors = [
        abs(mean_and_stderr(slopes)[0] - movement_exponent(*point))
        for point, slopes in exponents(wide, "movement").items()
    ]
    flipped: dict = {}
    for row in wide.where(h=max(wide.coordinates("h"))):
        point = row.cell["gamma"], row.cell["gamma_prime"]
        flipped.setdefault(point, []).append(row.values["flipped"])
    means = {point: mean_and_stderr(values)[0] for point, values in flipped.items()}
    lazy = [mean for point, mean in means.items() if side(point) in ("large", "downstream")]
    scores = [_balance_score(row) ** 2 for row in wide]
    return [
        at_most(
            "exponents-are-as-derived",
            f"the movement has the exponents of the scaling argument: mean deviation over {len(errors)} points",
            mean_and_stderr(errors)[0],
            0.1,
            about="own",
        ),
        at_least(
            "more-activations-flip-where-rich",
            "at the largest width every rich point has more activations flipped, on average, than any lazy one: least "
            "rich minus largest lazy share",
            min(_points(means, "rich").values()) - max(lazy),
            0.0,
            about="own",
        ),
        between(
            "balances-are-as-derived",
            "δ_k = a_k² − ‖w_k‖² has the mean β_a² − 2β_W² and the variance 2β_a⁴ + 4β_W⁴: root mean square of the "
            "deviations of a network's mean, in standard errors, is one",
            math.sqrt(mean_and_stderr(scores)[0]),
            0.75,
            1.25,
            about="own",
        ),
    ]


def _balance_score(row):
    h, gamma, gamma_prime = (row.cell[name] for name in ("h", "gamma", "gamma_prime"))
    upper, lower = h ** -(gamma + gamma_prime), h ** -(gamma - gamma_prime)
    return (row.values["delta_mean"] - (upper - 2 * lower)) / math.sqrt((2 * upper**2 + 4 * lower**2) / h)


def figure(results):
    from numerics.plots import new_figure

    wide = [cell for cell in results if cell.cell["part"] == "width"]
    drawing = new_figure(1, 3, width=3.5, height=3.3)
    plane, scatter, portrait = drawing.subplots(1, 3)
    means = {point: mean_and_stderr(slopes) for point, slopes in exponents(wide, "movement").items()}
    _draw_plane(drawing, plane, means)
    _draw_scatter(scatter, means)
    _draw_portrait(drawing, portrait, [cell for cell in results if cell.cell["part"] == "balance"])
    return drawing


def _draw_plane(drawing, axes, means):
    """Measured exponents over the plane of scales, axes as in the portrait: scale grows upwards, ratio to the right."""
    from matplotlib.colors import TwoSlopeNorm

    from numerics.plots import style

    points = list(means)
    x, y = [-ratio for _, ratio in points], [-scale for scale, _ in points]
    low, high = min(x) - 0.35, max(x) + 0.35
    bottom, top = min(y) - 0.25, max(y) + 0.25
    corner = max(low, bottom + 1)
    axes.fill(
        [corner, 0, high, high, corner], [corner - 1, -1, -1, bottom, bottom], color="#f4e3dc", zorder=0
    )
    axes.plot([corner, 0, high], [corner - 1, -1, -1], color="black", linewidth=1.2, zorder=1)
    dots = axes.scatter(
        x,
        y,
        c=[means[point][0] for point in points],
        norm=TwoSlopeNorm(0, -2.5, 0.75),
        cmap="RdBu_r",
        s=150,
        edgecolors="0.3",
        linewidths=0.6,
        zorder=2,
    )
    drawing.colorbar(dots, ax=axes, ticks=[-2, -1, 0, 0.5], label="exponent of the movement of $W$", pad=0.02)
    axes.text(low + 0.08, top - 0.12, "lazy", fontsize=11, style="italic", va="center")
    axes.text(high - 0.08, bottom + 0.12, "rich", fontsize=11, style="italic", va="center", ha="right")
    axes.set_yticks(sorted(set(y)))
    for (gamma, gamma_prime), name in (((0.5, 0.0), "NTK"), ((1.0, 0.0), "mean field")):
        if (gamma, gamma_prime) in means:
            axes.annotate(name, (-gamma_prime, -gamma), (6, 7), textcoords="offset points", fontsize=8)
    axes.set(xlim=(low, high), ylim=(bottom, top))
    style(
        axes,
        xlabel=r"relative scale, $-\gamma' = \log_h(\beta_a/\beta_W)$",
        ylabel=r"overall scale, $-\gamma = \log_h(\beta_a\beta_W/\alpha)$",
        title="growing width",
    )


def _draw_scatter(axes, means):
    """Measured against derived exponents."""
    from numerics.plots import style

    hues = {"large": "#2166ac", "downstream": "#67a9cf", "boundary": "black", "rich": "#b2182b"}
    names = {"large": "lazy, large scale", "downstream": "lazy, downstream"}
    ends = [movement_exponent(*point) for point in means]
    axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="0.6", linewidth=0.8)
    for where, hue in hues.items():
        shown = [point for point in means if side(point) == where]
        axes.errorbar(
            [movement_exponent(*point) for point in shown],
            [means[point][0] for point in shown],
            yerr=[means[point][1] for point in shown],
            fmt="o",
            markersize=4,
            linewidth=1,
            color=hue,
            label=names.get(where, where),
        )
    axes.legend(frameon=False, fontsize=8)
    style(axes, xlabel="exponent derived", ylabel="exponent measured", title="movement of $W$ against width")


def _draw_portrait(drawing, axes, finite):
    """Mean kernel distance over (δ, τ) at one width."""
    import numpy as np

    from numerics.plots import style

    taus, deltas = (sorted({cell.cell[name] for cell in finite}) for name in ("tau", "delta"))
    distance = [
        [
            mean_and_stderr(
                [
                    cell.values["kernel_distance"]
                    for cell in finite
                    if (cell.cell["tau"], cell.cell["delta"]) == (tau, delta)
                ]
            )[0]
            for delta in deltas
        ]
        for tau in taus
    ]
    image = axes.imshow(np.array(distance), origin="lower", aspect="auto", cmap="magma", vmin=0)
    axes.set_xticks(range(len(deltas)), [f"{delta:g}".replace("-", "−") for delta in deltas])
    axes.set_yticks(range(len(taus)), [f"{tau:g}" for tau in taus])
    drawing.colorbar(image, ax=axes, label="kernel distance", pad=0.02)
    style(axes, xlabel=r"balance $\delta$", ylabel=r"scale $\tau$", title="one width")


@study(
    "kunin2024.infinite-width-phase-diagram",
    title="Lazy and rich ReLU networks at growing width, next to the portrait over scale and balance",
)
def width_diagram():
    return Plan(
        scales=SCALES,
        cells=cells,
        run=run,
        figure=figure,
        claims=claims,
        dims=DIMS,
    )
