r"""The network and its gradient flow, for any number of layers.

A layer W passes an input x forward to Wx and a read-out q backward to Wᵀq, and qᵀ(Wx) = (Wᵀq)ᵀx. Layer after
layer this moves all weights to one side:

    f(x) = aᵀW_L⋯W_1x = (W_1ᵀ⋯W_Lᵀa)ᵀx = βᵀx.

The paper prints ∏_l W_l in f and ∏_l W_lᵀ in β (kunin2024, App. B.2). The product has to run downwards in f, for W_1
acts on the input, and upwards in β: no one order of the product sign fits both, and β is another vector if it is read
as in f.

With P the product of the layers below W and q what the layers above make of the read-out, β = PᵀWᵀq. So the
gradient of the loss in W is q(Pr)ᵀ, and the flow of that layer alone moves β by -‖q‖² PᵀP r.
"""

from __future__ import annotations

from derivations.deep_linear.symbols import d, h, m
from symdyn.calculus.matrix import from_scalar, matrix, trace, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.kinds import Existence
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

SIZES = ({h: 2, d: 2, m: 3}, {h: 3, d: 2, m: 1}, {h: 2, d: 3, m: 2})
SQUARE = ({h: 2}, {h: 3})

W = matrix("W", h, m, r"W_l")
P = matrix("P", m, d, r"P_{l-1}")
q = vector("q", h, r"q_l")
signal = vector("x", m, r"x_{l-1}")
r = vector("r", d)
a = vector("a", h)


@result(ledger=("kunin2024.deep-model",))
def model() -> Existence:
    """The deep linear network is linear in its input, with the predictor β = W_1ᵀ⋯W_Lᵀa.

    One layer moves from the forward to the backward side, whatever stands on either: applied L times, f(x) = βᵀx. With
    two layers written out the order of the products shows.
    """
    W1, W2, x = matrix("W1", h, d, "W_1"), matrix("W2", h, h, "W_2"), vector("x0", d, "x")
    beta = W1.T @ W2.T @ a
    return Existence(
        r"$f(x)=a^\top W_L\cdots W_1x=\beta^\top x$ with $\beta=W_1^\top\cdots W_L^\top a$",
        (
            MatrixIdentity(q.T @ (W @ signal), (W.T @ q).T @ signal, SIZES),
            MatrixIdentity(a.T @ (W2 @ (W1 @ x)), beta.T @ x, SIZES, name="f(x)"),
        ),
    )


@printed(
    "kunin2024.deep-model",
    quote=r"$f(x;\theta)=a^\top\prod_{l=1}^LW_l\,x$",
    severity="convention",
)
def printed_model() -> MatrixIdentity:
    """As printed, with one order of the product sign in f and in β = ∏_l W_lᵀa, later layers on the left.

    The opposite order in both, f = aᵀW_1W_2x and β = W_1ᵀW_2ᵀa, is the same with the two layers exchanged. The order
    that f needs follows from the shape of W_1 and from a, which is balanced with W_L.
    """
    W1, W2, x = matrix("W1", h, h, "W_1"), matrix("W2", h, h, "W_2"), vector("x0", h, "x")
    return MatrixIdentity(a.T @ (W2 @ (W1 @ x)), (W2.T @ (W1.T @ a)).T @ x, SQUARE, name="f(x)")


@result(uses=("deep_linear.model",))
def layer_velocity() -> Existence:
    """Every layer moves β by -‖q‖² PᵀP r along its own gradient flow, and the read-out by -P_LᵀP_L r.

    Together, β̇ = -M r with M = P_LᵀP_L + Σ_l ‖q_l‖² P_{l-1}ᵀP_{l-1} for any weights, P_0 = I and q_L = a. M is positive
    semidefinite, because its terms are. The function `preconditioner` computes it.
    """
    beta = P.T @ W.T @ q
    direction, step = vector("v", d), matrix("D", h, m, r"\dot W_l")
    gradient = q @ (P @ r).T
    whole = matrix("PL", h, d, "P_L")
    readout = whole.T @ a
    size = (q.T @ q).scalar()
    quadratic = direction.T @ (size * P.T @ P) @ direction
    return Existence(
        r"$\dot\beta=-Mr$ with $M=P_L^\top P_L+\sum_l\|q_l\|^2P_{l-1}^\top P_{l-1}$",
        (
            MatrixDynamics(
                r.T @ beta, from_scalar(trace(gradient.T @ step)), {W: step}, SIZES, name=r"r^\top\beta"
            ),
            MatrixDynamics(beta, -size * P.T @ P @ r, {W: -gradient}, SIZES, name=r"\beta"),
            MatrixDynamics(readout, -(whole.T @ whole) @ r, {a: -(whole @ r)}, SIZES, name=r"\beta"),
            MatrixIdentity(quadratic, size * (P @ direction).T @ (P @ direction), SIZES),
        ),
    )
