r"""Singular vectors of start and task, their overlaps B and C, and for which starts B has an inverse.

Let N_m = min(N_i, N_o) be the rank of both. For N_i = N_o the bases are square and

    B = UᵀŨ(I + R),        C = UᵀŨ(I - R),        R = ŨᵀUVᵀṼ,

with an orthogonal R, whose determinant is the sign of det W₂(0)W₁(0) times that of det Σ^yx. If the signs differ,
det(I + R) = det(R)det(Rᵀ + I) = -det(I + R) is zero: B is singular for half of all starts, drawn at random without a
preferred sign, and not for exceptions only. If they agree, R is a rotation, and those with the eigenvalue -1, a half
turn, are exceptions. For N_i ≠ N_o, R is a contraction and the bases V of the longer side are connected, so that B is
singular for exceptions only, of which Σ^yx = -W₂(0)W₁(0), with B = 0, is always one (braun2022, Sec. 3, eq. 10 and
Assumptions 2.4 and 3.1).
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import sympy as sp

from derivations.prior_knowledge.riccati.singular_form import (
    BASIS,
    SHAPES,
    B,
    C,
    U,
    U_proj,
    U_task,
    V,
    V_proj,
    V_task,
    s_task,
)
from derivations.prior_knowledge.symbols import W1, W2, h, i, m, o, start, task
from derivations.prior_knowledge.symbols import v as v_coordinate
from symdyn.calculus.gram import inner, norm2
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    cayley,
    eye,
    matrix,
    orthogonal,
    random_rational,
    rule,
    trace,
    vector,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity

SQUARE = ({m: 2}, {m: 3})
map_ = U_task @ s_task @ V_task.T


WITHOUT_B = stated(
    "Sec. 3, Eq. (10)",
    "compact singular value decompositions of full rank; that B has an inverse is drawn but not used",
    "singular vectors of start and task, B invertible",
)


@result(
    ledger=("braun2022.compact-svd",),
    hypotheses=(WITHOUT_B,),
)
def compact_singular_values() -> Existence:
    """The compact decompositions of start and task: on the diagonals of S and S̃ are singular values, not eigenvalues.

    They are the roots of the eigenvalues of ΣᵀΣ and ΣΣᵀ. N_m, which the paper does not define, is the rank, and equal
    to min(N_i, N_o) under Assumption 2.4.
    """
    return Existence(
        r"$\tilde\Sigma^{yx}=\tilde U\tilde S\tilde V^\top$ with $\tilde\Sigma^{yx}\tilde V=\tilde U\tilde S$, "
        r"$(\tilde\Sigma^{yx})^\top\tilde U=\tilde V\tilde S$, singular values on the diagonal of $\tilde S$",
        (
            MatrixIdentity(map_ @ V_task, U_task @ s_task, SHAPES, BASIS, name=r"\Sigma\tilde V"),
            MatrixIdentity(map_.T @ U_task, V_task @ s_task, SHAPES, BASIS, name=r"\Sigma^\top\tilde U"),
            MatrixIdentity(map_.T @ map_ @ V_task, V_task @ s_task @ s_task, SHAPES, BASIS),
        ),
    )


left, right = matrix("Ut", m, m, r"\tilde U"), matrix("Vt", m, m, r"\tilde V")

values = matrix("St", m, m, r"\tilde S", symmetric=True)


def _descending(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Positive numbers on a diagonal, the largest first."""
    drawn = sorted((abs(random_rational(generator)) for _ in range(sizes[m])), reverse=True)
    return {values.letter: sp.diag(*drawn)}


@printed(
    "braun2022.compact-svd",
    quote='diagonal with the "ordered, non-zero eigenvalues"',
    severity="typo",
    hypotheses=(stated("Sec. 3, Eq. (10)", "S̃ is diagonal, ordered, with non-zero entries", "S̃"),),
)
def printed_compact_svd() -> MatrixIdentity:
    """As printed, with eigenvalues of the matrix on the diagonal, whose sum is its trace."""
    rules = Rules(orthogonal(left), orthogonal(right), Declaration("S̃", (), (values.letter,), _descending))
    return MatrixIdentity(
        trace(left @ values @ right.T), trace(values), SQUARE, rules, name=r"\mathrm{tr}\,\Sigma"
    )


@result(
    ledger=("braun2022.orthogonal-complements",),
    hypotheses=(WITHOUT_B,),
)
def complements() -> Existence:
    """Ũ has a complement for N_o > N_i, with N_o - N_i columns, and Ṽ for N_i > N_o; the projectors on them.

    [Ũ Ũ_⊥] is then a basis: the projectors on both add to the identity and the task does not see Ṽ_⊥ and Ũ_⊥.
    """
    return Existence(
        r"$\tilde U_\perp\in\mathbb R^{N_o\times(N_o-N_i)}$ for $N_o>N_i$, "
        r"$\tilde V_\perp\in\mathbb R^{N_i\times(N_i-N_o)}$ for $N_i>N_o$",
        (
            MatrixIdentity(U_task @ U_task.T + U_proj, eye(o), SHAPES, BASIS),
            MatrixIdentity(V_task @ V_task.T + V_proj, eye(i), SHAPES, BASIS),
            MatrixIdentity(map_ @ V_proj, zero(o, i), SHAPES, BASIS),
            MatrixIdentity(map_.T @ U_proj, zero(i, o), SHAPES, BASIS),
        ),
    )


n_i, n_o, extra = sp.symbols("N_i N_o k", real=True)


def _dimensions(rng: random.Random, _: int) -> Point:
    """Whole numbers."""
    return {n_o: sp.Integer(rng.randint(1, 4)), extra: sp.Integer(rng.randint(1, 3))}


UNEQUAL = stated("Sec. 3, below Eq. (10)", "unequal dimensions, N_i > N_o ≥ 1", n_i, n_o, extra)
more_inputs = Domain(
    (n_i, n_o),
    cells=(Cell("N_i > N_o", {n_o: 1, extra: 1}, {n_i: n_o + extra}),),
    sampler=_dimensions,
    words="N_i > N_o",
)


@printed(
    "braun2022.orthogonal-complements",
    quote=r"For N_i>N_o, \tilde U_\perp\in R^{N_o\times(N_o-N_i)}",
    domain=more_inputs,
    severity="typo",
    hypotheses=(UNEQUAL,),
)
def printed_complements() -> Inequality:
    """As printed, Ũ_⊥ has N_o - N_i columns for N_i > N_o, which is negative; N_i < N_o is meant."""
    return Inequality(n_o - n_i, ">=")


@result(
    ledger=("braun2022.b-c-definition",),
    hypotheses=(WITHOUT_B,),
)
def overlaps() -> Conjunction:
    """B and C as defined are what the start has along the eigenvectors [Ṽ; ±Ũ] of F, and BBᵀ + CCᵀ + 2(…) = 4I.

    The dots stand for VᵀṼ_⊥Ṽ_⊥ᵀV + UᵀŨ_⊥Ũ_⊥ᵀU, which is zero for N_i = N_o. Choosing other signs of singular vectors
    multiplies B and C by signs from the left or the right.
    """
    of_U, of_V = U.T @ U_task, V.T @ V_task
    sum_, difference = of_U + of_V, of_U - of_V
    outside = V.T @ V_proj @ V + U.T @ U_proj @ U
    total = sum_ @ sum_.T + difference @ difference.T + 2 * outside
    return Conjunction(
        MatrixIdentity(sum_, B, SHAPES, BASIS, name="B"),
        MatrixIdentity(difference, C, SHAPES, BASIS, name="C"),
        MatrixIdentity(total, 4 * eye(m), SHAPES, INSIDE),
    )


INSIDE = Rules(
    Declaration(
        "orthonormal columns and projectors on their complements",
        (
            rule(V_task @ V_task.T, eye(i) - V_proj),
            rule(U_task @ U_task.T, eye(o) - U_proj),
            rule(V.T @ V, eye(m)),
            rule(U.T @ U, eye(m)),
        ),
        BASIS.declarations[0].letters,
        BASIS.declarations[0].sampler,
    )
)

start_left, start_right = matrix("U", m, m), matrix("V", m, m)
turn, fixed = matrix("R", m, m), vector("v", m)


def _reflection(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """An orthogonal matrix with the determinant -1, and an eigenvector with the eigenvalue -1, which it must have."""
    turned = cayley(generator, sizes[m])
    first = sp.diag(-1, *[1] * (sizes[m] - 1))
    rotated = turned if turned.det() > 0 else turned * first
    reflected = rotated * first * rotated.T
    return {turn.letter: reflected, fixed.letter: rotated[:, 0]}


REFLECTION = Rules(
    Declaration("Rv = -v", (rule(turn @ fixed, -fixed),), (turn.letter, fixed.letter), _reflection)
)
BASES = Rules(*(orthogonal(x) for x in (start_left, start_right, left, right)))

half = Domain((v_coordinate,), words="a rotation by less than half a turn, x the tangent of half its angle")


def _unit_vectors(rng: random.Random, dimension: int) -> Point:
    """Two unit vectors."""
    return {x: list(cayley(rng, dimension)[:, 0]) for x in (start, task)}


units = Domain(
    vectors=(start, task),
    cells=(Cell("unit vectors", {}, {norm2(start): sp.S.One, norm2(task): sp.S.One}),),
    sampler=_unit_vectors,
    words="N_o = 1, unit vectors",
)


@result(
    ledger=("braun2022.b-nonsingular",),
    uses=("prior_knowledge.overlaps",),
    hypotheses=(
        meaning(
            "examples: one output with unit vectors, and a reflection R, Rv = -v", start, task, "Rv = -v"
        ),
    ),
)
def invertible_overlap() -> Existence:
    """When B is invertible: for N_i = N_o if I + R is, with the orthogonal R = ŨᵀUVᵀṼ, which needs det R = 1.

    det(I + R) = det(R)det(I + Rᵀ) makes it zero for det R = -1, for half of all starts. In the plane it is
    1 - c² - s² = 0 for a reflection and 4/(1 + x²) for a rotation, x the tangent of half its angle. For one output
    2B = ‖v + ṽ‖², zero for opposite vectors only. The reversed task, Ũ = -U, has B = 0 whatever the shapes.
    """
    product = left.T @ start_left @ start_right.T @ right
    B_square = start_left.T @ left + start_right.T @ right
    C_square = start_left.T @ left - start_right.T @ right
    cos, sin = (1 - v_coordinate**2) / (1 + v_coordinate**2), 2 * v_coordinate / (1 + v_coordinate**2)
    return Existence(
        r"$B=U^\top\tilde U(I+R)$; for $N_i=N_o$ it is singular wherever $\det(W_2W_1(0))\det\tilde\Sigma^{yx}<0$",
        (
            MatrixIdentity(start_left.T @ left @ (eye(m) + product), B_square, SQUARE, BASES, name="B"),
            MatrixIdentity(start_left.T @ left @ (eye(m) - product), C_square, SQUARE, BASES, name="C"),
            MatrixIdentity(product @ (eye(m) + product.T), eye(m) + product, SQUARE, BASES, name="I+R"),
            MatrixIdentity((eye(m) + turn) @ fixed, zero(m, 1), SQUARE, REFLECTION),
            Identity((1 + cos) * (1 - cos) - sin**2, sp.S.Zero, on=half),
            Identity((1 + cos) ** 2 + sin**2, 4 / (1 + v_coordinate**2), on=half),
            Inequality(4 / (1 + v_coordinate**2), ">", on=half),
            Identity(2 * (1 + inner(start, task)), norm2(start + task), on=units),
            MatrixIdentity(-U.T @ U + V.T @ V, zero(m, m), SHAPES, INSIDE, name="B"),
        ),
    )


@result(
    ledger=("braun2022.assumption-full-rank",),
    uses=("wide_linear.model",),
    hypotheses=(
        meaning(
            "fewer hidden neurons than inputs and outputs: v is not seen, w not given", "W₁v = 0, wᵀW₂ = 0"
        ),
    ),
)
def full_rank() -> Existence:
    """Full rank of Σ^yx and of W₂(0)W₁(0), as used for all dimensions, is the rank min(N_i, N_o).

    It implies N_h ≥ min(N_i, N_o): with fewer hidden neurons there is an input v ≠ 0 with W₁v = 0, which the
    network does not see, and an output w with wᵀW₂ = 0, which it never gives. Such v and w are beyond the rank.
    """
    unseen, never = vector("v", i), vector("w", o)
    kernel = Rules(
        Declaration(
            "W₁v = 0, wᵀW₂ = 0",
            (rule(W1 @ unseen, zero(h, 1)), rule(never.T @ W2, zero(1, h))),
            (W1.letter, W2.letter, unseen.letter, never.letter),
            _bottleneck,
        )
    )
    narrow = ({i: 2, h: 1, o: 2}, {i: 3, h: 2, o: 4})
    return Existence(
        r"$\mathrm{rank}\,\tilde\Sigma^{yx}=\mathrm{rank}\,W_2(0)W_1(0)=\min(N_i,N_o)$, which implies "
        r"$N_h\ge\min(N_i,N_o)$",
        (
            MatrixIdentity(W2 @ W1 @ (eye(i) - unseen @ unseen.T), W2 @ W1, narrow, kernel),
            MatrixIdentity((eye(o) - never @ never.T) @ W2 @ W1, W2 @ W1, narrow, kernel),
        ),
    )


def _bottleneck(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Weights of fewer hidden neurons than inputs and outputs, an input that is not seen, an output not given."""
    inputs, hidden, outputs = (sizes[size] for size in (i, h, o))
    bases = cayley(generator, inputs), cayley(generator, outputs)

    def free(size: int) -> sp.Matrix:
        return sp.Matrix(hidden, size - 1, lambda *_: random_rational(generator))

    return {
        W1.letter: free(inputs) * bases[0][:, 1:].T,
        W2.letter: bases[1][:, 1:] * free(outputs).T,
        matrix("v", i, 1).letter: bases[0][:, 0],
        matrix("w", o, 1).letter: bases[1][:, 0],
    }


rank = sp.Symbol("r", real=True)


@printed(
    "braun2022.assumption-full-rank",
    quote="rank(\\tilde\\Sigma^{xy})=rank(W_2(0)W_1(0))=N_i=N_o",
    domain=replace(
        more_inputs, scalars=(n_i, n_o, rank), let={rank: n_o}, words="N_i > N_o, as in Theorem 3.1"
    ),
    severity="convention",
    hypotheses=(UNEQUAL, meaning("r is the rank, N_o at most", *defined(rank))),
)
def printed_full_rank() -> Identity:
    """As printed, and assumed by Theorem 3.1 for N_i > N_o too, the rank is N_i and N_o; but it is N_o at most."""
    return Identity((rank, rank), (n_i, n_o))
