"""Training: gradient flow and gradient descent, of one network or of many at once, step by step, observed.

One loop, ``loop.reached``, with steppers for the methods and the languages in which steps are taken.
"""

from symdyn.catalogue.contents import listed

__getattr__, __dir__ = listed(
    __name__,
    {
        "loop": (
            "reached",
            "Iterated",
            "Descent",
        ),
        "flows": (
            "gradient_flow",
            "wide_gradient_flow",
            "gradient_descent",
            "train_single_neuron",
            "Trajectory",
        ),
        "ensembles": (
            "networks",
            "train",
            "Training",
            "log_checkpoints",
        ),
        "observers": (
            "standard_observers",
            "mean_square",
            "hamming_distance",
            "delta_drift",
        ),
        "linear_descent": (
            "descend",
            "zero_balanced_start",
            "random_start",
            "whitened_inputs",
        ),
    },
)
