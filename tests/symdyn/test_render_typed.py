"""Mathematics typed into a sentence is found, whole, and words are left alone."""

from __future__ import annotations

import pytest

from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import index
from symdyn.render import prose
from symdyn.render.typed import formulas


def marked(sentence: str) -> str:
    """The sentence with each formula in ⟦ ⟧."""
    return "".join(f"⟦{text}⟧" if formal else text for formal, text in formulas(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "the potential ⟦s^{-L/2} β = ‖a‖ β/‖β‖⟧, for every balance ⟦δ ≤ 0⟧",
        "it has ⟦W_1ᵀW_1 = ββᵀ/s^L - δ I⟧ of rank one",
        "the sign ⟦sgn(a_0 a_∞)⟧",
        "for ⟦δ > 0⟧ ⟦κ ≥ δ⟧",
        "a ⟦δ⟧-balanced start, in ⟦d⟧ dimensions and for ⟦(κ + δ)/2 > 0⟧",
        "the time ⟦log(1 - a_0/α)/(2R)⟧, where ⟦a⟧ passes through zero",
        "the coupling ⟦b(t)⟧ of two modes (⟦δ = 0⟧) and one at ⟦-α²⟧",
        "the kernel ⟦Θ(x, x') = xᵀM x'⟧, that is a matrix",
        "⟦a ≠ 0⟧ changes its sign, and a matrix is never ⟦a w = β_*⟧",
        "the product ⟦vec(ABC) = (Cᵀ ⊗ A) vec(B)⟧",
        r"⟦y=x^Tw^*⟧ with ⟦\frac1{D^2}\sum_j|c_{ij}|⟧ bounded",
        r"for ⟦\beta(t)\ne0⟧, where ⟦X\beta=y⟧",
    ],
)
def test_formulas_are_found_whole(sentence: str) -> None:
    plain = sentence.replace("⟦", "").replace("⟧", "")
    commands = marked(plain)
    for name in ("sgn", "log", "vec"):
        commands = commands.replace(rf"\operatorname{{{name}}}", name)
    assert commands == sentence


@pytest.mark.parametrize(
    "words",
    [
        "a rank-one update of a multiple of the identity, i.e. one of 5 %, or 0",
        "App. A.2.3, eq. (single-neuron-dynamics), Fig. 3F and Theorem 3.1 of 2024",
        "the paper's NTK for and/or with read-out (b) in Fig. 5(b)",
        "snake_case and V1 stay",
    ],
)
def test_words_and_places_are_left_alone(words: str) -> None:
    assert marked(words.replace(" (b)", "")) == words.replace(" (b)", "")


def test_a_set_keeps_its_braces_and_a_fraction_its_groups() -> None:
    assert [t for formal, t in formulas("the set = {a > 0, b > 0} is kept") if formal] == ["a > 0", "b > 0"]
    assert [t for formal, t in formulas("S = {a > 0, b > 0} is kept") if formal] == [r"S = \{a > 0, b > 0\}"]
    assert list(formulas(r"\frac1{D}")) == [(True, r"\frac1{D}")]
    assert list(formulas(r"\frac ND \frac {a}b")) == [(True, r"\frac ND \frac {a}b")]


def test_indices_of_several_letters_are_one_index() -> None:
    assert list(formulas("Σ^yx")) == [(True, "Σ^{yx}")]
    assert list(formulas("w^(0)_12")) == [(True, "w^{(0)}_{12}")]
    assert list(formulas("a_infty")) == [(True, r"a_{\infty}")]


def test_finding_formulas_loses_no_character() -> None:
    for entry in ledger().values():
        for text in (entry.statement, entry.where, *entry.assumptions):
            shown = "".join(t for _, t in formulas(text))
            assert [c for c in shown if c.isalnum()].count("\\") == 0
            letters = [
                c for c in shown.replace(r"\operatorname", "").replace(r"\infty", "infty") if c.isalpha()
            ]
            assert letters == [
                c for c in text.replace(r"\infty", "infty").replace(r"\operatorname", "") if c.isalpha()
            ]


def test_no_title_leaves_mathematics_as_text() -> None:
    """No index, exponent, sign of comparison or command is printed as a word of a title."""
    left = {}
    for e in index():
        words = "".join(text for formal, text in prose.segments(e.title) if not formal)
        found = [c for c in words if c in "_^<>≤≥=|\\" or (ord(c) > 0x2000 and c not in "’“”–—…")]
        if found:
            left[e.key] = (found, e.title)
    assert left == {}
