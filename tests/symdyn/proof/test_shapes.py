"""Shapes, dimensions and declarations: examples prove nothing of others, and flows keep what is declared."""

from __future__ import annotations

import random

import pytest
import sympy as sp

from symdyn.calculus.gram import inner, norm2
from symdyn.calculus.matrix import (
    Declaration,
    Index,
    Rules,
    basis,
    entry,
    eye,
    inverse_of,
    matrix,
    nonzero,
    orthogonal,
    positive,
    projector,
    random_matrix,
    rule,
    sum_over,
    trace,
    vector,
    zero,
)
from symdyn.calculus.vectors import Vector
from symdyn.proof.check import decide, verify
from symdyn.proof.words import _broken_rule, examples, shapes
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity, Inequality
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity

n, m = sp.symbols("n m", integer=True, positive=True)
p, q = sp.symbols("p q", real=True)
A, B = matrix("A", n, n), matrix("B", n, n)
S = matrix("S", n, n, symmetric=True)
V = matrix("V", n, m)
g, h = vector("g", n), vector("h", n)
k = Index("k", n)
ONE, TWO = ({n: 1, m: 1},), ({n: 2, m: 2},)
v1, v2, v3 = (Vector(f"v{i}") for i in (1, 2, 3))


def test_every_size_goes_from_one_to_four_and_sizes_differ():
    found = shapes((V,), Rules(), ONE)
    assert found[0] == {n: 1, m: 1}
    assert {sizes[n] for sizes in found} == {sizes[m] for sizes in found} == {1, 2, 3, 4}
    assert any(sizes[n] < sizes[m] for sizes in found) and any(sizes[n] > sizes[m] for sizes in found)


def test_a_shape_that_no_sampler_draws_is_left_out_unless_it_is_listed():
    tall = Rules(orthogonal(V))
    drawn = [sizes for sizes, _ in examples((V,), tall, ({n: 3, m: 2},), 1)]
    assert all(sizes[n] >= sizes[m] for sizes in drawn) and len(drawn) > 6
    with pytest.raises(ValueError, match="orthonormal"):
        list(examples((V,), tall, ({n: 2, m: 3},), 1))


def _swap(good, bad):
    """A declaration that A is an involution, which holds for what is drawn at some sizes."""

    def sampler(generator, sizes):
        if sizes[n] in bad:
            return {A.letter: 2 * sp.eye(sizes[n])}
        if sizes[n] not in good:
            raise KeyError(sizes[n])
        return {A.letter: sp.eye(sizes[n])}

    return Rules(Declaration("A² = I", (rule(A @ A, eye(n)),), (A.letter,), sampler))


@pytest.mark.parametrize(
    ("good", "bad", "fault"), [((2,), (), ""), ((2,), (3,), "n = 3"), ((2, 3), (4,), "n = 4")]
)
def test_a_sampler_that_draws_no_shape_is_told_from_one_that_breaks_its_rule_there(good, bad, fault):
    rules = _swap(good, bad)
    assert (fault in _broken_rule(rules, ((((n, 2)),),))) and bool(
        _broken_rule(rules, ((((n, 2)),),))
    ) == bool(fault)
    verdict = decide(MatrixIdentity(A @ A @ A, A, ({n: 2},), rules))
    assert verdict.holds is (None if fault else True)
    assert fault in verdict.evidence


def test_what_is_not_proved_does_not_hold_however_many_examples_agree():
    rules = Rules(Declaration("A", (), (A.letter,), lambda g, sizes: {A.letter: sp.eye(sizes[n])}))
    verdict = decide(MatrixIdentity(A @ B, B, TWO, rules))
    assert (verdict.outcome, verdict.holds) == ("UNKNOWN", None)
    assert "rational examples of the shapes" in verdict.evidence and "declare the rules" in verdict.evidence


def test_a_claim_about_one_shape_is_proved_entry_by_entry():
    X, Y = matrix("X", 2, 2), matrix("Y", 2, 2)
    plane = MatrixIdentity(X @ X, trace(X) * X + (trace(X @ X) - trace(X) ** 2) / 2 * eye(2), ({},))
    assert decide(plane).outcome == "PROVED" and "given shape" in decide(plane).evidence
    assert decide(MatrixIdentity(X @ Y, Y @ X, ({},))).holds is False
    ruled = Rules(Declaration("X", (), (X.letter,), lambda g, s: {X.letter: random_matrix(g, X.letter, s)}))
    assert decide(MatrixIdentity(plane.lhs, plane.rhs, ({},), ruled)).holds is None


@pytest.mark.parametrize(
    ("claim", "place"),
    [
        (MatrixIdentity(A / p + A, (1 + p) * A / p, TWO), "1/p"),
        (MatrixIdentity(A / (n - 1) + A, n * A / (n - 1), TWO), "1/(n - 1)"),
        (MatrixIdentity(sp.sqrt(p) * A, sp.sqrt(p) * A, TWO), "sqrt(p)"),
        (MatrixDynamics(A, B / p, {A: B / p}, TWO), "1/p"),
        (MatrixConservation(g / p, {A: B}, TWO), "1/p"),
        (MatrixIdentity(A / trace(A), A / trace(A), TWO), "1/tr(A)"),
    ],
    ids=str,
)
def test_a_coefficient_that_is_not_defined_everywhere_is_named(claim, place):
    verdict = decide(claim)
    assert verdict.holds is not True
    assert place in verdict.evidence and "is a real number only where" in verdict.evidence


def test_words_have_the_signs_that_are_declared_of_them():
    length = (basis(k).T @ A @ A.T @ basis(k)).scalar()
    rules = Rules(positive(p, length), nonzero(trace(A)))
    for seed in range(20):
        drawn = rules.sample(p * A, {n: 1 + seed % 4}, seed)
        rows = sp.Matrix(drawn[A.letter])
        assert drawn[p] > 0 and rows.trace() != 0 and all(any(rows[i, :]) for i in range(rows.rows))
    other = Index("other", n)
    assert rules.sign_of((basis(other).T @ A @ A.T @ basis(other)).scalar()) == 2
    assert rules.sign_of((basis(other).T @ A @ basis(other)).scalar()) is None
    shares = sum_over(k, 1 / length * basis(k) @ basis(k).T)
    assert decide(MatrixIdentity(shares, shares, TWO, rules)).holds is True
    assert decide(MatrixIdentity(shares, shares, TWO)).holds is not True
    with pytest.raises(TypeError, match="nonzero"):
        positive(1 + trace(A))
    with pytest.raises(ValueError, match="no draw"):
        Rules(nonzero(trace(A) - trace(A))).sample(A, {n: 2})


def test_claims_about_entries_are_refuted_off_the_diagonal():
    other = Index("other", n)
    assert decide(MatrixIdentity(entry(A, k, other), entry(A.T, other, k), TWO)).outcome == "PROVED"
    assert decide(MatrixIdentity(entry(A, k, other), entry(A, other, k), TWO)).holds is False
    assert decide(MatrixIdentity(entry(A, k, k), trace(A), ONE)).holds is False


def test_projectors_of_every_rank_are_drawn():
    ranks = {Rules(projector(S)).sample(S, {n: 3}, seed)[S.letter].rank() for seed in range(40)}
    assert ranks == {0, 1, 2, 3}


def test_an_inverse_that_no_draw_has_is_refused_at_once():
    inverse, declared = inverse_of("R", V.T @ V)
    assert Rules(declared).sample(inverse, {n: 3, m: 2})
    with pytest.raises(ValueError, match="never invertible"):
        Rules(declared).sample(inverse, {n: 1, m: 2})


def test_a_flow_keeps_what_is_declared_of_the_letters_it_moves():
    inverse, declared = inverse_of("R", eye(n) + S)
    stays = MatrixConservation(inverse @ B, {S: S}, TWO, Rules(declared))
    moves = MatrixDynamics(
        inverse, -inverse @ S @ inverse, {S: S, inverse: -inverse @ S @ inverse}, TWO, Rules(declared)
    )
    assert decide(stays).holds is False
    assert decide(moves).outcome == "PROVED"
    turned = {A: A @ (B - B.T)}
    assert decide(MatrixConservation(A.T @ A, turned, TWO, Rules(orthogonal(A)))).outcome == "PROVED"
    assert decide(MatrixConservation(A.T @ A, {A: A @ B}, TWO, Rules(orthogonal(A)))).holds is False
    zero_product = Declaration(
        "A B = 0",
        (rule(A @ B, zero(n, n)),),
        (A.letter, B.letter),
        lambda g, sizes: {A.letter: sp.zeros(sizes[n]), B.letter: random_matrix(g, B.letter, sizes)},
    )
    kept, broken = {B: B @ S}, {B: S @ B}
    assert decide(MatrixConservation(A @ B, kept, TWO, Rules(zero_product))).outcome == "PROVED"
    assert decide(MatrixConservation(A @ B, broken, TWO, Rules(zero_product))).holds is not True


def test_letters_of_one_name_are_not_taken_for_each_other():
    plain, symmetric = matrix("M", n, n), matrix("M", n, n, symmetric=True)
    assert (g.T @ plain @ h).scalar() != (g.T @ symmetric @ h).scalar()
    verdict = decide(MatrixIdentity(plain @ symmetric, plain @ symmetric, TWO))
    assert verdict.holds is None and "two letters" in verdict.evidence


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("", {1, 2, 3, 4, 5}),
        ("any d", {1, 2, 3, 4, 5}),
        ("d > 1, δ ≠ 0", {2, 3, 4, 5}),
        ("d ≥ 2, since there are more features than data", {2, 3, 4, 5}),
        ("δ >= 3, 2d = 8, h = 2 < d", {1, 2, 3, 4, 5}),
        ("d>=2; d <= 3", {2, 3}),
        ("d = 4", {4}),
    ],
)
def test_the_words_of_a_domain_say_which_dimensions_are_meant(words, allowed):
    domain = Domain((), (v1, v2, v3), words=words)
    assert {d for d in range(1, 6) if domain.allows(d)} == allowed
    drawn = {len(point[v1]) for point in domain.generic(Cell())}
    assert drawn <= allowed and max(drawn) == max(allowed & {1, 2, 3, 4})


def test_points_have_one_dimension_more_than_there_are_vectors_where_a_sampler_has_them():
    listed = Domain((), (v1, v2, v3), dimensions=(1, 2))
    assert {len(point[v1]) for point in listed.generic(Cell())} == {1, 2, 3, 4}

    def short(rng: random.Random, d: int):
        return {v1: [sp.Integer(rng.randint(1, 9)) for _ in range(min(d, 2))]}

    made = Domain((), (v1,), dimensions=(2,), sampler=short)
    assert {len(point[v1]) for point in made.points(Cell())} == {2}


def test_what_is_only_tested_needs_all_dimensions_and_no_sampler():
    x = sp.Symbol("x", real=True)
    gram = sp.Matrix(3, 3, lambda i, j: inner((v1, v2, v3)[i], (v1, v2, v3)[j])).det(method="berkowitz")
    tested = sp.sin(2 * x) - 2 * sp.sin(x) * sp.cos(x)
    flat = Domain((), (v1, v2, v3), words="d <= 2")
    assert decide(Identity(gram, 0), flat).outcome == "AGREES"
    assert decide(Identity(gram, 0), Domain((), (v1, v2, v3), dimensions=(1, 2))).holds is False
    domain = Domain((x,), (v1,), sampler=lambda rng, d: {x: sp.Integer(rng.randint(1, 3))})
    assert decide(Identity(tested * norm2(v1), 0), Domain((x,), (v1,))).outcome == "AGREES"
    verdict = decide(Identity(tested * norm2(v1), 0), domain)
    assert verdict.holds is None and "sampler" in verdict.evidence
    word = trace(A @ A)
    verdict = decide(Identity(sp.sin(2 * word), 2 * sp.sin(word) * sp.cos(word)))
    assert verdict.holds is None and "no proof for all shapes" in verdict.evidence


def test_a_form_of_squares_is_not_negative():
    form = norm2(v1) + norm2(v2) + norm2(v3) - inner(v1, v2) - inner(v2, v3) - inner(v1, v3)
    assert decide(Inequality(form, ">=")).outcome == "PROVED"
    assert decide(Inequality(-form, "<=")).outcome == "PROVED"
    assert decide(Inequality(2 + form, ">")).outcome == "PROVED"
    assert decide(Inequality(form, ">")).holds is False
    assert decide(Inequality(form - inner(v1, v2), ">=")).holds is False
    assert decide(Inequality(form - 1, ">=")).holds is False


def test_mutants_of_a_claim_with_declared_words_are_refuted():
    length = (g.T @ g).scalar()
    claim = MatrixIdentity(
        g @ g.T @ g @ h.T / length**2, g @ h.T / length, ({n: 2}, {n: 3}), Rules(positive(length))
    )
    verdict = verify(claim)
    assert verdict.holds is True and len(verdict.mutants) >= 3
