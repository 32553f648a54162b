"""When an operator field f I - h ββᵀ is the Hessian of a potential.

H is a Hessian if and only if (∂_z H) y = (∂_y H) z for all directions y, z: a Hessian satisfies it because
third derivatives commute, and where it holds ∫₀¹ H(sβ)β ds is a field with the symmetric Jacobian H, hence a
gradient by the same integral. For H = f I - h ββᵀ with f and h functions of ‖β‖²

    (∂_z H) y - (∂_y H) z = (2f′ + h) ((βᵀz) y - (βᵀy) z),

which vanishes for all y, z only if 2f′ + h = 0, provided d ≥ 2: in one dimension everything is a Hessian.
There are more features than data in this part of the paper, hence at least two (kunin2024, App. A.4 and
A.4.2).
"""

from __future__ import annotations

import random

import sympy as sp

from derivations.single_neuron.regimes import x_beta
from derivations.single_neuron.symbols import Phi_of, any_vector, beta, e1, e2, e3, f_of, g_of, h_of, t
from symdyn.calculus.gram import (
    Combination,
    Flow,
    GramOperator,
    Linear,
    hessian,
    identity,
    inner,
    norm2,
    outer,
)
from symdyn.calculus.isotropic import Isotropic
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain, Point
from symdyn.statements.hypothesis import standing, stated
from symdyn.statements.kinds import Existence, Identity, Inequality

f, h, g = (function(x_beta) for function in (f_of, h_of, g_of))
field = f * identity() - h * outer(beta, beta)
Phi = Phi_of(inner(e1, beta), inner(e2, beta))


def along(direction: Linear, operator: GramOperator) -> GramOperator:
    """The derivative of an operator field in a direction."""
    return Flow({beta: 1 * direction}).derivative(operator)


def curl(operator: GramOperator) -> Combination:
    """(∂_z H) e_j - (∂_e_j H) z with z = e_i, which vanishes in all directions for a Hessian and only for one."""
    return along(e1, operator) @ e2 - along(e2, operator) @ e1


rotation = inner(beta, e1) * e2 - inner(beta, e2) * e1
"""(βᵀe_i) e_j - (βᵀe_j) e_i."""

any_directions = Domain((), (beta, e1, e2), functions=(f, h, g))


def orthogonal(rng: random.Random, d: int) -> Point:
    """A direction orthogonal to β."""
    values = [sp.Rational(rng.randint(1, 9), rng.randint(1, 4)) for _ in range(d)]
    direction = [sp.Integer(rng.randint(1, 9)) for _ in range(d)]
    direction[-1] = -sum(p * q for p, q in zip(values[:-1], direction[:-1], strict=True)) / values[-1]
    return {beta: values, e1: direction}


across = Domain(
    (),
    (beta, e1),
    (
        Cell(
            "e_i ⟂ β",
            {x_beta: 1, norm2(e1): 1},
            {inner(beta, e1): 0},
            "d ≥ 2, so there is a direction across β",
        ),
    ),
    dimensions=(2, 3),
    sampler=orthogonal,
    hypotheses=(
        standing(
            "App. A.4, more features than data", "d ≥ 2, so that there is a direction across β", e1, "d"
        ),
    ),
)
"""A direction across β, which exists for d ≥ 2."""


def coordinates(rng: random.Random, d: int) -> Point:
    """Three coordinate directions in some order."""
    order = rng.sample(range(d), 3)
    return {e: [sp.Integer(i == k) for i in range(d)] for e, k in zip((e1, e2, e3), order, strict=True)}


pairs = [(u, v) for u in (e1, e2, e3) for v in (e1, e2, e3)]
axes = Domain(
    (),
    (beta, e1, e2, e3),
    (
        Cell(
            "orthonormal", where={inner(u, v): int(u == v) for u, v in pairs}, reason="coordinate directions"
        ),
    ),
    dimensions=(3, 4),
    sampler=coordinates,
    functions=(f, h),
    hypotheses=(
        stated("App. A.4.2", "i ≠ j ≠ k, three coordinate directions, for which d ≥ 3", e1, e2, e3, "d"),
    ),
)


@result(
    ledger=("kunin2024.hessian-symmetry-criterion",),
    domain=Domain((t,), (beta, e1, e2, e3, any_vector), functions=(Phi,)),
)
def symmetry_criterion() -> Existence:
    """A symmetric field is a Hessian if and only if its derivatives are symmetric in all three indices.

    Second fact: if the Jacobian J of a field G is symmetric, the gradient of ∫₀¹ βᵀG(sβ) ds has the integrand
    G + s Jᵀβ = G + s Jβ = d/ds (s G(sβ)), hence is G. The criterion says this of every row of H, which makes
    H a Jacobian; as H is symmetric too, the field it is the Jacobian of is a gradient.
    """
    H = hessian(Phi, beta)
    J = identity() + outer(e1, e2) + outer(e2, e1)
    return Existence(
        r"$H$ is a Hessian if and only if $\partial_kH_{ij}=\partial_jH_{ik}$ for all $i,j,k$",
        (
            Identity(along(any_vector, H) @ e3, along(e3, H) @ any_vector),
            Identity(e3 + t * (J.T @ beta), e3 + t * (J @ beta)),
        ),
    )


@result(
    ledger=("kunin2024.hessian-condition-reduction",),
    domain=any_directions,
    uses=("single_neuron.symmetry_criterion",),
)
def isotropic_condition() -> Existence:
    """f I - h ββᵀ is a Hessian for d ≥ 2 if and only if 2f′ + h = 0."""
    df, dh = sp.diff(f, x_beta), sp.diff(h, x_beta)
    b1, b2, b3 = (inner(beta, e) for e in (e1, e2, e3))
    return Existence(
        r"$fI-h\beta\beta^\top$ is a Hessian if and only if $2f'+h=0$",
        (
            Identity(curl(field), (2 * df + h) * rotation),
            Inequality(norm2(inner(beta, e1) * beta - x_beta * e1), ">", on=across),
            Identity(inner(e1, along(e3, field) @ e2), -2 * dh * b1 * b2 * b3, on=axes),
            Identity(inner(e1, along(e2, field) @ e1), 2 * df * b2 - 2 * dh * b2 * b1**2, on=axes),
            Identity(inner(e1, along(e1, field) @ e2), -h * b2 - 2 * dh * b2 * b1**2, on=axes),
        ),
        formula="2 f' + h = 0",
    )


@result(
    ledger=("kunin2024.warped-hessian-condition",),
    domain=any_directions,
    uses=("single_neuron.isotropic_condition",),
)
def warped_condition() -> Existence:
    """g (f I - h ββᵀ) is a Hessian for d ≥ 2 if and only if g′ = -(2f′ + h) g/(2f)."""
    df, dg = sp.diff(f, x_beta), sp.diff(g, x_beta)
    condition = 2 * (dg * f + g * df) + g * h
    return Existence(
        r"$g(fI-h\beta\beta^\top)$ is a Hessian if and only if $2(g'f+gf')+gh=0$, a linear equation for $g$",
        (
            Identity(curl(g * field), condition * rotation),
            Identity(
                condition,
                2 * f * (dg + (2 * df + h) * g / (2 * f)),
                on=any_directions.restrict(
                    sp.Ne(f, 0),
                    words="f ≠ 0",
                    hypotheses=(
                        stated("App. A.4.2, the equation for g", "f ≠ 0, by which it divides", sp.Ne(f, 0)),
                    ),
                ),
            ),
        ),
        formula=r"g' = -\frac{2 f' + h}{2 f} g",
    )


@result(
    ledger=("kunin2024.radial-hessian",),
    domain=Domain((), (beta,), (Cell("β ≠ 0", {x_beta: 1}),), functions=(f,)),
)
def radial_hessian() -> Identity:
    """The Hessian of a function q(‖β‖) of the length.

    With q(n) = f(n²), any function f, the derivatives are q′ = 2n f′ and q″ = 2f′ + 4n² f″.
    """
    n = sp.sqrt(x_beta)
    slope = 2 * n * sp.diff(f, x_beta)
    curvature = 2 * n * sp.diff(slope, x_beta)
    printed = Isotropic.unnormalised(slope / n, -(slope / n**3 - curvature / n**2), x_beta, beta)
    return Identity(hessian(f, beta), printed, name=r"\nabla^2 q(\|\beta\|)")
