"""The functions of the wide linear network that are more than one formula, in one place."""

from derivations.wide_linear.entropy_functions import (
    hyperbolic_entropy,
    hyperbolic_entropy_gradient,
    hyperbolic_entropy_hessian,
)
from derivations.wide_linear.isotropic_functions import isotropic_init, isotropic_preconditioner
from derivations.wide_linear.linear_flow import LinearFlow, isotropic_flow
from derivations.wide_linear.regime_function import regime
from derivations.wide_linear.riccati_flow import matrix_riccati
from derivations.wide_linear.singular_path import signed_svd_path
from derivations.wide_linear.weight_functions import (
    conserved,
    neuron_preconditioners,
    neuron_sum,
    preconditioner,
    unvec,
    vec,
)

__all__ = [
    "LinearFlow",
    "conserved",
    "hyperbolic_entropy",
    "hyperbolic_entropy_gradient",
    "hyperbolic_entropy_hessian",
    "isotropic_flow",
    "isotropic_init",
    "isotropic_preconditioner",
    "matrix_riccati",
    "neuron_preconditioners",
    "neuron_sum",
    "preconditioner",
    "regime",
    "signed_svd_path",
    "unvec",
    "vec",
]
