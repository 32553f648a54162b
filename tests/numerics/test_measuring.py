"""Kernels and balances of anyone's modules: right, which is the Jacobian row by row, or refused by name, and the
network is as it was afterwards.
"""

from __future__ import annotations

import copy
import random
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from numerics.measures.conserved import DriftRecorder, balances
from numerics.measures.kernels import ntk

RIGHT = "right"
# The generator that all of NumPy's old functions share, which a user's forward may draw from.
NUMPY, NUMPY_STATE = np.random.rand, np.random.get_state


class Net(nn.Module):
    """Modules by their names and what forward does with them; the last axes are averaged away."""

    def __init__(self, forward, **modules):
        super().__init__()
        self.calculate = forward
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x):
        outputs = self.calculate(self, x)
        return (
            outputs.flatten(1).mean(1) if isinstance(outputs, torch.Tensor) and outputs.ndim > 1 else outputs
        )


def chain(*modules, mode=True):
    return Net(lambda net, x: net.body(x), body=nn.Sequential(*modules)).train(mode)


def around(between, mode=True):
    return Net(
        lambda net, x: net.second(between(net, net.first(x))), first=nn.Linear(3, 4), second=nn.Linear(4, 2)
    ).train(mode)


def frozen(*names):
    net = around(lambda net, h: h.relu())
    for name in names:
        net.get_parameter(name).requires_grad_(False)
    return net


def hooked(register, hook):
    net = around(lambda net, h: h.tanh())
    getattr(net.first, register)(hook)
    return net


def derived(by, mode=True):
    return chain(by(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 2), mode=mode)


def counting(net, h):
    net.count += 1
    net.calls = getattr(net, "calls", 0) + 1
    return h.tanh() * net.count


def counter():
    net = around(counting)
    net.register_buffer("count", torch.ones(()))
    return net


def tied(how):
    net = Net(lambda net, x: net.second(net.first(x).tanh()), first=nn.Linear(3, 3), second=nn.Linear(3, 3))
    how(net)
    return net


def by_object(net):
    net.second.weight = net.first.weight


def by_storage(net):
    net.second.weight = nn.Parameter(net.first.weight.detach())


def by_data(net):
    net.second.weight.data = net.first.weight.data


def by_transposed_view(net):
    net.second.weight = nn.Parameter(net.first.weight.detach().T)


def by_part(net):
    net.second.bias = nn.Parameter(net.first.weight.detach()[1])


def by_frozen(net):
    by_storage(net)
    net.second.weight.requires_grad_(False)


def by_array(net):
    numbers = np.random.default_rng(0).standard_normal((3, 3))
    net.first.weight, net.second.weight = (nn.Parameter(torch.from_numpy(numbers)) for _ in range(2))


def by_buffer(net):
    net.register_buffer("mirror", net.first.weight.detach())


def lent(name):
    """A hook that closes over a parameter of another layer."""
    net = around(lambda net, h: h.tanh())
    weight = net.get_parameter(name)
    net.first.register_forward_hook(lambda module, given, out: out * weight.sum())
    return net


def normalising(net, x):
    net.body.weight.data = net.body.weight.data / net.body.weight.data.norm()
    return net.body(net.body(x).tanh())


class Rows(torch.autograd.Function):
    """The identity, whose backward pass divides by the size of the batch."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, slope):
        return slope / len(slope)


def attention(batch_first, axis):
    """Attention of data that stand on an axis of their own, of length one or along the batch."""
    return Net(
        lambda net, x: net.mix(*[net.first(x).unsqueeze(axis)] * 3)[0].reshape(len(x), -1),
        first=nn.Linear(3, 4),
        mix=nn.MultiheadAttention(4, 2, batch_first=batch_first),
    )


def detached_mean(net, h):
    return h - h.mean(0).detach()


VECTORS, IMAGES, WORDS = (5, 3), (5, 2, 5, 5), (5, 4)
BATCH = [
    (norm, width, track, mode)
    for norm, width in (
        ("BatchNorm1d", 1),
        ("BatchNorm2d", 2),
        ("BatchNorm3d", 3),
        ("SyncBatchNorm", 2),
        ("LazyBatchNorm1d", 1),
        ("LazyBatchNorm2d", 2),
        ("LazyBatchNorm3d", 3),
    )
    for track in (True, False)
    for mode in (True, False)
]


def batch_norm(name, axes, track, mode):
    kind = getattr(nn, name)
    norm = kind(track_running_stats=track) if name.startswith("Lazy") else kind(4, track_running_stats=track)
    conv = getattr(nn, f"Conv{axes}d")(2, 4, 2)
    if name.startswith("Lazy"):
        norm.eval()(torch.randn(3, 4, *[4] * axes))
    return chain(conv, norm, nn.Tanh(), mode=mode)


COUPLED, RANDOM = "depends on the other data|cannot evaluate datum", "the network is random"
# How a network is built, the shape of its data, and what is expected.
CASES = {
    "ReLU": (lambda: around(lambda net, h: h.relu()), VECTORS, RIGHT),
    "ReLU in place": (lambda: chain(nn.ReLU(True), nn.Linear(3, 2), nn.ReLU(True)), VECTORS, RIGHT),
    "residual": (lambda: around(lambda net, h: h + h.tanh()), VECTORS, RIGHT),
    "layer norm": (lambda: chain(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)), VECTORS, RIGHT),
    "group norm": (lambda: chain(nn.Conv2d(2, 4, 2), nn.GroupNorm(2, 4), nn.Tanh()), IMAGES, RIGHT),
    "embedding": (lambda: chain(nn.Embedding(7, 3), nn.Flatten(), nn.Linear(12, 1)), WORDS, RIGHT),
    "sparse embedding": (lambda: chain(nn.Embedding(7, 3, sparse=True), nn.Tanh()), WORDS, RIGHT),
    "embedding of bounded norm": (lambda: chain(nn.Embedding(7, 3, max_norm=0.5), nn.Tanh()), WORDS, RIGHT),
    "convolutions": (lambda: chain(nn.Conv2d(2, 3, 2), nn.ReLU(), nn.MaxPool2d(2)), IMAGES, RIGHT),
    **{
        kind.__name__: (
            lambda kind=kind: Net(lambda net, x: net.body(x)[0][:, -1], body=kind(3, 4, 2, batch_first=True)),
            (5, 4, 3),
            RIGHT,
        )
        for kind in (nn.RNN, nn.LSTM, nn.GRU)
    },
    "RNN along the batch": (lambda: Net(lambda net, x: net.body(x)[0], body=nn.RNN(3, 4)), VECTORS, COUPLED),
    "transformer layer": (
        lambda: chain(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), nn.Linear(4, 1)),
        (5, 3, 4),
        RIGHT,
    ),
    "dropout": (lambda: chain(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)), VECTORS, RANDOM),
    "rare dropout": (lambda: chain(nn.Linear(3, 4), nn.Dropout(1e-9)), VECTORS, RANDOM),
    "dropout in evaluation": (
        lambda: chain(nn.Linear(3, 4), nn.Dropout(0.5), mode=False),
        VECTORS,
        RIGHT,
    ),
    "no dropout": (lambda: chain(nn.Linear(3, 4), nn.Dropout(0.0)), VECTORS, RIGHT),
    "functional dropout": (
        lambda: around(lambda net, h: F.dropout(h, 0.3, training=True), False),
        VECTORS,
        RANDOM,
    ),
    "noise": (lambda: around(lambda net, h: h + torch.rand(4)), VECTORS, RANDOM),
    "noise of NumPy": (lambda: around(lambda net, h: h + float(NUMPY())), VECTORS, RANDOM),
    "noise of Python": (lambda: around(lambda net, h: h * random.random()), VECTORS, RANDOM),
    "noise of the system": (
        lambda: around(lambda net, h: h * random.SystemRandom().random()),
        VECTORS,
        RANDOM,
    ),
    "randomised ReLU": (lambda: chain(nn.Linear(3, 4), nn.RReLU()), VECTORS, RANDOM),
    "randomised ReLU in evaluation": (lambda: chain(nn.Linear(3, 4), nn.RReLU(), mode=False), VECTORS, RIGHT),
    **{
        f"{name}, statistics {track}, training {mode}": (
            lambda name=name, axes=axes, track=track, mode=mode: batch_norm(name, axes, track, mode),
            (5, 2, *[5] * axes),
            RIGHT if track and not mode else f"{COUPLED}|SyncBatchNorm",
        )
        for name, axes, track, mode in BATCH
    },
    **{
        f"instance norm, statistics {track}, training {mode}": (
            lambda track=track, mode=mode: chain(
                nn.Conv2d(2, 4, 2),
                nn.InstanceNorm2d(4, affine=True, track_running_stats=track),
                nn.Tanh(),
                mode=mode,
            ),
            IMAGES,
            RIGHT,
        )
        for track in (True, False)
        for mode in (True, False)
    },
    "attention between data": (lambda: attention(True, 0), VECTORS, COUPLED),
    "attention, batch as sequence": (lambda: attention(False, 1), VECTORS, COUPLED),
    "attention of each datum alone": (lambda: attention(True, 1), VECTORS, RIGHT),
    "attention by hand": (lambda: around(lambda net, h: (h @ h.T).softmax(1) @ h), VECTORS, COUPLED),
    "mean taken off": (lambda: around(lambda net, h: h - h.mean(0)), VECTORS, COUPLED),
    "detached mean taken off": (lambda: around(detached_mean), VECTORS, COUPLED),
    "detached mean of one datum": (
        lambda: around(lambda net, h: h + (torch.arange(len(h)) == 3)[:, None] * h.mean(0).detach()),
        VECTORS,
        COUPLED,
    ),
    "mean that leaves values alone": (
        lambda: around(lambda net, h: h - h.mean(0) + h.mean(0).detach()),
        VECTORS,
        COUPLED,
    ),
    "a thousandth of a millionth": (lambda: around(lambda net, h: h + 1e-9 * h.mean(0)), VECTORS, COUPLED),
    "gradients by batch size": (lambda: around(lambda net, h: Rows.apply(h)), VECTORS, COUPLED),
    "place in the batch": (
        lambda: around(lambda net, h: h * torch.arange(len(h))[:, None]),
        VECTORS,
        COUPLED,
    ),
    "mean over embedded words": (
        lambda: Net(lambda net, x: net.body(x) - net.body(x).mean(0), body=nn.Embedding(7, 3)),
        WORDS,
        COUPLED,
    ),
    "weight norm": (lambda: derived(parametrizations.weight_norm), VECTORS, RIGHT),
    "spectral norm": (lambda: derived(parametrizations.spectral_norm), VECTORS, RIGHT),
    "spectral norm in evaluation": (lambda: derived(parametrizations.spectral_norm, False), VECTORS, RIGHT),
    "spectral norm, old": (lambda: derived(nn.utils.spectral_norm), VECTORS, RIGHT),
    "orthogonal": (lambda: derived(parametrizations.orthogonal), VECTORS, RIGHT),
    "frozen layer": (lambda: frozen("first.weight", "first.bias"), VECTORS, RIGHT),
    "frozen bias": (lambda: frozen("second.bias"), VECTORS, RIGHT),
    "all frozen": (
        lambda: frozen("first.weight", "first.bias", "second.weight", "second.bias"),
        VECTORS,
        "nothing of the network is trained",
    ),
    "frozen in part by a hook": (
        lambda: (lambda net: (net.first.weight.register_hook(lambda g: 0 * g), net)[1])(frozen()),
        VECTORS,
        "hooks on its backward pass",
    ),
    "backward hook": (
        lambda: hooked("register_full_backward_hook", lambda *_: None),
        VECTORS,
        "hooks on its backward pass",
    ),
    **{
        f"tied {how.__name__}": (lambda how=how: tied(how), VECTORS, RIGHT)
        for how in (by_object, by_storage, by_data, by_transposed_view, by_part, by_array)
    },
    "tied to a frozen one": (lambda: tied(by_frozen), VECTORS, "moves along with"),
    "tied to a buffer": (lambda: tied(by_buffer), VECTORS, "moves along with"),
    "forward hook": (lambda: hooked("register_forward_hook", lambda m, x, y: 2 * y), VECTORS, RIGHT),
    "hook before": (lambda: hooked("register_forward_pre_hook", lambda m, x: (x[0] + 1,)), VECTORS, RIGHT),
    "hook with a weight of another layer": (lambda: lent("second.weight"), VECTORS, RIGHT),
    "counter": (counter, VECTORS, RIGHT),
    "weights written by forward": (lambda: Net(normalising, body=nn.Linear(3, 3)), VECTORS, RIGHT),
    "lazy": (lambda: chain(nn.LazyLinear(4), nn.Tanh()), VECTORS, "holds no numbers yet"),
    "meta": (lambda: chain(nn.Linear(3, 4, device="meta")), VECTORS, "holds no numbers yet"),
    "complex": (lambda: chain(nn.Linear(3, 4, dtype=torch.cfloat)), VECTORS, "is complex"),
    "two outputs": (lambda: nn.Linear(3, 2), VECTORS, "one output per datum"),
    "scalar": (
        lambda: Net(lambda net, x: net.a(x).mean(), a=nn.Linear(3, 2)),
        VECTORS,
        "one output per datum",
    ),
    "tuple": (lambda: Net(lambda net, x: (net.a(x),), a=nn.Linear(3, 2)), VECTORS, "returned a tuple"),
    "dictionary": (
        lambda: Net(lambda net, x: {"y": net.a(x)}, a=nn.Linear(3, 2)),
        VECTORS,
        "returned a dict",
    ),
    "no data": (lambda: around(lambda net, h: h), (0, 3), "at least one datum"),
    "detached": (lambda: around(lambda net, h: h.detach()), VECTORS, RIGHT),
    "all detached": (
        lambda: Net(lambda net, x: net.a(x).detach(), a=nn.Linear(3, 2)),
        VECTORS,
        "by way of autograd",
    ),
}


def made(name, dtype=torch.float64):
    build, shape, expected = CASES[name]
    torch.manual_seed(3)
    network = build()
    if name == "tied by_array":
        network.first.bias.data, network.second.bias.data = torch.ones(2, 3, dtype=dtype)
    elif name.startswith("tied"):
        # A change of dtype would untie them.
        dtype = torch.float32
    elif name not in ("lazy", "meta", "complex"):
        network = network.to(dtype)
    X = torch.randint(0, 7, shape) if shape is WORDS else torch.randn(shape, dtype=dtype)
    return network, X, expected


def rates_of(network):
    return {name: 0.5 for name, value in network.named_parameters() if value.requires_grad}


def by_rows(network, X):
    """The kernel at rate 0.5 from the gradient of each datum alone; numbers that lie in one place of memory are one."""
    rows = []
    for i in range(len(X)):
        state = copy.deepcopy(network.state_dict())
        output = network(X[i : i + 1].clone()).reshape(())
        named = {name: value for name, value in network.named_parameters() if value.requires_grad}
        slopes = torch.autograd.grad(output, list(named.values()), allow_unused=True)
        row = {}
        for value, slope in zip(named.values(), slopes, strict=True):
            slope = torch.zeros_like(value) if slope is None else slope.to_dense()
            for place in np.ndindex(*value.shape):
                number = value[place].data_ptr()
                row[number] = row.get(number, 0.0) + float(slope[place])
        rows.append(list(row.values()))
        network.load_state_dict(state)
    J = np.array(rows)
    return 0.5 * J @ J.T


def state(network):
    tensors = [*network.named_parameters(), *network.named_buffers()]
    return {
        "numbers": {name: (id(v), v.detach().numpy().tobytes()) for name, v in tensors},
        "flags": {name: (v.requires_grad, v.grad is None or v.grad.sum().item()) for name, v in tensors},
        "attributes": {name: sorted(vars(module)) for name, module in network.named_modules()},
        "calls": [getattr(module, "calls", None) for module in network.modules()],
        "modes": [module.training for module in network.modules()],
        "random": (torch.get_rng_state().tolist(), random.getstate(), str(NUMPY_STATE())),
        "default": (torch.get_default_dtype(), torch.is_autocast_enabled("cpu"), torch.is_grad_enabled()),
    }


def outcome(name):
    """ "right", or "refused", for one of the cases; anything else is wrong."""
    network, X, expected = made(name)
    silent = name in ("lazy", "meta", "complex")
    before, data = None if silent else state(network), X.clone()
    try:
        kernel = ntk(network, X, rates_of(network))
    except (ValueError, TypeError) as error:
        if silent or state(network) == before:
            return "refused" if expected != RIGHT and re.search(expected, str(error)) else f"refused: {error}"
        return "changed"
    if state(network) != before or not torch.equal(X, data):
        return "changed"
    if expected != RIGHT or not torch.equal(kernel, kernel.T):
        return f"kernel {kernel.tolist()}"
    tolerance = 1e-4 if kernel.dtype == torch.float32 else 1e-10
    reference = by_rows(network, X)
    return "right" if np.allclose(kernel.detach(), reference, tolerance, tolerance) else "another kernel"


def test_every_module_is_measured_rightly_or_refused_by_name(capsys):
    found = {name: outcome(name) for name in CASES}
    wrong = {name: kind for name, kind in found.items() if kind not in ("right", "refused")}
    counts = [list(found.values()).count(kind) for kind in ("right", "refused")]
    with capsys.disabled():
        print(
            f"\nkernels of modules: {len(found)} tried, {counts[0]} right, {counts[1]} refused, {len(wrong)} wrong"
        )
    assert not wrong


def test_kernels_and_balances_keep_the_dtype_of_the_parameters_under_autocast():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1), nn.Flatten(0))
    X = torch.randn(5, 3)
    with torch.no_grad():
        outside = ntk(network, X, rates_of(network)), balances(network)["0-1"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = ntk(network, X, rates_of(network)), balances(network)["0-1"]
        assert torch.is_autocast_enabled("cpu")
    assert all(torch.equal(a, b) and b.dtype == torch.float32 for a, b in zip(outside, inside, strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_refused_by_kernels_and_widened_by_balances(dtype):
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1), nn.Flatten(0)).to(dtype)
    with torch.no_grad():
        network[2].weight.fill_(1000.0)
    with pytest.raises(ValueError, match=r"float\(\)"):
        ntk(network, torch.randn(5, 3, dtype=dtype), rates_of(network))
    wide = copy.deepcopy(network).float()
    assert torch.equal(balances(network)["0-2"], balances(wide)["0-2"])


def test_kernels_are_symmetric_to_the_last_digit_whatever_the_rates():
    torch.manual_seed(0)
    network, X = nn.Sequential(nn.Linear(9, 7), nn.Tanh(), nn.Linear(7, 1), nn.Flatten(0)), torch.randn(40, 9)
    rates = {name: torch.rand(value.shape) for name, value in network.named_parameters()}
    kernel = ntk(network, X, rates)
    assert torch.equal(kernel, kernel.T)


def test_numbers_in_one_place_of_memory_have_one_rate_and_frozen_ones_need_none():
    network, X, _ = made("tied by_storage")
    rates = rates_of(network) | {"second.weight": 0.7}
    with pytest.raises(ValueError, match=r"first\.weight and second\.weight lie in the same memory"):
        ntk(network, X, rates)
    network, X, _ = made("frozen layer")
    everything = {name: 0.5 for name, _ in network.named_parameters()}
    assert torch.equal(ntk(network, X, everything), ntk(network, X, rates_of(network)))


class Layers(nn.Module):
    """Two linear layers in a list, with whatever between them."""

    def __init__(self, between, bias=True):
        super().__init__()
        self.layers, self.between = nn.ModuleList([nn.Linear(5, 5, bias), nn.Linear(5, 5, bias)]), between

    def forward(self, x):
        return self.between(self, x)


def then(act):
    return lambda net, x: net.layers[1](act(net.layers[0](x)))


# What lies between two layers, and the shape of what is conserved.
BETWEEN = {
    "nothing": (then(lambda h: h), (5, 5)),
    "a scale": (then(lambda h: 3 * h), (5, 5)),
    "a sum over the data": (then(lambda h: h + h.mean(0)), (5, 5)),
    "ReLU": (then(torch.relu), (5,)),
    "leaky ReLU": (then(lambda h: F.leaky_relu(h, 0.1)), (5,)),
    "a scale of each neuron": (then(lambda h: h * torch.arange(1.0, 6.0)), (5,)),
    "a skip over both": (lambda net, x: x + net.layers[1](net.layers[0](x).relu()), (5,)),
    "dropout": (then(lambda h: F.dropout(h, 0.5, True)), (5,)),
    "tanh": (then(torch.tanh), None),
    "ReLU6": (then(F.relu6), None),
    "hard tanh, wide": (then(lambda h: F.hardtanh(h, -30.0, 30.0)), None),
    "shift": (then(lambda h: h + 0.1), None),
    "softmax": (then(lambda h: h.softmax(-1)), None),
    "layer norm": (then(lambda h: F.layer_norm(h, (5,))), None),
    "a skip over the second": (lambda net, x: (lambda h: h + net.layers[1](h))(net.layers[0](x)), None),
    "squares": (then(lambda h: h * h.abs()), None),
    "neurons in another order": (then(lambda h: h.flip(-1)), None),
    "the first layer twice": (lambda net, x: net.layers[1](net.layers[0](net.layers[0](x))), None),
    "the first weight once more": (
        lambda net, x: net.layers[1](net.layers[0](x)) @ net.layers[0].weight.T,
        None,
    ),
}


@pytest.mark.parametrize("kind", BETWEEN)
def test_balances_are_those_of_the_forward_that_a_network_has(kind):
    between, shape = BETWEEN[kind]
    torch.manual_seed(1)
    network, X = Layers(between), torch.randn(12, 5)
    before = state(network)
    with pytest.raises(ValueError, match=r"ModuleList is not known.*inputs=X"):
        balances(network.layers)
    if shape is None:
        with pytest.raises(ValueError, match=r"does not keep their balance|evaluated 2 times"):
            balances(network, inputs=X)
    else:
        (found,) = balances(network, inputs=X).values()
        assert found.shape == shape
    assert state(network) == before


@pytest.mark.parametrize(
    ("hook", "shape"),
    [(lambda *_: None, (4, 4)), (lambda m, x, y: y.relu(), (4,)), (lambda m, x, y: y + 1, None)],
)
def test_hooks_of_a_sequence_are_part_of_its_way(hook, shape):
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    network[0].register_forward_hook(hook)
    if shape is None:
        with pytest.raises(ValueError, match="does not keep their balance"):
            balances(network)
    else:
        assert balances(network)["0-1"].shape == shape


def test_a_recorder_leaves_buffers_and_random_states_to_the_training():
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    before = state(network)
    DriftRecorder(
        network, lambda net: net(torch.ones(5, 3)).sum() + net.eval()(torch.ones(5, 3)).sum()
    ).observe(0)
    assert state(network) == before
