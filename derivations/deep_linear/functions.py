"""The functions of the deep linear network that are more than one formula, in one place."""

from derivations.deep_linear.learned import inductive_bias, interpolating_solution
from derivations.deep_linear.weights import isotropic_init, isotropic_preconditioner, preconditioner

__all__ = [
    "inductive_bias",
    "interpolating_solution",
    "isotropic_init",
    "isotropic_preconditioner",
    "preconditioner",
]
