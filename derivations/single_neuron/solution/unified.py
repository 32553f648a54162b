r"""One exact solution of the single-neuron network, for every balance and every start, through zeros of a.

Let E(t) = exp(η_w ∫a²), by which the part of w across β_* is divided. The products P = a E and Q = ω E obey a linear
system, for the cubic terms cancel:

    P' = δ P + η_a Q,        Q' = η_w s² P,        (E²)' = 2 η_w P².

Its modes grow and decay with the rates λ_± = δ/2 ± R. With α = (λ_+ a_0 + η_a ω_0)/(2R) the share of the growing one,

    P = α e^{λ_+ t} + (a_0 - α) e^{λ_- t},        η_a Q = -λ_- α e^{λ_+ t} - λ_+ (a_0 - α) e^{λ_- t},

and E² is one integral of exponentials away, φ_1(z) = (e^z - 1)/z. Nothing is singular where a or ω vanishes, and no
sign of δ is special: what the paper solves in three cases (kunin2024, App. A.2.2 to A.2.4) is this. The functions
`trajectory` and `mu_phi` compute it.
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.coordinates.modes import amplitude
from derivations.single_neuron.coordinates.planar import POSITIVE, WHITENED, modes, plane
from derivations.single_neuron.symbols import E, P, Q, a, a0, delta, eta_a, eta_w, omega, omega0, s, t
from symdyn.calculus.gram import Flow
from symdyn.catalogue.result import result
from symdyn.compile.named import expm1_ratio as phi1
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Dynamics, Existence, Identity, Solution, Statement

plus, minus, R = modes
alpha = amplitude(delta, eta_a * eta_w * s**2, a0, eta_a * omega0)
rest = a0 - alpha

growing, decaying = alpha * sp.exp(plus * t), rest * sp.exp(minus * t)
P_closed = growing + decaying
Q_closed = -(minus * growing + plus * decaying) / eta_a
E2_closed = 1 + 2 * eta_w * t * (
    alpha**2 * phi1(2 * plus * t) + 2 * alpha * rest * phi1(delta * t) + rest**2 * phi1(2 * minus * t)
)

_later = {eta_a: 1, eta_w: 1, s: 1, t: 1}
UPSTREAM = Cell("upstream, δ > 0", {delta: 1, **_later})
BALANCED = Cell("balanced, δ = 0", _later, where={delta: 0}, reason="the balanced network")
DOWNSTREAM = Cell("downstream, δ < 0", {delta: -1, **_later})
every_start = Domain(
    (t, a0, omega0, delta, s, eta_a, eta_w),
    cells=(UPSTREAM, BALANCED, DOWNSTREAM),
    words="any start and any balance, η_a, η_w, ‖β_*‖ > 0",
    hypotheses=(WHITENED,),
)

linear = Flow({P: delta * P + eta_a * Q, Q: eta_w * s**2 * P, E: eta_w * P**2 / E})
"""The linear system of P and Q, with E beside it."""

products = Domain((P, Q, E, delta, s, eta_a, eta_w), cells=(Cell("E > 0", {eta_a: 1, eta_w: 1, s: 1, E: 1}),))


@result(domain=every_start)
def linear_modes() -> Solution:
    """The linear system behind the single neuron, and its solution."""
    velocity = {x: linear.velocities[x] for x in (P, Q)}
    return Solution({P: P_closed, Q: Q_closed}, velocity, {P: a0, Q: omega0}, t)


def without_overflow() -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """a(t) and ω(t) with the growing exponential divided out of P, Q and E."""
    fast, slow = sp.exp(-2 * R * t), sp.exp(-2 * plus * t)
    mixed = sp.Piecewise((fast * phi1(-delta * t), delta >= 0), (slow * phi1(delta * t), True))
    integral = (
        alpha**2 * phi1(-2 * plus * t) + 2 * alpha * rest * mixed + rest**2 * slow * phi1(2 * minus * t)
    )
    norm2 = slow + 2 * eta_w * t * integral
    gone = alpha * 2 * R * t * phi1(-2 * R * t)
    return a0 * fast + gone, omega0 * fast - minus * gone / eta_a, norm2


@result(
    domain=every_start,
    uses=("single_neuron.linear_modes", "single_neuron.planar_dynamics", "single_neuron.dynamics_across"),
    requires=POSITIVE,
)
def solution_for_every_balance() -> Existence:
    """The exact solution a = P/E, ω = Q/E, w = w_⊥(0)/E + ω β_*/‖β_*‖², for every start and every balance."""
    top_a, top_omega, square = without_overflow()
    shrunk = sp.exp(-plus * t)
    along = {a: P / E, omega: Q / E}

    def facts(solution: tuple[sp.Expr, sp.Expr]) -> tuple[Statement, ...]:
        scaled = tuple(x * sp.sqrt(square) for x in solution)
        return (
            Identity(sp.diff(E2_closed, t), 2 * eta_w * P_closed**2),
            Identity(E2_closed.subs(t, 0), sp.S.One),
            Dynamics(P / E, plane.velocities[a].xreplace(along), under=linear, name="a", on=products),
            Dynamics(
                Q / E, plane.velocities[omega].xreplace(along), under=linear, name=r"\omega", on=products
            ),
            Dynamics(1 / E, -eta_w * (P / E) ** 2 / E, under=linear, name="1/E", on=products),
            Identity(square, E2_closed * shrunk**2),
            Identity(scaled, (P_closed * shrunk, Q_closed * shrunk)),
        )

    return Existence.of(
        (top_a / sp.sqrt(square), top_omega / sp.sqrt(square)),
        facts,
        "The flow of the weights is solved for every start, every balance and all rates",
        formula=r"a = \frac{P}{E}, \quad w^\top\beta_* = \frac{Q}{E}, \quad "
        r"w = \frac{w_\perp(0)}{E} + \frac{w^\top\beta_*}{\|\beta_*\|^2}\, \beta_*",
    )


@result(domain=every_start, uses=("single_neuron.solution_for_every_balance",))
def solution_keeps_balance() -> Conjunction:
    """The exact solution keeps its balance: η_w P² - η_a Q²/‖β_*‖² - η_a‖w_⊥(0)‖² = δ E².

    ‖w_⊥(0)‖² = (η_w a_0² - δ)/η_a - ω_0²/‖β_*‖² is known from the start.
    """
    across = eta_w * a0**2 - delta - eta_a * omega0**2 / s**2
    return Conjunction(Identity(eta_w * P_closed**2 - eta_a * Q_closed**2 / s**2 - across, delta * E2_closed))


@result(
    domain=every_start.restrict(sp.Ne(plus * a0 + eta_a * omega0, 0), words="α ≠ 0"),
    uses=("single_neuron.solution_for_every_balance",),
    arguments=("delta", "s", "a0", "omega0", "eta_a", "eta_w"),
    requires=(
        *POSITIVE[:3],
        ("of the sign opposite to λ_+ a0 + η_a omega0", a0 * (plus * a0 + eta_a * omega0) < 0, "a0"),
    ),
)
def zero_crossing_time() -> Existence:
    """The time at which a passes through zero: log(1 - a_0/α)/(2R), where a_0 and α have opposite signs.

    P e^{-λ_- t} = α e^{2Rt} + a_0 - α is monotone, so that it vanishes at most once, and at t > 0 if and only if
    1 - a_0/α > 1. The function `crossing_time` computes it from the weights.
    """
    monotone = alpha * sp.exp(2 * R * t) + rest
    return Existence.of(
        sp.log(1 - a0 / alpha) / (2 * R),
        lambda time: (
            Identity(P_closed * sp.exp(-minus * t), monotone),
            Identity(sp.diff(monotone, t), 2 * R * alpha * sp.exp(2 * R * t)),
            Identity(monotone.subs(t, time), sp.S.Zero),
        ),
        r"$a$ passes through zero at most once, and at a time $t > 0$ if and only if $a_0$ and $\alpha$ have "
        "opposite signs",
        formula=r"t_c = \frac{1}{2R} \log\left(1 - \frac{a_0}{\alpha}\right)",
    )
