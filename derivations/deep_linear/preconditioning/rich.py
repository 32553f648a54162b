r"""The rich limit δ → 0 of an isotropic network.

At a fixed β ≠ 0 the balance is δ = ‖β‖² s^{-L} - s, which falls as s grows. So s is a continuous function of δ, and
with it ‖a‖² = s + δ and W_1ᵀW_1 = ββᵀ/s^L - δ I. At δ = 0 it is s = ‖β‖^{2/(L+1)}. What Lemma 14 says becomes

    M = ‖β‖^{2L/(L+1)} I + L ‖β‖^{-2/(L+1)} ββᵀ.

Across β this is ‖β‖^{2L/(L+1)}, along β L + 1 times as much. So its inverse subtracts in the direction of β, where
the paper adds: the formula of Sherman and Morrison has a minus there (kunin2024, App. B.2, proof of Theorem 15).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.deep_linear.symbols import L, beta, s
from derivations.deep_linear.symbols import x as x_value
from symdyn.calculus.gram import norm2
from symdyn.calculus.isotropic import Isotropic, identity
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Existence, Identity, Inequality

x = norm2(beta)
log_norm, rho = sp.symbols("y rho", real=True)

NONZERO = Cell(
    "β ≠ 0",
    {rho: 1},
    where={x: sp.exp(2 * log_norm), L: 1 / rho - 1},
    reason="‖β‖ > 0 is an exponential, and ρ = 1/(L + 1) makes the exponents polynomials",
)


def drawn(rng: random.Random, dimension: int) -> dict[Any, Any]:
    """A vector β with the logarithm of its length."""
    values = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(dimension)]
    return {beta: values, log_norm: sp.log(sum(b * b for b in values)) / 2}


nonzero = Domain((L,), (beta,), (NONZERO,), conditions=(L > 0,), sampler=drawn, words="δ → 0, β ≠ 0")

at_fixed_beta = Domain(
    (x_value, s, L),
    (),
    (Cell("s > 0", {x_value: 1, L: 1}, where={s: sp.exp(log_norm)}, reason="s > 0 is an exponential"),),
)

layered = ("positive", L > 0, "L")
invertible = (("a non-zero vector", x > 0, "beta"), layered)

readout = x ** (1 / (L + 1))
"""‖a‖² and s at δ = 0."""
gram = Isotropic.unnormalised(0, x ** (-L / (L + 1)), x, beta)
M = Isotropic.unnormalised(x ** (L / (L + 1)), L * x ** (-1 / (L + 1)), x, beta)
M_inverse = Isotropic.unnormalised(x ** (-L / (L + 1)), -L / (L + 1) * x ** (-(2 * L + 1) / (L + 1)), x, beta)


@result(
    ledger=("kunin2024.deep-delta0-gram",),
    domain=nonzero,
    uses=("deep_linear.norm_of_beta", "deep_linear.outer_product_of_beta", "deep_linear.first_layer"),
)
def rich_gram() -> Existence:
    """The read-out and the first layer as functions of β, in the limit δ → 0 at a fixed β ≠ 0.

    As δ = ‖β‖² s^{-L} - s falls strictly with s, s and then ‖a‖² = s + δ and W_1ᵀW_1 = ββᵀ/s^L - δ I are continuous
    in δ (in a network that is not square, 0 may stand for -δ across β). Their values at δ = 0 are these.
    """
    falling = x_value * s ** (-L) - s
    return Existence(
        r"$\delta=\|\beta\|^2s^{-L}-s$ falls with s, and vanishes for $s=\|a\|^2=\|\beta\|^{2/(L+1)}$",
        (
            Inequality(sp.diff(falling, s), "<", on=at_fixed_beta),
            Identity(x * readout ** (-L), readout, name=r"\|\beta\|^2s^{-L}"),
            Identity(readout * readout**L, x, name=r"\|a\|^{2(L+1)}"),
            Identity(Isotropic.unnormalised(0, readout ** (-L), x, beta), gram, name=r"\beta\beta^\top/s^L"),
            Identity(gram.radial, readout, name=r"\|W_1^\top W_1\|"),
        ),
        formula=r"\|a\|^2 = \|\beta\|^{\frac{2}{L+1}}, \quad"
        r" W_1^\top W_1 = \|\beta\|^{-\frac{2L}{L+1}} \beta\beta^\top",
    )


@result(
    ledger=("kunin2024.deep-delta0-M",),
    domain=nonzero,
    arguments=("beta", "L"),
    requires=invertible,
    uses=("deep_linear.rich_gram", "deep_linear.isotropic_dynamics", "deep_linear.closed_preconditioner"),
)
def rich_preconditioner() -> Characterised:
    """The preconditioner in the rich limit, from Lemma 14 with ‖a‖² = s and W_1ᵀW_1 of rank one.

    Across β the first L - 1 powers of W_1ᵀW_1 in Lemma 14 vanish and the identity is left, with ‖a‖² s^{L-1}; along β
    there are L + 1 equal terms.
    """
    across, along = readout * readout ** (L - 1), readout**L + L * readout * readout ** (L - 1)

    def facts(value: Isotropic) -> tuple[Identity, ...]:
        return (
            Identity(Isotropic(across, along - across, x, beta), value, name="M"),
            Identity(Isotropic.unnormalised(readout**L, L / readout, x, beta), value, name="M"),
        )

    return Characterised.of(M, facts, name=r"M")


@result(
    ledger=("kunin2024.deep-delta0-M-inverse",),
    domain=nonzero,
    arguments=("beta", "L"),
    requires=invertible,
    uses=("deep_linear.rich_preconditioner",),
)
def rich_inverse() -> Characterised:
    """The inverse of the preconditioner in the rich limit."""

    def facts(value: Isotropic) -> tuple[Identity, ...]:
        return (Identity(M @ value, identity(x, beta)), Identity(M.inverse(), value))

    return Characterised.of(M_inverse, facts, name=r"M^{-1}")


@printed(
    "kunin2024.deep-delta0-M-inverse",
    quote=r"$M^{-1}=\|\beta\|^{-\frac{2L}{L+1}}\mathbf I_d+\frac L{L+1}\|\beta\|^{-\frac{4L+2}{L+1}}\beta\beta^\top$",
    domain=nonzero,
    severity="typo",
)
def printed_rich_inverse() -> Identity:
    """As printed, with a plus: for L = d = 1 the product M M⁻¹ would be 3 instead of 1.

    The next line of the proof uses the right one.
    """
    value = Isotropic.unnormalised(x ** (-L / (L + 1)), L / (L + 1) * x ** (-(2 * L + 1) / (L + 1)), x, beta)
    return Identity(M @ value, identity(x, beta), name="M M^{-1}")
