"""The functions of piecewise linear networks that are more than one formula, in one place."""

from derivations.piecewise_linear.arrangement import Regions, activation_regions, two_colouring
from derivations.piecewise_linear.layers import coordinates_rhs, ntk, scale_init

__all__ = [
    "Regions",
    "activation_regions",
    "coordinates_rhs",
    "ntk",
    "scale_init",
    "two_colouring",
]
