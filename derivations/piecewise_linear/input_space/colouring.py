r"""Two colours for the regions, and when the parity of the number of active neurons gives them.

The parity of the number of active neurons is the sign of the product of all pre-activations, up to a sign that is the
same everywhere. Across a piece of boundary it changes if an odd number of them change their sign there, and only then.
For one hidden layer these are the neurons whose hyperplane it is: parity is a colouring if and only if every hyperplane
carries an odd number of neurons. Two neurons with parallel weights, w and -w for instance, both influence f and yet
change together. So that no neuron is redundant, which is all that the paper asks for, does not part their boundaries.

Two colours exist for one hidden layer in any case: take one neuron for each hyperplane. In general, going round a
corner, where pieces of boundaries meet, colours alternate. So an even number of regions has to meet at every corner,
and in input space, which has no holes, this is also enough. A neuron of a deeper layer passes a corner on two pieces of
its own boundary. Where one of these coincides with the boundary of another neuron, the number of regions is odd, and
there are no two colours (kunin2024, App. C.1, Proposition 17).

That happens to a ReLU network without biases, with two inputs and two hidden layers,

    z_1 = x_2,   z_2 = x_1 + x_2,   z_3 = x_1 - x_2,   z_4 = -x_1,
    z_5 = σ(z_1) + σ(z_2) - λσ(z_3) + σ(z_4),   f = σ(z_5),

at λ = 1: along the ray (1, 0) both z_1 and z_5 change their sign. It has nine cones.

A neuron of a deeper layer may also vanish on a cone, which then is part of no region. Regions that it separates are no
neighbours, and a corner at which it lies demands nothing: cones one after the other, but not all around, have two
colours, be their number even or odd.
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.piecewise_linear.evaluators.arrangement import Regions, activation_regions
from derivations.piecewise_linear.symbols import k, kappa_weight, n1, n2, p, scale
from symdyn.calculus.gram import inner, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning
from symdyn.statements.kinds import Existence, Identity, Limit

FIRST_LAYER = [[0, 1], [1, 1], [1, -1], [-1, 0]]


def across(product: Any) -> sp.Expr:
    """The ratio of a product of pre-activations on the two sides of a boundary, at p + ε w_1 and p - ε w_1."""
    return product(p + scale * n1) / product(p - scale * n1)


def together(x: Any) -> sp.Expr:
    """The product of two pre-activations."""
    return inner(n1, x) * inner(n2, x)


def on_the_boundary(rng: random.Random, dimension: int) -> dict[Any, Any]:
    """w_1, a point p with w_1ᵀp = 0, and w_2, in half of the cases a multiple of w_1."""
    normal = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(dimension)]
    point = [sp.Rational(rng.randint(-9, 9), 2) for _ in range(dimension)]
    point[-1] = -sum(q * r for q, r in zip(normal[:-1], point[:-1], strict=True)) / normal[-1]
    other = [sp.Rational(rng.randint(-9, 9), 3) for _ in range(dimension)]
    factor = rng.choice((sp.Integer(-1), sp.Integer(2), sp.Rational(-3, 2)))
    parallel = rng.choice((True, False))
    return {n1: normal, p: point, n2: [factor * q for q in normal] if parallel else other, k: factor}


APART = tuple(
    Cell(
        f"w_2ᵀp {text} 0",
        {norm2(n1): 1, inner(n2, p): sign},
        {inner(n1, p): sp.S.Zero},
        "p lies on the boundary of the first neuron and not on that of the second",
    )
    for text, sign in ((">", 1), ("<", -1))
)
SHARED = Cell(
    "w_2 = k w_1",
    {norm2(n1): 1},
    {
        inner(n1, p): sp.S.Zero,
        inner(n2, p): sp.S.Zero,
        inner(n1, n2): k * norm2(n1),
        norm2(n2): k**2 * norm2(n1),
    },
    "p lies on the common boundary of two neurons",
)
BOUNDARY = meaning(
    "p is a point of the boundary of the first neuron, whose weights are not zero, on that of the second too or not;"
    " p ≠ 0 needs d ≥ 2, and for d = 1 all boundaries are the origin, shared",
    n1,
    n2,
    "d",
)
any_two = Domain(
    (scale, k),
    (n1, n2, p),
    (*APART, SHARED),
    dimensions=(2, 3),
    sampler=on_the_boundary,
    hypotheses=(BOUNDARY,),
)
SINGLE = "one hidden layer, or no piece of boundary on which an even number of neurons change their sign"
two_apart = any_two.with_cells(*APART)
two_shared = any_two.with_cells(SHARED)


@result(ledger=("kunin2024.prop17-parity-rule",))
def parity_rule() -> Existence:
    """The parity of the number of active neurons changes across a boundary if an odd number of neurons change there.

    Going through a point p of the boundary along its normal w_1, a product of pre-activations changes its sign if an
    odd number of its factors vanish at p. Here with another factor away from zero, then with one, two and three neurons
    on the boundary.
    """

    def alone(x: Any) -> sp.Expr:
        return inner(n1, x)

    return Existence(
        r"$\prod_kz_k$ changes its sign across a boundary if and only if an odd number of neurons change theirs",
        (
            Limit(across(together), scale, sp.S.Zero, sp.Integer(-1), on=two_apart),
            Limit(across(alone), scale, sp.S.Zero, sp.Integer(-1), on=two_shared),
            Limit(across(together), scale, sp.S.Zero, sp.Integer(1), on=two_shared),
            Limit(across(lambda x: alone(x) * together(x)), scale, sp.S.Zero, sp.Integer(-1), on=two_shared),
        ),
    )


@printed(
    "kunin2024.prop17-parity-rule",
    quote="without redundant neurons no boundary exists where two neurons change simultaneously",
    domain=any_two,
    severity="scope",
)
def printed_parity_rule() -> Limit:
    """As the paper says: across the boundary of one neuron the parity changes, whatever the other neuron is.

    With w_2 = -w_1, as in |x| = σ(x) + σ(-x), both neurons influence f, and one is active on either side. To exclude
    boundaries that two neurons share would be to assume what the paper concludes from its hypothesis.
    """
    return Limit(across(together), scale, sp.S.Zero, sp.Integer(-1))


def family(weight: Any) -> Regions:
    """The cones of the network with nine of them at λ = 1."""
    return activation_regions(FIRST_LAYER, [[1, 1, -weight, 1]])


def number(weight: Any) -> sp.Integer:
    return sp.Integer(len(family(weight)))


def lines(*rows: tuple[int, int]) -> sp.Integer:
    return sp.Integer(len(activation_regions(rows)))


@result(ledger=("kunin2024.prop17-2-colorable",), uses=("piecewise_linear.parity_rule",))
def two_colours() -> Existence:
    """The regions of one hidden layer always have two colours; deeper ones if an even number meets at every corner.

    One hidden layer: with one neuron for each hyperplane, the sign of the product changes across each of them; in the
    plane there are two cones for each line, counted here with and without parallel weights. Two hidden layers: the
    number of cones of the family above, 9 + sgn²(λ - 1), at values on all three sides. For λ = 1 it is odd.
    """
    half, two = sp.Rational(1, 2), sp.Integer(2)
    nowhere = Domain(words="counted exactly")
    return Existence(
        r"one hidden layer: two colours by one neuron for each hyperplane; in general, where no neuron vanishes on an"
        r" open set: if and only if an even number of regions meets at every corner",
        (
            Limit(across(together), scale, sp.S.Zero, sp.Integer(-1), on=two_apart),
            Identity(lines((1, 0), (1, 2), (-1, 1)), sp.Integer(6), on=nowhere),
            Identity(lines((1, 0), (1, 2), (-1, 0), (2, 4)), sp.Integer(4), on=nowhere),
            Identity(number(1), sp.Integer(9), on=nowhere),
            Identity(number(half), sp.Integer(10), on=nowhere),
            Identity(number(two), sp.Integer(10), on=nowhere),
        ),
    )


excess = sp.Symbol("excess", real=True)
DIFFERENT = (
    Cell("λ > 1", {excess: 1}, {kappa_weight: 1 + excess}),
    Cell("λ < 1", {excess: 1}, {kappa_weight: 1 - excess}),
)
EQUAL = Cell("λ = 1", {}, {kappa_weight: sp.S.One})


@printed(
    "kunin2024.prop17-2-colorable",
    quote="the partition of input space can be coloured with two colours such that neighbouring regions differ",
    domain=Domain((kappa_weight,), (), (*DIFFERENT, EQUAL)),
    hypothesis=SINGLE,
    under=Domain((kappa_weight,), (), DIFFERENT),
    hypotheses=(
        meaning(
            "a network of the family above, in which every neuron influences f: λ = 1, above or below",
            kappa_weight,
        ),
    ),
)
def printed_two_colours() -> Identity:
    """As the paper says, for the network above, in which every neuron influences f: an even number of cones, ten.

    They meet in the origin one after the other, so that colours have to alternate. At λ = 1 there are nine.
    """
    return Identity(9 + sp.sign(kappa_weight - 1) ** 2, sp.Integer(10), name=r"\#\text{cones}")
