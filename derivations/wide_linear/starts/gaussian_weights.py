r"""Wide Gaussian networks follow the isotropic dynamics, with |δ| = (η_a + η_w) σ² h.

Let the columns of the layers start orthogonal and of equal length, AᵀA = α I, WᵀW = ω I, WᵀA = 0. With F = η_a WᵀW,
C = η_w AᵀA, b = √(η_a η_w) β and x = η_a ω, y = η_w α, the matrix J Q = ((F, b), (-bᵀ, -C)) obeys (JQ)² = (x - y)
JQ + xy at first. Along the flow JQ changes by a commutator, and so does T = (JQ)² - (x - y) JQ - xy, which
therefore stays zero. Its blocks say

    (F - (x - y)/2)² = bbᵀ + (x + y)²/4,        (C + (x - y)/2)² = bᵀb + (x + y)²/4,

and M = C ⊗ I + I ⊗ F, from which x - y cancels, is the M of an isotropic network with |δ| = x + y = η_w α + η_a ω,
exactly, for all widths and whatever Δ is.

Gaussian layers with entries of variance σ² have α = ω = σ²h up to a part of relative size 1/√h, and β(0) is as
small. So σ²h takes the place of |δ|/(η_a + η_w), that of |δ|/2 for unit rates; only δ² matters, not its sign
(kunin2024, Sec. 4).
"""

from __future__ import annotations

import sympy as sp

from derivations.wide_linear.network.model import beta as function
from derivations.wide_linear.network.model import flow
from derivations.wide_linear.symbols import A, G, W, alpha, c, d, eta_a, eta_w, h, omega, sigma0
from symdyn.calculus.matrix import Rules, eye, positive, trace
from symdyn.calculus.matrix.gaussian import gaussian_mean
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Existence, InDistribution
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

SHAPES = ({h: 3, d: 2, c: 2}, {h: 2, d: 1, c: 3})
POSITIVE = Rules(positive(eta_a, eta_w))
root = sp.sqrt(eta_a * eta_w)
F, C = eta_a * W.T @ W, eta_w * A.T @ A
b, g = root * function, root * G
first, second = eta_a * omega, eta_w * alpha
difference = first - second
T_inputs = F @ F - b @ b.T - difference * F - first * second * eye(d)
T_mixed = F @ b - b @ C - difference * b
T_outputs = C @ C - b.T @ b + difference * C - first * second * eye(c)


@result(ledger=())
def orthogonal_columns() -> Existence:
    """Layers that start with orthogonal columns of equal length follow the isotropic dynamics, |δ| = η_w α + η_a ω.

    The three blocks of T move by a commutator and vanish together if they do so once.
    """
    half = difference / 2
    gap = (first + second) ** 2 / 4
    root_inputs, root_outputs = F - half * eye(d), C + half * eye(c)
    return Existence(
        r"$\eta_aW^\top W-\frac{x-y}2I$ and $\eta_wA^\top A+\frac{x-y}2I$ are the roots $R_d$ and $R_c$ "
        r"for $|\delta|=x+y$, with $x=\eta_a\omega$ and $y=\eta_w\alpha$",
        (
            MatrixDynamics(T_inputs, -g @ T_mixed.T - T_mixed @ g.T, flow, SHAPES, POSITIVE),
            MatrixDynamics(T_mixed, g @ T_outputs - T_inputs @ g, flow, SHAPES, POSITIVE),
            MatrixDynamics(T_outputs, g.T @ T_mixed + T_mixed.T @ g, flow, SHAPES, POSITIVE),
            MatrixIdentity(root_inputs @ root_inputs - b @ b.T - gap * eye(d), T_inputs, SHAPES, POSITIVE),
            MatrixIdentity(root_outputs @ root_outputs - b.T @ b - gap * eye(c), T_outputs, SHAPES, POSITIVE),
        ),
    )


LAW = {A: sigma0**2, W: sigma0**2}
SCALED = Rules(positive(sigma0))


@result(
    ledger=("kunin2024.gaussian-overparameterised-analogy",),
    uses=("wide_linear.orthogonal_columns", "wide_linear.isotropic_form", "wide_linear.unique_root"),
)
def gaussian_width() -> InDistribution:
    """A wide Gaussian network follows the isotropic dynamics with |δ| = (η_a + η_w)σ²h, up to a relative O(1/√h).

    The deviations of the start, squared and divided by (σ²h)², are of order 1/h with c and d fixed.
    """
    scale = sigma0**2 * h
    outputs, inputs = A.T @ A - scale * eye(c), W.T @ W - scale * eye(d)
    return InDistribution(
        r"for $h\gg\max(d,c)$, $\dot\beta=-GR_c-R_dG$ with $|\delta|=(\eta_a+\eta_w)\sigma^2h$ up to a relative "
        r"$O(1/\sqrt h)$",
        (
            MatrixIdentity(gaussian_mean(A.T @ A, LAW), scale * eye(c), SHAPES, name=r"E A^\top A"),
            MatrixIdentity(gaussian_mean(W.T @ W, LAW), scale * eye(d), SHAPES, name=r"E W^\top W"),
            MatrixIdentity(
                gaussian_mean(trace(outputs @ outputs), LAW) / scale**2, c * (c + 1) / h, SHAPES, SCALED
            ),
            MatrixIdentity(
                gaussian_mean(trace(inputs @ inputs), LAW) / scale**2, d * (d + 1) / h, SHAPES, SCALED
            ),
            MatrixIdentity(
                gaussian_mean(trace(function.T @ function), LAW) / scale**2, d * c / h, SHAPES, SCALED
            ),
        ),
    )
