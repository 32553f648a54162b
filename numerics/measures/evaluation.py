"""Evaluating a network of somebody else: nothing of it changes, and nothing about it is assumed.

The network itself is evaluated, with its own parameters, for a copy would miss what reaches it by other ways (a hook or
a function that holds one of its tensors). Buffers are copies meanwhile, and parameters, attributes, modes, random
states, autocast and the default dtype are as before afterwards. Whether the data of a batch are independent of each
other, and whether the network is a function at all, is found by evaluating it: twice, together and alone, and by the
derivatives of each output by the other data, which are zero to the last digit.
"""

from __future__ import annotations

import copy
import functools
import random
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from symdyn.arrays.kinds import refuse

# Kinds of random generators that modules hold, and how their states are read and set.
GENERATORS = (
    (torch.Generator, lambda it: it.get_state(), lambda it, state: it.set_state(state)),
    (np.random.RandomState, lambda it: it.get_state(), lambda it, state: it.set_state(state)),
    (np.random.Generator, lambda it: it.bit_generator.state, lambda it, state: _set_bits(it, state)),
    (random.Random, lambda it: it.getstate(), lambda it, state: it.setstate(state)),
)
# So many rows of a Jacobian are compared with those of the datum alone.
ROWS = 16


def trained(network: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters of a network that an optimiser moves, by their names; one that is shared has its first name.

    Raises TypeError for what is no module and for complex parameters; ValueError for a network that holds no numbers
    yet (lazy, or on the meta device), for trained parameters of half precision, for hooks that rewrite gradients, for
    what lies in the memory of a trained parameter without being one, and if nothing is trained.
    """
    if not isinstance(network, nn.Module):
        raise TypeError(f"the network must be a torch.nn.Module, not a {type(network).__name__}")
    tensors = [*network.named_parameters(), *network.named_buffers()]
    for name, tensor in tensors:
        if is_lazy(tensor) or tensor.is_meta:
            raise ValueError(
                f"{name} holds no numbers yet ({'lazy' if is_lazy(tensor) else 'on the meta device'}): evaluate the "
                "network once on data, or move it to a device with to_empty and initialise it"
            )
    for name, module in network.named_modules():
        if gradient_hooks(module):
            raise ValueError(
                f"{name or 'the network'} has hooks on its backward pass or on the gradients of its parameters. What "
                "moves the parameters is then not the gradient: remove them, or write what they do into forward"
            )
    if getattr(parametrize, "_cache_enabled", 0):
        raise ValueError("within parametrize.cached() weights do not follow their parameters: leave it first")
    found = {name: value for name, value in network.named_parameters() if value.requires_grad}
    if not found:
        raise ValueError("nothing of the network is trained: it has no parameter with requires_grad")
    for name, value in found.items():
        if value.is_complex():
            raise TypeError(f"{name} is complex; tangent kernels are of real parameters")
        if value.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"{name} is {value.dtype}, in which a kernel keeps few digits and overflows: measure a copy in more, "
                "copy.deepcopy(network).float()"
            )
    _refuse_what_moves_along(network, found)
    return found


def gradient_hooks(module: nn.Module) -> bool:
    """Whether hooks may rewrite the gradients of a module or of a parameter of its own."""
    hooks = [module._backward_hooks, getattr(module, "_backward_pre_hooks", None)]
    for parameter in module._parameters.values():
        if parameter is not None and not is_lazy(parameter):
            hooks += [parameter._backward_hooks, getattr(parameter, "_post_accumulate_grad_hooks", None)]
    return any(hooks)


def _refuse_what_moves_along(network: nn.Module, found: dict[str, nn.Parameter]) -> None:
    others = {
        name: value
        for name, value in [*network.named_parameters(), *network.named_buffers()]
        if name not in found
    }
    for path, module in network.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor) and not value.requires_grad:
                others[f"{path}.{name}".lstrip(".")] = value
    for group in sharing_memory({**found, **others}):
        still = [name for name in group if name in others]
        if still and len(still) < len(group):
            moving = next(name for name in group if name in found)
            raise ValueError(
                f"{still[0]} is not trained, but lies in the memory of {moving} and moves along with it: what the "
                "network does then is not told by its gradient"
            )


def sharing_memory(tensors: dict[str, torch.Tensor]) -> list[list[str]]:
    """Groups of two and more names whose tensors have numbers in common, whoever holds them: tied Parameters are one,
    or share a storage, a NumPy array or a part of one.
    """
    strided = {
        name: value
        for name, value in tensors.items()
        if not is_lazy(value) and value.layout is torch.strided and value.numel() and not value.is_meta
    }
    groups: list[tuple[list[str], int]] = []
    for name in sorted(strided, key=lambda name: _reach(strided[name])[:2]):
        value = strided[name]
        device, low, _ = _reach(value)
        touched = [
            group
            for group, end in groups
            if _reach(strided[group[0]])[0] == device
            and low < end
            and any(_meet(value, strided[other]) for other in group)
        ]
        groups = [entry for entry in groups if not any(entry[0] is group for group in touched)]
        joined = [*(other for group in touched for other in group), name]
        groups.append((joined, max(_reach(strided[other])[2] for other in joined)))
    order = list(tensors)
    found = [sorted(group, key=order.index) for group, _ in groups if len(group) > 1]
    return sorted(found, key=lambda group: order.index(group[0]))


def _reach(tensor: torch.Tensor) -> tuple[str, int, int]:
    """The device of a tensor and the bytes from its first number to behind its last."""
    low, span = (
        tensor.data_ptr(),
        sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)),
    )
    return str(tensor.device), low, low + (span + 1) * tensor.element_size()


def _meet(first: torch.Tensor, second: torch.Tensor) -> bool:
    low, high = (pick(_reach(first)[k], _reach(second)[k]) for k, pick in ((1, max), (2, min)))
    if low >= high:  # type: ignore[operator]  # numbers, at 1 and 2
        return False
    if first.is_contiguous() and second.is_contiguous():
        return True
    sizes = {first.element_size(), second.element_size()}
    return len(sizes) > 1 or bool(np.isin(places(first, 0), places(second, 0)).any())


def places(tensor: torch.Tensor, start: int) -> np.ndarray:
    """Where the numbers of a tensor lie in memory, counted in numbers from the address ``start``: whole numbers, in the
    order of ``tensor.flatten()``.
    """
    found = np.array((tensor.data_ptr() - start) // tensor.element_size())
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        found = found[..., None] + np.arange(size) * stride
    return found.reshape(-1)


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two entries of a tensor are one number (after expand, for instance)."""
    return not tensor.is_contiguous() and len(np.unique(places(tensor, 0))) < tensor.numel()


@contextmanager
def full_precision() -> Iterator[None]:
    """What is computed within keeps the dtype of its tensors, also under autocast."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda", "mps", "xpu"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


@contextmanager
def unmoved(network: object, attributes: bool = True) -> Iterator[Callable[[], None]]:
    """Within it, a network may be evaluated: afterwards it is as it was.

    Kept are parameters with their gradients and flags, buffers, modes, the random states of Python, NumPy, torch and of
    generators that modules hold, and, with ``attributes``, whatever else the modules have: numbers, tensors and hooks,
    and the entries of lists, sets and dictionaries. Yields a function that puts all but the random states back at once.
    ``network`` may be anything; of what is no module, only the random states are kept.
    """
    modules = list(network.modules()) if isinstance(network, nn.Module) else []
    kept = [_Kept(module, attributes) for module in modules]
    numbers = [_numbers_of(tensor) for tensor in _tensors(modules, attributes)]
    random_states = [(put, get()) for get, put in _random_sources(modules)]
    default = torch.get_default_dtype()

    def restore(fresh: bool = True) -> None:
        for module in kept:
            module.restore()
        for put_back in numbers:
            put_back()
        if torch.get_default_dtype() is not default:
            torch.set_default_dtype(default)
        memo: dict[int, Any] = {}
        for module in kept if fresh else ():
            module.copy_buffers(memo)

    restore()
    try:
        with full_precision():
            yield restore
    finally:
        restore(fresh=False)
        for put, state in random_states:
            put(state)


class _Kept:
    """The attributes of a module, of which the contents of containers are kept as well."""

    def __init__(self, module: nn.Module, attributes: bool) -> None:
        self.module, self.training = module, module.training
        self.scripted = isinstance(module, torch.jit.ScriptModule)
        names = vars(module) if attributes and not self.scripted else {"_buffers"} & set(vars(module))
        self.entries = {name: vars(module)[name] for name in names}
        self.whole = attributes and not self.scripted
        self.contents = [
            (value, copy.copy(value))
            for value in self.entries.values()
            if isinstance(value, list | dict | set | deque) and not self.scripted
        ]

    def restore(self) -> None:
        if self.whole:
            for name in set(vars(self.module)) - set(self.entries):
                del vars(self.module)[name]
        vars(self.module).update(self.entries)
        for value, content in self.contents:
            _refill(value, content)
        if self.module.training is not self.training:
            self.module.training = self.training

    def copy_buffers(self, memo: dict[int, Any]) -> None:
        """Let copies stand for the buffers; what is shared between them stays shared."""
        if self.scripted:
            return
        for name, buffer in self.module._buffers.items():
            if buffer is not None:
                self.module._buffers[name] = copy.deepcopy(buffer, memo) if buffer.is_leaf else buffer.clone()


def _refill(container: Any, content: Any) -> None:
    if isinstance(container, list):
        container[:] = content
        return
    container.clear()
    container.extend(content) if isinstance(container, deque) else container.update(content)


def _tensors(modules: Iterable[nn.Module], attributes: bool) -> list[torch.Tensor]:
    """The tensors of modules whose numbers a forward might write over."""
    found = {}  # type: ignore[var-annotated]  # tensors by identity
    for module in modules:
        held = [*module._parameters.values(), *module._buffers.values()]
        if attributes and not isinstance(module, torch.jit.ScriptModule):
            held += [value for value in vars(module).values() if isinstance(value, torch.Tensor)]
        found |= {id(tensor): tensor for tensor in held if tensor is not None and not is_lazy(tensor)}
    return list(found.values())


def _numbers_of(tensor: torch.Tensor) -> Callable[[], None]:
    """A function that puts the numbers of a tensor back into their place, and its gradient and flag."""
    place, numbers, flag = tensor.data, tensor.data.clone(), tensor.requires_grad
    grad = tensor.grad if tensor.is_leaf else None
    slope = None if grad is None else grad.detach().clone()

    def put_back() -> None:
        if tensor.data_ptr() != place.data_ptr() or tensor.shape != place.shape:
            tensor.data = place
        if not _same(place, numbers):
            place.copy_(numbers)
        if tensor.is_leaf:
            if tensor.requires_grad is not flag:
                tensor.requires_grad_(flag)
            if tensor.grad is not grad:
                tensor.grad = grad
            if grad is not None and not _same(grad.detach(), slope):  # type: ignore[arg-type]  # there is one
                grad.data.copy_(slope)  # type: ignore[arg-type]  # as above

    return put_back


def _same(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.layout is torch.strided and not first.is_meta and torch.equal(first, second)


def _set_bits(generator: np.random.Generator, state: Any) -> None:
    generator.bit_generator.state = state


def _random_sources(modules: Iterable[nn.Module]) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
    """How to read and to set the state of every generator that an evaluation of modules may draw from."""
    sources = [
        (torch.get_rng_state, torch.set_rng_state),
        (np.random.get_state, np.random.set_state),
        (random.getstate, random.setstate),
    ]
    held = [value for module in modules for value in vars(module).values()]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        held += torch.cuda.default_generators
    for value in held:
        for kind, get, put in GENERATORS:
            if isinstance(value, kind):
                sources.append((functools.partial(get, value), functools.partial(put, value)))  # type: ignore[arg-type]  # callable
    return sources  # type: ignore[return-value]  # callable


def _digest(state: Any) -> Any:
    """A state of a generator as something that can be compared."""
    if isinstance(state, torch.Tensor | np.ndarray):
        return np.asarray(state).tobytes()
    if isinstance(state, dict):
        return tuple((key, _digest(value)) for key, value in state.items())
    return tuple(map(_digest, state)) if isinstance(state, tuple) else state


def jacobian(
    network: nn.Module, X: torch.Tensor, parameters: dict[str, nn.Parameter]
) -> dict[str, torch.Tensor]:
    """∂f(x)/∂p at every datum, (n, ...) for each of the parameters, by automatic differentiation.

    ``network(X)`` has shape (n,) for X (n, ...). Raises ValueError, with what is amiss, if the outputs are of another
    kind, if the network draws random numbers, if one datum's output depends on other data, and if no output depends on
    a parameter.
    """
    if not isinstance(X, torch.Tensor):
        raise TypeError(f"X must be a torch tensor, not a {type(X).__name__}")
    refuse("X", X)
    if X.ndim == 0 or len(X) == 0 or X.is_meta:
        raise ValueError(f"X must hold at least one datum, (n, ...): it is {tuple(X.shape)} on {X.device}")
    with unmoved(network) as restore, torch.inference_mode(False), torch.enable_grad():

        def evaluate(x: torch.Tensor) -> torch.Tensor:
            # Not afterwards: a backward pass reads what the forward pass left. The copy is for activations in place.
            restore()
            return _outputs(network(x.clone()), len(x))

        data = X if X.requires_grad else X.clone().requires_grad_(X.is_floating_point())
        _refuse_randomness(network, evaluate, data)
        _refuse_coupled_slopes(network, evaluate, data if len(data) > 1 else _in_company(evaluate, data))
        _refuse_coupled_outputs(network, evaluate, data)

        def row(i: int) -> dict[str, torch.Tensor]:
            return _slopes(evaluate(data[i : i + 1]).reshape(()), parameters, X.requires_grad)

        blocks = _together(evaluate, data, parameters, X.requires_grad)
        if blocks is None:
            rows = [row(i) for i in range(len(data))]
            blocks = {name: torch.stack([one[name] for one in rows]) for name in parameters}
        _refuse_coupled_rows(network, blocks, row)
    return blocks


def merged(
    blocks: Mapping[str, torch.Tensor], parameters: Mapping[str, torch.Tensor], rates: Mapping[str, Any]
) -> Iterator[tuple[torch.Tensor, Any]]:
    """Each block of a Jacobian with its rates, those of parameters in the same memory as one block.

    A step of descent adds to shared numbers what each of their names is given, so their derivatives add up. Raises
    ValueError if shared numbers have different rates.
    """
    groups = sharing_memory(dict(parameters))
    shared = {name for group in groups for name in group}
    groups += [[name] for name, value in parameters.items() if overlaps_itself(value) and name not in shared]
    shared = {name for group in groups for name in group}
    for name, block in blocks.items():
        if name not in shared:
            yield block, rates[name]
    for group in groups:
        yield _one_block(group, blocks, parameters, rates)


def _one_block(
    group: list[str],
    blocks: Mapping[str, torch.Tensor],
    parameters: Mapping[str, torch.Tensor],
    rates: Mapping[str, Any],
) -> tuple[torch.Tensor, torch.Tensor]:
    if len({(parameters[name].dtype, parameters[name].device) for name in group}) > 1:
        raise ValueError(f"{' and '.join(group)} lie in the same memory as numbers of different kinds")
    start = min(parameters[name].data_ptr() for name in group)
    index = {name: torch.as_tensor(places(parameters[name], start)) for name in group}
    first = blocks[group[0]]
    size = 1 + max(int(places.max()) for places in index.values())
    block, speed = first.new_zeros(len(first), size), first.new_zeros(size)
    for name in group:
        where = index[name].to(first.device)
        block = block.index_add(1, where, blocks[name].reshape(len(first), -1))
        speed = speed.index_copy(0, where, _each(rates[name], parameters[name]))
    for name in group:
        where = index[name].to(first.device)
        if not torch.equal(speed[where], _each(rates[name], parameters[name])):
            raise ValueError(
                f"{' and '.join(group)} lie in the same memory: give them one rate, not {rates[name]}"
            )
    return block, speed


def _each(rate: Any, parameter: torch.Tensor) -> torch.Tensor:
    rate = torch.as_tensor(rate, dtype=parameter.dtype, device=parameter.device)
    return rate.broadcast_to(parameter.shape).reshape(-1)


def _outputs(outputs: Any, count: int) -> torch.Tensor:
    """One real output a datum; that of a lone datum may have any shape of one number."""
    if not isinstance(outputs, torch.Tensor):
        found = f"a {type(outputs).__name__}"
    elif outputs.shape != (count,) and not count == 1 == outputs.numel():
        found = f"a tensor of shape {tuple(outputs.shape)}"
    elif not outputs.is_floating_point():
        found = f"numbers of the kind {outputs.dtype}"
    else:
        return outputs.reshape(count)
    raise ValueError(
        f"the network must return one output per datum, {count} in all, as a real tensor ({count},): it returned "
        f"{found}"
    )


def _apart(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Which outputs differ by more than rounding does."""
    first, second = first.detach(), second.detach()
    size = torch.nan_to_num(torch.maximum(first.abs(), second.abs()), 0.0, 0.0).amax()
    reach = float(size) * torch.finfo(first.dtype).eps ** 0.5
    return ~torch.isclose(first, second, rtol=0.0, atol=reach, equal_nan=True)


def _refuse_randomness(
    network: nn.Module, evaluate: Callable[[torch.Tensor], torch.Tensor], data: torch.Tensor
) -> None:
    sources = [get for get, _ in _random_sources(list(network.modules()))]
    before = [_digest(get()) for get in sources]
    first, second = evaluate(data), evaluate(data)
    drawn = before != [_digest(get()) for get in sources]
    if drawn or _apart(first, second).any():
        raise ValueError(
            f"the network is random{_named(network, _is_random)}: it "
            f"{'draws random numbers' if drawn else 'gives other outputs for the same data'} when it is evaluated, and "
            "its kernel would be another one every time. Call network.eval() if that makes it a function, or take the "
            "randomness out of forward"
        )


def _refuse_coupled_slopes(
    network: nn.Module, evaluate: Callable[[torch.Tensor], torch.Tensor], data: torch.Tensor
) -> None:
    """Raise if the derivative of an output by another datum is not zero, to the last digit.

    Every two data fall into different halves of the batch for some bit of their numbers.
    """
    if not data.is_floating_point():
        return
    weights = torch.linspace(0.5, 1.5, len(data), device=data.device)
    numbers = torch.arange(len(data), device=data.device)
    for bit in range((len(data) - 1).bit_length()):
        for half in (0, 1):
            outputs = evaluate(data)
            if not outputs.requires_grad:
                return
            inside = (numbers >> bit) % 2 == half
            (slope,) = torch.autograd.grad(
                outputs,
                data,
                (weights * inside).to(outputs),
                allow_unused=True,
                retain_graph=data.grad_fn is not None,
            )
            if slope is not None and torch.nan_to_num(slope[~inside], 0.0, 1.0, 1.0).any():
                raise ValueError(_coupled(network, "it has a derivative by them"))


def _in_company(evaluate: Callable[[torch.Tensor], torch.Tensor], data: torch.Tensor) -> torch.Tensor:
    """A lone datum with another one, if the network takes two at a time."""
    other = 1.5 * data.detach() + 0.25 if data.is_floating_point() else data.flip(-1)
    both = torch.cat([data.detach(), other]).requires_grad_(data.is_floating_point())
    try:
        evaluate(both)
    except RuntimeError:
        return data
    return both


def _refuse_coupled_outputs(
    network: nn.Module, evaluate: Callable[[torch.Tensor], torch.Tensor], data: torch.Tensor
) -> None:
    together = evaluate(data).detach()
    for i in range(len(data)):
        try:
            alone = evaluate(data[i : i + 1]).detach()
        except Exception as error:
            raise ValueError(
                f"the network cannot evaluate datum {i} without the others ({error}): there is a kernel of pairs of "
                f"data only where each has an output of its own{_named(network, _couples)}"
            ) from error
        both = torch.stack([together, together.index_copy(0, torch.tensor([i], device=alone.device), alone)])
        if _apart(*both).any():
            raise ValueError(
                _coupled(
                    network, f"{float(together[i]):.6g} with them, {float(alone[0]):.6g} alone, datum {i}"
                )
            )


def _coupled(network: nn.Module, how: str) -> str:
    return (
        f"the output of a datum depends on the other data of its batch ({how}){_named(network, _couples)}: a kernel of "
        "two data would depend on the others. Call network.eval() if that uncouples them, or take the coupling out of "
        "forward"
    )


def _slopes(
    outputs: torch.Tensor,
    parameters: Mapping[str, torch.Tensor],
    graph: bool,
    directions: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """The derivatives of an output, or of outputs along many directions at once, by each of the parameters."""
    if outputs.requires_grad:
        found = torch.autograd.grad(
            outputs,
            list(parameters.values()),
            directions,
            create_graph=graph,
            allow_unused=True,
            is_grads_batched=directions is not None,
        )
        if any(slope is not None for slope in found):
            first = () if directions is None else directions.shape[:1]
            return {
                name: value.new_zeros((*first, *value.shape)) if slope is None else slope.to_dense()
                for (name, value), slope in zip(parameters.items(), found, strict=True)
            }
    raise ValueError(
        "no output depends on a trained parameter by way of autograd: does forward detach it, or run under no_grad?"
    )


def _together(
    evaluate: Callable[[torch.Tensor], torch.Tensor],
    data: torch.Tensor,
    parameters: Mapping[str, torch.Tensor],
    graph: bool,
) -> dict[str, torch.Tensor] | None:
    """The Jacobian in one backward pass; None for a network whose backward pass cannot be mapped over its outputs."""
    outputs = evaluate(data)
    one_each = torch.eye(len(data), dtype=outputs.dtype, device=outputs.device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _slopes(outputs, parameters, graph, one_each)
    except (RuntimeError, NotImplementedError):
        return None


def _refuse_coupled_rows(
    network: nn.Module, blocks: Mapping[str, torch.Tensor], row: Callable[[int], dict[str, torch.Tensor]]
) -> None:
    """Raise if the Jacobian of single data is another one, except where a datum lies on a kink."""
    count = len(next(iter(blocks.values())))
    sizes, errors = [], []  # type: ignore[var-annotated]  # numbers
    for i in np.unique(np.linspace(0, count - 1, ROWS).round().astype(int)).tolist():
        for values, alone in ((sizes, 0.0), (errors, row(i))):
            parts = [block[i] - (alone[name] if alone else 0.0) for name, block in blocks.items()]  # type: ignore[index]  # no number
            values.append(float(sum((part.detach().double() ** 2).sum() for part in parts)) ** 0.5)
    eps = max(torch.finfo(block.dtype).eps for block in blocks.values())
    if np.median(errors) > eps**0.5 * max(sizes):
        raise ValueError(_coupled(network, "its derivative by the parameters does"))


def _is_random(module: nn.Module) -> bool:
    kind = type(module).__name__
    if not module.training and kind not in ("FractionalMaxPool2d", "FractionalMaxPool3d"):
        return False
    drop = (
        getattr(module, "p", getattr(module, "dropout", 0))
        if "Dropout" in kind
        else getattr(module, "dropout", 0)
    )
    return kind in ("RReLU", "FractionalMaxPool2d", "FractionalMaxPool3d") or (
        isinstance(drop, int | float) and drop > 0
    )


def _couples(module: nn.Module) -> bool:
    batch_norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
    return isinstance(module, nn.MultiheadAttention) or (
        batch_norm and (module.training or module.running_mean is None)
    )


def _named(network: nn.Module, suspected: Callable[[nn.Module], bool]) -> str:
    """The modules known to be the likely cause, for a message."""
    names = [
        f"{name or 'itself'} ({type(module).__name__})"
        for name, module in network.named_modules()
        if suspected(module)
    ]
    return f" (see {', '.join(names)})" if names else ""
