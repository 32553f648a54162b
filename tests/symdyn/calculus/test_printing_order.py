"""Formulas print in the order in which one writes them."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Vector, latex, norm, norm2

k, d, x = sp.symbols("kappa delta x", real=True)
a, eta_a, eta_w = sp.symbols("a eta_a eta_w", real=True)
w = Vector("w")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (eta_w * a**2 - eta_a * norm2(w), r"\eta_{w} a^{2} - \eta_{a} \|w\|^2"),
        (-eta_a * norm2(w) / 2, r"- \frac{\eta_{a} \|w\|^2}{2}"),
        (-4 / (k * (k + d) ** 2), r"- \frac{4}{\kappa \left(\delta + \kappa\right)^{2}}"),
        (-3 / (d * norm(w)), r"- \frac{3}{\delta \|w\|}"),
        (-sp.sqrt(2) * k, r"- \sqrt{2} \kappa"),
        (k - 2 * d, r"\kappa - 2 \delta"),
        (x * (-d - k), r"x \left(- \delta - \kappa\right)"),
    ],
    ids=str,
)
def test_order_of_factors_and_terms(expr, text):
    assert latex(expr) == text


def test_equal_inner_products_print_alike():
    neuron = Vector("w", "w_k")
    assert neuron != w
    assert norm2(neuron) != norm2(w)
    assert [latex(3 * norm2(v)) for v in (w, neuron, w)] == [r"3 \|w\|^2", r"3 \|w_k\|^2", r"3 \|w\|^2"]
