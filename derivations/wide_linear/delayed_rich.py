r"""Where the large layer cannot solve the task as it starts, the kernel turns later, after a time of order |δ|.

Take δ_k → -∞ as in Theorem 6, W = √D V, A = B/√D. First B fits what it can while V is at rest, in a time of order
1/D. What remains has VG = 0 but G ≠ 0, and turns V at the speed (η_w/D)‖BGᵀ‖: it takes a time of order D until V
has changed. In the end G = 0 and β_* = V_∞ᵀB_∞ has its columns in the span of the rows of V_∞, where they were not
at first. So V has turned; is the kernel another one? By balance η_a VVᵀ = η_a V(0)V(0)ᵀ + O(1/D²) keeps the sizes
of V. If V(0)V(0)ᵀ is not singular, the columns of Vᵀ are those of VᵀV, and so the kernel is not a multiple of what
it was.

If it is singular, some combination y of the neurons has V(0)ᵀy = 0. It starts in balance and at a size of order
1/√D, and it can fit what remains in a time of order log D, at a size of order 1 beside √D: the kernel distance then
tends to zero. This happens whenever the w_k(0) are dependent and y is enough for what remains; for h ≥ d it is the
only way in which they do not span all inputs (kunin2024, Sec. 4 and App. B.1.5; the paper states the regime without
this condition, and in Sec. 4 for all β_k(0) not proportional to β_*).
"""

from __future__ import annotations

import sympy as sp

from derivations.wide_linear.lazy_theorem import LARGE, mirrored, rescaled, rescaled_flow
from derivations.wide_linear.network import balance
from derivations.wide_linear.symbols import (
    B,
    D,
    V,
    beyond,
    c,
    d,
    eta_a,
    eta_w,
    g1,
    g2,
    h,
    into,
    m1,
    m2,
    n,
    out,
    x,
    x1,
    x2,
)
from symdyn.calculus.gram import norm2
from symdyn.calculus.matrix import Rules, inverse_of, substitute
from symdyn.domain import Cell, Domain
from symdyn.matrix_statement import MatrixIdentity
from symdyn.result import printed, result
from symdyn.statement import Existence, Identity, Inequality

SHAPES = ({h: 2, d: 3, c: 2, n: 4}, {h: 1, d: 2, c: 3, n: 2})
FEW = ({h: 2, d: 3, c: 2}, {h: 1, d: 2, c: 1})


def sizes_are_kept():
    """The balance in the rescaled layers, for both signs: up to O(1/D²) it is that of the large layer."""
    down, up = (substitute(balance, rescaling) / D for rescaling in (rescaled, mirrored))
    return (
        MatrixIdentity(down, eta_w / D**2 * B @ B.T - eta_a * V @ V.T, SHAPES, LARGE, name=r"\Delta/D"),
        MatrixIdentity(up, eta_w * B @ B.T - eta_a / D**2 * V @ V.T, SHAPES, LARGE, name=r"\Delta/D"),
    )


def kernel_knows_the_span():
    """Vᵀ = (VᵀV) Vᵀ(VVᵀ)⁻¹: the columns of Vᵀ are those of VᵀV."""
    inverse, rules = inverse_of("R", V @ V.T, r"(VV^\top)^{-1}")
    return (MatrixIdentity(V.T @ V @ V.T @ inverse, V.T, FEW, Rules(rules), name=r"V^\top"),)


independent = Domain(
    (g1, g2, m1, m2),
    cells=(
        Cell("both turn", {g1: 1, g2: 1, m1: 1, m2: 1}),
        Cell("the first turns", {g1: 1, g2: 1, m1: 1}, {m2: sp.S.Zero}),
        Cell("the second turns", {g1: 1, g2: 1, m2: 1}, {m1: sp.S.Zero}),
    ),
    conditions=(m1 <= 1, m2 <= 1),
    words="the rows of the large layer are independent, and do not solve the task",
)
any_rows = Domain(
    (g1, g2, m1, m2),
    cells=(
        *independent.cells,
        Cell(
            "the second row is missing",
            {g1: 1, m2: 1},
            {g2: sp.S.Zero, m1: sp.S.Zero},
            "neurons with dependent rows, which solve one half of the task",
        ),
    ),
    conditions=independent.conditions,
    words="the rows of the large layer do not solve the task",
)


def kernel_distance():
    """The limit of the kernel distance for two combinations of neurons that fit separate halves of the task.

    Each half is a network with one neuron and one input, whose kernel tends to g² times the projector on its row;
    the row turns by an angle with the squared sine m.
    """
    kept = g1**4 * (1 - m1) + g2**4 * (1 - m2)
    return 1 - kept / (g1**4 + g2**4)


@result(
    ledger=("kunin2024.thm6-delayed-rich", "kunin2024.wide-delayed-rich-opposite"),
    domain=independent,
    uses=("wide_linear.lazy_regime", "wide_linear.conserved_balance", "wide_linear.one_neuron_limits"),
)
def delayed_rich_regime():
    """If no solution is in the span of the rows that are large, and these are independent, the network is delayed rich.

    Lazy for a time of order |δ_k|; then the kernel turns. The example has two separate halves of the task.
    """
    moved = (g1**4 * m1 + g2**4 * m2) / (g1**4 + g2**4)
    return Existence(
        r"no solution in $\mathrm{span}\{a_k(0)\}$ for $\delta_k\to\infty$, or $\mathrm{span}\{w_k(0)\}$ for "
        r"$\delta_k\to-\infty$, these vectors being independent: lazy, and after a time of order $|\delta_k|$ rich",
        (
            *rescaled_flow(),
            *sizes_are_kept(),
            *kernel_knows_the_span(),
            Identity(kernel_distance(), moved, name="S"),
            Inequality(kernel_distance(), ">"),
        ),
    )


@printed(
    "kunin2024.thm6-delayed-rich",
    quote=r"If no least-squares solution has its rows in the span of the rows of $\{\beta_k\}$",
    domain=any_rows,
    hypothesis="the rows a_k(0) (for δ_k → -∞ the w_k(0)) are linearly independent and the δ_k of one order: dependent "
    "neurons fit the rest from a size of order 1, in a time of order log|δ_k|, and the kernel distance tends to 0",
    under=independent,
)
def printed_delayed_rich_regime():
    """As printed, the kernel turns whenever no solution is in the span: for the two halves, by more than zero."""
    return Inequality(kernel_distance(), ">")


def _orthogonal(generator, dimension):
    """Two vectors in space and one orthogonal to both."""
    first, second = (sp.Matrix([generator.randint(1, 5), generator.randint(-5, 5), e]) for e in (1, 2))
    return {into: list(first), out: list(second), x: list(first.cross(second))}


def _coordinates(values):
    return Domain(
        (x1, x2, beyond),
        (into, out, x),
        (Cell("β_* not proportional to any w_k", {x1: 1, x2: 1, norm2(x): 1, **values}),),
        dimensions=(3,),
        sampler=_orthogonal,
        words="h = 2 < d, c = 1, β_* = x_1 w_1 + x_2 w_2 + z v with v orthogonal to both w_k",
    )


in_the_span = Cell("β_* in the span of the w_k", {x1: 1, x2: 1, norm2(x): 1}, {beyond: sp.S.Zero})
outside = _coordinates({beyond: 1})


@printed(
    "kunin2024.wide-delayed-rich-opposite",
    quote=r"assuming all $\beta_k(0)\not\propto\beta_*$",
    domain=outside.with_cells(*outside.cells, in_the_span),
    hypothesis="no least-squares solution has its columns (for d < c its rows) in the span of those of the β_k(0): for "
    "h ≥ 2 neurons, or data of rank below d, there may be one although no β_k(0) is proportional to it",
    under=outside,
)
def printed_delayed_rich_opposite():
    """As printed, no solution is in the span if no β_k is proportional to β_*: the distance z‖v‖ is not zero."""
    return Inequality(norm2(beyond * x), ">")
