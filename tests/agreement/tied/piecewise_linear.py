"""The evaluators of piecewise linear networks, against statements, and in exact arithmetic where they decide."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import mpmath as mp
import numpy as np

from derivations.piecewise_linear import (
    Regions,
    activation_regions,
    coordinates_rhs,
    ntk,
    scale_init,
    two_colouring,
)
from symdyn.catalogue.registry import load
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import Refused, case, compiled, stated, words

SIZE, DIRECTION = load("piecewise_linear.spherical_dynamics").statement.because
KERNEL = load("piecewise_linear.tangent_kernel").statement.because[1].rhs
"""The kernel of one neuron with the slopes C, a diagonal matrix."""


def network(draw: Draw) -> Arguments:
    """Weights far apart in size and a slope γ; or integers, with an input on the boundary of a neuron."""
    rng = draw.rng
    h, d, n = (rng.choice((1, 2, 3)) for _ in range(3))
    W, X = [draw.vector("", d) for _ in range(h)], [draw.vector("", d) for _ in range(n)]
    if (
        rng.random() < 0.3
    ):  # an input on the boundary of a neuron, where the slope is γ and would jump if one moved it
        W = ((3, 4), *((rng.randint(-3, 3), 5) for _ in range(h - 1)))  # type: ignore[assignment]
        X = ((-8, 6), *((rng.randint(-3, 3), 1) for _ in range(n - 1)))  # type: ignore[assignment]
    elif rng.random() < 0.9:
        W = [row if any(row) else [1.0] * d for row in W]
    rates = {name: 10.0 ** rng.uniform(-2, 2) for name in ("eta_a", "eta_w")}
    gamma = rng.choice((0.0, rng.random(), 1e-9))
    return {"W": W, "a": [draw.scalar("") for _ in range(h)], "X": X, "gamma": gamma, **rates}


def labelled(draw: Draw) -> Arguments:
    given = network(draw)
    return {**given, "y": [draw.scalar("") for _ in given["X"]]}


def in_floats(function: Any) -> Any:
    return lambda W, X, **rest: function(W=np.array(W, float), X=np.array(X, float), **rest)


def exactly(rows: Any) -> Any:
    return [[mp.mpf(x) for x in row] for row in rows]


def slopes(w: Any, X: Any, gamma: Any) -> list[Any]:
    return [mp.mpf(1) if mp.fdot(w, x) > 0 else gamma for x in X]


def outputs(W: Any, a: Any, X: Any, gamma: Any) -> list[Any]:
    f = [mp.mpf(0) for _ in X]
    for w, readout in zip(W, a, strict=True):
        for i, (x, slope) in enumerate(zip(X, slopes(w, X, gamma), strict=True)):
            f[i] += readout * slope * mp.fdot(w, x)
    return f


def rates_exchanged(function: Any) -> Any:
    return lambda eta_a, eta_w, **rest: function(eta_a=eta_w, eta_w=eta_a, **rest)


def sizes_of_velocities(
    found: Any, W: Any, a: Any, X: Any, y: Any, gamma: Any, eta_a: Any, eta_w: Any
) -> Any:
    """What the terms add up to that cancel: of the residuals, and of ξ_k."""
    speeds, turns = [], []
    for w, readout in zip(W, a, strict=True):
        length = mp.norm(w)
        drive = mp.mpf(0)
        for x, label in zip(X, y, strict=True):
            f = mp.fsum(abs(v) * mp.fdot(map(abs, u), map(abs, x)) for u, v in zip(W, a, strict=True))
            drive += mp.norm(x) * (f + abs(label))
        speeds.append((eta_w * readout**2 + eta_a * length**2) * drive)
        turns.append(eta_w * abs(readout) / length * drive)
    return [mp.norm(speeds), mp.norm(turns)]


@case(
    coordinates_rhs,
    call=in_floats(coordinates_rhs),
    draw=labelled,
    draws=12,
    decades=4,
    scale=sizes_of_velocities,
    mutants={
        "η_a and η_w exchanged": rates_exchanged(in_floats(coordinates_rhs)),
        "γ forgotten": lambda gamma, **rest: in_floats(coordinates_rhs)(gamma=0.0, **rest),
    },
)
def _(W: Any, a: Any, X: Any, y: Any, gamma: Any, eta_a: Any, eta_w: Any) -> Any:
    """The stated velocities of μ_k and β̂_k. The direction rests where a_k = 0, as (κ + δ)/2μ is η_w a_k/‖w_k‖ there,
    and on a line.
    """
    if not all(any(w) for w in W):
        raise Refused("a neuron without direction")
    rest = [f - label for f, label in zip(outputs(W, a, X, gamma), y, strict=True)]
    speeds, turns = [], []
    for w, readout in zip(exactly(W), a, strict=True):
        pulls = [c * r for c, r in zip(slopes(w, X, gamma), rest, strict=True)]
        xi = [mp.fdot(pulls, [x[i] for x in X]) for i in range(len(w))]
        length = mp.norm(w)
        at = {"eta_a": eta_a, "eta_w": eta_w, "mu": readout * length, "w": w, "xi": xi}
        at["delta"] = eta_w * readout**2 - eta_a * length**2
        speeds.append(stated(SIZE.velocity, **at))
        turns.append(stated(DIRECTION.velocity, **at) if readout and len(w) > 1 else [mp.mpf(0)] * len(w))
    return [speeds, turns]


def size_of_kernel(found: Any, W: Any, a: Any, X: Any, gamma: Any, eta_a: Any, eta_w: Any) -> Any:
    """The trace, which bounds every entry of a positive semi-definite matrix and does not cancel."""
    n = len(X)
    return [mp.fsum(found[0][i * n + i] for i in range(n))]


@case(
    ntk,
    call=in_floats(ntk),
    draw=network,
    draws=8,
    decades=4,
    scale=size_of_kernel,
    mutants={
        "η_a and η_w exchanged": rates_exchanged(in_floats(ntk)),
        "γ forgotten": lambda gamma, **rest: in_floats(ntk)(gamma=0.0, **rest),
    },
)
def _(W: Any, a: Any, X: Any, gamma: Any, eta_a: Any, eta_w: Any) -> Any:
    total, X = mp.matrix(len(X), len(X)), exactly(X)
    for w, readout in zip(exactly(W), a, strict=True):
        active = slopes(w, X, gamma)
        C = [[active[i] if i == j else mp.mpf(0) for j in range(len(X))] for i in range(len(X))]
        total += mp.matrix(words(KERNEL, C=C, X=X, w=[[x] for x in w], a=readout, eta_a=eta_a, eta_w=eta_w))
    return [total]


def unit_neurons(draw: Draw) -> Arguments:
    rng = draw.rng
    rows = [
        rng.choice(([0.6, 0.8], [1.0, 0.0], [-0.28, 0.96], [-0.8, 0.6])) for _ in range(rng.choice((1, 2, 3)))
    ]
    delta = draw.scalar("delta") if rng.random() < 0.8 else 0.0
    return {
        "W": rows,
        "a": [rng.choice((1.0, -1.0)) for _ in rows],
        "tau": draw.scalar("tau", 1),
        "delta": delta,
    }


@case(
    scale_init,
    draw=unit_neurons,
    draws=40,
    mutants={"the sign of δ swapped": lambda delta, **rest: scale_init(delta=-delta, **rest)},
)
def _(W: Any, a: Any, tau: Any, delta: Any) -> Any:
    """w_k τ/α and a_k τα, with the compiled α."""
    (alpha,) = compiled("piecewise_linear.relative_scale", tau=tau, delta=delta)
    return [[[tau / alpha * x for x in row] for row in W], [tau * alpha * x for x in a]]


def planar(draw: Draw) -> Arguments:
    """One or two hidden layers of small integers, or of floats that are almost parallel."""
    rng = draw.rng
    h = rng.choice((1, 2, 3, 4, 5))

    def row(n: int) -> tuple[int, ...]:
        found = tuple(rng.randint(-3, 3) for _ in range(n))
        return found if any(found) else row(n)

    W = [row(2) for _ in range(h)]
    if rng.random() < 0.2:
        W.append((W[0][0] * (1 + 2.0**-52), float(W[0][1])))  # type: ignore[arg-type]
    deeper = tuple(
        tuple(row(len(W)) for _ in range(rng.choice((1, 2)))) for _ in range(rng.choice((0, 0, 1)))
    )
    return {"W": tuple(W), "deeper": deeper, "gamma": rng.choice((0, Fraction(1, 2)))}


Ray = tuple[Fraction, Fraction]


def signs(x: Ray, layers: Any, gamma: Any) -> list[int]:
    """The signs of all pre-activations at one rational input."""
    found: list[int] = []
    value = list(x)
    for layer in layers:
        z = [sum(Fraction(v) * c for v, c in zip(row, value, strict=True)) for row in layer]
        found += [(number > 0) - (number < 0) for number in z]
        value = [max(number, gamma * number) for number in z]
    return found


def all_zeros(layers: Any, gamma: Any) -> list[Ray]:
    """Every ray on which a neuron may change its sign: those of all linear functions that it is for any pattern."""
    rays: list[Ray] = []
    functionals = [[tuple(map(Fraction, row)) for row in layers[0]]]
    for depth in range(len(layers)):
        for rows in functionals:
            for p, q in rows:
                if p or q:
                    rays += [(-q, p), (q, -p)]
        if depth + 1 < len(layers):
            after = []
            for rows in functionals:
                for mask in range(2 ** len(rows)):
                    active = [
                        tuple((1 if mask >> k & 1 else Fraction(gamma)) * e for e in row)
                        for k, row in enumerate(rows)
                    ]
                    after.append(
                        [
                            tuple(
                                sum(Fraction(v) * g[i] for v, g in zip(row, active, strict=True))
                                for i in (0, 1)
                            )
                            for row in layers[depth + 1]
                        ]
                    )
            functionals = after
    return rays


def around(rays: list[Ray]) -> list[Ray]:
    """Different directions, counterclockwise from the positive first axis."""

    def angle(ray: Ray) -> tuple[int, Fraction]:
        """Half plane, and minus the cotangent in it: rational numbers that rise with the angle."""
        x, y = ray
        if y == 0:
            return (0, Fraction(-(10**60))) if x > 0 else (2, Fraction(-(10**60)))
        return (1, -x / y) if y > 0 else (3, -x / y)

    found: dict[tuple[int, Fraction], Ray] = {}
    for ray in rays:
        found.setdefault(angle(ray), ray)
    return [found[key] for key in sorted(found)]


def cones(W: Any, deeper: Any, gamma: Any) -> list[list[int]]:
    """The patterns of the cones between neighbouring boundaries, counterclockwise from the first axis on.

    Between all rays on which something may change stand points whose signs are computed; a ray at which no sign
    changes is no boundary.
    """
    layers = (W, *deeper)
    rays = around(all_zeros(layers, gamma))
    points = []
    for first, last in zip(rays, rays[1:] + rays[:1], strict=True):
        turn = first[0] * last[1] - first[1] * last[0]
        straight = turn == 0
        if straight:
            points.append((-first[1], first[0]))
        else:
            size_1, size_2 = (abs(r[0]) + abs(r[1]) for r in (first, last))
            points.append((first[0] / size_1 + last[0] / size_2, first[1] / size_1 + last[1] / size_2))
    patterns = [signs(point, layers, gamma) for point in points]
    on_rays = [signs(ray, layers, gamma) for ray in rays]
    kept = []
    for i, pattern in enumerate(patterns):
        signs_there = zip(on_rays[i], pattern, patterns[i - 1], strict=True)
        if any(z == 0 and (here or before) for z, here, before in signs_there):
            kept.append(pattern)
    return kept


def in_general_position(W: Any) -> bool:
    return all(
        Fraction(p[0]) * Fraction(q[1]) != Fraction(p[1]) * Fraction(q[0])
        for i, p in enumerate(W)
        for q in W[:i]
    )


def patterns_of(W: Any, deeper: Any, gamma: Any) -> Any:
    return [x.tolist() for x in [activation_regions(W, *deeper, gamma=gamma).patterns]]


@case(
    activation_regions,
    returns=Regions,
    draw=planar,
    call=patterns_of,
    discrete=True,
    draws=40,
    mutants={
        "clockwise": lambda **given: [patterns_of(**given)[0][::-1]],
        "γ of another size": lambda gamma, **rest: patterns_of(
            gamma=Fraction(3, 4) if gamma == 0 else 0, **rest
        ),
        "the last neuron forgotten": lambda W, deeper, gamma: patterns_of(W[:-1] or W, (), gamma),
    },
)
def _(W: Any, deeper: Any, gamma: Any) -> Any:
    """The patterns in their order; in general position as many as the results count."""
    found = cones(W, deeper, gamma)
    if not deeper and in_general_position(W):
        assert len(found) == 2 * sum(comb(len(W) - 1, j) for j in range(2))
    return [found]


def coloured(W: Any, deeper: Any, gamma: Any) -> Any:
    """Whether there are two colours, and whether each two neighbours have different ones."""
    colours = two_colouring(W, *deeper, gamma=gamma)
    return [[-2] if colours is None else colours.tolist()]


def every_second(**given: Any) -> Any:
    found = coloured(**given)[0]
    return [[i % 2 for i in range(len(found))]]


@case(
    two_colouring,
    draw=planar,
    call=coloured,
    discrete=True,
    draws=60,
    mutants={
        "no colours anywhere": lambda **_: [[-2]],
        "every second cone": every_second,
    },
)
def _(W: Any, deeper: Any, gamma: Any) -> Any:
    """By parity where that works; else alternating from the first region after a gap; none for an odd circle."""
    patterns = cones(W, deeper, gamma)
    regions = [all(pattern) for pattern in patterns]
    parity = [sum(z > 0 for z in pattern) % 2 for pattern in patterns]
    if all(regions) and len(patterns) % 2:
        return [[-2]]
    pairs = [(i - 1, i) for i in range(len(patterns)) if regions[i - 1] and regions[i]]
    if all(parity[i] != parity[j] for i, j in pairs):
        return [[p if r else -1 for p, r in zip(parity, regions, strict=True)]]
    colours = [-1] * len(patterns)
    first = 0 if all(regions) else regions.index(False)
    for k in range(len(patterns)):
        i = (first + k) % len(patterns)
        if regions[i]:
            before = colours[i - 1]
            colours[i] = 1 - before if before >= 0 else parity[i]
    return [colours]
