"""Properties of the exact curve, its gradients, its transforms, and what it refuses."""

import numpy as np
import pytest
import torch

from derivations.single_neuron import basin, crossing_time, mu_phi, separatrix_distance, trajectory

RNG = np.random.default_rng(7)
BATCH = 64
A0 = RNG.normal(size=BATCH) * 10 ** RNG.uniform(-2, 1, size=BATCH)
W0 = RNG.normal(size=(BATCH, 3)) * 10 ** RNG.uniform(-2, 1, size=(BATCH, 1))
STAR = RNG.normal(size=(BATCH, 3))
ETA_A, ETA_W = 10 ** RNG.uniform(-1, 1, size=(2, BATCH))
TIMES = np.array([0.0, 1e-3, 0.1, 0.7, 3.0])


def kappa(a, w, eta_a, eta_w):
    return eta_w * a**2 + eta_a * (w**2).sum(-1)


def test_time_zero_is_the_start_to_the_last_bit():
    a, w = trajectory(0.0, A0, W0, STAR, ETA_A, ETA_W)
    np.testing.assert_array_equal(a, A0)
    np.testing.assert_array_equal(w, W0)


def test_the_end_is_the_minimum_on_the_side_of_the_basin():
    a, w = trajectory(1e6, A0, W0, STAR, ETA_A, ETA_W)
    np.testing.assert_allclose(a[:, None] * w, STAR, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(np.sign(a), basin(A0, W0, STAR, ETA_A, ETA_W))


def test_the_curve_follows_the_velocity_of_gradient_flow():
    t = torch.tensor(0.37, dtype=torch.float64)
    start = [torch.as_tensor(x) for x in (A0, W0, STAR, ETA_A, ETA_W)]
    a, w = trajectory(t, *start)
    da, dw = torch.func.jacrev(lambda s: trajectory(s, *start))(t)
    _, _, star, eta_a, eta_w = start
    wanted_a = eta_a * ((w * star).sum(-1) - a * (w**2).sum(-1))
    wanted_w = eta_w[:, None] * (a[:, None] * star - a[:, None] ** 2 * w)
    torch.testing.assert_close(da, wanted_a, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(dw, wanted_w, rtol=1e-9, atol=1e-11)


def test_stopping_and_starting_again_changes_nothing():
    a, w = trajectory(0.4, A0, W0, STAR, ETA_A, ETA_W)
    again_a, again_w = trajectory(0.9, a, w, STAR, ETA_A, ETA_W)
    whole_a, whole_w = trajectory(1.3, A0, W0, STAR, ETA_A, ETA_W)
    scale = np.sqrt(kappa(whole_a, whole_w, ETA_A, ETA_W))
    assert np.max(np.abs(again_a - whole_a) * np.sqrt(ETA_W) / scale) < 1e-12
    assert np.max(np.abs(again_w - whole_w) * np.sqrt(ETA_A)[:, None] / scale[:, None]) < 1e-12


def test_delta_is_conserved_along_the_output():
    a, w = trajectory(TIMES, A0, W0, STAR, ETA_A, ETA_W)
    eta_a, eta_w = ETA_A[:, None], ETA_W[:, None]
    delta = eta_w * a**2 - eta_a * (w**2).sum(-1)
    assert np.max(np.abs(delta - delta[:, :1]) / kappa(a, w, eta_a, eta_w)) < 1e-14


def test_a_batch_is_a_loop_and_a_vector_of_times_is_a_loop():
    a, w = trajectory(TIMES, A0, W0, STAR, ETA_A, ETA_W)
    mu, phi = mu_phi(TIMES, A0, W0, STAR, ETA_A, ETA_W)
    assert a.shape == mu.shape == phi.shape == (BATCH, 5) and w.shape == (BATCH, 5, 3)
    for i in (0, 17, 63):
        for j, t in enumerate(TIMES):
            one = (t, A0[i], W0[i], STAR[i], ETA_A[i], ETA_W[i])
            a_one, w_one = trajectory(*one)
            assert np.shape(a_one) == () and w_one.shape == (3,)
            np.testing.assert_allclose([a_one, *w_one], [a[i, j], *w[i, j]], rtol=1e-15, atol=1e-300)
            np.testing.assert_allclose(mu_phi(*one), [mu[i, j], phi[i, j]], rtol=1e-15, atol=1e-300)


def test_batch_axes_broadcast():
    a, w = trajectory(TIMES, A0[:4, None], W0[:3], STAR[0], 2.0, ETA_W[:3])
    assert a.shape == (4, 3, 5) and w.shape == (4, 3, 5, 3)
    np.testing.assert_array_equal(a[2, 1], trajectory(TIMES, A0[2], W0[1], STAR[0], 2.0, ETA_W[1])[0])


def test_mu_and_phi_are_size_and_alignment_of_the_trajectory():
    a, w = trajectory(TIMES, A0, W0, STAR, ETA_A, ETA_W)
    mu, phi = mu_phi(TIMES, A0, W0, STAR, ETA_A, ETA_W)
    size = np.linalg.norm(w, axis=-1)
    np.testing.assert_allclose(mu, a * size, rtol=1e-12, atol=1e-14)
    cosine = (w * STAR[:, None]).sum(-1) / size / np.linalg.norm(STAR, axis=-1)[:, None]
    np.testing.assert_allclose(phi, cosine, rtol=0, atol=1e-12)


def test_phi_at_vanishing_weights_is_the_limit_from_later_times():
    _, phi = mu_phi([0.0, 1e-9], a0=-2.0, w0=[0.0, 0.0], beta_star=[3.0, 4.0])
    np.testing.assert_allclose(phi, [-1.0, -1.0], rtol=1e-15)


def test_phi_stays_defined_on_the_way_into_the_saddle_at_the_origin():
    mu, phi = mu_phi([0.0, 1.0, 1e4], a0=1.0, w0=[-1.0, 0.0], beta_star=[2.0, 0.0])
    np.testing.assert_array_equal(phi, [-1.0, -1.0, -1.0])
    assert mu[0] == 1.0 and mu[2] == 0.0


def test_a_start_on_the_separatrix_runs_into_the_saddle():
    a, w = trajectory([1e3, 1e6], a0=0.0, w0=[0.0, 2.0], beta_star=[1.0, 0.0])
    np.testing.assert_array_equal(a, 0.0)
    np.testing.assert_array_equal(w, [[0.0, 2.0], [0.0, 2.0]])


def test_float32_stays_float32_and_python_numbers_give_float64():
    a, w = trajectory(np.float32(1), A0.astype(np.float32), W0.astype(np.float32), [1.0, 2.0, 3.0], 0.5)
    assert a.dtype == w.dtype == np.float32
    a, w = trajectory(1, 2, [1, 0], [0, 3])
    assert a.dtype == w.dtype == np.float64


def test_torch_agrees_with_numpy():
    start = (A0, W0, STAR, ETA_A, ETA_W)
    tensors = tuple(torch.as_tensor(x) for x in start)
    pairs = zip(
        [*trajectory(TIMES, *tensors), *mu_phi(TIMES, *tensors), separatrix_distance(*tensors)],
        [*trajectory(TIMES, *start), *mu_phi(TIMES, *start), separatrix_distance(*start)],
        strict=True,
    )
    for tensor, array in pairs:
        assert isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float64
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-13, atol=1e-14)
    assert torch.equal(crossing_time(*tensors).isinf(), torch.as_tensor(np.isinf(crossing_time(*start))))


def everything(t, a0, w0, beta_star, eta_a, eta_w):
    start = (a0, w0, beta_star, eta_a, eta_w)
    return *trajectory(t, *start), *mu_phi(t, *start), separatrix_distance(*start), crossing_time(*start)


def tensors(*values, dtype=torch.float64, grad=False):
    return [torch.tensor(value, dtype=dtype, requires_grad=grad) for value in values]


def test_gradients_are_right():
    inputs = tensors(
        [0.3, 2.0], [0.1, 0.02], [[-1.0, 0.2], [-0.5, 0.7]], [1.0, 0.5], 0.7, [1.0, 1.5], grad=True
    )
    assert torch.isfinite(crossing_time(*inputs[1:])).all()
    assert torch.autograd.gradcheck(everything, inputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("beta_star", [[1.0, 0.0], [1e-12, 0.0], [1e12, 0.0], [3e-5, 4e-5]])
def test_gradients_are_finite_at_every_edge(beta_star, dtype):
    starts = [(0.0, [0.0, 1.0]), (0.0, [1.0, 0.0]), (1.0, [0.0, 0.0]), (1.0, [-1.0, 0.0]), (1.0, [1.0, 0.0])]
    starts += [
        (-1.0, [1.0, 0.0]),
        (1.0, [-2.0, 0.0]),
        (1e6, [1e-18, 0.0]),
        (1e-18, [1e6, 1e3]),
        (0.5, [0.3, 0.4]),
    ]
    for t in ([0.0], [0.0, 1e-12, 1.0, 30.0, 1e6]):
        for a0, w0 in starts:
            inputs = tensors(t, a0, w0, beta_star, 1.0, 1.0, dtype=dtype, grad=True)
            for output in everything(*inputs):
                total = output[torch.isfinite(output)].sum()
                gradients = torch.autograd.grad(total, inputs, allow_unused=True, retain_graph=True)
                assert all(torch.isfinite(g).all() for g in gradients if g is not None), (a0, w0)


def test_gradients_are_finite_at_the_origin():
    inputs = tensors([0.0, 1.0], 0.0, [0.0, 0.0], [1.0, 2.0], 1.0, 1.0, grad=True)
    a, w = trajectory(*inputs)
    gradients = torch.autograd.grad(a.sum() + w.sum(), inputs[1:4])
    assert all(torch.isfinite(g).all() for g in gradients)


def test_vmap_and_compile_give_the_same():
    inputs = [torch.as_tensor(x) for x in (A0[:4], W0[:4], STAR[:4], ETA_A[:4], ETA_W[:4])]
    times = torch.as_tensor(TIMES)
    direct = everything(times, *inputs)
    mapped = torch.func.vmap(lambda *start: everything(times, *start))(*inputs)
    compiled = torch.compile(trajectory, fullgraph=True, backend="aot_eager")(times, *inputs)
    for one, two in [*zip(direct, mapped, strict=True), *zip(direct[:2], compiled, strict=True)]:
        torch.testing.assert_close(two, one, rtol=1e-13, atol=1e-13)


GOOD = {"t": 1.0, "a0": 1.0, "w0": [1.0, 0.0], "beta_star": [0.0, 1.0], "eta_a": 1.0, "eta_w": 1.0}


@pytest.mark.parametrize(
    "bad, error, message",
    [
        ({"t": -1.0}, ValueError, "t must be finite and non-negative"),
        ({"t": [0.0, np.inf]}, ValueError, "t must be .* index 1"),
        ({"t": [[0.0]]}, ValueError, "t must be a number or a vector"),
        ({"a0": [1.0, np.nan, np.nan]}, ValueError, "a0 must be finite; it is not at index 1, 2"),
        ({"w0": [[1.0, 0.0], [np.inf, 0.0]]}, ValueError, "w0 must be finite; it is not at index 1"),
        ({"beta_star": [[0.0, 0.0], [1.0, 0.0]]}, ValueError, "beta_star must be a non-zero vector.*index 0"),
        ({"eta_a": 0.0}, ValueError, "eta_a must be positive"),
        ({"eta_w": [1.0, -1.0]}, ValueError, "eta_w must be positive and finite; it is not at index 1"),
        ({"w0": [1.0, 0.0, 0.0]}, ValueError, "w0 and beta_star must have the same number"),
        ({"w0": 1.0}, ValueError, "w0 must be a vector"),
        (
            {"a0": [1.0, 2.0], "eta_a": [1.0, 1.0, 1.0]},
            ValueError,
            "eta_a has batch shape .3,., which does not",
        ),
        ({"beta_star": [0.0, 1e-200]}, ValueError, "beta_star must be of a size"),
        ({"a0": 1j}, TypeError, "a0 must be real"),
        ({"w0": np.array([1.0, 0.0], dtype=np.float16)}, TypeError, "w0 must hold real numbers"),
        ({"beta_star": ["x", "y"]}, TypeError, "beta_star must hold real numbers"),
    ],
)
def test_bad_input_is_named(bad, error, message):
    for function in (trajectory, mu_phi):
        with pytest.raises(error, match=message):
            function(**{**GOOD, **bad})
    if "t" not in bad:
        without_time = {name: value for name, value in {**GOOD, **bad}.items() if name != "t"}
        for function in (basin, separatrix_distance, crossing_time):
            with pytest.raises(error, match=message):
                function(**without_time)


def test_complex_tensors_are_refused():
    with pytest.raises(TypeError, match="w0 must be real"):
        trajectory(1.0, 1.0, torch.ones(2, dtype=torch.complex64), torch.ones(2))


def test_phi_of_a_start_at_the_origin_is_refused():
    with pytest.raises(ValueError, match=r"w0 must be non-zero where a0 = 0.*index 1"):
        mu_phi(1.0, [1.0, 0.0], [0.0, 0.0], [1.0, 0.0])
    _, phi = mu_phi(1.0, [1.0, 0.0], [0.0, 0.0], [1.0, 0.0], check=False)
    assert phi[0] == 1.0 and np.isnan(phi[1])


@pytest.mark.parametrize("bad", [{"t": -1.0}, {"eta_a": -1.0}, {"eta_w": 0.0}, {"beta_star": [0.0, 0.0]}])
def test_without_checks_out_of_domain_is_nan(bad):
    given = {**GOOD, **bad}
    a, w = trajectory(**given, check=False)
    assert np.isnan(a) and np.isnan(w).all()
    assert np.isnan(mu_phi(**given, check=False)).all()
    if "t" not in bad:
        start = {name: value for name, value in given.items() if name != "t"}
        for function in (basin, separatrix_distance, crossing_time):
            assert np.isnan(function(**start, check=False))
