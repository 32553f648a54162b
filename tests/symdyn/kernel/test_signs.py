"""The lattice of signs against intervals: every table, exhaustively."""

from __future__ import annotations

from itertools import product as pairs

import pytest

from symdyn.kernel.signs import OF_RELATION, Sign, of_number, power, product, total

EVERY = [Sign(n) for n in range(8)]
NUMBERS = (-3, -2, -1, 0, 1, 2, 3)


def numbers(s: Sign) -> list[int]:
    return [x for x in NUMBERS if of_number(x) & s]


def hull(values: list[int]) -> Sign:
    found = Sign.NONE
    for x in values:
        found |= of_number(x)
    return found


@pytest.mark.parametrize(("x", "y"), list(pairs(EVERY, EVERY)))
def test_sums_and_products_allow_what_numbers_show_and_nothing_else(x: Sign, y: Sign) -> None:
    assert total(x, y) == hull([a + b for a, b in pairs(numbers(x), numbers(y))])
    assert product(x, y) == hull([a * b for a, b in pairs(numbers(x), numbers(y))])


@pytest.mark.parametrize(("x", "n"), list(pairs(EVERY, range(6))))
def test_powers_allow_what_numbers_show_and_nothing_else(x: Sign, n: int) -> None:
    assert power(x, n) == hull([a**n for a in numbers(x)])


@pytest.mark.parametrize(("x", "y"), list(pairs(EVERY, EVERY)))
def test_one_sign_is_within_another_if_all_its_numbers_are(x: Sign, y: Sign) -> None:
    assert x.within(y) == (set(numbers(x)) <= set(numbers(y)))


def test_strict_weak_and_nonzero_are_different_values() -> None:
    kinds = {Sign.POSITIVE, Sign.NOT_NEGATIVE, Sign.NONZERO, Sign.ZERO, Sign.NEGATIVE, Sign.NOT_POSITIVE}
    assert len(kinds) == 6
    assert not Sign.NOT_NEGATIVE.within(Sign.POSITIVE)
    assert not Sign.NONZERO.within(Sign.POSITIVE)
    assert [s for s in EVERY if s.without_zero] == [s for s in EVERY if 0 not in numbers(s)]


@pytest.mark.parametrize("relation", OF_RELATION)
def test_a_relation_allows_the_differences_that_it_says(relation: str) -> None:
    says = {"=": "==", "<>": "!="}.get(relation, relation)
    assert numbers(OF_RELATION[relation]) == [x for x in NUMBERS if eval(f"{x} {says} 0")]
