"""Which layers of a feed-forward network are neighbours, and where the upper one reads the neurons of the lower.

A balance pairs what enters a neuron with what leaves it. It needs two layers, a way between them on which every neuron
may be rescaled, and the place at which the upper layer finds each neuron. The neurons of a linear layer lie on the last
axis, the channels of a convolution on the first one behind the batch. The axes on the way are written as words: "n" is
the batch, "c" the neurons, "s" a place in space or time, and flattening joins words. After Flatten(1), "css" says
that the neuron is the slowest index of the axis, and "sc", after a linear layer, that it is the fastest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.parameter import is_lazy

# How many axes lie behind that of the neurons, and how many a pool acts on.
LAYERS = {"Linear": 0, "Conv1d": 1, "Conv2d": 2, "Conv3d": 3}
POOLS = {f"{kind}Pool{k}d": k for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax") for k in (1, 2, 3)}
# Maps that commute with rescaling each neuron by a positive number.
RESCALING = ("ReLU", "LeakyReLU", "PReLU", "RReLU", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
UNKNOWN = "*"


@dataclass(frozen=True)
class Pair:
    """A layer ``below`` and the layer ``above`` that reads its C neurons, with their names in the network.

    ``axis`` spells the axis on which it reads them, and ``mixing`` says whether the way commutes with every linear
    map of the neurons, and not with their rescaling alone.
    """

    low: str
    below: nn.Module
    high: str
    above: nn.Module
    axis: str
    mixing: bool

    @property
    def incoming(self) -> torch.Tensor:
        """(C, ·): all that a neuron or channel adds up, its bias included."""
        weight, bias = self.below.weight.flatten(1), self.below.bias
        return weight if bias is None else torch.cat([weight, bias[:, None]], 1)

    @property
    def outgoing(self) -> torch.Tensor:
        """(C, ·): all that a neuron or channel is multiplied with in the layer above."""
        weight = self.above.weight.unflatten(0, (groups(self.above), -1)).transpose(1, 2).flatten(0, 1)
        channels = len(self.below.weight)
        if self.axis.startswith("c"):
            return weight.unflatten(0, (channels, -1)).flatten(1)
        return weight.unflatten(0, (-1, channels)).transpose(0, 1).flatten(1)


def groups(layer: nn.Module) -> int:
    """The number of groups of a convolution; 1 for a linear layer."""
    return getattr(layer, "groups", 1)


def neighbours(network) -> tuple[list[Pair], list[str]]:
    """The neighbouring layers of a network that have a balance, and why the others have none.

    ``network`` as in ``numerics.conserved.balances``, with the same errors.
    """
    modules = list(_modules(network))
    _refuse_derived_and_shared(modules)
    pairs, gaps = [], []
    low, below, axes, mixing, gap = "", None, (), True, ""
    for name, module in modules:
        kind = _kind(module)
        if kind in LAYERS:
            if below is not None:
                gap = gap or _misread(low, below, name, module, axes) or _frozen(low, below, name, module)
                if gap:
                    gaps.append(gap)
                else:
                    pairs.append(Pair(low, below, name, module, axes[-1 - LAYERS[kind]], mixing))
            low, below, mixing, gap = name, module, True, ""
            axes = ("n", "c", *"s" * LAYERS[kind]) if LAYERS[kind] else (UNKNOWN, "c")
        elif below is None or gap or kind == "Identity":
            continue
        elif kind == "Flatten":
            axes = _flattened(axes, module)
        elif kind in POOLS and not any("c" in axis for axis in axes[-POOLS[kind] :]):
            mixing = mixing and "Avg" in kind
        elif kind in RESCALING:
            mixing = False
        else:
            verb = "pools over its neurons" if kind in POOLS else "does not keep them"
            gap = f"behind layer {low}, {type(module).__name__} ({name}) {verb}"
    return pairs, [*gaps, gap] if gap else gaps


def _modules(network, prefix: str = "") -> Iterator[tuple[str, object]]:
    plain = isinstance(network, nn.Sequential) and type(network).forward is nn.Sequential.forward
    if not plain and not isinstance(network, nn.ModuleList | list | tuple):
        raise ValueError(
            f"the order of the layers of a {type(network).__name__} is not known: give an nn.Sequential, or its "
            "layers and activations in a list, in the order of evaluation"
        )
    # Not named_children: it leaves out a module that occurs a second time.
    for name, module in network._modules.items() if isinstance(network, nn.Module) else enumerate(network):
        if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward:
            yield from _modules(module, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", module


def _kind(module) -> str:
    """The name of a class of torch.nn, and of no other class: what a subclass computes is not known."""
    name = type(module).__name__
    return name if getattr(nn, name, None) is type(module) else ""


def _refuse_derived_and_shared(modules) -> None:
    kinds = tuple(getattr(nn, kind) for kind in LAYERS)
    holders = defaultdict(list)
    for name, module in modules:
        for parameter in module.parameters() if isinstance(module, nn.Module) else ():
            holders[_storage(parameter)].append(name)
    for name, module in modules:
        if not isinstance(module, kinds):
            continue
        for part in ("weight", "bias"):
            value, parameter = getattr(module, part), module._parameters.get(part)
            if value is not parameter:
                raise ValueError(
                    f"layer {name} computes its {part} from other parameters (weight norm, spectral norm, "
                    "pruning), whose gradient flow is not that of the weights: it has no balance"
                )
            others = [] if parameter is None else holders[_storage(parameter)]
            if len(others) > 1:
                raise ValueError(
                    f"{' and '.join(others)} share a {part}: shared parameters have no balance of their own"
                )


def _storage(parameter) -> int:
    """What tied parameters have in common, even if each is a Parameter of its own over the same numbers."""
    return id(parameter) if is_lazy(parameter) else parameter.data_ptr() or id(parameter)


def _flattened(axes: tuple[str, ...], flatten) -> tuple[str, ...]:
    if axes[0] == UNKNOWN:
        # How many axes stand before the neurons of a linear layer is not known, but none stands behind them.
        return (UNKNOWN, "sc")
    if flatten.start_dim == 0 and axes[0] == "n":
        axes = axes[1:]
    start, end = flatten.start_dim % len(axes), flatten.end_dim % len(axes)
    return (*axes[:start], "".join(axes[start : end + 1]), *axes[end + 1 :])


def _misread(low: str, below, high: str, above, axes: tuple[str, ...]) -> str:
    """Why the layer above acts along another axis than that of the neurons; nothing if it does not."""
    behind = LAYERS[_kind(above)]
    axis = axes[-1 - behind] if len(axes) > behind else UNKNOWN
    if "c" not in (axis[0], axis[-1]):
        return (
            f"layer {high} acts along another axis than that of the neurons of layer {low} "
            "(between a convolution and a linear layer belongs a Flatten(1, -1))"
        )
    channels, taken = len(below.weight), above.weight.shape[1] * groups(above)
    if taken != channels and (axis == "c" or taken % channels):
        raise ValueError(f"layer {high} takes {taken} channels, but layer {low} gives {channels}")
    return ""


def _frozen(low: str, below, high: str, above) -> str:
    """Why what is frozen breaks the balance; nothing if it does not.

    The loss L of a homogeneous neuron has w·∂L/∂w + b ∂L/∂b = a·∂L/∂a. If b does not move, d‖a‖² − d‖w‖² leaves
    over the term b ∂L/∂b: neither with b² nor without is there a balance, unless b is zero.
    """
    if not (below.weight.requires_grad and above.weight.requires_grad):
        return f"the weights of layer {high if below.weight.requires_grad else low} are frozen"
    bias = below.bias
    if bias is not None and not bias.requires_grad and bias.any():
        return f"the bias of layer {low} is frozen and not zero"
    return ""
