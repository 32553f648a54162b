"""The functions of random matrices that are more than one formula, in one place."""

from derivations.random_matrices.jacobian_functions import (
    exact_linear_moments,
    jacobian_moments,
    jacobian_variance,
    largest_depth,
)
from derivations.random_matrices.laws import SpectralLaw, spectral_law

__all__ = [
    "SpectralLaw",
    "exact_linear_moments",
    "jacobian_moments",
    "jacobian_variance",
    "largest_depth",
    "spectral_law",
]
