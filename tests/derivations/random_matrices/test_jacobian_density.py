"""The density of the spectrum of JJᵀ, against laws in closed form, power series, quadrature and sampled networks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from derivations.random_matrices import jacobian_density, jacobian_moments, slope_law, spectral_law
from derivations.signal_propagation import Activation, activation
from derivations.signal_propagation.evaluators.gaussian_means import slope_mean

NETWORKS = [
    (1, 0.3, "gaussian", "tanh", 0.5),
    (2, 1, "orthogonal", "tanh", 0.5),
    (50, 1, "gaussian", "tanh", 0.1),
    (50, 0.25, "orthogonal", "erf", 0.1),
    (3, 0.6, "gaussian", "gelu", 1.0),
    (3, 1, "orthogonal", "sin", 0.5),
    (5, 0.8, "gaussian", "relu", 1.0),
    (50, 0.25, "orthogonal", "relu", 1.0),
    (10, 1, "orthogonal", "hard_tanh", 0.05),
    (1, 0.7, "orthogonal", "leaky_relu", 1.0),
    (4, Fraction(1, 2), "orthogonal", "linear", 1),
    (2, 0.9, "orthogonal", "linear", 1),
    (3, 1, "orthogonal", "leaky_relu", 1),
    (100, 1, "orthogonal", "tanh", 0.09),
    (1, 0.03, "orthogonal", "tanh", 0.0123),
    (200, 1, "gaussian", "linear", 1),
]


def inside(law, points=101):
    """Points of the support, close to its edges as well."""
    return np.concatenate(
        [a + (b - a) * np.sin(np.linspace(0.01, 0.99, points) * math.pi / 2) ** 2 for a, b in law.support]
    )


@pytest.mark.parametrize("gamma", [1, 0.25, 0.9, 0.01])
@pytest.mark.parametrize("chi", [1, 3.5])
def test_one_linear_layer_is_marchenko_pastur(gamma, chi):
    found, known = (
        jacobian_density(1, gamma, "gaussian", "linear", 1, chi=chi),
        spectral_law(gamma, chi / gamma, "gaussian"),
    )
    np.testing.assert_allclose(found.support, known.support, rtol=1e-13, atol=1e-15)
    assert found.atoms == pytest.approx(known.atoms, abs=1e-15)
    x = inside(known)
    np.testing.assert_allclose(found.density(x), known.density(x), rtol=2e-11)
    np.testing.assert_allclose(found.cdf(x), known.cdf(x), rtol=0, atol=1e-12)
    z = np.array([1 + 1j, -2.0, 0.3 - 2j, 1e6j, 1e-3 + 1e-5j, 30.0])
    np.testing.assert_allclose(found.stieltjes(z), known.stieltjes(z), rtol=1e-11)
    for k in range(7):
        assert found.moment(k) == pytest.approx(float(known.moment(k)), rel=1e-11)


@pytest.mark.parametrize("depth", [1, 2, 5, 50, 400])
def test_linear_gaussian_layers_of_full_rank_have_the_law_of_fuss_and_catalan(depth):
    # Its moments are those numbers, and the density is known by a parameter (Biane; Haagerup and Moller 2013).
    law = jacobian_density(depth, 1, "gaussian", "linear", 1)
    for k in range(1, 6):
        number = math.comb((depth + 1) * k, k) / (depth * k + 1)
        assert law.moment(k) == pytest.approx(number, rel=1e-10)
    assert law.support[0] == (
        0.0,
        pytest.approx(
            (depth + 1) ** (depth + 1) / depth**depth
            if depth < 100
            else (depth + 1) * (1 + 1 / depth) ** depth,
            rel=1e-14 * (depth + 100),
        ),
    )
    t = np.linspace(0.02, 0.98, 60) * math.pi / (depth + 1)
    a, b, c = np.sin(t), np.sin(depth * t), np.sin((depth + 1) * t)
    log_x = (depth + 1) * np.log(c) - np.log(a) - depth * np.log(b)
    log_density = 2 * np.log(a) + (depth - 1) * np.log(b) - depth * np.log(c) - math.log(math.pi)
    np.testing.assert_allclose(law.density_of_log(log_x), np.exp(log_x + log_density), rtol=1e-9)


def test_two_linear_layers_have_the_explicit_density():
    law = jacobian_density(2, 1, "gaussian", "linear", 1)
    x = np.linspace(0.01, 6.74, 200)
    root = np.cbrt(27 + 3 * np.sqrt(81 - 12 * x))
    known = (
        np.cbrt(2)
        * math.sqrt(3)
        / (12 * math.pi)
        * (np.cbrt(2) * root**2 - 6 * np.cbrt(x))
        / (np.cbrt(x) ** 2 * root)
    )
    np.testing.assert_allclose(law.density(x), known, rtol=1e-11)


@pytest.mark.parametrize("depth", [1, 7])
def test_linear_orthogonal_layers_of_full_rank_are_an_atom(depth):
    law = jacobian_density(depth, 1, "orthogonal", "linear", 1, chi=2)
    assert law.atoms == {2.0**depth: 1.0} and law.support == () and law.error == 0
    assert (law.density([0.0, 1.0, 2.0**depth]) == 0).all()
    np.testing.assert_array_equal(law.cdf([0.0, 2.0**depth - 1e-9, 2.0**depth]), [0, 0, 1])
    assert complex(law.stieltjes(1j)) == pytest.approx(1 / (1j - 2.0**depth), rel=1e-12)


def test_an_orthogonal_layer_of_half_the_rank_with_relu_is_the_arcsine_law():
    # Two free projections of rank N/2, times σ_α² = 4.
    law = jacobian_density(1, Fraction(1, 2), "orthogonal", "relu", 1)
    x = inside(law)
    np.testing.assert_allclose(law.density(x), 1 / (2 * math.pi * np.sqrt(x * (4 - x))), rtol=1e-9)
    assert law.atoms == {0.0: 0.5} and law.density(0.0) == math.inf


def test_two_free_projections_have_the_atoms_and_edges_that_are_known():
    # Of ranks p and γ: p + γ - 1 at 1, 1 - min(p, γ) at 0, and the bulk of Voiculescu.
    gamma, p = 0.8, 0.5
    law = jacobian_density(1, gamma, "orthogonal", "relu", 1, chi=gamma * p)
    assert law.atoms == pytest.approx({0.0: 0.5, 1.0: 0.3})
    mean, spread = p + gamma - 2 * p * gamma, 2 * math.sqrt(p * gamma * (1 - p) * (1 - gamma))
    np.testing.assert_allclose(law.support, [(mean - spread, mean + spread)], rtol=1e-13)
    x = inside(law)
    ((low, high),) = law.support
    np.testing.assert_allclose(
        law.density(x), np.sqrt((x - low) * (high - x)) / (2 * math.pi * x * (1 - x)), rtol=1e-10
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_mass_is_one_and_moments_are_those_of_the_series(network):
    law = jacobian_density(*network)
    assert law.error < 1e-9
    assert law.moment(0) == pytest.approx(1, abs=1e-9)
    for k, wanted in enumerate(jacobian_moments(*network, 6), 1):
        assert law.moment(k) == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_transform_is_on_its_branch_and_the_density_its_jump(network):
    law = jacobian_density(*network)
    generator = np.random.default_rng(1)
    z = (generator.normal(size=60) * 3 + 1j * np.exp(generator.normal(size=60) * 3)) * law.moment(1)
    G = law.stieltjes(z)
    assert (G.imag < 0).all()
    np.testing.assert_array_equal(law.stieltjes(z.conj()), G.conj())
    far = 1e7 * max(law.support[-1][1], *law.atoms, 1)
    assert complex(law.stieltjes(1j * far) * 1j * far) == pytest.approx(1, abs=1e-6)
    x = inside(law)
    x = x[x > 1e-3]
    np.testing.assert_allclose(-law.stieltjes(x).imag / math.pi, law.density(x), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_distribution_function_is_the_integral_of_the_density(network):
    law = jacobian_density(*network)
    (low, high) = law.support[-1]
    s = (
        np.log(high) + np.linspace(-3, -0.01, 12)
        if low == 0
        else np.log(low + (high - low) * np.linspace(0.05, 0.95, 12))
    )
    at, weight = np.polynomial.legendre.leggauss(40)
    for a, b in itertools.pairwise(s):
        integral = (b - a) / 2 * (weight @ law.density_of_log((a + b) / 2 + (b - a) / 2 * at))
        between = [m for x, m in law.atoms.items() if x > 0 and a < math.log(x) <= b]
        assert float(law.cdf(math.exp(b)) - law.cdf(math.exp(a))) == pytest.approx(
            integral + sum(between), abs=2e-9
        )
    assert law.cdf(1.5 * max(high, *law.atoms, high)) == pytest.approx(1, abs=1e-9) and law.cdf(-1.0) == 0
    assert float(law.cdf(0.0)) == pytest.approx(law.atoms.get(0.0, 0.0), abs=1e-12)


def test_moments_are_integrals_of_the_transform_around_the_spectrum():
    law = jacobian_density(3, 0.5, "gaussian", "tanh", 0.4)
    z = 1.5 * law.support[-1][1] * np.exp(1j * math.pi * (np.arange(128) + 0.5) / 64)
    for k in range(1, 5):
        assert float((z ** (k + 1) * law.stieltjes(z)).mean().real) == pytest.approx(law.moment(k), rel=1e-10)


def test_singular_values_are_the_roots_of_eigenvalues():
    network = (2, 0.5, "orthogonal", "relu", 1)
    law, roots = jacobian_density(*network), jacobian_density(*network, of="singular values")
    y = inside(roots)
    np.testing.assert_allclose(roots.density(y), 2 * y * law.density(y * y), rtol=1e-10)
    np.testing.assert_allclose(roots.cdf(y), law.cdf(y * y), atol=1e-13)
    assert roots.support[0][1] ** 2 == pytest.approx(law.support[0][1])
    assert roots.moment(2) == pytest.approx(law.moment(1)) and roots.moment(1) < 1
    z = np.array([0.5 + 1j, -0.5 + 0.1j, 0.3 - 2j, -4.0, 5j])
    ends = np.concatenate([-y[::-1], y])
    assert (np.diff(ends) > 0).all()
    np.testing.assert_allclose(roots.stieltjes(z), z * law.stieltjes(z * z), rtol=1e-12)
    assert (roots.stieltjes(z).imag * z.imag <= 0).all()


@pytest.mark.parametrize(
    ("network", "power"),
    [
        ((1, 1, "orthogonal", "tanh", 0.5), 0.5),
        ((3, 0.5, "gaussian", "tanh", 0.4), 1.0),
        ((4, 1, "orthogonal", "relu", 1.0), 0.5),
        ((3, 0.75, "orthogonal", "erf", 0.3), 1.0),
    ],
)
def test_sampled_products_follow_the_law(network, power):
    # Σ min(λ, m) over independent draws: linear statistics of free matrices fluctuate by O(1) in all.
    depth, gamma, ensemble, phi, q = network
    law = jacobian_density(*network)
    width, draws = 120, 12
    rank, generator, phi = round(gamma * width), np.random.default_rng(5), activation(phi)
    sigma = math.sqrt(1 / (gamma * float(slope_mean(phi, np.array([q]))[0])))
    bound = law.moment(1)
    found = []
    for _ in range(draws):
        J = np.eye(width)
        for _ in range(depth):
            left = np.linalg.qr(generator.normal(size=(width, rank)))[0]
            if ensemble == "gaussian":
                W = left @ generator.normal(size=(rank, width)) / math.sqrt(width)
            else:
                W = left @ np.linalg.qr(generator.normal(size=(width, rank)))[0].T
            J = phi.derivative(math.sqrt(q) * generator.normal(size=width))[:, None] * (sigma * W @ J)
        found.append(np.minimum(np.linalg.svd(J, compute_uv=False) ** (2 * power), bound).mean())
    s = np.linspace(-60, math.log(law.support[-1][1]), 60_001)
    middle = (s[1:] + s[:-1]) / 2
    masses = law.density_of_log(middle) * np.diff(s)
    known = float(masses @ np.minimum(np.exp(power * middle), bound))
    known += sum(m * min(x**power, bound) for x, m in law.atoms.items())
    score = (np.mean(found) - known) / (np.std(found, ddof=1) / math.sqrt(draws))
    assert abs(score) < 4 and abs(np.mean(found) / known - 1) < 0.05


@pytest.mark.parametrize("name", ["tanh", "erf", "sin", "gelu"])
@pytest.mark.parametrize("q", [1e-3, 0.3, 4.0, 100.0])
def test_the_law_of_squared_slopes_has_their_means(name, q):
    phi = activation(name)
    law = slope_law(phi, q)
    assert law.zero + law.weights.sum() == pytest.approx(1, abs=1e-14)
    for k in range(1, 6):
        assert law.moment(k) == pytest.approx(float(slope_mean(phi, np.array([q]), k)[0]), rel=1e-11)


def test_the_transform_of_squared_slopes_holds_up_to_the_axis():
    # On the axis its imaginary part is the density of d = sech⁴(√q z), which follows by substitution.
    w = 0.4 + 0.3j
    for q in (0.3, 2.0):
        law = slope_law(activation("tanh"), q)
        x = np.array([1e-6, 1e-2, 0.1, 0.5, 0.9, 0.999])
        u = np.arccosh(x**-0.25)
        density = 2 * np.exp(-u * u / (2 * q)) / math.sqrt(2 * math.pi * q) / (4 * x * np.tanh(u))
        G = law.transforms(x + 0j)[1] / x
        np.testing.assert_allclose(-G.imag / math.pi, density, rtol=1e-7, atol=1e-12)
        known = mpmath.quad(
            lambda z, q=q: mpmath.npdf(z) / (w - mpmath.sech(mpmath.sqrt(q) * z) ** 4), range(-12, 13)
        )
        assert complex(law.transforms(np.array([w]))[1][0] / w) == pytest.approx(complex(known), rel=1e-11)


def test_functions_of_torch_tensors_and_kinks_are_taken():
    torch = pytest.importorskip("torch")
    network = (3, 0.5, "gaussian")
    named, own = (jacobian_density(*network, phi, 0.4) for phi in ("tanh", lambda x: torch.tanh(x)))
    x = inside(named)
    np.testing.assert_allclose(own.density(x), named.density(x), rtol=1e-9)
    elu = Activation(
        "elu",
        lambda x: np.where(x > 0, x, np.expm1(x)),
        lambda x: np.where(x > 0, 1.0, np.exp(np.minimum(x, 0))),
        (0.0,),
        0,
        "kinked",
    )
    law = jacobian_density(2, 1, "orthogonal", elu, 1.0)
    assert law.error < 1e-6 and law.atoms == {}
    one = jacobian_density(
        1, 0.9, "orthogonal", elu, 1.0, chi=0.9 * float(slope_mean(elu, np.array([1.0]))[0])
    )
    assert one.atoms == pytest.approx({0.0: 0.1, 1.0: 0.4})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jacobian_density(0, 1, "gaussian", "tanh", 1.0), "depth = 0 is less than 1"),
        (lambda: jacobian_density(2, 1.5, "gaussian", "tanh", 1.0), "gamma = 1.5 is not in"),
        (lambda: jacobian_density(2, 1, "uniform", "tanh", 1.0), "the ensemble is one of"),
        (lambda: jacobian_density(2, 1, "gaussian", "tanh", 0.0), "not a positive length"),
        (lambda: jacobian_density(2, 1, "gaussian", "tanh", math.nan), "not a positive length"),
        (lambda: jacobian_density(2, 1, "gaussian", "tanh", 1.0, chi=-1), "chi = -1 is not positive"),
        (lambda: jacobian_density(2, 1, "gaussian", "tanh", 1.0, of="values"), "of is"),
        (lambda: jacobian_density(2, 1, "gaussian", "swish", 1.0), "unknown activation"),
        (lambda: jacobian_density(2, 1, "gaussian", "linear", 1.0).density(math.nan), "without NaN"),
        (lambda: jacobian_density(2, 1, "gaussian", "linear", 1.0).density(1j), "real number"),
        (lambda: jacobian_density(2, 1, "gaussian", "linear", 1.0).stieltjes(0.0), "z = 0 or an atom"),
        (
            lambda: jacobian_density(2, 1, "orthogonal", "linear", 1.0).stieltjes([2.0, 1.0]),
            "z = 0 or an atom",
        ),
        (lambda: jacobian_density(2, 1, "gaussian", "linear", 1.0).stieltjes(math.inf), "finite"),
        (lambda: jacobian_density(2, 1, "gaussian", "linear", 1.0).moment(-1), "zero or positive"),
    ],
)
def test_values_out_of_their_domain_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_slope_that_jumps_without_being_named_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"kinks=|not settled"):
        jacobian_density(
            2, 1, "gaussian", lambda x: torch.clamp(x, -0.3, 0.7) + torch.relu(x - 0.11) ** 2, 1.0
        )
