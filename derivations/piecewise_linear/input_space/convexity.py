r"""The partition of input space into activation regions, and what it leaves out.

Regions are open, convex and disjoint (`activation_region`). An input belongs to one of them unless a pre-activation
vanishes there. For one hidden layer with non-zero weights this leaves out hyperplanes, the boundaries. In deeper
networks a pre-activation may vanish on an open set: with γ = 0 and without biases, wherever all neurons of a layer are
inactive, all later ones have the pre-activation 0. There is then no activation region at all, and the closed regions do
not cover the space.

In one dimension the ReLU network σ(σ(x)) has the single region x > 0 and no region on x < 0 (kunin2024, App. C.1).
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.piecewise_linear.evaluators.arrangement import activation_regions
from derivations.piecewise_linear.symbols import gamma, kappa_weight, n1, p, t, z
from symdyn.calculus.gram import inner, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import added, meaning
from symdyn.statements.kinds import Existence, Identity, Inequality

deeper = kappa_weight * sp.Max(z, gamma * z)
"""The pre-activation of a neuron of the second layer with one input, σ(z)."""

slope = sp.Symbol("slope", real=True)
NO_DEAD_LAYER = (
    "no pre-activation vanishes on an open set of inputs, as in the deeper layers of a ReLU network without"
    " biases those of all neurons do wherever a whole layer is inactive"
)


def outside_boundaries(*cells: tuple[str, int, sp.Expr]) -> Domain:
    """Inputs with z ≠ 0, and slopes γ of the activation."""
    return Domain(
        (z, gamma, kappa_weight),
        (),
        tuple(
            Cell(
                f"z {'>' if sign > 0 else '<'} 0, {words}",
                {z: sign, kappa_weight: 1, slope: 1},
                where={gamma: value},
                reason="0 ≤ γ < 1",
            )
            for words, sign, value in cells
        ),
        words="z ≠ 0",
        hypotheses=(
            meaning(
                "inputs off the boundary z = 0, a weight λ > 0, and γ by a positive number",
                z,
                slope,
                kappa_weight,
            ),
        ),
    )


leaky = slope / (1 + slope)
LEAKY = (("0 < γ < 1", 1, leaky), ("0 < γ < 1", -1, leaky))
RELU = (("γ = 0", 1, sp.S.Zero), ("γ = 0", -1, sp.S.Zero))


on_the_hyperplane = Domain(
    (t,),
    (n1, p),
    (Cell("p on the hyperplane", {norm2(n1): 1}, {inner(n1, p): sp.S.Zero}, "w_kᵀp = 0"),),
    sampler=lambda rng, dimension: on_a_hyperplane(rng, dimension),
    hypotheses=(meaning("p is a point of the hyperplane with the normal w_k ≠ 0", n1, p),),
)


@result(
    ledger=("kunin2024.pw-convex-partition",),
    uses=("piecewise_linear.activation_region",),
    hypotheses=(added(NO_DEAD_LAYER),),
)
def partition() -> Existence:
    """The activation regions are convex and disjoint, and cover input space where no pre-activation vanishes.

    What they leave out are pieces of hyperplanes, the boundaries, unless a pre-activation vanishes on an open set. For
    one hidden layer w_kᵀx vanishes on a hyperplane only: next to any point p of it, w_kᵀ(p + t w_k) = t‖w_k‖². In a
    deeper layer the leaky activation of one neuron vanishes at zero only. The last two facts count cones, exactly: two
    neurons one after the other leave a halfplane out with γ = 0, where the second has no sign, and none with γ = 1/2.
    """
    return Existence(
        r"the activation regions are convex and disjoint, and their union leaves out the zeros of pre-activations",
        (
            Identity(inner(n1, p + t * n1), t * norm2(n1), on=on_the_hyperplane, name=r"w_k^\top(p+tw_k)"),
            Inequality(deeper, "!=", on=outside_boundaries(*LEAKY)),
            Identity(unseen(0), sp.S.One, on=Domain(words="γ = 0")),
            Identity(unseen(sp.Rational(1, 2)), sp.S.Zero, on=Domain(words="γ = 1/2")),
        ),
    )


def on_a_hyperplane(rng: random.Random, dimension: int) -> Point:
    """A vector n and a point p with nᵀp = 0."""
    normal = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(dimension)]
    point = [sp.Rational(rng.randint(-9, 9), 2) for _ in range(dimension)]
    point[-1] = -sum(q * r for q, r in zip(normal[:-1], point[:-1], strict=True)) / normal[-1]
    return {n1: normal, p: point}


def unseen(negative_slope: float) -> sp.Integer:
    """The number of cones that belong to no activation region, of the network σ(σ(x_1)) in the plane."""
    patterns = activation_regions([[1, 0]], [[1]], gamma=negative_slope).patterns
    return sp.Integer(int((patterns == 0).any(axis=1).sum()))


@printed(
    "kunin2024.pw-convex-partition",
    quote="The union of all activation regions forms a convex partition of input space",
    domain=outside_boundaries(*LEAKY, *RELU),
    hypothesis=NO_DEAD_LAYER,
    under=outside_boundaries(*LEAKY),
)
def printed_partition() -> Inequality:
    """As the paper says, for two neurons one after the other: off the boundary z = 0 every input belongs to a region.

    That is, the pre-activation λσ(z) of the second is not zero.
    """
    return Inequality(deeper, "!=")
