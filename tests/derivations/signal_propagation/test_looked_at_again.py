"""The calculations of the verdicts that were looked at again, in docs/reviewed.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

from derivations.signal_propagation import Activation, length_map


def test_near_correlation_one_the_second_input_moves_by_the_root_of_the_gap():
    epsilon = 1e-4
    moved = math.sqrt(1 - (1 - epsilon) ** 2)
    assert moved == pytest.approx(0.014142, abs=1e-6)
    assert moved == pytest.approx(math.sqrt(2 * epsilon), rel=epsilon)
    assert moved > 99 * math.sqrt(2) * epsilon


def test_lengths_of_a_cosine_approach_their_fixed_point_with_alternating_signs():
    cosine = Activation("cos", np.cos, lambda x: -np.sin(x), parity=1)
    q = 1.0
    for _ in range(60):
        q = float(length_map(q, 1.0, 0.3, 1.0, cosine))
    assert q == pytest.approx(0.885142, abs=1e-6)
    rate = -math.exp(-2 * q)
    assert rate == pytest.approx(-0.170285, abs=1e-6)
    at = q + 1e-3
    gaps = []
    for _ in range(4):
        at = float(length_map(at, 1.0, 0.3, 1.0, cosine))
        gaps.append(at - q)
    np.testing.assert_allclose(np.divide(gaps[1:], gaps[:-1]), rate, rtol=1e-3)


def test_a_sign_function_is_ordered_by_no_slope():
    # C(c) = (2/π) arcsin c: the formula for χ gives 0, and correlations do not go to 1.
    c = 0.5
    for _ in range(60):
        c = 2 / math.pi * math.asin(c)
    assert c < 1e-6
