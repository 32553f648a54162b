"""The kernel distance takes kernel matrices and is one minus the cosine of their Frobenius inner product."""

from __future__ import annotations

import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch

from derivations.single_neuron import kernel_distance
from numerics.measures.kernels import kernel_distance as measured
from symdyn.calculus.gram import Vector, inner, norm
from symdyn.calculus.vectors import Entries
from symdyn.compile import Argument, build

RNG = np.random.default_rng(3)
K, L = RNG.normal(size=(2, 5, 1, 4, 4))


def exact(one, other, digits=40):
    with mpmath.workdps(3 * digits):
        first, second = ([mpmath.mpf(float(x)) for x in np.ravel(k)] for k in (one, other))
        dot = [mpmath.fdot(*pair) for pair in ((first, second), (first, first), (second, second))]
        return 1 - dot[0] / mpmath.sqrt(dot[1] * dot[2])


def test_the_identity_and_the_matrix_of_ones():
    expected = 1 - 1 / np.sqrt(3)
    for make in (np.asarray, torch.as_tensor, np.ndarray.tolist):
        found = kernel_distance(make(np.eye(3)), make(np.ones((3, 3))))
        assert tuple(found.shape) == () and float(found) == pytest.approx(expected, rel=1e-15)
    ones = [[1, 1, 1]] * 3
    with mpmath.workdps(50):
        found = kernel_distance.mpmath(np.eye(3).tolist(), ones, digits=50)
        assert abs(found - (1 - 1 / mpmath.sqrt(3))) < mpmath.mpf(10) ** -49


def test_it_prints_the_frobenius_inner_product_and_norms():
    expected = r"1 - \frac{\langle K_{t_1}, K_{t_2}\rangle_F}{\|K_{t_1}\|_F \|K_{t_2}\|_F}"
    assert expected in kernel_distance.latex()
    assert "kernel1 (..., n, n): the kernel matrix at one time" in kernel_distance.compiled.__doc__


def test_it_is_proved_and_its_mutants_are_refuted(verdicts):
    verdict = verdicts[kernel_distance.key]
    assert (verdict.outcome, verdict.grade, verdict.survivors) == ("PROVED", "proved", ())
    assert len(verdict.mutants) >= 15


def test_it_is_the_measured_one_over_broadcast_batches():
    second = np.swapaxes(L, 0, 1)
    found = kernel_distance(K, second)
    assert found.shape == (5, 5)
    np.testing.assert_allclose(found, measured(K, second), rtol=1e-13)
    tensors = torch.tensor(K), torch.tensor(second)
    np.testing.assert_allclose(kernel_distance(*tensors), found, rtol=1e-13)
    mapped = torch.func.vmap(lambda k: kernel_distance(k[0], tensors[1][0]))(tensors[0])
    np.testing.assert_allclose(mapped, found, rtol=1e-13)
    assert kernel_distance(np.ones((0, 2, 2)), np.eye(2)).shape == (0,)
    assert kernel_distance(K.astype("float32"), second.astype("float32")).dtype == np.float32


@pytest.mark.parametrize("small", [1e-3, 1e-7, 1e-11])
def test_kernels_that_have_hardly_moved_keep_all_digits(small):
    one, other = K[0, 0], K[0, 0] + small * L[0, 0]
    truth = exact(one, other)
    expected = float(truth)
    rounding = 3e-16 / small  # of the arguments' difference
    for found in (kernel_distance(one, other), kernel_distance(torch.tensor(one), torch.tensor(other))):
        assert float(found) == pytest.approx(expected, rel=max(1e-13, 20 * rounding))
    assert abs(kernel_distance.mpmath(one, other, digits=30) / truth - 1) < mpmath.mpf(10) ** -30


def test_the_scale_of_a_kernel_does_not_matter_at_any_size():
    known = kernel_distance(K, L)
    for size in (2.0**-1000, 2.0**-500, 2.0**400):
        np.testing.assert_allclose(
            kernel_distance(size * K, L / size if size > 1e-200 else L), known, rtol=1e-13
        )


def test_gradients():
    one, other = (torch.tensor(x[0, 0], requires_grad=True) for x in (K, L))
    assert torch.autograd.gradcheck(kernel_distance, (one, other))


@pytest.mark.parametrize(
    ("one", "other", "error", "words"),
    [
        (np.eye(3), np.eye(2), ValueError, "one size; kernel1 is .3, 3., kernel2 is .2, 2."),
        (np.ones(9), np.ones(9), ValueError, "kernel1 must be a square matrix"),
        (1.0, np.eye(2), ValueError, "kernel1 must be a square matrix"),
        (np.ones((2, 3)), np.ones((2, 3)), ValueError, "kernel1 must be a square matrix"),
        (np.ones((0, 0)), np.ones((0, 0)), ValueError, "kernel1 must be a square matrix"),
        (np.zeros((2, 2)), np.eye(2), ValueError, "kernel1 must be a matrix that is not zero"),
        (np.eye(2), np.stack([np.eye(2), 0 * np.eye(2)]), ValueError, "kernel2 .* not zero; .* at index 1"),
        (np.eye(2) * np.nan, np.eye(2), ValueError, "kernel1 must be finite"),
        (np.eye(2) * 1j, np.eye(2), TypeError, "kernel1 must be real"),
        (np.ones((2, 1, 1)), np.ones((3, 1, 1)), ValueError, "kernel2 has batch shape"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_what_is_no_pair_of_kernels_is_refused_by_name(one, other, error, words, make):
    with pytest.raises(error, match=words):
        kernel_distance(make(one), make(other))


@pytest.mark.parametrize("bad", [1, [1, 2], [[1, 2]], [[1], [2]], [[1, 2], [3]], [], [[]], "ab", [["1"]]])
def test_on_mpmath_too(bad):
    with pytest.raises(TypeError, match=r"kernel1 must (be|hold)"):
        kernel_distance.mpmath(bad, [[1, 0], [0, 1]])


def test_exact_rows():
    found = kernel_distance.mpmath([[Fraction(1, 3), 0], [0, 0]], [[0, 5], [0, 0]])
    assert found == 1
    with pytest.raises(ValueError, match="one length"):
        kernel_distance.mpmath([[1]], [[1, 0], [0, 1]])


def test_entries_are_vectors_of_their_own_kind():
    vector, entries = Vector("K"), Entries("K")
    assert vector != entries and pickle.loads(pickle.dumps(entries)) == entries
    assert type(pickle.loads(pickle.dumps(entries))) is Entries
    w = Vector("w")
    function = build(norm(entries) * inner(w, w), (Argument("K", entries), Argument("w", w)), name="t")
    assert function(np.eye(4), [1.0, 2.0]) == 10 == function.mpmath(np.eye(4), [1, 2])
    with pytest.raises(ValueError, match="only numbers compile"):
        build(2 * entries, (Argument("K", entries),), name="t")
