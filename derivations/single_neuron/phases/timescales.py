"""How fast μ and φ move far from balance.

For p = η_a η_w and κ = √(δ² + 4pμ²), on whitened data,

    μ̇ = κ (φ‖β_*‖ - μ),    φ̇ = (κ + δ)/2 · (1 - φ²)‖β_*‖/μ,    |δ| ≤ κ ≤ |δ| + 2pμ²/|δ|.

Upstream (δ > 0) both speeds are of order δ. Their ratio is (κ + δ)/(2κ) < 1 times a number that does not know δ, so
that a large δ does not part the two: β moves on the straight line to β_*, its direction as fast as its length. φ is the
faster one where |μ| ≪ ‖β_*‖, that is from a start β_0 that is small against β_*. There a keeps its sign, and so does
μ = a‖w‖. At φ = sgn μ it relaxes to φ‖β_*‖; at φ = -sgn μ it falls to zero in a finite time, where w vanishes and
φ changes its sign: from a_0 = 2, w_0 = -1 and β_* = 1, where φ = -1, it ends at +1.

Downstream (δ < 0) the speed of μ is of order |δ| and that of φ of order 1/|δ|: μ first relaxes to φ‖β_*‖, and then
follows φ, which takes a time proportional to |δ| (kunin2024, Sec. 3).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.single_neuron.coordinates.modes import lambda_plus
from derivations.single_neuron.coordinates.planar import WHITENED
from derivations.single_neuron.coordinates.polar import mu_dot, phi_dot
from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.single_neuron.symbols import c, delta, eta_a, eta_w, mu, mu0, phi, phi0, s, t, tau
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Asymptotic, Existence, Identity, Inequality, Limit, Solution

product = eta_a * eta_w
x = product * mu**2
k, plus, minus = (q(delta, x) for q in (kappa, kappa_plus, kappa_minus))
POSITIVE = {eta_a: 1, eta_w: 1, s: 1}


MOVING = {
    1: stated(
        "Sec. 3 (Upstream), before φ has reached ±1",
        "|φ| < 1, and μ ≠ 0: where μ = 0 upstream, w = 0 and φ is not defined",
        mu,
        phi**2 < 1,
    ),
    -1: stated(
        "Sec. 3 (Downstream)",
        "φ, μ ≠ 0, which is a saddle point, and |φ| < 1, as φ approaches ±1",
        mu,
        phi**2 < 1,
    ),
}
SLOPES = stated("Sec. 3 (Upstream), φ updates more rapidly than μ", "μ moves, μ ≠ φ‖β_*‖", sp.Ne(mu, phi * s))


def regime(sign: int, **changes: Any) -> Domain:
    """All μ ≠ 0 and |φ| < 1 upstream (sign 1) or downstream (sign -1)."""
    cells = tuple(Cell(f"μ {text} 0", {delta: sign, mu: m, **POSITIVE}) for text, m in ((">", 1), ("<", -1)))
    return Domain(
        (mu, phi, s, delta, eta_a, eta_w),
        (),
        cells,
        conditions=(phi**2 < 1,),
        words=("δ > 0" if sign > 0 else "δ < 0") + ", whitened data",
        hypotheses=(
            stated("Sec. 3 (Upstream)", "δ ≫ 0", delta > 0)
            if sign > 0
            else stated("Sec. 3 (Downstream)", "δ ≪ 0", delta < 0),
            MOVING[sign],
            WHITENED,
        ),
        **changes,
    )


upstream, downstream = regime(1), regime(-1)
relaxation = Solution(
    {mu: phi * s + (mu0 - phi * s) * sp.exp(-tau)},
    {mu: phi * s - mu},
    {mu: mu0},
    tau,
    on=Domain((phi, s, mu0, tau), (), (Cell("τ > 0", {s: 1, tau: 1}),)),
)
"""The linear relaxation of μ to φ‖β_*‖ at fixed φ, in units of time 1/|δ|."""

relaxed = (phi * s * c + mu0) / (1 + c)
"""The same at c = e^τ - 1."""


def _at_pole(phi_sign: int, mu_sign: int) -> Cell:
    return Cell(
        f"φ = {phi_sign:+d}, μ₀ {'>' if mu_sign > 0 else '<'} 0",
        {s: 1, c: 1, mu0: mu_sign},
        {phi: sp.Integer(phi_sign)},
    )


ALIKE = (_at_pole(1, 1), _at_pole(-1, -1))
relaxing = Domain(
    (phi, s, mu0, c),
    (),
    (*ALIKE, _at_pole(-1, 1), _at_pole(1, -1)),
    words="φ = ±1, δ > 0, whitened data, c = e^τ - 1",
    hypotheses=(
        stated("Sec. 3 (Upstream)", "φ has reached ±1", phi),
        meaning("c = e^τ - 1 > 0 is a time; μ_0 ≠ 0 has the sign of a", c, mu0),
        WHITENED,
    ),
)


@result(
    ledger=("kunin2024.upstream-timescale-separation",),
    domain=upstream,
    uses=("single_neuron.polar_dynamics",),
)
def upstream_speeds() -> Existence:
    """Upstream both speeds diverge like δ, and their ratio is bounded for all δ; it is large where |μ| ≪ ‖β_*‖."""
    ratio = plus / (2 * k) * s * (1 - phi**2) / (mu * (phi * s - mu))
    return Existence(
        r"for δ > 0 $\kappa\ge\delta$ and $(\kappa+\delta)/2\ge\delta$, and $\dot\varphi/\dot\mu$ is less than"
        r" $(1-\varphi^2)\|\beta_*\|/(\mu(\varphi\|\beta_*\|-\mu))$ in size, whatever δ: μ and φ move together,"
        r" unless $|\mu|\ll\|\beta_*\|$",
        (
            Identity(phi_dot(product), plus / 2 * (1 - phi**2) * s / mu, name=r"\dot\varphi"),
            Inequality(k, ">", delta),
            Inequality(plus / 2, ">", delta),
            Identity(
                phi_dot(product) / mu_dot(product),
                ratio,
                name=r"\dot\varphi/\dot\mu",
                on=upstream.restrict(sp.Ne(mu, phi * s), words="μ moves", hypotheses=(SLOPES,)),
            ),
            Inequality(plus / (2 * k), "<", sp.Integer(1)),
        ),
    )


fixed_start = Domain(
    (mu, phi, s, delta),
    (),
    (Cell("β fixed", {mu: 1, s: 1, delta: 1}),),
    conditions=(phi**2 < 1,),
    hypotheses=upstream.hypotheses,
)
small_start = fixed_start.with_cells(
    Cell("‖β‖ = c/δ", {c: 1, s: 1, delta: 1}, {mu: c / delta}, "a start that is small against β_*")
)


@printed(
    "kunin2024.upstream-timescale-separation",
    quote=r"the updates of $\mu$ and $\phi$ both diverge but $\phi$ updates much more rapidly",
    domain=fixed_start,
    hypothesis="‖β_0‖ ≪ ‖β_*‖, for instance ‖β_0‖ of order 1/δ; for fixed β_0 both move along a straight line in β,"
    " in a time of order 1/δ",
    under=small_start,
)
def printed_upstream_separation() -> Limit:
    """The speed of μ is negligible against that of φ as δ → ∞."""
    return Limit(mu_dot(1) / phi_dot(1), delta, sp.oo, sp.Integer(0))


@result(
    ledger=("kunin2024.upstream-exponential-mu",), domain=upstream, uses=("single_neuron.polar_dynamics",)
)
def upstream_fitting() -> Existence:
    """At φ = sgn μ and large δ μ relaxes linearly to ±‖β_*‖, and the kernel barely moves.

    On the way it keeps its sign, as it has to: μ = a‖w‖, and a does not vanish upstream. At φ = -sgn μ it would not.
    The rate κ of μ is at least δ and at most δ + 2pμ²/δ. M has the eigenvalues (κ + δ)/2 across β and κ along β,
    all of them within 2pμ²/δ of δ: relative to δ the kernel moves by O(1/δ²), and the kernel distance, which is of
    second order in that, by O(1/δ⁴).
    """
    return Existence(
        r"at $\varphi=\operatorname{sgn}\mu$, $\delta\le\kappa\le\delta+2\eta_a\eta_w\mu^2/\delta$: μ tends to"
        r" $\varphi\|\beta_*\|$ at least as fast as $e^{-\delta t}$, with $M=\delta(I+O(1/\delta^2))$",
        (
            relaxation,
            Inequality(mu0 * relaxed, ">", on=relaxing.with_cells(*ALIKE)),
            Limit(relaxed, c, sp.oo, phi * s, on=relaxing.with_cells(*ALIKE)),
            Inequality(k, ">", delta),
            Inequality(k, "<", delta + 2 * x / delta),
            Inequality(plus / 2, "<", delta + x / delta),
        ),
    )


@printed(
    "kunin2024.upstream-exponential-mu",
    quote=r"converge exponentially to $\pm\|\beta_*\|$",
    domain=relaxing,
    hypothesis="φ has the sign of μ, that of a: this is where φ relaxes to for d ≥ 2; from φ = -sgn μ, half of the"
    " starts for d = 1, μ loses w in a finite time and relaxes to -φ‖β_*‖ after it",
    under=relaxing.with_cells(*ALIKE),
)
def printed_upstream_fitting() -> Existence:
    """As printed, at φ = 1 and φ = -1 alike: μ, which keeps its sign, tends to φ‖β_*‖. Here c = e^τ - 1."""
    return Existence(
        r"$\mu=a\|w\|$ keeps the sign of a and tends to $\varphi\|\beta_*\|$",
        (Inequality(mu0 * relaxed, ">"), Limit(relaxed, c, sp.oo, phi * s)),
    )


@result(
    ledger=("kunin2024.downstream-fast-phase",), domain=downstream, uses=("single_neuron.polar_dynamics",)
)
def downstream_fitting() -> Existence:
    """Downstream μ relaxes to φ‖β_*‖ at a rate of at least |δ|, while φ moves at a speed of at most p|μ|‖β_*‖/|δ|.

    |μ| stays below the larger of |μ_0| and ‖β_*‖, so that φ moves by O(1/δ²) in a time of order 1/|δ|.
    """
    size = sp.sign(mu) * phi_dot(product)
    return Existence(
        r"for δ < 0 $|\delta|\le\kappa\le|\delta|+2\eta_a\eta_w\mu^2/|\delta|$ and"
        r" $|\dot\varphi|\le\eta_a\eta_w|\mu|\|\beta_*\|(1-\varphi^2)/|\delta|$",
        (
            relaxation,
            Inequality(k, ">", -delta),
            Inequality(k, "<", -delta - 2 * x / delta),
            Identity(size, sp.Abs(mu) * 2 * product * s / minus * (1 - phi**2), name=r"|\dot\varphi|"),
            Inequality(2 * product / minus, "<", -product / delta),
        ),
    )


@result(
    ledger=("kunin2024.downstream-phi-bernoulli",),
    domain=Domain(
        (phi, s, delta, eta_a, eta_w),
        (),
        (Cell("downstream", {**POSITIVE}),),
        conditions=(phi**2 < 1,),
        hypotheses=downstream.hypotheses,
    ),
    arguments=("phi", "s", "delta", "eta_a", "eta_w"),
    uses=("single_neuron.polar_dynamics",),
)
def downstream_alignment() -> Asymptotic:
    """With μ = φ‖β_*‖ the direction obeys a Bernoulli equation, up to O(1/|δ|³)."""
    following = phi_dot(product).xreplace({mu: phi * s})
    return Asymptotic(following, -product * s**2 / delta * phi * (1 - phi**2), delta, -sp.oo, delta**-3)


aligning = Domain(
    (phi0, s, delta, eta_a, eta_w, t, c),
    (),
    tuple(
        Cell(f"φ₀ {text} 0", {phi0: m, delta: -1, t: 1, c: 1, **POSITIVE})
        for text, m in ((">", 1), ("<", -1))
    ),
    conditions=(phi0**2 < 1,),
    words="δ < 0, φ₀ ≠ 0",
    hypotheses=(
        stated(
            "Sec. 3 (Downstream)", "δ ≪ 0, and φ, μ ≠ 0, which is a saddle point", delta < 0, sp.Ne(phi0, 0)
        ),
        stated("Sec. 3 (Downstream), as φ approaches ±1", "|φ_0| < 1", phi0**2 < 1),
        meaning("c > 0 scales δ and t", c),
        WHITENED,
    ),
)


@result(
    ledger=("kunin2024.downstream-delay-scaling",),
    domain=aligning,
    uses=("single_neuron.downstream_alignment",),
)
def downstream_delay() -> Existence:
    """The alignment takes a time proportional to |δ|.

    The solution of the Bernoulli equation knows t and δ through t/|δ| only. The growing mode of the exact solution
    has a rate between p‖β_*‖²/(|δ| + p‖β_*‖²/|δ|) and p‖β_*‖²/|δ|.
    """
    slow = product * s**2
    growth = sp.exp(-slow * t / delta)
    aligned = phi0 * growth / sp.sqrt(1 - phi0**2 + phi0**2 * growth**2)
    exact = lambda_plus(delta, slow)
    return Existence(
        r"φ is a function of $t/|\delta|$: the delay is proportional to $|\delta|$",
        (
            Solution({phi: aligned}, {phi: -slow / delta * phi * (1 - phi**2)}, {phi: phi0}, t),
            Identity(
                aligned.subs({t: c * t, delta: c * delta}, simultaneous=True), aligned, name=r"\varphi(t)"
            ),
            Inequality(exact, "<", -slow / delta),
            Inequality(exact, ">", slow / (-delta - slow / delta)),
        ),
    )
