"""Starts: initialisations that fix the balance of the layers, and networks that know a task."""

from symdyn.catalogue.contents import listed

__getattr__, __dir__ = listed(
    __name__,
    {
        "balanced": ("single_neuron_start",),
        "learned_starts": (
            "learned_weights",
            "on_wrong_side",
            "to_learnable_side",
        ),
    },
)
