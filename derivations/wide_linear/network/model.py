r"""The wide linear network: what it represents, how it moves, its kernel.

f(x) = AᵀWx is the linear map β = WᵀA. Let G = Xᵀ(Xβ - Y) be the gradient of the loss in β; then the gradients in A and
W are WG and AGᵀ. In a Kronecker product the order is that of vec, which stacks columns here, so that output comes
before input: vec(β) has d entries for every output, and C ⊕ D acts on it as β ↦ βCᵀ + Dβ. NumPy and torch flatten by
rows; for them the same map is D ⊕ C on vec(βᵀ) (kunin2024, Sec. 4, App. B.1 and B.1.2).
"""

from __future__ import annotations

from derivations.wide_linear.symbols import SIZES, A, G, W, X, Y, c, d, eta_a, eta_w, h, n
from symdyn.calculus.matrix import (
    Rules,
    eye,
    kron,
    kron_sum,
    matrix,
    orthogonal,
    trace,
    vec,
    vector,
)
from symdyn.catalogue.result import printed, result
from symdyn.statements.kinds import Conjunction, Existence
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity

beta = W.T @ A
fit = X @ beta - Y
gradient = X.T @ fit
loss = trace(fit.T @ fit) / 2
output = X @ beta

flow = {A: -eta_a * W @ G, W: -eta_w * A @ G.T}
"""Gradient flow of any loss, G its gradient in β."""

squared_flow = {A: -eta_a * W @ gradient, W: -eta_w * A @ gradient.T}
"""Gradient flow on the squared loss."""

M = kron_sum(eta_w * A.T @ A, eta_a * W.T @ W)
balance = eta_w * A @ A.T - eta_a * W @ W.T


@result(ledger=("kunin2024.wide-model",))
def model() -> Existence:
    """The network is the linear map β = WᵀA, and for h ≥ min(d, c) every linear map is one of its functions.

    For h ≥ c take orthonormal columns for A, for h ≥ d for W. β has no rank above h, so that fewer neurons do not do.
    """
    x, B = vector("x", d), matrix("B", d, c, r"\beta")
    E, F = matrix("E", h, c), matrix("F", h, d)
    outputs_first = ({h: 2, d: 3, c: 2}, {h: 3, d: 2, c: 1})
    inputs_first = ({h: 2, d: 2, c: 3}, {h: 3, d: 1, c: 2})
    return Existence(
        r"$f(x)=\beta^\top x$, and for $h\ge\min(d,c)$ every $\beta$ is $W^\top A$",
        (
            MatrixIdentity(A.T @ W @ x, beta.T @ x, SIZES, name=r"f(x;\theta)"),
            MatrixIdentity((E @ B.T).T @ E, B, outputs_first, Rules(orthogonal(E))),
            MatrixIdentity(F.T @ (F @ B), B, inputs_first, Rules(orthogonal(F))),
        ),
    )


@result(ledger=("kunin2024.wide-gradient-flow",))
def gradient_flow() -> Conjunction:
    """Gradient flow: the gradients of the squared loss are WG in A and AGᵀ in W, with G = Xᵀ(Xβ - Y).

    The loss changes by tr(Uᵀ∇_A) + tr(Vᵀ∇_W) when A and W move in the directions U and V: that defines its gradients.
    """
    U, V = matrix("U", h, c), matrix("V", h, d)
    slope = trace(U.T @ W @ gradient) + trace(V.T @ A @ gradient.T)
    descent = -eta_a * W @ X.T @ (X @ beta - Y), -eta_w * X.T @ (X @ beta - Y) @ A.T
    return Conjunction(
        MatrixDynamics(loss, slope, {A: U, W: V}, SIZES, name=r"\mathcal L"),
        MatrixDynamics(A, descent[0], squared_flow, SIZES),
        MatrixDynamics(W.T, descent[1], squared_flow, SIZES),
    )


@result(ledger=("kunin2024.wide-delta-conserved-main", "kunin2024.wide-delta-conserved-appendix"))
def conserved_balance() -> MatrixConservation:
    """The balance Δ of the two layers is conserved, for every loss and all rates."""
    return MatrixConservation(balance, flow, SIZES, name=r"\Delta")


@printed(
    "kunin2024.wide-delta-conserved-appendix",
    quote=r"$\Delta=A_0A_0^\top-W_0W_0^\top$",
    severity="convention",
)
def printed_conserved_balance() -> MatrixConservation:
    """As the appendix prints it, without the rates that the main text and Assumption 7 have."""
    return MatrixConservation(A @ A.T - W @ W.T, flow, SIZES, name=r"\Delta")


@result(ledger=("kunin2024.kronecker-sum",))
def kronecker_sum() -> Conjunction:
    """The Kronecker sum C ⊕ D = C ⊗ I + I ⊗ D, and what it does to a matrix stacked by columns, or by rows."""
    C, D, B = matrix("C", c, c), matrix("D", d, d), matrix("B", d, c, r"\beta")
    image = B @ C.T + D @ B
    return Conjunction(
        MatrixIdentity(kron_sum(C, D), kron(C, eye(d)) + kron(eye(c), D), SIZES, name=r"C\oplus D"),
        MatrixIdentity(vec(image), kron_sum(C, D) @ vec(B), SIZES),
        MatrixIdentity(vec(image.T), kron_sum(D, C) @ vec(B.T), SIZES),
    )


@result(ledger=("kunin2024.vec-identity",))
def vec_of_a_product() -> Conjunction:
    """vec(ABC) = (Cᵀ ⊗ A) vec(B) for columns stacked; with rows stacked, A and Cᵀ change places."""
    left, middle, right = matrix("A", n, d), matrix("B", d, c), matrix("C", c, h)
    product = left @ middle @ right
    return Conjunction(
        MatrixIdentity(vec(product), kron(right.T, left) @ vec(middle), SIZES),
        MatrixIdentity(vec(product.T), kron(left, right.T) @ vec(middle.T), SIZES),
    )


@result(ledger=("kunin2024.wide-beta-ode",))
def beta_dynamics() -> MatrixDynamics:
    """The function moves by the product rule."""
    return MatrixDynamics(
        beta, -(eta_w * gradient @ A.T @ A + eta_a * W.T @ W @ gradient), squared_flow, SIZES, name=r"\beta"
    )


@result(ledger=("kunin2024.wide-vec-beta-ode",), uses=("wide_linear.beta_dynamics",))
def vectorised_beta_dynamics() -> MatrixDynamics:
    """The function follows the gradient of the loss, preconditioned by M = η_w AᵀA ⊕ η_a WᵀW."""
    return MatrixDynamics(
        vec(beta), -M @ vec(X.T @ X @ beta - X.T @ Y), squared_flow, SIZES, name=r"\mathrm{vec}(\beta)"
    )


@result(ledger=("kunin2024.wide-ntk",))
def tangent_kernel() -> Conjunction:
    """The tangent kernel of all outputs on all data is M between the inputs.

    With dW and dA for the directions, the outputs, stacked by columns, change by J_W vec(dWᵀ) + J_A vec(dA).
    """
    dA, dW = matrix("dA", h, c, r"dA"), matrix("dW", h, d, r"dW")
    of_A, of_W = kron(eye(c), X @ W.T), kron(A.T, X)
    change = of_W @ vec(dW.T) + of_A @ vec(dA)
    kernel = eta_w * of_W @ of_W.T + eta_a * of_A @ of_A.T
    sandwich = kron(eye(c), X) @ M @ kron(eye(c), X.T)
    return Conjunction(
        MatrixDynamics(vec(output), change, {A: dA, W: dW}, SIZES, name=r"\mathrm{vec}(f(X))"),
        MatrixIdentity(kernel, sandwich, SIZES, name="K"),
        compiles=sandwich,
    )
