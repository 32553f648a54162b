"""One scalar bias a layer: the stationary law of lengths, the rate of correlations and its edge of chaos."""

from __future__ import annotations

import math

import numpy as np
import pytest

from derivations.signal_propagation import (
    activation,
    depth_scales,
    edge_of_chaos,
    one_bias_edge,
    one_bias_scales,
)
from derivations.signal_propagation.evaluators.gaussian_means import slope_mean, square_mean


def test_relu_and_linear_networks_have_the_moments_of_an_autoregression():
    # q' = χq + γb²: mean γσ_b²/(1 - χ), variance 2(γσ_b²)²/(1 - χ²), and log χ does not depend on q.
    for phi, chi in (("relu", 0.6), ("linear", 0.9)):
        found = one_bias_scales(4 * chi * (2 if phi == "relu" else 1), 1.2, 0.25, phi)
        assert found.exponent == pytest.approx(math.log(chi), abs=1e-12)
        assert found.mean_length == pytest.approx(0.3 / (1 - chi), rel=1e-9)
        assert found.variance_of_length == pytest.approx(2 * 0.3**2 / (1 - chi**2), rel=1e-8)
        assert found.phase == -1 and found.correlation == pytest.approx(-1 / math.log(chi))


@pytest.mark.parametrize(
    ("sigma_alpha2", "sigma_b2", "gamma", "phi"), [(1.5, 0.3, 1.0, "erf"), (3.0, 2.0, 0.5, "hard_tanh")]
)
def test_the_chain_of_lengths_has_the_stationary_means(sigma_alpha2, sigma_b2, gamma, phi):
    found, generator = one_bias_scales(sigma_alpha2, sigma_b2, gamma, phi), np.random.default_rng(0)
    phi, q, batches = activation(phi), np.ones(2000), []
    for layer in range(330):
        q = gamma * (sigma_alpha2 * square_mean(phi, q) + sigma_b2 * generator.normal(size=q.shape) ** 2)
        if layer >= 30:
            batches.append(np.stack([q, np.log(gamma * sigma_alpha2 * slope_mean(phi, q))]))
    batches = np.mean(batches, axis=0)  # one mean for each of 2,000 independent chains
    error = batches.std(axis=1) / math.sqrt(batches.shape[1])
    score = (batches.mean(axis=1) - [found.mean_length, found.exponent]) / error
    assert (np.abs(score) < 4).all(), score


def test_a_small_bias_gives_the_scales_of_independent_ones():
    found, known = one_bias_scales(1.5, 1e-5, 1.0, "erf"), depth_scales(1.5, 1e-5, 1.0, "erf")
    assert found.mean_length == pytest.approx(float(known.q_star), rel=1e-5)
    assert found.exponent == pytest.approx(math.log(float(known.chi)), abs=1e-6)


def test_the_edge_of_erf_is_at_smaller_variances_and_chaotic_beyond():
    edge, independent = one_bias_edge(0.3, 0.5, "erf"), edge_of_chaos(0.3, 0.5, "erf")
    assert edge < float(independent.sigma_alpha2)
    assert one_bias_scales(float(independent.sigma_alpha2), 0.3, 0.5, "erf").phase == 1
    assert abs(one_bias_scales(edge, 0.3, 0.5, "erf").exponent) < 1e-8
    assert one_bias_scales(0.99 * edge, 0.3, 0.5, "erf").phase == -1


def test_a_wide_low_rank_network_with_one_bias_forgets_its_inputs_at_this_rate():
    generator, width, gamma, sigma_alpha2, sigma_b2, depth = np.random.default_rng(3), 300, 0.5, 3.0, 1.0, 30
    rank = int(gamma * width)
    found = one_bias_scales(sigma_alpha2, sigma_b2, gamma, "erf")
    erf = activation("erf")
    rates = []
    for _ in range(12):
        h = generator.normal(size=(width, 1)) + 1e-4 * generator.normal(size=(width, 2))
        gaps = []
        for _ in range(depth):
            C = np.linalg.qr(generator.normal(size=(width, rank)))[0]
            A = generator.normal(size=(rank, width)) * math.sqrt(sigma_alpha2 / width)
            h = C @ (A @ erf(h) + math.sqrt(sigma_b2) * generator.normal())
            gaps.append(np.sum((h[:, 0] - h[:, 1]) ** 2) / np.sum(h**2))
        rates.append(math.log(gaps[-1] / gaps[4]) / (depth - 5))
    score = (np.mean(rates) - found.exponent) / (np.std(rates, ddof=1) / math.sqrt(len(rates)))
    assert abs(score) < 4 and abs(np.mean(rates) - found.exponent) < 0.05


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: one_bias_scales(1.0, 0.0, 1.0, "erf"), "without a bias use depth_scales"),
        (lambda: one_bias_scales(-1.0, 0.1, 1.0, "erf"), "a positive variance"),
        (lambda: one_bias_scales(1.0, 0.1, 1.5, "erf"), "ratio of rank to width"),
        (lambda: one_bias_scales([1.0, 2.0], 0.1, 1.0, "erf"), "give numbers"),
        (lambda: one_bias_scales(2.0, 0.1, 1.0, "linear"), "no fixed point"),
        (lambda: one_bias_edge(0.1, 1.0, "relu"), "no edge of chaos with this bias"),
    ],
)
def test_values_out_of_their_domain_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
