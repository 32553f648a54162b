r"""The preconditioner of an isotropic network: a polynomial in ‖a‖² and W_1ᵀW_1, and in closed form.

Of the terms of M = P_LᵀP_L + Σ_l ‖q_l‖² P_{l-1}ᵀP_{l-1} (`layer_velocity`) telescoping makes G^L and
‖a‖² s^{L-l} G^{l-1}, with s = ‖a‖² - δ and G = W_1ᵀW_1: Lemma 14 of the paper (kunin2024, App. B.2).

In a square network more can be said. Going down, W_l W_lᵀ = q_l q_lᵀ/c - δ I implies the same of W_lᵀW_l, with
q_{l-1} = W_lᵀq_l and s c in place of c, for a square matrix W has WᵀW = W⁻¹(WWᵀ)W. It holds at the top, where c = 1.
So, at the bottom,

    G = ββᵀ/s^L - δ I,        s^L(s + δ) = ‖β‖²,

with the eigenvalues s along β and -δ across. Both enter M through geometric sums, b = s + δ = ‖a‖²,

    across: (-δ)^L + b Σ_l s^l(-δ)^{L-1-l} = s^L,        along: s^L + b L s^{L-1},

so that M = s^L I + (L/s) ββᵀ for every balance.
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.deep_linear.network.chains import a, isotropic, norm2_a
from derivations.deep_linear.network.chains import s as s_of_weights
from derivations.deep_linear.preconditioning.telescoping import SIZES, predictor
from derivations.deep_linear.symbols import L, S, beta, d, delta, e, h, s, x
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix import Declaration, Rules, eye, matrix, orthonormal_columns, rule, vector
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Existence, Identity
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

SQUARE = ({h: 2, d: 2}, {h: 3, d: 3})
r = vector("r", d)
c = sp.Symbol("c", real=True)
log_s, log_e = sp.symbols("y z", real=True)


def lemma_14(gram: Any, depth: int) -> Any:
    """G^L + ‖a‖² Σ_l s^l G^{L-1-l}."""
    total = gram**depth
    for power in range(depth):
        total = total + norm2_a * s_of_weights**power * gram ** (depth - 1 - power)
    return total


@result(
    ledger=("kunin2024.lemma14-M",),
    uses=("deep_linear.layer_velocity", "deep_linear.forward_products", "deep_linear.backward_signals"),
)
def isotropic_dynamics() -> Existence:
    """The dynamics of β in an isotropic network, preconditioned by a polynomial in ‖a‖² and W_1ᵀW_1.

    M is positive semidefinite as in `layer_velocity`; s‖a‖² = ‖W_Lᵀa‖² ≥ 0. Written out for up to three layers.
    """
    facts: list[Any] = []
    for depth in (1, 2, 3):
        W, rules = isotropic(depth)
        velocities, below = {}, eye(d)
        for number, layer in enumerate(W):
            signal = a
            for above in reversed(W[number + 1 :]):
                signal = above.T @ signal
            velocities[layer] = -(signal @ (below @ r).T)
            below = layer @ below
        velocities[a] = -(below @ r)
        moved = -(lemma_14(W[0].T @ W[0], depth) @ r)
        facts.append(MatrixDynamics(predictor(W), moved, velocities, SIZES, rules, name=r"\beta"))
        facts.append(
            MatrixIdentity((W[-1].T @ a).T @ (W[-1].T @ a), norm2_a * s_of_weights * eye(1), SIZES, rules)
        )
    return Existence(
        r"$P_L^\top P_L=G^L$, $\|q_l\|^2P_{l-1}^\top P_{l-1}=\|a\|^2(\|a\|^2-\delta)^{L-l}G^{l-1}$, and $M\succeq0$",
        tuple(facts),
        formula=r"\dot\beta = -M X^\top \rho, \quad M = G^L + \|a\|^2 \sum_{l=0}^{L-1} (\|a\|^2 - \delta)^l G^{L-1-l},"
        r" \quad G = W_1^\top W_1",
    )


SIGNS = {c: 1, delta: -1}


def square_layer() -> tuple[Any, Any, Rules]:
    """A square layer with W Wᵀ = q qᵀ/c - δ I, δ ≠ 0: its inverse is written out."""
    W, q = matrix("W", h, h, "W_l"), vector("q", h, "q_l")

    def sampler(rng: random.Random, sizes: Any) -> dict[Any, Any]:
        n, m, k = (sp.Rational(i, 6) for i in rng.choice(((3, 4, 5), (4, 3, 5), (5, 12, 13))))
        left, right = (orthonormal_columns(rng, sizes[h], sizes[h]) for _ in range(2))
        scale = sp.Rational(rng.randint(1, 4), rng.randint(1, 3))
        drawn = left * sp.diag(k, *([m] * (sizes[h] - 1))) * right.T
        return {W.letter: drawn, q.letter: scale * n * left[:, 0], c: scale**2, delta: -(m**2)}

    rules = (rule(W @ W.T, q @ q.T / c - delta * eye(h)),)
    return (
        W,
        q,
        Rules(Declaration("one direction apart, W Wᵀ is -δ I", rules, (W.letter, q.letter), sampler, SIGNS)),
    )


@result(uses=("deep_linear.backward_signals",))
def first_layer() -> Existence:
    """The first layer of a square isotropic network is a function of β and s: W_1ᵀW_1 = ββᵀ/s^L - δ I.

    One layer is turned round by W Wᵀ ↦ W⁻¹(W Wᵀ)W, where W⁻¹q_l = q_{l-1}/s; from the read-out on, where c = 1, this
    happens L times. For δ = 0 all layers have rank one, and W_1ᵀW_1 = s β̂β̂ᵀ is the same.
    """
    W, q, rules = square_layer()
    arrived = W.T @ q
    next_c = (q.T @ q).scalar() - c * delta
    return Existence(
        r"$W_lW_l^\top=q_lq_l^\top/c-\delta I$ implies $W_l^\top W_l=q_{l-1}q_{l-1}^\top/(sc)-\delta I$",
        (
            MatrixIdentity(W.T @ W, W.inverse() @ (W @ W.T) @ W, SQUARE),
            MatrixIdentity(
                W.inverse() @ (q @ q.T / c - delta * eye(h)) @ W,
                W.inverse() @ q @ arrived.T / c - delta * eye(h),
                SQUARE,
                rules,
            ),
            MatrixIdentity(
                W @ arrived @ arrived.T / next_c,
                q @ arrived.T / c,
                SQUARE,
                rules,
                name=r"W_lq_{l-1}q_{l-1}^\top/(sc)",
            ),
        ),
        formula=r"W_1^\top W_1 = \beta\beta^\top/s^L - \delta I",
    )


in_logarithms = {s: sp.exp(log_s), e: sp.exp(log_e)}
in_logarithms[S] = ((s**L - e**L) / (s - e)).xreplace(in_logarithms)

unbalanced = Domain(
    (s, e, L, S),
    (beta,),
    (
        Cell(
            "δ = -e < 0",
            {e: 1, L: 1},
            where=in_logarithms,
            reason="s, e > 0 are exponentials, and Σ_L is the sum that its recursion gives",
        ),
    ),
    let={x: (s - e) * s**L},
    words="δ < 0, β ≠ 0, square network",
)


@result(domain=unbalanced, uses=("deep_linear.first_layer", "deep_linear.isotropic_dynamics"))
def closed_preconditioner() -> Existence:
    """The preconditioner of a square isotropic network in closed form, M = s^L I + (L/s) ββᵀ with s^L(s + δ) = ‖β‖².

    With b = s - e = ‖a‖² the geometric sum is b Σ_L = s^L - e^L, from Σ_{L+1} = s Σ_L + e^L. The last fact is
    that of δ = 0, where one term of the sum is left. The function `isotropic_preconditioner` computes M from β.
    """
    b = s - e
    across, along = e**L + b * S, s**L + b * L * s ** (L - 1)
    balanced = Domain((s, L), (), (Cell("δ = 0", {L: 1}, {s: sp.exp(log_s)}),))
    return Existence(
        r"the preconditioner of a square isotropic network",
        (
            Identity(b * (s * S + e**L), s ** (L + 1) - e ** (L + 1), name=r"\|a\|^2\,\Sigma_{L+1}"),
            Identity(across, s**L),
            Identity(
                Isotropic(across, along - across, x, beta),
                Isotropic.unnormalised(s**L, L / s, x, beta),
                name="M",
            ),
            Identity(s * s ** (L - 1), s**L, on=balanced),
        ),
        formula=r"M = s^L I + \frac{L}{s} \beta \beta^\top, \quad s^L (s + \delta) = \|\beta\|^2",
    )
