"""The matrix Riccati and Bernoulli system in closed form: against integration, many digits, and itself."""

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from derivations.wide_linear import isotropic_flow, isotropic_init, matrix_riccati
from tests.derivations.wide_linear import mp_reference as reference


def network(size, delta, scale, seed, d=None):
    """nu0, C0, G, and the weights, of a random isotropic network with c = h neurons."""
    rng = np.random.default_rng(seed)
    A, W = isotropic_init(size, d or size, size, delta, rng, scale=scale)
    beta_star = rng.normal(size=(d or size, size))
    return np.linalg.solve(A, W @ beta_star), A.T @ A, beta_star.T @ beta_star, A, W, beta_star


def integrate(times, nu0, C0, gram, delta):
    size = len(gram)

    def velocity(_, state):
        nu, C = state.reshape(2, size, size)
        pull = C @ (nu + delta * np.eye(size))
        return np.concatenate([(gram - delta * nu - nu @ nu).ravel(), (pull + pull.T - 2 * C @ C).ravel()])

    start = np.concatenate([nu0.ravel(), C0.ravel()])
    solution = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13)
    assert solution.success
    return solution.y.T.reshape(-1, 2, size, size).swapaxes(0, 1)


@pytest.mark.parametrize("delta", [1.5, 0.2, 0.0, -0.1])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_it_solves_both_equations_without_a_shared_eigenspace(size, delta):
    rng = np.random.default_rng(size)
    factor = rng.normal(size=(size, size))
    nu0, C0 = 0.4 * rng.normal(size=(size, size)) + 0.5 * np.eye(size), factor @ factor.T + 0.3 * np.eye(size)
    gram = rng.normal(size=(size, size + 1))
    gram = gram @ gram.T
    if size > 1:
        assert np.abs(nu0 @ gram - gram @ nu0).max() > 0.1
    times = np.array([0.0, 0.01, 0.3, 1.0, 4.0])
    nu, C = matrix_riccati(times, nu0, C0, gram, delta)
    expected_nu, expected_C = integrate(times, nu0, C0, gram, delta)
    np.testing.assert_allclose(nu, expected_nu, atol=2e-10 * np.abs(nu).max())
    np.testing.assert_allclose(C, expected_C, atol=2e-10 * np.abs(C).max())
    np.testing.assert_allclose(nu[0], nu0, atol=1e-14 * (1 + np.abs(nu0).max()))
    np.testing.assert_allclose(C[0], C0, atol=1e-14 * np.abs(C0).max())


@st.composite
def starts(draw):
    size = draw(st.integers(1, 3))
    delta = draw(st.sampled_from([-1.0, 0.0, 1.0])) * 10 ** draw(st.floats(-6, 2))
    scale = 10 ** draw(st.floats(-4, 2))
    nu0, C0, gram, *_ = network(size, delta, scale, draw(st.integers(0, 10**6)))
    length = 10 ** draw(st.floats(-3, 1))
    rate = np.sqrt(np.linalg.eigvalsh(gram)[-1] * length**2 + delta**2 / 4)
    t = 10 ** draw(st.floats(-6, 1)) / rate
    return [np.asarray(t), nu0 * length, (C0 + C0.T) / 2, (gram + gram.T) / 2 * length**2, np.asarray(delta)]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(starts())
def test_it_is_accurate_to_1e_13_over_many_decades(start):
    nu, C = matrix_riccati(*start)
    with mp.workdps(90):
        truth, slack = reference.with_sensitivity(reference.riccati, start, symmetric=(2, 3))
    size = nu.shape[-1]
    exact_nu, exact_C = np.array(truth, dtype=object).reshape(2, size, size)
    rates = np.sqrt(np.linalg.eigvalsh(start[3])[-1] + start[4] ** 2 / 4) + abs(start[4]) / 2
    scales = [rates + abs(exact_nu).max()] * size**2 + [abs(exact_C).max()] * size**2
    for value, true, scale, cost in zip((*nu.flat, *C.flat), truth, scales, slack, strict=True):
        assert abs(mp.mpf(float(value)) - true) <= 1e-13 * (scale + cost)


@pytest.mark.parametrize("delta", [0.5, 0.0, -0.5, -40.0])
def test_long_times_are_the_fixed_points_and_the_way_there_is_exponential(delta):
    nu0, C0, gram, *_ = network(4, delta, 0.4, 11 if delta == 0 else 3)
    values, axes = np.linalg.eigh(gram)
    R = np.sqrt(values + delta**2 / 4)
    end_nu, end_C = (axes * (R - delta / 2)) @ axes.T, (axes * (R + delta / 2)) @ axes.T
    late = np.array([1e3, 1e5, 1e6])
    if delta == 0:
        nu0, C0 = np.abs(values).max() * np.eye(4) / 3, np.eye(4)
    nu, C = matrix_riccati(late, nu0, C0, gram, delta)
    np.testing.assert_allclose(nu[1:], np.stack([end_nu] * 2), atol=1e-13 * np.abs(end_nu).max())
    np.testing.assert_allclose(C[1:], np.stack([end_C] * 2), atol=1e-13 * np.abs(end_C).max())
    slowest = 2 * R.min()
    near = np.array([12.0, 14.0]) / slowest
    gaps = [np.abs(x - end_nu).max() for x in matrix_riccati(near, nu0, C0, gram, delta)[0]]
    assert np.log(gaps[0] / gaps[1]) == pytest.approx(2.0, rel=1e-2)


@pytest.mark.parametrize("as_array", [np.asarray, torch.tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("delta", [0.5, 0.0, -0.5, 1e-200])
@pytest.mark.parametrize(
    ("dtype", "times"), [(np.float64, [1e20, 1e280, 1e300, 1e308]), (np.float32, [1e8, 1e20, 1e30, 3e38])]
)
def test_no_finite_time_is_too_long(dtype, times, delta, as_array):
    rng = np.random.default_rng(5)
    factor = rng.normal(size=(3, 3))
    gram, nu0 = factor.T @ factor, rng.normal(size=(3, 3)) + 3 * np.eye(3)
    values, axes = np.linalg.eigh(gram)
    R = (axes * np.sqrt(values + delta**2 / 4)) @ axes.T
    arguments = [as_array(np.asarray(x, dtype=dtype)) for x in (times, nu0, np.eye(3), gram, delta)]
    for found, sign in zip(matrix_riccati(*arguments), (-1, 1), strict=True):
        end = R + sign * delta / 2 * np.eye(3)
        rounding = 20 * np.finfo(dtype).eps * np.abs(end).max()
        np.testing.assert_allclose(found, np.stack([end] * 4), rtol=0, atol=rounding)


def test_what_falls_without_a_rate_has_fallen_to_zero_after_any_long_time():
    """Where the target has no rank and the balance is zero, nu falls as 1 / t and C as 3 / (2 t)."""
    for dtype, times in ((np.float64, [1e100, 1e150, 1e300, 1e308]), (np.float32, [1e12, 1e15, 1e30, 3e38])):
        end = np.diag([1.0, 0.0])
        start = (np.asarray(x, dtype=dtype) for x in (times, [[0.3, 0.1], [0.2, 0.4]], np.eye(2), end))
        for found in matrix_riccati(*start, 0.0):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, [end] * 4, rtol=0, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("delta", [0.7, 0.0, -0.3])
def test_stopping_and_starting_again_changes_nothing(delta):
    nu0, C0, gram, *_ = network(5, delta, 0.5, 8)
    whole = matrix_riccati([0.9, 2.0], nu0, C0, gram, delta)
    again = matrix_riccati(1.1, whole[0][0], whole[1][0], gram, delta)
    for part, rest in zip(whole, again, strict=True):
        np.testing.assert_allclose(rest, part[1], atol=1e-12 * np.abs(part).max())


def test_it_is_what_the_network_does_beyond_the_pole_too():
    """delta < 0: det A passes through zero at the pole, C = A^T A stays smooth, and both match the network's flow."""
    nu0, C0, gram, A, W, beta_star = network(2, -1.0, 0.3, 4)
    times = np.linspace(0.0, 3.0, 400)
    flow = isotropic_flow(times, A, W, beta_star)
    nu, C = matrix_riccati(times, nu0, C0, gram, -1.0)
    determinant = np.linalg.det(flow.gram_a)
    assert np.abs(nu).max() > 30 and determinant.min() < 1e-3 * determinant[-1]
    np.testing.assert_allclose(C, flow.gram_a, atol=1e-12)
    transposed = flow.beta.swapaxes(-1, -2) @ beta_star
    np.testing.assert_allclose(C @ nu, transposed, atol=1e-11)


def test_a_time_on_a_pole_is_refused_and_named():
    line = {"nu0": [[-1.0]], "C0": [[1.0]], "gram": [[0.0]], "delta": 0.0}
    with pytest.raises(ValueError, match=r"t must be off the poles of nu.*index 1$"):
        matrix_riccati([0.5, 1.0, 2.0], **line)
    nu, C = matrix_riccati([0.5, 1.0, 2.0], **line, check=False)
    assert np.isnan(nu[1]).all() and nu[2, 0, 0] == pytest.approx(1.0) and C[1, 0, 0] == 0.0


def test_at_the_separatrix_C_goes_to_zero_and_nu_stays():
    """The unstable fixed point nu = -R - delta/2 is never left, and the network goes to the saddle."""
    for delta in (0.0, 0.5):
        start = -np.hypot(1.0, delta / 2) - delta / 2
        nu, C = matrix_riccati([0.0, 2.0, 400.0, 1e6], [[start]], [[1.0]], [[1.0]], delta)
        np.testing.assert_allclose(nu[:2].ravel(), start, rtol=1e-12)
        assert C[2, 0, 0] < 1e-100 and np.isfinite(C).all()


def test_batches_broadcast_and_one_time_has_no_time_axis():
    rng = np.random.default_rng(0)
    nu0, deltas = 0.2 * rng.normal(size=(4, 1, 2, 2)), np.array([0.5, 0.0, -0.5])
    nu, C = matrix_riccati([0.1, 0.7], nu0, np.eye(2), np.diag([2.0, 1.0]), deltas)
    assert nu.shape == C.shape == (4, 3, 2, 2, 2)
    one = matrix_riccati(0.7, nu0[2, 0], np.eye(2), np.diag([2.0, 1.0]), -0.5)
    np.testing.assert_allclose(nu[2, 2, 1], one[0], rtol=1e-14)
    np.testing.assert_allclose(C[2, 2, 1], one[1], rtol=1e-14)


@pytest.mark.parametrize("zeros", [np.zeros, torch.zeros], ids=["numpy", "torch"])
@pytest.mark.parametrize(("t", "axes"), [(1.0, ()), ([1.0, 2.0], (2,)), ([], (0,))])
def test_an_empty_batch_has_empty_results(zeros, t, axes):
    results = matrix_riccati(t, zeros((0, 1, 3, 3)), np.eye(3), np.eye(3), [0.5, -0.5])
    assert [tuple(x.shape) for x in results] == [(0, 2, *axes, 3, 3)] * 2


def test_many_times_in_blocks_are_the_times_one_by_one():
    nu0, C0, gram, *_ = network(8, 0.5, 0.3, 1)
    times = np.linspace(0.0, 4.0, 1200)
    nu, C = matrix_riccati(times, nu0, C0, gram, 0.5)
    for k in (0, 511, 512, 1023, 1024, 1199):
        one = matrix_riccati(times[k], nu0, C0, gram, 0.5)
        np.testing.assert_allclose(nu[k], one[0], atol=1e-14)
        np.testing.assert_allclose(C[k], one[1], atol=1e-14)
    assert [x.shape for x in matrix_riccati(times[:0], nu0, C0, gram, 0.5)] == [(0, 8, 8)] * 2


def test_torch_gives_the_same_numbers_and_exact_derivatives():
    for delta in (0.7, 0.0, -0.7):
        nu0, C0, gram, *_ = network(3, delta, 0.5, 3)
        times = np.array([0.02, 0.3, 2.0])
        tensors = [torch.tensor(x, requires_grad=True) for x in (times, nu0, C0, gram)]
        tensors.append(torch.tensor(delta, dtype=torch.float64, requires_grad=True))

        def symmetric(t, nu0, C0, gram, delta):
            return matrix_riccati(t, nu0, (C0 + C0.T) / 2, (gram + gram.T) / 2, delta, check=False)

        for mine, theirs in zip(
            matrix_riccati(times, nu0, C0, gram, delta), symmetric(*tensors), strict=True
        ):
            np.testing.assert_allclose(theirs.detach().numpy(), mine, atol=1e-13)
        assert torch.autograd.gradcheck(symmetric, tensors, atol=1e-6)
    batched = torch.func.vmap(lambda x: matrix_riccati(times, x, C0, gram, 0.0)[1])(torch.zeros(4, 3, 3))
    assert batched.shape == (4, 3, 3, 3)


@pytest.mark.parametrize("delta", [0.5, 0.0, -0.5])
@pytest.mark.parametrize("least", [0.0, -1e-17])
def test_derivatives_are_exact_where_the_target_loses_rank(delta, least):
    """In the balance for every balance; in the Gram matrix, which can only grow there, unless the balance is zero."""
    times, nu0, C0 = [0.05, 0.3, 3.0], torch.tensor([[0.3, 0.1], [0.2, 0.4]], dtype=torch.float64), np.eye(2)
    gram = torch.diag(torch.tensor([1.0, least], dtype=torch.float64))
    direction = torch.tensor([[0.1, 0.3], [0.3, 0.9]], dtype=torch.float64)

    def solution(balance, growth):
        return torch.stack(matrix_riccati(times, nu0, C0, gram + growth * direction, balance, check=False))

    start = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (delta, 0.0)]
    assert torch.autograd.gradcheck(lambda x: solution(x, 0.0), start[0], atol=1e-6)
    if delta != 0:
        slope = torch.func.jacrev(solution, 1)(*start)
        near, far = ((solution(delta, step) - solution(delta, 0.0)) / step for step in (1e-5, 2e-5))
        np.testing.assert_allclose(slope.detach(), 2 * near - far, atol=1e-8)


def test_float32_stays_float32_and_is_accurate_to_its_rounding():
    nu0, C0, gram, *_ = network(3, 0.5, 0.5, 5)
    single = [x.astype(np.float32) for x in (nu0, C0, gram)]
    result = matrix_riccati(np.float32(0.8), *single, np.float32(0.5))
    exact = matrix_riccati(0.8, *(x.astype(float) for x in single), 0.5)
    for value, true in zip(result, exact, strict=True):
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, true, atol=3e-5 * np.abs(true).max())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"C0": [[1.0, 2.0], [2.0, 1.0]]}, "C0 must be positive definite"),
        ({"C0": [[1.0, 0.5], [0.0, 1.0]]}, "C0 must be symmetric"),
        ({"gram": [[1.0, 0.0], [0.0, -1.0]]}, "gram must be positive semi-definite"),
        ({"nu0": [[np.nan, 0.0], [0.0, 1.0]]}, "nu0 must be finite"),
        ({"nu0": [[1.0]]}, "must have one size"),
        ({"t": [0.0, -1.0]}, r"t must be finite and non-negative; it is not at index 1"),
        ({"delta": np.inf}, "delta must be finite"),
        ({"t": [[1.0]]}, "t must be a number or a vector"),
        (
            {"gram": np.stack([np.eye(2), -np.eye(2)])},
            "gram must be positive semi-definite; it is not at index 1",
        ),
    ],
)
def test_bad_input_is_named(changed, message):
    arguments = {"t": 1.0, "nu0": np.zeros((2, 2)), "C0": np.eye(2), "gram": np.eye(2), "delta": 0.0}
    with pytest.raises(ValueError, match=message):
        matrix_riccati(**(arguments | changed))
