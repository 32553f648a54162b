"""Which interpolator the single-neuron network learns: Theorem 1 of the paper, for all rates and every balance.

The dual variable of β is the input weight itself: with x = η_a η_w‖β‖² and κ = √(δ² + 4x) the function Ψ_δ =
(κ - 2δ)√(κ + δ)/3 has the gradient √(η_a η_w(κ - δ)) β/‖β‖ = sgn(a) η_a √(2η_w) w. Gradient flow moves w
within row(X). So as long as a keeps its sign, ∇Ψ_δ(β_∞) - ∇Ψ_δ(β_0) lies in row(X): β_∞ satisfies the
condition of Karush, Kuhn and Tucker for minimising the strictly convex

    Ψ_δ(β) - ψ_δ β̂_0ᵀβ,        ψ_δ = √(η_a η_w(κ_0 - δ)),

among the interpolators. In Sec. 3 the paper states this with the rates in δ but not in κ and ψ_δ, which needs
η_a η_w = 1; App. A assumes that (kunin2024, Theorem 1).
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from derivations.single_neuron.interpolators.endpoints import endpoints
from derivations.single_neuron.preconditioning.limits import on_functions
from derivations.single_neuron.preconditioning.of_the_neuron import k, plus, weights
from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus
from derivations.single_neuron.regimes import REGIME, function_space, unit_rates, x_beta
from derivations.single_neuron.symbols import a, beta, beta0, beta_end, delta, eta_a, eta_w, n0, r, w
from symdyn.calculus.gram import Combination, Linear, Vector, gradient, inner, norm, norm2, substitute
from symdyn.calculus.isotropic import Isotropic, hessian
from symdyn.catalogue.result import printed, result
from symdyn.compile.named import unfold
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import stated
from symdyn.statements.kinds import Dynamics, Identity, Inequality, Limit, Minimiser

product = eta_a * eta_w

MINIMISER = (
    r"\beta_\infty = \operatorname{argmin}_{X \beta = y} "
    r"\Psi_\delta(\beta) - \psi_\delta \hat\beta_0^\top \beta"
)


def Psi(rates: sp.Expr = product, at: Linear = beta) -> sp.Expr:
    """Ψ_δ = (κ - 2δ)√(κ + δ)/3 with κ = √(δ² + 4 rates ‖β‖²)."""
    x = rates * norm2(at)
    return (kappa(delta, x) - 2 * delta) * sp.sqrt(kappa_plus(delta, x)) / 3


def psi(rates: sp.Expr = product, at: Linear = beta0) -> sp.Expr:
    """ψ_δ, the length of the gradient of Ψ_δ at the start."""
    return sp.sqrt(rates) * sp.sqrt(kappa_minus(delta, rates * norm2(at)))


def dual(rates: sp.Expr = product, at: Linear = beta) -> Combination:
    """∇Ψ_δ at a vector."""
    return substitute(gradient(Psi(rates), beta), {beta: at})


pairs = replace(
    function_space,
    vectors=(beta, beta0, r),
    hypotheses=(
        stated("Sec. 3, Theorem 1", "β(t) ≠ 0 for all t ≥ 0, at the start in particular", norm2(beta0), a),
    ),
)
signed_weights = weights.with_cells(
    *(Cell(f"a {'>' if s > 0 else '<'} 0", {a: s, eta_a: 1, eta_w: 1}) for s in (1, -1))
)


@result(ledger=("kunin2024.thm1-potential",), domain=replace(unit_rates, vectors=(beta0,)))
def linear_term() -> Identity:
    """The two parts of the objective fit: ψ_δ β_0/‖β_0‖ is the gradient of Ψ_δ at β_0, the minimiser without data."""
    one = sp.S.One
    at_start = replace(
        unit_rates, vectors=(beta0,), cells=cells_at(beta0, unit_rates), hypotheses=pairs.hypotheses
    )
    return Identity(dual(one, beta0), psi(one) / norm(beta0) * beta0, on=at_start)


def cells_at(vector: Vector, domain: Domain) -> tuple[Cell, ...]:
    """The cells of a domain of β, for another vector."""
    return tuple(
        replace(c, signs={s: v for s, v in c.signs.items() if s != x_beta} | {norm2(vector): 1})
        for c in domain.cells
    )


@result(
    ledger=("kunin2024.thm1-implicit-bias",),
    domain=pairs,
    uses=("single_neuron.time_warp_condition", "single_neuron.bregman_projection"),
)
def implicit_bias_of_the_neuron() -> Minimiser:
    """The learned interpolator minimises Ψ_δ(β) - ψ_δ β̂_0ᵀβ, for all rates, every balance, and any data.

    If β_∞ = 0, which needs y = 0, the limit of the dual variable is a subgradient of Ψ_δ there, and the
    conclusion stands.
    """
    written, g = unfold(Psi()), sp.sqrt(plus)
    across, along = 2 * product / g, product * g / k
    at_start = replace(pairs, cells=cells_at(beta0, pairs))
    return Minimiser(
        r"the end of a trajectory with $\beta(t)\ne0$ that interpolates",
        (
            Identity(gradient(written, beta), sp.sign(a) * eta_a * sp.sqrt(2 * eta_w) * w, on=signed_weights),
            Dynamics(dual(), -product * g * r, under=on_functions),
            Identity(dual(at=beta0), psi() / norm(beta0) * beta0, on=at_start),
            stationarity(product, endpoints()),
            stationarity(product, endpoints(-1, -1)),
            Identity(hessian(written, x_beta, beta), Isotropic(across, along - across, x_beta, beta)),
            Inequality(across, ">"),
            Inequality(along, ">"),
        ),
        formula=MINIMISER,
    )


def stationarity(rates: sp.Expr, domain: Domain | None = None) -> Identity:
    """n_0ᵀ(∇Ψ_δ(β_∞) - ψ_δ β̂_0) = 0: the gradient of the objective has no part in the null space of the data."""
    in_the_end, at_start = inner(n0, dual(rates, beta_end)), inner(n0, psi(rates) / norm(beta0) * beta0)
    return Identity(in_the_end, at_start, on=domain)


@printed(
    "kunin2024.thm1-implicit-bias",
    quote=r"$\beta(\infty)=\arg\min_\beta\ \Psi_\delta(\beta)-\psi_\delta\frac{\beta_0^\top}{\|\beta_0\|}\beta$",
    domain=endpoints(),
    hypothesis="η_a η_w = 1, assumed from App. A.3 on but not in Sec. 3, where the theorem stands",
    under=endpoints(product_one=True),
)
def printed_theorem_1() -> Minimiser:
    """As printed, with κ = √(δ² + 4‖β‖²): stationarity at the end of a trajectory that does not cross zero."""
    return Minimiser(
        r"$\nabla\Psi_\delta(\beta_\infty)-\psi_\delta\hat\beta_0$ has no part in the null space of $X$",
        (stationarity(sp.S.One),),
        formula=MINIMISER,
    )


@result(
    ledger=("kunin2024.thm1-vanishing-init",),
    domain=pairs,
    uses=("single_neuron.implicit_bias_of_the_neuron",),
)
def vanishing_initialization() -> Minimiser:
    """From a vanishing start, δ ≥ 0 leads to the least norm, and far downstream the direction of the start is kept.

    ψ_δ² = η_a η_w(κ_0 - δ) is below 2x_0/δ times η_a η_w upstream and of the order of ‖β_0‖ in balance: it
    vanishes with β_0, and what remains, Ψ_δ, increases with ‖β‖. Downstream ψ_δ² > 2η_a η_w|δ|. As δ → -∞ the
    objective over √(2η_a η_w|δ|) tends to ‖β‖ - β̂_0ᵀβ, which is zero on the ray of β_0 and positive
    elsewhere.
    """
    upstream, balanced, downstream = (
        pairs.with_cells(cell).supposing(REGIME) for cell in cells_at(beta0, pairs)
    )
    x0 = norm2(beta0)
    tilt = kappa_minus(delta, product * x0)
    large = sp.sqrt(-2 * product * delta)
    rejection = x0 * beta - inner(beta, beta0) * beta0
    return Minimiser(
        r"for $\beta_0\to0$ the bias is $\|\beta\|$ if $\delta\ge0$, "
        r"and $\|\beta\|-\hat\beta_0^\top\beta$ as $\delta\to-\infty$",
        (
            Inequality(tilt, "<", 2 * product * x0 / delta, on=upstream),
            Identity(tilt, 2 * sp.sqrt(product) * norm(beta0), on=balanced),
            Inequality(sp.diff(unfold(Psi()), x_beta), ">"),
            Inequality(tilt, ">", -2 * delta, on=downstream),
            Limit(Psi() / large, delta, -sp.oo, norm(beta), on=any_balance),
            Limit(psi() / large, delta, -sp.oo, sp.S.One, on=any_balance),
            Identity(norm2(rejection), x0 * (x_beta * x0 - inner(beta, beta0) ** 2)),
        ),
    )


any_balance = pairs.with_cells(Cell("any balance", {x_beta: 1, norm2(beta0): 1, eta_a: 1, eta_w: 1}))
