r"""How far the balance of Gaussian weights is from isotropic.

Let A and W have independent entries of variance σ_a²/c and σ_w²/d. The mean of Δ is δ I with δ = η_w σ_a² - η_a
σ_w², and what it lacks has entries of variance s² = η_w² σ_a⁴/c + η_a² σ_w⁴/d (twice that on the diagonal). So
every entry of Δ tends to that of δ I as c and d grow. But there are h of them in a row: the mean square of the
eigenvalues of Δ - δ I is (h + 1) s², which vanishes if c and d are large compared with h. For d = h = c it tends to
η_w² σ_a⁴ + η_a² σ_w⁴: however large the network, the eigenvalues of Δ stay spread around δ by as much as the two
layers are large. Since isotropy enters through eigenvalues of Δ, square Gaussian networks do not satisfy it
(kunin2024, App. B.1.6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import balance
from derivations.wide_linear.symbols import A, W, c, d, eta_a, eta_w, h, sigma_a, sigma_w, width
from symdyn.calculus.matrix import Declaration, Rules, cayley, eye, rule, trace, unit, vector
from symdyn.calculus.matrix.gaussian import gaussian_mean
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import InDistribution, Inequality, Limit, typeset
from symdyn.statements.matrix import MatrixIdentity

LAW = {A: sigma_a**2 / c, W: sigma_w**2 / d}
mean = eta_w * sigma_a**2 - eta_a * sigma_w**2
defect = balance - mean * eye(h)
spread = eta_w**2 * sigma_a**4 / c + eta_a**2 * sigma_w**4 / d
SHAPES = ({h: 2, d: 3, c: 2}, {h: 3, d: 1, c: 4})

v, u = vector("v", h), vector("u", h)


def _orthonormal(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    basis = cayley(generator, sizes[h])
    return {v.letter: basis[:, 0], u.letter: basis[:, 1]}


TWO_NEURONS = Rules(
    Declaration(
        "two orthonormal directions over neurons",
        (*unit(v).rules, *unit(u).rules, rule(u.T @ v, 0)),
        (v.letter, u.letter),
        _orthonormal,
    )
)

square = Domain(
    (width, sigma_a, sigma_w, eta_a, eta_w),
    cells=(Cell("positive scales", {s: 1 for s in (width, sigma_a, sigma_w, eta_a, eta_w)}),),
    words="d = h = c",
)
square_spread = eta_w**2 * sigma_a**4 + eta_a**2 * sigma_w**4


@result(ledger=("kunin2024.isotropic-gaussian-square",), domain=square)
def gaussian_balance() -> InDistribution:
    """Gaussian layers are isotropic entry by entry, and as a matrix only if c and d are large compared with h.

    The trace divided by h is the mean over eigenvalues.
    """
    one, two = (v.T @ defect @ v).scalar(), (u.T @ defect @ v).scalar()
    of_mean = MatrixIdentity(gaussian_mean(balance, LAW), mean * eye(h), SHAPES, name=r"E\Delta")
    of_norm = MatrixIdentity(
        gaussian_mean(trace(defect @ defect), LAW) / h,
        (h + 1) * spread,
        SHAPES,
        name=r"\frac1hE\|\Delta-E\Delta\|_F^2",
    )
    of_square = of_norm.rhs.subs(dict.fromkeys((d, h, c), width))
    large = Limit(of_square, width, sp.oo, square_spread)
    return InDistribution(
        rf"the entries of $\Delta-E\Delta$ vanish as $c$ and $d$ grow, but for $d=h=c\to\infty$ "
        rf"${of_norm.name} \to {typeset(large.limit)}$",
        (
            of_mean,
            MatrixIdentity(gaussian_mean(one**2, LAW), 2 * spread, SHAPES, TWO_NEURONS),
            MatrixIdentity(gaussian_mean(two**2, LAW), spread, SHAPES, TWO_NEURONS),
            of_norm,
            large,
            Inequality(square_spread, ">"),
        ),
        formula=rf"{of_mean.name} = {typeset(of_mean.rhs)}, \quad {of_norm.name} = {typeset(of_norm.rhs)}",
    )


@printed(
    "kunin2024.isotropic-gaussian-square",
    quote=r"In square networks $d=h=c$",
    domain=square,
    severity="substantive",
)
def printed_gaussian_balance() -> Limit:
    """As printed, Δ tends to δ I: then the mean square of the eigenvalues of Δ - δ I tends to zero."""
    return Limit((width + 1) * square_spread / width, width, sp.oo, sp.S.Zero)
