"""Long formulas are broken where a mathematician would break them, and nothing of them is lost."""

from __future__ import annotations

import re

import pytest

from symdyn.render.layout import (
    aligned,
    display,
    formulas_of_rows,
    lines,
    stacked,
    tidy,
    width,
    without_repetition,
)

LONG = (
    r"\dot{\mu} = \left(a + b\right) \frac{\kappa + \delta}{2} + \sqrt{\delta^{2} + 4 \mu^{2}} "
    r"- \frac{1}{1 + \cosh{\left(\kappa t \right)} + \sinh{\left(\kappa t \right)}} "
    r"+ \left(\alpha - \beta - \gamma\right) \left(\phi \|\beta_*\| - \mu\right) = M r"
)


def squeezed(tex: str) -> str:
    return re.sub(r"\\begin\{aligned\}|\\end\{aligned\}|\\\\|&|\\quad|\s", "", tex)


def test_a_short_formula_stays_on_its_line() -> None:
    assert display(r"\delta = \eta_w a^2 - \eta_a \|w\|^2") == r"\delta = \eta_w a^2 - \eta_a \|w\|^2"


def test_breaking_loses_nothing() -> None:
    assert squeezed(display(LONG, 40)) == squeezed(LONG)


def test_lines_start_with_a_relation_or_a_sign_and_fit() -> None:
    first, *rest = lines(LONG, 40)
    assert len(rest) >= 2
    assert all(re.match(r"[=+-]", row) for row in rest)
    assert all(width(row) <= 40 for row in (first, *rest))


def test_signs_inside_parentheses_fractions_and_environments_are_no_place_to_break() -> None:
    inside = r"\left(" + " + ".join("abcdefgh" * 6) + r"\right)"
    assert lines(inside) == [inside]
    cases = r"\begin{cases} " + " + ".join("abcdefgh" * 6) + r" & x = 0 \end{cases}"
    assert lines(cases) == [cases]


def test_a_leading_sign_or_a_sign_after_a_relation_is_no_place_to_break() -> None:
    row = "x = - a" + " + b" * 50
    assert lines(row, 40)[0].startswith("x = - a + b")


def test_a_definition_is_a_relation_of_one_piece() -> None:
    assert lines("M := a + b", 4) == ["M", ":= a + b"]
    assert aligned(["M := a", "+ b"]).startswith("\\begin{aligned}\nM &:= a")


def test_formulas_are_read_back_from_the_lines_that_they_were_broken_into() -> None:
    assert formulas_of_rows(stacked(["a = b", LONG, "c = d"], 40)) == ["a = b", LONG, "c = d"]


def test_relations_are_aligned() -> None:
    assert (
        aligned(["a = b", "= c", "+ d"])
        == "\\begin{aligned}\na &= b \\\\\n&= c \\\\\n&\\quad + d\n\\end{aligned}"
    )


@pytest.mark.parametrize(
    ("tex", "expected"),
    [("a + b", 3), (r"\frac{a + b}{c}", 3), (r"\left(\delta\right)", 3), (r"\sinh{x}", 5), (r"\frac12", 1)],
)
def test_width_counts_what_is_printed(tex: str, expected: int) -> None:
    assert width(tex) == expected


def test_broken_formulas_are_accepted_by_katex(complaints) -> None:
    assert complaints([display(LONG), display(LONG, line=20)]) == {}


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"\frac{(\kappa + \delta)}{2}", r"\frac{\kappa + \delta}{2}"),
        (r"\sqrt{\left(\kappa + \delta\right)}", r"\sqrt{\kappa + \delta}"),
        (r"\frac{1}{(a)(b)}", r"\frac{1}{(a)(b)}"),
        (r"\frac{\sqrt{(a + b)}}{c}", r"\frac{\sqrt{a + b}}{c}"),
        (r"\sqrt[3]{(a)}", r"\sqrt[3]{a}"),
        (r"\sqrt{(\delta)^{2} + 4 x}", r"\sqrt{\delta^{2} + 4 x}"),
        (r"\left(\delta\right)^{2}", r"\delta^{2}"),
        (r"f\left(x\right)^{2}", r"f\left(x\right)^{2}"),
        (r"\frac{d}{dt}\left(\beta_*\right) = r", r"\frac{d}{dt} \beta_* = r"),
        (r"\frac{d}{dt}\left(\left(a,\ b\right)\right)", r"\frac{d}{dt}\left(a,\ b\right)"),
        (r"\frac{d}{dt}\left(a b\right)", r"\frac{d}{dt}\left(a b\right)"),
        (r"\frac{d}{dt}\left((\mu, \varphi)\right)", r"\frac{d}{dt} (\mu, \varphi)"),
        (r"\sinh{\left(x + y\right)} (a + b)", r"\sinh{\left(x + y\right)} (a + b)"),
    ],
)
def test_tidying_drops_only_parentheses_that_say_nothing(tex: str, expected: str) -> None:
    assert tidy(tex) == expected


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("a = b = b", "a = b"),
        ("a = b + c = b  + c = d", "a = b + c = d"),
        ("b = b", "b = b"),
        ("B = b + c = B", "B = b + c"),
        ("a < b = a", "a < b = a"),
        ("a = b = -b", "a = b = -b"),
    ],
)
def test_a_chain_names_each_member_once(tex: str, expected: str) -> None:
    assert without_repetition(tex) == expected
