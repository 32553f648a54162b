r"""How the movement of the first layer scales with the width h, in the phase diagram of two-layer ReLU networks.

The network is f(x) = (1/α) Σ_k a_k σ(w_kᵀx) with a_k ~ N(0, β_a²), w_k ~ N(0, β_W² I) and

    β_aβ_W/α = h^-γ,    β_a/β_W = h^-γ'.

While it fits labels of order one, ‖W(t) - W(0)‖/‖W(0)‖ grows like h to the exponent

    lazy,  γ < 1:                γ - 1 - 2 max(γ', 0), the movement at the first velocity for the time of the kernel;
    lazy,  1 < γ < 1 + γ':       2 (γ - 1 - γ'), as the read-outs grow first, and the balance takes W along;
    rich,  γ > 1, γ' < γ - 1:    min((γ - 1 - γ')/2, γ - 1), without which the labels cannot be fitted.

The three agree on the boundary γ = max(1, 1 + γ'), where the exponent is zero. The arguments are those of
``phase_diagram``. Below γ = 1/2 the network at the start exceeds the labels, and that is left out (kunin2024, Sec. 5).
"""

from __future__ import annotations


def movement_exponent(gamma: float, gamma_prime: float) -> float:
    """The exponent of ‖W(t) - W(0)‖/‖W(0)‖ in the width, for γ ≥ 1/2 and any γ'; negative where it is lazy.

    Raises ValueError for γ < 1/2.
    """
    if not gamma >= 0.5:
        raise ValueError(
            f"gamma must be at least 1/2, got {gamma}: below, the initial network outgrows the labels"
        )
    linear = gamma - 1 - 2 * max(gamma_prime, 0)
    induced = 2 * (gamma - 1 - abs(gamma_prime))
    if max(linear, induced) < 0:
        return max(linear, induced)
    return min((gamma - 1 - gamma_prime) / 2, gamma - 1)
