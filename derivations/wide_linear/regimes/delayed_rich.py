r"""Where the large layer cannot solve the task as it starts, the kernel turns later, after a time of order |δ|.

Take δ_k → -∞ as in Theorem 6, W = √D V, A = B/√D. First B fits what it can while V is at rest, in a time of order
1/D. What remains has VG = 0 but G ≠ 0, and turns V at the speed (η_w/D)‖BGᵀ‖: it takes a time of order D until V
has changed. If G = 0 in the end, β_* = V_∞ᵀB_∞ has its columns in the span of the rows of V_∞, where they were not
at first. So V has turned; is the kernel another one? By balance η_a VVᵀ = η_a V(0)V(0)ᵀ + O(1/D²) keeps the sizes
of V. If V(0)V(0)ᵀ is not singular, the columns of Vᵀ are those of VᵀV, and so the kernel is not a multiple of what
it was. For data of rank below d all this holds for VP, P the projector on the rows of X: what V has beyond never
moves, and V(0)PV(0)ᵀ must not be singular, i.e. the Xw_k(0) be independent and not only the w_k(0).

If it is singular, some combination y of the neurons has V(0)ᵀy = 0, or XV(0)ᵀy = 0. It starts in balance, as the data
show it, and at a size of order 1/√D, and it can fit what remains in a time of order log D, at a size of order 1 beside
√D: the kernel distance then tends to zero. This happens whenever the Xw_k(0) are dependent and y is enough for what
remains; for h ≥ d it is the only way in which they do not span all inputs.

And the end may be a saddle, where G ≠ 0. Where singular vectors u and v of β_* have Wu = 0 and Av = 0, both stay so,
and this mode is never learned: for a_1 = √D(1, 0, 0), a_2 = √D(0.3, 1, 0), w_1 = (1, 0)/√D, w_2 = (-0.7, 0)/√D and
β_* = ((1, 2, 0), (0, 0, 1.5)) the kernel stays as it is, and 1.5 of the task is left; for another mode it may turn
all the same. And where V(0)β_* = 0 on whitened data, B goes to zero at first and comes back from a size of order 1/D²,
which takes a time of order D log D. Such starts are exceptions: from almost all the flow ends in a global minimum
(kunin2024, Sec. 4 and App. B.1.5; the paper states the regime without these conditions, and in Sec. 4 for all β_k(0)
not proportional to β_*).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import balance, flow, squared_flow
from derivations.wide_linear.network.model import beta as function
from derivations.wide_linear.regimes.lazy_theorem import LARGE, mirrored, rescaled, rescaled_flow
from derivations.wide_linear.symbols import (
    A,
    B,
    D,
    G,
    V,
    W,
    X,
    beta_star,
    beyond,
    c,
    d,
    eta_a,
    eta_w,
    g1,
    g2,
    goal,
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
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    cayley,
    inverse_of,
    matrix,
    orthonormal_columns,
    random_matrix,
    random_rational,
    rule,
    substitute,
    unit,
    vector,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, meaning, stated
from symdyn.statements.kinds import Existence, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity

SHAPES = ({h: 2, d: 3, c: 2, n: 4}, {h: 1, d: 2, c: 3, n: 2})
FEW = ({h: 2, d: 3, c: 2}, {h: 1, d: 2, c: 1})


def sizes_are_kept() -> tuple[MatrixIdentity, ...]:
    """The balance in the rescaled layers, for both signs: up to O(1/D²) it is that of the large layer."""
    down, up = (substitute(balance, rescaling) / D for rescaling in (rescaled, mirrored))
    return (
        MatrixIdentity(down, eta_w / D**2 * B @ B.T - eta_a * V @ V.T, SHAPES, LARGE, name=r"\Delta/D"),
        MatrixIdentity(up, eta_w * B @ B.T - eta_a / D**2 * V @ V.T, SHAPES, LARGE, name=r"\Delta/D"),
    )


def kernel_knows_the_span() -> tuple[MatrixIdentity, ...]:
    """Vᵀ = (VᵀV) Vᵀ(VVᵀ)⁻¹: the columns of Vᵀ are those of VᵀV."""
    inverse, rules = inverse_of("R", V @ V.T, r"(VV^\top)^{-1}")
    return (MatrixIdentity(V.T @ V @ V.T @ inverse, V.T, FEW, Rules(rules), name=r"V^\top"),)


def _draw_seen(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Data of a rank below d, and the projector on their rows."""
    inputs = sizes[d]
    basis = orthonormal_columns(generator, inputs, (inputs + 1) // 2)
    return {
        X.letter: random_matrix(generator, X.letter, sizes) * basis * basis.T,
        on_data.letter: basis * basis.T,
    }


on_data = matrix("P", d, d, symmetric=True)
SEEN = Rules(
    Declaration(
        "P projects on the rows of X", (rule(X @ on_data, X),), (X.letter, on_data.letter), _draw_seen
    )
)


def only_what_data_show() -> tuple[MatrixIdentity, ...]:
    """V moves within the rows of X only, so that V P Vᵀ keeps its size as V Vᵀ does."""
    velocity = squared_flow[W]
    return (MatrixIdentity(velocity @ on_data, velocity, SHAPES, SEEN, name=r"\dot WP"),)


INDEPENDENT = (
    "the rows a_k(0) (for δ_k → -∞ the Xw_k(0)) are linearly independent, the δ_k of one order, and the "
    "flow reaches a global minimum (it does from almost every start): dependent neurons fit the rest from a size of "
    "order 1, in a time of order log|δ_k|, and the kernel distance tends to 0, as it may where the flow ends at a "
    "saddle"
)
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
stays = Cell(
    "both stay",
    {g1: 1, g2: 1},
    {m1: sp.S.Zero, m2: sp.S.Zero},
    "the flow ends at a saddle, and leaves what the rows do not solve",
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
        stays,
    ),
    conditions=independent.conditions,
    words="the rows of the large layer do not solve the task",
)


def _draw_unseen(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Weights, a task with two of its singular vectors, and nothing of these in the weights."""
    inputs, outputs, hidden = (sizes[size] for size in (d, c, h))
    left, right = cayley(generator, inputs), cayley(generator, outputs)
    value = abs(random_rational(generator))

    def free(rows: int, cols: int) -> sp.Matrix:
        return sp.Matrix(rows, cols, lambda *_: random_rational(generator))

    return {
        A.letter: free(hidden, outputs - 1) * right[:, 1:].T,
        W.letter: free(hidden, inputs - 1) * left[:, 1:].T,
        beta_star.letter: value * left[:, 0] * right[:, 0].T
        + left[:, 1:] * free(inputs - 1, outputs - 1) * right[:, 1:].T,
        u.letter: left[:, 0],
        v.letter: right[:, 0],
        goal: value,
    }


u, v = vector("u", d), vector("v", c)
UNSEEN = Rules(
    Declaration(
        "a mode of the task that no neuron sees",
        (
            rule(A @ v, zero(h, 1)),
            rule(W @ u, zero(h, 1)),
            rule(beta_star @ v, goal * u),
            rule(beta_star.T @ u, goal * v),
            *unit(u).rules,
            *unit(v).rules,
        ),
        (A.letter, W.letter, beta_star.letter, u.letter, v.letter),
        _draw_unseen,
    )
)
MODES = ({h: 2, d: 2, c: 3}, {h: 3, d: 3, c: 2})


def never_learned() -> tuple[MatrixIdentity, ...]:
    """Where Av = 0 and Wu = 0 for singular vectors of β_*, both stay so on whitened data, and uᵀGv is -s for ever."""
    gap = function - beta_star
    readout, input_ = (substitute(flow[x], {G: gap}) for x in (A, W))
    return (
        MatrixIdentity(readout @ v, zero(h, 1), MODES, UNSEEN, name=r"\dot Av"),
        MatrixIdentity(input_ @ u, zero(h, 1), MODES, UNSEEN, name=r"\dot Wu"),
        MatrixIdentity((u.T @ gap @ v).scalar(), -goal, MODES, UNSEEN, name=r"u^\top Gv"),
    )


def kernel_distance() -> sp.Expr:
    """The limit of the kernel distance for two combinations of neurons that fit separate halves of the task.

    Each half is a network with one neuron and one input, whose kernel tends to g² times the projector on its row;
    the row turns by an angle with the squared sine m. m > 0 for a row that does not solve its half, if the flow ends in
    a global minimum.
    """
    kept = g1**4 * (1 - m1) + g2**4 * (1 - m2)
    return 1 - kept / (g1**4 + g2**4)


@result(
    ledger=("kunin2024.thm6-delayed-rich", "kunin2024.wide-delayed-rich-opposite"),
    domain=independent,
    uses=("wide_linear.lazy_regime", "wide_linear.conserved_balance", "wide_linear.one_neuron_limits"),
    hypotheses=(
        stated(
            "App. B.1.5", "no least-squares solution in the span: a row turns by m_i, 0 ≤ m_i ≤ 1", m1, m2
        ),
        added(INDEPENDENT, g1, g2, "R is an inverse"),
        meaning("the example of a mode that is never learned", "a mode of the task that no neuron sees"),
    ),
)
def delayed_rich_regime() -> Existence:
    """If independent large rows do not span a solution, but the flow finds one, the network is delayed rich.

    Lazy for a time of order |δ_k|, or |δ_k| log|δ_k| where the rows solve nothing at all; then the kernel turns. The
    example has two separate halves of the task. From exceptional starts the flow ends at a saddle: a mode of the task
    that no neuron sees is never learned.
    """
    moved = (g1**4 * m1 + g2**4 * m2) / (g1**4 + g2**4)
    return Existence(
        r"no solution in $\mathrm{span}\{a_k(0)\}$ for $\delta_k\to\infty$, or $\mathrm{span}\{w_k(0)\}$ for "
        r"$\delta_k\to-\infty$, these vectors (the $Xw_k(0)$) being independent, the $\delta_k$ of "
        r"one order, and the flow reaching a global minimum: lazy, and "
        r"after a time of order $|\delta_k|$, up to a logarithm, rich",
        (
            *rescaled_flow(),
            *sizes_are_kept(),
            *kernel_knows_the_span(),
            *only_what_data_show(),
            *never_learned(),
            Identity(kernel_distance(), moved, name="S"),
            Inequality(kernel_distance(), ">"),
        ),
    )


@printed(
    "kunin2024.thm6-delayed-rich",
    quote=r"If no least-squares solution has its rows in the span of the rows of $\{\beta_k\}$",
    domain=any_rows,
    hypothesis=INDEPENDENT,
    under=independent,
    hypotheses=(
        stated(
            "App. B.1.5", "no least-squares solution in the span: a row turns by m_i, 0 ≤ m_i ≤ 1", m1, m2
        ),
        meaning("two halves of a task with the strengths g_1 > 0 and g_2 ≥ 0 of the rows", g1, g2),
    ),
)
def printed_delayed_rich_regime() -> Inequality:
    """As printed, the kernel turns whenever no solution is in the span: for the two halves, by more than zero."""
    return Inequality(kernel_distance(), ">")


def _orthogonal(generator: random.Random, dimension: int) -> Point:
    """Two vectors in space and one orthogonal to both."""
    first, second = (sp.Matrix([generator.randint(1, 5), generator.randint(-5, 5), e]) for e in (1, 2))
    return {into: list(first), out: list(second), x: list(first.cross(second))}


def _coordinates(values: Mapping[Any, Any]) -> Domain:
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
    "h ≥ 2 neurons, or data of rank below d, there may be one although no β_k(0) is proportional to it; and "
    "the Xw_k(0) (for d < c the a_k(0)) are linearly independent, the δ_k of one order, and the flow reaches a global "
    "minimum: a neuron with much the smaller balance turns alone, and the kernel distance tends to 0",
    under=outside,
    hypotheses=(
        stated("Sec. 4", "no β_k(0) is proportional to β_*: x_1, x_2 > 0", x1, x2),
        meaning("an example, h = 2 and d = 3, with a vector across both w_k", beyond, x, "d"),
    ),
)
def printed_delayed_rich_opposite() -> Inequality:
    """As printed, no solution is in the span if no β_k is proportional to β_*: the distance z‖v‖ is not zero."""
    return Inequality(norm2(beyond * x), ">")
