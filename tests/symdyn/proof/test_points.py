"""Points come from degenerate places first, in every dimension, and what is proved is put to refutation at them."""

from __future__ import annotations

import itertools

import pytest
import sympy as sp

from symdyn.calculus.gram import Vector, inner, norm2
from symdyn.calculus.matrix import matrix, trace, vector
from symdyn.proof import claim as claims
from symdyn.proof.check import decide, verify
from symdyn.proof.claim import Finding, ProofRefuted, Sign, Zero, examined
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Existence, Identity, Inequality

a, b, c, x, y = sp.symbols("a b c x y", real=True)
u, v, w, z = (Vector(name) for name in "uvwz")
n, m = sp.symbols("n m", integer=True, positive=True)
X, Y, A, B, S = vector("x", n), vector("y", n), matrix("A", n, m), matrix("B", n, m), matrix("S", n, n)


def gram_determinant(*vectors):
    return sp.Matrix([[inner(p, q) for q in vectors] for p in vectors]).det()


def test_degenerate_scalars_come_first():
    cell = Cell("x > 0", {x: 1})
    points = list(Domain((a, b, x), cells=(cell,)).points(cell))
    first = points[:20]
    assert any(p[a] == 0 for p in first) and any(p[b] == 0 for p in first)
    assert any(p[a] == p[b] == 0 for p in first)
    assert any(p[a] == p[b] != 0 for p in points) and any(p[a] == -p[b] != 0 for p in points)
    assert any(p[a] == p[x] for p in points) and any(p[a] == -p[x] for p in points)
    assert {1, -1} <= {p[a] for p in points}
    assert all(p[x] > 0 for p in points)


def test_degenerate_vectors_in_every_dimension_up_to_one_more_than_there_are():
    cell = Cell()
    points = list(Domain((), (u, v, w, z)).points(cell))
    assert {len(p[u]) for p in points} == {1, 2, 3, 4, 5}
    assert any(p[u] == p[v] == p[w] == p[z] for p in points)
    for p, q in itertools.combinations((u, v), 2):
        assert any(at[p] == at[q] for at in points)
        assert any(at[p] == [-entry for entry in at[q]] for at in points)
        assert any(sum(s * t for s, t in zip(at[p], at[q], strict=True)) == 0 for at in points)
    assert all(any(at[p]) for at in points for p in (u, v, w, z))


def test_conditions_and_signs_hold_at_degenerate_points():
    cell = Cell("a < 0", {a: -1}, {c: a * b})
    domain = Domain((a, b, c), cells=(cell,), let={y: 1 / b}, conditions=(b < 2, sp.Ne(a, b)))
    points = list(domain.degenerate(cell))
    assert points
    for point in points:
        assert point[a] < 0 and point[b] < 2 and point[a] != point[b] and point[b] != 0
        assert point[c] == point[a] * point[b] and point[y] == 1 / point[b]


def test_points_are_the_same_however_often_they_are_gone_through():
    domain = Domain((a, b), (u, v))
    (cell,) = domain.cells
    again = Domain((a, b), (u, v))
    assert list(domain.points(cell)) == list(domain.points(cell)) == list(again.points(again.cells[0]))


FALSE = [
    Identity(gram_determinant(u, v), 0),
    Identity(gram_determinant(u, v, w), 0),
    Identity(gram_determinant(u, v, w, z), 0),
    Identity(inner(u, v) * norm2(w), inner(u, w) * inner(v, w)),
    Identity(inner(u, v) ** 2, norm2(u) * norm2(v)),
    Inequality(gram_determinant(u, v), ">"),
    Inequality(gram_determinant(u, v, w), ">"),
    Inequality(norm2(u - v), ">"),
    Inequality(norm2(u + v), ">"),
    Inequality(norm2(u - v) * norm2(u + v), ">"),
    Inequality(inner(u, v) ** 2, ">"),
    Inequality(norm2(u) - inner(u, v), "!="),
    Inequality((a - b) ** 2, ">"),
    Inequality(a**2 + b**2, ">"),
    Inequality(a**2 - b**2, "!="),
    Inequality(a**2 + b**2 - 2 * a * b, ">"),
    Inequality((a - 1) ** 2 + (b + 1) ** 2, ">"),
    Inequality((a * b * c) ** 2, ">"),
    Inequality(a**2 + b**2 + c**2, ">"),
    Inequality((X.T @ Y).scalar(), ">="),
    Inequality((X.T @ X).scalar(), ">"),
    Inequality(trace(A.T @ A), ">"),
    Inequality(trace(A.T @ B), ">="),
    Inequality(trace(S @ S), ">="),
    Inequality(trace(S), ">="),
    Inequality((X.T @ S @ X).scalar(), ">="),
    Inequality((X.T @ X).scalar() * (Y.T @ Y).scalar() - (X.T @ Y).scalar() ** 2, ">"),
    Identity((X.T @ Y).scalar() ** 2, (X.T @ X).scalar() * (Y.T @ Y).scalar()),
    Identity(trace(A.T @ A) * trace(B.T @ B), trace(A.T @ B) ** 2),
]

TRUE = [
    Inequality((Y.T @ Y).scalar(), ">="),
    Inequality((Y.T @ Y).scalar() + 1, ">"),
    Inequality(trace(A.T @ A), ">="),
    Inequality((X.T @ S @ S.T @ X).scalar(), ">="),
    Inequality(norm2(u) * norm2(v) - inner(u, v) ** 2, ">="),
    Inequality(norm2(u) + 2 * inner(u, v) + norm2(v) + 1, "!="),
    Identity((X.T @ Y).scalar(), (Y.T @ X).scalar()),
    Identity(norm2(u + v) + norm2(u - v), 2 * norm2(u) + 2 * norm2(v)),
]


def test_what_fails_at_a_degenerate_place_or_in_one_dimension_does_not_hold():
    counts = {"tried": 0, "refuted": 0, "undecided": 0, "wrong": 0}
    for statement in FALSE:
        verdict = decide(statement)
        counts["tried"] += 1
        counts["wrong" if verdict.holds else "refuted" if verdict.holds is False else "undecided"] += 1
        if verdict.holds is not False:
            print("not refuted:", statement, verdict.outcome)
    print(f"claims that fail at a degenerate place: {counts}")
    assert counts["wrong"] == 0 and counts["refuted"] >= 27


@pytest.mark.parametrize("statement", TRUE, ids=str)
def test_true_inequalities_of_vectors_and_words_are_not_refuted(statement):
    assert decide(statement).holds is not False


def test_squares_of_words_and_vectors_are_not_negative():
    assert all(decide(s).outcome == "PROVED" for s in TRUE[:5])


def test_a_proof_that_a_point_refutes_is_a_bug_of_the_engine_and_no_verdict(monkeypatch):
    def lies(self, domain, cell):
        return Finding("PROVED", "proved", "so it is said")

    for kind, statement in (
        (Zero, Identity(x, y)),
        (Sign, Inequality(x**2, ">")),
        (claims.Defined, Inequality(sp.sqrt(x) ** 2 + 1, ">=", 1 + x)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(kind, "prove", lies)
            if kind is claims.Defined:
                statement = Inequality(sp.sqrt(x), ">=")
            with pytest.raises(ProofRefuted, match="a bug of the engine"):
                decide(statement, Domain((x, y)))


def test_every_claim_is_examined():
    assert examined(Zero((x + y) ** 2 - x**2 - 2 * x * y - y**2), Domain((x, y)), Cell()).outcome == "PROVED"


def test_no_derivative_of_an_unspecified_function_vanishes():
    f = sp.Function("f", real=True)(x)
    for order in (1, 4, 7):
        assert decide(Identity(sp.diff(f, x, order), 0), Domain((x,), functions=(f,))).holds is False


@pytest.mark.parametrize("failure", [TypeError, KeyError, ZeroDivisionError, RecursionError, AttributeError])
@pytest.mark.parametrize("part", ["prove", "refute", "test"])
def test_an_exception_in_a_check_is_named_and_decides_nothing(monkeypatch, failure, part):
    def fails(self, domain, cell):
        raise failure("something is wrong in here")

    hard = Identity(sp.sin(2 * x), 2 * sp.sin(x) * sp.cos(x))
    monkeypatch.setattr(Zero, part, fails)
    verdict = decide(hard)
    assert verdict.outcome == "UNKNOWN"
    assert failure.__name__ in verdict.evidence
    assert decide(Existence("both", (hard, Inequality(x**2, ">=")))).parts[1].outcome == "PROVED"


def test_a_value_that_is_no_number_at_a_point_ends_no_audit():
    verdict = verify(Inequality(x / (a - 1), ">"))
    assert verdict.holds is not True


def test_a_tiny_difference_is_not_taken_for_zero():
    tiny = sp.Rational(1, 10**45)
    for gap in (tiny, tiny**2, 10 * tiny):
        assert decide(Identity(sp.sin(2 * x) + gap, 2 * sp.sin(x) * sp.cos(x))).holds is False
    assert decide(Identity(sp.sin(2 * x), 2 * sp.sin(x) * sp.cos(x))).outcome == "AGREES"
