r"""Revising a tree: a learned task whose items change places.

Let Π permute the items, Π² = I, as it does where two sibling nodes are swapped on any level, with all that hangs on
them. The revised task is ΣΠ: it has U = Ũ, and V = ΠṼ for its own Ṽ, so that B = I + ṼᵀΠṼ. On the eigenvectors x of
Π with the eigenvalue -1, such as the difference of the two swapped items, B Ṽᵀx = Ṽᵀ(x + Πx) = 0: the exact flow
never learns the revision of a task of full rank.

A swap of siblings maps the tree on itself: Π commutes with ΣᵀΣ. Then Σ = ΣP₊ + ΣP₋, with P± = (I ± Π)/2, splits the
modes of the task, and ΣΠ = ΣP₊ - ΣP₋ reverses those of the second part and no others. It is reversal learning of these
modes. A permutation that is no swap need not have the eigenvalue -1: those with a cycle of even length have it, and
a cycle of three items has not (braun2022, Sec. 6).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.prior_knowledge.symbols import h, i, o, tau
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    commuting,
    eye,
    matrix,
    orthogonal,
    positive,
    random_rational,
    rule,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Existence
from symdyn.statements.matrix import MatrixConservation, MatrixIdentity

SHAPES = ({i: 2, o: 3, h: 2}, {i: 3, o: 3, h: 4}, {i: 4, o: 4, h: 3})

Pi = matrix("Pi", i, i, r"\Pi", symmetric=True)
C = matrix("C", i, i, r"\Sigma^\top\Sigma", symmetric=True)
V, Sigma = matrix("Vt", i, i, r"\tilde V"), matrix("Sigma", o, i, r"\Sigma")
S, E, Y = (
    matrix("St", i, i, r"\tilde S", symmetric=True),
    matrix("E", i, i, symmetric=True),
    matrix("Y", i, h),
)
one = eye(i)


def _swapped(generator: random.Random, sizes: Sizes) -> sp.Matrix:
    """A swap of two items, or of two pairs of them."""
    size = sizes[i]
    places = list(range(size))
    pairs = 1 if size < 4 else generator.choice((1, 2))
    chosen = generator.sample(places, 2 * pairs)
    for first, second in zip(chosen[::2], chosen[1::2], strict=True):
        places[first], places[second] = second, first
    return sp.Matrix(size, size, lambda row, column: int(places[row] == column))


def _automorphism(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A swap and a symmetric matrix that it maps on itself."""
    swap = _swapped(generator, sizes)
    root = sp.Matrix(sizes[i], sizes[i], lambda row, column: random_rational(generator))
    square = root.T * root
    return {Pi.letter: swap, C.letter: square + swap * square * swap}


involution = rule(Pi @ Pi, one)
swap = Declaration("Π² = I", (involution,), (Pi.letter,), lambda g, sizes: {Pi.letter: _swapped(g, sizes)})
automorphism = Declaration(
    "Π² = I, and Π commutes with ΣᵀΣ",
    (involution, rule(C @ Pi, Pi @ C)),
    (Pi.letter, C.letter),
    _automorphism,
)


@result(
    ledger=("braun2022.revision-swap-is-reversal",),
    uses=("prior_knowledge.singular_overlap", "prior_knowledge.reversal_fails"),
    hypotheses=(
        stated(
            "Sec. 6",
            "two neighbouring nodes of the tree are swapped, twice is not at all, and the tree stays as it is",
            "Π² = I",
            "Π² = I, and Π commutes with ΣᵀΣ",
        ),
    ),
)
def swap_is_reversal() -> Existence:
    """Swapping siblings reverses the modes that change their sign, and no others: B is singular, and stays so.

    The rows of Y are the start in the growing modes, τẎ = S̃Y; e^{-S̃t/τ}Y keeps its kernel for ever, while at the
    optimum Y has none.
    """
    stay, change = (one + Pi) / 2, (one - Pi) / 2
    overlap = one + V.T @ Pi @ V
    frame = Rules(orthogonal(V), swap)
    return Existence(
        r"$\Sigma\Pi=\Sigma P_+-\Sigma P_-$ reverses the modes with $\Pi v=-v$, and $B\tilde V^\top(x-\Pi x)=0$",
        (
            MatrixIdentity((Pi @ V).T @ V + one, overlap, SHAPES, frame, name="B"),
            MatrixIdentity(overlap @ V.T @ (one - Pi), zero(i, i), SHAPES, frame),
            MatrixIdentity(Sigma @ Pi, Sigma @ stay - Sigma @ change, SHAPES, Rules(swap)),
            MatrixIdentity(Pi @ change, -change, SHAPES, Rules(swap)),
            MatrixIdentity(stay @ change, zero(i, i), SHAPES, Rules(swap)),
            MatrixIdentity(stay @ C @ change, zero(i, i), SHAPES, Rules(automorphism)),
            MatrixConservation(
                E @ Y, {E: -E @ S / tau, Y: S @ Y / tau}, SHAPES, Rules(commuting(E, S), positive(tau))
            ),
        ),
    )


Pt = matrix("Pt", i, i, r"\Pi")


@result(ledger=(), uses=("prior_knowledge.swap_is_reversal",))
def relabelings_like_reversal() -> MatrixIdentity:
    """A permutation of the items of a learned task of full rank makes B singular if and only if -1 is its eigenvalue.

    B is I + Π up to a change of basis. The eigenvalues of a cycle of length L are the L-th roots of one, so that
    these are the permutations with a cycle of even length.
    """
    overlap = (Pt @ V).T @ V + one
    return MatrixIdentity(overlap, V.T @ (one + Pt).T @ V, SHAPES, Rules(orthogonal(V)), name="B")
