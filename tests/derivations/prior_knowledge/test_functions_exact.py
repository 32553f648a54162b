"""Weights and tasks of rational numbers: decisions without rounding, and a flow with as many digits as it takes."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from derivations.prior_knowledge import (
    learnable,
    network_function,
    qqt,
    reversal,
    rsm_input,
    separatrix_distance,
    weights,
)
from derivations.prior_knowledge.evaluators import exact_decision, rational_blocks
from derivations.prior_knowledge.evaluators.exact_decision import decide
from tests.derivations.prior_knowledge.test_functions_flow import exact

ONE = np.eye(2, dtype=int).astype(object)


def rational_turn(rng, size):
    """An orthogonal matrix of Fractions, by Cayley's transform."""
    skew = sp.Matrix(size, size, lambda i, j: 0)
    for i in range(size):
        for j in range(i):
            skew[i, j] = int(rng.integers(-3, 4))
            skew[j, i] = -skew[i, j]
    turn = (sp.eye(size) - skew) * (sp.eye(size) + skew).inv()
    found = np.empty((size, size), dtype=object)
    for i, j in np.ndindex(size, size):
        found[i, j] = Fraction(int(turn[i, j].p), int(turn[i, j].q))
    return found


def rational_start(rng, hidden, inputs, outputs, offset=0):
    """Weights of Fractions with W2^T W2 - W1 W1^T = offset for offset -1, 0 or 1."""
    first, second = np.full((hidden, inputs), Fraction(0)), np.full((outputs, hidden), Fraction(0))
    for j in range(hidden):
        m = Fraction(int(rng.integers(3, 9)), 2)
        here = j < min(inputs, outputs)
        pair = ((m - 1 / m) / 2, (m + 1 / m) / 2) if here else (Fraction(0), Fraction(1))
        low, high = pair if offset >= 0 else pair[::-1]
        if offset == 0:
            low = high = m if here else Fraction(0)
        if j < inputs:
            first[j, j] = low
        if j < outputs:
            second[j, j] = high
    turn = rational_turn(rng, hidden)
    W1, W2 = turn @ first @ rational_turn(rng, inputs), rational_turn(rng, outputs) @ second @ turn.T
    return W1, W2


def floats(*given):
    return [x.astype(float) for x in given]


def nearly_reversed(angle):
    """A task whose modes the start ONE, ONE has at a distance of about sqrt(2) times the angle."""
    e = Fraction(angle)
    cos, sin = (1 - e**2) / (1 + e**2), 2 * e / (1 + e**2)
    return [[-2 * cos, 2 * sin], [-sin, -cos]]


SHAPES = [(2, 2, 2, 0), (3, 3, 3, 0), (2, 3, 3, 0), (1, 3, 2, 0), (4, 3, 3, 0), (3, 2, 4, 1), (2, 4, 2, -1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_on_random_starts_it_agrees_with_floats_that_are_far_from_the_separatrix_or_on_it(shape):
    kinds = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        W1, W2 = rational_start(rng, *shape)
        sigma = rng.integers(-4, 5, (shape[2], shape[1])).astype(object)
        found = decide(W1, W2, sigma)
        rounded = learnable(*floats(W1, W2, sigma))
        assert found.on_separatrix != bool(rounded.learnable)
        assert found.rank == int(rounded.rank)
        ours = learnable(W1, W2, sigma)
        np.testing.assert_allclose(ours.limit, rounded.limit, atol=1e-12)
        assert float(ours.excess_loss) == pytest.approx(float(rounded.excess_loss), rel=1e-12)
        distance = float(separatrix_distance(W1, W2, sigma))
        assert (distance == 0) == found.on_separatrix
        np.testing.assert_allclose(distance, separatrix_distance(*floats(W1, W2, sigma)), atol=1e-12)
        kinds.add(found.on_separatrix)
    if shape == (3, 3, 3, 0):
        assert kinds == {True, False}


def test_a_start_at_1e_17_is_off_the_separatrix_and_one_at_zero_is_on_it():
    near, exactly = nearly_reversed(Fraction(1, 10**17)), nearly_reversed(0)
    assert decide(ONE, ONE, near).ranks == (1, 2) and decide(ONE, ONE, exactly).ranks == (0, 0)
    assert float(separatrix_distance(ONE, ONE, near)) == pytest.approx(np.sqrt(2) * 1e-17, rel=1e-15)
    assert separatrix_distance(ONE, ONE, exactly) == 0
    assert learnable(ONE, ONE, near).learnable and not learnable(ONE, ONE, exactly).learnable
    rounded = np.array(near, dtype=float)
    assert not learnable(np.eye(2), np.eye(2), rounded).learnable, "floats cannot tell"
    with pytest.raises(ValueError, match="off the separatrix"):
        qqt(1.0, ONE, ONE, exactly)
    with pytest.raises(ArithmeticError, match="too near to a separatrix"):
        weights(1.0, ONE, ONE, near)


@pytest.mark.parametrize("place", [17, 40])
def test_the_flow_near_a_separatrix_has_all_its_digits_and_escapes_at_last(place):
    sigma = nearly_reversed(Fraction(1, 10**place))
    times = [0.0, 1.0, 0.45 * 2.3 * place, 1.1 * 2.3 * place]
    found = qqt(times, ONE, ONE, sigma)
    for t, state in zip(times, found, strict=True):
        expected = exact_state(t, sigma)
        np.testing.assert_allclose(state, expected, atol=1e-15)
    late = network_function([1e4, 1e9], ONE, ONE, sigma)
    np.testing.assert_allclose(late, np.array([sigma] * 2, dtype=float), atol=1e-15)
    assert np.abs(network_function(0.3 * 2.3 * place, ONE, ONE, sigma)).max() < 1e-4, "it waits at the saddle"


def exact_state(t, sigma):
    """From the start ONE, ONE, by the formula as it stands."""
    import mpmath as mp

    with mp.workdps(250):
        F = mp.zeros(4)
        for i, j in np.ndindex(2, 2):
            F[2 + i, j] = F[j, 2 + i] = mp.mpf(sigma[i][j].numerator) / sigma[i][j].denominator
        rates, axes = mp.eigsy(F)
        P = mp.matrix([[1, 0, 1, 0], [0, 1, 0, 1]]) * axes
        grown = mp.diag([mp.expm1(2 * r * t) / (2 * r) for r in rates])
        right = P * mp.diag([mp.exp(r * t) for r in rates]) * axes.T
        return np.array((right.T * (mp.eye(2) + P * grown * P.T) ** -1 * right).tolist(), dtype=float)


@pytest.mark.parametrize("shape", [(3, 3, 3, 0), (2, 3, 2, 1), (2, 2, 3, -1), (4, 2, 3, 0)])
def test_the_flow_is_that_of_floats_and_of_the_formula(shape):
    rng = np.random.default_rng(sum(shape))
    W1, W2 = rational_start(rng, *shape)
    sigma = np.array([[Fraction(int(x), 8) for x in row] for row in rng.integers(-9, 10, shape[2:0:-1])])
    if decide(W1, W2, sigma).on_separatrix:
        sigma[0] = -sigma[0]
    given = floats(W1, W2, sigma)
    times = [Fraction(1, 3), Fraction(2), Fraction(40)]
    found = qqt([3 * t for t in times], W1, W2, sigma, tau=3)
    for t, state in zip(times, found, strict=True):
        np.testing.assert_allclose(state, exact(float(t), *given, 120), atol=2e-13 * np.abs(state).max())
    X = np.sqrt(shape[1]) * np.eye(shape[1])
    np.testing.assert_allclose(rsm_input(1.0, W1, W2, sigma, X), rsm_input(1.0, *given, X), atol=1e-11)
    for ours, theirs in zip(weights(1.0, W1, W2, sigma), weights(1.0, *given), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0)


def test_the_reversal_of_a_task_of_any_shape_misses_all_its_modes():
    for shape in ((3, 3, 3, 0), (2, 4, 3, 0), (3, 2, 3, 0)):
        W1, W2 = rational_start(np.random.default_rng(2), *shape)
        found = decide(W1, W2, -W2 @ W1)
        assert found.rank == 0 and len(found.missed) == len(found.sizes)
    states = qqt([0.1, 3.0], W1, W2, -W2 @ W1, on_separatrix=True)
    np.testing.assert_allclose(states, reversal([0.1, 3.0], *floats(W1, W2)), atol=1e-13)


def test_equal_singular_values_are_seen_as_such_and_irrational_ones_are_not_rounded():
    turn = rational_turn(np.random.default_rng(1), 3)
    W1, W2 = rational_start(np.random.default_rng(4), 3, 3, 3)
    assert sorted(decide(W1, W2, turn @ np.diag([2, 2, 1]).astype(object)).sizes) == [1, 2]
    golden = decide(ONE, ONE, [[1, 1], [0, 1]])
    assert golden.sizes == (1, 1) and golden.ranks == (1, 2)
    np.testing.assert_allclose(learnable(ONE, ONE, [[1, 1], [0, 1]]).limit, [[1, 1], [0, 1]], atol=0)
    # The modes of ((1, 1), (0, -1)) are those of no rational basis; one of them is missed.
    assert decide(ONE, ONE, [[1, 1], [0, -1]]).ranks == (1, 1)
    nearly = [[Fraction(1), 0], [0, 1 + Fraction(1, 10**30)]]
    assert decide(ONE, ONE, nearly).sizes == (1, 1)


def test_two_equal_modes_and_one_neuron_are_no_reason_to_miss_anything():
    W1 = [[Fraction(3, 5), Fraction(4, 5)]]
    assert decide(W1, sp.Matrix(W1).T, ONE) == ((2,), (1,), 1, 1, ())
    W1 = [[Fraction(0), Fraction(1)]]
    found = decide(W1, sp.Matrix(W1).T, [[2, 0], [0, 1]])
    assert found == ((1, 1), (0, 1), 1, 1, (0,))
    better = [[Fraction(1, 10**40), Fraction(1)]]
    assert not decide(better, sp.Matrix(better).T, [[2, 0], [0, 1]]).on_separatrix
    state = network_function(1e4, better, sp.Matrix(better).T, [[2, 0], [0, 1]])
    np.testing.assert_allclose(state, np.diag([2.0, 0.0]), atol=1e-15)


def test_tasks_of_lower_rank_of_zero_and_weights_of_zero():
    W1, W2 = rational_start(np.random.default_rng(0), 3, 3, 3)
    assert decide(W1, W2, [[1, 2, 0], [2, 4, 0], [0, 0, 0]]).sizes == (1,)
    zero = np.zeros((2, 2), dtype=int).astype(object)
    assert decide(ONE, ONE, zero) == ((), (), 0, 0, ())
    assert separatrix_distance(ONE, ONE, zero) == np.inf
    np.testing.assert_allclose(qqt(5.0, ONE, ONE, zero), np.kron(np.ones((2, 2)), np.eye(2)) / 11, atol=1e-15)
    assert decide(zero, zero, ONE).rank == 0
    assert np.abs(qqt(5.0, zero, zero, ONE, on_separatrix=True)).max() == 0


def test_one_of_two_conjugate_modes_is_missed_and_the_other_learned():
    # (v, v) grows as the golden ratio; its conjugate falls, and the weaker mode is (w, -w).
    for sigma, W2 in (([[1, 1], [1, 0]], -ONE), ([[1, 1], [1, 0], [0, 0]], np.vstack([-ONE, 0 * ONE[:1]]))):
        found = decide(ONE, W2, sigma)
        assert found.ranks == (0, 1) and found.missed == (0,)
        u, s, v = np.linalg.svd(np.array(sigma, dtype=float))
        np.testing.assert_allclose(
            learnable(ONE, W2, sigma).limit, s[1] * np.outer(u[:, 1], v[1]), atol=1e-15
        )


@pytest.mark.parametrize("place", [3, 30, 200])
def test_half_a_turn_about_an_axis_misses_two_of_three_modes_of_a_cubic_and_nearly_half_a_turn_none(place):
    sigma = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 5]], dtype=object)
    assert sp.Poly(sp.Matrix(sigma).charpoly().as_expr()).is_irreducible
    three = np.eye(3, dtype=int).astype(object)

    def turn(e):
        # Cayley: about (1, 2, 2)/3 by an angle that is pi - 2e nearly.
        skew = sp.Matrix([[0, -2, 2], [2, 0, -1], [-2, 1, 0]]) / 3
        return (e * sp.eye(3) - skew) * (e * sp.eye(3) + skew).inv()

    axis = sp.Matrix([1, 2, 2]) / 3
    half = np.array(2 * axis * axis.T - sp.eye(3))
    assert decide(three, half, sigma).ranks == (1, 1, 1)
    nearly = np.array(turn(sp.Rational(1, 10**place)))
    assert decide(three, nearly, sigma).ranks == (1, 2, 3)
    assert 0 < float(separatrix_distance(three, nearly, sigma)) < 10.0 ** (1 - place)


@pytest.mark.parametrize("place", [10, 300])
def test_weights_of_fibonacci_numbers_meet_the_golden_mode_nearly_nowhere_but_meet_it(place):
    # F_n phi - F_(n+1) = -(-1/phi)^n: small among numbers that are not, which is what Liouville's bound is about.
    a, b = int(sp.fibonacci(place)), int(sp.fibonacci(place + 1))
    W = np.array([[a, -b]], dtype=object)
    assert decide(W, W.T, [[1, 1], [1, 0]]) == ((1, 1), (1, 1), 1, 1, ())
    phi = (1 + sp.sqrt(5)) / 2
    distance = float(sp.sqrt(2) * phi ** (-place) / sp.sqrt(1 + phi**2))
    assert float(separatrix_distance(W, W.T, [[1, 1], [1, 0]])) == pytest.approx(distance, rel=1e-14)


@pytest.mark.parametrize("shape", [(3, 3, 3, 0), (4, 3, 3, 0), (3, 4, 3, 0)])
def test_rational_reasons_for_a_lower_rank_decide_as_digits_do(monkeypatch, shape):
    kinds = set()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        W1, W2 = rational_start(rng, *shape)
        mixed = rng.integers(-2, 3, (shape[1], shape[1])).astype(object)
        known, drawn = W2 @ W1, rng.integers(-3, 4, shape[2:0:-1]).astype(object)
        for sigma in (drawn, -known, known @ (mixed + mixed.T)):
            found = decide(W1, W2, sigma)
            with monkeypatch.context() as patch:
                patch.setattr(rational_blocks.Blocks, "most", lambda blocks, count: sum(blocks.sizes))
                assert decide(W1, W2, sigma) == found
            kinds.add(found.on_separatrix)
    assert kinds == {True, False}


SIX = np.eye(6, dtype=int).astype(object)
SEXTIC = (np.diag([2, 3, 4, 5, 6, 8]) + np.diag([1] * 5, 1) + np.diag([1] * 5, -1)).astype(object)
"""Positive definite, with an irreducible polynomial."""


@pytest.fixture
def few_digits(monkeypatch):
    """No computation with as many digits as proofs by digits need: of these starts, 10^5."""
    ours = exact_decision._Approximation

    def computed(task, bits):
        assert bits <= 2048
        return ours(task, bits)

    monkeypatch.setattr(exact_decision, "_Approximation", computed)


@pytest.mark.parametrize("kept", range(1, 6))
def test_six_irrational_modes_and_half_a_turn_need_no_proof_by_digits(few_digits, kept):
    turn = rational_turn(np.random.default_rng(kept), 6)
    half = turn @ np.diag([1] * kept + [-1] * (6 - kept)).astype(object) @ turn.T
    assert decide(SIX, half, SEXTIC).ranks == tuple(min(kept, k) for k in range(1, 7))


@pytest.mark.parametrize("shape", [(6, 6, 6), (8, 6, 6), (6, 6, 7), (6, 7, 6)])
def test_six_irrational_modes_and_the_other_sign_of_a_determinant_need_no_proof_by_digits(few_digits, shape):
    hidden, inputs, outputs = shape
    rng = np.random.default_rng(hidden)
    W1, W2 = rational_start(rng, hidden, 6, 6)
    sigma = rng.integers(-3, 4, (6, 6)).astype(object)
    assert sp.Poly(sp.Matrix(sigma.T @ sigma).charpoly().as_expr()).is_irreducible
    sigma[0] *= int(-sp.sign(sp.Matrix(W2 @ W1 @ sigma).det()))
    left, right = rational_turn(rng, outputs)[:, :6], rational_turn(rng, inputs)[:6]
    for sign in (1, -1):
        task = left @ np.diag([sign] + [1] * 5).astype(object) @ sigma @ right
        found = decide(W1 @ right, left @ W2, task)
        assert found.ranks == (1, 2, 3, 4, 5, 5 if sign > 0 else 6)


def test_modes_of_two_blocks_that_each_miss_one_are_both_missed(few_digits):
    cubic, other = (np.array([[0, 1, 0], [1, 1, 2], [0, 3, 1]]), np.array([[3, 1, 1], [1, 0, 2], [0, 2, -1]]))
    sigma = np.zeros((6, 6), dtype=int).astype(object)
    sigma[:3, :3], sigma[3:, 3:] = cubic, other
    signs = [np.sign(np.linalg.det(x)) for x in (cubic, other)]
    assert signs == [-1, -1] and decide(SIX, SIX, sigma).rank == 4


def test_half_a_turn_of_three_modes_says_nothing_of_the_three_others(few_digits):
    sigma, half = np.zeros((6, 6), dtype=int).astype(object), SIX.copy()
    sigma[:3, :3], sigma[3:, 3:] = [[6, 1, 0], [1, 7, 1], [0, 1, 9]], [[8, 1, 0], [0, 7, 2], [3, 0, 2]]
    axis = sp.Matrix([1, 2, 2]) / 3
    half[:3, :3] = np.array(2 * axis * axis.T - sp.eye(3))
    found = decide(SIX, half, sigma)
    turned = [
        np.abs(np.linalg.eigvalsh(sigma[:3, :3].astype(float)) - s).min() < 1e-9 for s in singular(sigma)
    ]
    assert found.ranks == tuple(min(1, sum(turned[:k])) + k - sum(turned[:k]) for k in range(1, 7))


def singular(sigma):
    return np.linalg.svd(sigma.astype(float), compute_uv=False)


def test_the_error_of_an_approximation_is_below_its_bound():
    start = exact_decision.ExactStart.of(ONE, -ONE, [[1, 1], [1, 0]])
    coarse, fine = (exact_decision._Approximation(start.task, bits) for bits in (64, 512))
    for count in (1, 2):
        ours, theirs = (
            [[Fraction(int(x), 1 << near.bits) for x in row] for row in near.matrix(count)]
            for near in (coarse, fine)
        )
        gap = max(abs(x - y) for p, q in zip(ours, theirs, strict=True) for x, y in zip(p, q, strict=True))
        assert 0 < gap * 2**64 < coarse.error(count) < 1e7


@pytest.mark.parametrize(
    "given",
    [
        [[[1, Fraction(1, 2)], [0, 1]]],
        [sp.Matrix([[1, sp.Rational(1, 2)], [0, 1]])],
        [np.array([[1, Fraction(1, 2)], [0, 1]], dtype=object)],
        [[[sp.Integer(1), sp.Rational(1, 2)], [sp.Integer(0), sp.Integer(1)]]],
    ],
)
def test_rational_numbers_come_in_many_forms(given):
    expected = learnable(np.eye(2), np.eye(2), [[1, 0.5], [0, 1]])
    np.testing.assert_allclose(learnable(np.eye(2, dtype=int), ONE, *given).limit, expected.limit, atol=1e-15)


def test_batches_mix_starts_on_and_off_a_separatrix():
    sigma = np.stack([ONE, -ONE])
    assert learnable(ONE, ONE, sigma).learnable.tolist() == [True, False]
    assert separatrix_distance(ONE, ONE, sigma).tolist() == [pytest.approx(np.sqrt(2)), 0.0]
    with pytest.raises(ValueError, match="it is not at index 1"):
        qqt(1.0, ONE, ONE, sigma)
    assert qqt([1.0, 2.0], ONE, ONE, sigma, on_separatrix=True).shape == (2, 2, 4, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: qqt(1.0, ONE, ONE, 0.5 * np.eye(2)), TypeError, "sigma_yx must hold rational numbers"),
        (lambda: decide([[sp.sqrt(2)]], [[1]], [[1]]), TypeError, "W1 must hold rational numbers"),
        (
            lambda: learnable(ONE, 2 * ONE @ np.diag([1, 2]), ONE),
            ValueError,
            "exactly where they are rational",
        ),
        (lambda: decide(ONE, ONE, [[1, 2]]), ValueError, "must fit"),
        (lambda: qqt(1.0, ONE, ONE, [[Fraction(1), 2]]), ValueError, r"sigma_yx must be \(2, 2\)"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
