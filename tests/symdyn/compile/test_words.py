"""Values of the matrix calculus as functions of arrays."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
import torch

from symdyn.calculus.matrix import eye, trace
from symdyn.compile.words import CompiledWords, ingredients
from symdyn.statements.notation import Glossary

rows, cols = sp.symbols("m n", integer=True, positive=True)
words = Glossary("nowhere")
A = words.matrix("A", rows, cols, "A", "a matrix")
v = words.matrix("v", cols, 1, "v", "a column")
s = words.scalar("s", "s", "a number", default=2)
POLYNOMIAL = CompiledWords(s * A.T @ A + sp.sqrt(s) * eye(cols), tuple(words), "t.polynomial")
ENERGY = CompiledWords((trace(A @ A.T) - (v.T @ v).scalar(), A @ v), tuple(words), "t.energy")
RNG = np.random.default_rng(1)
MATRIX, COLUMN = RNG.normal(size=(5, 4, 3)), RNG.normal(size=3)


def test_what_a_value_is_made_of():
    assert {x.name for x in ingredients(POLYNOMIAL.value)} == {"A", "s"}
    assert ingredients(s**2) is None
    assert ingredients((s, A)) == ingredients(POLYNOMIAL.value)


def test_matrices_broadcast_over_leading_axes():
    value = POLYNOMIAL(A=MATRIX, v=COLUMN, s=0.25)
    expected = 0.25 * np.swapaxes(MATRIX, -1, -2) @ MATRIX + 0.5 * np.eye(3)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    energy, image = ENERGY(MATRIX, COLUMN)
    np.testing.assert_allclose(energy, (MATRIX**2).sum((-1, -2)) - COLUMN @ COLUMN, rtol=1e-13)
    np.testing.assert_allclose(image, MATRIX @ COLUMN, rtol=1e-13)


def test_tensors_give_tensors_with_derivatives():
    tensor = torch.tensor(MATRIX, requires_grad=True)
    energy, _ = ENERGY(tensor, torch.tensor(COLUMN))
    energy.sum().backward()
    np.testing.assert_allclose(tensor.grad.numpy(), 2 * MATRIX, rtol=1e-13)
    assert POLYNOMIAL.torch(MATRIX, COLUMN).dtype == torch.float64
    with pytest.raises(TypeError, match="built for NumPy"):
        POLYNOMIAL.numpy(tensor, COLUMN)


def test_exact_numbers_keep_their_digits():
    value = POLYNOMIAL.mpmath(A=[[Fraction(1, 3), 1]], v=[0, 0], digits=60)
    with mpmath.workdps(60):
        assert abs(value[0][0] - (mpmath.mpf(2) / 9 + mpmath.sqrt(2))) < mpmath.mpf(10) ** -58
    assert value[0][1] == value[1][0]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "needs A, v"),
        ({"A": MATRIX, "v": COLUMN, "B": 1}, "has no argument B"),
    ],
)
def test_a_wrong_call_says_what_is_expected(arguments, problem):
    with pytest.raises(TypeError, match=problem):
        POLYNOMIAL(**arguments)


def test_values_must_be_finite():
    with pytest.raises(ValueError, match="A must be finite"):
        POLYNOMIAL(MATRIX * np.nan, COLUMN)
    assert np.isnan(POLYNOMIAL(MATRIX * np.nan, COLUMN, check=False)).all()
