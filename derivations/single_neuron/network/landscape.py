"""The minima and the saddles of the loss, and where gradient flow ends.

In the inner product uᵀXᵀXv, for XᵀX invertible, the loss is ½‖β - β_*‖² up to a constant, since Xᵀy = XᵀXβ_*. Its
minima in β = a w are a w = β_*: the hyperbola a ω = ‖β_*‖² in a and the coordinate ω = wᵀβ_*, of one branch for each
sign of a, unless β_* = 0, where it degenerates to the two axes a = 0 and w = 0 (kunin2024, Sec. 3 and App. A).

The flow also rests where a = 0 and wᵀXᵀy = 0. There the loss falls along (a, w) → (α t, w + t β_*), so these are strict
saddles, provided that Xᵀy ≠ 0. The loss decreases along the flow, which bounds β and, with δ, the weights. A bounded
gradient flow of a polynomial converges to one critical point (Łojasiewicz), and strict saddles attract a set of measure
zero (the centre-stable manifold theorem); all other starts reach a minimum. The rates change neither, since in θ/√η the
flow is plain gradient flow.
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.preconditioning.of_the_neuron import M_weights
from derivations.single_neuron.symbols import a, beta, beta_star, eta_a, eta_w, r, t, w
from symdyn.calculus.gram import Combination, Linear, inner, norm2, substitute
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality

target = norm2(beta_star)
BRANCHES = (Cell("a > 0", {a: 1, target: 1}), Cell("a < 0", {a: -1, target: 1}))
NO_TARGET = "Xᵀy ≠ 0, that is β_* ≠ 0; otherwise the minima are the two axes a = 0 and w = 0, which meet"
branches = Domain(
    (a,),
    (beta, beta_star),
    BRANCHES,
    words="Xᵀy ≠ 0",
    hypotheses=(added(NO_TARGET, target, a),),
)


def loss(function: Linear) -> sp.Expr:
    """½‖β - β_*‖² up to the loss at β_*, in the inner product uᵀXᵀXv."""
    return norm2(function) / 2 - inner(function, beta_star) + target / 2


@result(ledger=("kunin2024.single-global-minima",), domain=branches)
def global_minima() -> Existence:
    """The minima are the points a w = β_*, a hyperbola of two branches, a > 0 and a < 0."""
    on_branch = beta_star / a
    return Existence(
        r"the minima are the hyperbola $aw=\beta_*$ with the branches a > 0 and a < 0",
        (
            Identity(
                loss(beta), norm2(beta - beta_star) / 2, name=r"\mathcal{L}(\beta)-\mathcal{L}(\beta_*)"
            ),
            Identity(a * on_branch, beta_star),
            Identity(a * inner(on_branch, beta_star), target, name=r"a\,w^\top\beta_*"),
            Inequality(target, ">"),
        ),
        formula=r"a w = \beta_*,\quad a \ne 0",
    )


def _sometimes_on_the_axis(rng: random.Random, d: int) -> Point:
    """Weights that minimise the loss of β_* = a w; a = 0 at every second point."""
    return {a: rng.choice((sp.Integer(0), sp.Rational(3, 2)))}


every_minimum = Domain((a,), (w,), sampler=_sometimes_on_the_axis, words="β_* = a w")
proper_minimum = Domain(
    (a,),
    (w,),
    (Cell("a > 0", {a: 1, norm2(w): 1}), Cell("a < 0", {a: -1, norm2(w): 1})),
    words="β_* = a w ≠ 0",
)


@printed(
    "kunin2024.single-global-minima",
    quote=r"the minima form the one-dimensional hyperbola $aw=\beta_*$ with two branches, $a>0$ and $a<0$",
    domain=every_minimum,
    hypothesis=NO_TARGET,
    under=proper_minimum,
    hypotheses=(meaning("a and w with β_* = a w, a = 0 among them", a),),
)
def printed_global_minima() -> Existence:
    """On the minima a ω = ‖β_*‖² with ‖β_*‖² > 0, so that a and ω do not vanish."""
    return Existence(
        r"on $aw=\beta_*$ neither a nor w vanishes",
        (Identity(a * inner(w, a * w), norm2(a * w)), Inequality(norm2(a * w), ">")),
    )


NO_SLOPE = "Xᵀy ≠ 0; otherwise the set is the d-dimensional a = 0, and its points are minima"
saddles = Domain(
    (a, eta_a, eta_w),
    (w, beta_star, r),
    (Cell("Xᵀy ≠ 0", {eta_a: 1, eta_w: 1, target: 1}),),
    words="XᵀX invertible, Xᵀy ≠ 0",
    hypotheses=(
        added(NO_SLOPE, target),
        stated("App. A, before the minima", "XᵀX is invertible, with the one minimum β_*"),
    ),
)


def _curvature(function: Linear) -> sp.Expr:
    """The second derivative of the loss at t = 0 along a line of weights."""
    return sp.diff(loss(function), t, 2).xreplace({t: sp.Integer(0)})


def _falling() -> tuple[sp.Expr, Combination]:
    """The slope of a, and the function t ↦ (α t)(w + t β_*), on a line on which the loss falls."""
    slope = target / (1 + norm2(w))
    return slope, (slope * t) * (w + t * beta_star)


@result(ledger=("kunin2024.single-saddle-set",), domain=saddles, uses=("single_neuron.conserved_delta",))
def saddle_set() -> Existence:
    """The flow rests off the minima where a = 0 and wᵀXᵀy = 0, strict saddles that almost no start ends in."""
    slope, line = _falling()
    at_zero = tuple(substitute(flow.velocities[u], {a: sp.Integer(0)}) for u in (a, w))
    quadratic = slope**2 * norm2(w) - 2 * slope * target
    dissipation = eta_w * a**2 * norm2(r) + eta_a * inner(w, r) ** 2
    return Existence(
        r"off the minima the critical points are $\{a=0,\ w^\top X^\top y=0\}$, all of them strict saddles; the loss"
        " does not grow; that outside a set of measure zero gradient flow converges to a minimum follows by theorems"
        " that are cited, of Łojasiewicz and of the centre-stable manifold",
        (
            Identity(at_zero, (-eta_a * inner(w, r), 0 * w), name=r"(\dot a,\dot w)|_{a=0}"),
            Identity(_curvature(line), quadratic, name=r"\partial_t^2\mathcal{L}|_{t=0}"),
            Inequality(_curvature(line), "<"),
            Identity(inner(r, M_weights @ r), dissipation, name=r"-\dot{\mathcal{L}}"),
            Inequality(dissipation, ">="),
        ),
        formula=r"a = 0,\quad w^\top X^\top y = 0",
    )


def _sometimes_no_target(rng: random.Random, d: int) -> Point:
    return {beta_star: [sp.Integer(0)] * d} if rng.random() < 0.5 else {}


@printed(
    "kunin2024.single-saddle-set",
    quote=r"The saddle points are $\{(a,w): a=0,\ w^\top X^\top y=0\}$",
    domain=Domain((), (w, beta_star), sampler=_sometimes_no_target, words="XᵀX invertible"),
    hypothesis=NO_SLOPE,
    under=Domain((), (w, beta_star), (Cell("Xᵀy ≠ 0", {target: 1}),), words="XᵀX invertible, Xᵀy ≠ 0"),
    hypotheses=(meaning("any task β_*, zero too", beta_star),),
)
def printed_saddle_set() -> Inequality:
    """At a = 0 the loss falls in some direction, as it does at a saddle."""
    return Inequality(_curvature(_falling()[1]), "<")
