"""From which values the modes of a small start are learned in effect: against the exact solution, as it shrinks."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from derivations.prior_knowledge import ata, effective_start, learnable
from numerics.lab.order import fit_order, has_order

SIZES = 2.0 ** -np.arange(24, 44, 4)


def definite(rng, size):
    factor = rng.normal(size=(size, size + 1))
    return factor @ factor.T


def learning_time(start, s):
    """When the logistic curve from this start reaches s/2."""
    return np.log((s - start) / start) / (2 * s)


def error_of_times(starts, gram0, s):
    """How far the times at which the exact a_i reach s_i/2 are from those of the curves from these starts (n,)."""

    def exact(mode):
        guess = learning_time(starts[mode], s[mode])
        return brentq(
            lambda t: ata(t, gram0, s)[mode, mode] - s[mode] / 2,
            guess / 2,
            1.5 * guess,
            xtol=1e-13,
            rtol=1e-15,
        )

    return np.array([abs(learning_time(starts[i], s[i]) - exact(i)) for i in range(len(s))])


@pytest.mark.parametrize("s", [(2.0, 1.0), (1.0, 2.0), (1.0, 1.7, 2.2), (2.0, 4.0, 1.0, 3.0)])
def test_learning_times_are_those_of_the_pivots_to_the_stated_order(s):
    """The order of mode i in the size of the start is |s_i - s_j|/s_i for the nearest j; of the diagonal it is zero."""
    s, gram0 = np.array(s), np.eye(len(s)) + 1.0
    errors = np.array([error_of_times(effective_start(x * gram0, s), x * gram0, s) for x in SIZES])
    gaps = np.abs(s[:, None] - s) + np.where(np.eye(len(s)), np.inf, 0.0)
    for mode, expected in enumerate(gaps.min(-1) / s):
        order, stderr = fit_order(SIZES, errors[:, mode])
        assert has_order(order, stderr, expected), (mode, order, expected)
    plain = np.array([error_of_times(x * np.diag(gram0), x * gram0, s) for x in SIZES])
    for mode in np.argsort(-s)[1:]:
        assert plain[-1, mode] > 100 * errors[-1, mode]
        assert abs(fit_order(SIZES, plain[:, mode])[0]) < 0.1


def test_two_modes_have_the_schur_complement_and_the_strongest_keeps_its_own():
    found = effective_start([[0.4, 0.1], [0.1, 0.3]], [[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(found, [[0.4, 0.3 - 0.01 / 0.4], [0.4 - 0.01 / 0.3, 0.3]], rtol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_they_are_ratios_of_leading_minors(size):
    rng = np.random.default_rng(size)
    gram0, s = definite(rng, size), rng.uniform(1, 2, size)
    order = np.argsort(-s)
    minors = [1.0] + [np.linalg.det(gram0[np.ix_(order[:k], order[:k])]) for k in range(1, size + 1)]
    np.testing.assert_allclose(
        effective_start(gram0, s)[order], np.divide(minors[1:], minors[:-1]), rtol=1e-11
    )


def test_for_one_singular_value_the_curves_of_the_eigenvalues_sum_up_to_the_exact_trace_at_every_size():
    rng = np.random.default_rng(7)
    times, s = np.linspace(0, 5, 11)[:, None], 1.3
    for size in (1e-6, 1.0, 20.0):
        gram0 = size * definite(rng, 3)
        start = effective_start(gram0, [s] * 3)
        curves = s * start / (np.exp(-2 * s * times) * (s - start) + start)
        traces = np.trace(ata(times[:, 0], gram0, [s] * 3), axis1=-2, axis2=-1)
        np.testing.assert_allclose(curves.sum(-1), traces, rtol=1e-11)
        assert (np.diff(start) < 0).all()


def test_a_group_of_equal_singular_values_starts_from_its_schur_complement():
    """While the group of the middle is learned its trace is the sum of two curves, up to an error that shrinks."""
    s, gram0 = np.array([2.0, 3.0, 2.0, 1.0]), definite(np.random.default_rng(8), 4)
    errors = []
    for size in SIZES:
        start = effective_start(size * gram0, s)[[0, 2]]
        t = learning_time(start, 2.0)
        exact = ata(t, size * gram0, s)
        curves = 2 * start / (np.exp(-4 * t[:, None]) * (2 - start) + start)
        errors.append(np.abs(exact[:, 0, 0] + exact[:, 2, 2] - curves.sum(-1)).max())
    order, stderr = fit_order(SIZES, errors)
    assert has_order(order, stderr, 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_modes_that_a_bottleneck_never_learns_start_from_zero(seed):
    rng = np.random.default_rng(seed)
    A, s = rng.normal(size=(2, 4)), np.array([1.0, 3.0, 2.0, 2.5])
    A[:, 1] = A[:, 3] if seed == 1 else A[:, 1]
    A[:, 3] = 0.0 if seed == 2 else A[:, 3]
    start = effective_start(A.T @ A, s)
    limit = learnable(A, A.T, np.diag(s)).limit
    np.testing.assert_allclose(np.where(start > 0, s, 0.0), np.diag(limit), atol=1e-9)
    assert (start > 0).sum() == 2


def test_they_do_not_depend_on_the_scale_and_keep_their_digits():
    gram0 = np.diag([1.0, 1e-90, 1e90])
    np.testing.assert_allclose(effective_start(gram0, [1.0, 2.0, 3.0]), np.diag(gram0), rtol=1e-15)


def test_batches_of_other_ties_and_orders_are_those_of_their_members():
    rng = np.random.default_rng(9)
    gram0 = np.stack([definite(rng, 3) for _ in range(4)])
    s = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [3.0, 1.0, 1.0]])
    found = effective_start(gram0.reshape(2, 2, 3, 3), s.reshape(2, 2, 3)).reshape(4, 3)
    for k in range(4):
        np.testing.assert_array_equal(found[k], effective_start(gram0[k], s[k]))
    np.testing.assert_allclose(found.prod(-1), np.linalg.det(gram0), rtol=1e-11)


def test_tensors_are_differentiable_and_agree_with_arrays():
    gram0 = torch.tensor(definite(np.random.default_rng(10), 3), requires_grad=True)
    s = torch.tensor([1.0, 2.0, 1.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda g: effective_start((g + g.T) / 2, s), (gram0,))
    np.testing.assert_allclose(
        effective_start(gram0, s).detach(), effective_start(gram0.detach().numpy(), s.numpy()), rtol=1e-13
    )
    assert effective_start(gram0.detach().float(), [3.0, 2.0, 1.0]).dtype == torch.float32


def test_the_result_is_proved_and_every_change_of_it_refuted(verdicts):
    verdict = verdicts["prior_knowledge.logistic_from_pivots"]
    assert (verdict.outcome, verdict.facts) == ("ARGUED", "proved")
    assert len(verdict.mutants) >= 30 and not verdict.survivors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: effective_start([[1.0, 2.0], [2.0, 1.0]], [2.0, 1.0]),
            "gram0 must be positive semi-definite",
        ),
        (lambda: effective_start([[1.0, 0.5], [0.0, 1.0]], [2.0, 1.0]), "gram0 must be symmetric"),
        (lambda: effective_start([[1.0]], [1.0, 2.0]), "s must have one entry a mode, 1 for gram0; it has 2"),
        (
            lambda: effective_start(np.eye(2), [[1.0, 2.0], [0.0, 1.0]]),
            "s must be positive and finite; it is not at",
        ),
        (lambda: effective_start([[np.nan]], [1.0]), "gram0 must be finite"),
        (lambda: effective_start([1.0], [1.0]), "gram0 must be a square matrix"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_inside_a_transform_it_says_what_to_do():
    with pytest.raises(TypeError, match=r"outside torch\.func transforms"):
        torch.func.vmap(lambda g: effective_start(g, [2.0, 1.0]))(torch.eye(2)[None])
