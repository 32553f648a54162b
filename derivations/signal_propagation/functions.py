"""The functions of signal propagation that are more than one formula, in one place."""

from derivations.signal_propagation.activations import Activation, activation
from derivations.signal_propagation.map_functions import (
    chi,
    correlation_gap,
    correlation_map,
    depth_scales,
    edge_of_chaos,
    edge_points,
    fixed_point,
    fixed_points,
    from_fixed_point,
    length_map,
)

__all__ = [
    "Activation",
    "activation",
    "chi",
    "correlation_gap",
    "correlation_map",
    "depth_scales",
    "edge_of_chaos",
    "edge_points",
    "fixed_point",
    "fixed_points",
    "from_fixed_point",
    "length_map",
]
