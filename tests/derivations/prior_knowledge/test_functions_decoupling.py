"""A^T A of decoupling modes: against integration, many digits, the explicit form for two modes, and its own peak."""

import mpmath as mp
import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from derivations.prior_knowledge import ata, ata_2x2, offdiagonal_peak


def exact(t, gram0, s, digits=400):
    """[e^(-St) G0^-1 e^(-St) + (1 - e^(-2St)) S^-1]^-1 for positive definite G0 and s > 0."""
    with mp.workdps(digits):
        G = mp.matrix([[mp.mpf(float(x)) for x in row] for row in gram0])
        fall = mp.diag([mp.exp(-mp.mpf(float(x)) * mp.mpf(float(t))) for x in s])
        rest = mp.diag([-mp.expm1(-2 * mp.mpf(float(x)) * mp.mpf(float(t))) / mp.mpf(float(x)) for x in s])
        found = (fall * G**-1 * fall + rest) ** -1
        return np.array(found.tolist(), dtype=float)


def definite(rng, size, scale=1.0):
    factor = rng.normal(size=(size, size + 1))
    return scale * factor @ factor.T


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_it_solves_the_equation_of_the_weights_also_in_a_bottleneck(rank):
    rng = np.random.default_rng(rank)
    A, s, times = rng.normal(size=(rank, 4)), np.array([1.3, 0.4, 2.0, 0.0]), np.array([0.0, 0.2, 1.0, 3.0])

    def velocity(_, state):
        now = state.reshape(rank, 4)
        return (now @ np.diag(s) - now @ now.T @ now).ravel()

    weights = solve_ivp(velocity, (0, 3), A.ravel(), "DOP853", times, rtol=1e-13, atol=1e-14).y.T
    expected = weights.reshape(-1, rank, 4).swapaxes(1, 2) @ weights.reshape(-1, rank, 4)
    np.testing.assert_allclose(ata(2 * times, A.T @ A, s, tau=2), expected, atol=1e-11)


@pytest.mark.parametrize("t", [0.0, 1e-3, 1.0, 30.0, 300.0])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_it_is_exact_to_rounding_at_all_times_and_sizes_of_the_start(size, t):
    rng = np.random.default_rng(size)
    s = rng.uniform(0.5, 2, size)
    for scale in (1e-30, 1e-4, 1.0, 1e4):
        gram0 = definite(rng, size, scale)
        expected = exact(t, gram0, s, 60 if t < 20 else 700)
        condition = np.linalg.cond(gram0)
        np.testing.assert_allclose(
            ata(t, gram0, s), expected, atol=1e-15 * condition * np.abs(expected).max()
        )


def test_a_mode_that_starts_very_small_is_learned_when_its_time_comes():
    start = np.diag([1.0, 1e-60])
    found = ata([0.0, 60.0, 69.0, 80.0], start, [1.0, 1.0])[:, 1, 1]
    expected = [float(1 / (mp.mpf(10) ** 60 * mp.exp(-2 * t) + 1 - mp.exp(-2 * t))) for t in (0, 60, 69, 80)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_order_of_the_modes_and_of_the_batch_does_not_matter():
    rng = np.random.default_rng(3)
    gram0 = np.stack([definite(rng, 3), np.diag([1.0, 0.0, 2.0])])
    s, order = np.array([[0.5, 2.0, 1.0], [1.0, 1.0, 0.1]]), [2, 0, 1]
    whole = ata([0.3, 2.0], gram0, s)
    assert whole.shape == (2, 2, 3, 3)
    for k in range(2):
        alone = ata([0.3, 2.0], gram0[k][np.ix_(order, order)], s[k, order])
        np.testing.assert_allclose(alone, whole[k][:, order][:, :, order], atol=1e-14)


def test_it_is_a_semigroup_and_ends_at_the_task():
    rng = np.random.default_rng(4)
    gram0, s = definite(rng, 4), np.array([2.0, 0.7, 1.1, 1.1])
    np.testing.assert_allclose(ata(1.3, ata(0.4, gram0, s), s), ata(1.7, gram0, s), atol=1e-13)
    np.testing.assert_allclose(ata(1e4, gram0, s), np.diag(s), atol=1e-14)


@pytest.mark.parametrize(
    "start", [(0.5, 0.1, 0.2), (1e-9, 2e-9, -1e-9), (3.0, 4.0, 1.0), (0.1, 0.4, 0.2), (0, 0.2, 0)]
)
@pytest.mark.parametrize("s", [(2.0, 1.0), (1.0, 1.0), (0.3, 1.5), (1.0, 0.0)])
def test_two_modes_have_the_explicit_solution(start, s):
    times = np.array([0.0, 0.1, 1.0, 8.0, 900.0])
    a1, a2, b = start
    found = ata_2x2(times, a1, a2, b, *s, tau=0.5)
    whole = ata(times, [[a1, b], [b, a2]], s, tau=0.5)
    expected = (whole[:, 0, 0], whole[:, 1, 1], whole[:, 0, 1])
    np.testing.assert_allclose(found, expected, atol=1e-13 * max(1, a1, a2))


def test_without_coupling_each_mode_is_the_logistic_curve():
    times, a, s = np.linspace(0, 4, 9), 0.02, 1.7
    found = ata_2x2(times, a, 0.5, 0.0, s, 1.0)[0]
    np.testing.assert_allclose(found, s * a / (np.exp(-2 * s * times) * (s - a) + a), rtol=1e-13)


@pytest.mark.parametrize("start", [(0.3, 0.2, 0.1), (1e-8, 3e-8, 1e-8), (0.45, 0.5, -0.4)])
def test_the_peak_is_where_the_coupling_is_largest(start):
    s, tau = 1.2, 3.0
    peak = float(offdiagonal_peak(*start, s=s, tau=tau))
    largest = minimize_scalar(
        lambda t: -abs(float(ata_2x2(t, *start, s, s, tau)[2])),
        bounds=(0.3 * peak, 2 * peak),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert peak == pytest.approx(largest.x, rel=1e-6)
    printed = tau / (4 * s) * np.log(s * (s - start[0] - start[1]) / (start[0] * start[1] - start[2] ** 2))
    assert (abs(printed / peak - 1) > 0.01) == (start[0] > 0.01)


def test_the_peak_of_very_small_starts_keeps_its_digits():
    a1, a2, b, s = 1e-150, 3e-150, 1e-150, 1.5
    with mp.workdps(50):
        a, c, e = (mp.mpf(x) for x in (a1, a2, b))
        expected = float(mp.log(1 + s * (s - a - c) / (a * c - e * e)) / (4 * mp.mpf(s)))
    assert float(offdiagonal_peak(a1, a2, b, s)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("start", [(0.7, 0.6, 0.2), (0.2, 0.3, 0.0), (0.4, 0.1, 0.2)])
def test_without_a_peak_the_time_is_infinite_and_the_coupling_monotonic(start):
    assert float(offdiagonal_peak(*start, s=1.0)) == np.inf
    steps = np.diff(np.abs(ata_2x2(np.linspace(0, 5, 200), *start, 1.0, 1.0)[2]))
    assert (steps <= 0).all() or (steps >= 0).all()


def test_tensors_are_differentiable_and_agree_with_arrays():
    gram0 = torch.tensor([[0.6, 0.2], [0.2, 0.3]], dtype=torch.float64, requires_grad=True)
    s = torch.tensor([1.5, 0.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda g, s: ata(1.0, (g + g.T) / 2, s), (gram0, s))
    t = torch.tensor([0.5, 2.0], dtype=torch.float64)
    np.testing.assert_allclose(
        ata(t, gram0, s).detach(), ata([0.5, 2.0], gram0.detach().numpy(), [1.5, 0.5]), rtol=1e-13
    )
    two = ata_2x2(torch.tensor(0.7, dtype=torch.float32), 0.6, 0.3, 0.2, 1.5, 0.5)
    assert all(x.dtype == torch.float32 for x in two)
    assert offdiagonal_peak(torch.tensor([0.1, 0.9]), 0.2, 0.1, 1.0).isinf().tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ata(-1.0, [[1.0]], [1.0]), "t must be finite and non-negative"),
        (lambda: ata(1.0, [[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0]), "gram0 must be positive semi-definite"),
        (lambda: ata(1.0, [[1.0, 0.5], [0.0, 1.0]], [1.0, 1.0]), "gram0 must be symmetric"),
        (lambda: ata(1.0, [[1.0]], [1.0, 2.0]), "s must have one entry a mode, 1 for gram0; it has 2"),
        (lambda: ata(1.0, np.eye(2), [[1.0, 2.0], [1.0, -2.0]]), "s must be .* it is not at index 1"),
        (lambda: ata(1.0, [[1.0]], [1.0], tau=0.0), "tau must be positive"),
        (lambda: ata_2x2(1.0, 1.0, 1.0, [0.5, 2.0], 1.0, 1.0), "b must be at most .* it is not at index 1"),
        (lambda: offdiagonal_peak(1.0, -1.0, 0.0, 1.0), "a2 must be finite and non-negative"),
        (
            lambda: offdiagonal_peak(0.1, 0.1, 0.0, [1.0, 0.0]),
            "s must be positive and finite; it is not at index 1",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
