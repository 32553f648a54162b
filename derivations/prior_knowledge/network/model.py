r"""The two-layer linear network: model, loss, gradient flow, and what whitened inputs change.

With the data as columns of X and Y the averages over P pairs are Σ^xx = XXᵀ/P and Σ^yx = YXᵀ/P. The loss is quadratic
in the function W₂W₁ and sees no more of the data than these two and the average of ‖y‖². Gradient descent with the
learning rate η = 1/τ makes one step in one unit of time. For the wide network β = WᵀA of kunin2024, A = W₂ᵀ and W = W₁
(braun2022, Sec. 2).
"""

from __future__ import annotations

import random
from typing import Any

from derivations.prior_knowledge.symbols import (
    SIZES,
    TIMED,
    W1,
    W2,
    P,
    X,
    Y,
    h,
    i,
    o,
    sigma_xx,
    sigma_yx,
    tau,
)
from symdyn.calculus.matrix import (
    Declaration,
    Index,
    Rules,
    basis,
    cayley,
    eye,
    matrix,
    rule,
    sum_over,
    trace,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Conjunction, Existence
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity

output = W2 @ W1 @ X
error = output - Y
loss = trace(error.T @ error) / (2 * P)
inputs_correlation, task = X @ X.T / P, Y @ X.T / P

fit = sigma_yx - W2 @ W1 @ sigma_xx
flow = {W1: W2.T @ fit / tau, W2: fit @ W1.T / tau}
"""Gradient flow for any inputs."""

whitened_fit = sigma_yx - W2 @ W1
whitened_flow = {W1: W2.T @ whitened_fit / tau, W2: whitened_fit @ W1.T / tau}
"""Gradient flow for whitened inputs."""

n = Index("n", P)
datum, target = X @ basis(n), Y @ basis(n)


def _white_data(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Inputs with XXᵀ = P I: rational rows, orthogonal and of the length √P, where the sizes allow them."""
    data, inputs = sizes[P], sizes[i]
    root = int(data**0.5)
    if root * root != data or inputs > data:
        raise ValueError(
            f"{inputs} whitened inputs with rational entries need a square number of data, not {data}"
        )
    return {X.letter: root * cayley(generator, data)[:inputs, :]}


WHITE = Rules(Declaration("XXᵀ = P I", (rule(X @ X.T, P * eye(i)),), (X.letter,), _white_data))
WHITE_SIZES = ({i: 2, h: 3, o: 2, P: 4}, {i: 3, h: 1, o: 2, P: 4}, {i: 1, h: 2, o: 3, P: 1})


@result(ledger=("braun2022.model-output",), uses=("wide_linear.model",))
def network_output() -> Conjunction:
    """Every datum is mapped by W₂W₁; all of them together make W₂W₁X."""
    columns = sum_over(n, W2 @ W1 @ datum @ basis(n).T)
    return Conjunction(MatrixIdentity(columns, output, SIZES, name=r"\hat Y"), compiles=output)


@result(ledger=("braun2022.correlation-matrices",))
def correlations() -> Conjunction:
    """The correlations of inputs, and of targets with inputs, as averages over the data and as matrix products."""
    averages = sum_over(n, datum @ datum.T) / P, sum_over(n, target @ datum.T) / P
    return Conjunction(
        MatrixIdentity(averages[0], inputs_correlation, SIZES, name=r"\tilde\Sigma^{xx}"),
        MatrixIdentity(averages[1], task, SIZES, name=r"\tilde\Sigma^{yx}"),
    )


@result(ledger=("braun2022.loss-mse",), uses=("prior_knowledge.correlations",))
def mean_squared_error() -> Conjunction:
    """Half the mean squared error, also in terms of the correlations of the data."""
    one_error = W2 @ W1 @ datum - target
    function = W2 @ W1
    quadratic = trace(function @ inputs_correlation @ function.T) - 2 * trace(task @ function.T)
    return Conjunction(
        MatrixIdentity(
            sum_over(n, (one_error.T @ one_error).scalar()) / (2 * P), loss, SIZES, name=r"\mathcal L"
        ),
        MatrixIdentity(loss, (quadratic + trace(Y @ Y.T) / P) / 2, SIZES, name=r"\mathcal L"),
        compiles=loss,
    )


@result(ledger=("braun2022.gradient-flow",), uses=("prior_knowledge.mean_squared_error",))
def gradient_flow() -> Conjunction:
    """Gradient flow, τẆ₁ = W₂ᵀ(Σ^yx - W₂W₁Σ^xx) and τẆ₂ = (Σ^yx - W₂W₁Σ^xx)W₁ᵀ.

    The loss changes by -tr(UᵀG₁) - tr(VᵀG₂) when W₁ and W₂ move in the directions U and V: that defines its negative
    gradients G₁ and G₂. A step of gradient descent adds ηG = G/τ to the weights, in one unit of time.
    """
    U, V = matrix("U", h, i), matrix("V", o, h)
    residual = task - W2 @ W1 @ inputs_correlation
    slope = -trace(U.T @ W2.T @ residual) - trace(V.T @ residual @ W1.T)
    return Conjunction(
        MatrixDynamics(loss, slope, {W1: U, W2: V}, SIZES, name=r"\mathcal L"),
        MatrixDynamics(W1, W2.T @ (sigma_yx - W2 @ W1 @ sigma_xx) / tau, flow, SIZES, TIMED),
        MatrixDynamics(W2, (sigma_yx - W2 @ W1 @ sigma_xx) @ W1.T / tau, flow, SIZES, TIMED),
    )


@result(ledger=("braun2022.assumption-whitened",), uses=("prior_knowledge.gradient_flow",))
def whitened_inputs() -> Existence:
    """Whitened inputs, Σ^xx = I, as assumed: the loss is a distance in function space, and Σ^yx alone drives the flow.

    They need at least as many data as inputs. The loss above its minimum is then half the squared distance of W₂W₁ from
    Σ^yx, which a network with N_h ≥ min(N_i, N_o) can close.
    """
    function = W2 @ W1
    gap = function - task
    least = trace(Y @ Y.T) / P - trace(task @ task.T)
    return Existence(
        r"$\tilde\Sigma^{xx}=I$: $\mathcal L=\frac12\|W_2W_1-\tilde\Sigma^{yx}\|_F^2+\mathrm{const}$",
        (
            MatrixIdentity(loss, (trace(gap @ gap.T) + least) / 2, WHITE_SIZES, WHITE, name=r"\mathcal L"),
            MatrixIdentity(task - function @ inputs_correlation, task - function, WHITE_SIZES, WHITE),
        ),
    )


@result(ledger=("braun2022.zero-balanced-conservation",), uses=("wide_linear.conserved_balance",))
def conserved_balance() -> Conjunction:
    """The balance W₁W₁ᵀ - W₂ᵀW₂ is conserved by gradient flow from every start, for all inputs, whitened or not.

    Zero-balanced weights stay zero-balanced therefore. Gradient descent with the learning rate η changes the balance by
    a term of the order η² in every step.
    """
    eta = 1 / tau
    stepped = W1 + eta * W2.T @ fit, W2 + eta * fit @ W1.T
    drift = stepped[0] @ stepped[0].T - stepped[1].T @ stepped[1]
    second = eta**2 * (W2.T @ fit @ fit.T @ W2 - W1 @ fit.T @ fit @ W1.T)
    balance = W1 @ W1.T - W2.T @ W2
    return Conjunction(
        MatrixConservation(balance, flow, SIZES, TIMED),
        MatrixIdentity(drift, balance + second, SIZES, TIMED),
        compiles=balance,
    )
