"""Two-layer networks f(x) = W2 σ(W1 x) that learn one task after another (Braun et al. 2022, section 6).

Every task has inputs X (N_i, P) of its own, whitened, X Xᵀ / P = I, and targets Y (N_o, P). Its loss
L = ½⟨‖f(x) − y‖²⟩ is descended on all its data at once, in float64, by any number of networks together: the leading
axes of weights and data are networks. Where σ is the identity the gradient depends on the data through Σ^yx = Y Xᵀ / P
alone, and k steps approximate the gradient flow with τ = 1 at time t = k η.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from numerics.measures.arrays import alike, doubles, plain, wide_tensors
from numerics.training.linear_descent import orthonormal, stacked, whitened_inputs, zero_balanced_start
from numerics.training.loop import Iterated, increasing, reached

ACTIVATIONS = ("linear", "tanh", "relu")
NONLINEAR = ACTIVATIONS[1:]
# The published sizes and tasks are not stated. In all studies N_h, N_i, N_o = 10, 5, 3; every task has P = 10 inputs, a
# linear map with singular values between 0.5 and 2, and targets of which that leaves the loss noise²/2 = ½; weights
# start in balance, with singular values of W2 W1 of 0.01. N_i differs from N_o on purpose: with N_i = N_o ≤ N_h no
# exact flow learns a task whose correlation has a determinant of the other sign than the last one's.
SETTING = {"sizes": [10, 5, 3], "P": 10, "strengths": [0.5, 2.0], "noise": 1.0, "start": 0.01}


def random_task(
    N_i: int, N_o: int, P: int, strengths: tuple[float, float], noise: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A task: whitened inputs X (N_i, P) and targets Y = Σ X + E, of shape (N_o, P).

    Σ has random singular vectors and singular values uniform in ``strengths``. E is what no linear map explains:
    E Xᵀ = 0 and ⟨‖e‖²⟩ = noise², so that Y Xᵀ / P = Σ and the best linear map has the loss noise²/2. Raises ValueError
    for noise where P ≤ N_i leaves no room for it.
    """
    if noise and N_i >= P:
        raise ValueError(f"{P} data in {N_i} dimensions leave no room for noise: P must be above N_i")
    X = whitened_inputs(N_i, P, generator)
    rank = min(N_i, N_o)
    U, V = orthonormal(N_o, rank, generator), orthonormal(N_i, rank, generator)
    E = generator.standard_normal((N_o, P))
    E = E - E @ X.T @ X / P
    E = E * (noise * np.sqrt(P) / max(np.linalg.norm(E), np.finfo(float).tiny))
    return X, (U * generator.uniform(*strengths, rank)) @ V.T @ X + E


def random_sequence(
    sizes: tuple[int, int, int],
    count: int,
    *,
    P: int,
    strengths: tuple[float, float],
    noise: float,
    start: float,
    seed: int | Sequence[int],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """``count`` tasks in a row, X (count, N_i, P) and Y (count, N_o, P), and zero-balanced weights W1 (N_h, N_i) and
    W2 (N_o, N_h) to start from, of singular values ``start`` of W2 W1; ``sizes`` are N_h, N_i, N_o.

    One seed gives the same start and the same Σ and X at every noise.
    """
    N_h, N_i, N_o = sizes
    generator = np.random.default_rng(seed)
    W1, W2 = zero_balanced_start(N_h, N_i, N_o, start, generator)
    tasks = [random_task(N_i, N_o, P, strengths, noise, generator) for _ in range(count)]
    X, Y = stacked(tasks)
    return X, Y, W1, W2


def drawn_sequences(
    cells: Sequence[Mapping[str, Any]], cfg: Mapping[str, Any], count: int, figure: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What ``random_sequence`` draws for every cell {"seed", …}: ``count`` tasks, X (K, count, N_i, P) and Y (K, count,
    N_o, P), and starts W1 (K, N_h, N_i) and W2 (K, N_o, N_h) of K cells.

    ``cfg`` has the names of ``SETTING``. ``figure`` is a number that tells the seeds of one study from those of others.
    """
    drawn = [
        random_sequence(
            tuple(cfg["sizes"]),
            count,
            P=cfg["P"],
            strengths=tuple(cfg["strengths"]),
            noise=cfg["noise"],
            start=cfg["start"],
            seed=[cell["seed"], figure],
        )
        for cell in cells
    ]
    return stacked(drawn)  # type: ignore[return-value]  # four of them


def foretold_and_measured(
    cells: Sequence[Mapping[str, Any]], cfg: Mapping[str, Any], count: int, figure: int, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """The loss of every task after every task, for cells of one "activation" that learn ``count`` tasks in a row.

    Foretold from the correlations alone (`derivations.prior_knowledge.forgetting`), of shape (K, count, count), and
    measured by training, of shape (K, count, count + 1), where the first column is before training. Rows are the tasks
    whose loss it is. ``cfg`` has the names of ``SETTING`` and the "rate" and "steps" of each task; cells and figure are
    as in ``drawn_sequences``.
    """
    from derivations.prior_knowledge.evaluators.next_task import forgetting

    X, Y, W1, W2 = drawn_sequences(cells, cfg, count, figure)
    kind = cells[0]["activation"]
    ends = train_sequence(W1, W2, X, Y, activation=kind, rate=cfg["rate"], steps=cfg["steps"], device=device)
    return forgetting(correlation(X, Y), second_moment(Y)), losses(*ends, X, Y, kind)


def correlation(X: Any, Y: Any) -> np.ndarray:
    """Σ^yx = Y Xᵀ / P of tasks X (..., N_i, P) and Y (..., N_o, P), of shape (..., N_o, N_i)."""
    X, Y = alike(X=X, Y=Y)
    return Y @ np.swapaxes(X, -1, -2) / X.shape[-1]


def second_moment(Y: Any) -> np.ndarray:
    """⟨‖y‖²⟩ of targets Y (..., N_o, P), of shape (...)."""
    (Y,) = alike(Y=Y)
    return (Y * Y).sum(-2).mean(-1)


def train(
    W1: Any,
    W2: Any,
    X: Any,
    Y: Any,
    *,
    activation: str,
    rate: float,
    steps: int,
    record: Sequence[int],
    device: str = "cpu",
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient descent on one task from W1 (..., N_h, N_i) and W2 (..., N_o, N_h), with step ``rate``.

    ``activation`` is "linear", "tanh" or "relu". ``record`` lists the numbers of steps, increasing from 0 to ``steps``
    at most, after which the weights are kept: W1 (..., T, N_h, N_i) and W2 (..., T, N_o, N_h). Raises ValueError for an
    unknown activation and for a record that is not increasing or out of range.
    """
    import torch

    record = increasing(record, steps)
    function = _activation(activation)
    given = doubles(W1=W1, W2=W2, X=X, Y=Y)
    W1, W2, X, Y = (torch.as_tensor(value.copy(), device=device) for value in given)

    def step(W1: Any, W2: Any) -> tuple[Any, Any]:
        A, slope = function(W1 @ X)
        E = (W2 @ A - Y) * (rate / X.shape[-1])
        back = W2.mT @ E
        return W1 - (back if slope is None else back * slope) @ X.mT, W2 - E @ A.mT

    learner = Iterated(step, (W1, W2))
    with torch.no_grad():
        kept = [learner.state for _ in reached(learner, record)]
    return tuple(torch.stack(part, -3).cpu().numpy() for part in zip(*kept, strict=True))  # type: ignore[return-value]  # two of them


def _activation(name: str) -> Any:
    """σ(z) and σ′(z), None where it is one everywhere; the ReLU has σ′(0) = 0."""
    functions = {
        "linear": lambda z: (z, None),
        "tanh": lambda z: ((a := z.tanh()), 1 - a * a),
        "relu": lambda z: (z.clamp(min=0), (z > 0).to(z.dtype)),
    }
    if name not in functions:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return functions[name]


def train_sequence(
    W1: Any, W2: Any, X: Any, Y: Any, *, activation: str, rate: float, steps: int, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """One task after another, each for ``steps`` steps from the end of the last one.

    Tasks are X (..., K, N_i, P) and Y (..., K, N_o, P). Returns the weights at the start and after every task,
    W1 (..., K+1, N_h, N_i) and W2 (..., K+1, N_o, N_h).
    """
    W1, W2, X, Y = doubles(W1=W1, W2=W2, X=X, Y=Y)
    ends = [(W1, W2)]
    for task in range(X.shape[-3]):
        data = X[..., task, :, :], Y[..., task, :, :]
        found = train(
            *ends[-1], *data, activation=activation, rate=rate, steps=steps, record=[steps], device=device
        )
        ends.append(tuple(W[..., 0, :, :] for W in found))  # type: ignore[arg-type]  # two of them
    first, second = zip(*ends, strict=True)
    return np.stack(first, -3), np.stack(second, -3)


def losses(W1: Any, W2: Any, X: Any, Y: Any, activation: str) -> np.ndarray:
    """L_ij = ½⟨‖f_j(x) − y‖²⟩ on task i of weights j, of shape (..., K, J).

    Weights are W1 (..., J, N_h, N_i) and W2 (..., J, N_o, N_h), tasks X (..., K, N_i, P) and Y (..., K, N_o, P).
    """
    W1, W2, X, Y = plain(W1=W1, W2=W2, X=X, Y=Y)
    W1, W2, X, Y = wide_tensors(W1=W1, W2=W2, X=X, Y=Y)
    W1, W2 = (W[..., None, :, :, :] for W in (W1, W2))
    X, Y = (data[..., :, None, :, :] for data in (X, Y))
    E = W2 @ _activation(activation)(W1 @ X)[0] - Y
    return ((E * E).sum(-2).mean(-1) / 2).numpy()


def imbalance(W1: Any, W2: Any) -> np.ndarray:
    """‖W1 W1ᵀ − W2ᵀ W2‖ / (‖W1 W1ᵀ‖ + ‖W2ᵀ W2‖) in Frobenius norms, between 0 (balanced) and 1; of shape (...)."""
    W1, W2 = plain(W1=W1, W2=W2)
    below, above = W1 @ np.swapaxes(W1, -1, -2), np.swapaxes(W2, -1, -2) @ W2
    sizes = [np.linalg.norm(value, axis=(-2, -1)) for value in (below - above, below, above)]
    return sizes[0] / (sizes[1] + sizes[2])


def neuron_imbalance(W1: Any, W2: Any) -> np.ndarray:
    """The part of `imbalance` that the neurons have each for itself: the norm of the diagonal of W1 W1ᵀ − W2ᵀ W2, on
    the same scale; of shape (...).
    """
    W1, W2 = plain(W1=W1, W2=W2)
    below, above = W1 @ np.swapaxes(W1, -1, -2), np.swapaxes(W2, -1, -2) @ W2
    apart = np.linalg.norm(np.diagonal(below - above, axis1=-2, axis2=-1), axis=-1)
    return apart / (np.linalg.norm(below, axis=(-2, -1)) + np.linalg.norm(above, axis=(-2, -1)))
