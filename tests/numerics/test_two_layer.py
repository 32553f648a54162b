"""Two-layer and deep networks, their kernels, and the teacher–student task of the paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from numerics.measures import kernels
from numerics.measures.kernels import kernel_distance, ntk, two_layer_linear_ntk, two_layer_ntk
from numerics.networks.linear import DeepLinear, WideLinear
from numerics.networks.single_neuron import SingleNeuron
from numerics.networks.two_layer import TwoLayer, activation
from numerics.tasks.teacher_student import draw_task, held_out, outputs, relative_scale, students
from numerics.training.observers import Networks, standard_observers

SIZES = {"d": 6, "h": 8, "k": 3, "n": 20}


@pytest.fixture
def generator():
    return np.random.default_rng(11)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0, -1.0])
def test_the_activation_is_the_larger_of_z_and_gamma_z_with_slope_one_at_zero(gamma):
    z = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    value = activation(z, gamma)
    assert value.tolist() == torch.maximum(z, gamma * z).tolist()
    (slope,) = torch.autograd.grad(value.sum(), z)
    assert slope.tolist() == pytest.approx([gamma, 1.0, 1.0])


def test_a_stack_of_two_layer_networks_gives_each_its_own_output(generator):
    X, a, W = (generator.standard_normal(shape) for shape in ((5, 3), (2, 4, 7), (2, 4, 7, 3)))
    found = TwoLayer(a, W, 0.1)(torch.as_tensor(X)).detach().numpy()
    hidden = W @ X.T
    expected = (a[..., None] * np.maximum(hidden, 0.1 * hidden)).sum(-2)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_linear_networks_are_their_predictors(generator):
    X = generator.standard_normal((5, 3))
    A, W1, W2 = (generator.standard_normal(shape) for shape in ((2, 4, 6), (2, 4, 3), (2, 7, 4)))
    a = generator.standard_normal((2, 7))
    wide = WideLinear(A, W1)(torch.as_tensor(X)).detach().numpy()
    deep = DeepLinear(a, [W1, W2])(torch.as_tensor(X)).detach().numpy()
    np.testing.assert_allclose(wide, np.einsum("bhc,bhd,nd->bnc", A, W1, X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(deep, np.einsum("bg,bgh,bhd,nd->bn", a, W2, W1, X), rtol=1e-12, atol=1e-13)


def test_one_hidden_linear_neuron_is_the_single_neuron_network(generator):
    X, w = torch.as_tensor(generator.standard_normal((5, 3))), generator.standard_normal(3)
    reference = SingleNeuron(0.7, w)(X)
    torch.testing.assert_close(TwoLayer([0.7], [w], 1.0)(X), reference)
    torch.testing.assert_close(WideLinear([[0.7]], [w])(X)[:, 0], reference)
    torch.testing.assert_close(DeepLinear([0.7], [[w]])(X), reference)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TwoLayer([1.0], [[[1.0]]]), "one axis more than a0"),
        (lambda: TwoLayer(1.0, [1.0]), "one axis more than a0"),
        (lambda: TwoLayer([1.0], [[1.0]], 1.5), "gamma must be at most 1"),
        (lambda: WideLinear([[1.0, 2.0]], [[1.0], [2.0]]), "with the same h"),
        (lambda: DeepLinear([1.0], [[[1.0, 2.0]], [[1.0, 2.0]]]), "must take what the one below gives"),
        (lambda: DeepLinear([1.0], []), "must take what the one below gives"),
        (lambda: TwoLayer(torch.ones(1, dtype=torch.float32), [[1.0]]), "must share a dtype"),
    ],
)
def test_shapes_and_activations_that_do_not_fit_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_closed_kernel_is_that_of_the_jacobian(generator, gamma):
    X, a, W = (generator.standard_normal(shape) for shape in ((9, 3), (4,), (4, 3)))
    network = TwoLayer(a, W, gamma)
    reference = ntk(network, torch.as_tensor(X), {"a": 2.0, "W": 0.3}).detach().numpy()
    np.testing.assert_allclose(two_layer_ntk(a, W, X, gamma, 2.0, 0.3), reference, rtol=1e-12, atol=1e-13)
    tensors = [torch.as_tensor(value) for value in (a, W, X)]
    np.testing.assert_allclose(two_layer_ntk(*tensors, gamma, 2.0, 0.3), reference, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_a_large_kernel_is_the_same_made_in_blocks(generator, convert):
    X, a, W = (convert(generator.standard_normal(shape)) for shape in ((1100, 3), (4,), (4, 3)))
    rates = np.array([2.0]), np.array([0.3])
    whole = two_layer_ntk(a[None], W[None], X, 0.2, *map(convert, rates))[0]
    np.testing.assert_allclose(two_layer_ntk(a, W, X, 0.2, 2.0, 0.3), whole, rtol=1e-12, atol=1e-12)


LARGE = [1100, 3, 4]


def _large(generator):
    n, d, h = LARGE
    return [torch.as_tensor(generator.standard_normal(shape)) for shape in ((h,), (h, d), (n, d))]


def _stacked(a, W, X, gamma=0.2, eta_a=2.0, eta_w=0.3):
    """The kernel as that of a stack of one, which is never made in blocks."""
    return two_layer_ntk(a[None], W[None], X, gamma, eta_a, eta_w)[0]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # Torch's own, at the first jvp.
@pytest.mark.parametrize("place", range(3))
def test_a_large_kernel_is_differentiated_forwards_and_backwards_in_every_array(generator, place):
    arrays = _large(generator)
    direction = torch.ones_like(arrays[place])

    def varied(kernel):
        return lambda value: kernel(*arrays[:place], value, *arrays[place + 1 :])

    def blocked(a, W, X):
        return two_layer_ntk(a, W, X, 0.2, 2.0, 0.3)

    for found, expected in zip(
        torch.func.jvp(varied(blocked), (arrays[place],), (direction,)),
        torch.func.jvp(varied(_stacked), (arrays[place],), (direction,)),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    slopes = [torch.func.grad(lambda v, k=k: varied(k)(v).sum())(arrays[place]) for k in (blocked, _stacked)]
    torch.testing.assert_close(*slopes, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", ["gamma", "eta_a", "eta_w"])
def test_a_large_kernel_is_differentiated_in_rates_and_slope(generator, name):
    arrays = _large(generator)
    slopes = []
    for kernel in (two_layer_ntk, _stacked):
        value = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        kernel(*arrays, **({"gamma": 0.2, "eta_a": 2.0, "eta_w": 0.3} | {name: value})).sum().backward()
        slopes.append(value.grad)
    torch.testing.assert_close(*slopes, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"fullgraph": True}])
def test_a_large_kernel_is_compiled_and_differentiated(generator, options):
    a, W, X = _large(generator)
    compiled = torch.compile(lambda a: two_layer_ntk(a, W, X, 0.2, 2.0, 0.3), backend="eager", **options)
    torch.testing.assert_close(compiled(a), _stacked(a, W, X), rtol=1e-12, atol=1e-12)
    slopes = []
    for kernel in (compiled, lambda a: _stacked(a, W, X)):
        value = a.clone().requires_grad_()
        kernel(value).sum().backward()
        slopes.append(value.grad)
    torch.testing.assert_close(*slopes, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_a_large_kernel_is_made_in_blocks_where_nothing_speaks_against_it(generator, convert, monkeypatch):
    """Made whole is then only the kernel of one datum, which tells the dtype."""
    whole, sizes = kernels._whole, set()
    monkeypatch.setattr(
        kernels,
        "_whole",
        lambda features, *others: (sizes.add(features.shape[1]), whole(features, *others))[1],
    )
    a, W, X = (convert(value.numpy()) for value in _large(generator))
    two_layer_ntk(a, W, X, 0.2, 2.0, convert(np.array(0.3)))
    assert sizes == {1}
    two_layer_ntk(a, W, X[:1024])
    assert sizes == {1, 1024}


@pytest.mark.filterwarnings("ignore:__array_wrap__")  # NumPy's own, of the product of the two.
def test_large_arrays_of_numpy_take_a_rate_of_torch(generator):
    arrays = [value.numpy() for value in _large(generator)]
    found = two_layer_ntk(*arrays, 0.2, torch.tensor(2.0).double(), 0.3)
    np.testing.assert_allclose(found, _stacked(*arrays), rtol=1e-12, atol=1e-12)


def test_large_kernels_are_mapped_over_networks_and_rates(generator):
    a, W, X = _large(generator)
    expected = _stacked(a, W, X)
    networks = torch.func.vmap(lambda a, W: two_layer_ntk(a, W, X, 0.2, 2.0, 0.3))(a[None], W[None])[0]
    rates = torch.func.vmap(lambda rate: two_layer_ntk(a, W, X, 0.2, rate, 0.3))(
        torch.tensor([2.0]).double()
    )[0]
    torch.testing.assert_close(networks, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(rates, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor])
def test_one_large_network_with_several_rates_has_several_kernels(generator, convert):
    """A rate of one entry for each hidden neuron is no rate of a neuron."""
    arrays = [convert(value.numpy()) for value in _large(generator)]
    rates = np.linspace(0.5, 2.0, LARGE[2])
    found = two_layer_ntk(*arrays, 0.2, convert(rates), 0.3)
    assert found.shape == (LARGE[2], LARGE[0], LARGE[0])
    for kernel, rate in zip(found, rates, strict=True):
        np.testing.assert_allclose(kernel, _stacked(*arrays, eta_a=rate), rtol=1e-12, atol=1e-12)


def test_the_dtype_of_a_kernel_does_not_depend_on_its_size(generator):
    a, W, X = (value.numpy() for value in _large(generator))
    single = [value.astype(np.float32) for value in (a, W, X)]
    for arrays, rate in ((single, 2.0), (single, np.float64(2.0)), ((*single[:2], X), 2.0)):
        small = two_layer_ntk(*arrays[:2], arrays[2][:9], 0.2, rate, 0.3)
        assert two_layer_ntk(*arrays, 0.2, rate, 0.3).dtype == small.dtype


def test_the_kernel_of_a_linear_activation_is_that_of_the_linear_network(generator):
    X, a, W = (generator.standard_normal(shape) for shape in ((9, 3), (5, 4), (5, 4, 3)))
    rates = np.linspace(0.5, 2, 5), np.linspace(2, 0.3, 5)
    np.testing.assert_allclose(
        two_layer_ntk(a, W, X, 1.0, *rates), two_layer_linear_ntk(a, W, X, *rates), rtol=1e-12, atol=1e-13
    )


def test_a_seed_repeats_the_draws_of_the_published_program():
    """Global seed, two thrown-away linear layers, teacher, two more, student, inputs."""
    d, h, k, n = SIZES.values()
    torch.manual_seed(5)
    torch.nn.Linear(d, k, bias=False), torch.nn.Linear(k, 1, bias=False)
    teacher, teacher_signs = torch.randn(k, d), torch.randn(k)
    torch.nn.Linear(d, h, bias=False), torch.nn.Linear(h, 1, bias=False)
    student, student_signs = torch.randn(h // 2, d), torch.randn(h // 2)
    inputs = torch.randn(n, d)
    task = draw_task(5, **SIZES)
    unit = [torch.nn.functional.normalize(points).double() for points in (teacher, student, inputs)]
    for found, expected in zip((task.teacher_W, task.W[: h // 2], task.X), unit, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)
    assert task.teacher_a.tolist() == teacher_signs.sign().tolist()
    assert task.a.tolist() == [*student_signs.sign().tolist(), *(-student_signs.sign()).tolist()]


def test_the_base_student_is_silent_balanced_and_of_unit_scale():
    task = draw_task(3, **SIZES)
    assert outputs(task.a, task.W, held_out(6, 50)).abs().max() < 1e-15
    torch.testing.assert_close(task.W.norm(dim=1), torch.ones(8).double(), rtol=0, atol=1e-6)
    assert task.a.abs().tolist() == [1.0] * 8
    torch.testing.assert_close(task.y, outputs(task.teacher_a, task.teacher_W, task.X), rtol=0, atol=1e-6)
    assert draw_task(3, **SIZES, teacher_seed=4).teacher_W.equal(draw_task(4, **SIZES).teacher_W)


def test_an_odd_student_is_refused():
    with pytest.raises(ValueError, match="even number of neurons"):
        draw_task(0, d=2, h=3, k=1, n=4)


def test_the_relative_scale_solves_its_equation_and_keeps_its_digits():
    tau = np.array([0.1, 1e-4, 2.0, 0.5, 0.1])
    delta = np.array([1.0, -1.0, 0.0, 3.0, -1e-9])
    alpha = relative_scale(tau, delta)
    np.testing.assert_allclose(
        tau**2 * (alpha - 1 / alpha) * (alpha + 1 / alpha), delta, rtol=1e-9, atol=1e-16
    )
    with pytest.raises(ValueError, match="tau must be positive"):
        relative_scale(0.0, 1.0)


def test_students_have_the_balance_asked_for_at_every_neuron():
    task = draw_task(1, **SIZES)
    a, W = students(task, np.array([0.1, 2.0]), np.array([-1.0, 0.5]))
    delta = a**2 - (W**2).sum(-1)
    torch.testing.assert_close(delta, torch.tensor([[-1.0], [0.5]]).double().expand(2, 8), rtol=0, atol=1e-6)


def test_observers_measure_what_they_say(generator):
    X, y, a, W = (
        torch.as_tensor(generator.standard_normal(shape)) for shape in ((9, 3), (9,), (2, 4), (2, 4, 3))
    )
    ones = torch.ones(2, dtype=torch.float64)
    start = Networks(a, W, ones, 2 * ones)
    now = Networks(a + 0.1, W * torch.tensor([[1.0], [-1.0], [1.0], [1.0]]).double(), ones, 2 * ones)
    found = {
        name: observe(start, now).numpy() for name, observe in standard_observers(X, y, X, 2 * y).items()
    }
    hidden = np.maximum(np.einsum("bhd,nd->bhn", now.W, X), 0)
    f = (now.a[..., None].numpy() * hidden).sum(1)
    np.testing.assert_allclose(found["train_loss"], ((f - y.numpy()) ** 2).mean(-1), rtol=1e-12)
    np.testing.assert_allclose(found["test_loss"], ((f - 2 * y.numpy()) ** 2).mean(-1), rtol=1e-12)
    kernels = [two_layer_ntk(net.a, net.W, X, 0.0, net.eta_a, net.eta_w) for net in (start, now)]
    np.testing.assert_allclose(found["kernel_distance"], kernel_distance(*kernels), rtol=1e-12)
    assert found["hamming_distance"].tolist() == [1.0, 1.0]
    moved = np.sqrt(4 * 0.1**2 + 4 * (W[:, 1] ** 2).sum(-1).numpy())
    np.testing.assert_allclose(found["parameter_distance"], moved, rtol=1e-12)
    drift = 2 * np.abs(0.2 * a.numpy() + 0.01).max(-1)
    np.testing.assert_allclose(found["delta_drift"], drift, rtol=1e-11)


def test_a_large_kernel_can_be_differentiated(generator):
    X, a, W = (torch.as_tensor(generator.standard_normal(shape)) for shape in ((1100, 3), (4,), (4, 3)))
    weights = a.clone().requires_grad_()
    (found,) = torch.autograd.grad(two_layer_ntk(weights, W, X, eta_a=2.0).sum(), weights)
    with_batch = a[None].clone().requires_grad_()
    (expected,) = torch.autograd.grad(two_layer_ntk(with_batch, W[None], X, eta_a=2.0).sum(), with_batch)
    torch.testing.assert_close(found, expected[0], rtol=1e-10, atol=0)


@pytest.mark.parametrize("kernel", [two_layer_ntk, two_layer_linear_ntk])
@pytest.mark.parametrize(
    ("a", "W", "X"),
    [((1,), (4, 2), (3, 2)), ((4,), (4, 2), (3, 3)), ((4,), (4,), (3, 2)), ((4,), (4, 2), (2,))],
)
def test_weights_and_data_that_do_not_fit_are_refused(kernel, a, W, X):
    with pytest.raises(ValueError, match=r"a must be \(\.\.\., h\), W \(\.\.\., h, d\) and X \(n, d\)"):
        kernel(np.ones(a), np.ones(W), np.ones(X))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.eye(2), np.eye(3), "K1 and K2 are kernels of 2 and 3 data"),
        (np.eye(2), 1j * np.eye(2), "K2 must be real"),
        (torch.eye(2) * 1j, np.eye(2), "K1 must be real"),
        (np.ones((2, 3)), np.eye(2), r"K1 must be \(\.\.\., n, n\), of at least one datum: it is \(2, 3\)"),
        (np.ones(2), np.eye(2), r"K1 must be \(\.\.\., n, n\)"),
        (np.ones((0, 0)), np.eye(2), r"K1 must be \(\.\.\., n, n\)"),
    ],
)
def test_what_is_no_kernel_has_no_distance(first, second, message):
    with pytest.raises(ValueError, match=message):
        kernel_distance(first, second)


def test_kernels_of_few_digits_have_a_distance():
    kernel = torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=torch.bfloat16)
    assert kernel_distance(kernel, torch.eye(2)) == pytest.approx(1 - 3 / np.sqrt(10), rel=1e-12)


def test_an_empty_batch_of_kernels_has_no_distances():
    assert kernel_distance(np.zeros((0, 3, 3)), np.eye(3)).shape == (0,)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_large_kernel_can_be_traced(generator):
    a, W, X = (torch.as_tensor(generator.standard_normal(shape)) for shape in ((4,), (4, 3), (1100, 3)))
    traced = torch.jit.trace(two_layer_ntk, (a, W, X), check_trace=False)
    torch.testing.assert_close(traced(2 * a, W, X), two_layer_ntk(2 * a, W, X))
