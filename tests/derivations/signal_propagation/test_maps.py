"""The maps, fixed points, depth scales and the edge of chaos, against closed forms, networks and digits of mpmath."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch

from derivations.signal_propagation import (
    chi,
    correlation_gap,
    correlation_map,
    depth_scales,
    edge_of_chaos,
    edge_points,
    fixed_point,
    fixed_points,
    from_fixed_point,
    length_map,
)
from derivations.signal_propagation.evaluators.activations import NAMED, Activation, activation
from derivations.signal_propagation.evaluators.gaussian_means import (
    pair_gap,
    pair_mean,
    pair_slope_mean,
    slope_mean,
    square_mean,
    square_slope,
)

EVERY = [*NAMED, "leaky_relu"]
CLOSED = [name for name in NAMED if NAMED[name].closed is not None]
LENGTHS = np.array([1e-6, 1e-2, 0.7, 1.0, 30.0, 1e3])


def test_quadrature_has_all_digits_at_any_length():
    """tanh against 30 digits, over nine decades of q."""
    for q in (1e-6, 1.0, 1e3):
        with mpmath.workdps(30):
            root = mpmath.sqrt(q)
            own = [s * mpmath.mpf(2) ** k / root for k in range(-2, 8) for s in (-1, 1)]
            ends = sorted({-14, 0, 14, *(x for x in own if abs(x) < 14)})

            def over(f, root=root, ends=ends):
                return float(mpmath.quad(lambda z: f(root * z) * mpmath.npdf(z), ends))

            square, slope = over(lambda x: mpmath.tanh(x) ** 2), over(lambda x: mpmath.sech(x) ** 4)
        tanh = activation("tanh")
        assert square_mean(tanh, np.array([q]))[0] == pytest.approx(square, rel=1e-14)
        assert slope_mean(tanh, np.array([q]))[0] == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_are_what_quadrature_gives(name):
    phi = NAMED[name]
    plain = replace(phi, closed=None, name=f"plain {name}")
    np.testing.assert_allclose(square_mean(plain, LENGTHS), square_mean(phi, LENGTHS), rtol=1e-13)
    np.testing.assert_allclose(
        square_slope(plain, LENGTHS), square_slope(phi, LENGTHS), rtol=1e-12, atol=1e-14
    )
    for k in (1, 2, 3):
        np.testing.assert_allclose(slope_mean(plain, LENGTHS, k), slope_mean(phi, LENGTHS, k), rtol=1e-13)


@pytest.mark.parametrize("name", ["erf", "sin"])
def test_mehlers_series_is_the_closed_form(name):
    phi = NAMED[name]
    plain = replace(phi, closed=None, name=f"plain {name}")
    q = np.array([0.1, 1.0, 5.0])[:, None]
    c = np.array([-0.9, -0.3, 0.5, 0.9, 0.999, 1 - 1e-9])[None, :]
    np.testing.assert_allclose(pair_mean(plain, q, c), pair_mean(phi, q, c), rtol=1e-13)
    np.testing.assert_allclose(pair_gap(plain, q, 1 - c), pair_gap(phi, q, 1 - c), rtol=1e-13)
    np.testing.assert_allclose(pair_slope_mean(plain, q, c), pair_slope_mean(phi, q, c), rtol=1e-13)


@pytest.mark.parametrize("name", ["hard_tanh", "relu"])
def test_pairs_at_a_kink_are_integrated_directly(name):
    phi = NAMED[name]
    plain = replace(phi, closed=None, name=f"plain {name}")
    for q, c in ((1.0, 0.99), (5.0, -0.3)):
        at = np.array([q]), np.array([c])
        np.testing.assert_allclose(pair_mean(plain, *at), pair_mean(phi, *at), rtol=1e-13)
        np.testing.assert_allclose(
            pair_gap(plain, at[0], 1 - at[1]), pair_gap(phi, at[0], 1 - at[1]), rtol=1e-12
        )


@pytest.mark.parametrize("name", EVERY)
def test_the_gap_is_stable_down_to_rounding(name):
    """1 - C = χ_q g for small g, at any length, with all digits."""
    phi = activation(name)
    q = np.array([0.1, 1.0, 4.0])
    slope = q * slope_mean(phi, q)
    for g in (1e-15, 1e-12):
        expected = slope * g
        allowed = 1e-13 + (0 if phi.kind == "smooth" else 3 * math.sqrt(g))
        np.testing.assert_allclose(pair_gap(phi, q, np.full(3, g)), expected, rtol=allowed + 30 * g)


@pytest.mark.parametrize("name", EVERY)
def test_chi_is_the_slope_of_the_correlation_map(name):
    sigma2, bias, gamma = 1.1, 0.2, 0.5
    q = fixed_point(sigma2, bias, gamma, name)
    assert length_map(q, sigma2, bias, gamma, name) == pytest.approx(float(q), rel=1e-14)
    gap = 1e-9
    slope = float(correlation_gap(gap, q, sigma2, bias, gamma, name)) / gap
    assert slope == pytest.approx(float(chi(sigma2, bias, gamma, name)), rel=1e-4)


def test_low_rank_maps_are_those_of_full_rank_with_variances_divided_by_gamma():
    for name in EVERY:
        full = length_map(0.7, 1.3, 0.2, 1.0, name), fixed_point(1.3, 0.2, 1.0, "tanh")
        low = length_map(0.7, 5.2, 0.8, 0.25, name), fixed_point(5.2, 0.8, 0.25, "tanh")
        np.testing.assert_allclose(low, full, rtol=1e-13)


def test_closed_fixed_points_and_edges():
    assert fixed_point(0.5, 1.0, 1.0, "linear") == pytest.approx(2.0, rel=1e-14)
    assert float(edge_of_chaos(0.0, 0.25, "relu").sigma_alpha2) == 8.0
    assert math.isnan(edge_of_chaos(0.0, 0.25, "relu").q_star)
    assert float(edge_of_chaos(0.3, 0.25, "relu").sigma_alpha2) == math.inf
    q = 0.8
    sigma2, bias = from_fixed_point(q, 0.5, "erf")
    assert sigma2 == pytest.approx(math.pi * math.sqrt(1 + 4 * q) / 4 / 0.5, rel=1e-14)
    found = edge_of_chaos(bias, 0.5, "erf")
    assert float(found.q_star) == pytest.approx(q, rel=1e-12)
    assert float(found.sigma_alpha2) == pytest.approx(float(sigma2), rel=1e-12)


def test_the_edge_has_chi_one_and_its_fixed_point():
    bias = np.linspace(0.01, 0.5, 12)
    found = edge_of_chaos(bias, 0.25, "tanh")
    np.testing.assert_allclose(chi(found.sigma_alpha2, bias, 0.25, "tanh"), 1.0, rtol=1e-12)
    np.testing.assert_allclose(fixed_point(found.sigma_alpha2, bias, 0.25, "tanh"), found.q_star, rtol=1e-11)
    (only,) = edge_points(float(bias[3]), 0.25, "tanh")
    assert only == pytest.approx((float(found.sigma_alpha2[3]), float(found.q_star[3])))


def test_all_fixed_points_with_their_slopes():
    zero, positive = fixed_points(1.5, 0.0, 1.0, "tanh")
    assert zero[0] == 0 and zero[1] == pytest.approx(1.5, rel=1e-9)
    assert positive[0] == pytest.approx(float(fixed_point(1.5, 0.0, 1.0, "tanh")))
    assert abs(positive[1]) < 1
    assert float(fixed_point(0.5, 0.0, 1.0, "tanh")) == 0.0


@pytest.mark.parametrize("name", ["tanh", "erf", "hard_tanh"])
def test_depth_scales_are_the_rates_of_the_iterated_map(name):
    """In the chaotic phase the rate is that at c* < 1, and -log χ, as printed, has another sign."""
    found = depth_scales([1.0, 4.0], 0.05, 1.0, name)
    assert found.phase.tolist() == [-1, 1]
    for k, sigma2 in enumerate((1.0, 4.0)):
        q, c = float(found.q_star[k]), float(found.c_star[k])
        start = 1 - 1e-3 if c == 1 else c + 1e-3
        gaps = [c - start]
        for _ in range(6):
            start = float(correlation_map(start, q, sigma2, 0.05, 1.0, name))
            gaps.append(c - start)
        rate = math.exp(-1 / float(found.correlation[k]))
        allowed = 0.02 if name == "hard_tanh" else 0.005
        assert gaps[6] / gaps[5] == pytest.approx(rate, rel=allowed)
    assert float(found.chi[1]) > 1


def test_a_wide_network_follows_the_maps_with_independent_biases_and_not_with_one():
    """Lengths after four layers: their spread over draws is O(1/√N) for b_k, and of the order of σ_b² for one b."""
    generator = np.random.default_rng(2)
    n, gamma, sigma2, bias = 600, 0.25, 8.0, 2.0
    rank, found = int(gamma * n), {True: [], False: []}
    for shared in (True, False):
        for _ in range(24):
            h = generator.normal(size=n)
            for _ in range(4):
                frame = np.linalg.qr(generator.normal(size=(n, rank)))[0]
                z = math.sqrt(sigma2 / n) * generator.normal(size=(rank, n)) @ np.tanh(h)
                z = z + math.sqrt(bias) * generator.normal(size=1 if shared else rank)
                h = frame @ z
            found[shared].append(h @ h / n)
    expected = 1.0
    for _ in range(4):
        expected = float(length_map(expected, sigma2, bias, gamma, "tanh"))
    assert np.mean(found[False]) == pytest.approx(expected, rel=0.1)
    assert np.std(found[False]) < 0.25 * expected
    assert np.std(found[True]) > 0.25 * expected


def test_batches_and_tensors():
    q = np.linspace(0.1, 2, 6).reshape(2, 3)
    assert length_map(q, 1.0, [[0.1], [0.2]], 0.5, "tanh").shape == (2, 3)
    tensor = length_map(torch.tensor([0.5, 1.0], dtype=torch.float64), 1.5, 0.1, 0.25, torch.tanh)
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_allclose(tensor.numpy(), length_map([0.5, 1.0], 1.5, 0.1, 0.25, "tanh"), rtol=1e-14)
    assert length_map(np.float32(1.0), np.float32(1.0), 0.1, 0.5, "erf").dtype == np.float32
    assert length_map(np.empty((0,)), 1.0, 0.1, 0.5, "tanh").shape == (0,)


def test_functions_of_torch_tensors_are_taken():
    silu = activation(torch.nn.functional.silu)
    assert silu.parity == 0 and silu.kind == "smooth"
    assert activation(torch.tanh).parity == -1
    np.testing.assert_allclose(chi(1.5, 0.1, 1.0, torch.tanh), chi(1.5, 0.1, 1.0, "tanh"), rtol=1e-13)
    x = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(
        activation(torch.nn.functional.gelu).derivative(x), NAMED["gelu"].derivative(x), rtol=1e-12
    )


STEP = Activation("step", lambda x: np.where(x > 0, 1.0, 0.0), lambda x: 0 * x, (0.0,), 0, "jumping")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: length_map(1, 1, 1, 1.5, "tanh"), "gamma = 1.5"),
        (lambda: length_map(1, 1, 1, 0, "tanh"), "gamma = 0"),
        (lambda: length_map(-1, 1, 1, 0.5, "tanh"), "q = -1"),
        (lambda: length_map([1, math.nan], 1, 1, 0.5, "tanh"), r"batch indices \[\[1\]\]"),
        (lambda: length_map(1, -1, 1, 0.5, "tanh"), "sigma_alpha2"),
        (lambda: length_map(1, 1, -1, 0.5, "tanh"), "sigma_b2"),
        (lambda: length_map(1, 1, math.inf, 0.5, "tanh"), "sigma_b2"),
        (lambda: length_map([1, 2], [1, 2, 3], 1, 0.5, "erf"), "do not broadcast"),
        (lambda: correlation_map(1.5, 1, 1, 1, 0.5, "erf"), "c = 1.5"),
        (lambda: correlation_map(0.5, 0, 1, 1, 0.5, "erf"), "q = 0"),
        (lambda: correlation_gap(3, 1, 1, 1, 0.5, "erf"), "gap = 3"),
        (lambda: length_map(1, 1, 1, 0.5, "tnh"), "unknown activation"),
        (lambda: activation("tanh", slope=2), "slope"),
        (lambda: activation(lambda x: x / 0), "not finite"),
        (lambda: activation(lambda x: x.sum()), "shape"),
        (lambda: activation(lambda x: torch.softmax(x, 0)), "entry by entry"),
        (lambda: fixed_point(2.0, 0.1, 0.5, "linear"), "without bound"),
        (lambda: fixed_point(5.0, 0.1, 0.5, "relu"), "without bound"),
        (lambda: fixed_point(2.0, 0.0, 0.5, "linear"), "every length"),
        (lambda: fixed_point(4.0, 0.0, 0.5, "relu"), "every length"),
        (lambda: from_fixed_point(0.0, 0.5, "tanh"), "q_star"),
        (lambda: from_fixed_point(0.5, 0.5, lambda x: torch.cos(x) + 2), "would be"),
        (lambda: depth_scales(0.5, 0.0, 1.0, "tanh"), "lengths go to zero"),
        (lambda: chi(1.5, 0.1, 0.5, STEP), "jumps"),
        (lambda: depth_scales(1.5, 0.1, 0.5, STEP), "jumps"),
        (lambda: edge_of_chaos(0.1, 0.5, STEP), "jumps"),
        (lambda: from_fixed_point(0.5, 0.5, STEP), "jumps"),
        (lambda: Activation("k", np.abs, np.sign, kind="kinked"), "at which points"),
        (lambda: Activation("k", np.abs, np.sign, kind="rough"), "kind"),
        (lambda: Activation("k", np.abs, np.sign, parity=2), "parity"),
    ],
)
def test_values_out_of_their_domain_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("value", [1j, "a", None])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError):
        length_map(value, 1, 1, 0.5, "erf")
    with pytest.raises(TypeError):
        activation(3)


def test_a_large_grid_of_hard_tanh_has_the_values_of_its_points():
    q = np.geomspace(1e-3, 1e3, 70)[:, None]
    gap = np.concatenate([[0.0], np.geomspace(1e-16, 1, 90), [0.75, 1.5, 2.0]])[None, :]
    whole = correlation_gap(gap, q, 1.5, 0.1, 0.5, "hard_tanh")
    c = correlation_map(1 - gap, q, 1.5, 0.1, 0.5, "hard_tanh")
    for i in (0, 33, 69):
        np.testing.assert_allclose(
            whole[i], correlation_gap(gap[0], q[i], 1.5, 0.1, 0.5, "hard_tanh"), rtol=1e-13
        )
        np.testing.assert_allclose(
            c[i], correlation_map(1 - gap[0], q[i], 1.5, 0.1, 0.5, "hard_tanh"), atol=1e-14
        )


@pytest.mark.parametrize("name", ["tanh", "gelu", "erf", "sin", "relu", "hard_tanh"])
def test_the_gap_at_1e_15_has_all_its_digits(name):
    # 1 - C(1 - g) is χ g less g²C''/2: at g = 1e-15 it is χ g, but for the kinks of ReLU, which add g^{3/2}.
    q, g = 0.7, 1e-15
    found = float(correlation_gap(g, q, 1.0, 0.0, 1.0, name))
    phi = activation(name)
    with mpmath.workdps(50):
        u, v, n = mpmath.sqrt(mpmath.mpf("0.7")), mpmath.mpf(g), mpmath.npdf
        slopes = {
            "tanh": lambda z: mpmath.sech(u * z) ** 4,
            "gelu": lambda z: (mpmath.ncdf(u * z) + u * z * n(u * z)) ** 2,
            "erf": lambda z: 4 / mpmath.pi * mpmath.exp(-2 * u * u * z * z),
            "sin": lambda z: mpmath.cos(u * z) ** 2,
        }
        squares = {
            "tanh": lambda z: mpmath.tanh(u * z) ** 2,
            "gelu": lambda z: (u * z * mpmath.ncdf(u * z)) ** 2,
            "erf": lambda z: mpmath.erf(u * z) ** 2,
            "sin": lambda z: mpmath.sin(u * z) ** 2,
        }
        if name in slopes:
            points = mpmath.linspace(-12, 12, 49)
            mean = [mpmath.quad(lambda z, f=f: f(z) * n(z), points) for f in (slopes[name], squares[name])]
            known = u * u * v * mean[0] / mean[1]
        elif name == "relu":
            theta = mpmath.acos(1 - v)
            known = 1 - (mpmath.sin(theta) + (mpmath.pi - theta) * (1 - v)) / mpmath.pi
        else:  # q(g P - ∫ (t - c)P'(t)dt) of which the integral is O(g^{3/2})
            inner = mpmath.erf(1 / (u * mpmath.sqrt(2)))
            edge = 2 * mpmath.exp(-1 / (2 * u * u)) / (mpmath.pi * mpmath.sqrt(2)) * 2 * mpmath.sqrt(v) / 3
            square = u * u * (
                inner - mpmath.sqrt(2 / mpmath.pi) / u * mpmath.exp(-1 / (2 * u * u))
            ) + mpmath.erfc(1 / (u * mpmath.sqrt(2)))
            known = u * u * v * (inner - edge) / square
        assert phi.name == name
        assert abs(found / known - 1) < (1e-13 if name != "hard_tanh" else 1e-12)
