"""Rules of matrices that their own samplers break, that contradict each other, or that hold in some shapes only."""

import random

import sympy as sp

from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    evaluate,
    eye,
    matrix,
    nonzero,
    orthogonal,
    orthonormal_columns,
    projector,
    random_matrix,
    rule,
    trace,
    unit,
    vector,
    zero,
)
from symdyn.calculus.matrix import (
    positive as positive_rates,
)
from symdyn.calculus.matrix.expression import from_word
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity
from tests.soundness.claims import R, false, p, q, true

n, m = sp.symbols("n m", integer=True, positive=True)
A, B, C = (matrix(name, n, n) for name in "ABC")
S, P = (matrix(name, n, n, symmetric=True) for name in "SP")
Q = matrix("Q", n, n)
g, h = vector("g", n), vector("h", n)
ANY = ({n: 2, m: 2}, {n: 3, m: 2})
ONE = ({n: 1, m: 1},)


def declare(name, rules, letters, draw, signs=None):
    """A declaration whose sampler draws `draw(generator, n)`, one matrix for each letter."""
    letters = tuple(x.letter for x in letters)

    def sampler(generator, sizes):
        return dict(zip(letters, draw(generator, sizes[n]), strict=True))

    return Declaration(name, tuple(rules), letters, sampler, signs or {})


def free(*letters):
    """A sampler that draws the letters freely."""
    return lambda generator, size: [random_matrix(generator, x.letter, {n: size, m: 2}) for x in letters]


def first(size):
    return sp.Matrix(size, size, lambda i, j: int(i == j == 0))


commute = declare("A and B commute", [rule(A @ B, B @ A)], (A, B), free(A, B))
commuting_diagonals = declare(
    "A and B commute",
    [rule(A @ B, B @ A)],
    (A, B),
    lambda generator, size: [sp.diag(*(generator.randint(1, 5) for _ in range(size))) for _ in "AB"],
)
nilpotent = declare("A is nilpotent", [rule(A @ A, zero(n, n))], (A,), free(A))
nilpotent_of_zero = declare(
    "A is nilpotent",
    [rule(A @ A, zero(n, n))],
    (A,),
    lambda generator, size: [sp.Matrix(size, size, lambda i, j: int((i, j) == (0, size - 1) and size > 1))],
)
idempotent = declare("A is idempotent", [rule(A @ A, A)], (A,), lambda generator, size: [first(size)])
idempotent_badly = declare("A is idempotent", [rule(A @ A, A)], (A,), free(A))
involution = declare(
    "A is an involution",
    [rule(A @ A, eye(n))],
    (A,),
    lambda generator, size: [sp.eye(size) * generator.choice([-1, 1])],
)
involution_badly = declare(
    "A is an involution", [rule(A @ A, eye(n))], (A,), lambda generator, size: [2 * sp.eye(size)]
)
skew = declare("A is skew", [rule(A.T, -A)], (A,), free(A))
inverse = declare("B inverts A", [rule(A @ B, eye(n)), rule(B @ A, eye(n))], (A, B), free(A, B))
inverse_almost = declare(
    "B inverts A",
    [rule(A @ B, eye(n))],
    (A, B),
    lambda generator, size: [sp.eye(size), sp.eye(size) * (1 + R(1, 10**12))],
)
square_root = declare("A is a root of B", [rule(A @ A, B)], (A, B), free(A, B))
only_in_one_dimension = declare("A is symmetric", [rule(A.T, A)], (A,), free(A))
zero_product = declare("A B = 0", [rule(A @ B, zero(n, n))], (A, B), free(A, B))
annihilates = declare(
    "A g = 0", [rule(A @ g, zero(n, 1))], (A, g), lambda generator, size: [sp.eye(size), sp.ones(size, 1)]
)
orthogonal_columns = declare(
    "g and h are orthogonal",
    [rule(g.T @ h, 0)],
    (g, h),
    lambda generator, size: [sp.ones(size, 1), sp.ones(size, 1)],
)
unit_of_three = declare(
    "g has length 1", [rule(g.T @ g, 1)], (g,), lambda generator, size: [sp.ones(size, 1)]
)
even_sizes_only = declare(
    "A is a rotation",
    [rule(A.T @ A, eye(n)), rule(A @ A, -eye(n))],
    (A,),
    lambda generator, size: [sp.Matrix([[0, -1], [1, 0]]) if size == 2 else sp.eye(size)],
)
negative_drawn = declare(
    "A is orthogonal",
    [rule(A.T @ A, eye(n))],
    (A,),
    lambda generator, size: [orthonormal_columns(generator, size, size) * R(999999999999, 10**12)],
)
commuting_rate = Declaration("p is positive", (), (), lambda generator, sizes: {p: R(-1, 2)}, {p: 1})
nilpotent_drawn_as_zero = declare(
    "A is nilpotent", [rule(A @ A, zero(n, n))], (A,), lambda generator, size: [sp.zeros(size, size)]
)
one_drawn = Declaration("p", (), (), lambda generator, sizes: {p: sp.S.One})
wrong_sign = Declaration("p is negative", (), (), lambda generator, sizes: {p: sp.Integer(2)}, {p: -1})
symmetric_drawn = declare("A", [], (A,), free(matrix("A", n, n, symmetric=True)))
identity_drawn = declare("A", [], (A,), lambda generator, size: [sp.eye(size)])
one_size = declare("A and B", [], (A, B), lambda generator, size: [sp.Matrix([[{1: 2}[size]]])] * 2)
two_alone = declare(
    "A", [], (A,), lambda generator, size: [random_matrix(generator, A.letter, {n: {2: 2}[size]})]
)
Ri = matrix("Ri", n, n)
inverse_drawn_as_one = declare(
    "Ri inverts A",
    [rule(A @ Ri, eye(n)), rule(Ri @ A, eye(n))],
    (A, Ri),
    lambda generator, size: [sp.eye(size), sp.eye(size)],
)
orthogonal_drawn_as_swap = declare(
    "A is orthogonal",
    [rule(A.T @ A, eye(n)), rule(A @ A.T, eye(n))],
    (A,),
    lambda generator, size: [sp.eye(size)[::-1, :]],
)
divided = Declaration(
    "p A B = C",
    (rule(A @ B, C / p),),
    (A.letter, B.letter, C.letter),
    lambda generator, sizes: (
        dict.fromkeys((A.letter, B.letter), sp.eye(sizes[n]))
        | {C.letter: 2 * sp.eye(sizes[n]), p: sp.Integer(2)}
    ),
)
twice = matrix("M", n, n), matrix("M", n, n, symmetric=True)
contradiction = (
    declare("A² = 0", [rule(A @ A, zero(n, n))], (A,), lambda generator, size: [sp.zeros(size, size)]),
    declare("A² = I", [rule(A @ A, eye(n))], (), lambda generator, size: []),
)


def breaks(declaration, size=2):
    """Whether draws of its own sampler break one of the rules, or one of the signs, of a declaration."""

    def broken(seed):
        sizes = {n: size, m: 2}
        drawn = declaration.sampler(random.Random(seed), sizes)
        gaps = (evaluate(from_word(r.left) - r.right, drawn, sizes) for r in declaration.rules)
        return any(any(gap) for gap in gaps) or any(
            drawn[x] * sign <= 0 for x, sign in declaration.signs.items()
        )

    return lambda: any(broken(seed) for seed in range(4))


def contradict():
    """A² cannot be both 0 and I: their normal forms of A² differ."""
    return (
        contradiction[0].rules[0].left == contradiction[1].rules[0].left
        and contradiction[0].rules[0].right != contradiction[1].rules[0].right
    )


def under(lhs, rhs, *declarations, sizes=ANY):
    return MatrixIdentity(lhs, rhs, sizes, Rules(*declarations))


# fmt: off
FALSE = [
    false("AB → BA, drawn freely", lambda: under(A @ B @ A, A @ A @ B, commute), "the sampler draws AB ≠ BA",
        check=breaks(commute)),
    false("AB → BA: difference of squares", lambda: under((A + B) @ (A - B), A @ A - B @ B, commute), "AB ≠ BA",
        check=breaks(commute)),
    false("A² → 0, drawn freely", lambda: under((eye(n) + A) @ (eye(n) - A), eye(n), nilpotent), "A² ≠ 0",
        check=breaks(nilpotent)),
    false("A² → A, drawn freely", lambda: under(A @ A @ A, A, idempotent_badly), "A² ≠ A",
        check=breaks(idempotent_badly)),
    false("A² → I, drawn as 2I", lambda: under(A @ A @ A, A, involution_badly), "A² = 4I",
        check=breaks(involution_badly)),
    false("Aᵀ → -A, drawn freely", lambda: under(g.T @ A @ g + (g.T @ A @ g).T, zero(1, 1), skew),
        "A is not skew", check=breaks(skew)),
    false("AB → I, drawn freely", lambda: under(A @ B @ A, A, inverse), "AB ≠ I", check=breaks(inverse)),
    false("AB → I, off by 10⁻¹²", lambda: under(A @ B @ A, A, inverse_almost), "10⁻¹²",
        check=breaks(inverse_almost)),
    false("A² → B, drawn freely", lambda: under(A @ B, B @ A, square_root), "A² ≠ B",
        check=breaks(square_root)),
    false("Aᵀ → A, drawn freely", lambda: under(A.T @ B, A @ B, only_in_one_dimension), "A is not symmetric",
        check=breaks(only_in_one_dimension)),
    false("Aᵀ → A, shown at n = 1", lambda: under(A.T @ B, A @ B, only_in_one_dimension, sizes=ONE), "n = 2",
        check=breaks(only_in_one_dimension)),
    false("AB → 0, drawn freely", lambda: under((A + B) @ B, B @ B, zero_product), "AB ≠ 0",
        check=breaks(zero_product)),
    false("Ag → 0, drawn with A = I", lambda: under(B @ A @ g, zero(n, 1), annihilates), "g ≠ 0",
        check=breaks(annihilates)),
    false("gᵀh → 0, drawn parallel", lambda: under(g @ g.T @ h, zero(n, 1), orthogonal_columns), "gᵀh = n",
        check=breaks(orthogonal_columns)),
    false("gᵀg → 1, drawn with length √n", lambda: under(g @ g.T @ g, g, unit_of_three), "gᵀg = n",
        check=breaks(unit_of_three)),
    false("gᵀg → 1, shown at n = 1 only", lambda: under(g @ g.T @ g, g, unit_of_three, sizes=ONE), "gᵀg = 2",
        check=breaks(unit_of_three)),
    false("A² → -I in every dimension", lambda: under(A @ A @ A, -A, even_sizes_only), "n = 3: A = I",
        check=breaks(even_sizes_only, 3)),
    false("AᵀA → I, scaled by 1 - 10⁻¹²", lambda: under(A.T @ A @ B, B, negative_drawn), "10⁻¹²",
        check=breaks(negative_drawn)),
    false("p > 0, drawn as -1/2", lambda: under(sp.sqrt(p**2) * A, p * A, commuting_rate), "p = -1/2",
        check=breaks(commuting_rate)),
    false("two rules that contradict each other", lambda: under(A @ A, zero(n, n), *contradiction), "0 = I",
        check=contradict),
    false("two rules that contradict each other: anything follows",
        lambda: under(A @ A @ B, B, *reversed(contradiction)), "0 = I", check=contradict),
    false("an idempotent is symmetric", lambda: under(A.T, A, idempotent), "drawn symmetric, but not said",
        A=((1, 1), (0, 0))),
    false("an involution is ±I", lambda: under(A @ B, B @ A, involution), "drawn as ±I, but not said",
        A=((0, 1), (1, 0)), B=((1, 0), (0, 2))),
    false("commuting matrices are diagonal", lambda: under(A @ A.T, A.T @ A, commuting_diagonals),
        "drawn diagonal, but not said", A=((0, 1), (0, 0)), B=((0, 1), (0, 0))),
    false("a nilpotent matrix vanishes at n = 1", lambda: under(A, zero(n, n), nilpotent_of_zero, sizes=ONE),
        "n = 2", A=((0, 1), (0, 0))),
    false("A² → 0, drawn as 0", lambda: under(A, zero(n, n), nilpotent_drawn_as_zero), "drawn zero, but not said",
        A=((0, 1), (0, 0))),
    false("A² → 0, drawn with one entry: of rank one", lambda: under(A @ B @ A @ B @ A, trace(A @ B) ** 2 * A,
        nilpotent_of_zero), "rank 2 at n = 4", A=((0, 0, 1, 0), (0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
        B=((0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0), (0, 2, 0, 0))),
    false("a number, drawn as 1", lambda: under(p * A, A, one_drawn), "p = 2", p=2, A=((1, 0), (0, 1))),
    false("a letter without rules, drawn symmetric", lambda: under(A.T, A, symmetric_drawn),
        "drawn symmetric, but not said", A=((0, 1), (0, 0))),
    false("a letter without rules, drawn as I", lambda: under(A @ B, B, identity_drawn, sizes=ONE),
        "drawn as I, but not said", A=((0, 1), (0, 0)), B=((1, 0), (0, 1))),
    false("drawn at n = 1 alone", lambda: under(A @ B, B @ A, one_size, sizes=ONE), "no other shape is drawn",
        A=((0, 1), (0, 0)), B=((0, 0), (1, 0))),
    false("drawn at n = 2 alone", lambda: under(A @ A, trace(A) * A + (trace(A @ A) - trace(A) ** 2) / 2 * eye(n),
        two_alone, sizes=({n: 2},)), "Cayley-Hamilton of n = 2", A=((1, 0, 0), (0, 2, 0), (0, 0, 3))),
    false("a root that is drawn with full rank", lambda: under(Ri @ A @ Ri, A, inverse_drawn_as_one),
        "drawn as I, but not said", A=((2, 0), (0, 2)), Ri=((R(1, 2), 0), (0, R(1, 2)))),
    false("a permutation of two", lambda: under(A @ A @ A @ A, eye(n), orthogonal_drawn_as_swap),
        "drawn as a swap, but not said", A=((R(3, 5), R(-4, 5)), (R(4, 5), R(3, 5)))),
    false("an orthogonal matrix squares to I", lambda: under(A @ A, eye(n), orthogonal_drawn_as_swap),
        "drawn as a swap, but not said", A=((0, -1), (1, 0))),
    false("p < 0, drawn positive", lambda: under(sp.sqrt(p**2) * A, -p * A, wrong_sign), "p is drawn as 2",
        check=breaks(wrong_sign)),
    false("a rule that divides by what may vanish", lambda: under(p * A @ B, C, divided), "p = 0: A B = 0, C = I",
        check=lambda: divided.rules[0].right.terms != {}),
    false("two letters of one name", lambda: under(g.T @ twice[0] @ h, h.T @ twice[1] @ g), "one is not symmetric",
        check=lambda: twice[0].letter != twice[1].letter),
    false("AB → BA: a conservation", lambda: MatrixConservation(A @ B - B @ A, {A: C}, ANY, Rules(commute)),
        "the sampler draws AB ≠ BA", check=breaks(commute)),
    false("AB → BA: a velocity", lambda: MatrixDynamics(A @ A, 2 * B @ A, {A: B}, ANY, Rules(commute)),
        "the sampler draws AB ≠ BA", check=breaks(commute)),
]

TRUE = [
    true("commuting matrices", lambda: under((A + B) @ (A - B), A @ A - B @ B, commuting_diagonals)),
    true("commuting matrices, a cube", lambda: under(A @ B @ A, A @ A @ B, commuting_diagonals)),
    true("a nilpotent matrix", lambda: under((eye(n) + A) @ (eye(n) - A), eye(n), nilpotent_of_zero)),
    true("an idempotent matrix", lambda: under(A @ A @ A, A, idempotent)),
    true("an involution", lambda: under(A @ A @ A @ B, A @ B, involution)),
    true("a projector and its complement",
        lambda: under((eye(n) - P) @ (eye(n) - P), eye(n) - P, projector(P))),
    true("an orthogonal matrix", lambda: under(Q.T @ Q @ A, A, orthogonal(Q))),
    true("an inverse of an orthogonal matrix", lambda: under(Q.inverse() @ A, Q.T @ A, orthogonal(Q))),
    true("a unit vector", lambda: under((eye(n) - g @ g.T) @ g, zero(n, 1), unit(g))),
    true("a reflection", lambda: under((eye(n) - 2 * g @ g.T) @ (eye(n) - 2 * g @ g.T), eye(n), unit(g))),
    true("positive rates", lambda: under(sp.sqrt(p**2) * A, p * A, positive_rates(p, q))),
    true("trace of a projected matrix", lambda: under(trace(P @ S @ P), trace(P @ S), projector(P))),
    true("a fourth power of an involution", lambda: under(A @ A @ A @ A, eye(n), involution)),
    true("the complement of an idempotent", lambda: under((eye(n) - A) @ A, zero(n, n), idempotent)),
    true("exponential series of a nilpotent",
        lambda: under((eye(n) + A + A @ A) @ (eye(n) - A), eye(n), nilpotent_of_zero)),
    true("square of a sum of commuting ones",
        lambda: under((A + B) @ (A + B), A @ A + 2 * A @ B + B @ B, commuting_diagonals)),
    true("orthogonal and projector", lambda: under(Q.T @ Q @ P @ P, P, orthogonal(Q), projector(P))),
    true("a product of orthogonal factors", lambda: under(trace(Q @ S @ S @ Q.T), trace(S @ S), orthogonal(Q))),
    true("a square of a unit outer product", lambda: under(g @ g.T @ g @ g.T, g @ g.T, unit(g))),
    true("reflection keeps norms",
        lambda: under(h.T @ (eye(n) - 2 * g @ g.T) @ (eye(n) - 2 * g @ g.T) @ h, h.T @ h, unit(g))),
    true("roots of positive rates", lambda: under(sp.sqrt(p**2 * q**2) * A, p * q * A, positive_rates(p, q))),
    true("a nilpotent matrix, drawn as 0", lambda: under(A @ A @ B, zero(n, n), nilpotent_drawn_as_zero)),
    true("a letter without rules, drawn symmetric", lambda: under(A @ B - A @ B, zero(n, n), symmetric_drawn)),
    true("what is drawn at n = 1 alone", lambda: under((A + B) @ A, A @ A + B @ A, one_size, sizes=ONE)),
    true("what is drawn at n = 2 alone", lambda: under(trace(A @ B), trace(B @ A), two_alone, sizes=({n: 2},))),
    true("an inverse, drawn as I", lambda: under(Ri @ A @ Ri, Ri, inverse_drawn_as_one)),
    true("an orthogonal matrix, drawn as a swap", lambda: under(A @ A.T @ A, A, orthogonal_drawn_as_swap)),
    true("a rule that divides by what does not vanish", lambda: under(p * A @ B, C, divided, nonzero(p))),
    true("a number, drawn as 1", lambda: under(p * A + A, (p + 1) * A, one_drawn)),
    true("a generator that keeps a projector",
        lambda: MatrixConservation(trace(A @ A), {A: A @ B - B @ A}, ANY)),
    true("orthogonal under a skew generator",
        lambda: MatrixDynamics(trace(Q @ A), trace(Q @ (B - B.T) @ A), {Q: Q @ (B - B.T)}, ANY,
            Rules(orthogonal(Q)))),
]
# fmt: on
