"""Networks with a piecewise linear activation, most of all f(x) = aᵀσ(Wx) (kunin2024, Sec. 5, App. C and D.1).

The contents: sections and their results in the order of the argument, then the functions that are more than one
formula. Each is loaded when it is first named.
"""

from symdyn.catalogue.contents import Section, offered

CONTENTS = (
    Section(
        "The network and what it can represent",
        "network",
        "activation",
        "neuron_flow",
        "conserved_delta",
        "neuron_function_dynamics",
        "neuron_preconditioner",
        "tangent_kernel",
        "spherical_coordinates",
        "spherical_dynamics",
        "representable_functions",
    ),
    Section(
        "Activation regions",
        "input_space",
        "activation_region",
        "pattern_count",
        "region_count",
        "predictor_boundary",
        "parity_rule",
        "two_colours",
        "partition",
    ),
    Section(
        "Upstream, balanced and downstream neurons",
        "regimes",
        "downstream_limit",
        "balanced_dynamics",
        "upstream_limit",
        "alignment_speed",
        "vanishing_network",
        "symmetrised_start",
        "balanced_base",
        "relative_scale",
    ),
    Section(
        "Wide networks at random initialisation",
        "infinite_width",
        "balances_at_random",
        "movement_by_fitting",
        "phase_boundary",
    ),
)
EVALUATORS = {
    "Regions": "arrangement",
    "activation_regions": "arrangement",
    "coordinates_rhs": "layers",
    "ntk": "layers",
    "scale_init": "layers",
    "two_colouring": "arrangement",
}

__getattr__, __dir__ = offered(__name__, CONTENTS, EVALUATORS)
