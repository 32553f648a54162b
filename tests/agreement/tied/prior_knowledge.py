"""The evaluators of two-layer linear networks that know something before, against their results in many digits."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from derivations.prior_knowledge import (
    Learnable,
    ata,
    ata_2x2,
    effective_start,
    forgetting,
    learnable,
    missed_modes,
    network_function,
    ntk,
    offdiagonal_peak,
    qqt,
    reversal,
    reversal_like,
    rsm_input,
    rsm_output,
    separatrix_distance,
    shallow,
    weights,
)
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import case, compiled
from tests.agreement.tied.wide_linear import full

NOISE = 2.0**-40


def balanced(generator: Any, h: int, i: int, o: int, offset: float) -> tuple[Any, Any]:
    """Weights with W2ᵀW2 - W1W1ᵀ = offset, to rounding."""
    squares = generator.uniform(0.2, 2, h) * (np.arange(h) < min(i, o))
    first, second = np.sqrt(squares + max(-offset, 0)), np.sqrt(squares + max(offset, 0))
    turn = np.linalg.qr(generator.normal(size=(h, h)))[0]
    frames = [np.eye(h, n) @ np.linalg.qr(generator.normal(size=(n, n)))[0] for n in (i, o)]
    return turn @ (first[:, None] * frames[0]), (turn @ (second[:, None] * frames[1])).T


def sizes_and_balance(draw: Draw) -> tuple[int, int, int, float]:
    """N_h, N_i, N_o and a balance that such weights have."""
    rng = draw.rng
    h, i, o = (rng.choice((1, 2)) for _ in range(3))
    signs = [0, *([1] if h <= o else []), *([-1] if h <= i else [])]
    return h, i, o, rng.choice(signs) * 10.0 ** rng.uniform(-2, 0.3)


def start(draw: Draw) -> Arguments:
    """A start that overlaps with all modes of its task, and a time that is short, natural or long."""
    rng = draw.rng
    generator = np.random.default_rng(rng.randrange(10**9))
    h, i, o, offset = sizes_and_balance(draw)
    while True:
        W1, W2 = balanced(generator, h, i, o, offset)
        sigma = 10.0 ** rng.uniform(-0.5, 0.5) * generator.normal(size=(o, i))
        F = np.block([[-offset / 2 * np.eye(i), sigma.T], [sigma, offset / 2 * np.eye(o)]])
        rates, axes = np.linalg.eigh(F)
        growing = axes[:, np.argsort(-rates)[: min(h, i, o)]]
        overlaps = np.linalg.svd(np.hstack([W1, W2.T]) @ growing, compute_uv=False)
        gaps = np.diff(np.linalg.svd(sigma, compute_uv=False))
        if overlaps[-1] > 0.1 and (np.abs(gaps) > 0.1).all():
            break
    tau = 10.0 ** rng.uniform(-1, 1)
    t = rng.choice((0.0, *(tau * 10.0 ** rng.uniform(-3, 1.3) for _ in range(6))))
    return {"t": t, "W1": W1.tolist(), "W2": W2.tolist(), "sigma_yx": sigma.tolist(), "tau": tau}


def state(t: Any, W1: Any, W2: Any, sigma_yx: Any, tau: Any) -> Any:
    """QQᵀ = Y M⁻¹Yᵀ with τẎ = F Y, Y(0) = Q(0), τṀ = YᵀY, M(0) = I."""
    first, second, task = mp.matrix(W1), mp.matrix(W2), mp.matrix(sigma_yx)
    h, i, o = first.rows, first.cols, second.rows
    gap = second.T * second - first * first.T
    offset = mp.fsum(gap[k, k] for k in range(h)) / h
    F, Q = mp.matrix(i + o), mp.matrix(i + o, h)
    for k in range(i):
        F[k, k] = -offset / 2
        Q[k, :] = first[:, k].T
    for j in range(o):
        F[i + j, i + j] = offset / 2
        Q[i + j, :] = second[j, :]
        for k in range(i):
            F[i + j, k] = F[k, i + j] = task[j, k]
    rates, axes = mp.eigsy(F)
    t = t / tau
    P = axes.T * Q
    grown = mp.diag([mp.expm1(2 * r * t) / (2 * r) if r else t for r in rates])
    right = mp.diag([mp.exp(r * t) for r in rates]) * P
    M = mp.eye(h) + P.T * grown * P
    return axes * (right * M**-1 * right.T) * axes.T


def blocks(of: Any, i: int) -> tuple[Any, Any, Any]:
    """W1ᵀW1, W2W1 and W2W2ᵀ."""
    return of[:i, :i], of[i:, :i], of[i:, i:]


def trace(of: Any) -> Any:
    return mp.fsum(of[k, k] for k in range(of.rows))


def size_of_state(outputs: Any, t: Any, W1: Any, W2: Any, sigma_yx: Any, tau: Any, **_: Any) -> Any:
    """|Q|², in units of which the flow is accurate."""
    return [trace(state(t, W1, W2, sigma_yx, tau))]


def task_turned(function: Any) -> Any:
    return lambda sigma_yx, **rest: function(sigma_yx=-sigma_yx, on_separatrix=True, **rest)


def later(function: Any) -> Any:
    return lambda t, **rest: function(t=t * (1 + 1e-9), **rest)


def wrong(function: Any) -> Any:
    return {"the sign of Σ swapped": task_turned(function), "time longer by 1e-9": later(function)}


@case(qqt, draw=start, draws=10, scale=size_of_state, mutants=wrong(qqt))
def _(**start: Any) -> Any:
    return [state(**start)]


@case(network_function, draw=start, draws=6, scale=size_of_state, mutants=wrong(network_function))
def _(**start: Any) -> Any:
    return [blocks(state(**start), len(start["W1"][0]))[1]]


WHITE = {1: [[1.0, -1.0]], 2: [[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]]}
"""Inputs with X Xᵀ / P = I."""


def with_inputs(draw: Draw) -> Arguments:
    given = start(draw)
    return {**given, "X": WHITE[len(given["W1"][0])]}


def size_of_similarity(outputs: Any, X: Any, **start: Any) -> Any:
    return [trace(state(**start)) * mp.norm(mp.matrix(X)) ** 2]


@case(rsm_input, draw=with_inputs, draws=5, scale=size_of_similarity, mutants=wrong(rsm_input))
def _(X: Any, **start: Any) -> Any:
    X = mp.matrix(X)
    return [X.T * blocks(state(**start), X.rows)[0] * X]


def with_targets(draw: Draw) -> Arguments:
    given = start(draw)
    return {**given, "Y": [[draw.rng.gauss(0, 1) for _ in range(2)] for _ in given["W2"]]}


@case(rsm_output, draw=with_targets, draws=6, mutants=wrong(rsm_output))
def _(Y: Any, **start: Any) -> Any:
    """Yᵀ(W2W2ᵀ)⁺Y; the readout of N_h neurons has the rank min(N_h, N_o)."""
    Y, h = mp.matrix(Y), len(start["W1"])
    values, axes = mp.eigsy(blocks(state(**start), len(start["W1"][0]))[2])
    kept = sorted(range(len(values)), key=lambda k: -values[k])[:h]
    inverse = mp.diag([1 / values[k] if k in kept else 0 for k in range(len(values))])
    return [Y.T * axes * inverse * axes.T * Y]


def kronecker_sum(first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """first ⊗ second + third ⊗ fourth."""
    n, m = first.rows, second.rows
    return mp.matrix(
        [
            [
                first[a // m, b // m] * second[a % m, b % m] + third[a // m, b // m] * fourth[a % m, b % m]
                for b in range(n * m)
            ]
            for a in range(n * m)
        ]
    )


@case(ntk, draw=with_inputs, draws=5, scale=size_of_similarity, mutants=wrong(ntk))
def _(X: Any, **start: Any) -> Any:
    X = mp.matrix(X)
    hidden, _, readout = blocks(state(**start), X.rows)
    return [kronecker_sum(mp.eye(readout.rows), X.T * hidden * X, readout, X.T * X)]


@cache
def flowed(t: float, W1: Any, W2: Any, sigma_yx: Any, tau: float) -> tuple[Any, Any]:
    """W1 and W2 at time t of τẆ1 = W2ᵀ(Σ - W2W1), τẆ2 = (Σ - W2W1)W1ᵀ, by Taylor series of order 30 at 30 digits."""
    with mp.workdps(30):
        first, second, task = (
            np.array([[mp.mpf(x) for x in row] for row in given], dtype=object)
            for given in (W1, W2, sigma_yx)
        )
        left = mp.mpf(t) / mp.mpf(tau)
        size = float(sum(x * x for m in (first, second) for x in m.flat) + sum(abs(x) for x in task.flat))
        steps = max(1, math.ceil(float(left) * size / 0.25))
        for _ in range(steps):
            a, b, rest = [first], [second], [task - second @ first]
            for k in range(30):
                a.append(sum(b[j].T @ rest[k - j] for j in range(k + 1)) / (k + 1))
                b.append(sum(rest[j] @ a[k - j].T for j in range(k + 1)) / (k + 1))
                rest.append(-sum(b[j] @ a[k + 1 - j] for j in range(k + 2)))
            step = left / steps
            first, second = (sum(c * step**k for k, c in enumerate(series)) for series in (a, b))
        return first, second


def short(draw: Draw) -> Arguments:
    given = start(draw)
    return {**given, "t": min(given["t"], 3 * given["tau"])}


@case(
    weights,
    draw=short,
    draws=6,
    facts=True,
    tolerance=1e-11,
    mutants={
        **wrong(weights),
        "hidden neurons turned": lambda **start: (lambda W1, W2: (W1[::-1], -W2[:, ::-1]))(*weights(**start)),
    },
)
def _(found: Any, t: Any, W1: Any, W2: Any, sigma_yx: Any, tau: Any) -> Any:
    """The flow of the weights itself, whose steps are documented to err by about 1e-12."""
    listed = [tuple(tuple(map(float, row)) for row in x) for x in (W1, W2, sigma_yx)]
    exact = flowed(float(t), *listed, float(tau))
    scale = mp.norm([x for part in exact for x in part.flat])
    return [
        ([x - y for x, y in zip(f, e.flat, strict=True)], scale) for f, e in zip(found, exact, strict=True)
    ]


def whole_start(draw: Draw) -> Arguments:
    """A start and a task of small integers, in which some modes are reversed or have no neuron."""
    rng = draw.rng
    h, n = rng.choice(((1, 2), (2, 2), (3, 2), (2, 2)))
    strengths = [rng.choice((1, 2, 3)) for _ in range(n)]
    signs = [rng.choice((1, -1)) for _ in range(n)]
    turn = rng.choice((((1, 1), (1, -1)), ((1, 0), (0, 1)), ((0, 1), (1, 0)), ((2, 1), (-1, 2))))
    place = rng.sample(range(n), min(h, n))
    W1 = [[strengths[k] * turn[k][j] if k in place else 0 for j in range(n)] for k in place]
    W1 += [[0] * n for _ in range(h - len(W1))]
    W2 = [[signs[place[row]] * W1[row][j] if row < len(place) else 0 for row in range(h)] for j in range(n)]
    s = rng.sample(range(1, 6), n)
    sigma = [[sum(s[k] * turn[k][p] * turn[k][q] for k in range(n)) for q in range(n)] for p in range(n)]
    rank_one = rng.random() < 0.2
    if rank_one:
        sigma = [[s[0] * turn[0][p] * turn[0][q] for q in range(n)] for p in range(n)]
    rows = {"W1": W1, "W2": W2, "sigma_yx": sigma}
    return {**{name: tuple(map(tuple, x)) for name, x in rows.items()}, "tau": rng.choice((1, 2))}


def in_floats(W1: Any, W2: Any, sigma_yx: Any) -> dict[str, Any]:
    return {n: np.array(x, dtype=float) for n, x in (("W1", W1), ("W2", W2), ("sigma_yx", sigma_yx))}


def ends(W1: Any, W2: Any, sigma_yx: Any, tau: int) -> Any:
    found = learnable(**in_floats(W1, W2, sigma_yx), tau=float(tau), noise=NOISE)
    return [np.asarray(x, dtype=float) for x in found]


def exact_rows(x: Any) -> Any:
    return [[mp.mpf(y) for y in row] for row in x]


def modes_of(sigma_yx: Any) -> list[Any]:
    """The singular values of an integer matrix that are not zero, falling."""
    values = mp.svd_r(mp.matrix(exact_rows(sigma_yx)), compute_uv=False)
    found = sorted(values, reverse=True)
    return [x for x in found if x > mp.mpf(10) ** (-mp.mp.dps // 3)]


@case(
    learnable,
    returns=Learnable,
    draw=whole_start,
    call=ends,
    draws=30,
    mutants={
        "readout turned": lambda W2, **rest: ends(W2=tuple(tuple(-x for x in row) for row in W2), **rest),
        "always learnable": lambda **start: (lambda found: [np.array(1.0), *found[1:]])(ends(**start)),
        "time not in units of τ": lambda tau, **rest: ends(tau=1, **rest),
    },
)
def _(W1: Any, W2: Any, sigma_yx: Any, tau: int) -> Any:
    """Where the exact flow is after a long time; W2W1 → s along a mode with an overlap, and → 0 along others."""
    weights = {"W1": exact_rows(W1), "W2": exact_rows(W2), "sigma_yx": exact_rows(sigma_yx)}
    with mp.workdps(1600):  # the fastest mode has grown to 1e650 by then
        found = blocks(state(t=mp.mpf(60), tau=mp.mpf(1), **weights), len(W1[0]))[1]
        # What the start has in the null spaces of the task falls as 1/t only, and to zero.
        U, s, V = mp.svd_r(mp.matrix(weights["sigma_yx"]))
        alive = mp.diag([mp.mpf(x > mp.mpf(10) ** -30) for x in s])
        found = U * alive * U.T * found * V.T * alive * V
    digits = mp.mpf(10) ** -30
    limit = mp.matrix([[mp.mpf(0) if abs(x) < digits else +x for x in row] for row in found.tolist()])
    s, h = modes_of(sigma_yx), len(W1)
    rank = len(modes_of(limit.tolist()))
    gap = mp.norm(mp.matrix(exact_rows(sigma_yx)) - limit) ** 2 / 2
    excess = gap - mp.fsum(x**2 for x in s[h:]) / 2
    if abs(excess) < digits:
        return [1, limit, rank, 0, 0]
    caught = modes_of(limit.tolist())
    missed = next(x for x in s if all(abs(x - y) > digits for y in caught))
    rate = missed - (0 if rank < h else min(caught))
    size = mp.sqrt(sum(mp.norm(mp.matrix(weights[name])) ** 2 for name in ("W1", "W2")))
    return [0, limit, rank, excess, tau * mp.log(mp.sqrt(2 * missed) / (mp.mpf(NOISE) * size)) / rate]


def off_or_on(draw: Draw) -> Arguments:
    """A start in floats, or one of integers that is on a separatrix now and then."""
    if draw.rng.random() < 0.5:
        whole = whole_start(draw)
        return {name: [[float(x) for x in row] for row in whole[name]] for name in ("W1", "W2", "sigma_yx")}
    given = start(draw)
    return {name: given[name] for name in ("W1", "W2", "sigma_yx")}


def size_of_start(outputs: Any, W1: Any, W2: Any, sigma_yx: Any) -> Any:
    return [mp.sqrt(mp.norm(mp.matrix(W1)) ** 2 + mp.norm(mp.matrix(W2)) ** 2)]


@case(
    separatrix_distance,
    draw=off_or_on,
    draws=14,
    scale=size_of_start,
    mutants={
        "the sign of Σ swapped": lambda sigma_yx, **rest: separatrix_distance(sigma_yx=-sigma_yx, **rest),
    },
)
def _(W1: Any, W2: Any, sigma_yx: Any) -> Any:
    """The least singular value of Q(0)ᵀ times the growing eigenvectors of F, the strongest min(N_h, rank Σ) of them."""
    with mp.workdps(2 * mp.mp.dps):
        first, second, task = mp.matrix(W1), mp.matrix(W2), mp.matrix(sigma_yx)
        h, gap = first.rows, second.T * second - first * first.T
        offset = trace(gap) / h
        U, s, V = mp.svd_r(task)
        columns = []
        for k in sorted(range(len(s)), key=lambda k: -s[k])[:h]:
            if s[k] < mp.mpf(10) ** (-mp.mp.dps // 8) * max(s):
                continue
            R = mp.sqrt(s[k] ** 2 + offset**2 / 4)
            # F (v sin, u cos) = R (v sin, u cos)
            sin, cos = s[k], R + offset / 2
            length = mp.hypot(sin, cos)
            if length == 0:
                sin, cos, length = R - offset / 2, s[k], mp.hypot(R - offset / 2, s[k])
            columns.append((first * V[k, :].T * sin + second.T * U[:, k] * cos) / length)
        overlaps = mp.matrix(h, len(columns))
        for k, column in enumerate(columns):
            overlaps[:, k] = column
        values = mp.svd_r(overlaps, compute_uv=False)
        return [sorted(values, reverse=True)[len(columns) - 1]]


def strengths(draw: Draw) -> Arguments:
    """Two modes: coupled, uncoupled, or coupled as strongly as can be, over many decades."""
    rng = draw.rng
    a1, a2 = draw.magnitude(""), draw.magnitude("")
    kind = rng.random()
    b = 0.0 if kind < 0.1 else rng.choice((1, -1)) * rng.uniform(0.01, 0.999) * math.sqrt(a1) * math.sqrt(a2)
    if 0.1 < kind < 0.25:  # singular, exactly
        p, q = 2.0 ** rng.randint(-10, 10), 2.0 ** rng.randint(-10, 10)
        a1, a2, b = p * p * 9, q * q * 25, p * q * 15 * rng.choice((1, -1))
    return {"a1": a1, "a2": a2, "b": b}


def two_modes(draw: Draw) -> Arguments:
    given = strengths(draw)
    s1, s2, tau = (draw.magnitude("") for _ in range(3))
    rate = max(s1, s2) / tau
    t = draw.rng.choice((0.0, *(10.0 ** draw.rng.uniform(-3, 2) / rate for _ in range(8))))
    return {"t": t, **given, "s1": s1, "s2": s2 if draw.rng.random() < 0.9 else 0.0, "tau": tau}


@case(
    ata_2x2,
    draw=two_modes,
    decades=4,
    draws=40,
    mutants={
        "the sign of b swapped": lambda b, **rest: ata_2x2(b=-b, **rest),
        "the modes exchanged": lambda s1, s2, **rest: ata_2x2(s1=s2, s2=s1, **rest),
    },
)
def _(**given: Any) -> Any:
    if given["s2"] == 0:  # the result has s > 0, and is continuous there
        return ata_by_resolvent(
            given["t"],
            [[given["a1"], given["b"]], [given["b"], given["a2"]]],
            [given["s1"], given["s2"]],
            given["tau"],
        )
    return compiled("prior_knowledge.explicit_solution", **given)


def ata_by_resolvent(t: Any, gram0: Any, s: Any, tau: Any) -> Any:
    G = connected(t, gram0, s, tau)
    return [G[0, 0], G[1, 1], G[0, 1]]


def connected(t: Any, gram0: Any, s: Any, tau: Any) -> Any:
    """[E G0⁻¹E + (1 - E²)S⁻¹]⁻¹ = E⁻¹(1 + G0 K)⁻¹G0 E⁻¹ with K = E⁻¹(1 - E²)S⁻¹E⁻¹, also for singular G0 and S."""
    t = t / tau
    E = mp.diag([mp.exp(x * t) for x in s])
    K = mp.diag([mp.expm1(2 * x * t) / x if x else 2 * t for x in s])
    G = mp.matrix(gram0)
    return E * ((mp.eye(G.rows) + G * K) ** -1 * G) * E


def connections(draw: Draw) -> Arguments:
    rng = draw.rng
    factor = np.random.default_rng(rng.randrange(10**9)).normal(size=(2, 2))
    factor *= 10.0 ** rng.uniform(-2, 0.5) * np.array([1.0, 10.0 ** rng.uniform(-3, 0)])
    gram = factor.T @ factor
    s = [10.0 ** rng.uniform(-1, 1) for _ in range(2)]
    tau = 10.0 ** rng.uniform(-1, 1)
    t = rng.choice((0.0, *(tau * 10.0 ** rng.uniform(-3, 1.5) / max(s) for _ in range(6))))
    upper = gram[np.triu_indices(2)].tolist() if rng.random() < 0.8 else [1.0, 2.0, 4.0]
    return {"t": t, "gram0": upper, "s": s, "tau": tau}


def by_triangle(gram0: Any, **rest: Any) -> Any:
    return ata(gram0=full(gram0), **rest)


@case(
    ata,
    draw=connections,
    call=by_triangle,
    draws=14,
    mutants={
        "the modes exchanged": lambda s, **rest: by_triangle(s=s[::-1], **rest),
        "time longer by 1e-9": later(by_triangle),
    },
)
def _(t: Any, gram0: Any, s: Any, tau: Any) -> Any:
    return [connected(t, full(gram0), s, tau)]


def equally_strong(draw: Draw) -> Arguments:
    given = strengths(draw)
    total = given["a1"] + given["a2"]
    s = total * draw.rng.choice((1 + 10.0 ** draw.rng.uniform(-6, 4), draw.rng.uniform(0.1, 0.99)))
    return {**given, "s": s, "tau": draw.magnitude("tau")}


def printed_peak(a1: Any, a2: Any, b: Any, s: Any, tau: Any) -> Any:
    room, rest = s - a1 - a2, a1 * a2 - b * b
    return tau / (4 * s) * (np.log(s) + np.log(room) - np.log(rest)) if room > 0 and rest > 0 else np.inf


@case(
    offdiagonal_peak,
    draw=equally_strong,
    draws=40,
    mutants={
        "as it is printed, without the 1": printed_peak,
    },
)
def _(a1: Any, a2: Any, b: Any, s: Any, tau: Any) -> Any:
    if a1 + a2 >= s or b == 0 or a1 * a2 == b**2:
        return [mp.inf]
    given = {"a1": a1, "a2": a2, "b": b, "s": s, "tau": tau}
    return compiled("prior_knowledge.time_of_peak", **given)


def small_start(draw: Draw) -> Arguments:
    rng = draw.rng
    factor = np.random.default_rng(rng.randrange(10**9)).normal(size=(2, 2)) * 10.0 ** rng.uniform(-3, 0)
    gram = factor.T @ factor
    upper = gram[np.triu_indices(2)].tolist() if rng.random() < 0.8 else [4.0, 2.0, 1.0]
    s = [rng.uniform(0.1, 3) for _ in range(2)]
    return {"gram0": upper, "s": tuple(s if rng.random() < 0.7 else (2.0, 2.0))}


def starts_of(gram0: Any, s: Any) -> Any:
    return effective_start(full(gram0), list(s))


def size_of_gram(outputs: Any, gram0: Any, s: Any) -> Any:
    return [mp.norm(gram0)]


@case(
    effective_start,
    draw=small_start,
    call=starts_of,
    scale=size_of_gram,
    mutants={
        "the diagonal, without elimination": lambda gram0, s: np.array([gram0[0], gram0[2]]),
        "the modes exchanged": lambda gram0, s: starts_of(gram0, s[::-1]),
    },
)
def _(gram0: Any, s: Any) -> Any:
    """L_ii² of A(0)ᵀA(0) = L Lᵀ in the order of falling s; the eigenvalues where the s are equal."""
    G = mp.matrix(full(gram0))
    if s[0] == s[1]:
        return [sorted(mp.eigsy(G, eigvals_only=True), reverse=True)]
    strong, weak = (0, 1) if s[0] > s[1] else (1, 0)
    pivots = {strong: G[strong, strong], weak: G[weak, weak] - G[0, 1] ** 2 / G[strong, strong]}
    return [[pivots[0], pivots[1]]]


def tasks(draw: Draw) -> Arguments:
    rng = draw.rng
    count, o, i = (rng.choice((1, 2, 3)) for _ in range(3))
    sigmas = [draw.matrix("", o, i, False) for _ in range(count)]
    moments = [float(np.square(x).sum()) * rng.choice((1 + 1e-9, 1 + rng.random(), 10.0)) for x in sigmas]
    return {"sigmas": sigmas, "second_moments": moments}


@case(
    forgetting,
    draw=tasks,
    draws=12,
    decades=4,
    mutants={"old and new exchanged": lambda **given: np.transpose(forgetting(**given))},
)
def _(sigmas: Any, second_moments: Any) -> Any:
    """L_ij of the best map of task j on task i, of which the tied result has the differences."""

    def square(x: Any) -> Any:
        return mp.fsum(y * y for row in x for y in row)

    def apart(x: Any, z: Any) -> Any:
        return square([[p - q for p, q in zip(a, b, strict=True)] for a, b in zip(x, z, strict=True)])

    return [
        [
            [(apart(new, old) + moment - square(old)) / 2 for new in sigmas]
            for old, moment in zip(sigmas, second_moments, strict=True)
        ]
    ]


def learned(draw: Draw) -> Arguments:
    """Learned weights: of zero balance exactly, as integers, or of another balance in floats."""
    tau = 10.0 ** draw.rng.uniform(-1, 1)
    t = draw.rng.choice((0.0, *(tau * 10.0 ** draw.rng.uniform(-3, 1) for _ in range(6))))
    if draw.rng.random() < 0.5:
        whole = whole_start(draw)
        return {"t": t, "tau": tau, "W1": whole["W1"], "W2": whole["W2"]}
    while True:
        h, i, o, offset = sizes_and_balance(draw)
        if offset:
            break
    W1, W2 = balanced(np.random.default_rng(draw.rng.randrange(10**9)), h, i, o, offset)
    return {"t": t, "tau": tau, "W1": W1.tolist(), "W2": W2.tolist()}


def reversed_by(W1: Any, W2: Any, t: Any, tau: Any) -> Any:
    return reversal(t=t, W1=np.array(W1, dtype=float), W2=np.array(W2, dtype=float), tau=tau)


def size_of_learned(outputs: Any, W1: Any, W2: Any, **_: Any) -> Any:
    return [sum(mp.norm(mp.matrix(exact_rows(x))) ** 2 for x in (W1, W2))]


@case(
    reversal,
    draw=learned,
    call=reversed_by,
    draws=10,
    scale=size_of_learned,
    mutants={"time longer by 1e-9": later(reversed_by)},
)
def _(t: Any, W1: Any, W2: Any, tau: Any) -> Any:
    """The solution from any start, for the task -W2W1."""
    first, second = exact_rows(W1), exact_rows(W2)
    task = -(mp.matrix(second) * mp.matrix(first))
    with mp.workdps(2 * mp.mp.dps):
        return [state(t, first, second, task.tolist(), tau)]


def one_layer(draw: Draw) -> Arguments:
    rng = draw.rng
    o, i = rng.choice((1, 2)), rng.choice((1, 2))
    factor = np.random.default_rng(rng.randrange(10**9)).normal(size=(i, i))
    upper = (factor.T @ factor)[np.triu_indices(i)].tolist()
    tau = 10.0 ** rng.uniform(-1, 1)
    t = rng.choice((0.0, *(tau * 10.0 ** rng.uniform(-3, 1.5) for _ in range(6))))
    given = {name: draw.matrix(name, o, i, False) for name in ("W0", "sigma_yx")}
    return {"t": t, **given, "tau": tau, "sigma_xx": upper if rng.random() < 0.7 else None}


def by_upper(sigma_xx: Any, **rest: Any) -> Any:
    return shallow(sigma_xx=None if sigma_xx is None else full(sigma_xx), **rest)


@case(
    shallow,
    draw=one_layer,
    call=by_upper,
    draws=14,
    decades=3,
    mutants={
        "the sign of Σ swapped": lambda sigma_yx, **rest: by_upper(sigma_yx=-sigma_yx, **rest),
        "time longer by 1e-9": later(by_upper),
    },
)
def _(t: Any, W0: Any, sigma_yx: Any, tau: Any, sigma_xx: Any) -> Any:
    """W = Σ^yx Σ⁻¹ + (W0 - Σ^yx Σ⁻¹) e^{-Σt/τ}, Σ = Σ^xx."""
    start, goal = mp.matrix(W0), mp.matrix(sigma_yx)
    inputs = mp.eye(start.cols) if sigma_xx is None else mp.matrix(full(sigma_xx))
    values, axes = mp.eigsy(inputs)
    fall = mp.diag([mp.exp(-x * t / tau) for x in values])
    back = mp.diag([-mp.expm1(-x * t / tau) / x for x in values])
    return [(start * axes * fall + goal * axes * back) * axes.T]


def permutation(draw: Draw) -> Arguments:
    places = list(range(draw.rng.choice((1, 2, 3, 4, 5, 6))))
    draw.rng.shuffle(places)
    return {"permutation": tuple(places)}


def kernel_of_overlap(places: Any) -> int:
    """The dimension of the kernel of I + Π, of rational numbers."""
    n = len(places)
    overlap = sp.Matrix(n, n, lambda p, q: int(p == q) + int(places[p] == q))
    return n - int(overlap.rank())


@case(
    missed_modes,
    draw=permutation,
    call=lambda permutation: missed_modes(np.array(permutation)),
    discrete=True,
    draws=40,
    mutants={"none": lambda permutation: [0], "one": lambda permutation: [1]},
)
def _(permutation: Any) -> Any:
    return [mp.mpf(kernel_of_overlap(permutation))]


@case(
    reversal_like,
    draw=permutation,
    call=lambda permutation: reversal_like(np.array(permutation)),
    discrete=True,
    draws=40,
    mutants={
        "swaps of neighbours only": lambda permutation: [
            any(permutation[k] == k + 1 and permutation[k + 1] == k for k in range(len(permutation) - 1))
        ],
    },
)
def _(permutation: Any) -> Any:
    return [mp.mpf(kernel_of_overlap(permutation) > 0)]
