r"""Why the first layer of a wide ReLU network stays or moves: the boundary γ = max(1, 1 + γ') from scale and balance.

The network is f(x) = (1/α) Σ_k a_k σ(w_kᵀx), a_k ~ N(0, β_a²), w_k ~ N(0, β_W² I), with h neurons, and

    β_aβ_W/α = h^-γ,    κ' = β_a/β_W = h^-γ',    Σ = hβ_aβ_W/α = h^(1-γ),    Δ = Σ_k E δ_k/α = Σ (κ' - d/κ').

*Where it must move.* Read-outs and inputs obey ‖a‖² - ‖W‖² = αΔ, and |f(x)| ≤ ‖a‖‖W‖‖x‖/α. A label of size q at an
input of norm one therefore demands

    ‖W‖²/α ≥ (√(Δ² + 4q²) - Δ)/2 ≥ q²/(q + max(Δ, 0)),        at the start  E‖W‖²/α = dΣ/κ'.

The quotient is at least κ'q²/(dΣ(q + Σκ')), and grows without bound if Σ → 0 and Σ/κ' → 0: if γ > 1 and γ' < γ - 1.

*How far it moves.* For every x, a neuron is active at one of x and -x. So the kernel has the mean h(β_a² + β_W²)/(2α²)
at unit inputs, and while the labels, of order one, are fitted at the first velocities, in the time that is its inverse,

    a_k moves by 2/(Σ(1 + κ'²)) of its size, and w_k by 2κ'²/(Σ(1 + κ'²)) of its own.

Where a_k grows q times, the balance lets ‖w_k‖² grow by the share κ'²(q² - 1). Both movements of w_k vanish, as powers
of the width, if γ < 1, or if γ > 1 and γ' > γ - 1; if γ > 1 and γ' < γ - 1, at least one does not. In the
language of one width, lazy is Σ → ∞ or Δ → -∞, which is the portrait over τ² and δ.

*What is not lazy.* A small scale τ at a fixed δ < 0 is not enough. From a vanishing scale ‖W‖²/α starts at |Δ|,
and a label q demands that it grows by the share (√(1 + 4q²/Δ²) - 1)/2, which knows nothing of τ. So the portrait at its
published size, where the kernel distance at τ = 0.1 and δ = -1 is 0.276 after the last step, is late but rich, and the
lazy networks of the paper's comparison have Δ → -∞ (kunin2024, Sec. 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.infinite_width.random_balances import any_scales, inputs, mean, readout
from derivations.piecewise_linear.symbols import (
    a,
    alpha,
    beta_a,
    beta_w,
    demand,
    dimension,
    first,
    imbalance,
    power,
    power_ratio,
    ratio,
    t,
    total,
    u,
    w,
    width,
    xi,
)
from symdyn.calculus.gram import Flow, inner, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conservation, Existence, Identity, Inequality, Limit

overall, relative = width * beta_a * beta_w / alpha, beta_a / beta_w
"""Σ and κ' in the parameters of the initialisation."""
square_a, square_w = (readout.T @ readout).scalar(), (inputs.T @ inputs).scalar()
initialised = Domain(
    (alpha, beta_a, beta_w, dimension, width),
    (),
    (Cell("all", {alpha: 1, beta_a: 1, beta_w: 1, dimension: 1, width: 1}),),
    sampler=any_scales.sampler,
    words="any width and standard deviations",
    hypotheses=(stated("Sec. 5", "a_k ~ N(0, β_a²) and w_k ~ N(0, β_W² I_d)", dimension),),
)
at_equal_rates = Domain((a, alpha), (w, xi), conditions=(sp.Ne(alpha, 0),))
scaled_equally = Flow({a: -inner(w, xi) / alpha, w: -a / alpha * xi})

# With |Δ|/q = 1 + u - 1/(1 + u), which takes every positive value, the root is rational.
downstream = Cell("Δ < 0", {demand: 1, u: 1}, {imbalance: -demand * (1 + u - 1 / (1 + u))}, "every Δ < 0")
balanced = Cell("Δ = 0", {demand: 1}, {imbalance: sp.S.Zero})
upstream = Cell("Δ > 0", {demand: 1, u: 1}, {imbalance: demand * (1 + u - 1 / (1 + u))}, "every Δ > 0")
labels = Domain((demand, imbalance), (), (downstream, balanced, upstream), words="a label q > 0")
demanded = (sp.sqrt(imbalance**2 + 4 * demand**2) - imbalance) / 2
"""The least ‖W‖²/α of a network with the balance Δ that fits a label q."""

scales = Domain(
    (total, ratio, demand, dimension),
    (),
    (Cell("all", {total: 1, ratio: 1, demand: 1, dimension: 1}),),
    words="any scale Σ > 0 and ratio κ' > 0",
)
start_balance, start_norm = total * (ratio - dimension / ratio), dimension * total / ratio


@result(
    ledger=("kunin2024.infinite-width-phase-diagram",),
    domain=labels,
    uses=("piecewise_linear.balances_at_random",),
)
def movement_by_fitting() -> Existence:
    """On the rich side of the boundary no network fits a label without its first layer growing without bound.

    Its norm is compared with that at the start, for balances and norms at their means. With ν for ‖W‖²/α, a label
    demands ν(ν + Δ) ≥ q², both factors being squared norms, so that ν is not below the root.
    """
    trial = Domain((demand, imbalance, first), (), labels.cells)
    growth = ratio * demand**2 / (dimension * total * (demand + total * ratio))
    return Existence(
        r"a network that fits a label $q$ at an input of norm one has"
        r" $\|W\|^2/\alpha\ge q^2/(q+\max(\Delta,0))$, which is at least"
        r" $\kappa'q^2/(d\Sigma(q+\Sigma\kappa'))$ times what it was at the start",
        (
            Identity(
                width * mean(square_a - square_w) / alpha,
                overall * (relative - dimension / relative),
                name=r"\Delta",
                on=initialised,
            ),
            Identity(
                width * mean(square_w) / alpha,
                dimension * overall / relative,
                name=r"E\,\|W(0)\|^2/\alpha",
                on=initialised,
            ),
            Identity(demanded * (demanded + imbalance), demand**2),
            Identity(
                first * (first + imbalance) - demand**2,
                (first - demanded) * (first + imbalance + demanded),
                on=trial,
            ),
            Inequality(demanded, ">", on=labels),
            Inequality(demanded, ">=", demand, on=labels.with_cells(downstream, balanced)),
            Inequality(demanded, ">", demand**2 / (demand + imbalance), on=labels.with_cells(upstream)),
            Inequality(start_balance, "<", total * ratio, on=scales),
            Identity(demand**2 / (demand + total * ratio) / start_norm, growth, on=scales),
        ),
        formula=r"\frac{\|W(t)\|^2}{\|W(0)\|^2} \ge \frac{\kappa' q^2}{d\, \Sigma\, (q + \Sigma \kappa')}",
    )


fixed_balance = Cell("Δ < 0 fixed", {demand: 1, total: 1, u: 1}, {imbalance: -u}, "τ → 0 at a fixed δ < 0")
growing_balance = Cell(
    "Δ → -∞", {demand: 1, total: 1, u: 1}, {imbalance: -u / total}, "|δ| grows as the scale falls"
)
small_scale = Domain(
    (demand, imbalance, total),
    (),
    (fixed_balance, growing_balance),
    words="scale Σ → 0, Δ < 0, a label q > 0",
)


@printed(
    "kunin2024.infinite-width-phase-diagram",
    quote="lazy at large scale or downstream small scale",
    domain=small_scale,
    hypothesis="|δ| is large against the labels, Δ → -∞, as it is where the width grows at γ' > γ - 1: at a fixed δ < 0"
    " and a small scale the first layer has to grow by a fixed share, and learning is rich, if late",
    under=small_scale.with_cells(growing_balance),
)
def printed_lazy_downstream() -> Limit:
    """As printed: downstream, as the scale vanishes, ‖W‖²/α need not grow beyond |Δ|, where it starts."""
    return Limit((demanded + imbalance) / -imbalance, total, sp.S.Zero, sp.S.Zero)


def part(name: str, power_at: sp.Expr, power_ratio_at: sp.Expr) -> Domain:
    """A part of the phase diagram in two positive numbers."""
    cell = Cell(name, {t: 1, u: 1}, {power: power_at, power_ratio: power_ratio_at})
    return Domain((power, power_ratio), (), (cell,), words="a part of the phase diagram")


large_below = part("γ < 1, γ' > 0", 1 - u, t)
large_above = part("γ < 1, γ' < 0", 1 - u, -t)
small_lazy = part("γ > 1, γ' > γ - 1", 1 + u, u + t)
small_rich_below = part("γ > 1, 0 < γ' < γ - 1", 1 + u + t, t)
small_rich_above = part("γ > 1, γ' < 0", 1 + u, -t)
smaller = scales.with_cells(Cell("κ' < 1", {total: 1, ratio: 1, t: 1}, {ratio: 1 / (1 + t)}))
larger = scales.with_cells(Cell("κ' > 1", {total: 1, ratio: 1, t: 1}, {ratio: 1 + t}))


@result(
    ledger=("kunin2024.infinite-width-phase-diagram",),
    domain=scales,
    uses=("piecewise_linear.balances_at_random", "piecewise_linear.tangent_kernel"),
)
def phase_boundary() -> Existence:
    """Lazy if γ < 1 or γ' > γ - 1: where neither the kernel's time nor the growth of the read-outs moves the inputs.

    The scaling argument: what moves at the first velocities in the time of the kernel, and what the balance adds. The
    first bounds say that the movement of w_k is κ'²/Σ for κ' < 1 and 1/Σ for κ' > 1, up to a factor of two; then come
    its powers of the width, γ - 1 - 2γ' and γ - 1, and those of what the balance adds, 2(γ - 1 - γ') and
    2(γ - 1 + γ'). On the lazy side all are negative, on the rich side one is positive.
    """
    kernel = width * (beta_a**2 + beta_w**2) / (2 * alpha**2)
    moved = 2 * ratio**2 / (total * (1 + ratio**2))
    of_readouts = 2 / (total * (1 + ratio**2))
    in_scales = {total: overall, ratio: relative}
    linear, induced = power - 1 - 2 * power_ratio, power - 1 - power_ratio
    grown = beta_w**2 + beta_a**2 * (demand**2 - 1)
    return Existence(
        r"with powers $h^{-\gamma_\kappa}$, $h^{-\gamma_{\kappa'}}$ of the width for the overall and the relative"
        r" scale, the movements of $w_k$ vanish if $\gamma_\kappa<1$ or $\gamma_{\kappa'}>\gamma_\kappa-1$, and not"
        r" if $\gamma_\kappa>1$ and $\gamma_{\kappa'}<\gamma_\kappa-1$",
        (
            Identity(
                width * mean(square_w + dimension * square_a) / (2 * dimension * alpha**2),
                kernel,
                name=r"E\,K",
                on=initialised,
            ),
            Identity(beta_a / (alpha * beta_w) / kernel, moved.xreplace(in_scales), on=initialised),
            Identity(beta_w / (alpha * beta_a) / kernel, of_readouts.xreplace(in_scales), on=initialised),
            Conservation(a**2 - norm2(w), under=scaled_equally, on=at_equal_rates),
            Identity(
                grown / beta_w**2,
                1 + relative**2 * (demand**2 - 1),
                on=Domain((*initialised.scalars, demand), (), initialised.cells),
            ),
            Inequality(moved, ">", ratio**2 / total, on=smaller),
            Inequality(moved, "<", 2 * ratio**2 / total, on=smaller),
            Inequality(moved, ">", 1 / total, on=larger),
            Inequality(moved, "<", 2 / total, on=larger),
            *(Inequality(linear, "<", on=where) for where in (large_below, small_lazy)),
            *(Inequality(induced, "<", on=where) for where in (large_below, small_lazy)),
            Inequality(power - 1, "<", on=large_above),
            Inequality(power - 1 + power_ratio, "<", on=large_above),
            Inequality(induced, ">", on=small_rich_below),
            Inequality(power - 1, ">", on=small_rich_above),
        ),
        formula=r"\gamma_\kappa = \max(1, 1 + \gamma_{\kappa'})",
    )
