"""Enclosures contain the number, and signs are certified."""

from __future__ import annotations

import flint
import pytest
import sympy as sp

from symdyn.proof.signs.numbers import (
    Balls,
    agrees_with_zero,
    certified_sign,
    enclosure,
    residual_size,
)

R = sp.Rational
SIGNED = [
    (sp.sqrt(2) - R(141421356237309504880, 10**20), 1),
    (sp.sqrt(2) - R(141421356237309504881, 10**20), -1),
    (sp.exp(sp.pi * 0 + 1) - R(2718281828, 10**9), 1),
    (sp.cosh(R(1, 3)) - sp.sinh(R(1, 3)) - sp.exp(R(-1, 3)) - R(1, 10**30), -1),
    (sp.atanh(R(1, 2)) - sp.log(3) / 2 + R(1, 10**40), 1),
    (sp.Max(sp.sqrt(2), R(7, 5)) - sp.sqrt(2) - 1, -1),
    (sp.sign(sp.sqrt(3) - 2) + R(1, 2), -1),
    (R(0), 0),
    (2 ** sp.sqrt(2) - R(2665, 1000), 1),
]


TRANSCENDENTAL = [
    (sp.pi - 3, 1),
    (sp.pi - R(22, 7), -1),
    (sp.pi - R(31415926535897932384626433832795, 10**31), 1),
    (sp.erf(1) - R(8427, 10000), 1),
    (sp.erf(1) - R(8428, 10000), -1),
    (sp.erfc(2), 1),
    (sp.asin(R(1, 3)) - R(1, 3), 1),
    (sp.acos(R(1, 3)) + sp.asin(R(1, 3)) - sp.pi / 2 - R(1, 10**50), -1),
    (sp.atan(2) - R(11, 10), 1),
    (4 * sp.atan(R(1, 5)) - sp.atan(R(1, 239)) - sp.pi / 4 + R(1, 10**60), 1),
    (sp.gamma(R(1, 3)) - R(26789, 10000), 1),
    (sp.loggamma(R(7, 2)) - R(12, 10), 1),
    (sp.sin(3), 1),
    (sp.cos(3), -1),
    (sp.tan(3), -1),
    (sp.sin(10**20) ** 2 + sp.cos(10**20) ** 2 - 1 - R(1, 10**100), -1),
    (sp.floor(1000 * sp.pi) - 3141 + R(1, 2), 1),
    (sp.ceiling(1000 * sp.sqrt(2)) - 1415, 0),
    (sp.Heaviside(sp.pi - 4) - R(1, 3), -1),
    (sp.sign(sp.erf(2) - 1), -1),
    (sp.GoldenRatio - R(1618, 1000), 1),
]


@pytest.mark.parametrize(("number", "sign"), TRANSCENDENTAL, ids=str)
def test_signs_of_transcendental_numbers_are_certified(number, sign):
    assert certified_sign(number) == sign


@pytest.mark.parametrize(
    "number",
    [sp.nan, sp.zoo, sp.oo, sp.log(R(-1, 2)), sp.asin(2), sp.acosh(R(1, 2)), sp.sqrt(R(1, 2) - sp.pi)],
)
def test_what_is_no_real_number_has_no_sign(number):
    assert certified_sign(number) is None
    assert not agrees_with_zero(number)


def test_agreement_with_zero_takes_a_narrow_enclosure():
    zero = sp.sqrt(5 + 2 * sp.sqrt(6)) - sp.sqrt(2) - sp.sqrt(3)
    assert agrees_with_zero(zero) and agrees_with_zero(R(0))
    for digits in (1, 20, 45, 61, 100, 140):
        assert not agrees_with_zero(zero + R(1, 10**digits))
        assert "0 " not in enclosure(zero + R(1, 10**digits))[:2]


def test_a_witness_does_not_contain_zero_where_more_digits_show_it():
    off = sp.sqrt(5 + 2 * sp.sqrt(6)) - sp.sqrt(2) - sp.sqrt(3) + R(1, 10**45)
    assert enclosure(off).lstrip("[").startswith(("1.0", "0.99999"))


@pytest.mark.parametrize(("number", "sign"), SIGNED, ids=str)
def test_signs_are_certified(number, sign):
    assert certified_sign(number) == sign


def test_an_irrational_zero_is_left_undecided():
    assert (
        certified_sign(
            sp.sqrt(2) * sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6)) + 1 * (sp.sqrt(3) + sp.sqrt(2)) - sp.sqrt(6)
        )
        is None
    )


@pytest.mark.parametrize(
    "number", [sp.sqrt(2), sp.exp(R(-7, 3)), sp.sqrt(1 + sp.sqrt(5)) / 3, sp.log(R(9, 7))], ids=str
)
def test_the_enclosure_contains_the_number(number):
    x = Balls(60).evaluate(number)
    exact = Balls(400).evaluate(number)
    assert x.contains(exact) and not x.contains(exact * (1 + flint.arb(2) ** -40))


@pytest.mark.parametrize("digits", [13, 100, 200, 1000, 3000])
def test_what_a_long_literal_changes_is_seen(digits):
    tiny = R(1, 10**digits)
    for number in (sp.cos(1) - sp.cos(1 + tiny), sp.exp(tiny) - 1, sp.sqrt(2 + tiny) - sp.sqrt(2)):
        assert certified_sign(number) == 1
        assert not agrees_with_zero(number)


def test_text_is_exact_for_rationals():
    assert enclosure(R(3, 7) + sp.Max(1, 2)) == "17/7"
    assert enclosure(sp.sqrt(2)).lstrip("[").startswith("1.414213562")


def test_the_residual_is_relative_to_the_largest_term():
    big = sp.sqrt(2) * 10**30
    assert float(residual_size(big - sp.sqrt(2) * 10**30 + 1)) == 1
    assert residual_size(sp.Add(big, -sp.sqrt(2 * 10**60) + sp.exp(-60), evaluate=False)) < 1e-50
