"""The functions of the single-neuron network that are more than one formula, in one place."""

from derivations.single_neuron.exact_solution import mu_phi, trajectory
from derivations.single_neuron.interpolation import implicit_bias, nullspace_alpha
from derivations.single_neuron.separatrix import basin, crossing_time, separatrix_distance

__all__ = [
    "basin",
    "crossing_time",
    "implicit_bias",
    "mu_phi",
    "nullspace_alpha",
    "separatrix_distance",
    "trajectory",
]
