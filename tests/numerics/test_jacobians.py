"""Singular values, spectral moments and gradient norms of anyone's networks, against those of the formed Jacobian."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from derivations.signal_propagation import activation
from numerics.measures import gradient_norms, singular_values, spectral_moments
from numerics.networks.low_rank import LowRankLinear
from numerics.networks.random_layers import (
    Setting,
    correlated,
    correlation,
    gap,
    inputs,
    jacobians,
    layers,
    length,
)

ONES = torch.ones(6, dtype=torch.float64)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def network(outputs=5):
    torch.manual_seed(1)
    return (
        nn.Sequential(
            LowRankLinear(6, 8, 4),
            nn.Tanh(),
            nn.Dropout(0.5),
            nn.BatchNorm1d(8),
            nn.Linear(8, outputs),
            nn.GELU(),
        )
        .double()
        .eval()
    )


def formed(net, x):
    return torch.autograd.functional.jacobian(lambda z: net(z[None])[0], x).reshape(-1, x.numel())


@pytest.mark.parametrize("outputs", [1, 5, 9])
def test_singular_values_are_those_of_the_formed_jacobian(outputs):
    net = network(outputs)
    wanted = torch.linalg.svdvals(formed(net, ONES))
    np.testing.assert_allclose(singular_values(net, ONES), wanted, rtol=1e-12, atol=1e-15)


def test_the_largest_are_found_without_forming_it():
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(60, 80), nn.Tanh(), nn.Linear(80, 70)).double()
    x = torch.randn(60, dtype=torch.float64, generator=seeded())
    calls = []
    net.register_forward_hook(lambda *_: calls.append(0))
    wanted = torch.linalg.svdvals(formed(net, x))[:3]
    calls.clear()
    np.testing.assert_allclose(singular_values(net, x, 3), wanted, rtol=1e-9)
    assert len(calls) < 60
    np.testing.assert_allclose(singular_values(net.float(), x.float(), 3), wanted, rtol=1e-5)


def test_moments_are_estimated_with_their_errors():
    net = network(9)
    J = formed(net, ONES)
    m1, m2 = (float(torch.trace(torch.linalg.matrix_power(J @ J.mT, k)) / 9) for k in (1, 2))
    found = spectral_moments(net, ONES, probes=2000)
    assert abs(found.first - m1) < 4 * found.first_stderr < 0.3 * m1
    assert abs(found.second - m2) < 4 * found.second_stderr < 0.6 * m2
    assert found == spectral_moments(net, ONES, probes=2000)
    assert found != spectral_moments(net, ONES, probes=2000, generator=seeded(3))


def test_gradient_norms_are_those_of_backward():
    net = network()
    net[4].bias.requires_grad_(False)
    X, y = torch.randn(7, 6, dtype=torch.float64, generator=seeded()), torch.arange(7) % 5
    found = gradient_norms(net, F.cross_entropy, X, y)
    assert all(parameter.grad is None for parameter in net.parameters())
    F.cross_entropy(net(X), y).backward()
    wanted = {name: float(p.grad.square().sum()) for name, p in net.named_parameters() if p.grad is not None}
    assert found == pytest.approx(wanted, rel=1e-12) and "4.bias" not in found


def test_squares_that_float32_would_lose_are_kept():
    net = nn.Linear(2, 1, bias=False)
    found = gradient_norms(net, lambda out, y: out.sum() * y, torch.ones(1, 2), 1e-30)
    assert found["weight"] == pytest.approx(2e-60, rel=1e-5)


def test_a_network_is_left_as_it_was():
    net = network().train()
    net[2].p = 0.0
    net[3].eval()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    before = torch.get_rng_state()
    singular_values(net, ONES), spectral_moments(net, ONES)
    gradient_norms(net, F.cross_entropy, ONES[None], torch.tensor([0]))
    assert net.training and not net[3].training
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
    assert torch.equal(before, torch.get_rng_state())
    assert all(p.grad is None and p.requires_grad for p in net.parameters())


@pytest.mark.parametrize("measure", [singular_values, spectral_moments])
@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (np.ones(6), TypeError, "torch tensor"),
        (torch.ones(6, dtype=torch.int64), TypeError, "int64"),
        (torch.ones(6, dtype=torch.float16), TypeError, "float16"),
        (torch.ones(6, dtype=torch.complex128), TypeError, "complex"),
        (torch.ones(0, dtype=torch.float64), ValueError, "one input"),
        (torch.ones(6, dtype=torch.float64, device="meta"), ValueError, "one input"),
        (torch.full((6,), torch.nan, dtype=torch.float64), ValueError, "not finite"),
    ],
)
def test_inputs_that_are_none_are_refused(measure, x, error, words):
    with pytest.raises(error, match=words):
        measure(network(), x)


def test_other_refusals():
    with pytest.raises(ValueError, match="random"):
        singular_values(nn.Sequential(nn.Linear(6, 6).double(), nn.Dropout(0.5)), ONES)
    with pytest.raises(ValueError, match="not depend on x"):
        singular_values(lambda z: torch.ones(1, 2), ONES)
    with pytest.raises(ValueError, match="outputs of the network"):
        singular_values(lambda z: z / 0, ONES)
    for count, error in ((0, ValueError), (6, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="count"):
            singular_values(network(), ONES, count)
    for probes, error in ((1, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match="probes"):
            spectral_moments(network(), ONES, probes=probes)
    with pytest.raises(ValueError, match="one number"):
        gradient_norms(network(), lambda out, y: out, ONES[None], 0)
    with pytest.raises(ValueError, match="does not depend"):
        gradient_norms(network(), lambda out, y: torch.ones(()), ONES[None], 0)


# Random networks that are never held whole.


@pytest.mark.parametrize("ensemble", ["gaussian", "orthogonal"])
@pytest.mark.parametrize("phi", ["linear", "tanh"])
def test_the_factored_jacobian_is_that_of_the_network(ensemble, phi):
    setting, phi = Setting(12, 5, 1.7, 0.2, ensemble), activation(phi)
    h = inputs(12, 0.8, seeded(), (3,))[..., 0]
    *_, (last, jacobian) = jacobians(phi, h, layers(setting, 4, seeded(1), (3,)))
    drawn = list(layers(setting, 4, seeded(1), (3,)))
    for place in range(3):
        J, now = np.eye(12), h[place]
        for layer in drawn:
            W = layer.C[place] @ layer.A[place]
            now = W @ phi(now) + layer.C[place] @ layer.b[place, :, 0]
            J = phi.derivative(now)[:, None] * W @ J
        np.testing.assert_allclose(last[place], now, rtol=1e-12)
        values = np.linalg.svd(J, compute_uv=False)
        np.testing.assert_allclose(jacobian.singular_values()[place], values[:5], rtol=1e-9, atol=1e-12)
        for k, moment in enumerate(jacobian.moments(), 1):
            np.testing.assert_allclose(moment[place], (values ** (2 * k)).sum() / 12, rtol=1e-11)


def test_drawn_layers_have_their_laws():
    (layer,) = layers(Setting(30, 10, 2.0, 0.5), 1, seeded(), (500,))
    np.testing.assert_allclose(
        layer.C.swapaxes(-1, -2) @ layer.C, np.broadcast_to(np.eye(10), (500, 10, 10)), atol=1e-13
    )
    assert abs((layer.A**2).mean() * 30 / 2.0 - 1) < 4 * np.sqrt(2 / layer.A.size)
    assert abs((layer.b**2).mean() / 0.5 - 1) < 4 * np.sqrt(2 / layer.b.size)
    (shared,) = layers(Setting(30, 10, 2.0, 0.5, shared_bias=True), 1, seeded(), (500,))
    assert (shared.b == shared.b[:, :1]).all() and np.unique(shared.b).size == 500
    (ortho,) = layers(Setting(30, 10, 2.0, ensemble="orthogonal"), 1, seeded())
    np.testing.assert_allclose(ortho.A @ ortho.A.T, 2 * np.eye(10), atol=1e-13)


def test_pairs_of_inputs_have_their_length_and_correlation():
    h = inputs(40, 0.7, seeded(), (2,), count=2)
    np.testing.assert_allclose(length(h), 0.7, rtol=1e-13)
    for c in (-1.0, 0.0, 0.3, 1.0):
        pair = correlated(h, c)
        np.testing.assert_allclose(length(pair), 0.7, rtol=1e-13)
        np.testing.assert_allclose(correlation(pair), c, atol=1e-14)
    np.testing.assert_allclose(gap(correlated(h, 1 - 1e-9)), 1e-9, rtol=1e-6)
