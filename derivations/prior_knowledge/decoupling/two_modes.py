r"""Two modes and their coupling, in closed form.

For N_i = N_o = 2 let AᵀA(0) have the entries a₁, a₂ and b, with determinant Δ = a₁a₂ - b² ≥ 0. The inverse of AᵀA
obeys a linear equation (Theorem 5.1); inverting it back and clearing Δ from all denominators gives, with
e_i = e^{-s_i t/τ},

    n = s₁s₂e₁²e₂² + a₂s₁e₁²(1 - e₂²) + a₁s₂e₂²(1 - e₁²) + Δ(1 - e₁²)(1 - e₂²),
    a₁(t) = s₁(s₂a₁e₂² + Δ(1 - e₂²))/n,    a₂(t) = s₂(s₁a₂e₁² + Δ(1 - e₁²))/n,    b(t) = s₁s₂ b e₁e₂/n.

These hold for Δ = 0 too, where A(0) is not invertible (braun2022, Sec. 5, which leaves the form to an appendix).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.prior_knowledge.quantities import connection, coupling, elapsed, fall, held, over, share
from derivations.prior_knowledge.symbols import a1, a2, b, c, g1, g2, g12, s, s1, s2, t, tau, u, v, y, z
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality, Limit, Solution

determinant = a1 * a2 - b**2
"""Δ = det A(0)ᵀA(0)."""

POSITIVE = {s1: 1, s2: 1, tau: 1, a1: 1, a2: 1}
ABOVE_DIAGONAL = {a2: (b**2 + u) / a1}
"""a₂ by u = Δ."""

definite = Domain(
    (a1, b, s1, s2, tau, t),
    cells=(Cell("Δ > 0", {**POSITIVE, t: 1, u: 1}, ABOVE_DIAGONAL, "u is the determinant"),),
    words="A(0)ᵀA(0) positive definite",
)
semidefinite = Domain(
    (a1, b, s1, s2, tau, t),
    cells=(*definite.cells, Cell("Δ = 0", {**POSITIVE, t: 1}, {a2: b**2 / a1}, "the determinant vanishes")),
    conditions=(sp.Ne(b, 0),),
    words="A(0)ᵀA(0) positive semidefinite",
)


def denominator(first: sp.Expr = y, second: sp.Expr = z, det: sp.Expr = determinant) -> sp.Expr:
    """n, with e₁² and e₂² for its arguments."""
    return (
        s1 * s2 * first * second
        + a2 * s1 * first * (1 - second)
        + a1 * s2 * second * (1 - first)
        + det * (1 - first) * (1 - second)
    )


def within_first(first: sp.Expr = y, second: sp.Expr = z) -> sp.Expr:
    """a₁(t), with e₁² and e₂² for its arguments."""
    return s1 * (s2 * a1 * second + determinant * (1 - second)) / denominator(first, second)


def within_second(first: sp.Expr = y, second: sp.Expr = z) -> sp.Expr:
    """a₂(t)."""
    return s2 * (s1 * a2 * first + determinant * (1 - first)) / denominator(first, second)


def across(roots: sp.Expr, first: sp.Expr = y, second: sp.Expr = z) -> sp.Expr:
    """b(t), `roots` standing for e₁e₂."""
    return s1 * s2 * b * roots / denominator(first, second)


decay = sp.exp(-2 * s1 * t / tau), sp.exp(-2 * s2 * t / tau)
product = sp.exp(-(s1 + s2) * t / tau)
closed = {g1: within_first(*decay), g2: within_second(*decay), g12: across(product, *decay)}
"""a₁(t), a₂(t) and b(t)."""

T = over(t, tau)
apart = share(a1, a2, b)
first_left, second_left = held(s1, a2, s2, apart, T), held(s2, a1, s1, apart, T)
stable = (
    connection(a1, elapsed(s1, T), first_left),
    connection(a2, elapsed(s2, T), second_left),
    coupling(a1, a2, b, s1, s2, T, apart),
)
"""The same, without loss of digits."""

velocity = {
    g1: 2 * (s1 * g1 - g1**2 - g12**2) / tau,
    g2: 2 * (s2 * g2 - g2**2 - g12**2) / tau,
    g12: g12 * (s1 + s2 - 2 * g1 - 2 * g2) / tau,
}
"""The entries of τ d/dt AᵀA = S̃AᵀA + AᵀAS̃ - 2(AᵀA)²."""


@result(
    ledger=("braun2022.2x2-parametrisation",),
    domain=Domain((a1, b, u, v)),
    hypotheses=(meaning("a₁, Δ > 0 for the way back, from a matrix to two columns", a1, u),),
)
def two_by_two() -> Existence:
    """AᵀA of two columns has a₁, a₂ ≥ 0 and a determinant that is a square for two neurons, so that Δ ≥ 0.

    The columns are (u, b) and (v, a₁) here. Conversely a₁ > 0 and Δ ≥ 0 give the columns (√a₁, 0) and (b/√a₁, √(Δ/a₁)).
    """
    first, second, mixed = u**2 + b**2, v**2 + a1**2, u * v + a1 * b
    backwards = Domain((a1, b, u), cells=(Cell("a₁, Δ > 0", {a1: 1, u: 1}),))
    column = b / sp.sqrt(a1), sp.sqrt(u / a1)
    return Existence(
        r"$A^\top A=\begin{pmatrix}a_1&b\\b&a_2\end{pmatrix}$ with $a_1,a_2\ge0$ and $a_1a_2\ge b^2$,"
        r" and every such matrix is one",
        (
            Inequality(first, ">="),
            Inequality(second, ">="),
            Identity(first * second - mixed**2, (u * a1 - v * b) ** 2, name=r"\Delta"),
            Identity(
                (sp.sqrt(a1) * column[0], column[0] ** 2 + column[1] ** 2), (b, (b**2 + u) / a1), on=backwards
            ),
        ),
    )


POSITIVE_TASK = (("positive", s1 > 0, "s1"), ("positive", s2 > 0, "s2"))
LATER = ("not negative", t >= 0, "t")
CONNECTIONS = (("not negative", a1 >= 0, "a1"), ("not negative", a2 >= 0, "a2"))


first_fall, second_fall = fall(s1, T), fall(s2, T)
"""e₁² and e₂²."""


def until(*conditions: Any) -> tuple[str, Any, str]:
    """The condition that a start which keeps nothing but its decay has not decayed below all numbers."""
    return "early enough that the decay of a singular start does not underflow", sp.And(*conditions), "t"


SINGULAR = meaning(
    "A(0)ᵀA(0) may be singular too, a₂ = b²/a₁, where b ≠ 0; for b = 0 the modes are alone",
    sp.Ne(b, 0),
    a2,
)
FLOATS = meaning(
    "functions take every semidefinite start, as long as its decay does not underflow",
    a1 >= 0,
    a2 >= 0,
    apart >= 0,
    until(sp.Or(a1 > 0, first_fall > 0), sp.Or(a2 > 0, second_fall > 0))[1],
    until(sp.Or(apart > 0, first_fall > 0, second_fall > 0))[1],
)


@result(
    ledger=("braun2022.explicit-2x2",),
    domain=semidefinite,
    uses=("prior_knowledge.connections",),
    arguments=("t", "a1", "a2", "b", "s1", "s2", "tau"),
    requires=(
        *POSITIVE_TASK,
        LATER,
        *CONNECTIONS,
        ("at most √(a1 a2) in absolute value", apart >= 0, "b"),
        until(sp.Or(a1 > 0, first_fall > 0), sp.Or(a2 > 0, second_fall > 0)),
        until(sp.Or(apart > 0, first_fall > 0, second_fall > 0)),
    ),
    hypotheses=(
        SINGULAR,
        FLOATS,
    ),
)
def explicit_solution() -> Solution:
    """The connections a₁(t), a₂(t) and the coupling b(t) of two modes, for every positive semidefinite start."""
    return Solution(closed, velocity, {g1: a1, g2: a2, g12: b}, t, compiles=stable)


def decays(k: int) -> sp.Expr:
    """The denominator of the logistic curve of mode k, s_k e_k² at a_k = 0."""
    s_k, a_k = ((s1, a1), (s2, a2))[k]
    return decay[k] * (s_k - a_k) + a_k


@result(
    ledger=("braun2022.decoupled-limit",),
    domain=semidefinite,
    uses=("prior_knowledge.explicit_solution",),
    requires=(
        *POSITIVE_TASK,
        LATER,
        *CONNECTIONS,
        until(sp.Or(a1 > 0, first_fall > 0), sp.Or(a2 > 0, second_fall > 0)),
    ),
    hypotheses=(
        stated("Sec. 5", "b(0) = 0", b),
        SINGULAR,
        FLOATS,
    ),
)
def decoupled_modes() -> Identity:
    """Without coupling each mode follows the logistic curve of its own."""
    alone = s1 * a1 / decays(0)
    other = s2 * a2 / decays(1)
    cell = Cell("b = 0", {**POSITIVE, t: 1}, {b: sp.S.Zero}, "no coupling")
    uncoupled = Domain((a1, a2, b, s1, s2, tau, t), cells=(cell,), words="b(0) = 0")
    computed = (
        connection(a1, elapsed(s1, T), sp.exp(-s1 * T)),
        connection(a2, elapsed(s2, T), sp.exp(-s2 * T)),
        sp.S.Zero,
    )
    return Identity(
        (closed[g1], closed[g2], closed[g12]),
        (alone, other, sp.S.Zero),
        on=uncoupled,
        name=r"(a_1(t), a_2(t), b(t))_{b(0)=0}",
        compiles=computed,
    )


@result(
    ledger=("braun2022.off-diagonal-vanishes",),
    domain=definite,
    uses=("prior_knowledge.explicit_solution",),
    hypotheses=(
        meaning(
            "v = 1/e₁² - 1 and c = 1/e₂² - 1; a start of rank one, a₂ = b²/a₁, is the counterexample",
            v,
            c,
            a2,
            b,
        ),
    ),
)
def coupling_vanishes() -> Existence:
    """The coupling vanishes in the end if A(0)ᵀA(0) is definite: it is at most s₁s₂|b|e₁e₂/(Δ(1 - e₁²)(1 - e₂²)).

    A singular start with s₁ = s₂ = s keeps its coupling: b(t) → s b/(a₁ + a₂).
    """
    running = Domain(
        (a1, b, s1, s2),
        cells=(
            Cell(
                "Δ > 0, 0 < e_i < 1",
                {s1: 1, s2: 1, a1: 1, u: 1, v: 1, c: 1},
                {**ABOVE_DIAGONAL, y: 1 / (1 + v), z: 1 / (1 + c)},
                "u is the determinant, v = 1/e₁² - 1 and c = 1/e₂² - 1",
            ),
        ),
    )
    rank_one = Domain(
        (a1, b, s, tau, t),
        cells=(Cell("Δ = 0", {s: 1, tau: 1, a1: 1}, {a2: b**2 / a1}, "the determinant vanishes"),),
        conditions=(sp.Ne(b, 0),),
    )
    bound = s1 * s2 * b * product / ((1 - decay[0]) * (1 - decay[1]))
    return Existence(
        r"$b(t)\to0$ for $\Delta>0$",
        (
            Inequality(denominator(), ">", determinant * (1 - y) * (1 - z), on=running),
            Limit(bound, t, sp.oo, sp.S.Zero),
            Limit(closed[g12].xreplace({s1: s, s2: s}), t, sp.oo, s * b / (a1 + a2), on=rank_one),
        ),
    )
