r"""Activation regions: what they are, how many patterns there are, and how many regions at most.

A region is where every pre-activation has a given sign. Where the signs of the earlier layers are fixed, a
pre-activation is an affine function of the input, so that a region is an intersection of open halfspaces: open and
convex. Two patterns differ in a sign, so that their regions do not meet.

Adding a hyperplane to an arrangement cuts as many of its regions as the others leave on the new one. So the largest
number S(h, d) of regions of h affine hyperplanes in dimension d obeys S(h + 1, d) = S(h, d) + S(h, d - 1): it is
Σ_{j≤d} C(h, j), and at most (h + 1)^d. Each region of one layer is cut by the h neurons of the next, which are affine
there: with L layers there are at most (h + 1)^{dL} ≤ (2h)^{dL} regions. Hyperplanes through the origin leave fewer,
2 Σ_{j<d} C(N - 1, j), which is 2^N, all sign patterns, exactly for N ≤ d (kunin2024, App. C.1).
"""

from __future__ import annotations

import sympy as sp

from derivations.piecewise_linear.evaluators.arrangement import activation_regions
from derivations.piecewise_linear.symbols import C, N, depth, dimension, j, n1, p, t, u, v, width
from symdyn.calculus.gram import inner
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Existence, Identity, Inequality

rest, log_u = sp.symbols("rest y", real=True)
between = Domain(
    (t,),
    (n1, p, v),
    (
        Cell(
            "both in the region, 0 < t < 1",
            {t: 1, rest: 1, inner(n1, p): 1, inner(n1, v): 1},
            where={t: 1 / (1 + rest)},
            reason="0 < t < 1",
        ),
    ),
    words="two points with the same sign of w_iᵀx",
    hypotheses=(
        meaning("p and v are two points of the region, t between 0 and 1 one between them", p, v, t),
    ),
)


@result(ledger=("kunin2024.pw-activation-region",), domain=between)
def activation_region() -> Existence:
    """The activation region of a sign pattern, where every pre-activation has its sign; it is open and convex.

    Between two points of a region every affine function that is positive at both is positive. For one hidden layer
    without biases, z_i = w_iᵀx.
    """
    middle = t * p + (1 - t) * v
    return Existence(
        r"$\mathcal R(\mathcal A)=\{x:a_iz_i(x)>0\text{ for all }i\}$ is an intersection of open halfspaces",
        (
            Identity(inner(n1, middle), t * inner(n1, p) + (1 - t) * inner(n1, v), name="z_i"),
            Inequality(inner(n1, middle), ">"),
        ),
    )


choices = Domain((N, j, C), (), (Cell("0 < j < N", {N: 1, j: 1, C: 1}),), conditions=(j < N,))


def cones(*rows: tuple[int, int]) -> sp.Integer:
    """The number of activation regions of a bias-free network with one hidden layer in the plane, counted exactly."""
    return sp.Integer(len(activation_regions(rows)))


@result(ledger=("kunin2024.pw-pattern-count",), domain=choices)
def pattern_count() -> Existence:
    """N hidden neurons have 2^N sign patterns, of which as a rule not all are attained.

    Without biases and with one hidden layer 2 Σ_{j<d} C(N - 1, j) are, for weights in general position: all of them for
    N ≤ d, and fewer for N > d. Counted in the plane for two, three and five neurons, and for three of which two are
    parallel.
    """
    four, six = cones((1, 0), (1, 2)), cones((1, 0), (1, 2), (-1, 1))
    ten = cones((1, 0), (1, 2), (-1, 1), (3, 1), (2, -5))
    return Existence(
        r"of the $2^N$ patterns $2\sum_{j<d}\binom{N-1}{j}$ are attained in general position",
        (
            Identity(C * (N - j) / N + C * j / N, C, name=r"\tbinom{N-1}{j} + \tbinom{N-1}{j-1}"),
            Identity(four, sp.Integer(2) ** 2),
            Identity(six, sp.Integer(2 * 3)),
            Inequality(six, "<", sp.Integer(2) ** 3),
            Identity(ten, sp.Integer(2 * 5)),
            Identity(cones((1, 0), (1, 2), (-2, 0)), sp.Integer(2 * 2)),
        ),
    )


def largest_number(h: sp.Expr, d: int) -> sp.Expr:
    """Σ_{j≤d} C(h, j) as a polynomial in h."""
    return sp.Add(*(sp.expand_func(sp.ff(h, i)) / sp.factorial(i) for i in range(d + 1)))


wide = Domain(
    (width, dimension, depth, u),
    (),
    (
        Cell(
            "h ≥ 1",
            {dimension: 1, depth: 1, rest: 1},
            where={u: sp.exp(log_u), width: 1 + rest},
            reason="u > 0 is an exponential",
        ),
    ),
)


@result(ledger=("kunin2024.pw-region-count",), domain=wide)
def region_count() -> Existence:
    """A network with L hidden layers of width h has at most (h + 1)^{dL} = O(h^{dL}) activation regions.

    The first facts are the recursion of S(h, d) = Σ_{j≤d} C(h, j) for d = 1, 2, 3. The next two are the induction for
    S ≤ (h + 1)^d: with u = h + 1, u^d + u^{d-1} = u^{d-1}(u + 1) is at most (u + 1)^d, because powers increase with
    their base. For the same reason (h + 1)^{dL} ≤ (2h)^{dL}.
    """
    h = width
    cut = [
        Identity(
            sp.expand(largest_number(h + 1, i)),
            sp.expand(largest_number(h, i) + largest_number(h, i - 1)),
            name=f"S(h+1,{i})",
        )
        for i in (1, 2, 3)
    ]
    return Existence(
        r"at most $S(h,d)^L\le(h+1)^{dL}$ regions, with $S(h,d)=\sum_{j\le d}\binom hj$",
        (
            *cut,
            Identity((u + 1) * u ** (dimension - 1), u**dimension + u ** (dimension - 1)),
            Inequality(sp.diff(u**dimension, u), ">"),
            Inequality(2 * h, ">=", h + 1),
        ),
        formula=r"S(h, d)^L \le (h+1)^{dL} = O(h^{dL})",
    )
