"""The regime decided before training, against networks that are trained."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import sympy
import torch
from scipy.integrate import solve_ivp

from derivations.wide_linear import preconditioner, regime
from numerics.measures.kernels import kernel_distance


def start(rng, h, d, c, deltas, size):
    """Weights of the given balances with |beta_k| = size and independent directions, and their beta_k."""
    a, w = rng.normal(size=(h, c)), rng.normal(size=(h, d))
    a, w = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, w))
    larger = (np.hypot(deltas, 2 * size) + np.abs(deltas)) / 2
    smaller = size**2 / larger
    up = np.asarray(deltas) >= 0
    A = a * np.sqrt(np.where(up, larger, smaller))[:, None]
    W = w * np.sqrt(np.where(up, smaller, larger))[:, None]
    return A, W, W[:, :, None] * A[:, None, :]


def train(A, W, beta_star, times):
    """Kernel distance from the start and loss at the given times, under gradient flow on whitened data."""
    split, shapes = A.size, (A.shape, W.shape)

    def layers(state):
        return state[:split].reshape(shapes[0]), state[split:].reshape(shapes[1])

    def velocity(_, state):
        a, w = layers(state)
        gradient = w.T @ a - beta_star
        return np.concatenate([(-w @ gradient).ravel(), (-a @ gradient.T).ravel()])

    state = np.concatenate([A.ravel(), W.ravel()])
    path = solve_ivp(velocity, (0, times[-1]), state, "LSODA", times, rtol=1e-8, atol=1e-10).y.T
    found = [layers(x) for x in path]
    kernels = np.stack([preconditioner(a, w) for a, w in found])
    losses = np.array([0.5 * ((w.T @ a - beta_star) ** 2).sum() for a, w in found])
    return kernel_distance(kernels, preconditioner(A, W)), losses


def unit_task(rng, d, c):
    beta_star = rng.normal(size=(d, c))
    return beta_star / np.linalg.norm(beta_star)


CASES = [
    ((2, 4, 2), 30.0, "lazy"),
    ((2, 4, 2), -30.0, "delayed rich"),
    ((2, 2, 4), 30.0, "delayed rich"),
    ((2, 2, 4), -30.0, "lazy"),
    ((4, 4, 3), 30.0, "lazy"),
    ((4, 4, 3), -30.0, "lazy"),
    ((1, 3, 1), 30.0, "lazy"),
    ((1, 3, 1), -30.0, "delayed rich"),
    ((1, 1, 3), -30.0, "lazy"),
    ((3, 2, 2), 0.0, "rich"),
    ((2, 4, 2), 0.0, "rich"),
    ((2, 2, 3), 0.1, "rich"),
]


@pytest.mark.parametrize(("shape", "delta", "expected"), CASES)
def test_narrowing_expanding_and_wide_networks_learn_as_foretold(shape, delta, expected):
    rng = np.random.default_rng(2)
    h, d, c = shape
    deltas = delta * (1 + 0.2 * rng.random(h))
    A, W, beta_k = start(rng, h, d, c, deltas, 0.3)
    beta_star = unit_task(rng, d, c)
    assert regime(h, d, c, deltas, beta_k, beta_star) == expected
    limit = np.sign(delta) * np.inf if delta > 1 or delta < -1 else delta
    assert regime(h, d, c, [limit] * h, beta_k, beta_star) == expected
    early = 20 / max(abs(delta), 1)
    distance, loss = train(A, W, beta_star, np.array([0.0, early, 1000 * max(1, abs(delta))]))
    assert loss[-1] < 1e-2
    if expected == "lazy":
        assert distance.max() < 1e-2 and loss[1] < 1e-3 * loss[0]
    elif expected == "rich":
        assert distance[-1] > 0.02
    else:
        assert distance[1] < 0.05 * distance[-1] and distance[-1] > 0.1
        assert loss[1] > 1e-3


def test_random_networks_are_lazy_if_and_only_if_the_function_says_so():
    rng = np.random.default_rng(1)
    counts = {"lazy": 0, "rich": 0, "delayed rich": 0}
    for _ in range(60):
        h, d, c = rng.integers(1, 5, 3)
        magnitude = 10 ** rng.uniform(-1.5, 1.7)
        signs = [np.ones(h), -np.ones(h), rng.choice([-1, 1], h), np.zeros(h)][rng.integers(4)]
        deltas = signs * magnitude * (1 + 0.3 * rng.random(h))
        A, W, beta_k = start(rng, h, d, c, deltas, 10 ** rng.uniform(-2, 0.5))
        beta_star = unit_task(rng, d, c)
        distance, _ = train(A, W, beta_star, np.array([0.0, 3e3 * max(1, magnitude)]))
        if d * c == 1 or 0.003 < distance[-1] < 0.04:
            continue
        foretold = regime(h, d, c, deltas, beta_k, beta_star)
        assert (foretold == "lazy") == (distance[-1] < 0.02), (h, d, c, deltas)
        counts[foretold] += 1
    assert min(counts.values()) >= 8


def test_crafted_tasks_inside_the_span_are_lazy_where_generic_ones_are_not():
    rng = np.random.default_rng(0)
    A, W, beta_k = start(rng, 2, 4, 3, [-50.0, -50.0], 0.2)
    inside = W.T @ rng.normal(size=(2, 3))
    inside /= np.linalg.norm(inside)
    assert regime(2, 4, 3, [-50, -50], beta_k, inside) == "lazy"
    assert train(A, W, inside, np.array([0.0, 1e4]))[0][-1] < 1e-3
    across = np.linalg.qr(np.concatenate([W, np.eye(4)]).T)[0][:, 2:]
    outside = 0.3 * inside + across @ unit_task(rng, 2, 3)
    assert regime(2, 4, 3, [-50, -50], beta_k, outside) == "delayed rich"
    assert train(A, W, outside, np.array([0.0, 1e5]))[0][-1] > 0.03


def test_neurons_of_both_signs_share_the_task():
    """One neuron keeps its row, the other its column: lazy if beta* is of the form x a^T + w y^T."""
    rng = np.random.default_rng(3)
    A, W, beta_k = start(rng, 2, 3, 3, [60.0, -60.0], 0.2)
    mixed = np.outer(rng.normal(size=3), A[0]) + np.outer(W[1], rng.normal(size=3))
    mixed /= np.linalg.norm(mixed)
    assert np.linalg.matrix_rank(mixed) == 2
    assert regime(2, 3, 3, [60, -60], beta_k, mixed) == "lazy"
    assert regime(2, 3, 3, [60, 60], beta_k, mixed) == "delayed rich"
    assert train(A, W, mixed, np.array([0.0, 1e4]))[0][-1] < 1e-2
    generic = unit_task(rng, 3, 3)
    assert regime(2, 3, 3, [60, -60], beta_k, generic) == "delayed rich"


@pytest.mark.parametrize("sign", [1, -1])
def test_balances_that_grow_at_different_rates_are_lazy(sign):
    """δ = (D³, D²) and D: the kernel distance falls as 1/D⁴ at least, where the large layer can solve the task."""
    distances = []
    for size in (4.0, 8.0, 16.0):
        rng = np.random.default_rng(1)
        shape = (3, 3, 2) if sign > 0 else (3, 2, 3)
        A, W, _ = start(rng, *shape, sign * np.array([size**3, size, size**2]), np.ones(3))
        found, loss = train(A, W, rng.normal(size=shape[1:]), np.array([0.1, 1, 10, 100]) / size)
        assert loss[-1] < 1e-12
        distances.append(max(found))
    assert distances[1] < distances[0] / 16 and distances[2] < distances[1] / 16


def test_balanced_networks_of_large_scale_are_lazy():
    rng = np.random.default_rng(0)
    A, W, beta_k = start(rng, 6, 3, 2, np.zeros(6), 30.0)
    A, W = np.concatenate([A, -A]), np.concatenate([W, W])
    beta_k = np.concatenate([beta_k, -beta_k])
    beta_star = unit_task(rng, 3, 2)
    assert regime(12, 3, 2, np.zeros(12), beta_k, beta_star) == "lazy"
    assert train(A, W, beta_star, np.array([0.0, 1e2]))[0][-1] < 1e-3
    assert regime(12, 3, 2, np.zeros(12), beta_k / 1e4, beta_star) == "rich"


def test_rational_input_is_decided_exactly():
    """A remainder of 10^-30 counts, and 1/3 + 1/3 + 1/3 is 1."""
    tiny, third = Fraction(1, 10**30), sympy.Rational(1, 3)
    rows = [[[1, 0], [0, 0]]]
    assert regime(1, 2, 2, [1000], rows, [[third, 0], [1, 0]]) == "lazy"
    assert regime(1, 2, 2, [1000], rows, [[third, tiny], [1, 0]]) == "delayed rich"
    assert regime(1, 2, 2, [1000], rows, [[1 / 3, 1e-30], [1.0, 0.0]]) == "lazy"
    spread = [[[third, 2 * third], [0, 0]], [[1, 1], [1, 1]]]
    assert regime(2, 2, 2, [np.inf, np.inf], spread, [[1, 2], [5, Fraction(7, 11)]]) == "lazy"
    parallel = [[[third, 2 * third], [0, 0]], [[1, 2], [2, 4]]]
    assert regime(2, 2, 2, [np.inf, np.inf], parallel, [[1, 2], [5, 10]]) == "lazy"
    assert regime(2, 2, 2, [np.inf, np.inf], parallel, [[1, 2], [5, 11]]) == "delayed rich"


def linearised_change(deltas, W, A, beta_star):
    """|K - K0| / |K0| at the end of linearised training from w_k a_k^T, with digits enough for balances of any size."""
    c, d = len(A[0]), len(W[0])
    rows, columns = [], []
    for delta, w, a in zip(deltas, W, A, strict=True):
        size = mp.norm(w) * mp.norm(a)
        larger = mp.sqrt((mp.sqrt(mp.mpf(delta) ** 2 + 4 * size**2) + abs(delta)) / 2)
        of_a, of_w = (larger, size / larger) if delta >= 0 else (size / larger, larger)
        rows.append([of_a * x / mp.norm(a) for x in a])
        columns.append([of_w * x / mp.norm(w) for x in w])
    a, w = mp.matrix(rows), mp.matrix(columns)
    C, D = a.T * a, w.T * w
    (c_values, c_axes), (d_values, d_axes) = mp.eigsy(C), mp.eigsy(D)
    modes = d_axes.T * (mp.matrix(beta_star) - w.T * a) * c_axes
    floor = mp.mpf(10) ** (-mp.mp.dps // 2)
    for i in range(d):
        for j in range(c):
            rate = d_values[i] + c_values[j]
            modes[i, j] = modes[i, j] / rate if rate > floor else 0
    force = d_axes * modes * c_axes.T
    after_a, after_w = a + w * force, w + a * force.T

    def square(C, D):
        trace = sum(C[i, i] for i in range(c)) * sum(D[i, i] for i in range(d))
        return d * mp.mnorm(C, "f") ** 2 + c * mp.mnorm(D, "f") ** 2 + 2 * trace

    return mp.sqrt(square(after_a.T * after_a - C, after_w.T * after_w - D) / square(C, D))


@pytest.mark.parametrize("growth", [1e4, 1e8, 1e12, 1e100, np.inf])
def test_balances_that_grow_next_to_finite_ones_change_the_kernel_as_exact_arithmetic_says(growth):
    """Small integer vectors are often dependent, so that some parts are fitted late and some never."""
    rng = np.random.default_rng(7)
    seen = {"lazy": 0, "changed": 0}
    for _ in range(40):
        h, d, c = rng.integers(2, 4), *rng.integers(2, 5, 2)
        W, A = (rng.integers(-1, 2, (h, n)) for n in (d, c))
        W[~W.any(1), 0] = A[~A.any(1), 0] = 1
        beta_star = rng.integers(-3, 4, (d, c))
        signs = np.append(rng.choice([-1, 0, 1], h - 1), 0)
        finite = np.append(rng.choice([0.0, 0.5, -1.0], h - 1), 0.0)
        signs[0] = signs[0] or 1
        beta_k = W[:, :, None] * A[:, None, :]
        deltas = np.where(signs, signs * growth, finite) if growth < np.inf else finite.copy()
        deltas[signs > 0], deltas[signs < 0] = growth, -growth
        with mp.workdps(400):
            stand_in = [float(np.clip(x, -1e100, 1e100)) for x in deltas]
            change = float(linearised_change(stand_in, W.tolist(), A.tolist(), beta_star.tolist()))
        arguments = (int(h), int(d), int(c), deltas, beta_k, beta_star)
        assert regime(*arguments, kernel_tolerance=change * (1 + 1e-5) + 1e-9) == "lazy"
        seen["changed" if change > 1e-2 else "lazy"] += 1
        if change > 1e-7:
            assert regime(*arguments, kernel_tolerance=change * (1 - 1e-5)) == "rich"
    assert min(seen.values()) >= 8


def test_one_infinite_balance_leaves_the_rest_of_a_batch_alone():
    """The second neuron, balanced, learns what the first has no room for, and next to the first that is little."""
    row = [[1, 0], [0, 0], [0, 0]]
    task = [[1, 0], [2, 0], [3, 0]]
    for infinite in (np.inf, 1e12, 1e300):
        found = regime(2, 3, 2, [[1.0, 1.0], [infinite, 0.0], [-infinite, 0.0]], [row, row], task)
        assert found.tolist() == ["rich", "lazy", "lazy"]


def test_what_only_the_smaller_weights_of_an_infinite_neuron_can_fit_makes_it_turn():
    first, second = [[1, 0], [0, 0], [0, 0]], [[0, 0], [0, 1], [0, 0]]
    for infinite in (np.inf, 1e6, 1e9, 1e12, 1e300):
        deltas = [-infinite, 0.0]
        assert regime(2, 3, 2, deltas, [first, second], [[1, 0], [0, 1], [3, 0]]) == "rich"
        assert regime(2, 3, 2, deltas, [first, second], [[1, 5], [7, 1], [0, 3]]) == "lazy"


@pytest.mark.parametrize("exponent", [-280, -170, -150, 150, 170, 280])
def test_scaling_the_task_and_the_start_leaves_the_regime_alone(exponent):
    """beta -> s beta, delta -> s delta; and eta -> s eta, delta -> s delta."""
    rng = np.random.default_rng(5)
    seen = set()
    for delta in (0.0, 1.0, -1.0, 1e2, -1e2):
        for size in (0.1, 100.0):
            beta_k = rng.normal(size=(2, 3, 1)) * rng.normal(size=(2, 1, 2)) * size
            deltas, beta_star = np.array([delta, delta / 3]), rng.normal(size=(3, 2))
            expected, s = regime(2, 3, 2, deltas, beta_k, beta_star), 10.0**exponent
            assert regime(2, 3, 2, s * deltas, s * beta_k, s * beta_star) == expected
            assert regime(2, 3, 2, s * deltas, beta_k, beta_star, eta_a=s, eta_w=s) == expected
            seen.add(expected)
    assert seen == {"lazy", "rich", "delayed rich"}


def test_a_remainder_within_the_tolerance_does_not_count_however_small_the_start():
    """Trained, the kernel turns by an angle of the size of the remainder, though linearised by far more."""
    rng = np.random.default_rng(4)
    A, W, beta_k = start(rng, 1, 3, 2, np.array([60.0]), 0.01)
    along = A[0] / np.linalg.norm(A[0])
    beta_star = np.outer([0.6, 0.8, 0.0], along + 0.03 * np.array([-along[1], along[0]]))
    assert regime(1, 3, 2, [60.0], beta_k, beta_star) == "lazy"
    distance, loss = train(A, W, beta_star, np.array([0.0, 1e8]))
    assert loss[-1] < 1e-8
    assert distance[-1] < 0.01


def test_learning_rates_enter_by_the_size_of_the_contributions():
    beta_k = [[[1.0], [0.0]]]
    assert regime(1, 2, 1, [5.0], beta_k, [[0.0], [1.0]]) == "lazy"
    assert regime(1, 2, 1, [5.0], beta_k, [[0.0], [1.0]], eta_a=100.0, eta_w=100.0) == "rich"


def test_batches_and_tensors():
    beta_k = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])
    tasks = np.stack([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    found = regime(1, 2, 2, [[100.0], [100.0]], beta_k, tasks)
    assert found.tolist() == ["lazy", "delayed rich"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"beta_k": np.zeros((1, 2, 2))}, "beta_k must be non-zero: a neuron"),
        ({"beta_k": np.eye(2)[None]}, "beta_k must be of rank one"),
        ({"deltas": [1.0, 2.0]}, r"deltas must end in the axes \(1,\)"),
        ({"beta_star": np.ones((2, 3))}, r"beta_star must end in the axes \(2, 2\)"),
        ({"deltas": [np.nan]}, "deltas must be numbers or infinite"),
        ({"eta_a": 0.0}, "eta_a must be positive"),
        ({"large": -1.0}, "large must be positive, got -1.0"),
        ({"large": np.nan}, "large must be positive, got nan"),
        ({"rank_tolerance": np.nan}, "rank_tolerance must be at least 0, got nan"),
        ({"kernel_tolerance": -1}, "kernel_tolerance must be at least 0, got -1"),
        (
            {"h": 0, "deltas": [], "beta_k": np.zeros((0, 2, 2))},
            "h, d and c must be at least 1; they are 0, 2",
        ),
        ({"c": 0, "beta_k": np.zeros((1, 2, 0)), "beta_star": np.zeros((2, 0))}, "must be at least 1"),
    ],
)
def test_bad_input_is_named(changed, message):
    beta_k = [[[1.0, 0.0], [0.0, 0.0]]]
    arguments = {"h": 1, "d": 2, "c": 2, "deltas": [1.0], "beta_k": beta_k, "beta_star": np.eye(2)}
    with pytest.raises(ValueError, match=message):
        regime(**(arguments | changed))
