r"""Two modes from small and from large starts.

Let all of A(0)ᵀA(0) be multiplied by a size ε. While e_i² is of order ε the i-th mode is learned, after a time of
order log(1/ε), and there the closed forms have limits for ε → 0.

For s₁ > s₂ the modes are learned one after the other and the coupling stays near zero: alignment is silent. Each
follows a logistic curve, but not that of its own a_i: the second starts from the pivot a₂ - b²/a₁ of A(0)ᵀA(0), because
the first mode, once learned, takes with it what they have in common. For s₁ = s₂ = s they are learned together,
a₁(t) follows no logistic curve, and the coupling reaches s|b|/(a₁ + a₂ + 2√Δ), however small the start.

For ε → ∞ the connections are those of s/(1 - e^{-2st/τ}), which falls like 1/t first (braun2022, Sec. 5).
"""

from __future__ import annotations

import sympy as sp

from derivations.prior_knowledge.decoupling.off_diagonal import ABOVE, ALIKE, alike, turning
from derivations.prior_knowledge.decoupling.two_modes import (
    across,
    decay,
    denominator,
    determinant,
    product,
    velocity,
    within_first,
    within_second,
)
from derivations.prior_knowledge.symbols import (
    a1,
    a2,
    b,
    c,
    g1,
    g12,
    r1,
    r2,
    s,
    s1,
    s2,
    size,
    t,
    tau,
    u,
    v,
    y,
    z,
)
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Existence, Identity, Inequality, Limit

NEARLY_DECOUPLED = (
    "s₁ ≠ s₂ and b² ≪ a₁a₂, exact for b = 0: otherwise the weaker mode starts from a₂ - b²/a₁, however "
    "small the start"
)
DISTINCT = "the singular values of the task are distinct, s₁ ≠ s₂"
SIGNS = {a1: 1, u: 1, tau: 1, c: 1}
stronger = Cell("s₁ > s₂", {**SIGNS, s2: 1, v: 1}, {**ABOVE, s1: s2 + v}, "v = s₁ - s₂")
weaker = Cell("s₁ < s₂", {**SIGNS, s1: 1, v: 1}, {**ABOVE, s2: s1 + v}, "v = s₂ - s₁")
equal = Cell("s₁ = s₂", {**SIGNS, s: 1}, {**ABOVE, s1: s, s2: s}, "one singular value twice")


def sized(expression: sp.Expr) -> sp.Expr:
    """A closed form for a start of size ε, with u for its Δ at ε = 1."""
    scale = {a1: size * a1, a2: size * a2, b: size * b, u: size**2 * u}
    return expression.xreplace({determinant: u}).xreplace(scale)


ORDERED = meaning("s₁ > s₂ by v = s₁ - s₂, an example with a pivot of 0.19 a₁ among them", a2, u, s1, v)
MODE = meaning("the size of the start is c e^{-2s_i t/τ}; b ≠ 0, for where b = 0 it stays so", c, b)


def starts(*cells: Cell, words: str) -> Domain:
    """Definite starts of two modes, with time left free."""
    return Domain((a1, b, c, tau, t), cells=cells, conditions=(sp.Ne(b, 0),), words=words)


distinct = starts(stronger, words="s₁ > s₂, A(0)ᵀA(0) definite")


def while_learned(expression: sp.Expr, mode: int) -> sp.Expr:
    """A closed form for the size ε = c e^{-2s_i t/τ}, at which time t is when the mode i is learned."""
    scaled = sized(expression).xreplace({y: decay[0], z: decay[1]})
    return scaled.xreplace({size: c * decay[mode - 1]})


def logistic(rate: sp.Expr, start: sp.Expr) -> sp.Expr:
    """The limit of the logistic curve s ε a/(e^{-2st/τ}(s - ε a) + ε a) for ε = c e^{-2st/τ}."""
    return rate * c * start / (rate + c * start)


pivot = determinant / a1
"""a₂ - b²/a₁, from which the weaker mode starts in effect."""


@result(
    ledger=("braun2022.decoupled-approximation-small-init",),
    domain=distinct,
    uses=("prior_knowledge.explicit_solution",),
    hypotheses=(
        added(NEARLY_DECOUPLED, s1, v),
        meaning(
            "the size of the start is c e^{-2s_i t/τ}, while mode i is learned; b ≠ 0, and b = 0 is decoupled",
            c,
            b,
        ),
    ),
)
def modes_of_small_starts() -> Existence:
    """From small starts with s₁ > s₂ the modes follow logistic curves that start from the pivots a₁ and a₂ - b²/a₁."""
    return Existence(
        r"for $s_1>s_2$ and $A(0)^\top A(0)$ of a size that tends to zero, $a_1(t)$ and $a_2(t)$ tend to the"
        r" decoupled curves with the initial values $a_1$ and $a_2-b^2/a_1$",
        (
            Limit(while_learned(within_first(), 1), t, sp.oo, logistic(s1, a1)),
            Limit(while_learned(within_second(), 2), t, sp.oo, logistic(s2, pivot)),
            Identity(pivot, a2 - b**2 / a1),
        ),
    )


strong = Cell(
    "s₁ > s₂, a₁ = a₂, b = 0.9 a₁",
    {a1: 1, tau: 1, c: 1, s2: 1, v: 1},
    {a2: a1, b: 9 * a1 / 10, u: 19 * a1**2 / 100, s1: s2 + v},
    "v = s₁ - s₂, a pivot of 0.19 a₁",
)


uncoupled = Domain(
    (a1, c, tau, t),
    cells=(Cell("s₁ > s₂, b = 0", {**SIGNS, s2: 1, v: 1}, {a2: u / a1, b: 0, s1: s2 + v}, "v = s₁ - s₂"),),
    words="s₁ > s₂, b = 0",
)


@printed(
    "braun2022.decoupled-approximation-small-init",
    quote=r"approximately described by the singular-value dynamics that assume decoupling from the start",
    domain=distinct.with_cells(strong, *distinct.cells),
    hypothesis=NEARLY_DECOUPLED,
    under=uncoupled,
    hypotheses=(
        ORDERED,
        MODE,
    ),
)
def printed_decoupled_approximation() -> Limit:
    """As printed, with decoupling from the start: the weaker mode would follow the curve that starts from a₂.

    No size is small enough for that: (a₂ - b²/a₁)/a₂ does not depend on it. Where b² ≪ a₁a₂ the approximation is good;
    random weights of N_h neurons have b² of the order a₁a₂/N_h. Otherwise the mode is learned later by
    (τ/2s₂) ln(a₂/(a₂ - b²/a₁)), which is little only beside the time log(1/ε) it waits. The pivots of more modes are
    in logistic_from_pivots.
    """
    return Limit(while_learned(within_second(), 2), t, sp.oo, logistic(s2, a2))


coupling = across(product)


@result(
    ledger=("braun2022.silent-alignment",),
    uses=("prior_knowledge.time_of_peak",),
    hypotheses=(
        added(DISTINCT, s1, v),
        meaning("b ≠ 0: where b = 0 it stays so", b),
        meaning("e_i² = y, z between 0 and 1", y, z),
    ),
)
def silent_alignment() -> Existence:
    """Alignment is silent for s₁ ≠ s₂: |b(t)| tends to zero with the size of the start, uniformly in time.

    Let s₁ > s₂. By n ≥ s₂e₂²(s₁e₁² + εa₁(1 - e₁²)) and n ≥ s₁s₂e₁²e₂², and since (p + q)² ≥ 4pq, b(t)² is at most
    ε²b²/(e₁e₂)², at most εs₁b²/(4a₁e₂²(1 - e₁²)), and at most (s₁b/(a₁(1 - e₁²)))² e₁²/e₂². The first two are small up
    to any fixed time, and the third is small afterwards, as e₁/e₂ tends to 0. For s₁ = s₂ = s the peak keeps its height
    as the start shrinks.
    """
    first, rest = s1 * y, size * a1 * (1 - y)
    whole = sized(denominator())
    running = Domain(
        (a1, a2, s1, s2, size, u),
        cells=(
            Cell(
                "t > 0",
                {a1: 1, a2: 1, u: 1, s1: 1, s2: 1, size: 1, r1: 1, r2: 1},
                {y: 1 / (1 + r1), z: 1 / (1 + r2)},
                "e_i² = 1/(1 + r_i), u is the determinant",
            ),
        ),
    )
    late = starts(Cell("s₁ > s₂", {s2: 1, v: 1, tau: 1}, {s1: s2 + v}), words="s₁ > s₂")
    small_peak = Domain((b, s, size), cells=(Cell("s₁ = s₂", {a1: 1, u: 1, s: 1}, ABOVE),))
    peak = alike(lambda first, second: across(first, first, second), turning)
    return Existence(
        r"$\sup_t|b(t)|\to0$ as the start shrinks for $s_1\ne s_2$,"
        r" and $\to s|b|/(a_1+a_2+2\sqrt\Delta)$ for $s_1=s_2=s$",
        (
            Inequality(whole, ">=", s2 * z * (first + rest), on=running),
            Identity((first + rest) ** 2, (first - rest) ** 2 + 4 * first * rest, on=running),
            Limit(sp.exp(-2 * (s1 - s2) * t / tau), t, sp.oo, sp.S.Zero, on=late),
            Limit(sized(peak), size, sp.S.Zero, s * b / (a1 + a2 + 2 * sp.sqrt(determinant)), on=small_peak),
        ),
    )


@printed(
    "braun2022.silent-alignment",
    quote=r"the off-diagonal remains near zero throughout learning",
    domain=starts(equal, stronger, weaker, words="A(0)ᵀA(0) definite"),
    hypothesis=DISTINCT,
    under=starts(stronger, weaker, words="s₁ ≠ s₂, A(0)ᵀA(0) definite"),
    hypotheses=(
        meaning("all tasks: s₁ = s₂, s₁ > s₂ or s₁ < s₂, by v = |s₁ - s₂|", s1, s2, s, v),
        MODE,
    ),
)
def printed_silent_alignment() -> Limit:
    """As printed for every task: b(t) tends to zero with the size of the start while the first mode is learned."""
    return Limit(while_learned(coupling, 1), t, sp.oo, sp.S.Zero)


early = s * a1 / (y * (s - a1 - a2) + a1 + a2)
"""The curve of equation (15), y for e^{-2st/τ}."""

exact = alike(within_first, y)
definite = Domain(
    (b, c, s, size, y),
    cells=(Cell("Δ > 0", {a1: 1, u: 1, s: 1, c: 1}, ABOVE, "u is the determinant"),),
    words="s₁ = s₂ = s, A(0)ᵀA(0) definite",
)


def in_transition(expression: sp.Expr) -> sp.Expr:
    """A closed form for a start of size ε, while e^{-2st/τ} is c ε."""
    return sized(expression).xreplace({y: c * size})


@result(
    ledger=("braun2022.small-init-sigmoid",),
    domain=definite,
    uses=("prior_knowledge.explicit_solution",),
    hypotheses=(
        stated("Sec. 5, Eq. (15)", "s₁ = s₂ = s and |a₁(0)|, |a₂(0)|, |b(0)| ≪ 1", s),
        meaning("c is e^{-2st/τ} over the size of the start; for rank one, a₁a₂ = b²", c, a2),
    ),
)
def small_equal_modes() -> Conjunction:
    """a₁(t) from small starts for s₁ = s₂ = s, with Δ, without which it would not tend to s.

    c is e^{-2st/τ}/ε. Up to any fixed time the printed curve is right, and for a start of rank one, Δ = 0, always; but
    it tends to s a₁/(a₁ + a₂).
    """
    uniform = s * (s * a1 * c + determinant) / (s**2 * c**2 + s * (a1 + a2) * c + determinant)
    fixed = Domain(
        (b, s, size),
        cells=(Cell("Δ > 0", {a1: 1, u: 1, s: 1, r1: 1}, {**ABOVE, y: 1 / (1 + r1)}, "y = 1/(1 + r₁)"),),
    )
    rank_one = Domain(
        (a1, b, s),
        cells=(Cell("Δ = 0", {a1: 1, s: 1, r1: 1}, {a2: b**2 / a1, y: 1 / (1 + r1)}, "y = 1/(1 + r₁)"),),
    )
    return Conjunction(
        Asymptotic(in_transition(exact), uniform, size, sp.S.Zero, size),
        Limit(uniform, c, sp.S.Zero, s),
        Asymptotic(sized(exact), sized(early), size, sp.S.Zero, size**2, on=fixed),
        Identity(exact, early, on=rank_one),
        Limit(early, y, sp.S.Zero, s * a1 / (a1 + a2)),
    )


@printed(
    "braun2022.small-init-sigmoid",
    quote=r"a_1(t)=\frac{s\,a_1(0)}{e^{-2st/\tau}[s-a_1(0)-a_2(0)]+a_1(0)+a_2(0)}",
    domain=definite,
    severity="substantive",
    hypotheses=(
        stated("Sec. 5, Eq. (15)", "s₁ = s₂ = s and small entries", s),
        meaning("c is e^{-2st/τ} over the size of the start", c),
    ),
)
def printed_small_start() -> Limit:
    """As printed, the difference to a₁(t) would vanish with the size of the start throughout learning."""
    return Limit(in_transition(exact - early), size, sp.S.Zero, sp.S.Zero)


rate = (velocity[g1] / (s - g1)).xreplace(ALIKE)
"""The instantaneous rate -d/dt ln|a₁ - s|."""

large_coupling = alike(lambda first, second: across(first, first, second), y)
large_rate = sized(rate.xreplace({g1: exact, g12: large_coupling}))
large = Domain(
    (b, s, tau, size),
    cells=(
        Cell(
            "Δ > 0, t > 0",
            {a1: 1, u: 1, s: 1, tau: 1, r1: 1},
            {**ABOVE, y: 1 / (1 + r1)},
            "y = 1/(1 + r₁)",
        ),
    ),
    words="s₁ = s₂ = s, A(0)ᵀA(0) definite, t > 0",
)


@result(
    ledger=("braun2022.large-init-exponential",),
    domain=large,
    uses=("prior_knowledge.explicit_solution",),
    hypotheses=(
        stated("Sec. 5, below Eq. (15)", "s₁ = s₂ = s and |a₁(0)|, |a₂(0)|, |b(0)| ≫ 0", s),
        meaning("a rate of approach, -d/dt ln|a₁ - s|, is that of an a₁ ≠ s", sp.Ne(g1, s)),
    ),
)
def large_equal_modes() -> Existence:
    """From large starts a₁(t) tends to s/(1 - e^{-2st/τ}), which approaches s at the rate 2s/(1 - e^{-2st/τ})/τ.

    That is 1/t at first, a fall as of 1/(1/a₁ + 2t/τ), and becomes the constant 2s/τ of an exponential only after the
    time τ/(2s). Without coupling the rate is 2a₁(t)/τ for every start.
    """
    alone = Domain((g1, s, tau), cells=(Cell("τ > 0, a₁ ≠ s", {tau: 1}),), conditions=(sp.Ne(g1, s),))
    return Existence(
        r"$a_1(t)=\frac s{1-e^{-2st/\tau}}+O(1/\varepsilon)$, and the rate $-\frac d{dt}\ln|a_1-s|$ tends to"
        r" $\frac{2s}{\tau(1-e^{-2st/\tau})}$, as the size ε of the start grows",
        (
            Asymptotic(sized(exact), s / (1 - y), size, sp.oo, 1 / size),
            Limit(large_rate, size, sp.oo, 2 * s / (tau * (1 - y))),
            Identity(rate.xreplace({g12: sp.S.Zero}), 2 * g1 / tau, on=alone),
        ),
    )


@printed(
    "braun2022.large-init-exponential",
    quote=r"the on-diagonal a_1 is close to exponential",
    domain=large,
    severity="scope",
)
def printed_large_start() -> Limit:
    """As printed, large starts approach s at the constant rate of an exponential, 2s/τ."""
    return Limit(large_rate, size, sp.oo, 2 * s / tau)
