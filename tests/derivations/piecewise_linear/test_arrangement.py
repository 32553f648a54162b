"""Exact activation regions of planar networks against signs at sampled inputs; colourings and their absence."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from derivations.piecewise_linear import activation_regions, two_colouring
from derivations.piecewise_linear.input_space.colouring import FIRST_LAYER

NINE_CONES = (FIRST_LAYER, [[1, 1, -1, 1]])
small = st.integers(-4, 4)
rows = st.lists(st.tuples(small, small).filter(any), min_size=1, max_size=7)
deeper = st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=3)


def signs(x, layers, gamma):
    """The signs of all pre-activations at one rational input."""
    found, value = [], [Fraction(c) for c in x]
    for layer in layers:
        z = [sum(Fraction(v) * c for v, c in zip(row, value, strict=True)) for row in layer]
        found += [(number > 0) - (number < 0) for number in z]
        value = [max(number, gamma * number) for number in z]
    return found


def circle(count=720):
    """Rational directions all around."""
    return [
        (Fraction(np.cos(t)), Fraction(np.sin(t))) for t in np.linspace(0.001, 2 * np.pi + 0.001, count)[:-1]
    ]


@settings(deadline=None, max_examples=60)
@given(rows)
def test_one_hidden_layer_has_two_cones_for_each_line_and_two_colours(W):
    regions = activation_regions(W)
    lines = {Fraction(q, p) if p else None for p, q in W}
    assert len(regions) == 2 * len(lines)
    colours = two_colouring(regions)
    assert set(colours) == {0, 1}
    assert (colours != np.roll(colours, 1)).all()
    odd = all(len(neurons) % 2 for neurons in regions.changing)
    assert regions.parity_colours == odd
    if odd:
        assert (colours == regions.parity).all()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(small, small).filter(any), min_size=3, max_size=3), deeper, st.sampled_from([0, 0.5])
)
def test_patterns_and_order_are_those_of_sampled_inputs(W, V, gamma):
    regions = activation_regions(W, V, gamma=gamma)
    layers = (W, V)
    for point, pattern in zip(regions.points, regions.patterns, strict=True):
        assert signs(point, layers, Fraction(gamma)) == list(pattern)
    seen = [tuple(s) for s in (signs(x, layers, Fraction(gamma)) for x in circle())]
    known = {tuple(pattern) for pattern in regions.patterns.tolist()}
    assert {s for s in seen if s in known} == set(seen)
    steps = sum(p != q for p, q in pairwise([*seen, seen[0]]))
    assert steps <= len(regions)


def test_neighbours_differ_on_the_ray_between_them():
    regions = activation_regions([[1, 2], [3, -1], [-2, -4]])
    assert regions.rays.tolist() == [[1, 3], [-2, 1], [-1, -3], [2, -1]]
    assert regions.changing == ((1,), (0, 2), (1,), (0, 2))
    assert not regions.parity_colours


def test_two_parallel_neurons_have_one_parity_but_two_colours():
    regions = activation_regions([[1, 0], [-1, 0]])
    assert regions.parity.tolist() == [1, 1]
    assert sorted(two_colouring(regions)) == [0, 1]


def test_nine_cones_have_no_two_colours_though_every_neuron_influences_the_network():
    assert len(activation_regions(*NINE_CONES)) == 9
    assert two_colouring(*NINE_CONES) is None
    seen = [tuple(signs(x, NINE_CONES, 0)) for x in circle()]
    assert sum(p != q for p, q in pairwise([*seen, seen[0]])) == 9

    def f(x, without=None):
        first = [max(np.dot(row, x), 0) * (k != without) for k, row in enumerate(NINE_CONES[0])]
        return max(np.dot(NINE_CONES[1][0], first), 0)

    inputs = np.random.default_rng(0).normal(size=(200, 2))
    for neuron in range(4):
        assert max(abs(f(x) - f(x, neuron)) for x in inputs) > 0.1


def test_a_cone_without_a_region_interrupts_the_others_so_that_any_number_has_two_colours():
    """z_3 = σ(x_1) - 2σ(x_2) vanishes on the third quadrant; its four other cones are one after the other."""
    regions = activation_regions([[1, 0], [0, 1]], [[1, -2]])
    assert regions.patterns.tolist() == [[1, 1, 1], [1, 1, -1], [-1, 1, -1], [-1, -1, 0], [1, -1, 1]]
    assert regions.parity_colours
    assert two_colouring(regions).tolist() == [1, 0, 1, -1, 0]


@pytest.mark.parametrize(("deeper", "gamma"), [(([[1, -2]],), 0), ((), Fraction(1, 2))])
def test_regions_know_their_network_and_are_given_alone(deeper, gamma):
    with pytest.raises(ValueError, match="give these to activation_regions"):
        two_colouring(activation_regions([[1, 0], [0, 1]]), *deeper, gamma=gamma)


layer = st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=2, max_size=2)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(small, small).filter(any), min_size=2, max_size=2), layer, layer)
def test_colours_differ_between_neighbours_and_lack_only_where_an_odd_number_of_regions_closes(W, V, U):
    """Against all colourings of the graph of regions, neighbours joined; parity wherever it is one of them."""
    regions = activation_regions(W, V, U)
    m = len(regions)
    full = [all(signs(point, (W, V, U), Fraction(0))) for point in regions.points]
    edges = [(i - 1, i) for i in range(m) if full[i - 1] and full[i]]
    found = two_colouring(regions)
    proper = [c for c in product((0, 1), repeat=m) if all(c[i] != c[j] for i, j in edges)]
    if found is None:
        assert not proper
        return
    assert [colour >= 0 for colour in found] == full
    assert all(found[i] != found[j] for i, j in edges)
    by_parity = all(regions.parity[i] != regions.parity[j] for i, j in edges)
    assert regions.parity_colours == by_parity
    if by_parity:
        assert (found == regions.parity)[full].all()


def test_a_list_of_arrays_is_a_matrix_as_a_list_of_lists_is():
    expected = activation_regions([[1, 2], [2, 1]], [[1, -1]])
    for convert in (np.array, torch.tensor, tuple):
        found = activation_regions([convert([1, 2]), convert([2, 1])], [convert([1, -1])])
        assert found.rays.tolist() == expected.rays.tolist()
        assert found.patterns.tolist() == expected.patterns.tolist()
    with pytest.raises(ValueError, match="layer 1 must be a matrix"):
        activation_regions(np.array([1, 2]))


def test_numbers_are_taken_exactly():
    third = 1 / 3
    assert len(activation_regions([[third, 1.0], [1.0, 3.0]])) == 4
    assert len(activation_regions([[Fraction(1, 3), 1], [1, 3]])) == 2
    assert len(activation_regions([[sp.Rational(1, 3), 1], [1, 3]])) == 2
    assert len(activation_regions(np.random.default_rng(0).normal(size=(50, 2)))) == 100


def test_a_dead_layer_leaves_cones_without_a_region():
    patterns = activation_regions([[1, 0]], [[1]]).patterns
    assert sorted(patterns.tolist()) == [[-1, 0], [1, 1]]
    assert 0 not in activation_regions([[1, 0]], [[1]], gamma=0.1).patterns


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="W must have 2 columns"):
        activation_regions([[1, 2, 3]])
    with pytest.raises(ValueError, match="row 1 is zero"):
        activation_regions([[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="layer 1 must be finite"):
        activation_regions([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="layer 2 takes 2 inputs"):
        activation_regions([[1, 0]], [[1, 1]])
    with pytest.raises(ValueError, match="gamma must be at least 0"):
        activation_regions([[1, 0]], gamma=1)
