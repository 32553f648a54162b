"""A flow keeps its relations and the definitions of a domain, or nothing is proved along it."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Flow, Vector, inner, norm2
from symdyn.proof.check import decide
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Conservation, Dynamics

a, b, c, k, d = sp.symbols("a b c k d", real=True)
w, r, u = Vector("w"), Vector("r"), Vector("u")
descent = {a: -inner(w, r), w: -a * r}

BROKEN = [
    Flow({a: sp.S.One}, {norm2(w): a**2}),
    Flow({w: 1 * w}, {norm2(w): k}),
    Flow({w: 1 * r}, {norm2(w): k}),
    Flow({w: 1 * r}, {inner(w, r): sp.S.Zero}),
    Flow({w: 1 * u, r: 1 * u}, {inner(w, r): k}),
    Flow({a: a, w: 2 * w}, {norm2(w): a**2}),
    Flow({a: a, w: 1 * w}, {norm2(w): a}),
    Flow({a: a, w: 1 * w}, {norm2(w): a**2 + k}),
    Flow({a: -a, w: 1 * w}, {norm2(w): a**2}),
    Flow(descent, {norm2(w): a**2 * k}),
    Flow(descent, {norm2(w): k - a**2}),
    Flow(descent, {norm2(w): 2 * a**2}),
    Flow(descent, {norm2(w): a**4}),
    Flow(descent, {inner(w, r): sp.S.Zero}),
    Flow(descent, {norm2(w): 1 / (1 + a**2)}),
    Flow({a: b, b: a}, {norm2(w): a**2 + b**2}),
    Flow({a: b, b: -a, w: 1 * w}, {norm2(w): a**2 + b**2}),
    Flow({a: a}, {inner(w, r): a}),
    Flow({a: a, b: 2 * b}, {norm2(w): a * b}),
    Flow({w: 1 * w, r: -2 * r}, {inner(w, r): k}),
]
KEPT = [
    Flow({a: a, w: 1 * w}, {norm2(w): a**2}),
    Flow(descent, {norm2(w): a**2 - k}),
    Flow({a: b, b: -a}, {norm2(w): a**2 + b**2}),
    Flow({w: 1 * w, r: -1 * r}, {inner(w, r): k}),
    Flow({a: 2 * a, w: 1 * w}, {norm2(w): a}),
]


@pytest.mark.parametrize("flow", BROKEN, ids=lambda f: f"{f.velocities} {f.relations}")
def test_nothing_is_proved_along_a_flow_that_breaks_its_relation(flow):
    (dot,) = flow.relations
    for claim in (
        Conservation(dot - flow.relations[dot], under=flow),
        Dynamics(c**2 + dot, flow.unfold(flow.derivative(flow.relations[dot])), under=flow),
        Dynamics(c * dot, flow.unfold(flow.derivative(c * dot)), under=flow),
    ):
        assert decide(claim).holds is not True


@pytest.mark.parametrize("flow", KEPT, ids=lambda f: f"{f.velocities} {f.relations}")
def test_relations_that_are_kept_serve_proofs(flow):
    (dot,) = flow.relations
    claim = Dynamics(c * dot, flow.unfold(c * flow.derivative(flow.relations[dot])), under=flow)
    assert decide(claim).outcome == "PROVED"


@pytest.mark.parametrize(
    ("meaning", "outcome"),
    [(a**2 - norm2(w), "PROVED"), (a**2 + norm2(w), "UNKNOWN"), (a, "UNKNOWN"), (norm2(w), "UNKNOWN")],
    ids=str,
)
def test_a_dependent_quantity_moves_as_what_it_stands_for(meaning, outcome):
    domain = Domain((a, d), (w, r), let={d: meaning})
    assert decide(Conservation(d, under=Flow(descent)), domain).outcome == outcome
