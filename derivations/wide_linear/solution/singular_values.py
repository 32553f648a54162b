r"""The singular values of β move like single neurons when the balance is isotropic.

AAᵀ and WWᵀ differ by a multiple of the identity after scaling with the rates, so they share eigenvectors y. Write
Aᵀy = p v and Wᵀy = q u: then βv = pq u and βᵀu = pq v, so that u, v are singular vectors of β with the (signed)
singular value λ = pq, and eigenvectors of WᵀW and AᵀA with the eigenvalues q² and p². Isotropy is η_w p² - η_a q² = δ,
hence

    η_w p² + η_a q² = √(δ² + 4 η_a η_w λ²),        λ̇ = uᵀβ̇v = -(η_w p² + η_a q²) uᵀGv.

There are h such directions; what singular values there are beyond stay zero. Signed singular values along analytic
singular vectors are meant: sorted absolute values have kinks where they cross or vanish, and where two are equal only
the singular vectors that go on along the path will do. The paper asks for neither. Its own start A = 0, W = I, where
β = 0 and every orthonormal basis has singular vectors, moves to β_* = [[0, 1], [1, 0]] by λ̇ = (1, 1), of which the
vectors U = V = I see nothing (kunin2024, App. B.1.7).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import balance, beta, flow
from derivations.wide_linear.starts.isotropy import RATES, layer, possible_signs, singular_values
from derivations.wide_linear.symbols import SIZES, A, G, W, X, Y, c, d, delta, eta_a, eta_w, h, p, q, sigma, t
from symdyn.calculus.matrix import (
    Declaration,
    Rules,
    cayley,
    derivative,
    matrix,
    orthonormal_columns,
    random_matrix,
    rule,
    trace,
    unit,
    vector,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import added, defined, meaning, stated
from symdyn.statements.kinds import Conjunction, Existence, Identity, Limit
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

DISTINCT = (
    "λ_i is simple and not zero, or u, v are the singular vectors that go on along the path and λ has a sign: where"
    " singular values coincide others decompose β as well, and where one vanishes it has a kink"
)
y, u, v = vector("y", h), vector("u", d), vector("v", c)
lam = p * q
beta_dot = derivative(beta, flow)


def _draw_triple(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Isotropic weights with one of their neuron directions and its two singular vectors."""
    shape = tuple(sizes[size] for size in (h, d, c))
    sign = generator.choice(possible_signs(*shape))
    ps, qs, balance_, rate_a, rate_w = singular_values(generator, sign, *shape)
    basis = cayley(generator, shape[0])
    (readout, V), (input_, U) = layer(generator, basis, ps, shape[2]), layer(generator, basis, qs, shape[1])
    return {
        A.letter: readout,
        W.letter: input_,
        y.letter: basis[:, 0],
        u.letter: U[:, 0],
        v.letter: V[:, 0],
        p: ps[0],
        q: qs[0],
        delta: balance_,
        eta_a: rate_a,
        eta_w: rate_w,
    }


TRIPLE_RULES = (
    rule(A.T @ y, p * v),
    rule(A @ v, p * y),
    rule(W.T @ y, q * u),
    rule(W @ u, q * y),
    *(r for x in (y, u, v) for r in unit(x).rules),
)
TRIPLE = Rules(Declaration("a neuron direction", TRIPLE_RULES, (A.letter, W.letter), _draw_triple, RATES))
"""Isotropic weights and a neuron direction y with Aᵀy = p v, Wᵀy = q u."""

SHAPES = ({h: 2, d: 3, c: 2}, {h: 2, d: 2, c: 3}, {h: 1, d: 2, c: 2})


def _draw_moving(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """A matrix, one of its singular values, and velocities that keep the singular vectors of unit length."""
    inputs, outputs = sizes[d], sizes[c]
    rank = min(inputs, outputs)
    left, right = (orthonormal_columns(generator, size, rank) for size in (inputs, outputs))
    values = [sp.Rational(generator.randint(-6, 6), 2) for _ in range(rank)]

    def turning(vector_: sp.Matrix, size: int) -> sp.Matrix:
        free = random_matrix(generator, matrix("Z", size, size).letter, {})
        return (free - free.T) * vector_

    return {
        B.letter: left * sp.diag(*values) * right.T,
        u.letter: left[:, 0],
        v.letter: right[:, 0],
        du.letter: turning(left[:, 0], inputs),
        dv.letter: turning(right[:, 0], outputs),
        sigma: values[0],
    }


B, B_dot = matrix("B", d, c, r"\beta"), matrix("B_dot", d, c, r"\dot\beta")
du, dv = vector("du", d, r"\dot u"), vector("dv", c, r"\dot v")
MOVING = Rules(
    Declaration(
        "singular vectors that move",
        (
            rule(B @ v, sigma * u),
            rule(u.T @ B, sigma * v.T),
            rule(u.T @ du, 0),
            rule(v.T @ dv, 0),
            *unit(u).rules,
            *unit(v).rules,
        ),
        (B.letter, u.letter, v.letter, du.letter, dv.letter),
        _draw_moving,
    )
)


@result(ledger=("kunin2024.sv-derivative",), hypotheses=(added(DISTINCT, "singular vectors that move"),))
def singular_value_derivative() -> Conjunction:
    """A signed, analytic singular value changes by what the velocity does between its singular vectors.

    These turn without effect. Sorted absolute values have no derivative where two cross or one vanishes.
    """
    return Conjunction(
        MatrixIdentity((u.T @ B @ v).scalar(), sigma, ({d: 2, c: 3}, {d: 3, c: 2}), MOVING, name=r"\sigma"),
        MatrixDynamics(
            (u.T @ B @ v).scalar(),
            (u.T @ B_dot @ v).scalar() + (du.T @ B @ v).scalar() + (u.T @ B @ dv).scalar(),
            {B: B_dot, u: du, v: dv},
            ({d: 2, c: 3}, {d: 3, c: 2}),
            name=r"\sigma",
        ),
        MatrixIdentity(
            (du.T @ B @ v).scalar() + (u.T @ B @ dv).scalar(), sp.S.Zero, ({d: 2, c: 3}, {d: 3, c: 2}), MOVING
        ),
    )


first, second = sp.symbols("l1 l2", real=True)
v11, v12, v21, v22 = sp.symbols("v11 v12 v21 v22", real=True)
apart = sp.Symbol("apart", real=True)
TWO_VALUES = meaning("an example: two singular values λ_1 ≥ λ_2 ≥ 0, apart, equal or zero", first, second)
TWO = (t, first, second, v11, v12, v21, v22)
SIMPLE = Cell("λ_1 > λ_2 > 0", {second: 1, apart: 1}, {first: second + apart})
EQUAL = Cell("λ_1 = λ_2 > 0", {second: 1}, {first: second})
VANISHING = Cell(
    "β = 0",
    {v12: 1},
    {first: sp.S.Zero, second: sp.S.Zero, v11: sp.S.Zero, v22: sp.S.Zero, v21: v12},
    "A = 0, W = I and β_* = v_12 [[0, 1], [1, 0]]",
)
any_two = Domain(
    TWO, (), (SIMPLE, EQUAL, VANISHING), words="β = diag(λ_1, λ_2) with U = V = I, d = c = h = 2"
)
two_apart = any_two.with_cells(SIMPLE)


def first_velocities(entries: Sequence[sp.Expr]) -> Existence:
    """The velocities of the two singular values of diag(λ_1, λ_2) + t V at t = 0 are V_11 and V_22."""
    (x, y), (z, w) = (entries[0], entries[1]), (entries[2], entries[3])
    one, other = first + t * x, second + t * w
    sum_, gap = (
        sp.sqrt((one + sign * other) ** 2 + t**2 * (y - sign * z) ** 2) for sign in (1, -1)
    )  # the sum of the two singular values and their difference
    return Existence(
        r"$\dot\lambda=\mathrm{diag}(U^\top\dot\beta V)$ for the singular vectors $U=V=I$ of a diagonal β",
        (
            Limit(((sum_ + gap) / 2 - first) / t, t, sp.S.Zero, x),
            Limit(((sum_ - gap) / 2 - second) / t, t, sp.S.Zero, w),
        ),
    )


@printed(
    "kunin2024.sv-derivative",
    quote=r"collected $\dot\lambda=\mathrm{diag}(U^\top\dot\beta V)$",
    domain=any_two,
    hypothesis=DISTINCT,
    under=two_apart,
    hypotheses=(TWO_VALUES,),
)
def printed_singular_value_derivative() -> Existence:
    """As printed, for the singular values and any of their singular vectors, on β + tβ̇ with t > 0."""
    return first_velocities((v11, v12, v21, v22))


@result(ledger=("kunin2024.lemma10-alignment",))
def aligned_layers() -> Existence:
    """The eigenvectors of AᵀA and WᵀW are the right and left singular vectors of β; their eigenvalues from λ and δ.

    As pq grows with p² where η_w p² - η_a q² = δ, different eigenvalues belong to different singular values.
    """
    return Existence(
        r"under $\Delta=\delta I_h$: $\eta_w(\Sigma_A^2)_{ii}=\eta_a(\Sigma_W^2)_{ii}+\delta$, "
        r"$(\Sigma_W^2)_{ii}(\Sigma_A^2)_{ii}=\lambda_i^2$",
        (
            MatrixIdentity(A.T @ A @ v, p**2 * v, SHAPES, TRIPLE),
            MatrixIdentity(W.T @ W @ u, q**2 * u, SHAPES, TRIPLE),
            MatrixIdentity(beta @ v, lam * u, SHAPES, TRIPLE),
            MatrixIdentity(beta.T @ u, lam * v, SHAPES, TRIPLE),
            MatrixIdentity((y.T @ balance @ y).scalar(), eta_w * p**2 - eta_a * q**2, SHAPES, TRIPLE),
        ),
    )


squares = Domain((delta, q), cells=(Cell("Δ = I"),), let={p: sp.sqrt(q**2 + 1)}, words="Δ = I_h, unit rates")


@printed(
    "kunin2024.lemma10-alignment",
    quote=r"Under $\Delta=\mathbf I_h$",
    domain=squares,
    severity="typo",
    hypotheses=(stated("App. B.1.7, proof of Lemma 10", "Δ = I_h, and unit rates", p),),
)
def printed_aligned_layers() -> Identity:
    """As printed: δ in the relation of the eigenvalues, but Δ = I_h, which makes it 1, where δ I_h is meant."""
    return Identity(p**2, q**2 + delta)


speed = eta_w * p**2 + eta_a * q**2
relation = eta_w * p**2 - eta_a * q**2
OF_PAIR = meaning("δ = η_w p² - η_a q² and λ = p q are those of a neuron direction", *defined(delta, sigma))
rates = Domain(
    (p, q, eta_a, eta_w),
    cells=(Cell("positive rates", RATES),),
    let={delta: relation, sigma: lam},
    hypotheses=(OF_PAIR,),
)
kappa = sp.sqrt(delta**2 + 4 * eta_a * eta_w * sigma**2)


@result(
    ledger=("kunin2024.lemma10-M-diagonal", "kunin2024.lemma10-rank-deficient"),
    domain=rates,
    uses=("wide_linear.aligned_layers", "wide_linear.singular_value_derivative"),
    arguments=("sigma", "delta", "eta_a", "eta_w"),
    hypotheses=(added(DISTINCT),),
)
def singular_value_dynamics() -> Existence:
    """Each singular value, signed and analytic, follows its own gradient, at the speed κ of a single neuron.

    The speed is even in λ_i: along analytic singular vectors a singular value may pass through zero and be negative.

    The network is isotropic. There are h directions y, of which min(d, h, c) have a left and a right singular vector of
    β. A pair u, v beyond them, with i > h, has Wu = 0 and Av = 0, and its singular value stays zero.
    """
    beyond = Rules(
        Declaration(
            "no neuron for this pair",
            (rule(A @ v, 0 * y), rule(W @ u, 0 * y)),
            (A.letter, W.letter, u.letter, v.letter),
            _draw_beyond,
            RATES,
        )
    )
    wide = ({h: 1, d: 2, c: 2}, {h: 2, d: 3, c: 4})
    projected = (u.T @ beta_dot @ v).scalar()
    return Existence(
        r"$\dot\lambda=-M\nabla_\lambda\mathcal L$ with $M_{ii}=\sqrt{\delta^2+4\eta_a\eta_w\lambda_i^2}$ "
        r"for $i\le\min(d,h,c)$ and 0 otherwise: for $i>h$",
        (
            MatrixIdentity(projected, -speed * (u.T @ G @ v).scalar(), SHAPES, TRIPLE, name=r"\dot\lambda_i"),
            MatrixIdentity((y.T @ balance @ y).scalar(), relation, SHAPES, TRIPLE, name=r"\delta"),
            Identity(speed, kappa, name="M_{ii}"),
            MatrixIdentity(projected, sp.S.Zero, wide, beyond, name=r"\dot\lambda_i"),
        ),
        compiles=kappa,
    )


balanced_two = replace(any_two, scalars=(*TWO, delta))
balanced_apart = balanced_two.with_cells(SIMPLE)


def isotropic_velocities() -> tuple[sp.Expr, sp.Expr, sp.Expr, sp.Expr]:
    """What isotropic weights make of the gradient G: -κ_i G_ii, and -(κ_1 + κ_2) G_ij/2 off the diagonal.

    For AᵀA = diag(p_i²), WᵀW = diag(q_i²) with p_i² = (κ_i + δ)/2 and q_i² = (κ_i - δ)/2, -(G AᵀA + WᵀW G).
    """
    one, other = (sp.sqrt(delta**2 + 4 * x**2) for x in (first, second))
    mixed = (one + other) / 2
    return -one * v11, -mixed * v12, -mixed * v21, -other * v22


@printed(
    "kunin2024.lemma10-M-diagonal",
    quote=r"$\dot\lambda=-M\nabla_\lambda\mathcal L$",
    domain=balanced_two,
    hypothesis=DISTINCT,
    under=balanced_apart,
    hypotheses=(TWO_VALUES,),
)
def printed_singular_value_dynamics() -> Existence:
    """As printed, for the singular values, with the gradient ∂L/∂λ_i = (UᵀGV)_ii of the paper; v_ij are those of G."""
    return first_velocities(isotropic_velocities())


def _draw_beyond(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Weights of fewer neurons than inputs and outputs, and vectors that they do not see."""
    hidden, inputs, outputs = (sizes[size] for size in (h, d, c))
    left, right = cayley(generator, inputs), cayley(generator, outputs)
    drawn = {rate: abs(random_matrix(generator, matrix("Z", 1, 1).letter, {})[0]) for rate in (eta_a, eta_w)}

    def weights(basis: sp.Matrix, size: int) -> sp.Matrix:
        free = sp.Matrix(hidden, size - 1, lambda i, j: generator.randint(-4, 4))
        return free * basis[:, 1:].T

    return drawn | {
        W.letter: weights(left, inputs),
        A.letter: weights(right, outputs),
        u.letter: left[:, 0],
        v.letter: right[:, 0],
    }


size, hidden = sp.symbols("m h", real=True)
widths = Domain(
    (size, hidden),
    sampler=lambda generator, _: {
        hidden: (below := generator.randint(1, 3)),
        size: below + generator.randint(1, 3),
    },
    words="h < m = min(d, c), δ ≠ 0",
)


@printed(
    "kunin2024.lemma10-rank-deficient",
    quote=r"If $h<\min(d,c)$ then $M_{ii}=0$ for $i>\min(d,c)$",
    domain=widths,
    severity="typo",
    hypotheses=(stated("App. B.1.7, proof of Lemma 10", "h < min(d, c)", size, hidden),),
)
def printed_rank_deficient() -> Identity:
    """As printed, the zeros on the diagonal of M begin after its last entry, i = m = min(d, c), so that there are none.

    But m - h entries are zero, those with i > h.
    """
    return Identity(size - hidden, size - size, name=r"\#\{i : M_{ii} = 0\}")


@result(ledger=("kunin2024.lemma10-gradient",))
def singular_value_gradient() -> Conjunction:
    """The gradient of the squared loss in a singular value is what Xᵀ(Xβ - Y) does between its singular vectors.

    Moving λ_i alone moves β in the direction u vᵀ.
    """
    fit = X @ B - Y
    slope = (u.T @ X.T @ fit @ v).scalar()
    return Conjunction(MatrixDynamics(trace(fit.T @ fit) / 2, slope, {B: u @ v.T}, SIZES, name=r"\mathcal L"))
