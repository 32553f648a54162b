r"""What bias-free two-layer networks can represent, with any number of neurons.

As σ(tz) = tσ(z) for t > 0, f(tx) = t f(x): on a ray from the origin f is linear, and limits of such functions are so
too. Neither sin x_1 nor ‖x‖² is one. And since σ(z) - σ(-z) = (1 + γ) z, the odd part of f is linear,

    f(x) - f(-x) = (1 + γ) Σ_k a_k w_kᵀx.

So limits are sums of a linear function and an even one, continuous and positively homogeneous; x_1³/‖x‖² is none.

All of these occur. As σ(z) = (1+γ)/2 z + (1-γ)/2 |z|, what is left is to approximate an even function on the sphere by
Σ_k b_k |w_kᵀx|, that is by ∫|wᵀx| dμ(w). This integral multiplies each spherical harmonic of even degree n by a number
that is not zero. By the formulas of Funk and Hecke and of Rodrigues, and by parts, it is up to non-zero factors the
derivative of order n - 2 of (1 - t²)^ν at t = 0, ν = n + (d - 3)/2, whose Taylor coefficient is ± the binomial
C(ν, n/2 - 1). So every even harmonic is reached, and with them all even continuous functions. In the plane
∫_0^π |sin u| cos(2mu) du = 2/(1 - 4m²).

The paper claims all continuous functions that vanish at the origin (kunin2024, App. C.2).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.symbols import dimension, g_of, gamma, j, m, s, t, z
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Existence, Identity, Inequality

rest, more = sp.symbols("rest more", real=True)
SLOPE = {gamma: rest / (1 + rest)}


def sigma(value: sp.Expr) -> sp.Expr:
    """max(value, γ value)."""
    return sp.Max(value, gamma * value)


activations = Domain(
    (z, gamma, t),
    (),
    tuple(
        Cell(f"z {text} 0", {z: sign, t: 1, rest: 1}, SLOPE, "0 < γ < 1; γ = 0 by continuity")
        for text, sign in ((">", 1), ("<", -1))
    ),
    hypotheses=(meaning("z ≠ 0, where |z| is not smooth; all that is claimed is continuous there", z),),
)
degrees = Domain(
    (m, dimension, j),
    (),
    (
        Cell(
            "m ≥ 1, d ≥ 2, j ≤ m - 2",
            {rest: 1, more: 1, j: 1},
            {m: 2 + j + rest, dimension: 2 + more},
            "j < m - 1 and d > 1",
        ),
    ),
)


@result(
    ledger=("kunin2024.pw-universal-approximation",),
    domain=activations,
    uses=("piecewise_linear.activation",),
)
def representable_functions() -> Existence:
    """With any number of neurons: a linear function plus an even, positively homogeneous one, and nothing else.

    The first three facts are the two necessary conditions and the form in |z|. Then what |wᵀx| does to the harmonics of
    even degree 2m: in the plane 1/(1 + 2m) + 1/(1 - 2m), not zero; in dimension d up to factors that are not zero
    Π_{j<m-1}(ν - j) with ν = 2m + (d - 3)/2, all of it positive.
    """
    in_the_plane = Domain((m,), (), (Cell("m ≥ 1", {m: 1}),), conditions=(m >= 1,))
    return Existence(
        r"the limits of $\sum_ka_k\sigma(w_k^\top x)$ are the sums of a linear function and an even continuous one"
        r" with $f(tx)=tf(x)$, $t>0$",
        (
            Identity(sigma(t * z), t * sigma(z), name=r"\sigma(tz)"),
            Identity(sigma(z) - sigma(-z), (1 + gamma) * z, name=r"\sigma(z)-\sigma(-z)"),
            Identity(sigma(z), (1 + gamma) / 2 * z + (1 - gamma) / 2 * sp.Abs(z), name=r"\sigma(z)"),
            Identity(1 / (1 + 2 * m) + 1 / (1 - 2 * m), 2 / (1 - 4 * m**2), on=in_the_plane),
            Inequality(2 * m + (dimension - 3) / 2 - j, ">", on=degrees),
        ),
        formula=r"f(tx) = t f(x), \quad f(x) - f(-x) = (1 + \gamma) \sum_k a_k w_k^\top x",
    )


@printed(
    "kunin2024.pw-universal-approximation",
    quote=r"can represent any continuous nonlinear function $\mathbb R^d\to\mathbb R$ passing through the origin",
    domain=Domain((s, t), (), (Cell("t > 0", {t: 1}),), functions=(g_of(s), g_of(t * s))),
    severity="substantive",
)
def printed_representable_functions() -> Identity:
    """As printed, for d = 1 and the functions s g(s), continuous and zero at the origin, with any g.

    What networks approach has the value t f(s) at ts, and these functions do not.
    """
    return Identity(t * s * g_of(t * s), t * (s * g_of(s)), name="f(ts)")
