"""The kernel distance S = 1 - ⟨K, K'⟩/(‖K‖‖K'‖) lies between 0 and 1.

It is half the squared distance of the two normalised kernels, so it is not negative, does not see the scale of either,
and is of second order in a relative change of the kernel: that is why it vanishes in the lazy regime. A kernel matrix
is a sum K = Σ_p g_p g_pᵀ over the parameters, and ⟨g gᵀ, h hᵀ⟩ = (gᵀh)² is not negative; so ⟨K, K'⟩ ≥ 0, and S ≤ 1
(kunin2024, Sec. 1). Kernels are vectors of their entries here, with the Frobenius inner product tr KᵀK'.
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.symbols import c, column1, column2, kernel1, kernel2
from symdyn.calculus.gram import GramOperator, Linear, inner, norm, norm2, outer
from symdyn.calculus.matrix import matrix, trace, vec
from symdyn.catalogue.result import result
from symdyn.compile.named import cosine_distance
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Asymptotic, Conjunction, Definition, Existence, Identity, Inequality
from symdyn.statements.matrix import MatrixIdentity

kernels = Domain(
    (),
    (kernel1, kernel2),
    (Cell("K ≠ 0", {norm2(kernel1): 1, norm2(kernel2): 1}),),
    words="K ≠ 0",
    hypotheses=(stated("Sec. 1, S divides by the norms", "K ≠ 0 at both times", kernel1, kernel2),),
)
scaled = Domain(
    (c,),
    kernels.vectors,
    (Cell("c > 0", {c: 1, **kernels.cells[0].signs}),),
    words="K ≠ 0, c > 0",
    hypotheses=(*kernels.hypotheses, meaning("c > 0 is the scale of a kernel, or the size of its change", c)),
)
columns = Domain(
    (),
    (column1, column2),
    (Cell("g, h ≠ 0", {norm2(column1): 1, norm2(column2): 1}),),
    hypotheses=(meaning("g and h are features, of which those that vanish add nothing", column1, column2),),
)


def distance(one: Linear, other: Linear) -> sp.Expr:
    """S of two kernels that are vectors."""
    return 1 - inner(one, other) / (norm(one) * norm(other))


def frobenius(one: GramOperator, other: GramOperator) -> sp.Expr:
    """⟨A, B⟩ = tr AᵀB of two Gram operators of finite rank."""
    return (one.T @ other).trace(sp.Integer(1))


half_square = norm2(kernel1 / norm(kernel1) - kernel2 / norm(kernel2)) / 2
HALF_SQUARE = r"\tfrac12\left\|K_{t_1}/\|K_{t_1}\|_F - K_{t_2}/\|K_{t_2}\|_F\right\|_F^2"
size = sp.Symbol("n", integer=True, positive=True)


@result(
    ledger=("kunin2024.kernel-distance",),
    domain=kernels,
    arguments=("kernel1", "kernel2"),
    requires=(
        ("a matrix that is not zero", norm2(kernel1) > 0, "kernel1"),
        ("a matrix that is not zero", norm2(kernel2) > 0, "kernel2"),
    ),
)
def kernel_distance() -> Conjunction:
    """The kernel distance: one minus the cosine of the kernel matrices as vectors of their entries."""
    one, other = matrix("K", size, size, "K_{t_1}"), matrix("L", size, size, "K_{t_2}")
    return Conjunction(
        Definition("S(t_1,t_2)", distance(kernel1, kernel2)),
        MatrixIdentity(
            (vec(one).T @ vec(other)).scalar(),
            trace(one.T @ other),
            ({size: 1}, {size: 2}, {size: 3}),
            name=r"\langle K_{t_1}, K_{t_2}\rangle_F",
        ),
        Identity(distance(kernel1, kernel2), half_square, name=rf"S = {HALF_SQUARE}"),
        compiles=cosine_distance(norm2(kernel1), inner(kernel1, kernel2), norm2(kernel2)),
    )


@result(ledger=("kunin2024.kernel-distance",), domain=scaled)
def kernel_distance_is_scale_free() -> Identity:
    """The kernel distance does not see the scale of a kernel."""
    return Identity(distance(c * kernel1, kernel2), distance(kernel1, kernel2), name="S")


@result(ledger=("kunin2024.kernel-distance-range",), domain=kernels)
def kernel_distance_range() -> Existence:
    """The kernel distance is between 0 and 1, and of second order in the relative change of the kernel."""
    g, h = outer(column1, column1), outer(column2, column2)
    return Existence(
        r"$0\le S\le1$; S = 0 for kernels that differ in scale alone, S = 1 for kernels of orthogonal features",
        (
            Identity(
                distance(kernel1, kernel2),
                half_square,
                name=f"S = {HALF_SQUARE}",
            ),
            Identity(
                (frobenius(g, h), frobenius(g, g)),
                (inner(column1, column2) ** 2, norm2(column1) ** 2),
                name=r"\langle gg^\top,hh^\top\rangle,\quad\|gg^\top\|^2",
                on=columns,
            ),
            Inequality(frobenius(g, h), ">=", on=columns),
            Asymptotic(
                distance(kernel1, kernel1 + c * kernel2), sp.Integer(0), c, sp.Integer(0), c**2, on=scaled
            ),
        ),
    )
