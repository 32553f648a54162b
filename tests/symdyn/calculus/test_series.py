"""Formal series: arithmetic, symbolic powers and reversion, against the equations that define them."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.series import Series
from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity

z, u, a, b, L = sp.symbols("z u a b L", real=True)
ONE_MORE = Series([1, a, b, a * b], z)


def test_a_rational_function_is_expanded():
    assert Series.of(1 / (1 - a * z), z, 3) == Series([1, a, a**2, a**3], z)
    assert Series.of((z + z**2) / z, z, 2) == Series([1, 1, 0], z)
    with pytest.raises(ValueError, match="pole"):
        Series.of(1 / z, z, 2)


@pytest.mark.parametrize("exponent", [2, 3, -1, 0])
def test_a_power_with_a_number_is_the_product(exponent):
    expected = Series([1, 0, 0, 0], z)
    for _ in range(abs(exponent)):
        expected = expected * ONE_MORE
    expected = expected.reciprocal() if exponent < 0 else expected
    gap = ONE_MORE.power(exponent) - expected
    assert all(sp.cancel(c) == 0 for c in gap.coefficients)


def test_a_symbolic_power_satisfies_its_equation_and_is_every_number():
    power = ONE_MORE.power(L)
    assert all(sp.cancel(c) == 0 for c in power.logarithmic(ONE_MORE, L).coefficients)
    at_three = power.map(lambda c: c.subs(L, 3)) - ONE_MORE * ONE_MORE * ONE_MORE
    assert all(sp.cancel(c) == 0 for c in at_three.coefficients)


def test_a_reversion_is_the_inverse_under_composition():
    psi = Series([0, a, b, 1, L], z)
    for outer, inner in ((psi, psi.reversion()), (psi.reversion(), psi)):
        gap = outer.compose(inner) - Series([0, 1, 0, 0, 0], z)
        assert all(sp.cancel(c) == 0 for c in gap.coefficients)


def test_catalan_numbers_come_out_by_reversion():
    assert Series([0, 1, -1, 0, 0, 0], z).reversion() == Series([0, 1, 1, 2, 5, 14], z)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Series([], z), "order 0"),
        (lambda: Series([z], z), "contains the variable"),
        (lambda: Series([sp.sqrt(a)], z), "no rational function"),
        (lambda: Series([0.5], z), "no rational function"),
        (lambda: Series([1], z) * Series([1], u), "do not mix"),
        (lambda: Series([2, 1], z).power(L), "begins with 1"),
        (lambda: Series([1, 1], z).reversion(), "multiple of z"),
        (lambda: Series([0, 0, 1], z).reversion(), "multiple of z"),
        (lambda: Series([1, 1], z).compose(Series([1, 1], z)), "vanish at zero"),
        (lambda: Series([1, 1], z).shifted(-1), "does not begin"),
        (lambda: Series([1, 1], z).cut(3), "known up to order"),
    ],
)
def test_what_is_no_series_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_series_without_a_constant_has_no_reciprocal():
    with pytest.raises(ZeroDivisionError):
        Series([0, 1], z).reciprocal()


def test_an_identity_of_series_is_proved_and_its_mutants_refuted():
    domain = Domain((a,), (), (Cell("a ≠ 0", {a: 1}),))
    claim = Identity(Series.of(1 / (1 + z / a), z, 3), Series([1, -1 / a, a**-2, -(a**-3)], z))
    verdict = verify(claim, domain)
    assert verdict.outcome == "PROVED"
    assert len(verdict.mutants) >= 3
    assert decide(Identity(claim.lhs, Series([1, -1 / a, a**-2, a**-3], z)), domain).outcome == "REFUTED"


def test_latex_has_the_order():
    assert Series([1, -a, a + 1], z).latex() == r"1 - a z + \left(a + 1\right)z^{2} + O\left(z^{3}\right)"
