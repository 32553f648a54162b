"""Initialisations that fix the balance between the layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from numerics.measures.arrays import doubles
from symdyn.catalogue.implements import implements


@implements("single_neuron.weights_from_mu")
def single_neuron_start(
    beta0: Any, delta: Any, eta_a: Any = 1.0, eta_w: Any = 1.0, sign: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The parameters (a, w) of f(x) = a wᵀx with predictor a w = β₀ and conserved quantity δ, on the sheet of
    a given sign.

    a = ± √((κ + δ) / 2η_w) and ‖w‖ = √((κ − δ) / 2η_a) with κ = √(δ² + 4 η_a η_w ‖β₀‖²). beta0 is (..., d)
    and not zero, delta a scalar or (...). Returns a (...) and w (..., d). Raises ValueError where β₀ = 0,
    which has no direction. Source: Kunin et al. 2024, appendix A.2.6.
    """
    beta0, delta, eta_a, eta_w = doubles(beta0=beta0, delta=delta, eta_a=eta_a, eta_w=eta_w)
    norm = np.linalg.norm(beta0, axis=-1)
    if (norm == 0).any():
        raise ValueError("beta0 must not be zero: w would have no direction")
    kappa = np.hypot(delta, 2 * np.sqrt(eta_a * eta_w) * norm)
    large = np.sqrt((kappa + np.abs(delta)) / 2)
    small = np.sqrt(eta_a * eta_w) * norm / large
    a = sign * np.where(delta >= 0, large, small) / np.sqrt(eta_w)
    return a, beta0 / a[..., None]
