"""The potential whose mirror flow, in warped time, is the dynamics of β.

M⁻¹ is not the Hessian of anything, but g M⁻¹ with g = √(κ + δ) is: it is the Hessian of

    Φ_δ(β) = (κ - 2δ)√(κ + δ)/3 + max(0, sgn(δ) √2|δ|^{3/2}/3),    κ = √(δ² + 4‖β‖²),

whose gradient is √(κ - δ) β/‖β‖ (kunin2024, App. A.4.2; η_a η_w = 1).
"""

from __future__ import annotations

import sympy as sp

from derivations.single_neuron.quantities import kappa, kappa_minus, kappa_plus, radial_potential
from derivations.single_neuron.regimes import unit_rates, x_beta
from derivations.single_neuron.symbols import beta, delta
from symdyn.calculus.gram import Combination, gradient
from symdyn.calculus.isotropic import Isotropic, hessian
from symdyn.result import result
from symdyn.statement import Definition, Identity

k = kappa(delta, x_beta)
plus, minus = kappa_plus(delta, x_beta), kappa_minus(delta, x_beta)
Phi = radial_potential(delta, x_beta)
g = sp.sqrt(plus)
inverse = Isotropic(2 / plus, -minus / (plus * k), x_beta, beta)


@result(ledger=("kunin2024.phi-delta-potential",), domain=unit_rates, arguments=("beta", "delta"))
def potential():
    """The potential of the time-warped mirror flow."""
    return Identity(hessian(Phi, x_beta, beta), g * inverse, name=r"\nabla^2\Phi_\delta", compiles=Phi)


@result(domain=unit_rates, arguments=("beta", "delta"))
def grad_potential():
    """The gradient of the potential."""
    slope = 2 / sp.sqrt(plus) * beta
    return Identity(gradient(Phi, beta), Combination(slope.terms), name=r"\nabla\Phi_\delta")


@result(ledger=("kunin2024.gM-inverse",), domain=unit_rates, arguments=("beta", "delta"))
def hess_potential():
    """The Hessian of the potential, equal to g M⁻¹."""
    h = -minus / (sp.sqrt(plus) * k)
    return Identity(
        hessian(Phi, x_beta, beta), Isotropic(2 / sp.sqrt(plus), h, x_beta, beta), name=r"g_\delta M^{-1}"
    )


@result(ledger=("kunin2024.g-solution",), domain=unit_rates, arguments=("beta", "delta"))
def time_warp():
    """The warp of time."""
    return Definition(sp.Symbol("g"), g)
