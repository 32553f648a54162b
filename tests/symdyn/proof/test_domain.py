"""Domains know dependent vectors and unspecified functions; a chain can be about the value it compiles to."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Flow, Vector, evaluate, gradient, hessian, identity, inner, norm2, outer
from symdyn.calculus.isotropic import Isotropic
from symdyn.compile.named import root_sum
from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Dynamics, Existence, Identity, Inequality, Limit

a, c, x = sp.symbols("a c x", real=True)
u, w, beta, z = (Vector(name) for name in ("u", "w", "beta", "z"))
x_beta = norm2(beta)
dependent = Domain((a,), (w,), let={c: a**2, beta: a * w})
f = sp.Function("f", real=True)(x)


def test_a_dependent_vector_has_the_value_of_its_combination():
    for point in dependent.points(Cell()):
        assert point[beta] == evaluate(a * w, point)
        assert evaluate(x_beta, point) == evaluate(c * norm2(w), point)


def test_an_identity_is_proved_in_the_independent_vectors():
    rank_one = Identity(c * outer(w, w), Isotropic(0, x_beta, x_beta, beta))
    verdict = verify(rank_one, dependent, few_mutants="a single coefficient")
    assert (verdict.outcome, verdict.holds) == ("PROVED", True)
    assert decide(Identity(outer(w, w), Isotropic(0, x_beta, x_beta, beta)), dependent).holds is False


@pytest.mark.parametrize(("sign", "outcome"), [(1, "PROVED"), (-1, "REFUTED")])
def test_a_law_of_unspecified_functions_is_proved_for_all_and_refuted_by_one(sign, outcome):
    domain = Domain((x,), functions=(f,))
    product_rule = Identity(sp.diff(x * f**2, x), f**2 + sign * 2 * x * f * sp.diff(f, x))
    assert decide(product_rule, domain).outcome == outcome


def test_the_chain_rule_for_an_unspecified_function_of_inner_products():
    F = sp.Function("F", real=True)(inner(u, beta), inner(z, beta))
    step = Flow({beta: -1 * w})
    statement = Dynamics(gradient(F, beta), -1 * (hessian(F, beta) @ w), under=step)
    verdict = verify(statement, Domain((), (beta, u, w, z), functions=(F,)))
    assert (verdict.outcome, verdict.holds) == ("PROVED", True)


def test_a_value_that_its_facts_do_not_determine_does_not_hold():
    def facts(q):
        return (Identity(sp.diff(q, x), 2 * x), Inequality(q + 1, ">"))

    verdict = verify(Existence.of(x**2, facts, "the square"), Domain((x,)))
    assert (verdict.outcome, verdict.facts, verdict.survivors) == ("ARGUED", "proved", ())
    assert any(label.startswith("value") for label in verdict.mutants)
    loose = verify(
        Existence.of(x**2, lambda q: (Inequality(q**2 + 1, ">"),) * 3, "any function"), Domain((x,))
    )
    assert not loose.stands


def test_isotropic_and_gram_operators_are_compared_as_gram_operators():
    plane = Domain((), (beta,), dimensions=(2, 3))
    projector = Isotropic(1, -1, x_beta, beta)
    assert decide(Identity(projector, identity() - outer(beta, beta) / x_beta), plane).outcome == "PROVED"
    assert decide(Identity(projector, identity() + outer(beta, beta) / x_beta), plane).outcome == "REFUTED"


@pytest.mark.parametrize(("relation", "outcome"), [(">", "PROVED"), ("<", "REFUTED")])
def test_the_sign_of_a_named_quantity_is_that_of_its_definition(relation, outcome):
    both = Domain((a, x), cells=(Cell("a < 0", {a: -1, x: 1}), Cell("a > 0", {a: 1, x: 1})))
    assert decide(Inequality(root_sum(a, x) + a, relation), both).outcome == outcome


@pytest.mark.parametrize(("limit", "outcome"), [(1 * w, "PROVED"), (2 * w, "REFUTED"), (w + beta, "REFUTED")])
def test_a_limit_of_vectors_may_lose_a_vector(limit, outcome):
    free = Domain((a,), (w, beta))
    assert decide(Limit(w + beta / a, a, sp.oo, limit), free).outcome == outcome


def test_points_know_the_numbers_that_named_quantities_are():
    cell = Cell("on a curve", {x: 1}, {c: root_sum(a, x)}, "c² = a² + x")
    for point in Domain((a, x), cells=(cell,)).points(cell):
        assert point[c] == sp.sqrt(point[a] ** 2 + point[x])
