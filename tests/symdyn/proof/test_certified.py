"""Which claims get a certificate: true ones that are defined, and no others."""

from __future__ import annotations

import mpmath
import pytest
import sympy as sp

from symdyn.lemmas.page import Page
from symdyn.proof.certificates.certified import certificates
from symdyn.proof.check import verify
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Definition, Existence, Identity, Limit
from tests.symdyn.certify import test_rocq as rocq

x, y, k = sp.symbols("x y k", real=True)
HERE = Domain((x,), (), (Cell("x > 0", {x: 1}),))


@pytest.mark.parametrize("name", rocq.TRUE)
def test_true_claims_have_certificates(name):
    statement, domain = rocq.TRUE[name]
    found = certificates(statement, domain)
    assert found.claims
    assert found.checked == found.claims, found.left


@pytest.mark.parametrize("name", rocq.FALSE)
def test_false_claims_have_none(name):
    statement, domain = rocq.FALSE[name]
    found = certificates(statement, domain)
    assert found.checked < found.claims
    assert found.left


@pytest.mark.parametrize("name", rocq.UNDEFINED)
def test_claims_that_are_not_defined_have_none_and_defined_ones_have(name):
    statement, undefined, defined = rocq.UNDEFINED[name]
    assert not certificates(statement, undefined).complete
    if defined is not None:
        found = certificates(statement, defined)
        assert found.checked == found.claims, found.left


def test_a_definition_has_a_certificate_where_it_is_defined():
    assert certificates(Definition(k, 1 / x), HERE).complete
    assert not certificates(Definition(k, 1 / (x - 1)), HERE).complete
    assert not certificates(Definition(k, sp.log(x - 1)), HERE).complete


def test_other_claims_are_counted_apart():
    chain = Existence(
        "a minimum exists", (Identity((x + 1) ** 2, x**2 + 2 * x + 1), Limit(1 / x, x, sp.oo, 0))
    )
    found = certificates(chain, HERE)
    assert (found.claims, found.checked, found.others) == (1, 1, 2)
    assert not found.complete


def test_a_lemma_that_supposes_what_is_false_at_a_point_does_not_count(monkeypatch):
    domain = Domain((x,), (), (Cell("here", {x: 1}),), let={k: sp.sqrt(x)})
    claim = Identity(k**2, x)
    assert certificates(claim, domain).complete
    monkeypatch.setattr(Page, "values_at", lambda page, point: {s: -mpmath.mpf(2) for s in page.meanings})
    found = certificates(claim, domain)
    assert not found.checked
    assert "false at a point, supposed" in found.left[0]


def test_a_verdict_tells_how_many_claims_have_certificates():
    verdict = verify(Identity((x + y) ** 2, x**2 + 2 * x * y + y**2))
    assert verdict.certificates.complete
    assert "certificate checked: 1 of 1 claims" in verdict.evidence
    refuted = verify(Identity((x + y) ** 2, x**2 + y**2))
    assert not refuted.certificates.claims
