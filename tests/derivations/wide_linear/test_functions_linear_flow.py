"""Exact learning of isotropic two-layer networks of any shape, against gradient flow and many digits."""

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from derivations.wide_linear import conserved, isotropic_flow, isotropic_init, matrix_riccati
from tests.derivations.wide_linear import mp_reference as reference

SHAPES = [(1, 1, 1), (1, 3, 3), (2, 2, 2), (2, 3, 2), (2, 2, 3), (2, 4, 3), (3, 3, 3), (4, 3, 2), (5, 1, 2)]


def possible(h, d, c, delta):
    return not (delta > 0 and h > c) and not (delta < 0 and h > d)


def integrate(times, A, W, beta_star, eta_a, eta_w):
    """beta, A^T A and W^T W along the gradient flow of the weights."""
    split, shapes = A.size, (A.shape, W.shape)

    def velocity(_, state):
        a, w = state[:split].reshape(shapes[0]), state[split:].reshape(shapes[1])
        gradient = w.T @ a - beta_star
        return np.concatenate([(-eta_a * w @ gradient).ravel(), (-eta_w * a @ gradient.T).ravel()])

    start = np.concatenate([A.ravel(), W.ravel()])
    path = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13).y.T
    a, w = path[:, :split].reshape(-1, *shapes[0]), path[:, split:].reshape(-1, *shapes[1])
    return [np.einsum("tki,tkj->tij", x, y) for x, y in ((w, a), (a, a), (w, w))]


@pytest.mark.parametrize("delta", [1.0, 0.0, -0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_gradient_flow_in_every_shape_that_has_such_a_start(shape, delta):
    if not possible(*shape, delta):
        with pytest.raises(ValueError, match="no isotropic start"):
            isotropic_init(*shape, delta, np.random.default_rng(0))
        return
    rng = np.random.default_rng(3)
    A, W = isotropic_init(*shape, delta, rng, scale=0.4, eta_a=1.5, eta_w=0.6)
    beta_star = rng.normal(size=shape[1:])
    times = np.array([0.0, 0.05, 0.4, 1.5, 4.0])
    exact = isotropic_flow(times, A, W, beta_star, eta_a=1.5, eta_w=0.6)
    for mine, theirs in zip(exact, integrate(times, A, W, beta_star, 1.5, 0.6), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=3e-10)


def test_a_task_of_low_rank_is_gradient_flow_too():
    rng = np.random.default_rng(0)
    A, W = isotropic_init(2, 3, 4, 0.2, rng, scale=0.1)
    beta_star, times = np.outer([1.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]), np.array([0.0, 0.5, 2.0])
    exact = isotropic_flow(times, A, W, beta_star)
    for mine, theirs in zip(exact, integrate(times, A, W, beta_star, 1.0, 1.0), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=3e-10)


def test_a_mode_without_overlap_with_the_start_is_never_learned():
    """A balanced neuron across the only mode of the task forgets what it computes, like 1/t, and learns nothing."""
    beta_star = np.outer([1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0])
    A, W = np.array([[0.0, 2.0, 0.0, -1.0]]), np.array([[0.0, 0.0, 1.0, 2.0]])
    times = np.array([2.0, 1e6])
    found = isotropic_flow(times, A, W, beta_star).beta
    np.testing.assert_allclose(found, (W.T @ A) / (1 + 10 * times[:, None, None]), atol=1e-15)


@st.composite
def starts(draw):
    h, d, c = draw(st.sampled_from([(1, 1, 1), (1, 2, 2), (2, 2, 2), (2, 3, 2), (3, 2, 1), (1, 1, 3)]))
    delta = draw(st.sampled_from([-1.0, 0.0, 1.0])) * 10 ** draw(st.floats(-4, 2))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    if not possible(h, d, c, delta):
        delta = 0.0
    eta_a, eta_w = 10 ** draw(st.floats(-1, 1)), 10 ** draw(st.floats(-1, 1))
    A, W = isotropic_init(h, d, c, delta, rng, scale=10 ** draw(st.floats(-4, 1)), eta_a=eta_a, eta_w=eta_w)
    beta_star = rng.normal(size=(d, c)) * 10 ** draw(st.floats(-3, 1))
    rate = np.hypot(delta / 2, np.sqrt(eta_a * eta_w) * np.linalg.norm(beta_star, 2))
    t = 10 ** draw(st.floats(-6, 1.2)) / rate
    return [np.asarray(x) for x in (t, A, W, beta_star, eta_a, eta_w)]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(starts())
def test_it_is_accurate_to_1e_13_over_many_decades(start):
    flow = isotropic_flow(*start)
    with mp.workdps(100):
        truth, slack = reference.with_sensitivity(reference.flow, start)
    computed = np.concatenate([x.ravel() for x in flow])
    root_a, root_w = np.sqrt(start[4]), np.sqrt(start[5])
    size = root_w**2 * np.trace(flow.gram_a) + root_a**2 * np.trace(flow.gram_w)
    scales = [size / (root_a * root_w)] * flow.beta.size
    scales += [size / root_w**2] * flow.gram_a.size + [size / root_a**2] * flow.gram_w.size
    for value, true, scale, cost in zip(computed, truth, scales, slack, strict=True):
        assert abs(mp.mpf(float(value)) - true) <= 1e-13 * (scale + cost)


@pytest.mark.parametrize("delta", [0.5, 0.0, -2.0])
def test_late_networks_have_learned_the_task_and_their_layers_split_it_by_the_balance(delta):
    rng = np.random.default_rng(2)
    A, W = isotropic_init(3, 3, 3, delta, rng, scale=0.01)
    if delta == 0:
        W = A
    beta_star = rng.normal(size=(3, 3))
    if delta == 0:
        beta_star = beta_star @ beta_star.T
    for t in (1e4, 1e6):
        flow = isotropic_flow(t, A, W, beta_star)
        np.testing.assert_allclose(flow.beta, beta_star, atol=1e-13 * np.abs(beta_star).max())
        values, axes = np.linalg.eigh(beta_star.T @ beta_star)
        end = (axes * (np.sqrt(values + delta**2 / 4) + delta / 2)) @ axes.T
        np.testing.assert_allclose(flow.gram_a, end, atol=1e-13 * np.abs(end).max())


def test_fewer_neurons_than_modes_learn_the_strongest():
    rng = np.random.default_rng(1)
    A, W = isotropic_init(2, 5, 4, 0.3, rng, scale=1e-3)
    beta_star = rng.normal(size=(5, 4))
    left, values, right = np.linalg.svd(beta_star)
    best = (left[:, :2] * values[:2]) @ right[:2]
    np.testing.assert_allclose(isotropic_flow(1e5, A, W, beta_star).beta, best, atol=1e-13 * values[0])


def test_small_balanced_weights_learn_the_modes_one_after_the_other():
    """At scale e^-s a mode of strength sigma appears at t = s / sigma; before that the slower ones are absent."""
    sizes = np.array([4.0, 2.0, 1.0])
    A = 1e-8 * np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    t = np.log(1e8) / sizes
    between = np.sqrt(t[:-1] * t[1:])
    flow = isotropic_flow(between, A, A, np.diag(sizes))
    diagonal = np.diagonal(flow.beta, axis1=-2, axis2=-1) / sizes
    np.testing.assert_allclose(diagonal[0], [1, 0, 0], atol=1e-3)
    np.testing.assert_allclose(diagonal[1], [1, 1, 0], atol=1e-3)


def test_reversal_runs_into_the_saddle_and_stays():
    """Learning -b where b was learned: the overlap with every growing mode is exactly zero (braun2022, App. G)."""
    rng = np.random.default_rng(4)
    left, values, right = np.linalg.svd(rng.normal(size=(3, 3)))
    W, A = np.sqrt(values)[:, None] * left.T, -np.sqrt(values)[:, None] * right
    path = isotropic_flow([0.0, 10.0, 1e3, 1e6], A, W, (left * values) @ right).beta
    size = np.abs(path).max((-2, -1))
    assert size[1] < size[0] and size[2] < 1e-10 and size[3] < 1e-10


def test_it_holds_the_riccati_solution_as_a_special_case():
    rng = np.random.default_rng(6)
    A, W = isotropic_init(3, 4, 3, 0.4, rng, scale=0.5)
    beta_star = rng.normal(size=(4, 3))
    times = np.array([0.0, 0.3, 2.0, 50.0])
    flow = isotropic_flow(times, A, W, beta_star)
    nu, C = matrix_riccati(times, np.linalg.solve(A, W @ beta_star), A.T @ A, beta_star.T @ beta_star, 0.4)
    np.testing.assert_allclose(C, flow.gram_a, atol=1e-13)
    np.testing.assert_allclose(flow.gram_a @ nu, flow.beta.swapaxes(-1, -2) @ beta_star, atol=3e-13)


def test_the_balance_of_lambda_balanced_layers_is_delta():
    """W2^T W2 - W1 W1^T = lambda I with W1 = W and W2 = A^T."""
    A, W = isotropic_init(2, 3, 4, -0.7, np.random.default_rng(0))
    np.testing.assert_allclose(conserved(A, W), -0.7 * np.eye(2), atol=1e-14)


@pytest.mark.parametrize("zeros", [np.zeros, torch.zeros], ids=["numpy", "torch"])
@pytest.mark.parametrize(("t", "axes"), [(1.0, ()), ([1.0, 2.0], (2,)), ([], (0,))])
def test_an_empty_batch_has_empty_results(zeros, t, axes):
    flow = isotropic_flow(t, zeros((0, 1, 2, 3)), zeros((0, 1, 2, 4)), np.ones((5, 4, 3)))
    assert [tuple(x.shape) for x in flow] == [(0, 5, *axes, *size) for size in ((4, 3), (3, 3), (4, 4))]


def test_batches_broadcast_and_one_time_has_no_time_axis():
    rng = np.random.default_rng(0)
    A, W = isotropic_init(2, 3, 4, 0.0, rng, batch=(3, 1))
    beta_star, eta_w = rng.normal(size=(5, 3, 4)), 1.0
    flow = isotropic_flow([0.1, 0.5], A, W, beta_star)
    assert [x.shape for x in flow] == [(3, 5, 2, 3, 4), (3, 5, 2, 4, 4), (3, 5, 2, 3, 3)]
    one = isotropic_flow(0.5, A[1, 0], W[1, 0], beta_star[2], 1.0, eta_w)
    for part, single in zip(flow, one, strict=True):
        np.testing.assert_allclose(part[1, 2, 1], single, atol=1e-15)


@pytest.mark.parametrize(
    ("h", "d", "c", "delta"), [(2, 2, 2, 1.0), (2, 3, 2, 0.5), (1, 3, 3, -1.0), (4, 3, 2, 0.0)]
)
def test_torch_gives_the_same_numbers_and_exact_derivatives(h, d, c, delta):
    rng = np.random.default_rng(1)
    A, W = isotropic_init(h, d, c, delta, rng, scale=0.4)
    inputs = [np.array([0.01, 0.3, 2.0]), A, W, rng.normal(size=(d, c)), 1.0, 1.0]
    tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in inputs]
    for mine, theirs in zip(isotropic_flow(*inputs), isotropic_flow(*tensors), strict=True):
        np.testing.assert_allclose(theirs.detach().numpy(), mine, atol=1e-14)
    assert torch.autograd.gradcheck(lambda *x: tuple(isotropic_flow(*x, check=False)), tensors, atol=1e-6)


@pytest.mark.parametrize(
    ("A", "W", "beta_star"),
    [
        ([[1.0]], [[1.0, 0.0]], [[0.7], [0.2]]),
        ([[1.0, 0.0]], [[1.0]], [[0.7, 0.2]]),
        ([[1.0]], [[1.0]], [[0.0]]),
    ],
    ids=["more inputs", "more outputs", "nothing to learn"],
)
def test_derivatives_in_the_start_are_exact_where_a_mode_has_no_rate(A, W, beta_star):
    assert not conserved(A, W).any()
    layers = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (A, W)]
    assert torch.autograd.gradcheck(
        lambda A, W: tuple(isotropic_flow([0.05, 0.3, 2.0], A, W, beta_star, check=False)), layers, atol=1e-6
    )


@pytest.mark.parametrize("delta", [0.5, -0.5])
@pytest.mark.parametrize(
    "beta_star", [np.diag([1.0, 0.0]), np.outer([1.0, 2.0], [0.3, 0.4])], ids=["exact", "rounded"]
)
def test_derivatives_are_exact_where_the_target_loses_rank(beta_star, delta):
    start = isotropic_init(2, 2, 2, delta, np.random.default_rng(0), scale=0.5)
    inputs = [torch.tensor(x, requires_grad=True) for x in (*start, beta_star)]
    assert torch.autograd.gradcheck(
        lambda *x: tuple(isotropic_flow([0.05, 0.3, 2.0], *x, check=False)), inputs, atol=1e-6
    )


@pytest.mark.parametrize("beta_star", [np.diag([2.0, 1.0]), np.diag([2.0, -1.0])], ids=["falling", "growing"])
def test_derivatives_are_exact_where_an_overlap_is_zero(beta_star):
    inputs = [torch.tensor(x, requires_grad=True) for x in (np.eye(2), np.eye(2), beta_star)]
    assert torch.autograd.gradcheck(
        lambda *x: tuple(isotropic_flow([0.05, 0.3, 2.0], *x, check=False)), inputs, atol=1e-6
    )


def test_derivatives_in_the_start_are_exact_where_a_balance_of_rounding_is_the_rate():
    root = np.diag(np.sqrt([0.7, 1.3]))
    turn, other = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2, 2)))[0]
    A, W = turn @ root, turn @ root @ other
    assert 0 < abs(np.trace(conserved(A, W))) < 1e-15
    layers = [torch.tensor(x, requires_grad=True) for x in (A, W)]
    target = np.diag([1.0, 0.0])
    assert torch.autograd.gradcheck(
        lambda *x: tuple(isotropic_flow([0.05, 0.3, 2.0], *x, target, check=False)), layers, atol=1e-6
    )


def test_derivatives_at_a_zero_overlap_are_finite_however_late():
    inputs = [torch.tensor(x, requires_grad=True) for x in (np.eye(2), np.eye(2), np.diag([2.0, -1.0]))]
    flow = isotropic_flow([30.0, 1e3, 1e6], *inputs)
    gradients = torch.autograd.grad(sum(x.sum() for x in flow), inputs)
    assert all(x.isfinite().all() for x in gradients)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"A": np.eye(2), "W": np.diag([1.0, 2.0])}, "A and W must be isotropic"),
        ({"W": np.ones((3, 2))}, "one row a neuron; A has 2 and W has 3"),
        ({"beta_star": np.ones((2, 3))}, r"beta_star must be \(2, 2\)"),
        ({"beta_star": np.full((2, 2), np.inf)}, "beta_star must be finite"),
        ({"t": -1.0}, "t must be finite and non-negative"),
        ({"eta_w": 0.0}, "eta_w must be positive"),
        ({"A": np.stack([np.eye(2), np.diag([1.0, 2.0])])}, "A and W must be isotropic.*index 1"),
        ({"A": np.ones(2)}, "A must be a matrix"),
        ({"tolerance": -1}, "tolerance must be at least 0, or None for its default; it is -1"),
        ({"tolerance": np.nan}, "tolerance must be at least 0"),
    ],
)
def test_bad_input_is_named(changed, message):
    arguments = {"t": 1.0, "A": np.eye(2), "W": np.zeros((2, 2)), "beta_star": np.eye(2)}
    with pytest.raises(ValueError, match=message):
        isotropic_flow(**(arguments | changed))
