"""Double-double arithmetic against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from symdyn.arrays import compensated

UNIT = {np.float64: Fraction(1, 2**102), np.float32: Fraction(1, 2**44)}


def exact(x):
    return Fraction(float(x.hi)) + Fraction(float(x.lo))


def random_doubles(rng, dtype):
    x = np.asarray(rng.normal() * 10 ** rng.uniform(-3, 3), dtype=dtype)
    low = np.asarray(float(x) * np.finfo(dtype).eps * rng.uniform(-0.4, 0.4), dtype=dtype)
    return compensated.Double(x, low)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_and_products_of_floats_are_exact(dtype):
    rng = np.random.default_rng(0)
    for x, y in (rng.normal(size=(200, 2)) * 10 ** rng.uniform(-5, 5, size=(200, 2))).astype(dtype):
        assert exact(compensated.two_sum(x, y)) == Fraction(float(x)) + Fraction(float(y))
        assert exact(compensated.two_product(x, y)) == Fraction(float(x)) * Fraction(float(y))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operations_keep_twice_the_digits(dtype):
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, y = random_doubles(rng, dtype), random_doubles(rng, dtype)
        a, b = exact(x), exact(y)
        unit = UNIT[dtype]
        assert abs(exact(compensated.add(x, y)) - (a + b)) <= unit * abs(a + b) + 4 * unit * unit * (
            abs(a) + abs(b)
        )
        assert abs(exact(compensated.subtract(x, y)) - (a - b)) <= 4 * unit * abs(a - b)
        assert abs(exact(compensated.multiply(x, y)) - a * b) <= 8 * unit * abs(a * b)
        assert abs(exact(compensated.divide(x, y)) - a / b) <= 16 * unit * abs(a / b)
        square = compensated.multiply(x, x)
        assert abs(exact(compensated.sqrt(np, square)) - abs(a)) <= 16 * unit * abs(a)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 64])
def test_dot_survives_cancellation(d):
    rng = np.random.default_rng(d)
    x, y = rng.normal(size=(2, 5, d))
    y[:, -1] = -(x[:, :-1] * y[:, :-1]).sum(-1) / x[:, -1]
    result = compensated.dot(x, y)
    for i in range(5):
        true = sum(Fraction(float(p)) * Fraction(float(q)) for p, q in zip(x[i], y[i], strict=True))
        size = sum(abs(Fraction(float(p)) * Fraction(float(q))) for p, q in zip(x[i], y[i], strict=True))
        got = Fraction(float(result.hi[i])) + Fraction(float(result.lo[i]))
        assert abs(got - true) <= 8 * UNIT[np.float64] * size


def test_gradients_are_those_of_real_arithmetic():
    def difference_of_squares(x, y):
        squares = compensated.subtract(compensated.dot(x, x), compensated.dot(y, y))
        root = compensated.sqrt(torch, compensated.dot(x, x))
        return compensated.divide(squares, root).hi

    x, y = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(difference_of_squares, [x.requires_grad_(), y.requires_grad_()])
