r"""The ratios ν = ω/a and υ = a/ω, each with a Riccati equation of its own and a closed form.

Dividing the equations of the plane, the cubic terms cancel. For all rates

    ν' = η_w s² - δ ν - η_a ν²,        υ' = η_a + δ υ - η_w s² υ²,

which are one equation under ν ↔ υ, δ ↔ -δ, η_w s² ↔ η_a: hence the solutions are similar, as the paper says without
writing the second. ν is finite while a ≠ 0, υ while ω ≠ 0; where a passes through zero, ν has a simple pole and υ is
smooth (kunin2024, App. A.2.3 and A.2.4, printed for η_a = η_w = 1).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.coordinates.planar import (
    COMPUTED,
    POSITIVE,
    UNIT,
    WHITENED,
    modes,
    plane,
    product_one,
    starts,
    unit_rates,
    weights,
    whitened,
)
from derivations.single_neuron.symbols import (
    a,
    a0,
    beta_star,
    delta,
    eta_a,
    eta_w,
    nu,
    nu0,
    omega,
    s,
    t,
    t_c,
    upsilon,
    upsilon0,
    w,
    w0,
)
from symdyn.calculus.gram import inner
from symdyn.catalogue.result import printed, result
from symdyn.compile.named import expm1_ratio as phi1
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Dynamics, Existence, Identity, Limit, Solution

plus, minus, R = modes
nu_velocity = eta_w * s**2 - delta * nu - eta_a * nu**2
upsilon_velocity = eta_a + delta * upsilon - eta_w * s**2 * upsilon**2


def closed(
    start: sp.Expr, constant: sp.Expr, linear: sp.Expr, quadratic: sp.Expr, rotation: sp.Expr
) -> sp.Expr:
    """The solution of y' = constant - linear y - quadratic y²."""
    grow, turn = sp.cosh(rotation * t), sp.sinh(rotation * t)
    top = 2 * rotation * start * grow + (2 * constant - linear * start) * turn
    return top / (2 * rotation * grow + (2 * quadratic * start + linear) * turn)


def by_rates(start: sp.Expr, quadratic: sp.Expr, fast: sp.Expr, slow: sp.Expr) -> sp.Expr:
    """The same by rates with fast - slow = linear, fast · slow = constant · quadratic: no overflow, no cancellation.

    With e = e^{-2Rt} and n = quadratic · start it is n (fast e + slow) + fast slow (1 - e), divided by quadratic
    times fast + slow e + n (1 - e).
    """
    n, e = quadratic * start, sp.exp(-2 * R * t)
    gone = 2 * R * t * phi1(-2 * R * t)
    return (n * (fast * e + slow) + fast * slow * gone) / (quadratic * (fast + slow * e + n * gone))


nu_closed = closed(nu0, eta_w * s**2, delta, eta_a, R)
upsilon_closed = closed(upsilon0, eta_a, -delta, eta_w * s**2, R)

in_plane = Domain(
    (a, omega, delta, s, eta_a, eta_w),
    cells=(Cell("any rates", {eta_a: 1, eta_w: 1, s: 1}),),
    let={nu: omega / a, upsilon: a / omega},
    words="η_a, η_w, ‖β_*‖ > 0",
    hypotheses=(
        WHITENED,
        COMPUTED,
        stated("App. A.2.3 and A.2.4", "ν = wᵀβ_*/a where a ≠ 0, υ = a/(wᵀβ_*) where wᵀβ_* ≠ 0"),
    ),
)


def until_the_pole(solution: sp.Expr) -> Domain:
    """Every start, and the times before the denominator of a solution vanishes; at time zero it is 2R > 0."""
    return Domain(
        (t, delta, s, eta_a, eta_w, nu0, upsilon0),
        cells=(Cell("any rates", {eta_a: 1, eta_w: 1, s: 1, t: 1}),),
        conditions=(sp.fraction(solution)[1] > 0,),
        words="η_a, η_w, ‖β_*‖ > 0; until the denominator vanishes",
        hypotheses=(
            stated(
                "App. A.2.3, a(t) > 0 for δ > 0; App. A.2.4, before the blowup or where there is none",
                "until the denominator vanishes, where the ratio is not finite",
                sp.fraction(solution)[1] > 0,
            ),
        ),
    )


@result(ledger=("kunin2024.upstream-nu-riccati",), domain=in_plane, uses=("single_neuron.planar_dynamics",))
def nu_dynamics() -> Dynamics:
    """The Riccati equation of ν = wᵀβ_*/a, for all rates."""
    return Dynamics(omega / a, nu_velocity, under=plane, name=r"\nu")


@result(
    ledger=("kunin2024.upstream-nu-solution",),
    domain=until_the_pole(nu_closed),
    uses=("single_neuron.nu_dynamics",),
    requires=POSITIVE,
)
def nu_solution() -> Solution:
    """The solution ν(t), for all rates and every balance."""
    return Solution(
        {nu: nu_closed}, {nu: nu_velocity}, {nu: nu0}, t, compiles=by_rates(nu0, eta_a, plus, -minus)
    )


@result(
    ledger=("kunin2024.downstream-upsilon-riccati",), domain=in_plane, uses=("single_neuron.planar_dynamics",)
)
def upsilon_dynamics() -> Dynamics:
    """The Riccati equation of υ = a/(wᵀβ_*), for all rates."""
    return Dynamics(a / omega, upsilon_velocity, under=plane, name=r"\upsilon")


@result(
    ledger=("kunin2024.downstream-upsilon-solution",),
    domain=until_the_pole(upsilon_closed),
    uses=("single_neuron.upsilon_dynamics",),
    requires=POSITIVE,
)
def upsilon_solution() -> Solution:
    """The solution υ(t), through the zero of a, for all rates and every balance."""
    stable = by_rates(upsilon0, eta_w * s**2, -minus, plus)
    return Solution(
        {upsilon: upsilon_closed}, {upsilon: upsilon_velocity}, {upsilon: upsilon0}, t, compiles=stable
    )


nu_of_pole = (R / sp.tanh(R * (t - t_c)) - delta / 2) / eta_a
"""ν in terms of the time at which a passes through zero."""


@result(
    ledger=("kunin2024.downstream-nu-blowup",),
    domain=Domain(
        (t, t_c, delta, s, eta_a, eta_w),
        cells=(Cell("any rates", {eta_a: 1, eta_w: 1, s: 1, t: 1, t_c: 1}),),
        conditions=(t < t_c,),
        words="η_a, η_w, ‖β_*‖ > 0, 0 < t < t_c",
        hypotheses=(stated("App. A.2.4", "a crosses zero at t_c, where a = 0 and ω ≠ 0", t < t_c, a, omega),),
    ),
    uses=("single_neuron.nu_dynamics", "single_neuron.upsilon_dynamics"),
)
def nu_pole() -> Existence:
    """The blow-up of ν where a passes through zero: a simple pole with residue 1/η_a.

    Where a = 0 and ω ≠ 0 the inverse υ = a/ω passes through zero with velocity η_a > 0; where both vanish
    nothing moves, so that a trajectory does not pass there.
    """
    origin = Domain(
        (a, omega, delta, s, eta_a, eta_w),
        cells=(Cell("a = ω = 0", {eta_a: 1, eta_w: 1, s: 1}, where={a: 0, omega: 0}, reason="the saddle"),),
    )
    crossing = Domain(
        (a, omega, delta, s, eta_a, eta_w),
        cells=(Cell("a = 0", {eta_a: 1, eta_w: 1, s: 1}, where={a: 0}, reason="the crossing"),),
        conditions=(sp.Ne(omega, 0),),
    )
    return Existence(
        r"Where $a$ passes through zero at a time $t_c$, $\nu$ has a simple pole: it blows up in finite time",
        because=(
            Identity(tuple(plane.velocities.values()), (sp.S.Zero, sp.S.Zero), on=origin),
            Dynamics(a / omega, eta_a, under=plane, name=r"\upsilon", on=crossing),
            Solution({nu: nu_of_pole}, {nu: nu_velocity}, {nu: nu_of_pole.subs(t, 0)}, t),
            Limit(t * nu_of_pole.subs(t_c, 0), t, sp.S.Zero, 1 / eta_a, side="-"),
            Limit(t * nu_of_pole.subs(t_c, 0), t, sp.S.Zero, 1 / eta_a, side="+"),
        ),
        formula=r"\nu(t) = \frac{1}{\eta_a}\left(R \coth R(t - t_c) - \frac{\delta}{2}\right)",
    )


@printed(
    "kunin2024.upstream-nu-riccati",
    quote=r"$\dot\nu=\|\beta_*\|^2-\delta\nu-\nu^2$",
    domain=weights(product_one, also={nu: inner(w, beta_star) / a}),
    hypothesis=UNIT,
    under=weights(unit_rates, also={nu: inner(w, beta_star) / a}),
)
def printed_nu_dynamics() -> Dynamics:
    """As printed, without the rates."""
    return Dynamics(inner(w, beta_star) / a, s**2 - delta * nu - nu**2, under=whitened)


@printed(
    "kunin2024.upstream-nu-solution",
    quote=r"$\nu(t)=\frac{2R\nu_0\cosh(Rt)+(2\|\beta_*\|^2-\delta\nu_0)\sinh(Rt)}"
    r"{2R\cosh(Rt)+(2\nu_0+\delta)\sinh(Rt)}$",
    domain=starts(product_one, also={nu0: inner(w0, beta_star) / a0}, conditions=(delta > 0,)),
    hypothesis=UNIT,
    under=replace(until_the_pole(nu_closed), cells=(replace(unit_rates, signs={s: 1, t: 1}),)),
    hypotheses=(stated("App. A.2.3", "δ > 0", delta > 0),),
)
def printed_nu_solution() -> Solution:
    """As printed, without the rates, against the equation that ν obeys."""
    r_star = sp.sqrt(delta**2 + 4 * s**2) / 2
    top = 2 * r_star * nu0 * sp.cosh(r_star * t) + (2 * s**2 - delta * nu0) * sp.sinh(r_star * t)
    below = 2 * r_star * sp.cosh(r_star * t) + (2 * nu0 + delta) * sp.sinh(r_star * t)
    return Solution({nu: top / below}, {nu: nu_velocity}, {nu: nu0}, t)


@printed(
    "kunin2024.downstream-upsilon-riccati",
    quote=r"$\dot\upsilon=1+\delta\upsilon-\|\beta_*\|^2\upsilon^2$",
    domain=weights(product_one, also={upsilon: a / inner(w, beta_star)}, conditions=(delta < 0,)),
    hypothesis=UNIT,
    under=weights(unit_rates, also={upsilon: a / inner(w, beta_star)}, conditions=(delta < 0,)),
    hypotheses=(stated("App. A.2.4", "δ < 0", delta < 0),),
)
def printed_upsilon_dynamics() -> Dynamics:
    """As printed, without the rates."""
    return Dynamics(a / inner(w, beta_star), 1 + delta * upsilon - s**2 * upsilon**2, under=whitened)
