"""How far trained single-neuron networks are from a formula for their trajectory, as the step shrinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numerics.measures.arrays import doubles, plain
from numerics.measures.conserved import single_neuron_delta
from numerics.measures.kernels import single_neuron_ntk
from numerics.training.flows import Trajectory, sum_of_squares, train_single_neuron

QUANTITIES = ("a", "w", "ntk", "loss")


def deviations(
    trained: Trajectory, exact: Trajectory, X: np.ndarray, y: np.ndarray, eta_a: Any = 1.0, eta_w: Any = 1.0
) -> dict[str, np.ndarray]:
    """sup over time of the deviation in a, w, the NTK (Frobenius) and the loss; each of shape (...)."""
    X, y, eta_a, eta_w = plain(X=X, y=y, eta_a=eta_a, eta_w=eta_w)
    rates = eta_a[..., None], eta_w[..., None]
    kernels = [single_neuron_ntk(run.a, run.w, X, *rates) for run in (trained, exact)]
    losses = [sum_of_squares(run.beta, X, y) for run in (trained, exact)]
    return {
        "a": np.abs(trained.a - exact.a).max(-1),
        "w": np.linalg.norm(trained.w - exact.w, axis=-1).max(-1),
        "ntk": np.linalg.norm(kernels[0] - kernels[1], axis=(-2, -1)).max(-1),
        "loss": np.abs(losses[0] - losses[1]).max(-1),
    }


def delta_drift(trained: Trajectory, eta_a: Any = 1.0, eta_w: Any = 1.0) -> np.ndarray:
    """sup over time of |δ(t) − δ(0)|, of shape (...)."""
    eta_a, eta_w = plain(eta_a=eta_a, eta_w=eta_w)
    delta = single_neuron_delta(trained.a, trained.w, eta_a[..., None], eta_w[..., None])
    return np.abs(delta - delta[..., :1]).max(-1)


def train_at_steps(
    a0: Any,
    w0: Any,
    X: Any,
    y: Any,
    horizon: Any,
    counts: Sequence[int],
    records: int,
    *,
    eta_a: Any = 1.0,
    eta_w: Any = 1.0,
    device: str = "cpu",
) -> list[Trajectory]:
    """Gradient descent to time ``horizon`` (a scalar or (...)) in each number of steps of ``counts``.

    All runs report the same ``records`` + 1 equally spaced times, so each count must be a multiple of
    ``records``.
    """
    uneven = [count for count in counts if count % records]
    if uneven:
        raise ValueError(f"the numbers of steps {uneven} are not multiples of the {records} records")
    (horizon,) = doubles(horizon=horizon)
    runs = []
    for count in counts:
        step = horizon / count
        record = range(0, count + 1, count // records)
        runs.append(
            train_single_neuron(
                a0, w0, X, y, step=step, steps=count, record=record, eta_a=eta_a, eta_w=eta_w, device=device
            )
        )
    return runs


def exact_trajectory(
    formula: Callable[..., Any],
    horizon: Any,
    records: int,
    a0: Any,
    w0: Any,
    beta_star: Any,
    eta_a: Any = 1.0,
    eta_w: Any = 1.0,
) -> Trajectory:
    """The formula on the times at which ``train_at_steps`` reports, network by network where the horizons
    differ.
    """
    fractions = np.linspace(0.0, 1.0, records + 1)
    (horizon,) = doubles(horizon=horizon)
    a0, w0, eta_a, eta_w, beta_star = plain(a0=a0, w0=w0, eta_a=eta_a, eta_w=eta_w, beta_star=beta_star)
    if horizon.ndim == 0:
        a, w = formula(t=fractions * horizon, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)
        return Trajectory(fractions * horizon, a, w)
    columns = np.broadcast_arrays(horizon, a0, eta_a, eta_w)
    parts = [
        formula(t=fractions * end, a0=start, w0=vector, beta_star=beta_star, eta_a=rate_a, eta_w=rate_w)
        for end, start, rate_a, rate_w, vector in zip(*columns, w0, strict=True)
    ]
    return Trajectory(fractions, np.stack([part[0] for part in parts]), np.stack([part[1] for part in parts]))
