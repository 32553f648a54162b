r"""With isotropic balance the Gram matrices of the layers are functions of β alone, through a square root.

Multiply η_w AAᵀ - η_a WWᵀ = δ I by Wᵀ and W: N = η_a WᵀW + δ/2 I has the square η_a η_w ββᵀ + δ²/4 I. If N is positive
semidefinite it is the root of that. For δ ≥ 0 it plainly is. For δ < 0 every eigenvalue of η_a WWᵀ is at least |δ|, and
WᵀW has the same ones, unless d > h, when it has zeros in addition and N is not semidefinite: hence h ≥ d. In the same
way η_w AᵀA - δ/2 I is the root of η_a η_w βᵀβ + δ²/4 I, for δ ≤ 0, or δ > 0 and h ≥ c (kunin2024, App. B.1.6, Lemmas 8
and 9).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import sympy as sp

from derivations.wide_linear.network.model import beta
from derivations.wide_linear.preconditioning.neuron_parts import square
from derivations.wide_linear.starts.isotropy import ISOTROPIC, RATES, SHAPES, layer, singular_values
from derivations.wide_linear.symbols import A, W, c, d, delta, eta_a, eta_w, x, y
from symdyn.calculus.gram import norm2
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Rules,
    cayley,
    eye,
    matrix,
    orthogonal,
    rule,
    trace,
    vector,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Conjunction, Existence, Inequality, Statement
from symdyn.statements.matrix import MatrixIdentity

input_root = eta_a * W.T @ W + delta / 2 * eye(d)
readout_root = eta_w * A.T @ A - delta / 2 * eye(c)

any_vectors = (x, y)


SIGN = stated("App. B.1.6, Lemmas 8 and 9", "δ ≥ 0 and δ < 0 apart, as the lemmas take them", delta)


def _semidefinite(form: sp.Expr, sign: int) -> Inequality:
    """That a quadratic form is not negative, for δ of one sign or zero."""
    cells = (
        Cell("δ > 0" if sign > 0 else "δ < 0", {delta: sign, **RATES}),
        Cell("δ = 0", RATES, {delta: sp.S.Zero}),
    )
    return Inequality(form, ">=", on=Domain((delta, eta_a, eta_w), any_vectors, cells, hypotheses=(SIGN,)))


@result(ledger=())
def unique_root() -> Existence:
    """A matrix has at most one positive semidefinite root.

    Let N² = R² and D = R - N, S = R + N. Then DS + SD = 0, so that tr DSD = 0; as S ⪰ 0 this makes SD = 0, and for each
    column v of D, vᵀRv + vᵀNv = 0 makes Rv = Nv = 0; so D² = RD - ND = 0 and D = 0.
    """
    N, R = (matrix(name, d, d, symmetric=True) for name in "NR")
    D, S = R - N, R + N
    sizes = ({d: 2}, {d: 3})
    return Existence(
        "two positive semidefinite matrices with the same square are equal",
        (
            MatrixIdentity(D @ S + S @ D, 2 * (R @ R - N @ N), sizes),
            MatrixIdentity(trace(D @ (D @ S + S @ D)), 2 * trace(D @ S @ D), sizes),
            MatrixIdentity(D @ D, R @ D - N @ D, sizes),
        ),
    )


@result(ledger=("kunin2024.lemma8-completing-square",))
def completed_square() -> Conjunction:
    """Isotropic balance between Wᵀ and W is a quadratic equation for WᵀW, and the square can be completed."""
    gram = W.T @ W
    shifted = gram + delta / (2 * eta_a) * eye(d)
    right = delta**2 / (4 * eta_a**2) * eye(d) + eta_w / eta_a * beta @ beta.T
    return Conjunction(
        MatrixIdentity(eta_a * gram @ gram + delta * gram, eta_w * beta @ beta.T, SHAPES, ISOTROPIC),
        MatrixIdentity(shifted @ shifted, right, SHAPES, ISOTROPIC),
    )


@dataclass(frozen=True)
class Square:
    """A square layer L = O P, with O orthogonal and P symmetric, and the other layer, under isotropic balance.

    With sign = -1 it is L = W, for δ < 0 and h = d, and η_a P² = η_w OᵀAAᵀO - δ I; with sign = 1 it is L = A, for δ > 0
    and h = c, and η_w P² = η_a OᵀWWᵀO + δ I.
    """

    sign: int
    size: Any
    others: Any

    @property
    def rates(self) -> tuple[sp.Expr, sp.Expr]:
        return (eta_a, eta_w)[:: -self.sign]

    @property
    def turn(self) -> Expression:
        return matrix("O", self.size, self.size)

    @property
    def root(self) -> Expression:
        return matrix("P", self.size, self.size, symmetric=True)

    @property
    def other(self) -> Expression:
        return matrix("A" if self.sign < 0 else "W", self.size, self.others)

    @property
    def rules(self) -> Rules:
        mine, rate = self.rates
        seen = self.turn.T @ self.other
        square = (rate * seen @ seen.T + self.sign * delta * eye(self.size)) / mine
        declared = (*orthogonal(self.turn).rules, rule(self.root @ self.root, square))
        letters = (self.turn.letter, self.root.letter, self.other.letter)
        name = "a square layer under isotropic balance"
        return Rules(Declaration(name, declared, letters, self._draw, RATES))

    def _draw(self, generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        n, others = sizes[self.size], sizes[self.others]
        shape = (n, n, others) if self.sign < 0 else (n, others, n)
        p, q, balance, rate_a, rate_w = singular_values(generator, self.sign, *shape)
        mine, theirs = (q, p) if self.sign < 0 else (p, q)
        basis, right = cayley(generator, n), cayley(generator, n)
        signs = sp.diag(*(sp.sign(value) for value in mine))
        return {
            self.turn.letter: basis * signs * right.T,
            self.root.letter: right * sp.diag(*(abs(value) for value in mine)) * right.T,
            self.other.letter: layer(generator, basis, theirs, others)[0],
            delta: balance,
            eta_a: rate_a,
            eta_w: rate_w,
        }

    def facts(self) -> tuple[Statement, ...]:
        """vᵀ(mine LᵀL - sign δ/2 I)v = rate‖(other)ᵀOv‖² + sign δ/2‖v‖², which is positive."""
        mine, rate = self.rates
        v = vector("v", self.size)
        weights, seen = self.turn @ self.root, self.other.T @ self.turn @ v
        shift = sp.Rational(self.sign, 2) * delta
        form = mine * weights.T @ weights - shift * eye(self.size)
        sizes = tuple({self.size: a, self.others: b} for a, b in ((2, 1), (2, 3), (3, 2)))
        sides = (v.T @ form @ v).scalar(), rate * square(seen) + shift * square(v)
        return (
            MatrixIdentity(*sides, sizes, self.rules),
            _semidefinite(rate * norm2(y) + shift * norm2(x), self.sign),
        )


@result(
    ledger=("kunin2024.lemma8-WtW",),
    uses=("wide_linear.completed_square", "wide_linear.unique_root", "wide_linear.isotropic_dimensions"),
)
def input_gram() -> Existence:
    """The Gram matrix of the input weights as a function of β, for δ ≥ 0, or δ < 0 and h ≥ d.

    For δ < 0 isotropy has h ≤ d, so that W is square and invertible, W = O P with O orthogonal. In the inequalities y
    stands for Wx where δ ≥ 0, and for AᵀOx where δ < 0.
    """
    v = vector("v", d)
    form = (v.T @ input_root @ v).scalar()
    return Existence(
        r"$\eta_aW^\top W+\frac\delta2I_d$ is the root of $\eta_a\eta_w\beta\beta^\top+\frac{\delta^2}4I_d$",
        (
            MatrixIdentity(
                input_root @ input_root,
                eta_a * eta_w * beta @ beta.T + delta**2 / 4 * eye(d),
                SHAPES,
                ISOTROPIC,
            ),
            MatrixIdentity(form, eta_a * square(W @ v) + delta / 2 * square(v), SHAPES, ISOTROPIC),
            _semidefinite(eta_a * norm2(y) + delta / 2 * norm2(x), 1),
            *Square(-1, d, c).facts(),
        ),
        formula=r"W^\top W = \frac{1}{\eta_a}\left(-\frac{\delta}{2} I_d"
        r" + \sqrt{\eta_a\eta_w\beta\beta^\top + \frac{\delta^2}{4} I_d}\right)",
    )


@result(
    ledger=("kunin2024.lemma9-AtA",),
    uses=("wide_linear.unique_root", "wide_linear.isotropic_dimensions"),
)
def readout_gram() -> Existence:
    """The Gram matrix of the read-out weights as a function of β, for δ ≤ 0, or δ > 0 and h ≥ c.

    For δ > 0 isotropy has h ≤ c, so that A is square and invertible, A = O P with O orthogonal. In the inequalities y
    stands for Ax where δ ≤ 0, and for WᵀOx where δ > 0.
    """
    v = vector("v", c)
    form = (v.T @ readout_root @ v).scalar()
    return Existence(
        r"$\eta_wA^\top A-\frac\delta2I_c$ is the root of $\eta_a\eta_w\beta^\top\beta+\frac{\delta^2}4I_c$",
        (
            MatrixIdentity(
                readout_root @ readout_root,
                eta_a * eta_w * beta.T @ beta + delta**2 / 4 * eye(c),
                SHAPES,
                ISOTROPIC,
            ),
            MatrixIdentity(form, eta_w * square(A @ v) - delta / 2 * square(v), SHAPES, ISOTROPIC),
            _semidefinite(eta_w * norm2(y) - delta / 2 * norm2(x), -1),
            *Square(1, c, d).facts(),
        ),
        formula=r"A^\top A = \frac{1}{\eta_w}\left(\frac{\delta}{2} I_c"
        r" + \sqrt{\eta_a\eta_w\beta^\top\beta + \frac{\delta^2}{4} I_c}\right)",
    )
