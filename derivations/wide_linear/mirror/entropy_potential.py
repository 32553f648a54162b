r"""The mirror flow of the singular values: hyperbolic entropy, between |λ| and λ².

The singular values of an isotropic network move by λ̇ = -κ ∇_λ L with κ² = δ² + 4 η_a η_w λ². Where h ≥ min(d, c) this
holds for all of them, and for δ ≠ 0 the speed κ is positive, so that 1/κ is the second derivative of a potential,

    q_δ(λ) = (2ρλ asinh(2ρλ/|δ|) - √(4ρ²λ² + δ²) + |δ|)/(4ρ²),        ρ² = η_a η_w.

For large |δ| it is λ²/(2|δ|), for small |δ| it is |λ| log(1/|δ|)/(2ρ) up to smaller terms: scaled, the squared and the
absolute value (kunin2024, App. B.1.7, Theorem 11).
"""

from __future__ import annotations

import sympy as sp

from derivations.wide_linear.solution.singular_values import (
    DISTINCT,
    TWO_VALUES,
    balanced_apart,
    balanced_two,
    first_velocities,
    isotropic_velocities,
)
from derivations.wide_linear.symbols import delta, eta_a, eta_w, length, sigma
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Existence, Identity, Inequality

size = sp.Abs(delta)
rho = sp.sqrt(eta_a * eta_w)
kappa = sp.sqrt(delta**2 + 4 * eta_a * eta_w * sigma**2)
potential = (2 * rho * sigma * sp.asinh(2 * rho * sigma / size) - kappa + size) / (4 * rho**2)
dual = sp.asinh(2 * rho * sigma / size) / (2 * rho)
without_cancellation = sigma * dual - sigma**2 / (kappa + size)
"""The potential where κ and |δ| are almost equal."""

RATES = {eta_a: 1, eta_w: 1}
CELLS = (Cell("δ > 0", {delta: 1, **RATES}), Cell("δ < 0", {delta: -1, **RATES}))
unbalanced = Domain((sigma, delta, eta_a, eta_w), cells=CELLS, words="δ ≠ 0")
arguments = ("sigma", "delta", "eta_a", "eta_w")
requires = (("non-zero", sp.Ne(delta, 0), "delta"),)


@result(
    ledger=("kunin2024.thm11-hyperbolic-entropy",), domain=unbalanced, arguments=arguments, requires=requires
)
def entropy() -> Conjunction:
    """Hyperbolic entropy is convex with the second derivative 1/κ, and its first derivative is the dual variable."""
    return Conjunction(
        Identity(potential, without_cancellation, name=r"q_\delta"),
        Identity(sp.diff(potential, sigma), dual, name=r"q_\delta'"),
        Identity(sp.diff(dual, sigma), 1 / kappa, name=r"q_\delta''"),
        Inequality(1 / kappa, ">"),
        Identity((potential.subs(sigma, 0), dual.subs(sigma, 0)), (0 * delta, 0 * delta)),
        compiles=without_cancellation,
    )


@printed(
    "kunin2024.thm11-hyperbolic-entropy",
    quote=r"$q_\delta(x)=\frac14\big(2x\sinh^{-1}(2x/|\delta|)-\sqrt{4x^2+\delta^2}+|\delta|\big)$",
    domain=Domain(
        (sigma, delta), cells=(Cell("δ > 0", {delta: 1}), Cell("δ < 0", {delta: -1})), words="δ ≠ 0"
    ),
)
def printed_entropy() -> Identity:
    """As printed, for unit rates."""
    root = sp.sqrt(4 * sigma**2 + delta**2)
    q = (2 * sigma * sp.asinh(2 * sigma / size) - root + size) / 4
    return Identity(sp.diff(q, sigma, 2), 1 / sp.sqrt(delta**2 + 4 * sigma**2))


@result(
    ledger=("kunin2024.thm11-mirror-flow",),
    domain=unbalanced,
    uses=("wide_linear.singular_value_dynamics", "wide_linear.entropy"),
    hypotheses=(
        stated("App. B.1.7, Theorem 11", "Δ = δ I_h, h ≥ min(d, c) and δ ≠ 0", delta),
        added(DISTINCT),
    ),
)
def mirror_flow() -> Existence:
    """For h ≥ min(d, c) and δ ≠ 0 the signed, analytic singular values follow a mirror flow, of hyperbolic entropy.

    The Hessian of the sum of the potentials is diagonal, with the inverse of the speeds κ_i, none of which is zero.
    """
    return Existence(
        r"$\dot\lambda=-(\nabla^2\Phi_\delta(\lambda))^{-1}\nabla_\lambda\mathcal L$ with "
        r"$\Phi_\delta(\lambda)=\sum_iq_\delta(\lambda_i)$",
        (
            Identity(kappa * sp.diff(potential, sigma, 2), sp.S.One, name=r"M_{ii}\,q_\delta''(\lambda_i)"),
            Inequality(kappa, ">"),
            Inequality(kappa, ">=", size),
        ),
    )


def _unbalanced(domain: Domain) -> Domain:
    """The cells of two singular values for δ ≠ 0."""
    return domain.with_cells(
        *(
            Cell(f"{cell.name}, δ {text} 0", {**cell.signs, delta: sign}, cell.where, cell.reason)
            for cell in domain.cells
            for text, sign in ((">", 1), ("<", -1))
        )
    )


@printed(
    "kunin2024.thm11-mirror-flow",
    quote=r"$\dot\lambda=-(\nabla^2\Phi_\delta(\lambda))^{-1}\nabla_\lambda\mathcal L$",
    domain=_unbalanced(balanced_two),
    hypothesis=DISTINCT,
    under=_unbalanced(balanced_apart),
    hypotheses=(TWO_VALUES,),
)
def printed_mirror_flow() -> Existence:
    """As printed, for the singular values; 1/q_δ″ = κ_i, and the v_ij are the entries of the gradient UᵀGV."""
    return first_velocities(isotropic_velocities())


positive = Domain(
    (length, delta),
    cells=(Cell("λ ≠ 0", {length: 1, delta: 1}),),
    words="δ ≠ 0, λ ≠ 0",
    hypotheses=(meaning("δ stands for |δ| > 0, of which alone the potential is a function", delta > 0),),
)


def scaled(z: sp.Expr, size: sp.Expr) -> sp.Expr:
    """ρ² q_δ(λ) as a function of z = 2ρλ and |δ|."""
    return (z * sp.asinh(z / size) - sp.sqrt(z**2 + size**2) + size) / 4


@result(
    ledger=("kunin2024.hyperbolic-entropy-interpolation",), domain=positive, uses=("wide_linear.entropy",)
)
def entropy_limits() -> Existence:
    """Scaled, the potential tends to |λ| for δ → 0 and to λ² for δ → ±∞: nuclear and Frobenius norm of β.

    It depends on |λ| and |δ| alone; let ℓ = 2ρ|λ|. For small |δ| it is log(1/|δ|) times |λ|/(2ρ) up to what stays
    bounded, so that the approach is slow; for large |δ| it is λ²/(2|δ|) up to O(1/|δ|³).
    """
    even, at = {sigma: -sigma, delta: -delta}, scaled(length, delta)
    return Existence(
        r"$2\rho\,q_\delta(\lambda)/\log(1/|\delta|)\to|\lambda|$ for $\delta\to0$, "
        r"$2|\delta|\,q_\delta(\lambda)\to\lambda^2$ for $\delta\to\pm\infty$, with $\rho^2=\eta_a\eta_w$",
        (
            Identity(potential, scaled(2 * rho * sigma, size) / rho**2, on=unbalanced),
            Identity(potential.xreplace(even), potential, on=unbalanced),
            Asymptotic(at, length / 4 * sp.log(1 / delta), delta, sp.S.Zero, sp.S.One),
            Asymptotic(at, length**2 / (8 * delta), delta, sp.oo, delta**-3, sharp=True),
        ),
    )
