r"""The Riccati and Bernoulli equations of c = h in closed form, whether or not ν commutes with S.

Let N = η_a ν + δ/2 I and P = δ²/4 I + η_a η_w S. Then Ṅ = P - N², which u̇ = N u makes linear: ü = P u. Let u and v
start with u = v = I and u̇ = v̇ = N₀, where v̈ = v P. With R = P^½, all functions of R commuting,

    u = cosh Rt + R⁻¹ sinh Rt N₀,        v = cosh Rt + N₀ R⁻¹ sinh Rt.

The Wronskian v u̇ - v̇ u is conserved and zero at first, so that N = u̇ u⁻¹ = v⁻¹ v̇. The inverse Y of C obeys the linear
equation Ẏ = -(N + δ/2)Y - Y(N + δ/2)ᵀ + 2η_w I. Hence, with Z(0) = C₀⁻¹,

    ν = (u̇ u⁻¹ - δ/2 I)/η_a,        C = e^{δt} vᵀ Z⁻¹ v,        Ż = 2η_w e^{δt} v vᵀ,

and Z is a quadratic polynomial of N₀ whose coefficients are integrals of functions of R, known on its eigenvalues.
The paper decouples the system into scalar equations where ν and S share their eigenvectors, and says that it cannot be
solved easily otherwise. Of the way it goes that is true: where ν stays diagonal in a fixed basis, S is diagonal in it.
That there is another way does not contradict it (kunin2024, App. B.1.1).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import sympy as sp

from derivations.wide_linear.solution.shared_width import C_velocity, nu_velocity
from derivations.wide_linear.symbols import J1, J2, J3, S, c, delta, eta_a, eta_w, nu, rho, t
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rule,
    Rules,
    cayley,
    eye,
    matrix,
    positive,
    random_matrix,
    rule,
    substitute,
    zero,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conjunction, Existence, Solution
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity, MatrixStatement

SHAPES = ({c: 2}, {c: 3})
one = eye(c)

P, K, H = (matrix(name, c, c, symmetric=True) for name in "PKH")
N0, N = matrix("N0", c, c, "N_0"), matrix("N", c, c)
u, u_dot, v, v_dot, Z = (
    matrix(name, c, c, tex)
    for name, tex in (("u", "u"), ("ud", r"\dot u"), ("v", "v"), ("vd", r"\dot v"), ("Z", "Z"))
)
Y = matrix("Y", c, c, symmetric=True)
growth = sp.Symbol("E", real=True)

linear = {u: u_dot, u_dot: P @ u, v: v_dot, v_dot: v @ P}


def inverse(of: Expression) -> tuple[Expression, Rules]:
    """A letter for the inverse of another, the rules that say so, and a sampler."""
    letter = matrix(f"{of.letter.name}i", c, c, rf"{of.letter.symbol}^{{-1}}")

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        value = random_matrix(generator, of.letter, sizes)
        return {of.letter: value, letter.letter: value.inv()}

    rules = (rule(of @ letter, one), rule(letter @ of, one))
    return letter, Rules(Declaration("an inverse", rules, (of.letter, letter.letter), sampler))


def _of_one_matrix(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Symmetric matrices with the same eigenvectors."""
    turn = cayley(generator, sizes[c])
    values = random_matrix(generator, matrix("X", c, 3).letter, sizes)
    return {x.letter: turn * sp.diag(*values[:, k]) * turn.T for k, x in enumerate((P, K, H))}


FUNCTIONS = Declaration(
    "P, K and H commute",
    (rule(H @ P, P @ H), rule(K @ P, P @ K), rule(H @ K, K @ H)),
    (P.letter, K.letter, H.letter),
    _of_one_matrix,
)


def functions_of_root() -> tuple[MatrixStatement, ...]:
    """K = cosh Rt and H = R⁻¹ sinh Rt move by K̇ = PH = HP and Ḣ = K; u and v made of them solve ü = Pu and v̈ = vP.

    They start from K = I and H = 0, so that u = v = I and u̇ = v̇ = N₀ at first.
    """
    right, left = solutions = K + H @ N0, K + N0 @ H
    right_speed, left_speed = speeds = P @ H + K @ N0, H @ P + N0 @ K
    at_first = {K: one, H: zero(c, c)}
    first, second = {K: P @ H, H: K}, {K: H @ P, H: K}
    of_root = Rules(FUNCTIONS)
    return (
        MatrixDynamics(right, right_speed, first, SHAPES, of_root, name="u"),
        MatrixDynamics(right_speed, P @ right, first, SHAPES, of_root, name=r"\dot u"),
        MatrixDynamics(left, left_speed, second, SHAPES, of_root, name="v"),
        MatrixDynamics(left_speed, left @ P, second, SHAPES, of_root, name=r"\dot v"),
        *(
            MatrixIdentity(substitute(x, at_first), one, SHAPES, name=f"{name}(0)")
            for name, x in zip("uv", solutions, strict=True)
        ),
        *(
            MatrixIdentity(substitute(x, at_first), N0, SHAPES, name=rf"\dot {name}(0)")
            for name, x in zip("uv", speeds, strict=True)
        ),
    )


@result(ledger=())
def riccati_linearised() -> Conjunction:
    """The Riccati equation is linear in u, of which N = u̇ u⁻¹ is the logarithmic derivative, and in v."""
    ui, of_u = inverse(u)
    shifted = eta_a * nu + delta / 2 * one
    square = delta**2 / 4 * one + eta_a * eta_w * S
    from_right = {u: u_dot, u_dot: P @ u, ui: -ui @ u_dot @ ui}
    return Conjunction(
        MatrixIdentity(eta_a * nu_velocity(nu, S), square - shifted @ shifted, SHAPES, name=r"\dot N"),
        MatrixDynamics(u_dot @ ui, P - u_dot @ ui @ u_dot @ ui, from_right, SHAPES, of_u, name="N"),
        MatrixConservation(v @ u_dot - v_dot @ u, linear, SHAPES),
        *functions_of_root(),
    )


@result(ledger=())
def bernoulli_linearised() -> Conjunction:
    """The inverse of C obeys a linear equation, solved by v and an integral of v vᵀ; E stands for exp(δt)."""
    vi, of_v = inverse(v)
    pull = N + delta / 2 * one
    rate = -pull @ Y - Y @ pull.T + 2 * eta_w * one
    closed = vi @ Z @ vi.T / growth
    own_pull = vi @ v_dot + delta / 2 * one
    moving = {v: v_dot, vi: -vi @ v_dot @ vi, Z: 2 * eta_w * growth * v @ v.T, growth: delta * growth}
    ratio, inverse_Y = (pull - delta * one) / eta_a, Y.inverse()
    return Conjunction(
        MatrixDynamics(inverse_Y, C_velocity(ratio, inverse_Y), {Y: rate}, SHAPES, name="C"),
        MatrixDynamics(
            closed,
            -own_pull @ closed - closed @ own_pull.T + 2 * eta_w * one,
            moving,
            SHAPES,
            Rules(*of_v.declarations, positive(growth)),
            name="C^{-1}",
        ),
        MatrixIdentity(substitute(closed, {vi: one, growth: sp.S.One}), Z, SHAPES, name="C_0^{-1}"),
    )


double = 2 * rho
even = (sp.exp(delta * t) * (delta * sp.cosh(double * t) - double * sp.sinh(double * t)) - delta) / (
    delta**2 - double**2
)
odd = (sp.exp(delta * t) * (delta * sp.sinh(double * t) - double * sp.cosh(double * t)) + double) / (
    delta**2 - double**2
)
flat = (sp.exp(delta * t) - 1) / delta
closed_integrals = {J1: (flat + even) / 2, J2: odd / (2 * rho), J3: (even - flat) / (2 * rho**2)}

generic = Domain(
    (t, delta, rho),
    cells=(Cell("t, R > 0", {t: 1, rho: 1}),),
    conditions=(sp.Ne(delta**2, 4 * rho**2), sp.Ne(delta, 0)),
    words="δ ≠ 0, S invertible; elsewhere by continuity",
)


size = sp.Abs(delta)
computable = (
    ("positive", rho > 0, "rho"),
    ("positive", t > 0, "t"),
    ("at most 600/(|δ| + 2ρ), so that no exponential overflows", (size + 2 * rho) * t <= 600, "t"),
    ("other than 0", sp.Ne(delta, 0), "delta"),
    ("other than ±2ρ", sp.Ne(size, 2 * rho), "delta"),
)


@result(ledger=(), domain=generic, requires=computable)
def riccati_integrals() -> Solution:
    """The integrals in Z are known functions of R, here on one of its eigenvalues.

    Near t = 0, ρ = 0, δ = 0 and δ = ±2ρ digits cancel: values there are computed in more of them, which takes longer.
    """
    root = sp.exp(delta * t)
    cosh, sinh = sp.cosh(rho * t), sp.sinh(rho * t) / rho
    return Solution(
        closed_integrals,
        {J1: root * cosh**2, J2: root * cosh * sinh, J3: root * sinh**2},
        {J1: sp.S.Zero, J2: sp.S.Zero, J3: sp.S.Zero},
        t,
    )


I1, I2, I3 = (matrix(f"J{k}", c, c, f"J_{k}") for k in (1, 2, 3))
nu0 = matrix("nu0", c, c, r"\nu_0")
inverse_C0 = matrix("Ci0", c, c, "C_0^{-1}", symmetric=True)


def _of_one_root(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    """Diagonal matrices in place of two functions of one root."""
    draw = random_matrix(generator, matrix("X", c, 2).letter, sizes)
    return {K.letter: sp.diag(*draw[:, 0]), H.letter: sp.diag(*draw[:, 1])}


COMMUTING = Rules(Declaration("K and H commute", (rule(H @ K, K @ H),), (K.letter, H.letter), _of_one_root))


@result(
    ledger=("kunin2024.ch-solvability",),
    uses=(
        "wide_linear.ratio_dynamics",
        "wide_linear.gram_dynamics",
        "wide_linear.riccati_linearised",
        "wide_linear.bernoulli_linearised",
        "wide_linear.riccati_integrals",
    ),
)
def closed_form() -> Existence:
    """The system of ν and C is solved in closed form for every start, also where ν does not commute with S.

    Both solve their equations and start from ν₀ and C₀; Z does from C₀⁻¹. The integrals J start from zero and move by
    what riccati_integrals has on the eigenvalues of R; K and H, functions of R, commute.
    """
    ui, of_u = inverse(u)
    vi, of_v = inverse(v)
    squared_rate = delta**2 / 4 * one + eta_a * eta_w * S
    by_u = {u: u_dot, u_dot: squared_rate @ u, ui: -ui @ u_dot @ ui}
    by_v = {v: v_dot, vi: -vi @ v_dot @ vi, growth: delta * growth, Z: 2 * eta_w * growth * v @ v.T}
    ratio, gram = (u_dot @ ui - delta / 2 * one) / eta_a, growth * v.T @ Z.inverse() @ v
    ratio_by_v = (vi @ v_dot - delta / 2 * one) / eta_a
    with_rates = Rules(*of_u.declarations, positive(eta_a))
    start = {u: one, ui: one, u_dot: eta_a * nu0 + delta / 2 * one}
    kept = (K + N0 @ H) @ (K + N0 @ H).T
    integral = inverse_C0 + 2 * eta_w * (I1 + N0 @ I2.T + I2 @ N0.T + N0 @ I3 @ N0.T)
    integrands = {I1: growth * K @ K, I2: growth * K @ H, I3: growth * H @ H}
    return Existence(
        r"$\nu=(\dot uu^{-1}-\frac\delta2I)/\eta_a$ and $C=e^{\delta t}v^\top Z^{-1}v$ with "
        r"$Z=C_0^{-1}+2\eta_w(J_1+N_0J_2+J_2N_0^\top+N_0J_3N_0^\top)$",
        (
            MatrixDynamics(ratio, nu_velocity(ratio, S), by_u, SHAPES, with_rates, name=r"\nu"),
            MatrixIdentity(substitute(ratio, start), nu0, SHAPES, name=r"\nu(0)"),
            MatrixDynamics(gram, C_velocity(ratio_by_v, gram), by_v, SHAPES, of_v, name="C"),
            MatrixIdentity(substitute(gram, {v: one, growth: sp.S.One}), Z.inverse(), SHAPES, name="C(0)"),
            MatrixDynamics(integral, 2 * eta_w * growth * kept, integrands, SHAPES, COMMUTING, name="Z"),
            MatrixIdentity(
                substitute(integral, dict.fromkeys(integrands, zero(c, c))), inverse_C0, SHAPES, name="Z(0)"
            ),
        ),
    )


basis, nu_dot = matrix("E", c, c), matrix("nud", c, c, r"\dot\nu")


def _alike(letters: Sequence[Expression], rules: tuple[Rule, ...]) -> Rules:
    """Matrices that are diagonal in one basis, E with distinct eigenvalues."""

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        turn = cayley(generator, sizes[c])

        def diagonal(letter: Expression) -> sp.Matrix:
            return turn * sp.diag(*random_matrix(generator, matrix("X", c, 1).letter, sizes)) * turn.T

        return {letter.letter: diagonal(letter) for letter in letters}

    return Rules(Declaration("one basis", rules, tuple(x.letter for x in letters), sampler))


SHARED = _alike((nu, S), (rule(S @ nu, nu @ S),))
FIXED = _alike((basis, nu, nu_dot), (rule(basis @ nu, nu @ basis), rule(basis @ nu_dot, nu_dot @ basis)))


@result(ledger=("kunin2024.ch-solvability",), uses=("wide_linear.ratio_dynamics",))
def decoupling() -> Existence:
    """The equation of ν decouples into scalar ones in a fixed basis if and only if ν and S share their eigenvectors.

    If they do, they go on doing so. If ν and ν̇ are diagonal in a basis, that is if they commute with a matrix E of
    distinct eigenvalues, then S is, since it is a polynomial of the two.
    """
    task = nu_dot + delta * nu + eta_a * nu @ nu
    velocity = nu_velocity(nu, S)
    return Existence(
        r"$[\nu,S]=0$ stays, and $[\nu,E]=[\dot\nu,E]=0$ gives $[S,E]=0$",
        (
            MatrixIdentity(velocity @ S, S @ velocity, SHAPES, SHARED, name=r"\dot\nu S"),
            MatrixIdentity(substitute(task, {nu_dot: velocity}), eta_w * S, SHAPES, name=r"\eta_wS"),
            MatrixIdentity(task @ basis, basis @ task, SHAPES, FIXED, name=r"\eta_wSE"),
        ),
    )
