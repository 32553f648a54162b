"""Spectra of random weights and of the input-output Jacobian (naitsaada2023, Sec. 3, App. A.9-A.11).

The contents: sections and their results in the order of the argument, then the functions that are more than one
formula. Each is loaded when it is first named.
"""

from symdyn.catalogue.contents import Section, offered

CONTENTS = (
    Section(
        "Spectra of random weights",
        "spectra",
        "spectral_density",
        "stieltjes_transform",
        "inversion",
        "moment_transform",
        "s_transform",
        "scaling",
        "multiplicativity",
        "gaussian_product",
        "gaussian_moments",
        "gaussian_limits",
        "gaussian_inverse",
        "gaussian_moment_transform",
        "gaussian_stieltjes",
        "marchenko_pastur",
        "gaussian_s",
        "weight_is_not_scaled",
        "gaussian_s_table",
        "gaussian_s_series",
        "gaussian_s1",
        "orthogonal_weight",
        "orthogonal_law",
        "orthogonal_stieltjes",
        "orthogonal_moments",
        "orthogonal_inverse",
        "orthogonal_s",
        "orthogonal_s_scaled",
        "orthogonal_s_series",
        "orthogonal_s1",
        "trace_of_squares",
        "mean_square_sum",
        "mean_square_limit",
        "mean_squared_singular_value",
        "jacobian_product",
    ),
    Section(
        "The input-output Jacobian",
        "jacobian",
        "jacobian_s",
        "moment_definitions",
        "jacobian_first_moment",
        "jacobian_second_moment",
        "jacobian_third_moment",
        "truncated_second_moment",
        "jacobian_variance_formula",
        "gaussian_variance",
        "orthogonal_variance",
        "linear_in_depth",
        "ratio_of_moments",
        "depth_independence",
        "not_rescalable",
        "advantage_lost",
        "falls_with_rank",
    ),
)
EVALUATORS = {
    "JacobianLaw": "jacobian_density",
    "SlopeLaw": "slope_law",
    "SpectralLaw": "laws",
    "exact_linear_moments": "jacobian_moments",
    "jacobian_density": "jacobian_density",
    "jacobian_moments": "jacobian_moments",
    "jacobian_variance": "jacobian_moments",
    "largest_depth": "jacobian_moments",
    "slope_law": "slope_law",
    "spectral_law": "laws",
}

__getattr__, __dir__ = offered(__name__, CONTENTS, EVALUATORS)
