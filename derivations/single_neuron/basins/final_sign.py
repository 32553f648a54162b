r"""The two basins of attraction: the sign of a at the end, for every balance and all rates (kunin2024, App. A.2.5).

The growing mode of the exact solution has the amplitude α = (λ_+ a_0 + η_a ω_0)/(2R). It wins, and

    a(t) → sgn(α) √(λ_+/η_w),

so that the sign of F = λ_+ a + η_a ω at the start names the branch of minima that is reached. Along the flow
F' = (λ_+ - η_w a²) F: the sign of F is kept. Since

    (λ_+ a)² - (η_a ω)² = η_a²‖β_*‖²‖w_⊥‖² + δ (λ_+ a² + η_a‖β_*‖²),

it is the sign of a for δ > 0, and for δ = 0 unless w points against sgn(a) β_* exactly; these starts, a set of
measure zero that the paper sets aside, run into the saddle. For δ < 0 the sign of F may differ from that of a,
which then changes.

The paper's formulas are those of η_a = η_w = 1. With other rates of product one its hyperplane does not separate.
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.coordinates.planar import (
    MODES,
    UNIT,
    by_modes,
    gap,
    low,
    modes,
    product_one,
    starts,
)
from derivations.single_neuron.solution.unified import alpha, every_start, without_overflow
from derivations.single_neuron.symbols import a, a0, delta, eta_a, eta_w, omega, omega0, s, share, t
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality, Limit

plus, minus, R = modes
F0 = plus * a0 + eta_a * omega0
printed_F0 = omega0 + a0 / 2 * (delta + sp.sqrt(delta**2 + 4 * s**2))

_positive = {eta_a: 1, eta_w: 1, s: 1}
_along, _across, _lift = sp.symbols("along across lift", real=True)
growing_modes = Domain(
    (t, a0, share, eta_a, eta_w),
    cells=tuple(
        Cell(name, {eta_a: 1, eta_w: 1, low: 1, gap: 1}, by_modes(sign), "the share stands for itself")
        for name, sign in (("δ > 0", 1), ("δ = 0", 0), ("δ < 0", -1))
    ),
    hypotheses=(MODES,),
)
off_the_surface = Domain(
    (a0, delta, s, eta_a, eta_w),
    cells=tuple(
        Cell(name, {**_positive, _lift: side}, {omega0: (_lift - plus * a0) / eta_a}, "lift is F")
        for name, side in (("F > 0", 1), ("F < 0", -1))
    ),
    hypotheses=(stated("App. A.2.5, S⁺ and S⁻", "the start is not on the separating surface, F ≠ 0", _lift),),
)
weights_upstream = Domain(
    (delta, s, eta_a, eta_w),
    cells=(
        Cell(
            "weights with δ > 0",
            {delta: 1, **_positive},
            {omega: s * _along, a: sp.sqrt((delta + eta_a * (_along**2 + _across**2)) / eta_w)},
            "w has the parts along and across β_*, and a² follows from δ",
        ),
    ),
    hypotheses=(
        stated("App. A.2.5, caption of the figure of the basins", "δ > 0", delta > 0),
        meaning("ω and a > 0 by the parts of w along and across β_*; a < 0 is the mirror image", omega, a),
    ),
)
every_weight = Domain((a, omega, delta, s, eta_a, eta_w), cells=(Cell("any weights", _positive),))


@result(domain=every_weight, ledger=("kunin2024.basin-empty-upstream",))
def surface_empty_upstream() -> Conjunction:
    """No weights with δ > 0 lie on the surface λ_+ a + η_a ω = 0 that separates the basins, for all rates.

    This is said of the surface that separates. The printed hyperplane, which separates only for η_a = η_w = 1, does
    meet weights with δ > 0 for other rates of product one: a = 1, w = -3/2, β_* = 21/20 for η_a = 1/2, η_w = 2.
    """
    across = (eta_w * a**2 - delta) / eta_a - omega**2 / s**2
    squares = (plus * a) ** 2 - (eta_a * omega) ** 2
    return Conjunction(
        Identity(squares, eta_a**2 * s**2 * across + delta * (plus * a**2 + eta_a * s**2)),
        Inequality(squares, ">", on=weights_upstream),
    )


@result(
    ledger=("kunin2024.basin-footnote", "kunin2024.basin-splus"),
    domain=every_start,
    uses=("single_neuron.solution_for_every_balance", "single_neuron.surface_empty_upstream"),
    arguments=("delta", "s", "a0", "omega0", "eta_a", "eta_w"),
)
def final_branch() -> Existence:
    """The branch of minima that is reached: sgn(λ_+ a_0 + η_a ω_0), for every balance and all rates.

    P e^{-λ_+ t} = α + (a_0 - α) e^{-2Rt} tends to α and E² e^{-2λ_+ t} to η_w α²/λ_+, so that a tends to
    sgn(α) √(λ_+/η_w), ω likewise to -sgn(α) λ_- √(λ_+/η_w)/η_a, and their product to ‖β_*‖². For δ > 0 the sign is
    that of a_0, and for δ = 0 too unless φ_0 = -sgn(a_0).
    """
    square = without_overflow()[2].xreplace({alpha: share})
    return Existence.of(
        sp.sign(F0),
        lambda branch: (
            Identity(branch * sp.Abs(F0), F0, on=off_the_surface),
            Identity(F0, 2 * R * alpha),
            Limit(square, t, sp.oo, eta_w * share**2 / plus, on=growing_modes),
            Identity(-plus * minus / (eta_a * eta_w), s**2),
        ),
        r"The branch that is reached has the sign of $\lambda_+ a_0 + \eta_a\, w_0^\top\beta_*$ where this is not "
        r"zero; for $\delta > 0$ it is that of $a_0$",
        formula=r"\operatorname{sgn} a(\infty) = "
        r"\operatorname{sgn}\left(\lambda_+ a_0 + \eta_a\, w_0^\top\beta_*\right)",
    )


def printed_basin() -> Existence:
    """The two rows of the printed basin: for δ ≥ 0 |η_a ω_0| < λ_+|a_0|, for δ < 0 the hyperplane."""
    return Existence(
        r"The final sign of $a$ is that of $a_0$ for $\delta \ge 0$, and that of the printed functional for "
        r"$\delta < 0$",
        because=(
            surface_empty_upstream.statement.because[1],  # type: ignore[attr-defined]  # a conjunction
            Inequality(printed_F0 * alpha, ">"),
        ),
    )


downstream_starts = starts(product_one, conditions=(delta < 0, sp.Ne(printed_F0, 0)))
unit_downstream = Domain(
    (a0, delta, s, eta_a, eta_w),
    cells=tuple(
        Cell(
            f"η_a = η_w = 1, δ < 0, {'above' if side > 0 else 'below'} the hyperplane",
            {delta: -1, s: 1, _lift: side},
            {eta_a: 1, eta_w: 1, omega0: _lift - a0 / 2 * (delta + sp.sqrt(delta**2 + 4 * s**2))},
            "lift is the printed functional",
        )
        for side in (1, -1)
    ),
)


@printed(
    "kunin2024.basin-footnote",
    quote=r"$\mathrm{sgn}(w_0^\top\beta_*+\frac{a_0}2(\delta+\sqrt{\delta^2+4\|\beta_*\|^2}))$ for $\delta<0$",
    domain=downstream_starts,
    hypothesis=UNIT,
    under=unit_downstream,
    hypotheses=(stated("App. A.2.5", "δ < 0, off the printed surface", delta < 0, omega0),),
)
def printed_basin_footnote() -> Existence:
    """As printed in the footnote, without the rates."""
    return printed_basin()


@printed(
    "kunin2024.basin-splus",
    quote=r"$w_0^\top\beta_*>-\frac{a_0}2(\delta+\sqrt{\delta^2+4\|\beta_*\|^2})$ if $\delta<0\}$",
    domain=downstream_starts,
    hypothesis=UNIT,
    under=unit_downstream,
    hypotheses=(stated("App. A.2.5", "δ < 0, off the printed surface", delta < 0, omega0),),
)
def printed_basin_set() -> Existence:
    """As printed in the appendix, without the rates."""
    return printed_basin()
