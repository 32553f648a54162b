r"""Transforms of a law, in one convention.

    G(z) = ∫ ρ(x)/(z - x) dx,    M(z) = z G(z) - 1 = Σ_{k≥1} m_k z^{-k},    S(z) = (1 + z)/(z M⁻¹(z)).

Off the real line G is analytic with G(z̄) = conj G(z), Im G < 0 above the line and z G(z) → 1 at infinity, and

    ρ(x) = -(1/π) lim_{ε→0+} Im G(x + iε).

The sign of G matters: with ∫ ρ/(x - z), which the paper writes as definition, neither its inversion nor its M nor the
transforms of App. A.10 and A.11 would be right (naitsaada2023, Sec. 3.1). In ψ(u) = M(1/u) = Σ m_k u^k, a formal
series, M⁻¹(z) = 1/ψ⁻¹(z) and S(z) = (1 + z)ψ⁻¹(z)/z, so that S exists as a series if and only if m_1 ≠ 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from derivations.random_matrices.symbols import a1, a2, a3, b1, b2, b3, c, p1, p2, u, x, x1, x2, y, z
from symdyn.calculus.series import Series
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality, Limit

ORDER = 5


def stieltjes(atoms: Mapping[Any, Any], at: Any = z) -> Any:
    """G of a law with atoms, given by their places and masses."""
    return sp.Add(*(mass / (at - place) for place, mass in atoms.items()))


def moment_series(moments: tuple[Any, ...], variable: sp.Symbol = u) -> Series:
    """ψ(u) = Σ m_k u^k."""
    return Series([sp.S.Zero, *moments], variable)


def s_series(moments: tuple[Any, ...], variable: sp.Symbol = z) -> Series:
    """S as a series in z, from the moments m_1, m_2, …"""
    inverse = moment_series(moments, variable).reversion()
    return inverse.shifted(-1) * Series([1, 1, *[0] * len(moments)], variable)


def moments_of(s: Series) -> tuple[Any, ...]:
    """The moments m_1, m_2, … of the law with a given S."""
    one = Series([1, 1, *[0] * s.order], s.variable)
    return (s / one).shifted(1).reversion().coefficients[1:]


two_atoms = {x1: p1, x2: p2}
OUTSIDE = meaning("z is not in the spectrum", z, x1, x2)
outside = Domain(
    (z, x1, x2, p1, p2),
    conditions=(sp.Ne(z, x1), sp.Ne(z, x2)),
    hypotheses=(OUTSIDE,),
)
one_atom = Domain((z, x1), conditions=(sp.Ne(z, x1),), hypotheses=(OUTSIDE,))


@result(ledger=("naitsaada2023.spectral-density-def",))
def spectral_density() -> Identity:
    """The spectral density: its moments are normalised traces, here those of diag(x_1, x_2).

    Both masses are 1/2, and ∫ x^k ρ is (x_1^k + x_2^k)/2 = tr X^k/2.
    """
    matrix = sp.Matrix([[x1, 0], [0, x2]])
    moments = tuple((matrix**k).trace() / 2 for k in range(4))
    return Identity(moments, tuple(sp.Rational(1, 2) * (x1**k + x2**k) for k in range(4)))


@result(ledger=("naitsaada2023.stieltjes-def",), domain=outside)
def stieltjes_transform() -> Identity:
    """The Stieltjes transform of a law with two atoms, in the sign that all that follows needs.

    By it the transforms of App. A.10 and A.11, the inversion and M = zG - 1 are what they are said to be. Any law is a
    limit of laws with atoms, and G is linear in the law.
    """
    return Identity(
        stieltjes(two_atoms), p1 / (z - x1) + p2 / (z - x2), name=r"G(z) = \int\frac{\rho(t)}{z-t}dt"
    )


@printed(
    "naitsaada2023.stieltjes-def",
    quote=r"\frac{\rho_X(t)}{t-z}dt",
    domain=one_atom,
    severity="convention",
)
def printed_stieltjes_transform() -> Identity:
    """As printed, ∫ρ/(t - z): then M = zG - 1 would not be Σ m_k z^{-k}, here x/z + x²/z² + … = x/(z - x)."""
    transform = 1 / (x1 - z)
    return Identity(z * transform - 1, x1 / (z - x1))


ABOVE = meaning("ε > 0 is the distance from the real line, and x a point off the atom at x_1", y > 0, x)


@result(
    ledger=("naitsaada2023.stieltjes-inversion",),
    domain=Domain((x, x1, y), (), (Cell("above the line", {y: 1}),), hypotheses=(ABOVE,)),
    uses=("random_matrices.stieltjes_transform",),
)
def inversion() -> Existence:
    """The inversion of the Stieltjes transform, with the sign that belongs to ∫ρ/(z - t).

    For a unit mass at x_1, G(x + iε) = (x - x_1 - iε)/((x - x_1)² + ε²): the first two facts multiply it out. So -Im
    G/π is Cauchy's density in x - x_1, of width ε, and for any law the mean of these over the law. They are positive,
    have the mass one (the derivative of atan((x - x_1)/ε)/π) and vanish with ε off x_1.
    """
    square = (x - x1) ** 2 + y**2
    real, imaginary = (x - x1) / square, -y / square
    angle = sp.atan((x - x1) / y)
    apart = Domain(
        (x, x1, y), (), (Cell("off the atom", {y: 1}),), conditions=(sp.Ne(x, x1),), hypotheses=(ABOVE,)
    )
    return Existence(
        r"$-\frac1\pi\mathrm{Im}\,G(x+i\epsilon)$ is the mean of Cauchy densities of width $\epsilon$ over the "
        r"law, which tends to the density where it is continuous",
        (
            Identity(real * (x - x1) - imaginary * y, sp.S.One),
            Identity(real * y + imaginary * (x - x1), sp.S.Zero),
            Identity(sp.diff(angle, x), -imaginary),
            Inequality(-imaginary, ">"),
            Limit(-imaginary, y, sp.S.Zero, sp.S.Zero, "+", on=apart),
        ),
        formula=r"\rho(x) = -\frac1\pi\lim_{\epsilon\to0^+}\mathrm{Im}\,G(x+i\epsilon)",
    )


@result(
    ledger=("naitsaada2023.mgf-def",),
    domain=Domain(
        (u, x1),
        conditions=(sp.Ne(u * x1, 1),),
        hypotheses=(meaning("z = 1/u is not in the spectrum", u, x1),),
    ),
    uses=("random_matrices.stieltjes_transform",),
)
def moment_transform() -> Conjunction:
    """The moment transform, zG(z) - 1, generates the moments: for a unit mass it is a geometric series in 1/z.

    The second fact is the remainder after five terms, exactly. Both sides are linear in the law.
    """
    from_g = (1 / u) / (1 / u - x1) - 1
    powers = sp.Add(*((x1 * u) ** k for k in range(1, ORDER + 1)))
    nonzero = Domain(
        (u, x1),
        conditions=(sp.Ne(u * x1, 1), sp.Ne(u, 0)),
        hypotheses=(meaning("z = 1/u is not in the spectrum, and finite", u, x1),),
    )
    return Conjunction(
        Identity(from_g, x1 * u / (1 - x1 * u), on=nonzero),
        Identity(x1 * u / (1 - x1 * u), powers + (x1 * u) ** (ORDER + 1) / (1 - x1 * u), name="M(1/u)"),
        Identity(
            Series.of(x1 * u / (1 - x1 * u), u, ORDER),
            moment_series(tuple(x1**k for k in range(1, ORDER + 1))),
        ),
    )


FIRST = stated("Sec. 3.1, where S divides by M⁻¹, which exists for m_1 ≠ 0", "m_1 ≠ 0", a1, b1)
nonzero_mean = Domain(
    (a1, a2, a3), (), (Cell("m_1 > 0", {a1: 1}), Cell("m_1 < 0", {a1: -1})), hypotheses=(FIRST,)
)


@result(ledger=("naitsaada2023.s-transform-def",), domain=nonzero_mean)
def s_transform() -> Conjunction:
    """The S-transform as a series: S(z) = 1/m_1 - (m_2 - m_1²)/m_1³ z + …

    The second fact is that ψ⁻¹, from which it is made, is the inverse of ψ, coefficient by coefficient.
    """
    psi = moment_series((a1, a2, a3), z)
    identity = Series([0, 1, 0, 0], z)
    expected = Series([1 / a1, -(a2 - a1**2) / a1**3], z)
    return Conjunction(
        Identity(s_series((a1, a2, a3)).cut(1), expected, name=r"S(z) = \frac{1+z}{zM^{-1}(z)}"),
        Identity(psi.compose(psi.reversion()), identity),
    )


scaled = Domain(
    (a1, a2, a3, c),
    (),
    (Cell("m_1 > 0", {a1: 1, c: 1}), Cell("m_1 < 0", {a1: -1, c: 1})),
    hypotheses=(FIRST, stated("A.10", "a factor σ > 0", c)),
)


@result(ledger=("naitsaada2023.s-scaling-law",), domain=scaled, uses=("random_matrices.s_transform",))
def scaling() -> Identity:
    """A factor of the matrix divides its S-transform: m_k becomes c^k m_k, ψ(u) becomes ψ(cu), S becomes S/c."""
    plain = s_series((a1, a2, a3))
    return Identity(s_series((c * a1, c**2 * a2, c**3 * a3)), plain.map(lambda s: s / c), name="S_{cB}(z)")


both_means = Domain(
    (a1, a2, a3, b1, b2, b3), (), (Cell("m_1 > 0 of both", {a1: 1, b1: 1}),), hypotheses=(FIRST,)
)


def free_moments() -> tuple[Any, ...]:
    """τ((ab)^k) for free a and b, k ≤ 3, by free cumulants of a: Σ over non-crossing partitions."""
    k2, k3 = a2 - a1**2, a3 - 3 * a2 * a1 + 2 * a1**3
    return (
        a1 * b1,
        k2 * b1**2 + a1**2 * b2,
        k3 * b1**3 + 3 * k2 * a1 * b1 * b2 + a1**3 * b3,
    )


@result(ledger=("naitsaada2023.s-multiplicative",), domain=both_means, uses=("random_matrices.s_transform",))
def multiplicativity() -> Existence:
    """S of a product of free variables is the product of their S, to third order.

    τ((ab)^k) = Σ_π κ_π[a] τ_{K(π)}[b] over non-crossing partitions π with their complements K(π) says what the moments
    of a product are; the facts are that they are those of S_a S_b. That it is so to all orders is Voiculescu's theorem,
    and that Haar-rotated matrices become free as they grow is another one.
    """
    product = s_series((a1, a2, a3)) * s_series((b1, b2, b3))
    found = moments_of(product)
    return Existence(
        r"$S_{ab}=S_aS_b$ for free $a$ and $b$ with means that are not zero (Voiculescu 1987)",
        tuple(
            Identity(free, by_s, name=rf"\tau((ab)^{k})")
            for k, (free, by_s) in enumerate(zip(free_moments(), found, strict=True), 1)
        ),
        formula=r"S_{ab}(z) = S_a(z)\,S_b(z)",
    )
