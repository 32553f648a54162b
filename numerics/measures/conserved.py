"""The quantities that gradient flow conserves, measured on networks in training.

Two layers with a homogeneous activation between them have a symmetry: what a neuron's incoming weights lose, its
outgoing weights can gain. Gradient flow with layer-wise rates therefore keeps, for every neuron k,

    δ_k = η_below ‖outgoing_k‖² − η_above (‖incoming_k‖² + b_k²)

and, where nothing but linear maps lies between the layers, the whole matrix Δ of such products (Kunin et al. 2024,
sections 3 to 5). A finite step breaks them: under gradient descent with step h their drift is O(h). Momentum,
weight decay and adaptive steps are other flows, which do not keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from numerics.measures.arrays import alike
from symdyn.arrays.backends import Array
from symdyn.arrays.kinds import refuse
from symdyn.catalogue.implements import implements


@implements("single_neuron.conserved_delta")
def single_neuron_delta(a: Array, w: Array, eta_a: Array = 1.0, eta_w: Array = 1.0) -> Array:
    """δ = η_w a² − η_a‖w‖² for a (...), w (..., d), arrays, lists or tensors; returns (...).

    The rates are scalars or broadcast with a. Tensors give a tensor, all else an array. Raises TypeError for complex
    numbers, here and below: this δ of theirs is not conserved.
    """
    a, w, eta_a, eta_w = _numbers(a=a, w=w, eta_a=eta_a, eta_w=eta_w)
    return eta_w * a * a - eta_a * (w * w).sum(-1)


@implements("piecewise_linear.conserved_delta")
def neuron_deltas(a: Array, W: Array, eta_a: Array = 1.0, eta_w: Array = 1.0) -> Array:
    """δ_k = η_w a_k² − η_a‖w_k‖² of f(x) = aᵀσ(Wx), for a (..., h), W (..., h, d); returns (..., h).

    Conserved for every piecewise linear σ without an offset. A rate is a scalar, or it belongs to the networks of
    the batch and has the shape (...), where an axis may be 1. Arrays and lists give an array, tensors a tensor.
    Raises ValueError for a rate of another shape and for weights that do not fit.

    >>> neuron_deltas([[1.0, 2.0], [1.0, 2.0]], [[[1.0], [1.0]], [[1.0], [1.0]]], eta_w=[1.0, 10.0]).tolist()
    [[0.0, 3.0], [9.0, 39.0]]
    """
    a, W, eta_a, eta_w = _numbers(a=a, W=W, eta_a=eta_a, eta_w=eta_w)
    batch = _batch("a", a, W)
    return single_neuron_delta(a, W, _rate("eta_a", eta_a, batch, 1), _rate("eta_w", eta_w, batch, 1))


@implements("wide_linear.conserved_balance")
def layer_balance(A: Array, W: Array, eta_a: Array = 1.0, eta_w: Array = 1.0) -> Array:
    """Δ = η_w AAᵀ − η_a WWᵀ of f(x) = AᵀWx, for A (..., h, c), W (..., h, d); returns (..., h, h).

    Rates, kinds of arrays and errors as in ``neuron_deltas``.

    >>> layer_balance([[1.0], [2.0]], [[1.0, 0.0], [0.0, 1.0]], eta_a=3.0).tolist()
    [[-2.0, 2.0], [2.0, 1.0]]
    """
    A, W, eta_a, eta_w = _numbers(A=A, W=W, eta_a=eta_a, eta_w=eta_w)
    batch = _batch("A", A, W)
    eta_a, eta_w = _rate("eta_a", eta_a, batch, 2), _rate("eta_w", eta_w, batch, 2)
    return eta_w * (A @ A.swapaxes(-1, -2)) - eta_a * (W @ W.swapaxes(-1, -2))


def _numbers(**values: Any) -> tuple[Array, ...]:
    """Weights and rates as ``numerics.measures.arrays.alike`` reads them, in float32 or float64: the squares of whole
    numbers would overflow without a word, and those of short ones lose their digits.
    """
    for name, value in values.items():
        refuse(name, value)
        if _is_complex(value):
            raise TypeError(f"weights and rates must be real numbers, not complex ones: {name} is complex")
    return alike(**values)


def _is_complex(value: Any) -> bool:
    return value.is_complex() if hasattr(value, "detach") else np.iscomplexobj(value)


def _batch(name: str, A: Array, W: Array) -> tuple[int, ...]:
    """The shape (...) of a batch of networks with outgoing weights a (..., h) or A (..., h, c) and W (..., h, d)."""
    shape, axes = ("(..., h)", 1) if name == "a" else ("(..., h, c)", 2)
    try:
        if min(np.ndim(A) - axes, np.ndim(W) - 2) < 0 or A.shape[-axes] != W.shape[-2]:
            raise ValueError
        return np.broadcast_shapes(A.shape[:-axes], W.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{name} must be {shape} and W (..., h, d), with the same h and a common batch: {name} has shape "
            f"{tuple(np.shape(A))}, W {tuple(np.shape(W))}"
        ) from None


def _rate(name: str, eta: Array, batch: tuple[int, ...], axes: int) -> Array:
    """A rate of each network of a batch, against that many further axes; a scalar stays as it is."""
    shape = np.shape(eta)
    if shape == ():
        return eta
    if len(shape) != len(batch) or not all(a in (1, size) for a, size in zip(shape, batch, strict=True)):
        raise ValueError(
            f"{name} must be a scalar or have the shape {batch} of the batch of networks, not {tuple(shape)}"
        )
    return eta[(..., *[None] * axes)]


@implements("piecewise_linear.conserved_delta", "wide_linear.conserved_balance")
def balances(network: Any, rates: Mapping[str, float] | None = None, inputs: Any = None) -> dict[str, object]:
    """δ or Δ between every two neighbouring layers of a feed-forward torch network that have one.

    ``network`` is an ``nn.Sequential``, nested or not, or a list of modules, which says that they are evaluated in this
    order and nothing else happens; or any module at all, if ``inputs`` is a batch of its data. With inputs it is
    evaluated on them, in several sizes, its layers count in the order in which it calls them, and only that is returned
    which the gradients of a random loss conserve: what forward does beside its modules (an activation, a residual, a
    scale, a hook) is found out. An ``nn.Sequential`` with forward hooks is checked in the same way. The layers of an
    ``nn.ModuleList`` alone do not say what their network does between them.

    It consists of linear layers and convolutions with or without biases. Between two of them, ReLU,
    leaky ReLU, PReLU, dropout and max-pooling keep δ per neuron or channel, a tensor (C,); nothing at all, average
    pooling and flattening keep Δ, (C, C), of which only the diagonal is returned for grouped convolutions. Linear
    layers act along the last axis, behind any others. Convolutions count as fed with a batch, unless Flatten(0)
    says that there is none.

    Left out are two layers that have no balance: anything else lies between them (tanh, normalisation, pools over the
    neurons of a linear layer); the upper one acts along another axis than that of the neurons (a linear layer on
    the width of an image); one of their weights is frozen, or a bias of the lower one that is not zero; or hooks
    rewrite their gradients. ``rates`` gives the learning rate of each layer, by its name in the network; weights and
    bias share it.

    Returns tensors by names like "0-2", lower layer first, in the dtype of the weights, also under autocast; of weights
    of half precision in float32. Raises ValueError for a network that is not a plain
    sequence and comes without inputs, for layers that do not fit, that share parameters or memory or compute them from
    others (weight norm), for missing rates, and, with the reasons, if there is nothing to conserve; TypeError for
    complex weights.
    """
    from numerics.measures.evaluation import full_precision
    from numerics.measures.neighbours import POOLS, RESCALING, groups, neighbours

    pairs, gaps = neighbours(network, inputs)
    if not pairs:
        raise ValueError(
            "no two neighbouring layers of this network conserve a balance: "
            f"{'; '.join(gaps) or 'there are no two neighbouring layers'}. Between linear layers and convolutions "
            f"there may be {', '.join((*RESCALING, 'Identity', 'Flatten'))}, and above convolutions {', '.join(POOLS)}"
        )
    names = {name for pair in pairs for name in (pair.low, pair.high)}
    if rates is not None and not names <= set(rates):
        raise ValueError(f"rates must name the layers {sorted(names)}, got {sorted(rates)}")
    found = {}
    for pair in pairs:
        eta_below, eta_above = (1.0, 1.0) if rates is None else (rates[pair.low], rates[pair.high])
        if _is_complex(pair.outgoing) or _is_complex(pair.incoming):
            raise TypeError(
                f"layers {pair.low} and {pair.high} have complex weights; balances are of real ones"
            )
        with full_precision():
            if pair.mixing and groups(pair.below) == groups(pair.above) == 1:
                value = layer_balance(pair.outgoing, pair.incoming, eta_above, eta_below)
            else:
                value = eta_below * (pair.outgoing**2).sum(-1) - eta_above * (pair.incoming**2).sum(-1)
        found[f"{pair.low}-{pair.high}"] = value
    return found


class DriftRecorder:
    """Follows a conserved quantity of a network through training and reports how far it drifted.

    ``quantity(network)`` returns a tensor, an array or a number, or a dictionary of them. Attach the recorder to a
    torch optimiser (attached again, it goes on counting steps), or call ``observe`` in a loop of your own:

        recorder = DriftRecorder(network, balances)
        with recorder.attach(optimizer, every=10):
            ...train...
        recorder.drift()
    """

    def __init__(self, network: Any, quantity: Callable[[object], object]) -> None:
        self.network = network
        self.quantity = quantity
        self.steps: list[int] = []
        self.count = 0
        self._values: list[Any] = []

    @property
    def values(self) -> Any:
        """What was recorded, (number of records, ...), or a dictionary of such arrays. Raises ValueError if nothing was
        recorded.
        """
        if not self._values:
            raise ValueError("nothing was recorded: attach the recorder before training, or call observe")
        if isinstance(self._values[0], dict):
            return {name: np.stack([value[name] for value in self._values]) for name in self._values[0]}
        return np.stack(self._values)

    def observe(self, step: int) -> None:
        """Record the quantity at a step of training. The network's numbers, modes and random states stay as they are,
        whatever the quantity evaluates.
        """
        from numerics.measures.evaluation import unmoved

        with unmoved(self.network, attributes=False):
            value = self.quantity(self.network)
        self.steps.append(step)
        self.count = step
        if isinstance(value, Mapping):
            self._values.append({name: _array(entry) for name, entry in value.items()})
        else:
            self._values.append(_array(value))

    def attach(self, optimizer: Any, every: int = 1) -> _Attached:
        """Record now and after every ``every``-th step of the optimiser, until the context is left."""
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        return _Attached(self, optimizer, every)

    def drift(self) -> Any:
        """sup over the records of |quantity − its first value|, elementwise. Raises ValueError if nothing was
        recorded.
        """
        values = self.values
        if isinstance(values, dict):
            return {name: np.abs(value - value[0]).max(0) for name, value in values.items()}
        return np.abs(values - values[0]).max(0)


def _array(value: Any) -> np.ndarray:
    """A copy as an array of real or complex numbers, of the digits of float32 or more."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    return np.array(value, np.result_type(np.asarray(value).dtype, np.float32))


class _Attached:
    def __init__(self, recorder: DriftRecorder, optimizer: Any, every: int) -> None:
        self.recorder, self.every = recorder, every
        if not recorder.steps:
            recorder.observe(0)
        self.handle = optimizer.register_step_post_hook(self._after_step)

    def _after_step(self, *_: object) -> None:
        self.recorder.count += 1
        if self.recorder.count % self.every == 0:
            self.recorder.observe(self.recorder.count)

    def __enter__(self) -> DriftRecorder:
        return self.recorder

    def __exit__(self, *_: object) -> None:
        self.detach()

    def detach(self) -> None:
        """Stop recording."""
        self.handle.remove()
