"""Exact means over Gaussian matrices, against moments known in closed form and against sampled matrices."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from symdyn.calculus.matrix import (
    Index,
    entry,
    evaluate_arrays,
    eye,
    gaussian_mean,
    kron,
    matrix,
    sum_over,
    trace,
    vector,
)

n, m = sp.symbols("n m", integer=True, positive=True)
s, r = sp.symbols("s r", real=True)
W, V = matrix("W", n, m), matrix("V", n, m)
X, Y = matrix("X", m, m), matrix("Y", n, n)


def test_second_moments_of_words():
    assert gaussian_mean(W @ W.T, {W: s}) == s * m * eye(n)
    assert gaussian_mean(W @ X @ W.T, {W: s}) == s * trace(X) * eye(n)
    assert gaussian_mean(W.T @ Y @ W, {W: s}) == s * trace(Y) * eye(m)
    Q = matrix("Q", m, n)
    assert gaussian_mean(W @ Q @ W, {W: s}) == s * Q.T
    assert gaussian_mean(W.T @ Q.T @ W.T, {W: s}) == s * Q
    assert gaussian_mean(W @ X, {W: s}).is_zero


def test_traces_of_wishart_matrices():
    S = W @ W.T
    assert gaussian_mean(trace(S @ S), {W: s}) == sp.expand(s**2 * n * m * (n + m + 1))
    third = s**3 * n * m * (n**2 + 3 * n * m + m**2 + 3 * n + 3 * m + 4)
    assert gaussian_mean(trace(S @ S @ S), {W: s}) == sp.expand(third)
    assert gaussian_mean(trace(S) ** 2, {W: s}) == sp.expand(s**2 * n * m * (n * m + 2))


def test_fourth_moment_of_a_bilinear_form():
    u, v = vector("u", n), vector("v", m)
    form = (u.T @ W @ v).scalar()
    size = (u.T @ u).scalar() * (v.T @ v).scalar()
    assert gaussian_mean(form**4, {W: s}) == 3 * s**2 * size**2
    assert gaussian_mean(form**3, {W: s}) == 0


def test_entries_and_sums_over_them():
    i, j = Index("i", n), Index("j", n)
    same = entry(eye(n), i, j) ** 2
    second = gaussian_mean(entry(W @ W.T, i, j) ** 2, {W: s})
    assert sp.expand(second - s**2 * (m + same * (m**2 + m))) == 0
    summed = sum_over(i, sum_over(j, second))
    assert sp.expand(summed - gaussian_mean(trace(W @ W.T @ W @ W.T), {W: s})) == 0


def test_several_letters_are_independent():
    product = trace(W @ V.T @ V @ W.T)
    assert gaussian_mean(product, {W: s, V: r}) == s * r * n**2 * m
    assert gaussian_mean(product, {V: r}) == r * n * trace(W @ W.T)


def test_means_agree_with_sampled_matrices():
    generator = np.random.default_rng(3)
    drawn = generator.standard_normal((200_000, 2, 3))
    fixed = generator.standard_normal((2, 2))
    word = trace(W @ W.T @ Y @ W @ W.T)
    sampled = evaluate_arrays(word, {W: drawn, Y: fixed})
    exact = evaluate_arrays(gaussian_mean(word, {W: 1}), {Y: fixed}, {n: 2, m: 3})
    error = sampled.std() / np.sqrt(sampled.size)
    assert abs(sampled.mean() - exact) < 4 * error
    assert abs(exact) > 40 * error


def test_what_has_no_polynomial_mean_is_refused():
    symmetric, square = matrix("S", n, n, symmetric=True), matrix("Z", n, n)
    with pytest.raises(ValueError, match="independent entries"):
        gaussian_mean(trace(symmetric), {symmetric: s})
    with pytest.raises(ValueError, match="inverse"):
        gaussian_mean(square.inverse(), {square: s})
    with pytest.raises(ValueError, match="polynomial"):
        gaussian_mean(1 / trace(W @ W.T), {W: s})
    with pytest.raises(ValueError, match="not supported"):
        gaussian_mean(kron(W, W), {W: s})
