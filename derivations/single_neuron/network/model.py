"""The network, its gradient flow, and its tangent kernel.

Gradient flow θ̇ = -η ⊙ ∇L on the squared loss moves the output at x by Θ(x, x_i) (y_i - f(x_i)) for every datum, because
the gradient of the loss is the sum over the data of (f(x_i) - y_i) ∇f(x_i) and Θ is the inner product of two gradients,
each parameter weighted by its rate. For f(x) = a wᵀx the gradient is (wᵀx, a x), so that Θ(x, x') = xᵀ M x' with
M = η_w a² I + η_a w wᵀ, for every pair of inputs and hence as matrices, K = X M Xᵀ (kunin2024, Sec. 1, Sec. 3, App. A).
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.network.conservation import flow
from derivations.single_neuron.preconditioning.of_the_neuron import M_weights
from derivations.single_neuron.symbols import (
    a,
    alpha,
    beta_star,
    c,
    eta_a,
    eta_w,
    fx,
    grad,
    grad1,
    label,
    labels,
    outputs,
    point,
    point1,
    r,
    rho,
    w,
)
from symdyn.calculus.gram import Combination, Flow, gradient, inner, norm2, substitute
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import meaning, stated
from symdyn.statements.kinds import Conjunction, Definition, Dynamics, Existence, Identity

output = a * inner(w, point)
loss_of_datum = (output - label) ** 2 / 2
r_of_datum = (output - label) * point

whitened = Flow({a: -eta_a * inner(w, a * w - beta_star), w: -eta_w * a * (a * w - beta_star)})
"""The flow on whitened data, where the gradient in β is β - β_*."""


@result(ledger=("kunin2024.single-model",))
def model() -> Identity:
    """The network of a single hidden neuron is linear in its input, with the predictor β = a w."""
    return Identity(inner(a * w, point), output, name=r"f(x;\theta) = \beta^\top x")


@result(ledger=("kunin2024.notation-gradient-flow",), arguments=("outputs", "labels"))
def squared_loss() -> Definition:
    """The squared loss, a sum over the data and not a mean."""
    return Definition(r"\mathcal{L}", norm2(outputs - labels) / 2)


@result(ledger=("kunin2024.notation-gradient-flow", "kunin2024.single-gradient-flow-unwhitened"))
def gradient_flow() -> Identity:
    """Gradient flow moves every parameter against the gradient of the loss, at the rate of its layer.

    The loss and r = Xᵀ(Xβ - y) are sums over the data, so one datum says it for all.
    """
    downhill = (-eta_a * sp.diff(loss_of_datum, a), -eta_w * gradient(loss_of_datum, w))
    velocities = tuple(substitute(flow.velocities[u], {r: r_of_datum}) for u in (a, w))
    return Identity(downhill, velocities, name=r"(\dot a, \dot w)")


@result(ledger=("kunin2024.single-gradient-flow-whitened",))
def whitened_flow() -> Identity:
    """Gradient flow on whitened data, where XᵀX = I and hence r = β - β_*."""
    velocities = tuple(substitute(flow.velocities[u], {r: a * w - beta_star}) for u in (a, w))
    simplified = (
        eta_a * (inner(w, beta_star) - a * norm2(w)),
        eta_w * (a * beta_star - a**2 * w),
    )
    return Identity(velocities, simplified, name=r"(\dot a, \dot w)")


rescaled = Domain((a, alpha), (w,), words="α ≠ 0", hypotheses=(stated("App. A", "α ≠ 0", alpha),))
kernel_scale = Domain(
    (c,),
    (grad, grad1),
    (Cell("c > 0", {c: 1}),),
    hypotheses=(meaning("c > 0 multiplies all learning rates", c),),
)


@result(ledger=("kunin2024.single-rescale-symmetry",), domain=rescaled)
def rescale_symmetry() -> Identity:
    """Rescaling a → α a, w → w/α leaves the function unchanged."""
    return Identity((a * alpha) * (w / alpha), a * w, name=r"\beta")


@result(ledger=("kunin2024.ntk-definition",), domain=kernel_scale)
def tangent_kernel() -> Conjunction:
    """The neural tangent kernel, the inner product of two gradients weighted by the rates.

    With one rate c for all parameters it is c times the kernel of the feature map ∇f.
    """
    root = sp.sqrt(c)
    return Conjunction(
        Definition(r"\Theta(x,x')", inner(grad, grad1)),
        Identity(inner(root * grad, root * grad1), c * inner(grad, grad1), name=r"\Theta(x,x')"),
    )


@result(ledger=("kunin2024.ntk-matrix-definition",))
def kernel_matrix() -> Existence:
    """The kernel matrix, the tangent kernel on all pairs of training inputs; it is positive semidefinite."""
    combined = alpha * grad + c * grad1
    quadratic = alpha**2 * norm2(grad) + 2 * alpha * c * inner(grad, grad1) + c**2 * norm2(grad1)
    return Existence(
        r"$K_{ij}=\Theta(x_i,x_j)$ is a Gram matrix",
        (Definition("K_{ij}", inner(grad, grad1)), Identity(norm2(combined), quadratic)),
    )


@result(ledger=("kunin2024.function-dynamics-ntk",))
def output_dynamics() -> Existence:
    """The output at x moves by Θ(x, x_i)(y_i - f(x_i)), summed over the data.

    One datum with gradient ∇f(x') and residual ρ is added to others whose part of ∇L is r: the law for n data follows
    from that for n - 1. For the single neuron the sum over the data is r itself, as Θ is linear in its second input.
    """
    movement = -(rho * grad1 + r)
    added = Dynamics(fx, -rho * inner(grad, grad1) - inner(grad, r), under=Flow({fx: inner(grad, movement)}))
    neuron = Dynamics(output, -inner(point, M_weights @ r), under=flow, name="f(x)")
    return Existence(r"$\partial_tf(x)=\sum_i\Theta(x,x_i)(y_i-f(x_i))$", (added, neuron))


@result(ledger=("kunin2024.single-ntk-matrix",), arguments=("point", "point1", "a", "w", "eta_a", "eta_w"))
def neuron_kernel() -> Identity:
    """The tangent kernel of the single neuron, Θ(x, x') = xᵀ(η_w a² I + η_a w wᵀ)x', that is K = X M Xᵀ."""
    other = substitute(output, {point: point1})
    of_readout = eta_a * sp.diff(output, a) * sp.diff(other, a)
    of_weights = eta_w * inner(gradient(output, w), gradient(other, w))
    through_M = inner(point, M_weights @ Combination({point1: sp.Integer(1)}))
    return Identity(of_readout + of_weights, through_M, name=r"\Theta(x,x') = x^\top M x'")
