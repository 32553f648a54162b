r"""One output: signed norms and cosines of the neurons, a closed system of 2h variables.

Let c = 1, whitened inputs, n_k = ‖w_k‖, s = ‖β_*‖, and

    μ_k = a_k n_k,    φ_k = w_kᵀβ_*/(n_k s),    Q_kl = w_kᵀw_l/(n_k n_l).

Then β = Σ_k μ_k w_k/n_k has ‖β‖² = μᵀQμ and βᵀβ_* = s φᵀμ, and with κ_k² = Δ_kk² + 4 η_a η_w μ_k² and M_k = 1/n_k²,

    μ̇ = Diag(κ)(s φ - Q μ),        φ̇ = η_w Diag(M) Diag(μ)((s - φᵀμ) 1 + Diag(φ) Q μ - s φ²).

The conserved Δ gives M_k = 2 η_a/(κ_k - Δ_kk) and η_a Q = η_w M μ μᵀ M - M^½ Δ M^½, which closes the system. The paper
prints both equations as they are for the projections w_kᵀβ_*/n_k = s φ_k in place of the cosines; and what multiplies
the first bracket is the vector of ones, where it has the identity matrix (kunin2024, App. B.1.1).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import sympy as sp

from derivations.single_neuron import quantities as single_neuron
from derivations.wide_linear.symbols import Delta, W, d, eta_a, eta_w, h, k, mu, n, phi, readout, s, target
from symdyn.calculus.matrix import (
    Declaration,
    Expression,
    Index,
    Rules,
    basis,
    cayley,
    entry,
    eye,
    random_matrix,
    random_rational,
    substitute,
    sum_over,
)
from symdyn.calculus.matrix.rules import Sizes
from symdyn.catalogue.result import printed, result
from symdyn.compile.named import NamedQuantity
from symdyn.statements.hypothesis import stated
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Conjunction, Existence, Statement
from symdyn.statements.matrix import MatrixDynamics, MatrixIdentity

_same = sp.Symbol("z", real=True)
ones = sum_over(k, basis(k))
WIDTHS = ({h: 2, d: 2, n: 2}, {h: 3, d: 2, n: 2}, {h: 1, d: 3, n: 2})


def component(x: Expression, i: Index) -> sp.Expr:
    """Entry i of a column, as a scalar."""
    return (basis(i).T @ x).scalar()


def diag(of: Callable[[Index], sp.Expr]) -> Expression:
    """The diagonal matrix with the entries of(i)."""
    i = Index("#d", h)
    return sum_over(i, of(i) * basis(i) @ basis(i).T)


def column(of: Callable[[Index], sp.Expr]) -> Expression:
    """The column with the entries of(i)."""
    i = Index("#c", h)
    return sum_over(i, of(i) * basis(i))


def kappa(mu: Expression, Delta: Expression, i: Index) -> sp.Expr:
    return single_neuron.kappa(entry(Delta, i, i), eta_a * eta_w * component(mu, i) ** 2)


def inverse_square(mu: Expression, Delta: Expression, i: Index) -> sp.Expr:
    """1/‖w_i‖² as a function of μ and Δ."""
    return 2 * eta_a / single_neuron.kappa_minus(entry(Delta, i, i), eta_a * eta_w * component(mu, i) ** 2)


def overlaps(mu: Expression, Delta: Expression) -> Expression:
    """Q as a function of μ and Δ."""
    M = diag(lambda i: inverse_square(mu, Delta, i))
    root = diag(lambda i: sp.sqrt(inverse_square(mu, Delta, i)))
    return (eta_w * M @ mu @ mu.T @ M - root @ Delta @ root) / eta_a


apart = NamedQuantity("apart", r"\left(1 - #1\right)", (_same,), 1 - _same, module=__name__)
"""1 - e_iᵀe_j, which leaves the diagonal out of a sum over i and j."""


def others(mu: Expression, Delta: Expression, i: Index, of: Callable[[Index], Any]) -> Any:
    """Σ_j Q_ij x_j without j = i, for x_j = of(j). There Q is 1, by terms that cancel."""
    j = Index("#o", h)
    M = (inverse_square(mu, Delta, i), inverse_square(mu, Delta, j))
    lengths = eta_w * (M[0] * component(mu, i)) * (M[1] * component(mu, j))
    overlap = (lengths - sp.sqrt(M[0]) * entry(Delta, i, j) * sp.sqrt(M[1])) / eta_a
    return sum_over(j, apart(component(basis(i), j)) * overlap * of(j))


def computed_overlaps(mu: Expression, Delta: Expression) -> Expression:
    """Q with its diagonal set apart."""
    i = Index("#d", h)
    return eye(h) + sum_over(i, basis(i) @ others(mu, Delta, i, lambda j: basis(j).T))


def computed_mu_velocity(mu: Expression, phi: Expression, Delta: Expression, s: sp.Expr) -> Expression:
    def velocity(i: Index) -> sp.Expr:
        own = s * component(phi, i) - component(mu, i)
        return kappa(mu, Delta, i) * (own - others(mu, Delta, i, lambda j: component(mu, j)))

    return column(velocity)


def computed_phi_velocity(mu: Expression, phi: Expression, Delta: Expression, s: sp.Expr) -> Expression:
    """φ̇ without φ_i μ_i, which cancels in it."""

    def velocity(i: Index) -> sp.Expr:
        j = Index("#p", h)
        rest = sum_over(j, apart(component(basis(i), j)) * component(phi, j) * component(mu, j))
        turn = component(phi, i) * others(mu, Delta, i, lambda j: component(mu, j))
        bracket = s - rest + turn - s * component(phi, i) ** 2
        return eta_w * inverse_square(mu, Delta, i) * component(mu, i) * bracket

    return column(velocity)


def mu_velocity(mu: Expression, phi: Expression, Q: Expression, Delta: Expression, s: sp.Expr) -> Expression:
    return diag(lambda i: kappa(mu, Delta, i)) @ (s * phi - Q @ mu)


def phi_velocity(mu: Expression, phi: Expression, Q: Expression, Delta: Expression, s: sp.Expr) -> Expression:
    scale = diag(lambda i: inverse_square(mu, Delta, i) * component(mu, i))
    bracket = (s - (phi.T @ mu).scalar()) * ones + diag(lambda i: component(phi, i)) @ Q @ mu
    return eta_w * scale @ (bracket - s * column(lambda i: component(phi, i) ** 2))


def length(i: Index) -> sp.Expr:
    return sp.sqrt((basis(i).T @ W @ W.T @ basis(i)).scalar())


beta = W.T @ readout
norm_star = sp.sqrt((target.T @ target).scalar())
of_weights = (
    column(lambda i: component(readout, i) * length(i)),
    column(lambda i: component(W @ target, i) / (length(i) * norm_star)),
    diag(lambda i: 1 / length(i)) @ W @ W.T @ diag(lambda i: 1 / length(i)),
    eta_w * readout @ readout.T - eta_a * W @ W.T,
    norm_star,
)
"""μ, φ, Q, Δ and s of given weights."""


def in_weights(x: Expression) -> Expression:
    """A function of μ, φ, Δ and s as one of the weights."""
    return substitute(x, {mu: of_weights[0], phi: of_weights[1], Delta: of_weights[3], s: of_weights[4]})


flow = {readout: -eta_a * W @ (beta - target), W: -eta_w * readout @ (beta - target).T}
UNIT = {eta_a: sp.S.One, eta_w: sp.S.One}


def _row(generator: random.Random, size: int) -> sp.Matrix:
    """A rational row whose length is rational."""
    return abs(random_rational(generator)) * cayley(generator, size)[0, :]


def _lengths(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
    rows = [_row(generator, sizes[d]) for _ in range(sizes[h])]
    return {
        W.letter: sp.Matrix.vstack(*rows),
        target.letter: _row(generator, sizes[d]).T,
        readout.letter: random_matrix(generator, readout.letter, sizes),
    }


ACTIVE = {
    eta_a: 1,
    eta_w: 1,
    (basis(k).T @ W @ W.T @ basis(k)).scalar(): 1,
    (target.T @ target).scalar(): 1,
}
"""Positive rates, and no vanishing length of w_k and β_*."""


def _weights(rates: dict[Any, Any]) -> Rules:
    """Weights with rational lengths of w_k and β_*, and rates that are drawn, or given."""

    def sampler(generator: random.Random, sizes: Sizes) -> dict[Any, Any]:
        drawn = {rate: abs(random_rational(generator)) for rate in (eta_a, eta_w)}
        return _lengths(generator, sizes) | drawn | rates

    letters = (W.letter, target.letter, readout.letter)
    return Rules(Declaration("weights of rational length", (), letters, sampler, ACTIVE))


ANY_RATES, UNIT_RATES = _weights({}), _weights(UNIT)


def at_unit_rates(x: Expression) -> Expression:
    """x with both rates 1, where the paper sets them so."""
    return x.map(lambda scalar: scalar.xreplace(UNIT))


unit_flow = {letter: at_unit_rates(velocity) for letter, velocity in flow.items()}


LENGTHS = stated(
    "App. B.1.1, c = 1",
    "w_k ≠ 0 and β_* ≠ 0, by whose lengths φ_k and Q divide",
    "(e[k]'*W*W'*e[k]) > 0",
    "(target'*target) > 0",
)


@result(
    ledger=("kunin2024.c1-variables",),
    hypotheses=(LENGTHS,),
)
def neuron_variables() -> Conjunction:
    """Signed norms, cosines and overlaps of the neurons, and what they say about β = Wᵀa."""
    m, f, Q, _, norm = of_weights
    return Conjunction(
        MatrixIdentity((beta.T @ beta).scalar(), (m.T @ Q @ m).scalar(), WIDTHS, ANY_RATES),
        MatrixIdentity((beta.T @ target).scalar(), norm * (f.T @ m).scalar(), WIDTHS, ANY_RATES),
    )


def _closed(
    velocity: Callable[..., Expression],
    computed: Callable[..., Expression],
    dynamics: MatrixDynamics,
    conclusion: str,
) -> Existence:
    """The chain of a velocity that compiles as a function of μ, φ, Δ and s, which it is in terms of the weights."""

    def facts(found: Expression) -> tuple[Statement, ...]:
        of_found = in_weights(found)
        return (
            dynamics,
            MatrixIdentity(velocity(*of_weights), of_found, WIDTHS, ANY_RATES, name=rf"\dot{dynamics.name}"),
        )

    return Existence.of(computed(mu, phi, Delta, s), facts, conclusion)


@result(
    ledger=("kunin2024.c1-mu-ode",),
    hypotheses=(LENGTHS,),
)
def signed_norm_dynamics() -> Existence:
    """The signed norms of the neurons move like that of a single one, with the part of the others in Qμ."""
    return _closed(
        mu_velocity,
        computed_mu_velocity,
        MatrixDynamics(of_weights[0], mu_velocity(*of_weights), flow, WIDTHS, ANY_RATES, name=r"\mu"),
        r"$\dot\mu=\mathrm{Diag}(\kappa)(s\phi-Q\mu)$, with $s=\|\beta_*\|$",
    )


@result(
    ledger=("kunin2024.c1-phi-ode",),
    hypotheses=(LENGTHS,),
)
def cosine_dynamics() -> Existence:
    """The cosines of the neurons; a bracket is a vector, with the vector of ones where the paper has the identity."""
    return _closed(
        phi_velocity,
        computed_phi_velocity,
        MatrixDynamics(of_weights[1], phi_velocity(*of_weights), flow, WIDTHS, ANY_RATES, name=r"\phi"),
        r"$\dot\phi=\eta_wM\,\mathrm{Diag}(\mu)\left((s-\phi^\top\mu)1_h+\mathrm{Diag}(\phi)Q\mu-s\phi^2\right)$, "
        r"with $s=\|\beta_*\|$ and $M=2\eta_a(\kappa-\mathrm{Diag}(\Delta))^{-1}$",
    )


@result(
    ledger=("kunin2024.c1-Q-closure",),
    hypotheses=(LENGTHS,),
)
def overlaps_from_norms() -> Characterised:
    """The overlaps of the input weights are known from the signed norms and the conserved balance."""
    return Characterised.of(
        computed_overlaps(mu, Delta),
        lambda found: (MatrixIdentity(of_weights[2], in_weights(found), WIDTHS, ANY_RATES, name="Q"),),
    )


@printed(
    "kunin2024.c1-mu-ode",
    quote=r"$\dot\mu=\sqrt{\mathrm{Diag}(\Delta)^2+4\mathrm{Diag}(\mu)^2}\,(\phi-Q\mu)$",
    severity="convention",
    hypotheses=(LENGTHS,),
)
def printed_signed_norm_dynamics() -> MatrixDynamics:
    """As printed, for unit rates: right if φ_k were the projection w_kᵀβ_*/‖w_k‖ and not the cosine."""
    velocity = at_unit_rates(mu_velocity(*of_weights[:-1], sp.S.One))
    return MatrixDynamics(of_weights[0], velocity, unit_flow, WIDTHS, UNIT_RATES, name=r"\mu")


@printed(
    "kunin2024.c1-phi-ode",
    quote=r"\big((\|\beta_*\|^2-\phi^\top\mu)I_h+\mathrm{Diag}(\phi)Q\mu-\phi^2\big)",
    severity="convention",
    hypotheses=(LENGTHS,),
)
def printed_cosine_dynamics() -> MatrixDynamics:
    """As printed, for unit rates, with 1 for I_h, a matrix among vectors: right for projections, not for cosines."""
    m, f, Q, balance, norm = of_weights
    scale = diag(lambda i: inverse_square(m, balance, i) * component(m, i))
    first = (norm**2 - (f.T @ m).scalar()) * ones
    bracket = first + diag(lambda i: component(f, i)) @ Q @ m - column(lambda i: component(f, i) ** 2)
    return MatrixDynamics(f, at_unit_rates(scale @ bracket), unit_flow, WIDTHS, UNIT_RATES, name=r"\phi")


@printed(
    "kunin2024.c1-Q-closure",
    quote=r"$Q=M\mu\mu^\top M-M^{1/2}\Delta M^{1/2}$",
    hypotheses=(LENGTHS,),
)
def printed_overlaps_from_norms() -> MatrixIdentity:
    """As printed, for unit rates."""
    m, _, Q, balance, _ = (at_unit_rates(x) if hasattr(x, "map") else x for x in of_weights)
    return MatrixIdentity(Q, at_unit_rates(overlaps(m, balance)), WIDTHS, UNIT_RATES, name="Q")
