"""The deep linear network f(x) = aᵀW_L⋯W_1x (kunin2024, Sec. 4 and App. B.2).

The contents: sections and their results in the order of the argument, then the functions that are more than one
formula. Each is loaded when it is first named.
"""

from symdyn.catalogue.contents import Section, offered

CONTENTS = (
    Section(
        "The network and isotropic weights",
        "network",
        "model",
        "layer_velocity",
        "isotropic_network",
        "orthogonal_start",
        "conserved_structure",
        "possible_balances",
        "gaussian_defects",
    ),
    Section(
        "The preconditioner",
        "preconditioning",
        "forward_products",
        "backward_signals",
        "norm_of_beta",
        "outer_product_of_beta",
        "telescoped_norm",
        "isotropic_dynamics",
        "first_layer",
        "closed_preconditioner",
        "rich_gram",
        "rich_preconditioner",
        "rich_inverse",
    ),
    Section(
        "Implicit bias",
        "interpolators",
        "dual_variable",
        "balanced_potential",
        "rich_potential",
        "implicit_bias",
        "interpolator",
    ),
)
EVALUATORS = {
    "inductive_bias": "learned",
    "interpolating_solution": "learned",
    "isotropic_init": "weights",
    "isotropic_preconditioner": "weights",
    "preconditioner": "weights",
}

__getattr__, __dir__ = offered(__name__, CONTENTS, EVALUATORS)
