"""The implicit bias against integrated gradient flow, with and without a sign change of a."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from derivations.single_neuron import implicit_bias, nullspace_alpha


def flow_end(X, y, a0, w0, eta_a=1.0, eta_w=1.0):
    """(a, beta) where gradient flow on |X a w - y|^2 / 2 has fitted the data to 1e-11."""

    def velocity(_, state):
        a, w = state[0], state[1:]
        pull = X.T @ (y - X @ w * a)
        return np.concatenate([[eta_a * (w @ pull)], eta_w * a * pull])

    def fitted(_, state):
        return np.linalg.norm(y - X @ state[1:] * state[0]) - 1e-11

    fitted.terminal = True
    start = np.concatenate([[a0], w0])
    run = solve_ivp(velocity, (0, 1e5), start, method="LSODA", events=fitted, rtol=1e-12, atol=1e-14)
    assert run.status == 1
    return run.y[0, -1], run.y[0, -1] * run.y[1:, -1]


def test_implicit_bias_is_where_gradient_flow_ends():
    rng = np.random.default_rng(0)
    changes = 0
    for trial in range(30):
        n = rng.integers(1, 4)
        X = rng.normal(size=(n, n + rng.integers(1, 3)))
        y, w0 = rng.normal(size=n), rng.normal(size=X.shape[1])
        eta_a, eta_w = np.exp(0.7 * rng.normal(size=2))
        a0 = rng.normal() if trial % 3 == 0 else -np.sign(w0 @ X.T @ y) * abs(0.3 * rng.normal())
        a, beta = flow_end(X, y, a0, w0, eta_a, eta_w)
        np.testing.assert_allclose(
            implicit_bias(X, y, a0, w0, eta_a, eta_w), beta, rtol=0, atol=1e-9 + 1e-9 * abs(a)
        )
        changes += a * a0 < 0
    assert 8 <= changes <= 25


def test_with_orthogonal_rows_the_sign_is_known_in_closed_form():
    rng = np.random.default_rng(1)
    X = np.linalg.qr(rng.normal(size=(4, 2)))[0].T * 1.7
    y = rng.normal(size=2)
    for a0 in (0.01, 0.3, 0.6, 2.0):
        w0 = -2 * X.T @ y / np.linalg.norm(y) + np.array([0.3, 0.1, -0.2, 0.5])
        np.testing.assert_allclose(implicit_bias(X, y, a0, w0), flow_end(X, y, a0, w0)[1], rtol=0, atol=1e-9)


def test_with_full_rank_the_end_is_the_least_squares_solution():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(5, 3, 3)), rng.normal(size=(5, 3))
    solution = np.linalg.solve(X, y[..., None])[..., 0]
    np.testing.assert_allclose(implicit_bias(X, y, 0.1, np.ones(3)), solution, rtol=1e-11)


def test_zero_targets_end_at_zero_output():
    X = np.array([[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(implicit_bias(X, [0.0], 0.5, [1.0, 0.0, 1.0]), np.zeros(3), atol=1e-15)
    a_end = np.sqrt(2.0**2 - 1.0**2)
    np.testing.assert_allclose(
        implicit_bias(X, [0.0], 2.0, [1.0, 0.0, 1.0]), [0, 0, a_end], rtol=1e-15, atol=1e-15
    )


def test_a_batch_is_a_loop_and_torch_agrees():
    rng = np.random.default_rng(3)
    X, y, a0, w0 = (
        rng.normal(size=(6, 2, 4)),
        rng.normal(size=(6, 2)),
        rng.normal(size=6) / 5,
        rng.normal(size=4),
    )
    batch = implicit_bias(X, y, a0, w0, 0.5)
    for i in range(6):
        np.testing.assert_allclose(batch[i], implicit_bias(X[i], y[i], a0[i], w0, 0.5), rtol=1e-13)
    tensor = implicit_bias(*map(torch.as_tensor, (X, y, a0, w0)), 0.5)
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_allclose(tensor.numpy(), batch, rtol=1e-12)
    single = implicit_bias(*(x.astype(np.float32) for x in (X, y, a0, w0)), 0.5)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, batch, rtol=1e-4, atol=1e-4)


def test_gradients_are_right_also_after_a_sign_change():
    X = torch.tensor([[1.0, 0.2, -0.3], [0.1, 0.9, 0.4]], dtype=torch.float64, requires_grad=True)
    values = ([1.0, 0.5], [0.1, 2.0], [-1.0, -0.8, 0.7], 0.6, 1.4)
    others = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    assert torch.autograd.gradcheck(implicit_bias, [X, *others])


def test_inside_vmap_one_sample_needs_no_integration():
    X, y, w0 = torch.tensor([[1.0, 0.5, 0.0]]), torch.tensor([1.0]), torch.tensor([-1.0, 0.0, 1.0])
    a0 = torch.tensor([0.05, 0.5, 2.0])
    mapped = torch.func.vmap(lambda a: implicit_bias(X, y, a, w0))(a0)
    torch.testing.assert_close(mapped, implicit_bias(X, y, a0, w0))


SAMPLES = np.array([[1.0, 0.2, -0.3], [0.1, 0.9, 0.4]])
TARGETS = np.array([1.0, 0.5])
SADDLE_W0 = np.cross(SAMPLES.T @ TARGETS, [0.3, -0.5, 1.0])


def test_a_start_on_the_manifold_of_the_saddle_raises():
    with pytest.raises(ValueError, match="off the manifold of the saddle"):
        implicit_bias(SAMPLES, TARGETS, 0.0, SADDLE_W0)
    with pytest.raises(ValueError, match=r"a0 and w0 must be off the manifold of the saddle.*index 1"):
        implicit_bias(SAMPLES, TARGETS, [1.0, 1e-12], SADDLE_W0)
    with pytest.raises(ValueError, match="saddle"):
        implicit_bias([[2.0]], [1.0], 1.0, [-1.0])
    assert np.isnan(implicit_bias(SAMPLES, TARGETS, 0.0, SADDLE_W0, check=False)).all()


@pytest.mark.parametrize("a0", [1e-5, -1e-5])
def test_just_off_the_manifold_the_sign_is_certified(a0):
    a, beta = flow_end(SAMPLES, TARGETS, a0, SADDLE_W0)
    assert a * a0 > 0
    np.testing.assert_allclose(implicit_bias(SAMPLES, TARGETS, a0, SADDLE_W0), beta, rtol=0, atol=1e-8)


GOOD = {"X": [[1.0, 0.0, 0.0]], "y": [1.0], "a0": 1.0, "w0": [0.0, 1.0, 0.0]}


@pytest.mark.parametrize(
    "bad, error, message",
    [
        ({"X": [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], "y": [1.0, 2.0]}, ValueError, "X must be of rank n = 2"),
        ({"X": np.ones((4, 3)), "y": np.ones(4)}, ValueError, "n = 4 rows and d = 3 columns"),
        ({"X": [1.0, 0.0, 0.0]}, ValueError, "X must be a matrix"),
        ({"X": [[np.nan, 0.0, 0.0]]}, ValueError, "X must be finite"),
        ({"X": [[1j, 0.0, 0.0]]}, TypeError, "X must be real"),
        ({"y": [1.0, 2.0]}, ValueError, "y must have one target per row of X, 1"),
        ({"y": [np.inf]}, ValueError, "y must be finite"),
        ({"w0": [1.0, 2.0]}, ValueError, "w0 must have one component per column of X, 3"),
        ({"a0": [np.nan, 1.0]}, ValueError, "a0 must be finite; it is not at index 0"),
        ({"a0": [1.0, 1.0], "w0": np.ones((3, 3))}, ValueError, "w0 has batch shape"),
        ({"eta_a": 0.0}, ValueError, "eta_a must be positive"),
        ({"eta_w": -1.0}, ValueError, "eta_w must be positive"),
    ],
)
def test_bad_data_is_named(bad, error, message):
    with pytest.raises(error, match=message):
        implicit_bias(**{**GOOD, **bad})


def test_without_checks_singular_data_is_nan():
    X = np.array([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    beta = implicit_bias(X, [1.0, 2.0], 1.0, [1.0, 1.0], check=False)
    assert np.isnan(beta[0]).all()
    np.testing.assert_allclose(beta[1], [1.0, 2.0])


def one_dimensional_problem(rng, d):
    X = rng.normal(size=(d - 1, d))
    v = np.linalg.svd(X)[2][-1]
    beta_star = np.linalg.pinv(X) @ rng.normal(size=d - 1)
    return X, beta_star, v


def test_nullspace_alpha_is_the_implicit_bias_along_the_null_direction():
    rng = np.random.default_rng(4)
    changes = 0
    for d in (2, 3, 4):
        for _ in range(12):
            X, beta_star, v = one_dimensional_problem(rng, d)
            a0, w0 = 0.5 * rng.normal(), rng.normal(size=d)
            a, beta = flow_end(X, X @ beta_star, a0, w0)
            changes += a * a0 < 0
            alpha = nullspace_alpha(beta_star, v, a0, w0, sign=np.sign(a))
            assert abs(alpha - v @ beta) < 1e-9 * (1 + abs(a))
            by_default = nullspace_alpha(beta_star, v, a0, w0)
            assert by_default == np.sign(a * a0) * alpha
    assert changes >= 4


def test_nullspace_alpha_solves_the_equation_of_the_paper():
    rng = np.random.default_rng(5)
    _, beta_star, v = one_dimensional_problem(rng, 3)
    a0, w0 = rng.normal(size=20), 2 * rng.normal(size=(20, 3))
    alpha = nullspace_alpha(beta_star, v, a0, w0)
    delta, beta0 = a0**2 - (w0**2).sum(-1), a0[:, None] * w0
    size0 = np.linalg.norm(beta0, axis=-1)
    k = np.sqrt(np.hypot(size0, delta / 2) - delta / 2) * (beta0 @ v) / size0
    size = np.sqrt(beta_star @ beta_star + alpha**2)
    np.testing.assert_allclose(np.sqrt(np.hypot(size, delta / 2) - delta / 2) * alpha / size, k, rtol=1e-10)


def test_nullspace_alpha_names_bad_input():
    beta_star, v = [2.0, 0.0], [0.0, 1.0]
    with pytest.raises(ValueError, match="v must be a unit vector"):
        nullspace_alpha(beta_star, [0.0, 2.0], 1.0, [1.0, 1.0])
    with pytest.raises(ValueError, match="v must be orthogonal to beta_star"):
        nullspace_alpha(beta_star, [1.0, 0.0], 1.0, [1.0, 1.0])
    with pytest.raises(ValueError, match=r"a0 must be non-zero unless .*index 1"):
        nullspace_alpha(beta_star, v, [1.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"sign must be \+1 or -1"):
        nullspace_alpha(beta_star, v, 1.0, [1.0, 1.0], sign=0.5)
    with pytest.raises(ValueError, match="same number of components"):
        nullspace_alpha(beta_star, v, 1.0, [1.0, 1.0, 1.0])
    assert nullspace_alpha(beta_star, v, 0.0, [1.0, 1.0], sign=-1) < 0
    without_sign = nullspace_alpha(beta_star, v, [1.0, 0.0], [1.0, 1.0], check=False)
    assert without_sign[0] > 0 and np.isnan(without_sign[1])
    assert np.isnan(nullspace_alpha(beta_star, v, 1.0, [1.0, 1.0], sign=0.5, check=False))
