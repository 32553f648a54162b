"""Teacher and student of the two-layer experiments (Kunin et al. 2024, appendix D.1): data, starts, (τ, δ).

The draws follow the order of the authors' program, number by number, so that a seed here is their seed: one
generator, from which two default initialisations of linear layers are drawn and thrown away before the
teacher's weights, and again before the student's, then the inputs. Draws, scaled weights and labels are rounded to
float32, as they are there, and are float64 from then on. That matters: at the largest learning rates the published
kernel distances depend on the last of these digits at the level of 1e-3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from numerics.measures.arrays import doubles, tensors, wide_tensors

TEST_SEED = 201


@dataclass(frozen=True)
class Task:
    """What one seed decides: teacher a (k,), W (k, d); base student a (h,), W (h, d); inputs X (n, d) and labels y
    (n,). All float64, with the digits of float32.
    """

    teacher_a: torch.Tensor
    teacher_W: torch.Tensor
    a: torch.Tensor
    W: torch.Tensor
    X: torch.Tensor
    y: torch.Tensor


def draw_task(seed: int, *, d: int, h: int, k: int, n: int, teacher_seed: int | None = None) -> Task:
    """Draw teacher, base student and training data; labels are the teacher's, without noise.

    Teacher: k unit vectors w and signs a. Student: h/2 unit vectors and signs, then the same neurons with −a, so
    that f = 0 on every input. Inputs lie on the unit sphere. With ``teacher_seed`` the teacher is drawn from a
    seed of its own. Raises ValueError if h is odd.
    """
    if h % 2:
        raise ValueError(f"the symmetrised student needs an even number of neurons, got h = {h}")
    generator = torch.Generator().manual_seed(seed)
    own = generator if teacher_seed is None else torch.Generator().manual_seed(teacher_seed)
    teacher_a, teacher_W = _neurons(own, k, k, d)
    a, W = _neurons(generator, h, h // 2, d)
    X = unit_rows(generator, n, d)
    return Task(
        teacher_a=teacher_a,
        teacher_W=teacher_W,
        a=torch.cat([a, -a]),
        W=torch.cat([W, W]),
        X=X,
        y=outputs(teacher_a.float(), teacher_W.float(), X.float()).double(),
    )


def held_out(d: int, size: int, seed: int = TEST_SEED) -> torch.Tensor:
    """Test inputs (size, d) on the unit sphere: the same ones whatever the seed of the task."""
    return unit_rows(torch.Generator().manual_seed(seed), size, d)


def outputs(a: torch.Tensor, W: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
    """f(X) = σ(XWᵀ)a of ReLU networks a (..., h), W (..., h, d); returns (..., n)."""
    a, W, X = wide_tensors(a=a, W=W, X=X)
    return (a[..., None, :] @ torch.relu(W @ X.mT)).squeeze(-2)


def relative_scale(tau: Any, delta: Any) -> np.ndarray:
    """The α that solves δ = τ²(α² − α⁻²), for tau > 0 and delta that broadcast.

    A balanced neuron of unit size, |a| = ‖w‖ = 1, scaled to τα and τ/α has |a|‖w‖ = τ² and a² − ‖w‖² = δ. The
    larger of α and 1/α is computed first, so that neither loses digits. Raises ValueError for τ ≤ 0.
    """
    tau, delta = doubles(tau=tau, delta=delta)
    if not (tau > 0).all():
        raise ValueError(f"tau must be positive, got {tau[~(tau > 0)].ravel()[:3].tolist()}")
    large = np.sqrt((np.abs(delta) + np.hypot(delta, 2 * tau**2)) / 2) / tau
    return np.where(delta >= 0, large, 1 / large)


def students(task: Task, tau: Any, delta: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The base student at each (τ, δ), w τ/α and a τα: a (B, h) and W (B, h, d) for tau and delta (B,).

    Rounded to float32 after each factor: τ and δ are met to seven digits.
    """
    tau, delta = doubles(tau=tau, delta=delta)
    scale = tensors(tau=tau)[0].float()[:, None]
    inverse = torch.as_tensor(1 / relative_scale(tau, delta)).float()[:, None]
    a = task.a.float() * scale / inverse
    W = task.W.float() * scale[..., None] * inverse[..., None]
    return a.double(), W.double()


def unit_rows(generator: torch.Generator, rows: int, d: int) -> torch.Tensor:
    """Independent points (rows, d) on the unit sphere, drawn in float32."""
    points = torch.randn(rows, d, generator=generator)
    return (points / points.norm(dim=1, keepdim=True)).double()


def _neurons(generator: torch.Generator, width: int, drawn: int, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    for fan_in, fan_out in ((d, width), (width, 1)):
        bound = 1 / math.sqrt(fan_in)
        torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=generator)
    W = unit_rows(generator, drawn, d)
    return torch.sign(torch.randn(drawn, generator=generator)).double(), W
