r"""The read-out weight from ν, and with it everything: the way of the paper for δ > 0 (kunin2024, App. A.2.3).

Where a ≠ 0 the equation of a is one of Bernoulli, a' = a (η_a ν + δ - η_w a²), linear in 1/a². With ν(t) known its
solution is an integral of elementary functions. The paper prints it for η_a = η_w = 1 through

    Y(t) = R t + artanh((2η_a ν_0 + δ)/(2R)),        η_a ν = R tanh Y - δ/2.

The inverse hyperbolic tangent is real if and only if (η_a ν_0)² + δ η_a ν_0 < η_a η_w‖β_*‖². Starts beyond exist
upstream too: a_0 = 2, w_0 = 1, β_* = 1 in one dimension has δ = 3, ν_0 = 1/2 and 1/4 + 3/2 > 1. There the formula
holds in the complex sense, Y having the imaginary part π/2; with equality (at a minimum, for one) it reads 0/0.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.coordinates.planar import (
    MODES,
    UNIT,
    WHITENED,
    any_rates,
    by_modes,
    gap,
    low,
    modes,
    plane,
    product_one,
    starts,
    unit_rates,
    weights,
    whitened,
)
from derivations.single_neuron.solution.riccati import in_plane, nu_closed
from derivations.single_neuron.solution.unified import E2_closed, P_closed, without_overflow
from derivations.single_neuron.symbols import (
    a,
    a0,
    beta_star,
    delta,
    eta_a,
    eta_w,
    nu,
    nu0,
    omega0,
    s,
    t,
    w,
)
from symdyn.calculus.gram import inner, norm, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, meaning, standing, stated
from symdyn.statements.kinds import Dynamics, Existence, Identity, Inequality

R = modes[2]
REAL_ANGLE = "ν_0² + δν_0 < ‖β_*‖², for otherwise the inverse hyperbolic tangent is not real"
REAL = f"{UNIT}; and {REAL_ANGLE}"

_z = sp.Symbol("z", real=True)


def real_angle(rates: Cell, sign: int) -> Cell:
    """Coordinates in which Y is real: those of the modes, and e^{2Y(0)} = z."""
    plus, minus = (low + gap, low) if sign > 0 else (low, low + gap)
    ratio = (minus * _z - plus) / (1 + _z) / eta_a
    where = {**by_modes(sign), nu0: ratio, omega0: a0 * ratio}
    return Cell(
        f"{rates.name}, δ {'>' if sign > 0 else '<'} 0, Y real",
        {**rates.signs, t: 1, a0: 1, low: 1, gap: 1, _z: 1},
        {**rates.where, **{x: value.xreplace(dict(rates.where)) for x, value in where.items()}},
        "every δ of this sign, ‖β_*‖ and ν_0 with a real inverse hyperbolic tangent",
    )


def real_starts(rates: Cell, sign: int = 1) -> Domain:
    """Starts with a_0 > 0, δ of the given sign and Y real."""
    words = f"δ {'>' if sign > 0 else '<'} 0, a_0 > 0, the artanh in Y real"
    place = "App. A.2.3" if sign > 0 else "App. A.2.4"
    hypotheses = (
        stated(place, f"δ {'>' if sign > 0 else '<'} 0", delta),
        standing("App. A.2.3", "a_0 > 0 without loss of generality", a0 > 0),
        added(REAL_ANGLE, _z),
        MODES,
        WHITENED,
    )
    return Domain((t, a0, eta_a, eta_w), cells=(real_angle(rates, sign),), words=words, hypotheses=hypotheses)


def angle(length: sp.Expr, ratio: sp.Expr) -> sp.Expr:
    """Y(t) for η_a = η_w = 1."""
    root = sp.sqrt(delta**2 + 4 * length**2)
    return root * t / 2 + sp.atanh((2 * ratio + delta) / root)


def printed_square_bracket(length: sp.Expr, start: sp.Expr, b0: sp.Expr) -> sp.Expr:
    """sech²Y times the bracket under the root of the printed a(t)."""
    root, y = sp.sqrt(delta**2 + 4 * length**2), angle(length, b0 / start)
    growth = sp.exp(t * delta)
    fixed = (delta**2 + 4 * length**2) * (length**2 * (delta - start**2) + b0**2)
    fixed = fixed / (b0**2 - start**2 * length**2 + start * b0 * delta)
    moving = delta * growth * (delta * sp.cosh(2 * y) - root * sp.sinh(2 * y))
    return sp.sech(y) ** 2 * (4 * growth * length**2 - fixed - moving)


@result(ledger=("kunin2024.upstream-a-bernoulli",), domain=in_plane, uses=("single_neuron.planar_dynamics",))
def readout_dynamics() -> Dynamics:
    """The Bernoulli equation of a driven by ν, for all rates."""
    return Dynamics(a, a * (eta_a * nu + delta - eta_w * a**2), under=plane)


@printed(
    "kunin2024.upstream-a-bernoulli",
    quote=r"$\dot a=a(\nu(t)+\delta-a^2)$",
    domain=weights(product_one, also={nu: inner(w, beta_star) / a}),
    hypothesis=UNIT,
    under=weights(unit_rates, also={nu: inner(w, beta_star) / a}),
)
def printed_readout_dynamics() -> Dynamics:
    """As printed, without the rates."""
    return Dynamics(a, a * (nu + delta - a**2), under=whitened)


@result(
    ledger=("kunin2024.upstream-b0-Y",),
    domain=real_starts(any_rates),
    uses=("single_neuron.nu_solution",),
    requires=(
        (
            "such that |2 η_a nu0 + δ| < 2R, or Y is not real",
            (2 * eta_a * nu0 + delta) ** 2 < 4 * R**2,
            "nu0",
        ),
    ),
    hypotheses=(added(REAL_ANGLE, (2 * eta_a * nu0 + delta) ** 2 < 4 * R**2),),
)
def nu_by_angle() -> Identity:
    """ν through the angle Y, for all rates: η_a ν = R tanh Y - δ/2."""
    y = R * t + sp.atanh((2 * eta_a * nu0 + delta) / (2 * R))
    return Identity(eta_a * nu_closed, R * sp.tanh(y) - delta / 2, name=r"\eta_a \nu(t)")


@printed(
    "kunin2024.upstream-b0-Y",
    quote=r"$b_0=w_0^\top\beta_*$, $Y(t)=\frac12\sqrt{\delta^2+4\|\beta_*\|^2}\,t+\mathrm{atanh}",
    domain=starts(unit_rates, product_one, also={nu0: omega0 / a0}, conditions=(delta > 0,)),
    hypothesis=REAL,
    under=real_starts(unit_rates),
    hypotheses=(
        stated("App. A.2.3", "δ > 0", delta > 0),
        standing("App. A.2.1", "η_a η_w = 1, also with η_a = η_w = 1", eta_a, eta_w),
    ),
)
def printed_angle() -> Existence:
    """As printed: Y is a real number, and ν + δ/2 is R times its hyperbolic tangent."""
    root = sp.sqrt(delta**2 + 4 * s**2)
    return Existence(
        "$Y(t)$ is well defined",
        because=(
            Inequality(((2 * omega0 / a0 + delta) / root) ** 2, "<", 1),
            Identity(nu_closed, root / 2 * sp.tanh(angle(s, omega0 / a0)) - delta / 2),
        ),
    )


def inverse_square() -> sp.Expr:
    """1/a² in closed form, for δ ≠ 0 of either sign and all rates.

    The rates enter by a → √η_w a, ‖β_*‖ → √(η_a η_w)‖β_*‖ and b_0 → η_a √η_w b_0.
    """
    length, start = sp.sqrt(eta_a * eta_w) * s, sp.sqrt(eta_w) * a0
    bracket = printed_square_bracket(length, start, eta_a * sp.sqrt(eta_w) * omega0)
    return bracket * eta_w / (4 * sp.exp(t * delta) * length**2 * delta)


@result(
    ledger=("kunin2024.upstream-a-closed-form",),
    domain=real_starts(any_rates),
    uses=("single_neuron.solution_for_every_balance",),
)
def upstream_readout() -> Identity:
    """The closed form of 1/a(t)² for all rates, where Y is real: it is E²/P² of the exact solution."""
    top, _, square = without_overflow()
    return Identity(E2_closed / P_closed**2, inverse_square(), name="a^{-2}", compiles=square / top**2)


@printed(
    "kunin2024.upstream-a-closed-form",
    quote=r"For $a_0>0$: $a(t)=2e^{t\delta/2}\|\beta_*\|\sqrt\delta\Big(\mathrm{sech}^2(Y)\big[",
    domain=starts(product_one, conditions=(delta > 0, a0 > 0)),
    hypothesis=REAL,
    under=real_starts(unit_rates).restrict(
        printed_square_bracket(s, a0, omega0) > 0,
        hypotheses=(meaning("the bracket is positive: by upstream_readout it is 4e^{δt}‖β_*‖²δ/a²"),),
    ),
    hypotheses=(
        stated("App. A.2.3", "δ > 0", delta > 0),
        standing("App. A.2.3", "a_0 > 0 without loss of generality", a0 > 0),
    ),
)
def printed_readout() -> Identity:
    """As printed, against the exact solution."""
    printed_a = (
        2 * sp.exp(t * delta / 2) * s * sp.sqrt(delta) / sp.sqrt(printed_square_bracket(s, a0, omega0))
    )
    return Identity(printed_a, P_closed / sp.sqrt(E2_closed))


nonzero = {norm2(w): 1, norm2(beta_star): 1}


@result(
    ledger=("kunin2024.upstream-mu-phi-from-nu-a",),
    domain=weights(
        replace(any_rates, signs={**any_rates.signs, **nonzero}), also={nu: inner(w, beta_star) / a}
    ),
    requires=(
        ("of a square above δ/η_w, as ‖w‖² is positive", eta_w * a**2 - delta > 0, "a"),
        ("positive", s > 0, "s"),
    ),
    hypotheses=(
        stated("App. A.2.1, where φ is defined", "w ≠ 0, η_w a² > δ", norm2(w), eta_w * a**2 - delta > 0),
        stated("App. A.2.3, where ν is defined", "a ≠ 0, by which ν divides"),
    ),
)
def mu_phi_from_nu_a() -> Identity:
    """‖w‖², μ and φ from ν and a, for all rates: ‖w‖² = (η_w a² - δ)/η_a, μ = a‖w‖, φ = aν/(‖w‖‖β_*‖)."""
    square = (eta_w * a**2 - delta) / eta_a
    length = norm(w)
    return Identity(
        (norm2(w), a * length, inner(w, beta_star) / (length * norm(beta_star))),
        (square, a * sp.sqrt(square), a * nu / (sp.sqrt(square) * s)),
        name=r"(\|w\|^2, \mu, \phi)",
    )


@printed(
    "kunin2024.upstream-mu-phi-from-nu-a",
    quote=r"$\|w\|^2=a^2-\delta$, $\mu=a\|w\|$, $\phi=a\nu/(\|w\|\|\beta_*\|)$",
    domain=weights(
        replace(unit_rates, signs=nonzero), also={nu: inner(w, beta_star) / a}, conditions=(delta > 0,)
    ),
    hypotheses=(
        stated("App. A.2.3", "δ > 0", delta > 0),
        stated("App. A.2.3", "η_a = η_w = 1, and w ≠ 0 where φ is defined", eta_a, eta_w, norm2(w)),
    ),
)
def printed_mu_phi_from_nu_a() -> Identity:
    """As printed, for η_a = η_w = 1."""
    length = sp.sqrt(a**2 - delta)
    return Identity(
        (norm2(w), a * norm(w), inner(w, beta_star) / (norm(w) * norm(beta_star))),
        (length**2, a * length, a * nu / (length * s)),
    )
