"""Laws, moments and exact finite widths of random weights and Jacobians, against integrals, matrices and each other."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from derivations.random_matrices import (
    exact_linear_moments,
    jacobian_moments,
    jacobian_variance,
    largest_depth,
    spectral_law,
)
from derivations.random_matrices.jacobian.moments import truncated
from derivations.signal_propagation import Activation
from symdyn.proof.check import decide

LAWS = [(0.25, 2.0), (1, 1.0), (0.9, 0.5), (0.01, 3.0)]


def bulk(law, points=400):
    """Points of the bulk and the masses at them, by Gauss's rule in the angle."""
    ((low, high),) = law.support
    x, w = np.polynomial.legendre.leggauss(points)
    theta, w = (x + 1) / 2 * math.pi, w * math.pi / 2
    at = low + (high - low) * np.sin(theta / 2) ** 2
    return at, law.density(at) * (high - low) * np.sin(theta) / 2 * w


@pytest.mark.parametrize(("gamma", "sigma2"), LAWS)
def test_mass_moments_and_transform_are_integrals_of_the_density(gamma, sigma2):
    law = spectral_law(gamma, sigma2, "gaussian")
    at, mass = bulk(law)
    assert mass.sum() == pytest.approx(float(gamma), rel=1e-13)
    for k in range(1, 7):
        assert (mass * at**k).sum() == pytest.approx(float(law.moment(k)), rel=1e-12)
    for z in (1 + 1j, -2.0, law.support[0][1] + 1, 0.3 - 2j, 1e6j):
        zero = sum(float(m) / (z - float(place)) for place, m in law.atoms.items())
        assert abs(law.stieltjes(z) - (mass / (z - at)).sum() - zero) <= 1e-13 * abs(zero) + 1e-13


@pytest.mark.parametrize("ensemble", ["gaussian", "orthogonal"])
@pytest.mark.parametrize(("gamma", "sigma2"), LAWS)
def test_the_branch_of_the_stieltjes_transform(gamma, sigma2, ensemble):
    law = spectral_law(gamma, sigma2, ensemble)
    generator = np.random.default_rng(1)
    z = generator.normal(size=200) * 3 + 1j * np.exp(generator.normal(size=200) * 3)
    assert (law.stieltjes(z).imag < 0).all()
    np.testing.assert_allclose(law.stieltjes(z.conj()), law.stieltjes(z).conj(), rtol=1e-14)
    assert abs(1e9j * law.stieltjes(1e9j) - 1) < 1e-8


def test_the_density_is_the_jump_of_the_transform():
    law = spectral_law(0.3, 1.5, "gaussian")
    at, _ = bulk(law, 50)
    np.testing.assert_allclose(-law.stieltjes(at).imag / math.pi, law.density(at), rtol=1e-12)


@pytest.mark.parametrize("gamma", [Fraction(1, 4), Fraction(3, 4), 1])
@pytest.mark.parametrize("ensemble", ["gaussian", "orthogonal"])
def test_s_is_the_inverse_of_m_to_forty_digits(gamma, ensemble):
    import mpmath

    law = spectral_law(gamma, 2, ensemble)
    with mpmath.workdps(50):
        z = mpmath.mpf(1) / 100
        ratio = mpmath.mpf(gamma.numerator) / gamma.denominator
        inverse = (1 + z) / (z * spectral_law(ratio, 2, ensemble).s_transform(z))
        moments = [law.moment(k) for k in range(1, 160)]
        terms = [mpmath.mpf(m.numerator) / m.denominator / inverse**k for k, m in enumerate(moments, 1)]
        assert abs(mpmath.fsum(terms) - z) < mpmath.mpf(10) ** -40


def test_the_distribution_function_is_the_integral_with_its_atoms():
    law = spectral_law(0.4, 1.0, "gaussian")
    assert law.cdf(-1.0) == 0
    assert law.cdf(0.0) == pytest.approx(0.6)
    assert law.cdf(law.support[0][1]) == pytest.approx(1.0)
    at, mass = bulk(law, 2000)
    middle = at[1000]
    assert law.cdf(middle) == pytest.approx(0.6 + mass[:1000].sum() + mass[1000] / 2, abs=1e-6)
    orthogonal = spectral_law(0.4, 2.0, "orthogonal")
    assert orthogonal.cdf([-1.0, 0.0, 1.0, 2.0]).tolist() == pytest.approx([0.0, 0.6, 0.6, 1.0])


@pytest.mark.parametrize("ensemble", ["gaussian", "orthogonal"])
def test_samples_have_the_moments(ensemble):
    law = spectral_law(0.3, 1.0, ensemble)
    drawn = law.sample(40_000, np.random.default_rng(3))
    spread = math.sqrt(law.moment(2) - law.moment(1) ** 2) / 200
    assert abs(drawn.mean() - law.moment(1)) < 4 * spread
    assert abs((drawn == 0).mean() - 0.7) < 4 * math.sqrt(0.21 / 40_000)


def test_sampled_weights_have_the_corrected_edges_and_not_the_printed_ones():
    generator = np.random.default_rng(5)
    n, rank = 400, 100
    a = generator.normal(size=(rank, n)) / math.sqrt(n)
    values = np.linalg.eigvalsh(a @ a.T)
    ((low, high),) = spectral_law(0.25, 1.0, "gaussian").support
    assert abs(values[0] - low) < 0.06
    assert abs(values[-1] - high) < 0.12
    assert values[-1] < (1 + 1 / 0.25) ** 2 / 5


@pytest.mark.parametrize("ensemble", ["gaussian", "orthogonal"])
@pytest.mark.parametrize("depth", [1, 3, 8])
def test_exact_moments_tend_to_the_free_ones(ensemble, depth):
    gamma = Fraction(1, 4)
    limit = jacobian_moments(depth, gamma, ensemble, "linear", 1, 3)
    errors = [
        [
            abs(float(m / x) - 1)
            for m, x in zip(exact_linear_moments(n, n // 4, depth, 4, ensemble), limit, strict=True)
        ]
        for n in (1_000, 10_000)
    ]
    for near, far in zip(*errors, strict=True):
        assert far <= near / 9 or far < 1e-12
    assert errors[1][2] < 0.02


def test_exact_moments_of_small_networks_by_hand():
    assert exact_linear_moments(1, 1, 2, 1, "gaussian") == (1, 9, 225)
    assert exact_linear_moments(2, 2, 5, 1, "orthogonal") == (1, 1, 1)
    assert exact_linear_moments(2, 1, 2, 1, "orthogonal") == (
        Fraction(1, 4),
        Fraction(3, 16),
        Fraction(5, 32),
    )


def test_moments_are_those_of_the_formulas():
    for depth, gamma in ((1, Fraction(1, 2)), (7, Fraction(1, 3))):
        for ensemble, s1 in (("gaussian", -1 / gamma), ("orthogonal", 1 - 1 / gamma)):
            first, second = jacobian_moments(depth, gamma, ensemble, "relu", 1, 2)
            assert (first, second) == (1, 1 + depth * (2 - 1 - s1))
            assert jacobian_variance(depth, gamma, ensemble, "relu", 1) == second - 1
            assert jacobian_moments(depth, gamma, ensemble, "relu", 1, 1, chi=2) == (2**depth,)


def test_floats_and_fractions_agree_to_all_digits():
    exact = jacobian_moments(20, Fraction(1, 4), "gaussian", "relu", 1, 6)
    floats = jacobian_moments(20, 0.25, "gaussian", "relu", 1, 6)
    np.testing.assert_allclose(floats, [float(m) for m in exact], rtol=1e-15)


def test_one_layer_of_full_rank_without_an_activation_is_marchenko_pastur():
    law = spectral_law(Fraction(1, 4), 4, "gaussian")
    assert jacobian_moments(1, Fraction(1, 4), "gaussian", "linear", 1, 5) == tuple(
        law.moment(k) for k in range(1, 6)
    )


def test_orthogonal_weights_as_they_stand_do_not_have_the_printed_moment():
    assert decide(truncated(), None).outcome == "REFUTED"


def test_the_largest_depth_is_exact_where_the_variance_is():
    # 3 layers of variance 1/γ = 7/3 are 7, and of ReLU with ε = 1 they are 10.
    assert largest_depth(Fraction(3, 7), "gaussian", "linear", 7) == 3
    assert largest_depth(Fraction(3, 7), "gaussian", "linear", Fraction(7) - Fraction(1, 10**30)) == 2
    assert largest_depth(Fraction(3, 7), "gaussian", "relu", 10) == 3
    assert largest_depth(Fraction(3, 7), "orthogonal", "relu", Fraction(7)) == 3
    assert largest_depth(1, "orthogonal", "linear", 1e-9) == math.inf
    assert largest_depth(1, "orthogonal", "tanh", 1e-9) == math.inf
    assert largest_depth(0.5, "orthogonal", "tanh", 0.99) == 0


def test_only_lengths_of_networks_on_the_edge_count():
    # 1 + tanh has E φ² ≥ 1: σ_b² = q/γ - E φ²/(γμ_1) is not negative for long pre-activations only, with large ε.
    shifted = Activation(
        "shifted", lambda x: 1 + np.tanh(x), lambda x: 1 / np.cosh(np.clip(x, -300, 300)) ** 2
    )
    found = largest_depth(1, "orthogonal", shifted, 100.0)
    assert 0 < found < 100
    line = Activation("x + 1", lambda x: x + 1, lambda x: 1.0 + 0 * x)
    with pytest.raises(ValueError, match="negative variance"):
        largest_depth(1, "gaussian", line, 10.0)


def test_the_largest_depth_keeps_the_bound_and_one_more_layer_breaks_it():
    gamma = Fraction(1, 4)
    depth = int(largest_depth(gamma, "gaussian", "linear", 21.0))
    assert jacobian_variance(depth, gamma, "gaussian", "linear", 1) <= 21
    assert jacobian_variance(depth + 1, gamma, "gaussian", "linear", 1) > 21
    assert largest_depth(1, "orthogonal", "tanh", 1.0) == math.inf
    assert largest_depth(gamma, "gaussian", "tanh", 1.0) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: spectral_law(0, 1, "gaussian"), "gamma"),
        (lambda: spectral_law(1.5, 1, "gaussian"), "gamma"),
        (lambda: spectral_law(float("nan"), 1, "gaussian"), "gamma"),
        (lambda: spectral_law(0.5, 0, "gaussian"), "sigma2"),
        (lambda: spectral_law(0.5, math.inf, "gaussian"), "sigma2"),
        (lambda: spectral_law(0.5, 1, "wigner"), "ensemble"),
        (lambda: spectral_law(0.5, 1, "gaussian").moment(-1), "number of a moment"),
        (lambda: spectral_law(0.5, 1, "gaussian").density([1.0, float("nan")]), "x is a real"),
        (lambda: exact_linear_moments(4, 5, 1, 1, "gaussian"), "more than the width"),
        (lambda: exact_linear_moments(4, 0, 1, 1, "gaussian"), "less than 1"),
        (lambda: exact_linear_moments(4, 2, 0, 1, "gaussian"), "less than 1"),
        (lambda: exact_linear_moments(4, 2, 1, -1, "gaussian"), "sigma2"),
        (lambda: jacobian_moments(2, 0.5, "gaussian", "tanh", 0, 2), "positive length"),
        (lambda: jacobian_moments(2, 0.5, "gaussian", "tanh", 1, 13), "at most 12"),
        (lambda: jacobian_moments(2, 0.5, "gaussian", "swish", 1, 2), "unknown activation"),
        (lambda: jacobian_moments(2, 0.5, "gaussian", "tanh", 1, 2, chi=0), "chi"),
    ],
)
def test_values_out_of_their_domain_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: spectral_law("a", 1, "gaussian"),
        lambda: spectral_law(0.5, None, "gaussian"),
        lambda: spectral_law(0.5, 1, "gaussian").sample(3, 7),
        lambda: exact_linear_moments(4.5, 1, 1, 1, "gaussian"),
        lambda: exact_linear_moments(True, 1, 1, 1, "gaussian"),
        lambda: jacobian_moments(2, 0.5, "gaussian", "tanh", "x", 2),
        lambda: jacobian_moments(2, 0.5, "gaussian", 7, 1, 2),
    ],
)
def test_what_is_no_number_is_refused(call):
    with pytest.raises(TypeError):
        call()
