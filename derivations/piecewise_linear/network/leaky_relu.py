r"""The activation σ(z) = max(z, γz), of which the ReLU (γ = 0) and the leaky ReLU (0 < γ < 1) are special cases.

Its slope is 1 on the right and γ on the left, and at zero any c in [γ, 1] supports it from below, σ(z) ≥ cz. In all
three cases σ(z) = cz. That makes it positively homogeneous, and a network of fixed slopes is linear (kunin2024,
Sec. 5 and App. C.2).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.symbols import c, gamma, t, z
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Definition, Identity, Inequality

sigma = sp.Max(z, gamma * z)
below, above = sp.symbols("below above", real=True)

slopes = {gamma: 1 - below - above, c: 1 - above}
"""γ = c - below and c = 1 - above: the slopes γ ≤ c ≤ 1."""

POSITIVE = Cell("z > 0", {z: 1, below: 1, above: 1, t: 1}, slopes, "γ < c < 1")
NEGATIVE = Cell("z < 0", {z: -1, below: 1, above: 1, t: 1}, slopes, "γ < c < 1")
ZERO = Cell("z = 0", {below: 1, above: 1, t: 1}, {z: sp.S.Zero, **slopes}, "γ < c < 1")
SIDES = stated("App. C.2", "the slope is 1 for z > 0, γ for z < 0, and in [γ, 1] for z = 0", z)
leaky = Domain(
    (z, gamma, c, t),
    (),
    (POSITIVE, NEGATIVE, ZERO),
    conditions=(gamma >= 0,),
    words="0 ≤ γ < 1",
    hypotheses=(SIDES,),
)


below_one = ("at least 0 and below 1", (gamma >= 0) & (gamma < 1), "gamma")


@result(ledger=("kunin2024.pw-activation",), domain=leaky, arguments=("z", "gamma"), requires=(below_one,))
def activation() -> Conjunction:
    """The activation, its slopes on both sides and at zero, and that it is the slope times its argument.

    The slopes at zero are those c with σ(z) ≥ cz for all z: z = 1 and z = -1 say c ≤ 1 and c ≥ γ, which is enough.
    """
    right, left, zero = (leaky.with_cells(cell) for cell in (POSITIVE, NEGATIVE, ZERO))
    return Conjunction(
        Definition(r"\sigma(z)", sigma),
        Identity(sigma, z, on=right, name=r"\sigma(z)"),
        Identity(sigma, gamma * z, on=left, name=r"\sigma(z)"),
        Identity(sigma, c * z, on=zero, name=r"\sigma(0)"),
        Inequality(sigma, ">=", c * z),
        Identity(sp.Max(t * z, gamma * t * z), t * sigma, name=r"\sigma(tz)"),
        compiles=sigma,
    )
