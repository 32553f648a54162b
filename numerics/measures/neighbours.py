"""Which layers of a feed-forward network are neighbours, and where the upper one reads the neurons of the lower.

A balance pairs what enters a neuron with what leaves it. It needs two layers, a way between them on which every neuron
may be rescaled, and the place at which the upper layer finds each neuron. The neurons of a linear layer lie on the last
axis, the channels of a convolution on the first one behind the batch. The axes on the way are written as words: "n" is
the batch, "c" the neurons, "s" a place in space or time, and flattening joins words. After Flatten(1), "css" says
that the neuron is the slowest index of the axis, and "sc", after a linear layer, that it is the fastest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from numerics.measures.evaluation import gradient_hooks, overlaps_itself, sharing_memory, unmoved
from symdyn.arrays.kinds import refuse

if TYPE_CHECKING:
    Layer = nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d


# How many axes lie behind that of the neurons, and how many a pool acts on.
LAYERS = {"Linear": 0, "Conv1d": 1, "Conv2d": 2, "Conv3d": 3}
POOLS = {f"{kind}Pool{k}d": k for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax") for k in (1, 2, 3)}
# Maps that commute with rescaling each neuron by a positive number.
RESCALING = ("ReLU", "LeakyReLU", "PReLU", "RReLU", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
UNKNOWN = "*"
# Small and large data show what is homogeneous only near them (a clipped activation, a tanh).
SCALES = (1.0, 1 / 64, 64.0, -1.0)
PROBES = 16


@dataclass(frozen=True)
class Pair:
    """A layer ``below`` and the layer ``above`` that reads its C neurons, with their names in the network.

    ``axis`` spells the axis on which it reads them, and ``mixing`` says whether the way commutes with every linear
    map of the neurons, and not with their rescaling alone.
    """

    low: str
    below: Layer
    high: str
    above: Layer
    axis: str
    mixing: bool

    @property
    def incoming(self) -> torch.Tensor:
        """(C, ·): all that a neuron or channel adds up, its bias included."""
        return self.entering(self.below.weight, self.below.bias)

    @property
    def outgoing(self) -> torch.Tensor:
        """(C, ·): all that a neuron or channel is multiplied with in the layer above."""
        return self.leaving(self.above.weight)

    def entering(self, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """``incoming`` of weights and biases like those of the layer below, their gradients for instance."""
        weight = _wide(weight.flatten(1))
        return weight if bias is None else torch.cat([weight, _wide(bias[:, None])], 1)

    def leaving(self, weight: torch.Tensor) -> torch.Tensor:
        """``outgoing`` of weights like those of the layer above."""
        weight = _wide(weight).unflatten(0, (groups(self.above), -1)).transpose(1, 2).flatten(0, 1)
        channels = len(self.below.weight)
        if self.axis.startswith("c"):
            return weight.unflatten(0, (channels, -1)).flatten(1)
        return weight.unflatten(0, (-1, channels)).transpose(0, 1).flatten(1)


def _wide(weight: torch.Tensor) -> torch.Tensor:
    """Half-precision weights in float32, where their squares neither overflow nor lose digits."""
    return weight.float() if weight.dtype in (torch.float16, torch.bfloat16) else weight


def groups(layer: nn.Module) -> int:
    """The number of groups of a convolution; 1 for a linear layer."""
    return getattr(layer, "groups", 1)


def neighbours(network: Any, inputs: Any = None) -> tuple[list[Pair], list[str]]:
    """The neighbouring layers of a network that have a balance, and why the others have none.

    ``network`` and ``inputs`` as in ``numerics.measures.conserved.balances``, with the same errors.
    """
    if isinstance(network, list | tuple):
        network = nn.Sequential(*network)
    if inputs is None:
        modules = list(_modules(network))
        altered = _altered(network)
        if altered:
            inputs = _example(modules, altered)
    else:
        modules = _evaluated(network, inputs)
    pairs, gaps = _in_order(modules)
    return _checked(network, inputs, pairs, gaps) if pairs and inputs is not None else (pairs, gaps)


def _in_order(modules: list[tuple[str, nn.Module]]) -> tuple[list[Pair], list[str]]:
    _refuse_derived_and_shared(modules)
    pairs, gaps = [], []
    low, below, axes, mixing, gap = "", None, (), True, ""
    for name, module in modules:
        kind = _kind(module)
        if kind in LAYERS:
            if below is not None:
                gap = gap or _misread(low, below, name, module, axes) or _frozen(low, below, name, module)  # type: ignore[arg-type]  # a layer, by its kind
                if gap:
                    gaps.append(gap)
                else:
                    pairs.append(Pair(low, below, name, module, axes[-1 - LAYERS[kind]], mixing))  # type: ignore[arg-type]  # as above
            low, below, mixing, gap = name, module, True, ""
            axes = ("n", "c", *"s" * LAYERS[kind]) if LAYERS[kind] else (UNKNOWN, "c")
        elif below is None or gap or kind == "Identity":
            continue
        elif kind == "Flatten":
            axes = _flattened(axes, module)  # type: ignore[assignment, arg-type]  # () before a layer
        elif kind in POOLS and not any("c" in axis for axis in axes[-POOLS[kind] :]):  # type: ignore[var-annotated]  # as above
            mixing = mixing and "Avg" in kind
        elif kind in RESCALING:
            mixing = False
        else:
            verb = "pools over its neurons" if kind in POOLS else "does not keep them"
            gap = f"behind layer {low}, {type(module).__name__} ({name}) {verb}"
    return pairs, [*gaps, gap] if gap else gaps


def _modules(network: Any, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    if not isinstance(network, nn.Sequential) or type(network).forward is not nn.Sequential.forward:
        raise ValueError(
            f"the order of the layers of a {type(network).__name__} is not known, nor what its network does between "
            "them: give the network itself with inputs=X, of which one batch is evaluated; or an nn.Sequential or a "
            "list of its layers and activations in the order of evaluation, if nothing else happens between them"
        )
    # Not named_children: it leaves out a module that occurs a second time.
    for name, module in network._modules.items():
        if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward:
            yield from _modules(module, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", module


def _altered(network: nn.Module) -> list[str]:
    """The modules whose hooks, or a forward of their own, may change what they return."""
    return [
        name or "itself"
        for name, module in network.named_modules()
        if not any(map(is_lazy, module._parameters.values()))
        and (module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))
    ]


def _example(modules: list[tuple[str, nn.Module]], altered: list[str]) -> torch.Tensor:
    """Random vectors for a first layer that is linear."""
    first = modules[0][1] if modules else None
    if _kind(first) != "Linear" or is_lazy(first.weight):  # type: ignore[union-attr, arg-type]  # Linear is not None
        raise ValueError(
            f"hooks, or a forward of its own, may change what {' and '.join(altered)} returns: give inputs=X, a batch "
            "on which what is conserved can be checked"
        )
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(PROBES, first.in_features, dtype=torch.float64, generator=generator)  # type: ignore[union-attr, arg-type]  # as above
    return inputs.to(first.weight)  # type: ignore[union-attr, arg-type]  # as above


def _evaluated(network: Any, inputs: Any) -> list[tuple[str, nn.Module]]:
    """The modules of a network that have no others within them, in the order in which it evaluates them."""
    if not isinstance(network, nn.Module):
        raise TypeError(
            f"the network must be a torch.nn.Module or a list of them, not a {type(network).__name__}"
        )
    found: list[tuple[str, nn.Module]] = []
    for name, parameter in network.named_parameters():
        if is_lazy(parameter):
            raise ValueError(f"{name} holds no numbers yet: evaluate the network once on data")
    with unmoved(network), torch.no_grad():
        for name, module in network.named_modules():
            if not any(module.children()) or _kind(module) in LAYERS:
                module.register_forward_pre_hook(_noting(name, module, found))
        network(_given(inputs))
    for (name, module), count in Counter(found).items():
        if count > 1 and any(True for _ in module.parameters()):
            raise ValueError(
                f"layer {name} is evaluated {count} times, so it shares its weight with itself: shared parameters have "
                "no balance of their own"
            )
    return found


def _noting(name: str, module: nn.Module, found: list[Any]) -> Callable[..., None]:
    return lambda *_: found.append((name, module))


def _given(inputs: Any, scale: float = 1.0) -> torch.Tensor:
    if not isinstance(inputs, torch.Tensor):
        raise TypeError(f"inputs must be a batch of data as a torch tensor, not a {type(inputs).__name__}")
    refuse("inputs", inputs)
    return inputs.detach() * scale if inputs.is_floating_point() else inputs.detach().clone()


def _checked(
    network: nn.Module, inputs: torch.Tensor, pairs: list[Pair], gaps: list[str]
) -> tuple[list[Pair], list[str]]:
    """What of the balances the network really conserves: the gradients of a random loss say so.

    Along the gradient flow, d/dt Δ = −(M + Mᵀ) with M = A (∂L/∂A)ᵀ − W (∂L/∂W)ᵀ, up to rates.
    """
    moved: dict[Pair, list[tuple[bool, bool]]] = {pair: [] for pair in pairs}
    for scale in SCALES if inputs.is_floating_point() else SCALES[:1]:
        slopes = _loss_slopes(network, _given(inputs, scale))
        for pair in pairs:
            found = _conserved(pair, slopes)
            if found is not None:
                moved[pair].append(found)
    kept = []
    for pair, found in moved.items():  # type: ignore[assignment]  # a list now
        between = f"layers {pair.low} and {pair.high}"
        if not found:
            gaps.append(f"the loss of these inputs has no finite derivative by {between}")
        elif not all(diagonal for _, diagonal in found):  # type: ignore[misc, has-type]  # a list now
            gaps.append(
                f"what the network does between {between}, beside its modules, does not keep their balance"
            )
        else:
            kept.append(replace(pair, mixing=pair.mixing and all(whole for whole, _ in found)))  # type: ignore[misc, has-type]  # a list now
    return kept, gaps


def _loss_slopes(network: nn.Module, inputs: torch.Tensor) -> dict[int, torch.Tensor]:
    """The derivatives of a random linear loss of the outputs by the parameters of a network, by their identity."""
    parameters = [value for value in network.parameters() if value.requires_grad]
    with unmoved(network), torch.inference_mode(False), torch.enable_grad():
        outputs = network(inputs)
        if not isinstance(outputs, torch.Tensor) or not outputs.requires_grad:
            raise ValueError(
                "the balances of a network are checked by the gradient of a loss: it must return one tensor that "
                f"depends on its parameters, not {type(outputs).__name__}"
            )
        generator = torch.Generator().manual_seed(1)
        weights = torch.randn(outputs.shape, dtype=torch.float64, generator=generator)
        slopes = torch.autograd.grad(outputs, parameters, weights.to(outputs), allow_unused=True)
    return {
        id(value): torch.zeros_like(value) if slope is None else slope.to_dense()
        for value, slope in zip(parameters, slopes, strict=True)
    }


def _conserved(pair: Pair, slopes: dict[int, torch.Tensor]) -> tuple[bool, bool] | None:
    """Whether the whole matrix Δ stands still, and whether its diagonal does; None if nothing moves at all."""
    bias = pair.below.bias
    down, up = (
        pair.entering(
            slopes[id(pair.below.weight)], None if bias is None else slopes.get(id(bias), 0 * bias)
        ),
        pair.leaving(slopes[id(pair.above.weight)]),
    )
    down, up, incoming, outgoing = (
        value.detach().double() for value in (down, up, pair.incoming, pair.outgoing)
    )
    speed, size = (
        outgoing @ up.T - incoming @ down.T,
        outgoing.abs() @ up.abs().T + incoming.abs() @ down.abs().T,
    )
    if not size.isfinite().all() or not size.any():
        return None
    wrong = (speed + speed.T).abs() > torch.finfo(pair.below.weight.dtype).eps ** 0.5 * size.amax()
    return not wrong.any(), not wrong.diagonal().any()


def _kind(module: object) -> str:
    """The name of a class of torch.nn, and of no other class: what a subclass computes is not known."""
    name = type(module).__name__
    return name if getattr(nn, name, None) is type(module) else ""


def _refuse_derived_and_shared(modules: list[tuple[str, nn.Module]]) -> None:
    kinds = tuple(getattr(nn, kind) for kind in LAYERS)
    layers = [(name, module) for name, module in modules if isinstance(module, kinds)]
    for name, module in layers:
        for part in ("weight", "bias"):
            value = getattr(module, part)
            if value is not module._parameters.get(part):
                raise ValueError(
                    f"layer {name} computes its {part} from other parameters (weight norm, spectral norm, "
                    "pruning), whose gradient flow is not that of the weights: it has no balance"
                )
            if value is not None and value.is_meta:
                raise ValueError(f"layer {name} holds no numbers yet: its {part} is on the meta device")
    owners = [
        (place, name, f"{path}.{part}".lstrip("."), value)
        for place, (name, module) in enumerate(modules)
        for path, holder in module.named_modules()
        for part, value in holder._parameters.items()
        if value is not None
    ]
    held = {f"{place}.{part}": value for place, _, part, value in owners}
    names = {f"{place}.{part}": (name, part, modules[place][1]) for place, name, part, _ in owners}
    for group in sharing_memory(held):
        part = next((names[key][1] for key in group if isinstance(names[key][2], kinds)), None)  # type: ignore[assignment]  # or None
        if part is not None:
            sharers = " and ".join(names[key][0] for key in group)
            raise ValueError(f"{sharers} share a {part}: shared parameters have no balance of their own")
    for key, value in held.items():
        name, part, module = names[key]
        if isinstance(module, kinds) and not is_lazy(value) and overlaps_itself(value):
            raise ValueError(
                f"entries of the {part} of layer {name} are one number in memory: it has no balance"
            )


def _flattened(axes: tuple[str, ...], flatten: nn.Flatten) -> tuple[str, ...]:
    if axes[0] == UNKNOWN:
        # How many axes stand before the neurons of a linear layer is not known, but none stands behind them.
        return (UNKNOWN, "sc")
    if flatten.start_dim == 0 and axes[0] == "n":
        axes = axes[1:]
    start, end = flatten.start_dim % len(axes), flatten.end_dim % len(axes)
    return (*axes[:start], "".join(axes[start : end + 1]), *axes[end + 1 :])


def _misread(low: str, below: Layer, high: str, above: Layer, axes: tuple[str, ...]) -> str:
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


def _frozen(low: str, below: Layer, high: str, above: Layer) -> str:
    """Why what is frozen breaks the balance; nothing if it does not.

    The loss L of a homogeneous neuron has w·∂L/∂w + b ∂L/∂b = a·∂L/∂a. If b does not move, d‖a‖² − d‖w‖² leaves
    over the term b ∂L/∂b: neither with b² nor without is there a balance, unless b is zero.
    """
    if not (below.weight.requires_grad and above.weight.requires_grad):
        return f"the weights of layer {high if below.weight.requires_grad else low} are frozen"
    bias = below.bias
    if bias is not None and not bias.requires_grad and bias.any():
        return f"the bias of layer {low} is frozen and not zero"
    for name, layer in ((low, below), (high, above)):
        if gradient_hooks(layer):
            return f"hooks rewrite the gradients of layer {name}, or may"
    return ""
