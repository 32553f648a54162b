"""Statements are proved, refuted by exact points, or left undecided; and a check that cannot fail is caught."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Flow, Vector, inner, norm2
from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Cell, Domain, EmptyDomain
from symdyn.statements.kinds import (
    Asymptotic,
    Conservation,
    Definition,
    Dynamics,
    Existence,
    Identity,
    Inequality,
    Limit,
    Solution,
)

a, x, y, t, d, p = sp.symbols("a x y t d p", real=True)
w, r = Vector("w"), Vector("r")
flow = Flow({a: -inner(w, r), w: -a * r})
positive = Domain((x, y), cells=(Cell("positive", {x: 1, y: 1}),))


def test_conservation_is_proved_in_every_dimension_and_its_mutants_refuted():
    verdict = verify(Conservation(a**2 - norm2(w), under=flow))
    assert (verdict.outcome, verdict.grade, verdict.holds) == ("PROVED", "proved", True)
    assert len(verdict.mutants) >= 3


def test_a_wrong_sign_is_refuted_with_an_exact_point():
    verdict = decide(Conservation(a**2 + norm2(w), under=flow))
    assert verdict.holds is False
    point = {k: sp.sympify(v) for k, v in verdict.witness.point.items()}
    wv, rv = (point["w"] if isinstance(point["w"], tuple) else (point["w"],)), point["r"]
    rv = rv if isinstance(rv, tuple) else (rv,)
    rate = -4 * point["a"] * sum(p * q for p, q in zip(wv, rv, strict=True))
    assert sp.sympify(verdict.witness.residual.split(" = ")[1]) == rate != 0


def test_a_multiple_of_a_conserved_quantity_is_an_equivalent_claim():
    verdict = verify(Conservation(a * norm2(w) * 0 + a**2 - norm2(w), under=flow))
    assert verdict.survivors == ()
    doubled = decide(Conservation(2 * a**2 - 2 * norm2(w), under=flow))
    assert doubled.outcome == "PROVED"


@pytest.mark.parametrize(
    ("statement", "domain"),
    [
        (Dynamics(a * w, -norm2(w) * 0 * w - a**2 * r - inner(w, r) * w, under=flow), None),
        (Solution({x: p * sp.exp(-2 * t)}, {x: -2 * x}, {x: p}, t), None),
        (Identity(sp.sqrt(x * y), sp.sqrt(x) * sp.sqrt(y)), positive),
        (Limit(x * sp.tanh(d * y) / y, d, 0, sp.Integer(0)), positive),
        (Limit(sp.sqrt(d**2 + x) - d, d, sp.oo, sp.Integer(0)), positive),
        (Asymptotic(sp.sqrt(d**2 + 4 * x), d, d, sp.oo, 1 / d, sharp=True), positive),
        (Inequality(x + y, ">"), positive),
    ],
    ids=lambda s: type(s).__name__,
)
def test_true_statements_of_every_kind_hold(statement, domain):
    verdict = verify(statement, domain, few_mutants="small examples")
    assert verdict.holds is True, verdict
    assert verdict.mutants


@pytest.mark.parametrize(
    ("statement", "domain"),
    [
        (Dynamics(a * w, -(a**2) * r + inner(w, r) * w, under=flow), None),
        (Solution({x: p * sp.exp(-t)}, {x: -2 * x}, {x: p}, t), None),
        (Solution({x: p * sp.exp(-2 * t)}, {x: -2 * x}, {x: 2 * p}, t), None),
        (Identity(sp.sqrt(x + y), sp.sqrt(x) + sp.sqrt(y)), positive),
        (Limit(sp.sqrt(d**2 + x) - d, d, sp.oo, sp.Integer(1)), positive),
        (Limit(sp.sqrt(d**2 + x) - d, d, -sp.oo, sp.Integer(0)), positive),
        (Asymptotic(sp.sqrt(d**2 + 4 * x), d, d, sp.oo, 1 / d**2), positive),
        (Asymptotic(sp.sqrt(d**2 + 4 * x), d, d, sp.oo, sp.Integer(1), sharp=True), positive),
        (Inequality(x - y, ">"), positive),
        (Inequality(x, "<"), positive),
        (Existence("both facts", (Inequality(x, ">"), Inequality(x - y, ">"))), positive),
    ],
    ids=lambda s: type(s).__name__,
)
def test_false_statements_of_every_kind_are_refuted(statement, domain):
    verdict = verify(statement, domain)
    assert verdict.holds is False
    assert verdict.witness is not None


def test_what_is_not_decided_does_not_hold():
    hard = Inequality(x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1, ">=")
    verdict = decide(hard, positive)
    assert verdict.outcome == "UNKNOWN"
    assert verdict.holds is None


def test_too_few_mutants_need_a_reason():
    short = Identity(sp.sqrt(x**2) - x, sp.Integer(0))
    assert verify(short, positive).holds is None
    assert verify(short, positive, few_mutants="the right side is zero").holds is True


def test_a_claim_that_cannot_fail_is_caught():
    class Vacuous(Identity):
        def claims(self):
            return []

    class Lenient(Identity):
        def claims(self):
            return Identity(sp.Integer(0), sp.Integer(0)).claims()

    assert verify(Vacuous(x, x), positive).holds is None
    verdict = verify(Lenient(x, x), positive)
    assert verdict.holds is None
    assert "mutants" in verdict.survivors[-1]


def test_an_empty_domain_is_an_error():
    nowhere = Domain((x,), conditions=(x > 0, x < 0), words="x > 0 and x < 0")
    with pytest.raises(EmptyDomain, match="no admissible point"):
        decide(Inequality(x, ">"), nowhere)


def test_a_definition_must_be_defined_on_its_domain():
    assert decide(Definition(y, 1 / x), positive).grade == "definition"
    assert decide(Definition(y, 1 / (x - x)), positive).holds is False


def test_dependent_quantities_are_unfolded():
    weights = Domain((a,), (w,), let={d: a**2 - norm2(w)})
    assert decide(Identity(sp.sqrt(d**2 + 4 * a**2 * norm2(w)), a**2 + norm2(w)), weights).outcome == "PROVED"


def test_points_satisfy_signs_conditions_and_constraints():
    cell = Cell("balanced", {x: 1}, where={y: 2 * x})
    domain = Domain((x, y), (w,), (cell,), conditions=(y > 1,))
    points = list(domain.points(cell))
    assert {len(point[w]) for point in points} == {1, 2, 3}
    assert all(point[x] > 0 and point[y] == 2 * point[x] > 1 for point in points)
    assert all(value.is_Rational for point in points for value in (point[x], *point[w]))


def test_a_cell_may_fix_an_inner_product_and_keeps_only_vectors_that_have_it():
    def turned(_rng, d):
        return {w: [1, 2] + [0] * (d - 2), r: [-2, 1] + [0] * (d - 2)} if d > 1 else {w: [1], r: [1]}

    across = Cell("w and r of one length, across", where={inner(w, r): sp.Integer(0), norm2(r): norm2(w)})
    domain = Domain((a,), (w, r), (across,), sampler=turned)
    assert {len(point[w]) for point in domain.points(across)} == {2, 3}
    assert decide(Identity(norm2(a * w + r), (a**2 + 1) * norm2(w)), domain).outcome == "PROVED"
    assert decide(Identity(norm2(a * w + r), a**2 * norm2(w)), domain).holds is False
    with pytest.raises(EmptyDomain):
        list(Domain((a,), (w, r), (across,), sampler=turned, words="d = 1").points(across))


def test_a_bare_vector_is_a_side_of_an_identity():
    assert decide(Identity(a * (w / a), w)).outcome == "PROVED"
    assert decide(Identity(2 * w, w)).holds is False


def test_every_component_is_changed_by_some_mutant():
    claim = Identity((a + t, a * t, a - t), (a + t, a * t, a - t))
    changed = [
        [new != old for new, old in zip(mutant.rhs, claim.rhs, strict=True)] for _, mutant in claim.mutants()
    ]
    assert all(any(column) for column in zip(*changed, strict=True))
    assert all(sum(row) == 1 for row in changed)


@pytest.mark.parametrize(("form", "outcome"), [(sp.tanh(t + sp.atanh(d)), "PROVED"), (sp.tanh(t), "REFUTED")])
def test_the_form_a_solution_compiles_to_is_its_closed_form(form, outcome):
    closed = (sp.sinh(t) + d * sp.cosh(t)) / (sp.cosh(t) + d * sp.sinh(t))
    inside = Domain((d, t), conditions=(d**2 < 1,))
    verdict = verify(Solution({x: closed}, {x: 1 - x**2}, {x: d}, t, compiles=form), inside)
    assert verdict.outcome == outcome
    assert not verdict.survivors
