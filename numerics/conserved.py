"""The quantity that gradient flow conserves, measured on networks in training.

δ = η_w a² − η_a‖w‖² is constant under gradient flow on f(x) = a wᵀx (Kunin et al. 2024, appendix A.1). A
finite step breaks it: under gradient descent with step h the drift of δ is O(h).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def single_neuron_delta(a, w, eta_a=1.0, eta_w=1.0):
    """δ = η_w a² − η_a‖w‖² for a (...), w (..., d), arrays or tensors; returns (...)."""
    return eta_w * a * a - eta_a * (w * w).sum(-1)


class DriftRecorder:
    """Follows a conserved quantity of a network through training and reports how far it drifted.

    ``quantity(network)`` returns a tensor of any shape. Attach the recorder to a torch optimiser, or call
    ``observe`` in a loop of your own:

        recorder = DriftRecorder(network, lambda net: single_neuron_delta(net.a, net.w))
        with recorder.attach(optimizer, every=10):
            ...train...
        recorder.drift()
    """

    def __init__(self, network, quantity: Callable[[object], object]) -> None:
        self.network = network
        self.quantity = quantity
        self.steps: list[int] = []
        self._values: list[np.ndarray] = []

    @property
    def values(self) -> np.ndarray:
        """What was recorded, (number of records, ...)."""
        return np.stack(self._values)

    def observe(self, step: int) -> None:
        """Record the quantity at a step of training."""
        self.steps.append(step)
        self._values.append(self.quantity(self.network).detach().cpu().numpy().copy())

    def attach(self, optimizer, every: int = 1) -> _Attached:
        """Record now and after every ``every``-th step of the optimiser, until the context is left."""
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        return _Attached(self, optimizer, every)

    def drift(self) -> np.ndarray:
        """sup over the records of |quantity − its first value|, elementwise. Raises ValueError if nothing was
        recorded.
        """
        if not self._values:
            raise ValueError("nothing was recorded: attach the recorder before training, or call observe")
        values = self.values
        return np.abs(values - values[0]).max(0)


class _Attached:
    def __init__(self, recorder: DriftRecorder, optimizer, every: int) -> None:
        self.recorder, self.every = recorder, every
        self.count = recorder.steps[-1] if recorder.steps else 0
        if not recorder.steps:
            recorder.observe(0)
        self.handle = optimizer.register_step_post_hook(self._after_step)

    def _after_step(self, *_) -> None:
        self.count += 1
        if self.count % self.every == 0:
            self.recorder.observe(self.count)

    def __enter__(self) -> DriftRecorder:
        return self.recorder

    def __exit__(self, *_) -> None:
        self.detach()

    def detach(self) -> None:
        """Stop recording."""
        self.handle.remove()
