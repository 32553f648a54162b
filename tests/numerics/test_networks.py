"""The single-neuron network, its flow, its training, its kernel and its conserved quantity."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from numerics.measures.conserved import DriftRecorder, single_neuron_delta
from numerics.measures.kernels import kernel_distance, ntk, single_neuron_ntk, two_layer_linear_ntk
from numerics.networks.linear import WideLinear
from numerics.networks.single_neuron import SingleNeuron
from numerics.starts.balanced import single_neuron_start
from numerics.training.flows import (
    gradient_descent,
    gradient_flow,
    sum_of_squares,
    train_single_neuron,
    wide_gradient_flow,
)


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def test_network_is_a_times_w_dot_x(generator):
    X = generator.standard_normal((4, 3))
    network = SingleNeuron(-2.0, [1.0, 0.5, 3.0])
    outputs = network(torch.as_tensor(X)).detach().numpy()
    np.testing.assert_allclose(outputs, -2.0 * X @ [1.0, 0.5, 3.0], rtol=1e-15)
    np.testing.assert_allclose(network.beta.detach(), [-2.0, -1.0, -6.0])


def test_a_stack_of_networks_gives_each_its_own_output(generator):
    X, a, w = (
        generator.standard_normal((4, 3)),
        generator.standard_normal(5),
        generator.standard_normal((5, 3)),
    )
    outputs = SingleNeuron(a, w)(torch.as_tensor(X)).detach().numpy()
    assert outputs.shape == (5, 4)
    np.testing.assert_allclose(outputs, a[:, None] * (w @ X.T), rtol=1e-14)


def test_network_keeps_the_dtype_and_does_not_share_its_start():
    start = torch.ones((), dtype=torch.float32), torch.ones(2, dtype=torch.float32)
    network = SingleNeuron(*start)
    with torch.no_grad():
        network.w += 1
    assert network.a.dtype == torch.float32
    assert start[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("a0", "w0"), [([1.0, 2.0], [1.0, 2.0]), (1.0, [[1.0, 2.0]]), (1.0, 2.0)])
def test_shapes_that_do_not_fit_are_refused(a0, w0):
    with pytest.raises(ValueError, match="one axis more than a0"):
        SingleNeuron(a0, w0)


def test_flow_is_minus_the_gradient_times_the_layerwise_rates(generator):
    """The first instant of the flow, against automatic differentiation of the summed loss."""
    X, y = generator.standard_normal((5, 3)), generator.standard_normal(5)
    network = SingleNeuron(0.7, generator.standard_normal(3))
    loss = 0.5 * ((network(torch.as_tensor(X)) - torch.as_tensor(y)) ** 2).sum()
    loss.backward()
    a0, w0 = network.a.item(), network.w.detach().numpy()
    h = 1e-6
    flow = gradient_flow(a0, w0, X, y, times=[0.0, h], eta_a=3.0, eta_w=0.25, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose((flow.a[1] - a0) / h, -3.0 * network.a.grad.item(), rtol=1e-4)
    np.testing.assert_allclose((flow.w[1] - w0) / h, -0.25 * network.w.grad.numpy(), rtol=1e-4)
    assert loss.item() == pytest.approx(float(sum_of_squares(a0 * w0, X, y)), rel=1e-14)


def test_one_step_of_descent_is_minus_step_times_rate_times_gradient(generator):
    X, y = generator.standard_normal((5, 3)), generator.standard_normal(5)
    a0, w0 = np.array([0.7, -0.3]), generator.standard_normal((2, 3))
    step, eta_a = np.array([0.01, 0.02]), np.array([2.0, 0.5])
    trained = train_single_neuron(a0, w0, X, y, step=step, steps=1, record=[0, 1], eta_a=eta_a, eta_w=0.1)
    gradient = a0[:, None] * (w0 @ X.T @ X) - X.T @ y
    expected_a = a0 - step * eta_a * (w0 * gradient).sum(-1)
    expected_w = w0 - (step * 0.1 * a0)[:, None] * gradient
    np.testing.assert_allclose(trained.a[:, 1], expected_a, rtol=1e-13)
    np.testing.assert_allclose(trained.w[:, 1], expected_w, rtol=1e-13)
    np.testing.assert_array_equal(trained.a[:, 0], a0)


def test_networks_trained_together_do_not_feel_each_other(generator):
    X, y = generator.standard_normal((5, 3)), generator.standard_normal(5)
    a0, w0 = generator.standard_normal(4), generator.standard_normal((4, 3))
    options = {"step": 0.01, "steps": 50, "record": [0, 25, 50]}
    together = train_single_neuron(a0, w0, X, y, **options)
    for place in range(4):
        alone = train_single_neuron(a0[place], w0[place], X, y, **options)
        np.testing.assert_allclose(together.a[place], alone.a, rtol=1e-12)
        np.testing.assert_allclose(together.w[place], alone.w, rtol=1e-12)
        np.testing.assert_allclose(together.t, [0.0, 0.25, 0.5])


def test_networks_integrated_together_agree_with_each_alone(generator):
    X, y = generator.standard_normal((5, 3)), generator.standard_normal(5)
    a0, w0 = generator.standard_normal(4), generator.standard_normal((4, 3))
    options = {"times": [0.5, 1.0, 4.0], "rtol": 1e-10, "atol": 1e-12}
    together = gradient_flow(a0, w0, X, y, **options)
    for place in range(4):
        alone = gradient_flow(a0[place], w0[place], X, y, **options)
        np.testing.assert_allclose(together.a[place], alone.a, atol=1e-8)
        np.testing.assert_allclose(together.w[place], alone.w, atol=1e-8)


def test_flow_stops_where_it_is_told():
    start = {"X": np.eye(2), "y": np.array([1.0, 0.0]), "horizon": 50.0}
    flow = gradient_flow(1.0, [0.0, 0.2], **start, stop=lambda a, w: w[0] - 0.3)
    assert flow.w[-1, 0] == pytest.approx(0.3, abs=1e-6)
    assert flow.t[-1] < 50.0
    assert gradient_flow(1.0, [0.5, 0.2], **start, stop=lambda a, w: w[0] - 0.3).t.tolist() == [0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w0": [1.0, 2.0, 3.0]}, "X must be"),
        ({"a0": [1.0, 2.0]}, "w0 must have shape"),
        ({"y": [1.0, 2.0, 3.0]}, "X must be"),
        ({"horizon": None}, "either times or horizon"),
        ({"times": [1.0]}, "either times or horizon"),
    ],
)
def test_flow_refuses_what_does_not_fit(change, message):
    arguments = {"a0": 1.0, "w0": [1.0, 2.0], "X": np.eye(2), "y": [1.0, 0.0], "horizon": 1.0} | change
    with pytest.raises(ValueError, match=message):
        gradient_flow(**arguments)


def test_descent_refuses_missing_rates_and_impossible_records():
    network = SingleNeuron(1.0, [1.0, 2.0])
    arguments = {"step": 0.1, "steps": 3, "observe": lambda net: {"a": net.a}}
    with pytest.raises(ValueError, match="rates must name the parameters"):
        gradient_descent(network, np.eye(2), np.ones(2), rates={"a": 1.0}, record=[0], **arguments)
    with pytest.raises(ValueError, match="between 0 and 3"):
        gradient_descent(network, np.eye(2), np.ones(2), rates={"a": 1, "w": 1}, record=[4], **arguments)


def test_closed_kernel_is_the_kernel_of_the_jacobian(generator):
    X = torch.as_tensor(generator.standard_normal((5, 3)))
    network = SingleNeuron(-0.7, generator.standard_normal(3))
    reference = ntk(network, X, {"a": 2.0, "w": 0.3})
    closed = single_neuron_ntk(network.a.detach(), network.w.detach(), X, 2.0, 0.3)
    torch.testing.assert_close(closed, reference, rtol=1e-12, atol=1e-14)


class TwoLayer(nn.Module):
    def __init__(self, a, W):
        super().__init__()
        self.a, self.W = nn.Parameter(torch.as_tensor(a)), nn.Parameter(torch.as_tensor(W))

    def forward(self, x):
        return x @ self.W.mT @ self.a


def test_closed_kernel_of_the_two_layer_network_is_the_kernel_of_the_jacobian(generator):
    X, a, W = (generator.standard_normal(shape) for shape in ((5, 3), (4,), (4, 3)))
    reference = ntk(TwoLayer(a, W), torch.as_tensor(X), {"a": 2.0, "W": 0.3})
    np.testing.assert_allclose(two_layer_linear_ntk(a, W, X, 2.0, 0.3), reference.detach(), rtol=1e-12)


def test_single_neuron_kernel_is_the_two_layer_kernel_of_width_one(generator):
    X, a, w = (
        generator.standard_normal((5, 3)),
        generator.standard_normal(6),
        generator.standard_normal((6, 3)),
    )
    rates = np.linspace(0.5, 2, 6), np.linspace(2, 0.3, 6)
    stack = two_layer_linear_ntk(a[:, None], w[:, None, :], X, *rates)
    np.testing.assert_allclose(single_neuron_ntk(a, w, X, *rates), stack, rtol=1e-13)


def test_kernel_refuses_networks_with_several_outputs():
    with pytest.raises(ValueError, match="one output per datum"):
        ntk(nn.Linear(3, 2, bias=False), torch.ones(4, 3), {"weight": 1.0})


def test_kernel_distance_by_hand():
    assert kernel_distance(np.diag([1.0, 0.0]), np.diag([0.0, 1.0])) == pytest.approx(1.0, abs=1e-15)
    assert kernel_distance(np.eye(2), np.diag([1.0, 0.0])) == pytest.approx(1 - np.sqrt(0.5), rel=1e-14)
    assert kernel_distance(np.eye(3), 1e9 * np.eye(3)) == 0.0


def test_kernel_distance_keeps_its_digits_and_its_sign_where_it_is_tiny():
    """1 − cos of 1e-7 is 5e-15: the difference from one has lost it, and may come out negative."""
    near = np.array([[1.0, 1e-7], [1e-7, 0.0]])
    exact = 1e-14
    assert kernel_distance(np.diag([1.0, 0.0]), near) == pytest.approx(exact, rel=1e-6)
    generator = np.random.default_rng(3)
    kernels = generator.standard_normal((200, 6, 9))
    kernels = kernels @ kernels.swapaxes(-1, -2)
    assert (kernel_distance(kernels, kernels * (1 + 1e-16)) >= 0).all()


def test_kernel_distance_is_float64_and_scale_invariant_for_tensors(generator):
    first, second = (
        torch.as_tensor(generator.standard_normal((3, 3)), dtype=torch.float32) for _ in range(2)
    )
    found = kernel_distance(first, second)
    assert found.dtype == np.float64
    np.testing.assert_allclose(kernel_distance(1e-30 * first, 1e30 * second), found, rtol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "message"), [(np.zeros((2, 2)), "zero"), ([[np.nan, 0], [0, 1]], "finite")]
)
def test_kernel_distance_refuses_what_has_no_direction(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel_distance(np.eye(2), kernel)


def test_start_has_the_predictor_and_the_balance_asked_for():
    beta0 = np.array([3e-7, -4e-7])
    for delta in (-1e6, -2.0, 0.0, 1e-9, 5.0, 1e6):
        for sign in (1, -1):
            a, w = single_neuron_start(beta0, delta, 2.0, 0.3, sign=sign)
            np.testing.assert_allclose(a * w, beta0, rtol=1e-14)
            assert np.sign(a) == sign
            scale = 0.3 * a * a + 2.0 * (w @ w)
            assert single_neuron_delta(a, w, 2.0, 0.3) == pytest.approx(delta, abs=1e-14 * scale)


def test_start_without_a_direction_is_refused():
    with pytest.raises(ValueError, match="must not be zero"):
        single_neuron_start([0.0, 0.0], 1.0)


def train(optimizer, network, steps):
    X, y = torch.eye(2, dtype=torch.float64), torch.tensor([0.5, 1.0], dtype=torch.float64)
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * ((network(X) - y) ** 2).sum()).backward()
        optimizer.step()


def recorded(lr, eta_a=1.0, eta_w=1.0):
    network = SingleNeuron(0.6, [1.0, -0.4])
    optimizer = torch.optim.SGD(
        [{"params": [network.a], "lr": lr * eta_a}, {"params": [network.w], "lr": lr * eta_w}]
    )
    recorder = DriftRecorder(network, lambda net: single_neuron_delta(net.a, net.w, eta_a, eta_w))
    with recorder.attach(optimizer, every=5):
        train(optimizer, network, 20)
    train(optimizer, network, 5)
    return recorder


def test_recorder_follows_an_optimizer_until_it_is_left():
    recorder = recorded(0.01)
    assert recorder.steps == [0, 5, 10, 15, 20]
    assert recorder.values[0] == pytest.approx(0.36 - 1.16, rel=1e-14)
    assert recorder.drift() == np.abs(recorder.values - recorder.values[0]).max()
    assert 0 < recorder.drift() < 0.01


def test_drift_sees_which_combination_is_conserved():
    """With unequal rates, the combination of equal ones drifts by orders of magnitude more."""
    right = recorded(1e-3, eta_a=2.0, eta_w=0.5).drift()
    network = SingleNeuron(0.6, [1.0, -0.4])
    optimizer = torch.optim.SGD([{"params": [network.a], "lr": 2e-3}, {"params": [network.w], "lr": 5e-4}])
    recorder = DriftRecorder(network, lambda net: single_neuron_delta(net.a, net.w))
    with recorder.attach(optimizer):
        train(optimizer, network, 20)
    assert recorder.drift() > 100 * right


def test_recorder_that_saw_nothing_says_so():
    recorder = DriftRecorder(SingleNeuron(1.0, [1.0]), lambda net: net.a)
    with pytest.raises(ValueError, match="nothing was recorded"):
        recorder.drift()


def test_the_flow_of_a_wide_network_is_minus_the_gradient_times_the_layerwise_rates(generator):
    A, W, X, Y = (generator.standard_normal(shape) for shape in ((4, 2), (4, 3), (5, 3), (5, 2)))
    network = WideLinear(A, W)
    loss = 0.5 * ((network(torch.as_tensor(X)) - torch.as_tensor(Y)) ** 2).sum()
    loss.backward()
    h = 1e-6
    found_A, found_W = wide_gradient_flow(
        A, W, X, Y, times=[0.0, h], eta_a=3.0, eta_w=0.25, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose((found_A[1] - A) / h, -3.0 * network.A.grad.numpy(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose((found_W[1] - W) / h, -0.25 * network.W.grad.numpy(), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match=r"A0 must be \(h, c\)"):
        wide_gradient_flow(A, W, X, Y[:, :1], times=[1.0])
