r"""The coupling of two modes: when it grows, and when it is largest.

By the equation of b the coupling grows, in absolute value, as long as a₁(t) + a₂(t) < (s₁ + s₂)/2:

    τ d/dt ln|b| = s₁ + s₂ - 2(a₁ + a₂).

For s₁ = s₂ = s, with x = e^{-2st/τ} and n the denominator of the closed forms,

    a₁(t) + a₂(t) - s = s(Δ - x²(Δ + s(s - a₁ - a₂)))/n.

This changes its sign at most once, and does so if and only if a₁ + a₂ < s, at

    t_peak = τ/(4s) ln(1 + s(s - a₁ - a₂)/Δ).

At the peak the two connections sum to s exactly. The formula in print lacks the 1: it is the limit of small starts
(braun2022, Sec. 5).
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from derivations.prior_knowledge.decoupling.two_modes import (
    denominator,
    determinant,
    velocity,
    within_first,
    within_second,
)
from derivations.prior_knowledge.quantities import excess as logarithm
from derivations.prior_knowledge.quantities import moment, share
from derivations.prior_knowledge.symbols import (
    a1,
    a2,
    b,
    g1,
    g2,
    g12,
    r1,
    r2,
    s,
    s1,
    s2,
    size,
    tau,
    u,
    v,
    y,
    z,
)
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality, Limit, Statement, typeset

ALIKE = {s1: s, s2: s}
total = a1 + a2
offset = determinant + s * (s - total)
"""Δ + s(s - a₁ - a₂) = (s - λ₁)(s - λ₂), by the eigenvalues of A(0)ᵀA(0)."""

peak_time = tau / (4 * s) * sp.log(1 + s * (s - total) / determinant)
apart = share(a1, a2, b)
stable_peak_time = moment(tau, s, logarithm(a1, a2, s, s - total, apart))


def alike(expression: Callable[..., sp.Expr], x: sp.Expr) -> sp.Expr:
    """A closed form for s₁ = s₂ = s, x for e^{-2st/τ}."""
    return expression(x, x).xreplace(ALIKE)


excess = s1 + s2 - 2 * (within_first() + within_second())
"""τ d/dt ln|b|, with y and z for e₁² and e₂²."""

ABOVE = {a2: (b**2 + u) / a1}
small_cell = Cell(
    "a₁ + a₂ < s",
    {a1: 1, u: 1, v: 1, tau: 1, r1: 1},
    {**ABOVE, s: a1 + (b**2 + u) / a1 + v, y: 1 / (1 + r1)},
    "u is the determinant, v = s - a₁ - a₂, y = 1/(1 + r₁)",
)
below = Domain((a1, b, tau), cells=(small_cell,), words="s₁ = s₂ = s, A(0)ᵀA(0) definite, a₁ + a₂ < s")
running = Domain(
    (a1, b, tau),
    cells=(
        Cell(
            "t > 0",
            {a1: 1, u: 1, v: 1, tau: 1, r1: 1},
            {**ABOVE, s: a1 + (b**2 + u) / a1 + v, y: 1 / (1 + r1)},
            "x = 1/(1 + r₁)",
        ),
    ),
    words="s₁ = s₂ = s, A(0)ᵀA(0) definite, a₁ + a₂ < s",
)
above = Domain(
    (b, s, tau),
    cells=(
        Cell(
            "a₁ + a₂ ≥ s",
            {s: 1, u: 1, a1: 1, r1: 1},
            {**ABOVE, s: (a1 + (b**2 + u) / a1) / (1 + v**2), y: 1 / (1 + r1)},
            "s = (a₁ + a₂)/(1 + v²)",
        ),
    ),
    words="s₁ = s₂ = s, a₁ + a₂ ≥ s",
)
sum_at = Identity(
    alike(within_first, y) + alike(within_second, y) - s,
    s * (determinant - y**2 * offset) / alike(denominator, y),
    on=below,
)
growth = Identity(
    velocity[g12].xreplace(ALIKE),
    2 * g12 * (s - g1 - g2) / tau,
    on=Domain((g1, g2, g12, s, tau), cells=(Cell("τ > 0", {tau: 1}),)),
    name=r"\dot b(t)",
)


@result(
    ledger=("braun2022.off-diagonal-non-monotonic",),
    uses=("prior_knowledge.explicit_solution", "prior_knowledge.coupling_vanishes"),
    hypotheses=(
        meaning("the starts from which b(t) is not monotonic: b ≠ 0 and v = s₁ + s₂ - 2(a₁ + a₂) > 0", b, v),
    ),
)
def coupling_rises_and_falls() -> Existence:
    """The coupling grows at first if and only if a₁ + a₂ < (s₁ + s₂)/2 at the start, while in the end it vanishes."""
    start = Domain(
        (a1, a2, b, s1, tau),
        cells=tuple(
            Cell(
                f"b {'>' if sign > 0 else '<'} 0",
                {a1: 1, a2: 1, tau: 1, v: 1, b: sign},
                {s2: 2 * (a1 + a2) - s1 + v},
                "v = s₁ + s₂ - 2(a₁ + a₂)",
            )
            for sign in (1, -1)
        ),
    )
    initial = velocity[g12].xreplace({g1: a1, g2: a2, g12: b})
    return Existence(
        r"for $a_1+a_2<\frac{s_1+s_2}2$ and $b\ne0$, $|b(t)|$ has a peak at a time $t>0$",
        (
            Identity(initial, b * (s1 + s2 - 2 * total) / tau, on=start, name=r"\dot b(0)"),
            Inequality(b * initial, ">", on=start),
        ),
    )


def peak_facts(time: sp.Expr) -> tuple[Statement, ...]:
    """That the coupling is largest at a time: there the connections sum to s, before and after they do not."""
    return (
        growth,
        sum_at,
        Identity(sp.exp(-4 * s * time / tau), determinant / offset, on=below),
        Inequality(offset, ">", determinant, on=below),
        Inequality(determinant - y**2 * offset, ">=", on=above),
    )


@result(
    ledger=("braun2022.peak-time",),
    domain=below,
    uses=("prior_knowledge.explicit_solution",),
    arguments=("a1", "a2", "b", "s", "tau"),
    requires=(
        ("positive", s > 0, "s"),
        ("positive", a1 > 0, "a1"),
        ("below √(a1 a2) in absolute value", apart > 0, "b"),
        ("above a1 + a2: there is no peak otherwise", s > total, "s"),
    ),
    hypotheses=(
        stated(
            "Sec. 5, where t_peak is a real number",
            "s₁ = s₂ = s and v = s - a₁ - a₂ > 0; otherwise there is no peak after the start",
            s,
            v,
        ),
        stated("Sec. 5, where t_peak is a real number", "a₁a₂ > b²", apart > 0),
    ),
)
def time_of_peak() -> Existence:
    """The coupling is largest at t = τ/(4s) ln(1 + s(s - a₁ - a₂)/Δ) if a₁ + a₂ < s, and at the start otherwise."""
    return Existence.of(
        stable_peak_time,
        peak_facts,
        r"for $s_1=s_2=s$ and $a_1+a_2<s$, $|b(t)|$ grows until $t_{\mathrm{peak}}$ and falls from then on; for"
        r" $a_1+a_2\ge s$ it falls all the time",
        formula=rf"t_{{\mathrm{{peak}}}} = {typeset(peak_time)}",
    )


@printed(
    "braun2022.peak-time",
    quote=r"t_{peak}=\frac{\tau}{4s}\ln\frac{s(s-a_1-a_2)}{a_1a_2-b(0)^2}",
    domain=below,
    severity="substantive",
    hypotheses=(
        stated("Sec. 5, where t_peak is a real number", "s₁ = s₂ = s and v = s - a₁ - a₂ > 0", s, v),
    ),
)
def printed_peak_time() -> Identity:
    """As printed, the coupling is stationary, a₁ + a₂ = s, where e^{-4st/τ} is Δ/(s(s - a₁ - a₂))."""
    x = sp.sqrt(determinant / (s * (s - total)))
    return Identity(alike(within_first, x) + alike(within_second, x), s)


turning = sp.sqrt(determinant / offset)
"""e^{-2st/τ} at the peak."""


@result(
    ledger=("braun2022.peak-half-learned",),
    domain=below,
    uses=("prior_knowledge.time_of_peak",),
    hypotheses=(
        stated(
            "Sec. 5, where t_peak is a real number",
            "s₁ = s₂ = s and v = s - a₁ - a₂ > 0; otherwise there is no peak after the start",
            s,
            v,
        ),
    ),
)
def half_learned_at_peak() -> Existence:
    """At the peak the connections are half learned on average: they sum to s; each is s/2 if and only if a₁ = a₂.

    The difference a₁(t) - a₂(t) never changes its sign.
    """
    return Existence(
        r"$a_1(t_{\mathrm{peak}})+a_2(t_{\mathrm{peak}})=s$",
        (
            sum_at,
            Identity(determinant - turning**2 * offset, sp.S.Zero),
            Identity(sp.exp(-2 * s * peak_time / tau), turning),
            Identity(
                alike(within_first, y) - alike(within_second, y), s**2 * y * (a1 - a2) / alike(denominator, y)
            ),
        ),
    )


small = {a1: size * a1, a2: size * a2, b: size * b}
"""A start of a small size."""


@printed(
    "braun2022.peak-half-learned",
    quote=r"coincides approximately with the time at which the on-diagonal element is half learned",
    domain=Domain(
        (b, s, size),
        cells=(Cell("Δ > 0", {a1: 1, u: 1, s: 1}, ABOVE, "u is the determinant"),),
        words="small starts",
    ),
    hypothesis="both connections start alike, a₁(0) = a₂(0)",
    under=Domain(
        (u, v, s, size),
        cells=(
            Cell(
                "a₁ = a₂",
                {u: 1, v: 1, s: 1},
                {a1: (u + v) / 2, a2: (u + v) / 2, b: (u - v) / 2},
                "u and v are the eigenvalues of A(0)ᵀA(0)",
            ),
        ),
        words="a₁ = a₂",
    ),
)
def printed_half_learned() -> Limit:
    """As printed for either element, and even for small starts: a₁ tends to s/2 at the peak."""
    return Limit(alike(within_first, turning).xreplace(small), size, sp.S.Zero, s / 2)


@result(
    ledger=("braun2022.peak-before-learned",),
    domain=running,
    uses=("prior_knowledge.half_learned_at_peak",),
    hypotheses=(
        stated(
            "Sec. 5, where t_peak is a real number",
            "s₁ = s₂ = s and v = s - a₁ - a₂ > 0; otherwise there is no peak after the start",
            s,
            v,
        ),
    ),
)
def peak_before_learned() -> Existence:
    """At the peak both connections are below s, since they are positive and sum to s: half is still to be learned."""
    return Existence(
        r"$a_i(t_{\mathrm{peak}})<s$, $a_1(t_{\mathrm{peak}})+a_2(t_{\mathrm{peak}})=s$",
        (
            Inequality(alike(within_first, y), ">"),
            Inequality(alike(within_second, y), ">"),
            sum_at,
        ),
    )


LARGE_EVERYWHERE = "the start is large in every direction, A(0)ᵀA(0) ⪰ S̃/2, not in its entries alone"
large_everywhere = Domain(
    (b, s1, s2),
    cells=(
        Cell(
            "A(0)ᵀA(0) ⪰ S̃/2",
            {s1: 1, s2: 1, u: 1, r1: 1, r2: 1},
            {
                a1: s1 / 2 + u,
                a2: s2 / 2 + b**2 / u + v**2,
                y: 1 / (1 + r1),
                z: 1 / (1 + r2),
            },
            "u and b²/u + v² are the diagonal of A(0)ᵀA(0) - S̃/2",
        ),
    ),
    words="A(0)ᵀA(0) ⪰ S̃/2",
)
large_entries = Domain(
    (s2,),
    cells=(
        Cell(
            "large entries, almost dependent",
            {s2: 1, u: 1, size: 1},
            {
                s1: 2 * s2,
                a1: (100 + size) * s2 + u / 1000,
                b: 10 * (100 + size) * s2,
                a2: 100 * (100 + size) * s2 + u / 1000,
                y: sp.Rational(1, 100),
                z: sp.Rational(1, 10),
            },
            "entries above 100 s₂, at the time at which e₂² is 1/10",
        ),
    ),
    words="a₁, a₂, |b| large",
)


@result(
    ledger=("braun2022.no-peak-large-init",),
    uses=("prior_knowledge.explicit_solution", "prior_knowledge.time_of_peak"),
    hypotheses=(
        added(LARGE_EVERYWHERE, a1, a2),
        meaning("for s₁ = s₂ = s, a₁ + a₂ = s(1 + v²)", s),
    ),
)
def no_peak_of_large_starts() -> Existence:
    """The coupling never grows from a start that is large in every direction, A(0)ᵀA(0) ⪰ S̃/2, whatever s₁ and s₂.

    For s₁ = s₂ = s it is enough that a₁ + a₂ ≥ s.
    """
    return Existence(
        r"$\frac{d}{dt}|b|\le0$ for $A(0)^\top A(0)\succeq\tilde S/2$, and for $s_1=s_2=s\le a_1+a_2$",
        (
            Inequality(excess, "<=", on=large_everywhere),
            Inequality(determinant - y**2 * offset, ">=", on=above),
        ),
    )


@printed(
    "braun2022.no-peak-large-init",
    quote=r"For large initialisations no peak is observed",
    domain=large_entries,
    hypothesis=LARGE_EVERYWHERE,
    under=large_everywhere,
    hypotheses=(stated("Sec. 5", "large entries: above 100 s₂, an example", s1, a1, a2, b, y, z),),
)
def printed_no_peak() -> Inequality:
    """As printed, for large entries: τ d/dt ln|b| is never positive."""
    return Inequality(excess, "<=")
