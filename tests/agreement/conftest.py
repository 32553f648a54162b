"""Networks trained once for all agreement tests: fifteen configurations, each at four step sizes, as one
batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from numerics.starts.balanced import single_neuron_start
from numerics.studies.single_neuron.agreement import train_at_steps
from numerics.training.flows import Trajectory

RECORDS = 125
COUNTS = (4000, 8000, 16000, 32000)
BETA_STAR = np.array([0.6, 0.8, 0.0])
ACROSS = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Training:
    """The configurations, the data and the trained trajectories, one for each number of steps."""

    names: list[str]
    a0: np.ndarray
    w0: np.ndarray
    eta_a: np.ndarray
    eta_w: np.ndarray
    horizon: np.ndarray
    X: np.ndarray
    y: np.ndarray
    runs: list[Trajectory]

    def steps(self, place: int) -> np.ndarray:
        """The step sizes of one configuration."""
        return self.horizon[place] / np.array(COUNTS)


def beside_separatrix(a0, delta, distance):
    """A start at the given distance, in wᵀβ_*, from the surface between the basins (η = 1, ‖β_*‖ = 1)."""
    along = -0.5 * a0 * (delta + np.sqrt(delta**2 + 4)) + distance
    return a0, along * BETA_STAR + np.sqrt(a0**2 - delta - along**2) * ACROSS


def start(delta, size, direction, eta_a=1.0, eta_w=1.0, sign=1):
    unit = np.array(direction, float) / np.linalg.norm(direction)
    return single_neuron_start(size * unit, delta, eta_a, eta_w, sign=sign)


CONFIGURATIONS = {
    "upstream, across": (*start(4, 1, [-0.8, 0.6, 0]), 1, 1, 6),
    "upstream, misaligned": (*start(1, 1, [-0.6, -0.8, 0.3]), 1, 1, 8),
    "balanced, across": (*start(0, 1, [-0.8, 0.6, 0]), 1, 1, 8),
    "balanced, small": (*start(0, 1e-2, [-0.8, 0.3, 0.5]), 1, 1, 14),
    "balanced, negative a": (*start(0, 0.5, [0.8, -0.3, -0.5], sign=-1), 1, 1, 10),
    "downstream, strong": (*start(-4, 1, [-0.5, 0.8, 0.4]), 1, 1, 16),
    "downstream, mild": (*start(-1, 1, [0.2, 0.5, 0.9]), 1, 1, 10),
    "a crosses downwards": (*start(-2, 0.5, [-0.6, -0.8, 0.5]), 1, 1, 12),
    "a crosses upwards": (-0.4, np.array([0.8, 0.9, 0.6]), 1, 1, 10),
    "beside the separatrix, above": (*beside_separatrix(0.5, -2.0, 1e-2), 1, 1, 22),
    "beside the separatrix, below": (*beside_separatrix(0.5, -2.0, -1e-2), 1, 1, 22),
    "from a = 0": (0.0, np.array([0.3, 0.3, 0.8]), 1, 1, 12),
    "rates 2 and 1/2, upstream": (*start(2, 1, [-0.6, 0.2, 0.5], 2, 0.5), 2, 0.5, 6),
    "rates 1/2 and 2, crossing": (*start(-2, 0.5, [-0.6, -0.8, 0.5], 0.5, 2), 0.5, 2, 12),
    "rates 3 and 0.7, downstream": (*start(-0.5, 1, [-0.6, 0.2, 0.5], 3, 0.7), 3, 0.7, 6),
}


@pytest.fixture(scope="session")
def training() -> Training:
    columns = list(zip(*CONFIGURATIONS.values(), strict=True))
    a0, w0, eta_a, eta_w, horizon = (np.array(column, float) for column in columns)
    generator = np.random.default_rng(0)
    X = np.linalg.qr(generator.standard_normal((5, 3)))[0]
    # Labels with a part that no predictor can fit: the loss does not end at zero.
    noise = generator.standard_normal(5)
    y = X @ BETA_STAR + 0.1 * (noise - X @ (X.T @ noise))
    runs = train_at_steps(a0, w0, X, y, horizon, COUNTS, RECORDS, eta_a=eta_a, eta_w=eta_w)
    return Training(list(CONFIGURATIONS), a0, w0, eta_a, eta_w, horizon, X, y, runs)
