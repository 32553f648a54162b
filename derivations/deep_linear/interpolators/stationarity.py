r"""The interpolator that an isotropic deep network learns, up to the root of one equation.

Stationarity says that the part of the dual variable s^{-L/2} β in the null space of the data is what it was at the
start, u. The part of β in the row space is the interpolator X⁺y of least norm. So

    β_∞ = X⁺y + s^{L/2} u,        s^L(s + δ - ‖u‖²) = ‖X⁺y‖²,

where the second equation is ‖β‖² = s^L(s + δ). It has one root with ‖a‖² = s + δ ≥ ‖u‖². In the rich limit u is the
part of β_0/‖β_0‖^{L/(L+1)} in the null space, and s^{L/2} = ‖β_∞‖^{L/(L+1)}. The paper leaves the minimiser as a convex
programme (kunin2024, Theorem 15).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.deep_linear.symbols import L, delta, p, s, u
from symdyn.calculus.gram import inner, norm2
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity, Inequality, Minimiser

log_s = sp.Symbol("y", real=True)


def orthogonal_pair(rng: random.Random, dimension: int) -> dict[Any, Any]:
    """X⁺y in the row space and u in the null space: two vectors at a right angle."""
    first = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(dimension)]
    second = [sp.Rational(rng.randint(-9, 9), 2) for _ in range(dimension)]
    second[-1] = -sum(x * y for x, y in zip(first[:-1], second[:-1], strict=True)) / first[-1]
    return {p: first, u: second}


solved = Domain(
    (s, L),
    (p, u),
    (
        Cell(
            "s > 0",
            {L: 1, norm2(p): 1},
            where={s: sp.exp(log_s), inner(p, u): sp.S.Zero},
            reason="s > 0 is an exponential; the row space and the null space of X are orthogonal",
        ),
    ),
    let={delta: norm2(p) / s**L - s + norm2(u)},
    dimensions=(2, 3),
    sampler=orthogonal_pair,
    words="Xβ = y solvable, X⁺y ≠ 0",
)


@result(domain=solved, uses=("deep_linear.balanced_potential", "deep_linear.implicit_bias"))
def interpolator() -> Minimiser:
    """The interpolator that a square isotropic network learns, for every balance δ ≤ 0.

    Its dual variable is s^{-L/2} X⁺y + u: in the null space it has not moved. The function of s that has to vanish
    falls strictly, so that there is one root. The function `interpolating_solution` computes it.
    """
    end = p + s ** (L / 2) * u
    falling = norm2(p) * s ** (-L) - s
    return Minimiser(
        r"$X\beta_\infty=y$, and $\nabla\Phi_\delta(\beta_\infty)$ has the part u in the null space of X",
        (
            Identity(norm2(end), s**L * (s + delta), name=r"\|\beta_\infty\|^2"),
            Identity(s ** (-L / 2) * end, s ** (-L / 2) * p + u, name=r"\nabla\Phi_\delta(\beta_\infty)"),
            Inequality(sp.diff(falling, s), "<"),
        ),
        formula=r"\beta_\infty = X^+ y + s^{L/2} u, \quad s^L (s + \delta - \|u\|^2) = \|X^+ y\|^2",
    )
