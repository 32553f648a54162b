"""Measures for anyone's networks: tangent kernels, balances, singular values of Jacobians, learning curves."""

from symdyn.catalogue.contents import listed

__getattr__, __dir__ = listed(
    __name__,
    {
        "kernels": (
            "ntk",
            "kernel_distance",
            "two_layer_ntk",
            "two_layer_linear_ntk",
            "single_neuron_ntk",
        ),
        "conserved": (
            "balances",
            "DriftRecorder",
            "single_neuron_delta",
            "neuron_deltas",
            "layer_balance",
        ),
        "jacobians": ("SpectralMoments", "gradient_norms", "singular_values", "spectral_moments"),
        "learning_curve": ("shape_of",),
    },
)
