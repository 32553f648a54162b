"""Normal forms, limits, words in matrices and Gaussian means at random, against values computed apart from the engine.

The environment variable SYMDYN_FUZZ multiplies how many are drawn (1 in a few seconds), SYMDYN_FUZZ_SEED draws others.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy as sp

from symdyn.calculus.matrix import Rules, gaussian_mean, matrix, trace
from symdyn.calculus.matrix.declarations import orthogonal
from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.signs.cases import Case, in_all_cases
from symdyn.proof.undecided import Undecided
from tests.soundness.claims import Cell, a, b, x, y
from tests.soundness.drawn import draw
from tests.soundness.engine import ask
from tests.soundness.truth import stands
from tests.soundness.values import Undefined, value

BUDGET = int(os.environ.get("SYMDYN_FUZZ", "1"))
SEED = os.environ.get("SYMDYN_FUZZ_SEED", "0")
R = sp.Rational


def generators(sort, count):
    return [random.Random(f"{sort}/{SEED}/{number}") for number in range(count * BUDGET)]


def told(sort, counts, capsys):
    with capsys.disabled():
        print(f"\n{sort}: " + ", ".join(f"{counts[name]} {name}" for name in ("right", "refused", "wrong")))
    assert counts["wrong"] == 0 and counts["right"] > counts["refused"]


# normal forms

CELLS = {
    "everywhere": ({}, [(0, 0, 0), (1, -1, 2), (-2, R(1, 3), 0), (R(-3, 2), R(-3, 2), 1), (0, 5, -1)]),
    "quadrant": ({x: 1, y: -1}, [(1, -1, 0), (R(1, 50), -40, 1), (R(7, 3), R(-7, 3), -2), (3, -2, R(1, 2))]),
    "positive": ({x: 1, y: 1, a: 1}, [(1, 1, 1), (R(1, 50), 40, 2), (2, 3, R(1, 3)), (R(5, 4), R(1, 2), 7)]),
}


def expression(rng, depth):
    """Roots of what is not negative, moduli, exponentials and quotients whose denominators do not vanish."""
    if depth == 0:
        return rng.choice((x, y, a, x, y, sp.Integer(2), R(-1, 3)))
    u, v = expression(rng, depth - 1), expression(rng, depth - 1)
    return rng.choice(
        (
            lambda: u + v,
            lambda: u - v,
            lambda: u * v,
            lambda: u / (1 + v**2),
            lambda: sp.sqrt(u**2),
            lambda: sp.sqrt(1 + u**2),
            lambda: sp.sqrt((u - v) ** 2) if depth < 3 else u - v,
            lambda: sp.Abs(u) if depth < 3 else u,
            lambda: sp.exp(x - y) * u,
            lambda: sp.cosh(x) + u if depth < 3 else u,
        )
    )()


@pytest.mark.parametrize("name", CELLS)
def test_a_normal_form_has_the_values_of_its_expression(name, capsys):
    signs, points = CELLS[name]
    counts = Counter()
    for rng in generators(f"normal forms {name}", 25):
        expr = expression(rng, 3)
        forms = []

        def attempt(case, expr=expr, forms=forms):
            tower = case.tower()
            forms.append((case, tower.expression(tower.convert(case.read(expr)))))

        try:
            in_all_cases(Case(Cell(name, signs), ()), attempt)
        except Undecided:
            counts["refused"] += 1
            continue
        with mpmath.workdps(60):
            wrong = [at for at in points if not agrees(expr, forms, dict(zip((x, y, a), at, strict=True)))]
        counts["wrong" if wrong else "right"] += 1
        assert not wrong, (expr, forms, wrong)
    told(f"normal forms, {name}", counts, capsys)


def agrees(expr, forms, at):
    """Whether the forms of all cases that a point lies in have the value of the expression there."""
    known = value(expr, at)
    for case, form in forms:
        here = all(holds(relation, value(fact, at)) for fact, relation in case.facts)
        if here and all(abs(value(s - solved, at)) < 1e-40 for s, solved in case.solved):
            try:
                if abs(value(form, at) - known) > mpmath.mpf(10) ** -40 * (1 + abs(known)):
                    return False
            except Undefined:  # the form has a denominator that the expression does not have, as x²/x for x
                continue
    return True


def holds(relation, number):
    return {
        ">": number > 0,
        "<": number < 0,
        ">=": number >= 0,
        "<=": number <= 0,
        "!=": number != 0,
    }[relation]


# limits with exceptional parameters


@pytest.mark.parametrize("sort", ["limits", "decays", "orders"])
def test_a_limit_that_holds_does_so_at_exceptional_parameters(sort, capsys):
    answers = [ask(claim) for claim in draw(sort, 8 * BUDGET, seed=f"fuzzed {SEED}")]
    failing = {str(answer): stands(answer.claim) for answer in answers if answer.outcome == "HOLDS"}
    with capsys.disabled():
        print(f"\n{sort}: {dict(Counter(answer.outcome for answer in answers))}")
    assert {said: points for said, points in failing.items() if points} == {}


# words in matrices

n, m = sp.symbols("n m", integer=True, positive=True)
A, B, Q = (matrix(name, n, n) for name in "ABQ")
S = matrix("S", n, n, symmetric=True)
TURNS = {
    1: [[Fraction(-1)]],
    2: [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]],
    3: [
        [Fraction(2, 3), Fraction(-1, 3), Fraction(2, 3)],
        [Fraction(2, 3), Fraction(2, 3), Fraction(-1, 3)],
        [Fraction(-1, 3), Fraction(2, 3), Fraction(2, 3)],
    ],
}


def drawn_matrices(rng, size):
    free = [
        np.array(
            [[Fraction(rng.randint(-4, 4), rng.randint(1, 3)) for _ in range(size)] for _ in range(size)]
        )
        for _ in range(3)
    ]
    return {A: free[0], B: free[1], S: free[2] + free[2].T, Q: np.array(TURNS[size])}


def words(rng, letters, depth):
    """The same random sum of products, transposed here and there, as an expression and as a matrix."""
    if depth == 0:
        return rng.choice([*letters.items()])
    (u, p), (v, q) = words(rng, letters, depth - 1), words(rng, letters, depth - 1)
    c = rng.choice((1, 2, -3))
    return rng.choice(
        ((u @ v, p @ q), (u @ v, p @ q), (u.T @ v, p.T @ q), (u + c * v, p + c * q), (u.T, p.T))
    )


def matrix_of(expr, letters, size):
    """What an expression is, by products of the factors of its words."""
    named = {letter.letter: array for letter, array in letters.items()}
    total = np.array([[Fraction(0)] * size for _ in range(size)])
    for bound, c, word in expr.listed():
        assert not bound and c.is_Rational
        array = np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)])
        for factor in word.factors:
            assert not factor.inverted
            array = array @ (named[factor.letter].T if factor.transposed else named[factor.letter])
        total = total + Fraction(int(c.p), int(c.q)) * array
    return total


def test_the_normal_form_of_words_has_their_value(capsys):
    rules, counts = Rules(orthogonal(Q)), Counter()
    for rng in generators("words", 60):
        size = rng.choice((1, 2, 3))
        letters = drawn_matrices(rng, size)
        expr, array = words(rng, letters, 3)
        same = (matrix_of(rules.normal_form(expr), letters, size) == array).all()
        counts["right" if same else "wrong"] += 1
        assert same, (expr, letters)
    told("words", counts, capsys)


# Gaussian means

W, V = matrix("W", n, m), matrix("V", n, m)
s, r = sp.symbols("s r", positive=True)


def entries_of(name, rows, cols):
    return sp.Matrix(rows, cols, lambda i, j: sp.Symbol(f"{name}{i}{j}"))


def moment(polynomial, variances):
    """The mean of a polynomial in independent Gaussian entries: E w^2k = (2k - 1)!! s^k."""
    gens = [g for array in variances for g in array]
    total = sp.Integer(0)
    for powers, c in sp.Poly(polynomial, *gens).terms():
        scale = {g: variance for array, variance in variances.items() for g in array}
        for g, power in zip(gens, powers, strict=True):
            c = c * (0 if power % 2 else sp.factorial2(power - 1) * scale[g] ** (power // 2))
        total += c
    return sp.expand(total)


def test_gaussian_means_are_those_of_the_moments_of_entries(capsys):
    counts = Counter()
    for rng in generators("means", 16):
        rows, cols = rng.choice([*product((1, 2), (1, 2))])
        arrays = {
            W: sp.ImmutableMatrix(entries_of("w", rows, cols)),
            V: sp.ImmutableMatrix(entries_of("v", rows, cols)),
        }
        expr, polynomial = sp.Integer(1), sp.Integer(1)
        for pairs in rng.choice(((1,), (2,), (1, 1))):
            chain, array = None, None
            for _ in range(pairs):
                u, v = rng.choice((W, V)), rng.choice((W, V))
                step, value_ = u @ v.T, arrays[u] * arrays[v].T
                chain, array = (step, value_) if chain is None else (chain @ step, array * value_)
            expr, polynomial = expr * trace(chain), polynomial * array.trace()
        mean = gaussian_mean(expr, {W: s, V: r}).subs({n: rows, m: cols})
        known = moment(polynomial, {arrays[W]: s, arrays[V]: r})
        same = sp.expand(mean - known) == 0
        counts["right" if same else "wrong"] += 1
        assert same, (expr, rows, cols, mean, known)
    told("Gaussian means", counts, capsys)


def test_the_values_here_notice_what_is_wrong():
    """A factor, a transposition and a power that are changed are told apart."""
    letters = drawn_matrices(random.Random(0), 2)
    assert not (matrix_of(A @ B, letters, 2) == letters[B] @ letters[A]).all()
    assert not (matrix_of(Q @ A, letters, 2) == letters[Q].T @ letters[A]).all()
    w = entries_of("w", 1, 1)
    assert moment(w[0] ** 4, {sp.ImmutableMatrix(w): s}) == 3 * s**2
    case = Case(Cell("positive", {x: 1}), ())
    assert agrees(sp.sqrt(x**2), [(case, x)], {x: sp.Integer(2)})
    assert not agrees(sp.sqrt(x**2) + b, [(case, x + b)], {x: sp.Integer(-2), b: sp.Integer(1)})


# signs that follow from facts

GRID = [R(p, 4) for p in (0, 1, -2, 3, -3, 4, -6, 9, 20, -20)]
SIGNED = {
    ">": lambda number: number > 0,
    ">=": lambda number: number >= 0,
    "<": lambda number: number < 0,
    "<=": lambda number: number <= 0,
    "!=": lambda number: number != 0,
}


def atom(rng):
    c = rng.choice((1, 2, 3, R(1, 2)))
    return rng.choice(
        (
            x,
            y,
            x**2,
            x * y,
            y**2,
            sp.sqrt(x**2 + 1),
            sp.sqrt(x**2 + y**2 + c),
            sp.exp(x),
            sp.Integer(c),
            sp.sqrt(y**2 + 1),
        )
    ) * rng.choice((1, -1, 2, -3))


def mixture(rng, facts):
    """A short sum of things, some of them multiples of what is known."""
    terms = [atom(rng) for _ in range(rng.randint(2, 3))]
    if facts and rng.random() < 0.6:
        terms = [rng.choice(facts)[0] * rng.choice((1, -1, atom(rng))), *terms[: rng.randint(0, 1)]]
    return sp.Add(*terms)


def test_a_sign_that_follows_from_facts_is_that_of_the_values(capsys):
    counts = Counter()
    for rng in generators("signs", 60):
        signs = {s: rng.choice((1, -1)) for s in (x, y) if rng.random() < 0.5}
        facts = [(mixture(rng, []), rng.choice([*SIGNED])) for _ in range(rng.randint(1, 2))]
        expr = mixture(rng, facts)
        try:
            with cpu_budget(2.0):
                found = Case(Cell("drawn", signs), tuple(facts)).sign(expr)
        except (Undecided, BudgetExceeded):
            found = None
        if found is None:
            counts["undecided"] += 1
            continue
        relation = {2: ">", 1: ">=", -1: "<=", -2: "<"}[found]
        with mpmath.workdps(40):
            points = [
                {x: u, y: v}
                for u, v in product(GRID, GRID)
                if all(s * {x: u, y: v}[letter] > 0 for letter, s in signs.items())
                and all(SIGNED[known](value(fact, {x: u, y: v})) for fact, known in facts)
            ]
            wrong = [at for at in points if not SIGNED[relation](value(expr, at))]
        counts["wrong" if wrong else "right" if points else "of nothing"] += 1
        assert not wrong, (expr, found, facts, signs, wrong[0])
    with capsys.disabled():
        print(f"\nsigns: {dict(counts)}")
    assert counts["right"] >= 15 * BUDGET
