"""Starts: initialisations that fix the balance of the layers, low-rank weights, starts on the edge of chaos, and
networks that know a task.
"""

from symdyn.catalogue.contents import listed

__getattr__, __dir__ = listed(
    __name__,
    {
        "balanced": ("single_neuron_start",),
        "edge_of_chaos": ("LayerOnEdge", "edge_of_chaos_"),
        "low_rank": ("low_rank_gaussian_", "low_rank_orthogonal_"),
        "learned_starts": (
            "learned_weights",
            "on_wrong_side",
            "to_learnable_side",
        ),
    },
)
