"""The evaluators of wide linear networks, against their results and the exact solutions in many digits."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from derivations.wide_linear import (
    LinearFlow,
    conserved,
    hyperbolic_entropy,
    hyperbolic_entropy_gradient,
    hyperbolic_entropy_hessian,
    isotropic_flow,
    isotropic_init,
    isotropic_preconditioner,
    matrix_riccati,
    neuron_preconditioners,
    neuron_sum,
    preconditioner,
    regime,
    signed_svd_path,
    unvec,
    vec,
)
from symdyn.catalogue.registry import load
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import Refused, case, compiled, formula, words
from tests.derivations.wide_linear import mp_reference

ENTROPY = load("wide_linear.entropy").statement.because
"""q, q' and q'' of the hyperbolic entropy, each in its stable form on the right."""


def value_and_balance(draw: Draw) -> Arguments:
    rates = {name: draw.scalar(name, 1) if draw.rng.random() < 0.7 else 1.0 for name in ("eta_a", "eta_w")}
    return {
        "x": draw.scalar("x"),
        "delta": draw.scalar("delta") if draw.rng.random() > 0.05 else 0.0,
        **rates,
    }


def entropy(which: int) -> Any:
    def reference(x: Any, delta: Any, eta_a: Any, eta_w: Any) -> Any:
        if delta == 0:
            raise Refused("delta must not be zero")
        return [formula(ENTROPY[which].rhs, sigma=x, delta=delta, eta_a=eta_a, eta_w=eta_w)]

    return reference


def balance_without_sign(function: Any) -> Any:
    return lambda delta, **rest: function(delta=delta + 1e-9 * abs(delta), **rest)


for which, function in enumerate(
    (hyperbolic_entropy, hyperbolic_entropy_gradient, hyperbolic_entropy_hessian)
):
    case(
        function,
        draw=value_and_balance,
        draws=40,
        mutants={
            "δ larger by 1e-9": balance_without_sign(function),
            "η_w forgotten": lambda eta_w, f=function, **rest: f(eta_w=1.0, **rest),
        },
    )(entropy(which))


def sizes(draw: Draw) -> tuple[int, int, int]:
    """h, d and c."""
    return tuple(draw.rng.choice((1, 2, 3)) for _ in range(3))  # type: ignore[return-value]


def positive_rates(draw: Draw) -> Arguments:
    return {name: 10.0 ** draw.rng.uniform(-2, 2) for name in ("eta_a", "eta_w")}


def layers(draw: Draw) -> Arguments:
    h, d, c = sizes(draw)
    return {
        "A": draw.matrix("A", h, c, False),
        "W": draw.matrix("W", h, d, False),
        **positive_rates(draw),
    }


def layers_exchanged(function: Any) -> Any:
    return lambda eta_a, eta_w, **rest: function(eta_a=eta_w, eta_w=eta_a, **rest)


@case(conserved, draw=layers, draws=20, mutants={"η_a and η_w exchanged": layers_exchanged(conserved)})
def _(**layers: Any) -> Any:
    return compiled("wide_linear.conserved_balance", **layers)


@case(
    preconditioner, draw=layers, draws=8, mutants={"η_a and η_w exchanged": layers_exchanged(preconditioner)}
)
def _(A: Any, W: Any, eta_a: Any, eta_w: Any) -> Any:
    """Column j of M is minus the velocity of vec(β) where XᵀXβ - XᵀY is the j-th unit matrix."""
    c, d = len(A[0]), len(W[0])
    beta = [[mp.fdot((W[k][i], A[k][j]) for k in range(len(A))) for j in range(c)] for i in range(d)]
    one = [[mp.mpf(i == j) for j in range(d)] for i in range(d)]
    columns = []
    for place in range(c * d):
        target = [[beta[i][j] - (j * d + i == place) for j in range(c)] for i in range(d)]
        (velocity,) = compiled(
            "wide_linear.vectorised_beta_dynamics", A=A, W=W, X=one, Y=target, eta_a=eta_a, eta_w=eta_w
        )
        columns.append([-row[0] for row in velocity])
    return [mp.matrix(columns).T]


def neurons(draw: Draw) -> Arguments:
    """Contributions of rank one, far apart in size, and balances of any sign."""
    h, d, c = sizes(draw)
    betas = []
    for _ in range(h):
        w, a = draw.vector("", d), draw.vector("", c)
        longest = max(map(abs, a)) or 1.0
        betas.append([[x * (y / longest) for y in a] for x in w])
    return {"betas": betas, "deltas": [draw.scalar("") for _ in range(h)], **positive_rates(draw)}


def of_neurons(betas: Any, deltas: Any, eta_a: Any, eta_w: Any) -> list[Any]:
    if not all(any(any(row) for row in beta) for beta in betas):
        raise Refused("a neuron without contribution")
    return [
        compiled("wide_linear.part_of_a_neuron", beta_k=beta, delta=delta, eta_a=eta_a, eta_w=eta_w)[0]
        for beta, delta in zip(betas, deltas, strict=True)
    ]


def balances_swapped(function: Any) -> Any:
    return lambda deltas, **rest: function(deltas=-deltas, **rest)


@case(
    neuron_preconditioners,
    draw=neurons,
    draws=10,
    decades=4,
    call=lambda **given: tuple(neuron_preconditioners(**given)),
    mutants={
        "the signs of the balances swapped": balances_swapped(lambda **g: tuple(neuron_preconditioners(**g)))
    },
)
def _(**neurons: Any) -> Any:
    return of_neurons(**neurons)


@case(
    neuron_sum,
    draw=lambda draw: neurons(draw) if draw.rng.random() < 0.5 else layers(draw),
    draws=10,
    decades=4,
)
def _(eta_a: Any, eta_w: Any, **given: Any) -> Any:
    if "betas" in given:
        parts = of_neurons(**given, eta_a=eta_a, eta_w=eta_w)
        return [sum((mp.matrix(x) for x in parts[1:]), mp.matrix(parts[0]))]
    if not all(any(row) for layer in given.values() for row in layer):
        raise Refused("a neuron without contribution")
    whole = load("wide_linear.neuron_decomposition").statement.because[0].lhs
    return [words(whole, eta_a=eta_a, eta_w=eta_w, **given)]


def any_matrix(draw: Draw) -> Arguments:
    _, d, c = sizes(draw)
    return {"beta": draw.matrix("beta", d, c, False)}


@case(
    vec,
    draw=any_matrix,
    mutants={"rows in the place of columns": lambda beta: beta.ravel()},
)
def _(beta: Any) -> Any:
    """vec(A B C) = (Cᵀ ⊗ A) vec(B): for B of one entry, unit columns A and unit rows C, entry j d + i is β_ij."""
    return [[beta[i][j] for j in range(len(beta[0])) for i in range(len(beta))]]


@case(
    unvec,
    draw=lambda draw: {**any_matrix(draw), "d": 0},
    call=lambda beta, d: unvec([x for column in np.transpose(beta) for x in column], d=len(beta)),
    mutants={"rows in the place of columns": lambda beta, d: np.transpose(beta)},
)
def _(beta: Any, d: int) -> Any:
    return [beta]


def isotropic(draw: Draw) -> Arguments:
    _, d, c = sizes(draw)
    return {
        "beta": draw.matrix("beta", d, c, False),
        "delta": draw.scalar("delta") if draw.rng.random() < 0.8 else 0.0,
        **positive_rates(draw),
    }


def root_of(symmetric: Any) -> Any:
    """The square root X of X² = Y, X ⪰ 0."""
    values, axes = mp.eigsy(symmetric)
    return axes * mp.diag([mp.sqrt(max(x, 0)) for x in values]) * axes.T


def kronecker(first: Any, second: Any) -> Any:
    rows, cols = first.rows * second.rows, first.cols * second.cols
    return mp.matrix(
        [
            [
                first[i // second.rows, j // second.cols] * second[i % second.rows, j % second.cols]
                for j in range(cols)
            ]
            for i in range(rows)
        ]
    )


@case(
    isotropic_preconditioner,
    draw=isotropic,
    draws=12,
    decades=3,
    mutants={
        "δ/2 in the place of δ": lambda delta, **rest: isotropic_preconditioner(delta=delta / 2, **rest)
    },
)
def _(beta: Any, delta: Any, eta_a: Any, eta_w: Any) -> Any:
    """M = R_c ⊗ I + I ⊗ R_d, with R_c and R_d the roots of η_aη_w βᵀβ + δ²/4 and η_aη_w ββᵀ + δ²/4."""
    b = mp.matrix(beta)
    with mp.workdps(2 * mp.mp.dps):  # a root of a singular matrix has half the digits
        R_c = root_of(eta_a * eta_w * (b.T * b) + delta**2 / 4 * mp.eye(b.cols))
        R_d = root_of(eta_a * eta_w * (b * b.T) + delta**2 / 4 * mp.eye(b.rows))
        return [kronecker(R_c, mp.eye(b.rows)) + kronecker(mp.eye(b.cols), R_d)]


def shape_of_start(draw: Draw) -> Arguments:
    h, d, c = sizes(draw)
    sign = draw.rng.choice([0, *([1] if h <= c else []), *([-1] if h <= d else [])])
    return {
        "delta": sign * draw.magnitude("delta"),
        "scale": draw.magnitude("scale") * (draw.rng.random() > 0.1),
        **positive_rates(draw),
        **{"h": h, "d": d, "c": c, "seed": draw.rng.randrange(10**6)},
    }


def drawn_start(h: int, d: int, c: int, delta: Any, seed: int, **given: Any) -> Any:
    return isotropic_init(
        h, d, c, float(delta), np.random.default_rng(seed), **{k: float(v) for k, v in given.items()}
    )


def rows_of(entries: Any, rows: int) -> Any:
    return mp.matrix(
        [entries[i : i + len(entries) // rows] for i in range(0, len(entries), len(entries) // rows)]
    )


@case(
    isotropic_init,
    draw=shape_of_start,
    call=drawn_start,
    facts=True,
    mutants={
        "η_a and η_w exchanged": layers_exchanged(drawn_start),
        "the sign of δ swapped": lambda delta, h, d, c, **rest: drawn_start(
            delta=-delta * (h <= min(c, d)), h=h, d=d, c=c, **rest
        ),
    },
)
def _(found: Any, h: int, d: int, c: int, delta: Any, scale: Any, eta_a: Any, eta_w: Any, seed: int) -> Any:
    """η_w AAᵀ - η_a WWᵀ = δ I."""
    A, W = (rows_of(x, h) for x in found)
    rest = eta_w * (A * A.T) - eta_a * (W * W.T) - delta * mp.eye(h)
    return [(rest, eta_w * mp.norm(A) ** 2 + eta_a * mp.norm(W) ** 2 + abs(delta))]


def start_of_flow(draw: Draw) -> Arguments:
    """A start with isotropic balance, to rounding, and a time that is short, natural or long."""
    rng = draw.rng
    generator = np.random.default_rng(rng.randrange(10**9))
    h = rng.choice((1, 2))
    d, c = (rng.choice((1, 2)) for _ in "dc")
    rates = positive_rates(draw)
    scale, delta = 10.0 ** rng.uniform(-2, 1), 0.0
    sign = rng.choice([0, *([1] if h <= c else []), *([-1] if h <= d else [])])
    if h > min(d, c) and sign == 0:
        h = min(d, c)
    delta = sign * 10.0 ** rng.uniform(-3, 1)
    near, far = (c, d) if sign >= 0 else (d, c)
    layer = scale * generator.normal(size=(h, far))
    u, s, _ = np.linalg.svd(layer, full_matrices=True)
    values = np.concatenate([s, np.zeros(h)])[:h]
    frame = np.linalg.qr(generator.normal(size=(near, h)))[0].T
    other = (u * np.sqrt(values**2 + abs(delta))) @ frame
    a, w = (other, layer) if sign >= 0 else (layer, other)
    beta_star = 10.0 ** rng.uniform(-1, 1) * generator.normal(size=(d, c))
    rate = math.hypot(delta / 2, np.linalg.norm(beta_star, 2) * math.sqrt(rates["eta_a"] * rates["eta_w"]))
    t = rng.choice((0.0, *(10.0 ** rng.uniform(-3, 1.3) / rate for _ in range(6))))
    given = {"A": a / math.sqrt(rates["eta_w"]), "W": w / math.sqrt(rates["eta_a"]), "beta_star": beta_star}
    return {"t": t, **{name: x.tolist() for name, x in given.items()}, **rates}


def size_of_layers(outputs: Any, eta_a: Any, eta_w: Any, **_: Any) -> Any:
    total = eta_w * mp.norm(outputs[1]) + eta_a * mp.norm(outputs[2])
    return [total / mp.sqrt(eta_a * eta_w), total / eta_w, total / eta_a]


@case(
    isotropic_flow,
    returns=LinearFlow,
    draw=start_of_flow,
    draws=9,
    scale=size_of_layers,
    mutants={
        "the sign of β* swapped": lambda beta_star, **rest: isotropic_flow(beta_star=-beta_star, **rest),
        "time longer by 1e-9": lambda t, **rest: isotropic_flow(t=t * (1 + 1e-9), **rest),
    },
)
def _(t: Any, A: Any, W: Any, beta_star: Any, eta_a: Any, eta_w: Any) -> Any:
    return mp_reference.flow(t, A, W, beta_star, eta_a, eta_w)


def start_of_riccati(draw: Draw) -> Arguments:
    """Symmetric matrices by their upper triangles."""
    rng = draw.rng
    generator = np.random.default_rng(rng.randrange(10**9))
    size = rng.choice((1, 2))
    delta = rng.choice((-1, 0, 1)) * 10.0 ** rng.uniform(-6, 1)
    factor = 10.0 ** rng.uniform(-1, 1) * generator.normal(size=(size, size))
    root = 10.0 ** rng.uniform(-2, 1) * (generator.normal(size=(size, size)) + 2 * np.eye(size))
    nu0 = 10.0 ** rng.uniform(-2, 0.5) * generator.normal(size=(size, size))
    gram, C0 = factor.T @ factor, root.T @ root
    rate = math.sqrt(np.linalg.eigvalsh(gram)[-1] + delta**2 / 4)
    t = rng.choice((0.0, *(10.0 ** rng.uniform(-4, 1) / rate for _ in range(6))))
    upper = {"C0": C0[np.triu_indices(size)].tolist(), "gram": gram[np.triu_indices(size)].tolist()}
    return {"t": t, "nu0": nu0.tolist(), **upper, "delta": delta}


def full(upper: Any) -> Any:
    """The symmetric matrix of an upper triangle, of size one or two."""
    return [[upper[0]]] if len(upper) == 1 else [[upper[0], upper[1]], [upper[1], upper[2]]]


def size_of_riccati(outputs: Any, gram: Any, delta: Any, **_: Any) -> Any:
    rate = mp.sqrt(mp.norm(full(gram)[0]) + delta**2 / 4) + abs(delta) / 2
    return [rate + mp.norm(outputs[0]), mp.norm(outputs[1])]


def by_triangles(C0: Any, gram: Any, **rest: Any) -> Any:
    return matrix_riccati(C0=full(C0), gram=full(gram), **rest)


@case(
    matrix_riccati,
    draw=start_of_riccati,
    call=by_triangles,
    draws=12,
    scale=size_of_riccati,
    mutants={"the sign of δ swapped": lambda delta, **rest: by_triangles(delta=-delta, **rest)},
)
def _(t: Any, nu0: Any, C0: Any, gram: Any, delta: Any) -> Any:
    return mp_reference.riccati(t, nu0, full(C0), full(gram), delta)


def path(draw: Draw) -> Arguments:
    """Values that cross one another and zero between turning vectors; the path to rounding."""
    rng = draw.rng
    d, c = rng.choice(((2, 2), (3, 2), (2, 3)))
    times, size = np.linspace(-1, 1, rng.choice((41, 60))), draw.magnitude("") ** 0.5
    values = size * np.stack([1.2 - times * rng.uniform(-0.1, 0.1), times + rng.uniform(-0.3, 0.3)], -1)
    generator = np.random.default_rng(rng.randrange(10**9))
    frames = [np.linalg.qr(generator.normal(size=(n, n)))[0] for n in (d, c)]
    turns = [rng.uniform(-0.5, 0.5) * times for _ in "uv"]
    sides = []
    for frame, angle in zip(frames, turns, strict=True):
        turn = np.stack(
            [np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], -2
        )
        sides.append(frame[:, :2] @ turn)
    points = (sides[0] * values[:, None, :]) @ sides[1].swapaxes(-1, -2)
    order = np.argsort(-np.abs(values[0]))
    signs = np.where(values[0] < 0, -1.0, 1.0)
    return {"beta": points.tolist(), "values": (values * signs)[:, order].tolist()}


@case(
    signed_svd_path,
    draw=path,
    call=lambda beta, values: signed_svd_path(beta),
    draws=10,
    facts=True,
    mutants={
        "values without sign": lambda beta, values: (
            lambda U, s, V: (U * np.sign(s)[..., None, :], np.abs(s), V)
        )(*signed_svd_path(beta)),
        "sorted at every point": lambda beta, values: (lambda u, s, v: (u, s, v.swapaxes(-1, -2)))(
            *np.linalg.svd(beta, full_matrices=False)
        ),
    },
)
def _(found: Any, beta: Any, values: Any) -> Any:
    """β = U diag(λ) Vᵀ with orthonormal columns, and λ continuous: the values of which the path was made."""
    U, signed, V = found
    T, m = len(beta), 2
    size = max(max(map(abs, row)) for row in values)
    pairs = [([x - y for x, y in zip(signed, (v for row in values for v in row), strict=True)], size)]
    for k in range(T):
        left, right = (rows_of(x[k * len(x) // T : (k + 1) * len(x) // T], len(x) // T // m) for x in (U, V))
        back = left * mp.diag(signed[k * m : (k + 1) * m]) * right.T - mp.matrix(beta[k])
        pairs += [(back, size), (left.T * left - mp.eye(m), 1), (right.T * right - mp.eye(m), 1)]
    return pairs


WORDS = ("lazy", "rich", "delayed rich")
LARGE, KERNEL = 2, 0.2
"""The documented thresholds: how large a balance is large, and how far the kernel of a lazy network moves."""


def task(draw: Draw) -> Arguments:
    """Contributions and a target of small integers; balances that are infinite, large, or of any size."""
    rng = draw.rng
    h, d, c = sizes(draw)

    def row(n: int) -> list[int]:
        found = [rng.randint(-2, 2) for _ in range(n)]
        return found if any(found) else row(n)

    beta_k = [[[x * y for y in a] for x in w] for w, a in ((row(d), row(c)) for _ in range(h))]
    beta_star = [row(c) for _ in range(d)]
    if rng.random() < 0.4:  # within reach
        w, a = beta_k[0], row(c)
        beta_star = [[x[0] * y for y in a] for x in w] if any(x[0] for x in w) else w
    kind = rng.choice(("infinite", "infinite", "large", "any"))
    size = {"infinite": math.inf, "large": 1e3, "any": 10.0 ** rng.uniform(-1, 1)}[kind]
    deltas = [rng.choice((-1, 1)) * size for _ in range(h)]
    if kind == "any" and rng.random() < 0.5:
        beta_k = [[[50 * x for x in row] for row in beta] for beta in beta_k]
    return {
        "h": h,
        "d": d,
        "c": c,
        "deltas": tuple(deltas),
        "beta_k": tuple(beta_k),
        "beta_star": tuple(map(tuple, beta_star)),
    }


def reachable(up: Any, beta_k: Any, beta_star: Any) -> bool:
    """Whether β* = Σ X_k a_kᵀ + Σ w_k Y_kᵀ has a solution: the ranks with and without β*, of rational numbers."""
    d, c = len(beta_star), len(beta_star[0])
    columns = []
    for beta, high in zip(beta_k, up, strict=True):
        rows = beta if high else [list(x) for x in zip(*beta, strict=True)]
        direction = next(row for row in rows if any(row))
        for place in range(d if high else c):
            entries = [
                direction[j] * (i == place) if high else direction[i] * (j == place)
                for i in range(d)
                for j in range(c)
            ]
            columns.append(entries)
    space, target = sp.Matrix(columns), sp.Matrix([[x for row in beta_star for x in row]])
    return bool(space.rank() == space.col_join(target).rank())


def kernel_change(deltas: Any, beta_k: Any, beta_star: Any) -> Any:
    """|K - K0|/|K0| where the linearised network has fitted β*, D F + F C = β* - β, at unit rates."""
    A, W = [], []
    for delta, beta in zip(deltas, beta_k, strict=True):
        b = mp.matrix([list(row) for row in beta])
        size = mp.norm(b)
        a = b.T * mp.matrix([max((b[i, j] for j in range(b.cols)), key=abs) for i in range(b.rows)])
        a = a / mp.norm(a)
        w = b * a / size
        kappa = mp.sqrt(mp.mpf(delta) ** 2 + 4 * size**2)
        A.append(list(a * mp.sqrt((kappa + delta) / 2)))
        W.append(list(w * mp.sqrt((kappa - delta) / 2)))
    A, W = mp.matrix(A), mp.matrix(W)
    C, D = A.T * A, W.T * W
    missing = mp.matrix([list(row) for row in beta_star]) - W.T * A
    (cs, P), (ds, Q) = mp.eigsy(C), mp.eigsy(D)
    modes = Q.T * missing * P
    small = mp.mpf(10) ** (-mp.mp.dps // 2)
    F = mp.matrix(modes.rows, modes.cols)
    for i in range(modes.rows):
        for j in range(modes.cols):
            if abs(cs[j]) + abs(ds[i]) > small:
                F[i, j] = modes[i, j] / (cs[j] + ds[i])
            # else: no direction in which the linearised network could move
    F = Q * F * P.T
    after_A, after_W = A + W * F, W + A * F.T

    def square(C: Any, D: Any) -> Any:
        traces = sum(C[i, i] for i in range(C.rows)), sum(D[i, i] for i in range(D.rows))
        return D.rows * mp.norm(C) ** 2 + C.rows * mp.norm(D) ** 2 + 2 * traces[0] * traces[1]

    return mp.sqrt(square(after_A.T * after_A - C, after_W.T * after_W - D) / square(C, D))


def decided(**given: Any) -> Any:
    listed = {name: [list(x) for x in given[name]] for name in ("beta_k", "beta_star")}
    return [WORDS.index(regime(**{**given, **listed, "deltas": list(given["deltas"])}))]


@case(
    regime,
    draw=task,
    call=decided,
    draws=40,
    discrete=True,
    mutants={
        "the signs of the balances swapped": lambda deltas, **rest: decided(
            deltas=tuple(-x for x in deltas), **rest
        ),
        "always lazy": lambda **_: [0],
        "the smaller part of the neurons": lambda deltas, **rest: decided(
            deltas=tuple(1e-3 * x if abs(x) < 1e9 else x for x in deltas), **rest
        ),
    },
)
def _(h: int, d: int, c: int, deltas: Any, beta_k: Any, beta_star: Any) -> Any:
    sizes = [mp.norm([x for row in beta for x in row]) for beta in (*beta_k, beta_star)]
    dominant = min(map(abs, deltas)) >= LARGE * 2 * max(sizes)
    if dominant and not reachable([delta > 0 for delta in deltas], beta_k, beta_star):
        return [WORDS.index("delayed rich")]
    if math.isinf(deltas[0]):
        return [WORDS.index("lazy")]
    change = kernel_change(deltas, beta_k, beta_star)
    return [WORDS.index("lazy" if change <= KERNEL else "delayed rich" if dominant else "rich")]
