"""Sentences keep their words and their formulas in every medium."""

from __future__ import annotations

import json

import numerics.lab.evidence
from symdyn.catalogue.paper import ledger
from symdyn.render import prose

EVIDENCE = numerics.lab.evidence.FOLDER
SENTENCE = r"If $\delta<0$ then ‖β‖² grows by 5 % & δ̇ = 0."


def test_latex_escapes_words_and_keeps_formulas() -> None:
    assert (
        prose.latex(SENTENCE) == r"If $\delta<0$ then $\| \beta \| ^{2}$ grows by 5 \% \& $\dot{\delta} = 0$."
    )


def test_raised_and_lowered_symbols_become_one_exponent_or_index() -> None:
    assert prose.latex("M⁻¹ of βᵀ and δ₁₂") == r"$M^{-1}$ of $\beta ^{\top}$ and $\delta _{12}$"


def test_indices_of_plain_symbols_become_formulas() -> None:
    assert prose.latex("δ/η_w and a_0, β_* but not snake_case") == (
        r"$\delta /\eta _w$ and $a_0$, $\beta _*$ but not snake\_case"
    )


def test_formulas_typed_in_ascii_get_their_symbols() -> None:
    assert prose.from_ascii("delta << 0, beta_star != 0, eta_a = 2, omega0") == (
        r"$\delta$ ≪ 0, $\beta_{*}$ ≠ 0, $\eta_{a}$ = 2, $\omega_{0}$"
    )


def test_what_is_typeset_already_is_not_typeset_again() -> None:
    assert prose.from_ascii(r"$\eta_a$ = 2, $\beta_*$ -> 0, eta_w") == (
        r"$\eta_a$ = 2, $\beta_*$ → 0, $\eta_{w}$"
    )


def test_names_with_words_in_them_are_no_formulas() -> None:
    names = "kernel-grows-with-delta, alpha-on-rk45, coincide-nu, delta-stays"
    assert prose.from_ascii(names) == names
    assert prose.latex(prose.from_ascii(f"not: {names} at delta-a_0, beta-inf")) == (
        rf"not: {names} at $\delta-a_0$, $\beta-\infty$"
    )


def test_no_claim_is_named_by_a_formula() -> None:
    stored = (json.loads(path.read_text()) for path in EVIDENCE.glob("*.json"))
    names = [claim["name"] for evidence in stored for claim in evidence["claims"]]
    assert any("delta" in name for name in names)
    assert [name for name in names if prose.from_ascii(name) != name] == []


def test_measured_numbers_typed_in_ascii_get_their_powers_and_bounds() -> None:
    assert prose.latex(prose.from_ascii("delta -> +-inf, 2 +/- 3.5e-14")) == (
        r"$\delta \to \pm \infty$, $2 \pm 3.5\cdot 10^{-14}$"
    )


def test_roots_and_phi_have_one_shape() -> None:
    assert (
        prose.latex("√(η_a η_w) ‖β‖, √κ, φ")
        == r"$\sqrt{\eta _a \eta _w} \| \beta \|$, $\sqrt{\kappa }$, $\phi$"
    )
    assert prose.in_mathematics(r"\varphi = \varphi_1(x)") == r"\phi = \varphi_1(x)"


def test_comparisons_are_formulas_since_text_fonts_lack_them() -> None:
    assert prose.latex("one for a > 0 – and |p| < 2") == r"one for $a > 0$ -- and $|p| < 2$"


def test_katex_wraps_the_words() -> None:
    assert prose.katex(r"sign of $\delta$") == r"\text{sign of } \delta"


def test_a_long_sentence_is_broken_between_words_and_loses_none() -> None:
    sentence = r"for $\delta > 0$ the surface has two sheets, mirror images in the plane $a = 0$, and no more"
    rows = prose.katex_lines(sentence, 40)
    assert len(rows) >= 2
    words = " ".join(rows).replace(r"\text{", " ").replace("}", " ")
    assert words.split() == sentence.replace("$", " ").split()


def test_html_sets_formulas_in_mathml_and_escapes_words() -> None:
    markup = prose.html_text(r"x < y and $a<b$")
    assert markup.startswith('<math alttext="x &lt; y"')
    assert 'alttext="a&lt;b"' in markup
    assert "$" not in markup


def test_mathml_aligns_lines_and_knows_the_styles_of_letters() -> None:
    markup = prose.mathml("\\begin{aligned}\na &= b \\\\\n&\\quad + c\n\\end{aligned}")
    assert markup.count("<mtr>") == 2
    assert "text-align: right" in markup
    assert "<mi>&</mi>" not in markup
    assert "ℝ" in prose.mathml(r"\mathbb R^d")
    assert "ℒ" in prose.mathml(r"\mathcal L")


def test_every_formula_of_the_ledger_can_be_set(complaints) -> None:
    texts = [text for entry in ledger().values() for text in (entry.statement, *entry.assumptions)]
    formulas = [piece for text in texts for is_formula, piece in prose.segments(text) if is_formula]
    assert len(formulas) > 1000
    assert complaints(formulas) == {}
    assert all("<math" in prose.mathml(formula) for formula in formulas)


def test_words_outside_formulas_are_ascii_after_conversion() -> None:
    texts = [text for entry in ledger().values() for text in (entry.statement, *entry.assumptions)]
    assert all(text.isascii() for text in map(prose.latex, texts))


def test_katex_complains_where_it_should(complaints) -> None:
    assert set(complaints([r"\frac{1}{2}", r"\frac{1}{", r"\nosuchcommand", "a ä"])) == {
        r"\frac{1}{",
        r"\nosuchcommand",
        "a ä",
    }
