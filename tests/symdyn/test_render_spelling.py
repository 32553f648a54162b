"""A symbol means one thing in a derivation: quantities at several arguments are told apart."""

from __future__ import annotations

import re

import sympy as sp

from derivations.single_neuron.coordinates.modes import lambda_plus
from derivations.single_neuron.quantities import kappa, kappa_plus, radial_potential
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Dot, Vector
from symdyn.render.latex import short_formulas
from symdyn.render.spelling import quantities, spelled_apart
from symdyn.statements.kinds import Chain, Identity, Inequality, typeset

d, x, y, u = sp.symbols("delta x y u", real=True)
start, end, beta = Vector("beta0", r"\beta_0"), Vector("beta_inf", r"\beta_\infty"), Vector("beta", r"\beta")
at_start, at_end, at_beta = (Dot(v, v) for v in (start, end, beta))


def printed(*expressions: sp.Expr) -> list[str]:
    """How expressions of one statement print."""
    facts = tuple(Inequality(e, ">") for e in expressions)
    return [typeset(fact.lhs) for fact in spelled_apart(Chain("all are positive", facts)).because]


def test_a_quantity_at_one_argument_keeps_its_plain_symbol() -> None:
    assert printed(kappa(d, x), kappa_plus(d, x)) == [r"\kappa", r"\left(\kappa + \delta\right)"]


def test_a_quantity_takes_the_index_of_the_vector_that_it_is_taken_at() -> None:
    shown = printed(kappa(d, at_beta), kappa(d, u * at_start), kappa_plus(d, u * at_end))
    assert shown == [r"\kappa", r"\kappa_0", r"\left(\kappa_\infty + \delta\right)"]


def test_a_quantity_at_two_symbols_shows_them() -> None:
    assert printed(kappa(d, x), kappa(d, y) ** 2) == [r"\kappa\left(x\right)", r"\kappa\left(y\right)^{2}"]


def test_what_has_no_letter_of_its_own_is_numbered() -> None:
    assert printed(kappa(d, x), kappa(d, 2 * x)) == [r"\kappa_{1}", r"\kappa_{2}"]


def test_a_symbol_that_shows_arguments_or_has_an_index_shows_all_in_which_it_differs() -> None:
    assert printed(radial_potential(d, x), radial_potential(d, y)) == [
        r"\Phi_{\delta}\left(x\right)",
        r"\Phi_{\delta}\left(y\right)",
    ]
    assert printed(radial_potential(d, x), radial_potential(u, x))[1] == r"\Phi_{u}"
    assert printed(lambda_plus(d, x), lambda_plus(d, y))[0] == r"\lambda_+\left(x\right)"


def test_definitions_and_derivatives_of_told_apart_quantities_use_the_same_symbols() -> None:
    one, _ = spelled_apart(Identity(kappa_plus(d, x), kappa(d, y))).expressions
    assert typeset(one.defined()) == r"\delta + \kappa\left(x\right)"
    assert typeset(sp.diff(one, x)) == r"\frac{2}{\kappa\left(x\right)}"
    assert sp.simplify(one.doit() - kappa_plus(d, x).doit()) == 0


def test_an_operator_is_read_as_it_prints_with_the_norm_for_its_variable() -> None:
    operator = Isotropic(kappa(d, x), 0, x, beta)
    assert quantities(Identity(operator, operator)) == (kappa(d, at_beta),)
    lhs, _ = spelled_apart(Identity(operator, Isotropic(kappa(d, at_start), 0, x, beta))).expressions
    assert typeset(lhs) == r"\kappa I"


def test_a_formula_with_several_says_below_it_what_they_are(complaints) -> None:
    shown = short_formulas(Identity(kappa(d, x), kappa(d, y)))
    assert shown == [
        r"\kappa\left(x\right) = \kappa\left(y\right)",
        r"\kappa\left(x\right) = \sqrt{\delta^{2} + 4 x}",
        r"\kappa\left(y\right) = \sqrt{\delta^{2} + 4 y}",
    ]
    assert complaints(shown) == {}
    assert short_formulas(Identity(kappa(d, x), x)) == [r"\kappa = x"]


def test_telling_apart_does_not_change_what_is_said() -> None:
    statement = Identity(kappa(d, x), kappa(d, y))
    assert spelled_apart(statement) != statement
    assert re.sub(r"\\left\([xy]\\right\)", "", spelled_apart(statement).latex()) == statement.latex()
