"""Two-layer ReLU networks f(x) = Σ_k a_k σ(w_kᵀx) of any width in the plane: their starts, and what the gradient flow
makes of them (Kunin et al. 2024, section 5).

The data are few points on the circle with random labels. Weights are a (h,) and W (h, 2), data X (n, 2) and y (n,); the
flow is that of L = ½ Σᵢ (f(xᵢ) − yᵢ)², with rates of 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from numerics.measures.arrays import plain, require_some
from numerics.training.loop import Iterated, reached

BINS = 72


def circle_task(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs X (n, 2) on the circle, one in the middle 60 % of each n-th of it, and labels y (n,), ‖y‖² = n."""
    generator = np.random.default_rng([seed, 0])
    angle = 2 * np.pi * (np.arange(n) + generator.uniform(0.2, 0.8, n)) / n
    y = generator.standard_normal(n)
    return np.stack([np.cos(angle), np.sin(angle)], -1), y * math.sqrt(n) / np.linalg.norm(y)


def gaussian_start(seed: int, h: int, gamma: float, gamma_prime: float) -> tuple[np.ndarray, np.ndarray]:
    """Independent a (h,) and W (h, 2) of the standard deviations β_a = h^-(γ+γ′)/2 and β_W = h^-(γ-γ′)/2."""
    generator = np.random.default_rng([seed, 1, h])
    a, W = generator.standard_normal(h), generator.standard_normal((h, 2))
    return a * h ** (-(gamma + gamma_prime) / 2), W * h ** (-(gamma - gamma_prime) / 2)


def balanced_start(seed: int, h: int, tau: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Unit neurons a (h,) and W (h, 2), each with its negative, at the scale τ and the balance δ; h is even."""
    from numerics.tasks.teacher_student import relative_scale

    generator = np.random.default_rng([seed, 2])
    W = generator.standard_normal((h // 2, 2))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    alpha = relative_scale(tau, delta)
    return tau * alpha * np.repeat([1.0, -1.0], h // 2), tau / alpha * np.concatenate([W, W])


def measures(
    a0: Any, W0: Any, X: Any, y: Any, *, fitted: float, step: float, most_steps: int
) -> dict[str, float]:
    """Follow the flow from (a₀, W₀) until the data are fitted, and compare the end with the start.

    ``relative_loss``            L/L(f = 0) at the end
    ``movement``                 sup_t ‖W(t) − W(0)‖/‖W(0)‖
    ``kernel_distance``          S of the kernels at the start and at the end
    ``kernel_distance_halfway``  S of those at the start and when the loss had first halved
    ``flipped``                  the share of pairs of a neuron and a datum whose activation is another one at the end
    ``directions_after``         in how many directions the neurons point at the end, see ``directions``
    ``delta_mean``               the mean of δ_k = a_k² − ‖w_k‖² at the start
    ``delta_drift``              Σ_k |δ_k(t) − δ_k(0)| at the end, in units of the larger squared norm of the weights

    Five digits each. Steps as in ``descend``.
    """
    from numerics.measures.conserved import neuron_deltas
    from numerics.measures.kernels import kernel_distance, two_layer_ntk

    a0, W0, X, y = plain(a0=a0, W0=W0, X=X, y=y)
    a, W, movement, halfway, loss = descend(a0, W0, X, y, fitted=fitted, step=step, most_steps=most_steps)
    kernels = [two_layer_ntk(*weights, X) for weights in ((a0, W0), halfway, (a, W))]
    deltas = neuron_deltas(a0, W0)
    norms = (a0 @ a0 + (W0 * W0).sum(), a @ a + (W * W).sum())
    values = {
        "relative_loss": loss,
        "movement": movement,
        "kernel_distance": kernel_distance(kernels[0], kernels[2]),
        "kernel_distance_halfway": kernel_distance(kernels[0], kernels[1]),
        "flipped": ((W0 @ X.T >= 0) != (W @ X.T >= 0)).mean(),
        "directions_after": directions(a, W),
        "delta_mean": deltas.mean(),
        "delta_drift": np.abs(neuron_deltas(a, W) - deltas).sum() / max(norms),
    }
    return {name: float(f"{value:.5g}") for name, value in values.items()}


def descend(
    a: Any, W: Any, X: Any, y: Any, *, fitted: float, step: float, most_steps: int
) -> tuple[Any, Any, Any, tuple[Any, Any], Any]:
    """Heun's method for the flow, up to L/L(f = 0) ≤ ``fitted`` or the last of ``most_steps`` steps.

    A step is the fraction ``step`` of 1/(tr K + Σᵢ |rᵢ|‖xᵢ‖), which bounds the rates of the outputs and of balanced
    weights. Returns a (h,), W (h, 2), sup_t ‖W(t) − W(0)‖/‖W(0)‖ over every tenth step and the last, the weights (a, W)
    when the loss had first halved, and the relative loss at the end.
    """
    a, W, X, y = plain(a=a, W=W, X=X, y=y)
    V0, columns = np.ascontiguousarray(W.T), X.T
    movement, halfway, at_start = 0.0, None, None

    def heun(a: Any, V: Any, speed_a: Any, speed_V: Any, residual: Any, rate: Any) -> tuple[Any, ...]:
        time = step / rate
        next_a, next_V, *_ = _velocity(a + time * speed_a, V + time * speed_V, X, columns, y)
        a, V = a + time / 2 * (speed_a + next_a), V + time / 2 * (speed_V + next_V)
        return a, V, *_velocity(a, V, X, columns, y)

    learner = Iterated(heun, (a, V0, *_velocity(a, V0, X, columns, y)))
    for place in reached(learner, range(most_steps + 1)):
        a, V, *_, residual, _ = learner.state
        loss = residual @ residual
        at_start = loss if at_start is None else at_start
        if halfway is None and loss <= at_start / 2:
            halfway = a, V.T
        last = loss <= fitted * (y @ y) or place == most_steps
        if place % 10 == 0 or last:
            movement = max(movement, np.linalg.norm(V - V0) / np.linalg.norm(V0))  # type: ignore[assignment]  # a number
        if last:
            break
    return a, V.T, movement, halfway or (a, V.T), loss / (y @ y)


def _velocity(a: Any, V: Any, X: Any, columns: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """ȧ = −σ(Z)ᵀr and Ẇ = −a ∘ (Gᵀ(r ∘ X)), with V = Wᵀ (2, h), the residual r and a bound on the rates."""
    hidden = X @ V
    active, features = hidden >= 0, np.maximum(hidden, 0)
    residual = features @ a - y
    rate = np.vdot(features, features) + (active @ (a * a)).sum() + np.abs(residual).sum()
    return -(residual @ features), -a * (columns @ (active * residual[:, None])), residual, rate


def directions(a: Any, W: Any) -> float:
    """1/Σ_b p_b² over equal bins of the circle, p_b the share of |a_k|‖w_k‖ in bin b: at most 72."""
    a, W = plain(a=a, W=W)
    require_some(a=a, W=W)
    angle = np.arctan2(W[:, 1], W[:, 0])
    weight = np.abs(a) * np.linalg.norm(W, axis=1)
    share = np.histogram(angle, BINS, (-np.pi, np.pi), weights=weight / weight.sum())[0]
    return 1 / (share**2).sum()
