"""Low-rank weights, the low-rank layer and starts on the edge of chaos: their laws, and what they refuse."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from derivations.signal_propagation import chi, fixed_point
from numerics.networks.low_rank import LowRankLinear
from numerics.starts import edge_of_chaos_, low_rank_gaussian_, low_rank_orthogonal_

BOTH = (low_rank_gaussian_, low_rank_orthogonal_)
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def empty(*shape, dtype=torch.float64):
    return torch.empty(*shape, dtype=dtype)


@pytest.mark.parametrize("fill", BOTH)
@pytest.mark.parametrize(("shape", "rank"), [((8, 6), 1), ((8, 6), 5), ((6, 8), 6), ((1, 3), 1), ((7, 7), 7)])
def test_weights_have_their_rank(fill, shape, rank):
    W = fill(empty(*shape), rank, generator=seeded())
    assert torch.linalg.matrix_rank(W) == rank


def test_columns_beyond_the_inputs_give_the_rank_of_the_inputs():
    W = low_rank_gaussian_(empty(9, 4), 7, generator=seeded())
    assert torch.linalg.matrix_rank(W) == 4
    with pytest.raises(ValueError, match="at most the number of inputs"):
        low_rank_orthogonal_(empty(9, 4), 7)


def test_gaussian_coefficients_have_their_variance_and_the_rows_theirs():
    """Of W = CA: |W|² has the mean rσ² and the variance 2rσ⁴/N_in; that of a row the mean γσ², whatever the row."""
    N, M, r, variance, draws = 40, 30, 10, 3.0, 400
    generator = seeded()
    W = torch.stack(
        [low_rank_gaussian_(empty(N, M), r, sigma_alpha2=variance, generator=generator) for _ in range(draws)]
    )
    squares = (W**2).sum((1, 2))
    spread = variance * math.sqrt(2 * r / M)
    assert abs(squares.mean() - r * variance) < 4 * spread / math.sqrt(draws)
    assert abs(squares.std() / spread - 1) < 4 / math.sqrt(2 * draws)
    rows = (W**2).sum(2)
    assert ((rows.mean(0) - variance * r / N).abs() < 4.5 * rows.std(0) / math.sqrt(draws)).all()
    assert abs(W.mean()) < 4 * W.std() / math.sqrt(W.numel())


def test_orthogonal_weights_have_one_singular_value():
    W = low_rank_orthogonal_(empty(9, 7), 3, sigma_alpha2=4.0, generator=seeded())
    values = torch.linalg.svdvals(W)
    torch.testing.assert_close(values, torch.tensor([2.0] * 3 + [0.0] * 4, dtype=W.dtype), atol=1e-14, rtol=0)
    first = low_rank_orthogonal_(empty(9, 7), 3, sigma_alpha2=4.0, first_inputs=True, generator=seeded())
    assert (first[:, 3:] == 0).all()
    torch.testing.assert_close(first.mT @ first, torch.diag(torch.tensor([4.0] * 3 + [0.0] * 4).double()))


def test_the_basis_has_the_uniform_law():
    """E C_jk⁴ = 3/(N(N + 2)) and E C_jk = 0: a basis by QR without the signs of R would have one sign in its corner."""
    layers = [LowRankLinear(2, 5, 3, dtype=torch.float64) for _ in range(4000)]
    C = torch.stack([layer.basis for layer in layers])
    assert abs(C.mean(0)).max() < 4.5 * math.sqrt(1 / 5 / 4000)
    fourth = (C**4).mean((1, 2))
    assert abs(fourth.mean() - 3 / 35) < 4 * fourth.std() / math.sqrt(4000)


@pytest.mark.parametrize("fill", BOTH)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_generator_decides_and_the_global_state_stays(fill, dtype):
    before = torch.get_rng_state()
    first, second = (fill(empty(6, 5, dtype=dtype), 2, generator=seeded(3)) for _ in range(2))
    assert torch.equal(first, second) and first.dtype == dtype and first.isfinite().all()
    assert not torch.equal(first, fill(empty(6, 5, dtype=dtype), 2, generator=seeded(4)))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("fill", BOTH)
def test_short_floats_are_drawn_in_float32_and_rounded(fill):
    plain = fill(empty(6, 5, dtype=torch.float32), 2, generator=seeded())
    short = fill(empty(6, 5, dtype=torch.bfloat16), 2, generator=seeded())
    assert torch.equal(short, plain.bfloat16())


@pytest.mark.parametrize("fill", BOTH)
def test_it_is_done_in_place_and_not_recorded(fill):
    weight = nn.Parameter(empty(6, 5).mT.contiguous().mT)
    assert fill(weight, gamma=0.5) is weight
    assert weight.requires_grad and weight.grad_fn is None and weight.is_leaf
    untouched = torch.zeros(8, 7)
    fill(untouched[1:7, 1:6], 2)
    assert (untouched[0] == 0).all() and (untouched[:, 0] == 0).all()
    meta = torch.empty(4, 4, device="meta")
    assert fill(meta, 2) is meta


WRONG = [
    ({}, ValueError, "either the rank or"),
    ({"rank": 2, "gamma": 0.5}, ValueError, "either the rank or"),
    ({"rank": 0}, ValueError, "rank = 0"),
    ({"rank": -1}, ValueError, "rank = -1"),
    ({"rank": 7}, ValueError, "rank = 7"),
    ({"rank": 2.0}, TypeError, "whole number"),
    ({"rank": True}, TypeError, "whole number"),
    ({"rank": "2"}, TypeError, "whole number"),
    ({"gamma": 0.0}, ValueError, "gamma = 0.0"),
    ({"gamma": -0.5}, ValueError, "gamma = -0.5"),
    ({"gamma": 1.5}, ValueError, "gamma = 1.5"),
    ({"gamma": math.nan}, ValueError, "gamma = nan"),
    ({"gamma": "a quarter"}, TypeError, "gamma is a number"),
    ({"gamma": True}, TypeError, "gamma is a number"),
    ({"gamma": 0.01}, ValueError, "less than half a column"),
    ({"rank": 2, "sigma_alpha2": -1.0}, ValueError, "sigma_alpha2 = -1"),
    ({"rank": 2, "sigma_alpha2": math.inf}, ValueError, "sigma_alpha2 = inf"),
    ({"rank": 2, "sigma_alpha2": math.nan}, ValueError, "sigma_alpha2 = nan"),
    ({"rank": 2, "sigma_alpha2": None}, TypeError, "sigma_alpha2 is a variance"),
    ({"rank": 2, "generator": np.random.default_rng(0)}, TypeError, r"torch\.Generator"),
]


@pytest.mark.parametrize("fill", BOTH)
@pytest.mark.parametrize(("given", "error", "words"), WRONG)
def test_values_out_of_range_are_named_and_nothing_changes(fill, given, error, words):
    weight = torch.ones(6, 5)
    before = torch.get_rng_state()
    with pytest.raises(error, match=words):
        fill(weight, **given)
    assert (weight == 1).all() and torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("fill", BOTH)
@pytest.mark.parametrize(
    ("weight", "error"),
    [
        (torch.ones(4), ValueError),
        (torch.ones(4, 4, 3, 3), ValueError),
        (torch.ones(0, 4), ValueError),
        (torch.ones(4, 4, dtype=torch.int64), TypeError),
        (torch.ones(4, 4, dtype=torch.complex64), TypeError),
        (np.ones((4, 4)), TypeError),
    ],
)
def test_what_is_no_real_matrix_is_refused(fill, weight, error):
    with pytest.raises(error):
        fill(weight, 1)


@pytest.mark.parametrize("bias", [True, False])
def test_the_layer_is_its_weight_and_trains_coefficients_alone(bias):
    layer = LowRankLinear(6, 8, 3, bias=bias, dtype=torch.float64)
    layer.reset_parameters(2.0, 0.5 if bias else 0.0, generator=seeded())
    x = torch.randn(2, 5, 6, dtype=torch.float64, generator=seeded())
    wanted = x @ layer.weight.mT + (layer.basis @ layer.bias if bias else 0)
    torch.testing.assert_close(layer(x), wanted)
    assert [name for name, _ in layer.named_parameters()] == ["coefficients"] + ["bias"] * bias
    assert [name for name, _ in layer.named_buffers()] == ["basis"]
    basis = layer.basis.clone()
    optimiser = torch.optim.SGD(layer.parameters(), 0.1)
    layer(x).square().sum().backward()
    optimiser.step()
    assert torch.equal(layer.basis, basis)
    torch.testing.assert_close(basis.mT @ basis, torch.eye(3, dtype=torch.float64))
    assert torch.linalg.matrix_rank(layer.weight) == 3


def test_the_state_of_a_layer_goes_round():
    first, second = (LowRankLinear(6, 8, gamma=0.5) for _ in range(2))
    second.load_state_dict(first.state_dict())
    x = torch.ones(3, 6)
    assert set(first.state_dict()) == {"basis", "coefficients", "bias"}
    assert torch.equal(first(x), second(x))
    with pytest.raises(RuntimeError, match="size mismatch"):
        LowRankLinear(6, 8, 3).load_state_dict(first.state_dict())
    assert torch.equal(copy.deepcopy(first)(x), first(x))


def test_the_layer_moves_as_others_do():
    meta = LowRankLinear(6, 8, 4, device="meta")
    assert meta.basis.is_meta and meta(torch.ones(2, 6, device="meta")).shape == (2, 8)
    layer = meta.to_empty(device="cpu")
    layer.reset_parameters()
    torch.testing.assert_close(layer.basis.mT @ layer.basis, torch.eye(4))
    half = LowRankLinear(6, 8, 4, dtype=torch.bfloat16)
    assert half(torch.ones(2, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert layer.double().basis.dtype == torch.float64
    assert repr(layer) == "LowRankLinear(in_features=6, out_features=8, rank=4, bias=True)"


def test_a_shared_bias_is_one_number():
    layer = LowRankLinear(6, 8, 4)
    layer.reset_parameters(1.0, 1.0, shared_bias=True)
    assert layer.bias.unique().numel() == 1
    layer.reset_parameters(1.0, 1.0)
    assert layer.bias.unique().numel() == 4


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ((6, 8), ValueError),
        ((6, 8, 0), ValueError),
        ((6, 8, 9), ValueError),
        ((0, 8, 1), ValueError),
        ((6.0, 8, 1), TypeError),
        ((6, True, 1), TypeError),
    ],
)
def test_a_layer_of_wrong_sizes_is_refused(given, error):
    with pytest.raises(error):
        LowRankLinear(*given)
    with pytest.raises(TypeError):
        LowRankLinear(6, 8, 2, dtype=torch.complex64)
    with pytest.raises(ValueError, match="no bias"):
        LowRankLinear(6, 8, 2, bias=False).reset_parameters(1.0, 0.1)


def chain(depth=3, width=60, act=nn.Tanh, gamma=0.25):
    layers = [LowRankLinear(width, width, gamma=gamma, dtype=torch.float64) for _ in range(depth)]
    return nn.Sequential(*[part for layer in layers for part in (layer, act())])


@pytest.mark.parametrize("phi", ["tanh", torch.tanh])
def test_layers_are_put_on_the_edge_with_their_own_rank(phi):
    net = chain()
    found = edge_of_chaos_(net, phi, q_star=0.5, generator=seeded())
    assert list(found) == ["0", "2", "4"]
    for layer in found.values():
        assert (layer.rank, layer.gamma) == (15, 0.25)
        assert abs(chi(layer.sigma_alpha2, layer.sigma_b2, layer.gamma, "tanh") - 1) < 1e-11
        assert abs(fixed_point(layer.sigma_alpha2, layer.sigma_b2, layer.gamma, "tanh") - 0.5) < 1e-11
    variance = torch.stack([net[k].coefficients for k in (0, 2, 4)]).square().mean() * 60
    assert abs(variance / found["0"].sigma_alpha2 - 1) < 4 * math.sqrt(2 / (3 * 15 * 60))


def detached(net):
    return {name: value.detach() for name, value in net.named_parameters()}


def test_a_wide_network_on_the_edge_has_lengths_and_gradients_that_stay():
    """In 40 layers |Jᵀv|² stays at |v|² for a random v, to a factor of four; variances a quarter off change it by more.

    Its relative standard deviation is about √(2m_2/N) = 0.75.
    """
    N, depth = 600, 40
    found = []
    for factor in (0.8, 1.0, 1.25):
        net = chain(depth, N)
        edge_of_chaos_(net, "tanh", q_star=0.5, generator=seeded())
        with torch.no_grad():
            for layer in net[::2]:
                layer.coefficients *= math.sqrt(factor)
        x = torch.randn(1, N, dtype=torch.float64, generator=seeded(1))
        start = torch.tanh(math.sqrt(0.5) * x)
        _, pull = torch.func.vjp(
            lambda z, net=net: torch.func.functional_call(net, detached(net), (z,)), start
        )
        v = torch.randn(1, N, dtype=torch.float64, generator=seeded(2))
        found.append((pull(v)[0].square().sum() / v.square().sum()).item())
    assert found[0] < 0.1 and 0.25 < found[1] < 4 and found[2] > 10


@pytest.mark.parametrize("ensemble", ["gaussian", "orthogonal"])
@pytest.mark.parametrize("gamma", [None, 0.25])
@pytest.mark.parametrize("shared_bias", [False, True])
def test_linear_layers_are_filled_with_the_variances_that_are_told(ensemble, gamma, shared_bias):
    net = nn.Sequential(nn.Linear(80, 80), nn.Tanh(), nn.Linear(80, 80)).double()
    found = edge_of_chaos_(
        net, "tanh", q_star=0.5, gamma=gamma, ensemble=ensemble, shared_bias=shared_bias, generator=seeded()
    )
    for name in ("0", "2"):
        layer, plan = net.get_submodule(name), found[name]
        assert plan.rank == (80 if gamma is None else 20)
        assert torch.linalg.matrix_rank(layer.weight) == plan.rank
        size = layer.weight.square().sum() / (plan.rank * plan.sigma_alpha2)
        assert abs(size - 1) < (1e-12 if ensemble == "orthogonal" else 5 * math.sqrt(2 / (80 * plan.rank)))
        joined = torch.cat([layer.weight, layer.bias[:, None]], 1)
        assert torch.linalg.matrix_rank(joined) == plan.rank
        if not shared_bias:
            spread = layer.bias.square().sum() / (plan.rank * plan.sigma_b2)
            assert abs(spread - 1) < 5 * math.sqrt(2 / plan.rank)


def test_a_generator_decides_the_whole_network():
    before = torch.get_rng_state()
    nets = [copy.deepcopy(chain()) for _ in range(2)]
    before = torch.get_rng_state()
    for net in nets:
        edge_of_chaos_(net, "tanh", q_star=0.5, generator=seeded(5))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(*(n.state_dict().values() for n in nets), strict=True))


def test_skipped_layers_stay_and_a_single_layer_is_a_network():
    net = chain()
    kept = net[4].coefficients.clone()
    assert list(edge_of_chaos_(net, "tanh", skip=["4"])) == ["0", "2"]
    assert torch.equal(net[4].coefficients, kept)
    assert list(edge_of_chaos_(nn.Linear(5, 5), "relu")) == [""]
    assert list(edge_of_chaos_(nn.Sequential(nn.Linear(5, 5), nn.Dropout(0.0)), "relu")) == ["0"]


def frozen():
    net = chain()
    net[2].coefficients.requires_grad_(False)
    return net


def tied():
    net = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5))
    net[2].weight = net[0].weight
    return net


def in_one_memory():
    net = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5))
    net[2].weight.data = net[0].weight.data
    return net


def twice():
    layer = nn.Linear(5, 5)
    return nn.Sequential(layer, nn.Tanh(), layer)


def of_my_own():
    net = chain()
    net.scale = nn.Parameter(torch.ones(1))
    return net


def pruned():
    net = nn.Sequential(nn.Linear(5, 5))
    prune.random_unstructured(net[0], "weight", 0.5)
    return net


class Mine(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


REFUSED = {
    "convolution": lambda: nn.Sequential(nn.Conv1d(3, 3, 1), nn.Tanh(), nn.Linear(5, 5)),
    "recurrent": lambda: nn.Sequential(nn.RNN(5, 5)),
    "attention": lambda: nn.TransformerEncoderLayer(4, 2),
    "embedding": lambda: nn.Sequential(nn.Embedding(5, 5), nn.Linear(5, 5)),
    "norm": lambda: nn.Sequential(nn.Linear(5, 5), nn.LayerNorm(5)),
    "norm without parameters": lambda: nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5, affine=False)),
    "dropout": lambda: nn.Sequential(nn.Linear(5, 5), nn.Dropout(0.1)),
    "bilinear": lambda: nn.Sequential(nn.Bilinear(5, 5, 5)),
    "no layer": lambda: nn.Sequential(nn.Tanh()),
    "my parameter": of_my_own,
    "my linear layer": lambda: nn.Sequential(Mine(5, 5)),
    "frozen": frozen,
    "tied": tied,
    "one memory": in_one_memory,
    "twice": twice,
    "pruned": pruned,
    "parametrised": lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(5, 5))),
    "lazy": lambda: nn.Sequential(nn.LazyLinear(5)),
    "meta": lambda: nn.Sequential(nn.Linear(5, 5, device="meta")),
    "another activation": lambda: nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 5)),
    "no bias": lambda: nn.Sequential(nn.Linear(5, 5, bias=False)),
    "few inputs": lambda: nn.Sequential(nn.Linear(3, 5)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_chain_of_linear_layers_is_refused_and_nothing_changes(name):
    net = REFUSED[name]()
    held = [*net.named_parameters(), *net.named_buffers()]
    before = {key: p.detach().clone() for key, p in held if not nn.parameter.is_lazy(p) and not p.is_meta}
    kind = {"ensemble": "orthogonal"} if name == "few inputs" else {}
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        edge_of_chaos_(net, "tanh", q_star=0.5, **kind)
    after = dict([*net.named_parameters(), *net.named_buffers()])
    assert all(torch.equal(after[key], value) for key, value in before.items())


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"q_star": 0.5, "sigma_b2": 0.1}, ValueError, "either"),
        ({"q_star": -1.0}, ValueError, "q_star"),
        ({"sigma_b2": -0.1}, ValueError, "sigma_b2"),
        ({"gamma": 0.0}, ValueError, "gamma"),
        ({"gamma": 2}, ValueError, "gamma"),
        ({"ensemble": "uniform"}, ValueError, "ensemble"),
        ({"skip": "0"}, TypeError, "collection"),
        ({"skip": ["body"]}, ValueError, "no module 'body'"),
        ({"generator": 3}, TypeError, "Generator"),
    ],
)
def test_wrong_settings_are_named(given, error, words):
    with pytest.raises(error, match=words):
        edge_of_chaos_(chain(), "tanh", **given)


def test_other_refusals():
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        edge_of_chaos_([nn.Linear(3, 3)], "tanh")
    with pytest.raises(TypeError, match="complex"):
        edge_of_chaos_(nn.Linear(3, 3, dtype=torch.complex64), "tanh")
    with pytest.raises(ValueError, match="jumps"):
        edge_of_chaos_(nn.Linear(3, 3), _step(), q_star=0.5)
    mixed = nn.Sequential(LowRankLinear(8, 8, 2), nn.Tanh(), LowRankLinear(8, 8, 4))
    with pytest.raises(ValueError, match="give q_star instead"):
        edge_of_chaos_(mixed, "tanh", sigma_b2=0.1)
    assert len(edge_of_chaos_(mixed, "tanh", q_star=0.5)) == 2


def _step():
    from derivations.signal_propagation import Activation

    return Activation("sign", np.sign, lambda x: 0 * x, kinks=(0.0,), parity=-1, kind="jumping")
