"""The evaluators of the single-neuron network, against its compiled results."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from derivations.single_neuron import (
    basin,
    crossing_time,
    implicit_bias,
    mu_phi,
    nullspace_alpha,
    separatrix_distance,
    trajectory,
)
from symdyn.catalogue.registry import load
from tests.agreement.draws import Draw
from tests.agreement.subjects import Arguments
from tests.agreement.tied.case import Refused, case, compiled, formula, stated

KINDS = (
    "generic",
    "parallel",
    "antiparallel",
    "almost antiparallel",
    "a0 = 0",
    "w0 = 0",
    "separatrix",
    "β* = 0",
)
"""Where the solution degenerates, and β* = 0, where there is none."""


def dot(u: Any, v: Any) -> Any:
    return mp.fdot(u, v)


def start(draw: Draw) -> Arguments:
    """A start of any balance and size, every second time one of those where the solution degenerates."""
    rng = draw.rng
    d = rng.choice((1, 2, 3))
    kind = rng.choice(KINDS) if rng.random() < 0.6 else "generic"
    star, side = ([rng.gauss(0, 1) for _ in range(d)] for _ in "ab")
    length, size = draw.magnitude("") ** 0.5, draw.magnitude("") ** 0.5
    beta_star = [x * length for x in star]
    eta_a, eta_w = (10.0 ** rng.uniform(-2, 2) for _ in "ab") if rng.random() < 0.6 else (1.0, 1.0)
    a0 = rng.choice((1, -1)) * (
        draw.magnitude("") ** 0.5 if rng.random() < 0.6 else size * rng.uniform(0.5, 2)
    )
    if kind == "parallel":
        side = star
    if "antiparallel" in kind:
        tilt = 10.0 ** rng.uniform(-12, 0) if kind.startswith("almost") else 0.0
        side = [-math.copysign(1, a0) * (x + tilt * y) for x, y in zip(star, side, strict=True)]
    w0 = [x * size * (kind != "w0 = 0") for x in side]
    if kind == "β* = 0":
        beta_star = [0.0] * d
    if kind == "a0 = 0":
        a0 = 0.0
    if kind == "separatrix":
        growth, _ = rates(a0, w0, beta_star, eta_a, eta_w)
        a0 = (
            -eta_a
            * float(np.dot(w0, beta_star))
            / growth
            * (1 + rng.choice((-1, 1)) * 10.0 ** rng.uniform(-16, -1))
        )
    return {"a0": a0, "w0": w0, "beta_star": beta_star, "eta_a": eta_a, "eta_w": eta_w}


def rates(a0: float, w0: Any, beta_star: Any, eta_a: float, eta_w: float) -> tuple[float, float]:
    """λ₊ and 2R, as floats."""
    delta = eta_w * a0**2 - eta_a * float(np.dot(w0, w0))
    product = eta_a * eta_w * float(np.dot(beta_star, beta_star))
    gap = math.hypot(delta, 2 * math.sqrt(product))
    return ((gap + delta) / 2 if delta >= 0 else 2 * product / (gap - delta)), gap


def timed(draw: Draw) -> Arguments:
    """A start, and a time that is short, of the order of a time scale of the flow, or long."""
    given = start(draw)
    growth, gap = rates(**given)
    natural = draw.rng.choice((1.0, growth or 1.0, gap or 1.0))
    t = draw.rng.choice((0.0, *(10.0 ** draw.rng.uniform(-3, 2.5) / natural for _ in range(9))))
    return {"t": min(t, 1e6 / (gap or 1.0)), **given}


def invariants(a0: Any, w0: Any, beta_star: Any, eta_a: Any, eta_w: Any) -> dict[str, Any]:
    """δ, ‖β*‖, a and wᵀβ* of the start, in which the results are written."""
    if not any(beta_star):
        raise Refused("beta_star must be a non-zero vector")
    delta = compiled("single_neuron.conserved_delta", a=a0, w=w0, eta_a=eta_a, eta_w=eta_w)[0]
    return {
        "delta": delta,
        "s": mp.sqrt(dot(beta_star, beta_star)),
        "a0": a0,
        "omega0": dot(w0, beta_star),
        "eta_a": eta_a,
        "eta_w": eta_w,
    }


_, _, _, _, _, GROWTH, _ = load("single_neuron.solution_for_every_balance").statement.because
GROWN = sp.Mul(*(factor for factor in GROWTH.rhs.args if not isinstance(factor, sp.exp)))
"""E², by which the solution divides, without the factor e^{-2λ₊t} that stands beside it."""


def solved(t: Any, a0: Any, w0: Any, beta_star: Any, eta_a: Any, eta_w: Any) -> tuple[Any, list[Any]]:
    """a(t) and w(t) by the compiled solution: w = w⊥(0)/E + wᵀβ* β*/‖β*‖²."""
    at = invariants(a0, w0, beta_star, eta_a, eta_w)
    a, omega = compiled("single_neuron.solution_for_every_balance", t=t, **at)
    fading = 1 / mp.sqrt(formula(GROWN, t=t, **at))
    square = at["s"] ** 2
    w = [
        (x - at["omega0"] / square * b) * fading + omega / square * b
        for x, b in zip(w0, beta_star, strict=True)
    ]
    return a, w


def sizes(a: Any, w: Any, eta_a: Any, eta_w: Any) -> Any:
    """κ = η_w a² + η_a‖w‖²."""
    return eta_w * a**2 + eta_a * dot(w, w)


def size_of_weights(outputs: Any, eta_a: Any, eta_w: Any, **_: Any) -> Any:
    kappa = sizes(outputs[0][0], outputs[1], eta_a, eta_w)
    return [mp.sqrt(kappa / eta_w), mp.sqrt(kappa / eta_a)]


def rates_exchanged(function: Any) -> Any:
    return lambda eta_a, eta_w, **rest: function(eta_a=eta_w, eta_w=eta_a, **rest)


def target_turned(function: Any) -> Any:
    return lambda beta_star, **rest: function(beta_star=-beta_star, **rest)


@case(
    trajectory,
    draw=timed,
    scale=size_of_weights,
    draws=40,
    mutants={
        "η_a and η_w exchanged": rates_exchanged(trajectory),
        "the sign of β* swapped": target_turned(trajectory),
        "time longer by 1e-9": lambda t, **rest: trajectory(t=t * (1 + 1e-9), **rest),
    },
)
def _(**start: Any) -> Any:
    return solved(**start)


def size_of_coordinates(
    outputs: Any, t: Any, a0: Any, w0: Any, beta_star: Any, eta_a: Any, eta_w: Any
) -> Any:
    with mp.workdps(200):
        kappa = sizes(*solved(t, a0, w0, beta_star, eta_a, eta_w), eta_a, eta_w)
    return [kappa / (2 * mp.sqrt(eta_a * eta_w)), 1]


@case(
    mu_phi, draw=timed, scale=size_of_coordinates, mutants={"η_a and η_w exchanged": rates_exchanged(mu_phi)}
)
def _(t: Any, a0: Any, w0: Any, beta_star: Any, eta_a: Any, eta_w: Any) -> Any:
    if a0 == 0 and not any(w0):
        raise Refused("φ has no value at the origin")
    a, w = solved(t, a0, w0, beta_star, eta_a, eta_w)
    if not any(w):
        return [mp.mpf(0), final_sign(a0, w0, beta_star, eta_a, eta_w)]
    return compiled("single_neuron.polar_coordinates", a=a, w=w, beta_star=beta_star)


def final_sign(*start: Any) -> Any:
    return compiled("single_neuron.final_branch", **invariants(*start))[0]


def on_the_separatrix(draw: Draw) -> Arguments:
    """Every fourth start lies on the separatrix exactly: δ = 0 and w0 antiparallel, or a0 = 0 and w0 across."""
    given = start(draw)
    if draw.rng.random() < 0.25:
        unit = draw.rng.choice(([3.0, 4.0], [5.0, 12.0]))
        length, size = (2.0 ** draw.rng.randint(-20, 20) for _ in "ab")
        given.update(eta_a=1.0, eta_w=1.0, beta_star=[x * length for x in unit])
        if draw.rng.random() < 0.5:
            side = draw.rng.choice((1, -1))
            given.update(a0=side * size * math.hypot(*unit), w0=[-side * size * x for x in unit])
        else:
            given.update(a0=0.0, w0=[unit[1] * size, -unit[0] * size])
    return given


@case(
    basin,
    draw=on_the_separatrix,
    discrete=True,
    draws=60,
    mutants={
        "the sign of a0": lambda a0, **_: np.sign(a0),
        "the sign of β* swapped": target_turned(basin),
        "η_a and η_w exchanged": rates_exchanged(basin),
    },
)
def _(**start: Any) -> Any:
    at = invariants(**start)
    with mp.extradps(200):
        return compiled("single_neuron.final_branch", **at)


SURFACE = load("single_neuron.separating_surface").statement.because[0].quantity
"""F = λ₊ a + η_a wᵀβ*."""


@case(
    separatrix_distance,
    draw=start,
    draws=20,
    mutants={"η_a and η_w exchanged": rates_exchanged(separatrix_distance)},
)
def _(a0: Any, w0: Any, beta_star: Any, eta_a: Any, eta_w: Any) -> Any:
    def height(a: Any, w: Any) -> Any:
        at = invariants(a, w, beta_star, eta_a, eta_w)
        return formula(SURFACE, a=a, omega=at.pop("omega0"), **{k: v for k, v in at.items() if k != "a0"})

    with mp.workdps(3 * mp.mp.dps):
        step = (sum(map(abs, (a0, *w0))) + mp.sqrt(mp.norm(beta_star))) * mp.mpf(10) ** (-mp.mp.dps // 3)
        slopes = [(height(a0 + step, w0) - height(a0 - step, w0)) / (2 * step)]
        for i in range(len(w0)):
            up, down = ([*w0[:i], w0[i] + side * step, *w0[i + 1 :]] for side in (1, -1))
            slopes.append((height(a0, up) - height(a0, down)) / (2 * step))
        return [height(a0, w0) / mp.norm(slopes)]


def time_scale(outputs: Any, **start: Any) -> Any:
    """1/(2R), the unit of a time; +inf where there is no crossing."""
    _, gap = rates(
        *(np.array(list(map(float, x))) if isinstance(x, list) else float(x) for x in start.values())
    )
    return [1 / mp.mpf(gap)]


@case(
    crossing_time,
    draw=start,
    scale=time_scale,
    draws=36,
    mutants={
        "η_a and η_w exchanged": rates_exchanged(crossing_time),
        "no crossing": lambda a0, **_: np.inf * np.ones_like(a0),
    },
)
def _(**start: Any) -> Any:
    at = invariants(**start)
    growing = final_sign(*start.values())
    if growing == 0 or growing * at["a0"] > 0:
        return [mp.inf]
    return compiled("single_neuron.zero_crossing_time", **at) if at["a0"] else [mp.mpf(0)]


def data(draw: Draw) -> Arguments:
    """One or two samples, and the final sign of a: that of integration where it is not that of the exact solution."""
    rng = draw.rng
    n, extra = rng.choice((1, 1, 2, 2)), rng.choice((0, 1, 2))
    X = [[rng.gauss(0, 1) for _ in range(n + extra)] for _ in range(n)]
    size = 10.0 ** rng.uniform(-2, 2)
    y, w0 = (
        [size * rng.gauss(0, 1) for _ in range(n)],
        [size**0.5 * rng.gauss(0, 1) for _ in range(n + extra)],
    )
    pull = float(np.dot(np.array(y) @ np.array(X), w0))
    a0 = (
        rng.choice((math.copysign(1, pull), -math.copysign(0.2, pull), 0.0)) * size**0.5 * rng.uniform(0.3, 1)
    )
    given = {"X": X, "y": y, "a0": a0, "w0": w0}
    given |= {"eta_a": rng.uniform(0.3, 3), "eta_w": rng.uniform(0.3, 3)}
    return given | {"sign": integrated_sign(**{k: np.array(v) for k, v in given.items()})}


def integrated_sign(X: Any, y: Any, a0: Any, w0: Any, eta_a: Any, eta_w: Any) -> int:
    """The sign of a where gradient flow on ‖X a w - y‖²/2 has fitted the data."""

    def velocity(_: float, state: Any) -> Any:
        pull = X.T @ (y - X @ state[1:] * state[0])
        return np.concatenate([[eta_a * (state[1:] @ pull)], eta_w * state[0] * pull])

    def fitted(_: float, state: Any) -> float:
        return float(np.linalg.norm(y - X @ state[1:] * state[0]) - 0.1 * np.linalg.norm(y))

    fitted.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(velocity, (0, 1e6), [a0, *w0], method="LSODA", events=fitted, rtol=1e-9, atol=1e-12)
    assert run.status == 1
    return int(np.sign(run.y[0, -1]))


OPPOSITE, SAME = load("single_neuron.reversed_position").statement.because
"""Where β_∞ lies on the line β₊ + a_∞ n0, with the sign of a_∞."""


@case(
    implicit_bias,
    draw=data,
    call=lambda sign, **given: implicit_bias(**given),
    draws=24,
    mutants={
        "the start in the row space turned": lambda sign, X, y, a0, w0, **rates: implicit_bias(
            X=X, y=y, a0=a0, w0=w0 - 2 * np.linalg.pinv(X) @ X @ w0, **rates
        ),
        "η_a and η_w exchanged": lambda sign, **given: rates_exchanged(implicit_bias)(**given),
    },
)
def _(X: Any, y: Any, a0: Any, w0: Any, eta_a: Any, eta_w: Any, sign: int) -> Any:
    rows = mp.matrix(X)
    inverse = rows.T * (rows * rows.T) ** -1
    plus, seen = inverse * mp.matrix(y), inverse * (rows * mp.matrix(w0))
    delta = compiled("single_neuron.conserved_delta", a=a0, w=list(seen), eta_a=eta_a, eta_w=eta_w)[0]
    hidden = [x - z for x, z in zip(w0, seen, strict=True)]
    side = SAME if sign > 0 else OPPOSITE
    (coefficient,) = side.lhs.terms.values()
    size = stated(coefficient, beta_plus=list(plus), deltarow=delta, eta_a=eta_a, eta_w=eta_w)
    return [[p + size * x for p, x in zip(plus, hidden, strict=True)]]


def line(draw: Draw) -> Arguments:
    """β* and the unit vector v across it, exactly or to rounding, and weights far apart in size."""
    rng = draw.rng
    v, across = rng.choice(
        (([0.0, 1.0], [1.0, 0.0]), ([0.6, 0.8], [-0.8, 0.6]), ([-0.28, 0.96], [0.96, 0.28]))
    )
    length = draw.magnitude("") ** 0.5 * (rng.random() > 0.1)
    w0 = [rng.gauss(0, 1) * draw.magnitude("") ** 0.5 for _ in v]
    a0 = rng.choice((1, -1)) * (
        math.hypot(*w0) * (1 + 10.0 ** rng.uniform(-15, 0))
        if rng.random() < 0.3
        else draw.magnitude("") ** 0.5
    )
    given = {"beta_star": [x * length for x in across], "v": v, "a0": a0, "w0": w0}
    return given | {"sign": rng.choice((None, 1, -1))}


@case(
    nullspace_alpha,
    draw=line,
    draws=30,
    mutants={"the final sign swapped": lambda sign, a0, **rest: -nullspace_alpha(a0=a0, sign=sign, **rest)},
)
def _(beta_star: Any, v: Any, a0: Any, w0: Any, sign: int | None) -> Any:
    delta = compiled("single_neuron.conserved_delta", a=a0, w=w0, eta_a=mp.mpf(1), eta_w=mp.mpf(1))[0]
    s = mp.sqrt(dot(beta_star, beta_star))
    (alpha,) = compiled("single_neuron.position_on_the_line", k=dot(w0, v), delta=delta, s=s)
    return [(mp.sign(a0) if sign is None else sign) * alpha]
