r"""The semantic task: eight living things in a tree of three levels, with features for every node.

The features of a node of level k are shared by all things below it and have the squared length x_k². So two things that
part below level k have inner product g_k = x_0² + … + x_k², and the inner products depend on the place in the tree
alone. Matrices of this kind have the same eigenvectors: the mean, and for every node the contrast of its two branches.
The eigenvalues are

    σ_3² = x_3²,    σ_2² = x_3² + 2x_2²,    σ_1² = x_3² + 2x_2² + 4x_1²,    σ_0² = x_3² + 2x_2² + 4x_1² + 8x_0²,

so that σ_0 > σ_1 > σ_2 > σ_3. The similarity ṼS̃Ṽᵀ is the root, with σ_k in the place of σ_k², and falls with the
distance in the tree as g_k does (braun2022, Sec. 4, Fig. 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sympy as sp

from derivations.prior_knowledge.symbols import sigma0, sigma1, sigma2, sigma3, x0, x1, x2, x3
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Identity, Inequality

ITEMS = 8
values = (sigma0, sigma1, sigma2, sigma3)
strengths = (x0, x1, x2, x3)


def contrasts(level: int) -> list[sp.Matrix]:
    """The mean for level 0, else the contrasts of two branches below the nodes of the level above, of unit length."""
    if level == 0:
        return [sp.ones(ITEMS, 1) / sp.sqrt(ITEMS)]
    width = ITEMS // 2 ** (level - 1)
    found = []
    for first in range(0, ITEMS, width):
        signs = [0] * first + [1] * (width // 2) + [-1] * (width // 2) + [0] * (ITEMS - first - width)
        found.append(sp.Matrix(signs) / sp.sqrt(width))
    return found


def with_eigenvalues(numbers: Iterable[sp.Expr]) -> sp.Matrix:
    """The 8 × 8 matrix with these eigenvalues for the four levels."""
    return sum(
        (x * v * v.T for level, x in enumerate(numbers) for v in contrasts(level)), sp.zeros(ITEMS, ITEMS)
    )


def shared(k: int) -> sp.Expr:
    """Inner product of the features of two things that part below level k."""
    return sum(x**2 for x in strengths[: k + 1])


def similarity(k: int) -> sp.Expr:
    """Entry of ṼS̃Ṽᵀ for two things that part below level k."""
    return (sigma0 - sigma1) / 8 + sum(((sigma1 - sigma2) / 4, (sigma2 - sigma3) / 2, sigma3)[:k], sp.S.Zero)


def parting(first: int, second: int) -> int:
    """The last level that two things share."""
    return next(k for k in (3, 2, 1, 0) if first // 2 ** (3 - k) == second // 2 ** (3 - k))


def by_distance(entry: Callable[[int], sp.Expr]) -> tuple[sp.Expr, ...]:
    """The first row of the matrix whose entries depend on the last level that two things share."""
    return tuple(entry(parting(0, other)) for other in range(ITEMS))


def first_row(numbers: Iterable[sp.Expr]) -> tuple[sp.Expr, ...]:
    """Exchanging branches turns every row into the first and leaves such a matrix as it is."""
    return tuple(with_eigenvalues(numbers)[0, :])


squares = (x3**2 + 2 * x2**2 + 4 * x1**2 + 8 * x0**2, x3**2 + 2 * x2**2 + 4 * x1**2, x3**2 + 2 * x2**2, x3**2)
more = sp.symbols("d0 d1 d2", real=True)
ordered = Domain(
    values,
    cells=(
        Cell(
            "σ_0 > σ_1 > σ_2 > σ_3 > 0",
            {sigma3: 1, **dict.fromkeys(more, 1)},
            {sigma2: sigma3 + more[2], sigma1: sigma3 + more[2] + more[1], sigma0: sigma3 + sum(more)},
        ),
    ),
    words="σ_0 > σ_1 > σ_2 > σ_3 > 0",
)
positive = Domain(strengths, cells=(Cell("x_k > 0", dict.fromkeys(strengths, 1)),), words="x_k > 0")


@result(
    ledger=("braun2022.fig-3b-semantic-task",),
    uses=("prior_knowledge.task_similarity",),
    hypotheses=(
        stated("Fig. 3A", "a tree with features at each of its levels, of any strengths x_k > 0", *strengths),
        stated("Sec. 3, Eq. (10)", "ordered singular values, σ_0 > σ_1 > σ_2 > σ_3 > 0", *values, *more),
    ),
)
def tree_similarity() -> Conjunction:
    """In a tree of eight living things the similarity ṼS̃Ṽᵀ falls with the distance in the tree: fish, birds, plants.

    For all strengths of the features, which the paper does not state.
    """
    return Conjunction(
        Identity(first_row(squares), by_distance(shared), on=positive),
        Identity(first_row(values), by_distance(similarity), on=ordered),
        *(Inequality(squares[k] - squares[k + 1], ">", on=positive) for k in range(3)),
        *(Inequality(similarity(k + 1) - similarity(k), ">", on=ordered) for k in range(3)),
        Inequality(similarity(0), ">", on=ordered),
    )
