"""Balances of feed-forward networks: their velocity along the gradient flow is zero, and of nothing near them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from numerics.lab.order import fit_order, has_order
from numerics.measures.conserved import (
    DriftRecorder,
    balances,
    layer_balance,
    neuron_deltas,
    single_neuron_delta,
)
from numerics.networks.linear import WideLinear
from numerics.networks.two_layer import TwoLayer


def build(*modules):
    torch.manual_seed(2)
    return nn.Sequential(*[module() for module in modules]).double()


def images(count=7):
    return torch.randn(count, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def vectors(count=7):
    return torch.randn(count, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


NETWORKS = {
    "mlp": (
        [
            lambda: nn.Linear(4, 6),
            nn.ReLU,
            lambda: nn.Linear(6, 5),
            lambda: nn.LeakyReLU(0.2),
            lambda: nn.Linear(5, 3),
        ],
        vectors,
        {"0-2": (6,), "2-4": (5,)},
    ),
    "nested, without biases, learned slope": (
        [
            lambda: nn.Sequential(nn.Linear(4, 6, bias=False), nn.PReLU()),
            lambda: nn.Sequential(nn.Linear(6, 3, bias=False)),
        ],
        vectors,
        {"0.0-1.0": (6,)},
    ),
    "linear": ([lambda: nn.Linear(4, 6), nn.Identity, lambda: nn.Linear(6, 3)], vectors, {"0-2": (6, 6)}),
    "convolutions, pooling, readout": (
        [
            lambda: nn.Conv2d(2, 4, 3, padding=1),
            nn.ReLU,
            lambda: nn.MaxPool2d(2),
            lambda: nn.Conv2d(4, 6, 3),
            nn.ReLU,
            nn.Flatten,
            lambda: nn.Linear(24, 3),
        ],
        images,
        {"0-3": (4,), "3-6": (6,)},
    ),
    "linear convolutions and average pooling": (
        [
            lambda: nn.Conv2d(2, 4, 3, padding=1),
            lambda: nn.Conv2d(4, 6, 3, padding=1),
            lambda: nn.AvgPool2d(4),
            nn.Flatten,
            lambda: nn.Linear(24, 3),
        ],
        images,
        {"0-1": (4, 4), "1-4": (6, 6)},
    ),
    "grouped convolutions": (
        [
            lambda: nn.Conv2d(2, 6, 3, groups=2),
            nn.ReLU,
            lambda: nn.Conv2d(6, 9, 3, groups=3),
            lambda: nn.AdaptiveMaxPool2d(1),
            nn.Flatten,
            lambda: nn.Linear(9, 3),
        ],
        images,
        {"0-2": (6,), "2-5": (9,)},
    ),
}


def velocity(network, data, quantity, rates):
    """d/dt of a quadratic quantity along the gradient flow with layer-wise rates: central differences are exact."""
    parameters = dict(network.named_parameters())
    targets = torch.randn(len(data), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    loss = ((network(data) - targets) ** 2).sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    moves = [
        -rates.get(name.rpartition(".")[0], 1.0) * gradient
        for name, gradient in zip(parameters, gradients, strict=True)
    ]
    values = []
    with torch.no_grad():
        for reach in (0.5, -1.0):
            for parameter, move in zip(parameters.values(), moves, strict=True):
                parameter.add_(move, alpha=reach)
            values.append(quantity(network))
        for parameter, move in zip(parameters.values(), moves, strict=True):
            parameter.add_(move, alpha=0.5)
    return {name: values[0][name] - values[1][name] for name in values[0]}


def layer_rates(network):
    names = [name for name, module in network.named_modules() if hasattr(module, "weight")]
    return {name: 0.5 + 0.7 * place for place, name in enumerate(names)}


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_balance_is_conserved_by_gradient_flow_with_layerwise_rates(kind):
    modules, data, shapes = NETWORKS[kind]
    network = build(*modules)
    rates = layer_rates(network)
    found = balances(network, rates)
    assert {name: tuple(value.shape) for name, value in found.items()} == shapes
    still = velocity(network, data(), lambda net: balances(net, rates), rates)
    moving = velocity(network, data(), balances, rates)
    for name in shapes:
        assert still[name].abs().max() < 1e-11 * moving[name].abs().max()


def test_the_bias_belongs_to_the_balance():
    network = build(lambda: nn.Linear(4, 6), nn.ReLU, lambda: nn.Linear(6, 3))

    def without_bias(net):
        return {"0-2": (net[2].weight ** 2).sum(0) - (net[0].weight ** 2).sum(1)}

    right = velocity(network, vectors(), balances, {})["0-2"].abs().max()
    wrong = velocity(network, vectors(), without_bias, {})["0-2"].abs().max()
    assert wrong > 1e10 * right


def test_behind_an_activation_only_the_diagonal_is_conserved():
    network = build(lambda: nn.Linear(4, 6, bias=False), nn.ReLU, lambda: nn.Linear(6, 3))

    def whole(net):
        return {"whole": layer_balance(net[2].weight.T, net[0].weight)}

    moved = velocity(network, vectors(), whole, {})["whole"]
    assert moved.diagonal().abs().max() < 1e-12
    assert moved.abs().max() > 1e-3


def test_two_layer_networks_have_the_balances_of_their_layers():
    generator = np.random.default_rng(4)
    a, W, A = (generator.standard_normal(shape) for shape in ((6,), (6, 4), (6, 3)))
    network = nn.Sequential(nn.Linear(4, 6, bias=False), nn.ReLU(), nn.Linear(6, 1)).double()
    with torch.no_grad():
        network[0].weight.copy_(torch.as_tensor(W))
        network[2].weight.copy_(torch.as_tensor(a[None]))
    own = TwoLayer(a, W)
    rates = {"0": 0.3, "2": 2.0}
    found = balances(network, rates)["0-2"].detach().numpy()
    np.testing.assert_allclose(found, neuron_deltas(a, W, 2.0, 0.3), rtol=1e-13)
    np.testing.assert_allclose(neuron_deltas(own.a, own.W).detach(), a**2 - (W**2).sum(-1), rtol=1e-13)
    wide = WideLinear(A, W)
    np.testing.assert_allclose(
        layer_balance(wide.A, wide.W, 2.0, 0.3).detach(),
        0.3 * A @ A.T - 2.0 * W @ W.T,
        rtol=1e-12,
        atol=1e-13,
    )


def batch_of_networks(generator, batch, h=3):
    return (generator.standard_normal((*batch, h, *last)) for last in ((), (2,), (4,)))


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, torch.as_tensor])
def test_rates_belong_to_the_networks_of_a_batch(batch, convert):
    """Also where there are as many networks as neurons."""
    generator = np.random.default_rng(7)
    a, A, W = batch_of_networks(generator, batch)
    eta_a, eta_w = generator.uniform(0.5, 2.0, (2, *batch))
    rates = [convert(eta) if batch else float(eta) for eta in (eta_a, eta_w)]
    deltas = neuron_deltas(convert(a), convert(W), *rates)
    Delta = layer_balance(convert(A), convert(W), *rates)
    assert isinstance(deltas, torch.Tensor if convert is torch.as_tensor else np.ndarray)
    for network in np.ndindex(batch):
        own = (float(eta_a[network]), float(eta_w[network]))
        np.testing.assert_allclose(
            deltas[network], own[1] * a[network] ** 2 - own[0] * (W[network] ** 2).sum(-1), rtol=1e-13
        )
        np.testing.assert_allclose(Delta[network], layer_balance(A[network], W[network], *own), rtol=1e-13)


def test_an_axis_of_a_rate_may_be_shared_by_the_batch():
    a, A, W = batch_of_networks(np.random.default_rng(7), (2, 3))
    for balance, outgoing in ((neuron_deltas, a), (layer_balance, A)):
        found = balance(outgoing, W, np.array([[0.5], [2.0]]), np.array([[1.0, 2.0, 3.0]]))
        np.testing.assert_allclose(found[1, 2], balance(outgoing[1, 2], W[1, 2], 2.0, 3.0), rtol=1e-13)


@pytest.mark.parametrize(
    "eta", [np.ones(3), [1.0, 2.0], np.ones((3, 1)), np.ones((2, 3, 3)), np.ones((4, 3))]
)
def test_rates_of_another_shape_than_that_of_the_batch_are_refused(eta):
    a, A, W = batch_of_networks(np.random.default_rng(7), (2, 3))
    for balance, outgoing in ((neuron_deltas, a), (layer_balance, A)):
        with pytest.raises(ValueError, match=r"eta_a must be a scalar or have the shape \(2, 3\)"):
            balance(outgoing, W, eta)
        with pytest.raises(ValueError, match="eta_w must be a scalar"):
            balance(torch.as_tensor(outgoing), W, 1.0, torch.as_tensor(eta))


def test_one_network_has_one_rate_and_not_one_a_neuron():
    a, A, W = batch_of_networks(np.random.default_rng(7), ())
    for balance, outgoing in ((neuron_deltas, a), (layer_balance, A)):
        with pytest.raises(ValueError, match=r"eta_a must be a scalar or have the shape \(\)"):
            balance(outgoing, W, np.ones(3))


@pytest.mark.parametrize(
    ("balance", "outgoing", "W", "message"),
    [
        (neuron_deltas, [1.0, 2.0], [[1.0], [2.0], [3.0]], r"a must be \(..., h\)"),
        (neuron_deltas, 1.0, [[1.0]], r"a has shape \(\)"),
        (neuron_deltas, [1.0], [1.0], r"W \(..., h, d\)"),
        (neuron_deltas, np.ones((2, 3)), np.ones((4, 3, 1)), "a common batch"),
        (layer_balance, [[1.0], [2.0]], [[1.0]], r"A must be \(..., h, c\)"),
        (layer_balance, [1.0, 2.0], [[1.0], [2.0]], r"A has shape \(2,\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused(balance, outgoing, W, message):
    with pytest.raises(ValueError, match=message):
        balance(outgoing, W)


def test_whole_numbers_are_squared_as_numbers_and_dtypes_are_kept():
    assert single_neuron_delta([4_000_000_000], [[0]]).tolist() == [1.6e19]
    assert neuron_deltas([4_000_000_000], [[0]]).tolist() == [1.6e19]
    few, many = torch.tensor([100], dtype=torch.int8), torch.tensor([[1, 100]], dtype=torch.int8)
    assert neuron_deltas(few, many).tolist() == [-1.0]
    assert layer_balance(torch.tensor([[4_000_000_000]]), torch.tensor([[1]])).item() == pytest.approx(1.6e19)
    for dtype in (np.float32, np.float64):
        assert neuron_deltas(np.ones(2, dtype), np.ones((2, 1), dtype), 2.0).dtype == dtype
    narrow = torch.ones(2, 2, dtype=torch.float32)
    assert layer_balance(narrow[None], narrow[None], [2.0], 0.5).dtype == torch.float32


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)), "no two neighbouring layers"),
        (
            nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 3)),
            "no two neighbouring layers",
        ),
        (TwoLayer([1.0], [[1.0]]), "the order of the layers of a TwoLayer is not known"),
        (
            [nn.Conv1d(2, 4, 3), nn.ConvTranspose1d(4, 2, 3)],
            r"behind layer 0, ConvTranspose1d \(1\) does not keep",
        ),
        ([nn.Linear(4, 6), nn.ReLU(), nn.Linear(5, 3)], "layer 2 takes 5 channels, but layer 0 gives 6"),
        ([nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(8, 2, 3)], "layer 2 takes 8 channels"),
    ],
)
def test_networks_without_a_known_balance_are_refused(network, message):
    with pytest.raises(ValueError, match=message):
        balances(network)


def test_complex_weights_are_refused():
    network = nn.Sequential(nn.Linear(2, 3, dtype=torch.cfloat), nn.Linear(3, 2, dtype=torch.cfloat))
    with pytest.raises(TypeError, match="layers 0 and 1 have complex weights"):
        balances(network)
    for a, W in (([1j], [[1.0]]), (torch.ones(1), torch.ones(1, 1) * 1j)):
        with pytest.raises(TypeError, match="must be real numbers"):
            neuron_deltas(a, W)


def test_a_layer_that_is_used_twice_is_refused():
    shared = nn.Linear(4, 4)
    with pytest.raises(ValueError, match="0 and 2 share a weight"):
        balances(nn.Sequential(shared, nn.ReLU(), shared))


def test_frozen_layers_and_what_lies_behind_another_activation_are_left_out():
    network = build(
        *[lambda: nn.Linear(4, 4), nn.ReLU, lambda: nn.Linear(4, 4), nn.Sigmoid],
        *[lambda: nn.Linear(4, 4), nn.ReLU, lambda: nn.Linear(4, 4), nn.ReLU, lambda: nn.Linear(4, 3)],
    )
    assert set(balances(network)) == {"0-2", "4-6", "6-8"}
    network[8].requires_grad_(False)
    assert set(balances(network)) == {"0-2", "4-6"}


def test_rates_must_name_every_layer():
    network = build(lambda: nn.Linear(4, 6), nn.ReLU, lambda: nn.Linear(6, 3))
    with pytest.raises(ValueError, match=r"rates must name the layers \['0', '2'\]"):
        balances(network, {"0": 1.0})


def recorded(step, count):
    """A user's own loop: a convolutional network, plain gradient descent, the balances recorded."""
    modules, data, _ = NETWORKS["convolutions, pooling, readout"]
    network, inputs = build(*modules), data()
    optimizer = torch.optim.SGD(network.parameters(), lr=step)
    recorder = DriftRecorder(network, balances)
    with recorder.attach(optimizer, every=count // 4):
        for _ in range(count):
            optimizer.zero_grad()
            (network(inputs) ** 2).sum().backward()
            optimizer.step()
    return recorder


def test_the_recorder_follows_every_balance_and_their_drift_is_of_first_order():
    counts = [40, 80, 160, 320]
    runs = [recorded(0.02 / count, count) for count in counts]
    assert runs[0].steps == [0, 10, 20, 30, 40]
    assert runs[0].values["0-3"].shape == (5, 4)
    for name in ("0-3", "3-6"):
        drifts = [run.drift()[name].max() for run in runs]
        assert has_order(*fit_order([1 / count for count in counts], drifts))


def test_a_recorder_that_is_attached_again_goes_on_counting():
    network = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    recorder = DriftRecorder(network, lambda network: 1.0)
    for _ in range(2):
        with recorder.attach(optimizer, every=10):
            for _ in range(25):
                optimizer.step()
    assert recorder.steps == [0, 10, 20, 30, 40, 50]
    recorder.observe(107)
    with recorder.attach(optimizer, every=10):
        for _ in range(5):
            optimizer.step()
    assert recorder.steps[-2:] == [107, 110]


@pytest.mark.parametrize(
    ("quantity", "recorded"),
    [
        (lambda network: 2.5, [2.5]),
        (lambda network: np.array([1.0, 2.0]), [[1.0, 2.0]]),
        (lambda network: {"norm": torch.ones(2, dtype=torch.bfloat16)}, {"norm": [[1.0, 1.0]]}),
        (lambda network: torch.tensor([1 + 2j]), [[1 + 2j]]),
        (lambda network: np.array([True]), [[1.0]]),
    ],
)
def test_numbers_arrays_and_tensors_of_any_kind_are_recorded(quantity, recorded):
    recorder = DriftRecorder(None, quantity)
    with pytest.raises(ValueError, match="nothing was recorded"):
        _ = recorder.values
    recorder.observe(0)
    found = recorder.values
    recorder.drift()
    assert (
        {k: v.tolist() for k, v in found.items()} if isinstance(found, dict) else found.tolist()
    ) == recorded
