"""Which architectures have a balance: trained for the same time in ever smaller steps, what is conserved drifts in
proportion to the step, and what is refused does not.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from numerics.lab.order import fit_order, has_order
from numerics.measures.conserved import DriftRecorder, balances

TIME, COUNTS = 0.08, (40, 80, 160)


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


class Shifted(nn.Sequential):
    """Not a plain sequence, although it is an nn.Sequential."""

    def forward(self, x):
        return super().forward(x) + 1.0


def frozen_zero_bias():
    layer = nn.Linear(4, 6)
    nn.init.zeros_(layer.bias.requires_grad_(False))
    return [layer, nn.ReLU(), nn.Linear(6, 2)]


def frozen(place, part):
    layers = [nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)]
    getattr(layers[place], part).requires_grad_(False)
    return layers


def shared_slope():
    slope = nn.PReLU()
    return [nn.Linear(4, 6), slope, nn.Linear(6, 5), slope, nn.Linear(5, 2)]


# What is built, what it is fed with, and the shapes of its balances.
ACCEPTED = {
    "places in time, flattened": (
        lambda: [nn.Linear(5, 4), nn.ReLU(), nn.Flatten(), nn.Linear(12, 1)],
        random(6, 3, 5),
        {"0-3": (4,)},
    ),
    "linear, places in time, flattened": (
        lambda: [nn.Linear(5, 4), nn.Flatten(), nn.Linear(12, 1)],
        random(6, 3, 5),
        {"0-2": (4, 4)},
    ),
    "places in time, some of them flattened": (
        lambda: [nn.Linear(5, 4), nn.ReLU(), nn.Flatten(2), nn.Linear(8, 3)],
        random(6, 3, 2, 5),
        {"0-3": (4,)},
    ),
    "places in time": (
        lambda: [nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)],
        random(6, 3, 5),
        {"0-2": (4,)},
    ),
    "an image, flattened without need": (
        lambda: [nn.Flatten(), nn.Linear(8, 6), nn.Flatten(), nn.ReLU(), nn.Linear(6, 2)],
        random(6, 2, 2, 2),
        {"1-4": (6,)},
    ),
    "a batch with a slope for every neuron": (
        lambda: [nn.Linear(4, 6), nn.PReLU(6), nn.Linear(6, 2, bias=False)],
        random(6, 4),
        {"0-2": (6,)},
    ),
    "places in time with a slope for every place": (
        lambda: [nn.Linear(4, 6), nn.PReLU(3), nn.Linear(6, 2)],
        random(6, 3, 4),
        {"0-2": (6,)},
    ),
    "two activations with a slope in common": (shared_slope, random(6, 4), {"0-2": (6,), "2-4": (5,)}),
    "dropout": (lambda: [nn.Linear(4, 6), nn.Dropout(0.4), nn.Linear(6, 2)], random(6, 4), {"0-2": (6,)}),
    "frozen bias of zero": (frozen_zero_bias, random(6, 4), {"0-2": (6,)}),
    "frozen bias above": (lambda: frozen(2, "bias"), random(6, 4), {"0-2": (6,)}),
    "nested": (
        lambda: [nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Sequential(nn.Sequential(nn.Linear(6, 2)))],
        random(6, 4),
        {"0.0-1.0.0": (6,)},
    ),
    "convolution, readout": (
        lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 2)],
        random(5, 2, 6, 6),
        {"0-4": (4,)},
    ),
    "convolution, readout of one image": (
        lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(0), nn.Linear(16, 2)],
        random(2, 4, 4),
        {"0-3": (4,)},
    ),
    "axes of an image counted from its last": (
        lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(-3, -1), nn.Linear(16, 2)],
        random(5, 2, 4, 4),
        {"0-3": (4,)},
    ),
    "convolution, average over the image": (
        lambda: [nn.Conv2d(2, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)],
        random(5, 2, 6, 6),
        {"0-3": (4, 4)},
    ),
    "linear convolutions, largest of each window": (
        lambda: [nn.Conv2d(2, 4, 3), nn.MaxPool2d(2), nn.Conv2d(4, 2, 2)],
        random(5, 2, 6, 6),
        {"0-2": (4,)},
    ),
    "rows of every channel as channels": (
        lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(1, 2), nn.Conv1d(16, 3, 2)],
        random(5, 2, 6, 6),
        {"0-3": (4,)},
    ),
    "convolution along the rows, one after the other": (
        lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(2), nn.MaxPool1d(2), nn.Conv1d(4, 3, 2)],
        random(5, 2, 6, 6),
        {"0-4": (4,)},
    ),
    "convolution, flattened twice": (
        lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(2), nn.Flatten(1), nn.Linear(16, 2)],
        random(5, 2, 4, 4),
        {"0-4": (4,)},
    ),
    "groups and borders": (
        lambda: [
            *(nn.Conv1d(2, 6, 3, groups=2, padding=1, padding_mode="reflect"), nn.LeakyReLU(0.3)),
            *(nn.Conv1d(6, 3, 3, groups=3, padding=2, dilation=2), nn.AvgPool1d(2)),
            *(nn.Flatten(), nn.Linear(9, 2)),
        ],
        random(5, 2, 6),
        {"0-2": (6,), "2-5": (3,)},
    ),
    "neurons on the width of an image": (
        lambda: [
            nn.Conv2d(2, 3, 3),
            nn.Sigmoid(),
            nn.Linear(4, 5),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(60, 2),
        ],
        random(5, 2, 6, 6),
        {"2-5": (5,)},
    ),
}


def layer_rates(network):
    """Rates that differ from layer to layer, by the names of the layers."""
    names = [name for name, module in network.named_modules() if hasattr(module, "weight")]
    return {name: 1.0 + 0.4 * place for place, name in enumerate(names)}


def drift(build, inputs, quantity, count, rates=None):
    """sup |quantity(t) − quantity(0)| of a network that is trained for a fixed time in ``count`` steps."""
    torch.manual_seed(3)
    network = nn.Sequential(*build()).double()
    optimizer = torch.optim.SGD(
        [
            {"params": [parameter], "lr": (rates or {}).get(name.rpartition(".")[0], 1.0) * TIME / count}
            for name, parameter in network.named_parameters()
        ]
    )
    recorder = DriftRecorder(network, quantity)
    with recorder.attach(optimizer, every=count // 4):
        for _ in range(count):
            # The masks of dropout are drawn, but the same ones in every step: the loss is a function of the weights.
            torch.manual_seed(4)
            optimizer.zero_grad()
            outputs = network(inputs)
            ((outputs - torch.linspace(-1, 1, outputs.numel()).reshape(outputs.shape)) ** 2).mean().backward()
            optimizer.step()
    return recorder.drift()


@pytest.mark.parametrize("kind", ACCEPTED)
def test_every_balance_drifts_in_proportion_to_the_step(kind):
    build, inputs, shapes = ACCEPTED[kind]
    rates = layer_rates(nn.Sequential(*build()))
    drifts = [drift(build, inputs, lambda net: balances(net, rates), count, rates) for count in COUNTS]
    assert {name: value.shape for name, value in drifts[0].items()} == shapes
    for name in shapes:
        assert has_order(
            *fit_order([TIME / count for count in COUNTS], [found[name].max() for found in drifts])
        )


def tied():
    layers = [nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)]
    layers[2].weight = layers[0].weight
    return layers


def tied_by_their_data():
    layers = [nn.Linear(4, 4, dtype=torch.float64), nn.ReLU(), nn.Linear(4, 4, dtype=torch.float64)]
    layers[2].weight.data = layers[0].weight.data
    return layers


def tied_biases():
    layers = [nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)]
    layers[2].bias = layers[0].bias
    return layers


def tied_with_a_module_that_is_not_known():
    layers = [nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4), nn.Tanh(), nn.Bilinear(6, 4, 4)]
    layers[4].bias = layers[2].bias
    return layers


def used_twice():
    shared = nn.Linear(4, 4)
    return [shared, nn.ReLU(), shared]


def derived(of_weights):
    return lambda: [of_weights(nn.Linear(4, 6)), nn.ReLU(), nn.Linear(6, 2)]


AXIS, POOLED = "acts along another axis", "pools over its neurons"
OTHERWISE = "does not keep them"
# What is built, what it is fed with, why it is refused. Each runs, and its layers fit as if it had a balance.
CONSERVING_NOTHING = {
    "frozen bias": (lambda: frozen(0, "bias"), random(6, 4), "bias of layer 0 is frozen and not zero"),
    "frozen incoming weights": (lambda: frozen(0, "weight"), random(6, 4), "weights of layer 0 are frozen"),
    "frozen outgoing weights": (lambda: frozen(2, "weight"), random(6, 4), "weights of layer 2 are frozen"),
    "tied weights": (tied, random(6, 4), "0 and 2 share a weight"),
    "weights tied by their data": (tied_by_their_data, random(6, 4), "0 and 2 share a weight"),
    "tied biases": (tied_biases, random(6, 4), "0 and 2 share a bias"),
    "a layer used twice": (used_twice, random(6, 4), "0 and 2 share a weight"),
    "linear on the width of an image": (
        lambda: [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Linear(6, 2)],
        random(5, 3, 8, 8),
        AXIS,
    ),
    "linear on the places of an image": (
        lambda: [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(2), nn.Linear(36, 2)],
        random(5, 3, 8, 8),
        AXIS,
    ),
    "channels and rows flattened, linear on columns": (
        lambda: [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(1, 2), nn.Linear(6, 2)],
        random(5, 3, 8, 8),
        AXIS,
    ),
    "convolution over neurons": (
        lambda: [nn.Linear(4, 6), nn.ReLU(), nn.Conv1d(6, 2, 3)],
        random(5, 6, 4),
        AXIS,
    ),
    "convolution with the rows of one image as channels": (
        lambda: [nn.Conv2d(2, 6, 3), nn.ReLU(), nn.Conv1d(6, 2, 3)],
        random(2, 8, 8),
        AXIS,
    ),
    "largest of three neurons": (
        lambda: [nn.Linear(4, 6), nn.MaxPool1d(3, 1, 1), nn.Linear(6, 2)],
        random(5, 4),
        POOLED,
    ),
    "mean of three neurons": (
        lambda: [nn.Linear(4, 6), nn.AvgPool1d(3, 1, 1), nn.Linear(6, 2)],
        random(5, 4),
        POOLED,
    ),
    "mean of places and neurons": (
        lambda: [nn.Linear(4, 6), nn.AvgPool2d(3, 1, 1), nn.Linear(6, 2)],
        random(5, 3, 4),
        POOLED,
    ),
    "mean of flattened channels": (
        lambda: [nn.Conv1d(2, 4, 3), nn.Flatten(), nn.AvgPool1d(3, 1, 1), nn.Linear(16, 2)],
        random(5, 2, 6),
        POOLED,
    ),
    "mean of the channels of a batch read as one volume": (
        lambda: [nn.Conv1d(2, 6, 3), nn.ReLU(), nn.AvgPool2d(3, 1, 1), nn.Conv1d(6, 2, 3)],
        random(5, 2, 8),
        POOLED,
    ),
    "softmax": (lambda: [nn.Linear(4, 6), nn.Softmax(-1), nn.Linear(6, 2)], random(5, 4), OTHERWISE),
    "layer norm": (lambda: [nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 2)], random(5, 4), OTHERWISE),
    "convolution between": (
        lambda: [nn.Conv1d(2, 6, 3), nn.ConvTranspose1d(6, 6, 3), nn.Conv1d(6, 2, 3)],
        random(5, 2, 8),
        OTHERWISE,
    ),
    "not a plain sequence": (
        lambda: [nn.Linear(4, 6), Shifted(nn.ReLU()), nn.Linear(6, 2)],
        random(5, 4),
        OTHERWISE,
    ),
}


def as_if(network):
    """‖outgoing‖² − ‖incoming‖² of the first and last layer as if neurons and channels were the slowest index."""
    layers = [module for module in network.modules() if hasattr(module, "bias") and hasattr(module, "weight")]
    below, above = layers[0], network[-1]
    outgoing = above.weight.unflatten(1, (len(below.weight), -1)).transpose(0, 1).flatten(1)
    return (outgoing**2).sum(1) - (below.weight.flatten(1) ** 2).sum(1) - below.bias**2


@pytest.mark.parametrize("kind", CONSERVING_NOTHING)
def test_what_is_refused_has_no_balance_of_this_kind(kind):
    build, inputs, message = CONSERVING_NOTHING[kind]
    with pytest.raises(ValueError, match=message):
        balances(nn.Sequential(*build()).double())
    coarse, fine = (drift(build, inputs, as_if, count).max() for count in (COUNTS[0], COUNTS[-1]))
    assert fine > 0.9 * coarse > 1e-5


def test_a_frozen_bias_leaves_no_balance_whether_it_is_counted_or_not():
    def without_bias(network):
        return as_if(network) + network[0].bias ** 2

    drifts = [
        drift(lambda: frozen(0, "bias"), random(6, 4), quantity, count).max()
        for quantity in (as_if, without_bias)
        for count in (COUNTS[0], COUNTS[-1])
    ]
    np.testing.assert_allclose(drifts, drifts[0], rtol=0.01)


def pruned_bias(layer):
    return prune.random_unstructured(layer, "bias", 0.5)


@pytest.mark.parametrize(
    ("of_weights", "part"),
    [
        (parametrizations.weight_norm, "weight"),
        (parametrizations.spectral_norm, "weight"),
        (parametrizations.orthogonal, "weight"),
        (nn.utils.spectral_norm, "weight"),
        (pruned_bias, "bias"),
    ],
)
def test_weights_that_are_computed_from_other_parameters_are_refused(of_weights, part):
    network = nn.Sequential(*derived(of_weights)())
    with pytest.raises(ValueError, match=f"layer 0 computes its {part} from other parameters"):
        balances(network)


def test_parameters_shared_with_a_module_that_is_not_known_are_refused():
    with pytest.raises(ValueError, match="2 and 4 share a bias"):
        balances(tied_with_a_module_that_is_not_known())


@pytest.mark.parametrize("network", [Shifted(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), nn.ModuleDict()])
def test_a_network_that_is_no_plain_sequence_is_refused(network):
    with pytest.raises(ValueError, match="order of the layers"):
        balances(network)


def test_a_class_that_is_only_called_like_one_of_torch_is_not_taken_for_it():
    class ReLU(nn.Softplus):
        pass

    class Linear(nn.Linear):
        pass

    with pytest.raises(ValueError, match=r"behind layer 0, ReLU \(1\) does not keep them"):
        balances([nn.Linear(4, 6), ReLU(), nn.Linear(6, 2)])
    with pytest.raises(ValueError, match=r"behind layer 0, Linear \(2\) does not keep them"):
        balances([nn.Linear(4, 6), nn.ReLU(), Linear(6, 2)])


def test_a_list_is_a_sequence_and_a_module_list_is_asked_for_its_network():
    layers = [nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)]
    with pytest.raises(ValueError, match=r"order of the layers of a ModuleList.*inputs=X"):
        balances(nn.ModuleList(layers))
    for network in (layers, tuple(layers)):
        assert torch.equal(balances(network)["0-2"], balances(nn.Sequential(*layers))["0-2"])


def test_a_linear_layer_takes_several_places_of_each_neuron_only_behind_flatten():
    with pytest.raises(ValueError, match="layer 2 takes 12 channels, but layer 0 gives 6"):
        balances([nn.Linear(4, 6), nn.ReLU(), nn.Linear(12, 3)])
    with pytest.raises(ValueError, match="layer 3 takes 10 channels, but layer 0 gives 6"):
        balances([nn.Conv1d(4, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(10, 3)])


def test_every_reason_is_given_where_nothing_is_conserved():
    layers = [nn.Conv1d(2, 4, 3), nn.Linear(4, 4), nn.Tanh(), nn.Softmax(-1), nn.Linear(4, 4)]
    with pytest.raises(ValueError, match=r"layer 1 acts along another axis.*; behind layer 1, Tanh \(2\)"):
        balances(layers)


def test_layers_whose_size_is_not_known_yet_are_left_out():
    assert set(balances([nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3), nn.ReLU(), nn.LazyLinear(2)])) == {
        "0-2"
    }
