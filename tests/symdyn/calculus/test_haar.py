"""Averages over the orthogonal group and over layers, against orthogonality, known moments and exact small cases."""

from __future__ import annotations

import itertools

import pytest
import sympy as sp

from symdyn.calculus.haar import (
    gaussian_weight,
    haar_moment,
    haar_weight,
    layer,
    loops,
    pairings,
    partitions,
    weingarten,
)

N = sp.Symbol("N", real=True)


@pytest.mark.parametrize(("count", "number"), [(0, 1), (2, 1), (4, 3), (6, 15)])
def test_the_number_of_pairings(count, number):
    assert len(set(pairings(count))) == number


def test_loops_of_two_pairings():
    assert loops(((0, 1), (2, 3)), ((0, 1), (2, 3))) == (1, 1)
    assert loops(((0, 1), (2, 3)), ((0, 2), (1, 3))) == (2,)


@pytest.mark.parametrize(
    ("rows", "columns", "value"),
    [
        ("11", "11", 1 / N),
        ("1111", "1111", 3 / (N * (N + 2))),
        ("1111", "1122", 1 / (N * (N + 2))),
        ("1122", "1122", (N + 1) / (N * (N - 1) * (N + 2))),
        ("1122", "1212", -1 / (N * (N - 1) * (N + 2))),
        ("111111", "111111", 15 / (N * (N + 2) * (N + 4))),
        ("12", "11", 0),
        ("111", "111", 0),
        ("", "", 1),
    ],
)
def test_moments_of_entries(rows, columns, value):
    assert sp.cancel(haar_moment(rows, columns, N) - value) == 0


def test_rows_have_length_one_in_the_mean_of_every_order():
    squares = sum(haar_moment("1111", (1, 1, j, j), 5) for j in range(1, 6))
    assert squares == haar_moment("11", "11", 5)
    fourth = sum(haar_moment("111111", (1, 1, 2, 2, j, j), 5) for j in range(1, 6))
    assert fourth == haar_moment("1111", "1122", 5)


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_weingarten_inverts_the_matrix_of_loops(pairs):
    every, kinds = pairings(2 * pairs), weingarten(pairs)
    size = next(iter(set().union(*(v.free_symbols for v in kinds.values()))))
    for p in every[:4]:
        total = sum(size ** len(loops(p, q)) * kinds[loops(q, every[0])] for q in every)
        assert sp.cancel(total - int(p == every[0])) == 0


@pytest.mark.parametrize("size", [1, 2])
def test_small_groups_by_enumeration_and_integration(size):
    """O(1) = ±1; O(2): the mean of cos⁴ is 3/8, of cos⁶ 5/16, by a generalised inverse of the matrix of loops."""
    weight = haar_weight(3, size, sp.S.One)
    total = sum(weight(p, q) for p, q in itertools.product(pairings(6), repeat=2))
    assert total == {1: 1, 2: sp.Rational(5, 16)}[size]


def test_one_layer_of_gaussian_weights_has_wishart_moments():
    r = sp.Symbol("r")
    table = layer(2, r, gaussian_weight(2, 1))
    assert [sp.expand(x) for x in table[0]] == [sp.expand(r * (r + 1)), r]
    assert partitions(2) == [(2,), (1, 1)]


def test_a_full_orthogonal_layer_changes_no_trace():
    for k in (1, 2, 3):
        table = sp.Matrix(layer(k, 4, haar_weight(k, 4, sp.S.One)))
        assert table == sp.eye(len(partitions(k)))


def test_what_is_too_much_is_refused():
    with pytest.raises(ValueError, match="at most 6 entries"):
        haar_moment("1" * 8, "1" * 8, N)
    with pytest.raises(ValueError, match="name no entries"):
        haar_moment("11", "1", N)
